"""`granchain plot` and `granchain animate` as they are called, and the course of a pulse along
a chain: one small run for all."""

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.synthetic import synthetic, wave_speed

import granchain as gc
from granchain import analysis, figures
from granchain.cli import obey
from granchain.figures.motion import contact_forces
from granchain.store.conclusion import save_conclusion

pytestmark = pytest.mark.filterwarnings("error")

CHANGE = {
    **{
        "chain.beads": 12,
        "sensors.beads": [3, 5, 7, 9],
        "sensors.contacts": [0, 4],
        "time.end": 1e-4,
    },
    **{"snapshots.interval": 2e-6, "title": "12 beads"},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two runs that differ in one key, a third under the first's name in another folder, and
    one without snapshots and with one sensor."""
    folder = tmp_path_factory.mktemp("runs")
    case = gc.load_case("steel-chain-hertz").replace(**CHANGE)
    gc.run(case).save(folder / "fast.h5")
    gc.run(case.replace(**{"striker.speed": 1.0})).save(folder / "slow.h5")
    (folder / "other").mkdir()
    shutil.copy(folder / "fast.h5", folder / "other" / "fast.h5")
    poor = gc.load_case("steel-chain-hertz").replace(
        **{**CHANGE, "sensors.beads": [3], "sensors.contacts": []}
    )
    result = gc.run(poor)
    for name in ("snapshot_time", "displacement", "velocity"):
        del result.variables[name]
    result.save(folder / "poor.h5")
    return folder


@pytest.fixture
def here(files, tmp_path, monkeypatch):
    """A folder of one's own, with the runs."""
    monkeypatch.chdir(tmp_path)
    for name in ("fast.h5", "slow.h5", "poor.h5", "other"):
        (tmp_path / name).symlink_to(files / name)
    return tmp_path


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


# --- several files, some figures, a format, a width


@pytest.mark.usefixtures("blank_pictures")
def test_two_runs_are_drawn_over_each_other_in_the_format_asked_for(here, capsys):
    command = [
        "plot",
        "fast.h5",
        "slow.h5",
        "--only",
        "force-traces,peaks",
        "--format",
        "pdf",
        "--width",
        "single",
        "--out",
        "out",
    ]
    assert obey(command) == 0
    assert capsys.readouterr().out.splitlines() == [
        "out/fast-slow-force-traces.pdf",
        "out/fast-slow-peaks.pdf",
    ]
    page = (here / "out" / "fast-slow-peaks.pdf").read_bytes()
    assert page.startswith(b"%PDF")
    before = page
    assert obey(command) == 4
    assert "got figures that exist and are kept" in capsys.readouterr().err
    assert (here / "out" / "fast-slow-peaks.pdf").read_bytes() == before
    assert obey([*command, "--overwrite"]) == 0


@pytest.mark.usefixtures("blank_pictures")
def test_what_a_file_lacks_is_said_and_left_out(here, capsys):
    assert obey(["plot", "fast.h5", "poor.h5", "--only", "peaks,space-time", "--out", "out"]) == 0
    assert names("out") == ["fast-poor-peaks.png", "fast-space-time.png"]
    said = capsys.readouterr().err
    assert (
        "poor.h5: no peaks: peaks: got one sensor" in said
        and "poor.h5: no space-time:" in said
        and "hysteresis" not in said
    )
    assert obey(["plot", "poor.h5", "--only", "space-time", "--out", "none"]) == 2
    assert (
        "--only: got space-time, for which these files lack the variables"
        in capsys.readouterr().err
    )
    assert not Path("none").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--only", "pekas,energy,heat"],
            '--only: got "pekas", allowed a known name; did you mean "peaks"?',
        ),
        (["--only", "heat"], "allowed a known name; take one of: force-traces, peaks,"),
        (["--format", "pgn"], '--format: got ".pgn", allowed a known name; did you mean ".png"?'),
        (
            ["--label", "one", "--label", "two"],
            "--label: got 2, allowed 1, one for each file; give each its --label WORD",
        ),
        (
            ["--width", "doubel"],
            '--width: got "doubel", allowed "single" (86 mm) or "double" (178 mm); did you mean',
        ),
    ],
)
def test_a_wrong_option_of_plot_is_refused_before_anything_is_drawn(
    here, capsys, options, expected
):
    assert obey(["plot", "fast.h5", *options, "--out", "out"]) == 2
    assert expected in capsys.readouterr().err
    assert not Path("out").exists()


def test_files_of_unlike_kinds_are_refused_and_every_unreadable_one_is_named(here, capsys):
    save_conclusion("found.json", "fit", None, {})
    assert obey(["plot", "fast.h5", "found.json", "--out", "out"]) == 2
    expected = (
        "plot: got files of unlike kinds (the run of a chain: fast.h5; a conclusion: found.json),"
    )
    assert expected in capsys.readouterr().err
    Path("text.h5").write_text("no")
    assert obey(["plot", "fast.h5", "text.h5", "gone.h5"]) == 4
    said = capsys.readouterr().err
    assert (
        "text.h5: got a file that granchain did not write" in said
        and "gone.h5: got no file of this name" in said
    )
    assert obey(["plot", "found.json", "--out", "out"]) == 4
    assert "found.json: got a conclusion that holds nothing to draw" in capsys.readouterr().err


# --- the course of a pulse


