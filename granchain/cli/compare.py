"""Commands `granchain compare`, `bands`, `equivalent`, and `fit`, and their tables; and `granchain
traces import`, which imports measured forces into a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import granchain as gc
from granchain.cli.options import (
    MISSED,
    AnswerOption,
    CaseArgument,
    CutoffOption,
    FigureOption,
    JsonOption,
    LawModuleOption,
    NoVerifyOption,
    OverwriteOption,
    SetOption,
    ThreadsOption,
    TraceOption,
    above_zero,
    app,
    compute_and_print,
    computed,
    loaded_case,
    named_values,
)
from granchain.cli.text import blocks_as_text, print_result
from granchain.errors import CaseError, TraceError
from granchain.markup import text_table
from granchain.show.blocks import number_text, time_text

# Example for the message about an invalid range.
EXAMPLE_RANGE = "restitution=0.05:0.99"


@app.command(epilog="In Python: `gc.compare(result, trace=DIR, bands={KEY: FRACTION})`.")
def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Result file of a run; several files for several laws."
        ),
    ],
    trace: TraceOption,
    tolerances: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="NAME=VALUE",
            help="Largest difference of peak, width, impulse, or speed (relative), arrival [s], "
            "or residual. If it isn't met, the exit code is 5. Repeatable.",
        ),
    ] = None,
    band: Annotated[
        list[str] | None,
        typer.Option(
            "--band",
            metavar="KEY=PART",
            help="Relative standard deviation of a key, instead of the tolerances in the case "
            "and the trace. Repeatable.",
        ),
    ] = None,
    cutoff: CutoffOption = None,
    members: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Number of members of the bands; 0 for no bands."),
    ] = 1024,
    figure: FigureOption = None,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    no_verify: NoVerifyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare results with a measured trace.

    The output lists peaks, arrivals, widths, impulses, speeds, and residuals, and bands if there
    are tolerances.
    """
    from granchain.cli.compared import comparison_tables

    bounds = named_values("--tolerance", tolerances or (), "peak=0.05")
    band_tolerances = read_bands(band or ())

    def compute() -> gc.Comparison:
        """Compare the results of the files, which the law and, if necessary, the file label."""
        measured = gc.read_trace(trace)
        results = [gc.open(file, verify=not no_verify) for file in files]
        laws = [result.law for result in results]
        labels = [
            law if laws.count(law) == 1 else f"{law} ({Path(file).stem})"
            for file, law in zip(files, laws, strict=True)
        ]
        return gc.compare(
            *results,
            trace=measured,
            labels=labels,
            cutoff=cutoff,
            tolerances=bounds,
            bands=band_tolerances or None,
            members=members,
        )

    comparison = computed(compute, (), out, overwrite, gc.figures.comparison, figure)
    print_result(
        "compare",
        {"files": files, "folder": trace, **comparison.as_dict(), "figure": figure, "out": out},
        as_json,
        lambda: blocks_as_text(comparison_tables(comparison)),
        comparison.messages,
    )
    if comparison.missed:
        raise typer.Exit(MISSED)


def read_bands(items: Iterable[str]) -> dict[str, Any]:
    """Return KEY=PART items as a table of tolerances."""
    from granchain.case.document import set_values
    from granchain.keys import Problems

    problems = Problems()
    table: dict[str, Any] = {}
    set_values(table, items, "--band striker.speed=0.02", problems, "--band")
    problems.close()
    return table


