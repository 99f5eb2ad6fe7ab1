"""Small waves in the chain of a case: its repeated cell, linearized at the precompression."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granchain.case import Case, check_case, check_fixed_ends
from granchain.chain import Chain
from granchain.engine.setup import Contacts
from granchain.errors import CaseError
from granchain.simulation import law_provenance, prepare
from granchain.store import Answer, Label
from granchain.theory.lattice import MOST_MASSES
from granchain.theory.lattice import Dispersion as Lattice
from granchain.theory.lattice import dispersion as dispersion_of_lattice

# Beads and contacts are equal within this relative tolerance, because static forces and overlaps
# are sums and roots of double-precision numbers.
EQUAL_TOLERANCE = 1e-9
# Step for the slope of a force, as a fraction of the static overlap. With a second step of half the
# size, the error is of fourth order, 1e-12. Rounding adds 1e-16 divided by the step.
_STEP = 1e-3
# Labels of the axis of band edges.
EDGES = ("lower", "upper")
# Dimension of the variables of the beads of a cell, and of its attached masses.
_BEAD_DIMENSION, _OF_ATTACHED = ("bead",), ("attached",)


class Dispersion(Answer):
    """Frequencies of small waves versus wavenumber in the chain of a case.

    Attributes
    ----------
    length : float
        Length of the unloaded cell [m].
    long_wave_speed : float
        Speed of waves much longer than a cell [cells/s]; 0 with on-site springs.
    band_edges : (n_bands, 2) array
        Lowest and highest frequency of each band [Hz].
    gaps : (n_gaps, 2) array
        Lowest and highest frequency of each band gap [Hz]. In a chain with on-site springs, the
        first gap is below the first band.
    bead : (n,) array
        Labels of the beads of the first cell.
    masses : (n,) array
        Masses of the beads [kg].
    stiffnesses : (n,) array
        Stiffnesses of the contacts after each bead [N/m].
    on_site : (n,) array
        Stiffnesses of springs between each bead and the ground [N/m].
    attached_bead, attached_mass, attached_stiffness : (n_attached,) array
        Label of the bead that carries each attached mass, mass [kg], and stiffness [N/m].

    Examples
    --------
    >>> import granchain as gc
    >>> chain = {"beads": 5, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0}
    >>> case = gc.Case(chain=chain, contact={"law": "hertz"}, time={"end": 1e-4})
    >>> waves = gc.dispersion(case)
    >>> waves.frequency([0.1, 0.2]).shape
    (2, 1)
    """

    labels: ClassVar = {
        "length": Label((), "m", "length of the unloaded cell"),
        "long_wave_speed": Label((), "1/s", "speed of long waves, in cells per second"),
        "band": Label(("band",), "1", "number of the band"),
        "edge": Label(("edge",), "", "edge of a band or of a gap"),
        "band_edges": Label(("band", "edge"), "Hz", "lowest and highest frequency of the band"),
        "gap": Label(("gap",), "1", "number of the band gap"),
        "gaps": Label(("gap", "edge"), "Hz", "lowest and highest frequency of the band gap"),
        "bead": Label(_BEAD_DIMENSION, "1", "label of the bead of the first cell"),
        "masses": Label(_BEAD_DIMENSION, "kg", "mass of the bead"),
        "stiffnesses": Label(_BEAD_DIMENSION, "N/m", "stiffness of the contact after the bead"),
        "on_site": Label(_BEAD_DIMENSION, "N/m", "stiffness of the spring to the ground"),
        "attached": Label(_OF_ATTACHED, "1", "number of the attached mass"),
        "attached_bead": Label(_OF_ATTACHED, "1", "label of the bead that carries it"),
        "attached_mass": Label(_OF_ATTACHED, "kg", "mass of the attached mass"),
        "attached_stiffness": Label(_OF_ATTACHED, "N/m", "stiffness of its spring"),
    }

    @cached_property
    def lattice(self) -> Lattice:
        """Dispersion of a lattice with the masses and springs of the cell."""
        index = self.attached_bead - self.bead[0]
        attached = np.array([index, self.attached_mass, self.attached_stiffness]).T
        cell = self.masses, self.stiffnesses, self.length, self.on_site, attached
        return dispersion_of_lattice(*cell)

    def frequency(self, wavenumber: Any) -> np.ndarray:
        """Return the frequencies at wavenumbers.

        Parameters
        ----------
        wavenumber : (...) array
            Phase from cell to cell [rad].

        Returns
        -------
        (..., n_bands) array
            Frequencies in ascending order [Hz].
        """
        return self.lattice.frequency(wavenumber)

    def group_speed(self, wavenumber: Any) -> np.ndarray:
        """Return the group speed of a wave packet.

        Parameters
        ----------
        wavenumber : (...) array
            Phase from cell to cell [rad]. At 0 and pi, where branches may touch, the result is the
            limit from inside the zone, to 1e-6 of the largest speed.

        Returns
        -------
        (..., n_bands) array
            Group speed of each branch, in the order of `frequency` [cells/s]. Multiply it by
            `length` to get m/s.
        """
        return self.lattice.group_speed(wavenumber)


def dispersion(case: Case) -> Dispersion:
    """Compute the dispersion of small waves in the chain of a case.

    The cell is the smallest one that repeats throughout the chain, or throughout the largest group
    of segments that has a `repeat`. Contacts are springs with the slope of the law's force at rest
    under the precompression. A contact that has yielded has the slope of unloading and reloading.
    On-site springs and attached masses are included in the cell. Damping, walls, and striker are
    ignored.

    Parameters
    ----------
    case : Case
        Case with a periodic chain under precompression.

    Returns
    -------
    Dispersion

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
    check_fixed_ends(case, "the dispersion")
    return dispersion_of(cell_of(case), case)


