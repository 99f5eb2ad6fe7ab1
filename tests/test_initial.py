"""Beads that move or are displaced at the start: cases, energies, and runs."""

import json
import pickle

import numpy as np
import pytest
from support.kinds import PLAIN_ALONE
from support.refused import refused, sentences_of

import granchain as gc
from granchain.analysis import summary
from granchain.case import Case, case_as_given
from granchain.contact.hertz import Hertz
from granchain.engine.state import State
from granchain.errors import CaseError
from granchain.simulation import deep, impact_speeds, opened_contacts, prepare, recording_of

BEADS = 12
STEEL = {"youngs_modulus": 193e9, "poissons_ratio": 0.3, "density": 7968.8, "yield_stress": 9e8}
BASE = {
    "chain": {"beads": BEADS, "radius": 2.38e-3, "material": STEEL},
    "contact": {"law": "hertz"},
    "sensors": {"beads": [3, 10], "contacts": [2, 10], "interval": 1e-6},
    "snapshots": {"interval": 1e-5},
    "time": {"end": 1e-4},
}
MALIU = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
TSUJI = {"law": "tsuji", "restitution": 0.6}
FLORES = {"law": "flores", "restitution": 0.6}


def row(**values):
    """Return a number for each bead: b3=1.0 is the number of bead 3, and the other beads have 0."""
    return [values.get(f"b{bead}", 0.0) for bead in range(1, BEADS + 1)]


def made(**tables):
    return Case(**{**BASE, **tables})


def told(folder=None, **tables):
    context = {"folder": folder}
    return sentences_of(Case.model_validate, {**BASE, **tables}, context=context)


# --- Cases
@pytest.mark.plain
def test_velocities_come_from_lists_segments_and_files(tmp_path):
    speeds = row(b1=1.0, b12=-2.0)
    given = made(initial={"velocity": speeds, "displacement": row(b2=1e-6)})
    assert given.bodies()["speed"].tolist() == speeds
    assert given.bodies()["displacement"].tolist() == row(b2=1e-6)
    rows = "bead, velocity,displacement\n\n12,-2.0,0\n1,1,0\n2,0,1e-6\n"
    (tmp_path / "some.csv").write_text(rows)
    (tmp_path / "all.csv").write_text("velocity\n" + "\n".join(map(str, speeds)) + "\n")
    (tmp_path / "case.toml").write_text(
        '[chain]\nbeads = 12\nradius = 2.38e-3\nmaterial = "steel-316"\n[contact]\nlaw = "hertz"\n'
        '[time]\nend = 1e-4\n[initial]\nfile = "some.csv"\n'
    )
    some = gc.load_case(tmp_path / "case.toml")
    assert some.initial == given.initial and Case(**json.loads(json.dumps(some.resolved()))) == some
    every = gc.load_case(tmp_path / "case.toml", ["initial.file=all.csv"]).initial
    assert (every.velocity, every.displacement) == (given.initial.velocity, None)
    # the case contains the numbers of the file; if the file is named again, it is read again
    with pytest.raises(CaseError, match=r"initial\.velocity: the list has 12 numbers"):
        some.replace(**{"chain.beads": 13})
    longer = some.replace(**{"chain.beads": 13, "initial.file": "some.csv"})
    assert longer.bodies()["speed"].tolist() == [*speeds, 0.0]
    assert some.replace(title="kept").initial == some.initial
    segments = [
        {"count": 3, "velocity": 2.0},
        {"count": 1, "repeat": 2},
        {"count": 1, "displacement": 1e-6},
    ]
    chain = {**BASE["chain"], "beads": None, "segment": segments}
    released = made(chain=chain, sensors={}, striker={"speed": 0.5})
    assert released.bodies()["speed"].tolist() == [0.5, *[2.0, 2.0, 2.0, 0.0] * 2, 0.0]
    assert released.bodies()["displacement"].tolist() == [0.0] * 9 + [1e-6]
    assert Case(**released.resolved()) == released and not released.begins_with_striker


