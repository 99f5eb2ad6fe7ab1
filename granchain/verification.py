"""How far a case's numbers can be trusted: the case at several steps, its observed order, and error
bars by Richardson's extrapolation.

Two errors are separated: that of the step, from runs at three or four steps, and that of the
samples, from dense ones of the same run.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from granchain.analysis import energy_balance, observed_order, richardson, sensor_peak
from granchain.case import Case
from granchain.contact import laws
from granchain.engine.timestep import time_step_of
from granchain.markup import facts_card, table
from granchain.plain_data import Numbers, plain_data
from granchain.simulation import prepare, run_to_end
from granchain.store import Result

# The steps, in units of the case's own: one above it, or none where twice the step is beyond what
# is tested.
AROUND, BELOW = (2.0, 1.0, 0.5), (1.0, 0.5, 0.25)
# Where these do not confirm the order, one more, in units of the finest. Each step crosses a kink
# of the force at a place of its own: an error of order two with a factor that scatters. Of the
# built-in steel-chain three steps, each half of the one before, from 4 to 1/8 automatic ones, show
# the orders 0.80, 2.83, 1.15 and 3.48; the four from 2 to 1/4 show 1.99.
FOURTH = 0.5
# Up to so many automatic steps the order of every law is tested: no larger step is recommended.
TESTED = 10.0
# Samples of all sensors that one run saves at most, where the case's own are fewer: 80 MB.
COMPARED_VALUES = 10_000_000
# Instants at which the velocities of all bodies are compared.
COMPARED_INSTANTS = 200
# Observed orders that confirm the law's own: from so much below it, for one halving shows it less
# well than a fit over many steps, to a little above two. The scheme is of order two: a higher one
# is seen where the errors of two steps cancel by chance, or where the largest step is not yet fine
# enough for the order to hold.
SLACK, HIGHEST_ORDER = 0.3, 2.4
# Safety of an error bar where three steps confirm the order, and where they do not: Roache 1997,
# doi:10.1146/annurev.fluid.29.1.123.
CONFIRMED, UNCONFIRMED = 1.25, 3.0
# Lowest order that an error bar is made with: below it nothing converges.
LOWEST_ORDER = 0.5
# Differences of velocities that are rounding, relative to the largest velocity and to what the
# largest force gives in one step: the forces on a bead that stands still under load cancel but for
# their last digit.
PEAK_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SensorError(Numbers):
    """First pulse at a sensor, with error bars, all absolute.

    Over random cases of all laws the sum of step's and samples' bar is at least the error for 95 %
    of the peaks and 95 % of the arrivals.

    Attributes
    ----------
    bead : int
        Label.
    peak, arrival : float
        At the case's own step, from the case's own samples [N], [s]: what a run of the case gives.
    peak_error, arrival_error : float
        Error bar of the time step [N], [s].
    peak_sampling, arrival_sampling : float
        Error bar of the samples, from how far the peak moves where every step of the same run is
        sampled [N], [s].
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
    def relative_of_samples(self) -> float:
        """The larger of the two error bars of the samples, relative to peak and arrival [1]."""
        return max(self.peak_sampling / abs(self.peak), self.arrival_sampling / abs(self.arrival))

    @property
    def relative_of_all(self) -> float:
        """The larger of the two error bars, step and sampling together, relative to peak and
        arrival [1]."""
        peak, arrival = (
            self.peak_error + self.peak_sampling,
            self.arrival_error + self.arrival_sampling,
        )
        return max(peak / abs(self.peak), arrival / abs(self.arrival))


