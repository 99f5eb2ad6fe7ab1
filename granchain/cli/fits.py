"""Tables of the commands `granchain fit` and `granchain equivalent`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import granchain as gc
from granchain.pages.blocks import Block, Grid, Paragraph, number_grid, number_text
from granchain.pages.compared import agreement_cells


def fit_tables(found: gc.Fit) -> list[Block]:
    """Return the values of a fit with their errors, their correlations, and every sensor."""
    keys = found.key.tolist()
    correlations = (
        (key, *(number_text(one, "+.3f") for one in row))
        for key, row in zip(keys, found.correlation.tolist(), strict=True)
    )
    sensors = (
        (
            str(one.bead),
            *agreement_cells("peak", one.peak),
            *agreement_cells("arrival", one.arrival),
            number_text(one.residual, "+.2g"),
        )
        for one in found.sensors
    )
    columns = (
        "bead", "peak [N]", "+-", "fitted", "error [%]",
        "arrival [us]", "+-", "fitted", "error [us]", "normalized residual",
    )  # fmt: skip
    blocks: list[Block] = [
        Paragraph(f"{found.title}: {found.about.words}. Fitted to {found.measure}."),
        values_grid(found, "Fitted values"),
    ]
    if len(keys) > 1:
        title = "Correlations of the errors"
        blocks.append(number_grid(("correlation", *keys), correlations, title, words=1))
    blocks.append(number_grid(columns, sensors, "Measured and fitted first pulses"))
    gains = found.gain / found.common_gain - 1.0
    if gains.any() or found.shift.any():
        rows = (
            (str(bead), f"{100.0 * gain:+.2g}", f"{1e6 * shift:+.2g}")
            for bead, gain, shift in zip(found.sensor_bead, gains, found.shift, strict=True)
        )
        errors = ("bead", "gain error [%]", "clock error [us]")
        blocks.append(number_grid(errors, rows, "Gain and clock errors of each sensor"))
    return blocks + [Paragraph(sentence) for sentence in fit_sentences(found)]


def fit_sentences(found: gc.Fit) -> list[str]:
    """Return sentences about the calibration, the clock, and the residuals of a fit."""
    sentences = []
    if found.common_gain != 1.0:
        sentences.append(
            f"Calibration: the fit attributes an error of {100.0 * (found.common_gain - 1.0):+.2g} "
            "% to the measured forces. The fitted forces above include this error."
        )
    if np.isfinite(found.time_shift):
        sentences.append(f"Time shift applied to the simulation: {1e6 * found.time_shift:.5g} us.")
    if found.degrees_of_freedom:
        sentences.append(
            f"Normalized residual: {number_text(found.scatter, '.2g')} "
            f"({found.degrees_of_freedom:.3g} degrees of freedom)."
        )
    return sentences


def values_grid(found: gc.Fit, title: str) -> Grid:
    """Return the values of a fit with their errors and intervals."""
    rows = []
    for key, degrees in zip(found.key.tolist(), found.interval_degrees.tolist(), strict=True):
        low, high, error = (found[f"{key}{ending}"] for ending in ("_low", "_high", "_error"))
        intervals = (
            f"{first:.5g} to {last:.5g}" if np.isfinite(first) else "-"
            for first, last in zip(low, high, strict=True)
        )
        rows.append((
            key,
            number_text(found[key]),
            f"{error:.2g}" if np.isfinite(error) else "not determined",
            number_text(degrees, ".2g"),
            *intervals,
            number_text(found[f"{key}_start"]),
        ))  # fmt: skip
    levels = (f"{100.0 * level:g} % interval" for level in found.level)
    columns = ("key", "value", "+-", "degrees of freedom", *levels, "initial value")
    return number_grid(columns, rows, title, words=1)


def fits_tables(found: gc.Ranking[gc.Fit]) -> list[Block]:
    """Return the ranking of fitted laws, the differences of each pair, the residuals at every
    sensor, and the values of each law."""
    names = found["law"].tolist()
    keys = list(dict.fromkeys(key for one in found for key in one.values))
    cells = [
        {key: number_text(one.values.get(key), ".5g") for key in keys}
        | {
            "AIC": number_text(one.aic, ".5g"),
            "delta AIC": number_text(one.aic - np.nanmin(found.aic), ".4g"),
            "misfit [%]": number_text(one.misfit, ".3g", 100.0),
            "describes the data": "yes" if one.describes else "no",
        }
        for one in found
    ]
    pairs = tuple(
        (
            names[i],
            names[j],
            number_text(found.aic_difference[i, j].item(), "+.4g"),
            number_text(found.aic_scatter[i, j].item(), ".2g"),
            "distinguishable" if found.distinguishable[i, j] else "not distinguishable",
        )
        for i in range(len(found))
        for j in range(i + 1, len(found))
    )
    columns = ("law", "other law", "difference of AIC", "+-", "conclusion")
    return [
        Paragraph(f"{found.title}: {found[0].about.words}. Laws fitted to {found.measure}."),
        ranking_grid(found, cells, "Laws ranked by AIC"),
        Grid(columns, pairs, "Pairwise comparison of the laws, from blocks of the trace", "<<>><"),
        sensors_grid(found, found.residuals, "+.3g", 1.0, "Normalized residual"),
        *(values_grid(one, f"Values of {law}") for law, one in zip(names, found, strict=True)),
    ]


def equivalence_tables(found: gc.Ranking[gc.Equivalent]) -> list[Block]:
    """Return the ranking of equivalents, and the differences at every sensor."""
    names, ranks = found["law"].tolist(), found.rank.tolist()
    free = list(dict.fromkeys(name for one in found for name in one.free))
    traces = found.measure == "traces"
    what = "complete traces" if traces else f"the {found.measure} of the first pulse"
    cells = [
        {name: number_text(one.inputs.get(name)) for name in free}
        | {
            "residual [%]": number_text(one.residual, factor=100.0),
            "largest [%]": number_text(float(np.abs(one.per_bead).max()), factor=100.0),
        }
        for one in found
    ]
    ties = [
        [law for law, rank in zip(names, ranks, strict=True) if rank == tied]
        for tied in dict.fromkeys(ranks)
    ]
    sign = "norm of the difference" if traces else f"relative to {found.to}"
    return [
        Paragraph(
            f"{found.title or 'the case'}: laws that approximate {found.to}, compared by {what} "
            f"at {len(found.sensor_bead)} sensors."
        ),
        ranking_grid(found, cells, "Laws ranked by residual"),
        *(
            Paragraph(
                f"{', '.join(tied)} have the same residual: with these inputs, they give the "
                "same results in this chain."
            )
            for tied in ties
            if len(tied) > 1
        ),
        sensors_grid(found, found.per_bead, "+.3g", 100.0, f"Residual at each bead, {sign} [%]"),
    ]


def sensors_grid(
    found: gc.Ranking[Any], values: np.ndarray, form: str, factor: float, title: str
) -> Grid:
    """Return a number of each sensor and law, (law, sensor), with a row for each sensor."""
    rows = (
        (str(bead), *(number_text(value, form, factor) for value in of_laws))
        for bead, of_laws in zip(found.sensor_bead, values.T.tolist(), strict=True)
    )
    return number_grid(("bead", *found["law"]), rows, title)


def ranking_grid(found: gc.Ranking[Any], cells: Sequence[Mapping[str, str]], title: str) -> Grid:
    """Return rank and law, and further cells of each law by column."""
    columns = list(dict.fromkeys(name for one in cells for name in one))
    rows = (
        (str(rank), law, *(one.get(name, "-") for name in columns))
        for rank, law, one in zip(found.rank, found["law"], cells, strict=True)
    )
    return Grid(("rank", "law", *columns), tuple(rows), title, "><" + ">" * len(columns))
