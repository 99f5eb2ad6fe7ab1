"""Figures of studies: curves with bands over draws, maps, distributions, uncertainty bands, and
sensitivities.

A study may have more dimensions than a figure. Draws become bands. For every other dimension, the
value in the middle is plotted, and the heading reports it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rcParams
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from granchain.errors import GranchainError, suggestion
from granchain.figures.style import (
    LABEL_LENGTH,
    LOG_SPAN,
    MOST_CURVES,
    MOST_KEYS,
    SHEET,
    Lines,
    Panels,
    add_bar,
    body_name,
    evenly_spaced,
    is_log,
    label_axis,
    largest,
    log_axis,
    mark_values,
    named_laws,
    padded_limits,
    panel_title,
    quantity,
    share_limits,
    styled,
    whole_ticks,
    write_label,
)
from granchain.status import Status
from granchain.store.answer import messages_of_study
from granchain.store.schema import unit_of_attributes

# Largest number of lines with the colours of a sequential map; our choice.
MOST_SHADES = 40
# Factor between values above which the colours are logarithmic.
DECADE = 10.0
# Values that spread by less than this fraction of the largest share a colour and an axis range.
HARDLY = 0.01
# Quantiles of the draws: a band from 5 to 95 % around the median.
SHADED_QUANTILES = (0.05, 0.5, 0.95)
# Largest number of histograms, and of parameters with sensitivities, in a figure; our choice.
MOST_HISTOGRAMS = 8
# Width of a panel with its labels in a grid of sensors [inch]: the axes are 1.5 inches wide.
SENSOR_PANEL = 1.6
# Width of the plot on each side of a pulse's peak, in widths at half height.
BAND_WIDTHS = 1.8


class Selection(NamedTuple):
    """Values of a variable for a figure.

    Parameters
    ----------
    values : array (n_lines, ..., n_draws)
        Values along the requested dimensions.
    places : list of int
        Indices of the lines along their dimension.
    labels : list of str
        Label of each line; empty for a single line.
    notes : list of str
        Values that were chosen along the other dimensions.
    """

    values: np.ndarray
    places: list[int]
    labels: list[str]
    notes: list[str]


def selection(
    study: Any, name: str, lines: str | None, *along: str, most: int = MOST_CURVES
) -> Selection:
    """Return the values of a variable along dimensions, the lines first and the draws last.

    If there are many lines, evenly spaced ones are returned; without `lines`, there is one line.
    For every other dimension, the middle value is used; for sensors, the last bead with a value.
    """
    if not hasattr(study, "data_vars"):
        description = f'"{study[:60]}"' if isinstance(study, str) else f"a {type(study).__name__}"
        raise GranchainError(
            f"study: {description} is not a study. It must be the Dataset of a study. Create one "
            "with granchain.sweep, or open its file with granchain.open."
        )
    names = study_numbers(study)
    if name not in names:
        raise unknown_name_error(name, names, f"a variable of the study: {', '.join(names)}")
    values, notes, labels, places = study[name], [], [], [0]
    for dim in filter(None, (lines, *along)):
        if dim not in values.dims and dim != "draw":
            dims = ", ".join(map(str, values.dims)) or "none, because it is a single number"
            raise unknown_name_error(dim, values.dims, f"a dimension of {name}: {dims}")
    for other in [dim for dim in values.dims if dim not in (lines, *along)]:
        index = len(study[other]) // 2
        if other == "sensor_bead":
            present = values.notnull().any([dim for dim in values.dims if dim != other])
            index = int(np.flatnonzero(present).max(initial=0))
        notes.append(f"at {coordinate_text(study, str(other), index)}")
        values = values.isel({other: index})
    if lines is None:
        values = values.expand_dims("line")
    else:
        places = evenly_spaced(len(study[lines]), most)
        if len(places) < len(study[lines]):
            notes.append(f"{len(places)} of {len(study[lines])} values of {lines}")
        values = values.isel({lines: places})
        labels = [coordinate_text(study, lines, index) for index in places]
    if "draw" not in values.dims and "draw" in along:
        values = values.expand_dims("draw")
    elif along[1:] and along[-1] == "draw":
        band = ": median, and 5 to 95 %" if len(study["draw"]) > 2 else ": median"
        notes.append(f"{len(study['draw'])} draws{band}")
    numbers = np.asarray(values.transpose(lines or "line", *along).values, dtype=float)
    return Selection(numbers, places, labels, notes)


def unknown_name_error(value: Any, names: Any, allowed: str) -> GranchainError:
    """Return the error for an unknown name."""
    advice = suggestion(str(value), names, "")
    return GranchainError(
        f'study: "{str(value)[:60]}" is not valid. It must be {allowed}.{advice and " " + advice}'
    )


def coordinate_text(study: Any, key: str, index: int) -> str:
    """Format a value of a coordinate."""
    value = study[key].values[index]
    if key == "sensor_bead":
        return f"bead {value}"
    if key == "run":
        # Keys that vary together along the runs.
        keys = [name for name in study.coords if study[name].dims == ("run",) and name != "run"]
        texts = ", ".join(coordinate_text(study, str(name), index) for name in keys)
        return texts if 0 < len(keys) <= MOST_KEYS else f"run {value}"
    if isinstance(value, float) and np.isnan(value):
        return f"no {key_label(key)}"
    if key in ("contact.law", "law"):
        return str(value)
    if key == "contact" and "law" in study.coords:
        # The law's name, and the index of its table if several tables have the same law.
        names = [str(name) for name in np.atleast_1d(study["law"].values)]
        return (
            names[index] if names.count(names[index]) == 1 else f"{names[index]}, table {index + 1}"
        )
    unit = unit_of_attributes(study[key].attrs)
    if isinstance(value, np.floating):
        return f"{key_label(key)} {quantity(float(value), unit)}"
    text = str(value)
    # A list or a long text is listed by its index.
    brief = text[:1] not in "[{" and len(text) <= 2 * LABEL_LENGTH
    return f"{key_label(key)} {text if brief else index + 1}"


def study_numbers(study: Any) -> list[str]:
    """List the variables with one number per member or per sensor."""
    return [
        str(name)
        for name, values in study.data_vars.items()
        if values.dtype.kind == "f" and not {"sample", "snapshot", "line"} & {*values.dims}
    ]


def key_label(name: str) -> str:
    """Return the name of a variable or a key of the case as text for a figure."""
    for table in ("contact.", "chain.material.", "chain."):
        name = name.removeprefix(table)
    text = "bead" if name == "sensor_bead" else name.replace(".", " ").replace("_", " ")
    for word, plain in (
        ("youngs", "Young's"),
        ("poissons", "Poisson's"),
        ("delivered", "effective"),
    ):
        text = text.replace(word, plain)
    return text


def label_variable(axis: Any, study: Any, name: str) -> None:
    """Label an axis with the name and the unit of a variable or a key."""
    unit = "" if name == "sensor_bead" else unit_of_attributes(study[name].attrs)
    label_axis(axis, key_label(name), unit)


def number_values(study: Any, key: str, figure: str) -> np.ndarray:
    """Return the values of a numeric coordinate."""
    values = np.asarray(study[key].values)
    if values.dtype.kind not in "fiu":
        raise GranchainError(
            f"{figure}: the values of {key} are text. A key with numbers is required. Plot one "
            "line for each of them instead."
        )
    return values


def in_order(study: Any, *keys: str) -> Any:
    """Return a study sorted by its numeric keys."""
    dims = getattr(study, "dims", ())
    numbered = [key for key in keys if key in dims and is_ordered(study, key)]
    return study.sortby(numbered) if numbered else study


def is_ordered(study: Any, key: str | None) -> bool:
    """Return whether the values of a key are numbers."""
    return key is not None and key != "run" and study[key].dtype.kind in "fiu"


def shades_of(panels: Panels, study: Any, key: str | None, places: list[int]) -> list[Any]:
    """Return a colour of the sequential map for each value of a numeric key, otherwise None."""
    if key is None or not is_ordered(study, key) or len(places) < 2:
        return [None] * len(places)
    values, unit = study[key].values[places], unit_of_attributes(study[key].attrs)
    return panels.shades(values, key_label(key), unit)


def band_edge(values: np.ndarray, quantile: float) -> np.ndarray:
    """Return a quantile along the last axis, or nan if there are no finite values."""
    good = np.isfinite(values).any(axis=-1, keepdims=True)
    edge: np.ndarray = np.nanquantile(np.where(good, values, 0.0), quantile, axis=-1)
    return np.where(good[..., 0], edge, math.nan)


def finish_study(study: Any, panels: Panels, name: str, notes: Sequence[str]) -> Figure:
    """Write the heading of a study's figure; its title begins with the variable."""
    states = study["status"].values if "status" in study else np.array([])
    failed = int((states != Status.COMPLETE.label).sum())
    laws = named_laws([str(study.attrs.get("law", ""))])
    text = key_label(name)
    # Only these variables depend on the end of a pulse.
    of_pulses = "sensor_bead" in study[name].dims or name == "wave_speed"
    return panels.finish(
        f"{text[:1].upper()}{text[1:]}: {study.attrs.get('title', 'study')}",
        laws,
        f"{states.size} members" if states.size else "",
        *notes,
        f"{failed} not complete" if failed else "",
        late_pulses(study) if of_pulses else "",
    )


