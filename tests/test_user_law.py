"""A law in a file of the user, loaded by path: found laws, and messages for errors."""

import json
import os
import pickle
import signal
import subprocess
import sys
from types import SimpleNamespace

import numba
import pytest
from numba.core.errors import TypingError
from support.processes import LONGEST
from support.rows import contacts_of, standing_row

from granchain.cli.interrupts import Interruption
from granchain.contact import laws
from granchain.contact.law import ContactLaw
from granchain.contact.model import reads_rate
from granchain.contact.user import PREFIX, blame, file_of, load_law_module
from granchain.engine import chain_sweep
from granchain.errors import FileError, LawError
from granchain.jit.compile import compiled, frozen, refusal_of

LAW = '''
from granchain.contact.law import OPEN, ContactLaw, Quantity, Source, positive

class Spring(ContactLaw):
    """A spring of my own."""
    name = "own-spring"
    source = Source("a test")
    inputs = (positive("stiffness", "N/m", "K"),)
    coefficients = (Quantity("stiffness", "N/m", "K"),)

    @staticmethod
    def coefficients_of(pair, inputs):
        return (inputs.stiffness,)

    @staticmethod
    def force(overlap, rate, c, h):
        return c[0] * (overlap if overlap > OPEN else 0.0)

    @staticmethod
    def energy(overlap, c, h):
        d = overlap if overlap > OPEN else 0.0
        return 0.5 * c[0] * d * d
'''
FORCE_LINE = (
    LAW.splitlines().index("        return c[0] * (overlap if overlap > OPEN else 0.0)") + 1
)
COEFFICIENTS_LINE = LAW.splitlines().index("        return (inputs.stiffness,)") + 1


pytestmark = [pytest.mark.plain, pytest.mark.usefixtures("own_laws")]


def test_a_law_of_a_file_is_known_by_its_name_and_by_its_file(here):
    (here / "my-law.py").write_text(LAW)
    (found,) = load_law_module("my-law.py").values()
    assert laws()["own-spring"] is found
    assert found.force(2.0, 0.0, (3.0,), ()) == 6.0
    assert file_of(found) == str(here / "my-law.py")
    assert file_of(laws()["hertz"]) is None
    # functions belong to the module of this name, because Numba's cache and pickle search for it
    assert found.__module__ == "granchain_law_my_law"
    assert sys.modules[found.force.__module__].Spring is found
    assert pickle.loads(pickle.dumps(found.force)) is found.force
    # after its module is removed, it has no file
    sys.modules.pop(found.__module__)
    assert issubclass(found, ContactLaw) and file_of(found) is None


