"""Plans of studies: cases of the members, derived parameters, and their errors."""

import json

import numpy as np
import pytest
from support.refused import assert_refused
from support.short_chains import short

import granchain as gc
from granchain.case.document import flattened
from granchain.errors import CaseError
from granchain.studies.measures import OPTIONAL_ARRAYS, PULSE, RESERVED_NAMES, TRACES
from granchain.studies.plan import INTERVAL_TABLES, Plan
from granchain.studies.sweep import STORED, load_sweep

pytestmark = pytest.mark.usefixtures("plain_members")

DISORDER = gc.disorder(gc.normal(1.0, 0.05))


def same_case(case, other):
    return dict(case) == dict(other) and case.toml == other.toml and case.sha256 == other.sha256


@pytest.fixture
def replaced(monkeypatch):
    """Records the changes of every later call of `replace`."""
    calls, replace = [], gc.Case.replace

    def counting(case, *changes, **keys):
        calls.append(changes)
        return replace(case, *changes, **keys)

    monkeypatch.setattr(gc.Case, "replace", counting)
    return calls


@pytest.mark.parametrize(
    ("vary", "n", "most"),
    [
        ({"chain.radius": {"linear": [4e-3, 5e-3, 40]}}, 1, 4),
        ({"chain.radius": gc.normal(4.76e-3, 1e-5), "contact.psi": gc.uniform(2.0, 3.0)}, 40, 8),
        ({"contact.law": ["hertz", "ma-liu"], "striker.speed": np.linspace(0.5, 1.0, 20)}, 1, 8),
        ({"chain.radius": DISORDER, "chain.mass": DISORDER}, 40, 8),
        ({"chain.beads": [20, 30], "chain.radius": DISORDER}, 20, 80),
        ({"time.end": {"linear": [1e-4, 2e-4, 10]}}, 1, 10),
    ],
)
def test_members_are_changed_cases_and_numbers_are_checked_together(vary, n, most, replaced):
    case = short(**{"chain.mass": None, "sensors.contacts": []})
    replaced.clear()
    members = gc.plan(case, vary, n=n)
    assert isinstance(members, Plan) and len(members) == len([*members]) >= 10
    assert len(replaced) <= most + sum(key == "chain.beads" for key in vary)
    places = [0, 3, len(members) - 1]
    for place, (changed, changes) in enumerate(members.changed()):
        if place in places:
            assert same_case(changed, members[place]) and same_case(changed, case.replace(changes))
    assert same_case(members[-1], changed)
    with pytest.raises(IndexError):
        members[len(members)]


@pytest.mark.parametrize(
    "name", [pytest.param("steel-chain", marks=pytest.mark.long), "dimer-chain"]
)
def test_every_number_of_a_case_gives_the_members_of_replace(name):
    case = gc.Case(**gc.load_case(name).resolved())
    case = case.replace({"tolerance": {"striker.speed": 0.01}})
    keys = {
        key: value
        for key, value in flattened(case.resolved())
        if key.partition(".")[0] in INTERVAL_TABLES and isinstance(value, float)
    }
    assert len(keys) > 5
    for key, value in keys.items():
        listed = [value * (1.0 + 0.01 * step) for step in range(8 if value else 1)]
        members = gc.plan(case, {key: listed})
        for changed, number in zip(members, listed, strict=True):
            assert same_case(changed, case.replace({key: number})), key


def test_an_error_in_a_large_plan_names_its_first_member():
    case = short(**{"chain.gap": 1e-6, "tolerance": {"chain.gap": 0.1}})
    values = {"chain.material.poissons_ratio": np.linspace(0.3, 0.6, 61), "striker.speed": [1.0]}
    message = r"poissons_ratio.*\(at chain.material.poissons_ratio = 0.505, striker.speed = 1\)"
    with pytest.raises(CaseError, match=message + r" 20 of 61 members have this error."):
        gc.plan(case, values)
    with pytest.raises(CaseError, match=r"tolerance.chain.gap: the value of the key is 0"):
        gc.plan(case, {"chain.gap": np.linspace(0.0, 1e-6, 20)})


def masses(ratio):
    """Return masses of the beads and of the striker."""
    return {"chain.mass": 0.45e-3 * ratio, "striker.mass": 0.5e-3 * ratio}


def test_a_derived_parameter_sets_several_keys_and_is_a_coordinate(tmp_path):
    case, ratios = short(), [0.8, 1.0, 1.2]
    study = gc.sweep(case, {"ratio": gc.derived(ratios, masses), "striker.speed": [0.5, 1.0]})
    assert study.peak.dims == ("ratio", "striker.speed", "sensor_bead")
    assert study["ratio"].values.tolist() == ratios
    meaning = "parameter of the study that sets chain.mass, striker.mass"
    assert study["ratio"].attrs["long_name"] == meaning
    single = gc.run(case.replace(masses(0.8) | {"striker.speed": 1.0}))
    expected = [sensor.peak for sensor in gc.analysis.summary(single).sensors]
    assert np.array_equal(study.peak.sel({"ratio": 0.8, "striker.speed": 1.0}), expected)
    # a sweep file, with keys as tables or in quotes, describes the same cases
    columns = {key: [masses(ratio)[key] for ratio in ratios] for key in masses(1.0)}
    (tmp_path / "short.toml").write_text(case.toml)
    (tmp_path / "sweep.toml").write_text(
        f'case = "short.toml"\n[vary.ratio]\nvalues = {ratios}\n[vary.ratio.keys]\n'
        f'chain.mass = {columns["chain.mass"]}\n"striker.mass" = {columns["striker.mass"]}\n'
        '[vary]\n"striker.speed" = [0.5, 1.0]\n'
    )
    from_file = load_sweep(tmp_path / "sweep.toml").plan
    table = json.loads(study.attrs["vary_json"])
    assert table["ratio"] == {"values": ratios, "keys": columns}
    for members in (from_file, gc.plan(case, table)):
        assert [one.sha256 for one in members] == [
            case.replace(masses(ratio) | {"striker.speed": speed}).sha256
            for ratio in ratios
            for speed in (0.5, 1.0)
        ]


