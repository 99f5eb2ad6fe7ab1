"""Studies: drawn values, disorder as part of the case, first pulses of many runs, and sweeps."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats
from support.refused import assert_refused, refused
from support.short_chains import short

import granchain as gc
from granchain import analysis
from granchain.cli import obey
from granchain.contact.user import load_law_module
from granchain.errors import CaseError, FileError, GranchainError, GranchainWarning, LawError
from granchain.keys import Problems
from granchain.store.answer import open_study
from granchain.store.journal import PART_HEAD, columns_in, content_of_columns, frame
from granchain.studies import executors
from granchain.studies.evaluate import compute_here, evaluated
from granchain.studies.measures import Missing
from granchain.studies.plan import Disorder, is_distribution, table_of, values_of
from granchain.studies.sweep import estimate

pytestmark = pytest.mark.usefixtures("plain_members")


def quantiles(values):
    """Return quantiles of a distribution or of disorder."""
    inner = values.distribution if isinstance(values, Disorder) else values
    return inner.ppf([0.1, 0.5, 0.9]).tolist()


def test_a_table_gives_the_same_values_as_python():
    problems = Problems()
    tables = {
        "list": ([0.5, 1], [0.5, 1]),
        "linear": ({"linear": [0.1, 10, 3]}, [0.1, 5.05, 10.0]),
        "log": ({"log": [0.1, 10, 3]}, [0.1, 1.0, 10.0]),
        "normal": ({"normal": [1.77, 0.02]}, gc.normal(1.77, 0.02)),
        "lognormal": ({"lognormal": [1.77, 0.02]}, stats.lognorm(0.02, scale=1.77)),
        "scipy": ({"weibull_min": {"c": 2.0, "scale": 1.8}}, stats.weibull_min(2.0, scale=1.8)),
        "uniform of scipy": ({"uniform": {"loc": 1.0}}, gc.uniform(1.0, 2.0)),
        "disorder": ({"disorder": {"normal": [1.0, 0.05]}}, gc.disorder(gc.normal(1.0, 0.05))),
        "gaps": (
            {"disorder": {"uniform": [0.0, 1e-6]}, "add": True},
            gc.disorder(gc.uniform(0.0, 1e-6), add=True),
        ),
    }
    for where, (table, expected) in tables.items():
        values = values_of(where, table, problems)
        assert not problems.sentences
        if isinstance(expected, list):
            assert values == pytest.approx(expected), where
        else:
            assert type(values) is type(expected) and quantiles(values) == quantiles(expected)
        if is_distribution(expected):
            again = values_of(where, table_of(expected), problems)
            assert quantiles(again) == quantiles(expected), where


def test_all_errors_of_distributions_are_reported_together():
    problems = Problems()
    wrong = refused("drawn") | {"m": stats.norm(1.0, -1.0), "n": stats.norm([1.0, 2.0], 1.0)}
    wrong |= {"o": stats.norm, "p": stats.poisson(3.0), "q": gc.disorder(1.05)}
    wrong["r"] = gc.disorder(gc.normal(1.0, 0.1), add=1)
    assert all(values_of(where, value, problems) is None for where, value in wrong.items())
    assert {sentence[0] for sentence in problems.sentences} == set(wrong)
    assert 'Did you mean "normal"?' in problems.sentences[0]
    words = r"normal: norm\(loc=1.0, scale=0.0\) is out of range. Spreads must be above 0"
    with pytest.raises(CaseError, match=words):
        gc.normal(1.0, 0.0)


FACTORS = [1.1, 0.9, 1.0, 1.05, 0.97]


def test_disorder_changes_beads_and_gaps_and_leaves_the_striker(tmp_path):
    case = short(**{"chain.beads": 5, "sensors.beads": [3], "chain.gap": 1e-6})
    disorder = {
        "radius_factor": FACTORS,
        "mass_factor": [1, 1, 2, 1, 1],
        "modulus_factor": FACTORS[::-1],
        "gap_added": [0, -1e-6, 0, 2e-6],
    }
    disorder["disorder_seed"] = 3
    changed = case.replace({f"chain.{name}": values for name, values in disorder.items()})
    before, after = case.bodies(), changed.bodies()
    assert after["radius"] == pytest.approx(before["radius"] * [1.0, *FACTORS], rel=1e-15)
    # the mass of a sphere is proportional to the cube of its radius
    assert after["mass"] == pytest.approx(
        before["mass"] * [1.0, *np.power(FACTORS, 3) * [1, 1, 2, 1, 1]], rel=1e-14
    )
    assert after["gap"] == pytest.approx([0.0, 1e-6, 0.0, 1e-6, 3e-6], abs=1e-20)
    moduli = [
        new.youngs_modulus / old.youngs_modulus
        for new, old in zip(after["material"], before["material"], strict=True)
    ]
    assert moduli == pytest.approx([1.0, *FACTORS[::-1]], rel=1e-15)
    assert gc.Case(**changed.resolved()) == changed and changed != case
    result = gc.run(changed)
    result.save(tmp_path / "run.h5")
    assert gc.open(tmp_path / "run.h5").case == changed
    assert result.radius == pytest.approx(after["radius"], rel=0)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"contact.law": "hertz", "chain.precompression": 10.0},
        # a heavy striker: pulses that merge, and incomplete pulses
        {"striker.mass": 3e-3, "time.end": 1e-4},
        # the force jumps when a contact closes
        pytest.param(
            {"contact.law": "kelvin-voigt", "contact.stiffness": 1e7, "contact.restitution": 0.8},
            marks=pytest.mark.long,
        ),
    ],
)
def test_the_numbers_of_many_pulses_are_those_of_each_run(changes):
    cases = [short(**changes, **{"striker.speed": speed}) for speed in (0.5, 1.0, 1.77)]
    # the first case is repeated at the end, and must not affect the others
    found = evaluated(
        [*cases, cases[0]],
        ("pulse", lambda result: {"largest": result.contact_peak_force[3]}),
        threads=2,
    )
    slim = evaluated(cases, ("pulse", "traces"), threads=1)
    for i, case in enumerate([*cases, cases[0]]):
        result = gc.run(case)
        summary = analysis.summary(result)
        for name in ("peak", "arrival", "width"):
            expected = [getattr(sensor, name) for sensor in summary.sensors]
            assert np.array_equal(found[name][i], expected, equal_nan=True), name
        assert np.array_equal(found["wave_speed"][i], summary.wave_speed, equal_nan=True)
        merged = found["missing"][i] & Missing.MERGED > 0
        assert merged.tolist() == [sensor.merged for sensor in summary.sensors]
        counted = len(summary.wave_speed_beads) if np.isfinite(summary.wave_speed) else 0
        assert found["wave_speed_sensors"][i] == counted
        assert found.rows("numbers")[i] == {"largest": result.contact_peak_force[3]}
        assert found["time_step"][i] == result.time_step
        if i < len(cases):
            assert np.array_equal(slim["peak"][i], found["peak"][i])
            time, force = slim.traces[i]
            assert np.array_equal(force, result.sensor_force)
            assert np.array_equal(time, result.time)


def random_law(draw):
    """Return Hertz's law or Ma and Liu's law, as changes of the short case."""
    law = str(draw.choice(["hertz", "ma-liu"]))
    own = {"contact.psi": None, "contact.xi": None} if law == "hertz" else {}
    return {"contact.law": law} | own


def random_member(draw):
    """Return a short row with pulses that have not arrived, are cut, merge, or meet a wall at the
    far end."""
    keys = random_law(draw) | {"striker.speed": float(10.0 ** draw.uniform(-1.0, 1.0))}
    keys["striker.mass"] = float(draw.uniform(0.2, 4.0)) * 0.45e-3
    keys["ends.right"] = str(draw.choice(["free", "wall"]))
    return short(**keys, **{"time.end": float(10.0 ** draw.uniform(-5.3, -3.5))})


@pytest.mark.long
def test_rounding_ahead_of_the_wave_of_a_loaded_row_is_no_pulse(figure):
    draw = np.random.default_rng(0)
    cases = []
    for _ in range(120):
        law = random_law(draw)
        changes = {
            "chain.beads": 40,
            "sensors.beads": [3, 10, 20, 30, 38],
            "chain.radius_factor": draw.normal(1.0, 0.1, 40).tolist(),
            "chain.precompression": float(10.0 ** draw.uniform(0.0, 2.0)),
            "time.end": float(draw.choice([1e-5, 3e-5, 6e-5])),
        }
        cases.append(short(**law, **changes))
    found = evaluated(cases, ("pulse", "traces"), threads=1)
    rise = found["peak"] - np.array([force[0] for _, force in found.traces])
    # forces that have changed
    moved = np.array([(force != force[0]).any(axis=0) for _, force in found.traces])
    assert moved.sum() > 120 and np.isfinite(rise).any()
    wrong = int(np.sum(np.isfinite(rise) & (rise < 1e-6)))
    figure("pulses of a loaded row that are rounding", wrong, at_most=0)


@pytest.mark.parametrize("count", [40, pytest.param(500, marks=pytest.mark.long)])
def test_no_number_is_given_of_a_pulse_that_has_none(figure, count):
    draw = np.random.default_rng(26)
    cases = [random_member(draw) for _ in range(count)]
    found = evaluated(cases, ("pulse", "traces"), threads=1)
    missing = found["missing"]
    none = given = withheld = 0
    for i, case in enumerate(cases):
        for k in range(len(found.sensor_bead)):
            force = found.traces[i][1][:, k]
            begun = np.flatnonzero((force >= 0.01 * force.max()) & (force > 0.0))
            after = force[begun[0] :] if len(begun) else force[:0]
            ended = bool((after < 0.5 * np.maximum.accumulate(after)).any())
            numbers = [found[name][i, k] for name in ("peak", "arrival", "width")]
            none += np.isfinite(numbers).any() and not ended
            none += bool(missing[i, k] & 3) == ended
            given += np.isfinite(numbers).any()
            withheld += not ended
        transmitted = found["transmitted_momentum"][i], found["transmitted_energy"][i]
        none += case.ends.right == "wall" and np.isfinite(transmitted).any()
        none += ((missing[i] & Missing.WALL) > 0).any() != (case.ends.right == "wall")
    assert given > count and withheld > count // 2
    figure("numbers of pulses that have none, in random members", none, at_most=0)


def same(study, place, case, **select):
    """Return whether a point of a study contains the numbers of the single run of its case."""
    result = gc.run(case)
    summary = analysis.summary(result)
    point = study.isel(place).sel(select)
    for name in ("peak", "arrival", "width"):
        assert np.array_equal(
            point[name], [getattr(sensor, name) for sensor in summary.sensors], equal_nan=True
        ), name
    assert point.wave_speed == summary.wave_speed and point.time_step == result.time_step
    return True


def test_a_product_holds_every_combination_and_its_draws():
    case = short()
    before = case.resolved()
    vary = {
        "contact.law": ["ma-liu", "hertz"],
        "striker.speed": [0.5, 1.0],
        "chain.mass": gc.disorder(gc.uniform(0.9, 1.1)),
    }
    with pytest.raises(
        CaseError, match=r"contact.gamma: unknown key.* 12 of 12 members have this error"
    ):
        gc.sweep(case, vary | {"contact.gamma": gc.normal(2.84, 0.05)}, n=3, seed=4)
    study = gc.sweep(case, vary, n=3, seed=4)
    assert case.resolved() == before
    assert dict(study.sizes) == {"contact.law": 2, "striker.speed": 2, "draw": 3, "sensor_bead": 3}
    assert (study.status == "complete").all() and (study.message == "").all()
    # NumPy's own generator, with the seed, the index of the key and the draw: one number for every
    # bead
    factors = (0.9 + (1.1 - 0.9) * np.random.default_rng([4, 2, 2]).random(12)).tolist()
    at = {"contact.law": "hertz", "striker.speed": 0.5}
    own = case.replace(**at, **{"chain.mass_factor": factors, "chain.disorder_seed": 4})
    assert same(study, {"draw": 2}, own, **at)
    assert study.peak.attrs == {"units": "N", "long_name": "peak force of the first pulse"}
    assert study["striker.speed"].attrs["units"] == "m/s"
    assert study.attrs["title"] == case.title
    of = {"seed": 4, "n": 3, "how": "product", "granchain_version": gc.__version__}
    assert study.attrs.items() >= (of | {"case_sha256": case.sha256}).items()
    frame = study.to_dataframe()
    assert frame.loc[("hertz", 0.5, 2, 6), "peak"] == study.peak.sel(at | {"sensor_bead": 6})[2]


def test_a_zip_goes_side_by_side_and_sobol_fills_the_box():
    case = short()
    # the second law requires an input that the first does not have
    dented = {"contact.law": "ma-liu", "contact.psi": 2.5}
    vary = {"contact.law": ["hertz", "ma-liu"], "contact.psi": [None, 2.5]}
    study = gc.sweep(case, {"striker.speed": [0.5, 1.0]} | vary, how="zip")
    assert dict(study.sizes) == {"run": 2, "sensor_bead": 3}
    assert same(study, {"run": 0}, case.replace(**{"striker.speed": 0.5, "contact.law": "hertz"}))
    assert same(study, {"run": 1}, case.replace(**dented, **{"striker.speed": 1.0}))
    assert study["contact.law"].values.tolist() == ["hertz", "ma-liu"]
    assert np.array_equal(study["contact.psi"], [np.nan, 2.5], equal_nan=True)
    low = {"striker.speed": 0.5, "contact.psi": 2.5}
    drawn = {key: gc.uniform(least, least + 0.5) for key, least in low.items()}
    box = gc.sweep(case, drawn, how="sobol", n=8, seed=1)
    # in a scrambled Sobol sequence, every eighth of each axis contains one of the first eight
    # points
    for key, least in low.items():
        assert sorted(np.floor((box[key].values - least) * 16)) == list(range(8))
    assert same(box, {"run": 5}, case.replace(**{key: float(box[key][5]) for key in low}))


DISORDER = gc.disorder(gc.normal(1.0, 0.1))
WRONG = [
    ({"striker.sped": [1.0]}, {}, 'Did you mean "speed"'),
    ({"striker.speed": gc.normal(0.1, 0.1)}, {"n": 64},
     r"striker.speed: -.* \d+ of 64 members have this error"),
    ({}, {"how": "grid", "seed": -1},
     r'how: "grid" is unknown.*\n.*seed: -1 is out of range.*\n.*vary: missing'),
    ({"striker.speed": [1.0]}, {"how": "sobol"}, "a list is not valid with sobol"),
    ({"striker.speed": [1.0, 2.0], "contact.psi": [2.8]}, {"how": "zip"},
     "lists must have the same length"),
    ({"striker.speed": [1.0, 1.0]}, {}, "List each value once"),
    ({"contact": [{"law": "hertz"}, {"law": "hertz"}]}, {}, "List each value once"),
    ({"contact.psi": [2.0, {1, 2}]}, {}, "contact.psi: {1, 2} is not valid"),
    ({"striker.speed": [1.0]}, {"n": 3}, "n: 3 draws are not valid"),
    ({"striker.speed": {"linear": [1, 2, 1000]}, "contact.psi": {"linear": [2, 3, 1000]}}, {},
     "GiB"),
    ({"striker.speed": {"linear": [1.0, 2.0, 100]}, "sensors.interval": [1e-10]}, {"traces": True},
     r"numbers of .* members need .* Leave out traces"),
    ({"chain.gap": DISORDER}, {}, "with add = true only for chain.gap"),
    ({"sensors.beads": [[1], [2]]}, {}, "sensors.beads: this key cannot be varied"),
]  # fmt: skip


def test_what_cannot_be_swept_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr("granchain.studies.evaluate.compute_here", lambda *_: pytest.fail("ran"))
    assert_refused(lambda vary, options: gc.sweep(short(), vary, **options), WRONG)


def test_a_member_that_fails_is_marked_and_the_others_stay():
    # a bead so soft that the striker moves on: in .2 ms by 8 mm, more than three radii; a study
    # records none of the contacts that the case records
    study = gc.sweep(
        short(**{"contact.law": "hertz", "striker.speed": 40.0, "sensors.contacts": [0, 3]}),
        {"chain.material.youngs_modulus": [193e9, 1e4]},
    )
    assert study.status.values.tolist() == ["complete", "overlap beyond the radius"]
    first, second = study.message.values
    assert first == "" and "overlap by more than the smaller radius" in second
    assert np.isfinite(study.peak[0]).all()
    assert np.isnan(study.peak[1]).all() and np.isnan(study.time_step[1])


def test_a_summary_adds_variables_and_is_tried_first():
    case = short()
    study = gc.sweep(
        case,
        {"striker.speed": [0.5, 1.0]},
        summary=lambda result: {"last": result.final_velocity[-1], "beads": len(result.bead)},
    )
    for speed in (0.5, 1.0):
        result = gc.run(case.replace(**{"striker.speed": speed}))
        assert study["last"].sel({"striker.speed": speed}) == result.final_velocity[-1]
    assert study.beads.values.tolist() == [13.0, 13.0]
    seen = []

    def broken(result):
        seen.append(result)
        return {"peak": result.nothing}

    for summary, sentence in (
        (broken, "AttributeError"),
        (lambda _: 3.0, "It must return a dict of numbers"),
        (lambda _: {"x": "y"}, "x: str is not a number"),
    ):
        with pytest.raises(CaseError, match=sentence):
            gc.sweep(case, {"striker.speed": [0.5, 1.0]}, summary=summary)
    assert len(seen) == 1
    with pytest.raises(CaseError, match="the study already uses the name peak"):
        gc.sweep(case, {"striker.speed": [0.5]}, summary=lambda _: {"peak": 1.0})


@pytest.fixture
def counted(monkeypatch):
    """Counts the members that are computed from now on."""
    count = []

    def counting(cases, places, *more):
        count.extend(places)
        compute_here(cases, places, *more)

    monkeypatch.setattr("granchain.studies.evaluate.compute_here", counting)
    return count


def test_measures_of_transport_are_those_of_each_run(tmp_path):
    import xarray

    case = short(**{"snapshots": {"interval": 2e-5, "history": True}, "time.end": 1e-4})
    file, names = tmp_path / "spread.h5", ["participation", "second_moment", "bead_spectrum"]
    vary = {"chain.radius": gc.disorder(gc.normal(1.0, 0.05))}
    study = gc.sweep(case, vary, n=2, measures=names, out=file)
    with xarray.open_dataset(file, engine="h5netcdf") as stored:
        assert stored.identical(study)
    options = {"measures": names[::-1], "out": file, "resume": True}
    again = gc.sweep(case, vary, n=2, progress=lambda *_: pytest.fail("computed"), **options)
    assert again.equals(study)
    for run, member in enumerate(gc.plan(case, vary, n=2)):
        result = gc.run(member)
        n = len(result.snapshot_time)
        assert np.array_equal(study.snapshot_time[run, :n], result.snapshot_time)
        moment = analysis.second_moment(result)
        assert np.array_equal(study.second_moment[run, :n], moment, equal_nan=True)
        assert np.isnan(study.second_moment[run, n:]).all()
        spectrum = analysis.bead_spectrum(result, 6)
        found = study.bead_spectrum.sel(sensor_bead=6)[run, : len(spectrum.density)]
        assert np.array_equal(found, spectrum.density)
    with pytest.raises(CaseError, match=r'"spread" is unknown.* one of pulse, traces, bead_energy'):
        gc.sweep(case, vary, n=2, measures=["spread"])
    with pytest.raises(CaseError, match="second_moment: the result has no snapshot_time"):
        gc.sweep(case.replace(snapshots=None), vary, n=2, measures="second_moment")


def test_a_study_goes_to_a_file_that_xarray_opens_and_nothing_is_computed_twice(tmp_path, counted):
    import xarray

    case, file = short(), tmp_path / "study.h5"
    vary = {"striker.speed": [0.5, 1.0], "contact.psi": gc.normal(2.84, 0.05)}
    kept = {"n": 2, "out": file, "traces": True, "resume": True}
    study = gc.sweep(case, vary, n=2, out=file, traces=True)
    assert len(counted) == 4 and not (tmp_path / "study.h5.part").exists()
    with xarray.open_dataset(file, engine="h5netcdf") as stored:
        assert stored.identical(study)
    with pytest.raises(FileError, match="the file already exists and was not changed"):
        gc.sweep(case, vary, n=2, out=file)
    counted.clear()
    assert gc.sweep(case, vary, **kept).identical(study) and not counted
    more = gc.sweep(case, vary | {"striker.speed": [0.75, 1.0]}, **kept)
    assert len(counted) == 2
    ours, its = (one.sel({"striker.speed": 1.0}) for one in (study, more))
    assert its.peak.equals(ours.peak)
    assert np.array_equal(its.sensor_force[0, :700], ours.sensor_force[0, :700])
    # with another measure or version, no stored result is reused
    counted.clear()
    study = gc.sweep(case, vary, n=2, out=file, resume=True)
    assert len(counted) == 4 and open_study(file).identical(study)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(FileError, match="damaged or changed"):
        open_study(file)
    with pytest.raises(FileError, match="damaged or changed"):
        gc.sweep(case, vary, n=2, out=file, resume=True)


def test_what_an_interrupted_study_has_left_is_gone_on_with(tmp_path, counted, monkeypatch):
    case, file, part = short(), tmp_path / "study.h5", tmp_path / "study.h5.part"
    vary = {"striker.speed": {"linear": [0.5, 1.2, 8]}}
    whole = gc.sweep(case, vary)
    monkeypatch.setattr("granchain.studies.measures.TOGETHER", 2)

    def once(done, count):
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.warns(
        GranchainWarning,
        match=r"interrupted: [4-6] of 8 members are computed. They are in .*study.h5.part",
    ):
        study = gc.sweep(case, vary, out=file, threads=1, progress=once)
    done = int((study.status == "complete").sum())
    assert (study.status == "interrupted").sum() == 8 - done
    assert study[{"striker.speed": slice(done)}].peak.equals(whole.peak[:done])
    assert np.isnan(study.peak[done:]).all()
    content = part.read_bytes()
    assert content.count(b'"point"') > 1 and not file.exists()
    with pytest.raises(FileError, match="an unfinished study exists"):
        gc.sweep(case, vary, out=file)
    # the frame of the last members is cut off
    part.write_bytes(content[:-10])
    counted.clear()
    study = gc.sweep(case, vary, out=file, resume=True)
    assert 8 - done < len(counted) < 8
    assert study.drop_vars("point").identical(whole) and not part.exists()


def test_a_forged_unfinished_study_is_refused(tmp_path):
    case, file, part = short(), tmp_path / "study.h5", tmp_path / "study.h5.part"
    vary = {"striker.speed": [1.0, 2.0]}
    gc.sweep(case, vary, out=tmp_path / "whole.h5", progress=False)
    names = gc.open(tmp_path / "whole.h5")["point"].values.tolist()
    good = {"point": ["0" * 64], "time_step": np.zeros(1), "status": ["complete"]}
    forgeries = [
        b"not a frame",
        b"0000000000000005\nabcde\n" + 64 * b"0" + b"\n",
        *(
            b"".join(frame(content_of_columns(columns)))
            for columns in ({}, {"point": [[]]}, {"asked": ["x"]})
        ),
        b"".join(frame([b"{}\n"])),
        b"".join(frame([b"[1, 2]\n"])),
        b"".join(frame([b'{"arrays": [["point", "<f8", 0, [1000000000000]]]}\n'])),
        b"".join(frame([b'{"arrays": [["point", "object", 0, [1]]]}\n'])),
        b"".join(frame([b"\xff\n"])),
        b"".join(frame(content_of_columns(good | {"point": [None]}))),
        b"".join(frame([("[" * 100_000).encode() + b"\n"])),
        # the names of these members, without their numbers
        *(
            b"".join(frame(content_of_columns({"point": names, "status": ["complete"] * 2} | more)))
            for more in ({}, {"message": [""] * 2, "law": [""] * 2})
        ),
    ]
    for attack, forged in enumerate(forgeries):
        part.write_bytes(PART_HEAD + forged)
        try:
            gc.sweep(case, vary, out=file, resume=True, progress=False)
        except (FileError, LawError) as error:
            # the file has no record of the law of these members
            where = file if attack == 13 else part
            assert str(error).startswith(f"{where}: ") and "overwrite" in str(error), attack
        else:
            # an incomplete frame ends a journal, and members of other cases are ignored
            assert gc.open(file).equals(gc.open(tmp_path / "whole.h5")), attack
            file.unlink()


SWEEP = """
case = "short.toml"
n = 2
seed = 3

