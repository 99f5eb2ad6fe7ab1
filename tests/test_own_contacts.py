"""Contact laws of single segments and walls: runs, results, and valid cases."""

import numpy as np
import pytest
from support.processes import python
from support.refused import assert_refused

import granchain as gc
from granchain.case import Case
from granchain.case.document import about_key, value_at
from granchain.engine import setup
from granchain.engine.mixture import mixed_model, run_ends
from granchain.errors import CaseError
from granchain.measured.equivalent import checked_search
from granchain.measured.fit import free_quantities
from granchain.simulation import prepare

HERTZ = {"law": "hertz"}
TSUJI = {"law": "tsuji", "restitution": 0.6}
MALIU = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
# a law with a jump at the onset; a law with jumps and kinks at given overlaps; a law that forgets
# dents
KELVIN = {"law": "kelvin-voigt", "stiffness": 5e6, "restitution": 0.7}
KOGUT = {"law": "kogut-etsion"}
HARD = {"youngs_modulus": 193e9, "poissons_ratio": 0.3, "density": 7968.8, "yield_stress": 310e6,
        "hardness": 868e6}  # fmt: skip
FORGETS = {**MALIU, "dents": "forget"}


@pytest.fixture(autouse=True)
def plain_scans(monkeypatch):
    """Compiles none of the scans, because there are few contacts."""
    monkeypatch.setattr(setup, "PLAIN_SECONDS", 60.0)


def made(inner, base=HERTZ, **tables):
    """Return a case with a striker and two segments of five beads, where the second has another
    law."""
    own = {} if inner is None else {"contact": inner}
    segments = [{"count": 5}, {"count": 5, **own}]
    made_of = {"chain": {"radius": 2.38e-3, "material": HARD, "segment": segments}}
    made_of |= {"striker": {"speed": 1.0}, "ends": {"right": "wall"}, "contact": base}
    made_of["sensors"] = {"beads": [3, 8], "contacts": [2, 7, 10], "interval": 2e-7}
    return Case(**made_of | {"time": {"end": 6e-5, "step": 2e-7}} | tables)


def at_wall(law, **more):
    return {"ends": {"right": "wall", "right_contact": law}, **more}


@pytest.mark.plain
@pytest.mark.usefixtures("plain_loop")
@pytest.mark.parametrize("law", [TSUJI, MALIU], ids=lambda law: law["law"])
def test_the_same_law_once_more_gives_the_bits_of_one_law(law):
    one = gc.run(made(None, law))
    own = gc.run(made(law, law, ends={"right": "wall", "right_contact": law}))
    assert own.law == law["law"] and "contact_law" not in own.variables
    for name, variable in one.variables.items():
        assert np.array_equal(variable.data, own.variables[name].data), name


@pytest.mark.plain
@pytest.mark.usefixtures("plain_loop")
def test_runs_of_one_law_give_the_bits_of_contacts_that_are_asked_one_by_one(monkeypatch):
    chain = {"radius": 2.38e-3, "material": HARD, "precompression": 5.0,
             "segment": [{"count": 12}, {"count": 14, "contact": TSUJI}]}  # fmt: skip
    case = made(
        TSUJI, MALIU, chain=chain, striker=None,
        ends={"left": "wall", "right": "wall", "right_contact": TSUJI},
        initial={"velocity": np.random.default_rng(4).normal(0.0, 1.0, 26).tolist()},
        time={"end": 1e-5, "step": 2e-7},
    )  # fmt: skip
    # vectors of one law, of both laws, and of the other law, where the last contacts are padding
    which = prepare(case)[1].c[0]
    ends = run_ends(np.append(which, np.ones(5)))
    assert ends.reshape(-1, 8)[:, 0].tolist() == [8.0, -16.0, 32.0, 32.0]
    assert (ends.reshape(-1, 8) == ends[::8, None]).all()
    by_run = gc.run(case)
    monkeypatch.setattr("granchain.engine.state.run_ends", lambda which: -0.0 * which - which.size)
    one_by_one = gc.run(case)
    assert by_run.contact_viscous[20] > 0.0 and by_run.contact_plastic[:4].max() > 0.0
    for name, variable in by_run.variables.items():
        assert np.array_equal(variable.data, one_by_one.variables[name].data, equal_nan=True), name


