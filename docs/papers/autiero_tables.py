"""Line contact of cylinders: the power laws of Autiero et al. 2022, doi:10.3390/machines10110966.

Only this module uses mm, N, and MPa, because n of K [N/mm^n] is part of the dimension. The formulas
are those with which their tables 2 to 9 and 11 were computed; we found them by reproducing the
tables. If a formula differs from the law (granchain.contact.cylinder), a comment reports how.
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

# The length of line contact is 1 mm, so that a force per length W [N/mm] is a force.
TABULATED_LAWS = ("radzimovsky", "johnson", "esdu-78035", "goldsmith")
# Forces W of the fit, evenly spaced: 1 to 1000 N/mm. The largest relative error is over overlaps
# from this value on [mm].
_TABULATED_FORCES = (1.0, 1000.0, 1000)
_TABULATED_FROM = 1e-3


def tabulated_overlap(
    law: str,
    line_force: Any,
    effective_modulus: float,
    relative_radius: float,
    effective_radius: float | None = None,
) -> np.ndarray:
    """Return the overlap of two cylinders [mm] as in the tables of Autiero et al. 2022.

    doi:10.3390/machines10110966

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
        If the law is unknown, a number is not above zero, or the radius is missing.
    """
    where = "tabulated_overlap"
    if law not in TABULATED_LAWS:
        raise CaseError(
            f'{where}: law: "{law}" is unknown. It must be one of {", ".join(TABULATED_LAWS)}.'
        )
    require_positive(where, E=effective_modulus, dR=relative_radius)
    w = np.asarray(line_force, dtype=float)
    require(f"{where}: W", float(w.min()), bool((w > 0.0).all()), "above 0")
    soft = math.pi * effective_modulus
    if law == "radzimovsky":
        # 16 instead of 8
        return (
            w
            / soft
            * (2.0 / 3.0 + np.log(16.0 * relative_radius * effective_modulus / (1.6 * 1.6 * w)))
        )
    if law == "johnson":
        return w / soft * (np.log(4.0 * soft * relative_radius / w) - 1.0)
    if law == "esdu-78035":
        # E instead of pi E, twice
        return w / effective_modulus * (np.log(4.0 * effective_modulus * relative_radius / w) + 1.0)
    radius = math.nan if effective_radius is None else effective_radius
    require_positive(where, R=radius)
    # 1e8 mm^2 instead of L^2
    return w / soft * (np.log(1e8 * soft / (w * radius)) + 1.0)


def tabulated_lankarani_nikravesh(effective_modulus: float, effective_radius: float) -> float:
    """Return K of F = K d^1.5 [N/mm^1.5] in table 11 of Autiero et al. 2022.

    It is pi/10 of (4/3) E sqrt(R); doi:10.3390/machines10110966.

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
    """Fit the power law W = K d^n of two cylinders as in tables 2 to 9 of Autiero et al. 2022.

    K and n minimize the sum of (K d^n - W)^2 over W = 1 to 1000 N/mm. For each n, the best K is sum
    W d^n/sum d^(2n), so that only n is unknown. The largest relative error is that over d >= 0.001
    mm. Source: doi:10.3390/machines10110966.

    Parameters
    ----------
    law, effective_modulus, relative_radius, effective_radius
        As in `tabulated_overlap`.
    """
    from scipy.optimize import minimize_scalar

    force = np.linspace(*_TABULATED_FORCES)
    overlap = tabulated_overlap(law, force, effective_modulus, relative_radius, effective_radius)

    def stiffness(n: float) -> float:
        power = overlap**n
        return float(force @ power / (power @ power))

    def misfit(n: float) -> float:
        return float(((stiffness(n) * overlap**n - force) ** 2).sum())

    # A line contact is slightly stiffer than a linear spring, and softer than two spheres.
    n = float(
        minimize_scalar(
            misfit, bounds=(1.0, 1.5), method="bounded", options={"xatol": tolerance(1e-10)}
        ).x
    )
    # The error is largest at the smallest overlap, which is between two of the forces. Therefore
    # use a finer grid that begins at half of the first force.
    fine = np.linspace(0.5 * force[0], force[-1], points(400) * force.size)
    overlap_fine = tabulated_overlap(
        law, fine, effective_modulus, relative_radius, effective_radius
    )
    error = np.abs(stiffness(n) * overlap_fine**n / fine - 1.0)[overlap_fine >= _TABULATED_FROM]
    return PowerLaw(stiffness(n), n, float(error.max()))
