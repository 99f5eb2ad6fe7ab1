"""The lowest versions that pyproject.toml allows run a case, read and write files, and compile
to the same bits."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support import state_hashes
from support.elsewhere import PROJECT, locked, lowest

# What is tried with them: the checks of a case, output files, compiled loops and their cache, laws
# of a user's own; of the command line all but what is timed or stopped by a signal.
TRIED = (
    (
        "",
        (
            "test_case.py",
            "test_output.py",
            "test_saved_loops.py",
            "test_numba_private.py",
            "test_edited_laws.py",
        ),
    ),
    ("told or json or exit or version or cases or info or plot or law", ("test_cli.py",)),
)


def test_every_dependency_has_a_lowest_version() -> None:
    assert len(lowest()) >= 8 and len(locked()) > 60


@pytest.mark.long
@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="the lowest NumPy has no build for this Python"
)
def test_the_lowest_versions_that_are_allowed_work_and_give_the_same_bits(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "lowest")], check=True)
    python = str(tmp_path / "lowest" / "bin" / "python")
    tools = ["pytest", "pytest-timeout", "hypothesis", "pint", "xarray", "h5netcdf", "netCDF4"]
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *lowest(), *tools],
        check=True,
    )
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(PROJECT),
    }
    for words, files in TRIED:
        options = ("-q", "-p", "no:cacheprovider", "-m", "not long", "-k", words)
        command = [python, "-m", "pytest", *options, *(f"tests/{name}" for name in files)]
        done = subprocess.run(
            command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-5000:]
    code = """
        import json, sys; sys.path.insert(0, "tests")
        from support import state_hashes
        print(json.dumps({law: state_hashes.few(law) for law in ("hertz", "ma-liu", "tsuji")}))
    """
    command = [python, "-c", textwrap.dedent(code)]
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {
        law: state_hashes.few(law) for law in ("hertz", "ma-liu", "tsuji")
    }
