"""Comparison of measured and computed traces, pulse by pulse.

Both traces pass the same sensor model. One time shift for all sensors aligns the run with the clock
of the measurement, so the remaining differences of arrivals are physical. The comparison then lists
peak, arrival, width, impulse, speed, and residual of each pulse, with the uncertainty of the
measurement. With several results, it also gives the law that agrees best.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from granchain.analysis.pulse import vertex
from granchain.analysis.results import arrival_of
from granchain.analysis.transport import wave_speed
from granchain.errors import TraceError
from granchain.measured.agreement import (
    UNITS_COMPARED,
    Agreement,
    Comparison,
    ResultAgreement,
    SensorAgreement,
    comparison_of,
)
from granchain.measured.folder import read_trace
from granchain.measured.noise import Noise
from granchain.measured.reading import SensorReading, merged_from
from granchain.measured.sides import Computed, Measured, needed_sensor, stated_sensor
from granchain.measured.trace import Trace
from granchain.measured.uncertainty import Number
from granchain.store import Result

# Fraction of the uncertainty of the mean arrival that contributes to the uncertainty of the time
# shift. It is chosen so that the uncertainty covers the errors, see docs/reliability.md, N12.
OF_ARRIVALS = 0.25


def compare_pulses(
    *results: Result,
    trace: Trace | str | os.PathLike[str],
    labels: Sequence[str] | None = None,
    cutoff: float | None = None,
    tolerances: Mapping[str, float] | None = None,
) -> Comparison:
    """Compare results with a measured trace, pulse by pulse.

    `granchain.compare` does the same and adds bands.

    Raises
    ------
    TraceError
        If no sensor is common to the trace and all results, or if a tolerance is unknown.
    """
    if not results:
        raise TraceError(
            "compare: no result. At least one result is required. Give the output file of a run."
        )
    if not isinstance(trace, Trace):
        trace = read_trace(trace)
    bounds = _checked_tolerances(tolerances or {})
    laws = [result.law for result in results]
    numbered = [
        law if laws.count(law) == 1 else f"{law} ({i})" for i, law in enumerate(laws, start=1)
    ]
    names = list(labels) if labels is not None else numbered
    messages = list(trace.notes)
    beads = _common_beads(results, names, trace, messages)
    stated = stated_sensor(trace, beads, cutoff)
    measured = Measured(trace, beads, stated, _common_arrival(results))
    messages += measured.messages()
    if not any(math.isfinite(reading.arrival.value) for reading in measured.readings):
        raise TraceError(
            "trace: no complete pulse rises above the noise at any sensor. At least one is "
            f"required ({'; '.join(measured.messages())}). Check that compression is positive in "
            "the trace, and that the record is long enough."
        )
    sensor = needed_sensor(measured, cutoff, messages)
    measured.filter(sensor)
    computed = [Computed(result, beads, sensor, stated, messages) for result in results]
    shifts = [
        _shift_between(measured, side, name, messages)
        for side, name in zip(computed, names, strict=True)
    ]
    windows = [_window_of_pulse(measured, k, computed, shifts) for k in range(len(beads))]
    seen = [
        all(math.isfinite(side.pulses[k].arrival) for side in computed) for k in range(len(beads))
    ]
    agreements = tuple(
        _result_agreement(measured, side, shift, windows, seen, name, messages)
        for side, shift, name in zip(computed, shifts, names, strict=True)
    )
    ranks = _ranks_of_nearest(measured, agreements)
    return comparison_of(trace, sensor, agreements, ranks, messages, bounds, results)


def _checked_tolerances(tolerances: Mapping[str, float]) -> dict[str, float]:
    """Return the tolerances, or report every invalid one."""
    problems = [
        f"tolerance: {name!r} is unknown. The quantities are {', '.join(UNITS_COMPARED)}."
        for name in {*tolerances} - {*UNITS_COMPARED}
    ]
    problems += [
        f"tolerance: {name}: {value!r} is out of range. It must be a finite number, 0 or more. "
        "Give the largest allowed difference."
        for name, value in tolerances.items()
        if isinstance(value, bool)
        or not (isinstance(value, int | float) and 0.0 <= value < math.inf)
    ]
    if problems:
        raise TraceError(problems)
    return dict(tolerances)


def _common_arrival(results: Sequence[Result]) -> str:
    """Return the definition of the arrival, which must be the same in all results."""
    definitions = sorted({arrival_of(result) for result in results})
    if len(definitions) > 1:
        raise TraceError(
            f"sensors.arrival: the results have different definitions, "
            f"{' and '.join(definitions)}. All results of a comparison must have the same "
            "definition of the arrival. Run the cases again with one of them."
        )
    return definitions[0]


def _common_beads(
    results: Sequence[Result], names: Sequence[str], trace: Trace, messages: list[str]
) -> list[int]:
    """Return the beads with a sensor in the trace and in all results.

    They are in the order of the trace.
    """
    wanted = trace.sensor_bead.tolist()
    problems, beads = [], wanted
    for result, name in zip(results, names, strict=True):
        recorded = result.sensor_bead.tolist() if "sensor_force" in result.variables else []
        if recorded and len(result.time) < 4:
            problems.append(
                f"{name}: {len(result.time)} samples of force are too few. 4 or more are "
                "required. Run it longer."
            )
        elif recorded and not np.isfinite(result.sensor_force).all():
            problems.append(
                f"{name}: the forces are not finite because the run failed. A complete run is "
                "required. Fix the case first."
            )
        if not set(recorded) & set(wanted):
            listed = ",".join(map(str, wanted))
            problems.append(
                f"{name}: the run has sensors in beads "
                f"{', '.join(map(str, recorded)) or 'none'}. At least one sensor of the trace is "
                f"required: {listed}. Run it again with --set sensors.beads=[{listed}]."
            )
        elif set(wanted) - set(recorded):
            messages.append(
                f"{name}: no sensor in bead "
                f"{', '.join(map(str, sorted(set(wanted) - set(recorded))))}. Not compared there"
            )
        beads = [bead for bead in beads if bead in recorded]
    if not problems and not beads:
        problems.append(
            f"results: no bead has a sensor in all results and in the trace ({wanted}). At least "
            "one is required. Compare the results one by one."
        )
    if problems:
        raise TraceError(problems)
    return beads


def time_shift(
    interval: float,
    measured: ArrayLike,
    computed: ArrayLike,
    noise: ArrayLike | Sequence[Noise] = 0.0,
    near: tuple[float, float] | None = None,
) -> Number:
    """Return the time shift between two sets of traces with the same interval.

    It is the peak of the sum of their cross-correlations, from a parabola.

    The weight of each trace is its squared force, as in least squares with the same noise at all
    sensors.

    Parameters
    ----------
    interval : float
        Sampling interval [s].
    measured : array (n, n_sensors)
        Measured forces [N].
    computed : array (m, n_sensors)
        Computed forces [N].
    noise : float, array (n_sensors,) or sequence of Noise
        Noise of the measured force. A number is the standard deviation of white noise [N].
    near : (float, float), optional
        Smallest and largest shift of the search [s].

    Returns
    -------
    Number
        Shift from the first sample of the computed traces to the first sample of the measured
        traces. It is 0 if measured[i] is computed[i], and nan if nothing correlates.
    """
    from scipy.signal import correlate, correlation_lags

    real, model = (
        np.atleast_2d(np.asarray(measured, float).T).T,
        np.atleast_2d(np.asarray(computed, float).T).T,
    )
    lags = correlation_lags(len(real), len(model))
    total = np.zeros(len(lags))
    for a, b in zip(real.T, model.T, strict=True):
        total += correlate(a, b, mode="full", method="fft")
    if near is not None:
        total[(lags * interval < near[0]) | (lags * interval > near[1])] = 0.0
    i = int(np.argmax(total))
    # Without any correlation, the transforms give rounding errors, 1e-16 of the norms.
    nothing = 1e-9 * float(np.linalg.norm(real) * np.linalg.norm(model))
    if not total[i] > nothing or i in (0, len(total) - 1):
        return Number(math.nan, math.nan)
    _, at = vertex(lags[i - 1 : i + 2].astype(float), total[i - 1 : i + 2])
    # The peak is the zero of the derivative of the correlation, sum over f'(t) g(t - s). White
    # noise of size sigma changes this derivative by sigma |g'|, and its slope there is -f'.g'. For
    # g = f this is the Cramer-Rao bound sigma/|f'|.
    slope = np.gradient(model, axis=0)
    lag = int(lags[i])
    slopes = slope[max(0, -lag) : len(real) - lag] if lag < len(real) else slope[:0]
    real_slopes = np.gradient(real, axis=0)[max(0, lag) : max(0, lag) + len(slopes)]
    slopes = slopes[: len(real_slopes)]
    common = float((slopes * real_slopes).sum())
    sizes = noise if isinstance(noise, Sequence) else np.broadcast_to(noise, real.shape[1])
    noises = [
        sensor_noise if isinstance(sensor_noise, Noise) else Noise(float(sensor_noise), np.empty(0))
        for sensor_noise in sizes
    ]
    size = math.hypot(
        *(sensor_noise.of_sum(row) for sensor_noise, row in zip(noises, slopes.T, strict=True))
    )
    return Number(float(at) * interval, size / common * interval if common > 0.0 else math.nan)


def _shift_between(
    measured: Measured, computed: Computed, label: str, messages: list[str]
) -> Number:
    """Return the shift that aligns the first pulses.

    Later parts of the traces are ignored.
    """
    step = measured.interval
    pairs = list(enumerate(zip(measured.readings, computed.pulses, strict=True)))
    both = [k for k, (real, model) in pairs if math.isfinite(real.arrival.value + model.arrival)]
    # A clipped pulse has an arrival, but no shape that can be aligned.
    both = [k for k in both if measured.readings[k].sound] or both
    if not both:
        raise TraceError(
            f"{label}: at no sensor do both the measured and the computed trace have a complete "
            "pulse. At least one such sensor is required. Check that the forces have the same "
            "sign, and that the run is long enough."
        )
    differences = np.array(
        [measured.readings[k].arrival.value - computed.pulses[k].arrival for k in both]
    )
    errors = np.array([measured.readings[k].arrival.error for k in both])
    widest = max(computed.pulses[k].before + computed.pulses[k].after for k in both)
    count = int((computed.time[-1] - computed.time[0]) / step * (1.0 + 1e-12)) + 1
    grid = computed.time[0] + step * np.arange(count)
    model = np.nan_to_num(computed.at(grid)[:, both])
    real = measured.force[:, both]
    clocks = float(measured.time[0] - grid[0])
    rough = float(np.median(differences))
    model_pulses, real_pulses = np.zeros_like(model), np.zeros_like(real)
    for i, k in enumerate(both):
        pulse = computed.pulses[k]
        # Equal lengths of both traces, because the position of the measured pulse is the unknown.
        for cut, complete, time, at in (
            (model_pulses, model, grid, pulse.top),
            (real_pulses, real, measured.time, float(pulse.top + differences[i])),
        ):
            near = slice(*np.searchsorted(time, [at - pulse.before, at + pulse.after]))
            cut[near, i] = complete[near, i]
    noise = [measured.noises[k] for k in both]
    aligned = time_shift(
        step, real_pulses, model_pulses, noise, (rough - clocks - widest, rough - clocks + widest)
    )
    if not math.isfinite(aligned.value):
        raise TraceError(
            f"{label}: at no time shift do the computed pulses match the measured ones. Traces "
            "with the same pulses are required. Check that the forces have the same sign, and "
            "that the run is long enough."
        )
    value = aligned.value + clocks
    widths = np.array([computed.pulses[k].width for k in both])
    other = time_shift(step, real, model, noise).value + clocks
    if abs(other - value) > widths.max() and (np.abs(differences - other) > widths).all():
        messages.append(
            f"{label}: the complete traces correlate best if shifted by a further "
            f"{1e6 * (other - value):+.3g} us, but then no first pulse matches a first pulse. "
            "The first pulses were aligned instead"
        )
    # If the wave of a law is too slow, the differences are a straight line along the chain. A
    # different pulse is off this line.
    off = differences - _straight_line(np.array(computed.positions)[both], differences)
    for i in np.flatnonzero(np.abs(off) > np.maximum(widths, 5.0 * errors)).tolist():
        side = "later" if off[i] > 0.0 else "earlier"
        messages.append(
            f"bead {measured.beads[both[i]]}: the pulse arrives {1e6 * abs(off[i]):.3g} "
            f"us {side} than at the other sensors compared with {label}, which is more than its "
            "width. It may be a different pulse"
        )
    # The uncertainty includes the noise, and a fraction of the uncertainty of the mean arrival due
    # to shape, sampling, and baseline. It is a fraction, because complete pulses are aligned.
    mean = float(np.sum(errors**-2.0)) ** -0.5
    # If the pulses are too different for a bound from their correlation, the uncertainty of the
    # arrivals is used.
    return Number(
        value,
        math.hypot(aligned.error, OF_ARRIVALS * mean) if math.isfinite(aligned.error) else mean,
    )


def _straight_line(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the line through points, insensitive to outliers.

    Theil 1950, Sen 1968, doi:10.1080/01621459.1968.10480934.
    """
    from scipy.stats import theilslopes

    if len(x) < 3 or not np.isfinite(x).all():
        return np.full(len(y), np.median(y))
    slope = theilslopes(y, x).slope
    return np.asarray(np.median(y - slope * x) + slope * x)


