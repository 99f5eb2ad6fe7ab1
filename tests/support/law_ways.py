"""Ways in which results of a law that was edited between two commands could pass as results of the
new law."""

import contextlib
import io
import sys
import warnings
from concurrent.futures import Future

import granchain as gc
from granchain.cli import obey
from granchain.contact import law as law_module
from granchain.contact.user import PREFIX, load_law_module
from granchain.errors import FileError, LawError, RunError
from support.law_edits import IN_FILES, IN_PROCESS, PLAIN_ONLY, Files, importable
from support.processes import Stop

COEFFICIENTS = """
    @staticmethod
    def coefficients_of(pair, inputs):
        return (1e6 + 0.0 * pair.effective_mass,)
"""
# Laws whose coefficients, base class, model, or file is edited; no function of the loop reads
# these.
BESIDE = """
import json, pathlib
from dataclasses import replace
import numpy as np
from granchain.contact.law import OPEN, ContactLaw, Quantity, Source
{top}
class Base(ContactLaw):
    '''A base.'''
    @staticmethod
    def force(overlap, rate, c, h):
        d = overlap if overlap > OPEN else 0.0
        return c[0] * d{force}

    @staticmethod
    def energy(overlap, c, h):
        d = overlap if overlap > OPEN else 0.0
        return 0.5 * c[0] * d * d{force}

class Mine(Base):
    '''A spring of my own.'''
    name = "mine"
    source = Source("a test")
    coefficients = (Quantity("stiffness", "N/m", "K"),)
    {more}
    @staticmethod
    def coefficients_of(pair, inputs):
        return ({stiffness} + 0.0 * pair.effective_mass,)
"""
MODEL = """
    @classmethod
    def model(cls, inputs):
        model = super().model(inputs)
        def energy(overlap, c, h):
            d = overlap if overlap > OPEN else 0.0
            return 0.5 * c[0] * d * d{}
        def force(overlap, rate, c, h):
            d = overlap if overlap > OPEN else 0.0
            return c[0] * d{}
        return replace(model, functions=model.functions._replace(force=force, energy=energy))
"""
HELPER = "def K():\n    return {}\n"


def beside(stiffness="1e6", top="", force="", more="", table=""):
    """Return the files of such a law by name."""
    law = BESIDE.format(stiffness=stiffness, top=top, force=force, more=more)
    return {"law.py": law, "table.json": table or "[1e6]"}


def both(make, values=("2e6", "3e6")):
    """Return the files before and after the edit."""
    return make(values[0]), make(values[1])


READ = "json.loads((pathlib.Path(__file__).parent / 'table.json').read_text())[0]"
# Objects that no function of the loop reads, by the edited object. The resulting numbers are
# compared, however they are computed.
COEFFICIENT_EDITS = {
    "number of the coefficients": both(lambda k: beside(k)),
    "file that is read for the coefficients": both(lambda k: beside(READ, table=f"[{k}]")),
    "attribute of the class": both(lambda k: beside("Mine.K", more=f"K = {k}")),
    "force of a base class": both(lambda k: beside(force=f" * {k}"), ("2.0", "3.0")),
    "functions of model()": both(
        lambda k: beside(more=MODEL.replace("{}", f" * {k}")), ("2.0", "3.0")
    ),
    "last bit of a coefficient": both(lambda k: beside(k), ("1e6", "1000000.0000000001")),
}
# Edits that change no number, after which nothing may be refused.
HARMLESS = {
    "a comment": both(lambda k: beside("K()", HELPER.format(f"2e6  # {k}"))),
    "lines above": both(
        lambda k: beside("K()", ("\n" if k == "3e6" else "") + HELPER.format("2e6"), force="\n")
    ),
    "a docstring": both(
        lambda k: beside(top=f"def shape(x):\n    '''{k}'''\n    return x\n", force=" * shape(1.0)")
    ),
    "an annotation": both(
        lambda k: beside(top=f"def shape(x: {k}):\n    return x\n", force=" * shape(1.0)"),
        ("float", "int"),
    ),
    "parentheses": both(lambda k: beside(force=k), (" * (2.0 * 3.0)", " * ((2.0) * 3.0)")),
    "a function that is not called": both(lambda k: beside(top=f"def other(x):\n    return {k}\n")),
}


def written(folder, files):
    """Write the files of a law into a folder."""
    if isinstance(files, Files):
        files.write(folder)
        law = folder / "law.py"
        # otherwise an open contact divides by zero, which plain Python reports
        law.write_text(law.read_text().replace(" / d)", " / (d + 1e-300))") + COEFFICIENTS)
    else:
        for name, text in files.items():
            (folder / name).write_text(text)


