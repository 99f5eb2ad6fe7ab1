"""Small waves in a periodic chain of masses and springs: frequencies, bands, and group speeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from granchain.errors import CaseError

# Largest number of masses in a cell (our choice). Its frequencies take n^3 operations at each
# wavenumber, about a second for this number.
MOST_MASSES = 1024
# Distance from the edges of the zone at which a group speed is computed, because branches that
# touch there would be mixed. The relative error is as small as this distance, because the speed is
# a smooth function of the wavenumber inside the zone.
_NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Dispersion:
    """Frequencies of small waves versus wavenumber in a periodic chain.

    The chain has equal cells of n masses and n springs.

    Spring j joins masses j and j + 1 of a cell. The last spring joins the last mass and the first
    mass of the next cell (Brillouin 1946, Wave Propagation in Periodic Structures, ch. 3). With u_j
    the motion of a mass times sqrt(m_j), the elongations of the springs times sqrt(s_j) are B u,
    where each row of B has two entries. The angular frequencies are the n singular values of B at
    each wavenumber q, the phase from cell to cell. An on-site spring adds a row with one entry to
    B. An attached mass adds a row and a column.

    Attributes
    ----------
    masses : (n,) array
        Masses of a cell [kg].
    stiffnesses : (n,) array
        Stiffnesses of the springs after each mass [N/m].
    length : float or None
        Length of a cell [m], if known.
    on_site : (n,) array or None
        Stiffnesses of springs between each mass and the ground [N/m].
    attached : (n_attached, 3) array or None
        Index of the mass that carries each attached mass (from 0), mass [kg], and stiffness [N/m].
    """

    masses: np.ndarray
    stiffnesses: np.ndarray
    length: float | None = None
    on_site: np.ndarray | None = None
    attached: np.ndarray | None = None

    @cached_property
    def band_edges(self) -> np.ndarray:
        """Lowest and highest frequency of each band, an (n, 2) array [Hz].

        The extremes of each branch are at q = 0 and q = pi.
        """
        edges = np.sort(self.frequency([0.0, math.pi]), axis=0).T.copy()
        if self.on_site is None:
            # the complete chain moves freely
            edges[0, 0] = 0.0
        return edges

    @property
    def gaps(self) -> np.ndarray:
        """Lowest and highest frequency of each band gap, an (n_gaps, 2) array [Hz].

        In a chain with on-site springs, the first gap is below the first band. Bands closer than
        1e-9 of the highest frequency have no gap between them.
        """
        edges = self.band_edges
        if self.on_site is not None:
            edges = np.vstack([np.zeros((1, 2)), edges])
        between = np.stack([edges[:-1, 1], edges[1:, 0]], axis=1)
        return np.asarray(between[between[:, 1] - between[:, 0] > 1e-9 * edges[-1, 1]])

    @property
    def long_wave_speed(self) -> float:
        """Speed of waves much longer than a cell [cells/s].

        It is 1/sqrt(sum(m) sum(1/s)), as in a rod of the same mass (with attached masses) and
        compliance, and 0 with on-site springs.
        """
        if self.on_site is not None:
            return 0.0
        mass = float(self.masses.sum())
        mass += 0.0 if self.attached is None else float(self.attached[:, 1].sum())
        return 1.0 / math.sqrt(mass * float((1.0 / self.stiffnesses).sum()))

    def frequency(self, wavenumber: Any) -> np.ndarray:
        """Return the frequencies at wavenumbers.

        Parameters
        ----------
        wavenumber : (...) array
            q [rad per cell].

        Returns
        -------
        (..., n + n_attached) array
            Frequencies in ascending order [Hz].
        """
        stretch, _ = self._stretch(wavenumber)
        return np.asarray(np.linalg.svd(stretch, compute_uv=False)[..., ::-1] / (2.0 * math.pi))

    def group_speed(self, wavenumber: Any) -> np.ndarray:
        """Return the group speed d omega/dq of a wave packet.

        Parameters
        ----------
        wavenumber : (...) array
            q [rad per cell]. At 0 and pi, where branches may touch, the result is the limit from
            inside the zone, to 1e-6 of the largest speed.

        Returns
        -------
        (..., n + n_attached) array
            Group speed of each branch, in the order of `frequency` [cells/s]. Multiply it by
            `length` to get m/s.
        """
        q = np.asarray(wavenumber, dtype=float)
        inside = q - 2.0 * math.pi * np.floor(q / (2.0 * math.pi) + 0.5)
        sign = np.where(inside < 0.0, -1.0, 1.0)
        stretch, change = self._stretch(sign * np.clip(np.abs(inside), _NEAR, math.pi - _NEAR))
        left, _, right = np.linalg.svd(stretch, full_matrices=False)
        # d sigma = Re(u* dB v) of a simple singular value
        speed = np.einsum("...ik,...ij,...kj->...k", left.conj(), change, right.conj()).real
        return np.asarray(speed[..., ::-1])

    def _stretch(self, wavenumber: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return B and its derivative with respect to the wavenumber."""
        phase = np.exp(1j * np.asarray(wavenumber, dtype=float))
        n = self.masses.size
        heavy, stiff = np.sqrt(self.masses), np.sqrt(self.stiffnesses)
        springs = np.zeros(0) if self.on_site is None else self.on_site
        attached = np.zeros((0, 3)) if self.attached is None else self.attached
        shape = *phase.shape, n + springs.size + len(attached), n + len(attached)
        stretch, change = np.zeros((2, *shape), dtype=complex)
        for j, stiffness in enumerate(springs):
            stretch[..., n + j, j] = math.sqrt(stiffness / self.masses[j])
        for j, (carrier, mass, stiffness) in enumerate(attached):
            row = n + springs.size + j
            stretch[..., row, int(carrier)] = math.sqrt(stiffness) / heavy[int(carrier)]
            stretch[..., row, n + j] = -math.sqrt(stiffness / mass)
        for j in range(n):
            stretch[..., j, j] -= stiff[j] / heavy[j]
            if j < n - 1:
                stretch[..., j, j + 1] += stiff[j] / heavy[j + 1]
        stretch[..., n - 1, 0] += stiff[n - 1] / heavy[0] * phase
        change[..., n - 1, 0] = stiff[n - 1] / heavy[0] * 1j * phase
        return stretch, change