# --------------------------------------------------------------------------------------------------
# One result


def _result_agreement(
    measured: Measured,
    computed: Computed,
    shift: Number,
    windows: Sequence[slice],
    seen: Sequence[bool],
    label: str,
    messages: list[str],
) -> ResultAgreement:
    """Compare the pulses of one result with the measured pulses, sensor by sensor."""
    clocks = measured.time_error
    arrivals, sensors = [], []
    merged: list[tuple[str, ...]] = []
    for i, (bead, real, model) in enumerate(
        zip(measured.beads, measured.readings, computed.pulses, strict=True)
    ):
        if math.isnan(model.arrival):
            messages.append(
                f"bead {bead}: no complete pulse rises above the noise of the computed ({label}) "
                "trace"
            )
        real_merged = merged_from(measured.time, measured.force[:, i], real, measured.noise[i])
        merged_sides = {"measured": real_merged, f"computed ({label})": model.merged}
        messages += [
            f"bead {bead}: in the {side} trace, a second, larger pulse passed the first before "
            "it had "
            "fallen to half. This sensor is not used for the speed"
            for side, has_merged in merged_sides.items()
            if has_merged
        ]
        merged.append(
            tuple(side.split()[0] for side, has_merged in merged_sides.items() if has_merged)
        )
        error = math.hypot(real.arrival.error, clocks[i], shift.error)
        arrivals.append(Agreement(real.arrival.value, error, model.arrival + shift.value))
    for k, (bead, real, model) in enumerate(
        zip(measured.beads, measured.readings, computed.pulses, strict=True)
    ):
        speed = Agreement(math.nan, math.nan, math.nan)
        if k + 1 < len(arrivals) and not (merged[k] or merged[k + 1]):
            speed = _speed_between(
                computed.positions[k : k + 2],
                arrivals[k : k + 2],
                measured.readings[k : k + 2],
                clocks[k : k + 2],
            )
        times, real_force = measured.time[windows[k]], measured.force[windows[k], k]
        model_force = computed.at(times - shift.value)[:, k]
        covered = np.isfinite(model_force)
        times, real_force, model_force = times[covered], real_force[covered], model_force[covered]
        off = floor = math.nan
        size = float(np.linalg.norm(real_force))
        if real.sound and math.isfinite(model.arrival) and size > 0.0:
            off = float(np.linalg.norm(model_force - real_force)) / size
            floor = measured.noise[k] * math.sqrt(len(times)) / size
            if not covered.all():
                messages.append(
                    f"bead {bead}: {label} ends during the measured pulse. The residual covers "
                    "only the computed times"
                )
        sensors.append(
            SensorAgreement(
                bead,
                computed.positions[k],
                Agreement(
                    real.peak.value,
                    math.hypot(real.peak.error, measured.gain_error[k] * real.peak.value),
                    model.peak,
                ),
                arrivals[k],
                Agreement(*real.width, model.width),
                Agreement(
                    real.impulse.value,
                    math.hypot(real.impulse.error, measured.gain_error[k] * real.impulse.value),
                    model.impulse,
                ),
                speed,
                Agreement(0.0, floor, off),
                times,
                real_force,
                model_force,
                measured.noise[k],
                merged[k],
            )
        )
    usable = [
        k
        for k, arrival in enumerate(arrivals)
        if seen[k] and not merged[k] and math.isfinite(arrival.measured)
    ]
    everywhere = _wave_agreement(computed.positions, arrivals, measured.readings, usable, clocks)
    return ResultAgreement(
        label, computed.law, shift.value, shift.error, tuple(sensors), everywhere
    )


