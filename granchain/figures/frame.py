"""Common parts of all figures: style, panels, heading, legend, units, choice of lines, file."""

from __future__ import annotations

import io
import math
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial, wraps
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from granchain.case.document import differences
from granchain.errors import GranchainError, clean, suggestion
from granchain.store import Result, write_atomically
from granchain.store.answer import case_of, messages_of_study
from granchain.store.files import file_ending

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.lines import Line2D
else:
    # Loaded only when a figure is drawn; here they are names in annotations.
    Axes = Figure = Any


_P = ParamSpec("_P")
_Drawn = TypeVar("_Drawn")

# Largest number of lines and of rows. If there are more, evenly spaced ones are plotted, and the
# figure reports it. More lines are not distinguishable, and more rows do not fit a page.
MOST_LINES = 10
MOST_LEGEND_ROWS = 12
# Number of lines with different colours and dashes: 9 colours times 6 kinds of dashes.
MOST_TRACES = 54
# Width of a letter relative to the font size: 0.48 to 0.57 in the headings and labels of seven
# figures (measured, DejaVu Sans).
LETTER = 0.55
# Largest fraction of a figure's width for a legend at its side.
LEGEND_ROOM = 0.35
# Largest fraction by which an axis is extended so that it ends on a tick.
ROUNDED = 0.005
# Kinds of dashes: when all colours have been used, they are repeated with the next kind.
DASHES = (
    "-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2)), (0, (5, 1.2, 1, 1.2, 1, 1.2)),
    (0, (9, 1.5, 3, 1.5)),
)  # fmt: skip
# Colours of text next to panels, of a failed run (the third of the palette), and of values that
# are measured or without clearance. No computed line is black.
GREY, FAILED, BLACK = "#555555", "#bd1f01", "#222222"
# Style of a line at zero, and of text above a panel's upper left corner.
AT_ZERO: dict[str, Any] = {"color": "#b0b0b0", "linewidth": 0.5, "zorder": 0}
ABOVE: dict[str, Any] = {
    "xy": (0.0, 1.0), "xycoords": "axes fraction", "textcoords": "offset points", "color": GREY,
}  # fmt: skip
# Style of a legend on top of curves.
ON_CURVES: dict[str, Any] = {"frameon": True, "framealpha": 0.85, "edgecolor": "none"}
# Text that reports a failed run.
FAILURE = "RUN FAILED"
# Largest number of differing keys for which a legend lists their values, and largest length of a
# text there [characters].
MOST_KEYS, VALUE_LENGTH = 2, 40

# File formats of `save` by ending: their first bytes, because no other file is overwritten, and
# the metadata that omit the date, so that equal figures give equal bytes.
FORMATS = {".png": b"\x89PNG", ".pdf": b"%PDF-", ".svg": b"<svg"}
UNDATED = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}

# Largest number of points with a marker each; with more, only isolated points have one.
MOST_MARKS = 60
# Style of single values: small full dots, because open rings are measured values.
DOTS_OF_VALUES: dict[str, Any] = {"marker": "o", "markersize": 3.0}


class Page(NamedTuple):
    """Page settings of figures: title and heading, number of traces."""

    title: bool = True
    traces: int | None = None


_DEFAULT_PAGE = Page()
_PAGE: ContextVar[Page] = ContextVar("page", default=_DEFAULT_PAGE)
# Dots per inch in a notebook, the default of Matplotlib.
SCREEN_DPI = 100.0


# --------------------------------------------------------------------------------------------------
# Style


@cache
def style() -> Any:
    """Return the settings of `granchain.mplstyle` as Matplotlib RcParams."""
    import matplotlib

    with as_file(files("granchain") / "granchain.mplstyle") as path:
        return matplotlib.rc_params_from_file(path, use_default_template=False)


