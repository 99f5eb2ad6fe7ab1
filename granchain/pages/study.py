"""Blocks of a report about many runs: varied values, status, measures, and figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from granchain.analysis import summary
from granchain.errors import RunError
from granchain.figures import several_figures, study_figures
from granchain.figures.frame import (
    MOST_LINES,
    evenly_spaced,
    figure_title,
    labels_of,
    reading_unit,
)
from granchain.pages.blocks import (
    Block,
    Grid,
    Heading,
    Paragraph,
    Picture,
    number_grid,
    number_text,
)
from granchain.pages.run import (
    FIGURE_WORDS,
    case_blocks,
    citation,
    law_blocks,
    origin,
    resolved,
    setup_blocks,
)
from granchain.store.schema import unit_of_attributes
from granchain.store.study import messages_of_study
from granchain.studies.measures import missing_note

# Largest number of listed values of a key, and of listed members.
MOST_ROWS_OF_A_STUDY, MOST_MEMBERS = 12, 40
# Captions of figures whose names are too short.
OTHERWISE = {
    "peaks": "peaks along the chain",
    "hysteresis": "hysteresis of the chained sweep",
    "band_traces": "first pulse at each sensor: the nominal case as a line, and uncertainty bands",
    "sensitivities": "sensitivity of the peak to each parameter: first-order and total indices",
    "frequencies": "frequencies of the modes",
}
# Messages of a study.
MOST_MESSAGES = 12


def study_blocks(study: Any, name: str) -> list[Block]:
    """Return the blocks of a report about a study.

    Parameters
    ----------
    study : xarray.Dataset
        Result of `granchain.sweep`, `bands`, `impacts`, or `mode_study`.
    name : str
        Name of its file.
    """
    notes = messages_of_study(study)
    if "message" in study:
        notes += np.asarray(study["message"].values, dtype=str).ravel().tolist()
    notes = [note for note in dict.fromkeys(notes) if note][:MOST_MESSAGES]
    laws = str(study.attrs["law"]).split(", ") if "law" in study.attrs else []
    for key in ("contact.law", "law"):
        if key in study.coords:
            laws = [str(law) for law in np.unique(study[key].values)]
    about = {"case_resolved_json": study.attrs.get("case_resolved_json")}
    facts = {name: str(value) for name, value in study.attrs.items() if np.ndim(value) == 0}
    return [
        Heading(str(study.attrs.get("title") or name), 1),
        Paragraph(members_of(study)),
        *(Paragraph(note, warning=True) for note in notes),
        *value_grids(study),
        Heading("Figures", 2),
        *(
            Picture(draw, f"{re.sub('[-_]', ' ', OTHERWISE.get(what, what)).capitalize()}.")
            for what, draw in study_figures(study).items()
        ),
        *(block for law in laws for block in law_blocks(law, {})),
        *case_blocks(about),
        *origin(facts, name, ("how", "n", "seed", "pair_json", "inputs_json")),
        *citation(laws),
    ]


def members_of(study: Any) -> str:
    """Return what a study consists of, and how its members ended."""
    kind = str(study.attrs.get("granchain_study"))
    if kind == "impacts":
        return f"{study['reason'].size} impacts of two bodies."
    if kind == "mode_study":
        return f"Modes of {study['frequencies'].size // study['mode'].size} chains."
    if kind == "bands":
        return bands_words(study)
    statuses, counts = np.unique(np.asarray(study["status"].values, dtype=str), return_counts=True)
    ended = ", ".join(
        f"{count} {status}"
        for status, count in zip(statuses.tolist(), counts.tolist(), strict=True)
    )
    return f"Study of {study['status'].size} members: {ended}."


def value_grids(study: Any) -> list[Block]:
    """Return tables of the varied values and of the results of a study."""
    if study.attrs.get("granchain_study") == "bands":
        return list(band_tables(study))
    about = {"case_resolved_json": study.attrs.get("case_resolved_json")}
    # a quantity of the striker that is not in the case equals that of the beads
    given = resolved({"case_resolved_json": study.attrs.get("case_json")}).get("striker") or {}
    follows = [
        f"striker.{name}"
        for name in ("radius", "mass", "material")
        if name not in given and any(f"{key}.".startswith(f"chain.{name}.") for key in study.coords)
    ]
    keys = []
    for key in study.coords:
        values = np.asarray(study[key].values).reshape(-1).tolist()
        few = len(values) <= MOST_ROWS_OF_A_STUDY
        words = (number_text(one, ".4g") for one in (values if few else (values[0], values[-1])))
        unit = unit_of_attributes(study[key].attrs) or "-"
        keys.append((key, str(study[key].size), (", " if few else " ... ").join(words), unit))
    measured = [
        name for name in study.data_vars if study[name].dtype.kind == "f" and study[name].size
    ]
    rows = tuple((name.replace("_", " "), *spread_row(study[name])) for name in measured)
    columns = ("", "mean", "standard deviation", "minimum", "maximum", "unit")
    return [
        Grid(("key", "values", "", "unit"), tuple(keys), "Varied parameters, and other axes"),
        *setup_blocks(resolved(about), [*map(str, study.coords), *follows]),
        Grid(columns, rows, "Results, over all members"),
    ]


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
    """Return tables of the quantiles and of the sensitivity indices at each sensor.

    Parameters
    ----------
    found : xarray.Dataset
        Result of `granchain.bands`.
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


