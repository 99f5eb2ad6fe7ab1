"""Impacts of two bodies: losses, durations, delivered restitutions, and inputs that gc.impact
refuses. The tables of Wang, Liu & Liu 2022 are in docs/papers."""

import math
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from support.kinds import every_law
from support.refused import sentences_of

import granchain as gc
from granchain import theory
from granchain.certificates import example_inputs, example_pair
from granchain.contact import laws
from granchain.contact.pair import Pair
from granchain.contact.viscous import LEAST_CLAMPED
from granchain.errors import CaseError, LawError
from granchain.material import Material
from granchain.two_body import impact

# Wang, Liu & Liu 2022, table 1, doi:10.1016/j.ijmecsci.2022.107214, as corrected: the table
# exchanges masses and densities, and the contact is internal (a ball of 20 mm in a socket of 20.5
# mm). R = .0205*.02/.0005 = .82 m; 200 GPa/.29 on 65 GPa/.33; m = (4/3) pi .02^3 7800 kg; s_y 30
# MPa.
MASS = 4.0 / 3.0 * math.pi * 0.02**3 * 7800.0
BALL = Material(youngs_modulus=200e9, poissons_ratio=0.29, density=7800.0)
SOCKET = Material(youngs_modulus=65e9, poissons_ratio=0.33, yield_stress=30e6)
PAIR = Pair.of_spheres(0.02, BALL, 0.0205, SOCKET, internal=True)
MA_LIU = {"psi": 3.0, "xi": 13.0}


def test_bad_inputs_of_an_impact_are_told_together():
    with pytest.raises(LawError, match=r'unknown law "hertzz"\. .*Did you mean "hertz"'):
        impact(law="hertzz", pair=PAIR, speed=1.0)
    with pytest.raises(LawError, match='unknown law "3"'):
        impact(law=3, pair=PAIR, speed=1.0)
    for refine in (0, -1.0, math.nan, 1e9, "fine"):
        with pytest.raises(CaseError, match=r"refine: .* is not valid\. It must be a number above"):
            impact(law="hertz", pair=PAIR, speed=1.0, refine=refine)
    for speed in (0.0, -1.0, math.nan, math.inf, "fast", None):
        with pytest.raises(
            CaseError, match=r"speed: .* is not valid\. It must be a finite number above 0"
        ):
            impact(law="hertz", pair=PAIR, speed=speed)

    def told(**inputs):
        return sentences_of(impact, law="flores", pair=PAIR, speed=1.0, **inputs)

    assert len(told(restitution=1.5, psi=2.0)) == 2
    (needed,) = told()
    assert re.search(r"restitution: missing\. The law flores needs the .*\. Give a number", needed)
    law = {"law": "ma-liu", "psi": -1.0, "dents": "kep", "size": 2}
    problems = told(psi=1.0, restitution=law)
    assert [one.partition(". ")[0] for one in problems] == [
        "impact: psi: unknown input",
        "impact: restitution.size: unknown input",
        "impact: restitution.psi: -1.0 is out of range",
        "impact: restitution.xi: missing",
        'impact: restitution.dents: "kep" is not valid',
    ]
    assert problems[2].endswith(" is out of range. It must be a number above 0.")
    assert "The law ma-liu needs the " in problems[3]
    missing = r"ma-liu: yield_stress: missing\. This contact law needs it, a number above 0 \[Pa\]"
    poor = Pair(effective_radius=1e-3, effective_modulus=1e11, effective_mass=1e-3)
    with pytest.raises(LawError, match=missing):
        impact(law="ma-liu", pair=poor, speed=1.0, **MA_LIU)
    for wrong, words in (
        ({"yield_strength": 1e8}, "unknown quantity yield_strength"),
        (
            {"effective_mass": -1.0},
            r"effective_mass: -1\.0 is out of range\. .* a finite number above 0",
        ),
    ):
        with pytest.raises(LawError, match=words):
            Pair(**wrong)


