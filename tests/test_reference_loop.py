"""The compiled loop gives the results of a plain loop without optimisation, for every law, and its
bits do not depend on blocks and records."""

from dataclasses import replace

import numpy as np
import pytest
from support.kinds import alternatives, distinct_laws, each_loop
from support.reference_loop import march
from support.rows import contacts_of, example_chain
from support.running import Running

from granchain.certificates import example_inputs
from granchain.chain import WALL, End
from granchain.contact import laws
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.timestep import time_step_of
from granchain.status import Status

LAWS = laws()
FAMILIES = ["hertz", "ma-liu"]
N_BODIES = 12
# The pulse crosses the row at 734 m/s (Hertz; 12 diameters of 4.76 mm take 78 us) and half of it on
# the way back; for a law with a small step, the number of steps is limited.
DURATION, MOST_STEPS = 120e-6, 800
# With damping by onset speeds, slow onsets require such a small step that the pulse passes five
# contacts later.
DAMPED, SLOW = {("gharib-hurmuzlu", "onset"), ("zhao", "onset")}, 4

CHAINS = {
    "touching": example_chain(N_BODIES),
    # gaps that a bead at 1.77 m/s closes within one or two steps, gaps closed within ten steps, and
    # no gap
    "gaps": example_chain(N_BODIES, gap=np.resize([0.0, 5e-7, 0.0, 4e-6], N_BODIES - 1)),
    "unequal masses": example_chain(
        N_BODIES, mass=0.45e-3 * np.resize([1.0, 0.5, 2.0, 0.25, 1.5], N_BODIES)
    ),
    # 60 N exceed the yield force (2.0 N, at the wall four times that), so that contacts start with
    # a dent, and also the forces at which a law with a jump has no overlap (wang-liu-hysteretic:
    # 2.0 to 8.9 N, at the wall 7.9 to 35.5 N)
    "loaded": example_chain(N_BODIES, precompression=60.0, gravity=9.81, right=End(WALL)),
}


def contacts_and_step(law, chain, **changes):
    contacts = contacts_of(LAWS[law], chain, example_inputs(LAWS[law], **changes))
    step = time_step_of(contacts, chain, "fast", DURATION)
    most = MOST_STEPS * SLOW if (law, changes.get("impact_speed")) in DAMPED else MOST_STEPS
    return contacts, replace(step, n_steps=min(step.n_steps, most))


def advanced(contacts, chain, step, recording, block=10**9, front=None):
    state = State(contacts, chain, step, recording)
    if front is not None:
        state.clock.front = front
    status = Status.RUNNING
    while status is Status.RUNNING:
        status = state.advance(block)
    assert status is Status.COMPLETE
    return state


def reference(contacts, chain, step):
    """Return the same chain for the plain loop: existing contacts, and walls as bodies of infinite
    mass."""
    exists = chain.contact_exists
    overlap = contacts.overlaps - np.r_[0.0, chain.gap, 0.0]

    def with_walls(values, wall):
        return [wall] * int(exists[0]) + values.tolist() + [wall] * int(exists[-1])

    coefficients = [tuple(column) for column in contacts.c[:, exists].T.tolist()]
    return march(
        Running(contacts.model), coefficients, with_walls(chain.mass, np.inf),
        with_walls(chain.velocity, 0.0), overlap[exists].tolist(), with_walls(chain.loads, 0.0),
        step.value, step.n_steps,
    )  # fmt: skip


def settings():
    """Return a law for each loop with every chain, and every alternative of its inputs with the
    chain with gaps. Laws that share a loop, and the alternatives, whose bits are pinned, run in the
    long set."""
    found = []
    for name in sorted({*FAMILIES, "tsuji", *distinct_laws()}):
        for changes in alternatives(LAWS[name]):
            for chain in CHAINS if not changes else ["gaps"]:
                words = [
                    name,
                    chain.replace(" ", "-"),
                    *(f"{key}={value}" for key, value in changes.items()),
                ]
                near = FAMILIES if chain == "loaded" else [*FAMILIES, "tsuji"]
                marks = [] if not changes and name in near else [pytest.mark.long]
                found.append(pytest.param(name, chain, changes, id="-".join(words), marks=marks))
    return found


# The two loops multiply in different orders (dt (1/m) F here, dt F/m there), so that each step can
# differ by several half ulps, 2^-53 = 1.1e-16, of displacements of up to 20 times the largest
# overlap: 1.1e-16 * 20 * sqrt(2000 steps) = 1e-13 of it for random rounding, and a factor of ten
# for the amplification by the chain. The largest difference for all laws and chains was 2e-13.
STATE_TOLERANCE = 1e-12
# A force depends on the overlap with F d ln F/d ln d, 1.5 F for Hertz, and a damping of the order
# of the elastic force depends on the rate: ten times the tolerance of the overlap. The same holds
# for histories. The largest difference was 1e-14.
FORCE_TOLERANCE = 1e-11


