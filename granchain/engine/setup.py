"""Contacts of a run, set up from law, pair, inputs, limits, and static forces.

The contacts of many chains are set up together: each scan runs once for all distinct kinds of
contact. The steps are, with one file each: restitutions from another law (restitution.py), the
model (row_model.py), coefficients with the windows of the energy correction (coefficients.py),
static overlaps and histories (at_rest.py), and the time step (timestep.py). Each step runs its scan
with scans.py over the kinds from kinds.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.chain import Masses
from granchain.contact.law import ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.at_rest import start_histories, static_overlaps
from granchain.engine.coefficients import coefficients, own_coefficients, with_windows
from granchain.engine.kinds import alike
from granchain.engine.restitution import with_restitutions
from granchain.engine.row_model import coefficient_rows, mixture, models_of, shared_models
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


@dataclass(frozen=True)
class ContactGroup:
    """Contacts of a chain with one law and one set of inputs."""

    selected: Any
    pair: Pair
    law: type[ContactLaw]
    inputs: SimpleNamespace

    @cached_property
    def model(self) -> Model:
        """Model of the law, created once because each call may return another object."""
        return self.law.model(self.inputs)


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
    groups = [[replace(group, inputs=next(inputs)) for group in those] for those in groups]
    models = shared_models([model_of(row, those) for row, those in zip(rows, groups, strict=True)])
    found: dict[int, Contacts] = {}
    for members in alike(map(id, models)):
        made = _contacts_of_model(
            models[members[0]], [rows[m] for m in members], [groups[m] for m in members]
        )
        found |= zip(members, made, strict=True)
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
    models = dict.fromkeys(group.model for group in (groups if row.own else groups[:1]))
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
    begun = [_own_and_limits(model, row, those) for row, those in zip(rows, groups, strict=True)]
    limits = np.concatenate([most for _, most in begun])
    c = with_windows(model, np.hstack([own for own, _ in begun]), limits)
    static = static_overlaps(model, c, limits, [row.masses for row in rows])
    ends = np.cumsum([most.size for _, most in begun])[:-1]
    begin = [
        np.append(row.masses.first_overlaps(overlaps[:-1]), 0.0)
        for row, overlaps in zip(rows, np.split(static, ends), strict=True)
    ]
    history = start_histories(model, c, static, np.concatenate(begin))
    tables = (np.split(table, ends, axis=-1) for table in (c, static, limits, history))
    return [
        Contacts(model, own[:, :-1], overlaps[:-1], most[:-1], first)
        for own, overlaps, most, first in zip(*tables, strict=True)
    ]


def _own_and_limits(
    model: Model, row: RowInputs, groups: Sequence[ContactGroup]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients and overlap limits of a chain, the last column twice.

    The inputs of the groups include the restitutions.
    """
    limits, present = np.append(row.limits, row.limits[-1]), row.masses.contacts
    own, models = np.zeros((len(model.own), limits.size)), models_of(model)
    for group in groups:
        most, own_model = row.limits[group.selected], group.model
        if not row.own and own_model != groups[0].model:
            raise LawError(
                f"contact law {model.name}: the inputs of a pair of materials change the form of "
                "the law. All contacts must have the same form of the law. Set these inputs for "
                "all contacts."
            )
        asked = own_model, group.pair, group.inputs
        if len(models) == 1:
            own[:, :-1][:, group.selected] = own_coefficients(*asked, most.size)
            continue
        columns = np.flatnonzero(group.selected)
        own[0, columns] = models.index(own_model)
        own[np.ix_(coefficient_rows(own_model, model), columns)] = coefficients(*asked, most)
    # An end without a wall has no contact. Its column copies that of its neighbour, so that it is
    # not a separate kind.
    for k, neighbour, exists in (
        (0, 1, present.start == 0),
        (-2, -3, present.stop == row.limits.size),
    ):
        if not exists:
            own[:, k], limits[k] = own[:, neighbour], limits[neighbour]
    own[:, -1], limits[-1] = own[:, -2], limits[-2]
    return own, limits
