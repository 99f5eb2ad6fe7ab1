"""What Numba does not promise to keep: used where it is there, and not needed for the numbers."""

import json
import pickle
import platform
import re
import textwrap
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from numba.core.datamodel import default_manager
from support import state_hashes
from support.processes import answer
from support.rows import run_row, steel_row

from granchain.contact import elementary
from granchain.engine import fields, setup
from granchain.errors import GranchainWarning
from granchain.jit import cache, fingerprint, options, private
from granchain.jit.accessors import ByAddress, by_address, gatherer, rows_from, store_rows
from granchain.jit.cache import compiled, loop_content
from granchain.jit.options import VECTOR, one_by_one, rows

# What may be missing in another Numba, by module: some names of it, or the module.
WITHOUT: dict[str, list[str]] = {
    "numba.core.lowering": ["Lower"],
    "numba.core.cpu": ["CPUTargetOptions"],
    "numba.core.caching": [],
    "numba.core.bytecode": ["FunctionIdentity"],
    "numba.core.dispatcher": ["Dispatcher"],
}
# What is then lost.
LOST = (
    "a loop takes longer to compile, and its sweeps are not taken in whole vectors (",
    "each slice of a table costs two atomic additions",
    "a loop takes longer to compile (",
    "what loops share is compiled again for each law (",
    "compiled loops are not saved, and each process compiles them again",
    "a law that reaches @njit functions is refused",
)

