"""Fixtures and hooks of all tests: the guarantees that tests check, and their measured values.

A test marked `@pytest.mark.promise("N1")` checks a guarantee of docs/reliability.md. With the
fixture `figure` it reports a measured value, which is compared with its bound immediately.
`--figures FILE` writes the outcomes and values of all processes to a JSON file, from which
`docs/reliability.py` prints the page. For a test that this run omits, the file keeps the values of
the last run that included it."""

import datetime
import importlib.util
import json
import math
import os
import platform
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.kinds import PLAIN_ALONE

import granchain

# Files whose tests compile loops or take seconds. One process starts with these files and the other
# process with all other files, so that both compile few of the same loops.
FIRST = (
    "answers", "bands", "bead_drives", "certificate", "certified", "chained", "citation",
    "collisions", "comparison_coverage", "compliant_ends", "continuation", "docstring_examples",
    "edited_laws", "error_bars", "error_texts", "evaluate", "explore", "figures", "fit",
    "front", "initial", "interrupted_callers", "jumps", "law_pages", "law_record", "ledger",
    "likelihood", "many", "mechanism", "moving_walls", "optimize", "orbit", "order", "outcome",
    "output", "own_contacts", "papers", "plain", "properties", "report", "restart", "setup",
    "spectrum", "spreading", "sweep", "tiles", "traces", "viscoelastic",
)  # fmt: skip

