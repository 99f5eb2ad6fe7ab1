"""Elastoplastic laws, compared with their published formulas and with computed numbers.

None of them may create energy."""

import math
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from support.kinds import PLAIN_ALONE
from support.running import Running

import granchain as gc
from granchain.certificates import contact as certificates
from granchain.certificates import example_inputs, pair_with
from granchain.contact import laws
from granchain.contact.guard import GUARD_WINDOWS, Elastoplastic
from granchain.contact.pair import linearised_plastic_stiffness
from granchain.errors import LawError

pytestmark = pytest.mark.usefixtures("plain_scans")

# Wang, Liu & Liu 2022, table 8: R 2.38 mm, 0.45 g, E 193 GPa, nu 0.3, s_y 900 MPa.
RADIUS, MODULUS, MASS, YIELD_STRESS, POISSON = (
    1.19e-3,
    193e9 / (2.0 * (1.0 - 0.3**2)),
    2.25e-4,
    900e6,
    0.3,
)

NAMES = [name for name, law in laws().items() if issubclass(law, Elastoplastic)]


# Laws with an integral for each force, or an equation to solve for it: seconds on a grid.
SLOW = ("jackson-green", "kogut-etsion", "vu-quoc-zhang")


def on_grids(names):
    return [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in names]


def pair(**changes):
    """Return two of these beads, without a given hardness."""
    return pair_with({"yield_stress": YIELD_STRESS} | changes)


def near(value, rel):
    """Compare with a relative tolerance only, because overlaps and energies are small numbers."""
    return pytest.approx(value, rel=rel, abs=0.0)


class Contact(certificates.Contact):
    """One contact with a law, loaded and unloaded along its curves."""

    def __init__(self, name, yield_stress=YIELD_STRESS, **inputs):
        own = laws()[name]
        values = example_inputs(own, **inputs)
        with np.errstate(all="ignore"):
            super().__init__(own, values, pair(yield_stress=yield_stress))
        self.law = Running(self.model)
        # a law may yield at the first contact: overlaps are then in thousandths of the radius
        self.unit = self.law.elastic_limit(self.c) or 1e-3 * RADIUS
        self.largest = min(self.limit, 2000.0 * self.unit)

    def loaded(self, d):
        """Return the history of a contact loaded to an overlap."""
        return self.load(d, self.fresh())

    def given_back(self, d):
        return self.law.energy(d, self.c, self.loaded(d))

    def work(self, d):
        return self.model.law.loading_work(d, self.c)

    @property
    def windows(self):
        """Return the windows of the energy correction [d_max in units]."""
        rows = np.reshape(self.c[-3 * GUARD_WINDOWS :], (GUARD_WINDOWS, 3))
        return [(start / self.unit, end / self.unit) for start, end, _ in rows if end > 0.0]

    def grid(self, points, low=1.0):
        return np.geomspace(low * self.unit, self.largest * (1.0 - 1e-9), points)


contact = cache(Contact)


def switched_off(name):
    return contact(name, as_printed=True)


# Computed from the equations of the laws independently of this package, to the digits shown:
# recoverable energy W, work U, d_max in units of first yield; restitution at 0.2, 1.77, and 10 m/s.
SPEEDS = (0.2, 1.77, 10.0)
PRINTED = {
    "thornton": (1.0000, None, (0.8477, 0.5089, 0.3312)),
    "du-wang": (1.0000, None, (1.0, 0.7496, 0.5622)),
    "stronge": (1.248, (1.0, 3.114), (1.0699, 0.7379, 0.5266)),
    "kogut-etsion": (1.030, (1.0, 1.248), (0.9409, 0.7224, 0.5757)),
    "jackson-green": (1.0000, None, (0.9381, 0.7013, 0.4687)),
    "brake": (1.156, (5.90, 16.14), (0.9337, 1.0181, 0.7752)),
    "ma-liu": (1.0048, (1.0, 1.978), (0.9926, 0.8390, 0.6694)),
}
# With the energy correction, except for laws marked as published.
GUARDED = {name: values[2] for name, values in PRINTED.items()} | {
    "stronge": (1.0, 0.7379, 0.5266),
    "brake": (0.9337, 0.9979, 0.7752),
}
# Windows of the energy correction.
WINDOWS = {
    "ma-liu": [(1.0, 1.881)],
    "thornton": [],
    "du-wang": [],
    "stronge": [(1.0, 3.1145)],
    "kogut-etsion": [(1.0, 1.248), (6.0, 6.073)],
    "jackson-green": [(1.9, 1.922)],
    "brake": [(4.511, 15.0655)],
}


