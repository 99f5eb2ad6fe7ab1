"""Checks of a case: first the keys of each table, then the tables against each other.

All errors are reported together.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, PrivateAttr, ValidationInfo, create_model, model_validator

from granchain.case.document import change, digest_of_case, plain_tables
from granchain.case.drives import lists_in_place_of_files
from granchain.case.saving import save_case, text_of_case
from granchain.case.tables import HeadingTable
from granchain.contact.inputs import Slip, chosen, filled
from granchain.errors import CaseError
from granchain.keys import (
    Problems,
    Table,
    add_missing,
    declared,
    in_si,
    key,
    read_table,
    rejected,
    shown,
)
from granchain.markup import card, escaped

# Maximum length of a line of a printed case [characters].
LINE = 160


class CheckedCase(Table):
    """Tables of a case, complete, checked, and frozen.

    The validation context may contain the `folder` of the files that the case names (None if it
    may not name any), the text of the `state` that it starts from, `problems` found so far, and the
    `toml` text.
    """

    # Keys that determine each other: a change of one removes the other.
    alternatives: ClassVar[Mapping[str, str]] = {}
    # Labels of the numbers that `measure` reads from a result, of cases that run alone.
    measured: ClassVar[Mapping[str, Any]] = {}

    # Tables as the author gave them, with the content of files that they name.
    _document: dict[str, Any] = PrivateAttr(default_factory=dict)
    _toml: str = PrivateAttr(default="")
    _folder: Path | None = PrivateAttr(default=None)
    _state: str = PrivateAttr(default="")

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, document: Any, handler: Any, info: ValidationInfo) -> Self:
        if isinstance(document, cls):
            return document
        if not isinstance(document, (Mapping, BaseModel)):
            raise CaseError(
                f"case: {shown(document)} is not valid. Give the tables of a case file."
            )
        context = {"folder": Path(), "state": "", "toml": "", **(info.context or {})}
        problems = context.get("problems") or Problems()
        # Only the names of unknown tables are read.
        names = [*HeadingTable.model_fields, *cls.model_fields]
        known = {name: value for name, value in dict(document).items() if name in names}
        for name in (name for name in dict(document) if name not in known):
            problems.add_unknown(str(name), names)
        plain = plain_tables(known, problems)
        keys = lists_in_place_of_files(plain, context["folder"], problems)
        tables = cls._tables(keys, problems)
        state = cls._across(tables, keys, context["folder"], context["state"], problems)
        problems.close()
        case: Self = handler(tables)
        case._document, case._state, case._folder = keys, state, context["folder"]
        case._toml = context["toml"] if keys == plain else ""
        return case

    @classmethod
    def _tables(cls, document: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
        """Read the tables and fill in defaults; leave out unreadable tables that are required."""
        read, required = read_table(_reader(cls), "", document, problems), []
        for name, field in cls.model_fields.items():
            if field.is_required():
                required.append(name)
                if name not in document:
                    add_missing(cls, name, name, problems)
        return {
            name: table
            for name in cls.model_fields
            if (table := getattr(read, name)) is not None or name not in required
        }

    @classmethod
    def _across(
        cls,
        tables: dict[str, Any],
        keys: dict[str, Any],
        folder: Path | None,
        state: str,
        problems: Problems,
    ) -> str:
        """Complete the tables and check them together; return the state that the case starts from.

        A file with the initial state is replaced in `keys`, the tables as the author gave them.
        """
        raise NotImplementedError

    def replace(self, changes: Mapping[str, Any] | None = None, /, **keys: Any) -> Self:
        """Return a changed case: `case.replace({"contact.law": "flores"})`.

        The changes are a mapping of keys to values, or keyword arguments. None removes a key. A
        new contact law drops the inputs that it does not know, unless they are named in this call.

        Raises
        ------
        CaseError
            If the changed case is invalid. The message lists every error.
        """
        changes = changes_of(changes, keys)
        document, problems = dict(self._document), Problems()
        for name in {where.partition(".")[0].strip() for where in changes} & document.keys():
            document[name] = copy.deepcopy(document[name])
        # a copy, because a table in it may be changed by a later key
        change(document, copy.deepcopy(changes), problems, self.alternatives)
        folder = Path() if self._folder is None else self._folder
        context = {"folder": folder, "state": self._state, "problems": problems}
        case = type(self).model_validate(document, context=context)
        # Equal tables are shared, so that all members of an ensemble use the arrays of one chain.
        case.__dict__.update({name: table for name, table in self if case.__dict__[name] == table})
        return case

    @property
    def title(self) -> str:
        """Title that the author gave, in one line."""
        title: str = self._document.get("title", "")
        return title

    @property
    def toml(self) -> str:
        """Text of a case file that loads to an equal case.

        If the case was read from a file and not changed, this is the text of the file with its
        comments.
        """
        return self._toml or text_of_case(self)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write a case file that loads to an equal case.

        Drives with many rows and the initial state are written to files next to it.

        Parameters
        ----------
        path : str or path
            Name of the case file, such as `mine.toml`.
        overwrite : bool
            Overwrite existing files.

        Raises
        ------
        CaseError
            If the text is longer than a case file may be.
        FileError
            If a file exists, or cannot be written.
        """
        save_case(self, path, overwrite)

    @property
    def sha256(self) -> str:
        """SHA-256 digest of `resolved()`, without keys that do not affect results."""
        return digest_of_case(self.resolved())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.resolved() == other.resolved()

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title or 'untitled'}>"

    def __str__(self) -> str:
        """Return the text of the case with short lines."""
        lines = self.toml.rstrip("\n").split("\n")
        return "\n".join(f"{line[:LINE]} ..." if len(line) > LINE else line for line in lines)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: the text of the case."""
        return card(self.title or "untitled case", f"<pre>{escaped(str(self))}</pre>")

    def as_given(self) -> dict[str, Any]:
        """Return the case as it is stored; `case_as_given` restores it.

        Returns
        -------
        dict
            tables: the tables as the author gave them; state: text of the state that the run
            starts from, if any.
        """
        return {"tables": self._document, **({"state": self._state} if self._state else {})}

    def resolved(self) -> dict[str, Any]:
        """Return all tables as plain data, in SI units, with all completed values."""
        return {"title": self.title, **plain_tables(self, Problems())}


def changes_of(changes: Any, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of `replace`, a mapping and keywords, as one dictionary."""
    if changes is not None and not isinstance(changes, Mapping):
        raise CaseError(
            f"replace: {shown(changes)} is not a mapping of keys to values. Write for example "
            'case.replace({"striker.speed": 2.0}).'
        )
    return {**(changes or {}), **keys}


