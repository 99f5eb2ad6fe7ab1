"""Fit: the parameters of a case that best reproduce a measurement, their errors, and which of them
the measurement cannot determine separately.

The method is weighted least squares (`scipy.optimize.least_squares`) on the numbers that
`granchain.measured` reads from the trace. The weight of each number is its uncertainty from
noise, sampling, baseline, and shape. In addition to the keys, the fit determines the time between
the clocks of the trace and of the run. It also determines errors of calibrations and clocks for
which the trace specifies an uncertainty, which limits them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, overload

import numpy as np

from granchain.case import Case
from granchain.case.document import NO_PHYSICS, quantity_of, value_at
from granchain.contact import laws as known_laws
from granchain.contact.examples import example
from granchain.errors import CaseError, RunError, TraceError
from granchain.keys import Problems, brief
from granchain.measured.about import about_entry
from granchain.measured.fit_problem import FitProblem
from granchain.measured.fitted import Fit, contributions, fit_result
from granchain.measured.folder import read_trace
from granchain.measured.ranking import (
    Ranking,
    check_has_key,
    check_measure,
    differences_of_laws,
    first_law,
    free_in_each,
    is_law,
    number_inputs,
    ranked,
    ranking_of,
    start_case,
)
from granchain.measured.sides import Measured, stated_sensor
from granchain.measured.trace import Trace
from granchain.plain_data import plain_data
from granchain.set_up import contacts_of_cases
from granchain.simulation import warns_of_fast_drives
from granchain.studies.members import check_members
from granchain.studies.plan import is_number
from granchain.studies.search import Lowest, descend

FITTED_TO = ("peaks", "arrivals", "features", "traces")
# Endings of the numbers of a key that a ranking contains.
ENDINGS = ("", "_error")


@overload
def fit(
    case: Case,
    trace: Trace | str | os.PathLike[str],
    free: Sequence[str] = (),
    measure: str = "peaks",
    *,
    laws: None = None,
    cutoff: float | None = None,
    threads: int | None = None,
) -> Fit: ...


@overload
def fit(
    case: Case,
    trace: Trace | str | os.PathLike[str],
    free: Sequence[str] = (),
    measure: str = "peaks",
    *,
    laws: Mapping[str, Any],
    cutoff: float | None = None,
    threads: int | None = None,
) -> Ranking[Fit]: ...


@warns_of_fast_drives
def fit(
    case: Case,
    trace: Trace | str | os.PathLike[str],
    free: Sequence[str] = (),
    measure: str = "peaks",
    *,
    laws: Mapping[str, Any] | None = None,
    cutoff: float | None = None,
    threads: int | None = None,
) -> Fit | Ranking[Fit]:
    """Fit case parameters to a measured trace.

    Parameters
    ----------
    case : Case
        Initial case. The search starts at its values and stays within the limits of the keys. Its
        sensors are replaced by those of the trace.
    trace : Trace, str or path
        Measured trace, or its folder.
    free : sequence of str
        Keys of the case to fit, such as "contact.psi" and "striker.speed". With several laws, each
        key is fitted for the laws that have it.
    measure : {"peaks", "arrivals", "features", "traces"}
        Quantity that is fitted: peaks of the first pulse, their times, both, or all samples of the
        first pulses.
    laws : mapping, optional
        Laws to fit one by one, with the keys that are free for each: {"flores":
        ["contact.restitution"], "ma-liu": ["contact.psi"]}. A mapping instead of a list, {"free":
        [...], "damping": "identified"}, also sets inputs; for free inputs these are initial values.
        Other inputs start at the value of the case, or at the example value of the law.
    cutoff : float, optional
        Cutoff of the zero-phase filter for both sides [Hz]; 0 turns it off. Default: the value in
        about.toml, if any.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.

    Returns
    -------
    Fit, or Ranking of Fit
        With laws, a ranking with the smallest `aic` first. Two laws are distinguishable if their
        `aic` differs by more than 2, and by more than two standard deviations over a block
        bootstrap of the trace.

    Raises
    ------
    CaseError, TraceError
        If an argument is invalid. Nothing is computed then.
    RunError
        If the initial case has no pulses.

    Examples
    --------
    >>> import granchain as gc
    >>> from granchain.measured.about import AboutTable
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [3, 6], "time.end": 2e-4})
    >>> run = gc.run(case)
    >>> about = AboutTable(title="A computed trace", kind="synthetic")
    >>> trace = gc.Trace(
    ...     time=run.time, force=run.sensor_force, beads=run.sensor_bead, about=about
    ... )
    >>> found = gc.fit(case.replace({"striker.speed": 1.7}), trace, ["striker.speed"])
    >>> round(found.values["striker.speed"], 2)
    1.77
    """
    threads = check_members([case], threads)
    if laws is None:
        searches = [(case, free_quantities(case, free, measure))]
    else:
        searches = _searches_of_laws(case, free, laws, measure)
    measured = pulses_of_trace(case, trace, cutoff)
    rivals = [
        FitProblem(of_law, measured, measure, tuple(quantities), threads)
        for of_law, quantities in searches
    ]
    for problem in rivals:
        _check_count(problem)
    answers = [
        _fit_by_descent(
            problem, quantities, "" if laws is None else f"{problem.base.contact.law}: "
        )
        for problem, (_, quantities) in zip(rivals, searches, strict=True)
    ]
    return answers[0][1] if laws is None else _ranked_fits(case, rivals, answers)


def _searches_of_laws(
    case: Case, free: Any, laws: Any, measure: Any
) -> list[tuple[Case, dict[str, Any]]]:
    """Return the case with each law and its free quantities, or report every error."""
    problems = Problems()
    problems.check(
        isinstance(laws, Mapping) and bool(laws),
        "laws",
        f"{brief(laws)} is not valid" if laws else "missing",
        "At least one law with its keys is required",
        'Write {"flores": ["contact.restitution"], "ma-liu": ["contact.psi"]}',
    )
    keys_by_law: dict[str, dict[str, None]] = {}
    inputs: dict[str, dict[str, Any]] = {}
    for law, entry in laws.items() if isinstance(laws, Mapping) else ():
        if is_law("laws", law, problems):
            more = dict(entry) if isinstance(entry, Mapping) else {"free": entry}
            keys = more.pop("free", [])
            inputs[law] = more
            if problems.check(
                isinstance(keys, (list, tuple)) and len({*map(str, keys)}) == len(keys),
                f"laws.{law}",
                f"{brief(keys)} is not valid",
                "It must be a list of different keys",
                'Write for example ["contact.restitution"]',
            ):
                keys_by_law[law] = dict.fromkeys(map(str, keys))
    shared = dict.fromkeys(map(str, free if isinstance(free, (list, tuple)) else []))
    problems.check(
        isinstance(free, (list, tuple)),
        "free",
        f"{brief(free)} is not valid",
        "It must be a list of keys",
    )
    keys_of = free_in_each(list(keys_by_law), shared, keys_by_law, problems)
    searches = []
    for law, keys in zip(keys_by_law, keys_of, strict=True):
        valid = [check_has_key(f"{law}: {key}", law, key, problems) for key in keys_by_law[law]]
        if not keys or not all(valid):
            continue
        chosen = inputs[law]
        starts = {
            quantity.name: example(known_laws()[law], quantity)
            for key, quantity in (
                (f"contact.{name}", quantity) for name, quantity in number_inputs(law).items()
            )
            if key in keys
            and quantity.required
            and case.contact.inputs().get(quantity.name) is None
        }
        changes = {f"contact.{name}": value for name, value in (starts | chosen).items()}
        changes |= {} if case.contact.law == law else {"contact.law": law}
        try:
            of_law = case.replace(**changes)
            searches.append((of_law, free_quantities(of_law, list(keys), measure)))
        except CaseError as error:
            problems.repeat(f"{law}: {sentence}" for sentence in error.problems)
    problems.close()
    return searches


def pulses_of_trace(
    case: Case, trace: Trace | str | os.PathLike[str], cutoff: float | None
) -> Measured:
    """Return the pulses at the sensors of the trace, or report an error in filter or chain."""
    if not isinstance(trace, Trace):
        trace = read_trace(trace)
    if cutoff is not None and not (is_number(cutoff) and cutoff >= 0.0):
        raise TraceError(
            f"cutoff: {brief(cutoff)} is not valid. It must be a finite number, 0 or more [Hz]. "
            "0 turns the filter off."
        )
    beads = trace.sensor_bead.tolist()
    outside = [bead for bead in beads if bead > case.beads]
    if outside:
        raise CaseError(
            f"chain.beads: {case.beads} is too few, because the trace has sensors in beads "
            f"{', '.join(map(str, outside))}. The chain must contain them. Give the chain that "
            "was measured."
        )
    return Measured(trace, beads, stated_sensor(trace, beads, cutoff), case.sensors.arrival)


def _check_count(problem: FitProblem) -> None:
    """Raise an error if the trace has fewer numbers than the fit determines."""
    count = len(problem.keys)
    if problem.count < count + problem.times:
        clock = " and the time offset of the clocks" if problem.times else ""
        why = f" ({'; '.join(problem.messages)})" if problem.messages else ""
        raise TraceError(
            f"free: {count} keys{clock} exceed {problem.count} measured numbers. At least as "
            'many numbers as keys are required. Free fewer keys, or use measure = "features" or '
            f'"traces"{why}.'
        )


def _fit_by_descent(
    problem: FitProblem, quantities: Mapping[str, Any], prefix: str
) -> tuple[Lowest, Fit]:
    """Run the descent, and return its result and the fit; `prefix` is a prefix for errors."""
    start = np.array([value_at(problem.base, key) for key in quantities])
    low, high = (
        np.array([next(x for x in limits if x is not None) for limits in ends])
        for ends in (
            [(quantity.low, quantity.above, -math.inf) for quantity in quantities.values()],
            [(quantity.high, quantity.below, math.inf) for quantity in quantities.values()],
        )
    )
    try:
        begin, low, high, size = problem.with_nuisances(start, low, high, np.abs(start))
        lowest = descend(problem.residuals, begin, low, high, size)
        if lowest is not None and problem.measure != "traces":
            # reading from samples changes a peak by nearly the same amount at every point, so this
            # is estimated once
            problem.read_as_measured(lowest.point)
            lowest = descend(problem.residuals, lowest.point, low, high, size)
        if lowest is None:
            raise RunError(problem.reason_without_pulses(begin))
    except RunError as error:
        raise RunError(f"{prefix}{error}") from None
    began = dict(zip(quantities, start.tolist(), strict=True))
    return lowest, fit_result(problem, lowest, began, low, high, size)


def free_quantities(case: Case, free: Any, measure: Any) -> dict[str, Any]:
    """Return the free quantities, or report every error in the request."""
    problems = Problems()
    check_measure(measure, FITTED_TO, problems)
    keys = list(free) if isinstance(free, (list, tuple)) else []
    problems.check(
        bool(keys),
        "free",
        f"{brief(free)} is not valid" if free else "missing",
        "At least one key is required",
        'Write for example ["contact.psi"]',
    )
    quantities = {}
    for i, key in enumerate(keys):
        twice = key in keys[:i]
        problems.check(
            not twice, f"free.{key}", "the key is listed twice", "List each key once", "Remove one"
        )
        table = str(key).partition(".")[0]
        if table in NO_PHYSICS:
            problems.add(
                f"free.{key}",
                "this key does not affect the physics",
                "It must be a key of chain, striker, ends, or contact",
            )
            continue
        try:
            quantities[key], value = quantity_of(case, key), value_at(case, key)
            problems.check(
                value != 0.0,
                key,
                "0 is not a valid initial value for a fit",
                "It must not be 0",
                "Give the case a value of the expected size",
            )
            problems.check(
                value == 0.0 or _affects_physics(case, key, value),
                f"free.{key}",
                "this key does not affect the physics of this case",
                "It must change a body, an end, or a contact",
                "Choose another key. A density, for example, acts only if no mass is given",
            )
        except CaseError as error:
            problems.repeat(error.problems)
    problems.close()
    return quantities


def _affects_physics(case: Case, key: str, value: float) -> bool:
    """Return whether a change of 0.1 % at a key changes bodies, ends, or contacts."""
    try:
        rows = contacts_of_cases([case, case.replace(**{key: 0.999 * value})])
    except CaseError:
        # the effect is unknown, because the changed case is invalid
        return True
    physics = []
    for chain, contacts in rows:
        # size and material of a body act in a run only through its mass and its contacts
        ends = {side: replace(getattr(chain, side), material=None) for side in ("left", "right")}
        bodies = replace(chain, radius=chain.mass, material=(), **ends)
        physics.append(plain_data((asdict(bodies), contacts.c, contacts.history)))
    return physics[0] != physics[1]


def _ranked_fits(
    start: Case, rivals: Sequence[FitProblem], answers: Sequence[tuple[Lowest, Fit]]
) -> Ranking[Fit]:
    """Return the fits of several laws, best first, with their differences, without new runs."""
    fits = [fitted for _, fitted in answers]
    blocks = [
        np.bincount(problem.blocks(), contributions(problem, lowest.residual)[0])
        for problem, (lowest, _) in zip(rivals, answers, strict=True)
    ]
    degrees = [1.0 - (len(rival.keys) + rival.times) / rival.count for rival in rivals]
    criteria = [fitted.aic for fitted in fits]
    pairs = differences_of_laws(criteria, blocks, degrees)
    places = ranked(criteria, lambda i, j: not pairs["distinguishable"][i, j])
    common = set.intersection(*(set(fitted.messages) for fitted in fits))
    messages = (
        message if message in common else f"{first_law(fits[k])}: {message}"
        for k, _ in places
        for message in fits[k].messages
    )
    keys = {f"{key}{ending}" for rival in rivals for key in rival.keys for ending in ENDINGS}
    about = rivals[0].trace.about
    return ranking_of(
        fits,
        places,
        ("aic", "misfit", "describes", "residuals", *keys),
        ("measure", "sensor_bead"),
        pairs,
        title=about.title or start.title,
        messages=tuple(dict.fromkeys(messages)),
        provenance={**start_case(start), **about_entry(about)},
    )
