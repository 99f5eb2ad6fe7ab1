"""Members of an ensemble or a study: set up together, advanced in stacks on threads, each to the
bits of its own run.

What becomes of them goes to a reducer: `granchain.studies.many` keeps a result of each,
`granchain.studies.measures` numbers.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from granchain.case import Case
from granchain.chain import Chain
from granchain.engine.garbage import no_collection
from granchain.engine.stack import Stack, shape_of
from granchain.engine.state import Recording, State
from granchain.errors import CaseError
from granchain.keys import Problems, check_whole
from granchain.simulation import (
    BLOCK_SECONDS,
    FIRST_BLOCK,
    MOST_THREADS,
    prepare_together,
    recording_of,
)
from granchain.status import Status

# Wall time of a call of compiled code [s]: the longest delay of an interruption.
CALL_SECONDS = 0.1
# Body-steps of a task for a thread: .1 s at a nanosecond each; shorter tasks gain nothing from a
# second thread.
STEPS_OF_A_BATCH = 1e8
# Wall time of compiling [s] above which a terminal shows a notice.
COMPILING = 2.0

T = TypeVar("T")


def as_they_end(
    submit: Callable[[T], Future],
    tasks: Iterable[T],
    taken: Callable[[Future, T], Iterable[T]],
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
    taken : function of a future and its task
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
            coming = chain(taken(future, waiting.pop(future)), coming)


class Members:
    """Advances cases lot by lot, on threads.

    Parameters
    ----------
    cases : sequence of Case
    threads : int
    take : function of a Batch
        Takes what a batch has come to, in the thread that has advanced it.
    refuse : function of a place and a sentence
        Called for each member that cannot be set up, with the reason.
    record : function of a Case
        What is recorded of it.

    Attributes
    ----------
    interrupted : bool
        Whether KeyboardInterrupt has ended it.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        threads: int,
        take: Callable[[Batch], Any],
        refuse: Callable[[int, str], Any],
        record: Callable[[Case], Recording] = recording_of,
    ):
        self._cases, self._threads, self._take, self._refuse, self._record = (
            cases,
            threads,
            take,
            refuse,
            record,
        )
        self._stop = threading.Event()
        self.interrupted = False

    def advance(self, lots: Iterable[range], done: Callable[[Sequence[int]], Any]) -> None:
        """Advance one lot after the other, to the end or an interruption.

        Parameters
        ----------
        lots : iterable of range
            Places that are set up together. The first lot is shared by all threads, as what is
            compiled, and found for all, is found once; of the others each is a thread's own, and no
            more are held than there are threads.
        done : function of places
            Called in this thread with members that have ended.
        """
        waiting: dict[Future, Callable[[], list[int]]] = {}

        def taken(future: Future, task: Any) -> tuple[()]:
            done(future.result())
            return ()

        with ThreadPoolExecutor(self._threads, "granchain") as pool:
            try:
                as_they_end(
                    pool.submit, self._tasks(iter(lots), done), taken, waiting, self._threads + 1
                )
            except BaseException as error:
                self._stop.set()
                pool.shutdown(cancel_futures=True)
                if not isinstance(error, KeyboardInterrupt):
                    raise
                self.interrupted = True
                for future in waiting:
                    if not future.cancelled():
                        done(future.result())

    def _tasks(
        self, lots: Iterator[range], done: Callable[[Sequence[int]], Any]
    ) -> Iterator[Callable[[], list[int]]]:
        with no_collection():
            batches, refused = self._batches(next(lots), self._threads)
        if refused:
            done(refused)
        yield from (partial(self._march, batch) for batch in batches)
        yield from (partial(self._lot, places) for places in lots)

    def _lot(self, places: range) -> list[int]:
        if self._stop.is_set():
            return []
        batches, refused = self._batches(places, 1)
        return refused + [place for batch in batches for place in self._march(batch)]

    def _batches(self, places: range, threads: int) -> tuple[list[Batch], list[int]]:
        ready, refused = set_up(self._cases, places, self._record)
        for place, sentence in refused:
            self._refuse(place, sentence)
        return batches_of(ready, threads), [place for place, _ in refused]

    def _march(self, batch: Batch) -> list[int]:
        batch.march(self._stop)
        self._take(batch)
        return [one.place for one, status in batch.stopped if status is not Status.RUNNING]


def counter(
    progress: Callable[[int, int], Any] | None, count: int, done: int = 0
) -> Callable[[Sequence[int]], None]:
    """A function that adds up ended members and reports the count to `progress`."""

    def report(places: Sequence[int]) -> None:
        nonlocal done
        done += len(places)
        if progress is not None:
            progress(done, count)

    return report


def check_members(cases: Sequence[Any], threads: int | None) -> int:
    """Number of threads, after all arguments are checked."""
    problems = Problems()
    for place, case in enumerate(cases):
        if not isinstance(case, Case):
            problems.add(
                f"cases[{place}]",
                type(case).__name__,
                "a Case",
                "make it with granchain.load_case or case.replace",
            )
    if not cases:
        problems.add("cases", "none", "one or more", "give a list of cases")
    if threads is None:
        threads = len(os.sched_getaffinity(0))
    else:
        check_whole("threads", threads, problems, "leave it out", most=MOST_THREADS)
    if problems.sentences:
        raise CaseError(problems.sentences)
    return threads


