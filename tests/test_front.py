"""Beads ahead of the wave front are skipped, bit-identical to a loop that sweeps every contact.

This holds for every step and every selection of records."""

import contextlib
import math

import numpy as np
import pytest
from support.processes import Stop
from support.random_cases import between

import granchain as gc
from granchain import simulation
from granchain.certificates import example_inputs
from granchain.chain import Masses
from granchain.contact import laws
from granchain.contact.law import OPEN, ContactLaw, Quantity, Source, positive
from granchain.engine import tiles
from granchain.errors import RunError
from granchain.simulation import prepare
from granchain.status import Status

# The stability limit is 4.35e-6 s. Only sensors are recorded, so there is no full step in between.
CHAIN = gc.load_case("steel-chain-hertz").replace(**{
    "energy.ledger": False, "snapshots": None, "time.step": 3e-6,
    "sensors.contacts": [], "sensors.beads": [9, 63], "sensors.interval": 3e-6,
})  # fmt: skip


@contextlib.contextmanager
def all_swept():
    """Start the front of every run at the last contact."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Masses, "at_rest_ahead", property(lambda masses: masses.n_bodies - 1))
        yield


def ended(case, **how):
    """Return a run to its end, or to its failure."""
    try:
        return gc.run(case, **how)
    except RunError as error:
        assert isinstance(error.result, gc.Result)
        return error.result


def swept(case):
    with all_swept():
        return ended(case)


def unlike(one, other):
    """Return the number of values that differ in a bit."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return max(one.size, other.size)
    if one.dtype == object:
        return int((one != other).sum())
    bits = f"u{one.dtype.itemsize}"
    return int(
        (np.ascontiguousarray(one).view(bits) != np.ascontiguousarray(other).view(bits)).sum()
    )


def differing(one, other):
    """Return the number of values that differ in a bit, of everything that two results or datasets
    share."""
    shared = one.variables.keys() & other.variables.keys()
    return sum(unlike(one.variables[name].data, other.variables[name].data) for name in shared)


# --- A contact that closes and opens again between two inspections
@pytest.mark.promise("R2")
def test_a_wave_goes_on_whatever_is_recorded(figure):
    bare, recorded, reference = (
        gc.run(CHAIN),
        gc.run(CHAIN.replace(**{"snapshots.interval": 2e-6 * 29})),
        swept(CHAIN),
    )
    # the elastic pulse of 66 N is at the last sensor as at the first one, within a tenth
    assert bare.sensor_force[:, 1].max() == pytest.approx(bare.sensor_force[:, 0].max(), rel=0.1)
    assert bare.sensor_force[:, 1].max() > 50.0
    figure(
        "numbers that differ from those of a loop over all contacts",
        differing(bare, reference) + differing(recorded, reference),
        at_most=0,
    )


# --- Random cases, each with one way of computation

# A law with each kind of loop: without rate and history, with residual indentation, with a rate,
# with a rate and an onset weight, pulling at the end, jumping at the onset and inside, and a user's
# law.
LAWS = {
    "hertz": {},
    "ma-liu": {},
    "flores": {},
    "tsuji": {},
    "tsuji that pulls": {"law": "tsuji", "separation": "tensile"},
    "kelvin-voigt": {},
    "wang-liu-hysteretic": {},
    # about as stiff as steel at 10 um
    "softer": {"stiffness": 5e7},
}
WAYS = ("run", "recorded otherwise", "run_many", "sweep", "threads", "resume")
# Number of cases of each law: 504 in all.
MANY = 63
# The sensors of a study need no complete wave.
LATER = pytest.mark.filterwarnings("ignore:sweep. .*Increase time.end")


@pytest.fixture
def own_law(own_laws):
    class Softer(ContactLaw):
        """A force proportional to d^(5/4)."""

        name = "softer"
        source = Source("a test")
        inputs = (positive("stiffness", "N/m^(5/4)", "K"),)
        coefficients = (Quantity("stiffness", "N/m^(5/4)", "K"),)

        @staticmethod
        def coefficients_of(pair, inputs):
            return (inputs.stiffness,)

        @staticmethod
        def force(overlap, rate, c, h):
            d = overlap if overlap > OPEN else 0.0
            return c[0] * d * math.sqrt(math.sqrt(d))

        @staticmethod
        def energy(overlap, c, h):
            d = overlap if overlap > OPEN else 0.0
            return 4.0 / 9.0 * c[0] * d * d * math.sqrt(math.sqrt(d))


def contact_of(name):
    """Return the table of a case for a law."""
    given = {"law": name} | LAWS[name]
    law = laws()[given["law"]]
    examples = {} if name == "softer" else vars(example_inputs(law))
    return {key: value for key, value in (examples | given).items() if value is not None}


