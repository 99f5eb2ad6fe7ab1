"""Verification reports: every law creates no energy, and has the declared order and consistent
units.

For an incorrect law, the report contains the problem."""

import math
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.kinds import every_law
from support.refused import sentences_of

from granchain.certificates import certificate, example_inputs, example_pair, pair_with
from granchain.certificates.contact import (
    IMPACT_SPEEDS,
    QUADRATURE,
    Contact,
    Creation,
    cycle_losses,
    cycles,
    jumps,
    onset,
    work_along,
)
from granchain.certificates.faults import CREATION, faults_of_law, faults_of_measures
from granchain.certificates.measure import report_of, scales_with_units
from granchain.contact import law as law_module
from granchain.contact import laws
from granchain.contact.guard import Elastoplastic
from granchain.contact.law import ContactLaw
from granchain.contact.user import load_law_module
from granchain.contact.viscoelastic import LeeRadok
from granchain.errors import LawError
from granchain.material import MATERIALS
from granchain.show.blocks import Paragraph
from granchain.show.law import law_page
from granchain.two_body import impact

LAWS = laws()
DOCS = Path(__file__).parents[1] / "docs"
LAWS_PAGE, EXAMPLES = DOCS / "laws.md", DOCS / "examples"
NONE = Creation(0.0, 0.0)


# Laws whose loops other tests compile too; the reports of other laws take seconds.
NEAR = ["ma-liu", "flores"]
# Laws of different kinds: elastic, elastoplastic, of parallel cylinders, with a jump at the onset,
# with a jump inside, and with residual indentation and a dashpot. test_elastoplastic.py shows for
# each elastoplastic law that it creates no energy.
UNLIKE = ("hertz", "ma-liu", "tsuji", "brake", "pereira-2011", "lankarani-nikravesh-plastic",
          "lee-wang-transition", "wang-liu-hysteretic")  # fmt: skip


@pytest.mark.promise("N6")
@pytest.mark.parametrize("name", every_law(UNLIKE))
def test_a_law_has_no_fault_and_creates_no_energy(name, figure):
    law, values = LAWS[name], example_inputs(LAWS[name])
    contact = Contact(law, values)
    assert faults_of_law(contact) == []
    created = cycles(contact).energy
    figure("energy created by closed cycles, of the largest work put in", created, at_most=CREATION)
    if issubclass(law, Elastoplastic):
        what = "fall of the loss on a fine grid of largest overlaps, of the work"
        figure(what, max(cycle_losses(contact)), at_most=CREATION)
    assert scales_with_units(law, values) is not law.fixed_units
    # every law of the package declares the overlaps at which its force jumps, which keeps the order
    # two
    assert law.order == 2
    found = [overlap for overlap, _ in jumps(contact)]
    # a law without a jump function declares kinks
    named = [] if law.jump is ContactLaw.jump else law.jumps(contact.c)
    assert sorted(found) == pytest.approx(sorted(named), rel=1e-6)
    # and whether the force jumps at the onset: a power of the overlap grows from 0
    h = contact.law.history_of(contact.c)
    first, second = (contact.law.force(overlap, 1.0, contact.c, h) for overlap in (2e-60, 2e-40))
    assert law.onset_jump == (0.0 < second < 1.01 * first)


