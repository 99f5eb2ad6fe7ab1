"""A case: the complete and checked input of a run, read from TOML, changed, and saved.

All errors of a case are found when it is made and are reported together, each with location,
problem, requirement, and fix. `tables` declares the keys; `checks` compares them with each other.
The text of a case has the keys that the author gave, and the completed values as comments. It loads
to an equal case.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from pydantic import BaseModel, PrivateAttr, ValidationInfo, create_model, model_validator

from granchain.case.checks import (
    PER_BODY,
    PER_STATE,
    bodies_in,
    check_state,
    check_together,
    law_values,
    memory_estimates,
    read_own_contacts,
    read_pairs,
    tolerances_of,
)
from granchain.case.document import (
    CASE_BYTES,
    CASES,
    MECHANISMS,
    PUBLISHED,
    case_files,
    change,
    digest_of_case,
    plain_tables,
    read_document,
    toml_text,
)
from granchain.case.signals import Drive, lists_in_place_of_files, signal_table, table_of_lists
from granchain.case.start import (
    StoredState,
    drive_clock,
    drives_in,
    fastest_closing,
    moves,
    read_initial,
    state_in,
    state_text_of,
)
from granchain.case.tables import (
    BeadDriveTable,
    ChainContactTable,
    ChainTable,
    DriveTable,
    EndsTable,
    EnergyTable,
    HeadingTable,
    InitialTable,
    SensorsTable,
    SnapshotsTable,
    StrikerTable,
    TimeTable,
    ToleranceTable,
    bead_values,
    body_of,
    own_contacts_in,
    with_values,
)
from granchain.contact import laws
from granchain.errors import CaseError
from granchain.keys import (
    Problems,
    Table,
    add_missing,
    brief,
    declared,
    key,
    read_table,
)
from granchain.material import Material

# Maximum length of a line of a printed case [characters].
LINE = 160
# Maximum number of rows of a drive in the text of a case file (our choice).
MOST_DRIVE_ROWS = 100


class CheckedCase(Table):
    """Tables of a case, complete, checked, and frozen.

    The validation context may contain the `folder` of the files that the case names (None if it
    may not name any), the text of the `state` that it starts from, `problems` found so far, and the
    `toml` text.
    """

    # Keys that exclude each other: if one is changed, the other is removed.
    alternatives: ClassVar[Mapping[str, str]] = {}
    # Labels of the numbers that `measure` reads from the result of a mechanism. They are empty for
    # a chain, which distinguishes the two kinds of cases.
    measured: ClassVar[Mapping[str, Any]] = {}

    # Tables as the author gave them, with the content of files that they name.
    _document: dict[str, Any] = PrivateAttr(default_factory=dict)
    _toml: str = PrivateAttr(default="")
    _folder: Path | None = PrivateAttr(default=None)
    _state: str = PrivateAttr(default="")

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, document: Any, handler: Any, info: ValidationInfo) -> Self:
        """Make a case from its tables, or raise CaseError with all errors."""
        if isinstance(document, cls):
            return document
        if not isinstance(document, (Mapping, BaseModel)):
            raise CaseError(
                f"case: {brief(document)} is not valid. Give the tables of a case file."
            )
        context = {"folder": Path(), "state": "", "toml": "", **(info.context or {})}
        problems = context.get("problems") or Problems()
        # Only the names of unknown tables are read.
        names = [*HeadingTable.model_fields, *cls.model_fields]
        known_tables = {name: value for name, value in dict(document).items() if name in names}
        for name in (name for name in dict(document) if name not in known_tables):
            problems.add_unknown(str(name), names)
        plain = plain_tables(known_tables, problems)
        keys = lists_in_place_of_files(plain, context["folder"], problems)
        tables = cls._tables(keys, problems)
        state = cls._complete_and_check(tables, keys, context["folder"], context["state"], problems)
        problems.close()
        case: Self = handler(tables)
        # pydantic takes 2 us to set a private attribute by its name
        private: Any = case.__pydantic_private__
        toml = context["toml"] if keys == plain else ""
        private |= {"_document": keys, "_state": state, "_folder": context["folder"], "_toml": toml}
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
    def _complete_and_check(
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
        `initial=result` resumes from the end of a run.

        Raises
        ------
        CaseError
            If the changed case is invalid. The message lists every error.
        """
        if changes is not None and not isinstance(changes, Mapping):
            raise CaseError(
                f"replace: {brief(changes)} is not a mapping of keys to values. Write for example "
                'case.replace({"striker.speed": 2.0}).'
            )
        changes = {str(where): value for where, value in {**(changes or {}), **keys}.items()}
        if hasattr(changes.get("initial"), "variables"):
            changes["initial"] = {"state": state_text_of(changes["initial"])}
        document, problems = dict(self._document), Problems()
        # a change may also remove the alternative of its key, which can be in another table
        changed = (*changes, *(self.alternatives.get(where, where) for where in changes))
        for name in {where.partition(".")[0].strip() for where in changed} & document.keys():
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
        return str(self._document.get("title", ""))

    @property
    def toml(self) -> str:
        """Text of a case file that loads to an equal case.

        If the case was read from a file and not changed, this is the text of the file with its
        comments.
        """
        return self._toml or toml_text(self._document, self.resolved())

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
        # Imported here because only saving a case needs this higher layer.
        from granchain.store.files import check_target, write_atomically

        target, tables, files = Path(path), copy.deepcopy(self._document), {}
        for where, table in getattr(self, "drives", {}).items():
            if table.time is not None and len(table.time) > MOST_DRIVE_ROWS:
                name = f"{target.stem}.{where}.csv"
                rows = [f"{t!r},{x!r}\n" for t, x in zip(table.time, table.value, strict=True)]
                files[name] = "time,value\n" + "".join(rows)
                kind, _, key = where.partition(".")
                drive = tables[kind][key if kind == "ends" else int(key)]
                del drive["time"], drive["value"]
                drive["file"] = name
        if self._state:
            name = f"{target.stem}.initial.state"
            files[name] = self._state
            tables["initial"]["file"] = name
        text = toml_text(tables, self.resolved())
        if len(text.encode()) > CASE_BYTES:
            # The completed values are only comments, so they can be left out.
            text = toml_text(tables)
        if len(text.encode()) > CASE_BYTES:
            raise CaseError(
                f"case: its text has {len(text.encode())} bytes. A case file may have "
                f"{CASE_BYTES}. Give the long lists in files that the case names."
            )
        contents = {
            name: content.encode() for name, content in (files | {target.name: text}).items()
        }
        for name in contents:
            check_target(target.with_name(name), overwrite)
        for name, content in contents.items():
            write_atomically(target.with_name(name), content, overwrite)

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
        from granchain.markup import card, escaped

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
        return {"title": self.title, **self.plain()}

    def plain(self) -> dict[str, Any]:
        """Return all tables as plain data, without None and without the title."""
        # pydantic would warn about a material, which differs from the table that declares it
        return self.model_dump(mode="json", exclude_none=True, warnings=False)


