"""Checks of a case: key by key, against the contact law's own declaration, and across keys.

A check across keys rests only on keys of which nothing wrong has been told, so that one slip gives one sentence and all slips are told at
once. Nothing here makes an array of the chain: sizes are refused from the counts alone.
"""

from __future__ import annotations

import math
import re
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from granchain.case_schema import (
    TABLES,
    Body,
    ChainTable,
    ContactTable,
    DriveTable,
    EndsTable,
    EnergyTable,
    Heading,
    Problems,
    SensorsTable,
    StrikerTable,
    TimeTable,
    body,
    in_si,
    in_unit,
    read_table,
    shown,
    suggestion,
    tell_missing,
)
from granchain.chain import BEAD_STEPS
from granchain.contact import laws
from granchain.contact.guard import Elastoplastic
from granchain.contact.law import ContactLaw
from granchain.material import Material

# The deepest keys, such as chain.segment.0.material.density, are five levels down; the rest is room.
DEPTH = 12
# Ours: a drive table of this size holds some 400,000 rows.
DRIVE_BYTES = 16 * 2**20
# Memory that one run may take, ours: half of a common workstation's 16 GiB.
MEMORY = 8 * 2**30
# Arrays of a number per body that chain, pair and engine hold at once, counted generously; the law's own come on top.
ARRAYS = 40

Drive = tuple[np.ndarray, np.ndarray]


def plain(value: Any, problems: Problems, where: str = "", depth: int = 0) -> Any:
    """A copy in Python's own types, tables without None; refuses nesting and integers that no case holds."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Material):
        value = asdict(value)
    if depth > DEPTH:
        problems.add(where, "tables in tables", f"{DEPTH} levels", "take them out")
    elif isinstance(value, (Mapping, BaseModel)):
        parts = ((str(name), plain(part, problems, f"{where}.{name}".lstrip("."), depth + 1)) for name, part in dict(value).items())
        return {name: part for name, part in parts if part is not None}
    elif isinstance(value, (list, tuple)):
        return [plain(part, problems, f"{where}.{i}", depth + 1) for i, part in enumerate(value)]
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        problems.add(where, "a whole number of more than 64 bits", "64 bits", "write a smaller number")
    else:
        return value
    return None


def known_tables(document: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """The tables that a case has; of others no more is read than their names."""
    top = [*Heading.model_fields, *TABLES]
    for name in document:
        if name not in top:
            problems.add_unknown(str(name), top, "take it out")
    return {name: value for name, value in document.items() if name in top}


def read_tables(document: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """The tables of a case; one that cannot be read is not among them."""
    heading = read_table(Heading, "", {name: document[name] for name in Heading.model_fields if name in document}, problems)
    tables: dict[str, Any] = {} if heading is None else dict(heading)
    for name, model in TABLES.items():
        if name in document:
            table = read_table(model, name, document[name], problems)
            if table is not None:
                tables[name] = table
    if "contact" in tables and problems.clear("contact.law"):
        tables["contact"] = ContactTable(**law_table("contact", document["contact"], problems))
    return tables


def law_table(where: str, given: Mapping[str, Any], problems: Problems, base: type[ContactLaw] = ContactLaw) -> dict[str, Any]:
    """A law's inputs, defaults filled, in SI."""
    known = {name: law for name, law in laws().items() if issubclass(law, base)}
    name = given.get("law")
    if not isinstance(name, str) or name not in known:
        allowed = 'a name that "granchain laws" lists' if base is ContactLaw else "an elastoplastic law: " + ", ".join(known)
        advice = suggestion(name, known, "check the name; a law in a file of your own is named by --law-module")
        problems.add(f"{where}.law", "nothing" if name is None else shown(name), allowed, advice)
        return {"law": ""}
    inputs = {quantity.name: quantity for quantity in known[name].inputs}
    for unknown in given:
        if unknown not in inputs and unknown != "law":
            problems.add_unknown(f"{where}.{unknown}", ["law", *inputs], f"take it out, {name} does not know it")
    filled: dict[str, Any] = {"law": name}
    for quantity in inputs.values():
        place, value = f"{where}.{quantity.name}", given.get(quantity.name)
        allowed = quantity.range + (" or a table { law = ..., ... }" if quantity.name == "restitution" else "")
        advice = f"give {quantity.name}: {quantity.meaning}{in_unit(quantity.unit)}"
        if value is None and quantity.required:
            problems.add(place, "nothing", allowed, advice)
        elif value is None:
            filled[quantity.name] = quantity.default
        elif quantity.name == "restitution" and isinstance(value, Mapping):
            filled[quantity.name] = law_table(place, value, problems, Elastoplastic)
        else:
            number = value
            try:
                if isinstance(value, str) and quantity.kind == "number" and value not in quantity.choices:
                    number = in_si(value, quantity.unit)
            except ValueError as error:
                advice = str(error)
            if quantity.problem(number) is not None:
                problems.add(place, shown(value), allowed, suggestion(value, quantity.choices, advice))
            filled[quantity.name] = float(number) if quantity.kind == "number" and isinstance(number, int) else number
    return filled


