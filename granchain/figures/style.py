"""The look of the figures: style sheet, panels, units, colours, legends, and headings."""

from __future__ import annotations

import inspect
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

import matplotlib
import numpy as np
from matplotlib import rcParams, rcParamsDefault
from matplotlib import style as styles
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

from granchain.case.document import differences
from granchain.errors import GranchainError, clean
from granchain.store import Result
from granchain.store.answer import case_of, check_result

_DrawParameters = ParamSpec("_DrawParameters")
_Made = TypeVar("_Made")

# Default of the argument `style` of every figure, and its style sheet.
SHEET = "granchain"
SHEET_FILE = Path(__file__).with_name("granchain.mplstyle")
# First bytes of each file format, by file name extension, because only files with these bytes are
# overwritten; and metadata without a date, so that equal figures give equal bytes.
FORMATS = {".png": b"\x89PNG", ".pdf": b"%PDF-", ".svg": b"<svg"}
UNDATED = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
# Largest number of lines that are distinguishable; our choice.
MOST_CURVES = 10
# Largest number of legend entries inside a panel; our choice.
MOST_INSIDE = 5
# Width of a letter relative to the font size: 0.48 to 0.57 in the labels of seven figures
# (measured, DejaVu Sans).
LETTER = 0.55
# Kinds of dashes of runs with one law, and of laws when all colours have been used. The first is
# the user's line style.
DASHES = (None, (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2)), (0, (5, 1.2, 1, 1.2, 1, 1.2)))
# Units that take a prefix.
PREFIXED = ("m", "s", "kg", "N", "Hz", "Pa", "J", "N s", "m/s", "W")
# Smallest factor between values for a logarithmic axis, and the factor above which only powers of
# ten have ticks.
LOG_SPAN, MANY_DECADES = 5.0, 1e4
# Smallest difference to the background of a colour of a line: a quarter of white to black.
VISIBLE = 0.25
# Colour bar at the right of a panel, as fractions of the panel: left, bottom, width, height.
BAR = (1.02, 0.0, 0.03, 1.0)
# Colour of text that reports a failed run.
FAILURE_COLOUR = "#bd1f01"
# Largest number of points with a marker each; with more, only isolated points have one.
MOST_MARKS = 60
# Largest number of differing keys, and of characters of a value, in a legend.
MOST_KEYS, LABEL_LENGTH = 2, 24


class Picture(Figure):
    """A Matplotlib figure that a notebook displays without pyplot, too."""

    def _repr_png_(self) -> bytes:
        """Return the figure as PNG for a notebook."""
        return image_of(self, ".png", self.dpi)


def image_of(figure: Figure, ending: str, dpi: float | None = None) -> bytes:
    """Return a figure as the bytes of an image file; equal figures give equal bytes."""
    image = io.BytesIO()
    try:
        with matplotlib.rc_context({"svg.hashsalt": "granchain"}):
            figure.savefig(image, format=ending[1:], metadata=UNDATED[ending], dpi=dpi)
    except RuntimeError as error:
        if not rcParams["text.usetex"]:
            raise
        raise GranchainError(
            f"text.usetex: LaTeX failed ({str(error).splitlines()[0]}). This setting of Matplotlib "
            "requires LaTeX. Install LaTeX, or set text.usetex to False."
        ) from None
    return image.getvalue()


def context_of(style: Any) -> Any:
    """Return a context with a style: granchain's sheet, a style of Matplotlib, or none.

    A setting that differs from Matplotlib's default overrides granchain's sheet.
    """
    if style == SHEET:
        sheet = matplotlib.rc_params_from_file(SHEET_FILE, use_default_template=False)
        style = {key: sheet[key] for key in sheet if rcParams[key] == rcParamsDefault[key]}
    return nullcontext() if style is None else styles.context(style)