@cache
def _reader(kind: type[CheckedCase]) -> type[Table]:
    """Return a table with the title and all tables of a case, of which none is required.

    With it, all other tables are read and checked even if a required table is missing.
    """
    keys: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        about = declared(kind, name)
        optional = key(about["meaning"], about["allowed"], None)
        made_optional = field.annotation | None, optional  # type: ignore[operator]
        keys[name] = made_optional if field.is_required() else (field.annotation, field)
    return create_model(kind.__name__, __base__=HeadingTable, **keys)


AnyCase = TypeVar("AnyCase", bound=CheckedCase)


class Case(CheckedCase):
    """Input of a run: complete, checked, and read-only.

    Make a case with `load_case`, with `Case(**tables)` from the tables of a case file, or from
    another case with `replace`. The tables and keys of the case file are its attributes, such as
    `case.chain.radius`, `case.striker.speed`, `case.contact.law`. A table that is left out is None,
    or has its default values.

    Raises
    ------
    CaseError
        If the case is invalid. The message lists every error.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace(**{"striker.speed": 2.5})
    >>> case.striker.speed
    2.5
    """

    chain: ChainTable = key("the chain of beads", "a table [chain]")
    striker: StrikerTable | None = key("the striker", "a table [striker]", None)
    initial: InitialTable | None = key("the initial motion of the beads", "a table [initial]", None)
    ends: EndsTable = key("the ends of the chain", "a table [ends]", EndsTable())
    drive: tuple[BeadDriveTable, ...] = key(
        "the driven beads", "tables [[drive]]", (), strict=False
    )
    contact: ChainContactTable = key("the contact law", "a table [contact]")
    sensors: SensorsTable = key("the recorded data", "a table [sensors]", SensorsTable())
    snapshots: SnapshotsTable | None = key("the snapshots", "a table [snapshots]", None)
    energy: EnergyTable = key("the energy balance", "a table [energy]", EnergyTable())
    time: TimeTable = key("the end of the run", "a table [time]")
    tolerance: ToleranceTable | None = key(
        "the uncertainties of its parameters", "a table [tolerance]", None
    )

    @classmethod
    def _complete_and_check(
        cls,
        tables: dict[str, Any],
        keys: dict[str, Any],
        folder: Path | None,
        state: str,
        problems: Problems,
    ) -> str:
        if "contact" in tables and problems.clear("contact.law"):
            inputs = dict(keys["contact"])
            pairs = inputs.pop("pair", None)
            values = law_values("contact", inputs, problems)
            law = laws().get(values["law"])
            tables["contact"] = ChainContactTable(**values, pair=read_pairs(pairs, law, problems))
        read_own_contacts(tables, problems)
        if tables.get("tolerance") is not None:
            tolerances = tolerances_of(tables["tolerance"], "tolerance", problems)
            tables["tolerance"] = ToleranceTable(**tolerances)
        complete(tables, keys)
        start, has_initial = "", tables.get("initial") is not None and "chain" in tables
        if (
            has_initial
            and problems.readable("chain.beads", "chain.segment")
            and problems.clear("initial")
        ):
            start = read_initial(tables, keys, folder, state, problems)
        resumes = getattr(tables.get("initial"), "state", None) is not None
        check_together(tables, resumes, problems)
        needed = ("chain", "striker", "ends", "drive", "contact", "initial", "time.end")
        if start and cls.model_fields.keys() <= tables.keys() and problems.clear(*needed):
            case = cls.model_construct(**tables)
            case._state = start
            check_state(case, problems)
        return start

    @property
    def beads(self) -> int:
        """Number of beads, without the striker."""
        return self.chain.total()

    @property
    def memory(self) -> float:
        """Estimated memory of a run [bytes], from the counts alone."""
        return sum(size for size, *_ in memory_estimates(dict(self)))

    @property
    def file_size(self) -> float:
        """Upper limit of the size of the output file [bytes], before compression.

        Estimated from the counts alone: recorded data, bodies, and the final state.
        """
        tables, law = dict(self), laws().get(self.contact.law)
        # the final state, and the state that the run starts from, which the case contains
        states = 1 if self.stored_state is None else 2
        history = 0 if law is None else len(law.history)
        each = PER_BODY + history + states * (PER_STATE + history)
        # the first estimate is the memory of the bodies, which the file stores in another form
        recorded = sum(size for size, *_ in memory_estimates(tables)[1:])
        # there is one contact more than bodies if there are two walls
        return recorded + 8.0 * each * (bodies_in(tables) + 1)

    def bodies(self) -> dict[str, Any]:
        """Return the properties of all bodies: the striker, if any, then the beads.

        Returns
        -------
        dict
            radius [m], mass [kg], speed [m/s], displacement [m], drag [1/s], on_site_stiffness
            [N/m], on_site_damping [kg/s]: (n_bodies,) arrays;
            gap [m]: (n_bodies - 1,) array; material: list of Material.
        """
        chain = self.chain
        arrays = {
            "radius": chain.of_each("radius"),
            "mass": chain.of_each("mass"),
            "speed": bead_values("velocity", chain, self.initial),
            "displacement": bead_values("displacement", chain, self.initial),
            **{
                name: chain.of_each(name)
                for name in ("drag", "on_site_stiffness", "on_site_damping")
            },
            "gap": chain.of_each("gap")[:-1],
        }
        material: list[Any] = [
            segment.material
            for repeat, group in chain.groups()
            for segment in group * repeat
            for _ in range(segment.count)
        ]
        size = chain.size_factors()
        arrays["radius"] *= size
        arrays["mass"] *= size * size * size
        arrays["mass"] *= np.array(chain.mass_factor or 1.0)
        arrays["gap"] += np.array(chain.gap_added or 0.0)
        if chain.modulus_factor is not None:
            material = [
                replace(unscaled, youngs_modulus=unscaled.youngs_modulus * factor)
                for unscaled, factor in zip(material, chain.modulus_factor, strict=True)
            ]
        if self.striker is not None:
            striker = self.striker
            # a striker has no displacement, drag, or on-site spring, and touches the first bead
            first = (striker.radius, striker.mass, striker.speed, *[0.0] * (len(arrays) - 3))
            for (name, beads), value in zip(arrays.items(), first, strict=True):
                arrays[name] = np.concatenate([[value], beads])
            material.insert(0, striker.material)
        return {**arrays, "material": material}

    def law_inputs(self) -> SimpleNamespace:
        """Return the value of each input of the law, in SI units.

        The inputs apply to all contacts except those of `pair_inputs`. A restitution that is taken
        from another law remains a table.
        """
        return self._with_impact_speed(self.contact.inputs())

    def pair_inputs(self) -> list[tuple[tuple[str, str], SimpleNamespace]]:
        """Return the materials and `law_inputs` of each pair with individual inputs."""
        return [
            (pair.materials, self._with_impact_speed(self.contact.inputs() | pair.inputs()))
            for pair in self.contact.pair or ()
        ]

    def own_contacts(self) -> list[tuple[np.ndarray, str, SimpleNamespace]]:
        """Return the contacts within segments and at walls that have an individual law.

        Each entry is a mask of the contacts, (n_bodies + 1,) boolean, the name of the law, and the
        values of its inputs.
        """
        first_body = 0 if self.striker is None else 1
        segments, n = (
            [segment for _, segment in self.chain.keyed_segments()],
            self.beads + first_body,
        )
        inside = [segment.contact for segment in segments]
        laws_of = [*inside, self.ends.left_contact, self.ends.right_contact]
        numbers = {id(segment): number for number, segment in enumerate(segments)}
        # Index of the individual law of each contact; -1 if it has none.
        which = np.full(n + 1, -1)
        which[[0, n]] = len(segments), len(segments) + 1
        for repeat, group in self.chain.groups() if any(inside) else ():
            for _, segment in product(range(repeat), group):
                which[first_body + 1 : first_body + segment.count] = numbers[id(segment)]
                first_body += segment.count
        return [
            (which == number, contact.law, self._with_impact_speed(contact.inputs()))
            for number, contact in enumerate(laws_of)
            if contact is not None and number in which
        ]

    def _with_impact_speed(self, inputs: dict[str, Any]) -> SimpleNamespace:
        """Return inputs of a law in which impact_speed = "striker" is replaced by a speed [m/s].

        Without a striker, it is the fastest approach of two neighbours at the start.
        """
        if inputs.get("impact_speed") == "striker":
            inputs["impact_speed"] = (
                fastest_closing(dict(self)) if self.striker is None else self.striker.speed
            )
        return SimpleNamespace(**inputs)

    @property
    def law(self) -> str:
        """Contact laws of the chain, separated by commas."""
        others = (contact.law for _, contact in own_contacts_in(dict(self)))
        return ", ".join(dict.fromkeys([self.contact.law, *others]))

    @property
    def laws(self) -> list[tuple[str, bool]]:
        """Names of the laws in use, each with its input `as_printed`.

        These are the laws of the contacts and the laws that restitutions are taken from.
        """
        contacts = [self.contact, *(contact for _, contact in own_contacts_in(dict(self)))]
        shared, *individual = ({"law": contact.law, **contact.inputs()} for contact in contacts)
        pairs = [pair.inputs() for pair in self.contact.pair or ()]
        others = [inputs.get("restitution") for inputs in (shared, *pairs, *individual)]
        tables = [shared, *individual, *(other for other in others if isinstance(other, Mapping))]
        return list(dict.fromkeys((t["law"], bool(t.get("as_printed", False))) for t in tables))

    @property
    def begins_with_striker(self) -> bool:
        """True if only the striker moves at the start, and no bead is displaced."""
        return self.striker is not None and not moves(self.chain, self.initial)

    @property
    def drives(self) -> dict[str, DriveTable]:
        """Tables of driven ends and beads, by key, such as "ends.left" and "drive.0"."""
        return drives_in(dict(self))

    @property
    def driven_without_pulse(self) -> str:
        """Signal ("harmonic", "chirp", or "noise") that drives a chain from rest.

        Empty if a striker or an initial motion is present, or if there is no such signal.
        """
        if self.striker is not None or moves(self.chain, self.initial):
            return ""
        signals = [end.signal for end in self.drives.values()]
        return next((str(signal) for signal in signals if signal not in (None, "pulse")), "")

    def driven(self, where: str, own_clock: bool = False) -> Drive:
        """Return a drive versus time, by its key, such as "ends.left" or "drive.0".

        A signal has the exact slopes of its closed form. Time 0 is the start of the drive. With
        `own_clock`, time 0 is the start of this run, which is later than the start of a drive that
        continues.
        """
        if own_clock:
            drive = self.driven(where)
            return drive._replace(time=drive.time - drive_clock(self, where)[1])
        end = self.drives.get(where)
        if end is None:
            raise CaseError(
                f"{brief(where)[1:-1]}: drive not found. The drives of this case are "
                f"{', '.join(self.drives) or 'none'}. To add one, set it to a table "
                "{ drive, file }."
            )
        if end.signal is None:
            return table_of_lists(end)
        _, before, period = drive_clock(self, where)
        return signal_table(end, self.time.end + before, period)

    @property
    def stored_state(self) -> StoredState | None:
        """State that the run resumes from; None if it starts without one."""
        return state_in(self._state) if self._state else None


