"""The same case gives the same bits: in several processes and threads, with a full and an empty
cache, and on a simpler processor. test_reference_loop.py and test_restart.py test blocks and
records."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.processes import answer

import granchain as gc
from granchain.store import open_answer

ROOT = Path(gc.__file__).parents[1]

# A law without rate and history, one with history, and one with a rate.
KEYS = ("chain.beads=12", "sensors.beads=[1, 9]", "sensors.contacts=[0, 3]", "time.end=1e-4")
CASES = {
    "hertz": ("contact.law=hertz", *KEYS),
    "ma-liu": KEYS,
    "flores": ("contact.law=flores", "contact.restitution=0.7", *KEYS),
}


def data_hash(*changes):
    """Return the hash of all data of a run."""
    found = gc.run(gc.load_case("steel-chain", changes)).provenance["data_sha256"]
    return found


# Return the hashes that another process computes for the same runs.
SCRIPT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import granchain as gc
for changes in {{cases!r}}:
    print(gc.run(gc.load_case("steel-chain", changes)).provenance["data_sha256"])
"""


def hashes_elsewhere(names, cache=None, **environment):
    return answer(
        SCRIPT.format(cases=[CASES[name] for name in names]), cache, **environment
    ).splitlines()


@pytest.mark.promise("R3")
def test_threads_give_the_same_data(figure):
    expected = {name: data_hash(*changes) for name, changes in CASES.items()}
    jobs = [*CASES] * 6
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda name: data_hash(*CASES[name]), jobs))
    assert found == [expected[name] for name in jobs]
    figure("runs in four threads at once whose data are bit-identical", len(found), at_least=18)


@pytest.mark.promise("R3")
def test_another_process_gives_the_same_data_and_the_file_keeps_their_hash(tmp_path):
    expected = [data_hash(*changes) for changes in CASES.values()]
    # the number of threads of BLAS and Numba, and the order of Python's sets, do not affect a run
    environment = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "7"}
    assert hashes_elsewhere([*CASES], **environment) == expected
    for i, changes in enumerate(CASES.values()):
        gc.run(gc.load_case("steel-chain", changes)).save(tmp_path / f"{i}.h5")
        found = open_answer(tmp_path / f"{i}.h5")
        assert found.data_sha256 == found.provenance["data_sha256"] == expected[i]


@pytest.mark.promise("R3")
@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled here"
)
@pytest.mark.long
@pytest.mark.parametrize("names", [["hertz"], ["ma-liu", "flores"]], ids=", ".join)
def test_a_plain_processor_and_a_cold_and_a_warm_cache_give_the_same_data(names, tmp_path):
    """Compiled for a generic processor of the same kind, by a process with an empty cache, and
    loaded from the cache by another process."""
    expected, kept = [data_hash(*CASES[name]) for name in names], []
    plainer = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    for _ in ("compiles", "loads"):
        assert hashes_elsewhere(names, tmp_path, **plainer) == expected
        kept.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")})
    # otherwise the second process has compiled too, and the test shows nothing
    assert kept[0] and kept[0] == kept[1]
