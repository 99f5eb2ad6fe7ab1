"""The restitution that an elastoplastic law gives at an impact speed, for dashpots that take theirs
from it.

Quasi-static: all of m v^2/2 goes into the loading work, U(d_max) = m v^2/2, and the contact gives
W(d_max) back: e = sqrt(W/U).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.contact import laws
from granchain.contact.law import SPEED_NODES, ContactLaw
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.coefficients import own_coefficients, with_windows
from granchain.engine.scans import SharedModels, in_parts, over_kinds, settled
from granchain.errors import LawError
from granchain.jit.accessors import gatherer

# Speeds are looked up to this many times the largest at the start: beads in a row do not collide
# faster than twice the striker.
FASTEST = 4.0


class RestitutionInputs(NamedTuple):
    """The inputs of a row, and what a restitution from another law is taken from; see
    `with_restitution`."""

    inputs: SimpleNamespace
    pair: Pair
    limits: np.ndarray
    velocity: np.ndarray


def with_restitution(
    inputs: SimpleNamespace, pair: Pair, limits: np.ndarray, velocity: np.ndarray
) -> SimpleNamespace:
    """The inputs with a restitution taken from another law put in as numbers; unchanged where it is
    a number already.

    Parameters
    ----------
    inputs : namespace
        `restitution` is a number, or a mapping: the name of a law and its inputs.
    pair : Pair
        The contacts.
    limits : (n_contacts,) array
        Largest overlap [m].
    velocity : (n_bodies,) array
        At the start [m/s]: the largest speed of two neighbours towards or from each other is the
        impact's where the law names none.

    Returns
    -------
    namespace
        restitution (n_contacts,), or (SPEED_NODES, n_contacts) at speeds from the floor up where
        each contact takes its own at onset.

    Raises
    ------
    LawError
        Where nothing moves, so that there is no speed.
    """
    (found,) = with_restitutions([RestitutionInputs(inputs, pair, limits, velocity)])
    return found


def with_restitutions(rows: Sequence[RestitutionInputs]) -> list[SimpleNamespace]:
    """The inputs of many rows, each as `with_restitution` gives them; contacts that take theirs
    from one law are scanned together."""
    found = [row.inputs for row in rows]
    sources: dict[int, LawAtSpeeds] = {}
    for place, row in enumerate(rows):
        if isinstance(getattr(row.inputs, "restitution", None), Mapping):
            law, values = restitution_law(row.inputs.restitution)
            sources[place] = LawAtSpeeds(law, values, row.pair, row.limits, *_speeds(law, row))
    for (place, source), given in zip(
        sources.items(), restitutions_at(list(sources.values())), strict=True
    ):
        # at each of several speeds, or at the one
        more = (
            {"restitution": given, "fastest": source.speeds[-1]}
            if source.at_onset
            else {"restitution": given[0]}
        )
        found[place] = SimpleNamespace(**{**vars(rows[place].inputs), **more})
    return found


def _speeds(law: type[ContactLaw], row: RestitutionInputs) -> tuple[np.ndarray, bool]:
    """Impact speeds [m/s] at which a row asks for restitutions, and whether each contact takes
    its own at onset."""
    inputs, speed = row.inputs, float(np.abs(np.diff(row.velocity, prepend=0.0, append=0.0)).max())
    impact_speed = getattr(inputs, "impact_speed", None)
    if impact_speed == "onset" and inputs.impact_speed_floor is not None:
        top = max(FASTEST * speed, 2.0 * inputs.impact_speed_floor)
        return np.geomspace(inputs.impact_speed_floor, top, SPEED_NODES), True
    own = float(impact_speed) if isinstance(impact_speed, (int, float)) else speed
    if not own > 0.0:
        raise LawError(
            f"restitution = {{ law = {law.name} }}: got no impact speed, for nothing moves at the "
            "start, allowed: a number above 0 [m/s]; give impact_speed or restitution as a number"
        )
    return np.array([own]), False


def restitution_law(asked: Mapping[str, Any]) -> tuple[type[ContactLaw], SimpleNamespace]:
    """The law that a restitution is taken from, and a value for each of its inputs."""
    law = laws()[asked["law"]]
    values = {q.name: asked.get(q.name, None if q.required else q.default) for q in law.inputs}
    return law, SimpleNamespace(**values)


class LawAtSpeeds(NamedTuple):
    """A law and its inputs, from which the contacts of a row take their restitution at impact
    speeds [m/s]."""

    law: type[ContactLaw]
    values: SimpleNamespace
    pair: Pair
    limits: np.ndarray
    speeds: np.ndarray
    at_onset: bool = False


def restitution_at(
    law: type[ContactLaw],
    values: SimpleNamespace,
    pair: Pair,
    limits: np.ndarray,
    speeds: np.ndarray,
) -> np.ndarray:
    """(n_speeds, n_contacts) Restitution of each contact under a rate-independent law at impact
    speeds [m/s]."""
    (found,) = restitutions_at([LawAtSpeeds(law, values, pair, limits, speeds)])
    return found


def restitutions_at(sources: Sequence[LawAtSpeeds]) -> list[np.ndarray]:
    """The restitutions of many rows, each as `restitution_at` gives them."""
    copies = SharedModels()
    models = [copies.of(source.law.model(source.values)) for source in sources]
    groups: dict[tuple[int, int], list[int]] = {}
    for place, (model, source) in enumerate(zip(models, sources, strict=True)):
        groups.setdefault((id(model), source.speeds.size), []).append(place)
    found: dict[int, np.ndarray] = {}
    for places in groups.values():
        model, of = models[places[0]], [sources[place] for place in places]
        limits = [source.limits for source in of]
        own = [
            own_coefficients(model, source.pair, source.values, source.limits.size) for source in of
        ]
        c = with_windows(model, np.hstack(own), np.concatenate(limits))
        mass = np.concatenate(
            [np.broadcast_to(source.pair.effective_mass, source.limits.shape) for source in of]
        )
        speeds = np.hstack(
            [np.repeat(source.speeds[:, None], source.limits.size, axis=1) for source in of]
        )
        energies = 0.5 * mass * speeds**2
        scanned = over_kinds(
            _restitution_scan, model, (c, np.concatenate(limits)[None, :], energies), len(energies)
        )
        found |= zip(places, in_parts(scanned, limits), strict=True)
    return [found[place] for place in range(len(sources))]


def _restitution_scan(model: Model) -> Callable:
    energy, plastic, settle = model.functions.energy, model.functions.plastic, settled(model)
    gather = gatherer(len(model.coefficients))

    def scan(c, limits, energies, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            for i in range(energies.shape[0]):
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