@pytest.mark.plain
def test_a_mistake_is_told(tmp_path):
    of_files = []
    for number, (text, said) in enumerate(refused("file of an initial state").items()):
        (tmp_path / f"{number}.csv").write_text(text)
        of_files.append(({"file": f"{number}.csv"}, f'.file: "{number}.csv"{said}'))
    for initial, sentence in refused("initial state") + of_files:
        (said,) = told(tmp_path, initial=initial)
        assert said.startswith(f"initial{sentence}")
    pressed = "^initial.displacement: the initial overlap of contact 1, 0.006 m, is out of range"
    with pytest.raises(CaseError, match=pressed):
        prepare(made(initial={"displacement": row(b1=6e-3)}))


@pytest.mark.plain
def test_without_a_striker_the_impact_speed_is_that_at_which_neighbours_close():
    # closing speeds of two beads, and of a bead and a wall
    for still in ({}, {"initial": {"velocity": row(b12=2.0)}}):
        assert '"striker" requires a striker.' in told(contact=FLORES, **still)[0]
    for speeds, more, speed in (
        (row(b1=1.0, b2=-0.5, b12=2.0), {}, 1.5),
        (row(b1=-3.0), {"ends": {"left": "wall"}}, 3.0),
        (row(b12=2.5), {"ends": {"right": "wall"}}, 2.5),
        # with a striker, "striker" is the speed of the striker
        (row(b12=-2.0), {"striker": {"speed": 0.7}}, 0.7),
    ):
        closing = made(contact=FLORES, initial={"velocity": speeds}, **more)
        assert closing.law_inputs().impact_speed == speed
    pairs = [{"materials": ["steel-316", "steel-316"], "impact_speed": "striker"}]
    closing = made(
        chain={**BASE["chain"], "material": "steel-316"},
        contact={**FLORES, "impact_speed": 1.0, "pair": pairs},
        initial={"velocity": row(b1=4.0)},
    )
    assert closing.pair_inputs()[0][1].impact_speed == 4.0


# --- The start of a run
@pytest.mark.plain
def test_the_step_is_that_of_all_that_moves_and_of_what_displaced_beads_have_stored():
    moving, struck, both = (
        prepare(made(initial={"velocity": row(**speeds)}))[2].value
        for speeds in ({"b12": -1.0}, {"b1": 1.0}, {"b1": 1.0, "b12": -1.0})
    )
    assert moving == struck > both
    # Hertz: U = (2/5) K d^2.5 of one contact; if another contact takes all of it, its overlap is 1
    # um, too
    pressed = made(initial={"displacement": row(**{f"b{i}": 1e-6 for i in range(1, 6)})})
    state = begun(pressed)
    assert state.time_step.reason.endswith("overlap up to 1e-06 m")
    assert state.clock.front == 5 and state.bodies.u[1:7].tolist() == [1e-6] * 5 + [0.0]
    assert state.c.shape[0] == len(Hertz.coefficients)


@pytest.mark.plain
def test_a_displaced_contact_begins_yielded_and_one_that_is_opened_keeps_its_static_dent():
    deep = made(contact=MALIU, initial={"displacement": row(b1=5e-6)})
    dents = prepare(deep)[1].history[1]
    assert dents[1] > 0.0 and not dents[2:].any()
    # 50 N exceed the yield force of this contact; then bead 1 is moved 10 um away
    loaded, drawn = {**BASE["chain"], "precompression": 50.0}, {"displacement": row(b1=-1e-5)}
    held, apart = (
        prepare(made(chain=loaded, contact=MALIU, **more))[1].history[1, 1]
        for more in ({}, {"initial": drawn})
    )
    assert apart == held > 0.0
    # in the history of a dashpot with onset speeds, a contact that is closed at the start is
    # closed, and one that is moved apart is open
    onset = {**FLORES, "impact_speed": "onset", "impact_speed_floor": 1e-3}
    closed = prepare(made(chain=loaded, contact=onset, initial=drawn))[1].history[1]
    assert closed[1] == 0.0 and closed[2] == 1.0


