"""Commands that draw or report files: `plot`, `animate`, `spectrum`, `report`; and `dispersion`,
whose bands a spectrum is compared with, and `modes`."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import granchain as gc
from granchain.cli.options import (
    AnswerOption,
    CaseArgument,
    FigureOption,
    FileArgument,
    FilesArgument,
    JsonOption,
    LawModuleOption,
    NoVerifyOption,
    OverwriteOption,
    SetOption,
    TitleOption,
    app,
    conclude,
    known_name,
    load_laws,
    loaded_case,
    save_figure,
    wanted_files,
)
from granchain.cli.text import notify, print_result, print_text
from granchain.errors import CaseError, FileError, GranchainError
from granchain.markup import text_table

if TYPE_CHECKING:
    from granchain.show.blocks import Grid, Paragraph

# Largest number of files listed in the name of their common figure.
MOST_NAMES_OF_A_FIGURE = 3
# Variables of a file that an animation requires.
WANTED = {
    "displacement",
    "velocity",
    "snapshot_time",
    "bead",
    "radius",
    "mass",
    "position",
    "contact",
}

Draw = Callable[..., Any]


@app.command()
def plot(
    files: FilesArgument,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Plot only these figures, for example force-traces,peaks. An unknown name lists"
            " all.",
        ),
    ] = None,
    ending: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="Format: png, pdf, or svg.")
    ] = "png",
    no_title: TitleOption = False,
    traces: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=54,
            help="Plot N evenly spaced sensors, beads, or contacts. Default: 10 or 12.",
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="WORD",
            help="Label of a run in the legend. Repeat it for each run, in the order of the runs.",
        ),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder for the figures. It is created if necessary.")
    ] = ".",
    overwrite: OverwriteOption = False,
    no_verify: NoVerifyOption = False,
) -> None:
    """Plot result files: runs, mechanisms, and studies."""
    from granchain.figures.catalogue import several_figures
    from granchain.figures.style import FORMATS, RUN_FIGURES, labels_of

    known_name(f".{ending}", FORMATS, "--format", CaseError)
    if label is not None and len(label) != len(files):
        raise CaseError(
            f"--label: {len(label)} labels for {len(files)} files. One label per file is required."
        )
    found, stems = opened_alike(files, not no_verify), stems_of(files)
    known = list(dict.fromkeys(name for one in found for name in one.known))
    asked = known
    if only is not None and known:
        names = [hyphened(name.strip()) for name in only.split(",") if name.strip()]
        asked = [known_name(name, known, "--only", CaseError) for name in names]
    stem = "-".join(stems)
    if len(stems) > MOST_NAMES_OF_A_FIGURE:
        stem = f"{stems[0]}-and-{len(stems) - 1}-more"
    groups = [(name, one.figures) for name, one in zip(stems, found, strict=True)]
    if len(found) > 1 and found[0].kind.startswith("the run"):
        results = [one.content for one in found]
        labels = labels_of(results, label, otherwise=stems)
        groups = [(stem, several_figures(results, labels))]
        for name, one in zip(stems, found, strict=True):
            alone = {key: draw for key, draw in one.figures.items() if not RUN_FIGURES[key].several}
            groups.append((name, alone))
        laws = list(dict.fromkeys(result.law for result in results))
        groups = [
            (name, {key: in_law_colours(draw, laws) for key, draw in group.items()})
            for name, group in groups
        ]
    figures = {
        f"{stem}-{hyphened(name)}": draw
        for stem, group in groups
        for name, draw in group.items()
        if hyphened(name) in asked
    }
    for one, file in zip(found, files, strict=True):
        before = f"{file}: " if len(files) > 1 else ""
        notify(
            *(
                f"{before}no figure {hyphened(name)}. {advice}"
                for name, advice in one.lacking.items()
                if hyphened(name) in asked or hyphened(name) not in known
            )
        )
    if not figures and only is not None and known:
        raise CaseError(
            f"--only: {only[:60]} cannot be plotted, because the files do not contain the "
            "required variables. Record more variables in the case, or choose other figures."
        )
    if traces is not None:
        figures = {name: with_traces(draw, traces) for name, draw in figures.items()}
    draw_all(figures, out, ending, overwrite, title=not no_title)


def with_traces(draw: Draw, count: int) -> Draw:
    """Return a figure of a number of sensors, beads, or contacts, if it has such an option."""
    names = {"sensors", "beads", "contacts"} & inspect.signature(draw).parameters.keys()
    return partial(draw, **dict.fromkeys(names, count))


def in_law_colours(draw: Any, laws: Sequence[str]) -> Draw:
    """Return a figure of results in which each law has the colour of its place in a list."""
    import matplotlib
    from cycler import cycler

    @wraps(draw.func)
    def coloured(*args: Any, **options: Any) -> Any:
        cycle = matplotlib.rcParams["axes.prop_cycle"].by_key()
        first = [laws.index(law) for law in dict.fromkeys(result.law for result in draw.args)]
        order = [*first, *(i for i in range(len(cycle["color"])) if i not in first)]
        looks = {key: [values[i % len(values)] for i in order] for key, values in cycle.items()}
        with matplotlib.rc_context({"axes.prop_cycle": cycler(**looks)}):
            return draw(*args, **options)

    return coloured


class Drawable(NamedTuple):
    """The figures of a file.

    `kind` is the kind of its content for messages, `known` the names of all figures of this kind as
    options, and `lacking` the requirements of those that cannot be drawn.
    """

    content: Any
    kind: str
    figures: Mapping[str, Draw]
    known: list[str]
    lacking: dict[str, str]


def drawable(content: Any, file: str) -> Drawable:
    """Return the figures of the content of a file."""
    from granchain.figures.catalogue import LEAST_DISTRIBUTION, figures_of, lacking, run_figures
    from granchain.store import Answer

    figures = figures_of(content)
    if hasattr(content, "data_vars"):
        lack = {
            "figure": f"A distribution requires {LEAST_DISTRIBUTION} runs. A curve requires a key "
            "with several values, or several sensors. Sweep more values."
        }
        known = [*map(hyphened, figures)]
        return Drawable(content, "a study", figures, known, {} if figures else lack)
    if isinstance(content, Answer) and not isinstance(content, gc.Result):
        kind = type(content).__name__
        known = [*map(hyphened, figures)]
        lack = {"figure": f"{kind} has no figure. Use granchain report to show it."}
        return Drawable(content, kind, figures, known, {} if figures else lack)
    kind = f"the run of a {'mechanism' if 'crank_angle' in content.variables else 'chain'}"
    known = [*map(hyphened, run_figures(content.variables))]
    return Drawable(content, kind, figures, known, lacking(content))


def opened_alike(files: Sequence[str], verify: bool) -> list[Drawable]:
    """Return the figures of files, which must have the same kind."""
    from granchain.figures.catalogue import plotted_variables
    from granchain.store import Answer

    kinds: dict[str, list[str]] = {}
    found, problems = [], []
    for file in files:
        try:
            content = gc.open(file, plotted_variables, verify=verify)
            if isinstance(content, Answer) and not isinstance(content, gc.Result):
                content = gc.open(file, verify=verify)
            found.append(drawable(content, file))
        except FileError as error:
            problems.append(str(error))
        else:
            kinds.setdefault(found[-1].kind, []).append(file)
    if problems:
        raise FileError("\n".join(dict.fromkeys(problems)))
    if len(kinds) > 1:
        got = "; ".join(
            f"{kind}: {', '.join(names[:MOST_NAMES_OF_A_FIGURE])}" for kind, names in kinds.items()
        )
        raise CaseError(
            f"plot: the files have different kinds ({got}). All files must have the same "
            "kind. Plot each kind separately."
        )
    return found


def stems_of(files: Sequence[str]) -> list[str]:
    """Return a name for each file for its figures.

    It is the file name without its ending, numbered if another file has the same.
    """
    found: list[str] = []
    for stem in (Path(file).stem for file in files):
        names = (stem, *(f"{stem}-{count}" for count in range(2, len(files) + 1)))
        found.append(next(name for name in names if name not in found))
    return found


def hyphened(name: str) -> str:
    """Return the name of a figure as in file names and options."""
    return name.replace("_", "-")


def new_pictures(names: Iterable[str], out: str, ending: str, overwrite: bool) -> list[str]:
    """Return the files of figures in a folder.

    Raise an error if a file exists and is not overwritten.
    """
    from granchain.case.document import first_few

    targets = [str(Path(out) / f"{name}.{ending}") for name in names]
    there = [target for target in targets if os.path.lexists(target)]
    if there and not overwrite:
        raise FileError(
            f"{first_few(there, 1)}: the figures already exist and were not changed. Existing "
            f"files are overwritten only on request. Choose another folder with --out, or "
            "use --overwrite."
        )
    return targets


def draw_all(
    figures: Mapping[str, Draw],
    out: str,
    ending: str,
    overwrite: bool,
    title: bool = True,
) -> None:
    """Draw figures into a folder, and report each file name.

    Nothing is drawn if one of the files exists and is not overwritten.
    """
    from granchain.store.files import folder_for

    problems: list[GranchainError] = []
    with folder_for(out) as folder:
        targets = new_pictures(figures, str(folder), ending, overwrite)
        for target, draw in zip(targets, figures.values(), strict=True):
            try:
                save_figure(draw, target, overwrite, title=title)
            except FileError:
                raise
            except GranchainError as error:
                # If one figure cannot be drawn, the others still are.
                problems.append(error)
            else:
                print_text(target)
    if problems:
        raise type(problems[0])("\n".join(dict.fromkeys(map(str, problems))))


@app.command()
def animate(
    file: FileArgument,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.gif|FILE.mp4",
            help="File of the animation. Default: the name of the input with .gif, in the "
            "current directory.",
        ),
    ] = None,
    magnify: Annotated[
        float | None, typer.Option(metavar="X", help="Magnification of the displacements.")
    ] = None,
    frames: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of frames, from 2 to 600, at most the number of snapshots."
        ),
    ] = 100,
    beads: Annotated[
        str | None,
        typer.Option(metavar="FIRST-LAST", help="Bodies to show; 0 is the striker."),
    ] = None,
    no_title: TitleOption = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Write an animation of the chain as GIF or MP4.

    Displacements are magnified, and colours show forces.
    """
    from granchain.figures.run import MOVING
    from granchain.store.files import check_new

    target = out if out is not None else f"{Path(file).stem}.gif"
    check_new(target, MOVING, overwrite)
    between = None if beads is None else first_and_last(beads)
    result = gc.open(
        file,
        variables=lambda headers: [name for name in headers if name in WANTED],
    )
    if "crank_angle" in result.unread:
        raise FileError(
            f"{file}: this is the run of a mechanism. animate requires the run of a chain. "
            "Use granchain plot to plot the motion."
        )
    if "snapshot_time" not in result.variables or "displacement" not in result.variables:
        raise FileError(
            f"{file}: the file has no snapshots. Displacements and velocities are required. "
            "Run the case again with `interval` under [snapshots], for example --set "
            "snapshots.interval=2e-6."
        )
    try:
        gc.animate(
            result,
            target,
            magnify,
            frames,
            between,
            title=not no_title,
            overwrite=overwrite,
        )
    except FileError:
        raise
    except GranchainError as error:
        raise CaseError(f"animate: {error}") from None
    print_text(target)


