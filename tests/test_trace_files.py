"""Random files of measured forces, as instruments and spreadsheets write them: they are read
correctly or refused."""

import math
import random
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from granchain.errors import FileError, TraceError
from granchain.measured import import_trace, read_trace
from granchain.measured.headings import bead_of
from granchain.measured.text import text_columns
from granchain.show.blocks import time_text

pytestmark = pytest.mark.usefixtures("here")

TIMES = {"s": "1", "ms": "1e-3", "us": "1e-6", "ns": "1e-9", "seconds": "1", "µs": "1e-6"}
FORCES = {"N": "1", "mN": "1e-3", "kN": "1e3", "V": "50", "mV": "0.05", "Volt": "50", "newton": "1"}
# 50 N per volt.
GAIN = 0.02


# 10,000 files in the long set, in parts.
CHUNKS = [(60, 0), *(pytest.param(2000, seed, marks=pytest.mark.long) for seed in range(1, 6))]


class Made:
    """A file, the options that its owner gives, and the exact numbers in the file."""

    def __init__(self, draw):
        self.draw = draw
        self.delimiter = draw.choice([",", ";", "\t", "  "])
        self.decimal = draw.choice([".", ".", ","])
        self.thousands = draw.choice(["", "", "", ".", ",", " ", "'"]).replace(self.decimal, "")
        self.quoted = draw.random() < 0.15 or (
            self.delimiter == "," and "," in (self.decimal, self.thousands) and draw.random() < 0.7
        )
        self.beads = draw.sample(range(1, 70), draw.choice([1, 1, 2, 3]))
        self.doubt = False
        units = draw.choice(list(TIMES)), draw.choice(list(FORCES))
        self.columns = self.numbers(Decimal(TIMES[units[0]]), Decimal(FORCES[units[1]]))
        sizes = [Decimal(TIMES[units[0]]), *[Decimal(FORCES[units[1]])] * len(self.beads)]
        pairs = zip(self.columns, sizes, strict=True)
        self.truth = np.array([[float(value * size) for value in column] for column, size in pairs])
        self.asked = {}
        lines, self.start = self.headings(*units)
        rows = [self.row(cells) for cells in zip(*self.columns, strict=True)]
        if draw.random() < 0.1:
            rows += [self.delimiter * 2 if self.delimiter != "  " else "", ""]
        end = draw.choice(["\n", "\r\n", "\r"])
        content = end.join([*lines, *rows]) + draw.choice(["", end])
        encoding = draw.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"])
        self.content = content.encode(encoding)

    def numbers(self, second, newton):
        """Return times and forces as printed, in their units."""
        draw, count = self.draw, self.draw.choice([12, 40, 90])
        step = Decimal(draw.choice(["1e-7", "2e-7", "5e-7", "1e-6", "4e-5"])) / second
        begin = step * draw.choice([0, 0, -20, 3, 1000])
        amplitude = draw.choice([0.8, 17.0, 2.1e3, 40e3]) / float(newton)
        digits = draw.choice([0, 1, 2, 3, 6])
        columns = [[begin + i * step for i in range(count)]]
        for k in range(len(self.beads)):
            pulse = amplitude * np.exp(-(((np.arange(count) - 8 - 2 * k) / 3.0) ** 2))
            pulse += draw.choice([0.0, 0.0, 0.1, 1.7]) * amplitude
            columns.append([Decimal(f"{value:.{digits}f}") for value in pulse.tolist()])
        return columns

    def cell(self, value):
        style = self.draw.random() if self.thousands == "" else 1.0
        printed = f"{value:E}" if style < 0.1 else f"{value:f}"
        if self.thousands and "E" not in printed:
            printed = f"{Decimal(printed):,f}"
        return printed.replace(".", "@").replace(",", self.thousands).replace("@", self.decimal)

    def row(self, values):
        quote = '"' if self.quoted else ""
        return self.delimiter.join(f"{quote}{self.cell(x)}{quote}" for x in values) + self.tail

    def headings(self, second, newton):
        draw, names = self.draw, []
        self.tail = draw.choice(["", "", "", self.delimiter.strip(" ")])
        styles = ["bead {b}", "Bead {b}", "bead_{b}", "Sensor {k} (bead {b})"]
        style = draw.choice([*styles, "CH{k}", "Sensor {b}", "Bead -{b}", "Bead {b}.5"])
        if style.startswith(("CH", "Sensor {b}", "Bead -", "Bead {b}.")):
            self.asked["beads"] = tuple(self.beads)
        factor = draw.choice(["", "", "", "", " x10", " *1e3", " /100", " (x10)"])
        named = draw.choice(["brackets", "round", "slash", "line", "none", "preamble", "word"])
        names = [style.format(b=bead, k=k) + factor for k, bead in enumerate(self.beads, start=1)]
        if named == "none" or factor:
            # Options replace everything in the headings.
            self.asked |= (
                {"time_unit": second, "force_unit": newton}
                if not factor or draw.random() < 0.5
                else {}
            )
            self.doubt = bool(factor) and "force_unit" not in self.asked
        if FORCES[newton] in ("50", "0.05"):
            self.asked["gain"] = GAIN
        shape = {
            "brackets": "{n} [{u}]",
            "round": "{n} ({u})",
            "slash": "{n} / {u}",
            "word": "{n} in {u}",
        }.get(named, "{n}")
        head = [draw.choice(["Time", "time", "t", "Zeit", "x-axis"]), *names]
        units = [second, *[newton] * len(names)]
        pairs = zip(head, units, strict=True)
        lines = [self.delimiter.join(shape.format(n=name, u=unit) for name, unit in pairs)]
        step = self.columns[0][1] - self.columns[0][0]
        if named == "line":
            lines.append(self.delimiter.join(units))
        if named == "preamble":
            stated = f"{step:E}".replace(".", self.decimal if self.delimiter != "," else ".")
            said = {"Horizontal Units": second, "Vertical Units": newton, "Sample Interval": stated}
            said = [f"{name}{self.delimiter}{value}" for name, value in said.items()]
            lines = ["Model X", *said, draw.choice(["", self.delimiter * len(names)]), *lines]
        if self.delimiter == "  " or (named == "word" and factor):
            # Headings that are separated by white space are ambiguous, so that options must give
            # all information.
            self.asked |= {"beads": tuple(self.beads), "time_unit": second, "force_unit": newton}
            self.doubt = False
            lines = lines if draw.random() < 0.5 else []
        self.clear = not (
            factor or self.thousands or (self.delimiter == "," and self.decimal == ",")
        )
        if not lines:
            self.asked |= {"beads": tuple(self.beads), "time_unit": second, "force_unit": newton}
        if draw.random() < 0.3 and (self.thousands in ("", ".", ",") or self.decimal == ","):
            self.asked["decimal"] = self.decimal
        return lines, step


