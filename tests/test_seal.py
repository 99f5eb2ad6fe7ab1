"""The seal of an output file: whatever is edited, added, renamed or taken out is refused, or every reader says that the seal is missing."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.example_results import a_result, everything

from granchain.cli import obey
from granchain.errors import FileError, GranchainWarning
from granchain.output import open_result, reader, verify, whole, writer

OLD = Path(__file__).with_name("version-0.1.0")
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


def old(folder, name):
    """A file of version 0.1.0."""
    path = folder / name
    path.write_bytes(gzip.decompress((OLD / f"{name}.gz").read_bytes()))
    return path


def test_every_reader_says_that_the_seal_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = old(tmp_path, "complete.h5")
    path.write_bytes(path.read_bytes()[: -whole.SEAL_LENGTH])
    shutil.copy(OLD / "case.toml", tmp_path)
    commands = {
        "info": ["info", "complete.h5", "--json"],
        "plot": ["plot", "complete.h5", "--out", "figures"],
        "compare": ["compare", "complete.h5", "--trace", str(TRACE)],
        "resume": ["run", "case.toml", "--out", "complete.h5", "--resume"],
    }
    for name, command in commands.items():
        with pytest.warns(GranchainWarning, match=r"complete\.h5: has no seal"):
            code = obey(command)
        # the trace is of another chain: its sensors are not there
        assert code == (2 if name == "compare" else 0), name
        if name == "info":
            facts = json.loads(capsys.readouterr().out)
            assert facts["sealed"] is False and facts["data_verified"] is None
    assert obey(["info", "complete.h5", "--verify"]) == 4
    assert capsys.readouterr().err.strip().endswith(f"granchain: complete.h5: {whole.UNSEALED}")
    done = subprocess.run([sys.executable, "-m", "granchain", "info", "complete.h5"], capture_output=True, text=True, check=True)
    assert done.stderr == f"granchain: warning: complete.h5: {whole.UNSEALED}\n" and "status             complete" in done.stdout


# ---------------------------------------------------------------------------------------------------------------------
# Files of version 0.1.0


def test_results_of_version_0_1_0_open_and_verify(tmp_path, capsys):
    path = old(tmp_path, "complete.h5")
    result = open_result(path)
    # as version 0.1.0 printed of the run that it had saved
    assert verify(path) == "16095ead3372694afe52f48ca973e2e91b6a740ca12dc811cc2329aad012276a"
    assert (result.contact_peak_force.max(), result.time_step) == (94.94691419026728, 4.242681374628766e-08)
    assert result.provenance["granchain_version"] == "0.1.0" and result.sealed
    assert result.title == result.case.title == "12 beads of version 0.1.0" and result.case.sha256 == result.provenance["case_sha256"]
    assert obey(["info", str(path), "--verify"]) == 0 and "every value agrees" in capsys.readouterr().out
    assert everything(open_result(old(tmp_path, "interrupted.h5")))[3].label == "interrupted"


def test_a_checkpoint_of_version_0_1_0_is_refused_with_the_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = {name: old(tmp_path, name).read_bytes() for name in ("interrupted.h5", "interrupted.h5.chk")}
    shutil.copy(OLD / "case.toml", tmp_path)
    assert obey(["run", "case.toml", "--out", "interrupted.h5", "--resume"]) == 4
    assert "interrupted.h5.chk: was written by another granchain; go on with that one, or begin anew" in capsys.readouterr().err
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("jit", ["off", pytest.param("on", marks=pytest.mark.long)])
def test_law_files_of_version_0_1_0_load_and_deliver(jit):
    # in a process of its own: its laws would join those that other tests go over
    script = (
        "import sys, granchain as gc; from granchain.contact.user import load_law_module; print(sorted(load_law_module(sys.argv[1])))\n"
        "pair = gc.Pair(effective_radius=1e-3, effective_modulus=1e11, effective_mass=1e-3, yield_stress=1e9)\n"
        "for law in ('linear-dashpot', 'walton-braun-010'):\n"
        "    print(gc.impact(law=law, pair=pair, speed=1.0, stiffness=1e6, restitution=0.6).restitution)"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1" if jit == "off" else "0"}
    done = subprocess.run([sys.executable, "-c", script, str(OLD / "laws.py")], env=environment, capture_output=True, text=True, check=True)
    names, *delivered = done.stdout.split("\n", 1)
    assert names == "['linear-dashpot', 'walton-braun-010']"
    # both deliver what they are asked for: the damped oscillator's closed form, and the two stiffnesses' ratio
    assert [float(value) for value in delivered[0].split()] == pytest.approx([0.6, 0.6], abs=1e-3)
