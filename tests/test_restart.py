"""A run that was stopped goes on to the same bits as one that never was; its checkpoint is whole, guarded, and gone when it has ended."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds import every_law
from rows import inputs_for, standing_row, steel_row

import granchain as gc
from granchain import simulation
from granchain.chain import Chain, End
from granchain.cli import obey
from granchain.contact import laws
from granchain.engine import layout
from granchain.engine.state import CHANGING, Recording, State, contacts_of, time_step_of
from granchain.errors import FileError, GranchainWarning
from granchain.output import Checkpoint, checkpoint, open_result, whole
from granchain.output.checkpoint import Saved
from granchain.status import Status

WALL = End("wall")
# A push of a micrometre along one sine, of the order of the overlaps of the struck chain.
PUSH_TIME = np.linspace(0.0, 1e-4, 50)
PUSH = End("displacement", None, PUSH_TIME, 2e-6 * np.sin(np.pi * PUSH_TIME / 5e-5) ** 2)

ROWS: dict[str, Callable[[], Chain]] = {
    "touching": lambda: steel_row(8),
    # gaps that close within a step or two at 1.77 m/s, and within fifty
    "gaps": lambda: steel_row(8, gap=np.resize([0.0, 5e-7, 2e-5], 7)),
    "walls, precompression and gravity": lambda: steel_row(8, left=End(), right=WALL, precompression=20.0, gravity=9.81),
    "driven end": lambda: standing_row(8, PUSH, WALL, precompression=5.0),
}
# Steps of a run. The pulse of some 600 m/s runs through eight diameters of 4.76 mm in 60 us, 400 steps of some .15 us.
N_STEPS = 600
# Before and after the first step, while all contacts load, within the pulse, after it, before and after the last step.
SPLITS = (0, 1, 2, 37, 143, 350, N_STEPS - 1, N_STEPS, N_STEPS + 1)
# Without rate, with dents, with a rate, and with a rate and an onset.
FAST = ["flores", "hertz", "ma-liu", "tsuji"]


def prepared(law: str, chain: Chain) -> Callable[[], State]:
    """Makes states at the start of a run, which records at odd strides."""
    contacts = contacts_of(laws()[law], chain, inputs_for(law))
    step = replace(time_step_of(contacts, chain, "fast", 1e-4), n_steps=N_STEPS)
    dt, first = step.value, int(chain.contact_labels[chain.contact_exists][0])
    recording = Recording((1, 4), (first, 3), 3 * dt, 11 * dt, ledger=True, energy_interval=7 * dt)
    return lambda: State(contacts, chain, step, recording)


def bits(state: State) -> dict[str, bytes]:
    """All that a run has changed, but what the last look at the state left: it depends on when one looks."""
    arrays = {name: np.array(getattr(state, name)) for name in CHANGING}
    arrays["numbers"][layout.ALLOWED_STEP] = arrays["counts"][layout.WHERE] = 0
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.promise("R1")
@pytest.mark.parametrize("law", every_law(FAST))
def test_a_restarted_run_has_the_bits_of_an_unbroken_one(law: str, tmp_path: Path, figure: Callable[..., None]) -> None:
    """State, forces, history, accelerations, records, peaks, ledger; through the file; ends and split points."""
    compared = 0
    for make in ROWS.values():
        fresh = prepared(law, make())
        unbroken = fresh()
        assert unbroken.advance(N_STEPS + 1) is Status.COMPLETE
        # or a restart that loses the history, the motion or a record would be the same
        assert unbroken.sensor_force.max() > 0.0 and unbroken.counts[layout.SAMPLE] == unbroken.sensor_force.shape[0]
        expected = bits(unbroken)
        for split in SPLITS:
            before, after, kept = fresh(), fresh(), Checkpoint(tmp_path / "run.chk")
            before.advance(split)
            kept.save(Saved(before.arrays(), "", 0.0), set_up=before.set_up)
            after.take(kept.load(set_up=after.set_up).arrays)
            assert after.step == split
            assert after.advance(N_STEPS + 1) is Status.COMPLETE
            found = bits(after)
            assert [name for name in expected if found[name] != expected[name]] == [], f"split at step {split}"
            compared += 1
    figure("ends and split points of a law that restart with no differing bit", compared, at_least=len(ROWS) * len(SPLITS))