@pytest.mark.plain
@pytest.mark.usefixtures("plain_loop")
@pytest.mark.parametrize(
    ("base", "inner", "wall"),
    [
        (HERTZ, TSUJI, MALIU),
        (MALIU, KELVIN, HERTZ),
        (TSUJI, KOGUT, FORGETS),
        (FORGETS, MALIU, {**MALIU, "psi": 2.0}),
    ],
)
def test_order_two_and_a_ledger_that_closes_with_several_laws(base, inner, wall):
    segments = [{"count": 2}, {"count": 3, "contact": inner}]
    chain = {"radius": 2.38e-3, "material": HARD, "segment": segments}
    tables = at_wall(wall, chain=chain, sensors={}, energy={"interval": 1e-6})
    case = made(inner, base, **tables)
    speeds, residuals = [], []
    for steps in (100, 200, 400):
        result = gc.run(case.replace(**{"time.step": 6e-5 / steps}))
        speeds.append(result.final_velocity)
        residuals.append(abs(result.energy_residual).max() / result.energy_kinetic[0])
    coarse, fine = abs(speeds[0] - speeds[1]).max(), abs(speeds[1] - speeds[2]).max()
    assert 2.5 < coarse / fine < 6.0
    assert residuals[2] < 1e-4 and residuals[0] > 2.5 * residuals[1]


@pytest.mark.plain
@pytest.mark.usefixtures("plain_loop")
def test_a_result_says_which_contact_has_which_law(tmp_path):
    times = {"time": {"end": 1.6e-5, "step": 2e-7}, "energy": {"interval": 1e-6}}
    case = made(MALIU, ends={"right": "wall", "right_contact": TSUJI}, **times)
    result = gc.run(case)
    assert result.law == "hertz, ma-liu, tsuji"
    # contacts 0 to 5 are from striker to bead 6, 6 to 9 within the second segment, and 10 at the
    # wall
    assert result.contact_law.tolist() == [0] * 6 + [1] * 4 + [2]
    for name in ("elastic_limit", "unloading_stiffness"):
        values = getattr(result, name)
        assert np.isnan(values[[*range(6), 10]]).all() and np.isfinite(values[6:10]).all()
    # a contact that has not yielded is elastic or open
    assert set(result.phase[[*range(6), 10]].tolist()) <= {0, 1}
    assert result.contact_plastic[:6].tolist() == [0.0] * 6
    assert any("impact_speed" not in message.text for message in result.messages)
    result.save(tmp_path / "run.h5")
    stored = gc.open(tmp_path / "run.h5")
    assert stored.equals(result)
    about = stored.to_xarray()["contact_law"].attrs
    assert about["flag_meanings"] == "hertz ma-liu tsuji"
    assert about["flag_values"].tolist() == [0, 1, 2]
    other = case.replace(**{"ends.right_contact": HERTZ})
    gc.run_many([case, other], threads=1, out=tmp_path / "many.h5")
    together = gc.open(tmp_path / "many.h5")
    assert together[0].equals(result) and together[1].equals(gc.run(other))
    whole = gc.run(case.replace(**{"time.end": 3.2e-5}))
    going = gc.run(case.replace(initial=stored))
    assert np.array_equal(going.final_velocity, whole.final_velocity)
    with pytest.raises(CaseError, match="the state belongs to a different law"):
        case.replace(**{"initial": stored, "ends.right_contact.restitution": 0.7})


