"""What a run is set up from: law, pair, inputs, limits and static force make the contacts.

The contacts of many chains are set up together: each scan looks once at the kinds of contact of all
of them. In the order of the files: restitutions from another law (restitution.py), coefficients
(coefficients.py), static overlaps and histories (here), and then the time step (timestep.py); the
scans themselves are run by scans.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.chain import Masses
from granchain.contact.law import OPEN, ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.coefficients import own_coefficients, with_windows
from granchain.engine.mixture import coefficient_rows, mixture, models_of
from granchain.engine.restitution import with_restitutions
from granchain.engine.scans import (
    alike,
    at_rest,
    halfway,
    over_kinds,
    settled,
    shared_models,
    split_columns,
)
from granchain.errors import CaseError, LawError
from granchain.jit.accessors import gatherer, store_rows

# All contacts of a row.
ALL: Any = slice(None)


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
        At the start, fresh, or under the static overlap and the one that the bodies are then
        displaced to; the last column is of a fresh contact like the last.
    """

    model: Model
    c: np.ndarray
    overlaps: np.ndarray
    limits: np.ndarray
    history: np.ndarray


class RowInputs(NamedTuple):
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
    of_pairs : tuple of ((n_contacts,) boolean array, namespace)
        Contacts that have other inputs, and these; no contact is in two.
    own : tuple of ((n_contacts,) boolean array, type of ContactLaw, namespace)
        Contacts that have a law of their own, and its inputs.
    """

    masses: Masses
    pair: Pair
    limits: np.ndarray
    inputs: SimpleNamespace
    of_pairs: tuple[tuple[np.ndarray, SimpleNamespace], ...] = ()
    own: tuple[tuple[np.ndarray, type[ContactLaw], SimpleNamespace], ...] = ()


@dataclass(frozen=True)
class ContactGroup:
    """Contacts of a row that have one law and one set of inputs."""

    selected: Any
    pair: Pair
    law: type[ContactLaw]
    inputs: SimpleNamespace

    @cached_property
    def model(self) -> Model:
        """The law, as it runs here: asked for once, for it may be another object each time."""
        return self.law.model(self.inputs)


def contacts_between(
    law: type[ContactLaw], masses: Masses, pair: Pair, limits: np.ndarray, inputs: SimpleNamespace
) -> Contacts:
    """Coefficients, guard and static start of the contacts of a row of masses, however these
    came to be; see `RowInputs`.

    Raises
    ------
    LawError, CaseError
        Where the law misses a quantity, or has no force for the static load.
    """
    (contacts,) = contacts_together(law, [RowInputs(masses, pair, limits, inputs)])
    return contacts


def contacts_together(law: type[ContactLaw], rows: Sequence[RowInputs]) -> list[Contacts]:
    """The contacts of many rows of masses under one law, each as if it were set up alone.

    Raises
    ------
    LawError, CaseError
        As `contacts_between`, for the first row that cannot be set up.
    """
    # members of a study mostly differ in what no contact is made of, such as the striker's speed:
    # they share their contacts
    keys = []
    for place, row in enumerate(rows):
        values = vars(row.inputs)
        scalar = all(
            value is None or isinstance(value, (str, float, int)) for value in values.values()
        )
        alone = scalar and not row.of_pairs and not row.own
        keys.append((id(row.pair), id(row.limits), repr(values) if alone else place))
    same = alike(keys)
    firsts = [rows[places[0]] for places in same]
    groups = [groups_of(law, row) for row in firsts]
    inputs = iter(
        with_restitutions(
            [
                (group.inputs, group.pair, row.limits[group.selected], row.masses.velocity)
                for row, those in zip(firsts, groups, strict=True)
                for group in those
            ]
        )
    )
    groups = [[replace(group, inputs=next(inputs)) for group in those] for those in groups]
    models = shared_models(
        [model_of(row, those) for row, those in zip(firsts, groups, strict=True)]
    )
    found: dict[int, Contacts] = {}
    for members in alike(map(id, models)):
        model = models[members[0]]
        made = _contacts_of_model(model, [firsts[m] for m in members], [groups[m] for m in members])
        for m, contacts in zip(members, made, strict=True):
            found |= dict.fromkeys(same[m], contacts)
    return [found[place] for place in range(len(rows))]


def groups_of(law: type[ContactLaw], row: RowInputs) -> list[ContactGroup]:
    """Of a row all its contacts, and then those that have inputs of their own; where some have a
    law of their own, those that there are, law by law."""
    found: list[tuple[Any, type[ContactLaw], SimpleNamespace]]
    if not row.own:
        found = [(ALL, law, row.inputs)]
        found += [(selected, law, inputs) for selected, inputs in row.of_pairs]
    else:
        rest = np.zeros(row.limits.size, dtype=bool)
        rest[row.masses.contacts] = True
        for selected, _, _ in row.own:
            rest &= ~selected
        found = [(rest, law, row.inputs)]
        found += [(selected & rest, law, inputs) for selected, inputs in row.of_pairs]
        found = [one for one in [*found, *row.own] if one[0].any()]
    return [
        ContactGroup(selected, pair_at(row.pair, selected), law, inputs)
        for selected, law, inputs in found
    ]


def model_of(row: RowInputs, groups: Sequence[ContactGroup]) -> Model:
    """What the contacts of a row run under: a mixture where some have a law of their own, or
    another form of it."""
    models = dict.fromkeys(group.model for group in (groups if row.own else groups[:1]))
    return mixture(tuple(models)) if len(models) > 1 else next(iter(models))


def pair_at(pair: Pair, selected: Any) -> Pair:
    """The pair of the selected contacts."""
    if selected is ALL:
        return pair
    return Pair(
        **{
            name: np.asarray(values)[selected] if np.ndim(values) else values
            for name, values in pair.items().items()
        }
    )


def _contacts_of_model(
    model: Model, rows: Sequence[RowInputs], groups: Sequence[Sequence[ContactGroup]]
) -> list[Contacts]:
    """The contacts of rows that run under one model; each row has one column more while it is set
    up, of a fresh contact like its last."""
    begun = [_own_and_limits(model, row, those) for row, those in zip(rows, groups, strict=True)]
    limits = np.concatenate([most for _, most in begun])
    c = with_windows(model, np.hstack([own for own, _ in begun]), limits)
    static = static_overlaps(model, c, limits, [row.masses for row in rows])
    begin = [
        np.append(row.masses.first_overlaps(overlaps[:-1]), 0.0)
        for row, overlaps in zip(rows, static, strict=True)
    ]
    history = start_histories(model, c, np.concatenate(static), np.concatenate(begin))
    columns = zip(
        split_columns(c, static), static, begun, split_columns(history, static), strict=True
    )
    return [
        Contacts(model, own[:, :-1], overlaps[:-1], most[:-1], first)
        for own, overlaps, (_, most), first in columns
    ]


def _own_and_limits(
    model: Model, row: RowInputs, groups: Sequence[ContactGroup]
) -> tuple[np.ndarray, np.ndarray]:
    """A law's own coefficients of a row, and its limits, each with the last column twice; the
    inputs of the groups include the restitutions."""
    limits, present = np.append(row.limits, row.limits[-1]), row.masses.contacts
    own, models = np.zeros((len(model.own), limits.size)), models_of(model)
    for group in groups:
        most, own_model = row.limits[group.selected], group.model
        if not row.own and own_model != groups[0].model:
            raise LawError(
                f"contact law {model.name}: got inputs of a pair of materials that make it another "
                "law, allowed: one form of the law for all "
                "contacts; set these inputs for all of them"
            )
        table = own_coefficients(own_model, group.pair, group.inputs, most.size)
        if len(models) == 1:
            own[:, :-1][:, group.selected] = table
            continue
        columns = np.flatnonzero(group.selected)
        own[0, columns] = models.index(own_model)
        own[np.ix_(coefficient_rows(own_model, model), columns)] = with_windows(
            own_model, table, most
        )
    # an end without a wall has no contact: its column repeats its neighbour's, so that it is no
    # kind of its own
    for k, neighbour, exists in (
        (0, 1, present.start == 0),
        (-2, -3, present.stop == row.limits.size),
    ):
        if not exists:
            own[:, k], limits[k] = own[:, neighbour], limits[neighbour]
    own[:, -1], limits[-1] = own[:, -2], limits[-2]
    return own, limits


def largest_force(model: Model, c: np.ndarray, limit: float) -> str:
    """The force at rest at the largest overlap, as a sentence has it; nothing where the law has
    none that is a number."""
    try:
        force = at_rest(model)[0](float(limit), tuple(c.tolist()))
    except (ArithmeticError, ValueError):
        force = math.nan
    return f", here {force:.6g} N" if math.isfinite(force) else ""


def static_overlaps(
    model: Model, c: np.ndarray, limits: np.ndarray, rows: Sequence[Masses]
) -> list[np.ndarray]:
    """Overlap [m] at which each contact of some rows at rest carries its static force, and that of
    a fresh one more for each row; `limits` are the largest allowed ones [m].

    Raises
    ------
    CaseError
        Where the law has no such force within its range.
    """
    forces = [np.append(masses.static_forces(), 0.0) for masses in rows]
    force = np.concatenate(forces)
    if not force.any():
        return forces
    found = over_kinds(_static_scan, model, (c, force[None, :], limits[None, :]), 1)[0]
    if np.isnan(found).any():
        k = int(np.argmax(np.isnan(found)))
        largest = min(float(limits[k]), model.functions.overlap_limit(tuple(c[:, k])))
        labels = np.concatenate([np.append(masses.contact_labels, 0) for masses in rows])
        raise CaseError(
            f"chain.precompression: got {force[k]:.6g} N that contact {int(labels[k])} has to "
            f"carry at rest, allowed: at most the force of the law {model.name} at its largest "
            f"overlap, {largest:.6g} m{largest_force(model, c[:, k], largest)}; lower the "
            "precompression or gravity, or take another law"
        )
    return split_columns(found, forces)


def _static_scan(model: Model) -> Callable:
    (force, _), overlap_limit = at_rest(model), model.functions.overlap_limit
    gather = gatherer(len(model.coefficients))

    def scan(c, forces, limits, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            wanted = forces[0, k]
            low, high = 0.0, min(limits[0, k], overlap_limit(ck))
            if wanted <= 0.0:
                continue
            if not force(high, ck) >= wanted:
                out[0, k] = math.nan
                continue
            for _ in range(1100):
                middle = halfway(low, high)
                if middle <= low or middle >= high:
                    break
                if force(middle, ck) < wanted:
                    low = middle
                else:
                    high = middle
            # of the two neighbours, the one whose force is nearer; none is near where the law's
            # force jumps past the wanted one
            short, over = wanted - force(low, ck), force(high, ck) - wanted
            out[0, k] = high if over <= short else low
            if min(short, over) > 1e-9 * wanted:
                out[0, k] = math.nan

    return scan


def start_histories(
    model: Model, c: np.ndarray, static: np.ndarray, begin: np.ndarray
) -> np.ndarray:
    """(n_history, n_contacts) History at the start: fresh, or loaded to the static overlap (which
    may have yielded), and from there to the one that the contact begins with [m]."""
    if not model.history:
        return np.zeros((0, static.size))
    return over_kinds(_history_scan, model, (c, np.vstack([static, begin])), len(model.history))


def _history_scan(model: Model) -> Callable:
    settle, needs_update, update = (
        settled(model),
        model.functions.needs_update,
        model.functions.update,
    )
    gather, store = gatherer(len(model.coefficients)), store_rows

    def scan(c, overlaps, out):
        for k in range(c.shape[1]):
            ck, static, begin = gather(c, k), overlaps[0, k], overlaps[1, k]
            h = settle(static, ck)
            if (
                begin != static
                and (begin > OPEN or static > OPEN)
                and needs_update(begin, 0.0, ck, h)
            ):
                h = update((begin, 0.0, 0.0, 1.0), ck, h)
            store(out, k, h)

    return scan
