"""An edited law never runs its old loop.

All kinds of edits, in one process and across processes, in place and in two folders."""

import functools
import json
import math
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from support.law_edits import (
    CONSTANTS,
    IN_FILES,
    IN_PROCESS,
    NJIT,
    NUMBA,
    OVERLAP,
    PLAIN_ONLY,
    STIFFNESS,
    Files,
    compiled,
    copied,
    forces,
    importable,
    load,
    of,
    plain,
    scanned,
)
from support.processes import answer
from support.rows import contacts_of, steel_row

from granchain.certificates import certificate
from granchain.contact import laws
from granchain.contact.guard import Elastoplastic
from granchain.contact.law import ContactLaw, Functions, Quantity, Source
from granchain.contact.user import load_law_module
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.timestep import time_step_of
from granchain.errors import LawError
from granchain.jit import compile as loops
from granchain.jit.compile import fingerprint, frozen
from granchain.jit.reach import REACHABLE, Reach

pytestmark = pytest.mark.usefixtures("own_laws")


@pytest.mark.plain
def test_hash_and_copy_follow_an_edit_of_a_file(tmp_path, jit):
    for kind in IN_FILES | PLAIN_ONLY:
        found = []
        for files in (IN_FILES | PLAIN_ONLY)[kind]:
            files.write(tmp_path)
            law = load(tmp_path).Mine
            functions = law.functions()
            assert copied(law) == plain(law), kind
            assert fingerprint(*frozen(*functions)) == fingerprint(*functions), kind
            found.append((plain(law), fingerprint(*functions)))
        # the same file, read again
        assert fingerprint(*load(tmp_path).Mine.functions()) == found[-1][1], kind
        (before, hash_before), (after, hash_after) = found
        assert before != after and hash_before != hash_after, kind


def in_process(kind, folder, value):
    """Return a value of the law before and after an action while the law is loaded."""
    files, action = IN_PROCESS[kind]
    files.write(folder)
    module = load(folder)
    before = value(module.Mine)
    with importable(folder):
        exec(action, module.__dict__)
    return before, value(module.Mine)


TWO_THREE = (
    pytest.approx(2.0 * STIFFNESS * OVERLAP, rel=1e-15),
    pytest.approx(3.0 * STIFFNESS * OVERLAP, rel=1e-15),
)


@pytest.mark.plain
def test_hash_copy_and_scan_follow_an_edit_in_memory(tmp_path, jit):
    for kind in IN_PROCESS:
        # the long test scans compiled functions
        for value in (copied, scanned) if "@" not in kind else (copied,):
            assert in_process(kind, tmp_path, value) == TWO_THREE, kind
        before, after = in_process(kind, tmp_path, lambda law: fingerprint(*law.functions()))
        assert before != after, kind


@pytest.mark.plain
def test_what_a_function_calls_is_found_in_defaults_and_compiled_functions(jit):
    one, two, three = ((lambda x: x) for _ in range(3))
    made = numba.njit(three)

    def caller(x, f=one):
        return f(x) + two(x) + made(x) + abs(x)

    assert Reach(caller).members[0] is caller
    assert set(Reach(caller).members[1:]) == {one, two, three}


@pytest.mark.plain
def test_what_can_be_written_to_in_place_is_never_current(jit):
    numbers, factor = np.ones(2), 2.0
    made = numba.njit(lambda x: factor * x)
    for function in (lambda x: numbers[0] * x, lambda x: made(x), lambda x, *, k=2.0: k * x):
        assert not Reach(function).is_current()

    def of_a_number(x):
        return factor * x

    found = Reach(of_a_number)
    assert found.is_current()
    factor = 3.0
    assert not found.is_current() and Reach(of_a_number).fingerprint != found.fingerprint


@pytest.mark.parametrize(
    "kind", ["an array written to", "a constant of an @njit function assigned"]
)
def test_a_compiled_loop_follows_an_edit_in_memory(kind, tmp_path):
    assert in_process(kind, tmp_path, compiled) == TWO_THREE


def written(kinds, which, folder):
    """Return folders, one per kind, with the files before (0) or after (1) the edit."""
    for number, kind in enumerate(kinds):
        IN_FILES[kind][which].write(folder / f"{number}")
    return [str(folder / f"{number}") for number in range(len(kinds))]


def in_a_process(folders, cache):
    """Return plain and compiled forces of the law of each folder in a new process, and loads from
    the disk."""
    code = f"""
        import json, sys; sys.path.insert(0, "tests")
        from support import law_edits
        print(json.dumps(law_edits.forces({folders!r})))
    """
    return json.loads(answer(textwrap.dedent(code), cache))


