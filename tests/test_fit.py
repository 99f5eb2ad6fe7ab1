"""Fit: parameters of a case from a trace, their errors, and what the trace cannot distinguish."""

import json
import math
import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.signal import detrend, lfilter
from support import short_chains
from support.between_runs import BetweenRuns
from support.noise_kinds import KINDS, OWN, STATED, noisy
from support.refused import assert_refused, refused
from support.traces import changed

import granchain as gc
from granchain.cli import obey
from granchain.errors import CaseError, FileError, RunError, TraceError
from granchain.measured import Trace, fit_problem, fitted
from granchain.measured import fit as module
from granchain.measured.about import about_of
from granchain.measured.baseline import baseline_of
from granchain.measured.folder import csv_text
from granchain.measured.noise import (
    Noise,
    sine_in,
    sines_of_common_source,
    statistical_inefficiency,
)
from granchain.measured.ranking import differences_of_laws, ranking_of
from granchain.show.report import report
from granchain.store import Label

KEYS = ["contact.psi", "striker.speed"]
# of the case steel-chain
TRUE = {"contact.psi": 2.84, "striker.speed": 1.77}
INTERVAL, QUIET, CLOCK = 1e-6, 60, 1.3e-5


def short(**changes):
    return short_chains.short(**{"sensors.beads": [2, 4, 6, 8, 10]} | changes)


@cache
def true_run(law="ma-liu", restitution=None):
    own = {} if restitution is None else {"contact.restitution": restitution}
    return gc.run(short(**{"contact.law": law} | own))


def rig(**more):
    return about_of({"title": "made up", "kind": "synthetic"} | more, "test")


def synthetic(noise=0.0, seed=0, gain=1.0, said=None, of=("ma-liu",)):
    """Return a trace of the case, with a baseline, noise as a fraction of the largest force, and
    errors.

    It has a clock and a calibration error.
    """
    result = true_run(*of)
    _, force = gc.Sensor(interval=INTERVAL).read(result.time, result.sensor_force)
    force = gain * np.vstack([np.zeros((QUIET, force.shape[1])), force])
    draw = np.random.default_rng(seed)
    force += noise * result.sensor_force.max() * draw.standard_normal(force.shape)
    time = INTERVAL * (np.arange(len(force)) - QUIET) + CLOCK
    about = rig(uncertainty=said or {})
    return Trace(time=time, force=force, beads=result.sensor_bead, about=about)


def start():
    return short(**{"contact.psi": 2.75, "striker.speed": 1.8})


@pytest.mark.parametrize(
    "measure",
    [
        *(pytest.param(one, marks=pytest.mark.long) for one in ("peaks", "arrivals")),
        "features",
        "traces",
    ],
)
def test_the_values_are_found_where_there_is_no_noise(measure):
    found = gc.fit(start(), synthetic(), KEYS, measure)
    for key, true in TRUE.items():
        # both sides are read from nearly the same samples: the residual has no noise, and is
        # smaller than 1e-4 for peaks and times
        assert (
            abs(found.values[key] - true) < max(3.0 * found.errors[key], 1e-4 * true)
            and found.errors[key] < 0.1 * true
        )
    assert found.case == start().replace(**found.values) and found.start == {
        "contact.psi": 2.75,
        "striker.speed": 1.8,
    }
    assert len(found.residuals) == len(found.sensor_bead) == 5
    # the computed run begins QUIET samples after the trace
    assert found.time_shift == pytest.approx(
        math.nan if measure == "peaks" else QUIET * INTERVAL, abs=5e-7, nan_ok=True
    )
    assert found.correlation == pytest.approx(
        found.covariance / np.outer(*[list(found.errors.values())] * 2), rel=1e-9
    )


def test_the_shift_of_the_clock_has_an_error():
    found = gc.fit(start(), synthetic(0.01), KEYS, "features")
    # a thousandth of the time of the pulse from the first sensor to the last
    assert abs(found.time_shift - QUIET * INTERVAL) < 4.0 * found.time_shift_error < 1e-6


def test_the_largest_of_many_deviations_is_suspicious_once_in_100():
    # quantiles of the normal distribution: 0.995, and (1 + 0.99^(1/10))/2
    assert fitted.largest_by_chance(1) == pytest.approx(2.5758, abs=1e-4)
    assert fitted.largest_by_chance(10) == pytest.approx(3.2892, abs=1e-4)
    draws = np.abs(np.random.default_rng(0).standard_normal((100_000, 10))).max(axis=1)
    assert np.mean(draws > fitted.largest_by_chance(10)) == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize(("cutoff", "measure"), [(0.0, "features"), (1e5, "peaks")])
def test_computed_pulses_are_read_as_measured_ones_are(cutoff, measure):
    # for noise of 1 % of the largest force, which does not exist: peaks are read from stretches
    # that cut off a part of them, on both sides, from forces that were filtered once
    sigma = 0.01 * true_run().sensor_force.max()
    trace = synthetic(said={"noise": float(sigma)})
    found = gc.fit(start(), trace, KEYS, measure, cutoff=cutoff)
    # measured: error of at most 7e-4; if the computed peaks are not read in this way, the speed has
    # an error of 2.8e-3, and if the times are not, psi has an error of 1.5e-3
    assert found.values == pytest.approx(TRUE, rel=1e-3)


