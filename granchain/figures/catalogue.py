"""The figures of each kind of answer, and what a result lacks for the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from granchain import figures as plots
from granchain.figures.studies import study_numbers
from granchain.figures.style import RUN_FIGURES, RunFigure, labels_of
from granchain.store import Result
from granchain.store.answer import check_result
from granchain.store.schema import Unread

Draw = Callable[..., Any]

# Figures of answers by class.
ANSWER_FIGURES: dict[str, Draw] = {
    "Branch": plots.bifurcation,
    "Comparison": plots.comparison,
    "Dispersion": plots.dispersion_curves,
    "Fit": plots.fit,
    "ImpactComparison": plots.impact_comparison,
    "ImpactResult": plots.impact_loops,
    "Modes": plots.mode_shapes,
    "Orbit": plots.orbit,
    "Ranking": plots.fit,
    "Spectrum": plots.spectrum,
}
# Largest number of plotted beads or contacts; more are not visible in a figure.
MOST_PLACES = 2**20
# Largest size of a plotted variable [bytes]; plotting takes about seven times as much.
LARGEST_PLOTTED = 2**28
# Smallest number of draws, or runs, for a distribution.
LEAST_DISTRIBUTION = 16
# Values of each member that are plotted, in addition to summaries.
FEATURES = ("wave_speed", "transmitted_momentum", "transmitted_energy")
OF_THE_SUMMARY = "of the summary: "
# Dimensions that are not keys of the case.
NO_KEYS = ("draw", "run", "sensor_bead", "sample", "mode")


def figures_of(answer: Any) -> dict[str, Draw]:
    """Return the figures of an answer or a study, as functions without arguments by name."""
    if hasattr(answer, "data_vars"):
        return study_figures(answer)
    if isinstance(answer, Result):
        absent, kind = lacking(answer), run_figures(answer.variables)
        return {
            name: partial(each.draw, answer) for name, each in kind.items() if name not in absent
        }
    draw = ANSWER_FIGURES.get(type(answer).__name__)
    return {} if draw is None else {draw.__name__: partial(draw, answer)}


def run_figures(names: Iterable[str]) -> dict[str, RunFigure]:
    """Return the figures of results with these variables.

    They are the figures of a mechanism if there is a crank angle, otherwise those of a chain.
    """
    crank = "crank_angle" in names
    return {
        name: each for name, each in RUN_FIGURES.items() if crank == ("crank_angle" in each.needed)
    }


def lacking(result: Result) -> dict[str, str]:
    """Return why the other figures of a result cannot be drawn, by name."""
    check_result(result, "figures")
    reasons = {
        name: each.reason_against(result).removeprefix(f"{name}: ")
        for name, each in run_figures(result.variables).items()
    }
    return {name: reason[:1].upper() + reason[1:] for name, reason in reasons.items() if reason}


def several_figures(
    results: Sequence[Result], labels: Sequence[str] | None = None
) -> dict[str, Draw]:
    """Return the figures that combine several results of one kind.

    Each figure shows the results that have its variables.
    """
    texts, figures = labels_of(results, labels), dict[str, Draw]()
    for name, each in run_figures(results[0].variables).items():
        those = [i for i, result in enumerate(results) if not each.reason_against(result)]
        if each.several and those:
            chosen = [results[i] for i in those]
            figures[name] = partial(each.draw, *chosen, labels=[texts[i] for i in those])
    return figures


def plotted_variables(headers: Mapping[str, Unread]) -> list[str]:
    """Return the variables of a file that its figures use: all except those of a run.

    Variables of a run that are too large for the memory are omitted.
    """
    if not headers.keys() & {"contact_peak_force", "crank_angle"}:
        return list(headers)
    needed = {"bead", "radius", "mass", "position", "contact", "residual_overlap", "displacement"}
    needed.update(*(each.needed for each in run_figures(headers).values()))
    wide = {
        name
        for name, header in headers.items()
        if header.dims == (name,) and header.shape[0] > MOST_PLACES and "time" not in name
    }
    return [
        name
        for name, header in headers.items()
        if (name in needed or name.startswith("energy_"))
        and not wide & {*header.dims}
        and 8 * math.prod(header.shape) <= LARGEST_PLOTTED
    ]


def study_figures(study: Any) -> dict[str, Draw]:
    """Return the figures of a study.

    For a sweep they are the peaks versus the beads, with a line for each value of the first key or
    for each run; for each numeric key, curves of the wave speed, the transmitted momentum, the
    measures of a mechanism, and the summaries; a map for two numeric keys; and distributions of
    draws. For other studies they are the uncertainty bands and the sensitivities, the effective
    restitution of impacts, or the frequencies of modes.
    """
    kind = str(study.attrs.get("granchain_study"))
    if kind == "bands":
        names = ["band_traces", *(["sensitivities"] if "first_order" in study else [])]
        return {name: partial(getattr(plots, name), study) for name in names}
    if kind == "impacts":
        return impact_figures(study)
    if kind == "mode_study":
        dims = [str(dim) for dim in study["frequencies"].dims if dim != "mode"]
        lines = next((dim for dim in dims if dim != "draw" and len(study[dim]) > 1), None)
        return {"frequencies": partial(plots.study_curves, study, "frequencies", "mode", lines)}
    return sweep_figures(study)


def impact_figures(study: Any) -> dict[str, Draw]:
    """Return the curves of the effective restitution of `granchain.impacts`."""
    name, figures = "delivered_restitution", dict[str, Draw]()
    if not np.isfinite(study[name].values).any():
        return {}
    keys = [str(dim) for dim in study[name].dims if dim != "law" and len(study[dim]) > 1]
    lines = "law" if len(study["law"]) > 1 else None
    for key in keys:
        other = lines or next((other for other in keys if other != key), None)
        figures[f"restitution-over-{key}"] = (
            partial(plots.restitution_against_speed, study)
            if key == "speed"
            else partial(plots.study_curves, study, name, key, other)
        )
    return figures


def sweep_figures(study: Any) -> dict[str, Draw]:
    """Return the figures of `granchain.sweep`."""
    figures: dict[str, Draw] = {}
    summaries = [
        name
        for name in study_numbers(study)
        if str(study[name].attrs.get("long_name", "")).startswith(OF_THE_SUMMARY)
        or "wave_speed" not in study
    ]
    features = [
        name
        for name in (*FEATURES, *summaries)
        if name in study and np.isfinite(study[name].values).any()
    ]
    if "chained" in study.attrs:
        # The keys of a chained study vary along its runs.
        keys = [str(key) for key in study.coords if study[key].dims == ("run",) and key != "run"]
        pairs = [(name, key) for name in (*features, "force_amplitude") for key in keys]
        return {
            f"{name}-over-{key.replace('.', '-')}": partial(plots.study_curves, study, name, key)
            for name, key in pairs
            if name in study and len(study["run"]) > 1
        }
    members = study["wave_speed" if "wave_speed" in study else "status"]
    dims, beads = list(map(str, members.dims)), study.sizes.get("sensor_bead", 0)
    keys = [dim for dim in dims if dim not in NO_KEYS and len(study[dim]) > 1]
    numbered = [key for key in keys if study[key].dtype.kind in "fiu"]
    named = [key for key in keys if key not in numbered]
    first = "run" if "run" in study.dims else next(iter(named + numbered), None)
    if beads > 1 and (first != "run" or study.attrs.get("how") == "zip"):
        figures["peaks"] = partial(plots.study_curves, study, "peak", "sensor_bead", first)
    for key in numbered:
        lines = next(iter([*named, *(other for other in numbered if other != key)]), None)
        figures |= {
            f"{name}-over-{key.replace('.', '-')}": partial(
                plots.study_curves, study, name, key, lines
            )
            for name in features
        }
    if len(numbered) > 1:
        figures |= {
            f"{name}-map": partial(plots.study_map, study, name, *numbered[:2]) for name in features
        }
    if any(dim in dims and len(study[dim]) >= LEAST_DISTRIBUTION for dim in ("draw", "run")):
        lines = next(iter(named), None)
        figures |= {
            f"{name}-distribution": partial(plots.study_distribution, study, name, lines)
            for name in [*features, *(["peak"] if beads else [])]
        }
    return figures
