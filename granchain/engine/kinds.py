"""Grouping of equal items: contacts with equal columns, and members with equal keys."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np


def alike(keys: Iterable[Hashable]) -> list[list[int]]:
    """Return the positions of each distinct key."""
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())


def kinds_of_columns(tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Find the distinct columns of some tables that are stacked on top of each other.

    Adjacent columns are compared first; only the remaining ones are searched.

    Parameters
    ----------
    tables : sequence of (quantities, n) array

    Returns
    -------
    first : (kinds,) array
        Position of the first column of each kind.
    which : (n,) array
        Kind of each column.
    """
    new = np.zeros(tables[0].shape[1], dtype=bool)
    new[:1] = True
    for table in tables:
        new[1:] |= (table[:, 1:] != table[:, :-1]).any(axis=0)
    runs = np.flatnonzero(new)
    if runs.size == 1:
        return runs, np.zeros(new.size, dtype=np.intp)
    columns = np.vstack([table[:, runs] for table in tables]).T
    # compared bitwise, except that -0.0 equals 0.0
    text, width = (columns + 0.0).tobytes(), columns.itemsize * columns.shape[1]
    known: dict[bytes, int] = {}
    kinds = np.array(
        [known.setdefault(text[at : at + width], len(known)) for at in range(0, len(text), width)]
    )
    _, first = np.unique(kinds, return_index=True)
    return runs[first], kinds[np.cumsum(new) - 1]