def two_peaks_off():
    """Return a trace that no case describes: the peaks of two sensors are 10 % too high and too
    low."""
    trace = synthetic(0.01)
    return changed(trace, force=trace.sensor_force * [1.0, 1.1, 1.0, 0.9, 1.0])


@pytest.mark.usefixtures("between")
def test_intervals_are_those_of_student_with_the_degrees_of_noise_or_of_what_is_left():
    found, strange = (gc.fit(start(), trace, KEYS) for trace in (synthetic(0.01), two_peaks_off()))
    # of Student's distribution with the degrees of freedom of the noise, which follow from hundreds
    # of samples before the pulses, 95 % are below 1.65; five peaks minus two keys are 3 degrees, of
    # which 95 % are below 2.353 (Student 1908's table as in JCGM 100, G.2)
    for one, quantile in ((found, 1.65), (strange, 2.353)):
        assert one.degrees_of_freedom == pytest.approx(3.0, abs=1e-9)
        for key, (low, high) in one.interval(0.9).items():
            halves = np.array([high - one.values[key], one.values[key] - low])
            assert halves / one.errors[key] == pytest.approx([quantile] * 2, rel=3e-3)
    assert found.describes and not strange.describes
    # times that are not compared are still on the clock of the trace
    assert abs(np.mean(found.arrival_computed - found.arrival_measured)) < 0.1 * CLOCK
    with pytest.raises(
        CaseError, match=r"level: 90 is out of range. It must be a number above 0 and below 1"
    ):
        found.interval(90)


def with_noise(kind, seed, level=0.01, of=("ma-liu",)):
    """Return a trace of the case with noise of a kind, or with individual gains or clocks of the
    sensors."""
    clean = synthetic(of=of)
    size = level * float(true_run(*of).sensor_force.max())
    force = noisy(clean.sensor_force, INTERVAL, kind, size, seed)
    return changed(clean, force=force, about=rig(**STATED.get(kind, {})))


# Smallest and largest number of 90 % intervals that cover the truth: for each key, each kind, and
# all.
HELD, ALL_HELD = (0.8, 0.98), (0.88, 0.92)
# Largest width of an interval, in standard deviations of the results.
WIDEST = 2.5


# Limits of the results of all fits, except for some fits of peaks alone.
BOX = ((2.3, 3.5), (1.5, 2.1))


@cache
def between_runs():
    return BetweenRuns(before_any_run(with_noise("white", 0), start(), measure="peaks"), BOX)


@pytest.fixture
def between(monkeypatch):
    """Interpolate computed forces between runs, because the test is about their analysis."""
    monkeypatch.setattr(module.FitProblem, "_computed", between_runs().computed)


@cache
def covered(measures, kind, draws):
    """Return by measure, (key,), the number of covering 90 % intervals and their median half width.

    The width is in standard deviations of the results. Also return the fraction of cases that are
    reported not to describe the measurement. Traces whose noise hides too many pulses are left out.
    """
    fits = {measure: [] for measure in measures}
    true = np.array([TRUE[key] for key in KEYS])
    for seed in range(2 * draws):
        asked = [measure for measure in measures if len(fits[measure]) < draws]
        if not asked:
            break
        trace = with_noise(kind, seed)
        read = module.pulses_of_trace(start(), trace, None)
        with pytest.MonkeyPatch.context() as patch:
            # a trace is read once for all measures
            patch.setattr(module, "Measured", lambda *_, read=read: read)
            patch.setattr(module.FitProblem, "_computed", between_runs().computed)
            for measure in asked:
                try:
                    found = gc.fit(start(), trace, KEYS, measure, threads=1)
                except TraceError as error:
                    assert "At least as many numbers as keys are required" in str(error)
                    continue
                ends = np.array([found.interval(0.9)[key] for key in KEYS])
                fits[measure].append((*(ends.T - true), found.describes))
    answers = {}
    for measure, rows in fits.items():
        low, high, describes = map(np.array, zip(*rows, strict=True))
        scatter = np.sqrt(np.mean((0.5 * (low + high)) ** 2, axis=0))
        held = np.sum((low <= 0.0) & (high >= 0.0), axis=0)
        wide = np.median(0.5 * (high - low), axis=0) / scatter
        answers[measure] = held, wide, int(np.sum(~describes))
    return answers


DRAWS = 100
MEASURES = ("traces", "features", "peaks")


@pytest.mark.long
@pytest.mark.promise("N12")
@pytest.mark.parametrize("kind", [*KINDS, *OWN])
@pytest.mark.parametrize("measure", MEASURES)
def test_intervals_hold_under_noise_of_any_kind(figure, measure, kind):
    held, wide, accused = covered(MEASURES, kind, DRAWS)[measure]
    # with a threshold of 1 %, more than 3 of 100 occur in one of fifty sets of a hundred
    figure(f"of {DRAWS} right laws accused", accused, at_most=3)
    for key, share, ratio in zip(KEYS, held / DRAWS, wide, strict=True):
        figure(f"{key}: 90 % intervals that hold", share, at_least=HELD[0], at_most=HELD[1])
        figure(f"{key}: half width over scatter", ratio, at_least=0.0, at_most=WIDEST)