# --- Runs
def test_two_pulses_that_meet_are_mirror_images_and_their_ledger_closes():
    for law in (BASE["contact"], MALIU, TSUJI):
        start = {"velocity": row(b1=1.0, b12=-1.0), "displacement": row(b3=1e-6, b10=-1e-6)}
        result = gc.run(made(contact=law, initial=start))
        assert np.abs(result.velocity[-1]).max() > 0.1, law
        assert np.array_equal(result.displacement, -result.displacement[:, ::-1]), law
        assert np.array_equal(result.velocity, -result.velocity[:, ::-1]), law
        assert np.array_equal(result.sensor_force[:, 0], result.sensor_force[:, 1]), law
        # the pulses meet in the middle
        assert result.contact_peak_force[5] > 1.2 * result.contact_peak_force[3], law
        # docs/explanation: bound for the automatic step
        assert summary(result).energy.largest_residual < 2.5e-5


def test_momentum_and_energy_of_what_moves_at_the_start_are_kept():
    unlike = made(initial={"velocity": row(b1=1.0, b6=0.5, b12=-0.4), "displacement": row(b4=2e-6)})
    result = gc.run(unlike)
    momentum = (result.mass * result.velocity).sum(axis=1)
    given = float((result.mass * unlike.bodies()["speed"]).sum())
    # apart from rounding: 1e-16 for each step and bead
    assert np.abs(momentum - given).max() < 1e-12 * given
    # kinetic: m v^2/2; elastic: 2 um at one contact, (2/5) K d^2.5 of Hertz's law
    stiffness, squares = float(prepare(unlike)[1].c[0, 4]), 1.0 + 0.25 + 0.16
    kinetic, elastic = 0.5 * result.mass[0] * squares, 0.4 * stiffness * 2e-6**2.5
    assert result.energy_kinetic[0] == pytest.approx(kinetic, rel=1e-12)
    assert result.energy_recoverable[0] == pytest.approx(elastic, rel=1e-9)
    assert summary(result).energy.largest_residual < 2.5e-5


# --- Contacts that open
def begun(case):
    """Return the state of a case at its start."""
    chain, contacts, step = prepare(case)
    return State(contacts, chain, step, recording_of(case))


def pressed(force=30.0):
    """Return the state of a chain at rest under a force, with three samples 1e-6 s apart and two
    snapshots 1e-5 s apart."""
    state = begun(made(chain={**BASE["chain"], "precompression": force}))
    state.clock.sample, state.clock.snapshot = 3, 2
    for values in (state.records.sensor_force, state.records.contact_overlap):
        values[:] = 1e-9
    return state


@pytest.mark.plain
def test_contacts_that_open_are_found_in_samples_and_snapshots():
    beads, contacts, shots, free = pressed(), pressed(), pressed(), pressed(0.0)
    step = beads.time_step.value
    sample, shot = beads.sample_step[1] * step, beads.records.snapshot_at[1] * step
    assert opened_contacts(beads) == []
    beads.records.sensor_force[2, 1] = 0.0
    contacts.records.contact_overlap[1:, 0] = -1e-9
    # contact 4 joins beads 4 and 5
    shots.records.displacement[1, 4:] = 1e-5
    for state, where, when in (
        (beads, "bead 10", 2.0 * sample),
        (contacts, "contact 2", sample),
        (shots, "contact 4", shot),
    ):
        (said,) = opened_contacts(state)
        assert f"first at {where} at {when:.4g} s" in said
    # the message names the earliest; a force of 0 after the last recorded sample does not count
    shots.records.contact_overlap[2, 1] = 0.0
    assert f"first at contact 10 at {2.0 * sample:.4g} s" in opened_contacts(shots)[0]
    shots.records.contact_overlap[2, 1], shots.records.contact_overlap[3, 1] = 1e-9, 0.0
    assert "contact 4" in opened_contacts(shots)[0]
    # no message without a load, or if contact 0 is that of the striker
    free.records.sensor_force[:] = 0.0
    chain, sensors = {**BASE["chain"], "precompression": 30.0}, {"contacts": [0], "interval": 1e-6}
    struck = begun(made(chain=chain, striker={"speed": 1.0}, sensors=sensors))
    struck.clock.sample = 3
    assert opened_contacts(free) == opened_contacts(struck) == []


