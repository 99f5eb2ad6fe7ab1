"""The document of a case: read as text, parsed as TOML, changed key by key, and as plain data."""

from __future__ import annotations

import copy
import json
import re
import stat
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from granchain.case.tolerances import flattened
from granchain.contact import laws
from granchain.errors import CaseError, FileError, GranchainWarning
from granchain.keys import Problems, shown, suggestion
from granchain.material import MATERIALS, Material
from granchain.plain_data import sha256_of

# The deepest keys, such as chain.segment.0.material.density, are five levels down; the rest is room.
DEPTH = 12

CASES = Path(__file__).parents[1] / "cases"

# Ours: a case is a page of text.
CASE_BYTES = 1_000_000
# tomllib's time grows with the square of the parts of a dotted key (16,000 parts: 5 s); no key of a case has more than five.
MOST_DOTS = 64


def case_names() -> list[str]:
    """Names of the built-in cases."""
    return sorted(path.stem for path in CASES.glob("*.toml"))


def read_document(path: Path, set: Iterable[str], names: list[str], example: str) -> tuple[str, dict[str, Any], dict[str, Any], Problems]:
    """Text and tables of a case file, and changes to it, each given as "KEY=VALUE" on the command line, with what is wrong with these.

    Parameters
    ----------
    path : Path
    set : iterable of str
    names : list of str
        The built-in cases that may have been meant.
    example : str
        A change as it may be given.
    """
    text = read_text(path, names=names)
    document, changes, problems = parsed(text, path.name), {}, Problems()
    for item in set:
        where, equals, value = item.partition("=")
        if equals:
            changes[where.strip()] = toml_value(value)
        else:
            problems.add("--set", shown(item), "KEY=VALUE", f"write for example {example}")
    return text, document, changes, problems


def digest_of_case(resolved: Mapping[str, Any]) -> str:
    """Digest of a chain's case as plain data, without what changes nothing: a drag of zero, and names of materials that no pair asks for.

    So the files that an earlier version wrote, which had no such keys, are still known to be of their case.
    """
    contact = resolved.get("contact")
    named = isinstance(contact, Mapping) and bool(contact.get("pair"))
    return sha256_of(without_keys(resolved, lambda key, value: (key == "drag" and value == 0.0) or (key == "name" and not named)))


def without_keys(document: Any, left_out: Callable[[str, Any], bool]) -> Any:
    """Plain data without some keys of its tables, at any depth."""
    if isinstance(document, dict):
        return {key: without_keys(value, left_out) for key, value in document.items() if not left_out(key, value)}
    return [without_keys(value, left_out) for value in document] if isinstance(document, list) else document


def read_text(path: Path, what: str = "case file", names: list[str] | None = None) -> str:
    """Text of a case file, or of another file of TOML; refuses what is not there, not a file, too long or not UTF-8."""
    name = shown(path.name)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            kind, beside = "a folder" if path.is_dir() else "not a file", Path(f"{path}.toml")
            advice = f"did you mean {shown(beside.name)}?" if beside.is_file() else "name the file itself"
            raise FileError(f"{what}: got {name}, which is {kind}, allowed a TOML file; {advice}")
        with path.open("rb") as file:
            content = file.read(CASE_BYTES + 1)
    except (OSError, ValueError) as error:
        if what != "case file":
            reason = getattr(error, "strerror", None) or "no such path"
            raise FileError(f"{what}: got {name} ({reason}), allowed a TOML file that can be read; check the path") from None
        known = case_names() if names is None else names
        advice = suggestion(path.stem, known, "check the path, or name a built-in case: " + ", ".join(known))
        if not path.suffix and path.name == str(path) and not isinstance(error, PermissionError):
            raise CaseError(f"case: got {name}, allowed the path of a TOML file or the name of a built-in case; {advice}") from None
        reason = getattr(error, "strerror", None) or "no such path"
        raise FileError(f"case file: got {name} ({reason}), allowed a TOML file that can be read; {advice}") from None
    if len(content) > CASE_BYTES:
        raise CaseError(f"{name}: got more than 1 MB, allowed a {what} of at most 1 MB; keep drive tables in files of their own")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaseError(f"{name}: got bytes that are not UTF-8 (at byte {error.start}), allowed UTF-8; save the file as UTF-8") from None


