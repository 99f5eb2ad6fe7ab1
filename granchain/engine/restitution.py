"""The restitution that an elastoplastic law gives at an impact speed, for dashpots that take theirs from it.

Quasi-static: all of m v^2/2 goes into the loading work, U(d_max) = m v^2/2, and the contact gives W(d_max) back: e = sqrt(W/U).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain.contact import laws
from granchain.contact.law import SPEED_NODES, ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.scans import coefficients, over_kinds, settled
from granchain.engine.specialise import gatherer
from granchain.errors import LawError

# Speeds are looked up to this many times the largest at the start: beads in a row do not collide faster than twice the striker.
FASTEST = 4.0


def with_restitution(inputs: SimpleNamespace, pair: Pair, limits: np.ndarray, speed: float) -> SimpleNamespace:
    """The inputs with a restitution taken from another law put in as numbers; unchanged where it is a number already.

    Parameters
    ----------
    inputs : namespace
        `restitution` is a number, or a mapping: the name of a law and its inputs.
    pair : Pair
        The contacts.
    limits : (n_contacts,) array
        Largest overlap [m].
    speed : float
        Largest speed at the start [m/s]: the impact's own where the law names none.

    Returns
    -------
    namespace
        restitution (n_contacts,), or (SPEED_NODES, n_contacts) at speeds from the floor up where each contact takes its own at onset.

    Raises
    ------
    LawError
        Where nothing moves, so that there is no speed.
    """
    asked = getattr(inputs, "restitution", None)
    if not isinstance(asked, Mapping):
        return inputs
    law, values = source_of(asked)
    impact_speed = getattr(inputs, "impact_speed", None)
    if impact_speed == "onset" and inputs.impact_speed_floor is not None:
        top = max(FASTEST * speed, 2.0 * inputs.impact_speed_floor)
        speeds = np.geomspace(inputs.impact_speed_floor, top, SPEED_NODES)
        return SimpleNamespace(**{**vars(inputs), "restitution": restitution_at(law, values, pair, limits, speeds), "fastest": top})
    own = float(impact_speed) if isinstance(impact_speed, (int, float)) else speed
    if not own > 0.0:
        raise LawError(
            f"restitution = {{ law = {law.name} }}: got no impact speed, for nothing moves at the start, allowed: a number above 0 [m/s]; "
            "give impact_speed or restitution as a number"
        )
    return SimpleNamespace(**{**vars(inputs), "restitution": restitution_at(law, values, pair, limits, np.array([own]))[0]})


def source_of(asked: Mapping[str, Any]) -> tuple[type[ContactLaw], SimpleNamespace]:
    """The law that a restitution is taken from, and a value for each of its inputs."""
    law = laws()[asked["law"]]
    values = {q.name: asked.get(q.name, None if q.required else q.default) for q in law.inputs}
    return law, SimpleNamespace(**values)


def restitution_at(law: type[ContactLaw], values: SimpleNamespace, pair: Pair, limits: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """(n_speeds, n_contacts) Restitution of each contact under a rate-independent law at impact speeds [m/s]."""
    model = law.model(values)
    c = coefficients(model, pair, values, limits)
    mass = np.broadcast_to(np.asarray(pair.effective_mass, dtype=float), limits.shape)
    energies = 0.5 * mass * speeds[:, None] ** 2
    return over_kinds(lambda kind: _scan(kind, len(speeds)), model, (c, limits[None, :], energies), len(speeds))


def _scan(model: Model, n_speeds: int) -> Callable:
    energy, plastic, settle = model.functions.energy, model.functions.plastic, settled(model)
    gather = gatherer(len(model.coefficients))

    def scan(c, limits, energies, out):  # type: ignore[no-untyped-def]
        for k in range(c.shape[1]):
            ck = gather(c, k)
            for i in range(n_speeds):
                wanted = energies[i, k]
                low, high = 1e-30, limits[0, k]
                # to rounding: 110 halvings of the logarithm's range, then of the number's
                for _ in range(200):
                    middle = 0.5 * (low + high) if high < 4.0 * low else math.sqrt(low * high)
                    if middle <= low or middle >= high:
                        break
                    h = settle(middle, ck)
                    if energy(middle, ck, h) + plastic(ck, h) < wanted:
                        low = middle
                    else:
                        high = middle
                h = settle(high, ck)
                given = energy(high, ck, h)
                taken = given + plastic(ck, h)
                out[i, k] = math.sqrt(given / taken) if given < taken else 1.0

    return scan
