"""Many cases: each member has the bits of its single run; failed and interrupted members."""

import gc as gc_of_python
import itertools
import threading

import numpy as np
import pytest
from support.kinds import each_loop
from support.random_cases import random_cases
from support.refused import assert_refused

import granchain as gc
from granchain.engine import batch
from granchain.engine.state import State
from granchain.errors import CaseError, GranchainWarning, RunError
from granchain.simulation import recording_of
from granchain.status import Status
from granchain.store.schema import unit_of_attributes
from granchain.studies import members
from granchain.studies.evaluate import evaluated

# Laws that are also compiled as a stack.
FAST = ["ma-liu"]
# Number of members of a small ensemble, more than two threads compute at once. They have different
# steps, ends, gaps and walls.
MEMBERS = 5


@pytest.fixture(autouse=True)
def stacked(request, monkeypatch):
    """Small ensembles also run in stacks, compiled if the bits of each law are compared."""
    monkeypatch.setattr(batch, "COMPILED", 1)
    if "law" not in request.fixturenames:
        request.getfixturevalue("plain_loop")


def drawn(law, count=MEMBERS, seed=14):
    """Return cases of a law with rows of eight beads, where every bead is recorded, with strides
    that share no steps."""
    cases = random_cases(count, seed, (law,), beads=(8, 8), bare=True)
    intervals = {"snapshots.interval": 7.3, "energy.interval": 11.7}
    return [
        case.replace({key: case.time.end / x for key, x in intervals.items()})
        .replace({"sensors.contacts": [0, 3]})
        for case in cases
    ]  # fmt: skip


def short(**changes):
    """The elastic chain with eight beads, until the pulse leaves the first of them."""
    quick = {"chain.beads": 8, "sensors.beads": [2, 5], "sensors.contacts": [1], "snapshots": None}
    quick["time.end"] = 3e-5
    return gc.load_case("steel-chain-hertz").replace(**quick | changes)


def single(case):
    try:
        return gc.run(case)
    except RunError as error:
        assert isinstance(error.result, gc.Result)
        return error.result


@pytest.mark.parametrize("law", each_loop(FAST))
def test_each_member_has_the_bits_of_its_own_run(law):
    cases = drawn(law)
    ensemble = gc.run_many(cases, threads=2)
    assert len({result.time.size for result in ensemble}) > 1
    for case, result in zip(cases, ensemble, strict=True):
        assert result.equals(single(case))
        assert result.sensor_force.max() > 0.0


def test_members_unlike_in_every_way_run_together(tmp_path):
    # a displacement of a micrometre, similar to the overlaps in the struck chain
    (tmp_path / "push.csv").write_text("0,0\n1e-5,1e-6\n3e-5,0\n")
    push = {"drive": "displacement", "file": str(tmp_path / "push.csv")}
    dents = {"contact.law": "ma-liu", "contact.psi": 2.84, "contact.xi": 13.0}
    changes = [{}, {"chain.beads": 17}, {"striker": None, "ends.left": push}, dents]
    changes += [{"chain.precompression": 20.0, "time.end": 2e-6}, dents | {"contact.psi": 2.5}]
    changes += [{"energy.ledger": False, "sensors.beads": [3], "sensors.contacts": []}]
    changes += [{"striker.speed": 0.5, "time.end": 2e-6}, {"striker.mass": 1e-3}]
    changes += [{"chain.gap": 1e-7}, {"ends.right": "wall"}, {"striker": None}]
    # variants of one case, which share unchanged parts
    base = short(**{"time.end": 3e-6})
    cases = [base.replace(**change) for change in changes]
    for case, result in zip(cases, gc.run_many(cases), strict=True):
        assert result.equals(single(case))


@pytest.mark.plain
def test_a_state_to_go_on_from_is_kept_of_results_and_not_of_numbers(monkeypatch):
    kept = []
    monkeypatch.setattr(State, "keep", lambda state: kept.append(state))
    monkeypatch.setattr(batch, "COMPILED", 2)
    cases = [short(), short(**{"striker.speed": 0.5})]
    assert evaluated(cases).status == [Status.COMPLETE] * 2 and not kept
    assert all(result.state is None for result in gc.run_many(cases)) and len(kept) == 2


@pytest.mark.plain
def test_members_that_differ_in_the_strikers_speed_share_all_else():
    base = short(**{"time.step": "fast"})
    # the steps differ, and so do the times of the ledger entries
    cases = [base.replace(**{"striker.speed": speed}) for speed in (0.5, 4.0)]
    ready, _ = members.set_up(cases, range(2), recording_of)
    states = [member.state for member in ready]
    assert states[0].table_shapes is states[1].table_shapes
    assert states[0].time_step.n_steps < states[1].time_step.n_steps
    results = [single(case) for case in cases]
    assert all(map(gc.Result.equals, gc.run_many(cases), results))
    measured = evaluated(cases, ("pulse", "traces"))
    for (time, force), result in zip(measured.traces, results, strict=True):
        assert (time == result.time).all() and (force == result.sensor_force).all()


