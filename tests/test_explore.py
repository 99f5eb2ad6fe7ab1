"""The interactive page: in headless Chromium, and its requests without a browser."""

import http.client
import re
import threading
from urllib.parse import urlsplit

import numpy as np
import pytest

import granchain as gc
from granchain.case.document import flattened
from granchain.errors import CaseError

pytest.importorskip("bokeh", reason="the extra explore (bokeh) is not installed")

# Time for a loop to be compiled on a busy machine [ms].
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

    def __init__(self, browser, explorer):
        self.explorer, self.errors = explorer, []
        self.page = browser.new_page(viewport={"width": 1440, "height": 900})
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._heard)
        assert self.page.goto(explorer.url).ok
        self.complete()

    def _heard(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def complete(self):
        self.page.get_by_role("status").filter(has_text="complete, contact law").wait_for()

    def field(self, key, role="textbox"):
        return self.page.get_by_role(role, name=re.compile(rf"^{re.escape(key)}( \[.*\])?$"))

    def type(self, key, text):
        self.field(key).fill(text)
        self.field(key).press("Enter")

    def shows(self, case):
        """Wait until the numbers are those of a case."""
        text = numbers_of(case)
        self.page.wait_for_function(
            "text => Bokeh.documents[0].get_model_by_name('numbers').text.startsWith(text)",
            arg=text,
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
    page = Opened(browser, explorer)
    yield page
    assert page.errors == []
    page.page.close()
    explorer.stop()


def test_numbers_are_those_of_run(opened, short_case):
    opened.shows(short_case)


@pytest.mark.long
def test_slider_step_computes_the_new_case(opened, short_case):
    opened.field("striker.speed", "slider").press("ArrowRight")
    opened.shows(short_case.replace({"striker.speed": 1.7877}))  # a step is 1 % of the first value
    assert opened.field("striker.speed").input_value() == "1.7877"


@pytest.mark.long
def test_typed_number_computes_the_new_case(opened, short_case):
    opened.type("chain.beads", "25")
    opened.shows(short_case.replace({"chain.beads": 25}))


@pytest.mark.long
def test_law_has_its_inputs(opened, short_case):
    opened.field("contact.law", "combobox").select_option("tsuji")
    opened.field("contact.restitution").wait_for()
    assert opened.page.get_by_role("textbox", name="contact.psi").count() == 0
    opened.type("contact.restitution", "0.8")
    opened.shows(short_case.replace({"contact.law": "tsuji", "contact.restitution": 0.8}))


@pytest.mark.long
def test_preset_is_a_built_in_case(opened):
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


@pytest.mark.long
def test_saved_files_are_of_the_shown_case(opened, short_case, tmp_path):
    opened.type("striker.speed", "2.5")
    case = short_case.replace({"striker.speed": 2.5})
    opened.shows(case)
    for label in ("case", "case", "result", "figure"):
        opened.page.get_by_role("button", name=f"Save {label}").click()
        opened.page.get_by_role("status").filter(has_text="Saved").wait_for()
        opened.page.evaluate("Bokeh.documents[0].get_model_by_name('status').text = ''")
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
    opened.page.get_by_role("status").filter(has_text="Computing").wait_for()
    opened.type("time.end", "2e-4")
    opened.shows(short_case.replace({"sensors.interval": 1e-3, "snapshots.interval": 1e-3}))


@pytest.mark.long
def test_command_and_code_compute_the_shown_case(browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    explorer = gc.explore("steel-chain", browser=False)
    opened = Opened(browser, explorer)
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


@pytest.mark.long
def test_measured_record_is_shifted_to_the_computed_arrivals(browser):
    explorer = gc.explore("steel-chain", "data/synthetic2026", browser=False)
    opened = Opened(browser, explorer)
    trace = gc.read_trace("data/synthetic2026")
    assert len(opened.data("forces", 2)) == trace.sensor_bead.size
    assert "measured trace: shifted by" in opened.page.get_by_text("wave speed").inner_text()
    explorer.stop()


@pytest.mark.long
def test_random_moves_leave_no_error(browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(54)
    explorer = gc.explore("steel-chain", browser=False)
    opened = Opened(browser, explorer)
    keys = ("striker.speed", "contact.psi", "contact.xi", "chain.beads", "chain.radius", "time.end")
    opened.field("striker.speed", "slider").wait_for()
    for _ in range(200):
        slider = opened.field(str(random.choice(keys)), "slider")
        slider.press(str(random.choice(["ArrowLeft", "ArrowRight", "PageUp", "PageDown"])))
    opened.page.wait_for_timeout(2000)
    opened.shows(explorer.case)
    assert opened.errors == []
    explorer.stop()


# --------------------------------------------------------------------------------------------------
# Requests


@pytest.fixture(scope="module")
def server(short_case):
    explorer = gc.explore(short_case, browser=False)
    yield explorer
    explorer.stop()


def status_of(server, path=None, **headers):
    """Return the status of a request with these headers."""
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", url.path if path is None else path, headers=names)
    status = connection.getresponse().status
    connection.close()
    return status


SOCKET = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Protocol": "bokeh, token",
}


def test_server_listens_on_the_loopback_address_only(server):
    assert urlsplit(server.url).hostname == "127.0.0.1"
    names = {thread.name for thread in threading.enumerate()}
    assert "granchain server" in names


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1"])
@pytest.mark.parametrize("path", [None, "/static/js/bokeh.min.js"])
def test_foreign_host_is_refused(server, host, path):
    assert status_of(server, path) == 200
    assert status_of(server, path, Host=host) == 403


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://127.0.0.1:1"])
def test_foreign_origin_is_refused(server, origin):
    path = f"{urlsplit(server.url).path}/ws"
    home = server.url.removesuffix(urlsplit(server.url).path)
    assert status_of(server, Origin=home) == 200
    assert status_of(server, Origin=origin) == 403
    assert status_of(server, path, Origin=home, **SOCKET) == 101
    assert status_of(server, path, Origin=origin, **SOCKET) == 403
    assert status_of(server, path, **SOCKET) == 403


@pytest.mark.parametrize("path", ["/", "/ws", "/other", "/static/../explore.py"])
def test_other_paths_are_refused(server, path):
    assert status_of(server, path) in (403, 404)
    assert status_of(server, f"{urlsplit(server.url).path}/autoload.js") == 403


def test_used_port_is_reported(server, short_case):
    port = urlsplit(server.url).port
    with pytest.raises(CaseError, match=f"port: {port} cannot be used"):
        gc.explore(short_case, port=port, browser=False)