@pytest.mark.plain
def test_overlaps_that_are_not_small_beside_the_beads_are_warned_of():
    state = pressed()
    # an overlap of 5 % of 2.38 mm is allowed
    state.contacts.largest_overlap[3] = 1.18e-4
    assert deep(state.chain, state) == []
    state.contacts.largest_overlap[5] = 0.2 * 2.38e-3
    (said,) = deep(state.chain, state)
    words = "contact 5 had an overlap of 0.000476 m, 20 % of the smaller radius"
    assert said.warning and said.text.startswith(words)
    # a^2 = R overlap, with R = 1.19 mm, half the radius of equal spheres: a is sqrt(.5 .2) = .316
    # of the radius
    assert "the contact radius was 0.000753 m, 0.32 of the smaller radius" in said.text
    # beyond a free end there is no contact
    state.contacts.largest_overlap[5], state.contacts.largest_overlap[BEADS] = 0.0, 1e-3
    assert deep(state.chain, state) == []


@pytest.mark.plain
def test_a_run_says_which_impact_speed_its_law_takes():
    pair = {"materials": ["a", "a"], "impact_speed": 2.5}
    chain = {**BASE["chain"], "material": {**STEEL, "name": "a"}}
    # the impact speed of each onset is different
    onset = {**FLORES, "impact_speed": "onset", "impact_speed_floor": 0.1}
    one, of_pair = "impact_speed: 1.77 m/s", "impact_speed between a and a: 2.5 m/s"
    for tables, said in (
        ({"contact": FLORES}, [one]),
        ({"contact": {**FLORES, "pair": [pair]}, "chain": chain}, [one, of_pair]),
        ({"contact": onset}, []),
        ({}, []),
    ):
        assert impact_speeds(made(striker={"speed": 1.77}, **tables)) == said


# --- Runs that continue from the final state of another run
SHORT = 2e-5
HARMONIC = {"signal": "harmonic", "amplitude": 1e-6, "frequency": 4e4, "ramp": 1.5e-5}
DRIVEN = {
    "chain": {"beads": 8, "radius": 2.38e-3, "material": STEEL, "precompression": 20.0},
    "ends": {"left": {"drive": "displacement", **HARMONIC}, "right": "wall"},
}
STRUCK = {"chain": {**DRIVEN["chain"], "precompression": 0.0}, "striker": {"speed": 1.77}}
INSIDE = {
    "chain": DRIVEN["chain"],
    "ends": {"left": "wall", "right": "wall"},
    "drive": [
        {"bead": 5, "drive": "displacement", **HARMONIC, "dc": 2e-7},
        {"bead": 2, "drive": "force", "signal": "harmonic", "amplitude": 3.0, "frequency": 5e4},
    ],
}


def short(**tables):
    return made(
        **{
            "time": {"end": SHORT, "step": 2e-7},
            # as in one run, because accelerations without a rate are computed after the ledger
            "energy": {"interval": 1e-6},
            "sensors": {**BASE["sensors"], "beads": [3], "contacts": [2]},
            **tables,
        }
    )


@pytest.mark.plain
def test_nothing_goes_on_from_a_run_that_has_not_come_to_its_last_step():
    state = begun(short(**STRUCK))
    assert state.final is None
    state.advance(state.time_step.n_steps + 1)
    assert state.final is not None


