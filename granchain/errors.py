"""The exceptions of the package, and the functions that compose their messages.

Every message has the form `location: problem. Requirement. Fix.`
"""

import contextlib
import sys

# Replaces typing.TYPE_CHECKING, because typing takes longer to import than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


class GranchainError(Exception):
    """Base of all errors from invalid input, failed runs, or files."""


class _MistakesError(GranchainError):
    """Errors that are reported together."""

    def __init__(self, problems: "list[str] | str"):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class CaseError(_MistakesError):
    """A case that cannot be run; `problems` lists every error in it.

    Parameters
    ----------
    problems : list of str
        One message each: location, problem, requirement, fix.
    """


class TraceError(_MistakesError):
    """A measured trace that is not valid, or that cannot be compared; `problems` lists every error
    in it.

    Parameters
    ----------
    problems : list of str
        One message each: location, problem, requirement, fix.
    """


class LawError(GranchainError):
    """A contact law that is not valid, or that lacks a quantity it needs."""


class RunError(GranchainError):
    """A run that failed: unstable, not finite, outside the range of the law, or with a large energy
    balance error.

    Parameters
    ----------
    message : str
        The message for the user.
    result : object, optional
        Result up to the failure.
    """

    def __init__(self, message: str, result: object = None):
        super().__init__(message)
        self.result = result


class FileError(GranchainError):
    """A file that cannot be read or written."""


@contextlib.contextmanager
def finite_force(law: "Any") -> "Iterator[None]":
    """Report an arithmetic error in a law of the package with the name of the law.

    In a user's law, Python reports the line.
    """
    try:
        yield
    except (ArithmeticError, ValueError) as error:
        if not law.__module__.startswith("granchain."):
            raise
        raise LawError(
            f"contact.law {law.name}: the force is not finite for these values ({error}). They "
            "must be of the order of real bodies. Check radius, mass, modulus, yield stress, the "
            "inputs of the law, and their units."
        ) from None


def nearest(word: str, choices: "Iterable[str]") -> str | None:
    """Return the allowed word that is most similar to a word; None if none is similar."""
    from difflib import get_close_matches

    matches = get_close_matches(word[:60], list(choices), 1)
    return matches[0] if matches else None


def suggestion(word: object, choices: "Iterable[str]", otherwise: str) -> str:
    """Suggest the known word that an unknown one may have meant, or return `otherwise`."""
    close = nearest(word, choices) if isinstance(word, str) else None
    return otherwise if close is None else f'Did you mean "{close}"?'


def error_text(where: str, problem: str, requirement: str, fix: str = "") -> str:
    """Compose an error message: `location: problem. Requirement. Fix.`

    Example: error_text("chain.beads", "-3 is out of range", "It must be 1 or more").
    """
    fix = fix[:1].upper() + fix[1:]
    parts = [sentence.rstrip() for sentence in (problem, requirement, fix) if sentence]
    ended = [sentence if sentence.endswith((".", "?")) else f"{sentence}." for sentence in parts]
    return f"{where}: {' '.join(ended)}"


def printable(text: str) -> str:
    """Return text on one line without control characters, safe to show on a terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def clean(text: str) -> str:
    """Return text without control characters, safe to show on a terminal or a page.

    Line breaks are unchanged.
    """
    return "\n".join(printable(line) for line in text.split("\n"))


class GranchainWarning(UserWarning):
    """A warning about a run or its input; the run continues."""


class MissingPackage(GranchainError, ModuleNotFoundError):  # noqa: N818
    """A required package that is not installed."""


class _MissingFinder:
    """Last finder of missing modules.

    If a module of granchain imports one of these packages, the error explains how to install it.
    Other code that imports it gets Python's own message.
    """

    PACKAGES = ("scipy", "matplotlib", "pandas", "xarray", "h5netcdf", "bokeh")

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> None:
        """Raise the error, or return None."""
        frame = sys._getframe(1)
        while frame.f_back and frame.f_globals.get("__name__", "").startswith("importlib."):
            frame = frame.f_back
        asks = str(frame.f_globals.get("__name__"))
        if name in cls.PACKAGES and asks.startswith("granchain."):
            raise MissingPackage(
                f"{name}: package not found. This function needs it. Install it with "
                f"pip install {name}.",
                name=name,
            )


sys.meta_path.append(_MissingFinder)