@contextmanager
def page(title: bool = True, traces: int | None = None) -> Iterator[None]:
    """Draw the figures in this context without a heading, or with a given number of traces.

    Parameters
    ----------
    title : bool
        If true, draw the title and the heading above the axes. Without them, the caption should
        state that the results are simulated. A failed run is always reported.
    traces : int, optional
        Number of sensors, beads, or contacts to draw, evenly spaced. By default as many as can be
        distinguished.

    Raises
    ------
    GranchainError
        If the number of traces is not valid.
    """
    if traces is not None and not 1 <= traces <= MOST_TRACES:
        raise GranchainError(
            f"traces: {traces} is out of range. It must be 1 to {MOST_TRACES}. To plot other "
            "sensors, select beads."
        )
    before = _PAGE.set(Page(title, traces))
    try:
        yield
    finally:
        _PAGE.reset(before)


def unknown(where: str, got: Any, known: Any, allowed: str) -> GranchainError:
    """Return the error for an unknown name."""
    advice = suggestion(str(got), known, "")
    return GranchainError(
        f'{where}: "{str(got)[:60]}" is not valid. It must be {allowed}.{advice and " " + advice}'
    )


def need_found(found: Any, of: type, maker: str) -> None:
    """Raise an error if this is not the result of a given granchain function."""
    if not isinstance(found, of):
        raise GranchainError(
            f"figure: {type(found).__name__} is not supported. It must be a {of.__name__}. "
            f"Create it with granchain.{maker}."
        )


def refuse_empty(found: Sized, what: str, advice: str = "Pass at least one") -> None:
    """Raise an error if there is nothing to plot."""
    if not len(found):
        raise GranchainError(f"figure: no {what} to plot. At least one is required. {advice}.")


def styled(function: Callable[_P, _Drawn]) -> Callable[_P, _Drawn]:
    """Run a function with granchain's style; the user's settings are restored afterwards."""

    @wraps(function)
    def drawn_in_style(*args: _P.args, **kwargs: _P.kwargs) -> _Drawn:
        import matplotlib

        with matplotlib.rc_context(rc=style()):
            return function(*args, **kwargs)

    return drawn_in_style


def setting(name: str) -> Any:
    """Return a setting of Matplotlib that is in effect."""
    import matplotlib

    settings: Any = matplotlib.rcParams
    return settings[name]


def palette() -> list[str]:
    colours: list[str] = setting("axes.prop_cycle").by_key()["color"]
    return colours


def look(i: int) -> dict[str, Any]:
    """Return colour and dashes of line i; no other line has the same pair."""
    again, at = divmod(i, len(palette()))
    return {"color": palette()[at], "linestyle": DASHES[again % len(DASHES)]}


def small_type() -> float:
    """Return the size of small type [points]."""
    return float(setting("legend.fontsize"))


# --------------------------------------------------------------------------------------------------
# Figure, panels, heading, legend