def check_across(tables: Mapping[str, Any], folder: Path | None, problems: Problems) -> dict[str, Drive]:
    """Check what keys mean to each other, as far as they could be read; returns the tables of driven ends."""
    if not {"chain", "ends"} <= tables.keys():
        return {}
    chain, ends, striker = tables["chain"], tables["ends"], tables.get("striker")
    drives = check_ends(ends, tables.get("time"), folder, problems)
    if problems.clear("chain.segment"):
        check_chain(chain, problems)
        check_striker(chain, striker, problems)
        check_loads(chain, ends, problems)
    if problems.clear("chain", "ends", "striker"):
        check_touching(chain, ends, striker, problems)
    if "sensors" in tables and problems.clear("chain.beads", "chain.segment", "ends", "striker"):
        check_sensors(tables["sensors"], chain, ends, striker, problems)
    if "contact" in tables and problems.clear("chain", "ends", "striker", "contact.impact_speed", "contact.impact_speed_floor"):
        check_impact_speed(tables["contact"], chain, ends, striker, problems)
    if problems.clear("chain.beads", "chain.segment", "sensors", "snapshots", "energy", "time"):
        check_size(tables, problems)
    return drives


def check_chain(chain: ChainTable, problems: Problems) -> None:
    """Beads or segments, each with a radius, a material and a mass."""
    if chain.beads is None and not chain.segment and problems.clear("chain.beads"):
        tell_missing(ChainTable, "beads", "chain.beads", problems)
    if chain.beads is not None and chain.segment:
        problems.add("chain.beads", f"{chain.beads} beside [[chain.segment]]", "one of the two", "take one out")
    for where, segment in chain.places():
        check_body(where, body(segment, chain), problems)


def check_striker(chain: ChainTable, striker: StrikerTable | None, problems: Problems) -> None:
    """The striker is a whole body, like bead 1 in what it does not say."""
    where, first = chain.places()[0]
    if striker is not None and problems.clear(where, "chain.radius", "chain.mass", "chain.material", "striker"):
        check_body("striker", body(striker, body(first, chain)), problems)


def check_body(where: str, kind: Body, problems: Problems) -> None:
    """A body has a radius, a material and a mass."""
    for name in ("radius", "material"):
        if getattr(kind, name) is None and problems.clear(f"{where}.{name}", f"chain.{name}"):
            tell_missing(ChainTable, name, f"{where}.{name}", problems)
    if kind.radius is None or kind.material is None or not problems.clear(f"{where}.mass", "chain.mass"):
        return
    if kind.mass is None:
        advice = "give the mass [kg], or the material's density"
        problems.add(f"{where}.mass", "nothing, of a material without density", "a number above 0", advice)
    elif not 0.0 < kind.mass < math.inf:
        advice = "check both, or give the mass [kg]"
        problems.add(f"{where}.mass", f"{kind.mass:g} from radius and density", "a finite number above 0", advice)


def check_loads(chain: ChainTable, ends: EndsTable, problems: Problems) -> None:
    """A static load needs a closed row, and gravity something to stand on."""
    loads = [name for name in ("precompression", "gravity") if getattr(chain, name)]
    for where, segment in chain.places():
        if loads and chain.gap_after(segment):
            place = "chain.gap" if segment.gap is None else f"{where}.gap"
            advice = f"close the gap, or take out {' and '.join(loads)}"
            problems.add(place, f"a gap with {' and '.join(loads)}", "0 in a chain that carries a load at rest", advice)
    if chain.gravity and not ends.has_wall("right") and problems.clear("ends.right"):
        advice = 'set [ends] right = "wall" or "rigid"'
        problems.add("chain.gravity", f"{chain.gravity:g} without a wall at the right end", "gravity towards a wall", advice)


def check_touching(chain: ChainTable, ends: EndsTable, striker: StrikerTable | None, problems: Problems) -> None:
    """There is at least one contact."""
    if chain.total() == 1 and striker is None and not ends.has_wall("left") and not ends.has_wall("right"):
        problems.add("chain.beads", "1 that has nothing to touch", "two bodies, or a wall", "add beads, a striker or a wall")


