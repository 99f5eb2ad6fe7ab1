"""Figures of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.analysis import (
    ENERGIES_HELD,
    OF_ROUNDING,
    between_snapshots,
    driven_without_pulse,
    energy_put_in,
    first_pulse,
    out_of_order,
    peak,
    residual_share,
    sensor_peak,
    wave_speed,
)
from granchain.errors import CaseError, GranchainError
from granchain.figures.frame import (
    MOST_LEGEND_ROWS,
    MOST_LINES,
    body_name,
    branches,
    chosen_labels,
    figure_of,
    framed_loops,
    given_panels,
    label_size,
    labels_of,
    legend_below,
    legend_beside,
    look,
    narrow,
    need,
    need_few,
    new_figure,
    one_panel,
    palette,
    plain_powers,
    put_heading,
    round_end,
    scaled,
    small_type,
    styled,
    time_unit,
)
from granchain.figures.pulses import need_sensors, peaks
from granchain.figures.shading import shade
from granchain.store.result import check_result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from granchain.store import Result
    from granchain.store.variables import Unread


# Beads or contacts of a file that is drawn: a picture of more shows none of them.
MOST_PLACES = 2**20
# Entries of a legend that find room beside the loops of a hysteresis.
IN_A_CORNER = 8
# Width of the line of a wave front, and of the white about it [points].
FRONT = 1.2, 2.8
# Part of all energy that rests in the contacts throughout, and of the largest force that is there
# before the wave, from which they are left out of the picture, ours: the wave takes up less than
# half of it.
AT_REST = 0.5
# Points of a drawn course: some four a dot of a printed figure two columns wide.
COURSE = 4000


@styled
def force_traces(
    *results: Result,
    sensors: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Force against time at every sensor, one row each, on one force and one time axis.

    Parameters
    ----------
    *results : Result
        One or more; the rows are the sensors of the first, and a result without one of them leaves
        that row to the others.
    sensors : sequence of int, optional
        Labels of the beads, from the first row down; default: those of the first result, evenly
        spaced ones of more than 12.
    labels : sequence of str, optional
        A word for each result; default: its law, or its title where laws are the same.
    ax : sequence of Axes, optional
        Of matplotlib, one a row, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (n_rows,)
    """
    if not results:
        raise GranchainError("force_traces: got no result, allowed: one or more")
    for result in results:
        need(result, "sensor_force", "sensor_bead", "time")
    places, note = chosen_labels(sensors, results[0].sensor_bead, MOST_LEGEND_ROWS, "sensors")
    beads = [int(results[0].sensor_bead[place]) for place in places]
    factor, unit = time_unit(max(float(result.time[-1]) for result in results))
    if ax is None:
        figure = new_figure(7.0, 1.5 + (0.8 if narrow() else 0.62) * len(beads))
        figure.get_layout_engine().set(hspace=0.0, h_pad=0.02)  # type: ignore[union-attr,call-arg]
        rows = figure.subplots(len(beads), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    else:
        rows = given_panels(ax, len(beads))
        figure = figure_of(rows[0])
    words = labels_of(results, labels)
    # a force that was there before the wave may take up most of the traces
    rest = max(float(np.abs(result.sensor_force[0]).max()) for result in results)
    beyond = rest > AT_REST * max(
        float(np.nanmax(np.abs(result.sensor_force))) for result in results
    )
    handles: dict[str, Any] = {}
    for axes, bead in zip(rows, beads, strict=True):
        text = body_name(bead)
        for i, (result, label) in enumerate(zip(results, words, strict=True)):
            column = np.flatnonzero(result.sensor_bead == bead)
            if not len(column):
                continue
            force = result.sensor_force[:, column[0]]
            at_rest = float(force[0])
            force = force - at_rest if beyond else force
            (handles[label],) = axes.plot(factor * result.time, force, **look(i), label=label)
            if len(results) == 1 and beyond:
                text += f"\nbeyond\n{at_rest:.3g} N"
            elif len(results) == 1:
                shade(axes, factor * result.time, 0.0, force, color=look(i)["color"], alpha=0.18)
                top = sensor_peak(result, int(column[0]))
                text += (
                    f"\n{top.force:.3g} N"
                    if top.complete
                    else "\nno pulse"
                    if top.force == 0.0
                    else "\nstill rising"
                )
                text += "\nmerged" if top.merged else ""
        axes.text(
            1.012,
            0.5,
            text,
            transform=axes.transAxes,
            va="center",
            fontsize=small_type(),
            linespacing=1.15,
        )
        axes.spines["bottom"].set_visible(axes is rows[-1])
        axes.tick_params(axis="x", length=3.0 if axes is rows[-1] else 0.0)
        axes.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
        axes.locator_params(axis="y", nbins=3)
    _leave_room(rows)
    name = "sensor force beyond that at rest (N)" if beyond else "sensor force (N)"
    rows[-1].set_xlabel(f"time ({unit})")
    if ax is None:
        figure.supylabel(name, fontsize=label_size())
    else:
        rows[len(rows) // 2].set_ylabel(name)
    if len(results) > 1:
        legend_below(
            rows[0],
            given=ax is not None,
            handles=[handles[word] for word in words if word in handles],
        )
    put_heading(rows[0], results, note, given=ax is not None)
    return figure, rows


def _leave_room(rows: np.ndarray) -> None:
    """One force axis from just below 0, so that rows on top of each other do not touch, and one
    time axis."""
    low, high = min(axes.dataLim.y0 for axes in rows), max(axes.dataLim.y1 for axes in rows)
    begin, end = min(axes.dataLim.x0 for axes in rows), max(axes.dataLim.x1 for axes in rows)
    size = max(high, 0.0) - min(low, 0.0)
    for axes in rows:
        axes.set_ylim(
            min(low, 0.0) - 0.06 * size, max(high, 0.0) + 0.12 * size if size > 0.0 else 1.0
        )
        axes.set_xlim(begin, end)
        round_end(axes)


@styled
def bead_velocities(
    result: Result, beads: Sequence[int] | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Velocity of chosen beads against time, between the snapshots the course that has their
    velocities and displacements.

    Where snapshots are too far apart to hold the motion, straight lines join them, and the figure
    says so.

    Parameters
    ----------
    result : Result
        With snapshots.
    beads : sequence of int, optional
        Labels; default: the striker and the sensors, or without sensors all; evenly spaced ones of
        more than 10.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    need(result, "velocity", "snapshot_time", "bead")
    note = ""
    if beads is None:
        bodies = result.bead
        if "sensor_bead" in result.variables and len(result.sensor_bead):
            bodies = np.array(
                [label for label in result.bead if label == 0 or label in result.sensor_bead]
            )
        places, note = chosen_labels(None, bodies, MOST_LINES, "beads")
        beads = [int(bodies[place]) for place in places]
    places, _ = chosen_labels(beads, result.bead, MOST_LINES, "beads")
    factor, unit = time_unit(float(result.snapshot_time[-1]))
    figure, axes = one_panel(ax, 7.0, 4.0)
    time, velocity, how = _course(result, places)
    for i, place in enumerate(places):
        axes.plot(
            factor * time, velocity[:, i], **look(i), label=body_name(int(result.bead[place]))
        )
    axes.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel("velocity (m/s)")
    round_end(axes)
    legend_beside(axes, given=ax is not None)
    put_heading(axes, [result], _interval(result.snapshot_time), how, note, given=ax is not None)
    return figure, axes


def _course(result: Result, places: Sequence[int]) -> tuple[np.ndarray, np.ndarray, str]:
    """Times, velocities of bodies, and how they were found between snapshots."""
    time, velocity = np.asarray(result.snapshot_time), np.asarray(result.velocity)[:, places]
    if "displacement" not in result.variables or len(time) < 3 or not np.isfinite(velocity).all():
        return time, velocity, ""
    found = between_snapshots(
        time, np.asarray(result.displacement)[:, places], velocity, max(1, COURSE // len(time))
    )
    if found is None:
        return time, velocity, "too far apart for these pulses: straight between them"
    return *found, "between them by displacement and velocity"


def _interval(time: np.ndarray) -> str:
    """How often there is a value: a pulse may be narrow beside it."""
    if len(time) < 2:
        return ""
    factor, unit = scaled(float(np.median(np.diff(time))), "s")
    return f"a value every {factor * float(np.median(np.diff(time))):.3g} {unit}"


@styled
def space_time(
    result: Result, quantity: str = "velocity", ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Bead velocity, or force of the recorded contacts, over time and place in the chain, with the
    line of the wave front.

    The front is the arrival of the first pulse at each bead or contact where that pulse has ended,
    its speed that of the least-squares line through all of them. For contacts to make a picture,
    most of them must be recorded.

    Parameters
    ----------
    result : Result
        With snapshots, or with contacts.
    quantity : {"velocity", "force"}
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    from matplotlib.colors import Normalize, PowerNorm
    from matplotlib.patheffects import withStroke

    if quantity == "velocity":
        need(result, "velocity", "snapshot_time", "bead")
        time, places, values = result.snapshot_time, result.bead, result.velocity
        name, place_name = (
            "bead velocity (m/s)",
            "bead (0 is the striker)" if result.bead[0] == 0 else "bead",
        )
    elif quantity == "force":
        need(result, "contact_force", "sensor_contact", "time")
        order = np.argsort(result.sensor_contact)
        time, places, values = (
            result.time,
            result.sensor_contact[order],
            result.contact_force[:, order],
        )
        name, place_name = "contact force (N)", "contact (k joins body k and k + 1)"
    else:
        raise GranchainError(
            f'space_time: quantity: got {quantity!r}, allowed: "velocity", "force"'
        )
    if len(time) < 2 or len(places) < 2:
        raise GranchainError(
            "space_time: got fewer than two instants or places, allowed two of each at least; "
            "raise the end time, or record more"
        )
    factor, unit = time_unit(float(time[-1]))
    figure, axes = one_panel(ax, 7.0, 4.6)
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    norm: Normalize
    if np.nanmin(values) < -0.1 * largest:
        # Both signs matter: white is rest.
        norm, colour_map, extend = Normalize(-largest, largest), "RdBu_r", "neither"
    else:
        # A wave that decays stays visible on the scale of a square root.
        norm, colour_map = PowerNorm(0.5, 0.0, largest, clip=False), "magma_r"
        extend, name = (
            ("min" if np.nanmin(values) < 0.0 else "neither"),
            name + (",\n" if narrow() else ", ") + "square-root scale",
        )
    mesh = axes.pcolormesh(
        factor * time,
        places,
        values.T,
        shading="nearest",
        rasterized=True,
        norm=norm,
        cmap=colour_map,
    )
    figure.colorbar(mesh, ax=axes, label=name, pad=0.02, aspect=30, extend=extend)
    arrivals = np.array([_arrival(time, column) for column in values.T])
    speed = _front_of_snapshots(result, quantity, places, arrivals)
    passed = places[np.isfinite(arrivals)]
    # between half heights, near enough
    widths = np.median(np.diff(time)) * (values > 0.5 * np.nanmax(values, axis=0, initial=0.0)).sum(
        axis=0
    )
    one_front = len(passed) > 1 and out_of_order(places, arrivals, widths) is None
    if one_front:
        label = (
            f"wave front, peaks of {quantity} of {place_name.split()[0]} {passed[0]} to "
            f"{passed[-1]}"
        )
        label += f": {speed:.3g} m/s" if math.isfinite(speed) else ""
        # Black with white about it stands out from every colour of the map.
        halo = [withStroke(linewidth=FRONT[1], foreground="white")]
        axes.plot(
            factor * arrivals,
            places,
            "--",
            color="black",
            linewidth=FRONT[0],
            label=label,
            path_effects=halo,
        )
        if narrow():
            legend_below(axes, given=ax is not None)
        else:
            axes.legend(
                loc="upper left" if not speed < 0.0 else "upper right",
                frameon=True,
                framealpha=0.85,
                edgecolor="none",
            )
    axes.set_xlim(factor * time[0], factor * time[-1])
    round_end(axes)
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel(place_name)
    axes.locator_params(axis="y", integer=True)
    several = (
        "no line: the pulses are of more than one front"
        if len(passed) > 1 and not one_front
        else ""
    )
    put_heading(axes, [result], _interval(time), several, given=ax is not None)
    return figure, axes


def _arrival(time: np.ndarray, values: np.ndarray) -> float:
    """Arrival of a first pulse that has begun and ended [s].

    nan for the striker, fast at once, for a bead that flies off, and where another pulse has merged
    with the first.
    """
    top = peak(time, values)
    return (
        top.time
        if top.complete and not top.merged and first_pulse(values).stop < len(values)
        else math.nan
    )


def _front_of_snapshots(
    result: Result, quantity: str, places: np.ndarray, arrivals: np.ndarray
) -> float:
    """Speed of the front [m/s]; nan where the place of a contact or the case is not known."""
    centres = dict(zip(result.bead.tolist(), result.position.tolist(), strict=True))
    if quantity == "force":
        # A contact is half way between the centres of its bodies, near enough for beads of like
        # size.
        centres = {k: 0.5 * (x + centres[k + 1]) for k, x in centres.items() if k + 1 in centres}
    return wave_speed([centres.get(place, math.nan) for place in places.tolist()], arrivals)


@styled
def hysteresis(
    *results: Result,
    contacts: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Force against overlap of chosen contacts: loading full, unloading dashed, the residual
    overlap marked.

    Parameters
    ----------
    *results : Result
        One or more, with contacts.
    contacts : sequence of int, optional
        Labels; default: those of each result, evenly spaced ones of more than there are colours.
    labels : sequence of str, optional
        A word for each result; default: its law, or its title where laws are the same.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    if not results:
        raise GranchainError("hysteresis: got no result, allowed: one or more")
    for result in results:
        need(result, "contact_force", "contact_overlap", "sensor_contact")
    largest = max(float(np.nanmax(result.contact_overlap, initial=0.0)) for result in results)
    factor, unit = scaled(largest, "m")
    several, marked, notes = len(results) > 1, False, []
    loops = []
    # As many of each as leave a colour for every loop: full and dashed are taken.
    most = max(1, len(palette()) // len(results))
    for result, word in zip(results, labels_of(results, labels), strict=True):
        places, note = chosen_labels(contacts, result.sensor_contact, most, "contacts")
        notes.append(note)
        loops += [
            (
                result,
                place,
                f"contact {result.sensor_contact[place]}" + (f", {word}" if several else ""),
            )
            for place in places
        ]
    need_few(len(loops), "hysteresis")
    figure, axes = one_panel(ax, 6.4, 4.4)
    # The later the thinner: contacts of one law load along one curve, and none shall hide another.
    widths = np.linspace(2.4 if len(loops) > 1 else 1.3, 1.0, len(loops))
    for i, ((result, place, label), width) in enumerate(zip(loops, widths, strict=True)):
        colour = palette()[i]
        overlap, force = result.contact_overlap[:, place], result.contact_force[:, place]
        loading, unloading = branches(overlap, force)
        axes.plot(factor * overlap, loading, color=colour, linewidth=width, label=label)
        axes.plot(
            factor * overlap, unloading, "--", color=colour, linewidth=1.0, label="_unloading"
        )
        left = _residual(result, int(result.sensor_contact[place]))
        if left > 0.0:
            marked = True
            axes.plot(
                [factor * left],
                [0.0],
                "|",
                color=colour,
                markersize=11,
                markeredgewidth=1.6,
                clip_on=False,
                label="_residual",
            )
    handles = framed_loops(axes, unit, "loading", "unloading", marked)
    if len(handles) > IN_A_CORNER or (narrow() and len(handles) > IN_A_CORNER // 2):
        legend_beside(axes, given=ax is not None, handles=handles)
    else:
        axes.legend(handles=handles, loc="upper left")
    put_heading(axes, results, *dict.fromkeys(notes), given=ax is not None)
    return figure, axes


def _residual(result: Result, contact: int) -> float:
    """Residual overlap of a contact [m]; 0 for a law that leaves no dent."""
    # of many contacts a picture reads none
    if not {"residual_overlap", "contact"} <= result.variables.keys():
        return 0.0
    place = np.flatnonzero(result.contact == contact)
    return float(result.variables["residual_overlap"].data[place[0]]) if len(place) else 0.0


@styled
def energy(result: Result, ax: Sequence[Axes] | None = None) -> tuple[Figure, np.ndarray]:
    """Energy ledger over time: its parts on top of each other, and below, on a logarithmic axis,
    what it does not account for.

    Parameters
    ----------
    result : Result
        With the ledger.
    ax : sequence of Axes, optional
        Of matplotlib, two of them, to draw into: the heading is then left to their figure.

    Returns
    -------
    Figure, array of Axes (2,)
        Ledger, residual.
    """
    need(result, "energy_time")
    held = (*ENERGIES_HELD, *(("drag",) if "energy_drag" in result.variables else ()))
    parts = {name: getattr(result, f"energy_{name}") for name in held}
    put_in = energy_put_in(parts["kinetic"], result.energy_external, parts["recoverable"])
    total = parts["kinetic"][0] + parts["recoverable"][0] + result.energy_external
    resting = float(parts["recoverable"].min())
    left_out = resting > AT_REST * float(np.abs(total).max())
    if left_out:
        parts["recoverable"], total = parts["recoverable"] - resting, total - resting
    factor, unit = time_unit(float(result.energy_time[-1]))
    scale, joule = scaled(float(np.abs(total).max()), "J")
    time = factor * result.energy_time
    if ax is None:
        figure = new_figure(7.0, 6.2 if narrow() else 5.0)
        axes = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.3])
    else:
        axes = given_panels(ax, 2)
        figure = figure_of(axes[0])
    ledger, rest = axes
    # One colour a part, whatever parts a run has.
    shown = [
        (name, colour)
        for name, colour in zip(held, palette(), strict=False)
        if np.any(parts[name] != 0.0)
    ]
    labels = {
        "plastic": "plastic (dents)",
        "viscous": "viscous (damping)",
        "clamp": "clamp (damping that did not act)",
    }
    ledger.stackplot(
        time,
        *[scale * parts[name] for name, _ in shown],
        labels=[labels.get(name, name) for name, _ in shown],
        colors=[colour for _, colour in shown],
        alpha=0.85,
        linewidth=0.0,
    )
    ledger.plot(time, scale * total, "--", color="black", linewidth=0.9, label="put in")
    ledger.set_ylabel(f"energy ({joule})")
    ledger.set_ylim(0.0 if all(parts[name].min() >= 0.0 for name in held) else None, None)
    if not narrow() or ax is not None:
        legend_beside(ledger, given=ax is not None, reverse=True)
    size = residual_share(result.energy_residual, put_in, parts["recoverable"])
    rest.set_yscale("log")
    rest.plot(
        time, np.where(size > 0.0, size, math.nan), color="#555555", linewidth=1.0, label="residual"
    )
    try:
        bound = float(result.case.energy.bound)
    except (CaseError, AttributeError):
        # this version cannot read the case
        bound = math.nan
    if not math.isnan(bound) and put_in > 0.0:
        rest.axhline(
            bound, color=palette()[2], linewidth=0.9, linestyle=":", label="bound of the run"
        )
    if not np.any(size > 0.0):
        rest.text(
            0.5,
            0.5,
            "exactly 0 throughout",
            transform=rest.transAxes,
            ha="center",
            va="center",
            fontsize=small_type(),
        )
        rest.set_ylim(1e-18, 1.0)
    static = put_in == 0.0 and bool(np.any(parts["recoverable"] > 0.0))
    rest.set_ylabel(
        "residual\n/ put in"
        if put_in > 0.0
        else f"residual / {OF_ROUNDING:g}\nof what is held"
        if static
        else "residual (J)"
    )
    rest.set_xlabel(f"time ({unit})")
    rest.grid(axis="y")
    plain_powers(rest)
    round_end(rest)
    if narrow() and ax is None:
        # one below the figure for both panels
        legend_below(
            ledger,
            handles=[handle for one in axes for handle in one.get_legend_handles_labels()[0]],
            most=2,
        )
    else:
        legend_beside(rest, given=ax is not None)
    if ax is None:
        figure.align_ylabels()
    its_scale, its_unit = scaled(resting, "J")
    without = (
        f"without {its_scale * resting:.4g} {its_unit} that rest in the contacts"
        if left_out
        else ""
    )
    put_heading(ledger, [result], without, given=ax is not None)
    return figure, axes


@styled
def losses(result: Result, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Where the energy went: what each contact has lost to its dent and to damping, and what the
    clamp spared, on top of each other.

    Parameters
    ----------
    result : Result
        With the ledger.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    parts = ("plastic", "viscous", "clamp")
    from matplotlib.ticker import MaxNLocator

    need(result, *(f"contact_{name}" for name in parts), "contact")
    lost = {name: getattr(result, f"contact_{name}") for name in parts}
    scale, joule = scaled(float(np.abs(sum(lost.values())).max(initial=0.0)), "J")
    figure, axes = one_panel(ax, 7.0, 4.0)
    edges = np.append(result.contact, result.contact[-1] + 1) - 0.5
    below = np.zeros(len(result.contact))
    labels = {
        "plastic": "plastic (dents)",
        "viscous": "viscous (damping)",
        "clamp": "clamp (damping that did not act)",
    }
    # The colours of the ledger over time.
    for name in parts:
        if np.any(lost[name] != 0.0):
            above, colour = below + scale * lost[name], palette()[ENERGIES_HELD.index(name)]
            axes.stairs(
                above,
                edges,
                baseline=below,
                fill=True,
                color=colour,
                alpha=0.85,
                linewidth=0.0,
                label=labels[name],
            )
            below = above
    if np.any(below != 0.0):
        legend_beside(axes, given=ax is not None)
    else:
        axes.text(
            0.5,
            0.5,
            "no contact lost anything",
            transform=axes.transAxes,
            ha="center",
            va="center",
            fontsize=small_type(),
        )
        axes.set_ylim(0.0, 1.0)
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("contact (k joins body k and k + 1)")
    axes.set_ylabel(f"energy lost ({joule})")
    put_heading(axes, [result], given=ax is not None)
    return figure, axes


_CHAIN_FIGURES: dict[str, tuple[Callable[..., tuple[Any, Any]], tuple[str, ...]]] = {
    "force_traces": (force_traces, ("sensor_force", "sensor_bead", "time")),
    "peaks": (peaks, ("sensor_force", "sensor_bead", "time", "contact")),
    "bead_velocities": (bead_velocities, ("velocity", "snapshot_time")),
    "space_time": (space_time, ("velocity", "snapshot_time")),
    "hysteresis": (hysteresis, ("contact_force", "contact_overlap", "sensor_contact")),
    "energy": (energy, ("energy_time",)),
    "losses": (losses, ("contact_plastic", "contact_viscous", "contact_clamp")),
}


# Figures that lay several results over each other; any other is of one.
SEVERAL = (
    *("force_traces", "peaks", "hysteresis"),
    *(
        "slider_acceleration",
        "slider_kinematics",
        "joint_force",
        "joint_penetration",
        "joint_impact",
    ),
)


def known_figures(result: Result) -> list[str]:
    """The names of all figures of results of this kind, whether or not it has the variables for
    them."""
    return list(_figures_of(result.variables))


def several_figures(
    results: Sequence[Result], labels: Sequence[str] | None = None
) -> dict[str, Callable[[], tuple[Figure, Any]]]:
    """The figures in which several results of one kind lie over each other, each of those results
    that have the variables for it.

    Parameters
    ----------
    results : sequence of Result
        Of chains, or of mechanisms.
    labels : sequence of str, optional
        A word for each.

    Returns
    -------
    dict
        Name -> function without arguments that draws it.
    """
    words, absent = labels_of(results, labels), [lacking(result) for result in results]
    found: dict[str, Callable[[], tuple[Figure, Any]]] = {}
    for name, (function, _) in _figures_of(results[0].variables).items():
        those = [i for i in range(len(results)) if name not in absent[i]]
        if name in SEVERAL and those:
            found[name] = partial(
                function, *(results[i] for i in those), labels=[words[i] for i in those]
            )
    return found


def all_figures(result: Result) -> dict[str, Callable[[], tuple[Figure, Any]]]:
    """The figures that a result has the variables for: name -> function without arguments that
    draws it.

    `lacking` names what the others miss.
    """
    absent = lacking(result)
    return {
        name: partial(function, result)
        for name, (function, _) in _figures_of(result.variables).items()
        if name not in absent
    }


def _figures_of(
    names: Iterable[str],
) -> dict[str, tuple[Callable[..., tuple[Any, Any]], tuple[str, ...]]]:
    """The figures of a result with these variables: those of a mechanism where there is the
    angle of a crank."""
    if "crank_angle" not in names:
        return _CHAIN_FIGURES
    from granchain.figures.mechanism import MECHANISM_FIGURES

    return MECHANISM_FIGURES


def drawn(headers: Mapping[str, Unread]) -> list[str]:
    """The variables of a file that its figures show, or take a place or a mark from."""
    needed = {name for _, names in _figures_of(headers).values() for name in names} | {
        *("bead", "radius", "position", "contact", "residual_overlap", "displacement"),
    }
    needed |= {name for name in headers if name.startswith("energy_")}
    wide = {
        name
        for name, header in headers.items()
        if header.dims == (name,) and header.shape[0] > MOST_PLACES and "time" not in name
    }
    return [
        name for name, header in headers.items() if name in needed and not wide & {*header.dims}
    ]


def lacking(result: Result) -> dict[str, str]:
    """The figures that a result cannot make: name -> what to ask for in the case."""
    check_result(result, "figures")
    absent = {}
    for name, (_, needed) in _figures_of(result.variables).items():
        try:
            need(result, *needed)
            if name == "peaks":
                need_sensors(result)
        except GranchainError as error:
            absent[name] = str(error)
            continue
        driven = driven_without_pulse(result) if name == "peaks" else ""
        if driven:
            absent[name] = f"driven with {driven}, it has no first pulse; see granchain spectrum"
        if name == "losses" and not any(np.any(getattr(result, part) != 0.0) for part in needed):
            absent[name] = "no contact lost anything"
    return absent
