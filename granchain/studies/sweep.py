"""Sweeps: runs, or modes, of a case for many values of its keys, as one labelled dataset, and the
files that describe them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granchain.case import Case, check_case, load_case
from granchain.case.checks import PER_STATE
from granchain.case.document import case_names, mechanism_names, parsed, read_text
from granchain.contact import laws
from granchain.errors import CaseError
from granchain.keys import Problems, brief
from granchain.progress import progress_of
from granchain.simulation import law_records
from granchain.store.answer import study_attributes
from granchain.store.dataset import BESIDE_VARIABLE, dataset_of, stored_bytes
from granchain.store.schema import Variable
from granchain.studies.evaluate import (
    Evaluation,
    attributes_of_study,
    axes_of_plan,
    checked_measures,
    evaluated,
    numbers_of_member,
    size_of_numbers,
    warn_of_notes,
)
from granchain.studies.measures import (
    SETTLED_LABELS,
    Measures,
    SummaryFunction,
    compute_here,
    computed,
)
from granchain.studies.members import LOT, check_members, sizes_of_cases
from granchain.studies.plan import MEMBER_BYTES, Plan, flat_vary, plan_of, vary_json

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
        Further measures of `granchain.evaluate`, such as "second_moment". For a mechanism, all or
        some of "largest_contact_force", "largest_acceleration" of the slider, and "impacts".
    traces : bool
        Whether to store the forces of the sensors.
    chained : bool
        Whether each value starts from the final state of the previous value, one after the other,
        each for `time.end`. The case may have at most one drive. The key must be the amplitude or
        the frequency of a harmonic drive, which changes over a ramp of whole periods, or the time
        step or end. For each value, the last whole periods are measured, in at most half of the
        run. The results are half of the range of the sensor forces, their mean, and the change of
        this range.
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
    further = measures if isinstance(measures, (list, tuple)) else [measures]
    requested: list[Any] = ["pulse", *further, *(["traces"] if traces else [])]
    requested += [] if summary is None else [summary]
    # members of a chained study are in a row
    how = "zip" if chained and how == "product" else how
    evaluation = evaluated(
        plan_of(case, vary, how, n, seed), requested, chained=chained, threads=threads,
        executor=executor, out=out, resume=resume, overwrite=overwrite,
        progress=progress_of(progress, "sweep"), tested=True,
    )  # fmt: skip
    study = evaluation.answer()
    warn_of_notes(study, "sweep")
    return study


# Memory of the libraries that a study loads and of its threads [bytes]; measured: 91 MB.
LIBRARY_BYTES = 130e6


def estimate(
    plan: Plan, measures: Sequence[str], threads: int | None, chained: bool = False
) -> dict[str, float]:
    """Estimate the cost of a study from runs of three of its members.

    The result has the number of members, wall time [s], and upper limits on memory and file size
    [bytes].

    Raises
    ------
    CaseError
        If an argument is invalid, as for `sweep`.
    """
    cases = [*plan]
    wanted, count = checked_measures(cases, measures, chained, None), len(cases)
    numbers = size_of_numbers(cases, wanted)
    threads = check_members(cases, 1 if chained else threads)
    places = sorted({0, count // 2, count - 1})
    # once without timing, for compilation and other common work
    computed(cases[0], wanted)
    clock = time.perf_counter()
    compute_here(cases, places, wanted, 1, lambda *_: None)
    seconds = (time.perf_counter() - clock) / len(places) * count / min(threads, count)
    file_size = largest_file(plan, cases, wanted, chained)
    # creating a result copies the records of its member
    copies = 2.0 if wanted.needs_results else 1.0
    members = count * MEMBER_BYTES + copies * min(2.0 * LOT, sum(sizes_of_cases(cases)))
    return {
        "members": count,
        "seconds": seconds,
        "memory": LIBRARY_BYTES + 2.0 * max(numbers, file_size) + members,
        "file_size": file_size,
    }


def largest_file(plan: Plan, cases: Sequence[Case], measures: Measures, chained: bool) -> float:
    """Return an upper bound on the size of a study's file [bytes].

    Parameters
    ----------
    plan : Plan
    cases : sequence of Case
        Cases of the members.
    measures : Measures
    chained : bool
    """
    evaluation = Evaluation(cases, measures, plan, chained)
    evaluation.law[:] = ["" if law is None else law.text for law in law_records(cases)]
    numbers = sum(sizes_of_cases(cases, partial(numbers_of_member, measures=measures)))
    if chained:
        numbers += sum(len(SETTLED_LABELS) * max(1, len(case.sensors.beads)) for case in cases)
    size = float(MEMBER_TEXT * len(cases)) + (sum(map(state_bytes, cases)) if chained else 0.0)
    # the size of each number includes its part of the checksum and filters of its chunk
    size += 9.0 * numbers
    axes = axes_of_plan(plan)
    size += sum(map(stored_bytes, axes.values())) + 9.0 * numbers / len(cases)
    variables = len(evaluation.labels) + len(axes) + len(plan.vary) + TEXTS_OF_MEMBER
    texts = sum(len(str(text).encode()) for text in attributes_of_study(evaluation).values())
    return size + texts + BESIDE_VARIABLE * variables + BESIDE_STUDY


def state_bytes(case: Case) -> float:
    """Return the maximum length of the text of a case's final state [bytes]."""
    law, attached = laws().get(case.contact.law), case.chain.attached_masses()[0].size
    numbers = (PER_STATE + (0 if law is None else len(law.history))) * (case.beads + 3.0)
    # base64 has four characters for three bytes; the initial motion is in decimal, twice
    size = 8.0 * (numbers + 4.0 * attached + len(case.drives) + 1.0) * 4.0 / 3.0
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


