"""Line contact of cylinders: the closed inverse, and its limit.

The page docs/papers/autiero-2022.md tests the tables of Autiero et al. 2022,
doi:10.3390/machines10110966."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.kinds import PLAIN_ALONE
from support.rows import contacts_of, steel_row

from granchain.certificates import example_inputs
from granchain.contact import laws
from granchain.contact.cylinder import inverse_log_root
from granchain.contact.pair import Pair
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.timestep import time_step_of
from granchain.errors import LawError
from granchain.status import Status

pytestmark = pytest.mark.plain

IMPLICIT = ("radzimovsky", "johnson", "esdu-78035", "goldsmith", "dubowsky-freudenstein")
# Autiero et al. 2022, sec. 2 and 4: steel with 207 GPa and 0.3 for both bodies; MPa.
STEEL = 207e3 / (2.0 * (1.0 - 0.3**2))

# One steel pin in a bush, and next to another pin, in SI units. The numbers are arbitrary.
PAIR = Pair(effective_radius=1.0 / (1.0 / 8e-3 + 1.0 / 7.9e-3), effective_modulus=1e6 * STEEL,
    effective_mass=0.1,
            radius_1=8e-3, radius_2=7.9e-3, length=12e-3)  # fmt: skip


def coefficients(name, pair=PAIR, **changes):
    """Return the coefficients of a law with its default inputs, unless changed."""
    inputs = {quantity.name: quantity.default for quantity in laws()[name].inputs} | changes
    return tuple(float(x) for x in laws()[name].coefficients_of(pair, SimpleNamespace(**inputs)))


def test_lankarani_and_nikravesh_in_table_11_is_a_tenth_of_pi_of_the_law():
    # Autiero et al., table 11: a pin of 7.9 mm in the slot's end of 8 mm; K [N/mm^1.5]
    pair = Pair(effective_radius=8.0 * 7.9 / 0.1 * 1e-3, effective_modulus=1e6 * STEEL)
    (k,) = coefficients("lankarani-nikravesh-cylinder", pair)
    assert math.pi / 10.0 * k / 1e3**1.5 == pytest.approx(1.198e6, rel=5e-4)
    # the force, and its integral
    law, d = laws()["lankarani-nikravesh-cylinder"], 1e-5
    assert law.force(d, 0.0, (k,), ()) == pytest.approx(k * d**1.5, rel=1e-14)
    assert law.energy(d, (k,), ()) == pytest.approx(0.4 * k * d**2.5, rel=1e-14)


def test_the_root_satisfies_its_equation_to_machine_precision():
    for t in (0.0, *np.geomspace(1e-17, 150.0, 400)):
        y = 1.0 / inverse_log_root(math.exp(t))
        u = y - 1.0
        # log1p, because the logarithm of a number near 1 would lose digits
        assert (u - math.log1p(u) if u < 1.0 else u - math.log(y)) == pytest.approx(
            t, rel=2e-15, abs=1e-15
        )


@pytest.mark.parametrize("contact", ["external", "internal"])
def test_beyond_the_largest_overlap_the_force_stays_and_the_energy_goes_on(contact):
    relative = PAIR.radius_1 + (1.0 if contact == "external" else -1.0) * PAIR.radius_2
    goldsmith = PAIR.length**2 * relative / (PAIR.radius_1 * PAIR.radius_2)
    # half a unit of the last digit
    ends = (0.7127 * relative, 0.5413 * relative, 4.0 * relative, goldsmith, goldsmith)
    for name, end in zip(IMPLICIT, ends, strict=True):
        law, c = laws()[name], coefficients(name, contact=contact)
        limit = law.overlap_limit(c)
        assert limit == pytest.approx(end, rel=1e-4)
        # W = B e^(c - 1) at this overlap: F = L pi E l
        force = law.force(limit, 0.0, c, ())
        assert force == pytest.approx(math.pi * PAIR.effective_modulus * PAIR.length * limit)
        assert law.force(2.0 * limit, 0.0, c, ()) == force
        gained = law.energy(2.0 * limit, c, ()) - law.energy(limit, c, ())
        assert gained == pytest.approx(limit * force, rel=1e-14)


def test_a_row_of_spheres_has_no_length_and_the_case_gives_it():
    pair = Pair(**{name: value for name, value in PAIR.items().items() if name != "length"})
    for name in ("johnson", "goldsmith", "pereira-2015"):
        with pytest.raises(
            LawError, match=r"length: missing\. A line contact needs a length, a number above 0"
        ):
            coefficients(name, pair)
        assert coefficients(name, pair, length=PAIR.length) == coefficients(name)
    assert coefficients("lankarani-nikravesh-cylinder", pair)
    # the length of the case has priority over the length of the pair
    assert coefficients("johnson", length=2.0 * PAIR.length)[0] == pytest.approx(
        2.0 * coefficients("johnson")[0]
    )


@pytest.mark.parametrize(
    "name", ["johnson", "goldsmith", "lankarani-nikravesh-cylinder", "pereira-2011", "pereira-2015"]
)
def test_an_internal_contact_needs_body_1_outside_or_a_clearance(name):
    for radius in (7.9e-3, 7.8e-3):
        pair = Pair(**{**PAIR.items(), "radius_1": radius})
        with pytest.raises(LawError, match="because body 1 is the outer body"):
            coefficients(name, pair, contact="internal")
        given = coefficients(name, pair, contact="internal", clearance=1e-4)
        assert given == pytest.approx(coefficients(name, contact="internal"), rel=1e-12)
    if name.startswith("pereira"):
        for clearance in (4.99e-6, 1.001e-2):
            fitted = r"It must be 0\.005 to 10 mm, the range of the fit of this law"
            with pytest.raises(LawError, match=fitted):
                coefficients(name, contact="internal", clearance=clearance)
        for clearance in (5e-6, 1e-2):
            assert np.isfinite(coefficients(name, contact="internal", clearance=clearance)).all()


@PLAIN_ALONE
def test_a_run_beyond_the_largest_overlap_ends_outside_the_laws_range():
    chain, law = steel_row(3), laws()["johnson"]
    # 1 um of clearance: no force beyond 0.54 um, which is exceeded at 1.77 m/s; 1 mm: far from the
    # limit
    for clearance, status in ((1e-6, Status.OUTSIDE_LAW), (1e-3, Status.COMPLETE)):
        inputs = example_inputs(law, contact="internal", clearance=clearance)
        contacts = contacts_of(law, chain, inputs)
        step = time_step_of(contacts, chain, 2e-8, 1e-5, force_step=True)
        state = State(contacts, chain, step, Recording(ledger=False))
        assert state.advance(step.n_steps + 1) is status
