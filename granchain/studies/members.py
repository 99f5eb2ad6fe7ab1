"""Members of an ensemble or a study: set up together, advanced in stacks on threads, each to the
bits of its own run.

Members that have stopped go to a reducer: `granchain.studies.many` keeps a result of each,
`granchain.studies.measures` numbers.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from granchain.case import Case
from granchain.chain import Chain
from granchain.engine.garbage import no_collection
from granchain.engine.stack import Stack
from granchain.engine.state import Recording, State
from granchain.errors import CaseError
from granchain.keys import Problems, check_integer
from granchain.portable import usable_processors
from granchain.simulation import (
    BLOCK_SECONDS,
    FIRST_BLOCK,
    MOST_THREADS,
    prepare_together,
    recording_of,
)
from granchain.status import Status

# Memory of members that are set up together [bytes]: what is set up and not yet a result.
LOT = 2**28
# Wall time of a call of compiled code [s]: the longest delay of an interruption.
CALL_SECONDS = 0.1
# Body-steps of a task for a thread: .1 s at a nanosecond each; shorter tasks gain nothing from a
# second thread.
STEPS_OF_A_BATCH = 1e8

T = TypeVar("T")


class Ready(NamedTuple):
    """A member that is set up."""

    place: int
    case: Case
    chain: Chain
    state: State


class Batch(NamedTuple):
    """Some members of a stack, which one thread advances; `first` is the place in the stack of the
    first of them."""

    stack: Stack
    ready: Sequence[Ready]
    first: int


# Members, with how far each is, and the wall time of one of them [s].
Receive = Callable[[list[tuple[Ready, Status]], float], Any]


def as_they_end(
    submit: Callable[[T], Future],
    tasks: Iterable[T],
    collect: Callable[[Future, T], Iterable[T]],
    waiting: dict[Future, T],
    most: float = math.inf,
) -> None:
    """Submit tasks to threads, processes or other computers, and take the outcome of each as it
    ends.

    Parameters
    ----------
    submit : function of a task
        Of an executor.
    tasks : iterable
    collect : function of a future and its task
        May give tasks that are to be submitted then.
    waiting : dict
        Empty; those that have not ended, also where an exception ends the waiting.
    most : float
        How many may wait at once.
    """
    coming = iter(tasks)
    while True:
        for task in islice(coming, None if most == math.inf else int(most) - len(waiting)):
            waiting[submit(task)] = task
        if not waiting:
            return
        ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in ended:
            coming = chain(collect(future, waiting.pop(future)), coming)


def advance(
    cases: Sequence[Case],
    lots: Iterable[Sequence[int]],
    threads: int,
    receive: Receive,
    refuse: Callable[[int, str], Any],
    done: Callable[[Sequence[int]], Any],
    record: Callable[[Case], Recording] = recording_of,
) -> None:
    """Advance cases on threads, one lot after the other.

    Parameters
    ----------
    cases : sequence of Case
    lots : iterable of sequence of int
        Places that are set up together. The first lot is shared by all threads, as what is
        compiled, and found for all, is found once; of the others each is a thread's own, and no
        more are held than there are threads.
    threads : int
    receive : function
        Takes members that have stopped, in the thread that has advanced them.
    refuse : function of a place and a sentence
        Called for each member that cannot be set up, with the reason.
    done : function of places
        Called in this thread with members that have ended.
    record : function of a Case
        What is recorded of it.

    Raises
    ------
    KeyboardInterrupt
        Once all members that were begun are taken.
    """
    coming, stop, waiting = iter(lots), threading.Event(), {}  # type: ignore[var-annotated]

    def set_up_lot(places: Sequence[int], threads: int) -> tuple[list[Batch], list[int]]:
        ready, refused = set_up(cases, places, record)
        for place, sentence in refused:
            refuse(place, sentence)
        return batches_of(ready, threads), [place for place, _ in refused]

    def ended(batches: Iterable[Batch]) -> list[int]:
        places = []
        for batch in batches:
            stopped, wall_time = march(batch, stop)
            receive(stopped, wall_time)
            places += [one.place for one, status in stopped if status is not Status.RUNNING]
        return places

    def run_lot(places: Sequence[int]) -> list[int]:
        if stop.is_set():
            return []
        batches, refused = set_up_lot(places, 1)
        return refused + ended(batches)

    def tasks() -> Iterator[Callable[[], list[int]]]:
        with no_collection():
            batches, refused = set_up_lot(next(coming), threads)
        done(refused)
        yield from (partial(ended, [batch]) for batch in batches)
        yield from (partial(run_lot, places) for places in coming)

    def collect(future: Future, task: Any) -> tuple[()]:
        done(future.result())
        return ()

    with ThreadPoolExecutor(threads, "granchain") as pool:
        try:
            as_they_end(pool.submit, tasks(), collect, waiting, threads + 1)
        except BaseException as error:
            stop.set()
            pool.shutdown(cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                for future in waiting:
                    if not future.cancelled():
                        done(future.result())
            raise


def march(batch: Batch, stop: threading.Event) -> tuple[list[tuple[Ready, Status]], float]:
    """Blocks of steps, as a single run takes them, until all members are done or a stop: how far
    each is, and the wall time of one [s]."""
    stack, ready, first = batch
    last, clock, each = first + len(ready), time.perf_counter(), 0.0
    status = stack.status[first:last]
    block, members = max(1, FIRST_BLOCK // ready[0].chain.n_bodies), 1
    most = max(one.state.time_step.n_steps for one in ready)
    while (status == Status.RUNNING).any() and not stop.is_set():
        at = first
        while at < last and not stop.is_set():
            before, end = time.perf_counter(), min(last, at + members)
            stack.advance(at, end, block)
            each = (time.perf_counter() - before) / (end - at)
            at, members = end, max(1, int(CALL_SECONDS / max(each, 1e-9)))
        grown = max(1, min(4 * block, int(block * BLOCK_SECONDS / max(each, 1e-9)), most))
        block, members = grown, max(1, members * block // grown)
    wall_time = (time.perf_counter() - clock) / len(ready)
    return [(one, Status(number)) for one, number in zip(ready, status, strict=True)], wall_time


def counter(
    progress: Callable[[int, int], Any] | None, count: int, done: int = 0
) -> Callable[[Sequence[int]], None]:
    """A function that adds up ended members and reports the count to `progress`."""

    def report(places: Sequence[int]) -> None:
        nonlocal done
        done += len(places)
        if progress is not None and places:
            progress(done, count)

    return report


def check_members(cases: Sequence[Any], threads: int | None) -> int:
    """Number of threads, after all arguments are checked."""
    problems = Problems()
    problems.check(len(cases) > 0, "cases", "missing", "At least one case is required")
    for place, case in enumerate(cases):
        problems.check(
            isinstance(case, Case),
            f"cases[{place}]",
            f"{type(case).__name__} is not valid",
            "It must be a Case",
            "Create it with granchain.load_case or case.replace",
        )
    if threads is None:
        threads = usable_processors()
    else:
        check_integer("threads", threads, problems, "leave it out", most=MOST_THREADS)
    problems.close()
    return threads


def lots(
    places: Sequence[int], memory: Iterable[float], most: float, together: int
) -> Iterator[Sequence[int]]:
    """Places of the members that are set up together.

    Parameters
    ----------
    places : sequence of int
    memory : iterable of float
        That each takes [bytes].
    most : float
        That they may take together [bytes].
    together : int
        How many they may be.
    """
    first, held = 0, 0.0
    for at, needed in enumerate(memory):
        if at > first and (at - first == together or held + needed > most):
            yield places[first:at]
            first, held = at, 0.0
        held += needed
    yield places[first:]


def memory_of(cases: Iterable[Case]) -> Iterator[float]:
    """Memory that each takes [bytes]; members that share their tables share it."""
    known: dict[tuple, float] = {}
    for case in cases:
        tables = case.chain, case.sensors, case.snapshots, case.energy, case.time
        like = (*map(id, tables), case.contact.law)
        if like not in known:
            known[like] = case.memory
        yield known[like]


def set_up(
    cases: Sequence[Case], places: Sequence[int], record: Callable[[Case], Recording]
) -> tuple[list[Ready], list[tuple[int, str]]]:
    """The members that can run, and those that cannot, each with the reason; `record` says what
    is recorded of each."""
    try:
        prepared = prepare_together([cases[place] for place in places])
    except CaseError as error:
        if len(places) == 1:
            sentences = [f"member {places[0]}: {problem}" for problem in error.problems]
            return [], [(places[0], "\n".join(sentences))]
        # one of them is at fault, or some: halves of halves find which
        half = len(places) // 2
        one, other = (set_up(cases, part, record) for part in (places[:half], places[half:]))
        return one[0] + other[0], one[1] + other[1]
    ready: list[Ready] = []
    for place, (row, contacts, time_step) in zip(places, prepared, strict=True):
        recording, before = record(cases[place]), ready[-1].state if ready else None
        if (
            before is not None
            and before.prepared is contacts
            and before.recording == recording
            and row.is_moved(before.chain)
        ):
            state = before.at(row, time_step)
        else:
            state = State(contacts, row, time_step, recording, placed=False)
        ready.append(Ready(place, cases[place], row, state))
    return ready, []


def batches_of(ready: Sequence[Ready], threads: int) -> list[Batch]:
    """Members, alike ones in a stack, cut into batches of about the same work: some for each
    thread."""
    groups: dict[tuple, list[Ready]] = {}
    for one in ready:
        # records are as long as the longest of a stack: at most twice as long as any of them
        longest, *_ = max(one.state.record_shapes.values())
        groups.setdefault((one.state.shape, longest.bit_length()), []).append(one)
    batches = []
    for group in groups.values():
        stack = Stack([one.state for one in group])
        work = np.cumsum([float(one.chain.n_bodies * one.state.time_step.n_steps) for one in group])
        share = max(1, math.ceil(work[-1] / (threads * STEPS_OF_A_BATCH)))
        count = min(len(group), threads * share)
        ends = np.searchsorted(work, work[-1] * np.arange(1, count) / count)
        for first, end in pairwise(np.unique([0, *ends, len(group)]).tolist()):
            batches.append(Batch(stack, group[first:end], first))
    return batches
