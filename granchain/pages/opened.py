"""A file of granchain, whatever it holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from granchain.store import open_result
from granchain.store.conclusion import read_conclusion
from granchain.store.study import is_study, open_study


def opened(path: str | os.PathLike[str], unsealed: bool = False, **reading: Any) -> Any:
    """A conclusion as a dict, a study as an xarray.Dataset, or a Result.

    Parameters
    ----------
    path : str or path
    unsealed : bool
        As of `granchain.open_result`.
    **reading
        What `open_result` is asked for.
    """
    if Path(path).suffix.lower() == ".json":
        return read_conclusion(path, unsealed)
    if is_study(path, unsealed):
        return open_study(path, unsealed)
    return open_result(path, unsealed=unsealed, **reading)
