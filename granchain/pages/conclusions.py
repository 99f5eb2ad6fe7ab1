"""What a report says of a conclusion, the file that `--out FILE.json` of a command wrote: a
comparison, an equivalence, a fit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.errors import GranchainError
from granchain.figures import Sides, equivalence, fit, pulse_numbers
from granchain.pages.blocks import Block, Grid, Heading, Paragraph, Picture
from granchain.pages.run import brief, case_blocks, citation, law_blocks, origin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Entries of lists and tables that a page shows; a file may hold more.
MOST_ROWS_OF_A_CONCLUSION = 200


def conclusion_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """All that a report says of such a file.

    Parameters
    ----------
    facts : mapping
        What it holds.
    name : str
        Of the file.
    """
    kind = str(facts["kind"])
    parts = {"comparison": comparison_blocks, "equivalence": equivalence_blocks, "fit": fit_blocks}
    if kind in parts:
        blocks = parts[kind](facts, name)
    else:
        blocks = [
            Heading(f"{kind}: {name}", 1),
            *entries({key: value for key, value in facts.items() if key not in ORIGIN}, 2),
        ]
        blocks += citation([str(law) for law in named_entries(facts, "law")])
    about = {key: facts[key] for key in ORIGIN if key in facts}
    about["case_resolved_json"] = json.dumps(about.pop("case_resolved", None) or {})
    about.pop("case", None)
    about["versions"] = json.dumps(about.get("versions"))
    return [*blocks, *(case_blocks(about) if facts.get("case") else []), *origin(about, name)]


# What says where such a file comes from.
ORIGIN = (
    "granchain_format", "kind", "granchain_version", "versions", "source_hash", "written",
    "case", "case_resolved", "case_toml", "case_sha256",
)  # fmt: skip


def equivalence_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """Which laws stand in for another one."""
    laws = [one for one in listed_entries(facts.get("laws")) if isinstance(one, Mapping)]
    to, free = (
        brief(facts.get("to")),
        list(facts["free"]) if isinstance(facts.get("free"), Mapping) else [],
    )
    rows = [
        (
            brief(one.get("rank")),
            brief(one.get("law")),
            *(brief(inputs.get(key), 4) for key in free),
            scaled_by(one.get("residual"), 100.0),
            ", ".join(map(str, listed_entries(one.get("at_bound")))) or "-",
        )
        for one in laws
        if isinstance(inputs := one.get("inputs") or {}, Mapping)
    ]
    blocks: list[Block] = [
        Heading(f"What stands in for {to}", 1),
        Paragraph(
            f"By the {brief(facts.get('measure'))} of the first pulse at "
            f"{len(listed_entries(facts.get('sensor_bead')))} sensors."
        ),
        *(
            Paragraph(f"warning: {message}", warning=True)
            for one in laws
            for message in listed_entries(one.get("messages"))
        ),
        *conclusion_picture(
            lambda: equivalence(as_equivalents(facts, laws)),
            "Ranking of the laws, and what is left bead by bead.",
        ),
        Heading("Ranking", 2),
        Grid(("rank", "law", *free, "residual [%]", "at an end"), tuple(rows)),
    ]
    beads = listed_entries(facts.get("sensor_bead"))
    left = [
        tuple(scaled_by(value, 100.0) for value in listed_entries(one.get("per_bead")))
        for one in laws
    ]
    if laws and all(len(column) == len(beads) for column in left):
        lines = tuple((brief(bead), *row) for bead, *row in zip(beads, *left, strict=True))
        blocks += [
            Heading("What remains unexplained, bead by bead [%]", 2),
            Grid(("bead", *(brief(one.get("law")) for one in laws)), lines),
        ]
    names = [str(one.get("law")) for one in laws]
    return [
        *blocks,
        *(block for law in dict.fromkeys([to, *names]) for block in law_blocks(law, {})),
        *citation([to, *names]),
    ]


def as_equivalents(facts: Mapping[str, Any], laws: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What the figure looks at, from the file."""
    shared = {
        "to": facts["to"],
        "measure": facts["measure"],
        "free": facts["free"],
        "sensor_bead": numbers_table(facts["sensor_bead"]),
    }
    return [
        SimpleNamespace(
            **shared,
            law=one["law"],
            rank=one["rank"],
            inputs={key: float_of(value) for key, value in one["inputs"].items()},
            at_bound=one["at_bound"],
            residual=float_of(one["residual"]),
            per_bead=numbers_table(one["per_bead"]),
            grid=np.array([numbers_table(row) for row in one["grid"]]),
            grid_residual=numbers_table(one["grid_residual"]),
        )
        for one in laws
    ]


