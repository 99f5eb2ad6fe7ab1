"""What a report says of bands, of waves measured in a run, of small waves in a row and of a row's
modes; and `save`, which
writes the file that a report, a figure and `granchain cite` read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from granchain.case import Case, check_case
from granchain.comparison import Comparison
from granchain.errors import CaseError
from granchain.figures import (
    band_traces,
    dispersion_curves,
    sensitivities,
    spectrum,
)
from granchain.pages.blocks import Block, Grid, Paragraph, Picture, number_grid, number_text
from granchain.plain_data import plain_data
from granchain.store.conclusion import claim_conclusion, save_conclusion
from granchain.store.study import save_answer
from granchain.studies.fitted import Fit
from granchain.studies.ranking import Ranking
from granchain.theory.lattice import Dispersion
from granchain.waves.spectra import Spectrum

# Larger numbers are no measurements: differences and ticks of them may be no numbers.
DRAWABLE = 1e100


def kind_and_numbers(found: Any) -> tuple[str, dict[str, Any]]:
    """Kind and plain numbers of what was found, as its file has them.

    Raises
    ------
    CaseError
        For what no command writes to a file of numbers.
    """
    if isinstance(found, Ranking) and found:
        kind = "fits" if isinstance(found[0], Fit) else "equivalence"
        return kind, found.as_dict()
    if "nominal_force" in getattr(found, "data_vars", ()):
        return "bands", {"bands": plain_data(found.to_dict())}
    if isinstance(found, Spectrum):
        waves = None if found.dispersion is None else found.dispersion.as_dict()
        axes = {name: plain_data(getattr(found, name)) for name in ("cell_frequency", "wavenumber")}
        # more digits than a colour shows would be ten times the file
        power = [[float(f"{one:.4g}") for one in row] for row in found.power.tolist()]
        return "spectrum", {**found.as_dict(), "dispersion": waves, **axes, "power": power}
    for kind, of in (
        ("comparison", Comparison), ("fit", Fit), ("dispersion", Dispersion)
    ):  # fmt: skip
        if isinstance(found, of):
            return kind, found.as_dict()
    raise CaseError(
        f"save: {type(found).__name__} is not supported. It must be a result of compare, "
        "equivalent, fit, bands, spectrum, dispersion, or modes. Results of runs, ensembles, "
        "and studies have a save method."
    )


def save(
    found: Any,
    path: str | os.PathLike[str],
    case: Case | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write an analysis result to a JSON file.

    The file is equal to the one written by `--out FILE.json` of the command. `report`, `granchain
    plot`, and `granchain cite` can read it.

    Parameters
    ----------
    found : Comparison, list of Equivalent, Fit, list of Fit, xarray.Dataset, Spectrum,
        Dispersion, Modes
        Result of `compare`, `equivalent`, `fit`, `bands`, `spectrum`, `dispersion`, or `modes`. The
        map of a spectrum is stored with four digits and without `cosine`.
    path : str or path
        Output file with the ending .json.
    case : Case, optional
        Case of the analysis. Not required for a comparison or a fit.
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
    ...     gc.save(gc.modes(case), os.path.join(folder, "modes.json"), case)
    """
    if Path(path).suffix == ".h5":
        save_answer(found, path, overwrite)
        return
    kind, facts = kind_and_numbers(found)
    case = getattr(found, "case", None) or case
    if case is None and kind != "comparison":
        raise CaseError(
            f"save: the case is missing. The file contains the case of the {kind}. Pass it as case."
        )
    if case is not None:
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


def as_bands(facts: Mapping[str, Any]) -> Any:
    """The dataset of `granchain.bands`."""
    import xarray

    there = {**facts["bands"]}
    for group in ("coords", "data_vars"):
        there[group] = {
            name: {**one, "data": drawable(one["data"])} for name, one in there[group].items()
        }
    return xarray.Dataset.from_dict(there)


def bands_page(facts: Mapping[str, Any]) -> tuple[str, list[Block], list[str]]:
    """Title, blocks and laws of bands."""
    found = as_bands(facts)
    words = (
        "First pulse at each sensor: the case as a line, and the uncertainty bands of the ensemble."
    )
    blocks = [Picture(lambda: band_traces(found), words)]
    words = "Sensitivity of the peak to each uncertain parameter: first-order and total indices."
    blocks += [Picture(lambda: sensitivities(found), words)] * ("first_order" in found)
    spread = ", ".join(
        f"{key} {number_text(abs(deviation / value), '.3g', 100.0)} %"
        for key, value, deviation in zip(
            found["key"].values.tolist(),
            found["value"].values.tolist(),
            found["standard_deviation"].values.tolist(),
            strict=True,
        )
    )
    runs, status = found.attrs["runs"], found.attrs["status"]
    about = f"{runs} runs: {status}. Relative standard deviations of the parameters: {spread}."
    title = f"Uncertainty bands of {found.attrs['title'] or 'the case'}"
    told = found.attrs.get("missing_note")
    notes = [Paragraph(str(told), warning=True)] if told else []
    return (
        title,
        [Paragraph(about), *notes, *blocks, *band_tables(found)],
        [str(found.attrs["law"])],
    )


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


