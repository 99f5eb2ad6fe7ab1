"""A case that is saved loads to an equal case, and its text is that of a case file."""

import copy
import math
import pickle
import tomllib

import h5py
import numpy as np
import pytest
from support.random_cases import between, random_cases

import granchain as gc
from granchain.errors import CaseError, FileError

SIGNALS = (
    {"signal": "harmonic", "amplitude": 1e-8, "frequency": 4e3, "ramp": 1e-4, "dc": 0.0},
    {"signal": "chirp", "amplitude": 1e-8, "from": 1e3, "to": 9e3, "duration": 1e-3},
    {"signal": "noise", "rms": 1e-9, "band": [1e3, 9e3], "seed": 3, "duration": 2e-3},
    {"signal": "pulse", "amplitude": 1e-7, "duration": 5e-5, "shape": "gaussian"},
)
TITLES = ("", 'A "title" with ünïcode \\ and {braces}', "70 beads")


def drawn_drive(draw, folder):
    """Return a displacement or force of an end, as a signal, lists, or a file."""
    kind, draws = str(draw.choice(["displacement", "force"])), int(draw.integers(3))
    drive = {"drive": kind}
    if draws == 0:
        return drive | SIGNALS[int(draw.integers(len(SIGNALS)))]
    time = np.cumsum(draw.uniform(1e-6, 2e-5, 12)) - 1e-6
    time[0], value = 0.0, draw.uniform(0.0, 1e-7, 12)
    value[0] = 0.0
    if draws == 1:
        return drive | {"time": time.tolist(), "value": value.tolist()}
    name = f"drive-{draw.integers(1 << 40)}.csv"
    rows = [f"{t!r},{x!r}" for t, x in zip(time.tolist(), value.tolist(), strict=True)]
    (folder / name).write_text("\n".join(["time,value", *rows]) + "\n")
    return drive | {"file": name}


