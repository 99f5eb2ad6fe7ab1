"""What a report says of a study: what was varied, how the members ended, what was measured of
them, and the figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from granchain.figures import study_figures
from granchain.pages.blocks import (
    Block,
    Grid,
    Heading,
    Paragraph,
    number_text,
    picture_or_reason,
)
from granchain.pages.run import case_blocks, citation, law_blocks
from granchain.store.units import unit_of_attributes

# Values of a key that a page lists.
MOST_ROWS_OF_A_STUDY = 12


def study_blocks(study: Any, name: str) -> list[Block]:
    """All that a report says of a study.

    Parameters
    ----------
    study : xarray.Dataset
        As `granchain.sweep` gives it.
    name : str
        Of its file.
    """
    blocks: list[Block] = [Heading(str(study.attrs.get("title") or name), 1)]
    statuses, counts = np.unique(np.asarray(study["status"].values, dtype=str), return_counts=True)
    ended = ", ".join(
        f"{count} {status}"
        for status, count in zip(statuses.tolist(), counts.tolist(), strict=True)
    )
    blocks.append(Paragraph(f"A study of {study['status'].size} members: {ended}."))
    keys = [
        (
            key,
            str(study[key].size),
            coordinate_values(study[key]),
            unit_of_attributes(study[key].attrs) or "-",
        )
        for key in study.coords
    ]
    blocks += [
        Heading("What was varied, and where it was measured", 2),
        Grid(("key", "values", "", "unit"), tuple(keys)),
    ]
    measured = [
        name for name in study.data_vars if study[name].dtype.kind == "f" and study[name].size
    ]
    rows = tuple(
        (name, *spread_rows(study[name].values), unit_of_attributes(study[name].attrs) or "-")
        for name in measured
    )
    blocks += [
        Heading("What was measured", 2),
        Grid(("", "mean", "standard deviation", "least", "largest", "unit"), rows),
    ]
    blocks.append(Heading("Figures", 2))
    for what, draw in study_figures(study).items():
        blocks.append(picture_or_reason(what, draw, what.replace("-", " ").replace("_", " ")))
    laws = str(study.attrs["law"]).split(", ") if "law" in study.attrs else []
    if "contact.law" in study.coords:
        laws = [str(law) for law in np.unique(study["contact.law"].values)]
    blocks += [block for law in laws for block in law_blocks(law, {})]
    blocks += case_blocks({"case_resolved_json": study.attrs.get("case_resolved_json")})
    told = {
        key: value
        for key, value in study.attrs.items()
        if key not in ("title", "laws_json", "case_json", "case_resolved_json", "coordinates")
        and np.ndim(value) == 0
    }
    facts = (("file", name), *((key, number_text(value, ".6g")) for key, value in told.items()))
    return [*blocks, Heading("Where it comes from", 2), Grid(("", ""), facts), *citation(laws)]


def coordinate_values(axis: Any) -> str:
    """The values of an axis, or the ends of many."""
    values = np.asarray(axis.values).reshape(-1).tolist()
    few = len(values) <= MOST_ROWS_OF_A_STUDY
    shown = values if few else (values[0], values[-1])
    return (", " if few else " ... ").join(number_text(value, ".4g") for value in shown)


def spread_rows(values: np.ndarray) -> tuple[str, ...]:
    """Mean, standard deviation and ends of the numbers that are there."""
    there = values[np.isfinite(values)]
    if not there.size:
        return "-", "-", "-", "-"
    return (
        number_text(float(there.mean()), ".6g"),
        number_text(float(there.std()), ".3g"),
        number_text(float(there.min()), ".6g"),
        number_text(float(there.max()), ".6g"),
    )
