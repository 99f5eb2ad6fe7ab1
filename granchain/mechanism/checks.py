"""Numbers of a mechanism's run: a table of checks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from granchain.case.mechanism import MechanismCase, SliderCrankCase
from granchain.contact.pair import linearised_plastic_stiffness, ma_liu_points
from granchain.errors import GranchainError
from granchain.mechanism.linkages import Ideal, ideal
from granchain.mechanism.setup import dimensions_of, surfaces_of
from granchain.run_end import relative_residual
from granchain.store import Result

# Crank angles [deg] between which the force in the slot is compared with the one without play, and
# between which the pin changes sides:
# after its acceleration has changed sign, before the outer dead centre. Autiero et al. 2022,
# figures 11 and 14, show this part.
STEADY, CHANGE = (30.0, 80.0), (60.0, 140.0)


class Check(NamedTuple):
    """A number of a run.

    Parameters
    ----------
    what : str
        In words.
    value : float
        nan where there is none.
    unit : str
    """

    what: str
    value: float
    unit: str


# What the checks look into.
VARIABLES_CHECKED = (
    *("time", "crank_angle", "slider_acceleration", "contact_force", "penetration", "energy_time"),
    *(
        f"energy_{name}"
        for name in ("kinetic", "plastic", "viscous", "friction", "external", "residual")
    ),
)


def checks_of(result: Result) -> list[Check]:
    """The table of checks of a mechanism's result.

    Raises
    ------
    CaseError
        Where this version cannot read its case: a law that is not installed, say.
    GranchainError
        Where the result is not that of a whole run of a mechanism.
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
    return [
        *(
            slider_crank(case, result)
            if isinstance(case, SliderCrankCase)
            else scotch_yoke(case, result)
        ),
        Check("work of the crank", lost["external"], "J"),
        Check("loss in the contact, damping and plastic", lost["viscous"] + lost["plastic"], "J"),
        Check("loss by friction", lost["friction"], "J"),
        Check("largest energy balance error, as a fraction of the energy supplied", residual, "1"),
    ]


def slider_crank(case: SliderCrankCase, result: Result) -> list[Check]:
    """Statics of the joint, the motion without play, and how the joint was used."""
    m, force = dimensions_of(case), result.contact_force
    outer, inner = (float(ideal(angle, m).acceleration) for angle in (0.0, math.pi))
    closed = np.count_nonzero((force[1:] > 0.0) & (force[:-1] == 0.0))
    return [
        *statics(case),
        Check("acceleration without clearance, crank at 0 deg", outer, "m/s2"),
        Check("acceleration without clearance, crank at 180 deg", inner, "m/s2"),
        Check("smallest slider acceleration", float(result.slider_acceleration.min()), "m/s2"),
        Check("largest slider acceleration", float(result.slider_acceleration.max()), "m/s2"),
        Check("largest contact force", float(force.max()), "N"),
        Check("largest penetration", float(result.penetration.max()), "m"),
        Check("fraction of samples in contact", float((force > 0.0).mean()), "1"),
        Check("number of times the joint closed", float(closed), "1"),
    ]


def statics(case: SliderCrankCase) -> list[Check]:
    """What Ma-Liu says of the joint: for a law that takes its psi and xi from it."""
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


def scotch_yoke(case: MechanismCase, result: Result) -> list[Check]:
    """The last whole revolution: where contact opens and closes, and how large the force is."""
    turned, force, depth = last_revolution(result)
    if not turned.size:
        return [Check("largest contact force", float(result.contact_force.max()), "N")]
    lost, found = gap(turned, force)
    after = force[(turned > found) & (turned < CHANGE[1])]
    impact = after[: int(np.argmax(after == 0.0))] if (after == 0.0).any() else after
    steady = (turned > STEADY[0]) & (turned < STEADY[1])
    angle = np.radians(turned) + dimensions_of(case).start
    share = force[steady] / carried(case, angle[steady])
    return [
        Check("contact lost at", lost, "deg"),
        Check("contact regained at", found, "deg"),
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
    """Crank angle from its start [deg], force [N] and penetration [m] over the last whole
    revolution; empty where there is none."""
    turned = np.degrees(result.crank_angle)
    complete = math.floor(turned[-1] / 360.0 + 1e-9)
    chosen = (
        (turned >= 360.0 * (complete - 1)) & (turned <= 360.0 * complete)
        if complete
        else np.zeros(turned.size, dtype=bool)
    )
    return (
        turned[chosen] - 360.0 * (complete - 1),
        result.contact_force[chosen],
        result.penetration[chosen],
    )


def carried(case: MechanismCase, angle: np.ndarray) -> np.ndarray:
    """Force between pin and slot without play [N]: along the line to the arc's centre, whose
    component moves the slider."""
    m = dimensions_of(case)
    motion: Ideal = ideal(angle, m)
    return np.asarray(m.slider_mass * np.abs(motion.acceleration) / np.cos(motion.rod_angle))


def gap(turned: np.ndarray, force: np.ndarray) -> tuple[float, float]:
    """Crank angles [deg] between which the pin changes sides: of the longest time without force
    within `CHANGE`, else nan."""
    inside = np.flatnonzero((turned > CHANGE[0]) & (turned < CHANGE[1]))
    open_ = np.concatenate([[False], force[inside] == 0.0, [False]])
    edges = np.flatnonzero(open_[1:] != open_[:-1]).reshape(-1, 2)
    if not len(edges):
        return math.nan, math.nan
    first, last = edges[np.argmax(edges[:, 1] - edges[:, 0])]
    return float(turned[inside[first]]), float(turned[inside[last - 1]])
