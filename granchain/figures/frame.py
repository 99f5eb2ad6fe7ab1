"""What every figure has: style, units, heading, choice of lines, file."""

from __future__ import annotations

import io
import math
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from granchain.case.document import flattened
from granchain.errors import CaseError, FileError, GranchainError, clean, nearest
from granchain.store import write_whole
from granchain.store.result import check_result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from granchain.store import Result


_P = ParamSpec("_P")
_Drawn = TypeVar("_Drawn")

# Of more lines or rows than these, evenly spaced ones are drawn and the figure states it: as many
# as are told apart, and as fit a page.
MOST_LINES = 10
# Width of a letter of our type in its size: 0.48 to 0.57 over the headings and labels of seven
# figures (measured, DejaVu Sans).
LETTER = 0.55
# Part of a figure's width that a legend beside it may take.
LEGEND_ROOM = 0.35
# Part of an axis by which it is made longer to end on a round number.
ROUNDED = 0.005
# How a line is drawn when all colours have been used: the same colours again with other dashes.
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2)))
MOST_LEGEND_ROWS = 12

# Colour of a run that failed, the third of the palette.
FAILED = "#bd1f01"

# Keys in which cases may differ to be told apart by them in a legend.
MOST_KEYS = 2

# File formats of `save`, by the end of the name, with the metadata that leave the date out of the
# file: equal figures, equal bytes.
FORMATS: dict[str, dict[str, None]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}
# What a file of such a format has in its first bytes: nothing else is replaced.
MARKS = {".png": b"\x89PNG", ".pdf": b"%PDF-", ".svg": b"<svg"}


# Widths of figures on the page of a journal [mm]: one column and two, as wide as the narrower ones
# of journals are.
JOURNAL_WIDTHS = {"single": 86.0, "double": 178.0}
# Settings in which a figure one column wide differs: type of 7 points is the smallest that is read
# on paper.
NARROW: dict[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "legend.handlelength": 1.4,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.1,
}
# How much lower than on a screen a figure one column wide is, by less than it is narrower, and what
# its lines of heading and legend add [inch].
_LOWER, _HEADING = 0.62, 0.55
_PAGE_WIDTH: ContextVar[str | None] = ContextVar("page", default=None)


# --------------------------------------------------------------------------------------------------
# Style, units, headings


@cache
def style() -> Any:
    """The settings of `granchain.mplstyle` as matplotlib's RcParams."""
    import matplotlib

    with as_file(files("granchain") / "granchain.mplstyle") as path:
        return matplotlib.rc_params_from_file(path, use_default_template=False)


@contextmanager
def page(width: str | None) -> Iterator[None]:
    """Draw figures within as wide as a journal prints them, with type of 7 points and more.

    Parameters
    ----------
    width : {"single", "double"} or None
        One column, 86 mm, or two, 178 mm; None as for a screen.

    Raises
    ------
    GranchainError
        For another width.
    """
    if width is not None and width not in JOURNAL_WIDTHS:
        near = nearest(str(width), JOURNAL_WIDTHS)
        advice = f'did you mean "{near}"?' if near else "name one of them"
        words = " or ".join(f'"{name}" ({size:g} mm)' for name, size in JOURNAL_WIDTHS.items())
        raise GranchainError(f'width: got "{str(width)[:40]}", allowed {words}; {advice}')
    before = _PAGE_WIDTH.set(width)
    try:
        yield
    finally:
        _PAGE_WIDTH.reset(before)


def narrow() -> bool:
    """Whether figures are one column wide."""
    return _PAGE_WIDTH.get() == "single"


def columns_in_legend(count: int) -> int:
    """How many panels stand beside each other."""
    return min({"single": 2, "double": 3}.get(_PAGE_WIDTH.get() or "", 4), count)


