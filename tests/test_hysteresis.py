"""Hysteresis dashpots: factors and delivered restitutions, and laws with permanent indentation."""

import math

import numpy as np
import pytest
from support.rows import SPEED, inputs_for
from support.running import Running

from granchain import theory
from granchain.contact import laws
from granchain.contact.examples import example_pair
from granchain.contact.guard import GUARD_WINDOWS
from granchain.contact.hysteresis import Hysteresis, KhuliefShabana
from granchain.contact.law import OPEN
from granchain.contact.pair import Pair, exact_damping_factor
from granchain.engine.setup import coefficients
from granchain.errors import LawError
from granchain.material import Material
from granchain.two_body import impact

PAIR = example_pair()

ASKED = (0.1, 0.3, 0.5, 0.7, 0.9)
# Restitutions that these laws deliver with the published factors, integrated to the digits shown.
# They are the same for every stiffness, exponent, mass and speed. Then the limit of a/(1 - e) as e
# approaches 1: it is 1.5 for a law that is correct in this limit.
TABLE = {
    "hunt-crossley": ((0.5158, 0.5813, 0.6630, 0.7680, 0.9090), 1.5),
    "herbert-mcwhannell": ((0.4907, 0.5200, 0.5936, 0.7227, 0.9009), 1.5),
    "lee-wang": ((0.6867, 0.7390, 0.7992, 0.8693, 0.9524), 0.75),
    "lankarani-nikravesh": ((0.6653, 0.6842, 0.7252, 0.7960, 0.9132), 1.5),
    "khulief-shabana": ((0.6653, 0.6842, 0.7252, 0.7960, 0.9132), 1.5),
    "gonthier": ((0.1010, 0.3042, 0.4877, 0.6696, 0.8764), 2.0),
    "gonthier-exact": ((0.1, 0.3, 0.5, 0.7, 0.9), 1.5),
    "zhiying-qishao": ((0.2175, 0.3267, 0.4826, 0.6796, 0.8959), 1.5),
    "flores": ((0.0694, 0.2562, 0.4704, 0.6832, 0.8939), 1.6),
    "gharib-hurmuzlu": ((0.1000, 0.2819, 0.4107, 0.5008, 0.5668), math.inf),
    "hu-guo": ((0.0741, 0.2707, 0.4877, 0.6973, 0.8999), 1.5),
    "hu": ((0.1010, 0.3046, 0.4946, 0.6851, 0.8888), 1.73),
    "shen": ((0.0954, 0.3017, 0.5081, 0.7057, 0.9009), 1.5),
    "carvalho-martins": ((0.1289, 0.3040, 0.5002, 0.7000, 0.9000), 1.5),
    "safaeifar-farshidianfar": ((0.0889, 0.3138, 0.5362, 0.7350, 0.9152), 1.25),
    "zhang": ((0.1003, 0.3048, 0.5039, 0.7018, 0.9006), 1.49),
    "zhao": ((0.0362, 0.1392, 0.3012, 0.5225, 0.8140), 3.07),
    "marhefka-orin": ((0.4907, 0.5200, 0.5936, 0.7227, 0.9009), 1.5),
    "marhefka-orin-approximate": ((None, None, 0.3796, 0.6800, 0.8994), 1.5),
}
# The laws of the table whose factor is finite at e = 0.
FINITE_AT_ZERO = ("hunt-crossley", "herbert-mcwhannell", "lee-wang", "lankarani-nikravesh",
                  "khulief-shabana", "zhiying-qishao", "carvalho-martins",
                  "marhefka-orin")  # fmt: skip


def given(law):
    """Return the additional inputs of a law with exponent 1."""
    return {"stiffness": 1e7} if laws()[law] is KhuliefShabana else {}


def inputs_of(law, restitution, **changes):
    inputs = inputs_for(law, **given(law), **changes)
    inputs.restitution = restitution
    return inputs


def damping_over_speed(law, restitution, **changes):
    """Return v0 times the coefficient a/v0, for a restitution or an array of restitutions."""
    inputs = inputs_of(law, restitution, **changes)
    return laws()[law].coefficients_of(PAIR, inputs)[1] * inputs.impact_speed


