"""`gc.evaluate`: many cases and their measures."""

import json
import signal
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.short_chains import short
from test_chained import bead

import granchain as gc
from granchain import analysis
from granchain.case.document import about_key
from granchain.errors import CaseError, FileError, GranchainWarning
from granchain.studies import evaluate as engine
from granchain.studies import measures as of_measures
from granchain.studies.plan import plan_of

pytestmark = pytest.mark.usefixtures("plain_members")

SPEEDS = (0.5, 0.8, 1.2, 1.77)


def speeds(*values, **changes):
    """Return one short chain for each striker speed."""
    case = short(**changes)
    return [case.replace({"striker.speed": speed}) for speed in values]


def last_speed(result):
    return {"last": result.final_velocity[-1]}


@pytest.fixture
def computed(monkeypatch):
    """Return the indices of the members that are computed from now on."""
    places = []

    def recording(cases, those, *more):
        places.extend(those)
        of_measures.compute_here(cases, those, *more)

    monkeypatch.setattr(engine, "compute_here", recording)
    return places


# --- Measures
def test_functions_and_names_are_measured_together():
    cases = speeds(0.5, 1.0)
    study = gc.evaluate(cases, ("traces", "pulse", last_speed), progress=False)
    assert dict(study.sizes).items() >= {"run": 2, "sensor_bead": 3}.items()
    assert study["striker.speed"].values.tolist() == [0.5, 1.0]
    assert study["striker.speed"].dims == ("run",) and study["last"].dims == ("run",)
    assert study["striker.speed"].attrs["units"] == "m/s"
    assert study.attrs["granchain_study"] == "evaluate" and study.attrs["law"] == "ma-liu"
    for run, case in enumerate(cases):
        result = gc.run(case)
        count = int(study.n_samples[run])
        assert count == len(result.time) and study.time_step[run] == result.time_step
        assert np.array_equal(study.sensor_force[run, :count], result.sensor_force)
        assert np.isnan(study.sensor_force[run, count:]).all()
        assert study["last"][run] == result.final_velocity[-1]
        peaks = [sensor.peak for sensor in analysis.summary(result).sensors]
        assert study.peak[run].values.tolist() == peaks
    # a single name, and a single function
    alone = gc.evaluate(cases, last_speed, progress=False)
    assert np.array_equal(alone["last"], study["last"]) and "peak" not in alone
    traces = gc.evaluate(cases, "traces", progress=False)
    assert np.array_equal(traces.sensor_force, study.sensor_force, equal_nan=True)
    assert "peak" not in traces


def test_a_plan_gives_the_dataset_of_a_sweep():
    vary = {"striker.speed": [0.5, 1.0], "contact.psi": gc.normal(2.84, 0.05)}
    plan = plan_of(short(), vary, n=2, seed=3)
    study = gc.evaluate(plan, progress=False)
    assert study.identical(gc.sweep(short(), vary, n=2, seed=3, progress=False))


@pytest.mark.parametrize("sensors", [([3, 6], [6], [3, 6, 9]), ([3, 12], [3]), ([3], [5, 12])])
def test_different_sensors_are_padded_and_name_their_beads(sensors):
    # bead 12 is the last bead, which is recorded for the transmitted momentum, also without a
    # sensor
    cases = [short(**{"sensors.beads": list(beads)}) for beads in sensors]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = gc.evaluate(cases, ("pulse", "traces"), progress=False)
    longest = max(map(len, sensors))
    assert study.peak.dims == ("run", "sensor") and study.sizes["sensor"] == longest
    assert study.sensor_force.dims == ("run", "sample", "sensor")
    for run, case in enumerate(cases):
        beads, result = sensors[run], gc.run(case)
        summary = analysis.summary(result)
        assert study.sensor_bead[run, : len(beads)].values.tolist() == list(beads)
        assert np.isnan(study.sensor_bead[run, len(beads) :]).all()
        for name in ("peak", "arrival", "width"):
            expected = [getattr(sensor, name) for sensor in summary.sensors]
            values = study[name][run]
            assert values[: len(beads)].values.tolist() == expected
            assert np.isnan(values[len(beads) :]).all()
        assert np.array_equal(study.wave_speed[run], summary.wave_speed, equal_nan=True)
        force = study.sensor_force[run, : len(result.time)]
        assert np.array_equal(force[:, : len(beads)], result.sensor_force)
        assert np.isnan(force[:, len(beads) :]).all()


def test_the_transmitted_momentum_does_not_depend_on_the_order_of_the_sensors():
    # of one chain, because its members are measured together
    case = short()
    cases = [case.replace({"sensors.beads": beads}) for beads in ([3, 12], [12, 3], [5, 12])]
    study = gc.evaluate(cases, progress=False)
    for name in ("transmitted_momentum", "transmitted_energy"):
        assert len({*study[name].values.tolist()}) == 1


