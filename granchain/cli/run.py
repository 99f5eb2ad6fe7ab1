"""`granchain run`: a case from its file to its output, interruptions and a bar on the way, and
its numbers at the end."""

from __future__ import annotations

import gc
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from granchain.cli.options import (
    CaseArgument,
    JsonOption,
    LawModuleOption,
    SetOption,
    app,
    blamed,
    load_laws,
)
from granchain.cli.signals import SIGNALLED, Heard, end, is_echo
from granchain.cli.text import notify, number_text, print_json, print_text, text_table
from granchain.cli.waiting import Waiting
from granchain.engine.garbage import no_collection
from granchain.errors import CaseError, FileError, LawError, RunError, clean
from granchain.status import Status

if TYPE_CHECKING:
    from granchain.analysis import Summary
    from granchain.case import Case
    from granchain.store import Checkpoint, Result

# A run shorter than this ends before a progress bar can be read [s]; it is drawn again this often
# [s].
BAR_AFTER = 1.0
BAR_EVERY = 0.1
# Forecasts: of a file of more bytes than this, of a time longer than this [s], once the steps have
# taken so long [s].
LARGE = 1e9
FORECAST_ABOVE, FORECAST_AFTER = 60.0, 0.5

IN_VAIN = "interrupted before the run began; {} was not written"


CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="SECONDS",
        show_default=False,
        help="Wall time between two checkpoints, FILE.chk; 0: none. Default: 30, and never more "
        "than 2 % of the run's time.",
    ),
]

ThreadsOption = Annotated[
    str,
    typer.Option(
        "--threads",
        metavar="N",
        help="Threads for a chain of some ten thousand beads and more; the bits are the same.",
    ),
]


@app.command()
def run(
    context: typer.Context,
    case: CaseArgument = "steel-chain",
    changes: SetOption = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Output file. Default: name of the case, here."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the output file if it exists.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was interrupted or killed.")
    ] = False,
    checkpoint: CheckpointOption = None,
    threads: ThreadsOption = "1",
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Run a case: its output file, and the numbers of the run."""
    target = Path(f"{Path(case).stem}.h5" if out is None else out)
    every = None if checkpoint is None else seconds_of(checkpoint)
    if resume and overwrite:
        raise CaseError(
            "--resume, --overwrite: got both, allowed one: --resume goes on with a run, "
            "--overwrite begins it anew"
        )
    with (
        no_collection(to_the_end=bool(context.obj)),
        Interruption(bool(context.obj), as_json) as interruption,
    ):
        interruption.in_vain = lambda: IN_VAIN.format(target)
        try:
            load_laws(law_module)
            progress = Progress(
                interruption, shown=not quiet and sys.stderr.isatty(), told=not quiet
            )
            file = OutputFile(target, overwrite, resume, every, threads_of(threads))
            result = computed_run(case, changes or [], file, progress)
            report_run(result, target, as_json)
        except KeyboardInterrupt:
            raise InterruptedRun(IN_VAIN.format(target), interruption.exit_code) from None
        if result.status is Status.INTERRUPTED:
            go_on = "" if every == 0.0 else "; to go on, give the same command with --resume"
            notify(f"interrupted; {target} holds what was computed until then{go_on}")
            raise typer.Exit(interruption.exit_code)


def seconds_of(text: str) -> float:
    """The wall time between two checkpoints."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise CaseError(
            f'--checkpoint: got "{text[:60]}", allowed a finite number from 0 [s]; write for '
            "example --checkpoint 60"
        )
    return value


def threads_of(text: str) -> int:
    """The number of threads."""
    from granchain.simulation import MOST_THREADS

    if not (
        text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= MOST_THREADS
    ):
        raise CaseError(
            f'--threads: got "{text[:60]}", allowed a whole number from 1 to {MOST_THREADS}; '
            "write for example --threads 2"
        )
    return int(text)


class OutputFile(NamedTuple):
    """Where a run writes, and how.

    Parameters
    ----------
    target : Path
        The output file.
    overwrite, resume : bool
        Whether it may be replaced; whether an unfinished run goes on.
    every : float, optional
        Wall time between two checkpoints [s]; 0: none.
    threads : int
        Of the run.
    """

    target: Path
    overwrite: bool
    resume: bool
    every: float | None
    threads: int


