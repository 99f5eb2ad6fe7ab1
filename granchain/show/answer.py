"""Report about an answer or a study, from the labels of its variables."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from granchain.analysis import Summary, summary
from granchain.case import Case
from granchain.case.document import flattened, keys_that_differ, toml_text
from granchain.contact import laws
from granchain.contact.inputs import input_values
from granchain.contact.law import ContactLaw, docstring_of
from granchain.errors import CaseError, RunError
from granchain.figures.catalogue import ANSWER_FIGURES, figures_of, lacking, several_figures
from granchain.figures.style import (
    MOST_CURVES,
    evenly_spaced,
    labels_of,
)
from granchain.keys import declared, table_in
from granchain.markup import ALIGNED_NUMBER, Grid
from granchain.mechanisms.case import MECHANISM_KINDS
from granchain.mechanisms.checks import checks_of
from granchain.show.blocks import (
    Block,
    Boxed,
    DrawnFigure,
    Formula,
    Heading,
    Markup,
    Paragraph,
    paragraphs,
)
from granchain.show.numbers import check_grid, number_blocks, provenance_rows
from granchain.status import text_of_statuses
from granchain.store import Label, Result, Variable
from granchain.store.answer import messages_of_study, variables_of
from granchain.store.dataset import column_of
from granchain.store.schema import labelled
from granchain.store.tables import MOST_INNER, range_table, value_tables
from granchain.studies.ensemble import Ensemble
from granchain.studies.measures import missing_note

# The equations of the package's laws as MathML, printed by docs/laws.py from docs/equations.
EQUATIONS = Path(__file__).with_name("equations.json")
# Maximum number of entries of a list, and of characters of a value, in the table of a setup.
MOST_ENTRIES, VALUE_LENGTH = 12, 40
# Largest numbers of rows of a table, of members of an ensemble, of messages of a study, and of
# answers inside an answer. The file contains all of them.
MOST_ROWS, MOST_MEMBERS, MOST_MESSAGES, MOST_GROUPS = 100, 40, 12, 3
# Variables for the sentence that sums up an answer, most important first, and the largest number of
# them in it.
ANSWERING = (
    *("restitution", "delivered_restitution", "max_force", "duration", "wave_speed"),
    *("transmitted_energy", "peak_measured", "peak_computed", "nominal_peak", "peak"),
    *("long_wave_speed", "band_edges", "gaps", "frequencies", "order", "largest", "value", "start"),
    *("parameter", "period", "energy", "rms"),
)
MOST_CLAUSES = 3
# Terms of the energy balance that are lost.
LOST = ("plastic", "viscous", "clamp", "elements_viscous")
# Tables of a case that are shown elsewhere, or only as the text of the case.
NO_SETUP = ("title", "contact", "snapshots", "energy", "record", "tolerance", "fitted", "mechanism")

IDENTIFIED = (
    'This run used damping = "identified" where listed in the inputs. With this setting, the '
    "effective restitution equals the nominal restitution. The remarks on the effective "
    "restitution in the description of the law refer to the published damping."
)


# Captions of figures. Default: the name.
CAPTIONS = {
    "force_traces": "Force versus time at every sensor, one row each, with common axes",
    "bead_velocities": "The velocity of beads versus time",
    "space_time": "The bead velocity versus time and position in the chain",
    "overlaps": "The largest overlap and the residual overlap of each contact along the chain",
    "slider_kinematics": "Position, velocity, and acceleration of the slider versus the crank "
    "angle",
    "joint_force": "The contact force in the joint versus the crank angle",
    "peaks": "Peak force, arrival, width, and speed of the first pulse along the chain, with "
    "power-law fits versus bead number",
    "hysteresis": "Contact force versus overlap at the recorded contacts",
    "energy": "Kinetic, recoverable, and dissipated energy versus time, and error of the energy "
    "balance",
    "joint_orbit": "Path of the journal centre relative to the bearing centre, within the "
    "clearance circle",
    "band_traces": "First pulse at each sensor: the nominal case as a line, and uncertainty bands",
    "sensitivities": "Sensitivity of the peak to each parameter: first-order and total indices",
    "frequencies": "Frequencies of the modes",
    "bifurcation": "Orbits versus the parameter. Lines are solid for stable and dashed for "
    "unstable orbits, and markers are special points",
    "orbit": "Velocity versus displacement of the orbit, states after each period near it, and "
    "the Floquet multipliers with the unit circle",
    "dispersion_curves": "Frequency versus wavenumber of small waves about the static state. Band "
    "gaps are grey",
    "spectrum": "Amplitude ratio of sensor to source, its coherence, and, if it was computed, "
    "frequency versus wavenumber",
    "fit": "Measured and fitted pulses, and their peaks or arrivals at each sensor, with the "
    "residuals below; of laws that approximate another, the differences at each sensor",
    "mode_shapes": "Number of participating beads in each mode, and mode shapes",
    "comparison": "Measured and simulated force at each sensor, and their difference",
    "impact_comparison": "Measured and computed impacts. Rows in bold rank the laws",
    "impact_loops": "Force versus overlap of the impact",
}


def arranged_blocks(
    name: str,
    title: str,
    messages: Iterable[Any],
    law: str,
    provenance: Mapping[str, Any],
    figures: Mapping[str, Callable[[], Any]],
    sentences: Iterable[str],
    tables: Sequence[Block],
    varied: Iterable[str] = (),
    inputs: Mapping[str, Any] | None = None,
) -> list[Block]:
    """Return the contents of the report about an answer in order, with its case and provenance.

    Parameters
    ----------
    name : str
        Name of the file.
    title, messages, law, provenance
        See the attributes of the answer.
    figures : mapping of str to callable
    sentences : iterable of str
        Sentences about the computation and its result. Empty sentences are omitted.
    tables : sequence of Block
    varied : iterable of str
        Keys that a study varies.
    inputs : mapping, optional
        Inputs of the law. Default: those of the case.
    """
    case = table_from_json(provenance.get("case_resolved_json"))
    case_tables = table_from_json(provenance.get("case_json")).get("tables", {})
    stated = {name: inputs or inputs_of(case, name) for name in law.split(", ") if name}
    settings = [
        *setup_blocks(case_tables, varied),
        *(block for each in stated.items() for block in input_blocks(*each, varied)),
    ]
    return [
        Heading(title or name, 1),
        *(Paragraph(sentence) for sentence in sentences if sentence),
        *(Paragraph(str(message), warning=True) for message in messages if str(message)),
        *figure_blocks(figures),
        *([Heading("Numbers", 2), *tables] if tables else []),
        *([Heading("Setup", 2), *settings] if settings else []),
        *case_blocks(provenance.get("case_toml"), case),
        Heading("Provenance", 2),
        Grid(("", ""), (("file", name), *provenance_rows(provenance))),
    ]


def answer_in_words(variables: Mapping[str, Variable]) -> str:
    """Return the most important variables of an answer, with their ranges, in one sentence."""
    clauses = []
    for name in ANSWERING:
        values = np.ravel(variables[name].data) if name in variables else np.empty(0)
        numbers = values[np.isfinite(values)] if values.dtype.kind in "iuf" else values[:0]
        if numbers.size:
            label, unit = variables[name].long_name, variables[name].unit
            ends = dict.fromkeys(f"{end:.4g}" for end in (numbers.min(), numbers.max()))
            range_text = f"{' to '.join(ends)} {'' if unit == '1' else unit}"
            clauses.append(f"{re.split('[:;]', label)[0]} {range_text}".rstrip())
    return "; ".join(clauses[:MOST_CLAUSES])


def answer_of_run(numbers: Summary) -> str:
    """Return the speed and the peaks of the first pulse, and the energy lost, in one sentence."""
    pulses = [pulse for pulse in numbers.sensors if pulse.complete]
    clauses = []
    if math.isfinite(numbers.wave_speed):
        clauses.append(f"the first pulse travels at {numbers.wave_speed:.4g} m/s")
    if pulses:
        ends = [f"{pulse.peak:.4g} N at bead {pulse.bead}" for pulse in (pulses[0], pulses[-1])]
        clauses.append(f"the peak of the first pulse is {' and '.join(dict.fromkeys(ends))}")
    if numbers.energy is not None and numbers.energy.moving_supplied > 0.0:
        lost = sum(value for name, value in numbers.energy.terms.items() if name in LOST)
        percent, radiated = (
            100.0 * energy / numbers.energy.moving_supplied
            for energy in (lost, numbers.energy.radiated)
        )
        to_ends = f", including {radiated:.4g} % that the ends take" if radiated else ""
        clauses.append(f"{percent:.4g} % of the energy supplied is lost{to_ends}")
    return ", and ".join(filter(None, [", ".join(clauses[:-1]), *clauses[-1:]]))


def answer_blocks(answer: Any, name: str) -> list[Block]:
    """Return the report about an answer or a study in a file of this name, without its laws."""
    if hasattr(answer, "data_vars"):
        return study_blocks(answer, name)
    if isinstance(answer, Ensemble):
        return ensemble_blocks(answer, name)
    if isinstance(answer, Result):
        return result_blocks(answer, name)
    inner = [
        block
        for label, group in list(answer.groups.items())[:MOST_GROUPS]
        if type(group).__name__ in ANSWER_FIGURES
        for block in (Heading(label, 2), *figure_blocks(figures_of(group)), *grids(group.variables))
    ]
    kind = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(answer).__name__).capitalize()
    return arranged_blocks(
        name,
        f"{kind}: {answer.title}",
        answer.messages,
        answer.law,
        answer.provenance,
        figures_of(answer),
        (
            f"{kind}{f', contact law {answer.law}' if answer.law else ''}.",
            getattr(answer, "conclusion", "") or answer_in_words(answer.variables),
        ),
        [*grids(answer.variables), *inner],
        inputs=getattr(answer, "inputs", {}) if "restitution_impulse" in answer.variables else {},
    )


def result_blocks(result: Result, name: str) -> list[Block]:
    """Return the report about a run."""
    numbers = summary(result)
    end = numbers.end
    until = f"Simulated until {1e6 * end:.6g} us, contact" if math.isfinite(end) else "Contact"
    return arranged_blocks(
        name,
        result.title,
        [message for message in result.messages if message.warning],
        result.law,
        result.provenance,
        figures_of(result),
        (
            f"{until} law {result.law}, time step {result.time_step:.6g} s: {result.status.label}.",
            "" if "crank_angle" in result.variables else answer_of_run(numbers),
        ),
        [
            *tables_of_run(result),
            *(Paragraph(str(note)) for note in result.messages if not note.warning and str(note)),
            *(
                Paragraph(f"No figure of {figure.replace('_', ' ')}. {advice}")
                for figure, advice in lacking(result).items()
            ),
        ],
    )


def study_blocks(study: Any, name: str) -> list[Block]:
    """Return the report about a study."""
    status = study.attrs.get("status", "complete")
    members = f"{study['status'].size} members: " if "status" in study else ""
    notes = messages_of_study(study)
    if "message" in study:
        notes += study["message"].values.ravel().tolist()
    return arranged_blocks(
        name,
        study.attrs["title"],
        list(dict.fromkeys(notes))[:MOST_MESSAGES],
        study.attrs["law"],
        study.attrs,
        {
            f"{figure} along the chain" if figure == "peaks" else figure: draw
            for figure, draw in figures_of(study).items()
        },
        (
            f"{study.attrs['granchain_study'].replace('_', ' ').capitalize()}: {members}{status}.",
            answer_in_words(variables_of(study)),
        ),
        grids(variables_of(study)),
        study.coords,
    )


def ensemble_blocks(ensemble: Ensemble, name: str) -> list[Block]:
    """Return the report about an ensemble: varied keys, wave speeds, and peaks of members."""
    places = evenly_spaced(len(ensemble), MOST_MEMBERS)
    fewer = len(places) < len(ensemble)
    note = f"{len(places)} of {len(ensemble)} members shown" if fewer else ""
    results: dict[int, Result] = {}
    for i in places:
        # a member that could not be set up has no result
        with suppress(RunError):
            results[i] = ensemble[i]
    pulses = {k: {p.bead: p for p in summary(result).sensors} for k, result in results.items()}
    beads = sorted({bead for each in pulses.values() for bead in each})
    late = [[b in each and not each[b].complete for b in beads] for each in pulses.values()]
    origins = [result.provenance for result in results.values()]
    varied = keys_that_differ(
        [table_from_json(origin["case_json"]).get("tables", {}) for origin in origins],
        [table_from_json(origin["case_resolved_json"]) for origin in origins],
    )
    chosen = [beads[k] for k in evenly_spaced(len(beads), MOST_INNER)]
    peaks = [
        [each[b].peak if b in each and each[b].complete else math.nan for b in chosen]
        for each in pulses.values()
    ]
    run = ("run",)
    labels = {
        "run": Label(run, "1", "index of the run"),
        **{key: Label(run, "", f"case parameter {key}") for key in varied},
        "status": Label(run, "", "how the run ended"),
        "wave_speed": Label(run, "m/s", "wave speed"),
        "sensor_bead": Label(("sensor_bead",), "1", "label of the sensor bead"),
        "peak": Label(("run", "sensor_bead"), "N", "peak force of the first pulse"),
    }
    data = {
        "run": list(results),
        **{key: column_of(values) for key, values in varied.items()},
        "status": [ensemble.status[i].label for i in results],
        "wave_speed": [summary(result).wave_speed for result in results.values()],
        "sensor_bead": np.array(chosen, dtype=int),
        "peak": np.reshape(peaks, (len(results), len(chosen))),
    }
    several = list(results.values())
    lines = evenly_spaced(len(several), MOST_CURVES)
    run_labels = labels_of(several) if several else []
    return arranged_blocks(
        name,
        ensemble.title,
        [*ensemble.messages, note, missing_note(np.array(late, dtype=bool), beads)],
        ensemble.law,
        ensemble.provenance,
        several_figures([several[k] for k in lines], [run_labels[k] for k in lines])
        if several
        else {},
        (
            f"Ensemble of {len(ensemble)} members: {text_of_statuses(ensemble.status)}.",
            answer_in_words(labelled(data, labels)),
        ),
        grids(labelled(data, labels)),
        varied,
    )


def figure_blocks(figures: Mapping[str, Callable[[], Any]]) -> list[Block]:
    """Return figures with their captions."""
    blocks: list[Block] = [Heading("Figures", 2)] if figures else []
    for name, draw in figures.items():
        caption = CAPTIONS.get(name, re.sub("[-_]", " ", name))
        blocks.append(DrawnFigure(draw, f"{caption[:1].upper()}{caption[1:]}."))
    return blocks


def tables_of_run(result: Result) -> list[Block]:
    """Return the tables of a run: first pulses and energies, or the checks of a mechanism."""
    if "crank_angle" not in result.variables:
        return list(number_blocks(summary(result)))
    with suppress(CaseError):
        return [check_grid(checks_of(result))]
    return []


def grids(variables: Mapping[str, Variable]) -> list[Block]:
    """Return the tables of variables, with their values or their ranges."""
    tables = [*value_tables(variables, MOST_ROWS), range_table(variables, MOST_ROWS)]
    return [grid for grid in tables if grid.rows]


# --------------------------------------------------------------------------------------------------
# Case


def table_from_json(text: Any) -> dict[str, Any]:
    """Return a table from its JSON in a file, or an empty table."""
    return dict(json.loads(text or "{}"))


def value_text(value: Any) -> str:
    """Return a value of a case as short text on one line."""
    if isinstance(value, float):
        return f"{value:.15g}"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 3] + "..."


def summarized_values(tables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield dotted keys and their values as text; long lists are summarized."""
    for key, value in islice(flattened(tables), MOST_ROWS):
        if isinstance(value, list) and len(value) > MOST_ENTRIES:
            yield key, f"{len(value)} values, {value_text(value[0])} to {value_text(value[-1])}"
        elif value != "":
            yield key, value_text(value)