def late_pulses(study: Any) -> str:
    """Return the message of a study about late pulses, or no text.

    The list of sensors, which may be long, and the advice are left out.
    """
    late = (message.split(", by time.end") for message in messages_of_study(study))
    return next((parts[0] for parts in late if len(parts) > 1), "")


@styled
def study_curves(
    study: Any,
    name: str = "peak",
    along: str = "sensor_bead",
    lines: str | None = None,
    *,
    ax: Any = None,
    style: Any = SHEET,
) -> Figure:
    """Plot a variable along a dimension of a study.

    Each value of another dimension has a line. If the values are numbers, the lines have the
    colours of a sequential map. Draws are shown by their median and a band from 5 to 95 %.

    Parameters
    ----------
    study : xarray.Dataset
        Result of `granchain.sweep`, or of another study.
    name : str
        Name of the variable.
    along : str
        Name of a numeric dimension, or of a key that varies along the runs.
    lines : str, optional
        Name of another dimension.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    study = in_order(study, *filter(None, (along, lines)))
    dim = str(study[along].dims[0]) if along in getattr(study, "coords", ()) else along
    ordered = lines in getattr(study, "dims", ()) and is_ordered(study, lines)
    chosen = selection(
        study, name, lines, dim, "draw", most=MOST_SHADES if ordered else MOST_CURVES
    )
    x = number_values(study, along, "study_curves")
    panels = Panels(ax)
    axes, looks = panels.first, Lines([str(index) for index in chosen.places])
    shades = shades_of(panels, study, lines, chosen.places)
    edges = [band_edge(chosen.values, fraction) for fraction in SHADED_QUANTILES]
    for i, (low, middle, high) in enumerate(zip(*edges, strict=True)):
        label = {"label": chosen.labels[i]} if chosen.labels else {}
        look = label if shades[i] is None else {**label, "color": shades[i]}
        line = looks.plot(axes, i, x, middle, **look)
        mark_values(line)
        if chosen.values.shape[-1] > 2:
            axes.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0.0)
    if chosen.labels and shades[0] is None:
        panels.legend()
    if along != "sensor_bead" and is_log(x):
        log_axis(axes.xaxis)
    low, high = axes.dataLim.intervaly
    if 0.0 < LOG_SPAN * LOG_SPAN * low < high and is_log(x):
        log_axis(axes.yaxis)
    elif 0.0 < low < 0.5 * high:
        # If the axis begins at 0, the lines still take up at least half of it.
        axes.set_ylim(0.0, 1.05 * high)
    elif high - low < HARDLY * max(abs(low), abs(high)):
        axes.set_ylim(padded_limits(chosen.values))
    label_variable(axes.xaxis, study, along)
    label_variable(axes.yaxis, study, name)
    if along == "sensor_bead":
        whole_ticks(axes.xaxis)
    return finish_study(study, panels, name, chosen.notes)


@styled
def study_map(
    study: Any, name: str, across: str, up: str, *, ax: Any = None, style: Any = SHEET
) -> Figure:
    """Plot a variable versus two keys as colours. Draws are shown by their median.

    Parameters
    ----------
    study : xarray.Dataset
    name : str
        Name of the variable.
    across, up : str
        Two numeric keys.
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    study = in_order(study, across, up)
    chosen = selection(study, name, None, up, across, "draw")
    x, y = (number_values(study, key, "study_map") for key in (across, up))
    panels, values = Panels(ax), band_edge(chosen.values[0], 0.5)
    axes, good = panels.first, values[np.isfinite(values)]
    notes = [note.removesuffix(", and 5 to 95 %") for note in chosen.notes]
    decades = good.size > 0 and 0.0 < DECADE * good.min() <= good.max()
    colours: dict[str, Any] = {"norm": LogNorm()} if decades else {}
    spread, size = float(np.ptp(good)) if good.size else 0.0, largest(good)
    if spread < HARDLY * size:
        # The colours have the limits that an axis of nearly equal values has.
        colours = dict(zip(("vmin", "vmax"), padded_limits(good), strict=True))
        notes.append(f"uniform within {max(100.0 * spread / size, 1e-3):.1g} % over the map")
    masked = np.ma.masked_invalid(values)
    mesh = axes.pcolormesh(cell_edges(x), cell_edges(y), masked, rasterized=True, **colours)
    for axis, places in ((axes.xaxis, x), (axes.yaxis, y)):
        if is_log(places):
            log_axis(axis)
    add_bar(axes, mesh, key_label(name), unit_of_attributes(study[name].attrs))
    label_variable(axes.xaxis, study, across)
    label_variable(axes.yaxis, study, up)
    return finish_study(
        study, panels, name, [*notes, "empty: no value" * (good.size < values.size)]
    )


