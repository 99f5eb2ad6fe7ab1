"""How far a case's numbers can be trusted: the case at three steps, its observed order, and error bars by Richardson's extrapolation."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from granchain.analysis import Peak, energy_balance, order_of_three, richardson, sensor_peak
from granchain.case import Case
from granchain.contact import laws
from granchain.engine.state import time_step_of
from granchain.engine.timestep import TimeStep
from granchain.output import Result
from granchain.simulation import prepare, run
from granchain.status import Status

# The three steps, in units of the case's own: one above it, or none where twice the step is beyond what is tested.
AROUND, BELOW = (2.0, 1.0, 0.5), (1.0, 0.5, 0.25)
# Up to so many automatic steps the order of every law is tested: no larger step is recommended.
TESTED = 10.0
# Instants at which the velocities of all bodies are compared.
INSTANTS = 200
# An observed order so much below the law's own confirms it: one halving tells it less well than a fit over many steps.
SLACK = 0.3
# Safety of an error bar where three steps confirm the order, and where they do not: Roache 1997, doi:10.1146/annurev.fluid.29.1.123.
CONFIRMED, UNCONFIRMED = 1.25, 3.0
# Lowest order that an error bar is made with: below it nothing converges.
LOWEST_ORDER = 0.5
# Differences of velocities that are rounding, relative to the largest velocity and to what the largest force gives in one step: the forces
# on a bead that stands still under load cancel but for their last digit.
ROUNDING = 1e-12


@dataclass(frozen=True)
class SensorError:
    """First pulse at a sensor, with error bars; all absolute, and never below the error that they bound where the order is confirmed.

    Attributes
    ----------
    bead : int
        Label.
    peak, arrival : float
        At the case's own step [N], [s].
    peak_error, arrival_error : float
        Error bar of the time step [N], [s].
    peak_sampling, arrival_sampling : float
        How far the peak moves when four times as many samples are taken [N], [s].
    """

    bead: int
    peak: float
    peak_error: float
    peak_sampling: float
    arrival: float
    arrival_error: float
    arrival_sampling: float

    @property
    def relative(self) -> float:
        """The larger of the two error bars of the step, relative to peak and arrival [1]."""
        return max(self.peak_error / abs(self.peak), self.arrival_error / abs(self.arrival))

    @property
    def relative_of_all(self) -> float:
        """The larger of the two error bars, step and sampling together, relative to peak and arrival [1]."""
        peak, arrival = self.peak_error + self.peak_sampling, self.arrival_error + self.arrival_sampling
        return max(peak / abs(self.peak), arrival / abs(self.arrival))


@dataclass(frozen=True)
class Verification:
    """A case at three steps.

    Attributes
    ----------
    title, law : str
        Of the case.
    time_step, limit : float
        The case's own step, and the stability limit [s].
    steps : tuple of float
        The three steps [s].
    interval : float
        Between the samples [s].
    order, order_stated : float, int
        Observed order of the motion (nan where the step changes nothing but rounding), and the law's own.
    confirmed : bool
        Whether the observed order is not below the law's own.
    residuals : tuple of float
        Largest residual of the energy ledger at each step, relative to the energy put in; nan where nothing is.
    sensors : tuple of SensorError
        Of the sensors whose first pulse lies in the run.
    tolerance : float
        Asked relative error of every peak and arrival.
    sufficient_step : float
        The largest step that keeps it by the error bars, and at which the order is known to hold [s]; nan where there is no pulse.
    largest_known_step : float
        The largest step at which the order is known to hold: it was seen here, or is tested for every law [s].
    """

    title: str
    law: str
    time_step: float
    limit: float
    steps: tuple[float, ...]
    interval: float
    order: float
    order_stated: int
    confirmed: bool
    residuals: tuple[float, ...]
    sensors: tuple[SensorError, ...]
    tolerance: float
    sufficient_step: float
    largest_known_step: float

    @property
    def largest(self) -> float:
        """Largest error bar at the case's own step and samples, relative [1]; nan without a pulse."""
        return max((sensor.relative_of_all for sensor in self.sensors), default=math.nan)

    @property
    def kept(self) -> bool:
        """Whether the case's own step and samples keep the tolerance, with an order that is confirmed."""
        return self.confirmed and self.largest <= self.tolerance

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, words and lists; a number that is not finite is None."""
        facts = dataclasses.asdict(self) | {"largest_relative_error": self.largest, "kept": self.kept}
        return {name: _plain(value) for name, value in facts.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def verify(case: Case, tolerance: float = 1e-3) -> Verification:
    """Run a case at three steps: its observed order, and the error of each sensor's peak and arrival.

    The order is that of the velocities of all bodies over the whole run. Peaks and arrivals are extrapolated to step 0 (Richardson
    1911, doi:10.1098/rsta.1911.0009) with the observed order, at most the law's own; the error bar is the distance to there times a
    safety factor, 1.25 where the order is confirmed and 3 where it is not (Roache 1997, doi:10.1146/annurev.fluid.29.1.123).

    Parameters
    ----------
    case : Case
        The case; its own step is the middle one of the three, or the coarsest where twice that step comes near the stability limit.
    tolerance : float
        Relative error of every peak and arrival for which a step is sought [1].

    Returns
    -------
    Verification

    Raises
    ------
    CaseError, LawError, RunError
        As `run` does.
    """
    chain, contacts, own = prepare(case)
    tested = TESTED * time_step_of(contacts, chain, "auto", case.time.end).value
    factors = AROUND if AROUND[0] * own.value <= tested else BELOW
    steps = tuple(factor * own.value for factor in factors)
    interval = max(1, round(case.sensors.interval / steps[0])) * steps[0]
    instants = max(1, round(case.time.end / INSTANTS / steps[0])) * steps[0]
    results = [at_step(case, step, interval / 4.0 if step == steps[-1] else interval, instants, step > own.value) for step in steps]
    order, known = order_of_motion(results), max(*steps, tested)
    stated = laws()[case.contact.law].order
    # a motion that the step does not change has no error to be wrong about
    confirmed = math.isnan(order) or order >= stated - SLACK
    used = float(stated) if math.isnan(order) else min(max(order, LOWEST_ORDER), float(stated))
    sensors = sensor_errors(case, results, factors, used, CONFIRMED if confirmed else UNCONFIRMED)
    return Verification(
        title=case.title, law=case.contact.law, time_step=own.value, limit=own.limit, steps=steps, interval=interval,
        order=order, order_stated=stated, confirmed=confirmed, residuals=tuple(map(residual_of, results)), sensors=sensors,
        tolerance=tolerance, sufficient_step=sufficient(sensors, own, used, tolerance, known), largest_known_step=known,
    )  # fmt: skip


def at_step(case: Case, step: float, interval: float, instants: float, coarser: bool) -> Result:
    """The case at another step, sampled at instants that all three steps hit."""
    changes: dict[str, Any] = {"time.step": step, "sensors.interval": interval, "snapshots": {"interval": instants}}
    if coarser:
        # only compared with: its ledger need not close within the bound of the case's own step
        changes["energy.bound"] = max(case.energy.bound, 1.0)
    result = run(case.replace(**changes))
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def order_of_motion(results: list[Result]) -> float:
    """Observed order of the velocities of all bodies over the whole run; nan where the step changes nothing but rounding."""
    n = min(len(result.velocity) for result in results)
    # the last instant is the end of the run, which not all steps hit
    coarse, medium, fine = (result.velocity[: n - 1] for result in results)
    first, second = (float(np.sqrt(np.mean((one - other) ** 2))) for one, other in ((coarse, medium), (medium, fine)))
    largest = float(np.abs(fine).max(initial=0.0) + results[-1].contact_peak_force.max() * results[-1].time_step / results[-1].mass.min())
    if second <= ROUNDING * largest:
        return math.nan
    # three values as far apart as the three motions
    return order_of_three(first + second, second, 0.0)


def sensor_errors(case: Case, results: list[Result], factors: tuple[float, ...], order: float, safety: float) -> tuple[SensorError, ...]:
    """Peaks and arrivals with error bars at the case's own step, of the pulses that are whole at every step."""
    if not case.sensors.beads:
        return ()
    own = factors.index(1.0)
    found = []
    for i, bead in enumerate(case.sensors.beads):
        close = first_peak(results[-1], i)
        tops = [*(first_peak(result, i) for result in results[:-1]), first_peak(results[-1], i, every=4)]
        if not all(top.complete for top in (close, *tops)):
            continue
        found.append(
            SensorError(
                bead=bead,
                peak=tops[own].force,
                peak_error=error_bar([top.force for top in tops], factors, order, safety),
                peak_sampling=abs(tops[-1].force - close.force),
                arrival=tops[own].time,
                arrival_error=error_bar([top.time for top in tops], factors, order, safety),
                arrival_sampling=abs(tops[-1].time - close.time),
            )
        )
    return tuple(found)


