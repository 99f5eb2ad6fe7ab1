"""`granchain animate`: the row of beads in motion, as a GIF."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from granchain.cli.options import FileArgument, OverwriteOption, WidthOption, app, check_width
from granchain.cli.text import print_text
from granchain.errors import CaseError, FileError, GranchainError

# What is read of a file.
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


@app.command()
def animate(
    file: FileArgument,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.gif", help="The animation; default: the file's name with .gif, here."
        ),
    ] = None,
    magnify: Annotated[
        float | None, typer.Option(metavar="X", help="Times that displacements are magnified.")
    ] = None,
    frames: Annotated[
        int, typer.Option(metavar="N", help="Pictures, 2 to 600; no more than there are snapshots.")
    ] = 100,
    beads: Annotated[
        str | None,
        typer.Option(metavar="FIRST-LAST", help="The bodies that are drawn; 0 is the striker."),
    ] = None,
    width: WidthOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Show the row in motion, as a GIF: displacements magnified, forces as colours."""
    from granchain.figures import animation, page, save_animation
    from granchain.store import open_result

    target = out if out is not None else f"{Path(file).stem}.gif"
    if Path(target).suffix.lower() != ".gif":
        raise FileError(
            f"{target}: got the ending {Path(target).suffix!r}, allowed .gif; name the animation "
            "accordingly"
        )
    if os.path.lexists(target) and not overwrite:
        raise FileError(
            f"{target}: got a file that exists and is kept, allowed a new one; name another with "
            "--out, or give --overwrite"
        )
    check_width(width)
    between = None if beads is None else first_and_last(beads)
    result = open_result(
        file,
        variables=lambda headers: [name for name in headers if name in WANTED],
    )
    if "crank_angle" in result.unread:
        raise FileError(
            f"{file}: got the run of a mechanism, allowed that of a chain; granchain plot draws "
            "its motion"
        )
    if "snapshot_time" not in result.variables or "displacement" not in result.variables:
        raise FileError(
            f"{file}: got a file without snapshots, allowed one with displacements and "
            "velocities; run the case again with `interval` "
            "under [snapshots], as with --set snapshots.interval=2e-6"
        )
    try:
        with page(width):
            save_animation(animation(result, magnify, frames, between), target, overwrite)
    except FileError:
        raise
    except GranchainError as error:
        raise CaseError(f"animate: {error}") from None
    print_text(target)


def first_and_last(text: str) -> tuple[int, int]:
    """Two labels with a hyphen between."""
    first, _, last = text.partition("-")
    if not (
        first.isascii() and first.isdigit() and last.isascii() and last.isdigit() and len(text) < 40
    ):
        raise CaseError(
            f'--beads: got "{text[:40]}", allowed FIRST-LAST, two whole numbers; write for '
            "example 0-20"
        )
    return int(first), int(last)
