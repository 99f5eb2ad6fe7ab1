"""Figures of a study: curves with bands over what is drawn, a map over two keys, a power law with
its fitted exponent, a distribution.

A study may have more dimensions than a picture: those along draws become bands, and along any other
the value in the middle is shown, which the heading says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granchain.analysis import power_law
from granchain.errors import GranchainError, nearest
from granchain.figures.frame import (
    MOST_KEYS,
    MOST_LINES,
    legend_beside,
    look,
    narrow,
    one_panel,
    palette,
    scaled,
    small_type,
    styled,
    time_unit,
    write_heading,
)
from granchain.store.units import unit_of_attributes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Part of the draws between the edges of a band: from 5 to 95 %.
SHADED_QUANTILES = (0.05, 0.95)
# Draws, or runs, from which a distribution is drawn.
LEAST_DISTRIBUTION = 16
# A key that spans this factor has a logarithmic axis; a power law is fitted over no less.
LOG_SPAN = 5.0
# Numbers of each member that are drawn, and how the numbers of a summary are told.
FEATURES, OF_THE_SUMMARY = (
    ("wave_speed", "transmitted_momentum", "transmitted_energy"),
    "of the summary: ",
)
# What lies along an axis and is no key of the case.
_OWN_VARIABLES = ("draw", "run", "sensor_bead", "sample")


class Shown(NamedTuple):
    """Values of a variable for a picture.

    Parameters
    ----------
    x : array (n,)
    y : array (lines, n, draws)
    labels : list of str
        A word for each line; empty for one.
    notes : list of str
        What was chosen of the other dimensions.
    """

    x: np.ndarray
    y: np.ndarray
    labels: list[str]
    notes: list[str]


def numeric(study: Any, key: str) -> bool:
    """Whether the values of a coordinate are numbers."""
    return bool(study[key].dtype.kind in "fiu")


def keys_of(study: Any, name: str) -> list[str]:
    """The keys of the case along which a variable lies."""
    return [str(dim) for dim in study[name].dims if dim not in _OWN_VARIABLES]


def shown_coordinate(study: Any, name: str, along: str, lines: str | None = None) -> Shown:
    """Values of a variable along a dimension, a line for each value of another, and its draws."""
    need_number(study, name)
    for dim in (along, lines):
        need_dimension(study, name, dim)
    values = study[name]
    drawn = "draw" if "draw" in values.dims else None
    notes = []
    for dim in values.dims:
        if dim in (along, lines, drawn):
            continue
        place = len(study[dim]) - 1 if dim == "sensor_bead" else len(study[dim]) // 2
        notes.append(f"at {study_words(study, str(dim), place)}")
        values = values.isel({dim: place})
    labels: list[str] = []
    if lines is not None:
        count = len(study[lines])
        places = list(range(count))
        if count > MOST_LINES:
            places = np.unique(np.linspace(0, count - 1, MOST_LINES).round().astype(int)).tolist()
            notes.append(f"{len(places)} of {count} values of {lines} shown")
        values = values.isel({lines: places})
        labels = [study_words(study, lines, place) for place in places]
    order = [dim for dim in (lines, along, drawn) if dim is not None]
    array = np.asarray(values.transpose(*order).values, dtype=float)
    array = array if lines is not None else array[np.newaxis]
    if drawn is not None:
        notes.append(
            f"{len(study[drawn])} draws: median, and 5 to 95 %"
            if array.shape[-1] > 2
            else f"{len(study[drawn])} draws: median"
        )
    return Shown(
        np.asarray(study[along].values),
        array if drawn is not None else array[..., np.newaxis],
        labels,
        notes,
    )


def need_number(study: Any, name: str) -> None:
    """Refuse what is no study, and a variable that is none of its numbers."""
    if not hasattr(study, "data_vars"):
        got = f'"{study[:60]}"' if isinstance(study, str) else f"a {type(study).__name__}"
        raise GranchainError(
            f"study: got {got}, allowed the Dataset of a study; make it with granchain.sweep, or "
            "open its file with xarray.open_dataset(FILE, engine='h5netcdf')"
        )
    known = study_numbers(study)
    if name not in known:
        near = nearest(str(name), known)
        advice = f'did you mean "{near}"?' if near else "name one of them"
        raise GranchainError(
            f'study: got "{str(name)[:60]}", allowed a number of the study: {", ".join(known)}; '
            f"{advice}"
        )


def need_dimension(study: Any, name: str, dim: str | None) -> None:
    """Refuse a dimension that a variable does not have."""
    if dim is not None and dim not in study[name].dims:
        known = ", ".join(map(str, study[name].dims)) or "none, it is a single number"
        raise GranchainError(
            f'study: got "{str(dim)[:60]}", allowed a dimension of {name}: {known}; name one of '
            "them"
        )


def study_words(study: Any, key: str, place: int) -> str:
    """A coordinate's value in words."""
    value = study[key].values[place]
    if key == "sensor_bead":
        return f"bead {value}"
    if key == "run":
        # keys that lie side by side along it
        beside = [
            str(name) for name in study.coords if study[name].dims == ("run",) and name != "run"
        ]
        return (
            ", ".join(study_words(study, name, place) for name in beside)
            if 0 < len(beside) <= MOST_KEYS
            else f"run {value}"
        )
    if isinstance(value, float) and np.isnan(value):
        return f"no {key}"
    text = f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
    unit = unit_of_attributes(study[key].attrs)
    if key == "contact.law":
        return text
    return f"{key} {text}" + (f" {unit}" if unit not in ("", "1") else "")


