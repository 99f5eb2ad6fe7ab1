"""Contacts of a run, set up from law, pair, inputs, limits, and static forces.

The contacts of many chains are set up together: each scan runs once for all distinct kinds of
contact. The steps are, with one file each: restitutions from another law (restitution.py), the
model (row_model.py), coefficients with the windows of the energy correction (coefficients.py),
static overlaps and histories (at_rest.py), and the time step (timestep.py). Each step runs its scan
with scans.py over the kinds from kinds.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.chain import Masses
from granchain.contact.law import ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.at_rest import start_histories, static_overlaps
from granchain.engine.coefficients import coefficients, coefficients_together, with_windows
from granchain.engine.kinds import alike
from granchain.engine.restitution import with_restitutions
from granchain.engine.row_model import (
    coefficient_rows,
    mixture,
    models_by_inputs,
    models_of,
    shared_models,
)
from granchain.errors import LawError

# All contacts of a chain.
ALL: Any = slice(None)


@dataclass(frozen=True)
class Contacts:
    """Contacts of a chain with one law: properties that do not change during a run.

    Parameters
    ----------
    model : Model
        Contact law.
    c : (n_coefficients, n_contacts) array
        Coefficients.
    overlaps : (n_contacts,) array
        Static overlaps [m].
    limits : (n_contacts,) array
        Overlap at which the run stops [m].
    history : (n_history, n_contacts + 1) array
        History at the start: fresh, or after loading to the static overlap and then to the initial
        overlap of the displaced bodies. The last column is a fresh contact like the last one.
    """

    model: Model
    c: np.ndarray
    overlaps: np.ndarray
    limits: np.ndarray
    history: np.ndarray


class RowInputs(NamedTuple):
    """Chain of masses, and the laws and inputs of its contacts.

    Parameters
    ----------
    law : type of ContactLaw
        Law of all contacts without an individual law.
    masses : Masses
        Bodies between the ends, and their loads.
    pair : Pair
        The two bodies of each contact: numbers, or (n_contacts,) arrays.
    limits : (n_contacts,) array
        Overlap at which the run stops [m].
    inputs : namespace
        Value of each input of the law.
    of_pairs : tuple of ((n_contacts,) boolean array, namespace)
        Contacts with other inputs, and these inputs; no contact is in two groups.
    own : tuple of ((n_contacts,) boolean array, type of ContactLaw, namespace)
        Contacts with an individual law, the law, and its inputs.
    """

    law: type[ContactLaw]
    masses: Masses
    pair: Pair
    limits: np.ndarray
    inputs: SimpleNamespace
    of_pairs: tuple[tuple[np.ndarray, SimpleNamespace], ...] = ()
    own: tuple[tuple[np.ndarray, type[ContactLaw], SimpleNamespace], ...] = ()


class ContactGroup(NamedTuple):
    """Contacts of a chain with one law and one set of inputs, and the model for these inputs."""

    selected: Any
    pair: Pair
    law: type[ContactLaw]
    inputs: SimpleNamespace
    model: Any = None


def contacts_together(rows: Sequence[RowInputs]) -> list[Contacts]:
    """Set up the contacts of many chains together, as if each were set up alone.

    Raises
    ------
    LawError, CaseError
        For the first chain whose law lacks a quantity, or has no force for the static load.
    """
    groups = [groups_of(row) for row in rows]
    inputs = iter(
        with_restitutions(
            [
                (group.inputs, group.pair, row.limits[group.selected], row.masses.velocity)
                for row, those in zip(rows, groups, strict=True)
                for group in those
            ]
        )
    )
    model_for = models_by_inputs()
    groups = [
        [
            group._replace(inputs=(values := next(inputs)), model=model_for(group.law, values))
            for group in those
        ]
        for those in groups
    ]
    made = [model_of(row, those) for row, those in zip(rows, groups, strict=True)]
    distinct = {id(model): model for model in made}
    shared = dict(zip(distinct, shared_models(list(distinct.values())), strict=True))
    models = [shared[id(model)] for model in made]
    found: dict[int, Contacts] = {}
    for members in alike(map(id, models)):
        contacts = _contacts_of_model(
            models[members[0]], [rows[m] for m in members], [groups[m] for m in members]
        )
        found |= zip(members, contacts, strict=True)
    return [found[place] for place in range(len(rows))]


def groups_of(row: RowInputs) -> list[ContactGroup]:
    """Return the groups of contacts of a chain.

    The first group contains all contacts, and the others are contacts with individual inputs. If
    some contacts have an individual law, the groups contain only existing contacts, law by law.
    """
    found: list[tuple[Any, type[ContactLaw], SimpleNamespace]]
    if not row.own:
        found = [(ALL, row.law, row.inputs)]
        found += [(selected, row.law, inputs) for selected, inputs in row.of_pairs]
    else:
        rest = np.zeros(row.limits.size, dtype=bool)
        rest[row.masses.contacts] = True
        for selected, _, _ in row.own:
            rest &= ~selected
        found = [(rest, row.law, row.inputs)]
        found += [(selected & rest, row.law, inputs) for selected, inputs in row.of_pairs]
        found = [one for one in [*found, *row.own] if one[0].any()]
    return [
        ContactGroup(selected, pair_at(row.pair, selected), law, inputs)
        for selected, law, inputs in found
    ]


def model_of(row: RowInputs, groups: Sequence[ContactGroup]) -> Model:
    """Return the model of the contacts of a chain.

    It is a mixture if some contacts have an individual law, or another form of the law.
    """
    if not row.own:
        model: Model = groups[0].model
        return model
    models = dict.fromkeys(group.model for group in groups)
    return mixture(tuple(models)) if len(models) > 1 else next(iter(models))


def pair_at(pair: Pair, selected: Any) -> Pair:
    """Return the pair of the selected contacts."""
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
    """Return the contacts of chains with one model.

    During set-up, each chain has one additional column: a fresh contact like its last.
    """
    sizes = np.array([row.limits.size + 1 for row in rows])
    ends = np.cumsum(sizes)
    columns = [slice(end - size, end - 1) for end, size in zip(ends.tolist(), sizes, strict=True)]
    own = _own_table(model, rows, groups, columns, int(ends[-1]))
    limits = np.concatenate([most for row in rows for most in (row.limits, row.limits[-1:])])
    # An end without a wall has no contact. Its column copies that of its neighbour, so that it is
    # not a separate kind.
    walls = np.array([[row.masses.left.has_wall, row.masses.right.has_wall] for row in rows])
    left, right = (ends - sizes)[~walls[:, 0]], ends[~walls[:, 1]] - 2
    for copies, neighbours in ((left, left + 1), (right, right - 1), (ends - 1, ends - 2)):
        own[:, copies], limits[copies] = own[:, neighbours], limits[neighbours]
    c = with_windows(model, own, limits)
    static = static_overlaps(model, c, limits, [row.masses for row in rows])
    begin = static.copy()
    for row, those in zip(rows, columns, strict=True):
        if row.masses.is_displaced:
            begin[those] = row.masses.first_overlaps(static[those])
    begin[ends - 1] = 0.0
    history = start_histories(model, c, static, begin)
    return [
        Contacts(
            model, c[:, those], static[those], limits[those],
            history[:, those.start : those.stop + 1],
        )
        for those in columns
    ]  # fmt: skip


def _own_table(
    model: Model,
    rows: Sequence[RowInputs],
    groups: Sequence[Sequence[ContactGroup]],
    columns: Sequence[slice],
    width: int,
) -> np.ndarray:
    """Return the (n_own, width) coefficients of chains with one model, without windows.

    `columns` are the contacts of each chain. The inputs of the groups include the restitutions.
    """
    own, models = np.zeros((len(model.own), width)), models_of(model)
    together: list[tuple[np.ndarray, ContactGroup]] = []
    for row, those, place in zip(rows, groups, columns, strict=True):
        for group in those:
            if not row.own and group.model is not model and group.model != those[0].model:
                raise LawError(
                    f"contact law {model.name}: the inputs of a pair of materials change the form "
                    "of the law. All contacts must have the same form of the law. Set these inputs "
                    "for all contacts."
                )
            if len(models) == 1:
                together.append((own[:, place], group))
                continue
            present = place.start + np.flatnonzero(group.selected)
            own[0, present] = models.index(group.model)
            own[np.ix_(coefficient_rows(group.model, model), present)] = coefficients(
                group.model, group.pair, group.inputs, row.limits[group.selected]
            )
    sizes = [part[0, group.selected].size for part, group in together]
    shares = [
        (group.pair, group.inputs, size) for (_, group), size in zip(together, sizes, strict=True)
    ]
    for (part, group), table in zip(
        together, coefficients_together(model, shares) if shares else (), strict=True
    ):
        part[:, group.selected] = table
    return own