def changes_drawn(case, draw, folder):
    """Return changes of a case, each of which it may refuse."""
    beads = case.beads
    some = draw.uniform(0.9, 1.1, beads).tolist()
    material = {"youngs_modulus": 2.1e11, "poissons_ratio": 0.29, "density": 7850.0,
                "yield_stress": 1e9, "hardness": 2.8e9, "name": "own steel"}  # fmt: skip
    resonator = {"mass": 1e-4, "stiffness": between(draw, 1e4, 1e6), "damping": 0.1}
    segments = [
        {"count": beads - beads // 2, "mass": 1e-3, "drag": 3.0, "material": material},
        {"count": beads // 2, "taper": 0.99, "velocity": -0.1, "displacement": 1e-8,
         "contact": {"law": "flores", "restitution": 0.7, "impact_speed": 1.0}},
    ]  # fmt: skip
    file = f"initial-{draw.integers(1 << 40)}.csv"
    rows = [f"{i + 1},{x!r}" for i, x in enumerate(some)]
    (folder / file).write_text("\n".join(["bead,velocity", *rows]) + "\n")
    pairs = [{"materials": ["steel-316", "steel-316"]}]
    return [
        {"title": TITLES[int(draw.integers(len(TITLES)))]},
        {"chain.radius_factor": some},
        {"chain.mass_factor": some, "chain.modulus_factor": some[::-1]},
        {"chain.resonator": resonator},
        {"chain.resonator": [resonator, {**resonator, "mass": 2e-4}]},
        {"chain.drag": between(draw, 1.0, 100.0), "chain.on_site_stiffness": 1e3,
         "chain.on_site_damping": 0.2},
        {"chain.segment": segments, "chain.beads": None},
        {"chain.material": "aluminium-6061-t6"},
        {"striker": None, "initial": {"velocity": some}},
        {"striker": None, "initial": {"file": file}},
        {"ends.left": drawn_drive(draw, folder), "striker": None},
        {"ends.right": drawn_drive(draw, folder)},
        {"drive": [{**drawn_drive(draw, folder), "bead": int(draw.integers(1, beads + 1))}]},
        {"ends.right": "rigid", "ends.right_material": "aluminium-6061-t6"},
        {"ends.right": "wall", "ends.right_contact": {"law": "hertz"}},
        {"chain.gravity": 9.81, "ends.right": "wall"},
        {"ends.right": {"mass": 1e-3, "stiffness": between(draw, 1e5, 1e7), "damping": 0.5}},
        {"ends.right": {"plate": {"thickness": 0.01, "material": "aluminium-6061-t6"}}},
        {"ends.right": {"modes": [[0.1, 1e6, 2.0], [0.2, 3e6, 0.0]]}},
        {"ends.right": {"plate": {"thickness": between(draw, 1e-3, 1e-2), "material": "ptfe"}}},
        {"ends.right": {"modes": [[1e-3, 1e5, 0.1], [between(draw, 1e-3, 1e-2), 1e6, 0.0]]}},
        {"contact.pair": pairs, "contact.restitution": {"law": "ma-liu", "psi": 2.8, "xi": 13.0}},
        {"contact.pair": [{**pairs[0], "restitution": 0.6}], "chain.material": "steel-316"},
        {"sensors.contacts": "all", "sensors.beads": "1-4:2"},
        {"snapshots": {"interval": 3e-6, "history": True}},
        {"energy": {"ledger": True, "interval": 1e-6, "bound": 2e-2}},
        {"tolerance": {"striker.speed": 0.02, "chain.radius": 0.001}},
        {"time.step": between(draw, 1e-9, 1e-8)},
    ]  # fmt: skip


def drawn_cases(count, seed, folder):
    """Return cases of all laws with changes of all tables; some of the changes are refused."""
    draw, used = np.random.default_rng(seed), set()
    for case in random_cases(count, seed):
        case = gc.Case.model_validate(case.as_given()["tables"], context={"folder": folder})
        offered = changes_drawn(case, draw, folder)
        for number in draw.permutation(len(offered))[:8]:
            try:
                case = case.replace(offered[number])
            except CaseError:
                continue
            used.add(int(number))
        yield case, used


@pytest.mark.long
def test_2000_random_cases_of_every_table_are_equal_after_saving_and_loading(tmp_path):
    (tmp_path / "drives").mkdir()
    tables, used = set(), set()
    for i, (case, changes) in enumerate(drawn_cases(2000, 4711, tmp_path / "drives")):
        path = tmp_path / f"{i}.toml"
        case.save(path)
        again = gc.load_case(path)
        assert again == case and again.resolved() == case.resolved(), path.read_text()
        assert again.title == case.title and again.sha256 == case.sha256
        # without a file next to it
        assert gc.Case(**tomllib.loads(case.toml)) == case, case.toml
        # values that followed from a changed key follow from it again
        if case.chain.radius is not None:
            replaced = [one.replace({"chain.radius": 1e-3}).resolved() for one in (again, case)]
            assert replaced[0]["chain"] == replaced[1]["chain"]
        tables |= case.as_given()["tables"].keys() - {"title"}
        used = changes
    assert tables == gc.Case.model_fields.keys() and len(used) >= 20


def test_a_changed_case_has_the_text_of_the_changed_case():
    case = gc.load_case("steel-chain").replace({"chain.beads": 20, "sensors.beads": [5]})
    assert tomllib.loads(case.toml)["chain"]["beads"] == 20
    assert gc.load_case("steel-chain").toml.startswith("#")
    changed = gc.load_case("steel-chain", ["chain.beads=20", "sensors.beads=[5]"])
    assert tomllib.loads(changed.toml)["chain"]["beads"] == 20
    result = gc.run(case)
    assert result.provenance["case_toml"] == case.toml
    stored = gc.Case(**tomllib.loads(str(result.provenance["case_toml"])))
    assert stored == case
    # a number for which the fast path is used
    fast = gc.load_case("steel-chain").replace({"striker.speed": 3.0})
    assert tomllib.loads(fast.toml)["striker"]["speed"] == 3.0


def test_a_case_that_starts_from_a_state_is_saved_with_the_state(tmp_path):
    first = gc.load_case("steel-chain", ["chain.beads=12", "sensors.beads=[5]", "time.end=5e-5"])
    result = gc.run(first)
    case = first.replace(initial=result)
    case.save(tmp_path / "second.toml")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "second.initial.state", "second.toml"
    ]  # fmt: skip
    again = gc.load_case(tmp_path / "second.toml")
    assert again == case
    assert gc.run(again).data_sha256 == gc.run(case).data_sha256
    with pytest.raises(CaseError, match="it is missing"):
        gc.Case(**tomllib.loads(case.toml))
    # the hash in the case file belongs to the state
    gc.run(case).save(tmp_path / "other.h5")
    text = (tmp_path / "second.toml").read_text().replace("second.initial.state", "other.h5")
    (tmp_path / "other.toml").write_text(text)
    with pytest.raises(CaseError, match="the file has another state"):
        gc.load_case(tmp_path / "other.toml")


