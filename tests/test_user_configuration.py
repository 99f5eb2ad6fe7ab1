"""Settings of the user's Python, matplotlib and Numba: granchain runs with them, or reports the
setting and where it is set."""

import os
import shutil
import subprocess
import sys

import matplotlib
import numba
import pytest

from granchain.errors import GranchainError
from granchain.jit.cache import check_cpu_features

SMALL = ("--set=chain.beads=3", "--set=sensors.beads=[2]", "--set=time.end=2e-5")


def command(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "granchain", *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.long
def test_a_run_with_python_without_docstrings_succeeds(here):
    done = command("run", "steel-chain-hertz", *SMALL, "--out", "r.h5", PYTHONOPTIMIZE="2")
    assert done.returncode == 0, done.stderr


def test_laws_are_listed_alike_with_python_without_docstrings():
    listed, stripped = command("laws"), command("laws", PYTHONOPTIMIZE="2")
    assert stripped.returncode == 0, stripped.stderr
    assert "hertz" in stripped.stdout and stripped.stdout == listed.stdout


def test_an_invalid_thread_number_of_numba_is_reported_with_its_variable(here):
    done = command("run", "steel-chain-hertz", *SMALL, "--out", "r.h5", NUMBA_NUM_THREADS="0")
    assert done.returncode == 2, done.stderr
    assert "NUMBA_NUM_THREADS=0" in done.stderr and "defect" not in done.stderr


@pytest.mark.plain
@pytest.mark.parametrize("features", ["nonsense", "+avx2,nonsense", "+avx2, -avx"])
def test_a_processor_feature_without_a_sign_is_refused(monkeypatch, features):
    monkeypatch.setattr(numba.config, "CPU_FEATURES", features)
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    with pytest.raises(GranchainError, match="NUMBA_CPU_FEATURES="):
        check_cpu_features()


@pytest.mark.parametrize("features", [None, "", "+avx2,-avx512f", "+avx2,,-avx"])
def test_processor_features_with_a_sign_are_accepted(jit, monkeypatch, features):
    monkeypatch.setattr(numba.config, "CPU_FEATURES", features)
    check_cpu_features()


@pytest.mark.long
def test_a_run_with_an_invalid_processor_feature_is_refused_with_its_variable(here):
    done = command("run", "steel-chain-hertz", *SMALL, "--out", "r.h5", NUMBA_CPU_FEATURES="no")
    assert done.returncode == 2, done.stderr
    assert "NUMBA_CPU_FEATURES=no" in done.stderr and "defect" not in done.stderr


@pytest.fixture
def run_file(here, plain_loop, plain_scans, obeyed):
    obeyed("run", "steel-chain-hertz", *SMALL, "--out", "r.h5")
    return "r.h5"


def plotted(here, run_file, setting):
    """Plot the force figure with a matplotlibrc of one line."""
    (here / "matplotlibrc").write_text(setting + "\n")
    settings = {"MATPLOTLIBRC": str(here / "matplotlibrc")}
    return command("plot", run_file, "--only", "force-traces", **settings)


@pytest.mark.long
def test_the_force_figure_is_the_same_with_the_users_autolayout(here, run_file):
    images = []
    for setting in ("", "figure.autolayout: True"):
        done = plotted(here, run_file, setting)
        assert done.returncode == 0, done.stderr
        images.append((here / "r-force-traces.png").read_bytes())
        (here / "r-force-traces.png").unlink()
    assert images[0] == images[1]


@pytest.mark.long
@pytest.mark.parametrize("name", ["plot", "report"])
def test_an_unknown_backend_is_reported_with_its_variable(here, run_file, name):
    done = command(name, run_file, MPLBACKEND="nonsense")
    assert done.returncode == 2, done.stderr
    assert "environment variable MPLBACKEND=nonsense" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", ["plot", "report"])
@pytest.mark.skipif(shutil.which("latex") is not None, reason="LaTeX is installed")
def test_missing_latex_is_reported_with_the_setting_and_its_file(here, run_file, name):
    (here / "matplotlibrc").write_text("text.usetex: True\n")
    done = command(name, run_file, MATPLOTLIBRC=str(here / "matplotlibrc"))
    assert done.returncode == 2, done.stderr
    assert f"text.usetex in {here / 'matplotlibrc'}" in done.stderr


@pytest.mark.parametrize("name", ["plot", "report"])
@pytest.mark.skipif(shutil.which("latex") is not None, reason="LaTeX is installed")
def test_missing_latex_is_reported_by_plot_and_report(run_file, obeyed, name):
    with matplotlib.rc_context({"text.usetex": True}):
        said = obeyed(name, run_file, code=2)
    assert "text.usetex in" in said.err
