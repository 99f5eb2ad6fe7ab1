"""Families of breathers, followed over their energy, amplitude or period, or over a number of the
case."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np

from granchain.case import Case
from granchain.studies.breather import (
    BreatherFamily,
    Turn,
    check_conservative,
    solved,
    spectrum_of,
)
from granchain.studies.continuation import FAMILY_UNITS, Node, Path, Point
from granchain.studies.newton import Shot
from granchain.studies.orbit import Orbit, Shooting, Stability
from granchain.studies.shooting import Runners


def growing(node: Node) -> int:
    """Complex multipliers beyond the unit circle by more than their errors, that have their mirror
    image in it."""
    values, moduli = node.found.values, node.found.moduli
    beyond = np.abs(values) - 1.0 > moduli
    found = values[beyond & (np.abs(values.imag) > moduli)]
    apart = np.abs(values - 1.0 / found.conj()[:, None]).min(axis=1)
    return int((apart <= 0.5 * (np.abs(found) - 1.0)).sum())


class BreatherPath(Path):
    """Breathers over a number: a point is measured by z = (y/w, ln T/T0, s), y the scaled state, T
    the period, s the part of the way.

    Parameters
    ----------
    case : Case
    found : Orbit
        Its period is T0, its energy held over a number of the case.
    along : str
    start, stop : float
    runners : Runners
    """

    beside, history = 2, None

    def __init__(
        self, case: Case, found: Orbit, along: str, start: float, stop: float, runners: Runners
    ):
        self.case, self.along, self.start, self.stop = case, along, start, stop
        self.multiple, self.runners, self.period = 1, runners, found.period
        bead = int(np.abs(found.displacement).argmax())
        self._side = float(np.sign(found.displacement[bead]))
        turn = Turn(np.concatenate([found.displacement, found.velocity]), found.period, bead)
        hold = along if along in FAMILY_UNITS else "energy"
        cases = [self._case_at(value) for value in (start, stop)]
        for one in cases:
            check_conservative(one)
        self._first = BreatherFamily(cases[0], turn, hold, runners)
        if along not in FAMILY_UNITS:
            self._first.held = found.energy
        self.grid = self._first.grid
        self.weight = np.ones(self.grid.scale.size + 2)
        self._families = {0.0: self._first}

    def _case_at(self, value: float) -> Case:
        return self.case if self.along in FAMILY_UNITS else self.case.replace(**{self.along: value})

    def family(self, part: float) -> BreatherFamily:
        """That of a part of the way, with what is held there; the last ones are kept."""
        if part not in self._families:
            if len(self._families) > 4:
                self._families.pop(next(iter(self._families)))
            self._families[part] = self._family(part)
        return self._families[part]

    def _family(self, part: float) -> BreatherFamily:
        first, value = self._first, self.value_of(part)
        if self.along not in FAMILY_UNITS:
            found = BreatherFamily(
                self._case_at(value), first.turn, first.hold, self.runners, self.grid
            )
            found.size, found.held = first.size, first.held
            return found
        found = copy.copy(first)
        scale = self._side * self.grid.scale[first.turn.bead]
        found.held = value / scale if self.along == "amplitude" else value
        return found

    def shooting(self, part: float) -> Shooting:
        """The first breather's period at a part of the way."""
        return self.family(part).shooting(self.period)

    def at(self, z: np.ndarray) -> Shooting:
        """The period of a point."""
        return self.family(float(z[-1])).shooting(self.period * math.exp(z[-2]))

    def room(self, node: Node) -> np.ndarray:
        """There are no dents that could grow."""
        return np.ones(1)

    def equations(self, z: np.ndarray, image: np.ndarray | None = None) -> np.ndarray:
        """What is 0 for an orbit."""
        y = self.state(z)
        if image is None:
            image = self.at(z).fine.images(y[None])[0]
        off = self.family(float(z[-1])).equations(y, image)
        if self.along != "period":
            return off
        given = self.multiple * self.value_of(float(z[-1]))
        return np.append(off, z[-2] - math.log(given / self.period))

    def bordered(
        self, z: np.ndarray, shot: Shot, by_parameter: np.ndarray, normal: np.ndarray
    ) -> np.ndarray:
        """Derivative of the equations and of normal z."""
        family, period = self.family(float(z[-1])), self.period * math.exp(z[-2])
        inner = family.derivative(shot.state, shot.image, shot.jacobian, period)
        if self.along == "period":
            inner = np.vstack([inner, np.append(np.zeros(shot.state.size), 1.0)])
        return np.vstack([np.hstack([inner, by_parameter[:, None]]) * self.weight, normal])

    def solved(self, matrix: np.ndarray, off: np.ndarray) -> np.ndarray:
        """The step that equations with this derivative ask for."""
        return solved(matrix, off)

    def stability(self, z: np.ndarray, shot: Shot) -> Stability:
        """Multipliers of the breather at z."""
        return spectrum_of(self.family(float(z[-1])), self.at(z), shot)

    def node(self, z: np.ndarray, before: np.ndarray) -> Node:
        """The breather at z; its tangent goes on in the direction of another."""
        found = super().node(z, before)
        slope = self.family(float(z[-1])).slope(found.shot.state)
        found.rising = float(slope @ self.state(found.tangent))
        return found

    def tests(self, node: Node, after: Node) -> list[tuple[Callable[[Node], float], str]]:
        """Functions that are zero in a step, and what is there."""
        tests: list[tuple[Callable, str]] = []
        if node.tangent[-1] * after.tangent[-1] < 0.0:
            tests.append((lambda one: float(one.tangent[-1]), "fold"))
        turned = node.rising * after.rising < 0.0 and self.along in FAMILY_UNITS
        if turned and self.along != "energy":
            tests.append((lambda one: one.rising, "energy extremum"))
        if node.flips() * after.flips() < 0.0:
            tests.append((Node.flips, "period doubling"))
        if not turned and node.signed(1.0) * after.signed(1.0) < 0.0:
            tests.append((lambda one: one.signed(1.0), "branch point"))
        few = min(growing(node), growing(after))
        if growing(node) != growing(after):
            tests.append((lambda one: 1.0 if growing(one) > few else -1.0, "Krein collision"))
        return tests

    def place(self, point: Point) -> np.ndarray:
        """A point in the measure of the path."""
        return np.insert(super().place(point), -1, math.log(point.period / self.period))

    def longer(self, factor: int) -> BreatherPath:
        """The same with a multiple of the period."""
        found, first = copy.copy(self), copy.copy(self._first)
        found.period, found.multiple = factor * self.period, factor * self.multiple
        found.grid = first.grid = self.grid._replace(steps=factor * self.grid.steps)
        found._first, found._families = first, {0.0: first}
        return found

    def multipliers(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of a point but the trivial ones, and their vectors, a row each."""
        shot = self.at(z).shoot(self.state(z))
        return self.family(float(z[-1])).others(shot.state, shot.jacobian)[:2]