def complete(tables: dict[str, Any], keys: Mapping[str, Any]) -> None:
    """Complete the chain and the striker in the tables of a case."""
    chain, striker = tables.get("chain"), tables.get("striker")
    if chain is not None:
        chain = tables["chain"] = chain.completed(keys["chain"])
        if striker is not None:
            first = chain.segment[0] if chain.segment else chain
            tables["striker"] = with_values(striker, body_of(striker, keys["striker"], first))


def with_numbers(case: AnyCase, changes: Mapping[str, Any]) -> AnyCase:
    """Return a case with other numbers, or lists of numbers, without a new check.

    The keys must be independent of all others, and the case must have values for them.
    """
    nested: dict[str, Any] = {}
    for where, value in changes.items():
        *path, name = map(str.strip, where.split("."))
        table = nested
        for word in path:
            table = table.setdefault(word, {})
        table[name] = value
    changed = case.model_copy()
    # pydantic takes 2 us for each access to a private attribute by its name.
    private: Any = changed.__pydantic_private__
    private |= {"_document": _tables_with_values(private["_document"], nested), "_toml": ""}
    tables = _tables_with_values(changed.__dict__, nested)
    if "chain" in nested or "striker" in nested:
        complete(tables, private["_document"])
    changed.__dict__.update(tables)
    return changed


