"""Compare a printed page with the current output of its script.

Words must be equal, and numbers within one unit of their last digit, because another processor may
round a power or a logarithm differently."""

import re
from decimal import Decimal

# A number that stands alone, not inside a name, a DOI, a version, or a date.
_NUMBER = re.compile(r"(?<![\w./-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w/-]|\.\d)")


def numbers(text):
    """Return the numbers of a text, with their printed digits."""
    return [Decimal(number) for number in _NUMBER.findall(text)]


def differences(printed, now):
    """Return the lines in which two pages differ by more than a unit of the last digit of a
    number."""
    old, new = printed.splitlines(), now.splitlines()
    if len(old) != len(new):
        return [f"{len(old)} lines printed, {len(new)} now"]
    return [
        f"- {before}\n+ {after}"
        for before, after in zip(old, new, strict=True)
        if not _same(before, after)
    ]


def _same(before, after):
    # Spaces do not count, because a sign or a digit may change the width of the rows of a table.
    if "".join(_NUMBER.sub("#", before).split()) != "".join(_NUMBER.sub("#", after).split()):
        return False
    return all(
        abs(one - other) <= unit(one, other)
        for one, other in zip(numbers(before), numbers(after), strict=True)
    )


def unit(one, other):
    """Return the larger unit of the last digits of two numbers; trailing zeros may be missing."""
    return Decimal(1).scaleb(max(int(one.as_tuple().exponent), int(other.as_tuple().exponent)))
