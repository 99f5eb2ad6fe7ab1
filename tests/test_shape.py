"""What is declared of the state stands once. That no function takes a heap of arguments is ruff's
(pyproject.toml)."""

from __future__ import annotations

import pytest

from granchain.engine import fields
from granchain.engine.fields import Field

TABLES = {
    "bodies": fields.BODY,
    "contacts": fields.CONTACT,
    "events": fields.EVENT,
    "corrections": fields.CORRECTION,
    "jumps": fields.STEP_JUMP,
    "clock": fields.RUN,
    "records": (*fields.RECORD, *fields.PLAN),
    "driven": fields.DRIVEN,
    "drives": fields.DRIVE,
    "followed": fields.FOLLOWED,
    "energies": fields.ENERGY,
}


@pytest.mark.parametrize("declared", TABLES.values(), ids=TABLES)
def test_each_quantity_of_the_state_is_declared_once_with_its_meaning(declared: tuple[Field, ...]):
    names = [field.name for field in declared]
    assert len(set(names)) == len(names)
    assert all(field.meaning for field in declared)
    # the loop writes at whole numbers that change: each has a bound that a resumed run is checked
    # for
    assert all(field.most for field in declared if field.kind is int and field.changes)
