"""Figures of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from granchain.analysis import (
    ENERGIES_OF_ELEMENTS,
    LEDGER_ENERGIES,
    OF_ROUNDING,
    between_snapshots,
    driven_without_pulse,
    first_pulse,
    in_motion_and_store,
    ledger_in,
    moving_energy,
    out_of_order,
    residual_share,
    speed_in_words,
    supplied_energy,
)
from granchain.case.signals import highest
from granchain.errors import GranchainError
from granchain.figures.frame import (
    GREY,
    MOST_LINES,
    Axes,
    Figure,
    Loop,
    Sheet,
    body_name,
    chosen_labels,
    colour_map,
    draw_loops,
    labels_of,
    largest,
    look,
    number_words,
    over_time,
    palette,
    scaled,
    set_panel,
    small_type,
    time_unit,
)
from granchain.figures.registry import of_results
from granchain.store import Result
from granchain.store.answer import case_of

# Fraction of the largest velocity of a chain below which motion is not visible: one of 256 colours
# on a square-root scale, 1/256^2.
SEEN = 1.5e-5
# Largest number of legend entries that fit next to the loops of a hysteresis figure.
IN_A_CORNER = 8
# Width of the line of a wave front, and of its white outline [points].
FRONT = 1.2, 2.8
# Points of a plotted curve: about four per dot of a printed figure two columns wide.
COURSE = 4000
# Labels of the energy losses, and of the energies of elements.
LOST = {
    "plastic": "plastic (residual indentation)",
    "viscous": "viscous (damping)",
    "clamp": "no-tension cutoff (damping that did not occur)",
}
OF_ELEMENTS = {"elements": "springs of elements", "elements_viscous": "dashpots of elements"}


@of_results("velocity", "snapshot_time", "bead")
def bead_velocities(
    result: Result, beads: Sequence[int] | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot the velocity of beads versus time.

    Velocities are interpolated between snapshots with their velocities and displacements.

    If the snapshots are too far apart to resolve the motion, they are joined by straight lines, and
    the figure reports this.

    Parameters
    ----------
    result : Result
        Result with snapshots.
    beads : sequence of int, optional
        Labels of the beads. By default the striker and the sensors, or all beads if there are no
        sensors; at most 10, evenly spaced.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    note = ""
    if beads is None:
        bodies = result.bead
        if "sensor_bead" in result.variables and len(result.sensor_bead):
            bodies = bodies[(bodies == 0) | np.isin(bodies, result.sensor_bead)]
        places, note = chosen_labels(None, bodies, MOST_LINES, "beads")
        beads = [int(bodies[place]) for place in places]
    places, _ = chosen_labels(beads, result.bead, MOST_LINES, "beads")
    factor, unit = time_unit(float(result.snapshot_time[-1]))
    sheet = Sheet(ax, 7.0, 4.0)
    time, velocity, how = _course(result, places)
    for i, (bead, course) in enumerate(zip(beads, velocity.T, strict=True)):
        sheet.top.plot(factor * time, course, **look(i), label=body_name(bead))
    over_time(sheet.top, unit, zero=True, ylabel="velocity [m/s]")
    sheet.legend(sheet.top, beside=True)
    return sheet.head([result], _interval(result.snapshot_time), how, note)


def _course(result: Result, places: Sequence[int]) -> tuple[np.ndarray, np.ndarray, str]:
    """Return times, velocities of bodies, and how they were interpolated between snapshots."""
    time, velocity = np.asarray(result.snapshot_time), np.asarray(result.velocity)[:, places]
    if "displacement" not in result.variables or len(time) < 3 or not np.isfinite(velocity).all():
        return time, velocity, ""
    found = between_snapshots(
        time, np.asarray(result.displacement)[:, places], velocity, max(1, COURSE // len(time))
    )
    if found is None:
        return (
            time,
            velocity,
            "linear between snapshots, because their interval is too long for these pulses",
        )
    return *found, "interpolated from displacement and velocity"


def _interval(time: np.ndarray) -> str:
    """Return the time between snapshots as text; a pulse may be shorter."""
    if len(time) < 2:
        return ""
    every = float(np.median(np.diff(time)))
    factor, unit = scaled(every, "s")
    return f"one value every {factor * every:.3g} {unit}"


@of_results("velocity", "snapshot_time", "bead")
def space_time(result: Result, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Plot the bead velocity versus time and position in the chain.

    A line shows the wave front.

    The front is the arrival of the first pulse at each bead if that pulse has ended. Its speed is
    that of the least-squares line through all arrivals.

    Parameters
    ----------
    result : Result
        Result with snapshots.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    from matplotlib.colors import FuncNorm, PowerNorm
    from matplotlib.patheffects import withStroke

    time, beads, values = result.snapshot_time, result.bead, result.velocity
    if len(time) < 2 or len(beads) < 2:
        raise GranchainError(
            "space_time: too few snapshots or beads. At least two of each are required. "
            "Increase the end time, or record more."
        )
    factor, unit = time_unit(float(time[-1]))
    sheet = Sheet(ax, 7.0, 4.6)
    axes, (fast, speed_unit) = sheet.top, scaled(largest(values) or 1.0, "m/s")
    shown, top = fast * values, fast * (largest(values) or 1.0)
    # On a square-root scale, a decaying wave stays visible.
    name = f"bead velocity [{speed_unit}], square-root scale"
    if np.nanmin(shown) < -0.1 * top:
        # Both signs occur; white is rest.
        root_and_square = (
            lambda one: np.sign(one) * np.sqrt(np.abs(one)),
            lambda one: np.sign(one) * np.square(one),
        )
        norm: Any = FuncNorm(root_and_square, -top, top)
        colours: dict[str, Any] = {"norm": norm, "cmap": "RdBu_r"}
        extend = "neither"
    else:
        colours = {"norm": PowerNorm(0.5, 0.0, top, clip=False), "cmap": "magma_r"}
        extend = "min" if np.nanmin(shown) < 0.0 else "neither"
    colour_map(
        sheet, factor * time, beads, shown.T, name, colours, aspect=30, pad=0.02, extend=extend
    )
    driven = driven_without_pulse(result)
    seen = largest(values) * SEEN
    arrivals = np.array(
        [math.nan if driven else _arrival(time, column, seen) for column in values.T]
    )
    passed = beads[np.isfinite(arrivals)]
    # Approximate width at half height.
    high = values > 0.5 * np.nanmax(values, axis=0, initial=0.0)
    note = f"no wave front, because the run is driven with {driven}" if driven else ""
    if len(passed) > 1:
        if out_of_order(beads, arrivals, np.median(np.diff(time)) * high.sum(axis=0)) is not None:
            note = "no wave front, because the pulses have more than one front"
        else:
            speed = speed_in_words(result.position, arrivals)
            label = f"wave front from peaks of velocity, beads {passed[0]} to {passed[-1]}: {speed}"
            # A black line with a white outline is visible on every colour of the map.
            line: dict[str, Any] = {"color": "black", "linewidth": FRONT[0], "label": label}
            line["path_effects"] = [withStroke(linewidth=FRONT[1], foreground="white")]
            axes.plot(factor * arrivals, beads, "--", **line)
            sheet.legend(axes)
    label = "bead (0 is the striker)" if beads[0] == 0 else "bead"
    over_time(axes, unit, integer="y", xlim=(factor * time[0], factor * time[-1]), ylabel=label)
    return sheet.head([result], _interval(time), note)


def _arrival(time: np.ndarray, values: np.ndarray, seen: float) -> float:
    """Return the arrival of a first pulse that is complete [s].

    It is nan for the striker, which is fast from the start, for a bead that flies off or whose
    motion is not visible, and if another pulse has merged with the first.
    """
    if np.nanmax(values, initial=0.0) < seen:
        return math.nan
    pulse = first_pulse(time, values).record(0)
    return pulse.top if pulse.complete and not pulse.merged else math.nan


@of_results("contact_force", "contact_overlap", "sensor_contact")
def hysteresis(
    *results: Result,
    contacts: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Plot force versus overlap of contacts.

    Lines are solid for loading and dashed for unloading, with a mark at the residual overlap.

    Parameters
    ----------
    *results : Result
        One or more results with contacts.
    contacts : sequence of int, optional
        Labels of the contacts. By default all contacts of each result; at most as many as there are
        colours, evenly spaced.
    labels : sequence of str, optional
        A label for each result. By default its law, or its title if the laws are the same.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    loops, notes = [], []
    # Limit the contacts so that every loop has a colour; dashes already mean unloading.
    most = max(1, len(palette()) // len(results))
    for result, word in zip(results, labels_of(results, labels), strict=True):
        places, note = chosen_labels(contacts, result.sensor_contact, most, "contacts")
        notes.append(note)
        for place in places:
            contact = int(result.sensor_contact[place])
            label = f"contact {contact}" + (f", {word}" if len(results) > 1 else "")
            overlap, force = result.contact_overlap[:, place], result.contact_force[:, place]
            loops.append(Loop(label, overlap, force, _residual(result, contact)))
    sheet = Sheet(ax, 6.4, 4.4)
    handles = draw_loops(sheet.top, loops, "loading", "unloading")
    if len(handles) > IN_A_CORNER:
        sheet.legend(sheet.top, beside=True, handles=handles)
    else:
        sheet.top.legend(handles=handles, loc="best")
    return sheet.head(results, *dict.fromkeys(notes))


def _residual(result: Result, contact: int) -> float:
    """Return the residual overlap of a contact [m]; 0 for a law without residual indentation."""
    # If there are many contacts, the variable is not read for figures.
    if not {"residual_overlap", "contact"} <= result.variables.keys():
        return 0.0
    left = result.variables["residual_overlap"].data[result.contact == contact]
    return max(0.0, float(left.sum()))


@of_results("energy_time")
def energy(result: Result, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Plot the parts of the energy balance versus time as a stack.

    The balance error is plotted below on a logarithmic axis.

    Parameters
    ----------
    result : Result
        Result with an energy balance.
    ax : sequence of Axes, optional
        Two Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, array of Axes (2,)
        Energy balance and residual.
    """
    names = [
        name
        for name in (*LEDGER_ENERGIES, *ENERGIES_OF_ELEMENTS)
        if f"energy_{name}" in result.variables
    ]
    energies = {name: getattr(result, f"energy_{name}") for name in names}
    kinetic, stored = in_motion_and_store(ledger_in(result))
    supplied = supplied_energy(kinetic, result.energy_external, stored)
    size = residual_share(result.energy_residual, supplied, stored)
    static = supplied == 0.0 and bool(np.any(energies["recoverable"] > 0.0))
    moving = moving_energy(result)
    energies["recoverable"], total = moving.recoverable, moving.total
    rests = moving.resting > OF_ROUNDING * energies["kinetic"].max()
    (by, unit), static_work = scaled(moving.resting, "J"), largest(moving.static_work)
    beyond_rest = (
        f"relative to the state at rest, with {by * moving.resting:.4g} {unit} in the contacts"
    )
    by, unit = scaled(static_work, "J")
    apart = f"without static work of up to {by * static_work:.3g} {unit}"
    each, undersampled = _entries_of_a_mean(result)
    if each > 1:
        energies = {name: moving_mean(values, each) for name, values in energies.items()}
        total = moving_mean(total, each)
    factor, unit = time_unit(float(result.energy_time[-1]))
    scale, joule = scaled(largest(total, sum(energies.values())), "J")
    time = factor * result.energy_time
    sheet = Sheet(ax, 7.0, 5.0, [3.0, 1.3], sharex=True)
    ledger, rest = sheet.panels
    # Each part has the same colour in all runs.
    colours = dict(zip(names, palette(), strict=False))
    shown = [name for name in names if np.any(energies[name] != 0.0)]
    ledger.stackplot(
        time,
        *(scale * energies[name] for name in shown),
        labels=[(LOST | OF_ELEMENTS).get(name, name) for name in shown],
        colors=[colours[name] for name in shown],
        alpha=0.85,
        linewidth=0.0,
    )
    ledger.plot(time, scale * total, "--", color="black", linewidth=0.9, label="energy supplied")
    low = 0.0 if all(energies[name].min() >= 0.0 for name in names) else None
    ledger.set(ylabel=f"energy [{joule}]", ylim=(low, None))
    draw_residual(rest, time, size)
    if (case := case_of(result)) is not None and supplied > 0.0:
        rest.axhline(
            case.energy.bound,
            color=palette()[2],
            linewidth=0.9,
            linestyle=":",
            label="bound of the run",
        )
    if not supplied > 0.0:
        of_held = f"balance error / {OF_ROUNDING:g}\nof stored energy"
        rest.set_ylabel(of_held if static else "balance error [J]")
    over_time(rest, unit)
    sheet.legends(ledger, rest, reverse=True)
    notes = beyond_rest if rests else "", apart if static_work > 0.0 else "", undersampled
    return sheet.head([result], *notes)