@cache
def _reader(kind: type[CheckedCase]) -> type[Table]:
    """Return a table with the title and all tables of a case, which are optional."""
    keys: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        about = declared(kind, name)
        optional = key(about["meaning"], about["allowed"], None)
        required = field.annotation | None, optional  # type: ignore[operator]
        keys[name] = required if field.is_required() else (field.annotation, field)
    return create_model(kind.__name__, __base__=HeadingTable, **keys)


def law_values(where: str, table: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """Return the name and inputs of a contact law, in SI units, with defaults."""
    law = chosen(table.get("law"))
    if isinstance(law, Slip):
        add_slips(where, [law], ["law"], problems)
        return {"law": ""}
    inputs = {name: value for name, value in table.items() if name != "law"}
    values, slips = filled(law, inputs, in_si)
    add_slips(where, slips, ["law"], problems)
    return {"law": law.name, **values}


def add_slips(where: str, slips: list[Slip], names: list[str], problems: Problems) -> None:
    """Report errors in the inputs of a law; suggest also the other keys in `names`."""
    for slip in slips:
        place = f"{where}.{slip.place}"
        if slip.unknown:
            problems.add_unknown(place, [*names, *slip.words], slip.fix)
        else:
            problems.add(
                place, rejected(slip.value), slip.requirement, slip.fix, slip.value, slip.words
            )
