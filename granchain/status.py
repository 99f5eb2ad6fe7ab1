"""Statuses of a run with their messages, and the messages of a run."""

from enum import IntEnum
from typing import NamedTuple


class Message(NamedTuple):
    """A message about a run.

    Parameters
    ----------
    text : str
        The message.
    warning : bool
        Whether the results may be inaccurate for this reason.
    """

    text: str
    warning: bool = False

    def __str__(self) -> str:
        return f"warning: {self.text}" if self.warning else self.text


class Status(IntEnum):
    """Status of a run at its end or after a block; `sentence` is the message for the user."""

    COMPLETE = 0
    RUNNING = 1
    INTERRUPTED = 2
    NOT_FINITE = 3
    BEYOND_RADIUS = 4
    OUTSIDE_LAW = 5
    UNSTABLE = 6
    LEDGER_OPEN = 7
    NOT_SET_UP = 8

    @property
    def label(self) -> str:
        """Short name, as written to the output file."""
        return _STATUS_LABELS[self]

    @property
    def sentence(self) -> str:
        """Message with what happened and what to do."""
        return _SENTENCES[self]

    @property
    def failed(self) -> bool:
        """True if the results are not valid up to the end time."""
        return self not in (Status.COMPLETE, Status.RUNNING, Status.INTERRUPTED)


_STATUS_LABELS = {
    Status.COMPLETE: "complete",
    Status.RUNNING: "running",
    Status.INTERRUPTED: "interrupted",
    Status.NOT_FINITE: "not finite",
    Status.BEYOND_RADIUS: "overlap beyond the radius",
    Status.OUTSIDE_LAW: "outside the law's range",
    Status.UNSTABLE: "unstable",
    Status.LEDGER_OPEN: "energy ledger open",
    Status.NOT_SET_UP: "not set up",
}
STATUS_OF_LABEL = {label: status for status, label in _STATUS_LABELS.items()}

_SENTENCES = {
    Status.COMPLETE: "The run reached its end time.",
    Status.RUNNING: "The run has not ended yet.",
    Status.INTERRUPTED: "The run was stopped before its end time. The results up to this time are "
    "complete.",
    Status.NOT_FINITE: "A displacement, velocity, or energy is not finite. Choose a smaller time "
    "step, or check the coefficients of the law.",
    Status.BEYOND_RADIUS: "Two beads overlap by more than the smaller radius, where no contact law "
    "is valid. Reduce the speed, or check modulus, density, and units.",
    Status.OUTSIDE_LAW: "An overlap exceeds the overlap limit of the contact law. The law has no "
    "force beyond its limit. Reduce the speed, or choose a law with a wider range.",
    Status.UNSTABLE: "The time step is above the stability limit of the current state. Choose a "
    "smaller time step.",
    Status.LEDGER_OPEN: "The energy balance error is above the requested bound. Choose a smaller "
    "time step, or increase [energy] bound if you accept the error.",
    Status.NOT_SET_UP: "The case cannot be run, so nothing was computed.",
}
