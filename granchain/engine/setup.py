"""What a run is set up from: law, pair, inputs, limits and static force make the contacts; contacts and chain make the time step."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from granchain.chain import Chain
from granchain.contact.law import ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.restitution import with_restitution
from granchain.engine.scans import coefficients, contact_limits, static_overlaps
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


def contacts_of(law: type[ContactLaw], chain: Chain, inputs: SimpleNamespace, pair: Pair | None = None) -> Contacts:
    """Coefficients, guard and static start of a chain's contacts.

    Parameters
    ----------
    law : type of ContactLaw
        As registered.
    chain : Chain
        The row of bodies.
    inputs : namespace
        A value for each of the law's inputs.
    pair : Pair, optional
        Instead of the chain's own.

    Raises
    ------
    LawError, CaseError
        Where the law misses a quantity, or has no force for the static load.
    """
    limits = chain.overlap_limits()
    exists = chain.contact_exists
    pair = chain.pair() if pair is None else pair
    inputs = with_restitution(inputs, pair, limits, float(np.abs(np.diff(chain.velocity, prepend=0.0, append=0.0)).max()))
    model = law.model(inputs)
    c = coefficients(model, pair, inputs, limits)
    # an end without a wall has no contact: its column repeats its neighbour's, so that it is no kind of its own
    for k, neighbour in ((0, 1), (-1, -2)):
        if not exists[k]:
            c[:, k], limits[k] = c[:, neighbour], limits[neighbour]
    overlaps = static_overlaps(model, c, chain.static_forces(), contact_limits(model, c, limits), chain)
    return Contacts(model, c, overlaps, limits)


def time_step_of(contacts: Contacts, chain: Chain, step: str | float, end: float, force_step: bool = False) -> TimeStep:
    """The time step of a run; see granchain.engine.timestep.choose."""
    limits = contact_limits(contacts.model, contacts.c, contacts.limits)
    return choose(contacts.model, chain, contacts.c, contacts.overlaps, limits, step, end, force_step)
