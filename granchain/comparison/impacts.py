"""Comparison of contact laws with measured impacts of two bodies.

Compared are the restitution, the contact time, and the size of the indentation.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from granchain import theory
from granchain.certificates.examples import factors_of
from granchain.comparison.printed import (
    YIELD_STRESS_RATIO,
    MeasuredImpact,
    MeasuredImpacts,
    read_impacts,
)
from granchain.contact import laws as known_laws
from granchain.contact.law import ContactLaw
from granchain.contact.pair import PAIR_QUANTITIES, Pair
from granchain.errors import CaseError, GranchainError, LawError
from granchain.keys import Problems, shown
from granchain.two_body import impact

# Quantities that can be fitted, one per law.
FITS = {
    YIELD_STRESS_RATIO: "hardness divided by yield stress",
    "damping": "the damping constant of a law: its chi, alpha, or restitution",
}
# The ratio is searched up to a factor of 4 on both sides of 2.8, the hardness of metals divided by
# their yield stress (Johnson 1985, Contact Mechanics, sec. 6.3, doi:10.1017/CBO9781139171731).
RATIOS = (0.7, 11.2)
# Range of a damping coefficient, in units of the one whose force at the largest overlap and the
# impact speed equals Hertz's. Below the first value, the restitution differs from 1 by less than
# any measurement. At the last value it is below 0.1 (measured: kuwabara-kono 0.03).
DAMPINGS = (1e-4, 10.0)
RESTITUTIONS = (0.01, 1.0)
# Number of parameter values at which a minimum is searched before it is refined. Two minima are not
# closer than these values, as long as each has one.
STARTS = 9
# Relative accuracy of a fitted parameter. The rms changes with its square.
NEARNESS = 1e-4
# A parameter within this relative distance of its bound was not found inside.
AT_BOUND = 1e-2


@dataclass(frozen=True)
class ComparedImpact:
    """Measured value and computed value.

    `computed` is None if the law gives no value, and `problem` contains the reason.
    """

    measured: MeasuredImpact
    computed: float | None
    problem: str = ""

    @property
    def residual(self) -> float:
        """Computed minus measured value; nan if nothing is computed."""
        return math.nan if self.computed is None else self.computed - self.measured.measured


@dataclass(frozen=True)
class LawAgainstImpacts:
    """Comparison of one law with a folder of measured impacts.

    Parameters
    ----------
    law : str
        Name of the law.
    inputs : dict
        Inputs of the law.
    rows : tuple of ComparedImpact
        Compared values, in the order of the folder.
    rms : float or None
        Root mean square of computed minus measured over the rows that rank the laws. None if one of
        them has no computed value.
    parameter : str
        Fitted quantity: "yield_stress_ratio", or the name of an input. Empty without a fit.
    fitted : float or None
        Fitted value in SI units.
    unit : str
        Unit of the fitted value.
    problem : str
        Reason why nothing was compared or fitted.
    """

    law: str
    inputs: dict[str, Any]
    rows: tuple[ComparedImpact, ...]
    rms: float | None
    parameter: str = ""
    fitted: float | None = None
    unit: str = ""
    problem: str = ""


@dataclass(frozen=True)
class ImpactComparison:
    """Comparison of contact laws with measured impacts.

    Parameters
    ----------
    folder : str
        Folder with the measurements.
    data : MeasuredImpacts
        Measurements in the folder.
    fit : str or None
        Quantity that was fitted for each law.
    laws : dict of str to LawAgainstImpacts
        Comparison for each law name. The law with the smallest error is first; laws that cannot be
        ranked are last.

    Examples
    --------
    >>> import granchain as gc
    >>> comparison = gc.compare_impacts(["hertz"], "data/leeb-steel")
    >>> list(comparison.laws)
    ['hertz']
    """

    folder: str
    data: MeasuredImpacts
    fit: str | None
    laws: dict[str, LawAgainstImpacts] = field(default_factory=dict)

    @property
    def ranking(self) -> list[str]:
        """Names of the laws with a value in each ranking row, the nearest first.

        With a fit, only laws with a fitted value are listed.
        """
        return [
            one.law
            for one in self.laws.values()
            if one.rms is not None and (self.fit is None or one.fitted is not None)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return all data in plain types, for JSON."""
        found = {
            name: {
                "rms": of_law.rms,
                "fitted": None
                if of_law.fitted is None
                else {"name": of_law.parameter, "value": of_law.fitted, "unit": of_law.unit},
                "inputs": of_law.inputs,
                "rows": [
                    {
                        part: getattr(row.measured, part)
                        for part in ("case", "quantity", "measured", "uncertainty")
                    }
                    | {"computed": row.computed, "problem": row.problem or None}
                    for row in of_law.rows
                ],
                "problem": of_law.problem or None,
            }
            for name, of_law in self.laws.items()
        }
        about = self.data.about
        return {
            "folder": self.folder,
            "title": about.title,
            "kind": about.kind,
            "fit": self.fit,
            "ranking": self.ranking,
            "laws": found,
        }


