"""Files of measured forces: awkward ones come out as the right numbers or as a sentence, never
as a silent nan."""

import io
import json
import math
import sys
import tomllib
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from granchain.analysis.baseline import baseline_of, noise_by, noise_of
from granchain.analysis.noise import Noise
from granchain.cli import obey
from granchain.errors import FileError, TraceError
from granchain.traces import Asked, import_trace, read_about, read_trace
from granchain.traces.text import text_columns

ROOT = Path(__file__).parents[1]

# What every good file of the corpus holds: 40 samples of two sensors, one every 0.5 us, values of
# few digits so that text keeps them.
N = 40
TIME = 0.5e-6 * np.arange(N) - 2e-6
FORCE = np.column_stack(
    [
        np.round(20.0 * np.exp(-(((np.arange(N) - 15) / 4.0) ** 2)), 2),
        np.round(np.linspace(0.0, 3.9, N), 1),
    ]
)


def white(size):
    return Noise(size, np.empty(0))


def rows(separator=",", decimal=".", time=1.0, force=1.0, line="{t}{s}{a}{s}{b}"):
    """The numbers as text, in units of their own."""
    lines = []
    for t, (a, b) in zip(time * TIME, force * FORCE, strict=True):
        cells = {"t": f"{t:.10g}", "a": f"{a:.10g}", "b": f"{b:.10g}"}
        lines.append(
            line.format(
                s=separator, **{name: cell.replace(".", decimal) for name, cell in cells.items()}
            )
        )
    return lines


def text(*lines, encoding="utf-8", end="\n"):
    return (end.join(lines) + end).encode(encoding)


def npy(array, **more):
    stream = io.BytesIO()
    np.save(stream, array, **more)
    return stream.getvalue()


def npz(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


HEADINGS = ["time [s]", "bead 3 [N]", "bead 8 [N]"]


def mat(**variables):
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables)
    return stream.getvalue()


