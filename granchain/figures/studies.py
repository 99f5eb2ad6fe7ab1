"""Figures of a study: curves with bands over draws, maps over two keys, power laws with fitted
exponents, and distributions.

A study may have more dimensions than a figure. Draws become bands. Of any other dimension, the
value in the middle is plotted, and the heading reports it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from granchain.analysis import power_law
from granchain.errors import GranchainError
from granchain.figures.bands import band_traces, sensitivities
from granchain.figures.frame import (
    BAR,
    GREY,
    LOG_SPAN,
    MOST_KEYS,
    MOST_LINES,
    Axes,
    Figure,
    Sheet,
    evenly_spaced,
    full_height,
    largest,
    late_pulses,
    look,
    make_log,
    mark_values,
    named_laws,
    number_words,
    palette,
    scaled,
    set_panel,
    small_type,
    styled,
    ticks_at,
    time_unit,
    unknown,
)
from granchain.figures.pulses import MOST_MISFIT
from granchain.status import Status
from granchain.store.schema import unit_of_attributes

# Factor between values above which the colours are logarithmic; colour of cells without a value.
DECADE, MISSING = 10.0, "#e4e4e4"
# Values that spread by less than this fraction of the largest share a colour and an axis range.
HARDLY = 0.01
# Quantiles of the draws: a band from 5 to 95 % around the median.
SHADED_QUANTILES = (0.05, 0.5, 0.95)
# Smallest number of draws, or runs, for a distribution.
LEAST_DISTRIBUTION = 16
# Values of each member that are plotted, in addition to summaries.
FEATURES = ("wave_speed", "transmitted_momentum", "transmitted_energy")
OF_THE_SUMMARY = "of the summary: "
# Dimensions that are not keys of the case.
_OWN_VARIABLES = ("draw", "run", "sensor_bead", "sample", "mode")


class Shown(NamedTuple):
    """Values of a variable for a figure.

    Parameters
    ----------
    values : array
        Values along the requested dimensions that exist, in the unit of the axis.
    axis : str
        Label of their axis.
    labels : list of str
        Label of each line; empty for a single line.
    notes : list of str
        Values that were chosen along the other dimensions.
    """

    values: np.ndarray
    axis: str
    labels: list[str]
    notes: list[str]


def shown_values(
    study: Any, name: str, lines: str | None, *along: str, most: int = MOST_LINES
) -> Shown:
    """Return the values of a variable along dimensions, the lines first.

    If there are many lines, evenly spaced ones are returned; without `lines`, there is one line. Of
    any other dimension, the value in the middle is used, and of sensors the last bead with a value.
    """
    if not hasattr(study, "data_vars"):
        got = f'"{study[:60]}"' if isinstance(study, str) else f"a {type(study).__name__}"
        raise GranchainError(
            f"study: {got} is not a study. It must be the Dataset of a study. Create one with "
            "granchain.sweep, or open its file with xarray.open_dataset(FILE, "
            "engine='h5netcdf')."
        )
    if name not in study_numbers(study):
        known = study_numbers(study)
        raise unknown("study", name, known, f"a variable of the study: {', '.join(known)}")
    values, notes, labels = study[name], [], []
    for dim in filter(None, (lines, *along)):
        if dim not in values.dims and dim != "draw":
            dims = ", ".join(map(str, values.dims)) or "none, because it is a single number"
            raise unknown("study", dim, values.dims, f"a dimension of {name}: {dims}")
    for other in [dim for dim in values.dims if dim not in (lines, *along)]:
        place = len(study[other]) // 2
        if other == "sensor_bead":
            found = values.notnull().any([dim for dim in values.dims if dim != other])
            place = int(np.flatnonzero(found).max(initial=0))
        notes.append(f"at {study_words(study, str(other), place)}")
        values = values.isel({other: place})
    if lines is None:
        values = values.expand_dims("one line")
    else:
        places, note = evenly_spaced(len(study[lines]), most, f"values of {lines}")
        notes += [note] if note else []
        values = values.isel({lines: places})
        labels = [study_words(study, lines, place) for place in places]
    if "draw" not in values.dims and "draw" in along:
        values = values.expand_dims("draw")
    elif along[1:] and along[-1] == "draw":
        band = ": median, and 5 to 95 %" if len(study["draw"]) > 2 else ": median"
        notes.append(f"{len(study['draw'])} draws{band}")
    numbers = np.asarray(values.transpose(lines or "one line", *along).values, dtype=float)
    factor, axis = label_of(study, name, largest(numbers))
    return Shown(factor * numbers, axis, labels, notes)


def study_words(study: Any, key: str, place: int) -> str:
    """Format a value of a coordinate."""
    value = study[key].values[place]
    if key == "sensor_bead":
        return f"bead {value}"
    if key == "run":
        # Keys that vary together along the runs.
        beside = [name for name in study.coords if study[name].dims == ("run",) and name != "run"]
        words = ", ".join(study_words(study, str(name), place) for name in beside)
        return words if 0 < len(beside) <= MOST_KEYS else f"run {value}"
    if isinstance(value, float) and np.isnan(value):
        return f"no {key_words(key)}"
    if key in ("contact.law", "law"):
        return str(value)
    if key == "contact" and "law" in study.coords:
        # The law's name, and the index of its table if several tables have the same law.
        names = [str(name) for name in np.atleast_1d(study["law"].values)]
        name = names[place]
        return name if names.count(name) == 1 else f"{name}, table {place + 1}"
    factor, unit = unit_of(study, key, 0.0)
    text = f"{factor * value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
    return f"{key_words(key)} {text}" + (f" {unit}" if unit not in ("", "1") else "")


def study_numbers(study: Any) -> list[str]:
    """List the variables with one number per member or per sensor."""
    return [
        str(name)
        for name, values in study.data_vars.items()
        if values.dtype.kind == "f" and not {"sample", "snapshot", "line"} & {*values.dims}
    ]


def unit_of(study: Any, name: str, size: float) -> tuple[float, str]:
    """Return factor and unit for the size of a variable, or of all values of a key."""
    unit = unit_of_attributes(study[name].attrs)
    if name not in study.data_vars and study[name].dtype.kind in "fiu":
        size = largest(study[name].values)
    if unit == "s":
        return time_unit(size)
    large = unit in ("Pa", "Hz") or (unit in ("N", "m", "kg") and size > 0.0)
    return scaled(size, unit) if large else (1.0, unit)


def label_of(study: Any, name: str, size: float = 0.0) -> tuple[float, str]:
    """Return factor and axis label of a variable or a key."""
    factor, unit = unit_of(study, name, size)
    words = "bead" if name == "sensor_bead" else key_words(name)
    return factor, words if name == "sensor_bead" or unit in ("", "1") else f"{words} [{unit}]"


def key_words(name: str) -> str:
    """Return the name of a variable or a key of the case for a figure."""
    for table in ("contact.", "chain.material.", "chain."):
        name = name.removeprefix(table)
    words = name.replace(".", " ").replace("_", " ")
    return words.replace("youngs", "Young's").replace("poissons", "Poisson's")


def write_study_heading(
    study: Any, sheet: Sheet, name: str, notes: list[str]
) -> tuple[Figure, Any]:
    """Write the heading of a study's figure; its title begins with the variable."""
    states = study["status"].values if "status" in study else np.array([])
    failed = int((states != Status.COMPLETE.label).sum())
    laws = named_laws([str(study.attrs.get("law", ""))])
    more = f"{failed} not complete" if failed else ""
    what = key_words(name)
    title = f"{what[:1].upper()}{what[1:]}: {study.attrs.get('title', 'study')}"
    members = f"{states.size} members" if "status" in study else ""
    # Without the list of sensors, which may be long, and without the advice.
    of_pulses = "sensor_bead" in study[name].dims or name == "wave_speed"
    late = late_pulses(study) if of_pulses else ""
    return sheet.write(title, "simulated", laws, members, *notes, more, late)


