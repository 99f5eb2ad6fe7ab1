"""The data set of a study: what was measured of its members, along the dimensions of its plan."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from granchain.case import Case
from granchain.case.tables import TABLES, MaterialTable, SegmentTable
from granchain.contact import laws
from granchain.contact.law_record import LawRecord
from granchain.errors import CaseError
from granchain.keys import Table, declared, shown
from granchain.plain_data import canonical
from granchain.status import Status
from granchain.store.provenance import granchain_version, source_hash, versions
from granchain.store.result import dataset_of
from granchain.store.variables import CONTENT, FORMAT, STUDY_OF_RUNS, Variable
from granchain.studies.measures import OF_MEMBER, OF_SENSOR, Measures
from granchain.studies.plan import TAKEN_NAMES, Plan, is_number

# Variables of each sensor, and of each member: unit and meaning.
MEANING = {
    "peak": ("N", "peak force of the first pulse"),
    "arrival": ("s", "time of that peak"),
    "width": ("s", "width of the first pulse at half height"),
    "merged": (
        "1",
        "1 where a second, larger pulse has passed the first before it had fallen to half: peak "
        "and arrival are the second's",
    ),
    "wave_speed": (
        "m/s",
        "wave speed: line through the arrivals at the sensors whose pulse is complete and has not "
        "merged",
    ),
    "wave_speed_sensors": ("1", "how many sensors the wave speed is from"),
    "transmitted_momentum": (
        "1",
        "momentum of the last bead when its first pulse has passed, over the striker's",
    ),
    "transmitted_energy": (
        "1",
        "kinetic energy of the last bead when its first pulse has passed, over the striker's",
    ),
    "time_step": ("s", "time step"),
}

UNLIKE = (
    "members take their wave speed from different sensors, as pulses have merged or not come: a "
    "pulse that slows down has another speed over another part of the chain; see merged and "
    "wave_speed_sensors, and compare arrivals at the same sensors"
)


def variables_of_study(
    plan: Plan, found: Measures, points: Sequence[str] | None, traces: bool
) -> dict[str, Variable]:
    """The variables of a study, those that label an axis first.

    Parameters
    ----------
    plan : Plan
    found : Measures
        Of its members, in order.
    points : sequence of str, optional
        Names of the members.
    traces : bool
        Whether there are forces of the sensors.
    """
    dims, shape, sensors = plan.dims, plan.shape, ("sensor_bead",)
    variables: dict[str, Variable] = {}

    def put(name: str, dims: tuple[str, ...], values: Any, *about: str) -> None:
        variables[name] = Variable(dims, values, *about)

    def put_members(name: str, values: Any, *about: str, inner: tuple[str, ...] = ()) -> None:
        put(name, (*dims, *inner), values.reshape((*shape, *values.shape[1:])), *about)

    for name, n in zip(dims, shape, strict=True):
        if name in ("run", "draw"):
            put(name, (name,), np.arange(n), "1", f"index of the {name}")
    for key, listed in plan.listed.items():
        along = "run" if plan.how == "zip" else key
        put(key, (along,), values_of_key(listed), *about_key(plan.case, key))
    of_draw = dims[-1:] if dims[-1:] == ("draw",) or plan.how == "sobol" else ()
    for key, drawn in plan.sample.items():
        values = drawn if of_draw else np.asarray(drawn[0])
        put(key, of_draw, values, *about_key(plan.case, key))
    labels = np.array(found.sensor_bead, dtype=np.int64)
    put("sensor_bead", sensors, labels, "1", "label of the sensor bead")
    for name, about in MEANING.items():
        put_members(name, getattr(found, name), *about, inner=sensors if name in OF_SENSOR else ())
    for name in dict.fromkeys(name for one in found.summaries for name in one):
        if name in variables or name in TAKEN_NAMES:
            raise CaseError(
                f"summary: got the name {name}, which the study has already, allowed another; "
                "rename it"
            )
        values = np.array([one.get(name, np.nan) for one in found.summaries], dtype=float)
        put_members(name, values, "", f"of the summary: {name}")
    hashes = {text: hash_of_record(text) for text in dict.fromkeys(found.law)}
    put_members("status", texts([one.label for one in found.status]), "", "how the run ended")
    put_members("message", texts(found.message), "", "why it failed")
    law = "hash of what its law was: of its functions and resolved coefficients"
    put_members("law_sha256", texts([hashes[text] for text in found.law]), "", law)
    if points is not None:
        point = "name of the member: hash of its case, version and what is measured"
        put_members("point", texts(points), "", point)
    if traces:
        counts = np.array([len(one) for one in found.time])
        longest = int(counts.max(initial=0))
        time = np.full((len(counts), longest), np.nan)
        force = np.full((len(counts), longest, len(labels)), np.nan)
        for place, count in enumerate(counts):
            time[place, :count], force[place, :count] = found.time[place], found.force[place]
        put("sample", ("sample",), np.arange(longest), "1", "index of the sample")
        put_members("n_samples", counts, "1", "how many values of time there are")
        put_members("time", time, "s", "time of the samples", inner=("sample",))
        of_force = ("sample", *sensors)
        put_members("sensor_force", force, "N", "force of the sensor bead", inner=of_force)
    return variables


def texts(words: Sequence[str]) -> np.ndarray:
    """Words as an array of objects."""
    return np.array([*words, None], dtype=object)[:-1]


def attributes_of_study(plan: Plan, found: Measures) -> dict[str, Any]:
    """Attributes of a study: what it is of, and where it comes from."""
    taken = [str(value) for value in plan.listed.get("contact.law", [plan.case.contact.law])]
    ends = [f"{found.status.count(one)} {one.label}" for one in dict.fromkeys(found.status)]
    attributes = {
        "Conventions": "CF-1.11",
        "title": plan.case.title_with(
            {key: values_in_words(values) for key, values in plan.vary.items()}
        )
        or "untitled case",
        "granchain_format": FORMAT,
        CONTENT: STUDY_OF_RUNS,
        "granchain_version": granchain_version(),
        "law": ", ".join(dict.fromkeys(taken)),
        "status": ", ".join(ends),
        "how": plan.how,
        "n": plan.n,
        "seed": plan.seed,
        "case_sha256": plan.case.sha256,
        "case_json": canonical(plan.case.as_given()),
        "case_resolved_json": canonical(plan.case.resolved()),
        "vary_json": canonical(plan.as_dict()["vary"]),
        "laws_json": canonical({hash_of_record(text): text for text in dict.fromkeys(found.law)}),
        "versions": versions(),
        "source_hash": source_hash(),
    }
    known = np.isfinite(found.wave_speed)
    sensors = np.column_stack([found.merged, found.wave_speed_sensors])[known]
    if (sensors != sensors[:1]).any():
        attributes["wave_speed_note"] = UNLIKE
    inside = [key for key in (*plan.listed, *plan.sample) if key not in plan.dims]
    # CF: variables that are coordinates along an axis that is not theirs alone
    return attributes | ({"coordinates": " ".join(inside)} if inside else {})


def hash_of_record(record: str) -> str:
    """The hash of a law's record; empty where there is none."""
    law = LawRecord.of_text(record)
    return "" if law is None else law.sha256


