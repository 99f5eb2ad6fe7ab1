"""Images of many states are bit-identical to runs from each state, for any number of threads."""

import numpy as np
import pytest
from support.shaken import shaken_row

import granchain as gc
from granchain.errors import CaseError, RunError
from granchain.studies import images
from granchain.studies.images import Images, Runners

RESONATOR = {"mass": 0.2e-3, "stiffness": 3e6, "damping": 0.3}
CASE = shaken_row(
    3, 8e3, 3e-7, 5e3, **{"time.step": 2e-7, "time.end": 6e-6, "chain.resonator": RESONATOR}
)
STATES = np.hstack([1e-8 * np.arange(24.0).reshape(4, 6), 1e-4 * np.arange(24.0).reshape(4, 6)])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.plain
def test_images_are_those_of_runs_from_each_state(threads, monkeypatch):
    # each batch has one state
    monkeypatch.setattr(images, "AT_ONCE", 1.0)
    reported = []
    chain = Images(CASE, Runners(threads, lambda *runs: reported.append(runs)))
    after = chain.after(STATES)
    assert [done for done, _ in reported] == [1, 2, 3, 4]
    for state, end in zip(STATES, after, strict=True):
        names = [
            kind + name for name in ("displacement", "velocity") for kind in ("", "resonator_")
        ]
        parts = np.split(state, [3, 6, 9])
        initial = {name: values.tolist() for name, values in zip(names, parts, strict=True)}
        known = gc.run(CASE.replace(initial=initial))
        assert (end == np.concatenate([getattr(known, f"final_{name}") for name in names])).all()


@pytest.mark.long
def test_histories_after_a_time_are_those_of_a_run():
    case = CASE.replace(contact={"law": "ma-liu", "psi": 3.0, "xi": 13.0})
    chain = Images(case, Runners(1))
    # fast enough that the contacts yield
    state = np.repeat([0.0, 0.5], 6) * np.tile([1.0, -1.0], 6)
    image, history = chain.after_with_history(state, chain.history_at_rest)
    initial = {"velocity": state[6:9].tolist(), "resonator_velocity": state[9:].tolist()}
    known = gc.run(case.replace(initial=initial))
    assert (image[:3] == known.final_displacement).all()
    names = [quantity.name for quantity in chain.quantities]
    limit = history[names.index("elastic_limit"), chain.contacts]
    assert (limit == known.elastic_limit).all()
    assert (limit > chain.history_at_rest[names.index("elastic_limit"), chain.contacts]).any()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failed_or_interrupted_batch_ends_all(threads, monkeypatch):
    monkeypatch.setattr(images, "AT_ONCE", 1.0)
    with pytest.raises(RunError):
        Images(CASE, Runners(threads)).after(1e300 * STATES)

    def interrupted(*_):
        raise KeyboardInterrupt

    runners = Runners(threads, interrupted)
    with pytest.raises(KeyboardInterrupt):
        Images(CASE, runners).after(STATES)
    assert runners.stopped.is_set() == (threads > 1)


def test_energy_is_that_of_a_run_and_forces_are_its_slope(plain_loop):
    case = CASE.replace(
        **{"chain.drag": 0.0, "chain.on_site_stiffness": 1e6, "ends.left": "wall"}
    ).replace(**{"chain.resonator": RESONATOR | {"damping": 0.0}})
    chain, state = Images(case, Runners(1)), STATES[1]
    u = state[:6]
    initial = {"displacement": u[:3].tolist(), "resonator_displacement": u[3:].tolist()}
    initial |= {"velocity": state[6:9].tolist(), "resonator_velocity": state[9:].tolist()}
    moving, still = (
        sum(
            values.data[0]
            for name, values in gc.run(case.replace(initial=table)).variables.items()
            if name in ("energy_kinetic", "energy_recoverable", "energy_elements")
        )
        for table in (initial, None)
    )
    assert chain.energy(state) == pytest.approx(moving - still, rel=1e-6, abs=0.0)
    assert chain.energy(np.zeros(12)) == 0.0
    step = 1e-11 * np.eye(6)
    zeros = np.zeros(6)
    slope = [
        (chain.energy(np.append(u + row, zeros)) - chain.energy(np.append(u - row, zeros))) / 2e-11
        for row in step
    ]
    assert chain.forces(u) == pytest.approx(-np.array(slope), rel=1e-3, abs=1e-3)


def test_a_number_of_threads_that_is_not_valid_is_refused():
    with pytest.raises(CaseError, match="threads: 0 is out of range"):
        Runners(0)