def problem(law, restitution):
    """Return what the law reports about a restitution."""
    (quantity,) = (quantity for quantity in laws()[law].inputs if quantity.name == "restitution")
    return quantity.problem(restitution)


@pytest.mark.guard
@pytest.mark.plain
def test_every_hysteresis_law_stands_in_the_table_and_those_of_one_exponent_share_functions():
    ours = {n: law for n, law in laws().items() if law.__module__.startswith("granchain.contact")}
    # a law with constant alpha has no restitution as input: test_viscous.py
    found = {name for name, law in ours.items() if issubclass(law, Hysteresis)}
    assert found - {"hunt-crossley-alpha"} == set(TABLE)
    force = ours["flores"].force
    assert [law for law in TABLE if ours[law].force is not force] == ["khulief-shabana"]
    assert ours["hunt-crossley-alpha"].force is force
    assert ours["gharib-hurmuzlu-plastic"].force is ours["lankarani-nikravesh-plastic"].force


@pytest.mark.plain
def test_the_factor_delivers_what_is_tabulated_and_has_its_slope():
    for law, (delivered, slope) in TABLE.items():
        for asked, expected in zip(ASKED, delivered, strict=True):
            if expected is None:
                assert problem(law, asked), law
                continue
            found = theory.delivered_restitution(float(damping_over_speed(law, asked)))
            assert found == pytest.approx(expected, abs=5.1e-5), (law, asked)
        # near an elastic impact; the factor 1/e does not vanish at e = 1
        factor = float(laws()[law].damping_factor(1.0 - 1e-7))
        known = 1.0 if math.isinf(slope) else 1e-7 * slope
        assert factor == pytest.approx(known, rel=5e-3, abs=5e-10), law


# laws with the same exponent share a compiled loop, and only their factors differ
EXPONENTS = pytest.mark.parametrize(
    "law", ["flores", pytest.param("khulief-shabana", marks=pytest.mark.long)]
)


@EXPONENTS
def test_an_impact_has_the_restitution_overlap_and_force_of_its_factor_and_exponent(law):
    linear = law == "khulief-shabana"
    stiffness, exponent = (1e7, 1.0) if linear else (float(PAIR.hertz_stiffness), 1.5)
    mass = float(PAIR.effective_mass)
    for asked, delivered in zip(ASKED, TABLE[law][0], strict=True):
        found = impact(law=law, pair=PAIR, speed=SPEED, refine=10, restitution=asked, **given(law))
        # half of the last digit of the table, and the error of the loop
        assert found.restitution == pytest.approx(delivered, abs=5e-5 + 1e-5)
        factor = float(laws()[law].damping_factor(asked))
        # second order: 5e-5 at the automatic step, 5e-7 at a tenth of it
        assert found.restitution == pytest.approx(theory.delivered_restitution(factor), abs=1e-6)
        if asked < 0.5:
            continue
        exact = theory.hysteresis_impact(stiffness, mass, SPEED, factor, exponent)
        assert found.max_overlap == pytest.approx(exact.max_overlap, rel=2e-6)
        assert found.max_force == pytest.approx(exact.max_force, rel=2e-6)
        # the law dissipates the energy that it does not store at the largest overlap
        stored = stiffness * exact.max_overlap ** (exponent + 1.0) / (exponent + 1.0)
        lost = 0.5 * mass * SPEED**2 - stored
        assert found.dissipated_approach == pytest.approx(lost, rel=1e-5)


@pytest.mark.plain
def test_a_restitution_that_a_factor_has_no_value_for_is_refused():
    for law in TABLE:
        valid = [problem(law, e) is None for e in (1.0, -1e-9, 1.0 + 1e-9)]
        assert valid == [True, False, False], law
        # Hu: 3.85238 + ln e > 0; Marhefka and Orin, eq. (108): 3 e > 1
        least = {"hu": math.exp(-3.85238), "marhefka-orin-approximate": 1.0 / 3.0}.get(law, 0.0)
        assert problem(law, least + 1e-9) is None, law
        for lowest in (0.0, least):
            assert (problem(law, lowest) is None) == (law in FINITE_AT_ZERO), law
        with pytest.raises(LawError, match=r"restitution: .* is out of range\. It must be"):
            damping_over_speed(law, np.array([0.9, 0.0 if least else -0.1]))
        # no identified factor delivers a restitution of zero
        if law in FINITE_AT_ZERO:
            with pytest.raises(LawError, match=r"restitution: 0\.0 is out of range\. .* above 0"):
                damping_over_speed(law, 0.0, damping="identified")


