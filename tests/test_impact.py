"""Two bodies: losses, durations, delivered restitutions, and what gc.impact refuses; the tables of
Wang, Liu & Liu 2022 are in docs/papers."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.kinds import every_law

from granchain import theory
from granchain.certificates import example_inputs, example_pair
from granchain.contact import laws
from granchain.contact.law import PSI
from granchain.contact.pair import Pair
from granchain.contact.viscous import LEAST_CLAMPED
from granchain.errors import CaseError, LawError
from granchain.two_body import impact

# Wang, Liu & Liu 2022, table 1, doi:10.1016/j.ijmecsci.2022.107214, as corrected: the table swaps
# masses and densities, and the contact is internal (a ball of 20 mm in a socket of 20.5 mm): R =
# .0205*.02/.0005 = .82 m; 200 GPa/.29 on 65 GPa/.33; m = (4/3) pi .02^3 7800 kg; s_y 30 MPa.
MASS = 4.0 / 3.0 * math.pi * 0.02**3 * 7800.0
PAIR = Pair(
    effective_radius=0.0205 * 0.02 / 0.0005,
    effective_modulus=1.0 / ((1.0 - 0.29**2) / 200e9 + (1.0 - 0.33**2) / 65e9),
    effective_mass=MASS,
    yield_stress=30e6,
)
MA_LIU = {"psi": 3.0, "xi": 13.0}


def test_bad_inputs_of_an_impact_are_told_together():
    with pytest.raises(LawError, match=r'got "hertzz", .*did you mean "hertz"'):
        impact(law="hertzz", pair=PAIR, speed=1.0)
    for speed in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(CaseError, match=r"speed: got .* allowed: a finite number above 0"):
            impact(law="hertz", pair=PAIR, speed=speed)
    with pytest.raises(CaseError) as caught:
        impact(law="flores", pair=PAIR, speed=1.0, restitution=1.5, psi=2.0)
    assert len(caught.value.problems) == 2
    with pytest.raises(
        CaseError, match=r"restitution: got nothing, allowed: .*; give it, flores needs it"
    ):
        impact(law="flores", pair=PAIR, speed=1.0)
    with pytest.raises(CaseError) as caught:
        impact(
            law="flores",
            pair=PAIR,
            speed=1.0,
            psi=1.0,
            restitution={"law": "ma-liu", "psi": -1.0, "dents": "kep", "size": 2},
        )
    assert [
        sentence.partition(";")[0].partition(", allowed")[0] for sentence in caught.value.problems
    ] == [
        "impact: unknown input psi",
        "impact: unknown input restitution.size",
        "impact: restitution.psi: got -1.0",
        "impact: restitution.xi: got nothing",
        'impact: restitution.dents: got "kep"',
    ]
    assert caught.value.problems[2].endswith("; give psi: " + PSI.meaning)
    assert caught.value.problems[3].endswith("; give it, ma-liu needs it")


def test_a_pair_without_what_the_law_needs_says_which():
    poor = Pair(effective_radius=1e-3, effective_modulus=1e11, effective_mass=1e-3)
    with pytest.raises(
        LawError,
        match=r"ma-liu: yield_stress: got nothing, allowed a number above 0 \[Pa\], which this",
    ):
        impact(law="ma-liu", pair=poor, speed=1.0, **MA_LIU)
    with pytest.raises(LawError, match="unknown quantity yield_strength"):
        Pair(effective_radius=1e-3, yield_strength=1e8)
    with pytest.raises(
        LawError, match=r"effective_mass: got -1\.0, allowed: finite numbers above 0"
    ):
        Pair(effective_mass=-1.0)


# --- how long a contact lasts

# Two of the chain's beads: Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214.
BEADS = example_pair()


def kelvin_voigt_clamped(
    asked: float, stiffness: float, mass: float, speed: float
) -> tuple[float, float, float]:
    """Time at which the force vanishes, that at which the overlap does, and the work that the
    clamp takes, in closed form."""
    zeta = -math.log(asked) / math.hypot(math.pi, math.log(asked))
    root = math.sqrt(1.0 - zeta * zeta)
    omega = math.sqrt(stiffness / mass)
    # F = -m d'' and d = v/w exp(-zeta w0 t) sin(w t): d'' = 0 at tan(w t) = -2 zeta root/(1 - 2
    # zeta^2) = -tan(2 asin zeta)
    ends = (math.pi - 2.0 * math.asin(zeta)) / (omega * root)
    decay, phase = math.exp(-zeta * omega * ends), omega * root * ends
    overlap = speed * decay * math.sin(phase) / (omega * root)
    rate = speed * decay * (math.cos(phase) - zeta / root * math.sin(phase))
    # free flight from there, in which the clamp holds c |rate| - K d against the bodies: with c
    # |rate| = K d at its start, K d^2/2 of work
    return ends, ends + overlap / -rate, -0.5 * stiffness * overlap * overlap


@pytest.mark.parametrize("asked", [0.05, 0.2, 0.5, 0.9, 0.999])
def test_a_clamped_contact_lasts_until_its_force_vanishes(asked, figure):
    force_ends, overlap_ends, _ = kelvin_voigt_clamped(asked, 1e7, float(BEADS.effective_mass), 1.0)
    found = impact(law="kelvin-voigt", pair=BEADS, speed=1.0, restitution=asked, stiffness=1e7)
    figure(
        "duration of a clamped contact at the automatic step, relative error",
        abs(found.duration / force_ends - 1.0),
        at_most=2e-4,
    )
    figure(
        "overlap_duration of it, relative error",
        abs(found.overlap_duration / overlap_ends - 1.0),
        at_most=2e-4,
    )
    assert found.recovery_time == pytest.approx(found.duration - found.approach_time, rel=1e-14)
    # the kept samples end with the force
    assert (
        found.force[-2] > 0.0 == found.force[-1]
        and found.time[-2] < found.duration <= found.time[-1]
    )
    # of order two
    fine = impact(
        law="kelvin-voigt", pair=BEADS, speed=1.0, refine=8.0, restitution=asked, stiffness=1e7
    )
    assert found.duration / force_ends - 1.0 == pytest.approx(
        64.0 * (fine.duration / force_ends - 1.0), rel=0.25
    )
    # a contact that may pull opens where its overlap vanishes: after half a period of the damped
    # oscillator
    pulling = impact(
        law="kelvin-voigt",
        pair=BEADS,
        speed=1.0,
        restitution=asked,
        stiffness=1e7,
        separation="tensile",
    )
    half = (
        math.pi
        * math.sqrt(BEADS.effective_mass / 1e7)
        * math.hypot(math.pi, math.log(asked))
        / math.pi
    )
    assert pulling.duration == pytest.approx(half, rel=2e-4)
    assert pulling.overlap_duration == pytest.approx(pulling.duration, rel=1e-12)


def test_the_force_of_tsujis_law_ends_long_before_its_overlap():
    found = impact(law="tsuji", pair=BEADS, speed=1.0, restitution=0.2)
    stiffness, mass = float(BEADS.hertz_stiffness), float(BEADS.effective_mass)
    zeta = -math.log(0.2) / math.hypot(math.pi, math.log(0.2))
    damping = math.sqrt(5.0) * zeta * math.sqrt(stiffness * mass)

    def force(_: float, y: np.ndarray) -> float:
        d = max(y[0], 0.0)
        return stiffness * d**1.5 + damping * d**0.25 * y[1]

    force.terminal, force.direction = True, -1.0
    # from inside the contact, by what is nothing
    ran = solve_ivp(
        lambda t, y: [y[1], -force(t, y) / mass],
        (0.0, 1e-4),
        [1e-15, 1.0],
        method="DOP853",
        rtol=1e-11,
        atol=1e-18,
        events=force,
    )
    ends, (overlap, rate) = ran.t_events[0][0], ran.y_events[0][0]
    assert found.duration == pytest.approx(ends, rel=1e-4)
    assert found.overlap_duration == pytest.approx(ends - overlap / rate, rel=1e-4)
    assert found.overlap_duration / found.duration == pytest.approx(1.48, abs=0.005)


def test_a_clamped_force_that_vanishes_for_a_while_is_not_the_end(plain_loop, monkeypatch):
    # the dashpot of Lee and Wang's second law is strong above epsilon and weak below: the force is
    # zero at three steps and comes back
    inputs = {
        "law": "lee-wang-transition",
        "pair": BEADS,
        "speed": 1.0,
        "restitution": 0.01,
        "stiffness": 1e7,
        "q": 2.0,
        "epsilon": 2e-6,
    }
    found = impact(**inputs)
    (gone,) = np.flatnonzero(found.force[1:-1] == 0.0)[[1]] + 1
    assert found.duration > 1.5 * found.time[gone] and found.force[gone + 3] > 0.0
    # also not where a run ends among them
    monkeypatch.setattr(sys.modules["granchain.two_body"], "FIRST_STEPS", int(gone))
    assert impact(**inputs).numbers() == found.numbers()


@pytest.mark.plain
def test_a_contact_as_printed_opens_after_its_overlap_vanishes(plain_loop):
    # Ma-Liu as printed opens below zero for largest overlaps up to 1.978 d_y, by up to .0048 d_y
    # (test_elastoplastic.py)
    printed = impact(law="ma-liu", pair=BEADS, speed=0.11, psi=2.84, xi=13.0, as_printed=True)
    limit = (
        math.pi**2
        / 4.0
        * float(BEADS.effective_radius)
        * (1.6 * 900e6 / float(BEADS.effective_modulus)) ** 2
    )
    assert -0.0048 * limit <= printed.residual_overlap < -0.003 * limit
    assert printed.duration > printed.overlap_duration
    flight = -printed.residual_overlap / (printed.restitution * printed.speed)
    assert printed.duration == pytest.approx(printed.overlap_duration + flight, rel=2e-5)
    # what the contact gives back once more on its way below zero
    assert printed.restitution > 1.0


# --- damping identified

# Laws whose identified damping is one of its own; the others have the factor of gonthier-exact
# (test_hysteresis.py). Three of them at once: test_viscous.py integrates the others' forces.
AT_ONCE = ("gonthier-exact", "kelvin-voigt", "tsuji")
OWN = (
    *AT_ONCE,
    "wang-liu-hysteretic",
    "khulief-shabana",
    "wang-liu-viscous",
    "jankowski",
    "jankowski-both-phases",
)


def identified() -> list[Any]:
    """Laws that identify their damping, each with both ways to end where it has them."""
    found = []
    for name, law in laws().items():
        names = {quantity.name for quantity in law.inputs}
        if "damping" in names or name == "gonthier-exact":
            counts = (9, 200) if name in AT_ONCE else (200 if name in OWN else 50,)
            for separation in ("clamped", "tensile") if "separation" in names else (None,):
                for count in counts:
                    marks = () if count == 9 else pytest.mark.long
                    found.append(pytest.param(name, separation, count, marks=marks))
    return found


def least(name: str, separation: str | None) -> float:
    """Smallest restitution that is asked: .001, or what the law can deliver at least."""
    (quantity,) = (quantity for quantity in laws()[name].inputs if quantity.name == "restitution")
    bounded = separation == "clamped" and name in ("kelvin-voigt", "wang-liu-viscous", "tsuji")
    return max(
        1e-3,
        (quantity.above or 0.0) * (1.0 + 1e-9),
        LEAST_CLAMPED * (1.0 + 1e-6) if bounded else 0.0,
    )


@pytest.mark.parametrize(("name", "separation", "count"), identified())
def test_identified_damping_delivers_every_restitution_at_the_automatic_step(
    name, separation, count, figure
):
    law = laws()[name]
    inputs = vars(example_inputs(law)) | (
        {"damping": "identified"} if name != "gonthier-exact" else {}
    )
    inputs |= {"separation": separation} if separation else {}
    inputs |= {"impact_speed": "striker"} if "impact_speed" in inputs else {}
    asked = [*np.geomspace(least(name, separation), 1.0, count), 0.99, 0.9999, 1.0 - 1e-6]
    off = [
        abs(
            impact(
                law=law, pair=BEADS, speed=1.77, **inputs | {"restitution": float(min(e, 1.0))}
            ).restitution
            - e
        )
        for e in asked
    ]
    figure(
        f"{name}, {separation}: delivered less asked restitution at the automatic step",
        max(off),
        at_least=1e-6,
        at_most=1e-4,
    )


def impact_just_past_the_jump(draw: np.random.Generator, beyond: float) -> float:
    """Delivered less asked restitution of a random impact whose largest overlap is up to so
    much of d_y beyond d_y."""
    law = laws()["wang-liu-hysteretic"]
    asked, past = draw.uniform(0.05, 0.999), 1.0 + beyond * draw.random()
    # beads of .5 to 5 mm, .01 to 10 g, bronze to ceramics; psi and xi about those of Ma and Liu,
    # 2.84 and 13
    pair = Pair(
        effective_radius=draw.uniform(0.5e-3, 5e-3), effective_modulus=draw.uniform(3e10, 2e11),
        effective_mass=10.0 ** draw.uniform(-5.0, -2.0), yield_stress=draw.uniform(2e8, 2e9),
    )  # fmt: skip
    inputs = {
        "restitution": asked,
        "damping": "identified",
        "psi": draw.uniform(2.0, 3.0),
        "xi": draw.uniform(8.0, 20.0),
        "separation": str(draw.choice(["clamped", "tensile"])),
    }
    c = tuple(
        float(value)
        for value in law.coefficients_of(pair, SimpleNamespace(**inputs, impact_speed=1.0))
    )
    # with one factor a on both sides m r dr/(1 + a r/v0) = -U'(d) dd: U(d_max) = m v0^2 (a - ln(1 +
    # a))/a^2
    a = c[2]
    speed = a * math.sqrt(
        law.energy(past * c[0], c, ()) / (float(pair.effective_mass) * (a - math.log1p(a)))
    )
    return impact(law="wang-liu-hysteretic", pair=pair, speed=speed, **inputs).restitution - asked


# beyond by so little, the contact comes back through the jump within a step
@pytest.mark.parametrize("beyond", [0.23, 5e-4])
@pytest.mark.parametrize("count", [40, pytest.param(3000, marks=pytest.mark.long)])
def test_identified_damping_delivers_what_is_asked_just_past_a_jump_of_the_force(
    count, beyond, figure
):
    draw = np.random.default_rng(11)
    off = [abs(impact_just_past_the_jump(draw, beyond)) for _ in range(count)]
    # the straight line and the kick alone: 6.5e-4 for .23, 2.0e-4 for 5e-4
    figure(
        f"largest overlap up to {1.0 + beyond:g} d_y: delivered less asked restitution",
        max(off),
        at_least=1e-6,
        at_most=1e-4,
    )


def test_a_long_contact_recorded_by_strides_is_the_one_recorded_step_by_step(monkeypatch):
    inputs = {"law": "gonthier-exact", "pair": BEADS, "speed": 1.77, "restitution": 0.03}
    whole = impact(**inputs)
    monkeypatch.setattr(sys.modules["granchain.two_body"], "CLOSELY", 2000)
    thinned = impact(**inputs)
    # 9,342 steps (measured): 2,000 of them, then every eighth
    assert whole.time.size > 9000 and 2000 < thinned.time.size < 3000
    assert np.rint(np.diff(thinned.time) / thinned.time_step).astype(int).tolist() == [1] * 2000 + [
        8
    ] * (thinned.time.size - 2001)
    shared = np.isin(whole.time, thinned.time)
    assert np.array_equal(thinned.time[:-1], whole.time[shared][: thinned.time.size - 1])
    for name in ("overlap", "force"):
        assert np.array_equal(
            getattr(thinned, name)[:-1], getattr(whole, name)[shared][: thinned.time.size - 1]
        )
    assert np.array_equal(thinned.rate[:1999], whole.rate[:1999])
    assert thinned.rate[:-1] == pytest.approx(
        whole.rate[shared][: thinned.time.size - 1], rel=1e-2, abs=1e-4
    )
    for name in ("restitution", "max_overlap", "max_force", "approach_time"):
        assert getattr(thinned, name) == getattr(whole, name)
    assert thinned.duration == pytest.approx(whole.duration, rel=1e-6)
    assert thinned.dissipated_approach == pytest.approx(whole.dissipated_approach, rel=1e-12)


# --- the force in parts, and restitution in three ways
def test_force_and_acceleration_are_those_of_the_equations():
    # F = K d^1.5 (1 + a rate/v0), Hunt and Crossley 1975, doi:10.1115/1.3423596: a = 3/2 (1 - e)
    found = impact(law="hunt-crossley", pair=PAIR, speed=2.0, restitution=0.8)
    spring = float(PAIR.hertz_stiffness) * found.overlap.clip(0.0) ** 1.5
    assert found.elastic_force[1:-1] == pytest.approx(spring[1:-1], rel=1e-9)
    damped = spring * 1.5 * 0.2 * found.rate / 2.0
    # the rates are those of the step's middle: what is left of a step
    largest = np.abs(damped).max()
    assert found.damping_force == pytest.approx(damped, abs=0.02 * largest)
    assert found.elastic_force + found.damping_force == pytest.approx(found.force, rel=1e-14)
    # m d'' = -F, and d'' by differences of the overlap
    bends = np.diff(found.overlap, 2) / found.time_step**2
    assert found.acceleration[1:-1] == pytest.approx(bends, abs=1e-6 * np.abs(bends).max())
    assert found.effective_mass == MASS and "effective_mass" in found.numbers()


@pytest.mark.parametrize("law", every_law(["hertz", "ma-liu", "flores", "tsuji", "kelvin-voigt"]))
def test_restitution_by_impulse_and_by_energy_is_newtons(law, figure):
    # nothing but the contact acts on the two bodies: m v' over m v, and m v'^2 over m v^2
    inputs = vars(example_inputs(laws()[law]))
    for more in [
        {"separation": way} for way in ("clamped", "tensile") if "separation" in inputs
    ] or [{}]:
        found = impact(law=law, pair=BEADS, speed=1.0, **inputs | more)
        for one in (found.restitution_impulse, found.restitution_energy):
            # the integrals of the samples of the automatic step
            figure(
                "restitution by impulse and energy over Newton's, relative",
                abs(one / found.restitution - 1.0),
                at_most=3e-3,
            )


def test_losses_of_an_impact_add_up():
    for law, more in (
        ("flores", {"restitution": 0.7}),
        ("ma-liu", MA_LIU),
        ("tsuji", {"restitution": 0.5}),
    ):
        found = impact(law=law, pair=PAIR, speed=4.0, refine=10.0, **more)
        assert found.dissipated == pytest.approx(
            0.5 * MASS * 16.0 * (1.0 - found.restitution**2), rel=1e-12
        )
        assert found.dissipated_approach + found.dissipated_recovery == pytest.approx(
            found.dissipated, rel=1e-12
        )
        assert found.approach_time + found.recovery_time == pytest.approx(found.duration, rel=1e-12)
    # Ma-Liu loses all in the approach: its unloading is elastic; the quadrature of the recorded
    # forces is good to 1e-5
    plastic = impact(law="ma-liu", pair=PAIR, speed=4.0, refine=10.0, **MA_LIU)
    assert plastic.dissipated_recovery == pytest.approx(0.0, abs=1e-5 * plastic.dissipated)
    # its dent: d_r = d_max - F/(K sqrt(d_max)) below d_p
    stiffness = theory.hertz_stiffness(PAIR.effective_modulus, 0.82)
    expected = plastic.max_overlap - plastic.max_force / (
        stiffness * math.sqrt(plastic.max_overlap)
    )
    assert plastic.residual_overlap == pytest.approx(expected, rel=1e-3)


def test_a_dented_contact_opens_before_its_overlap_vanishes():
    dented = impact(law="ma-liu", pair=BEADS, speed=1.0, psi=2.84, xi=13.0)
    flight = dented.residual_overlap / (dented.restitution * dented.speed)
    assert dented.residual_overlap > 0.0
    assert dented.overlap_duration == pytest.approx(dented.duration + flight, rel=1e-6)


def test_restitution_by_impulse_and_energy_tells_them_from_the_force():
    for e in (0.3, 0.9):
        found = impact(law="gonthier-exact", pair=BEADS, speed=1.0, refine=4.0, restitution=e)
        k = int(np.argmax(found.overlap))
        work = 0.5 * (found.force[1:] + found.force[:-1]) * np.diff(found.overlap)
        given, taken = -work[k:].sum(), work[:k].sum()
        assert found.restitution_energy == pytest.approx(math.sqrt(given / taken), rel=1e-4)
        assert found.restitution_energy == pytest.approx(found.restitution, rel=1e-4)