def loaded(folder):
    """Return the module of the law as a new process loads it."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("near", "pkg")]:
        del sys.modules[name]
    with importable(folder):
        load_law_module(folder / "law.py")
    return sys.modules[PREFIX + "law"]


CASE = """title = "mine"
[chain]
beads = 3
radius = 1e-3
material = "steel-316"
[striker]
speed = 1.0
[contact]
law = "mine"
[sensors]
beads = [2]
interval = 1e-8
[energy]
ledger = false
[time]
end = 1e-7
step = 1e-8
force_step = true
"""


class EditingExecutor:
    """Executor in this process that edits the law before the first task is computed."""

    def __init__(self, edit):
        self.edit = edit

    def submit(self, function, *task):
        if self.edit is not None:
            self.edit()
            self.edit = None
        future = Future()
        future.set_result(function(*task))
        return future


# Studies of a law, and the measures of their members.
STUDIES = {"study": ("pulse", "traces"), "results": ("result",)}


def members_of(case, count):
    """Return the members of the studies of a case."""
    return [case.replace(**{"striker.speed": 1.0 + number}) for number in range(count)]


def interrupt(done, count):
    """Interrupt a study when it has a member."""
    raise KeyboardInterrupt


def begun(folder):
    """Leave a complete file, a checkpoint, and complete and interrupted studies of the law."""
    case = gc.load_case(folder / "case.toml")
    gc.run(case).save(folder / "complete.h5")
    for name, measures in STUDIES.items():
        gc.evaluate(members_of(case, 2), measures, out=folder / f"{name}.h5", progress=False)
        with warnings.catch_warnings(action="ignore"):
            gc.evaluate(
                members_of(case, 2), measures, out=folder / f"part of {name}.h5", progress=interrupt
            )
    with contextlib.suppress(KeyboardInterrupt):
        gc.run(case.replace(**{"time.end": 1e-3}), watch=Stop(), checkpoint=folder / "killed.chk")
    return case


def refused(kind, action, *given, **named):
    """Return whether an action is refused."""
    try:
        action(*given, **named)
    except kind:
        return True
    return False


def complete_is_refused(folder):
    """Return whether `run --resume` onto the complete file reports that the law has changed."""
    errors, file = io.StringIO(), str(folder / "complete.h5")
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = obey(["run", str(folder / "case.toml"), "--out", file, "--resume", "--quiet"])
    return code == 2 and "has changed since" in errors.getvalue()


def ways(folder, case):
    """Return the ways in which results of the previous law are refused."""
    before = gc.open(folder / "complete.h5").provenance["law_sha256"]
    try:
        now = gc.run(case)
    except RunError as error:  # an edit may have created a force that fails
        now = error.result
    again = case.replace(**{"time.end": 1e-3})
    to = {"checkpoint": folder / "killed.chk", "watch": Stop()}
    return {
        "run": now.provenance["law_sha256"] != before,
        "run --resume": complete_is_refused(folder),
        "checkpoint": refused(FileError, gc.run, again, resume=True, **to),
        **{
            f"{part}{name} --resume": refused(
                LawError, gc.evaluate, members_of(case, 3), measures,
                out=folder / f"{part}{name}.h5", resume=True, progress=False,
            )
            for name, measures in STUDIES.items()
            for part in ("", "part of ")
        },
    }  # fmt: skip


def edited(folder, kind):
    """Return each way, and whether it refuses results from before an edit of this kind."""
    folder.mkdir()
    (folder / "case.toml").write_text(CASE)
    before, after = (IN_PROCESS | IN_FILES | PLAIN_ONLY | COEFFICIENT_EDITS | HARMLESS)[kind]
    written(folder, before)
    registry = dict(gc.laws())  # the laws of the package stay registered

    def edit():
        if isinstance(after, str):
            with importable(folder):
                exec(after, module.__dict__)
        else:
            written(folder, after)
            loaded(folder)

    try:
        module = loaded(folder)
        case, executor = begun(folder), EditingExecutor(edit)
        sent = refused(
            LawError, gc.evaluate, members_of(case, 2), executor=executor, progress=False
        )
        assert executor.edit is None
        return ways(folder, case) | {"executor": sent}
    finally:
        law_module.REGISTRY.clear()
        law_module.REGISTRY.update(registry)
        sys.modules.pop(PREFIX + "law", None)
