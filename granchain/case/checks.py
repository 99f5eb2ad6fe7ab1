"""Checks of a case: keys, inputs of the contact laws, tolerances, and relations between keys.

A check of several keys uses only keys without an error so far, so that each error gives one message
and all errors are reported together. Sizes are rejected from the counts alone, before any array of
the chain is made.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
from pydantic import BaseModel

from granchain.case.document import entry_at, first_few, flattened
from granchain.case.signals import (
    check_drive,
    check_keys,
    check_signal,
    spectral_lines,
    table_of_lists,
)
from granchain.case.start import (
    FIXED,
    MOTION_COLUMNS,
    check_length,
    comparable_digests,
    drive_clock,
    drives_in,
    fastest_closing,
)
from granchain.case.tables import (
    ALL_LABELS,
    ChainContactTable,
    ChainTable,
    CompliantEndTable,
    ContactTable,
    DriveTable,
    EndsTable,
    PairTable,
    SegmentTable,
    SensorsTable,
    StrikerTable,
    TimeTable,
    bead_values,
    own_contacts_in,
    ranges_of,
)
from granchain.chain import BEAD_STEPS, RIGID
from granchain.contact import laws
from granchain.contact.inputs import InputProblem, input_values, law_or_problem
from granchain.contact.law import ContactLaw
from granchain.errors import LawError
from granchain.keys import Problems, add_missing, brief, in_si, rejected
from granchain.material import Material

# Maximum memory of one run (our choice): half of the 16 GiB of a common workstation.
MEMORY = 8 * 2**30
# Arrays with one number per body in chain, pair, and engine, counted generously. The arrays of the
# law are added to them.
ARRAYS_PER_BODY = 40
# Maximum number of sensors from a range or "all" (our choice): one sample of each sensor takes 8
# MB.
MOST_LABELS = 1_000_000
# Variables of each body or contact in an output file, without the history of the law; a test
# counts them.
PER_BODY = 16
# Numbers per body in the final state, without the history: four of the body, the overlap at zero
# displacement, six of the contact, its index in the list of contacts with an event, and four
# corrections.
PER_STATE = 16

FACTORS = ("radius_factor", "mass_factor", "modulus_factor")


def check_together(tables: dict[str, Any], resumes: bool, problems: Problems) -> None:
    """Check the readable keys against each other.

    Under [sensors], ranges are replaced by numbers. If the run resumes from a state, `check_state`
    checks whether the drives last long enough.
    """
    if not {"chain", "ends"} <= tables.keys():
        return
    chain, ends = tables["chain"], tables["ends"]
    striker, contact = tables.get("striker"), tables.get("contact")
    end_of_run = None if resumes else tables.get("time")
    check_ends(tables, end_of_run, problems)
    if problems.readable("chain.beads", "chain.segment"):
        check_bead_drives(tables, end_of_run, problems)
    for where, drive in ({} if resumes else drives_in(tables)).items():
        moved = drive.drive == "displacement" and drive.ramp_from and (drive.phase or drive.dc)
        problems.check(
            not moved or not problems.clear(f"{where}.ramp_from"),
            f"{where}.ramp_from",
            "the displacement does not begin at 0",
            "It must, unless the run starts from a state with this drive",
            "Remove phase and dc, or give [initial]",
        )
    if problems.readable("chain.segment"):
        check_chain(chain, problems)
        where, _ = chain.keyed_segments()[0]
        bead = (where, "chain.radius", "chain.mass", "chain.material", "striker")
        if striker is not None and problems.clear(*bead):
            check_body("striker", striker, problems)
        check_support(chain, ends, problems)
    walls = ends.has_wall("left") or ends.has_wall("right")
    # An unreadable striker is a body, too.
    has_striker = striker is not None or not problems.clear("striker")
    if problems.readable("chain.beads", "chain.segment", "ends.left", "ends.right"):
        problems.check(
            chain.total() > 1 or has_striker or walls,
            "chain.beads",
            "one bead has nothing to touch",
            "A case needs at least two bodies, or one body and a wall",
            "Add beads, a striker, or a wall",
        )
    if "sensors" in tables and problems.readable("chain.beads", "chain.segment"):
        tables["sensors"] = read_sensors(tables["sensors"], chain, ends, has_striker, problems)
    laws_of = [("contact", contact)] if contact else []
    for where, law_table in laws_of + own_contacts_in(tables):
        speeds = [f"{where}.{name}" for name in ("law", "impact_speed", "impact_speed_floor")]
        if problems.clear(*speeds) and problems.readable("chain.beads", "chain.segment"):
            check_impact_speed(where, law_table, law_table.inputs(), tables, problems)
    pairs_are_readable = (
        None not in [segment.material for _, segment in chain.keyed_segments()]
        and problems.readable("chain.segment", "striker", "ends.left", "ends.right", "contact.law")
        and problems.clear("chain.material", "striker.material")
        and problems.clear("ends.left_material", "ends.right_material")
    )
    if contact and contact.pair and pairs_are_readable:
        check_pairs(contact, tables, problems)
        for i, pair in enumerate(contact.pair):
            if problems.clear(f"contact.pair.{i}"):
                # only the speed that the pair itself gives; the minimum is that of the law
                inputs = pair.inputs() | {"impact_speed_floor": 0.0}
                check_impact_speed(f"contact.pair.{i}", contact, inputs, tables, problems)
    intervals = [f"{name}.interval" for name in ("sensors", "snapshots", "energy")]
    needed = ("chain.beads", "chain.segment", "time.end", "time.step", *intervals)
    if tables.keys() >= {"sensors", "energy", "time"} and problems.readable(*needed):
        check_size(tables, problems)
    if tables.get("tolerance") is not None and problems.readable("contact.law", "chain.segment"):
        check_tolerances(tables, dict(tables["tolerance"]), "tolerance", problems)


def check_chain(chain: ChainTable, problems: Problems) -> None:
    """Check that beads or segments exist, each with a radius, a material, and a mass."""
    if chain.beads is None and not chain.segment and problems.clear("chain.beads"):
        add_missing(ChainTable, "beads", "chain.beads", problems)
    problems.check(
        chain.beads is None or not chain.segment,
        "chain.beads",
        "both beads and [[chain.segment]] are present",
        "Only one of the two is allowed",
        "Remove one",
    )
    segment: Any
    for where, segment in chain.keyed_segments():
        check_body(where, segment, problems)
        sized = segment.radius is not None and segment.mass is not None
        if segment.taper is not None and sized and problems.readable(f"{where}.taper"):
            with np.errstate(all="ignore"):
                last = np.float64(segment.taper) ** (segment.count - 1)
                ends = (segment.radius * last, segment.mass * last * last * last)
            problems.check(
                all(0.0 < end < math.inf for end in ends),
                f"{where}.taper",
                f"{segment.taper:g} is out of range for {segment.count} beads",
                "The last bead must have a finite radius and mass above 0",
                "Choose a taper closer to 1",
            )
    if problems.readable("chain.beads"):
        check_disorder(chain, problems)


def check_disorder(chain: ChainTable, problems: Problems) -> None:
    """Check for one factor per bead and one number per gap, and that no gap is below 0."""
    for name in (*FACTORS, "gap_added"):
        each = "gap" if name == "gap_added" else "bead"
        numbers, length = getattr(chain, name), chain.total() - (each == "gap")
        if numbers is not None:
            check_length(f"chain.{name}", numbers, length, f"{each} of the chain", "", problems)
    complete = all(
        value is not None
        for _, segment in chain.keyed_segments()
        for value in (segment.radius, segment.mass, segment.material)
    )
    factors = [f"chain.{name}" for name in FACTORS if getattr(chain, name) is not None]
    if complete and factors and problems.clear(*factors):
        check_factors(chain, problems)
    if chain.gap_added is not None and problems.clear("chain.gap_added", "chain.gap"):
        gaps, added = chain.of_each("gap")[:-1], np.array(chain.gap_added)
        for i in np.flatnonzero(gaps + added < 0.0)[:1]:
            problems.add(
                f"chain.gap_added.{i}",
                f"{added[i]:g} makes a gap of {gaps[i]:g} negative",
                f"It must be {0.0 - gaps[i]:g} or more",
                "Increase it, or increase the gap",
            )


def check_factors(chain: ChainTable, problems: Problems) -> None:
    """Check that radius, mass, and modulus of each bead are above 0 after scaling."""
    sizes, masses, moduli = (
        (min(bead_factors), max(bead_factors))
        for name in FACTORS
        for bead_factors in [getattr(chain, name) or (1.0,)]
    )
    low, high = (size * size * size * mass for size, mass in zip(sizes, masses, strict=True))
    kinds: list[Any] = [segment for _, segment in chain.keyed_segments()]
    for name, factors, values in (
        ("radius_factor", sizes, [kind.radius for kind in kinds]),
        (
            "mass_factor" if chain.mass_factor else "radius_factor",
            (low, high),
            [k.mass for k in kinds],
        ),
        ("modulus_factor", moduli, [kind.material.youngs_modulus for kind in kinds]),
    ):
        problems.check(
            all(0.0 < value * factor < math.inf for value in values for factor in factors),
            f"chain.{name}",
            f"factors from {factors[0]:g} to {factors[1]:g} are out of range",
            "Their products with the values of the beads must be finite and above 0",
            "Choose factors closer to 1",
        )


def check_body(where: str, kind: SegmentTable | StrikerTable, problems: Problems) -> None:
    """Check that a body has a radius, a material, and a mass."""
    for name in ("radius", "material"):
        if getattr(kind, name) is None and problems.clear(f"{where}.{name}", f"chain.{name}"):
            add_missing(ChainTable, name, f"{where}.{name}", problems)
    location = f"{where}.mass"
    if kind.radius is None or kind.material is None or not problems.clear(location, "chain.mass"):
        return
    if kind.mass is None:
        problems.add(
            location,
            "missing, and the material has no density",
            "The mass [kg] must be a number above 0",
            "Give the mass, or the density of the material",
        )
    elif not 0.0 < kind.mass < math.inf:
        problems.add(
            location,
            f"{kind.mass:g}, computed from radius and density, is out of range",
            "The mass must be a finite number above 0",
            "Check the radius and the density, or give the mass [kg]",
        )


def check_support(chain: ChainTable, ends: EndsTable, problems: Problems) -> None:
    """Check that a chain with static load has no gaps, and that gravity has a right wall."""
    names = [name for name in ("precompression", "gravity") if getattr(chain, name)]
    loads, closed = " and ".join(names), "All gaps of a chain with a static load must be 0"
    for where, segment in chain.keyed_segments() if loads else ():
        problems.check(
            segment.gap == 0.0,
            "chain.gap" if segment.gap == chain.gap else f"{where}.gap",
            f"a gap is not possible with {loads}",
            closed,
            f"Close the gap, or remove {loads}",
        )
    problems.check(
        not loads or not any(chain.gap_added or ()),
        "chain.gap_added",
        f"gaps are not possible with {loads}",
        closed,
        f"Remove gap_added or {loads}",
    )
    problems.check(
        not chain.gravity or not problems.clear("ends.right") or ends.has_wall("right"),
        "chain.gravity",
        f"{chain.gravity:g} requires a wall at the right end",
        "Gravity presses the chain against this wall",
        'Set [ends] right = "wall" or "rigid"',
    )


def check_ends(tables: Mapping[str, Any], time: TimeTable | None, problems: Problems) -> None:
    """Check that only elastic walls have a material, the drives of the ends, and compliant ends."""
    ends, around = tables["ends"], ("chain.precompression", "chain.gravity", "striker")
    for side in ("left", "right"):
        end, where = getattr(ends, side), f"ends.{side}"
        driven = isinstance(end, DriveTable)
        bare = end in ("free", "rigid") or (driven and end.drive == "force")
        problems.check(
            not bare or getattr(ends, f"{side}_material") is None or not problems.clear(where),
            f"{where}_material",
            f"{'a driven force' if driven else brief(end)} has no material",
            "Only a wall, a driven displacement, and a compliant end have one",
            f'Set {side} = "wall", or remove the key',
        )
        if driven:
            check_drive_table(where, end, time, problems)
        elif isinstance(end, CompliantEndTable) and problems.clear(where, *around):
            behind_striker = side == "left" and tables.get("striker") is not None
            check_compliant_end(where, end, tables["chain"], behind_striker, problems)


def check_compliant_end(
    where: str, end: CompliantEndTable, chain: ChainTable, behind_striker: bool, problems: Problems
) -> None:
    """Check that a compliant end can carry the static load, and has a density if it needs one."""
    loads = " and ".join(name for name in ("precompression", "gravity") if getattr(chain, name))
    modes = getattr(end, "modes", [(0.0, getattr(end, "stiffness", 0.0))])
    problems.check(
        len(modes) > 0,
        f"{where}.modes",
        "the list is empty",
        "A structure needs one or more modes [mass, stiffness, damping]",
    )
    problems.check(
        not behind_striker,
        where,
        "a compliant end is not possible behind a striker",
        "With a striker, only the right end can be compliant",
        'Set [ends] left = "free" or "wall"',
    )
    if end.structure is not None:
        (name,) = type(end).model_fields
        check_density(f"{where}.{name}", end.structure, problems)
    problems.check(
        not loads or all(mode[1] for mode in modes),
        where,
        f"this end cannot carry {loads}"
        + (f", because {end._kind} moves on under a constant force" if end.structure else ""),
        "With a static load, each mass or mode of the end needs a stiffness above 0",
        ("Use a mass with a stiffness" if end.structure else "Give the stiffness [N/m]")
        + f", or remove {loads}",
    )


def check_density(where: str, structure: Any, problems: Problems) -> None:
    """Check that the material of a structure has a density."""
    problems.check(
        structure.material.density is not None,
        f"{where}.material.density",
        "missing",
        f"The motion of a {where.rpartition('.')[2]} depends on its density [kg/m^3], a number "
        "above 0",
        "Add it to the material",
    )


def check_drive_table(
    where: str, drive: DriveTable, time: TimeTable | None, problems: Problems
) -> None:
    """Check the keys of a drive, and its signal or lists."""
    check_keys(where, drive, problems)
    if drive.signal is not None:
        check_signal(where, drive, time, problems)
    elif drive.time is not None and drive.value is not None and problems.clear(where):
        check_drive(where, drive.drive, table_of_lists(drive), time, problems)


def check_bead_drives(
    tables: Mapping[str, Any], time: TimeTable | None, problems: Problems
) -> None:
    """Check the driven beads.

    Each driven bead must exist. A bead with prescribed displacement must have no other drive, no
    resonators, and no initial motion.
    """
    chain, ends, beads = tables["chain"], tables["ends"], tables["chain"].total()
    bead_drives = {f"drive.{i}": drive for i, drive in enumerate(tables.get("drive", ()))}
    # The left end pushes the striker, if there is one.
    pushed = [(beads, ends.right)] + [(1, ends.left)] * (tables.get("striker") is None)
    ends_pushed = [bead for bead, end in pushed if getattr(end, "drive", "") == "force"]
    drives_of_bead = Counter([drive.bead for drive in bead_drives.values()] + ends_pushed)
    for where, drive in bead_drives.items():
        check_drive_table(where, drive, time, problems)
        inside = problems.check(
            drive.bead <= beads,
            f"{where}.bead",
            f"{drive.bead} is out of range",
            f"It must be from 1 to {beads}",
            "Choose a bead of the chain; the striker is not a bead",
        )
        if drive.drive != "displacement" or not inside:
            continue
        problems.check(
            drives_of_bead[drive.bead] == 1,
            f"{where}.bead",
            f"bead {drive.bead} has a prescribed displacement and another drive or force",
            "A bead with a prescribed displacement can have no other drive, "
            "because forces do not move it",
            "Remove the other drive",
        )
        problems.check(
            not problems.clear("chain.resonator")
            or drive.bead - 1 not in chain.attached_masses()[0],
            f"{where}.bead",
            f"bead {drive.bead} has a prescribed displacement and resonators",
            "A bead with a prescribed displacement can have no resonators",
            "Remove its resonators, or drive it with a force",
        )
        initial, readable = tables.get("initial"), problems.clear("initial", "chain.segment")
        moved = [
            name
            for name in MOTION_COLUMNS
            if readable
            and getattr(initial, "state", None) is None
            and bead_values(name, chain, initial)[drive.bead - 1] != 0.0
        ]
        problems.check(
            not moved,
            f"{where}.bead",
            f"bead {drive.bead} has an initial {' and an initial '.join(moved)}",
            "A bead with a prescribed displacement must be at rest at the start",
            f"Remove the {' and the '.join(moved)}, or drive the bead with a force",
        )


def read_sensors(
    sensors: SensorsTable,
    chain: ChainTable,
    ends: EndsTable,
    has_striker: bool,
    problems: Problems,
) -> SensorsTable:
    """Replace ranges under [sensors] by numbers; check that each label exists and occurs once."""
    numbers: dict[str, tuple[int, ...]] = {}
    last, left, right = chain.total(), ends.has_wall("left"), ends.has_wall("right")
    contacts = range((0 if has_striker else 1) - left, last + right)
    for name, existing in (("beads", range(1, last + 1)), ("contacts", contacts)):
        where, labels = f"sensors.{name}", getattr(sensors, name)
        label_text = brief(labels) if isinstance(labels, str) else ""
        if label_text:
            ranges = [existing] if labels == ALL_LABELS else ranges_of(labels)
            few = problems.check(
                sum(map(len, ranges)) <= MOST_LABELS,
                where,
                f"{sum(map(len, ranges))} {name} are too many",
                f"At most {MOST_LABELS} can be recorded",
                f'Add a step, such as "{existing.start}-{existing.stop - 1}:100"',
            )
            labels = tuple(label for span in ranges for label in span) if few else ()
        outside = [label for label in labels if label not in existing]
        if name == "contacts" and not problems.clear("ends.left", "ends.right"):
            # Whether an end with an error has a contact is unknown.
            outside = [
                label for label in outside if not existing.start - 1 <= label <= existing.stop
            ]
        if outside:
            has = f"{name} {existing[0]} to {existing[-1]}" if existing else f"no {name}"
            if existing and name == "contacts":
                has += "; contact k joins bodies k and k + 1"
            missing = label_text or first_few(outside)
            problems.add(where, f"{missing} not found", f"The chain has {has}")
        doubles = [label for label, times in Counter(labels).items() if times > 1]
        problems.check(
            not doubles,
            where,
            f"the list repeats {first_few(doubles)}",
            f"List each of the {name} once",
        )
        numbers[name] = labels
    return sensors.model_copy(update=numbers)


def check_impact_speed(
    where: str,
    contact: ContactTable,
    inputs: Mapping[str, Any],
    tables: Mapping[str, Any],
    problems: Problems,
) -> None:
    """Check that a law that needs an impact speed has one.

    Contacts that touch at rest have no impact speed.
    """
    law, chain = laws()[contact.law], tables["chain"]
    if inputs.get("impact_speed") == "striker" and needs_speed(contact):
        (choices,) = (
            quantity.choices for quantity in law.inputs if quantity.name == "impact_speed"
        )
        allowed = "It must be a number above 0" + ', or "onset"' * ("onset" in choices)
        if "onset" not in choices and (chain.precompression or chain.gravity):
            problems.add(
                f"{where}.impact_speed",
                '"striker" is not possible in a chain with a static load, because contacts that '
                "are closed at rest have no impact speed",
                allowed,
                "Give the speed [m/s] to which the restitution applies",
            )
        else:
            problems.check(
                tables.get("striker") is not None
                or not problems.clear("initial", "striker")
                or fastest_closing(tables) > 0.0,
                f"{where}.impact_speed",
                '"striker" requires a striker',
                allowed,
                "Give the speed [m/s], or add a table [striker]",
            )
    problems.check(
        inputs.get("impact_speed") != "onset"
        or inputs.get("impact_speed_floor") is not None
        or not problems.clear("chain.gap", "chain.gap_added")
        or not problems.readable("ends.left", "ends.right")
        or not touches_at_rest(tables["chain"], tables["ends"], tables.get("striker")),
        f"{where}.impact_speed_floor",
        'missing, but needed with impact_speed = "onset" because contacts touch at rest',
        "It must be a number above 0",
        "Give the minimum speed [m/s] of the damping term; the result depends on it",
    )


def touches_at_rest(chain: ChainTable, ends: EndsTable, striker: StrikerTable | None) -> bool:
    """Check if any contact is closed at the start and has no impact speed."""
    if chain.gap_added is None:
        gaps = [segment.gap for _, segment in chain.keyed_segments()]
        repeat, group = chain.groups()[-1]
        gaps = gaps[:-1] if repeat == group[-1].count == 1 else gaps
    else:
        gaps = list(chain.of_each("gap")[:-1] + np.array(chain.gap_added))
    walls = ends.has_wall("right") or (ends.has_wall("left") and striker is None)
    return 0.0 in gaps or walls


def check_size(tables: Mapping[str, Any], problems: Problems) -> None:
    """Reject a run that needs too much memory or too many steps, from the counts alone."""
    time, estimates = tables["time"], memory_estimates(tables)
    total = sum(size for size, *_ in estimates)
    # Too many bodies make everything else large, so only they are reported.
    large = [estimate for estimate in estimates if estimate[0] > MEMORY] or [max(estimates)]
    large = estimates[:1] if estimates[0][0] > MEMORY else large
    for size, location, got, advice in large if total > MEMORY else ():
        problems.add(
            location,
            f"{got} need too much memory ({size / 2**30:.3g} of {total / 2**30:.3g} GiB)",
            f"A run may use at most {MEMORY // 2**30} GiB",
            advice,
        )
    step, bodies = time.step if isinstance(time.step, float) else 0.0, bodies_in(tables)
    if step and bodies * (time.end / step) > BEAD_STEPS:
        problems.add(
            "time.step",
            f"{time.end / step:.3g} steps of {bodies} bodies are too many",
            f"The limit is {BEAD_STEPS:g} bead-steps",
            "Choose a longer step",
        )


def bodies_in(tables: Mapping[str, Any]) -> int:
    """Return the number of beads, plus 1 if there is a striker."""
    return int(tables["chain"].total() + (1 if tables.get("striker") else 0))


def memory_estimates(tables: Mapping[str, Any]) -> list[tuple[float, str, str, str]]:
    """Estimate the memory of each part of a run [bytes].

    Each entry also contains the key that decides it, its description, and the way to reduce it.
    """
    time, sensors, energy = tables["time"], tables["sensors"], tables["energy"]
    snapshots, bodies = tables.get("snapshots"), bodies_in(tables)
    law = laws().get(tables["contact"].law, ContactLaw) if "contact" in tables else ContactLaw
    step = time.step if isinstance(time.step, float) else 0.0
    beads = "chain.segment" if tables["chain"].segment else "chain.beads"
    size = 8.0 * bodies * (ARRAYS_PER_BODY + len(law.coefficients) + len(law.history))
    resonators = sum(
        repeat * segment.count * len(segment.resonator or ())
        for repeat, group in tables["chain"].groups()
        for segment in group
    )
    size += 8.0 * ARRAYS_PER_BODY * resonators
    estimates = [(size, beads, f"{bodies} bodies", "Use fewer beads")]
    # The default is 1/200 of the run, or the complete run if that rounds to 0.
    balance = energy.interval or time.end / 200.0 or time.end
    # Two overlaps and the overlap rate of each contact, and the history of its law.
    contact_numbers = (
        (bodies + 1) * (3 + len(law.history)) if snapshots and snapshots.history else 0
    )
    # Numbers per row: the time and the recorded values; the energy balance has seven energies.
    for name, interval, numbers in (
        ("sensors", sensors.interval, 1 + len(sensors.beads) + 2 * len(sensors.contacts)),
        (
            "snapshots",
            snapshots.interval if snapshots else math.inf,
            1 + 2 * (bodies + resonators) + contact_numbers,
        ),
        ("energy", balance if energy.ledger else math.inf, 1 + 7),
    ):
        rows = time.end / max(interval, step)
        got = f"{rows:.3g} rows of {numbers} numbers"
        advice = "Choose a longer interval, or an earlier time.end"
        estimates.append((8.0 * rows * numbers, f"{name}.interval", got, advice))
    return estimates


def check_state(case: Any, problems: Problems) -> None:
    """Compare a case with the stored state that it starts from."""
    stored, digests = case.stored_state, comparable_digests(case)
    for name, what in FIXED.items():
        problems.check(
            stored.same[name] == digests[name],
            "initial",
            f"the state belongs to a different {what}",
            "Beads, radii, masses, materials, gaps, and the contact law with its inputs must "
            "be the same",
            "Start from the case of the run that wrote the state. You may change the step, "
            "ends, loads, drag, on-site springs, and recorded data",
        )
    problems.check(
        stored.start.bodies.shape[1] == case.beads + (case.striker is not None),
        "initial",
        "the state belongs to a different chain",
        "The number of bodies must be the same",
    )
    problems.check(
        stored.start.attached.shape[1] == case.chain.attached_masses()[0].size,
        "initial",
        "the state belongs to different resonators",
        "The number of resonators must be the same",
    )
    speed = None if case.striker is None else case.striker.speed
    problems.check(
        speed == stored.speed,
        "striker.speed",
        f"{speed} differs from the run that wrote the state",
        f"It must be {stored.speed}, because the state contains the motion of the striker",
    )
    for where, end in case.drives.items():
        if not problems.clear("initial"):
            return
        _, before, period = drive_clock(case, where)
        time = case.time.model_copy(update={"end": case.time.end + before})
        check_drive_table(where, end, time, problems)
        first, last = spectral_lines(end, period) if end.signal == "noise" and period else (0, 0)
        problems.check(
            first <= last,
            "initial",
            "the noise of the state has no frequency in its band",
            "The state must come from a run of this drive",
        )


# --------------------------------------------------------------------------------------------------
# Contacts with a law or inputs that differ from those under [contact]


def law_values(where: str, table: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """Return the name and inputs of a contact law, in SI units, with defaults."""
    law = law_or_problem(table.get("law"))
    if isinstance(law, InputProblem):
        add_input_problems(where, [law], ["law"], problems)
        return {"law": ""}
    inputs = {name: value for name, value in table.items() if name != "law"}
    values, input_problems = input_values(law, inputs, in_si)
    add_input_problems(where, input_problems, ["law"], problems)
    return {"law": law.name, **values}


def add_input_problems(
    where: str, input_problems: list[InputProblem], names: list[str], problems: Problems
) -> None:
    """Report problems of the inputs of a law; suggest also the other keys in `names`."""
    for item in input_problems:
        location = f"{where}.{item.key}"
        if item.unknown:
            problems.add_unknown(location, [*names, *item.alternatives], item.fix)
        else:
            requirement, alternatives = item.requirement, item.alternatives
            problems.add(
                location, rejected(item.value), requirement, item.fix, item.value, alternatives
            )


def read_own_contacts(tables: dict[str, Any], problems: Problems) -> None:
    """Complete the inputs of these laws in the tables, in SI units, and check their positions.

    A segment needs two or more beads, and an end needs a wall.
    """
    for where, law_table in own_contacts_in(tables):
        if not problems.clear(where):
            continue
        values = law_values(where, {"law": law_table.law, **law_table.inputs()}, problems)
        contact = ContactTable(**values)
        table, _, key = where.partition(".")
        if table == "chain":
            segments = list(tables["chain"].segment)
            i = int(key.split(".")[1])
            segments[i] = segments[i].model_copy(update={"contact": contact})
            tables["chain"] = tables["chain"].model_copy(update={"segment": tuple(segments)})
            problems.check(
                segments[i].count > 1,
                where,
                "the segment has only one bead",
                "A law applies between the beads of a segment of two or more beads. Between two "
                "segments, the law under [contact] applies",
                "Remove the law",
            )
            continue
        end = key.removesuffix("_contact")
        tables["ends"] = tables["ends"].model_copy(update={key: contact})
        problems.check(
            tables["ends"].has_wall(end) or not problems.clear(f"ends.{end}"),
            where,
            "this end has no wall",
            "A contact law at an end requires a wall",
            f'Set {end} = "wall", or remove the law',
        )


def read_pairs(
    tables: Any, law: type[ContactLaw] | None, problems: Problems
) -> tuple[PairTable, ...] | None:
    """Read the tables [[contact.pair]] for this law, in SI units; None if there are none.

    Tables without valid materials have been reported before.
    """
    pairs = []
    for i, entry in enumerate(tables if isinstance(tables, (list, tuple)) else ()):
        where, is_table = f"contact.pair.{i}", isinstance(entry, Mapping)
        # An unreadable pair is included, so that the others keep their indices.
        materials = entry["materials"] if problems.clear(f"{where}.materials") else ("", "")
        values = own_inputs(where, entry, law, problems) if is_table and law is not None else {}
        pairs.append(PairTable(materials=materials, **values))
    return tuple(pairs) or None


def own_inputs(
    where: str, table: Mapping[str, Any], law: type[ContactLaw], problems: Problems
) -> dict[str, Any]:
    """Return the inputs of a law that a pair gives, in SI units."""
    inputs = {name: value for name, value in table.items() if name not in ("materials", "law")}
    problems.check(
        "law" not in table,
        f"{where}.law",
        f"{brief(table.get('law'))} is not allowed here",
        "All pairs use the law under [contact]",
        "Set the law under [contact], and its inputs here",
    )
    values, input_problems = input_values(law, inputs, in_si)
    # The pair takes all other inputs from [contact].
    named = [problem for problem in input_problems if problem.key.partition(".")[0] in inputs]
    add_input_problems(where, named, ["materials"], problems)
    names = ", ".join(quantity.name for quantity in law.inputs)
    problems.check(
        bool(inputs),
        where,
        "the pair has no inputs",
        f"It must have one or more of {names}" if names else f"The law {law.name} has no inputs",
        "Remove the pair" if not names else "",
    )
    return {name: value for name, value in values.items() if name in inputs}


def check_pairs(contact: ChainContactTable, tables: Mapping[str, Any], problems: Problems) -> None:
    """Check the pairs of materials.

    The materials must touch in the chain, each pair may occur once, and the form of the law must
    be the same as under [contact].
    """
    touching = pairs_along(tables)
    names = dict.fromkeys(sorted({name for both in touching for name in both}))
    named = f"are {', '.join(f'{brief(name)}' for name in names)}" if names else "have no names"
    pairs = "; ".join(sorted(map(pair_text, touching)))
    shared = [f"contact.{quantity.name}" for quantity in laws()[contact.law].inputs]
    met: dict[frozenset[str], int] = {}
    for i, pair in enumerate(contact.pair or ()):
        where, both = f"contact.pair.{i}", frozenset(pair.materials)
        if not problems.clear(where):
            continue
        unknown = [name for name in dict.fromkeys(pair.materials) if name not in names]
        location = f"{where}.materials"
        for name in unknown:
            problems.add(
                location,
                f"unknown material {brief(name)}",
                f"The materials of this chain {named}",
                'To name a table of constants, add name = "..."',
                name,
                names,
            )
        problems.check(
            bool(unknown) or both in touching,
            location,
            f"{pair_text(both)} do not touch in this chain",
            f"The pairs that touch are {pairs}" if pairs else "No pair with names touches",
            "Remove the pair",
        )
        first = met.setdefault(both, i)
        problems.check(
            first == i,
            location,
            f"{pair_text(both)} repeat contact.pair.{first}",
            "Each pair may occur once",
            "Put all its inputs in one table",
        )
        if problems.clear(*shared):
            check_form(where, contact, pair, problems)


def check_form(where: str, contact: ChainContactTable, pair: PairTable, problems: Problems) -> None:
    """Check that the inputs of a pair do not change the form of the law.

    The form includes the energy correction, residual indentation, and the kind of impact speed.
    """
    law, shared = laws()[contact.law], contact.inputs()
    with contextlib.suppress(LawError):
        form = law.model(form_inputs(shared))
        for name, value in pair.inputs().items():
            if law.model(form_inputs({**shared, name: value})) != form:
                common = "a number" if isinstance(shared[name], float) else brief(shared[name])
                problems.add(
                    f"{where}.{name}",
                    f"{brief(value)} changes the form of the law",
                    f"It must be {common}, as under [contact], because all contacts have the same "
                    "form of the law",
                    f"Set {name} only under [contact], or give the same value in both",
                )


def needs_speed(contact: ContactTable) -> bool:
    """Check if the law needs an impact speed, which is so if its force depends on the rate."""
    return laws()[contact.law].model(form_inputs(contact.inputs())).uses_rate


def form_inputs(inputs: Mapping[str, Any]) -> SimpleNamespace:
    """Return inputs of a law with which it can choose its form.

    A restitution that is taken from another law is a table of numbers at many speeds.
    """
    values = dict(inputs)
    if isinstance(values.get("restitution"), Mapping):
        values["restitution"] = np.ones((1, 1))
    return SimpleNamespace(**values)


def pair_text(both: frozenset[str]) -> str:
    """Return the names of two materials for a message."""
    return f"{brief(min(both))} and {brief(max(both))}"


def pairs_along(tables: Mapping[str, Any]) -> set[frozenset[str]]:
    """Return the names of both materials of each kind of contact, if both have a name."""
    chain, ends, striker = tables["chain"], tables["ends"], tables.get("striker")
    # Two equal beads, or two equal groups, represent any number of them.
    row = [
        segment.material
        for repeat, group in chain.groups()
        for segment in group * min(repeat, 2)
        for _ in range(min(segment.count, 2))
    ]
    if striker is not None:
        row.insert(0, striker.material)
    left, right = (
        [RIGID if getattr(ends, side) == "rigid" else ends.material_of_wall(side) or bead]
        if ends.has_wall(side)
        else []
        for side, bead in (("left", row[0]), ("right", row[-1]))
    )
    return {
        frozenset((first.name, second.name))
        for first, second in pairwise([*left, *row, *right])
        if first and second and first.name and second.name
    }


# --------------------------------------------------------------------------------------------------
# Tolerances: uncertainties of the parameters, each as a fraction of its value


# Tables with physical parameters; the others control computation and recording.
PHYSICAL = ("chain", "striker", "ends", "drive", "contact")
FORM = (
    "It must be a number above 0, one standard deviation as a fraction of the value, or "
    "{ uniform = a number above 0 }, half the width of a uniform range"
)

Tolerance = float | dict[str, float]


def tolerances_of(stated: Any, where: str, problems: Problems) -> dict[str, Tolerance]:
    """Return the tolerance of each dotted key, and report invalid tolerances.

    Parameters
    ----------
    stated : mapping
        Dotted keys, or nested tables as TOML makes them.
    where : str
        Name of the table in messages, such as "tolerance".
    problems : Problems
        Collector of the errors.
    """
    tolerances: dict[str, Tolerance] = {}
    if not isinstance(stated, (Mapping, BaseModel)):
        problems.add(
            where,
            f"{brief(stated)} is not valid",
            "It must be a table of keys of the case with their tolerances",
            'Write for example "striker.speed" = 0.02',
        )
        return tolerances
    for key, value in flattened(dict(stated)):
        uniform = isinstance(value, Mapping) and list(value) == ["uniform"]
        size = value["uniform"] if uniform else value
        number = isinstance(size, (int, float)) and not isinstance(size, bool)
        if number and 0.0 < size < math.inf:
            tolerances[key] = {"uniform": float(size)} if uniform else float(size)
        else:
            fix = "Write for example 0.02 for 2 %"
            problems.add(f"{where}.{key}", rejected(size), FORM, fix)
    return tolerances


def check_tolerances(
    tables: Mapping[str, Any], tolerances: Mapping[str, Tolerance], where: str, problems: Problems
) -> None:
    """Report tolerances of keys that a case does not have, or whose value has no tolerance."""
    for key in tolerances:
        location, table = f"{where}.{key}", key.partition(".")[0]
        if table not in PHYSICAL:
            problems.add(
                location,
                "a key of this table has no tolerance",
                f"The tables with tolerances are {', '.join(PHYSICAL)}",
                "",
                table,
                PHYSICAL,
            )
            continue
        value, word, names = entry_at(tables, key)
        if value is None:
            if problems.clear(key):
                problems.add(
                    location,
                    "the case has no value at this key",
                    "The key must have a number in this case",
                    "Set the key in the case, or remove the tolerance",
                    word,
                    () if word in names else names,
                )
        elif not isinstance(value, float):
            several = isinstance(value, (Mapping, BaseModel, Material, tuple, list))
            problems.add(
                location,
                f"{'a table or a list' if several else brief(value)} has no tolerance",
                "The value of the key must be a real number",
                "Choose another key",
            )
        elif value == 0.0:
            problems.add(
                location,
                "the value of the key is 0",
                "It must not be 0, because the tolerance is a fraction of the value",
                "Remove the tolerance, or sweep the key",
            )
