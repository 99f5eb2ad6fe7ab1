"""Members computed by an executor: local processes, or workers on other machines.

A task is sent as JSON: the case, and the changes of each member. Its results return in the format
of a study's part file. A law from a file is sent as the path and the hash of the file. A worker
with another file, or another version of granchain, raises an error. A task has about a hundred
members, so that sending it is fast compared with computing it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from granchain.case import Case, case_as_given
from granchain.contact import laws
from granchain.contact.law_record import LawRecord
from granchain.contact.user import file_of, load_law_module, loaded_content
from granchain.errors import GranchainError, GranchainWarning, LawError, RunError
from granchain.keys import shown
from granchain.plain_data import canonical
from granchain.simulation import law_records
from granchain.status import Status
from granchain.store.provenance import granchain_version, source_hash
from granchain.store.study import columns_in, content_of_columns
from granchain.studies.measures import Measures, measure
from granchain.studies.members import as_they_end

# Messages of workers about their tasks. Hidden by default.
LOG = logging.getLogger("granchain")
LOG.addHandler(logging.NullHandler())
# Minimum duration of a task [s]. Sending it takes some milliseconds.
TASK_SECONDS = 0.3
# Time limit for the answer of a scheduler [s].
ANSWER_SECONDS = 10.0
# Number of workers that may end during a task before the task is split.
LOST = 2

Places = tuple[int, ...]


def law_files(cases: Iterable[Case]) -> list[dict[str, str]]:
    """Return the path and the loaded hash of each law file.

    A warning lists each file that was edited after it was loaded.

    Raises
    ------
    LawError
        If a law was created without a file.
    """
    # members mostly share the table of their law
    tables = {id(case.contact): case for case in cases}
    names = dict.fromkeys(name for case in tables.values() for name, _ in case.laws)
    found = []
    for name in names:
        law = laws()[name]
        file = file_of(law)
        if file is not None:
            loaded = loaded_content(file) or content_hash(file)
            warn_if_edited(file, loaded)
            found.append({"path": os.path.abspath(file), "sha256": loaded})
        elif not law.__module__.startswith("granchain."):
            raise LawError(
                f'executor: the law "{name}" is not in a file. It must be a law of granchain, or '
                "of a file that a worker can load. Save it as a Python file, and load that file "
                "with granchain.contact.user.load_law_module or --law-module."
            )
    return found


def content_hash(path: str | os.PathLike[str]) -> str:
    """Return the hash of a file's bytes."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def warn_if_edited(file: str, loaded: str) -> None:
    """Warn if a law file no longer has the content that this process loaded."""
    try:
        same = content_hash(file) == loaded
    except OSError:
        same = False
    if not same:
        warnings.warn(
            f"law file {file}: the file was edited or removed after it was loaded. This process "
            "computes all members with the law that it loaded. To use the edited law, load the "
            "file again or start a new process.",
            GranchainWarning,
            stacklevel=6,
        )


def compute(text: str) -> bytes:
    """Compute the members of a task on a worker, from JSON to the format of a part file.

    Raises
    ------
    GranchainError
        If the version of granchain, or a law file, differs from that of the sender.
    """
    task = json.loads(text)
    if (task["version"], task["source"]) != (granchain_version(), source_hash()):
        raise GranchainError(
            f"worker: this worker has granchain {granchain_version()} (source "
            f"{source_hash()[:12]}), but the study started with {task['version']} (source "
            f"{task['source'][:12]}). All workers must have the same version. Install it and "
            "restart the worker."
        )
    for law in task["laws"]:
        load_same(**law)
    base = case_as_given(task["case"])
    cases = [base.replace(**changes) for changes in task["changes"]]
    LOG.info(
        "received a task of %d members, the first one with the law %s",
        len(cases),
        cases[0].contact.law,
    )
    clock = time.perf_counter()
    found = measure(cases, 1, traces=task["traces"], further=task["measures"])
    LOG.info("computed %d members in %.3g s", len(cases), time.perf_counter() - clock)
    return b"".join(content_of_columns(found.columns(range(len(cases)), task["traces"])))


def changed_law(cases: Sequence[Case], texts: Sequence[str]) -> str:
    """Return how the law of a case has changed since it was computed; empty if none has.

    Parameters
    ----------
    cases : sequence of Case
    texts : sequence of str
        Text of the `LawRecord` with which each case was computed.
    """
    for now, text in zip(law_records(cases) if cases else (), texts, strict=True):
        difference = "" if now is None else now.difference(LawRecord.of_text(text))
        if difference:
            return difference
    return ""


def load_same(path: str, sha256: str) -> None:
    """Load a law file on a worker, if its content is that of the study.

    A process that has loaded this content does not read the file again.
    """
    if loaded_content(path) == sha256:
        return
    try:
        here = content_hash(path)
    except OSError as error:
        raise GranchainError(
            f"worker: cannot read the law file {path} ({error.strerror}). The law file of the "
            "study is required. Copy it to this path."
        ) from None
    if here != sha256:
        raise GranchainError(
            f"worker: the law file {path} differs from the law file of the study. They must be "
            "identical. Copy the file again, and restart the worker."
        )
    load_law_module(path)


