"""Impacts of two bodies for several laws, speeds, and inputs, as a study Dataset."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.contact import laws as known_laws
from granchain.contact.pair import Pair
from granchain.errors import CaseError, GranchainError
from granchain.keys import Problems, brief
from granchain.material import Material
from granchain.plain_data import canonical, plain_data
from granchain.store.answer import study_attributes
from granchain.store.dataset import dataset_of
from granchain.store.schema import Variable, texts
from granchain.two_body import IMPACT_SCALARS, OF_PLATE, pair_and_impedance, simulate_impact

if TYPE_CHECKING:
    import xarray

# Scalars of an ImpactResult by the names of a dataset. The effective restitution has a different
# name than the input, which is the nominal restitution.
SCALAR_NAMES = {
    "delivered_restitution" if name == "restitution" else name: name for name in IMPACT_SCALARS
}
# Scalars of an impact on a plate.
PLATE_NAMES = SCALAR_NAMES | {name: name for name in OF_PLATE}
# Keys of `vary` that are not inputs of a law, with their unit and meaning.
VARIED = {"speed": ("m/s", "approach speed"), "plate.thickness": ("m", "thickness of the plate")}


def impacts(
    laws: str | Sequence[str],
    pair: Pair | Mapping[str, float] | None,
    vary: Mapping[str, Sequence[float]],
    material: str | Material | None = None,
    *,
    plate: Mapping[str, Any] | None = None,
    **inputs: Any,
) -> xarray.Dataset:
    """Compute impacts of two bodies for several laws, speeds, and inputs of laws.

    Parameters
    ----------
    laws : str or sequence of str
        Names of laws.
    pair : Pair, mapping of str to float, or None
        The two bodies, as for `impact`.
    vary : mapping of str to sequence of float
        Values of "speed" [m/s], of "plate.thickness" [m], or of inputs of a law, such as
        "restitution". All combinations are computed.
    material : str or Material, optional
        Material of the two bodies, as for `impact`.
    plate : mapping, optional
        Plate that a sphere strikes, as for `impact`: its material, and its thickness [m], if it is
        not varied.
    **inputs
        Speed, if it is not varied, and inputs that all impacts share. Each law uses the inputs that
        it has.

    Returns
    -------
    xarray.Dataset
        Scalars of an ImpactResult with their units, with the dimensions "law" and each key of
        `vary`. The restitution is named `delivered_restitution`. If there is no impact, the values
        are nan and `reason` gives the reason: the law has no such input, the value is out of range,
        or the bodies stay together. `figures.study_curves`, with lines="law", and
        `figures.study_map` plot it.

    Raises
    ------
    CaseError
        If a law is unknown, if no law has a key, if values are not finite numbers, or if the speed
        is missing.

    Examples
    --------
    >>> import granchain as gc
    >>> pair = {"effective_radius": 2.5e-3, "effective_mass": 2e-3}
    >>> study = gc.impacts("flores", pair, {"speed": [0.5, 1.0]}, "steel-316", restitution=0.8)
    >>> study["delivered_restitution"].dims
    ('law', 'speed')
    """
    names: list[Any] = list(laws) if isinstance(laws, (list, tuple)) else [laws]
    values = checked_values(names, vary, inputs, plate)
    bodies = {
        thickness: pair_and_impedance(pair, material, plate_of(plate, thickness))
        for thickness in values.get("plate.thickness", [None])
    }
    on_plate = any(impedance for _, impedance in bodies.values())
    stated = {
        name: {key: value for key, value in inputs.items() if key in names_of_inputs(name)}
        for name in names
    }
    outcomes: list[Any] = []
    for name, *numbers in itertools.product(names, *values.values()):
        law = known_laws()[name]
        varied: dict[str, Any] = dict(zip(values, map(float, numbers), strict=True))
        contact_pair, impedance = bodies[varied.pop("plate.thickness", None)]
        lacking = [key for key in varied if key not in names_of_inputs(law.name)]
        try:
            if lacking:
                raise CaseError(f"{law.name} has no input {', '.join(lacking)}")
            outcome: Any = simulate_impact(
                law=law, pair=contact_pair, impedance=impedance, **stated[law.name], **varied
            )
        except GranchainError as error:
            outcome = str(error)
        outcomes.append(outcome)
    return dataset_of_impacts(names, values, outcomes, contact_pair, on_plate, stated)


def plate_of(plate: Mapping[str, Any] | None, thickness: float | None) -> Any:
    """Return the plate with a thickness [m], if one is given."""
    return plate if thickness is None else {**(plate or {}), "thickness": float(thickness)}


def names_of_inputs(law: str) -> set[str]:
    """Return the names of the inputs of a law, and "speed"."""
    return {"speed", *(quantity.name for quantity in known_laws()[law].inputs)}


def dataset_of_impacts(
    names: Sequence[str],
    values: Mapping[str, np.ndarray],
    outcomes: Sequence[Any],
    pair: Pair,
    on_plate: bool,
    inputs: Mapping[str, Mapping[str, Any]],
) -> xarray.Dataset:
    """Return impacts as a labelled dataset.

    Parameters
    ----------
    names : sequence of str
        Names of laws.
    values : mapping of str to array
        Values of each varied key.
    outcomes : sequence of Impact, ImpactResult, or str
        Each impact, or the reason why there is none: law by law, the last key fastest.
    pair : Pair
    on_plate : bool
        Whether the second body is a plate.
    inputs : mapping
        Inputs of each law that are not varied, and the speed if it is not.
    """
    dims = ("law", *values)
    about = VARIED | {
        quantity.name: (quantity.unit, quantity.meaning)
        for name in names
        for quantity in known_laws()[name].inputs
    }
    variables = {"law": Variable(("law",), texts(names), "", "contact law")}
    variables |= {key: Variable((key,), column, *about[key]) for key, column in values.items()}
    shape = (len(names), *map(len, values.values()))
    labels = IMPACT_SCALARS | OF_PLATE
    for name, scalar in (PLATE_NAMES if on_plate else SCALAR_NAMES).items():
        column = [math.nan if isinstance(each, str) else getattr(each, scalar) for each in outcomes]
        variables[name] = Variable(dims, np.reshape(column, shape), *labels[scalar][1:])
    reasons = texts([each if isinstance(each, str) else "" for each in outcomes]).reshape(shape)
    variables["reason"] = Variable(dims, reasons, "", "reason why there is no impact")
    attributes = study_attributes(
        "impacts",
        "Impacts of two bodies",
        names,
        pair_json=canonical(plain_data(pair.items())),
        inputs_json=canonical(plain_data(inputs)),
    )
    return dataset_of(variables, attributes)


def checked_values(
    names: Sequence[Any],
    vary: Any,
    inputs: Mapping[str, Any],
    plate: Mapping[str, Any] | None,
) -> dict[str, np.ndarray]:
    """Return the values of each key, or report all errors at once."""
    problems, all_laws = Problems(), known_laws()
    valid_names = [name for name in names if isinstance(name, str) and name in all_laws]
    for name in names:
        problems.check(
            name in valid_names,
            "laws",
            f"{brief(name)} is unknown",
            f"The laws are {', '.join(all_laws)}",
            "granchain laws lists them",
        )
    problems.check(
        bool(names),
        "laws",
        "missing",
        "Give the name of at least one law",
        "granchain laws lists them",
    )
    example = 'Give for example {"speed": [0.5, 1.0]}'
    problems.check(
        isinstance(vary, Mapping) and bool(vary),
        "vary",
        f"{brief(vary)} is not valid" if vary else "missing",
        "Give keys with their values",
        example,
    )
    vary = {str(key): listed for key, listed in vary.items()} if isinstance(vary, Mapping) else {}
    takes = [*VARIED, *dict.fromkeys(q.name for name in valid_names for q in all_laws[name].inputs)]
    for key in (*vary, *inputs):
        problems.check(
            key in takes,
            key,
            "none of the laws has this input",
            f"The inputs are {', '.join(takes)}",
            "Add a law that has it",
        )
    problems.check(
        plate is None or isinstance(plate, Mapping),
        "plate",
        f"{brief(plate)} is not valid",
        "It must be a table of thickness and material",
        'Give for example {"thickness": 4e-3, "material": "steel-316"}',
    )
    table = plate if isinstance(plate, Mapping) else {}
    for key in (*inputs, *(f"plate.{name}" for name in table)):
        problems.check(
            key not in vary,
            key,
            "the key is both varied and fixed",
            "Give it once",
        )
    if "speed" not in (*vary, *inputs):
        problems.add("speed", "missing", "Give a number above 0 [m/s], or several in vary")
    values = {}
    for key, listed in vary.items():
        try:
            column = np.asarray(listed, dtype=float)
        except (TypeError, ValueError):
            column = np.full(1, math.nan)
        problems.check(
            column.ndim == 1 and column.size > 0 and bool(np.isfinite(column).all()),
            key,
            f"{brief(listed)} is not valid",
            "It must be a list of finite numbers",
            example,
        )
        values[key] = column
    if problems.sentences:
        raise CaseError([f"impacts: {sentence}" for sentence in problems.sentences])
    return values
