"""Commands that run a case many times: `granchain sweep` for the study in a file, `granchain
verify` for three or four time steps, and `granchain optimize` for the best design."""

from __future__ import annotations

import math
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import granchain as gc
from granchain.cli.interrupts import Interruption
from granchain.cli.options import (
    MISSED,
    RUN_FAILED,
    AnswerOption,
    CaseArgument,
    JsonOption,
    LawModuleOption,
    OutOption,
    OverwriteOption,
    ResumeOption,
    SetOption,
    ThreadsOption,
    app,
    computed,
    load_laws,
    loaded_case,
    named_values,
    naming_the_law,
)
from granchain.cli.run import Progress, check_resume
from granchain.cli.text import answer_as_text, notify, paragraph, print_result
from granchain.markup import text_table
from granchain.show.blocks import number_text
from granchain.status import STATUS_OF_LABEL, Status

if TYPE_CHECKING:
    from granchain.studies.sweep import Description

# Largest number of messages of members that are printed.
MOST_WARNINGS = 10


@app.command(
    epilog=(
        "In Python: `gc.sweep(case, vary)`; with `--chained`: `chained=True`; with `--dask "
        "ADDRESS`: `executor=dask.distributed.Client(ADDRESS)`."
    )
)
def sweep(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="SWEEP.toml",
            help="File that describes the study: a case, and the values of its keys.",
        ),
    ],
    out: OutOption = None,
    overwrite: OverwriteOption = False,
    resume: ResumeOption = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the number of members and the resources that they need, and stop.",
        ),
    ] = False,
    chained: Annotated[
        bool,
        typer.Option(
            "--chained",
            help="Start each value of one list from the end of the previous one, as `chained = "
            "true` in the file does.",
        ),
    ] = False,
    threads: ThreadsOption = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Compute on the workers of this Dask scheduler, for example tcp://HOST:8786.",
        ),
    ] = None,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a case for many values of its keys."""
    check_resume(resume, overwrite)
    target = Path(f"{Path(file).stem}.h5" if out is None else out)
    with Interruption(bool(context.obj), as_json) as interruption:
        # Completed members are in FILE.part, so an interruption does not lose them.
        interruption.end_message = partial(interrupted, target)
        load_laws(law_module)
        from granchain.studies.evaluate import evaluated
        from granchain.studies.executors import dask_at
        from granchain.studies.sweep import estimate, load_sweep

        description = load_sweep(file, chained)
        if dry_run:
            costs = estimate(description.plan, description.measures, threads, description.chained)
            rows = [
                ("members", members_text(description)),
                ("time", f"about {costs['seconds']:.2g} s"),
                ("memory", f"at most {costs['memory'] / 1e6:.2g} MB"),
                ("file", f"at most {costs['file_size'] / 1e6:.2g} MB"),
            ]
            facts = {**costs, "dimensions": dimensions(description)}
            print_result("sweep", facts, as_json, lambda: text_table(rows, "<<"))
            return
        case = description.plan.case
        progress = Progress(interruption, target, sys.stderr.isatty(), case.title)

        with (
            progress,
            naming_the_law(case.law),
            dask_at(dask) if dask else nullcontext() as executor,
        ):
            study = evaluated(
                description.plan, description.measures, chained=description.chained,
                threads=threads, executor=executor, out=target, resume=resume, overwrite=overwrite,
                progress=lambda done, count: progress.show(done / count),
            ).answer()  # fmt: skip
            # The file has been written, so a signal must not report that it was not.
            interruption.note_only = True
        ends = [STATUS_OF_LABEL[label] for label in study.status.values.ravel()]
        print_sweep(description, study, ends, target, as_json)
        if Status.INTERRUPTED in ends:
            raise typer.Exit(interruption.exit_code)
        if Status.COMPLETE not in ends:
            raise typer.Exit(RUN_FAILED)


def interrupted(target: Path) -> str:
    """Return the message of an interrupted study."""
    # The module may be partly imported.
    partial_file = getattr(
        sys.modules.get("granchain.store.journal"), "unfinished_file_of", lambda path: None
    )(target)
    go_on = "" if partial_file is None else f". To resume, use {partial_file} with --resume"
    return f"interrupted; {target} was not written{go_on}"


def dimensions(description: Description) -> dict[str, int]:
    """Return the number of members along each dimension."""
    return dict(zip(description.plan.dims, description.plan.shape, strict=True))


def members_text(description: Description) -> str:
    """Return the number of members, in total and along each dimension, as text."""
    along = ", ".join(f"{n} {name}" for name, n in dimensions(description).items())
    return f"{len(description.plan)}" + (f" ({along})" if along else "")


def print_sweep(
    description: Description, study: Any, ends: list[Status], target: Path, as_json: bool
) -> None:
    """Print the status of the members and the name of the file."""
    from granchain.store.answer import messages_of_study, plain_answer

    messages = study.message.values.ravel().tolist()
    printed = list(dict.fromkeys(message for message in messages if message))
    notes = messages_of_study(study)
    facts = {**plain_answer(study), "file": str(target)}
    more = len(printed) - MOST_WARNINGS
    warnings = [
        *printed[:MOST_WARNINGS],
        *([f'and {more} more messages in the variable "message"'] if more > 0 else []),
        *notes,
    ]
    lines = [
        f"members {members_text(description)}: {study.attrs['status']}",
        *([] if Status.INTERRUPTED in ends else [f"complete: {target}"]),
    ]
    warning_lines = [f"warning: {warning}" for warning in warnings]
    print_result("sweep", facts, as_json, lambda: "\n".join(lines), warning_lines)


# --------------------------------------------------------------------------------------------------
# Time steps


@app.command(epilog="In Python: `gc.verify(case)`.")
def verify(
    case: CaseArgument,
    changes: SetOption = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            min=1e-15,
            max=0.999,
            help="Largest relative error of each peak and arrival, between 0 and 1, for example "
            "1e-3. If it isn't met, the exit code is 5.",
        ),
    ] = None,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a case at three or four time steps and estimate its errors.

    The output lists the observed order, error bars of peaks and arrivals, and the step for 0.1 %.
    With --tolerance, the exit code is 5 if an error bar is larger, or if the order isn't that of
    the law.
    """
    full_case = loaded_case(case, changes, law_module)
    verification = computed(
        lambda: gc.verify(full_case, 1e-3 if tolerance is None else tolerance),
        [full_case.law],
        out,
        overwrite,
    )
    stated = {"tolerance_stated": tolerance is not None, "out": out}
    facts = {"case": case, **verification.as_dict(), **stated}
    print_result("verify", facts, as_json, lambda: verification_text(verification))
    if tolerance is not None and not verification.kept:
        notify(missed_tolerance_text(verification))
        raise typer.Exit(MISSED)


