"""Record of a law: hashes of its functions and of its resolved coefficients."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

import numpy as np

from granchain.contact.law_record import CARRIED, LawRecord
from granchain.contact.model import Model
from granchain.engine.kinds import kinds_of_columns
from granchain.jit.fingerprint import Reach
from granchain.jit.options import frozen
from granchain.jit.syntax import code_by_syntax

# Maximum number of stored records of laws, by the hashes of functions and coefficients.
MOST_RECORDS = 4096
_records: dict[tuple[str, str, str], LawRecord] = {}


def record_of(model: Model, c: np.ndarray, functions: str = "") -> LawRecord:
    """Return the record of a law.

    Parameters
    ----------
    model : Model
    c : (n_coefficients, n_contacts) array
        Coefficients of the existing contacts.
    functions : str, optional
        `functions_sha256` of the law, if it is known.
    """
    functions = functions or functions_sha256(model)
    first, _ = kinds_of_columns((c,))
    kinds = np.ascontiguousarray(c[:, np.sort(first)].T, dtype="<f8")
    known_by = model.name, functions, hashlib.sha256(kinds.tobytes()).hexdigest()
    if known_by not in _records:
        if len(_records) >= MOST_RECORDS:
            _records.clear()
        names = tuple(quantity.name for quantity in model.coefficients)
        carried = tuple(map(tuple, kinds[:CARRIED].tolist()))
        _records[known_by] = LawRecord(*known_by, names, carried)
    return _records[known_by]


def functions_sha256(model: Model) -> str:
    """Return a hash of the behaviour of a law.

    It covers the functions of the law, everything that they call, and the properties that the loop
    uses.
    """
    law = model.law
    hashes = [_hash_of(frozen(*model.functions))]
    if law.has_contact_radius():
        hashes.append(_hash_of(frozen(law.contact_radius)))
    if law.has_full_plasticity():
        hashes.append(_hash_of(frozen(law.plastic_overlap)))
    facts: list[Any] = [
        model.uses_rate,
        model.forgets,
        model.onset_jump,
        model.jumps_inside,
        model.kinks,
        model.loses,
        model.windows,
        *(
            [(q.name, q.unit, q.output) for q in group]
            for group in (model.coefficients, model.history)
        ),
    ]
    return hashlib.sha256(json.dumps([*hashes, *facts]).encode()).hexdigest()


@lru_cache(1024)
def _hash_of(functions: tuple[Any, ...]) -> str:
    """Return a hash of copies of functions, which cannot be edited."""
    return Reach(*functions, code=code_by_syntax).fingerprint
