"""Files of measured forces give correct numbers or an error message, and never nan."""

import json
import math
import runpy
import tomllib
from pathlib import Path

import numpy as np
import pandas
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refused import assert_refused, refused
from support.trace_layouts import (
    BAD,
    FORCE,
    GAIN,
    GOOD,
    HEAD,
    PLAIN,
    TIME,
    N,
    channel,
    rows,
    text,
)

import granchain as gc
from granchain.errors import FileError, TraceError
from granchain.measured import import_trace, read_about, read_trace
from granchain.measured.baseline import baseline_of, noise_of_baseline, sample_noise
from granchain.measured.noise import Noise
from granchain.measured.text import text_columns

pytestmark = pytest.mark.usefixtures("here")
ROOT = Path(__file__).parents[1]


def brought_in(content, asked=None, name="record.csv", kind="measured", **more):
    Path(name).write_bytes(content() if callable(content) else content)
    return import_trace(name, "folder", kind, **(asked or {}), **more)


def test_layouts_of_many_instruments_give_the_right_numbers():
    assert len(GOOD) >= 40
    for name, (content, options, expected, note) in GOOD.items():
        time, force = expected or (TIME, FORCE)
        trace = brought_in(content, options, overwrite=True)
        assert trace.time[0] == 0.0, name
        assert trace.start + trace.time == pytest.approx(time, rel=1e-9, abs=1e-15), name
        assert trace.sensor_force == pytest.approx(force, rel=1e-9, abs=1e-12), name
        assert note in " ".join(trace.notes), name
        assert bool(trace.notes) == bool(note or name.startswith("lecroy")), name
        again = read_trace("folder")
        assert np.array_equal(again.time, trace.time) and again.start == trace.start, name
        assert again.sensor_force == pytest.approx(trace.sensor_force, rel=1e-11, abs=1e-20), name
        assert trace.sensor_bead.tolist() == again.sensor_bead.tolist() == [3, 8], name
        assert again.about.kind == "measured" and again.notes == (), name


def test_layouts_that_leave_something_open_are_refused_with_what_to_say(here):
    rows = [(content, options, f"(?s)^(?=record.csv).*?{words}") for content, options, words in BAD]
    assert_refused(brought_in, rows, TraceError)
    assert not (here / "folder").exists()


def test_times_printed_to_few_digits_are_put_on_the_even_grid_that_explains_them():
    time = 1.0 + 1.01 * TIME
    printed = [f"{t:.8f},{a},{b}" for t, (a, b) in zip(time, FORCE, strict=True)]
    trace = brought_in(text(HEAD, *printed))
    assert "times are rounded to 1e-08 s" in trace.notes[0]
    # half of the last digit at each end of the fitted line
    assert np.diff(trace.time) == pytest.approx(0.505e-6, abs=1e-8 / (N - 1))
    assert trace.start + trace.time == pytest.approx(time, abs=1e-8)
    # a sample that is two digits late is not a rounding error; if the last digit is a fifth of the
    # step, the clock cannot be determined
    late = [f"{t + (2e-8 if i == 20 else 0.0):.8f},0,0" for i, t in enumerate(time)]
    for rows_of in (late, [f"{t:.7f},0,0" for t in time]):
        with pytest.raises(TraceError, match="time: the step"):
            brought_in(text(HEAD, *rows_of), name="other.csv", overwrite=True)


def test_a_sensor_with_negative_pulses_is_reported_with_the_gain_that_turns_it(obeyed):
    Path("rig.csv").write_bytes(text("time [s],bead 3 [V],bead 8 [V]", *rows(force=-0.02)))
    command = ["traces", "import", "rig.csv", "--kind", "measured", "--gain", "0.02,0.04"]
    lines = obeyed(*command).out.splitlines()
    assert lines[-3].startswith(
        "bead 3: the largest deviation from the baseline is negative (-20 N)"
    )
    assert lines[-3].endswith('turn it with --gain "-0.02, -0.04"') and lines[-2].startswith(
        "bead 8"
    )
    command[-1] = "-0.02,-0.04"
    turned = obeyed(*command, "--overwrite").out
    assert "negative" not in turned
    assert read_trace("rig").sensor_force.max() == pytest.approx(20.0)


