"""Tables of a comparison with a measured trace, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from granchain.markup import Grid
from granchain.measured import IN_BAND, Agreement, Comparison, ResultAgreement, SensorAgreement
from granchain.show.blocks import Block, Paragraph, number_grid, number_text, time_text

# Factor and title of the table of each number.
COMPARED_NUMBERS = {
    "peak": (1.0, "Peak force [N]"),
    "arrival": (1e6, "Arrival [us]"),
    "width": (1e6, "Width at half height [us]"),
    "impulse": (1e3, "Impulse of the pulse [mN s]"),
    "speed": (1.0, "Speed to the next sensor [m/s]"),
}


def comparison_tables(answer: Comparison) -> list[Block]:
    """Return a table for each compared quantity, with one row per sensor.

    Each computed value has its difference in brackets. The nearest law and the bands follow.
    """
    trace, results, sensors = answer.trace, answer.results, answer.results[0].sensors
    source = ", ".join(filter(None, (trace.about.who, trace.about.figure, trace.about.doi)))
    lines = [f"{trace.about.title}: {trace.about.kind_text}" + (f" ({source})" if source else "")]
    lines += [
        f"{result.label}: time shift applied to the simulation: "
        f"{time_text(result.time_shift, result.time_shift_error)} +- "
        f"{number_text(result.time_shift_error, '.2g', 1e6)} us"
        for result in results
    ]
    if answer.sensor.cutoff is not None:
        lines.append(
            "Both traces were low-pass filtered (zero phase; half amplitude at "
            f"{answer.sensor.cutoff:.3g} Hz)."
        )
    if answer.sensor.band:
        lines.append(
            f"The instrument filter was applied to the simulated traces: {answer.sensor.band}."
        )
    labels = [result.label for result in results]
    blocks: list[Block] = [Paragraph("\n".join(lines))]
    beads = [
        f"{sensor.bead}"
        + (" merged" if any(result.sensors[k].merged for result in results) else "")
        for k, sensor in enumerate(sensors)
    ]
    for name, (_, title) in COMPARED_NUMBERS.items():
        # the last sensor has no next one, so its row contains the wave speed
        sides = [
            [getattr(result.sensors[k], name) for result in results] for k in range(len(sensors))
        ]
        named = list(zip(beads, sides, strict=True))
        if name == "speed":
            named[-1] = ("all", [result.wave_speed for result in results])
        rows = ((bead, *compared_cells(name, *side)) for bead, side in named)
        title += " (error [us])" if name == "arrival" else " (relative error)"
        blocks.append(number_grid(("bead", "measured", *labels), rows, title))
    several, nearest = len(results) > 1, answer.nearest
    rows = (
        (
            bead,
            number_text(sensor.residual.error, ".4f"),
            *(number_text(result.sensors[k].residual.computed, ".4f") for result in results),
            *([" or ".join(nearest.get(sensor.bead, ("-",)))] if several else []),
        )
        for k, (bead, sensor) in enumerate(zip(beads, sensors, strict=True))
    )
    columns = ("bead", "noise alone", *labels, *(["smallest"] if several else []))
    blocks.append(number_grid(columns, rows, "Residual relative to the measured pulse"))
    if several and nearest:
        blocks.append(Paragraph(summary_of_nearest(labels, list(nearest.values()))))
    return blocks + [band_table(result, beads) for result in results if result.members]


def compared_cells(name: str, *agreements: Agreement) -> list[str]:
    """Return a measured value with its uncertainty, and computed values with their differences."""
    measured, error, *pairs = agreement_cells(name, *agreements)
    percent = "" if name == "arrival" else " %"
    cells = [measured if error == "-" else f"{measured} +- {error}"]
    for computed, difference in zip(pairs[::2], pairs[1::2], strict=True):
        cells.append(computed if difference == "-" else f"{computed} ({difference}{percent})")
    return cells


def agreement_cells(name: str, *agreements: Agreement) -> list[str]:
    """Return a measured value, its uncertainty, and computed values, each with its difference.

    The difference is relative, except of an arrival, because the zero of time is arbitrary.
    """
    factor = COMPARED_NUMBERS[name][0]
    uncertainty = agreements[0].error

    def text(value: float) -> str:
        """Return a value with the digits that its quantity needs."""
        return (
            time_text(value, uncertainty)
            if name == "arrival"
            else number_text(value, factor=factor)
        )

    cells = [text(agreements[0].measured), number_text(uncertainty, ".2g", factor)]
    for agreement in agreements:
        difference = (
            factor * agreement.difference if name == "arrival" else 100.0 * agreement.relative
        )
        cells += [text(agreement.computed), number_text(difference, "+.3g")]
    return cells


def summary_of_nearest(labels: Sequence[str], nearest: Sequence[Sequence[str]]) -> str:
    """Return at how many sensors each result is the nearest one."""
    counts = {
        label: sum(list(labels_of_bead) == [label] for labels_of_bead in nearest)
        for label in labels
    }
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    counted = ", ".join(f"{label} at {count}" for label, count in ranked if count)
    undecided = sum(len(labels_of_bead) > 1 for labels_of_bead in nearest)
    return (
        f"Law with the smallest residual, of {len(nearest)} sensors: {counted or 'none'}"
        + (
            f". At {undecided} sensors, laws are not distinguishable within the noise"
            if undecided
            else ""
        )
        + "."
    )


def band_table(result: ResultAgreement, beads: Sequence[str]) -> Grid:
    """Return the intervals of measurements, and whether the measured values are inside."""
    spread = ", ".join(
        f"{key} {100.0 * value['uniform']:.3g} % half width"
        if isinstance(value, Mapping)
        else f"{key} {100.0 * value:.3g} %"
        for key, value in result.tolerance.items()
    )
    columns = (
        "bead", "peak [N]", "low", "high", "band", "arrival [us]", "low", "high", "band",
        "force in band [%]",
    )  # fmt: skip
    rows = (
        (
            bead,
            *band_cells(sensor, "peak"),
            *band_cells(sensor, "arrival"),
            number_text(getattr(sensor.force_band, "inside", None), ".3g", 100.0),
        )
        for bead, sensor in zip(beads, result.sensors, strict=True)
    )
    title = (
        f"{result.label}: measurement compared with uncertainty bands ({spread}; "
        f"{result.members} members; {100.0 * IN_BAND:g} % of measurements are "
        "expected between low and high)"
    )
    return number_grid(columns, rows, title)


def band_cells(sensor: SensorAgreement, name: str) -> list[str]:
    """Return a measured value, its interval, and whether it is inside."""
    side, band = getattr(sensor, name), getattr(sensor, f"{name}_band")
    texts = {True: "within", False: "outside", None: "-"}
    numbers = [
        time_text(value, side.error)
        if name == "arrival"
        else number_text(value, factor=COMPARED_NUMBERS[name][0])
        for value in (side.measured, band.low_measured, band.high_measured)
    ]
    return [*numbers, texts[band.holds(side.measured)]]
