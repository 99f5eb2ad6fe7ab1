"""User-defined contact laws, from a file that is loaded by its path."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import traceback
from pathlib import Path
from types import CodeType, ModuleType

from granchain.contact import laws
from granchain.contact.law import ContactLaw, reinstate
from granchain.errors import FileError, LawError

# Prefix of the name of a user's module; the stem of its file follows.
PREFIX = "granchain_law_"
# Hash of the content of each user's file when its module was made.
_FILE_HASHES: dict[str, str] = {}
_OWN_FOLDER = os.fspath(Path(__file__).parents[1]) + os.sep


def load_law_module(path: str | os.PathLike[str]) -> dict[str, type[ContactLaw]]:
    """Run a Python file that defines contact laws, so that cases can use them.

    The code of the file is executed, so load only files that you trust.

    Parameters
    ----------
    path : str or path
        Law file. It can import modules next to it only if they are on Python's path.

    Returns
    -------
    dict
        Laws that the file defines, by name.

    Raises
    ------
    FileError
        If the file cannot be read.
    LawError
        If its code fails, or if it defines no law, an invalid law, or one with an existing name.
    """
    file, named = Path(os.path.abspath(path)), os.fspath(path)
    code, digest = _code_of(file, named)
    # All laws of the package are loaded first, so that their names are reserved.
    before = dict(laws())
    name = module_name(file)
    module, loaded = ModuleType(name), sys.modules.get(name)
    module.__file__ = str(file)
    if loaded is not None and loaded.__file__ != module.__file__:
        raise LawError(
            f"law file {named}: a file with this name is already loaded, {loaded.__file__}. The "
            "names must differ. Rename one of the two."
        )
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
    except BaseException as error:
        reinstate(before)
        sys.modules.pop(name)
        if loaded is not None:
            sys.modules[name] = loaded
        if from_outside(error):
            raise
        fault = blame(error, file).rstrip(".")
        raise LawError(f"law file {named}: {fault}. Correct the file there.") from error
    defined = {law: made for law, made in laws().items() if before.get(law) is not made}
    if not defined:
        raise LawError(
            f"law file {named}: the file defines no contact law. It must define at least one. "
            "Define a class based on granchain.ContactLaw and set its name."
        )
    _FILE_HASHES[name] = digest
    return defined


def loaded_content(path: str | os.PathLike[str]) -> str | None:
    """Return the hash of the content that a law file had when this process loaded it.

    It is None if the process has not loaded the file.
    """
    name = module_name(Path(path))
    loaded = sys.modules.get(name)
    return _FILE_HASHES.get(name) if loaded and loaded.__file__ == os.path.abspath(path) else None


def module_name(file: Path) -> str:
    """Return the name of the module that is made from a law file."""
    return PREFIX + re.sub(r"\W", "_", file.stem)


def from_outside(error: BaseException) -> bool:
    """Check if an error is an interruption of a user's code.

    It is raised by Python, or by a handler of this package that ends the process.
    """
    if isinstance(error, KeyboardInterrupt):
        return True
    *_, (last, _) = traceback.walk_tb(error.__traceback__)
    return isinstance(error, SystemExit) and last.f_code.co_filename.startswith(_OWN_FOLDER)


def blame(error: BaseException, file: str | os.PathLike[str]) -> str:
    """Describe an error in a user's file: the line, if known, and the message."""
    frames = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == os.fspath(file)
    ]
    line, message = (frames[-1] if frames else None), str(error).strip()
    if not isinstance(error, LawError):
        message = f"{type(error).__name__}{': ' + message if message else ''}"
    return (f"line {line}: " if line else "") + message


def file_of(law: type[ContactLaw]) -> str | None:
    """Return the user's file that a law was loaded from; None for a law of a package."""
    if not law.__module__.startswith(PREFIX):
        return None
    return getattr(sys.modules.get(law.__module__), "__file__", None)


def _code_of(file: Path, named: str) -> tuple[CodeType, str]:
    """Return the current code of a file and the hash of its content.

    Python's cache of compiled files would miss an edit within a second.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise OSError(0, "a folder or a device")
        content = file.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            f"law file {named}: cannot be read ({reason}). It must be a Python file. Check its "
            "name and permissions."
        ) from None
    try:
        code = compile(content, os.fspath(file), "exec", dont_inherit=True)
        return code, hashlib.sha256(content).hexdigest()
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        said = getattr(error, "msg", str(error).strip()) or type(error).__name__
        raise LawError(
            f"law file {named}: {where}{said}. The file must be valid Python. Correct it there."
        ) from None
