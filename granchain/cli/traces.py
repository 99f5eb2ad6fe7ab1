"""`granchain traces import`: measured forces into a folder that `compare` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import granchain as gc
from granchain.cli.options import JsonOption, OverwriteOption, above_zero, app
from granchain.cli.text import print_result, text_table
from granchain.errors import TraceError
from granchain.pages.blocks import number_text

traces = typer.Typer(rich_markup_mode=None, help="Measured traces.")
app.add_typer(traces, name="traces")


@traces.command("import")
def import_file(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="CSV as oscilloscopes write it, .npy, .npz, HDF5, MATLAB, TDMS with npTDMS, Excel "
            "with openpyxl. Several files of one clock, such as one a channel, make one trace.",
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="measured, digitised (read off a figure) or synthetic (computed).",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the trace. Default: name of the file, or what the names of several "
            "have in common, here.",
        ),
    ] = None,
    beads: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="Bead of each force column, - for one to leave out; of several files one after "
            "the other. Default: from the headings and names of files.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title. Default: as the name of DIR is made.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Heading of the column of times, or name of that array."),
    ] = None,
    sheet: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Sheet of a workbook that has several with numbers."),
    ] = None,
    time_unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help='Unit of the time: s, ms, us, ns, or a number of one: "10 us". Default: as the '
            "file says.",
        ),
    ] = None,
    force_unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help='Unit of the forces: N, mN, kN, "10 N", or V, mV with --gain. Default: as the '
            "file says.",
        ),
    ] = None,
    gain: Annotated[
        str | None,
        typer.Option(
            metavar="G,G,...",
            help="Volts that one newton makes, above 0 [V/N]: one for all sensors, or one for each "
            "in the order of --beads.",
        ),
    ] = None,
    time_constant: Annotated[
        str | None,
        typer.Option(
            metavar="TAU,TAU,...",
            help="Time constant of the charge amplifier, above 0 [s], as --gain: the computed side "
            "goes through its high-pass filter, 1/(2 pi TAU).",
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="DT",
            parser=above_zero,
            help="Time between samples of a file without times, above 0 [s].",
        ),
    ] = None,
    resample: Annotated[
        float | None,
        typer.Option(
            metavar="DT",
            parser=above_zero,
            help="Put uneven samples on an even grid, by straight lines between them, above 0 [s].",
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            metavar="SIGN",
            help="Decimal sign of a text, point or comma; the other one then parts thousands.",
        ),
    ] = None,
    limit: Annotated[
        float,
        typer.Option(
            metavar="BYTES", parser=above_zero, help="Memory that reading the file may take."
        ),
    ] = 1e9,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help='Say something of the trace: who="A. Person", uncertainty.gain=0.02.',
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Bring files of measured forces into a folder: about.toml and trace.csv."""
    from granchain.traces import Asked, import_trace
    from granchain.traces.folder import common_name

    signs = {None: None, "point": ".", "comma": ","}
    if decimal not in signs:
        raise TraceError(
            f'--decimal: got "{decimal!s:.60}", allowed point or comma; write --decimal comma'
        )
    folder = common_name([Path(file) for file in files]) if out is None else out
    asked = Asked(
        read_beads(beads), time_unit, force_unit, read_each("--gain", "V/N", gain), interval,
        resample, signs[decimal], time, read_each("--time-constant", "s", time_constant), sheet,
    )  # fmt: skip
    said = list(changes or ())
    if title is not None:
        said.append(f"title={json.dumps(title, ensure_ascii=False)}")
    trace = import_trace(files, folder, kind, asked, said, overwrite, limit)
    facts = {
        "folder": folder,
        "kind": trace.about.kind,
        "samples": len(trace.time),
        "interval": trace.interval,
        "sensor_bead": trace.sensor_bead.tolist(),
        "notes": list(trace.notes),
    }
    print_result("traces import", facts, as_json, lambda: f"{trace_summary(trace)}\n{folder}")


def read_beads(text: str | None) -> list[int | None] | None:
    """Labels joined by commas, None for a dash."""
    if text is None:
        return None
    found: list[int | None] = []
    for part in text.split(","):
        word = part.strip()
        if word != "-" and not (
            word.isascii() and word.isdecimal() and int(word[:10]) > 0 and len(word) < 10
        ):
            raise TraceError(
                f'--beads: got "{word[:60]}", allowed whole numbers from 1, or - for a column to '
                "leave out; write --beads 9,16,-"
            )
        found.append(None if word == "-" else int(word))
    return found


def read_each(option: str, unit: str, text: str | None) -> float | list[float] | None:
    """One number, or several joined by commas."""
    if text is None:
        return None
    found = []
    for part in text.split(","):
        try:
            found.append(above_zero(part))
        except ValueError:
            raise TraceError(
                f'{option}: got "{part[:60]}", allowed a number above 0 [{unit}], or one for each '
                f"sensor; write {option} 0.02 or {option} 0.021,0.019"
            ) from None
    return found[0] if len(found) == 1 else found


def trace_summary(trace: gc.Trace) -> str:
    """A trace in some lines."""
    from granchain.analysis.baseline import noise_of

    rows = [
        (
            str(bead),
            number_text(float(force.max())),
            number_text(1e6 * float(trace.time[force.argmax()])),
            number_text(noise_of(trace, k)),
        )
        for k, (bead, force) in enumerate(
            zip(trace.sensor_bead.tolist(), trace.sensor_force.T, strict=True)
        )
    ]
    head = (
        f"{trace.about.title}: {trace.words}, {len(trace.time)} samples, one every "
        f"{trace.interval:.6g} s"
    )
    return "\n".join(
        [
            head,
            text_table([("sensor bead", "largest [N]", "at [us]", "noise [N]"), *rows], ">>>>"),
            *trace.notes,
        ]
    )
