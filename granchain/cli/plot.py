"""`granchain plot`: the figures of output files, each file's own and those in which several
results lie over each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granchain.cli.options import (
    PRINTED_DPI,
    OverwriteOption,
    UnsealedOption,
    WidthOption,
    app,
    check_width,
)
from granchain.cli.text import notify, print_text
from granchain.errors import CaseError, FileError, GranchainError, nearest

if TYPE_CHECKING:
    from granchain.store import Result

# Files whose names stand in the name of a figure of all of them.
MOST_NAMES_OF_A_FIGURE = 3

Draw = Callable[[], tuple[Any, Any]]

# What a file holds, as messages call it.
A_CHAIN, A_MECHANISM, A_STUDY, A_CONCLUSION = (
    "the run of a chain",
    "the run of a mechanism",
    "a study",
    "a conclusion",
)


@app.command()
def plot(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Output files. Runs of one kind are drawn over each other."
        ),
    ],
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="These figures alone: force-traces,peaks. An unknown name lists all.",
        ),
    ] = None,
    ending: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="png, pdf or svg.")
    ] = "png",
    width: WidthOption = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="WORD",
            help="For the legend, a word for each of several runs, in their order.",
        ),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder for the figures; made if it is not there.")
    ] = ".",
    overwrite: OverwriteOption = False,
    unsealed: UnsealedOption = False,
) -> None:
    """Draw output files: traces, peaks, energy, velocities, hysteresis; of a mechanism motion
    and forces; of a study curves and maps."""
    from granchain.figures import FORMATS

    formats = [known[1:] for known in FORMATS]
    if ending not in formats:
        near = nearest(ending, formats)
        advice = f'did you mean "{near}"?' if near else "name one of them"
        raise CaseError(f'--format: got "{ending[:40]}", allowed {", ".join(formats)}; {advice}')
    check_width(width)
    if label is not None and len(label) != len(files):
        raise CaseError(
            f"--label: got {len(label)}, allowed {len(files)}, one for each file; give each its "
            "--label WORD"
        )
    kind = kind_of(files, unsealed)
    if kind == A_STUDY:
        figures, known = figures_of_studies(files, unsealed)
    elif kind == A_CONCLUSION:
        figures, known = figures_of_conclusions(files, unsealed)
    else:
        figures, known = figures_of_results(files, only, label, unsealed)
    if only is not None and known:
        figures = chosen_figures(figures, only, known)
    draw_all(figures, out, ending, width, overwrite)


def kind_of(files: Sequence[str], unsealed: bool = False) -> str:
    """What all the files hold; files of unlike kinds are refused."""
    from granchain.store.reader import open_result
    from granchain.store.study import is_study

    kinds: dict[str, list[str]] = {}
    problems = []
    for file in files:
        try:
            if Path(file).suffix.lower() == ".json":
                kind = A_CONCLUSION
            elif is_study(file, unsealed):
                kind = A_STUDY
            else:
                names = open_result(file, variables=lambda headers: (), unsealed=unsealed).unread
                kind = A_MECHANISM if "crank_angle" in names else A_CHAIN
            kinds.setdefault(kind, []).append(file)
        except FileError as error:
            problems.append(str(error))
    if problems:
        raise FileError("\n".join(dict.fromkeys(problems)))
    if len(kinds) > 1:
        got = "; ".join(
            f"{kind}: {', '.join(names[:MOST_NAMES_OF_A_FIGURE])}" for kind, names in kinds.items()
        )
        raise CaseError(
            f"plot: got files of unlike kinds ({got}), allowed files of one kind; draw them one "
            "kind after the other"
        )
    return next(iter(kinds))


def stems_of(files: Sequence[str]) -> list[str]:
    """A name for each file, as figures are called: its own without the ending, numbered where
    another has the same."""
    found: list[str] = []
    for file in files:
        stem, count = Path(file).stem, 2
        name = stem
        while name in found:
            name, count = f"{stem}-{count}", count + 1
        found.append(name)
    return found


def figures_of_studies(files: Sequence[str], unsealed: bool) -> tuple[dict[str, Draw], list[str]]:
    """The figures of studies, each by itself, and the names that --only may have."""
    from granchain.figures import study_figures
    from granchain.figures.studies import LEAST_DISTRIBUTION
    from granchain.store.study import open_study

    figures: dict[str, Draw] = {}
    names: list[str] = []
    for file, stem in zip(files, stems_of(files), strict=True):
        drawn = study_figures(open_study(file, unsealed))
        if not drawn:
            notify(
                f"{file}: no figure: a distribution takes {LEAST_DISTRIBUTION} runs, a curve a key "
                "of several values, or several sensors; sweep more"
            )
        figures |= {f"{stem}-{hyphened(name)}": draw for name, draw in drawn.items()}
        names += map(hyphened, drawn)
    return figures, list(dict.fromkeys(names))


def figures_of_conclusions(
    files: Sequence[str], unsealed: bool
) -> tuple[dict[str, Draw], list[str]]:
    """The figure of each file that --out FILE.json of a command wrote."""
    from granchain.store.conclusion import read_conclusion

    figures: dict[str, Draw] = {}
    names = []
    for file, stem in zip(files, stems_of(files), strict=True):
        facts = read_conclusion(file, unsealed)
        names.append(str(facts["kind"]))
        figures[f"{stem}-{hyphened(names[-1])}"] = partial(figure_of_conclusion, facts, file)
    return figures, list(dict.fromkeys(map(hyphened, names)))


def figure_of_conclusion(facts: Mapping[str, Any], file: str) -> tuple[Any, None]:
    """What the report of such a file shows."""
    from granchain.pages.blocks import Picture
    from granchain.pages.conclusions import conclusion_blocks

    for block in conclusion_blocks(facts, Path(file).name):
        if isinstance(block, Picture):
            return block.figure, None
    raise FileError(
        f"{file}: got a conclusion that holds nothing to draw, allowed a comparison, an "
        "equivalence or a fit; name another"
    )


def figures_of_results(
    files: Sequence[str], only: str | None, labels: Sequence[str] | None, unsealed: bool
) -> tuple[dict[str, Draw], list[str]]:
    """The figures of runs: over each other those that can be, each by itself the others; and
    the names that --only may have."""
    from granchain.figures import (
        all_figures,
        drawn,
        known_figures,
        lacking,
        several_figures,
        single_figures,
    )
    from granchain.figures.frame import labels_of
    from granchain.store import open_result

    stems = stems_of(files)
    results: list[Result] = [
        open_result(file, variables=drawn, unsealed=unsealed) for file in files
    ]
    figures: dict[str, Draw] = {}
    if len(results) > 1:
        together = (
            "-".join(stems)
            if len(stems) <= MOST_NAMES_OF_A_FIGURE
            else f"{stems[0]}-and-{len(stems) - 1}-more"
        )
        shared = several_figures(results, labels_of(results, labels, otherwise=stems))
        figures |= {f"{together}-{hyphened(name)}": draw for name, draw in shared.items()}
    for result, stem in zip(results, stems, strict=True):
        own = all_figures(result) if len(results) == 1 else single_figures(result)
        figures |= {f"{stem}-{hyphened(name)}": draw for name, draw in own.items()}
    known = [hyphened(name) for name in known_figures(results[0])]
    asked = None if only is None else set(asked_names(only, known))
    for result, file in zip(results, files, strict=True):
        before = f"{file}: " if len(results) > 1 else ""
        missing = {hyphened(name): advice for name, advice in lacking(result).items()}
        for name, advice in missing.items():
            if asked is None or name in asked:
                notify(f"{before}no {name}: {advice}")
    return figures, known


def hyphened(name: str) -> str:
    """The name of a figure as files and options have it."""
    return name.replace("_", "-")


def asked_names(only: str, known: Sequence[str]) -> list[str]:
    """The names of --only; unknown ones are refused, all of them at once, with the names there
    are."""
    names = [hyphened(name.strip()) for name in only.split(",") if name.strip()]
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        near = [f'"{found}"' for name in wrong if (found := nearest(name, known))]
        advice = (
            f"did you mean {', '.join(near)}?" if near else "name some of them, with commas between"
        )
        got = ", ".join(f'"{name[:40]}"' for name in wrong) or "no name"
        raise CaseError(f"--only: got {got}, allowed {', '.join(known)}; {advice}")
    return names


def chosen_figures(figures: Mapping[str, Draw], only: str, known: Sequence[str]) -> dict[str, Draw]:
    """The figures that are asked for."""
    names = asked_names(only, known)
    # a name may be the end of another's: force-traces and traces
    ends = {
        target: max((name for name in known if target.endswith(f"-{name}")), key=len, default="")
        for target in figures
    }
    found = {target: draw for target, draw in figures.items() if ends[target] in names}
    if not found:
        got = f"{', '.join(names)}, for which these files lack the variables"
        raise CaseError(
            f"--only: got {got}, allowed others; ask for more in the case, or name other figures"
        )
    return found


def draw_all(
    figures: Mapping[str, Draw], out: str, ending: str, width: str | None, overwrite: bool
) -> None:
    """Draw figures into a folder; nothing is drawn where one of them is there and stays."""
    from granchain.figures import page, save
    from granchain.store.files import folder_for

    problems: list[GranchainError] = []
    with folder_for(out) as folder:
        pictures = {folder / f"{name}.{ending}": draw for name, draw in figures.items()}
        there = [target for target in pictures if os.path.lexists(target)]
        if there and not overwrite:
            more = f" and {len(there) - 1} more" if len(there) > 1 else ""
            raise FileError(
                f"{there[0]}{more}: got figures that exist and are kept, allowed new ones; name "
                "another folder with --out, or replace them with --overwrite"
            )
        for target, draw in pictures.items():
            try:
                with page(width):
                    figure, _ = draw()
            except GranchainError as error:
                # what one figure lacks is no reason to leave out the others
                problems.append(error)
                continue
            save(figure, target, overwrite, dpi=None if width is None else PRINTED_DPI)
            print_text(str(target))
    if problems:
        raise type(problems[0])("\n".join(str(error) for error in problems))