def new_figure(width: float, height: float) -> Figure:
    """Return a new figure of a size [inch].

    It is made without pyplot, which takes 0.4 s to load and keeps every figure in memory. In a
    notebook, it displays itself.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    vars(figure)["_repr_png_"] = partial(image_of, figure, ".png", SCREEN_DPI)
    return figure


class Sheet:
    """A figure with its panels: new ones under a heading, or the caller's axes.

    If the caller passes axes, the heading is set on their figure. `write` or `head` completes the
    sheet and returns (figure, axes), as a figure function does.

    Parameters
    ----------
    ax : Axes, sequence of Axes or None
        Axes of the caller.
    width, height : float
        Size of a new figure [inch].
    rows, columns : sequence of float, optional
        Relative heights and widths of the panels; omit both for a single panel.
    count : int, optional
        Number of panels, if the last row is not full.
    head : float
        Height of an empty row at the top that contains the heading over the full width; 0 if
        the heading is above the first panel.
    each : int
        Number of rows per panel.
    wide : int
        Number of rows at the top with one panel each, across all columns.
    **share
        Arguments of `Figure.subplots`.
    """

    def __init__(
        self,
        ax: Any,
        width: float,
        height: float,
        rows: Sequence[float] | None = None,
        columns: Sequence[float] | None = None,
        count: int | None = None,
        head: float = 0.0,
        each: int = 1,
        wide: int = 0,
        **share: Any,
    ):
        self.alone = rows is None and columns is None
        rows, columns = rows or (1.0,), columns or (1.0,)
        every = (len(rows) // each - wide) * len(columns) + wide
        count = every if count is None else count
        self.on_callers_axes, self.aside = ax is not None, 0.0
        if self.on_callers_axes:
            panels = panels_of_axes(ax, count * each)
            figure: Any = panels[0].figure
        else:
            figure = new_figure(width, height)
            ratios = [head, *rows] if head > 0.0 else list(rows)
            grid = figure.subplots(
                len(ratios), len(columns), squeeze=False, height_ratios=ratios,
                width_ratios=columns, **share,
            )  # fmt: skip
            first, cut = len(ratios) - len(rows), grid[0, 0].get_gridspec()
            over = [figure.add_subplot(cut[first + i, :]) for i in range(wide)]
            cells = grid[first + wide :].reshape(-1, each, len(columns))
            panels = np.array([*over, *cells.transpose(0, 2, 1).flat])
            for surplus in (*grid[: first + wide].flat, *panels[count * each :]):
                surplus.remove()
        self.figure: Figure = figure
        self.panels: np.ndarray = panels[: count * each]
        self.top: Axes = self.panels[0]
        if head > 0.0 and not self.on_callers_axes:
            self.top = figure.add_subplot(grid[0, 0].get_gridspec()[0, :])
            self.top.set_axis_off()

    def head(self, results: Sequence[Result], *notes: str) -> tuple[Figure, Any]:
        """Write the title, and below it that the results are simulated, the law, and the step.

        A failed run is also reported. On the caller's axes, only a failure is reported.
        """
        failures = [f"{FAILURE}: {one.status.label}" for one in results if one.status.failed]
        if self.on_callers_axes:
            self.top.annotate(
                "\n".join(failures),
                (0.02, 0.98),
                xycoords="axes fraction",
                va="top",
                color=FAILED,
                fontsize=small_type(),
            )
        parts = ["simulated", named_laws(result.law for result in results)]
        if len(results) == 1:
            factor, unit = scaled(results[0].time_step, "s")
            parts.append(f"time step {results[0].time_step * factor:.3g} {unit}")
        title = figure_title(results) or "untitled case"
        return self.write(title, *parts, *notes, *failures, failed=bool(failures))

    def write(
        self, title: str, *phrases: str, failed: bool = False, indent: float = 46.0
    ) -> tuple[Figure, Any]:
        """Write a title, and phrases below it in as many lines as they require.

        On the caller's axes, nothing is written. `indent` is the left edge of the axes [points].
        Return the figure and its axes, with aligned labels.
        """
        # The text for a caption, if the figure has no heading.
        self.figure.set_label("  \N{MIDDLE DOT}  ".join(filter(None, phrases)))
        self.figure.align_ylabels(self.panels)
        drawn = self.figure, self.top if self.alone else self.panels
        if not _PAGE.get().title:
            phrases = tuple(
                phrase for phrase in phrases if phrase.startswith((FAILURE, "synthetic"))
            )
            title = ""
        if self.on_callers_axes or not (title or phrases):
            return drawn
        wide = 72.0 * self.figure.get_figwidth() - indent - self.aside
        room, size = wide / LETTER, small_type()
        most = int(room / size)
        lines = [""]
        for phrase in filter(None, phrases):
            longer = f"{lines[-1]}  \N{MIDDLE DOT}  {phrase}" if lines[-1] else phrase
            lines[-1:] = (
                [longer] if len(longer) <= most else [lines[-1], *textwrap.wrap(phrase, most)]
            )
        words = "\n".join(filter(None, lines))
        above = ABOVE | {"color": FAILED if failed else GREY, "fontsize": size, "parse_math": False}
        self.top.annotate(words, xytext=(0.0, 8.0), **above)
        # Leave space for the lines below. A dollar sign in a title is plain text.
        self.top.set_title(
            textwrap.fill(
                title.replace("m/s2", "m/s\N{SUPERSCRIPT TWO}"),
                int(room / setting("axes.titlesize")),
            ),
            pad=13.0 + 1.25 * size * (words.count("\n") + 1),
            parse_math=False,
        )
        return drawn

    def legend(
        self,
        *panels: Axes,
        beside: bool = False,
        inside: Mapping[str, Any] | None = None,
        handles: Sequence[Any] | None = None,
        most: int = 4,
        **look: Any,
    ) -> None:
        """Add a legend of the lines of panels.

        It is below the figure, in as many columns as fit. With `beside`, it is to the right of the
        panel if it fits there. With `inside` (the style of the legend), it is inside the panel. On
        the caller's axes, it is inside them, or below them if they contain a map.
        """
        from matplotlib.collections import QuadMesh

        shown = handles
        if shown is None:
            shown = [one for axes in panels for one in axes.get_legend_handles_labels()[0]]
        # Six letters are the width of the line sample and its gap. A label wider than the figure,
        # or than the caller's part of one, is wrapped.
        wide = 72.0 * self.figure.bbox.width / self.figure.dpi
        most_letters = int(wide / (LETTER * small_type())) - 6
        for one in shown:
            one.set_label(textwrap.fill(str(one.get_label()), most_letters))
        rows = [row for one in shown for row in str(one.get_label()).splitlines()]
        letters = max(map(len, rows), default=1) + 6
        width = LETTER * small_type() * letters / wide
        if self.on_callers_axes and any(isinstance(one, QuadMesh) for one in panels[0].collections):
            look |= {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2)}
            panels[0].legend(handles=shown, **look)
        elif self.on_callers_axes or inside:
            panels[0].legend(handles=shown, **{"loc": "best", **(inside or {}), **look})
        elif beside and width <= LEGEND_ROOM:
            look |= {"bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
            panels[0].legend(handles=shown, loc="upper left", **look)
        else:
            columns = max(1, min(most, len(shown), int(1.0 / width)))
            self.figure.legend(handles=shown, loc="outside lower center", ncols=columns, **look)

    def legends(self, *panels: Axes, **look: Any) -> None:
        """Add a legend next to each panel with labelled lines."""
        for axes in panels:
            if axes.get_legend_handles_labels()[0]:
                self.legend(axes, beside=True, **look)


def panel_each(
    ax: Any, beads: np.ndarray, base: float, ratios: Sequence[float], head: float
) -> tuple[Sheet, list[int], int, str]:
    """Return a sheet with a panel for each sensor in a grid, each panel with the given rows.

    Also return the indices of the sensors, the number of columns, and a note if there are more
    sensors. `base` is the height of everything except the panels [inch].
    """
    places, note = chosen_labels(None, beads, MOST_LEGEND_ROWS, "sensors")
    columns = min(4, len(places))
    rows, each = math.ceil(len(places) / columns), len(ratios)
    height = base + (2.1 if each == 1 else 2.8) * rows
    grid = [*ratios] * rows, [1.0] * columns, len(places), head, each
    return Sheet(ax, max(5.4, 2.3 * columns), height, *grid), places, columns, note


def name_sensor(axes: Axes, name: str, words: str) -> None:
    """Write the name of a sensor above its panel, and a text below the name."""
    axes.set_title(name, fontsize="medium", pad=12.0)
    axes.annotate(words, xytext=(0.0, 3.0), fontsize=7, **ABOVE)


def panels_of_axes(ax: Any, count: int) -> np.ndarray:
    """Return the caller's axes as an array, or raise an error if their number does not fit."""
    from matplotlib.axes import Axes

    panels = np.array(ax, dtype=object).reshape(-1)
    if len(panels) != count or not all(isinstance(one, Axes) for one in panels):
        kinds = ", ".join(sorted({type(one).__name__ for one in panels}))
        raise GranchainError(
            f"ax: {len(panels)} objects of type {kinds} do not fit. It must be {count} Axes, "
            f"one per panel. Create them with matplotlib.pyplot.subplots({count}), or omit ax."
        )
    return panels


