"""Checks of a case: key by key, against the contact law's own declaration, and across keys.

A check across keys uses only keys without a mistake found so far, so that one slip gives one sentence and all slips are reported
together. Nothing here makes an array of the chain: sizes are refused from the counts alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from granchain.case.document import some
from granchain.case.drives import check_drive, check_signal, read_drive
from granchain.case.files import Files
from granchain.case.initial import fastest_closing, read_initial
from granchain.case.pairs import check_pairs, read_pairs
from granchain.case.signals import Drive
from granchain.case.tables import (
    ALL,
    TABLES,
    Body,
    ChainContactTable,
    ChainTable,
    ContactTable,
    DriveTable,
    EndsTable,
    EnergyTable,
    HeadingTable,
    SensorsTable,
    StrikerTable,
    TimeTable,
    ToleranceTable,
    body_like,
    ranges_of,
)
from granchain.case.tolerances import check_tolerances, tolerances_of
from granchain.chain import BEAD_STEPS, hanging
from granchain.contact import laws
from granchain.contact.inputs import Slip, chosen, filled
from granchain.contact.law import ContactLaw
from granchain.keys import Problems, add_missing, in_si, read_table, shown, suggestion

# Memory that one run may take, ours: half of a common workstation's 16 GiB.
MEMORY = 8 * 2**30
# Arrays of a number per body that chain, pair and engine hold at once, counted generously; the law's own come on top.
ARRAYS = 40
# Sensors that words may stand for, ours: at one sample each already 8 MB.
MOST_LABELS = 1_000_000
# Numbers of a body, and of the contact beside it, in an output file: labels, radius, mass, motion at the end, peak, losses, history.
PER_BODY = 20


def known_tables(document: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """The tables that a case has; of others no more is read than their names."""
    top = [*HeadingTable.model_fields, *TABLES]
    for name in document:
        if name not in top:
            problems.add_unknown(str(name), top, "take it out")
    return {name: value for name, value in document.items() if name in top}


def read_tables(document: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """The tables of a case; one that cannot be read is not among them."""
    read_table(HeadingTable, "", {name: document[name] for name in HeadingTable.model_fields if name in document}, problems)
    tables: dict[str, Any] = {}
    for name, model in TABLES.items():
        if name in document:
            given = document[name]
            if name == "contact" and isinstance(given, Mapping):
                given = {key: value for key, value in given.items() if key != "pair"}
            table = read_table(model, name, given, problems)
            if table is not None:
                tables[name] = table
    if "contact" in tables and problems.clear("contact.law"):
        given = dict(document["contact"])
        pairs = given.pop("pair", None)
        values = law_table("contact", given, problems)
        tables["contact"] = ChainContactTable(**values, pair=read_pairs(pairs, laws().get(values["law"]), problems))
    if "tolerance" in tables:
        tables["tolerance"] = ToleranceTable(**tolerances_of(tables["tolerance"], "tolerance", problems))
    return tables


def law_table(where: str, given: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """A law's inputs, defaults filled, in SI."""
    law = chosen(given.get("law"))
    if isinstance(law, Slip):
        values, slips = {"law": ""}, [law]
    else:
        values, slips = filled(law, {name: value for name, value in given.items() if name != "law"}, in_si)
        values = {"law": law.name, **values}
    for slip in slips:
        place = f"{where}.{slip.place}"
        if slip.unknown:
            problems.add_unknown(place, ["law", *slip.words], slip.advice)
        else:
            advice = suggestion(slip.got, slip.words, slip.advice)
            problems.add(place, "nothing" if slip.got is None else shown(slip.got), slip.allowed, advice)
    return values


