"""Numbers of the result of a mechanism."""

from __future__ import annotations

import numpy as np

from granchain.store import Label, Result

# Measures by name.
MEASURED = {
    "largest_contact_force": Label((), "N", "largest contact force in the joint"),
    "largest_acceleration": Label((), "m/s^2", "largest absolute acceleration of the slider"),
    "impacts": Label((), "1", "number of times the contact force rises from zero"),
}


def measures_of(result: Result) -> dict[str, float]:
    """Return the numbers of the result of a mechanism, with the names of `MEASURED`.

    They are those of the samples. An impact is a sample with a contact force above zero after a
    sample without contact force. Contact at the start is not an impact, and impacts that are
    closer than `record.interval` count as one.
    """
    force = result.contact_force
    return {
        "largest_contact_force": float(force.max()),
        "largest_acceleration": float(np.abs(result.slider_acceleration).max()),
        "impacts": float(np.count_nonzero((force[1:] > 0.0) & (force[:-1] == 0.0))),
    }
