"""Evaluate many cases: the only code that batches, distributes, interrupts, resumes, and stores
many runs.

Members are advanced in batches by `members.py` and measured by `measures.py`. Each batch returns
columns with one row per member. An `Evaluation` collects columns, FILE.part stores them, and the
workers of an executor return them, all in this form.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.case import Case
from granchain.case.case import CheckedCase
from granchain.case.checks import MEMORY
from granchain.case.document import about_key, differences, texts_of_values
from granchain.contact.law_record import LawRecord
from granchain.engine.setup import alike
from granchain.errors import CaseError, GranchainWarning, LawError, RunError
from granchain.jit.compile import fingerprint
from granchain.keys import Problems
from granchain.plain_data import canonical, sha256_of
from granchain.progress import no_report, progress_of
from granchain.simulation import changed_law, warn_of_fast_drives
from granchain.status import STATUS_OF_LABEL, Status, text_of_statuses
from granchain.store import Result, claim
from granchain.store.answer import (
    StoredEnsemble,
    messages_of_study,
    open_study,
    save_study,
    study_attributes,
)
from granchain.store.dataset import (
    dataset_of,
    deduplicated_cases,
    ensemble_file,
    padded_rows,
    room_of_ensemble,
)
from granchain.store.files import LARGEST_FILE
from granchain.store.journal import PlainResult, StudyPart
from granchain.store.schema import Label, Variable, granchain_version, source_hash, texts
from granchain.studies.chained import check_chained_keys, check_consecutive, compute_chain
from granchain.studies.executors import compute_elsewhere
from granchain.studies.interruption import Interruptions
from granchain.studies.measures import (
    OPTIONAL_ARRAYS,
    RESERVED_NAMES,
    SETTLED_LABELS,
    TOGETHER,
    Measures,
    Missing,
    SummaryFunction,
    compute_here,
    computed,
    measures_of,
    missing_note,
)
from granchain.studies.members import LOT, check_members, member_groups, sizes_of_cases
from granchain.studies.plan import Plan, is_number, vary_json

if TYPE_CHECKING:
    import xarray

    from granchain.studies.ensemble import Ensemble

# Memory of the members that are set up together [bytes] if their results are written to a file.
# The tables, the results, and their packed form need four times as much.
LOT_TO_FILE = 2**23
NOT_COMPUTED = "the study was interrupted before this member was complete"
UNLIKE = (
    "wave speeds of members come from different sensors, because pulses have merged or not "
    "arrived. A pulse that slows down has a different speed in each part of the chain. See "
    "missing and wave_speed_sensors, and compare arrivals at the same sensors"
)

# Texts of each member in a study, with their meaning.
TEXTS = {
    "status": "how the run ended",
    "message": "reason why it failed",
    "law_sha256": "hash of the law: its functions and resolved coefficients",
    "state": "final state, from which the next value starts: case.replace(initial=...)",
    "point": "name of the member: hash of the case, the version, and the measures",
}

Columns = Mapping[str, Any]


def evaluate(
    cases: Iterable[Case] | Plan,
    measures: Sequence[str | SummaryFunction] | str = ("pulse",),
    *,
    chained: bool = False,
    threads: int | None = None,
    executor: Any = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int], Any] | bool | None = None,
) -> xarray.Dataset | Ensemble:
    """Run many cases and measure each of them.

    The numbers are bit-identical to those of `granchain.run`, for every number of threads, with or
    without an executor, and after interruptions. Similar cases are advanced together by one
    compiled call.

    Parameters
    ----------
    cases : iterable of Case, or plan
        Cases, or the result of `granchain.plan`.
    measures : sequence of str or function
        Measures: "pulse" (peak, arrival, and width at the sensors, wave speed, transmitted
        momentum and energy), "traces", a function of `granchain.analysis` such as "second_moment"
        (an unknown name lists all), or functions of a Result that return a dict of numbers.
        "result" keeps complete results, and then is the only measure.
    chained : bool
        Whether each case starts from the final state of the previous case. The cases may differ in
        the amplitude or the frequency of one harmonic drive, in the time step, and in the end. The
        steady part of the sensor forces is measured in place of the first pulse.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    executor : concurrent.futures.Executor or dask Client, optional
        Executor that computes the members in other processes, on this machine or elsewhere. It
        needs the same version of granchain and the same laws, and functions that pickle.
    out : str or path, optional
        File of the answer. Members are appended to FILE.part until it is complete.
    resume : bool
        Whether to reuse the members in `out` and FILE.part with the same case, law, version, and
        measures.
    overwrite : bool
        Whether to overwrite an existing file `out`.
    progress : callable or bool, optional
        Function that is called with the number of finished members and the number of all members.
        Default: a line of text in a terminal or a notebook. False turns it off.

    Returns
    -------
    xarray.Dataset or Ensemble
        Variables with the dimension `run`, or the dimensions of the plan. Numbers of a member that
        failed are nan; `status` and `message` give the reason. With "result", an `Ensemble`.

    Raises
    ------
    CaseError
        If an argument or a member of a plan is invalid, or if a function fails on the first member.
    RunError
        If the executor fails. The answer of the completed members is its `result`.
    LawError
        If a law differs from that of a worker, or of the file to resume from.
    FileError
        If `out` cannot be written or read.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [5], "time.end": 1e-4})
    >>> study = gc.evaluate([case, case.replace({"striker.speed": 1.0})], progress=False)
    >>> study["peak"].dims
    ('run', 'sensor_bead')
    """
    evaluation = evaluated(
        cases, measures, chained=chained, threads=threads, executor=executor, out=out,
        resume=resume, overwrite=overwrite, progress=progress_of(progress, "evaluate"), tested=True,
    )  # fmt: skip
    answer = evaluation.answer()
    if "result" not in evaluation.measures.names:
        warn_of_notes(answer, "evaluate")
    return answer


def run_many(
    cases: Iterable[Case],
    out: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    strict: bool = False,
    progress: Callable[[int, int], Any] | None = None,
    overwrite: bool = False,
) -> Ensemble:
    """Run many cases and return their results.

    Each result is bit-identical to that of `granchain.run`. If you interrupt the call
    (KeyboardInterrupt), the ensemble contains the members that are complete, and a warning reports
    how many there are. To resume, call `granchain.evaluate(cases, "result", out=..., resume=True)`.

    Parameters
    ----------
    cases : iterable of Case
        Cases to run.
    out : str or path, optional
        File of the ensemble. Results are appended to FILE.part as they finish, so that memory use
        does not grow with their number. FILE is written when all are complete.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    strict : bool
        Whether to raise the error of the first member that fails. By default, its status and
        message report the error, and the other members run.
    progress : callable, optional
        See `evaluate`. By default, no line of text is printed.
    overwrite : bool
        Whether to overwrite an existing file `out` of the same kind.

    Returns
    -------
    Ensemble
        Ensemble in memory, or, with `out`, an ensemble that reads each result from the file.

    Raises
    ------
    CaseError
        If there is no case, or if the results exceed the memory limit. With `strict`, if a member
        cannot be set up; the message gives its index.
    RunError
        With `strict`, if the run of a member fails.
    FileError
        If `out` cannot be written. An existing file is then unchanged.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [5], "time.end": 5e-5})
    >>> cases = [case.replace({"striker.speed": speed}) for speed in (0.5, 1.0)]
    >>> [status.label for status in gc.run_many(cases).status]
    ['complete', 'complete']
    """
    evaluation = evaluated(
        cases, "result", threads=threads, out=out, overwrite=overwrite, strict=strict,
        progress=progress or no_report,
    )  # fmt: skip
    return evaluation.answer()


def warn_of_notes(study: Any, function: str) -> None:
    """Warn about pulses that are missing in a study, for the caller of a function."""
    for note in messages_of_study(study):
        if note != UNLIKE:
            warnings.warn(f"{function}: {note}", GranchainWarning, stacklevel=3)


class Evaluation:
    """Members of a study, and the columns that are measured.

    Parameters
    ----------
    cases : sequence of Case
    measures : Measures
    plan : Plan, optional
        Plan of the cases.
    chained : bool

    Attributes
    ----------
    done : int
        Number of members that are computed.
    status : list of Status
        Status of each member at the end; interrupted if it was not computed.
    message : list of str
        Reason why a member failed or was not computed; empty if it is complete.
    law : list of str
        Text of the `LawRecord` of each member; empty if it was not set up.
    labels : dict of str to Label
        Labels of all variables, without those of the functions.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        measures: Measures,
        plan: Plan | None = None,
        chained: bool = False,
    ):
        self.cases, self.measures, self.plan, self.chained = cases, measures, plan, chained
        self.labels = measures.labels | (SETTLED_LABELS if chained else {})
        self.status = [Status.INTERRUPTED] * len(cases)
        self.message, self.law = [NOT_COMPUTED] * len(cases), [""] * len(cases)
        self.done = 0
        self.names: list[str] = []
        self.partial_file: StudyPart | None = None
        self.stored: StoredEnsemble | None = None
        self._blocks: list[tuple[Sequence[int], Columns]] = []

    def add(self, places: Sequence[int], columns: Columns) -> None:
        """Add the columns of members."""
        self._blocks.append((places, columns))
        self.done += len(places)
        for row, member in enumerate(places):
            self.message[member], self.law[member] = columns["message"][row], columns["law"][row]
            # the last step, so that an incomplete member does not count as computed
            self.status[member] = STATUS_OF_LABEL[columns["status"][row]]

    @property
    def to_compute(self) -> list[int]:
        """Indices of the members that are not computed."""
        return [member for member, end in enumerate(self.status) if end is Status.INTERRUPTED]

    @property
    def complete(self) -> list[int]:
        """Indices of the members that are complete."""
        return [member for member, end in enumerate(self.status) if end is Status.COMPLETE]

    def __contains__(self, name: str) -> bool:
        return any(name in columns for _, columns in self._blocks)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a measured variable of all members, padded with nan."""
        blocks = [(places, columns[name]) for places, columns in self._blocks if name in columns]
        # other members may have more sensors than the complete members, and there may be no
        # complete member
        sensors = self.sensors.shape[1]
        least = [sensors if dim == "sensor_bead" else 0 for dim in self.labels[name].dims]
        shapes = [tuple(least), *(values.shape[1:] for _, values in blocks)]
        inner = tuple(np.max(shapes, axis=0).astype(int))
        whole = name in ("missing", "n_samples")
        table = np.full(
            (len(self.cases), *inner), 0 if whole else math.nan, np.int64 if whole else float
        )
        for places, values in blocks:
            where: Any = (list(places), *map(slice, values.shape[1:]))
            table[where] = values
        return table

    def rows(self, name: str, otherwise: Any = None) -> list[Any]:
        """Return the entries of a column of all members, each of its length."""
        entries = [otherwise] * len(self.cases)
        for places, columns in self._blocks:
            if name in columns:
                for row, member in enumerate(places):
                    entries[member] = columns[name][row]
        return entries

    @property
    def sensor_bead(self) -> tuple[int, ...]:
        """Labels of the sensors of the first member."""
        return tuple(self.cases[0].sensors.beads)

    @cached_property
    def sensors(self) -> np.ndarray:
        """Labels of the sensors of each member, (run, sensor), padded with nan."""
        beads = [() if case.measured else case.sensors.beads for case in self.cases]
        return padded_rows([np.array(each, float) for each in beads], 1)

    @cached_property
    def traces(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Sample times [s] and sensor forces [N] of each member."""
        times, forces = self.rows("time"), self.rows("sensor_force")
        counts = self.rows("n_samples", 0)
        nothing = np.zeros(0), np.zeros((0, len(self.cases[0].sensors.beads)))
        return [
            (time[:count], force[:count]) if count else nothing
            for time, force, count in zip(times, forces, counts, strict=True)
        ]

    def result(self, member: int) -> Result | None:
        """Return the complete result of a member, if it was measured."""
        stored = None if self.partial_file is None else self.partial_file.result(self.names[member])
        stored = self._results[member] if stored is None else stored
        return stored.result(self.cases[member]) if isinstance(stored, PlainResult) else stored

    @cached_property
    def _results(self) -> list[Any]:
        """Results of all members in memory."""
        return self.rows("result")

    def answer(self) -> Any:
        """Return the dataset of the study, or the ensemble of its results."""
        if "result" not in self.measures.names:
            return dataset_of(variables_of_study(self), attributes_of_study(self))
        from granchain.studies.ensemble import Ensemble

        results = None if self.stored else [*map(self.result, range(len(self.cases)))]
        return Ensemble(self.cases, self.status, self.message, results, self.stored)


