"""Files that granchain must not overwrite stay unchanged: cases, laws, tables, traces, figures, and
files of other programs."""

import shutil
import sys
from pathlib import Path

import h5py
import pytest

from granchain import load_case
from granchain.case.document import CASES
from granchain.cli import obey
from granchain.contact import law as law_module
from granchain.contact import laws
from granchain.contact.user import PREFIX

ROOT = Path(__file__).parents[1]
SMALL = [
    f"--set={change}"
    for change in ("chain.beads=3", "sensors.beads=[2]", "sensors.contacts=[1]", "time.end=2e-5")
]
DRIVEN = [*SMALL[:2], "--set=time.end=2e-5", "--set=chain.precompression=0.0"]
LAW = (ROOT / "docs" / "examples" / "my_law.py").read_text()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with all kinds of files that a run or a comparison can read."""
    monkeypatch.chdir(tmp_path)
    # laws that a test loads are removed from the registry after it
    monkeypatch.setattr(law_module, "REGISTRY", dict(laws()))
    monkeypatch.delitem(sys.modules, f"{PREFIX}kept_law", raising=False)
    Path("case.toml").write_text(load_case("steel-chain").toml)
    for name in ("driven-chain.toml", "driven-chain.csv"):
        shutil.copy(CASES / name, tmp_path)
    shutil.copytree(ROOT / "data" / "synthetic2026", "rig")
    with h5py.File("measured.h5", "w") as file:
        file["force"] = [0.0, 1.0, 0.0]
    Path("linked.h5").symlink_to("case.toml")
    Path("kept_law.py").write_text(LAW.replace("latching-spring", "kept-law"))
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_run_replaces_nothing_but_an_output_file(here, obeyed, monkeypatch):
    monkeypatch.setattr("granchain.run", lambda *case, **asked: pytest.fail("the run began"))
    before = contents(here)
    for out, *command in (
        ("case.toml", "case.toml", *SMALL),
        ("./rig/../case.toml", "case.toml", *SMALL),
        ("linked.h5", "case.toml", *SMALL),
        ("driven-chain.csv", "driven-chain.toml", *DRIVEN),
        *(
            (file, "steel-chain", *SMALL)
            for file in ("rig/trace.csv", "rig/about.toml", "measured.h5")
        ),
        ("kept_law.py", "steel-chain", *SMALL, "--law-module", "kept_law.py"),
    ):
        for more in ("--overwrite", "--resume"):
            said = obeyed("run", *command, "--out", out, more, code=4).err
            assert "granchain did not write this file" in said, out
            assert contents(here) == before, out


@pytest.mark.usefixtures("blank_pictures")
def test_figures_are_replaced_where_it_is_asked_for(here, obeyed, capsys):
    assert obey(["run", "steel-chain", *SMALL, "--out", "run.h5"]) == 0
    impact = ["impact", "hertz", "--speed", "1", "--figure"]
    kept = (
        "the figures already exist and were not changed. Existing files "
        "are overwritten only on request. Choose another folder with --out,"
    )
    for command, said in (
        (["plot", "run.h5", "--only", "energy,overlaps", "--out", "figures"], kept),
        ([*impact, "figures/loop.pdf"], "--overwrite"),
        ([*impact, "figures/loop.svg"], "--overwrite"),
    ):
        old = contents(here)
        assert obey(command) == 0
        before = contents(here)
        capsys.readouterr()
        err = obeyed(*command, code=4).err
        assert said in err and (said != kept or " more: " in err)
        assert contents(here) == before
        # a file that is not a figure is not replaced either
        first = min(before.keys() - old.keys())
        first.write_text("my notes")
        assert obey([*command, "--overwrite"]) == 4 and first.read_text() == "my notes"
        assert "granchain did not write this file" in capsys.readouterr().err
        first.write_bytes(before[first])
        assert obey([*command, "--overwrite"]) == 0 and contents(here) == before


def test_an_import_does_not_write_over_the_file_that_it_reads(here, obeyed, capsys):
    Path("mine").mkdir()
    Path("mine/trace.csv").write_text(
        "t [us],bead 3 [N]\n" + "".join(f"{k},{k % 7}.5\n" for k in range(40))
    )
    before = contents(here)
    # this file can be imported into another folder, and that folder can be replaced
    command = ["traces", "import", "mine/trace.csv", "--kind", "measured", "--overwrite", "--out"]
    assert obey([*command, "other"]) == 0 and obey([*command, "other"]) == 0
    shutil.rmtree("other")
    capsys.readouterr()
    assert (
        "mine/trace.csv: this is the file to import. The "
        "output folder must not contain the imported file" in obeyed(*command, "mine", code=2).err
    )
    assert contents(here) == before
