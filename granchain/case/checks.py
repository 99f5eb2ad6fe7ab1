"""Checks of a case: key by key, against the contact law's own declaration, and across keys.

A check across keys uses only keys without a mistake found so far, so that one slip gives one
sentence and all slips are reported together. Nothing here makes an array of the chain: sizes are
refused from the counts alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from granchain.case.document import first_few
from granchain.case.drives import check_drive, check_signal, read_drive
from granchain.case.files import Files
from granchain.case.initial import fastest_closing, read_initial
from granchain.case.pairs import check_pairs
from granchain.case.signals import Drive
from granchain.case.tables import (
    ALL,
    Body,
    ChainTable,
    ContactTable,
    DriveTable,
    EndsTable,
    EnergyTable,
    SensorsTable,
    StrikerTable,
    TimeTable,
    body_like,
    ranges_of,
)
from granchain.case.tolerances import check_tolerances
from granchain.chain import BEAD_STEPS, hanging
from granchain.contact import laws
from granchain.contact.law import ContactLaw
from granchain.keys import Problems, add_missing, shown

# Memory that one run may take, ours: half of a common workstation's 16 GiB.
MEMORY = 8 * 2**30
# Arrays of a number per body that chain, pair and engine hold at once, counted generously; the
# law's own come on top.
ARRAYS = 40
# Sensors that words may stand for, ours: at one sample each already 8 MB.
MOST_LABELS = 1_000_000
# Numbers of a body, and of the contact beside it, in an output file: labels, radius, mass, motion
# at the end, peak, losses, history.
PER_BODY = 20


def check_across(tables: dict[str, Any], files: Files, problems: Problems) -> dict[str, Drive]:
    """Check what keys mean to each other, as far as they could be read; tables of driven ends.

    Numbers take the place of words under [sensors], and those of all beads that of a file under
    [initial].
    """
    at_start, readable = (
        tables.get("initial"),
        problems.clear("chain.beads", "chain.segment", "initial"),
    )
    if at_start is not None and "chain" in tables and readable:
        tables["initial"] = read_initial(at_start, tables["chain"], files, problems)
    if not {"chain", "ends"} <= tables.keys():
        return {}
    chain, ends = tables["chain"], tables["ends"]
    striker, contact = tables.get("striker"), tables.get("contact")
    if "sensors" in tables:
        tables["sensors"] = read_labels(tables["sensors"], chain, ends, striker, problems)
    drives = check_ends(ends, tables.get("time"), files, problems)
    if problems.clear("chain.segment"):
        check_chain(chain, problems)
        where, first = chain.places()[0]
        if striker is not None and problems.clear(
            where, "chain.radius", "chain.mass", "chain.material", "striker"
        ):
            check_body("striker", body_like(striker, body_like(first, chain)), problems)
        check_support(chain, ends, problems)
    if problems.clear("chain", "ends", "striker"):
        walls = ends.has_wall("left") or ends.has_wall("right")
        if chain.total() == 1 and striker is None and not walls:
            advice = "add beads, a striker or a wall"
            problems.add(
                "chain.beads", "1 that has nothing to touch", "two bodies, or a wall", advice
            )
    if "sensors" in tables and problems.clear("chain.beads", "chain.segment", "ends", "striker"):
        check_sensors(tables["sensors"], chain, ends, striker, problems)
    if contact and problems.clear(
        "chain", "ends", "striker", "initial", "contact.impact_speed", "contact.impact_speed_floor"
    ):
        check_impact_speed(contact, tables, problems)
    if contact and contact.pair and problems.clear("chain", "ends", "striker", "contact.law"):
        check_pairs(contact, tables, problems)
    if "time" in tables and problems.clear(
        "chain.beads", "chain.segment", "sensors", "snapshots", "energy", "time"
    ):
        check_size(tables, problems)
    if tables.get("tolerance") is not None and problems.clear("contact.law", "chain.segment"):
        check_tolerances(tables, dict(tables["tolerance"]), "tolerance", problems)
    return drives


def check_chain(chain: ChainTable, problems: Problems) -> None:
    """Beads or segments, each with a radius, a material and a mass."""
    if chain.beads is None and not chain.segment and problems.clear("chain.beads"):
        add_missing(ChainTable, "beads", "chain.beads", problems)
    if chain.beads is not None and chain.segment:
        problems.add(
            "chain.beads",
            f"{chain.beads} beside [[chain.segment]]",
            "one of the two",
            "take one out",
        )
    for where, segment in chain.places():
        check_body(where, body_like(segment, chain), problems)
    check_disorder(chain, problems)


def check_disorder(chain: ChainTable, problems: Problems) -> None:
    """A factor for every bead, a number for every gap, and no gap below 0."""
    if not problems.clear("chain.beads"):
        return
    factors = ("radius_factor", "mass_factor", "modulus_factor")
    lengths = dict.fromkeys(factors, (chain.total(), "bead"))
    for name, (length, each) in (lengths | {"gap_added": (chain.total() - 1, "gap")}).items():
        given = getattr(chain, name)
        if given is not None and len(given) != length and problems.clear(f"chain.{name}"):
            advice = f"give one for each {each}, or take it out"
            problems.add(
                f"chain.{name}",
                f"{len(given)} numbers",
                f"{length}, one for each {each} of the chain",
                advice,
            )
    if problems.clear("chain"):
        check_factors(chain, problems)
    if chain.gap_added is None or not problems.clear("chain.gap_added", "chain.gap"):
        return
    for i, (gap, added) in enumerate(zip(chain.gaps(), chain.gap_added, strict=True)):
        if gap + added < 0.0:
            problems.add(
                f"chain.gap_added.{i}",
                f"{added:g} on a gap of {gap:g}",
                f"a number from {0.0 - gap:g}",
                "raise it, or the gap",
            )
            return


def check_factors(chain: ChainTable, problems: Problems) -> None:
    """Radius, mass and modulus of every bead are numbers above 0 also with their factors."""
    ends = {}
    for name in ("radius_factor", "mass_factor", "modulus_factor"):
        given = getattr(chain, name) or (1.0,)
        ends[name] = (min(given), max(given))
    sizes = ends["radius_factor"]
    masses = [
        size * size * size * factor for size, factor in zip(sizes, ends["mass_factor"], strict=True)
    ]
    for name, factors, of in (
        ("radius_factor", sizes, lambda kind: kind.radius),
        ("mass_factor" if chain.mass_factor else "radius_factor", masses, lambda kind: kind.mass),
        ("modulus_factor", ends["modulus_factor"], lambda kind: kind.material.youngs_modulus),
    ):
        values = [
            of(body_like(segment, chain)) * factor
            for _, segment in chain.places()
            for factor in factors
        ]
        if not all(0.0 < value < math.inf for value in values):
            got = f"factors from {factors[0]:g} to {factors[1]:g}"
            problems.add(
                f"chain.{name}",
                got,
                "factors whose products are finite and above 0",
                "take factors nearer to 1",
            )


def check_body(where: str, kind: Body, problems: Problems) -> None:
    """A body has a radius, a material and a mass."""
    for name in ("radius", "material"):
        if getattr(kind, name) is None and problems.clear(f"{where}.{name}", f"chain.{name}"):
            add_missing(ChainTable, name, f"{where}.{name}", problems)
    if (
        kind.radius is None
        or kind.material is None
        or not problems.clear(f"{where}.mass", "chain.mass")
    ):
        return
    if kind.mass is None:
        advice = "give the mass [kg], or the material's density"
        problems.add(
            f"{where}.mass", "nothing, of a material without density", "a number above 0", advice
        )
    elif not 0.0 < kind.mass < math.inf:
        advice = "check both, or give the mass [kg]"
        problems.add(
            f"{where}.mass",
            f"{kind.mass:g} from radius and density",
            "a finite number above 0",
            advice,
        )


def check_support(chain: ChainTable, ends: EndsTable, problems: Problems) -> None:
    """A static load needs a closed row, and gravity a wall to press the row on."""
    loads = [name for name in ("precompression", "gravity") if getattr(chain, name)]
    for where, segment in chain.places():
        if loads and chain.of_segment(segment, "gap"):
            place = "chain.gap" if segment.gap is None else f"{where}.gap"
            advice = f"close the gap, or take out {' and '.join(loads)}"
            problems.add(
                place,
                f"a gap with {' and '.join(loads)}",
                "0 in a chain that carries a load at rest",
                advice,
            )
    if loads and any(chain.gap_added or ()):
        advice = f"take out gap_added or {' and '.join(loads)}"
        problems.add(
            "chain.gap_added",
            f"gaps with {' and '.join(loads)}",
            "0 in a chain that carries a load at rest",
            advice,
        )
    for fault in (
        hanging(chain.gravity, ends.has_wall("right")) if problems.clear("ends.right") else ()
    ):
        problems.add(*fault)


def check_ends(
    ends: EndsTable, time: TimeTable | None, files: Files, problems: Problems
) -> dict[str, Drive]:
    """Only elastic walls have a material; a driven end has one table that can be read, or a
    signal."""
    drives = {}
    for side in ("left", "right"):
        end, where = getattr(ends, side), f"ends.{side}"
        driven = isinstance(end, DriveTable)
        if getattr(ends, f"{side}_material") is not None and (
            end in ("free", "rigid") or (driven and end.drive == "force")
        ):
            got = f"a material beside {shown(end) if not driven else 'a driven force'}"
            advice = f'set {side} = "wall", or take it out'
            if problems.clear(where):
                problems.add(
                    f"{where}_material",
                    got,
                    'a material of a "wall" or of a driven displacement',
                    advice,
                )
        if driven:
            drive = read_drive(where, end, files, problems)
            if end.signal is not None and problems.clear(where):
                check_signal(where, end, time, problems)
            if drive is not None and check_drive(where, end.drive, drive, time, problems):
                drives[side] = drive
    return drives


def numbers_along(
    chain: ChainTable, ends: EndsTable, striker: StrikerTable | None
) -> tuple[range, range]:
    """Numbers of the beads and of the contacts of a chain."""
    last = chain.total()
    contacts = range(
        (1 if striker is None else 0) - int(ends.has_wall("left")),
        last + int(ends.has_wall("right")),
    )
    return range(1, last + 1), contacts


def read_labels(
    sensors: SensorsTable,
    chain: ChainTable,
    ends: EndsTable,
    striker: StrikerTable | None,
    problems: Problems,
) -> SensorsTable:
    """Numbers in place of words under [sensors]: of all beads, or of ranges."""
    given = {name: getattr(sensors, name) for name in ("beads", "contacts")}
    words = {name: text for name, text in given.items() if isinstance(text, str)}
    numbers: dict[str, tuple[int, ...]] = dict.fromkeys(words, ())
    if words and problems.clear("chain.beads", "chain.segment", "ends", "striker"):
        allowed = dict(zip(given, numbers_along(chain, ends, striker), strict=True))
        for name, text in words.items():
            known = allowed[name]
            ranges = [known] if text == ALL else ranges_of(text)
            count = sum(map(len, ranges))
            if any(
                labels and (labels[0] not in known or labels[-1] not in known) for labels in ranges
            ):
                in_words = f"{name} {known[0]} to {known[-1]}" if known else "none"
                problems.add(
                    f"sensors.{name}", shown(text), in_words, "take out what is not in the chain"
                )
            elif count > MOST_LABELS:
                advice = f'give a step, such as "{known[0]}-{known[-1]}:100"'
                problems.add(f"sensors.{name}", f"{count} {name}", f"at most {MOST_LABELS}", advice)
            else:
                numbers[name] = tuple(label for labels in ranges for label in labels)
    return sensors.model_copy(update=numbers)


def check_sensors(
    sensors: SensorsTable,
    chain: ChainTable,
    ends: EndsTable,
    striker: StrikerTable | None,
    problems: Problems,
) -> None:
    """Sensors stand in beads of the chain, recorded contacts exist, each once."""
    beads, contacts = numbers_along(chain, ends, striker)
    last = beads[-1]
    numbered = (
        f"contacts {contacts.start} to {contacts.stop - 1}, contact k joining body k and k + 1"
        if contacts
        else "none"
    )
    for name, labels, allowed, range_in_words in (
        ("beads", sensors.beads, beads, f"beads 1 to {last}"),
        ("contacts", sensors.contacts, contacts, numbered),
    ):
        outside = [label for label in labels if label not in allowed]
        if outside:
            problems.add(
                f"sensors.{name}",
                first_few(outside),
                range_in_words,
                "take out what is not in the chain",
            )
        doubles = [label for label, times in Counter(labels).items() if times > 1]
        if doubles:
            problems.add(
                f"sensors.{name}",
                f"{first_few(doubles)} more than once",
                "each once",
                "take out the doubles",
            )


def check_impact_speed(
    contact: ContactTable, tables: Mapping[str, Any], problems: Problems
) -> None:
    """A law that asks for an impact speed gets one; contacts that touch at rest have none of
    their own."""
    chain, ends, striker = tables["chain"], tables["ends"], tables.get("striker")
    speed = getattr(contact, "impact_speed", None)
    if speed == "striker" and striker is None and not fastest_closing(tables):
        got, allowed = '"striker" in a case without one', 'a number above 0, or "onset"'
        problems.add(
            "contact.impact_speed",
            got,
            allowed,
            "give the speed as a number [m/s], or add a table [striker]",
        )
    if (
        speed == "onset"
        and getattr(contact, "impact_speed_floor", None) is None
        and touches_at_rest(chain, ends, striker)
    ):
        got, allowed = (
            'nothing, with "onset" in a chain whose contacts touch at rest',
            "a number above 0",
        )
        advice = (
            "give the smallest speed [m/s] that the damping term may take: here it decides the "
            "result"
        )
        problems.add("contact.impact_speed_floor", got, allowed, advice)


def touches_at_rest(chain: ChainTable, ends: EndsTable, striker: StrikerTable | None) -> bool:
    """Whether any contact is closed at the start without a speed of its own."""
    runs = [(repeat, segment) for repeat, group in chain.groups() for segment in group]
    repeat, last = runs[-1]
    if last.count == 1 and repeat == 1:
        runs.pop()
    if chain.gap_added is None:
        closed = any(chain.of_segment(segment, "gap") == 0.0 for _, segment in runs)
    else:
        closed = any(
            gap + added == 0.0 for gap, added in zip(chain.gaps(), chain.gap_added, strict=True)
        )
    return closed or ends.has_wall("right") or (ends.has_wall("left") and striker is None)


def ledger_interval(energy: EnergyTable, time: TimeTable) -> float:
    """Time between entries of the ledger [s]: two hundred in a run unless the case gives it;
    the whole run where that is no number."""
    return energy.interval or time.end / 200.0 or time.end


def check_size(tables: Mapping[str, Any], problems: Problems) -> None:
    """Refuse what does not fit, from the counts alone."""
    time, parts = tables["time"], sizes(tables)
    total = sum(size for size, *_ in parts)
    if total > MEMORY:
        # More bodies than fit make everything else large: only they are reported then.
        too_large = (
            parts[:1]
            if parts[0][0] > MEMORY
            else [part for part in parts if part[0] > MEMORY] or [max(parts)]
        )
        for size, place, got, advice in too_large:
            got = f"{got} ({size / 2**30:.3g} of {total / 2**30:.3g} GiB)"
            problems.add(place, got, f"{MEMORY // 2**30} GiB for the whole run", advice)
    step, bodies = time.step if isinstance(time.step, float) else 0.0, bodies_in(tables)
    if step and bodies * (time.end / step) > BEAD_STEPS:
        problems.add(
            "time.step",
            f"{time.end / step:.3g} steps of {bodies} bodies",
            f"{BEAD_STEPS:g} bead-steps",
            "take a longer step",
        )
    if step > time.end:
        problems.add(
            "time.step",
            f"{step:g}, longer than the run",
            f"at most time.end, {time.end:g}",
            "take a shorter step",
        )


def bodies_in(tables: Mapping[str, Any]) -> int:
    """Beads, and the striker where there is one."""
    return int(tables["chain"].total() + (1 if tables.get("striker") else 0))


def sizes(tables: Mapping[str, Any]) -> list[tuple[float, str, str, str]]:
    """Memory that each part of a run takes [bytes], with the key that decides it, what it is,
    and what makes it smaller."""
    chain, time, sensors, energy = (
        tables["chain"],
        tables["time"],
        tables["sensors"],
        tables["energy"],
    )
    snapshots = tables.get("snapshots")
    law = laws().get(tables["contact"].law, ContactLaw) if "contact" in tables else ContactLaw
    bodies = bodies_in(tables)
    step = time.step if isinstance(time.step, float) else 0.0
    beads, longer = (
        "chain.segment" if chain.segment else "chain.beads",
        "take a longer interval, or an earlier time.end",
    )
    parts = [
        (
            8.0 * bodies * (ARRAYS + len(law.coefficients) + len(law.history)),
            beads,
            f"{bodies} bodies",
            "take fewer beads",
        )
    ]
    # Numbers per row: the time and what is recorded at it; the ledger has seven energies.
    for name, interval, numbers in (
        ("sensors", sensors.interval, 1 + len(sensors.beads) + 2 * len(sensors.contacts)),
        ("snapshots", snapshots.interval if snapshots else math.inf, 1 + 2 * bodies),
        ("energy", ledger_interval(energy, time) if energy.ledger else math.inf, 1 + 7),
    ):
        rows = time.end / max(interval, step)
        parts.append(
            (
                8.0 * rows * numbers,
                f"{name}.interval",
                f"{rows:.3g} rows of {numbers} numbers",
                longer,
            )
        )
    return parts