def evaluated(
    cases: Iterable[Any] | Plan,
    measures: Any = ("pulse",),
    *,
    chained: bool = False,
    threads: int | None = None,
    executor: Any = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    progress: Callable[[int, int], Any] = no_report,
    interruptible: bool = True,
    tested: bool = False,
) -> Evaluation:
    """Evaluate cases for another function of the package; see `evaluate`.

    Parameters
    ----------
    strict : bool
        Whether to raise the error of the first member that fails.
    progress : callable, optional
        Function that is called with the number of finished members and the number of all members.
    interruptible : bool
        Whether an interruption ends the evaluation with a warning. Otherwise it is raised again,
        because the caller must not continue with some of the members.
    tested : bool
        Whether the first member is run once more to test functions and measures.
    """
    if isinstance(cases, CheckedCase) or not isinstance(cases, Plan | Iterable):
        raise CaseError(
            f"cases: {type(cases).__name__} is not valid. It must be a list of cases, or a plan. "
            "For one case, write [case]."
        )
    plan = cases if isinstance(cases, Plan) else None
    if plan is not None and chained and not plan.case.measured:
        check_chained_keys(plan.case, plan.vary)
    changes = None if plan is None else plan.changed()
    listed: list[Any] = [case for case, _ in changes] if changes is not None else [*cases]
    threads = check_members(listed, threads)
    wanted = checked_measures(listed, measures, chained, executor)
    if resume and out is None:
        raise CaseError(
            "resume: no file to resume from. Resuming requires a study that was written with "
            "out=. Give its file as out=."
        )
    if chained:
        check_consecutive(listed)
    warn_of_fast_drives(listed, 4)
    size_of_numbers(listed, wanted, out)
    evaluation = Evaluation(listed, wanted, plan, chained)
    partial_file: StudyPart | None = None
    with (
        Interruptions() as interruptions,
        contextlib.nullcontext() if out is None else claim(out, overwrite or resume),
    ):
        if out is not None:
            evaluation.names = names_of_members(evaluation)
            evaluation.partial_file = partial_file = StudyPart(out, resume, overwrite)
            if resume:
                with partial_file.valid():
                    blocks = [*complete_columns(evaluation, out), *partial_file.columns]
                    restore(evaluation, blocks, out)
        missing = evaluation.to_compute
        keys = evaluation.names or keys_of_members(evaluation, changes)
        # for each member to compute, all members that have its case
        same = {
            missing[rows[0]]: [missing[row] for row in rows]
            for rows in alike(keys[member] for member in missing)
        }

        def store(places: Sequence[int], columns: Columns) -> None:
            with interruptions.deferred():
                if partial_file is not None:
                    names = [evaluation.names[member] for member in places]
                    partial_file.add({"point": names, **columns})
                    # results stay in the file until they are needed
                    columns = {name: columns[name] for name in columns if name != "result"}
                evaluation.add(*rows_of_all(places, columns, same))
            progress(evaluation.done, len(listed))
            raise_failure(evaluation, places, strict)
            interruptions.raise_forgotten()

        try:
            # test with the first member; an interrupted study has already tested it
            if tested and missing[:1] == [0] and (wanted.functions or wanted.of_results):
                check_first(listed[0], wanted)
            if missing and executor is not None:
                compute_elsewhere(executor, listed, wanted, [*same], store)
            elif missing and chained:
                compute_chain(evaluation, [*same], store)
            elif missing:
                to_file = partial_file is not None and "result" in wanted.names
                most = LOT_TO_FILE if to_file else LOT
                compute_here(listed, [*same], wanted, threads, store, most)
        except (KeyboardInterrupt, RunError) as error:
            report_incomplete(evaluation, error, interruptible)
        if partial_file is not None and out is not None and not evaluation.to_compute:
            with interruptions.deferred():
                save_evaluation(evaluation, out, overwrite or resume)
                partial_file.remove()
    return evaluation


