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
_OF_SOME = {"resonators": (4, 0)}
# What may not change, as a message names it, and what may.
FIXED = {"beads": "chain", "law": "law"}
FREE = {
    "loads": "loads, drag or on-site springs",
    **{side: f"{side} end or its drive" for side in SIDES},
}


class Held(NamedTuple):
    """A state, and where it comes from.

    Parameters
    ----------
    start : Start
    time_step : float
        Of the run that left it [s].
    asked : str or float
        As its case asked for it.
    times : tuple of 3 floats
        At the first of the steps that `start` counts, of all the runs and of the drives of the two
        ends [s].
    same : dict of str
        Digests of what must be the same, or is told of.
    velocity, displacement : tuple of float or None
        Under [initial] of the first run's case.
    """

    start: Start
    time_step: float
    asked: str | float
    times: tuple[float, float, float]
    same: dict[str, Any]
    velocity: tuple[float, ...] | None
    displacement: tuple[float, ...] | None

    def time(self, place: int = 0) -> float:
        """When the state is: of all the runs [s], or of the left or right drive."""
        return self.times[place] + self.start.steps * self.time_step


def state_of_run(case: Any, start: Start, time_step: float) -> dict[str, Any]:
    """What a result holds of the end of its run: arrays by name, and the facts as text."""
    table = {} if case.initial is None else case.initial
    facts = {
        "time_step": time_step,
        "asked": case.time.step,
        "steps": start.steps,
        "times": times_of(case, time_step),
        "same": same_of(case),
        **{name: getattr(table, name, None) for name in ("velocity", "displacement")},
    }
    arrays = {name: getattr(start, name) for name in ARRAYS}
    return {
        name: values for name, values in arrays.items() if values.size or name not in _OF_SOME
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
            "initial: got a result without a state, allowed the result of a run of a chain that is "
            "complete, or its file; run the case to its end with granchain.run"
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
def state_in(text: str) -> Held:
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
            shape, data = found["arrays"].get(name) or (_OF_SOME[name], "")
            values = np.frombuffer(base64.b64decode(data, validate=True), _kind(name))
            arrays[name] = values.reshape(shape)
        start = Start(**arrays, steps=int(facts["steps"]))
        (left, right), whole = facts["times"][1:], facts["times"][0]
        asked, same = facts["asked"], facts["same"]
        lists = [None if one is None else tuple(map(float, one)) for one in _moved(facts)]
        held = Held(
            start, float(facts["time_step"]), asked, (float(whole), float(left), float(right)),
            {name: same[name] for name in (*FIXED, *FREE, "walls")}, *lists,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise ValueError(f"it is cut off or changed ({type(error).__name__})") from None
    n, numbers = start.bodies.shape[-1], (held.time_step, *held.times)
    shapes = {
        "bodies": (4, n),
        "zero": (n + 1,),
        "contacts": (6, n + 1),
        "history": (len(start.history), n + 1),
        "active": (start.active.size,),
        "corrections": (4, start.corrections.shape[-1]),
        "ends": (3,),
        "resonators": (4, start.resonators.shape[-1]),
    }
    named = np.unique(start.active)
    good = (
        all(getattr(start, name).shape == shape for name, shape in shapes.items())
        and np.isfinite(start.bodies).all()
        and np.isfinite(start.resonators).all()
        and np.isfinite(start.ends[:2]).all()
        and start.ends[2] in (0.0, 1.0)
        and named.size == start.active.size
        and ((named >= 0) & (named <= n)).all()
        and all(map(math.isfinite, numbers))
        and held.time_step > 0.0
        and 0 < start.steps < 2**53
    )
    if not good:
        raise ValueError("its arrays are none that a run can have left")
    return held


def _moved(facts: Mapping[str, Any]) -> tuple[Any, Any]:
    return facts["velocity"], facts["displacement"]


def same_of(case: Any) -> dict[str, Any]:
    """Digests of a case: of what a state needs to be the same, of what decides whether it gives the
    bits of one run, and of the walls, whose dents go on."""
    bodies, problems = case.bodies(), Problems()
    beads = [bodies[name].tolist() for name in ("radius", "mass", "gap")]
    materials = [_constants(one) for one in bodies["material"]]
    met = [plain_tables(vars(case.law_inputs()), problems)]
    met += [[names, plain_tables(vars(inputs), problems)] for names, inputs in case.pair_inputs()]
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
        "walls": [sha256_of(_wall(case, side)) for side in SIDES],
    }


def differences_of(case: Any, step: float) -> list[str]:
    """What a case that goes on from a state has that the run before had not, in words; where
    there is nothing, the two give the bits of one run."""
    held, mine = case.held, same_of(case)
    assert held is not None
    other = [words for name, words in FREE.items() if held.same[name] != mine[name]]
    return ["time step"] * (step != held.time_step) + other


def times_of(case: Any, step: float) -> tuple[float, float, float]:
    """Times of a case at the first of its counted steps: of all runs, and of the two drives [s]."""
    held = case.held
    if held is None:
        return 0.0, 0.0, 0.0
    if not differences_of(case, step):
        return held.times
    mine = same_of(case)
    left, right = (
        held.time(1 + place) if held.same[side] == mine[side] else 0.0
        for place, side in enumerate(SIDES)
    )
    return held.time(), left, right


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
    """An end, with the drive that it follows: noise without a duration lasts as long as its run,
    and is another in a longer one."""
    end = getattr(case.ends, side)
    if not isinstance(end, DriveTable):
        return [end, _wall(case, side)]
    if end.signal is None:
        time, value, _ = case.drive(side)
        return [end.drive, time.tolist(), value.tolist(), _wall(case, side)]
    own = plain_tables(end, Problems())
    whole = case.time.end if end.signal == "noise" and end.duration is None else None
    return [own, whole, _wall(case, side)]
