"""`granchain plot` and `granchain animate` as they are called, and the course of a pulse along
a chain: one small run for all."""

import shutil
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layout import faults
from support.synthetic import synthetic, wave_speed

import granchain as gc
from granchain import analysis, figures
from granchain.cli import obey
from granchain.errors import GranchainError
from granchain.figures.motion import contact_forces
from granchain.status import Status
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


def test_two_runs_are_drawn_over_each_other_in_the_format_and_width_asked_for(here, capsys):
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
    # 86 mm in points of 1/72 inch
    box = page.split(b"/MediaBox [")[1].split(b"]")[0].split()
    assert float(box[2]) == pytest.approx(86.0 / 25.4 * 72.0, abs=0.01)
    before = page
    assert obey(command) == 4
    assert "got figures that exist and are kept" in capsys.readouterr().err
    assert (here / "out" / "fast-slow-peaks.pdf").read_bytes() == before
    assert obey([*command, "--overwrite"]) == 0


def test_of_several_runs_what_is_of_one_is_drawn_for_each(here, capsys):
    assert (
        obey(
            [
                "plot",
                "fast.h5",
                "slow.h5",
                "--only",
                "energy,hysteresis",
                "--format",
                "svg",
                "--out",
                "out",
            ]
        )
        == 0
    )
    assert names("out") == ["fast-energy.svg", "fast-slow-hysteresis.svg", "slow-energy.svg"]
    # the keys that differ tell the runs apart
    words = (here / "out" / "fast-slow-hysteresis.svg").read_text()
    assert "contact 4, striker.speed 1.77" in words and "contact 4, striker.speed 1<" in words


def test_runs_of_one_name_and_one_case_are_told_apart_by_number(here, capsys):
    assert (
        obey(
            [
                "plot",
                "fast.h5",
                "other/fast.h5",
                "--only",
                "force_traces,energy",
                "--format",
                "svg",
                "--out",
                "out",
            ]
        )
        == 0
    )
    assert names("out") == ["fast-2-energy.svg", "fast-energy.svg", "fast-fast-2-force-traces.svg"]
    assert ">fast-2</text>" in (here / "out" / "fast-fast-2-force-traces.svg").read_text()


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


def test_a_figure_that_cannot_be_drawn_does_not_keep_the_others_from_being_drawn(
    here, capsys, monkeypatch
):
    def refuse(*_: Any, **__: Any) -> None:
        raise GranchainError("figure: got loops, allowed none")

    monkeypatch.setattr("granchain.figures.run.draw_loops", refuse)
    assert obey(["plot", "fast.h5", "--only", "hysteresis,force-traces", "--out", "out"]) == 2
    assert names("out") == ["fast-force-traces.png"]
    assert "figure: got loops, allowed none" in capsys.readouterr().err


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


def test_where_there_is_no_decay_or_no_power_law_the_figure_says_so():
    assert said(synthetic(sensors=(2, 4, 6, 8, 10))).endswith(": no decay")
    # up, down, down, up over evenly spaced logarithms has no slope
    plain = synthetic(sensors=(2, 4, 8, 16))
    uneven = synthetic(
        sensors=(2, 4, 8, 16),
        change={"sensor_force": plain.sensor_force * np.array([1.05, 0.95, 0.95, 1.05])},
    )
    assert ": no trend, scatter 5" in said(uneven)
    scattered = powers(-0.1, scatter=0.3)
    assert said(scattered).startswith("no power law: the best is off by ")
    assert figures.peaks(powers(-0.5))[1][0].get_xscale() == "log"
    assert [line.get_linestyle() for line in figures.peaks(scattered)[1][0].get_lines()] == ["-"]
    assert said(synthetic(sensors=(3, 8, 13))) == "3 values: no fit"


