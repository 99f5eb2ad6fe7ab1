"""The state that a run leaves and another goes on from: what a result holds of it, the text of it
in a case, and what must be the same in both."""

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

# First in a state's text: by it a file's content is known to be one.
STATE_MARK = '{"granchain_state":1,'
SIDES = ("left", "right")
ARRAYS = tuple(name for name in Start._fields if name != "steps")
# Of chains that have them: others' states are texts without.
_OPTIONAL_ARRAYS = {"resonators": (4, 0)}
# What may not change, as a message names it, and what may.
FIXED = {"beads": "chain", "law": "law"}
FREE = {
    "loads": "loads, drag or on-site springs",
    **{side: f"{side} end or its drive" for side in SIDES},
    "drives": "drives of beads",
}


class StoredState(NamedTuple):
    """A state, and where it comes from.

    Parameters
    ----------
    start : Start
    time_step : float
        Of the run that left it [s].
    asked : str or float
        As its case asked for it.
    began : float
        Time of all the runs at the first of the steps that `start` counts [s].
    drives : dict of (float, float)
        Time of each drive there, and the period of its noise [s]: by "ends.left" and "ends.right",
        and the digests of the drives of beads.
    same : dict of str
        Digests of what must be the same, or is named in a message.
    velocity, displacement : tuple of float or None
        Under [initial] of the first run's case.
    speed : float or None
        Of its striker [m/s].
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
        """When the state is, of all the runs [s]."""
        return self.began + self.start.steps * self.time_step


def state_of_run(case: Any, start: Start, time_step: float) -> dict[str, Any]:
    """What a result holds of the end of its run: arrays by name, and the facts as text."""
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
    """The state as a case holds it, one line of JSON."""
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


def state_text_of(result: Any) -> str:
    """The state that a result holds, as a case has it."""
    state = getattr(result, "state", None)
    if state is None:
        raise CaseError(
            "initial: the result has no final state. It must be the result, or the file, of a "
            "complete run of a chain. Run the case to its end with granchain.run."
        )
    return text_of_state(state)


def state_of_file(path: Path) -> str:
    """The state at the end of the run whose file this is, as a case has it."""
    # the layer above, which reads files: loaded only where a case names such a one
    from granchain.store import open_result

    return state_text_of(open_result(path, lambda headers: ()))


def _kind(name: str) -> str:
    return "<i8" if name == "active" else "<f8"


@lru_cache(maxsize=4)
def state_in(text: str) -> StoredState:
    """The state that a text holds.

    Raises
    ------
    ValueError
        Where it holds none that a run can have left.
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
        "resonators": (4, start.resonators.shape[-1]),
    }
    named = np.unique(start.active)
    good = (
        all(getattr(start, name).shape == shape for name, shape in shapes.items())
        and np.isfinite(start.bodies).all()
        and np.isfinite(start.resonators).all()
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
    """Digests of a case: of what a state needs to be the same, of what decides whether it gives the
    bits of one run, and of the walls, whose dents go on."""
    bodies, problems = case.bodies(), Problems()
    beads = [bodies[name].tolist() for name in ("radius", "mass", "gap")]
    materials = [_constants(one) for one in bodies["material"]]
    met = [plain_tables(vars(case.law_inputs()), problems)]
    met += [[names, plain_tables(vars(inputs), problems)] for names, inputs in case.pair_inputs()]
    met += [
        [sha256_of(there.tolist()), law, plain_tables(vars(inputs), problems)]
        for there, law, inputs in case.own_contacts()
    ]
    loads = [case.chain.precompression, case.chain.gravity, bodies["drag"].tolist()]
    # of chains with them, so that others keep their digests
    own = [bodies[name].tolist() for name in ("on_site_stiffness", "on_site_damping")]
    loads += own if any(map(any, own)) else []
    riding = [values.tolist() for values in case.chain.resonators()]
    return {
        "beads": sha256_of([beads, materials, case.striker is not None, *riding * any(riding)]),
        "law": sha256_of([case.contact.law, met]),
        "loads": sha256_of(loads),
        **{side: sha256_of(_end(case, side)) for side in SIDES},
        "drives": [sha256_of(_drive(case, f"drive.{i}")) for i in range(len(case.drive))],
        "walls": [sha256_of(_wall(case, side)) for side in SIDES],
    }


def differences_of(case: Any, step: float) -> list[str]:
    """What a case that goes on from a state has that the run before had not, in words; where
    there is nothing, the two give the bits of one run."""
    stored, same = case.stored_state, same_of(case)
    assert stored is not None
    other = [words for name, words in FREE.items() if stored.same[name] != same[name]]
    return ["time step"] * (step != stored.time_step) + other


def new_walls(case: Any) -> list[bool]:
    """Whether the left and the right wall of a case are others than those of the run before, so
    that what their contacts had come to does not go on."""
    stored = case.stored_state
    if stored is None:
        return [True, True]
    pairs = zip(stored.same["walls"], same_of(case)["walls"], strict=True)
    return [before != now for before, now in pairs]


def times_of(case: Any, step: float) -> tuple[float, dict[str, tuple[float, float]]]:
    """As `StoredState.began` and `StoredState.drives`, of a case at the first of its counted
    steps."""
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
    """How long a drive has run at the first of the steps that the state counts, and when the case
    begins, and the period of its noise [s]: one that was not there before begins at its own 0."""
    stored = case.stored_state
    if stored is not None:
        mine, key = same_of(case), dict(zip(case.drives, _keys_of(case), strict=True))[where]
        table, _, name = where.partition(".")
        if key in stored.drives and (table == "drive" or stored.same[name] == mine[name]):
            time, period = stored.drives[key]
            return time, time + stored.start.steps * stored.time_step, period
    return 0.0, 0.0, None


def _keys_of(case: Any) -> list[str]:
    """The keys in `StoredState.drives` of the drives of a case, in their order."""
    ends = [where for where in case.drives if where.startswith("ends.")]
    return [*ends, *same_of(case)["drives"]]


def _constants(material: Any) -> Any:
    """A material without its name and source."""
    constants = plain_tables(material, Problems())
    return {name: value for name, value in constants.items() if name not in ("name", "source")}


def _wall(case: Any, side: str) -> list[Any]:
    """What a wall is made of, for there are dents in it."""
    material = getattr(case.ends, f"{side}_material")
    kind = "rigid" if getattr(case.ends, side) == "rigid" else case.ends.has_wall(side)
    return [kind, None if material is None else _constants(material)]


def _end(case: Any, side: str) -> list[Any]:
    """An end, with the drive that it follows."""
    end = getattr(case.ends, side)
    own = _drive(case, f"ends.{side}") if isinstance(end, DriveTable) else end
    return [own, _wall(case, side)]


def _drive(case: Any, where: str) -> list[Any]:
    """A drive: what it prescribes of which bead, and its signal or table."""
    drive = case.drives[where]
    if drive.signal is not None:
        return [plain_tables(drive, Problems())]
    time, value, _ = case.driven(where)
    return [drive.drive, getattr(drive, "bead", None), time.tolist(), value.tolist()]
