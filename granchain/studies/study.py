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
from granchain.studies.plan import TAKEN_NAMES, Plan

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
    dims, shape = plan.dims, plan.shape
    variables = {
        name: Variable((name,), np.arange(n), "1", f"index of the {name}")
        for name, n in zip(dims, shape, strict=True)
        if name in ("run", "draw")
    }
    for key, listed in plan.listed.items():
        unit, meaning = about_key(plan.case, key)
        variables[key] = Variable(
            ("run",) if plan.how == "zip" else (key,), values_of_key(listed), unit, meaning
        )
    for key, drawn in plan.sample.items():
        unit, meaning = about_key(plan.case, key)
        along = tuple(
            name
            for name in dims[-1:]
            if name in ("draw", "run") and (plan.n > 1 or plan.how == "sobol")
        )
        variables[key] = Variable(along, drawn if along else np.asarray(drawn[0]), unit, meaning)
    variables["sensor_bead"] = Variable(
        ("sensor_bead",),
        np.array(found.sensor_bead, dtype=np.int64),
        "1",
        "label of the sensor bead",
    )
    for name in OF_SENSOR:
        values = getattr(found, name).reshape(*shape, len(found.sensor_bead))
        variables[name] = Variable((*dims, "sensor_bead"), values, *MEANING[name])
    for name in OF_MEMBER:
        variables[name] = Variable(dims, getattr(found, name).reshape(shape), *MEANING[name])
    for name in dict.fromkeys(name for one in found.summaries for name in one):
        if name in variables or name in TAKEN_NAMES:
            raise CaseError(
                f"summary: got the name {name}, which the study has already, allowed another; "
                "rename it"
            )
        values = np.array([one.get(name, np.nan) for one in found.summaries], dtype=float)
        variables[name] = Variable(dims, values.reshape(shape), "", f"of the summary: {name}")
    hashes = {text: hash_of_record(text) for text in dict.fromkeys(found.law)}
    for name, texts, meaning in (
        ("status", [one.label for one in found.status], "how the run ended"),
        ("message", found.message, "why it failed"),
        (
            "law_sha256",
            [hashes[text] for text in found.law],
            "hash of what its law was: of its functions and resolved coefficients",
        ),
        ("point", points, "name of the member: hash of its case, version and what is measured"),
    ):
        if texts is not None:
            variables[name] = Variable(
                dims, np.array([*texts, None], dtype=object)[:-1].reshape(shape), "", meaning
            )
    if traces:
        counts = np.array([len(one) for one in found.time])
        longest = int(counts.max(initial=0))
        time = np.full((len(counts), longest), np.nan)
        force = np.full((len(counts), longest, len(found.sensor_bead)), np.nan)
        for place, count in enumerate(counts):
            time[place, :count], force[place, :count] = found.time[place], found.force[place]
        variables["sample"] = Variable(("sample",), np.arange(longest), "1", "index of the sample")
        variables["n_samples"] = Variable(
            dims, counts.reshape(shape), "1", "how many values of time there are"
        )
        variables["time"] = Variable(
            (*dims, "sample"), time.reshape(*shape, longest), "s", "time of the samples"
        )
        variables["sensor_force"] = Variable(
            (*dims, "sample", "sensor_bead"),
            force.reshape(*shape, *force.shape[1:]),
            "N",
            "force of the sensor bead",
        )
    return variables


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
    inside = [
        key for key in (*plan.listed, *plan.sample) if plan.dims == () or key not in plan.dims
    ]
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
    if len(values) > 1 and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in values
    ):
        return f"{min(values):.6g} to {max(values):.6g}"
    words = [
        f"{value:.6g}" if isinstance(value, float) else shown(value).strip('"') for value in values
    ]
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")


def values_of_key(values: Sequence[Any]) -> np.ndarray:
    """Numbers as they are, not a number for None; anything else as text."""
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return np.array(values, dtype=np.int64)
    if all(
        value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
        for value in values
    ):
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.array(
        [*(value if isinstance(value, str) else canonical(value) for value in values), None],
        dtype=object,
    )[:-1]


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


def measures_of(study: Any) -> tuple[list[str], Measures]:
    """Names of the members of a study's data set, and what was measured of them."""
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
        time=[np.zeros(0)] * n,
        force=[np.zeros((0, sensors))] * n,
        summaries=[{name: values[place] for name, values in more.items()} for place in range(n)],
        **numbers,
    )
    if "sensor_force" in study:
        time = study["time"].values.reshape(n, -1)
        force = study["sensor_force"].values.reshape(n, time.shape[1], sensors)
        for place, count in enumerate(study["n_samples"].values.ravel().tolist()):
            found.time[place], found.force[place] = time[place, :count], force[place, :count]
    return lists["point"], found
