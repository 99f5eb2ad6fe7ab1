"""Small waves in a periodic chain, and modes of finite chains.

Closed forms of one and two masses, rings of any cell, and the cells of cases; an eigenvalue problem
with thirty digits."""

import math

import mpmath
import numpy as np
import pytest
from support.refused import assert_refused

import granchain as gc
from granchain import theory
from granchain.case import Case
from granchain.errors import GranchainWarning
from granchain.set_up import chain_of
from granchain.simulation import prepare

Q = np.linspace(-math.pi, math.pi, 41)


def test_one_mass_and_one_spring():
    m, s = 0.45e-3, 3e7
    found = theory.dispersion([m], [s])
    # Brillouin 1946, ch. 2: omega = 2 sqrt(s/m) abs(sin(q/2)); its slope is the group speed
    assert found.frequency(Q)[:, 0] == pytest.approx(
        np.sqrt(s / m) * np.abs(np.sin(0.5 * Q)) / math.pi, rel=1e-12, abs=1e-9
    )
    inside = Q[(np.abs(Q) > 0.01) & (np.abs(Q) < 3.1)]
    slope = np.sqrt(s / m) * np.cos(0.5 * inside) * np.sign(inside)
    assert found.group_speed(inside)[:, 0] == pytest.approx(slope, rel=1e-12)
    assert found.band_edges == pytest.approx(np.array([[0.0, np.sqrt(s / m) / math.pi]]), rel=1e-14)
    assert found.gaps.shape == (0, 2)
    # at the edges of the zone, from inside
    assert found.group_speed(0.0) == pytest.approx([math.sqrt(s / m)], rel=1e-12)
    assert found.group_speed(math.pi) == pytest.approx([0.0], abs=1e-6 * math.sqrt(s / m))
    assert found.long_wave_speed == pytest.approx(math.sqrt(s / m), rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_a_ring_of_cells_has_the_frequencies_of_the_dispersion(n):
    rng, cells = np.random.default_rng(n), 9
    masses, springs = rng.uniform(1.0, 3.0, n), rng.uniform(1.0, 5.0, n)
    found = theory.dispersion(masses, springs)
    m, s = np.tile(masses, cells), np.tile(springs, cells)
    size = n * cells
    force = np.diag(s + np.roll(s, 1))
    for j in range(size):
        force[j, (j + 1) % size] -= s[j]
        force[(j + 1) % size, j] -= s[j]
    ring = np.sqrt(np.maximum(np.linalg.eigvalsh(force / np.sqrt(np.outer(m, m))), 0.0)) / (
        2.0 * math.pi
    )
    waves = np.sort(found.frequency(2.0 * math.pi * np.arange(cells) / cells).ravel())
    # the eigenvalues of the ring are squares, so a rounding error of 1e-16 is 1e-8 in the frequency
    # 0
    assert waves == pytest.approx(ring, abs=1e-7 * ring.max())
    # no frequency of a wave is outside the bands, and no wave has a frequency in a gap
    inside = found.frequency(np.linspace(0.0, math.pi, 200))
    low, high = found.band_edges[:, 0], found.band_edges[:, 1]
    assert (inside >= low - 1e-9).all() and (inside <= high + 1e-9).all()


def test_what_is_no_cell_is_refused():
    rows = (
        ([], [], "^masses: 0 numbers are not valid. Give 1 to 1024 numbers in one row"),
        ([1.0, -1.0], [1.0, 1.0], "^masses: 2 numbers"),
        ([1.0], [math.inf], "^stiffnesses: 1 numbers"),
        ([1.0, 2.0], [1.0], "^stiffnesses: 1 numbers do not match 2 masses"),
        (np.ones(1025), np.ones(1025), "^masses: 1025 numbers"),
    )
    assert_refused(theory.dispersion, rows)


def case(chain, **tables):
    pressed = {"radius": 2.38e-3, "material": "steel-316", "precompression": 20.0, **chain}
    return Case(**{"chain": pressed, "contact": {"law": "hertz"}, "time": {"end": 1e-4}, **tables})


def test_a_dimer_case_has_the_gap_of_two_masses():
    dimer = case({"segment": [{"count": 1}, {"count": 1, "radius": 1.19e-3, "repeat": 10}]})
    found, chain = gc.dispersion(dimer), chain_of(dimer)
    pair = (getattr(chain.pair(), f"effective_{name}")[1] for name in ("modulus", "radius"))
    spring = theory.precompressed_stiffness(theory.hertz_stiffness(*map(float, pair)), 20.0)
    expected = np.sqrt(2.0 * spring / chain.mass[:2]) / (2.0 * math.pi)
    assert found.gaps == pytest.approx(expected[None, :], rel=1e-9)
    assert found.length == pytest.approx(2.0 * (2.38e-3 + 1.19e-3), rel=1e-12)


def test_a_yielded_contact_is_as_stiff_as_it_unloads():
    law = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
    yielded = case({"beads": 6, "precompression": 500.0}, contact=law)
    chain, contacts, _ = prepare(yielded)
    (place,) = (i for i, one in enumerate(contacts.model.history) if one.name == "residual_overlap")
    dent, overlap = contacts.history[place, 1], contacts.overlaps[1]
    assert dent > 0.05 * overlap
    # F = K (d - dr)^1.5 with the residual overlap dr: slope 3/2 F/(d - dr)
    spring = 1.5 * 500.0 / (overlap - dent)
    assert gc.dispersion(yielded).band_edges[0, 1] == pytest.approx(
        math.sqrt(spring / chain.mass[0]) / math.pi, rel=1e-8
    )


def test_a_case_without_a_cell_of_springs_is_refused():
    loose = case({"beads": 9, "precompression": 0.0})
    deep = case({"beads": 9, "gravity": 9.8}, ends={"right": "wall"})
    unlike = case({"beads": 4, "radius_factor": [1.0, 1.1, 1.2, 1.3]})
    depth = "9 beads have no repeated cell, because the contacts stiffen with depth"
    rows = (
        (gc.dispersion, loose, "^chain.precompression: the contacts carry no force at rest"),
        (gc.modes, loose, "small waves need contacts that act as springs"),
        (gc.dispersion, deep, f"^chain: {depth}"),
        (gc.dispersion, unlike, r"^chain: 4 beads have no repeated cell. A cell .*gc\.modes"),
    )
    assert_refused(lambda ask, made: ask(made), rows)


LOAD = 20.0
# E/(1 - nu^2)/2 of equal steel beads, K = (4/3) E* sqrt(R*), and F = K d^1.5 at rest
MODULUS, RADIUS = 193e9 / (2.0 * (1.0 - 0.3**2)), 2.38e-3
STIFFNESS = 4.0 / 3.0 * MODULUS * math.sqrt(RADIUS / 2.0)
# dF/dd = 1.5 K d^0.5 at d = (F/K)^(2/3)
SLOPE = 1.5 * STIFFNESS * (LOAD / STIFFNESS) ** (1.0 / 3.0)
MASS = 0.45e-3


def row(**changes):
    """Return ten steel beads under 20 N between free ends."""
    tables = {"sensors": {"beads": [5]}, "time": {"end": 1e-5}}
    return case({"beads": 10, "mass": MASS}, **tables).replace(**changes)


def test_modes_of_a_uniform_chain_are_those_of_the_closed_form():
    found = gc.modes(row())
    # Brillouin 1946, Wave Propagation in Periodic Structures, ch. 3: a free chain of n equal masses
    j = np.arange(10)
    known = np.sqrt(SLOPE / MASS) / math.pi * np.sin(j * math.pi / 20.0)
    assert np.abs(found.frequencies - known).max() <= 1e-12 * known[-1]
    shape = np.cos(j[:, None] * math.pi * (found.bead - 0.5) / 10.0)
    # the first of the largest displacements is 1, however equal displacements are rounded
    first = (np.abs(shape) > (1.0 - 1e-6) * np.abs(shape).max(axis=1, keepdims=True)).argmax(axis=1)
    shape /= np.take_along_axis(shape, first[:, None], axis=1)
    assert found.shapes == pytest.approx(shape, abs=1e-10)
    assert found.participation[[0, 1]] == pytest.approx([10.0, 20.0 / 3.0], rel=1e-12)
    assert not found.damping.any() and found.in_gap is None


def test_modes_of_any_chain_are_those_of_an_eigenproblem_in_thirty_digits():
    random = np.random.default_rng(3)
    factor = random.uniform(0.7, 1.3, 10)
    case = row(
        **{
            "chain.radius_factor": factor.tolist(),
            "chain.mass": None,
            "chain.gravity": 9.81,
            "ends.right": "wall",
        }
    )
    found, masses = gc.modes(case), case.bodies()["mass"]
    radius = RADIUS * factor
    pair = radius[:-1] * radius[1:] / (radius[:-1] + radius[1:])
    # the wall is flat and has the material of the bead: R* = R
    elastic = 4.0 / 3.0 * MODULUS * np.sqrt(np.append(pair, radius[-1]))
    force = LOAD + 9.81 * np.cumsum(masses)
    slopes = 1.5 * elastic ** (2.0 / 3.0) * force ** (1.0 / 3.0)
    with mpmath.workdps(30):
        matrix = mpmath.zeros(10)
        for i, slope in enumerate(slopes.tolist()):
            matrix[i, i] += slope / mpmath.mpf(masses[i])
            if i < 9:
                root = mpmath.sqrt(mpmath.mpf(masses[i]) * masses[i + 1])
                matrix[i + 1, i + 1] += slope / mpmath.mpf(masses[i + 1])
                matrix[i, i + 1] = matrix[i + 1, i] = -slope / root
        squares = mpmath.eigsy(matrix, eigvals_only=True)
        known = np.array([float(mpmath.sqrt(one) / (2 * mpmath.pi)) for one in squares])
    assert np.abs(found.frequencies - known).max() <= 1e-12 * known[-1]


def test_dashpots_damp_each_mode_as_at_rest_and_strong_ones_make_it_creep():
    e = 0.5
    zeta = -math.log(e) / math.hypot(math.pi, math.log(e))
    damped = {"contact.law": "tsuji", "contact.restitution": e}
    found = gc.modes(row(**damped))
    # sqrt(5) zeta sqrt(K m) d^0.25 with the effective mass m: Tsuji, Tanaka & Ishida 1992, eq.
    # (13); with equal contacts, each mode decays at the rate w^2 c/(2 k)
    d = (LOAD / STIFFNESS) ** (2.0 / 3.0)
    dashpot = math.sqrt(5.0) * zeta * math.sqrt(STIFFNESS * MASS / 2.0) * d**0.25
    known = (2.0 * math.pi * found.frequencies) ** 2 * dashpot / (2.0 * SLOPE)
    assert found.damping == pytest.approx(known, rel=1e-9, abs=1e-9 * known[-1])
    assert not found.overdamped.any()
    # with e = 0.001 the upper modes are overdamped; the slower of a pair s = a -+ sqrt(a^2 - w^2)
    strong = gc.modes(row(**damped | {"contact.restitution": 0.001}))
    ratio = -math.log(0.001) / math.hypot(math.pi, math.log(0.001)) / zeta
    rate, omega = known * ratio, 2.0 * math.pi * strong.frequencies
    creeps = rate > omega
    slower = rate - np.sqrt(np.maximum(rate**2 - omega**2, 0.0))
    assert creeps.any() and not creeps.all() and (strong.overdamped == creeps).all()
    assert strong.damping == pytest.approx(np.where(creeps, slower, rate), rel=1e-6, abs=1.0)


def test_modes_of_disordered_chains_are_those_of_each_realisation():
    case, vary = row(**{"chain.mass": None}), {"chain.radius": gc.disorder(gc.normal(1.0, 0.05))}
    study = gc.mode_study(case, vary, n=8, seed=4)
    assert study.frequencies.dims == ("draw", "mode") and study.frequencies.shape == (8, 10)
    # disorder confines the upper modes more than the lower ones (Anderson 1958)
    assert float(study.participation[:, 9].mean()) < float(study.participation[:, 1].mean())
    # the run is too short for a pulse, which the study reports
    with pytest.warns(GranchainWarning):
        ran = gc.sweep(
            case,
            vary,
            seed=4,
            summary=lambda result: {"top": float(gc.modes(result.case).frequencies[9])},
        )
    assert float(ran.top) == study.frequencies.values[0, 9]


def test_a_light_bead_has_a_mode_above_the_bands_of_the_row():
    light = [{"count": 20}, {"count": 1, "radius": 1.19e-3}, {"count": 20}]
    base = {"chain.beads": None, "chain.mass": None}
    defect = row(**base | {"chain.segment": light})
    found = gc.modes(defect, cell=row(**{"chain.mass": None}))
    (high,) = np.flatnonzero(found.in_gap)
    assert high == 40 and found.bead[np.abs(found.shapes[high]).argmax()] == 21
    assert found.participation[high] < 3.0 < found.participation[5]
