"""Initial motion of the beads: reading from a file, and checks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from granchain.case.document import text_of_file
from granchain.case.start import STATE_MARK, state_in, state_of_file
from granchain.case.tables import ChainTable, InitialTable
from granchain.csv_text import csv_numbers, csv_rows
from granchain.keys import Problems, shown
from granchain.plain_data import sha256_of

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
    beads, state = chain.total(), _state_of(table, state)
    riding = {name: own for name in OF_RESONATORS if (own := getattr(table, name)) is not None}
    resonators = chain.attached_masses()[0].size if riding else 0
    for name, numbers in riding.items():
        check_length(f"initial.{name}", numbers, resonators, "resonator", "", problems)
    stated = {name: own for name in MOTION_COLUMNS if (own := getattr(table, name)) is not None}
    text = ""
    if table.file is not None and not stated and not state:
        content = text_of_file("initial.file", table.file, folder, problems, state_of_file)
        if content is None:
            return ""
        text = content
        state = text if text.startswith(STATE_MARK) else ""
    if state or table.state is not None:
        problems.check(
            not riding,
            "initial",
            f"{' and '.join(riding)} and a state are both present",
            "The state already contains the motion",
            "Remove the motion",
        )
        tables["initial"] = read_state(table, state, problems)
        names = {} if table.file is None else {"file": table.file}
        keys["initial"] = names | {"state": sha256_of(state)}
        return state if problems.clear("initial") else ""
    if table.file is None and not stated and not riding:
        problems.add(
            "initial",
            "file, velocity, and displacement are missing",
            "Give at least one of them, or remove the table",
        )
        return ""
    if table.file is not None and stated:
        problems.add(
            "initial",
            f"file and {' and '.join(stated)} are both present",
            "Only one of the two is allowed",
            "Put all values in the file, or all values here",
        )
        return ""
    for name, numbers in stated.items():
        fix = "For some of the beads only, use a file with a column bead"
        check_length(f"initial.{name}", numbers, beads, "bead of the chain", fix, problems)
    if table.file is not None:
        stated = initial_columns(shown(table.file), text, beads, problems)
    for name in stated:
        twice = [place for place, one in chain.places() if getattr(one, name) is not None]
        if twice:
            problems.add(
                f"initial.{name}",
                f"{twice[0]}.{name} is also present",
                "Only one of the two is allowed",
                "Remove one",
            )
    if table.file is not None:
        tables["initial"] = InitialTable(**stated, **riding)
        keys["initial"] = {name: list(values) for name, values in (stated | riding).items()}
    return ""


def _state_of(table: InitialTable, state: str) -> str:
    """Return the state that a table contains, or that its hash refers to; "" if there is none."""
    if table.state is None or table.state.startswith(STATE_MARK):
        return table.state or ""
    return state if state and table.state == sha256_of(state) else ""


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
        all(getattr(table, name) in (None, own) for name, own in first.items()),
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
    if len(numbers) != length and problems.clear(where):
        requirement = f"The list must have {length} numbers, one for each {each}"
        problems.add(where, f"the list has {len(numbers)} numbers", requirement, fix)


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
    sources = [segment for _, segment in chain.places()] + [initial] * (initial is not None)
    return any(np.any(getattr(one, name) or 0.0) for one in sources for name in MOTION_COLUMNS)


def fastest_closing(tables: Mapping[str, Any]) -> float:
    """Return the largest initial approach speed of two neighbours [m/s].

    A wall is a neighbour too. The speed is 0 if none approach each other.
    """
    striker, ends = tables.get("striker"), tables["ends"]
    speeds = bead_values("velocity", tables["chain"], tables.get("initial"))
    left, right = ([0.0] if ends.has_wall(side) else [] for side in ("left", "right"))
    row = np.concatenate([left, [] if striker is None else [striker.speed], speeds, right])
    return float(max(0.0, (-np.diff(row)).max(initial=0.0)))


def bead_values(name: str, chain: ChainTable, initial: InitialTable | None) -> np.ndarray:
    """Return the initial velocity or displacement of each bead, (n_beads,)."""
    own = None if initial is None else getattr(initial, name)
    if own is not None:
        return np.array(own, dtype=float)
    return chain.each(lambda segment: getattr(segment, name) or 0.0)