def styled(function: Callable[_DrawParameters, _Made]) -> Callable[_DrawParameters, _Made]:
    """Run a function with the style of its argument `style`, or unchanged in the caller's axes."""

    @wraps(function)
    def in_style(*args: _DrawParameters.args, **kwargs: _DrawParameters.kwargs) -> _Made:
        # The caller's axes already have a style.
        style = kwargs.get("style", SHEET) if kwargs.get("ax") is None else None
        with context_of(style):
            return function(*args, **kwargs)

    return in_style


def of_runs(
    *needed: str, unless: Callable[[Any], str] = lambda result: ""
) -> Callable[[Callable[_DrawParameters, _Made]], Callable[_DrawParameters, _Made]]:
    """Declare a figure of one result, or of `*results`, with the variables that it requires.

    The figure rejects results that lack a variable, and results for which `unless` returns a
    reason. Its argument `style` sets its style.
    """

    def declare(function: Callable[_DrawParameters, _Made]) -> Callable[_DrawParameters, _Made]:
        """Return the function with its style and checks, after it is listed."""
        first = next(iter(inspect.signature(function).parameters.values()))
        several, in_style = first.kind is first.VAR_POSITIONAL, styled(function)

        @wraps(function)
        def checked(*args: _DrawParameters.args, **kwargs: _DrawParameters.kwargs) -> _Made:
            if not args:
                name = function.__name__
                raise GranchainError(f"{name}: no result. At least one result is required.")
            for result in args if several else args[:1]:
                if reason := RUN_FIGURES[function.__name__].reason_against(result):
                    raise GranchainError(reason)
            return in_style(*args, **kwargs)

        RUN_FIGURES[function.__name__] = RunFigure(checked, needed, several, unless)
        return checked

    return declare


class RunFigure(NamedTuple):
    """A figure of results: function, required variables, whether it combines several results.

    `unless` returns why a result with these variables has no such figure, or an empty text.
    """

    draw: Callable[..., Any]
    needed: tuple[str, ...]
    several: bool
    unless: Callable[[Any], str]

    def reason_against(self, result: Any) -> str:
        """Return why the figure cannot be drawn from a result; empty if it can."""
        try:
            require_variables(result, *self.needed)
        except GranchainError as error:
            return str(error)
        return self.unless(result)


# Figures of results by name, in the order of their definition.
RUN_FIGURES: dict[str, RunFigure] = {}


def require_variables(result: Any, *names: str) -> None:
    """Raise an error if a result lacks one of the variables, with the result's message."""
    check_result(result, "figure")
    for name in names:
        try:
            values = getattr(result, name)
        except AttributeError as error:
            raise GranchainError(str(error)) from None
        if not len(values):
            raise GranchainError(
                f"figure: {name} is empty. It must have at least one entry. Run longer, or "
                "record more."
            )


# --------------------------------------------------------------------------------------------------
# Panels, legend, heading


