"""Comparison of contact laws with measured impacts of two bodies.

The comparison includes the restitution, the contact time, and the size of the indentation.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from granchain import theory
from granchain.contact import laws as known_laws
from granchain.contact.examples import factors_of
from granchain.contact.law import ContactLaw
from granchain.contact.pair import PAIR_QUANTITIES, Pair
from granchain.errors import CaseError, GranchainError, LawError, TraceError
from granchain.keys import Problems, read_table
from granchain.measured.impacts_folder import (
    MEASURABLE,
    STATED_QUANTITIES,
    YIELD_STRESS_RATIO,
    ImpactsTable,
    MeasuredImpact,
    MeasuredImpacts,
    read_impacts,
)
from granchain.measured.ranking import is_law
from granchain.plain_data import canonical, plain_data
from granchain.store import Answer, Label
from granchain.two_body import simulate_impact

# Quantities that can be fitted, one per law.
FITS = {
    YIELD_STRESS_RATIO: "hardness divided by yield stress",
    "damping": "the damping constant of a law: its chi, alpha, or restitution",
}
# The ratio is searched up to a factor of 4 on both sides of 2.8, the hardness of metals divided by
# their yield stress (Johnson 1985, Contact Mechanics, sec. 6.3, doi:10.1017/CBO9781139171731).
RATIOS = (0.7, 11.2)
# Range of a damping coefficient. Its unit is the coefficient with which the damping force, at the
# largest overlap and the impact speed, equals the Hertz force. Below the first value, the
# restitution differs from 1 by less than any measurement. At the last value it is below 0.1
# (measured: kuwabara-kono 0.03).
DAMPINGS = (1e-4, 10.0)
RESTITUTIONS = (0.01, 1.0)
# Number of parameter values at which a minimum is searched before it is refined. Two minima are
# found separately if there is a parameter value near each of them.
STARTS = 9
# Relative accuracy of a fitted parameter. The rms changes with its square.
NEARNESS = 1e-4


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


# Dimensions of the variables of rows, and of rows and laws.
_ROWS, _ROWS_AND_LAWS = ("row",), ("row", "law")


def _value_labels() -> dict[str, Label]:
    """Return the labels of measured and computed values, and of the quantities of the bodies."""
    labels: dict[str, Label] = {}
    for name, (unit, meaning) in MEASURABLE.items():
        labels |= {
            f"{name}_measured": Label(_ROWS, unit, f"{meaning}, measured"),
            f"{name}_uncertainty": Label(_ROWS, unit, f"{meaning}, uncertainty of the measurement"),
            f"{name}_computed": Label(_ROWS_AND_LAWS, unit, f"{meaning}, computed"),
        }
    meanings = {name: name.replace("_", " ") for name in STATED_QUANTITIES}
    meanings |= {
        "speed": "impact speed",
        YIELD_STRESS_RATIO: "hardness divided by yield stress",
    }
    return labels | {
        name: Label(_ROWS, unit, f"{meanings[name]} of the measured impact")
        for name, unit in STATED_QUANTITIES.items()
    }


class ImpactComparison(Answer):
    """Comparison of contact laws with measured impacts.

    Values along `row` belong to the rows of `impacts.csv`, and values along `law` to the laws. The
    law with the smallest error is first, and laws that cannot be ranked are last. A value that does
    not exist is nan. `comparison["law"]` contains the names of the laws.

    Attributes
    ----------
    kind, who : str
        "measured" or "printed", and the authors of the measurements.
    fit : str
        Quantity that was fitted for each law, or "".
    rms : (n_laws,) array
        Root mean square of computed minus measured value over the rows that rank the laws, in the
        unit of their quantity.
    parameter, inputs, problem : (n_laws,) array of str
        Fitted quantity, inputs as JSON, and the reason why nothing was compared or fitted. The
        fitted value is a variable with the names of law and quantity, such as
        `comparison["ma-liu.yield_stress_ratio"]`.
    row : (n_rows,) array
        Numbers of the rows, counted from 1.
    case_name, quantity, use, source, doubt : (n_rows,) array of str
        Columns of `impacts.csv`.
    restitution_measured, restitution_uncertainty, restitution_computed : array
        Values of the rows that measure the restitution [1]: measured with uncertainty (n_rows,) and
        computed (n_rows, n_laws). `duration` [s] and `contact_diameter` [m] have such variables
        too, if they were measured.
    row_problem : (n_rows, n_laws) array of str
        Reason why a law gives no value.
    speed, effective_radius, ... : (n_rows,) array
        Specified quantities of the impacts.

    Examples
    --------
    >>> import granchain as gc
    >>> comparison = gc.compare_impacts(["hertz"], "data/leeb-steel")
    >>> comparison["law"].tolist()
    ['hertz']
    """

    labels: ClassVar = {
        "kind": Label((), "", "how the numbers were obtained: measured or printed"),
        "who": Label((), "", "authors of the measurements"),
        "fit": Label((), "", "quantity that was fitted for each law"),
        "law": Label(("law",), "", "contact law, the nearest first"),
        "rms": Label(("law",), "1", "root mean square error over the rows that rank the laws"),
        "parameter": Label(("law",), "", "fitted quantity of the law"),
        "inputs": Label(("law",), "", "inputs of the law, as JSON"),
        "problem": Label(("law",), "", "reason why nothing was compared or fitted"),
        "row": Label(_ROWS, "1", "number of the row, counted from 1"),
        "case_name": Label(_ROWS, "", "name of the measured impact"),
        "quantity": Label(_ROWS, "", "measured quantity"),
        "use": Label(_ROWS, "", "purpose of the row: fit, rank, or show"),
        "source": Label(_ROWS, "", "name of the source"),
        "doubt": Label(_ROWS, "", "reason why the value may be wrong"),
        **_value_labels(),
        "row_problem": Label(_ROWS_AND_LAWS, "", "reason why the law gives no value"),
    }

    @cached_property
    def about(self) -> ImpactsTable:
        """Description and sources of the measurements.

        Raises
        ------
        TraceError
            If the description in a file is damaged.
        """
        problems = Problems()
        document = json.loads(self.provenance["impacts_about_json"])
        about: ImpactsTable | None = read_table(ImpactsTable, "", document, problems)
        if about is None or problems.sentences:
            raise TraceError([f"impacts: {sentence}" for sentence in problems.sentences])
        return about

    @property
    def works(self) -> list[tuple[str, str]]:
        """Published sources of the measurements, each with its DOI."""
        return [(work.printed, work.doi) for work in self.about.source]

    @cached_property
    def rows(self) -> tuple[MeasuredImpact, ...]:
        """Measured value of each row."""
        return tuple(map(self._row, range(len(self.row))))

    @cached_property
    def laws(self) -> dict[str, LawAgainstImpacts]:
        """Comparison for each law name, in the order of the laws."""
        return {name: self._law(j) for j, name in enumerate(self["law"].tolist())}

    @property
    def ranking(self) -> list[str]:
        """Names of the laws with a value in each ranking row, the nearest first.

        With a fit, only laws with a fitted value are listed.
        """
        return [
            law.law
            for law in self.laws.values()
            if law.rms is not None and (not self.fit or law.fitted is not None)
        ]

    def _row(self, i: int) -> MeasuredImpact:
        """Return the measured value of a row."""
        quantity = self.quantity[i]
        stated = [name for name in STATED_QUANTITIES if name in self.variables]
        return MeasuredImpact(
            case=self.case_name[i],
            measured=self[f"{quantity}_measured"][i].item(),
            uncertainty=_finite(self[f"{quantity}_uncertainty"][i]),
            stated={name: self[name][i].item() for name in stated if not np.isnan(self[name][i])},
            **{name: self[name][i] for name in ("quantity", "use", "source", "doubt")},
        )

    def _law(self, j: int) -> LawAgainstImpacts:
        """Return the comparison of a law."""
        name, parameter = self["law"][j], self.parameter[j]
        fitted = self.variables.get(f"{name}.{parameter}")
        return LawAgainstImpacts(
            law=name,
            inputs=json.loads(self.inputs[j]),
            rows=tuple(
                ComparedImpact(
                    row,
                    _finite(self[f"{row.quantity}_computed"][i, j]),
                    self.row_problem[i, j],
                )
                for i, row in enumerate(self.rows)
            ),
            rms=_finite(self.rms[j]),
            parameter=parameter,
            fitted=None if fitted is None else fitted.data.item(),
            unit="" if fitted is None else fitted.unit,
            problem=self.problem[j],
        )


def _finite(value: Any) -> float | None:
    """Return a number, or None for nan."""
    return float(value) if math.isfinite(value) else None


def _comparison_of_impacts(
    data: MeasuredImpacts, fit: str | None, compared: Sequence[LawAgainstImpacts]
) -> ImpactComparison:
    """Return the comparison of all laws with the measurements."""
    rows = data.rows
    ranked = {row.quantity for row in rows if row.use != "show"}
    labels = {
        "rms": ImpactComparison.labels["rms"]._replace(
            unit=next((MEASURABLE[name][0] for name in ranked), "1")
        )
    }
    numbers: dict[str, Any] = {
        name: [row.stated.get(name) for row in rows]
        for name in STATED_QUANTITIES
        if any(name in row.stated for row in rows)
    }
    quantities = np.array([row.quantity for row in rows])
    measured, uncertainty = np.array([(row.measured, row.uncertainty) for row in rows], float).T
    computed = np.array([[row.computed for row in law.rows] for law in compared], dtype=float)
    for name in dict.fromkeys(quantities.tolist()):
        measures = quantities == name
        numbers |= {
            f"{name}_measured": np.where(measures, measured, math.nan),
            f"{name}_uncertainty": np.where(measures, uncertainty, math.nan),
            f"{name}_computed": np.where(measures, computed, math.nan).T,
        }
    for law in compared:
        if law.fitted is not None:
            key = f"{law.law}.{law.parameter}"
            numbers[key] = law.fitted
            labels[key] = Label((), law.unit or "1", f"fitted {law.parameter} of {law.law}")
    numbers["rms"] = [law.rms for law in compared]
    return ImpactComparison(
        {
            **{name: np.array(values, dtype=float) for name, values in numbers.items()},
            "kind": data.about.kind,
            "who": data.about.who,
            "fit": fit or "",
            "law": [law.law for law in compared],
            "parameter": [law.parameter for law in compared],
            "inputs": [canonical(plain_data(law.inputs), ordered=True) for law in compared],
            "problem": [law.problem for law in compared],
            "row": np.arange(len(rows)) + 1,
            "case_name": [row.case for row in rows],
            **{
                name: [getattr(row, name) for row in rows]
                for name in ("quantity", "use", "source", "doubt")
            },
            "row_problem": [[law.rows[i].problem for law in compared] for i in range(len(rows))],
        },
        law=", ".join(law.law for law in compared),
        title=data.about.title,
        labels=labels,
        provenance={"impacts_about_json": data.about.model_dump_json(exclude_defaults=True)},
    )


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
    if fit is not None and fit not in FITS:
        listed = ", ".join(f'"{name}" ({meaning})' for name, meaning in FITS.items())
        raise CaseError(f'compare_impacts: fit: "{fit}" is unknown. It must be one of: {listed}.')
    measured, problems = read_impacts(data), Problems()
    requested = _inputs_by_law(laws, problems)
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
    compared = [
        _law_compared(known_laws()[name], dict(inputs), measured, fit)
        for name, inputs in requested.items()
    ]
    compared.sort(
        key=lambda comparison: (
            fit is not None and comparison.fitted is None,
            math.inf if comparison.rms is None else comparison.rms,
        )
    )
    return _comparison_of_impacts(measured, fit, compared)


def _inputs_by_law(
    laws: str | Iterable[str] | Mapping[str, Mapping[str, Any]] | None, problems: Problems
) -> dict[str, Mapping[str, Any]]:
    """Return each requested law with its inputs."""
    names = [laws] if isinstance(laws, str) else known_laws() if laws is None else laws
    requested = dict(laws) if isinstance(laws, Mapping) else {key: {} for key in names}
    for name, inputs in requested.items():
        if is_law("compare_impacts: law", name, problems):
            quantities = {quantity.name: quantity for quantity in known_laws()[name].inputs}
            for key, value in inputs.items():
                wrong = (
                    quantities[key].problem(value)
                    if key in quantities
                    else f"unknown input. {name} has the inputs {', '.join(quantities) or 'none'}. "
                    "Remove it."
                )
                problems.repeat([f"compare_impacts: {name}.{key}: {wrong}"] if wrong else [])
    requirement = "Give the name of at least one law, or None for all laws"
    problems.check(bool(requested), "compare_impacts: laws", "missing", requirement)
    return requested


# --------------------------------------------------------------------------------------------------
# One law


class NotComputable(GranchainError):  # noqa: N818
    """Error if a law does not give a value. The message contains the reason."""


def _law_compared(
    law: type[ContactLaw], requested: dict[str, Any], data: MeasuredImpacts, fit: str | None
) -> LawAgainstImpacts:
    """Compare a law with all rows. Fit its parameter if requested."""
    inputs = {
        quantity.name: data.inputs[quantity.name]
        for quantity in law.inputs
        if quantity.name in data.inputs
    } | requested
    parameter, fitted, unit, problem = "", None, "", ""
    if fit is not None:
        try:
            parameter, fitted, unit = _fitted_parameter(law, inputs, data, fit)
        except NotComputable as error:
            problem = str(error)
    numbers = inputs if fitted is None else {**inputs, parameter: fitted}
    rows = tuple(_row_compared(law, numbers, row) for row in data.rows)
    # over the rows that rank the laws
    residuals = np.array([row.residual for row in rows if row.measured.use != "show"])
    all_computed = residuals.size and np.isfinite(residuals).all()
    rms = float(np.sqrt(np.mean(residuals * residuals))) if all_computed else None
    inputs = {name: value for name, value in numbers.items() if name != YIELD_STRESS_RATIO}
    return LawAgainstImpacts(law.name, inputs, rows, rms, parameter, fitted, unit, problem)


def _missing(law: type[ContactLaw], available: Iterable[str]) -> str:
    """Return a message if a law needs inputs that are not known, or ""."""
    missing = [
        quantity.name
        for quantity in law.inputs
        if quantity.required and quantity.name not in available
    ]
    return (
        f"the law needs {' and '.join(missing)}, which the folder does not specify"
        if missing
        else ""
    )


def _row_compared(
    law: type[ContactLaw], numbers: Mapping[str, Any], row: MeasuredImpact
) -> ComparedImpact:
    """Return the value of a law for one row, or the reason why there is none.

    `numbers` are the inputs of the law, and possibly the ratio of hardness to yield stress.
    """
    inputs = {name: value for name, value in numbers.items() if name != YIELD_STRESS_RATIO}
    pair = _pair_of_row(row, numbers.get(YIELD_STRESS_RATIO))
    speed = row.stated.get("speed")
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
        impact = simulate_impact(law=law, pair=pair, speed=speed, **inputs)
    except LawError as error:
        return ComparedImpact(row, None, str(error))
    except (GranchainError, ArithmeticError) as error:
        sentence = str(error).removeprefix(f"impact with {law.name} at {speed:g} m/s: ")
        return ComparedImpact(row, None, f"outside the range of {law.name}: {sentence}")
    if row.quantity == "contact_diameter":
        return ComparedImpact(row, 2.0 * impact.contact_radius)
    return ComparedImpact(row, float(getattr(impact, row.quantity)))


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
        total = 0.0
        for row in rows:
            compared = _row_compared(law, {**inputs, name: value}, row)
            if compared.computed is None:
                why = compared.problem
                return math.inf
            total += compared.residual**2
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
    law_inputs = SimpleNamespace(
        **{q.name: inputs.get(q.name, None if q.required else q.default) for q in law.inputs}
    )
    for row in rows:
        if "hardness" not in row.stated:
            raise NotComputable(
                f"{row.case}: the hardness is not specified, and the yield stress is a fraction "
                "of it"
            )
        try:
            values = [
                law.coefficients_of(_pair_of_row(row, ratio), law_inputs) for ratio in (2.0, 3.0)
            ]
        except (GranchainError, ArithmeticError, TypeError, ValueError, AttributeError):
            continue
        if all(map(np.array_equal, *values)):
            raise NotComputable(f"nothing to fit: {law.name} does not use the yield stress")
        return


def _damping_of(law: type[ContactLaw], row: MeasuredImpact) -> tuple[str, str, float, float]:
    """Return name, unit, and range of the only damping constant of a law.

    The search for a coefficient is centred on the value with which the damping force, at the
    largest overlap of the elastic impact and the impact speed, equals the Hertz force.
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

    The result is None if the function has no finite value.

    A bounded search starts next to the smallest of some values, which are evenly spaced in the
    logarithm. Outside the range of the law the function is infinite, so a search over the complete
    range may miss the finite part.
    """
    from scipy.optimize import minimize_scalar

    arguments = np.geomspace(low, high, STARTS)
    values = np.array([square(float(argument)) for argument in arguments])
    if not np.isfinite(values).any():
        return None
    k = int(np.argmin(values))
    inside = np.log(arguments[max(k - 1, 0)]), np.log(arguments[min(k + 1, STARTS - 1)])
    # a finite number instead of infinity, so that the parabolas of the search are finite
    worst = 1e6 * (1.0 + float(values[np.isfinite(values)].max()))
    minimum = minimize_scalar(
        lambda x: min(square(math.exp(x)), worst),
        bounds=inside,
        method="bounded",
        options={"xatol": NEARNESS},
    )
    best = math.exp(float(minimum.x))
    return best if square(best) <= values[k] else float(arguments[k])
