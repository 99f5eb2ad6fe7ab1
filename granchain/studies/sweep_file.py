"""Sweep files: studies that a TOML file describes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from granchain.case import load_case
from granchain.case.document import case_names, mechanism_names, parsed, read_text
from granchain.keys import Problems, brief
from granchain.studies.plan import Plan, flat_vary, plan_of

SWEEP_KEYS = ("case", "chained", "how", "measures", "n", "seed", "traces", "vary")


class Description(NamedTuple):
    """Study that a file describes."""

    plan: Plan
    measures: tuple[str, ...]
    chained: bool


def load_sweep(path: str | os.PathLike[str], chained: bool = False) -> Description:
    """Read a SWEEP.toml file; `chained` overrides the value in the file if it is true.

    Raises
    ------
    CaseError
        If the file is invalid. The message lists every error; those of the case are first.
    FileError
        If the file cannot be read.
    """
    file = Path(path)
    document = parsed(read_text(file, "sweep file"), file.name)
    problems = Problems()
    for name in document:
        if name not in SWEEP_KEYS:
            problems.add_unknown(str(name), SWEEP_KEYS)
    named: Any = document.get("case")
    switches: dict[str, Any] = {name: document.get(name, False) for name in ("traces", "chained")}
    measures: Any = document.get("measures", [])
    problems.check(
        isinstance(named, str),
        "case",
        "missing" if named is None else f"{brief(named)} is not valid",
        "It must be the name of a built-in case, or the path of a case file relative to this file",
        'Write for example case = "steel-chain"',
    )
    for name, what in (
        ("traces", "store the forces of the sensors"),
        ("chained", "start each run from the end of the previous run"),
    ):
        problems.check(
            isinstance(switches[name], bool),
            name,
            f"{brief(switches[name])} is not valid",
            f"It must be true or false. Write true to {what}",
        )
    problems.check(
        isinstance(measures, list) and all(isinstance(measure, str) for measure in measures),
        "measures",
        f"{brief(measures)} is not valid",
        "It must be a list of names",
        'Write for example ["second_moment"]',
    )
    problems.close()
    case = case_of_study(named, file.parent)
    vary: Any = document.get("vary")
    if isinstance(vary, dict):
        vary = dict(flat_vary(vary))
    settings = {key: document[key] for key in ("how", "n", "seed") if key in document}
    chained = chained or switches["chained"]
    if chained and settings.get("how", "product") == "product":
        # members of a chained study are in a row
        settings["how"] = "zip"
    requested = ("pulse", *measures, *(["traces"] if switches["traces"] else []))
    return Description(plan_of(case, vary, **settings), requested, chained)


def case_of_study(name: str, folder: Path) -> Any:
    """Return the case of a chain or of a mechanism that a sweep file names."""
    import granchain

    if name in case_names():
        return load_case(name)
    if name in mechanism_names():
        return granchain.load_mechanism(name)
    path = folder / name
    is_mechanism = "mechanism" in parsed(read_text(path, "case file"), path.name)
    return granchain.load_mechanism(path) if is_mechanism else load_case(path)
