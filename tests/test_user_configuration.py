"""Settings of the user's Python, matplotlib and Numba: granchain runs with them, or reports the
setting and where it is set."""

import os
import shutil
import subprocess
import sys

import pytest

SMALL = ("--set=chain.beads=3", "--set=sensors.beads=[2]", "--set=time.end=2e-5")


def command(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "granchain", *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_run_with_python_without_docstrings_succeeds(here):
    done = command("run", "steel-chain-hertz", *SMALL, "--out", "r.h5", PYTHONOPTIMIZE="2")
    assert done.returncode == 0, done.stderr
    plain, listed = command("laws"), command("laws", PYTHONOPTIMIZE="2")
    assert listed.returncode == 0, listed.stderr
    assert "hertz" in listed.stdout and listed.stdout == plain.stdout


def test_an_invalid_thread_number_of_numba_is_reported_with_its_variable(here):
    done = command("run", "steel-chain-hertz", *SMALL, "--out", "r.h5", NUMBA_NUM_THREADS="0")
    assert done.returncode == 2, done.stderr
    assert "NUMBA_NUM_THREADS=0" in done.stderr and "defect" not in done.stderr


@pytest.fixture
def run_file(here, obeyed):
    obeyed("run", "steel-chain-hertz", *SMALL, "--out", "r.h5")
    return "r.h5"


def plotted(here, run_file, setting="", **variables):
    """Plot the force figure with a matplotlibrc of one line."""
    (here / "matplotlibrc").write_text(setting + "\n")
    variables = {"MATPLOTLIBRC": str(here / "matplotlibrc")} | variables
    return command("plot", run_file, "--only", "force-traces", **variables)


@pytest.mark.long
def test_the_force_figure_is_the_same_with_the_users_autolayout(here, run_file):
    images = []
    for setting in ("", "figure.autolayout: True"):
        done = plotted(here, run_file, setting)
        assert done.returncode == 0, done.stderr
        images.append((here / "r-force-traces.png").read_bytes())
        (here / "r-force-traces.png").unlink()
    assert images[0] == images[1]


def test_an_unknown_backend_is_reported_with_its_variable(here, run_file):
    done = plotted(here, run_file, MPLBACKEND="nonsense")
    assert done.returncode == 2, done.stderr
    assert "environment variable MPLBACKEND=nonsense" in done.stderr


@pytest.mark.skipif(shutil.which("latex") is not None, reason="LaTeX is installed")
def test_missing_latex_is_reported_with_the_setting_and_its_file(here, run_file):
    done = plotted(here, run_file, "text.usetex: True")
    assert done.returncode == 2, done.stderr
    assert f"text.usetex in {here / 'matplotlibrc'}" in done.stderr