def report_incomplete(evaluation: Evaluation, error: BaseException, interruptible: bool) -> None:
    """Report how many members are computed after an interruption or a failure of an executor."""
    if not interruptible and isinstance(error, KeyboardInterrupt):
        raise error
    done, count, file = evaluation.done, len(evaluation.cases), evaluation.partial_file
    text = f"{done} of {count} members are computed."
    if file is not None:
        text += f" They are in {file.path}. Resume with --resume (in Python: resume=True)."
    if not isinstance(error, RunError):
        text = f"all {count} members are computed." if done == count else text
        warnings.warn(f"interrupted: {text}", GranchainWarning, stacklevel=4)
    elif error.result is not None:
        # the error of a member
        raise error
    else:
        if file is None:
            text += (
                " They are in the result of the error. To store them in a file and resume from it, "
                "use out= and resume=True."
            )
        raise RunError(f"{error}\n{text}", evaluation.answer()) from error


def raise_failure(evaluation: Evaluation, places: Sequence[int], strict: bool) -> None:
    """Raise the error of a member that failed, if the evaluation is strict."""
    for member in places if strict else ():
        status, message = evaluation.status[member], evaluation.message[member]
        if status is Status.NOT_SET_UP:
            raise CaseError([f"member {member}: {line}" for line in message.split("\n")])
        if status.failed:
            raise RunError(f"member {member}: {message}", evaluation.result(member))