# Two beads of the steel chain: Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214.
BEADS = example_pair()


def kelvin_voigt_clamped(asked, stiffness, mass):
    """Return the times at which force and overlap vanish in an impact at 1 m/s, in closed form."""
    zeta = -math.log(asked) / math.hypot(math.pi, math.log(asked))
    root = math.sqrt(1.0 - zeta * zeta)
    omega = math.sqrt(stiffness / mass)
    # F = -m d'' and d = v/w exp(-zeta w0 t) sin(w t): d'' = 0 at tan(w t) = -tan(2 asin zeta)
    ends = (math.pi - 2.0 * math.asin(zeta)) / (omega * root)
    decay, phase = math.exp(-zeta * omega * ends), omega * root * ends
    overlap = decay * math.sin(phase) / (omega * root)
    rate = decay * (math.cos(phase) - zeta / root * math.sin(phase))
    # from then on the bodies fly freely
    return ends, ends + overlap / -rate


@pytest.mark.parametrize("asked", [0.05, 0.5, 0.999])
def test_a_clamped_contact_lasts_until_its_force_vanishes(asked, figure):
    stiffness, mass = 1e7, float(BEADS.effective_mass)
    given = {"law": "kelvin-voigt", "speed": 1.0, "restitution": asked, "stiffness": stiffness}
    force_ends, overlap_ends = kelvin_voigt_clamped(asked, stiffness, mass)
    found = impact(**given)
    for what, value in (
        ("duration of a clamped contact at the automatic step", found.duration / force_ends),
        ("overlap_duration of it", found.overlap_duration / overlap_ends),
    ):
        figure(f"{what}, relative error", abs(value - 1.0), at_most=2e-4)
    assert found.recovery_time == pytest.approx(found.duration - found.approach_time, rel=1e-14)
    # the recorded samples end when the force vanishes
    assert found.force[-2] > 0.0 == found.force[-1]
    assert found.time[-2] < found.duration <= found.time[-1]
    # the error is of order two
    error, fine = (one.duration / force_ends - 1.0 for one in (found, impact(**given, refine=8.0)))
    assert error == pytest.approx(64.0 * fine, rel=0.25)
    # a tensile contact opens when its overlap vanishes, after half a damped period
    pulling = impact(**given, separation="tensile")
    half = math.sqrt(mass / stiffness) * math.hypot(math.pi, math.log(asked))
    assert pulling.duration == pytest.approx(half, rel=2e-4)
    assert pulling.overlap_duration == pytest.approx(pulling.duration, rel=1e-12)


def test_a_clamped_force_that_vanishes_for_a_while_is_not_the_end(plain_loop, monkeypatch):
    # the dashpot of Lee and Wang's second law is strong above epsilon and weak below, so that the
    # force is zero at three steps and then returns
    inputs = {"restitution": 0.01, "stiffness": 1e7, "q": 2.0, "epsilon": 2e-6}
    found = impact(law="lee-wang-transition", speed=1.0, **inputs)
    (gone,) = np.flatnonzero(found.force[1:-1] == 0.0)[[1]] + 1
    assert found.duration > 1.5 * found.time[gone] and found.force[gone + 3] > 0.0
    # the result is the same if a block of steps ends among these three steps
    for name in ("FIRST_STEPS", "STEPS_AT_ONCE"):
        monkeypatch.setattr(sys.modules["granchain.two_body"], name, int(gone))
    assert impact(law="lee-wang-transition", speed=1.0, **inputs).equals(found)


