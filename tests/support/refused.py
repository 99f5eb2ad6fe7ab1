"""Refused requests and the words of their messages: one table of refused.json for each kind of
request."""

import json
import re
from pathlib import Path

import pytest

from granchain.errors import CaseError

TABLES = json.loads(Path(__file__).with_name("refused.json").read_text(encoding="utf-8"))


def refused(what):
    """Return rows of a request, its exit code for a command, and words of the answer; or these by
    problem."""
    return TABLES[what]


# location: problem. Requirement. Fix.
_FORM = re.compile(r'(?:[^:]|"[^"]*")+: .*[^ ]\. .*[.?]', re.DOTALL)


def has_error_form(text):
    """Return whether a message is `location: problem. Requirement. Fix.`, and not in the old
    form."""
    return _FORM.fullmatch(text) is not None and ": got " not in text


def assert_refused(call, rows, kind=CaseError):
    """Check that each row, arguments and words of the answer, is refused with these words."""
    wrong = []
    for *given, words in rows:
        try:
            call(*given)
        except kind as error:
            said = str(error)
        else:
            said = f"accepted: {given}"
        if not re.search(words, said):
            wrong.append((words, said))
    assert wrong == []


def sentences_of(made, *given, **named):
    """Return the messages about a case that is refused, one for each error."""
    with pytest.raises(CaseError) as raised:
        made(*given, **named)
    return raised.value.problems