def study_numbers(study: Any) -> list[str]:
    """Variables that are numbers of a member or of its sensors."""
    return [
        str(name)
        for name in study.data_vars
        if study[name].dtype.kind == "f" and "sample" not in study[name].dims
    ]


def label_of(study: Any, name: str, largest: float) -> tuple[float, str]:
    """Factor and axis label of a variable, in a unit in which it is of ordinary size."""
    unit = unit_of_attributes(study[name].attrs)
    words = name.replace("_", " ")
    if unit in ("", "1"):
        return 1.0, words
    if unit == "s":
        factor, unit = time_unit(largest)
    elif unit in ("N", "m"):
        factor, unit = scaled(largest, unit)
    else:
        factor = 1.0
    return factor, f"{words} ({unit})"


def put_study_heading(study: Any, axes: Axes, notes: list[str], given: bool = False) -> None:
    """Title and heading of a study's figure; none over axes that were given."""
    if given:
        return
    laws = str(study.attrs.get("law", ""))
    members = int(np.prod(study["status"].shape)) if "status" in study else 0
    failed = int((study["status"].values != "complete").sum()) if "status" in study else 0
    parts = [
        "simulated",
        ("contact laws " if ", " in laws else "contact law ") + laws,
        f"{members} members",
        *notes,
    ]
    parts += [f"{failed} of them not complete"] if failed else []
    write_heading(axes, str(study.attrs.get("title", "study")), parts)


def axis_label(study: Any, key: str) -> str:
    """Label of an axis of a key: the key as the case has it, and its unit."""
    if key == "sensor_bead":
        return "bead"
    unit = unit_of_attributes(study[key].attrs)
    return f"{key} ({unit})" if unit not in ("", "1") else key


def put_lines(axes: Axes, found: Shown, factor: float, given: bool = False) -> None:
    """Medians as lines, and bands between the quantiles of the draws."""
    low, middle, high = (
        band_edge(factor * found.y, part)
        for part in (SHADED_QUANTILES[0], 0.5, SHADED_QUANTILES[1])
    )
    for i in range(len(middle)):
        if found.y.shape[-1] > 2:
            axes.fill_between(
                found.x, low[i], high[i], color=look(i)["color"], alpha=0.2, linewidth=0.0
            )
        axes.plot(found.x, middle[i], **look(i), label=found.labels[i] if found.labels else None)
    if found.labels:
        legend_beside(axes, given=given)


