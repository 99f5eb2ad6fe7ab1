"""Beads that move or are displaced at the start: what a case says, where its energy is, and
what follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import granchain as gc
from granchain.analysis import summary
from granchain.case import Case
from granchain.case.document import Files
from granchain.chain_end import deep, impact_speeds, opened_contacts
from granchain.contact.hertz import Hertz
from granchain.engine.state import State
from granchain.errors import CaseError
from granchain.simulation import prepare, recording_of

BEADS = 12
STEEL = {"youngs_modulus": 193e9, "poissons_ratio": 0.3, "density": 7968.8, "yield_stress": 9e8}
BASE: dict[str, Any] = {
    "chain": {"beads": BEADS, "radius": 2.38e-3, "material": STEEL},
    "contact": {"law": "hertz"},
    "sensors": {"beads": [3, 10], "contacts": [2, 10], "interval": 1e-6},
    "snapshots": {"interval": 1e-5},
    "time": {"end": 1e-4},
}
MALIU = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
TSUJI = {"law": "tsuji", "restitution": 0.6}


def row(**values: float) -> list[float]:
    """A number for each bead: b3=1.0 is bead 3's, 0 those of the others."""
    return [values.get(f"b{bead}", 0.0) for bead in range(1, BEADS + 1)]


def made(**tables: Any) -> Case:
    return Case(**{**BASE, **tables})


def told(folder: Path | None = None, **tables: Any) -> list[str]:
    with pytest.raises(CaseError) as raised:
        Case.model_validate({**BASE, **tables}, context={"files": Files(folder)})
    return raised.value.problems


# --- What a case says
@pytest.mark.plain
def test_velocities_come_from_lists_segments_and_files(tmp_path: Path) -> None:
    given = made(initial={"velocity": row(b1=1.0, b12=-2.0), "displacement": row(b2=1e-6)})
    assert given.bodies()["speed"].tolist() == row(b1=1.0, b12=-2.0) and given.bodies()[
        "displacement"
    ].tolist() == row(b2=1e-6)
    (tmp_path / "some.csv").write_text(
        "bead, velocity,displacement\n\n12,-2.0,0\n1,1,0\n2,0,1e-6\n"
    )
    (tmp_path / "all.csv").write_text(
        "velocity\n" + "\n".join(map(str, row(b1=1.0, b12=-2.0))) + "\n"
    )
    head = (
        '[chain]\nbeads = 12\nradius = 2.38e-3\nmaterial = "steel-316"\n[contact]\nlaw = '
        '"hertz"\n[time]\nend = 1e-4\n'
    )
    (tmp_path / "case.toml").write_text(f'{head}[initial]\nfile = "some.csv"\n')
    some = gc.load_case(tmp_path / "case.toml")
    assert some.initial == given.initial and Case(**json.loads(json.dumps(some.resolved()))) == some
    every = gc.load_case(tmp_path / "case.toml", ["initial.file=all.csv"])
    assert (
        every.initial is not None
        and every.initial.velocity == given.initial.velocity
        and every.initial.displacement is None
    )
    # the file is read again for a longer chain
    assert some.replace(**{"chain.beads": 13}).bodies()["speed"].tolist() == [
        *row(b1=1.0, b12=-2.0),
        0.0,
    ]
    assert some.replace(title="kept").initial == some.initial
    segments = [
        {"count": 3, "velocity": 2.0},
        {"count": 1, "repeat": 2},
        {"count": 1, "displacement": 1e-6},
    ]
    released = made(
        chain={**BASE["chain"], "beads": None, "segment": segments},
        sensors={},
        striker={"speed": 0.5},
    )
    assert released.bodies()["speed"].tolist() == [0.5, 2.0, 2.0, 2.0, 0.0, 2.0, 2.0, 2.0, 0.0, 0.0]
    assert released.bodies()["displacement"].tolist() == [0.0] * 9 + [1e-6]
    assert Case(**released.resolved()) == released and not released.begins_with_striker


