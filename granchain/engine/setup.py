"""What a run is set up from: law, pair, inputs, limits and static force make the contacts.

The contacts of many chains are set up together: each scan looks once at the kinds of contact of all
of them. In the order of the files: restitutions from another law (restitution.py), coefficients
(coefficients.py), static overlaps and histories (here), and then the time step (timestep.py); the
scans themselves are run by scans.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.chain import Chain, Masses
from granchain.contact.law import OPEN, ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.coefficients import own_coefficients, with_windows
from granchain.engine.restitution import RestitutionInputs, with_restitutions
from granchain.engine.scans import SharedModels, alike, in_parts, over_kinds, settled
from granchain.errors import CaseError, LawError
from granchain.jit.accessors import gatherer, put_rows


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
    others : tuple of ((n_contacts,) boolean array, namespace)
        Contacts that have other inputs, and these; no contact is in two.
    """

    masses: Masses
    pair: Pair
    limits: np.ndarray
    inputs: SimpleNamespace
    others: tuple[tuple[np.ndarray, SimpleNamespace], ...] = ()


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


def contacts_between(
    law: type[ContactLaw], masses: Masses, pair: Pair, limits: np.ndarray, inputs: SimpleNamespace
) -> Contacts:
    """Coefficients, guard and static start of the contacts of a row of masses, however these
    came to be; see `RowInputs`."""
    (contacts,) = contacts_together(law, [RowInputs(masses, pair, limits, inputs)])
    return contacts


def contacts_together(law: type[ContactLaw], rows: Sequence[RowInputs]) -> list[Contacts]:
    """The contacts of many rows of masses under one law, each as if it were set up alone.

    Raises
    ------
    LawError, CaseError
        As `contacts_of`, for the first row that cannot be set up.
    """
    copies = SharedModels()
    asked = [
        RestitutionInputs(row.inputs, row.pair, row.limits, row.masses.velocity) for row in rows
    ]
    for row in rows:
        for there, inputs in row.others:
            asked.append(
                RestitutionInputs(
                    inputs, pair_at(row.pair, there), row.limits[there], row.masses.velocity
                )
            )
    given = iter(with_restitutions(asked))
    own = [next(given) for _ in rows]
    others = [
        [Other(there, pair_at(row.pair, there), next(given)) for there, _ in row.others]
        for row in rows
    ]
    # members of a study mostly differ in what no contact is made of, such as the striker's speed:
    # they share their contacts
    likes: list[Any] = []
    distinct: dict[Any, Any] = {}
    for place, each in enumerate(zip(rows, own, others, strict=True)):
        row, inputs, more = each
        words = repr_of_scalars(inputs, place)
        likes.append(place if more else (id(row.pair), id(row.limits), words))
        distinct.setdefault(likes[-1], each)
    rows, own, others = (list(column) for column in zip(*distinct.values(), strict=True))
    models = [copies.of(law.model(inputs)) for inputs in own]
    begun = [_begun(law, *each) for each in zip(rows, models, own, others, strict=True)]
    done: list[Contacts | None] = [None] * len(rows)
    for members in alike(models):
        model, of = models[members[0]], [rows[m].masses for m in members]
        # each with one column more, of a fresh contact like its last
        limits = [begun[m][1] for m in members]
        wide = with_windows(
            model, np.hstack([begun[m][0] for m in members]), np.concatenate(limits)
        )
        c, limits = (
            [table[:, :-1] for table in in_parts(wide, limits)],
            [most[:-1] for most in limits],
        )
        overlaps = static_overlaps(model, c, limits, of)
        padded = [np.append(static, 0.0) for static in overlaps]
        for start, masses in zip(padded, of, strict=True):
            start[: masses.contacts.start] = start[masses.contacts.stop :] = 0.0
        begin = [
            first_overlaps(masses, static) for masses, static in zip(of, overlaps, strict=True)
        ]
        history = in_parts(
            start_histories(model, wide, np.concatenate(padded), np.concatenate(begin)), padded
        )
        for m, *arrays in zip(members, c, overlaps, limits, history, strict=True):
            done[m] = Contacts(model, *arrays)
    found = dict(zip(distinct, done, strict=True))
    return [contacts for like in likes if (contacts := found[like]) is not None]


def repr_of_scalars(inputs: SimpleNamespace, otherwise: Any) -> Any:
    """What inputs are, in words that differ where a bit does; `otherwise` where there are other
    than numbers and words among them."""
    values = vars(inputs)
    return (
        repr(values)
        if all(value is None or isinstance(value, (str, float, int)) for value in values.values())
        else otherwise
    )


def first_overlaps(masses: Masses, static: np.ndarray) -> np.ndarray:
    """(n_contacts + 1,) Overlap at which each contact begins [m], in the order of a history's
    columns; 0 where there is none."""
    begin = np.zeros(static.size + 1)
    begin[masses.contacts] = (
        static if masses.displacement is None else masses.overlaps_at_start(static)
    )[masses.contacts]
    return begin


class Other(NamedTuple):
    """Contacts of a row that have inputs of their own: which, their pairs, and the inputs with
    the restitutions in them."""

    there: np.ndarray
    pair: Pair
    inputs: SimpleNamespace


def pair_at(pair: Pair, there: np.ndarray) -> Pair:
    """The pair of some of the contacts."""
    return Pair(
        **{
            name: np.asarray(values)[there] if np.ndim(values) else values
            for name, values in pair.items().items()
        }
    )


