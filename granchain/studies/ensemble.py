"""What many runs gave, in memory or in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

from granchain.case import Case, case_as_given
from granchain.errors import RunError
from granchain.markup import card, table
from granchain.status import Status
from granchain.store import Result, claim
from granchain.store.ensemble import ensemble_dataset, ensemble_file
from granchain.store.stored import StoredEnsemble


@dataclass(frozen=True)
class Member:
    """One case of an ensemble, and what became of it.

    Parameters
    ----------
    status : Status
        How it ended.
    message : str
        Why it failed, or was not computed; empty where it is complete.
    result : Result, optional
        What was computed; None where nothing was, or where it is in a file.
    """

    status: Status
    message: str = ""
    result: Result | None = None


class Ensemble:
    """What many cases gave, in their order; made by `run_many` and `open_ensemble`.

    `len(ensemble)`, `ensemble[i]` and iteration give results, equal to those of `granchain.run`;
    that of a member that failed holds what was computed up to there. Those of a file are read when
    they are asked for.

    Parameters
    ----------
    cases : sequence of Case, or None
        None: those that the file holds.
    members : sequence of Member
    stored : StoredEnsemble, optional
        The file that holds the results.
    """

    def __init__(
        self,
        cases: Sequence[Case] | None,
        members: Sequence[Member],
        stored: StoredEnsemble | None = None,
    ):
        self._cases = None if cases is None else tuple(cases)
        self._members, self._stored = tuple(members), stored

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Result]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: int) -> Result:
        place = range(len(self))[index(place)]
        member = self._members[place]
        if self._stored is not None and place in self._stored:
            return self._stored.result(place, None if self._cases is None else self._cases[place])
        if member.result is None:
            raise RunError(member.message)
        return member.result

    def __repr__(self) -> str:
        labels = [member.status.label for member in self._members]
        where = "" if self._stored is None else f" in {self._stored.path}"
        return (
            f"<Ensemble: {len(self)} members{where}; "
            f"{', '.join(f'{labels.count(label)} {label}' for label in dict.fromkeys(labels))}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: how many members ended how, and the first messages."""
        labels = [member.status.label for member in self._members]
        rows = [(label, str(labels.count(label))) for label in dict.fromkeys(labels)]
        messages = [
            (str(place), member.message)
            for place, member in enumerate(self._members)
            if member.message
        ][:5]
        shown = table(("run", "message"), messages, styled=True) if messages else ""
        return card(
            f"Ensemble of {len(self)} runs", table(("status", "runs"), rows, styled=True), shown
        )

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write a file of all members, whole or not at all, which xarray opens; see `to_xarray` for
        what is in it.

        Parameters
        ----------
        path : str or path
            Name of the file, in a folder that exists.
        overwrite : bool
            Replace an output file of that name; without it, and where it is none, it is kept.

        Raises
        ------
        FileError
            With path, bytes needed and what to do; the folder is then as it was.
        """
        about = (
            [self[place].provenance for place in range(len(self)) if self._has(place)]
            if self._stored is None
            else []
        )
        about = about or [{} if self._stored is None else self._stored.provenance]
        started, wall_time = (
            about[0].get("started", ""),
            sum(one.get("wall_time", 0.0) for one in about),
        )
        with claim(path, overwrite), ensemble_file(path, overwrite, self.cases) as file:
            for place in range(len(self)):
                file.add(place, [self[place] if self._has(place) else None])
            file.finish(self.status, self.messages, started, wall_time)

    def _has(self, place: int) -> bool:
        return self._members[place].result is not None or (
            self._stored is not None and place in self._stored
        )

    def to_xarray(self) -> Any:
        """All members as an `xarray.Dataset`, as xarray would open the saved file.

        The dimension `run` has the keys in which the cases differ as coordinates. Each member has
        its own time step, so `time` is over run and sample, not a number beyond `n_samples`; so are
        the ledger's and the snapshots' instants, and beads and contacts where the members have not
        the same.
        """
        if self._stored is not None:
            return self._stored.to_xarray()
        return ensemble_dataset(
            self.cases, [member.result for member in self._members], self.status, self.messages
        )

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases; of a file, they are validated again when they are asked for."""
        if self._cases is None:
            assert self._stored is not None
            self._cases = tuple(
                case_as_given(self._stored.given(place)) for place in range(len(self))
            )
        return self._cases

    @property
    def status(self) -> tuple[Status, ...]:
        """How each member ended."""
        return tuple(member.status for member in self._members)

    @property
    def messages(self) -> tuple[str, ...]:
        """Why a member failed, with its index, or was not computed; empty where it is complete."""
        return tuple(member.message for member in self._members)


def open_ensemble(path: str | os.PathLike[str], *, unsealed: bool = False) -> Ensemble:
    """Open the file of an ensemble; the contact laws need not be installed.

    A result is read when it is asked for, and compared with its hash. The file's own seal is looked
    at first, as `granchain.open_result` does.

    Parameters
    ----------
    path : str or path
        The file.
    unsealed : bool
        As of `granchain.open_result`.

    Raises
    ------
    FileError
        Where the file is missing, damaged, from a newer granchain or not the file of an ensemble.
    """
    stored = StoredEnsemble(path, unsealed=unsealed)
    return Ensemble(
        None,
        [
            Member(status, message)
            for status, message in zip(stored.status, stored.messages, strict=True)
        ],
        stored,
    )
