"""Modes of finite chains: against closed forms and an eigenproblem in thirty digits of the tests'
own."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import granchain as gc
from granchain.errors import GranchainWarning

LOAD = 20.0
# E/(1 - nu^2)/2 of equal steel beads, K = (4/3) E* sqrt(R*), and at rest F = K d^1.5
MODULUS, RADIUS = 193e9 / (2.0 * (1.0 - 0.3**2)), 2.38e-3
STIFFNESS = 4.0 / 3.0 * MODULUS * math.sqrt(RADIUS / 2.0)
# d F/d d = 1.5 K d^.5 at d = (F/K)^(2/3)
SLOPE = 1.5 * STIFFNESS * (LOAD / STIFFNESS) ** (1.0 / 3.0)
MASS = 0.45e-3


def row(**changes):
    """Ten steel beads pressed together with 20 N between free ends."""
    case = gc.Case(
        chain={
            "beads": 10,
            "radius": RADIUS,
            "mass": MASS,
            "material": "steel-316",
            "precompression": LOAD,
        },
        contact={"law": "hertz"},
        sensors={"beads": [5]},
        time={"end": 1e-5},
    )
    return case.replace(**changes)


def test_modes_of_a_uniform_chain_are_those_of_the_closed_form():
    found = gc.modes(row())
    # Brillouin 1946, Wave Propagation in Periodic Structures, ch. 3: a free row of n equal masses
    j = np.arange(10)
    known = np.sqrt(SLOPE / MASS) / math.pi * np.sin(j * math.pi / 20.0)
    assert np.abs(found.frequencies - known).max() <= 1e-12 * known[-1]
    shape = np.cos(j[:, None] * math.pi * (found.bead - 0.5) / 10.0)
    shape *= found.shapes[:, :1] / shape[:, :1]
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
    # the wall is of the bead's material and flat: R* = R
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
    # sqrt(5) zeta sqrt(K m) d^.25, m the effective mass: Tsuji, Tanaka & Ishida 1992, eq. (13); all
    # contacts alike, each mode decays with w^2 c/(2 k)
    d = (LOAD / STIFFNESS) ** (2.0 / 3.0)
    dashpot = math.sqrt(5.0) * zeta * math.sqrt(STIFFNESS * MASS / 2.0) * d**0.25
    known = (2.0 * math.pi * found.frequencies) ** 2 * dashpot / (2.0 * SLOPE)
    assert found.damping == pytest.approx(known, rel=1e-9, abs=1e-9 * known[-1])
    assert not found.overdamped.any()
    # with e = .001 the upper modes creep; the slower of a pair s = a -+ sqrt(a^2 - w^2)
    strong = gc.modes(row(**damped | {"contact.restitution": 0.001}))
    ratio = -math.log(0.001) / math.hypot(math.pi, math.log(0.001)) / zeta
    rate, omega = known * ratio, 2.0 * math.pi * strong.frequencies
    creeps = rate > omega
    slower = rate - np.sqrt(np.maximum(rate**2 - omega**2, 0.0))
    assert creeps.any() and not creeps.all() and (strong.overdamped == creeps).all()
    assert strong.damping == pytest.approx(np.where(creeps, slower, rate), rel=1e-6, abs=1.0)


def test_modes_of_disordered_chains_are_those_of_each_realisation():
    case, vary = row(**{"chain.mass": None}), {"chain.radius": gc.disorder(gc.normal(1.0, 0.05))}
    study = gc.mode_study(case, vary, n=20, seed=4)
    assert study.frequencies.dims == ("draw", "mode") and study.frequencies.shape == (20, 10)
    # disorder confines the upper modes more than the lower ones (Anderson 1958)
    assert float(study.participation[:, 9].mean()) < float(study.participation[:, 1].mean())
    # the run is too short for a pulse, which a study says
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
