"""Settings of the user's Python and Matplotlib do not change results."""

import os
import subprocess
import sys

import pytest

SMALL = ("--set=chain.beads=3", "--set=sensors.beads=[2]", "--set=time.end=2e-5")

pytestmark = pytest.mark.long


def command(*arguments, **variables):
    line, env = [sys.executable, "-m", "granchain", *arguments], os.environ | variables
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=120)


def test_a_run_with_python_without_docstrings_succeeds(here):
    done = command("run", "steel-chain-hertz", *SMALL, "--out", "r.h5", PYTHONOPTIMIZE="2")
    assert done.returncode == 0, done.stderr


def test_laws_are_listed_alike_with_python_without_docstrings():
    listed, stripped = command("laws"), command("laws", PYTHONOPTIMIZE="2")
    assert stripped.returncode == 0, stripped.stderr
    assert "hertz" in stripped.stdout and stripped.stdout == listed.stdout


def test_the_force_figure_is_the_same_with_the_users_autolayout(
    here, plain_loop, plain_scans, obeyed
):
    obeyed("run", "steel-chain-hertz", *SMALL, "--out", "r.h5")
    images = []
    for setting in ("", "figure.autolayout: True"):
        (here / "matplotlibrc").write_text(setting + "\n")
        settings = {"MATPLOTLIBRC": str(here / "matplotlibrc")}
        done = command("plot", "r.h5", "--only", "force-traces", **settings)
        assert done.returncode == 0, done.stderr
        images.append((here / "r-force-traces.png").read_bytes())
        (here / "r-force-traces.png").unlink()
    assert images[0] == images[1]
