"""Rows of a small CSV text: tables of drives, initial motions and measured impacts."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

_PLAIN_NUMBER = re.compile(r"[-+.0-9eE]{1,40}")


def csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Return the line number and cells of each line that is neither empty nor a comment.

    A line whose quotation marks do not match is one cell.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            (cells,) = csv.reader([line], strict=True)
        except csv.Error:
            cells = [line]
        yield number, [cell.strip() for cell in cells]


def csv_numbers(cells: list[str]) -> list[float]:
    """Return the numbers in a row of cells, and None for a cell without a number.

    A number beyond the range of a double is infinite.
    """
    try:
        return [float(cell) for cell in cells] if all(map(_PLAIN_NUMBER.fullmatch, cells)) else []
    except ValueError:
        return []
