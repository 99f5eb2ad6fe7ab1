"""Small waves in the chain of a case: its repeated cell, linearized at the precompression."""

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

# Beads and contacts are equal within this relative tolerance, because static forces and overlaps
# are sums and roots of double-precision numbers.
EQUAL_TOLERANCE = 1e-9
# Step for the slope of a force, as a fraction of the static overlap. With a second step of half the
# size, the error is of fourth order, 1e-12. Rounding adds 1e-16 divided by the step.
_STEP = 1e-3


def dispersion(case: Case) -> Dispersion:
    """Compute the dispersion of small waves in the chain of a case.

    The cell is the smallest one that repeats throughout the chain, or throughout the largest group
    of segments that has a `repeat`. Contacts are springs with the slope of the law's force at rest
    under the precompression. A contact that has yielded has the slope of unloading and reloading.
    On-site springs and resonators are included in the cell. Damping, walls, and striker are
    ignored.

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
    """Repeated cell of a case's chain.

    Parameters
    ----------
    first, last : int
        Labels of the first and last bead of the periodic part.
    masses, stiffnesses : (n,) array
        Masses of the beads [kg], and stiffnesses of the contacts after each bead [N/m].
    length : float
        Length of the cell [m].
    on_site : (n,) array
        Stiffness between each bead and the ground [N/m].
    resonators : (n_resonators, 3) array
        Index of the bead that contains each resonator, mass [kg], and stiffness [N/m].
    """

    first: int
    last: int
    masses: np.ndarray
    stiffnesses: np.ndarray
    length: float
    on_site: np.ndarray
    resonators: np.ndarray


def cell_of(case: Case) -> Cell:
    """Return the cell of a case's chain. See `dispersion`."""
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
    # beads with the same resonators are of the same kind
    met: dict[str, int] = {}
    kinds = np.array([met.setdefault(repr(numbers), len(met)) for numbers in carried])
    rows = chain.mass[beads], chain.radius[beads], stiffness, on_site[beads], kinds
    sizes = (
        size
        for size in range(1, min(rows[0].size // 2, MOST_MASSES) + 1)
        if all(np.allclose(row[size:], row[:-size], rtol=EQUAL_TOLERANCE, atol=0.0) for row in rows)
    )
    # smallest cell that occurs at least twice and fills the chain; the last one may be incomplete
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
    """Return the bodies of the largest repeated group of segments, or all beads."""
    first, best = chain.first_loaded, slice(chain.first_loaded, chain.n_bodies)
    longest = 0
    for repeat, group in case.chain.groups():
        count = repeat * sum(segment.count for segment in group)
        if repeat > 1 and count > longest:
            longest, best = count, slice(first, first + count)
        first += count
    return best


def at_rest(contacts: Contacts, which: range, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes of the contact forces at rest.

    They are the slopes versus the overlap [N/m] and versus the overlap rate [N s/m] with the
    current history. Damping that sets in at the contact onset is fully active. If a force is damped
    only in approach, the slope is the mean of both directions. The mass [kg] determines the size of
    a small rate. Raise CaseError if a contact is open.
    """
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