class Elsewhere:
    """Sends members to an executor, and stores their results.

    Parameters
    ----------
    executor : concurrent.futures.Executor or dask Client
    base : Case
        Case of which each member is a change.
    changes : sequence of dict
        Changes of each member.
    cases : sequence of Case
        The members.
    traces : bool
    found : Measures
        Destination of the results.
    further : sequence of str
        Names as for `measures.measure`.
    """

    def __init__(
        self,
        executor: Any,
        base: Case,
        changes: Sequence[Mapping[str, Any]],
        cases: Sequence[Case],
        traces: bool,
        found: Measures,
        further: Sequence[str] = (),
    ):
        # a dask Client has other futures than concurrent.futures, but its executor does not
        own = getattr(executor, "get_executor", None)
        self._executor = executor if own is None else own(pure=False)
        self._changes, self.cases = changes, cases
        self._what: dict[str, Any] = {"traces": traces, "further": further}
        self.found = found
        case = base.as_given()
        # the content of files that a case uses is sent, because the files may not exist there
        files = [file for one in (base, *cases) for file in one.as_given()["files"]]
        case["files"] = [[name, text] for name, text in dict(files).items()]
        self._about = {
            "version": granchain_version(),
            "source": source_hash(),
            "laws": law_files(cases),
            "case": case,
            "traces": traces,
            "measures": list(further),
        }

    def measure(self, places: Sequence[int], done: Callable[[Sequence[int]], Any]) -> None:
        """Measure the members with the given indices; `done` is as for `measures.measure`.

        Raises
        ------
        RunError
            If the executor itself fails.
        """
        first, remaining = places[:1], places[1:]
        measure(self.cases, 1, **self._what, found=self.found, places=first)
        done(first)
        clock = time.perf_counter()
        # once more for the timing, without compilation
        measure([self.cases[place] for place in first], 1, **self._what)
        size = math.ceil(TASK_SECONDS / (time.perf_counter() - clock))
        tasks = [tuple(remaining[at : at + size]) for at in range(0, len(remaining), size)]
        waiting: dict[Future[bytes], Places] = {}
        collect = partial(self.collect, done=done)
        try:
            as_they_end(self.send, tasks, collect, waiting)
        except BaseException:
            for future, sent in waiting.items():
                with contextlib.suppress(GranchainError, AttributeError):
                    # a failed task does not discard results of other tasks
                    if future.done():
                        collect(future, sent)
                    future.cancel()
            raise

    def send(self, places: Places) -> Future[bytes]:
        """Send a task."""
        about = self._about | {"changes": [self._changes[place] for place in places]}
        with own_faults("rejected a task"):
            future: Future[bytes] = self._executor.submit(compute, canonical(about))
            # required by concurrent.futures.wait
            future._condition  # noqa: B018
            return future

    def collect(
        self, future: Future[bytes], places: Places, done: Callable[[Sequence[int]], Any]
    ) -> list[Places]:
        """Store the results of a task; if its workers ended, return its halves to send again."""
        with own_faults("returned an unfinished task"):
            error = future.exception()
        # dask raises this if the workers of a task ended
        if error is not None and type(error).__name__ == "KilledWorker":
            half = len(places) // 2
            if half:
                return [places[:half], places[half:]]
            self.found.status[places[0]] = Status.LOST
            self.found.message[places[0]] = f"{Status.LOST.sentence} {error!s}"
        elif error is not None:
            with own_faults("did not compute a task"):
                raise error
        else:
            with own_faults("returned something other than the members of its task"):
                columns = columns_in(future.result())
                changed = changed_law([self.cases[place] for place in places], columns["law"])
                if changed:
                    raise LawError(
                        "executor: the law of a worker differs from the law of this process: "
                        f"{changed}. They must be the same. Restart the workers, and load the "
                        "law file again in this process."
                    )
                for row, place in enumerate(places):
                    self.found.set_member(place, columns, row)
        done(places)
        return []


@contextlib.contextmanager
def own_faults(what: str) -> Iterator[None]:
    """Report a failure of the executor itself as a RunError.

    Examples are an executor that is shut down, broken, closed, cancelled, or of another type.
    Errors of a case and interruptions are unchanged.
    """
    try:
        yield
    except (GranchainError, KeyboardInterrupt):
        raise
    except BaseException as error:
        words = ": ".join(filter(None, (type(error).__name__, str(error))))
        raise RunError(
            f"executor: it {what} ({words}). It must be a concurrent.futures.Executor or a dask "
            "Client that computes submitted tasks. Call again with another executor."
        ) from error


@contextlib.contextmanager
def dask_at(address: str) -> Iterator[Any]:
    """Provide an executor with the workers of a dask scheduler.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as "tcp://host:8786".

    Raises
    ------
    GranchainError
        If distributed is not installed, or if the scheduler does not answer.
    """
    try:
        from distributed import Client
        from distributed.comm.core import connect
    except ImportError:
        raise GranchainError(
            "--dask: the package distributed is not installed. It is required. Install it with "
            "pip install 'granchain[cluster]'."
        ) from None

    async def greet() -> None:
        (await asyncio.wait_for(connect(address, timeout=ANSWER_SECONDS), ANSWER_SECONDS)).abort()

    try:
        # a client without a scheduler does not end, or prints a traceback, so test the address
        # before it is created
        asyncio.run(greet())
        client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise GranchainError(
            f"--dask: {shown(address)} did not answer within {ANSWER_SECONDS:g} s "
            f"({type(error).__name__}). It must be the address of a running scheduler. Start one "
            "with dask scheduler, and give the address that it prints, tcp://HOST:8786."
        ) from None
    with client:
        client.run_on_scheduler(_give_up_after, LOST - 1)
        yield client.get_executor(pure=False)


def _give_up_after(failures: int, dask_scheduler: Any = None) -> None:
    """Set the number of lost workers after which a scheduler returns a task."""
    dask_scheduler.allowed_failures = failures
