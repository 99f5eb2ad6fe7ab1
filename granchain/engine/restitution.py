"""Coefficient of restitution of an elastoplastic law at an impact speed, for dashpots that use it.

Quasi-static: the energy m v^2/2 equals the loading work, U(d_max) = m v^2/2, and the contact
returns W(d_max), so e = sqrt(W/U).
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
from granchain.engine.at_rest import at_rest, halfway, settled
from granchain.engine.coefficients import own_coefficients, with_windows
from granchain.engine.kinds import alike
from granchain.engine.row_model import shared_models
from granchain.engine.scans import over_kinds
from granchain.errors import LawError
from granchain.jit.accessors import gatherer

# Upper limit of tabulated speeds, relative to the largest speed at the start: beads in a chain do
# not collide faster than twice the striker speed.
FASTEST = 4.0


class LawAtSpeeds(NamedTuple):
    """Rate-independent law and its inputs, which determine the restitution of contacts at impact
    speeds [m/s]."""

    law: type[ContactLaw]
    values: SimpleNamespace
    pair: Pair
    limits: np.ndarray
    speeds: np.ndarray


def with_restitutions(
    rows: Sequence[tuple[SimpleNamespace, Pair, np.ndarray, np.ndarray]],
) -> list[SimpleNamespace]:
    """Replace restitutions from other laws by numbers in the inputs of many chains.

    Restitutions that are already numbers do not change. Contacts that use the same law are scanned
    together.

    Parameters
    ----------
    rows : sequence of (inputs, pair, limits, velocity)
        `inputs` are the inputs of the law; their `restitution` is a number, or a mapping with the
        name of a law and its inputs. `pair` describes the contacts. `limits` are the (n_contacts,)
        maximum overlaps [m]. `velocity` contains the (n_bodies,) velocities at the start [m/s]: if
        the law has no impact speed, it is the largest relative speed of two neighbours.

    Returns
    -------
    list of namespace
        Inputs with restitution (n_contacts,), or (SPEED_NODES, n_contacts) at speeds from the
        minimum up if each contact takes its impact speed at onset.

    Raises
    ------
    LawError
        If nothing moves, so that there is no speed, or if an impact at one of the speeds exceeds
        the overlap limit of the other law.
    """
    found = [inputs for inputs, *_ in rows]
    sources = {
        place: LawAtSpeeds(
            *restitution_law(inputs.restitution), pair, limits, _speeds(inputs, velocity)
        )
        for place, (inputs, pair, limits, velocity) in enumerate(rows)
        if isinstance(getattr(inputs, "restitution", None), Mapping)
    }
    if not sources:
        return found
    scanned = restitutions_at(list(sources.values()))
    for (place, source), given in zip(sources.items(), scanned, strict=True):
        more = (
            {"restitution": given[0]}
            if source.speeds.size == 1
            else {"restitution": given, "fastest": source.speeds[-1]}
        )
        found[place] = SimpleNamespace(**{**vars(found[place]), **more})
    return found


def _speeds(inputs: SimpleNamespace, velocity: np.ndarray) -> np.ndarray:
    """Return the impact speeds [m/s] at which a chain needs restitutions.

    There are several if each contact takes its impact speed at onset.
    """
    speed = float(np.abs(np.diff(velocity, prepend=0.0, append=0.0)).max())
    impact_speed = getattr(inputs, "impact_speed", None)
    if impact_speed == "onset" and inputs.impact_speed_floor is not None:
        top = max(FASTEST * speed, 2.0 * inputs.impact_speed_floor)
        return np.geomspace(inputs.impact_speed_floor, top, SPEED_NODES)
    own = float(impact_speed) if isinstance(impact_speed, (int, float)) else speed
    if not own > 0.0:
        raise LawError(
            f"restitution = {{ law = {inputs.restitution['law']} }}: the impact speed is unknown, "
            "because nothing moves at the start. It must be a number above 0 [m/s]. Give "
            "impact_speed, or restitution as a number."
        )
    return np.array([own])


def restitution_law(asked: Mapping[str, Any]) -> tuple[type[ContactLaw], SimpleNamespace]:
    """Return the law of a restitution, and the value of each of its inputs."""
    law = laws()[asked["law"]]
    values = {q.name: asked.get(q.name, None if q.required else q.default) for q in law.inputs}
    return law, SimpleNamespace(**values)


def restitutions_at(sources: Sequence[LawAtSpeeds]) -> list[np.ndarray]:
    """Return the (n_speeds, n_contacts) restitutions of many chains."""
    models = shared_models([source.law.model(source.values) for source in sources])
    found: dict[int, np.ndarray] = {}
    keys = [(id(model), one.speeds.size) for model, one in zip(models, sources, strict=True)]
    for places in alike(keys):
        model, of = models[places[0]], [sources[place] for place in places]
        sizes = [one.limits.size for one in of]
        limits = np.concatenate([one.limits for one in of])
        own = [
            own_coefficients(model, one.pair, one.values, size)
            for one, size in zip(of, sizes, strict=True)
        ]
        c = with_windows(model, np.hstack(own), limits)
        mass = [
            np.broadcast_to(one.pair.effective_mass, size)
            for one, size in zip(of, sizes, strict=True)
        ]
        speeds = np.repeat(np.array([one.speeds for one in of]).T, sizes, axis=1)
        energies = 0.5 * np.concatenate(mass) * speeds**2
        scanned = over_kinds(_restitution_scan, model, (c, limits[None, :], energies), len(speeds))
        if (outside := np.isnan(scanned)).any():
            raise LawError(_outside(model, c, np.concatenate(mass), speeds, outside))
        found |= zip(places, np.split(scanned, np.cumsum(sizes)[:-1], axis=1), strict=True)
    return [found[place] for place in range(len(sources))]


def _outside(
    model: Model, c: np.ndarray, mass: np.ndarray, speeds: np.ndarray, outside: np.ndarray
) -> str:
    """Return the message for impacts that exceed the overlap limit of the law."""
    k = int(np.argmax(outside.any(axis=0)))
    ck = tuple(c[:, k].tolist())
    limit = model.functions.overlap_limit(ck)
    largest = math.sqrt(2.0 * at_rest(model)[1](limit, ck) / float(mass[k]))
    return (
        f"restitution = {{ law = {model.name} }}: an impact at {float(speeds[:, k].max()):.4g} m/s "
        f"exceeds the overlap limit of {model.name}, {limit:.6g} m. The speed must be at most "
        f"{largest:.4g} m/s. Lower the speed, specify the restitution as a number, or use a law "
        "with a wider range."
    )


def _restitution_scan(model: Model) -> Callable:
    """Return a scan for the restitution of each contact at each energy.

    The result is nan if the energy exceeds the loading work up to the overlap limit of the law.
    """
    (_, work), energy, settle = at_rest(model), model.functions.energy, settled(model)
    overlap_limit, gather = model.functions.overlap_limit, gatherer(len(model.coefficients))

    def scan(c, limits, energies, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            last = min(limits[0, k], overlap_limit(ck))
            largest = work(last, ck)
            for i in range(energies.shape[0]):
                low, high = 1e-30, last
                if last < limits[0, k] and largest < energies[i, k]:
                    out[i, k] = math.nan
                    continue
                # Bisect down to rounding: 110 halvings of the range of the logarithm, then of the
                # number.
                for _ in range(200):
                    middle = halfway(low, high)
                    if middle <= low or middle >= high:
                        break
                    if work(middle, ck) < energies[i, k]:
                        low = middle
                    else:
                        high = middle
                given, taken = energy(high, ck, settle(high, ck)), work(high, ck)
                out[i, k] = math.sqrt(given / taken) if given < taken else 1.0

    return scan
