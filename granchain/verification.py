"""Errors of a case: runs with several steps, observed order, and error bars.

The error bars follow from Richardson's extrapolation.

Two errors are separated: the time-step error, from runs with three or four steps, and the sampling
error, from dense samples of the same run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from granchain.analysis import energy_balance, observed_order, richardson
from granchain.analysis.results import measured_pulses
from granchain.case import Case
from granchain.contact import laws
from granchain.engine.timestep import time_step_of
from granchain.simulation import law_provenance, prepare, run_to_end
from granchain.store import Answer, Label, Result

# Steps in units of the case's step: with twice the step, or without it if twice the step is outside
# the tested range.
AROUND, BELOW = (2.0, 1.0, 0.5), (1.0, 0.5, 0.25)
# If these steps do not confirm the order, one more step is used, in units of the finest step. The
# position of a kink of the force within its step is different for each step, so that the factor of
# an error of order two scatters. For the built-in steel-chain, sets of three steps, each half of
# the previous one, from 4 to 1/8 automatic steps, give the orders 0.80, 2.83, 1.15, and 3.48. A fit
# to the four steps from 2 to 1/4 automatic steps gives 1.99.
FOURTH = 0.5
# The order of every law is tested up to this many automatic steps. No larger step is recommended.
TESTED = 10.0
# Largest number of samples of all sensors in one run (80 MB), unless the case itself has more.
COMPARED_VALUES = 10_000_000
# Number of times at which the velocities of all bodies are compared.
COMPARED_INSTANTS = 200
# Range of observed orders that confirm the order of the law. The lower limit is below it, because
# one halving is less accurate than a fit over many steps. The upper limit is slightly above two:
# the scheme is of order two, and a higher order appears if the errors of two steps cancel by
# chance, or if the largest step is too large.
SLACK, HIGHEST_ORDER = 0.3, 2.4
# Safety factors of an error bar if three steps confirm the order, and otherwise: Roache 1997,
# doi:10.1146/annurev.fluid.29.1.123.
CONFIRMED, UNCONFIRMED = 1.25, 3.0
# Smallest order for an error bar. Below it, nothing converges.
LOWEST_ORDER = 0.5
# Velocity differences due to rounding, relative to the largest velocity plus the change by the
# largest force in one step. The forces on a bead at rest under load cancel except for their last
# digit.
PEAK_ROUNDING = 1e-12


# Dimension of the variables of sensors.
_AT_SENSORS = ("sensor_bead",)


class Verification(Answer):
    """Discretization errors of a case, from three time steps, or four if three do not confirm the
    order.

    Attributes
    ----------
    order, order_stated : float, int
        Observed order of the motion, and order of the law. The former is nan if the step changes
        only rounding errors.
    confirmed : bool
        Whether the observed order confirms the order of the law: from 0.3 below it to 2.4.
    order_used : float
        Order of the error bars: the observed order, at most the order of the law.
    time_step, limit : float
        Step of the case, and stability limit [s].
    interval : float
        Sampling interval of the case [s].
    tolerance : float
        Requested relative error of every peak and arrival.
    largest : float
        Largest relative error bar with the step and samples of the case [1]. nan without a pulse.
    kept : bool
        Whether the step and samples of the case meet the tolerance, with a confirmed order.
    sufficient_step : float
        Largest step that meets the tolerance by the error bars, and at which the order is confirmed
        or tested [s]. It is nan without a pulse.
    largest_known_step : float
        Largest step at which the order is confirmed here or tested for every law [s].
    step, residual : (n_steps,) array
        Steps, each half of the previous one [s], and the largest energy-balance error at each step,
        divided by the energy supplied. The latter is nan if no energy is supplied.
    sensor_bead, peak, peak_error, peak_sampling, arrival, arrival_error, arrival_sampling : array
        First pulse at each sensor that it passes during the run, with error bars for the time step
        and for the sampling. For random cases of all laws, the sum of both covers the error for
        95 % of the peaks and 95 % of the arrivals.
    """

    labels: ClassVar = {
        "order": Label((), "1", "observed order of the motion"),
        "order_stated": Label((), "1", "order of the law"),
        "confirmed": Label((), "1", "whether the observed order confirms the order of the law"),
        "order_used": Label((), "1", "order of the error bars"),
        "time_step": Label((), "s", "time step of the case"),
        "limit": Label((), "s", "stability limit of the time step"),
        "interval": Label((), "s", "sampling interval of the case"),
        "tolerance": Label((), "1", "requested relative error of peaks and arrivals"),
        "largest": Label((), "1", "largest relative error of peaks and arrivals"),
        "kept": Label((), "1", "whether step and samples meet the tolerance"),
        "sufficient_step": Label((), "s", "largest time step that meets the tolerance"),
        "largest_known_step": Label((), "s", "largest time step at which the order is known"),
        "step": Label(("step",), "s", "time step of each run"),
        "residual": Label(("step",), "1", "error of the energy balance, of the energy supplied"),
        "sensor_bead": Label(_AT_SENSORS, "1", "label of the sensor bead"),
        "peak": Label(_AT_SENSORS, "N", "peak force of the first pulse"),
        "peak_error": Label(_AT_SENSORS, "N", "error of the peak from the time step"),
        "peak_sampling": Label(_AT_SENSORS, "N", "error of the peak from the samples"),
        "arrival": Label(_AT_SENSORS, "s", "arrival of the first pulse"),
        "arrival_error": Label(_AT_SENSORS, "s", "error of the arrival from the time step"),
        "arrival_sampling": Label(_AT_SENSORS, "s", "error of the arrival from the samples"),
    }

    def relative_errors(self, *parts: str) -> np.ndarray:
        """Return the larger relative error of peak and arrival at each sensor [1].

        Parameters
        ----------
        *parts : str
            Parts of the error that are added: "error" (of the time step) and "sampling".
        """
        return relative_errors({name: self[name] for name in SENSOR_COLUMNS}, *parts)


# Variables with one value for each sensor.
SENSOR_COLUMNS = tuple(
    name for name, label in Verification.labels.items() if label.dims == _AT_SENSORS
)


def relative_errors(columns: Mapping[str, np.ndarray], *parts: str) -> np.ndarray:
    """Return the larger relative error of peak and arrival at each sensor. See `Verification`."""
    peak, arrival = (
        sum(columns[f"{name}_{source}"] for source in parts) / np.abs(columns[name])
        for name in ("peak", "arrival")
    )
    return np.asarray(np.maximum(peak, arrival))


def doubt_about(order: float) -> str:
    """Return the reason why an order does not confirm that of the law."""
    if order > HIGHEST_ORDER:
        return (
            f"An order above {HIGHEST_ORDER:g} is not possible for this scheme of order two. "
            "Errors of the smaller steps cancel by chance, or the larger steps are too long "
            "for the case."
        )
    return (
        "The order is not reached. The step is too long for the case, or the case has a jump "
        "that the law does not declare."
    )


def verify(case: Case, tolerance: float = 1e-3) -> Verification:
    """Estimate the discretization error of the peaks and arrivals of a case.

    The case is run with three time steps, or with four if three do not confirm the order of the
    law. The observed order is that of the velocities of all bodies during the complete run. Peaks
    and arrivals are extrapolated to step 0 (Richardson 1911, doi:10.1098/rsta.1911.0009) with the
    observed order, at most the order of the law. The error from the step is the distance to the
    extrapolated value times a safety factor: 1.25 if the order is confirmed, and 3 otherwise
    (Roache 1997, doi:10.1146/annurev.fluid.29.1.123). The error from sampling is 1.25 times the
    difference between the samples of the case and dense samples of the same run, plus the remaining
    change with even denser samples.

    Parameters
    ----------
    case : Case
        The case. Its time step is the second one, or the first one if twice the step is near the
        stability limit.
    tolerance : float
        Relative error of each peak and arrival for which a sufficient step is computed [1].

    Returns
    -------
    Verification
        Observed order, errors of each sensor, and a sufficient time step.

    Raises
    ------
    CaseError, LawError, RunError
        See `run`.

    Examples
    --------
    >>> import granchain as gc
    >>> changes = {"chain.beads": 6, "sensors.beads": [3], "time.end": 1e-4}
    >>> found = gc.verify(gc.load_case("steel-chain-hertz").replace(**changes))
    >>> found.largest < 1e-3
    True
    """
    chain, contacts, step = prepare(case)
    tested = TESTED * time_step_of(contacts, chain, "auto", case.time.end).value
    factors: tuple[float, ...] = AROUND if AROUND[0] * step.value <= tested else BELOW
    coarsest, finest = factors[0] * step.value, FOURTH * factors[-1] * step.value
    stride, instants = (
        step.stride(case.sensors.interval),
        max(1, round(case.time.end / COMPARED_INSTANTS / coarsest)) * coarsest,
    )
    close = saved_every(stride, round(case.time.end / finest) * len(case.sensors.beads))
    results = [
        at_step(case, factor * step.value, close, instants, factor > 1.0) for factor in factors
    ]
    order, stated = order_of_motion(results), laws()[case.contact.law].order
    if not confirms(order, stated):
        factors = (*factors, FOURTH * factors[-1])
        results.append(at_step(case, finest, close, instants, False))
        order = order_of_motion(results)
    confirmed, used, largest_known = (
        confirms(order, stated),
        order_of_bars(order, stated),
        max(coarsest, tested),
    )
    sensors = sensor_errors(
        case, results, factors, stride // close, used, CONFIRMED if confirmed else UNCONFIRMED
    )
    balances = [energy_balance(result) for result in results]
    residuals = tuple(
        math.nan if balance is None else balance.largest_residual for balance in balances
    )
    # step at which the largest error bar equals the tolerance
    bar = max(relative_errors(sensors, "error").tolist(), default=math.nan)
    sufficient = (
        min(largest_known, step.value * (tolerance / bar) ** (1.0 / used))
        if bar > 0.0
        else largest_known
        if sensors["sensor_bead"].size
        else math.nan
    )
    largest = max(relative_errors(sensors, "error", "sampling").tolist(), default=math.nan)
    data: dict[str, Any] = {
        "order": order,
        "order_stated": stated,
        "confirmed": confirmed,
        "order_used": used,
        "time_step": step.value,
        "limit": step.limit,
        "interval": stride * step.value,
        "tolerance": tolerance,
        "largest": largest,
        "kept": confirmed and largest <= tolerance,
        "sufficient_step": sufficient,
        "largest_known_step": largest_known,
        "step": [factor * step.value for factor in factors],
        "residual": residuals,
        **sensors,
    }
    doubt = () if confirmed else (doubt_about(order),)
    return Verification(data, case=case, messages=doubt, provenance=law_provenance(case))


def at_step(case: Case, step: float, close: int, instants: float, coarser: bool) -> Result:
    """Run the case at another step, with samples after every few steps.

    The snapshots are at times that all steps reach.
    """
    changes: dict[str, Any] = {
        "time.step": step,
        "sensors.interval": close * step,
        "sensors.contacts": [],
        "snapshots": {"interval": instants},
    }
    if coarser:
        # this run is only for comparison, so its energy balance may exceed the bound of the case
        changes["energy.bound"] = max(case.energy.bound, 1.0)
    return run_to_end(case.replace(**changes))


def order_of_motion(results: list[Result]) -> float:
    """Return the observed order of the velocities of all bodies during the run.

    It is nan if the step changes only rounding errors.

    It is the slope of the differences between consecutive steps versus the step.
    """
    n = min(len(result.velocity) for result in results)
    # the last time is the end of the run, and not all steps divide it
    motions = [result.velocity[: n - 1] for result in results]
    differences = [
        float(np.sqrt(np.mean((motion - finer_motion) ** 2)))
        for motion, finer_motion in pairwise(motions)
    ]
    fine, force = results[-1], results[-1].contact_peak_force.max()
    largest = float(np.abs(motions[-1]).max(initial=0.0) + force * fine.time_step / fine.mass.min())
    if min(differences) <= PEAK_ROUNDING * largest:
        return math.nan
    return observed_order([result.time_step for result in results[:-1]], differences)


def confirms(order: float, stated: int) -> bool:
    """Return whether an observed order confirms the order of a law.

    nan means that only rounding errors differ, and counts as confirmed.
    """
    return math.isnan(order) or stated - SLACK <= order <= HIGHEST_ORDER


def order_of_bars(order: float, stated: int) -> float:
    """Return the order of the error bars: the observed one, at most that of the law."""
    return float(stated) if math.isnan(order) else min(max(order, LOWEST_ORDER), float(stated))


def saved_every(stride: int, values: int) -> int:
    """Return the number of steps between saved samples, a divisor of `stride`.

    It is one, or more if that would give too many `values`.
    """
    most = max(1, stride * COMPARED_VALUES // max(values, COMPARED_VALUES))
    return stride // next(parts for parts in range(most, 0, -1) if stride % parts == 0)


def sensor_errors(
    case: Case,
    results: list[Result],
    factors: tuple[float, ...],
    every: int,
    order: float,
    safety: float,
) -> dict[str, np.ndarray]:
    """Return peaks and arrivals with error bars, one column for each variable of the sensors.

    They use the samples of the case. Pulses must be complete at every step and sampling.

    The peaks of all steps are computed from samples at common times. The samples of the case are a
    subset of those at its step.
    """
    case_index = factors.index(1.0)
    # samples at common times: each sample of the coarsest step, every second one of the next, and
    # so on
    common = [round(factors[0] / factor) for factor in factors]
    finer = round(1.0 / factors[-1])
    rows: list[dict[str, float]] = []
    measured = (
        ()
        if not case.sensors.beads
        else (
            [measured_pulses(result, n) for result, n in zip(results, common, strict=True)],
            [measured_pulses(results[case_index], every)],
            [measured_pulses(results[case_index])],
            # samples with the interval of the case, at each possible position on the pulse, and
            # samples at shorter intervals
            [measured_pulses(results[-1], finer, phase) for phase in range(finer)],
            [measured_pulses(results[-1])],
        )
    )
    for i, bead in enumerate(case.sensors.beads):
        steps, sampled, close, placed, closest = (
            [stack.record(i) for stack in stacks] for stacks in measured
        )
        if not all(pulse.complete for pulse in (*steps, *sampled, *close, *placed, *closest)):
            continue
        errors: dict[str, float] = {"sensor_bead": bead}
        for name in ("peak", "arrival"):
            by_step, (at_case,), (near,), by_phase, (nearest,) = (
                [getattr(pulse, name) for pulse in stack]
                for stack in (steps, sampled, close, placed, closest)
            )
            errors[name] = at_case
            errors[f"{name}_error"] = error_bar(by_step, factors, order, safety)
            errors[f"{name}_sampling"] = sampling_error(at_case, near, by_phase, nearest)
        rows.append(errors)
    kinds = {"sensor_bead": int}
    return {
        name: np.array([row[name] for row in rows], dtype=kinds.get(name, float))
        for name in SENSOR_COLUMNS
    }


def sampling_error(sampled: float, close: float, placed: list[float], closest: float) -> float:
    """Return the sampling error of a peak or an arrival.

    It is the distance to the value from close samples of the same run, plus the error of that
    value.

    The error of the parabola is at least of second order in the interval, so the remaining error
    with `n` times closer samples is 1/(n^2 - 1) of the difference.
    """
    n = len(placed)
    remaining = max(abs(value - closest) for value in placed) * n * n / (n * n - 1.0)
    return CONFIRMED * (abs(sampled - close) + remaining)


def error_bar(
    values: list[float], factors: tuple[float, ...], order: float, safety: float
) -> float:
    """Return the error bar of a quantity at the step of the case.

    It is the largest distance to step 0 over all pairs of steps.
    """
    pairs = zip(pairwise(values), pairwise(factors), strict=True)
    # each pair gives the error of its finer step, and from that the error of the case's step; the
    # pairs agree if the order is correct
    errors = [
        abs(richardson(coarse, fine, wide / narrow, order).error) / narrow**order
        for (coarse, fine), (wide, narrow) in pairs
    ]
    return safety * max(errors)
