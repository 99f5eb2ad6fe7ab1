"""`granchain plot` and `granchain animate` on the command line, and the path of a pulse along a
chain, with one small run for all tests."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence
from support.refused import refused
from support.synthetic import synthetic, wave_speed

import granchain as gc
from granchain import analysis, figures
from granchain.cli import obey
from granchain.figures.motion import contact_forces

pytestmark = pytest.mark.filterwarnings("error")

CASE = gc.load_case("steel-chain-hertz").replace(
    **{"title": "12 beads", "chain.beads": 12, "time.end": 1e-4, "snapshots.interval": 2e-6},
    **{"sensors.beads": [3, 5, 7, 9], "sensors.contacts": [0, 4]},
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two runs that differ in one key, a third run with the name of the first in another folder,
    and one without snapshots and with one sensor."""
    folder = tmp_path_factory.mktemp("runs")
    gc.run(CASE).save(folder / "fast.h5")
    gc.run(CASE.replace(**{"striker.speed": 1.0})).save(folder / "slow.h5")
    (folder / "other").mkdir()
    shutil.copy(folder / "fast.h5", folder / "other" / "fast.h5")
    poor = {"sensors.beads": [3], "sensors.contacts": [], "snapshots": None}
    gc.run(CASE.replace(**poor)).save(folder / "poor.h5")
    return folder


@pytest.fixture
def here(files, tmp_path, monkeypatch):
    """A new folder that contains the runs."""
    monkeypatch.chdir(tmp_path)
    for name in ("fast.h5", "slow.h5", "poor.h5", "other"):
        (tmp_path / name).symlink_to(files / name)
    return tmp_path


@pytest.mark.usefixtures("blank_pictures")
def test_two_runs_are_drawn_over_each_other_in_the_format_asked_for(here, obeyed, capsys):
    command = ["plot", "fast.h5", "slow.h5", "--only", "force-traces,peaks", "--format", "pdf"]
    command += ["--out", "out"]
    assert obey(command) == 0
    drawn = ["out/fast-slow-force-traces.pdf", "out/fast-slow-peaks.pdf"]
    assert capsys.readouterr().out.splitlines() == drawn
    page = Path(drawn[1])
    before = page.read_bytes()
    assert before.startswith(b"%PDF")
    assert "the figures already exist and were not changed" in obeyed(*command, code=4).err
    assert page.read_bytes() == before
    assert obey([*command, "--overwrite"]) == 0


@pytest.mark.usefixtures("blank_pictures")
def test_what_a_file_lacks_is_said_and_left_out(here, capsys):
    assert obey(["plot", "fast.h5", "poor.h5", "--only", "peaks,space-time", "--out", "out"]) == 0
    assert sorted(os.listdir("out")) == ["fast-poor-peaks.png", "fast-space-time.png"]
    said = capsys.readouterr().err
    assert "poor.h5: no figure peaks. Only one sensor" in said
    assert "poor.h5: no figure space-time." in said
    assert "hysteresis" not in said


def test_what_cannot_be_drawn_is_refused_in_a_sentence_before_anything_is(
    here, obeyed, monkeypatch
):
    # no two files have the same name
    monkeypatch.setattr("granchain.cli.impact.collisions", None)
    gc.impact(law="hertz", speed=1.0).save("found.h5")
    Path("text.h5").write_text("no")
    for kind in ("gif", "h5", "html", "json", "png"):
        Path(f"kept.{kind}").write_text("no")
    before = sorted(here.rglob("*"))
    for command, code, *expected in refused("command of figures"):
        said = obeyed(*command.split(), code=code).err
        assert all(words in said for words in expected) and "Traceback" not in said, command
    assert sorted(here.rglob("*")) == before


