"""Units as a file has them: those that UDUNITS reads, which CF conventions ask for, and what stands
in the place of others.

UDUNITS has no power that is not a whole number: it takes "N/m^1.5" for N/m times 5, and knows no
"N/m^n". Such a variable is a number in SI, and its file says so: `units` is "1", and
`unit_in_words` the unit that the number is in. So it is with the unit of a user's law.
"""

from __future__ import annotations

from collections.abc import Mapping

IN_WORDS = "unit_in_words"
# The units of our variables, of inputs and history of the built-in laws, and of the keys of a case;
# the tests try each in UDUNITS.
READ_BY_UDUNITS = frozenset(
    (
        *(
            "1",
            "m",
            "s",
            "kg",
            "N",
            "Pa",
            "J",
            "Hz",
            "rad",
            "m/s",
            "m/s^2",
            "m/s2",
            "m^2",
            "kg/m^3",
            "N/m",
            "N s/m",
            "N s/m^2",
        ),
        *("1/s", "1/m", "1/N", "1/Pa", "s/m", "m/N"),
    )
)


def unit_attributes(unit: str) -> dict[str, str]:
    """The attributes of a file that say a unit."""
    if not unit:
        return {}
    return {"units": unit} if unit in READ_BY_UDUNITS else {"units": "1", IN_WORDS: unit}


def unit_of_attributes(attributes: Mapping[str, object]) -> str:
    """The unit that some attributes say, empty where they say none."""
    return str(attributes.get(IN_WORDS, attributes.get("units", "")))
