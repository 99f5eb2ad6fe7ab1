"""`python -m granchain`, and `granchain`: from its first line on, a signal ends the process
without a traceback."""

import os
import signal
from types import FrameType

from granchain.portable import ENDING


def end_at_once(number: int, frame: FrameType | None) -> None:
    """There is nothing to lose yet: end as the signal would, with the exit code that a shell
    gives it."""
    for kind in ENDING:
        signal.signal(kind, signal.SIG_IGN)
    os.write(2, b"granchain: interrupted\n")
    os._exit(128 + number)


def main() -> None:
    """Execute the command line, and end the process."""
    for kind in ENDING:
        # Ignored in a background job, or under nohup: stay so.
        if signal.getsignal(kind) is not signal.SIG_IGN:
            signal.signal(kind, end_at_once)
    from granchain.cli import main as begin

    begin()


if __name__ == "__main__":
    main()