def fit_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """Numbers of a case from a measurement."""
    trace = part_of_conclusion(facts, "trace")
    values, errors = part_of_conclusion(facts, "values"), part_of_conclusion(facts, "errors")
    inner = part_of_conclusion(part_of_conclusion(facts, "intervals"), "0.9")
    rows = [
        (
            key,
            brief(value),
            brief(errors.get(key), 2),
            *(brief(end) for end in (listed_entries(inner.get(key)) or (None, None))[:2]),
        )
        for key, value in values.items()
    ]
    blocks: list[Block] = [
        Heading(f"Fit to {brief(trace.get('title')) or name}", 1),
        Paragraph(
            f"Fitted to {brief(facts.get('measure'))}; the trace is {brief(trace.get('kind'))}."
        ),
        *(
            Paragraph(f"warning: {message}", warning=True)
            for message in listed_entries(facts.get("messages"))
        ),
        *conclusion_picture(
            lambda: fit(as_fit(facts)),
            "Measured and fitted numbers at every sensor, what is left, and the correlation of "
            "the keys.",
        ),
        Heading("Values", 2),
        Grid(("key", "value", "+-", "90 %: from", "to"), tuple(rows)),
    ]
    keys = [str(key) for key in values]
    correlation = listed_entries(facts.get("correlation"))
    if len(keys) > 1 and len(correlation) == len(keys):
        lines = tuple(
            (key, *(brief(one, 3) for one in listed_entries(row)))
            for key, row in zip(keys, correlation, strict=True)
        )
        blocks += [Heading("Correlation", 2), Grid(("", *keys), lines)]
    blocks += [
        Paragraph(f"Not told apart: {', '.join(map(str, listed_entries(group)))}.")
        for group in listed_entries(facts.get("not_told_apart"))
    ]
    rows = []
    for sensor in listed_entries(facts.get("sensors")):
        if isinstance(sensor, Mapping):
            peak, arrival = (
                part_of_conclusion(sensor, "peak"),
                part_of_conclusion(sensor, "arrival"),
            )
            cells = [
                scaled_by(peak.get(part), 1.0) for part in ("measured", "uncertainty", "computed")
            ]
            cells += [
                scaled_by(arrival.get(part), 1e6)
                for part in ("measured", "uncertainty", "computed")
            ]
            rows.append((brief(sensor.get("bead")), *cells, brief(sensor.get("residual"), 3)))
    columns = ("bead", "peak [N]", "+-", "fitted", "arrival [us]", "+-", "fitted", "left [+-]")
    blocks += [Heading("Sensors", 2), Grid(columns, tuple(rows))]
    contact = part_of_conclusion(part_of_conclusion(facts, "case_resolved"), "contact")
    law = str(contact.get("law", ""))
    return [*blocks, *(law_blocks(law, contact) if law else []), *citation([law])]


