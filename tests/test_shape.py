"""What is declared of the state stands once."""

from granchain.engine import fields

TABLES = (
    *(fields.BODY, fields.CONTACT, fields.EVENT, fields.CORRECTION, fields.STEP_JUMP, fields.RUN),
    *((*fields.RECORD, *fields.PLAN), fields.DRIVEN, fields.DRIVE, fields.FOLLOWED, fields.ENERGY),
)


def test_each_quantity_of_the_state_is_declared_once_with_its_meaning():
    for declared in TABLES:
        names = [field.name for field in declared]
        assert len(set(names)) == len(names)
        assert all(field.meaning for field in declared)
        # the loop writes at whole numbers that change: each is bounded in a resumed run
        assert all(field.most for field in declared if field.kind is int and field.changes)