def stale(found, kinds):
    """Return the kinds whose compiled force differs from the force of the current law."""
    return [
        kind
        for kind, (now, computed, _) in zip(kinds, found, strict=True)
        if computed != pytest.approx(now, rel=1e-14)
    ]


def test_files_of_one_name_share_no_loop_and_an_unchanged_law_is_not_compiled_again(tmp_path, jit):
    folders = []
    for name, number in (("one", 2.125), ("other", 3.125)):
        Files(f"{NUMBA}K = {number}\n" + of(NJIT, "K * x"), "shape(d) / d").write(tmp_path / name)
        folders.append(str(tmp_path / name))
    first, second = forces(folders), in_a_process(folders[::-1], jit)
    for found, hits in ((first, 0), (second, 1)):
        assert stale(found, ["one", "two"]) == [] and [one[2] for one in found] == [hits] * 2
    assert first[0][0] != first[1][0]


@pytest.mark.long
@pytest.mark.promise("R3")
def test_no_kind_of_edit_leaves_a_stale_loop(tmp_path, figure):
    kinds, cache = list(IN_FILES), tmp_path / "cache"
    old = []
    # in place, then in two folders, across processes
    for which, place in ((0, "place"), (1, "place"), (1, "folder 1"), (0, "folder 0")):
        old += stale(in_a_process(written(kinds, which, tmp_path / place), cache), kinds)
    for first in range(0, len(kinds), 20):  # in two folders, in one process
        some = kinds[first : first + 20]
        both = written(some, 0, tmp_path / "one") + written(some, 1, tmp_path / "two")
        old += stale(in_a_process(both, tmp_path / "another cache"), some + some)
    for kind in kinds:  # in place, in one process
        for which in (0, 1):
            (folder,) = written([kind], which, tmp_path / "here")
            law = load(Path(folder)).Mine
            old += [kind] if compiled(law) != pytest.approx(plain(law), rel=1e-14) else []
    for kind in IN_PROCESS:
        old += [kind] if in_process(kind, tmp_path / "memory", compiled) != TWO_THREE else []
    assert old == []
    count = len(IN_FILES) + len(IN_PROCESS)
    figure("kinds of edit of a law and of what it reaches", count, at_least=60)
    figure(
        "stale loops, in one process and across, in place and in two folders", len(old), at_most=0
    )


# Objects that a law may not use: lines above the force, the force, and the message; alone: the type
# of K.
NUMBERS, PLAIN = "Use constants, a tuple, or", "Use a plain function instead"
STEEL = CONSTANTS.replace("{}", "2")
OF_NJIT = "numba.core.registry.CPUDispatcher"
REFUSED = {
    "dict": ("K = {'a': 2.0}", "K['a']", "dict", NUMBERS),
    "list in a tuple": ("K = (1.0, [2.0])", "K[1][0]", "list", NUMBERS),
    # Numba has no type for this object
    "tuple of functions": (
        "def one(x):\n    return x\nK = (one, abs)", "K[0](d)", "K, a tuple with a function",
        "Call each function by its own name",
    ),
    "function deep in a tuple": (
        "K = (1.0, (2.0, np.sqrt))", "K[1][1](d)", "K, a tuple with a function",
        "Call each function by its own name",
    ),
    "class": ("class K:\n    B = 2.0", "K.B", "K.B, a class", "to the top level of the file"),
    "object": ("class K:\n    B = 2.0\nK = K()", "K.B", "K.B, an object of type law.K", NUMBERS),
    "partial": (
        "import functools\nK = functools.partial(max, 2.0)", "K(d)", "functools.partial", PLAIN,
    ),
    "long double": ("K = np.longdouble(2.0)", "K", "numpy.longdouble", NUMBERS),
    "array of objects": ("K = np.array([2.0, None])", "K[0]", "numpy.ndarray", NUMBERS),
    "masked array": ("K = np.ma.array([2.0])", "K[0]", "numpy.ma.MaskedArray", NUMBERS),
    "module enclosed": (
        "import near\ndef maker(m):\n    return lambda x: m and 2.0\nshape = maker(near)",
        "shape(d)", "m, a whole module", "Use one of its attributes",
    ),
    "default": (
        "def shape(x, k=[2.0]):\n    return k[0]", "shape(d)", "default 0, an object of type list",
        NUMBERS,
    ),
    "dataclass as a whole": (STEEL, "float(hash(steel))", "steel, an object", NUMBERS),
    "its dictionary": (STEEL, "len(steel.__dict__)", "steel.__dict__, an object", NUMBERS),
    "enum as a whole": (STEEL, "float(Phase(2))", "Phase, a class", ""),
    "value of a member": (STEEL, "float(Phase.CLOSED.value)", "Phase.CLOSED.value, an object", ""),
    **{
        f"a function under @{way}": (
            f"import numba\n@numba.{way}\ndef K(x):\n    return x", "K(d)", kind, PLAIN,
        )
        for way, kind in (
            ("njit(fastmath=True)", OF_NJIT), ("njit('float64(float32)')", OF_NJIT),
            ("njit(locals={'y': numba.float32})", OF_NJIT),
            ("vectorize", "numba.np.ufunc.dufunc.DUFunc"),
        )
    },
}  # fmt: skip
# The line in the message, if it is not the line of the force.
ELSEWHERE = {
    "default": ("shape", "def shape(x, k="),
    "module enclosed": ("maker.<locals>.<lambda>", "return lambda"),
}


