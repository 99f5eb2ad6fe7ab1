"""Sweeps: one case over the values of some keys, and over what is drawn of them, as one
labelled data set."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from granchain.case import Case, load_case
from granchain.case.checks import MEMORY
from granchain.case.document import case_names, parsed, read_text
from granchain.case.tables import TABLES
from granchain.errors import CaseError, GranchainWarning, LawError, RunError
from granchain.jit.options import fingerprint
from granchain.keys import Problems, shown
from granchain.plain_data import sha256_of
from granchain.store import claim
from granchain.store.files import LARGEST_FILE
from granchain.store.provenance import granchain_version, source_hash
from granchain.store.study import StudyPart, open_study, save_study
from granchain.studies.elsewhere import Elsewhere, ExecutorError, changed_law
from granchain.studies.many import LOT
from granchain.studies.measures import OF_MEMBER, OF_SENSOR, Measures, SummaryFunction, measure
from granchain.studies.members import check_members, counter
from granchain.studies.plan import MEMBER_BYTES, Plan, plan_of
from granchain.studies.study import attributes_of_study, dataset, measures_of, variables_of_study


def sweep(
    case: Case,
    vary: Mapping[str, Any],
    how: str = "product",
    n: int = 1,
    seed: int = 0,
    *,
    summary: SummaryFunction | None = None,
    traces: bool = False,
    out: str | os.PathLike[str] | None = None,
    executor: Any = None,
    threads: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int], Any] | None = None,
) -> Any:
    """Run a case over values of its keys, and measure the first pulse of each member.

    Parameters
    ----------
    case : Case
        What is changed; it stays as it is.
    vary : mapping
        For each key, with dots, what it takes: a list, `granchain.normal` or another distribution,
        `granchain.disorder`; or as a TOML file writes it.
    how : {"product", "zip", "sobol"}
        All combinations of the lists, or one after the other side by side; "sobol": distributions
        alone, n runs in all.
    n : int
        Draws at each point, the same at every point.
    seed : int
        Of all draws.
    summary : function, optional
        Takes a Result, gives a dict of numbers: further variables. It is tried on the first member
        before the others run.
    traces : bool
        Keep the forces of the sensors.
    out : str or path, optional
        File of the study, FILE.part until it is whole: members are written as they come.
    executor : concurrent.futures.Executor, optional
        Computes the members, in processes here or elsewhere.
    threads : int, optional
        Threads that advance the members; as many as there are processors for this process, unless
        given.
    resume : bool
        Take from `out`, whole or in part, the members that are there: of the same resolved case,
        law, version and measures.
    overwrite : bool
        Replace an output file of the name `out`.
    progress : callable, optional
        Called with how many members are done and how many there are.

    Returns
    -------
    xarray.Dataset
        Dimensions: each list's key, and `draw` where n is more than 1; with "zip" and "sobol"
        `run`, with the keys as coordinates. Numbers of a member that failed are nan; `status` and
        `message` say why.

    Raises
    ------
    CaseError
        With every mistake, of the call and of all members, before anything runs; and where the
        summary fails on the first member.
    FileError
        Where `out` cannot be written.
    """
    plan = plan_of(case, vary, how, n, seed)
    return swept(
        plan, Work(plan.case, threads, traces, summary, progress, executor), out, resume, overwrite
    )


def swept(
    plan: Plan,
    work: Work,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> Any:
    """The data set of a plan; see `sweep`."""
    members = plan.changed()
    cases = [case for case, _ in members]
    check_traces(cases, work.traces)
    work.changes = {id(case): changes for case, changes in members}
    if out is None:
        if resume:
            raise CaseError(
                "resume: got no file to go on with, allowed a study of out=; name its file"
            )
        try:
            return dataset(plan, work.measured(cases), work.traces)
        except ExecutorError as error:
            kept = (
                f"{kept_of(error.found)}, in the error's result; with out= they go to a file, and "
                "resume=True goes on with it"
            )
            raise RunError(f"{error}\n{kept}", dataset(plan, error.found, work.traces)) from error
    return to_file(plan, cases, work, out, resume, overwrite)


def kept_of(found: Measures) -> str:
    """How many members are measured."""
    return f"{len(found.status) - len(found.missing)} of {len(found.status)} members are computed"


@dataclass
class Work:
    """How members are computed, and what is measured of them.

    Parameters
    ----------
    base : Case
        Of which the members are changes.
    threads, traces, summary, progress, executor
        As of `sweep`.
    folder : path, optional
        Where an executor's workers put what they have computed; they send it, unless given.
    changes : mapping
        What is changed in each member, by the identity of its case.
    """

    base: Case
    threads: int | None
    traces: bool
    summary: SummaryFunction | None
    progress: Callable[[int, int], Any] | None
    executor: Any = None
    folder: Path | None = None
    changes: Mapping[int, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.executor is not None and self.summary is not None:
            raise CaseError(
                "summary: got a function beside an executor, allowed one of the two: members "
                "travel as data; leave out the executor, or keep the traces and sum them up"
            )

    def measured(
        self,
        cases: Sequence[Case],
        done: Callable[[Sequence[int], Measures], Any] | None = None,
        before: int = 0,
    ) -> Measures:
        """Measures of all members; a summary is tried on the first of them.

        Parameters
        ----------
        cases : sequence of Case
        done : function, optional
            Called with the places of members that are measured, and what there is so far.
        before : int
            How many were there already.
        """
        if self.summary is not None:
            first = measure(cases[:1], 1, summary=self.summary)
            if not first.status[0].failed and first.message[0]:
                problem = first.message[0].removeprefix("summary: got ")
                raise CaseError(
                    f"summary: got {problem}, on the first member, allowed a dict of numbers for "
                    "every member; mend it"
                )
        counted = counter(self.progress, before + len(cases), before)

        def report(places: Sequence[int], found: Measures) -> None:
            if done is not None:
                done(places, found)
            counted(places)

        if self.executor is not None:
            changes = [self.changes[id(case)] for case in cases]
            return Elsewhere(
                self.executor, self.base, changes, cases, self.traces, self.folder
            ).measured(report)
        return measure(cases, self.threads, traces=self.traces, summary=self.summary, done=report)


def check_traces(cases: Sequence[Case], traces: bool) -> None:
    """Refuse traces that memory, or a file, does not hold."""
    size, most = size_of_study(cases, traces), min(MEMORY, LARGEST_FILE)
    if size > most:
        raise CaseError(
            f"sweep: got {len(cases)} members whose numbers take {size / 2**30:.3g} GiB, allowed "
            f"{most / 2**30:g} GiB; "
            "leave out the traces, raise sensors.interval, or take fewer members"
        )


def size_of_study(cases: Sequence[Case], traces: bool) -> float:
    """Bytes of the data set of these members, its text left out."""
    sensors = len(cases[0].sensors.beads)
    samples = max(case.time.end / case.sensors.interval for case in cases) + 1.0 if traces else 0.0
    return 8.0 * len(cases) * (len(OF_SENSOR) * sensors + len(OF_MEMBER) + samples * (1 + sensors))


@dataclass(frozen=True)
class StudyEstimate:
    """What a study will take.

    Parameters
    ----------
    members : int
    seconds : float
        Wall time [s].
    memory, file : float
        [bytes], at most.
    """

    members: int
    seconds: float
    memory: float
    file: float


def estimate(plan: Plan, traces: bool, threads: int | None) -> StudyEstimate:
    """What a study will take, from three of its members, which are run for it.

    Raises
    ------
    CaseError
        As `sweep` does before anything runs.
    """
    cases = plan.cases()
    check_traces(cases, traces)
    threads = check_members(cases, threads)
    tried = [cases[place] for place in sorted({0, len(cases) // 2, len(cases) - 1})]
    # once for what is compiled and found for all
    measure(tried[:1], 1)
    clock = time.perf_counter()
    measure(tried, 1)
    each = (time.perf_counter() - clock) / len(tried)
    size = size_of_study(cases, traces)
    held = (
        2.0 * size + len(cases) * MEMBER_BYTES + min(2.0 * LOT, sum(case.memory for case in cases))
    )
    return StudyEstimate(
        len(cases), each * len(cases) / min(threads, len(cases)), held, size + len(cases) * TEXT
    )


# --------------------------------------------------------------------------------------------------
# As a TOML file describes it

SWEEP_KEYS = {
    "case": "the name of a built-in case, or the path of a case file from the folder of this one",
    "how": '"product", "zip" or "sobol"',
    "n": "a whole number from 1",
    "seed": "a whole number from 0",
    "traces": "true or false",
    "vary": "a table [vary]",
}


class Description(NamedTuple):
    """A study as a file describes it."""

    plan: Plan
    traces: bool


def load_sweep(path: str | os.PathLike[str]) -> Description:
    """Read a SWEEP.toml.

    Raises
    ------
    CaseError
        With every mistake of the file; those of the case first.
    FileError
        For a file that cannot be read.
    """
    file = Path(path)
    document = parsed(read_text(file, "sweep file"), file.name)
    problems = Problems()
    for name in document:
        if name not in SWEEP_KEYS:
            problems.add_unknown(str(name), SWEEP_KEYS, "take it out")
    named: Any = document.get("case")
    traces: Any = document.get("traces", False)
    if not isinstance(named, str):
        problems.add(
            "case",
            "nothing" if named is None else shown(named),
            SWEEP_KEYS["case"],
            'write for example case = "steel-chain"',
        )
    if not isinstance(traces, bool):
        problems.add(
            "traces",
            shown(traces),
            SWEEP_KEYS["traces"],
            "write true to keep the forces of the sensors",
        )
    if problems.sentences:
        raise CaseError(problems.sentences)
    case = load_case(named if named in case_names() else file.parent / named)
    vary = document.get("vary")
    if isinstance(vary, dict):
        vary = dict(flat_vary(vary))
    asked = {key: document[key] for key in ("how", "n", "seed") if key in document}
    return Description(plan_of(case, vary, **asked), traces)


def flat_vary(vary: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Keys with dots, also where a file writes them without quotes, as tables in tables."""
    for key, value in vary.items():
        where = f"{above}{key}"
        if isinstance(value, Mapping) and (
            where in TABLES or where.endswith(("material", "segment")) or key.isdecimal()
        ):
            yield from flat_vary(value, f"{where}.")
        else:
            yield where, value


