"""The law `power`: K d^n against closed forms of an impact, and valid inputs of a case."""

import pytest

import granchain as gc
from granchain import theory
from granchain.case import Case
from granchain.contact.pair import Pair, exact_damping_factor
from granchain.errors import CaseError
from granchain.two_body import impact

MASS, SPEED = 2e-4, 1.3
PAIR = Pair(
    effective_radius=1e-3, effective_modulus=1e11, effective_mass=MASS, radius_1=2e-3, radius_2=2e-3
)


def test_an_impact_has_the_duration_and_the_restitution_of_the_closed_forms(plain_loop):
    """Separated equation of motion: 2/(n + 1) B(1/(n + 1), 1/2) d_max/v, Johnson 1985;
    a (1 + e) = ln[(1 + a)/(1 - a e)], Gonthier et al. 2004, for every n."""
    # an overlap of .1 mm at a force of 1 kN; other laws have exponents 1 and 1.5
    exponent, stiffness = 3.0, 1e3 / 1e-4**3.0
    # at half the automatic step, the error is at most a quarter of 5e-5 (order two; measured 5e-7
    # at a tenth)
    within = 1.3e-5
    finer = {"law": "power", "speed": SPEED, "pair": PAIR, "refine": 2.0}
    finer |= {"stiffness": stiffness, "exponent": exponent}
    elastic, closed = impact(**finer), theory.elastic_impact(stiffness, MASS, SPEED, exponent)
    assert elastic.duration == pytest.approx(closed.duration, rel=within)
    assert elastic.max_overlap == pytest.approx(closed.max_overlap, rel=within)
    assert elastic.restitution == pytest.approx(1.0, abs=within)
    damped, factor = impact(**finer, restitution=0.6), float(exact_damping_factor(0.6))
    expected = theory.hysteresis_impact(stiffness, MASS, SPEED, factor, exponent)
    assert damped.restitution == pytest.approx(0.6, abs=within)
    assert damped.max_overlap == pytest.approx(expected.max_overlap, rel=within)
    assert damped.max_force == pytest.approx(expected.max_force, rel=within)


POWER = {"law": "power", "stiffness": 1e9, "exponent": 1.5}
CHAIN = {"beads": 5, "radius": 2.38e-3, "material": "steel-316"}


def case(contact, **tables):
    return Case(
        **{"chain": CHAIN, "striker": {"speed": 1.0}, "time": {"end": 5e-5}} | tables,
        contact=contact,
    )


@pytest.mark.plain
def test_a_loaded_row_gives_the_speed_of_the_damping_and_one_that_loses_nothing_needs_none():
    pressed = {"chain": CHAIN | {"precompression": 10.0}, "ends": {"right": "wall"}}
    case(POWER, **pressed)
    case(POWER | {"restitution": 0.6})
    case(POWER | {"restitution": 0.6, "impact_speed": 0.1}, **pressed)
    with pytest.raises(CaseError, match=r"contact\.impact_speed: .*in a chain with a static load"):
        case(POWER | {"restitution": 0.6}, **pressed)
    # the error for an exponent under another law refers to this law
    with pytest.raises(CaseError, match=r"contact\.exponent.*use law = .power"):
        case({"law": "hertz", "exponent": 2.0})


def test_an_open_contact_that_softens_is_said(plain_loop):
    run = gc.run(case(POWER | {"stiffness": 1e4, "exponent": 0.8}, time={"end": 2e-5}))
    assert any("exponent below 1 were open" in str(message) for message in run.messages)
    softens = POWER | {"stiffness": 3e4, "exponent": 0.6}
    pressed = {"chain": CHAIN | {"precompression": 20.0}, "ends": {"right": "wall"}}
    quiet = case(softens, **pressed).replace(striker=None, **{"sensors.contacts": []})
    messages = [str(message) for message in gc.run(quiet).messages]
    assert any("must stay closed, and some contacts were not recorded" in one for one in messages)
