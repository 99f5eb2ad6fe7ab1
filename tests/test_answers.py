"""Every answer is saved, opened, compared, printed, and reported by the same code."""

import json
import sys
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import xarray
from support.answers import ANSWERS, CLASSES, STUDIES, answer_of

import granchain as gc
from granchain import errors
from granchain.store import Answer, Label
from granchain.store.dataset import CHUNKED_FROM, COMPRESSED_FROM, Content, write_content
from granchain.store.schema import labelled
from granchain.store.tables import value_tables


@pytest.mark.guard
def test_every_class_of_answers_is_in_the_list():
    assert {kind.__name__ for kind in CLASSES} == {name.partition(" ")[0] for name in ANSWERS}
    by_default = [kind for kind in CLASSES if isinstance(ANSWERS[kind.__name__], partial)]
    assert [kind.__name__ for kind in by_default if ">>> " not in kind.__doc__] == []
    assert len(by_default) > 2


@pytest.fixture(scope="module", params=ANSWERS)
def saved(request, tmp_path_factory):
    """Return an answer and its file; pytest runs the tests of one answer together."""
    with pytest.MonkeyPatch.context() as patch:
        # no loop over members is compiled, because test_many.py tests it
        patch.setattr("granchain.engine.batch.COMPILED", sys.maxsize)
        answer, file = answer_of(request.param), tmp_path_factory.mktemp("answer") / "a.h5"
    answer.save(file)
    return answer, file


@pytest.fixture(scope="module", params=STUDIES)
def saved_study(request, tmp_path_factory):
    """Return the name of a study, the study, and its file."""
    study, file = STUDIES[request.param](), tmp_path_factory.mktemp("study") / "a.h5"
    gc.save(study, file)
    return request.param, study, file


# Number of flipped bits in each of 22 files; with checkpoints and ensembles 500 in total, and 2000
# in the long run.
FLIPS = pytest.mark.parametrize("flips", [17, pytest.param(100, marks=pytest.mark.long)])


def check_flips(file, flips, figure):
    """Check that no file with one flipped bit can be opened."""
    content, accepted, rng = file.read_bytes(), 0, np.random.default_rng(flips)
    path = file.with_name("flipped.h5")
    for at, bit in zip(
        rng.integers(0, len(content), flips), rng.integers(0, 8, flips), strict=True
    ):
        damaged = bytearray(content)
        damaged[at] ^= 1 << bit
        path.write_bytes(damaged)
        try:
            gc.open(path)
        except errors.FileError as error:
            assert str(error).startswith(f"{path}: ")
        else:
            accepted += 1
    figure("flipped bits accepted in files of answers and studies", accepted, at_most=0)


@pytest.mark.promise("R9")
@FLIPS
def test_an_answer_opens_as_it_was_saved_and_no_other_bit_is_taken_for_its_own(
    saved, flips, tmp_path, figure
):
    answer, file = saved
    opened = gc.open(file)
    assert type(opened) is type(answer) and opened.equals(answer)
    assert opened.data_sha256 == answer.data_sha256 == opened.provenance["data_sha256"]
    # a copy has the same bytes
    opened.save(tmp_path / "b.h5")
    assert (tmp_path / "b.h5").read_bytes() == file.read_bytes()
    if answer.case is not None:
        assert opened.case.resolved() == answer.case.resolved()
    for label in ("granchain_version", "versions", "source_hash", "platform"):
        assert opened.provenance[label]
    check_flips(file, flips, figure)
    # the members of an ensemble are compared, and not its variables
    if isinstance(answer, gc.Ensemble):
        return
    name, variable = next(
        (n, v) for n, v in opened.variables.items() if v.data.dtype.kind == "f" and v.data.size
    )
    changed = variable.data.copy()
    changed.flat[0] = np.nextafter(changed.flat[0], np.inf)
    opened.variables[name] = replace(variable, data=changed)
    assert not opened.equals(answer) and opened.data_sha256 != answer.data_sha256


def test_an_answer_has_units_and_meanings_and_is_printed_as_text_html_and_json(saved):
    answer, _ = saved
    for variable in answer.variables.values():
        assert len(variable.long_name) > 3
        assert (
            variable.unit
            or variable.data.dtype.kind == "O"
            or variable.long_name.startswith("case parameter")
        )
    assert type(answer).__name__ in repr(answer)
    html = answer._repr_html_()
    assert all(variable in html for variable in answer.variables)
    for table in answer.table().split("\n\n"):
        assert len(table.splitlines()[0].split("  ")) < 40
    facts = json.loads(json.dumps(answer.as_dict(), allow_nan=False))
    for variable, v in answer.variables.items():
        if v.data.size <= 200:
            assert facts[variable] is not None or v.data.size == 1
        else:
            assert facts[variable]["shape"] == list(v.shape)


