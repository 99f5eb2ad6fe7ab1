"""`python -m granchain`, and `granchain`: a signal never causes a traceback."""

import os
import signal
from types import FrameType

from granchain.portable import ENDING


def end_at_once(number: int, frame: FrameType | None) -> None:
    """End the process with the exit code that a shell reports for the signal.

    No result can be lost yet.
    """
    for kind in ENDING:
        signal.signal(kind, signal.SIG_IGN)
    os.write(2, b"granchain: interrupted\n")
    os._exit(128 + number)


def main() -> None:
    """Execute the command line, and end the process."""
    for kind in ENDING:
        # A signal that is ignored, as in a background job or with nohup, stays ignored.
        if signal.getsignal(kind) is not signal.SIG_IGN:
            signal.signal(kind, end_at_once)
    from granchain.cli import main as begin

    begin()


if __name__ == "__main__":
    main()
