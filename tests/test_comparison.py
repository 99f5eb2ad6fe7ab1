"""Comparison of measured and computed traces: common shift, values of each pulse, errors, and
nearest law."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from support.refused import refused
from support.synthetic import RADIUS, synthetic, wave_speed
from support.traces import changed

import granchain
from granchain import analysis, figures
from granchain.cli import obey
from granchain.cli.compared import comparison_tables
from granchain.errors import GranchainError, TraceError
from granchain.measured import Trace, compare_pulses
from granchain.measured.about import about_of
from granchain.measured.noise import Noise
from granchain.measured.reading import merged_from, reading_of
from granchain.measured.sensor import Sensor

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.filterwarnings("error")

# The computed side: the exact solitary wave past three sensors, 28 us apart.
RESULT = synthetic(sensors=(3, 8, 13), end=200e-6)
INTERVAL = 1e-6
QUIET = 60


def measured(
    result=RESULT, *, shift=0.0, scale=1.0, noise=0.0, interval=INTERVAL, late=(), said=None
):
    """Return a trace of the forces of a result, with QUIET samples before them.

    Its clock is later by a shift, and the noise is given as a fraction of the largest force.
    """
    time, force = Sensor(interval=interval).read(result.time, result.sensor_force)
    for column, delay in late:
        force[:, column] = np.interp(time - delay, result.time, result.sensor_force[:, column])
    force = scale * np.vstack([np.zeros((QUIET, force.shape[1])), force])
    draw = np.random.default_rng(0)
    force += noise * result.sensor_force.max() * draw.standard_normal(force.shape)
    time = interval * (np.arange(len(force)) - QUIET) + shift
    about = rig(uncertainty=said or {})
    return Trace(time=time, force=force, beads=result.sensor_bead, about=about)


def rig(**more):
    return about_of({"title": "rig B", "kind": "measured", **more}, "test")


# --- The common shift
def merged(column):
    """Return a result with a second pulse at one sensor, nearly twice as large and 17 us later.

    The first pulse has not yet fallen to half when it arrives.
    """
    force = RESULT.sensor_force.copy()
    force[:, column] += 1.8 * np.interp(RESULT.time - 17e-6, RESULT.time, force[:, column])
    return few(3, 8, 13, change={"sensor_force": force})


@pytest.mark.parametrize("side", ["measured", "computed"])
def test_no_speed_is_from_where_another_pulse_has_merged_with_the_first(side):
    both = {"measured": RESULT, "computed": RESULT, side: merged(2)}
    found = compare_pulses(both["computed"], trace=measured(both["measured"]))
    (one,) = found.results
    assert [sensor.merged for sensor in one.sensors] == [(), (), (side,)]
    for sensor, there in zip(one.sensors, (True, False, False), strict=True):
        assert math.isfinite(sensor.speed.measured) == math.isfinite(sensor.speed.computed) == there
    assert one.wave_speed.computed == pytest.approx(wave_speed() * 2.0 * RADIUS, rel=1e-4)
    assert one.wave_speed.relative == pytest.approx(0.0, abs=2e-4)
    words = said(found, 13)
    assert words.startswith(f"bead 13: in the {side}") and "second, larger pulse" in words
    assert np.ravel(found[f"{side}_merged"]).tolist() == [False, False, True]
    assert comparison_tables(found)[1].rows[-1][0] == "13 merged"
    titles = [panel.get_title(loc="left") for panel in figures.comparison(found).axes]
    first_lines = [title.splitlines()[0] for title in titles if title]
    assert first_lines == ["bead 3", "bead 8", "bead 13, merged"]


@pytest.mark.parametrize("draws", [15, pytest.param(10_000, marks=pytest.mark.long)])
def test_noise_is_no_second_maximum_and_hides_none_that_stands_out_of_it(draws, figure):
    random = np.random.default_rng(63)
    time = np.linspace(0.0, 10.0, 200)

    def pulse(height, at, width):
        return height * np.exp(-0.5 * ((time - at) / width) ** 2)

    wrong = missed = found = 0
    for _ in range(draws):
        noise = 25.6 * 10.0 ** random.uniform(-4.0, math.log10(0.03))
        alone = pulse(25.6, 5.0, random.uniform(0.4, 2.0)) + noise * random.standard_normal(200)
        seen = reading_of(time, alone, Noise(noise, np.empty(0)))
        found += seen.peak.value > 20.0
        wrong += merged_from(time, alone, seen, noise)
        # 3.8 N deep
        small = min(noise, 0.005 * 25.6)
        double = pulse(13.7, 4.0, 0.5) + pulse(25.6, 5.6, 0.5) + small * random.standard_normal(200)
        seen = reading_of(time, double, Noise(small, np.empty(0)))
        missed += not merged_from(time, double, seen, small)
    single = "single pulses in noise of up to 3 %"
    figure(f"{single} that are found, of all", found / draws, at_least=0.8)
    figure(f"{single} said to have merged, of all", wrong / draws, at_most=1e-3)
    figure("merged pulses in noise of up to .5 % not seen, of all", missed / draws, at_most=1e-3)


def test_the_delay_of_one_sensor_stays_in_the_arrivals():
    # one shift for all sensors: a delay of one sensor relative to the others is physical, and is
    # not removed
    trace = measured(late=[(2, 3e-6)])
    (one,) = compare_pulses(RESULT, trace=trace).results
    off = np.array([sensor.arrival.difference for sensor in one.sensors])
    assert off[0] == pytest.approx(off[1], abs=1e-8)
    assert off[0] - off[2] == pytest.approx(3e-6, rel=0.01)
    assert one.time_shift + trace.start == pytest.approx(1e-6, rel=0.1)
    assert one.sensors[1].speed.relative == pytest.approx(3e-6 / (5 / wave_speed()), rel=0.01)
    assert abs(one.sensors[0].speed.relative) < 1e-3
    # the speed of the wave is from the sensors that every result has reached: the first two of
    # three
    early = synthetic(sensors=(3, 8, 13), end=90e-6)
    found = compare_pulses(RESULT, early, trace=measured(late=[(2, 3e-6)])).results
    for one in found:
        assert math.isnan(found[1].sensors[2].arrival.computed)
        assert one.wave_speed.measured == pytest.approx(one.sensors[0].speed.measured, rel=1e-9)


# --- The values
def test_a_result_agrees_with_itself():
    found = compare_pulses(RESULT, trace=measured())
    (one,) = found.results
    assert found.sensor.cutoff is None
    for sensor, pulse in zip(one.sensors, analysis.sensor_pulses(RESULT), strict=True):
        assert sensor.peak.computed == pulse.peak and sensor.arrival.computed == pytest.approx(
            pulse.arrival + one.time_shift
        )
        assert sensor.width.computed == pulse.width and sensor.impulse.computed == pulse.impulse
        assert sensor.position == pulse.position
        # samples of 1 us instead of 0.2 us
        for name, bound in (("peak", 1e-4), ("width", 1e-3), ("impulse", 2e-3)):
            assert abs(getattr(sensor, name).relative) < bound
        assert sensor.residual.computed < 2e-3
    assert one.wave_speed.computed == pytest.approx(wave_speed() * 2.0 * RADIUS, rel=1e-4)
    assert one.wave_speed.relative == pytest.approx(0.0, abs=2e-4)


def test_calibration_and_reading_add_to_the_uncertainty():
    (one,) = compare_pulses(RESULT, trace=measured(said={"gain": 0.03, "time": 2e-6})).results
    sensor = one.sensors[0]
    assert sensor.peak.error == pytest.approx(0.03 * sensor.peak.measured, rel=0.01)
    assert sensor.impulse.error == pytest.approx(0.03 * sensor.impulse.measured, rel=0.01)
    assert sensor.arrival.error == pytest.approx(2e-6, rel=0.01)
    # two readings, 5 beads apart
    delay = 5 / wave_speed()
    assert sensor.speed.error == pytest.approx(
        sensor.speed.measured * math.sqrt(2.0) * 2e-6 / delay, rel=0.01
    )
    # three readings at -1, 0, and 1 times the distance: sigma/sqrt(2) of one delay
    assert one.wave_speed.error == pytest.approx(
        one.wave_speed.measured * 2e-6 / math.sqrt(2.0) / delay, rel=0.01
    )


def test_each_sensor_of_the_computed_side_goes_through_its_own_high_pass():
    clean, corners = measured(), [2e3, 5e2, 8e3]
    seen = Sensor(high_pass=corners).instrument(clean.interval, clean.sensor_force)
    trace = changed(clean, force=seen, about=rig(sensor={"high_pass": corners}))
    # the second of three sensors is not in the run
    for result in (RESULT, few(13, 3)):
        (one,) = compare_pulses(result, trace=trace).results
        for sensor in one.sensors:
            assert sensor.peak.computed == pytest.approx(sensor.peak.measured, rel=2e-3)
            assert sensor.residual.computed < 0.01
    (one,) = compare_pulses(RESULT, trace=changed(trace, about=rig())).results
    assert max(sensor.residual.computed for sensor in one.sensors) > 0.05


def test_noise_asks_for_a_filter_that_the_forces_of_both_sides_go_through():
    largest = RESULT.sensor_force.max()
    found = compare_pulses(RESULT, trace=measured(noise=0.02))
    first = found.results[0].sensors[0]
    assert found.sensor.cutoff == pytest.approx(4.0 / first.width.computed, rel=0.1)
    # noise of 0.02, estimated from 600 samples and from 30
    assert first.noise < 0.8 * 0.025 * largest
    # the values are those of the run and the trace, without a filter that granchain has chosen
    assert first.peak.computed == analysis.sensor_pulses(RESULT)[0].peak
    bare = compare_pulses(RESULT, trace=measured(noise=0.02), cutoff=0.0)
    assert bare.sensor.cutoff is None
    assert bare.results[0].sensors[0].noise == pytest.approx(0.02 * largest, rel=0.25)
    assert bare.results[0].sensors[0].peak == first.peak
    low = compare_pulses(RESULT, trace=measured(), cutoff=6e4).results[0].sensors[0]
    # a requested filter acts on both sides; its response depends on the sampling rate
    assert low.peak.computed < 0.97 * RESULT.sensor_force[:, 0].max()
    assert abs(low.peak.relative) < 2e-3


def test_a_sensor_that_saw_nothing_has_no_number_and_says_so():
    trace = measured(noise=0.01)
    trace.sensor_force[:, 1] = 0.2 * np.random.default_rng(9).standard_normal(len(trace.time))
    found = compare_pulses(RESULT, trace=trace, tolerances={"peak": 0.1})
    assert "bead 8: no complete pulse rises above the noise of the measured trace" in found.messages
    sensor = found.results[0].sensors[1]
    for name in ("peak", "arrival", "width", "impulse"):
        assert math.isnan(getattr(sensor, name).measured)
    assert list(found.nearest) == [3, 13]
    # without a number there is no agreement
    assert found.missed == (
        "hertz: bead 8: peak differs by no number, more than the tolerance 0.1",
    )
    json.dumps(found.as_dict(), allow_nan=False)


# --- Problems of a trace
def spoilt(change):
    """Return the comparison with a trace whose forces a function has changed."""
    trace = measured(noise=0.002)
    force = change(trace.time, trace.sensor_force)
    return compare_pulses(RESULT, trace=changed(trace, force=force))


def said(found, bead):
    return " ".join(message for message in found.messages if message.startswith(f"bead {bead}:"))


def test_a_clipped_pulse_has_an_arrival_and_no_peak():
    limit = 0.43 * RESULT.sensor_force.max()
    found = spoilt(lambda time, force: np.minimum(force, np.array([np.inf, limit, np.inf])))
    sensor = found.results[0].sensors[1]
    assert f"constant at {limit:.3g}" in said(found, 8)
    assert all(math.isnan(getattr(sensor, name).measured) for name in ("peak", "width", "impulse"))
    assert math.isnan(sensor.residual.computed) and list(found.nearest) == [3, 13]
    # in the 14 us that are flat
    assert abs(sensor.arrival.difference) < 2.0 * sensor.arrival.error < 3e-6
    assert not said(found, 3) and not said(found, 13)


def test_crosstalk_before_the_pulses_is_no_noise_of_theirs():
    def crosstalk(time, force):
        # at all sensors simultaneously, 20 us before the first pulse, and a third as wide
        bump = np.exp(-(((time + 20e-6) / 4e-6) ** 2))
        return force + 0.2 * force.max() * bump[:, None]

    found, plain = (spoilt(change).results[0].sensors for change in (crosstalk, lambda _, f: f))
    for one, other in zip(found, plain, strict=True):
        for name in ("peak", "arrival", "width", "impulse"):
            ours, alone = getattr(one, name), getattr(other, name)
            assert abs(ours.difference) < 3.0 * ours.error
            # measured: 0.9 to 1.3; as noise 1.7 to 90, and without its flanks 1.6
            assert 0.7 < ours.error / alone.error < 1.5, (one.bead, name)


SHAPES = {
    "zeros": lambda draw, n: np.zeros((n, 3)),
    "noise": lambda draw, n: draw.standard_normal((n, 3)),
    "a random walk": lambda draw, n: np.cumsum(draw.standard_normal((n, 3)), axis=0),
    "whole numbers": lambda draw, n: np.round(5.0 * draw.random((n, 3))),
    "a pulse anywhere": lambda draw, n: np.exp(
        -(((np.arange(n)[:, None] - draw.integers(0, n, 3)) / draw.uniform(0.2, 40.0)) ** 2)
    ),
    "spikes": lambda draw, n: np.where(draw.random((n, 3)) < 0.02, 50.0, 0.0),
    "an oscillation": lambda draw, n: (
        np.sin(np.arange(n)[:, None] * draw.uniform(0.01, 3.0)) * np.ones(3)
    ),
}


def test_any_trace_is_compared_or_refused_with_a_sentence():
    for shape, (seed, count) in product(SHAPES, enumerate((8, 9, 12, 20, 60, 300))):
        force = SHAPES[shape](np.random.default_rng(seed), count)
        time = 1e-6 * np.arange(count)
        trace = Trace(time=time, force=force, beads=RESULT.sensor_bead, about=rig())
        try:
            json.dumps(compare_pulses(RESULT, trace=trace).as_dict(), allow_nan=False)
        except TraceError as error:
            assert ". " in str(error) and str(error).endswith((".", "?")), shape


# --- Several results, tolerances, and refused input
def few(*sensors, **more):
    """Return the wave at some sensors."""
    return synthetic(sensors=sensors, end=200e-6, **more)


def other(factors):
    """Return the same wave with a fraction of its force, under the name of another law."""
    return few(3, 8, 13, law="flores", change={"sensor_force": factors * RESULT.sensor_force})


def test_the_nearest_law_is_named_sensor_by_sensor():
    trace = measured(noise=0.005)
    force = trace.sensor_force * np.array([1.0, 1.1, 1.0])
    found = compare_pulses(RESULT, other(1.05), trace=changed(trace, force=force))
    assert found.nearest == {3: ("hertz",), 8: ("flores",), 13: ("hertz",)}


def test_a_tolerance_is_met_or_missed():
    # 10 % more than computed: 0.0909 of the measured value
    met = {"peak": 0.095, "impulse": 0.1, "width": 0.01, "speed": 0.01, "residual": 0.095}
    for tolerances, missed in (
        (met | {"arrival": 1e-7}, 0),
        ({"peak": 0.085}, 3),
        ({"residual": 0.085}, 3),
        ({"arrival": 0.0}, 3),
        ({"speed": 0.0}, 2),
    ):
        found = compare_pulses(RESULT, trace=measured(scale=1.1), tolerances=tolerances)
        assert len(found.missed) == missed, tolerances
        if tolerances == {"peak": 0.085}:
            assert (
                found.missed[0]
                == "hertz: bead 3: peak differs by 0.0909, more than the tolerance 0.085"
            )


def test_what_cannot_be_compared_is_refused():
    trace = measured()
    for change, sentence in refused("comparison"):
        with pytest.raises(GranchainError, match=sentence):
            compare_pulses(RESULT, trace=trace, **change)
    for results, sentence in (
        (
            [few(4, 5)],
            r"hertz: the run has sensors in beads 4, 5. .* --set sensors.beads=\[3,8,13\]",
        ),
        ([few(3), few(8)], "no bead has a sensor in all results"),
        ([], "compare: no result"),
    ):
        with pytest.raises(TraceError, match=sentence):
            compare_pulses(*results, trace=trace)
    found = compare_pulses(few(13, 3), trace=trace)
    assert [sensor.bead for sensor in found.results[0].sensors] == [3, 13]
    assert "hertz: no sensor in bead 8. Not compared there" in found.messages


# --- The figure
def test_the_figure_has_markers_for_what_was_measured_and_lines_for_what_was_computed(tmp_path):
    about = rig(sensor={"high_pass": 10.0, "low_pass": 4e5})
    trace = changed(measured(noise=0.01, shift=5e-6), about=about)
    found = compare_pulses(RESULT, other(0.8), trace=trace)
    figure = figures.comparison(found)
    figure.draw_without_rendering()
    pairs = list(zip(figure.axes[:3], figure.axes[3:], strict=True))
    for sensor, (force, rest) in zip(found.results[0].sensors, pairs, strict=True):
        drawn = {line.get_label(): line for line in force.get_lines()}
        assert drawn["measured"].get_marker() == "o" and drawn["measured"].get_linestyle() == "None"
        assert drawn["hertz"].get_marker() == "None"
        at = sensor.time - sensor.arrival.measured
        assert np.allclose(drawn["hertz"].get_xdata(), at, rtol=1e-6)
        left = {line.get_label(): line for line in rest.get_lines()}["hertz"]
        assert np.allclose(left.get_ydata(), sensor.computed - sensor.measured)
        title, residual = force.get_title(loc="left").splitlines()
        assert title == f"bead {sensor.bead}" and residual.startswith("hertz: residual ")
    # the same from its file, like a report draws it
    found.save(tmp_path / "compared.h5")
    again = figures.comparison(granchain.open(tmp_path / "compared.h5"))
    for panel, same_panel in zip(figure.axes, again.axes, strict=True):
        for line, same in zip(panel.get_lines(), same_panel.get_lines(), strict=True):
            assert np.allclose(same.get_ydata(), line.get_ydata())
    words = " ".join(text.get_text() for text in figure.findobj(Text))
    through = "simulation with instrument filter, above 0.01 kHz and below 400 kHz"
    for expected in ("rig B", through, "time shift of hertz: 59.6", "force [N]"):
        assert expected in words
    assert "synthetic" not in words


# --- The command, with runs of the case and the synthetic trace of the project
@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return two files with the first 30 of the 70 beads."""
    folder = tmp_path_factory.mktemp("runs")
    change = {
        "chain.beads": 30,
        "sensors.beads": [9, 24],
        "sensors.contacts": [],
        "time.end": 0.25e-3,
        "time.step": "fast",
    }
    case = granchain.load_case("steel-chain").replace(**change, **{"energy.ledger": False})
    granchain.run(case).save(folder / "ma-liu.h5")
    granchain.run(case.replace(**{"contact.law": "hertz"})).save(folder / "hertz.h5")
    return folder


