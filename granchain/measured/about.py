"""Metadata of a trace in `about.toml`: description, source, method, and uncertainty.

It may also contain other facts about the experiment.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from granchain.case.checks import tolerances_of
from granchain.case.document import toml_text
from granchain.case.tables import ToleranceTable
from granchain.errors import TraceError
from granchain.keys import Problems, Table, choice, key, number_key, read_table, text_key

# One number for all sensors, or one per sensor in the order of the trace.
_EACH = "a number of 0 or more, or a list of such numbers in the order of the sensors"
EachSensor = (
    Annotated[float, Field(ge=0.0)]
    | Annotated[list[Annotated[float, Field(ge=0.0)]], Field(min_length=1)]
)


class UncertaintyTable(Table):
    """Uncertainties of the trace, one standard deviation each."""

    gain: EachSensor = key(
        "the relative calibration uncertainty of each sensor, the same for all its samples",
        _EACH,
        0.0,
        unit="1",
    )
    common_gain: float = number_key(
        "1", "the relative calibration uncertainty common to all sensors", 0.0, low=0.0
    )
    noise: float | None = number_key(
        "N", "the noise of one sample, by default estimated from the trace", None, low=0.0
    )
    time: EachSensor = key(
        "the uncertainty of the clock of each sensor in addition to noise, such as the error "
        "of reading a figure [s]",
        _EACH,
        0.0,
        unit="s",
    )

    def individual_errors(self, name: Literal["gain", "time"], count: int) -> list[float]:
        """Return the individual gain errors [1] or clock errors [s] of `count` sensors."""
        stated = getattr(self, name)
        return [float(error) for error in stated] if isinstance(stated, list) else [stated] * count

    def all_gain(self, count: int) -> list[float]:
        """Return the relative force errors of the sensors from both calibrations [1]."""
        return [
            math.hypot(error, self.common_gain) for error in self.individual_errors("gain", count)
        ]


class SensorTable(Table):
    """Sensor bead and instrument, which apply to both sides of a comparison."""

    front_mass: float | None = number_key(
        "kg",
        "the mass of the half bead that the wave reaches first, including half of the piezo "
        "element",
        None,
        above=0.0,
    )
    cutoff: float | None = number_key(
        "Hz", "the frequency at which the zero-phase filter halves the amplitude", None, above=0.0
    )
    order: int = key("the order of the filter", "a whole number from 1 to 8", 2, ge=1, le=8)
    high_pass: (
        Annotated[float, Field(gt=0.0)]
        | Annotated[list[Annotated[float, Field(gt=0.0)]], Field(min_length=1)]
        | None
    ) = key(
        "the frequency below which the instrument loses more than half of the power, for all "
        "sensors or for each; the same filter is applied to the simulation",
        "a number above 0, or a list of such numbers in the order of the sensors",
        None,
        unit="Hz",
    )
    low_pass: float | None = number_key(
        "Hz",
        "the frequency above which the instrument loses more than half of the power",
        None,
        above=0.0,
    )
    filter_order: int = key(
        "the order of high_pass and low_pass", "a whole number from 1 to 8", 1, ge=1, le=8
    )
    gain: float | list[float] | None = key(
        "the sensitivity of each sensor, recorder output per newton; the forces are already "
        "divided by it",
        "a number, or a list of numbers in the order of the sensors",
        None,
        unit="V/N",
    )


class FactTable(Table):
    """One known fact about the experiment."""

    what: str = text_key("a description")
    value: Any = key("the value", "a number, a text, or a list of them")
    unit: str = text_key("the unit")
    source: str = text_key("the location in the publication")


class PrintedTable(Table):
    """A table that was published, as a CSV file in the folder."""

    file: str = key(
        "the name of the file",
        "the name of a CSV file in the folder",
        pattern=r"^[\w-][\w.-]*\.csv$",
    )
    what: str = text_key("a description")
    source: str = text_key("the location in the publication")


class AboutTable(Table):
    """All metadata of a trace."""

    title: str = text_key("a title")
    kind: Literal["measured", "digitised", "synthetic"] = choice(
        "the kind of the trace", ("measured", "digitised", "synthetic")
    )
    what: str = text_key("a description of the experiment")
    who: str = text_key("the authors")
    doi: str = text_key("the DOI of the publication")
    figure: str = text_key("the figure that the trace was digitized from")
    digitised: str = text_key("the digitization method")
    licence: str = text_key("the licence of the data")
    origin: str = text_key("the name and the checksum of the imported file")
    start: float = number_key("s", "the time of the first sample on the clock of the recorder", 0.0)
    uncertainty: UncertaintyTable = key(
        "the uncertainty of the trace", "a table [uncertainty]", UncertaintyTable()
    )
    tolerance: ToleranceTable | None = key(
        "the tolerances of case parameters", "a table [tolerance]", None
    )
    sensor: SensorTable = key(
        "the sensor bead and its instrument", "a table [sensor]", SensorTable()
    )
    fact: list[FactTable] = key("facts about the experiment", "tables [[fact]]", [])
    table: list[PrintedTable] = key("published tables", "tables [[table]]", [])

    @property
    def kind_text(self) -> str:
        """Kind of the trace, for figures and tables."""
        return {
            "measured": "measured",
            "digitised": "measured, digitized from a figure",
            "synthetic": "synthetic data",
        }[self.kind]


def about_entry(about: AboutTable) -> dict[str, str]:
    """Return the entry of the provenance of an answer with the metadata of its trace."""
    return {"trace_about_json": about.model_dump_json(exclude_defaults=True)}


def about_in(provenance: Mapping[str, Any]) -> AboutTable:
    """Return the metadata of the trace of an answer, from its provenance.

    Raises
    ------
    TraceError
        If the metadata in a file are damaged.
    """
    return about_of(json.loads(provenance["trace_about_json"]), "trace", curve=False)


def about_of(document: Mapping[str, Any], where: str, curve: bool = True) -> AboutTable:
    """Return the metadata of a trace from a document.

    If there is no curve yet, the method of reading is not required.

    Raises
    ------
    TraceError
        If the metadata are invalid. The message lists every error.
    """
    problems = Problems()
    about: AboutTable | None = read_table(AboutTable, "", document, problems)
    if about is not None:
        # the keys belong to a case, which is not known here
        tolerances_of(about.tolerance or {}, "tolerance", problems)
        high, low = about.sensor.high_pass, about.sensor.low_pass
        problems.check(
            high is None or low is None or bool(np.max(high) < low),
            "sensor.high_pass",
            f"{high!r} Hz is not below the low_pass frequency {low!r} Hz",
            "It must be less than sensor.low_pass",
            "Set high_pass to the lower limit of the pass band of the instrument, and "
            "low_pass to the upper limit",
        )
        for name, said in (
            ("figure", about.figure),
            ("doi", about.doi or about.who),
            ("digitised", about.digitised or not curve),
        ):
            problems.check(
                bool(said) or about.kind != "digitised",
                name,
                "missing",
                "Digitized data require the source, the figure, and the digitization method",
                f'Set it with --set {name}="...", or in about.toml',
            )
    if problems.sentences or about is None:
        raise TraceError([f"{where}: {sentence}" for sentence in problems.sentences])
    return about


def about_as_toml(about: AboutTable) -> str:
    """Return the text of an about.toml without default values."""
    tables = {"who": "", "doi": "", "licence": ""} | about.model_dump(exclude_defaults=True)
    if about.tolerance is not None:
        tables["tolerance"] = tolerances_of(about.tolerance, "tolerance", Problems())
    return toml_text({name: tables[name] for name in AboutTable.model_fields if name in tables})
