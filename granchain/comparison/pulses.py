"""Measured trace against computed: does the law describe the experiment?

Both sides go through the same sensor. One time shift for all sensors puts the computed run on the clock of the measurement: what is left
of the arrivals is physics. Then pulse by pulse: peak, arrival, width, impulse, speed, residual, each with the uncertainty of the
measurement; and of several results, which law is nearest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from granchain.analysis import PULSE_BEGINS, impulse, pulse_impulse, wave_speed
from granchain.comparison.agreement import QUANTITIES, RELATIVE, Agreement, Comparison, ResultAgreement, SensorAgreement
from granchain.comparison.shift import Shift, time_shift
from granchain.comparison.sides import NO_PULSE, Computed, Measured, first_clear_pulse, sensor_of
from granchain.errors import TraceError

if TYPE_CHECKING:
    from granchain.output import Result
    from granchain.traces import Trace

# Readings with other noise that give the uncertainty of a pulse's numbers: it is then known to 1/sqrt(2 * 99), 7 %.
DRAWS = 100


def compare(
    *results: Result,
    trace: Trace,
    labels: Sequence[str] | None = None,
    cutoff: float | None = None,
    tolerances: Mapping[str, float] | None = None,
) -> Comparison:
    """Compare results with a measured trace, pulse by pulse.

    Parameters
    ----------
    *results : Result
        With sensors in beads of the trace.
    trace : Trace
    labels : sequence of str, optional
        A word for each result; default: its contact law.
    cutoff : float, optional
        Of the zero-phase filter that both sides go through [Hz]; 0: none. Default: what about.toml says; where it says nothing and there
        is noise, four times the inverse of the narrowest measured pulse's width.
    tolerances : mapping of str to float, optional
        Largest difference of "peak", "width", "impulse", "speed", relative to the measured value, of "arrival" [s] and of "residual".

    Returns
    -------
    Comparison

    Raises
    ------
    TraceError
        Where no sensor is common to trace and results, or a tolerance is not known.
    """
    if not results:
        raise TraceError("compare: got no result, allowed one or more; give the output file of a run")
    bounds = _checked_tolerances(tolerances or {})
    words = list(labels) if labels is not None else _labels(results)
    messages = list(trace.notes)
    beads = _common_beads(results, words, trace, messages)
    sensor = sensor_of(trace, beads, cutoff, messages)
    measured = Measured(trace, beads, sensor)
    if all(pulse is NO_PULSE for pulse in measured.pulses):
        raise TraceError(
            "trace: got no whole pulse that stands out of the noise at any sensor, allowed one at least; look whether pushing is positive "
            "in it, and whether the record is long enough"
        )
    found = tuple(
        _against(measured, Computed(result, beads, sensor, messages), word, bounds, messages)
        for result, word in zip(results, words, strict=True)
    )
    return Comparison(trace, sensor, found, _nearest(measured, found), tuple(dict.fromkeys(messages)))


def _labels(results: Sequence[Result]) -> list[str]:
    laws = [result.law for result in results]
    return [law if laws.count(law) == 1 else f"{law} ({i})" for i, law in enumerate(laws, start=1)]


def _checked_tolerances(tolerances: Mapping[str, float]) -> dict[str, float]:
    problems = [
        f"tolerance: got {name!r}, allowed {', '.join(QUANTITIES)}; name one of these" for name in tolerances if name not in QUANTITIES
    ]
    problems += [
        f"tolerance: {name}: got {value!r}, allowed a finite number from 0; give the largest difference"
        for name, value in tolerances.items()
        if not (isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value < math.inf)
    ]
    if problems:
        raise TraceError(problems)
    return dict(tolerances)


def _common_beads(results: Sequence[Result], words: Sequence[str], trace: Trace, messages: list[str]) -> list[int]:
    """Beads that the trace and all results have a sensor in, in the order of the trace."""
    wanted = trace.sensor_bead.tolist()
    problems, beads = [], wanted
    for result, word in zip(results, words, strict=True):
        there = result.sensor_bead.tolist() if "sensor_force" in result.variables else []
        if "sensor_force" in result.variables and len(result.time) < 4:
            problems.append(f"{word}: got {len(result.time)} samples of force, allowed 4 or more; run it for longer")
        elif "sensor_force" in result.variables and not np.isfinite(result.sensor_force).all():
            problems.append(
                f"{word}: got forces that are no finite numbers, of a run that failed, allowed a whole run; mend the case first"
            )
        if not set(there) & set(wanted):
            asked = ",".join(map(str, wanted))
            problems.append(
                f"{word}: got sensors in beads {', '.join(map(str, there)) or 'none'}, allowed one of the trace's at least, {asked}; run "
                f"it again with --set sensors.beads=[{asked}]"
            )
        elif set(wanted) - set(there):
            messages.append(f"{word}: no sensor in bead {', '.join(map(str, sorted(set(wanted) - set(there))))}, which is left out")
        beads = [bead for bead in beads if bead in there]
    if not problems and not beads:
        problems.append(
            f"results: got no bead with a sensor in all of them and in the trace, {wanted}, allowed one or more; compare them apart"
        )
    if problems:
        raise TraceError(problems)
    return beads


def _shift_between(measured: Measured, computed: Computed) -> Shift:
    step = measured.interval
    count = int((computed.time[-1] - computed.time[0]) / step * (1.0 + 1e-12)) + 1
    grid = computed.time[0] + step * np.arange(count)
    found = time_shift(step, measured.force, np.nan_to_num(computed.at(grid)), measured.raw_noise)
    return Shift(found.value + float(measured.time[0] - grid[0]), found.uncertainty)


# ---------------------------------------------------------------------------------------------------------------------
# One result


def _against(measured: Measured, computed: Computed, label: str, bounds: Mapping[str, float], messages: list[str]) -> ResultAgreement:
    shift = _shift_between(measured, computed)
    if not math.isfinite(shift.value):
        raise TraceError(
            f"{label}: got no time shift at which the computed pulses meet the measured ones, allowed traces with the same pulses; look "
            "whether the forces have the same sign, and whether the run is long enough"
        )
    stated = measured.trace.about.uncertainty
    rows = []
    for k, bead in enumerate(measured.beads):
        real, model = measured.pulses[k], computed.pulses[k]
        for pulse, side in ((real, "measured"), (model, f"computed ({label})")):
            if pulse is NO_PULSE:
                messages.append(f"bead {bead}: no whole pulse stands out of the {side} trace")
            if pulse.merged:
                messages.append(
                    f"bead {bead}: in the {side} trace a second, larger pulse has passed the first before it had fallen to half; the "
                    "numbers are those of both, and no speed is from there"
                )
        window = _window(measured, computed, k, shift.value)
        found = _uncertain(measured, computed, k)
        if math.isnan(found.width.measured) and not math.isnan(real.arrival):
            messages.append(f"bead {bead}: the measured trace is too noisy, or too short, for a width at half height")
        arrival = Agreement(
            real.arrival, math.sqrt(found.arrival.uncertainty**2 + stated.time**2 + shift.uncertainty**2), model.arrival + shift.value
        )
        rows.append((bead, found, arrival, window))
    sensors = []
    sides = zip(measured.pulses, computed.pulses, strict=True)
    merged = [tuple(side for side, pulse in zip(("measured", "computed"), pair, strict=True) if pulse.merged) for pair in sides]
    for k, (bead, numbers, arrival, (times, real_force, model_force)) in enumerate(rows):
        speed = Agreement(math.nan, math.nan, math.nan)
        if k + 1 < len(rows) and not (merged[k] or merged[k + 1]):
            speed = _speed(computed.positions[k : k + 2], [arrival, rows[k + 1][2]], [numbers, rows[k + 1][1]], stated.time)
        size = float(np.linalg.norm(real_force)) if len(times) else 0.0
        off = float(np.linalg.norm(model_force - real_force)) / size if size > 0.0 else math.nan
        floor = measured.noise[k] * math.sqrt(len(times)) / size if size > 0.0 else math.nan
        parts = (numbers.peak, arrival, numbers.width, numbers.impulse, speed, Agreement(0.0, floor, off))
        sensors.append(SensorAgreement(bead, computed.positions[k], *parts, times, real_force, model_force, measured.noise[k], merged[k]))
    alone = [k for k, sides_merged in enumerate(merged) if not sides_merged]
    everywhere = _wave(
        [computed.positions[k] for k in alone], [sensors[k].arrival for k in alone],
        [rows[k][1].arrival.uncertainty for k in alone], stated.time,
    )  # fmt: skip
    missed = tuple(_missed(label, sensors, bounds))
    return ResultAgreement(label, computed.law, shift.value, shift.uncertainty, tuple(sensors), everywhere, missed)


class _PulseAgreement(NamedTuple):
    peak: Agreement
    arrival: Agreement
    width: Agreement
    impulse: Agreement


def _uncertain(measured: Measured, computed: Computed, k: int) -> _PulseAgreement:
    """Numbers of both pulses of a sensor; their uncertainty: by other noise, by the offset and by the calibration."""
    real, model = measured.pulses[k], computed.pulses[k]
    before, after = _measured_extent(measured, computed, k)
    force, noise = measured.force[:, k], measured.noise[k]
    found = [real.peak, real.arrival, real.width, _impulse_around(measured.time, force, real.arrival, before, after)]
    spread = np.zeros(4)
    if noise > 0.0 and math.isfinite(real.arrival):
        near = slice(None)
        if math.isfinite(before + after):
            reach = 2.0 * (before + after)
            near = slice(*np.searchsorted(measured.time, [real.arrival - reach, real.arrival + reach]))
        time, part = measured.time[near], force[near]
        draws = np.random.default_rng(k).standard_normal((len(part), DRAWS)) * measured.raw_noise[k]
        numbers = []
        for reading in (part[:, np.newaxis] + measured.sensor.smooth(measured.interval, draws)).T:
            # The reading has its own noise and the drawn one.
            one = first_clear_pulse(time, reading, math.sqrt(2.0) * noise, measured.sensor.cutoff is not None)
            numbers.append([one.peak, one.arrival, one.width, _impulse_around(time, reading, one.arrival, before, after)])
        spread = _spread(np.array(numbers))
    gain, offset = measured.trace.about.uncertainty.gain, measured.baselines[k].uncertainty
    calibration = np.array([gain * found[0], 0.0, 0.0, gain * found[3]])
    below = np.array([offset, 0.0, 0.0, offset * (before + after) if math.isfinite(found[3]) else 0.0])
    sure = np.sqrt(spread**2 + calibration**2 + below**2)
    whole = pulse_impulse(computed.time, computed.force[:, k])
    values = [model.peak, model.arrival, model.width, whole]
    return _PulseAgreement(*(Agreement(float(a), float(u), float(b)) for a, u, b in zip(found, sure, values, strict=True)))


def _spread(numbers: np.ndarray) -> np.ndarray:
    """Standard deviation of each column, by the middle 68 % of it, whatever a rare reading does; nan where one in ten has no number."""
    known = np.isfinite(numbers).mean(axis=0) > 0.9
    spread = np.full(numbers.shape[1], math.nan)
    if not known.any():
        return spread
    # Between the quantiles 0.1587 and 0.8413 of a normal distribution are two standard deviations.
    low, high = np.nanquantile(numbers[:, known], [0.1587, 0.8413], axis=0)
    spread[known] = 0.5 * (high - low)
    return spread


def _extent(computed: Computed, k: int) -> tuple[float, float]:
    """How long before and after its peak a computed pulse lasts [s]: from a ten-thousandth of its peak to the end of its impulse."""
    pulse, force = computed.pulses[k], computed.force[:, k]
    if not math.isfinite(pulse.arrival):
        return math.nan, math.nan
    start = int(np.argmax(force >= PULSE_BEGINS**2 * pulse.peak))
    top = int(np.searchsorted(computed.time, pulse.arrival))
    after = force[top:]
    ended = (after[:-1] <= PULSE_BEGINS * pulse.peak) | (np.diff(after) > 0.0)
    end = top + (int(np.argmax(ended)) if ended.any() else len(after) - 1)
    return pulse.arrival - float(computed.time[start]), float(computed.time[end]) - pulse.arrival


def _measured_extent(measured: Measured, computed: Computed, k: int) -> tuple[float, float]:
    """How long before and after its peak a measured pulse lasts [s]: as the computed one, in the ratio of their widths.

    Where noise hides the measured width, as long as the computed one; where there is no computed pulse, nan.
    """
    before, after = _extent(computed, k)
    ratio = measured.pulses[k].width / computed.pulses[k].width
    scale = ratio if math.isfinite(ratio) else 1.0
    return scale * before, scale * after


def _impulse_around(time: np.ndarray, force: np.ndarray, arrival: float, before: float, after: float) -> float:
    """Impulse of a pulse over a given time around its peak: noise has no end at which the pulse could be seen to end."""
    if not (math.isfinite(arrival + before + after)) or arrival - before < time[0] or arrival + after > time[-1]:
        return math.nan
    ends = np.array([arrival - before, arrival + after])
    inside = (time > ends[0]) & (time < ends[1])
    t = np.concatenate([ends[:1], time[inside], ends[1:]])
    return impulse(t, np.interp(t, time, force))


def _window(measured: Measured, computed: Computed, k: int, shift: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both forces over both pulses, on the measured samples; empty where one of them has none."""
    real, model = measured.pulses[k], computed.pulses[k]
    pulses = [(real.arrival, *_measured_extent(measured, computed, k)), (model.arrival + shift, *_extent(computed, k))]
    if not np.isfinite(pulses).all():
        return np.empty(0), np.empty(0), np.empty(0)
    start, end = min(at - before for at, before, _ in pulses), max(at + after for at, _, after in pulses)
    near = slice(*np.searchsorted(measured.time, [start, end]))
    model_force = computed.at(measured.time[near] - shift)[:, k]
    there = np.isfinite(model_force)
    return measured.time[near][there], measured.force[near, k][there], model_force[there]


