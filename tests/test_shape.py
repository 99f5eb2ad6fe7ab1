"""Each fact about the state is declared in one place."""

from granchain.engine import fields
from granchain.engine.recording import ENERGY, PLAN, RECORD

TABLES = (
    *(fields.BODY, fields.CONTACT, fields.EVENT, fields.CORRECTION, fields.STEP_JUMP, fields.RUN),
    *((*RECORD, *PLAN), fields.DRIVEN, fields.DRIVE, fields.FOLLOWED, ENERGY),
)


def test_each_quantity_of_the_state_is_declared_once_with_its_meaning():
    for declared in TABLES:
        names = [field.name for field in declared]
        assert len(set(names)) == len(names)
        assert all(field.meaning for field in declared)