def _window_of_pulse(
    measured: Measured, k: int, computed: Sequence[Computed], shifts: Sequence[Number]
) -> slice:
    """Return the samples of a measured pulse and half a width on both sides.

    They do not depend on the compared result.

    If the pulse was not completely recorded, the window of the computed pulses is used.
    """
    real = measured.readings[k]
    if real.sound:
        wide = real.width.value if math.isfinite(real.width.value) else min(real.before, real.after)
        start, end = (
            real.top - real.before - 0.5 * wide,
            real.top + real.after + 0.5 * wide,
        )
    else:
        pulses = [
            (side.pulses[k], shift.value)
            for side, shift in zip(computed, shifts, strict=True)
            if math.isfinite(side.pulses[k].arrival)
        ]
        if not pulses:
            return slice(0, len(measured.time))
        start = min(pulse.top + shift - pulse.before for pulse, shift in pulses)
        end = max(
            pulse.top + shift + min(pulse.after, 2.0 * pulse.width) for pulse, shift in pulses
        )
    return slice(*np.searchsorted(measured.time, [start, end]))


def _speed_between(
    places: Sequence[float],
    arrivals: Sequence[Agreement],
    readings: Sequence[SensorReading],
    clocks: Sequence[float],
) -> Agreement:
    """Return the speed between two sensors. The common shift has no effect."""
    distance, (first, second) = places[1] - places[0], arrivals
    delay, computed = second.measured - first.measured, second.computed - first.computed
    time_error = math.hypot(*(reading.arrival.error for reading in readings), *clocks)
    speed = distance / delay if delay else math.nan
    error = abs(speed) * time_error / abs(delay) if delay else math.nan
    return Agreement(speed, error, distance / computed if computed else math.nan)


