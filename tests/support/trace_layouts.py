"""Layouts of text files with measured forces: the content, the information from the user, and the
result.

The layouts of manufacturers follow their published manuals."""

from pathlib import Path

import numpy as np

# The numbers in every valid file: 40 samples of two sensors, every 0.5 us, with few digits.
N = 40
TIME = 0.5e-6 * np.arange(N) - 2e-6
PULSE = np.round(20.0 * np.exp(-(((np.arange(N) - 15) / 4.0) ** 2)), 2)
FORCE = np.column_stack([PULSE, np.round(np.linspace(0.0, 3.9, N), 1)])
TABLE = np.column_stack([TIME, FORCE])


def rows(separator=",", decimal=".", time=1.0, force=1.0, line="{t}{s}{a}{s}{b}"):
    """Return the numbers as text, in given units."""
    found = []
    for numbers in TABLE * (time, force, force):
        t, a, b = (f"{number:.10g}".replace(".", decimal) for number in numbers)
        found.append(line.format(s=separator, t=t, a=a, b=b))
    return found


def text(*lines, encoding="utf-8", end="\n"):
    return (end.join(lines) + end).encode(encoding)


def fields(lines, *more):
    """Return columns in front of the first lines, in which old oscilloscopes put their preamble."""
    first = [*more, *[("", "")] * len(lines)]
    return [",".join([*key, "", line, ""]) for key, line in zip(first, lines, strict=False)]


def thousands(t):
    """Return a whole number with points for thousands, as from a spreadsheet."""
    return f"{t:,.0f}".replace(",", ".")


HEAD = "time [s],bead 3 [N],bead 8 [N]"
PLAIN = text(HEAD, *rows())
NAMED = dict(beads=(3, 8))
SI = dict(beads=(3, 8), time_unit="s", force_unit="N")
GAIN = dict(beads=(3, 8), gain=0.02)
TEKTRONIX = [("Record Length", "40"), ("Sample Interval", "5e-07"), ("Vertical Units", '"V"')]
TEKTRONIX += [("Horizontal Units", '"s"')]
TDS = [("Record Length", "4.000000e+01"), ("Sample Interval", "5.000000e-07")]
TDS += [("Trigger Point", "4.000000000000e+00"), ("", "")]
TDS_UNITS = [("Vertical Units", "V"), ("Vertical Scale", "5.000000e-02")]
TDS_UNITS += [("Horizontal Units", "S"), ("Pt Fmt", "Y"), ("Model Number", "TDS2024B")]


def channel(k):
    """Return a channel as a Tektronix TDS writes it: key, value, empty, time, volts."""
    source = ("Source", f"CH{k + 1}")
    return fields(rows(force=0.02, line=("{t},{a}", "{t},{b}")[k]), *TDS, source, *TDS_UNITS)


# Content of a file, and the information from the user, if more than 50 N per volt is needed.
GOOD = {
    "as written here": (PLAIN, None),
    "decimal comma, units in a line of their own, micro sign of Windows": (
        text(*("Zeit;Kanal A;Kanal B", "(µs);(mV);(mV)", ""), *rows(";", ",", time=1e6, force=20.0),
             encoding="cp1252"), GAIN),
    "no times, a column too much": (
        text(*(f"{i} {a} {b}" for i, (a, b) in enumerate(FORCE))),
        dict(beads=(None, 3, 8), interval=0.5e-6, force_unit="N"), (TIME + 2e-6, FORCE)),
    "uneven, put on a grid": (
        text(HEAD, *(f"{t}e-6,{t},{2 * t}" for t in [0.0, 0.3, 1.1, *range(2, 9)])),
        dict(resample=0.5e-6), (0.5e-6 * np.arange(17), np.outer(0.5 * np.arange(17), [1, 2])),
        "10 samples were resampled"),
    "a gain for each sensor": (
        text("t [s],a [V],b [V],c [V]", *(f"{t},{0.5 * a},{a},{b}" for t, a, b in TABLE)),
        dict(beads=(3, None, 8), gain=(0.5, 1.0))),
    "a sensor with another number than its bead": (
        text("time [s],Sensor 1 (bead 3) [N],Sensor 2 (bead 8) [N]", *rows()), None),
}  # fmt: skip
# Files as in the manuals of instruments, or as published by others: 50 N per volt.
INSTRUMENTS = Path(__file__).parent / "instruments"
OTHERWISE = {
    "yokogawa-resolution-and-offset-of-the-time": dict(gain=0.02),
    "lecroy-two-channels-below-two-headings": dict(
        beads=(3, 8), time_unit="s", force_unit="V", gain=0.02),
}  # fmt: skip
GOOD |= {
    path.stem: (path.read_bytes, OTHERWISE.get(path.stem, GAIN))
    for path in sorted(INSTRUMENTS.glob("*.csv"))
}


