"""What every figure has: style, units, heading, choice of lines, file."""

from __future__ import annotations

import io
import math
import os
import textwrap
from collections.abc import Callable, Sequence
from functools import cache, wraps
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from granchain.errors import FileError, GranchainError
from granchain.output import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from granchain.output import Result


_P = ParamSpec("_P")
_T = TypeVar("_T")

# Of more lines or rows than these, evenly spaced ones are drawn and the figure states it: as many as there are colours, and as fit a page.
MOST_LINES = 10
MOST_ROWS = 12

# File formats of `save`, by the end of the name, with the metadata that leave the date out of the file: equal figures, equal bytes.
FORMATS: dict[str, dict[str, None]] = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
# What a file of such a format has in its first bytes: nothing else is replaced.
MARKS = {".png": b"\x89PNG", ".pdf": b"%PDF-", ".svg": b"<svg"}


# --------------------------------------------------------------------------------------------------------------------
# Style, units, headings


@cache
def style() -> Any:
    """The settings of `granchain.mplstyle` as matplotlib's RcParams."""
    import matplotlib

    with as_file(files("granchain") / "granchain.mplstyle") as path:
        return matplotlib.rc_params_from_file(path, use_default_template=False)


def styled(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run a function with our settings; the user's come back afterwards."""

    @wraps(function)
    def within(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        import matplotlib

        with matplotlib.rc_context(rc=style()):
            return function(*args, **kwargs)

    return within


def new_figure(width: float, height: float) -> Figure:
    """A figure [inch] without pyplot, which takes 0.4 s to load and keeps every figure alive."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def row_under_heading(figure: Figure, widths: Sequence[float]) -> tuple[Axes, np.ndarray]:
    """Axes for a heading over the whole width, and a row of axes under it."""
    grid = figure.add_gridspec(2, len(widths), height_ratios=[0.02, 1.0], width_ratios=widths)
    top = figure.add_subplot(grid[0, :])
    top.set_axis_off()
    return top, np.array([figure.add_subplot(grid[1, i]) for i in range(len(widths))])


def palette() -> list[str]:
    import matplotlib

    colours: list[str] = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    return colours


def scaled(largest: float, unit: str) -> tuple[float, str]:
    """Factor and name of the unit, or a thousandth of it and so on, in which a size is between 0.1 and 100."""
    for exponent, prefix in ((0, ""), (-3, "m"), (-6, "\N{MICRO SIGN}"), (-9, "n")):
        if largest >= 0.1 * 10.0**exponent:
            return 10.0**-exponent, prefix + unit
    return 1e12, "p" + unit


def time_unit(end: float) -> tuple[float, str]:
    """Microseconds, or for a run above a fiftieth of a second, milliseconds or seconds."""
    if end <= 0.02:
        return 1e6, "\N{MICRO SIGN}s"
    return (1e3, "ms") if end <= 20.0 else (1.0, "s")


def head(axes: Axes, results: Sequence[Result], *notes: str) -> None:
    """Title of the case; under it, that it is simulated, the law, the step and, where it is so, that the run failed."""
    laws = list(dict.fromkeys(result.law for result in results))
    parts = ["simulated", ("contact law " if len(laws) == 1 else "contact laws ") + ", ".join(laws)]
    if len(results) == 1:
        factor, unit = scaled(results[0].time_step, "s")
        parts.append(f"time step {results[0].time_step * factor:.3g} {unit}")
    parts += [note for note in notes if note]
    parts += [f"RUN FAILED: {result.status.label}" for result in results if result.status.failed]
    write_heading(axes, title_of(results) or "untitled case", parts, failed=any(result.status.failed for result in results))


def write_heading(axes: Axes, title: str, parts: Sequence[str], failed: bool = False) -> None:
    """A title, and under it the parts of a sentence in as many lines as they take."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]}  \N{MIDDLE DOT}  {part}"
        lines[-1:] = [longer] if len(longer) <= 96 else [lines[-1], part]
    axes.annotate(
        "\n".join(lines),
        (0.0, 1.0),
        (0.0, 8.0),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8,
        color=palette()[2] if failed else "#555555",
        parse_math=False,
    )
    # Room for the lines of 8 points below it; a dollar sign in a title is a dollar sign.
    axes.set_title(textwrap.fill(title, 72), pad=13.0 + 10.0 * len(lines), parse_math=False)


def need(result: Result, *names: str) -> None:
    """Raise the result's message about a variable that it does not have."""
    for name in names:
        try:
            values = getattr(result, name)
        except AttributeError as error:
            raise GranchainError(str(error)) from None
        if not len(values):
            raise GranchainError(
                f"figure: got a result with an empty {name}, allowed one with entries: there is nothing to draw; run longer, or record more"
            )


def choose(asked: Sequence[int] | None, there: np.ndarray, most: int, what: str) -> tuple[list[int], str]:
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


def title_of(results: Sequence[Result]) -> str:
    """The titles of results, what they share once; inputs of contact laws stand in a file's own title, laws in the labels."""
    titles = list(dict.fromkeys(result.title for result in results if result.title))
    if len(titles) < 2:
        return "".join(titles)
    parts = [title.split("; ") for title in titles]
    shared = [part for part in parts[0] if all(part in other for other in parts)]
    rest = [part for other in parts for part in other if part not in shared and not part.removeprefix("no ").startswith("contact.")]
    return "; ".join(dict.fromkeys([*shared, *rest]))


def labels_of(results: Sequence[Result]) -> list[str]:
    """A word for each of several results: its law, or its title where laws are the same."""
    for words in ([result.law for result in results], [result.title for result in results]):
        if len(set(words)) == len(words):
            return words
    return [f"run {i + 1}: {result.law}" for i, result in enumerate(results)]


def framed_loops(axes: Axes, unit: str, there: str, back: str, marked: bool) -> list[Line2D]:
    """Zero line, limits and labels of loops of force over overlap; what their legend has to show."""
    from matplotlib.lines import Line2D

    axes.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    axes.margins(x=0.03)
    low = min(0.0, axes.dataLim.y0)
    axes.set_ylim(low - 0.03 * (axes.dataLim.y1 - low), None)
    axes.set_xlabel(f"overlap ({unit})")
    axes.set_ylabel("contact force (N)")
    handles = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    handles += [Line2D([], [], color="#555555", label=there), Line2D([], [], color="#555555", ls="--", lw=1.0, label=back)]
    if marked:
        handles.append(Line2D([], [], color="#555555", ls="", marker="|", ms=9, mew=1.6, label="residual overlap"))
    return handles


def branches(overlap: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force where the overlap grows, and where it does not, nan elsewhere; the two share the samples where one becomes the other.

    Of the open contact only the samples next to a force are drawn.
    """
    grows = np.diff(overlap) > 0.0
    closed = force != 0.0
    near = closed | np.append(closed[1:], False) | np.insert(closed[:-1], 0, False)
    loading = near & (np.append(grows, False) | np.insert(grows, 0, False))
    unloading = near & (np.append(~grows, False) | np.insert(~grows, 0, False))
    return np.where(loading, force, math.nan), np.where(unloading, force, math.nan)


@styled
def save(figure: Figure, path: str | os.PathLike[str], overwrite: bool = True) -> None:
    """Write a figure as PNG (150 dpi), PDF or SVG, by the end of the name; equal figures give equal bytes.

    Parameters
    ----------
    figure : Figure
    path : str or path
        Ends in .png, .pdf or .svg.
    overwrite : bool
        Replace a figure of that name; any other file stays.

    Raises
    ------
    FileError
        For another ending, a folder that is missing, a file that must stay or a full disk.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise FileError(f"{os.fspath(path)}: got the ending {ending!r}, allowed: {', '.join(FORMATS)}; name the figure accordingly")
    image = io.BytesIO()
    figure.savefig(image, format=ending[1:], metadata=FORMATS[ending])
    write_whole(path, image.getvalue(), overwrite, marks=(MARKS[ending],))