def test_a_table_a_file_and_arrays_give_the_same_trace():
    Path("rig.csv").write_bytes(text("time [us],CH1 [mV],CH2 [mV]", *rows(time=1e6, force=20.0)))
    table = pandas.read_csv("rig.csv")
    options = {"beads": [3, 8], "gain": "20 mV/N"}
    from_file = gc.read_trace("rig.csv", **options)
    traces = [
        gc.read_trace(table, **options),
        gc.read_trace(table.set_index("time [us]"), **options),
        gc.Trace(
            time=1e-6 * table["time [us]"], force=1e-3 * table[["CH1 [mV]", "CH2 [mV]"]], **options
        ),
        gc.Trace(
            time=xarray.DataArray(table["time [us]"], dims="time", attrs={"units": "us"}),
            force=xarray.DataArray(20.0 * FORCE, dims=("time", "bead"), attrs={"units": "mV"}),
            **options,
        ),
    ]
    assert from_file.about.title == "rig" and from_file.about.sensor.gain == [0.02, 0.02]
    for trace in traces:
        assert trace.start == pytest.approx(from_file.start) == pytest.approx(-2e-6)
        assert trace.time == pytest.approx(from_file.time, rel=1e-9, abs=1e-15)
        assert trace.sensor_force == pytest.approx(FORCE, rel=1e-9, abs=1e-12)
        assert trace.about.kind == "measured"


def test_the_samples_after_a_time_have_a_later_start():
    trace = gc.Trace(time=TIME, force=FORCE, beads=(3, 8), about={"title": "rig"})
    later = gc.Trace(
        time=trace.time[9:], force=trace.sensor_force[9:], beads=(3, 8), about=trace.about
    )
    assert later.start == pytest.approx(TIME[9]) and later.time[0] == 0.0
    assert later.about.title == "rig"


def test_arrays_that_are_no_trace_are_refused():
    minutes, volts = (
        xarray.DataArray(values, attrs={"units": unit})
        for values, unit in ((TIME, "min"), (FORCE, "V"))
    )
    rows = [
        ({"time": TIME[:-1]}, r"trace: the forces have the shape \(40, 2\), and the times \(39,\)"),
        ({"beads": 3}, r"trace: the forces have the shape .* \(1 sensors\)"),
        ({"beads": (0, 3)}, r"sensor beads: \[0, 3\] is not valid"),
        ({"beads": (1.5, 3)}, r"sensor beads: \[1.5, 3.0\] is not valid"),
        ({"force": FORCE.astype(str)}, "trace: the types are float64 and .* Real numbers are req"),
        ({"gain": "x"}, r'--gain: "x" is not valid'),
        ({"about": {"kind": "real"}}, r'about: kind: "real" is not valid'),
        ({"time": minutes}, r"time: the unit is 'min'\. It must be one of s, ms"),
        ({"force": volts}, r'"bead 3": the values are in V\.'),
    ]
    right = {"time": TIME, "force": FORCE, "beads": (3, 8)}
    assert_refused(lambda changes: gc.Trace(**{**right, **changes}), rows, TraceError)


def test_messages_of_read_trace_name_its_arguments():
    table = pandas.DataFrame(FORCE, columns=["bead 3", "bead 8"])
    with pytest.raises(TraceError, match=r"^table: .* unit with time_unit us\. .* interval 1e-6"):
        gc.read_trace(table)
    with pytest.raises(TraceError, match=r'table: "a": the type is (object|str)\.'):
        gc.read_trace(pandas.DataFrame({"t": TIME, "a": ["x"] * N}))
    with pytest.raises(TraceError, match=r"^interval: 0.0 is out of range"):
        gc.read_trace(table, interval=0.0)
    brought_in(PLAIN)
    with pytest.raises(TraceError, match=r"folder: .* No option is allowed\."):
        gc.read_trace("folder", gain=2.0)


# Bytes with a meaning in text files.
SIGNS = [*(bytes([sign]) for sign in b',;\n-.e9"\0\xb5 \t'), b"", b"nan"]