def number_values(study: Any, key: str, what: str) -> tuple[np.ndarray, str]:
    """Return the values of a numeric coordinate in the unit of its axis, and a label."""
    values = np.asarray(study[key].values)
    if values.dtype.kind not in "fiu":
        raise GranchainError(
            f"{what}: the values of {key} are text. A key with numbers is required. Plot one "
            "line for each of them instead."
        )
    factor, label = label_of(study, key)
    return factor * values, label


def in_order(study: Any, *keys: str) -> Any:
    """Return a study sorted by its numeric keys."""
    numbered = [key for key in keys if key in getattr(study, "coords", ())]
    numbered = [key for key in numbered if study[key].dtype.kind in "fiu"]
    return study.sortby(numbered) if numbered else study


def lines_over(
    found: Shown, over: tuple[np.ndarray, str], labels: list[str], ax: Any, wide: bool
) -> Sheet:
    """Plot medians over draws versus a dimension, with bands between quantiles."""
    x, name = over
    sheet = Sheet(ax, 8.0 if wide else 6.4, 4.2)
    edges = [band_edge(found.values, part) for part in SHADED_QUANTILES]
    for i, (low, middle, high) in enumerate(zip(*edges, strict=True)):
        if found.values.shape[-1] > 2:
            sheet.top.fill_between(x, low, high, color=look(i)["color"], alpha=0.2, linewidth=0.0)
        mark_values(sheet.top, x, middle, **look(i), label=labels[i] if labels else None)
    if len(labels) > 1:
        sheet.legend(sheet.top, beside=True)
    elif labels:
        sheet.top.legend(loc="best")
    sheet.top.set(xlabel=name, ylabel=found.axis)
    return sheet


