"""Modes of beams against tables, static deflections, and finite elements."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.linalg import eigh
from support.refused import assert_refused

import granchain as gc

LENGTH, WIDTH, HEIGHT = 0.5, 0.02, 0.01
STEEL = gc.materials()["steel-316"]
AREA, INERTIA = WIDTH * HEIGHT, WIDTH * HEIGHT**3 / 12.0
RIGIDITY, LINE_MASS = STEEL.youngs_modulus * INERTIA, STEEL.density * AREA
# Roots beta L of the frequency equation, which handbooks list.
ROOTS = {
    "simply supported": np.pi * np.arange(1, 6),
    "clamped": np.array([4.73004074, 7.85320462, 10.9956078, 14.1371655, 17.2787597]),
}


def rows_of(position, supports, n=20, damping=0.0):
    rows = gc.beam_modes(LENGTH, WIDTH, HEIGHT, "steel-316", position, supports, n, damping)
    return np.array(rows)


@cache
def finite_elements(supports, elements=100):
    """Return free degrees of freedom and modes with a modal mass of 1, by Hermite elements."""
    h = LENGTH / elements
    k = [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h]]
    k += [[-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]
    m = [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h]]
    m += [[54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]]
    stiffness, mass = np.zeros((2, 2 * elements + 2, 2 * elements + 2))
    for i in range(elements):
        at = np.ix_(range(2 * i, 2 * i + 4), range(2 * i, 2 * i + 4))
        stiffness[at] += RIGIDITY / h**3 * np.array(k)
        mass[at] += LINE_MASS * h / 420.0 * np.array(m)
    last = 2 * elements
    fixed = [0, last] if supports == "simply supported" else [0, 1, last, last + 1]
    free = np.setdiff1d(np.arange(last + 2), fixed)
    return free, *eigh(stiffness[np.ix_(free, free)], mass[np.ix_(free, free)])


def modes_at(fraction, supports, n=8):
    """Return modal mass and stiffness of the lowest modes at a node."""
    free, squares, shapes = finite_elements(supports)
    node = int(np.flatnonzero(free == 2 * round(100 * fraction))[0])
    modal = 1.0 / shapes[node, :n] ** 2
    return np.column_stack([modal, modal * squares[:n]])


def test_frequencies_of_beams_are_those_of_the_handbooks():
    for supports, roots in ROOTS.items():
        rows = rows_of(0.23 * LENGTH, supports, n=5)
        omega = np.sqrt(rows[:, 1] / rows[:, 0])
        expected = (roots / LENGTH) ** 2 * np.sqrt(RIGIDITY / LINE_MASS)
        assert omega == pytest.approx(expected, rel=1e-8), supports


def test_the_compliance_of_the_modes_is_the_static_deflection_in_the_middle():
    # the remainder of the sum decreases with the cube of the number of modes
    for supports, factor in (("simply supported", 48.0), ("clamped", 192.0)):
        for n, error in ((2000, 1e-9), (20, 1e-3)):
            compliance = (1.0 / rows_of(0.5 * LENGTH, supports, n=n)[:, 1]).sum()
            assert compliance == pytest.approx(LENGTH**3 / (factor * RIGIDITY), rel=error), supports


def test_masses_and_stiffnesses_are_those_of_finite_elements():
    for supports, fraction in product(ROOTS, (0.07, 0.31, 0.82)):
        rows = rows_of(fraction * LENGTH, supports, n=8)[:, :2]
        known = modes_at(fraction, supports)
        assert rows == pytest.approx(known, rel=2e-4), (supports, fraction)
        assert rows[:3] == pytest.approx(known[:3], rel=1e-5), (supports, fraction)


def test_a_mode_with_a_node_at_the_contact_has_no_row():
    # all antisymmetric modes have a node in the middle
    for supports in ROOTS:
        middle, aside = rows_of(0.5 * LENGTH, supports), rows_of(0.4999 * LENGTH, supports)
        assert (len(middle), len(aside)) == (10, 20), supports
        assert middle[:5] == pytest.approx(aside[::2][:5], rel=1e-4), supports


def test_many_modes_of_beams_are_finite_and_symmetric():
    for supports in ROOTS:
        rows = rows_of(0.2887 * LENGTH, supports, n=1000)
        assert np.isfinite(rows).all() and (rows[:, :2] > 0.0).all(), supports
        assert rows_of(0.7113 * LENGTH, supports, n=200) == pytest.approx(rows[:200], rel=1e-8)
        # far from the supports, the shape of a high mode is a sine
        assert rows[10:, 0].min() == pytest.approx(0.5 * LINE_MASS * LENGTH, rel=1e-3), supports


def test_damping_is_a_ratio_for_each_mode():
    rows = rows_of(0.3 * LENGTH, "clamped", damping=0.02)
    assert rows[:, 2] / (2.0 * np.sqrt(rows[:, 0] * rows[:, 1])) == pytest.approx(0.02)
    assert rows[:, :2] == pytest.approx(rows_of(0.3 * LENGTH, "clamped")[:, :2])


def test_wrong_values_of_a_beam_are_errors():
    values = {"length": 0.5, "width": 0.02, "height": 0.01, "material": "ptfe", "position": 0.2}
    rows = [
        ({"length": 0.0}, "beam_modes: length: 0.0 is out of range. It must be a number above 0"),
        ({"position": 0.5}, "beam_modes: position: 0.5 is out of range. It must be between 0 and"),
        ({"n": 0}, "beam_modes: n: 0 is out of range."),
        ({"n": 2.5}, "beam_modes: n: 2.5 is out of range. It must be a whole number"),
        ({"length": "long"}, "beam_modes: length: 'long' is out of range."),
        ({"damping": None}, "beam_modes: damping: None is out of range."),
        ({"material": 3}, 'beam_modes: material: unknown material "3".'),
        ({"damping": -0.1}, "beam_modes: damping: -0.1 is out of range."),
        ({"supports": "free"}, "beam_modes: supports: unknown word 'free'."),
        ({"material": "steel-31"}, r'Did you mean "steel-316"\?'),
        ({"material": gc.Material(1e11, 0.3)}, "beam_modes: material: the density is missing."),
    ]
    assert_refused(lambda change: gc.beam_modes(**values | change), rows)