@dataclass(frozen=True, eq=False)
class Verification(Numbers):
    """A case at three steps, or at four where three do not confirm the order.

    Attributes
    ----------
    title, law : str
        Of the case.
    time_step, limit : float
        The case's own step, and the stability limit [s].
    steps : tuple of float
        The steps, each half of the one before [s].
    interval : float
        Between the case's own samples [s].
    order, order_stated : float, int
        Observed order of the motion (nan where the step changes nothing but rounding), and the
        law's own.
    confirmed : bool
        Whether the observed order is the law's own: from 0.3 below it to 2.4.
    residuals : tuple of float
        Largest residual of the energy ledger at each step, relative to the energy put in; nan where
        nothing is.
    sensors : tuple of SensorError
        Of the sensors whose first pulse lies in the run.
    tolerance : float
        Asked relative error of every peak and arrival.
    sufficient_step : float
        The largest step that meets it by the error bars, and at which the order is known to hold
        [s]; nan where there is no pulse.
    largest_known_step : float
        The largest step at which the order is known to hold: it was seen here, or is tested for
        every law [s].
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
    def order_used(self) -> float:
        """Order that the error bars are made with: the observed one, at most the law's own."""
        return order_of_bars(self.order, self.order_stated)

    @property
    def doubt(self) -> str:
        """Why the order is not confirmed, a sentence; empty where it is."""
        if self.confirmed:
            return ""
        if self.order > HIGHEST_ORDER:
            return (
                f"An order above {HIGHEST_ORDER:g} is not possible for this scheme of order two. "
                "Errors of the smaller steps cancel by chance, or the larger steps are too long "
                "for the case."
            )
        return (
            "The order is not reached. The step is too long for the case, or the case has a jump "
            "that the law does not declare."
        )

    @property
    def largest(self) -> float:
        """Largest error bar at the case's own step and samples, relative [1]; nan without a
        pulse."""
        return max((sensor.relative_of_all for sensor in self.sensors), default=math.nan)

    @property
    def kept(self) -> bool:
        """Whether the case's own step and samples meet the tolerance, with an order that is
        confirmed."""
        return self.confirmed and self.largest <= self.tolerance

    def _repr_html_(self) -> str:
        """What a notebook shows: order and steps, and each sensor's numbers with error bars."""
        facts = [
            ("observed order", f"{self.order:.3g}", f"{self.law} declares {self.order_stated}"),
            ("time step", f"{self.time_step:.4g}", "s"),
            (f"step for {100.0 * self.tolerance:g} % error", f"{self.sufficient_step:.4g}", "s"),
            ("largest error bar", f"{100.0 * self.largest:.3g}", "%"),
        ]
        rows = [
            (
                str(one.bead),
                f"{one.peak:.6g} +- {one.peak_error + one.peak_sampling:.2g}",
                f"{1e6 * one.arrival:.6g} +- "
                f"{1e6 * (one.arrival_error + one.arrival_sampling):.2g}",
            )
            for one in self.sensors
        ]
        beads = table(("sensor bead", "peak [N]", "arrival [us]"), rows, styled=True)
        return facts_card(self.title, facts, beads, notes=[self.doubt] * bool(self.doubt))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, words and lists; a number that is not finite is None."""
        facts = dataclasses.asdict(self) | {
            "doubt": self.doubt,
            "largest_relative_error": self.largest,
            "kept": self.kept,
        }
        return dict(plain_data(facts))


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
        As for `run`.

    Examples
    --------
    >>> import granchain as gc
    >>> changes = {"chain.beads": 6, "sensors.beads": [3], "time.end": 1e-4}
    >>> found = gc.verify(gc.load_case("steel-chain-hertz").replace(**changes))
    >>> found.largest < 1e-3
    True
    """
    chain, contacts, own = prepare(case)
    tested = TESTED * time_step_of(contacts, chain, "auto", case.time.end).value
    factors: tuple[float, ...] = AROUND if AROUND[0] * own.value <= tested else BELOW
    coarsest, finest = factors[0] * own.value, FOURTH * factors[-1] * own.value
    stride, instants = (
        own.stride(case.sensors.interval),
        max(1, round(case.time.end / COMPARED_INSTANTS / coarsest)) * coarsest,
    )
    close = saved_every(stride, round(case.time.end / finest) * len(case.sensors.beads))
    results = [
        at_step(case, factor * own.value, close, instants, factor > 1.0) for factor in factors
    ]
    order, stated = order_of_motion(results), laws()[case.contact.law].order
    if not confirms(order, stated):
        factors = (*factors, FOURTH * factors[-1])
        results.append(at_step(case, finest, close, instants, False))
        order = order_of_motion(results)
    confirmed, used, known = (
        confirms(order, stated),
        order_of_bars(order, stated),
        max(coarsest, tested),
    )
    sensors = sensor_errors(
        case, results, factors, stride // close, used, CONFIRMED if confirmed else UNCONFIRMED
    )
    steps = tuple(factor * own.value for factor in factors)
    balances = [energy_balance(result) for result in results]
    residuals = tuple(
        math.nan if balance is None else balance.largest_residual for balance in balances
    )
    # the step at which the largest of the error bars is the tolerance
    bar = max((sensor.relative for sensor in sensors), default=math.nan)
    sufficient = (
        min(known, own.value * (tolerance / bar) ** (1.0 / used))
        if bar > 0.0
        else known
        if sensors
        else math.nan
    )
    return Verification(
        title=case.title,
        law=case.contact.law,
        time_step=own.value,
        limit=own.limit,
        steps=steps,
        interval=stride * own.value,
        order=order,
        order_stated=stated,
        confirmed=confirmed,
        residuals=residuals,
        sensors=sensors,
        tolerance=tolerance,
        sufficient_step=sufficient,
        largest_known_step=known,
    )


