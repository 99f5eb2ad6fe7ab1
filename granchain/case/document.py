"""The document of a case: read as text, parsed as TOML, changed key by key, and as plain data."""

from __future__ import annotations

import copy
import json
import re
import stat
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from granchain.case.dotted import flattened, set_value
from granchain.contact import laws
from granchain.errors import CaseError, FileError, GranchainWarning
from granchain.keys import Problems, shown, suggestion
from granchain.material import Material
from granchain.plain_data import sha256_of

# The deepest keys, such as chain.segment.0.material.density, are five levels down; the rest is
# room.
DEPTH = 12

CASES = Path(__file__).parents[1] / "cases"

# Ours: a case is a page of text.
CASE_BYTES = 1_000_000
# tomllib's time grows with the square of the parts of a dotted key (16,000 parts: 5 s); no key of a
# case has more than five.
MOST_DOTS = 64


def case_names() -> list[str]:
    """Names of the built-in cases."""
    return sorted(path.stem for path in CASES.glob("*.toml"))


def read_document(
    path: Path, set: Iterable[str], names: list[str], example: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tables of a case file, changed, and the context in which they are validated.

    Parameters
    ----------
    path : Path
    set : iterable of str
        Changes, each "KEY=VALUE" as on the command line.
    names : list of str
        The built-in cases that may have been meant.
    example : str
        A change as it may be given.
    """
    text, problems = read_text(path, names=names), Problems()
    document, changes = parsed(text, path.name), key_values(set, example, problems)
    titled = plain_tables(document, Problems()) if changes and "title" not in changes else None
    change(document, changes, problems)
    return document, {"problems": problems, "toml": noted(text, changes), "titled": titled}


def key_values(items: Iterable[str], example: str, problems: Problems) -> dict[str, Any]:
    """Changes given as "KEY=VALUE"; others are reported, with an example of one that is allowed."""
    changes = {}
    for item in items:
        where, equals, value = item.partition("=")
        if equals and where.strip():
            changes[where.strip()] = toml_value(value)
        else:
            problems.add("--set", shown(item), "KEY=VALUE", f"write for example {example}")
    return changes


def digest_of_case(resolved: Mapping[str, Any]) -> str:
    """Digest of a chain's case as plain data, without keys that change nothing: a drag of zero, and
    names of materials if no pair asks for them."""
    contact = resolved.get("contact")
    named = isinstance(contact, Mapping) and bool(contact.get("pair"))
    return sha256_of(_hashed(resolved, named))


def _hashed(document: Any, named: bool) -> Any:
    if isinstance(document, list):
        return [_hashed(entry, named) for entry in document]
    if not isinstance(document, dict):
        return document
    return {
        key: _hashed(value, named)
        for key, value in document.items()
        if not (key == "drag" and value == 0.0) and (named or key != "name")
    }


def read_text(path: Path, what: str = "case file", names: list[str] | None = None) -> str:
    """Text of a case file, or of another file of TOML; refuses what is not there, not a file,
    too long or not UTF-8."""
    name = shown(path.name)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            kind, beside = "a folder" if path.is_dir() else "not a file", Path(f"{path}.toml")
            advice = (
                f"did you mean {shown(beside.name)}?"
                if beside.is_file()
                else "name the file itself"
            )
            raise FileError(f"{what}: got {name}, which is {kind}, allowed a TOML file; {advice}")
        with path.open("rb") as file:
            content = file.read(CASE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason, advice = getattr(error, "strerror", None) or "no such path", "check the path"
        if what == "case file":
            known = case_names() if names is None else names
            advice = suggestion(
                path.stem, known, f"{advice}, or name a built-in case: {', '.join(known)}"
            )
            if (
                not path.suffix
                and path.name == str(path)
                and not isinstance(error, PermissionError)
            ):
                raise CaseError(
                    f"case: got {name}, allowed the path of a TOML file or the name of a built-in "
                    f"case; {advice}"
                ) from None
        raise FileError(
            f"{what}: got {name} ({reason}), allowed a TOML file that can be read; {advice}"
        ) from None
    if len(content) > CASE_BYTES:
        raise CaseError(
            f"{name}: got more than 1 MB, allowed a {what} of at most 1 MB; keep drive tables in "
            "files of their own"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaseError(
            f"{name}: got bytes that are not UTF-8 (at byte {error.start}), allowed UTF-8; save "
            "the file as UTF-8"
        ) from None


_DECIMAL = re.compile(r"(?<![\w.])[0-9]+\.[0-9]")


def parsed(text: str, name: str) -> dict[str, Any]:
    """Tables of a TOML text."""
    where = shown(name)
    for i, line in enumerate(text.split("\n"), start=1):
        if (
            line.count(".") > MOST_DOTS
            and not line.lstrip().startswith("#")
            and line.count(".") - len(_DECIMAL.findall(line)) > MOST_DOTS
        ):
            raise CaseError(
                f"{where}: got more than {MOST_DOTS} dots in line {i}, allowed a key of at most "
                "five parts; break the line"
            )
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise CaseError(
            f"{where}: got brackets nested without end, allowed {DEPTH} levels; take them out"
        ) from None
    except ValueError as error:
        raise CaseError(
            f"{where}: got text that is not TOML ({shown(str(error), 200)[1:-1]}), allowed TOML "
            "1.0; mend it there"
        ) from None


# Numbers that TOML wants a digit more of.
_SHORT_NUMBER = re.compile(r"[+-]?(\.[0-9]+|[0-9]+\.)([eE][+-]?[0-9]{1,3})?")


def toml_value(text: str) -> Any:
    """A value from the command line: TOML, and what is not TOML is a word; .7 and 7. are
    numbers."""
    try:
        table = parsed(f"value = {text}", "--set")
    except CaseError:
        word = text.strip()
        return float(word) if _SHORT_NUMBER.fullmatch(word) else word
    return table["value"] if len(table) == 1 else text


def set_values(
    document: dict[str, Any], changes: Iterable[str], example: str, problems: Problems
) -> None:
    """Make changes, each "KEY=VALUE" as on the command line."""
    for where, value in key_values(changes, example, problems).items():
        set_value(document, where, value)


def plain_tables(value: Any, problems: Problems, where: str = "", depth: int = 0) -> Any:
    """A copy in Python's own types, tables without None; refuses nesting and integers that no case
    holds."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Material):
        value = value.constants()
    if depth > DEPTH:
        problems.add(where, "tables in tables", f"{DEPTH} levels", "take them out")
    elif isinstance(value, (Mapping, BaseModel)):
        plain = {}
        for name, entry in dict(value).items():
            if type(entry) not in (str, float, bool):
                entry = plain_tables(entry, problems, f"{where}.{name}".lstrip("."), depth + 1)
            plain[str(name)] = entry
        return {name: entry for name, entry in plain.items() if entry is not None}
    elif isinstance(value, (list, tuple)):
        if all(type(entry) is float for entry in value):
            return list(value)
        return [
            plain_tables(entry, problems, f"{where}.{i}", depth + 1)
            for i, entry in enumerate(value)
        ]
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        problems.add(
            where, "a whole number of more than 64 bits", "64 bits", "write a smaller number"
        )
    else:
        return value
    return None


def change(document: dict[str, Any], changes: Mapping[str, Any], problems: Problems) -> None:
    """Make changes; a new contact law drops the inputs that it does not know and that no change
    names, and pairs of materials of which no input is left."""
    before = copy.copy(document.get("contact"))
    for where, value in changes.items():
        try:
            set_value(document, where, value)
        except CaseError as error:
            problems.repeat(error.problems)
    after = document.get("contact")
    if not isinstance(before, dict) or not isinstance(after, dict) or "contact" in changes:
        return
    law = laws().get(str(after.get("law")))
    if law is None or after.get("law") == before.get("law"):
        return
    known = {"law", "pair", "materials", *(quantity.name for quantity in law.inputs)}
    pairs: Any = after.get("pair")
    pairs = pairs if isinstance(pairs, list) else []
    tables = {"contact": after} | {f"contact.pair.{i}": pair for i, pair in enumerate(pairs)}
    dropped: list[str] = []
    for place, table in tables.items():
        for name in [*table] if isinstance(table, dict) else ():
            key = f"{place}.{name}"
            if name not in known and not any(
                f"{where}.".startswith(f"{key}.") for where in changes
            ):
                del table[name]
                dropped.append(key)
    pairs[:] = [pair for pair in pairs if not isinstance(pair, dict) or list(pair) != ["materials"]]
    of_pairs = [key for key in dropped if key.startswith("contact.pair.")]
    if of_pairs:
        advice = (
            f"; give these materials inputs of {law.name} in the same change, or leave their "
            "pairs out"
            if law.inputs
            else ""
        )
        words = f"contact.law: {law.name} does not take {first_few(of_pairs)}: left out{advice}"
        warnings.warn(words, GranchainWarning, stacklevel=3)
    if isinstance(document.get("tolerance"), dict) and "tolerance" not in changes:
        # of an input that is gone no tolerance is left
        document["tolerance"] = {
            key: value
            for key, value in flattened(document["tolerance"])
            if not any(f"{key}.".startswith(f"{name}.") for name in dropped)
        }


def first_few(entries: Sequence[Any]) -> str:
    """The first few of a list."""
    return ", ".join(map(str, entries[:5])) + (
        f" and {len(entries) - 5} more" if len(entries) > 5 else ""
    )


def noted(text: str, changes: Mapping[str, Any]) -> str:
    """A case file's text with the changes made to it, as comments at its end."""
    lines = [
        f"# changed: {json.dumps(where)} = {json.dumps(value, default=str)}"
        for where, value in changes.items()
    ]
    return "\n".join([text.rstrip("\n"), *lines, ""]) if lines else text
