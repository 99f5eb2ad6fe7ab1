"""Tables with the numbers of a run, for the terminal and for reports."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from granchain.analysis import Summary, speed_in_words
from granchain.markup import Grid, text_table
from granchain.show.blocks import Paragraph, number_grid, number_text

if TYPE_CHECKING:
    from granchain.mechanisms.checks import Check

PULSE_COLUMNS = (
    "sensor bead",
    "peak [N]",
    "arrival [us]",
    "width at half height [us]",
    "impulse [mN s]",
)
SAMPLED = (
    "These peaks are the largest samples. The force jumps between samples, and the file does "
    "not contain the forces next to the jumps."
)
MERGED = (
    "merged: a second, larger pulse overtook the first one before it fell to half of its "
    "peak. Peak and arrival are those of the second pulse."
)

STATIC_WORK_NOTE = ", including static work; recoverable energy is relative to the state at rest"


def number_blocks(summary: Summary) -> list[Grid | Paragraph]:
    """Return the tables of peaks and arrivals, the wave speed, and the energy balance."""
    blocks: list[Grid | Paragraph] = []
    pulses = summary.sensors
    if pulses:
        rows = (
            # a pulse that has not arrived, or not ended, has no numbers
            (
                str(pulse.bead),
                number_text(pulse.peak),
                "merged " * pulse.merged + number_text(pulse.arrival, factor=1e6),
                number_text(pulse.width, factor=1e6),
                number_text(pulse.impulse, factor=1e3),
            )
            if pulse.complete
            else (str(pulse.bead), "-", "not yet", "-", "-")
            for pulse in pulses
        )
        blocks.append(number_grid(PULSE_COLUMNS, rows, "First pulses"))
    if any(pulse.sampled for pulse in pulses):
        blocks.append(Paragraph(SAMPLED))
    if any(pulse.merged for pulse in pulses):
        blocks.append(Paragraph(MERGED))
    blocks += map(Paragraph, summary.remarks)
    if math.isfinite(summary.wave_speed):
        beads = summary.wave_speed_beads
        with_speed = sorted(
            (pulse for pulse in pulses if pulse.bead in beads), key=lambda pulse: pulse.bead
        )
        local = speed_in_words(
            [pulse.position for pulse in with_speed], [pulse.arrival for pulse in with_speed]
        )
        blocks.append(
            Paragraph(
                f"wave speed {summary.wave_speed:.6g} m/s (linear fit to arrivals at "
                f"{len(beads)} sensors, beads {min(beads)} to {max(beads)}"
                + f"; {local}" * local.startswith("local")
                + ")"
            )
        )
    if summary.energy is not None:
        balance = summary.energy
        share = 100.0 / balance.moving_supplied if balance.moving_supplied > 0.0 else math.nan
        radiated = {"radiated, in elements_viscous": balance.radiated} if balance.radiated else {}
        terms = [
            (name, number_text(value), number_text(share * value))
            for name, value in (balance.terms | radiated).items()
        ]
        is_loaded = balance.moving_recoverable != balance.recoverable
        if is_loaded:
            terms.append(("static work", number_text(balance.static_work), ""))
        columns = ("energy at the end", "[J]", "[% of supplied]")
        blocks.append(number_grid(columns, terms, "Energy balance", text_columns=1))
        blocks.append(
            Paragraph(
                f"maximum energy-balance error: {balance.largest_residual:.1e} of the "
                f"{balance.supplied:.6g} J supplied{STATIC_WORK_NOTE if is_loaded else ''}"
            )
        )
    return blocks


def run_numbers(summary: Summary) -> str:
    """Return peaks, arrivals, wave speed, and energy balance of a run as text."""
    return "\n".join(
        text_table([row[:3] for row in (block.columns, *block.rows)], block.alignment[:3])
        if isinstance(block, Grid)
        else block.text
        for block in number_blocks(summary)
    )


def check_grid(checks: Sequence[Check]) -> Grid:
    """Return the table of the checks of a mechanism."""
    rows = tuple(
        (check.what, number_text(check.value), "" if check.unit == "1" else check.unit)
        for check in checks
    )
    return Grid(("check", "value", ""), rows, "Checks", "<><")


PROVENANCE_NAMES = (
    "started",
    "granchain_version",
    "versions",
    "platform",
    "source_hash",
    "case_sha256",
    "data_sha256",
    "how",
    "n",
    "seed",
    "pair_json",
    "inputs_json",
)


def provenance_rows(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the origin of a file: versions, hashes, settings, and times, without JSON syntax."""
    rows = [
        (name, re.sub(r'[{}"]|:(?= )', "", str(provenance[name])))
        for name in PROVENANCE_NAMES
        if name in provenance
    ]
    if isinstance(provenance.get("wall_time"), float):
        rows.append(("wall_time", f"{provenance['wall_time']:.3g} s"))
    return rows
