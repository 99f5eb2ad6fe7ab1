"""Drives of ends and beads: tables from files or lists, and signals (harmonic, chirp, noise, pulse)
as tables of times, values, and slopes. Each form is checked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granchain.case.document import csv_numbers, csv_rows, text_of_file
from granchain.case.tables import DRIVE_TABLE, SIGNAL_KEYS, DriveTable, TimeTable
from granchain.keys import Problems, add_missing, brief

# A cubic through values and slopes at knots h apart has the error f x^2 (h - x)^2/24: at most
# h^4 f/384, in the middle, and in the slope h^3 f sqrt(3)/216, at h (1/2 - sqrt(1/12)). With
# f = (2 pi F)^4 and h = 1/(128 F), this is 1.5e-8 of the amplitude and 9.5e-7 of the largest speed:
# a tenth of the energy-balance error of the step "auto", 1e-5.
KNOTS_PER_PERIOD = 128
# Maximum number of knots (our choice): their times, values, slopes, and cubics take 0.25 GiB of the
# 8 GiB that a run may use.
MOST_KNOTS = 2**22
# A gaussian pulse has six standard deviations on each side. It is cut off at exp(-18) = 1.5e-8 of
# its height, and this value is subtracted.
GAUSSIAN_WIDTHS = 12.0


class Drive(NamedTuple):
    """Table of a drive: times [s], displacements [m] or forces [N], and their slopes if known."""

    time: np.ndarray
    value: np.ndarray
    slope: np.ndarray | None = None


def bounding_frequency(table: Any) -> float:
    """Return a frequency F [Hz] that bounds the fourth derivative of a signal.

    The derivative is at most (2 pi F)^4 times the amplitude.
    """
    if table.signal == "pulse":
        # Half a period. For a gaussian, 3^(1/4)/(2 pi) = 0.2095 divided by the standard deviation.
        return (
            0.5 / table.duration
            if table.shape == "half-sine"
            else 0.2095 * GAUSSIAN_WIDTHS / table.duration
        )
    if table.signal == "harmonic" and table.ramp_from:
        # The k-th derivative of the ramp is below (840^(1/4)/ramp)^k. The derivatives of the angle
        # thus add less than 1.5 times this frequency, and those of the amplitude add it once (see
        # `_with_ramps`).
        return float(max(table.frequency, table.ramp_from[1]) + 2.5 * 0.857 / table.ramp)
    if table.signal == "harmonic":
        top = table.frequency
    elif table.signal == "noise":
        top = table.band[1]
    else:
        # For sin(p) with p'' = c: p'^4 + 6 c p'^2 + 3 c^2 < (p' + (3 c^2)^(1/4))^4, and
        # (3 (2 pi)^2)^(1/4)/(2 pi) = 0.5251.
        rate = abs(table.to - getattr(table, "from")) / table.duration
        top = max(getattr(table, "from"), table.to) + 0.5251 * math.sqrt(rate)
    # The k-th derivative of the ramp factor is below (840^(1/4)/ramp)^k, and
    # 840^(1/4)/(2 pi) = 0.857 (see `_with_ramps`).
    return float(top + (0.857 / table.ramp if table.ramp else 0.0))


def signal_duration(table: Any, run: float) -> float:
    """Return the duration of a signal [s]; by default the complete run."""
    return run if table.duration is None else float(table.duration)


def signal_table(table: Any, run: float, period: float | None = None) -> Drive:
    """Return the table of a signal for a run of this length [s].

    A signal without a duration continues for two periods after the run, because the last step may
    end after it. `period` is the period of noise without a duration [s]; by default the run.
    """
    if table.signal == "noise":
        return _noise(table, run, period or run)
    duration = signal_duration(table, run)
    spacing = 1.0 / (KNOTS_PER_PERIOD * bounding_frequency(table))
    n = math.ceil(duration / spacing)
    time: np.ndarray = (
        np.linspace(0.0, duration, n + 1)
        if table.duration is not None
        else spacing * np.arange(n + 2 * KNOTS_PER_PERIOD)
    )
    if table.signal == "pulse" and table.shape == "half-sine":
        angle = math.pi * time / duration
        value, slope = np.sin(angle), math.pi / duration * np.cos(angle)
        value[-1] = 0.0
    elif table.signal == "pulse":
        deviation = duration / GAUSSIAN_WIDTHS
        x = (time - 0.5 * duration) / deviation
        foot = math.exp(-0.125 * GAUSSIAN_WIDTHS * GAUSSIAN_WIDTHS)
        bell = np.exp(-0.5 * x * x)
        value, slope = (bell - foot) / (1.0 - foot), -x * bell / (deviation * (1.0 - foot))
        value[[0, -1]] = 0.0
    elif table.ramp_from:
        return _with_constant(table, _ramped_from(table, time))
    else:
        first, rate = table.frequency, 0.0
        if table.signal == "chirp":
            first = getattr(table, "from")
            rate = (table.to - first) / table.duration
        periods, frequency = (first + 0.5 * rate * time) * time, first + rate * time
        angle = 2.0 * math.pi * periods + (table.phase or 0.0)
        slope = 2.0 * math.pi * frequency * np.cos(angle)
        value, slope = _with_ramps(table, time, np.sin(angle), slope)
    return _with_constant(table, Drive(time, table.amplitude * value, table.amplitude * slope))


def _with_constant(table: Any, drive: Drive) -> Drive:
    """Add the constant part to a signal, multiplied by the ramps."""
    time, value, slope = drive
    if not table.dc:
        return drive
    constant, change = _with_ramps(table, time, np.full(time.size, table.dc), np.zeros(time.size))
    return Drive(time, value + constant, slope + change)


def _with_ramps(
    table: Any, time: np.ndarray, value: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Multiply a signal by a factor that rises from 0 to 1 and falls back before the end.

    35 x^4 - 84 x^5 + 70 x^6 - 20 x^7: the lowest polynomial with three derivatives of zero at both
    ends. Its derivatives reach 2.19, 7.51, 52.5 and 840, each below 840^(k/4).
    """
    if not table.ramp:
        return value, slope
    whole = math.inf if table.duration is None else table.duration
    (rise, up), (fall, down) = (_ramp(t / table.ramp) for t in (time, whole - time))
    if table.ramp_from:
        # The constant part does not start from 0.
        rise, up = np.ones_like(rise), np.zeros_like(up)
    factor, steepness = rise * fall, (up * fall - rise * down) / table.ramp
    return value * factor, slope * factor + value * steepness


