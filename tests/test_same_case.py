"""A case that is stored, opened or sent to another process stays the same under a change of every
key, and a member of an evaluation equals its single run for every varied key and every method of
computation."""

import json
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import granchain as gc
from granchain.case import Case, case_as_given
from granchain.case.document import toml_value
from granchain.case.schema import key_tables
from granchain.engine import batch
from granchain.errors import RunError
from granchain.measured import read_trace
from granchain.studies.plan import plan_of

pytestmark = [
    pytest.mark.promise("R3"),
    # warnings of several changes: the comparison does not depend on whether a pulse has arrived
    pytest.mark.filterwarnings("ignore:evaluate. .*Increase time.end"),
]
TRACE = Path(__file__).parents[1] / "data" / "synthetic2026"

MATERIAL = {"youngs_modulus": 2e11, "poissons_ratio": 0.29, "density": 7800.0, "name": "mine"}
MATERIAL |= {"yield_stress": 1e9, "hardness": 3e9}
SHORT = {"sensors": {"beads": [2, 5], "interval": 4e-7}, "time": {"end": 3e-5}}
SHORT["energy"] = {"ledger": True}
BRASS = "brass-260-half-hard"


def changes(text):
    """Return new values of keys, as on the command line, or None for keys that are removed."""
    pairs = (one.partition("=") for one in text.split(";"))
    return {key.strip(): toml_value(value.strip()) if value else None for key, _, value in pairs}


# Another value of each key, in the first case that allows it; a missing key fails the test.
STRUCK = changes("""
title = 'another'; chain.beads = 7; chain.radius = 0.003; chain.mass = 0.0002;
chain.material = 'brass-260-half-hard'; chain.gap = 1e-7; chain.drag = 30.0;
chain.on_site_stiffness = 100000.0; chain.on_site_damping = 0.1;
chain.resonator = { mass = 0.0001, stiffness = 1e6 };
chain.radius_factor = [1, 1, 1.1, 1, 1, 1]; chain.mass_factor = [1, 2, 1, 1, 1, 1];
chain.modulus_factor = [1, 1, 0.5, 1, 1, 1]; chain.gap_added = [0, 0, 1e-7, 0, 0];
chain.disorder_seed = 3; chain.segment = [{ count = 6, radius = 0.002 }]; striker.speed = 1.1;
striker.radius = 0.004; striker.mass = 0.001; striker.material = 'brass-260-half-hard';
ends.left = 'free'; ends.right = 'rigid'; ends = { right = 'free' };
ends.left_material = 'brass-260-half-hard';
ends.right_material = 'brass-260-half-hard'; ends.left_contact = { law = 'hertz' };
ends.right_contact = { law = 'ma-liu', psi = 2.5, xi = 13.0 }; contact.law = 'hertz';
contact.psi = 2.0; contact.xi = 9.0; sensors.beads = [1, 5]; sensors.contacts = [1];
sensors.interval = 2e-7; sensors.arrival = "half"; snapshots.interval = 1e-5;
snapshots.history = true;
energy.ledger = false; energy.interval = 1e-5; energy.bound = 0.02; time.end = 2e-5;
time.step = 'fast'; time.force_step = true; tolerance = { 'striker.speed' = 0.02 };
chain.material.youngs_modulus = 1e11; chain.material.poissons_ratio = 0.25;
chain.material.density = 8000.0; chain.material.yield_stress = 5e8;
chain.material.hardness = 2e9; chain.material.source = 'mine'; chain.material.name = 'mine';
initial = { velocity = [0.1, 0, 0, 0, 0, 0] }
""")
DRIVEN = changes("""
chain.precompression = 4.0; chain.mass = 0.0002; chain.beads = 8; chain.radius = 0.003;
chain.material = 'brass-260-half-hard'; initial.file = 'other.csv'; initial; ends.left = 'wall';
ends.left.drive = 'force'; ends.left.file = 'again.csv'; ends.right.signal = 'harmonic';
ends.right.amplitude = 2e-7; ends.right.frequency = 90000.0; ends.right.phase = 0.1;
ends.right.ramp = 2e-6; ends.right.duration = 1e-5; drive.0.file = 'again.csv';
drive.0.bead = 2; drive.1.dc = 1.0; drive.1.ramp_from = [0.7, 80000.0]; time.end = 2e-5;
ends.right = { drive = 'displacement', time = [0.0, 1e-5], value = [0.0, 0.0] };
contact.restitution = 0.7
""")
PAIRED = changes("""
chain.segment.0.count = 4; chain.segment.0.radius = 0.003; chain.segment.0.mass = 0.0003;
chain.segment.0.material = 'brass-260-half-hard'; chain.segment.0.repeat = 2;
chain.segment.0.gap = 1e-7; chain.segment.0.drag = 20.0;
chain.segment.0.on_site_stiffness = 100000.0; chain.segment.0.on_site_damping = 0.1;
chain.segment.0.resonator = [{ mass = 0.0001, stiffness = 1e6 }];
chain.segment.1.resonator.mass = 0.0002; chain.segment.1.resonator.stiffness = 2e6;
chain.segment.1.resonator.damping = 0.0; chain.segment.0.velocity = 0.2;
chain.segment.1.displacement = 1e-8; initial.resonator_velocity = [0.1, 0.0, 0.0];
initial.resonator_displacement = [0.0, 1e-8, 0.0]; chain.segment.0.taper = 0.95;
chain.radius = 0.003; chain.mass = 0.0002; chain.gravity = 9.81;
chain.material = 'brass-260-half-hard'; contact.pair; contact.pair.0.restitution = 0.4;
contact.pair.0.materials = ['brass-260-half-hard', 'brass-260-half-hard'];
contact.restitution = 0.8; striker.speed = 2.0; striker.radius = 0.001
""")


