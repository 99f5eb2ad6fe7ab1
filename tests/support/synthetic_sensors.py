"""Synthetic sensors with known true values: computed pulses of every law, sampled, with noise and
instrument faults.

Nothing here uses the code that analyses the sensors: plain loops determine the true values from the
computed force."""

import math
from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import butter, lfilter

from granchain.certificates import example_inputs
from granchain.contact import laws
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.timestep import time_step_of
from granchain.measured import Trace
from granchain.measured.about import about_of
from granchain.status import Status
from granchain.store import Result
from support.kinds import distinct_laws
from support.noise_kinds import EVERY, HIGH_PASS, STATED, noisy
from support.rows import contacts_of, example_chain

# Sensor beads of a chain of 30, near and far from the striker, and the duration of their records.
BEADS, N_BEADS, END = np.array([2, 5, 10, 18, 26]), 30, 3.5e-4
NAMES = ("peak", "arrival", "width", "impulse")
FAULTS = ("few samples", "clipping", "drift", "offset", "crosstalk", "later pulse", "cut")
# A smooth law, a law with a long tail, and a law with indentation, whose loops other tests compile.
NEAR = ("hertz", "flores", "ma-liu")
# Limits for required messages: fewer samples per width than a comparison guarantees, and crosstalk
# above this many standard deviations of the noise (our choice).
FEW_SAMPLES, FAR_OUT = 8.0, 20.0


class Pulses(NamedTuple):
    """Forces at five sensors with one law, also as functions of time, and the true values of their
    pulses."""

    time: np.ndarray
    force: np.ndarray
    spline: CubicSpline
    truth: np.ndarray
    starts: np.ndarray

    def at(self, times, columns):
        values = self.spline(np.clip(times, 0.0, self.time[-1]))[:, columns]
        values[times < 0.0] = 0.0
        return np.asarray(values)


@cache
def pulses_of(law):
    """Return the pulses of one short run."""
    chain = example_chain(N_BEADS + 1)
    contacts = contacts_of(laws()[law], chain, example_inputs(laws()[law]))
    step = time_step_of(contacts, chain, "fast", END)
    recording = Recording(sensor_beads=tuple(BEADS.tolist()), interval=5e-8)
    state = State(contacts, chain, step, recording)
    assert state.advance(step.n_steps + 1) is Status.COMPLETE
    force = state.records.sensor_force
    time = END * np.arange(len(force)) / (len(force) - 1)
    spline = CubicSpline(time, force, axis=0)
    fine = np.linspace(0.0, time[-1], 8 * len(time))
    values = spline(fine)
    truth = np.array([true_numbers(fine, column) for column in values.T])
    starts = np.array([fine[np.argmax(column >= 0.01 * column.max())] for column in values.T])
    return Pulses(time, force, spline, truth, starts)


def true_numbers(time, force):
    """Return true peak, peak time, width, and impulse of the first pulse.

    The pulse lasts from 1 % of the largest force until below half of the running maximum. Samples
    locate each value, and the cubic spline through them gives it between two samples.
    """
    begin = int(np.argmax(force >= 0.01 * force.max()))
    highest = begin
    for i in range(begin, len(force)):
        if force[i] > force[highest]:
            highest = i
        if force[i] < 0.5 * force[highest]:
            break
    curve = CubicSpline(time, force)
    slope, last = curve.derivative(), len(time) - 1
    turns = slope.roots(extrapolate=False)
    near = turns[(turns > time[max(highest - 1, 0)]) & (turns < time[min(highest + 1, last)])]
    arrival = float(max((*near, time[highest]), key=curve))
    peak = float(curve(arrival))
    at_half = curve.solve(0.5 * peak, extrapolate=False)
    before, after = at_half[at_half < arrival], at_half[at_half > arrival]
    width = float(after.min() - before.max()) if len(before) and len(after) else math.nan
    lowest = highest
    for i in range(highest, len(force)):
        lowest = i if force[i] < force[lowest] else lowest
        if force[i] <= 0.01 * peak or force[i] > force[lowest] + 0.01 * peak:
            break
    else:
        return peak, arrival, width, math.nan
    near = turns[(turns > time[lowest - 1]) & (turns < time[min(lowest + 1, last)])]
    falls = curve.solve(0.01 * peak, extrapolate=False)
    # the force falls to 1 % between the sample and the previous one, or is lowest next to it
    inside = falls[(falls > time[lowest - 1]) & (falls <= time[lowest])]
    ends = inside if force[lowest] <= 0.01 * peak else near
    end = float(ends[0]) if len(ends) else float(time[lowest])
    return peak, arrival, width, float(curve.integrate(time[0], end))