def check_ends(ends: EndsTable, time: TimeTable | None, folder: Path | None, problems: Problems) -> dict[str, Drive]:
    """Only elastic walls have a material; a driven end has one table, that can be read."""
    drives = {}
    for side in ("left", "right"):
        end, where = getattr(ends, side), f"ends.{side}"
        driven = isinstance(end, DriveTable)
        if getattr(ends, f"{side}_material") is not None and (end in ("free", "rigid") or (driven and end.drive == "force")):
            got = f"a material beside {shown(end) if not driven else 'a driven force'}"
            advice = f'set {side} = "wall", or take it out'
            if problems.clear(where):
                problems.add(f"{where}_material", got, 'a material of a "wall" or of a driven displacement', advice)
        if driven:
            drive = read_drive(where, end, folder, problems)
            if drive is not None and check_drive(where, *drive, time, problems):
                drives[side] = drive
    return drives


_ROW = re.compile(r"[ \t]*([-+.0-9eE]{1,40})[ \t]*,[ \t]*([-+.0-9eE]{1,40})[ \t]*")
# A first line that begins like a number is no header.
_HEADER = re.compile(r"[ \t]*[^-+.0-9 \t].*")


def read_drive(where: str, end: DriveTable, folder: Path | None, problems: Problems) -> Drive | None:
    """Columns of a driven end's table, from its file or its lists; None where there are none."""
    if end.file is None and end.time is not None and end.value is not None:
        return np.array(end.time, dtype=float), np.array(end.value, dtype=float)
    if end.file is None or end.time is not None or end.value is not None:
        got = "neither file, nor both time and value" if end.file is None else "file beside time or value"
        problems.add(where, got, "either file, or both time and value", "give one table")
        return None
    where, name = f"{where}.file", shown(end.file)
    columns = "two columns, time [s] and displacement [m] or force [N]"
    try:
        path = (folder or Path()) / end.file
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(0, "not a file")
        with path.open("rb") as file:
            content = file.read(DRIVE_BYTES + 1)
        lines = content.decode("utf-8-sig").splitlines() if len(content) <= DRIVE_BYTES else []
    except (OSError, ValueError) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or "no such path"
        advice = "check the name, which is looked for from the case file's folder"
        problems.add(where, f"{name} ({reason})", "a CSV file that can be read", advice)
        return None
    if len(content) > DRIVE_BYTES:
        problems.add(where, f"{name} of more than 16 MiB", "at most 16 MiB", "take fewer rows")
        return None
    rows = []
    for i, line in enumerate(lines):
        try:
            match = _ROW.fullmatch(line)
            if match:
                rows.append((float(match[1]), float(match[2])))
                continue
        except ValueError:
            pass
        if line.strip() and not (i == 0 and _HEADER.fullmatch(line)):
            # Its number alone: the file may be anybody's, and a case comes from anywhere.
            problems.add(
                where,
                f"{name}, in which line {i + 1} is no two numbers",
                columns,
                "write a comma between the two and points in the numbers",
            )
            return None
    if not rows:
        problems.add(where, f"{name} without a row", columns, "fill the table")
        return None
    time, value = np.array(rows).T.copy()
    return time, value


def check_drive(where: str, time: np.ndarray, value: np.ndarray, end: TimeTable | None, problems: Problems) -> bool:
    """A drive is finite, goes forward in time, and covers the run."""
    if time.size != value.size or not time.size:
        got = f"{time.size} times and {value.size} values"
        problems.add(where, got, "as many values as times, and at least one", "complete the lists")
    elif not (np.isfinite(time) & np.isfinite(value)).all():
        row = int(np.flatnonzero(~(np.isfinite(time) & np.isfinite(value)))[0])
        problems.add(where, f"a number beyond all bounds in row {row + 1}", "finite numbers", "mend the row")
    elif (np.diff(time) <= 0.0).any():
        row = int(np.flatnonzero(np.diff(time) <= 0.0)[0]) + 1
        got = f"time {time[row]:g} after {time[row - 1]:g} in row {row + 1}"
        problems.add(where, got, "times that grow from row to row", "sort the rows, and take out doubles")
    elif end is not None and problems.clear("time.end") and not (time[0] <= 0.0 and time[-1] >= end.end):
        got = f"times from {time[0]:g} to {time[-1]:g} s"
        problems.add(where, got, f"a table from 0 to the end of the run at {end.end:g} s", "lengthen the table, or shorten the run")
    return problems.clear(where)