def wrong(made, trace):
    """Return whether numbers differ from those in the file."""
    if (
        trace.sensor_bead.tolist() != made.beads
        or trace.sensor_force.shape != made.truth[1:].T.shape
    ):
        return True
    # Within the precision of a double; times are rounded to an even grid by less than a tenth of a
    # step.
    step = made.truth[0, 1] - made.truth[0, 0]
    return not (
        np.allclose(trace.sensor_force, made.truth[1:].T, rtol=1e-12, atol=0.0)
        and np.abs(trace.start + trace.time - made.truth[0]).max() < 0.1 * step
    )


@pytest.mark.parametrize(("count", "seed"), CHUNKS)
def test_a_file_made_at_random_comes_in_right_or_is_refused(count, seed, figure):
    draw, wrongs, read, plain = random.Random(seed), [], 0, 0
    for k in range(count):
        made = Made(draw)
        Path("made.csv").write_bytes(made.content)
        try:
            found = import_trace("made.csv", "made", "measured", **made.asked, overwrite=True)
        except (TraceError, FileError) as error:
            found = str(error)
        if isinstance(found, str):
            assert found.startswith("made.csv: ")
        elif made.doubt or wrong(made, found):
            wrongs.append((k, made.content[:300], made.asked))
        # If every character has only one meaning, a refusal is also an error.
        clear = made.clear and "decimal" in made.asked
        plain += clear
        read += clear and not isinstance(found, str)
    figure("files made at random that came in with other numbers", len(wrongs), at_most=0)
    figure("files of one meaning made at random that came in, of all", read / plain, at_least=1.0)


