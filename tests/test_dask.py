"""Studies on a dask scheduler with two worker processes, one of which is killed."""

import json
import os
import signal
from pathlib import Path

import pytest
from support.short_chains import elastic

import granchain as gc
from granchain.errors import RunError
from granchain.studies import executors

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.long

# A law that ends a worker that sets it up with a given restitution, but not the process of the
# study.
KILLER = """
import multiprocessing
import os

from granchain.contact.hertz import Hertz
from granchain import Quantity


class Killer(Hertz):
    \"\"\"Hertz, which ends a worker at a restitution of a half.\"\"\"

    name = "killer"
    inputs = (Quantity("restitution", "1", "asked", above=0.0, high=1.0),)

    @staticmethod
    def coefficients_of(pair, inputs):
        if inputs.restitution == 0.5 and multiprocessing.parent_process():
            os._exit(1)
        return (pair.hertz_stiffness,)
"""


@pytest.fixture
def cluster(monkeypatch):
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as made:
        # tasks with some members each
        monkeypatch.setattr(executors, "TASK_SECONDS", 0.01)
        yield made


def test_a_killed_worker_costs_nothing(cluster, tmp_path):
    case, vary = elastic(), {"striker.speed": {"linear": [0.5, 2.0, 200]}}
    workers = [worker.pid for worker in cluster.workers.values()]
    killed = []

    def kill(done, count):
        if not killed and done > count // 4:
            os.kill(workers[0], signal.SIGKILL)
            killed.append(done)

    with executors.dask_at(cluster.scheduler_address) as executor:
        study = gc.sweep(case, vary, executor=executor, out=tmp_path / "study.h5", progress=kill)
    assert killed and study.drop_vars("point").identical(gc.sweep(case, vary))
    assert [path.name for path in tmp_path.iterdir()] == ["study.h5"]


def test_a_member_that_kills_its_workers_is_an_error_with_the_others_and_can_be_resumed(
    cluster, tmp_path, monkeypatch, own_laws
):
    from granchain.contact.user import load_law_module

    file, out = tmp_path / "killer.py", tmp_path / "study.h5"
    file.write_text(KILLER)
    load_law_module(file)
    # one member per task
    monkeypatch.setattr(executors, "TASK_SECONDS", 1e-9)
    case = elastic(**{"contact.law": "killer", "contact.restitution": 0.9})
    restitutions = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    cases = [case.replace(**{"contact.restitution": value}) for value in restitutions]
    expected = gc.evaluate(cases, progress=False)
    with (
        executors.dask_at(cluster.scheduler_address) as executor,
        pytest.raises(
            RunError, match=r"executor: it did not compute a task \(KilledWorker"
        ) as raised,
    ):
        gc.evaluate(cases, executor=executor, out=out, progress=False)
    ends = raised.value.result.status.values.tolist()
    assert ends[0] == "complete" and ends[4] == "interrupted"
    assert f"\n{ends.count('complete')} of 8 members are computed. They are in {out}.part." in str(
        raised.value
    )
    whole = gc.evaluate(cases, out=out, resume=True, progress=False)
    assert whole.drop_vars("point").identical(expected)


def test_the_command_takes_the_address_of_a_scheduler(cluster, tmp_path, monkeypatch, obeyed):
    monkeypatch.chdir(tmp_path)
    Path("speeds.toml").write_text(
        'case = "steel-chain-hertz"\ntraces = true\n[vary]\nstriker.speed = [0.5, 1.0, 2.0]\n'
    )
    assert (
        json.loads(
            obeyed("sweep", "speeds.toml", "--dask", cluster.scheduler_address, "--json").out
        )["status"]
        == ["complete"] * 3
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["speeds.h5", "speeds.toml"]


@pytest.mark.parametrize("fault", ["client", "scheduler"])
def test_a_scheduler_or_a_client_that_is_gone_is_a_sentence_and_members_are_kept(
    fault, tmp_path, monkeypatch
):
    monkeypatch.setattr(executors, "TASK_SECONDS", 0.01)
    out = tmp_path / "study.h5"
    # the test does not wait for it
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as made:
        client = distributed.Client(made, set_as_default=False)
        gone = []

        def leave(done, count):
            if not gone and done > count // 4:
                gone.append(done)
                (client if fault == "client" else made).close()

        with pytest.raises(RunError, match=r"executor: it ") as raised:
            vary = {"striker.speed": {"linear": [0.5, 2.0, 200]}}
            gc.sweep(
                elastic(), vary, executor=client.get_executor(pure=False), out=out, progress=leave
            )
        client.close()
    assert f"of 200 members are computed. They are in {out}.part. Resume with --resume" in str(
        raised.value
    )
    assert int((raised.value.result.status == "complete").sum()) >= gone[0]