@pytest.mark.parametrize("name", on_grids(PRINTED))
def test_as_printed_a_law_returns_the_computed_share_of_the_work_and_more_on_a_window(name):
    made = switched_off(name)
    largest, window, _ = PRINTED[name]
    grid = made.unit * (1.0 + np.geomspace(1e-4, made.largest / made.unit - 1.0, 9000))
    share = np.array([made.given_back(d) / made.work(d) for d in grid])
    # half a unit of the last digit; four digits for the value 1.0000
    assert share.max() == pytest.approx(largest, abs=5e-5 if largest < 1.01 else 5e-4)
    creates = grid[share > 1.0 + 1e-12] / made.unit
    # the ratio of the grid is 1.9e-3 per point
    ends = [creates.min(), creates.max()] if creates.size else None
    assert ends == (window and near(list(window), 2e-3))
    if name == "ma-liu":
        # it opens below zero overlap
        dents = [made.loaded(d)[1] / made.unit for d in grid[grid < 3.0 * made.unit]]
        assert min(dents) == pytest.approx(-0.0048, abs=5e-5)


@pytest.mark.plain
@pytest.mark.parametrize(
    "name",
    [
        *on_grids(name for name in WINDOWS if name != "kogut-etsion"),
        pytest.param("kogut-etsion", marks=PLAIN_ALONE),
    ],
)
def test_the_guard_acts_on_the_computed_windows(name):
    found = np.reshape(contact(name).windows, (-1, 2))
    assert found == pytest.approx(np.reshape(WINDOWS[name], (-1, 2)), abs=5e-4)
    if name == "kogut-etsion":
        # at a jump of the force, the bisection ends at neighbouring numbers
        assert found[:, 0] == near([1.0, 6.0], 1e-14)


# Overlaps at which the window ends and residual indentation begins, also for Ma and Liu with a ball
# in a socket.
@pytest.mark.plain
@pytest.mark.parametrize(
    ("name", "inputs", "ends", "dent"),
    [
        ("ma-liu", {"psi": 2.84, "xi": 13.0}, 1.881, 2.054),
        ("ma-liu", {"psi": 3.0, "xi": 13.0}, 2.471, 2.981),
        ("brake", {}, 15.0655, 17.90),
    ],
)
def test_a_guarded_contact_leaves_no_dent_between_its_window_and_a_larger_overlap(
    name, inputs, ends, dent
):
    made = contact(name, **inputs)
    assert made.windows[-1][1] == pytest.approx(ends, abs=5e-4)
    for x, dented in ((0.999 * ends, 1), (1.001 * ends, 0), (0.999 * dent, 0), (1.001 * dent, 1)):
        assert (made.loaded(x * made.unit)[1] > 0.0) == dented, x


@pytest.mark.plain
def test_ma_and_lius_constants_of_the_chains_pair_are_the_printed_ones():
    # published d_y and d_p: Wang, Liu & Liu 2022, sec. 5.2
    c = contact("ma-liu", psi=2.84, xi=13.0).c
    assert c[:2] == near((5.4822e-7, 4.6324e-5), 1e-5)
    # K, c_1, c_2, c_3, F_p, and k_1 recomputed from the equations, to the digits shown
    assert c[2] == near(4.877510e9, 2e-7)
    assert c[3:8] == near((2330562.833, 3086516.796, 0.7021678826, 743.0329575, 19111187.758), 1e-9)
    # F_y = (4/3) E sqrt(R) d_y^1.5 = 1.979819534 N
    assert c[2] * c[0] ** 1.5 == near(1.979819534, 1e-9)
    # K_p = (F_p - F_y)/(d_p - d_y) = (743.0329575 - 1.979819534)/(4.63242e-5 - 5.48216e-7)
    assert linearised_plastic_stiffness(pair(), 2.84, 13.0) == near(1.618867e7, 1e-6)


