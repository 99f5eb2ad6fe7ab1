"""Tables of the commands `granchain fit` and `granchain equivalent`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import granchain as gc
from granchain.cli.compared import agreement_cells, shift_text
from granchain.markup import Grid
from granchain.show.blocks import Block, Paragraph, number_grid, number_text


def fit_tables(fit: gc.Fit) -> list[Block]:
    """Return the values of a fit with their errors, their correlations, and every sensor."""
    keys = fit.key.tolist()
    correlations = (
        (key, *(number_text(value, "+.3f") for value in row))
        for key, row in zip(keys, fit.correlation.tolist(), strict=True)
    )
    sensors = (
        (
            str(sensor.bead),
            *agreement_cells("peak", sensor.peak),
            *agreement_cells("arrival", sensor.arrival),
            number_text(sensor.residual, "+.2g"),
        )
        for sensor in fit.sensors
    )
    columns = (
        "bead", "peak [N]", "+-", "fitted", "error [%]",
        "arrival [us]", "+-", "fitted", "error [us]", "normalized residual",
    )  # fmt: skip
    blocks: list[Block] = [
        Paragraph(fit.conclusion),
        Paragraph(f"{fit.title}: {fit.about.kind_text}. Fitted to {fit.measure}."),
        values_grid(fit, "Fitted values"),
    ]
    if len(keys) > 1:
        title = "Correlations of the errors"
        blocks.append(number_grid(("correlation", *keys), correlations, title, text_columns=1))
    blocks.append(number_grid(columns, sensors, "Measured and fitted first pulses"))
    gains = fit.gain / fit.common_gain - 1.0
    if gains.any() or fit.shift.any():
        rows = (
            (str(bead), f"{100.0 * gain:+.2g}", f"{1e6 * shift:+.2g}")
            for bead, gain, shift in zip(fit.sensor_bead, gains, fit.shift, strict=True)
        )
        errors = ("bead", "gain error [%]", "clock error [us]")
        blocks.append(number_grid(errors, rows, "Gain and clock errors of each sensor"))
    return blocks + [Paragraph(sentence) for sentence in fit_sentences(fit)]


def fit_sentences(fit: gc.Fit) -> list[str]:
    """Return sentences about the calibration, the clock, and the residuals of a fit."""
    sentences = []
    if fit.common_gain != 1.0:
        sentences.append(
            f"Calibration: the fit attributes an error of {100.0 * (fit.common_gain - 1.0):+.2g} "
            "% to the measured forces. The fitted forces above include this error."
        )
    if np.isfinite(fit.time_shift):
        sentences.append(f"Time shift applied to the simulation: {shift_text(fit)}.")
    if fit.degrees_of_freedom:
        sentences.append(
            f"Normalized residual: {number_text(fit.scatter, '.2g')} "
            f"({fit.degrees_of_freedom:.3g} degrees of freedom)."
        )
    return sentences


def values_grid(fit: gc.Fit, title: str) -> Grid:
    """Return the values of a fit with their errors and intervals."""
    rows = []
    for key, degrees in zip(fit.key.tolist(), fit.interval_degrees.tolist(), strict=True):
        low, high, error = (fit[f"{key}{ending}"] for ending in ("_low", "_high", "_error"))
        intervals = (
            f"{first:.5g} to {last:.5g}" if np.isfinite(first) else "-"
            for first, last in zip(low, high, strict=True)
        )
        rows.append((
            key,
            number_text(fit[key]),
            f"{error:.2g}" if np.isfinite(error) else "not determined",
            number_text(degrees, ".2g"),
            *intervals,
            number_text(fit[f"{key}_start"]),
        ))  # fmt: skip
    levels = (f"{100.0 * level:g} % interval" for level in fit.level)
    columns = ("key", "value", "+-", "degrees of freedom", *levels, "initial value")
    return number_grid(columns, rows, title, text_columns=1)


def fits_tables(ranking: gc.Ranking[gc.Fit]) -> list[Block]:
    """Return the ranking of fitted laws, the differences of each pair, the residuals at every
    sensor, and the values of each law."""
    names = ranking["law"].tolist()
    keys = list(dict.fromkeys(key for entry in ranking for key in entry.values))
    cells = [
        {key: number_text(entry.values.get(key), ".5g") for key in keys}
        | {
            "AIC": number_text(entry.aic, ".5g"),
            "delta AIC": number_text(entry.aic - np.nanmin(ranking.aic), ".4g"),
            "misfit [%]": number_text(entry.misfit, ".3g", 100.0),
            "describes the data": "yes" if entry.describes else "no",
        }
        for entry in ranking
    ]
    pairs = tuple(
        (
            names[i],
            names[j],
            number_text(ranking.aic_difference[i, j].item(), "+.4g"),
            number_text(ranking.aic_scatter[i, j].item(), ".2g"),
            "distinguishable" if ranking.distinguishable[i, j] else "not distinguishable",
        )
        for i in range(len(ranking))
        for j in range(i + 1, len(ranking))
    )
    columns = ("law", "other law", "difference of AIC", "+-", "conclusion")
    return [
        Paragraph(ranking.conclusion),
        Paragraph(
            f"{ranking.title}: {ranking[0].about.kind_text}. Laws fitted to {ranking.measure}."
        ),
        ranking_grid(ranking, cells, "Laws ranked by AIC"),
        Grid(columns, pairs, "Pairwise comparison of the laws, from blocks of the trace", "<<>><"),
        sensors_grid(ranking, ranking.residuals, "+.3g", 1.0, "Normalized residual"),
        *(
            values_grid(entry, f"Values of {law}")
            for law, entry in zip(names, ranking, strict=True)
        ),
    ]


def equivalence_tables(ranking: gc.Ranking[gc.Equivalent]) -> list[Block]:
    """Return the ranking of equivalents, and the differences at every sensor."""
    names, ranks = ranking["law"].tolist(), ranking.rank.tolist()
    free = list(dict.fromkeys(name for entry in ranking for name in entry.free))
    traces = ranking.measure == "traces"
    what = "complete traces" if traces else f"the {ranking.measure} of the first pulse"
    cells = [
        {name: number_text(entry.inputs.get(name)) for name in free}
        | {
            "residual [%]": number_text(entry.residual, factor=100.0),
            "largest [%]": number_text(float(np.abs(entry.per_bead).max()), factor=100.0),
        }
        for entry in ranking
    ]
    ties = [
        [law for law, rank in zip(names, ranks, strict=True) if rank == tied]
        for tied in dict.fromkeys(ranks)
    ]
    sign = "norm of the difference" if traces else f"relative to {ranking.to}"
    return [
        Paragraph(
            f"{ranking.title or 'the case'}: laws that approximate {ranking.to}, compared by "
            f"{what} at {len(ranking.sensor_bead)} sensors."
        ),
        ranking_grid(ranking, cells, "Laws ranked by residual"),
        *(
            Paragraph(
                f"{', '.join(tied)} have the same residual: with these inputs, they give the "
                "same results in this chain."
            )
            for tied in ties
            if len(tied) > 1
        ),
        sensors_grid(
            ranking, ranking.per_bead, "+.3g", 100.0, f"Residual at each bead, {sign} [%]"
        ),
    ]


def sensors_grid(
    ranking: gc.Ranking[Any], values: np.ndarray, form: str, factor: float, title: str
) -> Grid:
    """Return a number of each sensor and law, (law, sensor), with a row for each sensor."""
    rows = (
        (str(bead), *(number_text(value, form, factor) for value in of_laws))
        for bead, of_laws in zip(ranking.sensor_bead, values.T.tolist(), strict=True)
    )
    return number_grid(("bead", *ranking["law"]), rows, title)


def ranking_grid(ranking: gc.Ranking[Any], cells: Sequence[Mapping[str, str]], title: str) -> Grid:
    """Return rank and law, and further cells of each law by column."""
    columns = list(dict.fromkeys(name for entry in cells for name in entry))
    rows = (
        (str(rank), law, *(entry.get(name, "-") for name in columns))
        for rank, law, entry in zip(ranking.rank, ranking["law"], cells, strict=True)
    )
    return Grid(("rank", "law", *columns), tuple(rows), title, "><" + ">" * len(columns))
