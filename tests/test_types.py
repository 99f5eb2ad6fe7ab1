"""Types that a type checker finds for the public names."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
CODE = """
import granchain as gc

r = gc.run(gc.load_case("steel-chain", overrides=["striker.speed=2"]))
reveal_type(r.time_step)
gc.load_case("steel-chain", set=["striker.speed=2"])
reveal_type(gc.sweep(r.case, {}))
reveal_type(r.to_xarray())
reveal_type(r)
"""


@pytest.mark.long
def test_a_checker_knows_what_functions_return_and_refuses_others(tmp_path):
    file = tmp_path / "user.py"
    file.write_text(CODE)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(file)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    said = [line.removeprefix(str(file)) for line in done.stdout.splitlines()]
    assert [line.split(":")[1] for line in said if ": error:" in line] == ["6"], said
    assert 'Unexpected keyword argument "set"' in done.stdout
    assert 'Revealed type is "float"' in done.stdout
    assert done.stdout.count('"xarray.core.dataset.Dataset"') == 2
    assert '"granchain.store.answer.Result"' in done.stdout