@pytest.mark.long
@pytest.mark.promise("N12")
@pytest.mark.parametrize("measure", MEASURES)
def test_intervals_hold_as_often_as_they_say(figure, measure):
    of_kinds = [covered(MEASURES, kind, DRAWS)[measure][0] for kind in (*KINDS, *OWN)]
    held = np.mean(of_kinds, axis=0) / DRAWS
    for key, share in zip(KEYS, held, strict=True):
        what = f"ten kinds of noise, {key}: 90 % intervals that hold"
        figure(what, share, at_least=ALL_HELD[0], at_most=ALL_HELD[1])


@pytest.mark.usefixtures("between")
def test_a_sine_that_the_quiet_stretch_shows_is_foretold():
    # at 20 kHz, 1 % of the largest force, in addition to white noise of 0.3 %
    turn, size = 2.0 * math.pi * 2e4 * INTERVAL, 0.01 * float(true_run().sensor_force.max())
    draws = range(10)
    shown = [
        noisy(np.zeros((80, 1)), INTERVAL, "20 kHz interference", size, seed)[:, 0]
        for seed in draws
    ]
    for quiet in shown:
        sine, line = sine_in(quiet), baseline_of(quiet, Noise(size, np.empty(0)))
        assert abs(sine.turn - turn) < 4.0 * sine.turn_error < 0.4 * turn
        assert np.sqrt(2.0 * np.mean(sine.samples**2)) == pytest.approx(size, rel=0.3)
        # white noise leaves 0.3/sqrt(80) of the size uncertain; means of parts of a sine wander
        # more
        assert line.value_error < 0.1 * size
    # with a common source, the phase advance at each sensor follows from the other sensors, and is
    # more certain
    for one in sines_of_common_source(shown):
        assert one.turn_error < min(sine_in(quiet).turn_error for quiet in shown)
        assert abs(one.turn - turn) < 4.0 * one.turn_error
    # noise without a sine has one in few draws only; measured: 0 and 1 of 100
    for kind, most in (("white", 0), ("AR(1)", 5)):
        force = noisy(np.zeros((80, 100)), INTERVAL, kind, size, 1)
        assert sum(sine_in(quiet).turn > 0.0 for quiet in force.T) <= most
    # because the sine is known, the result is more certain: 0.0033 measured, and 0.013 if its power
    # is spread over a broad line; the gaps that sines leave in the spectra of five stretches of
    # white noise are not correlation
    found = gc.fit(start(), with_noise("20 kHz interference", 5), KEYS, "traces")
    assert found.describes
    assert 0.001 < found.errors["contact.psi"] < 0.006
    assert abs(found.values["contact.psi"] - 2.84) < 4.0 * found.errors["contact.psi"]


def before_any_run(trace, case, cutoff=None, measure="traces"):
    return module.FitProblem(case, module.pulses_of_trace(case, trace, cutoff), measure, KEYS, 1)


def test_noise_that_is_stated_goes_through_the_filter_too():
    # as large as in the baseline, whose 60 filtered samples determine it within a quarter
    stated = {"noise": 0.01 * float(true_run().sensor_force.max())}
    traces = [synthetic(0.01, 3, said=said) for said in ({}, stated)]
    shown, known = (before_any_run(trace, start(), 1e5).predictions for trace in traces)
    ratios = [np.linalg.norm(known[k].root) / np.linalg.norm(shown[k].root) for k in shown]
    # white noise loses 3/5 of its size in this filter: without it, the values are 1.5 to 2.7
    assert min(ratios) > 0.7 and max(ratios) < 1.35


def test_noise_about_a_line_of_its_own_is_as_large_as_is_foretold():
    # correlated over 4.6 samples: phi^k for two samples at a distance of k
    row, draw = 0.8 ** np.arange(300.0), np.random.default_rng(2)
    own = lfilter([0.6], [1.0, -0.8], draw.standard_normal((3000, 180)))[:, 100:]
    about_line = np.mean(detrend(own) ** 2) * fit_problem.variance_about_true_line(row, 80)
    # 1.025; the variance about its line is 0.8
    assert about_line == pytest.approx(1.0, abs=0.04)
    degrees, _ = fit_problem.noise_degrees_of_freedom(80, statistical_inefficiency(row), 1)
    assert np.var(np.mean(own**2, axis=1)) == pytest.approx(2.0 / degrees, rel=0.06)
    # noise with this correlation length, by how it is read
    told = before_any_run(with_noise("AR(1)", 0), start(), measure="features")
    samples = np.array([one.baseline.samples for one in told.measured.readings])
    assert 3.0 < np.mean(samples / told.quiet_degrees) < 7.0


