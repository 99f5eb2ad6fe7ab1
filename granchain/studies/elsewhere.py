"""Members computed by an executor: processes here, or workers on other machines.

A member travels as JSON: the resolved case once for all, and what each member changes; its numbers
come back as a journal holds them. A law of the user's travels as the path of its file and the hash
of what is in it; a worker with another file, or another granchain, refuses. A task is of some
hundred members, so that what it takes to send it is small beside what it computes.
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
from granchain.contact.user import (
    announced,
    file_of,
    load_law_module,
    load_law_package,
    loaded_content,
    package_of,
)
from granchain.errors import GranchainError, GranchainWarning, LawError, RunError
from granchain.keys import shown
from granchain.plain_data import canonical
from granchain.simulation import law_records
from granchain.status import Status
from granchain.store.provenance import granchain_version, source_hash
from granchain.store.study import columns_in, content_of_columns
from granchain.studies.measures import Measures, measure
from granchain.studies.members import as_they_end

# Messages of workers about their tasks: none unless asked for.
LOG = logging.getLogger("granchain")
LOG.addHandler(logging.NullHandler())
# What a task takes at least [s]: sending it takes some milliseconds.
TASK_SECONDS = 0.3
# Wall time in which a scheduler answers [s].
ANSWER_SECONDS = 10.0
# Workers that a task may take with it before it is cut in halves.
LOST = 2

Places = tuple[int, ...]


def law_files(cases: Iterable[Case]) -> list[dict[str, str]]:
    """Path of the file of each user's law that some cases name, and the hash of the content that
    this process loaded; or the installed package that has it, and its version.

    A warning names each file that was edited since.

    Raises
    ------
    LawError
        For a law that was made without a file.
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
        elif (package := package_of(law)) is not None:
            found.append({"package": package.package, "version": package.version})
        elif not law.__module__.startswith("granchain."):
            raise LawError(
                f'executor: the law "{name}" is not in a file. It must be a law of granchain, or '
                "of a file that a worker can load. Save it as a Python file, and load that file "
                "with granchain.contact.user.load_law_module or --law-module."
            )
    return found


def content_hash(path: str | os.PathLike[str]) -> str:
    """Hash of a file's bytes."""
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
    """What a worker does: the members of a task, from JSON to what a frame of a journal holds.

    Raises
    ------
    GranchainError
        Where the worker has another granchain, or another law file, than the one that asks.
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
        (load_same if "path" in law else load_same_package)(**law)
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


def changed_law(cases: Sequence[Case], texts: Sequence[str]) -> tuple[Case, str] | None:
    """The first case that was computed with another law than the one here, and how that differs.

    Parameters
    ----------
    cases : sequence of Case
    texts : sequence of str
        What the law of each was: the text of a `LawRecord`.
    """
    for case, now, text in zip(cases, law_records(cases) if cases else (), texts, strict=True):
        difference = "" if now is None else now.difference(LawRecord.of_text(text))
        if difference:
            return case, difference
    return None


def load_same(path: str, sha256: str) -> None:
    """Load a law file at a worker if its content is that of the study. A process that has loaded
    this content keeps its law, whatever the file contains now."""
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


def load_same_package(package: str, version: str) -> None:
    """Load a package's laws at a worker, if it is the version that was asked for."""
    here = {one.version for one in announced().values() if one.package == package}
    if here != {version}:
        raise GranchainError(
            f"worker: the law package {package} has version "
            f"{', '.join(here) or 'not installed'}, but the study started with {version}. "
            "Install that version."
        )
    load_law_package(package)


class Elsewhere:
    """Sends members to an executor, and takes what comes back.

    Parameters
    ----------
    executor : concurrent.futures.Executor or dask Client
    base : Case
        Of which each member is a change.
    changes : sequence of dict
        Of each member.
    cases : sequence of Case
        The members.
    traces : bool
    found : Measures
        Where the numbers go.
    further : sequence of str
        As of `measures.measure`.
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
        # a dask Client: its futures are not those of concurrent.futures, its executor's are
        own = getattr(executor, "get_executor", None)
        self._executor = executor if own is None else own(pure=False)
        self._changes, self.cases = changes, cases
        self._what: dict[str, Any] = {"traces": traces, "further": further}
        self.found = found
        case = base.as_given()
        # a member's title is not needed there; a file that it names is here, not where it is
        # computed
        case["tables"] = case["tables"] | {"title": ""}
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
        """Measure the members at some places; `done` is called as for `measures.measure`.

        Raises
        ------
        RunError
            For a fault of the executor's own.
        """
        first, remaining = places[:1], places[1:]
        measure(self.cases, 1, **self._what, found=self.found, places=first)
        done(first)
        clock = time.perf_counter()
        # again, as what is compiled is there now
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
                    # what others have computed is not lost by the fault of one
                    if future.done():
                        collect(future, sent)
                    future.cancel()
            raise

    def send(self, places: Places) -> Future[bytes]:
        """Send a task."""
        about = self._about | {"changes": [self._changes[place] for place in places]}
        with own_faults("rejected a task"):
            future: Future[bytes] = self._executor.submit(compute, canonical(about))
            # waited for by this
            future._condition  # noqa: B018
            return future

    def collect(
        self, future: Future[bytes], places: Places, done: Callable[[Sequence[int]], Any]
    ) -> list[Places]:
        """Take what a task has given; its halves, to send again, where it has taken its workers
        with it."""
        with own_faults("returned an unfinished task"):
            error = future.exception()
        # as dask says that a task has not failed, but its workers have ended
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
                if changed is not None:
                    raise LawError(
                        "executor: the law of a worker differs from the law of this process: "
                        f"{changed[1]}. They must be the same. Restart the workers, and load the "
                        "law file again in this process."
                    )
                for row, place in enumerate(places):
                    self.found.set_member(place, columns, row)
        done(places)
        return []


@contextlib.contextmanager
def own_faults(what: str) -> Iterator[None]:
    """Where an executor fails by itself, shut down, broken, closed, cancelled, or no executor: a
    sentence. What workers say of a case, and interruptions, stay."""
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
    """An executor of the workers of a dask scheduler.

    Parameters
    ----------
    address : str
        "tcp://host:8786".

    Raises
    ------
    GranchainError
        Where distributed is not installed, or nothing answers.
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
        # a client that has found nobody does not end, or with a traceback: somebody is there, or
        # none is made
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
    """After how many lost workers a scheduler gives a task back."""
    dask_scheduler.allowed_failures = failures
