"""Studies whose members start from each other.

A driven bead jumps up and down at two frequencies, the drive changes without a jump, and an
interrupted study resumes."""

import json
import math
import re

import numpy as np
import pytest

import granchain as gc
from granchain.case.document import toml_text
from granchain.case.signals import phase_at, signal_table
from granchain.case.start import state_in
from granchain.cli import obey
from granchain.errors import CaseError, FileError
from granchain.simulation import prepare
from granchain.studies.chained import _drive_between, settled_time

# rows at "fast" run quickly, and the tested properties do not depend on their resonance
pytestmark = pytest.mark.filterwarnings("ignore:time.step:granchain.errors.GranchainWarning")

LEFT = "ends.left.frequency"
NOISE = {
    "ends.left": {"drive": "displacement", "signal": "noise", "band": [1e4, 2e4]}
    | {"rms": 1e-8, "seed": 0, "ramp": 1e-4}
}


def bead(**changes):
    """Return a bead between two walls under 20 N; the left wall oscillates."""
    drive = {"drive": "displacement", "signal": "harmonic", "ramp": 5e-4}
    return gc.Case(
        chain={"beads": 1, "radius": 2.38e-3, "material": "steel-316"}
        | {"precompression": 20.0, "drag": 1280.0},
        ends={"left": drive | {"amplitude": 1.6e-8, "frequency": 40e3}, "right": "wall"},
        contact={"law": "hertz"},
        sensors={"beads": [1], "interval": 1e-6},
        time={"end": 8e-3, "step": "fast"},
    ).replace(**changes)


def jumps(case):
    """Return the frequencies [Hz] at which the small motion ends on the way up, and the large one
    on the way down.

    They follow from the averaged equation of the bead's cubic oscillator, K ((d + x)^1.5 - (d -
    x)^1.5) = m w^2 (x - x^3/(24 d^2) + ...): w(a) = w (1 - a^2/(64 d^2)), and a^2 ((W - w(a))^2 +
    g^2) = (w A/4)^2 with the drag 2 g and the amplitude A of the wall (Landau & Lifshitz,
    Mechanics, section 29).
    """
    _, contacts, _ = prepare(case)
    d = contacts.overlaps[0]
    w = 2.0 * math.pi * gc.modes(case.replace(**{"ends.left": "wall"})).frequencies[0]
    a, g = np.linspace(1e-3, 1.0, 100_000), 0.5 * case.chain.drag
    room = (w * case.ends.left.amplitude / (4.0 * d * a)) ** 2 - g * g
    a, off = a[room > 0.0], np.sqrt(room[room > 0.0])
    left = w * (1.0 - a * a / 64.0) - off
    top = int(np.argmax(left))
    return left[top] / (2.0 * math.pi), left[top:].min() / (2.0 * math.pi)


@pytest.mark.long
def test_a_softening_bead_jumps_up_and_down_at_two_frequencies():
    case = bead()
    up_at, down_at = jumps(case)
    assert up_at - down_at > 120.0
    up = [up_at + off for off in (-100.0, -50.0, 50.0, 100.0)]
    down = [up_at, up_at - 50.0, up_at - 100.0, down_at - 100.0]
    found = gc.sweep(case, {LEFT: [*up, *down]}, chained=True, progress=False)
    size = found.force_amplitude.values[:, 0]
    assert found[LEFT].attrs["units"] == "Hz" and found.attrs["chained"] == 1
    assert "peak" not in found and (found.status == "complete").all()
    # between the two jumps there are two motions; the larger one ends on the way down
    assert (size[:2] < 0.5).all() and (size[2:7] > 1.5).all() and size[7] < 0.4
    assert np.abs(found.force_change.values[3:7]).max() < 2e-2


def test_a_drive_leads_into_the_next():
    case = bead(
        **{"ends.left.ramp": 2e-4, "ends.left.ramp_from": [3e-8, 5e3], LEFT: 6e3},
        **{"ends.left.amplitude": 1e-8},
    )
    end = case.ends.left
    time, value, slope = signal_table(end, 1e-3)
    assert value[0] == 0.0
    assert slope[0] == pytest.approx(3e-8 * 2.0 * math.pi * 5e3, rel=1e-12)
    past = time >= 2e-4
    # over the ramp, the mean of the two frequencies
    phase = 2.0 * math.pi * (5500.0 * 2e-4 + 6e3 * (time[past] - 2e-4))
    assert value[past] == pytest.approx(1e-8 * np.sin(phase), abs=1e-20)
    # slopes of the values from four neighbours, of the fourth order
    near = (value[:-4] - 8.0 * value[1:-3] + 8.0 * value[3:-1] - value[4:]) / (12.0 * time[1])
    assert np.abs(near - slope[2:-2]).max() < 1e-5 * np.abs(slope).max()
    with pytest.raises(
        CaseError, match=r"ends\.left\.ramp_from: the displacement does not begin at 0"
    ):
        case.replace(**{"ends.left.phase": 0.3})
    with pytest.raises(CaseError, match=r"with a ramp and without a duration"):
        case.replace(**{"ends.left.ramp": None})


