"""The command line and the front door: exit codes, sentences, one JSON object, signals, and
nothing loaded in vain."""

from __future__ import annotations

import errno
import gc
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import granchain
from granchain.cli import obey, signals
from granchain.cli import run as cli_run
from granchain.cli.run import Progress
from granchain.cli.signals import Interruption
from granchain.errors import clean
from granchain.status import Message
from granchain.store import open_result

ROOT = Path(granchain.__file__).parents[1]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def interpreter(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A real Python process that must succeed."""
    command = [sys.executable, *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )


RUN = """
import sys
from granchain.cli import obey
code = obey(["run", "steel-chain", "--out", "chain.h5", "--json"], own_process=True)
open("../loaded", "w").write(" ".join(sys.modules))
sys.exit(code)
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """One run with --json; its folder is `done.cwd`, above it the names of what it has loaded."""
    folder = tmp_path_factory.mktemp("run") / "folder"
    folder.mkdir()
    process = interpreter("-c", RUN, folder=folder)
    process.cwd = folder  # type: ignore[attr-defined]
    return process


# --- What is loaded
HEAVY = {"numba", "llvmlite", "scipy", "matplotlib", "h5py", "numpy", "rich", "xarray", "pandas"}
HEAVY |= {"pint"}


# What one process does, one after the other, and what is not loaded after it; typer reads the
# options of a command with pydantic.
IN_TURN = {
    "import granchain; from granchain import errors": HEAVY | {"pydantic", "typer"},
    "from granchain.cli import obey; obey(['--help'])": HEAVY | {"pydantic"},
    "obey(['run', '--help'])": HEAVY,
    "import granchain.store": {"h5py", "xarray", "numba"},
}


def test_help_and_import_load_nothing_heavy_and_help_a_third_of_what_a_run_loads(
    done: subprocess.CompletedProcess[str], tmp_path: Path
) -> None:
    said = "; print('LOADED', *sys.modules)\n"
    process = interpreter(
        "-c", f"import sys\n{said[2:]}" + said.join([*IN_TURN, ""]), folder=tmp_path
    )
    _, *found = [
        line.split()[1:] for line in process.stdout.splitlines() if line.startswith("LOADED")
    ]
    for (what, heavy), names in zip(IN_TURN.items(), found, strict=True):
        assert "granchain" in names
        assert not {name.partition(".")[0] for name in names} & heavy, what
    # Modules, which its time goes by: 225 and 826 of them.
    of_run = (done.cwd.parent / "loaded").read_text().split()  # type: ignore[attr-defined]
    assert "Usage: granchain" in process.stdout
    assert len(found[1]) < len(of_run) / 3


def test_a_run_loads_neither_blas_nor_figures_nor_tables(
    done: subprocess.CompletedProcess[str],
) -> None:
    names = set((done.cwd.parent / "loaded").read_text().split())  # type: ignore[attr-defined]
    assert "numba" in names
    assert not {"scipy.linalg", "matplotlib", "rich", "pint", "xarray"} & names


def test_public_names_are_there_and_documented() -> None:
    for name in granchain.__all__:
        assert getattr(granchain, name).__doc__
    assert {*granchain.__all__, "__version__"} == set(dir(granchain))
    with pytest.raises(AttributeError, match="nonsense"):
        granchain.nonsense  # noqa: B018


# --- A run
def test_json_is_one_object_and_the_run_says_nothing_else(
    done: subprocess.CompletedProcess[str],
) -> None:
    facts = json.loads(done.stdout)
    assert (
        facts["schema"] == 1
        and facts["command"] == "run"
        and facts["status"] == "complete"
        and facts["law"] == "ma-liu"
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_the_file_holds_what_was_printed(done: subprocess.CompletedProcess[str]) -> None:
    facts = json.loads(done.stdout)
    result = open_result(done.cwd / facts["file"])  # type: ignore[attr-defined]
    assert [pulse["bead"] for pulse in facts["sensors"]] == result.sensor_bead.tolist()
    for pulse, force in zip(facts["sensors"], result.sensor_force.T, strict=True):
        # The parabola through three samples is above the largest of them, by less than their
        # spacing can hide.
        assert force.max() <= pulse["peak"] <= 1.001 * force.max()
    assert facts["energy"]["plastic"] == result.energy_plastic[-1]
    assert sorted(path.name for path in done.cwd.iterdir()) == ["chain.h5"]  # type: ignore[attr-defined]


def test_a_failed_run_exits_3_and_saves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert obey(["run", "--set", "energy.bound=1e-9", "--json"]) == 3
    said = capsys.readouterr()
    assert (
        "energy ledger is open" in said.err
        and "Nothing was saved: steel-chain.h5 was not written." in said.err
    )
    assert json.loads(said.out)["exit_code"] == 3
    assert list(here.iterdir()) == []


def test_garbage_is_collected_again_after_a_run(here: Path) -> None:
    obey(["run", "no-such-case"])
    assert gc.isenabled()


# --- Wrong input

# A command, its exit code, and what it says.
WRONG = [
    ("run --set contact.pssi=3", 2, "contact.pssi", 'did you mean "psi"?'),
    ("run --set 'sensor.beads=[1]'", 2, "sensor", 'did you mean "sensors"?'),
    ("run steel-chian", 2, "steel-chian", 'did you mean "steel-chain"?'),
    ("run --set chain.beads=seventy", 2, "chain.beads", "seventy", "whole number"),
    ("run --set striker.speed=nan", 2, "striker.speed", "nan", "above 0"),
    ("run --set time.step=1e-5", 2, "1e-05"),
    ("run cases/mine.toml", 4, "mine.toml", "No such file"),
    ("run folder", 4, "folder", "which is a folder"),
    ("run broken.toml", 2, "broken.toml", "line 1"),
    ("run --out there.h5", 4, "there.h5", "exists", "--overwrite"),
    ("run --out nowhere/chain.h5", 4, "nowhere", "does not exist"),
    ("run --out folder", 4, "folder", "allowed a file; name one in it"),
    ("cases steel-chian", 2, "steel-chian", 'did you mean "steel-chain"?'),
    ("laws herz", 2, "herz", 'did you mean "hertz"?'),
    ("info nothing.h5", 4, "nothing.h5", "got no file of this name"),
    ("info there.h5", 4, "there.h5", "granchain did not write"),
    ("plot nothing.h5", 4, "nothing.h5", "got no file of this name"),
    ("laws --law-module nothing.py", 4, "nothing.py", "No such file or directory"),
    ("laws --law-module folder", 4, "folder", "a folder or a device"),
]


@pytest.mark.parametrize("row", WRONG, ids=[row[0] for row in WRONG])
def test_wrong_input_is_told_in_a_sentence(
    row: tuple,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command, code, *words = row
    if "--out" in command:
        began = "granchain.run"
        monkeypatch.setattr(began, lambda *case, **more: pytest.fail("the run began"))
    (here / "folder").mkdir()
    (here / "broken.toml").write_text("chain = = 3")
    (here / "there.h5").write_text("precious")
    before = sorted(here.rglob("*"))
    assert obey(shlex.split(command)) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("granchain: ") and "Traceback" not in said.err
    for word in words:
        assert word in said.err
    assert sorted(here.rglob("*")) == before
    assert (here / "there.h5").read_text() == "precious"


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--set=contact.pssi=3", "--set=chain.beads=0"),
        ("run", "--stes=3"),
        ("info", "nothing.h5"),
        ("laws", "herz"),
    ],
)
def test_json_is_one_object_for_wrong_input_too(
    arguments: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = obey([*arguments, "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == 1 and facts["exit_code"] == code
    # all mistakes of a case at once
    assert len(facts["error"]["problems"]) == (2 if "--set=chain.beads=0" in arguments else 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
@pytest.mark.parametrize(
    "arguments",
    [("run", "mine.toml"), ("info", "mine.toml"), ("laws", "--law-module", "mine.toml")],
)
def test_a_file_without_permission_is_told(
    arguments: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.toml").write_text("")
    (here / "mine.toml").chmod(0)
    assert obey(arguments) == 4
    assert "ermission" in capsys.readouterr().err


# --- What goes wrong otherwise
def broken(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """Exit code of a run in which this is raised."""

    def raising(*arguments: object, **more: object) -> None:
        raise error

    monkeypatch.setattr("granchain.load_case", raising)
    return obey(["run"])


def test_a_bug_is_one_sentence_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert broken(ZeroDivisionError("of \x1b[31mall things"), monkeypatch) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "ZeroDivisionError: of  [31mall things" in said
    assert (
        "this is a defect of granchain, not of what you asked for; who mends it needs" in said
        and "granchain info --system" in said
    )
    monkeypatch.setenv("GRANCHAIN_DEBUG", "1")
    assert broken(ZeroDivisionError("again"), monkeypatch) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["--help"], []])
def test_every_exit_code_is_listed_also_without_a_command(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert obey(command) == 0
    told = " ".join(capsys.readouterr().out.split())
    for words in (
        "0 done",
        "1 a defect of granchain",
        "2 wrong input",
        "3 the run failed",
        "4 file or disk",
        "5 a stated tolerance missed",
        "130 or 143 interrupted",
    ):
        assert words in told


def test_info_says_on_what_granchain_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert obey(["info", "--system", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["command"] == "info" and facts["system"]["granchain"] == granchain.__version__
    for name in (
        "numba",
        "llvmlite",
        "numpy",
        "h5py",
        "python",
        "platform",
        "processor",
        "cache",
        "source_hash",
    ):
        assert facts["system"][name], name
    assert (
        Path(facts["system"]["cache"]).name == "__pycache__"
        or "NUMBA_CACHE_DIR" in facts["system"]["environment"]
    )
    assert obey(["info", "--system"]) == 0 and "processor " in capsys.readouterr().out
    for command in (["info"], ["info", "a.h5", "--system"], ["info", "--system", "--verify"]):
        assert obey(command) == 2
        assert "allowed FILE, or --system alone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "cache.nbi"),
            4,
            "cache.nbi: No space left",
        ),
        (MemoryError(), 3, "not enough memory"),
        (KeyboardInterrupt(), 130, ""),
        (SystemExit(7), 7, ""),
        (GeneratorExit(), 1, "a defect of granchain"),
    ],
)
def test_what_the_system_refuses_has_its_exit_code(
    error: BaseException,
    code: int,
    word: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if isinstance(error, KeyboardInterrupt):
        monkeypatch.setattr("granchain.laws", lambda: (_ for _ in ()).throw(error))
        assert obey(["laws"]) == code
    else:
        assert broken(error, monkeypatch) == code
    assert word in capsys.readouterr().err


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line for bash in which `granchain` is the program."""
    line = f'granchain() {{ "{sys.executable}" -m granchain "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    process = shell("granchain laws --json | true; echo ${PIPESTATUS[0]}", tmp_path)
    assert process.stdout == "0\n" and process.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_written_exits_4(tmp_path: Path) -> None:
    process = shell("granchain cases > /dev/full; echo $?", tmp_path)
    assert process.stdout == "4\n" and "No space left" in process.stderr


# --- Text from elsewhere
def test_clean_leaves_nothing_that_a_terminal_obeys() -> None:
    assert clean("a\x1b[31m\x07b\nc\x9b\u202e\udcff µ") == "a [31m b\nc    µ"


def test_a_hostile_name_does_not_reach_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_a_hostile_file_does_not_reach_the_terminal(
    done: subprocess.CompletedProcess[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = open_result(done.cwd / "chain.h5")  # type: ignore[attr-defined]
    result.title = "a \x1b]0;title\x07[bold red]b[/nonsense]"
    result.messages = [Message("\x1b[2Jmessage [link=file:///]here")]
    result.save("hostile.h5")
    assert obey(["info", "hostile.h5"]) == 0
    said = capsys.readouterr()
    assert (
        "\x1b" not in said.out
        and "[bold red]b[/nonsense]" in said.out
        and "[link=file:///]here" in said.out
    )


# --- The other commands
def test_cases_lists_all_and_prints_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert obey(["cases"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    files = sorted(
        (Path(granchain.__file__).parent / "cases").glob("*.toml"), key=lambda path: path.stem
    )
    mechanisms = sorted(
        path.stem
        for path in (Path(granchain.__file__).parent / "cases" / "mechanisms").glob("*.toml")
    )
    assert listed == [path.stem for path in files] + mechanisms
    assert obey(["cases", mechanisms[0]]) == 0
    assert (
        capsys.readouterr().out
        == (files[0].parent / "mechanisms" / f"{mechanisms[0]}.toml").read_text()
    )
    assert obey(["cases", "steel-chain"]) == 0
    assert capsys.readouterr().out == files[listed.index("steel-chain")].read_text()


def test_info_says_what_a_file_holds(
    done: subprocess.CompletedProcess[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(done.cwd / "chain.h5")  # type: ignore[attr-defined]
    result = open_result(file)
    assert obey(["info", file, "--verify"]) == 0
    text = capsys.readouterr().out
    for word in (
        *result.variables,
        result.title,
        "complete",
        "wave speed",
        f"hash in the file, {result.provenance['data_sha256']}",
    ):
        assert word in text
    assert obey(["info", file, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == 1 and facts["data_verified"] is None
    assert {v["name"]: tuple(v["shape"]) for v in facts["variables"]} == {
        name: v.data.shape for name, v in result.variables.items()
    }


# --- Signals
def test_the_first_signal_is_noted_the_second_ends_the_process() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        with Interruption() as interruption:
            progress = Progress(interruption, Path("run.h5"), shown=False)
            progress.advance(0.1)
            os.kill(os.getpid(), number)
            with pytest.raises(KeyboardInterrupt):
                progress.advance(0.2)
            # one that comes together with the first is an echo of it
            os.kill(os.getpid(), number)
            time.sleep(signals.TOGETHER_SECONDS)
            with pytest.raises(SystemExit) as stop:
                os.kill(os.getpid(), number)
                time.sleep(1.0)
            assert stop.value.code == interruption.exit_code == 128 + number
        assert signal.getsignal(number) is handler


def test_an_ignored_signal_stays_ignored() -> None:
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interruption():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize(
    ("terminal", "options", "shown"),
    [(True, [], True), (True, ["--quiet"], False), (False, [], False)],
)
def test_the_line_is_on_a_terminal_that_does_not_want_quiet(
    terminal: bool,
    options: list[str],
    shown: bool,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli_run, "LINE_AFTER", -1.0)
    monkeypatch.setattr(cli_run, "LINE_EVERY", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert obey(["run", *options, "--set", "time.end=1e-5"]) == 0
    assert ("%" in capsys.readouterr().err) is shown


def test_the_keys_of_a_case_file_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert obey(["cases", "--keys"]) == 0
    said = capsys.readouterr().out
    for table in ("[chain]", "[[chain.segment]]", "[[contact.pair]]", "[initial]", "[ends]"):
        assert f"\n{table}\n" in said
    assert (
        "\n  precompression\n      the constant force that presses the chain together [N]; a "
        "number at least 0; default: 0.0\n" in said
    )
    assert obey(["cases", "steel-chain", "--keys"]) == 2