@pytest.fixture
def here(runs, monkeypatch):
    monkeypatch.chdir(runs)
    return runs


TRACE, NO_CURVE = (
    str(ROOT / "data" / name) for name in ("synthetic2026", "carretero-gonzalez2009")
)


@pytest.mark.usefixtures("blank_pictures")
def test_the_law_that_made_the_synthetic_trace_is_found_nearest(here, obeyed, capsys):
    command = ["compare", "ma-liu.h5", "hertz.h5", "--trace", TRACE]
    tolerances = ["--tolerance", "peak=0.06", "--tolerance", "arrival=1e-6"]
    assert obey([*command[:2], *command[3:], *tolerances]) == 0 and capsys.readouterr().out
    captured = obeyed(*command, "--figure", "compared.png")
    for title in (
        "Peak force [N] (relative error)",
        "Arrival [us]",
        "Width at half height [us]",
        "Impulse of the pulse [mN s]",
        "residual",
        "synthetic data",
        "Law with the smallest residual, of 2 sensors: ma-liu at 2.",
    ):
        assert title in captured.out
    assert captured.out.splitlines()[-1] == "compared.png"
    assert (here / "compared.png").read_bytes().startswith(b"\x89PNG")
    assert "ma-liu: no sensor in bead 40, 63. Not compared there" in captured.err
    options = ["--tolerance", "peak=0.001", "--out", "compared.h5", "--json"]
    facts = json.loads(obeyed(*command, *options, code=5).out)
    assert facts["trace_kind"] == "synthetic" and facts["sensor_bead"] == [9, 24]
    assert facts["result"] == ["ma-liu", "hertz"] and facts["nearest_rank"] == [[1, 0], [1, 0]]
    found = granchain.open(here / "compared.h5")
    assert found.nearest == {9: ("ma-liu",), 24: ("ma-liu",)} and found.law == "ma-liu, hertz"
    assert facts["peak_tolerance"] == 0.001 and facts["messages"] == list(found.messages)
    ours = found.results[0]
    assert len(ours.missed) == 2 and set(ours.missed) < set(found.messages)
    assert [case.law for case in found.cases] == ["ma-liu", "hertz"] and found.case is None
    # the synthetic trace has a baseline of 40 us
    assert facts["time_shift"][0] == ours.time_shift == pytest.approx(40e-6, abs=0.2e-6)
    for sensor in ours.sensors:
        # its true gain is 0.0194 V/N, but 0.02 was used
        assert sensor.peak.relative == pytest.approx(0.02 / 0.0194 - 1.0, abs=0.02)
        assert sensor.impulse.relative == pytest.approx(0.02 / 0.0194 - 1.0, abs=0.015)
        assert abs(sensor.width.relative) < 0.02
    # its file can be plotted and cited
    obeyed("plot", "compared.h5", "--out", "figures")
    assert {path.name for path in (here / "figures").iterdir()} == {"compared-comparison.png"}
    cited = obeyed("cite", "compared.h5").out
    assert "% contact law ma-liu" in cited and "synthetic data" in cited


