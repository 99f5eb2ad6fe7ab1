"""Example inputs of a law, from its examples, defaults, units, and ranges."""

import pytest

from granchain.contact import laws
from granchain.contact.examples import conversion, example, example_inputs, factors_of
from granchain.contact.law import ContactLaw, Quantity
from granchain.errors import CaseError, LawError

pytestmark = pytest.mark.plain


def test_an_example_follows_from_the_declaration():
    law = type("Examples", (ContactLaw,), {"examples": {"special": 7.0}})
    for quantity, value in (
        # from the law, from a publication, the default, and the first word
        (Quantity("special", "N"), 7.0),
        (Quantity("restitution", "1", above=0.0, high=1.0), 0.65),
        (Quantity("other", "1", default=2.5), 2.5),
        (Quantity("kind", "", kind="word", choices=("one", "two")), "one"),
        (Quantity("switch", "", kind="switch"), False),
        # the middle of a range, the order of magnitude of the unit, and a number outside the range
        (Quantity("ratio", "1", low=2.0, below=4.0), 3.0),
        (Quantity("length", "m"), 1e-5),
        (Quantity("large", "1", above=3.0), 6.0),
        (Quantity("small", "1", high=-2.0), -4.0),
        # 100 N divided by (1e-5 m)^1.5, to one digit
        (Quantity("stiffness", "N/m^1.5"), 3e9),
    ):
        assert example(law, quantity) == value, quantity.name


def test_example_inputs_that_are_not_allowed_are_refused():
    with pytest.raises(CaseError, match=r"hertz: stiffness: -1\.0 is out of range"):
        example_inputs(laws()["hertz"], stiffness=-1.0)
    assert example_inputs(laws()["hertz"], stiffness=2.0).stiffness == 2.0


def test_a_unit_is_read_as_powers_and_converted():
    assert factors_of("N s/m^1.5") == [("N", 1.0), ("s", 1.0), ("m", -1.5)]
    assert factors_of("m/N^(1/3)") == [("m", 1.0), ("N", -1 / 3)]
    # a length in millimetres, and a pressure N/m^2 = kg/(m s^2) with a thousandth of the metre
    assert conversion("m", 1e-3, 1.0, 1.0) == 1e-3
    assert conversion("Pa", 1e-3, 1.0, 1.0) == 1e3
    with pytest.raises(LawError, match='unit: "furlong" is not valid'):
        factors_of("furlong")