def named_laws(laws: Iterable[str]) -> str:
    """List the contact laws of a figure, each once; a name may list several laws of one chain."""
    names = list(dict.fromkeys(law for several in laws for law in several.split(", ")))
    if len(names) > MOST_LINES:
        return f"{len(names)} contact laws"
    return ("contact law " if len(names) == 1 else "contact laws ") + ", ".join(names)


def figure_title(results: Sequence[Any]) -> str:
    """Return the titles of results, each once."""
    return "; ".join(dict.fromkeys(one.title for one in results if one.title))


# --------------------------------------------------------------------------------------------------
# Axes and units


def set_panel(
    axes: Axes, zero: bool = False, integer: str = "", ticks: str = "", most: int = 5, **named: Any
) -> None:
    """Set labels, limits, margins, and other arguments of `Axes.set`; add a zero line and ticks.

    Parameters
    ----------
    axes : Axes
    zero : bool
        If true, draw a line at 0.
    integer, ticks : str
        Axes, for example "xy", with ticks at whole numbers, and with at most `most` intervals.
    """
    from matplotlib.category import StrCategoryLocator

    if zero:
        axes.axhline(0.0, **AT_ZERO)
    axes.set(**named)
    for names, asked in ((integer, {"integer": True}), (ticks, {"nbins": most})):
        for axis in names:
            # An axis of text has a tick at each entry.
            if not isinstance(getattr(axes, f"{axis}axis").get_major_locator(), StrCategoryLocator):
                axes.locator_params(axis=axis, **asked)  # type: ignore[arg-type]