def _entries_of_a_mean(result: Result) -> tuple[int, str]:
    """Return the number of entries over which the energies are averaged, and a note.

    They are averaged if an end is driven at a frequency that the entries do not resolve, because
    lines through the entries would show a false frequency.
    """
    every = float(np.median(np.diff(result.energy_time))) if len(result.energy_time) > 1 else 0.0
    case = case_of(result) if "energy_drives" in result.variables else None
    signals = [one for one in (case.drives.values() if case else ()) if one.signal]
    # Energies vary with the square: at twice the frequency, with four entries per period.
    limit = 1.0 / (8.0 * max(map(highest, signals))) if signals else math.inf
    if every <= limit * (1.0 + 1e-3):
        return 1, ""
    each = max(8, len(result.energy_time) // 25)
    (by, unit), (less, small) = time_unit(each * every), scaled(limit, "s")
    # Phase change of a squared sine per entry, in turns without whole ones. If the entries of a
    # mean cover less than one turn, the mean is of one phase only and useless.
    turns = every / (4.0 * limit)
    one_phase = each * abs(turns - round(turns)) < 1.0
    what = "the samples are in phase with the drive" if one_phase else "means over "
    what += "" if one_phase else f"{by * each * every:.3g} {unit}"
    return 1 if one_phase else each, (
        f"{what}; to resolve the cycle, set energy.interval to {less * limit:.2g} {small}"
    )


def moving_mean(values: np.ndarray, each: int) -> np.ndarray:
    """Return the mean over `each` entries around every entry, or fewer at the ends."""
    window = np.ones(each)
    counts = np.convolve(np.ones(len(values)), window, "same")
    return np.asarray(np.convolve(values, window, "same") / counts)


def draw_residual(axes: Axes, x: np.ndarray, size: np.ndarray) -> None:
    """Plot the error of an energy balance on a logarithmic axis."""
    axes.set_yscale("log")
    seen = np.where(size > 0.0, size, math.nan)
    axes.plot(x, seen, color=GREY, linewidth=1.0, label="balance error")
    if not np.any(size > 0.0):
        axes.set_ylim(1e-18, 1.0)
        axes.text(
            0.5,
            0.5,
            "exactly 0 at all times",
            fontsize=small_type(),
            transform=axes.transAxes,
            ha="center",
            va="center",
        )
    axes.set_ylabel("balance error\n/ supplied")
    axes.grid(axis="y")
    axes.yaxis.set_major_formatter(lambda value, place: number_words(value))


@of_results(
    *(f"contact_{name}" for name in LOST),
    "contact",
    unless=lambda result: (
        ""
        if any(np.any(getattr(result, f"contact_{name}") != 0.0) for name in LOST)
        else "losses: no contact lost energy. A law with losses is required. Plot the energy "
        "instead."
    ),
)
def losses(result: Result, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Plot the energy losses of each contact as a stack.

    They are plastic deformation, damping, and the energy of the no-tension cutoff.

    Parameters
    ----------
    result : Result
        Result with an energy balance.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    lost = {name: getattr(result, f"contact_{name}") for name in LOST}
    scale, joule = scaled(largest(sum(lost.values())), "J")
    sheet = Sheet(ax, 7.0, 4.0)
    edges = np.append(result.contact, result.contact[-1] + 1) - 0.5
    below = np.zeros(len(result.contact))
    for name, values in lost.items():
        if np.any(values != 0.0):
            above = below + scale * values
            sheet.top.stairs(
                above,
                edges,
                baseline=below,
                fill=True,
                # The same colours as in the figure of the energy balance versus time.
                color=palette()[LEDGER_ENERGIES.index(name)],
                alpha=0.85,
                linewidth=0.0,
                label=LOST[name],
            )
            below = above
    sheet.legend(sheet.top, beside=True)
    set_panel(
        sheet.top,
        integer="x",
        xlim=(edges[0], edges[-1]),
        xlabel="contact (k joins body k and k + 1)",
        ylabel=f"energy lost [{joule}]",
    )
    return sheet.head([result])


@of_results(
    "largest_overlap",
    "residual_overlap",
    "contact",
    unless=lambda result: (
        ""
        if np.any(result.largest_overlap > 0.0)
        else "overlaps: no contact closed. At least one closed contact is required. Run longer."
    ),
)
def overlaps(result: Result, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Plot the largest overlap and the residual overlap of each contact along the chain.

    Parameters
    ----------
    result : Result
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    scale, metre = scaled(largest(result.largest_overlap), "m")
    sheet = Sheet(ax, 7.0, 4.0)
    edges = np.append(result.contact, result.contact[-1] + 1) - 0.5
    dent = scale * result.residual_overlap
    if np.any(dent != 0.0):
        sheet.top.stairs(
            dent,
            edges,
            fill=True,
            color=palette()[1],
            alpha=0.85,
            linewidth=0.0,
            label="residual overlap",
        )
    sheet.top.stairs(
        scale * result.largest_overlap,
        edges,
        baseline=None,
        color=palette()[0],
        linewidth=1.2,
        label="largest overlap",
    )
    sheet.legend(sheet.top, beside=True)
    set_panel(
        sheet.top,
        integer="x",
        xlim=(edges[0], edges[-1]),
        ylim=(min(0.0, 1.05 * float(dent.min())), None),
        xlabel="contact (k joins body k and k + 1)",
        ylabel=f"overlap [{metre}]",
    )
    return sheet.head([result], "" if np.any(dent != 0.0) else "no residual indentation")
