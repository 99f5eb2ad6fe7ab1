"""Statuses of a run with their messages, and the messages of a run."""

from collections import Counter
from collections.abc import Iterable
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
    """Status of a run at its end or after a block.

    Attributes
    ----------
    label : str
        Short name, as written to the output file.
    sentence : str
        Message for the user: what happened and what to do.
    failed : bool
        Whether the results are not valid up to the end time.
    """

    label: str
    sentence: str
    failed: bool

    def __new__(
        cls, value: int, label: str = "", sentence: str = "", failed: bool = True
    ) -> "Status":
        """Return a status with its attributes."""
        status = int.__new__(cls, value)
        status._value_ = value
        status.label, status.sentence, status.failed = label, sentence, failed
        return status

    COMPLETE = 0, "complete", "The run reached its end time.", False
    RUNNING = 1, "running", "The run has not ended yet.", False
    INTERRUPTED = (
        2,
        "interrupted",
        "The run was stopped before its end time. The results up to this time are complete.",
        False,
    )
    NOT_FINITE = (
        3,
        "not finite",
        "A displacement, velocity, or energy is not finite. Choose a smaller time step, or check "
        "the coefficients of the law.",
    )
    BEYOND_RADIUS = (
        4,
        "overlap beyond the radius",
        "Two beads overlap by more than the smaller radius, where no contact law is valid. Reduce "
        "the speed, or check modulus, density, and units.",
    )
    OUTSIDE_LAW = (
        5,
        "outside the law's range",
        "An overlap exceeds the overlap limit of the contact law. The law has no force beyond its "
        "limit. Reduce the speed, or choose a law with a wider range.",
    )
    UNSTABLE = (
        6,
        "unstable",
        "The time step is above the stability limit of the current state. Choose a smaller time "
        "step.",
    )
    LEDGER_OPEN = (
        7,
        "energy ledger open",
        "The energy balance error is above the requested bound. Choose a smaller time step, or "
        "increase [energy] bound if you accept the error.",
    )
    NOT_SET_UP = 8, "not set up", "The case cannot be run, so nothing was computed."


STATUS_OF_LABEL = {status.label: status for status in Status}


def text_of_statuses(status: Iterable[Status]) -> str:
    """Return the number of runs with each status, such as "7 complete, 1 unstable"."""
    counts = Counter(each.label for each in status)
    return ", ".join(f"{count} {label}" for label, count in counts.items())