# Hashes of all that some laws' runs compute, under a Numba that lacks these; and what is said.
RUN = """
    import json, sys, types, warnings; sys.path.insert(0, "tests")
    import granchain.jit.private as private
    missing, real = {missing!r}, private.import_module

    def found(name):
        if missing.get(name) == []:
            raise ImportError(f"no module {{name}}")
        names = missing.get(name, ())
        left = {{key: value for key, value in vars(real(name)).items() if key not in names}}
        return types.SimpleNamespace(**left) if names else real(name)

    private.import_module = found
    from support import state_hashes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hashes = {{law: state_hashes.{question}(law) for law in {laws!r}}}
    ours = [one for one in caught if one.category.__name__ == "GranchainWarning"]
    print(json.dumps([hashes, [str(one.message) for one in ours]]))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("question", "names"),
    [("few", ["hertz", "ma-liu", "tsuji"]), ("scans", ["hertz", "jackson-green"])],
)
def test_without_what_numba_does_not_promise_the_bits_are_the_same_and_it_is_said(
    question: str, names: list[str], tmp_path: Path
) -> None:
    code = textwrap.dedent(RUN.format(missing=WITHOUT, laws=names, question=question))
    hashes, (said,) = json.loads(answer(code, tmp_path))
    assert hashes == {name: state_hashes.QUESTIONS[question](name) for name in names}
    assert said.startswith(f"granchain was not tested with Numba {numba.__version__}. Results do ")
    assert "Results do not change, but " in said and all(lost in said for lost in LOST)
    assert list(tmp_path.rglob("*.nbi")) == []


def test_with_this_numba_nothing_is_missing() -> None:
    assert private.LACKS == []
    assert options._COMPILERS and options.IN_PLACE and options.UNCOUNTED and options.UNCALLED_FROM_C


# Instructions that take the square root of several doubles at once: SSE2's and AVX's (Intel 64 and
# IA-32 manual, vol. 2, SQRTPD), and Arm's (FSQRT, vector), with the registers that they work on.
INTEL, ARM = r"\bv?sqrtpd\s+.*%(?:x|y|z)mm", r"\bfsqrt(?:\.2d)?\s+v"
PACKED_ROOT = {"x86_64": INTEL, "AMD64": INTEL, "aarch64": ARM, "arm64": ARM}


def assembly(name: str) -> tuple[str, str]:
    """LLVM's code of a law's loop, and the assembly that it becomes on this machine."""
    files = run_row(steel_row(12), name, 2e-6).loop._cache._cache_file
    # as it was saved: first its library: name, kind, machine code and LLVM's bitcode, optimised
    library, *_ = pickle.loads(loop_content(files._data_path(files._data_name(1))))
    _, _, (_, bitcode) = library
    module = llvm.parse_bitcode(bitcode)
    target, cpu = llvm.Target.from_default_triple(), llvm.get_host_cpu_name()
    features = llvm.get_host_cpu_features().flatten()
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3)
    return str(module), machine.emit_assembly(module)


@pytest.mark.skipif(
    platform.machine() not in PACKED_ROOT,
    reason="the instructions of this processor are not known here",
)
def test_the_sweep_of_hertz_takes_its_roots_in_whole_vectors() -> None:
    code, instructions = assembly("hertz")
    # in the sweep, and in the forces of a step at which more is asked
    assert len(re.findall(rf"call <{VECTOR} x double> @llvm\.sqrt\.v{VECTOR}f64", code)) >= 2
    assert len(re.findall(PACKED_ROOT[platform.machine()], instructions)) >= 2


@pytest.mark.plain
def test_rows_are_compiled_in_vectors_gathered_and_written(jit: Path) -> None:
    gather, store = gatherer(2), store_rows

    @rows
    def double(table, row, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            a, b = gather(table, k)
            store(table, k, (2.0 * a, 2.0 * b))
            row[k] = a + b

    def loop(table, row):  # type: ignore[no-untyped-def]
        double(table, row, row.size)

    table, row = np.arange(16.0).reshape(2, 8), np.zeros(8)
    expected = table.sum(axis=0)
    compiled(loop)(table, row)
    np.testing.assert_array_equal(row, expected)
    np.testing.assert_array_equal(table, 2.0 * np.arange(16.0).reshape(2, 8))


@pytest.mark.plain
@pytest.mark.parametrize("asked", [True, False])
def test_a_loop_that_llvm_cannot_take_in_vectors_is_not_asked_to_be(
    asked: bool, jit: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def carry(row, n):  # type: ignore[no-untyped-def]
        carried = 0.0
        for k in range(n):
            carried = 0.5 * carried + row[k]
            row[k] = carried

    inner = rows(carry) if asked else rows(one_by_one(carry))

    def loop(row):  # type: ignore[no-untyped-def]
        inner(row, row.size)

    row = np.ones(3)
    compiled(loop)(row)
    assert row.tolist() == [1.0, 1.5, 1.75]
    assert ("loop not vectorized" in capfd.readouterr().err) == asked


@pytest.mark.plain
def test_rows_are_named_in_compiled_code_as_in_plain_python(jit: Path) -> None:
    view = fields.events_view

    def loop(table, total):  # type: ignore[no-untyped-def]
        named = view(table)
        for k in range(named.listed.size):
            total[0] += named.active[k] * named.listed[k]
        # of the table itself, not a copy
        from_second = rows_from(named, 1)
        from_second.changed[0] = 75 + from_second.changed.size

    table = np.arange(3 * len(fields.EVENT), dtype=np.int64).reshape(len(fields.EVENT), 3)
    plain, total = view(table.copy()), np.zeros(1, np.int64)
    before = {name: getattr(plain, name).tolist() for name in plain._fields}
    compiled(loop)(table, total)
    expected = sum(a * b for a, b in zip(before["active"], before["listed"], strict=True))
    assert total[0] == expected
    changed = plain._fields.index("changed")
    assert table[changed].tolist() == [before["changed"][0], 77, before["changed"][2]]


@pytest.mark.plain
def test_arrays_that_are_held_are_those_that_were_given(jit: Path) -> None:

    def loop(drives):  # type: ignore[no-untyped-def]
        kept = by_address(drives)
        kept.knots[1] += kept.spline[1, 2]

    one, two = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    drives = fields.Followed(one, two)
    compiled(loop)(drives)
    assert one.tolist() == [0.0, 6.0, 2.0]
    # handed by its address
    kind = numba.typeof(drives)
    handed = default_manager[ByAddress(kind.types, kind.instance_class)].get_value_type()
    assert handed == default_manager[kind].get_value_type().as_pointer()


@pytest.mark.plain
def test_a_law_s_power_is_compiled_with_the_bits_of_plain_python(jit: Path) -> None:
    # with all three functions that take a double apart
    def raise_each(x, y, out):  # type: ignore[no-untyped-def]
        for k in range(x.size):
            out[k] = elementary.power(x[k], y[k])

    (frozen_raise,) = options.frozen(rows(raise_each))

    def loop(x, y, out):  # type: ignore[no-untyped-def]
        frozen_raise(x, y, out)

    x, y, out = np.geomspace(1e-9, 1e9, 16), np.linspace(-3.0, 3.0, 16), np.zeros(16)
    compiled(loop)(x, y, out)
    assert out.tolist() == list(map(elementary.power, x.tolist(), y.tolist()))


@pytest.mark.plain
def test_what_is_missing_is_noted_with_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private, "LACKS", lacks := [])
    monkeypatch.setattr(cache, "LACKS", lacks)
    assert (
        private.where_available(lambda: private.private("numba", "njit"), "nothing") is numba.njit
    )
    assert private.where_available(lambda: private.private("numba.nowhere", "x"), "this") is None
    assert options._hidden("no_such_option", True, "that") == {}
    assert [text.partition(" (")[0] for text in lacks] == ["this", "that"]
    cache.tell_what_numba_lacks.cache_clear()
    tried = r"granchain was not tested with Numba .*\. Results do not change, but "
    with pytest.warns(GranchainWarning, match=tried + "this .*; that "):
        cache.tell_what_numba_lacks()
    cache.tell_what_numba_lacks()  # once
    monkeypatch.setattr(fingerprint, "_DISPATCHER", None)
    assert fingerprint.plain_of(numba.njit(lambda x: x)) is None


@pytest.mark.plain
def test_what_is_shared_is_saved_by_itself(jit: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    @options.shared
    def twice(x):  # type: ignore[no-untyped-def]
        return 2.0 * x

    def loop(x):  # type: ignore[no-untyped-def]
        return twice(x)

    assert compiled(loop)(3.0) == 6.0
    assert len(list(jit.rglob("*.nbi"))) == 2
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    cache.compile_shared(twice)  # nothing is compiled


@pytest.mark.plain
def test_what_is_remembered_of_laws_is_bounded(
    plain_loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "MOST_REACHES", 1)
    monkeypatch.setattr(options, "_reaches", reaches := {})
    monkeypatch.setattr(setup, "MOST_RECORDS", 1)
    monkeypatch.setattr(setup, "_records", records := {})
    for law in ("hertz", "tsuji"):
        run_row(steel_row(3), law, 1e-6).law_record()
        assert len(reaches) <= 1 and len(records) == 1