def ensemble_blocks(ensemble: Any, about: Mapping[str, Any], name: str) -> list[Block]:
    """Return the blocks of a report about an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
    about : mapping
        Provenance of the ensemble.
    name : str
        Name of its file.
    """
    places, note = evenly_spaced(len(ensemble), MOST_MEMBERS, "members")
    found = {}
    for place in places:
        # a member that could not be set up has no result
        with suppress(RunError):
            found[place] = ensemble[place]
    results = list(found.values())
    labels = dict(zip(found, labels_of(results), strict=True)) if found else {}
    title = figure_title(results)
    # words such as "contact.psi 2.6, striker.speed 1"
    differing = {part.split(" ")[0] for word in labels.values() for part in word.split(", ")}
    ended = [status.label for status in ensemble.status]
    counts = ", ".join(f"{ended.count(one)} {one}" for one in dict.fromkeys(ended))
    numbers = {place: summary(result) for place, result in found.items()}
    beads = sorted({pulse.bead for one in numbers.values() for pulse in one.sensors})
    shown = [beads[k] for k in evenly_spaced(len(beads), MOST_LINES, "")[0]]
    rows = []
    for place in places:
        cells = [str(place), labels.get(place, "-"), ended[place]]
        if one := numbers.get(place):
            # a pulse that has not arrived, or not ended, has no numbers
            peaks = {pulse.bead: pulse.peak for pulse in one.sensors if pulse.complete}
            cells += [
                number_text(one.wave_speed, "#.5g"),
                *(number_text(peaks.get(k), "#.5g") for k in shown),
            ]
        else:
            cells += ["-"] * (1 + len(shown))
        rows.append(cells)
    ends = [{pulse.bead: pulse.complete for pulse in one.sensors} for one in numbers.values()]
    late = np.array([[not one.get(bead, True) for bead in beads] for one in ends], dtype=bool)
    words = missing_note(late, beads)
    columns = ("run", "parameters", "status", "wave speed [m/s]", *(f"bead {k} [N]" for k in shown))
    laws = list(dict.fromkeys(law for result in results for law in result.law.split(", ")))
    drawn: list[Block] = []
    if found:
        chosen = evenly_spaced(len(results), MOST_LINES, "")[0]
        several = several_figures(
            [results[k] for k in chosen], [list(labels.values())[k] for k in chosen]
        )
        drawn = [
            # the keys that differ are listed for each member
            *setup_blocks(resolved(results[0].provenance), differing),
            Heading("Figures", 2),
            *(Picture(draw, FIGURE_WORDS[what]) for what, draw in several.items()),
        ]
    return [
        Heading(f"{len(ensemble)} runs" + (f": {title}" if title else ""), 1),
        Paragraph(f"Ensemble of {len(ensemble)} members: {counts}."),
        *(Paragraph(one, warning=True) for one in ensemble.messages if one),
        *([Paragraph(f"{note}.")] if note else []),
        *([Paragraph(words, warning=True)] if words else []),
        number_grid(columns, rows, "Members: wave speed, and peak force at sensors", 3),
        *drawn,
        *(block for law in laws for block in law_blocks(law, {})),
        *(case_blocks(results[0].provenance) if found else []),
        *origin(about, name),
        *citation(laws),
    ]


def spread_row(variable: Any) -> tuple[str, ...]:
    """Return mean, standard deviation, minimum, maximum, and unit of the finite values."""
    finite = variable.values[np.isfinite(variable.values)]
    unit = unit_of_attributes(variable.attrs) or "1"
    if not finite.size:
        return "-", "-", "-", "-", unit
    factor, unit = reading_unit(float(np.abs(finite).max()), unit)
    # of a sample, as in the figures
    deviation = float(finite.std(ddof=1)) if finite.size > 1 else None
    spread = number_text(deviation, ".3g", factor)
    mean, low, high = (
        number_text(float(one), "#.6g", factor)
        for one in (finite.mean(), finite.min(), finite.max())
    )
    return mean, spread, low, high, unit or "-"
