"""Symbolic links and devices: data are written to the target of a link, or refused; links
remain."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from support.disks import mounting
from support.processes import Stop, left_in, python

import granchain as gc
from granchain.cli import obey
from granchain.errors import FileError
from granchain.status import Status
from granchain.store import Checkpoint, claim, write_atomically
from granchain.store.files import OUTPUT_MARK
from granchain.store.journal import StudyPart

SMALL = [
    "chain.beads=20",
    "sensors.beads=[9]",
    "sensors.contacts=[0]",
    "time.end=1e-4",
    "snapshots.interval=2e-5",
]
RUN = " ".join(["run steel-chain-hertz", *(f"--set {word}" for word in SMALL)])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files of a run and of a run without sensors, and a trace to import."""
    folder = tmp_path_factory.mktemp("made")
    bare = "--set sensors.beads=[] --set sensors.contacts=[] --set snapshots.interval=1e-4"
    assert obey(f"{RUN} {bare} --out {folder}/bare.h5".split()) == 0
    assert obey(f"{RUN} --out {folder}/run.h5".split()) == 0
    (folder / "rig.csv").write_text(
        "time [s],force at bead 1 [N]\n"
        + "".join(f"{1e-6 * i:.6g},{float(i % 5)}\n" for i in range(40))
    )
    return folder


# Name of each written file, and the function that writes it.
Writer = Callable[[Path, str], int]


def by_command(words):
    return lambda made, name: obey(
        f"{words} --overwrite".format(made=made, name=name, run=RUN).split()
    )


def with_claim(function):
    def write(made, name):
        try:
            function(name)
        except FileError:
            return 4
        return 0

    return write


def ensemble(name):
    gc.run_many([gc.load_case("steel-chain-hertz", SMALL)], name, overwrite=True)


WRITERS = {
    "run": ("out.h5", by_command("{run} --out {name}")),
    "ensemble": ("out.h5", with_claim(ensemble)),
    "study": ("out.h5", by_command("sweep {made}/study.toml --out {name}")),
    "figure": (
        "run-force-traces.png", by_command("plot {made}/run.h5 --out . --only force-traces")),
    "page": ("out.html", by_command("report {made}/bare.h5 --out {name}")),
    "animation": ("out.gif", by_command("animate {made}/run.h5 --out {name} --frames 2")),
    "trace": (
        "rig/trace.csv", by_command("traces import {made}/rig.csv --kind measured --out rig")),
}  # fmt: skip


def blank_frame(moving, name, writer, dpi):
    """Replaces the frames of an animation, which are slow to draw."""
    writer.setup(moving._fig, name, dpi)
    writer._frames = [Image.new("RGB", (9, 9))]
    writer.finish()
    moving._draw_was_started = True  # otherwise matplotlib warns that nothing was drawn


@pytest.mark.promise("R5")
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.usefixtures("blank_pictures")
def test_every_writer_follows_a_link_to_a_file_and_refuses_one_to_a_device(
    writer, made, here, capsys,
    monkeypatch
):  # fmt: skip
    monkeypatch.setattr("matplotlib.animation.Animation.save", blank_frame)
    name, write = WRITERS[writer]
    (made / "study.toml").write_text('case = "small.toml"\n[vary]\nstriker.speed = [0.5, 1.0]\n')
    (made / "small.toml").write_text(gc.load_case("steel-chain-hertz", SMALL).toml)
    if "/" in name:
        Path(name).parent.mkdir()
    if writer == "trace":
        # replaces traces or any file: the folder has the name of the file
        assert write(made, name) == 0
        os.unlink(name)
    link, kept = Path(name), here / "elsewhere" / f"kept{Path(name).suffix}"
    kept.parent.mkdir()
    # a link to nothing, then to the file that the first call wrote
    link.symlink_to(kept)
    for _ in range(2):
        before = kept.stat().st_ino if kept.exists() else 0
        assert write(made, name) == 0, capsys.readouterr().err
        assert link.is_symlink() and os.readlink(link) == str(kept)
        assert kept.is_file() and kept.stat().st_ino != before
        assert left_in(kept.parent) == [kept.name]
    link.unlink()
    link.symlink_to("/dev/null")
    assert write(made, name) == 4, capsys.readouterr().err
    assert os.readlink(link) == "/dev/null"


DEVICE = "this is a device, a pipe, a socket, or a circular link"
# Target of the link, and target of the link "b".
LINKS = [
    ("a", "a", DEVICE),
    ("b", "a", DEVICE),
    ("folder", "folder", "this is a folder. The path must be a file"),
    ("none/x", "none/x", "does not exist"),
    ("/dev/null", "a", DEVICE),
    ("b", "/dev/null", DEVICE),
    ("diary", "diary", "granchain did not write this file"),
    ("pipe", "pipe", DEVICE),
]


