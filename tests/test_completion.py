"""What a shell completes, by bash's own function: commands, options, cases, laws, materials."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import granchain as gc
from granchain.case import case_names
from granchain.cli.options import (
    CASES,
    MECHANISMS,
    case_words,
    completion,
    free_keys,
    law_words,
    set_words,
)
from granchain.material import MATERIALS

PROGRAM = Path(sys.executable).with_name("granchain")

# Each line as it is typed, the last word unfinished.
ASKED = ("granchain run steel-", "granchain plot ")


def test_names_that_begin_so_are_offered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("steel-mine.toml", "steel-mine.h5", "other.toml", "steel-\n.toml"):
        (tmp_path / name).touch()
    (tmp_path / "steel-folder.toml").mkdir()
    assert case_words("steel-") == [
        *(name for name in case_names() if name.startswith("steel-")),
        "steel-mine.toml",
    ]
    assert law_words("") == list(gc.laws()) and law_words("hunt-crossley-") == [
        "hunt-crossley-alpha"
    ]
    assert completion("material:MATERIALS")("") == list(MATERIALS)
    assert completion(CASES, MECHANISMS)("s")[-2:] == ["scotch-yoke", "slider-crank"]
    assert completion()("x") == []


def test_keys_of_a_case_are_offered_and_the_words_that_they_take():
    chain, mechanism = (SimpleNamespace(info_name=name) for name in ("run", "mechanism"))
    assert set_words(chain, "chain.radius") == ["chain.radius=", "chain.radius_factor="]
    assert set_words(chain, "contact.law=hunt") == [
        f"contact.law={name}" for name in gc.laws() if name.startswith("hunt")
    ]
    assert set_words(chain, "ends.right=") == [f"ends.right={e}" for e in ("free", "wall", "rigid")]
    assert "contact.psi=" in set_words(chain, "contact.") and set_words(chain, "time.end=") == []
    assert free_keys(chain, "flores:chain.radius_") == ["flores:chain.radius_factor"]
    assert set_words(mechanism, "chain.") == [] and set_words(mechanism, "contact.l")


@pytest.mark.long
@pytest.mark.skipif(
    not PROGRAM.exists() or not Path("/bin/bash").exists(),
    reason="needs bash, and granchain on a path",
)
def test_bash_completes_by_the_function_that_granchain_prints(tmp_path):
    (tmp_path / "steel a b.toml").touch()
    (tmp_path / "steel-$(touch evil).toml").touch()
    lines = [f'ask "{line}"' for line in ASKED]
    script = (
        'eval "$(granchain --show-completion bash)"\n'
        'ask() { IFS=" " read -ra COMP_WORDS <<< "$1"; [[ "$1" == *" " ]] && COMP_WORDS+=(""); '
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
        '_granchain_completion granchain; (IFS="|"; echo "$1=${COMPREPLY[*]}"); }\n'
        + "\n".join(lines)
    )
    # as the terminal of who types in bash: typer asks the parent which shell it is
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = dict(line.split("=", 1) for line in done.stdout.splitlines())
    steel = [name for name in case_names() if name.startswith("steel-")]
    assert found["granchain run steel-"].split("|") == [*steel, "steel-$(touch evil).toml"], (
        done.stderr
    )
    # where nothing is offered bash takes over and offers files
    assert found["granchain plot "] == ""
    assert not (tmp_path / "evil").exists()