def struck():
    return Case(
        title="struck",
        chain={"beads": 6, "radius": 2.38e-3, "mass": 0.45e-3, "material": "steel-316"},
        striker={"speed": 1.77},
        ends={"right": "wall"},
        contact={"law": "ma-liu", "psi": 2.84, "xi": 13.0},
        **SHORT,
    )


def driven(folder):
    (folder / "shake.csv").write_text("time, displacement\n0, 0\n1e-5, 1e-7\n2e-5, 0\n1, 0\n")
    (folder / "again.csv").write_text("0, 0\n1e-5, 2e-7\n2e-5, 0\n1, 0\n")
    (folder / "start.csv").write_text("bead,velocity\n3,0.1\n")
    (folder / "other.csv").write_text("bead,velocity\n3,0.2\n")
    (folder / "driven.toml").write_text(
        '[chain]\nbeads = 6\nradius = 2.38e-3\nmaterial = "steel-316"\nprecompression = 3.0\n'
        '[initial]\nfile = "start.csv"\n[ends]\nleft = { drive = "displacement", file = '
        '"shake.csv" }\n'
        'right = { drive = "displacement", signal = "harmonic", amplitude = 1e-7, frequency = '
        "1e5, ramp = 1e-6 }\n"
        '[[drive]]\nbead = 3\ndrive = "force"\nfile = "shake.csv"\n'
        '[[drive]]\nbead = 4\ndrive = "force"\nsignal = "harmonic"\namplitude = 1.0\n'
        "frequency = 1e5\nramp = 1e-6\nramp_from = [0.5, 9e4]\n"
        '[contact]\nlaw = "tsuji"\nrestitution = 0.6\n[sensors]\nbeads = [2, 5]\ninterval = '
        "4e-7\n[time]\nend = 3e-5\n"
    )
    return gc.load_case(folder / "driven.toml")


def paired():
    riding = {"mass": 1e-4, "stiffness": 1e6, "damping": 0.5}
    two = [
        {"count": 3, "repeat": 1},
        {"count": 3, "radius": 2e-3, "material": BRASS, "resonator": riding},
    ]
    own = [{"materials": ["steel-316", BRASS], "restitution": 0.5}]
    return Case(
        title="pairs",
        chain={"radius": 2.38e-3, "material": "steel-316", "segment": two},
        striker={"speed": 1.0, "material": MATERIAL},
        ends={"right": "wall"},
        contact={"law": "tsuji", "restitution": 0.9, "pair": own},
        **SHORT,
    )


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """Each case, with another value for each of its keys."""
    folder = tmp_path_factory.mktemp("cases")
    return {
        "struck": (struck(), STRUCK),
        "driven": (driven(folder), DRIVEN),
        "paired": (paired(), PAIRED),
    }


def under(case, key, value):
    """Return the case with another value of a key, or the reason why this case is not valid."""
    try:
        changed = case.replace(**{key: value})
    except gc.errors.CaseError as error:
        return error.problems
    resolved = changed.resolved()
    return resolved | {"end": resolved["ends"] if "drive" in str(changed.ends) else ""}


def test_every_key_of_the_schema_is_changed_in_one_of_the_cases():
    changed = {part for key in (*STRUCK, *DRIVEN, *PAIRED) for part in key.split(".")} | {
        "restitution"
    }
    # signals and compliant ends have keys that exclude each other; they are sent as tables of the
    # same form
    of_signals = {"to", "band", "rms", "seed", "shape", "from", "time", "value"}
    of_signals |= {"thickness", "area", "modes"}
    keys = {name for _, model in key_tables() for name in model.model_fields}
    assert keys - of_signals <= changed | {"velocity", "displacement", "state"}