def computed_run(name: str, changes: Sequence[str], file: OutputFile, progress: Progress) -> Result:
    """Run a case and write its file; the right to write it is taken before anything is computed."""
    from granchain.case import load_case
    from granchain.store import Checkpoint, claim
    from granchain.store.checkpoint import CHECKPOINT_INTERVAL

    case = load_case(name, changes)
    progress.title, progress.target = case.title, file.target
    replace = file.overwrite or file.resume
    with claim(file.target, replace):
        checkpoint = Checkpoint.beside(
            file.target, CHECKPOINT_INTERVAL if file.every is None else file.every or math.inf
        )
        done = before(case, file, checkpoint)
        if done is not None:
            return done
        with progress:
            checkpoint.progress = progress.writing(checkpoint.path)
            result = simulated(case, file, checkpoint, progress)
            if result.status is Status.INTERRUPTED and checkpoint.exists:
                progress.aborted(
                    f"aborted; {file.target} was not written: go on from {checkpoint.path} with "
                    "--resume"
                )
            result.save(file.target, replace, progress.writing(file.target))
        if result.status is not Status.INTERRUPTED:
            checkpoint.remove()
    return result


def before(case: Case, file: OutputFile, checkpoint: Checkpoint) -> Result | None:
    """Refuse to lose what an earlier run has left; what it left where it is complete, and asked
    to go on."""
    target = file.target
    if not file.resume:
        if checkpoint.exists and not file.overwrite:
            raise FileError(
                f"{checkpoint.path}: got an unfinished run, which is kept, allowed none; go on "
                "with --resume, begin anew with --overwrite, or name another file"
            )
        return None
    # beside a file, what was begun later with --overwrite goes on, and has its own case and law; an
    # older checkpoint beside the complete file of its case was left by a run that was killed after
    # it had written this file
    left = (
        checkpoint.exists
        and target.exists()
        and target.stat().st_mtime_ns >= checkpoint.path.stat().st_mtime_ns
    )
    if not target.exists() or (checkpoint.exists and not left):
        return None
    from granchain.contact.law_record import LawRecord
    from granchain.simulation import law_records
    from granchain.store import open_result
    from granchain.store.reader import nothing

    try:
        there = open_result(target, nothing)
    except FileError:
        if left:
            return None
        raise
    same = there.provenance.get("case_sha256") == case.sha256
    if left and (not same or there.status is Status.INTERRUPTED):
        return None
    if not same:
        raise FileError(
            f"{target}: got the run of another case, or of one with other changes, and keeps it, "
            "allowed one of this case; name another file"
        )
    if there.status is not Status.INTERRUPTED:
        (law,) = law_records([case])
        changed = (
            ""
            if law is None
            else law.difference(LawRecord.of_text(there.provenance.get("law_json", "")))
        )
        if changed:
            raise LawError(
                f"{target}: got what another law has computed: {changed}, allowed the law that "
                "computed it; begin anew with --overwrite, or name another file"
            )
        checkpoint.remove()
        notify(f"{target} is complete: there is nothing to go on with")
        return open_result(target)
    return None


def simulated(case: Case, file: OutputFile, checkpoint: Checkpoint, progress: Progress) -> Result:
    """The run itself; where a user's law fails, the message names the law."""
    from granchain import simulation
    from granchain.contact import laws

    saving = None if file.every == 0.0 and not file.resume else checkpoint
    with blamed(laws()[case.contact.law]) as progress.waiting:
        try:
            return simulation.run(
                case, watch=progress, checkpoint=saving, resume=file.resume, threads=file.threads
            )
        except RunError as error:
            checkpoint.remove()
            raise RunError(
                f"{error}\nNothing was saved: {file.target} was not written.", error.result
            ) from None


class InterruptedRun(Exception):  # noqa: N818
    """A run that a signal ended before it had anything to save."""

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code