def band_edge(values: np.ndarray, quantile: float) -> np.ndarray:
    """Return a quantile along the last axis, or nan if there are no finite values."""
    good = np.isfinite(values).any(axis=-1, keepdims=True)
    edge: np.ndarray = np.nanquantile(np.where(good, values, 0.0), quantile, axis=-1)
    return np.where(good[..., 0], edge, math.nan)


@styled
def study_curves(
    study: Any,
    name: str = "peak",
    along: str = "sensor_bead",
    lines: str | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Plot a variable along a dimension of a study.

    Each value of another dimension has a line. Draws are shown by their median and a band from 5 to
    95 %.

    Parameters
    ----------
    study : xarray.Dataset
        Result of `granchain.sweep`.
    name : str
        Name of the variable.
    along, lines : str
        Names of dimensions.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    study = in_order(study, along)
    found = shown_values(study, name, lines, along, "draw")
    x, label = number_values(study, along, "study_curves")
    sheet = lines_over(found, (x, label), found.labels, ax, wide=bool(lines))
    if along != "sensor_bead" and spans(x):
        make_log(sheet.top, "x", x)
    if along == "sensor_bead":
        set_panel(sheet.top, integer="x", xlim=(0.0, 1.02 * float(x[-1])))
    else:
        sheet.top.margins(x=0.02)
    low, high = sheet.top.dataLim.intervaly
    if 0.0 < low < 0.5 * high:
        sheet.top.set_ylim(0.0, 1.05 * high)
    elif high - low < HARDLY * max(abs(low), abs(high)):
        sheet.top.set_ylim(full_height(found.values))
    return write_study_heading(study, sheet, name, found.notes)


@styled
def study_power_law(
    study: Any, name: str, along: str, lines: str | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot a variable versus a key on logarithmic axes, with a fitted power law.

    The power law is fitted to all draws, and the figure shows the standard error of its exponent.

    Parameters
    ----------
    study, name, along, lines, ax
        See `study_curves`. The values and the key must be above 0.

    Returns
    -------
    Figure, Axes
    """
    study = in_order(study, along)
    found = shown_values(study, name, lines, along, "draw")
    x, label = number_values(study, along, "study_power_law")
    fits = [power_law(np.repeat(x, line.shape[-1]), line.ravel()) for line in found.values]
    words = [f"{word}: " for word in found.labels] or [""]
    middles = band_edge(found.values, 0.5)
    labels, followed = [], []
    for word, fit, line in zip(words, fits, middles, strict=True):
        # Several draws are shown by their median.
        off = largest(line / (fit.factor * x**fit.value) - 1.0)
        number = f"{fit.value:.4f}".replace("-", "\N{MINUS SIGN}")
        exponent = (
            f"exponent {number} \N{PLUS-MINUS SIGN} {number_words(float(f'{fit.error:.1g}'))}"
        )
        followed.append(np.count_nonzero(np.isfinite(line)) > 1 and off <= MOST_MISFIT)
        none = f"no power law, best fit deviates by {100.0 * off:.2g} %"
        labels.append(word + (exponent if followed[-1] else none))
    sheet = lines_over(found, (x, label), labels, ax, wide=bool(lines))
    for fit, follows, middle in zip(fits, followed, middles, strict=True):
        if follows:
            there = x[np.isfinite(middle)]
            line = fit.factor * there**fit.value
            sheet.top.plot(there, line, "--", color=GREY, linewidth=0.8, label="_fit")
    make_log(sheet.top, "x", x)
    make_log(sheet.top, "y", found.values)
    sheet.top.margins(x=0.02, y=0.06)
    notes = ["dashed: fitted power law"] if any(followed) else []
    return write_study_heading(study, sheet, name, [*found.notes, *notes])


@styled
def study_hysteresis(
    study: Any, name: str = "force_amplitude", ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot a variable of a chained study versus the value that rose and fell.

    Each direction has a line, with error bars if the variable has an error.

    Parameters
    ----------
    study : xarray.Dataset
        Result of `granchain.sweep` with chained=True, or several such results in sequence.
    name : str
        Name of the variable.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    found = shown_values(study, name, None, "run")
    keys = [str(key) for key in study.coords if key != "run" and study[key].dims == ("run",)]
    if len(keys) != 1:
        raise GranchainError(
            f"study_hysteresis: the study has {len(keys)} keys along run. Exactly one is "
            "required. Create the study with granchain.sweep(..., chained=True)."
        )
    (x, label), sheet = number_values(study, keys[0], "study_hysteresis"), Sheet(ax, 6.4, 4.2)
    turns = np.flatnonzero(np.diff(np.sign(np.diff(x)))) + 1
    error = _error_of(study, name)
    for i, (first, last) in enumerate(pairwise([0, *turns.tolist(), len(x) - 1])):
        way = slice(first, last + 1)
        style = look(i) | {"marker": "^" if x[last] > x[first] else "v", "markersize": 4.0}
        words = "up" if x[last] > x[first] else "down"
        sheet.top.plot(x[way], found.values[0][way], **style, label=words)
        if error is not None:
            sheet.top.errorbar(
                x[way], found.values[0][way], error[way], fmt="none", ecolor=style["color"]
            )
    set_panel(sheet.top, integer="", xlabel=label, ylabel=found.axis)
    sheet.legend(sheet.top, inside={"loc": "best"})
    return write_study_heading(study, sheet, name, found.notes)


def _error_of(study: Any, name: str) -> np.ndarray | None:
    """Return the (run,) error of a variable as its figure shows it.

    It has the unit and the sensor of that figure. Return None if the study has no such error.
    """
    if f"{name}_error" not in study:
        return None
    values, error = study[name], study[f"{name}_error"]
    if "sensor_bead" in values.dims:
        known = values.notnull().any([dim for dim in values.dims if dim != "sensor_bead"])
        at = int(np.flatnonzero(known).max(initial=0))
        values, error = (one.isel(sensor_bead=at) for one in (values, error))
    return np.asarray(label_of(study, name, largest(values.values))[0] * error.values)


@styled
def study_map(
    study: Any, name: str, across: str, up: str, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot a variable versus two keys as colours. Draws are shown by their median.

    Parameters
    ----------
    study : xarray.Dataset
    name : str
        Name of the variable.
    across, up : str
        Two numeric keys.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    import xarray
    from matplotlib.colors import LogNorm

    study = in_order(study, across, up)
    found = shown_values(study, name, None, up, across, "draw")
    (x, right), (y, above_it) = (number_values(study, key, "study_map") for key in (across, up))
    sheet, values = Sheet(ax, 6.6, 4.6), band_edge(found.values[0], 0.5)
    good = values[np.isfinite(values)]
    notes = [note.removesuffix(", and 5 to 95 %") for note in found.notes]
    decades = good.size > 0 and 0.0 < DECADE * good.min() <= good.max()
    # From pale to dark, which the dark mode of a page inverts.
    colours: dict[str, Any] = {"cmap": "YlGnBu"} | ({"norm": LogNorm()} if decades else {})
    spread, size = float(np.ptp(good)) if good.size else 0.0, largest(good)
    if spread < HARDLY * size:
        # The same range as the axis of such values.
        low, high = full_height(good)
        colours |= {"vmin": low, "vmax": high}
        notes.append(f"uniform within {max(100.0 * spread / size, 1e-3):.1g} % over the map")
    drawn = colours | {
        f"{one}scale": "log" for one, places in (("x", x), ("y", y)) if spans(places)
    }
    # Cells end between the values, on the scale of the axis.
    mesh = xarray.DataArray(values, {"up": y, "across": x}, ("up", "across")).plot.pcolormesh(
        ax=sheet.top, add_colorbar=False, rasterized=True, **drawn
    )
    sheet.aside = BAR
    bar = sheet.figure.colorbar(mesh, ax=sheet.top, label=found.axis, pad=0.02)
    if decades:
        make_log(bar.ax, "y", good)
    sheet.top.set(xlabel=right, ylabel=above_it)
    for which, places in (("x", x), ("y", y)):
        ticks_at(sheet.top, which, places)
    if good.size < values.size:
        sheet.top.set_facecolor(MISSING)
        notes.append("grey: no value")
    return write_study_heading(study, sheet, name, notes)


@styled
def study_distribution(
    study: Any, name: str, lines: str | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Plot a histogram of a variable over draws or runs.

    The mean and the standard deviation are shown.

    Parameters
    ----------
    study : xarray.Dataset
        Study with the dimension draw or run.
    name : str
        Name of the variable.
    lines : str, optional
        A dimension. The figure has a histogram for each of its values.
    ax : Axes, optional
        Matplotlib axes to draw into. The heading is then set on their figure.

    Returns
    -------
    Figure, Axes
    """
    over = "run" if "run" in getattr(study, "dims", ()) else "draw"
    found = shown_values(study, name, lines, over, most=len(palette()))
    if found.values.shape[-1] < 2:
        raise GranchainError(
            "study_distribution: the study has no draws. Many draws are required. For "
            f"example, sweep {name} with n = 100."
        )
    sheet = Sheet(ax, 6.4, 4.2)
    axes = sheet.top
    # Number of bins from the cube root of the number of values (Rice rule).
    classes = max(8, math.ceil(2.0 * found.values.shape[1] ** (1.0 / 3.0)))
    words = [f"{word}: " for word in found.labels] or [""]
    for row, word, colour in zip(found.values, words, palette(), strict=False):
        own = row[np.isfinite(row)]
        if not len(own):
            continue
        spread = f" \N{PLUS-MINUS SIGN} {own.std(ddof=1):.2g}" if len(own) > 1 else ""
        steps = np.histogram(own, classes)
        axes.stairs(*steps, color=colour, linewidth=1.3, label=f"{word}{own.mean():.4g}{spread}")
        axes.stairs(*steps, color=colour, fill=True, alpha=0.18)
        axes.axvline(own.mean(), color=colour, linewidth=0.8, linestyle="--")
    axes.margins(x=0.02, y=0.06)
    set_panel(axes, integer="y", ylim=(0.0, None), xlabel=found.axis, ylabel="members")
    title = "mean \N{PLUS-MINUS SIGN} standard deviation"
    sheet.legend(axes, inside={"loc": "best"}, title=title, title_fontsize=small_type())
    return write_study_heading(study, sheet, name, found.notes)


def spans(values: np.ndarray) -> bool:
    """Return whether positive values span enough for a logarithmic axis."""
    return len(values) > 2 and 0.0 < LOG_SPAN * values.min() <= values.max()


def study_figures(study: Any) -> Mapping[str, Callable[[], tuple[Figure, Axes]]]:
    """Return the figures of a study.

    The result is a mapping of names to functions that draw them.

    For a sweep they are the peaks versus the beads, with a line for each value of the first key or
    for each run; for each numeric key, curves of the wave speed, the transmitted momentum, the
    measures of a mechanism, and the summaries, or the power law of the wave speed if the key covers
    a factor of 5; a map for two numeric keys; distributions of draws; and the hysteresis of a
    chained study. For other studies they are the uncertainty bands and the sensitivities, the
    effective restitution of impacts, or the frequencies of modes.
    """
    kind = str(study.attrs.get("granchain_study"))
    if kind in OTHER_STUDIES:
        return OTHER_STUDIES[kind](study)
    found: dict[str, Callable[[], tuple[Figure, Axes]]] = {}
    if "chained" in study.attrs:
        return {"hysteresis": partial(study_hysteresis, study)} if len(study["run"]) > 1 else {}
    members = study["wave_speed" if "wave_speed" in study else "status"]
    dims, beads = list(map(str, members.dims)), study.sizes.get("sensor_bead", 0)
    keys = [dim for dim in dims if dim not in _OWN_VARIABLES and len(study[dim]) > 1]
    numbered = [key for key in keys if study[key].dtype.kind in "fiu"]
    worded = [key for key in keys if key not in numbered]
    if beads > 1 and "run" not in study.dims:
        first = next(iter(worded + numbered), None)
        found["peaks"] = partial(study_curves, study, "peak", "sensor_bead", first)
    elif beads > 1 and study.attrs.get("how") == "zip":
        found["peaks"] = partial(study_curves, study, "peak", "sensor_bead", "run")
    own = [
        name
        for name in study_numbers(study)
        if str(study[name].attrs.get("long_name", "")).startswith(OF_THE_SUMMARY)
        or "wave_speed" not in study
    ]
    features = [name for name in (*FEATURES, *own) if name in study]
    features = [name for name in features if np.isfinite(study[name].values).any()]
    for key in numbered:
        lines = next(iter([*worded, *(other for other in numbered if other != key)]), None)
        for name in features:
            law = name == "wave_speed" and spans(np.asarray(study[key].values))
            law = law and int(study[name].notnull().sum(key).min()) > 2
            draw = study_power_law if law else study_curves
            found[f"{name}-over-{key.replace('.', '-')}"] = partial(draw, study, name, key, lines)
    if len(numbered) > 1:
        for name in features:
            found[f"{name}-map"] = partial(study_map, study, name, numbered[0], numbered[1])
    if any(dim in dims and len(study[dim]) >= LEAST_DISTRIBUTION for dim in ("draw", "run")):
        lines = next(iter(worded), None)
        for name in [*features, *(["peak"] if beads else [])]:
            found[f"{name}-distribution"] = partial(study_distribution, study, name, lines)
    return found


def figures_of_bands(study: Any) -> dict[str, Callable[[], tuple[Figure, Any]]]:
    """Return the figures of `granchain.bands`."""
    found: dict[str, Callable[[], tuple[Figure, Any]]] = {
        "band_traces": partial(band_traces, study)
    }
    if "first_order" in study:
        found["sensitivities"] = partial(sensitivities, study)
    return found


def figures_of_impacts(study: Any) -> dict[str, Callable[[], tuple[Figure, Axes]]]:
    """Return the curves of the effective restitution of `granchain.impacts`."""
    name = "delivered_restitution"
    if not np.isfinite(study[name].values).any():
        return {}
    keys = [str(dim) for dim in study[name].dims if dim != "law" and len(study[dim]) > 1]
    lines = "law" if len(study["law"]) > 1 else None
    found: dict[str, Callable[[], tuple[Figure, Axes]]] = {}
    for key in keys:
        other = lines or next((other for other in keys if other != key), None)
        found[f"restitution-over-{key}"] = partial(study_curves, study, name, key, other)
    return found


def figures_of_modes(study: Any) -> dict[str, Callable[[], tuple[Figure, Axes]]]:
    """Return the curves of the frequencies of `granchain.mode_study`."""
    dims = [str(dim) for dim in study["frequencies"].dims if dim != "mode"]
    lines = next((dim for dim in dims if dim != "draw" and len(study[dim]) > 1), None)
    return {"frequencies": partial(study_curves, study, "frequencies", "mode", lines)}


# Functions that return the figures of studies that are no sweeps.
OTHER_STUDIES: dict[str, Callable[[Any], Mapping[str, Callable[[], tuple[Figure, Any]]]]] = {
    "bands": figures_of_bands,
    "impacts": figures_of_impacts,
    "mode_study": figures_of_modes,
}
