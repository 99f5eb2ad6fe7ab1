"""A JSON file of what was concluded: its kind, the case, versions, and the numbers; written
whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from granchain.case import Case
from granchain.errors import FileError
from granchain.plain_data import sha256_of
from granchain.store.files import (
    DAMAGED,
    NO_CHECKSUM,
    OUTPUT_MARK,
    claim,
    file_ending,
    open_for_reading,
    write_atomically,
)
from granchain.store.provenance import granchain_version, source_hash, versions
from granchain.store.schema import FORMAT

# Bytes of such a file, ours: the equivalence of six laws over eight sensors has 1e5.
LARGEST_CONCLUSION = 2**26
# The last key of such a file: the hash of all others.
SEALED_BY = "sha256"


@contextlib.contextmanager
def claim_conclusion(
    path: str | os.PathLike[str] | None, overwrite: bool = False
) -> Iterator[None]:
    """Hold the right to write such a file, so that an obstacle shows before anything is computed;
    nothing where there is none.

    Raises
    ------
    FileError
        Where its name does not end in .json, or it cannot be written.
    """
    if path is None:
        yield
        return
    file_ending(path, (".json",))
    with claim(path, overwrite):
        yield


def save_conclusion(
    path: str | os.PathLike[str] | None,
    kind: str,
    case: Case | None,
    facts: Mapping[str, Any],
    overwrite: bool = False,
) -> None:
    """Write the file.

    Parameters
    ----------
    path : str, path or None
        None: nothing is written.
    kind : str
        "comparison", "equivalence", "fit", "fits", "bands".
    case : Case or None
        What the conclusion is about; None where it is about several, which `facts` names.
    facts : mapping
        Plain numbers, words, lists and dicts, without numbers that are not finite.
    overwrite : bool
        Replace a file of that name that granchain wrote.

    Raises
    ------
    FileError
    """
    if path is None:
        return
    about = (
        {}
        if case is None
        else {
            "case": case.as_given(),
            "case_resolved": case.resolved(),
            "case_toml": case.toml,
            "case_sha256": case.sha256,
        }
    )
    document = {
        # its first bytes say whose file it is: see `files.OUTPUT_MARK`
        OUTPUT_MARK.decode(): FORMAT,
        "kind": kind,
        "granchain_version": granchain_version(),
        "versions": json.loads(versions()),
        "source_hash": source_hash(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        **about,
        **facts,
    }
    document |= {SEALED_BY: sha256_of(document)}
    text = json.dumps(document, allow_nan=False, indent=1)
    if len(text) > LARGEST_CONCLUSION:
        raise FileError(
            f"{os.fspath(path)}: the results have {len(text)} bytes. A JSON file may have "
            f"at most {LARGEST_CONCLUSION} bytes. Use fewer beads, sensors, or samples, or "
            "print the results with --json."
        )
    write_atomically(path, text.encode() + b"\n", overwrite, marks=(OUTPUT_MARK,))


def read_conclusion(path: str | os.PathLike[str], verify: bool = True) -> dict[str, Any]:
    """What such a file holds; `verify` as of `granchain.open`.

    Raises
    ------
    FileError
        Where it is missing, too large, of another kind or changed.
    """
    with open_for_reading(path, "a JSON results file", LARGEST_CONCLUSION) as file:
        content = file.read()
    try:
        document = json.loads(content)
        seal, kind = document.pop(SEALED_BY, None), document["kind"]
        sealed = OUTPUT_MARK.decode() in document and seal == sha256_of(document)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        kind = None
    if not isinstance(kind, str) or OUTPUT_MARK.decode() not in document:
        raise FileError(
            f"{os.fspath(path)}: not a results file of granchain. It must be written by --out "
            "FILE.json of a command or by granchain.save."
        )
    if not sealed and verify:
        raise FileError(f"{os.fspath(path)}: {NO_CHECKSUM if seal is None else DAMAGED}")
    return dict(document)