def _begun(
    law: type[ContactLaw],
    row: RowInputs,
    model: Model,
    inputs: SimpleNamespace,
    others: Sequence[Other],
) -> tuple[np.ndarray, np.ndarray]:
    """A law's own coefficients of a row, and its limits, each with the last column twice.

    `inputs` are those with the restitutions in them.
    """
    limits, there = np.append(row.limits, row.limits[-1]), row.masses.contacts
    own = np.empty((len(model.own), limits.size))
    own[:, :-1] = own_coefficients(model, row.pair, inputs, row.limits.size)
    for other in others:
        if law.model(other.inputs) != law.model(inputs):
            raise LawError(
                f"contact law {law.name}: got inputs of a pair of materials that make it another "
                "law, allowed: one form of the law for all "
                "contacts; set these inputs for all of them"
            )
        own[:, :-1][:, other.there] = own_coefficients(
            model, other.pair, other.inputs, int(other.there.sum())
        )
    # an end without a wall has no contact: its column repeats its neighbour's, so that it is no
    # kind of its own
    for k, neighbour, exists in ((0, 1, there.start == 0), (-2, -3, there.stop == row.limits.size)):
        if not exists:
            own[:, k], limits[k] = own[:, neighbour], limits[neighbour]
    own[:, -1], limits[-1] = own[:, -2], limits[-2]
    return own, limits


def largest_force(model: Model, c: np.ndarray, limit: float) -> str:
    """The force at rest at the largest overlap, as a sentence has it; nothing where the law has
    none that is a number."""
    ck = tuple(c.tolist())
    try:
        force = model.functions.force(float(limit), 0.0, ck, settled(model)(float(limit), ck))
    except (ArithmeticError, ValueError):
        force = math.nan
    return f", here {force:.6g} N" if math.isfinite(force) else ""


def static_overlaps(
    model: Model, c: Sequence[np.ndarray], limits: Sequence[np.ndarray], rows: Sequence[Masses]
) -> list[np.ndarray]:
    """Overlap [m] at which each contact of some rows at rest carries its static force; `limits` are
    the largest allowed ones [m].

    Raises
    ------
    CaseError
        Where the law has no such force within its range.
    """
    forces = [masses.static_forces() for masses in rows]
    overlaps = [np.zeros(force.size) for force in forces]
    loaded = [m for m, force in enumerate(forces) if force.any()]
    if not loaded:
        return overlaps
    table, force = np.hstack([c[m] for m in loaded]), np.concatenate([forces[m] for m in loaded])
    within = contact_limits(model, table, np.concatenate([limits[m] for m in loaded]))
    found = over_kinds(_static_scan, model, (table, force[None, :], within[None, :]), 1)[0]
    first = 0
    for m in loaded:
        mine = slice(first, first + forces[m].size)
        first, overlaps[m] = mine.stop, np.ascontiguousarray(found[mine])
        bad = np.flatnonzero(np.isnan(overlaps[m]))
        if bad.size:
            k = int(bad[0])
            most = within[mine][k]
            raise CaseError(
                f"chain.precompression: got {forces[m][k]:.6g} N that contact "
                f"{int(rows[m].contact_labels[k])} has to carry at rest, allowed: at most the "
                f"force of the law {model.name} at its largest overlap, {most:.6g} "
                f"m{largest_force(model, c[m][:, k], most)}; lower the precompression or gravity, "
                "or take another law"
            )
    return overlaps


def _static_scan(model: Model) -> Callable:
    force, settle = model.functions.force, settled(model)
    gather = gatherer(len(model.coefficients))

    def scan(c, forces, limits, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            wanted = forces[0, k]
            low, high = 0.0, limits[0, k]
            if wanted <= 0.0:
                continue
            if not force(high, 0.0, ck, settle(high, ck)) >= wanted:
                out[0, k] = math.nan
                continue
            middle = high
            for _ in range(1100):
                middle = (
                    0.5 * (low + high)
                    if low > 0.0 and high < 4.0 * low
                    else math.sqrt(max(low, 1e-30) * high)
                )
                if middle <= low or middle >= high:
                    break
                if force(middle, 0.0, ck, settle(middle, ck)) < wanted:
                    low = middle
                else:
                    high = middle
            # of the two neighbours, the one whose force is nearer; none is near where the law's
            # force jumps past the wanted one
            short = wanted - force(low, 0.0, ck, settle(low, ck))
            over = force(high, 0.0, ck, settle(high, ck)) - wanted
            out[0, k] = high if over <= short else low
            if min(short, over) > 1e-9 * wanted:
                out[0, k] = math.nan

    return scan


def start_histories(
    model: Model, c: np.ndarray, static: np.ndarray, overlaps: np.ndarray | None = None
) -> np.ndarray:
    """(n_history, n_contacts) History at the start: fresh, or loaded to the static overlap (which
    may have yielded).

    Where the contacts begin at other `overlaps` [m], to these from there.
    """
    if not model.history:
        return np.zeros((0, static.size))
    return over_kinds(
        _history_scan,
        model,
        (c, np.vstack([static, static if overlaps is None else overlaps])),
        len(model.history),
    )


def _history_scan(model: Model) -> Callable:
    settle, needs_update, update = (
        settled(model),
        model.functions.needs_update,
        model.functions.update,
    )
    gather, store = gatherer(len(model.coefficients)), put_rows

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


def contact_limits(model: Model, c: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """(n_contacts,) The smaller of the radius limit and the law's own largest overlap [m]."""
    return np.minimum(limits, over_kinds(_largest_scan, model, (c,), 1)[0])


def _largest_scan(model: Model) -> Callable:
    overlap_limit = model.functions.overlap_limit
    gather = gatherer(len(model.coefficients))

    def scan(c, out):
        for k in range(c.shape[1]):
            out[0, k] = overlap_limit(gather(c, k))

    return scan
