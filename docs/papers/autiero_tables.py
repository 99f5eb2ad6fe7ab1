"""Line contact of cylinders: the power laws of Autiero et al. 2022, doi:10.3390/machines10110966.

Here alone in mm, N and MPa, for n of K [N/mm^n] is part of the dimension. These are the formulas
that their tables 2 to 9 and 11 were computed with, found by reproducing the tables. Where they are
not the laws themselves (granchain.contact.cylinder) the line states how.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from items import points, tolerance

from granchain.errors import CaseError
from granchain.theory.impacts import hertz_stiffness
from granchain.theory.ranges import require, require_positive

# Lengths of line contact, in mm, are 1: a force per length W [N/mm] is a force.
TABULATED_LAWS = ("radzimovsky", "johnson", "esdu-78035", "goldsmith")
# W of the fit: 1 to 1000 N/mm, evenly; largest relative error stated from this overlap [mm] on.
_TABULATED_FORCES = (1.0, 1000.0, 1000)
_TABULATED_FROM = 1e-3


def tabulated_overlap(
    law: str,
    line_force: Any,
    effective_modulus: float,
    relative_radius: float,
    effective_radius: float | None = None,
) -> np.ndarray:
    """Overlap of two cylinders [mm] as the tables of Autiero et al. 2022 were computed,
    doi:10.3390/machines10110966.

    Parameters
    ----------
    law : str
        One of `TABULATED_LAWS`.
    line_force : float or array
        W = F/L [N/mm].
    effective_modulus : float
        E = 1/((1 - nu1^2)/E1 + (1 - nu2^2)/E2) [MPa].
    relative_radius : float
        dR = R1 + R2 (external) or R1 - R2 (internal) [mm].
    effective_radius : float, optional
        R = R1 R2/dR [mm], for goldsmith.

    Raises
    ------
    CaseError
        For another law, a number that is not above zero, or a missing radius.
    """
    where = "tabulated_overlap"
    if law not in TABULATED_LAWS:
        raise CaseError(f'{where}: law: got "{law}", allowed: {", ".join(TABULATED_LAWS)}')
    require_positive(where, E=effective_modulus, dR=relative_radius)
    w = np.asarray(line_force, dtype=float)
    require(f"{where}: W", float(w.min()), bool((w > 0.0).all()), "above 0")
    soft = math.pi * effective_modulus
    if law == "radzimovsky":
        # 16 in place of 8
        return (
            w
            / soft
            * (2.0 / 3.0 + np.log(16.0 * relative_radius * effective_modulus / (1.6 * 1.6 * w)))
        )
    if law == "johnson":
        return w / soft * (np.log(4.0 * soft * relative_radius / w) - 1.0)
    if law == "esdu-78035":
        # E in place of pi E, twice
        return w / effective_modulus * (np.log(4.0 * effective_modulus * relative_radius / w) + 1.0)
    radius = math.nan if effective_radius is None else effective_radius
    require_positive(where, R=radius)
    # 1e8 mm^2 in place of L^2
    return w / soft * (np.log(1e8 * soft / (w * radius)) + 1.0)


def tabulated_lankarani_nikravesh(effective_modulus: float, effective_radius: float) -> float:
    """K of F = K d^1.5 [N/mm^1.5] in table 11 of Autiero et al. 2022, doi:10.3390/machines10110966:
    pi/10 of (4/3) E sqrt(R).

    Parameters
    ----------
    effective_modulus, effective_radius : float
        E [MPa], R [mm].
    """
    require_positive("tabulated_lankarani_nikravesh", E=effective_modulus, R=effective_radius)
    return math.pi / 10.0 * hertz_stiffness(effective_modulus, effective_radius)


@dataclass(frozen=True)
class PowerLaw:
    """W = K d^n: stiffness K [N/mm^(n+1)], exponent n [1], largest relative error [1]."""

    stiffness: float
    exponent: float
    largest_error: float


def tabulated_power_law(
    law: str,
    effective_modulus: float,
    relative_radius: float,
    effective_radius: float | None = None,
) -> PowerLaw:
    """Power law W = K d^n of two cylinders, as tables 2 to 9 of Autiero et al. 2022 have it,
    doi:10.3390/machines10110966.

    K and n minimise the sum of (K d^n - W)^2 over W = 1 to 1000 N/mm: for each n the best K is sum
    W d^n/sum d^(2n), one unknown is left. The largest relative error is that over d >= .001 mm.

    Parameters
    ----------
    law, effective_modulus, relative_radius, effective_radius
        As `tabulated_overlap`.
    """
    from scipy.optimize import minimize_scalar

    force = np.linspace(*_TABULATED_FORCES)
    overlap = tabulated_overlap(law, force, effective_modulus, relative_radius, effective_radius)

    def stiffness(n: float) -> float:
        power = overlap**n
        return float(force @ power / (power @ power))

    def misfit(n: float) -> float:
        return float(((stiffness(n) * overlap**n - force) ** 2).sum())

    # a line contact is hardly stiffer than linear, and softer than two spheres
    n = float(
        minimize_scalar(
            misfit, bounds=(1.0, 1.5), method="bounded", options={"xatol": tolerance(1e-10)}
        ).x
    )
    # the error is largest at the smallest overlap, between two of the forces: a finer grid, down to
    # half of the first
    fine = np.linspace(0.5 * force[0], force[-1], points(400) * force.size)
    overlap_fine = tabulated_overlap(
        law, fine, effective_modulus, relative_radius, effective_radius
    )
    error = np.abs(stiffness(n) * overlap_fine**n / fine - 1.0)[overlap_fine >= _TABULATED_FROM]
    return PowerLaw(stiffness(n), n, float(error.max()))