def check_across(tables: Mapping[str, Any], files: Files, problems: Problems) -> dict[str, Drive]:
    """Check what keys mean to each other, as far as they could be read; returns the tables of driven ends."""
    if not {"chain", "ends"} <= tables.keys():
        return {}
    chain, ends, striker, contact = tables["chain"], tables["ends"], tables.get("striker"), tables.get("contact")
    drives = check_ends(ends, tables.get("time"), files, problems)
    if problems.clear("chain.segment"):
        check_chain(chain, problems)
        check_striker(chain, striker, problems)
        check_support(chain, ends, problems)
    if problems.clear("chain", "ends", "striker"):
        check_touching(chain, ends, striker, problems)
    if "sensors" in tables and problems.clear("chain.beads", "chain.segment", "ends", "striker"):
        check_sensors(tables["sensors"], chain, ends, striker, problems)
    if contact and problems.clear("chain", "ends", "striker", "initial", "contact.impact_speed", "contact.impact_speed_floor"):
        check_impact_speed(contact, tables, problems)
    if contact and contact.pair and problems.clear("chain", "ends", "striker", "contact.law"):
        check_pairs(contact, tables, problems)
    if problems.clear("chain.beads", "chain.segment", "sensors", "snapshots", "energy", "time"):
        check_size(tables, problems)
    if tables.get("tolerance") is not None and problems.clear("contact.law", "chain.segment"):
        check_tolerances(tables, dict(tables["tolerance"]), "tolerance", problems)
    return drives


def put_initial(tables: dict[str, Any], files: Files, problems: Problems) -> None:
    """Put the numbers of all beads in place of what [initial] says."""
    initial = tables.get("initial")
    if initial is not None and "chain" in tables and problems.clear("chain.beads", "chain.segment", "initial"):
        tables["initial"] = read_initial(initial, tables["chain"], files, problems)


def check_chain(chain: ChainTable, problems: Problems) -> None:
    """Beads or segments, each with a radius, a material and a mass."""
    if chain.beads is None and not chain.segment and problems.clear("chain.beads"):
        add_missing(ChainTable, "beads", "chain.beads", problems)
    if chain.beads is not None and chain.segment:
        problems.add("chain.beads", f"{chain.beads} beside [[chain.segment]]", "one of the two", "take one out")
    for where, segment in chain.places():
        check_body(where, body_like(segment, chain), problems)
    check_disorder(chain, problems)


def check_disorder(chain: ChainTable, problems: Problems) -> None:
    """A factor for every bead, a number for every gap, and no gap below 0."""
    if not problems.clear("chain.beads"):
        return
    beads = chain.total()
    for name, length, each in (
        ("radius_factor", beads, "bead"),
        ("mass_factor", beads, "bead"),
        ("modulus_factor", beads, "bead"),
        ("gap_added", beads - 1, "gap"),
    ):
        given = getattr(chain, name)
        if given is not None and len(given) != length and problems.clear(f"chain.{name}"):
            advice = f"give one for each {each}, or take it out"
            problems.add(f"chain.{name}", f"{len(given)} numbers", f"{length}, one for each {each} of the chain", advice)
    if problems.clear("chain"):
        check_factors(chain, problems)
    if chain.gap_added is None or not problems.clear("chain.gap_added", "chain.gap"):
        return
    for i, (gap, added) in enumerate(zip(chain.gaps(), chain.gap_added, strict=True)):
        if gap + added < 0.0:
            problems.add(f"chain.gap_added.{i}", f"{added:g} on a gap of {gap:g}", f"a number from {0.0 - gap:g}", "raise it, or the gap")
            return


def check_factors(chain: ChainTable, problems: Problems) -> None:
    """Radius, mass and modulus of every bead are numbers above 0 also with their factors."""
    ends = {}
    for name in ("radius_factor", "mass_factor", "modulus_factor"):
        given = getattr(chain, name) or (1.0,)
        ends[name] = (min(given), max(given))
    sizes = ends["radius_factor"]
    masses = [size * size * size * factor for size, factor in zip(sizes, ends["mass_factor"], strict=True)]
    for name, factors, of in (
        ("radius_factor", sizes, lambda kind: kind.radius),
        ("mass_factor" if chain.mass_factor else "radius_factor", masses, lambda kind: kind.mass),
        ("modulus_factor", ends["modulus_factor"], lambda kind: kind.material.youngs_modulus),
    ):
        values = [of(body_like(segment, chain)) * factor for _, segment in chain.places() for factor in factors]
        if not all(0.0 < value < math.inf for value in values):
            got = f"factors from {factors[0]:g} to {factors[1]:g}"
            problems.add(f"chain.{name}", got, "factors whose products are finite and above 0", "take factors nearer to 1")