def test_the_peaks_are_drawn_with_the_exponent_of_their_power_law_and_its_error():
    sensors = (2, 3, 4, 6, 8, 10, 12)
    decaying = synthetic(sensors=sensors).sensor_force * np.array(sensors) ** -0.5
    result = synthetic(sensors=sensors, change={"sensor_force": decaying})
    peak, arrival, width, speed = figures.peaks(result).axes
    (line,) = (one for one in peak.get_lines() if one.get_label() == "hertz")
    found = analysis.sensor_pulses(result)
    assert line.get_xdata().tolist() == [pulse.bead for pulse in found]
    assert line.get_ydata() == pytest.approx([one.peak for one in found])
    fit = analysis.power_law(line.get_xdata(), line.get_ydata())
    assert fit.value == pytest.approx(-0.5, abs=1e-4) and 0.0 < fit.error < 1e-4
    said = peak.get_title(loc="left").replace("\N{NO-BREAK SPACE}", " ").replace("\n", " ")
    assert said.startswith(f"exponent \N{MINUS SIGN}{-fit.value:.6f}"[:14])
    assert f"\N{PLUS-MINUS SIGN} {fit.error:.0e}"[:3] in said
    # the exact wave has the same speed and width everywhere
    metres = wave_speed() * 2.0 * 2.38e-3
    assert arrival.get_title(loc="left") == f"speed {metres:.4g} m/s"
    assert speed.get_lines()[0].get_ydata() == pytest.approx(metres, rel=1e-4)
    assert all("no decay" in panel.get_title(loc="left") for panel in (speed, width))


def test_a_run_is_animated_and_an_animation_that_is_there_is_kept(here, obeyed):
    command = ["animate", "fast.h5", "--frames", "2", "--magnify", "300"]
    assert obeyed(*command).out == "fast.gif\n"
    with Image.open("fast.gif") as image:
        pictures = [np.asarray(one.convert("RGB")) for one in ImageSequence.Iterator(image)]
    assert len(pictures) == 2
    assert (pictures[0] != pictures[1]).any()
    before = Path("fast.gif").read_bytes()
    assert "fast.gif: the file already exists and was not changed" in obeyed(*command, code=4).err
    assert Path("fast.gif").read_bytes() == before
    Path("mine.gif").write_text("not a GIF")
    said = obeyed(*command, "--out", "mine.gif", "--overwrite", code=4).err
    assert "granchain did not write this file" in said
    assert Path("mine.gif").read_text() == "not a GIF"
    assert {path.name for path in here.glob("*.gif")} == {"fast.gif", "mine.gif"}


def test_an_mp4_without_ffmpeg_is_refused(here, obeyed, monkeypatch):
    monkeypatch.setattr("matplotlib.animation.FFMpegWriter.isAvailable", lambda: False)
    said = obeyed("animate", "fast.h5", "--out", "film.mp4", code=2).err
    assert "ffmpeg is missing" in said and "use a .gif file" in said


def test_an_animation_has_its_title_or_none_as_asked(here, monkeypatch):
    asked = []
    monkeypatch.setattr(gc, "animate", lambda *rest, title, **more: asked.append(title))
    for more in ([], ["--no-title"]):
        assert obey(["animate", "fast.h5", *more]) == 0
    assert asked == [True, False]


def test_the_forces_of_an_animation_are_those_of_the_contacts(files):
    result = gc.open(files / "fast.h5")
    rows = np.arange(1, len(result.snapshot_time) - 1)
    found = contact_forces(result, rows)
    assert found.shape == (len(rows), 12)
    time, shots = result.time, result.snapshot_time
    for column, contact in enumerate(result.sensor_contact.tolist()):
        force = result.contact_force[:, column]
        impulse = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(time) * (force[1:] + force[:-1]))])
        before, after = (np.interp(shots[rows + i], time, impulse) for i in (-1, 1))
        mean = (after - before) / (shots[rows + 1] - shots[rows - 1])
        # errors of the trapezoidal rule and of the linear interpolation
        assert found[:, contact] == pytest.approx(mean, abs=2e-3 * force.max())