def check_first(case: Case, measures: Measures) -> None:
    """Test functions and measures of a result on a case."""
    columns = computed(case, measures)
    (problem,), (label,) = columns["message"], columns["status"]
    if problem and not STATUS_OF_LABEL[label].failed:
        raise CaseError(f"{problem} This is the first member.")


def checked_measures(
    cases: Sequence[Case], measures: Any, chained: bool, executor: Any
) -> Measures:
    """Return the measures, if the cases and the executor allow them."""
    wanted, problems = measures_of(measures, cases[0]), Problems()
    not_chains = bool(cases[0].measured)
    for name, value in {"chained": chained, "executor": executor is not None}.items():
        problems.check(
            not (not_chains and value), name, "not possible for a mechanism",
            "Only chains accept it", "Leave it out",
        )  # fmt: skip
    problems.check(
        not_chains
        or "bead_spectrum" not in wanted.names
        or all(case.sensors.beads for case in cases),
        "measures",
        "bead_spectrum needs a sensor, and a case has none",
        "At least one sensor is required",
        "List beads under [sensors]",
    )
    alone = [name for name in wanted.names if name not in ("pulse", "traces", "bead_spectrum")]
    problems.check(
        not (chained and alone),
        "measures",
        f"{', '.join(alone)} cannot be measured in a chained study",
        "Chained studies allow bead_spectrum, traces, and your own functions, because their runs "
        "do not start from the initial state of the case",
        "Remove the others",
    )
    problems.check(
        executor is None or not chained,
        "executor",
        "a chained study cannot use an executor",
        "Each value waits for the previous value",
        "Leave it out",
    )
    problems.close()
    # a steady part has no first pulse
    names = (name for name in wanted.names if not (chained and name == "pulse"))
    return wanted._replace(names=tuple(names))


