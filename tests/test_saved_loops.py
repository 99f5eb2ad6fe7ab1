"""A damaged, full or unwritable cache of compiled loops costs a warning and a compilation."""

import os
import pickle
import resource
import secrets
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import pytest

from granchain.errors import GranchainWarning
from granchain.jit.cache import LOOP_SEAL_LENGTH, compiled, compiling, loop_content, sealed

pytestmark = pytest.mark.plain


@pytest.fixture
def cache(jit: Path) -> Path:
    """Numba compiles, and keeps the code here."""
    return jit


def run(factor: float = 3.0) -> tuple[float, int, list[str]]:
    """A new process's loop: what it computes, how often it came from the disk, what was said."""

    def loop(x):  # type: ignore[no-untyped-def]
        return factor * x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = compiled(loop)
        value = made(2.0)
    return (
        value,
        sum(made.stats.cache_hits.values()),
        [str(one.message) for one in caught if one.category is GranchainWarning],
    )


def flipped(path: Path, draw: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    content[draw.integers(len(content))] ^= 1 << draw.integers(8)
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path, np.random.Generator], object]] = {
    "a flipped bit": flipped,
    "empty": lambda path, draw: path.write_bytes(b""),
    "cut": lambda path, draw: os.truncate(path, int(draw.integers(1, path.stat().st_size))),
    "without its seal": lambda path, draw: os.truncate(
        path, path.stat().st_size - LOOP_SEAL_LENGTH
    ),
    "another file's content": lambda path, draw: path.write_bytes(
        sealed("another file", path.read_bytes()[:-LOOP_SEAL_LENGTH])
    ),
}


def files(cache: Path) -> dict[str, Path]:
    """The index and the code of the only function."""
    (index,), (code,) = cache.rglob("*.nbi"), cache.rglob("*.nbc")
    return {"index": index, "code": code}


@pytest.mark.promise("R8")
@pytest.mark.parametrize(
    ("kind", "which"),
    [(kind, ("index", "code")[n % 2]) for n, kind in enumerate((*DAMAGES, "a flipped bit"))],
)
def test_a_damaged_file_of_a_loop_is_removed_with_a_warning_and_compiled_anew(
    kind: str, which: str, cache: Path
) -> None:
    assert run() == (6.0, 0, [])
    DAMAGES[kind](files(cache)[which], np.random.default_rng(7))
    value, hits, (said,) = run()
    # the run goes on, and the next one finds the file whole
    assert (value, hits) == (6.0, 0) and run() == (6.0, 1, [])
    assert said.startswith(f"the file {cache}") and "granchain removed it" in said
    assert said.endswith("compiles the loop again. Results do not change.")


def test_a_missing_file_of_a_loop_is_compiled_anew_without_a_word(cache: Path) -> None:
    run()
    for which in ("index", "code"):
        files(cache)[which].unlink()
        assert run() == (6.0, 0, [])
    assert run() == (6.0, 1, [])


def test_a_file_that_cannot_be_taken_away_is_said_and_the_run_goes_on(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    flipped(files(cache)["code"], np.random.default_rng(1))

    def refused(path: Path, missing_ok: bool) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "unlink", refused)
    value, hits, said = run()
    assert (value, hits, len(said)) == (6.0, 0, 1)
    assert (
        "granchain could not remove it (Operation not permitted) and compiles the loop again"
        in said[0]
    )
    unread = "of a compiled loop cannot be read: Is a directory. granchain could not remove it"
    with pytest.warns(GranchainWarning, match=unread):
        assert loop_content(str(cache)) is None


def test_whole_files_of_another_numba_or_that_cannot_be_loaded_are_compiled_anew(
    cache: Path,
) -> None:
    run()
    index, code = files(cache).values()
    content, version = loop_content(str(index)), pickle.dumps(numba.__version__, protocol=-1)
    assert content.startswith(version)
    other = pickle.dumps("0.1", protocol=-1) + content[len(version) :]
    index.write_bytes(sealed(index.name, other))
    assert run() == (6.0, 0, [])
    assert run() == (6.0, 1, [])
    code.write_bytes(sealed(code.name, b"no pickle"))
    value, hits, said = run()
    assert (value, hits) == (6.0, 0)
    assert len(said) == 2 and all("cannot be loaded (UnpicklingError" in one for one in said)
    assert run() == (6.0, 1, [])


@pytest.mark.promise("R8")
def test_a_full_disk_under_the_cache_costs_a_warning(cache: Path) -> None:
    # no file of this process may grow: as on a full disk, the write fails
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        value, hits, (said,) = run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (value, hits) == (6.0, 0) and "set NUMBA_CACHE_DIR" in said
    assert said.startswith("a compiled loop was not saved: [Errno 27] File too large")
    assert list(cache.rglob("*.nb*")) == []


@pytest.mark.promise("R8")
def test_a_cache_folder_that_is_taken_away_meanwhile_costs_a_warning(cache: Path) -> None:
    def loop(x):  # type: ignore[no-untyped-def]
        return 5.0 * x

    made = compiled(loop)
    (folder,) = (path for path in cache.iterdir())
    shutil.rmtree(folder)
    folder.write_text("")
    with pytest.warns(
        GranchainWarning, match="a compiled loop was not saved: .*set NUMBA_CACHE_DIR"
    ):
        assert made(2.0) == 10.0


def test_a_loop_in_no_cache_is_told_of_once_before_it_is_compiled():
    told: list[int] = []
    compiling.on_compiling = lambda: told.append(1)
    compiling.begin()
    compiling.begin()
    assert told == [1]
    if numba.config.DISABLE_JIT:
        return
    scale = secrets.randbits(40) + 0.5

    def scaled(x):
        return scale * x

    for times in (2, 2):
        # by another dispatcher: the second one finds the file of the first
        loop, before = compiled(scaled), compiling.seconds
        compiling.on_compiling = lambda: told.append(1)
        assert loop(2.0) == 2.0 * scale
        assert len(told) == times and compiling.seconds > before
    compiling.on_compiling = None