def first_and_last(text: str) -> tuple[int, int]:
    """Return two labels separated by a hyphen."""
    first, _, last = text.partition("-")
    if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()) or (
        len(text) >= 40
    ):
        raise CaseError(
            f'--beads: "{text[:40]}" is not valid. It must be FIRST-LAST, two whole numbers, '
            "for example 0-20."
        )
    return int(first), int(last)


@app.command()
def spectrum(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Result file of a run. Several files, such as both directions of a chain, are "
            "plotted together.",
        ),
    ],
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="BEAD|END",
            help="Source: a sensor bead, or left or right for a driven end. Default: the driven "
            "end. For several files, one value for all, or one for each.",
        ),
    ] = None,
    sensor: Annotated[
        list[int] | None,
        typer.Option(
            "--to",
            metavar="BEAD",
            min=0,
            help="Sensor bead, for all files or for each. Default: the bead at the far end.",
        ),
    ] = None,
    segments: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of averaged segments, at least 1. Fewer segments resolve frequencies "
            "better.",
        ),
    ] = 8,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    no_title: TitleOption = False,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    no_verify: NoVerifyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the transmission between two places of a chain.

    The output lists band edges with their errors, and the figure shows frequency versus
    wavenumber.
    """
    load_laws(law_module)

    starts = [
        int(one) if one and one.isdecimal() and len(one) < 10 else one
        for one in per_file(source, files, "--from")
    ]
    stops = per_file(sensor, files, "--to")
    if out is not None and len(files) > 1:
        raise CaseError(
            f"--out: the spectra of {len(files)} files cannot be written to one file. Only one "
            "input file is possible. Write the spectrum of each file separately."
        )
    found = []
    with wanted_files(figure, out, overwrite):
        for file, start, stop in zip(files, starts, stops, strict=True):
            result = gc.open(file, verify=not no_verify)
            found.append(gc.spectrum(result, start, stop, segments=segments))
            if out is not None:
                found[0].save(out, overwrite)
        save_figure(gc.figures.spectrum, figure, overwrite, *found, title=not no_title)
    each = [{"file": file, **one.as_dict()} for file, one in zip(files, found, strict=True)]
    facts = {**(each[0] if len(files) == 1 else {"files": each}), "figure": figure, "out": out}
    messages = dict.fromkeys(message for one in found for message in one.messages)
    print_result(
        "spectrum", facts, as_json, lambda: "\n".join(map(print_spectrum, found)), messages
    )


def per_file(stated: list[Any] | None, files: Sequence[str], option: str) -> list[Any]:
    """Return a value of an option for each file; one value is for all, and None the default."""
    values = stated or [None]
    if len(values) not in (1, len(files)):
        raise CaseError(
            f"{option}: {len(values)} values for {len(files)} files. One value for all files, "
            "or one value per file, is required."
        )
    return values if len(values) == len(files) else values * len(files)


def print_spectrum(found: gc.Spectrum) -> str:
    """Describe a spectrum, with measured and predicted band edges in a table."""
    grid = spectrum_table(found)
    table = [text_table([grid.columns, *grid.rows], grid.alignment)] if grid.rows else []
    return "\n".join([*spectrum_words(found), *table])


def spectrum_words(found: gc.Spectrum) -> list[str]:
    """Describe source, sensor, and resolution, and the contribution of a driven end."""
    lines = [
        f"{found.source} to {found.sensor}: {len(found.frequency)} frequencies up to "
        f"{float(found.frequency[-1]):.6g} Hz, resolution {found.resolution:.4g} Hz"
    ]
    if found.source.endswith(" drive"):
        lines.append(
            f"The source is the {found.source}, so the transmission includes the drive and "
            "the first contacts. For the chain alone, use --from BEAD."
        )
    return lines


def spectrum_table(found: gc.Spectrum) -> Grid:
    """Return every measured edge, or why it is missing, with the edge of the dispersion."""
    from granchain.show.blocks import Grid, number_text

    columns = ("band", "edge", "measured [Hz]", "+- [Hz]", "predicted [Hz]", "error [%]", "note")
    rows = []
    for i, band in enumerate(found.band_edges.tolist()):
        for j, name in enumerate(found.edge):
            predicted = float(found.predicted_band_edges[i, j])
            off = 100.0 * (band[j] / predicted - 1.0) if predicted > 0.0 else math.nan
            edge = number_text(band[j], ".6g"), number_text(found.band_edge_errors[i, j], ".2g")
            cells = (number_text(predicted, ".6g"), number_text(off, "+.2f"))
            rows.append((str(i + 1), name, *edge, *cells, found.band_edge_reasons[i, j]))
    return Grid(columns, tuple(rows), "Passband edges", "><>>>><")


@app.command()
def dispersion(
    case: CaseArgument,
    changes: SetOption = None,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the passbands and band gaps of small waves in a precompressed chain.

    Nothing is run.
    """

    asked = loaded_case(case, changes, law_module)
    conclude(
        "dispersion",
        case,
        asked,
        lambda: gc.dispersion(asked),
        gc.figures.dispersion_curves,
        dispersion_tables,
        figure,
        out,
        overwrite,
        as_json,
    )