# --------------------------------------------------------------------------------------------------
# Modes of many chains

# Quantities of each mode that are stored, with unit and description.
STORED = {
    "frequencies": ("Hz", "frequency without damping"),
    "participation": ("1", "number of participating beads, (sum e)^2/sum e^2"),
    "damping": ("1/s", "decay rate of the amplitude"),
}


def mode_study(
    case: Case, vary: Mapping[str, Any], how: str = "product", n: int = 1, seed: int = 0
) -> xarray.Dataset:
    """Compute chain modes for values of keys or realizations of disorder.

    Parameters
    ----------
    case : Case
        Chain with a static load, see `granchain.modes`.
    vary : mapping
        Values for each key: lists, distributions, or `granchain.disorder`, as for
        `granchain.sweep`.
    how : {"product", "zip", "sobol"}
        Way to combine the values, as for `granchain.sweep`.
    n : int
        Number of draws at each point.
    seed : int
        Seed of all draws.

    Returns
    -------
    xarray.Dataset
        `frequencies` [Hz], `participation` [1], and `damping` [1/s], with the dimensions of the
        study and `mode`, in order of increasing frequency.

    Raises
    ------
    CaseError
        If an argument or a member is invalid, or if the chains have different numbers of beads.

    Examples
    --------
    >>> import granchain as gc
    >>> chain = {"beads": 5, "radius": 2.38e-3, "material": "steel-316"}
    >>> case = gc.Case(chain=chain, contact={"law": "hertz"}, time={"end": 1e-4})
    >>> study = gc.mode_study(case, {"chain.precompression": [10.0, 20.0]})
    >>> study["frequencies"].shape
    (2, 5)
    """
    from granchain.waves.modes import modes

    check_case(case)
    plan = plan_of(case, vary, how, n, seed)
    answers = [modes(member) for member in plan]
    sizes = sorted({answer.frequencies.size for answer in answers})
    if len(sizes) > 1:
        raise CaseError(
            f"chain.beads: the chains have {sizes[0]} to {sizes[-1]} beads. All must have the "
            "same number of beads. Run a separate study for each number."
        )
    variables = axes_of_plan(plan)
    inside = " ".join(key for key in variables if key not in plan.dims)
    variables["mode"] = Variable(
        ("mode",), np.arange(1, sizes[0] + 1), "1", "number of the mode, by increasing frequency"
    )
    for name, about in STORED.items():
        values = np.stack([getattr(each, name) for each in answers]).reshape((*plan.shape, -1))
        variables[name] = Variable((*plan.dims, "mode"), values, *about)
    attributes = study_attributes(
        "mode_study",
        plan.case.title or "untitled case",
        plan.laws or plan.case.law.split(", "),
        dict.fromkeys(message for each in answers for message in each.messages),
        plan.case,
        how=plan.how,
        n=plan.n,
        seed=plan.seed,
        vary_json=vary_json(plan),
        coordinates=inside,
    )
    return dataset_of(variables, attributes)


# --------------------------------------------------------------------------------------------------
# Sweep files

SWEEP_KEYS = ("case", "chained", "how", "measures", "n", "seed", "traces", "vary")


class Description(NamedTuple):
    """Study that a file describes."""

    plan: Plan
    measures: tuple[str, ...]
    chained: bool


def load_sweep(path: str | os.PathLike[str], chained: bool = False) -> Description:
    """Read a SWEEP.toml file; `chained` overrides the value in the file if it is true.

    Raises
    ------
    CaseError
        If the file is invalid. The message lists every error; those of the case are first.
    FileError
        If the file cannot be read.
    """
    file = Path(path)
    document = parsed(read_text(file, "sweep file"), file.name)
    problems = Problems()
    for name in document:
        if name not in SWEEP_KEYS:
            problems.add_unknown(str(name), SWEEP_KEYS)
    named: Any = document.get("case")
    switches: dict[str, Any] = {name: document.get(name, False) for name in ("traces", "chained")}
    measures: Any = document.get("measures", [])
    problems.check(
        isinstance(named, str),
        "case",
        "missing" if named is None else f"{brief(named)} is not valid",
        "It must be the name of a built-in case, or the path of a case file relative to this file",
        'Write for example case = "steel-chain"',
    )
    for name, what in (
        ("traces", "store the forces of the sensors"),
        ("chained", "start each run from the end of the previous run"),
    ):
        problems.check(
            isinstance(switches[name], bool),
            name,
            f"{brief(switches[name])} is not valid",
            f"It must be true or false. Write true to {what}",
        )
    problems.check(
        isinstance(measures, list) and all(isinstance(measure, str) for measure in measures),
        "measures",
        f"{brief(measures)} is not valid",
        "It must be a list of names",
        'Write for example ["second_moment"]',
    )
    problems.close()
    case = case_of_study(named, file.parent)
    vary: Any = document.get("vary")
    if isinstance(vary, dict):
        vary = dict(flat_vary(vary))
    settings = {key: document[key] for key in ("how", "n", "seed") if key in document}
    chained = chained or switches["chained"]
    if chained and settings.get("how", "product") == "product":
        # members of a chained study are in a row
        settings["how"] = "zip"
    requested = ("pulse", *measures, *(["traces"] if switches["traces"] else []))
    return Description(plan_of(case, vary, **settings), requested, chained)


def case_of_study(name: str, folder: Path) -> Any:
    """Return the case of a chain or of a mechanism that a sweep file names."""
    import granchain

    if name in case_names():
        return load_case(name)
    if name in mechanism_names():
        return granchain.load_mechanism(name)
    path = folder / name
    is_mechanism = "mechanism" in parsed(read_text(path, "case file"), path.name)
    return granchain.load_mechanism(path) if is_mechanism else load_case(path)