@pytest.mark.usefixtures("blank_pictures")
def test_xarray_a_report_and_a_command_read_the_file_of_an_answer(saved, obeyed):
    answer, file = saved
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xarray.open_dataset(file, engine="h5netcdf") as opened:
            xarray.testing.assert_identical(opened.load(), answer.to_xarray())
        with xarray.open_datatree(file, engine="h5netcdf") as tree:
            assert "/provenance" in tree.groups
            assert {f"/{group}" for group in answer.groups} <= set(tree.groups)
    page = gc.report([file]).decode()
    assert answer.title in page and "data_sha256" in page
    if isinstance(answer, gc.Result) and isinstance(answer.case, gc.Case):
        assert "<b>Figure 1.</b> Force" in page and "<b>Table 1.</b>" in page
    facts = json.loads(obeyed("info", str(file), "--json").out)
    assert facts["schema"] == 1
    assert facts["law"] == answer.law and facts["provenance"]["source_hash"]
    assert {v["name"]: v["shape"] for v in facts["variables"]} == {
        variable: list(v.shape) for variable, v in answer.variables.items()
    }


@pytest.mark.promise("R9")
@pytest.mark.usefixtures("blank_pictures")
@FLIPS
def test_a_study_opens_as_it_was_saved_with_labels_an_origin_and_a_report(
    saved_study, flips, tmp_path, figure
):
    name, study, file = saved_study
    opened = gc.open(file)
    xarray.testing.assert_identical(opened, study)
    gc.save(opened, tmp_path / "b.h5")
    xarray.testing.assert_identical(gc.open(tmp_path / "b.h5"), study)
    check_flips(file, flips, figure)
    for variable in study.variables.values():
        assert len(variable.attrs["long_name"]) > 3
        assert ("units" in variable.attrs) == (variable.dtype.kind in "fiu")
    assert set(study.dims) <= set(study.coords)
    assert study.attrs["granchain_study"] == name and study.attrs["title"]
    assert set(study.attrs["law"].split(", ")) <= set(gc.laws())
    assert all(isinstance(text, str) for text in json.loads(study.attrs["messages"]))
    for label in ("granchain_version", "versions", "source_hash"):
        assert study.attrs[label]
    if name != "impacts":
        assert json.loads(study.attrs["case_json"]) and study.attrs["case_sha256"]
    page = gc.report([file]).decode()
    assert study.attrs["title"] in page and "Provenance" in page
    assert "Figure not available" not in page and "<figure" in page


def test_labels_decide_the_order_and_the_kind_of_values():
    labels = {
        "yes": Label((), "1", "truth value"),
        "wave": Label(("step",), "1", "complex number"),
        "step": Label(("step",), "1", "index"),
        "name": Label((), "", "text"),
        "absent": Label((), "1", "left out"),
    }
    data = {"step": [1, 2], "wave": np.array([1j, 2.0]), "name": "x", "yes": True, "absent": None}
    variables = labelled(data, labels)
    assert list(variables) == ["yes", "wave_real", "wave_imag", "step", "name"]
    kinds = [variable.data.dtype.kind for variable in variables.values()]
    assert kinds == ["b", "f", "f", "i", "O"]
    for wrong in ({"other": 1.0}, {"wave": [1j]}, {"step": [[1]]}, {"yes": object()}):
        with pytest.raises(ValueError):
            labelled(wrong, labels)


def test_a_short_second_axis_becomes_columns_of_a_table():
    labels = {
        "band": Label(("band",), "1", "number"),
        "edge": Label(("edge",), "", "side"),
        "edges": Label(("band", "edge"), "Hz", "band edges"),
        "errors": Label(("band", "edge"), "Hz", "errors of the edges"),
        "speeds": Label(("band", "edge"), "m/s", "speeds at the edges"),
        "none": Label(("none",), "1", "axis without labels"),
        "empty": Label(("none",), "1", "no values"),
    }
    data = {"band": [1, 2], "edge": ["lower", "upper"], "edges": [[0.0, 1.0], [2.0, np.nan]]}
    data |= {"errors": np.ones((2, 2)), "speeds": np.ones((2, 2)), "none": [], "empty": []}
    table, more = value_tables(labelled(data, labels))
    assert table.columns[:3] == ("band", "edges lower [Hz]", "edges upper [Hz]")
    assert table.rows == (("1", "0", "1", "1", "1"), ("2", "2", "-", "1", "1"))
    # one table contains both columns of a variable
    assert more.columns == ("band", "speeds lower [m/s]", "speeds upper [m/s]")


