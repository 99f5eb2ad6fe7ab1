"""The error bars of `verify` cover the true errors of peaks and arrivals, and are not much wider.

The cases are random, with every law."""

import sys

import numpy as np
import pytest
from support.random_cases import jumps, kind_of, random_cases

import granchain as gc
from granchain.analysis.results import measured_pulses
from granchain.simulation import prepare
from granchain.verification import verify

# Divisor of the step of the case for the true value: with order two, 1/256 of the error remains.
REFINED = 16.0
# Number of samples of that run: thousands per width of a pulse.
SAMPLES = 1_000_000
# Neighbouring samples of the refined run that differ by this much, relative to the peak, are on
# both sides of a jump, because the top of a smooth pulse is flat.
JUMP = 1e-3
# Laws whose loops other short tests compile: elastic, with residual indentation, each dashpot, and
# with a jump.
FEW = ("hertz", "ma-liu", "flores", "tsuji", "wang-liu-viscous")


def exact_peak(fine, sensor):
    """Return peak [N] and arrival [s] of a refined run, and their remaining errors.

    At a jump, the peak is the largest sample, and no parabola is used.
    """
    force = fine.sensor_force[:, sensor]
    pulse = measured_pulses(fine).record(sensor)
    i = pulse.sample
    beside = np.abs(force[[i - 1, i + 1]] - force[i])
    if beside.max() > JUMP * abs(force[i]):
        return force[i], fine.time[i], beside.min(), fine.time[1] - fine.time[0]
    return pulse.peak, pulse.top, 0.0, 0.0


def seen_in(cases):
    """Return for every sensor of every case the kind of law, whether it jumps, and errors and bars.

    They include step and samples, and are relative to peak and arrival.
    """
    seen = []
    for case in cases:
        found, like = verify(case), {"kind": kind_of(case.contact.law), "jumps": jumps(case)}
        # a small step, sampled densely
        step = found.time_step / REFINED
        small = {"time.step": step, "sensors.interval": max(step, case.time.end / SAMPLES)}
        fine = gc.run(case.replace(**small, **{"energy.bound": 1.0}))
        for k, bead in enumerate(found.sensor_bead):
            force, time, force_open, time_open = exact_peak(fine, case.sensors.beads.index(bead))
            peak, peak_bar = found.peak[k], found.peak_error[k] + found.peak_sampling[k]
            arrival, bar = found.arrival[k], found.arrival_error[k] + found.arrival_sampling[k]
            seen.append(
                like
                | {"peak error": (abs(peak - force) - force_open) / force}
                | {"peak bar": peak_bar / force}
                | {"arrival error": (abs(arrival - time) - time_open) / time}
                | {"arrival bar": bar / time}
            )
    return seen


def report(seen, among, figure, least, medians=True):
    """Return the fraction of covered errors, and the width of the bars."""
    for what in ("peak", "arrival"):
        errors, bars = (
            np.array([one[f"{what} {part}"] for one in seen]) for part in ("error", "bar")
        )
        errors = np.maximum(errors, 0.0)
        figure(f"{what}s covered, of {len(seen)}, {among}", np.mean(errors <= bars), at_least=least)
        if medians:
            # a bar cannot be smaller than the error that it covers
            told = f"median bar of {what}s over their median error, {among}"
            figure(told, np.median(bars) / np.median(errors), at_least=1.0, at_most=4.0)


# Every step is sampled, so that the complete error is due to the step; and the drawn interval.
EVERY, DRAWN = "every step sampled", "samples 0.2 to 4 us apart"


def every_step(cases):
    """Return the cases with every step sampled."""
    for case in cases:
        yield case.replace(**{"sensors.interval": prepare(case)[2].value})


@pytest.mark.promise("N11")
def test_the_error_bars_cover_the_errors_of_random_cases(figure):
    seen = seen_in(every_step(random_cases(20, 11, FEW, beads=(8, 12), bare=True)))
    assert len(seen) > 3 * 20
    report(seen, f"20 random cases of five laws, {EVERY}", figure, 0.95)


@pytest.mark.parametrize("sampled", [EVERY, DRAWN])
@pytest.mark.promise("N11")
@pytest.mark.long
def test_the_error_bars_cover_the_errors_of_many_random_cases_of_every_law(sampled, figure):
    cases = random_cases(204, 1)
    seen = seen_in(every_step(cases) if sampled == EVERY else cases)
    assert len(seen) > 3 * 204
    report(seen, f"204 random cases of every law, {sampled}", figure, 0.95)
    for jumping, which, least in ((True, "that jump", 0.9), (False, "without jumps", 0.95)):
        some = [one for one in seen if one["jumps"] == jumping]
        report(some, f"laws {which}, {sampled}", figure, least)
    for kind in sorted({one["kind"] for one in seen}):
        some = [one for one in seen if one["kind"] == kind]
        report(some, f"{kind} laws, {sampled}", figure, 0.9, medians=False)


@pytest.mark.promise("N11")
@pytest.mark.long
@pytest.mark.parametrize("values", [20_000, 100])
def test_the_error_bars_cover_the_errors_where_not_every_step_can_be_saved(
    values, figure, monkeypatch
):
    # some samples between those of the case, and none
    monkeypatch.setattr(sys.modules[verify.__module__], "COMPARED_VALUES", values)
    seen = seen_in(random_cases(20, 11, FEW, beads=(8, 12), bare=True))
    report(seen, f"20 random cases of five laws, {values} samples saved at most", figure, 0.95)