COLLECTED = pytest.StashKey[dict[str, dict[str, Any]]]()
REPORTED = pytest.StashKey[dict[str, dict[str, Any]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--figures",
        metavar="FILE",
        help="keep promises and measured figures of the tests in this JSON file",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[COLLECTED], config.stash[REPORTED] = {}, {}
    # A shell starts a background job with SIGINT ignored, and its children inherit this.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a separate folder, which is the current folder of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def obeyed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return obeyed(*arguments, code=0), which runs a command that must exit with this code.

    The result has the output and error text as .out and .err.
    """
    from granchain.cli import obey

    def written(*arguments: str, code: int = 0) -> Any:
        assert obey([*arguments]) == code, capsys.readouterr().err
        return capsys.readouterr()

    return written


@pytest.fixture(scope="module")
def script(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """Return as a module the script of the documentation page that a test file specifies."""
    path = request.module.PAGE.with_suffix(".py")
    spec = importlib.util.spec_from_file_location(f"page_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the time loop as plain Python, if only this test would use the compiled loop.

    Compiling would take longer than the few steps. test_pinned.py shows that both give
    bit-identical results.
    """
    from granchain.engine.loop import time_loop

    monkeypatch.setattr("granchain.engine.state.loop_of", time_loop)
    monkeypatch.setattr("granchain.engine.batch.compiled", lambda stack: stack)


@pytest.fixture
def plain_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile no loop over members; test_many.py tests this loop."""
    monkeypatch.setattr("granchain.engine.batch.COMPILED", sys.maxsize)


@pytest.fixture
def plain_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run scans of coefficients as plain Python, because compiling takes longer than the scans."""
    monkeypatch.setattr("granchain.engine.setup.PLAIN_SECONDS", math.inf)


@pytest.fixture
def own_laws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the laws that a test declares, and the modules that it loads from its files."""
    from granchain.contact import law, laws
    from granchain.contact.user import PREFIX

    # the laws of the package stay registered
    monkeypatch.setattr(law, "REGISTRY", dict(laws()))
    loaded = set(sys.modules)
    yield
    for name in set(sys.modules) - loaded:
        if name.startswith(PREFIX) or name.partition(".")[0] in ("law", "near", "pkg"):
            del sys.modules[name]


@pytest.fixture
def jit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Turn on compilation, also in a run without it, and save compiled code in this folder."""
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Create figures without rendering them, because rendering takes most of the time.

    Their files contain only the first bytes of the format. test_figures.py and test_plot.py check
    rendered figures.
    """
    from granchain.figures import style

    def blank(figure: Any, ending: str, dpi: float | None = None) -> bytes:
        return style.FORMATS[ending] + b"<svg></svg>" * (ending == ".svg")

    monkeypatch.setattr(style, "image_of", blank)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start Chromium without a display; it can access only the pages of the tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed")
    options = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    options.append("--disable-background-networking")
    with playwright.sync_playwright() as player:
        opened = player.chromium.launch(executable_path=program, args=options)
        yield opened
        opened.close()


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return figure(what, value, at_least=..., at_most=...), which stores a measured value.

    The test fails if the value is out of bounds. There must be at least one bound. Give both if a
    value that is too good would show that the test measures nothing.
    """

    def report(
        what: str, value: float, *, at_least: float | None = None, at_most: float | None = None
    ) -> None:
        assert at_least is not None or at_most is not None, (
            f"{what}: a figure without a bound shows nothing"
        )
        value, at_least, at_most = (
            None if number is None else float(number) for number in (value, at_least, at_most)
        )
        request.node.user_properties.append(
            ("figure", {"what": what, "value": value, "at_least": at_least, "at_most": at_most})
        )
        assert at_least is None or value >= at_least, f"{what}: {value:.6g}, at least {at_least:g}"
        assert at_most is None or value <= at_most, f"{what}: {value:.6g}, at most {at_most:g}"

    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Collect every test of a guarantee before some are omitted; run plain-loop tests only without
    the JIT."""
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in FIRST)
    for item in items:
        if "plain_loop" in item.fixturenames and item.get_closest_marker("plain"):
            item.add_marker(PLAIN_ALONE)
        promises = [name for marker in item.iter_markers("promise") for name in marker.args]
        if promises:
            long = item.get_closest_marker("long") is not None
            config.stash[COLLECTED][item.nodeid] = {"promises": sorted(set(promises)), "long": long}
    if hasattr(config, "workeroutput"):
        config.workeroutput["collected"] = config.stash[COLLECTED]


class OverProcesses:
    """Collects what the processes of pytest-xdist have stored."""

    def __init__(self, config: pytest.Config):
        self.config = config

    def pytest_testnodedown(self, node: Any) -> None:
        self.config.stash[COLLECTED].update(getattr(node, "workeroutput", {}).get("collected", {}))


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.pluginmanager.hasplugin("dsession"):
        session.config.pluginmanager.register(OverProcesses(session.config))
    session.config.pluginmanager.register(Reports(session.config))


class Reports:
    """Collects the outcome and the measured values of every test from its reports."""

    def __init__(self, config: pytest.Config):
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            figures = [value for name, value in report.user_properties if name == "figure"]
            self.config.stash[REPORTED][report.nodeid] = {
                "outcome": report.outcome,
                "figures": figures,
            }


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if (
        config.getoption("figures") is None
        or hasattr(config, "workerinput")
        or config.getoption("collectonly")
    ):
        return
    file = Path(config.getoption("figures"))
    before = json.loads(file.read_text()) if file.exists() else {}
    kept = merged(before, config.stash[COLLECTED], config.stash[REPORTED])
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    # one line per test, so that two versions can be compared
    lines = (
        f"{json.dumps(name)}: {json.dumps(one, sort_keys=True)}"
        for name, one in sorted(kept.items())
    )
    beside.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(beside, file)


def merged(
    before: dict[str, Any], collected: dict[str, Any], reported: dict[str, Any]
) -> dict[str, Any]:
    """Return all tests of guarantees, with the values of this run or an earlier one."""
    looked_at = {name.partition("::")[0] for name in collected}
    kept = {
        name: one
        for name, one in before.items()
        if name.partition("::")[0] not in looked_at and Path(name.partition("::")[0]).exists()
    }
    for name, facts in collected.items():
        measured = before.get(name, {"outcome": "not run", "figures": []})
        if name in reported and reported[name]["outcome"] != "skipped":
            measured = (
                reported[name]
                | {"date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"}
                | {"run": conditions()}
            )
        kept[name] = measured | facts
    return kept


def conditions() -> str:
    """Return the version and the kind of machine, without its name."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"granchain {granchain.__version__}, Python {platform.python_version()}, {machine}"