def at_step(case: Case, step: float, close: int, instants: float, coarser: bool) -> Result:
    """The case at another step, every so many of its steps sampled, its snapshots at instants
    that all steps hit."""
    changes: dict[str, Any] = {
        "time.step": step,
        "sensors.interval": close * step,
        "sensors.contacts": [],
    }
    changes["snapshots"] = {"interval": instants}
    if coarser:
        # only compared with: its ledger need not close within the bound of the case's own step
        changes["energy.bound"] = max(case.energy.bound, 1.0)
    return run_to_end(case.replace(**changes))


def order_of_motion(results: list[Result]) -> float:
    """Observed order of the velocities of all bodies over the whole run; nan where the step changes
    nothing but rounding.

    The slope of the differences between each step and the next over the step.
    """
    n = min(len(result.velocity) for result in results)
    # the last instant is the end of the run, which not all steps hit
    motions = [result.velocity[: n - 1] for result in results]
    differences = [float(np.sqrt(np.mean((one - other) ** 2))) for one, other in pairwise(motions)]
    fine, force = results[-1], results[-1].contact_peak_force.max()
    largest = float(np.abs(motions[-1]).max(initial=0.0) + force * fine.time_step / fine.mass.min())
    if min(differences) <= PEAK_ROUNDING * largest:
        return math.nan
    return observed_order([result.time_step for result in results[:-1]], differences)


def confirms(order: float, stated: int) -> bool:
    """Whether an observed order is the one that a law states; if only rounding differs (nan),
    there is none to confirm."""
    return math.isnan(order) or stated - SLACK <= order <= HIGHEST_ORDER


def order_of_bars(order: float, stated: int) -> float:
    """Order that the error bars are made with: the observed one, at most the law's own."""
    return float(stated) if math.isnan(order) else min(max(order, LOWEST_ORDER), float(stated))


def saved_every(stride: int, values: int) -> int:
    """Steps from one saved sample to the next, a divisor of the case's own `stride`: one, or
    more where that makes too many `values`."""
    most = max(1, stride * COMPARED_VALUES // max(values, COMPARED_VALUES))
    return stride // next(parts for parts in range(most, 0, -1) if stride % parts == 0)


def sensor_errors(
    case: Case,
    results: list[Result],
    factors: tuple[float, ...],
    every: int,
    order: float,
    safety: float,
) -> tuple[SensorError, ...]:
    """Peaks and arrivals of the case's own samples, with error bars, of the pulses that are whole
    at every step and sampling.

    The peaks of all steps are taken from samples at common instants. The case's own samples are
    every so many of those at its step.
    """
    if not case.sensors.beads:
        return ()
    own = factors.index(1.0)
    # at common instants: each sample of the coarsest step, every second one of the next, and so on
    common = [round(factors[0] / factor) for factor in factors]
    finer = round(1.0 / factors[-1])
    found = []
    for i, bead in enumerate(case.sensors.beads):
        tops = [sensor_peak(result, i, n) for result, n in zip(results, common, strict=True)]
        sampled, close = sensor_peak(results[own], i, every), sensor_peak(results[own], i)
        # samples as far apart as those at the case's own step, at each place that they can have on
        # the pulse, and closer ones
        placed, closest = (
            [sensor_peak(results[-1], i, finer, phase) for phase in range(finer)],
            sensor_peak(results[-1], i),
        )
        if not all(top.complete for top in (*tops, sampled, close, *placed, closest)):
            continue
        found.append(
            SensorError(
                bead=bead,
                peak=sampled.force,
                peak_error=error_bar([top.force for top in tops], factors, order, safety),
                peak_sampling=sampling_error(
                    sampled.force, close.force, [top.force for top in placed], closest.force
                ),
                arrival=sampled.time,
                arrival_error=error_bar([top.time for top in tops], factors, order, safety),
                arrival_sampling=sampling_error(
                    sampled.time, close.time, [top.time for top in placed], closest.time
                ),
            )
        )
    return tuple(found)


def sampling_error(sampled: float, close: float, placed: list[float], closest: float) -> float:
    """Error of a peak or arrival by its samples: its distance to the one from close samples of the
    same run, and the error of that.

    The error of the parabola falls with the square of the interval at least, so what is left of it
    beyond `n` times closer samples is 1/(n^2 - 1) of the difference.
    """
    n = len(placed)
    rest = max(abs(value - closest) for value in placed) * n * n / (n * n - 1.0)
    return CONFIRMED * (abs(sampled - close) + rest)


def error_bar(
    values: list[float], factors: tuple[float, ...], order: float, safety: float
) -> float:
    """Error bar of a quantity at the case's own step: its distance to step 0 by the pair of
    steps that gives the largest."""
    pairs = zip(pairwise(values), pairwise(factors), strict=True)
    # from each pair the error of its finer step, and from that the one of the case's own; where the
    # order holds the pairs agree
    own = [
        abs(richardson(coarse, fine, wide / narrow, order).error) / narrow**order
        for (coarse, fine), (wide, narrow) in pairs
    ]
    return safety * max(own)
