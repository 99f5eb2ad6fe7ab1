"""What a report says of the numbers that a command wrote with `--out FILE.json`: a comparison, and whatever else is a table of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from granchain.certificates.page import Grid, Heading, Paragraph
from granchain.figures import Sides, pulse_numbers
from granchain.report.page import Block, Picture
from granchain.report.run import citation, law_blocks, short

# Entries of lists and tables that a page shows; a file may hold more.
MOST = 200


def number_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """All that a report says of such a file.

    Parameters
    ----------
    facts : mapping
        What it holds: `command` is what wrote it.
    name : str
        Of the file.
    """
    command = str(facts.get("command", ""))
    if command == "compare":
        return comparison_blocks(facts, name)
    title = f"{command}: {name}" if command else name
    laws = [str(law) for law in named(facts, "law")]
    return [Heading(title, 1), *entries(facts, 2), *citation(laws)]


def comparison_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """Computed against measured first pulses."""
    trace = facts.get("trace") if isinstance(facts.get("trace"), Mapping) else {}
    assert isinstance(trace, Mapping)
    results = [one for one in listed(facts.get("results")) if isinstance(one, Mapping)]
    words = f"Trace: {short(trace.get('title'))} ({short(trace.get('kind'))})"
    blocks: list[Block] = [Heading(f"Comparison with {short(trace.get('title')) or name}", 1), Paragraph(f"{words}.")]
    if trace.get("doi"):
        blocks.append(Paragraph(f"Source of the trace: doi:{trace['doi']}."))
    blocks += [Paragraph(str(message)) for message in listed(facts.get("messages"))]
    blocks += [Paragraph(f"warning: {missed}") for one in results for missed in listed(one.get("missed"))]
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
    nearest = [one for one in listed(facts.get("nearest")) if isinstance(one, Mapping)]
    if nearest and len(results) > 1:
        rows = [(short(one.get("bead")), " or ".join(map(str, listed(one.get("labels"))))) for one in nearest]
        blocks += [Heading("Nearest, by the residual", 2), Grid(("bead", "result"), tuple(rows))]
    laws = [str(one.get("law")) for one in results]
    for law in dict.fromkeys(laws):
        blocks += law_blocks(law, {})
    return [*blocks, *citation(laws)]


def pulse_picture(title: str, results: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Peaks and arrivals as a figure, where there are two sensors or more."""
    measured: dict[int, Sides] = {}
    computed: dict[str, dict[int, Sides]] = {}
    for one in results:
        for sensor in listed(one.get("sensors")):
            if isinstance(sensor, Mapping) and isinstance(sensor.get("bead"), int):
                parts = [sensor.get(name) for name in ("peak", "arrival")]
                peak, arrival = (part if isinstance(part, Mapping) else {} for part in parts)
                spread = float_of(peak.get("uncertainty")), float_of(arrival.get("uncertainty"))
                for table, side in ((measured, "measured"), (computed.setdefault(short(one.get("label")), {}), "computed")):
                    table[sensor["bead"]] = Sides(float_of(peak.get(side)), spread[0], float_of(arrival.get(side)), spread[1])
    if len(measured) < 2:
        return []
    figure, _ = pulse_numbers(title, measured, computed)
    return [Picture(figure, "Peak force and arrival of the first pulse against the sensor bead, measured and computed.")]


def float_of(value: Any) -> float:
    """A number; nan for anything else."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


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
    plain = tuple((key, in_words(value)) for key, value in facts.items() if is_plain(value) and key != "command")
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
