"""Plots of the interactive page: their data from a result, and their figures in Bokeh."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import (
    ColorBar,
    ColumnDataSource,
    CustomJS,
    HoverTool,
    InlineStyleSheet,
    Legend,
    LinearAxis,
    LinearColorMapper,
    Range1d,
)
from bokeh.palettes import Plasma256, Viridis256
from bokeh.plotting import figure

if TYPE_CHECKING:
    from granchain.analysis import Summary
    from granchain.measured import Trace
    from granchain.store import Result

# Largest numbers of points of a line, and of bodies and times of the map: more than a screen shows.
MOST_POINTS, MOST_BODIES, MOST_TIMES = 1500, 400, 600
# Colours of ordered lines, without those that are too dark or too pale on a screen.
ORDERED = Plasma256[60:210]
# Colours for colour-blind readers: Okabe and Ito 2008, Color universal design.
DISTINCT = ("#0072B2", "#E69F00", "#D55E00", "#009E73", "#56B4E9", "#CC79A7")
# A loop is plotted from this overlap on, as a fraction of the largest one (our choice).
SEPARATED = -0.05
PLOTTED_ENERGIES = ("kinetic", "recoverable", "plastic", "viscous", "clamp", "elements_viscous")
# Colour that is readable on a light and on a dark page.
GREY = "#808080"
REFERENCE_LINE = {"line_dash": "dashed", "line_color": GREY}
# Height of two rows of a legend below a plot [px].
LEGEND_HEIGHT = 40
NO_LINES: dict[str, list[Any]] = {"xs": [], "ys": [], "name": [], "color": []}
# Plots that also show the run that was kept as a reference.
REFERENCED = ("forces", "loop", "energy", "peaks")
# Shows the data of a message in the plots. The changes stay in the page: they are not sent back to
# the server. A magnified axis stays as it is until the reader resets it.
SHOW_PLOTS = """if (!message.data.layout.length) return;
const layout = JSON.parse(message.data.layout[0]), numbers = message.data.numbers[0];
const {Float64NDArray} = Bokeh.require("core/util/ndarray"), local = {sync: false};
let next = 0;
function unpacked(value) {
    if (value?.shape === undefined) return value;
    const first = next;
    next += value.shape.reduce((a, b) => a * b, 1);
    return new Float64NDArray(numbers.slice(first, next), value.shape);
}
for (const [name, columns] of Object.entries(layout.sources)) {
    const pairs = Object.entries(columns).map(([column, values]) => [column, values.map(unpacked)]);
    sources[name].setv({data: Object.fromEntries(pairs)}, local);
}
for (const [name, axes] of Object.entries(layout.ends))
    for (const [column, [low, high]] of Object.entries(axes)) {
        const axis = ranges[name][column];
        const whole = axis.start === axis.reset_start && axis.end === axis.reset_end;
        const shown = whole ? {start: low, end: high} : {};
        axis.setv({reset_start: low, reset_end: high, ...shown}, local);
    }
