"""Answers: labelled variables with messages, the case, and provenance. They open from files."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from granchain.case.document import digest_of_case
from granchain.case.start import arrays_of_state, text_of_state
from granchain.contact.law import Quantity
from granchain.errors import (
    CaseError,
    FileError,
    GranchainError,
    GranchainWarning,
    LawError,
    nearest,
)
from granchain.markup import facts_card, text_table
from granchain.plain_data import canonical, plain_data
from granchain.status import STATUS_OF_LABEL, Message, Status
from granchain.store.dataset import (
    COUNTED,
    STATES,
    UNSHARED,
    Choice,
    Content,
    OpenedFile,
    dataset_in,
    dataset_of,
    headers_of,
    messages_of,
    open_hdf5,
    provenance_of,
    read_content,
    write_content,
)
from granchain.store.files import LARGEST_FILE, RefusedError, claim, no_progress, quoted, refusing
from granchain.store.schema import (
    CATEGORICAL,
    CONTENT,
    ENSEMBLE,
    FORMAT,
    LABELS,
    NO_YES,
    SPARSE,
    STUDY,
    VARIABLES,
    Label,
    Unread,
    Variable,
    as_stored,
    check_axes,
    data_sha256,
    entries_of,
    granchain_version,
    holds_nan,
    labelled,
    real_parts,
    source_hash,
    unit_of_attributes,
    variable_table,
    versions,
    what_to_ask_for,
)
from granchain.store.tables import (
    html_tables,
    plain_variable,
    range_table,
    value_tables,
)

if TYPE_CHECKING:
    import xarray

# Messages that a notebook shows.
MESSAGES_IN_NOTEBOOK = 3
# Largest number of rows of a table of text.
MOST_TEXT_ROWS = 40


class Answer:
    """Labelled variables with messages, the case, and provenance.

    The variables are attributes, with the names of the file. A variable without axes is a number,
    a truth value, or a text; the others are NumPy arrays. `answer["striker.speed"]` is the variable
    of a key of the case. Subclasses declare their variables in `labels`.

    Parameters
    ----------
    data : mapping of str to array
        Variables, in any order.
    case : Case, optional
        Case of the answer.
    law : str
        Contact law, or several laws, separated by commas. Default: the law of the case.
    title : str
        Title. Default: the title of the case.
    messages : sequence of str
        Notes.
    labels : mapping of str to Label, optional
        Labels of variables that the class does not declare, such as those of keys.
    provenance : mapping, optional
        Entries in addition to those that are added automatically.
    groups : mapping of str to Answer, optional
        Answers inside this one.

    Raises
    ------
    ValueError
        If names, axes, and lengths do not match.
    """

    labels: ClassVar[Mapping[str, Label]] = {}
    variables: dict[str, Variable]
    unread: dict[str, Unread]
    groups: dict[str, Any]
    messages: Sequence[Any]
    _case: Any = None
    # file that the answer was read from
    _path = ""
    # states that the file stores in groups, not in the text of the case
    _states: tuple[str, ...] = ()
    _initial_state: Mapping[str, Any] | None = None

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        case: Any = None,
        law: str | None = None,
        title: str | None = None,
        messages: Sequence[str] = (),
        labels: Mapping[str, Label] | None = None,
        provenance: Mapping[str, Any] | None = None,
        groups: Mapping[str, Any] | None = None,
    ):
        variables = labelled(data, {**self.labels, **(labels or {})})
        self.variables = {name: variables[name] for name in self._ordered(variables, {})}
        self._begin(case, law, title, messages, provenance)
        self.groups = dict(groups or {})

    def _begin(
        self,
        case: Any,
        law: str | None,
        title: str | None,
        messages: Sequence[Any],
        provenance: Mapping[str, Any] | None,
    ) -> None:
        """Store what every answer has in addition to its variables."""
        self._case, self.unread, self.groups = case, {}, {}
        self.law = storable((case.law if case is not None else "") if law is None else law)
        self.title = storable(getattr(case, "title", "") or "" if title is None else title)
        self.messages = tuple(messages)
        self._given_provenance = {
            name: storable(value) if isinstance(value, str) else float(value)
            for name, value in (provenance or {}).items()
        }

    def __getattr__(self, name: str) -> Any:
        variables = self.__dict__.get("variables", {})
        if name in variables:
            return self[name]
        if f"{name}_real" in variables:
            return self[f"{name}_real"] + 1j * self[f"{name}_imag"]
        if name.startswith("_"):
            raise AttributeError(name)
        if hasattr(type(self), name):
            # a property raised this AttributeError, so raise it again
            return object.__getattribute__(self, name)
        if name in self.__dict__.get("unread", {}):
            raise AttributeError(
                f"{name} was not read from the file. To read all variables, use "
                "granchain.open(FILE)."
            )
        raise AttributeError(self._advice(name))

    def __getitem__(self, name: str) -> Any:
        variable = self.variables[name]
        return variable.data if variable.dims else variable.data.item()

    def _advice(self, name: str) -> str:
        """Explain that there is no variable of a name."""
        near = nearest(name, [*self.variables, *dir(type(self))])
        return f"{type(self).__name__} has no variable {name}." + (
            f" Did you mean {near}?" if near else f" It has {', '.join(self.variables)}."
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.variables})

    def _lengths(self) -> str:
        """Return the axes with their lengths."""
        return ", ".join(
            f"{name} {len(v.data)}" for name, v in self.variables.items() if v.dims == (name,)
        )

    def __repr__(self) -> str:
        more = [f"{name} {value}" for name, value in self._more_attributes().items()]
        facts = filter(None, (self.title, self.law, *more, self._lengths()))
        return f"<{type(self).__name__}: {'; '.join(facts)}>"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: messages, values, and the list of variables."""
        sections = html_tables(self.variables, self.unread)
        return facts_card(self.title or type(self).__name__, self._facts(), *sections)

    def _facts(self) -> list[tuple[str, str]]:
        """Return the facts that a notebook shows above the tables."""
        facts = [("contact law", self.law)] if self.law else []
        texts = [getattr(message, "text", message) for message in self.messages]
        return facts + [("message", str(text)) for text in texts[:MESSAGES_IN_NOTEBOOK]]

    def table(self) -> str:
        """Return the values as tables of text, with at most six columns.

        The last table contains the ranges of the variables that have too many values.
        """
        tables = [
            *value_tables(self.variables, MOST_TEXT_ROWS),
            range_table(self.variables, MOST_TEXT_ROWS),
        ]
        return "\n\n".join(text_table([each.columns, *each.rows]) for each in tables if each.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON.

        Every variable with up to 200 values is included under its name. Longer variables are
        replaced by their shape, unit, minimum, and maximum. Numbers that are not finite are None.
        """
        texts = [str(getattr(message, "text", message)) for message in self.messages]
        return {
            "content": type(self).__name__,
            "title": self.title,
            "law": self.law,
            **self._more_attributes(),
            **{name: plain_variable(v) for name, v in self.variables.items()},
            **{name: answer.as_dict() for name, answer in self.groups.items()},
            "messages": texts,
        }

    @property
    def case(self) -> Any:
        """Case of the answer. From a file, it is created at the first access.

        Raises
        ------
        CaseError
            If this version cannot validate the case, for example because a law is not installed.
            The text remains in `provenance`.
        """
        if self._case is None and "case_json" in self.provenance:
            self._case = self._case_of_file()
            if self._case.sha256 != self.provenance["case_sha256"]:
                warnings.warn(
                    "case: this version of granchain completes the case differently "
                    f"({self._case.sha256[:12]}) than the version that ran it "
                    f"({self.provenance['case_sha256'][:12]}). A new run may give other "
                    "results. The case that was run is stored in case_resolved_json of the "
                    "provenance.",
                    GranchainWarning,
                    stacklevel=3,
                )
        return self._case

    def _case_of_file(self) -> Any:
        """Return the case in the provenance."""
        import granchain
        from granchain.case import case_as_given

        problem = (
            "the case in the file is damaged ({}). It must be as granchain wrote it. Use another "
            "copy."
        )
        with refusing(self._path, problem, (GranchainError,)):
            stored = json.loads(self.provenance["case_json"])
            if self._initial_state is not None:
                stored["state"] = text_of_state(self._initial_state)
            toml = self.provenance.get("case_toml", "")
            if "mechanism" in stored["tables"]:
                return granchain.MechanismCase.restored(stored, toml)
            return case_as_given(stored, toml)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Origin of the answer, with the names of the group of the file; `versions` is JSON."""
        case: dict[str, Any] = {}
        if self._case is not None:
            stored, resolved = self._case.as_given(), self._case.resolved()
            if self._states:
                stored.pop("state", None)
            case = {
                "case_toml": storable(self._case.toml or ""),
                "case_json": canonical(stored, ordered=True),
                "case_resolved_json": canonical(resolved),
                "case_sha256": digest_of_case(resolved),
            }
        return {
            "granchain_version": granchain_version(),
            "versions": versions(),
            "source_hash": source_hash(),
            "platform": f"{platform.system()} {platform.machine()}",
            **case,
            **self._given_provenance,
            "data_sha256": data_sha256(self.variables),
        }

    @property
    def data_sha256(self) -> str:
        """Hash of all variables: equal for equal answers."""
        return data_sha256(self.variables)

    def equals(self, other: Any) -> bool:
        """Return whether another answer has the same content.

        The comparison includes the class, title, law, messages, and all variables bit for bit, but
        not the time and the system of the computation.

        Parameters
        ----------
        other : Answer
        """
        return (
            type(self) is type(other)
            and (self.title, self.law) == (other.title, other.law)
            and list(self.messages) == list(other.messages)
            and self._more_attributes() == other._more_attributes()
            and self.unread == other.unread
            and self.variables.keys() == other.variables.keys()
            and all(v.equals(other.variables[name]) for name, v in self.variables.items())
            and self.groups.keys() == other.groups.keys()
            and all(answer.equals(other.groups[name]) for name, answer in self.groups.items())
        )

    def save(
        self,
        path: str | os.PathLike[str],
        overwrite: bool = False,
        progress: Callable[[float], Any] | None = None,
    ) -> None:
        """Write the answer to a file, completely or not at all.

        Parameters
        ----------
        path : str or path
            Output file in an existing folder.
        overwrite : bool
            Whether to replace an existing output file of granchain.
        progress : callable, optional
            Function that is called with the written fraction, 0 to 1, of variables above 16 MB.

        Raises
        ------
        FileError
            If the file cannot be written. The message gives the path and the bytes needed, and the
            folder is unchanged.
        """
        if self.unread:
            raise FileError(
                f"{os.fspath(path)}: only some variables of the result were read. The "
                "result must be complete. Read it again with granchain.open(FILE)."
            )
        size = sum(variable.data.nbytes for variable in self.variables.values())
        if size > LARGEST_FILE:
            raise FileError(
                f"{os.fspath(path)}: the result has {size} bytes. The limit is "
                f"{LARGEST_FILE} bytes. Increase the interval under [sensors] or "
                "[snapshots], or list fewer beads and contacts."
            )
        with claim(path, overwrite):
            write_content(
                path,
                self._content(),
                overwrite,
                packed=self._packed,
                progress=progress or no_progress,
            )

    # large arrays are compressed
    _packed = True

    def to_xarray(self) -> xarray.Dataset:
        """Return the variables as an `xarray.Dataset`, as xarray would open the saved file."""
        return dataset_of(self.variables, self._attributes)

    @property
    def _attributes(self) -> dict[str, Any]:
        """Attributes of the root of the file."""
        return {
            "Conventions": "CF-1.11",
            "title": self.title,
            "granchain_format": FORMAT,
            CONTENT: type(self).__name__,
            "granchain_version": self.provenance["granchain_version"],
            "law": self.law,
            **self._more_attributes(),
        }

    def _more_attributes(self) -> dict[str, Any]:
        """Return the attributes of the file that only this class has."""
        return {}

    def _content(self) -> Content:
        """Return what the file contains."""
        texts = [
            [str(getattr(message, "text", message)), bool(getattr(message, "warning", False))]
            for message in self.messages
        ]
        about = {**self.provenance, "messages": json.dumps(texts)}
        del about["granchain_version"]
        groups = {name: answer._content() for name, answer in self.groups.items()}
        states = {name: state for name in self._states if (state := getattr(self, name))}
        return Content(self.variables, self._attributes, about, states, groups)

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], opened: OpenedFile, variables: Choice | None = None
    ) -> Any:
        """Return the answer in an open file."""
        answer = cls.from_content(read_content(opened.file, opened.datasets, variables))
        answer._path = os.fspath(path)
        # the warning that this version completes the case differently comes when a file is opened
        with contextlib.suppress(GranchainError):
            answer.case  # noqa: B018
        return answer

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the answer that a file contains."""
        answer, attributes = cls.__new__(cls), content.attributes
        ordered = cls._ordered(content.variables, content.unread)
        answer.variables = {name: content.variables[name] for name in ordered}
        answer.unread = content.unread
        check_axes(content.variables)
        answer.groups = {
            name: class_of(str(group.attributes[CONTENT])).from_content(group)
            for name, group in content.groups.items()
        }
        answer.law, answer.title = str(attributes["law"]), str(attributes["title"])
        answer.messages = tuple(text for text, _ in messages_of(content.provenance))
        version = str(attributes["granchain_version"])
        answer.provenance = {**content.provenance, "granchain_version": version}
        del answer.provenance["messages"]
        answer._take(content)
        return answer

    @classmethod
    def _ordered(cls, variables: Mapping[str, Any], unread: Mapping[str, Any]) -> list[str]:
        """Return the names of variables in the order of the labels of the class.

        Variables without such a label, such as those of keys, follow in the order of their names.
        """
        first = [name for name in _names_of(cls) if name in variables]  # type: ignore[arg-type]
        return [*first, *sorted(variables.keys() - first)]

    def _take(self, content: Content) -> None:
        """Take the attributes that only this class has from the content of a file."""


@cache
def _names_of(kind: type[Answer]) -> tuple[str, ...]:
    """Return the names of variables that a class declares, also of parts of complex variables."""
    names = (f"{name}{half}" for name in kind.labels for half in ("", "_real", "_imag"))
    return tuple(dict.fromkeys(names))


class Result(Answer):
    """Result of a run.

    The variables of the output file are attributes, for example `result.sensor_force`. Units, axes,
    and descriptions are in `variables`, and metadata about the run is in `provenance`.

    Parameters
    ----------
    data : mapping of str to array
        Variables with the names of the output file.
    case : Case or None
        The case of the run.
    law : str
        Name of the contact law.
    status : Status
        Status at the end of the run.
    time_step : float
        Time step [s].
    history : sequence of Quantity
        History quantities of the law that `data` contains for each contact.
    messages : sequence of Message
        Messages and warnings of the run.
    provenance : mapping, optional
        Start time `started` (UTC, ISO 8601) and duration `wall_time` [s]. Other entries are added
        automatically.
    state : mapping or function, optional
        State from which another run can start (`case.replace(initial=result)`): arrays by name, and
        metadata as text; or a function that returns it. None if the run did not reach its end.

    Raises
    ------
    ValueError
        If names, axes, and lengths do not match, or if the run did not fail but contains NaN.

    Examples
    --------
    >>> import granchain as gc
    >>> result = gc.run(gc.load_case("steel-chain-hertz").replace(**{"time.end": 2e-5}))
    >>> result.sensor_force.shape == (len(result.time), len(result.sensor_bead))
    True
    >>> result.variables["sensor_force"].unit
    'N'
    """

    status: Status
    time_step: float
    messages: list[Message]
    _states = STATES
    _state: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        case: Any,
        law: str,
        status: Status,
        time_step: float,
        history: Sequence[Quantity] = (),
        messages: Sequence[Message] = (),
        provenance: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    ):
        self._begin(case, law, None, (), provenance)
        self.status = Status(status)
        self._state = state if self.status is Status.COMPLETE else None
        # fast, because a user who stopped the run waits for the file
        self._packed = self.status is not Status.INTERRUPTED
        self.time_step = float(time_step)
        self.messages = [Message(storable(text), bool(warning)) for text, warning in messages]
        entries = entries_of(data, history)
        self.variables = {
            name: Variable(entry.dims, as_stored(name, data[name]), entry.unit, entry.long_name)
            for name, entry in entries.items()
        }
        check_axes(self.variables)
        sparse = list(SPARSE)
        if "contact_law" in data:
            # only some contacts have a law with such a quantity
            sparse += ["contact_radius", *(quantity.name for quantity in history)]
        if not self.status.failed:
            for name, variable in self.variables.items():
                if (
                    name not in sparse
                    and variable.data.dtype.kind == "f"
                    and holds_nan(variable.data)
                ):
                    raise ValueError(
                        f'{name} contains NaN although the run ended as "{self.status.label}"'
                    )

    def _advice(self, name: str) -> str:
        return what_to_ask_for(name, self.variables)

    def _facts(self) -> list[tuple[str, str]]:
        facts = [
            ("contact law", self.law),
            ("status", self.status.label),
            ("time step", f"{self.time_step:.4g} s"),
        ]
        return facts + [
            ("warning" if message.warning else "message", message.text)
            for message in self.messages[:MESSAGES_IN_NOTEBOOK]
        ]

    @property
    def initial_time(self) -> float:
        """Time at the start of the run [s]. After a restart, the duration of the earlier runs."""
        if self.initial_state is None:
            return 0.0
        facts = json.loads(self.initial_state["facts"])
        return float(facts["began"] + facts["steps"] * facts["time_step"])

    @property
    def state(self) -> Mapping[str, Any] | None:
        """State from which another run can start. None if the run did not reach its end."""
        if callable(self._state):
            self._state = self._state()
        return self._state

    @property
    def initial_state(self) -> Mapping[str, Any] | None:
        """State that the run started from. None if its case does not start from a state."""
        if self._initial_state is None and self._case is not None:
            text = self._case.as_given().get("state")
            self._initial_state = None if text is None else arrays_of_state(text)
        return self._initial_state

    def _more_attributes(self) -> dict[str, Any]:
        return {"status": self.status.label, "time_step": self.time_step}

    @property
    def _attributes(self) -> dict[str, Any]:
        attributes = super()._attributes
        if self.initial_time:
            attributes["initial_time"] = self.initial_time
        # NeXus: the plot that a viewer shows automatically
        for signal in self.variables.keys() & {"sensor_force", "slider_acceleration"}:
            axes = list(self.variables[signal].dims)
            about = {"signal": signal, "axes": axes[0] if len(axes) == 1 else axes}
            attributes |= {"NX_class": "NXdata", **about}
        return attributes

    @classmethod
    def _ordered(cls, variables: Mapping[str, Any], unread: Mapping[str, Any]) -> list[str]:
        every = variable_table({**variables, **unread})
        return [name for name in dict.fromkeys([*every, *variables]) if name in variables]

    def _take(self, content: Content) -> None:
        self.messages = [Message(*pair) for pair in messages_of(content.provenance)]
        self.status = STATUS_OF_LABEL[content.attributes["status"]]
        self.time_step = float(content.attributes["time_step"])
        self._state = content.states.get("state")
        self._initial_state = content.states.get("initial_state")


def case_of(result: Any) -> Any:
    """Return the case of a result, or None if this version cannot read it."""
    try:
        return result.case
    except (CaseError, LawError, AttributeError):
        return None


def check_result(result: Any, where: str) -> None:
    """Refuse an object that is not a result, such as the path of its file."""
    # a Dataset of xarray has variables of another kind
    if not hasattr(result, "variables") or hasattr(result, "data_vars"):
        problem = f'"{result[:60]}"' if isinstance(result, str) else type(result).__name__
        raise GranchainError(
            f"{where}: {problem} is not a Result. It must be a Result. Open a file with "
            "granchain.open, or run a case with granchain.run."
        )


def class_of(kind: str) -> Any:
    """Return the class of answers of a name.

    Raises
    ------
    RefusedError
        If granchain has no such class.
    """
    answer_class = getattr(import_module("granchain"), kind, None) if kind.isidentifier() else None
    if not (isinstance(answer_class, type) and hasattr(answer_class, "from_file")):
        raise RefusedError(
            f"the kind of content is {quoted(kind[:60])!r}. It must be a class of "
            "answers. Read the file with the version of granchain that wrote it."
        )
    return answer_class


def open(
    path: str | os.PathLike[str], variables: Choice | None = None, *, verify: bool = True
) -> Any:
    """Open an answer from a file.

    The contact law need not be installed.

    Parameters
    ----------
    path : str or path
        Output file of granchain.
    variables : function, optional
        Function that receives the header of each variable by name (dims, shape, unit, long_name)
        and returns the names of the variables to read. The others are listed in `unread` of the
        answer. Default: all variables.
    verify : bool
        Whether to compare the file with its checksum before it is read. Without it, use the file
        at your own risk: HDF5 may crash or hang on a damaged or malicious file.

    Returns
    -------
    Answer or xarray.Dataset
        Object of the class that was saved, which equals the saved one; a dataset for a study.

    Raises
    ------
    FileError
        If the file is missing, damaged, not an output file, or from a newer version of granchain.

    Examples
    --------
    >>> import os, tempfile
    >>> import granchain as gc
    >>> result = gc.run(gc.load_case("steel-chain-hertz").replace(**{"time.end": 2e-5}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(os.path.join(folder, "chain.h5"))
    ...     gc.open(os.path.join(folder, "chain.h5")).equals(result)
    True
    """
    with open_hdf5(path, verify=verify) as opened:
        if opened.kind == STUDY:
            return dataset_in(path)
        return class_of(opened.kind).from_file(path, opened, variables)


def storable(text: str) -> str:
    """Return text that HDF5 can store: without null characters and halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


# Provenance entries of an ensemble in addition to those of a result.
MORE = ("cases", "kinds", "laws", "run_sha256")


class StoredEnsemble:
    """Open file of an ensemble.

    Parameters
    ----------
    path : str or path
        The file.
    verify : bool
        See `granchain.open`.

    Attributes
    ----------
    status : tuple of Status
    messages : tuple of str
    provenance : dict

    Raises
    ------
    FileError
        If the file is missing, damaged, from a newer version, or not the file of an ensemble.
    """

    def __init__(self, path: str | os.PathLike[str], verify: bool = True):
        self.path, opening = os.fspath(path), contextlib.ExitStack()
        # HDF5 may crash if it closes a file while the interpreter shuts down
        weakref.finalize(self, opening.close)
        opened = opening.enter_context(open_hdf5(path, ENSEMBLE, verify=verify))
        self._opened, file, self._datasets = opened, opened.file, opened.datasets
        with refusing(self.path):
            self.provenance = provenance_of(file)
            self.provenance["granchain_version"] = file.attrs["granchain_version"]
            self.law = str(file.attrs["law"])
            self.status = tuple(
                STATUS_OF_LABEL[label] for label in self._datasets["status"].asstr()[()]
            )
            self.messages = tuple(self._datasets["message"].asstr()[()])
            self._kind, self._step = (self._datasets[name][()] for name in ("kind", "time_step"))
            self._about = {name: json.loads(self.provenance[name]) for name in (*MORE, "messages")}
            counts = {count for _, count in (*COUNTED.values(), *UNSHARED.values())}
            self._counts = {name: self._datasets[name][()] for name in counts & set(self._datasets)}

    def __len__(self) -> int:
        return len(self.status)

    def __contains__(self, index: int) -> bool:
        return bool(self._kind[index] >= 0)

    def case_of(self, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the case of a run as given, and its completed tables."""
        parts = self._about["cases"]["parts"]
        tables, other_data, resolved = (
            {name: parts[at] for name, at in places.items()}
            for places in self._about["cases"]["runs"][index]
        )
        return {"tables": tables, **other_data}, resolved

    def result(self, index: int, case: Any = None) -> Result:
        """Return the result of a run.

        Raises
        ------
        FileError
            If it is damaged.
        """
        with refusing(self.path):
            kind, data = self._about["kinds"][self._kind[index]], {}
            for name, column, *_ in kind["variables"]:
                values = self._datasets[column][self._index_in_column(index, name, column)]
                data[name] = values.astype(np.int64) if name in (*LABELS, *CATEGORICAL) else values
            result = Result(
                data,
                case=case,
                law=kind["law"],
                status=self.status[index],
                time_step=self._step[index],
                history=[
                    Quantity(name, unit, meaning, output=True)
                    for name, _, unit, meaning in kind["variables"]
                    if name not in VARIABLES
                ],
                messages=[Message(*message) for message in self._about["messages"][index]],
            )
            laws = self._about["laws"]
            law_sha256, record = laws["records"][laws["of_run"][index]]
        given_case, document = self.case_of(index)
        if "state" in given_case:
            result._initial_state = arrays_of_state(given_case.pop("state"))
        # omits the entries that belong to all runs together
        together = (*MORE, "messages", "wall_time")
        result.provenance = {
            **{name: entry for name, entry in self.provenance.items() if name not in together},
            "case_json": canonical(given_case, ordered=True),
            "case_resolved_json": canonical(document),
            "case_sha256": digest_of_case(document),
            "data_sha256": result.data_sha256,
            "law_sha256": law_sha256,
            "law_json": record,
        }
        result.title = document.get("title", "")
        return result

    def _index_in_column(self, index: int, name: str, column: str) -> tuple[Any, ...]:
        """Return the index of the variable of a run in its column."""
        shape = self._datasets[column].shape
        axes = VARIABLES[name].dims if name in VARIABLES else ("contact",)
        # labels that all runs share have no axis `run`
        where: list[Any] = [index] if len(shape) > len(axes) else []
        for axis, length in zip(axes, shape[len(where) :], strict=True):
            counts = self._counts.get((COUNTED | UNSHARED)[axis][1])
            where.append(slice(length if counts is None else int(counts[index])))
        return tuple(where)

    @property
    def headers(self) -> dict[str, Unread]:
        """Axes, shape, unit, and meaning of each variable of the file."""
        return headers_of(self._datasets)

    def content(self) -> Content:
        """Return everything that the file contains."""
        with refusing(self.path):
            return read_content(self._opened.file, self._datasets)


def save_study(
    variables: Mapping[str, Variable],
    attributes: dict[str, Any],
    path: str | os.PathLike[str],
    overwrite: bool,
) -> None:
    """Write the file of a study, complete or not at all; take the `claim` first."""
    about = {
        "versions": versions(),
        "source_hash": source_hash(),
        "data_sha256": data_sha256(variables),
    }
    write_content(path, Content(variables, attributes, about), overwrite)


def study_attributes(
    study: str,
    title: str,
    laws: Iterable[str],
    messages: Iterable[str] = (),
    case: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the attributes of the dataset of a study.

    Parameters
    ----------
    study : str
        Function that returns the dataset: "sweep", "bands", "impacts", or "mode_study".
    title : str
    laws : iterable of str
        All contact laws.
    messages : iterable of str
        Notes.
    case : Case, optional
        Case of the study.
    **more
        Settings of the study, as numbers or texts.
    """
    about = {}
    if case is not None:
        about = {
            "case_sha256": case.sha256,
            "case_json": canonical(case.as_given()),
            "case_resolved_json": canonical(case.resolved()),
        }
    return {
        "Conventions": "CF-1.11",
        "title": title,
        "granchain_format": FORMAT,
        CONTENT: STUDY,
        "granchain_study": study,
        "granchain_version": granchain_version(),
        "law": ", ".join(dict.fromkeys(laws)),
        **more,
        "messages": json.dumps(list(messages)),
        **about,
        "versions": versions(),
        "source_hash": source_hash(),
    }


def messages_of_study(study: Any) -> list[str]:
    """Return the notes of a study."""
    return list(json.loads(study.attrs.get("messages", "[]")))


def variables_of(study: Any) -> dict[str, Variable]:
    """Return the variables of a dataset with their labels.

    A complex variable becomes two variables, with `_real` and `_imag` at the end of their names.
    """
    variables: dict[str, Variable] = {}
    for name, array in study.variables.items():
        unit = unit_of_attributes(array.attrs)
        meaning = str(array.attrs.get("long_name", ""))
        values = np.asarray(array.values)
        if array.attrs.get("flag_meanings") == NO_YES["flag_meanings"]:
            values = values.astype(bool)
        for half, data in real_parts(name, values).items():
            kind = object if data.dtype.kind in "UO" else data.dtype
            variables[half] = Variable(tuple(array.dims), data.astype(kind), unit, meaning)
    return variables


def plain_answer(answer: Any) -> dict[str, Any]:
    """Return an answer, or the dataset of a study, as plain data for JSON."""
    if not hasattr(answer, "data_vars"):
        return dict(answer.as_dict())
    attributes = answer.attrs
    settings = ("status", "how", "n", "seed", "runs")
    return {
        "content": STUDY,
        "study": attributes["granchain_study"],
        **{name: attributes[name] for name in ("title", "law")},
        **{name: plain_data(attributes[name]) for name in settings if name in attributes},
        **{
            name: json.loads(attributes[f"{name}_json"])
            for name in ("pair", "inputs")
            if f"{name}_json" in attributes
        },
        **{name: plain_variable(v) for name, v in variables_of(answer).items()},
        "messages": messages_of_study(answer),
    }


def save(answer: Any, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write an answer, or the dataset of a study, to a file, which `granchain.open` opens.

    Parameters
    ----------
    answer : Answer or xarray.Dataset
        Answer, or result of `sweep`, `bands`, `impacts`, or `mode_study`.
    path : str or path
        Output file in an existing folder.
    overwrite : bool
        Whether to replace an existing output file of granchain.

    Raises
    ------
    CaseError
        If the object is neither of them.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import granchain as gc
    >>> study = gc.impacts("hertz", None, {"speed": [0.5, 1.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gc.save(study, os.path.join(folder, "impacts.h5"))
    ...     gc.open(os.path.join(folder, "impacts.h5")).identical(study)
    True
    """
    if not hasattr(answer, "data_vars"):
        if not hasattr(answer, "save"):
            raise CaseError(
                f"save: {type(answer).__name__} is not supported. It must be an answer, "
                "or a dataset of sweep, bands, impacts, or mode_study."
            )
        answer.save(path, overwrite)
        return
    variables = variables_of(answer)
    inside = " ".join(name for name in answer.coords if name not in answer.dims)
    attributes = {
        **answer.attrs,
        "granchain_format": FORMAT,
        CONTENT: STUDY,
        **({"coordinates": inside} if inside else {}),
    }
    with claim(path, overwrite):
        save_study(variables, attributes, path, overwrite)


def open_study(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Return the file of a study as an `xarray.Dataset`.

    Raises
    ------
    FileError
        If the file is missing, damaged, of another format, or not a study.
    """
    with open_hdf5(path, STUDY):
        return dataset_in(path)