class Interruption:
    """SIGINT and SIGTERM during a run, or a study.

    Where there is nothing to lose the first ends the process at once, or, where that is not the
    command's own, is raised; where there is something it is noted, and heard between two blocks of
    steps, and the file is written. Those that come together are one. A second one ends the process
    with what is on the disk, a third one whatever it is doing.

    Parameters
    ----------
    own_process : bool
        Whether the process ends with the command.
    as_json : bool
        Whether JSON was asked for.

    Attributes
    ----------
    something_to_lose : bool
        Whether a signal is noted.
    in_vain : function
        Gives what is printed where one ends the process at once.
    aborted : str
        What is printed where a second one does.
    """

    def __init__(self, own_process: bool = False, as_json: bool = False):
        self.number = 0
        self.something_to_lose = False
        self.in_vain: Callable[[], str] = lambda: "interrupted"
        self.aborted = "aborted"
        self._own_process, self._as_json = own_process, as_json
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}

    @property
    def exit_code(self) -> int:
        """The message about the signal that ended the process."""
        return SIGNALLED + self.number

    def __enter__(self) -> Interruption:
        Heard.at = -math.inf
        for kind in (signal.SIGINT, signal.SIGTERM):
            # Ignored in a background job, or under nohup: stay so.
            if signal.getsignal(kind) is not signal.SIG_IGN:
                self._before[kind] = signal.signal(kind, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for signal_number, handler in self._before.items():
            signal.signal(signal_number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if is_echo():
            return
        self.number = number
        self._count += 1
        if self._count > 2:
            os._exit(self.exit_code)
        if self._count == 2:
            if self._own_process:
                end(number, clean(self.aborted))
            os.write(2, f"granchain: {self.aborted}\n".encode())
            raise SystemExit(self.exit_code)
        if not self.something_to_lose:
            if self._own_process:
                sentence = self.in_vain()
                if self._as_json:
                    print_json(
                        {
                            "error": {"kind": InterruptedRun.__name__, "problems": [sentence]},
                            "exit_code": self.exit_code,
                        }
                    )
                end(number, clean(sentence))
            raise KeyboardInterrupt


class Progress:
    """What looks on while a run advances: hears an interruption, forecasts, and draws a bar where
    the run or its file takes long.

    Parameters
    ----------
    interruption : Interruption
    shown : bool
        Whether there is someone to see the bar.
    told : bool
        Whether forecasts are printed.
    """

    def __init__(self, interruption: Interruption, shown: bool, told: bool = False):
        self.title, self.target = "", Path()
        self.waiting: Waiting | None = None
        self._interruption, self._shown = interruption, shown
        self._started = self._drawn = time.monotonic()
        self._bar: Any = None
        self._lasts = False
        self._told, self._first = told, (0.0, math.nan)

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, size: float) -> None:
        """Called before the first step with what will be recorded [bytes]: refuses what the
        disk, or a file, does not hold."""
        from granchain.store.files import LARGEST_FILE, room_beside

        if size > LARGEST_FILE:
            raise FileError(
                f"{self.target}: got a run that records {size:.3g} bytes, allowed in a file: at "
                f"most {LARGEST_FILE}; record less: raise "
                "the interval under [sensors] or [snapshots], or name fewer beads and contacts"
            )
        room_beside(self.target, size)
        if self._told and size > LARGE:
            notify(f"{self.target} will have up to {size / 1e9:.3g} GB before it is packed")

    def advance(self, fraction: float) -> None:
        """Called between blocks of steps with the part of the run that is done."""
        if self.waiting is not None:
            self.waiting.beat("a block of steps under the contact law")
        self._interruption.something_to_lose = True
        if self._interruption.number:
            raise KeyboardInterrupt
        self.show(fraction)

    def show(self, fraction: float) -> None:
        """Say how far it is."""
        now = time.monotonic()
        if now - self._started > BAR_AFTER and not self._lasts:
            self._lasts = True
            # From here on garbage counts; what was loaded until now is none.
            gc.freeze()
            gc.enable()
            # What the end of the run needs: an interruption then need not wait for it.
            for name in ("granchain.analysis", "h5py"):
                import_module(name)
            self._bar = self._new_bar() if self._shown else None
        self._forecast(now, fraction)
        self._draw(fraction, clean(self.title)[:60])

    def _forecast(self, now: float, fraction: float) -> None:
        """Say once how long the run will take, where that is long and a part of it has shown it."""
        began, before = self._first
        if math.isnan(before):
            self._first = now, fraction
        elif self._told and now - began > FORECAST_AFTER and fraction > before:
            self._told = False
            left = (1.0 - fraction) * (now - began) / (fraction - before)
            if left > FORECAST_ABOVE:
                notify(f"about {duration(left)} to go, as the first blocks of steps have it")

    def _draw(self, fraction: float, what: str) -> None:
        now = time.monotonic()
        if self._bar is not None and now - self._drawn > BAR_EVERY:
            self._drawn = now
            self._bar.update(
                self._bar.task_ids[0], completed=fraction, description=what, refresh=True
            )

    def writing(self, file: Path) -> Callable[[float], None]:
        """Gives a function to call with the part of a file that is written, which draws a bar."""
        began = 0.0

        def written(part: float) -> None:
            nonlocal began
            began = began or time.monotonic()
            if self._shown and self._bar is None and time.monotonic() - began > BAR_AFTER:
                self._bar = self._new_bar()
            self._draw(part, f"writing {clean(file.name)[:50]}")

        return written

    def aborted(self, sentence: str) -> None:
        """What is printed where a second signal ends the process."""
        self._interruption.aborted = sentence

    def resume(self, fraction: float) -> None:
        """Called where a run goes on."""
        notify(f"going on at {100.0 * fraction:.3g} %")

    def _new_bar(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        bar = Bar(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        bar.add_task(clean(self.title)[:60], total=1.0)
        bar.start()
        return bar


# --------------------------------------------------------------------------------------------------
# What is printed of a run


def duration(seconds: float) -> str:
    """A time to wait, as one says it: in the unit of which there are two or more."""
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def report_run(result: Result, target: Path, as_json: bool) -> None:
    """Numbers of a run, its messages, and where its file is."""
    from granchain.analysis import summary

    for message in result.messages:
        if message.warning:
            notify(str(message))
    numbers = summary(result)
    if as_json:
        messages = [message._asdict() for message in result.messages]
        print_json(
            {"command": "run", "file": str(target), **numbers.as_dict(), "messages": messages}
        )
        return
    print_text(run_numbers(numbers))
    print_text("\n".join(message.text for message in result.messages if not message.warning))
    print_text(f"{result.status.label}: {target}")


def run_numbers(summary: Summary) -> str:
    """Peaks and arrivals, speed of the wave, energy balance."""
    parts = []
    if summary.sensors:
        rows = []
        for pulse in summary.sensors:
            arrival = (
                ("merged " if pulse.merged else "") + number_text(pulse.arrival * 1e6)
                if pulse.complete
                else "not yet"
            )
            rows.append((str(pulse.bead), number_text(pulse.peak), arrival))
        parts.append(text_table([("sensor bead", "peak [N]", "arrival [us]"), *rows], ">>>"))
        if any(pulse.sampled for pulse in summary.sensors):
            parts.append(
                "these peaks are the largest samples: the force jumps between samples, and the "
                "file does not hold its jumps"
            )
    if any(pulse.merged for pulse in summary.sensors):
        parts.append(
            "merged: a second, larger pulse has passed the first before it had fallen to half; "
            "peak and arrival are the second's"
        )
    parts += summary.remarks
    if math.isfinite(summary.wave_speed):
        beads = summary.wave_speed_beads
        parts.append(
            f"wave speed {summary.wave_speed:.6g} m/s: line through the arrivals at {len(beads)} "
            f"sensors, beads {beads[0]} to {beads[-1]}"
        )
    if summary.energy is not None:
        balance = summary.energy
        share = 100.0 / balance.put_in if balance.put_in > 0.0 else math.nan
        rows = [
            (name, number_text(value), number_text(share * value))
            for name, value in balance.parts.items()
        ]
        parts.append(text_table([("energy at the end", "[J]", "[% of put in]"), *rows], "<>>"))
        parts.append(
            f"largest residual of the ledger {balance.largest_residual:.1e} of "
            f"{balance.put_in:.6g} J put in"
        )
    return "\n".join(parts)