mapper.setv({low: layout.colors[0], high: layout.colors[1]}, local)"""

PlotColumns = dict[str, Any]


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value of each interval of a long line, in order."""
    if x.size <= MOST_POINTS:
        return x, y
    count = MOST_POINTS // 2
    length = -(-x.size // count)
    starts = np.arange(0, x.size, length)
    padded = np.pad(y, (0, starts.size * length - y.size), mode="edge").reshape(-1, length)
    ends = np.sort([padded.argmin(axis=1), padded.argmax(axis=1)], axis=0) + starts
    chosen = np.unique(np.minimum(ends, x.size - 1))
    return x[chosen], y[chosen]


def lines_of_plot(
    x: np.ndarray, columns: Mapping[str, np.ndarray], colors: Sequence[str]
) -> PlotColumns:
    """Return lines over the same x, with a name and a colour each."""
    pairs = [thinned(x, y) for y in columns.values()]
    return {
        "xs": [pair[0] for pair in pairs],
        "ys": [pair[1] for pair in pairs],
        "name": [*columns],
        "color": [*colors],
    }


def sensor_lines(
    time: np.ndarray, force: np.ndarray, beads: Iterable[int], shift: float = 0.0
) -> PlotColumns:
    """Return force [N] versus time [us] at each sensor."""
    columns = {f"bead {bead}": force[:, k] for k, bead in enumerate(beads)}
    colors = [ORDERED[int(k)] for k in np.linspace(0, len(ORDERED) - 1, max(len(columns), 2))]
    return lines_of_plot(1e6 * (time + shift), columns, colors[: len(columns)])


def measured_lines(trace: Trace, result: Result) -> tuple[PlotColumns, str]:
    """Return the forces of a trace, shifted to those of a result, and a note about the shift."""
    from granchain.measured import time_shift

    beads = [*result.sensor_bead] if "sensor_force" in result.variables else []
    common = [bead for bead in trace.sensor_bead.tolist() if bead in beads]
    shift, note = 0.0, "measured trace: not shifted, because it has no sensor of the case"
    if common:
        interval = float(np.mean(np.diff(trace.time)))
        grid = np.arange(0.0, result.time[-1], interval)
        computed = [
            np.interp(grid, result.time, result.sensor_force[:, beads.index(bead)])
            for bead in common
        ]
        measured = trace.sensor_force[:, [[*trace.sensor_bead].index(bead) for bead in common]]
        shift = -time_shift(interval, measured, np.transpose(computed)).value
        note = f"measured trace: shifted by {1e6 * shift:.6g} us to the computed forces"
    return sensor_lines(trace.time, trace.sensor_force, trace.sensor_bead, shift), note


def plot_data(result: Result, summary: Summary, contact: int) -> dict[str, PlotColumns]:
    """Return the data of all plots, by the name of their source.

    Times are in us, overlaps in um, and energies in mJ.

    Parameters
    ----------
    result : Result
    summary : Summary
        Its numbers.
    contact : int
        Label of the contact whose force and overlap are plotted.
    """
    names = result.variables
    data: dict[str, PlotColumns] = {"forces": NO_LINES, "loop": NO_LINES, "energy": NO_LINES}
    if "sensor_force" in names:
        data["forces"] = sensor_lines(result.time, result.sensor_force, result.sensor_bead)
    if "contact_force" in names and contact in result.sensor_contact:
        k = [*result.sensor_contact].index(contact)
        overlap, force = 1e6 * result.contact_overlap[:, k], result.contact_force[:, k]
        near = np.flatnonzero(overlap >= SEPARATED * overlap.max())
        near = near[:: -(-near.size // MOST_POINTS) or 1]
        data["loop"] = {
            "xs": [overlap[near]],
            "ys": [force[near]],
            "name": [f"contact {contact}"],
            "color": DISTINCT[:1],
        }
    if "energy_time" in names:
        columns = {
            name.replace("_", ", ").replace("clamp", "cutoff"): 1e3 * result[f"energy_{name}"]
            for name in PLOTTED_ENERGIES
            if f"energy_{name}" in names
        }
        data["energy"] = lines_of_plot(1e6 * result.energy_time, columns, DISTINCT[: len(columns)])
    arrived = [pulse for pulse in summary.sensors if pulse.complete]
    data["peaks"] = {
        "bead": [pulse.bead for pulse in arrived],
        "peak": [pulse.peak for pulse in arrived],
        "arrival": [1e6 * pulse.arrival for pulse in arrived],
    }
    rows = np.unique(np.linspace(0, result.bead.size - 1, MOST_BODIES).astype(int))
    times = np.unique(np.linspace(0, result.snapshot_time.size - 1, MOST_TIMES).astype(int))
    velocity = result.velocity[np.ix_(times, rows)].T
    data["map"] = {
        "image": [velocity],
        "x": [0.0],
        "y": [float(result.bead[0]) - 0.5],
        "dw": [1e6 * float(result.snapshot_time[-1])],
        "dh": [float(result.bead.size)],
    }
    return data


def rounded_ends(values: Sequence[Any]) -> tuple[float, float]:
    """Return the ends of a range that contains all values, with a margin.

    They are rounded, so that an axis changes only at some of the steps of a slider.
    """
    numbers = np.concatenate([np.empty(0), *map(np.ravel, values)])
    if not numbers.size:
        return 0.0, 1.0
    low, high = float(numbers.min()), float(numbers.max())
    margin = 0.02 * (high - low) or 0.5 * abs(high) or 0.5
    unit = 2.0 ** math.ceil(math.log2(margin))
    return math.floor((low - margin) / unit) * unit, math.ceil((high + margin) / unit) * unit


def shape_or_value(value: Any) -> Any:
    """Return the shape of an array, whose numbers a message lists separately, or another value."""
    return {"shape": value.shape} if isinstance(value, np.ndarray) else value


class Plots:
    """The five plots: figures, and the data that they show.

    Parameters
    ----------
    style : InlineStyleSheet
        Style sheet of the figures.
    measured : bool
        Whether there is a measured record.
    """

    def __init__(self, style: InlineStyleSheet, measured: bool):
        self.columns: dict[str, PlotColumns] = {
            "forces": NO_LINES,
            "loop": NO_LINES,
            "energy": NO_LINES,
            "peaks": {"bead": [], "peak": [], "arrival": []},
            "map": {"image": [np.zeros((1, 1))], "x": [0.0], "y": [0.0], "dw": [1.0], "dh": [1.0]},
            "measured": NO_LINES,
        }
        self.columns |= {f"{name} reference": self.columns[name] for name in REFERENCED}
        self.sources = {name: ColumnDataSource(data=data) for name, data in self.columns.items()}
        # A legend is drawn again when data of its lines change: these have no points.
        self.keys = {name: ColumnDataSource(data=NO_LINES) for name in ("forces", "energy")}
        self.style = style
        self.mapper = LinearColorMapper(palette=Viridis256, low=0.0, high=1.0)
        self.ranges: dict[str, dict[str, Range1d]] = {}
        self.message = ColumnDataSource(data={"layout": [], "numbers": []})
        self.figures = {
            "map": self._map(),
            "forces": self._lines("forces", "Force at the sensors", "time [\u00b5s]", "force [N]"),
            "loop": self._lines("loop", "Force versus overlap", "overlap [\u00b5m]", "force [N]"),
            "energy": self._lines("energy", "Energy", "time [\u00b5s]", "energy [mJ]"),
            "peaks": self._peaks(),
        }
        if measured:
            self.figures["forces"].multi_line(
                "xs", "ys", source=self.sources["measured"], line_color="color",
                line_dash="dotted", line_width=2, legend_label="measured",
            )  # fmt: skip
        for name, source in self.keys.items():
            self.figures[name].multi_line(
                "xs", "ys", source=source, line_color="color", legend_field="name"
            )
        self.display = CustomJS(
            args={
                "message": self.message,
                "sources": self.sources,
                "ranges": self.ranges,
                "mapper": self.mapper,
            },
            code=SHOW_PLOTS,
        )
        self.message.js_on_change("data", self.display)
        for plot in self.figures.values():
            for legend in plot.select(Legend):
                legend.update(
                    level="overlay",
                    label_text_font_size="8pt", spacing=0, padding=3, glyph_width=14, margin=3,
                    background_fill_alpha=0.0, border_line_color=None, label_text_color=GREY,
                )  # fmt: skip
        self.figures["peaks"].legend.location = "top_center"
        # On a narrow page, a legend inside would cover lines. Four entries fit next to each other.
        for name in self.keys:
            plot = self.figures[name]
            plot.legend.update(orientation="horizontal", ncols=4, spacing=4, location="left")
            plot.add_layout(plot.legend[0], "below")
            plot.height += LEGEND_HEIGHT

    def show(self, data: Mapping[str, PlotColumns]) -> None:
        """Show data in one message, so that each plot is drawn only once."""
        self.columns |= data
        for name, source in self.keys.items():
            lines = self.columns[name]
            if lines["name"] != source.data["name"]:
                source.data = lines | dict.fromkeys(("xs", "ys"), [[]] * len(lines["name"]))
        values = chain.from_iterable(chain.from_iterable(map(dict.values, data.values())))
        arrays = [value.ravel() for value in values if isinstance(value, np.ndarray)]
        layout = {
            "sources": {
                name: {column: [*map(shape_or_value, listed)] for column, listed in columns.items()}
                for name, columns in data.items()
            },
            "ends": {name: self._ends(name) for name in self.ranges},
            "colors": rounded_ends(self.columns["map"]["image"]),
        }
        numbers = np.concatenate([np.empty(0), *arrays])
        self.message.data = {"layout": [json.dumps(layout)], "numbers": [numbers]}

    def _ends(self, name: str) -> dict[str, tuple[float, float]]:
        """Return the ends of the axes of a plot, which contain the reference as well."""
        if name == "map":
            x, y, width, height = (self.columns[name][key][0] for key in ("x", "y", "dw", "dh"))
            return {"x": (x, x + width), "y": (y, y + height)}
        layers = [name, f"{name} reference", *(["measured"] if name == "forces" else [])]
        return {
            column: rounded_ends([value for key in layers for value in self.columns[key][column]])
            for column in self.ranges[name]
        }

    def keep(self) -> None:
        """Show the present run as the reference under the next ones."""
        self.show({f"{name} reference": self.columns[name] for name in REFERENCED})

    def _figure(self, name: str, title: str, x: str, y: str, columns: Sequence[str]) -> Any:
        """Return an empty figure with a title and axes."""
        self.ranges[name] = {
            column: Range1d(start=0.0, end=1.0, reset_start=0.0, reset_end=1.0)
            for column in columns
        }
        x_range, y_range = [*self.ranges[name].values()][:2]
        plot = figure(
            x_range=x_range, y_range=y_range, x_axis_label=x, y_axis_label=y,
            name=name, title=title, height=290,
            sizing_mode="stretch_width", tools="pan,box_zoom,wheel_zoom,reset,save",
            background_fill_color=None, border_fill_color=None, outline_line_color=None,
            stylesheets=[self.style],
        )  # fmt: skip
        plot.toolbar.logo = None
        return plot

    def _lines(self, name: str, title: str, x: str, y: str) -> Any:
        """Return a figure of lines over those of the reference run."""
        plot = self._figure(name, title, x, y, ("xs", "ys"))
        plot.multi_line("xs", "ys", source=self.sources[f"{name} reference"], **REFERENCE_LINE)
        drawn = plot.multi_line(
            "xs", "ys", source=self.sources[name], line_color="color", line_width=1.6
        )
        (x_name, x_unit), (y_name, y_unit) = (text.rstrip("]").split(" [") for text in (x, y))
        rows = [
            ("", "@name"),
            (x_name, f"$snap_x{{0.[000]}} {x_unit}"),
            (y_name, f"$snap_y{{0.[0000]}} {y_unit}"),
        ]
        plot.add_tools(HoverTool(renderers=[drawn], tooltips=rows))
        return plot

    def _map(self) -> Any:
        """Return the map of bead velocity versus time and bead, with the arrivals."""
        title, x, y = "Velocity of each bead", "time [\u00b5s]", "bead"
        plot = self._figure("map", title, x, y, ("x", "y"))
        drawn = plot.image(
            "image", x="x", y="y", dw="dw", dh="dh", source=self.sources["map"],
            color_mapper=self.mapper,
        )  # fmt: skip
        plot.scatter(
            "arrival", "bead", source=self.sources["peaks"], color="white", size=5,
            line_color="black",
        )  # fmt: skip
        bar = ColorBar(
            color_mapper=self.mapper, title="m/s", width=10, background_fill_color=None,
            title_text_color=GREY, major_label_text_color=GREY,
        )  # fmt: skip
        plot.add_layout(bar, "right")
        rows = [("time", "$x{0.[00]} \u00b5s"), ("bead", "$y{0}"), ("velocity", "@image m/s")]
        plot.add_tools(HoverTool(renderers=[drawn], tooltips=rows))
        return plot

    def _peaks(self) -> Any:
        """Return the figure of peaks and arrivals versus bead."""
        plot = self._figure(
            "peaks", "Peaks and arrivals along the chain", "bead", "peak [N]",
            ("bead", "peak", "arrival"),
        )  # fmt: skip
        plot.extra_y_ranges = {"arrival": self.ranges["peaks"]["arrival"]}
        plot.add_layout(LinearAxis(y_range_name="arrival", axis_label="arrival [\u00b5s]"), "right")
        colors = {"peak": DISTINCT[0], "arrival": DISTINCT[2]}
        drawn = []
        for name, color in colors.items():
            axis = {"y_range_name": "arrival"} if name == "arrival" else {}
            look = {"marker": "circle" if name == "peak" else "square", "size": 7, **axis}
            plot.scatter("bead", name, source=self.sources["peaks reference"], color=GREY, **look)
            look["color"] = color
            drawn.append(plot.scatter("bead", name, source=self.sources["peaks"], **look))
            plot.scatter([math.nan], [math.nan], legend_label=name, **look)
        rows = [("bead", "@bead"), ("peak", "@peak N"), ("arrival", "@arrival{0.[000]} \u00b5s")]
        plot.add_tools(HoverTool(renderers=drawn, tooltips=rows))
        return plot