def styled(function: Callable[_P, _Drawn]) -> Callable[_P, _Drawn]:
    """Run a function with our settings; the user's come back afterwards."""

    @wraps(function)
    def within(*args: _P.args, **kwargs: _P.kwargs) -> _Drawn:
        import matplotlib

        with matplotlib.rc_context(rc=dict(style()) | (NARROW if narrow() else {})):
            return function(*args, **kwargs)

    return within


def new_figure(width: float, height: float) -> Figure:
    """A figure [inch], or as wide as `page` asks for, without pyplot, which takes 0.4 s to load
    and keeps every figure alive."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    asked = _PAGE_WIDTH.get()
    if asked is not None:
        # 25.4 mm are an inch by its definition: NIST Special Publication 811 (2008), appendix B.8
        width, height = (
            JOURNAL_WIDTHS[asked] / 25.4,
            (_LOWER * height + _HEADING if narrow() else height),
        )
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def one_panel(ax: Axes | None, width: float, height: float) -> tuple[Figure, Axes]:
    """The axes that are given, with their figure, or those of a new figure."""
    if ax is None:
        figure = new_figure(width, height)
        return figure, figure.subplots()
    (axes,) = given_panels(ax, 1)
    return figure_of(axes), axes


def figure_of(axes: Axes) -> Figure:
    """The figure that axes are in; a part of one counts as one."""
    figure: Any = axes.figure
    found: Figure = figure
    return found


def given_panels(ax: Any, count: int) -> np.ndarray:
    """Axes that are given to be drawn into, as many as the figure has panels."""
    from matplotlib.axes import Axes

    panels = np.array(ax, dtype=object).reshape(-1)
    if len(panels) != count or not all(isinstance(one, Axes) for one in panels):
        kinds = sorted({type(one).__name__ for one in panels if not isinstance(one, Axes)})
        got = f"{len(panels)} axes" if not kinds else f"{', '.join(kinds)} for axes"
        asked = (
            "one Axes of matplotlib"
            if count == 1
            else f"{count} Axes of matplotlib, one for each panel"
        )
        raise GranchainError(
            f"ax: got {got}, allowed {asked}; make them with matplotlib.pyplot.subplots({count}), "
            "or leave ax out"
        )
    return panels


def row_under_heading(
    width: float, height: float, widths: Sequence[float]
) -> tuple[Figure, Axes, np.ndarray]:
    """A figure with axes for a heading over the whole width, and a row of axes under it; one
    column wide, a column of them."""
    n = len(widths)
    down = n if narrow() else 1
    figure = new_figure(width, height * (0.85 * n if narrow() else 1.0))
    ratios = {} if narrow() else {"width_ratios": widths}
    grid = figure.add_gridspec(down + 1, n // down, height_ratios=[0.02, *[1.0] * down], **ratios)
    top = figure.add_subplot(grid[0, :])
    top.set_axis_off()
    return (
        figure,
        top,
        np.array(
            [figure.add_subplot(grid[1 + i // (n // down), i % (n // down)]) for i in range(n)]
        ),
    )


def palette() -> list[str]:
    import matplotlib

    colours: list[str] = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    return colours


def look(i: int) -> dict[str, Any]:
    """Colour and dashes of line i of a figure, of which no other line has both."""
    colours = palette()
    return {
        "color": colours[i % len(colours)],
        "linestyle": DASHES[i // len(colours) % len(DASHES)],
    }


def need_few(count: int, what: str) -> None:
    """Refuse more lines than are told apart where dashes already mean something."""
    if count > len(palette()):
        raise GranchainError(
            f"{what}: got {count} lines, allowed {len(palette())}, which is as many as there are "
            "colours; draw fewer"
        )


def small_type() -> float:
    """Size of small type [points]."""
    import matplotlib

    return float(matplotlib.rcParams["legend.fontsize"])


def label_size() -> float:
    """Size of the type of axis labels [points]."""
    import matplotlib

    return float(matplotlib.rcParams["axes.labelsize"])


def legend_beside(axes: Axes, given: bool = False, **look: Any) -> None:
    """A legend to the right of the axes; one column wide below the figure; in axes that were
    given, where there is room in them."""
    if given:
        axes.legend(loc="best", **look)
    elif (
        narrow()
        or widest(axes, look.get("handles")) > LEGEND_ROOM * 72.0 * figure_of(axes).get_figwidth()
    ):
        legend_below(axes, **look)
    else:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, **look)


def widest(axes: Axes, handles: Sequence[Any] | None) -> float:
    """Width of the longest entry of a legend [points]."""
    shown = handles if handles is not None else axes.get_legend_handles_labels()[0]
    # six letters are the line and the space beside it
    return (
        LETTER * small_type() * (max((len(str(one.get_label())) for one in shown), default=1) + 6)
    )


def legend_below(
    axes: Axes,
    given: bool = False,
    handles: Sequence[Any] | None = None,
    most: int = 4,
    **look: Any,
) -> None:
    """A legend below the figure, in as many columns as its words leave room for; in axes that
    were given, where there is room in them."""
    shown = list(handles) if handles is not None else axes.get_legend_handles_labels()[0]
    if given:
        axes.legend(handles=shown, loc="best", **look)
        return
    figure = figure_of(axes)
    columns = max(1, min(most, len(shown), int(72.0 * figure.get_figwidth() / widest(axes, shown))))
    figure.legend(handles=shown, loc="outside lower center", ncols=columns, **look)


def round_end(axes: Axes) -> None:
    """Let an axis that ends just before a round number end there, so that its last tick is
    drawn."""
    low, high = axes.get_xlim()
    for digits in (1, 2, 3):
        step = 10.0 ** (math.floor(math.log10(high)) + 1 - digits) if high > 0.0 else math.inf
        end = math.ceil(high / step * (1.0 - 1e-12)) * step
        if 0.0 <= end - high <= ROUNDED * (high - low):
            axes.set_xlim(low, end)
            return


def plain_powers(axes: Axes) -> None:
    """Ticks of a logarithmic axis as 1e-6: the exponent of a power is too small to read."""
    axes.yaxis.set_major_formatter(
        lambda value, _: f"1e{math.log10(value):.0f}" if not 1e-2 <= value <= 1e3 else f"{value:g}"
    )


def scaled(largest: float, unit: str) -> tuple[float, str]:
    """Factor and name of the unit, or a thousandth of it and so on, in which a size is between
    0.1 and 100."""
    for exponent, prefix in ((0, ""), (-3, "m"), (-6, "\N{MICRO SIGN}"), (-9, "n")):
        if largest >= 0.1 * 10.0**exponent:
            return 10.0**-exponent, prefix + unit
    return 1e12, "p" + unit


def time_unit(end: float) -> tuple[float, str]:
    """Microseconds, or for a run above a fiftieth of a second, milliseconds or seconds."""
    if end <= 0.02:
        return 1e6, "\N{MICRO SIGN}s"
    return (1e3, "ms") if end <= 20.0 else (1.0, "s")


def put_heading(axes: Axes, results: Sequence[Result], *notes: str, given: bool = False) -> None:
    """Title of the case; under it, that it is simulated, the law, the step and, where it is so,
    that the run failed.

    Over axes that were given, whose figure has a heading of its own, no more than a failure is
    stated.
    """
    if given:
        failures = [
            f"RUN FAILED: {result.status.label}" for result in results if result.status.failed
        ]
        if failures:
            axes.annotate(
                "\n".join(failures),
                (0.02, 0.98),
                xycoords="axes fraction",
                va="top",
                fontsize=small_type(),
                color=FAILED,
            )
        return
    laws = list(dict.fromkeys(result.law for result in results))
    parts = ["simulated", ("contact law " if len(laws) == 1 else "contact laws ") + ", ".join(laws)]
    if len(results) == 1:
        factor, unit = scaled(results[0].time_step, "s")
        parts.append(f"time step {results[0].time_step * factor:.3g} {unit}")
    parts += [note for note in notes if note]
    parts += [f"RUN FAILED: {result.status.label}" for result in results if result.status.failed]
    write_heading(
        axes,
        figure_title(results) or "untitled case",
        parts,
        failed=any(result.status.failed for result in results),
    )


def write_heading(
    axes: Axes, title: str, parts: Sequence[str], failed: bool = False, indent: float = 46.0
) -> None:
    """A title, and under it the parts of a sentence in as many lines as they take; `indent` is
    where the axes begin [points]."""
    import matplotlib

    size = small_type()
    most = letters_across(axes, size, indent)
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}  \N{MIDDLE DOT}  {part}" if lines else part
        lines[-1:] = [longer] if len(longer) <= most else [*lines[-1:], *textwrap.wrap(part, most)]
    axes.annotate(
        "\n".join(lines),
        (0.0, 1.0),
        (0.0, 8.0),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=size,
        color=FAILED if failed else "#555555",
        parse_math=False,
    )
    # Room for the lines below it; a dollar sign in a title is a dollar sign.
    words = textwrap.fill(
        title, letters_across(axes, matplotlib.rcParams["axes.titlesize"], indent)
    )
    axes.set_title(words, pad=13.0 + 1.25 * size * len(lines), parse_math=False)


def letters_across(axes: Axes, size: float, indent: float) -> int:
    """Letters of a size [points] that fit beside each other over axes that begin so far from
    the left of their figure [points]."""
    return int((72.0 * figure_of(axes).get_figwidth() - indent) / (LETTER * size))


def need(result: Result, *names: str) -> None:
    """Raise the result's message about a variable that it does not have."""
    check_result(result, "figure")
    for name in names:
        try:
            values = getattr(result, name)
        except AttributeError as error:
            raise GranchainError(str(error)) from None
        if not len(values):
            raise GranchainError(
                f"figure: got a result with an empty {name}, allowed one with entries: there is "
                "nothing to draw; run longer, or record more"
            )