def test_a_disturbance_moves_no_line_and_an_unsure_baseline_moves_all_samples_of_a_pulse():
    force = np.random.default_rng(0).standard_normal(90)
    window, places, row = slice(70, 90), np.arange(90), np.eye(1, 90)[0]

    def told(force, value_error=0.0):
        baseline = SimpleNamespace(middle=34.5, value_error=value_error)
        readings = [SimpleNamespace(baseline=baseline)]
        measured = SimpleNamespace(force=force[:, None], readings=readings)
        return fit_problem._about_line(measured, 0, places, window, row)

    line, root = told(force)
    struck = told(np.where(places == 60, 40.0, force))[0]
    assert np.abs(struck - line).max() < 0.2
    unsure = told(force, 0.3)[1]
    assert unsure @ unsure.T - root @ root.T == pytest.approx(0.09, rel=1e-6)
    # an undetected slope may exist, so later samples are less certain
    sure = np.linalg.norm(told(0.0 * force)[1], axis=1)
    assert sure[-1] > 1.001 * sure[0]


def test_what_noise_does_not_explain_widens_errors_and_small_residuals_narrow_none():
    # eight numbers and the known gain of the third sensor, and their residuals
    kinds = np.repeat([0, 1], 4)
    slope = np.random.default_rng(0).standard_normal((9, 2))
    inverse, left = np.linalg.pinv(slope), np.append(np.repeat([0.5, 2.0], 4), 0.5)
    free = 1.0 - np.einsum("ij,ji->i", slope, inverse)
    rest = fitted.Residuals(left, free, slope, inverse, np.ones(9, dtype=bool))
    known = [fit_problem.Nuisance(fit_problem.CALIBRATION, 2, 0.03)]
    ask = SimpleNamespace(keys=KEYS, kinds=kinds, priors=known, quiet_degrees=np.full(4, 10.0))
    share = np.append(np.repeat([0.8, 0.5], 4), 1.0)
    ask.noise_share = share[:-1]
    peaks = np.append(kinds == 0, True)

    def parts():
        return fitted._variances(ask, rest, np.ones(2))[0]

    ask.measure = "features"
    variances, degrees = parts()
    # the gain affects the peaks; noise explains their residuals, but not those of the arrivals,
    # which differ by four deviations of their noise
    assert degrees == pytest.approx([40.0, free[~peaks].sum()], rel=1e-12)
    plain = np.array([np.sum(inverse[:, one] ** 2, axis=1) for one in (peaks, ~peaks)])
    of_noise = np.sum((inverse * share)[:, peaks] ** 2, axis=1)
    wide = 4.0 * 4.0 / free[~peaks].sum() * plain[1]
    assert variances == pytest.approx(np.array([of_noise, wide]), rel=1e-12)
    small = fitted._variances(ask, rest._replace(residual=0.1 * left), np.ones(2))[0][0]
    assert sum(small) == pytest.approx(np.sum((inverse * share) ** 2, axis=1), rel=1e-12)
    ask.measure, ask.kinds = "traces", 0 * kinds
    rest = rest._replace(residual=0.5 * np.ones(9))
    variances, degrees = parts()
    # the baselines determine the size; prior values are normal
    assert degrees.tolist() == [40.0, math.inf] and sum(variances) == pytest.approx(
        plain.sum(axis=0)
    )


def test_both_contacts_of_a_sensor_with_unequal_halves_are_recorded_at_a_wall_too():
    about = rig(sensor={"front_mass": 0.2e-3})
    trace = changed(synthetic(), beads=np.array([1, 4, 6, 8, 12]), about=about)
    for own, first in (({}, 0), ({"striker": None, "ends.left": "wall"}, 0)):
        case = start().replace(**{"ends.right": "wall"} | own)
        recorded = before_any_run(trace, case, measure="peaks").case.sensors.contacts
        assert recorded == (first, 1, 3, 4, 5, 6, 7, 8, 11, 12)


@pytest.mark.long
@pytest.mark.usefixtures("between")
def test_gains_and_clocks_of_each_sensor_are_found():
    clean = synthetic(0.002, said={"gain": 0.03, "time": [2e-7] * 5})
    gain, late = np.array([1.03, 0.98, 1.0, 1.02, 0.97]), 1e-7 * np.array([2, -1, 0, -2, 1])
    force = CubicSpline(clean.time, clean.sensor_force, axis=0)
    moved = np.column_stack([force(clean.time - one)[:, k] for k, one in enumerate(late)])
    found = gc.fit(start(), changed(clean, force=gain * moved), KEYS, "traces")
    # a mean gain is correlated with the speed, a mean time with the clock, and a time that grows
    # with psi
    assert found.gain - found.gain.mean() == pytest.approx(gain - gain.mean(), abs=0.01)
    assert np.abs(found.shift - late).max() < 2e-7 < found.shift.max() - found.shift.min()
    assert found.describes and found.common_gain == 1.0
    assert not any("times the" in one for one in found.messages)
    # one sensor differs by more than its stated uncertainty: the message gives the bead and the
    # difference
    gain[2] = 1.2
    strange = gc.fit(start(), changed(clean, force=gain * moved), KEYS, "traces")
    (said_so,) = [one for one in strange.messages if "This is a sign" in one]
    assert "the calibration of the trace, bead 6, is off by +20 %" in said_so
    assert "times its specified uncertainty of 3 %" in said_so