def changed(line, new):
    """Return the plain file with one line of numbers replaced; line 2 is the first of these
    lines."""
    lines = [HEAD, *rows()]
    lines[line - 1] = new
    return text(*lines)


ONE = rows(line="{t},{a}")
BAD = [
    (changed(10, "5e-7,NaN,1"),
     r'record.csv: line 10: column 2: "NaN" is not a number. It must be a number'),
    (changed(10, "5e-7,1e999,1"), r"bead 3: not a finite number at sample 9"),
    (changed(10, "5e-7,0e0838,1"),
     r'record.csv: line 10: column 2: "0e0838" is not a number. It must be a number'),
    (text(HEAD, *rows(), "1.8e-5,0."), r"line 42: column 3: the number is missing"),
    (changed(10, "2e-06,1,1,7"), r'line 10: "7" is in a column that is empty in the other rows'),
    (text(HEAD, *rows()[:1]), r"trace: only 1 samples. At least 8 are required"),
    (text(HEAD, *rows(), *rows()), r"time: -2e-06 s at sample 41 follows 1.75e-05 s"),
    (changed(10, "2.0015e-06,0,0"),
     r"time: the step after sample 8 is 5.015e-07 s, but the mean is 5e-07 s. .* "
     r"0.001 of it. .* --resample. If the times are only rounded, .* with --interval"),
    (text("time [min],bead 3 [N],bead 8 [N]", *rows()),
     r'the unit "min" is unknown. It must be one of s, .* --time-unit us'),
    (text("time,bead 3,bead 8", *rows()),
     r'"time": the unit is missing.*\n.*"bead 3": the unit is missing.* --force-unit N'),
    (text("time [s],bead 3 [V]", *ONE), r'"bead 3 \[V\]": the values are in V. .* --gain 0.02'),
    (text("time [s],CH1 [N],CH2 [N]", *rows()), r'2 force columns \("CH1 \[N\]", .* --beads 9,16'),
    (PLAIN, dict(beads=(3, 3)),
     r"sensor beads: \[3, 3\] is not valid. Labels must be different whole numbers"),
    (text("Zeit,Kraft", *(f"0,{i:06d},{i},5" for i in range(20))), NAMED,
     r"line 2: commas can be column separators or decimal commas"),
    (text(*rows(line="{a}")), SI, r"the file has only one column. .* --interval 1e-6"),
    (text("TIME [s],CH1 [N],,TIME [s],CH2 [N]", *rows(line="{t},{a},,{b},{a}")), NAMED,
     r"2 time columns found"),
    (text(*fields(["0,0,saturated,0", *rows(line="{t},{a},,{b}")[1:]], *TEKTRONIX)), GAIN,
     r'line 1: "saturated" is in a column that is empty in the other rows'),
    (b"", r"no row of numbers found"),
    (b"# simulated with X\n" + PLAIN, r'contains the word "simulat". .* --kind synthetic'),
    (text("time [s],Bead -3 [N]", *ONE), r'"Bead -3 \[N\]"\) without bead labels.* --beads 9'),
    (text("Zeit [us];bead 3 [mN]", *(f"{i};{thousands(50 * i)}" for i in range(2, 40))),
     r'line 20: "1.000" can mean 1000 or 1.000. .* --decimal point for 1.000, or --decimal '
     r"comma for 1000"),
    (text("time [s],bead 3 (x10 N)", *ONE),
     r'"x10" in the heading may be a factor. .* --force-unit N if .* --force-unit "10 N"'),
    (text("CH1V,CH2V", *rows(line="{a},{b}")), NAMED,
     r'If "CH1V" contains times, .* --time-unit us. .* --time HEADING. .* --interval 1e-6'),
    (b"Vertical Units,V,\n" + PLAIN,
     r'"bead 3 \[N\]": the unit is N, but the lines above specify "V"'),
    (text("Horizontal Units,us", "Second,Newton", *ONE), NAMED,
     r'"column 1": the unit is Second, but the lines above specify "us"'),
    (text("Sample Interval,5e-07", "Horizontal Units,s", "time [us],bead 3 [N]", *ONE),
     r"the times are 5e-13 s apart, but line 1: 5e-07 specifies 5e-07 s"),
    (text(*("Vertical Units,V", "Sampling Period,5e-7", "Mode,Fast"),
          *(f"{i}," for i in range(-5, 40))), dict(beads=(3,), gain=1.0),
     r"line 3: the data were saved in mode Fast, which contains counts of the converter"),
]  # fmt: skip


def numbered(first, stride=1, left_out=()):
    """Return the numbers with sequence numbers instead of times."""
    numbers = [first + stride * k for k in range(N + len(left_out))]
    numbers = [number for number in numbers if number not in left_out]
    return [
        f"{number},{0.02 * a:.4g},{0.02 * b:.4g},"
        for number, (a, b) in zip(numbers, FORCE, strict=True)
    ]


