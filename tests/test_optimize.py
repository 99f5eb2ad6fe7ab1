"""Optimal designs: the known corner of a box, constraints, and refused inputs."""

import functools
import json

import numba
import numpy as np
import pytest
from scipy.optimize import OptimizeResult, differential_evolution
from support.refused import assert_refused

import granchain as gc
from granchain.errors import CaseError
from granchain.studies.design import Designs

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.usefixtures("plain_members")]
FACTORS = "chain.radius_factor"


def row(**changes):
    """Return a case with three steel beads and a striker, in front of a wall."""
    own = {"chain.beads": 3, "ends.right": "wall", "sensors.beads": [3], "sensors.contacts": []}
    own |= {"snapshots": None, "time.end": 1e-4, "time.step": "fast"}
    return gc.load_case("steel-chain-hertz").replace(**(own | changes))


def sphere(result):
    """Return a quadratic function of the radii, whose minimum is at factors of .9, 1.1 and 1."""
    factors = result.radius[1:] / 2.38e-3
    return float(((factors - [0.9, 1.1, 1.0]) ** 2).sum()) + 1.0


def test_what_is_found_is_where_it_is_known_to_be(figure):
    found = gc.optimize(row(), sphere, {FACTORS: (0.7, 1.3)}, generations=3, progress=False)
    assert found.start == pytest.approx(1.02, rel=1e-12)
    off = np.abs(found.values[FACTORS] - [0.9, 1.1, 1.0]).max()
    figure("optimize: distance of a bowl's lowest point, of the box", off / 0.6, at_most=1e-4)
    assert found.case.chain.radius_factor == tuple(found.values[FACTORS])
    assert (np.diff(found.history) < 0.0).all()
    # the force on a bead in front of a wall increases with the speed: the minimum is at the lowest
    # speed
    slowest = gc.optimize(
        row(), ("peak", 2), {"striker.speed": (0.9, 2.0)}, generations=0, progress=False
    )
    assert slowest.values["striker.speed"] == pytest.approx(0.9, rel=1e-9)
    # the smallest step in the box is that of the fastest striker
    assert slowest.time_step == gc.run(row(**{"striker.speed": 2.0})).time_step
    # Hertz without gaps: forces are proportional to the speed to the power of 6/5
    assert slowest.value / slowest.start == pytest.approx((0.9 / 1.77) ** 1.2, rel=1e-4)


def test_the_force_on_a_wall_is_the_largest_of_its_contact():
    case = row()
    found = gc.gradient(case, "wall_force", "striker.speed", error=False)
    known = gc.run(case).contact_peak_force[-1]
    # the largest value at about a hundred steps of the contact is at most the maximum of the force
    assert known <= found.value <= known * (1.0 + 1e-3)
    # Hertz without gaps: forces are proportional to the speed to the power of 6/5
    assert found["striker.speed"] * 1.77 / found.value == pytest.approx(1.2, abs=1e-4)
    with pytest.raises(CaseError, match="needs a wall at the right end"):
        gc.gradient(row(**{"ends.right": "free"}), "wall_force", "striker.speed")


@pytest.mark.long
def test_a_limit_holds_it_back(request):
    # on the plane where the factors sum to 2.7, the minimum is .1 lower in each factor
    def whole(result):
        return float(result.radius[1:].sum() / 2.38e-3)

    found = gc.optimize(
        row(), sphere, {FACTORS: (0.7, 1.3)}, [(whole, 0.0, 2.7)], generations=0, progress=False
    )
    assert found.limited[0] <= 2.7 * (1.0 + 1e-6)
    assert found.value == pytest.approx(1.03, abs=1e-4)
    assert np.abs(found.values[FACTORS] - [0.8, 1.0, 0.9]).max() < 5e-3
    request.getfixturevalue("few_steps")
    with pytest.raises(CaseError, match=r"subject_to: none of \d+ designs"):
        gc.optimize(
            row(), sphere, {FACTORS: (0.7, 1.3)}, [(whole, 4.0, 5.0)], generations=1, progress=False
        )