class Panels:
    """The panels of a new figure, or the caller's axes.

    Parameters
    ----------
    ax : Axes, sequence of Axes, or None
        Axes of the caller.
    rows, columns : int
        Grid of a new figure.
    count : int, optional
        Number of panels, if the last row is not full.
    tall : float
        Height of a new figure with several panels, relative to the setting figure.figsize. It is
        at most as high as wide. A single panel has the size of the setting.
    **layout
        Arguments of `Figure.subplots`.
    """

    def __init__(
        self,
        ax: Any,
        rows: int = 1,
        columns: int = 1,
        count: int | None = None,
        tall: float = 1.0,
        **layout: Any,
    ):
        count = rows * columns if count is None else count
        self.new = ax is None
        if self.new:
            width, height = rcParams["figure.figsize"]
            size = width, height if count == 1 else min(tall * height, width)
            figure = Picture(figsize=size, layout="constrained")
            FigureCanvasAgg(figure)
            grid = figure.subplots(rows, columns, squeeze=False, **layout).ravel()
            for surplus in grid[count:]:
                surplus.remove()
            # The panels above a gap in the last row have the labels of their column.
            for axes in grid[max(0, count - columns) : count]:
                axes.tick_params(axis="x", labelbottom=True)
            panels = grid[:count]
        else:
            panels = np.array(ax, dtype=object).ravel()
        if len(panels) != count or not all(isinstance(axes, Axes) for axes in panels):
            kinds = ", ".join(sorted({type(axes).__name__ for axes in panels}))
            raise GranchainError(
                f"ax: {len(panels)} objects of type {kinds} do not fit. It must be {count} Axes, "
                f"one per panel. Create them with matplotlib.pyplot.subplots({count}), or omit ax."
            )
        self.axes: list[Any] = list(panels)
        self.columns = columns
        self.first = self.axes[0]
        # The figure of axes in a subfigure is the whole figure.
        self.figure: Figure = self.first.figure.figure

    def in_pairs(self) -> list[tuple[Any, Any]]:
        """Return the upper and lower panel of each sensor, from the rows of a new figure."""
        step = self.columns if self.new else 1
        upper = [k for k in range(len(self.axes)) if k // step % 2 == 0]
        return [(self.axes[k], self.axes[k + step]) for k in upper]

    def label_columns(self, name: str, unit: str = "") -> None:
        """Label the x axes that have numbers: of shared axes, the lowest of each column."""
        for axes in self.axes:
            if axes.xaxis.get_tick_params().get("labelbottom", True):
                label_axis(axes.xaxis, name, unit)

    def legend(self, handles: Sequence[Any] | None = None, **options: Any) -> None:
        """Add a legend: inside a single panel if it is short, otherwise below a new figure."""
        if handles is None:
            named = {
                label: handle
                for axes in self.axes
                for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
            }
            handles = list(named.values())
        if not handles:
            return
        size = FontProperties(size=rcParams["legend.fontsize"]).get_size_in_points()
        letters = 72.0 * self.figure.get_figwidth() / (LETTER * size)
        for handle in handles:
            # Six letters are the width of the line sample and its gap.
            handle.set_label(
                textwrap.fill(escape_mathtext(str(handle.get_label())), max(int(letters) - 6, 12))
            )
        if self.new and (len(self.axes) > 1 or len(handles) > MOST_INSIDE):
            longest = max(
                len(row) for handle in handles for row in str(handle.get_label()).splitlines()
            )
            columns = max(1, min(len(handles), int(letters / (longest + 6))))
            self.figure.legend(handles=handles, loc="outside lower left", ncols=columns, **options)
            return
        look = {} if self.new else legend_look(self.first)
        self.first.legend(handles=handles, **look, **options)

    def shades(self, values: np.ndarray, name: str, unit: str = "") -> list[Any]:
        """Return a colour of the sequential map for each value, and add the colour bar.

        The colours are logarithmic if the values are. Colours of the map that the background hides
        are left out.
        """
        norm = (LogNorm if is_log(values) else Normalize)(values.min(), values.max())
        colours = matplotlib.colormaps[rcParams["image.cmap"]](np.linspace(0.0, 1.0, 256))
        far = np.abs(colours[:, :3] - to_rgb(self.first.get_facecolor())).mean(axis=1) > VISIBLE
        mappable = ScalarMappable(norm, ListedColormap(colours[far]))
        add_bar(self.axes[self.columns - 1 if self.new else 0], mappable, name, unit)
        return [mappable.to_rgba(value) for value in values]

    def finish(
        self, title: str, *notes: str, results: Sequence[Result] = (), kind: str = "simulated"
    ) -> Figure:
        """Write the heading of a new figure, and mark failed runs; return the figure.

        The label of the figure is the heading without its title, for a caption.
        """
        failures = [result.status.label for result in results if result.status.failed]
        if failures:
            self.first.annotate(
                f"RUN FAILED: {', '.join(failures)}",
                (0.02, 0.98),
                xycoords="axes fraction",
                va="top",
                **(text_look(self.first) | {"color": FAILURE_COLOUR}),
            )
        if self.new:
            if results:
                notes = (named_laws(result.law for result in results), *notes)
            phrases = "  \N{MIDDLE DOT}  ".join(filter(None, (kind, *notes)))
            self.figure.set_label(clean(phrases))
            heading = escape_mathtext(f"{title or 'untitled case'}\n{phrases}")
            self.figure.suptitle(heading, x=0.01, ha="left", wrap=True)
            self.figure.align_ylabels(self.axes)
        return self.figure


def escape_mathtext(text: str) -> str:
    """Return text that Matplotlib, or LaTeX, prints as it is, without control characters."""
    special = r"([$_%#&])" if rcParams["text.usetex"] else r"(\$)"
    return re.sub(special, r"\\\1", clean(text))


def text_look(axes: Any) -> dict[str, Any]:
    """Return the font of an axes' tick labels and the colour of its title, for text in it."""
    tick = axes.xaxis.get_major_ticks(1)[0].label1
    return {"fontproperties": tick.get_fontproperties(), "color": axes.title.get_color()}


def legend_look(axes: Any) -> dict[str, Any]:
    """Return font and colours of a legend in the caller's axes."""
    font = text_look(axes)["fontproperties"].copy()
    if rcParams["legend.fontsize"] != rcParamsDefault["legend.fontsize"]:
        font.set_size(rcParams["legend.fontsize"])
    return {
        "prop": font,
        "labelcolor": axes.title.get_color(),
        "facecolor": axes.get_facecolor(),
    }


def add_bar(axes: Any, mappable: Any, name: str, unit: str = "", **options: Any) -> Any:
    """Add a colour bar inside the space of an axes, with its fonts and colours."""
    bar = axes.figure.colorbar(mappable, cax=axes.inset_axes(BAR), **options)
    tick, label = axes.yaxis.get_major_ticks(1)[0].label1, axes.yaxis.get_label()
    bar.ax.tick_params(
        labelsize=tick.get_fontsize(),
        labelcolor=tick.get_color(),
        labelfontfamily=tick.get_fontfamily(),
    )
    bar.ax.yaxis.label.set(fontproperties=label.get_fontproperties(), color=label.get_color())
    if isinstance(mappable.norm, LogNorm):
        log_axis(bar.ax.yaxis)
    label_axis(bar.ax.yaxis, name, unit)
    return bar


def panel_title(axes: Any, *lines: str) -> None:
    """Write lines of text above a panel, wrapped to its width."""
    wide = 72.0 * axes.get_window_extent().width / axes.figure.dpi
    letters = max(int(wide / (LETTER * axes.title.get_fontsize())), 12)
    # A number and its percent sign stay on one line.
    texts = [escape_mathtext(line).replace(" %", "\N{NO-BREAK SPACE}%") for line in lines]
    axes.set_title("\n".join(textwrap.fill(text, letters) for text in texts))


def zero_line(axes: Any) -> None:
    """Plot a line at 0 that looks like the frame of the axes."""
    frame = axes.spines["bottom"]
    axes.axhline(0.0, color=frame.get_edgecolor(), linewidth=frame.get_linewidth(), zorder=0)


class Lines:
    """Plot lines of several results: a colour for each law, and dashes for results of one law.

    If all results have the same law, each has a colour. Colours are those of the axes.
    """

    def __init__(self, laws: Sequence[str]):
        self.keys: list[Any] = list(laws) if len(set(laws)) > 1 else list(range(len(laws)))
        self.colours: dict[Any, Any] = {}

    def plot(self, axes: Any, i: int, x: Any, y: Any, **look: Any) -> Line2D:
        """Plot a line of result i and return it."""
        key = self.keys[i]
        (line,) = axes.plot(x, y, **({"color": self.colours.get(key)} | look))
        colour = self.colours.setdefault(key, line.get_color())
        # Later lines are thinner, because the curves of laws may coincide.
        before_last = (len(self.keys) - 1 - i) / max(len(self.keys) - 1, 1)
        line.set_linewidth(line.get_linewidth() * (1.0 + 0.6 * before_last))
        before = [other for other, used in self.colours.items() if used == colour].index(key)
        dashes = DASHES[(before + self.keys[:i].count(key)) % len(DASHES)]
        if dashes is not None and "linestyle" not in look:
            line.set_linestyle(dashes)
        return line


def mark_values(line: Line2D) -> None:
    """Put a dot at each value of a line; if there are many, only at those without a neighbour."""
    present = np.isfinite(np.asarray(line.get_ydata(), dtype=float))
    around = np.pad(present, 1)
    marked = present & ~around[:-2] & ~around[2:] if len(present) > MOST_MARKS else present
    if line.get_marker() in ("None", None, ""):
        line.set(marker="o", markersize=0.5 * rcParams["lines.markersize"])
    line.set_markevery(np.flatnonzero(marked).tolist())


# --------------------------------------------------------------------------------------------------
# Units and axes


class PrefixFormatter(EngFormatter):
    """Format all ticks of an axis with one prefix, which the label of the axis contains."""

    def __init__(self, power: int):
        super().__init__(useMathText=False)
        self.power = power

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the text of a tick."""
        return self.fix_minus(f"{round(x / 10.0**self.power, 9) + 0.0:.6g}")


def prefix_of(size: float, unit: str) -> tuple[int, str]:
    """Return the power of ten and the name of a prefixed unit in which a size is 1 to 1000."""
    if unit not in PREFIXED or not 0.0 < size < math.inf:
        return 0, unit
    # The kilogram already has a prefix: SI Brochure, 9th ed., section 3.
    gram = 3 if unit == "kg" else 0
    power = 3 * math.floor(math.log10(size * 10.0**gram * (1.0 + 1e-9)) / 3.0)
    prefix = EngFormatter.ENG_PREFIXES[min(max(power, -30), 30)]
    return power - gram, prefix + (unit[-1] if gram else unit)


def label_axis(axis: Axis, name: str, unit: str = "") -> None:
    """Label an axis, with its ticks in the prefixed unit that suits its limits."""
    low, high = sorted(map(abs, axis.get_view_interval()))
    many = axis.get_scale() == "log" and high > MANY_DECADES * low
    power, unit = (0, unit) if many else prefix_of(high, unit)
    if not many:
        axis.set_major_formatter(PrefixFormatter(power))
    write_label(axis, name if unit in ("", "1") or not name else f"{name} [{unit}]")


def write_label(axis: Any, text: str) -> None:
    """Write the label of an axis, wrapped to its length.

    The layout of the figure, which follows, shortens a vertical axis to about six tenths.
    """
    box = axis.axes.get_window_extent()
    length = 0.9 * box.width if axis.axis_name == "x" else 0.6 * box.height
    points = 72.0 * length / axis.axes.figure.dpi
    letters = int(points / (LETTER * axis.get_label().get_fontsize()))
    axis.set_label_text(
        textwrap.fill(escape_mathtext(text), max(letters, 10), break_long_words=False)
    )


def log_axis(axis: Any, integer: bool = False) -> None:
    """Make an axis logarithmic, optionally with ticks at whole numbers only.

    Ticks are at 1, 2, and 5 of each decade, at powers of ten over many decades, and evenly spaced
    if the limits span less than a factor of five.
    """
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = sorted(axis.get_view_interval())
    if high < LOG_SPAN * low:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], integer=integer))
    elif high < MANY_DECADES * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())


def is_log(values: np.ndarray) -> bool:
    """Return whether positive values are spaced more evenly on a logarithmic scale."""
    if len(values) < 3 or not 0.0 < LOG_SPAN * values.min() <= values.max():
        return False
    ratio, step = np.diff(np.log(np.sort(values))), np.diff(np.sort(values))
    return bool(ratio.std() / ratio.mean() < step.std() / step.mean())


def whole_ticks(*axes: Any) -> None:
    """Put the ticks of axes at whole numbers."""
    for axis in axes:
        axis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


def share_limits(panels: Sequence[Any], which: str, low: float = 0.0, high: float = 0.0) -> None:
    """Give panels common limits that contain their data and margins, as fractions of the range."""
    ends = [getattr(axes.dataLim, f"interval{which}") for axes in panels]
    least, most = min(end[0] for end in ends), max(end[1] for end in ends)
    size = (most - least) or abs(most) or 1.0
    for axes in panels:
        axes.set(**{f"{which}lim": (least - low * size, most + high * size)})


def padded_limits(values: np.ndarray) -> tuple[float, float]:
    """Return limits just outside values.

    If the values are nearly equal, the limits are a tenth of their size outside.
    """
    good = values[np.isfinite(values)]
    low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 0.0)
    room = max(0.1 * (high - low), 0.1 * abs(high) - 0.5 * (high - low)) or 1.0
    return low - room, high + room


def largest(*values: Any) -> float:
    """Return the largest absolute value of the finite values, or 0 if there are none."""
    sizes = [np.abs(np.asarray(each)[np.isfinite(each)]).max(initial=0.0) for each in values]
    return float(max(sizes, default=0.0))


def quantity(value: float, unit: str) -> str:
    """Return a value with three digits and a prefixed unit, such as 40 ns."""
    rounded = float(f"{value:.3g}")
    power, prefixed = prefix_of(abs(rounded), "" if unit == "1" else unit)
    return f"{rounded / 10.0**power:.3g} {prefixed}".rstrip()


# --------------------------------------------------------------------------------------------------
# Selections and their names


def evenly_spaced(count: int, most: int) -> list[int]:
    """Return all indices, or `most` evenly spaced ones."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()


def selected(labels: np.ndarray, chosen: Sequence[int] | int | None, most: int) -> list[int]:
    """Return the indices of chosen labels, or of as many evenly spaced ones."""
    if chosen is None or isinstance(chosen, int):
        return evenly_spaced(len(labels), chosen or most)
    available = labels.tolist()
    if not len(chosen) or not set(chosen) <= set(available):
        raise GranchainError(
            f"figure: {list(chosen)} is not valid. Each must be one of {available}."
        )
    return [available.index(label) for label in chosen]


def body_name(bead: int) -> str:
    """Return the name of a body."""
    return "striker" if bead == 0 else f"bead {bead}"


def named_laws(laws: Iterable[str]) -> str:
    """List the contact laws of a figure, each once; a name may list several laws of one chain."""
    names = list(dict.fromkeys(law for several in laws for law in several.split(", ")))
    if len(names) > MOST_CURVES:
        return f"{len(names)} contact laws"
    return ("contact law " if len(names) == 1 else "contact laws ") + ", ".join(names)


def title_of(results: Iterable[Any]) -> str:
    """Return the titles of answers, each once."""
    return "; ".join(dict.fromkeys(result.title for result in results if result.title))


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
    for texts in (case_differences(results), [result.title for result in results]):
        if len(set(texts)) == len(results) and all(texts):
            return texts
    return list(otherwise or [f"run {i + 1}: {law}" for i, law in enumerate(laws)])


def case_differences(results: Sequence[Result], without: tuple[str, ...] = ()) -> list[str]:
    """List the keys that differ between the cases of results, with their values.

    Keys that begin with a text of `without` are left out. The list is empty if no keys differ, or
    more than two, or if a value is a list.
    """
    cases = [case_of(result) for result in results]
    if None in cases:
        return []
    differing: Mapping[str, Sequence[Any]] = {
        key: values for key, values in differences(cases).items() if not key.startswith(without)
    }
    values = list(zip(*differing.values(), strict=True))
    if len(differing) > MOST_KEYS or any(isinstance(v, list) for row in values for v in row):
        return []
    return [
        ", ".join(f"{key} {short_value(v)}" for key, v in zip(differing, row, strict=True))
        for row in values
    ]


def short_value(value: Any) -> str:
    """Return the value of a key for a legend: never JSON or many digits."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(value)
    return "set" if len(str(value)) > LABEL_LENGTH else str(value or "not set")