def cell_edges(values: np.ndarray) -> np.ndarray:
    """Return the edges of cells around sorted values, in the middle between them on their scale."""
    scale = np.log(values) if is_log(values) else values.astype(float)
    steps = np.diff(scale) if len(scale) > 1 else np.ones(1)
    padded = np.concatenate([[scale[0] - steps[0]], scale, [scale[-1] + steps[-1]]])
    edges = 0.5 * (padded[1:] + padded[:-1])
    return np.exp(edges) if is_log(values) else edges


@styled
def study_distribution(
    study: Any, name: str, lines: str | None = None, *, ax: Any = None, style: Any = SHEET
) -> Figure:
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
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    draws = "run" if "run" in getattr(study, "dims", ()) else "draw"
    chosen = selection(study, name, lines, draws, most=MOST_HISTOGRAMS)
    if chosen.values.shape[-1] < 2:
        raise GranchainError(
            "study_distribution: the study has no draws. Many draws are required. For "
            f"example, sweep {name} with n = 100."
        )
    panels = Panels(ax)
    axes, shades = panels.first, shades_of(panels, study, lines, chosen.places)
    # Number of bins from the cube root of the number of values (Rice rule).
    bins = max(8, math.ceil(2.0 * chosen.values.shape[1] ** (1.0 / 3.0)))
    names = [f"{label}: " for label in chosen.labels] or [""]
    for row, label, shade in zip(chosen.values, names, shades, strict=True):
        good = row[np.isfinite(row)]
        if not len(good):
            continue
        spread = f" \N{PLUS-MINUS SIGN} {good.std(ddof=1):.2g}" if len(good) > 1 else ""
        steps = np.histogram(good, bins)
        look: dict[str, Any] = {} if shade is None else {"color": shade}
        outline = axes.stairs(*steps, label=f"{label}{good.mean():.4g}{spread}", **look)
        colour = outline.get_edgecolor()
        axes.stairs(*steps, color=colour, fill=True, alpha=0.18)
        axes.axvline(good.mean(), color=colour, linestyle="--")
    axes.set_ylabel("members")
    whole_ticks(axes.yaxis)
    label_variable(axes.xaxis, study, name)
    unit = unit_of_attributes(study[name].attrs)
    title = "mean \N{PLUS-MINUS SIGN} standard deviation" + (f" [{unit}]" if unit != "1" else "")
    panels.legend(title=title)
    return finish_study(study, panels, name, chosen.notes)


