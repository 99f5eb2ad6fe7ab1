"""Distribution of energy in a run: the energies of beads and contacts sum to those of the ledger, a
row that moves as a whole stores no elastic energy, and a localised start spreads ballistically."""

import numpy as np
import pytest
from support.shaken import shaken_row

import granchain as gc
from granchain import analysis
from granchain.analysis import moving_energy
from granchain.errors import GranchainError


def row(law, walls="wall", beads=9, history=False, **keys):
    chain = {"beads": beads, "radius": 2.38e-3, "material": "steel-316"}
    case = gc.Case(
        chain=chain | keys.pop("chain", {"precompression": 20.0}), contact=law,
        ends=dict.fromkeys(("left", "right"), "wall" if walls else "free"),
        sensors={"beads": [2], "interval": 1e-6}, energy={"interval": 2e-6},
        snapshots={"interval": 2e-6, "history": history},
        time={"end": keys.pop("end", 1e-4)}, **keys,
    )  # fmt: skip
    return gc.run(case)


HERTZ = {"law": "hertz"}
TSUJI = {"law": "tsuji", "restitution": 0.9}
DENTS = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
STIFF = {"law": "kelvin-voigt", "restitution": 1.0, "stiffness": 1e7}
KICK = {"velocity": [0.3 * (n == 5) for n in range(1, 10)]}
DENTED = {"initial": KICK, "history": True}
STRUCK = {"striker": {"speed": 1.0}, "walls": None, "chain": {}, "history": True}


@pytest.mark.parametrize(
    ("law", "more"),
    [
        (HERTZ, {"initial": KICK}),
        (HERTZ, {"initial": KICK, "walls": None}),
        (TSUJI, {"initial": KICK}),
        pytest.param(DENTS, DENTED, marks=pytest.mark.long),
        (DENTS, STRUCK),
    ],
)
def test_the_energies_of_beads_and_contacts_add_up_to_the_ledgers(law, more, monkeypatch):
    # compiled scans would take longer
    monkeypatch.setattr("granchain.engine.setup.PLAIN_SECONDS", 60.0)
    result = row(law, **more)
    bead, contact = analysis.bead_energy(result), analysis.contact_energy(result)
    known = result.energy_kinetic + result.energy_recoverable - moving_energy(result).static_work
    known = known - result.energy_recoverable[0]
    near = 1e-13 * max(result.energy_recoverable.max(), known.max())
    assert (result.energy_time == result.snapshot_time).all()
    assert np.abs(bead.sum(axis=1) - known).max() <= near
    assert (
        np.abs(0.5 * result.velocity**2 @ result.mass + contact.sum(axis=1) - known).max() <= near
    )
    assert contact.max() > 0.1 * bead.max()
    # half of the energy of a contact belongs to each neighbour
    within = slice(1, -1) if result.contact.size > result.bead.size else slice(None)
    halves = 0.5 * contact[:, within]
    kinetic = 0.5 * result.mass * result.velocity**2
    assert bead[:, 4] == pytest.approx(kinetic[:, 4] + halves[:, 3] + halves[:, 4], abs=near)


def test_a_row_that_moves_as_a_whole_stores_nothing_and_shares_its_energy():
    result = row(HERTZ, walls=None, chain={}, initial={"velocity": [2.0] * 9})
    bead = analysis.bead_energy(result)
    assert not analysis.contact_energy(result).any()
    assert bead == pytest.approx(np.broadcast_to(2.0 * result.mass, bead.shape), rel=1e-12)
    assert analysis.participation(result) == pytest.approx(9.0, rel=1e-12)
    # (n^2 - 1)/12 for n equal parts
    assert analysis.second_moment(result) == pytest.approx(80.0 / 12.0, rel=1e-12)


