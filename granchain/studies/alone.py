"""Cases that are run one after another, such as mechanisms, instead of in batches."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from granchain.errors import CaseError, GranchainError, RunError
from granchain.keys import Problems, shown
from granchain.status import Status
from granchain.store import claim
from granchain.store.dataset import dataset_of
from granchain.store.schema import Label, Variable
from granchain.store.study import save_study, study_attributes, texts
from granchain.studies.measures import SummaryFunction, summary_numbers
from granchain.studies.plan import RESERVED_NAMES, Plan


class Member(NamedTuple):
    """Numbers of a case, and how its run ended."""

    status: Status
    message: str
    numbers: Mapping[str, float]


def run_each(
    cases: Sequence[Any],
    summary: SummaryFunction,
    done: Callable[[int, int], Any] | None = None,
) -> list[Member]:
    """Run cases one after another, and read the numbers of each result."""
    members = []
    for case in cases:
        members.append(member_of(case, summary))
        if done is not None:
            done(len(members), len(cases))
    return members


def member_of(case: Any, summary: SummaryFunction) -> Member:
    """Run a case and read the numbers of its result."""
    try:
        result = case.run_alone()
    except RunError as error:
        return Member(getattr(error.result, "status", Status.LOST), str(error), {})
    except GranchainError as error:
        return Member(Status.NOT_SET_UP, str(error), {})
    try:
        return Member(result.status, "", summary_numbers(summary(result)))
    except GranchainError as error:
        return Member(result.status, f"summary: {error}", {})
    except Exception as error:
        problem = f"summary: the function raised {type(error).__name__}: {error}."
        return Member(result.status, problem, {})


def sweep_alone(
    plan: Plan,
    axes: Mapping[str, Variable],
    vary_json: str,
    *,
    summary: SummaryFunction | None,
    measures: Sequence[str],
    out: str | os.PathLike[str] | None,
    overwrite: bool,
    progress: Callable[[int, int], Any] | None,
) -> Any:
    """Return the dataset of a plan of cases that are run one after another."""
    case: Any = plan.case
    unknown = [name for name in measures if name not in case.measured]
    if unknown:
        names = ", ".join(case.measured)
        raise CaseError(f"measures: {shown(unknown[0])} is unknown. The measures are {names}.")

    def read(result: Any) -> dict[str, float]:
        numbers = case.measure(result)
        chosen = {name: numbers[name] for name in measures or numbers}
        return chosen | dict({} if summary is None else summary(result))

    cases = plan.cases()
    with contextlib.nullcontext() if out is None else claim(out, overwrite):
        members = run_each(cases, read, progress)
        variables, attributes, inside = labelled(plan, axes, members, vary_json, measures)
        if out is not None:
            about = attributes | ({"coordinates": " ".join(inside)} if inside else {})
            save_study(variables, about, out, overwrite)
    return dataset_of(variables, attributes, inside)


def labelled(
    plan: Plan,
    axes: Mapping[str, Variable],
    members: Sequence[Member],
    vary_json: str,
    measures: Sequence[str],
) -> tuple[dict[str, Variable], dict[str, Any], list[str]]:
    """Return variables and attributes of a study, and its coordinates inside dimensions."""
    case: Any = plan.case
    variables = dict(axes)

    def add(name: str, values: Any, unit: str, long_name: str) -> None:
        if name in variables or (name in RESERVED_NAMES and name not in ("status", "message")):
            raise CaseError(f"summary: the study already uses the name {name}. Rename it.")
        variables[name] = Variable(plan.dims, values.reshape(plan.shape), unit, long_name)

    named = [name for member in members for name in member.numbers]
    for name in dict.fromkeys([*(measures or case.measured), *named]):
        label = case.measured.get(name, Label((), "", f"of the summary: {name}"))
        values = np.array([member.numbers.get(name, np.nan) for member in members])
        add(name, values, label.unit, label.long_name)
    add("status", texts([member.status.label for member in members]), "", "how the run ended")
    add("message", texts([member.message for member in members]), "", "why it failed")
    ends = [member.status for member in members]
    attributes = study_attributes(
        "sweep",
        case.title or "untitled case",
        plan.laws or [case.law],
        case=case,
        status=", ".join(f"{ends.count(end)} {end.label}" for end in dict.fromkeys(ends)),
        how=plan.how,
        n=plan.n,
        seed=plan.seed,
        vary_json=vary_json,
    )
    inside = [name for name in axes if name not in plan.dims]
    return variables, attributes, inside


def check_alone(**refused: Any) -> None:
    """Reject arguments that only a study of chains accepts."""
    problems = Problems()
    for name, value in refused.items():
        problems.check(
            not value, name, "not possible for a mechanism", "Only chains accept it", "Leave it out"
        )
    problems.close()