# --------------------------------------------------------------------------------------------------
# To a file

# Text of a member in the file [bytes]: its name, its status, room for a message.
TEXT = 100


def to_file(
    plan: Plan,
    cases: Sequence[Case],
    work: Work,
    out: str | os.PathLike[str],
    resume: bool,
    overwrite: bool,
) -> Any:
    """Compute what a file does not hold yet, and write it whole."""
    names = points(cases, work)
    with claim(out, overwrite or resume):
        there: dict[str, Any] = {}
        if resume and os.path.exists(out):
            study = open_study(out)
            members, stored = measures_of(study)
            there = {
                name: stored.record(place, "sensor_force" in study)
                for place, name in enumerate(members)
            }
        part = StudyPart(out, go_on=resume, anew=overwrite)
        keep = True
        try:
            there |= part.found
            found = Measures.empty(cases)
            known = [place for place, name in enumerate(names) if name in there]
            for place in known:
                found.take(place, there[names[place]])
            changed = changed_law(
                [cases[place] for place in known], [found.law[place] for place in known]
            )
            if changed is not None:
                raise LawError(
                    f"{os.fspath(out)}: got a member of another law: {changed[1]} "
                    f"({changed[0].title[:100]}), allowed the law that computed it; begin anew "
                    "with --overwrite (in Python: overwrite=True), or name another file"
                )
            # a case that comes twice is computed once
            missing = list({names[place]: place for place in reversed(found.missing)}.values())[
                ::-1
            ]
            try:
                if missing:
                    compute_missing(work, cases, names, missing, found, part)
            except ExecutorError as error:
                kept = (
                    f"{kept_of(found)}, in {part.path}; go on with --resume (in Python: "
                    "resume=True)"
                )
                raise RunError(
                    f"{error}\n{kept}", dataset(plan, found, work.traces, names)
                ) from error
            if found.missing:
                warnings.warn(
                    f"interrupted: {len(cases) - len(found.missing)} of {len(cases)} members are "
                    f"in {part.path}; go on with --resume (in Python: resume=True)",
                    GranchainWarning,
                    stacklevel=3,
                )
                return dataset(plan, found, work.traces, names)
            save_study(
                variables_of_study(plan, found, names, work.traces),
                attributes_of_study(plan, found),
                out,
                overwrite or resume,
            )
            keep = False
        finally:
            part.close(keep)
    return dataset(plan, found, work.traces, names)


