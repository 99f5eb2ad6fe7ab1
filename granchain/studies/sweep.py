"""Sweeps: a case for values of its keys, and for draws of them, as one labelled dataset."""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.case import Case
from granchain.case.checks import MEMORY, PER_STATE
from granchain.contact import laws
from granchain.contact.law_record import LawRecord
from granchain.errors import CaseError, GranchainWarning, LawError, RunError
from granchain.jit.options import fingerprint
from granchain.keys import Problems, shown
from granchain.plain_data import canonical, sha256_of
from granchain.progress import progress_of
from granchain.simulation import law_records, warn_of_fast_drives
from granchain.store import claim
from granchain.store.dataset import BESIDE_VARIABLE, dataset_of, stored_bytes
from granchain.store.files import LARGEST_FILE
from granchain.store.provenance import granchain_version, source_hash
from granchain.store.schema import Variable
from granchain.store.study import (
    StudyPart,
    messages_of_study,
    open_study,
    save_study,
    study_attributes,
    texts,
)
from granchain.studies.alone import check_alone, sweep_alone
from granchain.studies.chained import measure_chain, plan_of_chain
from granchain.studies.elsewhere import Elsewhere, changed_law
from granchain.studies.measures import (
    ARRAYS,
    FURTHER,
    NUMBERS,
    SETTLED,
    TRACES,
    Measures,
    Missing,
    SummaryFunction,
    measure,
    missing_note,
)
from granchain.studies.members import LOT, check_members, counter
from granchain.studies.plan import MEMBER_BYTES, RESERVED_NAMES, Plan, is_number, plan_of, vary_json

if TYPE_CHECKING:
    import xarray


def sweep(
    case: Case,
    vary: Mapping[str, Any],
    how: str = "product",
    n: int = 1,
    seed: int = 0,
    *,
    summary: SummaryFunction | None = None,
    measures: Sequence[str] = (),
    traces: bool = False,
    chained: bool = False,
    out: str | os.PathLike[str] | None = None,
    executor: Any = None,
    threads: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int], Any] | bool | None = None,
) -> xarray.Dataset:
    """Run a case for values of its keys and measure the first pulse of each member.

    Parameters
    ----------
    case : Case or MechanismCase
        Case to vary. It is not changed.
    vary : mapping
        Values for each key with dots: a list, `granchain.normal` or another frozen distribution of
        scipy.stats, `granchain.disorder`, or a table as in a sweep file. `granchain.derived` sets
        several keys, under a free name.
    how : {"product", "zip", "sobol"}
        Way to combine the values: "product" runs all combinations of the lists, "zip" takes the
        lists in parallel, and "sobol" runs n members with distributions only.
    n : int
        Number of draws at each point. The draws are the same at every point.
    seed : int
        Seed of all draws.
    summary : function, optional
        Function that takes a Result and returns a dict of numbers, which become variables. It is
        tested on the first member.
    measures : sequence of str
        Further variables, as computed by `granchain.analysis`: "second_moment", "participation",
        "bead_energy", and "contact_energy" over the snapshots, and "bead_spectrum" of the sensor
        forces. Of a mechanism, all or some of "largest_contact_force", "largest_acceleration" of
        the slider, and "impacts".
    traces : bool
        Whether to store the forces of the sensors.
    chained : bool
        Whether each value starts from the final state of the previous value, one after the other,
        each for `time.end`. The case may have at most one drive. The key must be the amplitude or
        the frequency of a harmonic drive, which changes over a ramp of whole periods, or the time
        step or end. For each value, the last whole periods, at most half of it, are measured: half
        of the range of the sensor forces, their mean, and the change of that range.
    out : str or path, optional
        File of the study. Members are written to FILE.part until it is complete.
    executor : concurrent.futures.Executor or dask Client, optional
        Executor that computes the members in other processes, on this machine or elsewhere.
    threads : int, optional
        Number of threads. Default: the number of processors available to this process.
    resume : bool
        Whether to reuse members in `out`, complete or partial, with the same resolved case, law,
        version, and measures.
    overwrite : bool
        Whether to overwrite an existing file `out`.
    progress : callable or bool, optional
        Function that is called with the number of finished members and the number of all members.
        Default: a line of text in a terminal or a notebook. False turns it off.

    Returns
    -------
    xarray.Dataset
        Variables with the key of each list as dimensions, and `draw` if n is more than 1. With
        "zip" and "sobol", the dimension is `run`, with the keys as coordinates. Numbers of a member
        that failed are nan; `status` and `message` give the reason. If a pulse has not arrived or
        ended, its numbers are nan, `missing` gives the reason, and a warning names the setting to
        change.

    Raises
    ------
    CaseError
        If an argument or a member is invalid, or if the summary fails on the first member. The
        message lists every error.
    FileError
        If `out` cannot be written.

    Examples
    --------
    >>> import granchain as gc
    >>> case = gc.load_case("steel-chain").replace({"contact": {"law": "hertz"}})
    >>> case = case.replace({"chain.beads": 8, "sensors.beads": [5], "time.end": 1e-4})
    >>> study = gc.sweep(case, {"striker.speed": [1.0, 2.0]}, progress=False)
    >>> study["peak"].dims
    ('striker.speed', 'sensor_bead')
    """
    plan = (plan_of_chain if chained else plan_of)(case, vary, how, n, seed)
    if plan.case.measured:
        check_alone(traces=traces, executor=executor, threads=threads, resume=resume)
        return sweep_alone(
            plan, axes_of_study(plan), vary_json(plan), summary=summary, measures=measures,
            out=out, overwrite=overwrite, progress=progress_of(progress, "sweep"),
        )  # fmt: skip
    study = swept(
        plan, out, resume, overwrite, summary=summary, measures=measures, traces=traces,
        executor=executor, threads=threads, progress=progress_of(progress, "sweep"),
    )  # fmt: skip
    for note in messages_of_study(study):
        if note != UNLIKE:
            warnings.warn(f"sweep: {note}", GranchainWarning, stacklevel=2)
    return study


