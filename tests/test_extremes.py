"""Values far from those of real bodies: an accepted case runs, or is refused with a message."""

import copy
import warnings
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from granchain.case import Case, load_case
from granchain.certificates import example_inputs
from granchain.contact import laws
from granchain.engine.state import State
from granchain.errors import CaseError, GranchainError, LawError, RunError, finite_force
from granchain.simulation import prepare, recording_of, run

# Laws whose loops other tests compile.
COMPILED = ("hertz", "ma-liu", "flores", "tsuji")
FORMS = [
    {},
    {"chain.gap": 1e-6},
    {"striker": None, "chain.precompression": 20.0, "ends.left": "wall", "ends.right": "rigid",
     "contact.impact_speed": 1.0},
    {"chain.gravity": 9.81, "ends.right": "wall"},
]  # fmt: skip


def changed(**changes):
    """Return five beads with the Hertz law, with changes."""
    return load_case("steel-chain-hertz").replace(
        **{"chain.beads": 5, "sensors.beads": [1], "sensors.contacts": []} | changes
    )


@cache
def documents(law):
    """Return plain tables of five beads with a law: touching, separate, loaded, and hanging."""
    steel = changed(**{"snapshots": None, "time.end": 1e-4})
    kinds = {quantity.name: quantity for quantity in laws()[law].inputs}
    inputs = {
        name: value
        for name, value in vars(example_inputs(laws()[law])).items()
        if name in kinds and value is not None
    }
    found = []
    for form in FORMS:
        known = {
            key: value
            for key, value in form.items()
            if not key.startswith("contact.") or key[8:] in kinds
        }
        found.append(
            steel.replace(
                contact={"law": law, **inputs}, **{"chain.material.hardness": 2.5e9}, **known
            ).resolved()
        )
    return found


def numbers(value, way=()):
    """Return the paths of all decimal numbers of a document."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [
        found
        for key, inner in items
        for found in ([(*way, key)] if isinstance(inner, float) else numbers(inner, (*way, key)))
    ]


# Tenths of powers of ten: a wrong unit, several of them, and everything that a double can
# represent.
POWERS = st.one_of(st.integers(-30, 30), st.integers(-120, 120), st.integers(-1500, 1500))


@st.composite
def distorted(draw, names):
    """Return a case with up to four numbers multiplied or divided by large factors."""
    made = copy.deepcopy(draw(st.sampled_from(documents(draw(st.sampled_from(names))))))
    for _ in range(draw(st.integers(1, 4))):
        *way, last = draw(st.sampled_from(numbers(made)))
        at = made
        for key in way:
            at = at[key]
        at[last] *= 10.0 ** (0.1 * draw(POWERS))
    return made


def look(made):
    """Return the progress of a case: "refused", "prepared", or the status of its first steps."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            case = Case.model_validate(made)
            chain, contacts, step = prepare(case)
    except GranchainError as error:
        # the requirement, or the fix
        assert any(
            words in str(error) for words in ("must", "needs", "at most", "Check", "Reduce")
        ), str(error)
        return "refused"
    if case.contact.law not in COMPILED:
        return "prepared"
    state = State(contacts, chain, step, recording_of(case))
    return state.advance(100).label


@pytest.mark.promise("I1")
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_absurd_values_run_or_are_refused(figure):
    seen, examples = [], 2_000

    @settings(
        max_examples=examples, database=None, deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(distorted(tuple(laws())))
    def each(made):
        seen.append(look(made))

    each()
    figure(
        "cases of absurd values that ran or were refused, without a traceback",
        len(seen),
        at_least=examples,
    )
    # there are many cases of both kinds
    assert seen.count("refused") > 0.1 * examples
    assert len(seen) - seen.count("refused") > 0.1 * examples


@pytest.mark.promise("I2")
@pytest.mark.plain
@pytest.mark.parametrize(
    ("mass", "sentence"),
    [
        # 2/omega is proportional to the square root of mass divided by modulus
        (
            1e-40,
            r'time\.step: "auto" gives .* s here \(0\.01 of 2/omega; .* The limit is 1e\+16 '
            r"bead-steps",
        ),
        (
            1e-300,
            r"time\.step: the stiffness or damping of the contacts of body 0 is not finite\. "
            r"Values must",
        ),
    ],
)
def test_bodies_that_no_step_can_follow_are_told(mass, sentence):
    with pytest.raises(CaseError, match=sentence):
        prepare(changed(**{"chain.material.youngs_modulus": 1e200, "chain.mass": mass}))


@pytest.mark.promise("I2")
@pytest.mark.plain
def test_a_law_without_a_number_for_its_values_says_so():
    law = laws()["kogut-etsion"]
    words = (
        r"contact\.law kogut-etsion: the force is not finite for these values \(.*\)\. They must"
    )
    with pytest.raises(LawError, match=words), finite_force(law):
        1.0 / 0.0  # noqa: B018


@pytest.mark.long
def test_a_law_whose_range_is_beyond_any_overlap_stops_the_run():
    # at a yield stress of 1e-75 Pa, 110 critical overlaps are 1e-172 m
    case = changed(**{"contact": {"law": "kogut-etsion"}, "chain.material.yield_stress": 1e-75})
    with pytest.raises(RunError, match="the law"):
        run(case)