def size_of_numbers(
    cases: Sequence[Case], measures: Measures, out: str | os.PathLike[str] | None = None
) -> float:
    """Return the size of the numbers of all members [bytes], or raise an error above the limits."""
    if "result" in measures.names:
        if out is not None and cases[0].measured:
            raise CaseError(
                "out: results of mechanisms cannot be written to one file. Leave it out, and save "
                "each result."
            )
        if out is not None:
            return room_of_ensemble(out, cases)
        size = sum(sizes_of_cases(cases))
        if size > MEMORY:
            raise CaseError(
                f"cases: {len(cases)} runs need {size / 2**30:.3g} GiB of memory. At most "
                f"{MEMORY // 2**30} GiB are allowed. Write them to a file with out=, or increase "
                "the interval under [sensors], [snapshots], or [energy]."
            )
        return size
    size = 8.0 * sum(sizes_of_cases(cases, partial(numbers_of_member, measures=measures)))
    if size > min(MEMORY, LARGEST_FILE):
        raise CaseError(
            f"measures: the numbers of {len(cases)} members need {size / 2**30:.3g} GiB. At most "
            f"{MEMORY / 2**30:g} GiB are allowed. Leave out traces and measures, increase their "
            "intervals, or use fewer members."
        )
    return size


def numbers_of_member(case: Case, measures: Measures) -> float:
    """Return an upper bound on the number of numbers that are measured of a case."""
    if case.measured:
        return float(len(measures.labels))
    shots = 0.0 if case.snapshots is None else most_rows(case.time.end, case.snapshots.interval)
    samples = most_rows(case.time.end, case.sensors.interval)
    lengths = {
        "sensor_bead": float(len(case.sensors.beads)),
        "sample": samples,
        "line": samples,
        "snapshot": shots,
        "body": case.beads + 2.0,
        "joint": case.beads + 3.0,
    }
    return sum(math.prod(lengths[dim] for dim in label.dims) for label in measures.labels.values())


def most_rows(end: float, interval: float) -> float:
    """Return the largest number of samples to the end of a run.

    Samples are a whole number of steps apart, the nearest to the interval. Rounding down makes them
    up to 1.5 times as dense.
    """
    return 1.5 * end / interval + 3.0