def drawn(name, draw, long):
    """Return a row of 70 to 10,000 steel beads, struck at 0.05 to 10 m/s, with a step up to the
    limit.

    Each record is present or absent. A long row is long enough for several threads.
    """
    beads = int(draw.integers(8192, 10001)) if long else int(between(draw, 70.0, 10001.0))
    steps, speed = int(draw.integers(150, 600 if beads > 1000 else 1200)), between(draw, 0.05, 10.0)
    # free flights from much less than a step to many steps
    gap = between(draw, 1e-8, 2e-5) if draw.random() < 0.5 else 0.0
    changes = {
        "chain.beads": beads,
        "chain.gap": gap,
        "striker.speed": speed,
        "striker.mass": 0.45e-3 * between(draw, 1.0 / 3.0, 3.0),
        "contact": contact_of(name),
        "ends.right": "wall" if draw.random() < 0.5 else "free",
        "time.step": "auto",
        "time.end": 1e-3,
        "energy.ledger": bool(draw.random() < 0.5),
    }
    if beads < 300:
        changes["chain.gap_added"] = (
            draw.uniform(0.0, 1e-6, beads - 1) * (draw.random(beads - 1) < 0.5)
        ).tolist()
        if draw.random() < 0.3:
            # beads that move before the wave arrives
            changes["initial.velocity"] = np.r_[
                draw.normal(0.0, 0.3 * speed, 5), np.zeros(beads - 5)
            ].tolist()
    case = CHAIN.replace(**changes)
    limit = min(prepare(member)[2].limit for member in slower(case))
    dt = limit * min(0.999, max(0.02, draw.random() ** (1.0 / 3.0)))
    # a wave moves at most at 800 m/s, and one contact per step
    reached = int(min(beads - 1, 5 + steps * min(1.0, dt * 800.0 / 4.76e-3)))
    every = int(draw.integers(1, 8))
    records = {
        "time.step": dt,
        "time.end": steps * dt,
        "energy.interval": int(draw.integers(7, 200)) * dt,
        "sensors.interval": every * dt,
        "sensors.beads": sorted({int(bead) for bead in draw.integers(1, reached + 1, 3)}),
        "sensors.contacts": [0, reached // 2] if draw.random() < 0.5 else [],
    }
    if draw.random() < 0.5:
        records["snapshots.interval"] = int(draw.integers(5, 100)) * dt
    return case.replace(**records)


def slower(case):
    """Return the case, and two with a slower striker, with the same step."""
    return [
        case.replace(**{"striker.speed": part * case.striker.speed}) for part in (1.0, 0.7, 0.4)
    ]


def found_by(way, case, draw, folder):
    """Return the number of values that differ from a loop over all contacts, for one way to run a
    case."""
    threads, reference = int(draw.integers(1, 4)), swept(case)
    assert reference.status in (Status.COMPLETE, Status.LEDGER_OPEN), reference.status
    if way == "run":
        return differing(ended(case), reference)
    if way == "recorded otherwise":
        changes = {"energy.ledger": not case.energy.ledger, "energy.interval": None} | (
            {"snapshots": None}
            if case.snapshots
            else {"snapshots.interval": 13.0 * float(case.time.step)}
        )
        return differing(ended(case.replace(**changes)), reference)
    if way == "threads":
        return differing(ended(case, threads=max(2, threads)), reference)
    if way == "resume":
        checkpoint = folder / "run.chk"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simulation, "FIRST_BLOCK", case.beads * int(draw.integers(1, 150)))
            ended(case, checkpoint=checkpoint, watch=Stop(), threads=threads)
        whole = ended(case, checkpoint=checkpoint, resume=True, threads=threads)
        return differing(whole, reference)
    members = slower(case)
    if way == "run_many":
        ensemble = gc.run_many(members, threads=threads)
        return sum(differing(*pair) for pair in zip(ensemble, map(swept, members), strict=True))
    speeds = {"striker.speed": [member.striker.speed for member in members]}
    study = gc.sweep(case, speeds, traces=True, threads=threads)
    with all_swept():
        whole = gc.sweep(case, speeds, traces=True, threads=threads)
    first = study["sensor_force"].values[0, : len(reference.sensor_force)]
    return differing(study, whole) + unlike(first, reference.sensor_force)


def found(name, count, seed, folder):
    """Return the same for a number of cases of a law, with each way in turn."""
    draw, ways = np.random.default_rng(seed), [WAYS[place % len(WAYS)] for place in range(count)]
    return sum(
        found_by(way, drawn(name, draw, way in ("threads", "resume")), draw, folder) for way in ways
    )


@pytest.fixture
def threads_of_any_number(monkeypatch):
    """Let chains with few tiles use several threads, too."""
    monkeypatch.setattr(tiles, "TILES_APART", 1)


@LATER
@pytest.mark.promise("R2")
def test_what_is_left_out_changes_no_bit_of_random_cases(threads_of_any_number, tmp_path, figure):
    differ = found("hertz", 6, 1, tmp_path)
    figure("numbers that differ from those of a loop over all contacts, 6 cases", differ, at_most=0)


@LATER
@pytest.mark.long
@pytest.mark.promise("R2")
@pytest.mark.parametrize("law", LAWS)
def test_what_is_left_out_changes_no_bit_of_many_random_cases(
    law, own_law, threads_of_any_number, tmp_path, figure
):
    figure(
        f"numbers that differ from those of a loop over all contacts, {MANY} cases",
        found(law, MANY, 2, tmp_path),
        at_most=0,
    )
