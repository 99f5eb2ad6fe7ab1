"""Signals timed to what forgets an exception, or makes another one of it: SciPy's Sobol
sequence, imports, the writer of an animation."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.processes import computing, has_computed

import granchain as gc
from granchain.cli import obey
from granchain.store.study import open_study

ROOT = Path(gc.__file__).parents[1]

# A process that sends itself a signal at a certain place, and then does what the command line asks
# for.
TIMED = {
    # SciPy reads the numbers of its sequence inside a function of Cython's, which forgets
    # exceptions
    "Sobol": """
import numpy
load = numpy.load
def timed(*arguments, **more):
    send()
    return load(*arguments, **more)
numpy.load = timed
""",
    # a module of SciPy's begins to be imported: the third argument
    "import": """
class Timed:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            send()
sys.meta_path.insert(0, Timed())
""",
    # before the first picture, when there is none to finish with
    "animation": """
import matplotlib.animation
grab = matplotlib.animation.PillowWriter.grab_frame
def timed(self, *arguments, **more):
    send()
    grab(self, *arguments, **more)
matplotlib.animation.PillowWriter.grab_frame = timed
""",
}
BEGIN = """
import os, sys
number, MODULE = int(sys.argv.pop(1)), sys.argv.pop(1)
def send(sent=[]):
    if not sent:
        sent.append(1)
        os.write(2, b"sent\\n")
        os.kill(os.getpid(), number)
"""
END = """
from granchain.__main__ import main
main()
"""
# Modules that scipy.stats imports, compiled ones among them.
MODULES = (
    "scipy.stats",
    "scipy.stats._qmc",
    "scipy.stats._sobol",
    "scipy.stats._stats",
    "scipy.spatial._voronoi",
    "scipy.special._ufuncs",
    "scipy.stats._qmc_cy",
    "scipy.optimize._minimize",
    "scipy.linalg._flapack",
    "scipy.stats._biasedurn",
)
STUDY = """case = "steel-chain-hertz"
how = "sobol"
n = 192
[vary]
striker.speed = { uniform = [0.5, 1.5] }
chain.radius = { uniform = [0.004, 0.005] }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("run") / "run.h5"
    small = (
        "chain.beads=20",
        "sensors.beads=[9]",
        "sensors.contacts=[0]",
        "time.end=1e-4",
        "snapshots.interval=2e-6",
    )
    assert (
        obey(
            [
                "run",
                "steel-chain-hertz",
                *(word for key in small for word in ("--set", key)),
                "--out",
                str(file),
            ]
        )
        == 0
    )
    return file


def timed(
    kind: str, number: int, folder: Path, *command: str, module: str = "-"
) -> tuple[int, list[str]]:
    """The exit code of a process that a signal has met at its place, and what it said
    afterwards."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + TIMED[kind] + END, str(number), module, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    before, sent, said = done.stderr.partition("sent\n")
    assert sent, f"the signal was not sent: {before}"
    return done.returncode, said.splitlines()


@pytest.mark.promise("R6")
@pytest.mark.parametrize(
    "places",
    [
        [("Sobol", "-")],
        pytest.param(
            [("Sobol", "-")] * 10 + [("import", module) for module in MODULES],
            marks=pytest.mark.long,
        ),
    ],
    ids=["few", "many"],
)
def test_a_signal_while_scipy_draws_or_is_imported_ends_a_study(
    places: list[tuple[str, str]], tmp_path: Path, figure: Callable[..., None]
) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    ended = 0
    for place, (kind, module) in enumerate(places):
        number = (signal.SIGINT, signal.SIGTERM)[place % 2]
        code, said = timed(kind, number, tmp_path, "sweep", "study.toml", module=module)
        assert (code, said) == (
            128 + number,
            ["granchain: interrupted; study.h5 was not written"],
        ), (kind, module)
        assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
        ended += 1
    figure(
        "signals timed to SciPy's draw or import that ended the study", ended, at_least=len(places)
    )


@pytest.mark.promise("R6")
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_first_picture_of_an_animation_is_no_defect(
    number: int, run: Path, tmp_path: Path
) -> None:
    code, said = timed(
        "animation", number, tmp_path, "animate", str(run), "--out", "a.gif", "--frames", "10"
    )
    assert (code, said, list(tmp_path.iterdir())) == (128 + number, ["granchain: interrupted"], [])


@pytest.mark.promise("R6")
@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(),
    reason="no /proc here: the time that a process computes is read from it",
)
@pytest.mark.parametrize("trials", [1, pytest.param(70, marks=pytest.mark.long)])
def test_an_animation_stopped_at_any_moment_ends_at_once(
    trials: int, run: Path, tmp_path: Path, figure: Callable[..., None]
) -> None:
    draw, longest, ended = random.Random(24), 0.0, 0
    for trial in range(trials):
        number = (signal.SIGINT, signal.SIGTERM)[trial % 2]
        process = begun("animate", str(run), "--out", "a.gif", "--overwrite", folder=tmp_path)
        # the interpreter's own start is not ours
        has_computed(process, 0.3 + (2.0 * draw.random() if trials > 1 else 0.7))
        seconds, said = stopped(process, number)
        if process.returncode == 0:
            assert said == ""
            continue
        assert (process.returncode, said) == (128 + number, "granchain: interrupted\n")
        assert {path.name for path in tmp_path.iterdir()} <= {"a.gif"}
        ended += 1
        longest = max(longest, seconds)
    if trials > 1:
        figure("stopped animation: longest time to its end, computing [s]", longest, at_most=0.5)
    figure("animations stopped", ended, at_least=1)


def begun(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    """A real process."""
    return subprocess.Popen(
        [sys.executable, "-m", "granchain", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def stopped(process: subprocess.Popen[str], number: int) -> tuple[float, str]:
    """Send a process a signal; how long it then computes [s], and what it said."""
    before = computing(process.pid)
    process.send_signal(number)
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime - before, said


# --- In Python
@pytest.mark.promise("R6")
@pytest.mark.long  # the study above is ended by what raises it
@pytest.mark.parametrize("draw", ["quasi_random(8, 2, 0)", "grid_of(np.zeros(2), np.ones(2))"])
def test_an_interruption_while_scipy_draws_is_raised_in_python(draw: str) -> None:
    code = f"""