@pytest.mark.usefixtures("between")
def test_a_short_quiet_stretch_is_said_and_widens_the_interval():
    whole = with_noise("AR(1)", 14)
    cut = changed(whole, time=whole.time[40:], force=whole.sensor_force[40:])
    long, short = (gc.fit(start(), trace, KEYS, "traces") for trace in (whole, cut))
    for found, expected in ((long, False), (short, True)):
        assert any("the pre-trigger baseline has" in one for one in found.messages) == expected
    assert short.interval_degrees[0] < long.interval_degrees[0]


def concluding(law, describes, degrees=3.0, **values):
    """Return a fit with values and errors of keys."""
    data = {"describes": describes, "degrees_of_freedom": degrees, "key": list(values), "aic": 0.0}
    units = {"contact.restitution": "1", "striker.speed": "m/s"}
    for key, (value, error) in values.items():
        data |= {key: value, f"{key}_error": error}
    labels = {
        name: Label((), units[name.removesuffix("_error")], "") for name in data if "." in name
    }
    return gc.Fit(data, law=law, labels=labels)


def test_a_report_begins_with_the_answer_in_one_sentence():
    values = {"contact.restitution": (0.80052, 0.00048), "striker.speed": (1.2996, 0.00096)}
    tsuji = concluding("tsuji", True, **values)
    rest = "restitution 0.8005 +- 0.0005, speed 1.300 +- 0.001 m/s"
    assert tsuji.conclusion == f"tsuji describes the measurement: {rest}."
    flores, hertz = (
        concluding(law, False, **{"striker.speed": (1.2, math.inf)}) for law in ("flores", "hertz")
    )
    assert flores.conclusion == (
        "flores does not describe the measurement: speed 1.2 m/s (not determined)."
    )
    assert concluding("hertz", True, 0.0).conclusion.startswith("hertz reproduces the measurement")

    huge = concluding("hertz", True, **{"striker.speed": (1.7e308, 1.7e308)})
    assert huge.conclusion.endswith("speed 2e+308 +- 2e+308 m/s.")

    def ranked(entries, ranks):
        places = list(enumerate(ranks))
        return ranking_of(entries, places, ("aic", "describes"), (), {}).conclusion

    assert ranked([tsuji, flores, hertz], [1, 2, 3]) == (
        f"tsuji describes the measurement: {rest}; flores and hertz do not."
    )
    lun = concluding("lun-savage", True, **values)
    assert ranked([tsuji, lun, hertz], [1, 1, 3]).endswith(
        "; lun-savage describes it equally well; hertz does not."
    )
    assert ranked([tsuji, lun], [1, 2]).endswith("; lun-savage describes it with a larger AIC.")
    assert ranked([flores, hertz], [1, 2]).endswith("(not determined); hertz does not either.")


# The law of a trace, and the law that is fitted to it. The last three leave 1 to 2 % of the peaks,
# which chi squared of all samples detects in few draws: their shape reveals them.
WRONG = (
    (("ma-liu",), "flores"),
    (("ma-liu",), "tsuji"),
    (("ma-liu",), "hertz"),
    (("ma-liu",), "thornton"),
    (("flores", 0.7), "hertz"),
    (("hertz",), "ma-liu"),
    (("flores", 0.7), "tsuji"),
    (("tsuji", 0.7), "flores"),
)
OWN_KEYS = {"ma-liu": {"psi": 2.7}, "flores": {"restitution": 0.7}, "tsuji": {"restitution": 0.7}}


@pytest.mark.promise("N12")
@pytest.mark.parametrize(
    ("pairs", "draws"),
    [
        pytest.param(WRONG[::5], 1, id="two"),
        pytest.param(WRONG, 5, id="eight", marks=pytest.mark.long),
    ],
)
def test_a_law_that_does_not_describe_the_measurement_is_said(figure, pairs, draws):
    missed = set()
    for true, law in pairs:
        own = {f"contact.{name}": value for name, value in OWN_KEYS.get(law, {}).items()}
        case = short(**({"contact.law": law} if law != "ma-liu" else {}) | own)
        for seed in range(draws):
            trace = with_noise("white", seed, 0.03, true)
            found = gc.fit(case, trace, [*own, "striker.speed"], "traces", threads=1)
            said = any(
                "The case does not describe the measurement" in one for one in found.messages
            )
            assert said is not found.describes and found.misfit > 0.03
            if found.describes:
                missed.add((true[0], law, seed))
    what = f"{len(pairs)} pairs of laws at 3 % of noise: fits that were not said to be wrong"
    figure(what, len(missed), at_most=0)


