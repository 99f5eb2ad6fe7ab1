"""What is refused, and in which words: one table of refused.json for each kind of request."""

import json
import re
from pathlib import Path

import pytest

from granchain.errors import CaseError

TABLES = json.loads(Path(__file__).with_name("refused.json").read_text(encoding="utf-8"))


def refused(what):
    """Rows of a request, its exit code where it is a command, and words of the answer; or these by
    what is wrong."""
    return TABLES[what]


# location: problem. Requirement. Fix.
_FORM = re.compile(r'(?:[^:]|"[^"]*")+: .*[^ ]\. .*[.?]', re.DOTALL)


def has_error_form(text):
    """Whether a message is `location: problem. Requirement. Fix.`, not that of old."""
    return _FORM.fullmatch(text) is not None and ": got " not in text


def assert_refused(call, rows, kind=CaseError):
    """Check that each row, arguments and words of the answer, is refused in these words."""
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
    """What is told of a case that is refused, of each mistake."""
    with pytest.raises(CaseError) as raised:
        made(*given, **named)
    return raised.value.problems