def test_materials_with_names_are_coordinates_of_studies():
    case, materials = short(), gc.materials()
    steel, aluminium = materials["steel-316"], materials["aluminium-6061-t6"]
    for values in ([steel, aluminium], ["steel-316", aluminium]):
        study = gc.sweep(case, {"chain.material": values}, progress=False)
        assert study["chain.material"].values.tolist() == ["steel-316", "aluminium-6061-t6"]
    # without their common name, the numbers that differ
    cases = [case.replace({"chain.material.youngs_modulus": value}) for value in (1.9e11, 2e11)]
    same_name = [each.chain.material for each in cases]
    study = gc.sweep(case, {"chain.material": same_name}, progress=False)
    moduli = [f"youngs_modulus = {value} Pa" for value in ("190000000000", "200000000000")]
    assert study["chain.material"].values.tolist() == moduli
    # a steel without a yield stress
    cases.append(case.replace({"chain.material.yield_stress": None, "contact": {"law": "hertz"}}))
    for listed in (cases[:2], cases):
        study = gc.evaluate(listed, progress=False)
        for name in set(study.coords) - {"run", "sensor_bead"}:
            assert len({*map(str, study[name].values)}) > 1


def test_a_drive_gives_its_amplitude_a_unit():
    case = gc.load_case("driven-chain")
    where = next(iter(case.drives))
    units = {"displacement": "m", "force": "N"}
    assert about_key(case, f"{where}.amplitude")[0] == units[case.drives[where].drive]


def test_a_late_pulse_is_reported_at_its_bead():
    cases = [
        short(**{"sensors.beads": beads, "time.end": end})
        for beads, end in (([3], 2e-4), ([2, 9], 5e-5))
    ]
    # bead 9 is the second sensor of the second case, which has three sensors in all
    expected = r"evaluate: 1 of 3 first pulses had not arrived.* at beads 9\. "
    with pytest.warns(GranchainWarning, match=expected):
        study = gc.evaluate(cases, progress=False)
    assert study.missing.values.tolist() == [[0, 0], [0, 2]]


def test_fewer_sensors_are_resumed_from_a_file_with_more(tmp_path, computed):
    file = tmp_path / "study.h5"
    cases = [short(**{"sensors.beads": beads}) for beads in ([3, 6, 9], [6], [3, 9])]
    gc.evaluate(cases, out=file, progress=False)
    computed.clear()
    for selected in (cases[1:], cases[1:2], cases[:1]):
        found = gc.evaluate(selected, out=file, resume=True, overwrite=True, progress=False)
        assert found.drop_vars("point").identical(gc.evaluate(selected, progress=False))
        gc.evaluate(cases, out=file, overwrite=True, progress=False)


def test_shorter_members_are_resumed_from_a_file_with_longer_ones(tmp_path):
    file, case = tmp_path / "study.h5", short()
    cases = [case.replace({"time.end": end}) for end in (2e-5, 4e-5)]
    gc.evaluate(cases, "traces", out=file, progress=False)
    found = gc.evaluate(cases[:1], "traces", out=file, resume=True, progress=False)
    assert found.drop_vars("point").identical(gc.evaluate(cases[:1], "traces", progress=False))


# --- Members that fail, or occur twice
def test_a_case_that_occurs_twice_is_computed_once(tmp_path, computed):
    first, second = speeds(0.5, 1.0)
    listed = [first, second, first]
    counts = []
    study = gc.evaluate(listed, progress=lambda *done: counts.append(done))
    assert sorted(computed) == [0, 1] and counts[-1] == (3, 3)
    for name in ("peak", "wave_speed", "time_step", "status", "law_sha256"):
        assert np.array_equal(study[name][2], study[name][0]), name
    computed.clear()
    # in a file, equal cases are found by their hashes
    equal = first.replace({"striker.speed": 0.5})
    assert equal is not first
    stored = gc.evaluate([first, second, equal], out=tmp_path / "a.h5", progress=False)
    assert sorted(computed) == [0, 1] and stored.drop_vars("point").identical(study)
    names = stored["point"].values.tolist()
    assert names[0] == names[2] != names[1]
    ensemble = gc.evaluate(listed, "result", progress=False)
    assert isinstance(ensemble, gc.Ensemble)
    assert ensemble[2].equals(ensemble[0]) and not ensemble[1].equals(ensemble[0])