@pytest.mark.plain
def test_what_cannot_be_hashed_is_refused_by_name_with_line_and_advice(tmp_path, jit):
    file = tmp_path / "law.py"
    for kind, (top, expression, what, advice) in REFUSED.items():
        Files(top, expression, "B = 2.0").write(tmp_path)
        with pytest.raises(LawError) as caught:
            fingerprint(*load(tmp_path).Mine.functions())
        said = str(caught.value)
        reader, sought = ELSEWHERE.get(kind, ("Mine.force", f"c[0] * d * ({expression})"))
        texts = enumerate(file.read_text().splitlines(), start=1)
        line = next(number for number, text in texts if sought in text)
        what = what if ", " in what else f"K, an object of type {what}"
        assert said.startswith(f"{file}, line {line}: {reader} reads {what}")
        assert f"A law may read {REACHABLE}. " in said and advice in said[-80:]


def test_a_law_that_no_run_would_take_has_no_certificate(tmp_path):
    file = tmp_path / "mine.py"
    Files("K = {'a': 2.0}", "K['a']").write(tmp_path)
    file.write_text((tmp_path / "law.py").read_text())
    load_law_module(file)
    with pytest.raises(LawError, match=r"Mine\.force reads K, an object of type dict"):
        certificate("mine")


@pytest.mark.plain
def test_a_name_that_stands_for_nothing_is_left_to_python(tmp_path):
    Files("import near", "near.missing + nothing if rate < 0.0 else 2.0").write(tmp_path)
    module = load(tmp_path)
    before = fingerprint(*module.Mine.functions())
    assert copied(module.Mine) == plain(module.Mine)
    module.nothing = 3.0
    assert fingerprint(*module.Mine.functions()) != before

    def maker():
        def shape(x):
            return k * x

        if x_is_given:
            k = 2.0
        return shape

    x_is_given = False
    assert fingerprint(maker()) == fingerprint(*frozen(maker()))
    x_is_given = True
    assert frozen(maker())[0](2.0) == 4.0


@pytest.mark.plain
def test_a_switch_of_numbas_that_changes_the_code_is_part_of_the_hash(monkeypatch):
    force = laws()["hertz"].force
    before = fingerprint(force)
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1 if not numba.config.BOUNDSCHECK else 0)
    assert fingerprint(force) != before


@pytest.mark.plain
def test_an_unchanged_function_comes_from_the_disk(jit):
    made = []
    for factor in (2.0, 2.0, 3.0):

        def scaled(x, factor=factor):
            return factor * x

        def at(x):
            return scaled(x)

        made.append(loops.compiled(at))
        assert made[-1](4.0) == 4.0 * factor
    assert [sum(one.stats.cache_hits.values()) for one in made] == [0, 1, 0]


