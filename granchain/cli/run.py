"""Commands `granchain run` and `granchain mechanism`: run a case, write its file, and print its
summary."""

from __future__ import annotations

import contextlib
import gc as garbage
import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import granchain as gc
from granchain.cli.interrupts import Interruption
from granchain.cli.options import (
    CaseArgument,
    ChainThreadsOption,
    JsonOption,
    LawModuleOption,
    OutOption,
    OverwriteOption,
    ResumeOption,
    SetOption,
    app,
    load_laws,
    loaded_case,
    naming_the_law,
)
from granchain.cli.text import (
    notify,
    print_json,
    print_text,
)
from granchain.engine.garbage import no_collection
from granchain.errors import CaseError, FileError, GranchainError, LawError, RunError, clean
from granchain.markup import text_table
from granchain.plain_data import plain_data
from granchain.progress import ProgressLine
from granchain.status import Status

if TYPE_CHECKING:
    from granchain.mechanisms.checks import Check
    from granchain.store import Checkpoint

# Run time before the progress line appears, because a shorter run ends before anyone can read it
# [s], and the interval at which the line is updated [s].
LINE_AFTER = 1.0
LINE_EVERY = 0.1

# Time to compile a loop that is not in a cache, by machine and law: measured, docs/speed.md.
COMPILING = "4 to 10 s"


@app.command(
    epilog=(
        "In Python: `gc.run(case)`, then `result.save(FILE)`; with `--checkpoint` and "
        "`--resume`: `gc.run(case, checkpoint=FILE, resume=True)`."
    )
)
def run(
    context: typer.Context,
    case: CaseArgument = "steel-chain",
    changes: SetOption = None,
    out: OutOption = None,
    overwrite: OverwriteOption = False,
    resume: ResumeOption = False,
    checkpoint: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Wall time between two checkpoints of FILE.chk [s]; 0 for none. Checkpoints "
            "take at most 2 % of the run's time.",
        ),
    ] = 30.0,
    threads: ChainThreadsOption = 1,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress line.")] = False,
    write_case: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the case with its changes to this TOML file, then run it.",
        ),
    ] = None,
) -> None:
    """Run a case, write the result file, and print a summary."""
    target = Path(f"{Path(case).stem}.h5" if out is None else out)
    check_resume(resume, overwrite)
    with (
        no_collection(to_the_end=bool(context.obj)),
        Interruption(bool(context.obj), as_json) as interruption,
    ):
        interruption.end_message = lambda: (
            f"interrupted before the run started; {target} was not written"
        )
        full_case = loaded_case(case, changes, law_module)
        if write_case is not None:
            full_case.save(write_case, overwrite)
        show_progress = not quiet and sys.stderr.isatty()
        progress = Progress(interruption, target, show_progress, full_case.title)
        result = computed_run(
            full_case,
            progress,
            overwrite,
            resume,
            checkpoint,
            threads,
        )
        report_run(result, target, as_json)
        notify(*advice_on_end(full_case, result))
        if result.status is Status.INTERRUPTED:
            go_on = ". To resume, repeat the command with --resume" if checkpoint else ""
            notify(f"interrupted; {target} contains the results until then{go_on}")
            raise typer.Exit(interruption.exit_code)


def computed_run(
    case: gc.Case, progress: Progress, overwrite: bool, resume: bool, every: float, threads: int
) -> gc.Result:
    """Run a case and write its file, which is locked before anything is computed.

    A checkpoint is written every `every` seconds, or never if it is 0.
    """
    from granchain.store import Checkpoint, claim

    target, replaced = progress.target, overwrite or resume
    with claim(target, replaced):
        checkpoint = Checkpoint.of_output(target, every or math.inf)
        done = earlier_result(case, target, overwrite, resume, checkpoint)
        if done is not None:
            return done
        with progress, reporting_failure(target, checkpoint.remove):
            checkpoint.progress = progress.writing(checkpoint.path)
            progress.report_compiling(case.contact.law)
            with naming_the_law(case.law):
                result = gc.run(
                    case,
                    watch=progress,
                    checkpoint=checkpoint if every or resume else None,
                    resume=resume,
                    threads=threads,
                )
            if result.status is Status.INTERRUPTED and checkpoint.exists:
                progress.interruption.abort_message = (
                    f"aborted; {target} was not written. Resume from {checkpoint.path} with "
                    "--resume"
                )
            result.save(target, replaced, progress.writing(target))
        if result.status is not Status.INTERRUPTED:
            checkpoint.remove()
    return result