def test_a_member_that_fails_has_its_reason():
    cases = speeds(0.5, 1.0)
    # no static state has such a large force
    cases.insert(1, cases[0].replace({"chain.precompression": 1e12}))
    study = gc.evaluate(cases, ("pulse", "traces", last_speed), progress=False)
    assert study.status.values.tolist() == ["complete", "not set up", "complete"]
    assert "chain.precompression" in str(study.message.values[1])
    assert np.isnan(study.peak[1]).all() and np.isnan(study["last"][1])
    assert study.n_samples[1] == 0 and np.isfinite(study.peak[[0, 2]]).all()
    failed = gc.evaluate(cases[1:2], progress=False)
    assert np.isnan(failed.peak).all() and failed.missing.values.tolist() == [[0, 0, 0]]


def test_a_member_without_a_valid_step_is_resumed_and_computed_elsewhere(tmp_path):
    cases, file = speeds(0.5, 1.0), tmp_path / "study.h5"
    # its contacts can be set up, but not its time step
    cases.append(cases[0].replace({"time.step": 1.0}))
    expected = gc.evaluate(cases, progress=False)
    assert expected.status.values.tolist() == ["complete", "complete", "not set up"]
    for resume in (False, True):
        study = gc.evaluate(cases, out=file, resume=resume, progress=False)
        assert study.drop_vars("point").identical(expected)
    with ThreadPoolExecutor(1) as pool:
        assert gc.evaluate(cases, executor=pool, progress=False).identical(expected)


# --- Bad input
def test_measures_that_are_not_valid_are_refused_before_anything_runs(computed, tmp_path):
    cases = speeds(0.5)
    known = ", ".join(of_measures.MEASURES)
    for wrong, sentence in (
        ("spread", rf'measures: "spread" is unknown\. It must be .*, or one of {known}'),
        (["pulse", 3], r"measures: 3 is unknown"),
        (["result", "pulse"], "measures: result cannot be combined with other measures"),
        (["result", last_speed], "measures: result cannot be combined with other measures"),
        (lambda _: 3.0, r"summary: the function returned float.* This is the first member"),
        (lambda result: {"x": result.nothing}, r"summary: the function raised AttributeError"),
        ("second_moment", "second_moment: the result has no snapshot_time"),
        (lambda _: {"status": 1.0}, "summary: the study already uses the name status"),
    ):
        with pytest.raises(CaseError, match=sentence):
            gc.evaluate(cases, wrong, progress=False)
    computed.clear()
    with pytest.raises(CaseError, match=r"cases: missing"):
        gc.evaluate([])
    with pytest.raises(CaseError, match=r"cases\[1\]: int is not valid"):
        gc.evaluate([*cases, 3])
    for call, wrong, name in ((gc.evaluate, 3, "int"), (gc.run_many, cases[0], "Case")):
        with pytest.raises(CaseError, match=rf"cases: {name} is not valid\. It must be a list"):
            call(wrong)
    with pytest.raises(CaseError, match="resume: no file to resume from"):
        gc.evaluate(cases, resume=True)
    with pytest.raises(CaseError, match="bead_spectrum needs a sensor, and a case has none"):
        gc.evaluate([*cases, short(**{"sensors.beads": []})], "bead_spectrum")
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(CaseError, match="the function cannot be sent to an executor"),
    ):
        gc.evaluate(cases, lambda _: {}, executor=pool)
    assert not computed
    (tmp_path / "other.h5").write_text("mine")
    with pytest.raises(FileError, match="granchain did not write this file"):
        gc.evaluate(cases, out=tmp_path / "other.h5", overwrite=True)


# --- Its file. For numbers see test_sweep.py and test_killed_studies.py
def test_interrupted_results_are_resumed_to_the_same_answer(tmp_path, computed, monkeypatch):
    monkeypatch.setattr(of_measures, "TOGETHER", 1)
    cases, file = speeds(*SPEEDS), tmp_path / "study.h5"
    expected = gc.evaluate(cases, "result", progress=False)

    def stop(done, count):
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.warns(GranchainWarning, match=r"interrupted: [23] of 4 members are computed"):
        answer = gc.evaluate(cases, "result", out=file, threads=1, progress=stop)
    labels = [status.label for status in answer.status]
    done = labels.count("complete")
    assert done in (2, 3) and labels.count("interrupted") == 4 - done
    with pytest.raises(FileError, match="an unfinished study exists"):
        gc.evaluate(cases, "result", out=file)
    computed.clear()
    answer = gc.evaluate(cases, "result", out=file, resume=True, progress=False)
    assert len(computed) == 4 - done and not (tmp_path / "study.h5.part").exists()
    computed.clear()
    # a complete file is resumed without any run
    options = {"out": file, "resume": True}
    again = gc.evaluate(cases, "result", progress=lambda *_: pytest.fail("computed"), **options)
    assert not computed
    assert answer.equals(expected) and again.equals(expected) and gc.open(file).equals(expected)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_python_ignores_ends_a_study(monkeypatch):
    monkeypatch.setattr(of_measures, "TOGETHER", 1)

    def interrupted(done, count):
        # when this set is deleted: Python ignores an exception of its callback
        mortal = set()
        callback = weakref.ref(mortal, lambda _: signal.raise_signal(signal.SIGINT))
        del mortal
        assert callback() is None

    # a thread may have completed up to two more members
    with pytest.warns(GranchainWarning, match="interrupted: [123] of 4 members are computed"):
        gc.evaluate(speeds(*SPEEDS), "result", threads=1, progress=interrupted)