def dataset(plan: Plan, found: Measures, traces: bool, points: Sequence[str] | None = None) -> Any:
    """A study as an `xarray.Dataset`."""
    attributes = attributes_of_study(plan, found)
    inside = str(attributes.pop("coordinates", "")).split()
    return dataset_of(variables_of_study(plan, found, points, traces), attributes, inside)


def values_in_words(values: Any) -> str:
    """What a key takes, in a few words."""
    if not isinstance(values, list):
        return str(values)
    if len(values) > 1 and all(map(is_number, values)):
        return f"{min(values):.6g} to {max(values):.6g}"
    words = [
        f"{value:.6g}" if isinstance(value, float) else shown(value).strip('"') for value in values
    ]
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")


def values_of_key(values: Sequence[Any]) -> np.ndarray:
    """Numbers as they are, not a number for None; anything else as text."""
    if all(value is None or is_number(value) for value in values):
        whole = all(isinstance(value, int) for value in values)
        return np.array(values, dtype=np.int64 if whole else float)
    return texts([value if isinstance(value, str) else canonical(value) for value in values])


def about_key(case: Case, key: str) -> tuple[str, str]:
    """Unit and meaning of a key of a case."""
    table, _, name = key.partition(".")
    model: type[Table] | None = TABLES.get(table)
    if table == "contact" and name != "law":
        law = laws().get(case.contact.law)
        own = re.sub(r"^pair\.[0-9]+\.", "", name)
        for quantity in law.inputs if law is not None else ():
            if quantity.name == own:
                return quantity.unit, quantity.meaning
    parts = name.split(".")
    for part, inner in pairwise(parts):
        if part.endswith("material"):
            model, name = MaterialTable, inner
        elif part == "segment":
            model, name = SegmentTable, parts[-1]
    if model is not None and name in model.model_fields:
        about = declared(model, name)
        return about["unit"] or "", about["meaning"].removesuffix(f" [{about['unit']}]")
    return "", f"of the case: {key}"


def records_of(study: Any) -> dict[str, dict[str, Any]]:
    """The records of the members of a study's data set, by their names."""
    records = json.loads(study.attrs["laws_json"])
    lists = {
        name: study[name].values.ravel().tolist()
        for name in ("point", "sensor_bead", "status", "message", "law_sha256")
    }
    n, sensors = len(lists["point"]), len(lists["sensor_bead"])
    labels = {status.label: status for status in Status}
    own = {*OF_SENSOR, *OF_MEMBER, *TAKEN_NAMES}
    more = {
        name: one.values.ravel().tolist()
        for name, one in study.data_vars.items()
        if one.attrs.get("long_name") == f"of the summary: {name}" and name not in own
    }
    numbers: dict[str, Any] = {name: study[name].values.reshape(n, sensors) for name in OF_SENSOR}
    numbers |= {name: study[name].values.reshape(n) for name in OF_MEMBER}
    found = Measures(
        sensor_bead=tuple(lists["sensor_bead"]),
        status=[labels[label] for label in lists["status"]],
        message=lists["message"],
        law=[records[sha256] for sha256 in lists["law_sha256"]],
        summaries=[{name: values[place] for name, values in more.items()} for place in range(n)],
        **numbers,
    )
    traces = "sensor_force" in study
    if traces:
        time = study["time"].values.reshape(n, -1)
        force = study["sensor_force"].values.reshape(n, time.shape[1], sensors)
        counts = study["n_samples"].values.ravel().tolist()
        found.time = [row[:count] for row, count in zip(time, counts, strict=True)]
        found.force = [row[:count] for row, count in zip(force, counts, strict=True)]
    return {name: found.record(place, traces) for place, name in enumerate(lists["point"])}