def test_a_file_that_was_mended_is_loaded_anew_also_within_the_same_second(here, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    loaded = []
    # Python's cache of compiled files compares size and time of the file, which are equal here
    for factor in ("0.5", "0.7"):
        (here / "own.py").write_text(LAW.replace("0.5", factor))
        os.utime("own.py", (1, 1))
        loaded.append(load_law_module("own.py")["own-spring"])
    assert [law.energy(1.0, (1.0,), ()) for law in loaded] == [0.5, 0.7]
    assert laws()["own-spring"] is loaded[1]


BAD = {
    "x = 1\ndef f(:\n": "line 2: invalid syntax. The file must be valid Python. Correct",
    # nested without an end
    "a." * 100_000 + "a": "during compilation. The file must be valid Python.",
    "x = '\x00'": "null bytes",
    "\nimport nothing_of_that_name\n": (
        "line 2: ModuleNotFoundError: No module named 'nothing_of_that_name'. Correct"
    ),
    "raise SystemExit": "line 1: SystemExit. Correct the file there.",
    "x = 1": "the file defines no contact law. It must define at least one. Define a class based "
    "on granchain.ContactLaw",
    LAW.replace("    @staticmethod\n    def force", "    def force"): (
        "force: not a static method. It must be"
    ),
    LAW.replace("own-spring", "hertz"): (
        'line 4: contact law Spring: name: "hertz" already exists. It is the name of'
    ),
}
UNREAD = "cannot be read "
NO_FILE = {
    "pipe.py": UNREAD + "(a folder or a device). It must be a Python file",
    "none.py": UNREAD + "(No such file or directory). It must be a Python file",
    ".": UNREAD + "(a folder or a device). It must be a Python file",
    "nu\0ll.py": "embedded null ",
    "x" * 300 + ".py": UNREAD + "(File name too long). It must be a Python file",
}


def test_a_file_without_a_law_that_can_be_used_is_refused_with_line_and_reason(here):
    before = dict(laws())
    os.mkfifo(here / "pipe.py")
    for text, words in BAD.items():
        (here / "bad.py").write_text(text)
        with pytest.raises(LawError) as caught:
            load_law_module("bad.py")
        assert str(caught.value).startswith("law file bad.py: ") and words in str(caught.value)
    for name, words in NO_FILE.items():
        with pytest.raises(FileError) as unread:
            load_law_module(name)
        assert str(unread.value).startswith(f"law file {name}: ") and words in str(unread.value)
    assert laws() == before
    # the second of two files with the same name
    (here / "other").mkdir()
    for folder in (here, here / "other"):
        (folder / "twin.py").write_text(LAW)
    load_law_module("twin.py")
    twice = r"law file other/twin\.py: a file with this name is already loaded, .*/twin\.py\."
    with pytest.raises(LawError, match=twice):
        load_law_module("other/twin.py")


def test_a_law_of_a_file_is_listed_and_what_the_file_prints_is_no_result(here, obeyed):
    (here / "my-law.py").write_text(LAW + '\nprint("said by the law file")\n')
    said = obeyed("laws", "--law-module", "my-law.py", "--json")
    assert "own-spring" in [law["name"] for law in json.loads(said.out)["laws"]]
    assert said.err == "said by the law file\n"


KEYS = ["--set=contact.law=own-spring", "--set=contact.stiffness=1e6"]
RUN = ["run", "--law-module=own.py", *KEYS]
FAILING = {
    "in plain Python": ("(inputs.stiffness,)", "(inputs.stiffness / 0,)", "ZeroDivisionError"),
    "in a name": ("return c[0]", "return nonsense", "NameError: name 'nonsense'"),
    "when compiled": (
        "return c[0] * (overlap",
        "return int.from_bytes(b'x', 'big') * (overlap",
        f"own.py, line {FORCE_LINE}: Numba cannot compile this line: Unknown attribute 'from_",
    ),
}


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param(*how, id=name, marks=pytest.mark.long if "compiled" in name else ())
        for name, how in FAILING.items()
    ],
)
def test_the_command_blames_a_law_that_fails(old, new, words, here, obeyed):
    (here / "own.py").write_text(LAW.replace(old, new, 1))
    said = obeyed(*RUN, code=2)
    # the line of the law file, and the reason
    lines = said.err.splitlines()
    assert len(lines) == 1 and words in lines[0] and said.out == ""
    # Numba names a line of the file
    assert ('contact law "own-spring"' in lines[0]) == ("Numba" not in words)
    assert [path.name for path in here.iterdir() if path.suffix != ".pyc"] == ["own.py"]


PRESSED = ["steel-chain", "--set=chain.precompression=20"]
NAMED = {
    "dispersion": ["dispersion", *PRESSED, *KEYS],
    "modes": ["modes", *PRESSED, *KEYS],
    "bands": ["bands", "steel-chain", *KEYS, "--band=striker.speed=0.02", "--members=4"],
    # the law of the case is another one, of the same file
    "equivalent": ["equivalent", "steel-chain", "--set=contact.law=own-twin",
                   "--set=contact.stiffness=1e6", "--to=own-spring", "--law=own-twin",
                   "--free=stiffness=1e5:1e7"],
    "run": ["run", "steel-chain-hertz", "--set=ends.right=wall",
            "--set=ends.right_contact={law='own-spring', stiffness=1e6}"],
}  # fmt: skip


@pytest.mark.parametrize("command", NAMED.values(), ids=NAMED)
def test_each_command_names_the_law_whose_code_fails(command, here, obeyed):
    failing = LAW.replace("(inputs.stiffness,)", "(inputs.stiffness / 0,)")
    twin = LAW.replace("class Spring", "class Twin").replace("own-spring", "own-twin")
    (here / "own.py").write_text(failing + twin)
    said = obeyed(*command, "--law-module=own.py", code=2)
    named = f'contact law "own-spring" of {here / "own.py"}: line {COEFFICIENTS_LINE}: '
    assert named + "ZeroDivisionError" in said.err and "bug" not in said.err