@pytest.mark.parametrize(("law", "chain", "changes"), settings())
def test_engine_equals_reference(law, chain, changes, request):
    """Forces of every contact at every step, peaks, and the final state."""
    if (law, chain) == ("ma-liu", "loaded"):  # the compiled loop would only be used here
        request.getfixturevalue("plain_loop")
    row = CHAINS[chain]
    contacts, step = contacts_and_step(law, row, **changes)
    exists, n, first = row.contact_exists, row.n_bodies, int(row.contact_exists[0])
    every_contact = tuple(row.contact_labels[exists].tolist())
    # the loop without ledger for one chain of one law per family, the loop with ledger for the
    # others
    ledger = chain != "touching" or law not in FAMILIES
    state = advanced(
        contacts, row, step, Recording((), every_contact, step.value, None, ledger=ledger)
    )
    course = reference(contacts, row, step)

    forces, history = np.array(course.forces), np.array(course.history).T
    assert (forces.max(axis=0) > 0.0).sum() >= 5, (
        "the pulse has not gone far enough to compare anything"
    )
    scale = course.largest_overlap
    assert abs(state.contacts.largest_overlap.max() - scale) <= STATE_TOLERANCE * scale

    def close(computed, expected, most):
        np.testing.assert_allclose(computed, expected, rtol=0.0, atol=most)

    bodies, ours = slice(first, first + n), slice(1, n + 1)
    close(state.bodies.u[ours], course.displacement[bodies], STATE_TOLERANCE * scale)
    close(state.bodies.v[ours], course.velocity[bodies], STATE_TOLERANCE * row.velocity.max())
    close(state.records.contact_force, forces, FORCE_TOLERANCE * forces.max())
    close(state.contacts.peak[: n + 1][exists], course.peaks, FORCE_TOLERANCE * forces.max())
    for computed, expected in zip(state.h[:, : n + 1][:, exists], history, strict=True):
        close(computed, expected, FORCE_TOLERANCE * np.abs(expected).max())


def bits(state):
    """Return the variables that must not depend on blocks and records. Largest overlaps are only
    updated behind the front, so that those of open contacts count as 0."""
    parts = {name: getattr(state.bodies, name) for name in ("u", "v", "a")}
    parts |= {name: getattr(state.contacts, name) for name in ("force", "peak")} | {"h": state.h}
    parts["reach"] = np.maximum(state.contacts.largest_overlap, 0.0)
    return {name: part.tobytes() for name, part in parts.items()}


@pytest.mark.promise("R2")
@pytest.mark.parametrize("law", each_loop(FAMILIES))
def test_blocks_and_recordings_change_no_bit(law):
    """Blocks of 1, 7 and 1000 steps; samples, snapshots and ledger with odd strides; and a sweep of
    all contacts instead of those behind the front."""
    for chain in ("touching", "gaps"):
        row = CHAINS[chain]
        contacts, step = contacts_and_step(law, row)
        bare = Recording(ledger=False)
        expected = bits(advanced(contacts, row, step, bare))
        for block in (1, 7, 1000):
            assert bits(advanced(contacts, row, step, bare, block)) == expected, (chain, block)
        assert bits(advanced(contacts, row, step, bare, front=row.n_bodies)) == expected, chain
        dt, beads = step.value, tuple(row.body_labels.tolist())
        for recording in (
            Recording(beads, (), dt, None, ledger=False),
            Recording(beads, (0, 3), 7 * dt, 5 * dt, ledger=False),
            Recording(beads, (0, 3), 3 * dt, 11 * dt, ledger=True, energy_interval=13 * dt),
        ):
            assert bits(advanced(contacts, row, step, recording, 10)) == expected, recording


@pytest.mark.promise("R2")
@pytest.mark.parametrize("law", each_loop(FAMILIES))
def test_samples_at_a_stride_are_those_of_every_step_and_a_snapshot_the_end_of_a_shorter_run(law):
    """Bit for bit; a sensor bead shows the mean of its two contacts, where a missing contact counts
    as 0. The velocity of a snapshot, half a kick back from the next half-step or half a kick
    forward from the last one, agrees within rounding."""
    row = CHAINS["gaps"]
    contacts, step = contacts_and_step(law, row)
    dt, beads = step.value, tuple(row.body_labels.tolist())
    joints, half = tuple(row.contact_labels[row.contact_exists].tolist()), step.n_steps // 2
    state = advanced(contacts, row, step, Recording(beads, joints, dt, half * dt, ledger=False))
    sparse = Recording(beads, joints, 7 * dt, None, ledger=False)
    fine, coarse = state.records, advanced(contacts, row, step, sparse, 10).records
    for name in ("sensor_force", "contact_force", "contact_overlap"):
        assert np.array_equal(getattr(coarse, name), getattr(fine, name)[::7]), name
    force = np.pad(fine.contact_force, ((0, 0), (1, 1)))
    assert np.array_equal(fine.sensor_force, 0.5 * (force[:, :-1] + force[:, 1:]))
    shorter = advanced(contacts, row, replace(step, n_steps=half), Recording(ledger=False))
    assert fine.snapshot_at[1] == half
    inside = slice(1, row.n_bodies + 1)
    assert np.array_equal(fine.displacement[1], shorter.bodies.u[inside])
    np.testing.assert_allclose(
        fine.velocity[1], shorter.bodies.v[inside], rtol=0.0, atol=1e-15 * row.velocity.max()
    )