def chosen_labels(
    asked: Sequence[int] | None, there: np.ndarray, most: int, what: str
) -> tuple[list[int], str]:
    """Places of the asked labels; of more than `most`, evenly spaced ones and a note."""
    labels = there.tolist()
    if asked is not None:
        missing = [label for label in asked if label not in labels]
        if missing or not len(asked):
            raise GranchainError(f"{what}: got {list(asked)}, allowed: one or more of {labels}")
        return [labels.index(label) for label in asked], ""
    if len(labels) <= most:
        return list(range(len(labels))), ""
    places = np.unique(np.linspace(0, len(labels) - 1, most).round().astype(int)).tolist()
    return places, f"{len(places)} of {len(labels)} {what} shown"


def body_name(bead: int) -> str:
    return "striker" if bead == 0 else f"bead {bead}"


def figure_title(results: Sequence[Result]) -> str:
    """The titles of results, what they share once; inputs of contact laws stand in a file's own
    title, laws in the labels."""
    titles = list(dict.fromkeys(result.title for result in results if result.title))
    if len(titles) < 2:
        return "".join(titles)
    parts = [title.split("; ") for title in titles]
    shared = [part for part in parts[0] if all(part in other for other in parts)]
    rest = [
        part
        for other in parts
        for part in other
        if part not in shared and not part.removeprefix("no ").startswith("contact.")
    ]
    return "; ".join(dict.fromkeys([*shared, *rest]))