@pytest.fixture
def few_steps(monkeypatch):
    """A short search with few designs, which suffices for the comparison."""
    fewer = {"MOST_SEARCH_STEPS": 3, "DESIGNS": 2, "GAINS_OF_ROUNDS": (0.0,), "WITHOUT_SLOPES": 3}
    for name, few in fewer.items():
        monkeypatch.setattr(f"granchain.studies.design.{name}", few)


def test_a_design_that_fails_is_left_out():
    def late(result):
        if result.radius[1] > 2.4e-3:
            raise ValueError("too large")
        return float(result.radius[1])

    found = gc.optimize(row(), late, {f"{FACTORS}.0": (0.9, 1.1)}, generations=1, progress=False)
    assert found.values[f"{FACTORS}.0"] == pytest.approx(0.9, abs=1e-6)
    assert (
        "designs were excluded: minimize: the function raised ValueError: too large"
        in found.messages[0]
    )
    assert f"{FACTORS}.0" in found._repr_html_()


@pytest.mark.long
def test_the_gain_is_unknown_next_to_designs_that_fail():
    def largest(result):
        if result.radius[1] > 2.4e-3:
            raise ValueError("too large")
        return -float(result.radius[1])

    found = gc.optimize(row(), largest, {f"{FACTORS}.0": (0.9, 1.1)}, generations=0, progress=False)
    assert -found.value == pytest.approx(2.4e-3, rel=1e-3)
    assert found.gain == np.inf and not found.converged
    assert "the possible improvement is unknown" in found.messages[-1]


def test_what_cannot_be_searched_is_said():
    box, twice = {FACTORS: (0.7, 1.3)}, {f"{FACTORS}.1": (0.7, 1.3), FACTORS: (0.7, 1.3)}
    rows = [
        ("peak", {}, {}, "over: missing"),
        ("peak", {FACTORS: (1.2, 0.7)}, {}, r'"\(1.2, 0.7\)" is not valid. It must be \(low, high'),
        ("peak", twice, {}, f"{FACTORS} is listed twice"),
        ("peak", {FACTORS: (1.1, 1.3)}, {}, "is outside the bounds"),
        ("peak", {FACTORS: ([0.7] * 2, 1.3)}, {}, "numbers or lists of 3"),
        ("peek", box, {}, 'minimize: "peek" is not valid'),
        ("peak", box, {"subject_to": np.ones(2)}, r"subject_to\[0\]: "),
        ("peak", box, {"subject_to": [("peak", 2.0)]}, r"subject_to\[0\]: "),
        ("peak", box, {"generations": -1}, "generations"),
        (lambda result: 1 / 0, box, {}, "minimize: the function raised ZeroDivisionError"),
    ]
    assert_refused(lambda of, over, more: gc.optimize(row(), of, over, **more), rows)


def test_a_run_that_ends_before_the_wave_has_passed_is_refused():
    # in the case itself it has passed, but not with slower strikers
    case = row(**{"time.end": 6.2e-5})
    with pytest.raises(CaseError, match="the wave has not passed bead 3"):
        gc.optimize(case, "peak", {"striker.speed": (0.01, 2.0)}, generations=1, progress=False)