def test_what_is_wrong_has_its_exit_code_and_sentence(here, obeyed):
    folders = {"TRACE": TRACE, "NO_CURVE": NO_CURVE}
    for options, code, sentence in refused("command of comparison"):
        command = ["compare", *(folders.get(option, option) for option in options)]
        assert sentence in obeyed(*command, code=code).err


# --- Definitions of the arrival
def defined(arrival):
    case = granchain.load_case("steel-chain-hertz").replace(
        {"chain.beads": 12, "sensors.beads": [3, 6, 9], "time.end": 2e-4, "striker.speed": 1.77}
    )
    return granchain.run(case.replace({"sensors.arrival": arrival}))


def test_the_arrival_on_the_rise_is_that_of_run_study_comparison_and_fit():
    peak, half, rise = (defined(arrival) for arrival in ("peak", "half", "rise"))
    sensors = [analysis.sensor_pulses(run) for run in (peak, half, rise)]
    for tops, middles, feet in zip(*sensors, strict=True):
        assert feet.arrival < middles.arrival < tops.arrival
        # a Hertz pulse is half as wide before its top as at half height
        assert tops.arrival - middles.arrival == pytest.approx(0.5 * tops.width, rel=0.05)
        assert (feet.peak, feet.width, feet.impulse) == (tops.peak, tops.width, tops.impulse)
    # members with different definitions in one call
    study = granchain.evaluate([peak.case, half.case, rise.case])
    for arrivals, pulses in zip(study["arrival"].values, sensors, strict=True):
        assert arrivals.tolist() == [pulse.arrival for pulse in pulses]
    assert study["wave_speed"].values[1] == analysis.summary(half).wave_speed
    assert granchain.verify(half.case).arrival == pytest.approx(
        [pulse.arrival for pulse in sensors[1]], rel=1e-6
    )
    draw, largest = np.random.default_rng(0), half.sensor_force.max()
    force = np.vstack([np.zeros((1000, 3)), half.sensor_force])
    force += 0.005 * largest * draw.standard_normal(force.shape)
    time = half.time[1] * np.arange(len(force))
    trace = Trace(time=time, force=force, beads=half.sensor_bead, about=rig())
    (found,) = compare_pulses(half, trace=trace).results
    for sensor, pulse in zip(found.sensors, sensors[1], strict=True):
        assert sensor.arrival.computed == pytest.approx(pulse.arrival + found.time_shift)
        # less than a hundredth of the width
        assert abs(sensor.arrival.difference) < 4.0 * sensor.arrival.error < 4e-7
    with pytest.raises(TraceError, match="different definitions, half and peak"):
        compare_pulses(peak, half, trace=trace)
    start = half.case.replace({"striker.speed": 1.6})
    fit = granchain.fit(start, trace, ["striker.speed"], "arrivals")
    assert fit.arrival_measured == pytest.approx([one.arrival.measured for one in found.sensors])
    assert abs(fit["striker.speed"] - 1.77) < 4.0 * fit["striker.speed_error"] < 0.4
