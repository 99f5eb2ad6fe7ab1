"""Modes of a finite chain at rest: frequencies, shapes, participation, and decay."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from granchain.analysis import participation_ratio
from granchain.case import Case, check_case
from granchain.errors import CaseError
from granchain.plain_data import canonical
from granchain.simulation import law_provenance, prepare
from granchain.store import Answer, Label
from granchain.waves.dispersion import dispersion, static_slopes

# Largest number of beads (our choice). The modes of n beads take n^3 operations, about ten seconds
# for this number.
MOST_BEADS = 2048

# Dimension of the variables of modes.
_OF_MODES = ("mode",)


class Modes(Answer):
    """Modes of a chain, in order of increasing frequency.

    Attributes
    ----------
    mode : (n,) array
        Numbers of the modes, from 1.
    frequencies : (n,) array
        Frequencies without damping, one for each body [Hz]. A chain with two free ends translates
        at 0 Hz.
    damping : (n,) array
        Decay rate of the amplitude of the damped mode [1/s]. For an overdamped mode, the slower of
        its two rates.
    overdamped : (n,) boolean array
        Whether the damped mode returns to rest without oscillation.
    participation : (n,) array
        Number of participating bodies, (sum e)^2/sum e^2 with e = m phi^2 [1].
    in_gap : (n,) boolean array or None
        Whether the frequency is in a band gap of the given cell, or outside its bands.
    body : (n,) array
        Numbers of the bodies, from 1: beads first and then attached masses.
    shapes : (n, n) array
        Displacements (mode, body) [1]. The first of the largest displacements is 1.
    bead : (n_beads,) array
        Labels of the beads.
    attached : (n_attached,) array
        Numbers of the attached masses, from 1.
    attached_bead : (n_attached,) array
        Labels of the beads that carry the attached masses. For masses of a compliant end, 0 or the
        label of the last bead plus 1.

    Examples
    --------
    >>> import granchain as gc
    >>> chain = {"beads": 5, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0}
    >>> case = gc.Case(chain=chain, contact={"law": "hertz"}, time={"end": 1e-4})
    >>> modes = gc.modes(case)
    >>> modes.shapes.shape
    (5, 5)
    """

    labels: ClassVar = {
        "mode": Label(_OF_MODES, "1", "number of the mode"),
        "frequencies": Label(_OF_MODES, "Hz", "frequency without damping"),
        "damping": Label(_OF_MODES, "1/s", "decay rate of the amplitude"),
        "overdamped": Label(_OF_MODES, "1", "whether the mode returns without oscillation"),
        "participation": Label(_OF_MODES, "1", "number of participating bodies"),
        "in_gap": Label(_OF_MODES, "1", "whether the frequency is outside the bands of the cell"),
        "body": Label(("body",), "1", "number of the body: beads, then attached masses"),
        "shapes": Label(("mode", "body"), "1", "displacement, relative to the largest of the mode"),
        "bead": Label(("bead",), "1", "label of the bead"),
        "attached": Label(("attached",), "1", "number of the attached mass"),
        "attached_bead": Label(("attached",), "1", "label of the bead that carries it"),
    }

    @property
    def in_gap(self) -> np.ndarray | None:
        """True for each frequency outside the bands of the cell, or None without a cell."""
        return self["in_gap"] if "in_gap" in self.variables else None


def modes(case: Case, *, cell: Case | None = None) -> Modes:
    """Compute the small oscillations of a finite chain about its static state.

    Each contact with a static force is a spring with the slope of its law at that force. A contact
    that has yielded has its unloading stiffness. The springs of elements are included. A striker is
    ignored. With u = sqrt(m) times the displacements, and B u the
    elongations of the springs times the square roots of their stiffnesses, the angular frequencies
    are the singular values of B. This avoids the rounding errors of a square (Golub & Van Loan
    2013, Matrix Computations, sec. 8.6).

    Parameters
    ----------
    case : Case
        Chain with a static load in every contact, from precompression or gravity. Defects, tapers,
        disorder, walls, compliant ends, and driven ends (held fixed) are allowed.
    cell : Case, optional
        Case with a repeated cell, whose band gaps are used for `in_gap`.

    Returns
    -------
    Modes

    Raises
    ------
    CaseError
        If contacts carry no force at rest (a sonic vacuum has no modes), if there are more than
        2048 beads, or if the cell is invalid.

    Examples
    --------
    >>> import granchain as gc
    >>> chain = {"beads": 5, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0}
    >>> case = gc.Case(chain=chain, contact={"law": "hertz"}, time={"end": 1e-4})
    >>> float(gc.modes(case).frequencies[0].round(3))
    0.0
    """
    check_case(case)
    for where, drive in case.drives.items():
        if where.startswith("drive.") and drive.drive == "displacement":
            raise CaseError(
                f"{where}: the displacement of this bead is prescribed. Modes require driven "
                "ends, which are held fixed, and beads that are driven by a force. Remove the "
                "drive, or end the chain at this bead."
            )
    gaps = None if cell is None else dispersion(cell)
    chain, contacts, _ = prepare(case)
    first, n = chain.first_loaded, chain.n_bodies
    if n - first > MOST_BEADS:
        raise CaseError(
            f"chain.beads: {n - first} is out of range. Modes are computed for at most "
            f"{MOST_BEADS} beads. Use a shorter chain, or gc.dispersion (granchain dispersion) "
            "of its cell."
        )
    # contact k lies between bodies k - 1 and k; the contact of the striker carries no force and is
    # left out
    present = range(
        first if chain.contact_exists[0] and first == 0 else first + 1,
        n + int(chain.contact_exists[-1]),
    )
    slopes = np.array(static_slopes(contacts, present, float(chain.mass[first:].min())))
    elements, ends, riding = chain.elements, chain.end_elements, chain.attached
    rows, n_elements, bodies = len(present), elements.body.size, n + riding.size
    # bodies, attached masses, and masses of ends, whose displacements add up to that of the wall
    stretch = np.zeros((rows + n_elements + ends.body.size, bodies + ends.body.size))
    for i, k in enumerate(present):
        if k - 1 >= first:
            stretch[i, k - 1] = 1.0
        if k < n:
            stretch[i, k] = -1.0
        stretch[i, bodies:] = 1.0 * (ends.body == k - 1) - (ends.body == k)
    stretch[rows : rows + n_elements, :bodies] = chain.stretches()
    stretch[rows + n_elements :, bodies:] = np.eye(ends.body.size)
    stretch = stretch[:, first:]
    mass = np.concatenate([chain.mass[first:], elements.mass[riding], ends.mass])
    stiffness, damping = np.hstack([slopes, elements[2:4], ends[2:4]])
    stretch /= np.sqrt(mass)
    _, singular, right = np.linalg.svd(np.sqrt(stiffness)[:, None] * stretch)
    omega = np.zeros(mass.size)
    omega[: singular.size] = singular[: omega.size]
    omega, vectors = omega[::-1], right[::-1]
    # damping couples the modes
    dashpots = stretch.T @ (damping[:, None] * stretch)
    rates, overdamped = decay(omega, vectors @ dashpots @ vectors.T)
    shapes = vectors / np.sqrt(mass)
    size = np.abs(shapes)
    # displacements of a symmetric chain are equal except for rounding, which depends on the
    # processor
    largest = (size > (1.0 - 1e-9) * size.max(axis=1, keepdims=True)).argmax(axis=1)[:, None]
    energy = vectors * vectors
    frequencies = omega / (2.0 * math.pi)
    count = np.arange(1, omega.size + 1)
    data = {
        "mode": count,
        "frequencies": frequencies,
        "damping": rates,
        "overdamped": overdamped,
        "participation": participation_ratio(energy),
        "in_gap": None if gaps is None else outside_bands(frequencies, gaps.band_edges),
        "body": count,
        "shapes": shapes / np.take_along_axis(shapes, largest, axis=1),
        "bead": chain.body_labels[first:],
        "attached": np.arange(1, riding.size + ends.body.size + 1),
        "attached_bead": chain.first_label + np.concatenate([elements.body[riding], ends.body]),
    }
    provenance = law_provenance(case)
    if cell is not None:
        provenance["cell_case_json"] = canonical(cell.as_given(), ordered=True)
    memory = (
        f"The contacts relax with {case.law}. The frequencies are those of oscillations that are "
        "faster than the relaxation, and the decay rates do not include it."
    )
    messages = [memory] if contacts.model.evolves else []
    return Modes(data, case=case, messages=messages, provenance=provenance)


def outside_bands(frequencies: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return whether each frequency is outside all bands.

    A frequency at an edge, to within 1e-9 of the highest edge, counts as inside.
    """
    near = 1e-9 * float(edges[-1, 1])
    low, high = edges[:, 0] - near, edges[:, 1] + near
    inside = (frequencies[:, None] >= low) & (frequencies[:, None] <= high)
    return np.asarray(~inside.any(axis=1))


