"""`granchain compare`: results of runs against a measured trace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granchain.cli.options import MISSED, JsonOption, UnsealedOption, app
from granchain.cli.text import notify, number_text, paragraph, print_json, print_text, text_table
from granchain.errors import CaseError, TraceError

if TYPE_CHECKING:
    from granchain.comparison import Agreement, Comparison, ResultAgreement


@app.command()
def compare(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Output file of a run; several for several laws."),
    ],
    trace: Annotated[
        str,
        typer.Option(
            "--trace",
            metavar="DIR",
            help="Folder of the trace, as `granchain traces import` makes it.",
        ),
    ],
    tolerances: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="NAME=VALUE",
            help="Largest difference: peak, width, impulse, speed (relative), arrival (s), "
            "residual. Missed: exit code 5. May be repeated.",
        ),
    ] = None,
    cutoff: Annotated[
        float | None,
        typer.Option(
            metavar="HZ",
            help="Frequency that the zero-phase filter halves, in both; 0: no filter. Default: as "
            "the trace says.",
        ),
    ] = None,
    band: Annotated[
        list[str] | None,
        typer.Option(
            "--band",
            metavar="KEY=PART",
            help="Standard deviation of a key of the case, part of its value, instead of what case "
            "and trace state. May be repeated.",
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(metavar="N", help="Members of the bands; 0: no bands. Default: 1024."),
    ] = None,
    figure: Annotated[
        str | None, typer.Option(metavar="FILE", help="Figure, ending in .png, .pdf or .svg.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE.json", help="Write what --json prints to this file too."),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace a figure, or a file of numbers, that is there."),
    ] = False,
    unsealed: UnsealedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare results with a measured trace: peaks, arrivals, widths, impulses, speeds,
    residuals; bands where tolerances are stated."""
    from granchain.comparison import compare as compared
    from granchain.store import open_result
    from granchain.store.conclusion import claim_conclusion, save_conclusion
    from granchain.traces import read_trace

    bounds = read_tolerances(tolerances or [])
    asked = read_bands(band or [])
    if members is not None and members < 0:
        raise TraceError(
            f"--members: got {members}, allowed a whole number from 0; write for example "
            "--members 256"
        )
    if cutoff is not None and not 0.0 <= cutoff < math.inf:
        raise TraceError(
            f"--cutoff: got {cutoff!r}, allowed a finite number from 0 [Hz]; write for example "
            "--cutoff 3e5"
        )
    with claim_conclusion(out, overwrite):
        measured = read_trace(trace)
        results = [open_result(file, unsealed=unsealed) for file in files]
        laws = [result.law for result in results]
        labels = [
            law if laws.count(law) == 1 else f"{law} ({Path(file).stem})"
            for file, law in zip(files, laws, strict=True)
        ]
        found = compared(*results, trace=measured, labels=labels, cutoff=cutoff, tolerances=bounds)
        if members != 0:
            from granchain.studies.bands import MEMBERS, with_bands

            found = with_bands(
                found, results, asked or None, MEMBERS if members is None else members
            )
        facts = {"files": files, "folder": trace, **found.as_dict(), "tolerances": bounds}
        if out is not None:
            save_conclusion(out, "comparison", None, facts, overwrite)
    if figure is not None:
        from granchain import figures

        drawn, _ = figures.comparison(found)
        figures.save(drawn, figure, overwrite)
    if as_json:
        print_json({"command": "compare", **facts, "figure": figure, "out": out})
    else:
        parts = [
            "\n".join(map(paragraph, comparison_heading(found))),
            *comparison_tables(found),
            *map(paragraph, conclusion(found)),
            *(band_table(found, one) for one in found.results if one.members),
        ]
        print_text("\n\n".join(parts))
        for name in (figure, out):
            if name is not None:
                print_text(name)
        for message in found.messages:
            notify(message)
        for sentence in found.missed:
            notify(sentence)
    if found.missed:
        raise typer.Exit(MISSED)


def read_tolerances(items: Sequence[str]) -> dict[str, float]:
    """NAME=VALUE as numbers; the names are the comparison's to judge."""
    found, problems = {}, []
    for item in items:
        name, _, text = item.partition("=")
        try:
            found[name.strip()] = float(text)
        except ValueError:
            problems.append(
                f'--tolerance: got "{item[:60]}", allowed NAME=VALUE; write for example '
                "--tolerance peak=0.05"
            )
    if problems:
        raise TraceError(problems)
    return found


def read_bands(items: Sequence[str]) -> dict[str, Any]:
    """KEY=PART as a table of tolerances.

    Raises
    ------
    CaseError
    """
    from granchain.case.document import set_values
    from granchain.keys import Problems

    problems = Problems()
    table: dict[str, Any] = {}
    set_values(table, items, "--band striker.speed=0.02", problems)
    if problems.sentences:
        raise CaseError([sentence.replace("--set", "--band") for sentence in problems.sentences])
    return table


# Factor and unit of a table.
SHOWN = {
    "peak": (1.0, "peak force [N]"),
    "arrival": (1e6, "arrival of the peak [us]"),
    "width": (1e6, "width at half height [us]"),
    "impulse": (1e3, "impulse of the pulse [mN s]"),
    "speed": (1.0, "speed to the next sensor [m/s]"),
}