[vary]
striker.speed = { log = [0.5, 2.0, 3] }
"chain.material.youngs_modulus" = { normal = [193e9, 1e9] }
"""
FEW = """
case = "short.toml"
how = "sobol"
n = 2
vary."striker.speed" = { normal = [1.77, 0.02] }
"""


@pytest.fixture
def described(here):
    (here / "short.toml").write_text(gc.load_case("steel-chain-hertz").toml)
    (here / "speeds.toml").write_text(SWEEP)
    return here


@pytest.mark.usefixtures("blank_pictures")
def test_the_command_says_what_a_study_takes_and_runs_it(described, obeyed):
    asked = json.loads(obeyed("sweep", "speeds.toml", "--dry-run", "--json").out)
    assert asked["members"] == 6 and asked["dimensions"] == {"striker.speed": 3, "draw": 2}
    assert 0.0 < asked["seconds"] < 60.0 and not (described / "speeds.h5").exists()
    told = json.loads(obeyed("sweep", "speeds.toml", "--json", "--threads", "1").out)
    study = gc.open("speeds.h5")
    assert told["file"] == "speeds.h5" and told["peak"] == study.peak.values.tolist()
    assert told["status"] == [["complete"] * 2] * 3 and told["striker.speed"] == [0.5, 1.0, 2.0]
    size = (described / "speeds.h5").stat().st_size
    assert size <= asked["file_size"]
    assert obey(["plot", "speeds.h5", "--out", "figures"]) == 0
    names = sorted(path.name for path in (described / "figures").iterdir())
    assert "speeds-peaks.png" in names and "speeds-wave-speed-over-striker-speed.png" in names
    assert obey(["sweep", "speeds.toml", "--resume", "--overwrite"]) == 2
    (described / "wrong.toml").write_text('case = "short.toml"\nhov = "zip"\n')
    assert 'Did you mean "how"?' in obeyed("sweep", "wrong.toml", code=2).err
    (described / "few.toml").write_text(FEW)
    assert obey(["sweep", "few.toml"]) == 0
    assert (
        "no figure figure. A distribution requires 16 runs"
        in obeyed("plot", "few.h5", "--out", "figures", "--only", "peaks").err
    )


def final_speed(result):
    return {"final speed": result.final_velocity[-1]}


def test_an_executor_computes_what_this_process_does(tmp_path, monkeypatch):
    # tasks with so many members that there are several
    monkeypatch.setattr(executors, "TASK_SECONDS", 1e-9)
    vary = {"striker.speed": [0.5, 0.7, 0.9], "chain.radius": gc.disorder(gc.normal(1.0, 0.02))}
    with ThreadPoolExecutor(1) as pool:
        study = gc.sweep(short(), vary, executor=pool, traces=True, out=tmp_path / "study.h5")
        assert study.drop_vars("point").identical(gc.sweep(short(), vary, traces=True))
        with_numbers = gc.sweep(short(), vary, executor=pool, summary=final_speed)
        assert with_numbers.identical(gc.sweep(short(), vary, summary=final_speed))
        with pytest.raises(CaseError, match="the function cannot be sent to an executor"):
            gc.sweep(short(), vary, executor=pool, summary=lambda _: {})


@pytest.mark.long
def test_a_worker_refuses_another_granchain_and_another_law_file(tmp_path, monkeypatch):
    sent, cases = [], []

    class Recording:
        def submit(self, function, sender, members, measures):
            assert measures.functions == ()
            sent.append(sender)
            cases.append((members, measures))
            raise KeyboardInterrupt

    # a different module name than in other tests of this process
    file = tmp_path / "law_of_a_worker.py"
    text = (gc.case.document.CASES.parents[1] / "docs" / "examples" / "my_law.py").read_text()
    file.write_text(
        text.replace('name = "latching-spring"', 'name = "latching-spring-of-a-worker"')
    )
    (law,) = load_law_module(file).values()
    case = short(**{"contact.law": "hertz"})
    required = {f"contact.{q.name}": 0.8 for q in law.inputs if q.required}
    for base in (case, case.replace(**{"contact.law": law.name} | required)):
        with pytest.raises(KeyboardInterrupt):
            evaluated(
                gc.plan(base, {"striker.speed": [1.0, 1.5]}),
                executor=Recording(),
                interruptible=False,
            )
    assert sent[0]["laws"] == [] and [one["path"] for one in sent[1]["laws"]] == [str(file)]

    def status_of(task, members):
        (block,) = executors.compute(task, *members)
        return columns_in(block)["status"]

    assert status_of(sent[0], cases[0]) == ["complete"]
    with pytest.raises(
        GranchainError, match=r"worker: this worker has granchain .* started with 0\.1"
    ):
        executors.compute(sent[0] | {"version": "0.1"}, *cases[0])
    file.write_text(file.read_text() + "\n# edited\n")
    # a process that has loaded the law of the study uses it again; another process reads the file
    sent_on = sent[1] | {"process": 0}
    assert status_of(sent[1], cases[1]) == status_of(sent_on, cases[1]) == ["complete"]
    assert gc.laws()[law.name] is law
    monkeypatch.delitem(sys.modules, law.__module__)
    assert status_of(sent[1], cases[1]) == ["complete"]
    with pytest.raises(GranchainError, match="differs from the law file of the study"):
        executors.compute(sent_on, *cases[1])
    with pytest.raises(GranchainError, match="worker: cannot read the law file"):
        executors.load_same(str(tmp_path / "none.py"), "")


@pytest.mark.long
def test_the_least_transmission_of_a_dimer_moves_towards_its_limit_along_the_chain():
    # solitary waves pass without loss at the mass ratios .3428 (Jayaprakash, Starosvetsky & Vakakis
    # 2011, doi:10.1103/PhysRevE.83.036606) and 1, and the lowest transmission lies between them: at
    # bead 50 near the middle, .53 to .62, and closer to the first ratio for a young pulse
    ratio = np.linspace(0.38, 0.66, 15)
    case = gc.load_case("dimer-chain").replace(**{"time.step": "fast", "time.end": 8e-4})
    study = gc.sweep(case, {"chain.segment.0.mass": 0.45e-3 * ratio})
    least = ratio[study.peak.argmin("chain.segment.0.mass").values]
    assert 0.53 <= least[-1] <= 0.62
    assert (np.diff(least) >= 0.0).all() and least[0] < 0.45


def test_what_is_transmitted_is_what_the_velocities_say():
    steps = {"snapshots.interval": 2e-8, "time.step": 2e-8}
    case = short(**steps, **{"striker.mass": 0.3e-3, "sensors.contacts": [11]})
    found, result = evaluated([case]), gc.run(case.replace(**{"sensors.interval": 2e-8}))
    contact = np.asarray(result.contact_force)[:, 0]
    stop = int(analysis.first_pulse(result.time, contact).end[0])
    speeds = np.asarray(result.velocity)[[stop - 11, stop + 10], -1] / 1.77
    # samples are 2e-7 s apart, so that the end of the pulse is known within ten steps
    low, high = sorted(speeds * 0.45 / 0.3)
    assert low - 1e-5 <= found["transmitted_momentum"][0] <= high + 1e-5
    expected = np.array([low, high]) ** 2 * 0.3 / 0.45
    assert min(expected) - 1e-5 <= found["transmitted_energy"][0] <= max(expected) + 1e-5


def test_whether_beads_move_at_the_start_decides_for_each_member_what_is_transmitted():
    case = short()
    motions = [[0.1] + [0.0] * (case.beads - 1), [0.0] * case.beads]
    found = evaluated([case.replace(**{"initial.velocity": motion}) for motion in motions])
    transmitted = found["transmitted_momentum"]
    assert np.isfinite(transmitted).tolist() == [False, True]
    assert transmitted[1] == evaluated([case])["transmitted_momentum"][0]


SIZED = {
    # the record of a law contains its coefficients: one for each member
    "laws": ({}, {"contact.psi": np.linspace(2.5, 3.0, 12).tolist()}, {}),
    "few members": ({}, {"striker.speed": [1.0, 2.0]}, {}),
    # the later end is that of the second member
    "traces": ({}, {"time.end": [2e-5, 4e-5, 6e-5], "striker.speed": [1.0, 1.5]}, {"traces": True}),
    # between one and two steps: every step is sampled
    "dense traces": ({"sensors.interval": 6e-8}, {"striker.speed": [1.0, 1.1]}, {"traces": True}),
    "energies": (
        {"snapshots": {"interval": 5e-7, "history": True}, "sensors.interval": 1e-7},
        {"time.end": [4e-5, 6e-5]},
        {"measures": ("bead_energy", "contact_energy", "second_moment", "bead_spectrum")}),
    "disorder": ({}, {"chain.radius": gc.disorder(gc.normal(1.0, 0.01))}, {"n": 30}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::granchain.errors.GranchainWarning")
def test_a_study_takes_no_more_than_its_estimate(tmp_path):
    short = gc.load_case("steel-chain", ["chain.beads=8", "sensors.beads=[2, 5]", "time.end=4e-5"])
    for name, (changes, vary, more) in SIZED.items():
        case, file = short.replace(changes), tmp_path / f"{name}.h5"
        plan = gc.plan(case, vary, "product", more.get("n", 1), 0)
        measures = ("pulse", *more.get("measures", ()), *(["traces"] if more.get("traces") else []))
        asked = estimate(plan, measures, 1)["file_size"]
        gc.sweep(case, vary, **more, out=file, threads=1, progress=False)
        size = file.stat().st_size
        assert size <= asked < 3.0 * size + 1e5, name
