"""What was concluded, in tables: a comparison, an equivalence, a fit; `rest` has the others. The
command line prints the tables; a report shows them of the file that `--out FILE.json` of a command
wrote."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from granchain.comparison import Agreement
from granchain.figures import equivalence, fit, fits
from granchain.pages.blocks import (
    STRANGE,
    Block,
    Boxed,
    Grid,
    Heading,
    Paragraph,
    Picture,
    number_grid,
    number_text,
)
from granchain.pages.compared import agreement_cells
from granchain.pages.rest import bands_page, drawable
from granchain.pages.run import case_blocks, citation, law_blocks, origin

# Fits of a ranking whose pulses a page shows.
MOST_FITS = 3


def conclusion_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """All that a report says of such a file.

    Parameters
    ----------
    facts : mapping
        What it holds; of an edited file that may be anything.
    name : str
        Of the file.
    """
    try:
        heading, blocks, met = COMPOSERS[str(facts["kind"])](facts)
        # those of a result of several are in one word
        laws = [law for several in met for law in several.split(", ")]
        blocks = [Heading(heading, 1), *messages_of(facts), *blocks]
        named = [block for law in dict.fromkeys(laws) for block in law_blocks(law, {})]
    except STRANGE:
        text = json.dumps(facts, indent=1)[:LARGEST_TEXT]
        blocks, named, laws = [Boxed("Contents of the file", text)], [], []
        blocks = [Heading(f"{facts['kind']}: {name}", 1), *blocks]
    about = {
        **{key: value for key, value in facts.items() if isinstance(value, str)},
        "case_resolved_json": json.dumps(facts.get("case_resolved") or {}),
        "versions": json.dumps(facts.get("versions")),
    }
    case = case_blocks(about) if facts.get("case") else []
    return [*blocks, *named, *citation(laws), *case, *origin(about, name)]


# Characters of a strange file that a page shows.
LARGEST_TEXT = 100_000


def messages_of(facts: Mapping[str, Any]) -> list[Block]:
    """Messages of a conclusion and of its parts, each once, and the tolerances that were missed."""
    parts = (facts, *facts.get("results", ()), *facts.get("laws", ()))
    told = [one for part in parts for one in (*part.get("messages", ()), *part.get("missed", ()))]
    return [Paragraph(one, warning=True) for one in dict.fromkeys(map(str, told))]


def as_trace(facts: Mapping[str, Any]) -> Any:
    """What figures take of a trace."""
    about = SimpleNamespace(**facts)
    return SimpleNamespace(about=about, synthetic=facts["kind"] == "synthetic", words=about.words)


def as_agreement(facts: Mapping[str, Any]) -> Agreement:
    """Return a measured and a computed value of a JSON file."""
    values = (facts[name] for name in Agreement._fields)
    return Agreement(*(math.nan if value is None else value for value in values))


# --------------------------------------------------------------------------------------------------
# An equivalence


def equivalence_page(facts: Mapping[str, Any]) -> tuple[str, list[Block], list[str]]:
    """Title, blocks and laws of an equivalence."""
    title = facts["case_resolved"].get("title") or "the case"
    about, *tables = equivalence_tables(facts, title)
    shared = {key: facts[key] for key in ("to", "measure", "sensor_bead")}
    as_found: list[Any] = [
        SimpleNamespace(**drawable(shared), **drawable(one)) for one in facts["laws"]
    ]
    words = "Ranking of the laws, and residual at each bead."
    blocks = [about, Picture(lambda: equivalence(as_found), words), *tables]
    laws = [facts["to"], *(one["law"] for one in facts["laws"])]
    return f"Surrogate laws for {facts['to']}", blocks, laws


def equivalence_tables(facts: Mapping[str, Any], title: str) -> list[Block]:
    """The ranking, and what remains bead by bead."""
    laws, to = facts["laws"], facts["to"]
    free = list(dict.fromkeys(name for one in laws for name in one["free"]))
    traces = facts["measure"] == "traces"
    what = "complete traces" if traces else f"the {facts['measure']} of the first pulse"
    names = [one["law"] for one in laws]
    cells = [
        {name: number_text(one["inputs"].get(name)) for name in free}
        | {
            "residual [%]": number_text(one["residual"], factor=100.0),
            "largest [%]": number_text(largest(one["per_bead"]), factor=100.0),
        }
        for one in laws
    ]
    ranks = sorted({one["rank"] for one in laws})
    ties = [[one["law"] for one in laws if one["rank"] == rank] for rank in ranks]
    rows = (
        (str(bead), *(number_text(one["per_bead"][k], "+.3g", 100.0) for one in laws))
        for k, bead in enumerate(facts["sensor_bead"])
    )
    sign = "norm of the difference" if traces else f"relative to {to}"
    return [
        Paragraph(
            f"{title}: laws that approximate {to}, compared by {what} at "
            f"{len(facts['sensor_bead'])} sensors."
        ),
        ranking_grid(laws, cells, "Laws ranked by residual"),
        *(
            Paragraph(
                f"{', '.join(tied)} have the same residual: with these inputs, they give the "
                "same results in this chain."
            )
            for tied in ties
            if len(tied) > 1
        ),
        number_grid(("bead", *names), rows, f"Residual at each bead, {sign} [%]"),
    ]


def ranking_grid(
    laws: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, str]], title: str
) -> Grid:
    """Rank and law, and what else there is of each law, by column."""
    columns = list(dict.fromkeys(name for one in cells for name in one))
    rows = (
        (str(one["rank"]), one["law"], *(more.get(name, "-") for name in columns))
        for one, more in zip(laws, cells, strict=True)
    )
    sides = "><" + ">" * len(columns)
    return Grid(("rank", "law", *columns), tuple(rows), title, sides)


def largest(values: Sequence[float | None]) -> float | None:
    """The largest size of numbers; None where one is missing."""
    return None if None in values else max(abs(value) for value in values if value is not None)


# --------------------------------------------------------------------------------------------------
# A fit


def as_fit(facts: Mapping[str, Any]) -> Any:
    """What figures take of a fit, alone or among others."""
    names = {"measure", "values", "errors", "correlation", "samples", "law", "rank", "aic"}
    return SimpleNamespace(
        trace=as_trace(facts["trace"]),
        sensors=[
            SimpleNamespace(
                bead=one["bead"],
                residual=one["residual"],
                peak=SimpleNamespace(**one["peak"]),
                arrival=SimpleNamespace(**one["arrival"]),
            )
            for one in drawable(facts["sensors"])
        ],
        residuals=drawable([one["residual"] for one in facts["sensors"]]),
        others=[SimpleNamespace(**drawable(other)) for other in facts.get("others", ())],
        **{name: drawable(facts[name]) for name in names & facts.keys()},
    )


def fit_figure(facts: Mapping[str, Any]) -> Any:
    """The figure of a fit, of its file."""
    return fit(as_fit(facts))


# Below it.
OF_A_FIT = (
    "Measured and fitted pulses and their difference, pulse properties at each sensor, and "
    "correlations of the fitted parameters."
)


def fit_page(facts: Mapping[str, Any]) -> tuple[str, list[Block], list[str]]:
    """Title, blocks and laws of a fit."""
    about, *tables = fit_tables(facts)
    blocks = [about, Picture(partial(fit_figure, facts), OF_A_FIT), *tables]
    law = facts["case_resolved"]["contact"]["law"]
    return f"Fit to {facts['trace']['title']}", blocks, [law]


def values_grid(facts: Mapping[str, Any], title: str) -> Grid:
    """The values of a fit with their errors and intervals."""

    def interval(level: str, key: str) -> str:
        low, high = facts["intervals"][level][key]
        return "-" if None in (low, high) else f"{low:.5g} to {high:.5g}"

    rows = (
        (
            key,
            number_text(facts["values"][key]),
            "not determined" if facts["errors"][key] is None else f"{facts['errors'][key]:.2g}",
            number_text(facts["interval_degrees"][key], ".2g"),
            *(interval(level, key) for level in ("0.68", "0.9", "0.95")),
            number_text(facts["start"][key]),
        )
        for key in facts["values"]
    )
    columns = (
        "key", "value", "+-", "degrees of freedom", "68 % interval", "90 % interval",
        "95 % interval", "initial value",
    )  # fmt: skip
    return number_grid(columns, rows, title, words=1)


def fits_page(facts: Mapping[str, Any]) -> tuple[str, list[Block], list[str]]:
    """Title, blocks and laws of fits of several laws."""
    about, *tables = fits_tables(facts)
    words = (
        "Ranking of the laws by the Akaike information criterion (AIC), and residual at each "
        "sensor."
    )
    ranking = Picture(lambda: fits([as_fit(one) for one in facts["laws"]]), words)
    best = (
        Picture(partial(fit_figure, one), f"{one['law']}. {OF_A_FIT}")
        for one in sorted(facts["laws"], key=lambda one: one["rank"])[:MOST_FITS]
    )
    blocks = [about, ranking, *tables, *best]
    title = f"Laws fitted to {facts['trace']['title']}"
    return title, blocks, [one["law"] for one in facts["laws"]]


def fits_tables(facts: Mapping[str, Any]) -> list[Block]:
    """The ranking of fitted laws, what tells each two of them apart, what is left at every
    sensor, and the values of each."""
    laws, trace = facts["laws"], facts["trace"]
    least = min((one["aic"] for one in laws if one["aic"] is not None), default=math.nan)
    keys = list(dict.fromkeys(key for one in laws for key in one["values"]))
    cells = [
        {key: number_text(one["values"].get(key), ".5g") for key in keys}
        | {
            "AIC": number_text(one["aic"], ".5g"),
            "delta AIC": number_text(None if one["aic"] is None else one["aic"] - least, ".4g"),
            "misfit [%]": number_text(one["misfit"], ".3g", 100.0),
            "describes the data": "yes" if one["describes"] else "no",
        }
        for one in laws
    ]
    pairs = (
        (
            one["law"],
            other["law"],
            number_text(other["difference"], "+.4g"),
            number_text(other["scatter"], ".2g"),
            "distinguishable" if other["told"] else "not distinguishable",
        )
        for i, one in enumerate(laws)
        for other in one["others"]
        if other["law"] not in [before["law"] for before in laws[:i]]
    )
    columns = ("law", "other law", "difference of AIC", "+-", "conclusion")
    rows = (
        (str(sensor["bead"]), *(number_text(one["sensors"][k]["residual"], "+.3g") for one in laws))
        for k, sensor in enumerate(laws[0]["sensors"])
    )
    names = [one["law"] for one in laws]
    return [
        Paragraph(f"{trace['title']}: {trace['words']}. Laws fitted to {facts['measure']}."),
        ranking_grid(laws, cells, "Laws ranked by AIC"),
        Grid(
            columns,
            tuple(pairs),
            "Pairwise comparison of the laws, from blocks of the trace",
            "<<>><",
        ),
        number_grid(("bead", *names), rows, "Normalized residual"),
        *(values_grid(one, f"Values of {one['law']}") for one in laws if one["values"]),
    ]


def fit_tables(facts: Mapping[str, Any]) -> list[Block]:
    """The values with their errors, their correlations, and every sensor."""
    trace, keys = facts["trace"], list(facts["values"])
    correlations = (
        (key, *(number_text(one, "+.3f") for one in row))
        for key, row in zip(keys, facts["correlation"], strict=True)
    )
    sensors = (
        (
            str(one["bead"]),
            *agreement_cells("peak", as_agreement(one["peak"])),
            *agreement_cells("arrival", as_agreement(one["arrival"])),
            number_text(one["residual"], "+.2g"),
        )
        for one in facts["sensors"]
    )
    columns = (
        "bead", "peak [N]", "+-", "fitted", "error [%]",
        "arrival [us]", "+-", "fitted", "error [us]", "normalized residual",
    )  # fmt: skip
    shared = facts["common_gain"]
    own = [one / shared - 1.0 for one in facts["gain"]]
    of_sensors = (
        (str(one["bead"]), f"{100.0 * gain:+.2g}", f"{1e6 * shift:+.2g}")
        for one, gain, shift in zip(facts["sensors"], own, facts["shift"], strict=True)
    )
    named = ("bead", "gain error [%]", "clock error [us]")
    calibration = (
        f"Calibration: the fit attributes an error of {100.0 * (shared - 1.0):+.2g} % to the "
        "measured forces. The fitted forces above include this error."
    )
    clock = facts["time_shift"]
    degrees = facts["degrees_of_freedom"]
    return [
        Paragraph(f"{trace['title']}: {trace['words']}. Fitted to {facts['measure']}."),
        values_grid(facts, "Fitted values"),
        *(
            [
                number_grid(
                    ("correlation", *keys), correlations, "Correlations of the errors", words=1
                )
            ]
            if len(keys) > 1
            else []
        ),
        number_grid(columns, sensors, "Measured and fitted first pulses"),
        *(
            [number_grid(named, of_sensors, "Gain and clock errors of each sensor")]
            if any(own) or any(facts["shift"])
            else []
        ),
        *([Paragraph(calibration)] if shared != 1.0 else []),
        *(
            [Paragraph(f"Time shift applied to the simulation: {1e6 * clock:.5g} us.")]
            if clock is not None
            else []
        ),
        *(
            [
                Paragraph(
                    f"Normalized residual: {number_text(facts['scatter'], '.2g')} "
                    f"({degrees:.3g} degrees of freedom)."
                )
            ]
            if degrees
            else []
        ),
    ]


COMPOSERS = {
    "equivalence": equivalence_page,
    "fit": fit_page,
    "fits": fits_page,
    "bands": bands_page,
}
