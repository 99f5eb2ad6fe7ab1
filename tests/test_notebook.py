"""Objects in notebooks: tables with units, text that is escaped, and a line of progress."""

import io
import re
import sys
from html.parser import HTMLParser

from support.short_chains import short
from support.synthetic import synthetic

import granchain as gc
from granchain.status import Status
from granchain.store import Label
from granchain.verification import Verification, doubt_about

ATTACK = '<script>alert("x")</script><img src=x onerror=alert(1)> & {striker.speed}'


class Tags(HTMLParser):
    """The tags of a piece of HTML, which must all be closed, and the text between them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.seen = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.open.append(tag)
        assert not [name for name, _ in attributes if re.match(r"on|src$|href$", name)]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


ALLOWED = {"div", "b", "table", "tr", "td", "th", "thead", "details", "summary", "pre"}


def read(shown):
    """Return the tags and text that a notebook shows for an object, which may only contain tables
    and text."""
    found = Tags(shown._repr_html_())
    assert found.seen <= ALLOWED
    return found


CASE = gc.load_case("steel-chain").replace(title=ATTACK)


def test_a_case_shows_its_text():
    found = read(CASE)
    assert "<script>" in found.text
    for words in ("radius = 0.00238", "speed = 1.77", "psi = 2.84", "yield_stress = 900000000.0"):
        assert words in found.text
    # long lines are shortened
    many = read(CASE.replace(**{"chain.beads": 300, "chain.gap_added": [0.0] * 299}))
    assert "gap_added = [0.0, 0.0," in many.text and max(map(len, many.text.split("\n"))) <= 170
    assert ATTACK in repr(CASE) and "\n" not in repr(CASE)


def test_a_result_shows_how_it_ended_and_its_variables():
    found = read(synthetic(title=ATTACK))
    assert ATTACK in found.text
    assert "details" in found.seen
    assert all(words in found.text for words in ("complete", "time step", "sensor_force"))
    assert "unstable" in read(synthetic(status=Status.UNSTABLE)).text


def test_what_was_found_for_a_case_shows_errors_and_messages():
    numbers = {"order": 1.2, "order_stated": 2, "confirmed": False, "time_step": 1e-8}
    numbers |= {"sensor_bead": [5], "peak": [31.5], "peak_error": [0.1], "peak_sampling": [0.2]}
    verified = Verification(numbers, law="ma-liu", title=ATTACK, messages=[doubt_about(1.2)])
    shown = read(verified).text.replace("\n", "")
    assert ATTACK in shown and "531.50.10.2" in shown and verified.messages[0] in shown
    limits = {"contact.restitution": 0.99, "contact.restitution_high": 0.99}
    labels = {name: Label((), "1", "case parameter") for name in limits}
    bounds = {"key": ["contact.restitution"], "at_bound": [True]}
    sensors = {"sensor_bead": [5], "per_bead": [0.25]}
    equal = gc.Equivalent(limits | bounds | sensors, case=CASE, labels=labels, messages=[ATTACK])
    shown = read(equal).text.replace("\n", "")
    assert "contact.restitution0.99" in shown and "contact.restitutionyes" in shown
    assert "50.25" in shown and shown.count(ATTACK) == 2
    speed = {"striker.speed": 1.5, "striker.speed_error": 0.01}
    labels = {name: Label((), "m/s", "case parameter") for name in speed}
    sides = {"peak_measured": [30.0], "peak_error": [0.5], "peak_computed": [31.5]}
    fitted = gc.Fit(speed | sides | {"sensor_bead": [5]}, title=ATTACK, law="hertz", labels=labels)
    shown = read(fitted).text.replace("\n", "")
    assert "striker.speed_error0.01m/s" in shown and "5300.531.5" in shown and ATTACK in shown


def test_a_notebook_gets_it_on_standard_output_and_a_terminal_on_standard_error(
    monkeypatch, capsys
):
    line = "\r2 of 2, 0.0 s\n"
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    gc.ProgressLine()(2, 2)
    assert capsys.readouterr() == ("", line)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    gc.ProgressLine()(2, 2)
    assert capsys.readouterr().out == line


def test_runs_and_studies_call_it():
    case, stream = short(**{"time.end": 5e-5}), io.StringIO()
    gc.run(case, watch=gc.ProgressLine("run", stream, every=0.0))
    assert "run: 100 %" in stream.getvalue()
    cases = [case, case.replace(**{"striker.speed": 2.0})]
    gc.run_many(cases, progress=gc.ProgressLine("two", stream, every=0.0))
    assert "two: 2 of 2" in stream.getvalue()
