"""Animation of a chain from its snapshots."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, FuncAnimation, PillowWriter
from matplotlib.collections import EllipseCollection
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure

from granchain.errors import GranchainError
from granchain.figures.style import (
    SHEET,
    Panels,
    add_bar,
    context_of,
    label_axis,
    largest,
    padded_limits,
    quantity,
    require_variables,
    styled,
    text_look,
    title_of,
    zero_line,
)
from granchain.store import Result, write_atomically
from granchain.store.answer import case_of
from granchain.store.files import check_new

# Largest number of bodies for which the panel of the chain is high.
FEW_BODIES = 40
# Default and largest number of frames: 100 last five seconds, and more than 600 take too much
# memory.
FRAMES, MOST_FRAMES = 100, 600
# Frames per second, and dots per inch of a file.
RATE, DOTS_PER_INCH = 20, 100.0
# Automatic magnification: largest magnified overlap, and largest magnified displacement of a body,
# in diameters.
SEEN_OVERLAP, SEEN_WAY = 0.35, 3.0
# First bytes of a file: GIF89a specification (CompuServe 1990), section 17. For MP4, a box of 32
# bytes with the format's name, ISO/IEC 14496-12, 4.3, as ffmpeg writes it.
MOVING = {".gif": b"GIF8", ".mp4": b"\x00\x00\x00\x20ftyp"}


def contact_forces(result: Result, rows: np.ndarray) -> np.ndarray | None:
    """Return the contact forces between bodies without the static ones [N], (rows, n_bodies - 1).

    Each force is the mean over the time from the previous to the next snapshot. The momentum
    balance gives it exactly for every law: if all other forces on the bodies on one side of a
    contact are constant, only the contact force changes their momentum. This holds on a side that
    ends freely, under a precompression, or under gravity. Return None if both ends are walls or
    driven, if beads are driven, or if the chain has on-site springs or attached masses.
    """
    # Without a case: a wall has a contact beyond the last body on its side.
    free = [result.bead[0] - 1 not in result.contact, result.bead[-1] not in result.contact]
    if (case := case_of(result)) is not None:
        free = [not case.drive and end == "free" for end in (case.ends.left, case.ends.right)]
        if case.chain.has_springs_or_resonators():
            return None
    if not any(free):
        return None
    time, last = result.snapshot_time, len(result.snapshot_time) - 1
    before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, last)
    change = (
        result.mass
        * (result.velocity[after] - result.velocity[before])
        / (time[after] - time[before])[:, None]
    )
    if free[0]:
        return np.asarray(-np.cumsum(change, axis=1)[:, :-1])
    return np.asarray(np.cumsum(change[:, ::-1], axis=1)[:, ::-1][:, 1:])


def motion_in_snapshots(
    result: Result, frames: int, beads: Sequence[int] | None
) -> tuple[Any, ...]:
    """Return the motion of the bodies between two labels at evenly spaced snapshots.

    It consists of the times of the frames [s], initial positions and radii (n_bodies,) [m],
    displacements [m] and velocities [m/s], (n_frames, n_bodies), the mean of the two contact forces
    of each body without the static ones [N], or None if it cannot be computed, and the time over
    which a force is averaged [s].
    """
    require_variables(result, "displacement", "velocity", "snapshot_time", "bead", "radius")
    time = np.asarray(result.snapshot_time)
    if len(time) < 2:
        raise GranchainError(
            "animation: only one snapshot. At least two snapshots are required. Reduce "
            "`interval` under [snapshots] in the case."
        )
    # The small shift keeps a snapshot at the time of a frame in spite of rounding.
    rows = np.unique(
        np.searchsorted(time, np.linspace(time[0], time[-1], frames) - 1e-9 * (time[-1] - time[0]))
    ).clip(0, len(time) - 1)
    low, high = (int(bead) for bead in (result.bead[[0, -1]] if beads is None else beads))
    chosen = np.flatnonzero((result.bead >= low) & (result.bead <= high))
    if not len(chosen) or low < result.bead[0] or high > result.bead[-1]:
        raise GranchainError(
            f"beads: {low} to {high} is out of range. It must be a first and a last bead from "
            f"{result.bead[0]} to {result.bead[-1]}."
        )
    forces = contact_forces(result, rows)
    mean = None
    if forces is not None:
        # Average the two contacts of a body; a missing contact counts as 0.
        padded = np.pad(forces, ((0, 0), (1, 1)))
        mean = 0.5 * (padded[:, :-1] + padded[:, 1:])[:, chosen]
    position, radius = np.asarray(result.position)[chosen], np.asarray(result.radius)[chosen]
    moved, speed = result.displacement[np.ix_(rows, chosen)], result.velocity[np.ix_(rows, chosen)]
    if not (np.isfinite(moved).all() and np.isfinite(speed).all()):
        raise GranchainError(
            "animation: the motion contains values that are not finite (status "
            f"{result.status.label}). All values must be finite. See why the run failed."
        )
    interval = float(
        np.median(time[np.minimum(rows + 1, len(time) - 1)] - time[np.maximum(rows - 1, 0)])
    )
    return time[rows], position, radius, moved, speed, mean, interval


def magnification(radius: np.ndarray, displacement: np.ndarray) -> float:
    """Return the magnification of displacements: 1, 2, or 5 times a power of ten.

    It is large enough that overlaps are visible, and bodies stay near their positions.
    """
    diameter = 2.0 * float(np.median(radius))
    overlap = float(np.max(-np.diff(displacement, axis=1), initial=0.0))
    displacement_size = largest(displacement)
    most = min(
        SEEN_OVERLAP * diameter / overlap if overlap > 0.0 else math.inf,
        SEEN_WAY * diameter / displacement_size if displacement_size > 0.0 else math.inf,
    )
    if math.isinf(most):
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return float(max(step * power for step in (1, 2, 5) if step * power <= most * (1.0 + 1e-12)))


@styled
def animation(
    result: Result,
    magnify: float | None = None,
    frames: int = FRAMES,
    beads: Sequence[int] | None = None,
    *,
    ax: Any = None,
    style: Any = SHEET,
) -> FuncAnimation:
    """Animate the motion of the chain with magnified displacements.

    Contact forces are shown as colours and as a line.

    The forces are computed from the momenta in the snapshots. Each is the mean between two
    snapshots, without the static force. If both ends of the chain are walls or driven, the colours
    show velocities.

    Parameters
    ----------
    result : Result
        With snapshots.
    magnify : float, optional
        Factor by which displacements are magnified. By default it is chosen so that overlaps are
        visible.
    frames : int
        Number of frames, 2 to 600, at most the number of snapshots.
    beads : (first, last), optional
        Labels of the first and the last body to draw. By default all bodies.
    ax : sequence of Axes, optional
        Two Matplotlib axes to draw into: the chain, and the force or velocity.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        To write it to a file, use `granchain.animate`. In a notebook, display it with
        `IPython.display.HTML(moving.to_jshtml())`.

    Raises
    ------
    GranchainError
        If the result has no snapshots.
    """
    return animated(result, magnify, frames, beads, ax)[1]


def animated(
    result: Result, magnify: float | None, frames: int, beads: Sequence[int] | None, ax: Any
) -> tuple[Figure, FuncAnimation]:
    """Return the figure of an animation, and the animation."""
    if not isinstance(frames, int) or not 2 <= frames <= MOST_FRAMES:
        raise GranchainError(
            f"frames: {frames!r} is not valid. It must be a whole number, 2 to {MOST_FRAMES}."
        )
    if magnify is not None and not (math.isfinite(magnify) and magnify > 0.0):
        raise GranchainError(
            f"magnify: {magnify!r} is not valid. It must be a number greater than 0. Omit it "
            "for an automatic magnification."
        )
    if beads is not None and len(beads) != 2:
        raise GranchainError(
            f"beads: {list(beads)[:6]} is not valid. It must be two labels, the first and the "
            "last bead to plot."
        )
    time, position, radius, displacement, velocity, force, interval = motion_in_snapshots(
        result, frames, beads
    )
    times = magnification(radius, displacement) if magnify is None else float(magnify)
    x = position + times * displacement
    norm: Normalize
    if force is not None:
        values, name, unit, colours = force, "force", "N", rcParams["image.cmap"]
        norm = PowerNorm(0.5, 0.0, float(values.max(initial=0.0)) or 1.0)
        how = f"forces: mean over {quantity(interval, 's')}, in addition to static forces"
    else:
        values, name, unit, colours = velocity, "velocity", "m/s", "RdBu_r"
        norm = Normalize(-(largest(values) or 1.0), largest(values) or 1.0)
        how = "both ends fixed: velocities, because forces cannot be derived from momenta"
    # Beads are drawn round, so a long chain is thin and needs only a low panel.
    low = 0.15 if len(radius) > FEW_BODIES else 1.0
    panels = Panels(ax, 2, tall=0.8, sharex=True, height_ratios=[low, 1.6])
    row, line = panels.axes
    level = np.zeros(len(radius))
    bodies = EllipseCollection(
        2.0 * radius,
        2.0 * radius,
        level,
        offsets=np.column_stack([x[0], level]),
        offset_transform=row.transData,
        units="xy",
        edgecolors=row.title.get_color(),
        linewidths=0.3,
        cmap=colours,
        norm=norm,
    )
    row.add_collection(bodies)
    row.set(yticks=[], xlim=(float((x - radius).min()), float((x + radius).max())))
    row.set_ylim(-1.15 * float(radius.max()), 1.15 * float(radius.max()))
    (curve,) = line.plot(x[0], values[0])
    line.set(xlim=row.get_xlim(), ylim=padded_limits(np.append(values, 0.0)))
    zero_line(line)
    label_axis(line.yaxis, name, unit)
    panels.label_columns("position", "m")
    add_bar(line, bodies, name, unit)
    clock = line.text(
        0.99, 0.96, "", transform=line.transAxes, ha="right", va="top", **text_look(line)
    )
    panels.finish(
        title_of([result]),
        f"displacements magnified {times:g} times",
        how,
        "" if beads is None else f"bodies {beads[0]} to {beads[1]}",
        results=[result],
    )

    def show(i: int) -> tuple[Any, ...]:
        """Show frame i, and return the artists that changed."""
        bodies.set_offsets(np.column_stack([x[i], level]))
        bodies.set_array(values[i])
        curve.set_data(x[i], values[i])
        clock.set_text(quantity(time[i], "s"))
        return bodies, curve, clock

    show(0)
    if panels.new:
        # All frames have the same layout, so that nothing jumps, and each frame takes a fifth of
        # the time.
        panels.figure.draw_without_rendering()
        panels.figure.set_layout_engine("none")
    # Equal scales, so that beads are round.
    box = row.get_window_extent()
    reach = 0.5 * float(np.ptp(row.get_xlim())) * box.height / box.width
    row.set_ylim(-reach, reach)
    moving = FuncAnimation(
        panels.figure,
        show,
        frames=len(time),
        interval=1000.0 / RATE,
        blit=False,
        cache_frame_data=False,
    )
    return panels.figure, moving


def animate(
    result: Result,
    path: str | os.PathLike[str],
    magnify: float | None = None,
    frames: int = FRAMES,
    beads: Sequence[int] | None = None,
    *,
    title: bool = True,
    overwrite: bool = False,
    style: Any = SHEET,
) -> None:
    """Write an animation of a chain as GIF or MP4.

    Parameters
    ----------
    result : Result
        Result of a run with snapshots.
    path : str or path
        Output file with the ending .gif, or .mp4 if Matplotlib finds ffmpeg.
    magnify, frames, beads, style : optional
        Options of `figures.animation`.
    title : bool
        Whether the animation has a title and a heading.
    overwrite : bool
        Overwrite an existing animation.

    Raises
    ------
    GranchainError
        If the result has no snapshots; the message contains the keys that record them. If the
        ending is .mp4 and ffmpeg is not found.
    FileError
        If the ending is not supported or the file cannot be written.

    Examples
    --------
    >>> import granchain as gc
    >>> result = gc.open("chain.h5")  # doctest: +SKIP
    >>> gc.animate(result, "chain.gif", frames=50)  # doctest: +SKIP
    """
    ending = check_new(path, MOVING, overwrite)
    writer: AbstractMovieWriter = PillowWriter(fps=RATE)
    if ending == ".mp4":
        if not FFMpegWriter.isAvailable():
            raise GranchainError(
                "animation: ffmpeg is missing. Matplotlib requires it for MP4 files. Install "
                "ffmpeg, or use a .gif file."
            )
        # No date is written.
        writer = FFMpegWriter(fps=RATE, codec="h264", extra_args=["-bitexact"])
    with context_of(style):
        figure, moving = animated(result, magnify, frames, beads, None)
    if not title:
        figure.suptitle("")
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder, f"animation{ending}")
        moving.save(film, writer=writer, dpi=DOTS_PER_INCH)
        write_atomically(path, film.read_bytes(), overwrite, marks=(MOVING[ending],))
