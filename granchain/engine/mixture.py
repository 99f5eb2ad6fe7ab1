"""Model of a chain: copies of functions that cannot be edited, and one model for several laws.

The functions of a mixture check the law of each contact. A coefficient or history quantity with the
same name in several laws is stored once, because a contact has one law. The first coefficient is
the index of the law. Coefficients that a law lacks are 0, and history quantities that it lacks have
a neutral value: an onset weight of 1, of a closed contact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from granchain.contact.law import ONSET_HISTORY, PHASES, ContactLaw, Quantity
from granchain.contact.model import Functions, Guarded, Model
from granchain.jit.accessors import picker, replaced
from granchain.jit.compile import VECTOR, frozen

WHICH = Quantity("contact_law", "1", "index of the law of the contact")
RUN_END = Quantity("run_end", "1", "index of the last contact of its run plus 1; see `run_ends`")
UNTIL = 1
# Values of quantities that the law of a contact lacks, with an elastic limit that is never reached.
_IDLE = dict.fromkeys((quantity.name for quantity in ONSET_HISTORY), 1.0) | {
    "elastic_limit": math.inf
}
# Arguments of the functions: x, y, and z are any numbers or events, c coefficients, h history.
MIXED_SHAPES = {
    "history_of": "c", "force": "xych", "needs_update": "xych", "update": "xch", "energy": "xch",
    "plastic": "ch", "overlap_limit": "c", "jumps": "c", "jump": "xych", "evolve": "xyzch",
    "contact_radius": "xych", "plastic_overlap": "c",
}  # fmt: skip


def with_copies(model: Model) -> Model:
    """Return the same model with `frozen` functions.

    Results that are stored for such a model are valid as long as the process runs.
    """
    guarded = model.guarded and Guarded(*frozen(*model.guarded))
    return replace(model, functions=Functions(*frozen(*model.functions)), guarded=guarded)


def shared_models(models: Sequence[Model]) -> list[Model]:
    """Return the models, each made `with_copies`; equal ones are one object."""
    copies = {model: with_copies(model) for model in dict.fromkeys(models)}
    return [copies[model] for model in models]


@cache
def mixed_model(models: tuple[Model, ...]) -> Model:
    """Combine at least two models into one, `with_copies`.

    The name of its law lists all their names.
    """
    coefficients = (WHICH, RUN_END, *_once(models, "coefficients"))
    history = _once(models, "history")
    # Every law gets the largest number of overlaps of any law; contacts never reach the additional
    # ones.
    counts = [len(model.functions.jumps((1.0,) * len(model.coefficients))) for model in models]
    by_model = [
        _adapted(model, coefficients, history, (math.inf,) * (max(counts) - count))
        for model, count in zip(models, counts, strict=True)
    ]
    functions = by_model[-1]
    for index in range(len(models) - 2, -1, -1):
        functions = {
            name: _either(float(index), by_model[index][name], functions[name], shape)
            for name, shape in MIXED_SHAPES.items()
        }
    uses_rate, force = any(model.uses_rate for model in models), functions["force"]

    def still(overlap, rate, c, h):
        return force(overlap, 0.0, c, h)

    if not uses_rate:
        functions["force"] = still
    jumping = [model for model in models if model.jumps_inside]
    mixed = Model(
        law=_law_of(models, functions),
        functions=Functions(**{name: functions[name] for name in Functions._fields}),
        coefficients=coefficients,
        history=history,
        uses_rate=uses_rate,
        forgets=any(model.forgets for model in models),
        onset_jump=any(model.onset_jump for model in models),
        jumps_inside=bool(jumping),
        kinks=bool(jumping) and all(model.kinks for model in jumping),
        loses=any(model.loses for model in models),
        evolves=any(model.evolves for model in models),
    )
    return with_copies(mixed)


def models_of(model: Model) -> tuple[Model, ...]:
    """Return the models of a mixture by index, or a plain model alone."""
    return getattr(model.law, "models", (model,))


def run_ends(which: np.ndarray) -> np.ndarray:
    """Return the end of the run of each contact, from the laws of the contacts.

    A run is processed in one pass. It consists of complete vectors of one law, or, if the end is
    negative, of several laws.
    """
    vectors = which.reshape(-1, VECTOR)
    alike = (vectors == vectors[:, :1]).all(axis=1)
    law = np.where(alike, vectors[:, 0], -1.0)
    ends = np.append(np.flatnonzero(law[1:] != law[:-1]) + 1, law.size)
    end_of_vector = ends[np.searchsorted(ends, np.arange(law.size), side="right")]
    return np.repeat(np.where(alike, end_of_vector, -end_of_vector) * float(VECTOR), VECTOR)


def _once(models: tuple[Model, ...], group: str) -> tuple[Quantity, ...]:
    """Return the quantities of all models, each name once.

    A quantity is written to the output file if one of the models writes it.
    """
    by_name: dict[str, Quantity] = {}
    for model in models:
        for quantity in getattr(model, group):
            listed = by_name.setdefault(quantity.name, quantity)
            by_name[quantity.name] = replace(listed, output=listed.output or quantity.output)
    return tuple(by_name.values())


def _law_of(models: tuple[Model, ...], functions: dict[str, Callable]) -> type[ContactLaw]:
    """Return an unregistered law class with the combined properties of the laws."""
    laws = [model.law for model in models]
    attributes: dict[str, Any] = {
        "__doc__": "Several laws in one row.",
        "__module__": __name__,
        "models": models,
        "phases": tuple(phase for phase in PHASES if any(phase in law.phases for law in laws)),
        "order": min(law.order for law in laws),
        "fixed_units": any(law.fixed_units for law in laws),
        "onset_jump": any(law.onset_jump for law in laws),
    }
    for name, has in (
        ("contact_radius", any(law.has_contact_radius() for law in laws)),
        ("plastic_overlap", any(law.has_full_plasticity() for law in laws)),
        ("jumps", any(law.has_jumps() for law in laws)),
    ):
        if has:
            attributes[name] = staticmethod(functions[name])
    made: Any = type("Mixture", (ContactLaw,), attributes)
    made.name = ", ".join(law.name for law in laws)
    return made


def _places(quantities: tuple[Quantity, ...], among: tuple[Quantity, ...]) -> tuple[int, ...]:
    """Return the index of each quantity, by its name, in other quantities."""
    names = [quantity.name for quantity in among]
    return tuple(names.index(quantity.name) for quantity in quantities)


def _adapted(
    model: Model,
    coefficients: tuple[Quantity, ...],
    history: tuple[Quantity, ...],
    beyond: tuple[float, ...],
) -> dict[str, Callable]:
    """Return the functions of one law for the coefficients and history of the mixture.

    Quantities of other laws have neutral values at first, and are unchanged later. Overlaps that
    are never reached (`beyond`) are appended to those at which the force of the law jumps.
    """
    places = _places(model.history, history)
    c_of, h_of = picker(_places(model.coefficients, coefficients)), picker(places)
    spread = replaced(len(history), places)
    idle = tuple(_IDLE.get(quantity.name, 0.0) for quantity in history)
    functions: dict[str, Callable] = {
        name: fitted(getattr(where, name), c_of, h_of, shape)
        for name, shape in MIXED_SHAPES.items()
        for where in [model.functions if name in Functions._fields else model.law]
    }
    history_of, update = functions["history_of"], functions["update"]
    evolve, jumps = functions["evolve"], functions["jumps"]

    def begin(c):
        return spread(idle, history_of(c))

    def renew(event, c, h):
        return spread(h, update(event, c, h))

    def evolve_all(dt, before, overlap, c, h):
        renewed, lost = evolve(dt, before, overlap, c, h)
        return spread(h, renewed), lost

    def with_beyond(c):
        return jumps(c) + beyond

    functions |= {"history_of": begin, "update": renew}
    return functions | {"evolve": evolve_all, "jumps": with_beyond}


def fitted(function: Callable, c_of: Callable, h_of: Callable, shape: str) -> Callable:
    """Adapt a function of one law to the coefficients and history of the mixture."""

    def of_c(c):
        return function(c_of(c))

    def of_ch(c, h):
        return function(c_of(c), h_of(h))

    def of_xch(x, c, h):
        return function(x, c_of(c), h_of(h))

    def of_xych(x, y, c, h):
        return function(x, y, c_of(c), h_of(h))

    def of_xyzch(x, y, z, c, h):
        return function(x, y, z, c_of(c), h_of(h))

    made: dict[str, Callable] = {
        "c": of_c, "ch": of_ch, "xch": of_xch, "xych": of_xych, "xyzch": of_xyzch,
    }  # fmt: skip
    return made[shape]


def _either(law_index: float, function: Callable, otherwise: Callable, shape: str) -> Callable:
    """Return a function that calls `function` for contacts with this law, else `otherwise`."""

    def of_c(c):
        return function(c) if c[0] == law_index else otherwise(c)

    def of_ch(c, h):
        return function(c, h) if c[0] == law_index else otherwise(c, h)

    def of_xch(x, c, h):
        return function(x, c, h) if c[0] == law_index else otherwise(x, c, h)

    def of_xych(x, y, c, h):
        return function(x, y, c, h) if c[0] == law_index else otherwise(x, y, c, h)

    def of_xyzch(x, y, z, c, h):
        return function(x, y, z, c, h) if c[0] == law_index else otherwise(x, y, z, c, h)

    made: dict[str, Callable] = {
        "c": of_c, "ch": of_ch, "xch": of_xch, "xych": of_xych, "xyzch": of_xyzch,
    }  # fmt: skip
    return made[shape]
