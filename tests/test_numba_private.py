"""Private features of Numba: they are used where they exist, and results do not depend on them."""

import ast
import pickle
import platform
import re
from functools import lru_cache
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from numba.core.datamodel import default_manager
from support.rows import run_row, steel_row
from support.vectors import vector_width

import granchain
from granchain.contact import elementary
from granchain.contact.law_record import LawRecord
from granchain.engine import fields, setup
from granchain.jit import compile as jit_compile
from granchain.jit.accessors import ByAddress, by_address, gatherer, replaced, rows_from, store_rows
from granchain.jit.compile import VECTOR, compiled, frozen, rows, shared

# Names that Numba's manual does not document, outside numba, numba.extending, numba.types, and
# numba.core.errors, and options that it does not list (it lists forceinline since 0.62).
MOST_PRIVATE_NAMES = 5
UNLISTED_OPTIONS = {"no_cpython_wrapper", "no_cfunc_wrapper", "no_rewrites"}


def private_names():
    """Return names of Numba and llvmlite in granchain that can change with the next version of
    Numba."""
    names = set()
    texts = [file.read_text() for file in Path(granchain.__file__).parent.rglob("*.py")]
    for text in (text for text in texts if re.search("numba|llvmlite|no_rewrites|no_c", text)):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = node.module
                private = module.startswith(("numba.core", "numba._", "numba.np", "llvmlite"))
                if private and module != "numba.core.errors":
                    names |= {f"{module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names if alias.name.startswith("llvmlite")}
            elif isinstance(node, (ast.Constant, ast.keyword)):
                text = node.value if isinstance(node, ast.Constant) else node.arg
                names |= {text} & UNLISTED_OPTIONS if isinstance(text, str) else set()
    return names


def test_few_names_of_numba_may_change_with_its_next_version():
    assert len(private_names()) <= MOST_PRIVATE_NAMES, sorted(private_names())


# Instructions that compute the square root of several doubles at once: those of SSE2 and AVX (Intel
# 64 and IA-32 manual, vol. 2, SQRTPD) and of Arm (FSQRT, vector), with their registers.
INTEL, ARM = r"\bv?sqrtpd\s+.*%(?:x|y|z)mm", r"\bfsqrt(?:\.2d)?\s+v"
PACKED_ROOT = {"x86_64": INTEL, "AMD64": INTEL, "aarch64": ARM, "arm64": ARM}


def assembly(name):
    """Return LLVM's code of a law's loop, and its assembly on this computer."""
    files = run_row(steel_row(12), name, 2e-6).loop._cache._cache_file
    # the saved form of the library begins with name, kind, machine code, and LLVM's optimised
    # bitcode
    library, *_ = pickle.loads(Path(files._data_path(files._data_name(1))).read_bytes())
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
def test_the_sweep_of_hertz_takes_its_roots_in_whole_vectors():
    code, instructions = assembly("hertz")
    width = vector_width()
    # rows are padded to VECTOR contacts
    assert VECTOR % width == 0
    # in the sweep, and in the forces of a step that needs more values
    assert len(re.findall(rf"call <{width} x double> @llvm\.sqrt\.v{width}f64", code)) >= 2
    assert len(re.findall(PACKED_ROOT[platform.machine()], instructions)) >= 2


@pytest.mark.plain
def test_rows_are_compiled_in_vectors_gathered_replaced_and_written(jit):
    gather, store = gatherer(2), store_rows
    put, same = replaced(2, (1,)), replaced(2, (-1,))

    @rows
    def double(table, row, n):
        for k in range(n):
            a, b = gather(table, k)
            store(table, k, same(put((2.0 * a, b), (2.0 * b,)), (a,)))
            row[k] = a + b

    def loop(table, row):
        double(table, row, row.size)

    table, row = np.arange(16.0).reshape(2, 8), np.zeros(8)
    expected = table.sum(axis=0)
    compiled(loop)(table, row)
    np.testing.assert_array_equal(row, expected)
    np.testing.assert_array_equal(table, 2.0 * np.arange(16.0).reshape(2, 8))


@pytest.mark.plain
def test_rows_are_named_in_compiled_code_as_in_plain_python(jit):
    view = fields.events_view

    def loop(table, total):
        named = view(table)
        for k in range(named.listed.size):
            total[0] += named.active[k] * named.listed[k]
        # the table itself, not a copy
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
def test_rows_as_separate_arrays_are_those_of_the_table(jit):
    view, arrays = fields.bodies_view, fields.swept_bodies

    def loop(table, total):
        swept = arrays(view(table), 1)
        total[0] = swept.u[0] + 10.0 * swept.loads[1]
        swept.v[0] = 1.0 * swept.v.size

    table = np.arange(3.0 * len(fields.BODY)).reshape(len(fields.BODY), 3)
    plain, total = table.copy(), np.zeros((2, 1))
    loop(plain, total[0])
    compiled(loop)(table, total[1])
    loads = fields.BodyRows._fields.index("loads")
    assert total.tolist() == [[1.0 + 10.0 * (3 * loads + 2)]] * 2
    assert np.array_equal(table, plain) and table[1].tolist() == [3.0, 2.0, 5.0]


@pytest.mark.plain
def test_arrays_that_are_held_are_those_that_were_given(jit):

    def loop(drives):
        kept = by_address(drives)
        kept.knots[1] += kept.spline[1, 2]

    one, two = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    drives = fields.Followed(one, two)
    compiled(loop)(drives)
    assert one.tolist() == [0.0, 6.0, 2.0]
    # passed by its address
    kind = numba.typeof(drives)
    handed = default_manager[ByAddress(kind.types, kind.instance_class)].get_value_type()
    assert handed == default_manager[kind].get_value_type().as_pointer()


@pytest.mark.plain
def test_a_law_s_power_is_compiled_with_the_bits_of_plain_python(jit):
    # with all three functions that split a double
    def raise_each(x, y, out):
        for k in range(x.size):
            out[k] = elementary.power(x[k], y[k])

    (frozen_raise,) = frozen(rows(raise_each))

    def loop(x, y, out):
        frozen_raise(x, y, out)

    x, y, out = np.geomspace(1e-9, 1e9, 16), np.linspace(-3.0, 3.0, 16), np.zeros(16)
    compiled(loop)(x, y, out)
    assert out.tolist() == list(map(elementary.power, x.tolist(), y.tolist()))


@pytest.mark.plain
def test_what_is_shared_is_saved_by_itself(jit):

    @shared
    def twice(x):
        return 2.0 * x

    def loop(x):
        return twice(x)

    assert compiled(loop)(3.0) == 6.0
    assert len(list(jit.rglob("*.nbi"))) == 2


@pytest.mark.plain
def test_what_is_remembered_of_laws_is_bounded(plain_loop, monkeypatch):
    monkeypatch.setattr(jit_compile, "MOST_REACHES", 1)
    monkeypatch.setattr(jit_compile, "_reaches", reaches := {})
    assert setup.shared_record.cache_info().maxsize == 4096
    monkeypatch.setattr(setup, "shared_record", records := lru_cache(1)(LawRecord))
    for law in ("hertz", "tsuji"):
        run_row(steel_row(3), law, 1e-6).law_record()
        assert len(reaches) <= 1 and records.cache_info().currsize == 1
