"""Walls, precompression, gravity, drives, unlike beads: a row that stands still stays, and one that moves keeps its balance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rows import MASS, RADIUS, SPEED, STEEL, ledger_residual, run_row, standing_row, steel_row, velocities

from granchain import theory
from granchain.chain import RIGID, Chain, End, check_loads
from granchain.contact import laws
from granchain.contact.law import ContactLaw
from granchain.engine import layout
from granchain.engine.contacts import PLAIN_KINDS, largest_force
from granchain.engine.state import Recording, contacts_of
from granchain.errors import CaseError
from granchain.material import Material

WALL = End("wall")
# Round numbers of the order of a copper alloy: only "unlike steel" matters here.
SOFT = Material(youngs_modulus=1.1e11, poissons_ratio=0.34, density=8800.0, yield_stress=2e8)
LOADED_ROWS = {
    "precompressed, free ends": lambda: standing_row(30, precompression=10.0),
    "precompressed, walls": lambda: standing_row(30, WALL, WALL, precompression=10.0),
    "precompressed, striker": lambda: steel_row(30, 0.0, precompression=10.0),
    "gravity on a wall": lambda: standing_row(30, right=WALL, gravity=9.81),
    "gravity and precompression, rigid walls": lambda: standing_row(
        30, End("wall", RIGID), End("wall", RIGID), precompression=2.0, gravity=9.81
    ),
}

# A law of each kind at once, other dashpots in the long run: every law has a loop of its own for loads and drives.
LOADED = ["hertz", "ma-liu", "tsuji", *(pytest.param(law, marks=pytest.mark.long) for law in ("flores", "wang-liu-viscous"))]


@pytest.mark.parametrize("name", LOADED_ROWS)
@pytest.mark.parametrize("law", LOADED)
def test_a_static_start_stays_at_rest_for_100000_steps(name, law):
    chain = LOADED_ROWS[name]()
    state = run_row(chain, law, 1e-2, 1e-7)
    assert state.time_step.n_steps == 100_000
    # within 1e-12 of a bead's radius
    assert np.abs(state.bodies[layout.U]).max() < 1e-12 * RADIUS
    # and the contacts carry the static forces: residual below 1e-9 of the largest
    expected = chain.static_forces()
    assert np.abs(state.table[layout.ROW, : expected.size] - expected).max() < 1e-9 * expected.max()
    assert expected.max() > 0.0


@pytest.mark.plain
def test_static_forces_add_up_the_weights_above():
    chain = standing_row(30, right=WALL, gravity=9.81)
    # contact k carries k beads
    assert chain.static_forces() == pytest.approx(MASS * 9.81 * np.arange(31), rel=1e-12)


@pytest.mark.plain
def test_the_compiled_static_start_of_many_kinds_has_the_same_bits_as_the_plain_one():
    long = standing_row(PLAIN_KINDS + 40, right=WALL, gravity=9.81)
    short = standing_row(PLAIN_KINDS - 10, right=WALL, gravity=9.81)
    for law in ("hertz", "ma-liu"):
        many, few = (contacts_of(laws()[law], chain, _inputs(law)).overlaps for chain in (long, short))
        assert many.size > PLAIN_KINDS > few.size
        # the same weights stand on the first contacts of both
        assert (many[: few.size - 1] == few[:-1]).all()


def _inputs(law: str):
    from rows import inputs_for

    return inputs_for(law)


@pytest.mark.plain
def test_contacts_may_start_yielded():
    # F_y = 1.98 N for a bead pair of the steel chain: 50 N of precompression is far above
    chain = standing_row(6, precompression=50.0)
    state = run_row(chain, "ma-liu", 1e-6, 1e-8)
    limit, residual = state.h[0, 1:6], state.h[1, 1:6]
    assert (limit == state.table[layout.START, 1:6]).all()
    assert (residual > 0.0).all()


@pytest.mark.plain
def test_the_largest_force_of_a_law_without_one_is_not_named():
    class Broken(ContactLaw):
        """Divides by zero at its largest overlap; without a name it is no law of the registry."""

        history_of = staticmethod(lambda c: ())
        force = staticmethod(lambda overlap, rate, c, h: 1.0 / (overlap - 1.0))

    assert largest_force(Broken, np.ones(1), 2.0) == ", here 1 N"
    assert largest_force(Broken, np.ones(1), 1.0) == ""


@pytest.mark.plain
def test_gravity_without_a_wall_and_precompression_beyond_the_law_are_refused():
    with pytest.raises(CaseError, match="without a wall at the right end"):
        check_loads(standing_row(4, gravity=9.81))
    # Hertz at an overlap of one radius: (4/3) E sqrt(R*) R^1.5 = 4.88e9 * (2.38e-3)^1.5 = 5.7e5 N
    with pytest.raises(
        CaseError,
        match=r"got 1e\+06 N .* allowed: at most the force of the law hertz at its .* 0.00238 m, here 56\d{4} N; lower",
    ):
        contacts_of(laws()["hertz"], standing_row(4, precompression=1e6), _inputs("hertz"))
    with pytest.raises(CaseError, match="would have to pull"):
        check_loads(standing_row(4, WALL, WALL, gravity=-9.81, precompression=0.0))


@pytest.mark.plain
def test_wall_against_bead_has_the_known_ratios_to_bead_against_bead():
    chain = standing_row(3, WALL, WALL)
    contacts = contacts_of(laws()["ma-liu"], chain, _inputs("ma-liu"))
    wall, bead = contacts.c[:, 0], contacts.c[:, 1]
    # R = R_bead against R_bead/2, E the same: K sqrt 2, d_y 2, F_y 4 times as large
    assert wall[2] / bead[2] == pytest.approx(np.sqrt(2.0), rel=1e-12)
    assert wall[0] / bead[0] == pytest.approx(2.0, rel=1e-12)
    assert (wall[2] * wall[0] ** 1.5) / (bead[2] * bead[0] ** 1.5) == pytest.approx(4.0, rel=1e-12)
    # rigid: E* = E/(1 - nu^2), twice that of two equal bodies
    rigid = contacts_of(laws()["hertz"], standing_row(3, End("wall", RIGID)), _inputs("hertz")).c[0, 0]
    assert rigid / contacts_of(laws()["hertz"], chain, _inputs("hertz")).c[0, 0] == pytest.approx(2.0, rel=1e-12)


@pytest.mark.plain
def test_unlike_materials_take_the_yield_stress_of_the_softer_body():
    chain = replace(standing_row(3), material=(STEEL, SOFT), material_index=np.array([0, 1, 0]))
    pair = chain.pair()
    assert pair.yield_stress[1] == pair.yield_stress[2] == 2e8
    modulus = 1.0 / ((1 - 0.3**2) / 193e9 + (1 - 0.34**2) / 1.1e11)
    assert pair.effective_modulus[1] == pytest.approx(modulus, rel=1e-14)


def mirrored(chain: Chain) -> Chain:
    flip = {name: np.ascontiguousarray(getattr(chain, name)[::-1]) for name in ("radius", "mass", "material_index", "gap")}
    return replace(chain, velocity=-chain.velocity[::-1].copy(), left=chain.right, right=chain.left, has_striker=False, **flip)


def dimer(n: int) -> Chain:
    """Steel beads, every second one of half the radius and an eighth of the mass, between walls, struck."""
    chain = steel_row(n, has_striker=False, left=WALL, right=WALL)
    small = np.arange(n) % 2 == 1
    radius = np.where(small, 0.5 * RADIUS, RADIUS)
    return replace(chain, radius=radius, mass=np.where(small, MASS / 8.0, MASS), gap=np.full(n - 1, 1e-7))


def taper(n: int) -> Chain:
    """Radii that fall by 2 % from bead to bead."""
    scale = 0.98 ** np.arange(n)
    return replace(steel_row(n, has_striker=False), radius=RADIUS * scale, mass=MASS * scale**3)


@pytest.mark.promise("N8")
@pytest.mark.parametrize("law", LOADED)
@pytest.mark.parametrize("make", [dimer, taper])
def test_a_mirrored_chain_moves_mirrored(law, make, figure):
    chain = make(12)
    one, other = run_row(chain, law, 2e-4), run_row(mirrored(chain), law, 2e-4)
    # the order of a sum differs, and a contact that reopens amplifies it
    error = np.abs(velocities(other)[::-1] + velocities(one)).max() / SPEED
    figure("mirrored chain of 12 unlike bodies, velocities in the striker's", error, at_most=1e-12)
    assert one.table[layout.PEAK, 1:12].max() > 1.0


@pytest.mark.promise("N2", "N3")
@pytest.mark.parametrize("law", ["hertz", "ma-liu", "flores", "tsuji"])
def test_a_tapered_chain_keeps_momentum_and_energy(law, figure):
    chain = taper(40)
    state = run_row(chain, law, 4e-4)
    momentum = (chain.mass * velocities(state)).sum()
    figure("momentum of a tapered chain, relative error", abs(momentum / (MASS * SPEED) - 1.0), at_most=1e-12)
    figure("tapered chain: largest residual of the ledger", ledger_residual(state), at_most=5e-5)


@pytest.mark.promise("N3")
@pytest.mark.parametrize("law", ["hertz", "ma-liu", "flores", "tsuji"])
def test_a_dimer_between_walls_keeps_energy(law, figure):
    figure("dimer between walls: largest residual of the ledger", ledger_residual(run_row(dimer(20), law, 4e-4)), at_most=5e-5)


@pytest.mark.parametrize("law", LOADED)
def test_a_struck_column_under_gravity_keeps_its_energy(law):
    # the striker falls on a column that stands on a wall
    chain = steel_row(30, right=WALL, gravity=9.81)
    state = run_row(chain, law, 6e-4)
    assert np.abs(state.energies[:, layout.EXTERNAL]).max() > 0.0
    assert ledger_residual(state) < 5e-5


@pytest.mark.promise("N7")
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("law", ["hertz", "flores"])
def test_speed_of_small_waves_in_a_precompressed_chain(side, law, figure):
    # a wall that moves by 1e-5 of the static overlap, as one hump of sine squared, sends a small wave; small waves travel at 1.6e5 beads
    # per second here, so the hump is 75 beads long (dispersion: (pi/75)^2/24 = 7e-5 of the speed) and 400 beads keep the far end silent
    n, precompression, end = 400, 20.0, 1.8e-3
    speed = theory.small_wave_speed(_hertz(), MASS, precompression)
    length = 75.0 / speed
    time = np.linspace(0.0, length, 200)
    overlap = (precompression / _hertz()) ** (2.0 / 3.0)
    drive = End("displacement", None, time, 1e-5 * overlap * np.sin(np.pi * time / length) ** 2)
    ends = {"left": drive, "right": WALL} if side == "left" else {"left": WALL, "right": drive}
    beads = (40, 200) if side == "left" else (200, 360)
    damping = {"restitution": 1.0} if law == "flores" else {}
    chain = standing_row(n, precompression=precompression, **ends)
    state = run_row(chain, law, end, recording=Recording(beads, (), 2e-7), **damping)
    t = state.sample_step * state.time_step.value
    arrival = []
    for column in state.sensor_force.T - precompression:
        # the centre of the hump
        hump = np.where(column > 0.1 * column.max(), column, 0.0)
        arrival.append((t * hump).sum() / hump.sum())
    found = (beads[1] - beads[0]) / abs(arrival[1] - arrival[0])
    figure("speed of small waves in a precompressed chain, relative error", abs(found / speed - 1.0), at_most=1e-3)


def _hertz() -> float:
    return theory.hertz_stiffness(193e9 / (2.0 * (1.0 - 0.3**2)), 0.5 * RADIUS)


@pytest.mark.promise("N3")
@pytest.mark.parametrize("law", LOADED)
@pytest.mark.parametrize("kind", ["displacement", "force"])
def test_the_work_of_a_drive_closes_the_ledger(law, kind, figure):
    time = np.linspace(0.0, 4e-4, 200)
    # a push of some micrometres, or some newtons, along one sine: the magnitudes of the struck chain
    value = (4e-6 if kind == "displacement" else 30.0) * np.sin(np.pi * time / 2e-4) ** 2
    chain = standing_row(30, End(kind, None, time, value), WALL, precompression=5.0 if kind == "displacement" else 0.0)
    coarse, fine = (run_row(chain, law, 4e-4, refine=refine) for refine in (1.0, 4.0))
    assert coarse.energies[:, layout.EXTERNAL].max() > 1e-7
    figure("driven chain: largest residual of the ledger", ledger_residual(coarse), at_most=5e-5)
    # order two, 16: the drive's work is a trapezoid sum
    figure(
        "driven chain: residual over that at a quarter of the step",
        ledger_residual(coarse) / ledger_residual(fine),
        at_least=8.0,
        at_most=32.0,
    )


def test_a_driven_force_is_felt_by_the_first_bead():
    time = np.array([0.0, 1e-5, 1.0])
    state = run_row(standing_row(1, End("force", None, time, np.array([3.0, 3.0, 3.0]))), "hertz", 1e-4, 1e-7)
    # m v = F t
    assert velocities(state)[0] == pytest.approx(3.0 * 1e-4 / MASS, rel=1e-12)


def test_beads_with_gaps_keep_apart_until_they_meet():
    chain = replace(steel_row(3), gap=np.array([0.0, 1e-4]))
    state = run_row(chain, "hertz", 5e-4)
    # two collisions of equal elastic balls hand the speed on to the last, but for what a touching striker keeps: none with a gap
    assert velocities(state) == pytest.approx([0.0, 0.0, SPEED], abs=2e-5 * SPEED)


def test_a_long_chain_pushed_from_the_left_moves_beyond_its_first_beads():
    # a force that no wall passes on: the front has to follow it through the row
    time = np.linspace(0.0, 2e-4, 50)
    push = End("force", None, time, np.full(50, 50.0))
    state = run_row(standing_row(30, push), "hertz", 1.5e-4)
    # m sum(v) = F t
    assert MASS * velocities(state).sum() == pytest.approx(50.0 * 1.5e-4, rel=1e-9)
    assert velocities(state)[15] > 0.0


@pytest.mark.plain
def test_a_static_force_inside_a_jump_of_the_law_is_refused():
    # wang-liu-hysteretic jumps from 1.98 to 8.88 N at its elastic limit: it carries 5 N at no overlap
    with pytest.raises(CaseError, match="wang-liu-hysteretic"):
        contacts_of(laws()["wang-liu-hysteretic"], standing_row(4, precompression=5.0), _inputs("wang-liu-hysteretic"))
