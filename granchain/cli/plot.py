"""Commands that draw or report files: `plot`, `animate`, `spectrum`, `report`; and `dispersion`,
whose bands a spectrum is compared with, and `modes`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple

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
    compute_and_print,
    known_name,
    load_laws,
    loaded_case,
    save_figure,
)
from granchain.cli.text import notify, print_text
from granchain.errors import CaseError, FileError, GranchainError

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

DrawFunction = Callable[..., Any]


@app.command(
    epilog="In Python: a function of `gc.figures` for each figure, and `figure.savefig(FILE)`."
)
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
    figure_sets, stems = figure_sets_of(files, not no_verify), stems_of(files)
    all_names = list(dict.fromkeys(name for figure_set in figure_sets for name in figure_set.names))
    chosen_names = all_names
    if only is not None and all_names:
        names = [hyphened(name.strip()) for name in only.split(",") if name.strip()]
        chosen_names = [known_name(name, all_names, "--only", CaseError) for name in names]
    stem = "-".join(stems)
    if len(stems) > MOST_NAMES_OF_A_FIGURE:
        stem = f"{stems[0]}-and-{len(stems) - 1}-more"
    groups = [
        (name, figure_set.figures) for name, figure_set in zip(stems, figure_sets, strict=True)
    ]
    if len(figure_sets) > 1 and figure_sets[0].kind.startswith("the run"):
        results = [figure_set.content for figure_set in figure_sets]
        labels = labels_of(results, label, otherwise=stems)
        groups = [(stem, several_figures(results, labels))]
        for name, figure_set in zip(stems, figure_sets, strict=True):
            alone = {
                key: draw
                for key, draw in figure_set.figures.items()
                if not RUN_FIGURES[key].several
            }
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
        if hyphened(name) in chosen_names
    }
    for figure_set, file in zip(figure_sets, files, strict=True):
        before = f"{file}: " if len(files) > 1 else ""
        notify(
            *(
                f"{before}no figure {hyphened(name)}. {advice}"
                for name, advice in figure_set.lacking.items()
                if hyphened(name) in chosen_names or hyphened(name) not in all_names
            )
        )
    if not figures and only is not None and all_names:
        raise CaseError(
            f"--only: {only[:60]} cannot be plotted, because the files do not contain the "
            "required variables. Record more variables in the case, or choose other figures."
        )
    if traces is not None:
        options = {"sensors", "beads", "contacts"}
        figures = {
            name: partial(
                draw, **dict.fromkeys(options & inspect.signature(draw).parameters.keys(), traces)
            )
            for name, draw in figures.items()
        }
    draw_all(figures, out, ending, overwrite, title=not no_title)


def in_law_colours(draw: Any, laws: Sequence[str]) -> DrawFunction:
    """Return a figure of results in which each law has the colour of its place in a list."""
    import matplotlib
    from cycler import cycler

    @wraps(draw.func)
    def coloured(*args: Any, **options: Any) -> Any:
        # The colours of the laws of this figure come first, in the order in which it plots them.
        cycle = matplotlib.rcParams["axes.prop_cycle"].by_key()
        first = [laws.index(law) for law in dict.fromkeys(result.law for result in draw.args)]
        order = [*first, *(i for i in range(len(cycle["color"])) if i not in first)]
        looks = {key: [values[i % len(values)] for i in order] for key, values in cycle.items()}
        with matplotlib.rc_context({"axes.prop_cycle": cycler(**looks)}):
            return draw(*args, **options)

    return coloured


class FigureSet(NamedTuple):
    """The figures of a file.

    `kind` is the kind of its content for messages, `names` the names of all figures of this kind as
    options, and `lacking` the requirements of those that cannot be drawn.
    """

    content: Any
    kind: str
    figures: Mapping[str, DrawFunction]
    names: list[str]
    lacking: dict[str, str]


def figure_set_of(content: Any) -> FigureSet:
    """Return the figures of the content of a file."""
    from granchain.figures.catalogue import LEAST_DISTRIBUTION, figures_of, lacking, run_figures

    figures = figures_of(content)
    if isinstance(content, gc.Result):
        kind = f"the run of a {'mechanism' if 'crank_angle' in content.variables else 'chain'}"
        names = [*map(hyphened, run_figures(content.variables))]
        return FigureSet(content, kind, figures, names, lacking(content))
    kind = "a study" if hasattr(content, "data_vars") else type(content).__name__
    advice = f"{kind} has no figure. Use granchain report to show it."
    if kind == "a study":
        advice = (
            f"A distribution requires {LEAST_DISTRIBUTION} runs. A curve requires a key with "
            "several values, or several sensors. Sweep more values."
        )
    lack = {} if figures else {"figure": advice}
    return FigureSet(content, kind, figures, [*map(hyphened, figures)], lack)


def figure_sets_of(files: Sequence[str], verify: bool) -> list[FigureSet]:
    """Return the figures of files, which must have the same kind."""
    from granchain.figures.catalogue import plotted_variables

    kinds: dict[str, list[str]] = {}
    figure_sets, problems = [], []
    for file in files:
        try:
            content = gc.open(file, plotted_variables, verify=verify)
            figure_sets.append(figure_set_of(content))
        except FileError as error:
            problems.append(str(error))
        else:
            kinds.setdefault(figure_sets[-1].kind, []).append(file)
    if problems:
        raise FileError("\n".join(dict.fromkeys(problems)))
    if len(kinds) > 1:
        listed = "; ".join(
            f"{kind}: {', '.join(names[:MOST_NAMES_OF_A_FIGURE])}" for kind, names in kinds.items()
        )
        raise CaseError(
            f"plot: the files have different kinds ({listed}). All files must have the same "
            "kind. Plot each kind separately."
        )
    return figure_sets


def stems_of(files: Sequence[str]) -> list[str]:
    """Return a name for each file for its figures.

    It is the file name without its ending, numbered if another file has the same.
    """
    stems: list[str] = []
    for stem in (Path(file).stem for file in files):
        names = (stem, *(f"{stem}-{count}" for count in range(2, len(files) + 1)))
        stems.append(next(name for name in names if name not in stems))
    return stems


def hyphened(name: str) -> str:
    """Return the name of a figure as in file names and options."""
    return name.replace("_", "-")


def draw_all(
    figures: Mapping[str, DrawFunction],
    out: str,
    ending: str,
    overwrite: bool,
    title: bool = True,
) -> None:
    """Draw figures into a folder, and report each file name.

    Nothing is drawn if one of the files exists and is not overwritten.
    """
    from granchain.case.document import first_few
    from granchain.store.files import folder_for

    problems: list[GranchainError] = []
    with folder_for(out) as folder:
        targets = [str(folder / f"{name}.{ending}") for name in figures]
        existing = [target for target in targets if os.path.lexists(target)]
        if existing and not overwrite:
            raise FileError(
                f"{first_few(existing, 1)}: the figures already exist and were not changed. "
                "Existing files are overwritten only on request. Choose another folder with --out, "
                "or use --overwrite."
            )
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


@app.command(epilog="In Python: `gc.animate(result, FILE)`.")
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
    from granchain.figures.motion import MOVING
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


@app.command(epilog="In Python: `gc.spectrum(result)`.")
def spectrum(
    file: FileArgument,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="BEAD|END",
            help="Source: a sensor bead, or left or right for a driven end. Default: the driven "
            "end. A driven end includes the drive and the first contacts.",
        ),
    ] = None,
    sensor: Annotated[
        int | None,
        typer.Option(
            "--to", metavar="BEAD", min=0, help="Sensor bead. Default: the bead at the far end."
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
    start = int(source) if source and source.isdecimal() and len(source) < 10 else source
    compute_and_print(
        "spectrum",
        {"file": file},
        lambda: gc.spectrum(gc.open(file, verify=not no_verify), start, sensor, segments=segments),
        gc.figures.spectrum,
        figure,
        out,
        overwrite,
        as_json,
        title=not no_title,
    )


@app.command(epilog="In Python: `gc.dispersion(case)`.")
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

    full_case = loaded_case(case, changes, law_module)
    compute_and_print(
        "dispersion",
        {"case": case},
        lambda: gc.dispersion(full_case),
        gc.figures.dispersion_curves,
        figure,
        out,
        overwrite,
        as_json,
        [full_case.law],
    )


@app.command(epilog="In Python: `gc.modes(case)`.")
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

    full_case = loaded_case(case, changes, law_module)
    cell_case = None if cell is None else gc.load_case(cell)
    compute_and_print(
        "modes",
        {"case": case},
        lambda: gc.modes(full_case, cell=cell_case),
        gc.figures.mode_shapes,
        figure,
        out,
        overwrite,
        as_json,
        [full_case.law],
    )


@app.command(epilog="In Python: `gc.report(files)`.")
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