@pytest.mark.promise("R5")
def test_a_link_that_cannot_be_followed_is_refused_in_a_sentence_and_stays(here):
    Path("folder").mkdir()
    Path("diary").write_text("mine")
    os.mkfifo("pipe")
    for leads, on, words in LINKS:
        for link, target in (("a", leads), ("b", on)):
            Path(link).unlink(missing_ok=True)
            Path(link).symlink_to(target)
        before = sorted((path.name, path.is_symlink()) for path in here.iterdir())
        for attempt in (
            lambda: write_atomically(
                "a", b"granchain_format", overwrite=True, marks=(OUTPUT_MARK,)
            ),
            lambda: claim("a", overwrite=True).__enter__(),
            lambda: gc.run_many([gc.load_case("steel-chain-hertz")], "a", overwrite=True),
        ):
            with pytest.raises(FileError) as raised:
                attempt()
            assert words in str(raised.value), leads
        assert sorted((path.name, path.is_symlink()) for path in here.iterdir()) == before
        assert Path("diary").read_text() == "mine"
        # without permission to replace files, a link counts as an existing file
        if leads != "folder":
            with pytest.raises(FileError, match=r"The path must be|Existing files are"), claim("a"):
                pytest.fail(f"a link to {leads} was claimed")
    Path("to").symlink_to("/dev")
    for name in ("/dev/null", "to/null"):
        with pytest.raises(FileError, match=DEVICE), claim(name, overwrite=True):
            pytest.fail(f"{name} was claimed")


@pytest.mark.promise("R7")
def test_two_links_to_one_file_have_one_claim(here):
    Path("one").symlink_to("run.h5")
    Path("other").symlink_to("run.h5")
    with claim("one", overwrite=True):
        assert Path(".run.h5.lock").exists()
        done = python(
            "from granchain.store import claim\nwith claim('other', overwrite=True): pass"
        )
    assert done.returncode == 1 and "run.h5: another run is writing this file" in done.stderr


@pytest.mark.promise("R5")
def test_what_is_written_beside_a_file_follows_no_link(here):
    Path("diary").write_bytes(b"granchain_format mine")
    Path("run.h5.part").symlink_to("diary")
    with (
        claim("run.h5"),
        pytest.raises(FileError, match=r"run\.h5\.part: granchain did not write this file"),
    ):
        StudyPart("run.h5", overwrite=True)
    assert Path("run.h5.part").is_symlink()
    assert Path("diary").read_bytes() == b"granchain_format mine"


@pytest.mark.promise("R5")
def test_a_checkpoint_behind_a_link_is_gone_on_from_and_taken_away_where_it_is(here):
    Path("scratch").mkdir()
    Path("run.h5.chk").symlink_to("scratch/run.chk")
    case = gc.load_case("steel-chain-hertz", [*SMALL, "time.end=1e-3"])
    checkpoint = Checkpoint("run.h5.chk")
    assert not checkpoint.exists
    assert gc.run(case, checkpoint=checkpoint, watch=Stop()).status is Status.INTERRUPTED
    assert checkpoint.exists and Path("run.h5.chk").is_symlink()
    assert (here / "scratch/run.chk").is_file()
    again = gc.run(case, checkpoint="run.h5.chk", resume=True)
    assert again.provenance["data_sha256"] == gc.run(case).provenance["data_sha256"]
    checkpoint.remove()
    assert Path("run.h5.chk").is_symlink() and left_in(Path("scratch")) == []


@pytest.mark.promise("R5")
def test_a_failed_write_leaves_no_folder_that_it_has_made(made, tmp_path, obeyed):
    with mounting(tmp_path) as mount:
        full = mount("size=16k")
        # a file of 16 kB does not fit there
        (full / "filler").write_bytes(bytes(8192))
        shutil.copy(made / "rig.csv", made / "long.csv")
        with (made / "long.csv").open("a") as file:
            file.writelines(f"{1e-6 * i:.6g},{float(i % 5)}\n" for i in range(40, 4000))
        for command in (
            f"plot {made}/run.h5 --out {full}/pictures",
            f"traces import {made}/long.csv --kind measured --out {full}/rig",
        ):
            assert "The disk is full" in obeyed(*command.split(), code=4).err
            assert left_in(full) == ["filler"], command
    # an existing file stays
    (tmp_path / "mine").mkdir()
    assert obey(f"plot {made}/run.h5 --out {tmp_path}/mine --only nonsense".split()) == 2
    assert (tmp_path / "mine").is_dir()
