"""Chained studies: the amplitude or frequency of the drive changes from member to member, and each
member starts from the final state of the previous one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from granchain.analysis.convergence import SAFETY
from granchain.case import Case, check_case
from granchain.case.signals import phase_at
from granchain.case.start import begun, state_text_of
from granchain.keys import Problems, shown
from granchain.status import Status
from granchain.store import Result
from granchain.studies.measures import NUMBERS, Measures, SummaryFunction, measure
from granchain.studies.plan import Plan, plan_of

# Keys that may change from one member to the next, in addition to those of the drive.
GOES_ON, OF_A_DRIVE = ("time.step", "time.end"), ("amplitude", "frequency")
# Fraction of time.end for the ramp from one drive to the next, if the case has no ramp. Our choice.
RAMP = 0.25


def plan_of_chain(case: Any, vary: Any, how: str = "product", n: int = 1, seed: int = 0) -> Plan:
    """Check all arguments and return the plan of a chained study.

    Raises
    ------
    CaseError
        If an argument is invalid. The message lists every error.
    """
    check_case(case)
    plan = plan_of(case, vary, "zip" if how == "product" else how, n, seed)
    problems, drives = Problems(), list(plan.case.drives)
    problems.check(
        len(drives) <= 1,
        "chained",
        f"the case has {len(drives)} drives, {', '.join(drives)}",
        "A chained study allows at most one",
        "Remove the other drives, or leave out chained",
    )
    (key, values), *_ = plan.vary.items()
    if problems.check(
        len(plan.vary) == 1 and isinstance(values, list) and key in _keys(plan.case),
        "vary",
        f"{', '.join(plan.vary)} cannot be varied in a chained study",
        f"It must be a list of values of one of {', '.join(_keys(plan.case))}",
        "Remove the other keys, or leave out chained. Beads, law, and loads are fixed in a chain",
    ):
        where, _, _ = key.rpartition(".")
        end = plan.case.drives.get(where)
        problems.check(
            end is None or (end.signal == "harmonic" and end.duration is None),
            where,
            "the drive is not harmonic, or ends before the run",
            'It must have signal = "harmonic" and no duration',
        )
    problems.close()
    chain = replace(plan, chained=True)
    cases = chain.cases()
    for place, of_value in enumerate(cases):
        at = f" (at {key} = {shown(plan.listed[key][place])})"
        kept = settled_time(of_value)
        _, ramp = _drive_between(cases, place, 0.0)
        problems.check(
            kept > 0.0 and ramp <= of_value.time.end - kept,
            "time.end",
            f"{of_value.time.end:.6g} s{at} is too short, because the ramp takes {ramp:.3g} s",
            "It must be at least four periods of the drive and twice the ramp",
            "Run each value longer, or shorten the ramp",
        )
        problems.close()
    return chain


def _keys(case: Case) -> list[str]:
    """Return the keys that may change from one member to the next."""
    return [*GOES_ON, *(f"{where}.{name}" for where in case.drives for name in OF_A_DRIVE)]


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


def _drive_between(cases: Sequence[Case], place: int, phase: float) -> tuple[dict[str, Any], float]:
    """Return the changes that ramp the previous drive to the drive of a member.

    The ramp starts from the phase of the previous drive [rad] and takes complete periods. Its
    duration is also returned [s].
    """
    end: Any
    for where, end in cases[place].drives.items() if place else ():
        before: Any = cases[place - 1].drives[where]
        if end != before:
            mean = 0.5 * (before.frequency + end.frequency)
            given = end.ramp or RAMP * cases[place].time.end
            ramp = max(1, round(given * mean)) / mean
            own = {"phase": phase, "ramp": ramp, "ramp_from": [before.amplitude, before.frequency]}
            return {f"{where}.{name}": value for name, value in own.items()}, ramp
    return {}, 0.0


def settled_numbers(result: Result) -> dict[str, np.ndarray]:
    """Return amplitude, mean, and drift of sensor forces in a steady part; see
    `measures.SETTLED`."""
    force = result.sensor_force
    middle = len(force) // 2
    whole, first, second = (np.ptp(part, axis=0) for part in (force, force[: middle + 1],
                                                              force[middle:]))  # fmt: skip
    with np.errstate(invalid="ignore"):
        change = (second - first) / whole
    return {
        "force_amplitude": 0.5 * whole,
        "force_mean": force[1:].mean(axis=0),
        "force_change": change,
    }


def amplitude_in_half_steps(full: Case, kept: float, step: float) -> np.ndarray:
    """Return half of the range of each sensor force with half the step, (sensors,) [N].

    The force is that of the steady part of a member. The values are nan if a run fails.
    """
    halved = full.replace(**{"time.step": 0.5 * step})
    left: dict[str, Any] = {}

    def leave(result: Result) -> Mapping[str, float]:
        left["state"] = state_text_of(result)
        left["amplitude"] = settled_numbers(result)["force_amplitude"]
        return {}

    measure([halved.replace(**{"time.end": full.time.end - kept})], 1, summary=leave)
    if "state" not in left:
        return np.full(len(full.sensors.beads), math.nan)
    state, left["amplitude"] = left["state"], np.full(len(full.sensors.beads), math.nan)
    measure([halved.replace(**{"time.end": kept, "initial": {"state": state}})], 1, summary=leave)
    return np.asarray(left["amplitude"])


def measure_chain(
    plan: Plan,
    cases: Sequence[Case],
    places: Sequence[int],
    found: Measures,
    done: Callable[[Sequence[int]], Any],
    *,
    traces: bool = False,
    summary: SummaryFunction | None = None,
    further: Sequence[str] = (),
) -> None:
    """Run members one after the other, and measure the steady part of each.

    Each member starts from the final state of the previous one, which `found` may already contain.

    Parameters
    ----------
    plan : Plan
    cases : sequence of Case
        Cases of the members, without their initial states.
    places : sequence of int
        Indices of the members to compute, in order.
    found, done, traces, summary, further
        As in `measures.measure`.
    """
    left: dict[str, Any] = {}

    def leave(result: Result) -> Mapping[str, float]:
        left["state"] = state_text_of(result)
        left["arrays"] = settled_numbers(result)
        return {} if summary is None or not left["settled"] else summary(result)

    for place in places:
        if place and not found.state[place - 1]:
            found.status[place] = Status.NOT_SET_UP
            found.message[place] = (
                "the run of the previous value did not complete, so there is no state to start from"
            )
            done([place])
            continue
        phase = float(found.arrays[place - 1].get("drive_phase", 0.0)) if place else 0.0
        changes, _ = _drive_between(cases, place, phase)
        if place:
            changes["initial"] = {"state": found.state[place - 1]}
        kept = settled_time(cases[place])
        full = cases[place].replace(**changes)
        lead = full.replace(**{"time.end": full.time.end - kept})
        left.update(settled=False, state="")
        measured = measure([lead], 1, summary=leave)
        if left["state"]:
            case = full.replace(**{"time.end": kept, "initial": {"state": left["state"]}})
            left.update(settled=True, state="")
            measured = measure([case], 1, traces=traces, summary=leave, further=further)
        # a steady part has no first pulse
        columns = {n: c for n, c in measured.columns([0], traces).items() if n not in NUMBERS}
        columns["time_step"] = measured.time_step
        if left["state"] and left["settled"]:
            settled = left["arrays"]["force_amplitude"]
            halved = amplitude_in_half_steps(full, kept, float(measured.time_step[0]))
            # order 2: with half the step, a quarter of the error remains
            error = {"force_amplitude_error": SAFETY * 4.0 / 3.0 * np.abs(halved - settled)}
            arrays = left["arrays"] | error | _phase(plan, full, left["state"])
            columns |= {"state": [left["state"]]} | {name: [one] for name, one in arrays.items()}
        # in one call: if interrupted before it, the member is computed again
        found.set_member(place, columns, 0)
        done([place])


def _phase(plan: Plan, case: Case, state: str) -> dict[str, np.ndarray]:
    """Return the phase of the changing drive at a state."""
    where, _, _ = next(iter(plan.vary)).rpartition(".")
    end = case.drives.get(where)
    if end is None:
        return {}
    _, time, _ = begun(case.replace(initial={"state": state}), where)
    return {"drive_phase": np.array(phase_at(end, time) % (2.0 * math.pi))}
