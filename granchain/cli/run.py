"""`granchain run`: a case from its file to its output, interruptions and a bar on the way, and its numbers at the end."""

from __future__ import annotations

import contextlib
import gc
import math
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granchain.cli.options import SIGNALLED, CaseArgument, JsonOption, LawModuleOption, SetOption, app, blamed, load_laws
from granchain.cli.text import aligned, clean, number, say, tell, tell_json
from granchain.errors import RunError

if TYPE_CHECKING:
    from granchain.analysis import Summary
    from granchain.case import Case
    from granchain.output import Result

# A run shorter than this ends before anyone has read a progress bar [s]; it is drawn anew this often [s].
BAR_AFTER = 1.0
BAR_EVERY = 0.1


@app.command()
def run(
    context: typer.Context,
    case: CaseArgument = "steel-chain",
    changes: SetOption = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Output file. Default: name of the case, here.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output file if it exists.")] = False,
    law_module: LawModuleOption = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Run a case: its output file, and the numbers of the run."""
    target = Path(f"{Path(case).stem}.h5" if out is None else out)
    with no_collection(), Interruption() as interruption:
        try:
            load_laws(law_module)
            progress = Progress(interruption, shown=not quiet and sys.stderr.isatty())
            result = computed(case, changes or [], target, overwrite, progress, bool(context.obj))
            report_run(result, target, as_json)
        except KeyboardInterrupt:
            raise InterruptedRun(f"interrupted before the run began; {target} was not written", interruption.exit_code) from None
        if result.status.label == "interrupted":
            say(f"interrupted; {target} holds what was computed until then")
            raise typer.Exit(interruption.exit_code)


def computed(name: str, changes: Sequence[str], target: Path, overwrite: bool, progress: Progress, own_process: bool) -> Result:
    """Run a case and write its file; the right to write it is taken before anything is computed."""
    from granchain.case import load_case
    from granchain.output import claim

    case = load_case(name, changes)
    progress.title = case.title
    with claim(target, overwrite):
        if own_process:
            from granchain.engine.startup import load_without_blas

            load_without_blas()
        with progress:
            result = simulated(case, target, progress)
        result.save(target, overwrite)
    return result


def simulated(case: Case, target: Path, progress: Progress) -> Result:
    """The run itself; where a user's law fails, it is the law that is told of."""
    from granchain import simulation
    from granchain.contact import laws

    with blamed(laws()[case.contact.law]):
        try:
            return simulation.run(case, watch=progress)
        except RunError as error:
            raise RunError(f"{error}\nNothing was saved: {target} was not written.", error.result) from None


class InterruptedRun(Exception):  # noqa: N818
    """A run that a signal ended before it had anything to save."""

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code


class Interruption:
    """SIGINT and SIGTERM during a run.

    Before the first step there is nothing to lose, and it is raised at once; from then on it is noted and heard between two blocks of
    steps, and the file is written. A second one ends the process as soon as what is open is closed, a third one without.
    """

    def __init__(self) -> None:
        self.number = 0
        self.something_to_lose = False
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}

    @property
    def exit_code(self) -> int:
        """What the process says of the signal that ended it."""
        return SIGNALLED + self.number

    def __enter__(self) -> Interruption:
        for kind in (signal.SIGINT, signal.SIGTERM):
            # Ignored in a background job, or under nohup: stay so.
            if signal.getsignal(kind) is not signal.SIG_IGN:
                self._before[kind] = signal.signal(kind, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for signal_number, handler in self._before.items():
            signal.signal(signal_number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self._count += 1
        if self._count > 2:
            os._exit(self.exit_code)
        if self._count == 2:
            os.write(2, b"granchain: aborted\n")
            raise SystemExit(self.exit_code)
        if not self.something_to_lose:
            raise KeyboardInterrupt


class Progress:
    """What looks on while a run advances: hears an interruption, and draws a bar where the run lasts.

    Parameters
    ----------
    interruption : Interruption
    shown : bool
        Whether there is someone to see the bar.
    """

    def __init__(self, interruption: Interruption, shown: bool):
        self.title = ""
        self._interruption, self._shown = interruption, shown
        self._started = self._drawn = time.monotonic()
        self._bar: Any = None
        self._lasts = False

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, fraction: float) -> None:
        """Told between blocks of steps which part of the run is done."""
        self._interruption.something_to_lose = True
        if self._interruption.number:
            raise KeyboardInterrupt
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
        if self._bar is not None and now - self._drawn > BAR_EVERY:
            self._drawn = now
            self._bar.update(self._bar.task_ids[0], completed=fraction, refresh=True)

    def _new_bar(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        bar = Bar(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        bar.add_task(clean(self.title)[:60], total=1.0)
        bar.start()
        return bar


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Without garbage collection: loading makes a million objects that all stay, and each look through them takes its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# ---------------------------------------------------------------------------------------------------------------------
# What is said of a run


def report_run(result: Result, target: Path, as_json: bool) -> None:
    """Numbers of a run, what it had to say, and where its file is."""
    from granchain.analysis import summary

    for message in result.messages:
        if message.startswith("warning:"):
            say(message)
    numbers = summary(result)
    if as_json:
        tell_json({"command": "run", "file": str(target), **numbers.as_dict(), "messages": result.messages})
        return
    tell(numbers_of(numbers))
    tell("\n".join(message for message in result.messages if not message.startswith("warning:")))
    tell(f"{result.status.label}: {target}")


def numbers_of(summary: Summary) -> str:
    """Peaks and arrivals, speed of the wave, energy balance."""
    from granchain.analysis import LEDGER

    parts = []
    if summary.sensors:
        rows = [(str(p.bead), number(p.peak), number(p.arrival * 1e6) if p.complete else "not yet") for p in summary.sensors]
        parts.append(aligned([("sensor bead", "peak [N]", "arrival [us]"), *rows], ">>>"))
    if math.isfinite(summary.wave_speed):
        parts.append(f"wave speed {summary.wave_speed:.6g} m/s")
    if summary.energy is not None:
        balance = summary.energy
        share = 100.0 / balance.put_in if balance.put_in > 0.0 else math.nan
        values = [(name, getattr(balance, name)) for name in LEDGER]
        rows = [(name, number(value), number(share * value)) for name, value in values]
        parts.append(aligned([("energy at the end", "[J]", "[% of put in]"), *rows], "<>>"))
        parts.append(f"largest residual of the ledger {balance.largest_residual:.1e} of {balance.put_in:.6g} J put in")
    return "\n".join(parts)