def band_edge(values: np.ndarray, part: float) -> np.ndarray:
    """A quantile over the last axis, not a number where there is none."""
    with np.errstate(all="ignore"):
        good = np.isfinite(values).any(axis=-1, keepdims=True)
        edge: np.ndarray = np.nanquantile(np.where(good, values, 0.0), part, axis=-1)
        return np.where(good[..., 0], edge, math.nan)


@styled
def study_curves(
    study: Any,
    name: str = "peak",
    along: str = "sensor_bead",
    lines: str | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """A variable along a dimension, a line for each value of another; over draws the median, and a
    band from 5 to 95 %.

    Parameters
    ----------
    study : xarray.Dataset
        As `granchain.sweep` gives it.
    name : str
        Of the variable.
    along, lines : str
        Names of dimensions.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    found = shown_coordinate(study, name, along, lines)
    if found.x.dtype.kind not in "fiu":
        raise GranchainError(
            f"study_curves: got {along}, whose values are words, allowed a key with numbers; draw "
            "a line for each of them"
        )
    factor, label = label_of(study, name, largest_of(found.y))
    figure, axes = one_panel(ax, 8.0 if lines else 6.4, 4.2)
    put_lines(axes, found, factor, given=ax is not None)
    if along != "sensor_bead" and spans(found.x):
        make_log(axes, "x", found.x)
    axes.set_xlabel(axis_label(study, along))
    axes.set_ylabel(label)
    if (axes.dataLim.y0 > 0.0) and axes.dataLim.y0 < 0.5 * axes.dataLim.y1:
        axes.set_ylim(0.0, 1.05 * axes.dataLim.y1)
    put_study_heading(study, axes, found.notes, given=ax is not None)
    return figure, axes


@styled
def study_power_law(
    study: Any, name: str, along: str, lines: str | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """A variable over a key, both logarithmic, with the exponent of the power law fitted to all
    draws, and its standard error.

    Parameters
    ----------
    study, name, along, lines, ax
        As of `study_curves`; values and key above 0.

    Returns
    -------
    Figure, Axes
    """
    found = shown_coordinate(study, name, along, lines)
    fits = [power_law(np.repeat(found.x, found.y.shape[-1]), line.ravel()) for line in found.y]
    words = found.labels or [""] * len(fits)
    labels = [
        f"{word}: ".removeprefix(": ") + f"exponent {fit.value:.4f} \N{PLUS-MINUS SIGN} "
        f"{fit.error:.1g}"
        for word, fit in zip(words, fits, strict=True)
    ]
    factor, label = label_of(study, name, largest_of(found.y))
    figure, axes = one_panel(ax, 8.0 if lines else 6.4, 4.2)
    put_lines(axes, found._replace(labels=labels), factor, given=ax is not None or not narrow())
    for fit in fits:
        axes.plot(
            found.x,
            factor * fit.factor * found.x**fit.value,
            "--",
            color="#555555",
            linewidth=0.8,
            label="_fit",
        )
    make_log(axes, "x", found.x)
    make_log(axes, "y", factor * found.y)
    axes.margins(x=0.02, y=0.06)
    axes.set_xlabel(axis_label(study, along))
    axes.set_ylabel(label)
    put_study_heading(study, axes, [*found.notes, "dashed: fitted power law"], given=ax is not None)
    return figure, axes


def make_log(axes: Axes, which: str, values: np.ndarray) -> None:
    """A logarithmic axis with plain numbers: 1, 2 and 5 of each decade, or, where values span
    less, evenly spaced round ones."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    getattr(axes, f"set_{which}scale")("log")
    good = values[np.isfinite(values)]
    axis = axes.xaxis if which == "x" else axes.yaxis
    wide = good.size and good.max() >= LOG_SPAN * good.min()
    axis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0)) if wide else MaxNLocator(6, steps=[1, 2, 5, 10])
    )
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


