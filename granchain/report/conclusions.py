"""What a report says of a conclusion, the file that `--out FILE.json` of a command wrote: a comparison, an equivalence, a fit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.certificates.page import Grid, Heading, Paragraph
from granchain.errors import GranchainError
from granchain.figures import Sides, equivalence, fit, pulse_numbers
from granchain.report.page import Block, Picture
from granchain.report.run import case_blocks, citation, law_blocks, origin, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Entries of lists and tables that a page shows; a file may hold more.
MOST = 200


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
        blocks = [Heading(f"{kind}: {name}", 1), *entries({key: value for key, value in facts.items() if key not in ORIGIN}, 2)]
        blocks += citation([str(law) for law in named(facts, "law")])
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
    laws = [one for one in listed(facts.get("laws")) if isinstance(one, Mapping)]
    to, free = short(facts.get("to")), list(facts["free"]) if isinstance(facts.get("free"), Mapping) else []
    rows = [
        (short(one.get("rank")), short(one.get("law")), *(short(inputs.get(key), 4) for key in free), scaled(one.get("residual"), 100.0),
         ", ".join(map(str, listed(one.get("at_bound")))) or "-")
        for one in laws if isinstance(inputs := one.get("inputs") or {}, Mapping)
    ]  # fmt: skip
    blocks: list[Block] = [
        Heading(f"What stands in for {to}", 1),
        Paragraph(f"By the {short(facts.get('measure'))} of the first pulse at {len(listed(facts.get('sensor_bead')))} sensors."),
        *(Paragraph(f"warning: {message}", warning=True) for one in laws for message in listed(one.get("messages"))),
        *drawn(lambda: equivalence(as_equivalents(facts, laws)), "Ranking of the laws, and what is left bead by bead."),
        Heading("Ranking", 2),
        Grid(("rank", "law", *free, "residual [%]", "at an end"), tuple(rows)),
    ]
    beads = listed(facts.get("sensor_bead"))
    left = [tuple(scaled(value, 100.0) for value in listed(one.get("per_bead"))) for one in laws]
    if laws and all(len(column) == len(beads) for column in left):
        lines = tuple((short(bead), *row) for bead, *row in zip(beads, *left, strict=True))
        blocks += [
            Heading("What remains unexplained, bead by bead [%]", 2),
            Grid(("bead", *(short(one.get("law")) for one in laws)), lines),
        ]
    names = [str(one.get("law")) for one in laws]
    return [*blocks, *(block for law in dict.fromkeys([to, *names]) for block in law_blocks(law, {})), *citation([to, *names])]


def as_equivalents(facts: Mapping[str, Any], laws: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What the figure looks at, from the file."""
    shared = {"to": facts["to"], "measure": facts["measure"], "free": facts["free"], "sensor_bead": numbers(facts["sensor_bead"])}
    return [
        SimpleNamespace(
            **shared, law=one["law"], rank=one["rank"], inputs={key: float_of(value) for key, value in one["inputs"].items()},
            at_bound=one["at_bound"], residual=float_of(one["residual"]), per_bead=numbers(one["per_bead"]),
            grid=np.array([numbers(row) for row in one["grid"]]), grid_residual=numbers(one["grid_residual"]),
        )
        for one in laws
    ]  # fmt: skip


def fit_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """Numbers of a case from a measurement."""
    trace = part_of(facts, "trace")
    values, errors = part_of(facts, "values"), part_of(facts, "errors")
    inner = part_of(part_of(facts, "intervals"), "0.9")
    rows = [
        (key, short(value), short(errors.get(key), 2), *(short(end) for end in (listed(inner.get(key)) or (None, None))[:2]))
        for key, value in values.items()
    ]
    blocks: list[Block] = [
        Heading(f"Fit to {short(trace.get('title')) or name}", 1),
        Paragraph(f"Fitted to {short(facts.get('measure'))}; the trace is {short(trace.get('kind'))}."),
        *(Paragraph(f"warning: {message}", warning=True) for message in listed(facts.get("messages"))),
        *drawn(lambda: fit(as_fit(facts)), "Measured and fitted numbers at every sensor, what is left, and the correlation of the keys."),
        Heading("Values", 2),
        Grid(("key", "value", "+-", "90 %: from", "to"), tuple(rows)),
    ]
    keys = [str(key) for key in values]
    correlation = listed(facts.get("correlation"))
    if len(keys) > 1 and len(correlation) == len(keys):
        lines = tuple((key, *(short(one, 3) for one in listed(row))) for key, row in zip(keys, correlation, strict=True))
        blocks += [Heading("Correlation", 2), Grid(("", *keys), lines)]
    blocks += [Paragraph(f"Not told apart: {', '.join(map(str, listed(group)))}.") for group in listed(facts.get("not_told_apart"))]
    rows = []
    for sensor in listed(facts.get("sensors")):
        if isinstance(sensor, Mapping):
            peak, arrival = part_of(sensor, "peak"), part_of(sensor, "arrival")
            cells = [scaled(peak.get(part), 1.0) for part in ("measured", "uncertainty", "computed")]
            cells += [scaled(arrival.get(part), 1e6) for part in ("measured", "uncertainty", "computed")]
            rows.append((short(sensor.get("bead")), *cells, short(sensor.get("residual"), 3)))
    columns = ("bead", "peak [N]", "+-", "fitted", "arrival [us]", "+-", "fitted", "left [+-]")
    blocks += [Heading("Sensors", 2), Grid(columns, tuple(rows))]
    contact = part_of(part_of(facts, "case_resolved"), "contact")
    law = str(contact.get("law", ""))
    return [*blocks, *(law_blocks(law, contact) if law else []), *citation([law])]