def xlsx(*rows, more=()):
    """A sheet, and perhaps another one."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is an optional package")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    if more:
        other = book.create_sheet("more")
        for row in more:
            other.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def hdf5(fill, userblock=0):
    with h5py.File("made.h5", "w", userblock_size=userblock) as file:
        fill(file)
    return Path("made.h5").read_bytes()


def plain_hdf5(file):
    file["record/time"], file["record/bead 3"], file["record/bead 8"] = (
        TIME,
        FORCE[:, 0],
        FORCE[:, 1],
    )
    for name, unit in (("time", "s"), ("bead 3", "N"), ("bead 8", "N")):
        file[f"record/{name}"].attrs["units"] = unit


def matlab_73():
    """As MATLAB 7.3 writes it: HDF5 behind 512 bytes of its own, arrays with their axes turned
    round."""

    def fill(file):
        file["t"], file["force"] = TIME[np.newaxis], FORCE.T

    content = bytearray(hdf5(fill, userblock=512))
    content[:25] = b"MATLAB 7.3 MAT-file, Plat"
    return bytes(content)


def packed_netcdf(file, **more):
    """As netCDF packs numbers (Attribute Conventions, NetCDF Users Guide): value = stored
    scale_factor + add_offset."""
    file["time"] = TIME
    file["time"].attrs["units"] = "s"
    for k, name in enumerate(("bead 3", "bead 8")):
        # 1 mN a step and an offset of 5 N hold what the corpus prints, to 0.01 N and 0.1 N.
        file[name] = np.round((FORCE[:, k] - 5.0) / 0.001).astype("<i2")
        attributes = {
            "units": "N",
            "scale_factor": np.float64(0.001),
            "add_offset": 5.0,
            "_FillValue": np.int16(-32768),
            **more,
        }
        file[name].attrs.update(attributes)


def filled_netcdf(file):
    packed_netcdf(file)
    file["bead 8"][7] = -32768


def never_written(file):
    plain_hdf5(file)
    # NC_FILL_DOUBLE of netcdf.h
    file["record/bead 8"][7] = 9.9692099683868690e36


def two_groups(file):
    for group, names in (("first", ("time", "bead 3")), ("second", ("bead 8",))):
        for name, values in zip(names, (TIME, FORCE[:, 0]), strict=False):
            file[f"{group}/{name}"] = values


def fields(lines, *more):
    """Columns in front of the first lines, as old oscilloscopes put their preamble."""
    return [
        ",".join([*(more[i] if i < len(more) else ("", "")), "", line, ""])
        for i, line in enumerate(lines)
    ]


def german(t):
    """A whole number of a spreadsheet with points for thousands."""
    return f"{t:,.0f}".replace(",", ".")


def side_by_side(line):
    """A line of a preamble that a Tektronix MDO3000 repeats for its second channel."""
    return f"{line},,{line}"


HEAD = "time [s],bead 3 [N],bead 8 [N]"
NAMED = Asked(beads=(3, 8))
SI = Asked(beads=(3, 8), time_unit="s", force_unit="N")
TEKTRONIX = [
    ("Record Length", "40"),
    ("Sample Interval", "5e-07"),
    ("Vertical Units", '"V"'),
    ("Horizontal Units", '"s"'),
]
TDS = [
    ("Record Length", "4.000000e+01"),
    ("Sample Interval", "5.000000e-07"),
    ("Trigger Point", "4.000000000000e+00"),
    ("", ""),
]
TDS_UNITS = [
    ("Vertical Units", "V"),
    ("Vertical Scale", "5.000000e-02"),
    ("Horizontal Units", "S"),
    ("Pt Fmt", "Y"),
    ("Model Number", "TDS2024B"),
]

GOOD = {
    "as written here": (lambda: text(HEAD, *rows())),
    "decimal comma, units in a line of their own, micro sign of Windows": (
        lambda: text(
            "Zeit;Kanal A;Kanal B",
            "(µs);(mV);(mV)",
            "",
            *rows(";", ",", time=1e6, force=20.0),
            encoding="cp1252",
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "no times, a column too much": (
        lambda: text(*(f"{i} {a} {b}" for i, (a, b) in enumerate(FORCE))),
        Asked(beads=(None, 3, 8), interval=0.5e-6, force_unit="N"),
    ),
    "uneven, put on a grid": (
        lambda: text(
            HEAD,
            *(
                f"{t},{1e6 * t},{2e6 * t}"
                for t in [0.0, 0.3e-6, 1.1e-6, *(1e-6 * i for i in range(2, 9))]
            ),
        ),
        Asked(resample=0.5e-6),
    ),
    "npy with samples along the second axis": (lambda: npy(np.vstack([TIME, FORCE.T])), SI),
    "npz": (
        lambda: npz(bead_3=FORCE[:, 0], time=TIME, bead_8=FORCE[:, 1]),
        Asked(time_unit="s", force_unit="N"),
    ),
    "MATLAB 5": (lambda: mat(t=TIME, force=FORCE), SI),
    "MATLAB 7.3": (matlab_73, SI),
    "MATLAB with names of its own": (
        lambda: mat(piezo_A=FORCE[:, :1], tEns=TIME[:, None], B=FORCE[:, 1:], fs=2e6, note="x"),
        Asked(beads=(3, 8), time="tEns", time_unit="s", force_unit="N"),
    ),
    "Excel with headings": (
        lambda: xlsx(
            ["of a Tuesday"],
            ["Time (us)", "bead 3 (kN)", "bead 8 (N)"],
            *np.column_stack([1e6 * TIME, 1e-3 * FORCE[:, 0], FORCE[:, 1]]).tolist(),
        )
    ),
    "a gain for each sensor": (
        lambda: text(
            "t [s],a [V],b [V],c [V]",
            *(f"{t},{0.5 * a},{a},{b}" for t, (a, b) in zip(TIME, FORCE, strict=True)),
        ),
        Asked(beads=(3, None, 8), gain=(0.5, 1.0)),
    ),
    "Excel: one sheet of two": (
        lambda: xlsx(
            *FORCE.tolist(),
            more=[
                ["time [s]", "bead 3 [N]", "bead 8 [N]"],
                *np.column_stack([TIME, FORCE]).tolist(),
            ],
        ),
        Asked(sheet="more"),
    ),
    "HDF5 with units": (lambda: hdf5(plain_hdf5)),
    "netCDF, packed": (lambda: hdf5(packed_netcdf)),
    # The instruments, as their manuals print them, or as files that others publish show them.
    "Rigol: start and increment at the end of the headings": (
        lambda: text(
            "X,CH1,CH2,Start,Increment,",
            "Sequence,Volt,Volt,-2.000000e-06,5.000000e-07",
            *(f"{i},{0.02 * a:.6e},{0.02 * b:.6e}," for i, (a, b) in enumerate(FORCE)),
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "Keysight InfiniiVision: units in words": (
        lambda: text(
            "x-axis,1,2",
            "second,Volt,Volt",
            *(
                f"{t:.7E},{0.02 * a:.6E},{0.02 * b:.6E}"
                for t, (a, b) in zip(TIME, FORCE, strict=True)
            ),
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "Keysight Infiniium: origin and increment in the header, no times": (
        lambda: text(
            "Revision:,0",
            "Type:,raw",
            "Start:,0",
            "Points:,40,40",
            "XInc:,5.0E-007,5.0E-007",
            "XOrg:,-2.0E-006,-2.0E-006",
            "YUnits:,Volt,Volt",
            "XUnits:,Second,Second",
            *rows(force=0.02, line="{a},{b}"),
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "LeCroy: two channels below two headings": (
        lambda: text(
            "LECROY9354,935412345",
            "Segments,1,SegmentSize,40",
            "Segment,Trig Time,TimeSinceFirstSegment",
            "#1,21 Mar 1990 9:37:08,0.0",
            "Time,Ampl",
            *rows(force=0.02),
        ),
        Asked(beads=(3, 8), time_unit="s", force_unit="V", gain=0.02),
    ),
    "LeCroy: its units are known": (
        lambda: text(
            "LECROYWR620Zi,1",
            "Segment,Segment Time,TimeSinceFirstSegment",
            "#1,21 Mar 1990 9:37:08,0.0",
            "Time,Ampl,Ampl",
            *rows(force=0.02),
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "PicoScope: spaces behind the commas": (
        lambda: text(
            "Time, Channel A, Channel B",
            "(us), (V), (V)",
            *rows(", ", time=1e6, force=0.02),
            end="\r\n",
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "PicoScope, MATLAB: start, interval and length": (
        lambda: mat(
            Tstart=-2e-6,
            Tinterval=0.5e-6,
            Length=40,
            A=0.02 * FORCE[:, :1],
            B=0.02 * FORCE[:, 1:],
            ExtraSamples=0,
        ),
        Asked(beads=(3, 8), force_unit="V", gain=0.02),
    ),
    "Tektronix: empty rows beside and in the preamble": (
        lambda: text(
            *fields(
                rows(force=0.02),
                *TEKTRONIX[:2],
                ("", ""),
                ("Note", ""),
                *TEKTRONIX[2:],
                ("", ""),
                ("Yzero", "0.0"),
            )
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    # as a TDS2000 writes one channel, the other behind it: key, value, nothing, time, volts
    "Tektronix: two channels side by side, each with its preamble and its times": (
        lambda: text(
            *map(
                "".join,
                zip(
                    *(
                        fields(rows(force=0.02, line=line), *TDS, ("Source", source), *TDS_UNITS)
                        for source, line in (("CH1", "{t}{s}{a}"), ("CH2", "{t}{s}{b}"))
                    ),
                    strict=True,
                ),
            )
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "Siglent: the channel before its unit": (
        lambda: text(
            "Record Length,40",
            "Sample Interval,CH1:0.0000005000000 CH2:0.0000005000000",
            "Vertical Units,CH1:V CH2:V,,",
            "Vertical Scale,CH1:0.05 CH2:0.10,,",
            "Vertical Offset,CH1:-0.15000 CH2:0.20000,,",
            "Horizontal Units,s,,",
            "Horizontal Scale,0.0000025000,,",
            "Model Number,ADS1202CL+,,",
            "",
            "Source,CH1,CH2",
            "Second,Volt,Volt",
            *rows(force=0.02),
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "LabVIEW: an empty column for the times, decimal comma": (
        lambda: text(
            "LabVIEW Measurement\t",
            "Separator\tTab",
            "Decimal_Separator\t,",
            "X_Columns\tNo",
            "***End_of_Header***\t\t",
            "\t",
            "Channels\t2",
            "Samples\t40\t40",
            "Y_Unit_Label\tVolts\tVolts",
            "X_Dimension\tTime\tTime",
            "X0\t-2,0000000000000000E-6\t-2,0000000000000000E-6",
            "Delta_X\t5,000000E-7\t5,000000E-7",
            "***End_of_Header***\t\t",
            "X_Value\tUntitled\tUntitled 1\tComment",
            *rows("\t", ",", force=0.02, line="{s}{a}{s}{b}"),
        ),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "Yokogawa: resolution and offset of the time in the header": (
        lambda: text(
            '"Header Size",13',
            '"Model Name","DLM3054"',
            '"Comment",""',
            '"BlockNumber",1',
            '"TraceName","bead 3","bead 8"',
            '"BlockSize",40,40',
            '"VUnit","V","V"',
            '"SampleRate",2.0E+06,2.0E+06',
            '"HResolution",5.0E-07,5.0E-07',
            '"HOffset",-2.0E-06,-2.0E-06',
            '"HUnit","s","s"',
            '"Date","2010/10/01","2010/10/01"',
            '"Time","10:00:00.00","10:00:00.00"',
            "",
            *rows(force=0.02, line=",{a},{b},"),
        ),
        Asked(gain=0.02),
    ),
    "Rohde & Schwarz: units after a word": (
        lambda: text("in s,C1 in V,C2 in V", *rows(force=0.02)),
        Asked(beads=(3, 8), gain=0.02),
    ),
    "a sensor with another number than its bead": (
        lambda: text("time [s],Sensor 1 (bead 3) [N],Sensor 2 (bead 8) [N]", *rows())
    ),
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def brought_in(content, asked=None, name="record.csv", kind="measured", **more):
    Path(name).write_bytes(content)
    return import_trace(name, "folder", kind, asked, **more)


def test_times_printed_to_few_digits_are_put_on_the_even_grid_that_explains_them():
    time = 1.0 + 1.01 * TIME
    printed = [f"{t:.8f},{a},{b}" for t, (a, b) in zip(time, FORCE, strict=True)]
    trace = brought_in(text(HEAD, *printed))
    assert "times are printed to 1e-08 s" in trace.notes[0]
    # half a digit each at both ends of the line that fits
    assert np.diff(trace.time) == pytest.approx(0.505e-6, abs=1e-8 / (N - 1))
    assert trace.time == pytest.approx(time, abs=1e-8)
    # one sample two digits late is no rounding; digits of a fifth of the step hide the clock
    late = [f"{t + (2e-8 if i == 20 else 0.0):.8f},0,0" for i, t in enumerate(time)]
    for rows_of in (late, [f"{t:.7f},0,0" for t in time]):
        with pytest.raises(TraceError, match="time: got a step"):
            brought_in(text(HEAD, *rows_of), name="other.csv")


@pytest.mark.parametrize("name", GOOD)
def test_a_clean_file_comes_in_with_the_right_numbers(name):
    make, asked = GOOD[name] if isinstance(GOOD[name], tuple) else (GOOD[name], None)
    trace = brought_in(make(), asked)
    time, force = TIME, FORCE
    if name == "no times, a column too much":
        time = 0.5e-6 * np.arange(N)
    elif name == "uneven, put on a grid":
        time = 0.5e-6 * np.arange(17)
        force = np.column_stack([1e6 * time, 2e6 * time])
        assert "10 samples were put on an even grid" in trace.notes[0]
    assert trace.sensor_bead.tolist() == [3, 8]
    assert trace.time == pytest.approx(time, rel=1e-9, abs=1e-15)
    assert trace.sensor_force == pytest.approx(force, rel=1e-9, abs=1e-12)
    again = read_trace("folder")
    assert again.time == pytest.approx(trace.time, rel=1e-11, abs=1e-20)
    assert again.sensor_force == pytest.approx(trace.sensor_force, rel=1e-11, abs=1e-20)
    assert again.sensor_bead.tolist() == [3, 8] and again.about.kind == "measured"


def changed(line, new, head=HEAD):
    """The plain file with one line of numbers replaced; line 2 is the first of them."""
    lines = [head, *rows()]
    lines[line - 1] = new
    return text(*lines)


def linked(file):
    plain_hdf5(file)
    file["record/bead 9"] = h5py.ExternalLink("/etc/passwd", "x")


def virtual(file):
    layout = h5py.VirtualLayout(shape=(N,), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(N,))
    file["time"] = TIME
    file.create_virtual_dataset("bead 3", layout)


def external(file):
    file["time"] = TIME
    file.create_dataset("bead 3", (N,), "f8", external=[("other.bin", 0, 8 * N)])


def huge(file):
    file["time"] = TIME
    file.create_dataset("bead 3", (2**40,), "f8", chunks=(1024,))


def huge_npy():
    content = npy(np.zeros(4))
    return content.replace(b"(4,)", b"(9" + b"9" * 15 + b",)", 1)


class Harm:
    """What a pickle would do."""

    def __reduce__(self):
        return (Path("harm").touch, ())


BAD = {
    "not a number": (
        lambda: changed(10, "5e-7,NaN,1"),
        r'record.csv: line 10: got "NaN" in column 2, allowed a number',
    ),
    "infinite": (
        lambda: changed(10, "5e-7,1e999,1"),
        r"bead 3: got a value that is no finite number at sample 9",
    ),
    "cut off": (lambda: text(HEAD, *rows(), "1.8e-5,0."), r"line 42: got 2 of 3 numbers"),
    "a number too many": (
        lambda: changed(10, "2e-06,1,1,7"),
        r'line 10: got "7" where the other rows have nothing',
    ),
    "time that goes back": (
        lambda: text(HEAD, *rows(), *rows()),
        r"time: got -2e-06 s at sample 41 after 1.75e-05 s",
    ),
    "uneven by 0.3 per cent": (
        lambda: changed(10, "2.0015e-06,0,0"),
        r"time: got a step of 5.015e-07 s after sample 8 where the mean is 5e-07 s, allowed .* "
        r"0.001 of it; .* --resample 5e-07",
    ),
    "unknown unit": (
        lambda: text("time [min],bead 3 [N],bead 8 [N]", *rows()),
        r'got the unit "min", allowed s, .* --time-unit us',
    ),
    "no unit": (
        lambda: text("time,bead 3,bead 8", *rows()),
        r'"time": got no unit, .*\n.*"bead 3": got no unit, .* --force-unit N',
    ),
    "volts without a gain": (
        lambda: text("time [s],bead 3 [V]", *rows(line="{t},{a}")),
        r'"bead 3 \[V\]": got readings in V, .* --gain 0.02',
    ),
    "no bead": (
        lambda: text("time [s],CH1 [N],CH2 [N]", *rows()),
        r'got 2 columns of force, "CH1 \[N\]", .* --beads 9,16',
    ),
    "one bead twice": (
        lambda: text(HEAD, *rows()),
        Asked(beads=(3, 3)),
        r"sensor beads: got \[3, 3\], allowed different whole numbers",
    ),
    "a comma that could be two things": (
        lambda: text("Zeit,Kraft", *(f"0,{i:06d},{i},5" for i in range(20))),
        NAMED,
        r"line 2: got commas that could be both separator and decimal sign",
    ),
    "one column": (
        lambda: text(*rows(line="{a}")),
        SI,
        r"got one column, allowed a time and a force at least; .* --interval 1e-6",
    ),
    "two channels side by side with clocks of their own": (
        lambda: text("TIME [s],CH1 [N],,TIME [s],CH2 [N]", *rows(line="{t},{a},,{b},{a}")),
        NAMED,
        r"got 2 columns of time",
    ),
    "a word beside the numbers that is no preamble": (
        lambda: text(
            *fields(
                [*rows(line="{t},{a},saturated,{b}")[:1], *rows(line="{t},{a},,{b}")[1:]],
                *TEKTRONIX,
            )
        ),
        Asked(beads=(3, 8), gain=0.02),
        r'line 1: got "saturated" where the other rows have nothing',
    ),
    "empty": (lambda: b"", r"got no row of numbers"),
    "calls itself simulated": (
        lambda: text("# simulated with X", HEAD, *rows()),
        r'calls itself "simulat", .* --kind synthetic',
    ),
    "npy of objects": (
        lambda: npy(np.array([Harm()] * 9), allow_pickle=True),
        SI,
        r"cannot be read as a whole .npy file",
    ),
    "npy that claims more than it has": (huge_npy, SI, r"cannot be read as a whole .npy file"),
    "HDF5 cut off": (lambda: hdf5(plain_hdf5)[:1500], r"cannot be read as HDF5"),
    "HDF5 that reads other files": (
        lambda: hdf5(virtual),
        SI,
        r"'bead 3' keeps its data in another file",
    ),
    "HDF5 with data elsewhere": (
        lambda: hdf5(external),
        SI,
        r"'bead 3' keeps its data in another file",
    ),
    "HDF5 that claims terabytes": (
        lambda: hdf5(huge),
        SI,
        r"claims 8796093022[0-9]* bytes of data",
    ),
    "MATLAB cut off": (
        lambda: mat(t=TIME, force=FORCE)[:300],
        SI,
        r"cannot be read as a whole MATLAB file",
    ),
    "a negative bead": (
        lambda: text("time [s],Bead -3 [N]", *rows(line="{t},{a}")),
        r'"Bead -3 \[N\]", .* --beads 9',
    ),
    "a point for thousands or decimals": (
        lambda: text("Zeit [us];bead 3 [mN]", *(f"{i};{german(50 * i)}" for i in range(2, 40))),
        r'line 20: got "1.000", which is 1000 or 1.000, .* --decimal point for 1.000, --decimal '
        r"comma for 1000",
    ),
    "a factor beside a unit": (
        lambda: text("time [s],bead 3 (x10 N)", *rows(line="{t},{a}")),
        r'"x10", that may be a factor, .* --force-unit N where .* --force-unit "10 N"',
    ),
    "no heading of a time": (
        lambda: text("CH1V,CH2V", *rows(line="{a},{b}")),
        NAMED,
        r'where "CH1V" holds times, .* --time-unit us; .* --time HEADING; .* --interval 1e-6',
    ),
    "volts above and newtons in the headings": (
        lambda: text("Vertical Units,V,", HEAD, *rows()),
        r'"bead 3 \[N\]": got the unit N where the lines above say "V"',
    ),
    "a clock that contradicts its own times": (
        lambda: text(
            "Sample Interval,5e-07",
            "Horizontal Units,s",
            "time [us],bead 3 [N]",
            *rows(line="{t},{a}"),
        ),
        r"got times 5e-13 s apart, where line 1: 5e-07 says 5e-07 s",
    ),
    "counts of the converter": (
        lambda: text(
            "Vertical Units,V",
            "Sampling Period,5e-7",
            "Mode,Fast",
            *(f"{i}," for i in range(-5, 40)),
        ),
        Asked(beads=(3,), gain=1.0),
        r"line 3: got the mode Fast, which holds counts of the converter",
    ),
    "HDF5 with a fill value": (
        lambda: hdf5(filled_netcdf),
        r"bead 8: got a value that is no finite number at sample 8",
    ),
    "HDF5 with what was never written": (
        lambda: hdf5(never_written),
        r"bead 8: got a value that is no finite number at sample 8",
    ),
    "HDF5 with the times of another group": (
        lambda: hdf5(two_groups),
        SI,
        r'"second/bead 8" in another group than the only times',
    ),
    "MATLAB with a struct alone": (
        lambda: mat(scope={"t": TIME, "a": FORCE}),
        SI,
        r'got no array of numbers among "scope" \(struct\), .* save\("record.mat", "-struct"',
    ),
    "Excel with two records": (
        lambda: xlsx(*FORCE.tolist(), more=FORCE.tolist()),
        SI,
        r'got 2 sheets with 8 rows of numbers and more, "Sheet", "more"',
    ),
    "Excel with another sheet asked for": (
        lambda: xlsx(*FORCE.tolist(), more=FORCE.tolist()),
        Asked(sheet="mor"),
        r'--sheet: got "mor", allowed "Sheet", "more"; name one of them',
    ),
    "Excel with formulas that were not computed": (
        lambda: xlsx(*(["=1+1", "=2+2"] for _ in TIME)),
        SI,
        r"got 0 sheets .* save it once by a spreadsheet program",
    ),
    "MATLAB without the time that is asked for": (
        lambda: mat(time=TIME, b=FORCE),
        Asked(time="zeit"),
        r'--time: got "zeit", allowed an array that is there: "time", "b"',
    ),
    "Excel with text beside numbers": (
        lambda: xlsx(
            *([t, f"{a:.2f}".replace(".", ",")] for t, a in zip(TIME, FORCE[:, 0], strict=True))
        ),
        SI,
        r'"Sheet": got "0,00", a text beside numbers, .* --decimal comma',
    ),
    "TDMS cut off": (
        lambda: b"TDSm" + bytes(50),
        SI,
        r"npTDMS|cannot be read as a whole TDMS file",
    ),
}


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_clean_trace_is_refused_in_a_sentence(name, here):
    make, *asked, sentence = BAD[name]
    content = make()
    with pytest.raises((TraceError, FileError), match="(?s)" + sentence) as error:
        brought_in(content, *asked)
    assert str(error.value).startswith("record.csv")
    assert not (here / "folder").exists()
    assert not (here / "harm").exists()


def test_an_external_link_is_not_followed():
    trace = brought_in(hdf5(linked), Asked())
    assert trace.sensor_bead.tolist() == [3, 8]


# A tenth of a second each, most of it for the deadline of hypothesis.
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_change_of_a_text_file_ends_in_anything_but_numbers_or_a_sentence(data):
    content = bytearray(text("Model,X", HEAD, *rows()[:12]))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        what = data.draw(
            st.sampled_from(
                [
                    b"",
                    b",",
                    b";",
                    b"\n",
                    b"-",
                    b".",
                    b"e",
                    b"9",
                    b"nan",
                    b'"',
                    b"\0",
                    b"\xb5",
                    b" ",
                    b"\t",
                ]
            )
        )
        content[place : place + data.draw(st.integers(0, 3))] = what
    try:
        columns = text_columns(bytes(content), "record.csv").columns
    except TraceError as error:
        assert "got" in str(error) and "allowed" in str(error)
        return
    assert len({len(column.values) for column in columns}) == 1
    for column in columns:
        assert not np.isnan(column.values).any()


@pytest.mark.parametrize("kind", ["npy", "npz", "mat", "h5", "xlsx"])
def test_no_flipped_bits_of_a_binary_file_end_in_anything_but_numbers_or_a_sentence(kind):
    draw = np.random.default_rng(5)
    content = {
        "npy": lambda: npy(np.column_stack([TIME, FORCE])),
        "npz": lambda: npz(time=TIME, bead_3=FORCE[:, 0]),
        "mat": lambda: mat(t=TIME, force=FORCE),
        "h5": lambda: hdf5(plain_hdf5),
        "xlsx": lambda: xlsx(*np.column_stack([TIME, FORCE]).tolist()),
    }[kind]()
    # HDF5 is read in a process of its own, half a second each.
    for _ in range(3 if kind == "h5" else 60):
        damaged = bytearray(content)
        for place in draw.integers(0, len(content), 3):
            damaged[place] ^= 1 << int(draw.integers(8))
        try:
            trace = brought_in(bytes(damaged), SI, overwrite=True)
        except (TraceError, FileError) as error:
            assert "record.csv" in str(error)
        else:
            assert np.isfinite(trace.sensor_force).all()


# --- TDMS, with the optional package and without


@pytest.mark.parametrize(
    ("module", "content", "what"),
    [
        ("nptdms", lambda: b"TDSm" + bytes(100), "a TDMS file"),
        ("openpyxl", lambda: xlsx([1, 2]), "an Excel workbook"),
    ],
)
def test_without_its_package_a_file_is_refused_with_what_to_install(
    module, content, what, monkeypatch
):
    made = content()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FileError, match=f'record: is {what}, .* "granchain\\[traces\\]"'):
        brought_in(made, name="record")


@pytest.mark.parametrize("clock", ["increment", "channel"])
def test_a_tdms_file_comes_in_with_the_right_numbers(clock):
    nptdms = pytest.importorskip("nptdms", reason="npTDMS is an optional package")
    wave = {"wf_increment": 0.5e-6, "wf_start_offset": -2e-6} if clock == "increment" else {}
    channels = [
        nptdms.ChannelObject("rig", name, values, properties={"unit_string": "V", **wave})
        for name, values in (("bead 3", 0.02 * FORCE[:, 0]), ("bead 8", 0.02 * FORCE[:, 1]))
    ]
    if clock == "channel":
        channels.insert(
            0, nptdms.ChannelObject("rig", "Time", TIME, properties={"unit_string": "s"})
        )
    with nptdms.TdmsWriter("made.tdms") as writer:
        writer.write_segment(channels)
    trace = brought_in(Path("made.tdms").read_bytes(), Asked(gain=0.02))
    assert trace.time == pytest.approx(TIME, rel=1e-9, abs=1e-15)
    assert trace.sensor_force == pytest.approx(FORCE, rel=1e-9, abs=1e-12)
    damaged = Path("made.tdms").read_bytes()[:150]
    with pytest.raises(
        (FileError, TraceError), match=r"cannot be read as a whole TDMS file|got 0 arrays of time"
    ):
        brought_in(damaged, Asked(gain=0.02), overwrite=True)


# --- Several files


def channel(k, samples=N, late=0.0):
    """A channel as a Tektronix TDS writes it: the preamble beside the first numbers."""
    lines = []
    for i in range(samples):
        key, value = [*TDS, *TDS_UNITS][i] if i < len(TDS) + len(TDS_UNITS) else ("", "")
        lines.append(f"{key},{value},,{TIME[i] + late:.9f},{(k + 1) * 0.02 * FORCE[i, k]:.9f},")
    return text(*lines)


def test_files_of_one_clock_make_one_trace_with_what_is_each_sensors_own(capsys):
    for k in (0, 1):
        Path(f"T0001CH{k + 1}.CSV").write_bytes(channel(k))
    command = ["traces", "import", "T0001CH1.CSV", "T0001CH2.CSV", "--kind", "measured"]
    command += ["--beads", "3,8", "--gain", "0.02,0.04", "--time-constant", "1e-3"]
    assert obey([*command, "--title", 'Rig "2"', "--set", "uncertainty.gain=[0.03,0.02]"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "T0001"
    trace = read_trace("T0001")
    assert trace.time == pytest.approx(TIME, abs=1e-15)
    assert trace.sensor_force == pytest.approx(FORCE, rel=1e-9, abs=1e-7)
    about = trace.about
    assert (about.title, about.sensor.gain) == ('Rig "2"', [0.02, 0.04])
    assert about.uncertainty.own("gain", 2) == [0.03, 0.02]
    # of a resistor and a capacitor: 159.15 Hz for 1 ms
    assert (about.sensor.high_pass, about.sensor.filter_order) == (
        pytest.approx(159.154943, rel=1e-8),
        1,
    )
    assert [one.split(",")[0] for one in about.origin.split("; ")] == [
        "T0001CH1.CSV",
        "T0001CH2.CSV",
    ]
    for name, content, sentence in (
        ("late.csv", channel(1, late=2e-7), r"late.csv: got -1.8e-06 s at sample 1, where T0001"),
        ("short.csv", channel(1, N - 9), r"short.csv: got 31 samples, where T0001CH1.CSV has 40"),
    ):
        Path(name).write_bytes(content)
        with pytest.raises(TraceError, match=sentence):
            import_trace(["T0001CH1.CSV", name], "other", "measured", Asked((3, 8), gain=0.02))
    assert obey([*command, "--out", "b", "--set", "sensor.filter_order=2"]) == 2
    assert "--time-constant: got 1 for sensor.filter_order, and 2 for it" in capsys.readouterr().err
    command[-1] = "1e-3,5e-4"
    assert obey([*command, "--out", "each"]) == 0
    corners = read_trace("each").about.sensor.high_pass
    assert corners == pytest.approx([159.154943, 318.309886], rel=1e-8)
    capsys.readouterr()
    for wrong, sentence in (
        ("1e-3,1e-3,1e-3", "--time-constant: got 3 numbers for 2 sensors, allowed one for all"),
        ("1e-3,0", '--time-constant: got "0", allowed a number above 0 [s], or one for each'),
    ):
        assert obey([*command[:-1], wrong, "--out", "b"]) == 2
        assert sentence in capsys.readouterr().err
    assert obey([*command, "--out", "b", "--set", "uncertainty.gain=[0.1,0.1,0.1]"]) == 2
    assert "uncertainty.gain: got 3 numbers, allowed one, or 2" in capsys.readouterr().err
    assert not Path("b").exists() and not Path("other").exists()


# --- The folder


def test_what_is_said_of_a_trace_is_in_its_about_file():
    said = [
        "who=A. Person",
        'what="beads, \\"hot\\""',
        "uncertainty.gain=0.02",
        "sensor.cutoff=4e5",
    ]
    brought_in(text(HEAD, *rows()), changes=said)
    about = tomllib.loads(Path("folder/about.toml").read_text())
    assert (
        about["who"] == "A. Person"
        and about["what"] == 'beads, "hot"'
        and about["uncertainty"] == {"gain": 0.02}
    )
    assert read_about("folder").sensor.cutoff == 4e5
    assert about["origin"].startswith("record.csv, SHA-256 ")


def test_a_trace_is_kept_unless_it_may_be_replaced():
    brought_in(text(HEAD, *rows()), changes=["who=A. Person"])
    with pytest.raises(FileError, match=r"trace.csv: got a file that exists and is kept"):
        brought_in(text(HEAD, *rows()[:20]))
    assert len(read_trace("folder").time) == N
    assert len(brought_in(text(HEAD, *rows()[:20]), overwrite=True).time) == 20
    assert read_about("folder").who == ""


def test_a_folder_that_knows_its_experiment_keeps_what_it_says():
    Path("folder").mkdir()
    Path("folder/about.toml").write_text(
        'title = "rig"\nkind = "measured"\n# mine\n[[fact]]\nwhat = "beads"\nvalue = 70\n'
    )
    with pytest.raises(TraceError, match="--kind synthetic"):
        brought_in(text(HEAD, *rows()), kind="synthetic")
    brought_in(text(HEAD, *rows()))
    assert read_trace("folder").about.fact[0].value == 70
    # once the curve is there, it is changed in the file itself
    with pytest.raises(TraceError, match=r"got --set for a folder that says"):
        brought_in(text(HEAD, *rows()), changes=["who=B. Person"])


@pytest.mark.parametrize(
    ("about", "sentence"),
    [
        (b"title = 3", r"title: got 3, allowed one line"),
        (b'kind = "real"', r'kind: got "real", allowed "measured", "digitised" or "synthetic"'),
        (
            b'kind = "measured"\n[sensor]\nhigh_pass = 2e5\nlow_pass = 1e5',
            r"sensor.high_pass: got 200000.0 Hz with a low_pass of 100000.0 Hz, allowed less than",
        ),
        (b"", r"kind: got nothing"),
        (b"[[[", "got text that is not TOML"),
        (b"\xff", "got bytes that are not UTF-8"),
        (b"a" * 2**21, "got more than 1 MB"),
        (b"a = " + b"[" * 5000, "nested without end"),
        (b'kind = "measured"\n[[table]]\nfile = "../x.csv"', r"file: got \"../x.csv\""),
    ],
)
def test_an_about_file_with_mistakes_is_refused(about, sentence):
    Path("folder").mkdir()
    Path("folder/about.toml").write_bytes(about)
    with pytest.raises(TraceError, match=sentence):
        read_about("folder")


def test_a_computed_trace_cannot_be_passed_off_as_measured():
    brought_in(text(HEAD, *rows()), kind="synthetic")
    about = Path("folder/about.toml")
    about.write_text(about.read_text().replace('"synthetic"', '"measured"'))
    with pytest.raises(TraceError, match='calls itself "synthetic"'):
        read_trace("folder")


# --- Offset and noise


def noisy(noise=0.05, offset=0.3, step=0.0, quiet=400):
    draw = np.random.default_rng(4)
    time = 1e-6 * np.arange(quiet + 200)
    force = (
        10.0 * np.exp(-(((time - (quiet + 100) * 1e-6) / 12e-6) ** 2))
        + offset
        + noise * draw.standard_normal(len(time))
    )
    force = step * np.round(force / step) if step else force
    return brought_in(
        npy(np.column_stack([time, force])),
        Asked(beads=(3,), time_unit="s", force_unit="N"),
        overwrite=True,
    )


def test_offset_and_noise_are_found():
    trace = noisy()
    # a Gaussian of 12 us is below a millionth of its height 45 us before its peak, at sample 455
    found = baseline_of(trace.sensor_force[:450, 0], white(0.05))
    assert found.value == pytest.approx(0.3, abs=4 * found.value_error) and not found.drifts
    # the mean of 450 samples; six parts tell the size of long periods to a third, and the larger
    # counts
    assert found.value_error == pytest.approx(0.05 / math.sqrt(450), rel=0.75)
    # the larger of two estimates, of 235 and of 600 numbers: 5 % and 4 % each
    assert noise_of(trace, 0) == pytest.approx(0.05, rel=0.2)


def test_a_disturbance_before_the_pulse_is_no_noise():
    x = np.arange(300)
    quiet = 0.05 * np.random.default_rng(6).standard_normal(300)
    found = noise_by(quiet + 4.0 * np.exp(-(((x - 60) / 6.0) ** 2)), 0.05)
    # the spread of 300 numbers is known to 4 %; a correlation of .1 that is none makes the sum of
    # many 10 % larger
    assert found.sample == pytest.approx(0.05, rel=0.15)
    assert found.of_sum(np.ones(60)) < 1.5 * 0.05 * math.sqrt(60.0)


def test_a_drift_is_found_and_its_line_goes_on_with_an_uncertainty_that_grows():
    draw = np.random.default_rng(5)
    force = 2.0 + 0.003 * np.arange(400) + 0.05 * draw.standard_normal(400)
    force[100:103] += 5.0
    found = baseline_of(force, white(0.05))
    assert found.drifts and found.slope == pytest.approx(0.003, abs=4 * found.slope_error)
    assert float(found.at(600)) == pytest.approx(2.0 + 0.003 * 600, abs=found.uncertainty(600))
    # least squares: sigma sqrt(12/n^3)
    assert found.slope_error == pytest.approx(0.05 * math.sqrt(12.0 / 400**3), rel=0.5)
    assert found.uncertainty(800) > 1.9 * found.uncertainty(600) > 10.0 * found.uncertainty(200)


@pytest.mark.parametrize(
    ("made", "noise"),
    [
        ({"quiet": 0}, pytest.approx(0.05, rel=0.3)),
        ({"noise": 0.0, "offset": 0.0, "step": 0.2}, pytest.approx(0.2 / math.sqrt(12.0))),
    ],
)
def test_noise_without_a_quiet_start_and_of_the_steps_of_a_converter_is_found(made, noise):
    assert noise_of(noisy(**made), 0) == noise
    assert noise_of(noisy(noise=0.0, offset=0.0), 0) < 1e-3


# --- The command, and the folders of the project


def test_the_command_brings_a_file_in_and_says_what_it_holds(capsys):
    Path("rig.csv").write_bytes(text("time [us],CH1 [mV],CH2 [mV]", *rows(time=1e6, force=20.0)))
    command = ["traces", "import", "rig.csv", "--kind", "measured", "--gain", "0.02"]
    assert obey([*command, "--beads", "3,8", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["folder"] == "rig" and facts["samples"] == N and facts["sensor_bead"] == [3, 8]
    assert facts["interval"] == pytest.approx(0.5e-6)
    assert sorted(path.name for path in Path("rig").iterdir()) == ["about.toml", "trace.csv"]
    assert obey([*command, "--beads", "3,-", "--out", "one"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "rig: measured, 40 samples, one every 5e-07 s"
    assert told[2].split()[:3] == ["3", "20.0000", "5.50000"]
    assert told[-1] == "one"


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--kind", "real"], 2, 'kind: got "real"'),
        ([], 2, "traces import --kind: got nothing"),
        (["--kind", "measured", "--beads", "3,x"], 2, '--beads: got "x"'),
        (["--kind", "measured", "--gain", "-1"], 2, '--gain: got "-1", allowed a number'),
        (["--kind", "measured", "--interval", "nan"], 2, '--interval: got "nan"'),
        (["--kind", "measured", "--set", "who"], 2, '--set: got "who", allowed KEY=VALUE'),
        (
            ["--kind", "measured", "--out", "rig.csv/x"],
            4,
            "got a place where no folder can be made",
        ),
    ],
)
def test_the_command_refuses_what_is_wrong_with_its_exit_code(options, code, sentence, capsys):
    Path("rig.csv").write_bytes(text(HEAD, *rows()))
    assert obey(["traces", "import", "rig.csv", *options]) == code
    assert sentence in capsys.readouterr().err


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


def test_the_synthetic_trace_says_in_name_and_file_that_it_is_no_experiment():
    folder = ROOT / "data" / "synthetic2026"
    trace = read_trace(folder)
    assert trace.synthetic and trace.about.title.startswith("Synthetic")
    assert (folder / "trace.csv").read_text().startswith("# SYNTHETIC, no experiment")
    source = ROOT / "docs" / "examples" / "synthetic-oscilloscope.csv"
    assert "SYNTHETIC" in source.read_text().splitlines()[0]
    again = import_trace(source, "again", "synthetic", Asked(gain=0.02))
    assert (
        np.array_equal(again.sensor_force, trace.sensor_force)
        or np.abs(again.sensor_force - trace.sensor_force).max() < 1e-9
    )
    with pytest.raises(TraceError, match="--kind synthetic"):
        import_trace(source, "passed-off", "measured", Asked(gain=0.02))


def test_the_synthetic_trace_is_what_its_script_makes():
    folder = ROOT / "data" / "synthetic2026"
    names = {"__name__": "make_trace"}
    exec(compile((folder / "make_trace.py").read_text(), "make_trace.py", "exec"), names)
    Path("synthetic.csv").write_text(names["oscilloscope_file"]())
    made = import_trace("synthetic.csv", "made", "synthetic", Asked(gain=0.02))
    trace = read_trace(folder)
    assert made.time == pytest.approx(trace.time, abs=1e-15)
    # at most one step of the converter, where rounding falls the other way
    off = np.abs(made.sensor_force - trace.sensor_force)
    assert off.max() < 1.01 * names["STEP"] / 0.02 and (off > 1e-9).mean() < 0.01