def labels_of(
    results: Sequence[Result],
    labels: Sequence[str] | None = None,
    otherwise: Sequence[str] | None = None,
) -> list[str]:
    """A word for each of several results: the one that is given, else its law, what differs between
    the cases, or its title.

    Where none of these tells all of them apart: `otherwise`, or their number.
    """
    if labels is not None:
        if len(labels) != len(results):
            raise GranchainError(
                f"labels: got {len(labels)}, allowed {len(results)}, one for each result; name each"
            )
        return [str(label) for label in labels]
    for words in (
        [result.law for result in results],
        title_differences(results),
        [result.title for result in results],
    ):
        if len(set(words)) == len(results) and all(words):
            return words
    return (
        list(otherwise)
        if otherwise is not None
        else [f"run {i + 1}: {result.law}" for i, result in enumerate(results)]
    )


def title_differences(results: Sequence[Result]) -> list[str]:
    """The keys that differ between the cases of results, with their values; nothing where there
    are none or more than two."""
    cases = []
    for result in results:
        try:
            cases.append(dict(flattened(result.case.resolved())))
        except (CaseError, AttributeError):
            return []
    keys = [key for key in dict.fromkeys(key for case in cases for key in case) if key != "title"]
    unlike = [key for key in keys if any(case.get(key) != cases[0].get(key) for case in cases)]
    if not 0 < len(unlike) <= MOST_KEYS or any(
        isinstance(case.get(key), list) for case in cases for key in unlike
    ):
        return []
    return [", ".join(f"{key} {figure_words(case.get(key))}" for key in unlike) for case in cases]


