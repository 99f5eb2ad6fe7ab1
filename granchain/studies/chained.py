"""Chained studies: the amplitude or frequency of the drive changes from member to member, and each
member starts from the final state of the previous one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granchain.analysis.convergence import SAFETY
from granchain.case import Case
from granchain.case.document import differences
from granchain.case.signals import phase_at
from granchain.case.start import drive_clock, state_text_of
from granchain.keys import Problems
from granchain.store import Result
from granchain.studies.measures import Measures, Store, columns_of_refused, computed

if TYPE_CHECKING:
    from granchain.studies.evaluate import Evaluation

# Keys that may change from one member to the next, in addition to those of the drive.
GOES_ON, OF_A_DRIVE = ("time.step", "time.end"), ("amplitude", "frequency")
# Fraction of time.end for the ramp from one drive to the next, if the case has no ramp. Our choice.
RAMP = 0.25
NO_STATE = "the run of the previous value did not complete, so there is no state to start from"


def check_chained_keys(case: Case, vary: Mapping[str, Any]) -> None:
    """Check that the keys of `vary` may change from one member of a chained study to the next.

    Raises
    ------
    CaseError
        If the case has several drives, if other keys are varied, or if values are not a list.
    """
    problems = Problems()
    drives = list(case.drives)
    allowed = [*GOES_ON, *(f"{where}.{name}" for where in drives for name in OF_A_DRIVE)]
    problems.check(
        len(drives) <= 1,
        "chained",
        f"the case has {len(drives)} drives, {', '.join(drives)}",
        "A chained study allows at most one",
        "Remove the other drives, or leave out chained",
    )
    if problems.check(
        len(vary) <= 1
        and set(vary) <= set(allowed)
        and all(isinstance(values, list) for values in vary.values()),
        "vary",
        f"{', '.join(vary)} cannot be varied in a chained study",
        f"It must be a list of values of one of {', '.join(allowed)}",
        "Remove the other keys, or leave out chained. Beads, law, and loads are fixed in a chain",
    ):
        for where in drives:
            drive = case.drives[where]
            problems.check(
                not any(key.startswith(where) for key in vary)
                or (drive.signal == "harmonic" and drive.duration is None),
                where,
                "the drive is not harmonic, or ends before the run",
                'It must have signal = "harmonic" and no duration',
            )
    problems.close()


def check_consecutive(cases: Sequence[Case]) -> None:
    """Check that each case can start from the end of the previous one.

    Raises
    ------
    CaseError
        If the cases differ in other keys, or if a steady part is too short.
    """
    varied = differences(cases)
    check_chained_keys(cases[0], varied)
    problems = Problems()
    for member, case in enumerate(cases):
        value = f" (member {member})" if varied else ""
        steady = settled_time(case)
        _, ramp = _drive_between(cases, member, 0.0)
        problems.check(
            steady > 0.0 and ramp <= case.time.end - steady,
            "time.end",
            f"{case.time.end:.6g} s{value} is too short, because the ramp takes {ramp:.3g} s",
            "It must be at least four periods of the drive and twice the ramp",
            "Run each value longer, or shorten the ramp",
        )
        problems.close()


def settled_time(case: Case) -> float:
    """Return the length of the steady part at the end of a member [s].

    It is an even number of drive periods, at most half of the member. Without a harmonic drive, it
    is half of the member.
    """
    drive = next(iter(case.drives.values()), None)
    if drive is None or drive.signal != "harmonic":
        return 0.5 * case.time.end
    frequency = float(drive.frequency or 0.0)
    return 2.0 * math.floor(0.25 * case.time.end * frequency * (1.0 + 1e-9)) / frequency


def _drive_between(
    cases: Sequence[Case], member: int, phase: float
) -> tuple[dict[str, Any], float]:
    """Return the changes that ramp the previous drive to the drive of a member.

    The ramp starts from the phase of the previous drive [rad] and takes complete periods. Its
    duration is also returned [s].
    """
    end: Any
    for where, end in cases[member].drives.items() if member else ():
        before: Any = cases[member - 1].drives[where]
        if end != before:
            mean = 0.5 * (before.frequency + end.frequency)
            ramp_time = end.ramp or RAMP * cases[member].time.end
            ramp = max(1, round(ramp_time * mean)) / mean
            changes = {
                "phase": phase,
                "ramp": ramp,
                "ramp_from": [before.amplitude, before.frequency],
            }
            return {f"{where}.{name}": value for name, value in changes.items()}, ramp
    return {}, 0.0


def settled_numbers(result: Result) -> dict[str, np.ndarray]:
    """Return amplitude, mean, and drift of sensor forces in a steady part; see
    `measures.SETTLED_LABELS`."""
    force = result.sensor_force
    middle = len(force) // 2
    whole, first, second = (np.ptp(piece, axis=0) for piece in (force, force[: middle + 1],
                                                              force[middle:]))  # fmt: skip
    with np.errstate(invalid="ignore"):
        change = (second - first) / whole
    return {
        "force_amplitude": 0.5 * whole,
        "force_mean": force[1:].mean(axis=0),
        "force_change": change,
    }


def ending_of(case: Case, measures: Measures) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Run a case, and return its columns, its final state, and its settled numbers.

    The state is empty if the run fails.
    """
    ending: dict[str, Any] = {"state": "", "settled": {}}

    def note_ending(result: Result) -> Mapping[str, float]:
        ending.update(state=state_text_of(result), settled=settled_numbers(result))
        return {}

    columns = computed(case, measures._replace(functions=(note_ending, *measures.functions)))
    if not measures.functions:
        del columns["numbers"]
    return columns, ending["state"], ending["settled"]