_DECIMAL = re.compile(r"(?<![\w.])[0-9]+\.[0-9]")


def parsed(text: str, name: str) -> dict[str, Any]:
    """Tables of a TOML text."""
    where = shown(name)
    for i, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MOST_DOTS and not line.lstrip().startswith("#") and line.count(".") - len(_DECIMAL.findall(line)) > MOST_DOTS:
            raise CaseError(f"{where}: got more than {MOST_DOTS} dots in line {i}, allowed a key of at most five parts; break the line")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise CaseError(f"{where}: got brackets nested without end, allowed {DEPTH} levels; take them out") from None
    except ValueError as error:
        raise CaseError(f"{where}: got text that is not TOML ({shown(str(error), 200)[1:-1]}), allowed TOML 1.0; mend it there") from None


# Numbers that TOML wants a digit more of.
_SHORT_NUMBER = re.compile(r"[+-]?(\.[0-9]+|[0-9]+\.)([eE][+-]?[0-9]{1,3})?")


def toml_value(text: str) -> Any:
    """A value from the command line: TOML, and what is not TOML is a word; .7 and 7. are numbers."""
    try:
        table = parsed(f"value = {text}", "--set")
    except CaseError:
        word = text.strip()
        return float(word) if _SHORT_NUMBER.fullmatch(word) else word
    return table["value"] if len(table) == 1 else text


def put_all(document: dict[str, Any], changes: Iterable[str], example: str, problems: Problems) -> None:
    """Make changes, each "KEY=VALUE" as on the command line; one that is not is reported, with an example of one that is."""
    for item in changes:
        where, equals, value = item.partition("=")
        if equals and where.strip():
            put_value(document, where.strip(), toml_value(value))
        else:
            problems.add("--set", shown(item), "KEY=VALUE", f"write for example {example}")


