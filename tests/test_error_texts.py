"""Every error has a test that knows its words, by the source of the package and the tests."""

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
# As many letters of a sentence as no other text has by chance; a sentence whose longest piece is
# shorter than the next passes on another error's words.
KNOWN, OWN = 14, 24


def pieces(node: ast.expr) -> list[str]:
    """The words of a sentence, between what is filled in."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return [piece for value in node.values for piece in pieces(value)]
    if isinstance(node, ast.BinOp):
        return pieces(node.left) + pieces(node.right)
    if isinstance(node, ast.IfExp):
        return pieces(node.body) + pieces(node.orelse)
    return []


@cache
def sentences() -> list[tuple[str, list[str]]]:
    """Where an error of ours is raised, with the words of its sentence."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Raise)
                and isinstance(node.exc, ast.Call)
                and isinstance(node.exc.func, ast.Name)
                and node.exc.args
            ):
                words = pieces(node.exc.args[0])
                if node.exc.func.id in ERRORS and any(len(piece) >= OWN for piece in words):
                    found.append((f"{path.relative_to(PACKAGE)}:{node.lineno}", words))
    return found


@pytest.mark.promise("I2")
def test_the_words_of_every_error_stand_in_a_test(figure):
    # without the backslashes of patterns, and strings in several lines in one
    joined = re.sub(
        r'"\s*\n\s*[rf]*"', "", "".join(path.read_text() for path in TESTS.glob("test_*.py"))
    ).replace("\\", "")
    found = sentences()
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
        "errors with words that stand in a test, total error [%]",
        100.0 * (1.0 - len(unknown) / len(found)),
        at_least=95.0,
    )


# Files whose sentences say it in their own order.
ELSEWHERE = ("traces/", "store/foreign.py", "jit/cache.py")


@pytest.mark.promise("I2")
def test_every_error_says_what_was_got_and_what_is_allowed(figure):
    # the system's, another's error or a search that ends: nothing would be allowed
    asked = (
        "; mend it, or install another version",
        "came no nearer to an orbit",
        "to_xarray needs xarray",
        "written, but the disk did not confirm",
        ": reading it does not end",
        ": reading it ends the program",
    )
    found = [
        (where, "".join(words)) for where, words in sentences() if not where.startswith(ELSEWHERE)
    ]
    lacking = [
        where
        for where, text in found
        if not ("got" in text and "allowed" in text)
        and not (text.endswith(".") and ". " in text)
        and not any(words in text for words in asked)
    ]
    assert len(found) > 90
    print("says not what was got, or not what is allowed:", *lacking)
    figure("error messages without a requirement", len(lacking), at_most=0)
