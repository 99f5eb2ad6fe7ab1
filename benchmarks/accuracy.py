"""Time to compute the peak force at bead 31 within 0.1 %, in the steel chain with Hertz contacts.

Each run lasts until the wave reaches bead 63. Each code uses the coarsest step or tolerance at
which it, and every finer one tried, meets 0.1 %. Engine, NumPy, naive Numba, and plain Python have
the same scheme and therefore the same step. For all codes, the peak is the vertex of a parabola
through three samples. DOP853 returns samples near the peak only. The reference is DOP853 at its
finest tolerance, and the engine at a small step must agree with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import naive
import numpy as np
import plain_numpy
import plain_python
import scipy
from racing import (
    TURNS,
    Answer,
    Contender,
    command,
    measured,
    race,
    small,
    taken_on,
)
from scipy.integrate import solve_ivp
from steel_chain import N_BODIES, SPEED, Run, granchain, loop_of, run_to_bead_63

import granchain as gc
from granchain.analysis import first_pulse
from granchain.engine.recording import Recording
from granchain.engine.state import State

BEAD, WITHIN = 31, 1e-3
# Steps [s] and relative tolerances of DOP853, tried from the coarsest.
STEPS = tuple(2e-6 * 0.95**i for i in range(60))[:: 10 if small() else 1]
TOLERANCES = tuple(10.0 ** (-1.0 - 0.25 * i) for i in range(24))[:: 4 if small() else 1]
# Comparison of the engine with DOP853 at their finest: a second-order error of 9.5e-6 at 1e-7 s is
# 1e-7 at this step [s].
FINE, AGREE = 1e-8, 1e-6


def at_step(run: Run, dt: float) -> Run:
    """Return the run with another step and the same duration."""
    end = run.step.value * run.step.n_steps
    return replace(run, step=replace(run.step, value=dt, n_steps=math.ceil(end / dt)))


def sampled(run: Run) -> Recording:
    """Return a recording of the force at bead 31 at each step."""
    return Recording((BEAD,), (), run.step.value, None, ledger=False)


def engine_peak(run: Run) -> float:
    """Return the peak force of the engine [N]."""
    state = State(run.contacts, run.chain, run.step, sampled(run))
    state.advance(run.step.n_steps + 1)
    time = np.arange(run.step.n_steps + 1) * run.step.value
    return first_pulse(time, state.records.sensor_force[:, 0]).peak.item()


class Dop853:
    """The chain as a first-order system for SciPy.

    Parameters
    ----------
    run : Run
        Run with Hertz contacts.
    around : float
        Approximate time of the peak [s].
    """

    def __init__(self, run: Run, around: float):
        self.run, self.stiffness, self.around = run, float(run.contacts.c[0, 1]), around
        self.end = run.step.value * run.step.n_steps

    def slope(self, t: float, y: np.ndarray) -> np.ndarray:
        u, out = y[:N_BODIES], np.empty_like(y)
        d = np.maximum(u[:-1] - u[1:], 0.0)
        force = self.stiffness * (d * np.sqrt(d))
        out[:N_BODIES] = y[N_BODIES:]
        acceleration = out[N_BODIES:]
        acceleration[0], acceleration[-1] = -force[0], force[-1]
        acceleration[1:-1] = force[:-1] - force[1:]
        acceleration /= self.run.chain.mass
        return out

    def solve(self, tolerance: float, spacing: float = 2.5e-7) -> Any:
        """Return the solution at samples within 5 us of the peak, and at the end."""
        times = np.append(np.arange(self.around - 5e-6, self.around + 5e-6, spacing), self.end)
        start = np.r_[np.zeros(N_BODIES), self.run.chain.velocity]
        # Absolute tolerance: the wave moves a bead by about 1e-5 m, at up to the speed of the
        # striker.
        absolute = tolerance * np.r_[np.full(N_BODIES, 1e-5), np.full(N_BODIES, SPEED)]
        return solve_ivp(
            self.slope,
            (0.0, self.end),
            start,
            "DOP853",
            t_eval=times,
            rtol=max(tolerance, 3e-14),
            atol=absolute,
        )

    def peak(self, solution: Any) -> float:
        """Return the peak force [N]."""
        u = solution.y[BEAD - 1 : BEAD + 2, :-1]
        d = np.maximum(u[:-1] - u[1:], 0.0)
        force = 0.5 * self.stiffness * (d * np.sqrt(d)).sum(axis=0)
        return first_pulse(solution.t[:-1], force).peak.item()

    def contender(self, tolerance: float) -> Contender:
        def prepare() -> Callable[[], Answer]:
            def timed() -> Answer:
                y = self.solve(tolerance).y[:, -1]
                return y[:N_BODIES], y[N_BODIES:]

            return timed

        return Contender(prepare, turns=1)


def coarsest(values: tuple[float, ...], error_of: Callable[[float], float]) -> float:
    """Return the coarsest value from which on the error stays within the limit."""
    found = None
    for value in reversed(values):
        if error_of(value) > WITHIN:
            break
        found = value
    assert found is not None, f"the finest, {values[-1]:g}, is not within {WITHIN:g}"
    return found


@cache
def reference() -> tuple[Run, Dop853, float]:
    """Return the run with Hertz contacts, its equations, and the peak at bead 31 [N]."""
    run = run_to_bead_63("hertz")
    state = State(run.contacts, run.chain, run.step, sampled(run))
    state.advance(run.step.n_steps + 1)
    equations = Dop853(run, float(np.argmax(state.records.sensor_force[:, 0])) * run.step.value)
    exact = equations.peak(equations.solve(1e-11, 2.5e-8))
    off = abs(engine_peak(at_step(run, FINE)) / exact - 1.0)
    assert off <= AGREE, (
        f"engine and DOP853 at their finest differ by {off:.1e} in the peak at bead {BEAD}"
    )
    return run, equations, exact


def coarsest_run() -> tuple[Run, float]:
    """Return the run at the coarsest step within 0.1 %, and its error."""
    run, _, exact = reference()

    def error(dt: float) -> float:
        return abs(engine_peak(at_step(run, dt)) / exact - 1.0)

    step = coarsest(STEPS, error)
    return at_step(run, step), error(step)


def whole_run(run: Run) -> Contender:
    """Return `gc.run` of the case as a user calls it, with bead 31 as the only sensor.

    This is the total time of a call when the loop is already compiled.
    """
    case = gc.load_case("steel-chain").replace(
        **{
            "contact.law": "hertz", "contact.psi": None, "contact.xi": None,
            "time.step": run.step.value, "time.end": run.step.value * run.step.n_steps,
            "sensors.beads": [BEAD], "sensors.contacts": [], "sensors.interval": run.step.value,
        }
    )  # fmt: skip

    def prepare() -> Callable[[], Answer]:
        def timed() -> Answer:
            result = gc.run(case)
            return result.sensor_force, result.sensor_force

        return timed

    return Contender(prepare)


def measure(rounds: int) -> dict[str, Any]:
    """Return the milliseconds to the peak for each code."""
    _, equations, exact = reference()
    run, error = coarsest_run()
    tolerance = coarsest(
        TOLERANCES, lambda value: abs(equations.peak(equations.solve(value)) / exact - 1.0)
    )
    racing = {
        "granchain": granchain(run, sampled(run)),
        "granchain, gc.run": whole_run(run),
        "naive Numba": loop_of(run, naive, TURNS),
        "plain NumPy": loop_of(run, plain_numpy, 1),
        "plain Python": loop_of(run, plain_python, 1),
        "scipy DOP853": equations.contender(tolerance),
    }
    held = {name: contender for name, contender in racing.items() if contender is not None}
    for contender in held.values():
        contender.prepare()()
    return {
        "peak": exact,
        "error": error,
        "time_step": run.step.value,
        "steps": run.step.n_steps,
        "tolerance": tolerance,
        "error_dop853": abs(equations.peak(equations.solve(tolerance)) / exact - 1.0),
        **measured(race(held, rounds), ("granchain",), unit=1e3),
    }


def report(result: dict[str, Any]) -> None:
    """Print the table."""
    print(
        f"peak force at bead {BEAD}, {result['peak']:.6g} N, within {WITHIN:.1%}, wave up to bead "
        f"63: {result['steps']} steps of {result['time_step']:.3g} s ({result['error']:.2%}); "
        f"DOP853 at a tolerance of {result['tolerance']:.2g} ({result['error_dop853']:.2%})"
    )
    for name, ms in result["times"].items():
        ratio = result["ratios"]["granchain"].get(name)
        text = (
            f"   {ratio['median']:8.1f} [{ratio['low']:.1f} {ratio['high']:.1f}] x granchain"
            if ratio
            else ""
        )
        print(f"  {name:22s} {ms['median']:10.4f} ms   best {ms['best']:10.4f}{text}")
    print(f"\n{taken_on(result['machine'])}")


if __name__ == "__main__":
    command("accuracy", __doc__, measure, report, scipy=scipy.__version__)