def plain_tables(value: Any, problems: Problems, where: str = "", depth: int = 0) -> Any:
    """A copy in Python's own types, tables without None; refuses nesting and integers that no case holds."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Material):
        value = asdict(value)
    if depth > DEPTH:
        problems.add(where, "tables in tables", f"{DEPTH} levels", "take them out")
    elif isinstance(value, (Mapping, BaseModel)):
        parts = ((str(name), plain_tables(part, problems, f"{where}.{name}".lstrip("."), depth + 1)) for name, part in dict(value).items())
        return {name: part for name, part in parts if part is not None}
    elif isinstance(value, (list, tuple)):
        return [plain_tables(part, problems, f"{where}.{i}", depth + 1) for i, part in enumerate(value)]
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        problems.add(where, "a whole number of more than 64 bits", "64 bits", "write a smaller number")
    else:
        return value
    return None


def put_value(document: dict[str, Any], where: str, value: Any) -> None:
    """Put a value at a dotted key, making tables on the way; None takes the key out. A named material is expanded first."""
    *way, last = [part.strip() for part in where.split(".")]
    at: Any = document
    reached: list[str] = []
    for part in way:
        step: Any = int(part) if isinstance(at, list) and part.isdecimal() and int(part) < len(at) else part
        inner = at.setdefault(step, {}) if isinstance(at, dict) else at[step] if isinstance(step, int) else None
        if isinstance(inner, str) and part.endswith("material") and inner in MATERIALS:
            inner = at[step] = jsonable(MATERIALS[inner])
        if inner is None:
            break
        at = inner
        reached.append(part)
    on_way = len(reached) == len(way)
    if on_way and isinstance(at, dict) and last and all(way):
        at.pop(last, None)
        if value is not None:
            at[last] = value
    elif on_way and isinstance(at, list) and last.isdecimal() and int(last) < len(at):
        at[int(last) : int(last) + 1] = [] if value is None else [value]
    else:
        allowed = "names of tables and a key joined by dots; write for example contact.psi"
        if isinstance(at, list) and at:
            name = ".".join(reached)
            allowed = f"{name}.0" + (f" to {name}.{len(at) - 1}" if len(at) > 1 else "") + f"; {name} has {len(at)}, counted from 0"
        raise CaseError(f"{shown(where)}: got a key that leads nowhere, allowed {allowed}")


def change(document: dict[str, Any], changes: Mapping[str, Any], problems: Problems) -> None:
    """Make changes; a new contact law drops the inputs that it does not know and that no change names."""
    before = copy.copy(document.get("contact"))
    for where, value in changes.items():
        try:
            put_value(document, where, value)
        except CaseError as error:
            problems.repeat(error.problems)
    after = document.get("contact")
    if not isinstance(before, dict) or not isinstance(after, dict) or "contact" in changes or after.get("law") == before.get("law"):
        return
    law = laws().get(str(after.get("law")))
    if law is not None:
        known = {"law", "pair", *(quantity.name for quantity in law.inputs)}
        named = {where.split(".")[1] for where in changes if where.startswith("contact.")}
        dropped = [name for name in after if name in before and name not in known | named]
        for name in dropped:
            del after[name]
        of_pairs = drop_of_pairs(after.get("pair"), known, changes)
        if of_pairs:
            advice = f"; give these materials inputs of {law.name} in the same change, or leave their pairs out" if law.inputs else ""
            words = some([f"contact.{name}" for name in of_pairs])
            warnings.warn(f"contact.law: {law.name} does not take {words}: left out{advice}", GranchainWarning, stacklevel=3)
        dropped += of_pairs
        if isinstance(document.get("tolerance"), dict) and "tolerance" not in changes:
            # of an input that is gone no tolerance is left
            gone = tuple(f"contact.{name}" for name in dropped)
            document["tolerance"] = {
                key: value for key, value in flattened(document["tolerance"]) if not any(f"{key}.".startswith(f"{name}.") for name in gone)
            }


def some(parts: Sequence[Any]) -> str:
    """The first few of a list."""
    return ", ".join(map(str, parts[:5])) + (f" and {len(parts) - 5} more" if len(parts) > 5 else "")


def drop_of_pairs(pairs: Any, known: set[str], changes: Iterable[str]) -> list[str]:
    """Take what a new contact law does not know out of pairs of materials, unless a change names it; one without inputs goes as a whole.

    Returns the keys that are gone, without the table's name.
    """
    gone: list[str] = []
    pairs = pairs if isinstance(pairs, list) else []
    for i, pair in enumerate(pairs):
        for name in [*pair] if isinstance(pair, dict) else ():
            place = f"pair.{i}.{name}"
            if name not in known | {"materials"} and not any(f"{where}.".startswith(f"contact.{place}.") for where in changes):
                del pair[name]
                gone.append(place)
    pairs[:] = [pair for pair in pairs if not isinstance(pair, dict) or list(pair) != ["materials"]]
    return gone


def noted(text: str, changes: Mapping[str, Any]) -> str:
    """A case file's text with the changes made to it, as comments at its end."""
    lines = [f"# changed: {json.dumps(where)} = {json.dumps(value, default=str)}" for where, value in changes.items()]
    return "\n".join([text.rstrip("\n"), *lines, ""]) if lines else text


def jsonable(value: Any) -> Any:
    """Tables, materials and tuples as dicts and lists, without what is None."""
    if isinstance(value, Material):
        value = asdict(value)
    if isinstance(value, (BaseModel, Mapping)):
        return {name: jsonable(part) for name, part in dict(value).items() if part is not None}
    return [jsonable(part) for part in value] if isinstance(value, (list, tuple)) else value
