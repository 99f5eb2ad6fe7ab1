"""Members computed by an executor: local processes, or workers on other machines.

The columns of a task return in the format of FILE.part. A law from a file is sent as the path and
the hash of the file. A worker with another file, or another version of granchain, raises an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import math
import os
import pickle
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from granchain.case import Case
from granchain.contact import laws
from granchain.contact.law_record import LawRecord
from granchain.contact.user import file_of, load_law_module, loaded_content
from granchain.errors import CaseError, GranchainError, GranchainWarning, LawError, RunError
from granchain.keys import brief
from granchain.simulation import law_records
from granchain.store.journal import columns_in, content_of_columns
from granchain.store.schema import granchain_version, source_hash
from granchain.studies.measures import Measures, Store, compute_here
from granchain.studies.members import as_they_end

# Messages of workers about their tasks. Hidden by default.
LOG = logging.getLogger("granchain")
LOG.addHandler(logging.NullHandler())
# Minimum duration of a task [s]. Sending it takes some milliseconds.
TASK_SECONDS = 0.3
# Time limit for the answer of a scheduler [s].
ANSWER_SECONDS = 10.0


def law_files(cases: Iterable[Case]) -> list[dict[str, str]]:
    """Return the path and the loaded hash of each law file.

    A warning lists each file that was edited after it was loaded.

    Raises
    ------
    LawError
        If a law was created without a file.
    """
    # most members share the table of their law
    tables = {id(case.contact): case for case in cases}
    names = dict.fromkeys(name for case in tables.values() for name, _ in case.laws)
    files = []
    for name in names:
        law = laws()[name]
        file = file_of(law)
        if file is not None:
            loaded = loaded_content(file) or content_hash(file)
            if loaded != content_hash(file):
                warnings.warn(
                    f"law file {file}: the file was edited or removed after it was loaded. This "
                    "process computes all members with the law that it loaded. To use the edited "
                    "law, load the file again or start a new process.",
                    GranchainWarning,
                    stacklevel=5,
                )
            files.append({"path": os.path.abspath(file), "sha256": loaded})
        elif not law.__module__.startswith("granchain."):
            raise LawError(
                f'executor: the law "{name}" is not in a file. It must be a law of granchain, or '
                "of a file that a worker can load. Save it as a Python file, and load that file "
                "with granchain.contact.user.load_law_module or --law-module."
            )
    return files


def content_hash(path: str | os.PathLike[str]) -> str:
    """Return the hash of a file's bytes; empty if it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def compute(sender: Mapping[str, Any], cases: Sequence[Case], measures: Measures) -> list[bytes]:
    """Compute the members of a task on a worker; each batch is in the format of FILE.part.

    Parameters
    ----------
    sender : mapping
        Version, process, and law files of the process that has sent the task.
    cases : sequence of Case
    measures : Measures

    Raises
    ------
    GranchainError
        If the version of granchain, or a law file, differs from that of the sender.
    """
    if (sender["version"], sender["source"]) != (granchain_version(), source_hash()):
        raise GranchainError(
            f"worker: this worker has granchain {granchain_version()} (source "
            f"{source_hash()[:12]}), but the study started with {sender['version']} (source "
            f"{sender['source'][:12]}). All workers must have the same version. Install it and "
            "restart the worker."
        )
    for law in sender["laws"] if os.getpid() != sender["process"] else ():
        load_same(**law)
    LOG.info(
        "received a task of %d members, the first one with the law %s",
        len(cases),
        cases[0].contact.law,
    )
    clock = time.perf_counter()
    blocks: list[bytes] = []

    def store(places: Sequence[int], columns: Mapping[str, Any]) -> None:
        blocks.append(b"".join(content_of_columns({"places": list(places), **columns})))

    compute_here(cases, range(len(cases)), measures, 1, store)
    LOG.info("computed %d members in %.3g s", len(cases), time.perf_counter() - clock)
    return blocks


def load_same(path: str, sha256: str) -> None:
    """Load a law file on a worker, if its content is that of the study.

    A process that has loaded this content does not read the file again.
    """
    if loaded_content(path) == sha256:
        return
    here = content_hash(path)
    if not here:
        raise GranchainError(
            f"worker: cannot read the law file {path}. The law file of the study is required. Copy "
            "it to this path."
        )
    if here != sha256:
        raise GranchainError(
            f"worker: the law file {path} differs from the law file of the study. They must be "
            "identical. Copy the file again, and restart the worker."
        )
    load_law_module(path)