@pytest.mark.plain
def test_few_members_run_without_a_loop_over_them(monkeypatch):
    monkeypatch.setattr(batch, "COMPILED", 3)
    monkeypatch.setattr(batch, "stack_of", lambda loop: pytest.fail("a stack was compiled"))
    cases = [short(), short(**{"striker.speed": 0.5})]
    assert all(map(gc.Result.equals, gc.run_many(cases), map(single, cases)))


def outcasts():
    """Return a good case, one that no law can compute, one whose step is too long, and another good
    one."""
    # the stability limit of this chain is near 2e-6 s; with three times this step, it fails after a
    # few steps
    long = {"time.step": 6e-6, "time.force_step": True, "time.end": 6e-4, "sensors.contacts": []}
    changes = {}, {"chain.precompression": 1e12}, long, {"striker.speed": 0.5}
    return [short(**change) for change in changes]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_member_that_fails_says_so_and_the_others_run():
    cases = outcasts()
    seen = []
    ensemble = gc.run_many(cases, progress=lambda done, total: seen.append((done, total)))
    counts = [done for done, _ in seen]
    assert seen[-1] == (4, 4) and counts == sorted(set(counts)) and {n for _, n in seen} == {4}
    assert [status.failed for status in ensemble.status] == [False, True, True, False]
    assert ensemble.status[1] is Status.NOT_SET_UP
    assert ensemble.messages[0] == ensemble.messages[3] == ""
    said = "chain.precompression: the static force of contact 1, 1e+12 N"
    assert ensemble.messages[1].startswith(said)
    assert ensemble.messages[2].startswith("the run stopped at t = ")
    for place in (0, 2, 3):
        assert ensemble[place].equals(single(cases[place]))
    with pytest.raises(RunError, match=r"member 1: chain\.precompression"):
        ensemble[1]
    ends = f"2 complete, 1 not set up, 1 {ensemble.status[2].label}"
    assert repr(ensemble) == f"<Ensemble: 4 members; {ends}>"
    # with strict = True, the first failure is raised
    with pytest.raises(CaseError, match=r"member 1: chain\.precompression"):
        gc.run_many(cases, strict=True)
    with pytest.raises(RunError, match="member 1: the run stopped") as caught:
        gc.run_many([cases[0], cases[2]], strict=True)
    assert caught.value.result.equals(ensemble[2])


def test_what_cannot_be_run_is_refused():
    # a sample of two beads every 2e-13 s for 3e-5 s: three numbers of eight bytes in 1.5e8 rows,
    # 3.4 GiB for a run; 8 GiB are allowed
    large = short(**{"sensors.interval": 2e-13, "sensors.contacts": [], "time.step": 1e-13})
    rows = [
        ([], 1, "cases: missing. At least one case is required"),
        (["steel-chain"], 1, r"cases\[0\]: str is not valid\. It must be a Case, .* Create it"),
        ([short()], 1.5, r"threads: 1\.5 is not a whole number\. It must be a whole number, 1 to"),
        ([short()], 10**9, r"threads: .* is out of range\. It must be a whole number, 1 to"),
        ([large] * 3, 1, r"cases: 3 runs need 10\.1 GiB of memory. At most 8 GiB are allowed. W"),
    ]
    assert_refused(lambda cases, threads: gc.run_many(cases, threads=threads), rows)


@pytest.mark.plain
def test_setting_up_leaves_the_search_for_garbage_as_it_was():
    searched = []
    try:
        for searches in (True, False):
            (gc_of_python.enable if searches else gc_of_python.disable)()
            with pytest.raises(ZeroDivisionError), members.no_collection():
                searched.append(gc_of_python.isenabled())
                raise ZeroDivisionError
            assert gc_of_python.isenabled() is searches
    finally:
        gc_of_python.enable()
    assert searched == [False, False]


