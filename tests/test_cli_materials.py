"""`granchain materials`."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

import granchain
import granchain as gc
from granchain.cli import obey
from granchain.errors import GranchainError
from granchain.material import MATERIALS


def said(capsys, *words: str) -> tuple[int, str, str]:
    code = obey(["materials", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_every_material_is_listed_with_its_source(capsys):
    code, out, _ = said(capsys)
    assert code == 0 and all(
        f"{name}: {material.source}" in out for name, material in MATERIALS.items()
    )


def test_one_material_as_json_is_the_one_that_a_case_takes(capsys):
    code, out, _ = said(capsys, "steel-316", "--json")
    assert code == 0 and json.loads(out)["materials"] == {
        "steel-316": asdict(MATERIALS["steel-316"])
    }


def test_an_unknown_material_is_refused_with_the_nearest_one(capsys):
    code, _, err = said(capsys, "steel-361")
    assert code == 2 and "steel-316" in err


def test_every_material_says_where_each_value_is_from_in_the_code_and_in_its_source():
    code = Path(granchain.__file__).with_name("material.py").read_text()
    for name, material in MATERIALS.items():
        # who says so, and where: a year, a table, a DOI or an address
        assert re.search(r"^\w", material.source) and re.search(
            r"\d{4}|https?://|doi:|part \d", material.source
        ), name
        above = code[: code.index(f'"{name}": Material(')].rstrip().rpartition("\n")[2]
        assert above.lstrip().startswith("#"), name


def test_the_values_are_those_of_solids():
    for name, it in MATERIALS.items():
        # a rubber has 0.01 GPa, diamond 1220 GPa: as wide as solids go
        assert 1e7 < it.youngs_modulus < 1.3e12 and 0.0 < it.poissons_ratio < 0.5, name
        assert it.density is None or 500.0 < it.density < 23000.0, name
        # a metal or a polymer yields at a strain of 0.1 % to 4 %
        assert it.yield_stress is None or 1e-3 < it.yield_stress / it.youngs_modulus < 0.04, name


def test_imperial_values_are_converted():
    # 30e6 psi are 207 GPa, 0.284 lb/in3 7861 kg/m3
    steel = MATERIALS["steel-52100"]
    assert steel.youngs_modulus / 29.5 == pytest.approx(207e9 / 30.0, rel=2e-3)
    assert steel.density / 0.283 == pytest.approx(7861.0 / 0.284, rel=2e-4)


def test_a_law_says_which_value_a_material_lacks():
    with pytest.raises(
        GranchainError,
        match=r"^contact\.law ma-liu: yield_stress: got nothing, .* give it with the material",
    ):
        gc.run(gc.load_case("steel-chain", ["chain.material=glass-soda-lime", "chain.mass=1e-4"]))