def test_only_large_arrays_are_compressed(tmp_path):
    import h5py

    answer = answer_of("Result")
    answer.save(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        for name, v in answer.variables.items():
            large = v.data.nbytes >= CHUNKED_FROM
            assert file[name].fletcher32 == large and file[name].compression is None
    labels = {"time": Label(("time",), "s", "time"), "forces": Label(("time",), "N", "forces")}
    for count, packing in ((COMPRESSED_FROM // 8, None), (COMPRESSED_FROM // 8 + 1, "gzip")):
        values = dict.fromkeys(labels, np.zeros(count))
        Answer(values, labels=labels).save(tmp_path / "b.h5", overwrite=True)
        with h5py.File(tmp_path / "b.h5") as file:
            assert file["forces"].compression == packing


CASE_TEXTS = ["", "{", "[]", "3", "null", '{"tables": 3}', '{"tables": {}}', '{"tables": null}']
CASE_TEXTS += ['{"tables": {"chain": []}}', '{"tables": {"mechanism": 1}}', '{"other": {}}']
CASE_TEXTS += ['{"tables": {"chain": {"beads": 1e999}}}', '{"tables": []}', "[" * 100_000]
CASE_TEXTS += ['{"tables": {"chain": {}}, "state": 3}', '{"tables": {"chain": {}}, "drives": [1]}']


@pytest.mark.long
def test_a_damaged_case_is_reported_when_it_is_used(tmp_path):
    content = answer_of("Result")._content()
    whole = content.provenance["case_json"]
    rng = np.random.default_rng(0)
    damaged = list(CASE_TEXTS)
    for _ in range(50):
        first, last = np.sort(rng.integers(0, len(whole), 2))
        piece = chr(rng.integers(32, 127)) * rng.integers(0, 3)
        damaged.append(whole[:first] + piece + whole[min(last, first + 5) :])
    refused = 0
    for k, text in enumerate(damaged):
        path = tmp_path / f"{k}.h5"
        content.provenance = {**content.provenance, "case_json": text}
        write_content(path, content, False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.GranchainWarning)
            opened = gc.open(path)
            try:
                opened.case  # noqa: B018
            except errors.FileError as error:
                assert str(error).startswith(f"{path}: the case in the file is damaged")
                refused += 1
            except errors.GranchainError:
                refused += 1
    assert refused > 40


# Numbers that no measurement can have: their differences, factors, and ticks are not numbers.
EXTREME = (1.7e308, -1.7e308, 1e99, 5e-324, -1.0, np.nan, np.inf, 0.0)


@pytest.mark.promise("I1")
# matplotlib warns if it has no space for its ticks, or if numbers overflow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "values", [EXTREME[:1], pytest.param(EXTREME, marks=pytest.mark.long)], ids=["few", "many"]
)
@pytest.mark.usefixtures("blank_pictures")
def test_no_number_of_an_answer_ends_its_report(saved, values, tmp_path):
    answer, _ = saved
    # the numbers of an ensemble are those of its members
    if isinstance(answer, gc.Ensemble):
        return
    content = answer._content()
    floats = [n for n, v in content.variables.items() if v.data.dtype.kind == "f" and v.data.size]
    chosen = [floats, *([n] for n in floats if len(values) > 1)]
    for value in values:
        for names in chosen:
            changed = dict(content.variables)
            for variable in names:
                v = changed[variable]
                data = np.full(v.shape, value)
                changed[variable] = type(v)(v.dims, data, v.unit, v.long_name)
            whole = Content(
                changed, content.attributes, content.provenance, content.states, content.groups
            )
            write_content(tmp_path / "a.h5", whole, True)
            assert gc.report([tmp_path / "a.h5"])


def test_an_error_inside_a_property_is_not_hidden():
    class Broken(Answer):
        @property
        def value(self):
            return None.absent

    broken = Broken({}, case=None)
    with pytest.raises(AttributeError, match=r"'NoneType' object has no attribute 'absent'"):
        broken.value  # noqa: B018
    with pytest.raises(AttributeError, match=r"Broken has no variable valeu\. Did you mean value"):
        broken.valeu  # noqa: B018