@pytest.mark.plain
def test_the_constants_that_a_law_takes_where_none_are_given_are_the_published_ones():
    made = contact("burgoyne-daraio")
    spelt_out = contact("burgoyne-daraio", c1=2.8, c2=-RADIUS * made.unit, d_p=60.0 * made.unit)
    assert made.c == near(spelt_out.c, 1e-12)
    made = contact("kogut-etsion")
    assert made.law.overlap_limit(made.c) == near(110.0 * made.unit, 1e-14)
    # the hardness is the given one, otherwise that of the material, otherwise 2.8 yield stresses
    for hardness, factor, expected in (
        ({"hardness": 3e9}, 2.0, 1.8e9),
        ({"hardness": 3e9}, None, 3e9),
        ({}, None, 2.8 * 900e6),
    ):
        strain = math.pi * (0.454 + 0.41 * POISSON) * expected / (2.0 * MODULUS)
        inputs = SimpleNamespace(hardness_factor=factor)
        d_c = made.model.law.coefficients_of(pair(**hardness), inputs)[0]
        assert d_c == near(strain**2 * RADIUS, 1e-13)


def restitution_by_energy(made, speed):
    """Return the restitution from the closed forms alone: U(d_max) = m v^2/2, e^2 = W/U."""
    kinetic = 0.5 * MASS * speed * speed
    d_max = brentq(lambda d: made.work(d) - kinetic, 1e-12, made.largest, xtol=1e-20, rtol=1e-14)
    return math.sqrt(made.given_back(d_max) / kinetic)


@pytest.mark.plain
@pytest.mark.parametrize("name", on_grids(PRINTED))
def test_the_restitution_from_energy_alone_is_the_computed_one(name):
    for made, computed in ((switched_off(name), PRINTED[name][2]), (contact(name), GUARDED[name])):
        found = [restitution_by_energy(made, speed) for speed in SPEEDS]
        assert found == pytest.approx(computed, abs=5.1e-5)


@pytest.mark.parametrize("name", on_grids(NAMES))
def test_the_loading_force_is_continuous_unless_the_law_names_its_jumps(name):
    made = contact(name)
    # points at distances of 4e-4; a continuous force changes by n 4e-4 with n = d F'/F of at most
    # 5; a jump is 5e-3
    grid = np.exp(np.arange(math.log(0.1 * made.unit), math.log(made.largest), 4e-4))
    change = np.abs(np.diff(np.log([made.law.loading(d, made.c) for d in grid])))
    assert (change > 2e-3).sum() == len(made.law.jumps(made.c))
    assert not ((change > 2e-3) & (change < 4e-3)).any()


@pytest.mark.parametrize("name", on_grids(NAMES))
def test_the_loading_work_is_the_integral_of_the_loading_force(name):
    made = contact(name)
    grid = [1e-6 * made.unit, *made.grid(12, 0.3)]
    # from zero to the first point along the Hertz curve
    total = 0.4 * made.law.loading(grid[0], made.c) * grid[0]
    # at a jump, the quadrature stops too early
    jumps = [jump for jump in made.law.jumps(made.c) if grid[0] < jump < grid[-1]]
    for a, b in pairwise(sorted([*grid, *jumps])):
        total += quad(
            lambda x: made.law.loading(math.exp(x), made.c) * math.exp(x),
            math.log(a), math.log(b), epsabs=1e-12 * made.work(b), epsrel=0.0, limit=500,
        )[0]  # fmt: skip
        assert made.work(b) == near(total, 1e-10)