@pytest.mark.plain
def test_a_contact_as_printed_opens_after_its_overlap_vanishes(plain_loop):
    # ma-liu with as_printed opens at negative overlaps down to -.0048 d_y, if the largest overlap
    # is below 1.978 d_y (test_elastoplastic.py)
    printed = impact(law="ma-liu", speed=0.11, psi=2.84, xi=13.0, as_printed=True)
    strength = 1.6 * 900e6 / float(BEADS.effective_modulus)
    limit = math.pi**2 / 4.0 * float(BEADS.effective_radius) * strength**2
    assert -0.0048 * limit <= printed.residual_overlap < -0.003 * limit
    assert printed.duration > printed.overlap_duration
    flight = -printed.residual_overlap / (printed.restitution * printed.speed)
    assert printed.duration == pytest.approx(printed.overlap_duration + flight, rel=2e-5)
    # at negative overlaps, the contact returns more energy
    assert printed.restitution > 1.0


# Laws with their own formula for identified damping; the others have the factor of gonthier-exact
# (test_hysteresis.py). Three of them run in the short set; Jankowski's are in test_viscous.py.
AT_ONCE = ("gonthier-exact", "kelvin-voigt", "tsuji")
OWN = (
    *AT_ONCE, "wang-liu-hysteretic", "khulief-shabana", "wang-liu-viscous", "jankowski",
    "jankowski-both-phases",
)  # fmt: skip


def identified():
    """Return the laws with identified damping, each with its values of `separation` if it has
    any."""
    found = []
    for name, law in laws().items():
        names = {quantity.name for quantity in law.inputs}
        if "damping" in names or name == "gonthier-exact":
            for way in ("clamped", "tensile") if "separation" in names else (None,):
                if name in AT_ONCE:
                    found.append(pytest.param(name, way, 9))
                count = 200 if name in OWN else 50
                found.append(pytest.param(name, way, count, marks=pytest.mark.long))
    return found


@pytest.mark.parametrize(("name", "separation", "count"), identified())
def test_identified_damping_delivers_every_restitution_at_the_automatic_step(
    name, separation, count, figure
):
    law = laws()[name]
    inputs = vars(example_inputs(law))
    for key, value in (
        ("damping", "identified"), ("separation", separation), ("impact_speed", "striker")
    ):  # fmt: skip
        if key in inputs:
            inputs[key] = value
    # restitutions from .001, or from the smallest value that the law can deliver
    (quantity,) = (quantity for quantity in law.inputs if quantity.name == "restitution")
    bounded = separation == "clamped" and name in ("kelvin-voigt", "wang-liu-viscous", "tsuji")
    least = LEAST_CLAMPED * (1.0 + 1e-6) if bounded else 0.0
    least = max(1e-3, (quantity.above or 0.0) * (1.0 + 1e-9), least)
    asked = np.minimum([*np.geomspace(least, 1.0, count), 0.99, 0.9999, 1.0 - 1e-6], 1.0)
    off = [
        abs(impact(law=law, speed=1.77, **inputs | {"restitution": e}).restitution - e)
        for e in asked.tolist()
    ]
    what = f"{name}, {separation}: delivered less asked restitution at the automatic step"
    figure(what, max(off), at_least=1e-6, at_most=1e-4)


def impact_just_past_the_jump(draw, beyond):
    """Return delivered minus asked restitution of a random impact whose largest overlap exceeds d_y
    by at most the fraction `beyond`."""
    law = laws()["wang-liu-hysteretic"]
    asked, past = draw.uniform(0.05, 0.999), 1.0 + beyond * draw.random()
    # beads of .5 to 5 mm and .01 to 10 g, from bronze to ceramics; psi and xi near Ma and Liu's
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
    given = SimpleNamespace(**inputs, impact_speed=1.0)
    c = tuple(float(value) for value in law.coefficients_of(pair, given))
    # with the same factor a in loading and unloading, m r dr/(1 + a r/v0) = -U'(d) dd, and U(d_max)
    # = m v0^2 (a - ln(1 + a))/a^2
    a, energy = c[2], law.energy(past * c[0], c, ())
    speed = a * math.sqrt(energy / (float(pair.effective_mass) * (a - math.log1p(a))))
    return impact(law="wang-liu-hysteretic", pair=pair, speed=speed, **inputs).restitution - asked