@pytest.mark.plain
@pytest.mark.parametrize(
    ("initial", "sentence"),
    [
        (
            {},
            "initial: got neither file, nor velocity, nor displacement, allowed one of them; give",
        ),
        (
            {"velocity": [1.0]},
            "initial.velocity: got 1 numbers, allowed 12, one for each bead of the chain; give",
        ),
        (
            {"velocity": row(), "file": "a.csv"},
            "initial: got file beside velocity, allowed one of the two",
        ),
        ({"velocity": [1, "a"]}, 'initial.velocity.1: got "a", allowed a list of finite numbers'),
        (
            {"file": "none.csv"},
            'initial.file: got "none.csv" (No such file or directory), allowed a CSV file that',
        ),
        (
            {"file": "empty.csv"},
            'initial.file: got "empty.csv" with the first line "", allowed a first line that',
        ),
        (
            {"file": "alone.csv"},
            'initial.file: got "alone.csv" with the first line "bead", allowed a first line that',
        ),
        (
            {"file": "text.csv"},
            'initial.file: got "text.csv", in which line 3 is no row of 2 numbers, allowed bead,',
        ),
        (
            {"file": "gap.csv"},
            'initial.file: got "gap.csv", in which line 2 is no row of 2 numbers',
        ),
        (
            {"file": "inf.csv"},
            'initial.file: got "inf.csv", in which line 2 is no row of 2 numbers',
        ),
        (
            {"file": "twice.csv"},
            'initial.file: got "twice.csv", in which line 3 is of bead 2 once more, allowed each',
        ),
        (
            {"file": "far.csv"},
            'initial.file: got "far.csv", in which line 2 is of bead 13, allowed each bead from 1',
        ),
        (
            {"file": "half.csv"},
            'initial.file: got "half.csv", in which line 2 is of bead 1.5, allowed each bead',
        ),
        (
            {"file": "short.csv"},
            'initial.file: got "short.csv" with 2 rows, allowed 12, one for each bead of the chain',
        ),
        (
            {"file": "long.csv"},
            'initial.file: got "long.csv", in which line 14 is of bead 13, allowed each bead from',
        ),
        (
            {"displacement": row(b1=6e-3)},
            "initial.displacement: got contact 1 with an overlap of 0.006 m at the start",
        ),
    ],
)
def test_a_mistake_is_told(initial: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    for name, text in {
        "empty": "",
        "alone": "bead\n1\n",
        "text": "bead,velocity\n1,1\n2,a\n",
        "gap": "bead,velocity\n1\n",
        "far": "bead,velocity\n13,1\n",
        "inf": "bead,velocity\n1,inf\n",
        "twice": "bead,velocity\n2,1\n2,1\n",
        "half": "bead,velocity\n1.5,1\n",
        "short": "velocity\n1\n1\n",
        "long": "velocity\n" + "1\n" * 13,
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    if "contact" in sentence:
        with pytest.raises(CaseError) as raised:
            prepare(made(initial=initial))
        problems = raised.value.problems
    else:
        problems = told(tmp_path, initial=initial)
    assert len(problems) == 1 and problems[0].startswith(sentence), problems


@pytest.mark.plain
def test_without_a_striker_the_impact_speed_is_that_at_which_neighbours_close() -> None:
    flores = {"law": "flores", "restitution": 0.6}
    assert "a case without one" in told(contact=flores)[0]
    # apart from each other, and from a wall
    assert "a case without one" in told(contact=flores, initial={"velocity": row(b12=2.0)})[0]
    for more, speed in (
        ({"initial": {"velocity": row(b1=1.0, b2=-0.5, b12=2.0)}}, 1.5),
        ({"initial": {"velocity": row(b1=-3.0)}, "ends": {"left": "wall"}}, 3.0),
        ({"initial": {"velocity": row(b12=2.5)}, "ends": {"right": "wall"}}, 2.5),
        # a striker's own is what the word says
        ({"initial": {"velocity": row(b12=-2.0)}, "striker": {"speed": 0.7}}, 0.7),
    ):
        assert made(contact=flores, **more).law_inputs().impact_speed == speed
    pairs = [{"materials": ["steel-316", "steel-316"], "impact_speed": "striker"}]
    chain = {**BASE["chain"], "material": "steel-316"}
    closing = made(
        chain=chain,
        contact={**flores, "impact_speed": 1.0, "pair": pairs},
        initial={"velocity": row(b1=4.0)},
    )
    assert closing.pair_inputs()[0][1].impact_speed == 4.0


# --- The start
@pytest.mark.plain
def test_the_step_is_that_of_all_that_moves_and_of_what_displaced_beads_have_stored() -> None:
    moving, struck = (
        made(initial={"velocity": row(b12=-1.0)}),
        made(initial={"velocity": row(b1=1.0)}),
    )
    assert prepare(moving)[2].value == prepare(struck)[2].value
    assert (
        prepare(made(initial={"velocity": row(b1=1.0, b12=-1.0)}))[2].value
        < prepare(struck)[2].value
    )
    # Hertz: U = (2/5) K d^2.5 of one contact, all of which another may come to take; its overlap is
    # then the same, 1 um
    pressed = made(initial={"displacement": row(**{f"b{i}": 1e-6 for i in range(1, 6)})})
    chain, contacts, step = prepare(pressed)
    assert step.reason.endswith("overlap up to 1e-06 m")
    state = State(contacts, chain, step, recording_of(pressed))
    assert state.clock.front == 5 and state.bodies.u[1:7].tolist() == [1e-6] * 5 + [0.0]
    assert state.c.shape[0] == len(Hertz.coefficients)


@pytest.mark.plain
def test_a_displaced_contact_begins_yielded_and_one_that_is_opened_keeps_its_static_dent() -> None:
    deep = made(contact=MALIU, initial={"displacement": row(b1=5e-6)})
    dents = prepare(deep)[1].history[1]
    assert dents[1] > 0.0 and not dents[2:].any()
    # 50 N are beyond the yield of this contact; then bead 1 is drawn 10 um away
    loaded = {"chain": {**BASE["chain"], "precompression": 50.0}, "contact": MALIU}
    held, drawn = made(**loaded), made(**loaded, initial={"displacement": row(b1=-1e-5)})
    assert prepare(drawn)[1].history[1, 1] == prepare(held)[1].history[1, 1] > 0.0
    # a dashpot's contact that is closed at the start is so in its history, and one that is drawn
    # apart is open
    onset = {
        "law": "flores",
        "restitution": 0.6,
        "impact_speed": "onset",
        "impact_speed_floor": 1e-3,
    }
    apart = made(chain=loaded["chain"], contact=onset, initial={"displacement": row(b1=-1e-5)})
    closed = prepare(apart)[1].history[1]
    assert closed[1] == 0.0 and closed[2] == 1.0


# --- What follows
@pytest.fixture(scope="module")
def meeting() -> dict[str, gc.Result]:
    """Two pulses that meet, under three laws."""
    initial = {"velocity": row(b1=1.0, b12=-1.0)}
    return {
        law["law"]: gc.run(made(contact=law, initial=initial))
        for law in (BASE["contact"], MALIU, TSUJI)
    }


def test_two_pulses_that_meet_are_mirror_images_bit_for_bit(meeting: dict[str, gc.Result]) -> None:
    for law, result in meeting.items():
        assert np.abs(result.velocity[-1]).max() > 0.1, law
        assert np.array_equal(result.displacement, -result.displacement[:, ::-1]), law
        assert np.array_equal(result.velocity, -result.velocity[:, ::-1]), law
        assert np.array_equal(result.sensor_force[:, 0], result.sensor_force[:, 1]), law
        # the pulses have met in the middle
        assert result.contact_peak_force[5] > 1.2 * result.contact_peak_force[3], law


def test_momentum_and_energy_of_what_moves_at_the_start_are_kept(
    meeting: dict[str, gc.Result],
) -> None:
    unlike = made(initial={"velocity": row(b1=1.0, b6=0.5, b12=-0.4), "displacement": row(b4=2e-6)})
    result = gc.run(unlike)
    momentum = (result.mass * result.velocity).sum(axis=1)
    given = float((result.mass * unlike.bodies()["speed"]).sum())
    # to rounding: 1e-16 a step and bead
    assert np.abs(momentum - given).max() < 1e-12 * given
    # kinetic: m v^2/2; elastic: 2 um at one contact, Hertz' (2/5) K d^2.5
    stiffness = float(prepare(unlike)[1].c[0, 4])
    assert result.energy_kinetic[0] == pytest.approx(
        0.5 * result.mass[0] * (1.0 + 0.25 + 0.16), rel=1e-12
    )
    assert result.energy_recoverable[0] == pytest.approx(0.4 * stiffness * 2e-6**2.5, rel=1e-9)
    for each in (result, *meeting.values()):
        balance = summary(each).energy
        assert (
            balance is not None and balance.largest_residual < 2.5e-5
        )  # docs/explanation: the auto step's


def test_the_mirrored_chain_gives_the_mirrored_result() -> None:
    segments = [
        {"count": 5, "radius": 2.38e-3},
        {"count": 4, "radius": 3e-3},
        {"count": 3, "radius": 2e-3},
    ]
    chain = {"material": STEEL}
    velocity, displacement = row(b1=1.0, b7=-0.3, b12=-0.5), row(b3=1e-6, b9=-3e-7)
    one = gc.run(
        made(
            chain={**chain, "segment": segments},
            initial={"velocity": velocity, "displacement": displacement},
        )
    )
    turned = {
        "velocity": [-v for v in reversed(velocity)],
        "displacement": [-u for u in reversed(displacement)],
    }
    other = gc.run(made(chain={**chain, "segment": segments[::-1]}, initial=turned))
    assert one.time_step == other.time_step
    assert np.array_equal(one.velocity, -other.velocity[:, ::-1]) and np.array_equal(
        one.displacement, -other.displacement[:, ::-1]
    )


# --- Contacts that open
def pressed(force: float = 30.0) -> State:
    """A chain at rest under a force, as recorded in three samples and two snapshots, 1e-6 s and
    1e-5 s apart."""
    case = made(chain={**BASE["chain"], "precompression": force})
    state = State(*prepare(case)[1::-1], prepare(case)[2], recording_of(case))
    state.clock.sample, state.clock.snapshot = 3, 2
    for values in (state.records.sensor_force, state.records.contact_overlap):
        values[:] = 1e-9
    return state


@pytest.mark.plain
def test_contacts_that_open_are_found_in_samples_and_snapshots() -> None:
    assert opened_contacts(pressed()) == []
    beads = pressed()
    beads.records.sensor_force[2, 1] = 0.0
    (said,) = opened_contacts(beads)
    sample, shot = (
        beads.sample_step[1] * beads.time_step.value,
        beads.records.snapshot_at[1] * beads.time_step.value,
    )
    assert f"first seen at bead 10 at {2.0 * sample:.4g} s" in said
    contacts = pressed()
    contacts.records.contact_overlap[1:, 0] = -1e-9
    assert f"first seen at contact 2 at {sample:.4g} s" in opened_contacts(contacts)[0]
    shots = pressed()
    # contact 4 joins beads 4 and 5
    shots.records.displacement[1, 4:] = 1e-5
    assert f"first seen at contact 4 at {shot:.4g} s" in opened_contacts(shots)[0]
    # what comes first is named; a force of 0 after the last sample that was taken is none
    shots.records.contact_overlap[2, 1] = 0.0
    assert f"first seen at contact 10 at {2.0 * sample:.4g} s" in opened_contacts(shots)[0]
    shots.records.contact_overlap[2, 1], shots.records.contact_overlap[3, 1] = 1e-9, 0.0
    assert "contact 4" in opened_contacts(shots)[0]


@pytest.mark.plain
def test_a_chain_without_load_opens_nothing_and_nor_does_a_striker() -> None:
    free = pressed(0.0)
    free.records.sensor_force[:] = 0.0
    assert opened_contacts(free) == []
    case = made(
        chain={**BASE["chain"], "precompression": 30.0},
        striker={"speed": 1.0},
        sensors={"contacts": [0], "interval": 1e-6},
    )
    chain, contacts, step = prepare(case)
    state = State(contacts, chain, step, recording_of(case))
    state.clock.sample = 3
    # contact 0 is the striker's
    assert opened_contacts(state) == []


@pytest.mark.plain
def test_overlaps_that_are_not_small_beside_the_beads_are_warned_of() -> None:
    state = pressed()
    # 5 % of 2.38 mm is allowed
    state.contacts.reach[3] = 1.18e-4
    assert deep(state.chain, state) == []
    state.contacts.reach[5] = 0.2 * 2.38e-3
    (said,) = deep(state.chain, state)
    assert said.warning and said.text.startswith(
        "contact 5 had an overlap of 0.000476 m, 20 % of the smaller radius"
    )
    # a^2 = R overlap with R = 1.19 mm, half the radius of two equal spheres: sqrt(.5 .2) = .316 of
    # it
    assert "a contact radius of 0.000753 m, 0.32 of it" in said.text
    # there is no contact beyond a free end
    state.contacts.reach[5], state.contacts.reach[BEADS] = 0.0, 1e-3
    assert deep(state.chain, state) == []


@pytest.mark.plain
def test_a_run_says_which_impact_speed_its_law_takes() -> None:
    flores = {"law": "flores", "restitution": 0.6}
    pair = {"materials": ["a", "a"], "impact_speed": 2.5}
    chain = {**BASE["chain"], "material": {**STEEL, "name": "a"}}
    assert impact_speeds(made(contact=flores, striker={"speed": 1.77})) == [
        "impact_speed: 1.77 m/s"
    ]
    assert impact_speeds(
        made(contact={**flores, "pair": [pair]}, chain=chain, striker={"speed": 1.77})
    ) == [
        "impact_speed: 1.77 m/s",
        "impact_speed between a and a: 2.5 m/s",
    ]
    # each onset has its own
    onset = {**flores, "impact_speed": "onset", "impact_speed_floor": 0.1}
    assert impact_speeds(made(contact=onset, striker={"speed": 1.77})) == []
    assert impact_speeds(made(striker={"speed": 1.77})) == []


# --- A run goes on from the state of another
SHORT = 2e-5
DRIVEN = {
    "chain": {"beads": 8, "radius": 2.38e-3, "material": STEEL, "precompression": 20.0},
    "ends": {
        "left": {"drive": "displacement", "signal": "harmonic", "amplitude": 1e-6,
                 "frequency": 4e4, "ramp": 1.5e-5},
        "right": "wall",
    },
}  # fmt: skip
STRUCK = {"chain": {**DRIVEN["chain"], "precompression": 0.0}, "striker": {"speed": 1.77}}
INSIDE = {
    "chain": DRIVEN["chain"],
    "ends": {"left": "wall", "right": "wall"},
    "drive": [
        {"bead": 5, "drive": "displacement", "signal": "harmonic", "amplitude": 1e-6,
         "frequency": 4e4, "ramp": 1.5e-5, "dc": 2e-7},
        {"bead": 2, "drive": "force", "signal": "harmonic", "amplitude": 3.0, "frequency": 5e4},
    ],
}  # fmt: skip


def short(**tables: Any) -> Case:
    return made(
        **{
            "time": {"end": SHORT, "step": 2e-7},
            # as in one run: accelerations under a law without a rate follow the ledger
            "energy": {"interval": 1e-6},
            "sensors": {**BASE["sensors"], "beads": [3], "contacts": [2]},
            **tables,
        }
    )


@pytest.mark.plain
def test_nothing_goes_on_from_a_run_that_has_not_come_to_its_last_step() -> None:
    case = short(**STRUCK)
    chain, contacts, step = prepare(case)
    state = State(contacts, chain, step, recording_of(case))
    assert state.final is None
    state.advance(step.n_steps + 1)
    assert state.final is not None


# Under each law, and from each place, at once; all pairs in the long run.
AT_ONCE = ("hertz-struck", "ma-liu-inside", "tsuji-driven")
PLACES = {"struck": STRUCK, "driven": DRIVEN, "inside": INSIDE}


@pytest.mark.parametrize(
    ("law", "tables"),
    [
        pytest.param(law, tables, id=name, marks=() if name in AT_ONCE else pytest.mark.long)
        for law in ({"law": "hertz"}, MALIU, TSUJI)
        for place, tables in PLACES.items()
        for name in [f"{law['law']}-{place}"]
    ],
)
def test_a_run_from_a_state_gives_the_bits_of_one_without_a_break(
    law: dict[str, Any], tables: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Twice, once through the file: forces, motion, histories, and the state that is left."""
    if tables is not STRUCK:
        request.getfixturevalue("plain_loop")
    case = short(contact=law, **tables)
    first = gc.run(case)
    whole = gc.run(case.replace(**{"time.end": 3 * SHORT}))
    second = gc.run(case.replace(initial=first))
    second.save(tmp_path / "run.h5")
    stored = gc.open_result(tmp_path / "run.h5")
    last = gc.run(case.replace(initial=stored))
    assert last.initial_time == stored.initial_time + SHORT == pytest.approx(2 * SHORT, rel=1e-12)
    assert any("to the bits of one run" in message.text for message in last.messages)
    for name in ("sensor_force", "contact_force", "contact_overlap"):
        parts = [getattr(first, name), *(getattr(one, name)[1:] for one in (second, last))]
        assert np.abs(getattr(whole, name)).max() > 0.0
        assert np.array_equal(np.concatenate(parts), getattr(whole, name)), name
    for name in ("final_displacement", "final_velocity", "largest_overlap", "residual_overlap"):
        assert np.array_equal(getattr(last, name), getattr(whole, name)), name
    assert last.state is not None and whole.state is not None
    for name, values in whole.state.items():
        assert name == "facts" or np.array_equal(last.state[name], values), name
    # its own ledger closes, from what the state holds
    assert last.energy_external[0] == last.energy_residual[0] == 0.0


@pytest.mark.plain
def test_another_step_drive_or_load_continues_the_state() -> None:
    case = short(**DRIVEN)
    first = gc.run(case)
    going = case.replace(initial=first)
    for change, words in (
        ({"time.step": 1e-7}, "time step"),
        ({"ends.left.amplitude": 2e-6}, "left end"),
        ({"ends.right": "rigid"}, "right end"),
        ({"chain.precompression": 30.0, "ends.left": "free"}, "loads, drag or on-site springs"),
        ({"chain.gravity": 9.81, "chain.precompression": 0.0}, "loads, drag or on-site springs"),
    ):
        run = gc.run(going.replace(**change))
        (told_of,) = [message.text for message in run.messages if "goes on" in message.text]
        assert words in told_of and "1e-12" in told_of
        assert run.velocity[0] == pytest.approx(first.final_velocity, rel=1e-12)
        # the stretch between neighbours, over the load's own static start, is that of the state
        assert run.contact_overlap[0] == pytest.approx(first.contact_overlap[-1], rel=1e-12)
        assert abs(run.energy_residual).max() < 1e-2 * run.energy_kinetic.max()
    # the drive goes on in its phase
    run = gc.run(going.replace(**{"time.step": 1e-7}))
    assert run.sensor_force[0] == pytest.approx(first.sensor_force[-1], rel=1e-9)
    auto = case.replace(**{"time.step": "auto"})
    from_auto = gc.run(auto)
    assert gc.run(auto.replace(initial=from_auto)).time_step == from_auto.time_step


@pytest.mark.plain
def test_drives_of_beads_go_on_and_new_ones_begin_where_their_bead_stands() -> None:
    noise = {"bead": 2, "drive": "force", "signal": "noise", "band": [5e4, 9e4], "rms": 3.0,
             "seed": 1, "ramp": 1e-5}  # fmt: skip
    case = short(**{**INSIDE, "drive": [INSIDE["drive"][0], noise]})
    first = gc.run(case)
    going = case.replace(**{"initial": first, "time.end": 3 * SHORT})
    assert "to the bits of one run" in gc.run(going).messages[1].text
    # noise that lasts as long as its run comes again
    once, again = case.driven("drive.1"), going.driven("drive.1")
    n = int(np.searchsorted(once.time, SHORT * (1 - 1e-9)))
    assert np.array_equal(again.value[:n], once.value[:n]) and again.time[-1] > 4 * SHORT
    assert np.array_equal(again.value[2 * n : 3 * n], again.value[n : 2 * n])
    # another drive of the placed bead takes it from where it stands, and the other one goes on
    other = gc.run(going.replace(**{"drive.0.amplitude": 2e-6, "time.end": SHORT}))
    (told_of,) = [one.text for one in other.messages if "goes on" in one.text]
    assert "drives of beads" in told_of
    assert other.displacement[0] == pytest.approx(first.final_displacement, rel=1e-12)
    assert other.sensor_force[0] == pytest.approx(first.sensor_force[-1], rel=1e-9)
    loaded = gc.run(going.replace(**{"chain.precompression": 30.0}))
    assert loaded.contact_overlap[0] == pytest.approx(first.contact_overlap[-1], rel=1e-12)
    free = gc.run(going.replace(drive=None))
    assert free.velocity[0] == pytest.approx(first.final_velocity, rel=1e-12)


def test_a_state_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    case = short(**STRUCK)
    going = case.replace(initial=gc.run(case))
    assert Case(**json.loads(json.dumps(going.resolved()))) == going
    for change in (
        {"chain.radius": 2e-3}, {"chain.beads": 9}, {"chain.gap": 1e-6},
        {"contact": MALIU}, {"initial.velocity": [1.0] * 8},
    ):  # fmt: skip
        with pytest.raises(CaseError, match="initial"):
            going.replace(**change)
    with pytest.raises(CaseError, match=r"striker\.speed: got 2.0 beside a state, allowed 1.77"):
        going.replace(**{"striker.speed": 2.0})
    assert going.initial is not None and going.initial.state is not None
    text = going.initial.state
    for bad in ("none", text[:400], text.replace('"steps":100', '"steps":-1'), text[:-1]):
        with pytest.raises(CaseError, match=r"initial\.state: got no state"):
            case.replace(initial={"state": bad})
    (tmp_path / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert "bad.h5" in told(tmp_path, initial={"file": "bad.h5"})[0]
    failed = gc.run(case)
    failed.state = None
    with pytest.raises(CaseError, match="a result without a state"):
        case.replace(initial=failed)


def test_what_yielded_before_the_start_is_no_loss_of_the_run() -> None:
    result = gc.run(made(contact=MALIU, initial={"displacement": row(b1=5e-6)}))
    assert result.residual_overlap[0] > 0.0 and result.energy_plastic[0] == 0.0
    # the contact that was yielded gives its energy to the others, which lose some of it
    assert (
        result.contact_plastic[0] == pytest.approx(0.0, abs=1e-15)
        and result.contact_plastic[1] > 1e-6
    )
    assert result.contact_plastic.sum() == pytest.approx(result.energy_plastic[-1], rel=1e-9)


@pytest.mark.long
def test_order_two_with_beads_displaced_and_in_motion() -> None:
    initial = {"velocity": row(b1=0.3, b12=-0.5), "displacement": row(b6=2e-6, b1=1e-6)}
    for law in (BASE["contact"], TSUJI):
        case = made(contact=law, initial=initial)
        steps = round(1e-4 / prepare(case)[2].value)
        ends = [
            gc.run(case.replace(**{"time.step": 1e-4 / (steps * finer)})).final_velocity
            for finer in (1, 2, 4)
        ]
        first, second = (float(np.abs(ends[i + 1] - ends[i]).max()) for i in range(2))
        # 4 for order two
        assert 3.5 < first / second < 4.5, law
