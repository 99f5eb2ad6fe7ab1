"""Comparison of results with a measured trace, with uncertainty bands that follow from the
tolerances of their cases."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from granchain.case.checks import tolerances_of
from granchain.errors import CaseError
from granchain.keys import Problems
from granchain.measured.agreement import (
    IN_BAND,
    Band,
    Comparison,
)
from granchain.measured.pulses import compare_pulses
from granchain.measured.trace import Trace
from granchain.plain_data import canonical, plain_data
from granchain.progress import progress_of
from granchain.store import Result
from granchain.store.answer import case_of
from granchain.studies.bands import (
    MEMBERS,
    SAMPLES_AT_ONCE,
    Uncertain,
    common_times,
    nominal_and_members,
    on_grid,
    quantiles_over,
    report_from,
    uncertain,
)
from granchain.studies.evaluate import Evaluation

# Quantiles of the ends of a band, and of its middle.
BAND_QUANTILES = (0.5 - 0.5 * IN_BAND, 0.5, 0.5 + 0.5 * IN_BAND)
# Half of the width of the middle 95 % of a normal distribution in standard deviations: its quantile
# at 0.975.
DEVIATIONS = 1.959964


def compare(
    *results: Result,
    trace: Trace | str | os.PathLike[str],
    labels: Sequence[str] | None = None,
    cutoff: float | None = None,
    tolerances: Mapping[str, float] | None = None,
    bands: Mapping[str, Any] | None = None,
    members: int = MEMBERS,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | bool | None = None,
) -> Comparison:
    """Compare results with a measured trace, pulse by pulse.

    If tolerances of parameters are specified, the comparison includes uncertainty bands around the
    computed forces. The clocks of the computer and of the instrument are independent. Therefore
    each member of a band has its own time shift, which aligns its arrivals with the nominal
    arrivals on average, and the bands contain only differences between arrivals. Forces and
    arrivals of the members are filtered like those of the case; their peaks are the nominal peak
    times the ratio of the peaks without a filter.

    Parameters
    ----------
    *results : Result
        Results with sensors in beads of the trace.
    trace : Trace, str or path
        Measured trace, or its folder.
    labels : sequence of str, optional
        Label of each result. Default: its contact law.
    cutoff : float, optional
        Cutoff of the zero-phase filter for both sides [Hz]; 0 turns it off. Default: the value in
        about.toml; without it, and if there is noise, four times the inverse of the width of the
        narrowest measured pulse.
    tolerances : mapping of str to float, optional
        Largest allowed difference of "peak", "width", "impulse", and "speed", relative to the
        measured value; of "arrival" [s]; and of "residual" [1].
    bands : mapping, optional
        Tolerances of keys of the case, as for `bands`. Default: those of the cases of the results
        and of about.toml, which has priority. Without tolerances, there are no bands.
    members : int
        Number of runs for the bands of each result. 0 turns bands off.
    seed, threads, progress
        See `bands`.

    Returns
    -------
    Comparison

    Raises
    ------
    TraceError
        If trace and results have no common sensor, or if a tolerance is unknown.
    CaseError
        If tolerances of the bands are invalid. The message lists the errors of all results, before
        anything runs.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 15, "sensors.beads": [9], "time.end": 2e-4})
    >>> comparison = gc.compare(gc.run(case), trace="data/synthetic2026")
    >>> comparison.nearest
    {9: ('hertz',)}
    """
    comparison = compare_pulses(
        *results, trace=trace, labels=labels, cutoff=cutoff, tolerances=tolerances
    )
    plans = _plans(comparison, results, bands, members, seed) if members else []
    if not any(plans):
        return comparison
    messages = list(comparison.messages)
    if comparison.sensor.front_mass is not None:
        messages.append(
            "the two halves of the sensor beads have different masses. The uncertainty bands "
            "are for the mean of the two contact forces of a bead"
        )
    runs = (1 + members) * sum(plan is not None for plan in plans)
    report, bands_of, begun = progress_of(progress, "bands"), _empty_bands(comparison), 0
    for i, plan in enumerate(plans):
        if plan is not None:
            count = report_from(report, begun, runs)
            _add_bands(bands_of, comparison, i, plan, nominal_and_members(plan, threads, count))
            begun += 1 + members
    return comparison.with_variables(bands_of, tuple(dict.fromkeys(messages)))


def _empty_bands(comparison: Comparison) -> dict[str, Any]:
    """Return the variables of the bands without values."""
    axes = ("sensor_bead", "result", "sample")
    lengths = dict(zip(axes, comparison.computed_force.shape, strict=True))
    limits = [f"{name}_band_{limit}" for name in ("peak", "arrival") for limit in Band._fields]
    empty: dict[str, Any] = {
        name: np.full([lengths[axis] for axis in Comparison.labels[name].dims], math.nan)
        for name in (*limits, "force_inside", "force_low", "force_high")
    }
    return empty | {
        "members": np.zeros(lengths["result"], dtype=int),
        "band_tolerance": np.full(lengths["result"], "{}", dtype=object),
    }


def _plans(
    comparison: Comparison,
    results: Sequence[Result],
    tolerance: Mapping[str, Any] | None,
    n: int,
    seed: int,
) -> list[Uncertain | None]:
    """Return the uncertain case of each result; None without tolerances."""
    plans: list[Uncertain | None] = [None] * len(results)
    problems: list[str] = []
    for i, (compared, result) in enumerate(zip(comparison.results, results, strict=True)):
        case, wanted = case_of(result), dict(tolerance or {})
        stated = (getattr(case, "tolerance", None), comparison.about.tolerance)
        for table in () if tolerance else stated:
            # its errors were reported when the case and the trace were read
            wanted |= {} if table is None else tolerances_of(table, "tolerance", Problems())
        if wanted and case is None:
            problems.append(
                f"{compared.label}: the result has no case, or its law is not installed. "
                "Uncertainty bands require a case that can be run again. Turn them off with "
                "members=0 or --members 0."
            )
        elif wanted:
            beads = [sensor.bead for sensor in compared.sensors]
            try:
                plans[i] = uncertain(case.replace(**{"sensors.beads": beads}), wanted, n, seed)
            except CaseError as error:
                label = f"{compared.label}: " if len(results) > 1 else ""
                problems += [label + sentence for sentence in error.problems]
    if problems:
        raise CaseError(problems)
    return plans


def _add_bands(
    bands_of: dict[str, Any], comparison: Comparison, i: int, plan: Uncertain, measured: Evaluation
) -> None:
    """Add the uncertainty bands of result `i` to the variables of all bands."""
    members = measured.complete[1:]
    late = measured["arrival"][members] - measured["arrival"][0]
    merged = [bool(sensor.merged) for sensor in comparison.results[i].sensors]
    clean = np.isfinite(late).all(axis=0) & ~np.array(merged)
    # mean delay of each member relative to the nominal case [s]
    delays = late[:, clean].mean(axis=1) if clean.any() else np.zeros(len(members))
    bands_of["members"][i] = len(members)
    bands_of["band_tolerance"][i] = canonical(plain_data(plan.tolerance), ordered=True)
    peaks = comparison.peak_computed[:, i] * measured["peak"][members] / measured["peak"][0]
    arrivals = comparison.arrival_computed[:, i] + late - delays[:, np.newaxis]
    for name, values, error in (
        ("peak", peaks, comparison.peak_error),
        ("arrival", arrivals, comparison.arrival_error[:, i]),
    ):
        low, middle, high = quantiles_over(values, BAND_QUANTILES)
        ends = low, high, *widen_band(low, middle, high, error)
        for limit, end in zip(Band._fields, ends, strict=True):
            bands_of[f"{name}_band_{limit}"][:, i] = end
    _add_force_bands(bands_of, comparison, i, measured, delays)


def widen_band(low: Any, middle: Any, high: Any, uncertainty: Any) -> tuple[Any, Any]:
    """Widen a band by an uncertainty.

    The squares of the distances from the middle are added, as for independent deviations.
    """
    wide = DEVIATIONS * np.asarray(uncertainty)
    return middle - np.hypot(middle - low, wide), middle + np.hypot(high - middle, wide)


def _add_force_bands(
    bands_of: dict[str, Any],
    comparison: Comparison,
    i: int,
    measured: Evaluation,
    delays: np.ndarray,
) -> None:
    """Add the force bands of result `i` over the duration of the pulse at each sensor.

    Parameters
    ----------
    bands_of : dict
        Variables of all bands.
    comparison : Comparison
    i : int
    measured : Evaluation
    delays : array (member,)
        Mean delay of each member relative to the nominal case [s].
    """
    agreement, members, sensor = comparison.results[i], measured.complete[1:], comparison.sensor
    times = common_times(measured)
    interval = float(times[-1] - times[0]) / (len(times) - 1)
    instants = [
        np.minimum(compared.time - agreement.time_shift, times[-1])
        for compared in agreement.sensors
    ]
    changed = [np.empty((len(at), len(members))) for at in instants]
    nominal = measured.traces[0][1][: len(times)] - measured.traces[0][1][0]
    for first in range(0, len(members), SAMPLES_AT_ONCE):
        lot = range(first, min(first + SAMPLES_AT_ONCE, len(members)))
        # forces relative to the static force, because a piezo measures changes; if a member ends
        # before the shifted times, its last force is used
        side = []
        for member in lot:
            time, force = measured.traces[members[member]]
            at = np.minimum(times + delays[member], time[-1])
            side.append(on_grid(time, force, at) - force[0])
        differences = np.stack(side, axis=-1) - nominal[:, :, np.newaxis]
        off = sensor.smooth(interval, sensor.instrument(interval, differences))
        for k, at in enumerate(instants):
            changed[k][:, lot.start : lot.stop] = on_grid(times, off[:, k], at)
    # the largest gain uncertainty is used for all sensors
    gain = max(comparison.about.uncertainty.all_gain(len(comparison.trace_bead)))
    for k, (compared, force) in enumerate(zip(agreement.sensors, changed, strict=True)):
        low, middle, high = np.quantile(force, BAND_QUANTILES, axis=1) + compared.computed
        error = np.hypot(compared.noise, gain * compared.computed)
        least, most = widen_band(low, middle, high, error)
        inside = (least <= compared.measured) & (compared.measured <= most)
        covered = np.isfinite(comparison.computed_force[k, i])
        bands_of["force_low"][k, i, covered] = low
        bands_of["force_high"][k, i, covered] = high
        bands_of["force_inside"][k, i] = inside.mean() if inside.size else math.nan