def compute_missing(
    work: Work,
    cases: Sequence[Case],
    names: Sequence[str],
    missing: Sequence[int],
    found: Measures,
    part: StudyPart,
) -> None:
    """Compute the members that are missing; each goes to the file as it comes."""
    twice: dict[str, list[int]] = {}
    for place in found.missing:
        twice.setdefault(names[place], []).append(place)

    def done(places: Sequence[int], measures: Measures) -> None:
        records = [
            {"point": names[missing[place]]} | measures.record(place, work.traces)
            for place in places
        ]
        part.add(records)
        for record in records:
            for place in twice[record["point"]]:
                found.take(place, record)

    with warnings.catch_warnings():
        # said once, with the name of the file
        warnings.filterwarnings("ignore", message="interrupted: ", category=GranchainWarning)
        work.measured([cases[place] for place in missing], done, len(cases) - len(missing))


def points(cases: Sequence[Case], work: Work) -> list[str]:
    """The name of each member: the hash of its resolved case but for the title, of the version
    and of what is measured."""
    about = [granchain_version(), source_hash(), work.traces, None]
    if work.summary is not None:
        # of the function and what it reaches; another one each time where that cannot be found out
        about[3] = uuid.uuid4().hex
        with contextlib.suppress(LawError):
            about[3] = fingerprint(work.summary)
    return [
        sha256_of([{key: part for key, part in case.resolved().items() if key != "title"}, about])
        for case in cases
    ]
