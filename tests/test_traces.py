"""Files of measured forces come out as the right numbers or a sentence, never as nan."""

import io
import json
import math
import re
import runpy
import sys
import time
import tomllib
import zipfile
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refused import refused

from granchain.cli import obey
from granchain.errors import FileError, TraceError
from granchain.measured import Asked, import_trace, read_about, read_trace
from granchain.measured.baseline import baseline_of, noise_by, noise_of
from granchain.measured.noise import Noise
from granchain.measured.text import text_columns

pytestmark = pytest.mark.usefixtures("here")
ROOT = Path(__file__).parents[1]

# Every good file of the corpus: 40 samples of two sensors, each 0.5 us, values of few digits.
N = 40
TIME = 0.5e-6 * np.arange(N) - 2e-6
PULSE = np.round(20.0 * np.exp(-(((np.arange(N) - 15) / 4.0) ** 2)), 2)
FORCE = np.column_stack([PULSE, np.round(np.linspace(0.0, 3.9, N), 1)])
TABLE = np.column_stack([TIME, FORCE])


def rows(separator=",", decimal=".", time=1.0, force=1.0, line="{t}{s}{a}{s}{b}"):
    """The numbers as text, in units of their own."""
    found = []
    for numbers in TABLE * (time, force, force):
        t, a, b = (f"{number:.10g}".replace(".", decimal) for number in numbers)
        found.append(line.format(s=separator, t=t, a=a, b=b))
    return found


def text(*lines, encoding="utf-8", end="\n"):
    return (end.join(lines) + end).encode(encoding)


def kept(save, *arrays, **named):
    """What a library writes into a file."""
    stream = io.BytesIO()
    save(stream, *arrays, **named)
    return stream.getvalue()


npy, npz = partial(kept, np.save), partial(kept, np.savez_compressed)


def mat(**variables):
    return kept(scipy.io.savemat, variables)


