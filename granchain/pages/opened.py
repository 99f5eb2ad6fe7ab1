"""File of granchain with any content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from granchain.store import open_answer
from granchain.store.conclusion import read_conclusion


def opened(path: str | os.PathLike[str], verify: bool = True, **reading: Any) -> Any:
    """Return a JSON results file as a dict, or what `granchain.open` returns.

    Parameters
    ----------
    path : str or path
    verify : bool
        As for `granchain.open`.
    **reading
        Other arguments of `granchain.open`.
    """
    if Path(path).suffix.lower() == ".json":
        return read_conclusion(path, verify)
    return open_answer(path, verify=verify, **reading)
