"""A law without damping with Hunt and Crossley's factor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from granchain.contact.law import LOWEST_FORCE, Quantity
from granchain.contact.model import Model

ALPHA = Quantity("alpha", "s/m", "of the factor 1 + 1.5 alpha rate")


def damped(model: Model, c: np.ndarray, alpha: float) -> tuple[Model, np.ndarray]:
    """A law with the factor 1 + 1.5 alpha rate on its force, clamped at zero, and its coefficients
    with the two that it takes.

    Hunt & Crossley 1975, doi:10.1115/1.3423596; Autiero et al. 2022, eq. (153),
    doi:10.3390/machines10110966.

    Parameters
    ----------
    model : Model
        A law without damping.
    c : (n_coefficients, n_contacts) array
    alpha : float
        [s/m].
    """
    old = model.functions
    law_force, law_energy, law_needs_update, law_update = (
        old.force,
        old.energy,
        old.needs_update,
        old.update,
    )
    law_history_of, law_plastic, law_largest, law_jumps, law_jump = (
        old.history_of, old.plastic, old.overlap_limit, old.jumps, old.jump,
    )  # fmt: skip

    def force(overlap, rate, c, h):
        f = law_force(overlap, 0.0, c[:-2], h) * (1.0 + 1.5 * c[-2] * rate)
        return f if f > c[-1] else c[-1]

    def energy(overlap, c, h):
        return law_energy(overlap, c[:-2], h)

    def needs_update(overlap, rate, c, h):
        return law_needs_update(overlap, 0.0, c[:-2], h)

    def update(event, c, h):
        return law_update(event, c[:-2], h)

    def history_of(c):
        return law_history_of(c[:-2])

    def plastic(c, h):
        return law_plastic(c[:-2], h)

    def overlap_limit(c):
        return law_largest(c[:-2])

    def jumps(c):
        return law_jumps(c[:-2])

    def jump(overlap, rate, c, h):
        return law_jump(overlap, 0.0, c[:-2], h) * (1.0 + 1.5 * c[-2] * rate)

    functions = type(old)(
        history_of, force, needs_update, update, energy, plastic, overlap_limit, jumps, jump
    )
    new = replace(
        model,
        functions=functions,
        coefficients=(*model.coefficients, ALPHA, LOWEST_FORCE),
        uses_rate=True,
        windows=0,
        guarded=None,
    )
    more = np.array([[alpha], [0.0]]) * np.ones(c.shape[1])
    return new, np.vstack([c, more])
