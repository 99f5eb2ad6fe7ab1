"""What a run is set up from: law, pair, inputs, limits and static force make the contacts; contacts and chain make the time step.

The contacts of many chains are set up together: each scan looks once at the kinds of contact of all of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.chain import Chain, Masses
from granchain.contact.law import ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.restitution import Asked, with_restitutions
from granchain.engine.scans import Copies, contact_limits, in_parts, own_coefficients, start_histories, static_overlaps, with_windows
from granchain.engine.timestep import Stiffest, TimeStep, choose, demand_of, set_free, slopes_of, stiffest
from granchain.errors import LawError


@dataclass(frozen=True)
class Contacts:
    """A chain's contacts under one law: what does not change during a run.

    Parameters
    ----------
    model : Model
        The law, as it runs.
    c : (n_coefficients, n_contacts) array
        Coefficients.
    overlaps : (n_contacts,) array
        Static overlaps [m].
    limits : (n_contacts,) array
        Overlap at which the run stops [m].
    history : (n_history, n_contacts + 1) array
        At the start, fresh, or under the static overlap and the one that the bodies are then displaced to; the last column is of a fresh
        contact like the last.
    """

    model: Model
    c: np.ndarray
    overlaps: np.ndarray
    limits: np.ndarray
    history: np.ndarray


class Row(NamedTuple):
    """A row of masses with what lies between them, under a law's inputs.

    Parameters
    ----------
    masses : Masses
        What stands between the ends, and under which loads.
    pair : Pair
        The two bodies of each contact: numbers, or (n_contacts,) arrays.
    limits : (n_contacts,) array
        Overlap at which the run stops [m].
    inputs : namespace
        A value for each of the law's inputs.
    others : tuple of ((n_contacts,) boolean array, namespace)
        Contacts that have other inputs, and these; no contact is in two.
    """

    masses: Masses
    pair: Pair
    limits: np.ndarray
    inputs: SimpleNamespace
    others: tuple[tuple[np.ndarray, SimpleNamespace], ...] = ()


class Planned(NamedTuple):
    """Contacts of a row of masses, and the step that their case asks for: see granchain.engine.timestep.choose."""

    contacts: Contacts
    masses: Masses
    step: str | float
    end: float
    force_step: bool = False


def contacts_of(law: type[ContactLaw], chain: Chain, inputs: SimpleNamespace) -> Contacts:
    """Coefficients, guard and static start of a chain's contacts.

    Parameters
    ----------
    law : type of ContactLaw
        As registered.
    chain : Chain
        The row of bodies.
    inputs : namespace
        A value for each of the law's inputs.

    Raises
    ------
    LawError, CaseError
        Where the law misses a quantity, or has no force for the static load.
    """
    return contacts_between(law, chain, chain.pair(), chain.overlap_limits(), inputs)


def contacts_between(law: type[ContactLaw], masses: Masses, pair: Pair, limits: np.ndarray, inputs: SimpleNamespace) -> Contacts:
    """Coefficients, guard and static start of the contacts of a row of masses, however these came to be; see `Row`."""
    (contacts,) = contacts_together(law, [Row(masses, pair, limits, inputs)])
    return contacts


def contacts_together(law: type[ContactLaw], rows: Sequence[Row]) -> list[Contacts]:
    """The contacts of many rows of masses under one law, each as if it were set up alone.

    Raises
    ------
    LawError, CaseError
        As `contacts_of`, for the first row that cannot be set up.
    """
    copies = Copies()
    asked = [Asked(row.inputs, row.pair, row.limits, row.masses.velocity) for row in rows]
    asked += [
        Asked(inputs, pair_at(row.pair, there), row.limits[there], row.masses.velocity) for row in rows for there, inputs in row.others
    ]
    given = iter(with_restitutions(asked))
    own = [next(given) for _ in rows]
    others = [[Other(there, pair_at(row.pair, there), next(given)) for there, _ in row.others] for row in rows]
    models = [copies.of(law.model(inputs)) for inputs in own]
    together = own_together(law, rows, models, own) if len(rows) > 1 else {}
    begun = [_begun(law, *each, together.get(m)) for m, each in enumerate(zip(rows, models, own, others, strict=True))]
    done: list[Contacts | None] = [None] * len(rows)
    for members in alike(models):
        model, of = models[members[0]], [rows[m].masses for m in members]
        # each with one column more, of a fresh contact like its last
        limits = [begun[m][1] for m in members]
        wide = with_windows(model, np.hstack([begun[m][0] for m in members]), np.concatenate(limits))
        c, limits = [table[:, :-1] for table in in_parts(wide, limits)], [most[:-1] for most in limits]
        overlaps = static_overlaps(model, c, limits, of)
        padded = [np.append(static, 0.0) for static in overlaps]
        for start, masses in zip(padded, of, strict=True):
            start[: masses.contacts.start] = start[masses.contacts.stop :] = 0.0
        begin = [first_overlaps(masses, static) for masses, static in zip(of, overlaps, strict=True)]
        history = in_parts(start_histories(model, wide, np.concatenate(padded), np.concatenate(begin)), padded)
        for m, *found in zip(members, c, overlaps, limits, history, strict=True):
            done[m] = Contacts(model, *found)
    return [contacts for contacts in done if contacts is not None]


def first_overlaps(masses: Masses, static: np.ndarray) -> np.ndarray:
    """(n_contacts + 1,) Overlap at which each contact begins [m], in the order of a history's columns; 0 where there is none."""
    begin = np.zeros(static.size + 1)
    begin[masses.contacts] = (static if masses.displacement is None else masses.overlaps_at_start(static))[masses.contacts]
    return begin