def check_sensors(sensors: SensorsTable, chain: ChainTable, ends: EndsTable, striker: StrikerTable | None, problems: Problems) -> None:
    """Sensors stand in beads of the chain, recorded contacts exist, each once."""
    last = chain.total()
    beads = range(1, last + 1)
    contacts = range((1 if striker is None else 0) - int(ends.has_wall("left")), last + int(ends.has_wall("right")))
    numbered = f"contacts {contacts.start} to {contacts.stop - 1}, contact k joining body k and k + 1" if contacts else "none"
    for name, labels, allowed, told in (
        ("beads", sensors.beads, beads, f"beads 1 to {last}"),
        ("contacts", sensors.contacts, contacts, numbered),
    ):
        outside = [label for label in labels if label not in allowed]
        if outside:
            problems.add(f"sensors.{name}", some(outside), told, "take out what is not in the chain")
        doubles = [label for label, times in Counter(labels).items() if times > 1]
        if doubles:
            problems.add(f"sensors.{name}", f"{some(doubles)} more than once", "each once", "take out the doubles")


def some(labels: list[int]) -> str:
    """The first few of a list."""
    return ", ".join(map(str, labels[:5])) + (f" and {len(labels) - 5} more" if len(labels) > 5 else "")


def check_impact_speed(contact: ContactTable, chain: ChainTable, ends: EndsTable, striker: StrikerTable | None, problems: Problems) -> None:
    """A law that asks for an impact speed gets one; contacts that touch at rest have none of their own."""
    speed = getattr(contact, "impact_speed", None)
    if speed == "striker" and striker is None:
        got, allowed = '"striker" in a case without one', 'a number above 0, or "onset"'
        problems.add("contact.impact_speed", got, allowed, "give the speed as a number [m/s], or add a table [striker]")
    if speed == "onset" and getattr(contact, "impact_speed_floor", None) is None and touches_at_rest(chain, ends, striker):
        got, allowed = 'nothing, with "onset" in a chain whose contacts touch at rest', "a number above 0"
        advice = "give the smallest speed [m/s] that the damping term may take: here it decides the result"
        problems.add("contact.impact_speed_floor", got, allowed, advice)


def touches_at_rest(chain: ChainTable, ends: EndsTable, striker: StrikerTable | None) -> bool:
    """Whether any contact is closed at the start without a speed of its own."""
    runs = [(repeat, segment) for repeat, group in chain.groups() for segment in group]
    repeat, last = runs[-1]
    if last.count == 1 and repeat == 1:
        runs.pop()
    closed = any(chain.gap_after(segment) == 0.0 for _, segment in runs)
    return closed or ends.has_wall("right") or (ends.has_wall("left") and striker is None)


def ledger_interval(energy: EnergyTable, time: TimeTable) -> float:
    """Time between entries of the ledger [s]: two hundred in a run unless the case says; the whole run where that is no number."""
    return energy.interval or time.end / 200.0 or time.end


def check_size(tables: Mapping[str, Any], problems: Problems) -> None:
    """Refuse what does not fit, from the counts alone."""
    chain, time, sensors, energy = tables["chain"], tables["time"], tables["sensors"], tables["energy"]
    snapshots = tables.get("snapshots")
    law = laws().get(tables["contact"].law, ContactLaw) if "contact" in tables else ContactLaw
    bodies = chain.total() + (1 if tables.get("striker") else 0)
    step = time.step if isinstance(time.step, float) else 0.0
    beads, longer = "chain.segment" if chain.segment else "chain.beads", "take a longer interval, or an earlier time.end"
    parts = [(8.0 * bodies * (ARRAYS + len(law.coefficients) + len(law.history)), beads, f"{bodies} bodies", "take fewer beads")]
    # Numbers per row: the time and what is recorded at it; the ledger has seven energies.
    for name, interval, numbers in (
        ("sensors", sensors.interval, 1 + len(sensors.beads) + 2 * len(sensors.contacts)),
        ("snapshots", snapshots.interval if snapshots else math.inf, 1 + 2 * bodies),
        ("energy", ledger_interval(energy, time) if energy.ledger else math.inf, 1 + 7),
    ):
        rows = time.end / max(interval, step)
        parts.append((8.0 * rows * numbers, f"{name}.interval", f"{rows:.3g} rows of {numbers} numbers", longer))
    total = sum(size for size, *_ in parts)
    if total > MEMORY:
        # More bodies than fit make everything else large: only they are told then.
        guilty = parts[:1] if parts[0][0] > MEMORY else [part for part in parts if part[0] > MEMORY] or [max(parts)]
        for size, place, got, advice in guilty:
            got = f"{got} ({size / 2**30:.3g} of {total / 2**30:.3g} GiB)"
            problems.add(place, got, f"{MEMORY // 2**30} GiB for the whole run", advice)
    if step and bodies * (time.end / step) > BEAD_STEPS:
        problems.add("time.step", f"{time.end / step:.3g} steps of {bodies} bodies", f"{BEAD_STEPS:g} bead-steps", "take a longer step")
    if step > time.end:
        problems.add("time.step", f"{step:g}, longer than the run", f"at most time.end, {time.end:g}", "take a shorter step")