def swept(
    plan: Plan,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    *,
    summary: SummaryFunction | None = None,
    measures: Sequence[str] = (),
    traces: bool = False,
    executor: Any = None,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Any:
    """Return the dataset of a plan; see `sweep`."""
    further = check_further(plan, measures, executor)
    if executor is not None and summary is not None:
        raise CaseError(
            "summary: a function cannot be used with an executor, because members are sent as "
            "data. Leave out the executor, or store the traces and evaluate them afterwards."
        )
    if resume and out is None:
        raise CaseError(
            "resume: no file to resume from. Resuming requires a study that was written with "
            "out=. Give its file as out=."
        )
    members = plan.changed()
    cases = [case for case, _ in members]
    warn_of_fast_drives(cases, 3)
    check_traces(cases, traces, further)
    found = Measures.empty(cases)
    names = None if out is None else points(cases, traces, summary, further, plan.chained)

    def compute(places: Sequence[int], done: Callable[[Sequence[int]], Any], where: str) -> None:
        """Compute members until the end, an interruption, or a failure of the executor."""
        counted = counter(progress, len(cases), len(cases) - len(places))

        def report(those: Sequence[int]) -> None:
            done(those)
            counted(those)

        try:
            if executor is not None:
                changes = [change for _, change in members]
                sent = Elsewhere(executor, plan.case, changes, cases, traces, found, further)
                sent.measure(places, report)
                return
            if plan.chained:
                measure_chain(
                    plan, cases, places, found, report, traces=traces, summary=summary,
                    further=further,
                )  # fmt: skip
                return
            if summary is not None or further:
                check_first(cases[places[0]], summary, further)
            measure(
                cases, threads, traces=traces, summary=summary, further=further, done=report,
                found=found, places=places,
            )  # fmt: skip
        except (KeyboardInterrupt, RunError) as error:
            missing = len(found.to_compute)
            kept = f"{len(cases) - missing} of {len(cases)} members are computed. {where}"
            if isinstance(error, RunError):
                data = dataset(plan, found, traces, names)
                raise RunError(f"{error}\n{kept}", data) from error
            if missing:
                warnings.warn(f"interrupted: {kept}", GranchainWarning, stacklevel=4)

    if out is None or names is None:
        repeated = repeated_members(plan, [change for _, change in members])
        more = (
            "They are in the result of the error. To store them in a file and resume from it, "
            "use out= and resume=True."
        )
        compute([*repeated], lambda places: repeat_members(found, places, repeated, traces), more)
        return dataset(plan, found, traces)
    with claim(out, overwrite or resume):
        whole = [columns_of(open_study(out))] if resume and os.path.exists(out) else []
        part = StudyPart(out, go_on=resume, anew=overwrite)
        with part.valid():
            restore_known(cases, names, whole + part.found, found, out)
        # cases that occur twice are computed once
        twice: dict[str, list[int]] = {}
        for place in found.to_compute:
            twice.setdefault(names[place], []).append(place)

        def done(places: Sequence[int]) -> None:
            if not places:
                return
            columns = {"point": [names[place] for place in places]}
            part.add(columns := columns | found.columns(places, traces))
            for row, point in enumerate(columns["point"]):
                for place in twice[point]:
                    found.set_member(place, columns, row)

        if twice:
            more = f"They are in {part.path}. Resume with --resume (in Python: resume=True)."
            compute([places[0] for places in twice.values()], done, more)
        if not found.to_compute:
            variables = variables_of_study(plan, found, names, traces)
            about = attributes_of_study(plan, found)
            save_study(variables, about, out, overwrite or resume)
            part.remove()
    return dataset(plan, found, traces, names)


def repeated_members(plan: Plan, changes: Sequence[Mapping[str, Any]]) -> dict[int, list[int]]:
    """Return the members to compute, each with the other members that have the same changes.

    Such members differ only in inputs that their law does not have.
    """
    if not plan.laws:
        return {place: [] for place in range(len(changes))}
    alike: dict[str, list[int]] = {}
    for place, change in enumerate(changes):
        alike.setdefault(canonical(change), []).append(place)
    return {first: others for first, *others in alike.values()}


def repeat_members(
    found: Measures, places: Sequence[int], repeated: Mapping[int, Sequence[int]], traces: bool
) -> None:
    """Copy computed members to those with the same changes."""
    places = [place for place in places if repeated[place]]
    columns = found.columns(places, traces) if places else {}
    for row, place in enumerate(places):
        for other in repeated[place]:
            found.set_member(other, columns, row)


def restore_known(
    cases: Sequence[Case],
    names: Sequence[str],
    blocks: Sequence[Mapping[str, Any]],
    found: Measures,
    out: str | os.PathLike[str],
) -> None:
    """Restore the members that files contain; for duplicates, the last block counts.

    Raises
    ------
    LawError
        If a member was computed with another law than the current one.
    """
    there = {name: (one, row) for one in blocks for row, name in enumerate(one["point"])}
    known = [place for place, name in enumerate(names) if name in there]
    for place in known:
        found.set_member(place, *there[names[place]])
    changed = changed_law([cases[place] for place in known], [found.law[place] for place in known])
    if changed:
        raise LawError(
            f"{os.fspath(out)}: a member was computed with another law: {changed}. The same law is "
            "required. Start again with --overwrite (in Python: overwrite=True), or choose another "
            "file."
        )


def points(
    cases: Sequence[Case],
    traces: bool,
    summary: SummaryFunction | None,
    further: Sequence[str],
    chained: bool,
) -> list[str]:
    """Return the name of each member: a hash of its resolved case, the version, and the measures.

    The title does not affect the hash.
    """
    about = [granchain_version(), source_hash(), traces, None, *further]
    if summary is not None:
        # hash of the function and its dependencies; unique if they cannot be determined
        about[3] = uuid.uuid4().hex
        with contextlib.suppress(LawError):
            about[3] = fingerprint(summary)
    names = [
        sha256_of([{key: part for key, part in case.resolved().items() if key != "title"}, about])
        for case in cases
    ]
    # the result of a member in a chained study depends on all members before it
    return list(accumulate(names, lambda *two: sha256_of(two))) if chained else names


def check_further(plan: Plan, measures: Any, executor: Any = None) -> list[str]:
    """Return the names of additional measures, without duplicates and in the standard order."""
    names = list(measures) if isinstance(measures, (list, tuple)) else [measures]
    problems = Problems()
    for name in names:
        if name not in FURTHER:
            problems.add(
                "measures", f"{shown(name)} is unknown", f"The measures are {', '.join(FURTHER)}"
            )
    problems.check(
        "bead_spectrum" not in names or bool(plan.case.sensors.beads),
        "measures",
        "bead_spectrum needs a sensor, and the case has none",
        "At least one sensor is required",
        "List beads under [sensors]",
    )
    energies = [name for name in names if name != "bead_spectrum"]
    problems.check(
        not (plan.chained and energies),
        "measures",
        f"{', '.join(map(str, energies))} cannot be measured in a chained study",
        "Chained studies allow bead_spectrum and your own summary, because their runs do not "
        "start "
        "from the initial state of the case",
        "Remove the others",
    )
    problems.check(
        executor is None or not plan.chained,
        "executor",
        "a chained study cannot use an executor",
        "Each value waits for the previous value",
        "Leave it out",
    )
    problems.close()
    return [name for name in FURTHER if name in names]


def check_first(case: Case, summary: SummaryFunction | None, further: Sequence[str]) -> None:
    """Test the summary and the measures on a case."""
    first = measure([case], 1, summary=summary, further=further)
    problem = first.message[0]
    if problem.startswith("summary: "):
        problem += " This is the first member."
    if problem and not first.status[0].failed:
        raise CaseError(problem)


def check_traces(cases: Sequence[Case], traces: bool, further: Sequence[str] = ()) -> float:
    """Return the size of the dataset without text [bytes], or raise an error if it is too large.

    The limits are the memory and the size of a file.
    """
    sensors, most = len(cases[0].sensors.beads), min(MEMORY, LARGEST_FILE)
    samples = max(case.time.end / case.sensors.interval for case in cases) + 1.0 if traces else 0.0
    numbers = sum(sensors if one.dims else 1 for one in NUMBERS.values()) + samples * (1 + sensors)
    for case in cases[:1] if further else ():
        shots = 0.0 if case.snapshots is None else case.time.end / case.snapshots.interval + 1.0
        each = {
            "snapshot": shots,
            "line": case.time.end / case.sensors.interval,
            "body": case.beads,
        }
        numbers += sum(
            math.prod(each.get(dim, case.beads + 1.0) for dim in entry.dims)
            for name in further
            for entry in FURTHER[name].values()
        )
    size = 8.0 * len(cases) * numbers
    if size > most:
        raise CaseError(
            f"sweep: the results of {len(cases)} members need {size / 2**30:.3g} GiB. At most "
            f"{most / 2**30:g} GiB are allowed. Leave out traces and measures, increase their "
            "intervals, or use fewer members."
        )
    return size


def estimate(
    plan: Plan, traces: bool, threads: int | None, measures: Sequence[str] = ()
) -> dict[str, float]:
    """Estimate the cost of a study from runs of three of its members.

    The result has the number of members, wall time [s], and upper limits on memory and file size
    [bytes].

    Raises
    ------
    CaseError
        If an argument is invalid, as for `sweep`.
    """
    cases = plan.cases()
    further = check_further(plan, measures)
    size, count = check_traces(cases, traces, further), len(cases)
    threads = check_members(cases, 1 if plan.chained else threads)
    tried = [cases[place] for place in sorted({0, count // 2, count - 1})]
    # once without timing, for compilation and other common work
    measure(tried[:1], 1, further=further)
    clock = time.perf_counter()
    measure(tried, 1, traces=traces, further=further)
    seconds = (time.perf_counter() - clock) / len(tried) * count / min(threads, count)
    file_size = largest_file(plan, cases, traces, further)
    numbers = 2.0 * max(size, file_size)
    held = numbers + count * MEMBER_BYTES + min(2.0 * LOT, sum(case.memory for case in cases))
    return {"members": count, "seconds": seconds, "memory": held, "file_size": file_size}


def largest_file(plan: Plan, cases: Sequence[Case], traces: bool, further: Sequence[str]) -> float:
    """Return an upper bound on the size of a study's file [bytes].

    Parameters
    ----------
    plan : Plan
    cases : sequence of Case
        Cases of the members.
    traces : bool
        Whether the forces of the sensors are stored.
    further : sequence of str
        Names of `FURTHER`.
    """
    known = Measures.empty(cases)
    known.law[:] = ["" if law is None else law.text for law in law_records(cases)]
    shots = [case.snapshots.interval for case in cases if case.snapshots is not None]
    end, bodies = max(case.time.end for case in cases), max(case.beads for case in cases) + 2.0
    samples = most_rows(end, min(case.sensors.interval for case in cases))
    lengths = {
        "sensor_bead": float(len(cases[0].sensors.beads)),
        "sample": samples,
        "line": samples,
        "snapshot": most_rows(end, min(shots)) if shots else 0.0,
        "body": bodies,
        "joint": bodies,
    }
    entries = NUMBERS | {name: one for of in further for name, one in FURTHER[of].items()}
    entries |= (TRACES if traces else {}) | (SETTLED if plan.chained else {})
    size = float(MEMBER_TEXT * len(cases))
    size += sum(map(state_bytes, cases)) if plan.chained else 0.0
    of_member = sum(math.prod(lengths[dim] for dim in one.dims) for one in entries.values())
    # each number, with its part of the checksum and filters of its chunk
    size += 9.0 * len(cases) * of_member
    axes = sum(map(stored_bytes, axes_of_study(plan).values())) + 9.0 * sum(lengths.values())
    variables = len(entries) + len(lengths) + len(plan.vary) + TEXTS_OF_MEMBER
    texts = sum(len(str(one).encode()) for one in attributes_of_study(plan, known).values())
    return size + axes + texts + BESIDE_VARIABLE * variables + BESIDE_STUDY


def most_rows(end: float, interval: float) -> float:
    """Return the largest number of samples to the end of a run.

    Samples are a whole number of steps apart, the nearest to the interval. Rounding down makes them
    up to 1.5 times as dense.
    """
    return 1.5 * end / interval + 3.0


def state_bytes(case: Case) -> float:
    """Return the maximum length of the text of a case's final state [bytes]."""
    law, riders = laws().get(case.contact.law), case.chain.resonators()[0].size
    numbers = (PER_STATE + (0 if law is None else len(law.history))) * (case.beads + 3.0)
    # base64 has four characters for three bytes; the initial motion is in decimal, twice
    size = 8.0 * (numbers + 4.0 * riders + len(case.drives) + 1.0) * 4.0 / 3.0
    return size + 2.0 * NUMBER_TEXT * case.beads * (case.initial is not None) + STATE_TEXT


# Text of a member in the file of a study [bytes]: two hashes of 64 characters, its status, a
# message of 500 characters, and 64 for each text that HDF5 stores.
TEXTS_OF_MEMBER = 5
MEMBER_TEXT = 2 * 64 + 20 + 500 + TEXTS_OF_MEMBER * 64
# Bytes of a study's file in addition to its data, attributes, and variables: headers of HDF5,
# provenance, and notes.
BESIDE_STUDY = 2**15
# Characters of a number, and of the names and digests in the text of a state.
NUMBER_TEXT, STATE_TEXT = 26, 4000
UNLIKE = (
    "wave speeds of members come from different sensors, because pulses have merged or not "
    "arrived. A pulse that slows down has a different speed in each part of the chain. See "
    "missing and wave_speed_sensors, and compare arrivals at the same sensors"
)


def axes_of_study(plan: Plan) -> dict[str, Variable]:
    """Return the coordinates of the dimensions of a study, and the values of its keys."""
    axes = {
        name: Variable((name,), np.arange(n), "1", f"index of the {name}")
        for name, n in plan.sizes.items()
        if name in ("run", "draw")
    }
    for key, listed in plan.listed.items():
        along = "run" if plan.how == "zip" else key
        axes[key] = Variable((along,), values_of_key(listed), *plan.label(key))
    if "contact" in plan.listed:
        along = "run" if plan.how == "zip" else "contact"
        axes["law"] = Variable((along,), texts(plan.laws), "", "contact law")
    of_draw = plan.dims[-1:] if plan.dims[-1:] == ("draw",) or plan.how == "sobol" else ()
    for key, drawn in plan.sample.items():
        values = drawn if of_draw else np.asarray(drawn[0])
        axes[key] = Variable(of_draw, values, *plan.label(key))
    return axes


def variables_of_study(
    plan: Plan, found: Measures, points: Sequence[str] | None, traces: bool
) -> dict[str, Variable]:
    """Return the variables of a study, coordinates of dimensions first.

    Parameters
    ----------
    plan : Plan
    found : Measures
        Data of the members, in order.
    points : sequence of str, optional
        Names of the members.
    traces : bool
        Whether to include the forces of the sensors.
    """
    dims, shape, sensors = plan.dims, plan.shape, ("sensor_bead",)
    variables = axes_of_study(plan)

    def add(name: str, dims: tuple[str, ...], values: Any, *about: str) -> None:
        variables[name] = Variable(dims, values, *about)

    def add_members(name: str, values: Any, *about: str, inner: tuple[str, ...] = ()) -> None:
        add(name, (*dims, *inner), values.reshape((*shape, *values.shape[1:])), *about)

    labels = np.array(found.sensor_bead, dtype=np.int64)
    add("sensor_bead", sensors, labels, "1", "label of the sensor bead")
    columns = found.columns(range(len(found.status)), traces)
    kept = {"time_step": NUMBERS["time_step"]} if plan.chained else NUMBERS
    for name, entry in (kept | ARRAYS).items():
        if name in columns:
            for dim, length in zip(entry.dims[::-1], columns[name].shape[::-1], strict=False):
                if dim not in variables:
                    add(dim, (dim,), np.arange(length), "1", f"index of the {dim}")
            add_members(name, columns[name], entry.unit, entry.long_name, inner=entry.dims)
    for name in dict.fromkeys(name for one in found.summaries for name in one):
        if name in variables or name in RESERVED_NAMES:
            raise CaseError(
                f"summary: the study already uses the name {name}. Names must be unique. Rename it."
            )
        values = np.array([one.get(name, np.nan) for one in found.summaries], dtype=float)
        add_members(name, values, "", f"of the summary: {name}")
    hashes = {text: hash_of_record(text) for text in dict.fromkeys(found.law)}
    add_members("status", texts(columns["status"]), "", "how the run ended")
    add_members("message", texts(found.message), "", "why it failed")
    law = "hash of what its law was: of its functions and resolved coefficients"
    add_members("law_sha256", texts([hashes[text] for text in found.law]), "", law)
    if "state" in columns:
        state = "state at the end, from which the next value goes on: case.replace(initial=...)"
        add_members("state", texts(found.state), "", state)
    if points is not None:
        point = "name of the member: hash of its case, version and what is measured"
        add_members("point", texts(points), "", point)
    if traces:
        samples = np.arange(columns["time"].shape[1])
        add("sample", ("sample",), samples, "1", "index of the sample")
        for name, entry in TRACES.items():
            add_members(name, columns[name], entry.unit, entry.long_name, inner=entry.dims)
    return variables


def attributes_of_study(plan: Plan, found: Measures) -> dict[str, Any]:
    """Return the attributes of a study: title, settings, status, and provenance."""
    laws = plan.laws or plan.case.law.split(", ")
    ends = [f"{found.status.count(one)} {one.label}" for one in dict.fromkeys(found.status)]
    late = found.missing & (Missing.NOT_ARRIVED | Missing.CUT) > 0
    notes = [note] if (note := missing_note(late, found.sensor_bead)) else []
    known = np.isfinite(found.wave_speed)
    sensors = np.column_stack([found.missing & ~Missing.WALL, found.wave_speed_sensors])[known]
    if (sensors != sensors[:1]).any():
        notes.append(UNLIKE)
    attributes = study_attributes(
        "sweep",
        plan.case.title or "untitled case",
        laws,
        notes,
        plan.case,
        status=", ".join(ends),
        how=plan.how,
        n=plan.n,
        seed=plan.seed,
        vary_json=vary_json(plan),
        laws_json=canonical({hash_of_record(text): text for text in dict.fromkeys(found.law)}),
        **({"chained": 1} if plan.chained else {}),
    )
    keys = [*plan.listed, *plan.sample, *(["law"] if "contact" in plan.listed else [])]
    inside = [key for key in keys if key not in plan.dims]
    # CF: variables that are coordinates of a dimension with another name
    return attributes | ({"coordinates": " ".join(inside)} if inside else {})


def hash_of_record(record: str) -> str:
    """Return the hash of a law's record; empty if there is none."""
    law = LawRecord.of_text(record)
    return "" if law is None else law.sha256


def dataset(plan: Plan, found: Measures, traces: bool, points: Sequence[str] | None = None) -> Any:
    """Return a study as an `xarray.Dataset`."""
    attributes = attributes_of_study(plan, found)
    inside = str(attributes.pop("coordinates", "")).split()
    return dataset_of(variables_of_study(plan, found, points, traces), attributes, inside)


def values_of_key(values: Sequence[Any]) -> np.ndarray:
    """Return numbers as an array, with nan for None; other values become text."""
    if all(value is None or is_number(value) for value in values):
        whole = all(isinstance(value, int) for value in values)
        return np.array(values, dtype=np.int64 if whole else float)
    return texts([value if isinstance(value, str) else canonical(value) for value in values])


def columns_of(study: Any) -> dict[str, Any]:
    """Return the members of a study's dataset in the format of `Measures.columns`, with names."""
    n, records = study["point"].size, json.loads(study.attrs["laws_json"])
    found = {
        name: one.values.reshape(n, *one.shape[one.ndim - len(entry.dims) :])
        for name, entry in (NUMBERS | ARRAYS | TRACES).items()
        if (one := study.get(name)) is not None
    }
    for name in ("point", "status", "message", "law_sha256", "state"):
        if name in study:
            found[name] = study[name].values.ravel().tolist()
    summaries = {
        name: one.values.ravel().tolist()
        for name, one in study.data_vars.items()
        if one.attrs.get("long_name") == f"of the summary: {name}"
    }
    found["summaries"] = [{name: one[row] for name, one in summaries.items()} for row in range(n)]
    return found | {"law": [records[sha256] for sha256 in found["law_sha256"]]}