@pytest.mark.plain
def test_an_array_of_restitutions_gives_each_contact_its_own_damping():
    several = np.array([0.4, 0.9, 1.0])
    for law in TABLE:
        ways = [{}] if law == "gonthier-exact" else [{}, {"damping": "identified"}]
        for way in ways:
            alone = pytest.approx(
                [float(damping_over_speed(law, float(e), **way)) for e in several], rel=1e-15
            )
            assert damping_over_speed(law, several, **way) == alone, law
            inputs = inputs_of(law, several, **way)
            table = coefficients(laws()[law].model(inputs), PAIR, inputs, np.full(3, 1e-3))
            assert table[1] * SPEED == alone, law
        # with identified damping, every law has the exact factor
        found = float(damping_over_speed(law, 0.5, **ways[-1]))
        assert found == pytest.approx(theory.damping_factor(0.5), rel=1e-13), law


@pytest.mark.plain
def test_the_exact_factor_is_the_inverse_of_the_delivered_restitution_up_to_both_ends():
    e = np.r_[np.geomspace(1e-8, 0.5, 60), np.linspace(0.5, 0.999, 60)]
    delivered = [theory.delivered_restitution(float(a)) for a in exact_damping_factor(e)]
    assert delivered == pytest.approx(e, rel=2e-15)
    # with s = 1 - e, q = s/(2 - s) and the inverse of Langevin's function 3 q + O(q^3): a = 2 (3
    # q)/(2 - s) = 1.5 s (1 + s + O(s^2))
    for s in (2.0**-13, 2.0**-26, 2.0**-40):
        found = float(exact_damping_factor(1.0 - s))
        assert found == pytest.approx(1.5 * s * (1.0 + s), rel=max(1e-15, s * s))
    assert exact_damping_factor(1.0) == 0.0
    # 1 - a e = exp(-1/e) is lost in rounding below e = .02
    found = exact_damping_factor(np.array([1e-300, 1e-9, 0.02]))
    assert found == pytest.approx([1e300, 1e9, 50.0], rel=1e-15)
    # no law delivers zero
    with pytest.raises(LawError, match=r"restitution: 0\.0 is out of range\. .* above 0"):
        damping_over_speed("wang-liu-hysteretic", 0.0, damping="identified")


# Alaci et al., Dynamic aspects of damped elastic impact, part 1: two steel balls of 1 kg, E 210
# GPa, nu .3, 5 m/s. A density of 7800 kg/m3 gives their x_H = 2.31124e-4 m. For each asked e: the
# delivered e; times of approach and recovery, largest force and largest overlap relative to
# Hertz's; losses in approach and recovery relative to the initial energy. Recomputed to the digits
# shown.
ALACI = {
    0.0: (0.66296, 0.9111, 1.2053, 0.9033, 0.8555, 0.3231, 0.2374),
    0.3: (0.68422, 0.9173, 1.1876, 0.9033, 0.8653, 0.3035, 0.2283),
    0.5: (0.72524, 0.9290, 1.1559, 0.9055, 0.8839, 0.2654, 0.2086),
    0.8: (0.84710, 0.9619, 1.0767, 0.9300, 0.9371, 0.1500, 0.1324),
    0.95: (0.95351, 0.9887, 1.0212, 0.9741, 0.9812, 0.0462, 0.0446),
}


def test_two_steel_balls_under_lankarani_and_nikravesh_are_those_of_alaci():
    steel = Material(youngs_modulus=210e9, poissons_ratio=0.3, density=7800.0)
    radius, speed = (3.0 / (4.0 * math.pi * 7800.0)) ** (1.0 / 3.0), 5.0
    pair = Pair.of_spheres(radius, steel)
    elastic = theory.elastic_impact(float(pair.hertz_stiffness), 0.5, speed)
    assert elastic.max_overlap == pytest.approx(2.31124e-4, rel=3e-6)
    half, energy = elastic.duration / 2.0, 0.25 * speed**2
    given = {"law": "lankarani-nikravesh", "pair": pair, "speed": speed, "refine": 10}
    for asked, (delivered, *known) in ALACI.items():
        found = impact(**given, restitution=asked)
        numbers = [
            found.approach_time / half,
            found.recovery_time / half,
            found.max_force / elastic.max_force,
            found.max_overlap / elastic.max_overlap,
            found.dissipated_approach / energy,
            found.dissipated_recovery / energy,
        ]
        assert found.restitution == pytest.approx(delivered, abs=5e-6 + 1e-6), asked
        assert numbers == pytest.approx(known, abs=5e-5 + 2e-6), asked