# A law that declares everything that a law can declare.
WHOLE = """
from granchain.contact.law import OPEN, ContactLaw, Quantity, Source
import numpy as np
TABLE = np.array([1.0, 2.0])
class Whole(ContactLaw):
    'A law with everything.'
    name = "whole"
    source = Source("a test")
    coefficients = (Quantity("stiffness", "N/m", "K"),)
    history = (Quantity("closed", "1", "1 while it is closed"),)
    uses_rate = False
    forgets = False
    @staticmethod
    def coefficients_of(pair, inputs):
        return (1e6,)
    @staticmethod
    def force(overlap, rate, c, h):
        return TABLE[0] * c[0] * (overlap if overlap > OPEN else 0.0)
    history_of = staticmethod(lambda c: (0.0,))
    needs_update = staticmethod(lambda overlap, rate, c, h: (overlap > OPEN) != (h[0] > 0.5))
    update = staticmethod(lambda event, c, h: (1.0 - h[0],))
    evolve = staticmethod(lambda dt, before, overlap, c, h: (h, 0.0))
    energy = staticmethod(lambda overlap, c, h: 0.5 * c[0] * max(overlap, 0.0) ** 2)
    plastic = staticmethod(lambda c, h: 0.0 * h[0])
    overlap_limit = staticmethod(lambda c: 1e-3)
    jumps = staticmethod(lambda c: (1e-4,))
    jump = staticmethod(lambda overlap, rate, c, h: 0.0)
"""
LAW_EDITS = {
    "coefficients_of": ("(1e6,)", "(1.0000001e6,)"),
    "history_of": ("lambda c: (0.0,)", "lambda c: (-0.0,)"),
    "force": ("return TABLE[0]", "return TABLE[1]"),
    "array": ("[1.0, 2.0]", "[1.0000001, 2.0]"),
    "needs_update": ("> 0.5", ">= 0.5"),
    "update": ("(1.0 - h[0],)", "(1.0 - 1.0 * h[0],)"),
    "evolve": ("(h, 0.0)", "(h, -0.0)"),
    "energy": ("0.5 * c", "0.6 * c"),
    "plastic": ("0.0 * h", "1.0 * h"),
    "overlap_limit": ("1e-3", "2e-3"),
    "jumps": ("(1e-4,)", "(2e-4,)"),
    "jump": ("h: 0.0", "h: 1.0"),
    "uses_rate": ("uses_rate = False", "uses_rate = True"),
    "forgets": ("forgets = False", "forgets = True"),
    "name of a history quantity": ('Quantity("closed"', 'Quantity("shut"'),
    "what of it is written": ("it is closed", 'it is closed", output=True, default="'),
    "unit of a coefficient": ('"N/m"', '"N/m^1.0"'),
}


def set_up_of(folder, text):
    """Return the set-up in a checkpoint of a run with this law; the file is loaded again, as in a
    notebook."""
    file = folder / "whole.py"
    file.write_text(text)
    law, chain = load_law_module(file)["whole"], steel_row(2)
    contacts = contacts_of(law, chain, SimpleNamespace())
    state = State(contacts, chain, time_step_of(contacts, chain, 1e-7, 1e-6), Recording())
    return state.set_up, state.law_record().text


@pytest.mark.plain
def test_a_checkpoint_is_of_the_law_that_wrote_it(tmp_path):
    one = set_up_of(tmp_path, WHOLE)
    assert set_up_of(tmp_path, WHOLE) == one
    assert set_up_of(tmp_path, WHOLE.replace("return (1e6,)", "return (1e6,)  # as before")) == one
    for what, (old, new) in LAW_EDITS.items():
        assert WHOLE.count(old) >= 1
        assert set_up_of(tmp_path, WHOLE.replace(old, new)) != one, what


@pytest.mark.guard
@pytest.mark.plain
def test_every_function_of_a_law_is_in_the_checkpoint_and_among_the_edits():
    assert set(Functions._fields) < set(LAW_EDITS)
    static = {name for name, value in vars(ContactLaw).items() if isinstance(value, staticmethod)}
    # the first one is called before a run, and the others after it
    assert set(Functions._fields) == static - {
        "coefficients_of",
        "contact_radius",
        "plastic_overlap",
    }


@pytest.mark.plain
def test_a_function_put_in_the_place_of_one_that_an_elastoplastic_law_declares_counts(tmp_path):
    class Line(Elastoplastic):
        """A straight line."""

        name = "line"
        source = Source("a test")
        coefficients = (Quantity("stiffness", "N/m", "K"),)
        elastic_limit = staticmethod(lambda c: 0.0)
        elastic_stiffness = staticmethod(lambda c: c[0])
        loading = staticmethod(lambda d, c: 2.0 * c[0] * d)
        loading_work = staticmethod(lambda d, c: c[0] * d * d)
        residual = staticmethod(lambda d_max, force_max, c: 0.5 * d_max)

    for factor in (2.0, 3.0):
        Line.loading = staticmethod(lambda d, c, factor=factor: factor * c[0] * d)
        law = Line.model(SimpleNamespace()).functions
        c = (1e6, *12 * (0.0,))
        h = law.update((1e-6, 0.0, 0.0, 1.0), c, law.history_of(c))
        assert law.force(1e-6, 0.0, c, h) == pytest.approx(factor, rel=1e-12)


@pytest.mark.plain
def test_a_function_put_in_a_librarys_place_is_followed(tmp_path, jit, monkeypatch):
    Files("", "math.sqrt(4.0)").write(tmp_path)
    law, mine = load(tmp_path).Mine, functools.wraps(math.sqrt)(lambda x: 7.0)
    before, value = fingerprint(*law.functions()), copied(law)
    with monkeypatch.context() as patched:
        patched.setattr("math.sqrt", mine)
        assert fingerprint(*law.functions()) != before
        assert copied(law) == plain(law) == pytest.approx(3.5 * value, rel=1e-15)
    assert fingerprint(*law.functions()) == before and copied(law) == value