@pytest.mark.long
@pytest.mark.usefixtures("between")
def test_a_calibration_that_is_off_is_found_within_what_is_stated():
    said = [{"common_gain": gain} for gain in (0.0, 0.03)]
    plain, aware = (gc.fit(start(), synthetic(0.002, 3, 1.03, one), KEYS, "traces") for one in said)
    assert aware.common_gain == pytest.approx(1.03, abs=0.01) and plain.common_gain == 1.0
    assert aware.gain == pytest.approx(np.full(5, aware.common_gain)) and not aware.shift.any()
    assert aware.scatter < 1.5 < plain.scatter
    # peaks alone do not determine it: the result is as uncertain as the calibration
    plain, aware = (gc.fit(start(), synthetic(0.01, 3, 1.0, one), KEYS, "peaks") for one in said)
    assert aware.errors["striker.speed"] > 1.5 * plain.errors["striker.speed"]


@pytest.mark.long
def test_keys_that_are_not_told_apart_are_named_and_have_no_error():
    # no contact is fully plastic: the force depends on one combination of psi and xi, see the law
    # of Ma and Liu
    found = gc.fit(start(), synthetic(0.01), ["contact.psi", "contact.xi", "striker.speed"])
    assert found.not_told_apart.tolist() == ["contact.psi, contact.xi"] * 2 + [""]
    assert found.errors["contact.psi"] == found.errors["contact.xi"] == math.inf
    assert found.interval(0.9)["contact.xi"] == (-math.inf, math.inf)
    assert any(
        "contact.psi and contact.xi are not distinguishable" in one for one in found.messages
    )
    assert abs(found.values["striker.speed"] - 1.77) < 4.0 * found.errors["striker.speed"] < 0.5
    # the two count as one fitted number
    assert found.aic == pytest.approx(gc.fit(start(), synthetic(0.01), KEYS).aic, abs=0.05)


def test_every_mistake_is_told_before_anything_is_run(monkeypatch):
    trace = synthetic()
    many = [*KEYS, "contact.xi", "chain.radius", "chain.mass", "chain.material.youngs_modulus"]
    with monkeypatch.context() as patch:
        patch.setattr(fit_problem, "evaluated", lambda *_, **__: pytest.fail("a run"))
        assert_refused(lambda asked: gc.fit(start(), trace, **asked), refused("fit"))
        with pytest.raises(TraceError, match="free: 6 keys exceed 5 measured numbers"):
            gc.fit(start(), trace, many)
        with pytest.raises(
            CaseError,
            match=r"chain.beads: 7 is too few, because the trace has sensors in beads 8, 10",
        ):
            gc.fit(start().replace(**{"chain.beads": 7, "sensors.beads": []}), trace, KEYS)
        with pytest.raises(FileError, match="nowhere: not found"):
            gc.fit(start(), "nowhere", KEYS)
    with pytest.raises(
        RunError, match=r"time.end: by 4e-05 s, the computed pulse has not completely passed"
    ):
        gc.fit(start().replace(**{"time.end": 4e-5}), trace, KEYS, "traces")


@pytest.mark.long
@pytest.mark.usefixtures("blank_pictures")
def test_the_command_prints_and_keeps_what_the_function_finds(here, obeyed, capsys):
    (here / "rig").mkdir()
    (here / "rig" / "about.toml").write_text('title = "made up"\nkind = "synthetic"\n')
    (here / "rig" / "trace.csv").write_text(csv_text(synthetic(0.01)))
    begun = ["fit", "steel-chain", "--trace", "rig"]
    case = [*short_chains.AS_OPTIONS, "--set=contact.psi=2.75"]
    command = [*begun, *case, "--free", "contact.psi"]
    lines = obeyed(*command, "--out", "kept.h5", "--figure", "fit.png").out.splitlines()
    kept = gc.open(here / "kept.h5")
    rows = [line.split() for line in lines]
    assert ["contact.psi", f"{kept['contact.psi']:.6g}"] in rows
    low, high = (f"{kept[f'contact.psi_{end}'][1]:.6g}" for end in ("low", "high"))
    assert ["0.9", high, low] in rows and "made up: synthetic data." in lines
    assert lines[0] == kept.conclusion and lines[0].startswith(
        "ma-liu describes the measurement: psi"
    )
    found = gc.fit(short(**{"contact.psi": 2.75}), "rig", ["contact.psi"])
    assert type(kept) is gc.Fit and kept.values == pytest.approx(found.values, rel=1e-9)
    ends = [kept["contact.psi_low"][1], kept["contact.psi_high"][1]]
    assert ends == pytest.approx(found.interval(0.9)["contact.psi"], rel=1e-6)
    assert kept.case.contact.psi == kept["contact.psi"] and kept["contact.psi_start"] == 2.75
    assert json.loads(kept.provenance["start_case_json"])["tables"]["contact"]["psi"] == 2.75
    # the file contains everything that a figure uses
    assert (here / "fit.png").exists() and gc.figures.fit(kept).axes[0].has_data()
    assert obeyed("plot", "kept.h5").out == "kept-fit.png\n"
    assert "data-made-up" in obeyed("cite", "kept.h5").out
    assert obey([*begun, "--free", "contact.psy"]) == 2
    assert obey([*begun, "--free", "contact.psi", "--out", "kept.txt"]) == 4
    # of two laws: KEY for those that have it, LAW:KEY for one
    several = [*begun, *case, "--law", "ma-liu", "--law", "hertz", "--free", "striker.speed"]
    several += ["--free", "ma-liu:contact.psi"]
    (here / "laws.h5").write_bytes((here / "kept.h5").read_bytes())
    more = ["--out", "laws.h5", "--figure", "laws.png", "--overwrite", "--json"]
    capsys.readouterr()
    printed = json.loads(obeyed(*several, *more).out)
    kept = gc.open(here / "laws.h5")
    facts = json.loads(json.dumps(kept.as_dict()))
    assert {name: printed[name] for name in facts} == facts
    assert (
        printed["law"] == kept["law"].tolist() == [one.law for one in kept] == ["ma-liu", "hertz"]
    )
    assert list(kept[1].values) == ["striker.speed"] and len(kept) == 2
    assert np.isnan(kept["contact.psi"]).tolist() == [False, True]
    page = report([here / "laws.h5"])
    # of the ranking, and of the pulses with each of the two laws
    assert kept.conclusion.endswith("; hertz does not.")
    assert b"<p>ma-liu describes the measurement: speed 1.7" in page and b"hertz does not." in page
    assert b"Ranking: made up" in page and page.count(b'<figure class="picture"') == 3
    assert b"distinguishable" in page and b"Figure not available" not in page
    assert re.search(rb"<td[^>]*>ma-liu</td><t[dh][^>]*>1<", page)
    assert obeyed("plot", "laws.h5").out == "laws-fit.png\n"
    cited = obeyed("cite", "laws.h5").out
    assert all(name in cited for name in ("law ma-liu", "law hertz", "data-made-up"))
    assert (
        '--free: the law "flores" is not one of the laws to fit'
        in obeyed(*several, "--free", "flores:contact.restitution", code=2).err
    )
    assert "--law: hertz is listed twice" in obeyed(*several, "--law", "hertz", code=2).err


