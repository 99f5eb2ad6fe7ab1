"""The start of a run: the initial motion of the beads, and the state from which a run resumes, with
its data in a result, its text in a case, and the parts of the case that must not change."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.case.document import csv_numbers, csv_rows, text_of_file, without_labels
from granchain.case.tables import ChainTable, DriveTable, InitialTable, bead_values
from granchain.chain import DRIVEN_FORCE, Start
from granchain.errors import CaseError
from granchain.keys import Problems, brief
from granchain.plain_data import canonical, sha256_of

# First characters of the text of a state; they identify a file with a state.
STATE_MARK = '{"granchain_state":1,'
SIDES = ("left", "right")
STATE_ARRAYS = tuple(name for name in Start._fields if name != "steps")
# Arrays of some chains only; the text of other states does not contain them.
_OPTIONAL_STATE_ARRAYS = {"attached": (4, 0), "ends": (4, 0)}
# Parts of a case that must not change, with their names in messages, and parts that may change.
FIXED = {"beads": "chain", "law": "law"}
LOADS = ("precompression", "gravity", "drag", "on_site_stiffness", "on_site_damping")
CHANGEABLE = {
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
    step_setting : str or float
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
    step_setting: str | float
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
    stored, same, initial = case.stored_state, comparable_digests(case), case.initial
    if stored is not None and not differences_of(case, time_step):
        began, drives = stored.began, stored.drives
    else:
        began, drives = 0.0 if stored is None else stored.time, {}
        for where in drives_in(dict(case)):
            _, before, period = drive_clock(case, where)
            drives[_key_of_drive(where, same)] = before, period or case.time.end
    facts = {
        "time_step": time_step,
        "asked": case.time.step,
        "steps": start.steps,
        "began": began,
        "drives": drives,
        "same": same,
        "speed": None if case.striker is None else case.striker.speed,
        **{name: getattr(initial, name, None) for name in MOTION_COLUMNS},
    }
    arrays = {name: getattr(start, name) for name in STATE_ARRAYS}
    return {
        name: values
        for name, values in arrays.items()
        if values.size or name not in _OPTIONAL_STATE_ARRAYS
    } | {"facts": canonical(facts)}


def text_of_state(state: Mapping[str, Any]) -> str:
    """Return a state as one line of JSON, as it is stored in a case."""
    arrays = {
        name: [
            list(state[name].shape),
            base64.b64encode(np.ascontiguousarray(state[name], _kind(name)).tobytes()).decode(),
        ]
        for name in STATE_ARRAYS
        if name in state
    }
    facts = canonical(json.loads(state["facts"]))
    return f'{STATE_MARK}"arrays":{canonical(arrays)},"facts":{facts}}}'


def arrays_of_state(text: str) -> dict[str, Any]:
    """Return the arrays and facts of a state from its text, as `state_of_run` does."""
    stored = json.loads(text)
    arrays = {
        name: np.frombuffer(base64.b64decode(data, validate=True), _kind(name)).reshape(shape)
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
    """Return the type of the numbers of an array of a state, the same on every machine."""
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
        arrays: dict[str, Any] = {n: np.empty(shape) for n, shape in _OPTIONAL_STATE_ARRAYS.items()}
        arrays |= arrays_of_state(text)
        facts = json.loads(arrays.pop("facts"))
        start = Start(**arrays, steps=int(facts["steps"]))
        step_setting, same, speed = facts["asked"], facts["same"], facts["speed"]
        drives = {key: (float(time), float(long)) for key, (time, long) in facts["drives"].items()}
        moved = facts["velocity"], facts["displacement"]
        lists = [None if motion is None else tuple(map(float, motion)) for motion in moved]
        stored = StoredState(
            start, float(facts["time_step"]), step_setting, float(facts["began"]), drives,
            {name: same[name] for name in (*FIXED, *CHANGEABLE, "walls")}, lists[0], lists[1],
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


def comparable_digests(case: Any) -> dict[str, Any]:
    """Return digests of parts of a case, to compare it with the run that wrote a state.

    They cover the parts that must not change, the parts that may change, and the walls, whose
    residual indentation is stored in the state.
    """
    tables = without_labels(case.resolved())
    chain, ends, striker = tables["chain"], tables["ends"], tables.get("striker", {})
    segments = [chain, *chain.pop("segment", ())]
    loads = [[segment.pop(name, 0.0) for name in LOADS] for segment in segments]
    law = [tables["contact"], *(segment.pop("contact", None) for segment in segments)]
    law += [ends.get(f"{side}_contact") for side in SIDES]
    for table in (striker, *segments):
        for name in ("speed", *MOTION_COLUMNS):
            table.pop(name, None)
    walls = {}
    for side in SIDES:
        end, material = ends[side], ends.get(f"{side}_material")
        keys: Any = end if isinstance(end, dict) else {}
        # a table in that of an end is a structure, which has a material
        structure = next((value for value in keys.values() if isinstance(value, dict)), {})
        has_wall = end != "free" and keys.get("drive") != DRIVEN_FORCE
        walls[side] = [end == "rigid", has_wall, material or structure.get("material")]
    return {
        "beads": sha256_of([striker, segments]),
        "law": sha256_of(law),
        "loads": sha256_of(loads),
        **{side: sha256_of([ends[side], walls[side]]) for side in SIDES},
        "drives": [sha256_of(drive) for drive in tables.get("drive", ())],
        "walls": [sha256_of(walls[side]) for side in SIDES],
    }


def differences_of(case: Any, step: float) -> list[str]:
    """List what differs between a case and the run that wrote its state.

    If the list is empty, the two runs are bit-identical to one continuous run.
    """
    stored, same = case.stored_state, comparable_digests(case)
    assert stored is not None
    other = [
        description for name, description in CHANGEABLE.items() if stored.same[name] != same[name]
    ]
    return ["time step"] * (step != stored.time_step) + other


def new_walls(case: Any) -> list[bool]:
    """Check if the left and the right wall differ from those of the previous run.

    If a wall differs, the history of its contact starts anew.
    """
    stored = case.stored_state
    if stored is None:
        return [True, True]
    pairs = zip(stored.same["walls"], comparable_digests(case)["walls"], strict=True)
    return [before != now for before, now in pairs]


def drives_in(tables: Mapping[str, Any]) -> dict[str, DriveTable]:
    """Return the tables of driven ends and beads, by key, such as "ends.left" and "drive.0"."""
    ends = {f"ends.{side}": getattr(tables["ends"], side) for side in SIDES}
    driven = {where: end for where, end in ends.items() if isinstance(end, DriveTable)}
    return driven | {f"drive.{i}": table for i, table in enumerate(tables.get("drive", ()))}


def drive_clock(case: Any, where: str) -> tuple[float, float, float | None]:
    """Return times of a drive at the start of a resumed run.

    These are its time at the first step that the state counts, its time at the start of the case,
    and the period of its noise [s]. A new drive starts at its own time 0.
    """
    stored = case.stored_state
    if stored is not None:
        same, (table, _, name) = comparable_digests(case), where.partition(".")
        key = _key_of_drive(where, same)
        if key in stored.drives and (table == "drive" or stored.same[name] == same[name]):
            time, period = stored.drives[key]
            return time, time + stored.start.steps * stored.time_step, period
    return 0.0, 0.0, None


def _key_of_drive(where: str, same: Mapping[str, Any]) -> str:
    """Return the key of a drive in `StoredState.drives`: that of an end, or the hash of a drive."""
    table, _, number = where.partition(".")
    return where if table == "ends" else str(same["drives"][int(number)])


# --------------------------------------------------------------------------------------------------
# Initial motion


MOTION_COLUMNS = ("velocity", "displacement")
OF_RESONATORS = ("resonator_velocity", "resonator_displacement")


def read_initial(
    tables: dict[str, Any],
    keys: dict[str, Any],
    folder: Path | None,
    state: str,
    problems: Problems,
) -> str:
    """Read the initial motion of all beads, also if it is in a file, and report errors.

    A file is replaced in `keys` by its content, or by the hash of its state. Return the
    text of the state from which the run resumes, or "".

    Parameters
    ----------
    tables : dict
        Tables of the case, with [initial].
    keys : dict
        Tables as the author gave them.
    folder : Path or None
        Folder of the file.
    state : str
        State next to the case, which its hash refers to.
    problems : Problems
    """
    table, chain = tables["initial"], tables["chain"]
    beads = chain.total()
    if table.state is None or table.state.startswith(STATE_MARK):
        state = table.state or ""
    elif not state or table.state != sha256_of(state):
        state = ""
    resonator_motion = {
        name: values for name in OF_RESONATORS if (values := getattr(table, name)) is not None
    }
    resonators = chain.attached_masses()[0].size if resonator_motion else 0
    for name, numbers in resonator_motion.items():
        check_length(f"initial.{name}", numbers, resonators, "resonator", "", problems)
    stated = {
        name: values for name in MOTION_COLUMNS if (values := getattr(table, name)) is not None
    }
    text: str | None = ""
    if table.file is not None and not stated and not state:
        text = text_of_file("initial.file", table.file, folder, problems, state_of_file)
        if text is None:
            return ""
        state = text if text.startswith(STATE_MARK) else ""
    if state or table.state is not None:
        problems.check(
            not resonator_motion,
            "initial",
            f"{' and '.join(resonator_motion)} and a state are both present",
            "The state already contains the motion",
            "Remove the motion",
        )
        tables["initial"] = read_state(table, state, problems)
        names = {} if table.file is None else {"file": table.file}
        keys["initial"] = names | {"state": sha256_of(state)}
        return state if problems.clear("initial") else ""
    if not problems.check(
        table.file is not None or bool(stated or resonator_motion),
        "initial",
        "file, velocity, and displacement are missing",
        "Give at least one of them, or remove the table",
    ) or not problems.check(
        table.file is None or not stated,
        "initial",
        f"file and {' and '.join(stated)} are both present",
        "Only one of the two is allowed",
        "Put all values in the file, or all values here",
    ):
        return ""
    for name, numbers in stated.items():
        fix = "For some of the beads only, use a file with a column bead"
        check_length(f"initial.{name}", numbers, beads, "bead of the chain", fix, problems)
    if table.file is not None:
        stated = initial_columns(brief(table.file), text or "", beads, problems)
    for name in stated:
        twice = [
            key for key, segment in chain.keyed_segments() if getattr(segment, name) is not None
        ]
        problems.check(
            not twice,
            f"initial.{name}",
            f"{''.join(twice[:1])}.{name} is also present",
            "Only one of the two is allowed",
            "Remove one",
        )
    if table.file is not None:
        tables["initial"] = InitialTable(**stated, **resonator_motion)
        motion = stated | resonator_motion
        keys["initial"] = {name: list(values) for name, values in motion.items()}
    return ""


def read_state(table: InitialTable, state: str, problems: Problems) -> InitialTable:
    """Return the initial motion of a run that resumes from a state."""
    digest = "" if table.state is None or table.state.startswith(STATE_MARK) else table.state
    try:
        if not state:
            raise ValueError("it is missing")
        if digest and digest != sha256_of(state):
            raise ValueError("the file has another state")
        stored = state_in(state)
    except ValueError as error:
        problems.add(
            "initial.state",
            f"the state cannot be used because {error}",
            "It must be the final state of a run",
            'Set file = "run.h5" to the output file of the run, or take the state from the result '
            "with case.replace(initial=result)",
        )
        return table
    first = {"velocity": stored.velocity, "displacement": stored.displacement}
    problems.check(
        all(getattr(table, name) in (None, value) for name, value in first.items()),
        "initial",
        "velocity or displacement, and a state, are both present",
        "The state already contains the motion",
        "Remove the motion",
    )
    return InitialTable(state=sha256_of(state), **first)


def check_length(
    where: str, numbers: Sequence[float], length: int, each: str, fix: str, problems: Problems
) -> None:
    """Check that a list has the required number of values, such as one for each bead."""
    problems.check(
        len(numbers) == length or not problems.clear(where),
        where,
        f"the list has {len(numbers)} numbers",
        f"The list must have {length} numbers, one for each {each}",
        fix,
    )


def initial_columns(
    file: str, text: str, beads: int, problems: Problems
) -> dict[str, tuple[float, ...]]:
    """Return the columns of an initial file, one number for each bead; report errors."""
    where, rows = "initial.file", csv_rows(text)
    head = next(rows, (1, [""]))[1]
    named = [name for name in head if name != "bead"]
    if not named or len(set(head)) != len(head) or not set(named) <= set(MOTION_COLUMNS):
        problems.add(
            where,
            f"{file} does not name the columns in its first line",
            "The columns are velocity, displacement, or both, and bead unless every bead has a row",
            "Write for example bead,velocity",
        )
        return {}
    columns = {name: [0.0] * beads for name in named}
    met: set[float] = set()
    for line, cells in rows:
        values = csv_numbers(cells)
        if len(values) != len(head) or not all(map(math.isfinite, values)):
            problems.add(
                where,
                f"{file}, line {line}, is not a row of {len(head)} numbers",
                f"The columns are {', '.join(head)}",
                "Write commas between the columns and decimal points in the numbers",
            )
            return {}
        row = dict(zip(head, values, strict=True))
        bead = row.get("bead", len(met) + 1)
        if bead not in range(1, beads + 1) or bead in met:
            problem = "repeats a bead" if bead in met else "has no bead of this chain"
            problems.add(
                where,
                f"{file}, line {line}, {problem}",
                f"Each bead from 1 to {beads} may occur once",
                "Remove the line; the striker is not a bead",
            )
            return {}
        met.add(bead)
        for name in named:
            columns[name][int(bead) - 1] = row[name]
    problems.check(
        "bead" in head or len(met) == beads,
        where,
        f"{file} has {len(met)} rows",
        f"It must have {beads}, one for each bead of the chain",
        "For some of the beads only, add a column bead",
    )
    return {name: tuple(values) for name, values in columns.items()}


def moves(chain: ChainTable, initial: InitialTable | None) -> bool:
    """Check if any bead or resonator has a velocity or a displacement at the start."""
    if initial is not None and (
        initial.state is not None
        or any(np.any(getattr(initial, name) or 0.0) for name in OF_RESONATORS)
    ):
        return True
    sources = [segment for _, segment in chain.keyed_segments()] + [initial] * (initial is not None)
    return any(
        np.any(getattr(source, name) or 0.0) for source in sources for name in MOTION_COLUMNS
    )


def fastest_closing(tables: Mapping[str, Any]) -> float:
    """Return the largest initial approach speed of two neighbours [m/s].

    A wall is a neighbour too. The speed is 0 if none approach each other.
    """
    striker, ends = tables.get("striker"), tables["ends"]
    speeds = bead_values("velocity", tables["chain"], tables.get("initial"))
    left, right = ([0.0] if ends.has_wall(side) else [] for side in ("left", "right"))
    row = np.concatenate([left, [] if striker is None else [striker.speed], speeds, right])
    return float(max(0.0, (-np.diff(row)).max(initial=0.0)))