@pytest.mark.plain
def test_laws_of_their_own_are_part_of_the_case():
    case = made(TSUJI)
    assert case != made(None) and Case(**case.resolved()) == case
    assert case.laws == [("hertz", False), ("tsuji", False)]
    other = case.replace(**{"chain.segment.1.contact.restitution": 0.7})
    (there, law, inputs) = other.own_contacts()[0]
    assert (law, inputs.restitution) == ("tsuji", 0.7)
    assert np.flatnonzero(there).tolist() == [7, 8, 9, 10]
    segments = [{"count": 2, "contact": TSUJI}, {"count": 1, "repeat": 3}]
    chain = {"radius": 2.38e-3, "material": HARD, "segment": segments}
    repeated = made(None, chain=chain, sensors={})
    assert np.flatnonzero(repeated.own_contacts()[0][0]).tolist() == [2, 5, 8]
    assert "contact" not in made(None).resolved()["chain"]["segment"][0]
    mixed = prepare(case)[1].model
    assert mixed is prepare(other)[1].model or mixed == prepare(other)[1].model
    assert mixed.name == "hertz, tsuji" and mixed_model((mixed, mixed)).name.count("tsuji") == 2


@pytest.mark.plain
def test_a_mistake_in_a_law_of_its_own_is_told():
    alone = [{"count": 4}, {"count": 1, "contact": HERTZ}]
    chain = {"radius": 2e-3, "material": HARD, "segment": alone}
    standing = {"striker": None, "initial": {"velocity": [0.0] * 10}}
    flores = at_wall({"law": "flores", "restitution": 0.5}, **standing)
    rows = [
        ({"ends": {"left_contact": HERTZ}}, "ends.left_contact: this end has no wall"),
        ({"chain": chain}, "chain.segment.1.contact: the segment has only one bead"),
        (at_wall({"law": "tsuij"}), 'ends.right_contact.law: "tsuij" is not valid'),
        (at_wall({"law": "tsuji"}), "ends.right_contact.restitution: missing"),
        (flores, 'ends.right_contact.impact_speed: "striker" requires a striker'),
    ]
    assert_refused(lambda tables: made(None, **tables), rows)


@pytest.mark.usefixtures("plain_loop")
def test_studies_reach_the_inputs_of_a_segment_and_of_a_wall():
    segments = [{"count": 1}, {"count": 2, "contact": TSUJI}]
    chain = {"radius": 2.38e-3, "material": HARD, "segment": segments}
    times = {"end": 3e-5, "step": 5e-7}
    case = made(TSUJI, **at_wall(TSUJI, chain=chain, sensors={}, time=times))
    keys = ["chain.segment.1.contact.restitution", "ends.right_contact.restitution"]

    def momentum(result):
        return float(result.mass @ result.final_velocity)

    slopes = gc.gradient(case, momentum, keys)
    for key in keys:
        assert value_at(case, key) == 0.6
        assert about_key(case, key) == about_key(case.replace(contact=TSUJI), "contact.restitution")
        near = [momentum(gc.run(case.replace(**{key: value}))) for value in (0.599, 0.601)]
        assert slopes[key] == pytest.approx((near[1] - near[0]) / 0.002, rel=1e-4)
        assert free_quantities(case, [key], "peaks")[key].high == 1.0
    seen = case.replace(**{"sensors.beads": [2]})
    _, (one,) = checked_search(seen, "hertz", ["hertz"], {keys[0]: (0.5, 0.9)}, "peaks")
    assert one.changes_at(one.low) == {"contact.law": "hertz", keys[0]: pytest.approx(0.5)}
    with pytest.raises(CaseError, match=r"hertz: chain.segment.1.contact.restitution: 1\.2"):
        checked_search(seen, "hertz", ["hertz"], {keys[0]: (0.5, 1.2)}, "peaks")
    with pytest.raises(CaseError, match=r"1.contact.psi: unknown input\. .* are restit"):
        gc.gradient(case, momentum, ["chain.segment.1.contact.psi"])
    with pytest.raises(CaseError, match=r"0.contact.psi: key not found"):
        gc.gradient(case, momentum, ["chain.segment.0.contact.psi"])


@pytest.mark.long
def test_a_row_of_several_laws_is_compiled_without_a_word(tmp_path):
    case = made(TSUJI)
    code = f"import granchain as gc; gc.run(gc.Case(**{case.as_given()['tables']!r}))"
    done = python(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and list(tmp_path.rglob("*.nbi"))