def test_sensors_that_say_nothing_of_the_wave_are_left_out_and_named():
    force = synthetic(sensors=(3, 8, 13)).sensor_force.copy()
    force[:, 1] = 0.0
    result = synthetic(
        sensors=(3, 8, 13, 20), change={"sensor_force": np.column_stack([force, force[:, 0]])}
    )
    figure, (peak, *_) = figures.peaks(result)
    assert peak.get_lines()[0].get_xdata().tolist() == [3.0, 13.0]
    heading = next(
        text.get_text()
        for axes in figure.axes
        for text in axes.texts
        if text.get_text().startswith("simulated")
    )
    assert (
        "left out, with one contact: bead 20" in heading and "left out, no pulse: bead 8" in heading
    )
    silent = synthetic(sensors=(3, 8), change={"sensor_force": 0.0 * force[:, :2]})
    with pytest.raises(GranchainError, match=r"got 0 sensors.*no pulse: bead 3"):
        figures.peaks(silent)
    with pytest.raises(GranchainError, match="peaks: got one sensor, allowed two and more"):
        figures.peaks(synthetic(sensors=(3,)))
    with pytest.raises(GranchainError, match="peaks: got no result"):
        figures.peaks()


def test_several_results_of_long_names_are_numbered_and_nothing_lies_over_anything():
    both = [synthetic(sensors=(3, 5, 8, 11)), powers(-0.5)]
    with figures.page("double"):
        figure, panels = figures.peaks(
            *both, labels=["the chain as it was delivered", "the same after a year"]
        )
    assert faults(figure) == []
    assert panels[0].get_title(loc="left").startswith(
        "1: exponent"
    ) and "\n2: exponent \N{MINUS SIGN}0.5" in panels[0].get_title(loc="left")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "1: the chain as it was delivered",
        "2: the same after a year",
    ]
    with pytest.raises(GranchainError, match="labels: got 1, allowed 2, one for each result"):
        figures.peaks(*both, labels=["one"])


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
    gc.animate(gc.open_result("fast.h5"), "called.gif", 300.0, 2, width="single")
    assert Path("called.gif").read_bytes() == before
    Path("called.gif").unlink()
    assert obey(command) == 4
    assert "fast.gif: got a file that exists and is kept" in capsys.readouterr().err
    assert Path("fast.gif").read_bytes() == before
    assert obey([*command, "--overwrite"]) == 0 and Path("fast.gif").read_bytes() == before
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


def a_row(count, end="free"):
    """What an animation looks at, of a row in which a pulse travels."""
    bead, time = np.arange(1, count + 1), np.linspace(0.0, 1e-4, 3)
    velocity = np.exp(-0.5 * ((bead - count * time[:, None] / 1e-4) / (0.05 * count)) ** 2)
    contact = np.arange(1, count) if end == "free" else np.arange(count + 1)
    data = {
        "bead": bead,
        "radius": np.full(count, 2e-3),
        "mass": np.full(count, 1e-3),
        "position": 4e-3 * bead,
        "contact": contact,
        "snapshot_time": time,
        "displacement": 1e-5 * np.cumsum(velocity, axis=0),
        "velocity": velocity,
    }
    names = {
        "title": "row",
        "law": "hertz",
        "status": Status.COMPLETE,
        "time_step": 1e-8,
    }
    case = SimpleNamespace(ends=SimpleNamespace(left=end, right=end))
    return SimpleNamespace(variables=data, case=case, **names, **data)


def test_many_bodies_are_binned_and_held_ends_show_velocities_and_both_are_said(tmp_path):
    for row, words in (
        (a_row(10_000), "bins of 29 bodies: largest force, mean displacement"),
        (a_row(30, "wall"), "both ends held: velocities"),
    ):
        moving = figures.animation(row)
        figure = moving._fig
        heading = next(
            text.get_text()
            for axes in figure.axes
            for text in axes.texts
            if text.get_text().startswith("simulated")
        )
        assert words in heading.replace("\n", " ") and "displacements" in heading
        (bodies,) = figure.axes[0].collections
        assert len(bodies.get_offsets()) == (345 if len(row.bead) == 10_000 else 30)
        assert faults(figure) == []
        figures.save_animation(moving, tmp_path / f"{len(row.bead)}.gif")
    # the last picture: displacements so many times as the heading says, in mm
    times = float(heading.split("displacements ")[1].split(" times")[0])
    assert times > 1.0 and bodies.get_offsets()[:, 0] == pytest.approx(
        1e3 * (row.position + times * row.displacement[-1]), rel=1e-12
    )
    assert len(frames_of(tmp_path / "30.gif")) == 3
