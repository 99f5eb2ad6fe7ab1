"""What a run is set up from: law, pair, inputs, limits and static force make the contacts; contacts and chain make the time step."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from granchain.chain import Chain, Masses
from granchain.contact.law import ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.restitution import with_restitution
from granchain.engine.scans import coefficients, contact_limits, static_overlaps, with_copies
from granchain.engine.timestep import TimeStep, choose


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
    """

    model: Model
    c: np.ndarray
    overlaps: np.ndarray
    limits: np.ndarray


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
    """Coefficients, guard and static start of the contacts of a row of masses, however these came to be.

    Parameters
    ----------
    law : type of ContactLaw
        As registered.
    masses : Masses
        What stands between the ends, and under which loads.
    pair : Pair
        The two bodies of each contact: numbers, or (n_contacts,) arrays.
    limits : (n_contacts,) array
        Overlap at which the run stops [m].
    inputs : namespace
        A value for each of the law's inputs.

    Raises
    ------
    LawError, CaseError
        As `contacts_of`.
    """
    limits, exists = limits.copy(), masses.contact_exists
    inputs = with_restitution(inputs, pair, limits, masses.velocity)
    model = with_copies(law.model(inputs))
    c = coefficients(model, pair, inputs, limits)
    # an end without a wall has no contact: its column repeats its neighbour's, so that it is no kind of its own
    for k, neighbour in ((0, 1), (-1, -2)):
        if not exists[k]:
            c[:, k], limits[k] = c[:, neighbour], limits[neighbour]
    return Contacts(model, c, static_overlaps(model, c, limits, masses), limits)


def time_step_of(contacts: Contacts, chain: Masses, step: str | float, end: float, force_step: bool = False) -> TimeStep:
    """The time step of a run; see granchain.engine.timestep.choose."""
    limits = contact_limits(contacts.model, contacts.c, contacts.limits)
    return choose(contacts.model, chain, contacts.c, contacts.overlaps, limits, step, end, force_step)
