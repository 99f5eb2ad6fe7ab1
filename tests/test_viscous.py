"""Viscous dashpots: delivered restitutions, for contacts that end at zero overlap or are clamped at
zero force."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from support.rows import SPEED, inputs_for

from granchain import theory
from granchain.contact import laws
from granchain.contact.examples import example_pair
from granchain.contact.viscous import jankowski_ratio, ratio_of_decay
from granchain.errors import CaseError, LawError
from granchain.two_body import impact

# Two of the chain's beads: Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214.
PAIR = example_pair()

ASKED = (0.1, 0.3, 0.5, 0.7, 0.9)
# Additional inputs of a law; linear laws have the contact duration of Hertz's law.
MORE = {
    "kelvin-voigt": {"stiffness": 1e7},
    "wang-liu-viscous": {"psi": 2.84, "xi": 13.0},
    "lee-wang-transition": {"stiffness": 1e7, "q": 3.0, "epsilon": 2e-6},
}


def delivered(law, **inputs):
    given = MORE.get(law, {}) | {"refine": 10} | inputs
    return impact(law=law, pair=PAIR, speed=SPEED, **given).restitution


# The loop of Wang and Liu's law is not compiled by other tests.
@pytest.mark.parametrize(
    "law", ["kelvin-voigt", "tsuji", pytest.param("wang-liu-viscous", marks=pytest.mark.long)]
)
def test_a_contact_that_may_pull_delivers_what_is_asked_and_a_clamped_one_more(law):
    pulling = [delivered(law, restitution=e, separation="tensile") for e in ASKED]
    assert pulling == pytest.approx(ASKED, abs=1e-6)
    found = [delivered(law, restitution=e) for e in ASKED]
    # integrated to the digits shown
    assert found == pytest.approx((0.2527, 0.3971, 0.5503, 0.7182, 0.9020), abs=5e-5 + 1e-6)
    assert found == pytest.approx([theory.clamped_restitution(e) for e in ASKED], abs=1e-6)


@pytest.mark.long
def test_jankowskis_law_delivers_less_than_is_asked_and_identified_what_is_asked(request):
    # integrated to the digits shown, for contacts that end at d = 0 and for clamped contacts
    both, identified = "jankowski-both-phases", {"damping": "identified"}
    tensile = [delivered(both, restitution=e, separation="tensile") for e in (0.5, 0.9)]
    assert tensile == pytest.approx((0.0892, 0.8015), abs=5e-5 + 1e-5)
    clamped = [delivered(both, restitution=e) for e in (0.1, 0.5, 0.9)]
    assert clamped == pytest.approx((0.0087, 0.2446, 0.8095), abs=5e-5 + 1e-6)
    for e, way in product((0.2, 0.9), ("tensile", "clamped")):
        found = delivered(both, restitution=e, separation=way, **identified)
        assert found == pytest.approx(e, abs=1e-6)
    # no other test compiles this loop; the step causes errors of up to 1.3e-5
    request.getfixturevalue("plain_loop")
    found = [delivered("jankowski", restitution=e, refine=2) for e in (0.1, 0.5, 0.9)]
    assert found == pytest.approx((0.0933, 0.4946, 0.8997), abs=5e-5 + 1.3e-5)
    found = [delivered("jankowski", restitution=e, refine=2, **identified) for e in (0.2, 0.9)]
    assert found == pytest.approx((0.2, 0.9), abs=1.3e-5)


@pytest.mark.plain
def test_laws_share_one_form_and_an_oscillator_damped_beyond_its_critical_damping_stays():
    assert laws()["ristow"].force is laws()["lee-herrmann"].force
    assert laws()["tsuji"].force is laws()["jankowski-both-phases"].force
    # below this restitution, to the digits shown, Jankowski's law in both phases never opens
    assert jankowski_ratio(0.37525) > 1.0 > jankowski_ratio(0.37535)


@pytest.mark.long
@pytest.mark.parametrize(("b", "speed"), [(0.01, 0.05), (0.02, 5.0), (0.05, SPEED)])
def test_kuwabara_and_kono_deliver_the_series_of_weak_damping(b, speed, plain_loop):
    # b = (chi/K)(K/m)^.4 v^.2
    stiffness, mass = float(PAIR.hertz_stiffness), float(PAIR.effective_mass)
    chi = b * stiffness / ((stiffness / mass) ** 0.4 * speed**0.2)
    given = {"law": "kuwabara-kono", "chi": chi, "refine": 10}
    tensile, clamped = (
        impact(**given, speed=speed, separation=way).restitution for way in ("tensile", "clamped")
    )
    # the next term, from runs: -.5 b^3, and an error of 2e-6 of the loop
    series = 1.0 - 1.15344 * b + 0.79826 * b * b - 0.5 * b**3
    assert tensile == pytest.approx(series, abs=0.1 * b**3 + 2e-6)
    # .263 b^2.5, and terms of higher half-integer powers
    assert (clamped - tensile) / b**2.5 == pytest.approx(0.263, rel=0.01 + 2.0 * b)


@pytest.mark.parametrize("alpha", [0.08, 0.32])
def test_hunt_and_crossley_with_alpha_lose_in_proportion_to_the_speed(alpha):
    # alpha of steel, bronze and ivory, .08 to .32 s/m: Hunt & Crossley 1975, doi:10.1115/1.3423596
    given = {"law": "hunt-crossley-alpha", "pair": PAIR, "refine": 10, "alpha": alpha}
    speeds = (0.05, 1.0, 5.0)
    found = [impact(**given, speed=speed).restitution for speed in speeds]
    expected = [theory.delivered_restitution(1.5 * alpha * speed) for speed in speeds]
    assert found == pytest.approx(expected, abs=1e-6)
    # to first order in alpha v; the next term is smaller by a factor of alpha v
    assert (1.0 - found[0]) / (alpha * 0.05) == pytest.approx(1.0, abs=0.05 * alpha)


@pytest.mark.plain
def test_the_ratio_of_a_decay_solves_its_equation():
    for decay in (1e-6, 0.1, 0.7, 0.999, 1.001, 2.0, 20.0):
        zeta = float(ratio_of_decay(decay))
        angle = math.acos(zeta) if decay < 1.0 else math.acosh(zeta)
        found = zeta * angle / math.sqrt(abs(1.0 - zeta * zeta))
        assert found == pytest.approx(decay, rel=1e-12)
    assert ratio_of_decay(np.array([0.0, 1.0])) == pytest.approx([0.0, 1.0], abs=1e-15)


@pytest.mark.plain
@pytest.mark.parametrize("law", ["kelvin-voigt", "wang-liu-viscous", "tsuji"])
def test_identified_the_damping_is_that_of_the_inverse_of_the_clamped_restitution(law):
    def found(restitution, **more):
        inputs = inputs_for(law, **MORE.get(law, {}), **more)
        inputs.restitution = restitution
        return laws()[law].coefficients_of(PAIR, inputs)

    for asked, ask_instead in ((0.5, 0.436288), (0.7, 0.679194), (0.9, 0.897887)):
        identified = found(asked, damping="identified")
        # computed to the digits shown
        assert identified[1] == pytest.approx(found(ask_instead)[1], rel=1e-5)
        assert identified == pytest.approx(found(theory.nominal_for_clamped(asked)), rel=1e-12)
    # a clamped contact cannot return less than this restitution, and lower values are refused
    for asked in (math.exp(-2.0), 0.05, np.array([0.5, 0.1])):
        with pytest.raises(LawError, match=r"restitution: .* above exp\(-2\) = 0\.135335"):
            found(asked, damping="identified")
    assert math.isfinite(found(math.exp(-2.0) + 1e-6, damping="identified")[1])
    # a tensile contact can return less
    tensile = found(0.05, damping="identified", separation="tensile")
    assert tensile == found(0.05, separation="tensile")


WITH_RESTITUTION = [*MORE, "tsuji", "jankowski", "jankowski-both-phases"]
OTHERS = ["kuwabara-kono", "schwager-poschel", "lee-herrmann", "ristow", "hunt-crossley-alpha"]


@pytest.mark.plain
def test_an_array_of_restitutions_gives_each_contact_its_own_damping():
    several = np.array([0.4, 0.9, 1.0])
    for law, damping in product(WITH_RESTITUTION, ("published", "identified")):
        more = {} if law == "lee-wang-transition" else {"damping": damping}
        inputs = inputs_for(law, **MORE.get(law, {}), **more)

        def found(restitution, law=law, inputs=inputs):
            inputs.restitution = restitution
            return laws()[law].coefficients_of(PAIR, inputs)[1]

        each = [float(found(float(e))) for e in several]
        assert found(several) == pytest.approx(each, rel=1e-15), (law, damping)
        assert found(1.0) == 0.0, (law, damping)
        for bad in (0.0, np.array([0.5, 0.0]), np.array([0.5, math.nan])):
            with pytest.raises(LawError, match=r"restitution: .* is out of range\. It must be"):
                found(bad)


@pytest.mark.plain
def test_a_clamped_force_is_never_negative():
    rates, overlaps = (-100.0, -1.0, 0.0, 1.0), (1e-9, 1e-7, 1e-6, 1e-5)
    for law in WITH_RESTITUTION + OTHERS:
        inputs = inputs_for(law, **MORE.get(law, {}))
        c = tuple(float(x) for x in laws()[law].coefficients_of(PAIR, inputs))
        force = partial(laws()[law].force, c=c, h=(1.0, 1.0))
        found = np.array([[force(d, rate) for rate in rates] for d in overlaps])
        assert (found >= 0.0).all() and (found[:, 2] > 0.0).all(), law
        # the clamp acts, except for a law without tensile forces
        assert (found == 0.0).any() == (law != "jankowski"), law


@pytest.mark.plain
def test_the_transition_of_lee_and_wang_is_the_part_of_its_dashpot_that_the_law_lets_act():
    law, q, epsilon = laws()["lee-wang-transition"], 3.0, 2e-6
    c = law.coefficients_of(PAIR, inputs_for("lee-wang-transition", **MORE["lee-wang-transition"]))
    overlap = np.array([-1e-6, 0.0, 1e-9, 5e-7, 1e-6, 2e-6, 3e-6])
    part = theory.lee_wang_transition(overlap, q, epsilon)
    for d, one in zip(overlap.tolist(), part.tolist(), strict=True):
        full, without = (law.force(d, rate, c, (1.0, 1.0)) for rate in (1.0, 0.0))
        assert full - without == pytest.approx(c[1] * one, rel=1e-12)
    # Autiero et al. 2022, eq. (41): open 0, exp(-q) at half of epsilon, 1 from epsilon on
    assert part[[0, 1, 4, 5, 6]] == pytest.approx([0.0, 0.0, math.exp(-3.0), 1.0, 1.0], rel=1e-14)
    printed = (overlap + abs(overlap)) / (2.0 * np.where(overlap == 0.0, 1.0, overlap))
    printed *= np.exp((overlap - epsilon - abs(overlap - epsilon)) * q / epsilon)
    assert part == pytest.approx(printed, rel=1e-14)
    with pytest.raises(CaseError, match=r"epsilon: 0 is out of range. It must be a finite number"):
        theory.lee_wang_transition(overlap, q, 0.0)
