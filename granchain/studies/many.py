"""Many cases at once: each gives the result of its own run, in memory or in a file."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
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
from granchain.studies.members import Ready, advance, check_members, counter, lots, memory_of

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
    reduce = partial(results, given, threads, strict, progress, started)
    if out is None:
        if sum(room) > MEMORY:
            raise CaseError(
                f"cases: got {len(room)} runs that take {sum(room) / 2**30:.3g} GiB of memory, "
                f"allowed {MEMORY // 2**30} GiB; let them go to a file as they come, with out=, or "
                "raise the interval under [sensors], [snapshots] or [energy]"
            )
        with Interruptions():
            places = lots(range(len(given)), room, LOT, RESULTS_TOGETHER)
            return Ensemble(given, reduce(places, "the ensemble has these"))
    with (
        claim(out, overwrite),
        ensemble_file(out, overwrite, given) as file,
        Interruptions() as interruptions,
    ):

        def put(first: int, run: Sequence[Member]) -> None:
            with interruptions.deferred():
                file.add(first, [member.result for member in run])

        places = lots(range(len(given)), room, LOT_TO_FILE, RESULTS_TOGETHER)
        members = reduce(places, f"{os.fspath(out)} holds these", put)
        with interruptions.deferred():
            ends, messages = [one.status for one in members], [one.message for one in members]
            file.finish(ends, messages, started, time.perf_counter() - clock)
    return Ensemble(given, members, StoredEnsemble(out))


def results(
    cases: Sequence[Case],
    threads: int,
    strict: bool,
    progress: Callable[[int, int], Any] | None,
    started: str,
    places: Iterable[Sequence[int]],
    where: str,
    put: Callable[[int, Sequence[Member]], None] | None = None,
) -> list[Member]:
    """Advance all members, and make a result of each.

    Parameters
    ----------
    cases, threads, strict, progress
        As of `run_many`.
    started : str
        UTC, ISO 8601.
    places : iterable of sequence of int
        Of each lot.
    where : str
        For the warning of an interruption: where the results are.
    put : function, optional
        Takes results, which are then no longer held here: the place of the first, and those behind
        it, in order.

    Returns
    -------
    list of Member
        Those that an interruption has come before are such.
    """
    found: dict[int, Member] = {}
    report, first = counter(progress, len(cases)), 0

    def take(stopped: Sequence[tuple[Ready, Status]], wall_time: float) -> None:
        begun, runs = [], []
        for one, status in stopped:
            if status is not Status.RUNNING or one.state.step:
                end = Status.INTERRUPTED if status is Status.RUNNING else status
                begun.append(one)
                runs.append(Ended(one.case, one.chain, one.state, end))
        made = ended(runs, started, wall_time)
        for one, run, (result, problem) in zip(begun, runs, made, strict=True):
            if run.status is Status.INTERRUPTED:
                problem = problem or run.status.sentence
            problem = f"member {one.place}: {problem}" if problem else ""
            found[one.place] = Member(result.status, problem, result)

    def refuse(place: int, sentence: str) -> None:
        if strict:
            raise CaseError(sentence.split("\n"))
        found[place] = Member(Status.NOT_SET_UP, sentence)

    def put_from(begin: int) -> None:
        nonlocal first
        end = begin
        while end in found:
            end += 1
        if put is not None and end > begin:
            run = [found[place] for place in range(begin, end)]
            for place, one in enumerate(run, start=begin):
                found[place] = Member(one.status, one.message)
            first = end
            put(begin, run)

    def done(those: Sequence[int]) -> None:
        for place in those:
            if strict and found[place].status.failed:
                raise RunError(found[place].message, found[place].result)
            report([place])
        put_from(first)

    try:
        advance(cases, places, threads, take, refuse, done)
    except KeyboardInterrupt:
        # behind a member that has computed nothing others may have
        for place in sorted(found):
            if place >= first:
                put_from(place)
        count = sum(member.status is not Status.INTERRUPTED for member in found.values())
        sentence = f"interrupted: {count} of {len(cases)} members are done; {where}"
        warnings.warn(sentence, GranchainWarning, stacklevel=3)
    why = "the ensemble was interrupted before this member had begun; run its case again"
    return [
        found.get(place) or Member(Status.INTERRUPTED, f"member {place}: {why}")
        for place in range(len(cases))
    ]