def _ramp(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor of a ramp at fractions of its duration, and its slope."""
    x = np.clip(x, 0.0, 1.0)
    rise = x * x * x * x * (35.0 + x * (-84.0 + x * (70.0 - 20.0 * x)))
    return rise, 140.0 * (x * (1.0 - x)) ** 3


def _ramped_from(table: Any, time: np.ndarray) -> Drive:
    """Return a harmonic that changes from the amplitude and frequency of `ramp_from`."""
    amplitude, frequency = table.ramp_from
    rise, up = _ramp(time / table.ramp)
    size = amplitude + (table.amplitude - amplitude) * rise
    growth = (table.amplitude - amplitude) * up / table.ramp
    angle = phase_at(table, time)
    sine, cosine = np.sin(angle), np.cos(angle)
    turning = 2.0 * math.pi * (frequency + (table.frequency - frequency) * rise)
    return Drive(time, size * sine, growth * sine + size * turning * cosine)


def phase_at(table: Any, time: Any) -> Any:
    """Return the phase of a harmonic at a time [rad]."""
    periods = table.frequency * time
    if table.ramp_from:
        x = np.clip(time / table.ramp, 0.0, 1.0)
        # Integral of the ramp factor; it is 1/2 over the complete ramp.
        risen = x * x * x * x * x * (7.0 + x * (-14.0 + x * (10.0 - 2.5 * x)))
        before, past = table.ramp_from[1] - table.frequency, np.maximum(time - table.ramp, 0.0)
        periods = periods + before * (time - table.ramp * risen - past)
    return 2.0 * math.pi * periods + (table.phase or 0.0)


def spectral_lines(table: Any, run: float) -> tuple[int, int]:
    """Return the numbers of periods of the first and the last spectral line of noise."""
    whole = signal_duration(table, run)
    return math.ceil(table.band[0] * whole), math.floor(table.band[1] * whole)


def _noise(table: Any, run: float, period: float) -> Drive:
    """Return noise from spectral lines of equal amplitude and random phase in the band.

    The lines are at all whole numbers of periods, so that the mean square of one period is exact.
    """
    duration, (first, last) = signal_duration(table, period), spectral_lines(table, period)
    n = math.ceil(KNOTS_PER_PERIOD * bounding_frequency(table) * duration)
    # The raw stream of a bit generator is the same in all versions of NumPy (NEP 19); random() need
    # not be.
    raw = np.random.PCG64(table.seed).random_raw(last - first + 1)
    phases = np.exp(2j * math.pi * ((raw >> np.uint64(11)) * 2.0**-53))
    spectrum = np.zeros(n // 2 + 1, dtype=complex)
    spectrum[first : last + 1] = 0.5 * n * table.rms * math.sqrt(2.0 / (last - first + 1)) * phases
    value = np.fft.irfft(spectrum, n)
    slope = np.fft.irfft(spectrum * (2j * math.pi / duration) * np.arange(spectrum.size), n)
    # The noise is periodic.
    many = n + 1
    if table.duration is None:
        many = (n if run == duration else math.ceil(run * n / duration)) + 2 * KNOTS_PER_PERIOD
    knots = np.arange(many)
    time = knots * (duration / n)
    value, slope = _with_ramps(table, time, value[knots % n], slope[knots % n])
    return _with_constant(table, Drive(time, value, slope))


# --------------------------------------------------------------------------------------------------
# Tables of drives, and checks


def lists_in_place_of_files(
    tables: dict[str, Any], folder: Path | None, problems: Problems
) -> dict[str, Any]:
    """Return the tables of a case with the lists time and value for each drive with a file."""
    ends, drives = tables.get("ends"), tables.get("drive")
    changed: dict[str, Any] = {}
    if isinstance(ends, dict):
        keys = {name: f"ends.{name}" for name in ends}
        changed["ends"] = {
            name: _with_lists(where, ends[name], folder, problems) for name, where in keys.items()
        }
    if isinstance(drives, list):
        changed["drive"] = [
            _with_lists(f"drive.{i}", table, folder, problems) for i, table in enumerate(drives)
        ]
    return tables | changed


def _with_lists(where: str, table: Any, folder: Path | None, problems: Problems) -> Any:
    """Return the table of a drive with the columns of its file, if it has only a file."""
    if not isinstance(table, dict) or not isinstance(table.get("file"), str):
        return table
    if {"time", "value", "signal"} & table.keys():
        return table
    where, name = f"{where}.file", brief(table["file"])
    columns = "The columns are time [s] and displacement [m] or force [N]"
    text = text_of_file(where, table["file"], folder, problems)
    if text is None:
        return table
    rows = []
    for index, (line, cells) in enumerate(csv_rows(text)):
        numbers = csv_numbers(cells)
        if len(numbers) == 2 and all(map(math.isfinite, numbers)):
            rows.append(numbers)
        elif index or cells[0].startswith(tuple("+-.0123456789")):
            # Report the line number only: a case may refer to any file, so it is not quoted.
            problems.add(
                where,
                f"{name}, line {line}, does not have two finite numbers",
                columns,
                "Write a comma between the columns and decimal points in the numbers",
            )
            return table
    if not problems.check(bool(rows), where, f"{name} has no rows", columns):
        return table
    time, value = map(list, zip(*rows, strict=True))
    return {key: table[key] for key in table if key != "file"} | {"time": time, "value": value}


def check_keys(where: str, table: DriveTable, problems: Problems) -> None:
    """Check that a drive has all keys of a file, of lists, or of its signal, and no others."""
    form = "time and value"
    needed: tuple[str, ...] = ("time", "value")
    optional: tuple[str, ...] = ()
    if table.signal is not None:
        required, optional = SIGNAL_KEYS[table.signal]
        form, needed = f'signal = "{table.signal}"', ("signal", *required)
    elif table.file is not None:
        form, needed = "file", ("file",)
    elif table.time is None or table.value is None:
        problems.check(
            not problems.clear(where),
            where,
            "the drive has neither a file, nor both time and value, nor a signal",
            "Give one of these",
        )
        return
    for name in DRIVE_TABLE.model_fields:
        location, accepted = f"{where}.{name}", (*needed, *optional)
        if getattr(table, name) is None and name in needed and problems.clear(location):
            add_missing(DRIVE_TABLE, name, location, problems)
        elif getattr(table, name) is not None and name not in ("drive", *accepted):
            problems.add(
                location,
                f"not allowed with {form}",
                f"The keys are {', '.join(accepted)}",
                "Remove the key",
            )


def table_of_lists(table: DriveTable) -> Drive:
    """Return the table of a drive that has the lists time and value."""
    return Drive(np.array(table.time, dtype=float), np.array(table.value, dtype=float))


def check_signal(where: str, table: DriveTable, time: TimeTable | None, problems: Problems) -> None:
    """Check that a signal starts and ends at rest, and that its table has a bounded size."""
    ramp, duration, ramp_key = table.ramp or 0.0, table.duration, f"{where}.ramp"
    band = table.band or ()
    problems.check(
        table.band is None or (len(band) == 2 and 0.0 < band[0] < band[1]),
        f"{where}.band",
        f"the band {' and '.join(f'{edge:g}' for edge in band[:3])} is not valid"
        if band
        else "the list is empty",
        "A band has two edges above 0 [Hz], the lower edge first",
    )
    if table.ramp_from is not None:
        good = len(table.ramp_from) == 2 and all(map(math.isfinite, table.ramp_from))
        problems.check(
            good and table.ramp_from[1] > 0.0 and ramp > 0.0 and duration is None,
            f"{where}.ramp_from",
            f"{brief(list(table.ramp_from[:3]))} is not valid",
            "It must be an amplitude and a frequency above 0, with a ramp and without a duration",
            "Write for example ramp_from = [1e-8, 5e3], and give the ramp [s]",
        )
    whole = math.inf if duration is None else duration
    problems.check(
        ramp <= 0.5 * whole or not problems.clear(ramp_key, f"{where}.duration"),
        ramp_key,
        f"{ramp:g} is out of range",
        f"It must be at most half the duration, {0.5 * whole:g}, because the signal ramps at both "
        "ends",
        "Shorten the ramp, or lengthen the signal",
    )
    shifted = " and ".join(f"the {name}" for name in ("phase", "dc") if getattr(table, name))
    problems.check(
        table.drive != "displacement"
        or bool(ramp)
        or not (table.signal == "noise" or shifted)
        or not problems.clear(ramp_key, *(f"{where}.{name}" for name in ("signal", "phase", "dc"))),
        ramp_key,
        "missing, but needed because the displacement does not begin at 0",
        "It must be a number above 0",
        "Give the rise time [s] of the signal" + (f", or remove {shifted}" if shifted else ""),
    )
    if time is None or not problems.clear(where, "time.end"):
        return
    problems.check(
        whole >= time.end or bool(ramp) or table.signal == "pulse",
        ramp_key,
        f"missing, but needed because the signal ends at {whole:g} s, before the run",
        f"It must be a number above 0, or the duration {time.end:g} or more",
        "Give a ramp [s], so that the signal ends at rest",
    )
    # The coefficients of the cubics grow with the third power of the frequency of a knot.
    step, span = KNOTS_PER_PERIOD * bounding_frequency(table), signal_duration(table, time.end)
    size = max(abs(table.amplitude or table.rms or 0.0), abs((table.ramp_from or (0.0,))[0]))
    size += abs(table.dc or 0.0)
    if not KNOTS_PER_PERIOD * (span * bounding_frequency(table) + 2.0) <= MOST_KNOTS:
        problems.add(
            where,
            f"{span:g} s of a signal with {bounding_frequency(table):.3g} Hz are too long",
            f"A signal may have at most {MOST_KNOTS // KNOTS_PER_PERIOD - 2} periods",
            "Shorten the signal or the run, or choose a lower frequency or a longer ramp",
        )
    elif not math.isfinite(size * step * step * step):
        problems.add(
            where,
            f"{size:g} at {bounding_frequency(table):.3g} Hz is out of range",
            "The slopes of the signal must be finite",
            "Choose a smaller or a longer signal",
        )
    elif table.band is not None:
        first, last = spectral_lines(table, time.end)
        problems.check(
            first <= last,
            f"{where}.band",
            f"{table.band[0]:g} to {table.band[1]:g} Hz is too narrow",
            f"The band must contain a multiple of {1.0 / span:.6g} Hz, the inverse of the "
            "length of the signal",
            "Widen the band, or lengthen the signal",
        )


def check_drive(
    where: str, drive: str, table: Drive, time_table: TimeTable | None, problems: Problems
) -> None:
    """Check that a drive has increasing times, and covers the run or ends at rest."""
    time, value, _ = table
    if time.size != value.size or not time.size:
        problem = f"there are {time.size} times and {value.size} values"
        problems.add(where, problem, "The lists must have the same length, at least one")
        return
    forward = time[1:] > time[:-1]
    # A drive that ends at rest continues with its last value.
    force_ends = drive == "force" and value[-1] == 0.0
    at_rest = value.size > 1 and (value[-1] == value[-2] or force_ends)
    if not forward.all():
        problems.add(
            where,
            f"the time in row {int(np.argmin(forward)) + 2} is not later than the time before",
            "Times must increase from row to row",
            "Sort the rows, and remove duplicates",
        )
    elif (
        time_table is not None
        and problems.clear("time.end")
        and not (time[0] <= 0.0 and (time[-1] >= time_table.end or at_rest))
    ):
        # The values are not quoted, because the table may come from any file.
        problems.add(
            where,
            "the times end before the run, and the last value still changes"
            if time[0] <= 0.0
            else "the times begin after 0",
            "The table must start at 0 and reach the end of the run at "
            f"{time_table.end:g} s, or end at rest with two equal values",
            "Extend the table, or shorten the run",
        )
