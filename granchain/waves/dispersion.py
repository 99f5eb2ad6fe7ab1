"""Small waves in the chain of a case: its repeated cell, linearised at the precompression."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from granchain.case import Case, check_case
from granchain.chain import Chain
from granchain.engine.setup import Contacts
from granchain.errors import CaseError
from granchain.simulation import prepare
from granchain.theory.lattice import MOST_MASSES, Dispersion
from granchain.theory.lattice import dispersion as of_lattice

# Beads and contacts are alike within this part: static forces and overlaps are sums and roots of
# double numbers.
EQUAL_TOLERANCE = 1e-9
# Part of the static overlap over which the slope of a force is taken; with a second one of half the
# size the error goes with its fourth power, 1e-12, and rounding adds 1e-16 over it.
_STEP = 1e-3


def dispersion(case: Case) -> Dispersion:
    """Compute the dispersion of small waves in the chain of a case.

    The cell is the smallest one that repeats throughout the chain, or throughout the largest group
    of segments that has a `repeat`. Contacts are springs with the slope of the law's force at rest
    under the precompression; for a contact that has yielded, with the slope of unloading and
    reloading. On-site springs and resonators are included in the cell. Damping, walls, and striker
    are ignored.

    Parameters
    ----------
    case : Case
        Case with a periodic chain under precompression.

    Returns
    -------
    Dispersion
        .band_edges [Hz], .gaps [Hz], .frequency(wavenumber) [Hz], .group_speed(wavenumber), and
        .length of a cell [m].

    Raises
    ------
    CaseError
        If the chain has no precompression or no repeated cell.

    Examples
    --------
    >>> import granchain as gc
    >>> chain = {"beads": 5, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0}
    >>> case = gc.Case(chain=chain, contact={"law": "hertz"}, time={"end": 1e-4})
    >>> gc.dispersion(case).band_edges.shape
    (1, 2)
    """
    check_case(case)
    cell = cell_of(case)
    return of_lattice(*cell[2:])


class Cell(NamedTuple):
    """The cell of a case's chain.

    Parameters
    ----------
    first, last : int
        Labels of the first and last bead of the part in which it is repeated.
    masses, stiffnesses : (n,) array
        Of its beads [kg], and of the contact behind each [N/m].
    length : float
        [m].
    on_site : (n,) array
        Stiffness between each bead and the ground [N/m].
    resonators : (n_resonators, 3) array
        Place of the bead of each, its mass [kg] and stiffness [N/m].
    """

    first: int
    last: int
    masses: np.ndarray
    stiffnesses: np.ndarray
    length: float
    on_site: np.ndarray
    resonators: np.ndarray


def cell_of(case: Case) -> Cell:
    """The cell of a case's chain, see `dispersion`."""
    chain, contacts, _ = prepare(case)
    beads = periodic_bodies(case, chain)
    between = range(beads.start + 1, beads.stop)
    stiffness, _ = at_rest(contacts, between, float(chain.mass[beads].min()))
    on_site, riding = chain.on_site_stiffness, chain.resonators
    own = np.array([riding.body - beads.start, riding.mass, riding.stiffness]).T
    carried: list[list[list[float]]] = [[] for _ in range(beads.start, beads.stop)]
    for bead, *numbers in own.tolist():
        if 0 <= bead < len(carried):
            carried[int(bead)].append(numbers)
    # beads with the same resonators are of one kind
    met: dict[str, int] = {}
    kinds = np.array([met.setdefault(repr(numbers), len(met)) for numbers in carried])
    rows = chain.mass[beads], chain.radius[beads], stiffness, on_site[beads], kinds
    sizes = (
        size
        for size in range(1, min(rows[0].size // 2, MOST_MASSES) + 1)
        if all(np.allclose(row[size:], row[:-size], rtol=EQUAL_TOLERANCE, atol=0.0) for row in rows)
    )
    # the smallest cell that comes at least twice and fills the row, whole or begun
    size = next(sizes, None)
    if size is None:
        stiffening = (
            ", because the contacts stiffen with depth under gravity" if case.chain.gravity else ""
        )
        raise CaseError(
            f"chain: {beads.stop - beads.start} beads have no repeated cell{stiffening}. A cell of "
            f"at most {MOST_MASSES} beads that occurs at least twice is required. Use equal beads "
            "or segments with repeat, or use gc.modes (granchain modes) for the modes of the "
            "complete chain."
        )
    place = chain.positions()
    length = float(place[beads.start + size] - place[beads.start])
    to_label = 1 - chain.first_loaded
    return Cell(
        beads.start + to_label,
        beads.stop - 1 + to_label,
        chain.mass[beads][:size],
        stiffness[:size],
        length,
        on_site[beads][:size],
        own[(own[:, 0] >= 0) & (own[:, 0] < size)],
    )


def periodic_bodies(case: Case, chain: Chain) -> slice:
    """The bodies of the largest group of segments that is repeated, or all beads."""
    first, best = chain.first_loaded, slice(chain.first_loaded, chain.n_bodies)
    longest = 0
    for repeat, group in case.chain.groups():
        count = repeat * sum(segment.count for segment in group)
        if repeat > 1 and count > longest:
            longest, best = count, slice(first, first + count)
        first += count
    return best


def at_rest(contacts: Contacts, which: range, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the force over the overlap [N/m] and over the rate [N s/m] at rest, with the
    history as it is, but with the whole damping of a contact whose onset is long past; refuses
    contacts that are open. Of a force that is damped in approach only, the mean of both ways. The
    mass [kg] says what a small rate is."""
    model = contacts.model
    force, onset = model.functions.force, model.remembered("onset_weight")
    found: dict[tuple, tuple[float, float]] = {}
    slopes = np.empty((2, len(which)))
    for i, k in enumerate(which):
        d, c, h = (
            float(contacts.overlaps[k]),
            tuple(contacts.c[:, k].tolist()),
            contacts.history[:, k].tolist(),
        )
        if onset >= 0:
            h[onset] = 1.0
        if not d > 0.0:
            raise CaseError(
                "chain.precompression: the contacts carry no force at rest. The chain must be "
                "compressed, because small waves need contacts that act as springs. Give a "
                "precompression [N]."
            )
        key = d, c, tuple(h)
        if key not in found:

            def slope(step: float, toward: tuple[float, float], key: tuple = key) -> float:
                d, c, h = key
                wide, near = (
                    (
                        force(d + x * toward[0], x * toward[1], c, h)
                        - force(d - x * toward[0], -x * toward[1], c, h)
                    )
                    / (2.0 * x)
                    for x in (step, 0.5 * step)
                )
                return (4.0 * near - wide) / 3.0

            stiffness = slope(_STEP * d, (1.0, 0.0))
            rate = _STEP * d * math.sqrt(stiffness / mass)
            found[key] = stiffness, slope(rate, (0.0, 1.0))
        slopes[:, i] = found[key]
    return slopes[0], slopes[1]