def powers(exponent, scatter=0.0, sensors=(2, 3, 4, 6, 8, 10, 12)):
    """A result whose peaks follow a power of the bead's number, and scatter about it."""
    plain = synthetic(sensors=sensors, end=150e-6)
    off = 1.0 + scatter * np.cos(np.pi * np.arange(len(sensors)))
    return synthetic(
        sensors=sensors,
        end=150e-6,
        change={"sensor_force": plain.sensor_force * np.array(sensors) ** exponent * off},
    )


def said(result, panel=0):
    return figures.peaks(result)[1][panel].get_title(loc="left")


def test_the_peaks_are_drawn_with_the_exponent_of_their_power_law_and_its_error():
    result = powers(-0.5)
    _, (peak, arrival, width, speed) = figures.peaks(result)
    (line,) = (one for one in peak.get_lines() if one.get_label() == "hertz")
    found = analysis.sensor_pulses(result)
    assert line.get_xdata().tolist() == [
        pulse.bead for pulse in found
    ] and line.get_ydata() == pytest.approx([one.peak for one in found])
    fit = analysis.power_law(line.get_xdata(), line.get_ydata())
    assert fit.value == pytest.approx(-0.5, abs=1e-4) and 0.0 < fit.error < 1e-4
    assert said(result).startswith(
        f"exponent \N{MINUS SIGN}{-fit.value:.6f}"[:14]
    ) and f"\N{PLUS-MINUS SIGN} {fit.error:.0e}"[:3] in said(result)
    # the wave is the exact one: the same speed and width everywhere
    metres = wave_speed() * 2.0 * 2.38e-3
    assert arrival.get_title(loc="left") == f"speed {metres:.4g} m/s"
    assert speed.get_lines()[0].get_ydata() == pytest.approx(
        metres, rel=1e-4
    ) and "no decay" in speed.get_title(loc="left")
    assert "no decay" in width.get_title(loc="left")


# --- animation


def frames_of(path):
    """Pictures of a GIF, as arrays."""
    from PIL import Image

    with Image.open(path) as image:
        found = []
        for i in range(image.n_frames):
            image.seek(i)
            found.append(np.asarray(image.convert("RGB")))
        return found


def test_a_run_is_animated_and_an_animation_that_is_there_is_kept(here, capsys):
    command = ["animate", "fast.h5", "--frames", "2", "--width", "single", "--magnify", "300"]
    assert obey(command) == 0
    assert capsys.readouterr().out == "fast.gif\n"
    pictures = frames_of("fast.gif")
    # 86 mm at 150 dots an inch
    assert len(pictures) == 2 and pictures[0].shape[1] == int(86.0 / 25.4 * 150.0)
    assert all((one != other).any() for one, other in pairwise(pictures))
    before = Path("fast.gif").read_bytes()
    assert obey(command) == 4
    assert "fast.gif: got a file that exists and is kept" in capsys.readouterr().err
    assert Path("fast.gif").read_bytes() == before
    Path("mine.gif").write_text("not a GIF")
    assert obey([*command, "--out", "mine.gif", "--overwrite"]) == 4
    assert (
        "got a file that granchain did not write" in capsys.readouterr().err
        and Path("mine.gif").read_text() == "not a GIF"
    )
    assert sorted(path.name for path in here.iterdir()) == [
        "fast.gif",
        "fast.h5",
        "mine.gif",
        "other",
        "poor.h5",
        "slow.h5",
    ]


@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        (
            ["poor.h5"],
            4,
            "poor.h5: got a file without snapshots, allowed one with displacements and",
        ),
        (["fast.h5", "--out", "film.avi"], 4, "film.avi: got the ending '.avi', allowed .gif"),
        (["fast.h5", "--out", "film.mp4"], 2, "pip install imageio-ffmpeg, or name a .gif"),
        (["fast.h5", "--frames", "1"], 2, "frames: got 1, allowed a whole number from 2 to 600"),
        (["fast.h5", "--frames", "10000"], 2, "frames: got 10000, allowed"),
        (["fast.h5", "--magnify", "0"], 2, "magnify: got 0.0, allowed a number above 0"),
        (["fast.h5", "--magnify", "nan"], 2, "magnify: got nan, allowed a number above 0"),
        (["fast.h5", "--beads", "all"], 2, '--beads: got "all", allowed FIRST-LAST'),
        (
            ["fast.h5", "--beads", "40-50"],
            2,
            "beads: got 40 to 50, allowed a first and a last one from 0 to 12",
        ),
        (["fast.h5", "--width", "wide"], 2, 'width: got "wide", allowed "single"'),
    ],
)
def test_what_cannot_be_animated_is_refused_in_a_sentence(here, capsys, options, code, expected):
    assert obey(["animate", *options]) == code
    said = capsys.readouterr().err
    assert expected in said and "Traceback" not in said
    assert not list(here.glob("*.gif")) and not list(here.glob("*.mp4"))


def test_the_forces_of_an_animation_are_those_of_the_contacts(files):
    result = gc.open_result(files / "fast.h5")
    rows = np.arange(1, len(result.snapshot_time) - 1)
    found = contact_forces(result, rows)
    assert found.shape == (len(rows), 12)
    time, shots = result.time, result.snapshot_time
    for column, contact in enumerate(result.sensor_contact.tolist()):
        force = result.contact_force[:, column]
        impulse = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(time) * (force[1:] + force[:-1]))])
        mean = (
            np.interp(shots[rows + 1], time, impulse) - np.interp(shots[rows - 1], time, impulse)
        ) / (shots[rows + 1] - shots[rows - 1])
        # what remains is the trapezoidal rule's, and the linear interpolation's
        assert found[:, contact] == pytest.approx(mean, abs=2e-3 * force.max())
