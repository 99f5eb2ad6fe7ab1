"""The document of a case: its text, its tables, its dotted keys, and the files that it names.

A dotted key, such as chain.segment.0.mass, is the position of a value in the tables.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import stat
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from granchain.case.tables import DriveTable, PairTable
from granchain.chain import DRIVEN_FORCE
from granchain.contact import laws
from granchain.contact.law import ContactLaw, Quantity
from granchain.errors import CaseError, FileError, GranchainWarning, error_text
from granchain.keys import (
    PROBLEMS,
    Problems,
    Table,
    brief,
    declared,
    rejected,
    suggestion,
    table_in,
)
from granchain.material import MATERIALS, Material
from granchain.plain_data import canonical, sha256_of

# Maximum nesting of tables; the deepest keys, such as chain.segment.0.material.density, have five
# levels.
DEPTH = 12

CASES = Path(__file__).parents[1] / "cases"
# Chains of publications, which docs/papers/published.md compares with their published numbers.
PUBLISHED = CASES / "published"
MECHANISMS = CASES / "mechanisms"

# Size limits (our choice): a case is a page of text; 16 MiB hold about 400,000 rows of a drive.
CASE_BYTES, CSV_BYTES = 1_000_000, 16 * 2**20
# First bytes of an HDF5 file, the format of the output of a run.
HDF5_MARK = b"\x89HDF\r\n\x1a\n"
# Characters of a number in a CSV file.
_CSV_NUMBER = re.compile(r"[-+.0-9eE]{1,40}")
# Numbers without a digit before or after the point, which TOML does not accept.
_SHORT_NUMBER = re.compile(r"[+-]?(\.[0-9]+|[0-9]+\.)([eE][+-]?[0-9]{1,3})?")


def case_files(*folders: Path) -> dict[str, Path]:
    """Return the files of the built-in cases by name, or of those in some folders, in their order.

    Without folders, these are chains of beads, the published chains last.
    """
    return {
        path.stem: path
        for folder in folders or (CASES, PUBLISHED)
        for path in sorted(folder.glob("*.toml"), key=lambda path: path.stem)
    }


def case_names() -> list[str]:
    """Return the names of the built-in cases."""
    return list(case_files())


def mechanism_names() -> list[str]:
    """Return the names of the built-in mechanisms."""
    return list(case_files(MECHANISMS))


# --------------------------------------------------------------------------------------------------
# Text


def read_document(
    name: Any,
    built_in: Mapping[Any, Path],
    overrides: Iterable[str],
    loader: tuple[str, str],
    example: str,
    alternatives: Mapping[str, str] | None = None,
) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Return the path and the changed tables of a case file, and the context to validate them.

    Parameters
    ----------
    name : str or path
        Name of a built-in case, or path of a case file.
    built_in : mapping of str to Path
        Files of the built-in cases.
    overrides : iterable of str
        Changes, each "KEY=VALUE" as on the command line.
    loader : tuple of str
        The function that reads a case, and the function for its tables, for messages.
    example : str
        An example of a change, for messages.
    alternatives : mapping, optional
        See `change`.
    """
    if not isinstance(name, (str, os.PathLike)):
        got = brief(name) if isinstance(name, (Mapping, BaseModel)) else type(name).__name__
        raise CaseError(
            f"{loader[0]}: {got} is not valid. Give the name of a built-in case or the path of a "
            f"TOML file. For tables, use granchain.{loader[1]}."
        )
    path, problems = built_in.get(name, Path(name)), Problems()
    text = read_text(path, names=[*built_in])
    document, changes = parsed(text, path.name), key_values(overrides, example, problems)
    if changes:
        change(document, changes, problems, alternatives)
    return path, document, {"problems": problems, "toml": "" if changes else text}