def check_striker(chain: ChainTable, striker: StrikerTable | None, problems: Problems) -> None:
    """The striker is a whole body, like bead 1 in what is not given for it."""
    where, first = chain.places()[0]
    if striker is not None and problems.clear(where, "chain.radius", "chain.mass", "chain.material", "striker"):
        check_body("striker", body_like(striker, body_like(first, chain)), problems)


def check_body(where: str, kind: Body, problems: Problems) -> None:
    """A body has a radius, a material and a mass."""
    for name in ("radius", "material"):
        if getattr(kind, name) is None and problems.clear(f"{where}.{name}", f"chain.{name}"):
            add_missing(ChainTable, name, f"{where}.{name}", problems)
    if kind.radius is None or kind.material is None or not problems.clear(f"{where}.mass", "chain.mass"):
        return
    if kind.mass is None:
        advice = "give the mass [kg], or the material's density"
        problems.add(f"{where}.mass", "nothing, of a material without density", "a number above 0", advice)
    elif not 0.0 < kind.mass < math.inf:
        advice = "check both, or give the mass [kg]"
        problems.add(f"{where}.mass", f"{kind.mass:g} from radius and density", "a finite number above 0", advice)


def check_support(chain: ChainTable, ends: EndsTable, problems: Problems) -> None:
    """A static load needs a closed row, and gravity a wall to press the row on."""
    loads = [name for name in ("precompression", "gravity") if getattr(chain, name)]
    for where, segment in chain.places():
        if loads and chain.gap_after(segment):
            place = "chain.gap" if segment.gap is None else f"{where}.gap"
            advice = f"close the gap, or take out {' and '.join(loads)}"
            problems.add(place, f"a gap with {' and '.join(loads)}", "0 in a chain that carries a load at rest", advice)
    if loads and any(chain.gap_added or ()):
        advice = f"take out gap_added or {' and '.join(loads)}"
        problems.add("chain.gap_added", f"gaps with {' and '.join(loads)}", "0 in a chain that carries a load at rest", advice)
    for fault in hanging(chain.gravity, ends.has_wall("right")) if problems.clear("ends.right") else ():
        problems.add(*fault)


def check_touching(chain: ChainTable, ends: EndsTable, striker: StrikerTable | None, problems: Problems) -> None:
    """There is at least one contact."""
    if chain.total() == 1 and striker is None and not ends.has_wall("left") and not ends.has_wall("right"):
        problems.add("chain.beads", "1 that has nothing to touch", "two bodies, or a wall", "add beads, a striker or a wall")


def check_ends(ends: EndsTable, time: TimeTable | None, files: Files, problems: Problems) -> dict[str, Drive]:
    """Only elastic walls have a material; a driven end has one table that can be read, or a signal."""
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
            drive = read_drive(where, end, files, problems)
            if end.signal is not None and problems.clear(where):
                check_signal(where, end, time, problems)
            if drive is not None and check_drive(where, end.drive, drive, time, problems):
                drives[side] = drive
    return drives


def numbers_along(chain: ChainTable, ends: EndsTable, striker: StrikerTable | None) -> tuple[range, range]:
    """Numbers of the beads and of the contacts of a chain."""
    last = chain.total()
    contacts = range((1 if striker is None else 0) - int(ends.has_wall("left")), last + int(ends.has_wall("right")))
    return range(1, last + 1), contacts


def listed(tables: dict[str, Any], problems: Problems) -> None:
    """Put numbers in place of words under [sensors]: of all beads, or of ranges."""
    sensors: Any = tables.get("sensors")
    if sensors is None or not any(isinstance(words, str) for words in (sensors.beads, sensors.contacts)):
        return
    numbers: dict[str, tuple[int, ...]] = {}
    known = {"chain", "ends"} <= tables.keys() and problems.clear("chain.beads", "chain.segment", "ends", "striker")
    allowed = numbers_along(tables["chain"], tables["ends"], tables.get("striker")) if known else (range(0), range(0))
    for name, there in zip(("beads", "contacts"), allowed, strict=True):
        words = getattr(sensors, name)
        if not isinstance(words, str):
            continue
        ranges = [there] if words == ALL else ranges_of(words)
        numbers[name] = ()
        outside = [part for part in ranges if part and (part[0] not in there or part[-1] not in there)]
        if not known:
            continue
        if outside:
            advice = "take out what is not in the chain"
            problems.add(f"sensors.{name}", shown(words), f"{name} {there[0]} to {there[-1]}" if there else "none", advice)
        elif sum(map(len, ranges)) > MOST_LABELS:
            got = f"{sum(map(len, ranges))} {name}"
            problems.add(f"sensors.{name}", got, f"at most {MOST_LABELS}", f'give a step, such as "{there[0]}-{there[-1]}:100"')
        else:
            numbers[name] = tuple(number for part in ranges for number in part)
    tables["sensors"] = sensors.model_copy(update=numbers)