@styled
def study_map(
    study: Any, name: str, across: str, up: str, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """A variable over two keys, as colours: the median over draws.

    Parameters
    ----------
    study : xarray.Dataset
    name : str
        Of the variable.
    across, up : str
        Two keys with numbers.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    found = whole_numbers(study, name, across, up)
    middle = band_edge(found.y, 0.5)
    factor, label = label_of(study, name, largest_of(middle))
    figure, axes = one_panel(ax, 6.6, 4.6)
    mesh = axes.pcolormesh(
        found.x,
        np.asarray(study[up].values),
        factor * middle,
        shading="nearest",
        cmap="viridis",
        rasterized=True,
    )
    for key, which in ((across, "x"), (up, "y")):
        if spans(np.asarray(study[key].values)):
            make_log(axes, which, np.asarray(study[key].values))
    axes.set_xlabel(axis_label(study, across))
    axes.set_ylabel(axis_label(study, up))
    figure.colorbar(mesh, ax=axes, label=label, pad=0.02)
    put_study_heading(
        study,
        axes,
        [note.replace(": median, and 5 to 95 %", ": median") for note in found.notes],
        given=ax is not None,
    )
    return figure, axes


def whole_numbers(study: Any, name: str, along: str, lines: str) -> Shown:
    """As `shown`, with all lines."""
    need_number(study, name)
    need_dimension(study, name, lines)
    parts = [
        shown_coordinate(study.isel({lines: slice(at, at + MOST_LINES)}), name, along, lines)
        for at in range(0, len(study[lines]), MOST_LINES)
    ]
    return parts[0]._replace(y=np.concatenate([part.y for part in parts]))


@styled
def study_distribution(
    study: Any, name: str, lines: str | None = None, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """How a variable is distributed over draws or runs: a histogram, with mean and standard
    deviation.

    Parameters
    ----------
    study : xarray.Dataset
        With the dimension draw or run.
    name : str
        Of the variable.
    lines : str, optional
        A dimension: a histogram for each of its values.
    ax : Axes, optional
        Of matplotlib, to draw into: the heading is then left to its figure.

    Returns
    -------
    Figure, Axes
    """
    from matplotlib.ticker import MaxNLocator

    need_number(study, name)
    need_dimension(study, name, lines)
    over = "draw" if "draw" in study[name].dims else "run"
    if over not in study[name].dims:
        raise GranchainError(
            f"study_distribution: got a study without draws, allowed one with many; sweep {name} "
            "with n = 100, say"
        )
    notes: list[str] = []
    values = study[name]
    for dim in values.dims:
        if dim not in (over, lines):
            place = len(study[dim]) - 1 if dim == "sensor_bead" else len(study[dim]) // 2
            notes.append(f"at {study_words(study, str(dim), place)}")
            values = values.isel({dim: place})
    rows = values.transpose(lines, over).values if lines else values.values[np.newaxis]
    places = list(range(len(rows)))
    if len(rows) > len(palette()):
        places = np.unique(
            np.linspace(0, len(rows) - 1, len(palette())).round().astype(int)
        ).tolist()
        notes.append(f"{len(places)} of {len(rows)} values of {lines} shown")
    factor, label = label_of(study, name, largest_of(rows))
    figure, axes = one_panel(ax, 6.4, 4.2)
    # as many classes as the cube root of the number asks for (Rice)
    classes = max(8, math.ceil(2.0 * rows.shape[1] ** (1.0 / 3.0)))
    for i, colour in zip(places, palette(), strict=False):
        own = factor * rows[i][np.isfinite(rows[i])]
        if not len(own):
            continue
        spread = f" \N{PLUS-MINUS SIGN} {own.std(ddof=1):.2g}" if len(own) > 1 else ""
        word = f"{study_words(study, lines, i)}: " if lines else ""
        counts, edges = np.histogram(own, classes)
        axes.stairs(
            counts, edges, color=colour, linewidth=1.3, label=f"{word}{own.mean():.4g}{spread}"
        )
        axes.stairs(counts, edges, color=colour, fill=True, alpha=0.18)
        axes.axvline(own.mean(), color=colour, linewidth=0.8, linestyle="--")
    axes.margins(x=0.02, y=0.06)
    axes.set_ylim(0.0, None)
    legend: dict[str, Any] = {
        "title": "mean \N{PLUS-MINUS SIGN} standard deviation",
        "title_fontsize": small_type(),
    }
    if narrow():
        legend_beside(axes, given=ax is not None, **legend)
    else:
        axes.legend(loc="best", **legend)
    axes.set_xlabel(label)
    axes.set_ylabel("members")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    put_study_heading(study, axes, notes, given=ax is not None)
    return figure, axes


def largest_of(values: np.ndarray) -> float:
    """Largest size of values; 0 where there are none."""
    good = np.abs(values[np.isfinite(values)])
    return float(good.max()) if good.size else 0.0


def spans(values: np.ndarray) -> bool:
    """Whether numbers above 0 span so much that an axis is better logarithmic."""
    return bool(
        values.dtype.kind in "fiu"
        and len(values) > 2
        and values.min() > 0.0
        and values.max() >= LOG_SPAN * values.min()
    )


def study_figures(study: Any) -> Mapping[str, Callable[[], tuple[Figure, Axes]]]:
    """The figures that say what a study holds, by name; each is drawn when it is called.

    Peaks over the beads, a line for each value of the first key, or for each run of lists side by
    side; over each key with numbers a curve of the wave speed, of what is transmitted and of what a
    summary gives, or where the key spans a factor of 5 the power law of the wave speed; a map where
    there are two such keys; distributions where there are draws.
    """
    found: dict[str, Callable[[], tuple[Figure, Axes]]] = {}
    keys = keys_of(study, "wave_speed")
    numbered = [key for key in keys if numeric(study, key) and len(study[key]) > 1]
    worded_keys = [key for key in keys if key not in numbered and len(study[key]) > 1]
    many = next(
        (
            dim
            for dim in ("draw", "run")
            if dim in study["wave_speed"].dims and len(study[dim]) >= LEAST_DISTRIBUTION
        ),
        None,
    )
    side_by_side = "run" in study.dims and study.attrs.get("how") == "zip"
    if len(study["sensor_bead"]) > 1 and ("run" not in study.dims or side_by_side):
        lines = "run" if side_by_side else next(iter(worded_keys + numbered), None)
        found["peaks"] = partial(study_curves, study, "peak", "sensor_bead", lines)
    own = [
        name
        for name in study_numbers(study)
        if str(study[name].attrs.get("long_name", "")).startswith(OF_THE_SUMMARY)
    ]
    features = [name for name in (*FEATURES, *own) if np.isfinite(study[name].values).any()]
    for key in numbered:
        lines = next(iter([*worded_keys, *(other for other in numbered if other != key)]), None)
        for name in features:
            law = name == "wave_speed" and spans(np.asarray(study[key].values))
            draw = study_power_law if law else study_curves
            found[f"{name}-over-{key.replace('.', '-')}"] = partial(draw, study, name, key, lines)
    if len(numbered) > 1:
        for name in features:
            found[f"{name}-map"] = partial(study_map, study, name, numbered[0], numbered[1])
    if many is not None:
        names = [*features, *(["peak"] if len(study["sensor_bead"]) else [])]
        for name in names:
            found[f"{name}-distribution"] = partial(
                study_distribution, study, name, next(iter(worded_keys), None)
            )
    return found