def first_peak(result: Result, sensor: int, every: int = 1) -> Peak:
    """Peak of a sensor's first pulse, from every so many of its samples."""
    return sensor_peak(result, sensor, every)


def error_bar(values: list[float], factors: tuple[float, ...], order: float, safety: float) -> float:
    """Error bar of a quantity at the case's own step: its distance to step 0, not smaller than the coarser pair of steps says."""
    coarse, medium, fine = values
    ratio = factors[0] / factors[1]
    # from either pair the error of the medium step; the larger counts, for the two agree where the order holds
    by_fine = abs(richardson(medium, fine, ratio, order).error) * ratio**order
    by_coarse = abs(richardson(coarse, medium, ratio, order).error)
    of_medium = max(by_fine, by_coarse)
    return safety * of_medium * (1.0 / factors[1]) ** order


def residual_of(result: Result) -> float:
    """Largest residual of the ledger, relative; nan where none is kept."""
    balance = energy_balance(result)
    return math.nan if balance is None else balance.largest_residual


def sufficient(sensors: tuple[SensorError, ...], own: TimeStep, order: float, tolerance: float, known: float) -> float:
    """The step at which the largest of the error bars is the tolerance, at most the largest known one [s]."""
    if not sensors:
        return math.nan
    largest = max(sensor.relative for sensor in sensors)
    return min(known, own.value * (tolerance / largest) ** (1.0 / order)) if largest > 0.0 else known