def compare_impacts(
    laws: str | Iterable[str] | Mapping[str, Mapping[str, Any]] | None,
    data: str | os.PathLike[str],
    fit: str | None = None,
    pair: Mapping[str, float] | None = None,
) -> ImpactComparison:
    """Compare contact laws with measured impacts.

    Parameters
    ----------
    laws : str, iterable of str, mapping or None
        Names of laws, or a mapping from names to inputs. None selects all laws.
    data : str or path
        Folder with `about.toml` and `impacts.csv`.
    fit : str, optional
        "yield_stress_ratio" (hardness divided by yield stress) or "damping" (the damping constant
        of a law). It is fitted for each law to the rows with use = "fit", by least squares.
    pair : mapping, optional
        Quantities of the two bodies, in SI units, that the folder does not specify.

    Returns
    -------
    ImpactComparison

    Raises
    ------
    CaseError
        If a law, fit, or input is unknown, or if the folder already specifies a quantity.
    FileError, TraceError
        If the folder is missing, or if a value in it has no unit or no source.

    Notes
    -----
    If a law cannot compute a value, the reason is reported. Values are never extrapolated.

    Examples
    --------
    >>> import granchain as gc
    >>> comparison = gc.compare_impacts({"ma-liu": {"psi": 2.84}}, "data/leeb-steel")
    >>> comparison.laws["ma-liu"].law
    'ma-liu'
    """
    known = known_laws()
    asked = _inputs_by_law(laws, known)
    if fit is not None and fit not in FITS:
        listed = ", ".join(f'"{name}" ({meaning})' for name, meaning in FITS.items())
        raise CaseError(f'compare_impacts: fit: "{fit}" is unknown. It must be one of: {listed}.')
    measured = read_impacts(data)
    problems = Problems()
    for name in pair or {}:
        problems.check(
            name in PAIR_QUANTITIES,
            f"compare_impacts: pair.{name}",
            "unknown quantity",
            f"The quantities are {', '.join(PAIR_QUANTITIES)}",
            "Remove it",
        )
        problems.check(
            any(name not in row.stated for row in measured.rows),
            f"compare_impacts: pair.{name}",
            "the folder already specifies this quantity",
            "A quantity may be given here only if the folder does not specify it",
            "Remove it, or change it in the folder",
        )
    problems.close()
    if pair:
        Pair(**pair)  # raises an error for values that are not above 0
        measured = replace(
            measured,
            rows=tuple(replace(row, stated={**pair, **row.stated}) for row in measured.rows),
        )
    found = [
        _law_compared(known[name], dict(inputs), measured, fit) for name, inputs in asked.items()
    ]
    found.sort(
        key=lambda one: (
            fit is not None and one.fitted is None,
            math.inf if one.rms is None else one.rms,
        )
    )
    return ImpactComparison(os.fspath(data), measured, fit, {one.law: one for one in found})


