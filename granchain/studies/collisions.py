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
from granchain.keys import Problems, shown
from granchain.material import Material
from granchain.two_body import SCALARS, impact, pair_of

if TYPE_CHECKING:
    import xarray

# Numbers of an impact, with their units and descriptions. The effective restitution has a different
# name than the input, which is the nominal restitution.
DELIVERED = "delivered_restitution"
NUMBERS = {DELIVERED if name == "restitution" else name: about for name, about in SCALARS.items()}


def impacts(
    laws: str | Sequence[str],
    pair: Pair | Mapping[str, float] | None,
    vary: Mapping[str, Sequence[float]],
    material: str | Material | None = None,
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
        Values of "speed" [m/s] or of inputs of a law, such as "restitution". All combinations are
        computed.
    material : str or Material, optional
        Material of the two bodies, as for `impact`.
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
    import xarray

    names, pair = [laws] if isinstance(laws, str) else list(laws), pair_of(pair, material)
    values = checked(names, vary, inputs)
    shape = (len(names), *map(len, values.values()))
    found = {name: np.full(shape, math.nan) for name in NUMBERS}
    reasons = np.full(shape, "", dtype=object)
    for place in itertools.product(*map(range, shape)):
        law = known_laws()[names[place[0]]]
        here: dict[str, Any] = {
            key: float(column[k])
            for k, (key, column) in zip(place[1:], values.items(), strict=True)
        }
        takes = {"speed", *(quantity.name for quantity in law.inputs)}
        lacking = [key for key in here if key not in takes]
        try:
            if lacking:
                raise CaseError(f"{law.name} has no input {', '.join(lacking)}")
            given = {name: value for name, value in inputs.items() if name in takes}
            numbers = impact(law=law, pair=pair, **given, **here).numbers()
        except GranchainError as error:
            reasons[place] = str(error)
            continue
        for name, array in found.items():
            array[place] = numbers["restitution" if name == DELIVERED else name]
    dims = ("law", *values)
    units = {
        quantity.name: quantity.unit for name in names for quantity in known_laws()[name].inputs
    } | {"speed": "m/s"}
    return xarray.Dataset(
        {
            name: (dims, array, {"units": NUMBERS[name][0], "long_name": NUMBERS[name][1]})
            for name, array in found.items()
        }
        | {"reason": (dims, reasons, {"long_name": "reason why there is no impact"})},
        coords={"law": names}
        | {key: (key, column, {"units": units[key]}) for key, column in values.items()},
        attrs={"title": "impacts of two bodies", "law": ", ".join(names)},
    )


def checked(
    names: Sequence[str], vary: Mapping[str, Sequence[float]], inputs: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Return the values of each key, or report all errors at once."""
    problems, known = Problems(), known_laws()
    for name in names:
        where = f'"{shown(name)[1:-1]}"'
        problems.check(
            name in known,
            "laws",
            f"{where} is unknown",
            f"The laws are {', '.join(known)}",
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
    problems.check(bool(vary), "vary", "missing", "Give keys with their values", example)
    takes = ["speed", *dict.fromkeys(q.name for n in names if n in known for q in known[n].inputs)]
    for key in (*vary, *inputs):
        advice = "Add a law that has it"
        problems.check(
            key in takes,
            key,
            "none of the laws has this input",
            f"The inputs are {', '.join(takes)}",
            advice,
        )
    for key in inputs:
        problems.check(
            key not in vary,
            key,
            "the key is both varied and fixed",
            "Give it once",
        )
    if "speed" not in (*vary, *inputs):
        problems.add("speed", "missing", "Give a number above 0 [m/s], or several in vary")
    values = {}
    for key, given in vary.items():
        try:
            column = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            column = np.full(1, math.nan)
        good = column.ndim == 1 and column.size > 0 and bool(np.isfinite(column).all())
        problems.check(
            good,
            key,
            f"{shown(given)} is not valid",
            "It must be a list of finite numbers",
            example,
        )
        values[key] = column
    if problems.sentences:
        raise CaseError([f"impacts: {sentence}" for sentence in problems.sentences])
    return values