def test_the_case_in_a_result_file_can_be_run_again_from_its_state(tmp_path):
    first = gc.load_case("steel-chain", ["chain.beads=12", "sensors.beads=[5]", "time.end=5e-5"])
    case = first.replace(initial=gc.run(first))
    result = gc.run(case)
    result.save(tmp_path / "second.h5")
    with h5py.File(tmp_path / "second.h5") as file:
        assert "bodies" in file["initial_state"] and "bodies" in file["state"]
    stored = gc.open(tmp_path / "second.h5")
    assert stored.case == case and gc.run(stored.case).equals(result)
    stored.save(tmp_path / "third.h5")
    assert gc.run(gc.open(tmp_path / "third.h5").case).equals(result)
    # a member of an ensemble also has its state
    gc.run_many([case, first], out=tmp_path / "many.h5")
    member = gc.open(tmp_path / "many.h5")[0]
    member.save(tmp_path / "member.h5")
    assert gc.run(gc.open(tmp_path / "member.h5").case).equals(result)


@pytest.mark.parametrize("name", ["slider-crank", "scotch-yoke"])
def test_a_changed_mechanism_is_equal_after_saving_and_loading(name, tmp_path):
    case = gc.load_mechanism(name, ["crank.speed=17.5", "contact.law=johnson"])
    assert case == gc.load_mechanism(name).replace(
        {"crank.speed": 17.5}, **{"contact.law": "johnson"}
    )
    case = case.replace({case.clearance_key: 2e-4})
    case.save(tmp_path / "mine.toml")
    again = gc.load_mechanism(tmp_path / "mine.toml")
    assert again == case and hash(again) == hash(case) and again.title == case.title
    assert again.crank.speed == 17.5 and case.toml == again.replace({"time.step": None}).toml
    assert pickle.loads(pickle.dumps(case)) == case


def test_a_saved_case_replaces_no_file_and_leaves_none_behind(tmp_path):
    case = gc.load_case("steel-chain", ["ends.left=free"])
    (tmp_path / "mine.toml").write_text("mine")
    with pytest.raises(FileError, match="exists"):
        case.save(tmp_path / "mine.toml")
    assert (tmp_path / "mine.toml").read_text() == "mine"
    case.save(tmp_path / "mine.toml", overwrite=True)
    assert gc.load_case(tmp_path / "mine.toml") == case
    factors = [1.0 + 1e-9 * i for i in range(100_000)]
    large = case.replace({"chain.beads": 100_000, "chain.radius_factor": factors})
    with pytest.raises(CaseError, match="A case file may have 1000000"):
        large.save(tmp_path / "large.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_the_command_writes_the_changed_case_and_runs_it(tmp_path, monkeypatch, obeyed):
    monkeypatch.chdir(tmp_path)
    changes = ("--set", "chain.beads=12", "--set", "sensors.beads=[5]", "--set", "time.end=5e-5")
    obeyed("run", "steel-chain", *changes, "--write-case", "mine.toml", "--out", "mine.h5")
    case = gc.load_case("mine.toml")
    assert case.beads == 12 and math.isclose(case.time.end, 5e-5)
    assert gc.open("mine.h5").provenance["case_toml"] == case.toml
    err = obeyed("run", "steel-chain", "--write-case", "mine.toml", "--out", "b.h5", code=4).err
    assert "mine.toml" in err and not (tmp_path / "b.h5").exists()


def test_replace_does_not_change_its_argument():
    changes = {"contact": {"law": "hertz"}, "contact.law": "flores", "contact.restitution": 0.8}
    before = copy.deepcopy(changes)
    assert gc.load_case("steel-chain").replace(changes).contact.law == "flores"
    assert changes == before


def test_a_case_is_frozen_and_replace_takes_a_mapping_or_keywords():
    case = gc.load_case("steel-chain")
    for change in (
        lambda: setattr(case.striker, "speed", 4.0),
        lambda: setattr(case, "striker", None),
        lambda: delattr(case.striker, "speed"),
    ):
        with pytest.raises(CaseError, match=r"a case is frozen.*case\.replace"):
            change()
    assert case.replace({"striker.speed": 4.0}) == case.replace(**{"striker.speed": 4.0})
    both = case.replace({"striker.speed": 4.0}, striker={"speed": 5.0})
    assert both.striker.speed == 5.0
    with pytest.raises(CaseError, match=r"^replace: 4.0 is not a mapping"):
        case.replace(4.0)
    with pytest.raises(CaseError, match=r"^3: unknown"):
        case.replace({3: 4.0})


def test_texts_with_many_dots_are_equal_after_saving_and_loading(tmp_path):
    material = {"youngs_modulus": 2.1e11, "poissons_ratio": 0.29, "yield_stress": 1e9,
                "source": "a.b" * 80, "name": "steel" + "." * 70}  # fmt: skip
    case = gc.load_case("steel-chain").replace(
        {"title": "wait" + "." * 100, "chain.material": material}
    )
    case.save(tmp_path / "mine.toml")
    again = gc.load_case(tmp_path / "mine.toml")
    assert again == case and again.title == case.title