@pytest.mark.parametrize("name", ["struck", "driven", "paired"])
def test_a_case_that_was_stored_is_the_same_under_every_change(
    bases, tmp_path, name, plain_loop, figure
):
    case, others = bases[name]
    case = case.replace(**{"time.end": 3e-6})
    gc.run(case).save(tmp_path / "run.h5")
    # the ensemble also contains another chain with the same loop
    gc.run_many([case.replace(**{"chain.disorder_seed": 9}), case], out=tmp_path / "many.h5")
    expected = {
        key: under(case, key, value) for key, value in others.items() if not key.endswith(".file")
    }
    for way, there in {
        "sent as text": case_as_given(json.loads(json.dumps(case.as_given()))),
        "file of a run": gc.open(tmp_path / "run.h5").case,
        "file of an ensemble": gc.open(tmp_path / "many.h5").cases[1],
    }.items():
        assert (there == case, there.title, there.as_given()) == (True, case.title, case.as_given())
        differ = [key for key, one in expected.items() if under(there, key, others[key]) != one]
        what = f"{name}, {way}: keys of {len(others)} under which the case is another one"
        figure(what, len(differ), at_most=0)


def single(case):
    """Return the result of a run, also if the run fails."""
    try:
        return gc.run(case)
    except RunError as error:
        assert isinstance(error.result, gc.Result)
        return error.result


def valid(case, others):
    """Return the changes of one key that give a valid case."""
    found = []
    for key, value in others.items():
        try:
            case.replace(**{key: value})
        except gc.errors.CaseError:
            continue
        found.append((key, value))
    return found


def through(way, cases, measures, folder, executor=None):
    """Return the result of an evaluation by one method."""
    file = folder / f"{len(list(folder.iterdir()))}.h5"
    if way == "memory":
        return gc.evaluate(cases, measures, threads=2, progress=False)
    if way == "file":
        gc.evaluate(cases, measures, out=file, progress=False)
        return gc.open(file)
    if way != "resumed":
        return gc.evaluate(cases, measures, executor=executor, progress=False)

    def interrupt(done, count):
        if done > count // 3:
            raise KeyboardInterrupt

    with warnings.catch_warnings(action="ignore"):
        gc.evaluate(cases, measures, out=file, threads=1, progress=interrupt)
    # as the last frame of a process that was killed
    part = file.with_name(f"{file.name}.part")
    content = part.read_bytes()
    part.write_bytes(content[: len(content) - 100])
    gc.evaluate(cases, measures, out=file, resume=True, progress=False)
    return gc.open(file)


def hash_of_data(result):
    """Return the first digits of the hash of all variables as a number."""
    return {"hash_of_data": float(int(result.data_sha256[:12], 16))}


class Alone(NamedTuple):
    """A case, its single run, and the measures of a study of this case alone."""

    key: str
    case: Case
    run: gc.Result
    measured: Any


def alone(case, changes):
    """Return the case, and the case with a change of one key each."""
    found, measures = [], ["pulse", "traces", hash_of_data]
    for key, value in [("", None), *changes]:
        each = case.replace(**{key: value}) if key else case
        measured = gc.evaluate([each], measures, threads=1, progress=False).isel(run=0)
        found.append(Alone(key, each, single(each), measured))
    return found


def measures_differ(row, member):
    """Return whether the measures of a member differ from those of the case alone or of its run."""
    if row.status.item() != member.run.status.label or row.message != member.measured.message:
        return True
    if member.run.status.failed:
        return False
    force, time = member.run.sensor_force, member.run.time
    inside = {"sample": slice(time.size), "sensor": slice(force.shape[1])}
    row = row.isel({dim: rows for dim, rows in inside.items() if dim in row.dims})
    return not (
        row.sensor_force.values.tobytes() == np.ascontiguousarray(force).tobytes()
        and row.time.values.tobytes() == time.tobytes()
        and float(row.hash_of_data) == hash_of_data(member.run)["hash_of_data"]
        and all(
            np.array_equal(values, row[name].values, equal_nan=values.dtype.kind == "f")
            for name, values in ((name, array.values) for name, array in member.measured.items())
            if name != "sensor_bead"
        )
    )


def differing(way, members, folder, executor=None):
    """Return the keys for which a member of an evaluation differs from its single run."""
    cases = [member.case for member in members]
    results = through(way, cases, "result", folder, executor)
    study = through(way, cases, ["pulse", "traces", hash_of_data], folder, executor)
    return [
        member.key or "none"
        for place, (member, result) in enumerate(zip(members, results, strict=True))
        if not result.equals(member.run)
        or result.provenance["law_json"] != member.run.provenance["law_json"]
        or measures_differ(study.isel(run=place), member)
    ]


