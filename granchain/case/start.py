"""The state from which a run resumes: its data in a result, its text in a case, and the parts of
the case that must not change."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.case.document import plain_tables
from granchain.case.tables import DriveTable
from granchain.chain import Start
from granchain.errors import CaseError
from granchain.keys import Problems
from granchain.plain_data import canonical, sha256_of

# First characters of the text of a state; they identify a file with a state.
STATE_MARK = '{"granchain_state":1,'
SIDES = ("left", "right")
ARRAYS = tuple(name for name in Start._fields if name != "steps")
# Arrays of some chains only; the text of other states does not contain them.
_OPTIONAL_ARRAYS = {"attached": (4, 0), "ends": (4, 0)}
# Parts of a case that must not change, with their names in messages, and parts that may change.
FIXED = {"beads": "chain", "law": "law"}
FREE = {
    "loads": "loads, drag or on-site springs",
    **{side: f"{side} end or its drive" for side in SIDES},
    "drives": "drives of beads",
}


class StoredState(NamedTuple):
    """A stored state and its origin.

    Parameters
    ----------
    start : Start
    time_step : float
        Time step of the run that wrote the state [s].
    asked : str or float
        Time step as given in the case of that run.
    began : float
        Time at the first of the steps that `start` counts, from the start of the first run [s].
    drives : dict of (float, float)
        Time of each drive at that step, and the period of its noise [s]. Keys are "ends.left",
        "ends.right", and the digests of the drives of beads.
    same : dict of str
        Digests of the parts of the case that must not change, or that a message can list.
    velocity, displacement : tuple of float or None
        Initial motion in the case of the first run.
    speed : float or None
        Speed of the striker [m/s].
    """

    start: Start
    time_step: float
    asked: str | float
    began: float
    drives: dict[str, tuple[float, float]]
    same: dict[str, Any]
    velocity: tuple[float, ...] | None
    displacement: tuple[float, ...] | None
    speed: float | None

    @property
    def time(self) -> float:
        """Time of the state from the start of the first run [s]."""
        return self.began + self.start.steps * self.time_step


def state_of_run(case: Any, start: Start, time_step: float) -> dict[str, Any]:
    """Return the final state of a run for its result: arrays by name, and the facts as text."""
    table = {} if case.initial is None else case.initial
    began, drives = times_of(case, time_step)
    facts = {
        "time_step": time_step,
        "asked": case.time.step,
        "steps": start.steps,
        "began": began,
        "drives": drives,
        "same": same_of(case),
        "speed": None if case.striker is None else case.striker.speed,
        **{name: getattr(table, name, None) for name in ("velocity", "displacement")},
    }
    arrays = {name: getattr(start, name) for name in ARRAYS}
    return {
        name: values
        for name, values in arrays.items()
        if values.size or name not in _OPTIONAL_ARRAYS
    } | {"facts": canonical(facts)}


def text_of_state(state: Mapping[str, Any]) -> str:
    """Return a state as one line of JSON, as it is stored in a case."""
    arrays = {
        name: [
            list(state[name].shape),
            base64.b64encode(np.ascontiguousarray(state[name], _kind(name)).tobytes()).decode(),
        ]
        for name in ARRAYS
        if name in state
    }
    facts = canonical(json.loads(state["facts"]))
    return f'{STATE_MARK}"arrays":{canonical(arrays)},"facts":{facts}}}'


def arrays_of_state(text: str) -> dict[str, Any]:
    """Return the arrays and facts of a state from its text, as `state_of_run` does."""
    stored = json.loads(text)
    arrays = {
        name: np.frombuffer(base64.b64decode(data), _kind(name)).reshape(shape)
        for name, (shape, data) in stored["arrays"].items()
    }
    return arrays | {"facts": canonical(stored["facts"])}


def state_text_of(result: Any) -> str:
    """Return the text of the final state of a result."""
    state = getattr(result, "state", None)
    if state is None:
        raise CaseError(
            "initial: the result has no final state. It must be the result, or the file, of a "
            "complete run of a chain. Run the case to its end with granchain.run."
        )
    return text_of_state(state)


def state_of_file(path: Path) -> str:
    """Return the text of the final state of the run in an output file."""
    # Imported here because only a case with such a file needs this higher layer.
    from granchain.store import open_answer

    return state_text_of(open_answer(path, lambda headers: ()))


def _kind(name: str) -> str:
    return "<i8" if name == "active" else "<f8"


@lru_cache(maxsize=4)
def state_in(text: str) -> StoredState:
    """Return the state in a text.

    Raises
    ------
    ValueError
        If the text is not the state of a run.
    """
    try:
        found = json.loads(text)
        facts, arrays = found["facts"], {}
        for name in ARRAYS:
            shape, data = found["arrays"].get(name) or (_OPTIONAL_ARRAYS[name], "")
            values = np.frombuffer(base64.b64decode(data, validate=True), _kind(name))
            arrays[name] = values.reshape(shape)
        start = Start(**arrays, steps=int(facts["steps"]))
        asked, same, speed = facts["asked"], facts["same"], facts["speed"]
        drives = {key: (float(time), float(long)) for key, (time, long) in facts["drives"].items()}
        moved = facts["velocity"], facts["displacement"]
        lists = [None if one is None else tuple(map(float, one)) for one in moved]
        stored = StoredState(
            start, float(facts["time_step"]), asked, float(facts["began"]), drives,
            {name: same[name] for name in (*FIXED, *FREE, "walls")}, lists[0], lists[1],
            None if speed is None else float(speed),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise ValueError(f"it is incomplete or was changed ({type(error).__name__})") from None
    n, times = (
        start.bodies.shape[-1],
        [number for both in stored.drives.values() for number in both],
    )
    shapes = {
        "bodies": (4, n),
        "zero": (n + 1,),
        "contacts": (6, n + 1),
        "history": (len(start.history), n + 1),
        "active": (start.active.size,),
        "corrections": (4, start.corrections.shape[-1]),
        "driven": (start.driven.size,),
        "attached": (4, start.attached.shape[-1]),
        "ends": (4, start.ends.shape[-1]),
    }
    named = np.unique(start.active)
    good = (
        all(getattr(start, name).shape == shape for name, shape in shapes.items())
        and np.isfinite(start.bodies).all()
        and np.isfinite(start.attached).all()
        and np.isfinite(start.ends).all()
        and start.driven.size > 0
        and np.isfinite(start.driven).all()
        and start.driven[-1] in (0.0, 1.0)
        and named.size == start.active.size
        and ((named >= 0) & (named <= n)).all()
        and all(map(math.isfinite, (stored.time_step, stored.began, *times)))
        and stored.time_step > 0.0
        and min(times, default=0.0) >= 0.0
        and 0 < start.steps < 2**53
    )
    if not good:
        raise ValueError("its arrays cannot come from a run")
    return stored


def same_of(case: Any) -> dict[str, Any]:
    """Return digests of parts of a case, to compare it with the run that wrote a state.

    They cover the parts that must not change, the parts that may change, and the walls, whose
    residual indentation is stored in the state.
    """
    bodies, problems = case.bodies(), Problems()
    beads = [bodies[name].tolist() for name in ("radius", "mass", "gap")]
    distinct = {id(material): material for material in bodies["material"]}
    constants = {key: _constants(material) for key, material in distinct.items()}
    materials = [constants[id(material)] for material in bodies["material"]]
    met = [plain_tables(vars(case.law_inputs()), problems)]
    met += [[names, plain_tables(vars(inputs), problems)] for names, inputs in case.pair_inputs()]
    met += [
        [sha256_of(there.tolist()), law, plain_tables(vars(inputs), problems)]
        for there, law, inputs in case.own_contacts()
    ]
    loads = [case.chain.precompression, case.chain.gravity, bodies["drag"].tolist()]
    # Included only if present, so that the digests of other chains do not change.
    own = [bodies[name].tolist() for name in ("on_site_stiffness", "on_site_damping")]
    loads += own if any(map(any, own)) else []
    riding = [values.tolist() for values in case.chain.attached_masses()]
    return {
        "beads": sha256_of([beads, materials, case.striker is not None, *riding * any(riding)]),
        "law": sha256_of([case.contact.law, met]),
        "loads": sha256_of(loads),
        **{side: sha256_of(_end(case, side)) for side in SIDES},
        "drives": _hashes_of_drives(case),
        "walls": [sha256_of(_wall(case, side)) for side in SIDES],
    }


def differences_of(case: Any, step: float) -> list[str]:
    """List what differs between a case and the run that wrote its state.

    If the list is empty, the two runs are bit-identical to one continuous run.
    """
    stored, same = case.stored_state, same_of(case)
    assert stored is not None
    other = [words for name, words in FREE.items() if stored.same[name] != same[name]]
    return ["time step"] * (step != stored.time_step) + other


def new_walls(case: Any) -> list[bool]:
    """Check if the left and the right wall differ from those of the previous run.

    If a wall differs, the history of its contact starts anew.
    """
    stored = case.stored_state
    if stored is None:
        return [True, True]
    pairs = zip(stored.same["walls"], same_of(case)["walls"], strict=True)
    return [before != now for before, now in pairs]


def times_of(case: Any, step: float) -> tuple[float, dict[str, tuple[float, float]]]:
    """Return `StoredState.began` and `StoredState.drives` for the first counted step of a case."""
    stored = case.stored_state
    if stored is not None and not differences_of(case, step):
        return stored.began, stored.drives
    own = dict(zip(case.drives, _keys_of(case), strict=True))
    drives = {}
    for where, key in own.items():
        _, before, period = begun(case, where)
        drives[key] = before, period or case.time.end
    return 0.0 if stored is None else stored.time, drives


def begun(case: Any, where: str) -> tuple[float, float, float | None]:
    """Return times of a drive at the start of a resumed run.

    These are its time at the first step that the state counts, its time at the start of the case,
    and the period of its noise [s]. A new drive starts at its own time 0.
    """
    stored = case.stored_state
    if stored is not None:
        mine, key = same_of(case), dict(zip(case.drives, _keys_of(case), strict=True))[where]
        table, _, name = where.partition(".")
        if key in stored.drives and (table == "drive" or stored.same[name] == mine[name]):
            time, period = stored.drives[key]
            return time, time + stored.start.steps * stored.time_step, period
    return 0.0, 0.0, None


def _keys_of(case: Any) -> list[str]:
    """Return the keys of the drives of a case in `StoredState.drives`, in order."""
    ends = [where for where in case.drives if where.startswith("ends.")]
    return [*ends, *_hashes_of_drives(case)]


def _hashes_of_drives(case: Any) -> list[str]:
    """Return a hash of each driven bead."""
    return [sha256_of(_drive(case, f"drive.{i}")) for i in range(len(case.drive))]


def _constants(material: Any) -> Any:
    """Return the constants of a material, without its name and source."""
    constants = plain_tables(material, Problems())
    return {name: value for name, value in constants.items() if name not in ("name", "source")}


def _wall(case: Any, side: str) -> list[Any]:
    """Return kind and material of a wall, which has residual indentation in the state."""
    material = case.ends.material_of_wall(side)
    kind = "rigid" if getattr(case.ends, side) == "rigid" else case.ends.has_wall(side)
    return [kind, None if material is None else _constants(material)]


def _end(case: Any, side: str) -> list[Any]:
    """Return an end, with its drive and its wall."""
    end = getattr(case.ends, side)
    driven = isinstance(end, DriveTable)
    own = _drive(case, f"ends.{side}") if driven else plain_tables(end, Problems())
    return [own, _wall(case, side)]


def _drive(case: Any, where: str) -> list[Any]:
    """Return a drive: its quantity, its bead, and its signal or table."""
    drive = case.drives[where]
    if drive.signal is not None:
        return [plain_tables(drive, Problems())]
    time, value, _ = case.driven(where)
    return [drive.drive, getattr(drive, "bead", None), time.tolist(), value.tolist()]