def _wave_agreement(
    positions: Sequence[float],
    arrivals: Sequence[Agreement],
    readings: Sequence[SensorReading],
    usable: Sequence[int],
    clocks: Sequence[float],
) -> Agreement:
    """Return the speed from the sensors with a measured arrival.

    The sensors must also have a computed arrival in every result.
    """
    x = np.array([positions[k] for k in usable])
    measured = wave_speed(x, [arrivals[k].measured for k in usable])
    computed = wave_speed(x, [arrivals[k].computed for k in usable])
    if not math.isfinite(measured):
        return Agreement(measured, math.nan, computed)
    # Slope of the line, sum((x - mean) t)/sum((x - mean)^2), and its error from the errors of the
    # times.
    u = np.array([math.hypot(readings[k].arrival.error, clocks[k]) for k in usable])
    x = x - x.mean()
    slope = float(np.linalg.norm(x * u) / (x @ x))
    return Agreement(measured, measured**2 * slope, computed)


def _doubt(noise: Noise, nearest: SensorAgreement, rival: SensorAgreement) -> float:
    """Return how much noise may change the difference of two residuals.

    See `_ranks_of_nearest`.
    """
    n = min(len(nearest.computed), len(rival.computed))
    difference = nearest.computed[:n] - rival.computed[:n]
    size = float(np.linalg.norm(difference))
    sigma = noise.of_sum(difference) / size if size > 0.0 else noise.sample
    return 4.0 * sigma / float(np.linalg.norm(nearest.measured))