VOLTS = rows(force=0.02)
CLOCK = ["Model,MSO54", "Sample Interval,5.0e-07", "Horizontal Units,s", "Vertical Units,V"]
NUMBERS = "Sequence,Volt,Volt,-2.000000e-06,5.000000e-07"
RIGOL = ["X,CH1,CH2,Start,Increment,", NUMBERS]
MILLIVOLTS = rows(time=1e6, force=20.0)
# Interval that has fewer digits in the times than in the header.
FINE = 0.50125e-6
FEW_DIGITS = [f"{k * FINE - 2e-6:.2e},{a},{b}" for k, (a, b) in enumerate(FORCE)]
FINE_CLOCK = ["Sample Interval,5.0125e-07", "Horizontal Units,s", "time,bead 3,bead 8"]
FINE_TIME = FINE * np.arange(N) - 2e-6
LOOSE = "Sample Interval,5.05e-07"
UNNAMED_TIME = {"time_unit": "s", **GAIN}
GOOD |= {
    "tektronix: rounded times and a stated interval": (
        text(*FINE_CLOCK, *FEW_DIGITS), {"force_unit": "N"}, (FINE_TIME, FORCE),
        "agree with the stated interval of 5.0125e-07 s"),
    "the interval of an option for rounded times": (
        text("time [s],bead 3 [N],bead 8 [N]", *FEW_DIGITS), {"interval": FINE}, (FINE_TIME, FORCE),
        "--interval"),
    "tektronix: times that are those of the header": (text(*CLOCK, "TIME,CH1,CH2", *VOLTS), GAIN),
    "tektronix: times before each channel": (
        text(*CLOCK, "TIME,CH1,,TIME,CH2", *rows(force=0.02, line="{t},{a},,{t},{b}")), GAIN),
    "rigol: sequence numbers from 1000": (
        text(*RIGOL, *numbered(1000)), GAIN, (TIME + 1000 * 0.5e-6, FORCE)),
    "rigol: every fourth sequence number": (
        text(*RIGOL, *numbered(0, 4)), GAIN, (4 * (TIME + 2e-6) - 2e-6, FORCE)),
    "rigol: start and increment in the headings, no times": (
        text("CH1(V),CH2(V),t0 =-2.000000e-06, tInc = 5.000000e-07,",
             *rows(force=0.02, line="{a},{b},,")), GAIN),
    "gw instek: detail": (
        text(*("Memory Length,40", "Trigger Level,0.1", "Source,CH1", "Vertical Units,V"),
             *("Horizontal Units,S", "Sampling Period,5.0000E-07", "Mode,Detail", "Waveform Data,"),
             *rows(force=0.02, line="{t},{a},{b},")), GAIN),
    "digilent: comments above the headings": (
        text(*("#Digilent WaveForms Oscilloscope Acquisition", "#Device Name: Discovery2"),
             *("#Sample rate: 2e+06Hz", "#Samples: 40", ""),
             *("Time (s),Channel 1 (V),Channel 2 (V)", *VOLTS)), GAIN),
    "hioki: quoted cells": (
        text(*('"File name","0001WAVE.MEM"', '"Title comment",""', '"Trigger Time","10:00:00"'),
             *('"Time[s]","CH1-1[V]","CH1-2[V]"', *(f'"{t}","{a}","{b}"' for t, a, b in TABLE))),
        {"beads": (3, 8), "gain": 1.0}),
    "dewesoft: tabs and a preamble": (
        text(*("Data file info", "File name: rig.dxd", "Sample rate:\t2000000"),
             *("Time (s)\tbead 3 (N)\tbead 8 (N)", *rows("\t"))), None),
    "hbm catman: decimal commas and tabs": (
        text(*("HBM_CATMAN_DATAFILE_40", "", "T0 = 28.11.2026 10:00:00"),
             *("Time [ms]\tbead 3 [N]\tbead 8 [N]", *rows("\t", ",", time=1e3))), None),
    "siglent: seconds and volts in words": (
        text(*("Record Length,Analog:40", "Sample Interval,0.0000005", "Vertical Units,CH1:V"),
             *("Source,CH1,CH2", "Second,Volt,Volt", *VOLTS)), GAIN),
    "matlab: writematrix": (text(*rows()), SI),
    "a unit of an option for the times of a header": (
        text(*CLOCK[:2], *rows(time=1e6, force=0.02)),
        {"time_unit": "us", "force_unit": "V", **GAIN}),
    "units of options instead of those of the header": (
        text("Horizontal Units,s", "Vertical Units,V", "time,bead 3,bead 8", *rows(time=1e6)),
        {"time_unit": "us", "force_unit": "N"}),
    "numpy: savetxt": (
        text("# time[us] bead3[N] bead8[N]",
             *(f"{1e6 * t:.18e} {a:.18e} {b:.18e}" for t, a, b in TABLE)), None),
    "pandas: the index before the times": (
        text(",time [s],bead 3 [N],bead 8 [N]", *(f"{k},{row}" for k, row in enumerate(rows()))),
        None, None, "the first column, which counts the rows and has no heading, was left out"),
    "pandas: semicolons and decimal commas": (
        text("time [us];bead 3 [N];bead 8 [N]", *rows(";", ",", time=1e6)), None),
    "an empty first cell above the times": (text(",CH1 [V],CH2 [V]", *VOLTS), UNNAMED_TIME),
    "an empty first cell above a line of units": (
        text(",bead 3,bead 8", "(us),(mV),(mV)", *MILLIVOLTS), {"gain": 0.02}),
    "points that separate thousands": (
        text("time [us];bead 3 [mN];bead 8 [mN]",
             *(f"{k};{thousands(1e3 * k)};{thousands(2e3 * k)}" for k in range(40))),
        {"decimal": "comma"}, (1e-6 * np.arange(40), np.outer(np.arange(40), [1.0, 2.0]))),
    "gains with units": (
        text("time [s],a [mV],b [V]", *(f"{t},{18 * a},{0.0225 * b}" for t, a, b in TABLE)),
        {"beads": (3, 8), "gain": "18 mV/N, 22.5 mV/N"}),
    "a gain of -1 for forces": (
        text(HEAD, *(f"{t},{-a},{b}" for t, a, b in TABLE)), {"gain": (-1, 1)}),
    "a gain of -1 for voltages": (
        text("time [s],bead 3 [V],bead 8 [V]", *rows(force=-0.02)), {"gain": "-20 mV/N"}),
}  # fmt: skip
# Units of times in the form that instruments print.
TIME_UNITS = {
    "Time(S)": 1.0,
    "Time (Sec)": 1.0,
    "time [secs]": 1.0,
    "time [mS]": 1e3,
    "Time (uS)": 1e6,
    "time [microsec]": 1e6,
    "time [µsec]": 1e6,
    "time / usec": 1e6,
    "t_ns": 1e9,
    "time [nanoseconds]": 1e9,
}
GOOD |= {
    f"times below {head}": (text(f"{head},bead 3 [N],bead 8 [N]", *rows(time=time)), None)
    for head, time in TIME_UNITS.items()
}
BAD += [
    (text(LOOSE, "Horizontal Units,s", "time,bead 3 [N],bead 8 [N]", *rows()),
     r'"time": the times are 5e-07 s apart, but line 1: 5.05e-07 specifies 5.05e-07 s\. '
     r"They must agree within the last printed digit, and sample 21 does not\. Find out which"),
    (text("time [s],bead 3 [N],bead 8 [N]", *FEW_DIGITS),
     r"the step after sample .* with --resample\. If .* with --interval\.$"),
    (text(*RIGOL, *numbered(0, 1, (12, 17))), GAIN,
     r'"X Sequence": the number 12 is missing after 11\. .* constant stride'),
    (text("time [MS],bead 3 [N],bead 8 [N]", *rows()),
     r'"time \[MS\]": the unit "MS" is unknown\. It must be one of s, ms, us, ns, or ps'),
    (text("time [s],bead 3 [NM],bead 8 [N]", *rows()),
     r'"bead 3 \[NM\]": the unit "NM" is unknown\. It must be one of N, mN, kN,'),
    (PLAIN, {"gain": "20 mV/N"}, r"--gain was set in volts per newton for forces in N"),
    (PLAIN, {"gain": "20 mV/kg"}, r'--gain: "20 mV/kg" is not valid\. It must be a number other'),
    (PLAIN, {"gain": (1, 2, 3)}, r"--gain: 3 numbers for 2 sensors"),
    (PLAIN, {"beads": (3,)}, r"--beads: 1 labels for 2 force columns"),
    (PLAIN, {"beads": (None, None)}, r"--beads: 2 labels for 2 .* and one bead\."),
    (PLAIN, {"time": "zeit"}, r'--time: column "zeit" not found'),
    (PLAIN, {"decimal": "x"}, r"--decimal: 'x' is not valid\. It must be point or comma"),
    (changed(10, "1e999,0,1"), r"time: not a finite number at sample 9"),
    (text("Horizontal Units,us", "time,bead 3 [N],bead 8 [N]", *rows()), {"time_unit": "x"},
     r'"time": the unit "x" is unknown\.'),
]  # fmt: skip
# Content, options, the result if it is not the plain table, and a note; or content, options, and
# words of the message.
GOOD = {name: row + (None, None, "")[len(row) - 1 :] for name, row in GOOD.items()}
BAD = [row if len(row) == 3 else (row[0], None, row[1]) for row in BAD]