def test_headings_in_a_comment_are_read_and_a_column_that_counts_the_rows_is_none():
    times = 0.5 * np.arange(10)
    rows = [[f"{value:.3f}" for value in (t, t / 7.0, 3.0 - t)] for t in times]
    for head, delimiter in (
        ("# time [us],bead 9 [N],F bead 16 [N]", ","),  # numpy.savetxt
        ("# time (us)   bead 9 (N)   F bead 16 (N)", " "),
        ("# made in May\n#time(us),bead9(N),bead 16 (N)\n#clock=0.5,,", ","),
        (",t_us,F_bead9_N,F_bead16_N", ","),  # pandas, with the index column
    ):
        index = head.startswith(",")
        lines = [delimiter.join([str(i)] * index + row) for i, row in enumerate(rows)]
        columns = text_columns("\n".join([head, *lines]).encode()).columns[index:]
        assert [column.unit for column in columns] == ["us", "N", "N"], head
        assert [bead_of(column.name) for column in columns] == [None, 9, 16], head
        assert columns[0].values == pytest.approx(times)
        Path("made.csv").write_text("\n".join([head, *lines]))
        trace = read_trace("made.csv")
        assert trace.sensor_bead.tolist() == [9, 16], head
        assert ("was left out" in " ".join(trace.notes)) == index, head


# Three clocks of digitizers after a long time. Times in seconds.
LONG_CLOCKS = [(45_000.0, 250e-9), (1_000.0, 25e-9), (100.0, 100e-12)]


def imported_and_read(start, step):
    """Return an imported trace, and the trace that is read from its folder."""
    times = start + step * np.arange(40)
    force = np.exp(-(((np.arange(40) - 20) / 5.0) ** 2))
    rows = [f"{time!r},{f!r}" for time, f in zip(times.tolist(), force.tolist(), strict=True)]
    Path("long.csv").write_text("\n".join(["time [s],bead 3 [N]", *rows]) + "\n")
    return import_trace("long.csv", "long", "measured", overwrite=True), read_trace("long")


def test_times_that_are_large_compared_with_the_step_are_read_again_and_shown(obeyed):
    command = ["traces", "import", "long.csv", "--kind", "measured", "--out", "long", "--overwrite"]
    for start, step in LONG_CLOCKS:
        imported, stored = imported_and_read(start, step)
        assert np.array_equal(imported.time, stored.time), start
        assert stored.interval == pytest.approx(step, rel=1e-3), start
        # tables show the time of a peak within one step
        bead, _, microseconds = obeyed(*command).out.splitlines()[2].split()[:3]
        off = Decimal(microseconds) * Decimal("1e-6") - Decimal(start + 20 * step)
        assert bead == "3" and abs(off) < step


@pytest.mark.long
def test_an_imported_trace_has_the_same_times_when_it_is_read_again():
    draw = random.Random(10)
    for _ in range(100):
        step = 10.0 ** draw.uniform(-12.0, 0.0)
        # A double has a relative error of 2.2e-16: after 1e11 steps, a step is exact within 1e-4.
        start = draw.choice((-1.0, 1.0)) * step * 10.0 ** draw.uniform(0.0, 11.0)
        imported, stored = imported_and_read(start, step)
        assert np.array_equal(imported.time, stored.time), (start, step)
        assert stored.sensor_force == pytest.approx(imported.sensor_force, rel=1e-11)


def test_a_time_in_a_table_has_six_digits_or_what_its_uncertainty_needs():
    assert time_text(62.5e-6, 1e-8) == "62.5000"
    assert time_text(45_000.0000051, 25e-9) == "45000000005.100"
    assert time_text(45_000.0000051, None) == time_text(45_000.0000051, math.nan) == "4.50000e+10"
    assert time_text(None, 1e-8) == "-" and time_text(0.0, 1e-8) == "0"


def test_a_stated_interval_or_rate_must_agree_with_the_times():
    path, rows = Path("a.csv"), [f"{2.5e-7 * k:.3e},{0.1 * k:.4f}\n" for k in range(60)]
    lines = "Sample Interval [s],{0!r}", "Sampling rate: {1!r} MHz", "Sample Rate (MSa/s),{1!r}"
    for line in lines:
        right, wrong = (
            f"{line.format(interval, 1e-6 / interval)}\ntime [s],bead 9 [N]\n{''.join(rows)}"
            for interval in (2.5e-7, 2.6e-7)
        )
        path.write_text(right)
        assert read_trace(path).time[1] == 2.5e-7, line
        path.write_text(wrong)
        with pytest.raises(TraceError, match=r"specifies 2\.6e-07 s"):
            read_trace(path)
