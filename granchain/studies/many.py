"""Many cases at once: each gives the result of its own run, in memory or in a file."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from granchain.case import Case
from granchain.case.checks import MEMORY
from granchain.errors import CaseError, GranchainWarning, RunError
from granchain.simulation import Ended, ended
from granchain.status import Status
from granchain.store import claim
from granchain.store.ensemble import ensemble_file
from granchain.store.stored import StoredEnsemble
from granchain.studies.ensemble import Ensemble, Member
from granchain.studies.interruption import Interruptions
from granchain.studies.members import Batch, Members, check_members, counter, lots, memory_of

# Members that are set up together: of 70 beads under a law with history, 50 MB of tables.
RESULTS_TOGETHER = 1024
# Memory of those [bytes]: what is set up and not yet a result.
LOT = 2**28
# The same where results go to a file: the tables, the results and what is packed of them come to
# four times as much.
LOT_TO_FILE = 2**25


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

    What a law's scans find is found once for all cases; alike cases are advanced by one compiled
    call, on several threads. An interruption (KeyboardInterrupt) ends the call, not the ensemble:
    what is done stays, in memory or in the file, and a warning says how much it is.

    Parameters
    ----------
    cases : iterable of Case
        What to run.
    out : str or path, optional
        File to which the results go as they come, and stay: memory then does not grow with their
        number. It has its name once it is whole, and is what `Ensemble.save` writes.
    threads : int, optional
        Threads that advance them; as many as there are processors for this process, unless given.
    strict : bool
        Raise the error of the first member that fails. Without it, its status and message say so,
        and the others run.
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
        Where there is nothing to run, or more than memory holds; with `strict`, for a member that
        cannot be set up, with its index.
    RunError
        With `strict`, for a member whose run failed.
    FileError
        Where `out` cannot be written: see the message; nothing is left of it then, and what had its
        name stays.
    """
    given = list(cases)
    threads = check_members(given, threads)
    clock, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    room = list(memory_of(given))
    work = Results(given, threads, strict, progress, started)
    if out is None:
        if sum(room) > MEMORY:
            raise CaseError(
                f"cases: got {len(room)} runs that take {sum(room) / 2**30:.3g} GiB of memory, "
                f"allowed {MEMORY // 2**30} GiB; let them go to a file as they come, with out=, or "
                "raise the interval under [sensors], [snapshots] or [energy]"
            )
        with Interruptions():
            work.advance(lots(room, LOT, RESULTS_TOGETHER))
        work.warn("the ensemble has these")
        return Ensemble(given, work.whole())
    with (
        claim(out, overwrite),
        ensemble_file(out, overwrite, given) as file,
        Interruptions() as interruptions,
    ):

        def put(first: int, run: Sequence[Member]) -> None:
            with interruptions.deferred():
                file.add(first, [member.result for member in run])

        work.advance(lots(room, LOT_TO_FILE, RESULTS_TOGETHER), put)
        members = work.whole()
        with interruptions.deferred():
            file.finish(
                [one.status for one in members],
                [one.message for one in members],
                started,
                time.perf_counter() - clock,
            )
    work.warn(f"{os.fspath(out)} holds these")
    return Ensemble(given, members, StoredEnsemble(out))


class Results:
    """What became of each member, as they come.

    Parameters
    ----------
    cases : sequence of Case
    threads, strict, progress
        As of `run_many`.
    started : str
        UTC, ISO 8601.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        threads: int,
        strict: bool,
        progress: Callable[[int, int], Any] | None,
        started: str,
    ):
        self._cases, self._strict, self._started = cases, strict, started
        self._found: dict[int, Member] = {}
        self._put, self._report = 0, counter(progress, len(cases))
        self._work = Members(cases, threads, self._take, self._refuse)

    def _take(self, batch: Batch) -> None:
        begun = [
            (one, status)
            for one, status in batch.stopped
            if status is not Status.RUNNING or one.state.step
        ]
        runs = [
            Ended(
                one.case,
                one.chain,
                one.state,
                Status.INTERRUPTED if status is Status.RUNNING else status,
            )
            for one, status in begun
        ]
        for (one, _), run, (result, problem) in zip(
            begun, runs, ended(runs, self._started, batch.wall_time), strict=True
        ):
            if problem:
                problem = f"member {one.place}: {problem}"
            elif run.status is Status.INTERRUPTED:
                problem = f"member {one.place}: {run.status.sentence}"
            self._found[one.place] = Member(result.status, problem, result)

    def _refuse(self, place: int, sentence: str) -> None:
        if self._strict:
            raise CaseError(sentence.split("\n"))
        self._found[place] = Member(Status.NOT_SET_UP, sentence)

    def advance(
        self, places: Iterable[range], put: Callable[[int, Sequence[Member]], None] | None = None
    ) -> None:
        """Advance all, to the end or an interruption.

        Parameters
        ----------
        places : iterable of range
            Of each lot.
        put : function, optional
            Takes results, which are then no longer held here: the place of the first, and those
            behind it, in order.
        """

        def done(those: Sequence[int]) -> None:
            for place in those:
                if self._strict and self._found[place].status.failed:
                    raise RunError(self._found[place].message, self._found[place].result)
                self._report([place])
            if put is not None:
                self._put_next(put)

        self._work.advance(places, done)
        if put is not None:
            # behind a member that has computed nothing others may have
            for place in sorted(place for place in self._found if place >= self._put):
                self._put = place
                self._put_next(put)

    def _put_next(self, put: Callable[[int, Sequence[Member]], None]) -> None:
        """Put those whose turn it is."""
        first = end = self._put
        while end in self._found:
            end += 1
        if end > first:
            run = [self._found[place] for place in range(first, end)]
            self._found |= {
                place: replace(one, result=None)
                for place, one in zip(range(first, end), run, strict=True)
            }
            self._put = end
            put(first, run)

    def whole(self) -> list[Member]:
        """All members; those that an interruption has come before are such."""
        why = "the ensemble was interrupted before this member had begun; run its case again"
        return [
            self._found.get(place) or Member(Status.INTERRUPTED, f"member {place}: {why}")
            for place in range(len(self._cases))
        ]

    def warn(self, where: str) -> None:
        """Say how much is done, where it was interrupted."""
        if self._work.interrupted:
            done = sum(member.status is not Status.INTERRUPTED for member in self._found.values())
            warnings.warn(
                f"interrupted: {done} of {len(self._cases)} members are done; {where}",
                GranchainWarning,
                stacklevel=3,
            )
