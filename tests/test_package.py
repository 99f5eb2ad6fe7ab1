"""Contents of the package besides code; `make package` runs only this test, with the built
wheel."""

import os
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

import granchain as gc
from granchain.case import case_names, load_case, mechanism_names
from granchain.contact import laws
from granchain.contact.certified import about_certificate, certified
from granchain.mechanisms.case import load_mechanism


def test_it_is_the_package_that_shall_be_tested():
    root = os.environ.get("GRANCHAIN_INSTALLED")
    assert Path(gc.__file__).parents[1] == (
        Path(root).resolve() if root else Path(__file__).resolve().parents[1]
    )
    assert root is None or version("granchain") == gc.__version__


def test_the_built_in_cases_and_mechanisms_are_in_it():
    # four kinds of chains from papers, and both mechanisms
    assert {"steel-chain", "dimer-chain", "tapered-chain", "driven-chain"} <= set(case_names())
    assert {"slider-crank", "scotch-yoke"} == set(mechanism_names())
    for name in case_names():
        assert load_case(name).title
    for name in mechanism_names():
        assert load_mechanism(name).title


@pytest.mark.guard
def test_every_law_has_its_certificate_in_it_and_it_says_that_it_is_typed():
    # another test may have loaded a law from a file
    ours = [law for law in laws().values() if law.__module__.startswith("granchain.contact.")]
    assert len(ours) > 50
    for law in ours:
        assert law.name in certified() and about_certificate(law) is None, law.name
    assert files("granchain").joinpath("py.typed").is_file()


@pytest.mark.skipif("GRANCHAIN_INSTALLED" not in os.environ, reason="of the built wheel")
def test_the_command_runs_outside_the_tree(tmp_path):
    command = [sys.executable, "-m", "granchain", "cases", "steel-chain"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "[chain]" in done.stdout, done.stderr