@app.command(epilog="In Python: `gc.bands(case, tolerance)`.")
def bands(
    case: CaseArgument,
    band: Annotated[
        list[str] | None,
        typer.Option(
            "--band",
            metavar="KEY=PART",
            help="Relative standard deviation of a key. Repeatable. Default: the table "
            "[tolerance] of the case.",
        ),
    ] = None,
    changes: SetOption = None,
    members: Annotated[
        int, typer.Option(metavar="N", min=2, help="Number of members, at least 2.")
    ] = 1024,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random members.")] = 0,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity", help="Compute Sobol indices of each key, with N (keys + 2) runs."
        ),
    ] = False,
    threads: ThreadsOption = None,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propagate parameter uncertainties to peaks and arrivals at the sensors."""
    full_case = loaded_case(case, changes, law_module)
    stated = read_bands(band or ()) or None
    compute_and_print(
        "bands",
        {"case": case},
        lambda: gc.bands(full_case, stated, members, seed, sensitivity, threads=threads),
        gc.figures.sensitivities if sensitivity else gc.figures.band_traces,
        figure,
        out,
        overwrite,
        as_json,
        [full_case.law],
    )


@app.command(epilog="In Python: `gc.equivalent(case, to, laws)`.")
def equivalent(
    case: CaseArgument,
    law: Annotated[
        list[str],
        typer.Option(
            "--law",
            metavar="LAW",
            help='A law to try, also with inputs: \'{ law = "flores", damping = "identified" }\'. '
            "Repeatable.",
        ),
    ],
    free: Annotated[
        list[str] | None,
        typer.Option(
            "--free",
            metavar="[LAW:]KEY=LOW:HIGH",
            help="An input to search with its range, for all laws that have it or for one law. "
            "Default: restitution=0.05:0.99.",
        ),
    ] = None,
    changes: SetOption = None,
    to: Annotated[
        str,
        typer.Option("--to", metavar="LAW", help="Reference law to approximate."),
    ] = "ma-liu",
    measure: Annotated[
        str, typer.Option(metavar="WHAT", help="Values to compare: peaks, arrivals, or traces.")
    ] = "peaks",
    threads: ThreadsOption = None,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the inputs with which other laws best approximate a law in a chain."""
    full_case = loaded_case(case, changes, law_module)
    shared, individual = split_by_law(named_values("--free", free or (), EXAMPLE_RANGE, count=2))
    laws = read_laws(law)
    compute_and_print(
        "equivalent",
        {"case": case},
        lambda: gc.equivalent(
            full_case, to, laws, shared | individual or None, measure, threads=threads
        ),
        gc.figures.fit,
        figure,
        out,
        overwrite,
        as_json,
        [full_case.law, to, *laws],
    )


def read_laws(items: Iterable[str]) -> list[Any]:
    """Return laws by name, or as tables with inputs."""
    from granchain.case.document import toml_value

    return [toml_value(text) if text.lstrip().startswith("{") else text for text in items]