def dispersion_tables(found: gc.Dispersion) -> tuple[Grid, Paragraph]:
    """Return bands and gaps as a table, and the speed of long waves as text."""
    from granchain.show.blocks import Paragraph, number_grid

    kinds = (("band", found.band_edges), ("gap", found.gaps))
    rows = [(kind, f"{low:.6g}", f"{high:.6g}") for kind, ends in kinds for low, high in ends]
    count = len(found.masses)
    return (
        number_grid(("", "from [Hz]", "to [Hz]"), rows, "Passbands and band gaps", text_columns=1),
        Paragraph(
            f"unit cell of {count} bead{'s' * (count > 1)}, length {found.length:.6g} m; "
            f"long-wave speed {found.long_wave_speed * found.length:.6g} m/s"
        ),
    )


@app.command()
def modes(
    case: CaseArgument,
    changes: SetOption = None,
    cell: Annotated[
        str | None,
        typer.Option(metavar="CASE", help="Case whose repeated cell defines the gaps."),
    ] = None,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the modes of a chain under a static load.

    The output lists frequency, damping, and participation of each mode. Nothing is run.
    """

    asked = loaded_case(case, changes, law_module)
    of = None if cell is None else gc.load_case(cell)
    conclude(
        "modes",
        case,
        asked,
        lambda: gc.modes(asked, cell=of),
        gc.figures.mode_shapes,
        lambda found: [modes_table(found)],
        figure,
        out,
        overwrite,
        as_json,
    )


def modes_table(found: gc.Modes) -> Grid:
    """Return a row for each mode."""
    from granchain.show.blocks import Grid

    gap = () if found.in_gap is None else ("in a gap",)
    columns = ("mode", "frequency [Hz]", "damping [1/s]", "participating beads", *gap)
    rows = []
    for i, frequency in enumerate(found.frequencies.tolist()):
        within = () if found.in_gap is None else ("yes" if found.in_gap[i] else "-",)
        rate = f"{found.damping[i]:.5g}{' overdamped' if found.overdamped[i] else ''}"
        row = (str(i + 1), f"{frequency:.7g}", rate, f"{found.participation[i]:.4g}", *within)
        rows.append(row)
    return Grid(columns, tuple(rows), "", ">>>><"[: len(columns)])


@app.command()
def report(
    files: FilesArgument,
    out: Annotated[
        str, typer.Option(metavar="PAGE.html", help="File of the report.")
    ] = "report.html",
    title: Annotated[
        str, typer.Option(help="Title of the report. Default: the title of the first file.")
    ] = "",
    author: Annotated[str, typer.Option(help="Author, printed under the title.")] = "",
    date: Annotated[
        str, typer.Option(help="Date of the report. Default: the date of the computation.")
    ] = "",
    overwrite: OverwriteOption = False,
    law_module: LawModuleOption = None,
    no_verify: NoVerifyOption = False,
) -> None:
    """Write a self-contained HTML report about result files."""
    from granchain.show.blocks import PAGES
    from granchain.store.files import check_new

    check_new(out, PAGES, overwrite)
    load_laws(law_module)
    gc.report(
        files,
        out,
        title=title,
        author=author,
        date=date,
        overwrite=overwrite,
        verify=not no_verify,
    )
    print_text(out)