def verification_text(verification: gc.Verification) -> str:
    """Return steps with balance errors, order, error bars, and advice as text."""
    rows = [
        ("step [s]", "fraction of stability limit", "maximum energy-balance error"),
        *(
            (f"{step:.6g}", f"{step / verification.limit:.3g}", number_text(float(residual), ".1e"))
            for step, residual in zip(verification.step, verification.residual, strict=True)
        ),
    ]
    blocks = [text_table(rows, ">>>"), paragraph(about_order(verification))]
    if not len(verification.sensor_bead):
        return "\n".join([*blocks, f"{NO_PEAK[0]}, so there are no error bars. {NO_PEAK[1]}"])
    heads = (
        "sensor bead",
        "peak [N]",
        "step error",
        "sampling error",
        "arrival [us]",
        "step error",
        "sampling error",
        "total error [%]",
    )
    v, relative = verification, verification.relative_errors("error", "sampling")
    columns = (
        map(str, v.sensor_bead.tolist()),
        map(number_text, v.peak.tolist()),
        *((f"{error:.2g}" for error in errors) for errors in (v.peak_error, v.peak_sampling)),
        (number_text(arrival, factor=1e6) for arrival in v.arrival.tolist()),
        *(
            (f"{error * 1e6:.2g}" for error in errors)
            for errors in (v.arrival_error, v.arrival_sampling)
        ),
        (f"{100.0 * error:.2g}" for error in relative),
    )
    bars = zip(*columns, strict=True)
    return "\n".join(
        [*blocks, text_table([heads, *bars], ">" * 8), paragraph(step_text(verification))]
    )


NO_PEAK = (
    "no sensor has a complete first pulse",
    "Add beads under [sensors], or run longer.",
)


