"""Waves measured in a run: transmission, power versus wavenumber, and band edges."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from granchain.analysis.record import (
    LEAST,
    SEGMENTS,
    check_segments,
    evenly_sampled,
    segment_length,
)
from granchain.errors import CaseError, GranchainError, LawError
from granchain.store import Answer, Label, Result
from granchain.store.answer import case_of, check_result
from granchain.waves.bands import NO_BANDS, Bands, RecordedRow, bands_of, cosine_relation, power_map
from granchain.waves.dispersion import EDGES, Cell, Dispersion, cell_of, dispersion_of

# Above this fraction of the static force, waves are no longer small, because the stiffness of a
# Hertz contact is proportional to the cube root of its force (Johnson 1985, Contact Mechanics, eq.
# (4.23), doi:10.1017/CBO9781139171731). In a chain of steel and brass beads driven by noise, the
# band edges were correct if forces deviated by 0.23, but the upper band was missing if they
# deviated by 0.79 (measured).
SMALL_WAVES = 0.25
# Below this coherence, less than half of the power at the sensor comes from the source.
INCOHERENT = 0.5
# Dimensions of the variables of band edges.
_OF_EDGES = ("band", "edge")


class Spectrum(Answer):
    """Transmission spectrum and bands measured in a run.

    Attributes
    ----------
    source, sensor : str
        Source and sensor: "left drive", "right drive", or the name of a bead.
    unit : str
        Unit of the transmission: "1" from bead to bead and from a driving force, "N/m" from a
        driving displacement.
    resolution : float
        Interval between two frequencies [Hz].
    segments : int
        Number of segments of the record, without overlap.
    measured : str
        Variable from which cosine and map are computed: "velocity" of the snapshots,
        "sensor_force", or "" if neither is available.
    band_edges : (n_bands, 2) array
        Lowest and highest frequency of each band of the cell [Hz]. nan if an edge was not seen or
        is not reported, see `messages`. The first band starts at 0.
    band_edge_errors : (n_bands, 2) array
        Errors of the edges, two-sided 95 % [Hz]. For the first edge, the lowest frequency that was
        seen.
    predicted_band_edges : (n_bands, 2) array
        Edges according to the dispersion of the case [Hz].
    band_edge_reasons : (n_bands, 2) array of str
        Reason why an edge is nan, or "".
    frequency : (n,) array
        Frequencies of the transmission [Hz].
    transmission : (n,) array
        Amplitude at the sensor divided by the amplitude at the source, abs(S_xy)/S_xx, the estimate
        H1 (Bendat & Piersol 2010, Random Data, ch. 6), in `unit`.
    coherence : (n,) array
        abs(S_xy)^2/(S_xx S_yy) [1]. 1 if the source alone moves the sensor, and the segments of the
        record resolve the response.
    cell_frequency : (m,) array
        Frequencies of `cosine` and `power` [Hz].
    cosine : (m,) complex array
        cos q, with the phase q from cell to cell [1]. nan where it was not seen, and without a
        cell.
    wavenumber : (k,) array
        Wavenumbers of the map: phase from cell to cell, or without a cell from bead to bead, -pi to
        pi [rad]. Positive for waves to the right.
    power : (m, k) array
        Power versus `cell_frequency` and `wavenumber`, with the largest value 1 [1]. Empty if the
        recorded beads do not allow a map.
    dispersion : Dispersion or None
        Dispersion of the case, if its chain is periodic and precompressed.
    messages : tuple of str
        Reasons for results that are not reported, and other notes.

    Examples
    --------
    >>> import granchain as gc
    >>> noise = {"drive": "displacement", "signal": "noise", "band": [500.0, 4e4], "rms": 1e-9}
    >>> case = gc.Case(
    ...     chain={"beads": 6, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0},
    ...     contact={"law": "hertz"},
    ...     ends={"left": noise | {"seed": 1, "ramp": 1e-4}, "right": "wall"},
    ...     sensors={"beads": "all", "interval": 3e-6},
    ...     time={"end": 2e-3},
    ... )
    >>> spectrum = gc.spectrum(gc.run(case), segments=2)
    >>> spectrum.source
    'left drive'
    """

    labels: ClassVar = {
        "source": Label((), "", "source of the waves"),
        "sensor": Label((), "", "sensor of the waves"),
        "unit": Label((), "", "unit of the transmission"),
        "resolution": Label((), "Hz", "interval between two frequencies"),
        "segments": Label((), "1", "number of segments of the record, without overlap"),
        "measured": Label((), "", "variable from which cosine and power are computed"),
        "band": Label(("band",), "1", "number of the band"),
        "edge": Label(("edge",), "", "edge of a band"),
        "band_edges": Label(_OF_EDGES, "Hz", "lowest and highest frequency of the band"),
        "band_edge_errors": Label(_OF_EDGES, "Hz", "error of the edge, two-sided 95 %"),
        "predicted_band_edges": Label(_OF_EDGES, "Hz", "edge according to the dispersion"),
        "band_edge_reasons": Label(_OF_EDGES, "", "reason why the edge is not reported"),
        "frequency": Label(("frequency",), "Hz", "frequency of the transmission"),
        "transmission": Label(("frequency",), "1", "amplitude at the sensor over the source"),
        "coherence": Label(("frequency",), "1", "coherence of source and sensor"),
        "cell_frequency": Label(("cell_frequency",), "Hz", "frequency of cosine and power"),
        "cosine": Label(("cell_frequency",), "1", "cosine of the phase from cell to cell"),
        "wavenumber": Label(("wavenumber",), "rad", "phase from cell to cell, or bead to bead"),
        "power": Label(("cell_frequency", "wavenumber"), "1", "power, relative to the largest"),
    }

    @property
    def dispersion(self) -> Dispersion | None:
        """Dispersion of the case, or None if its chain is not periodic and precompressed."""
        return self.groups.get("dispersion")


def spectrum(
    result: Result,
    source: int | str | None = None,
    sensor: int | None = None,
    *,
    segments: int = SEGMENTS,
) -> Spectrum:
    """Compute the transmission between two positions of a run, and its bands.

    The record is cut into half-overlapping segments, each with a Hann window (Welch 1967,
    doi:10.1109/TAU.1967.1161901). All waves in a chain of equal cells, including reflected and
    standing waves, satisfy u(n - p) + u(n + p) = 2 cos q u(n), where p is the number of beads per
    cell (the trace of the transfer matrix of a cell; Brillouin 1946, Wave Propagation in Periodic
    Structures, ch. 3). cos q is computed from all beads whose neighbours one cell away were also
    recorded, so ends and reflections have no influence. A polynomial of as many terms as the cell
    has beads is fitted to it, weighted by its scatter. A band ends where the polynomial passes 1 or
    -1. A gap requires that the polynomial exceeds 1 or -1 by three standard deviations. The errors
    are two-sided 95 % by Student's t, with 0.32 of a frequency line and the effect of unequal
    contact damping added in squares. An edge with an error of more than four lines is not reported,
    and a message gives the reason.

    Parameters
    ----------
    result : Result
        Result with sensors.
    source : int or {"left", "right"}, optional
        Label of a sensor bead, or a driven end. Default: the driven end, otherwise the first
        sensor.
    sensor : int, optional
        Label of a sensor bead. Default: the last sensor, or the first one if the right end is
        driven.
    segments : int
        Number of segments without overlap. Fewer segments have a finer frequency resolution.

    Returns
    -------
    Spectrum

    Raises
    ------
    GranchainError
        If the result does not have two such positions, or has too few samples.

    Examples
    --------
    >>> import granchain as gc
    >>> noise = {"drive": "displacement", "signal": "noise", "band": [500.0, 4e4], "rms": 1e-9}
    >>> case = gc.Case(
    ...     chain={"beads": 6, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0},
    ...     contact={"law": "hertz"},
    ...     ends={"left": noise | {"seed": 1, "ramp": 1e-4}, "right": "wall"},
    ...     sensors={"beads": "all", "interval": 3e-6},
    ...     time={"end": 2e-3},
    ... )
    >>> gc.spectrum(gc.run(case), segments=2).unit
    'N/m'
    """
    check_result(result, "spectrum")
    if "crank_angle" in result.variables:
        raise GranchainError(
            "spectrum: this is the run of a mechanism. The run of a chain of beads is required."
        )
    check_segments(segments, "spectrum")
    if "sensor_force" not in result.variables:
        raise GranchainError(
            "spectrum: the result has no sensors. At least one is required. Add sensor beads "
            "with `beads = [...]` under [sensors]."
        )
    messages: list[str] = []
    time, interval = evenly_sampled(result, "time", "spectrum")
    driven = driven_ends(result)
    if source is None:
        source = driven[0] if driven else int(result.sensor_bead[0])
    if sensor is None:
        sensor = int(result.sensor_bead[0 if source == "right" else -1])
    index = sensor_index(result, sensor, "sensor")
    signal, source_name, unit = source_signal(result, source, driven, time, index)
    length = segment_length(len(time), segments, "spectrum")
    cell, waves = waves_of_run(result, interval, messages)
    waves_are_small = waves is None or stays_small(result, len(time), messages)
    across = transfer_function(
        signal, deviation(result, "sensor_force", len(time), index), interval, length
    )
    if not (across[2] > INCOHERENT).any():
        messages.append(
            "transmission: the coherence is below 0.5 at all frequencies. The response to the "
            "source does not arrive in the same segment of the record. Use fewer segments, or "
            "drive with noise"
        )
    frequency, transmission, coherence = across
    row = recorded_row(result, cell, segments)
    edges, cell_frequency, cosine = NO_BANDS, np.zeros(0), np.zeros(0, complex)
    wavenumber, power = np.zeros(0), np.zeros((0, 0))
    if row is None:
        messages.append(
            "no band edges and no map: fewer than three recorded beads are one cell apart and "
            "away from the ends. Set an interval under [snapshots], or list all beads under "
            "[sensors]"
        )
    else:
        edges, cell_frequency, cosine = measured_edges(row, cell, waves_are_small, messages)
        if row.gapless:
            wavenumber, power = power_map(row)
        else:
            messages.append(
                "no map: some beads in between were not recorded. Set an interval under "
                "[snapshots], or list all beads under [sensors]"
            )
    if not np.isfinite(edges.edges[:, 1:]).any() and not (coherence > INCOHERENT).any():
        messages.insert(
            0,
            "this run gives no spectrum results: it has no band edge and no transmitted frequency",
        )
    if not power.size:
        power = np.zeros((len(cell_frequency), 0))
    count = len(edges.edges)
    data = {
        "source": source_name,
        "sensor": name_of_bead(int(result.sensor_bead[index])),
        "unit": unit,
        "resolution": float(frequency[1]),
        "segments": segments,
        "measured": "" if row is None else row.measured,
        "band": np.arange(1, count + 1),
        "edge": EDGES,
        "band_edges": edges.edges,
        "band_edge_errors": edges.errors,
        "predicted_band_edges": waves.band_edges if waves is not None and count else None,
        "band_edge_reasons": edges.reasons,
        "frequency": frequency,
        "transmission": transmission,
        "coherence": coherence,
        "cell_frequency": cell_frequency,
        "cosine": cosine,
        "wavenumber": wavenumber,
        "power": power,
    }
    return Spectrum(
        data,
        case=case_of(result),
        law=result.law,
        title=result.title,
        messages=messages,
        labels={"transmission": Spectrum.labels["transmission"]._replace(unit=unit)},
        provenance=about_run(result),
        groups={} if waves is None else {"dispersion": waves},
    )


def about_run(result: Result) -> dict[str, str]:
    """Return the provenance of a run about its law, and about its case if it cannot be read."""
    names = ["law_"] if case_of(result) is not None else ["law_", "case_"]
    return {name: text for name, text in result.provenance.items() if name.startswith(tuple(names))}


# --------------------------------------------------------------------------------------------------
# Transmission between two positions


def name_of_bead(bead: int) -> str:
    """Return the name of a bead as text; label 0 is the striker."""
    return "striker" if bead == 0 else f"bead {bead}"


def sensor_index(result: Result, bead: Any, what: str) -> int:
    """Return the index of a bead among the sensors."""
    with_sensor = result.sensor_bead.tolist()
    if isinstance(bead, bool) or bead not in with_sensor:
        listed = ", ".join(map(str, with_sensor[:20])) + (" ..." if len(with_sensor) > 20 else "")
        raise GranchainError(
            f"spectrum: {what}: {str(bead)[:60]!r} is not a sensor bead. The sensor beads are "
            f"{listed}."
        )
    return int(with_sensor.index(bead))


def deviation(result: Result, name: str, count: int, places: Any = slice(None)) -> np.ndarray:
    """Return a variable at the first `count` times minus its first value.

    Raise GranchainError if a value is not finite.
    """
    values = np.asarray(result.variables[name].data[:count, places], dtype=float)
    if not np.isfinite(values).all():
        raise GranchainError(
            f"spectrum: {name} has values that are not finite, because the run failed. Finite "
            "values are required. Fix the case and run it again."
        )
    return np.asarray(values - values[0])


def driven_ends(result: Result) -> list[str]:
    """Return the driven ends, or none if the case cannot be read."""
    ends = getattr(case_of(result), "ends", None)
    return [side for side in ("left", "right") if hasattr(getattr(ends, side, None), "drive")]


def source_signal(
    result: Result, source: int | str, driven: list[str], time: np.ndarray, sensor: int
) -> tuple[np.ndarray, str, str]:
    """Return the signal at the source, its name, and the unit of the transmission."""
    if isinstance(source, str):
        if source not in driven:
            ends = " or ".join(f'"{side}"' for side in driven) or "none, because no end is driven"
            raise GranchainError(
                f"spectrum: source: {source[:60]!r} is not valid. It must be a bead, or a driven "
                f"end: {ends}."
            )
        from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

        # cubics through the table of the drive, and its last value after the end
        at, value, slope = result.case.driven(f"ends.{source}", own_clock=True)
        curve = (
            PchipInterpolator(at, value) if slope is None else CubicHermiteSpline(at, value, slope)
        )
        unit = "N/m" if getattr(result.case.ends, source).drive == "displacement" else "1"
        return np.asarray(curve(np.clip(time, at[0], at[-1]))), f"{source} drive", unit
    index = sensor_index(result, source, "source")
    if index == sensor:
        raise GranchainError(
            f"spectrum: bead {source} is both source and sensor. Two different positions are "
            "required. Choose another sensor, or add beads under [sensors]."
        )
    return deviation(result, "sensor_force", len(time), index), name_of_bead(int(source)), "1"


def transfer_function(
    cause: np.ndarray, effect: np.ndarray, interval: float, length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return frequencies, transmission, and coherence.

    The values are nan at frequencies where the source does not move.
    """
    from scipy.signal import csd, welch

    how: dict[str, Any] = {"fs": 1.0 / interval, "nperseg": length}
    frequency, cross = csd(cause, effect, **how)
    (_, source), (_, sensor) = welch(cause, **how), welch(effect, **how)
    if not source.max() > 0.0:
        raise GranchainError(
            "spectrum: the source does not move. A source that moves is required. Drive it, or "
            "choose another source."
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        return frequency, np.abs(cross) / source, np.abs(cross) ** 2 / (source * sensor)


# --------------------------------------------------------------------------------------------------
# Waves from cell to cell


def waves_of_run(
    result: Result, interval: float, messages: list[str]
) -> tuple[Cell | None, Dispersion | None]:
    """Return the cell of a run's chain and its small waves.

    If there is no cell, both are None, and a message gives the reason.
    """
    try:
        if result.case is None:
            raise CaseError("the file has no case")
        cell = cell_of(result.case)
        waves = dispersion_of(cell, result.case)
    except (CaseError, LawError) as error:
        messages.append(f"no band edges and no dispersion: {error}")
        return None, None
    top = float(waves.band_edges[-1, 1])
    if top > 0.5 / interval:
        messages.append(
            f"sensors sampled every {interval:.3g} s resolve frequencies up to "
            f"{0.5 / interval:.4g} Hz, but the bands extend to {top:.4g} Hz. Waves above this "
            "limit are aliased into the spectrum. Set the interval under [sensors] to "
            f"{0.4 / top:.1e} or less"
        )
    return cell, waves


def stays_small(result: Result, count: int, messages: list[str]) -> bool:
    """Return whether the forces stay near the static forces at all sensors.

    Sensors without a static force are ignored.
    """
    force = np.asarray(result.sensor_force[:count], dtype=float)
    pressed = np.flatnonzero(force[0] > 0.0)
    if not pressed.size:
        return True
    force = force[:, pressed]
    largest = np.abs(force - force[0]).max(axis=0) / force[0]
    worst = int(np.argmax(largest))
    if largest[worst] <= SMALL_WAVES:
        return True
    low, high = float(force[:, worst].min()), float(force[:, worst].max())
    messages.append(
        f"{name_of_bead(int(result.sensor_bead[pressed[worst]]))} measures {low:.3g} to "
        f"{high:.3g} N, but small waves stay within {100.0 * SMALL_WAVES:.0f} % of the static "
        f"force, {force[0, worst]:.4g} N. The contacts are not linear springs here, so bands "
        "shift or vanish. Reduce the amplitude of the drive"
    )
    return False


def measured_edges(
    row: RecordedRow, cell: Cell | None, waves_are_small: bool, messages: list[str]
) -> tuple[Bands, np.ndarray, np.ndarray]:
    """Return band edges, frequencies, and cos q.

    Without a cell there are no edges, and cos q is nan.
    """
    frequency, cosine, scatter = cosine_relation(row)
    if cell is None:
        return NO_BANDS, frequency, np.full(len(frequency), complex(math.nan, math.nan))
    edges = NO_BANDS
    if cell.on_site.any() or cell.attached.size:
        messages.append(
            "no band edges: for beads with on-site springs or attached masses, cos q is not "
            "the polynomial that is fitted. gc.dispersion gives the bands from the dispersion "
            "relation"
        )
    elif waves_are_small:
        edges = bands_of(frequency, cosine, scatter, row.size)
        messages.extend(edges.messages)
    return edges, frequency, cosine


def recorded_row(result: Result, cell: Cell | None, segments: int) -> RecordedRow | None:
    """Return the record with the most beads that are one cell apart.

    It contains velocities of snapshots or forces of sensors. If both have as many beads, the record
    with the smaller interval is used.
    """
    size = 1 if cell is None else len(cell.masses)
    candidates = []
    for name, axis, labels in (
        ("velocity", "snapshot_time", "bead"),
        ("sensor_force", "time", "sensor_bead"),
    ):
        if name not in result.variables or len(result.variables[axis].data) < 3:
            continue
        time, interval = evenly_sampled(result, axis, "spectrum")
        beads = np.asarray(result.variables[labels].data)
        if cell is None:
            inside = beads > 0
        elif name == "velocity":
            inside = (beads >= cell.first) & (beads <= cell.last)
        else:
            # the outermost forces include that of a contact with a wall or another bead
            inside = (beads > cell.first) & (beads < cell.last)
        length = 2 * len(time) // (segments + 1)
        places = np.flatnonzero(inside)[np.argsort(beads[inside])]
        row = RecordedRow(np.zeros((0, 0)), beads[places], interval, name, size, length)
        if length >= LEAST and len(row.middles):
            candidates.append((row, places, len(time)))
    if not candidates:
        return None
    row, places, count = max(
        candidates, key=lambda candidate: (len(candidate[0].middles), -candidate[0].interval)
    )
    return row._replace(values=deviation(result, row.measured, count, places))
