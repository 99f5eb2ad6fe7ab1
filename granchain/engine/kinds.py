"""What is alike: contacts with the same columns, members with the same key."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np


def alike(keys: Iterable[Hashable]) -> list[list[int]]:
    """Places of each key."""
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())


def kinds_of_columns(tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns of some tables that stand on each other.

    Neighbours are compared where they stand; what is left is looked through.

    Parameters
    ----------
    tables : sequence of (quantities, n) array

    Returns
    -------
    first : (kinds,) array
        Where each kind is met first.
    which : (n,) array
        The kind of each column.
    """
    new = np.zeros(tables[0].shape[1], dtype=bool)
    new[:1] = True
    for table in tables:
        new[1:] |= (table[:, 1:] != table[:, :-1]).any(axis=0)
    runs = np.flatnonzero(new)
    if runs.size == 1:
        return runs, np.zeros(new.size, dtype=np.intp)
    columns = np.vstack([table[:, runs] for table in tables]).T
    # bit by bit, but that -0.0 is 0.0
    text, width = (columns + 0.0).tobytes(), columns.itemsize * columns.shape[1]
    known: dict[bytes, int] = {}
    kinds = np.array(
        [known.setdefault(text[at : at + width], len(known)) for at in range(0, len(text), width)]
    )
    _, first = np.unique(kinds, return_index=True)
    return runs[first], kinds[np.cumsum(new) - 1]
