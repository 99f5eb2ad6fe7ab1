"""A dashpot whose restitution is that of an elastoplastic law at the impact speed delivers this
restitution."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.rows import SPEED, run_row, steel_row, velocities

from granchain.case import load_case
from granchain.contact import laws
from granchain.contact.examples import example_inputs, example_pair
from granchain.contact.law import SPEED_NODES
from granchain.engine.setup import LawAtSpeeds, restitutions_at
from granchain.errors import CaseError, LawError, RunError
from granchain.simulation import run
from granchain.two_body import impact

MA_LIU = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
PAIR = example_pair()


def ma_liu(speed):
    return impact(speed=speed, refine=10.0, **MA_LIU).restitution


def test_the_quasi_static_restitution_is_that_of_the_engine():
    law = laws()["ma-liu"]
    values = example_inputs(law, psi=2.84, xi=13.0)
    speeds = np.array([0.02, 0.2, 1.77, 10.0])
    (found,) = restitutions_at([LawAtSpeeds(law, values, PAIR, np.array([1e-3]), speeds)])
    found = found[:, 0]
    # below the yield speed no energy is lost
    assert found[0] == 1.0
    # .9926 .8390 .6694 at .2, 1.77, 10 m/s: recomputed to these digits; the engine agrees within
    # its error
    assert found[1:] == pytest.approx([0.9926, 0.8390, 0.6694], abs=5e-5)
    assert found[1:] == pytest.approx([ma_liu(v) for v in speeds[1:]], abs=2e-6)


# test_small_plain.py tests the restitution at the speed of an onset as plain Python
@pytest.mark.long
@pytest.mark.parametrize("speed", [0.3, 6.0])
def test_identified_damping_delivers_the_other_laws_restitution_at_the_onsets_own_speed(speed):
    # two beads with a gap, so that the contact has an onset speed
    chain = replace(steel_row(2, speed), gap=np.array([1e-6]))
    state = run_row(
        chain, "flores", 1e-6 / speed + 1e-4, refine=10.0,
        restitution=MA_LIU, damping="identified", impact_speed="onset", impact_speed_floor=0.01,
    )  # fmt: skip
    before, after = velocities(state)
    assert (after - before) / speed == pytest.approx(ma_liu(speed), abs=1e-5)
    # the contact stores this speed
    assert state.h[0, 1] == pytest.approx(speed, rel=1e-9)
    assert len(state.model.coefficients) == SPEED_NODES + 4


def test_a_case_takes_the_restitution_at_the_strikers_speed():
    flores = load_case("steel-chain").replace(
        **{"contact.law": "flores", "contact.damping": "identified", "time.step": "fast"}
        | {"contact.restitution": 0.5}
    )
    table, number = (
        run(flores.replace(**{"contact.restitution": e})).sensor_force.max(axis=0)
        for e in (MA_LIU, ma_liu(SPEED))
    )
    assert table == pytest.approx(number, rel=1e-5)
    with pytest.raises(CaseError, match="an elastoplastic law"):
        flores.replace(**{"contact.restitution": {"law": "hertz"}})


@pytest.mark.plain
def test_a_restitution_beyond_the_overlap_limit_is_refused_before_an_impact(plain_scans):
    with pytest.raises(LawError, match="exceeds the overlap limit of kogut-etsion"):
        impact(
            law="flores",
            speed=8.0,
            pair={"yield_stress": 20e6},
            restitution={"law": "kogut-etsion"},
        )


@pytest.mark.long
@pytest.mark.parametrize("other", ["kogut-etsion", "jackson-green"])
def test_a_restitution_beyond_the_overlap_limit_of_its_law_is_refused(other, plain_scans):
    soft = {"yield_stress": 20e6}
    with pytest.raises(RunError) as alone:
        impact(law=other, speed=8.0, pair=soft)
    limit = re.search(r"at most (\S+) m\.", str(alone.value))[1]
    with pytest.raises(LawError, match=f"overlap limit of {other}, {limit} m") as refused:
        impact(law="flores", speed=8.0, pair=soft, restitution={"law": other})
    # slightly below the largest speed in the message, both laws have a restitution
    fastest = 0.99 * float(re.search(r"at most (\S+) m/s", str(refused.value))[1])
    wanted = impact(law=other, speed=fastest, pair=soft, refine=0.5).restitution
    given = impact(
        law="flores", speed=fastest, pair=soft, restitution={"law": other}, damping="identified"
    )
    assert given.restitution == pytest.approx(wanted, abs=0.01)
