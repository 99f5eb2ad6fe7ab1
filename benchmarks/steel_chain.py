"""The chain of all benchmarks: 70 touching steel beads and a striker, up to the peak force at bead
63."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from racing import Answer, Contender, small

from granchain.chain import Chain
from granchain.contact import laws
from granchain.engine.recording import Recording
from granchain.engine.setup import Contacts, RowInputs, contacts_together
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.material import MATERIALS

# Wang, Liu & Liu 2022, table 8 and section 5.2, doi:10.1016/j.ijmecsci.2022.107214: 70 beads and
# the striker, and the positions of the sensors.
N_BODIES = 71
RADIUS, MASS, SPEED = 2.38e-3, 0.45e-3, 1.77
SENSORS = (9, 16, 24, 31, 40, 50, 56, 63)
# Inputs of the paper; all other inputs have the law's defaults.
INPUTS = {"psi": 2.84, "xi": 13.0, "restitution": 0.65, "impact_speed": SPEED}
# Long enough for the pulse to pass bead 63: 0.30 m at the 734 m/s of Hertz is 0.41 ms, and every
# dissipative law is slower.
END = 0.8e-3

BARE = Recording(ledger=False)

# Number of steps of a run that only checks that everything works.
SMALL_STEPS = 1000


@dataclass(frozen=True)
class Run:
    """The chain with one law, up to a step."""

    law: str
    chain: Chain
    contacts: Contacts
    step: TimeStep

    @property
    def bead_steps(self) -> int:
        """Bodies times steps."""
        return self.chain.n_bodies * self.step.n_steps


def steel_chain(n_bodies: int = N_BODIES) -> Chain:
    """Return touching steel beads and a striker."""
    return Chain(
        radius=np.full(n_bodies, RADIUS),
        mass=np.full(n_bodies, MASS),
        velocity=np.r_[SPEED, np.zeros(n_bodies - 1)],
        material=(MATERIALS["steel-316"],),
        material_index=np.zeros(n_bodies, dtype=int),
        gap=np.zeros(n_bodies - 1),
        has_striker=True,
    )


def run_of(
    law: str, chain: Chain, inputs: Any = None, end: float = END, step: str | float = "auto"
) -> Run:
    """Return the run of a law up to a time [s]."""
    if inputs is None:
        inputs = SimpleNamespace(
            **{
                quantity.name: INPUTS.get(quantity.name, quantity.default)
                for quantity in laws()[law].inputs
            }
        )
    row = RowInputs(laws()[law], chain, chain.pair(), chain.overlap_limits(), inputs)
    (contacts,) = contacts_together([row])
    return Run(law, chain, contacts, time_step_of(contacts, chain, step, end))


def run_to_bead_63(law: str, inputs: Any = None) -> Run:
    """Return the run of a law up to the step of the largest force at the last sensor."""
    run = run_of(law, steel_chain(), inputs)
    state = State(
        run.contacts,
        run.chain,
        run.step,
        Recording((SENSORS[-1],), (), run.step.value, None, ledger=False),
    )
    state.advance(run.step.n_steps + 1)
    return replace(
        run, step=replace(run.step, n_steps=int(np.argmax(state.records.sensor_force[:, 0])))
    )


def racing_run(law: str) -> Run:
    """Return the run to bead 63, or only its beginning if everything runs only once."""
    run = run_to_bead_63(law)
    return replace(run, step=replace(run.step, n_steps=SMALL_STEPS)) if small() else run


def granchain(run: Run, recording: Recording = BARE, all_beads: bool = False) -> Contender:
    """Return the engine; with `all_beads`, it also computes the beads ahead of the front."""
    n = run.chain.n_bodies

    def prepare() -> Callable[[], Answer]:
        state = State(run.contacts, run.chain, run.step, recording)
        if all_beads:
            state.clock.front = n

        def timed() -> Answer:
            state.advance(run.step.n_steps + 1)
            return state.bodies.u[1 : n + 1], state.bodies.v[1 : n + 1]

        return timed

    return Contender(prepare, same=0.0)


def loop_of(run: Run, module: Any, turns: int) -> Contender | None:
    """Return the chain in naive Numba, NumPy, or plain Python, if that module has the law."""
    pair, law = run.chain.pair(), run.contacts.model
    named = {
        quantity.name: float(row[1])
        for quantity, row in zip(law.coefficients, run.contacts.c, strict=True)
    }
    if run.law == "hertz":
        loop, parameters = module.hertz, (named["stiffness"],)
    elif run.law == "ma-liu":
        names = (
            "yield_overlap",
            "plastic_overlap",
            "c1",
            "c2",
            "c3",
            "plastic_force",
            "plastic_stiffness",
        )
        sphere = (float(pair.effective_radius[1]), float(pair.effective_modulus[1]))
        loop, parameters = module.ma_liu, (*sphere, *(named[name] for name in names))
    elif tuple(named) == ("stiffness", "damping", "lowest_force") and not law.history:
        loop, parameters = module.hysteresis, (named["stiffness"], named["damping"])
    else:
        return None

    def prepare() -> Callable[[], Answer]:
        u, v = np.zeros(run.chain.n_bodies), run.chain.velocity.copy()

        def timed() -> Answer:
            loop(run.step.n_steps, run.step.value, run.chain.mass, *parameters, u, v)
            return u, v

        return timed

    return Contender(prepare, turns)
