"""`granchain materials`."""

from __future__ import annotations

import json
from dataclasses import asdict

from granchain.cli import obey
from granchain.material import MATERIALS


def said(capsys, *words: str) -> tuple[int, str, str]:
    code = obey(["materials", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_every_material_is_listed_with_its_source(capsys):
    code, out, _ = said(capsys)
    assert code == 0 and all(f"{name}: {material.source}" in out for name, material in MATERIALS.items())


def test_one_material_as_json_is_the_one_that_a_case_takes(capsys):
    code, out, _ = said(capsys, "steel-316", "--json")
    assert code == 0 and json.loads(out)["materials"] == {"steel-316": asdict(MATERIALS["steel-316"])}


def test_an_unknown_material_is_refused_with_the_nearest_one(capsys):
    code, _, err = said(capsys, "steel-361")
    assert code == 2 and "steel-316" in err
