"""The compiled loop follows its law: cached where nothing changed, compiled anew where anything did."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.processes import answer, python

from granchain.errors import LawError
from granchain.jit import cache
from granchain.jit.accessors import gatherer, put_rows
from granchain.jit.options import fingerprint

# A law in a file of its own, with a helper in another file and a constant: F = CONSTANT * helper(d).
LAW = """
    from granchain.contact.law import OPEN, ContactLaw, Quantity, Source
    from {helper} import shape

    CONSTANT = {constant}

    class Mine(ContactLaw):
        '''A spring of my own.'''
        name = "mine"
        source = Source("a test")
        coefficients = (Quantity("stiffness", "N/m", "K"),)

        @staticmethod
        def coefficients_of(pair, inputs):
            return (1.0e6,)

        @staticmethod
        def force(overlap, rate, c, h):
            d = overlap if overlap > OPEN else 0.0
            return {expression}

        @staticmethod
        def energy(overlap, c, h):
            d = overlap if overlap > OPEN else 0.0
            return 0.5 * CONSTANT * c[0] * d * d
"""

# Two bodies; prints the largest contact force, and how often the compiled loop came from the disk.
USE = """
    import sys, warnings
    sys.path.insert(0, {folder!r})
    import numpy as np
    from types import SimpleNamespace
    from {module} import Mine
    from granchain.chain import Chain
    from granchain.engine.setup import contacts_of
    from granchain.engine.timestep import time_step_of
    from granchain.engine.state import Recording, State
    from granchain.material import MATERIALS
    chain = Chain(
        radius=np.full(2, 1e-3), mass=np.full(2, 1e-3), velocity=np.array([1.0, 0.0]), material=(MATERIALS["steel-316"],),
        material_index=np.zeros(2, int), gap=np.zeros(1),
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        contacts = contacts_of(Mine, chain, SimpleNamespace())
        state = State(contacts, chain, time_step_of(contacts, chain, "auto", 2e-4), Recording())
        state.advance(10**9)
    hits = sum(state._loop.stats.cache_hits.values()) if hasattr(state._loop, "stats") else -1
    print(f"{{state.contacts.peak.max():.6f}}", hits, len([w for w in caught if "not kept on disk" in str(w.message)]))
"""

# The law's force alone, compiled and kept as a loop is; prints it, and how often it came from the disk.
FORCE = """
    import sys
    sys.path.insert(0, {folder!r})
    from {module} import Mine
    from my_force import made

    force = made(Mine.force)
    print(f"{{force(1e-6):.6f}}", sum(force.stats.cache_hits.values()))
"""
MADE = """
    from granchain.jit.cache import compiled

    def made(force):
        def at(overlap):
            return force(overlap, 0.0, (1.0e6,), ())

        return compiled(at)
"""


@pytest.fixture
def law_file(tmp_path: Path):
    """Write the law and its helper; returns a function that runs it in a new process."""
    folder = tmp_path / "cache"

    def run(constant: float = 1.0, expression: str = "CONSTANT * c[0] * shape(d)", helper: str = "d", use: str = USE, **environment: str):
        (tmp_path / "my_shape.py").write_text(f"def shape(d):\n    return {helper}\n")
        law = LAW.format(helper="my_shape", constant=constant, expression=expression)
        (tmp_path / "my_law.py").write_text(textwrap.dedent(law))
        (tmp_path / "my_force.py").write_text(textwrap.dedent(MADE))
        code = textwrap.dedent(use.format(folder=str(tmp_path), module="my_law"))
        environment.setdefault("NUMBA_CACHE_DIR", str(folder))
        return answer(code, PYTHONDONTWRITEBYTECODE="1", **environment).split()

    return run


# Two equal masses m = 1 g at 1 m/s with a linear spring K: largest force v sqrt(K m/2), by energy.
def largest(stiffness: float) -> float:
    return (stiffness * 0.5e-3) ** 0.5


@pytest.mark.long
def test_a_loop_is_compiled_anew_where_the_code_under_it_was_edited_and_only_there(law_file):
    first = law_file()
    assert first[1:] == ["0", "0"]
    assert float(first[0]) == pytest.approx(largest(1e6), rel=1e-4)
    # a second process loads it from the disk, after an edited comment too
    assert law_file() == [first[0], "1", "0"]
    assert law_file(expression="CONSTANT * c[0] * shape(d)  # as before") == [first[0], "1", "0"]
    # the deepest edit: a helper, in another file, of the law's force
    edited = law_file(helper="9.0 * d")
    assert edited[1] == "0"
    assert float(edited[0]) == pytest.approx(largest(9e6), rel=1e-4)


@pytest.mark.long
def test_an_edited_law_helper_or_constant_compiles_anew(law_file):
    # the force alone, compiled as the loop is: a second a time instead of five
    def force(**edit) -> list[str]:
        return law_file(use=FORCE, **edit)

    # c = (1e6,) at an overlap of a micrometre
    assert force() == ["1.000000", "0"]
    assert force() == ["1.000000", "1"]
    assert force(expression="4.0 * CONSTANT * c[0] * shape(d)") == ["4.000000", "0"]
    assert force(helper="9.0 * d") == ["9.000000", "0"]
    assert force(constant=16.0) == ["16.000000", "0"]
    assert force() == ["1.000000", "1"]


@pytest.mark.long
def test_an_unwritable_cache_folder_runs_uncached_and_says_so(law_file, tmp_path: Path):
    # no folder can be made below a file
    (tmp_path / "a-file").write_text("")
    locators = "UserProvidedCacheLocator"
    said = law_file(NUMBA_CACHE_DIR=str(tmp_path / "a-file" / "cache"), NUMBA_CACHE_LOCATOR_CLASSES=locators)
    assert float(said[0]) == pytest.approx(largest(1e6), rel=1e-4)
    assert int(said[2]) >= 1


def test_laws_with_the_same_functions_share_one_loop():
    code = """
        import sys; sys.path.insert(0, "tests")
        from types import SimpleNamespace
        from granchain.contact import laws
        from granchain.contact.model import Functions
        from granchain.engine.loop import loop_of
        from granchain.jit.options import frozen
        from granchain.engine.contact_step import features_of
        known = laws()
        names = ("flores", "hunt-crossley", "lankarani-nikravesh")
        models = [known[name].model(SimpleNamespace()) for name in names]
        loops = {id(loop_of(Functions(*frozen(*model.functions)), features_of(model, True, False, False))) for model in models}
        print(len(loops))
    """
    assert answer(textwrap.dedent(code)) == "1"


@pytest.mark.plain
def test_any_number_of_quantities_is_gathered_and_scattered_without_loss():
    import numpy as np

    table = np.arange(60.0).reshape(20, 3)
    for count in (0, 1, 2, 7, 20):
        values = gatherer(count)(table, 1)
        assert values == tuple(table[:count, 1])
        copy = np.zeros_like(table)
        put_rows(copy, 2, values)
        assert tuple(copy[:count, 2]) == values
        assert copy.sum() == sum(values)


@pytest.mark.plain
def test_a_law_that_reaches_something_else_than_a_plain_function_is_refused():
    with pytest.raises(LawError, match="allowed: a plain Python function"):
        fingerprint(max)


def test_the_fingerprint_sees_code_constants_and_helpers_and_nothing_else():
    space: dict = {"SCALE": 2.0}
    exec("def helper(x):\n    return x\ndef law(x):\n    return SCALE * helper(x)\n", space)
    before = fingerprint(space["law"])
    assert fingerprint(space["law"]) == before
    space["SCALE"] = 3.0
    with_constant = fingerprint(space["law"])
    assert with_constant != before
    exec("def helper(x):\n    return x + 1.0\n", space)
    assert fingerprint(space["law"]) not in (before, with_constant)


def test_a_process_that_fails_says_why():
    assert python("raise SystemExit(3)").returncode == 3


@pytest.mark.long
def test_loops_from_several_processes_keep_their_own_functions_in_one(tmp_path: Path):
    # Each law's loop is compiled in a process of its own, into a file of its own: two processes that compile at the same time must not
    # leave one law's loop under the other's number. A third process loads both, and each still calls its own functions.
    code = """
        import sys; sys.path.insert(0, "tests")
        from support.rows import run_row, steel_row
        for law in LAWS:
            state = run_row(steel_row(6), law, 2e-5)
            print(law, state.clock.allowed_step.item().hex(), state.h.sum().hex(), state.records.energies[-1].sum().hex())
    """
    laws = ("ma-liu", "thornton")
    alone = [answer(textwrap.dedent(code).replace("LAWS", repr((law,))), tmp_path) for law in laws]
    together = answer(textwrap.dedent(code).replace("LAWS", repr(laws)), tmp_path)
    assert together.splitlines() == alone
    indices = sorted(path.name for path in tmp_path.rglob("*.nbi"))
    assert len({name.split("-")[0] for name in indices}) == len(indices) == 2


@pytest.mark.plain
def test_the_cache_folder_is_named_or_why_there_is_none(monkeypatch) -> None:
    assert Path(cache.cache_folder()).is_absolute()

    def nowhere(function, key) -> None:
        raise RuntimeError("no folder can be written")

    monkeypatch.setattr(cache, "_LOOP_CACHE", nowhere)
    assert cache.cache_folder() == "none: no folder can be written"
    monkeypatch.setattr(cache, "_LOOP_CACHE", None)
    assert cache.cache_folder() == "none: this Numba has no cache that can be checked"