@pytest.mark.plain
@pytest.mark.parametrize("name", on_grids(NAMES))
def test_unloading_begins_at_the_loading_force_and_ends_in_a_dent_that_is_never_negative(name):
    made = contact(name)
    law, c = made.law, made.c
    for d_max in made.grid(200, 0.5):
        loading, h = law.loading(d_max, c), made.loaded(d_max)
        assert law.residual(d_max, loading, c) < d_max and 0.0 <= h[1] < d_max
        assert law.force(d_max, 0.0, c, h) == near(loading, 1e-13)
        assert law.force(h[1], 0.0, c, h) == law.energy(0.9 * h[1], c, h) == 0.0


@pytest.mark.promise("N6")
@pytest.mark.parametrize("name", on_grids(NAMES))
def test_what_is_lost_stays_lost_on_a_fine_grid_of_largest_overlaps(name):
    made = contact(name)
    # also close to both sides of the ends of each window
    aside = np.geomspace(1e-13, 1e-4, 40)
    ends = made.unit * np.ravel(made.windows)
    close = np.outer(ends, [*(1.0 - aside), *(1.0 + aside)]).ravel()
    grid = np.unique([*made.grid(3000), *close])
    work = np.array([made.work(d) for d in grid])
    lost = work - [made.given_back(d) for d in grid]
    # of U - W, the difference of two numbers near U
    rounding = 3e-14 * work
    assert (lost >= -rounding).all() and (np.diff(lost) >= -rounding[1:]).all()


def check_path(made, path):
    """Check that the permanent loss of a contact, from its curves, does not decrease along a
    path."""
    law, c = made.law, made.c
    turns = [*(min(x * made.unit, 0.999 * made.largest) for x in path), 0.0]
    h, here, taken, lost = law.history_of(c), 0.0, 0.0, [0.0]
    for there in turns:
        before = law.energy(here, c, h)
        if there > h[0] and there > here:
            # to the limit along the elastic curve, then along the virgin curve, whose work has a
            # closed form
            taken += law.energy(h[0], c, h) - before
            taken += law.loading_work(there, c) - law.loading_work(h[0], c)
            h = law.update((there, 0.0, 0.0, 1.0), c, h)
        else:
            taken += law.energy(there, c, h) - before
        here = there
        lost.append(taken - law.energy(here, c, h))
    # rounding of sums of energies near U
    assert min(np.diff(lost)) >= -1e-12 * made.work(max(*turns, made.unit))


# Yield stresses of a soft metal, of the steel of the chain, and of a very hard steel.
YIELD_STRESSES = (30e6, YIELD_STRESS, 3e9)

# Largest overlaps of a path in units of first yield, over all branches and close to first yield.
OVERLAPS = st.one_of(st.floats(0.0, 3.0).map(lambda x: 10.0**x), st.floats(0.5, 3.5))
PATHS = st.lists(st.one_of(OVERLAPS, OVERLAPS, st.just(0.0)), min_size=2, max_size=14)


