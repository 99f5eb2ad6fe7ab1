"""Two bodies: the impact tables of Wang, Liu & Liu 2022 with their true inputs, and what gc.impact refuses."""

from __future__ import annotations

import math

import pytest

from granchain import theory
from granchain.contact.pair import Pair
from granchain.errors import CaseError, LawError
from granchain.impact import impact

# Wang, Liu & Liu 2022, table 1, doi:10.1016/j.ijmecsci.2022.107214, as corrected: the table swaps masses and densities, and the contact
# is internal (a ball of 20 mm in a socket of 20.5 mm): R = .0205*.02/.0005 = .82 m; 200 GPa/.29 on 65 GPa/.33; m = (4/3) pi .02^3 7800
# kg; s_y 30 MPa.
MASS = 4.0 / 3.0 * math.pi * 0.02**3 * 7800.0
PAIR = Pair(
    effective_radius=0.0205 * 0.02 / 0.0005,
    effective_modulus=1.0 / ((1.0 - 0.29**2) / 200e9 + (1.0 - 0.33**2) / 65e9),
    effective_mass=MASS,
    yield_stress=30e6,
)
MA_LIU = {"psi": 3.0, "xi": 13.0}


def ma_liu(speed: float, refine: float = 4.0):
    return impact(law="ma-liu", pair=PAIR, speed=speed, refine=refine, **MA_LIU)


def test_the_inputs_are_those_behind_the_printed_numbers():
    # printed: kinetic energy 2.091 J at 4 m/s; E = 5.467848e10 Pa recomputed to the digits shown
    assert pytest.approx(2.091, abs=5e-4) == 0.5 * MASS * 16.0
    assert PAIR.effective_modulus == pytest.approx(5.467848e10, rel=1e-7)


def test_ma_liu_at_4_and_8_metres_per_second():
    slow, fast = ma_liu(4.0), ma_liu(8.0)
    # table 2 and text: d_max 1.1152e-4 m, F_max 4.1710e4 N, restitution .6909, loss 1.0929 J
    assert slow.max_overlap == pytest.approx(1.1152e-4, abs=5e-9)
    assert slow.max_force == pytest.approx(4.1710e4, abs=1.0)
    assert slow.restitution == pytest.approx(0.6909, abs=5e-5)
    assert slow.dissipated == pytest.approx(1.0929, abs=5e-5)
    # table 5 and 7: F_max 8.6858e4 N, restitution .6309, loss 5.0348 J
    assert fast.max_force == pytest.approx(8.6858e4, abs=1.5)
    assert fast.restitution == pytest.approx(0.6309, abs=5e-5)
    assert fast.dissipated == pytest.approx(5.0348, abs=1e-4)


# velocities after impact (tables 3 and 6) and largest forces (tables 4 and 7); at 8 m/s the force of the new law is lost, and
# 7.83596e4 recomputed
@pytest.mark.parametrize(
    ("law", "after_4", "after_8", "force_4", "force_8"),
    [
        ("hunt-crossley", 3.0503, 5.8276, 5.2235e4, 1.1944e5),
        ("lankarani-nikravesh", 3.1677, 6.1393, 5.2544e4, 1.2011e5),
        ("flores", 2.6944, 4.8808, 5.1838e4, 1.1955e5),
        ("wang-liu-hysteretic", 2.7518, 5.0071, 3.8538e4, 7.83596e4),
    ],
)
def test_dashpots_with_the_restitution_of_ma_liu(law, after_4, after_8, force_4, force_8):
    more = MA_LIU if law == "wang-liu-hysteretic" else {}
    for speed, after, force in ((4.0, after_4, force_4), (8.0, after_8, force_8)):
        found = impact(law=law, pair=PAIR, speed=speed, refine=10.0, restitution=ma_liu(speed).restitution, **more)
        # the last printed digit; the tables' two-body runs of the new law leave out its elastic part, d < d_y = 1.6e-6 m of 1.1e-4 m
        # (sec. 5.2 has it), which moves the force by (d_y/d_max)^2 = 2e-4
        slack = 4.0 if law == "wang-liu-hysteretic" else 1.0
        assert found.restitution * speed == pytest.approx(after, abs=slack * 1e-4)
        assert found.max_force == pytest.approx(force, rel=slack * 5e-5)