@pytest.mark.parametrize("in_a_file", [False, True])
def test_nothing_of_a_member_is_kept_that_is_interrupted_within_it(
    in_a_file, tmp_path, monkeypatch
):
    """The interruption arrives between two calls of compiled code."""
    monkeypatch.setattr(members, "FIRST_BLOCK", 100)
    # one step in each block, from the second block on
    monkeypatch.setattr(members, "BLOCK_SECONDS", 1e-12)
    cases = [short(), short(**{"striker.speed": 0.5})]
    begun, told_to_stop = threading.Event(), threading.Event()
    advance = batch.Stack.advance

    calls = itertools.count()

    def some(self, first, last, steps):
        advance(self, first, last, steps)
        if next(calls) == 30:
            begun.set()
            # the next block must begin after the interruption, however late it arrives
            told_to_stop.wait()

    monkeypatch.setattr(batch.Stack, "advance", some)

    def wait(futures, return_when):
        begun.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(members, "wait", wait)

    class Pool(members.ThreadPoolExecutor):
        """A pool that ends only after it is told to stop."""

        def shutdown(self, *arguments, **options):
            told_to_stop.set()
            super().shutdown(*arguments, **options)

    monkeypatch.setattr(members, "ThreadPoolExecutor", Pool)
    out = tmp_path / "study.h5" if in_a_file else None
    with pytest.warns(GranchainWarning, match="interrupted: 0 of 2 members are computed"):
        ensemble = gc.run_many(cases, out=out, threads=1)
    assert ensemble.status == (Status.INTERRUPTED, Status.INTERRUPTED)
    for place in range(2):
        with pytest.raises(RunError, match=f"member {place}: the study was interrupted before"):
            ensemble[place]
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:evaluate. .*Increase time.end")
@pytest.mark.parametrize("measures", [("pulse", "traces", "second_moment"), ("traces",)])
def test_an_evaluation_without_a_complete_member_is_an_answer(measures, monkeypatch):
    """Studies that are interrupted before any member is complete, or in which no member can start;
    the members have different sensors."""
    cases = [short(**{"snapshots.interval": 1e-5}), short(**{"sensors.beads": [2, 5, 6]})]
    refused = [case.replace(**{"chain.precompression": 1e12}) for case in cases]
    study = gc.evaluate(refused, measures, progress=False)
    assert study.status.values.tolist() == ["not set up"] * 2
    # the member with more sensors is not complete
    study = gc.evaluate([cases[0], refused[1]], measures, progress=False)
    assert study.sensor_force.shape[-1] == 3 and study.sensor_force[0, :, :2].notnull().any()

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(members, "set_up", interrupted)
    with pytest.warns(GranchainWarning, match="interrupted: 0 of 2 members are computed"):
        study = gc.evaluate(cases, measures, progress=False)
    assert study.status.values.tolist() == ["interrupted"] * 2
    assert study.sensor_force.dims == ("run", "sample", "sensor") and not study.sizes["sample"]


def study():
    """Return members with different steps, one that cannot start, and one with another law."""
    law = {"contact.law": "ma-liu", "contact.psi": 2.0, "contact.xi": 13.0}
    base = short(**law | {"snapshots.interval": 1e-5})
    changes = [{}, {"contact.psi": 3.0}, {"contact.psi": 4.0}, {"chain.precompression": 1e12}]
    return [base.replace(**change) for change in (*changes, {"contact.law": "hertz"})]


def test_the_dataset_has_every_value_of_every_member_and_no_other():
    ensemble = gc.run_many(study())
    dataset = ensemble.to_xarray()
    counted = {"time": "sample", "energy_time": "entry", "snapshot_time": "shot"}
    assert dataset.sizes["run"] == 5
    assert dataset["contact.psi"].values[:3].tolist() == [2.0, 3.0, 4.0]
    assert dataset["contact.law"].values.tolist() == ["ma-liu"] * 4 + ["hertz"]
    assert dataset.status.values.tolist() == [status.label for status in ensemble.status]
    assert dataset.message.values.tolist() == list(ensemble.messages)
    assert len(set(dataset.n_samples.values.tolist())) > 2 and dataset.n_samples.values[3] == 0
    compared = set()
    for place, member in enumerate(dataset.run.values):
        values = {} if place == 3 else ensemble[place].variables
        for name, array in dataset.isel(run=member).items():
            if name in ("status", "message", "time_step", "kind") or name.startswith("n_"):
                continue
            mine = values[name].data if name in values else np.zeros([0] * array.ndim)
            inside = tuple(slice(length) for length in mine.shape)
            # phases are integers, so that no run lacks them
            assert array.values[inside].tobytes() == mine.astype(array.dtype).tobytes(), name
            rest = array.values.copy()
            rest[inside] = np.nan
            assert np.isnan(rest).all(), name
            compared.add(name)
        for name, variable in values.items():
            assert name in compared or variable.dims == (name,), name
            assert unit_of_attributes(dataset[name].attrs) == variable.unit
            axes = ("run", *(counted.get(axis, axis) for axis in variable.dims))
            assert name not in compared or dataset[name].dims == axes
    known = {"time", "sensor_force", "energy_residual", "displacement", "residual_overlap"}
    assert known <= compared