def decay(omega: np.ndarray, dashpots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the decay rates of the damped modes [1/s], and which are overdamped.

    y'' + D y' + omega^2 y = 0 in the modes' coordinates (Tisseur & Meerbergen 2001,
    doi:10.1137/S0036144500381988, eq. (3.8)). Each oscillation, and the slower part of each
    overdamped pair, is assigned to the mode that it resembles most.
    """
    from scipy.optimize import linear_sum_assignment

    rates, overdamped = np.zeros(omega.size), np.zeros(omega.size, dtype=bool)
    if not dashpots.any():
        return rates, overdamped
    # a free chain translates without loss
    free = int(omega[0] == 0.0 and np.abs(dashpots[0]).max() <= 1e-12 * np.abs(dashpots).max())
    omega, dashpots, n = omega[free:], dashpots[free:, free:], omega.size - free
    # scaled by the highest frequency, so that both halves have the same magnitude
    scale = float(omega.max())
    state = np.block(
        [[np.zeros((n, n)), np.eye(n)], [-np.diag((omega / scale) ** 2), -dashpots / scale]]
    )
    values, vectors = np.linalg.eig(state)
    # numpy gives a real eigenvalue an imaginary part of exactly 0
    oscillates = np.flatnonzero(values.imag > 0.0)
    creeps = np.flatnonzero(values.imag == 0.0)
    slower = creeps[np.argsort(-values[creeps].real, kind="stable")][: creeps.size // 2]
    chosen = np.concatenate([oscillates, slower])
    weights = np.abs(vectors[:n, chosen]) ** 2
    mode, column = linear_sum_assignment(-weights / weights.sum(axis=0))
    rates[free + mode] = -values[chosen[column]].real * scale
    overdamped[free + mode] = column >= oscillates.size
    return rates, overdamped
