"""Inputs of a law, input_values in and validated, and contact radii from their formulas, as plain
Python."""

import math

import numpy as np
import pytest

from granchain.certificates import example_inputs, example_pair
from granchain.contact import laws
from granchain.contact.guard import Elastoplastic
from granchain.contact.inputs import InputProblem, input_values, law_or_problem
from granchain.contact.law import ContactLaw

pytestmark = pytest.mark.plain


def test_values_are_filled_and_every_mistake_has_its_sentence():
    values, problems = input_values(
        laws()["flores"], {"restitution": 1, "separation": "glued", "stifness": 1.0}
    )
    assert (
        values["restitution"] == 1.0
        and type(values["restitution"]) is float
        and values["damping"] == "published"
    )
    sentences = [problem.sentence for problem in problems]
    assert sentences[0].startswith(
        "stifness: unknown input. The inputs of flores are restitution, "
    ) and sentences[0].endswith(". Remove it.")
    assert (
        sentences[1] == 'separation: "glued" is not valid. It must be one of "clamped", "tensile".'
    )
    _, (missing,) = input_values(laws()["ma-liu"], {"psi": 2.84})
    assert (
        missing.sentence
        == "xi: missing. The law ma-liu needs the ratio in the onset of full plasticity, "
        "d_p = xi^2 d_y/2. Give a number above 1.41421."
    )


def test_a_restitution_may_be_the_table_of_another_law():
    table = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
    values, problems = input_values(laws()["flores"], {"restitution": table})
    assert (
        not problems
        and values["restitution"]["law"] == "ma-liu"
        and values["restitution"]["xi"] == 13.0
    )
    _, (problem,) = input_values(laws()["flores"], {"restitution": {**table, "xi": 1.0}})
    assert problem.key == "restitution.xi"
    values, (problem,) = input_values(laws()["flores"], {"restitution": {"law": "hertz"}})
    assert (
        problem.key == "restitution.law"
        and problem.requirement.startswith("It must be an elastoplastic law: ")
        and values["restitution"] == {"law": ""}
    )


def test_a_text_is_read_as_a_number_with_its_unit_or_the_reason_is_given():
    def read(text, unit):
        if text != "1 kN/m":
            raise ValueError(f"write a number in {unit}")
        return 1e3

    law = laws()["kelvin-voigt"]
    values, problems = input_values(law, {"restitution": 0.5, "stiffness": "1 kN/m"}, read)
    assert not problems and values["stiffness"] == 1e3
    _, (problem,) = input_values(law, {"restitution": 0.5, "stiffness": "stiff"}, read)
    assert problem.value == "stiff" and problem.fix.startswith("write a number in N/m")


def test_a_law_is_chosen_by_its_name_among_those_of_a_kind():
    assert (
        law_or_problem("hertz") is laws()["hertz"]
        and law_or_problem("ma-liu", Elastoplastic) is laws()["ma-liu"]
    )
    assert isinstance(law_or_problem("hertz", Elastoplastic), InputProblem) and isinstance(
        law_or_problem(3), InputProblem
    )


def test_the_contact_radius_begins_as_that_of_hertz_and_is_continuous():
    pair, overlaps = example_pair(), np.geomspace(1e-8, 1e-4, 4001)
    radius = float(pair.effective_radius)
    # far below the yield overlap of steel, 5.5e-7 m
    first = pytest.approx(math.sqrt(radius * 1e-9), rel=1e-12)
    # a power below about .8: a step of 2.3e-3 of the overlap at most doubles in the radius
    largest = 2.0 * math.log(1e4) / 4000
    for name in [name for name, law in laws().items() if law.has_contact_radius()]:
        law = laws()[name]
        c = tuple(float(value) for value in law.coefficients_of(pair, example_inputs(law)))
        assert law.contact_radius(1e-9, radius, c, ()) == first, name
        found = np.array([law.contact_radius(float(d), radius, c, ()) for d in overlaps])
        assert (np.diff(found) > 0.0).all() and np.diff(np.log(found)).max() < largest, name


def test_a_law_whose_source_states_no_contact_radius_has_none():
    assert math.isnan(ContactLaw.contact_radius(1e-6, 1e-3, (), ()))
    assert not laws()["stronge"].has_contact_radius()