def over_time(axes: Axes, unit: str, **named: Any) -> None:
    """Set a panel with a time axis, which ends on a tick if it almost reaches one."""
    set_panel(axes, xlabel=f"time [{unit}]", **named)
    round_end(axes)


def round_end(axes: Axes) -> None:
    """Extend an x axis that ends just before a tick to that tick, so that it is drawn."""
    low, high = axes.get_xlim()
    end = axes.xaxis.get_major_locator().tick_values(low, high)[-1]
    if 0.0 <= end - high <= ROUNDED * (high - low):
        axes.set_xlim(low, end)


def make_log(axes: Axes, which: str, values: np.ndarray) -> None:
    """Make an axis logarithmic, with plain numbers at its ticks.

    Ticks are at 1, 2, and 5 of each decade, or evenly spaced at round numbers if the values span
    less.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    axes.set(**{f"{which}scale": "log"})
    good = values[values > 0.0]
    axis = axes.xaxis if which == "x" else axes.yaxis
    factor = good.max() / good.min() if good.size else 1.0
    few = MaxNLocator(5, steps=[1, 2, 5, 10])
    # Over many decades, only powers of ten.
    parts = (1.0, 2.0, 5.0) if factor < MANY_DECADES else (1.0,)
    axis.set_major_locator(LogLocator(subs=parts) if factor >= LOG_SPAN else few)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, place: number_words(value))


def number_words(value: float) -> str:
    """Format a number at a tick: plain, or with a power of ten if it would need many digits."""
    size = f"{value:.3e}"
    number, power = f"{float(size[: size.index('e')]):g}", int(size[size.index("e") + 1 :])
    if -4 < power < 5 or value == 0.0:
        return f"{float(size):g}".replace("-", "\N{MINUS SIGN}")
    ten = "10" + str(power).translate(SUPERSCRIPTS)
    words = ten if number == "1" else f"{number} \N{MULTIPLICATION SIGN} {ten}"
    return words.replace("-", "\N{MINUS SIGN}")


def mark_values(axes: Axes, x: np.ndarray, y: np.ndarray, **look: Any) -> None:
    """Plot a line through values with a dot at each.

    If there are many values, only those without a neighbour have a dot, because no line shows
    them.
    """
    there = np.isfinite(y)
    beside = np.pad(there, 1)
    alone = there & ~beside[:-2] & ~beside[2:]
    shown = there if len(y) <= MOST_MARKS else alone
    axes.plot(x, y, **look, **DOTS_OF_VALUES, markevery=np.flatnonzero(shown).tolist())


def full_height(values: np.ndarray) -> tuple[float, float]:
    """Return axis limits just outside the values, so that they fill the panel.

    If the values hardly change, the limits are a tenth of their size outside.
    """
    good = values[np.isfinite(values)]
    low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 0.0)
    room = max(0.1 * (high - low), 0.1 * abs(high) - 0.5 * (high - low)) or 1.0
    return low - room, high + room


def ticks_at(axes: Axes, which: str, values: np.ndarray) -> None:
    """Set the ticks of an axis at the values of a map.

    Values too close to the previous tick for legible numbers are omitted.
    """
    from matplotlib.ticker import NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    place = np.log(values) if axis.get_scale() == "log" else values
    apart = (0.11 if which == "x" else 0.06) * float(np.ptp(place))
    kept = [0]
    for i in range(1, len(values)):
        if place[i] - place[kept[-1]] >= apart:
            kept.append(i)
    axis.set_minor_locator(NullLocator())
    axis.set_ticks(values[kept], [number_words(float(f"{one:.3g}")) for one in values[kept]])


def colour_map(
    sheet: Sheet, x: Any, y: Any, values: Any, label: str, look: Mapping[str, Any], **bar: Any
) -> Any:
    """Plot values versus two axes as colours, and return the colour bar next to the map.

    If `x` and `y` are as long as the values, they are the centres of the cells, otherwise the
    edges.
    """
    # A colour bar at the side makes the heading narrower.
    sheet.aside = BAR
    shading: Any = "nearest" if np.shape(values) == (len(y), len(x)) else "flat"
    mesh = sheet.top.pcolormesh(x, y, values, shading=shading, rasterized=True, **look)
    return sheet.figure.colorbar(mesh, ax=sheet.top, label=label, **bar)


# Width of a colour bar next to a map, with its numbers and label [points]; our choice.
BAR = 66.0
# Smallest factor between the values of a key for a logarithmic axis and for a power-law fit.
LOG_SPAN = 5.0
# Superscript digits of an exponent: those of mathematical text are too small in print.
SUPERSCRIPTS = str.maketrans(
    "-0123456789",
    "\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT ZERO}\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}"
    "\N{SUPERSCRIPT THREE}\N{SUPERSCRIPT FOUR}\N{SUPERSCRIPT FIVE}\N{SUPERSCRIPT SIX}"
    "\N{SUPERSCRIPT SEVEN}\N{SUPERSCRIPT EIGHT}\N{SUPERSCRIPT NINE}",
)
# Factor between values above which only powers of ten have ticks.
MANY_DECADES = 1e4


def largest(*values: Any) -> float:
    """Return the largest absolute value of the finite values, or 0 if there are none."""
    sizes = [np.abs(np.asarray(one)[np.isfinite(one)]).max(initial=0.0) for one in values]
    return float(max(sizes, default=0.0))


def scaled(size: float, unit: str) -> tuple[float, str]:
    """Return the factor and the name of a prefixed unit that suits a size.

    In that unit the size is 0.1 to 100. A pressure or frequency is at least 1 in it.
    """
    least, prefixes = 0.1, [(0, ""), (-3, "m"), (-6, "\N{MICRO SIGN}"), (-9, "n"), (-12, "p")]
    if unit in ("Pa", "Hz"):
        least, prefixes = 1.0, [(9, "G"), (6, "M"), (3, "k"), (0, "")]
    fitting = (one for one in prefixes if size >= least * 10.0 ** one[0])
    exponent, prefix = next(fitting, prefixes[-1])
    if unit == "kg" and exponent:
        # The kilogram already has a prefix: SI Brochure, 9th ed., section 3
        prefix, unit = {-3: "", -6: "m", -9: "\N{MICRO SIGN}", -12: "n"}[exponent], "g"
    return 10.0**-exponent, prefix + unit


def time_unit(end: float) -> tuple[float, str]:
    """Return microseconds, or milliseconds or seconds for a run longer than two milliseconds."""
    if end <= 2e-3:
        return 1e6, "\N{MICRO SIGN}s"
    return (1e3, "ms") if end <= 2.0 else (1.0, "s")


# Units that take a prefix.
PREFIXED = ("m", "kg", "Hz", "Pa", "N s", "J")


def reading_unit(size: float, unit: str) -> tuple[float, str]:
    """Return the factor from SI to a suitable unit, and its name; empty for a pure number."""
    if unit == "s":
        return time_unit(size)
    return scaled(size, unit) if unit in PREFIXED else (1.0, "" if unit == "1" else unit)


# --------------------------------------------------------------------------------------------------
# Which lines, and their names


def evenly_spaced(count: int, most: int, what: str) -> tuple[list[int], str]:
    """Return all indices, or `most` evenly spaced ones and a note that reports it."""
    places = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()
    return places, f"{len(places)} of {count} {what} shown" if count > most else ""


def chosen_labels(
    asked: Sequence[int] | None, available: np.ndarray, most: int, what: str
) -> tuple[list[int], str]:
    """Return the indices of the requested labels, or of evenly spaced ones and a note."""
    labels = available.tolist()
    most = _PAGE.get().traces or most
    if asked is None:
        return evenly_spaced(len(labels), most, what)
    if not len(asked) or not set(asked) <= set(labels):
        raise GranchainError(f"{what}: {list(asked)} is not valid. Each must be one of {labels}.")
    return [labels.index(label) for label in asked], ""


def body_name(bead: int) -> str:
    return "striker" if bead == 0 else f"bead {bead}"


def labels_of(
    results: Sequence[Result],
    labels: Sequence[str] | None = None,
    otherwise: Sequence[str] | None = None,
) -> list[str]:
    """Return a label for each of several results.

    It is the given label. If there is none and all laws are different, it is the law, and the one
    or two other keys that differ. Otherwise it is these keys, the title, or else `otherwise` or a
    number: the first of them that distinguishes all results.
    """
    if labels is not None:
        if len(labels) != len(results):
            raise GranchainError(
                f"labels: {len(labels)} labels for {len(results)} results. One label per "
                "result is required."
            )
        return [str(label) for label in labels]
    laws = [result.law for result in results]
    if len(set(laws)) == len(results):
        others = case_differences(results, ("contact.",)) or [""] * len(results)
        return [", ".join(filter(None, pair)) for pair in zip(laws, others, strict=True)]
    for words in (case_differences(results), [result.title for result in results]):
        if len(set(words)) == len(results) and all(words):
            return words
    return list(otherwise or [f"run {i + 1}: {law}" for i, law in enumerate(laws)])


def case_differences(results: Sequence[Result], without: tuple[str, ...] = ()) -> list[str]:
    """List the keys that differ between the cases of results, with their values.

    Keys that begin with a text of `without` are left out. The list is empty if no keys differ, or
    more than two.
    """
    read = [case_of(result) for result in results]
    if None in read:
        return []
    unlike = {
        key: values for key, values in differences(read).items() if not key.startswith(without)
    }
    values = list(zip(*unlike.values(), strict=True))
    if len(unlike) > MOST_KEYS or any(isinstance(one, list) for own in values for one in own):
        return []
    return [
        ", ".join(f"{key} {_text_of_value(value)}" for key, value in zip(unlike, own, strict=True))
        for own in values
    ]


def _text_of_value(value: Any) -> str:
    """Return the value of a key for a legend.

    A table is the names of its keys, such as "plate". A long text, such as a stored state, is
    "set".
    """
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(value)
    return "set" if len(str(value)) > VALUE_LENGTH else str(value or "not set")


# --------------------------------------------------------------------------------------------------
# Loops


class Loop(NamedTuple):
    """Force [N] versus overlap [m] of one contact, and its residual overlap [m]."""

    label: str
    overlap: np.ndarray
    force: np.ndarray
    residual: float = 0.0


def draw_loops(
    axes: Axes,
    loops: Sequence[Loop],
    loading_label: str,
    unloading_label: str,
    overlap: str = "overlap",
) -> list[Line2D]:
    """Plot loops of force versus overlap, and return the entries of their legend.

    Lines are solid while the overlap grows and dashed otherwise, with a mark at the residual
    overlap.
    """
    from matplotlib.lines import Line2D

    refuse_empty(loops, "loop")
    factor, unit = scaled(largest(*(loop.overlap for loop in loops)), "m")
    mark: dict[str, Any] = {"ls": "", "marker": "|", "mew": 1.6}
    handles: list[Line2D] = []
    # Later lines are thinner: contacts with one law share a loading curve, and all must be visible.
    widths = np.linspace(2.4 if len(loops) > 1 else 1.3, 1.0, len(loops))
    # With more loops than colours, the dashes distinguish them, and unloading lines are thin.
    crowded = len(loops) > len(palette())
    way_back: dict[str, Any] = {"linewidth": 0.6} if crowded else {"linestyle": "--"}
    for i, (loop, width) in enumerate(zip(loops, widths, strict=True)):
        loading, unloading = branches(loop.overlap, loop.force)
        own, x = look(i), factor * loop.overlap
        colour = own["color"]
        handles += axes.plot(x, loading, **own, linewidth=width, label=loop.label)
        axes.plot(x, unloading, **(own | {"linewidth": 1.0} | way_back), label="_back")
        if loop.residual != 0.0:
            at = [factor * loop.residual], [0.0]
            axes.plot(*at, **mark, ms=11, color=colour, clip_on=False, label="_residual")
    set_panel(axes, zero=True, xlabel=f"{overlap} [{unit}]", ylabel="contact force [N]")
    low = min(0.0, axes.dataLim.y0)
    axes.set(xmargin=0.03, ylim=(low - 0.03 * (axes.dataLim.y1 - low), None))
    dent = Line2D([], [], **mark, ms=9, color=GREY, label=f"residual {overlap}")
    return [
        *handles,
        Line2D([], [], color=GREY, label=loading_label),
        Line2D([], [], color=GREY, **({"linewidth": 1.0} | way_back), label=unloading_label),
        *([dent] if any(loop.residual != 0.0 for loop in loops) else []),
    ]


def branches(overlap: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the force while the overlap grows, and while it does not, and nan elsewhere.

    The two share the samples where one changes into the other. Samples of an open contact are
    included only next to a nonzero force.
    """
    grows = np.diff(overlap) > 0.0
    closed = force != 0.0
    near = closed | np.append(closed[1:], False) | np.insert(closed[:-1], 0, False)
    loading = near & (np.append(grows, False) | np.insert(grows, 0, False))
    unloading = near & (np.append(~grows, False) | np.insert(~grows, 0, False))
    return np.where(loading, force, math.nan), np.where(unloading, force, math.nan)


