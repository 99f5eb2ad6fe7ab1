"""Many cases at once: set up together, advanced in stacks on threads, each to the bits of its own run."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from granchain.case import Case
from granchain.case.checks import MEMORY
from granchain.chain import Chain
from granchain.engine.garbage import no_collection
from granchain.engine.stack import Stack, shape_of
from granchain.engine.state import Recording, State
from granchain.errors import CaseError, GranchainWarning, RunError
from granchain.output import claim
from granchain.output.ensemble import EnsembleFile
from granchain.output.stored import StoredEnsemble
from granchain.simulation import BLOCK_SECONDS, FIRST_BLOCK, MOST_THREADS, Ended, ended, prepare_together, recording_of
from granchain.status import Status
from granchain.studies.ensemble import Ensemble, Member
from granchain.studies.interruption import Interruptions

# Members that are set up together: of 70 beads under a law with history, 50 MB of tables.
TOGETHER = 1024
# Memory of those [bytes]: what is set up and not yet a result.
LOT = 2**28
# The same where results go to a file: the tables, the results and what is packed of them come to four times as much.
LOT_TO_FILE = 2**25
# Wall time of a call of compiled code [s]: how soon an interruption is heard.
CALL_SECONDS = 0.1
# Body-steps of a task for a thread: .1 s at a nanosecond each; shorter tasks gain nothing from a second thread.
PIECE = 1e8
# Wall time of compiling [s] from which a person at a terminal is told what is waited for.
COMPILING = 2.0


def run_many(
    cases: Iterable[Case],
    out: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    strict: bool = False,
    progress: Callable[[int, int], Any] | None = None,
    overwrite: bool = False,
) -> Ensemble:
    """Run many cases: each gives the result of `granchain.run`, bit for bit.

    What a law's scans find is found once for all cases; alike cases are advanced by one compiled call, on several threads. An interruption
    (KeyboardInterrupt) ends the call, not the ensemble: what is done stays, in memory or in the file, and a warning says how much it is.

    Parameters
    ----------
    cases : iterable of Case
        What to run.
    out : str or path, optional
        File to which the results go as they come, and stay: memory then does not grow with their number. It is FILE.part until it is whole,
        and what `Ensemble.save` writes.
    threads : int, optional
        Threads that advance them; as many as there are processors for this process, unless given.
    strict : bool
        Raise the error of the first member that fails. Without it, its status and message say so, and the others run.
    progress : callable, optional
        Called with how many members are done and how many there are, as they come.
    overwrite : bool
        Replace an output file of the name `out`; without it, and where it is none, it is kept.

    Returns
    -------
    Ensemble
        In memory; with `out`, one that reads each result from the file.

    Raises
    ------
    CaseError
        Where there is nothing to run, or more than memory holds; with `strict`, for a member that cannot be set up, with its index.
    RunError
        With `strict`, for a member whose run failed.
    FileError
        Where `out` cannot be written: see the message; nothing is left of it then, and what had its name stays.
    """
    given = list(cases)
    threads = checked(given, threads)
    clock, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    room = [case.memory for case in given]
    study = Study(given, threads, strict, progress, started)
    if out is None:
        check_memory(room)
        with Interruptions():
            study.advance(lots(room, LOT))
        study.warn("the ensemble has these")
        return Ensemble(given, study.members)
    with claim(out, overwrite), EnsembleFile(out, overwrite, given, written(given)) as file, Interruptions() as interruptions:

        def put(first: int, lot: Sequence[Member]) -> None:
            with interruptions.held():
                file.add(first, [member.result for member in lot])

        study.advance(lots(room, LOT_TO_FILE), put)
        status, messages = [member.status for member in study.members], [member.message for member in study.members]
        with interruptions.held():
            file.finish(status, messages, started, time.perf_counter() - clock)
    study.warn(f"{os.fspath(out)} holds these")
    return Ensemble(given, study.members, StoredEnsemble(out, trusted=True))


class Study:
    """Advances cases lot by lot.

    Parameters
    ----------
    cases : sequence of Case
    threads : int
    strict : bool
    progress : callable, optional
        As of `run_many`.
    started : str
        UTC, ISO 8601.
    """

    def __init__(self, cases: Sequence[Case], threads: int, strict: bool, progress: Callable[[int, int], Any] | None, started: str):
        self._cases, self._threads, self._strict, self._progress, self._started = cases, threads, strict, progress, started
        self._done: list[Member] = []
        self._stop = threading.Event()
        self.interrupted = False

    @property
    def members(self) -> list[Member]:
        """All of them; those that an interruption has come before are such."""
        return [*self._done, *(unbegun(place) for place in range(len(self._done), len(self._cases)))]

    def warn(self, where: str) -> None:
        """Say how much is done, where it was interrupted."""
        if self.interrupted:
            members = self.members
            done = sum(member.status is not Status.INTERRUPTED for member in members)
            warnings.warn(f"interrupted: {done} of {len(members)} members are done; {where}", GranchainWarning, stacklevel=3)

    def advance(self, groups: Iterable[range], put: Callable[[int, Sequence[Member]], None] | None = None) -> None:
        """Advance one lot after the other, to the end or an interruption.

        Parameters
        ----------
        groups : iterable of range
            Places of each lot.
        put : function, optional
            Takes the results of a lot, which are then no longer held here: the place of its first member, and the lot.
        """
        try:
            with ThreadPoolExecutor(self._threads, "granchain") as pool:
                for places in groups:
                    lot = self._lot(places, pool)
                    if put is not None:
                        # what is put is done, also where an interruption is heard after it
                        kept = [replace(member, result=None) for member in lot]
                        try:
                            put(places.start, lot)
                        except KeyboardInterrupt:
                            self.interrupted = True
                        lot = kept
                    self._done += lot
                    if self.interrupted:
                        break
        except KeyboardInterrupt:
            # a second one, in a thread that hears no signal: the lot that was advanced is lost, and those before it stay
            self.interrupted = True

    def _lot(self, places: range, pool: ThreadPoolExecutor) -> list[Member]:
        """The members of a lot; no table of theirs is held when it has ended."""
        members: dict[int, Member] = {}
        begun: list[Piece] = []
        try:
            with no_collection():
                ready, refused = set_up(self._cases, places, self._strict)
                begun = pieces_of(ready, self._threads)
            for place, message in refused:
                self._add(members, place, Member(Status.NOT_SET_UP, message))
            for future in as_completed([pool.submit(piece.march, self._stop) for piece in begun]):
                for place, member in future.result().members(self._started):
                    self._add(members, place, member)
                    if self._strict and member.status.failed:
                        raise RunError(member.message, member.result)
        except KeyboardInterrupt:
            self.interrupted = True
            self._stop.set()
            pool.shutdown()
            # the pool has ended: what was advanced and not yet collected is whole
            members |= {place: member for piece in begun for place, member in piece.members(self._started) if place not in members}
        except BaseException:
            self._stop.set()
            pool.shutdown(cancel_futures=True)
            raise
        return [members.get(place) or unbegun(place) for place in places]

    def _add(self, members: dict[int, Member], place: int, member: Member) -> None:
        members[place] = member
        if self._progress is not None:
            self._progress(len(self._done) + len(members), len(self._cases))


def checked(cases: Sequence[Any], threads: int | None) -> int:
    """The number of threads, once all that is asked for is looked through."""
    problems = [
        f"cases[{place}]: got {type(case).__name__}, allowed a Case; make it with granchain.load_case or case.replace"
        for place, case in enumerate(cases)
        if not isinstance(case, Case)
    ]
    if not cases:
        problems.append("cases: got none, allowed one or more; give a list of cases")
    if threads is None:
        threads = len(os.sched_getaffinity(0))
    elif isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        problems.append(f"threads: got {threads!r}, allowed a whole number from 1 to {MOST_THREADS}; leave it out for one a processor")
    if problems:
        raise CaseError(problems)
    return threads


def check_memory(memory: Sequence[float]) -> None:
    """Refuse what memory does not hold at once, of what each run takes [bytes]."""
    if sum(memory) > MEMORY:
        raise CaseError(
            f"cases: got {len(memory)} runs that take {sum(memory) / 2**30:.3g} GiB of memory, allowed {MEMORY // 2**30} GiB; let them go "
            "to a file as they come, with out=, or raise the interval under [sensors], [snapshots] or [energy]"
        )


def written(cases: Sequence[Case]) -> float:
    """Bytes that a file of all of them takes at most."""
    return sum(case.file_size for case in cases)


def lots(memory: Sequence[float], most: float) -> Iterator[range]:
    """Places of the members that are set up together, of the memory that each takes [bytes], and what they may take together."""
    first, held = 0, 0.0
    for place, needed in enumerate(memory):
        if place > first and (place - first == TOGETHER or held + needed > most):
            yield range(first, place)
            first, held = place, 0.0
        held += needed
    yield range(first, len(memory))


@dataclass(frozen=True)
class Ready:
    """A member that is set up.

    Parameters
    ----------
    place : int
        Its index.
    case : Case
    chain : Chain
    state : State
    """

    place: int
    case: Case
    chain: Chain
    state: State


def set_up(
    cases: Sequence[Case], places: Sequence[int], strict: bool, record: Callable[[Case], Recording] = recording_of
) -> tuple[list[Ready], list[tuple[int, str]]]:
    """The members that can run, and those that cannot, each with the reason; `record` says what is recorded of each."""
    try:
        prepared = prepare_together([cases[place] for place in places])
    except CaseError as error:
        if len(places) == 1:
            sentences = [f"member {places[0]}: {problem}" for problem in error.problems]
            if strict:
                raise CaseError(sentences) from None
            return [], [(places[0], "\n".join(sentences))]
        # one of them is at fault, or some: halves of halves find which
        half = len(places) // 2
        one, other = (set_up(cases, part, strict, record) for part in (places[:half], places[half:]))
        return one[0] + other[0], one[1] + other[1]
    return [
        Ready(place, cases[place], chain, State(contacts, chain, time_step, record(cases[place]), placed=False))
        for place, (chain, contacts, time_step) in zip(places, prepared, strict=True)
    ], []


class Piece:
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

    def march(self, stop: threading.Event) -> Piece:
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
        return [(ready, Status(number)) for ready, number in zip(self._ready, self._status, strict=True)]

    def members(self, started: str) -> Iterator[tuple[int, Member]]:
        """The members that have begun, each with its place."""
        begun = [
            (ready.place, Ended(ready.case, ready.chain, ready.state, status if status is not Status.RUNNING else Status.INTERRUPTED))
            for ready, status in zip(self._ready, map(Status, self._status), strict=True)
            if status is not Status.RUNNING or ready.state.step
        ]
        found = ended([run for _, run in begun], started, self._wall_time / len(self._ready))
        for (place, run), (result, problem) in zip(begun, found, strict=True):
            if problem:
                problem = f"member {place}: {problem}"
            elif run.status is Status.INTERRUPTED:
                problem = f"member {place}: {run.status.sentence}"
            yield place, Member(result.status, problem, result)


def pieces_of(ready: Sequence[Ready], threads: int) -> list[Piece]:
    """Members, alike ones in a stack, cut into pieces of about the same work: some for each thread."""
    groups: dict[tuple, list[Ready]] = {}
    for one in ready:
        # records are as long as the longest of a stack: at most twice as long as any of them
        longest = max(shape[0] for shape in one.state.record_shapes.values())
        groups.setdefault((shape_of(one.state), longest.bit_length()), []).append(one)
    pieces = []
    for group in groups.values():
        with told(COMPILING, f"compiling the loop of {group[0].case.contact.law} for many runs; it is kept for the next ones"):
            stack = Stack([one.state for one in group])
        work = np.cumsum([float(one.chain.n_bodies * one.state.time_step.n_steps) for one in group])
        count = min(len(group), threads * max(1, math.ceil(work[-1] / (threads * PIECE))))
        ends = np.unique(np.append(np.searchsorted(work, work[-1] * np.arange(1, count) / count), len(group)))
        firsts = [0, *ends[:-1].tolist()]
        pieces += [Piece(stack, group[first:end], first) for first, end in zip(firsts, ends.tolist(), strict=True) if end > first]
    return pieces


@contextlib.contextmanager
def told(seconds: float, what: str) -> Iterator[None]:
    """Say at a terminal what is done, where it takes longer than some seconds."""
    timer = threading.Timer(seconds, lambda: sys.stderr.write(f"{what}\n") if sys.stderr.isatty() else None)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def unbegun(place: int) -> Member:
    """A member that an interruption has come before."""
    return Member(Status.INTERRUPTED, f"member {place}: the ensemble was interrupted before this member had begun; run its case again")