def check_sensors(sensors: SensorsTable, chain: ChainTable, ends: EndsTable, striker: StrikerTable | None, problems: Problems) -> None:
    """Sensors stand in beads of the chain, recorded contacts exist, each once."""
    beads, contacts = numbers_along(chain, ends, striker)
    last = beads[-1]
    numbered = f"contacts {contacts.start} to {contacts.stop - 1}, contact k joining body k and k + 1" if contacts else "none"
    for name, labels, allowed, range_in_words in (
        ("beads", sensors.beads, beads, f"beads 1 to {last}"),
        ("contacts", sensors.contacts, contacts, numbered),
    ):
        outside = [label for label in labels if label not in allowed]
        if outside:
            problems.add(f"sensors.{name}", some(outside), range_in_words, "take out what is not in the chain")
        doubles = [label for label, times in Counter(labels).items() if times > 1]
        if doubles:
            problems.add(f"sensors.{name}", f"{some(doubles)} more than once", "each once", "take out the doubles")


def check_impact_speed(contact: ContactTable, tables: Mapping[str, Any], problems: Problems) -> None:
    """A law that asks for an impact speed gets one; contacts that touch at rest have none of their own."""
    chain, ends, striker = tables["chain"], tables["ends"], tables.get("striker")
    speed = getattr(contact, "impact_speed", None)
    if speed == "striker" and striker is None and not fastest_closing(tables):
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
    if chain.gap_added is None:
        closed = any(chain.gap_after(segment) == 0.0 for _, segment in runs)
    else:
        closed = any(gap + added == 0.0 for gap, added in zip(chain.gaps(), chain.gap_added, strict=True))
    return closed or ends.has_wall("right") or (ends.has_wall("left") and striker is None)


def ledger_interval(energy: EnergyTable, time: TimeTable) -> float:
    """Time between entries of the ledger [s]: two hundred in a run unless the case gives it; the whole run where that is no number."""
    return energy.interval or time.end / 200.0 or time.end


def check_size(tables: Mapping[str, Any], problems: Problems) -> None:
    """Refuse what does not fit, from the counts alone."""
    time, parts = tables["time"], sizes(tables)
    total = sum(size for size, *_ in parts)
    if total > MEMORY:
        # More bodies than fit make everything else large: only they are reported then.
        too_large = parts[:1] if parts[0][0] > MEMORY else [part for part in parts if part[0] > MEMORY] or [max(parts)]
        for size, place, got, advice in too_large:
            got = f"{got} ({size / 2**30:.3g} of {total / 2**30:.3g} GiB)"
            problems.add(place, got, f"{MEMORY // 2**30} GiB for the whole run", advice)
    step, bodies = time.step if isinstance(time.step, float) else 0.0, bodies_in(tables)
    if step and bodies * (time.end / step) > BEAD_STEPS:
        problems.add("time.step", f"{time.end / step:.3g} steps of {bodies} bodies", f"{BEAD_STEPS:g} bead-steps", "take a longer step")
    if step > time.end:
        problems.add("time.step", f"{step:g}, longer than the run", f"at most time.end, {time.end:g}", "take a shorter step")


def bodies_in(tables: Mapping[str, Any]) -> int:
    """Beads, and the striker where there is one."""
    return int(tables["chain"].total() + (1 if tables.get("striker") else 0))


def sizes(tables: Mapping[str, Any]) -> list[tuple[float, str, str, str]]:
    """Memory that each part of a run takes [bytes], with the key that decides it, what it is, and what makes it smaller."""
    chain, time, sensors, energy = tables["chain"], tables["time"], tables["sensors"], tables["energy"]
    snapshots = tables.get("snapshots")
    law = laws().get(tables["contact"].law, ContactLaw) if "contact" in tables else ContactLaw
    bodies = bodies_in(tables)
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
    return parts