def _inputs_by_law(
    laws: str | Iterable[str] | Mapping[str, Mapping[str, Any]] | None, known: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """Return each requested law with its inputs."""
    if laws is None:
        return {name: {} for name in known}
    asked = (
        dict(laws)
        if isinstance(laws, Mapping)
        else {name: {} for name in ([laws] if isinstance(laws, str) else laws)}
    )
    problems = Problems()
    for name, inputs in asked.items():
        if name not in known:
            advice = ""
            problems.add(
                "compare_impacts: law",
                f"{shown(name)} is unknown",
                f"The laws are {', '.join(known)}",
                advice,
                name,
                list(known),
            )
            continue
        own = {quantity.name: quantity for quantity in known[name].inputs}
        for key, value in inputs.items():
            wrong = (
                own[key].problem(value)
                if key in own
                else f"unknown input. {name} has the inputs {', '.join(own) or 'none'}. Remove it."
            )
            problems.repeat([f"compare_impacts: {name}.{key}: {wrong}"] if wrong else [])
    requirement = "Give the name of at least one law, or None for all laws"
    problems.check(bool(asked), "compare_impacts: laws", "missing", requirement)
    problems.close()
    return asked


# --------------------------------------------------------------------------------------------------
# One law


class NotComputable(GranchainError):  # noqa: N818
    """Error if a law does not give a value. The message contains the reason."""


def _law_compared(
    law: type[ContactLaw], asked: dict[str, Any], data: MeasuredImpacts, fit: str | None
) -> LawAgainstImpacts:
    """Compare a law with all rows. Fit its parameter if requested."""
    inputs = {
        quantity.name: data.inputs[quantity.name]
        for quantity in law.inputs
        if quantity.name in data.inputs
    } | asked
    parameter, fitted, unit, problem, ratio = "", None, "", "", None
    if fit is not None:
        try:
            parameter, fitted, unit = _fitted_parameter(law, inputs, data, fit)
        except NotComputable as error:
            problem = str(error)
        if parameter == YIELD_STRESS_RATIO:
            ratio = fitted
        elif fitted is not None:
            inputs[parameter] = fitted
    rows = tuple(_row_compared(law, inputs, row, ratio) for row in data.rows)
    # over the rows that rank the laws
    residuals = np.array([row.residual for row in rows if row.measured.use != "show"])
    known = residuals.size and np.isfinite(residuals).all()
    rms = float(np.sqrt(np.mean(residuals * residuals))) if known else None
    return LawAgainstImpacts(law.name, inputs, rows, rms, parameter, fitted, unit, problem)


def _missing(law: type[ContactLaw], known: Iterable[str]) -> str:
    """Return a message if a law needs inputs that are not known, or ""."""
    missing = [
        quantity.name for quantity in law.inputs if quantity.required and quantity.name not in known
    ]
    return (
        f"the law needs {' and '.join(missing)}, which the folder does not specify"
        if missing
        else ""
    )


def _row_compared(
    law: type[ContactLaw],
    inputs: Mapping[str, Any],
    row: MeasuredImpact,
    ratio: float | None = None,
) -> ComparedImpact:
    """Return the value of a law for one row, or the reason why there is none."""
    pair, speed = _pair_of_row(row, ratio), row.stated.get("speed")
    lacking = [name for name in ("effective_radius", "effective_mass") if not pair.has(name)]
    if problem := _missing(law, inputs):
        return ComparedImpact(row, None, problem)
    if row.quantity == "contact_diameter" and not law.has_contact_radius():
        return ComparedImpact(
            row, None, f"the source of {law.name} does not specify a contact radius"
        )
    if speed is None:
        return ComparedImpact(row, None, "the speed is not specified")
    if lacking:
        return ComparedImpact(row, None, f"the {lacking[0]} of the two bodies is not specified")
    try:
        found = impact(law=law, pair=pair, speed=speed, **inputs)
    except LawError as error:
        return ComparedImpact(row, None, str(error))
    except (GranchainError, ArithmeticError) as error:
        sentence = str(error).removeprefix(f"impact with {law.name} at {speed:g} m/s: ")
        return ComparedImpact(row, None, f"outside the range of {law.name}: {sentence}")
    if row.quantity == "contact_diameter":
        return ComparedImpact(row, 2.0 * found.contact_radius)  # type: ignore[operator]
    return ComparedImpact(row, float(getattr(found, row.quantity)))


def _pair_of_row(row: MeasuredImpact, ratio: float | None = None) -> Pair:
    """Return the two bodies of a row.

    If only the hardness was measured, the yield stress is a fraction of it.
    """
    stated = {name: value for name, value in row.stated.items() if name in PAIR_QUANTITIES}
    if ratio is None and "yield_stress" not in stated:
        ratio = row.stated.get(YIELD_STRESS_RATIO)
    if ratio is not None and "hardness" in stated:
        stated["yield_stress"] = stated["hardness"] / ratio
    return Pair(**stated)


# --------------------------------------------------------------------------------------------------
# One parameter


def _fitted_parameter(
    law: type[ContactLaw], inputs: Mapping[str, Any], data: MeasuredImpacts, fit: str
) -> tuple[str, float, str]:
    """Fit a parameter of a law to the rows with use = "fit" by least squares.

    Return its name, value, and unit.

    Raises
    ------
    NotComputable
        If the law has no such parameter, or if no value of it gives a result in each of these rows.
    """
    rows = [row for row in data.rows if row.use == "fit"]
    if not rows:
        raise NotComputable('nothing to fit to: no row of the folder has use = "fit"')
    if fit == YIELD_STRESS_RATIO:
        name, unit, low, high = YIELD_STRESS_RATIO, "1", *RATIOS
        _check_yield_stress(law, inputs, rows)
    else:
        name, unit, low, high = _damping_of(law, rows[0])
    if missing := _missing(law, (*inputs, name)):
        raise NotComputable(missing)
    why = ""

    def mean_square(value: float) -> float:
        """Return the mean square over the rows, infinite if one has no value."""
        nonlocal why
        trial, ratio = (
            ({**inputs, name: value}, None) if name != YIELD_STRESS_RATIO else (inputs, value)
        )
        total = 0.0
        for row in rows:
            one = _row_compared(law, trial, row, ratio)
            if one.computed is None:
                why = one.problem
                return math.inf
            total += one.residual**2
        return total / len(rows)

    value = minimum_of(mean_square, low, high)
    if value is None:
        raise NotComputable(
            f"no {name} from {low:.3g} to {high:.3g} {unit} gives a result in each row with use "
            f'= "fit": {why}'
        )
    return name, value, unit


def _check_yield_stress(
    law: type[ContactLaw], inputs: Mapping[str, Any], rows: Iterable[MeasuredImpact]
) -> None:
    """Raise NotComputable if the yield stress has no effect, or without a hardness."""
    given = SimpleNamespace(
        **{q.name: inputs.get(q.name, None if q.required else q.default) for q in law.inputs}
    )
    for row in rows:
        if "hardness" not in row.stated:
            raise NotComputable(
                f"{row.case}: the hardness is not specified, and the yield stress is a fraction "
                "of it"
            )
        try:
            values = [law.coefficients_of(_pair_of_row(row, ratio), given) for ratio in (2.0, 3.0)]
        except (GranchainError, ArithmeticError, TypeError, ValueError, AttributeError):
            continue
        if all(map(np.array_equal, *values)):
            raise NotComputable(f"nothing to fit: {law.name} does not use the yield stress")
        return


def _damping_of(law: type[ContactLaw], row: MeasuredImpact) -> tuple[str, str, float, float]:
    """Return name, unit, and range of the only damping constant of a law.

    A coefficient is searched about the value whose force at the largest overlap of the elastic
    impact, at the impact speed, equals Hertz's.
    """
    for quantity in law.inputs:
        if quantity.name == "restitution":
            return quantity.name, "1", *RESTITUTIONS
        if quantity.name in ("chi", "alpha"):
            try:
                pair = _pair_of_row(row)
                elastic = theory.elastic_impact(
                    float(pair.hertz_stiffness), float(pair.effective_mass), row.stated["speed"]
                )
            except (LawError, KeyError) as error:
                raise NotComputable(f"{row.case}: {error}") from error
            scales = {
                "N": elastic.max_force,
                "m": elastic.max_overlap,
                "s": elastic.max_overlap / row.stated["speed"],
            }
            scale = math.prod(scales[name] ** power for name, power in factors_of(quantity.unit))
            return quantity.name, quantity.unit, DAMPINGS[0] * scale, DAMPINGS[1] * scale
    raise NotComputable(f"nothing to fit: {law.name} has no damping constant among its inputs")


def minimum_of(square: Callable[[float], float], low: float, high: float) -> float | None:
    """Return where a function of one positive number has its minimum, or None.

    The result is None if the function is finite nowhere.

    A bounded search starts next to the smallest of some values, which are evenly spaced in the
    logarithm. Outside the range of the law the function is infinite, so a search over the complete
    range may miss the finite part.
    """
    from scipy.optimize import minimize_scalar

    places = np.geomspace(low, high, STARTS)
    values = np.array([square(float(place)) for place in places])
    if not np.isfinite(values).any():
        return None
    k = int(np.argmin(values))
    inside = np.log(places[max(k - 1, 0)]), np.log(places[min(k + 1, STARTS - 1)])
    # a finite number instead of infinity, so that parabolas through it are finite
    worst = 1e6 * (1.0 + float(values[np.isfinite(values)].max()))
    found = minimize_scalar(
        lambda x: min(square(math.exp(x)), worst),
        bounds=inside,
        method="bounded",
        options={"xatol": NEARNESS},
    )
    best = math.exp(float(found.x))
    return best if square(best) <= values[k] else float(places[k])


def at_bound(fitted_law: LawAgainstImpacts) -> bool:
    """Return whether a fitted ratio or restitution is at a bound of its range."""
    bounds = {YIELD_STRESS_RATIO: RATIOS, "restitution": RESTITUTIONS}.get(fitted_law.parameter)
    return (
        fitted_law.fitted is not None
        and bounds is not None
        and any(abs(fitted_law.fitted / bound - 1.0) < AT_BOUND for bound in bounds)
    )