# A dashpot that creates the trace, and laws that are fitted to it: the damping of hunt-crossley is
# the same term with another restitution (test_equivalent.py), and hertz lacks it.
FLORES = ("flores", 0.7)
RIVALS = {"hertz": [], "hunt-crossley": ["contact.restitution"], "flores": ["contact.restitution"]}


def told(found):
    """Return whether two laws are distinguishable, by (law, other)."""
    laws = found["law"].tolist()
    pairs = np.ndenumerate(found.distinguishable.tolist())
    return {(laws[i], laws[j]): bool(told) for (i, j), told in pairs if i != j}


@pytest.mark.long
def test_laws_fitted_to_a_trace_are_ranked_and_near_ones_not_told_apart():
    trace = synthetic(0.03, of=FLORES)
    found = gc.fit(short(), trace, ["striker.speed"], "traces", laws=RIVALS)
    ranks = dict(zip(found["law"].tolist(), found.rank.tolist(), strict=True))
    assert ranks == {"flores": 1, "hunt-crossley": 1, "hertz": 3}
    best = next(one for one in found if one.law == "flores")
    off = abs(best.values["contact.restitution"] - 0.7)
    assert off < 4.0 * best.errors["contact.restitution"] and best.describes
    assert best.errors["contact.restitution"] < 0.05
    assert found[-1].law == "hertz" and found[-1].aic > best.aic + 10.0
    assert told(found)["flores", "hunt-crossley"] is False and told(found)["hertz", "flores"]
    # the maximum of -(m/2) ln v - S/(2 v) over the variance v is at v = S/m, for each sensor, with
    # its n numbers and the equivalent number of its baseline; a restitution, a speed, and a clock
    # are fitted
    before = before_any_run(trace, best.case)
    # for white noise, at least two samples are drawn together
    assert np.bincount(before.blocks()).min() == 2
    count = np.array([len(one["time"]) for one in best.samples])
    square, quiet = count * np.square(best.residuals), before.quiet_degrees
    wanted = np.sum((quiet + count) * np.log((quiet + square) / (quiet + count)) + count) + 6.0
    assert best.aic == pytest.approx(wanted, rel=1e-9)
    # alone and among other laws; the values of the case are the initial values of its law
    alone = gc.fit(best.case, trace, ["striker.speed", "contact.restitution"], "traces")
    assert alone.aic == pytest.approx(best.aic, abs=1e-3)
    page = found._repr_html_()
    assert "hunt-crossley" in page and "aic" in page
    shown = best._repr_html_()
    low, _ = best.interval(0.68)["contact.restitution"]
    assert "contact.restitution" in shown and f">{low:.6g}<" in shown and "degrees" in shown


@pytest.mark.long
def test_a_difference_scatters_as_its_sums_over_drawn_blocks():
    draw = np.random.default_rng(3)
    blocks = draw.standard_normal((2, 40))
    found = differences_of_laws([30.0, 0.0], blocks, [1.0, 1.0])
    drawn = draw.multinomial(40, np.full(40, 1.0 / 40), 20_000) @ (blocks[0] - blocks[1])
    # of 40 blocks, one is needed for the mean
    assert found["aic_scatter"][0, 1] == pytest.approx(drawn.std() * math.sqrt(40 / 39), rel=0.02)
    assert found["aic_difference"].tolist() == [[0.0, 30.0], [-30.0, 0.0]]

    def distinguishable(aic, blocks):
        found = differences_of_laws([aic, 0.0], blocks, [1.0, 1.0])["distinguishable"]
        assert not found.diagonal().any() and (found == found.T).all()
        return bool(found[0, 1])

    assert distinguishable(30.0, blocks) and not distinguishable(10.0, blocks)
    # a difference of less than 2 is not significant, however small its scatter
    same = [blocks[0]] * 2
    assert not distinguishable(1.9, same) and distinguishable(2.1, same)