def comparison_heading(found: Comparison) -> list[str]:
    """What is compared."""
    about = found.trace.about
    source = ", ".join(part for part in (about.who, about.figure, about.doi) if part)
    lines = [f"{about.title}: {found.trace.words}" + (f" ({source})" if source else "")]
    lines += [
        f"{one.label}: computed time + {number_text(1e6 * one.shift)} us is the trace's, +- "
        f"{1e6 * one.shift_uncertainty:.2g} us"
        for one in found.results
    ]
    if found.sensor.cutoff is not None:
        lines.append(
            f"Both sides went through a zero-phase filter that halves {found.sensor.cutoff:.3g} Hz."
        )
    return lines


def comparison_tables(found: Comparison) -> list[str]:
    """A table for each number: measured with its uncertainty, and each result with its
    difference."""
    parts = []
    for name, (factor, title) in SHOWN.items():
        off = "off [us]" if name == "arrival" else "off [%]"
        rows = [
            (
                "bead",
                "measured",
                "+-",
                *(cell for one in found.results for cell in (one.label, off)),
            )
        ]
        for k, sensor in enumerate(found.results[0].sensors):
            if name == "speed" and k + 1 == len(found.results[0].sensors):
                continue
            measured: Agreement = getattr(sensor, name)
            sides = [getattr(one.sensors[k], name) for one in found.results]
            cells = [
                cell
                for side in sides
                for cell in (number_text(factor * side.computed), off_words(name, factor, side))
            ]
            rows.append(
                (
                    place_words(found, k),
                    number_text(factor * measured.measured),
                    short_label(factor * measured.uncertainty),
                    *cells,
                )
            )
        if name == "speed":
            whole = [one.wave_speed for one in found.results]
            cells = [
                cell
                for side in whole
                for cell in (number_text(side.computed), off_words(name, 1.0, side))
            ]
            rows.append(
                ("all", number_text(whole[0].measured), short_label(whole[0].uncertainty), *cells)
            )
        parts.append(f"{title}\n" + text_table(rows, ">" * len(rows[0])))
    rows = [
        (
            "bead",
            "of noise",
            *(one.label for one in found.results),
            *(["nearest"] if len(found.results) > 1 else []),
        )
    ]
    for k, sensor in enumerate(found.results[0].sensors):
        cells = [share(one.sensors[k].residual.computed) for one in found.results]
        nearest = (
            [" or ".join(found.nearest.get(sensor.bead, ("-",)))] if len(found.results) > 1 else []
        )
        rows.append((place_words(found, k), share(sensor.residual.uncertainty), *cells, *nearest))
    parts.append("residual, part of the measured pulse\n" + text_table(rows, ">" * len(rows[0])))
    return parts


def band_table(found: Comparison, one: ResultAgreement) -> str:
    """Ends of the intervals in which measurements of this uncertainty would lie, and whether
    these do."""
    from granchain.comparison import IN_BAND

    spread = ", ".join(
        f"{key} {100.0 * part['uniform']:.3g} % half width"
        if isinstance(part, dict)
        else f"{key} {100.0 * part:.3g} %"
        for key, part in one.tolerance.items()
    )
    rows: list[tuple[str, ...]] = [
        ("bead", "peak [N]", "from", "to", "", "arrival [us]", "from", "to", "", "force in band")
    ]
    for k, sensor in enumerate(one.sensors):
        cells = [place_words(found, k)]
        for side, factor, band in (
            (sensor.peak, 1.0, sensor.peak_band),
            (sensor.arrival, 1e6, sensor.arrival_band),
        ):
            measured = number_text(factor * side.measured)
            if band is None:
                cells += [measured, "-", "-", ""]
                continue
            ends = [number_text(factor * end) for end in (band.low_measured, band.high_measured)]
            cells += [
                measured,
                *ends,
                {True: "within", False: "outside", None: "-"}[band.holds(side.measured)],
            ]
        force = sensor.force_band
        cells.append(
            f"{100.0 * force.inside:.3g} %"
            if force is not None and math.isfinite(force.inside)
            else "-"
        )
        rows.append(tuple(cells))
    words = (
        f"{one.label}: is it within the band? {spread}; {one.members} members, "
        f"{100.0 * IN_BAND:g} % of measurements would be from ... to"
    )
    return paragraph(words) + "\n" + text_table(rows, ">" * len(rows[0]))


def place_words(found: Comparison, k: int) -> str:
    """A sensor's bead, with a word where another pulse has merged with the first."""
    merged = any(one.sensors[k].merged for one in found.results)
    return f"{found.results[0].sensors[k].bead}" + (" merged" if merged else "")


def off_words(name: str, factor: float, side: Agreement) -> str:
    """Difference of a computed number, with its sign."""
    value = factor * side.difference if name == "arrival" else 100.0 * side.relative
    return f"{value:+.3g}" if math.isfinite(value) else "-"


def short_label(value: float) -> str:
    """An uncertainty: two digits."""
    return f"{value:.2g}" if math.isfinite(value) else "-"


def share(value: float) -> str:
    """A part of one."""
    return f"{value:.4f}" if math.isfinite(value) else "-"


def conclusion(found: Comparison) -> list[str]:
    """Which law is nearest."""
    if len(found.results) < 2 or not found.nearest:
        return []
    counts = {
        one.label: sum(labels == (one.label,) for labels in found.nearest.values())
        for one in found.results
    }
    counted = ", ".join(
        f"{label} at {count}"
        for label, count in sorted(counts.items(), key=lambda item: -item[1])
        if count
    )
    undecided = sum(len(labels) > 1 for labels in found.nearest.values())
    words = f"Nearest, by the residual, of {len(found.nearest)} sensors: {counted or 'none alone'}"
    return [words + (f"; at {undecided} noise does not tell them apart" if undecided else "") + "."]