def test_what_numba_refuses_is_told_by_the_innermost_line_of_the_file(here, jit):
    shape = "def shape(x):\n    return x * int.from_bytes(b'x', 'big')\n"
    (here / "own.py").write_text(shape + LAW.replace("return c[0] * (", "return shape(1.0) * ("))
    (force,) = frozen(load_law_module("own.py")["own-spring"].force)
    words = r"own\.py, line 2: Numba cannot compile this line: Unknown attribute 'from_bytes' of "
    with pytest.raises(LawError, match=words + r"type .*\. A law may use"):
        compiled(lambda overlap: force(overlap, 0.0, (1.0,), ()))(1.0)


def test_an_interruption_while_the_file_runs_is_none_of_its_own(here):
    (here / "slow.py").write_text("print('here', flush=True)\nwhile True:\n    pass\n")
    command = [sys.executable, "-m", "granchain", "laws", "--law-module", "slow.py"]
    process = subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None and process.stderr.readline() == "here\n"
        process.send_signal(signal.SIGHUP)
        _, said = process.communicate(timeout=LONGEST)
        assert (process.returncode, said) == (128 + signal.SIGHUP, "granchain: interrupted\n")
    finally:
        process.kill()


def test_an_interruption_from_outside_while_the_file_runs_is_raised(here):
    slow = "import os, time\nos.kill(os.getpid(), {})\ntime.sleep(600)\n"
    (here / "slow.py").write_text(slow.format(int(signal.SIGINT)))
    with pytest.raises(KeyboardInterrupt):
        load_law_module("slow.py")
    assert PREFIX + "slow" not in sys.modules
    # an exception that a handler of the package raises is raised, too
    for number, kind, count in (
        (signal.SIGINT, KeyboardInterrupt, 0),
        (signal.SIGTERM, KeyboardInterrupt, 0),
        (signal.SIGTERM, SystemExit, 1),
    ):
        (here / "handled.py").write_text(slow.format(int(number)))
        with Interruption() as interruption, pytest.raises(kind):
            interruption._count = count
            load_law_module("handled.py")


def test_where_a_law_fails_python_says_it_and_the_line_of_the_file_is_named(here):
    (here / "own.py").write_text(LAW.replace("(inputs.stiffness,)", "(inputs.stiffness / 0.0,)"))
    (found,) = load_law_module("own.py").values()
    # for a law of the package, the message would say that the inputs are too large or small; for a
    # user's law, it names the code
    with pytest.raises(ZeroDivisionError) as caught:
        contacts_of(found, standing_row(2), SimpleNamespace(stiffness=1e6))
    # a message of Python, which can change
    said = f"line {COEFFICIENTS_LINE}: ZeroDivisionError: {caught.value}"
    assert blame(caught.value, here / "own.py") == said
    assert blame(ZeroDivisionError(), here / "own.py") == "ZeroDivisionError"
    assert blame(LawError("restitution: 2.0"), here / "own.py") == "restitution: 2.0"


def test_of_what_numba_writes_a_line_of_ours_is_no_refusal():
    assert refusal_of(TypingError("Internal error")) is None
    told = TypingError(f"reason\nDuring: typing of call at {chain_sweep.__file__} (6)\n")
    assert refusal_of(told) is None


def test_a_force_that_reads_the_rate_runs_with_its_damping(here):
    # a dashpot parallel to the spring, which the class does not declare, or declares wrongly
    damped = LAW.replace("else 0.0)", "else 0.0) + (0.5 * rate if overlap > OPEN else 0.0)", 1)
    denied = damped.replace("    name = ", "    uses_rate = False\n    name = ", 1)
    for text, reads in ((damped, True), (denied, True), (LAW, False)):
        (here / "own.py").write_text(text)
        (law,) = load_law_module("own.py").values()
        assert law.uses_rate is law.model(SimpleNamespace()).uses_rate is reads
    for body, reads in {
        "return o": False,
        "del r\n    return o": False,
        "return o * r": True,
        "return max(o, (lambda: r)())": True,
        "return other(o, r)": True,
    }.items():
        space = {}
        exec(f"def force(o, r, c, h):\n    {body}", space)
        assert reads_rate(space["force"]) is reads, body
