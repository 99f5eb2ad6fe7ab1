"""Sweeps: runs of a case for many values of its keys, as one labelled dataset."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from granchain.case import Case
from granchain.case.checks import PER_STATE
from granchain.contact import laws
from granchain.progress import progress_of
from granchain.simulation import law_records
from granchain.store.dataset import BESIDE_VARIABLE, stored_bytes
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
from granchain.studies.plan import MEMBER_BYTES, Plan, plan_of

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
