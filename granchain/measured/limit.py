"""How much memory the reading of a file from elsewhere may take: counted from what the file
claims, before any of it is taken."""

from __future__ import annotations

from dataclasses import dataclass

from granchain.errors import FileError

# Bytes that a file from elsewhere may take unless its owner allows more.
DEFAULT_LIMIT = 1e9
# Doubles that are held at once for each number of a file: as read; in SI units; two of work, such
# as differences, on one of them.
COPIES = 4


@dataclass(frozen=True)
class Limit:
    """Bytes that a read may take beside the program itself: the file, and its numbers as doubles
    with all copies that are made.

    `more` is the advice on how more of them are allowed.
    """

    bytes: float = DEFAULT_LIMIT
    more: str = "--limit {0:.1e} (in Python: limit={0:.1e})"

    def check(self, where: str, size: int, numbers: int = 0) -> None:
        """Refuse what would take more.

        Parameters
        ----------
        where : str
            Name of the file.
        size : int
            Bytes of the file and of its parts unpacked that are held.
        numbers : int
            That will be read.

        Raises
        ------
        FileError
        """
        needed = size + COPIES * 8 * numbers
        if needed > self.bytes:
            what = f"{numbers} numbers" if numbers else f"{size} bytes"
            raise FileError(
                f"{where}: reading {what} takes {needed / 1e6:.3g} MB of memory. The limit "
                f"is {self.bytes / 1e6:.3g} MB. Cut out the part with the pulses, or raise "
                f"the limit: {self.more.format(1.1 * needed)}."
            )
