"""Reported discretization errors of orbits, of named points of branches, and of settled amplitudes,
compared with computations at much smaller steps."""

import math
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.shaken import long_steps, shaken_row

import granchain as gc
from granchain.errors import GranchainWarning, RunError
from granchain.orbits import continuation
from granchain.studies import chained

pytestmark = pytest.mark.filterwarnings("ignore:time.step:granchain.errors.GranchainWarning")

# Steps of a converged computation, as a fraction of the step: by order 2 it has 1/16 of the error,
# far less than the margin of 1.5 of a reported error.
CONVERGED = 0.25
FREQUENCY, AMPLITUDE = "ends.left.frequency", "ends.left.amplitude"


def random_row(rng, most=4, drags=(2.7, 3.7)):
    """Return a row of steel beads, shaken near one of its resonances, at "auto" or "fast"."""
    beads = int(rng.integers(1, most + 1))
    drag = 10.0 ** rng.uniform(*drags)
    load = 10.0 ** rng.uniform(0.5, 1.7)
    step = str(rng.choice(["auto", "fast"]))
    case = shaken_row(beads, 2e4, 1e-9, drag, **{"chain.precompression": load, "time.step": step})
    still = case.replace(**{"ends.left": "wall"})
    mode = float(rng.choice(gc.modes(still).frequencies))
    near = mode + rng.uniform(-2.0, 2.0) * drag / (2.0 * math.pi)
    amplitude = 10.0 ** rng.uniform(-10.0, -8.3)
    return case.replace(**{FREQUENCY: near, AMPLITUDE: amplitude})


def orbit_covered(case):
    """Return whether the reported errors of an orbit include its difference from the converged
    orbit."""
    found = gc.orbit(case)
    finer = case.replace(**{"time.step": CONVERGED * found.result.time_step})
    off = np.abs(gc.orbit(finer, guess=found).displacement - found.displacement)
    return bool((off <= found.displacement_error).all())


def points_covered(case, along, stop):
    """Return for each named point of a branch whether its error includes the converged point."""
    found = gc.orbit(case)
    finer = case.replace(**{"time.step": CONVERGED * found.result.time_step})
    branch = gc.continuation(case, found, along=along, stop=stop)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(continuation.Path, "parameter_error", lambda *arguments: math.nan)
        known = gc.continuation(finer, gc.orbit(finer), along=along, stop=stop)
    covered = []
    for point in branch.special:
        theirs = [abs(one.parameter - point.parameter) for one in known.special
                  if (one.kind, one.contact) == (point.kind, point.contact)]  # fmt: skip
        if theirs:
            covered.append(min(theirs) <= point.parameter_error)
    return covered


def settled_covered(case, values):
    """Return for each value of a chained sweep whether its error includes the converged
    amplitude."""
    found = gc.sweep(case, {FREQUENCY: values}, chained=True, progress=False)
    step = CONVERGED * float(found.time_step.values[0])
    finer = case.replace(**{"time.step": step})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chained, "amplitude_in_half_steps", lambda *arguments: np.full(1, math.nan))
        known = gc.sweep(finer, {FREQUENCY: values}, chained=True, progress=False)
    off = np.abs(found.force_amplitude - known.force_amplitude).values
    return (off <= found.force_amplitude_error.values).all(axis=1).tolist()


def settling(case):
    """Return the row with 15 decay times of the amplitude at each value and a sensor at its first
    bead."""
    frequency = case.ends.left.frequency
    end = 30.0 / case.chain.drag + 20.0 / frequency
    return case.replace(
        **{"time.end": end, "ends.left.ramp": 5.0 / frequency},
        sensors={"beads": [1], "interval": 1.0 / (40.0 * frequency)},
    )


def test_the_stated_error_of_an_orbit_covers_the_converged_orbit():
    for step in ("auto", "fast"):
        assert orbit_covered(shaken_row(3, 28e3, 3e-8, 1e3, **{"time.step": step})), step


def test_the_stated_errors_of_a_breather_cover_the_converged_breather():
    case = shaken_row(3, 28e3, 0.0, 0.0, **{"ends.left": "wall", "time.step": "fast"})
    shape = gc.modes(case).shapes[0]
    case = case.replace(initial={"displacement": (1e-7 * shape).tolist()})
    found = gc.orbit(case, hold="amplitude")
    finer = case.replace(**{"time.step": CONVERGED * found.result.time_step})
    known = gc.orbit(finer, hold="amplitude", guess=found)
    off = np.abs(known.displacement - found.displacement)
    assert (off <= found.displacement_error + 1e-8 * np.abs(found.displacement).max()).all()
    off = abs(known.energy - found.energy)
    assert off <= found.energy_error <= 3.0 * off


@pytest.mark.long
def test_the_stated_error_of_a_period_doubling_covers_the_converged_one():
    case = shaken_row(1, 81.5e3, 2e-8, 500.0, **{"time.step": "fast"})
    assert points_covered(case, AMPLITUDE, 5e-8) == [True]