class Rig(NamedTuple):
    """A computed run, a trace of some of its sensors, and the true values.

    The true values are on the clock of the trace, whose shift is known. It also lists the sensors
    at which a message about the fault is required: few samples per width, or crosstalk with the
    sign of the pulse that clearly exceeds the noise.
    """

    result: Result
    trace: Trace
    truth: np.ndarray
    shift: float
    due: np.ndarray


def rig(seed, fault, among=None):
    """Return sensors of a random law, with random noise, sampling, and phase, with or without a
    fault."""
    draw = np.random.default_rng([seed, FAULTS.index(fault) if fault else len(FAULTS)])
    names = among or tuple(distinct_laws())
    law = names[draw.integers(len(names))]
    pulses = pulses_of(law)
    alone = fault in ("offset", "cut", "later pulse")
    columns = np.array([draw.integers(5)]) if alone else np.arange(5)
    truth, starts = pulses.truth[columns], pulses.starts[columns]
    due = np.ones(len(columns), dtype=bool)
    peaks, width = truth[:, 0], float(truth[:, 2].min())
    noise = 10.0 ** draw.uniform(math.log10(2e-4), math.log10(3e-2))
    if fault is None:
        interval = 1e-6 / 10.0 ** draw.uniform(0.0, math.log10(20.0))
        begin, end = -draw.uniform(1.5, 8.0) * width, END
    else:
        most = math.log10(8.0) if fault == "few samples" else 2.0
        interval = width / 10.0 ** draw.uniform(math.log10(3.0), most)
        begin = -max(draw.uniform(1.5, 8.0) * width, 12.0 * interval)
        end = min(END, float(truth[:, 1].max()) + draw.uniform(3.0, 8.0) * width)
        end += 8.0 * width if fault == "later pulse" else 0.0
    if fault == "offset":
        begin = float(starts[0]) - interval * (draw.integers(8) + draw.random())
    if fault == "cut":
        end = draw.uniform(float(starts[0]), float(truth[0, 1] + 1.2 * truth[0, 2]))
        begin = min(begin, end - 12.0 * interval)
    time = begin + interval * (draw.random() + np.arange(int((end - begin) / interval)))
    force = pulses.at(time, columns)
    if fault == "later pulse":
        delay, size = draw.uniform(3.0, 8.0) * width, draw.uniform(1.2, 2.5)
        force = force + size * pulses.at(time - delay, columns)
        fine = np.linspace(0.0, END, 8 * len(pulses.time))
        both = pulses.at(fine, columns) + size * pulses.at(fine - delay, columns)
        truth = np.array([true_numbers(fine, both[:, 0])])
    if fault == "crosstalk":
        size = draw.uniform(0.02, 0.15) * draw.uniform(0.7, 1.3, len(columns)) * peaks
        size = size * draw.choice([-1.0, 1.0])
        due = size > FAR_OUT * noise * peaks
        since = time - float(starts.min()) + draw.uniform(1.0, 4.0) * width
        since = since / (draw.uniform(0.1, 0.7) * width)
        bump = np.exp(-4.0 * math.log(2.0) * since**2)
        ringing = np.exp(-2.0 * np.maximum(since, 0.0)) * np.sin(2.0 * math.pi * since)
        ringing[since <= 0.0] = 0.0
        force = force + (ringing if draw.random() < 0.5 else bump)[:, None] * size
    if fault == "drift":
        along = (time - time[0]) / (time[-1] - time[0])
        shapes = along, along**2, np.sin(math.pi * along * draw.uniform(0.3, 1.5))
        shape = shapes[draw.integers(3)][:, None] * draw.uniform(0.02, 0.2, len(columns))
        force = force + shape * peaks * draw.choice([-1.0, 1.0], len(columns))
    if fault == "offset":
        force = force + draw.choice([-1.0, 1.0]) * 10.0 ** draw.uniform(-1.3, 0.0) * peaks
    noisy = noise * peaks * draw.standard_normal(force.shape)
    if fault == "clipping":
        limit = draw.uniform(0.3, 0.95) * peaks
        # in the recorder, or in an amplifier before it
        if draw.random() < 0.5:
            force = np.minimum(force + noisy, limit)
        else:
            force = np.minimum(force, limit) + noisy
    else:
        force = force + noisy
    shift = draw.uniform(-5e-5, 5e-5)
    truth = truth + np.array([0.0, shift, 0.0, 0.0])
    about = about_of({"title": "synthetic rig", "kind": "synthetic"}, "test")
    return Rig(
        _result(pulses, columns, law),
        Trace(time=time + shift, force=force, beads=BEADS[columns], about=about),
        truth - np.array([0.0, time[0] + shift, 0.0, 0.0]),
        -time[0],
        truth[:, 2] < FEW_SAMPLES * interval if fault == "few samples" else due,
    )


