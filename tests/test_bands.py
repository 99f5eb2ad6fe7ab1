"""Bands of computed results, important parameters, and measurements inside and outside of bands."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from support import short_chains
from support.refused import assert_refused, refused

import granchain as gc
from granchain.cli import obey
from granchain.errors import CaseError, GranchainWarning
from granchain.measured import Band, Trace
from granchain.measured.about import about_as_toml, about_of
from granchain.measured.sensor import Sensor
from granchain.show.answer import answer_blocks
from granchain.status import Status
from granchain.studies import bands as of_bands
from granchain.studies import members
from granchain.studies.plan import quasi_random

pytestmark = pytest.mark.usefixtures("plain_members")

SHORT = short_chains.SHORT | {"time.end": 1.2e-4}
ELASTIC = gc.load_case("steel-chain-hertz").replace(**SHORT)
# Hertz contacts have no intrinsic scale: m du'' = K d^1.5, so forces are proportional to (K^2 m^3
# v^6)^(1/5), times to (m^2/(K^2 v))^(1/5), and K to Young's modulus.
OF_PEAK = {"striker.speed": 6 / 5, "chain.mass": 3 / 5, "chain.material.youngs_modulus": 2 / 5}
OF_TIME = {"striker.speed": -1 / 5, "chain.mass": 2 / 5, "chain.material.youngs_modulus": -2 / 5}


# --- Bands
@pytest.mark.long  # takes a quarter of a minute
def test_peaks_and_arrivals_of_an_elastic_chain_follow_the_power_of_the_speed():
    n, parts = 256, (0.025, 0.25, 0.5, 0.75, 0.975)
    found = gc.bands(ELASTIC, {"striker.speed": 0.01}, n=n)
    spread = gc.normal(1.0, 0.01)
    for name, power in (("peak", 6 / 5), ("arrival", -1 / 5)):
        ratio = (found[name] / found[f"nominal_{name}"]).values
        # with n evenly distributed draws, the index of a quantile is accurate to one
        ends = np.sort(
            [
                spread.ppf(np.array(parts if power > 0 else parts[::-1]) + side / n) ** power
                for side in (-1.0, 1.0)
            ],
            axis=0,
        )
        assert (ends[0][:, None] <= ratio).all() and (ratio <= ends[1][:, None]).all(), name
    assert found.force.dims == ("quantile", "time", "sensor_bead") and found.peak.dims == (
        "quantile",
        "sensor_bead",
    )
    assert found.force.shape == (5, len(found.time), 3)
    # standard deviation of a normal distribution, and of a uniform one: half the width divided by
    # the root of 3
    both = of_bands.uncertain(
        ELASTIC, {"striker.speed": 0.01, "chain.mass": {"uniform": 0.03}}, 64, 0
    )
    speed, mass = both.samples[0].T / [[1.77], [0.45e-3]]
    assert speed.std() == pytest.approx(0.01, rel=0.05) and mass.std() == pytest.approx(
        0.03 / math.sqrt(3.0), rel=0.02
    )
    assert abs(mass - 1.0).max() < 0.03


def test_members_come_together_on_the_times_of_the_case_as_it_stands():
    # a cubic is interpolated exactly at all times
    time = np.cumsum([0.0, 1.0, 1.1, 0.9, 1.3, 1.0, 0.7])
    cubic = np.column_stack([time**3 - 2.0 * time, np.ones(7)])
    at = np.array([0.3, 2.9, time[-1] - 0.1])
    assert of_bands.on_grid(time, cubic, at) == pytest.approx(
        np.column_stack([at**3 - 2.0 * at, np.ones(3)]), rel=1e-12
    )
    assert np.array_equal(of_bands.on_grid(time, cubic, time), cubic)
    assert np.isnan(of_bands.on_grid(time, cubic, np.array([time[-1] + 0.1]))).all()
    # in the middle of four samples, the error for a quartic is 3/2 1/2 1/2 3/2
    even = np.arange(8.0)
    assert of_bands.on_grid(even, even**4, np.array([3.5])) == pytest.approx(
        [3.5**4 - 9 / 16], rel=1e-12
    )
    # two members with different steps are the nominal run, stretched
    asked = of_bands.uncertain(ELASTIC, {"striker.speed": 0.05}, 2, 0)
    found = gc.bands(ELASTIC, {"striker.speed": 0.05}, n=2, quantiles=(0.0, 1.0))
    nominal = gc.run(ELASTIC)
    until = slice(0, int(0.9 * len(found.time)))
    expected = np.zeros((until.stop, 3))
    for speed in asked.samples[0][:, 0] / 1.77:
        expected += speed**1.2 * of_bands.on_grid(
            nominal.time, nominal.sensor_force, found.time.values[until] * speed**0.2
        )
    error = float(found.interpolation_error)
    assert 0.0 < error < 1e-3 * found.nominal_peak.min()
    # three traces are interpolated at other times, one of them twice
    assert np.abs(found.force.values.sum(axis=0)[until] - expected).max() < 4.0 * error
    assert np.array_equal(found.nominal_force, nominal.sensor_force[: len(found.time)])
    # up to the end of the shortest member
    traces = [(np.arange(count), np.zeros((count, 1))) for count in (6, 5)]
    runs = SimpleNamespace(traces=traces, complete=[0, 1])
    assert of_bands.common_times(runs).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_what_fails_is_left_out_and_an_interruption_ends_the_call(monkeypatch):
    evaluated = of_bands.evaluated

    def failing(cases, *args, **more):
        found = evaluated(cases, *args, **more)
        wrong = {"peak": np.full((1, 3), 1e9), "arrival": np.full((1, 3), 1e9), "law": [""]}
        ends = {"status": [Status.UNSTABLE.label], "message": ["member 2 blew up"]}
        found.add([2], wrong | ends)
        return found

    def interrupted(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(of_bands, "evaluated", failing)
    with pytest.warns(
        GranchainWarning,
        match="1 of 8 members failed and are excluded, the first one with: member 2 blew up",
    ):
        found = gc.bands(ELASTIC, {"striker.speed": {"uniform": 0.02}}, n=8)
    assert found["striker.speed"] == 1.77 and found["striker.speed"].attrs["units"] == "m/s"
    assert found.relative_deviation.values == pytest.approx([0.02 / math.sqrt(3.0)])
    assert float(found["striker.speed_deviation"]) == pytest.approx(1.77 * 0.02 / math.sqrt(3.0))
    (note,) = json.loads(found.attrs["messages"])
    assert note.endswith("the first one with: member 2 blew up")
    assert found.attrs["status"] == "7 complete, 1 unstable" and found.peak.max() < 100.0
    monkeypatch.setattr(members, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gc.bands(ELASTIC, {"striker.speed": 0.02}, n=8)


# --- Importance of parameters
@pytest.mark.long
def test_indices_of_a_product_of_powers_are_those_of_its_factors():
    widths = {"striker.speed": 0.1, "chain.mass": 0.15, "chain.material.youngs_modulus": 0.2}
    asked = {key: {"uniform": width} for key, width in widths.items()} | {
        "chain.material.yield_stress": 0.1
    }
    found = gc.bands(ELASTIC, asked, n=256, sensitivity=True)
    assert found["key"].values.tolist() == list(asked)

    def moment(power, width):
        # mean of x^power, with x uniform between 1 - width and 1 + width
        return ((1 + width) ** (power + 1) - (1 - width) ** (power + 1)) / (2 * width * (power + 1))

    for prefix, powers in (("", OF_PEAK), ("arrival_", OF_TIME)):
        # variance of each factor divided by its squared mean; for the product it is prod(1 + c) - 1
        c = np.array(
            [
                moment(2 * power, widths[key]) / moment(power, widths[key]) ** 2 - 1
                for key, power in powers.items()
            ]
        )
        whole = np.prod(1 + c) - 1
        first, total = c / whole, c * np.prod(1 + c) / (1 + c) / whole
        for name, exact in (("first_order", first), ("total_order", total)):
            name = prefix + name
            value, low, high = (found[name + side].values for side in ("", "_low", "_high"))
            assert value[:3] == pytest.approx(np.repeat(exact[:, None], 3, axis=1), abs=0.03), name
            assert (abs(value[:3] - exact[:, None]) < 0.5 * (high - low)[:3]).all(), name
            # an elastic contact has no yield stress
            assert abs(value[3]).max() < 1e-12 and np.array_equal(low[3], high[3])


def ishigami(x):
    """Return the function of Ishigami & Homma 1990 with a = 7 and b = 0.1, and its indices.

    doi:10.1109/ISUMA.1990.151285.
    """
    z = np.pi * (2.0 * x - 1.0)
    first, second, both = (
        0.5 * (1.0 + 0.1 * np.pi**4 / 5.0) ** 2,
        49.0 / 8.0,
        0.01 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0),
    )
    exact = np.array([[first, second, 0.0], [first + both, second, both]])
    values = np.sin(z[:, 0]) * (1.0 + 0.1 * z[:, 2] ** 4) + 7.0 * np.sin(z[:, 1]) ** 2
    return values, exact / (first + second + both)


def products(x):
    """Return Sobol's g-function with a = 0, 1, 4.5, and its indices.

    With the variances c of the factors, the total variance is prod(1 + c) - 1.
    """
    a = np.array([0.0, 1.0, 4.5])
    c = 1.0 / 3.0 / (1.0 + a) ** 2
    whole = np.prod(1.0 + c)
    exact = np.array([c, c * whole / (1.0 + c)]) / (whole - 1.0)
    return np.prod((abs(4.0 * x - 2.0) + a) / (1.0 + a), axis=1), exact


def sums(x):
    slopes = np.array([1.0, 2.0, 3.0])
    return x @ slopes, np.array([slopes**2 / np.sum(slopes**2)] * 2)


@pytest.mark.long
@pytest.mark.parametrize("draws", [40])
def test_indices_of_known_functions_are_within_their_limits(figure, draws):
    n, covered, errors, halves = 256, [], [], []
    functions = (ishigami, products, sums)
    for seed in range(draws):
        points = quasi_random(n, 6, seed)
        first, second = points[:, :3], points[:, 3:]
        mixed = [np.where(np.arange(3) == key, second, first) for key in range(3)]
        values = [np.concatenate([f(x)[0] for x in (first, second, *mixed)]) for f in functions]
        exact = np.array([function(first)[1] for function in functions]).transpose(1, 2, 0)
        asked = SimpleNamespace(drawn="abc", n=n, seed=seed)
        # the arrivals are those of one sensor, because the other two have no number
        missing = np.full((5 * n, 1), np.nan)
        arrival = np.column_stack([missing, values[1] * 1e-6, missing])
        indices = of_bands.indices(asked, np.column_stack(values), arrival)
        value, low, high = (
            np.array([indices[f"{order}{end}"].data for order in ("first_order", "total_order")])
            for end in ("", "_low", "_high")
        )
        errors.append(value - exact)
        covered.append((low <= exact) & (exact <= high))
        halves.append(0.5 * (high - low))
        of_arrival = indices["arrival_first_order"].data
        assert of_arrival[:, 1] == pytest.approx(value[0, :, 1], abs=1e-9)
        assert np.isnan(of_arrival[:, [0, 2]]).all()
        again = of_bands.indices(asked, np.column_stack(values), arrival)
        assert np.array_equal(again["total_order_low"].data, low[1])
    figure("limits of Sobol's indices that contain the index", np.mean(covered), at_least=0.95)
    scatter = np.std(errors, axis=0)
    # a Sobol sequence integrates a sum much more accurately than independent points
    figure("largest error of the indices of a sum", np.abs(errors)[..., 2].max(), at_most=0.02)
    figure("largest scatter of an index", scatter.max(), at_most=0.15)
    # 1.96 for independent members; a bootstrap does not use that the members are evenly distributed
    ratio = np.median(halves, axis=0)[..., 0] / scatter[..., 0]
    figure("half an interval over the scatter", np.median(ratio), at_least=1.96)


# Indices of the peaks of a chain, and half of their 95 % intervals, from eight independent
# scramblings of 32 members each and a jackknife (Saltelli's estimators, without SciPy).
OF_SCRAMBLINGS = {
    "first_order": (
        [[0.6960, 0.4404, 0.2745], [0.1864, 0.3882, 0.5224], [0.0541, 0.1068, 0.1419]],
        [[0.0587, 0.0434, 0.0328], [0.0746, 0.0865, 0.0831], [0.0236, 0.0338, 0.0402]],
    ),
    "total_order": (
        [[0.7215, 0.4648, 0.2955], [0.2031, 0.4111, 0.5477], [0.0619, 0.1261, 0.1699]],
        [[0.0510, 0.0384, 0.0255], [0.0059, 0.0125, 0.0196], [0.0067, 0.0135, 0.0188]],
    ),
}


@pytest.mark.long
def test_indices_of_a_chain_agree_with_those_of_independent_scramblings():
    tolerance = {
        "striker.speed": 0.05, "chain.material.yield_stress": {"uniform": 0.1}, "contact.psi": 0.02
    }  # fmt: skip
    case = short_chains.short()
    bands = gc.bands(case, tolerance, n=256, sensitivity=True)
    for name, (value, half) in OF_SCRAMBLINGS.items():
        assert (abs(bands[name].values - value) < half).all()
    # the sensitivity does not change the members
    assert np.array_equal(bands.peak, gc.bands(case, tolerance, n=256).peak)


# --- Bad input
def test_all_mistakes_are_told_together_before_anything_runs(monkeypatch):
    monkeypatch.setattr(of_bands, "evaluated", lambda *args, **more: pytest.fail("it ran"))
    wrong = {
        "striker.sped": (0.1, 'Did you mean "speed"'),
        "chain.material.hardness": (0.1, "the case has no value at this key"),
        "chain.gap": (0.1, "the value of the key is 0"),
        "contact.law": (0.1, '"hertz" has no tolerance'),
        "striker.speed": ({"uniform": 1.2}, "the values from -0"),
        "chain.material.poissons_ratio": (0.6, "write { uniform = ... }, which has limits"),
        "chain.radius": ({"norml": 1}, "no value"),
    }
    with pytest.raises(CaseError) as told:
        gc.bands(
            gc.load_case("steel-chain-hertz"),
            {key: value for key, (value, _) in wrong.items()},
            n=16,
        )
    for key, (_, words) in wrong.items():
        assert any(
            sentence.startswith(f"tolerance.{key}") and words in sentence
            for sentence in told.value.problems
        ), key
    assert len(told.value.problems) == len(wrong)
    assert_refused(lambda given: gc.bands(ELASTIC, **given), refused("bands"))
    with pytest.raises(CaseError, match=r"sensors.beads: missing"):
        gc.bands(ELASTIC.replace(**{"sensors.beads": []}), {"striker.speed": 0.1})
    with pytest.raises(CaseError, match="case: int is not a Case"):
        gc.bands(3, {"striker.speed": 0.1})


# --- Compared with a measurement
def recorded(case, noise=0.0, **about):
    """Return a trace of a run with one sample per microsecond and a clock that is 5 us late."""
    result = gc.run(case)
    _, force = Sensor(interval=1e-6).read(result.time, result.sensor_force)
    force = np.vstack([np.zeros((30, force.shape[1])), force])
    force += noise * np.random.default_rng(1).standard_normal(force.shape)
    told = about_of({"title": "rig", "kind": "synthetic", **about}, "here")
    time = 1e-6 * (np.arange(len(force)) - 30) + 5e-6
    return Trace(time=time, force=force, beads=result.sensor_bead, about=told)


@pytest.mark.long
def test_a_measurement_of_another_speed_is_within_the_band_or_not(monkeypatch):
    result = gc.run(ELASTIC)
    assert gc.compare(result, trace=recorded(ELASTIC)).results[0].members == 0
    for speed, word in ((1.02, True), (1.1, False)):
        trace = recorded(
            ELASTIC.replace(**{"striker.speed": 1.77 * speed}), tolerance={"striker.speed": 0.02}
        )
        found = gc.compare(result, trace=trace, members=64)
        for sensor in found.results[0].sensors:
            assert sensor.peak_band.holds(sensor.peak.measured) is word
            # the middle 95 % of (1 + 0.02 z)^(6/5); 64 members give the ends within a fifth
            assert sensor.peak_band.high / sensor.peak.computed - 1.0 == pytest.approx(
                1.2 * 1.96 * 0.02, rel=0.2
            )
            assert (sensor.force_band.inside > 0.8) is word, sensor.force_band.inside
            assert (sensor.force_band.low <= sensor.computed + 1e-9).all() and (
                sensor.computed <= sensor.force_band.high + 1e-9
            ).all()
        # nor on the flanks: no force has a wider band than the peak
        middle = found.results[0].sensors[1]
        assert (middle.force_band.high - middle.force_band.low).max() < 1.1 * (
            middle.peak_band.high - middle.peak_band.low
        )
        # an independent clock removes the common part of all arrivals: they are proportional to
        # v^(-1/5), and the arrival at the middle sensor hardly moves
        first, middle, _ = (sensor.arrival_band for sensor in found.results[0].sensors)
        arrivals = (
            np.array([sensor.arrival.computed for sensor in found.results[0].sensors])
            - found.results[0].time_shift
        )
        expected = 2.0 * 1.96 * 0.02 / 5.0 * abs(arrivals - arrivals.mean())
        assert first.high - first.low == pytest.approx(expected[0], rel=0.2)
        assert middle.high - middle.low < 0.1 * (first.high - first.low)
    # a result that cannot be run again has no bands, and is compared without them
    monkeypatch.setattr(type(result), "case", None)
    assert gc.compare(result, trace=recorded(ELASTIC)).results[0].members == 0
    assert gc.compare(result, trace=trace, members=0).results[0].members == 0
    with pytest.raises(CaseError, match=r"hertz: the result has no case.* --members 0"):
        gc.compare(result, trace=trace)
    monkeypatch.undo()
    # the arguments of the call replace all other tolerances
    found = gc.compare(result, trace=trace, bands={"chain.mass": 0.01}, members=4)
    assert dict(found.results[0].tolerance) == {"chain.mass": 0.01}
    # the squares of the uncertainties of the computed and the measured number are added: 3-4-5
    assert Band(7.0, 13.0, 5.0, 15.0).holds(math.nan) is None
    from granchain.measured.compare import DEVIATIONS, widen_band

    assert widen_band(7.0, 10.0, 13.0, 4.0 / DEVIATIONS) == pytest.approx((5.0, 15.0))


@pytest.mark.long
@pytest.mark.usefixtures("blank_pictures")
def test_compare_says_whether_the_measurement_is_within(tmp_path, obeyed, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = ELASTIC.replace(tolerance={"striker.speed": 0.02})
    gc.run(case).save("run.h5")
    from granchain.measured.folder import csv_text

    trace = recorded(
        case.replace(**{"striker.speed": 1.8}),
        noise=0.1,
        tolerance={"chain.mass": {"uniform": 0.01}},
    )
    (tmp_path / "rig").mkdir()
    (tmp_path / "rig" / "trace.csv").write_text(csv_text(trace))
    (tmp_path / "rig" / "about.toml").write_text(about_as_toml(trace.about))
    arguments = ["compare", "run.h5", "--trace", "rig", "--members", "16"]
    told = " ".join(obeyed(*arguments, "--figure", "bands.png").out.split())
    assert (
        "hertz: measurement compared with uncertainty bands "
        "(striker.speed 2 %, chain.mass 1 % half width; 16 members"
        in told
        and "within" in told
    )
    assert (tmp_path / "bands.png").exists()
    narrow = ["--band", "striker.speed=0.001", "--out", "found.h5"]
    facts = json.loads(obeyed(*arguments, *narrow, "--json").out)
    (found,) = gc.open("found.h5").results
    assert found.tolerance == {"striker.speed": 0.001}
    assert (found.members, facts["members"]) == (16, [16])
    # 1.8 divided by 1.77 is 1.7 % more
    assert [one.peak_band.holds(one.peak.measured) for one in found.sensors] == [False] * 3
    # the intervals of the members, and of measurements of them
    for limit in Band._fields:
        limits = facts[f"peak_band_{limit}"]
        assert limits == [[getattr(one.peak_band, limit)] for one in found.sensors]
    assert obey(["report", "found.h5", "--out", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert (
        "peak band high measured hertz [N]" in page and "{&quot;striker.speed&quot;:0.001}" in page
    )
    capsys.readouterr()
    assert "members" not in json.loads(obeyed(*arguments[:-1], "0", "--json").out)
    assert (
        "tolerance.striker.sped: the case has no value at this key"
        in obeyed(*arguments, "--band", "striker.sped=0.1", code=2).err
    )
    assert (
        '--band: "striker.speed" is not KEY=VALUE'
        in obeyed(*arguments, "--band", "striker.speed", code=2).err
    )


def test_a_pulse_that_has_not_come_is_no_number():
    # the force at bead 9 has fallen to half of its peak after 69.35 us
    short = ELASTIC.replace(**{"time.end": 6.92e-5})
    with pytest.warns(
        GranchainWarning,
        match=r"of 195 first pulses had not arrived, or not ended, by time.end, at beads 9\.",
    ) as told:
        found = gc.bands(short, {"striker.speed": 0.02}, n=64, sensitivity=True)
    (note,) = json.loads(found.attrs["messages"])
    assert "had not arrived, or not ended" in str(gc.figures.band_traces(found).get_label())
    assert len(told) == 1
    assert str(told[0].message).removeprefix("bands: ") == note
    texts = [getattr(block, "text", "") for block in answer_blocks(found, "bands.h5")]
    assert note in texts
    assert np.isnan(found.nominal_peak[2])
    assert found.peak.sel(sensor_bead=9).min() > found.nominal_peak[0]
    assert np.isnan(found.first_order[0, 2]) and found.first_order[0, 0] == pytest.approx(
        1.0, abs=0.2
    )


@pytest.mark.usefixtures("blank_pictures")
def test_the_command_writes_a_dataset_that_opens_and_is_plotted(here, obeyed):
    case = ["steel-chain-hertz", "--set", "chain.beads=8", "--set", "sensors.beads=[3]"]
    case += ["--set", "time.end=1e-4", "--set", "sensors.contacts=[]"]
    command = ["bands", *case, "--band", "striker.speed=0.02", "--members", "4", "--out", "b.h5"]
    told = json.loads(obeyed(*command, "--json").out)
    study = gc.open("b.h5")
    assert told["study"] == "bands" and told["runs"] == study.attrs["runs"] == 5
    assert told["peak"] == study.peak.values.tolist() and told["striker.speed"] == 1.77
    # a study without messages prints none
    quiet = obeyed(*command[:-2])
    assert quiet.err == "" and "quantile  peak 3 [N]  arrival 3 [s]" in quiet.out
    assert "already exists" in obeyed(*command, code=4).err
    assert "extension" in obeyed(*command[:-1], "b.json", code=4).err
    assert obeyed("plot", "b.h5").out.split() == ["b-band-traces.png"]
    assert "hertz" in obeyed("cite", "b.h5").out.lower()
