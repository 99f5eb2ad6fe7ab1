"""Numbers of the result of a mechanism."""

from __future__ import annotations

import numpy as np

from granchain.store import Label, Result

# Variables whose largest absolute value is a measure.
PEAKS = {
    "largest_contact_force": "contact_force",
    "largest_acceleration": "slider_acceleration",
}
# Measures by name.
MEASURED = {
    "largest_contact_force": Label((), "N", "largest contact force in the joint"),
    "largest_acceleration": Label((), "m/s^2", "largest absolute acceleration of the slider"),
    "impacts": Label((), "1", "number of times the contact force rises from zero"),
}


def numbers_of_mechanism(result: Result) -> dict[str, float]:
    """Return the numbers of the result of a mechanism, with the names of `MEASURED`.

    They are those of the samples. An impact is a sample with a contact force above zero after a
    sample without contact force. Contact at the start is not an impact, and impacts that are
    closer than `record.interval` count as one.
    """
    force = result.contact_force
    impacts = float(np.count_nonzero((force[1:] > 0.0) & (force[:-1] == 0.0)))
    return {name: float(np.abs(getattr(result, key)).max()) for name, key in PEAKS.items()} | {
        "impacts": impacts
    }
