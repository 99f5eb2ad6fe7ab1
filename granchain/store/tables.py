"""Tables of an answer, from its labels: for the terminal, for notebooks, and for reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from granchain.markup import folded, table
from granchain.plain_data import plain_data
from granchain.store.schema import Unread, Variable

# Largest number of columns of a table, and of rows that are shown.
MOST_COLUMNS, MOST_ROWS = 6, 200
# Largest length of a second axis whose values are separate columns.
MOST_INNER = 3
# Largest number of values that JSON contains; of a longer variable it contains the range.
MOST_NUMBERS = 200


class Table(NamedTuple):
    """Rows of text with the headings of their columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def cell_text(value: Any) -> str:
    """Return a number or a text as the cell of a table."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return "-" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def column_heading(name: str, variable: Variable | Unread) -> str:
    """Return the heading of a column."""
    unit = "" if variable.unit in ("", "1") else f" [{variable.unit}]"
    return f"{name.replace('_', ' ')}{unit}"


def value_tables(variables: Mapping[str, Variable], longest: int = MOST_ROWS) -> Iterator[Table]:
    """Yield the tables of variables: the single values, and the columns along each axis."""
    single = [
        (name.replace("_", " "), cell_text(v.data.item()), "" if v.unit == "1" else v.unit)
        for name, v in variables.items()
        if not v.dims
    ]
    if single:
        yield Table(("quantity", "value", "unit"), tuple(single))
    axes: dict[str, list[list[tuple[str, list[str]]]]] = {}
    for name, v in variables.items():
        if v.dims and v.dims != (name,) and 1 <= len(v.data) <= longest:
            axes.setdefault(v.dims[0], []).append(list(_columns_of(name, variables)))
    for axis, several in axes.items():
        groups: list[list[tuple[str, list[str]]]] = [[]]
        # columns of a variable stay together
        for columns in several:
            if len(groups[-1]) + len(columns) > MOST_COLUMNS - 1:
                groups.append([])
            groups[-1] += columns
        labels = list(_columns_of(axis, variables)) if axis in variables else []
        for group in filter(None, groups):
            headings, cells = zip(*labels, *group, strict=True)
            yield Table(headings, tuple(zip(*cells, strict=True)))


def range_table(variables: Mapping[str, Variable], longest: int = MOST_ROWS) -> Table:
    """Return the shapes and ranges of the variables that `value_tables` leaves out."""
    rows = []
    for name, v in variables.items():
        if v.dims and (len(v.data) > longest or not list(_columns_of(name, variables))):
            facts = plain_variable(v) if v.data.size > MOST_NUMBERS and not v.is_text else {}
            low, high = (cell_text(facts.get(end, "-")) for end in ("minimum", "maximum"))
            shape = " x ".join(map(str, v.shape))
            rows.append((name, shape, low, high, "" if v.unit == "1" else v.unit))
    return Table(("variable", "shape", "minimum", "maximum", "unit"), tuple(rows))


def _columns_of(name: str, variables: Mapping[str, Variable]) -> Iterator[tuple[str, list[str]]]:
    """Yield the headings and cells of a variable: a column for each label of a short second axis.

    A variable with a longer second axis, or with more axes, has no columns.
    """
    v = variables[name]
    if v.data.ndim == 1:
        yield column_heading(name, v), list(map(cell_text, v.data.tolist()))
    elif v.data.ndim == 2 and v.shape[1] <= MOST_INNER and v.dims[1] in variables:
        for label, values in zip(variables[v.dims[1]].data.tolist(), v.data.T, strict=True):
            yield (
                column_heading(f"{name} {cell_text(label)}", v),
                list(map(cell_text, values.tolist())),
            )


def in_columns(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as lines of text, with aligned columns."""
    lines = [list(columns), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    numeric = [
        bool(rows) and all(is_number_cell(row[i]) for row in rows) for i in range(len(columns))
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def is_number_cell(cell: str) -> bool:
    """Return whether the text of a cell is a number, or stands for a missing number."""
    try:
        float(cell)
    except ValueError:
        return cell in ("-", "")
    return True


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
    if values.size <= MOST_NUMBERS or variable.is_text:
        return plain_data(values)
    finite = values[np.isfinite(values)]
    return {
        "shape": list(values.shape),
        "unit": variable.unit,
        "minimum": finite.min().item() if finite.size else None,
        "maximum": finite.max().item() if finite.size else None,
    }
