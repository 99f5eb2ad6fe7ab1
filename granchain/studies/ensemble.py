"""Ensemble: complete results of many cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import index
from typing import Any, ClassVar

from granchain.case import Case, case_as_given
from granchain.errors import RunError
from granchain.status import Status, text_of_statuses
from granchain.store import Answer, Result, Variable, claim
from granchain.store.answer import StoredEnsemble
from granchain.store.dataset import (
    Choice,
    Content,
    OpenedFile,
    ensemble_content,
    ensemble_file,
)


class Ensemble(Answer):
    """Results of many cases, in the order of the cases.

    `run_many` and `granchain.open` create it. `len(ensemble)`, `ensemble[i]`, and iteration return
    results that equal those of `granchain.run`. The result of a member that failed contains the
    data up to the failure. Results in a file are read when they are requested.

    Parameters
    ----------
    cases : sequence of Case, or None
        Cases. None selects those in the file.
    status : sequence of Status
        Status of each member at the end.
    messages : sequence of str
        Reason why each member failed or was not computed; empty if it is complete.
    results : sequence of Result or None, optional
        Result of each member; None if nothing was computed.
    stored : StoredEnsemble, optional
        File that contains the results.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [5], "time.end": 5e-5})
    >>> ensemble = gc.run_many([case, case.replace({"striker.speed": 1.0})])
    >>> [result.sensor_bead.tolist() for result in ensemble]
    [[5], [5]]
    """

    labels: ClassVar = {}

    def __init__(
        self,
        cases: Sequence[Case] | None,
        status: Sequence[Status],
        messages: Sequence[str],
        results: Sequence[Result | None] | None = None,
        stored: StoredEnsemble | None = None,
    ):
        self._cases = None if cases is None else tuple(cases)
        self.status, self.messages = tuple(status), tuple(messages)
        self._results, self._stored = results or [None] * len(self.status), stored
        self.unread, self.groups = {}, {}
        self.title = f"{len(self.status)} runs"

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], opened: OpenedFile, variables: Choice | None = None
    ) -> Ensemble:
        """Return the ensemble in a file that has been verified."""
        stored = StoredEnsemble(path, verify=False)
        return cls(None, stored.status, stored.messages, stored=stored)

    def __len__(self) -> int:
        return len(self.status)

    def __iter__(self) -> Iterator[Result]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, str):
            return super().__getitem__(i)
        i = range(len(self))[index(i)]
        result = self._result(i)
        if result is None:
            raise RunError(f"member {i}: {self.messages[i]}")
        return result

    def _result(self, i: int) -> Result | None:
        """Return the result of member i, or None if nothing was computed."""
        if self._stored is not None and i in self._stored:
            return self._stored.result(i, None if self._cases is None else self._cases[i])
        return self._results[i]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "title" not in self.__dict__:
            raise AttributeError(name)
        # the variables are computed at the first access
        self.variables  # noqa: B018
        return super().__getattr__(name)

    def __repr__(self) -> str:
        where = "" if self._stored is None else f" in {self._stored.path}"
        return f"<Ensemble: {len(self)} members{where}; {text_of_statuses(self.status)}>"

    @cached_property
    def _whole(self) -> Content:
        """Variables, attributes, and provenance of all members, as in a file."""
        if self._stored is not None:
            return self._stored.content()
        return ensemble_content(self.cases, self._results, self.status, self.messages)

    @cached_property
    def variables(self) -> dict[str, Variable]:  # type: ignore[override]
        """Variables of all members, with a dimension `run`.

        The keys that differ between the cases are variables. Each member has an individual time
        step, so `time` has the dimensions run and sample, and is nan beyond `n_samples`. The times
        of the energy balance and of the snapshots, and beads and contacts that differ between
        members, also have the dimension `run`.
        """
        return dict(self._whole.variables)

    @property
    def provenance(self) -> dict[str, Any]:
        """Origin of the ensemble, with the names of the group of the file."""
        if self._stored is not None:
            return self._stored.provenance
        version = str(self._whole.attributes["granchain_version"])
        return {**self._whole.provenance, "granchain_version": version}

    @property
    def data_sha256(self) -> str:
        """Hash of the variables of all members."""
        return str(self.provenance["data_sha256"])

    @property
    def law(self) -> str:  # type: ignore[override]
        """Contact laws of the members, separated by commas."""
        if self._stored is not None:
            return self._stored.law
        return ", ".join(dict.fromkeys(case.law for case in self.cases))

    @property
    def case(self) -> Case:
        """Case of the first member."""
        return self.cases[0]

    def equals(self, other: Any) -> bool:
        """Return whether another ensemble has equal members.

        Parameters
        ----------
        other : Ensemble
        """
        return (
            isinstance(other, Ensemble)
            and (self.status, self.messages) == (other.status, other.messages)
            and all(
                other._result(i) is None if result is None else result.equals(other._result(i))
                for i, result in enumerate(map(self._result, range(len(self))))
            )
        )

    def save(
        self,
        path: str | os.PathLike[str],
        overwrite: bool = False,
        progress: Callable[[float], Any] | None = None,
    ) -> None:
        """Write a file of all members, completely or not at all.

        The members are read, or taken from memory, and written one after the other.

        Parameters
        ----------
        path : str or path
            Name of the file, in a folder that exists.
        overwrite : bool
            Whether to overwrite an existing output file of that name. Other files are not changed.
        progress : callable, optional
            Function that is called with the fraction of the members that is written.

        Raises
        ------
        FileError
            If the file cannot be written. The message gives the path, the required bytes, and a
            fix. The folder is then unchanged.
        """
        origins = [result.provenance for result in self._results if result is not None]
        if self._stored is not None:
            origins = [self._stored.provenance]
        started = origins[0].get("started", "") if origins else ""
        wall_time = sum(origin.get("wall_time", 0.0) for origin in origins)
        with claim(path, overwrite), ensemble_file(path, overwrite, self.cases) as file:
            for i in range(len(self)):
                file.add(i, [self._result(i)])
                if progress is not None:
                    progress((i + 1) / len(self))
            file.finish(self.status, self.messages, started, wall_time)

    @property
    def _attributes(self) -> dict[str, Any]:
        """Attributes of the file of all members."""
        return dict(self._whole.attributes)

    @property
    def cases(self) -> tuple[Case, ...]:
        """Cases of the members. Cases in a file are validated again at the first access."""
        if self._cases is None:
            assert self._stored is not None
            self._cases = tuple(case_as_given(self._stored.case_of(i)[0]) for i in range(len(self)))
        return self._cases