def compute_elsewhere(
    executor: Any,
    cases: Sequence[Case],
    measures: Measures,
    places: Sequence[int],
    store: Store,
) -> None:
    """Compute members on the workers of an executor; see `evaluate.compute_here`.

    The first member is computed in this process, which compiles its loop and measures the time of a
    member.

    Raises
    ------
    RunError
        If the executor itself fails.
    """
    try:
        pickle.dumps(measures.functions)
    except Exception as error:
        raise CaseError(
            f"measures: the function cannot be sent to an executor ({error}). It must pickle. "
            "Define it at the top of a module that the workers can import."
        ) from None
    # a dask Client has other futures than concurrent.futures, but its executor does not
    of_client = getattr(executor, "get_executor", None)
    executor = executor if of_client is None else of_client(pure=False)
    sender = {
        "version": granchain_version(),
        "source": source_hash(),
        "process": os.getpid(),
        "laws": law_files(cases),
    }
    # check the laws of this process before anything is sent
    records = law_records([cases[member] for member in places])
    expected = dict(zip(places, records, strict=True))
    first, remaining = places[:1], places[1:]
    compute_here(cases, first, measures, 1, store)
    clock = time.perf_counter()
    # the second run measures the time without compilation
    compute_here(cases, first, measures, 1, lambda *_: None)
    size = math.ceil(TASK_SECONDS / (time.perf_counter() - clock))

    def submit(task: Sequence[int]) -> Future[list[bytes]]:
        with executor_faults("rejected a task"):
            members = [cases[member] for member in task]
            future: Future[list[bytes]] = executor.submit(compute, sender, members, measures)
            # required by concurrent.futures.wait
            future._condition  # noqa: B018
            return future

    def collect(future: Future[list[bytes]], task: Sequence[int]) -> None:
        with executor_faults("did not compute a task"):
            content = future.result()
        with executor_faults("returned something other than the members of its task"):
            blocks = [columns_in(block) for block in content]
            if sorted(row for block in blocks for row in block["places"]) != [*range(len(task))]:
                raise ValueError("members are missing or repeated")
            for columns in blocks:
                those = [task[row] for row in columns.pop("places")]
                for member, record in zip(those, columns["law"], strict=True):
                    law = expected[member]
                    # a member that could not be set up has no record
                    compared = LawRecord.of_text(record) if record else law
                    changed = "" if law is None else law.difference(compared)
                    if changed:
                        raise LawError(
                            "executor: the law of a worker differs from the law of this process: "
                            f"{changed}. They must be the same. Restart the workers, and load the "
                            "law file again in this process."
                        )
                store(those, columns)

    tasks = [tuple(remaining[at : at + size]) for at in range(0, len(remaining), size)]
    waiting: dict[Future[list[bytes]], Sequence[int]] = {}
    try:
        as_they_end(submit, tasks, collect, waiting)
    except BaseException:
        for future, task in waiting.items():
            with contextlib.suppress(GranchainError, AttributeError):
                # a failed task does not discard the columns of other tasks
                if future.done():
                    collect(future, task)
                future.cancel()
        raise


@contextlib.contextmanager
def executor_faults(what: str) -> Iterator[None]:
    """Report a failure of the executor itself as a RunError.

    Examples are an executor that is shut down, broken, closed, cancelled, or of another type.
    Errors of a case and interruptions are unchanged.
    """
    try:
        yield
    except (GranchainError, KeyboardInterrupt):
        raise
    except BaseException as error:
        reason = ": ".join(filter(None, (type(error).__name__, str(error))))
        raise RunError(
            f"executor: it {what} ({reason}). It must be a concurrent.futures.Executor or a dask "
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
        # a client without a scheduler waits forever or prints a traceback, so test the address
        # first
        asyncio.run(greet())
        client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise GranchainError(
            f"--dask: {brief(address)} did not answer within {ANSWER_SECONDS:g} s "
            f"({type(error).__name__}). It must be the address of a running scheduler. Start one "
            "with dask scheduler, and give the address that it prints, tcp://HOST:8786."
        ) from None
    with client:
        yield client.get_executor(pure=False)
