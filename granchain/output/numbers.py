"""What `--json` of a command prints, as a file: written whole or not at all, read for a report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from granchain.errors import FileError
from granchain.output.whole import StoredFile, read_whole, write_whole

# What such a file begins with: nothing else is replaced by one.
NUMBERS_MARK = b'{"command": '
# Bytes of such a file, ours: the comparison of eight sensors with three laws has 2e4.
LARGEST_NUMBERS = 2**26


def save_numbers(path: str | os.PathLike[str], facts: Mapping[str, Any], overwrite: bool = False) -> None:
    """Write what a command found.

    Parameters
    ----------
    path : str or path
        Ends in .json.
    facts : mapping
        Plain numbers, words, lists and mappings; `command` is the first of them.
    overwrite : bool
        Replace such a file of that name; any other stays.

    Raises
    ------
    FileError
        For another ending, a file that must stay, a full disk.
    """
    if not os.fspath(path).lower().endswith(".json"):
        raise FileError(f"{os.fspath(path)}: got another ending, allowed .json; name the file accordingly")
    # on one line up to the command, so that the mark stands at the beginning
    text = json.dumps(facts, allow_nan=False, indent=1).replace("{\n ", "{", 1)
    write_whole(path, text.encode() + b"\n", overwrite, marks=(NUMBERS_MARK,))


def read_numbers(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What such a file holds.

    Raises
    ------
    FileError
        Where it is missing, too large or of another kind.
    """
    if len(StoredFile(path, "a file of numbers")) > LARGEST_NUMBERS:
        raise FileError(f"{os.fspath(path)}: got more than {LARGEST_NUMBERS} bytes, allowed a file of numbers; name another")
    try:
        facts = json.loads(read_whole(path, "a file of numbers"))
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict) or not isinstance(facts.get("command"), str):
        raise FileError(
            f"{os.fspath(path)}: got a file that no command of granchain wrote, allowed one "
            "that --out FILE.json of compare, equivalent or fit wrote"
        )
    return facts
