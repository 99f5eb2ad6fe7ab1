"""A law without damping, with the damping factor of Hunt and Crossley."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from granchain.contact.law import LOWEST_FORCE, Quantity
from granchain.contact.model import Functions, Model
from granchain.engine.mixture import MIXED_SHAPES, fitted

ALPHA = Quantity("alpha", "s/m", "of the factor 1 + 1.5 alpha rate")


def _law_coefficients(c):
    """Return the coefficients of the law, without alpha and the lowest force."""
    return c[:-2]


def _law_history(h):
    """Return the history of the law, which the damping does not extend."""
    return h


def damped(model: Model, c: np.ndarray, alpha: float) -> tuple[Model, np.ndarray]:
    """Multiply the force of a law by 1 + 1.5 alpha rate, with a no-tension cutoff.

    Return the new model and its coefficients, which include alpha and the lowest force.

    Hunt & Crossley 1975, doi:10.1115/1.3423596; Autiero et al. 2022, eq. (153),
    doi:10.3390/machines10110966.

    Parameters
    ----------
    model : Model
        A law without damping.
    c : (n_coefficients, n_contacts) array
    alpha : float
        Hunt-Crossley factor [s/m].
    """
    functions = {
        name: fitted(function, _law_coefficients, _law_history, MIXED_SHAPES[name])
        for name, function in model.functions._asdict().items()
    }
    law_force, law_needs_update, law_jump = (
        functions["force"],
        functions["needs_update"],
        functions["jump"],
    )

    def force(overlap, rate, c, h):
        """Return the force with damping, and with the no-tension cutoff."""
        f = law_force(overlap, 0.0, c, h) * (1.0 + 1.5 * c[-2] * rate)
        return f if f > c[-1] else c[-1]

    def needs_update(overlap, rate, c, h):
        return law_needs_update(overlap, 0.0, c, h)

    def jump(overlap, rate, c, h):
        return law_jump(overlap, 0.0, c, h) * (1.0 + 1.5 * c[-2] * rate)

    with_rate = {"force": force, "needs_update": needs_update, "jump": jump}
    new = replace(
        model,
        functions=Functions(**functions | with_rate),
        coefficients=(*model.coefficients, ALPHA, LOWEST_FORCE),
        uses_rate=True,
        windows=0,
        guarded=None,
    )
    more = np.array([[alpha], [0.0]]) * np.ones(c.shape[1])
    return new, np.vstack([c, more])