@pytest.mark.long
@pytest.mark.usefixtures("few_steps")
def test_the_command_gives_what_the_call_gives(here, obeyed):
    from granchain.cli import obey

    options = ["--set", "time.step=fast", "--set", "time.end=1e-4", "--set", "chain.beads=3"]
    options += ["--set", "ends.right=wall", "--set", "sensors.beads=[3]"]
    options += ["--set", "sensors.contacts=[]", "--over", f"{FACTORS}=0.7:1.3"]
    options += ["--generations", "0", "--subject-to", "peak:2=0:1e3"]
    told = json.loads(
        obeyed(
            "optimize", "steel-chain-hertz", *options, "--write-case", "best.toml", "--json",
            "--out", "best.h5",
        ).out
    )  # fmt: skip
    limits = [(("peak", 2), 0.0, 1e3)]
    case = row(snapshots=gc.load_case("steel-chain-hertz").snapshots)
    found = gc.optimize(case, "peak", {FACTORS: (0.7, 1.3)}, limits, generations=0, progress=False)
    assert told["value"] == found.value and told["limited"] == found.limited.tolist()
    assert gc.load_case("best.toml").chain == found.case.chain
    opened = gc.open("best.h5")
    assert opened.case.chain == found.case.chain and opened.values.keys() == {FACTORS}
    assert opened.subject_to.tolist() == ["peak:2"] and opened.limited_unit.tolist() == ["N"]
    assert opened.history.tolist() == found.history.tolist()
    first = json.loads(opened.provenance["start_case_json"])
    assert (
        first["tables"]["chain"]["beads"] == 3 and "radius_factor" not in first["tables"]["chain"]
    )
    assert obey(["optimize", "steel-chain-hertz", *options, "--write-case", "best.toml"]) == 4
    obeyed("optimize", "steel-chain-hertz", *options[:-2], "--over", "gap=1", code=2)
    one = ["--over", f"{FACTORS}.2=0.9:1.1", "--generations", "0"]
    assert (
        "\nvalue " in (said := obeyed("optimize", "steel-chain-hertz", *options[:12], *one).out)
        and "chain.radius_factor.2" in said
    )


# The fastest last bead of four beads with gaps: its speed after head-on impacts is that of the
# striker times 2 m_i/(m_i + m_(i + 1)) for each impact. In this box, the product is largest for
# equal mass ratios.
LAST, RATIOS, SPEED = 0.125, 0.125**0.25, 4.0
BOX = [(0.2, 1.2), (0.1, 1.0), (0.1, 1.0)]
MASSES = [f"chain.mass_factor.{i}" for i in range(3)]


def spaced(masses, step):
    """Return a case with a striker and four beads, with gaps so large that no two impacts overlap
    in time."""
    own = {"chain.beads": 4, "chain.gap": 2e-4, "striker.speed": SPEED, "time.end": 1e-3 / SPEED}
    own |= {"ends.right": "free", "sensors.beads": [], "time.step": step}
    return row(**(own | {"chain.mass_factor": [*masses, LAST]}))


def minus_last_speed(result):
    return -float(result.final_velocity[-1]) / SPEED


@pytest.mark.parametrize("step", ["fast", pytest.param("auto", marks=pytest.mark.long)])
def test_a_local_search_reaches_the_optimum_of_a_closed_form(step):
    optimum = (2.0 / (1.0 + RATIOS)) ** 4
    assert optimum == pytest.approx(2.47462, abs=5e-6)
    found = gc.optimize(
        spaced([0.8, 0.5, 0.3], step), minus_last_speed, dict(zip(MASSES, BOX, strict=True)),
        generations=0, progress=False,
    )  # fmt: skip
    # at "fast", the speed has an error of 1e-5
    assert -found.value == pytest.approx(optimum, rel=2e-5)
    assert found.gain <= 5e-4 * optimum
    # the search was local
    assert not found.converged and any("local search only" in said for said in found.messages)
    masses = [found.values[key] for key in MASSES]
    assert masses == pytest.approx([RATIOS, RATIOS**2, RATIOS**3], rel=0.05)
    # the message of SciPy
    assert any("SLSQP" in said and "terminated successfully" in said for said in found.messages)
    assert "converged" in found._repr_html_() and not found.as_dict()["converged"]


@numba.njit
def after_impacts(mass):
    """Return minus the speed of the last bead after all elastic impacts of point masses, computed
    impact by impact; an impact takes no time."""
    place, speed, clock = 2e-4 * (np.arange(5) - 1.0), np.zeros(5), 0.0
    # the striker touches the first bead
    place[0], speed[0] = 0.0, 1.0
    while True:
        first, least = -1, 1e-3 - clock
        for i in range(4):
            closing = speed[i] - speed[i + 1]
            if closing > 1e-12 and max(place[i + 1] - place[i], 0.0) / closing <= least:
                first, least = i, max(place[i + 1] - place[i], 0.0) / closing
        if first < 0:
            return -speed[4]
        clock += least
        place += least * speed
        i, j = first, first + 1
        middle = (mass[i] * speed[i] + mass[j] * speed[j]) / (mass[i] + mass[j])
        speed[i], speed[j] = 2.0 * middle - speed[i], 2.0 * middle - speed[j]