def _tables_with_values(tables: Any, changes: Mapping[str, Any]) -> Any:
    """Return a copy of nested tables with other values."""
    if isinstance(tables, (list, tuple)):
        return type(tables)(
            _tables_with_values(entry, changes[str(index)]) if str(index) in changes else entry
            for index, entry in enumerate(tables)
        )
    is_plain = isinstance(tables, dict)
    values: dict[str, Any] = {}
    for name, value in changes.items():
        if isinstance(value, dict):
            value = _tables_with_values(tables[name] if is_plain else getattr(tables, name), value)
        # lists are tuples in the tables of a case
        values[name] = tuple(value) if isinstance(value, list) and not is_plain else value
    if is_plain:
        return tables | values
    if isinstance(tables, Material):
        return replace(tables, **values)
    return tables.model_copy(update=values)


def check_case(case: Any, kind: type[CheckedCase] = Case) -> None:
    """Reject an object that is not a case, such as the path of a case file."""
    if not isinstance(case, kind):
        got = brief(case) if isinstance(case, str) else type(case).__name__
        name, loader = ("MechanismCase", "mechanism") if kind.measured else ("Case", "case")
        raise CaseError(f"case: {got} is not a {name}. Make one with granchain.load_{loader}.")


def check_fixed_ends(case: Case, what: str) -> None:
    """Reject a case with a compliant end; `what` cannot be computed for it."""
    for side in case.ends.compliant():
        raise CaseError(
            f"ends.{side}: {what} cannot be computed for a chain with a compliant end. The end "
            'must be "free", "wall", or "rigid". Change it.'
        )


