"""The interactive page: in headless Chromium, and its requests without a browser."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest
from support.processes import LONGEST, ROOT

import granchain as gc
from granchain.case.document import flattened
from granchain.errors import CaseError

pytest.importorskip("bokeh", reason="the extra explore (bokeh) is not installed")

# Time to compile a loop on a busy machine [ms].
PATIENCE = 60_000


@pytest.fixture(scope="module")
def short_case():
    """Return the built-in chain with fewer beads and a shorter run."""
    return gc.load_case("steel-chain").replace(
        {
            "chain.beads": 20,
            "sensors.beads": [5, 9, 14],
            "sensors.contacts": [0, 8],
            "time.end": 2e-4,
        }
    )


class Opened:
    """A page in the browser, with the errors of its console."""

    def __init__(self, browser, url, status="complete, contact law"):
        self.errors = []
        self.page = browser.new_page(viewport={"width": 1440, "height": 900})
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._heard)
        assert self.page.goto(url).ok
        self.says(status)

    def _heard(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def says(self, text):
        self.page.get_by_role("status").filter(has_text=text).wait_for()

    def field(self, key, role="textbox"):
        return self.page.get_by_role(role, name=re.compile(rf"^{re.escape(key)}( \[.*\])?$"))

    def type(self, key, text):
        self.field(key).fill(text)
        self.field(key).press("Enter")

    def shows(self, case):
        """Wait until the numbers are those of a case."""
        text = numbers_of(case)
        self.page.wait_for_function(
            "text => document.getElementById('numbers').textContent.startsWith(text)", arg=text
        )

    def ends(self, plot):
        """Return the ends of the vertical axis."""
        return self.page.evaluate(
            "name => (axis => [axis.start, axis.end])"
            "(Bokeh.documents[0].get_model_by_name(name).y_range)",
            plot,
        )

    def data(self, plot, renderer):
        return self.page.evaluate(
            "([plot, k]) => Array.from(Bokeh.documents[0].get_model_by_name(plot)"
            ".renderers[k].data_source.data.ys ?? [], y => Array.from(y))",
            [plot, renderer],
        )


def numbers_of(case):
    """Return the numbers that `granchain run` prints."""
    from granchain.show.numbers import run_numbers

    return run_numbers(gc.analysis.summary(gc.run(case)))


@pytest.fixture
def opened(browser, short_case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    explorer = gc.explore(short_case, browser=False)
    page = Opened(browser, explorer.url)
    yield page
    assert page.errors == []
    page.page.close()
    explorer.stop()


def test_numbers_are_those_of_run(opened, short_case):
    opened.shows(short_case)


@pytest.mark.long
def test_slider_step_typed_number_law_and_preset_compute_the_new_case(opened, short_case):
    opened.field("striker.speed", "slider").press("ArrowRight")
    case = short_case.replace({"striker.speed": 1.7877})  # a step is 1 % of the first value
    opened.shows(case)
    assert opened.field("striker.speed").input_value() == "1.7877"
    opened.type("chain.beads", "25")
    case = case.replace({"chain.beads": 25})
    opened.shows(case)
    # the law has other inputs
    opened.field("contact.law", "combobox").select_option("tsuji")
    opened.field("contact.restitution").wait_for()
    assert opened.page.get_by_role("textbox", name="contact.psi").count() == 0
    opened.type("contact.restitution", "0.8")
    opened.shows(case.replace({"contact.law": "tsuji", "contact.restitution": 0.8}))
    opened.field("case", "combobox").select_option("steel-chain-hertz")
    opened.shows(gc.load_case("steel-chain-hertz"))


def test_invalid_value_is_reported_at_its_field(opened, short_case):
    with pytest.raises(CaseError) as error:
        short_case.replace({"chain.radius": -1})
    (problem,) = error.value.problems
    opened.type("chain.radius", "-1")
    alert = opened.page.get_by_role("alert").get_by_text(problem, exact=True)
    alert.wait_for()
    below = alert.bounding_box()["y"] - opened.field("chain.radius").bounding_box()["y"]
    assert 0 < below < 100
    opened.type("chain.radius", "0.002")
    alert.wait_for(state="hidden")
    opened.shows(short_case.replace({"chain.radius": 0.002}))


@pytest.mark.long
def test_reference_stays_below_the_next_runs(opened, short_case):
    before = opened.data("forces", 1)
    assert opened.data("forces", 0) == []
    opened.page.get_by_role("button", name="Keep as reference").click()
    opened.type("striker.speed", "2.5")
    opened.shows(short_case.replace({"striker.speed": 2.5}))
    assert opened.data("forces", 0) == before
    assert opened.data("forces", 1) != before


def test_a_run_that_ends_before_the_page_has_loaded_is_shown(browser, short_case):
    explorer = gc.explore(short_case, browser=False)

    def late(route):
        while explorer.result is None:
            time.sleep(0.01)
        route.continue_()

    def new_page(**options):
        page = browser.new_page(**options)
        page.route("**/static/**", late)
        return page

    opened = Opened(SimpleNamespace(new_page=new_page), explorer.url)
    assert len(opened.data("forces", 1)) == 3
    explorer.stop()


@pytest.mark.long
def test_saved_files_are_of_the_shown_case(opened, short_case, tmp_path):
    opened.type("striker.speed", "2.5")
    case = short_case.replace({"striker.speed": 2.5})
    opened.shows(case)
    for label in ("case", "case", "result", "figure"):
        opened.page.get_by_role("button", name=f"Save {label}").click()
        opened.says("Saved")
        opened.page.evaluate("document.getElementById('status').textContent = ''")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "case-explored-2.toml",
        "case-explored.h5",
        "case-explored.pdf",
        "case-explored.toml",
    ]
    assert gc.load_case(tmp_path / "case-explored.toml") == case
    assert np.array_equal(
        gc.open(tmp_path / "case-explored.h5").sensor_force, gc.run(case).sensor_force
    )


@pytest.mark.long
def test_every_control_has_its_key_as_name(opened, short_case):
    opened.page.get_by_role("button", name="Show all parameters").click()
    opened.field("energy.bound").wait_for()
    numbers = [
        key for key, value in flattened(short_case.resolved()) if type(value) in (int, float)
    ]
    assert len(numbers) > 20
    for key in numbers:
        assert opened.field(key).count() == 1, key
    for key in ("chain.beads", "striker.speed", "contact.psi", "chain.material.yield_stress"):
        opened.field(key, "slider").wait_for()


@pytest.mark.long
def test_another_contact_can_be_plotted(opened, short_case):
    opened.field("sensors.contacts: contact of the loop", "combobox").select_option("3")
    opened.page.wait_for_function(
        "Bokeh.documents[0].get_model_by_name('loop').renderers[1].data_source.data.name[0]"
        " == 'contact 3'"
    )
    peak = float(gc.run(short_case).contact_peak_force[3])
    assert max(opened.data("loop", 1)[0]) == pytest.approx(peak, rel=1e-3)


@pytest.mark.long
def test_long_run_shows_progress_and_is_cancelled_by_the_next_change(opened, short_case):
    opened.type("sensors.interval", "1e-3")
    opened.type("snapshots.interval", "1e-3")
    opened.type("time.end", "20")  # 5e8 steps of 4e-8 s: many seconds on any machine
    opened.says("Computing")
    opened.type("time.end", "2e-4")
    opened.shows(short_case.replace({"sensors.interval": 1e-3, "snapshots.interval": 1e-3}))


@pytest.mark.long
def test_command_and_code_compute_the_shown_case(browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    explorer = gc.explore("steel-chain", browser=False)
    opened = Opened(browser, explorer.url)
    opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.type("striker.speed", "2.5")
    case = gc.load_case("steel-chain").replace({"striker.speed": 2.5})
    opened.shows(case)
    copied = {}
    for label in ("Copy Python", "Copy command"):
        opened.page.get_by_role("button", name=label).click()
        copied[label] = opened.page.evaluate("navigator.clipboard.readText()")
    assert copied["Copy command"] == "granchain run steel-chain --set striker.speed=2.5"
    names = {}
    exec(copied["Copy Python"], names)
    assert names["case"] == explorer.case == case
    assert names["result"].equals(gc.run(case))
    assert opened.errors == []
    explorer.stop()


def test_command_and_code_read_the_saved_case_after_a_key_is_removed(tmp_path):
    from bokeh.document import Document

    from granchain.show.page import Page

    # the command line has no way to remove a key
    explorer = SimpleNamespace(
        base=gc.load_case("steel-chain"), source="steel-chain", trace=None, folder=tmp_path,
        executor=SimpleNamespace(submit=lambda *run: None),
    )  # fmt: skip
    page = Page(explorer, Document())
    page.change("contact.impact_speed", None)
    page.save_case()
    assert page.texts.data["command"] == ["granchain run steel-chain-explored.toml"]
    (python,) = page.texts.data["python"]
    assert "gc.load_case('steel-chain-explored.toml')\n" in python and "replace" not in python
    assert gc.load_case(tmp_path / "steel-chain-explored.toml") == page.case


@pytest.mark.long
def test_measured_record_is_shifted_to_the_computed_arrivals(browser):
    explorer = gc.explore("steel-chain", "data/synthetic2026", browser=False)
    opened = Opened(browser, explorer.url)
    trace = gc.read_trace("data/synthetic2026")
    assert len(opened.data("forces", 2)) == trace.sensor_bead.size
    assert "measured trace: shifted by" in opened.page.get_by_text("wave speed").inner_text()
    explorer.stop()


@pytest.mark.long
def test_random_moves_leave_no_error(browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(54)
    explorer = gc.explore("steel-chain", browser=False)
    opened = Opened(browser, explorer.url)
    keys = ("striker.speed", "contact.psi", "contact.xi", "chain.beads", "chain.radius", "time.end")
    opened.field("striker.speed", "slider").wait_for()
    for _ in range(200):
        slider = opened.field(str(random.choice(keys)), "slider")
        slider.press(str(random.choice(["ArrowLeft", "ArrowRight", "PageUp", "PageDown"])))
    opened.page.wait_for_timeout(2000)
    opened.shows(explorer.case)
    assert opened.errors == []
    explorer.stop()


@pytest.mark.long
def test_zoom_stays_until_it_is_reset(opened, short_case):
    opened.page.evaluate(
        "Bokeh.documents[0].get_model_by_name('forces').y_range.setv({start: 1.0, end: 2.0})"
    )
    opened.type("striker.speed", "3.5")
    opened.shows(short_case.replace({"striker.speed": 3.5}))
    assert opened.ends("forces") == [1.0, 2.0]
    assert opened.ends("energy")[1] > 2e3 * short_case.striker.mass  # twice the speed
    peak = max(max(line) for line in opened.data("forces", 1))
    opened.page.evaluate("Bokeh.documents[0].get_model_by_name('forces').reset.emit()")
    low, high = opened.ends("forces")
    assert -0.1 * peak < low < 0.0
    assert peak < high < 1.1 * peak


@pytest.mark.long
def test_law_is_compiled_in_the_background(browser, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    with served(tmp_path, "steel-chain-hertz") as url:
        opened = Opened(browser, url, "Compiling hertz in the background")
        opened.says("complete, contact law hertz")
        opened.field("contact.law", "combobox").select_option("tsuji")
        opened.says("Compiling tsuji in the background")
        opened.field("contact.restitution").wait_for()  # the page responds during the compilation
        opened.says("complete, contact law tsuji")
        assert opened.errors == []


@pytest.mark.long
def test_notebook_shows_the_page(browser, tmp_path):
    nbformat, nbclient = map(pytest.importorskip, ("nbformat", "nbclient"))
    code = "import granchain as gc\n\npage = gc.explore('steel-chain')\npage"
    cells = [nbformat.v4.new_code_cell(text) for text in (code, "page.stop()")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(notebook, kernel_name="python3", resources=resources)
    with client.setup_kernel():
        (output,) = client.execute_cell(cells[0], 0).outputs
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.set_content(output.data["text/html"])
        frame = page.frame_locator("iframe")
        frame.get_by_role("status").filter(has_text="complete, contact law ma-liu").wait_for()
        numbers = frame.get_by_text("wave speed").inner_text()
        assert numbers.startswith(numbers_of(gc.load_case("steel-chain")))
        page.close()
        assert client.execute_cell(cells[1], 1).outputs == []


# --------------------------------------------------------------------------------------------------
# Command


@contextmanager
def served(folder, *arguments):
    """Yield the address that the command prints, and stop it with SIGINT."""
    command = [sys.executable, "-m", "granchain", "explore", *arguments, "--no-browser"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        _, written = process.communicate(timeout=LONGEST)
    assert process.returncode == 130
    assert written.splitlines() == ["granchain: press Ctrl-C to stop", "granchain: interrupted"]


def test_command_serves_the_page_at_its_port_until_it_is_interrupted(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with served(tmp_path, "steel-chain", "--port", str(port)) as url:
        assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/[\w-]{{16}}", url)
        assert status_of(url) == 200


def test_command_opens_the_printed_address_except_with_no_browser(obeyed, monkeypatch):
    opened = []
    # The package that starts a kernel for another test imports it.
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("granchain.show.server.Explorer.wait", lambda explorer: explorer.stop())
    printed = obeyed("explore", "steel-chain").out
    assert opened == [printed.strip()]
    obeyed("explore", "steel-chain", "--no-browser")
    assert len(opened) == 1


def test_command_reads_the_measured_trace(obeyed, monkeypatch):
    traces = []
    monkeypatch.setattr(
        "granchain.show.server.Explorer.wait",
        lambda explorer: (traces.append(explorer.trace), explorer.stop()),
    )
    obeyed("explore", "steel-chain", "--no-browser", "--trace", "data/synthetic2026")
    expected = gc.read_trace("data/synthetic2026")
    assert np.array_equal(traces[0].sensor_force, expected.sensor_force)
    assert "nowhere" in obeyed("explore", "--no-browser", "--trace", "nowhere", code=4).err


# --------------------------------------------------------------------------------------------------
# Requests


@pytest.fixture(scope="module")
def server(short_case):
    explorer = gc.explore(short_case, browser=False)
    yield explorer
    explorer.stop()


def status_of(address, path=None, **headers):
    """Return the status of a request with these headers."""
    url = urlsplit(address)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", url.path if path is None else path, headers=names)
    status = connection.getresponse().status
    connection.close()
    return status


SOCKET = {
    "Upgrade": "websocket", "Connection": "Upgrade",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Protocol": "bokeh, token",
}  # fmt: skip


def test_server_listens_on_the_loopback_address_only(server):
    assert urlsplit(server.url).hostname == "127.0.0.1"
    names = {thread.name for thread in threading.enumerate()}
    assert "granchain server" in names


def test_foreign_host_is_refused(server):
    for path in (None, "/static/js/bokeh.min.js"):
        assert status_of(server.url, path) == 200
        for host in ("evil.example", "evil.example:80", "", "127.0.0.1"):
            assert status_of(server.url, path, Host=host) == 403, (path, host)


def test_foreign_origin_is_refused(server):
    path = f"{urlsplit(server.url).path}/ws"
    home = server.url.removesuffix(urlsplit(server.url).path)
    assert status_of(server.url, Origin=home) == 200
    assert status_of(server.url, path, Origin=home, **SOCKET) == 101
    assert status_of(server.url, path, **SOCKET) == 403
    for origin in ("null", "http://evil.example", "http://127.0.0.1:1"):
        assert status_of(server.url, Origin=origin) == 403, origin
        assert status_of(server.url, path, Origin=origin, **SOCKET) == 403, origin


def test_other_paths_are_refused(server):
    for path in ("/", "/ws", "/other", "/static/../explore.py"):
        assert status_of(server.url, path) in (403, 404), path
    assert status_of(server.url, f"{urlsplit(server.url).path}/autoload.js") == 403


def test_used_port_is_reported(server, short_case):
    port = urlsplit(server.url).port
    with pytest.raises(CaseError, match=f"port: {port} cannot be used"):
        gc.explore(short_case, port=port, browser=False)


@pytest.mark.parametrize(("law", "name", "value"), [("ma-liu", "xi", 1.5), ("stronge", "theta", 2)])
def test_the_ends_of_a_slider_at_an_exclusive_limit_are_allowed(law, name, value):
    from granchain.show.parameters import slider_range

    (quantity,) = (quantity for quantity in gc.laws()[law].inputs if quantity.name == name)
    start, end, _ = slider_range(quantity, float(value))
    assert quantity.problem(start) is quantity.problem(end) is None and start < value < end


@pytest.mark.parametrize("name", ["forces", "energy"])
def test_legend_of_lines_is_below_the_plot(name):
    from bokeh.models import InlineStyleSheet, Legend

    from granchain.show.plots import Plots

    # on a page of 390 px, a legend inside covers the last pulses
    plot = Plots(InlineStyleSheet(css=""), measured=True).figures[name]
    (legend,) = plot.select(Legend)
    assert legend in plot.below and legend not in plot.center
    assert (legend.orientation, legend.ncols) == ("horizontal", 4)


def test_a_run_is_shown_in_one_message_so_that_each_plot_is_drawn_once(short_case):
    from bokeh.document import Document
    from bokeh.models import InlineStyleSheet

    from granchain.show.page import case_for_page
    from granchain.show.plots import Plots, plot_data

    plots, document, changes = Plots(InlineStyleSheet(css=""), measured=False), Document(), []
    for model in (plots.message, *plots.figures.values()):
        document.add_root(model)
    results = [gc.run(case_for_page(short_case.replace({"striker.speed": v}))) for v in (1.0, 2.0)]
    first, second = (plot_data(result, gc.analysis.summary(result), 0) for result in results)
    plots.show(first)  # the names of the legends are messages of their own
    document.on_change(changes.append)
    plots.show(second)
    assert [change.model for change in changes] == [plots.message]
