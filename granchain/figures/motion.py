"""Animations of a chain: magnified displacements, with forces as colours."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granchain.errors import GranchainError
from granchain.figures.frame import (
    GREY,
    Sheet,
    look,
    page,
    set_panel,
    small_type,
    styled,
    time_unit,
)
from granchain.figures.registry import need
from granchain.store import Result, write_atomically
from granchain.store.answer import case_of
from granchain.store.files import check_new

if TYPE_CHECKING:
    from matplotlib.animation import AbstractMovieWriter, FuncAnimation


# Largest number of bodies for which the panel of the chain is high.
FEW_BODIES = 40
# Default and largest number of frames: 100 last five seconds, and more than 600 take too much
# memory.
FRAMES, MOST_FRAMES = 100, 600
# Frames per second.
RATE = 20
DOTS_PER_INCH = 100.0
# Automatic magnification: largest magnified overlap, and largest magnified displacement of a body,
# in diameters.
SEEN_OVERLAP, SEEN_WAY = 0.35, 3.0
# Length of a chain from which positions are in metres [m].
LONG_ROW = 10.0
# First bytes of a file: GIF89a specification (CompuServe 1990), section 17. For MP4, a box of 32
# bytes with the format's name, ISO/IEC 14496-12, 4.3, as ffmpeg writes it.
MOVING = {".gif": b"GIF8", ".mp4": b"\x00\x00\x00\x20ftyp"}


class Motion(NamedTuple):
    """Quantities of a result that are plotted.

    Parameters
    ----------
    time : array (n_frames,)
        Times of the frames [s].
    place, radius : array (n_bodies,)
        Initial positions of the centres, and radii [m].
    moved : array (n_frames, n_bodies)
        Displacements [m].
    force : array (n_frames, n_bodies) or None
        Mean of the two contact forces of a body, without the static ones [N]; None if it cannot
        be computed.
    speed : array (n_frames, n_bodies)
        Velocities [m/s], plotted if there is no force.
    over : float
        Time over which a force is averaged [s].
    """

    time: np.ndarray
    place: np.ndarray
    radius: np.ndarray
    moved: np.ndarray
    force: np.ndarray | None
    speed: np.ndarray
    over: float


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
        if case.chain.holds_or_carries():
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


def motion_of(result: Result, frames: int, beads: Sequence[int] | None) -> Motion:
    """Return evenly spaced snapshots of the bodies between two labels."""
    need(result, "displacement", "velocity", "snapshot_time", "bead", "radius")
    time = np.asarray(result.snapshot_time)
    if len(time) < 2:
        raise GranchainError(
            "animation: only one snapshot. At least two snapshots are required. Reduce "
            "`interval` under [snapshots] in the case."
        )
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
        beside = np.pad(forces, ((0, 0), (1, 1)))
        mean = 0.5 * (beside[:, :-1] + beside[:, 1:])[:, chosen]
    place, radius = np.asarray(result.position)[chosen], np.asarray(result.radius)[chosen]
    moved, speed = result.displacement[np.ix_(rows, chosen)], result.velocity[np.ix_(rows, chosen)]
    if not (np.isfinite(moved).all() and np.isfinite(speed).all()):
        raise GranchainError(
            "animation: the motion contains values that are not finite (status "
            f"{result.status.label}). All values must be finite. See why the run failed."
        )
    over = float(
        np.median(time[np.minimum(rows + 1, len(time) - 1)] - time[np.maximum(rows - 1, 0)])
    )
    return Motion(time[rows], place, radius, moved, mean, speed, over)


def magnification(motion: Motion) -> float:
    """Return the magnification of displacements: 1, 2, or 5 times a power of ten.

    It is large enough that overlaps are visible, and bodies stay near their positions.
    """
    diameter = 2.0 * float(np.median(motion.radius))
    overlap = float(np.max(-np.diff(motion.moved, axis=1), initial=0.0))
    way = float(np.abs(motion.moved).max(initial=0.0))
    most = min(
        SEEN_OVERLAP * diameter / overlap if overlap > 0.0 else math.inf,
        SEEN_WAY * diameter / way if way > 0.0 else math.inf,
    )
    if math.isinf(most):
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return float(max(part * power for part in (1, 2, 5) if part * power <= most * (1.0 + 1e-12)))


@styled
def animation(
    result: Result,
    magnify: float | None = None,
    frames: int = FRAMES,
    beads: Sequence[int] | None = None,
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
    from matplotlib.animation import FuncAnimation
    from matplotlib.collections import EllipseCollection
    from matplotlib.colors import Normalize, PowerNorm

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
    motion = motion_of(result, frames, beads)
    times = magnification(motion) if magnify is None else float(magnify)
    length, metre = (1e3, "mm") if float(np.ptp(motion.place)) < LONG_ROW else (1.0, "m")
    x = length * (motion.place + times * motion.moved)
    radius = length * motion.radius
    tallest = float(radius.max())
    factor, unit = time_unit(float(motion.time[-1]))
    norm: Normalize
    if motion.force is not None:
        values, name, colours = motion.force, "force [N]", "magma_r"
        norm = PowerNorm(0.5, 0.0, float(values.max(initial=0.0)) or 1.0)
        what = f"forces: mean over {factor * motion.over:.3g} {unit}, in addition to static forces"
    else:
        values, name, colours = motion.speed, "velocity [m/s]", "RdBu_r"
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        norm = Normalize(-largest, largest)
        what = "both ends fixed: velocities, because forces cannot be derived from momenta"
    # The panel is low if there are many beads, because they are round.
    low = 0.15 if len(radius) > FEW_BODIES else 1.0
    sheet = Sheet(None, 7.0, 3.2, [low, 1.6], sharex=True)
    figure, (row, line) = sheet.figure, sheet.panels
    level = np.zeros(len(radius))
    bodies = EllipseCollection(
        2.0 * radius,
        2.0 * radius,
        level,
        offsets=np.column_stack([x[0], level]),
        offset_transform=row.transData,
        units="xy",
        edgecolors=GREY,
        linewidths=0.3,
        cmap=colours,
        norm=norm,
    )
    row.add_collection(bodies)
    ends = float((x - radius).min()), float((x + radius).max())
    row.set(ylim=(-1.15 * tallest, 1.15 * tallest), yticks=[], xlim=ends)
    row.tick_params(axis="x", length=0.0)
    row.spines[["left", "bottom"]].set_visible(False)
    figure.colorbar(bodies, ax=[row, line], label=name, pad=0.02, aspect=18)
    (curve,) = line.plot(x[0], values[0], **look(0))
    low, high = float(min(values.min(), 0.0)), float(max(values.max(), 0.0))
    line.set_ylim(low - 0.03 * (high - low), high + 0.06 * (high - low) if high > low else 1.0)
    set_panel(line, zero=True, xlabel=f"position [{metre}]", ylabel=name)
    clock = line.text(
        0.99, 0.96, "", fontsize=small_type(), transform=line.transAxes, ha="right", va="top"
    )
    sheet.head(
        [result],
        f"displacements magnified {times:g} times",
        what,
        "" if beads is None else f"bodies {beads[0]} to {beads[1]}",
    )

    def show(i: int) -> tuple[Any, ...]:
        bodies.set_offsets(np.column_stack([x[i], level]))
        bodies.set_array(values[i])
        curve.set_data(x[i], values[i])
        clock.set_text(f"{factor * motion.time[i]:.1f} {unit}")
        return bodies, curve, clock

    show(0)
    # One layout for all frames: nothing moves between frames, and each takes a fifth of the time.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    # Equal scales, so that beads are round.
    box = row.get_window_extent()
    reach = 0.5 * float(np.ptp(row.get_xlim())) * box.height / box.width
    row.set_ylim(-reach, reach)
    return FuncAnimation(
        figure,
        show,
        frames=len(motion.time),
        interval=1000.0 / RATE,
        blit=False,
        cache_frame_data=False,
    )


@styled
def animate(
    result: Result,
    path: str | os.PathLike[str],
    magnify: float | None = None,
    frames: int = FRAMES,
    beads: Sequence[int] | None = None,
    *,
    title: bool = True,
    overwrite: bool = False,
) -> None:
    """Write an animation of a chain as GIF or MP4.

    Parameters
    ----------
    result : Result
        Result of a run with snapshots.
    path : str or path
        Output file with the ending .gif, or .mp4 if Matplotlib finds ffmpeg.
    magnify, frames, beads : optional
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
    from matplotlib.animation import FFMpegWriter, PillowWriter

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
    with page(title), tempfile.TemporaryDirectory() as folder:
        film = Path(folder, f"animation{ending}")
        animation(result, magnify, frames, beads).save(film, writer=writer, dpi=DOTS_PER_INCH)
        write_atomically(path, film.read_bytes(), overwrite, marks=(MOVING[ending],))
