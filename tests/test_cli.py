"""The command line: exit codes, messages, one JSON object, signals, and no unnecessary imports."""

import errno
import gc
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.processes import answer
from support.refused import refused

import granchain
from granchain.cli import interrupts, obey
from granchain.cli import run as cli_run
from granchain.cli.interrupts import Interruption
from granchain.cli.run import Progress
from granchain.errors import clean
from granchain.status import Message
from granchain.store import open_answer

CASES = Path(granchain.__file__).parent / "cases"

# --- Imports, and a run
HEAVY = {"numba", "llvmlite", "scipy", "matplotlib", "h5py", "numpy", "rich", "xarray", "pandas"}
HEAVY |= {"pint"}
# Actions of one process in order, and modules that they must not import; typer reads the options of
# a command with pydantic.
IN_TURN = {
    "import granchain; from granchain import errors": HEAVY | {"pydantic", "typer"},
    "from granchain.cli import obey; obey(['--help'])": HEAVY | {"pydantic"},
    "obey(['run', '--help'])": HEAVY,
    "import granchain.store": {"h5py", "xarray", "numba"},
    # a run prints a wave speed
    "from granchain.analysis import speed_in_words; speed_in_words([0, 1, 2], [0, 1, 3])": {
        "scipy"
    },
    "assert not obey(['run', 'steel-chain', '--out', 'chain.h5', '--json'], own_process=True)": {
        *("scipy.linalg", "matplotlib", "rich", "pint", "xarray")
    },
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return the folder of the actions, their output, and the imported modules after each one."""
    folder = tmp_path_factory.mktemp("run")
    # The loop is compiled before, because the compiler imports more.
    answer("import granchain as gc; gc.run(gc.load_case('steel-chain'))")
    steps = "".join(f"{step}\nprint('LOADED', *sys.modules)\n" for step in IN_TURN)
    code = f"import os, sys\nos.chdir({os.fspath(folder)!r})\nsys.stderr = sys.stdout\n{steps}"
    return folder, answer(code).splitlines()


def test_help_and_import_load_nothing_heavy_and_help_a_third_of_what_a_run_loads(done):
    said = done[1]
    found = [set(line.split()) for line in said if line.startswith("LOADED")]
    for (what, heavy), names in zip(IN_TURN.items(), found, strict=True):
        assert "granchain" in names
        assert not {*names, *(name.partition(".")[0] for name in names)} & heavy, what
    assert "numba" in found[-1] and any("Usage: granchain" in line for line in said)
    # Number of modules, which determines the start-up time: 225 and 826.
    assert len(found[1]) < len(found[-1]) / 3


def test_a_run_says_one_json_object_of_what_its_file_holds(done):
    folder, said = done
    # nothing else since the previous action
    assert said[-3].startswith("LOADED")
    facts = json.loads(said[-2])
    assert {"schema": 1, "command": "run", "status": "complete", "law": "ma-liu"}.items() <= (
        facts.items()
    )
    result = open_answer(folder / facts["file"])
    assert [pulse["bead"] for pulse in facts["summary"]["sensors"]] == result.sensor_bead.tolist()
    for pulse, force in zip(facts["summary"]["sensors"], result.sensor_force.T, strict=True):
        # The parabola through three samples is above them, by less than their spacing.
        assert force.max() <= pulse["peak"] <= 1.001 * force.max()
    assert facts["summary"]["energy"]["plastic"] == result.energy_plastic[-1]
    # the labels generate the other keys
    about = {"schema": 1, "command": "run", "file": "chain.h5", "warnings": []}
    assert facts == {**result.as_dict(), "summary": facts["summary"], **about}
    assert os.listdir(folder) == ["chain.h5"]


# as JSON: see test_answers.py
def test_info_says_what_a_file_holds(done, obeyed):
    file = str(done[0] / "chain.h5")
    result = open_answer(file)
    text = obeyed("info", file).out
    for word in (*result.variables, result.title, "complete", "wave speed"):
        assert word in text


@pytest.mark.guard
def test_public_names_are_there_and_documented():
    for name in granchain.__all__:
        assert getattr(granchain, name).__doc__
    assert {*granchain.__all__, "open", "__version__"} == set(dir(granchain))
    assert "open" not in granchain.__all__
    with pytest.raises(AttributeError, match="nonsense"):
        granchain.nonsense  # noqa: B018


def test_a_failed_run_exits_3_and_saves_nothing(here, obeyed):
    said = obeyed("run", "--set", "energy.bound=1e-9", "--json", code=3)
    assert "energy: the balance error is" in said.err
    assert "No results were saved: steel-chain.h5 was not written." in said.err
    assert json.loads(said.out)["exit_code"] == 3
    assert list(here.iterdir()) == []
    # garbage, which is not collected while a command computes
    assert gc.isenabled()


# --- Wrong input


def test_wrong_input_is_told_in_a_sentence_and_in_one_json_object(here, monkeypatch, obeyed):
    (here / "folder").mkdir()
    (here / "broken.toml").write_text("chain = = 3")
    (here / "there.h5").write_text("precious")
    before = sorted(here.rglob("*"))
    for command, code, *words in refused("command"):
        if "--out" in command:
            monkeypatch.setattr("granchain.run", lambda *_, **more: pytest.fail("the run began"))
        said = obeyed(*shlex.split(command), code=code)
        assert said.out == "" and "Traceback" not in said.err
        assert said.err.startswith("granchain: ")
        for word in words:
            assert word in said.err, command
        if command.startswith(("run", "info", "laws")):
            facts = json.loads(obeyed(*shlex.split(command), "--json", code=code).out)
            assert facts["schema"] == 1 and facts["exit_code"] == code
            problems = facts["error"]["problems"]
            assert len(problems) == max(command.count("--set="), 1), command
    assert sorted(here.rglob("*")) == before
    assert (here / "there.h5").read_text() == "precious"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_a_file_without_permission_is_told(here, obeyed):
    (here / "mine.toml").write_text("")
    (here / "mine.toml").chmod(0)
    for command in ("run", "info", "laws --law-module"):
        assert "ermission" in obeyed(*command.split(), "mine.toml", code=4).err


# --- Other errors
def broken(error, monkeypatch):
    """Return the exit code of a run in which this exception is raised."""

    def raising(*arguments, **more):
        raise error

    monkeypatch.setattr("granchain.load_case", raising)
    return obey(["run"])


def test_a_bug_is_one_sentence_and_exit_1(monkeypatch, capsys):
    assert broken(ZeroDivisionError("of \x1b[31mall things"), monkeypatch) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "ZeroDivisionError: of  [31mall things" in said
    assert "This is a bug in granchain. Please report it with" in said
    assert "granchain info --system" in said
    monkeypatch.setenv("GRANCHAIN_DEBUG", "1")
    assert broken(ZeroDivisionError("again"), monkeypatch) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_what_the_system_refuses_has_its_exit_code(monkeypatch, capsys):
    full = OSError(errno.ENOSPC, "No space left on device", "cache.nbi")
    for error, code, word in (
        (full, 4, "cache.nbi: No space left"),
        (MemoryError(), 3, "not enough memory"),
        (SystemExit(7), 7, ""),
        (GeneratorExit(), 1, "This is a bug in granchain"),
    ):
        assert broken(error, monkeypatch) == code
        assert word in capsys.readouterr().err
    interrupted = KeyboardInterrupt()
    monkeypatch.setattr("granchain.laws", lambda: (_ for _ in ()).throw(interrupted))
    assert obey(["laws"]) == 130


@pytest.mark.guard
def test_every_exit_code_is_listed_also_without_a_command(obeyed):
    for command in (["--help"], []):
        told = " ".join(obeyed(*command).out.split())
        for words in (
            *("0 success", "1 bug in granchain", "2 invalid input", "3 failed run"),
            *("4 file or disk", "5 tolerance missed", "129, 130, or 143 interrupted"),
        ):
            assert words in told


def test_info_says_on_what_granchain_runs(obeyed, capsys):
    facts = json.loads(obeyed("info", "--system", "--json").out)
    system = facts["system"]
    assert facts["command"] == "info" and system["granchain"] == granchain.__version__
    for name in (
        *("numba", "llvmlite", "numpy", "h5py", "python"),
        *("platform", "processor", "cache", "source_hash"),
    ):
        assert system[name], name
    assert Path(system["cache"]).name == "__pycache__" or "NUMBA_CACHE_DIR" in system["environment"]
    assert obey(["info", "--system"]) == 0 and "processor " in capsys.readouterr().out
    for command in (["info"], ["info", "a.h5", "--system"]):
        assert "Specify a result file, or use --system alone" in obeyed(*command, code=2).err


def test_a_reader_that_leaves_is_no_error_and_a_full_disk_is_one(tmp_path):
    # the command line of a shell in which `granchain` is the program
    program = f'granchain() {{ "{sys.executable}" -m granchain "$@"; }}; '
    left = "granchain laws --json | true; echo ${PIPESTATUS[0]}; "
    full = "granchain cases > /dev/full; echo $?"
    process = subprocess.run(
        ["bash", "-c", program + left + full], cwd=tmp_path, capture_output=True, text=True
    )
    assert process.stdout == "0\n4\n"
    assert process.stderr.count("\n") == 1 and "No space left" in process.stderr


# --- Text from other sources
def test_a_hostile_name_or_file_does_not_reach_the_terminal(done, here, obeyed, capsys):
    assert clean("a\x1b[31m\x07b\nc\x9b\u202e\udcff µ") == "a [31m b\nc    µ"
    for arguments in (
        ["info", "\x1b[31m\udcff.h5"],
        ["run", "\x1b[31m[red].toml"],
        ["\x1b[2J"],
        ["run", "--\x1b[2J"],
        ["laws", "\x1b"],
    ):
        assert obey(arguments) in (2, 4)
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
    result = open_answer(done[0] / "chain.h5")
    result.title = "a \x1b]0;title\x07[bold red]b[/nonsense]"
    result.messages = [Message("\x1b[2Jmessage [link=file:///]here")]
    result.save("hostile.h5")
    out = obeyed("info", "hostile.h5").out
    assert "\x1b" not in out
    assert "[bold red]b[/nonsense]" in out and "[link=file:///]here" in out


# --- Other commands
def test_cases_lists_all_and_prints_one_or_the_keys(obeyed, capsys):
    assert obey(["cases"]) == 0
    groups = capsys.readouterr().out.split("\n\nPublished chains\n")
    listed = [[line.split()[0] for line in group.splitlines()] for group in groups]
    files, mechanisms, published = (
        sorted(folder.glob("*.toml"), key=lambda path: path.stem)
        for folder in (CASES, CASES / "mechanisms", CASES / "published")
    )
    assert listed == [[path.stem for path in (*files, *mechanisms)], [p.stem for p in published]]
    for path in (CASES / "steel-chain.toml", mechanisms[0], published[0]):
        assert obeyed("cases", path.stem).out == path.read_text()
    said = obeyed("cases", "--keys").out
    for table in ("[chain]", "[[chain.segment]]", "[[contact.pair]]", "[initial]", "[ends]"):
        assert f"\n{table}\n" in said
    assert (
        "\n  precompression\n      the constant force that compresses the chain [N]; a "
        "number at least 0; default: 0.0\n" in said
    )
    assert obey(["cases", "steel-chain", "--keys"]) == 2


# --- Signals
def test_the_first_signal_is_noted_the_second_ends_the_process(monkeypatch):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        with Interruption() as interruption:
            progress = Progress(interruption, Path("run.h5"), show_progress=False)
            progress.advance(0.1)
            os.kill(os.getpid(), number)
            with pytest.raises(KeyboardInterrupt):
                progress.advance(0.2)
            # a signal that arrives together with the first is an echo of it; a later one is not
            monkeypatch.setattr(interrupts, "TOGETHER_SECONDS", math.inf)
            os.kill(os.getpid(), number)
            monkeypatch.setattr(interrupts, "TOGETHER_SECONDS", 0.0)
            with pytest.raises(SystemExit) as stop:
                os.kill(os.getpid(), number)
                time.sleep(1.0)
            assert stop.value.code == interruption.exit_code == 128 + number
        assert signal.getsignal(number) is handler


def test_an_ignored_signal_stays_ignored():
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interruption():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("here")
def test_the_line_is_on_a_terminal_that_does_not_want_quiet(obeyed, monkeypatch):
    monkeypatch.setattr(cli_run, "LINE_AFTER", -1.0)
    monkeypatch.setattr(cli_run, "LINE_EVERY", -1.0)
    for terminal, options, shown in (
        (True, [], True),
        (True, ["--quiet"], False),
        (False, [], False),
    ):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        assert (
            "%" in obeyed("run", *options, "--set", "time.end=1e-5", "--overwrite").err
        ) is shown


def test_no_option_has_two_defaults_in_its_help():
    from granchain.cli.process import program

    def commands(command):
        inner = getattr(command, "commands", {})
        return [one for entry in inner.values() for one in commands(entry)] or [command]

    options = [option for command in commands(program()) for option in command.params]
    assert len(options) > 100
    for option in options:
        states = "default" in (option.help or "").lower()
        printed = option.default not in (None, False, "", (), []) and getattr(
            option, "show_default", True
        )
        assert not (states and printed), f"{option.name}: {option.help}"
