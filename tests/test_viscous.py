"""Viscous dashpots: what each delivers, where its contact ends at zero overlap and where it is
clamped at zero force."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.rows import SPEED, inputs_for

from granchain import theory
from granchain.contact import laws
from granchain.contact.law import ContactLaw
from granchain.contact.pair import Pair
from granchain.contact.viscous import jankowski_ratio, ratio_of_decay
from granchain.errors import CaseError, LawError
from granchain.two_body import impact

# Two of the chain's beads: Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214.
MASS = 2.25e-4
PAIR = Pair(
    effective_radius=1.19e-3,
    effective_modulus=193e9 / (2.0 * (1.0 - 0.3**2)),
    effective_mass=MASS,
    yield_stress=900e6,
)
STIFFNESS = float(PAIR.hertz_stiffness)

ASKED = (0.1, 0.3, 0.5, 0.7, 0.9)
# What a law needs besides; the linear ones with a contact as long as that of Hertz.
MORE: dict[str, dict[str, Any]] = {
    "kelvin-voigt": {"stiffness": 1e7},
    "wang-liu-viscous": {"psi": 2.84, "xi": 13.0},
    "lee-wang-transition": {"stiffness": 1e7, "q": 3.0, "epsilon": 2e-6},
}


def delivered(law: str, **inputs: Any) -> float:
    return impact(
        law=law, pair=PAIR, speed=SPEED, refine=10, **MORE.get(law, {}), **inputs
    ).restitution


def integrated(law: type[ContactLaw], pair: Pair, speed: float, **inputs: Any) -> float:
    """Restitution by an integration that shares the law's force with the engine and nothing
    else: DOP853, rtol 1e-13."""
    c = tuple(float(x) for x in law.coefficients_of(pair, inputs_for(law.name, **inputs)))
    free = tuple(
        -math.inf if quantity.name == "lowest_force" else x
        for quantity, x in zip(law.coefficients, c, strict=True)
    )
    mass = float(pair.effective_mass)
    length = theory.elastic_impact(
        c[0], mass, speed, 1.0 if law.coefficients[0].unit == "N/m" else 1.5
    ).max_overlap

    def force(y: np.ndarray, c: tuple) -> float:
        return (
            law.force(float(y[0]) * length, float(y[1]) * speed, c, (1.0, 1.0))
            * length
            / (mass * speed * speed)
        )

    def piece(start: list[float], c: tuple, ends: Callable) -> np.ndarray:
        ends.terminal, ends.direction = True, -1.0  # type: ignore[attr-defined]
        found = solve_ivp(
            lambda _, y: [y[1], -force(y, c)],
            (0.0, 100.0),
            start,
            method="DOP853",
            rtol=1e-13,
            atol=1e-16,
            events=ends,
        )
        assert found.status == 1
        return found.y_events[0][0]

    # up to the corner where the clamp begins to act, then to the end; an open contact has no force:
    # begin inside, by what is nothing
    y = piece([1e-15, 1.0], free, lambda _, y: y[0] if c == free or y[1] > 0.0 else force(y, free))
    if c != free and y[0] > 0.0:
        y = piece(list(y), c, lambda _, y: y[0])
    return -float(y[1])


# --- what is tabulated
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["kelvin-voigt", "wang-liu-viscous", "tsuji"])
def test_a_contact_that_may_pull_delivers_what_is_asked(law):
    assert [delivered(law, restitution=e, separation="tensile") for e in ASKED] == pytest.approx(
        ASKED, abs=1e-6
    )


@pytest.mark.parametrize("law", ["kelvin-voigt", "wang-liu-viscous", "tsuji"])
def test_a_clamped_contact_delivers_more(law):
    found = [delivered(law, restitution=e) for e in ASKED]
    # integrated to the digits shown
    assert found == pytest.approx((0.2527, 0.3971, 0.5503, 0.7182, 0.9020), abs=5e-5 + 1e-6)
    assert found == pytest.approx([theory.clamped_restitution(e) for e in ASKED], abs=1e-6)


def test_jankowskis_law_delivers_less_than_is_asked():
    # integrated to the digits shown
    law = laws()["jankowski"]
    found = [integrated(law, PAIR, SPEED, restitution=e) for e in (0.1, 0.5, 0.9)]
    assert found == pytest.approx((0.0933, 0.4946, 0.8997), abs=5e-5)


def test_jankowskis_law_in_both_phases_delivers_far_less():
    # integrated to the digits shown, for contacts that end at d = 0 and clamped ones
    tensile = [
        delivered("jankowski-both-phases", restitution=e, separation="tensile") for e in (0.5, 0.9)
    ]
    assert tensile == pytest.approx((0.0892, 0.8015), abs=5e-5 + 1e-5)
    clamped = [delivered("jankowski-both-phases", restitution=e) for e in (0.1, 0.5, 0.9)]
    assert clamped == pytest.approx((0.0087, 0.2446, 0.8095), abs=5e-5 + 1e-6)


@pytest.mark.plain
def test_jankowskis_law_in_both_phases_never_opens_below_a_restitution():
    # an oscillator damped above its critical damping does not come back; to the digits shown
    assert jankowski_ratio(0.37525) > 1.0 > jankowski_ratio(0.37535)


@pytest.mark.long
@pytest.mark.parametrize("b", [0.01, 0.02, 0.05])
def test_kuwabara_and_kono_deliver_the_series_of_weak_damping(b, plain_loop):
    # b = (chi/K)(K/m)^.4 v^.2
    chi = b * STIFFNESS / ((STIFFNESS / MASS) ** 0.4 * SPEED**0.2)
    tensile = delivered("kuwabara-kono", chi=chi, separation="tensile")
    # the next term, from the runs: -.5 b^3, and the loop's 2e-6
    assert tensile == pytest.approx(
        1.0 - 1.15344 * b + 0.79826 * b * b - 0.5 * b**3, abs=0.1 * b**3 + 2e-6
    )
    clamped = delivered("kuwabara-kono", chi=chi)
    # .263 b^2.5, and terms of the next half power
    assert (clamped - tensile) / b**2.5 == pytest.approx(0.263, rel=0.01 + 2.0 * b)


@pytest.mark.parametrize("alpha", [0.08, 0.32])
def test_hunt_and_crossley_with_alpha_lose_in_proportion_to_the_speed(alpha):
    # alpha of steel, bronze and ivory, .08 to .32 s/m: Hunt & Crossley 1975, doi:10.1115/1.3423596
    for speed in (0.05, 1.0, 5.0):
        found = impact(
            law="hunt-crossley-alpha", pair=PAIR, speed=speed, refine=10, alpha=alpha
        ).restitution
        assert found == pytest.approx(theory.delivered_restitution(1.5 * alpha * speed), abs=1e-6)
    slow = impact(
        law="hunt-crossley-alpha", pair=PAIR, speed=0.05, refine=10, alpha=alpha
    ).restitution
    # to first order in alpha v, the next term a share alpha v of it
    assert (1.0 - slow) / (alpha * 0.05) == pytest.approx(1.0, abs=0.05 * alpha)


# --- by an independent integration
# ----------------------------------------------------------------------------------

# Damping that takes about a third of the speed.
EMPIRICAL: dict[str, dict[str, Any]] = {
    "schwager-poschel": {"chi": 2e5},
    "lee-herrmann": {"chi": 1e7},
    "ristow": {"chi": 1e7},
    "kuwabara-kono": {"chi": 1e4},
    "lee-wang-transition": {"restitution": 0.5},
    "tsuji": {"restitution": 0.5},
}


# Those whose loops no other test needs.
LATER = ("lee-herrmann", "ristow", "lee-wang-transition", "schwager-poschel", "kuwabara-kono")


@pytest.mark.parametrize(
    "law", [pytest.param(law, marks=pytest.mark.long if law in LATER else ()) for law in EMPIRICAL]
)
@pytest.mark.parametrize("separation", ["clamped", "tensile"])
def test_an_impact_is_that_of_an_independent_integration(law, separation):
    inputs = {**MORE.get(law, {}), **EMPIRICAL[law], "separation": separation}
    exact = integrated(laws()[law], PAIR, SPEED, **inputs)
    assert 0.2 < exact < 0.95
    found = impact(law=law, pair=PAIR, speed=SPEED, refine=10, **inputs).restitution
    # an opening ~ d^a, a < 1, is of order 1 + a in time
    assert found == pytest.approx(exact, abs=2e-6)


@pytest.mark.plain
def test_lee_and_herrmann_and_ristow_share_one_form():
    assert laws()["ristow"].force is laws()["lee-herrmann"].force
    assert laws()["tsuji"].force is laws()["jankowski-both-phases"].force


# --- identified
# --------------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_the_ratio_of_a_decay_solves_its_equation():
    for decay in (1e-6, 0.1, 0.7, 0.999, 1.001, 2.0, 20.0):
        zeta = float(ratio_of_decay(decay))
        if decay < 1.0:
            found = zeta * math.acos(zeta) / math.sqrt(1.0 - zeta * zeta)
        else:
            found = zeta * math.acosh(zeta) / math.sqrt(zeta * zeta - 1.0)
        assert found == pytest.approx(decay, rel=1e-12)
    assert ratio_of_decay(np.array([0.0, 1.0])) == pytest.approx([0.0, 1.0], abs=1e-15)


@pytest.mark.plain
@pytest.mark.parametrize("law", ["kelvin-voigt", "wang-liu-viscous", "tsuji"])
def test_identified_the_damping_is_that_of_the_inverse_of_the_clamped_restitution(law):
    for asked, ask_instead in ((0.5, 0.436288), (0.7, 0.679194), (0.9, 0.897887)):
        made = laws()[law]
        found = made.coefficients_of(
            PAIR, inputs_for(law, restitution=asked, damping="identified", **MORE.get(law, {}))
        )
        # computed to the digits shown
        published = made.coefficients_of(
            PAIR, inputs_for(law, restitution=ask_instead, **MORE.get(law, {}))
        )
        assert found[1] == pytest.approx(published[1], rel=1e-5)
        exact = made.coefficients_of(
            PAIR, inputs_for(law, restitution=theory.asked_for_clamped(asked), **MORE.get(law, {}))
        )
        assert found == pytest.approx(exact, rel=1e-12)


IDENTIFIED = [
    ("kelvin-voigt", "clamped"),
    ("kelvin-voigt", "tensile"),
    ("wang-liu-viscous", "clamped"),
    ("tsuji", "clamped"),
    ("tsuji", "tensile"),
    ("jankowski", None),
    ("jankowski-both-phases", "clamped"),
    ("jankowski-both-phases", "tensile"),
]


@pytest.mark.parametrize(("law", "separation"), IDENTIFIED)
@pytest.mark.parametrize("asked", [0.2, 0.5, 0.9])
def test_identified_an_integration_delivers_what_is_asked(law, separation, asked):
    inputs = {"restitution": asked, "damping": "identified"} | (
        {"separation": separation} if separation else {}
    )
    if law == "wang-liu-viscous":
        inputs |= MORE[law]
    else:
        inputs["stiffness"] = 1.0
    # a pair of no size in particular
    pair = Pair(effective_mass=1.0) if law != "wang-liu-viscous" else PAIR
    assert integrated(
        laws()[law], pair, 1.0 if law != "wang-liu-viscous" else SPEED, **inputs
    ) == pytest.approx(asked, abs=1e-9)


@pytest.mark.plain
@pytest.mark.parametrize("law", ["kelvin-voigt", "wang-liu-viscous", "tsuji"])
def test_identified_a_clamped_contact_is_not_asked_for_less_than_it_returns(law):
    inputs = inputs_for(law, damping="identified", **MORE.get(law, {}))
    for asked in (math.exp(-2.0), 0.05, np.array([0.5, 0.1])):
        inputs.restitution = asked
        with pytest.raises(LawError, match=r"restitution: got .* above exp\(-2\) = 0\.135335"):
            laws()[law].coefficients_of(PAIR, inputs)
    inputs.restitution = math.exp(-2.0) + 1e-6
    assert math.isfinite(laws()[law].coefficients_of(PAIR, inputs)[1])
    # a contact that may pull can
    inputs.restitution, inputs.separation = 0.05, "tensile"
    published = inputs_for(law, restitution=0.05, separation="tensile", **MORE.get(law, {}))
    assert laws()[law].coefficients_of(PAIR, inputs) == laws()[law].coefficients_of(PAIR, published)


# --- arrays and ranges
# ----------------------------------------------------------------------------------------------

WITH_RESTITUTION = [
    "kelvin-voigt",
    "wang-liu-viscous",
    "lee-wang-transition",
    "tsuji",
    "jankowski",
    "jankowski-both-phases",
]


@pytest.mark.plain
@pytest.mark.parametrize("law", WITH_RESTITUTION)
@pytest.mark.parametrize("damping", ["published", "identified"])
def test_an_array_of_restitutions_gives_each_contact_its_own_damping(law, damping):
    several = np.array([0.4, 0.9, 1.0])
    more = MORE.get(law, {}) | ({"damping": damping} if law != "lee-wang-transition" else {})
    inputs = inputs_for(law, **more)

    def found(restitution: Any) -> Any:
        inputs.restitution = restitution
        return laws()[law].coefficients_of(PAIR, inputs)[1]

    assert found(several) == pytest.approx([float(found(float(e))) for e in several], rel=1e-15)
    assert found(1.0) == 0.0
    for bad in (0.0, np.array([0.5, 0.0]), np.array([0.5, math.nan])):
        with pytest.raises(LawError, match=r"restitution: got .* allowed"):
            found(bad)


@pytest.mark.plain
@pytest.mark.parametrize(
    "law",
    [
        *WITH_RESTITUTION,
        "kuwabara-kono",
        "schwager-poschel",
        "lee-herrmann",
        "ristow",
        "hunt-crossley-alpha",
    ],
)
def test_a_clamped_force_is_never_negative(law):
    made = laws()[law]
    inputs = inputs_for(law, **MORE.get(law, {}))
    c = tuple(float(x) for x in made.coefficients_of(PAIR, inputs))
    pulls = 0
    for d in (1e-9, 1e-7, 1e-6, 1e-5):
        for rate in (-100.0, -1.0, 0.0, 1.0):
            force = made.force(d, rate, c, (1.0, 1.0))
            assert force >= 0.0
            if rate == 0.0:
                assert force > 0.0
            pulls += force == 0.0
    # the clamp acts, but where there is nothing to clamp
    assert (pulls > 0) == (law != "jankowski")


@pytest.mark.plain
def test_the_transition_of_lee_and_wang_is_the_part_of_its_dashpot_that_the_law_lets_act():
    law, q, epsilon = laws()["lee-wang-transition"], 3.0, 2e-6
    c = law.coefficients_of(PAIR, inputs_for("lee-wang-transition", **MORE["lee-wang-transition"]))
    overlap = np.array([-1e-6, 0.0, 1e-9, 5e-7, 1e-6, 2e-6, 3e-6])
    part = theory.lee_wang_transition(overlap, q, epsilon)
    for d, one in zip(overlap.tolist(), part.tolist(), strict=True):
        full, without = (law.force(d, rate, c, (1.0, 1.0)) for rate in (1.0, 0.0))
        assert full - without == pytest.approx(c[1] * one, rel=1e-12)
    # Autiero et al. 2022, eq. (41): open 0, exp(-q) half way, 1 from epsilon on
    assert part[[0, 1, 4, 5, 6]] == pytest.approx([0.0, 0.0, math.exp(-3.0), 1.0, 1.0], rel=1e-14)
    printed = (overlap + abs(overlap)) / (2.0 * np.where(overlap == 0.0, 1.0, overlap))
    printed *= np.exp((overlap - epsilon - abs(overlap - epsilon)) * q / epsilon)
    assert part == pytest.approx(printed, rel=1e-14)
    with pytest.raises(CaseError, match=r"epsilon: got 0, allowed: a finite number above 0"):
        theory.lee_wang_transition(overlap, q, 0.0)


@pytest.mark.long
def test_kuwabara_and_kono_lose_more_at_a_higher_speed():
    # 1 - e ~ v^(1/5): a hundred times the speed, 2.51 times the loss, for weak damping
    chi = 1e-3 * STIFFNESS / (STIFFNESS / MASS) ** 0.4
    slow, fast = (
        1.0 - impact(law="kuwabara-kono", pair=PAIR, speed=v, refine=10, chi=chi).restitution
        for v in (0.05, 5.0)
    )
    assert fast / slow == pytest.approx(100.0**0.2, rel=5e-3)