# at the smaller excess, the contact crosses the jump twice within one step
@pytest.mark.parametrize("beyond", [0.23, 5e-4])
@pytest.mark.parametrize("count", [5, pytest.param(3000, marks=pytest.mark.long)])
def test_identified_damping_delivers_what_is_asked_just_past_a_jump_of_the_force(
    count, beyond, figure, request
):
    if count == 5:
        request.getfixturevalue("plain_loop")
    draw = np.random.default_rng(11)
    off = max(abs(impact_just_past_the_jump(draw, beyond)) for _ in range(count))
    # a straight line and a kick alone had errors of 6.5e-4 at .23 and 2.0e-4 at 5e-4
    what = f"largest overlap up to {1.0 + beyond:g} d_y: delivered less asked restitution"
    figure(what, off, at_least=1e-6, at_most=1e-4)


def test_a_long_contact_recorded_by_strides_is_the_one_recorded_step_by_step(monkeypatch):
    inputs = {"law": "gonthier-exact", "speed": 1.77, "restitution": 0.03}
    whole = impact(**inputs)
    monkeypatch.setattr(sys.modules["granchain.two_body"], "CLOSELY", 2000)
    # blocks end on the second-last of the first thousand steps
    monkeypatch.setattr(sys.modules["granchain.two_body"], "STEPS_AT_ONCE", 125)
    thinned = impact(**inputs)
    # of 9,342 steps (measured), the result contains 2,000, and then every eighth
    n = thinned.time.size - 1
    assert whole.time.size > 9000 and 2000 < n < 2999
    steps = np.rint(np.diff(thinned.time) / thinned.time_step).astype(int).tolist()
    assert steps == [1] * 2000 + [8] * (n - 2000)
    shared = np.isin(whole.time, thinned.time)
    for name in ("time", "overlap", "force"):
        one, other = getattr(thinned, name), getattr(whole, name)[shared]
        assert np.array_equal(one[:-1], other[:n]), name
    assert np.array_equal(thinned.rate[:1999], whole.rate[:1999])
    assert thinned.rate[:-1] == pytest.approx(whole.rate[shared][:n], rel=1e-2, abs=1e-4)
    for name in ("restitution", "max_overlap", "max_force", "approach_time"):
        assert getattr(thinned, name) == getattr(whole, name)
    assert thinned.duration == pytest.approx(whole.duration, rel=1e-6)
    assert thinned.dissipated_approach == pytest.approx(whole.dissipated_approach, rel=1e-12)


def test_force_and_acceleration_are_those_of_the_equations():
    # F = K d^1.5 (1 + a rate/v0), Hunt and Crossley 1975, doi:10.1115/1.3423596: a = 3/2 (1 - e)
    found = impact(law="hunt-crossley", pair=PAIR, speed=2.0, restitution=0.8)
    spring = float(PAIR.hertz_stiffness) * found.overlap.clip(0.0) ** 1.5
    assert found.elastic_force[1:-1] == pytest.approx(spring[1:-1], rel=1e-9)
    damped = spring * 1.5 * 0.2 * found.rate / 2.0
    # the rates are those at the middle of the step, which leaves a difference of the order of a
    # step
    largest = np.abs(damped).max()
    assert found.damping_force == pytest.approx(damped, abs=0.02 * largest)
    assert found.elastic_force + found.damping_force == pytest.approx(found.force, rel=1e-14)
    # m d'' = -F, with d'' from differences of the overlap
    bends = np.diff(found.overlap, 2) / found.time_step**2
    assert found.acceleration[1:-1] == pytest.approx(bends, abs=1e-6 * np.abs(bends).max())
    assert found.effective_mass == MASS and "effective_mass" in found.variables