@pytest.mark.promise("N6")
@pytest.mark.parametrize(
    ("names", "examples"),
    [
        ([name for name in NAMES if name not in SLOW], 150),
        pytest.param(NAMES, 2000, marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
    ids=["few", "all"],
)
def test_no_part_of_a_random_path_creates_energy(names, examples):
    @settings(max_examples=examples, deadline=None)
    @given(st.sampled_from(names), st.sampled_from(YIELD_STRESSES), PATHS)
    def each(name, yield_stress, path):
        check_path(contact(name, yield_stress), path)

    each()


@pytest.mark.promise("N6")
@settings(max_examples=10, deadline=None)
@given(psi=st.floats(1.0, 4.0), xi=st.floats(3.0, 40.0), path=PATHS)
def test_no_part_of_a_random_path_creates_energy_whatever_ma_and_lius_constants_are(psi, xi, path):
    check_path(Contact("ma-liu", psi=psi, xi=xi), path)


SOFTER = {"loading_stiffness": 1e7, "unloading_stiffness": 9e6}


@pytest.mark.plain
def test_inputs_that_make_no_law_are_refused():
    for name, inputs, message in (
        # with C_a = 0, the overlap falls with the force beyond 2/K_c - 2 F_y = 196.114 N
        ("vu-quoc-zhang", {"C_a": 0.0, "K_c": 0.01}, "beyond 196.114 N"),
        (
            "vu-quoc-zhang",
            {"C_a": 1e-9, "K_c": 0.01},
            "the overlap does not increase with the force",
        ),
        ("vu-quoc-zhang", {"yield_force": 100.0, "C_a": 1e-7, "K_c": 0.01}, "beyond 100 N"),
        ("brake", {"hardness_factor": 1.0}, "full plasticity begins after first yield"),
        ("burgoyne-daraio", {"d_p": 5e-7}, "above the overlap of first yield"),
        ("burgoyne-daraio", {"c2": -1e-7}, "the force at d_p, -"),
        ("walton-braun", SOFTER, r"unloading_stiffness: 9e\+06 is out of range"),
    ):
        with pytest.raises(LawError, match=message):
            Contact(name, **inputs)


@pytest.mark.plain
def test_arrays_of_pairs_give_each_contact_the_coefficients_of_its_own_pair():
    radius, strength = np.array([RADIUS, 0.5 * RADIUS]), np.array([900e6, 700e6])
    pairs = [
        pair(effective_radius=radius[k], yield_stress=strength[k]) for k in (slice(None), 0, 1)
    ]
    for name in NAMES:
        law = laws()[name]
        together, *alone = (law.coefficients_of(one, example_inputs(law)) for one in pairs)
        both = np.array([np.broadcast_to(value, 2) for value in together])
        for k in (0, 1):
            assert both[:, k] == near(np.array(alone[k], dtype=float), 1e-12), name


# A force above the Hertz force, for which the search begins upwards; a case without a term; a
# curvature near zero.
@pytest.mark.plain
@PLAIN_ALONE
@pytest.mark.parametrize(
    ("f_y", "c_a", "k_c"), [(620.0, 2e-8, 0.001), (1.943, 2e-7, 0.0), (100.0, 2e-6, 0.02)]
)
def test_vu_quoc_and_zhangs_force_solves_its_equation_for_rare_constants(f_y, c_a, k_c):
    made = contact("vu-quoc-zhang", yield_force=f_y, C_a=c_a, K_c=k_c)
    for x in (1.0001, 1.5, 2.0, 30.0, 400.0):
        force = made.law.loading(x * made.unit, made.c)
        a = (0.75 * RADIUS / MODULUS * force) ** (1.0 / 3.0) + c_a * (force - f_y)
        assert a * a / ((1.0 + k_c * (force - f_y)) * RADIUS) == near(x * made.unit, 2e-14)


def latching_chain(loading, unloading, mass, speed, end, n):
    """Return positions of n bodies with latching springs between them, integrated with DOP853.

    The first body strikes the others. The largest overlaps are unknowns of the equations: each
    grows with its overlap while the contact is loaded for the first time.
    """

    def slope(_, y):
        u, v, top = y[:n], y[n : 2 * n], y[2 * n :]
        d, rate = u[:-1] - u[1:], v[:-1] - v[1:]
        # 1e-13 m is 1e-8 of the overlaps, above the error of the integration
        virgin = (d >= top - 1e-13) & (rate > 0.0)
        force = np.where(
            virgin,
            loading * d,
            np.maximum(unloading * (d - np.maximum(top, d) * (1.0 - loading / unloading)), 0.0),
        )
        push = np.diff(force, prepend=0.0, append=0.0)
        return np.concatenate([v, -push / mass, np.where(virgin, rate, 0.0)])

    start = np.zeros(3 * n - 1)
    start[n] = speed
    found = solve_ivp(slope, (0.0, end), start, "DOP853", max_step=end / 4000.0, rtol=1e-10)
    return found.y[:n, -1]


@pytest.mark.long
@pytest.mark.parametrize("restitution", [0.3, 0.65, 1.0])
def test_walton_braun_has_the_restitution_and_duration_of_its_closed_form(restitution):
    # Two quarter periods of oscillators with K_1 and K_2 = K_1/e^2.
    loading, mass = 1e7, 2.25e-4
    impact = gc.impact(
        law="walton-braun",
        speed=1.77,
        pair=pair(),
        loading_stiffness=loading,
        unloading_stiffness=loading / restitution**2,
        refine=10.0,
    )
    duration = 0.5 * math.pi * math.sqrt(mass / loading) * (1.0 + restitution)
    assert impact.restitution == pytest.approx(restitution, abs=2e-6)
    assert impact.duration == near(duration, 2e-6)


@pytest.mark.long
def test_a_chain_of_walton_braun_converges_to_an_independent_integration_with_order_two():
    loading, unloading, mass, speed, end = 1e7, 2.4e7, 0.45e-3, 1.77, 4e-5
    expected = latching_chain(loading, unloading, mass, speed, end, 4)
    case = gc.Case(
        chain={"beads": 3, "radius": 2.38e-3, "mass": mass, "material": "steel-316"},
        striker={"speed": speed},
        contact={
            "law": "walton-braun",
            "loading_stiffness": loading,
            "unloading_stiffness": unloading,
        },
        time={"end": end},
    )
    errors = [
        np.abs(gc.run(case.replace(**{"time.step": step})).final_displacement - expected).max()
        for step in (end / 200.0, end / 1600.0)
    ]
    assert math.log(errors[0] / errors[1], 8.0) == pytest.approx(2.0, abs=0.15)
    assert errors[1] < 5e-6 * np.abs(expected).max()


RATED = [name for name in NAMES if "rate_sensitivity" in {q.name for q in laws()[name].inputs}]


@pytest.mark.parametrize("name", on_grids(RATED))
def test_a_rate_sensitivity_is_a_higher_yield_stress(name):
    law, sensitivity, speed, reference = laws()[name], 0.035, 1.77, 1e-3
    # Johnson & Cook 1985 with the strain rate v/(R1 + R2) of Burgoyne & Daraio 2014.
    factor = 1.0 + sensitivity * math.log(speed / (2.0 * 2.38e-3) / reference)
    inputs = vars(example_inputs(law))
    rated = inputs | {"rate_sensitivity": sensitivity, "impact_speed": speed}
    static = SimpleNamespace(**inputs | {"rate_sensitivity": 0.0})
    expected = law.coefficients_of(pair(yield_stress=factor * YIELD_STRESS), static)
    found = law.coefficients_of(pair(), SimpleNamespace(**rated))
    assert np.array(found) == near(np.array(expected), 1e-12)
    unchanged = law.coefficients_of(pair(), static)
    slow = SimpleNamespace(**rated | {"impact_speed": 1e-6})
    assert np.array_equal(law.coefficients_of(pair(), slow), unchanged)


@pytest.mark.plain
def test_a_rate_sensitivity_raises_the_hardness_too_and_needs_a_speed():
    law = laws()["brake"]
    inputs = vars(example_inputs(law)) | {"rate_sensitivity": 0.1, "impact_speed": 1.0}
    soft, hard = (
        law.coefficients_of(pair(hardness=2.5e9), SimpleNamespace(**inputs | {"impact_speed": v}))
        for v in (1.0, 100.0)
    )
    assert all(np.array(hard[:2]) > np.array(soft[:2]))
    with pytest.raises(LawError, match="impact_speed: missing"):
        law.coefficients_of(pair(), SimpleNamespace(**inputs | {"impact_speed": 0.0}))


def test_only_laws_that_read_a_yield_stress_have_a_rate_sensitivity():
    assert set(NAMES) - set(RATED) == {
        "vu-quoc-zhang",
        "lankarani-nikravesh-plastic",
        "gharib-hurmuzlu-plastic",
    }
