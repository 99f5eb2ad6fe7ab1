"""Table of checks for the run of a mechanism."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from granchain.contact.pair import linearised_plastic_stiffness, ma_liu_points
from granchain.errors import GranchainError
from granchain.mechanisms.case import (
    MechanismCase,
    ScotchYokeCase,
    SliderCrankCase,
    numbers_of_mechanism,
)
from granchain.mechanisms.linkages import ideal
from granchain.mechanisms.setup import dimensions_of, surfaces_of
from granchain.simulation import relative_residual
from granchain.store import Result

# Ranges of the crank angle [deg]: STEADY for the ratio of the force in the slot to the force
# without clearance, and CHANGE for the change of sides of the pin, after its acceleration has
# changed sign and before the outer dead centre. Figures 11 and 14 of Autiero et al. 2022 show this
# part of the revolution.
STEADY, CHANGE = (30.0, 80.0), (60.0, 140.0)


class Check(NamedTuple):
    """One entry of the table.

    Parameters
    ----------
    what : str
        Description.
    value : float
        Value; nan if there is none.
    unit : str
    """

    what: str
    value: float
    unit: str


# Variables that the checks use.
VARIABLES_CHECKED = (
    *("time", "crank_angle", "slider_acceleration", "contact_force", "penetration", "energy_time"),
    *(
        f"energy_{name}"
        for name in ("kinetic", "plastic", "viscous", "friction", "external", "residual")
    ),
)


def checks_of(result: Result) -> list[Check]:
    """Return the table of checks for the result of a mechanism.

    Raises
    ------
    CaseError
        If this version cannot read the case, for example because a law is not installed.
    GranchainError
        If the result is not a complete run of a mechanism.
    """
    missing = [
        name
        for name in VARIABLES_CHECKED
        if name not in result.variables or not result.variables[name].data.size
    ]
    case = result.case
    if missing or not isinstance(case, MechanismCase):
        problem = f"{', '.join(missing)} missing" if missing else "the case is a chain"
        raise GranchainError(
            f"checks: {problem}. The result must be that of a complete run of a mechanism. Run it "
            "again."
        )
    residual = relative_residual(
        {name: variable.data for name, variable in result.variables.items()}
    )
    lost = {
        name: float(getattr(result, f"energy_{name}")[-1])
        for name in ("viscous", "plastic", "friction", "external")
    }
    if isinstance(case, SliderCrankCase):
        checks = slider_crank(case, result)
    else:
        assert isinstance(case, ScotchYokeCase)
        checks = scotch_yoke(case, result)
    return [
        *checks,
        Check("work of the crank", lost["external"], "J"),
        Check("loss in the contact, damping and plastic", lost["viscous"] + lost["plastic"], "J"),
        Check("loss by friction", lost["friction"], "J"),
        Check("largest energy balance error, as a fraction of the energy supplied", residual, "1"),
    ]


def slider_crank(case: SliderCrankCase, result: Result) -> list[Check]:
    """Return checks of statics, motion without clearance, and use of the joint."""
    m, force, measures = dimensions_of(case), result.contact_force, numbers_of_mechanism(result)
    outer, inner = (float(ideal(angle, m).acceleration) for angle in (0.0, math.pi))
    return [
        *statics(case),
        Check("acceleration without clearance, crank at 0 deg", outer, "m/s2"),
        Check("acceleration without clearance, crank at 180 deg", inner, "m/s2"),
        Check("smallest slider acceleration", float(result.slider_acceleration.min()), "m/s2"),
        Check("largest slider acceleration", float(result.slider_acceleration.max()), "m/s2"),
        Check("largest contact force", measures["largest_contact_force"], "N"),
        Check("largest penetration", float(result.penetration.max()), "m"),
        Check("fraction of samples in contact", float((force > 0.0).mean()), "1"),
        Check("number of times the joint closed", measures["impacts"], "1"),
    ]


def statics(case: SliderCrankCase) -> list[Check]:
    """Return the Ma-Liu yield points of the joint, if the law has psi and xi."""
    inputs, pair = vars(case.law_inputs()), surfaces_of(case)[0].pair
    psi, xi = inputs.get("psi"), inputs.get("xi")
    if not (psi and xi and pair.has("yield_stress")):
        return []
    d_y, f_y, d_p, f_p = (float(value) for value in ma_liu_points(pair, psi, xi))
    linear = float(linearised_plastic_stiffness(pair, psi, xi))
    return [
        Check("first yield, overlap d_y", d_y, "m"),
        Check("first yield, force F_y", f_y, "N"),
        Check("full plasticity, overlap d_p", d_p, "m"),
        Check("full plasticity, force F_p", f_p, "N"),
        Check("linear stiffness K_p", linear, "N/m"),
    ]


def scotch_yoke(case: ScotchYokeCase, result: Result) -> list[Check]:
    """Return the angles of contact loss and gain, and the forces, of the last revolution."""
    degrees, force, depth = last_revolution(result)
    if not degrees.size:
        return [Check("largest contact force", float(result.contact_force.max()), "N")]
    lost, regained = contact_loss(degrees, force)
    after = force[(degrees > regained) & (degrees < CHANGE[1])]
    impact = after[: int(np.argmax(after == 0.0))] if (after == 0.0).any() else after
    steady = (degrees > STEADY[0]) & (degrees < STEADY[1])
    angle = np.radians(degrees) + dimensions_of(case).start
    share = force[steady] / case.force_without_clearance(angle[steady])
    return [
        Check("contact lost at", lost, "deg"),
        Check("contact regained at", regained, "deg"),
        Check(
            "mean ratio of force to force without clearance, 30 to 80 deg",
            float(share.mean()) if share.size else math.nan,
            "1",
        ),
        Check("largest force of the first impact", float(impact.max(initial=0.0)), "N"),
        Check("largest force", float(force.max()), "N"),
        Check("largest penetration", float(depth.max()), "m"),
    ]


def last_revolution(result: Result) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return crank angle since its start [deg], force [N], and penetration [m].

    They cover the last complete revolution, and are empty if there is none.
    """
    degrees = np.degrees(result.crank_angle)
    complete = math.floor(degrees[-1] / 360.0 + 1e-9)
    chosen = (
        (degrees >= 360.0 * (complete - 1)) & (degrees <= 360.0 * complete)
        if complete
        else np.zeros(degrees.size, dtype=bool)
    )
    return (
        degrees[chosen] - 360.0 * (complete - 1),
        result.contact_force[chosen],
        result.penetration[chosen],
    )


def contact_loss(degrees: np.ndarray, force: np.ndarray) -> tuple[float, float]:
    """Return the crank angles [deg] of contact loss and gain, when the pin changes sides.

    This is the longest time without force within `CHANGE`, or nan if there is none.
    """
    inside = np.flatnonzero((degrees > CHANGE[0]) & (degrees < CHANGE[1]))
    open_ = np.concatenate([[False], force[inside] == 0.0, [False]])
    edges = np.flatnonzero(open_[1:] != open_[:-1]).reshape(-1, 2)
    if not len(edges):
        return math.nan, math.nan
    first, last = edges[np.argmax(edges[:, 1] - edges[:, 0])]
    return float(degrees[inside[first]]), float(degrees[inside[last - 1]])