@pytest.mark.parametrize("law", every_law(["hertz", "ma-liu", "flores", "tsuji", "kelvin-voigt"]))
def test_restitution_by_impulse_and_by_energy_is_newtons(law, figure):
    # no other force acts on the two bodies: m v' over m v, and m v'^2 over m v^2
    inputs = vars(example_inputs(laws()[law]))
    ways = ("clamped", "tensile") if "separation" in inputs else ()
    for more in [{"separation": way} for way in ways] or [{}]:
        found = impact(law=law, speed=1.0, **inputs | more)
        # integrals over samples at the automatic step
        for one in (found.restitution_impulse, found.restitution_energy):
            what = "restitution by impulse and energy over Newton's, relative"
            figure(what, abs(one / found.restitution - 1.0), at_most=3e-3)
        k = int(np.argmax(found.overlap))
        work = 0.5 * (found.force[1:] + found.force[:-1]) * np.diff(found.overlap)
        by_energy = math.sqrt(max(-work[k:].sum(), 0.0) / work[:k].sum())
        assert found.restitution_energy == pytest.approx(by_energy, rel=3e-3)


def test_the_parts_of_the_force_follow_from_an_opened_file(tmp_path):
    # ma-liu supplies the restitution, so that this input has inputs itself
    inputs = {"restitution": {"law": "ma-liu", **MA_LIU}, "damping": "identified"}
    found = impact(law="flores", pair=PAIR, speed=2.0, **inputs)
    found.save(tmp_path / "a.h5")
    opened = gc.open(tmp_path / "a.h5")
    assert opened.pair.items() == PAIR.items() and opened.coefficients == found.coefficients
    assert opened.inputs["restitution"]["law"] == "ma-liu" and opened["contact.impact_speed"] == 2.0
    assert np.array_equal(opened.elastic_force, found.elastic_force)
    assert opened.damping_force.max() > 0.0
    again = impact(law=opened.law, pair=opened.pair, speed=opened.speed, **opened.inputs)
    assert again.equals(found) and again.provenance["law_sha256"] == opened.provenance["law_sha256"]


@pytest.mark.usefixtures("blank_pictures")
def test_a_file_of_a_law_that_is_not_installed_is_still_read(tmp_path, monkeypatch):
    found = impact(law="flores", speed=1.0, restitution=0.7)
    found.save(tmp_path / "a.h5")
    opened = gc.open(tmp_path / "a.h5")
    opened.law = "absent"
    with pytest.raises(LawError, match="absent"):
        opened.elastic_force  # noqa: B018
    assert opened.restitution == found.restitution and opened.provenance["law_json"]
    gc.figures.impact_loops(opened)


def test_losses_of_an_impact_add_up():
    for law, more in (
        ("flores", {"restitution": 0.7}),
        ("tsuji", {"restitution": 0.5}),
        ("ma-liu", MA_LIU),
    ):
        found = impact(law=law, pair=PAIR, speed=4.0, refine=10.0, **more)
        lost = 0.5 * MASS * 16.0 * (1.0 - found.restitution**2)
        assert found.dissipated == pytest.approx(lost, rel=1e-12)
        parts = found.dissipated_approach + found.dissipated_recovery
        assert parts == pytest.approx(lost, rel=1e-12)
        assert found.approach_time + found.recovery_time == pytest.approx(found.duration, rel=1e-12)
    # ma-liu dissipates only during approach; the integral of recorded forces has an error of 1e-5
    assert found.dissipated_recovery == pytest.approx(0.0, abs=1e-5 * lost)
    # residual overlap of this law: d_r = d_max - F/(K sqrt(d_max)) below d_p
    stiffness = theory.hertz_stiffness(PAIR.effective_modulus, 0.82)
    dent = found.max_overlap - found.max_force / (stiffness * math.sqrt(found.max_overlap))
    assert found.residual_overlap == pytest.approx(dent, rel=1e-3)
    # the contact opens before its overlap vanishes
    flight = found.residual_overlap / (found.restitution * found.speed)
    assert found.overlap_duration == pytest.approx(found.duration + flight, rel=1e-6)
