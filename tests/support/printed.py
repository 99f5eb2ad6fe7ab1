"""Compare a printed page with the page that its script prints now: words exactly, numbers to one
unit of their last digit.

Another processor may round a power or a logarithm differently, and the last printed digit with it.
"""

import re
from decimal import Decimal

# A number that stands alone: not a part of a name, a DOI, a version or a date.
_NUMBER = re.compile(r"(?<![\w./-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w/-]|\.\d)")


def numbers(text):
    """The numbers of a text, with the digits printed."""
    return [Decimal(number) for number in _NUMBER.findall(text)]


def differences(printed, now):
    """Lines in which two pages differ by more than a unit of a number's last digit."""
    old, new = printed.splitlines(), now.splitlines()
    if len(old) != len(new):
        return [f"{len(old)} lines printed, {len(new)} now"]
    return [
        f"- {before}\n+ {after}"
        for before, after in zip(old, new, strict=True)
        if not _same(before, after)
    ]


def _same(before, after):
    # Rows of a table may be of another width by a sign or a digit: spaces do not count.
    if "".join(_NUMBER.sub("#", before).split()) != "".join(_NUMBER.sub("#", after).split()):
        return False
    return all(
        abs(one - other) <= unit(one, other)
        for one, other in zip(numbers(before), numbers(after), strict=True)
    )


def unit(one, other):
    """The larger unit of the last digits of two numbers: trailing zeros may not be printed."""
    return Decimal(1).scaleb(max(int(one.as_tuple().exponent), int(other.as_tuple().exponent)))