def test_ramp_and_settled_part_are_whole_periods_of_the_drive():
    case = bead()
    # 25 us at 40 kHz; an even number of them in half of 8 ms is used
    for end, settled in ((8e-3, 4e-3), (4.1e-4, 2e-4), (3.9e-4, 1.5e-4), (9e-5, 0.0)):
        longer = case.replace(**{"time.end": end})
        assert settled_time(longer) == pytest.approx(settled, rel=1e-12)
    # 510 us are 20.4 of these periods
    cases = [case.replace(**{"ends.left.amplitude": x, "ends.left.ramp": 5.1e-4}) for x in (1, 2)]
    assert _drive_between(cases, 1, 0.0)[1] == pytest.approx(5e-4, rel=1e-12)
    # without a harmonic drive, half of the run
    assert settled_time(case.replace(**{"ends.left": "wall", "chain.drag": None})) == 4e-3


def test_each_value_goes_on_from_the_last_and_a_study_from_its_file(tmp_path):
    file = tmp_path / "chain.h5"
    case = bead(**{"time.end": 2.5e-4, "ends.left.ramp": 5e-5})
    key, sizes = "ends.left.amplitude", [1e-8, 3e-8, 2e-8]

    def stop(done, count):
        if done == 2:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        gc.sweep(case, {key: sizes}, chained=True, out=file, progress=stop)
    with pytest.raises(FileError, match="unfinished study"):
        gc.sweep(case, {key: sizes}, chained=True, out=file, progress=False)
    asked = []
    options = {"chained": True, "out": file, "resume": True, "traces": False}
    options["progress"] = lambda *which: asked.append(which)
    found = gc.sweep(case, {key: sizes}, **options)
    assert asked == [(3, 3)] and not (tmp_path / "chain.h5.part").exists()
    again = gc.sweep(case, {key: sizes}, chained=True, traces=True, progress=False)
    assert np.array_equal(again.force_amplitude, found.force_amplitude)
    # a longer list uses the existing members
    gc.sweep(case, {key: [*sizes, 1e-8]}, **options)
    assert asked == [(3, 3), (4, 4)]
    # the first value is bit-identical to a single run
    held = state_in(found.state.values[0])
    assert 2.5e-4 <= held.time < 2.5e-4 + 2.0 * held.time_step
    # the step divides the end time
    whole = gc.run(case.replace(**{key: 1e-8, "time.end": held.time}))
    assert np.array_equal(whole.state["bodies"], held.start.bodies)
    # four periods of 25 us, sampled every two or three steps of .39 us
    counted = np.isfinite(again.sensor_force.values[0, :, 0]).sum()
    assert counted in (*range(84, 90), *range(126, 132))
    # the drive continues in its phase
    phase = float(found.drive_phase[0])
    assert phase == pytest.approx(phase_at(case.ends.left, held.time) % (2.0 * math.pi), rel=1e-12)
    # the second value starts with the wall displacement of the first
    second = case.replace(
        initial={"state": found.state.values[0]},
        **{key: 3e-8, "ends.left.phase": phase, "ends.left.ramp_from": [1e-8, 40e3]},
    )
    first = signal_table(second.ends.left, 1e-4).value[0]
    assert abs(first - held.start.driven[0]) < 1.1 * 2.0 * math.pi * 40e3 * 1e-8 * held.time_step


def test_what_cannot_be_chained_is_said():
    other = {"drive": "displacement", "signal": "harmonic", "amplitude": 1e-8, "frequency": 4e4}
    two = (
        "chained: the case has 2 drives, ends.left, ends.right. A chained study allows at most "
        "one. Remove the other drives, or leave out chained."
    )
    spread = {"measures": ["participation"]}
    for vary, changes, more, said in (
        ({"striker.speed": [1.0]}, {}, {}, "It must be a list of values of one of time.step, "
         "time.end, ends.left.amplitude"),
        ({LEFT: [4e4], "time.end": [1e-3]}, {}, {}, f"{LEFT}, time.end cannot be varied in a chai"),
        ({LEFT: gc.normal(4e4, 1.0)}, {}, {}, "It must be a list of values of one"),
        ({LEFT: [4e4]}, {"ends.left.duration": 8e-3}, {}, 'signal = "harmonic" and no duration'),
        ({"ends.left.amplitude": [1e-8]}, NOISE, {}, "ends.left: the drive is not harmonic"),
        ({LEFT: [4e4, 41e3]}, {"time.end": 6e-4}, {}, "because the ramp takes 0.000494 s"),
        ({LEFT: [4e4]}, {"time.end": 6e-5}, {}, "at least four periods of the drive"),
        ({LEFT: [4e4]}, {"ends.right": other}, {}, two),
        ({LEFT: [4e4]}, {}, spread, "measures: participation cannot be measured in a chained"),
        ({LEFT: [4e4]}, {}, {"executor": 1}, "executor: a chained study cannot use an executor"),
    ):  # fmt: skip
        with pytest.raises(CaseError, match=re.escape(said)):
            gc.sweep(bead(**changes), vary, chained=True, **more)


@pytest.mark.usefixtures("blank_pictures")
def test_the_command_chains_and_draws(here, obeyed):
    case = bead(**{"time.end": 5e-4, "ends.left.ramp": 5e-5})
    (here / "bead.toml").write_text(toml_text(case.as_given()["tables"]))
    assert gc.load_case(here / "bead.toml") == case
    (here / "up.toml").write_text(
        'case = "bead.toml"\nmeasures = ["bead_spectrum"]\n[vary]\n'
        '"ends.left.frequency" = [4e4, 4.1e4, 4e4]\n'
    )
    facts = json.loads(obeyed("sweep", "up.toml", "--chained", "--json").out)
    assert facts["status"] == ["complete"] * 3
    assert obey(["plot", "up.h5", "--out", "."]) == 0
    assert (here / "up-force-amplitude-over-ends-left-frequency.png").exists()