@contextlib.contextmanager
def reporting_failure(
    target: Path, remove_files: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Report that nothing was saved if a run fails, and remove its files."""
    try:
        yield
    except RunError as error:
        remove_files()
        raise RunError(
            f"{error}\nNo results were saved: {target} was not written.", error.result
        ) from None


def check_resume(resume: bool, overwrite: bool) -> None:
    """Reject the combination of --resume and --overwrite."""
    if resume and overwrite:
        raise CaseError(
            "--resume, --overwrite: both options are set. Only one is possible. --resume "
            "continues a run, and --overwrite starts again."
        )


def earlier_result(
    case: gc.Case, target: Path, overwrite: bool, resume: bool, checkpoint: Checkpoint
) -> gc.Result | None:
    """Raise an error if an unfinished run would be lost.

    With `resume`, return the result of the earlier run if it is complete.
    """
    if not resume:
        if checkpoint.exists and not overwrite:
            raise FileError(
                f"{checkpoint.path}: an unfinished run exists and was not changed. To resume "
                "it, use --resume. To start again, use --overwrite, or choose another output "
                "file."
            )
        return None
    # A checkpoint that is newer than the output file belongs to a later run with --overwrite, whose
    # case and law may differ. This run is resumed. If the checkpoint is older, and the output file
    # is complete and has the same case, the run was killed after it had written the output file.
    leftover = (
        checkpoint.exists
        and target.exists()
        and target.stat().st_mtime_ns >= checkpoint.path.stat().st_mtime_ns
    )
    if not target.exists() or (checkpoint.exists and not leftover):
        return None
    from granchain.contact.law_record import LawRecord
    from granchain.simulation import law_records
    from granchain.store.schema import source_hash

    try:
        # Only the status and the provenance are needed, no variables.
        stored = gc.open(target, lambda headers: ())
    except FileError:
        if leftover:
            return None
        raise
    same = stored.provenance.get("case_sha256") == case.sha256
    if leftover and (not same or stored.status is Status.INTERRUPTED):
        return None
    if not same:
        raise FileError(
            f"{target} contains a run of a different case and was not changed. Choose another "
            "output file."
        )
    if stored.status is Status.INTERRUPTED:
        return None
    (law,) = law_records([case])
    record = LawRecord.of_text(stored.provenance.get("law_json", ""))
    changed = "" if law is None else law.difference(record)
    if changed:
        raise LawError(
            f"{target}: the contact law has changed since this run: {changed}. A run can be "
            "resumed only with the same law. Start again with --overwrite, or choose another "
            "output file."
        )
    version, source = stored.provenance["granchain_version"], stored.provenance["source_hash"]
    if source != source_hash():
        raise FileError(
            f"{target}: the run was computed by another source of granchain, version {version}, "
            f"hash {source[:12]}. A complete run must come from the present source, "
            f"version {gc.__version__}, hash {source_hash()[:12]}. Start again with "
            "--overwrite, or choose another output file."
        )
    checkpoint.remove()
    notify(f"{target} is already complete. There is nothing to resume.")
    return gc.open(target)


class Progress(ProgressLine):
    """Watch a run: notice an interruption, and write a progress line if it takes long.

    A progress line is also written if writing the file takes long.

    Parameters
    ----------
    interruption : Interruption
    target : Path
        The output file.
    show_progress : bool
        Whether the progress line is written.
    title : str
        Title of the case.
    """

    def __init__(
        self, interruption: Interruption, target: Path, show_progress: bool, title: str = ""
    ):
        super().__init__(stream=sys.stderr, every=LINE_EVERY)
        self.interruption, self.target = interruption, target
        self._show_progress, self._lasts, self.case_title = show_progress, False, clean(title)[:60]

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
        return self

    def __exit__(self, *error: object) -> None:
        if self._width:
            print(file=sys.stderr)

    def report_compiling(self, law: str) -> None:
        """Report that a loop is compiled, because there is no progress line until then."""
        from granchain.jit.compile import compiling

        message = f"compiling {law} (only once, {COMPILING})"
        compiling.on_compiling = partial(notify, message) if self._show_progress else None

    def begin(self, size: float) -> None:
        """Check before the first step that there is space for the recorded data.

        `size` is in bytes. Raise an error if it exceeds the disk space or the limit of a file.
        """
        from granchain.store.files import LARGEST_FILE, check_free_space

        if size > LARGEST_FILE:
            raise FileError(
                f"{self.target}: the run records {size:.3g} bytes. The limit is "
                f"{LARGEST_FILE} bytes. Increase the interval under [sensors] or [snapshots], "
                "or list fewer beads and contacts."
            )
        check_free_space(self.target, size)

    def advance(self, fraction: float) -> None:
        """Handle an interruption and show the completed fraction, between blocks of steps."""
        self.interruption.note_only = True
        if self.interruption.number:
            raise KeyboardInterrupt
        self.show(fraction)

    def resume(self, fraction: float) -> None:
        """Report that a run is resumed."""
        notify(f"resuming at {100.0 * fraction:.3g} %")

    def show(self, fraction: float) -> None:
        """Write the completed fraction if the run takes long."""
        if not self._lasts and time.monotonic() - self._started > LINE_AFTER:
            self._lasts = True
            # Collect garbage from here on, except what was loaded before.
            garbage.freeze()
            garbage.enable()
            # Import the modules for the end of the run now, so that an interruption does not wait
            # for them.
            for name in ("granchain.analysis", "h5py"):
                import_module(name)
        # At fraction 1 the line would end, but the file must still be written.
        self._draw(self.case_title, fraction, fraction if fraction < 1.0 else 0.0)

    def writing(self, file: Path) -> Callable[[float], None]:
        """Return a function that shows the written fraction of a file."""
        return lambda fraction: self._draw(f"writing {clean(file.name)[:50]}", fraction, 0.0)

    def _draw(self, title: str, fraction: float, fraction_of_run: float) -> None:
        """Print the progress line, but not in the first moments of a run.

        `fraction_of_run` gives the remaining time; 0 if it cannot be computed from the fraction.
        """
        if self._show_progress and time.monotonic() - self._started > LINE_AFTER:
            self.title = title
            self._write(f"{100.0 * fraction:.0f} %", fraction_of_run)


# --------------------------------------------------------------------------------------------------
# The interactive page


@app.command(epilog="In Python: `gc.explore(CASE, trace=DIR, port=N, browser=True)`.")
def explore(
    case: CaseArgument = "steel-chain",
    trace: Annotated[
        str | None,
        typer.Option("--trace", metavar="DIR", help="Plot a measured trace with the forces."),
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="Port. Default: a free one."),
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, but open no browser.")
    ] = False,
    law_module: LawModuleOption = None,
) -> None:
    """Open an interactive page with sliders for the parameters of a case."""
    load_laws(law_module)
    explorer = gc.explore(case, trace, port=port, browser=not no_browser)
    print_text(explorer.url)
    notify("press Ctrl-C to stop")
    explorer.wait()


# --------------------------------------------------------------------------------------------------
# A mechanism


@app.command(epilog="In Python: `gc.run_mechanism(gc.load_mechanism(CASE))`.")
def mechanism(
    case: Annotated[
        str,
        typer.Argument(
            metavar="NAME|CASE",
            help="Built-in mechanism (slider-crank or scotch-yoke), or path of a case file.",
        ),
    ],
    changes: SetOption = None,
    out: OutOption = None,
    overwrite: OverwriteOption = False,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a mechanism with clearance in a joint, write the result file, and print its checks."""
    target = Path(f"{Path(case).stem}.h5" if out is None else out)
    with no_collection():
        load_laws(law_module)
        from granchain.store import claim

        mechanism_case = gc.load_mechanism(case, changes or ())
        with claim(target, overwrite):
            with reporting_failure(target), naming_the_law(mechanism_case.law):
                result = gc.run_mechanism(mechanism_case)
            result.save(target, overwrite)
    report_run(result, target, as_json)


# --------------------------------------------------------------------------------------------------
# Output of a run


def report_run(result: gc.Result, target: Path, as_json: bool) -> None:
    """Print the numbers of a run, its messages, and the name of its file."""
    notify(*(str(message) for message in result.messages if message.warning))
    if as_json:
        command = "mechanism" if "crank_angle" in result.variables else "run"
        warnings = [message.text for message in result.messages if message.warning]
        extra_facts = {"file": str(target), "warnings": warnings}
        print_json(
            {"command": command, **result.as_dict(), **summary_for_json(result), **extra_facts}
        )
        return
    print_text(columns_of_numbers(result))
    print_text("\n".join(message.text for message in result.messages if not message.warning))
    print_text(f"{result.status.label}: {target}")


def advice_on_end(case: gc.Case, result: gc.Result) -> list[str]:
    """Return a message if no sensor has a pulse by the end of the run, with the time needed."""
    from granchain.simulation import no_pulse_yet, time_needed

    if case.driven_without_pulse or not no_pulse_yet(result):
        return []
    problem = f"time.end: no sensor has a pulse by {case.time.end:.4g} s."
    needed = time_needed(case)
    if needed is None:
        return [
            f"{problem} A much longer run may show none either. Check that a pulse can reach the "
            "sensors, and check the units of radius, mass, and speed."
        ]
    time, bead = needed
    return [
        f"{problem} The first one has passed bead {bead} at about {time:.2g} s. Set time.end to "
        "more than that, or check the units of radius, mass, and speed."
    ]


def summary_for_json(result: gc.Result) -> dict[str, Any]:
    """Return the first pulses and energies of a run, or the checks of a mechanism, for JSON."""
    if "crank_angle" in result.variables:
        return {"checks": plain_data(checks_or_notice(result))}
    return {"summary": gc.analysis.summary(result).as_dict()}


def columns_of_numbers(result: gc.Result) -> str:
    """Return the numbers of a run in columns, or the checks of a mechanism."""
    from granchain.show.numbers import check_grid, run_numbers

    if "crank_angle" not in result.variables:
        return run_numbers(gc.analysis.summary(result))
    grid = check_grid(checks_or_notice(result))
    return text_table([grid.columns, *grid.rows], grid.alignment) if grid.rows else ""


def checks_or_notice(result: gc.Result) -> list[Check]:
    """Return the checks of a mechanism's result.

    If its case cannot be read, for example because its law is not installed, print a message and
    return an empty list.
    """
    from granchain.mechanisms.checks import checks_of

    try:
        return checks_of(result)
    except GranchainError as error:
        notify(f"no table of checks: {error}")
        return []
