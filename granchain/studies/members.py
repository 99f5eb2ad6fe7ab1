"""Members of an ensemble or a study: set up together and advanced in stacks on threads. Each is
bit-identical to its individual run.

Members that have ended are measured in the thread that has advanced them; see
`granchain.studies.measures`.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice, pairwise
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from granchain.case import Case
from granchain.case.case import CheckedCase
from granchain.chain import Chain
from granchain.engine.batch import Stack
from granchain.engine.garbage import no_collection
from granchain.engine.recording import LENGTHS, Recording
from granchain.engine.state import State
from granchain.errors import CaseError
from granchain.keys import Problems, check_integer
from granchain.portable import usable_processors
from granchain.simulation import (
    BLOCK_SECONDS,
    FIRST_BLOCK,
    MOST_THREADS,
    prepare_together,
)
from granchain.status import Status

# Memory of members that are set up together and have no result yet [bytes].
LOT = 2**28
# Wall time of a call of compiled code [s]: the longest delay of an interruption.
CALL_SECONDS = 0.1
# Body-steps of a task for a thread: 0.1 s at a nanosecond each. With shorter tasks, a second thread
# is no gain.
STEPS_OF_A_BATCH = 1e8

T = TypeVar("T")


class Ready(NamedTuple):
    """Member that is set up."""

    member: int
    case: Case
    chain: Chain
    state: State


class Batch(NamedTuple):
    """Members of a stack that one thread advances; `first` is the index of the first in the
    stack."""

    stack: Stack
    ready: Sequence[Ready]
    first: int


# Function of members with their status, and of the wall time of one of them [s], that returns
# their columns.
Measure = Callable[[list[tuple[Ready, Status]], float], Mapping[str, Any]]
# Indices of members, and their columns.
MemberBlock = tuple[list[int], Mapping[str, Any]]


def as_they_end(
    submit: Callable[[T], Future],
    tasks: Iterable[T],
    collect: Callable[[Future, T], Any],
    waiting: dict[Future, T],
    most: float = math.inf,
) -> None:
    """Submit tasks to threads, processes, or other computers, and collect results as they end.

    Parameters
    ----------
    submit : function of a task
        Method of an executor that returns a future.
    tasks : iterable
    collect : function of a future and its task
    waiting : dict
        Empty dict. It contains the unfinished tasks, also if an exception ends the wait.
    most : float
        Maximum number of unfinished tasks.
    """
    coming = iter(tasks)
    while True:
        for task in islice(coming, None if most == math.inf else int(most) - len(waiting)):
            waiting[submit(task)] = task
        if not waiting:
            return
        ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in ended:
            collect(future, waiting.pop(future))


def advance(
    cases: Sequence[Case],
    groups: Iterable[Sequence[int]],
    threads: int,
    measure: Measure,
    refuse: Callable[[str], Mapping[str, Any]],
    store: Callable[[Sequence[int], Mapping[str, Any]], Any],
    record: Callable[[Case], Recording],
) -> None:
    """Advance cases on threads, one group after the other.

    Parameters
    ----------
    cases : sequence of Case
    groups : iterable of sequence of int
        Indices of members that are set up together. All threads share the first group, so that
        compilation and other common work are done once. Each other group belongs to one thread, and
        there are at most as many groups as threads in memory.
    threads : int
    measure : function of members and a wall time
        Function that returns the columns of members that have ended, in the thread that has
        advanced them.
    refuse : function of a sentence
        Function that returns the columns of a member that cannot be set up.
    store : function of places and columns
        Function that is called in the calling thread with the columns of ended members.
    record : function of a Case
        Function that returns the recording of a case.

    Raises
    ------
    KeyboardInterrupt
        After all members that have ended are stored.
    """
    coming, stop, waiting = iter(groups), threading.Event(), {}  # type: ignore[var-annotated]

    def set_up_group(places: Sequence[int], threads: int) -> tuple[list[Batch], list[MemberBlock]]:
        ready, refused = set_up(cases, places, record)
        return batches_of(ready, threads), [
            ([member], refuse(sentence)) for member, sentence in refused
        ]

    def measured(batches: Iterable[Batch]) -> list[MemberBlock]:
        blocks = []
        for batch in batches:
            members, wall_time = run_batch(batch, stop)
            # a member that was stopped is computed again from its start
            ended = [pair for pair in members if pair[1] is not Status.RUNNING]
            if ended:
                blocks.append(([ready.member for ready, _ in ended], measure(ended, wall_time)))
        return blocks

    def run_group(places: Sequence[int]) -> list[MemberBlock]:
        if stop.is_set():
            return []
        batches, refused = set_up_group(places, 1)
        return refused + measured(batches)

    def tasks() -> Iterator[Callable[[], list[MemberBlock]]]:
        # no thread runs yet, and collection is off in the whole process
        with no_collection():
            batches, refused = set_up_group(next(coming), threads)
        for block in refused:
            store(*block)
        yield from (partial(measured, [batch]) for batch in batches)
        yield from (partial(run_group, places) for places in coming)

    def collect(future: Future, task: Any) -> None:
        for block in future.result():
            store(*block)

    with ThreadPoolExecutor(threads, "granchain") as pool:
        try:
            as_they_end(pool.submit, tasks(), collect, waiting, threads + 1)
        except BaseException as error:
            stop.set()
            pool.shutdown(cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                for future in waiting:
                    if not future.cancelled():
                        collect(future, None)
            raise


def run_batch(batch: Batch, stop: threading.Event) -> tuple[list[tuple[Ready, Status]], float]:
    """Advance blocks of steps, as a single run does, until all members end or `stop` is set.

    Return the status of each member, and the wall time of one member [s].
    """
    stack, ready, first = batch
    last, clock, seconds = first + len(ready), time.perf_counter(), 0.0
    status = stack.status[first:last]
    # steps of each member, and members, in a call of compiled code
    steps, members = max(1, FIRST_BLOCK // ready[0].chain.n_bodies), 1
    most = max(ready_member.state.time_step.n_steps for ready_member in ready)
    while (status == Status.RUNNING).any() and not stop.is_set():
        at = first
        while at < last and not stop.is_set():
            before, end = time.perf_counter(), min(last, at + members)
            stack.advance(at, end, steps)
            # wall time of one member; as many members as fit into CALL_SECONDS follow
            seconds = (time.perf_counter() - before) / (end - at)
            at, members = end, max(1, int(CALL_SECONDS / max(seconds, 1e-9)))
        # as in a single run, up to BLOCK_SECONDS of one member; a call still takes as long
        grown = max(1, min(4 * steps, int(steps * BLOCK_SECONDS / max(seconds, 1e-9)), most))
        steps, members = grown, max(1, members * steps // grown)
    wall_time = (time.perf_counter() - clock) / len(ready)
    return [
        (ready_member, Status(number)) for ready_member, number in zip(ready, status, strict=True)
    ], wall_time


def check_members(cases: Sequence[Any], threads: int | None) -> int:
    """Check all arguments and return the number of threads."""
    problems = Problems()
    problems.check(len(cases) > 0, "cases", "missing", "At least one case is required")
    for i, case in enumerate(cases):
        problems.check(
            isinstance(case, CheckedCase) and type(case) is type(cases[0]),
            f"cases[{i}]",
            f"{type(case).__name__} is not valid",
            "It must be a Case, or all must be mechanisms of one kind",
            "Create it with granchain.load_case or case.replace",
        )
    if threads is None:
        threads = usable_processors()
    else:
        check_integer("threads", threads, problems, "leave it out", most=MOST_THREADS)
    problems.close()
    return threads


def member_groups(
    places: Sequence[int], memory: Iterable[float], most: float, together: int
) -> Iterator[Sequence[int]]:
    """Return the indices of members that are set up together, group by group.

    Parameters
    ----------
    places : sequence of int
    memory : iterable of float
        Memory of each member [bytes].
    most : float
        Maximum memory of a group [bytes].
    together : int
        Maximum number of members in a group.
    """
    first, used = 0, 0.0
    for at, needed in enumerate(memory):
        if at > first and (at - first == together or used + needed > most):
            yield places[first:at]
            first, used = at, 0.0
        used += needed
    yield places[first:]


def sizes_of_cases(
    cases: Iterable[Any], size: Callable[[Any], float] = attrgetter("memory")
) -> Iterator[float]:
    """Return a size of each case, by default its memory [bytes].

    The size of cases with the same tables is computed once.
    """
    sizes: dict[tuple, float] = {}
    for case in cases:
        tables: tuple[Any, ...] = (case,)
        if not case.measured:
            tables = case.chain, case.sensors, case.snapshots, case.energy, case.time
        like = (*map(id, tables), case.contact.law)
        if like not in sizes:
            sizes[like] = size(case)
        yield sizes[like]


def set_up(
    cases: Sequence[Case], places: Sequence[int], record: Callable[[Case], Recording]
) -> tuple[list[Ready], list[tuple[int, str]]]:
    """Return the members that can run, and the index and the reason of each that cannot.

    `record` returns the recording of a case.
    """
    try:
        prepared = prepare_together([cases[member] for member in places])
    except CaseError as error:
        if len(places) == 1:
            return [], [(places[0], "\n".join(error.problems))]
        # at least one case is invalid: find it by bisection
        half = len(places) // 2
        first_half, second_half = (
            set_up(cases, subset, record) for subset in (places[:half], places[half:])
        )
        return first_half[0] + second_half[0], first_half[1] + second_half[1]
    ready: list[Ready] = []
    states: dict[tuple, State] = {}
    for member, (row, contacts, time_step) in zip(places, prepared, strict=True):
        recording = record(cases[member])
        like = id(contacts.model), row.form, recording
        if like in states:
            state = states[like].at(contacts, row, time_step)
        else:
            state = State(contacts, row, time_step, recording, placed=False)
            states[like] = state
        ready.append(Ready(member, cases[member], row, state))
    return ready, []


def batches_of(ready: Sequence[Ready], threads: int) -> list[Batch]:
    """Group similar members in stacks, and divide each into batches of about the same work.

    Each thread gets several batches.
    """
    groups: dict[tuple, list[Ready]] = {}
    for member in ready:
        # all records of a stack have the length of the longest one, which is at most twice that of
        # any member
        longest = max(member.state.sizes[axis] for axis in LENGTHS)
        sensors = member.case.sensors
        like = member.state.shape, longest.bit_length(), len(sensors.beads), sensors.arrival
        groups.setdefault(like, []).append(member)
    batches = []
    for group in groups.values():
        stack = Stack([member.state for member in group])
        work = np.cumsum(
            [float(member.chain.n_bodies * member.state.time_step.n_steps) for member in group]
        )
        share = max(1, math.ceil(work[-1] / (threads * STEPS_OF_A_BATCH)))
        count = min(len(group), threads * share)
        ends = np.searchsorted(work, work[-1] * np.arange(1, count) / count)
        for first, end in pairwise(np.unique([0, *ends, len(group)]).tolist()):
            batches.append(Batch(stack, group[first:end], first))
    return batches