PLACES = {"struck": STRUCK, "driven": DRIVEN, "inside": INSIDE}
LAWS = {"hertz": {"law": "hertz"}, "ma-liu": MALIU, "tsuji": TSUJI}
# Each law and each place in the short run; all combinations in the long run.
AT_ONCE = [("hertz", "struck"), ("ma-liu", "inside"), ("tsuji", "driven")]
LATER = [(law, place) for law in LAWS for place in PLACES if (law, place) not in AT_ONCE]


@pytest.mark.parametrize(
    ("law", "place"), AT_ONCE + [pytest.param(*both, marks=pytest.mark.long) for both in LATER]
)
def test_a_run_from_a_state_gives_the_bits_of_one_without_a_break(law, place, tmp_path, request):
    """Two continuations, one of them from a file: forces, motion, histories, and the final
    state."""
    if place != "struck":
        request.getfixturevalue("plain_loop")
    case = short(contact=LAWS[law], **PLACES[place])
    first = gc.run(case)
    whole = gc.run(case.replace(**{"time.end": 3 * SHORT}))
    second = gc.run(case.replace(initial=first))
    second.save(tmp_path / "run.h5")
    stored = gc.open(tmp_path / "run.h5")
    last = gc.run(case.replace(initial=stored))
    assert last.initial_time == stored.initial_time + SHORT == pytest.approx(2 * SHORT, rel=1e-12)
    assert any("are bit-identical to one" in message.text for message in last.messages)
    for name in ("sensor_force", "contact_force", "contact_overlap"):
        parts = [getattr(first, name), *(getattr(one, name)[1:] for one in (second, last))]
        assert np.abs(getattr(whole, name)).max() > 0.0
        assert np.array_equal(np.concatenate(parts), getattr(whole, name)), name
    for name in ("final_displacement", "final_velocity", "largest_overlap", "residual_overlap"):
        assert np.array_equal(getattr(last, name), getattr(whole, name)), name
    assert last.state is not None and whole.state is not None
    for name, values in whole.state.items():
        assert name == "facts" or np.array_equal(last.state[name], values), name
    # the ledger of the continued run is closed, with the energies of the initial state
    assert last.energy_external[0] == last.energy_residual[0] == 0.0


@PLAIN_ALONE
@pytest.mark.plain
def test_another_step_drive_or_load_continues_the_state():
    case = short(**DRIVEN)
    first = gc.run(case)
    going = case.replace(initial=first)
    loads = "loads, drag or on-site springs"
    for change, words in (
        ({"time.step": 1e-7}, "time step"),
        ({"ends.left.amplitude": 2e-6}, "left end"),
        ({"ends.right": "rigid"}, "right end"),
        ({"chain.precompression": 30.0, "ends.left": "free"}, loads),
        ({"chain.gravity": 9.81, "chain.precompression": 0.0}, loads),
    ):
        run = gc.run(going.replace(**change))
        (told_of,) = [message.text for message in run.messages if "resumed from" in message.text]
        assert words in told_of and "1e-12" in told_of
        # the only one of these changes that changes a load between two walls
        assert ("The right wall moves by" in told_of) == ("chain.gravity" in change)
        assert run.velocity[0] == pytest.approx(first.final_velocity, rel=1e-12)
        # the overlap of the static start plus the relative displacement of the neighbours in the
        # state
        assert run.contact_overlap[0] == pytest.approx(first.contact_overlap[-1], rel=1e-12)
        assert abs(run.energy_residual).max() < 1e-2 * run.energy_kinetic.max()
        if words == "time step":
            # the drive continues with its phase
            assert run.sensor_force[0] == pytest.approx(first.sensor_force[-1], rel=1e-9)
    auto = case.replace(**{"time.step": "auto"})
    from_auto = gc.run(auto)
    assert gc.run(auto.replace(initial=from_auto)).time_step == from_auto.time_step


