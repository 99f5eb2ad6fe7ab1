"""What the tests share: the promises that they show, and the figures that they measured.

A test marked `@pytest.mark.promise("N1")` shows a promise of docs/reliability.md; by the fixture
`figure` it reports what it measured, which is checked against its bound at once. `--figures FILE`
keeps both, from every process of the run, in a JSON file, from which `docs/reliability.py` prints
the page. A test that this run left out keeps the figures of the last run that did not.
"""

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

# Files whose tests compile loops or take seconds. One process begins with them and the other one
# with the rest, so that few loops are compiled by both.
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
    # A shell starts a background job with SIGINT ignored, and its children inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own, in which it works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def obeyed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """obeyed(*arguments, code=0): what a command with this exit code wrote, as .out and .err."""
    from granchain.cli import obey

    def written(*arguments: str, code: int = 0) -> Any:
        assert obey([*arguments]) == code, capsys.readouterr().err
        return capsys.readouterr()

    return written


@pytest.fixture(scope="module")
def script(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The script that stands beside the page of docs that a file of tests names, as a module."""
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
    """The time loop as plain Python: where a compiled one would be this test's alone and take
    longer than its few steps; that both give the same bits is test_pinned.py's."""
    from granchain.engine.loop import time_loop

    monkeypatch.setattr("granchain.engine.state.loop_of", time_loop)
    monkeypatch.setattr("granchain.engine.batch.compiled", lambda stack: stack)


@pytest.fixture
def plain_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop over members is compiled: test_many.py looks at those."""
    monkeypatch.setattr("granchain.engine.batch.COMPILED", sys.maxsize)


@pytest.fixture
def plain_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans of coefficients as plain Python, which take less than their compiling."""
    monkeypatch.setattr("granchain.engine.setup.PLAIN_SECONDS", math.inf)


@pytest.fixture
def own_laws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Laws that a test declares, and modules that it loads from its own files, are forgotten."""
    from granchain.contact import law, laws
    from granchain.contact.user import PREFIX

    # those of the package are known for good
    monkeypatch.setattr(law, "REGISTRY", dict(laws()))
    loaded = set(sys.modules)
    yield
    for name in set(sys.modules) - loaded:
        if name.startswith(PREFIX) or name.partition(".")[0] in ("law", "near", "pkg"):
            del sys.modules[name]


@pytest.fixture
def jit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Numba compiles, in a run without it too, and saves what it compiled in this folder."""
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made and not rendered, which takes most of their time: their files hold the
    first bytes of their kind. What is rendered is looked at in test_figures.py and test_plot.py."""
    from granchain.figures import style

    def blank(figure: Any, ending: str, dpi: float | None = None) -> bytes:
        return style.FORMATS[ending] + b"<svg></svg>" * (ending == ".svg")

    monkeypatch.setattr(style, "image_of", blank)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a screen, which reaches nothing but the pages of the tests."""
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
    """figure(what, value, at_least=..., at_most=...): keeps a measured value, and fails the test
    outside its bounds.

    At least one bound, both where a value that is too good would show a test that measures nothing.
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
    """Every test of a promise, before some are left out; of a plain loop, only as plain Python."""
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
    """What the processes of pytest-xdist collected."""

    def __init__(self, config: pytest.Config):
        self.config = config

    def pytest_testnodedown(self, node: Any) -> None:
        self.config.stash[COLLECTED].update(getattr(node, "workeroutput", {}).get("collected", {}))


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.pluginmanager.hasplugin("dsession"):
        session.config.pluginmanager.register(OverProcesses(session.config))
    session.config.pluginmanager.register(Reports(session.config))


class Reports:
    """Outcome and figures of every test, as its reports come in."""

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
    # a line for each test, so that two versions can be compared
    lines = (
        f"{json.dumps(name)}: {json.dumps(one, sort_keys=True)}"
        for name, one in sorted(kept.items())
    )
    beside.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(beside, file)


def merged(
    before: dict[str, Any], collected: dict[str, Any], reported: dict[str, Any]
) -> dict[str, Any]:
    """All tests of promises that exist, with what this run or an earlier one measured."""
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
    """Version and kind of machine; no name of one."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"granchain {granchain.__version__}, Python {platform.python_version()}, {machine}"