def planned_differing(case, changes, executor):
    """Return the keys for which members of a plan differ, where changes are sent to the
    executor."""
    differ = []
    for key, value in changes:
        if key.split(".")[0] in ("title", "sensors", "snapshots", "energy", "tolerance"):
            continue
        # the first member is computed in this process, the second one is sent
        plan = plan_of(case, {key: [value, value]}, "zip")
        study = gc.evaluate(plan, ["pulse", "traces"], executor=executor, progress=False)
        here, there = study.isel(run=0), study.isel(run=1)
        names = ("peak", "arrival", "time", "sensor_force", "transmitted_momentum", "status")
        if not all(
            here[name].drop_vars("run").equals(there[name].drop_vars("run")) for name in names
        ):
            differ.append(key)
    return differ


@pytest.mark.long
@pytest.mark.parametrize("name", ["driven", "struck", "paired"])
def test_a_member_equals_its_single_run_whatever_key_is_varied(
    bases, tmp_path, name, plain_loop, figure
):
    case, others = bases[name]
    case = case.replace(**{"time.end": 1.5e-6})
    changes = [(key, value) for key, value in valid(case, others) if key != "time.end"]
    members = alone(case, changes)
    for way in ("memory", "file", "resumed", "thread"):
        with ThreadPoolExecutor(1) as pool:
            differ = differing(way, members, tmp_path, pool)
        what = f"{name}, {way}: of {len(changes)} keys those whose member differs"
        figure(what, len(differ), at_most=0)


def test_a_member_of_a_plan_that_a_thread_computes_has_the_same_bits(bases, plain_loop, figure):
    case, others = bases["struck"]
    # keys of the chain whose values the striker or a wall also uses
    changes = [(key, others[key]) for key in ("chain.mass", "chain.material")]
    with ThreadPoolExecutor(1) as pool:
        differ = planned_differing(case.replace(**{"time.end": 8e-6}), changes, pool)
    figure("struck: members in a thread that differ", len(differ), at_most=0)


@pytest.mark.long
@pytest.mark.parametrize("where", ["memory", "file", "resumed", "thread", "process", "dask"])
@pytest.mark.parametrize("name", ["struck", "driven", "paired"])
def test_a_member_of_compiled_loops_equals_its_single_run_whatever_key_is_varied(
    bases, tmp_path, name, where, figure
):
    case, others = bases[name]
    changes = valid(case, others)
    pools = {"thread": ThreadPoolExecutor, "process": ProcessPoolExecutor}
    if where == "dask":
        distributed = pytest.importorskip("distributed")
        pool = distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None)
    else:
        pool = pools.get(where, ThreadPoolExecutor)(1)
    with pool:
        differ = differing(where, alone(case, changes), tmp_path, pool)
        if where in ("thread", "process", "dask"):
            differ += planned_differing(case, changes, pool)
    figure(
        f"{name}, {where}: of {len(changes)} keys those with different data", len(differ), at_most=0
    )


def test_a_case_keeps_what_its_files_held(tmp_path):
    case = driven(tmp_path)
    (tmp_path / "shake.csv").write_text("0, 0\n1e-5, 9e-7\n2e-5, 0\n1, 0\n")
    changed = case.replace(**{"ends.left_material": BRASS, "time.end": 2e-5})
    assert changed.driven("ends.left")[:2][1].max() == case.driven("ends.left")[:2][1].max() == 1e-7
    # if the file is named again, it is read again
    assert (
        changed.replace(**{"ends.left.file": "shake.csv"}).driven("ends.left")[:2][1].max() == 9e-7
    )


def test_bands_around_a_result_from_its_file_are_those_around_it_in_memory(tmp_path, monkeypatch):
    # no loop over members is compiled
    monkeypatch.setattr(batch, "COMPILED", 1000)
    keys = ["chain.beads=30", "sensors.beads=[9, 16]", "sensors.contacts=[]", "time.end=3e-4"]
    result = gc.run(gc.load_case("steel-chain", keys))
    result.save(tmp_path / "chain.h5")
    trace, bands = read_trace(TRACE), {"chain.material.youngs_modulus": 0.1, "chain.mass": 0.1}
    found = [
        gc.compare(one, trace=trace, bands=bands, members=8).results[0].sensors
        for one in (result, gc.open(tmp_path / "chain.h5"))
    ]
    in_memory, from_file = (
        [(sensor.peak_band.low, sensor.peak_band.high) for sensor in one] for one in found
    )
    assert in_memory == from_file
