"""Runs of many cases: each returns the result of its run, in memory or in a file."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar

from granchain.case import Case, case_as_given
from granchain.case.checks import MEMORY
from granchain.chain_end import Ended, ended
from granchain.errors import CaseError, GranchainWarning, RunError
from granchain.simulation import warn_of_fast_drives
from granchain.status import Status
from granchain.store import Answer, Result, Variable, claim
from granchain.store.dataset import Choice, Content, OpenedFile, dataset_of
from granchain.store.ensemble import ensemble_content, ensemble_file
from granchain.store.stored import StoredEnsemble
from granchain.studies.interruption import Interruptions
from granchain.studies.members import LOT, Ready, advance, check_members, counter, lots, memory_of

if TYPE_CHECKING:
    import xarray

# Members that are set up together: 50 MB of tables for 70 beads with a law that has a history.
RESULTS_TOGETHER = 1024
# Memory of members that are set up together [bytes] if results are written to a file. The tables,
# the results, and their packed form need four times as much.
LOT_TO_FILE = 2**23


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

    Each result is bit-identical to that of `granchain.run`. Similar cases are advanced together by
    one compiled call, on several threads. If you interrupt the call (KeyboardInterrupt), completed
    members stay available in memory or in the file, and a warning reports how many there are.

    Parameters
    ----------
    cases : iterable of Case
        Cases to run.
    out : str or path, optional
        File to which the results are written as they finish, so that memory use does not grow with
        their number. It has the same format as a file of `Ensemble.save`, and gets its name when it
        is complete.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    strict : bool
        Whether to raise the error of the first member that fails. By default, its status and
        message report the error, and the other members run.
    progress : callable, optional
        Function that is called with the number of finished members and the number of all members.
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
    listed = list(cases)
    threads = check_members(listed, threads)
    warn_of_fast_drives(listed)
    clock, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    room = list(memory_of(listed))
    if out is None:
        where = "The ensemble contains their results."
        return _in_memory(listed, room, threads, strict, progress, started, where)
    reduce = partial(results, listed, threads, strict, progress, started)
    with (
        claim(out, overwrite),
        ensemble_file(out, overwrite, listed) as file,
        Interruptions() as interruptions,
    ):

        def store(first: int, members: Sequence[Member]) -> None:
            with interruptions.deferred():
                file.add(first, [member.result for member in members])

        places = lots(range(len(listed)), room, LOT_TO_FILE, RESULTS_TOGETHER)
        members = reduce(places, f"{os.fspath(out)} contains their results.", store)
        with interruptions.deferred():
            ends, messages = [one.status for one in members], [one.message for one in members]
            file.finish(ends, messages, started, time.perf_counter() - clock)
    return Ensemble(listed, members, StoredEnsemble(out))


def run_all(cases: Iterable[Case], threads: int | None = None) -> Ensemble:
    """Run cases for another function of the package, and return their results in memory.

    Unlike `run_many`, it doesn't catch an interruption: the caller must not continue with members
    that were stopped, or lose a Ctrl-C that arrived with the last step.

    Raises
    ------
    CaseError
        As `run_many`.
    KeyboardInterrupt
        If the runs are interrupted.
    """
    listed = list(cases)
    threads = check_members(listed, threads)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    return _in_memory(listed, list(memory_of(listed)), threads, False, None, started)


def _in_memory(
    cases: Sequence[Case],
    room: Sequence[float],
    threads: int,
    strict: bool,
    progress: Callable[[int, int], Any] | None,
    started: str,
    where: str | None = None,
) -> Ensemble:
    """Return an ensemble in memory; without `where`, an interruption is raised again."""
    if sum(room) > MEMORY:
        raise CaseError(
            f"cases: {len(room)} runs need {sum(room) / 2**30:.3g} GiB of memory. At most "
            f"{MEMORY // 2**30} GiB are allowed. Write them to a file with out=, or increase the "
            "interval under [sensors], [snapshots], or [energy]."
        )
    with Interruptions():
        places = lots(range(len(cases)), room, LOT, RESULTS_TOGETHER)
        return Ensemble(cases, results(cases, threads, strict, progress, started, places, where))


def results(
    cases: Sequence[Case],
    threads: int,
    strict: bool,
    progress: Callable[[int, int], Any] | None,
    started: str,
    places: Iterable[Sequence[int]],
    where: str | None,
    store: Callable[[int, Sequence[Member]], None] | None = None,
) -> list[Member]:
    """Run all members, and return a result of each.

    Parameters
    ----------
    cases, threads, strict, progress
        As for `run_many`.
    started : str
        Start time, UTC, ISO 8601.
    places : iterable of sequence of int
        Indices of the members that are set up together.
    where : str or None
        Location of the results, for the warning of an interruption. None: an interruption is raised
        again, and the completed members are not returned.
    store : function, optional
        Function that takes results, which are then no longer in memory: the index of the first, and
        the following ones in order.

    Returns
    -------
    list of Member
        Members that did not start before an interruption have the status interrupted.
    """
    found: dict[int, Member] = {}
    report, first = counter(progress, len(cases)), 0

    def receive(stopped: Sequence[tuple[Ready, Status]], wall_time: float) -> None:
        begun, runs = [], []
        for ready, status in stopped:
            if status is not Status.RUNNING or ready.state.step:
                end = Status.INTERRUPTED if status is Status.RUNNING else status
                begun.append(ready)
                runs.append(Ended(ready.case, ready.chain, ready.state, end))
        made = ended(runs, started, wall_time)
        for ready, run, (result, problem) in zip(begun, runs, made, strict=True):
            if run.status is Status.INTERRUPTED:
                problem = problem or run.status.sentence
            problem = f"member {ready.place}: {problem}" if problem else ""
            found[ready.place] = Member(result.status, problem, result)

    def refuse(place: int, sentence: str) -> None:
        if strict:
            raise CaseError(sentence.split("\n"))
        found[place] = Member(Status.NOT_SET_UP, sentence)

    def store_from(begin: int) -> None:
        nonlocal first
        end = begin
        while end in found:
            end += 1
        if store is not None and end > begin:
            run = [found[place] for place in range(begin, end)]
            for place, one in enumerate(run, start=begin):
                found[place] = Member(one.status, one.message)
            first = end
            store(begin, run)

    def done(those: Sequence[int]) -> None:
        for place in those:
            if strict and found[place].status.failed:
                raise RunError(found[place].message, found[place].result)
            report([place])
        store_from(first)

    try:
        advance(cases, places, threads, receive, refuse, done)
    except KeyboardInterrupt:
        if where is None:
            raise
        # members after one that did not start may have results
        for place in sorted(found):
            if place >= first:
                store_from(place)
        count = sum(member.status is not Status.INTERRUPTED for member in found.values())
        sentence = f"interrupted: {count} of {len(cases)} members are done. {where}"
        warnings.warn(sentence, GranchainWarning, stacklevel=3)
    why = "the ensemble was interrupted before this member started. Run its case again"
    return [
        found.get(place) or Member(Status.INTERRUPTED, f"member {place}: {why}")
        for place in range(len(cases))
    ]


@dataclass(frozen=True)
class Member:
    """Status and result of one case of an ensemble.

    Parameters
    ----------
    status : Status
        Status at the end.
    message : str
        Reason why it failed or was not computed; empty if it is complete.
    result : Result, optional
        Result; None if nothing was computed, or if it is in a file.
    """

    status: Status
    message: str = ""
    result: Result | None = None


class Ensemble(Answer):
    """Results of many cases, in the order of the cases.

    `run_many` and `granchain.open` create it. `len(ensemble)`, `ensemble[i]`, and iteration return
    results that equal those of `granchain.run`. The result of a member that failed contains what
    was computed up to the failure. Results in a file are read when they are requested.

    Parameters
    ----------
    cases : sequence of Case, or None
        Cases. None selects those in the file.
    members : sequence of Member
        Status and result of each case.
    stored : StoredEnsemble, optional
        File that contains the results.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [5], "time.end": 5e-5})
    >>> ensemble = gc.run_many([case, case.replace({"striker.speed": 1.0})])
    >>> [result.sensor_bead.tolist() for result in ensemble]
    [[5], [5]]
    """

    labels: ClassVar = {}

    def __init__(
        self,
        cases: Sequence[Case] | None,
        members: Sequence[Member],
        stored: StoredEnsemble | None = None,
    ):
        self._cases = None if cases is None else tuple(cases)
        self._members, self._stored = tuple(members), stored
        self.unread, self.groups = {}, {}
        self.title = f"{len(self._members)} runs"

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], opened: OpenedFile, variables: Choice | None = None
    ) -> Ensemble:
        """Return the ensemble in a file that has been verified."""
        stored = StoredEnsemble(path, verify=False)
        ends = zip(stored.status, stored.messages, strict=True)
        return cls(None, [Member(status, message) for status, message in ends], stored)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Result]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, str):
            return super().__getitem__(place)
        place = range(len(self))[index(place)]
        member = self._members[place]
        if self._stored is not None and place in self._stored:
            return self._stored.result(place, None if self._cases is None else self._cases[place])
        if member.result is None:
            raise RunError(member.message)
        return member.result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "_members" not in self.__dict__:
            raise AttributeError(name)
        # the variables are computed at the first access
        self.variables  # noqa: B018
        return super().__getattr__(name)

    def __repr__(self) -> str:
        labels = [member.status.label for member in self._members]
        where = "" if self._stored is None else f" in {self._stored.path}"
        return (
            f"<Ensemble: {len(self)} members{where}; "
            f"{', '.join(f'{labels.count(label)} {label}' for label in dict.fromkeys(labels))}>"
        )

    @cached_property
    def _whole(self) -> Content:
        """Variables, attributes, and provenance of all members, as in a file."""
        if self._stored is not None:
            return self._stored.content()
        return ensemble_content(
            self.cases, [member.result for member in self._members], self.status, self.messages
        )

    @cached_property
    def variables(self) -> dict[str, Variable]:  # type: ignore[override]
        """Variables of all members, with a dimension `run`.

        The keys that differ between the cases are variables. Each member has an individual time
        step, so `time` has the dimensions run and sample, and is nan beyond `n_samples`. The times
        of the energy balance and of the snapshots, and beads and contacts that differ between
        members, also have the dimension `run`.
        """
        return dict(self._whole.variables)

    @property
    def provenance(self) -> dict[str, Any]:
        """Origin of the ensemble, with the names of the group of the file."""
        if self._stored is not None:
            return self._stored.provenance
        version = str(self._whole.attributes["granchain_version"])
        return {**self._whole.provenance, "granchain_version": version}

    @property
    def data_sha256(self) -> str:
        """Hash of the variables of all members."""
        return str(self.provenance["data_sha256"])

    @property
    def law(self) -> str:  # type: ignore[override]
        """Contact laws of the members, separated by commas."""
        if self._stored is not None:
            return self._stored.law
        return ", ".join(dict.fromkeys(case.law for case in self.cases))

    @property
    def case(self) -> Case:
        """Case of the first member."""
        return self.cases[0]

    def equals(self, other: Any) -> bool:
        """Return whether another ensemble has equal members.

        Parameters
        ----------
        other : Ensemble
        """
        return (
            isinstance(other, Ensemble)
            and (self.status, self.messages) == (other.status, other.messages)
            and all(self._has(k) == other._has(k) for k in range(len(self)))
            and all(self[k].equals(other[k]) for k in range(len(self)) if self._has(k))
        )

    def save(
        self,
        path: str | os.PathLike[str],
        overwrite: bool = False,
        progress: Callable[[float], Any] | None = None,
    ) -> None:
        """Write a file of all members, completely or not at all.

        The members are read, or taken from memory, and written one after the other.

        Parameters
        ----------
        path : str or path
            Name of the file, in a folder that exists.
        overwrite : bool
            Whether to overwrite an existing output file of that name. Other files are not changed.
        progress : callable, optional
            Function that is called with the fraction of the members that is written.

        Raises
        ------
        FileError
            If the file cannot be written. The message gives the path, the required bytes, and a
            fix. The folder is then unchanged.
        """
        about = (
            [self[place].provenance for place in range(len(self)) if self._has(place)]
            if self._stored is None
            else []
        )
        about = about or [{} if self._stored is None else self._stored.provenance]
        started, wall_time = (
            about[0].get("started", ""),
            sum(one.get("wall_time", 0.0) for one in about),
        )
        with claim(path, overwrite), ensemble_file(path, overwrite, self.cases) as file:
            for place in range(len(self)):
                file.add(place, [self[place] if self._has(place) else None])
                if progress is not None:
                    progress((place + 1) / len(self))
            file.finish(self.status, self.messages, started, wall_time)

    def _has(self, place: int) -> bool:
        return self._members[place].result is not None or (
            self._stored is not None and place in self._stored
        )

    @property
    def _attributes(self) -> dict[str, Any]:
        return dict(self._whole.attributes)

    def to_xarray(self) -> xarray.Dataset:
        """Return all members as an `xarray.Dataset`, as xarray would open the saved file."""
        attributes = self._attributes
        inside = str(attributes.pop("coordinates", "")).split()
        return dataset_of(self.variables, attributes, inside)

    @property
    def cases(self) -> tuple[Case, ...]:
        """Cases of the members. Cases in a file are validated again at the first access."""
        if self._cases is None:
            assert self._stored is not None
            self._cases = tuple(
                case_as_given(self._stored.case_of(place)[0]) for place in range(len(self))
            )
        return self._cases

    @property
    def status(self) -> tuple[Status, ...]:
        """Status of each member at the end."""
        return tuple(member.status for member in self._members)

    @property
    def messages(self) -> tuple[str, ...]:  # type: ignore[override]
        """Reason why each member failed or was not computed; empty if complete."""
        return tuple(member.message for member in self._members)
