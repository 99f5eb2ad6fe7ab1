"""The compiled loop depends on its law: it is cached as long as the law is unchanged, and compiled
again after a change."""

import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.processes import answer

from granchain.contact import laws
from granchain.contact.model import Functions
from granchain.engine.contact_step import features_of
from granchain.engine.loop import loop_of
from granchain.engine.recording import Recording
from granchain.errors import LawError
from granchain.jit import compile as jit_compile
from granchain.jit.accessors import gatherer, store_rows
from granchain.jit.compile import fingerprint, frozen


@pytest.mark.plain
def test_laws_with_the_same_functions_share_one_loop():
    models = [
        laws()[name].model(SimpleNamespace())
        for name in ("flores", "hunt-crossley", "lankarani-nikravesh")
    ]
    loops = {
        loop_of(Functions(*frozen(*model.functions)), features_of(model, Recording()))
        for model in models
    }
    assert len(loops) == 1
    with pytest.raises(LawError, match="must be plain Python functions"):
        fingerprint(max)


@pytest.mark.plain
def test_any_number_of_quantities_is_gathered_and_scattered_without_loss():
    table = np.arange(60.0).reshape(20, 3)
    for count in (0, 1, 2, 7, 20):
        values = gatherer(count)(table, 1)
        assert values == tuple(table[:count, 1])
        copy = np.zeros_like(table)
        store_rows(copy, 2, values)
        assert tuple(copy[:count, 2]) == values
        assert copy.sum() == sum(values)


@pytest.mark.long
def test_loops_from_several_processes_keep_their_own_functions_in_one(tmp_path):
    # Each law's loop is compiled in its own process and file: two processes that compile at the
    # same time must not store one law's loop under the number of the other. A third process loads
    # both loops, and each calls its own functions.
    code = """
        import sys; sys.path.insert(0, "tests")
        from support.rows import run_row, steel_row
        for law in LAWS:
            state = run_row(steel_row(6), law, 2e-5)
            sums = state.clock.allowed_step.item(), state.h.sum(), state.records.energies[-1].sum()
            print(law, *(value.hex() for value in sums))
    """
    names, code = ("ma-liu", "thornton"), textwrap.dedent(code)
    alone = [answer(code.replace("LAWS", repr((law,))), tmp_path) for law in names]
    together = answer(code.replace("LAWS", repr(names)), tmp_path)
    assert together.splitlines() == alone
    indices = sorted(path.name for path in tmp_path.rglob("*.nbi"))
    # and the functions that do not depend on the law, which the first process compiled
    assert len({name.split("-")[0] for name in indices}) == len(indices)
    assert sum("loop_" in name for name in indices) == 2


@pytest.mark.plain
def test_the_cache_folder_is_named_or_why_there_is_none(monkeypatch):
    assert Path(jit_compile.cache_folder()).is_absolute()

    def nowhere(function):
        raise RuntimeError("no folder can be written")

    monkeypatch.setattr(jit_compile, "LoopCache", nowhere)
    assert jit_compile.cache_folder() == "none: no folder can be written"