def dispersion(
    masses: Any,
    stiffnesses: Any,
    length: float | None = None,
    on_site: Any = None,
    attached: Any = None,
) -> Dispersion:
    """Compute the dispersion of small waves in a periodic chain of masses.

    The masses are connected by springs.

    One mass: f = sqrt(s/m) abs(sin(q/2))/pi. Two masses and equal springs: omega^2 = s (1/m1 + 1/m2
    +- sqrt((1/m1 + 1/m2)^2 - 4 sin^2(q/2)/(m1 m2))), with a gap between sqrt(2 s/m) of the heavier
    and of the lighter mass (Brillouin 1946, Wave Propagation in Periodic Structures, ch. 3). One
    mass with an on-site spring k: omega^2 = (k + 4 s sin^2(q/2))/m. Mass in mass, an attached mass
    (m2, k2) in each m1: m1 m2 omega^4 - ((m1 + m2) k2 + 4 s m2 sin^2(q/2)) omega^2 + 4 s k2
    sin^2(q/2) = 0 (Huang, Sun & Huang 2009, doi:10.1016/j.ijengsci.2008.12.007).

    Parameters
    ----------
    masses : (n,) array
        Masses of a cell [kg].
    stiffnesses : (n,) array
        Stiffnesses of the springs, each after its mass; the last spring leads to the next cell
        [N/m].
    length : float, optional
        Length of a cell [m].
    on_site : (n,) array, optional
        Stiffnesses of springs between each mass and the ground [N/m], 0 for none.
    attached : sequence of (place, mass, stiffness), optional
        For each attached mass, the index of the mass that carries it (from 0), its mass [kg], and
        the stiffness of its spring [N/m].

    Returns
    -------
    Dispersion
        .band_edges [Hz], .gaps [Hz], .frequency(wavenumber), .group_speed(wavenumber).

    Raises
    ------
    CaseError
        If there are not 1 to 1024 masses and as many stiffnesses, all finite and above 0, or if
        on-site springs or attached masses are not valid.
    """
    values = []
    for name, argument in (("masses", masses), ("stiffnesses", stiffnesses)):
        array = np.atleast_1d(np.array(argument, dtype=float))
        if (
            array.ndim != 1
            or not 1 <= array.size <= MOST_MASSES
            or not (np.isfinite(array) & (array > 0.0)).all()
        ):
            raise CaseError(
                f"{name}: {array.size} numbers are not valid. Give 1 to {MOST_MASSES} numbers in "
                "one row, finite and above 0."
            )
        array.setflags(write=False)
        values.append(array)
    if values[0].size != values[1].size:
        raise CaseError(
            f"stiffnesses: {values[1].size} numbers do not match {values[0].size} masses. Give "
            "one stiffness after each mass."
        )
    count = values[0].size
    springs = np.zeros(count) if on_site is None else np.atleast_1d(np.array(on_site, dtype=float))
    if springs.shape != (count,) or not (np.isfinite(springs) & (springs >= 0.0)).all():
        raise CaseError(
            f"on_site: {springs.size} numbers are not valid. Give {count} numbers, one for each "
            "mass, finite and 0 or more."
        )
    rows = np.array([] if attached is None else attached, dtype=float).reshape(-1, 3)
    good = np.isfinite(rows).all() and (rows[:, 1:] > 0.0).all() and rows.shape[0] <= MOST_MASSES
    if not good or not np.isin(rows[:, 0], np.arange(count)).all():
        raise CaseError(
            f"attached: {len(rows)} attached masses are not valid. At most {MOST_MASSES} are "
            f"allowed, each with a position from 0 to {count - 1}, and a mass and a stiffness "
            "that are finite and above 0."
        )
    return Dispersion(
        values[0],
        values[1],
        length,
        springs if springs.any() else None,
        rows if rows.size else None,
    )