def lots(memory: Iterable[float], most: float, together: int) -> Iterator[range]:
    """Places of the members that are set up together.

    Parameters
    ----------
    memory : iterable of float
        That each takes [bytes].
    most : float
        That they may take together [bytes].
    together : int
        How many they may be.
    """
    first, place, held = 0, 0, 0.0
    for place, needed in enumerate(memory):
        if place > first and (place - first == together or held + needed > most):
            yield range(first, place)
            first, held = place, 0.0
        held += needed
    yield range(first, place + 1)


def memory_of(cases: Iterable[Case]) -> Iterator[float]:
    """Memory that each takes [bytes]; members that share their tables share it."""
    known: dict[tuple, float] = {}
    for case in cases:
        like = (
            id(case.chain),
            id(case.sensors),
            id(case.snapshots),
            id(case.energy),
            id(case.time),
            case.contact.law,
        )
        if like not in known:
            known[like] = case.memory
        yield known[like]


class Ready(NamedTuple):
    """A member that is set up."""

    place: int
    case: Case
    chain: Chain
    state: State


def set_up(
    cases: Sequence[Case], places: Sequence[int], record: Callable[[Case], Recording] = recording_of
) -> tuple[list[Ready], list[tuple[int, str]]]:
    """The members that can run, and those that cannot, each with the reason; `record` says what
    is recorded of each."""
    try:
        prepared = prepare_together([cases[place] for place in places])
    except CaseError as error:
        if len(places) == 1:
            return [], [
                (
                    places[0],
                    "\n".join(f"member {places[0]}: {problem}" for problem in error.problems),
                )
            ]
        # one of them is at fault, or some: halves of halves find which
        half = len(places) // 2
        one, other = (set_up(cases, part, record) for part in (places[:half], places[half:]))
        return one[0] + other[0], one[1] + other[1]
    return [
        Ready(
            place,
            cases[place],
            chain,
            State(contacts, chain, time_step, record(cases[place]), placed=False),
        )
        for place, (chain, contacts, time_step) in zip(places, prepared, strict=True)
    ], []


class Batch:
    """Some members of a stack, which one thread advances.

    Parameters
    ----------
    stack : Stack
    ready : sequence of Ready
        Those members.
    first : int
        Place in the stack of the first of them.
    """

    def __init__(self, stack: Stack, ready: Sequence[Ready], first: int):
        self._stack, self._ready, self._first = stack, ready, first
        self._status = stack.status[first : first + len(ready)]
        self._wall_time = 0.0

    def march(self, stop: threading.Event) -> Batch:
        """Blocks of steps, as a single run takes them, until all members are done."""
        last, clock = self._first + len(self._ready), time.perf_counter()
        each = 0.0
        block, members = max(1, FIRST_BLOCK // self._ready[0].chain.n_bodies), 1
        most = max(one.state.time_step.n_steps for one in self._ready)
        while (self._status == Status.RUNNING).any():
            at = self._first
            while at < last:
                if stop.is_set():
                    return self
                self._wall_time = time.perf_counter() - clock
                before, end = time.perf_counter(), min(last, at + members)
                self._stack.advance(at, end, block)
                each = (time.perf_counter() - before) / (end - at)
                at, members = end, max(1, int(CALL_SECONDS / max(each, 1e-9)))
            grown = max(1, min(4 * block, int(block * BLOCK_SECONDS / max(each, 1e-9)), most))
            block, members = grown, max(1, members * block // grown)
        self._wall_time = time.perf_counter() - clock
        return self

    @property
    def stopped(self) -> list[tuple[Ready, Status]]:
        """Each member, and how far it is."""
        return [
            (ready, Status(number)) for ready, number in zip(self._ready, self._status, strict=True)
        ]

    @property
    def wall_time(self) -> float:
        """What it took so far, for each of its members [s]."""
        return self._wall_time / len(self._ready)


def batches_of(ready: Sequence[Ready], threads: int) -> list[Batch]:
    """Members, alike ones in a stack, cut into batches of about the same work: some for each
    thread."""
    groups: dict[tuple, list[Ready]] = {}
    for one in ready:
        # records are as long as the longest of a stack: at most twice as long as any of them
        longest = max(shape[0] for shape in one.state.record_shapes.values())
        groups.setdefault((shape_of(one.state), longest.bit_length()), []).append(one)
    batches = []
    for group in groups.values():
        notice = (
            f"compiling the loop of {group[0].case.contact.law} for many runs; it is kept for the "
            "next ones\n"
        )
        timer = threading.Timer(
            COMPILING, lambda text=notice: sys.stderr.write(text) if sys.stderr.isatty() else None
        )
        timer.daemon = True
        timer.start()
        try:
            stack = Stack([one.state for one in group])
        finally:
            timer.cancel()
        work = np.cumsum([float(one.chain.n_bodies * one.state.time_step.n_steps) for one in group])
        count = min(
            len(group), threads * max(1, math.ceil(work[-1] / (threads * STEPS_OF_A_BATCH)))
        )
        ends = np.unique(
            np.append(np.searchsorted(work, work[-1] * np.arange(1, count) / count), len(group))
        )
        firsts = [0, *ends[:-1].tolist()]
        batches += [
            Batch(stack, group[first:end], first)
            for first, end in zip(firsts, ends.tolist(), strict=True)
            if end > first
        ]
    return batches