def split_by_law(named: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the values of KEY, which all laws share, and the values of LAW:KEY by law."""
    shared: dict[str, Any] = {}
    individual: dict[str, dict[str, Any]] = {}
    for name, value in named.items():
        law, colon, key = name.rpartition(":")
        target = individual.setdefault(law.strip(), {}) if colon else shared
        target[key.strip()] = value
    return shared, individual


@app.command(epilog="In Python: `gc.fit(case, DIR, free)`.")
def fit(
    case: CaseArgument,
    trace: TraceOption,
    free: Annotated[
        list[str],
        typer.Option(
            "--free",
            metavar="[LAW:]KEY",
            help="A key to fit, such as contact.psi, in all laws that have it or in one law: "
            "flores:contact.restitution. Repeatable.",
        ),
    ],
    law: Annotated[
        list[str] | None,
        typer.Option(
            "--law",
            metavar="LAW",
            help="A law to fit and rank with the others by AIC, also with inputs: '{ law = "
            '"flores", damping = "identified" }\'. Repeatable.',
        ),
    ] = None,
    changes: SetOption = None,
    measure: Annotated[
        str,
        typer.Option(
            metavar="WHAT", help="Values to fit: peaks, arrivals, features (both), or traces."
        ),
    ] = "peaks",
    cutoff: CutoffOption = None,
    threads: ThreadsOption = None,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fit case parameters to a measured trace.

    The output lists values, errors, correlations, and the residuals at each sensor. If you name
    several laws, they are ranked.
    """
    full_case = loaded_case(case, changes, law_module)
    common, keys_by_law = split_by_law(dict.fromkeys(free))
    laws: Any = with_free_keys(read_laws(law or ()), keys_by_law) or None
    compute_and_print(
        "fit",
        {"case": case},
        lambda: gc.fit(
            full_case, trace, list(common), measure, laws=laws, cutoff=cutoff, threads=threads
        ),
        gc.figures.fit,
        figure,
        out,
        overwrite,
        as_json,
        [full_case.law, *(laws or ())],
    )


def with_free_keys(laws: Iterable[Any], keys_by_law: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """Return laws as `granchain.fit` requires them: inputs and free keys by name."""
    inputs_by_law: dict[str, Any] = {}
    for entry in laws:
        inputs = dict(entry) if isinstance(entry, dict) else {"law": entry}
        name = str(inputs.pop("law", "none"))
        if name in inputs_by_law:
            raise CaseError(f"--law: {name} is listed twice. Each law must be listed once.")
        inputs_by_law[name] = {**inputs, "free": list(keys_by_law.get(name, ()))}
    strange = [name for name in keys_by_law if name not in inputs_by_law]
    if strange:
        raise CaseError(
            f'--free: the law "{strange[0][:60]}" is not one of the laws to fit. It must be '
            f"one of {', '.join(inputs_by_law) or 'the laws of --law'}. Add it with --law."
        )
    return inputs_by_law


# --------------------------------------------------------------------------------------------------
# Measured traces


traces = typer.Typer(rich_markup_mode=None, help="Import measured traces.")
app.add_typer(traces, name="traces")


@traces.command(
    "import",
    epilog=(
        "In Python: `granchain.measured.import_trace(FILES, DIR, KIND)`; without a folder "
        "`gc.read_trace(FILE)`."
    ),
)
def import_file(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Text files of instruments, such as CSV. Several files with the same clock form "
            "one trace.",
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="Kind of the trace: measured, digitised (read from a figure), or synthetic "
            "(computed).",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the trace. Default: the name of the file, or the common part of "
            "several names.",
        ),
    ] = None,
    beads: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="Bead of each force column, and - for a column to leave out; for several files "
            "in their order. Default: from the headings and the file names.",
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Title of the trace. Default: from the name of DIR."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Heading of the time column."),
    ] = None,
    time_unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help='Unit of the time: s, ms, us, ns, or a multiple such as "10 us". Default: from '
            "the file.",
        ),
    ] = None,
    force_unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help='Unit of the forces: N, mN, kN, "10 N", or V, mV with --gain. Default: from the'
            " file.",
        ),
    ] = None,
    gain: Annotated[
        str | None,
        typer.Option(
            metavar="G,G,...",
            help="Calibration [V/N], also as 18 mV/N: one value for all sensors, or one for each "
            "in the order of --beads. A plain number divides forces; -1 turns them.",
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="DT",
            parser=above_zero,
            help="Time between samples, if the times are missing or rounded [s], above 0.",
        ),
    ] = None,
    resample: Annotated[
        float | None,
        typer.Option(
            metavar="DT",
            parser=above_zero,
            help="Interpolate uneven samples to a regular grid with this interval [s], above 0.",
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            metavar="SIGN",
            help="Decimal separator: point or comma. The other character separates thousands.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help='Metadata of the trace, for example who="A. Person" or uncertainty.gain=0.02.',
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import files of measured forces into a folder with about.toml and trace.csv."""
    from granchain.measured import import_trace
    from granchain.measured.folder import common_name

    folder = common_name([Path(file) for file in files]) if out is None else out
    metadata = list(changes or ())
    if title is not None:
        metadata.append(f"title={json.dumps(title, ensure_ascii=False)}")
    trace = import_trace(
        files,
        folder,
        kind,
        changes=metadata,
        overwrite=overwrite,
        beads=read_beads(beads),
        time=time,
        time_unit=time_unit,
        force_unit=force_unit,
        gain=gain,
        interval=interval,
        decimal=decimal,
        resample=resample,
    )
    facts = {
        "folder": folder,
        "kind": trace.about.kind,
        "samples": len(trace.time),
        "interval": trace.interval,
        "start": trace.start,
        "sensor_bead": trace.sensor_bead.tolist(),
        "notes": list(trace.notes),
    }
    print_result("traces import", facts, as_json, lambda: f"{trace_summary(trace)}\n{folder}")


def read_beads(text: str | None) -> list[int | None] | None:
    """Return labels separated by commas; a dash is None."""
    if text is None:
        return None
    labels: list[int | None] = []
    for cell in text.split(","):
        word = cell.strip()
        if word != "-" and not (
            word.isascii() and word.isdecimal() and int(word[:10]) > 0 and len(word) < 10
        ):
            raise TraceError(
                f'--beads: "{word[:60]}" is not valid. Each label must be a whole number, 1 '
                "or more, or - for a column to ignore, for example --beads 9,16,-."
            )
        labels.append(None if word == "-" else int(word))
    return labels


def trace_summary(trace: gc.Trace) -> str:
    """Return a summary of a trace in a few lines."""
    from granchain.measured.baseline import sample_noise

    rows = [
        (
            str(bead),
            number_text(float(force.max())),
            time_text(trace.start + float(trace.time[force.argmax()]), trace.interval),
            number_text(sample_noise(trace, k)),
        )
        for k, (bead, force) in enumerate(
            zip(trace.sensor_bead.tolist(), trace.sensor_force.T, strict=True)
        )
    ]
    head = (
        f"{trace.about.title}: {trace.about.kind_text}, {len(trace.time)} samples, sampling "
        f"interval {trace.interval:.6g} s"
    )
    return "\n".join(
        [
            head,
            text_table(
                [("sensor bead", "largest force [N]", "time [us]", "noise [N]"), *rows], ">>>>"
            ),
            *trace.notes,
        ]
    )