def load_case(name: str | Path, overrides: Iterable[str] = ()) -> Case:
    """Read a case.

    Parameters
    ----------
    name : str or Path
        A built-in case (`case_names()`), or the path of a TOML file.
    overrides : iterable of str
        Changes, each "KEY=VALUE" as on the command line, such as "striker.speed=2.5". A new contact
        law drops the inputs that it does not know, unless they are named here.

    Raises
    ------
    CaseError
        If the case is invalid. The message lists every error.
    FileError
        If a file cannot be read.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain", ["striker.speed=2.5"])
    >>> case.striker.speed
    2.5
    """
    built_in, loader = case_files(CASES, PUBLISHED, MECHANISMS), ("load_case", "Case(**tables)")
    path, document, context = read_document(name, built_in, overrides, loader, "contact.psi=2.9")
    if "mechanism" in document and "chain" not in document:
        raise CaseError(
            f"case: {brief(path.name)} is a mechanism. It must be a chain of beads. Run it with "
            f'"granchain mechanism {brief(str(name))[1:-1]}".'
        )
    return Case.model_validate(document, context={**context, "folder": path.parent})


def case_as_given(stored: Mapping[str, Any], toml: str = "") -> Case:
    """Restore a case from the result of `as_given()` and its original text.

    Raises
    ------
    CaseError
        If this version rejects the case, for example because a law is not installed.
    """
    context = {"folder": None, "state": stored.get("state", ""), "toml": toml}
    return Case.model_validate(stored["tables"], context=context)
