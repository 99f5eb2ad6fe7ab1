"""Figures of a run: functions that take a Result and return (figure, axes); nothing is shown, nothing is written but by `save`.

Everything drawn is computed, and every figure says so, with the case's title, the contact law and the time step: lines without
markers, never the look of a measurement.
"""

from __future__ import annotations

import io
import math
import os
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, wraps
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from granchain.analysis import HELD, body_positions, energy_put_in, first_pulse, peak, sensor_peak, wave_speed
from granchain.errors import CaseError, FileError, GranchainError
from granchain.output import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from granchain.comparison import Comparison
    from granchain.impacts import ImpactResult
    from granchain.output import Result
    from granchain.output.result import Unread

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Of more lines or rows than these, evenly spaced ones are drawn and the figure says so: as many as there are colours, and as fit a page.
MOST_LINES = 10
MOST_ROWS = 12

# Beads or contacts of a file that is drawn: a picture of more shows none of them.
MOST_PLACES = 2**20

# File formats of `save`, by the end of the name, with the metadata that keep a day out of the file: equal figures, equal bytes.
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


def _styled(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run a function with our settings; the user's come back afterwards."""

    @wraps(function)
    def within(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        import matplotlib

        with matplotlib.rc_context(rc=style()):
            return function(*args, **kwargs)

    return within


def _new_figure(width: float, height: float) -> Figure:
    """A figure [inch] without pyplot, which takes 0.4 s to load and keeps every figure alive."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def _colours() -> list[str]:
    import matplotlib

    colours: list[str] = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    return colours


def _scaled(largest: float, unit: str) -> tuple[float, str]:
    """Factor and name of the unit, or a thousandth of it and so on, in which a size is between 0.1 and 100."""
    for exponent, prefix in ((0, ""), (-3, "m"), (-6, "\N{MICRO SIGN}"), (-9, "n")):
        if largest >= 0.1 * 10.0**exponent:
            return 10.0**-exponent, prefix + unit
    return 1e12, "p" + unit


def _time_unit(end: float) -> tuple[float, str]:
    """Microseconds, or for a run above a fiftieth of a second, milliseconds or seconds."""
    if end <= 0.02:
        return 1e6, "\N{MICRO SIGN}s"
    return (1e3, "ms") if end <= 20.0 else (1.0, "s")


def _heading(axes: Axes, results: Sequence[Result], *notes: str) -> None:
    """Title of the case; under it, that it is simulated, the law, the step and, where it is so, that the run failed."""
    laws = list(dict.fromkeys(result.law for result in results))
    parts = ["simulated", ("contact law " if len(laws) == 1 else "contact laws ") + ", ".join(laws)]
    if len(results) == 1:
        factor, unit = _scaled(results[0].time_step, "s")
        parts.append(f"time step {results[0].time_step * factor:.3g} {unit}")
    parts += [note for note in notes if note]
    parts += [f"RUN FAILED: {result.status.label}" for result in results if result.status.failed]
    _write_heading(axes, _title(results) or "untitled case", parts, failed=any(result.status.failed for result in results))


def _write_heading(axes: Axes, title: str, parts: Sequence[str], failed: bool = False) -> None:
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
        color=_colours()[2] if failed else "#555555",
        parse_math=False,
    )
    # Room for the lines of 8 points below it; a dollar sign in a title is a dollar sign.
    axes.set_title(textwrap.fill(title, 72), pad=13.0 + 10.0 * len(lines), parse_math=False)


def _need(result: Result, *names: str) -> None:
    """Raise what the result says of a variable that it does not have."""
    for name in names:
        try:
            values = getattr(result, name)
        except AttributeError as error:
            raise GranchainError(str(error)) from None
        if not len(values):
            raise GranchainError(
                f"figure: got a result with an empty {name}, allowed one with entries: there is nothing to draw; run longer, or record more"
            )


def _chosen(asked: Sequence[int] | None, there: np.ndarray, most: int, what: str) -> tuple[list[int], str]:
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


def _name(bead: int) -> str:
    return "striker" if bead == 0 else f"bead {bead}"


def _title(results: Sequence[Result]) -> str:
    """The titles of results, what they share once; inputs of contact laws stand in a file's own title, laws in the labels."""
    titles = list(dict.fromkeys(result.title for result in results if result.title))
    if len(titles) < 2:
        return "".join(titles)
    parts = [title.split("; ") for title in titles]
    shared = [part for part in parts[0] if all(part in other for other in parts)]
    rest = [part for other in parts for part in other if part not in shared and not part.removeprefix("no ").startswith("contact.")]
    return "; ".join(dict.fromkeys([*shared, *rest]))


def _labels(results: Sequence[Result]) -> list[str]:
    """A word for each of several results: its law, or its title where laws are the same."""
    for words in ([result.law for result in results], [result.title for result in results]):
        if len(set(words)) == len(words):
            return words
    return [f"run {i + 1}: {result.law}" for i, result in enumerate(results)]


# --------------------------------------------------------------------------------------------------------------------
# The figures


@_styled
def force_traces(*results: Result, sensors: Sequence[int] | None = None) -> tuple[Figure, np.ndarray]:
    """Force against time at every sensor, one row each, on one force and one time axis.

    Parameters
    ----------
    *results : Result
        One or more; the rows are the sensors of the first, and a result without one of them leaves that row to the others.
    sensors : sequence of int, optional
        Labels of the beads, from the first row down; default: those of the first result, evenly spaced ones of more than 12.

    Returns
    -------
    Figure, array of Axes (n_rows,)
    """
    if not results:
        raise GranchainError("force_traces: got no result, allowed: one or more")
    for result in results:
        _need(result, "sensor_force", "sensor_bead", "time")
    places, note = _chosen(sensors, results[0].sensor_bead, MOST_ROWS, "sensors")
    beads = [int(results[0].sensor_bead[place]) for place in places]
    factor, unit = _time_unit(max(float(result.time[-1]) for result in results))
    figure = _new_figure(7.0, 1.5 + 0.62 * len(beads))
    figure.get_layout_engine().set(hspace=0.0, h_pad=0.02)  # type: ignore[union-attr,call-arg]
    rows = figure.subplots(len(beads), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    colours, labels = _colours(), _labels(results)
    for axes, bead in zip(rows, beads, strict=True):
        text = _name(bead)
        for result, colour, label in zip(results, colours * len(results), labels, strict=False):
            column = np.flatnonzero(result.sensor_bead == bead)
            if not len(column):
                continue
            force = result.sensor_force[:, column[0]]
            axes.plot(factor * result.time, force, color=colour, label=label)
            if len(results) == 1:
                axes.fill_between(factor * result.time, force, color=colour, alpha=0.18, linewidth=0.0)
                top = sensor_peak(result, int(column[0]))
                text += f"\n{top.force:.3g} N" if top.complete else "\nno pulse" if top.force == 0.0 else "\nstill rising"
                text += "\nmerged" if top.merged else ""
        axes.text(1.012, 0.5, text, transform=axes.transAxes, va="center", fontsize=8, linespacing=1.3)
        axes.spines["bottom"].set_visible(axes is rows[-1])
        axes.tick_params(axis="x", length=3.0 if axes is rows[-1] else 0.0)
        axes.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
        axes.locator_params(axis="y", nbins=3)
    _leave_room(rows[0])
    rows[-1].set_xlabel(f"time ({unit})")
    figure.supylabel("sensor force (N)", fontsize=9)
    if len(results) > 1:
        figure.legend(*rows[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(results)))
    _heading(rows[0], results, note)
    return figure, rows


def _leave_room(axes: Axes) -> None:
    """Force axis from just below 0, so that rows on top of each other do not touch."""
    low, high = axes.dataLim.y0, axes.dataLim.y1
    size = max(high, 0.0) - min(low, 0.0)
    axes.set_ylim(min(low, 0.0) - 0.06 * size, max(high, 0.0) + 0.12 * size if size > 0.0 else 1.0)


@_styled
def bead_velocities(result: Result, beads: Sequence[int] | None = None) -> tuple[Figure, Axes]:
    """Velocity of chosen beads against time.

    Parameters
    ----------
    result : Result
        With snapshots.
    beads : sequence of int, optional
        Labels; default: the striker and the sensors, or without sensors all; evenly spaced ones of more than 10.

    Returns
    -------
    Figure, Axes
    """
    _need(result, "velocity", "snapshot_time", "bead")
    note = ""
    if beads is None:
        bodies = result.bead
        if "sensor_bead" in result.variables and len(result.sensor_bead):
            bodies = np.array([label for label in result.bead if label == 0 or label in result.sensor_bead])
        places, note = _chosen(None, bodies, MOST_LINES, "beads")
        beads = [int(bodies[place]) for place in places]
    places, _ = _chosen(beads, result.bead, MOST_LINES, "beads")
    factor, unit = _time_unit(float(result.snapshot_time[-1]))
    figure = _new_figure(7.0, 4.0)
    axes = figure.subplots()
    colours = _colours()
    for i, place in enumerate(places):
        # Ten colours; after them the same with another line.
        dashes = ("-", "--", ":", "-.")[i // len(colours) % 4]
        label = _name(int(result.bead[place]))
        axes.plot(factor * result.snapshot_time, result.velocity[:, place], dashes, color=colours[i % len(colours)], label=label)
    axes.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel("velocity (m/s)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    _heading(axes, [result], _interval(result.snapshot_time), note)
    return figure, axes


def _interval(time: np.ndarray) -> str:
    """How often there is a value: a pulse may be narrow beside it."""
    if len(time) < 2:
        return ""
    factor, unit = _scaled(float(np.median(np.diff(time))), "s")
    return f"a value every {factor * float(np.median(np.diff(time))):.3g} {unit}"


@_styled
def space_time(result: Result, quantity: str = "velocity") -> tuple[Figure, Axes]:
    """Bead velocity, or force of the recorded contacts, over time and place in the chain, with the line of the wave front.

    The front is the arrival of the first pulse at each bead or contact where that pulse has ended, its speed that of the least-squares
    line through all of them. For contacts to make a picture, most of them must be recorded.

    Parameters
    ----------
    result : Result
        With snapshots, or with contacts.
    quantity : {"velocity", "force"}

    Returns
    -------
    Figure, Axes
    """
    from matplotlib.colors import Normalize, PowerNorm

    if quantity == "velocity":
        _need(result, "velocity", "snapshot_time", "bead")
        time, places, values = result.snapshot_time, result.bead, result.velocity
        name, place_name = "bead velocity (m/s)", "bead (0 is the striker)" if result.bead[0] == 0 else "bead"
    elif quantity == "force":
        _need(result, "contact_force", "sensor_contact", "time")
        order = np.argsort(result.sensor_contact)
        time, places, values = result.time, result.sensor_contact[order], result.contact_force[:, order]
        name, place_name = "contact force (N)", "contact (k joins body k and k + 1)"
    else:
        raise GranchainError(f'space_time: quantity: got {quantity!r}, allowed: "velocity", "force"')
    if len(time) < 2 or len(places) < 2:
        raise GranchainError(
            "space_time: got fewer than two instants or places, allowed two of each at least; raise the end time, or record more"
        )
    factor, unit = _time_unit(float(time[-1]))
    figure = _new_figure(7.0, 4.6)
    axes = figure.subplots()
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    norm: Normalize
    if np.nanmin(values) < -0.1 * largest:
        # Both signs matter: white is rest.
        norm, colour_map, extend = Normalize(-largest, largest), "RdBu_r", "neither"
    else:
        # A wave that decays stays visible on the scale of a square root.
        norm, colour_map = PowerNorm(0.5, 0.0, largest, clip=False), "magma_r"
        extend, name = ("min" if np.nanmin(values) < 0.0 else "neither"), name + ", square-root scale"
    mesh = axes.pcolormesh(factor * time, places, values.T, shading="nearest", rasterized=True, norm=norm, cmap=colour_map)
    figure.colorbar(mesh, ax=axes, label=name, pad=0.02, aspect=30, extend=extend)
    arrivals = np.array([_arrival(time, column) for column in values.T])
    speed = _front_speed(result, quantity, places, arrivals)
    passed = places[np.isfinite(arrivals)]
    if len(passed) > 1:
        label = f"wave front, peaks of {quantity} of {place_name.split()[0]} {passed[0]} to {passed[-1]}"
        label += f": {speed:.3g} m/s" if math.isfinite(speed) else ""
        axes.plot(factor * arrivals, places, "--", color=_colours()[0], linewidth=1.0, label=label)
        axes.legend(loc="upper left" if not speed < 0.0 else "upper right", frameon=True, framealpha=0.8, edgecolor="none")
    axes.set_xlim(factor * time[0], factor * time[-1])
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel(place_name)
    axes.locator_params(axis="y", integer=True)
    _heading(axes, [result], _interval(time))
    return figure, axes


def _arrival(time: np.ndarray, values: np.ndarray) -> float:
    """Arrival of a first pulse that has begun and ended [s].

    nan for the striker, fast at once, for a bead that flies off, and where another pulse has merged with the first.
    """
    top = peak(time, values)
    return top.time if top.complete and not top.merged and first_pulse(values).stop < len(values) else math.nan


def _front_speed(result: Result, quantity: str, places: np.ndarray, arrivals: np.ndarray) -> float:
    """Speed of the front [m/s]; nan where the place of a contact or the case is not known."""
    centres = dict(zip(result.bead.tolist(), body_positions(result).tolist(), strict=True))
    if quantity == "force":
        # A contact is half way between the centres of its bodies, near enough for beads of like size.
        centres = {k: 0.5 * (x + centres[k + 1]) for k, x in centres.items() if k + 1 in centres}
    return wave_speed([centres.get(place, math.nan) for place in places.tolist()], arrivals)


@_styled
def hysteresis(*results: Result, contacts: Sequence[int] | None = None) -> tuple[Figure, Axes]:
    """Force against overlap of chosen contacts: loading full, unloading dashed, the residual overlap marked.

    Parameters
    ----------
    *results : Result
        One or more, with contacts.
    contacts : sequence of int, optional
        Labels; default: those of each result, evenly spaced ones of more than 10.

    Returns
    -------
    Figure, Axes
    """
    if not results:
        raise GranchainError("hysteresis: got no result, allowed: one or more")
    for result in results:
        _need(result, "contact_force", "contact_overlap", "sensor_contact")
    largest = max(float(np.nanmax(result.contact_overlap, initial=0.0)) for result in results)
    factor, unit = _scaled(largest, "m")
    figure = _new_figure(6.4, 4.4)
    axes = figure.subplots()
    several, marked, notes = len(results) > 1, False, []
    loops = []
    for result, word in zip(results, _labels(results), strict=True):
        places, note = _chosen(contacts, result.sensor_contact, MOST_LINES, "contacts")
        notes.append(note)
        loops += [(result, place, f"contact {result.sensor_contact[place]}" + (f", {word}" if several else "")) for place in places]
    # The later the thinner: contacts of one law load along one curve, and none shall hide another.
    widths = np.linspace(2.4 if len(loops) > 1 else 1.3, 1.0, len(loops))
    for i, ((result, place, label), width) in enumerate(zip(loops, widths, strict=True)):
        colour = _colours()[i % len(_colours())]
        overlap, force = result.contact_overlap[:, place], result.contact_force[:, place]
        loading, unloading = _branches(overlap, force)
        axes.plot(factor * overlap, loading, color=colour, linewidth=width, label=label)
        axes.plot(factor * overlap, unloading, "--", color=colour, linewidth=1.0, label="_unloading")
        left = _residual(result, int(result.sensor_contact[place]))
        if left > 0.0:
            marked = True
            axes.plot([factor * left], [0.0], "|", color=colour, markersize=11, markeredgewidth=1.6, clip_on=False, label="_residual")
    handles = _framed_loops(axes, unit, "loading", "unloading", marked)
    axes.legend(handles=handles, loc="upper left")
    _heading(axes, results, *dict.fromkeys(notes))
    return figure, axes


def _framed_loops(axes: Axes, unit: str, there: str, back: str, marked: bool) -> list[Line2D]:
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


def _branches(overlap: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force where the overlap grows, and where it does not, nan elsewhere; the two share the samples where one becomes the other.

    Of the open contact only the samples next to a force are kept.
    """
    grows = np.diff(overlap) > 0.0
    closed = force != 0.0
    near = closed | np.append(closed[1:], False) | np.insert(closed[:-1], 0, False)
    loading = near & (np.append(grows, False) | np.insert(grows, 0, False))
    unloading = near & (np.append(~grows, False) | np.insert(~grows, 0, False))
    return np.where(loading, force, math.nan), np.where(unloading, force, math.nan)


def _residual(result: Result, contact: int) -> float:
    """Residual overlap of a contact [m]; 0 for a law that leaves no dent."""
    if "residual_overlap" not in result.variables:
        return 0.0
    place = np.flatnonzero(result.contact == contact)
    return float(result.variables["residual_overlap"].data[place[0]]) if len(place) else 0.0


@_styled
def energy(result: Result) -> tuple[Figure, np.ndarray]:
    """Energy ledger over time: its parts on top of each other, and below, on a logarithmic axis, what it does not account for.

    Parameters
    ----------
    result : Result
        With the ledger.

    Returns
    -------
    Figure, array of Axes (2,)
        Ledger, residual.
    """
    _need(result, "energy_time")
    parts = {name: getattr(result, f"energy_{name}") for name in HELD}
    put_in = energy_put_in(parts["kinetic"], result.energy_external)
    total = parts["kinetic"][0] + parts["recoverable"][0] + result.energy_external
    factor, unit = _time_unit(float(result.energy_time[-1]))
    scale, joule = _scaled(float(np.abs(total).max()), "J")
    time = factor * result.energy_time
    figure = _new_figure(7.0, 5.0)
    ledger, rest = axes = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.3])
    # One colour a part, whatever parts a run has.
    shown = [(name, colour) for name, colour in zip(HELD, _colours(), strict=False) if np.any(parts[name] != 0.0)]
    labels = {"plastic": "plastic (dents)", "viscous": "viscous (damping)", "clamp": "clamp (damping that did not act)"}
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
    ledger.set_ylim(0.0 if all(parts[name].min() >= 0.0 for name in HELD) else None, None)
    ledger.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, reverse=True)
    size = np.abs(result.energy_residual) / put_in if put_in > 0.0 else np.abs(result.energy_residual)
    rest.set_yscale("log")
    rest.plot(time, np.where(size > 0.0, size, math.nan), color="#555555", linewidth=1.0, label="residual")
    bound = _bound(result)
    if bound is not None and put_in > 0.0:
        rest.axhline(bound, color=_colours()[2], linewidth=0.9, linestyle=":", label="bound of the run")
    if not np.any(size > 0.0):
        rest.text(0.5, 0.5, "exactly 0 throughout", transform=rest.transAxes, ha="center", va="center", fontsize=8)
        rest.set_ylim(1e-18, 1.0)
    rest.set_ylabel("residual\n/ put in" if put_in > 0.0 else "residual (J)")
    rest.set_xlabel(f"time ({unit})")
    rest.grid(axis="y")
    rest.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    figure.align_ylabels()
    _heading(ledger, [result])
    return figure, axes


@_styled
def losses(result: Result) -> tuple[Figure, Axes]:
    """Where the energy went: what each contact has lost to its dent and to damping, and what the clamp spared, on top of each other.

    Parameters
    ----------
    result : Result
        With the ledger.

    Returns
    -------
    Figure, Axes
    """
    parts = ("plastic", "viscous", "clamp")
    from matplotlib.ticker import MaxNLocator

    _need(result, *(f"contact_{name}" for name in parts), "contact")
    lost = {name: getattr(result, f"contact_{name}") for name in parts}
    scale, joule = _scaled(float(np.abs(sum(lost.values())).max(initial=0.0)), "J")
    figure = _new_figure(7.0, 4.0)
    axes = figure.subplots()
    edges = np.append(result.contact, result.contact[-1] + 1) - 0.5
    below = np.zeros(len(result.contact))
    labels = {"plastic": "plastic (dents)", "viscous": "viscous (damping)", "clamp": "clamp (damping that did not act)"}
    # The colours of the ledger over time.
    for name in parts:
        if np.any(lost[name] != 0.0):
            above, colour = below + scale * lost[name], _colours()[HELD.index(name)]
            axes.stairs(above, edges, baseline=below, fill=True, color=colour, alpha=0.85, linewidth=0.0, label=labels[name])
            below = above
    if np.any(below != 0.0):
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    else:
        axes.text(0.5, 0.5, "no contact lost anything", transform=axes.transAxes, ha="center", va="center", fontsize=8)
        axes.set_ylim(0.0, 1.0)
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("contact (k joins body k and k + 1)")
    axes.set_ylabel(f"energy lost ({joule})")
    _heading(axes, [result])
    return figure, axes


def _bound(result: Result) -> float | None:
    """Bound that the case sets on the ledger; None where this version cannot read the case."""
    try:
        return float(result.case.energy.bound)
    except (CaseError, AttributeError):
        return None


# --------------------------------------------------------------------------------------------------------------------
# Two bodies


@_styled
def impact_loops(results: Sequence[ImpactResult]) -> tuple[Figure, Axes]:
    """Force against overlap of impacts, on top of each other: approach full, recovery dashed, the residual overlap marked.

    Parameters
    ----------
    results : sequence of ImpactResult
        One to ten.

    Returns
    -------
    Figure, Axes
    """
    if not 0 < len(results) <= MOST_LINES:
        raise GranchainError(f"impact_loops: got {len(results)} impacts, allowed: 1 to {MOST_LINES}, which is as many as there are colours")
    laws, speeds = list(dict.fromkeys(one.law for one in results)), sorted({one.speed for one in results})
    factor, unit = _scaled(max(float(one.overlap.max()) for one in results), "m")
    figure = _new_figure(6.4 if len(results) <= 3 else 8.0, 4.4)
    axes = figure.subplots()
    # The later the thinner: a law may load as another does, and none shall hide another.
    widths = np.linspace(2.2 if len(results) > 1 else 1.3, 1.0, len(results))
    for one, colour, width in zip(results, _colours(), widths, strict=False):
        words = [one.law] if len(laws) > 1 else []
        words += [f"{one.speed:g} m/s"] if len(speeds) > 1 or not words else []
        approach, recovery = _branches(one.overlap, one.force)
        axes.plot(factor * one.overlap, approach, color=colour, linewidth=width, label=f"{', '.join(words)}: e = {one.restitution:.3f}")
        axes.plot(factor * one.overlap, recovery, "--", color=colour, linewidth=1.0, label="_recovery")
        if one.residual_overlap != 0.0:
            mark = [factor * one.residual_overlap], [0.0]
            axes.plot(*mark, "|", color=colour, markersize=11, markeredgewidth=1.6, clip_on=False, label="_residual")
    handles = _framed_loops(axes, unit, "approach", "recovery", any(one.residual_overlap != 0.0 for one in results))
    # A few names find room between the loops.
    place: dict[str, Any] = {"loc": "best"} if len(results) <= 3 else {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    axes.legend(handles=handles, **place)
    title = "Impact of two bodies" + (f" at {speeds[0]:g} m/s" if len(speeds) == 1 else "")
    _write_heading(axes, title, ["simulated", _laws_of(laws)])
    return figure, axes


@_styled
def restitution_against_speed(curves: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[Figure, Axes]:
    """Restitution of two bodies over their approach speed, a line a law.

    Parameters
    ----------
    curves : mapping of name to (speed, restitution) pairs
        Two or more speeds each [m/s].

    Returns
    -------
    Figure, Axes
    """
    figure, axes = _restitutions(curves)
    speeds = [speed for curve in curves.values() for speed, _ in curve]
    if max(speeds) > 5.0 * min(speeds):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlim(min(speeds), max(speeds))
    axes.set_xlabel("approach speed (m/s)")
    axes.set_ylabel("restitution")
    _write_heading(axes, "Restitution of two bodies over their speed", ["simulated", _laws_of(curves)])
    return figure, axes


@_styled
def restitution_delivered(curves: Mapping[str, Sequence[tuple[float, float]]], speed: float) -> tuple[Figure, Axes]:
    """Delivered restitution of two bodies over the asked one, a line a law, with the diagonal on which the two are equal.

    Parameters
    ----------
    curves : mapping of name to (asked, delivered) pairs
        Two or more each.
    speed : float
        Of the impacts [m/s].

    Returns
    -------
    Figure, Axes
    """
    figure, axes = _restitutions(curves)
    axes.plot([0.0, 1.0], [0.0, 1.0], color="#b0b0b0", linewidth=0.8, zorder=0, label="as asked")
    axes.set_xlim(0.0, 1.0)
    axes.set_aspect("equal", anchor="W")
    axes.set_xlabel("asked restitution")
    axes.set_ylabel("delivered restitution")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    _write_heading(axes, f"Delivered restitution at {speed:g} m/s", ["simulated", _laws_of(curves)])
    return figure, axes


def _restitutions(curves: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[Figure, Axes]:
    """Lines by name over one axis, from 0 to 1."""
    if not curves or min(len(curve) for curve in curves.values()) < 2:
        raise GranchainError("figure: got fewer than two values, allowed two values at least; give more speeds or restitutions")
    figure = _new_figure(6.4, 4.4)
    axes = figure.subplots()
    colours = _colours()
    # The later the thinner: several laws deliver the same, and none shall hide another.
    widths = np.linspace(1.9 if len(curves) > 1 else 1.3, 1.1, len(curves))
    for i, ((name, curve), width) in enumerate(zip(curves.items(), widths, strict=True)):
        x, y = np.array(sorted(curve)).T
        dashes = ("-", "--", ":", "-.")[i // len(colours) % 4]
        axes.plot(x, y, dashes, color=colours[i % len(colours)], linewidth=width, label=name)
    axes.set_ylim(0.0, 1.02)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return figure, axes


def _laws_of(names: Iterable[str]) -> str:
    known = list(names)
    if len(known) > 4:
        return f"{len(known)} contact laws"
    return ("contact law " if len(known) == 1 else "contact laws ") + ", ".join(known)


# --------------------------------------------------------------------------------------------------------------------
# Measured against computed


# Dots of a measured trace in one panel.
MOST_DOTS = 60
# Colour of what was measured, which no computed line has.
_MEASURED = "#222222"


@_styled
def comparison(found: Comparison) -> tuple[Figure, np.ndarray]:
    """A measured trace with the computed ones over it, a panel a sensor, and under each panel what is left: computed minus measured.

    Time counts from the measured peak of each sensor, and the computed time has its one common shift: a computed peak that stands beside
    the measured one came at another time. What was measured has markers, what was computed lines; the grey band is twice the noise of the
    filtered trace on each side.

    Parameters
    ----------
    found : Comparison

    Returns
    -------
    Figure, array of Axes (n_panels, 2)
        Forces and what is left, in the order of the sensors.
    """
    from matplotlib.lines import Line2D

    sensors = found.results[0].sensors
    places, note = _chosen(None, np.array([sensor.bead for sensor in sensors]), MOST_ROWS, "sensors")
    columns = min(4, len(places))
    rows = math.ceil(len(places) / columns)
    factor, unit = _time_unit(max(float(sensor.time[-1]) if len(sensor.time) else 0.0 for sensor in sensors) / 10.0)
    figure = _new_figure(max(5.4, 2.3 * columns), 1.3 + 2.8 * rows)
    # An empty row at the top holds the heading and the legend over the whole width.
    grid = figure.add_gridspec(2 * rows + 1, columns, height_ratios=[0.25, *[3.0, 1.3] * rows])
    top = figure.add_subplot(grid[0, :])
    top.set_axis_off()
    panels = np.empty((len(places), 2), dtype=object)
    for i, k in enumerate(places):
        row, column = 1 + 2 * (i // columns), i % columns
        rest = figure.add_subplot(grid[row + 1, column])
        force = figure.add_subplot(grid[row, column], sharex=rest)
        panels[i] = force, rest
        _forces_over_each_other(force, rest, found, k, factor)
        if column == 0:
            force.set_ylabel("force (N)")
            rest.set_ylabel("difference (N)")
    figure.align_ylabels()
    figure.supxlabel(f"time from the measured peak ({unit})", fontsize=9)
    handles = [Line2D([], [], color=_MEASURED, marker="o", ms=3.0, mfc="none", mew=0.6, ls="", label=_measured_words(found))]
    handles += [Line2D([], [], color=colour, label=one.label) for one, colour in zip(found.results, _colours(), strict=False)]
    top.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 0.0), ncols=min(5, len(handles)), borderaxespad=0.0)
    about = found.trace.about
    parts = ["SYNTHETIC TRACE, no experiment" if found.trace.synthetic else found.trace.words]
    parts += [part for part in (about.who, about.figure, about.doi) if part]
    if found.sensor.cutoff is not None:
        parts.append(f"both sides filtered, {1e-3 * found.sensor.cutoff:.4g} kHz halved")
    parts += [f"time of {one.label} {factor * one.shift:+.4g} {unit}" for one in found.results]
    _write_heading(top, about.title, parts + ([note] if note else []), failed=found.trace.synthetic)
    return figure, panels


def _measured_words(found: Comparison) -> str:
    return found.trace.words + (" (band: twice the noise)" if any(sensor.noise > 0.0 for sensor in found.results[0].sensors) else "")


def _forces_over_each_other(force: Axes, rest: Axes, found: Comparison, k: int, factor: float) -> None:
    """One sensor: the measured force and the computed ones, and what is left of each."""
    sensor = found.results[0].sensors[k]
    force.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    rest.axhline(0.0, color="#b0b0b0", linewidth=0.5, zorder=0)
    if sensor.noise > 0.0:
        rest.axhspan(-2.0 * sensor.noise, 2.0 * sensor.noise, color="#d8d8d8", linewidth=0.0, zorder=0)
    # Where no pulse was measured, time counts from the first computed one.
    arrivals = [sensor.arrival.measured, *(one.sensors[k].arrival.computed for one in found.results), 0.0]
    origin = next(at for at in arrivals if math.isfinite(at))
    longest = max((one.sensors[k] for one in found.results), key=lambda one: len(one.time))
    # Below the lines, and few enough to see them.
    every = max(1, math.ceil(len(longest.time) / MOST_DOTS))
    dots: dict[str, Any] = {"markersize": 2.4, "markerfacecolor": "none", "markeredgewidth": 0.6, "markevery": every, "zorder": 2}
    force.plot(factor * (longest.time - origin), longest.measured, "o", color=_MEASURED, label="measured", **dots)
    nearest = found.nearest.get(sensor.bead, ())
    for one, colour in zip(found.results, _colours(), strict=False):
        ours = one.sensors[k]
        # Nearest on top.
        look: dict[str, Any] = {"color": colour, "label": one.label, "zorder": 4 if one.label in nearest else 3}
        since = factor * (ours.time - origin)
        force.plot(since, ours.computed, linewidth=1.5 if one.label in nearest else 1.0, **look)
        rest.plot(since, ours.computed - ours.measured, linewidth=0.9, **look)
    smallest = min((one.sensors[k].residual.computed for one in found.results), default=math.nan)
    if nearest:
        words = f"residual {100.0 * smallest:.2g} %"
        words = f"{' or '.join(nearest)}: {words}" if len(found.results) > 1 else words
    else:
        words = "not recorded whole" if math.isfinite(sensor.arrival.measured) else "no pulse measured"
    # Two lines: beside each other they would not fit.
    merged = any(one.sensors[k].merged for one in found.results)
    force.set_title(_name(sensor.bead) + (", merged" if merged else ""), fontsize=9, pad=12.0)
    below: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    force.annotate(textwrap.shorten(words, 44), (0.0, 1.0), (0.0, 3.0), fontsize=7, color="#555555", **below)
    force.tick_params(axis="x", labelbottom=False)
    for axes in (force, rest):
        axes.locator_params(axis="y", nbins=4)
        axes.margins(x=0.02)
    rest.locator_params(axis="x", nbins=5)


# --------------------------------------------------------------------------------------------------------------------
# All of them, and files

_NEEDS: dict[str, tuple[Callable[..., tuple[Any, Any]], tuple[str, ...]]] = {
    "force_traces": (force_traces, ("sensor_force", "sensor_bead", "time")),
    "bead_velocities": (bead_velocities, ("velocity", "snapshot_time")),
    "space_time": (space_time, ("velocity", "snapshot_time")),
    "hysteresis": (hysteresis, ("contact_force", "contact_overlap", "sensor_contact")),
    "energy": (energy, ("energy_time",)),
    "losses": (losses, ("contact_plastic", "contact_viscous", "contact_clamp")),
}


def all_figures(result: Result) -> dict[str, Callable[[], tuple[Figure, Any]]]:
    """The figures that a result has the variables for: name -> function without arguments that draws it.

    `lacking` says what the others miss.
    """
    absent = lacking(result)
    return {name: partial(function, result) for name, (function, _) in _NEEDS.items() if name not in absent}


def drawn(headers: Mapping[str, Unread]) -> list[str]:
    """The variables of a file that its figures show, or take a place or a mark from."""
    needed = {name for _, names in _NEEDS.values() for name in names} | {"bead", "radius", "contact", "residual_overlap"}
    needed |= {name for name in headers if name.startswith("energy_")}
    wide = {name for name, header in headers.items() if header.dims == (name,) and header.shape[0] > MOST_PLACES and "time" not in name}
    return [name for name, header in headers.items() if name in needed and not wide & {*header.dims}]


def lacking(result: Result) -> dict[str, str]:
    """The figures that a result cannot make: name -> what to ask for in the case."""
    absent = {}
    for name, (_, needed) in _NEEDS.items():
        try:
            _need(result, *needed)
        except GranchainError as error:
            absent[name] = str(error)
    return absent


@_styled
def save(figure: Figure, path: str | os.PathLike[str], overwrite: bool = True) -> None:
    """Write a figure as PNG (150 dpi), PDF or SVG, by the end of the name; equal figures give equal bytes.

    Parameters
    ----------
    figure : Figure
    path : str or path
        Ends in .png, .pdf or .svg.
    overwrite : bool
        Replace a figure of that name; what is none is kept.

    Raises
    ------
    FileError
        For another ending, a folder that is missing, a file that is kept or a full disk.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise FileError(f"{os.fspath(path)}: got the ending {ending!r}, allowed: {', '.join(FORMATS)}; name the figure accordingly")
    image = io.BytesIO()
    figure.savefig(image, format=ending[1:], metadata=FORMATS[ending])
    write_whole(path, image.getvalue(), overwrite, marks=(MARKS[ending],))