def _speed(places: Sequence[float], arrivals: Sequence[Agreement], pulses: Sequence[_PulseAgreement], reading: float) -> Agreement:
    """Speed between two sensors; the common shift does not matter to it."""
    way = places[1] - places[0]
    delay, computed = arrivals[1].measured - arrivals[0].measured, arrivals[1].computed - arrivals[0].computed
    sure = math.sqrt(sum(pulse.arrival.uncertainty**2 for pulse in pulses) + 2.0 * reading**2)
    speed = way / delay if delay else math.nan
    return Agreement(speed, abs(speed) * sure / abs(delay) if delay else math.nan, way / computed if computed else math.nan)


def _wave(places: Sequence[float], arrivals: Sequence[Agreement], sure: Sequence[float], reading: float) -> Agreement:
    """Speed from those of these sensors that have both arrivals."""
    known = [k for k, one in enumerate(arrivals) if math.isfinite(one.measured) and math.isfinite(one.computed)]
    x = np.array([places[k] for k in known])
    measured = wave_speed(x, [arrivals[k].measured for k in known])
    computed = wave_speed(x, [arrivals[k].computed for k in known])
    if not math.isfinite(measured):
        return Agreement(measured, math.nan, computed)
    # Slope of the line sum((x - mean) t)/sum((x - mean)^2), its error by the errors of the times.
    u = np.array([math.hypot(sure[k], reading) for k in known])
    x = x - x.mean()
    slope = float(np.linalg.norm(x * u) / (x @ x))
    return Agreement(measured, measured**2 * slope, computed)


