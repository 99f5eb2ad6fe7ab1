"""Rows of beads for the tests, made with the engine alone, without case files and output files."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from granchain.certificates import example_inputs
from granchain.chain import Chain, End
from granchain.contact import laws
from granchain.contact.examples import EXAMPLE_INPUTS_BY_NAME
from granchain.engine.recording import Recording
from granchain.engine.setup import RowInputs, contacts_together
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.material import MATERIALS
from granchain.status import Status

STEEL = MATERIALS["steel-316"]
# Hardness 2.8 times the yield stress: Kogut & Etsion 2002, doi:10.1115/1.1490373.
HARD_STEEL = replace(STEEL, hardness=2.8 * STEEL.yield_stress)
# Wang, Liu & Liu 2022, table 8 and sec. 5.2, doi:10.1016/j.ijmecsci.2022.107214.
RADIUS, MASS, SPEED = 2.38e-3, 0.45e-3, 1.77
SENSORS = (9, 16, 24, 31, 40, 50, 56, 63)


def contacts_of(law, chain, inputs):
    """Return coefficients, windows, and static start of the contacts of a chain with one law."""
    row = RowInputs(law, chain, chain.pair(), chain.overlap_limits(), inputs)
    return contacts_together([row])[0]


def steel_row(n_bodies, speed=SPEED, **more):
    """Return a striker and n_bodies - 1 equal touching beads at rest; `more` replaces fields."""
    chain = Chain(
        radius=np.full(n_bodies, RADIUS), mass=np.full(n_bodies, MASS), has_striker=True,
        velocity=np.append(speed, np.zeros(n_bodies - 1)), gap=np.zeros(n_bodies - 1),
        material=(STEEL,), material_index=np.zeros(n_bodies, dtype=int),
    )  # fmt: skip
    return replace(chain, **more)


def standing_row(n_bodies, left=None, right=None, **more):
    """Return equal beads at rest, without a striker."""
    return steel_row(
        n_bodies, 0.0, has_striker=False, left=left or End(), right=right or End(), **more
    )


def example_chain(n_bodies, **more):
    """Return a struck chain of the beads of the example inputs, of a material with a hardness."""
    return steel_row(
        n_bodies, EXAMPLE_INPUTS_BY_NAME["impact_speed"], **({"material": (HARD_STEEL,)} | more)
    )


def inputs_for(law_name, **given):
    """Return a value for each input of a law: the given one, the published example, or the
    default."""
    # a restitution from another law
    taken = {name: value for name, value in given.items() if isinstance(value, Mapping)}
    numbers = {name: value for name, value in given.items() if name not in taken}
    return SimpleNamespace(**{**vars(example_inputs(laws()[law_name], **numbers)), **taken})


def run_row(
    chain, law_name, end, step="auto", refine=1.0, recording=None, force_step=False, **given
):
    """Run a row to its end and return the state; `refine` divides the step."""
    contacts = contacts_of(laws()[law_name], chain, inputs_for(law_name, **given))
    chosen = time_step_of(contacts, chain, step, end, force_step)
    n_steps = max(1, round(chosen.n_steps * refine))
    chosen = TimeStep(
        end / n_steps if refine != 1.0 else chosen.value, n_steps, chosen.limit, chosen.reason
    )
    state = State(contacts, chain, chosen, recording or Recording())
    status = state.advance(n_steps + 1)
    assert status is Status.COMPLETE, status
    return state


def velocities(state):
    """Return the velocities of the bodies at the end [m/s]."""
    return state.bodies.v[1 : state.chain.n_bodies + 1]


def ledger_residual(state):
    """Return the largest residual divided by the kinetic energy at the start plus the external
    work."""
    energies = state.energies
    held = energies.kinetic + energies.recoverable
    held += energies.plastic + energies.viscous + energies.clamp
    residual = held - energies.external - held[0]
    scale = energies.kinetic[0] + np.abs(energies.external).max()
    return float(np.abs(residual).max() / scale)