from granchain.studies.plan import quasi_random
from granchain.studies.equivalent import grid_of
import numpy as np
try:
    {draw}
except KeyboardInterrupt:
    print("raised")
assert len(np.unique({draw}[:, 0])) > 7
"""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + TIMED["Sobol"] + code, str(int(signal.SIGINT)), "-"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("raised\n", "sent\n", 0)


def test_an_interruption_that_was_held_is_raised_where_what_held_it_fails() -> None:
    from granchain.studies.interruption import uninterrupted

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError
    assert signal.getsignal(signal.SIGINT) is handler


# --- Studies

# Of some seconds.
LONG_STUDY = """case = "steel-chain-hertz"
[vary]
striker.speed = {{ linear = [0.5, 1.5, {}] }}
"""


@pytest.mark.promise("R6")
@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(),
    reason="no /proc here: the time that a process computes is read from it",
)
@pytest.mark.parametrize(
    ("trials", "members"), [(1, 1000), pytest.param(12, 6000, marks=pytest.mark.long)]
)
def test_a_study_stopped_at_any_moment_ends_at_once_and_goes_on(
    trials: int, members: int, tmp_path: Path, figure: Callable[..., None]
) -> None:
    draw, longest, kept = random.Random(7), 0.0, 0
    (tmp_path / "study.toml").write_text(LONG_STUDY.format(members))
    part = tmp_path / "study.h5.part"
    for trial in range(trials):
        number, size = (
            (signal.SIGINT, signal.SIGTERM)[trial % 2],
            part.stat().st_size if part.exists() else 0,
        )
        process = begun("sweep", "study.toml", "--resume", "--threads", "1", folder=tmp_path)
        # once there are members, in the end; every third at any moment
        if trial % 3 == 2:
            time.sleep(0.1 + 2.0 * draw.random())
        else:
            while process.poll() is None and not (
                part.exists() and part.stat().st_size > size + 1000
            ):
                time.sleep(0.005)
        seconds, said = stopped(process, number)
        if process.returncode == 0:
            break
        longest = max(longest, seconds)
        assert process.returncode == 128 + number and "Traceback" not in said, said
        if (
            said
            == "granchain: interrupted; study.h5 was not written: go on from study.h5.part with "
            "--resume\n"
        ):
            assert part.stat().st_size >= size
            kept += 1
        else:
            assert said in (
                "granchain: interrupted; study.h5 was not written\n",
                "granchain: interrupted\n",
            )
        assert {path.name for path in tmp_path.iterdir()} <= {"study.toml", "study.h5.part"}
    if trials > 2:
        done = obey(
            ["sweep", str(tmp_path / "study.toml"), "--out", str(tmp_path / "study.h5"), "--resume"]
        )
        whole = gc.sweep(
            gc.load_case("steel-chain-hertz"), {"striker.speed": {"linear": [0.5, 1.5, members]}}
        )
        assert done == 0 and open_study(tmp_path / "study.h5").drop_vars("point").identical(whole)
    if trials > 2:
        figure("stopped study: longest time to its end, computing [s]", longest, at_most=0.5)
    figure("stopped studies that had members", kept, at_least=1)