def as_fit(facts: Mapping[str, Any]) -> Any:
    """What the figure looks at, from the file."""
    about = SimpleNamespace(title=facts["trace"]["title"])
    synthetic = facts["trace"]["kind"] == "synthetic"

    def side(one: Mapping[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(**{name: float_of(value) for name, value in one.items()})

    return SimpleNamespace(
        trace=SimpleNamespace(
            about=about, synthetic=synthetic, words=f"{facts['trace']['kind']} trace"
        ),
        measure=facts["measure"],
        sensors=[
            SimpleNamespace(
                bead=float_of(one["bead"]), peak=side(one["peak"]), arrival=side(one["arrival"])
            )
            for one in facts["sensors"]
        ],
        residuals=numbers_table([one["residual"] for one in facts["sensors"]]),
        values={key: float_of(value) for key, value in facts["values"].items()},
        errors={key: float_of(error) for key, error in facts["errors"].items()},
        correlation=np.array([numbers_table(row) for row in facts["correlation"]]),
    )


def conclusion_picture(draw: Callable[[], tuple[Figure, Any]], words: str) -> list[Block]:
    """A figure, where the file holds what it shows."""
    try:
        figure, _ = draw()
    except (GranchainError, KeyError, TypeError, ValueError, AttributeError, IndexError):
        return [Paragraph("No figure: the file does not hold what it would show.")]
    return [Picture(figure, words)]


def part_of_conclusion(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A table in a table; an empty one where there is none."""
    part = facts.get(key)
    return part if isinstance(part, Mapping) else {}


def numbers_table(values: Sequence[Any]) -> np.ndarray:
    """Numbers of a file; nan for none."""
    return np.array([float_of(value) for value in values])


def comparison_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """Computed against measured first pulses."""
    trace = part_of_conclusion(facts, "trace")
    results = [one for one in listed_entries(facts.get("results")) if isinstance(one, Mapping)]
    words = f"Trace: {brief(trace.get('title'))} ({brief(trace.get('kind'))})"
    blocks: list[Block] = [
        Heading(f"Comparison with {brief(trace.get('title')) or name}", 1),
        Paragraph(f"{words}."),
    ]
    if trace.get("doi"):
        blocks.append(Paragraph(f"Source of the trace: doi:{trace['doi']}."))
    blocks += [Paragraph(str(message)) for message in listed_entries(facts.get("messages"))]
    blocks += [
        Paragraph(f"warning: {missed}", warning=True)
        for one in results
        for missed in listed_entries(one.get("missed"))
    ]
    blocks += pulse_picture(f"Comparison with {brief(trace.get('title'))}", results)
    for quantity, (factor, title) in COMPARED_NUMBERS.items():
        # arrivals count from a zero of time that says nothing
        off, times, unit = (
            ("difference", factor, "us") if quantity == "arrival" else ("relative", 100.0, "%")
        )
        rows = []
        for one in results:
            for sensor in listed_entries(one.get("sensors")):
                side = sensor.get(quantity) if isinstance(sensor, Mapping) else None
                if isinstance(side, Mapping):
                    numbers = [
                        scaled_by(side.get(part), factor)
                        for part in ("measured", "uncertainty", "computed")
                    ]
                    rows.append(
                        (
                            brief(sensor.get("bead")),
                            brief(one.get("label")),
                            *numbers,
                            scaled_by(side.get(off), times),
                        )
                    )
        if rows:
            columns = ("bead", "result", "measured", "+-", "computed", f"off [{unit}]")
            blocks += [Heading(title, 2), Grid(columns, tuple(rows))]
    for one in results:
        blocks += band_blocks(one)
    nearest = [one for one in listed_entries(facts.get("nearest")) if isinstance(one, Mapping)]
    if nearest and len(results) > 1:
        rows = [
            (brief(one.get("bead")), " or ".join(map(str, listed_entries(one.get("labels")))))
            for one in nearest
        ]
        blocks += [Heading("Nearest, by the residual", 2), Grid(("bead", "result"), tuple(rows))]
    laws = [str(one.get("law")) for one in results]
    for law in dict.fromkeys(laws):
        blocks += law_blocks(law, {})
    return [*blocks, *citation(laws)]


def band_blocks(result: Mapping[str, Any]) -> list[Block]:
    """Whether what was measured lies within the bands of a result, where it has some."""
    bands = part_of_conclusion(result, "bands")
    rows = []
    for sensor in listed_entries(result.get("sensors")):
        for quantity, factor, unit in (("peak", 1.0, "N"), ("arrival", 1e6, "us")):
            band, side = (
                part_of_conclusion(sensor, name) if isinstance(sensor, Mapping) else {}
                for name in (f"{quantity}_band", quantity)
            )
            if band:
                ends = [scaled_by(band.get(f"{end}_measured"), factor) for end in ("low", "high")]
                word = (
                    "-"
                    if band.get("within") is None
                    else "within"
                    if band["within"] is True
                    else "outside"
                )
                rows.append(
                    (
                        brief(sensor.get("bead")),
                        f"{quantity} [{unit}]",
                        scaled_by(side.get("measured"), factor),
                        *ends,
                        word,
                    )
                )
    if not rows:
        return []
    keys = ", ".join(
        f"{key} {scaled_by(one.get('uniform') if isinstance(one, Mapping) else one, 100.0)} %"
        + " half width" * isinstance(one, Mapping)
        for key, one in part_of_conclusion(bands, "tolerance").items()
    )
    part = scaled_by(bands.get("part"), 100.0)
    words = (
        f"Tolerances: {keys}; {brief(bands.get('members'))} members. From and to: where {part} % "
        "of such measurements lie."
    )
    columns = ("bead", "number", "measured", "from", "to", "")
    return [
        Heading(f"Within the band of {brief(result.get('label'))}?", 2),
        Paragraph(words),
        Grid(columns, tuple(rows)),
    ]


def pulse_picture(title: str, results: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Peaks and arrivals as a figure, where there are two sensors or more."""
    measured: dict[int, Sides] = {}
    computed: dict[str, dict[int, Sides]] = {}
    for one in results:
        for sensor in listed_entries(one.get("sensors")):
            if isinstance(sensor, Mapping) and isinstance(sensor.get("bead"), int):
                peak, arrival = (
                    part_of_conclusion(sensor, "peak"),
                    part_of_conclusion(sensor, "arrival"),
                )
                spread = float_of(peak.get("uncertainty")), float_of(arrival.get("uncertainty"))
                for table, side in (
                    (measured, "measured"),
                    (computed.setdefault(brief(one.get("label")), {}), "computed"),
                ):
                    table[sensor["bead"]] = Sides(
                        float_of(peak.get(side)), spread[0], float_of(arrival.get(side)), spread[1]
                    )
    if len(measured) < 2:
        return []
    words = (
        "Peak force and arrival of the first pulse against the sensor bead, measured and computed."
    )
    return conclusion_picture(lambda: pulse_numbers(title, measured, computed), words)


# Larger numbers are no measurements, ours: their differences and the ticks of an axis may be no
# numbers.
DRAWABLE = 1e100


def float_of(value: Any) -> float:
    """A number that a figure can show; nan for anything else."""
    there = (
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= DRAWABLE
    )
    return float(value) if there else math.nan


# Factor and title of a table.
COMPARED_NUMBERS = {
    "peak": (1.0, "Peak force [N]"),
    "arrival": (1e6, "Arrival of the peak [us]"),
    "width": (1e6, "Width at half height [us]"),
    "impulse": (1e3, "Impulse of the pulse [mN s]"),
    "speed": (1.0, "Speed to the next sensor [m/s]"),
}


def scaled_by(value: Any, factor: float) -> str:
    """A number in the unit of its table."""
    return brief(
        factor * value if isinstance(value, (int, float)) and not isinstance(value, bool) else None,
        5,
    )


def listed_entries(value: Any) -> Sequence[Any]:
    """A list; nothing for anything else."""
    return value if isinstance(value, list) else ()


def named_entries(value: Any, key: str) -> list[Any]:
    """All words under this key, wherever it is."""
    if isinstance(value, Mapping):
        own = [value[key]] if isinstance(value.get(key), str) else []
        return own + [word for part in value.values() for word in named_entries(part, key)]
    return [
        word
        for part in listed_entries(value)[:MOST_ROWS_OF_A_CONCLUSION]
        for word in named_entries(part, key)
    ]


def entries(facts: Mapping[str, Any], level: int) -> list[Block]:
    """Numbers and words as a table, lists of tables as tables with columns, tables under
    headings of their own."""
    plain = tuple((key, in_words(value)) for key, value in facts.items() if is_plain(value))
    blocks: list[Block] = [Grid(("", ""), plain)] if plain else []
    for key, value in facts.items():
        if isinstance(value, Mapping):
            blocks += [Heading(key.replace("_", " "), min(level, 6)), *entries(value, level + 1)]
        elif not is_plain(value):
            blocks += [
                Heading(key.replace("_", " "), min(level, 6)),
                *columns_of_conclusion(value, level),
            ]
    return blocks


def columns_of_conclusion(rows: Sequence[Any], level: int) -> list[Block]:
    """A list of tables: one table where all their values are plain, else one after the other."""
    shown = [row for row in rows[:MOST_ROWS_OF_A_CONCLUSION] if isinstance(row, Mapping)]
    keys = list(dict.fromkeys(key for row in shown for key in row))
    flat = [key for key in keys if all(is_plain(row.get(key)) for row in shown)]
    blocks: list[Block] = (
        [
            Grid(
                tuple(map(str, flat)),
                tuple(tuple(in_words(row.get(key)) for key in flat) for row in shown),
            )
        ]
        if flat
        else []
    )
    for i, row in enumerate(shown):
        rest = {key: value for key, value in row.items() if key not in flat}
        if rest:
            label = next(
                (str(row[key]) for key in flat if isinstance(row.get(key), str)), f"{i + 1}"
            )
            blocks += [Heading(label, min(level + 1, 6)), *entries(rest, level + 2)]
    if len(rows) > MOST_ROWS_OF_A_CONCLUSION:
        blocks.append(Paragraph(f"{MOST_ROWS_OF_A_CONCLUSION} of {len(rows)} entries are shown."))
    return blocks


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a word, or a list of such."""
    return not isinstance(value, Mapping) and not any(
        isinstance(part, (Mapping, list)) for part in listed_entries(value)
    )


def in_words(value: Any) -> str:
    """A plain value in a table."""
    if isinstance(value, list):
        return (
            ", ".join(brief(part) for part in value[:MOST_ROWS_OF_A_CONCLUSION])
            + (" ..." if len(value) > MOST_ROWS_OF_A_CONCLUSION else "")
            or "-"
        )
    if isinstance(value, bool):
        return "yes" if value else "no"
    return brief(value)