def test_a_study_is_resumed_at_a_member_on_which_its_function_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(of_measures, "TOGETHER", 1)
    cases, file = speeds(0.5, 0.8, 1.2), tmp_path / "study.h5"

    def slow_speed(result):
        return {"slow": 1.0} if result.case.striker.speed == 0.5 else None

    def stop(done, count):
        raise KeyboardInterrupt

    with pytest.warns(GranchainWarning, match="interrupted: "):
        gc.evaluate(cases, slow_speed, out=file, threads=1, progress=stop)
    study = gc.evaluate(cases, slow_speed, out=file, resume=True, progress=False)
    expected = gc.evaluate(cases, slow_speed, progress=False)
    assert study.drop_vars("point").identical(expected)
    assert study.message.values.tolist()[0] == "" and "NoneType" in str(study.message[2].values)


def test_another_function_or_another_measure_is_computed_again(tmp_path, computed):
    cases, file = speeds(0.5, 1.0), tmp_path / "study.h5"

    def first_speed(result):
        return {"last": result.final_velocity[0]}

    study = gc.evaluate(cases, ("pulse", last_speed), out=file, progress=False)
    for measures in (("pulse", first_speed), ("pulse",), ("traces",)):
        computed.clear()
        more = gc.evaluate(cases, measures, out=file, resume=True, progress=False)
        assert sorted(computed) == [0, 1]
        assert more.drop_vars("point").identical(gc.evaluate(cases, measures, progress=False))
    assert "last" in study and json.loads(study.attrs["messages"]) == []


@pytest.mark.guard
def test_every_measure_returns_the_variables_of_its_labels_and_is_in_the_guide():
    guide = (Path(__file__).parents[1] / "docs" / "how-to" / "many.md").read_text()
    (case,) = speeds(
        1.0, **{"snapshots": {"interval": 2e-6, "history": True}, "sensors.contacts": [0]}
    )
    result = gc.run(case)
    for name, measure in of_measures.MEASURES_OF_RESULTS.items():
        arrays = {each: np.asarray(array) for each, array in measure.variables(result).items()}
        dims = {each: len(label.dims) for each, label in measure.labels.items()}
        assert {each: array.ndim for each, array in arrays.items()} == dims, name
    assert [name for name in of_measures.MEASURES if f'`"{name}"`' not in guide] == []


# --- Chained
def test_a_chained_list_gives_the_numbers_of_a_chained_sweep(tmp_path):
    case = bead(**{"ends.left.ramp": 5e-5, "time.end": 2.5e-4, "time.step": 1e-7})
    key, sizes = "ends.left.amplitude", [1e-8, 3e-8, 2e-8]
    cases = [case.replace({key: size}) for size in sizes]
    study = gc.evaluate(cases, chained=True, progress=False)
    swept = gc.sweep(case, {key: sizes}, chained=True, progress=False)
    assert study[key].values.tolist() == sizes
    for name in ("force_amplitude", "force_amplitude_error", "force_mean", "drive_phase", "state"):
        assert np.array_equal(study[name], swept[name]), name
    with pytest.raises(CaseError, match=r"chain\.radius cannot be varied in a chained study"):
        gc.evaluate([case, case.replace({"chain.radius": 2.3e-3})], chained=True)
    # a case that occurs twice starts from another state the second time
    there_and_back = gc.evaluate([*cases[:2], cases[0]], chained=True, progress=False)
    assert np.array_equal(there_and_back["drive_phase"][:2], study["drive_phase"][:2])
    assert there_and_back["state"][2] != there_and_back["state"][0]
    # the first value of a chained study is not the run of its case
    file = tmp_path / "traces.h5"
    single = gc.evaluate(cases, "traces", out=file, progress=False)
    chain = gc.evaluate(cases, "traces", chained=True, out=file, resume=True, progress=False)
    assert chain.n_samples[0] < single.n_samples[0]
    assert chain.drop_vars("point").identical(
        gc.evaluate(cases, "traces", chained=True, progress=False)
    )
