"""Walls, loads, gravity, drives, and different beads: chains at rest stay at rest, and moving
chains conserve energy."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.kinds import PLAIN_ALONE
from support.rows import (
    HARD_STEEL,
    MASS,
    RADIUS,
    contacts_of,
    inputs_for,
    ledger_residual,
    run_row,
    standing_row,
    steel_row,
    velocities,
)

from granchain.chain import RIGID, End
from granchain.contact import laws
from granchain.contact.law import ContactLaw
from granchain.engine.recording import Recording
from granchain.engine.setup import PLAIN_KINDS, largest_force
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.errors import CaseError
from granchain.status import Status

WALL = End("wall")
LOADED_ROWS = {
    "precompressed, free ends": lambda: standing_row(30, precompression=10.0),
    "precompressed, walls": lambda: standing_row(30, WALL, WALL, precompression=10.0),
    "precompressed, striker": lambda: steel_row(30, 0.0, precompression=10.0),
    "gravity on a wall": lambda: standing_row(30, right=WALL, gravity=9.81),
    "gravity and precompression, rigid walls": lambda: standing_row(
        30, End("wall", RIGID), End("wall", RIGID), precompression=2.0, gravity=9.81
    ),
}

# Every law has a separate loop for drives: the laws of the cases run in the short run, and the
# others in the long run.
LATER = ("hertz", "ma-liu", "tsuji", "wang-liu-viscous")


@pytest.mark.parametrize("name", LOADED_ROWS)
def test_a_static_start_stays_at_rest_for_100000_steps(name):
    chain = LOADED_ROWS[name]()
    state = run_row(chain, "hertz", 1e-2, 1e-7)
    assert state.time_step.n_steps == 100_000
    # within 1e-12 of the radius of a bead
    assert np.abs(state.bodies.u).max() < 1e-12 * RADIUS
    # and the contacts carry the static forces: the residual is below 1e-9 of the largest force
    expected = chain.static_forces()
    assert np.abs(state.contacts.force[: expected.size] - expected).max() < 1e-9 * expected.max()
    assert expected.max() > 0.0
    if name == "gravity on a wall":
        # contact k carries k beads
        assert expected == pytest.approx(MASS * 9.81 * np.arange(31), rel=1e-12)


@pytest.mark.plain
@PLAIN_ALONE
def test_the_static_start_of_many_kinds_has_the_same_bits_as_that_of_few():
    long = standing_row(PLAIN_KINDS + 40, right=WALL, gravity=9.81)
    short = standing_row(PLAIN_KINDS - 10, right=WALL, gravity=9.81)
    many, few = (
        contacts_of(laws()["hertz"], chain, inputs_for("hertz")).overlaps for chain in (long, short)
    )
    assert many.size > PLAIN_KINDS > few.size
    # the first contacts of both chains carry the same weight
    assert (many[: few.size - 1] == few[:-1]).all()


@pytest.mark.plain
def test_the_largest_force_of_a_law_without_one_is_not_named():
    class Broken(ContactLaw):
        """Law that divides by zero at its largest overlap; without a name it is not registered."""

        history_of = staticmethod(lambda c: ())
        force = staticmethod(lambda overlap, rate, c, h: 1.0 / (overlap - 1.0))

    model = Broken.model(SimpleNamespace())
    assert largest_force(model, np.ones(1), 2.0) == ", here 1 N"
    assert largest_force(model, np.ones(1), 1.0) == ""


@pytest.mark.plain
def test_loads_that_the_row_or_its_law_cannot_carry_are_refused():
    # Hertz at an overlap of one radius: (4/3) E sqrt(R*) R^1.5 = 4.88e9 * (2.38e-3)^1.5 = 5.7e5 N
    with pytest.raises(
        CaseError,
        match=r"1e\+06 N, is out of range\. .* at most the force of the law hertz .* 0.00238 m, "
        r"here 56\d{4} N\. Reduce",
    ):
        contacts_of(laws()["hertz"], standing_row(4, precompression=1e6), inputs_for("hertz"))
    # wang-liu-hysteretic jumps from 1.98 to 8.88 N at its elastic limit: no overlap has 5 N
    jumping = "wang-liu-hysteretic"
    with pytest.raises(CaseError, match=jumping):
        contacts_of(laws()[jumping], standing_row(4, precompression=5.0), inputs_for(jumping))
    # a law that ends before the radius carries nothing beyond its limit, and no step is computed
    # there
    ending, row = "kogut-etsion", steel_row(4, 1e3, material=(HARD_STEEL,))
    contacts = contacts_of(laws()[ending], row, inputs_for(ending))
    limit = f"{contacts.model.functions.overlap_limit(tuple(contacts.c[:, 1])):.4g}"
    assert f"overlap up to {limit} m" in time_step_of(contacts, row, "auto", 1e-4).reason
    with pytest.raises(CaseError, match=f"law {ending} at its maximum overlap, {limit[:5]}"):
        pressed = standing_row(4, precompression=1e5, material=(HARD_STEEL,))
        contacts_of(laws()[ending], pressed, inputs_for(ending))


@pytest.mark.plain
def test_wall_against_bead_has_the_known_ratios_to_bead_against_bead():
    chain = standing_row(3, WALL, WALL)
    contacts = contacts_of(laws()["ma-liu"], chain, inputs_for("ma-liu"))
    wall, bead = contacts.c[:, 0], contacts.c[:, 1]
    # R = R_bead compared with R_bead/2, with equal E: K is sqrt 2, d_y 2, and F_y 4 times as large
    assert wall[2] / bead[2] == pytest.approx(np.sqrt(2.0), rel=1e-12)
    assert wall[0] / bead[0] == pytest.approx(2.0, rel=1e-12)
    assert (wall[2] * wall[0] ** 1.5) / (bead[2] * bead[0] ** 1.5) == pytest.approx(4.0, rel=1e-12)
    # rigid: E* = E/(1 - nu^2), twice that of two equal bodies
    rigid, soft = (
        contacts_of(laws()["hertz"], row, inputs_for("hertz")).c[0, 0]
        for row in (standing_row(3, End("wall", RIGID)), chain)
    )
    assert rigid / soft == pytest.approx(2.0, rel=1e-12)


# Duration of a driven run [s], a few contact times of the struck chain; loads [N]; start and end of
# the tables as fractions of the run: a case requires tables that cover the run, and a chain does
# not.
DRIVEN_END = 1.2e-4
PRESSED = [20.0, 20.0, 0.0]
COVERING = [(0.0, 1.0), (-0.3, 1.2)]
ANYWHERE = [*COVERING, (0.0, 0.63), (0.21, 0.77)]


def random_drive(rng, kind, spans):
    """Return a smooth random table with speed and curvature at its first row.

    It is a sum of four sines with random phases, with the magnitudes of a struck chain.
    """
    first, last = spans[rng.integers(len(spans))]
    time = np.linspace(first, last, rng.integers(4, 60)) * DRIVEN_END
    # the wall is at the end of the row when the run begins, moving or not
    time -= time[np.argmin(np.abs(time))] if first < 0.0 else 0.0
    at_start = max(time[0], 0.0)
    value = np.zeros(time.size)
    for _ in range(4):
        # half a period to four periods in 400 us, the time in which a wave crosses about 60 beads
        omega, phase = 2.0 * np.pi * rng.uniform(0.5, 4.0) / 4e-4, rng.uniform(0.0, 2.0 * np.pi)
        value += rng.normal() * (np.sin(omega * time + phase) - np.sin(omega * at_start + phase))
    scale = 4e-6 if kind == "displacement" else 30.0
    return End(kind, None, time, scale * value / value[np.argmax(np.abs(value))])


def randomly_driven(seed, spans):
    """Return twelve beads, compressed or touching, driven at one end or both."""
    rng = np.random.default_rng(seed)
    which = ("left", "right", "both")[rng.integers(3)]
    kinds = [("displacement", "force")[int(rng.random() < 0.25)] for _ in range(2)]
    left = random_drive(rng, kinds[0], spans) if which != "right" else WALL
    right = random_drive(rng, kinds[1], spans) if which != "left" else WALL
    walls = left.has_wall and right.has_wall
    return standing_row(
        12, left, right, precompression=PRESSED[rng.integers(len(PRESSED))] if walls else 0.0
    )


def each(few, many):
    """Return laws and seeds of tables, for the short and the long run."""
    first = pytest.param("hertz", range(few), id="few-hertz")
    seeds = range(few, many)
    return [first] + [
        pytest.param(law, seeds, marks=pytest.mark.long, id=f"many-{law}") for law in LATER
    ]


@pytest.mark.promise("N3")
@pytest.mark.parametrize(("law", "seeds"), each(4, 24))
def test_the_ledger_closes_under_drives_of_random_tables(law, seeds, figure):
    chains = [randomly_driven(seed, ANYWHERE) for seed in seeds]
    recording, what = Recording(energy_interval=1e-6), "random tables of drives: largest residual "
    coarse, fine = (
        max(
            ledger_residual(run_row(chain, law, DRIVEN_END, refine=refine, recording=recording))
            for chain in chains
        )
        for refine in (1.0, 10.0)
    )
    figure(f"{what}of the energy balance", coarse, at_least=1e-7, at_most=5e-5)
    figure(f"{what}at a tenth of the step", fine, at_least=1e-9, at_most=1e-6)


def velocities_over_time(chain, law, factor, unit):
    """Return velocities at 96 instants with `factor` times a step; the run has 120 times `unit`
    steps."""
    contacts = contacts_of(laws()[law], chain, inputs_for(law))
    n_steps = round(120 * unit / factor)
    step = TimeStep(DRIVEN_END / n_steps, n_steps, np.inf, "")
    state = State(contacts, chain, step, Recording(snapshot_interval=DRIVEN_END / 96))
    assert state.advance(n_steps + 1) is Status.COMPLETE
    return state.records.velocity


@pytest.mark.promise("N4")
@pytest.mark.parametrize(("law", "seeds"), each(3, 10))
def test_the_motion_under_drives_of_random_tables_converges_with_order_two(law, seeds, figure):
    # if the force jumps at each onset, the error at ten automatic steps is not yet of second order
    # alone
    coarsest = 2.0 if law == "wang-liu-viscous" else 10.0
    steps = [coarsest * factor for factor in (1.0, 0.5, 0.2, 0.1, 0.05)]
    for seed in seeds:
        chain = randomly_driven(seed, COVERING)
        auto = time_step_of(
            contacts_of(laws()[law], chain, inputs_for(law)), chain, "auto", DRIVEN_END
        )
        unit = max(8, -(-auto.n_steps // 960) * 8)
        exact = velocities_over_time(chain, law, 0.1 * steps[-1], unit)
        errors = [
            np.sqrt(np.mean((velocities_over_time(chain, law, factor, unit) - exact) ** 2))
            for factor in steps
        ]
        order = float(np.polyfit(np.log(steps), np.log(errors), 1)[0])
        figure(
            f"random tables of drives: order from {coarsest:g} automatic steps to a twentieth",
            order,
            at_least=1.85,
            at_most=2.15,
        )


def driven_at(side, drive):
    ends = (drive, WALL) if side == "left" else (WALL, drive)
    return standing_row(2, *ends, precompression=20.0)


@pytest.mark.uncounted
@PLAIN_ALONE
@pytest.mark.parametrize(("side", "contact"), [("left", 0), ("right", 2)])
def test_a_table_that_begins_at_speed_starts_the_wall_at_that_speed(side, contact):
    # the end moves by v t from the start of a compressed row at rest, so that the speed v acts on
    # the dashpot of the end contact at t = 0
    push = End("displacement", None, np.array([0.0, 1e-5]), np.array([0.0, 1e-6]))
    recording = Recording(sensor_contacts=(contact,), interval=1e-7, energy_interval=1e-6)
    state = run_row(driven_at(side, push), "tsuji", 4e-6, 1e-7, recording=recording)
    c, overlap = state.c[:, contact], state.records.contact_overlap[0, 0]
    # F = K d^1.5 + c d^.25 v
    assert state.records.contact_force[0, 0] == pytest.approx(
        c[0] * overlap**1.5 + c[1] * overlap**0.25 * 0.1, rel=1e-12
    )


@pytest.mark.plain
@PLAIN_ALONE
@pytest.mark.parametrize("pressed", [0.0, 20.0])
def test_a_wall_that_starts_between_two_steps_is_met_once(pressed):
    # from 1.33 us on at 0.1 m/s: a touching contact closes then, and the speed acts on a compressed
    # contact then
    time = np.array([13.3e-7, 150e-7])
    push = End("displacement", None, time, 0.1 * (time - time[0]))
    row = standing_row(2, push, WALL, precompression=pressed)
    ends = [
        velocities(run_row(row, "wang-liu-viscous", 1e-5, 1e-5 / n_steps))
        for n_steps in (50, 100, 200, 400)
    ]
    errors = [np.abs(end - ends[-1]).max() / 0.1 for end in ends[:-1]]
    # order two compared with its own reference: (64 - 1)/(4 - 1) = 21 from the first to the last
    assert errors[0] < 1e-3
    assert 10.0 < errors[0] / errors[2] < 40.0