def _missed(label: str, sensors: Sequence[SensorAgreement], bounds: Mapping[str, float]) -> list[str]:
    told = []
    for name, bound in bounds.items():
        for sensor in sensors[:-1] if name == "speed" and len(sensors) > 1 else sensors:
            one: Agreement = getattr(sensor, name)
            off = abs(one.relative) if name in RELATIVE else abs(one.difference)
            if not off <= bound:
                unit = " s" if name == "arrival" else ""
                got = f"{off:.3g}{unit}" if math.isfinite(off) else "no number"
                told.append(f"{label}: bead {sensor.bead}: {name} off by {got}, allowed {bound:g}{unit}")
    return told


def _nearest(measured: Measured, results: Sequence[ResultAgreement]) -> dict[int, tuple[str, ...]]:
    """Bead by bead, the result with the smallest residual r, and those that noise does not tell from it.

    Measured force m and computed ones c_i, c_j: noise n moves r_j^2 - r_i^2 = (|c_j - m|^2 - |c_i - m|^2)/|m|^2 by
    2 n.(c_i - c_j)/|m|^2, which for white noise of size sigma has the standard deviation 2 sigma |c_i - c_j|/|m|^2, at most
    2 sigma (r_i + r_j)/|m|. Twice that: not told apart up to r_j - r_i = 4 sigma/|m|.
    """
    found: dict[int, tuple[str, ...]] = {}
    for k, rows in enumerate(zip(*(result.sensors for result in results), strict=True)):
        off = [row.residual.computed for row in rows]
        order = sorted((i for i in range(len(rows)) if math.isfinite(off[i])), key=lambda i: off[i])
        if order:
            doubt = 4.0 * measured.raw_noise[k] / float(np.linalg.norm(rows[order[0]].measured))
            found[rows[0].bead] = tuple(results[i].label for i in order if i == order[0] or off[i] - off[order[0]] <= doubt)
    return found
