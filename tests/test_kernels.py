"""The C code of the benchmarks computes and stores the same values as the engine, bit for bit."""

import ast
import ctypes
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from granchain.certificates import example_inputs
from granchain.contact import elementary, laws
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.status import Status

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
# A pulse crosses 16 beads, 76 mm, at 573 m/s (Ma-Liu, the slowest) in 133 us; 5000 steps of 4.2e-8
# s are longer.
N_BODIES, STEPS = 17, 5000


@pytest.mark.guard
def test_names_that_a_benchmark_imports_from_granchain_exist():
    # CI runs only one of the benchmarks
    trees = [ast.parse(file.read_text()) for file in BENCHMARKS.glob("*.py")]
    assert trees
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("granchain"):
            module = importlib.import_module(str(node.module))
            for name in (alias.name for alias in node.names):
                submodule = f"{node.module}.{name}"
                assert hasattr(module, name) or importlib.util.find_spec(submodule), submodule


@pytest.fixture(scope="module")
def kernels():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        import kernels as module
    if module.compiler() is None:
        pytest.skip("no C compiler here")
    return module


@pytest.fixture(scope="module")
def libraries(kernels, tmp_path_factory):
    # the optimiser does not change bits: the fast compilation suffices
    kernels.OPTIONS = ("-O1", *(option for option in kernels.OPTIONS if option != "-O3"))
    return kernels.compiled(tmp_path_factory.mktemp("kernels"), kernels.WIDTHS[-1:])


@pytest.mark.parametrize("law", ["hertz", "ma-liu", "flores"])
def test_every_form_has_the_engines_bits(law, kernels, libraries):
    chains = sys.modules["steel_chain"]
    run = chains.run_of(law, chains.steel_chain(N_BODIES), example_inputs(laws()[law]))
    run = replace(run, step=replace(run.step, n_steps=STEPS))
    state = State(run.contacts, run.chain, run.step, Recording())
    assert state.advance(STEPS + 1) is Status.COMPLETE
    u, v = (row[1 : N_BODIES + 1] for row in (state.bodies.u, state.bodies.v))
    kept = [
        row[: N_BODIES + 1]
        for row in (state.contacts.force, state.contacts.peak, state.contacts.largest_overlap)
    ]
    # the pulse has reached the last bead, and the first contacts have opened
    assert v[-1] > 0.1 and kept[0][1] == 0.0 and (kept[1][1:N_BODIES] > 1.0).all()
    raced = 0
    for keep in (False, True):
        for all_beads in (False, True):
            for name, contender in kernels.forms(libraries, run, keep, all_beads).items():
                kernel = contender.prepare()
                for mine, its in zip((u, v), kernel(), strict=True):
                    np.testing.assert_array_equal(
                        its, mine, err_msg=f"{name}, keep {keep}, all beads {all_beads}"
                    )
                if keep:
                    for mine, its in zip(kept, kernel.kept(), strict=True):
                        closed = mine > 0.0
                        np.testing.assert_array_equal(
                            its[closed], mine[closed], err_msg=f"{name}, all beads {all_beads}"
                        )
                raced += 1
    assert raced >= (4 if law == "ma-liu" else 8)


def test_root_by_reciprocal_is_the_square_root(kernels, libraries):
    library = libraries[max(libraries)]
    if not hasattr(library, "root_by_rsqrt"):
        pytest.skip("no AVX-512 here")
    # all mantissas and exponents of overlaps; any seed
    draw = np.random.default_rng(5)
    x = draw.uniform(1.0, 4.0, 200_000) * 4.0 ** draw.integers(-90, 2, 200_000)
    x[:4] = 0.0, 4.0, 1.0, 2.25
    root = np.empty_like(x)
    library.root_by_rsqrt(
        x.ctypes.data_as(kernels.DOUBLES), root.ctypes.data_as(kernels.DOUBLES), x.size
    )
    np.testing.assert_array_equal(root, np.sqrt(x))


def test_elementary_functions_have_the_bits_of_the_laws(kernels, libraries):
    # all bit patterns, and the overlaps and exponents of laws; any seed
    draw, n = np.random.default_rng(6), 20_000
    x = draw.integers(0, 2**64, n, dtype=np.uint64).view(np.float64)
    x[::2] = np.exp(draw.uniform(-140.0, 10.0, n // 2))
    y = draw.uniform(-3.0, 3.0, n)
    found = [np.empty(n) for _ in range(3)]
    libraries[max(libraries)].elementary(
        *(values.ctypes.data_as(kernels.DOUBLES) for values in (*found, x, y)), ctypes.c_long(n)
    )
    for name, its in zip(("log", "exp", "power"), found, strict=True):
        function, more = getattr(elementary, name), (y.tolist(),) if name == "power" else ()
        mine = np.array(list(map(function, x.tolist(), *more)))
        np.testing.assert_array_equal(its, mine, err_msg=name)


@pytest.mark.parametrize("law", ["hertz", "ma-liu"])
def test_c_across_chains_has_the_engines_bits_when_freed_memory_is_used_again(
    law, kernels, libraries, monkeypatch
):
    monkeypatch.syspath_prepend(BENCHMARKS)
    many = importlib.import_module("many")
    # test_many.py compiles the loop over members
    monkeypatch.setattr("granchain.engine.batch.COMPILED", sys.maxsize)
    chains, members, library = sys.modules["steel_chain"], 16, libraries[max(libraries)]
    run = chains.run_of(law, chains.steel_chain(N_BODIES), example_inputs(laws()[law]))
    run = replace(run, step=replace(run.step, n_steps=STEPS // 10))
    if not hasattr(library, many.IN_C[law]):
        pytest.skip("no vectors of eight numbers here")
    for all_beads in (False, True):
        engine = many.granchain(run, members, all_beads).prepare()()
        timed = many.across(library, run, members, all_beads).prepare()
        # NumPy reuses freed memory of the same size: if an array was freed too early, results
        # differ
        again = [np.full(size, np.nan) for size in range(1, 64) for _ in range(20)]
        for mine, its in zip(engine, timed(), strict=True):
            np.testing.assert_array_equal(its, mine, err_msg=f"all beads {all_beads}")
        assert np.isnan(again[-1]).all()
