"""The command `granchain materials`."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

import granchain
from granchain.cli import obey
from granchain.material import MATERIALS


def test_materials_are_listed_shown_and_the_nearest_is_named(obeyed, capsys):
    out = obeyed("materials").out
    assert all(f"{name}: {material.source}" in out for name, material in MATERIALS.items())
    assert obey(["materials", "steel-316", "--json"]) == 0
    steel = {"steel-316": asdict(MATERIALS["steel-316"])}
    assert json.loads(capsys.readouterr().out)["materials"] == steel
    assert "steel-316" in obeyed("materials", "steel-361", code=2).err


@pytest.mark.guard
def test_every_material_says_where_each_value_is_from_in_the_code_and_in_its_source():
    code = Path(granchain.__file__).with_name("material.py").read_text()
    for name, material in MATERIALS.items():
        # the source, and its location: a year, a table, a DOI, or an address
        assert re.search(r"^\w", material.source) and re.search(
            r"\d{4}|https?://|doi:|part \d", material.source
        ), name
        above = code[: code.index(f'"{name}": Material(')].rstrip().rpartition("\n")[2]
        assert above.lstrip().startswith("#"), name


def test_the_values_are_those_of_solids():
    for name, it in MATERIALS.items():
        # a rubber has 0.01 GPa, and diamond 1220 GPa: the range of solids
        assert 1e7 < it.youngs_modulus < 1.3e12 and 0.0 < it.poissons_ratio < 0.5, name
        assert it.density is None or 500.0 < it.density < 23000.0, name
        # a metal or a polymer yields at a strain of 0.1 % to 4 %
        assert it.yield_stress is None or 1e-3 < it.yield_stress / it.youngs_modulus < 0.04, name
