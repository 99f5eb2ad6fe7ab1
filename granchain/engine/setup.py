"""What a run is set up from: law, pair, inputs, limits and static force make the contacts; contacts and chain make the time step.

The contacts of many chains are set up together: each scan looks once at the kinds of contact of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from granchain.chain import Chain, Masses
from granchain.contact.law import ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.restitution import Asked, with_restitutions
from granchain.engine.scans import Copies, contact_limits, in_parts, own_coefficients, start_histories, static_overlaps, with_windows
from granchain.engine.timestep import TimeStep, choose, demand_of, slopes_of


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
        At the start, fresh or under the static overlap; the last column is of a fresh contact like the last.
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
    """

    masses: Masses
    pair: Pair
    limits: np.ndarray
    inputs: SimpleNamespace


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
    given = with_restitutions([Asked(row.inputs, row.pair, row.limits, row.masses.velocity) for row in rows])
    begun = [_begun(law, row, inputs, copies) for row, inputs in zip(rows, given, strict=True)]
    done: list[Contacts | None] = [None] * len(rows)
    for members in alike([model for model, _, _ in begun]):
        model, of = begun[members[0]][0], [rows[m].masses for m in members]
        own, limits = [begun[m][1] for m in members], [begun[m][2] for m in members]
        c = in_parts(with_windows(model, np.hstack(own), np.concatenate(limits)), limits)
        overlaps = static_overlaps(model, c, limits, of)
        padded = [np.append(np.where(masses.contact_exists, static, 0.0), 0.0) for masses, static in zip(of, overlaps, strict=True)]
        columns = [table for mine in c for table in (mine, mine[:, -1:])]
        history = in_parts(start_histories(model, np.hstack(columns), np.concatenate(padded)), padded)
        for m, *found in zip(members, c, overlaps, limits, history, strict=True):
            done[m] = Contacts(model, *found)
    return [contacts for contacts in done if contacts is not None]


def _begun(law: type[ContactLaw], row: Row, inputs: SimpleNamespace, copies: Copies) -> tuple[Model, np.ndarray, np.ndarray]:
    """The model of a row, its law's own coefficients, and its limits; `inputs` are those with the restitutions in them."""
    limits, exists = row.limits.copy(), row.masses.contact_exists
    model = copies.of(law.model(inputs))
    own = own_coefficients(model, row.pair, inputs, limits.size)
    # an end without a wall has no contact: its column repeats its neighbour's, so that it is no kind of its own
    for k, neighbour in ((0, 1), (-1, -2)):
        if not exists[k]:
            own[:, k], limits[k] = own[:, neighbour], limits[neighbour]
    return model, own, limits


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
        c = np.hstack([run.contacts.c for run in of])
        within = in_parts(contact_limits(model, c, np.concatenate(limits)), limits)
        demand = [demand_of(run.masses, run.contacts.overlaps, most) for run, most in zip(of, within, strict=True)]
        slopes = in_parts(slopes_of(model, c, np.hstack(demand)), limits)
        for m, run, found in zip(members, of, slopes, strict=True):
            steps[m] = choose(run.masses, found, run.step, run.end, run.force_step)
    return [step for step in steps if step is not None]


def alike(models: Sequence[Model]) -> list[list[int]]:
    """Places of each model: an object that those have in common that were set up together."""
    places: dict[int, list[int]] = {}
    for place, model in enumerate(models):
        places.setdefault(id(model), []).append(place)
    return list(places.values())