def xlsx(*sheet, more=()):
    """A sheet, and another one, which may be empty."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is an optional package")
    book = openpyxl.Workbook()
    for row in sheet:
        book.active.append(row)
    other = book.create_sheet("more")
    for row in more:
        other.append(row)
    return kept(lambda stream: book.save(stream))


def hdf5(fill, userblock=0):
    with h5py.File("made.h5", "w", userblock_size=userblock) as file:
        fill(file)
    return Path("made.h5").read_bytes()


def plain_hdf5(file):
    for name, unit, values in zip(("time", "bead 3", "bead 8"), "sNN", TABLE.T, strict=True):
        file[f"record/{name}"] = values
        file[f"record/{name}"].attrs["units"] = unit


def matlab_73():
    """As MATLAB 7.3 writes it: HDF5 behind 512 bytes of its own, axes turned round."""
    content = hdf5(lambda file: file.update({"t": TIME[np.newaxis], "force": FORCE.T}), 512)
    return b"MATLAB 7.3 MAT-file, Plat" + content[25:]


def packed_netcdf(file):
    """As netCDF packs (its Users Guide): value = stored scale_factor + add_offset."""
    file["time"] = TIME
    file["time"].attrs["units"] = "s"
    for name, force in zip(("bead 3", "bead 8"), FORCE.T, strict=True):
        # 1 mN a step and an offset of 5 N hold what the corpus prints, to 0.01 N and 0.1 N.
        file[name] = np.round((force - 5.0) / 0.001).astype("<i2")
        packing = {"scale_factor": np.float64(0.001), "add_offset": 5.0}
        file[name].attrs.update({"units": "N", "_FillValue": np.int16(-32768), **packing})


def filled_netcdf(file):
    packed_netcdf(file)
    file["bead 8"][7] = -32768


def never_written(file):
    plain_hdf5(file)
    # NC_FILL_DOUBLE of netcdf.h
    file["record/bead 8"][7] = 9.9692099683868690e36


def linked(file):
    plain_hdf5(file)
    file["record/bead 9"] = h5py.ExternalLink("/etc/passwd", "x")


def fields(lines, *more):
    """Columns in front of the first lines, as old oscilloscopes put their preamble."""
    first = [*more, *[("", "")] * len(lines)]
    return [",".join([*key, "", line, ""]) for key, line in zip(first, lines, strict=False)]


HEAD = "time [s],bead 3 [N],bead 8 [N]"
PLAIN = text(HEAD, *rows())
NAMED = Asked(beads=(3, 8))
SI = Asked(beads=(3, 8), time_unit="s", force_unit="N")
GAIN = Asked(beads=(3, 8), gain=0.02)
TEKTRONIX = [("Record Length", "40"), ("Sample Interval", "5e-07"), ("Vertical Units", '"V"')]
TEKTRONIX += [("Horizontal Units", '"s"')]
TDS = [("Record Length", "4.000000e+01"), ("Sample Interval", "5.000000e-07")]
TDS += [("Trigger Point", "4.000000000000e+00"), ("", "")]
TDS_UNITS = [("Vertical Units", "V"), ("Vertical Scale", "5.000000e-02")]
TDS_UNITS += [("Horizontal Units", "S"), ("Pt Fmt", "Y"), ("Model Number", "TDS2024B")]


def channel(k):
    """A channel as a Tektronix TDS writes it: key, value, nothing, time, volts."""
    source = ("Source", f"CH{k + 1}")
    return fields(rows(force=0.02, line=("{t},{a}", "{t},{b}")[k]), *TDS, source, *TDS_UNITS)


# What is in a file, and what its owner says of it, where it is more than 50 N a volt.
GOOD = {
    "as written here": (PLAIN, None),
    "decimal comma, units in a line of their own, micro sign of Windows": text(
        *("Zeit;Kanal A;Kanal B", "(µs);(mV);(mV)", ""),
        *rows(";", ",", time=1e6, force=20.0),
        encoding="cp1252",
    ),
    "no times, a column too much": (
        text(*(f"{i} {a} {b}" for i, (a, b) in enumerate(FORCE))),
        Asked(beads=(None, 3, 8), interval=0.5e-6, force_unit="N"),
    ),
    "uneven, put on a grid": (
        text(HEAD, *(f"{t}e-6,{t},{2 * t}" for t in [0.0, 0.3, 1.1, *range(2, 9)])),
        Asked(resample=0.5e-6),
    ),
    "npy with samples along the second axis": (npy(TABLE.T), SI),
    "npz": (
        npz(bead_3=FORCE[:, 0], time=TIME, bead_8=FORCE[:, 1]),
        Asked(time_unit="s", force_unit="N"),
    ),
    "MATLAB 5": (mat(t=TIME, force=FORCE), SI),
    "MATLAB 7.3": (matlab_73, SI),
    "MATLAB with names of its own": (
        mat(piezo_A=FORCE[:, :1], tEns=TIME[:, None], B=FORCE[:, 1:], fs=2e6, note="x"),
        Asked(beads=(3, 8), time="tEns", time_unit="s", force_unit="N"),
    ),
    "Excel with headings": (
        lambda: xlsx(
            ["of a Tuesday"],
            ["Time (us)", "bead 3 (kN)", "bead 8 (N)"],
            *(TABLE * (1e6, 1e-3, 1.0)).tolist(),
        ),
        None,
    ),
    "a gain for each sensor": (
        text("t [s],a [V],b [V],c [V]", *(f"{t},{0.5 * a},{a},{b}" for t, a, b in TABLE)),
        Asked(beads=(3, None, 8), gain=(0.5, 1.0)),
    ),
    "Excel: one sheet of two": (
        lambda: xlsx(*FORCE.tolist(), more=[HEAD.split(","), *TABLE.tolist()]),
        Asked(sheet="more"),
    ),
    "HDF5 with units": (lambda: hdf5(plain_hdf5), None),
    "HDF5 with a link to another file, which is not followed": (lambda: hdf5(linked), None),
    "netCDF, packed": (lambda: hdf5(packed_netcdf), None),
    "PicoScope, MATLAB: start, interval and length": (
        mat(
            **{"Tstart": -2e-6, "Tinterval": 0.5e-6, "Length": 40, "ExtraSamples": 0},
            **{"A": 0.02 * FORCE[:, :1], "B": 0.02 * FORCE[:, 1:]},
        ),
        Asked(beads=(3, 8), force_unit="V", gain=0.02),
    ),
    "a sensor with another number than its bead": (
        text("time [s],Sensor 1 (bead 3) [N],Sensor 2 (bead 8) [N]", *rows()),
        None,
    ),
}
# As the manuals of instruments print them, or as files that others publish show them: 50 N a volt.
INSTRUMENTS = Path(__file__).parent / "support" / "instruments"
OTHERWISE = {
    "yokogawa-resolution-and-offset-of-the-time": Asked(gain=0.02),
    "lecroy-two-channels-below-two-headings": Asked((3, 8), "s", "V", 0.02),
}
GOOD |= {
    path.stem: (path.read_bytes, OTHERWISE.get(path.stem, GAIN))
    for path in sorted(INSTRUMENTS.glob("*.csv"))
}


def brought_in(content, asked=None, name="record.csv", kind="measured", **more):
    Path(name).write_bytes(content() if callable(content) else content)
    return import_trace(name, "folder", kind, asked, **more)


def test_times_printed_to_few_digits_are_put_on_the_even_grid_that_explains_them():
    time = 1.0 + 1.01 * TIME
    printed = [f"{t:.8f},{a},{b}" for t, (a, b) in zip(time, FORCE, strict=True)]
    trace = brought_in(text(HEAD, *printed))
    assert "times are rounded to 1e-08 s" in trace.notes[0]
    # half a digit each at both ends of the line that fits
    assert np.diff(trace.time) == pytest.approx(0.505e-6, abs=1e-8 / (N - 1))
    assert trace.time == pytest.approx(time, abs=1e-8)
    # one sample two digits late is no rounding; digits of a fifth of the step hide the clock
    late = [f"{t + (2e-8 if i == 20 else 0.0):.8f},0,0" for i, t in enumerate(time)]
    for rows_of in (late, [f"{t:.7f},0,0" for t in time]):
        with pytest.raises(TraceError, match="time: the step"):
            brought_in(text(HEAD, *rows_of), name="other.csv", overwrite=True)


@pytest.mark.parametrize("name", GOOD)
def test_a_clean_file_comes_in_with_the_right_numbers(name):
    content, asked = GOOD[name] if isinstance(GOOD[name], tuple) else (GOOD[name], GAIN)
    trace = brought_in(content, asked)
    time, force = TIME, FORCE
    if name == "no times, a column too much":
        time = 0.5e-6 * np.arange(N)
    elif name == "uneven, put on a grid":
        time = 0.5e-6 * np.arange(17)
        force = np.column_stack([1e6 * time, 2e6 * time])
        assert "10 samples were resampled" in trace.notes[0]
    assert trace.time == pytest.approx(time, rel=1e-9, abs=1e-15)
    assert trace.sensor_force == pytest.approx(force, rel=1e-9, abs=1e-12)
    again = read_trace("folder")
    assert again.time == pytest.approx(trace.time, rel=1e-11, abs=1e-20)
    assert again.sensor_force == pytest.approx(trace.sensor_force, rel=1e-11, abs=1e-20)
    assert trace.sensor_bead.tolist() == again.sensor_bead.tolist() == [3, 8]
    assert again.about.kind == "measured"


def changed(line, new):
    """The plain file with one line of numbers replaced; line 2 is the first of them."""
    lines = [HEAD, *rows()]
    lines[line - 1] = new
    return text(*lines)


def thousands(t):
    """A whole number of a spreadsheet with points for thousands."""
    return f"{t:,.0f}".replace(",", ".")


def virtual(file):
    layout = h5py.VirtualLayout(shape=(N,), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(N,))
    file["time"] = TIME
    file.create_virtual_dataset("bead 3", layout)


def with_bead_3(*shape, **more):
    """HDF5 with times and an empty array of forces."""

    def fill(file):
        file["time"] = TIME
        file.create_dataset("bead 3", *shape, **more)

    return lambda: hdf5(fill)


class Harm:
    """What a pickle would do."""

    def __reduce__(self):
        return (Path("harm").touch, ())


ONE = rows(line="{t},{a}")
NO_NPY = r"not a valid .npy file"
NOT_FINITE = r"bead 8: not a finite number at sample 8"
ELSEWHERE = r"the data of 'bead 3' are in another file"
BAD = [
    (
        changed(10, "5e-7,NaN,1"),
        r'record.csv: line 10: column 2: "NaN" is not a number. It must be a number',
    ),
    (changed(10, "5e-7,1e999,1"), r"bead 3: not a finite number at sample 9"),
    (text(HEAD, *rows(), "1.8e-5,0."), r"line 42: only 2 of 3 numbers"),
    (changed(10, "2e-06,1,1,7"), r'line 10: "7" is in a column that is empty in the other rows'),
    (text(HEAD, *rows()[:1]), r"trace: only 1 samples. At least 8 are required"),
    (text(HEAD, *rows(), *rows()), r"time: -2e-06 s at sample 41 follows 1.75e-05 s"),
    (
        changed(10, "2.0015e-06,0,0"),
        r"time: the step after sample 8 is 5.015e-07 s, but the mean is 5e-07 s. .* "
        r"0.001 of it. .* --resample 5e-07",
    ),
    # three digits of the mean are .05 % of a speed off
    (
        text(HEAD, *(f"{i * 5.01234e-07 + (i == 9) * 1e-9:.12e},0,0" for i in range(N))),
        r"mean is 5\.01234e-07 s. .* --resample "
        r"5\.01234e-07. .* --interval 5\.01234e-07 and --beads",
    ),
    (
        text("time [min],bead 3 [N],bead 8 [N]", *rows()),
        r'the unit "min" is unknown. It must be one of s, .* --time-unit us',
    ),
    (
        text("time,bead 3,bead 8", *rows()),
        r'"time": the unit is missing.*\n.*"bead 3": the unit is missing.* --force-unit N',
    ),
    (text("time [s],bead 3 [V]", *ONE), r'"bead 3 \[V\]": the values are in V. .* --gain 0.02'),
    (
        text("time [s],CH1 [N],CH2 [N]", *rows()),
        r'2 force columns \("CH1 \[N\]", .* --beads 9,16',
    ),
    (
        PLAIN,
        Asked(beads=(3, 3)),
        r"sensor beads: \[3, 3\] is not valid. Labels must be different whole numbers",
    ),
    (
        text("Zeit,Kraft", *(f"0,{i:06d},{i},5" for i in range(20))),
        NAMED,
        r"line 2: commas can be column separators or decimal commas",
    ),
    (
        text(*rows(line="{a}")),
        SI,
        r"the file has only one column. .* --interval 1e-6",
    ),
    (
        text("TIME [s],CH1 [N],,TIME [s],CH2 [N]", *rows(line="{t},{a},,{b},{a}")),
        NAMED,
        r"2 time columns found",
    ),
    (
        text(*fields(["0,0,saturated,0", *rows(line="{t},{a},,{b}")[1:]], *TEKTRONIX)),
        GAIN,
        r'line 1: "saturated" is in a column that is empty in the other rows',
    ),
    (b"", r"no row of numbers found"),
    (b"# simulated with X\n" + PLAIN, r'contains the word "simulat". .* --kind synthetic'),
    (npy(np.array([Harm()] * 9), allow_pickle=True), SI, NO_NPY),
    (npy(np.zeros(4)).replace(b"(4,)", b"(9" + b"9" * 15 + b",)", 1), SI, NO_NPY),
    (lambda: hdf5(plain_hdf5)[:1500], r"cannot be read as HDF5"),
    (lambda: hdf5(virtual), SI, ELSEWHERE),
    (with_bead_3((N,), "f8", external=[("other.bin", 0, 8 * N)]), SI, ELSEWHERE),
    (with_bead_3((2**40,), "f8", chunks=(1024,)), SI, r"declares 8796093022[0-9]* bytes of data"),
    (mat(t=TIME, force=FORCE)[:300], SI, r"not a valid MATLAB file"),
    (text("time [s],Bead -3 [N]", *ONE), r'"Bead -3 \[N\]"\) without bead labels.* --beads 9'),
    (
        text("Zeit [us];bead 3 [mN]", *(f"{i};{thousands(50 * i)}" for i in range(2, 40))),
        r'line 20: "1.000" can mean 1000 or 1.000. .* --decimal point for 1.000, or --decimal '
        r"comma for 1000",
    ),
    (
        text("time [s],bead 3 (x10 N)", *ONE),
        r'"x10" in the heading may be a factor. .* --force-unit N if .* --force-unit "10 N"',
    ),
    (
        text("CH1V,CH2V", *rows(line="{a},{b}")),
        NAMED,
        r'If "CH1V" contains times, .* --time-unit us. .* --time HEADING. .* --interval 1e-6',
    ),
    (
        b"Vertical Units,V,\n" + PLAIN,
        r'"bead 3 \[N\]": the unit is N, but the lines above specify "V"',
    ),
    (
        text("Horizontal Units,us", "Second,Newton", *ONE),
        NAMED,
        r'"column 1": the unit is Second, but the lines above specify "us"',
    ),
    (
        text("Sample Interval,5e-07", "Horizontal Units,s", "time [us],bead 3 [N]", *ONE),
        r"the times are 5e-13 s apart, but line 1: 5e-07 specifies 5e-07 s",
    ),
    (
        text(
            *("Vertical Units,V", "Sampling Period,5e-7", "Mode,Fast"),
            *(f"{i}," for i in range(-5, 40)),
        ),
        Asked(beads=(3,), gain=1.0),
        r"line 3: the data were saved in mode Fast, which contains counts of the converter",
    ),
    (lambda: hdf5(filled_netcdf), NOT_FINITE),
    (lambda: hdf5(never_written), NOT_FINITE),
    (
        lambda: hdf5(
            lambda file: file.update(
                {"first/time": TIME, "first/bead 3": PULSE, "second/bead 8": TIME}
            )
        ),
        SI,
        r'"second/bead 8" is not in the same group as the only time array',
    ),
    (
        mat(scope={"t": TIME, "a": FORCE}),
        SI,
        r"no array of numbers found \(other contents: "
        r'"scope" \(struct\)\). .* save\("record.mat", "-struct"',
    ),
    (
        mat(time=TIME, b=FORCE),
        Asked(time="zeit"),
        r'--time: array "zeit" not found. It must be one of "time", "b"',
    ),
    (
        lambda: xlsx(*FORCE.tolist(), more=FORCE.tolist()),
        SI,
        r'2 sheets have 8 or more rows of numbers \("Sheet", "more"\)',
    ),
    (
        lambda: xlsx(*FORCE.tolist()),
        Asked(sheet="mor"),
        r'--sheet: "mor" is not a sheet of the workbook. It must be one of "Sheet", "more"',
    ),
    (
        lambda: xlsx(*(["=1+1", "=2+2"] for _ in TIME)),
        SI,
        r"0 sheets .* save the workbook in a spreadsheet program",
    ),
    (
        lambda: xlsx(*([t, f"{a:.2f}".replace(".", ",")] for t, a, _ in TABLE.tolist())),
        SI,
        r'"Sheet": "0,00" is text, but other cells are numbers. .* --decimal comma',
    ),
    (b"TDSm" + bytes(50), SI, r"npTDMS|not a valid TDMS file"),
]


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("row", BAD, ids=[row[-1] for row in BAD])
def test_a_file_that_is_no_clean_trace_is_refused_in_a_sentence(row, here):
    content, *asked, sentence = row
    with pytest.raises((TraceError, FileError), match="(?s)" + sentence) as error:
        brought_in(content, *asked)
    assert str(error.value).startswith("record.csv")
    assert not (here / "folder").exists() and not (here / "harm").exists()


# Bytes that mean something in a text file.
SIGNS = [*(bytes([sign]) for sign in b',;\n-.e9"\0\xb5 \t'), b"", b"nan"]


# A tenth of a second each, most of it for the deadline of hypothesis.
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_change_of_a_text_file_ends_in_anything_but_numbers_or_a_sentence(data):
    content = bytearray(text("Model,X", HEAD, *rows()[:12]))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        sign = data.draw(st.sampled_from(SIGNS))
        content[place : place + data.draw(st.integers(0, 3))] = sign
    try:
        columns = text_columns(bytes(content), "record.csv").columns
    except TraceError as error:
        assert ". " in str(error) and str(error).endswith((".", "?"))
        return
    assert len({len(column.values) for column in columns}) == 1
    assert not any(np.isnan(column.values).any() for column in columns)


@pytest.mark.parametrize(
    "content",
    [
        npy(TABLE),
        npz(time=TIME, bead_3=PULSE),
        mat(t=TIME, force=FORCE),
        lambda: hdf5(plain_hdf5),
        lambda: xlsx(*TABLE.tolist()),
    ],
    ids=["npy", "npz", "mat", "h5", "xlsx"],
)
def test_no_flipped_bits_of_a_binary_file_end_in_anything_but_numbers_or_a_sentence(
    content, request
):
    draw = np.random.default_rng(5)
    whole = content() if callable(content) else content
    # HDF5 is read in a process of its own, half a second each.
    for _ in range(3 if "h5" in request.node.name else 60):
        damaged = bytearray(whole)
        for place in draw.integers(0, len(whole), 3):
            damaged[place] ^= 1 << int(draw.integers(8))
        try:
            trace = brought_in(bytes(damaged), SI, overwrite=True)
        except (TraceError, FileError) as error:
            assert "record.csv" in str(error)
        else:
            assert np.isfinite(trace.sensor_force).all()


# --- TDMS, with the optional package and without


def test_without_its_package_a_file_is_refused_with_what_to_install(monkeypatch):
    workbook = xlsx([1, 2])
    for module, content, what in (
        ("nptdms", b"TDSm" + bytes(100), "a TDMS file"),
        ("openpyxl", workbook, "an Excel workbook"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(FileError, match=f'record: {what} requires .* "granchain\\[traces\\]"'):
            brought_in(content, name="record")


@pytest.mark.parametrize("clock", ["increment", "channel"])
def test_a_tdms_file_comes_in_with_the_right_numbers(clock):
    nptdms = pytest.importorskip("nptdms", reason="npTDMS is an optional package")
    wave = {"wf_increment": 0.5e-6, "wf_start_offset": -2e-6} if clock == "increment" else {}
    named = [("Time", "s", TIME)] if clock == "channel" else []
    named += [("bead 3", "V", 0.02 * FORCE[:, 0]), ("bead 8", "V", 0.02 * FORCE[:, 1])]
    with nptdms.TdmsWriter("made.tdms") as writer:
        writer.write_segment(
            [
                nptdms.ChannelObject("rig", name, values, properties={"unit_string": unit, **wave})
                for name, unit, values in named
            ]
        )
    whole = Path("made.tdms").read_bytes()
    trace = brought_in(whole, Asked(gain=0.02))
    assert trace.time == pytest.approx(TIME, rel=1e-9, abs=1e-15)
    assert trace.sensor_force == pytest.approx(FORCE, rel=1e-9, abs=1e-12)
    damaged = r"not a valid TDMS file|0 time arrays found"
    with pytest.raises((FileError, TraceError), match=damaged):
        brought_in(whole[:150], Asked(gain=0.02), overwrite=True)


# --- Several files


def test_files_of_one_clock_make_one_trace_with_what_is_each_sensors_own(obeyed, capsys):
    def refused(*more):
        return obeyed(*command, *more, "--out", "b", code=2).err

    for k in (0, 1):
        Path(f"T0001CH{k + 1}.CSV").write_bytes(text(*channel(k)))
    command = ["traces", "import", "T0001CH1.CSV", "T0001CH2.CSV", "--kind", "measured"]
    command += ["--beads", "3,8", "--gain", "0.02,0.04"]
    constant = [*command, "--time-constant", "1e-3"]
    said = ["--title", 'Rig "2"', "--set", "uncertainty.gain=[0.03,0.02]"]
    assert obeyed(*constant, *said).out.splitlines()[-1] == "T0001"
    trace = read_trace("T0001")
    assert trace.time == pytest.approx(TIME, abs=1e-15)
    assert trace.sensor_force == pytest.approx(FORCE * (1.0, 0.5), rel=1e-9, abs=1e-7)
    about = trace.about
    assert (about.title, about.sensor.gain) == ('Rig "2"', [0.02, 0.04])
    assert about.uncertainty.own("gain", 2) == [0.03, 0.02]
    # of a resistor and a capacitor: 159.15 Hz for 1 ms
    assert about.sensor.high_pass == pytest.approx(159.154943, rel=1e-8)
    assert about.sensor.filter_order == 1
    assert [one.split(",")[0] for one in about.origin.split("; ")] == command[2:4]
    late = rows(time=0.9, force=0.02, line="{t},{b}")
    for name, lines, sentence in (
        ("late.csv", ["time [s],CH2 [V]", *late], r"sample 1 is at -1.8e-06 s, but in T0001"),
        ("short.csv", channel(1)[:-9], r"the record has 31 samples, but T0001CH1.CSV has 40"),
    ):
        Path(name).write_bytes(text(*lines))
        with pytest.raises(TraceError, match=f"{name}: {sentence}"):
            import_trace(["T0001CH1.CSV", name], "other", "measured", GAIN)
    each = ["--time-constant", "1e-3,5e-4"]
    assert obey([*command, *each, "--out", "each"]) == 0
    corners = read_trace("each").about.sensor.high_pass
    assert corners == pytest.approx([159.154943, 318.309886], rel=1e-8)
    capsys.readouterr()
    for more, sentence in (
        (
            [*each, "--set", "sensor.filter_order=2"],
            "--time-constant: 1 for sensor.filter_order contradicts the value 2 set elsewhere",
        ),
        (
            ["--time-constant", "1e-3,1e-3,1e-3"],
            "--time-constant: 3 numbers for 2 sensors. One number for all",
        ),
        (
            ["--time-constant", "1e-3,0"],
            '--time-constant: "0" is not valid. It must be a number greater than 0 [s], or one',
        ),
        (
            ["--set", "uncertainty.gain=[0.1,0.1,0.1]"],
            "uncertainty.gain: the list has 3 numbers. It must have one number, or 2",
        ),
    ):
        assert sentence in refused(*more)
    assert not Path("b").exists() and not Path("other").exists()


# --- The folder


def test_what_is_said_of_a_trace_is_in_its_about_file():
    said = ["who=A. Person", 'what="beads, \\"hot\\""', "uncertainty.gain=0.02"]
    brought_in(PLAIN, changes=[*said, "sensor.cutoff=4e5"])
    about = tomllib.loads(Path("folder/about.toml").read_text())
    assert (about["who"], about["what"]) == ("A. Person", 'beads, "hot"')
    assert about["uncertainty"] == {"gain": 0.02}
    assert read_about("folder").sensor.cutoff == 4e5
    assert about["origin"].startswith("record.csv, SHA-256 ")
    # it is kept, unless it may be replaced
    with pytest.raises(FileError, match=r"trace.csv: the file already exists and was not changed"):
        brought_in(text(HEAD, *rows()[:20]))
    # before the file of the instrument is read
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
    # once the curve is there, it is changed in the file itself
    with pytest.raises(TraceError, match=r"--set contradicts the existing folder"):
        brought_in(PLAIN, changes=["who=B. Person"])
    # and a computed one is not passed off as measured
    brought_in(PLAIN, kind="synthetic", overwrite=True, changes=[])
    about.write_text(about.read_text().replace('"synthetic"', '"measured"'))
    with pytest.raises(TraceError, match='contains the word "synthetic"'):
        read_trace("folder")


def test_an_about_file_with_mistakes_is_refused():
    Path("folder").mkdir()
    measured = b'kind = "measured"\n'
    for about, sentence in (
        (b"title = 3", r"title: 3 is out of range\. .* must be one line"),
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


# --- Offset and noise

WHITE = Noise(0.05, np.empty(0))


def noisy(noise=0.05, offset=0.3, step=0.0, quiet=400):
    draw = np.random.default_rng(4)
    time = 1e-6 * np.arange(quiet + 200)
    force = 10.0 * np.exp(-(((time - (quiet + 100) * 1e-6) / 12e-6) ** 2)) + offset
    force += noise * draw.standard_normal(len(time))
    force = step * np.round(force / step) if step else force
    asked = Asked(beads=(3,), time_unit="s", force_unit="N")
    return brought_in(npy(np.column_stack([time, force])), asked, overwrite=True)


def test_offset_and_noise_are_found():
    trace = noisy()
    # a Gaussian of 12 us is below a millionth of its height 45 us before its peak, at sample 455
    found = baseline_of(trace.sensor_force[:450, 0], WHITE)
    assert found.value == pytest.approx(0.3, abs=4 * found.value_error) and not found.drifts
    # the mean of 450 samples; six parts tell long periods to a third; the larger counts
    assert found.value_error == pytest.approx(0.05 / math.sqrt(450), rel=0.75)
    # the larger of two estimates, of 235 and of 600 numbers: 5 % and 4 % each
    assert noise_of(trace, 0) == pytest.approx(0.05, rel=0.2)
    # without a quiet start, and of the steps of a converter
    assert noise_of(noisy(quiet=0), 0) == pytest.approx(0.05, rel=0.3)
    steps = noise_of(noisy(noise=0.0, offset=0.0, step=0.2), 0)
    assert steps == pytest.approx(0.2 / math.sqrt(12.0))
    assert noise_of(noisy(noise=0.0, offset=0.0), 0) < 1e-3


def test_a_disturbance_before_the_pulse_is_no_noise():
    x = np.arange(300)
    quiet = 0.05 * np.random.default_rng(6).standard_normal(300)
    found = noise_by(quiet + 4.0 * np.exp(-(((x - 60) / 6.0) ** 2)), 0.05)
    # a spread of 300 is known to 4 %; a chance correlation of .1 makes sums 10 % larger
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


# --- The command, and the folders of the project


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
    # those of measured impacts have tests of their own
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
    again = import_trace(source, "again", "synthetic", Asked(gain=0.02))
    assert again.sensor_force == pytest.approx(trace.sensor_force, rel=0, abs=1e-9)
    with pytest.raises(TraceError, match="--kind synthetic"):
        import_trace(source, "passed-off", "measured", Asked(gain=0.02))
    names = runpy.run_path(str(folder / "make_trace.py"))
    Path("synthetic.csv").write_text(names["oscilloscope_file"]())
    made = import_trace("synthetic.csv", "made", "synthetic", Asked(gain=0.02))
    assert made.time == pytest.approx(trace.time, abs=1e-15)
    # at most one step of the converter, where rounding falls the other way
    off = np.abs(made.sensor_force - trace.sensor_force)
    assert off.max() < 1.01 * names["STEP"] / 0.02 and (off > 1e-9).mean() < 0.01


@pytest.mark.parametrize("cell", ["A999999999", "A1048576", "XFD400"])
def test_a_workbook_with_a_far_cell_is_refused_at_once(cell, tmp_path):
    # a few kB that a reader pads with up to a thousand million rows
    content, changed = io.BytesIO(xlsx(*FORCE.tolist())), io.BytesIO()
    number = cell.lstrip("AXFD")
    far = f'<row r="{number}"><c r="{cell}"><v>1</v></c></row></sheetData>'.encode()
    with zipfile.ZipFile(content) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            part = re.sub(rb"<dimension[^>]*/>", b"", source.read(name))
            target.writestr(name, part.replace(b"</sheetData>", far))
    (tmp_path / "far.xlsx").write_bytes(changed.getvalue())
    begun = time.process_time()
    refusal = r"has more rows and cells|more than 16384 characters"
    with pytest.raises((FileError, TraceError), match=refusal):
        import_trace([str(tmp_path / "far.xlsx")], tmp_path / "rig", "synthetic")
    assert time.process_time() - begun < 10.0