def as_fit(facts: Mapping[str, Any]) -> Any:
    """What the figure looks at, from the file."""
    about = SimpleNamespace(title=facts["trace"]["title"])
    synthetic = facts["trace"]["kind"] == "synthetic"

    def side(one: Mapping[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(**{name: float_of(value) for name, value in one.items()})

    return SimpleNamespace(
        trace=SimpleNamespace(about=about, synthetic=synthetic, words=f"{facts['trace']['kind']} trace"),
        measure=facts["measure"],
        sensors=[
            SimpleNamespace(bead=float_of(one["bead"]), peak=side(one["peak"]), arrival=side(one["arrival"])) for one in facts["sensors"]
        ],
        residuals=numbers([one["residual"] for one in facts["sensors"]]),
        values={key: float_of(value) for key, value in facts["values"].items()},
        errors={key: float_of(error) for key, error in facts["errors"].items()},
        correlation=np.array([numbers(row) for row in facts["correlation"]]),
    )


def drawn(draw: Callable[[], tuple[Figure, Any]], words: str) -> list[Block]:
    """A figure, where the file holds what it shows."""
    try:
        figure, _ = draw()
    except (GranchainError, KeyError, TypeError, ValueError, AttributeError, IndexError):
        return [Paragraph("No figure: the file does not hold what it would show.")]
    return [Picture(figure, words)]


def part_of(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A table in a table; an empty one where there is none."""
    part = facts.get(key)
    return part if isinstance(part, Mapping) else {}


def numbers(values: Sequence[Any]) -> np.ndarray:
    """Numbers of a file; nan for none."""
    return np.array([float_of(value) for value in values])


def comparison_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """Computed against measured first pulses."""
    trace = part_of(facts, "trace")
    results = [one for one in listed(facts.get("results")) if isinstance(one, Mapping)]
    words = f"Trace: {short(trace.get('title'))} ({short(trace.get('kind'))})"
    blocks: list[Block] = [Heading(f"Comparison with {short(trace.get('title')) or name}", 1), Paragraph(f"{words}.")]
    if trace.get("doi"):
        blocks.append(Paragraph(f"Source of the trace: doi:{trace['doi']}."))
    blocks += [Paragraph(str(message)) for message in listed(facts.get("messages"))]
    blocks += [Paragraph(f"warning: {missed}", warning=True) for one in results for missed in listed(one.get("missed"))]
    blocks += pulse_picture(f"Comparison with {short(trace.get('title'))}", results)
    for quantity, (factor, title) in QUANTITIES.items():
        # arrivals count from a zero of time that says nothing
        off, times, unit = ("difference", factor, "us") if quantity == "arrival" else ("relative", 100.0, "%")
        rows = []
        for one in results:
            for sensor in listed(one.get("sensors")):
                side = sensor.get(quantity) if isinstance(sensor, Mapping) else None
                if isinstance(side, Mapping):
                    numbers = [scaled(side.get(part), factor) for part in ("measured", "uncertainty", "computed")]
                    rows.append((short(sensor.get("bead")), short(one.get("label")), *numbers, scaled(side.get(off), times)))
        if rows:
            columns = ("bead", "result", "measured", "+-", "computed", f"off [{unit}]")
            blocks += [Heading(title, 2), Grid(columns, tuple(rows))]
    for one in results:
        blocks += band_blocks(one)
    nearest = [one for one in listed(facts.get("nearest")) if isinstance(one, Mapping)]
    if nearest and len(results) > 1:
        rows = [(short(one.get("bead")), " or ".join(map(str, listed(one.get("labels"))))) for one in nearest]
        blocks += [Heading("Nearest, by the residual", 2), Grid(("bead", "result"), tuple(rows))]
    laws = [str(one.get("law")) for one in results]
    for law in dict.fromkeys(laws):
        blocks += law_blocks(law, {})
    return [*blocks, *citation(laws)]


def band_blocks(result: Mapping[str, Any]) -> list[Block]:
    """Whether what was measured lies within the bands of a result, where it has some."""
    bands = part_of(result, "bands")
    rows = []
    for sensor in listed(result.get("sensors")):
        for quantity, factor, unit in (("peak", 1.0, "N"), ("arrival", 1e6, "us")):
            band, side = (part_of(sensor, name) if isinstance(sensor, Mapping) else {} for name in (f"{quantity}_band", quantity))
            if band:
                ends = [scaled(band.get(f"{end}_measured"), factor) for end in ("low", "high")]
                word = "-" if band.get("within") is None else "within" if band["within"] is True else "outside"
                rows.append((short(sensor.get("bead")), f"{quantity} [{unit}]", scaled(side.get("measured"), factor), *ends, word))
    if not rows:
        return []
    keys = ", ".join(
        f"{key} {scaled(one.get('uniform') if isinstance(one, Mapping) else one, 100.0)} %" + " half width" * isinstance(one, Mapping)
        for key, one in part_of(bands, "tolerance").items()
    )
    part = scaled(bands.get("part"), 100.0)
    words = (
        f"Tolerances: {keys}; {short(bands.get('members'))} members. From and to: where {part} % of measurements as uncertain as these lie."
    )
    columns = ("bead", "number", "measured", "from", "to", "")
    return [Heading(f"Within the band of {short(result.get('label'))}?", 2), Paragraph(words), Grid(columns, tuple(rows))]


def pulse_picture(title: str, results: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Peaks and arrivals as a figure, where there are two sensors or more."""
    measured: dict[int, Sides] = {}
    computed: dict[str, dict[int, Sides]] = {}
    for one in results:
        for sensor in listed(one.get("sensors")):
            if isinstance(sensor, Mapping) and isinstance(sensor.get("bead"), int):
                peak, arrival = part_of(sensor, "peak"), part_of(sensor, "arrival")
                spread = float_of(peak.get("uncertainty")), float_of(arrival.get("uncertainty"))
                for table, side in ((measured, "measured"), (computed.setdefault(short(one.get("label")), {}), "computed")):
                    table[sensor["bead"]] = Sides(float_of(peak.get(side)), spread[0], float_of(arrival.get(side)), spread[1])
    if len(measured) < 2:
        return []
    words = "Peak force and arrival of the first pulse against the sensor bead, measured and computed."
    return drawn(lambda: pulse_numbers(title, measured, computed), words)


# Larger numbers are no measurements, ours: their differences and the ticks of an axis may be no numbers.
DRAWABLE = 1e100


def float_of(value: Any) -> float:
    """A number that a figure can show; nan for anything else."""
    there = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= DRAWABLE
    return float(value) if there else math.nan


# Factor and title of a table.
QUANTITIES = {
    "peak": (1.0, "Peak force [N]"), "arrival": (1e6, "Arrival of the peak [us]"), "width": (1e6, "Width at half height [us]"),
    "impulse": (1e3, "Impulse of the pulse [mN s]"), "speed": (1.0, "Speed to the next sensor [m/s]"),
}  # fmt: skip


def scaled(value: Any, factor: float) -> str:
    """A number in the unit of its table."""
    return short(factor * value if isinstance(value, (int, float)) and not isinstance(value, bool) else None, 5)


def listed(value: Any) -> Sequence[Any]:
    """A list; nothing for anything else."""
    return value if isinstance(value, list) else ()


def named(value: Any, key: str) -> list[Any]:
    """All words under this key, wherever it is."""
    if isinstance(value, Mapping):
        own = [value[key]] if isinstance(value.get(key), str) else []
        return own + [word for part in value.values() for word in named(part, key)]
    return [word for part in listed(value)[:MOST] for word in named(part, key)]


def entries(facts: Mapping[str, Any], level: int) -> list[Block]:
    """Numbers and words as a table, lists of tables as tables with columns, tables under headings of their own."""
    plain = tuple((key, in_words(value)) for key, value in facts.items() if is_plain(value))
    blocks: list[Block] = [Grid(("", ""), plain)] if plain else []
    for key, value in facts.items():
        if isinstance(value, Mapping):
            blocks += [Heading(key.replace("_", " "), min(level, 6)), *entries(value, level + 1)]
        elif not is_plain(value):
            blocks += [Heading(key.replace("_", " "), min(level, 6)), *columns_of(value, level)]
    return blocks


def columns_of(rows: Sequence[Any], level: int) -> list[Block]:
    """A list of tables: one table where all their values are plain, else one after the other."""
    shown = [row for row in rows[:MOST] if isinstance(row, Mapping)]
    keys = list(dict.fromkeys(key for row in shown for key in row))
    flat = [key for key in keys if all(is_plain(row.get(key)) for row in shown)]
    blocks: list[Block] = (
        [Grid(tuple(map(str, flat)), tuple(tuple(in_words(row.get(key)) for key in flat) for row in shown))] if flat else []
    )
    for i, row in enumerate(shown):
        rest = {key: value for key, value in row.items() if key not in flat}
        if rest:
            label = next((str(row[key]) for key in flat if isinstance(row.get(key), str)), f"{i + 1}")
            blocks += [Heading(label, min(level + 1, 6)), *entries(rest, level + 2)]
    if len(rows) > MOST:
        blocks.append(Paragraph(f"{MOST} of {len(rows)} entries are shown."))
    return blocks


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a word, or a list of such."""
    return not isinstance(value, Mapping) and not any(isinstance(part, (Mapping, list)) for part in listed(value))


def in_words(value: Any) -> str:
    """A plain value in a table."""
    if isinstance(value, list):
        return ", ".join(short(part) for part in value[:MOST]) + (" ..." if len(value) > MOST else "") or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return short(value)