@PLAIN_ALONE
@pytest.mark.plain
def test_drives_of_beads_go_on_and_new_ones_begin_where_their_bead_stands():
    noise = {"signal": "noise", "band": [5e4, 9e4], "rms": 3.0, "seed": 1, "ramp": 1e-5}
    drives = [INSIDE["drive"][0], {"bead": 2, "drive": "force", **noise}]
    case = short(**{**INSIDE, "drive": drives})
    first = gc.run(case)
    going = case.replace(**{"initial": first, "time.end": 3 * SHORT})
    assert "are bit-identical to one" in gc.run(going).messages[1].text
    # noise is periodic if the run is longer than the noise
    once, again = case.driven("drive.1"), going.driven("drive.1")
    n = int(np.searchsorted(once.time, SHORT * (1 - 1e-9)))
    assert np.array_equal(again.value[:n], once.value[:n]) and again.time[-1] > 4 * SHORT
    assert np.array_equal(again.value[2 * n : 3 * n], again.value[n : 2 * n])
    # another drive of the placed bead starts at the position of the bead, and the other drive
    # continues
    other = gc.run(going.replace(**{"drive.0.amplitude": 2e-6, "time.end": SHORT}))
    (told_of,) = [one.text for one in other.messages if "resumed from" in one.text]
    assert "drives of beads" in told_of
    assert other.displacement[0] == pytest.approx(first.final_displacement, rel=1e-12)
    assert other.sensor_force[0] == pytest.approx(first.sensor_force[-1], rel=1e-9)
    loaded = gc.run(going.replace(**{"chain.precompression": 30.0}))
    assert loaded.contact_overlap[0] == pytest.approx(first.contact_overlap[-1], rel=1e-12)
    free = gc.run(going.replace(drive=None))
    assert free.velocity[0] == pytest.approx(first.final_velocity, rel=1e-12)


def test_a_state_that_does_not_fit_is_refused(tmp_path):
    case = short(**STRUCK)
    first = gc.run(case)
    going = case.replace(initial=first)
    for again in (
        case_as_given(json.loads(json.dumps(going.as_given()))),
        pickle.loads(pickle.dumps(going)),
    ):
        assert again == going and gc.run(again).equals(gc.run(going))
    with pytest.raises(CaseError, match=r"initial\.state: .* it is missing.*file = \"run\.h5\""):
        Case(**going.resolved())
    for key, value, words in (
        ("chain.radius", 2e-3, "initial"),
        ("chain.beads", 9, "initial"),
        ("chain.gap", 1e-6, "initial"),
        ("contact", MALIU, "initial"),
        ("initial.velocity", [1.0] * 8, "initial"),
        (
            "striker.speed",
            2.0,
            r"striker\.speed: 2.0 differs from the run that wrote the state\. It must be 1.77,",
        ),
    ):
        with pytest.raises(CaseError, match=words):
            going.replace(**{key: value})
    text = going.as_given()["state"]
    for bad in ("none", text[:400], text.replace('"steps":100', '"steps":-1'), text[:-1]):
        with pytest.raises(CaseError, match=r"initial\.state: the state cannot be used"):
            case.replace(initial={"state": bad})
    (tmp_path / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert "bad.h5" in told(tmp_path, initial={"file": "bad.h5"})[0]
    first._state = None
    with pytest.raises(CaseError, match="the result has no final state"):
        case.replace(initial=first)


def test_what_yielded_before_the_start_is_no_loss_of_the_run(plain_loop):
    result = gc.run(made(contact=MALIU, initial={"displacement": row(b1=5e-6)}))
    assert result.residual_overlap[0] > 0.0 and result.energy_plastic[0] == 0.0
    # the contact that yielded at the start transfers its energy to the other contacts, which
    # dissipate some of it
    lost = result.contact_plastic
    assert lost[0] == pytest.approx(0.0, abs=1e-15) and lost[1] > 1e-6
    assert lost.sum() == pytest.approx(result.energy_plastic[-1], rel=1e-9)
