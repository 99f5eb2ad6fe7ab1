"""The error bars of `verify` cover the true errors of peaks and arrivals, over random cases of
every law, and are not far wider."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pytest
from support.random_cases import jumps, kind_of, random_cases

import granchain as gc
from granchain.analysis import first_pulse, sensor_peak
from granchain.case import Case
from granchain.simulation import prepare
from granchain.store import Result
from granchain.verification import SensorError, Verification, verify

# Times the case's own step is divided by for the value that counts as true: of order two, 1/256 of
# its error is left.
REFINED = 16.0
# Samples of that run: thousands in the width of a pulse.
SAMPLES = 1_000_000
# Neighbouring samples of the refined run that differ by so much, relative to the peak, lie on both
# sides of a jump: the top of a smooth pulse is flat.
JUMP = 1e-3
# Laws whose loops other short tests compile: elastic, elastoplastic, with a dashpot of each kind,
# with a jump at the onset.
FEW = ("hertz", "ma-liu", "flores", "tsuji", "wang-liu-viscous")


class Exact(NamedTuple):
    """Peak [N] and arrival [s] of a refined run, and what its samples leave open of each."""

    force: float
    time: float
    force_open: float
    time_open: float


class Seen(NamedTuple):
    """Errors and bars of one sensor, relative to peak and arrival [1]."""

    kind: str
    jumps: bool
    peak_error: float
    peak_bar: float
    arrival_error: float
    arrival_bar: float


def refined(case: Case, found: Verification) -> Result:
    """The case at a small step, sampled densely."""
    step = found.time_step / REFINED
    interval = max(step, case.time.end / SAMPLES)
    return gc.run(
        case.replace(**{"time.step": step, "sensors.interval": interval, "energy.bound": 1.0})
    )


def exact_peak(fine: Result, sensor: int) -> Exact:
    """Peak and arrival of a refined run: at a jump the largest sample, and no parabola."""
    force = fine.sensor_force[:, sensor]
    window = first_pulse(force, float(force[0]))
    i = window.start + int(np.argmax(force[window]))
    beside = np.abs(force[[i - 1, i + 1]] - force[i])
    if beside.max() > JUMP * abs(force[i]):
        return Exact(
            float(force[i]),
            float(fine.time[i]),
            float(beside.min()),
            float(fine.time[1] - fine.time[0]),
        )
    top = sensor_peak(fine, sensor)
    return Exact(top.force, top.time, 0.0, 0.0)


def compared(one: SensorError, exact: Exact, kind: str, jumping: bool) -> Seen:
    """The bars of a sensor, step and samples together, against its true errors."""
    by_peak, by_arrival = (
        max(0.0, abs(one.peak - exact.force) - exact.force_open),
        max(0.0, abs(one.arrival - exact.time) - exact.time_open),
    )
    peak_bar, arrival_bar = (
        one.peak_error + one.peak_sampling,
        one.arrival_error + one.arrival_sampling,
    )
    return Seen(
        kind,
        jumping,
        by_peak / exact.force,
        peak_bar / exact.force,
        by_arrival / exact.time,
        arrival_bar / exact.time,
    )


def seen_in(cases: Iterable[Case]) -> list[Seen]:
    """Every sensor of every case."""
    seen = []
    for case in cases:
        found = verify(case)
        fine, kind, jumping = refined(case, found), kind_of(case.contact.law), jumps(case)
        places = {bead: i for i, bead in enumerate(case.sensors.beads)}
        seen += [
            compared(one, exact_peak(fine, places[one.bead]), kind, jumping)
            for one in found.sensors
        ]
    return seen


def report(
    seen: list[Seen], among: str, figure: Callable[..., None], least: float, medians: bool = True
) -> None:
    """How many errors are covered, and how wide the bars are."""
    for what in ("peak", "arrival"):
        errors, bars = (
            np.array([getattr(one, f"{what}_{part}") for one in seen]) for part in ("error", "bar")
        )
        figure(f"{what}s covered, of {len(seen)}, {among}", np.mean(errors <= bars), at_least=least)
        if medians:
            # a bar can be no smaller than the error that it covers
            ratio = np.median(bars) / np.median(errors)
            figure(
                f"median bar of {what}s over their median error, {among}",
                ratio,
                at_least=1.0,
                at_most=4.0,
            )


# The interval as drawn; and every step sampled, where all of the error is that of the step.
SAMPLED = pytest.mark.parametrize(
    "sampled",
    [pytest.param("samples 0.2 to 4 us apart", marks=pytest.mark.long), "every step sampled"],
)


def sampled_at(cases: Iterable[Case], sampled: str) -> Iterator[Case]:
    """The cases, with another interval where every step is to be sampled."""
    for case in cases:
        yield (
            case.replace(**{"sensors.interval": prepare(case)[2].value})
            if sampled == "every step sampled"
            else case
        )


@SAMPLED
@pytest.mark.promise("N11")
def test_the_error_bars_cover_the_errors_of_random_cases(sampled, figure):
    seen = seen_in(sampled_at(random_cases(20, 11, FEW, beads=(8, 12), bare=True), sampled))
    assert len(seen) > 3 * 20
    report(seen, f"20 random cases of five laws, {sampled}", figure, 0.95)


@SAMPLED
@pytest.mark.promise("N11")
@pytest.mark.long
def test_the_error_bars_cover_the_errors_of_many_random_cases_of_every_law(sampled, figure):
    seen = seen_in(sampled_at(random_cases(204, 1), sampled))
    assert len(seen) > 3 * 204
    report(seen, f"204 random cases of every law, {sampled}", figure, 0.95)
    report([one for one in seen if one.jumps], f"laws that jump, {sampled}", figure, 0.9)
    report([one for one in seen if not one.jumps], f"laws without jumps, {sampled}", figure, 0.95)
    for kind in sorted({one.kind for one in seen}):
        report(
            [one for one in seen if one.kind == kind],
            f"{kind} laws, {sampled}",
            figure,
            0.9,
            medians=False,
        )


@pytest.mark.promise("N11")
@pytest.mark.long
@pytest.mark.parametrize("values", [20_000, 100])
def test_the_error_bars_cover_the_errors_where_not_every_step_can_be_saved(
    values, figure, monkeypatch
):
    # some samples between the case's own, and none
    monkeypatch.setattr(sys.modules[verify.__module__], "COMPARED_VALUES", values)
    seen = seen_in(random_cases(20, 11, FEW, beads=(8, 12), bare=True))
    report(seen, f"20 random cases of five laws, {values} samples saved at most", figure, 0.95)