def test_a_difference_scatters_by_what_laws_follow_of_the_noise_too():
    # ten numbers, and two laws with three parameters each that differ from them slightly
    place = np.arange(10.0)
    terms = (place, place**2), (np.sqrt(place + 1.0), place**1.5)
    laws = [np.column_stack([np.ones(10), *more]) for more in terms]
    rest = [np.eye(10) - law @ np.linalg.pinv(law) for law in laws]
    draw, found = np.random.default_rng(1), []
    for _ in range(400):
        measured = 8.0 * np.sin(0.3 * place) + draw.standard_normal(10)
        blocks = [(one @ measured) ** 2 for one in rest]
        pair = differences_of_laws([one.sum() for one in blocks], blocks, [0.7, 0.7])
        found.append((pair["aic_difference"][0, 1], pair["aic_scatter"][0, 1]))
    off, scatter = np.array(found).T
    # without the degrees of freedom of the fit, 0.84
    assert 0.93 < np.sqrt(np.mean(scatter**2)) / off.std() < 1.15


@pytest.mark.long
@pytest.mark.parametrize("kind", ["white", "AR(1)"])
def test_a_right_law_is_rarely_told_to_be_the_worse_one(figure, kind):
    laws = {"flores": ["contact.restitution"], "tsuji": ["contact.restitution"], "hertz": []}
    worse, missed, apart = 0, 0, []
    for seed in range(20):
        trace = with_noise(kind, seed, 0.03, FLORES)
        found = gc.fit(short(), trace, ["striker.speed"], "traces", laws=laws)
        right, tsuji = map(found["law"].tolist().index, ("flores", "tsuji"))
        worse += (found.distinguishable[right] & (found.aic_difference[right] > 0.0)).any()
        missed += not told(found)["hertz", "flores"]
        apart.append((found.aic_difference[right, tsuji], found.aic_scatter[right, tsuji]))
    figure(f"{kind}: right laws that were said to be worse, of 20", worse, at_most=1)
    figure(f"{kind}: laws without damping that were not told apart, of 20", missed, at_most=0)
    difference, scatter = np.array(apart).T
    # with 20, the standard deviation is known within a sixth
    ratio = float(np.sqrt(np.mean(scatter**2)) / difference.std(ddof=1))
    figure(f"{kind}: scatter of a difference over that of 20", ratio, at_least=0.7, at_most=1.6)


def test_a_right_law_is_accused_as_seldom_as_is_said():
    # residuals at five sensors, the size of whose noise is known with five degrees of freedom
    draw, known, draws = np.random.default_rng(1), 5.0, 200
    labels = np.tile(np.arange(5), 2)
    left = draw.standard_normal((draws, 2, 5)) / np.sqrt(draw.chisquare(known, (draws, 1, 5)) / 5)
    chance, sizes = fitted._chance, np.full(5, known)
    chances = [chance(one.ravel(), np.ones(10), labels, sizes) for one in left]
    # 2 are expected; if their size were known, 36
    assert 1 <= sum(one < fitted.ACCUSED for one in chances) <= 6


def test_slow_parts_of_what_is_left_accuse_a_right_law_as_seldom():
    # of forty samples, four slow numbers are fitted: half of those in the eight shapes
    draw, place = np.random.default_rng(4), np.linspace(-1.0, 1.0, 40)
    slope = np.polynomial.legendre.legvander(place, 3)
    inverse, zero = np.linalg.pinv(slope), np.zeros(1)
    asked = SimpleNamespace(
        labels=np.zeros(40, dtype=int), priors=[], count=40, quiet_degrees=zero, slow_degrees=zero,
        measure="traces", _windows=[0],
    )  # fmt: skip
    asked.shapes = lambda: fit_problem.FitProblem.shapes(asked)
    free, every = 1.0 - np.einsum("ij,ji->i", slope, inverse), np.ones(40, dtype=bool)
    chances = []
    for noise in draw.standard_normal((600, 40)):
        left = noise - slope @ (inverse @ noise)
        rest = fitted.Residuals(left, free, slope, inverse, every)
        chances.append(fitted._chance_of_residuals(asked, rest)[0])
    # one of at most ten; of two independent ones, 0.0975
    assert 0.06 < np.mean(np.array(chances) < 0.1) < 0.12


def test_a_value_at_its_limit_is_said():
    case = short(**{"contact.law": "flores", "contact.restitution": 0.9})
    found = gc.fit(case, synthetic(of=("hertz",)), ["contact.restitution"])
    assert any("contact.restitution: 1 is at the limit" in one for one in found.messages)
