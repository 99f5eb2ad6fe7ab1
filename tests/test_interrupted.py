"""Interruptions during code that suppresses or replaces exceptions: SciPy's Sobol sequence,
imports, and the writer of an animation."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from scipy.stats import qmc
from support.processes import COUNTED, ROOT, begun, has_computed, stopped, wait_until

import granchain as gc
from granchain.cli import obey
from granchain.measured.equivalent import grid_of
from granchain.store.answer import open_study
from granchain.studies.interruption import uninterrupted
from granchain.studies.plan import quasi_random

# Code of a process that sends a signal to itself at a given place, and then runs the command line.
TIMED = {
    # SciPy reads the numbers of its sequence inside a Cython function that suppresses exceptions
    "Sobol": """
import numpy
load = numpy.load
def timed(*arguments, **more):
    send()
    return load(*arguments, **more)
numpy.load = timed
""",
    # the import of a SciPy module begins; the third argument is its name
    "import": """
class Timed:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            send()
sys.meta_path.insert(0, Timed())
""",
    # before the first frame, when the writer cannot finish a file yet
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
# Modules that scipy.stats imports, including compiled ones.
MODULES = (
    "scipy.stats", "scipy.stats._qmc", "scipy.stats._sobol", "scipy.stats._stats",
    "scipy.spatial._voronoi", "scipy.special._ufuncs", "scipy.stats._qmc_cy",
    "scipy.optimize._minimize", "scipy.linalg._flapack", "scipy.stats._biasedurn",
)  # fmt: skip
STUDY = """case = "steel-chain-hertz"
how = "sobol"
n = 192
[vary]
striker.speed = { uniform = [0.5, 1.5] }
chain.radius = { uniform = [0.004, 0.005] }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    file = tmp_path_factory.mktemp("run") / "run.h5"
    keys = ["chain.beads=20", "sensors.beads=[9]", "sensors.contacts=[0]", "time.end=1e-4"]
    case = gc.load_case("steel-chain-hertz", [*keys, "snapshots.interval=2e-6"])
    gc.run(case).save(file)
    return file


def timed(kind, number, folder, *command, module="-"):
    """Return the exit code of a process that receives a signal at its place, and its error
    output."""
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
@pytest.mark.long
def test_a_signal_while_scipy_draws_or_is_imported_ends_a_study(tmp_path, figure):
    (tmp_path / "study.toml").write_text(STUDY)
    places = [("Sobol", "-")] * 4 + [("import", module) for module in MODULES]
    for place, (kind, module) in enumerate(places):
        number = (signal.SIGINT, signal.SIGTERM)[place % 2]
        told = timed(kind, number, tmp_path, "sweep", "study.toml", module=module)
        said = ["granchain: interrupted; study.h5 was not written"]
        assert told == (128 + number, said), (kind, module)
        assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
    what = "signals timed to SciPy's draw or import that ended the study"
    figure(what, place + 1, at_least=len(places))


@pytest.mark.promise("R6")
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_first_picture_of_an_animation_is_no_defect(number, run, tmp_path):
    code, said = timed(
        "animation", number, tmp_path, "animate", str(run), "--out", "a.gif", "--frames", "10"
    )
    assert (code, said, list(tmp_path.iterdir())) == (128 + number, ["granchain: interrupted"], [])


@pytest.mark.promise("R6")
@COUNTED
@pytest.mark.parametrize("trials", [1, pytest.param(40, marks=pytest.mark.long)])
def test_an_animation_stopped_at_any_moment_ends_at_once(trials, run, tmp_path, figure):
    draw, longest, ended = random.Random(24), 0.0, 0
    for trial in range(trials):
        number = (signal.SIGINT, signal.SIGTERM)[trial % 2]
        process = begun("animate", str(run), "--out", "a.gif", "--overwrite", folder=tmp_path)
        # the start of the Python interpreter is not tested
        has_computed(process, 0.3 + (2.0 * draw.random() if trials > 1 else 0.3))
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


# --- In Python
@pytest.mark.promise("R6")
def test_an_interruption_while_scipy_draws_is_raised_in_python(monkeypatch):
    sobol = qmc.Sobol

    def forgets(*arguments, **more):
        """Suppress an exception, as SciPy's Cython function does."""
        with contextlib.suppress(BaseException):
            os.kill(os.getpid(), signal.SIGINT)
        return sobol(*arguments, **more)

    monkeypatch.setattr(qmc, "Sobol", forgets)
    for draw in (lambda: quasi_random(8, 2, 0), lambda: grid_of(np.zeros(2), np.ones(2))):
        with pytest.raises(KeyboardInterrupt):
            draw()


def test_an_interruption_that_was_held_is_raised_where_what_held_it_fails():
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError
    assert signal.getsignal(signal.SIGINT) is handler


# --- Studies

# It takes several seconds.
LONG_STUDY = """case = "steel-chain-hertz"
[vary]
striker.speed = {{ linear = [0.5, 1.5, {}] }}
"""


def has_grown(file, size):
    return file.exists() and file.stat().st_size > size


@pytest.mark.promise("R6")
@COUNTED
@pytest.mark.parametrize(
    ("trials", "members"), [(1, 400), pytest.param(12, 6000, marks=pytest.mark.long)]
)
def test_a_study_stopped_at_any_moment_ends_at_once_and_goes_on(trials, members, tmp_path, figure):
    draw, longest, kept = random.Random(7), 0.0, 0
    (tmp_path / "study.toml").write_text(LONG_STUDY.format(members))
    part = tmp_path / "study.h5.part"
    for trial in range(trials):
        number = (signal.SIGINT, signal.SIGTERM)[trial % 2]
        size = part.stat().st_size if part.exists() else 0
        process = begun("sweep", "study.toml", "--resume", "--threads", "1", folder=tmp_path)
        # wait until the file contains members; every third signal comes at a random time
        if trial % 3 == 2:
            time.sleep(0.1 + 2.0 * draw.random())
        else:
            wait_until(partial(has_grown, part, size + 1000), process)
        seconds, said = stopped(process, number)
        if process.returncode == 0:
            break
        longest = max(longest, seconds)
        assert process.returncode == 128 + number
        end = said.removeprefix("granchain: interrupted").removeprefix("; study.h5 was not written")
        assert end in ("\n", ". To resume, use study.h5.part with --resume\n"), said
        assert end == "\n" or part.stat().st_size >= size
        kept += end != "\n"
        assert {path.name for path in tmp_path.iterdir()} <= {"study.toml", "study.h5.part"}
    if trials > 2:
        out = str(tmp_path / "study.h5")
        assert obey(["sweep", str(tmp_path / "study.toml"), "--out", out, "--resume"]) == 0
        speeds = {"striker.speed": {"linear": [0.5, 1.5, members]}}
        whole = gc.sweep(gc.load_case("steel-chain-hertz"), speeds)
        assert open_study(out).drop_vars("point").identical(whole)
        figure("stopped study: longest time to its end, computing [s]", longest, at_most=0.5)
    figure("stopped studies that had members", kept, at_least=1)