# --------------------------------------------------------------------------------------------------
# Members that occur twice, that a file contains, and that were computed with another law


def keys_of_members(
    evaluation: Evaluation, changes: Sequence[tuple[Case, Mapping[str, Any]]] | None
) -> Sequence[Any]:
    """Return a key of each member; members with equal keys have equal numbers.

    Members of a plan repeat if they differ only in inputs that their law does not have. The members
    of a chained study never repeat, because each starts from the end of the previous one.
    """
    if changes is None and not evaluation.chained:
        return [*map(id, evaluation.cases)]
    if changes and {"contact.law", "contact"} & changes[0][1].keys():
        return [canonical(change) for _, change in changes]
    return range(len(evaluation.cases))


def rows_of_all(
    places: Sequence[int], columns: Columns, same: Mapping[int, Sequence[int]]
) -> tuple[Sequence[int], Columns]:
    """Return columns for all members that have the cases of some members."""
    if all(len(same[member]) == 1 for member in places):
        return places, columns
    rows = [row for row, member in enumerate(places) for _ in same[member]]
    every = [other for member in places for other in same[member]]
    return every, selected_rows(columns, rows)


def selected_rows(columns: Columns, rows: Sequence[int]) -> dict[str, Any]:
    """Return some rows of columns."""
    return {
        name: [values[row] for row in rows] if isinstance(values, list) else values[list(rows)]
        for name, values in columns.items()
    }


def names_of_members(evaluation: Evaluation) -> list[str]:
    """Return the name of each member, a hash of its case, the version, and the measures."""
    functions = []
    for function in evaluation.measures.functions:
        # hash of the function and its dependencies; unique if they cannot be determined
        functions.append(uuid.uuid4().hex)
        with contextlib.suppress(LawError):
            functions[-1] = fingerprint(function)
    about = [granchain_version(), source_hash(), *evaluation.measures.names, functions]
    about += ["chained"] if evaluation.chained else []
    names = [name_of_member(case.resolved(), about) for case in evaluation.cases]
    # the numbers of a member in a chained study depend on all members before it
    return list(accumulate(names, lambda *two: sha256_of(two))) if evaluation.chained else names


def name_of_member(document: Mapping[str, Any], about: Sequence[Any]) -> str:
    """Return the name of a member with a completed case; the title does not affect it."""
    tables = {key: table for key, table in document.items() if key != "title"}
    return sha256_of([tables, about])


def restore(evaluation: Evaluation, blocks: Sequence[Columns], out: str | os.PathLike[str]) -> None:
    """Restore the members that files contain; for duplicates, the last block counts.

    Members that could not be set up have no law, and are computed again.

    Raises
    ------
    LawError
        If a member was computed with another law than the current one.
    """
    names = evaluation.names
    where = {
        name: (block, row)
        for block in blocks
        for row, (name, law) in enumerate(zip(block["point"], block["law"], strict=True))
        if law
    }
    restored = [member for member, name in enumerate(names) if name in where]
    for group in alike(id(where[names[member]][0]) for member in restored):
        members = [restored[index] for index in group]
        block = where[names[members[0]]][0]
        rows = [where[names[member]][1] for member in members]
        evaluation.add(members, selected_rows(block, rows))
    changed = changed_law(
        [evaluation.cases[member] for member in restored],
        [evaluation.law[member] for member in restored],
    )
    if changed:
        raise LawError(
            f"{os.fspath(out)}: a member was computed with another law: {changed}. The same law is "
            "required. Start again with --overwrite (in Python: overwrite=True), or choose another "
            "file."
        )


# --------------------------------------------------------------------------------------------------
# The answer and its file


def save_evaluation(evaluation: Evaluation, out: str | os.PathLike[str], overwrite: bool) -> None:
    """Write the file of an evaluation that is complete; take the `claim` first."""
    if "result" not in evaluation.measures.names:
        attributes = attributes_of_study(evaluation)
        save_study(variables_of_study(evaluation), attributes, out, overwrite)
        return
    started, wall_time = [], 0.0
    with ensemble_file(out, overwrite, evaluation.cases) as file:
        memory = sizes_of_cases(evaluation.cases)
        for places in member_groups(range(len(evaluation.cases)), memory, LOT_TO_FILE, TOGETHER):
            results = [evaluation.result(member) for member in places]
            file.add(places[0], results)
            if evaluation.partial_file is not None:
                evaluation.partial_file.release()
            for result in results:
                if result is not None:
                    started.append(result.provenance["started"])
                    wall_time += result.provenance.get("wall_time", 0.0)
        first = min(started, default="")
        file.finish(evaluation.status, evaluation.message, first, wall_time)
    evaluation.stored = StoredEnsemble(out)