PLASTIC = ("lankarani-nikravesh-plastic", "gharib-hurmuzlu-plastic")


@pytest.mark.long  # no other test compiles this loop
@pytest.mark.parametrize("law", PLASTIC)
def test_the_first_impact_delivers_the_asked_restitution_and_its_dent(law):
    mass = float(PAIR.effective_mass)
    deepest = theory.elastic_impact(float(PAIR.hertz_stiffness), mass, SPEED).max_overlap
    for asked in (*ASKED, 1.0):
        found = impact(law=law, pair=PAIR, speed=SPEED, refine=10, restitution=asked)
        assert found.restitution == pytest.approx(asked, abs=1e-6)
        # the loading curve is that of Hertz's law
        assert found.max_overlap == pytest.approx(deepest, rel=1e-6)
        dent = deepest * (1.0 - asked**2)
        assert found.residual_overlap == pytest.approx(dent, abs=1e-6 * deepest)


@pytest.mark.plain
@pytest.mark.usefixtures("plain_scans")
@pytest.mark.parametrize("law", PLASTIC)
def test_a_second_impact_is_elastic_up_to_the_speed_of_the_rebound(law):
    def made(restitution, **more):
        values = inputs_of(law, restitution, **more)
        model = laws()[law].model(values)
        limits = np.full(np.size(restitution), 1e-3)
        return Running(model), coefficients(model, PAIR, values, limits)

    e, d = 0.5, 1e-5
    own, columns = made(e)
    c = tuple(columns[:, 0])
    taken = own.loading_work(d, c)
    dented = own.update((d, 0.0, 0.0, 1.0), c, own.history_of(c))
    # the contact returns e^2, and the old curve can store the same energy
    assert own.energy(d, c, dented) == pytest.approx(e**2 * taken, rel=1e-13)
    assert not own.needs_update(d, 0.0, c, dented)
    # at the first speed again, the overlap follows the old curve and then increases to d_2, where
    # U(d_2) - U(d) + e^2 U(d) = U(d), so that e^2 (2 - e^2) is returned
    deeper = d * (2.0 - e**2) ** 0.4
    assert own.needs_update(deeper, 0.0, c, dented)
    again = own.energy(deeper, c, own.update((deeper, 0.0, 0.0, 1.0), c, dented)) / taken
    assert again == pytest.approx(e**2 * (2.0 - e**2), rel=2e-13)
    # the law yields from first contact, has no energy guard, and never divides by zero
    assert own.elastic_limit(c) == 0.0 and c[-3 * GUARD_WINDOWS :] == (0.0,) * (3 * GUARD_WINDOWS)
    fresh = own.history_of(c)
    for tiny in (5e-324, 1e-200, OPEN):
        assert not own.needs_update(tiny, 0.0, c, fresh)
        assert own.force(tiny, 0.0, c, fresh) == 0.0
    h = own.update((2.0 * OPEN, 0.0, 0.0, 1.0), c, fresh)
    assert all(math.isfinite(x) for x in h)
    assert h[2] == pytest.approx(float(PAIR.hertz_stiffness) / e**3, rel=1e-13)
    # with dents = "forget", an opened contact equals a new one
    own, columns = made(e, dents="forget")
    c = tuple(columns[:, 0])
    assert own.needs_update(0.0, 0.0, c, dented)
    assert own.update((0.0, 0.0, 0.0, 1.0), c, dented) == own.history_of(c)
    # each contact has its own dent
    assert made(np.array([0.2, 1.0]))[1][1] == pytest.approx([0.96, 0.0], rel=1e-15)
    with pytest.raises(LawError, match="restitution: 0"):
        made(np.array([0.2, 0.0]))