def ending_of_steady_part(
    full: Case, steady: float, measures: Measures
) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Run a case, and measure its steady part at the end, as `ending_of` does."""
    lead = full.replace(**{"time.end": full.time.end - steady})
    columns, state, _ = ending_of(lead, Measures(()))
    if not state:
        return columns, "", {}
    return ending_of(full.replace(**{"time.end": steady, "initial": {"state": state}}), measures)


def amplitude_in_half_steps(full: Case, steady: float, step: float) -> Any:
    """Return half of the range of each sensor force in the steady part with half the step [N].

    It is nan if a run fails.
    """
    halved = full.replace(**{"time.step": 0.5 * step})
    _, _, settled = ending_of_steady_part(halved, steady, Measures(()))
    return settled.get("force_amplitude", math.nan)


def compute_chain(evaluation: Evaluation, places: Sequence[int], store: Store) -> None:
    """Run members one after the other, and measure the steady part of each.

    Each member starts from the final state of the previous one.

    Parameters
    ----------
    evaluation : Evaluation
        Cases of the members, without their initial states, and the members before the first place.
    places : sequence of int
        Indices of the members to compute, in order.
    store : function of places and columns
    """
    cases, measures = evaluation.cases, evaluation.measures
    before = evaluation.rows("state", "")[: places[0]][-1:]
    phases = evaluation["drive_phase"] if "drive_phase" in evaluation else np.zeros(len(cases))
    state, phase = "".join(before), float(phases[places[0] - 1]) if places[0] else 0.0
    for member in places:
        if member and not state:
            store([member], columns_of_refused(NO_STATE, measures) | {"state": [""]})
            continue
        changes, _ = _drive_between(cases, member, phase)
        if member:
            changes["initial"] = {"state": state}
        steady = settled_time(cases[member])
        full = cases[member].replace(**changes)
        columns, state, settled = ending_of_steady_part(full, steady, measures)
        if state:
            halved = amplitude_in_half_steps(full, steady, float(columns["time_step"][0]))
            # order 2: with half the step, a quarter of the error remains
            change = np.abs(halved - settled["force_amplitude"])
            settled["force_amplitude_error"] = SAFETY * 4.0 / 3.0 * change
            phase = _phase(full, state)
            settled |= {} if math.isnan(phase) else {"drive_phase": np.array(phase)}
            columns |= {name: values[np.newaxis] for name, values in settled.items()}
        store([member], columns | {"state": [state]})


def _phase(case: Case, state: str) -> float:
    """Return the phase of the drive at a state [rad]; nan without a harmonic drive."""
    for where, drive in case.drives.items():
        if drive.signal == "harmonic":
            continued = case.replace(initial={"state": state})
            return float(phase_at(drive, drive_clock(continued, where)[1]) % (2.0 * math.pi))
    return math.nan