def setup_blocks(case: Mapping[str, Any], varied: Iterable[str]) -> list[Block]:
    """Return the table of the keys that the author gave, with the meanings that they declare.

    Parameters
    ----------
    case : mapping
        Tables of the case as its author gave them.
    varied : iterable of str
        Keys that a study varies.
    """
    kind = case.get("mechanism")
    model: Any = MECHANISM_KINDS.get(kind, Case) if isinstance(kind, str) else Case
    rows = []
    for key, text in summarized_values(
        {name: v for name, v in case.items() if name not in NO_SETUP}
    ):
        table, about = model, {"meaning": "", "unit": None}
        names = key.split(".")
        for name, following in zip(names, [*names[1:], ""], strict=True):
            if table is not None and name in table.model_fields:
                about = declared(table, name)
                table = table_in(table.model_fields[name].annotation, following)
        # the unit is written after the value
        meaning = re.sub(r" \[[^\[\]]+\]$", "", str(about["meaning"])).removeprefix("the ")
        unit = about["unit"] if ALIGNED_NUMBER.fullmatch(text) else None
        rows.append((key, "varied" if key in varied else text, unit or "", meaning))
    return [Grid(("key", "value", "unit", "meaning"), tuple(rows), "Setup")] if rows else []


def inputs_of(case: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the inputs of a contact law in a completed case: of [contact], a segment, or a wall.

    For a law that a study varies, the inputs are those of the case that the law has, and its
    defaults.
    """
    ends = case.get("ends", {})
    tables = [
        case.get("contact"),
        *(segment.get("contact") for segment in case.get("chain", {}).get("segment", ())),
        *(ends.get(f"{side}_contact") for side in ("left", "right")),
    ]
    stated = [table for table in tables if table]
    law = laws().get(name)
    other: dict[str, Any] = dict(next(iter(stated), {}))
    if law is not None:
        names = [quantity.name for quantity in law.inputs]
        other = input_values(law, {key: value for key, value in other.items() if key in names})[0]
    return next((table for table in stated if table.get("law") == name), other)


def case_blocks(text: Any, case: Mapping[str, Any]) -> list[Block]:
    """Return the text of the case as given, and the completed case."""
    texts = {
        "Case file": str(text or ""),
        "Complete case with all defaults, in SI units": toml_text(case) if case else "",
    }
    boxes = [Boxed(title, content) for title, content in texts.items() if content]
    return [Heading("Case", 2), *boxes] if boxes else []


# --------------------------------------------------------------------------------------------------
# Contact laws


@cache
def equations() -> dict[str, Any]:
    """Return the equation and the symbols of each law of the package.

    `equation` is MathML, in parts that a printed page does not break. Each of the `symbols` has
    MathML, a meaning, a unit, and, for an input of the law, its name.
    """
    return dict(json.loads(EQUATIONS.read_text(encoding="ascii")))


def equation_blocks(law: type[ContactLaw]) -> list[Block]:
    """Return the equation of a law with its symbols, or the source of a user's law."""
    printed = equations().get(law.name) if law.__module__.startswith("granchain.contact.") else None
    if printed is None:
        # the source also contains base classes in the same file
        classes = [base for base in law.__mro__ if base.__module__ == law.__module__]
        with suppress(OSError, TypeError):
            return [Boxed("Source of the law", "\n\n".join(map(inspect.getsource, classes)))]
        return []
    rows = [
        (Markup(symbol), text, "-" if unit == "1" else unit)
        for symbol, text, unit, _ in printed["symbols"]
    ]
    symbols = Grid(("symbol", "meaning", "unit"), tuple(rows), f"Symbols of {law.name}")
    return [*map(Formula, printed["equation"]), symbols]


def law_blocks(name: str) -> list[Block]:
    """Return the description and the source of a contact law."""
    heading, law = Heading(f"Contact law {name}", 2), laws().get(name)
    if law is None:
        absent = "This law is not installed here. Its definition is in a separate file."
        return [heading, Paragraph(absent)]
    first, *others = paragraphs(docstring_of(law)) or [""]
    return [
        heading,
        Paragraph(first),
        *equation_blocks(law),
        *map(Paragraph, others),
        Paragraph(f"Source: {law.source}."),
        *([Paragraph(f"Valid for: {law.validity}.")] if law.validity else []),
    ]


def input_blocks(name: str, stated: Mapping[str, Any], varied: Iterable[str] = ()) -> list[Block]:
    """Return the inputs of a contact law in a case, without those that a study varies."""
    law, pairs = laws().get(name), stated.get("pair") or ()
    if law is None:
        return []
    inputs = {f"Inputs of {name}": stated}
    inputs |= {f"Inputs of {name} between {' and '.join(p['materials'])}": p for p in pairs}
    tables = {
        title: tuple(
            (q.name, value_text(values[q.name]), q.unit or "-", q.meaning)
            for q in law.inputs
            if values.get(q.name) is not None and f"contact.{q.name}" not in varied
        )
        for title, values in inputs.items()
    }
    identified = any(values.get("damping") == "identified" for values in inputs.values())
    columns = ("input", "value", "unit", "meaning")
    return [
        *(
            Grid(columns, rows, title) if rows else Paragraph(f"Contact law {name}: no inputs")
            for title, rows in tables.items()
        ),
        *([Paragraph(IDENTIFIED)] if identified else []),
    ]
