"""Driven beads: a displacement or a force on any bead, several at once.

The tests check the emitted waves, the energies, and the allowed cases."""

import numpy as np
import pytest
from support.refused import assert_refused, refused
from support.rows import contacts_of, inputs_for, ledger_residual, run_row, standing_row

import granchain as gc
from granchain.case import Case
from granchain.chain import End
from granchain.contact import laws
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep
from granchain.errors import CaseError
from granchain.simulation import prepare

WALL = End("wall")
HARMONIC = {"signal": "harmonic", "frequency": 2e4}
BASE = {
    "chain": {"beads": 7, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0},
    "ends": {"left": "wall", "right": "wall"},
    "contact": {"law": "hertz"},
    "time": {"end": 1e-4},
}
PLACED = {"bead": 4, "drive": "displacement", "amplitude": 1e-7, "ramp": 5e-5, **HARMONIC}
PUSHED = {"bead": 2, "drive": "force", "amplitude": 2.0, **HARMONIC}


def made(*drives, **tables):
    return Case(**{**BASE, "drive": list(drives), **tables})


@pytest.mark.plain
@pytest.mark.usefixtures("plain_loop")
def test_each_drive_gives_its_work_and_what_drag_takes_of_a_placed_bead(tmp_path):
    """The case has drag, gravity, and a constant part; test_all_at_once.py shows order two for
    it."""
    case = made(
        {**PLACED, "dc": 2e-8},
        PUSHED,
        {**PUSHED, "bead": 6, "amplitude": -1.0, "dc": -3.0, "phase": 0.5},
        contact={"law": "tsuji", "restitution": 0.8},
        chain={**BASE["chain"], "drag": 2e3, "gravity": 9.81},
        snapshots={"interval": 1e-6}, energy={"interval": 1e-6},
    )  # fmt: skip
    result = gc.run(case.replace(**{"time.step": 1e-4 / 400}))
    # the energy that the drag of the driven bead takes is part of the energy of drag
    assert result.energy_drives[0] == 0.0 and result.energy_elements_viscous[-1] > 0.0
    assert result.final_displacement[3] == pytest.approx(2e-8)
    assert abs(result.energy_residual).max() < 5e-4 * result.energy_external[-1]
    # the work of each drive: for a force, the integral of its power
    assert result.drive_bead.tolist() == [4, 2, 6]
    assert result.drive_work.sum(axis=1) == pytest.approx(result.energy_drives, rel=0, abs=1e-15)
    t = np.asarray(result.snapshot_time)
    for drive, bead, force in (
        (1, 2, 2.0 * np.sin(2e4 * 2.0 * np.pi * t)),
        (2, 6, -np.sin(2e4 * 2.0 * np.pi * t + 0.5) - 3.0),
    ):
        power = force * result.velocity[:, bead - 1]
        work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(t))])
        assert result.drive_work[:, drive] == pytest.approx(work, abs=1e-2 * abs(work).max())
    result.save(tmp_path / "run.h5")
    assert gc.open(tmp_path / "run.h5").equals(result)


@pytest.mark.plain
@pytest.mark.usefixtures("plain_loop")
def test_a_bead_that_begins_and_stops_at_speed_between_two_steps_keeps_the_balance():
    # at rest, then 0.1 m/s, then at rest; both changes are between two steps
    for first, last in ((11.7, 61.3), (13.1, 99.9)):
        time = np.array([first, last]) * 1e-7
        push = End("displacement", None, time, np.array([0.0, 0.1 * (time[1] - time[0])]))
        row = standing_row(4, WALL, WALL, precompression=20.0, driven=((1, push), (2, push)))
        coarse, fine = (
            ledger_residual(
                run_row(row, "tsuji", 1e-5, 1e-5 / n, recording=Recording(energy_interval=1e-6))
            )
            for n in (50, 400)
        )
        assert coarse < 5e-4
        assert fine < 5e-6


@pytest.mark.plain
def test_beads_ahead_of_what_is_driven_are_at_rest_until_the_wave_comes():
    push = End("force", None, np.array([0.0, 1.0]), np.array([5.0, 5.0]))
    row = standing_row(9, driven=((4, push),))
    assert row.at_rest_ahead == 4 and standing_row(9).at_rest_ahead == -1
    contacts = contacts_of(laws()["hertz"], row, inputs_for("hertz"))
    state = State(contacts, row, TimeStep(1e-7, 50, 1.0, ""), Recording())
    assert state.clock.front == 5


@pytest.mark.plain
def test_drives_are_part_of_the_case_and_nothing_where_there_are_none():
    case = made(PLACED, {"bead": 2, "drive": "force", "time": [0.0, 1.0], "value": [0.0, 1.0]})
    assert list(case.drives) == ["drive.0", "drive.1"] and made().resolved()["drive"] == []
    assert Case(**case.resolved()) == case != made(PLACED)
    assert case.replace(**{"drive.0.amplitude": 2e-7}).driven("drive.0").value.max() > 1e-7
    placed = [(body, end.kind) for body, _, end in prepare(case)[0].drives]
    assert placed == [(4, "displacement"), (2, "force")]
    assert made().sha256 == Case(**BASE).sha256
    with pytest.raises(CaseError, match=r"drive\.2: drive not found\. .* are drive\.0, drive\.1\."):
        case.driven("drive.2")


@pytest.mark.plain
def test_a_mistake_in_a_drive_is_told():
    rows = refused("drive of a bead")
    assert_refused(lambda drives, tables: made(*drives, **tables), rows)


@pytest.mark.plain
def test_a_constant_part_rises_with_the_ramp_and_is_added_to_the_signal():
    case = made({**PLACED, "dc": 3e-8})
    with_dc, without = (
        one.driven("drive.0") for one in (case, case.replace(**{"drive.0.dc": None}))
    )
    more, t = with_dc.value - without.value, np.asarray(with_dc.time)
    x = np.clip(t / 5e-5, 0.0, 1.0)
    assert more == pytest.approx(3e-8 * x**4 * (35 - 84 * x + 70 * x**2 - 20 * x**3), abs=1e-21)
    assert with_dc.slope is not None and without.slope is not None
    assert np.diff(more) == pytest.approx(
        np.diff(t) * (with_dc.slope - without.slope)[:-1], abs=2e-10
    )
    ended = {**PUSHED, "dc": 1.0, "ramp": 1e-5, "duration": 5e-5}
    assert made(ended).driven("drive.0").value[-1] == 0.0
    noise = {"signal": "noise", "band": [1e4, 5e4], "rms": 1.0, "seed": 3, "ramp": 1e-5}
    one, other = (
        made({"bead": 1, "drive": "force", **noise, **more}).driven("drive.0").value
        for more in ({}, {"dc": 2.0})
    )
    assert (other - one)[-1] == pytest.approx(2.0)
