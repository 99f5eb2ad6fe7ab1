"""Prescribed loading of one contact: cycles, jumps, and losses from the law's functions in plain
Python. A law with memory is also loaded and unloaded in times in which it relaxes."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.contact.examples import example_pair
from granchain.contact.law import ContactLaw
from granchain.contact.pair import Pair
from granchain.engine.setup import coefficients

# Impact speeds [m/s] of a verification report.
IMPACT_SPEEDS = (0.2, 1.77, 10.0)

# A force jumps if it changes by more than this fraction over 1e-12 of the overlap.
SMALLEST_JUMP = 1e-6
GRID_OF_OVERLAPS = 600

# Target error of the work of a cycle, relative to the largest work: a tenth of the energy that the
# cycles must detect. A section of a path is halved up to HALVINGS times to reach it. Each halving
# reduces the error of a kink fourfold, and that of a jump without a node twofold.
QUADRATURE, HALVINGS = 1e-7, 12

# Decades around the time of an impact in which a law with memory is loaded: our choice, so that
# the contact relaxes hardly, partly, and nearly completely.
RELAXING_DECADES = (-3.0, 3.0)


class Creation(NamedTuple):
    """Energy that cycles create, and its error, both relative to the largest work supplied."""

    energy: float
    error: float

    @property
    def certain(self) -> float:
        """Created energy minus its error, at least 0."""
        return max(self.energy - self.error, 0.0)


class Contact:
    """One contact of the example pair, with the law's functions as functions of overlap.

    Parameters
    ----------
    law : type of ContactLaw
        The law.
    values : namespace
        Its inputs.
    pair : Pair, optional
        Pair to use instead of the example pair.
    """

    def __init__(self, law: type[ContactLaw], values: SimpleNamespace, pair: Pair | None = None):
        pair = pair or example_pair()
        values = SimpleNamespace(**vars(values))
        self.model = law.model(values)
        self.law, self.name = self.model.functions, self.model.name
        limit = np.array([float(pair.effective_radius)])
        self.c = tuple(float(x) for x in coefficients(self.model, pair, values, limit)[:, 0])
        self.limit = min(float(limit[0]), float(self.law.overlap_limit(self.c)))
        self.scale = self._scale(float(pair.effective_mass))
        self.time = self.scale / IMPACT_SPEEDS[-1]

    def _scale(self, mass: float) -> float:
        """Return the overlap [m] that the highest impact speed reaches, with work m v^2/2."""
        energy = 0.5 * mass * IMPACT_SPEEDS[-1] ** 2
        low, high = 1e-12, 0.999 * self.limit
        while high / low > 1.0 + 1e-6:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.work(middle) < energy else (low, middle)
        return high

    def fresh(self) -> tuple:
        """Return the history of a contact that has never been loaded."""
        return self.law.history_of(self.c)

    def load(self, overlap: float, h: tuple) -> tuple:
        """Return the history after a slow change to an overlap."""
        # An onset weight lasts one step, and a second update removes it.
        for _ in range(2):
            if self.law.needs_update(overlap, 0.0, self.c, h):
                try:
                    h = self.law.update((overlap, 0.0, 0.0, 1.0), self.c, h)
                except (ArithmeticError, ValueError):
                    return (math.nan,) * len(h)
        return h

    def relax(self, dt: float, before: float, overlap: float, h: tuple) -> tuple[tuple, float]:
        """Return the history after a time [s], and the energy that it has dissipated [J]."""
        try:
            return self.law.evolve(dt, before, overlap, self.c, h)
        except (ArithmeticError, ValueError):
            return (math.nan,) * len(h), math.nan

    def force(self, overlap: float, h: tuple, rate: float = 0.0) -> float:
        """Return the force [N] with this history."""
        return value_or_nan(self.law.force, overlap, rate, self.c, h)

    def energy(self, overlap: float, h: tuple) -> float:
        """Return the recoverable energy [J] with this history."""
        return value_or_nan(self.law.energy, overlap, self.c, h)

    def loading(self, overlap: float) -> float:
        """Return the force [N] of a fresh contact loaded to an overlap."""
        return self.force(overlap, self.load(overlap, self.fresh()))

    def work(self, overlap: float) -> float:
        """Return the work [J] of loading a fresh contact, from the energies of the law."""
        h = self.load(overlap, self.fresh())
        return self.energy(overlap, h) + self.lost(h)

    def lost(self, h: tuple) -> float:
        """Return the energy [J] that the history has permanently lost."""
        return value_or_nan(self.law.plastic, self.c, h)

    def overlaps(self, smallest: float, count: int) -> list[float]:
        """Return overlaps [m] from a fraction of the largest up to it, in equal log steps."""
        return [float(d) for d in self.scale * np.geomspace(smallest, 1.0, count)]


def value_or_nan(function: Callable[..., float], *arguments: Any) -> float:
    """Return the result of a law function, or nan if Python raises an arithmetic error.

    Compiled code gives nan or infinity in this case.
    """
    try:
        return function(*arguments)
    except (ArithmeticError, ValueError):
        return math.nan


def simpson(intervals: int) -> np.ndarray:
    """Return weights of Simpson's rule for nodes d = (1 - cos angle)/2 on a path of length 1.

    The nodes are dense at both ends.
    """
    angles = np.linspace(0.0, math.pi, intervals + 1)
    weights = np.tile([2.0, 4.0], intervals)[: intervals + 1]
    weights[[0, -1]] = 1.0
    return np.asarray(weights * math.pi / intervals / 3.0 * 0.5 * np.sin(angles))


# Nodes are dense at both ends of a path, where forces start like d^1.5. Every second node gives a
# coarse rule, from which the error is estimated.
_PATH_INTERVALS = 240
_ONSET_PLACES = 0.5 * (1.0 - np.cos(np.linspace(0.0, math.pi, _PATH_INTERVALS + 1)))
_FINE, _COARSE = simpson(_PATH_INTERVALS), simpson(_PATH_INTERVALS // 2)


def cycles(contact: Contact, count: int = 40) -> Creation:
    """Return the largest energy that closed cycles create, and its error.

    Both are relative to the largest work supplied. The work is integrated from the forces alone, so
    that errors in the law's own energies cannot hide created energy. The cycles are faster than
    any relaxation. For a law with memory, a quarter as many cycles take a random time.
    """
    random = np.random.default_rng(20150801)
    relaxing = count // 4 if contact.model.evolves else 0
    # Paths are split at jumps of the force, because no quadrature detects a jump inside.
    nodes = sorted(overlap for overlap, _ in jumps(contact))
    created = error = 0.0
    for number in range(count + relaxing):
        top = contact.scale * 10.0 ** random.uniform(-4.0, 0.0)
        turns = [0.0, *(top * random.uniform(0.0, 1.0, size=5)), top, 0.0, -0.05 * top]
        h, work_in, largest, doubt, duration = contact.fresh(), 0.0, 0.0, 0.0, 0.0
        if number >= count:
            duration = contact.time * 10.0 ** random.uniform(*RELAXING_DECADES)
        for before, after in pairwise(split_cycle(turns, nodes)):
            work, off, h = work_along(
                contact, before, after, h, QUADRATURE * largest, duration=duration
            )
            work_in, doubt = work_in + work, doubt + off
            largest = max(largest, work_in)
        if largest > 0.0:
            created, error = (
                max(created, float(-work_in / largest)),
                max(error, float(doubt / largest)),
            )
    return Creation(created, error)


def work_along(
    contact: Contact,
    begin: float,
    end: float,
    h: tuple,
    allowed: float,
    halvings: int = HALVINGS,
    duration: float = 0.0,
) -> tuple[float, float, tuple]:
    """Return work [J] along a path of overlap, its error, and the final history.

    The path takes a `duration` [s], with equal times between its nodes. If it is 0, nothing
    relaxes.

    The error is the difference from the rule with half as many nodes. A path is halved if its error
    is above `allowed` [J] and above QUADRATURE times its work.
    """
    start, force, before = h, np.empty(_ONSET_PLACES.size), begin
    for i, d in enumerate((begin + (end - begin) * _ONSET_PLACES).tolist()):
        if duration and i:
            h, _ = contact.relax(duration / _PATH_INTERVALS, before, d, h)
        h, before = contact.load(d, h), d
        force[i] = contact.force(d, h)
    work = (end - begin) * float(_FINE @ force)
    error = abs(work - (end - begin) * float(_COARSE @ force[::2]))
    allowed = max(allowed, QUADRATURE * abs(work)) if halvings == HALVINGS else allowed
    if not error > allowed or halvings == 0:
        return work, error, h
    middle = 0.5 * (begin + end)
    first, off, h = work_along(
        contact, begin, middle, start, 0.5 * allowed, halvings - 1, 0.5 * duration
    )
    second, more, h = work_along(
        contact, middle, end, h, 0.5 * allowed, halvings - 1, 0.5 * duration
    )
    return first + second, off + more, h


def split_cycle(turns: list[float], nodes: list[float]) -> list[float]:
    """Return a path through its turning points, with the nodes that it crosses."""
    path = [turns[0]]
    for start, stop in pairwise(turns):
        between = [node for node in nodes if min(start, stop) < node < max(start, stop)]
        path += [*(between if stop > start else reversed(between)), stop]
    return path


def cycle_losses(contact: Contact) -> tuple[float, float]:
    """Return the energy created by cycles up to one overlap, and the largest fall of the loss.

    Both are relative to the work, on a grid of largest overlaps and from the law's closed forms.
    The energy correction must prevent both.
    """
    created = falls = most = 0.0
    for d in contact.overlaps(1e-5, 4 * GRID_OF_OVERLAPS):
        h = contact.load(d, contact.fresh())
        lost, work = contact.lost(h), contact.work(d)
        if work > 0.0:
            created, falls = max(created, -lost / work), max(falls, (most - lost) / work)
        most = max(most, lost)
    return created, falls


def jumps(contact: Contact) -> list[tuple[float, float]]:
    """Return overlaps at which the loading force of a fresh contact jumps.

    Each has the jump relative to the force.
    """
    grid = contact.overlaps(1e-5, GRID_OF_OVERLAPS)
    values = [contact.loading(d) for d in grid]
    slopes = [math.log(b / a) if a > 0.0 and b > 0.0 else 0.0 for a, b in pairwise(values)]
    significant = []
    # Only intervals that differ from their neighbours by more than smooth curvature can contain a
    # significant jump.
    for i, slope in enumerate(slopes):
        neighbours = [slopes[j] for j in range(max(0, i - 3), min(len(slopes), i + 4)) if j != i]
        if abs(slope - float(np.median(neighbours))) < 1e-4:
            continue
        low, high = grid[i], grid[i + 1]
        f_low, f_high = values[i], values[i + 1]
        for _ in range(40):
            middle = 0.5 * (low + high)
            f_middle = contact.loading(middle)
            if abs(f_middle - f_low) > abs(f_high - f_middle):
                high, f_high = middle, f_middle
            else:
                low, f_low = middle, f_middle
        if abs(f_high - f_low) > SMALLEST_JUMP * abs(f_low):
            significant.append((high, (f_high - f_low) / f_low))
    return significant


def onset(contact: Contact) -> float:
    """Return the force [N] to which a contact jumps when two bodies meet.

    The speed is the second of the impact speeds. The force is 0 if it begins at zero.
    """
    # At the second of two overlaps, damping like d^a is smaller by 1e-4^a, which is less than half
    # for a >= 0.08; a jump does not become smaller.
    larger, smaller = (
        contact.force(
            x * contact.scale, contact.load(x * contact.scale, contact.fresh()), IMPACT_SPEEDS[1]
        )
        for x in (1e-20, 1e-24)
    )
    return smaller if smaller > 0.5 * larger else 0.0
