"""Tables of an answer, from its labels: for the terminal, for notebooks, and for reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from granchain.markup import Grid, aligned_grid, folded, table
from granchain.plain_data import plain_data
from granchain.store.schema import Unread, Variable

# Largest number of columns of a table, and of rows that are shown.
MOST_COLUMNS, MOST_TABLE_ROWS = 6, 200
# Largest length of a second axis whose values are separate columns.
MOST_INNER = 5
# Largest number of values that JSON contains. For a longer variable, it contains the range of the
# values.
MOST_NUMBERS = 200


def cell_text(value: Any) -> str:
    """Return a number or a text as the cell of a table."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return "-" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def heading_text(name: str) -> str:
    """Return the name of a variable with spaces; the key of a case stays as it is written."""
    return name if "." in name else name.replace("_", " ")


def column_heading(name: str, variable: Variable | Unread, label: str = "") -> str:
    """Return the heading of a column, or of the column of one label of an axis."""
    unit = "" if variable.unit in ("", "1") else f" [{variable.unit}]"
    return f"{' '.join(filter(None, (heading_text(name), label)))}{unit}"


def value_tables(
    variables: Mapping[str, Variable], longest: int = MOST_TABLE_ROWS
) -> Iterator[Grid]:
    """Yield the tables of variables: the single values, and the columns along each axis."""
    single = [
        (heading_text(name), cell_text(v.data.item()), "" if v.unit == "1" else v.unit)
        for name, v in variables.items()
        if not v.dims
    ]
    if single:
        yield aligned_grid(("quantity", "value", "unit"), single)
    axes: dict[str, list[list[Column]]] = {}
    for name, v in variables.items():
        if not v.dims or v.dims == (name,) or name.endswith("_sha256"):
            continue
        # a column of empty texts is left out
        columns = [column for column in _columns_of(name, variables) if any(column.cells)]
        if columns and len(columns[0].cells) <= longest:
            axes.setdefault(columns[0].axis, []).append(columns)
    for axis, several in axes.items():
        groups: list[list[Column]] = [[]]
        # columns of a variable stay together
        for columns in several:
            if len(groups[-1]) + len(columns) > MOST_COLUMNS - 1:
                groups.append([])
            groups[-1] += columns
        labels = list(_columns_of(axis, variables)) if axis in variables else []
        for group in filter(None, groups):
            _, headings, cells = zip(*labels, *group, strict=True)
            yield aligned_grid(headings, zip(*cells, strict=True))


def range_table(variables: Mapping[str, Variable], longest: int = MOST_TABLE_ROWS) -> Grid:
    """Return the shapes, ranges, and means of the variables that `value_tables` leaves out."""
    rows = []
    for name, v in variables.items():
        columns = list(_columns_of(name, variables)) if v.dims else []
        if v.dims and (not columns or len(columns[0].cells) > longest):
            finite = v.data[np.isfinite(v.data)] if v.data.dtype.kind in "fi" else np.empty(0)
            low, high, mean = "-", "-", "-"
            if finite.size:
                low, high = cell_text(finite.min()), cell_text(finite.max())
                mean = f"{finite.mean():.6g} +- {finite.std(ddof=min(1, finite.size - 1)):.2g}"
            shape = " x ".join(map(str, v.shape))
            rows.append((column_heading(name, v), shape, low, high, mean))
    headings = ("variable", "shape", "minimum", "maximum", "mean +- standard deviation")
    return aligned_grid(headings, rows)


class Column(NamedTuple):
    """Column of a table, with the axis of its rows."""

    axis: str
    heading: str
    cells: list[str]


def _columns_of(name: str, variables: Mapping[str, Variable]) -> Iterator[Column]:
    """Yield the columns of a variable: one for each label of the shorter of two axes.

    A variable with two long axes, or with more axes, has no columns.
    """
    v = variables[name]
    if v.data.ndim == 1:
        yield Column(v.dims[0], column_heading(name, v), list(map(cell_text, v.data.tolist())))
    elif v.data.ndim == 2:
        rows, inner, data = *v.dims, v.data
        if v.shape[1] > max(MOST_INNER, v.shape[0]) or inner not in variables:
            rows, inner, data = inner, rows, data.T
        if data.shape[1] > MOST_INNER or inner not in variables:
            return
        for label, values in zip(variables[inner].data.tolist(), data.T, strict=True):
            heading = column_heading(name, v, cell_text(label))
            yield Column(rows, heading, list(map(cell_text, values.tolist())))


def html_tables(variables: Mapping[str, Variable], unread: Mapping[str, Unread]) -> list[str]:
    """Return the tables of variables as HTML, and the list of all variables, folded."""
    html = [table(each.columns, each.rows, styled=True) for each in value_tables(variables, 40)]
    everything: dict[str, Variable | Unread] = {**variables, **unread}
    rows = [
        (name, " x ".join(map(str, v.shape)), v.unit, v.long_name) for name, v in everything.items()
    ]
    listed = table(("name", "shape", "unit", "meaning"), rows, styled=True)
    return [*html, folded(f"{len(rows)} variables", listed)]


def plain_variable(variable: Variable) -> Any:
    """Return a variable as plain data: its values, or the range of a long one."""
    values = variable.data
    if values.size <= MOST_NUMBERS or variable.data.dtype.kind == "O":
        return plain_data(values)
    finite = values[np.isfinite(values)]
    return {
        "shape": list(values.shape),
        "unit": variable.unit,
        "minimum": finite.min().item() if finite.size else None,
        "maximum": finite.max().item() if finite.size else None,
    }
