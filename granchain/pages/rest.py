"""What a report says of bands; and `save`, which writes the file that a report, a figure and
`granchain cite` read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from granchain.case import Case, check_case
from granchain.errors import CaseError
from granchain.pages.blocks import Grid, number_grid, number_text
from granchain.store.conclusion import claim_conclusion, save_conclusion
from granchain.store.study import save_answer

# Larger numbers are no measurements: differences and ticks of them may be no numbers.
DRAWABLE = 1e100


def kind_and_numbers(found: Any) -> tuple[str, dict[str, Any]]:
    """Kind and plain numbers of what was found, as its file has them.

    Raises
    ------
    CaseError
        For what no command writes to a file of numbers.
    """
    raise CaseError(
        f"save: {type(found).__name__} is not supported. Use a file with the ending .h5."
    )


def save(
    found: Any,
    path: str | os.PathLike[str],
    case: Case | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write an answer, or the dataset of a study, to a file.

    The file is equal to the one written by `--out` of the command. `report`, `granchain plot`, and
    `granchain cite` can read it. `granchain.open` reads a file with the ending .h5.

    Parameters
    ----------
    found : Answer or xarray.Dataset
        Answer, or result of `sweep`, `bands`, `impacts`, or `mode_study`.
    path : str or path
        Output file with the ending .h5, or .json for a result of `equivalent` or `fit`.
    case : Case, optional
        Not used.
    overwrite : bool
        Overwrite an existing file that granchain wrote.

    Raises
    ------
    CaseError
        If the result is not supported, or if the case is missing.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain-hertz").replace(
    ...     **{"chain.beads": 4, "chain.precompression": 10.0, "sensors.beads": [2]}
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gc.save(gc.modes(case), os.path.join(folder, "modes.h5"))
    """
    if Path(path).suffix == ".h5":
        save_answer(found, path, overwrite)
        return
    kind, facts = kind_and_numbers(found)
    if case is None:
        raise CaseError(
            f"save: the case is missing. The file contains the case of the {kind}. Pass it as case."
        )
    check_case(case)
    with claim_conclusion(path, overwrite):
        save_conclusion(path, kind, case, facts, overwrite)


def drawable(value: Any) -> Any:
    """What figures take: arrays for lists of numbers, nan for what is no number, or too large."""
    if isinstance(value, Mapping):
        return {key: drawable(part) for key, part in value.items()}
    if isinstance(value, list):
        parts = [drawable(part) for part in value]
        words = not parts or any(isinstance(part, (str, Mapping)) for part in value)
        return parts if words else np.array(parts)
    if value is None or (isinstance(value, (int, float)) and abs(value) > DRAWABLE):
        return math.nan
    return value


# --------------------------------------------------------------------------------------------------
# Bands


def bands_words(found: Any) -> str:
    """Return the members of bands, and the standard deviations of the parameters."""
    spread = ", ".join(
        f"{key} {number_text(deviation, '.3g', 100.0)} %"
        for key, deviation in zip(
            found["key"].values.tolist(), found["relative_deviation"].values.tolist(), strict=True
        )
    )
    runs, status = found.attrs["runs"], found.attrs["status"]
    return f"{runs} runs: {status}. Relative standard deviations of the parameters: {spread}."


def band_tables(found: Any) -> list[Grid]:
    """Quantiles of peak and arrival at each sensor, and which key has which part in them.

    Parameters
    ----------
    found : xarray.Dataset
        As `granchain.bands` gives it.
    """
    quantiles = [f"{100.0 * part:g} %" for part in found["quantile"].values]
    made: list[Grid] = []
    for name, unit, factor in (("peak", "N", 1.0), ("arrival", "us", 1e6)):
        rows = []
        for bead in found.sensor_bead.values:
            here = found.sel(sensor_bead=bead)
            values = (float(here[f"nominal_{name}"]), *here[name].values.tolist())
            rows.append((str(bead), *(number_text(value, factor=factor) for value in values)))
        columns = ("sensor bead", f"{name} [{unit}]", *quantiles)
        made.append(number_grid(columns, rows, f"{name} and quantiles"))
    for name in ("first_order", "total_order") if "first_order" in found else ():
        keys = found["key"].values.tolist()
        indices = (
            (
                str(bead),
                *(
                    number_text(value, ".3g")
                    for value in found[name].sel(sensor_bead=bead).values.tolist()
                ),
            )
            for bead in found.sensor_bead.values
        )
        title = f"fraction of the variance of the peak, {name.replace('_', ' ')}"
        made.append(number_grid(("sensor bead", *keys), indices, title))
    return made