def test_in_a_linear_chain_a_localised_start_spreads_as_far_as_it_flies():
    n = 101
    kick = {"velocity": [1e-3 * (i == n // 2) for i in range(n)]}
    result = row(STIFF, beads=n, initial=kick, end=1.4e-4)
    moment, time = analysis.second_moment(result), result.snapshot_time
    assert moment[0] == pytest.approx(0.0, abs=1e-6)
    late = time > 4e-5
    slope = np.polyfit(np.log(time[late]), np.log(moment[late]), 1)[0]
    assert slope == pytest.approx(2.0, abs=0.02)
    # energy at the speed c cos(q/2) for equally excited q, in beads: c^2/2 t^2
    speed = np.sqrt(1e7 / result.mass[0])
    assert moment[-1] == pytest.approx(0.5 * (speed * time[-1]) ** 2, rel=0.02)
    assert analysis.participation(result)[0] == pytest.approx(1.0, rel=1e-6)


def test_energies_of_a_run_that_goes_on_are_those_of_one_without_a_break(plain_loop):
    shaken = {"drive": "displacement", "signal": "harmonic", "phase": 1.0, "ramp": 2e-5}
    begun = shaken_row(3, 2e4, 1e-7, 0.0, **{
        "ends.left": shaken | {"amplitude": 1e-7, "frequency": 2e4},
        "time": {"end": 6e-5, "step": 1e-7}, "sensors": {"beads": [2], "interval": 1e-6},
        "snapshots": {"interval": 2e-6}, "energy": {"interval": 2e-6},
    })  # fmt: skip
    whole, first = gc.run(begun.replace(**{"time.end": 1.2e-4})), gc.run(begun)
    for changes in ({}, {"time.step": 5e-8}):
        result = gc.run(begun.replace(initial=first, **changes))
        bead, moving = analysis.bead_energy(result), moving_energy(result)
        held = result.energy_kinetic + result.energy_recoverable - moving.static_work
        known = bead.sum(axis=1) - held
        assert np.ptp(known) <= 1e-14 * result.energy_recoverable.max()
        assert np.abs(held - moving.resting - moving.total).max() <= 2e-2 * np.ptp(held)
        late = analysis.bead_energy(whole)[-len(bead) :]
        assert np.abs(bead - late).max() <= (1e-3 if changes else 1e-12) * late.max()
        assert analysis.participation(result)[-1] == pytest.approx(
            analysis.participation(whole)[-1], rel=1e-3
        )


@pytest.mark.parametrize(
    ("load", "changes"),
    [
        # at rest under 300 N, contacts would have yielded more than they have in this run
        (20.0, {"chain.precompression": 300.0}),
        # the contact with a new wall begins with the dent of its static state, although it is open
        (300.0, {"chain.precompression": 100.0, "ends.right": "rigid"}),
    ],
)
def test_dents_go_on_under_another_load_with_the_ledgers_energies(load, changes, plain_loop):
    first = row(DENTS, end=1e-5, chain={"precompression": load}, **DENTED)
    result = gc.run(first.case.replace(initial=first, **changes))
    held = result.energy_kinetic + result.energy_recoverable - moving_energy(result).static_work
    off = analysis.bead_energy(result).sum(axis=1) - held
    assert np.ptp(off) <= 1e-13 * result.energy_recoverable.max()


def test_energies_that_a_result_does_not_hold_are_refused(plain_loop):
    with pytest.raises(GranchainError, match="Set `history = true` under"):
        analysis.bead_energy(row(DENTS, initial=KICK, end=4e-6))
    with pytest.raises(GranchainError, match=r"a history that snapshots do not store.*keep"):
        analysis.contact_energy(row(DENTS | {"dents": "forget"}, end=4e-6, **DENTED))
    bare = gc.run(row(DENTS, end=4e-6, **DENTED).case.replace(snapshots=None))
    with pytest.raises(GranchainError, match=r"Set `interval` under .snapshots."):
        analysis.second_moment(bare)


def test_the_spectrum_of_a_bead_has_its_variance():
    result = row(HERTZ, initial=KICK, end=1e-3)
    for of, record in (("velocity", result.velocity[:, 1]), ("sensor_force", result.sensor_force)):
        found = analysis.bead_spectrum(result, 2, of, segments=1)
        assert found.measured == of
        power = found.density.sum() * found.frequency[1]
        assert power == pytest.approx(np.var(record), rel=0.2)
    with pytest.raises(GranchainError, match=r"Recorded: .*velocity of 1, 2"):
        analysis.bead_spectrum(result, 3, "sensor_force")