# --------------------------------------------------------------------------------------------------
# Waves


def arrays(facts: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of numbers as the arrays that they were; None in them is nan."""
    found = {name: facts.get(name) for name in names}
    for name, value in found.items():
        if isinstance(value, list):
            array = np.array(value)
            found[name] = array.astype(float) if array.dtype == object else array
    return found


def as_spectrum(facts: Mapping[str, Any]) -> Spectrum:
    """What `granchain.spectrum` found, without the cosine."""
    own, waves = arrays(facts, Spectrum.__dataclass_fields__), facts["dispersion"]
    own["cosine"], own["messages"] = np.zeros(0, complex), tuple(facts["messages"])
    if waves is not None:
        own["dispersion"] = Dispersion(**arrays(waves, Dispersion.__dataclass_fields__))
    return Spectrum(**own)


def spectrum_page(facts: Mapping[str, Any]) -> tuple[str, list[Block], list[str]]:
    """Title, blocks and laws of a spectrum."""
    found = as_spectrum(facts)
    words = (
        "Amplitude ratio of sensor to source, its coherence, and, if it was computed, "
        "frequency versus wavenumber."
    )
    grid = spectrum_table(found)
    blocks: list[Block] = [
        *map(Paragraph, spectrum_words(found)),
        Picture(lambda: spectrum(found), words),
        *([grid] if grid.rows else []),
    ]
    return f"Measured spectrum of {found.title or 'the run'}", blocks, [found.law]


def spectrum_words(found: Spectrum) -> list[str]:
    """From where to where a spectrum is, how fine, and what a driven end adds."""
    lines = [
        f"{found.source} to {found.sensor}: {len(found.frequency)} frequencies up to "
        f"{float(found.frequency[-1]):.6g} Hz, resolution {found.resolution:.4g} Hz"
    ]
    if found.source.endswith(" drive"):
        lines.append(
            f"The source is the {found.source}, so the transmission includes the drive and "
            "the first contacts. For the chain alone, use --from BEAD."
        )
    return lines


def spectrum_table(found: Spectrum) -> Grid:
    """Every edge that was measured, or why not, beside that of the dispersion."""
    columns = ("band", "edge", "measured [Hz]", "+- [Hz]", "predicted [Hz]", "error [%]", "note")
    rows = []
    edges, errors = found.band_edges.tolist(), found.band_edge_errors.tolist()
    for i, band in enumerate(edges):
        for j, name in enumerate(("lower", "upper")):
            there = math.nan
            if found.dispersion is not None:
                there = float(found.dispersion.band_edges[i, j])
            off = 100.0 * (band[j] / there - 1.0) if there > 0.0 else math.nan
            edge, error = number_text(band[j], ".6g"), number_text(errors[i][j], ".2g")
            cells = (number_text(there, ".6g"), number_text(off, "+.2f"))
            reason = str(found.band_edge_reasons[i, j])
            rows.append((str(i + 1), name, edge, error, *cells, reason))
    return Grid(columns, tuple(rows), "Passband edges", "><>>>><")


def dispersion_page(facts: Mapping[str, Any]) -> tuple[str, list[Block], list[str]]:
    """Title, blocks and laws of small waves."""
    case = facts["case_resolved"]
    found = Dispersion(**arrays(facts, Dispersion.__dataclass_fields__))
    words = "Frequency versus wavenumber of small waves about the static state. Band gaps are grey."
    picture = Picture(lambda: dispersion_curves(found), words)
    blocks: list[Block] = [picture, *dispersion_tables(found)]
    title = f"Dispersion of {case.get('title') or 'the case'}"
    return title, blocks, [case["contact"]["law"]]


def dispersion_tables(found: Dispersion) -> tuple[Grid, Paragraph]:
    """Bands and gaps, and how fast long waves are."""
    kinds = (("band", found.band_edges), ("gap", found.gaps))
    rows = [(kind, f"{low:.6g}", f"{high:.6g}") for kind, ends in kinds for low, high in ends]
    speed = found.long_wave_speed * (found.length or math.nan)
    count = found.masses.size
    cell = (
        f"unit cell of {count} bead{'s' * (count > 1)}, length {found.length or math.nan:.6g} m; "
    )
    return (
        number_grid(("", "from [Hz]", "to [Hz]"), rows, "Passbands and band gaps", words=1),
        Paragraph(f"{cell}long-wave speed {speed:.6g} m/s"),
    )