def about_order(verification: gc.Verification) -> str:
    """Return the observed and the expected order as text."""
    if math.isnan(verification.order):
        return f"The motion is the same at all steps within rounding ({verification.law})."
    sentence = (
        f"Observed order of convergence of the velocities of all bodies: {verification.order:.2f}. "
        f"Expected order for {verification.law}: {verification.order_stated}."
    )
    if not verification.confirmed:
        sentence += (
            f" {verification.messages[0]} The errors from the step use order "
            f"{verification.order_used:.2g} and three times the extrapolated error."
        )
    return sentence


def step_text(verification: gc.Verification) -> str:
    """Return the step that meets the tolerance, and the effect of the sampling interval."""
    step, percent = verification.sufficient_step, 100.0 * verification.tolerance
    sentence = (
        f"With the time step of the case, {verification.time_step:.4g} s, every peak and arrival "
        f"is accurate within {100.0 * verification.largest:.2g} %, including the sampling interval "
        f"of {verification.interval:.3g} s. A step of {step:.3g} s, "
        f"{step / verification.limit:.3g} of the stability limit, gives {percent:.3g} %"
    )
    if step >= verification.largest_known_step:
        sentence += (
            " or better; a larger step is not recommended, because its order of convergence is "
            "unknown"
        )
    sampled = verification.relative_errors("sampling").max(initial=0.0)
    if sampled > verification.tolerance:
        sentence += (
            f". Sampling alone causes errors of up to {100.0 * sampled:.2g} %. Use a shorter "
            "sensors.interval"
        )
    return f"{sentence}."


def missed_tolerance_text(verification: gc.Verification) -> str:
    """Return the message about a missed tolerance."""
    if math.isnan(verification.largest):
        why = ". ".join(NO_PEAK)
    elif not verification.confirmed:
        why = (
            f"the observed order is {verification.order:.2f}, but {verification.law} has order "
            f"{verification.order_stated}. Use a smaller step"
        )
    else:
        by_step = verification.relative_errors("error").max() > verification.tolerance
        advice = (
            f"a step of {verification.sufficient_step:.3g} s"
            if by_step
            else "a shorter sensors.interval"
        )
        why = (
            f"the largest error is {verification.largest:.2g} of a peak or an arrival. Use {advice}"
        )
    return f"The tolerance of {verification.tolerance:g} could not be confirmed: {why}"


# --------------------------------------------------------------------------------------------------
# Optimization


@app.command(epilog="In Python: `gc.optimize(case, minimize, over, subject_to)`.")
def optimize(
    case: CaseArgument,
    over: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=LOW:HIGH",
            help="A number of the case, or a list with one number for each bead or gap, and its "
            "bounds. Repeatable.",
        ),
    ],
    minimize: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="Value to minimize: peak (of the sensor beads), peak:BEAD, wall_force (on a "
            "wall at the right end), or transmitted_momentum.",
        ),
    ] = "peak",
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT=LOW:HIGH", help="Value that must lie between two bounds. Repeatable."
        ),
    ] = None,
    changes: SetOption = None,
    generations: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Largest number of generations of the global search; 0 for none.",
        ),
    ] = 100,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the search.")] = 0,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    threads: ThreadsOption = None,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
    write_case: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the case of the best design to this TOML file."),
    ] = None,
) -> None:
    """Minimize a value of a run over bounded numbers of the case.

    A global search is followed by a local one.
    """
    if write_case is not None:
        from granchain.store.files import check_target

        check_target(write_case, overwrite)
    start = loaded_case(case, changes, law_module)
    limits = named_values("--subject-to", subject_to or (), "peak:5=0:40", count=2)
    optimum = computed(
        lambda: gc.optimize(
            start,
            value_to_optimize(minimize),
            named_values("--over", over, "chain.radius_factor=0.7:1.3", count=2),
            [(value_to_optimize(value_name), *bounds) for value_name, bounds in limits.items()],
            generations=generations,
            seed=seed,
            threads=threads,
        ),
        [start.law],
        out,
        overwrite,
    )
    if write_case is not None:
        optimum.case.save(write_case, overwrite)
    facts = {"case": case, **optimum.as_dict(), "out": out}
    print_result("optimize", facts, as_json, partial(answer_as_text, optimum), optimum.messages)


def value_to_optimize(text: str) -> Any:
    """Return a value to optimize from its name: "peak:5" is the peak of bead 5."""
    name, _, bead = text.partition(":")
    return (name, int(bead)) if bead.isdecimal() else text