# --------------------------------------------------------------------------------------------------
# Uncertainty bands


@styled
def band_traces(bands: Any, *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot the first pulse at each sensor with its uncertainty bands.

    Each sensor has a panel, in which time starts at the nominal arrival. The line is the nominal
    case, and the bands are quantiles of the ensemble members.

    Parameters
    ----------
    bands : xarray.Dataset
        Result of `granchain.bands`.
    ax : sequence of Axes, optional
        Matplotlib axes to draw into, one for each panel.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    check_bands(bands, "force")
    beads = bands.sensor_bead.values
    panels, places = sensor_panels(ax, len(beads))
    percent = 100.0 * bands["quantile"].values
    # Pairs of quantiles, the widest first.
    edges = [(i, len(percent) - 1 - i) for i in range(len(percent) // 2)]
    for axes, k in zip(panels.axes, places, strict=True):
        span, origin = pulse_span(bands, k)
        time, force = bands.time.values[span] - origin, bands.force.values[:, span, k]
        (line,) = axes.plot(time, bands.nominal_force.values[span, k])
        for low, high in edges:
            axes.fill_between(
                time, force[low], force[high], color=line.get_color(), alpha=0.22, linewidth=0.0
            )
        low, high = bands.peak.values[[0, -1], k]
        text = f"peak {float(bands.nominal_peak[k]):.4g}, {low:.4g} to {high:.4g} N"
        panel_title(axes, body_name(int(beads[k])), text)
    share_limits(panels.axes, "x")
    share_limits(panels.axes, "y", 0.02, 0.05)
    for axes in panels.axes[:: panels.columns] if panels.new else panels.axes:
        label_axis(axes.yaxis, "force", "N")
    panels.label_columns("time from the arrival", "s")
    quantiles = ", ".join(f"{percent[low]:g} to {percent[high]:g} %" for low, high in edges)
    note = f"{len(places)} of {len(beads)} sensors" if len(places) < len(beads) else ""
    return finish_bands(bands, panels, f"bands: {quantiles} of the members" if edges else "", note)


def sensor_panels(ax: Any, count: int, each: int = 1, most: int = 12) -> tuple[Panels, list[int]]:
    """Return panels in a grid with equal scales, and the indices of their sensors.

    Each sensor has `each` panels, one below the other: 1, or 2 if there is a lower one for the
    residuals. If there are more sensors than fit, evenly spaced ones are chosen.
    """
    width = rcParams["figure.figsize"][0]
    if ax is not None:
        places = evenly_spaced(count, np.size(ax) // each)
        return Panels(ax, len(places) * each), places
    columns = min(max(1, int(width / SENSOR_PANEL)), 4, count)
    rows = max(
        1, min(most // columns, int(width / (SENSOR_PANEL * each)), math.ceil(count / columns))
    )
    places = evenly_spaced(count, rows * columns)
    rows = math.ceil(len(places) / columns)
    ratios = [[1.0], [3.0, 1.3]][each - 1] * rows
    panels = Panels(
        None, rows * each, columns, count=rows * each * columns if each > 1 else len(places),
        tall=0.35 + 0.45 * rows * each, sharex=True, sharey="row" if each > 1 else True,
        height_ratios=ratios,
    )  # fmt: skip
    return panels, places


def check_bands(bands: Any, name: str) -> None:
    """Raise an error if this is not a result of `granchain.bands` with a given variable."""
    if name not in getattr(bands, "variables", {}) or "key" not in getattr(bands, "dims", {}):
        how = "..., sensitivity=True" if "order" in name else "..."
        raise GranchainError(
            f"figure: {type(bands).__name__} has no variable {name}. It must be a result of "
            f"granchain.bands. Create it with granchain.bands({how})."
        )


def finish_bands(bands: Any, panels: Panels, *notes: str) -> Figure:
    """Write the heading with the law, the members, and the standard deviations of the keys."""
    fractions = 100.0 * bands.relative_deviation.values
    keys = [
        f"{key_label(key)} {fraction:.3g} %"
        for key, fraction in zip(bands["key"].values, fractions, strict=True)
    ]
    more = f", and {len(keys) - MOST_CURVES} more" if len(keys) > MOST_CURVES else ""
    deviations = f"standard deviations: {', '.join(keys[:MOST_CURVES])}{more}"
    laws, members = named_laws([bands.attrs["law"]]), f"members: {bands.attrs['status']}"
    title = str(bands.attrs["title"])
    return panels.finish(title, laws, members, deviations, *notes, late_pulses(bands))


def pulse_span(bands: Any, k: int) -> tuple[slice, float]:
    """Return the samples around the pulse at a sensor, and its nominal arrival [s].

    Without a pulse, these are all samples and 0.
    """
    time, force = bands.time.values, bands.nominal_force.values[:, k]
    at, peak = float(bands.nominal_arrival[k]), float(bands.nominal_peak[k])
    if not math.isfinite(at) or not peak > 0.0:
        return slice(0, len(time)), 0.0
    i = min(int(np.searchsorted(time, at)), len(time) - 1)
    half = time[force - force[0] < 0.5 * peak]
    begin = half[half < time[i]].max(initial=time[0])
    end = half[half >= time[i]].min(initial=time[-1])
    low, high = np.nanmin(bands.arrival[:, k]), np.nanmax(bands.arrival[:, k])
    wide = BAND_WIDTHS * (end - begin)
    return slice(*np.searchsorted(time, [low - wide, high + wide]).tolist()), at


@styled
def sensitivities(bands: Any, name: str = "peak", *, ax: Any = None, style: Any = SHEET) -> Figure:
    """Plot sensitivity indices of each key at the sensors.

    First-order and total indices are plotted with their confidence limits.

    Parameters
    ----------
    bands : xarray.Dataset
        Result of `granchain.bands(..., sensitivity=True)`.
    name : {"peak", "arrival"}
    ax : Axes, optional
        Matplotlib axes to draw into.
    style : optional
        See `granchain.figures`.

    Returns
    -------
    Figure
    """
    if name not in ("peak", "arrival"):
        raise GranchainError(
            f'sensitivities: {name!r} is not valid. It must be "peak" or "arrival".'
        )
    prefix = "" if name == "peak" else f"{name}_"
    check_bands(bands, f"{prefix}first_order")
    panels = Panels(ax)
    axes, keys, beads = panels.first, bands["key"].values.tolist(), bands.sensor_bead.values
    means = np.nan_to_num(bands[f"{prefix}total_order"].values).mean(axis=1)
    order = np.argsort(-means, kind="stable")[:MOST_HISTOGRAMS].tolist()
    # Shift the markers of a bead sideways, so that their error bars do not overlap.
    step = 0.008 * max(float(np.ptp(beads)), 1.0)
    for index, k in enumerate(order):
        at = beads + step * (index - 0.5 * (len(order) - 1))
        (first, low, high), (total, least, most) = (
            [bands[f"{prefix}{kind}_order{side}"].values[k] for side in ("", "_low", "_high")]
            for kind in ("first", "total")
        )
        (line,) = axes.plot(at, first, label=key_label(keys[k]))
        line.set_linestyle("-")
        mark_values(line)
        colour = line.get_color()
        axes.vlines(at, low, high, color=colour, linewidth=line.get_linewidth())
        axes.plot(at, total, linestyle="--", color=colour)
        axes.fill_between(at, least, most, color=colour, alpha=0.15, linewidth=0.0)
    low, high = axes.dataLim.intervaly
    axes.set_ylim(min(-0.02, low), max(1.02, high))
    write_label(axes.yaxis, f"fraction of the variance of the {name}")
    axes.set_xlabel("bead")
    whole_ticks(axes.xaxis)
    look = {"color": axes.title.get_color()}
    kinds: Any = [("-", "first order"), ("--", "total")]
    panels.legend([
        *axes.get_legend_handles_labels()[0],
        *(Line2D([], [], **look, linestyle=dashes, label=label) for dashes, label in kinds),
    ])  # fmt: skip
    many = f"{len(order)} of {len(keys)} parameters" if len(order) < len(keys) else ""
    return finish_bands(bands, panels, "95 % confidence limits", many)
