"""The shape of the code: what is declared stands once, and no function takes a heap of
arguments."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import granchain
from granchain.engine import fields
from granchain.engine.fields import Field

PACKAGE = Path(granchain.__file__).parent
MOST_ARGUMENTS = 10
# Leaf sweeps take each row by itself, so that the compiler knows that rows do not overlap; a
# command of typer has an argument an option.
SWEEPS = ("sweep", "kick", "dissipate")

TABLES = {
    "bodies": fields.BODY,
    "contacts": fields.CONTACT,
    "events": fields.EVENT,
    "corrections": fields.CORRECTION,
    "jumps": fields.STEP_JUMP,
    "clock": fields.RUN,
    "records": (*fields.RECORD, *fields.PLAN),
    "drives": fields.DRIVE,
    "energies": fields.ENERGY,
}


def functions() -> list[tuple[str, ast.FunctionDef]]:
    return [
        (path.relative_to(PACKAGE).as_posix(), node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]


def test_no_function_takes_more_than_ten_arguments():
    many = {
        f"{path}: {node.name}"
        for path, node in functions()
        if len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
        > MOST_ARGUMENTS
    }
    commands = {name for name in many if name.startswith("cli/")}
    # a study is described by one call
    assert many - commands == {
        f"engine/{'ledger' if name == 'dissipate' else 'row'}.py: {name}" for name in SWEEPS
    } | {"studies/sweep.py: sweep"}


@pytest.mark.parametrize("declared", TABLES.values(), ids=TABLES)
def test_each_quantity_of_the_state_is_declared_once_with_its_meaning(declared: tuple[Field, ...]):
    names = [field.name for field in declared]
    assert len(set(names)) == len(names)
    assert all(field.meaning for field in declared)
    # the loop writes at whole numbers that change: each has a bound that a resumed run is checked
    # for
    assert all(field.most for field in declared if field.kind is int and field.changes)