def figure_words(value: Any) -> str:
    """A value of a key."""
    return (
        "not given" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    )


def framed_loops(axes: Axes, unit: str, there: str, back: str, marked: bool) -> list[Line2D]:
    """Zero line, limits and labels of loops of force over overlap; what their legend has to
    show."""
    from matplotlib.lines import Line2D

    axes.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    axes.margins(x=0.03)
    low = min(0.0, axes.dataLim.y0)
    axes.set_ylim(low - 0.03 * (axes.dataLim.y1 - low), None)
    axes.set_xlabel(f"overlap ({unit})")
    axes.set_ylabel("contact force (N)")
    handles = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    handles += [
        Line2D([], [], color="#555555", label=there),
        Line2D([], [], color="#555555", ls="--", lw=1.0, label=back),
    ]
    if marked:
        handles.append(
            Line2D(
                [], [], color="#555555", ls="", marker="|", ms=9, mew=1.6, label="residual overlap"
            )
        )
    return handles


def branches(overlap: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force where the overlap grows, and where it does not, nan elsewhere; the two share the
    samples where one becomes the other.

    Of the open contact only the samples next to a force are drawn.
    """
    grows = np.diff(overlap) > 0.0
    closed = force != 0.0
    near = closed | np.append(closed[1:], False) | np.insert(closed[:-1], 0, False)
    loading = near & (np.append(grows, False) | np.insert(grows, 0, False))
    unloading = near & (np.append(~grows, False) | np.insert(~grows, 0, False))
    return np.where(loading, force, math.nan), np.where(unloading, force, math.nan)


@styled
def save(
    figure: Figure, path: str | os.PathLike[str], overwrite: bool = True, dpi: float | None = None
) -> None:
    """Write a figure as PNG, PDF or SVG, by the end of the name; equal figures give equal bytes.

    Parameters
    ----------
    figure : Figure
    path : str or path
        Ends in .png, .pdf or .svg.
    overwrite : bool
        Replace a figure of that name; any other file stays.
    dpi : float, optional
        Dots an inch of a PNG; default: 150.

    Raises
    ------
    FileError
        For another ending, a folder that is missing, a file that must stay or a full disk.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise FileError(
            f"{os.fspath(path)}: got the ending {ending!r}, allowed: {', '.join(FORMATS)}; name "
            "the figure accordingly"
        )
    write_whole(path, image_of(figure, ending, dpi), overwrite, marks=(MARKS[ending],))


def image_of(figure: Figure, ending: str, dpi: float | None = None) -> bytes:
    """A figure as the bytes of such a file; its words, some from names of files, have no
    control characters."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if isinstance(text, Text) and (words := clean(text.get_text())) != text.get_text():
            text.set_text(words)
    image = io.BytesIO()
    dots: dict[str, Any] = {} if dpi is None else {"dpi": dpi}
    figure.savefig(image, format=ending[1:], metadata=FORMATS[ending], **dots)
    return image.getvalue()
