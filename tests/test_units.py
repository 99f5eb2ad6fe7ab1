"""UDUNITS reads every unit in a file, and variables with other units describe them in words."""

import re

import h5py
import numpy as np
import pytest

from granchain.contact import laws
from granchain.contact.law import Quantity
from granchain.status import Status
from granchain.store import open_answer
from granchain.store.answer import Result
from granchain.store.schema import (
    PROVENANCE_NUMBERS,
    READ_BY_UDUNITS,
    VARIABLES,
    VARIABLES_OF_MECHANISM,
    Variable,
    attributes_in_file,
)

# Each unit, with its powers of m, kg and s and a factor, from the SI Brochure, 9th edition 2019,
# tables 2 and 4, doi:10.59161/AUEZ1291.
SAME_IN_BASE_UNITS = dict(
    re.findall(
        r"([^;\n]+?) = (\S+?)(?:;|\n)\s*",
        """
1 = 1; m = m; s = s; kg = kg; N = kg.m.s-2; Pa = kg.m-1.s-2; J = kg.m2.s-2; Hz = s-1;
rad = 1; m/s = m.s-1; m/s^2 = m.s-2; m/s2 = m.s-2; m^2 = m2; kg/m^3 = kg.m-3; kg/m3 = kg.m-3;
N/m = kg.s-2; N s/m = kg.s-1; N s/m^2 = kg.m-1.s-1; 1/s = s-1; 1/m = m-1; 1/N = kg-1.m-1.s2;
1/Pa = kg-1.m.s2; s/m = s.m-1; m/N = kg-1.s2
""",
    )
)


@pytest.mark.plain
def test_udunits_reads_every_unit_of_the_table_as_it_is_meant():
    from cf_units import Unit

    assert SAME_IN_BASE_UNITS.keys() == READ_BY_UDUNITS
    for unit, base in SAME_IN_BASE_UNITS.items():
        assert Unit(unit).convert(1.0, Unit(base)) == 1.0, unit


@pytest.mark.plain
def test_every_unit_of_a_file_is_in_the_table():
    units = {
        name: entry.unit for name, entry in {**VARIABLES, **VARIABLES_OF_MECHANISM}.items()
    } | {name: unit for name, (unit, _) in PROVENANCE_NUMBERS.items()}
    assert {name: unit for name, unit in units.items() if unit not in READ_BY_UDUNITS} == {}
    for law in laws().values():
        for quantity in (*law.history, *law.inputs):
            variable = Variable((), np.zeros(()), quantity.unit or "1", quantity.meaning)
            stored = attributes_in_file(quantity.name, variable)["units"]
            assert stored in READ_BY_UDUNITS, (law.name, quantity.name)
    # the only variable of a run whose unit has a power that is not an integer
    outputs = {q.name: q.unit for law in laws().values() for q in law.history if q.output}
    others = {name for name, unit in outputs.items() if unit not in READ_BY_UDUNITS}
    assert others == {"unloading_stiffness"}


def dented(unit):
    """Return a result with a history quantity in this unit."""
    history = [Quantity("unloading_stiffness", unit, "factor of the unloading curve", output=True)]
    data = {"contact": np.array([1]), "unloading_stiffness": np.array([2.0])}
    return Result(data, case=None, law="", status=Status.COMPLETE, time_step=1.0, history=history)


def test_a_number_in_another_unit_says_so_in_words_and_comes_back_with_it(tmp_path):
    for unit, said in (
        ("N/m^n", {"units": "1", "unit_in_words": "N/m^n"}),
        ("N/m", {"units": "N/m"}),
    ):
        path = tmp_path / f"{len(said)}.h5"
        result = dented(unit)
        result.save(path)
        with h5py.File(path, "r") as file:
            attributes = dict(file["unloading_stiffness"].attrs)
        assert {
            name: attributes[name] for name in ("units", "unit_in_words") if name in attributes
        } == said
        opened = open_answer(path)
        assert opened.variables["unloading_stiffness"].unit == unit and opened.equals(result)
        assert opened.to_xarray()["unloading_stiffness"].attrs["units"] == said["units"]
