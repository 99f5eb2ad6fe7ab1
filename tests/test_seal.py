"""The seal of an output file: whatever is edited, added, renamed or taken out is refused, or every reader says that the seal is missing."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.example_results import a_result

from granchain import load_case, run
from granchain.cli import obey
from granchain.errors import FileError, GranchainWarning
from granchain.output import open_result, reader, verify, whole, writer

TRACE = Path(__file__).parents[1] / "data" / "synthetic2026"
pytestmark = pytest.mark.promise("R9")


@pytest.fixture(scope="module")
def content():
    return writer.image(a_result(samples=20))


@pytest.fixture
def in_this_process(monkeypatch):
    """No process of its own for each of some hundred files, none of which hangs."""
    monkeypatch.setattr(reader, "attempt_apart", lambda *given: None)


def fate(path):
    """What becomes of a file: "refused", "said" where it opens and its seal is missed, "good"; --verify takes the last one only."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = open_result(path)
        except FileError:
            result = None
    said = [str(one.message) for one in caught if one.category is GranchainWarning]
    found = "refused" if result is None else "said" if said else "good"
    assert found != "said" or (said == [f"{path}: {whole.UNSEALED}"] and not result.sealed)
    try:
        verify(path)
    except FileError:
        assert found != "good"
    else:
        assert found == "good"
    return found


def other(value):
    """Another value of the same kind."""
    if isinstance(value, str | bytes):
        return "other"
    value = np.asarray(value)
    return value + 1 if value.dtype.kind in "fiu" else None


def edits(file):
    """Every edit of attributes and provenance that h5py can make in a file: a name, and what does it."""
    objects = ["/", *file, *(f"provenance/{name}" for name in file["provenance"])]
    for place in objects:
        yield f"{place}: added", lambda f, p=place: f[p].attrs.__setitem__("note", "x")
        for name, value in file[place].attrs.items():
            what = f"{place}@{name}"
            if other(value) is not None:
                yield f"{what}: edited", lambda f, p=place, n=name, v=value: f[p].attrs.__setitem__(n, other(v))
            yield f"{what}: taken out", lambda f, p=place, n=name: f[p].attrs.__delitem__(n)
            yield f"{what}: renamed", lambda f, p=place, n=name: h5py.h5a.rename(f[p].id, n.encode(), f"{n}2".encode())
        if place != "/":
            yield f"{place}: taken out", lambda f, p=place: f.__delitem__(p)
            yield f"{place}: renamed", lambda f, p=place: f.move(p, f"{p}2")
        if isinstance(file[place], h5py.Dataset) and other(file[place][()]) is not None:
            yield f"{place}: edited", lambda f, p=place: f[p].__setitem__((), other(f[p][()]))


# What a reader needs is refused; the rest opens, and the seal is missed.
FATES = {
    "/@time_step: taken out": "refused", "mass@units: edited": "refused", "provenance/data_sha256: edited": "refused",
    "provenance/case_sha256: edited": "refused", "provenance/case_resolved_json: edited": "refused",
    "provenance/case_sha256: taken out": "refused", "/@law: edited": "said", "/@time_step: edited": "said", "/@title: edited": "said",
    "provenance/wall_time: edited": "said", "mass@DIMENSION_LIST: taken out": "said", "/: added": "said",
}  # fmt: skip


@pytest.mark.parametrize("every_nth", [20, pytest.param(1, marks=pytest.mark.long)])
def test_no_edit_of_any_attribute_unit_scale_or_provenance_entry_is_read_as_good(tmp_path, content, in_this_process, figure, every_nth):
    path = tmp_path / "a.h5"
    path.write_bytes(content)
    assert fate(path) == "good"
    with h5py.File(path, "r") as file:
        every = dict(edits(file))
    assert len(every) > 400
    fates = {}
    for name in {*FATES, *list(every)[::every_nth]}:
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            every[name](file)
        fates[name] = fate(path)
    assert {name: fates[name] for name in FATES} == FATES
    figure("edits of attributes and provenance that open without a word", list(fates.values()).count("good"), at_most=0)


def test_a_byte_changed_in_place_is_refused(tmp_path, content):
    path = tmp_path / "a.h5"
    places = {
        text: content.index(text) for text in (b"ma-liu", b"complete", b"long_name", b"CF-1.11", b'"psi":2.84', b"\ngranchain sha256 ")
    }
    for text, at in {**places, b"seal": len(content) - 2}.items():
        changed = bytearray(content)
        changed[at] ^= 1
        path.write_bytes(changed)
        assert fate(path) == ("said" if b"granchain sha256" in text else "refused"), text


def test_a_seal_of_another_file_is_refused_and_a_cut_one_missed(tmp_path, content, in_this_process):
    path, twin = tmp_path / "a.h5", writer.image(a_result(samples=20, seed=1))
    body, seal = content[: -whole.SEAL_LENGTH], twin[-whole.SEAL_LENGTH :]
    for changed, expected in (
        (body + seal, "refused"), (body, "said"), (content[:-1], "said"), (content + b"\n", "said"), (content + seal, "refused"),
    ):  # fmt: skip
        path.write_bytes(changed)
        assert fate(path) == expected


def test_a_copy_of_a_result_without_a_seal_has_none(tmp_path, content, in_this_process):
    path, copy = tmp_path / "a.h5", tmp_path / "b.h5"
    path.write_bytes(content[: -whole.SEAL_LENGTH])
    with pytest.warns(GranchainWarning, match="has no seal"):
        result = open_result(path)
    result.save(copy)
    assert fate(copy) == "said" and copy.read_bytes() == path.read_bytes()


def test_a_sealed_file_whose_case_differs_from_its_hash_is_refused(tmp_path, content):
    path = tmp_path / "a.h5"
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        case = json.loads(file["provenance/case_resolved_json"].asstr()[()])
        file["provenance/case_resolved_json"][()] = json.dumps(case | {"striker": {"speed": 9.0}})
    body = path.read_bytes()
    path.write_bytes(body + whole.SEAL % hashlib.sha256(body).hexdigest().encode())
    with pytest.raises(FileError, match="the case in it differs from its hash; the file was damaged or changed"):
        open_result(path)


def test_every_reader_says_that_the_seal_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    changes = ["chain.beads=12", "sensors.beads=[3, 9]", "sensors.contacts=[0]", "time.end=1e-4"]
    path = tmp_path / "complete.h5"
    run(load_case("steel-chain", changes)).save(path)
    path.write_bytes(path.read_bytes()[: -whole.SEAL_LENGTH])
    commands = {
        "info": ["info", "complete.h5", "--json"],
        "plot": ["plot", "complete.h5", "--out", "figures"],
        "compare": ["compare", "complete.h5", "--trace", str(TRACE)],
        "resume": ["run", "steel-chain", *(f"--set={one}" for one in changes), "--out", "complete.h5", "--resume"],
    }
    for name, command in commands.items():
        with pytest.warns(GranchainWarning, match=r"complete\.h5: has no seal"):
            code = obey(command)
        assert code == 0, name
        if name == "info":
            facts = json.loads(capsys.readouterr().out)
            assert facts["sealed"] is False and facts["data_verified"] is None
    assert obey(["info", "complete.h5", "--verify"]) == 4
    assert capsys.readouterr().err.strip().endswith(f"granchain: complete.h5: {whole.UNSEALED}")
    done = subprocess.run([sys.executable, "-m", "granchain", "info", "complete.h5"], capture_output=True, text=True, check=True)
    assert done.stderr == f"granchain: warning: complete.h5: {whole.UNSEALED}\n" and "status             complete" in done.stdout