def dispersion_of(cell: Cell, case: Case) -> Dispersion:
    """Return the dispersion of the cell of a case."""
    waves = dispersion_of_lattice(*cell[2:])
    count, (index, mass, stiffness) = len(cell.masses), cell.attached.T
    data = {
        "length": cell.length,
        "long_wave_speed": waves.long_wave_speed,
        "band": np.arange(1, len(waves.band_edges) + 1),
        "edge": EDGES,
        "band_edges": waves.band_edges,
        "gap": np.arange(1, len(waves.gaps) + 1),
        "gaps": waves.gaps,
        "bead": np.arange(cell.first, cell.first + count),
        "masses": cell.masses,
        "stiffnesses": cell.stiffnesses,
        "on_site": cell.on_site,
        "attached": np.arange(1, len(index) + 1),
        "attached_bead": cell.first + index.astype(int),
        "attached_mass": mass,
        "attached_stiffness": stiffness,
    }
    return Dispersion(data, case=case, provenance=law_provenance(case))


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
    attached : (n_attached, 3) array
        Index of the bead that carries each attached mass, mass [kg], and stiffness [N/m].
    """

    first: int
    last: int
    masses: np.ndarray
    stiffnesses: np.ndarray
    length: float
    on_site: np.ndarray
    attached: np.ndarray


def cell_of(case: Case) -> Cell:
    """Return the cell of a case's chain. See `dispersion`."""
    chain, contacts, _ = prepare(case)
    beads = periodic_bodies(case, chain)
    between = range(beads.start + 1, beads.stop)
    stiffness, _ = static_slopes(contacts, between, float(chain.mass[beads].min()))
    elements, on_site = chain.elements, chain.on_site_stiffness
    attached = np.array([elements.body - beads.start, elements.mass, elements.stiffness])
    attached = attached[:, chain.attached].T
    carried: list[list[list[float]]] = [[] for _ in range(beads.start, beads.stop)]
    for bead, *numbers in attached.tolist():
        if 0 <= bead < len(carried):
            carried[int(bead)].append(numbers)
    # beads with the same attached masses are of the same kind
    kind_of_masses: dict[str, int] = {}
    kinds = np.array(
        [kind_of_masses.setdefault(repr(numbers), len(kind_of_masses)) for numbers in carried]
    )
    rows = chain.mass[beads], chain.radius[beads], stiffness, on_site[beads], kinds
    sizes = (
        size
        for size in range(1, min(rows[0].size // 2, MOST_MASSES) + 1)
        if all(np.allclose(row[size:], row[:-size], rtol=EQUAL_TOLERANCE, atol=0.0) for row in rows)
    )
    # smallest cell that occurs at least twice and fills the chain; the last cell may be incomplete
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
    positions = chain.positions()
    length = float(positions[beads.start + size] - positions[beads.start])
    to_label = 1 - chain.first_loaded
    return Cell(
        beads.start + to_label,
        beads.stop - 1 + to_label,
        chain.mass[beads][:size],
        stiffness[:size],
        length,
        on_site[beads][:size],
        attached[(attached[:, 0] >= 0) & (attached[:, 0] < size)],
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


def static_slopes(contacts: Contacts, which: range, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes of the contact forces at rest.

    They are the slopes versus the overlap [N/m] and versus the overlap rate [N s/m] with the
    current history. Damping that sets in at the contact onset is fully active. If a force is damped
    only in approach, the slope is the mean of both directions. The mass [kg] determines the size of
    a small rate. Raise CaseError if a contact is open.
    """
    model = contacts.model
    force, onset = model.functions.force, model.remembered("onset_weight")
    slopes_by_state: dict[tuple, tuple[float, float]] = {}
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
        if key not in slopes_by_state:

            def slope(step: float, toward: tuple[float, float], key: tuple = key) -> float:
                """Return the slope of the force towards (overlap, rate), from two steps."""
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
            slopes_by_state[key] = stiffness, slope(rate, (0.0, 1.0))
        slopes[:, i] = slopes_by_state[key]
    return slopes[0], slopes[1]