def test_the_stated_error_of_a_settled_amplitude_covers_the_converged_one():
    case = settling(shaken_row(1, 40.3e3, 5e-9, 2e4, **{"time.step": "fast"}))
    assert settled_covered(case, [40.3e3, 40.6e3]) == [True, True]


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_stated_errors_of_orbits_cover_the_converged_ones_of_90_of_100_random_chains():
    rng, covered = np.random.default_rng(47), []
    while len(covered) < 100:
        case = random_row(rng)
        try:
            covered.append(orbit_covered(case))
        except RunError:
            # a drive that is too strong for a search from the static state
            continue
    print(f"{sum(covered)} of {len(covered)} orbits")
    assert np.mean(covered) >= 0.9


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_stated_errors_of_settled_amplitudes_cover_those_of_90_of_100_random_chains():
    rng, covered = np.random.default_rng(48), []
    for _ in range(100):
        # with less drag, amplitudes take longer to settle
        case = settling(random_row(rng, drags=(3.3, 4.3)))
        frequency = case.ends.left.frequency
        covered.append(all(settled_covered(case, [frequency, 1.003 * frequency])))
    print(f"{sum(covered)} of {len(covered)} chains")
    assert np.mean(covered) >= 0.9


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_stated_errors_of_named_points_cover_90_of_100_of_random_chains():
    rng, covered = np.random.default_rng(49), []
    while len(covered) < 100:
        case = random_row(rng, most=2)
        overlap = gc.orbit(case).result.contact_overlap.min()
        frequency = case.ends.left.frequency * rng.choice([1.0, 2.0])
        case = case.replace(**{FREQUENCY: frequency, AMPLITUDE: 1e-3 * overlap})
        try:
            covered += points_covered(case, AMPLITUDE, 0.15 * overlap)
        except RunError:
            continue
    print(f"{sum(covered)} of {len(covered)} points")
    assert np.mean(covered) >= 0.9


def bars(axes):
    """Return half of the lengths of the error bars of an axes, largest first."""
    segments = [part for bar in axes.containers for line in bar[2] for part in line.get_segments()]
    return sorted((0.5 * float(np.ptp(part, axis=0).max()) for part in segments), reverse=True)


def test_figures_draw_the_stated_errors_as_bars(monkeypatch):
    long_steps(monkeypatch)
    case = shaken_row(1, 81.5e3, 2e-8, 500.0, **{"time.step": "fast"})
    branch = gc.continuation(case, gc.orbit(case), along=AMPLITUDE, stop=5e-8)
    (point,) = branch.special
    assert bars(gc.figures.bifurcation(branch).axes[0]) == pytest.approx([point.parameter_error])


FAST = shaken_row(1, 2e4, 1e-9, 5e4, **{"time.step": "fast", "time.end": 4e-4})


@pytest.mark.parametrize("step", ["fast", pytest.param("auto", marks=pytest.mark.long)])
def test_a_harmonic_drive_at_fast_is_reported_once_by_each_call(step):
    case = FAST.replace(**{"time.step": step, "sensors": {"beads": [1], "interval": 1e-6}})
    orbit = gc.orbit(case)
    calls = {
        "run": gc.run,
        "run_many": lambda case: gc.run_many([case, case]),
        "orbit": gc.orbit,
        "branch": lambda case: gc.continuation(case, orbit, along=AMPLITUDE, start=1.1e-9,
                                               stop=2e-9),
        "sweep": lambda case: gc.sweep(case, {AMPLITUDE: [1e-9, 2e-9]}),
        "chained": lambda case: gc.sweep(case, {AMPLITUDE: [1e-9, 2e-9]}, chained=True),
    }  # fmt: skip
    for name, call in calls.items():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call(case)
        texts = [str(one.message) for one in found if issubclass(one.category, GranchainWarning)]
        texts = [text for text in texts if text.startswith("time.step:")]
        assert len(texts) == (step == "fast"), name
        assert all(one.filename == __file__ for one in found if str(one.message) in texts), name


@pytest.mark.parametrize("command", ["run", pytest.param("sweep", marks=pytest.mark.long)])
def test_a_command_reports_a_harmonic_drive_at_fast_on_standard_error(command, here):
    FAST.replace(sensors={"beads": [1], "interval": 1e-6}).save("row.toml")
    Path("study.toml").write_text(f'case = "row.toml"\n[vary]\n"{AMPLITUDE}" = [1e-9, 2e-9]\n')
    file = {"run": "row.toml", "sweep": "study.toml"}[command]
    arguments = [sys.executable, "-m", "granchain", command, file, "--out", "a.h5"]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert ended.stderr.count('warning: time.step: "fast"') == 1
    assert "time.step" not in ended.stdout