@pytest.mark.promise("N4", "N6")
# The stored reports of other laws, none with a problem (test_certified.py), are measured next.
@pytest.mark.parametrize("name", NEAR)
def test_the_certificate_of_a_law_is_clean_and_of_the_order_it_states(name, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    from law_reference import restitution_rows, summary_row
    from markdown_text import markdown_cell

    found = certificate(name)
    assert found.problems == [] and found.admissible
    assert 0.0 <= found.created <= found.created_error < CREATION
    assert found.order == pytest.approx(2.0, abs=0.3)
    assert found.dimension is not LAWS[name].fixed_units
    assert found.impact_speed.size == 3 and all(found.restitution > 0.0)
    assert all(found.restitution <= 1.0 + 1e-5)
    for clamped, tensile in zip(found.clamped, found.tensile, strict=True):
        assert math.isnan(clamped) or 0.0 <= clamped <= 1.0 + 1e-6
        # a contact that pulls returns less
        assert not tensile > clamped + 1e-6
    assert found.inputs == {
        key: value for key, value in vars(example_inputs(LAWS[name])).items() if value is not None
    }
    # this is the value that the page of the laws prints
    printed = LAWS_PAGE.read_text().splitlines()
    for row in [summary_row(found)] + ([restitution_rows(found)] if found.nominal.size else []):
        assert "| " + " | ".join(map(markdown_cell, row)) + " |" in printed


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_the_page_of_the_laws_and_the_stored_certificates_are_what_is_measured_now():
    command = [sys.executable, str(LAWS_PAGE.with_suffix(".py")), "--compare"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_energy_that_printed_laws_create_is_measured():
    # the pages of the laws: Ma-Liu 0.5 % (psi 2.84, xi 13), Brake 16 % (hardness 2.8 s_y), Thornton
    # none
    for name, percent in (("ma-liu", 0.48), ("brake", 16.0), ("thornton", 0.0)):
        law = LAWS[name]
        printed = Contact(law, example_inputs(law, as_printed=True))
        assert 100.0 * cycle_losses(printed)[0] == pytest.approx(percent, rel=0.05, abs=1e-6)
        assert 100.0 * cycles(printed).energy <= percent * 1.01 + 1e-6


SPRING = '''
from granchain.contact.law import OPEN, ContactLaw, Quantity, Source
import math

class Wrong(ContactLaw):
    """A spring of 1e7 N/m with something wrong."""
    name = "wrong"
    source = Source("a test")
    coefficients = (Quantity("stiffness", "N/m", "K"),)
    STATED

    @staticmethod
    def coefficients_of(pair, inputs):
        return (1e7,)

    @staticmethod
    def force(overlap, rate, c, h):
        d = overlap if overlap > OPEN else 0.0
        return FORCE

    @staticmethod
    def energy(overlap, c, h):
        d = overlap if overlap > OPEN else 0.0
        return ENERGY
'''
RIGHT = {"STATED": "", "FORCE": "c[0] * d", "ENERGY": "0.5 * c[0] * d * d"}


@pytest.fixture
def wrong_law(tmp_path, monkeypatch):
    """Return the law of a file with this text; it is removed before the next one, and after the
    test."""
    known = dict(LAWS)

    def load(text):
        monkeypatch.setattr(law_module, "REGISTRY", dict(known))
        (tmp_path / f"{tmp_path.name}.py").write_text(text)
        return load_law_module(tmp_path / f"{tmp_path.name}.py")["wrong"]

    return load


def spring(**changes):
    text = SPRING
    for word, part in (RIGHT | changes).items():
        text = text.replace(word, part)
    return text


DAMPED, OWN = (EXAMPLES / f"{name}_law.py" for name in ("damped", "my"))
WRONG = {
    "negative": (
        spring(FORCE="-c[0] * d", ENERGY="-0.5 * c[0] * d * d"),
        "the force is negative (-",
    ),
    "open": (
        spring(FORCE="c[0] * overlap", ENERGY="0.5 * c[0] * overlap * overlap"),
        "It must be exactly 0 for an open contact",
    ),
    "damping when open": (
        spring(FORCE="c[0] * d + 3.0 * rate"),
        "and rate 1.77 m/s. It must be exactly 0 for an open contact",
    ),
    "a root of a negative number": (
        spring(FORCE="c[0] * d * math.sqrt(-d)"),
        "the force is not finite (nan) at overlap ",
    ),
    "an energy that is infinite": (
        spring(ENERGY="math.inf * d"),
        "the energy is not finite (inf) at overlap ",
    ),
    "discontinuous at zero": (
        spring(FORCE="(c[0] * d + 5.0) * (d > 0.0)", ENERGY="0.5 * c[0] * d * d + 5.0 * d"),
        "discontinuous at zero",
    ),
    "no slope": (
        spring(ENERGY="0.4 * c[0] * d * d"),
        "the force is not the derivative of the energy",
    ),
    "work that is not the loading force's": (
        OWN.read_text()
        .replace('"latching-spring"', '"wrong"')
        .replace("0.5 * c[0] * d * d", "0.6 * c[0] * d * d"),
        "the loading force is not the derivative of the work (recoverable energy plus losses)",
    ),
    "driving the approach": (
        spring(FORCE="c[0] * d * (1.0 - 0.1 * rate)"),
        "the rate term accelerates the approach instead of damping it",
    ),
    "driving the recovery": (
        spring(FORCE="c[0] * d * (1.0 - 0.1 * (rate if rate < 0.0 else 0.0))"),
        "the rate term accelerates the recovery instead of damping it",
    ),
    "a unit that is none": (
        spring().replace('"N/m", "K"', '"N/furlong", "K"'),
        'stiffness: unit: "N/furlong" is not valid. It must be a product of powers of m, kg, s, N, '
        "Pa, J, 1",
    ),
}


def test_a_wrong_law_is_told_what_is_wrong(wrong_law):
    for kind, (text, sentence) in WRONG.items():
        law = wrong_law(text)
        (fault,) = faults_of_law(Contact(law, example_inputs(law)))
        assert fault.startswith("wrong: ") and sentence in fault, kind


HISTORY = """
    @staticmethod
    def history_of(c):
        return (0.0,)

    @staticmethod
    def needs_update(overlap, rate, c, h):
        return overlap > h[0]

    @staticmethod
    def update(event, c, h):
        return (event[0],)
"""
# Loads with K d, and unloads with 0.8 K through the largest overlap, so it returns energy that it
# did not take up.
CREATING = (
    spring(
        STATED='history = (Quantity("largest", "m", "largest overlap"),)',
        FORCE="8e6 * d + 2e6 * h[0] * (d / (d + 1e-12))",
        ENERGY="4e6 * d * d + 2e6 * h[0] * (d - 1e-12 * math.log(1.0 + d / 1e-12))",
    )
    + HISTORY
    + """
    @staticmethod
    def plastic(c, h):
        return -1e6 * h[0] * h[0]
"""
)


def test_a_law_that_creates_energy_is_told_how_much(wrong_law):
    law = wrong_law(CREATING)
    contact = Contact(law, SimpleNamespace())
    assert faults_of_law(contact) == []
    created = cycles(contact)
    # loading: K d^2/2; unloading: 0.4 K d^2 + 0.2 K d^2
    assert created.energy == pytest.approx(0.2, abs=0.01) and created.error < 1e-5
    (sentence,) = faults_of_measures(law, created, 0.0, math.nan, True)
    assert sentence.startswith(
        "wrong creates energy: a closed cycle of overlap returns up to "
        f"{100.0 * created.energy:.3g} % more energy than it"
    )
    assert f"took (uncertainty {100.0 * created.error:.2g} %)" in sentence
    assert "Derive it from Elastoplastic" in sentence
    # energy within the error of the measurement does not count as created
    assert faults_of_measures(law, Creation(0.2, 0.2), 0.0, math.nan, True) == []
    (sentence,) = faults_of_measures(law, Creation(0.0, 1e-9), 0.01, math.nan, True)
    assert "its loss decreases with increasing maximum overlap, by up to 1 % of the" in sentence


# A law whose history changes nothing.
KINKED = spring(
    STATED='history = (Quantity("largest", "m", "largest overlap"),)',
    FORCE="c[0] * d + 3e7 * max(d - 2e-6, 0.0)",
    ENERGY="0.5 * c[0] * d * d + 1.5e7 * max(d - 2e-6, 0.0) * max(d - 2e-6, 0.0)",
)


def relaxing(**changes):
    """Return a contact of lee-radok with other functions."""
    contact = Contact(LAWS["lee-radok"], example_inputs(LAWS["lee-radok"]))
    contact.law = contact.law._replace(**changes)
    return contact


def swelling(dt, before, overlap, c, h):
    """The creep has the opposite sign: the force grows while the contact is closed."""
    (creep,), lost = LeeRadok.evolve(dt, before, overlap, c, tuple(map(abs, h)))
    return (-creep,), lost


SWELLING = {
    "evolve": swelling,
    "force": lambda overlap, rate, c, h: (
        LeeRadok.force(overlap, 0.0, c, (0.0,)) + c[0] * c[1] * abs(h[0]) ** 1.5 * (overlap > 0.0)
    ),
}


def test_cycles_of_a_law_with_memory_take_time():
    # for loading faster than any relaxation, this is a spring
    swells = relaxing(**SWELLING)
    swells.model = replace(swells.model, evolves=False)
    assert cycles(swells, 8).certain == 0.0
    assert cycles(relaxing(**SWELLING), 8).certain > 0.01
    assert 0.0 <= cycles(relaxing(), 8).energy < CREATION


@pytest.mark.parametrize(
    ("evolve", "sentence"),
    [
        (
            lambda dt, before, d, c, h: (LeeRadok.evolve(dt, before, d, c, h)[0], -1e-9),
            "evolve dissipates -1e-09 J in a step in a loading and unloading within",
        ),
        (
            lambda dt, before, d, c, h: (LeeRadok.evolve(dt, before, d, c, h)[0], 0.0),
            "the energies differ from the work in a loading and unloading within",
        ),
        (
            lambda dt, before, d, c, h: LeeRadok.evolve(min(dt, 1e-6), before, d, c, h),
            "evolve does not relax completely in an infinite time at overlap",
        ),
        (
            lambda dt, before, d, c, h: LeeRadok.evolve(dt, abs(before), abs(d), c, h),
            "evolve changes the history of a fresh, open contact. It must not change",
        ),
    ],
)
def test_a_wrong_memory_is_told(evolve, sentence):
    problems = faults_of_law(relaxing(evolve=evolve))
    assert any(problem.startswith(f"lee-radok: {sentence}") for problem in problems), problems


def test_a_kink_of_a_conservative_force_is_not_taken_for_energy(wrong_law):
    # the work of every closed path is zero, so the measured value is the error of the quadrature
    found = cycles(Contact(wrong_law(KINKED + HISTORY), SimpleNamespace()))
    assert 0.0 <= found.energy <= found.error < 1e-6
    law = wrong_law(KINKED.replace("history = (", "unused = ("))
    assert cycles(Contact(law, SimpleNamespace())) == found
    # without history, no law can create energy, whatever the measured value
    more = Creation(1.2e-5, 3e-6)
    for created, measured in ((found, f"none, error {max(found.error, 1e-7):.1e}"),
                              (more, "1.2e-05, error 3.0e-06")):  # fmt: skip
        one = report_of(law, {}, created=created)
        assert one.admissible and faults_of_measures(law, created, 0.0, math.nan, True) == []
        assert one.as_dict()["created_error"] == created.error
        (told,) = [row[1] for row in law_page(one)[-1].rows if row[0] == "energy"]
        assert told == (
            "no cycle creates energy, because without history the force at rest depends on the "
            f"overlap only (measured: {measured} of the work supplied)"
        )


@pytest.mark.parametrize("paths", [60, pytest.param(3_000, marks=pytest.mark.long)])
def test_the_stated_error_of_a_works_quadrature_covers(paths, wrong_law, figure):
    random = np.random.default_rng(4)
    contact = Contact(wrong_law(KINKED), SimpleNamespace())
    outside = {math.inf: 0, 0.0: 0}
    for _ in range(paths):
        kinks = [
            (10.0 ** random.uniform(-2.0, 1.0) * 1e7, random.uniform(0.0, 1e-5))
            for _ in range(random.integers(1, 4))
        ]
        contact.force = lambda d, h, kinks=kinks: (
            1e7 * d + sum(k * max(d - p, 0.0) for k, p in kinks)
        )
        here, there = random.uniform(0.0, 1e-5, size=2)
        right = 0.5e7 * (there**2 - here**2) + sum(
            0.5 * k * (max(there - p, 0.0) ** 2 - max(here - p, 0.0) ** 2) for k, p in kinks
        )
        rounding = 1e-14 * 0.5e7 * 1e-10
        for allowed in outside:
            work, error, _ = work_along(contact, here, there, (0.0,), allowed)
            outside[allowed] += abs(work - right) > error + rounding
        # halved if necessary
        assert error <= 2.0 * QUADRATURE * abs(right)
    for allowed, way in zip(outside, ("paths", "paths, halved where needed,"), strict=True):
        what = f"{way} whose work is off by more than the stated error, of all"
        figure(what, outside[allowed] / paths, at_most=0.05)


def test_wrong_units_a_jump_and_another_order_than_is_stated_are_told(wrong_law):
    # a number without a unit, and a number that is converted like a stiffness but declared
    # differently
    law = wrong_law(spring())
    assert scales_with_units(law, SimpleNamespace()) is False
    given = spring(STATED='inputs = (Quantity("stiffness", "N/m", "K", above=0.0),)')
    given = given.replace("return (1e7,)", "return (inputs.stiffness,)")
    law = wrong_law(given)
    assert scales_with_units(law, example_inputs(law)) is True
    unit = 'coefficients = (Quantity("stiffness", "N/m'
    law = wrong_law(given.replace(unit, f"{unit}^1.5"))
    assert scales_with_units(law, example_inputs(law)) is False
    (sentence,) = faults_of_measures(law, NONE, 0.0, 2.0, False)
    assert "do not scale with metre, kilogram, and second" in sentence
    assert "fixed_units = True" in sentence
    law.fixed_units = True
    assert faults_of_measures(law, NONE, 0.0, 2.0, False) == []
    # a step of 5 N at 1 um, in addition to the 10 N of 1e7 N/m at this overlap; the energy follows
    # it
    force = "c[0] * d + (5.0 if d > 1e-6 else 0.0)"
    law = wrong_law(spring(FORCE=force, ENERGY="0.5 * c[0] * d * d + 5.0 * max(d - 1e-6, 0.0)"))
    assert jumps(Contact(law, SimpleNamespace())) == [pytest.approx((1e-6, 0.5), rel=1e-6)]
    (sentence,) = faults_of_measures(law, NONE, 0.0, 1.0, True)
    assert "declares order 2 in time, but an impact converges with order 1.00" in sentence
    assert faults_of_measures(law, NONE, 0.0, 2.0, True) == []


@pytest.mark.long
def test_the_damped_example_is_of_order_two_and_without_its_weight_is_told_what_is_missing(
    wrong_law,
):
    text = DAMPED.read_text().replace("damped-hertz", "wrong")
    good = certificate(wrong_law(text))
    assert good.order == pytest.approx(2.0, abs=0.15) and good.problems == []
    weighted = "return weight / math.sqrt(part), 1.0"
    found = certificate(wrong_law(text.replace(weighted, "return 1.0, 1.0")))
    # at an onset of damping ~ d^a, the scheme without weight is of order 1 + a
    assert found.order == pytest.approx(1.5, abs=0.25)
    (sentence,) = found.problems
    assert "declares order 2" in sentence and "set order = 2" not in sentence
    assert "onset_weight(a) of granchain.contact.onset" in sentence and "a = 0.5" in sentence
    assert Paragraph(f"Problem: {sentence}.") in law_page(found)


def test_a_pair_takes_what_is_given_and_derives_what_follows_and_what_is_wrong_is_refused():
    near = partial(pytest.approx, rel=1e-14)
    steel, own, radii = (
        MATERIALS["steel-316"],
        example_pair(),
        {"radius_1": 0.0205, "radius_2": 0.02},
    )
    assert pair_with(radii).effective_radius == near(0.0205 * 0.02 / 0.0405)
    assert pair_with({"youngs_modulus": 200e9}).effective_modulus == near(200e9 / (2.0 * 0.91))
    assert pair_with({}, steel).effective_modulus == near(own.effective_modulus)
    # given inputs come first, and uncertain values that follow from them are left out
    pair = pair_with({"effective_radius": 0.82, "effective_modulus": 5e10}, steel)
    assert (pair.effective_radius, pair.effective_modulus) == (0.82, 5e10)
    assert not any(map(pair.has, ("radius_1", "radius_2", "youngs_modulus", "hardness")))
    assert pair_with({}).items() == own.items()
    for bad in ({"mass": 1.0}, {"effective_mass": math.nan}, {"poissons_ratio": 0.51}):
        with pytest.raises(LawError, match=r"pair: .*(It must be|quantities are)"):
            pair_with(bad)
    unknown, wrong = sentences_of(example_inputs, LAWS["flores"], psi=3.0, restitution=2.0)
    assert unknown.startswith("flores: psi: unknown input. The inputs of flores are restitution, ")
    assert wrong.startswith("flores: restitution: 2.0 is out of range. It must be ")
    with pytest.raises(LawError, match=r'certificate: unknown law "nonsense". The laws are'):
        certificate("nonsense")


@pytest.mark.plain
def test_a_jump_at_the_onset_is_measured():
    # only these three laws jump: see the first test of this file. c v at the second speed, where K
    # d vanishes; the transition begins with T = exp(-2 q) according to Autiero et al. 2022, at
    # which the dashpot has almost no jump
    begins = math.exp(-2.0 * example_inputs(LAWS["lee-wang-transition"]).q)
    for name, part in (
        ("hertz", None),
        ("kelvin-voigt", 1.0),
        ("wang-liu-viscous", 1.0),
        ("lee-wang-transition", begins),
    ):
        contact = Contact(LAWS[name], example_inputs(LAWS[name]))
        expected = part * contact.c[1] * IMPACT_SPEEDS[1] if part else 0.0
        assert onset(contact) == pytest.approx(expected, rel=1e-6, abs=0.0)


@pytest.mark.long
def test_the_restitution_of_wang_liu_hysteretic_depends_on_speed_as_published_alone():
    # as in its docstring, for the example pair and a nominal restitution of 0.65
    law = LAWS["wang-liu-hysteretic"]
    for damping, delivered in (("published", (0.6422, 0.6457)), ("identified", (0.65, 0.65))):
        for speed, expected in zip((0.2, 10.0), delivered, strict=True):
            values = vars(example_inputs(law, damping=damping, impact_speed=speed))
            found = impact(law=law, pair=example_pair(), speed=speed, refine=4.0, **values)
            assert found.restitution == pytest.approx(expected, abs=2e-4), (damping, speed)
