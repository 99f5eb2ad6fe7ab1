"""Values of a case that follow from the keys that its author gave: those of its bodies.

Tables may be complete already, with other values at the given keys: the values that follow are
computed again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from granchain.case.tables import OF_BEADS, ChainTable, SegmentTable, StrikerTable
from granchain.keys import Table

AnyTable = TypeVar("AnyTable", bound=Table)


def completed_chain(chain: ChainTable, given: Mapping[str, Any]) -> ChainTable:
    """Return a chain with all values of its beads, or of each of its segments.

    Parameters
    ----------
    chain : ChainTable
    given : mapping
        Keys that the author gave under `[chain]`.
    """
    chain = _with_values(chain, _body_of(chain, given, None))
    if not chain.segment:
        return chain
    segments = []
    for segment, keys in zip(chain.segment, given["segment"], strict=True):
        values = {name: _own_or(segment, keys, chain, name) for name in OF_BEADS}
        segments.append(_with_values(segment, values | _body_of(segment, keys, chain)))
    return _with_values(chain, {"segment": tuple(segments)})


def completed_striker(
    striker: StrikerTable, given: Mapping[str, Any], chain: ChainTable
) -> StrikerTable:
    """Return a striker with all its values; those that are not given are those of bead 1."""
    first = chain.segment[0] if chain.segment else chain
    return _with_values(striker, _body_of(striker, given, first))


def _body_of(
    table: ChainTable | SegmentTable | StrikerTable, given: Mapping[str, Any], like: Any
) -> dict[str, Any]:
    """Return radius, mass, and material of a body; missing values are those of another body.

    If its radius or material is given, its mass follows from the density.
    """
    radius, material = (_own_or(table, given, like, name) for name in ("radius", "material"))
    own_body = "radius" in given or "material" in given
    mass = _own_or(table, given, None if own_body else like, "mass")
    density = None if material is None else material.density
    if mass is None and radius is not None and density is not None:
        mass = density * (4.0 / 3.0 * math.pi * (radius * radius * radius))
    return {"radius": radius, "mass": mass, "material": material}


def _own_or(table: Table, given: Mapping[str, Any], like: Any, name: str) -> Any:
    """Return the value that a table has at a given key, or else the value of another table."""
    own = getattr(table, name) if name in given else None
    return getattr(like, name, None) if own is None else own


def _with_values(table: AnyTable, values: Mapping[str, Any]) -> AnyTable:
    """Return a table with other values; the same table if the values are equal."""
    if all(getattr(table, name) == value for name, value in values.items()):
        return table
    return table.model_copy(update=dict(values))
