"""Small runs that reach the rarer lines of laws and loop, as plain Python too: drives, forgotten dents, refusals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from rows import MASS, SPEED, inputs_for, ledger_residual, run_row, standing_row, steel_row, velocities

from granchain.chain import End
from granchain.contact import laws
from granchain.contact.law import ContactLaw, Quantity, Source
from granchain.contact.pair import Pair
from granchain.engine import layout
from granchain.engine.restitution import restitution_at, source_of, with_restitution
from granchain.engine.state import Recording, contacts_of, time_step_of
from granchain.errors import LawError

pytestmark = pytest.mark.plain


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", ["displacement", "force"])
def test_a_driven_end_pushes_into_the_chain_from_either_side(side, kind):
    # a ramp to 1 um, or 10 N, held; and past the table's end
    drive = End(kind, None, np.array([0.0, 5e-6, 8e-6]), np.array([0.0, 1e-6, 1e-6]) * (1.0 if kind == "displacement" else 1e7))
    ends = {"left": drive} if side == "left" else {"right": drive}
    state = run_row(standing_row(2, **ends), "hertz", 1e-5, 1e-7, recording=Recording(energy_interval=1e-6))
    sign = 1.0 if side == "left" else -1.0
    assert sign * velocities(state).sum() > 0.0
    assert state.energies[-1, layout.EXTERNAL] > 0.0
    assert ledger_residual(state) < 0.05


def test_a_forgotten_dent_stays_in_the_ledger():
    # a ball between two walls hits them again and again; each hit dents anew, and the loss adds up
    chain = replace(standing_row(1, End("wall"), End("wall")), velocity=np.array([SPEED]))
    kept, forgotten = (
        run_row(chain, "ma-liu", 6e-5, 4e-8, dents=dents, recording=Recording(energy_interval=2e-6)) for dents in ("keep", "forget")
    )
    assert forgotten.energies[-1, layout.PLASTIC] > kept.energies[-1, layout.PLASTIC] > 0.0
    assert (np.diff(forgotten.energies[:, layout.PLASTIC]) > -1e-15).all()
    assert ledger_residual(forgotten) < 1e-3


def test_a_restitution_is_looked_up_at_the_speeds_of_the_contacts():
    pair = Pair(effective_radius=1.19e-3, effective_modulus=1.0604e11, effective_mass=0.5 * MASS, yield_stress=900e6)
    law, values = source_of({"law": "ma-liu", "psi": 2.84, "xi": 13.0})
    # .8390 at 1.77 m/s: recomputed to the digits shown
    assert restitution_at(law, values, pair, np.array([1e-3]), np.array([1.77]))[0, 0] == pytest.approx(0.8390, abs=5e-5)
    asked = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
    inputs = inputs_for("flores", restitution=asked, impact_speed="onset", impact_speed_floor=0.1)
    assert with_restitution(inputs, pair, np.array([1e-3]), SPEED).restitution.ndim == 2
    state = run_row(
        replace(steel_row(2), gap=np.array([1e-7])), "flores", 2e-6, 1e-7,
        restitution=asked, impact_speed="onset", impact_speed_floor=0.1, damping="identified",
    )  # fmt: skip
    assert state.h[3, 1] > 0.0
    still = inputs_for("tsuji", restitution=asked)
    with pytest.raises(LawError, match="nothing moves at the start"):
        with_restitution(still, pair, np.array([1e-3]), 0.0)


def test_an_onset_without_a_floor_is_refused():
    inputs = inputs_for("flores", impact_speed="onset", impact_speed_floor=None)
    with pytest.raises(LawError, match="needs impact_speed_floor"):
        contacts_of(laws()["flores"], steel_row(3), inputs)


@pytest.mark.parametrize(
    ("quantity", "value", "words"),
    [
        (Quantity("e", "1", above=0.0, high=1.0), 1.5, "above 0 and at most 1"),
        (Quantity("e", "1", low=0.0, below=1.0), math.nan, "at least 0 and below 1"),
        (Quantity("e", "1"), True, "a number"),
        (Quantity("word", "", choices=("a", "b"), kind="word"), "c", '"a", "b"'),
        (Quantity("word", "", choices=("a", "b"), kind="word"), 3, '"a", "b"'),
        (Quantity("switch", "", kind="switch"), 1, "true or false"),
    ],
)
def test_a_quantity_says_what_is_allowed(quantity, value, words):
    assert words in quantity.problem(value)


def test_a_law_that_is_not_well_formed_is_refused_with_every_problem():
    with pytest.raises(LawError) as caught:

        class Wrong(ContactLaw):
            name = "Not A Name"
            inputs = (Quantity("a", "1"), Quantity("a", "1"))
            coefficients = Quantity("b", "1")  # type: ignore[assignment]

            def force(self):  # type: ignore[override]
                return 0.0

    text = str(caught.value)
    for piece in (
        "lower-case words",
        "source: missing",
        "docstring: missing",
        "stands there twice",
        "did a comma get lost",
        "staticmethod",
    ):
        assert piece in text
    with pytest.raises(LawError, match="is taken by"):

        class Hertz(laws()["hertz"]):  # type: ignore[misc]
            """Another of the name."""

            name = "hertz"


def test_a_law_with_the_wrong_number_of_coefficients_is_refused():
    class Short(laws()["hertz"]):  # type: ignore[misc]
        """A law that forgets a coefficient."""

        coefficients = (Quantity("stiffness", "N/m"), Quantity("more", "N"))

    with pytest.raises(LawError, match="returns 1 values for 2 coefficients"):
        contacts_of(Short, steel_row(2), inputs_for("hertz"))


def test_sources_and_defaults_read_as_words():
    assert str(Source("Author 1900", "eq. (1)", "10.1/x")) == "Author 1900, eq. (1), doi:10.1/x"
    assert ContactLaw.variant(None) is ContactLaw  # type: ignore[arg-type]
    assert ContactLaw.coefficients_of(None, None) == ()  # type: ignore[arg-type]
    assert ContactLaw.update((), (), (1.0,)) == (1.0,)
    assert laws()["hertz"].index_of("nothing") == -1
    for name in ("force", "energy"):
        with pytest.raises(NotImplementedError):
            getattr(ContactLaw, name)(*([0.0] * (4 if name == "force" else 3)))


def test_a_pair_says_what_it_holds():
    pair = Pair(effective_radius=1e-3, hardness=None)
    assert pair.has("effective_radius")
    assert not pair.has("hardness")
    assert pair.items() == {"effective_radius": 1e-3}
    with pytest.raises(AttributeError):
        pair.colour  # noqa: B018
    with pytest.raises(LawError, match="needs hardness"):
        pair.hardness  # noqa: B018
    with pytest.raises(LawError, match="unknown quantity"):
        Pair(colour=1.0)
    with pytest.raises(LawError, match="allowed: finite numbers above 0"):
        Pair(effective_radius=-1.0)


def test_a_still_chain_has_a_step_and_a_given_one_is_taken():
    contacts = contacts_of(laws()["hertz"], standing_row(3), inputs_for("hertz"))
    assert "nothing moves" in time_step_of(contacts, standing_row(3), "auto", 1e-3).reason
    assert time_step_of(contacts, standing_row(3), 1e-6, 1e-3).n_steps == 1000