def read_text(path: Path, what: str = "case file", names: Sequence[str] = ()) -> str:
    """Return the text of a TOML file, such as a case file.

    Reject a path that does not exist or is not a file, and a text that is too long or not UTF-8.
    `names` are the built-in cases, to suggest one.
    """
    name = brief(path.name)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            toml_name = f"{path.name}.toml"
            meant = path.with_name(toml_name).is_file() if path.name else False
            raise FileError(
                f"{what}: {name} is {'a folder' if path.is_dir() else 'not a file'}. "
                + (
                    f"Did you mean {brief(toml_name)}?"
                    if meant
                    else "Give the path of a TOML file."
                )
            )
        with path.open("rb") as file:
            content = file.read(CASE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason, fix = getattr(error, "strerror", None) or "no such path", "Check the path"
        if names:
            fix = suggestion(path.stem, names, f"The built-in cases are {', '.join(names)}")
        word = bool(names) and not path.suffix and path.name == str(path)
        if word and not isinstance(error, PermissionError):
            requirement = "Give the name of a built-in case or the path of a TOML file"
            raise CaseError(error_text("case", f"{name} not found", requirement, fix)) from None
        problem = f"{name} cannot be read ({reason})"
        raise FileError(error_text(what, problem, "It must be a TOML file", fix)) from None
    if len(content) > CASE_BYTES:
        raise CaseError(
            f"{name}: the file is too large. A {what} may have at most 1 MB. Put drive tables in "
            "separate files."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaseError(
            f"{name}: the text is not UTF-8 (at byte {error.start}). Save the file as UTF-8."
        ) from None


def parsed(text: str, name: str) -> dict[str, Any]:
    """Return the tables of a TOML text."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise CaseError(
            f"{brief(name)}: the brackets are nested too deeply. At most {DEPTH} levels are "
            "allowed."
        ) from None
    except ValueError as error:
        raise CaseError(
            f"{brief(name)}: the text is not valid TOML 1.0 ({brief(str(error), 200)[1:-1]}). "
            "Correct the text there."
        ) from None


def toml_value(text: str) -> Any:
    """Return a value from the command line: TOML, a number such as "7.", or else the text."""
    try:
        table = parsed(f"value = {text}", "--set")
    except CaseError:
        word = text.strip()
        return float(word) if _SHORT_NUMBER.fullmatch(word) else word
    return table["value"] if len(table) == 1 else text


def toml_text(tables: Mapping[str, Any], completed: Mapping[str, Any] | None = None) -> str:
    """Return plain tables as TOML text: top-level keys first, lists of tables as [[name]].

    Values of the same tables that are completed, and are not given, are comments.
    """
    above, blocks = {}, []
    for name, value in tables.items():
        complete = (completed or {}).get(name)
        if isinstance(value, Mapping):
            blocks.append([f"[{_as_key(name)}]", *_as_lines(value, complete)])
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            each = complete or [None] * len(value)
            blocks += [
                [f"[[{_as_key(name)}]]", *_as_lines(*pair)]
                for pair in zip(value, each, strict=True)
            ]
        else:
            above[name] = value
    blocks = [_as_lines(above)] * bool(above) + blocks
    for name, value in (completed or {}).items():
        if name not in tables and isinstance(value, Mapping):
            blocks.append([f"# [{name}]", *_as_lines({}, value)])
    return "\n\n".join(map("\n".join, blocks)) + "\n"


def _as_lines(table: Mapping[str, Any], completed: Mapping[str, Any] | None = None) -> list[str]:
    """Return the lines of a table, with completed values that are not given as comments."""
    lines = [f"{_as_key(name)} = {_as_toml(value)}" for name, value in table.items()]
    for name, value in (completed or {}).items():
        expanded = isinstance(value, Mapping) and isinstance(table.get(name), str)
        long = isinstance(value, list) and any(isinstance(entry, dict) for entry in value)
        if expanded or (name not in table and value not in ([], "") and not long):
            lines.append(f"# {_as_key(name)} = {_as_toml(value)}")
    return lines


def _as_key(name: str) -> str:
    """Return a name as a key of TOML, in quotes if it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _as_toml(name)


def _as_toml(value: Any) -> str:
    """Return a value as TOML in one line; JSON strings are valid TOML, except for DEL."""
    if isinstance(value, Mapping):
        return (
            f"{{ {', '.join(f'{_as_key(k)} = {_as_toml(entry)}' for k, entry in value.items())} }}"
        )
    if isinstance(value, (list, tuple)) and any(isinstance(entry, Mapping) for entry in value):
        return f"[{', '.join(map(_as_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def key_values(
    items: Iterable[str], example: str, problems: Problems, option: str = "--set"
) -> dict[str, Any]:
    """Return the changes given as "KEY=VALUE"; report all others with an example."""
    changes = {}
    for item in items:
        where, equals, value = item.partition("=")
        if equals and where.strip():
            changes[where.strip()] = toml_value(value)
        else:
            problems.add(option, f"{brief(item)} is not KEY=VALUE", f"Write for example {example}")
    return changes


# --------------------------------------------------------------------------------------------------
# Keys with dots


def entry_at(tables: Mapping[str, Any], key: str) -> tuple[Any, str, list[str]]:
    """Return the value at a key, the last part of the key that was used, and the names there.

    The value is None if the key does not exist, or if a table on the path is None. The names are
    those of the innermost table that exists.
    """
    value: Any = tables
    word, names = "", [""]
    for word in key.split("."):
        if isinstance(value, (list, tuple)) and len(value) == 1 and not word.isdecimal():
            # A list of one table is this table, such as chain.resonator.
            (value,) = value
        if isinstance(value, (list, tuple)):
            inside = _is_index(word, value)
            names = [word] if inside else [str(i) for i in range(min(len(value), PROBLEMS))]
            value = value[int(word)] if inside else None
        else:
            is_table = isinstance(value, (Mapping, BaseModel))
            inner = vars(value) if isinstance(value, Material) else dict(value) if is_table else {}
            names, value = [str(name) for name in inner], inner.get(word)
        if value is None:
            break
    return value, word, names


def set_value(document: dict[str, Any], where: str, value: Any) -> None:
    """Set the value at a dotted key, and make missing tables; None removes the key.

    A material that is given by name is expanded first.
    """
    *way, last = [word.strip() for word in where.split(".")]
    at: Any = document
    reached: list[str] = []
    for word in way:
        entry = at[int(word)] if _is_index(word, at) else None
        inner = at.setdefault(word, {}) if isinstance(at, dict) else entry
        if word.endswith("material") and isinstance(inner, str) and inner in MATERIALS:
            inner = at[word] = MATERIALS[inner].constants()
        if inner is None:
            break
        at = inner
        reached.append(word)
    on_way = len(reached) == len(way)
    if on_way and isinstance(at, dict) and last and all(way):
        at.pop(last, None)
        if value is not None:
            at[last] = value
    elif on_way and _is_index(last, at):
        at[int(last) : int(last) + 1] = [] if value is None else [value]
    else:
        requirement = "A key is the names of tables joined by dots, such as contact.psi."
        if isinstance(at, list) and at:
            name, more = ".".join(reached), f" to {'.'.join(reached)}.{len(at) - 1}"
            requirement = f"The keys are {name}.0{more * (len(at) > 1)}."  # words: ok, a key
        if isinstance(at, str):
            requirement = (
                f"{'.'.join(reached)} must be a table, but it is {brief(at)}. Replace it by a "
                "table with this key."
            )
        raise CaseError(f"{brief(where)}: key not found. {requirement}")


def _is_index(word: str, entries: Any) -> bool:
    """Return whether a word is the index of an entry of a list, in its shortest form: not "01"."""
    is_number = word.isdecimal() and len(word) < 10 and str(int(word)) == word
    return is_number and isinstance(entries, (list, tuple)) and int(word) < len(entries)


def set_values(
    document: dict[str, Any],
    changes: Iterable[str],
    example: str,
    problems: Problems,
    option: str = "--set",
) -> None:
    """Apply changes, each "KEY=VALUE" as on the command line after an option."""
    for where, value in key_values(changes, example, problems, option).items():
        set_value(document, where, value)


def flattened(tables: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted keys of nested tables with their values; a list of tables has indices."""
    for name, value in tables.items():
        key = f"{above}{name}"
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
            value = dict(enumerate(value))
        if isinstance(value, Mapping) and value and "uniform" not in value:
            yield from flattened(value, f"{key}.")
        else:
            yield key, value


def keys_that_differ(
    documents: Iterable[Mapping[str, Any]], completed: Iterable[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """Return the given keys in which cases differ, with the completed value in each case.

    The value is None if a case lacks the key. A material with a name is this name. The title is
    ignored.

    Parameters
    ----------
    documents : iterable of mapping
        Tables of each case as the author gave them.
    completed : iterable of mapping
        Completed tables of each case.
    """
    completed = list(completed)
    # each key is listed once, for any number of cases
    keys = dict.fromkeys(name for tables in documents for name, _ in flattened(tables))
    names = dict.fromkeys(_comparable(name, completed) for name in keys)
    columns = {name: [entry_at(tables, name)[0] for tables in completed] for name in names}
    return {
        name: names_of_materials(values)
        for name, values in columns.items()
        if name != "title" and any(value != values[0] for value in values)
    }


def names_of_materials(values: Sequence[Any]) -> list[Any]:
    """Return values with the name of each material, unless different values have one name."""
    named = [value.get("name", value) if isinstance(value, dict) else value for value in values]
    first: dict[str, Any] = {}
    unique = all(
        first.setdefault(str(name), value) == value
        for name, value in zip(named, values, strict=True)
        if isinstance(value, (dict, str))
    )
    return named if unique else [*values]


def _comparable(name: str, completed: Sequence[Mapping[str, Any]]) -> str:
    """Return a key, or the key of the first table above it that cases cannot share.

    The tables have no key in common, or one of them is a word, such as "wall" for an end.
    """
    above = name.split(".")[:-1]
    for where in (".".join(above[: n + 1]) for n in range(len(above))):
        values = [entry_at(tables, where)[0] for tables in completed]
        keys = [set(value) for value in values if isinstance(value, dict)]
        if keys and (
            any(isinstance(value, str) for value in values) or not set.intersection(*keys)
        ):
            return where
    return name


def differences(cases: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the keys in which cases differ, with the value in each case; see
    `keys_that_differ`."""
    return keys_that_differ(
        [case.as_given()["tables"] for case in cases], [case.plain() for case in cases]
    )


def change(
    document: dict[str, Any],
    changes: Mapping[str, Any],
    problems: Problems,
    alternatives: Mapping[str, str] | None = None,
) -> None:
    """Apply changes to a document.

    A change of a key removes its alternative, unless that is among the changes too.

    A new contact law removes the inputs that it does not know, unless they are among the changes,
    and pairs of materials that have no input any more. A shorter chain removes recorded contacts
    that no longer exist, unless the changes set the contacts.
    """
    others = {
        other: None for key, other in (alternatives or {}).items() if changes.get(key) is not None
    }
    changes = others | dict(changes)
    had, names_before = _contact_numbers(document), {}
    for where in changes:
        table_key, _, name = where.rpartition(".")
        if name == "law" and table_key not in changes:
            names_before[table_key] = entry_at(document, where)[0]
    for where, value in changes.items():
        try:
            if where.endswith(".file"):
                _drop_numbers(document, where)
            set_value(document, where, value)
        except CaseError as error:
            problems.repeat(error.problems)
    for table_key, name in names_before.items():
        law = laws().get(str(entry_at(document, f"{table_key}.law")[0]))
        if law is not None and law.name != name:
            _drop_inputs(document, table_key, law, changes)
    sensors, now = document.get("sensors"), _contact_numbers(document)
    if had != now and isinstance(sensors, dict):
        recorded = sensors.get("contacts")
        if isinstance(recorded, list) and not {"sensors", "sensors.contacts"} & set(changes):
            remaining = [k for k in recorded if k in now or k not in had]
            document["sensors"] = {**sensors, "contacts": remaining}


def _drop_numbers(document: dict[str, Any], where: str) -> None:
    """Remove the numbers in a table that a file replaces: of a drive, or of the initial state."""
    table = entry_at(document, where.rpartition(".")[0])[0]
    for name in ("time", "value", "velocity", "displacement", "state"):
        if isinstance(table, dict):
            table.pop(name, None)


def _contact_numbers(document: Mapping[str, Any]) -> range:
    """Return the numbers of the contacts of a chain; empty if the chain cannot be read."""
    try:
        chain, ends = document["chain"], document.get("ends", {})
        beads = group = 0
        for segment in chain.get("segment") or [{"count": chain["beads"]}]:
            group += segment["count"]
            if "repeat" in segment:
                beads, group = beads + segment["repeat"] * group, 0
        left, right = (
            end.get("drive") != "force" if isinstance(end, dict) else end != "free"
            for end in (ends.get("left", "free"), ends.get("right", "free"))
        )
        return range(int("striker" not in document) - left, beads + group + right)
    except (AttributeError, KeyError, TypeError):
        return range(0)


def _drop_inputs(
    document: dict[str, Any], table_key: str, law: type[ContactLaw], changes: Mapping[str, Any]
) -> None:
    """Remove inputs that a law does not know from its table, such as `contact`, and its pairs.

    Inputs among the changes are not removed. The tolerances of the removed inputs are removed too.
    """
    pairs, dropped = entry_at(document, f"{table_key}.pair")[0], []
    pairs = pairs if isinstance(pairs, list) else []
    tables = {table_key: entry_at(document, table_key)[0]}
    tables |= {f"{table_key}.pair.{i}": pair for i, pair in enumerate(pairs)}
    accepted = {"law", "pair", "materials", *(quantity.name for quantity in law.inputs)}
    for above, table in tables.items():
        for name in [*table] if isinstance(table, dict) else ():
            key = f"{above}.{name}."
            if name not in accepted and not any(f"{where}.".startswith(key) for where in changes):
                del table[name]
                dropped.append(key)
    pairs[:] = [pair for pair in pairs if not isinstance(pair, dict) or list(pair) != ["materials"]]
    of_pairs = [key.removesuffix(".") for key in dropped if key.startswith("contact.pair.")]
    if of_pairs:
        text = (
            f"contact.law: {law.name} has no input {first_few(of_pairs)}, so granchain removed "
            f"{'it' if len(of_pairs) == 1 else 'them'}. The contacts of these materials now use "
            "the inputs under [contact]. To change this, give them inputs of the law in the same "
            "change."
        )
        warnings.warn(text, GranchainWarning, stacklevel=5)
    if isinstance(document.get("tolerance"), dict) and "tolerance" not in changes:
        document["tolerance"] = {
            key: value
            for key, value in flattened(document["tolerance"])
            if not any(f"{key}.".startswith(name) for name in dropped)
        }


def first_few(entries: Sequence[Any], few: int = 5) -> str:
    """Return the first entries of a list as text, and the number of the remaining entries."""
    more = f" and {len(entries) - few} more" if len(entries) > few else ""
    return ", ".join(map(str, entries[:few])) + more


# --------------------------------------------------------------------------------------------------
# Plain data


def plain_tables(value: Any, problems: Problems, where: str = "", depth: int = 0) -> Any:
    """Return a copy in built-in types, without None; report deep nesting and large integers."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Material):
        value = value.constants()
    if depth > DEPTH:
        problems.add(where, "tables are nested too deeply", f"At most {DEPTH} levels are allowed")
    elif isinstance(value, (Mapping, BaseModel)):
        plain = {}
        for name, entry in dict(value).items():
            if type(entry) not in (str, float, bool):
                entry = plain_tables(entry, problems, f"{where}.{name}".lstrip("."), depth + 1)
            if entry is not None:
                plain[str(name)] = entry
        return plain
    elif isinstance(value, (list, tuple)):
        if all(type(entry) is float for entry in value):
            return list(value)
        return [
            plain_tables(entry, problems, f"{where}.{i}", depth + 1)
            for i, entry in enumerate(value)
        ]
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        problems.add(where, "the whole number is too large", "It must fit in 64 bits")
    else:
        return value
    return None


# Keys that have no effect if their value is 0 or empty.
OFF_WHERE_ZERO = (
    "drag", "on_site_stiffness", "on_site_damping", "resonator", "segment", "drive"
)  # fmt: skip


def digest_of_case(resolved: Mapping[str, Any]) -> str:
    """Return the digest of a resolved case, without what does not affect its results."""
    return sha256_of(without_labels(resolved))


def without_labels(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a resolved case without what does not affect its results.

    This excludes the title, sources of material values, the seed of disorder lists, drag and
    on-site springs of 0, empty lists of resonators, and names of materials if no pair needs them.
    """
    contact = resolved.get("contact")
    named = isinstance(contact, Mapping) and bool(contact.get("pair"))
    return {key: _unlabelled(resolved[key], named) for key in resolved if key != "title"}


def _unlabelled(document: Any, named: bool) -> Any:
    """Return a copy without labels; names of materials remain if pairs use them (`named`)."""
    if isinstance(document, list):
        return [_unlabelled(entry, named) for entry in document]
    if not isinstance(document, dict):
        return document
    labels = ("source", *(() if named else ("name",))) if "youngs_modulus" in document else ()
    return {
        key: _unlabelled(value, named)
        for key, value in document.items()
        if (value or key not in OFF_WHERE_ZERO) and key not in (*labels, "disorder_seed")
    }


# --------------------------------------------------------------------------------------------------
# Files that a case names


def csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Return the line number and cells of each line that is neither empty nor a comment.

    A line whose quotation marks do not match is one cell.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            (cells,) = csv.reader([line], strict=True)
        except csv.Error:
            cells = [line]
        yield number, [cell.strip() for cell in cells]


def csv_numbers(cells: list[str]) -> list[float]:
    """Return the numbers in a row of cells, and None for a cell without a number.

    A number beyond the range of a double is infinite.
    """
    try:
        return [float(cell) for cell in cells] if all(map(_CSV_NUMBER.fullmatch, cells)) else []
    except ValueError:
        return []


def text_of_file(
    where: str,
    file: str,
    folder: Path | None,
    problems: Problems,
    of_run: Callable[[Path], str] | None = None,
) -> str | None:
    """Return the content of a file that a case names, or report a problem and return None.

    Parameters
    ----------
    where : str
        Key of the file.
    file : str
        Name of the file as written in the case, relative to the folder.
    folder : Path or None
        Folder of the case; None for a stored case, which cannot name files.
    problems : Problems
    of_run : callable, optional
        Function that reads the output file of a run.
    """
    name = brief(file)
    try:
        if folder is None:
            raise OSError(0, "a stored case contains its numbers")
        path = folder / file
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(0, "not a file")
        with path.open("rb") as opened:
            if of_run is not None and opened.read(len(HDF5_MARK)) == HDF5_MARK:
                return of_run(path)
            opened.seek(0)
            content = opened.read(CSV_BYTES + 1)
        fits = problems.check(
            len(content) <= CSV_BYTES,
            where,
            f"{name} is too large",
            "The file may have at most 16 MiB",
            "Use fewer rows",
        )
        return content.decode("utf-8-sig") if fits else None
    except (CaseError, FileError):
        # The reader's message may quote the file, and the case may be from an untrusted source.
        problems.add(
            where,
            f"{name} cannot be used",
            "It must be a CSV file or the output file of a complete run of a chain",
            "For an output file, granchain info describes the error",
        )
    except (OSError, ValueError) as error:
        not_text = isinstance(error, UnicodeDecodeError)
        reason = "not UTF-8" if not_text else getattr(error, "strerror", None) or "no such path"
        problems.add(
            where,
            f"{name} cannot be read ({reason})",
            "It must be a CSV file",
            "Check the path, which is relative to the folder of the case file",
        )
    return None


# --------------------------------------------------------------------------------------------------
# Keys of the tables, and the range and value of a key


# Tables of a case that do not affect the physics, only what is computed and recorded.
NO_PHYSICS = ("title", "time", "sensors", "snapshots", "energy", "tolerance")
# Keys of a drive in the unit of the driven quantity.
OF_DRIVE = ("amplitude", "dc", "rms")


# --------------------------------------------------------------------------------------------------
# Range and value of a key


def quantity_of(case: Table, key: str) -> Quantity:
    """Return unit, meaning, and limits of a key of a case.

    Parameters
    ----------
    case : CheckedCase
        Case whose contact laws declare their inputs.
    key : str
        Key of a number, such as "contact.psi" or "chain.segment.1.contact.restitution".

    Raises
    ------
    CaseError
        If the key does not exist, or its value is not a number.
    """
    if of_contact(key):
        quantity = law_input(case, key)
        if quantity.kind != "number":
            raise CaseError(
                f"{key}: the input is a {quantity.kind}. It must be a number. Choose another input."
            )
        return quantity
    about = declared_at(case, key) if isinstance(key, str) else None
    if about is None:
        raise CaseError(
            f"{brief(key)}: unknown key. It must be a key of the case with a number, such as "
            "striker.speed."
        )
    if about["unit"] is None or about["choices"]:
        raise CaseError(
            f"{key}: the value is {about['allowed']}. It must be a number. Choose another key."
        )
    limits = {
        name: getattr(bound, word)
        for bound in about["field"].metadata
        for word, name in (("gt", "above"), ("ge", "low"), ("lt", "below"), ("le", "high"))
        if getattr(bound, word, None) is not None
    }
    return Quantity(key.rpartition(".")[2], about["unit"], about["meaning"], **limits)


def declared_at(case: Table, key: str) -> dict[str, Any] | None:
    """Return the declaration of a key of a case, and its `field`; None if there is no such key."""
    *way, last = key.split(".")
    names = [*(name for name in way if not name.isdecimal()), last]
    model: type[BaseModel] | None = type(case)
    for name, following in pairwise(names):
        fields = {} if model is None else model.model_fields
        model = table_in(fields[name].annotation, following) if name in fields else None
    if not way or model is None or last not in model.model_fields:
        return None
    about = declared(model, last)
    # a meaning with two units, of which a drive has one, stays whole
    about["description"] = about["meaning"].removesuffix(f" [{about['unit']}]")
    table = entry_at(dict(case), ".".join(way))[0]
    if last in OF_DRIVE and isinstance(table, DriveTable):
        about["unit"] = "N" if table.drive == DRIVEN_FORCE else "m"
    return about | {"field": model.model_fields[last]}


def of_contact(key: Any) -> bool:
    """Check if a key belongs to a contact law: of the case, a segment, or a wall."""
    return isinstance(key, str) and any(word.endswith("contact") for word in key.split(".")[:-1])


def law_input(case: Table, key: str) -> Quantity:
    """Return an input of a contact law, of a pair, or of the law that gives the restitution.

    Raises
    ------
    CaseError
        If the case has no such table, or the law has no such input.
    """
    way, _, last = key.rpartition(".")
    table, _, _ = entry_at(dict(case), way)
    law = table.get("law") if isinstance(table, Mapping) else getattr(table, "law", None)
    law = dict(case)["contact"].law if isinstance(table, PairTable) else law
    if law not in laws():
        raise CaseError(
            f"{key}: key not found. It must be a key of the case with a number, such as "
            "contact.psi."
        )
    inputs = {quantity.name: quantity for quantity in laws()[str(law)].inputs}
    if last not in inputs:
        names = f"are {', '.join(inputs)}" if inputs else "do not exist"
        requirement, fix = f"The inputs of {law} {names}", suggestion(last, inputs, "")
        raise CaseError(error_text(key, "unknown input", requirement, fix))
    return inputs[last]


def value_at(case: Table, key: str) -> float:
    """Return the number at a key of a case, given or by default.

    Raises
    ------
    CaseError
        If the value is not a number.
    """
    quantity = quantity_of(case, key)
    value, _, _ = entry_at(dict(case), key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        requirement = f"The case must contain {quantity.meaning}, {quantity.range}"
        raise CaseError(error_text(key, rejected(value), requirement))
    return float(value)


def texts_of_values(case: Table, key: str, values: Sequence[Any]) -> list[str]:
    """Return values of a key as text; a table as the keys in which it differs from the others."""
    values = names_of_materials(values)
    rows = [
        dict(flattened({name: _named(entry) for name, entry in value.items()}))
        if isinstance(value, Mapping)
        else {}
        for value in values
    ]
    tables = [row for row in rows if row]
    names = dict.fromkeys(name for row in tables for name in row)
    differing = {
        name for name in names if any(row.get(name) != tables[0].get(name) for row in tables)
    }
    return [
        ", ".join(
            _text_of_value(value, about_key(case, f"{key}.{name}")[0], f"{name} = ")
            for name, value in row.items()
            if name in differing or differing.isdisjoint(row)
        )
        or _text_of_value(value)
        for row, value in zip(rows, values, strict=True)
    ]


def _named(value: Any) -> Any:
    """Return a value with the name of each material that has one."""
    if not isinstance(value, Mapping):
        return value
    return value.get("name") or {name: _named(entry) for name, entry in value.items()}


def _text_of_value(value: Any, unit: str = "", before: str = "") -> str:
    """Return a value as text, with the unit of a number; a text has its unit."""
    if isinstance(value, str):
        return before + value
    text = f"{value:.12g}" if isinstance(value, float) else canonical(value)
    return before + text + f" {unit}" * (unit not in ("", "1"))


def about_key(case: Table, key: str) -> tuple[str, str]:
    """Return the unit and the description of a key of a case."""
    if of_contact(key):
        # raises an error for `law` itself, and for inputs of other laws in a study of laws
        with contextlib.suppress(CaseError):
            quantity = law_input(case, key)
            return quantity.unit, quantity.meaning
    about = declared_at(case, key)
    if about is None:
        return "", f"of the case: {key}"
    return about["unit"] or "", about["description"]