def noisy_rig(seed, kind, among=NEAR):
    """Return five sensors of a random law, with noise or an instrument of a kind.

    For an instrument with a filter, the true values are those after the filter.
    """
    draw = np.random.default_rng([seed, EVERY.index(kind), 1])
    pulses = pulses_of(among[draw.integers(len(among))])
    columns, truth = np.arange(5), pulses.truth
    size = 10.0 ** draw.uniform(-3.0, -1.5) * float(truth[:, 0].min())
    interval = 10.0 ** draw.uniform(-6.7, -6.0)
    begin = -draw.uniform(3.0, 8.0) * float(truth[:, 2].min())
    time = begin + interval * (draw.random() + np.arange(int((END - begin) / interval)))
    force = noisy(pulses.at(time, columns), interval, kind, size, seed)
    if kind == "high-pass":
        fine = np.linspace(0.0, END, 8 * len(pulses.time))
        passed = butter(1, 2.0 * HIGH_PASS * fine[1], "highpass")
        values = lfilter(*passed, pulses.spline(fine), axis=0)
        truth = np.array([true_numbers(fine, column) for column in values.T])
    document = {"title": "synthetic rig", "kind": "synthetic", **STATED.get(kind, {})}
    about = about_of(document, "test")
    return Rig(
        _result(pulses, columns, "hertz"),
        Trace(time=time, force=force, beads=BEADS[columns], about=about),
        truth - np.array([0.0, time[0], 0.0, 0.0]),
        -time[0],
        np.ones(len(columns), dtype=bool),
    )


def _result(pulses, columns, law):
    data = {
        "time": pulses.time,
        "sensor_bead": BEADS[columns],
        "sensor_force": pulses.force[:, columns],
        "bead": np.arange(1, N_BEADS + 1),
        "radius": np.full(N_BEADS, 2.38e-3),
        "mass": np.full(N_BEADS, 0.45e-3),
        "position": 4.76e-3 * np.arange(N_BEADS),
        "final_displacement": np.zeros(N_BEADS),
        "final_velocity": np.zeros(N_BEADS),
    }
    case = SimpleNamespace(title="synthetic", energy=None, toml="", sha256="", resolved=dict)
    case.as_given = lambda: {"tables": {}}
    case.plain = lambda: {}
    return Result(data, case=case, law=law, status=Status.COMPLETE, time_step=4e-8, history=())