def test_losses_of_an_impact_add_up():
    for law, more in (("flores", {"restitution": 0.7}), ("ma-liu", MA_LIU), ("tsuji", {"restitution": 0.5})):
        found = impact(law=law, pair=PAIR, speed=4.0, refine=10.0, **more)
        assert found.dissipated == pytest.approx(0.5 * MASS * 16.0 * (1.0 - found.restitution**2), rel=1e-12)
        assert found.dissipated_approach + found.dissipated_recovery == pytest.approx(found.dissipated, rel=1e-12)
        assert found.approach_time + found.recovery_time == pytest.approx(found.duration, rel=1e-12)
    # Ma-Liu loses all in the approach: its unloading is elastic; the quadrature of the recorded forces is good to 1e-5
    plastic = ma_liu(4.0, refine=10.0)
    assert plastic.dissipated_recovery == pytest.approx(0.0, abs=1e-5 * plastic.dissipated)
    # its dent: d_r = d_max - F/(K sqrt(d_max)) below d_p
    stiffness = theory.hertz_stiffness(PAIR.effective_modulus, 0.82)
    expected = plastic.max_overlap - plastic.max_force / (stiffness * math.sqrt(plastic.max_overlap))
    assert plastic.residual_overlap == pytest.approx(expected, rel=1e-3)


def test_the_delivered_restitution_of_the_engine_is_the_closed_form():
    # promise of the laws' pages: 1e-6 at the automatic step refined tenfold
    for law, factor in (("hunt-crossley", 1.5 * 0.5), ("lankarani-nikravesh", 0.75 * 0.75), ("flores", 1.6)):
        found = impact(law=law, pair=PAIR, speed=2.0, refine=10.0, restitution=0.5)
        assert found.restitution == pytest.approx(theory.delivered_restitution(factor), abs=1e-6)
    for law, more in (("kelvin-voigt", {"stiffness": 1e8}), ("tsuji", {})):
        clamped = impact(law=law, pair=PAIR, speed=2.0, refine=10.0, restitution=0.5, **more)
        tensile = impact(law=law, pair=PAIR, speed=2.0, refine=10.0, restitution=0.5, separation="tensile", **more)
        assert tensile.restitution == pytest.approx(0.5, abs=1e-6)
        assert clamped.restitution == pytest.approx(theory.clamped_restitution(0.5), abs=1e-6)


def test_bad_inputs_of_an_impact_are_told_together():
    with pytest.raises(CaseError, match='got "hertzz", allowed: '):
        impact(law="hertzz", pair=PAIR, speed=1.0)
    for speed in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(CaseError, match=r"speed: got .* allowed: a finite number above 0"):
            impact(law="hertz", pair=PAIR, speed=speed)
    with pytest.raises(CaseError) as caught:
        impact(law="flores", pair=PAIR, speed=1.0, restitution=1.5, psi=2.0)
    assert len(caught.value.problems) == 2
    with pytest.raises(CaseError, match=r"restitution: got nothing, allowed: .*; give it, flores needs it"):
        impact(law="flores", pair=PAIR, speed=1.0)


def test_a_pair_without_what_the_law_needs_says_which():
    poor = Pair(effective_radius=1e-3, effective_modulus=1e11, effective_mass=1e-3)
    with pytest.raises(LawError, match=r"ma-liu: yield_stress: got nothing, allowed a number above 0 \[Pa\], which this contact law takes"):
        impact(law="ma-liu", pair=poor, speed=1.0, **MA_LIU)
    with pytest.raises(LawError, match="unknown quantity yield_strength"):
        Pair(effective_radius=1e-3, yield_strength=1e8)
    with pytest.raises(LawError, match=r"effective_mass: got -1\.0, allowed: finite numbers above 0"):
        Pair(effective_mass=-1.0)