def _ranks_of_nearest(measured: Measured, results: Sequence[ResultAgreement]) -> np.ndarray:
    """Return the ranks of the results that agree best with each bead, and 0 for the others.

    These are the result with the smallest residual r, and those that noise does not distinguish
    from it.

    For a measured force m and computed forces c_i, c_j, noise n changes r_j^2 - r_i^2 = (|c_j -
    m|^2 - |c_i - m|^2)/|m|^2 by 2 n.(c_i - c_j)/|m|^2. Its standard deviation is 2 sigma |c_i -
    c_j|/|m|^2, where sigma is the standard deviation of n.(c_i - c_j)/|c_i - c_j|, which is that of
    one sample for white noise. This is at most 2 sigma (r_i + r_j)/|m|. With twice this value,
    results are not distinguished up to r_j - r_i = 4 sigma/|m|.
    """
    ranks = np.zeros((len(results[0].sensors), len(results)), dtype=int)
    for k, rows in enumerate(zip(*(result.sensors for result in results), strict=True)):
        off = [row.residual.computed for row in rows]
        order = sorted((i for i in range(len(rows)) if math.isfinite(off[i])), key=lambda i: off[i])
        if order:
            nearest = rows[order[0]]
            alike = [
                i
                for i in order
                if i == order[0]
                or off[i] - off[order[0]] <= _doubt(measured.noises[k], nearest, rows[i])
            ]
            ranks[k, alike] = np.arange(len(alike)) + 1
    return ranks
