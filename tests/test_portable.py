"""Differences between systems: Windows and macOS, as far as Linux can imitate them."""

import ast
import errno
import fcntl
import json
import math
import os
import re
import sys
from collections import Counter
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from support.processes import answer

from granchain import portable
from granchain.store.files import write_atomically

PACKAGE = Path(portable.__file__).parent
# Names that only POSIX has; `os.environ` and similar names exist everywhere.
POSIX = re.compile(
    r"fcntl|resource|select|termios|pwd|grp|sched_\w+|register_at_fork|fork|p(?:read|write)v?|statvfs|"
    r"posix_\w+|O_(?:NOFOLLOW|CLOEXEC|NONBLOCK|DIRECTORY)|kill|killpg|SIG(?:TERM|HUP|KILL|BREAK)|"
    r"set_blocking|sysconf|uname|getuid|fsync|pipe"
)
MAY_BE_POSIX = re.compile(rf"\b(?:(?:os|signal)\.|import +(?:\w+ *, *)*)(?:{POSIX.pattern})\b")
SMALL = "--set chain.beads=5 --set sensors.beads=[2] --set sensors.contacts=[1] --set time.end=2e-5"
COMMANDS = [
    f"run steel-chain {SMALL} --out a.h5",
    f"run steel-chain {SMALL} --out a.h5 --overwrite",
    "info a.h5",
    "plot a.h5 --only force-traces --out figures --format svg",
    "sweep s.toml",
]
SWEEP = """
case = "small.toml"
[vary]
"striker.speed" = [1.0, 2.0, 3.0]
"""


def test_what_is_posix_stands_in_one_module():
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        if not MAY_BE_POSIX.search(file.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names = [node.attr] if node.value.id in ("os", "signal") else []
            for name in filter(POSIX.fullmatch, names):
                found.setdefault(file.name, set()).add(name)
    assert found.keys() == {"portable.py"}, found


@pytest.mark.long
@pytest.mark.parametrize("system", ["windows", "macos"])
def test_where_the_system_is_another_it_runs_saves_opens_sweeps_and_plots(system, here):
    code = f"""
import json, os, signal, sys
from pathlib import Path
sys.path.insert(0, {os.fspath(Path(__file__).parent)!r})
from support.{system} import refused
import granchain as gc
from granchain import portable
from granchain.cli import obey
from granchain.cli.interrupts import Interruption
from granchain.store.journal import StudyPart
from support.processes import Stop

small = {{"chain.beads": 5, "sensors.beads": [2], "sensors.contacts": [1], "time.end": 2e-5}}
case = gc.load_case("steel-chain").replace(**small)
open("small.toml", "w").write(case.toml)
open("s.toml", "w").write({SWEEP!r})
codes = [obey(command.split()) for command in {COMMANDS!r}]
opened = gc.open("a.h5")
result = gc.run(case, checkpoint="b.chk", watch=Stop())
result.save("b.h5")
resumed = gc.run(case, checkpoint="b.chk", resume=True)
many = gc.run_many([case, case.replace(**{{"striker.speed": 2.0}})])
many.save("many.h5")
StudyPart("c.h5").add({{"point": ["first"]}})
read = StudyPart("c.h5", resume=True).columns
StudyPart("c.h5", overwrite=True).add({{"point": ["second"]}})
with Interruption() as noted:
    noted.note_only = True
    signal.raise_signal(portable.ENDING[-1])
print(json.dumps([portable.WINDOWS, codes, opened.data_sha256 == result.data_sha256,
    resumed.data_sha256 == result.data_sha256, len(many), noted.number == portable.ENDING[-1],
    sys.platform, refused, sorted(os.listdir())]))
"""
    *said, refused, files = json.loads(answer(code).splitlines()[-1])
    named = {"windows": "win32", "macos": "darwin"}[system]
    assert said == [named == "win32", [0] * len(COMMANDS), True, True, 2, True, named]
    assert refused == []
    kept = ["a.h5", "b.chk", "b.h5", "c.h5.part", "figures", "many.h5"]
    assert files == [*kept, "s.h5", "s.toml", "small.toml"]


def test_on_macos_a_file_is_flushed_to_the_disk_itself(here, monkeypatch):
    asked = []

    def full(descriptor, what):
        asked.append(what)
        if len(asked) > 2:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(os, "fsync", lambda descriptor: asked.append("fsync"))
    monkeypatch.setattr(fcntl, "fcntl", full)
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    write_atomically("a.txt", b"text")
    assert asked == [51, 51]
    # a network disk has no such call
    write_atomically("b.txt", b"text")
    assert asked[2:] == [51, "fsync", 51, "fsync"]


def test_where_the_system_does_not_say_so_all_processors_are_used(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert portable.usable_processors() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert portable.usable_processors() == 1


def test_room_is_taken_with_zeros_where_the_system_has_no_call_for_it(here, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    monkeypatch.setattr(portable, "ZEROS", 7)
    with open("a", "w+b") as file:
        file.write(b"head")
        file.flush()
        portable.reserve_space(file.fileno(), 100)
    assert Path("a").read_bytes() == b"head" + bytes(96)


# LLVM's code of the loops of three laws and of their shared functions, before optimisation.
MODULES = """
import json, sys; sys.path.insert(0, "tests")
from numba.core import codegen
from support import state_hashes
found, optimise = {}, codegen.CPUCodeLibrary._optimize_final_module

def noted(library):
    found[library.name] = str(library._final_module)
    optimise(library)

codegen.CPUCodeLibrary._optimize_final_module = noted
for law in ("hertz", "ma-liu", "tsuji"):
    state_hashes.few(law)
print(json.dumps(found))
"""


def assembly_for_apple(text):
    """Return the assembly after Numba's optimisation: two rounds of passes, with vectorised loops,
    then with vectorised code."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "arm64-apple-macosx"
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu="apple-m1", opt=3)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = triple, str(machine.target_data)
    for slp in (False, True):
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization, tuning.slp_vectorization = True, slp
        builder = llvm.create_pass_builder(machine, tuning)
        passes = builder.getModulePassManager()
        if not slp:
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.run(module, builder)
    return machine.emit_assembly(module)


@pytest.mark.long
def test_compiled_for_apples_processor_sweeps_are_vectors_nothing_is_fused_or_libms(tmp_path):
    found = json.loads(answer(MODULES, cache=tmp_path))
    loops = 0
    for name, text in found.items():
        made = assembly_for_apple(text)
        assert not re.findall(r"\tfn?m(?:add|sub|la|ls)\b.*", made), name
        called = set(re.findall(r"\b_(\w+)(?:@GOTPAGE\b|\n)", made))
        assert not called & {*dir(math), "fmod", "fma"}, name
        if name.startswith("loop_"):
            loops += 1
            counts = Counter(re.findall(r"\tf(mul|add|sub|sqrt)\.2d\b", made))
            assert min(counts[one] for one in ("mul", "add", "sub")) > 50 and counts["sqrt"], name
    assert loops == 3
