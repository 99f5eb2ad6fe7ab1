"""Modes of many chains: disorder, or values of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.case import Case, check_case
from granchain.errors import CaseError
from granchain.store.answer import study_attributes
from granchain.store.dataset import dataset_of
from granchain.store.schema import Variable
from granchain.studies.evaluate import axes_of_plan
from granchain.studies.plan import plan_of, vary_json
from granchain.waves.modes import modes

if TYPE_CHECKING:
    import xarray

# Quantities of each mode that are stored, with unit and description.
STORED = {
    "frequencies": ("Hz", "frequency without damping"),
    "participation": ("1", "number of participating beads, (sum e)^2/sum e^2"),
    "damping": ("1/s", "decay rate of the amplitude"),
}


def mode_study(
    case: Case, vary: Mapping[str, Any], how: str = "product", n: int = 1, seed: int = 0
) -> xarray.Dataset:
    """Compute chain modes for values of keys or realizations of disorder.

    Parameters
    ----------
    case : Case
        Chain with a static load, see `granchain.modes`.
    vary : mapping
        Values for each key: lists, distributions, or `granchain.disorder`, as for
        `granchain.sweep`.
    how : {"product", "zip", "sobol"}
        Way to combine the values, as for `granchain.sweep`.
    n : int
        Number of draws at each point.
    seed : int
        Seed of all draws.

    Returns
    -------
    xarray.Dataset
        `frequencies` [Hz], `participation` [1], and `damping` [1/s], with the dimensions of the
        study and `mode`, in order of increasing frequency.

    Raises
    ------
    CaseError
        If an argument or a member is invalid, or if the chains have different numbers of beads.

    Examples
    --------
    >>> import granchain as gc
    >>> chain = {"beads": 5, "radius": 2.38e-3, "material": "steel-316"}
    >>> case = gc.Case(chain=chain, contact={"law": "hertz"}, time={"end": 1e-4})
    >>> study = gc.mode_study(case, {"chain.precompression": [10.0, 20.0]})
    >>> study["frequencies"].shape
    (2, 5)
    """
    check_case(case)
    plan = plan_of(case, vary, how, n, seed)
    answers = [modes(member) for member in plan]
    sizes = sorted({answer.frequencies.size for answer in answers})
    if len(sizes) > 1:
        raise CaseError(
            f"chain.beads: the chains have {sizes[0]} to {sizes[-1]} beads. All must have the "
            "same number of beads. Run a separate study for each number."
        )
    variables = axes_of_plan(plan)
    inside = " ".join(key for key in variables if key not in plan.dims)
    variables["mode"] = Variable(
        ("mode",), np.arange(1, sizes[0] + 1), "1", "number of the mode, by increasing frequency"
    )
    for name, about in STORED.items():
        values = np.stack([getattr(each, name) for each in answers]).reshape((*plan.shape, -1))
        variables[name] = Variable((*plan.dims, "mode"), values, *about)
    attributes = study_attributes(
        "mode_study",
        plan.case.title or "untitled case",
        plan.laws or plan.case.law.split(", "),
        dict.fromkeys(message for each in answers for message in each.messages),
        plan.case,
        how=plan.how,
        n=plan.n,
        seed=plan.seed,
        vary_json=vary_json(plan),
        coordinates=inside,
    )
    return dataset_of(variables, attributes)