class Other(NamedTuple):
    """Contacts of a row that have inputs of their own: which, their pairs, and the inputs with the restitutions in them."""

    there: np.ndarray
    pair: Pair
    inputs: SimpleNamespace


def pair_at(pair: Pair, there: np.ndarray) -> Pair:
    """The pair of some of the contacts."""
    return Pair(**{name: np.asarray(values)[there] if np.ndim(values) else values for name, values in pair.items().items()})


class SinglePairs:
    """Of pairs whose contacts are all alike, the one contact; found once for rows that share a pair."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], tuple[Pair, Pair | None]] = {}

    def of(self, pair: Pair, contacts: slice) -> Pair | None:
        """The pair of each of these contacts; None where they differ."""
        asked = id(pair), contacts.start, contacts.stop
        if asked not in self._known:
            # the pair is kept, so that its id stays its own
            self._known[asked] = pair, _single(pair, contacts)
        return self._known[asked][1]


def _single(pair: Pair, contacts: slice) -> Pair | None:
    found = {}
    for name, values in pair.items().items():
        row = np.atleast_1d(np.asarray(values, dtype=float))
        # a number holds for all contacts
        here = row[contacts] if row.size > 1 else row
        if here.size == 0 or (here != here[0]).any():
            return None
        # of NumPy's kind: what overflows is inf, as in an array
        found[name] = here[0]
    return Pair(**found)


def own_together(
    law: type[ContactLaw], rows: Sequence[Row], models: Sequence[Model], inputs: Sequence[SimpleNamespace]
) -> dict[int, np.ndarray]:
    """(n_own, 1) The law's own coefficients of rows whose contacts are all alike, by place, those of one pair found in one go.

    `inputs` are those with the restitutions in them. Rows that cannot be set up are left out: alone, the error of each is its own.
    """
    found: dict[int, np.ndarray] = {}
    # one of ours gives numbers the bits that it gives arrays
    if not law.__module__.startswith("granchain."):
        return found
    single, groups = SinglePairs(), dict[tuple[int, int], tuple[Pair, list[int]]]()
    for place, (row, model) in enumerate(zip(rows, models, strict=True)):
        pair = single.of(row.pair, row.masses.contacts)
        if pair is not None:
            groups.setdefault((id(model), id(pair)), (pair, []))[1].append(place)
    for pair, places in groups.values():
        joined = in_columns([inputs[place] for place in places])
        if joined is not None:
            with contextlib.suppress(LawError, TypeError):
                table = own_coefficients(models[places[0]], pair, joined, len(places))
                found |= {place: table[:, k : k + 1] for k, place in enumerate(places)}
    return found


def in_columns(inputs: Sequence[SimpleNamespace]) -> SimpleNamespace | None:
    """The inputs of many rows as those of one: numbers that differ as an array; None where something else differs."""
    joined: dict[str, Any] = {}
    for name, value in vars(inputs[0]).items():
        values = [getattr(one, name) for one in inputs]
        if all(type(other) is float for other in values):
            row = np.array(values)
            # bit by bit: -0.0 is not 0.0
            bits = row.view(np.int64)
            joined[name] = row if (bits != bits[0]).any() else value
        elif isinstance(value, np.ndarray) or any(type(other) is not type(value) or other != value for other in values):
            return None
        else:
            joined[name] = value
    return SimpleNamespace(**joined)


def _begun(
    law: type[ContactLaw], row: Row, model: Model, inputs: SimpleNamespace, others: Sequence[Other], found: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """A law's own coefficients of a row, which may have been `found`, and its limits, each with the last column twice.

    `inputs` are those with the restitutions in them.
    """
    limits, there = np.append(row.limits, row.limits[-1]), row.masses.contacts
    own = np.empty((len(model.own), limits.size))
    own[:, :-1] = own_coefficients(model, row.pair, inputs, row.limits.size) if found is None else found
    for other in others:
        if law.model(other.inputs) != law.model(inputs):
            raise LawError(
                f"contact law {law.name}: got inputs of a pair of materials that make it another law, allowed: one form of the law for all "
                "contacts; set these inputs for all of them"
            )
        own[:, :-1][:, other.there] = own_coefficients(model, other.pair, other.inputs, int(other.there.sum()))
    # an end without a wall has no contact: its column repeats its neighbour's, so that it is no kind of its own
    for k, neighbour, exists in ((0, 1, there.start == 0), (-2, -3, there.stop == row.limits.size)):
        if not exists:
            own[:, k], limits[k] = own[:, neighbour], limits[neighbour]
    own[:, -1], limits[-1] = own[:, -2], limits[-2]
    return own, limits


def time_step_of(contacts: Contacts, chain: Masses, step: str | float, end: float, force_step: bool = False) -> TimeStep:
    """The time step of a run; see granchain.engine.timestep.choose."""
    (time_step,) = time_steps_together([Planned(contacts, chain, step, end, force_step)])
    return time_step


def time_steps_together(planned: Sequence[Planned]) -> list[TimeStep]:
    """The time steps of many runs, each as if it were set up alone.

    Raises
    ------
    CaseError
        For the first run with a step above the limit.
    """
    steps: list[TimeStep | None] = [None] * len(planned)
    for members in alike([run.contacts.model for run in planned]):
        of = [planned[m] for m in members]
        model, limits = of[0].contacts.model, [run.contacts.limits for run in of]
        masses, c, overlaps = [run.masses for run in of], np.hstack([run.contacts.c for run in of]), [run.contacts.overlaps for run in of]
        within = contact_limits(model, c, np.concatenate(limits))
        displaced = [run.masses.displacement is not None for run in of]
        stored = [0.0] * len(of)
        if any(displaced):
            begin = [first_overlaps(run.masses, run.contacts.overlaps)[:-1] for run in of]
            works = in_parts(set_free(model, c, np.hstack(overlaps), np.hstack(begin)), limits)
            stored = [float(work.sum()) if moved else 0.0 for work, moved in zip(works, displaced, strict=True)]
        slopes = in_parts(slopes_of(model, c, demand_of(masses, np.hstack(overlaps), within, stored)), limits)
        by_length: dict[int, list[int]] = {}
        for place, row in enumerate(masses):
            by_length.setdefault(row.n_bodies, []).append(place)
        stiff: dict[int, Stiffest] = {}
        for places in by_length.values():
            stiff |= zip(places, stiffest([masses[place] for place in places], [slopes[place] for place in places]), strict=True)
        for place, (m, run) in enumerate(zip(members, of, strict=True)):
            steps[m] = choose(run.masses, stiff[place], run.step, run.end, run.force_step)
    return [step for step in steps if step is not None]


def alike(models: Sequence[Model]) -> list[list[int]]:
    """Places of each model: an object that those have in common that were set up together."""
    places: dict[int, list[int]] = {}
    for place, model in enumerate(models):
        places.setdefault(id(model), []).append(place)
    return list(places.values())