def complete_columns(evaluation: Evaluation, out: str | os.PathLike[str]) -> list[Columns]:
    """Return the members in the complete file of a study, with their names."""
    if not os.path.exists(out):
        return []
    if "result" in evaluation.measures.names:
        stored = StoredEnsemble(out)
        about = stored.provenance
        origin = [about["granchain_version"], about["source_hash"], "result", []]
        results = [
            stored.result(member) if member in stored else None for member in range(len(stored))
        ]
        documents = [stored.case_of(member)[1] for member in range(len(stored))]
        return [
            {
                "point": [name_of_member(document, origin) for document in documents],
                "status": [status.label for status in stored.status],
                "message": list(stored.messages),
                "law": ["" if each is None else each.provenance["law_json"] for each in results],
                "result": results,
            }
        ]
    study = open_study(out)
    count, records = study["point"].size, json.loads(study.attrs["laws_json"])
    columns: dict[str, Any] = {
        name: variable.values.reshape(count, *variable.shape[variable.ndim - len(label.dims) :])
        for name, label in evaluation.labels.items()
        if (variable := study.get(name)) is not None
    }
    for name in ("point", "status", "message", "state"):
        if name in study:
            columns[name] = study[name].values.ravel().tolist()
    numbers = {
        name: variable.values.ravel().tolist()
        for name, variable in study.data_vars.items()
        if variable.attrs.get("long_name") == f"of the summary: {name}"
    }
    if evaluation.measures.functions:
        columns["numbers"] = [
            {name: values[row] for name, values in numbers.items()} for row in range(count)
        ]
    columns["law"] = [records[sha256] for sha256 in study["law_sha256"].values.ravel().tolist()]
    return [columns]


def values_of_key(case: Any, key: str, values: Sequence[Any]) -> np.ndarray:
    """Return numbers as an array, with nan for None; other values become text."""
    if all(value is None or is_number(value) for value in values):
        whole = all(isinstance(value, int) for value in values)
        return np.array(values, dtype=np.int64 if whole else float)
    return texts(texts_of_values(case, key, values))


def axes_of_plan(plan: Plan) -> dict[str, Variable]:
    """Return the coordinates of the dimensions of a plan, and the values of its keys."""
    axes = {
        name: Variable((name,), np.arange(n), "1", f"index of the {name}")
        for name, n in plan.sizes.items()
        if name in ("run", "draw")
    }
    for key, listed in plan.listed.items():
        along = "run" if plan.how == "zip" else key
        axes[key] = Variable((along,), values_of_key(plan.case, key, listed), *plan.label(key))
    if "contact" in plan.listed:
        along = "run" if plan.how == "zip" else "contact"
        axes["law"] = Variable((along,), texts(plan.laws), "", "contact law")
    of_draw = plan.dims[-1:] if plan.dims[-1:] == ("draw",) or plan.how == "sobol" else ()
    for key, drawn in plan.sample.items():
        values = drawn if of_draw else np.asarray(drawn[0])
        axes[key] = Variable(of_draw, values, *plan.label(key))
    return axes


def axes_of_cases(cases: Sequence[Case]) -> dict[str, Variable]:
    """Return the index of each case, and the keys in which the cases differ."""
    run = ("run",)
    axes = {"run": Variable(run, np.arange(len(cases)), "1", "index of the run")}
    for key, values in differences(cases).items():
        if key not in RESERVED_NAMES:
            column = values_of_key(cases[0], key, values)
            axes[key] = Variable(run, column, *about_key(cases[0], key))
    return axes


