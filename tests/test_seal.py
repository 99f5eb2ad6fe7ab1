"""The seal of an output file: edits, additions, renamed and removed parts are refused, or every
reader warns that the seal is missing."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from support.example_results import a_result, file_of

from granchain import load_case, run
from granchain.cli import obey
from granchain.errors import FileError
from granchain.store import files, open_answer

TRACE = Path(__file__).parents[1] / "data" / "synthetic2026"
pytestmark = pytest.mark.promise("R9")


@pytest.fixture(scope="module")
def content():
    return file_of(a_result(samples=20))


def opens(path, **how):
    """Return whether a file opens."""
    try:
        return open_answer(path, **how) is not None
    except FileError:
        return False


def other(value):
    """Return another value of the same kind."""
    if isinstance(value, str | bytes):
        return "other"
    value = np.asarray(value)
    return value + 1 if value.dtype.kind in "fiu" else None


def edits(file):
    """Yield every edit of attributes and provenance that h5py can make: its name, and a function
    that makes it."""
    objects = ["/", *file, *(f"provenance/{name}" for name in file["provenance"])]
    for place in objects:
        yield f"{place}: added", lambda f, p=place: f[p].attrs.__setitem__("note", "x")
        for name, value in file[place].attrs.items():
            what = f"{place}@{name}"
            new, renamed = other(value), f"{name}2".encode()
            if new is not None:
                yield f"{what}: edited", lambda f, p=place, n=name, v=new: f[p].attrs.update({n: v})
            yield f"{what}: taken out", lambda f, p=place, n=name: f[p].attrs.__delitem__(n)
            names = name.encode(), renamed
            yield f"{what}: renamed", lambda f, p=place, n=names: h5py.h5a.rename(f[p].id, *n)
        if place != "/":
            yield f"{place}: taken out", lambda f, p=place: f.__delitem__(p)
            yield f"{place}: renamed", lambda f, p=place: f.move(p, f"{p}2")
        if isinstance(file[place], h5py.Dataset) and other(file[place][()]) is not None:
            yield f"{place}: edited", lambda f, p=place: f[p].__setitem__((), other(f[p][()]))


# Edits of data that a reader needs are also refused for a file without a seal; with other edits,
# such a file opens.
NEEDED = ("/@time_step: taken out", "mass@DIMENSION_LIST: taken out")
NOT_NEEDED = ("/@law: edited", "/@time_step: edited", "/@title: edited", "mass@units: edited")
NOT_NEEDED += ("provenance/wall_time: edited", "/: added")


@pytest.mark.parametrize("every_nth", [80, pytest.param(1, marks=pytest.mark.long)])
def test_no_edit_of_any_attribute_unit_scale_or_provenance_entry_is_read_as_good(
    tmp_path, content, figure, every_nth
):
    path, opened = tmp_path / "a.h5", 0
    path.write_bytes(content)
    assert opens(path)
    with h5py.File(path, "r") as file:
        every = dict(edits(file))
    assert len(every) > 400
    for name in {*NEEDED, *NOT_NEEDED, *list(every)[::every_nth]}:
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            every[name](file)
        opened += opens(path)
        if name in (*NEEDED, *NOT_NEEDED):
            assert opens(path, verify=False) == (name in NOT_NEEDED), name
    figure("edits of attributes and provenance that open without a message", opened, at_most=0)


def test_a_seal_of_another_file_or_a_cut_one_is_refused(tmp_path, content):
    path, twin = tmp_path / "a.h5", file_of(a_result(samples=20, seed=1))
    body, seal = content[: -files.CHECKSUM_LENGTH], twin[-files.CHECKSUM_LENGTH :]
    for changed in (body + seal, body, content[:-1], content + b"\n", content + seal):
        path.write_bytes(changed)
        assert not opens(path) and opens(path, verify=False)
        with pytest.raises(
            FileError, match=r"the checksum at the end of the file is missing|damaged or changed"
        ):
            open_answer(path)


@pytest.mark.long
@pytest.mark.usefixtures("blank_pictures")
def test_every_command_refuses_a_file_without_its_seal_unless_told_to_read_it(
    tmp_path, monkeypatch, obeyed
):
    monkeypatch.chdir(tmp_path)
    changes = ["chain.beads=12", "sensors.beads=[3, 9]", "sensors.contacts=[0]", "time.end=1e-4"]
    path = tmp_path / "complete.h5"
    run(load_case("steel-chain", changes).replace(snapshots=None)).save(path)
    path.write_bytes(path.read_bytes()[: -files.CHECKSUM_LENGTH])
    for command in (
        ["info", "complete.h5", "--json"],
        ["plot", "complete.h5", "--only", "energy", "--out", "figures"],
        ["report", "complete.h5"],
        ["compare", "complete.h5", "--trace", str(TRACE)],
    ):
        said = "complete.h5: the checksum at the end of the file is missing"
        assert said in obeyed(*command, code=4).err
        obeyed(*command, "--no-verify")
    keys = [f"--set={one}" for one in changes]
    assert obey(["run", "steel-chain", *keys, "--out", "complete.h5", "--resume"]) == 4