def test_a_derived_parameter_can_be_drawn_or_side_by_side():
    case = short()
    members = gc.plan(case, {"ratio": gc.derived(gc.normal(1.0, 0.1), masses)}, "sobol", n=4)
    drawn = gc.plan(case, {"chain.mass": gc.normal(1.0, 0.1)}, n=4).sample["chain.mass"]
    assert [one.chain.mass for one in members] == [0.45e-3 * ratio for ratio in drawn]
    laws = {"hertz": {"contact.law": "hertz"}, "weak": {"contact.law": "ma-liu"}}
    contacts = gc.derived([*laws], laws.__getitem__)
    members = gc.plan(case, {"contacts": contacts, "chain.radius": DISORDER}, "zip", n=2)
    assert [one.contact.law for one in members] == ["hertz"] * 2 + ["ma-liu"] * 2
    assert members.laws == ["hertz", "ma-liu"] and members.sizes == {"run": 2, "draw": 2}


def test_disorder_has_a_factor_for_every_bead_of_derived_chains():
    case = short(**{"sensors.beads": [3]})
    lengths = gc.derived([10, 14], lambda beads: {"chain.beads": beads})
    for vary in ({"length": lengths}, {"chain.beads": [10, 14]}):
        members = gc.plan(case, vary | {"chain.radius": DISORDER})
        first, second = (member.chain.radius_factor for member in members)
        assert (len(first), len(second)) == (10, 14) and second[:10] == first


def test_a_plan_of_mechanisms_has_their_cases():
    case = gc.load_mechanism("slider-crank")
    speeds = gc.derived([50.0, 100.0], lambda speed: {"crank.speed": speed})
    members = gc.plan(case, {"rate": speeds, "joint.clearance": [1e-4, 2e-4]})
    assert members[3] == case.replace({"crank.speed": 100.0, "joint.clearance": 2e-4})
    for name in ("impacts", "crank"):
        with pytest.raises(CaseError, match="a derived parameter cannot have this name"):
            gc.plan(case, {name: speeds})


TWO = [1.0, 2.0]


def test_an_invalid_derived_parameter_is_rejected():
    for changes, message in (
        (lambda ratio: 3.0, r"at 1.0 \(TypeError: 'float'"),
        (lambda ratio: 1 / (ratio - 2), "ratio: .* at 1.0"),
        (
            lambda ratio: {"striker.speed": 1 / (ratio - 2.0)},
            r"ratio: there are no changes at 2.0 \(ZeroDivisionError: .*It must|The function must",
        ),
        (lambda _: {3: 4.0}, "ratio: .*AttributeError"),
        (lambda _: {"title": "x"}, "title: this key cannot be"),
        (
            lambda ratio: {"chain.mas": ratio},
            r'chain.mas: unknown key.*Did you mean "mass"\? \(at ratio = 1\) 2 of 2 members',
        ),
        (3, "ratio: the values and keys are not valid"),
        ({"chain.mass": [1.0]}, "list of equal length"),
    ):
        with pytest.raises(CaseError, match=message):
            gc.plan(short(), {"ratio": gc.derived(TWO, changes)})
    ratio = {"ratio": gc.derived(TWO, masses)}
    chains = {"a": gc.derived(TWO, masses), "b": gc.derived(TWO, {"chain": [{}, {}]})}
    rows = [
        (ratio | {"chain.mass": TWO}, "ratio: chain.mass is set twice, because chain.mass sets"),
        (chains, "a: chain.mass is set twice, because b sets chain"),
        (
            {"striker.speed": TWO, "striker": [{"speed": 3.0}]},
            "striker.speed: striker.speed is set twice, because striker sets striker",
        ),
        (
            {"chain.radius_factor": [[1.0] * 12], "chain.radius": DISORDER},
            "chain.radius_factor is set twice, because chain.radius sets chain.radius_factor",
        ),
        ({"contact.law": [["hertz"]]}, "contact.law: .* is not valid"),
        ({"ratio": gc.derived([], masses)}, "ratio: the list is empty"),
        ({"ratio": gc.derived([1.0, 1.0], masses)}, "ratio: 1.0 is listed more than once"),
        ({"ratio": {"values": TWO, "keys": {}}}, "ratio: the values and keys are not valid"),
    ]
    assert_refused(lambda vary: gc.plan(short(), vary), rows)
    with pytest.raises(CaseError, match="a list is not valid with sobol"):
        gc.plan(short(), ratio, how="sobol")


def test_names_of_a_study_and_of_a_case_are_no_names_of_derived_parameters():
    labels = PULSE | OPTIONAL_ARRAYS | TRACES
    names = {*labels, *STORED, "mode", "draw", "run", "law", "chain", "title", "a/b", ""}
    names |= {"striker.speed"} | {dim for label in labels.values() for dim in label.dims}
    case = short(**{"snapshots.interval": 2e-5, "snapshots.history": True})
    measures = ["second_moment", "bead_energy", "contact_energy", "bead_spectrum"]
    study = gc.sweep(case, {"striker.speed": [1.0]}, measures=measures, traces=True)
    names |= {*study.variables, *study.sizes}
    for name in names:
        with pytest.raises(CaseError, match="a derived parameter cannot have this name"):
            gc.plan(case, {name: gc.derived(TWO, masses)})
    assert {*RESERVED_NAMES} > {*labels}