@numba.njit
def after_impacts_of(masses):
    """Return `after_impacts` for many designs (3, n)."""
    speeds = np.empty(masses.shape[1])
    for i in range(masses.shape[1]):
        mass = np.array([1.0, masses[0, i], masses[1, i], masses[2, i], LAST])
        speeds[i] = after_impacts(mass)
    return speeds


def longest_search(low, high, seed):
    """Return the best masses in a box, from a long differential evolution with impacts of point
    masses."""
    found = differential_evolution(
        lambda x: after_impacts_of(x.reshape(3, -1)), list(zip(low, high, strict=True)), seed=seed,
        tol=1e-8, maxiter=200, popsize=20, polish=False, updating="deferred", vectorized=True,
    )  # fmt: skip
    return found.x


@functools.cache
def random_boxes():
    """Return forty boxes and starts, each with the best masses of ten long searches."""
    rng, boxes = np.random.default_rng(47), []
    for _ in range(40):
        low = rng.uniform(0.1, 0.6, 3)
        high = low + rng.uniform(0.3, 0.9, 3)
        start = rng.uniform(low, high)
        boxes.append((low, high, start, [longest_search(low, high, seed) for seed in range(10)]))
    return boxes


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("step", ["fast", "auto"])
def test_a_search_ends_at_the_best_of_long_searches_or_says_so(step):
    near, converged, wrong = 0, 0, []
    for low, high, start, best in random_boxes():
        over = dict(zip(MASSES, zip(low, high, strict=True), strict=True))
        found = gc.optimize(spaced(start, step), minus_last_speed, over, progress=False)
        runs = gc.run_many([spaced(masses, step) for masses in best])
        off = found.value / min(minus_last_speed(run) for run in runs) - 1.0
        near += off >= -1e-3
        converged += found.converged
        if found.converged and off < -1e-3:
            wrong.append((low, high, start, off))
    print(f"{step}: {near} of 40 within 0.1 %, {converged} converged")
    assert wrong == []
    # without this bound, a search that never converges would pass
    assert converged >= 30


def test_a_local_search_that_misses_a_lower_value_elsewhere_says_so():
    # box 5 of those above: the search ends in a corner that is a local optimum, far from a better
    # one
    low, high = [0.11289, 0.12539, 0.51417], [0.66919, 0.48195, 1.38154]
    over = dict(zip(MASSES, zip(low, high, strict=True), strict=True))
    start = spaced([0.38259, 0.38216, 1.0011], "fast")
    found = gc.optimize(start, minus_last_speed, over, generations=0, progress=False)
    lower = minus_last_speed(gc.run(spaced([high[0], 0.1377, low[2]], "fast")))
    assert found.value > (1.0 - 1e-3) * lower
    assert found.gain <= 5e-4 * abs(found.value)
    assert not found.converged and found.messages[-1].startswith("local search only")


@pytest.mark.parametrize("agree", [True, False])
def test_a_search_has_converged_only_if_two_populations_end_at_the_same_value(agree, monkeypatch):
    # box 5 again: one population ends at the local optimum of the previous test
    low, high = np.array([[0.11289, 0.12539, 0.51417], [0.66919, 0.48195, 1.38154]])
    better = (np.array([0.66919, 0.1377, 0.51417]) - low) / (high - low)
    worse = (np.array([0.38259, 0.38216, 1.0011]) - low) / (high - low)
    ends = [better, better if agree else worse]

    def of_population(_, generations, seed):
        return OptimizeResult(x=ends[seed[1]], success=True, message="converged")

    monkeypatch.setattr(Designs, "explore", of_population)
    over = dict(zip(MASSES, zip(low, high, strict=True), strict=True))
    start = spaced([0.38259, 0.38216, 1.0011], "fast")
    found = gc.optimize(start, minus_last_speed, over, progress=False)
    assert found.converged == agree
    assert any(said.startswith("two searches of the range") for said in found.messages) != agree
    assert found.value == pytest.approx(minus_last_speed(gc.run(found.case)), rel=1e-4)
    assert found.gain <= 5e-4 * abs(found.value)
