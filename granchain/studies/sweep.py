"""Sweeps: one case over the values of some keys, and over what is drawn of them, as one
labelled data set."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from granchain.studies.elsewhere import Elsewhere, changed_law
from granchain.studies.many import LOT
from granchain.studies.measures import OF_MEMBER, OF_SENSOR, Measures, SummaryFunction, measure
from granchain.studies.members import check_members, counter
from granchain.studies.plan import MEMBER_BYTES, Plan, plan_of
from granchain.studies.study import attributes_of_study, dataset, records_of, variables_of_study


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
        plan, out, resume, overwrite, summary=summary, traces=traces, executor=executor,
        threads=threads, progress=progress,
    )  # fmt: skip


def swept(
    plan: Plan,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    *,
    summary: SummaryFunction | None = None,
    traces: bool = False,
    executor: Any = None,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Any:
    """The data set of a plan; see `sweep`."""
    if executor is not None and summary is not None:
        raise CaseError(
            "summary: got a function beside an executor, allowed one of the two: members "
            "travel as data; leave out the executor, or keep the traces and sum them up"
        )
    if resume and out is None:
        raise CaseError("resume: got no file to go on with, allowed a study of out=; name its file")
    members = plan.changed()
    cases = [case for case, _ in members]
    check_traces(cases, traces)
    found = Measures.empty(cases)
    names = None if out is None else points(cases, traces, summary)

    def compute(places: Sequence[int], done: Callable[[Sequence[int]], Any], where: str) -> None:
        """Compute members, to the end, an interruption or a fault of the executor."""
        counted = counter(progress, len(cases), len(cases) - len(places))

        def report(those: Sequence[int]) -> None:
            done(those)
            counted(those)

        try:
            if executor is not None:
                changes = [change for _, change in members]
                sent = Elsewhere(executor, plan.case, changes, cases, traces, found)
                sent.measure(places, report)
                return
            if summary is not None:
                check_summary(cases[places[0]], summary)
            measure(
                cases, threads, traces=traces, summary=summary, done=report, found=found,
                places=places,
            )  # fmt: skip
        except (KeyboardInterrupt, RunError) as error:
            missing = len(found.missing)
            kept = f"{len(cases) - missing} of {len(cases)} members are computed, {where}"
            if isinstance(error, RunError):
                data = dataset(plan, found, traces, names)
                raise RunError(f"{error}\n{kept}", data) from error
            if missing:
                warnings.warn(f"interrupted: {kept}", GranchainWarning, stacklevel=4)

    if out is None or names is None:
        more = "in the error's result; with out= they go to a file, and resume=True goes on with it"
        compute(range(len(cases)), lambda places: None, more)
        return dataset(plan, found, traces)
    with claim(out, overwrite or resume):
        there = records_of(open_study(out)) if resume and os.path.exists(out) else {}
        part, keep = StudyPart(out, go_on=resume, anew=overwrite), True
        try:
            take_known(cases, names, there | part.found, found, out)
            # a case that comes twice is computed once
            twice: dict[str, list[int]] = {}
            for place in found.missing:
                twice.setdefault(names[place], []).append(place)

            def done(places: Sequence[int]) -> None:
                records = [{"point": names[one]} | found.record(one, traces) for one in places]
                part.add(records)
                for record in records:
                    for place in twice[record["point"]]:
                        found.take(place, record)

            if twice:
                more = f"in {part.path}; go on with --resume (in Python: resume=True)"
                compute([places[0] for places in twice.values()], done, more)
            if not found.missing:
                variables = variables_of_study(plan, found, names, traces)
                about = attributes_of_study(plan, found)
                save_study(variables, about, out, overwrite or resume)
                keep = False
        finally:
            part.close(keep)
    return dataset(plan, found, traces, names)


def take_known(
    cases: Sequence[Case],
    names: Sequence[str],
    there: Mapping[str, Mapping[str, Any]],
    found: Measures,
    out: str | os.PathLike[str],
) -> None:
    """Take the members that a file holds.

    Raises
    ------
    LawError
        Where one was computed with another law than the one here.
    """
    known = [place for place, name in enumerate(names) if name in there]
    for place in known:
        found.take(place, there[names[place]])
    changed = changed_law([cases[place] for place in known], [found.law[place] for place in known])
    if changed is not None:
        raise LawError(
            f"{os.fspath(out)}: got a member of another law: {changed[1]} "
            f"({changed[0].title[:100]}), allowed the law that computed it; begin anew "
            "with --overwrite (in Python: overwrite=True), or name another file"
        )


def points(cases: Sequence[Case], traces: bool, summary: SummaryFunction | None) -> list[str]:
    """The name of each member: the hash of its resolved case but for the title, of the version
    and of what is measured."""
    about = [granchain_version(), source_hash(), traces, None]
    if summary is not None:
        # of the function and what it reaches; another one each time where that cannot be found out
        about[3] = uuid.uuid4().hex
        with contextlib.suppress(LawError):
            about[3] = fingerprint(summary)
    return [
        sha256_of([{key: part for key, part in case.resolved().items() if key != "title"}, about])
        for case in cases
    ]


def check_summary(case: Case, summary: SummaryFunction) -> None:
    """Try a summary on a case."""
    first = measure([case], 1, summary=summary)
    if not first.status[0].failed and first.message[0]:
        problem = first.message[0].removeprefix("summary: got ")
        raise CaseError(
            f"summary: got {problem}, on the first member, allowed a dict of numbers for "
            "every member; mend it"
        )


def check_traces(cases: Sequence[Case], traces: bool) -> float:
    """Bytes of the data set of these members, its text left out; refused where memory, or a file,
    does not hold them."""
    sensors, most = len(cases[0].sensors.beads), min(MEMORY, LARGEST_FILE)
    samples = max(case.time.end / case.sensors.interval for case in cases) + 1.0 if traces else 0.0
    numbers = len(OF_SENSOR) * sensors + len(OF_MEMBER) + samples * (1 + sensors)
    size = 8.0 * len(cases) * numbers
    if size > most:
        raise CaseError(
            f"sweep: got {len(cases)} members whose numbers take {size / 2**30:.3g} GiB, allowed "
            f"{most / 2**30:g} GiB; "
            "leave out the traces, raise sensors.interval, or take fewer members"
        )
    return size


class StudyEstimate(NamedTuple):
    """What a study will take: members, wall time [s], memory and file, at most [bytes]."""

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
    size, count = check_traces(cases, traces), len(cases)
    threads = check_members(cases, threads)
    tried = [cases[place] for place in sorted({0, count // 2, count - 1})]
    # once for what is compiled and found for all
    measure(tried[:1], 1)
    clock = time.perf_counter()
    measure(tried, 1)
    seconds = (time.perf_counter() - clock) / len(tried) * count / min(threads, count)
    held = 2.0 * size + count * MEMBER_BYTES + min(2.0 * LOT, sum(case.memory for case in cases))
    return StudyEstimate(count, seconds, held, size + count * TEXT)


# --------------------------------------------------------------------------------------------------
# As a TOML file describes it

# Text of a member in the file of a study [bytes]: its name, its status, room for a message.
TEXT = 100
SWEEP_KEYS = ("case", "how", "n", "seed", "traces", "vary")


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
        got = "nothing" if named is None else shown(named)
        allowed = "the name of a built-in case, or the path of a case file from the folder of this"
        problems.add("case", got, allowed, 'write for example case = "steel-chain"')
    if not isinstance(traces, bool):
        advice = "write true to keep the forces of the sensors"
        problems.add("traces", shown(traces), "true or false", advice)
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
