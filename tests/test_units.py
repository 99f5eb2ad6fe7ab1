"""Every unit in a file is one that UDUNITS reads; what has another unit says so in words."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from granchain.contact import laws
from granchain.contact.law import Quantity
from granchain.errors import GranchainWarning
from granchain.output import open_result
from granchain.output.result import Result
from granchain.output.units import readable, written
from granchain.output.variables import MECHANISM, TABLE
from granchain.output.writer import NUMBERS
from granchain.status import Status

READABLE = (
    "1", "m", "s", "J", "N", "kg", "Pa", "rad", "Hz", "m/s", "m/s2", "m/s^2", "kg/m3", "kg/m^3", "1/s", "N s/m", "N.s", "N*m", "m-1",
    "mm", "GPa", "m^-1", "kg m2 s-2", "1/s2", "mol", "N/m",
)  # fmt: skip
# "N/m^1.5" is N/m times 5 for UDUNITS; n and x are no symbols; a product needs two factors
OTHERS = (
    "N/m^1.5", "N/m^n", "N s/m^1.25", "N/m1.5", "x", "N/", "/m", "", "N  m", "m^", "m^+2", "furlong", "N/m^(3/2)", "m**2", "2m", "1 1",
    "s1.5", "kkg",
)  # fmt: skip


@pytest.mark.plain
def test_the_grammar_takes_whole_powers_of_si_symbols_alone() -> None:
    assert [unit for unit in READABLE if not readable(unit)] == []
    assert [unit for unit in OTHERS if readable(unit)] == []


@pytest.mark.plain
def test_every_unit_of_a_file_is_readable() -> None:
    units = {name: entry.unit for name, entry in {**TABLE, **MECHANISM}.items()} | {name: unit for name, (unit, _) in NUMBERS.items()}
    assert {name: unit for name, unit in units.items() if not readable(unit)} == {}
    for law in laws().values():
        for quantity in (*law.history, *law.inputs):
            assert readable(written(quantity.unit or "1")["units"]), (law.name, quantity.name)
    # the one variable of a run that is in a unit with a power that is no whole number
    assert {q.name for law in laws().values() for q in law.history if q.output and not readable(q.unit)} == {"unloading_stiffness"}


def dented(unit: str) -> Result:
    """A result with a history quantity in a unit."""
    history = [Quantity("unloading_stiffness", unit, "factor of the unloading curve", output=True)]
    data = {"contact": np.array([1]), "unloading_stiffness": np.array([2.0])}
    return Result(data, case=None, law="", status=Status.COMPLETE, time_step=1.0, history=history)


@pytest.mark.plain
def test_a_number_in_another_unit_says_so_in_words_and_comes_back_with_it(tmp_path: Path) -> None:
    for unit, said in (("N/m^n", {"units": "1", "unit_in_words": "N/m^n"}), ("N/m", {"units": "N/m"})):
        path = tmp_path / f"{len(said)}.h5"
        result = dented(unit)
        result.save(path)
        with h5py.File(path, "r") as file:
            attributes = dict(file["unloading_stiffness"].attrs)
        assert {name: attributes[name] for name in ("units", "unit_in_words") if name in attributes} == said
        opened = open_result(path)
        assert opened.variables["unloading_stiffness"].unit == unit and opened.equals(result)
        assert opened.to_xarray()["unloading_stiffness"].attrs["units"] == said["units"]


@pytest.mark.plain
def test_a_file_of_before_opens_with_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "old.h5"
    dented("N/m^n").save(path)
    with h5py.File(path, "r+") as file:
        del file["unloading_stiffness"].attrs["unit_in_words"]
        file["unloading_stiffness"].attrs["units"] = "N/m^n"
    with pytest.warns(GranchainWarning, match="has no seal"):
        assert open_result(path).variables["unloading_stiffness"].unit == "N/m^n"