def variables_of_study(evaluation: Evaluation) -> dict[str, Variable]:
    """Return the variables of a study, coordinates of dimensions first."""
    plan, cases = evaluation.plan, evaluation.cases
    variables = axes_of_cases(cases) if plan is None else axes_of_plan(plan)
    dims, shape = (("run",), (len(cases),)) if plan is None else (plan.dims, plan.shape)

    def add_members(name: str, values: np.ndarray, label: Label) -> None:
        rows = values.reshape((*shape, *values.shape[1:]))
        variables[name] = Variable((*dims, *label.dims), rows, label.unit, label.long_name)

    beads, meaning = evaluation.sensors, "label of the sensor bead"
    sensor = "sensor_bead" if (beads == beads[0]).all() else "sensor"
    if sensor == "sensor":
        places = np.arange(beads.shape[1])
        variables[sensor] = Variable((sensor,), places, "1", "index of the sensor")
        add_members("sensor_bead", beads, Label((sensor,), "1", meaning))
    elif not cases[0].measured:
        variables[sensor] = Variable((sensor,), beads[0].astype(np.int64), "1", meaning)
    for name, label in evaluation.labels.items():
        if name in evaluation or name not in OPTIONAL_ARRAYS:
            inner = tuple(sensor if dim == "sensor_bead" else dim for dim in label.dims)
            values = evaluation[name]
            if inner[-1:] == (sensor,):
                # a file may contain members with more sensors
                values = values[..., : beads.shape[1]]
            if inner[:1] == ("sample",):
                # a file may contain members with more samples
                values = values[:, : evaluation["n_samples"].max()]
            for dim, length in zip(inner[::-1], values.shape[::-1], strict=False):
                if dim not in variables:
                    about = f"index of the {dim}"
                    variables[dim] = Variable((dim,), np.arange(length), "1", about)
            add_members(name, values, label._replace(dims=inner))
    numbers = evaluation.rows("numbers", {})
    for name in dict.fromkeys(name for each in numbers for name in each or ()):
        if name in variables or name in RESERVED_NAMES:
            raise CaseError(
                f"summary: the study already uses the name {name}. Names must be unique. Rename it."
            )
        values = np.array([(each or {}).get(name, np.nan) for each in numbers], dtype=float)
        add_members(name, values, Label((), "", f"of the summary: {name}"))
    texts_of_members = {
        "status": [status.label for status in evaluation.status],
        "message": evaluation.message,
        "law_sha256": [hash_of_record(text) for text in evaluation.law],
        "state": evaluation.rows("state", "") if evaluation.chained else [],
        "point": evaluation.names,
    }
    for name, values_of_members in texts_of_members.items():
        if values_of_members:
            add_members(name, texts(values_of_members), Label((), "", TEXTS[name]))
    return variables


def attributes_of_study(evaluation: Evaluation) -> dict[str, Any]:
    """Return the attributes of a study: title, settings, status, and provenance."""
    plan, cases = evaluation.plan, evaluation.cases
    records = {hash_of_record(text): text for text in dict.fromkeys(evaluation.law)}
    settings: dict[str, Any] = {"laws_json": canonical(records)}
    if plan is None:
        settings["cases_json"] = canonical(deduplicated_cases(cases), ordered=True)
        laws = [law for case in cases for law in case.law.split(", ")]
        coordinates = [key for key in axes_of_cases(cases) if key != "run"]
    else:
        settings |= {"how": plan.how, "n": plan.n, "seed": plan.seed, "vary_json": vary_json(plan)}
        laws = plan.laws or plan.case.law.split(", ")
        coordinates = [key for key in axes_of_plan(plan) if key not in plan.dims]
    base = cases[0] if plan is None else plan.case
    attributes = study_attributes(
        "evaluate" if plan is None else "sweep",
        base.title or "untitled case",
        laws,
        notes_of(evaluation),
        base,
        status=text_of_statuses(evaluation.status),
        **settings,
        **({"chained": 1} if evaluation.chained else {}),
    )
    # CF: variables that are coordinates of a dimension with another name
    return attributes | ({"coordinates": " ".join(coordinates)} if coordinates else {})


def notes_of(evaluation: Evaluation) -> list[str]:
    """Return notes about pulses that are missing, and about wave speeds that are not comparable."""
    if "peak" not in evaluation:
        return []
    missing, notes = evaluation["missing"][:, : evaluation.sensors.shape[1]], []
    late = missing & (Missing.NOT_ARRIVED | Missing.CUT) > 0
    if note := missing_note(late, evaluation.sensors):
        notes.append(note)
    has_speed = np.isfinite(evaluation["wave_speed"])
    sensors = np.column_stack([missing & ~Missing.WALL, evaluation["wave_speed_sensors"]])[
        has_speed
    ]
    if (sensors != sensors[:1]).any():
        notes.append(UNLIKE)
    return notes


@lru_cache(4096)
def hash_of_record(record: str) -> str:
    """Return the hash of a law's record; empty if there is none."""
    law = LawRecord.of_text(record)
    return "" if law is None else law.sha256
