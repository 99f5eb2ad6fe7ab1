"""Interpolation of computed pulses between runs.

A Monte Carlo test of readings and intervals needs thousands of runs with nearly equal numbers, so
these are interpolated between a few runs."""

import copy

import numpy as np
from numpy.polynomial import chebyshev
from scipy.interpolate import CubicSpline


class BetweenRuns:
    """Forces, peaks and arrivals as polynomials of the free keys, through runs at Chebyshev nodes.

    Parameters
    ----------
    problem : FitProblem
        Whose case is run.
    box : sequence of (float, float)
        Of each free key, in their order.
    count : int
        Nodes along each.
    """

    def __init__(self, problem, box, count=7):
        self._low, self._high = np.array(box).T
        nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
        grid = np.stack(np.meshgrid(*[nodes] * len(box), indexing="ij"), axis=-1)
        points = grid.reshape(-1, len(box))
        self._run = problem._computed
        sides = self._run(list(self._scaled(points, back=True)))
        self._one = sides[0]
        time = self._one.time
        rows = [np.concatenate([one.at(time).ravel(), one.peaks, one.arrivals]) for one in sides]
        self._powers = np.linalg.inv(self._basis(points, count)) @ np.array(rows)
        self._count = count

    def _scaled(self, points, back=False):
        middle, half = 0.5 * (self._low + self._high), 0.5 * (self._high - self._low)
        return middle + half * points if back else (points - middle) / half

    def _basis(self, points, count):
        rows = np.ones((len(points), 1))
        for column in points.T:
            own = chebyshev.chebvander(column, count - 1)
            rows = (rows[:, :, None] * own[:, None, :]).reshape(len(points), -1)
        return rows

    def computed(self, points):
        """Return the same as `FitProblem._computed`; points outside the box are run."""
        keys = self._scaled(np.array([point[: len(self._low)] for point in points]))
        if np.abs(keys).max() > 1.0:
            return self._run(list(points))
        return [self._side(row) for row in self._basis(keys, self._count) @ self._powers]

    def _side(self, row):
        side, beads = copy.copy(self._one), len(self._one.peaks)
        side.peaks, side.arrivals = row[-2 * beads : -beads], row[-beads:]
        both = zip(self._one.pulses, side.peaks, side.arrivals, strict=True)
        side.pulses = [one._replace(peak=peak, arrival=at) for one, peak, at in both]
        force = row[: -2 * beads].reshape(len(side.time), beads)
        side._spline = CubicSpline(side.time, force, axis=0)
        return side