# --------------------------------------------------------------------------------------------------
# File


@styled
def save(
    figure: Figure, path: str | os.PathLike[str], overwrite: bool = True, dpi: float | None = None
) -> None:
    """Write a figure as PNG, PDF, or SVG, depending on the file name.

    Equal figures give equal bytes.

    Parameters
    ----------
    figure : Figure
    path : str or path
        File name that ends in .png, .pdf, or .svg.
    overwrite : bool
        Replace an existing figure of that name. Other files are never replaced.
    dpi : float, optional
        Resolution of a PNG [dots per inch]. The default is 150.

    Raises
    ------
    FileError
        If the ending is unknown, the folder is missing, another file has this name, or the disk is
        full.
    """
    ending = file_ending(path, FORMATS)
    write_atomically(path, image_of(figure, ending, dpi), overwrite, (FORMATS[ending],))


def image_of(figure: Figure, ending: str, dpi: float | None = None) -> bytes:
    """Return a figure as the bytes of an image file.

    Control characters are removed from its texts.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if isinstance(text, Text) and (words := clean(text.get_text())) != text.get_text():
            text.set_text(words)
    image = io.BytesIO()
    figure.savefig(image, format=ending[1:], metadata=UNDATED[ending], dpi=dpi)
    return image.getvalue()


def late_pulses(study: Any) -> str:
    """Return the message of a study about late pulses, without sensors and advice, or no text."""
    for message in messages_of_study(study):
        if ", by time.end" in message:
            return message.partition(", by time.end")[0]
    return ""