# A tenth of a second per example, most of it because of hypothesis.
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_change_of_a_text_file_ends_in_anything_but_numbers_or_a_sentence(data):
    content = bytearray(text("Model,X", HEAD, *rows()[:12]))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        sign = data.draw(st.sampled_from(SIGNS))
        content[place : place + data.draw(st.integers(0, 3))] = sign
    try:
        columns = text_columns(bytes(content)).columns
    except TraceError as error:
        assert ". " in str(error) and str(error).endswith((".", "?"))
        return
    assert len({len(column.values) for column in columns}) == 1
    assert not any(np.isnan(column.values).any() for column in columns)


def test_files_of_one_clock_make_one_trace_with_what_is_each_sensors_own(obeyed, capsys):
    for k in (0, 1):
        Path(f"T0001CH{k + 1}.CSV").write_bytes(text(*channel(k)))
    command = ["traces", "import", "T0001CH1.CSV", "T0001CH2.CSV", "--kind", "measured"]
    command += ["--beads", "3,8", "--gain", "0.02 V/N, 40 mV/N"]
    said = ["--title", 'Rig "2"', "--set", "uncertainty.gain=[0.03,0.02]"]
    assert obeyed(*command, *said).out.splitlines()[-1] == "T0001"
    trace = read_trace("T0001")
    assert trace.start + trace.time == pytest.approx(TIME, abs=1e-15)
    assert trace.sensor_force == pytest.approx(FORCE * (1.0, 0.5), rel=1e-9, abs=1e-7)
    about = trace.about
    assert (about.title, about.sensor.gain) == ('Rig "2"', [0.02, 0.04])
    assert about.uncertainty.individual_errors("gain", 2) == [0.03, 0.02]
    assert [one.split(",")[0] for one in about.origin.split("; ")] == command[2:4]
    late = rows(time=0.9, force=0.02, line="{t},{b}")
    for name, lines, sentence in (
        ("late.csv", ["time [s],CH2 [V]", *late], "40 samples from -1.8e-06 to .*, but T0001CH1"),
        ("short.csv", channel(1)[:-9], r"31 samples from .*, but T0001CH1.CSV has 40"),
    ):
        Path(name).write_bytes(text(*lines))
        with pytest.raises(TraceError, match=f"{name}: the record has {sentence}"):
            import_trace(["T0001CH1.CSV", name], "other", "measured", **GAIN)
    capsys.readouterr()
    wrong = ["--set", "uncertainty.gain=[0.1,0.1,0.1]", "--out", "b"]
    sentence = "uncertainty.gain: the list has 3 numbers. It must have one number, or 2"
    assert sentence in obeyed(*command, *wrong, code=2).err
    assert not Path("b").exists() and not Path("other").exists()


def test_what_is_said_of_a_trace_is_in_its_about_file():
    said = ["who=A. Person", 'what="beads, \\"hot\\""', "uncertainty.gain=0.02"]
    brought_in(PLAIN, changes=[*said, "sensor.cutoff=4e5"])
    about = tomllib.loads(Path("folder/about.toml").read_text())
    assert (about["who"], about["what"]) == ("A. Person", 'beads, "hot"')
    assert about["uncertainty"] == {"gain": 0.02}
    assert read_about("folder").sensor.cutoff == 4e5
    assert about["origin"].startswith("record.csv, SHA-256 ")
    # the folder stays, unless it may be replaced
    with pytest.raises(FileError, match=r"trace.csv: the file already exists and was not changed"):
        brought_in(text(HEAD, *rows()[:20]))
    # the error is raised before the file of the instrument is read
    with pytest.raises(FileError, match=r"trace.csv: the file already exists and was not changed"):
        import_trace("gone.csv", "folder", "measured")
    assert len(read_trace("folder").time) == N
    assert len(brought_in(text(HEAD, *rows()[:20]), overwrite=True).time) == 20
    assert read_about("folder").who == ""


