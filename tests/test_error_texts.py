"""Every error message has a test that contains its words.

The source of the package is compared with the tests."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import granchain
from granchain import errors

PACKAGE, TESTS = Path(granchain.__file__).parent, Path(__file__).parent
ERRORS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, Exception)
}
# Number of letters of a message that no other text has by chance. If the longest piece of a message
# is shorter than the second number, the words of another error count.
KNOWN, OWN = 14, 24


def pieces(node):
    """Return the words of a message between the filled-in values."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return [piece for value in node.values for piece in pieces(value)]
    if isinstance(node, ast.BinOp):
        return pieces(node.left) + pieces(node.right)
    if isinstance(node, ast.IfExp):
        return pieces(node.body) + pieces(node.orelse)
    if isinstance(node, ast.Call) and is_name(node.func, "error_text"):
        return [piece for argument in node.args for piece in pieces(argument)]
    return []


def is_name(node, *names):
    return isinstance(node, ast.Name) and node.id in names


@cache
def package():
    """Return every raise and every call of the package, with its file and line."""
    return [
        (f"{path.relative_to(PACKAGE)}:{node.lineno}", node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise | ast.Call)
    ]


def messages():
    """Return the locations at which errors of the package are raised, and their messages."""
    for where, node in package():
        call = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(call, ast.Call) and is_name(call.func, *ERRORS) and call.args:
            yield where, call.args[0]


@pytest.mark.guard
@pytest.mark.promise("I2")
def test_the_words_of_every_error_stand_in_a_test(figure):
    # without the backslashes of patterns, and with strings over several lines joined
    joined = re.sub(
        r'"\s*\n\s*[rf]*"', "", "".join(path.read_text() for path in TESTS.glob("test_*.py"))
    ).replace("\\", "")
    found = [(where, pieces(message)) for where, message in messages()]
    found = [(where, words) for where, words in found if any(len(one) >= OWN for one in words)]
    windows = {
        where: {piece[i : i + KNOWN] for piece in words for i in range(len(piece) - KNOWN + 1)}
        for where, words in found
    }
    known = (
        set()
        .union(*windows.values())
        .intersection(joined[i : i + KNOWN] for i in range(len(joined)))
    )
    unknown = [where for where, parts in windows.items() if known.isdisjoint(parts)]
    assert len(found) > 100
    print("no test knows the words of", *unknown)
    figure(
        "errors with words that stand in a test, of all [%]",
        100.0 * (1.0 - len(unknown) / len(found)),
        at_least=95.0,
    )


# location: problem. Requirement. Fix. A filled-in value is \0; it may end a sentence.
FORM = re.compile(r"([^:]|:(?! ))+: .*[^ ][.?] [A-Z\0\"(].*[.?\0]", re.DOTALL)
WITHOUT_LOCATION = re.compile(r".*[^ ][.?] [A-Z\0\"(].*[.?\0]", re.DOTALL)
# Errors whose caller adds the location, or that end a search or a run.
LOCATED = (
    "measured/columns.py", "measured/folder.py", "measured/headings.py", "measured/text.py",
    "studies/measures.py",
)  # fmt: skip
OTHERS = (
    "contains a run of a different case and was not changed.", "No results were saved: ",
    ": the file was not written", "cannot be run: ", "every member failed, the first one with: ",
    "a step did not converge to an orbit ", " This is the first member.",
)  # fmt: skip


def composed(node):
    """Return the message of an error with a placeholder for each filled-in value."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(composed, node.values))
    if isinstance(node, ast.BinOp):
        return composed(node.left) + composed(node.right)
    if isinstance(node, ast.IfExp):
        return composed(node.body)
    if isinstance(node, ast.Call) and is_name(node.func, "error_text"):
        where, *parts = map(composed, node.args)
        return f"{where}: {'. '.join(parts)}."
    return "\0"


@pytest.mark.guard
@pytest.mark.promise("I2")
def test_every_error_has_a_location_a_problem_and_a_requirement(figure):
    found = [(where, composed(message)) for where, message in messages()]
    found = [(where, text) for where, text in found if len(text.replace("\0", "")) >= OWN]
    lacking = [
        where
        for where, text in found
        if not (WITHOUT_LOCATION if where.startswith(LOCATED) else FORM).fullmatch(text)
        and not any(piece in text for piece in OTHERS)
    ]
    old = [where for where, text in found if re.search(r"\bgot\b.*\ballowed\b", text)]
    assert len(found) > 300
    print("without location, problem or requirement:", *lacking, "; in the old form:", *old)
    figure("error messages without a requirement", len(lacking) + len(old), at_most=0)


def first_text(node):
    """Return the beginning of a text; "A" if it is not a literal in the call."""
    if isinstance(node, ast.JoinedStr):
        return first_text(node.values[0])
    if isinstance(node, ast.IfExp | ast.BinOp):
        return first_text(node.body if isinstance(node, ast.IfExp) else node.left)
    return str(node.value) if isinstance(node, ast.Constant) else "A"


@pytest.mark.guard
def test_every_problem_of_a_case_has_a_requirement_that_is_a_sentence():
    count, lacking = 0, []
    for where, node in package():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        at = {"add": 2, "check": 3}.get(node.func.attr)
        if is_name(node.func.value, "problems") and at and len(node.args) > at:
            count += 1
            if not first_text(node.args[at])[:1].isupper():
                lacking.append(where)
    assert count > 150 and not lacking
