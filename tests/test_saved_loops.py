"""If the cache of compiled loops is damaged, full or not writable, granchain warns and compiles
again."""

import os
import pickle
import re
import resource
import secrets
import shutil
import warnings
from itertools import product

import numba
import pytest

from granchain.errors import GranchainWarning
from granchain.jit.compile import compiled, compiling

pytestmark = pytest.mark.plain


@pytest.fixture
def cache(jit):
    """Numba compiles, and saves the code in this folder."""
    return jit


def run(factor=3.0):
    """Return the value of a loop in a new process, the number of cache hits, and the warnings."""

    def loop(x):
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


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "no pickle": lambda path: path.write_bytes(b"no pickle"),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


def files(cache):
    """Return the paths of index and code of the only function."""
    (index,), (code,) = cache.rglob("*.nbi"), cache.rglob("*.nbc")
    return {"index": index, "code": code}


@pytest.mark.promise("R8")
def test_a_damaged_file_of_a_loop_costs_a_warning_and_a_compilation(cache):
    assert run() == (6.0, 0, [])
    for kind, which in product(DAMAGES, ("index", "code")):
        DAMAGES[kind](files(cache)[which])
        value, hits, said = run()
        assert (value, hits) == (6.0, 0), (kind, which)
        if (kind, which) == ("a folder", "code"):
            # Numba treats a file that it cannot open as missing
            assert said[0].startswith("a compiled loop was not saved: ")
        else:
            assert said[0].startswith(f"a compiled loop in {cache}"), (kind, which)
            assert "cannot be loaded (" in said[0], (kind, which)
            assert said[0].endswith("granchain compiles it again. Results do not change.")
        if kind == "a folder":
            shutil.rmtree(cache)
            assert run() == (6.0, 0, [])
        else:
            # the next process finds complete files
            assert len(said) == 1 and run() == (6.0, 1, []), (kind, which)


def test_missing_files_of_a_loop_and_those_of_another_numba_are_compiled_anew(cache):
    run()
    for which in ("index", "code"):
        files(cache)[which].unlink()
        assert run() == (6.0, 0, [])
    assert run() == (6.0, 1, [])
    index = files(cache)["index"]
    content, version = index.read_bytes(), pickle.dumps(numba.__version__, protocol=-1)
    assert content.startswith(version)
    index.write_bytes(pickle.dumps("0.1", protocol=-1) + content[len(version) :])
    assert run() == (6.0, 0, [])
    assert run() == (6.0, 1, [])


@pytest.mark.promise("R8")
def test_a_full_disk_under_the_cache_costs_a_warning(cache):
    # the files of this process cannot grow, so that writing fails as on a full disk
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
def test_a_cache_folder_that_is_taken_away_meanwhile_costs_a_warning(cache):
    def loop(x):
        return 5.0 * x

    made = compiled(loop)
    (folder,) = (path for path in cache.iterdir())
    shutil.rmtree(folder)
    folder.write_text("")
    with pytest.warns(GranchainWarning) as caught:
        assert made(2.0) == 10.0
    said = [str(warning.message) for warning in caught]
    assert re.match("a compiled loop in .* cannot be loaded", said[0])
    assert re.match("a compiled loop was not saved: .*set NUMBA_CACHE_DIR", said[1])


def test_a_loop_in_no_cache_is_told_of_once_before_it_is_compiled():
    told = []
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
        # two dispatchers: the second one finds the file of the first
        loop, before = compiled(scaled), compiling.seconds
        compiling.on_compiling = lambda: told.append(1)
        assert loop(2.0) == 2.0 * scale
        assert len(told) == times and compiling.seconds > before
    compiling.on_compiling = None