def test_a_folder_that_knows_its_experiment_keeps_what_it_says():
    about = Path("folder/about.toml")
    about.parent.mkdir()
    fact = '[[fact]]\nwhat = "beads"\nvalue = 70\n'
    about.write_text(f'title = "rig"\nkind = "measured"\n# mine\n{fact}')
    with pytest.raises(TraceError, match="--kind synthetic"):
        brought_in(PLAIN, kind="synthetic")
    brought_in(PLAIN)
    assert read_trace("folder").about.fact[0].value == 70
    # when the folder has a curve, changes are made in its file
    with pytest.raises(TraceError, match=r"--set contradicts the existing folder"):
        brought_in(PLAIN, changes=["who=B. Person"])
    # a computed trace is not declared as measured
    brought_in(PLAIN, kind="synthetic", overwrite=True, changes=[])
    about.write_text(about.read_text().replace('"synthetic"', '"measured"'))
    with pytest.raises(TraceError, match='contains the word "synthetic"'):
        read_trace("folder")


def test_an_about_file_with_mistakes_is_refused():
    Path("folder").mkdir()
    measured = b'kind = "measured"\n'
    for about, sentence in (
        (b"title = 3", r"title: 3 is not valid\. .* must be one line"),
        (
            b'kind = "real"',
            r'kind: "real" is not valid\. .* "measured", "digitised" or "synthetic"',
        ),
        (
            measured + b"[sensor]\nhigh_pass = 2e5\nlow_pass = 1e5",
            r"sensor.high_pass: 200000.0 Hz is not below the low_pass frequency 100000.0 Hz",
        ),
        (b"", r"kind: missing"),
        (b"[[[", "the text is not valid TOML"),
        (b"\xff", "the text is not UTF-8"),
        (b"a" * 2**21, "the file is too large"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (measured + b'[[table]]\nfile = "../x.csv"', r"file: \"../x.csv\" is not valid"),
    ):
        Path("folder/about.toml").write_bytes(about)
        with pytest.raises(TraceError, match=sentence):
            read_about("folder")


WHITE = Noise(0.05, np.empty(0))


def noisy(noise=0.05, offset=0.3, step=0.0, quiet=400):
    draw = np.random.default_rng(4)
    time = 1e-6 * np.arange(quiet + 200)
    force = 10.0 * np.exp(-(((time - (quiet + 100) * 1e-6) / 12e-6) ** 2)) + offset
    force += noise * draw.standard_normal(len(time))
    force = step * np.round(force / step) if step else force
    return gc.Trace(time=time, force=force, beads=3)


def test_offset_and_noise_are_found():
    trace = noisy()
    # a Gaussian of 12 us is below a millionth of its height 45 us before its peak, at sample 455
    found = baseline_of(trace.sensor_force[:450, 0], WHITE)
    assert found.value == pytest.approx(0.3, abs=4 * found.value_error) and not found.drifts
    # the mean of 450 samples; with six parts, long periods are known within a third; the larger
    # estimate is used
    assert found.value_error == pytest.approx(0.05 / math.sqrt(450), rel=0.75)
    # the larger of two estimates, from 235 and from 600 numbers: 5 % and 4 %
    assert sample_noise(trace, 0) == pytest.approx(0.05, rel=0.2)
    # without a quiet start, and with the steps of an analog-to-digital converter
    assert sample_noise(noisy(quiet=0), 0) == pytest.approx(0.05, rel=0.3)
    steps = sample_noise(noisy(noise=0.0, offset=0.0, step=0.2), 0)
    assert steps == pytest.approx(0.2 / math.sqrt(12.0))
    assert sample_noise(noisy(noise=0.0, offset=0.0), 0) < 1e-3


def test_a_disturbance_before_the_pulse_is_no_noise():
    x = np.arange(300)
    quiet = 0.05 * np.random.default_rng(6).standard_normal(300)
    found = noise_of_baseline(quiet + 4.0 * np.exp(-(((x - 60) / 6.0) ** 2)), 0.05)
    # the standard deviation of 300 numbers has an error of 4 %; a random correlation of .1 makes
    # sums 10 % larger
    assert found.sample == pytest.approx(0.05, rel=0.15)
    assert found.of_sum(np.ones(60)) < 1.5 * 0.05 * math.sqrt(60.0)


def test_a_drift_is_found_and_its_line_goes_on_with_an_uncertainty_that_grows():
    draw = np.random.default_rng(5)
    force = 2.0 + 0.003 * np.arange(400) + 0.05 * draw.standard_normal(400)
    force[100:103] += 5.0
    found = baseline_of(force, WHITE)
    assert found.drifts and found.slope == pytest.approx(0.003, abs=4 * found.slope_error)
    assert float(found.at(600)) == pytest.approx(2.0 + 0.003 * 600, abs=found.uncertainty(600))
    # least squares: sigma sqrt(12/n^3)
    assert found.slope_error == pytest.approx(0.05 * math.sqrt(12.0 / 400**3), rel=0.5)
    assert found.uncertainty(800) > 1.9 * found.uncertainty(600) > 10.0 * found.uncertainty(200)


def test_the_command_brings_a_file_in_and_says_what_it_holds(obeyed):
    Path("rig.csv").write_bytes(text("time [us],CH1 [mV],CH2 [mV]", *rows(time=1e6, force=20.0)))
    command = ["traces", "import", "rig.csv", "--kind", "measured", "--gain", "0.02"]
    facts = json.loads(obeyed(*command, "--beads", "3,8", "--json").out)
    assert facts["folder"] == "rig" and facts["samples"] == N and facts["sensor_bead"] == [3, 8]
    assert facts["interval"] == pytest.approx(0.5e-6)
    assert sorted(path.name for path in Path("rig").iterdir()) == ["about.toml", "trace.csv"]
    told = obeyed(*command, "--beads", "3,-", "--out", "one").out.splitlines()
    assert told[0] == "rig: measured, 40 samples, sampling interval 5e-07 s"
    assert told[2].split()[:3] == ["3", "20.0000", "5.50000"]
    assert told[-1] == "one"


def test_the_command_refuses_what_is_wrong_with_its_exit_code(obeyed):
    Path("rig.csv").write_bytes(PLAIN)
    for options, code, sentence in refused("command of traces"):
        assert sentence in obeyed("traces", "import", "rig.csv", *options, code=code).err


def test_every_folder_of_traces_in_the_project_is_whole():
    # folders of measured impacts have other tests
    folders = sorted(
        path.parent
        for path in (ROOT / "data").glob("*/about.toml")
        if not (path.parent / "impacts.csv").exists()
    )
    assert len(folders) >= 2
    for folder in folders:
        about = read_about(folder)
        for table in about.table:
            assert (folder / table.file).exists() and table.source
        assert all(fact.source for fact in about.fact)
        if (folder / "trace.csv").exists():
            assert len(read_trace(folder).time) > 100


def test_the_synthetic_trace_is_what_its_script_makes_and_says_that_it_is_no_experiment():
    folder = ROOT / "data" / "synthetic2026"
    trace = read_trace(folder)
    assert trace.synthetic and trace.about.title.startswith("Synthetic")
    assert (folder / "trace.csv").read_text().startswith("# synthetic data")
    source = ROOT / "docs" / "examples" / "synthetic-oscilloscope.csv"
    assert "SYNTHETIC" in source.read_text().splitlines()[0]
    again = import_trace(source, "again", "synthetic", gain=0.02)
    assert again.sensor_force == pytest.approx(trace.sensor_force, rel=0, abs=1e-9)
    with pytest.raises(TraceError, match="--kind synthetic"):
        import_trace(source, "passed-off", "measured", gain=0.02)
    names = runpy.run_path(str(folder / "make_trace.py"))
    Path("synthetic.csv").write_text(names["oscilloscope_file"]())
    made = import_trace("synthetic.csv", "made", "synthetic", gain=0.02)
    assert made.time == pytest.approx(trace.time, abs=1e-15)
    # at most one step of the converter, if the values are rounded in opposite directions
    off = np.abs(made.sensor_force - trace.sensor_force)
    assert off.max() < 1.01 * names["STEP"] / 0.02 and (off > 1e-9).mean() < 0.01
