"""Rows of a small CSV text."""

import pytest

from granchain.case.document import csv_numbers, csv_rows

pytestmark = pytest.mark.plain


def test_rows_have_their_line_numbers_and_cells_without_spaces():
    text = '# of a bead\nbead, velocity\r\n\n1 ,\t2.0\n"a, b",3\n"c\n'
    assert list(csv_rows(text)) == [
        (2, ["bead", "velocity"]),
        (4, ["1", "2.0"]),
        (5, ["a, b", "3"]),
        (6, ['"c']),
    ]


def test_numbers_are_decimal_and_all_of_a_row_or_none():
    assert csv_numbers(["1", "-2.5E-6", "+.5"]) == [1.0, -2.5e-6, 0.5]
    assert csv_numbers(["1e999"]) == [float("inf")]
    for cell in ("", "a", "nan", "inf", "1_0", "0x1", "1e", "1;2", "\uff11", "1" * 41):
        assert csv_numbers(["1", cell]) == []
