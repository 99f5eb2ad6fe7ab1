"""What notebooks show of our objects: tables with units, text that stays text, and a line of
progress."""

from __future__ import annotations

import io
import pydoc
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from support.synthetic import synthetic

import granchain as gc
from granchain.case import Case
from granchain.comparison.agreement import Agreement
from granchain.status import Status
from granchain.studies.fit import SensorFit
from granchain.studies.many import Member
from granchain.traces.about import about_of
from granchain.verification import SensorError, Verification

ATTACK = '<script>alert("x")</script><img src=x onerror=alert(1)> & {striker.speed}'


class Tags(HTMLParser):
    """The tags of a piece of HTML, each closed; what stands between them."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.seen.add(tag)
        assert not [
            name for name, _ in attributes if name.startswith("on") or name in ("src", "href")
        ]
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


ALLOWED = {
    "div",
    "b",
    "table",
    "tr",
    "td",
    "th",
    "thead",
    "details",
    "summary",
}


def read(shown: Any) -> Tags:
    """What a notebook shows of an object: only tables and text."""
    found = Tags(shown._repr_html_())
    assert found.seen <= ALLOWED
    return found


def small(**tables: Any) -> Case:
    return Case(
        **{
            "title": ATTACK.replace("{", "(").replace("}", ")"),
            "chain": {"beads": 9, "radius": 2.38e-3, "material": "steel-316"},
            "striker": {"speed": 1.77},
            "contact": {"law": "ma-liu", "psi": 2.84, "xi": 13.0},
            "time": {"end": 1e-4},
            **tables,
        }
    )


def test_a_case_shows_its_keys_with_their_units():
    found = read(small())
    assert "<script>" in found.text
    for words in (
        "chain.radius0.00238m",
        "striker.speed1.77m/s",
        "contact.psi2.84",
        "chain.material.yield_stress900000000Pa",
        "time.end0.0001s",
    ):
        assert words in found.text.replace("\n", "")
    # a law's own input, and a long list that is counted
    many = read(
        small(
            sensors={"beads": "all", "interval": 1e-6},
            chain={"beads": 30, "radius": 1e-3, "material": "steel-316"},
        )
    )
    assert "sensors.beads30 values, 1 to 30" in many.text


def test_a_result_shows_how_it_ended_and_its_variables():
    found = read(synthetic(title=ATTACK))
    assert ATTACK in found.text
    assert "details" in found.seen
    for words in ("complete", "time step", "sensor_force"):
        assert words in found.text
    assert "unstable" in read(synthetic(status=Status.UNSTABLE)).text


def test_a_comparison_shows_measured_beside_computed():
    result = synthetic()
    about = about_of({"title": ATTACK, "kind": "synthetic"}, "test")
    quiet = np.zeros((60, 3))
    time = 2e-7 * (np.arange(60 + len(result.time)) - 60)
    found = read(
        gc.compare(
            result,
            trace=gc.Trace(
                time, result.sensor_bead, np.vstack([quiet, result.sensor_force]), about
            ),
        )
    )
    assert ATTACK in found.text
    assert "peak [N], measured" in found.text and "arrival [us], measured" in found.text
    assert found.text.count("hertz [N]") == 1
    assert f"3{result.sensor_force[:, 0].max():.4g}" in found.text


def test_an_ensemble_shows_how_many_ended_how():
    members = [Member(Status.COMPLETE), Member(Status.UNSTABLE, ATTACK), Member(Status.COMPLETE)]
    found = read(gc.Ensemble([small()] * 3, members))
    assert (
        "Ensemble of 3 runs" in found.text
        and "complete2" in found.text
        and f"1{ATTACK}" in found.text
    )


def test_a_certificate_shows_what_was_measured():
    law = gc.laws()["hertz"]
    found = read(gc.Certificate(law, {"stiffness": None}, problems=[ATTACK]))
    assert found.text.startswith("hertz") and str(law.source) in found.text and ATTACK in found.text


def test_a_spectrum_shows_edges_beside_the_dispersion():
    arrays = {
        name: np.zeros(0)
        for name in ("transmission", "coherence", "cell_frequency", "cosine", "wavenumber", "power")
    }
    found = gc.Spectrum(
        title=ATTACK,
        law="hertz",
        source="bead 1",
        sensor="bead 9",
        unit="1",
        frequency=np.array([0.0, 10.0]),
        measured="velocity",
        band_edges=np.array([[0.0, 101.5]]),
        band_edge_errors=np.array([[5.0, 2.0]]),
        band_edge_reasons=np.array([["", ""]], dtype=object),
        messages=("no map",),
        dispersion=gc.theory.dispersion([1.0], [1e5]),
        **arrays,
    )
    shown = read(found)
    assert ATTACK in shown.text and "1 ends101.52100.658" in shown.text and "no map" in shown.text
    assert repr(found) == "<Spectrum: bead 1 to bead 9, 2 frequencies 10 Hz apart; 0 to 101.5 Hz>"


def test_bands_materials_and_impacts_show_their_numbers_with_units():
    shown = read(gc.theory.dispersion([1.0, 2.0], [1e5, 1e5], 0.1)).text.replace("\n", "")
    assert "length of a cell0.1m" in shown and "gap50.329271.1763" in shown
    steel = gc.Material(2e11, 0.3, source=ATTACK, name=ATTACK)
    shown = read(steel).text
    assert shown.startswith(ATTACK) and "Young's modulus2e+11Pa" in shown.replace("\n", "")
    hit = gc.impact(law="hertz", pair=gc.Pair.of_spheres(2.38e-3, "steel-316"), speed=1.0)
    found = read(hit)
    assert f"max force{hit.max_force:.6g}Nlargest force" in (found.text.replace("\n", ""))


def test_what_was_found_for_a_case_shows_errors_and_messages():
    case = small()
    sensor = SensorError(5, 31.5, 0.1, 0.2, 2e-5, 1e-8, 2e-8)
    common = {"title": ATTACK, "law": "ma-liu", "time_step": 1e-8, "limit": 1e-6, "steps": ()}
    verified = Verification(
        **common, interval=2e-7, order=1.2, order_stated=2, confirmed=False, residuals=(),
        sensors=(sensor,), tolerance=1e-3, sufficient_step=2e-9, largest_known_step=1e-8,
    )  # fmt: skip
    shown = read(verified).text.replace("\n", "")
    assert ATTACK in shown and "531.5 +- 0.320 +- 0.03" in shown and verified.doubt in shown
    one = np.array([0.25])
    equal = gc.Equivalent(
        "tsuji", "ma-liu", {"restitution": 0.99}, 0.25, one, (5,), ("restitution",), (), (), 1,
        "peaks", {"restitution": (0.05, 0.99)}, case, one, one, (ATTACK,),
    )  # fmt: skip
    shown = read(equal).text.replace("\n", "")
    assert "restitution0.99, an end of its range1" in shown and "5+25" in shown and ATTACK in shown
    side = Agreement(30.0, 0.5, 31.5)
    about = about_of({"title": ATTACK, "kind": "synthetic"}, "test")
    trace = gc.Trace(np.arange(9.0), np.array([5]), np.ones((9, 1)), about)
    fitted = gc.Fit(
        {"striker.speed": 1.5}, {"striker.speed": 0.01}, one, one, one,
        (SensorFit(5, side, side, 1.5),), 1.2, 3.0, True, 0.04, (), 0.0, 1.0, one, one, (), case,
        {"striker.speed": 1.0}, "peaks", trace, (), (ATTACK,),
    )  # fmt: skip
    shown = read(fitted).text.replace("\n", "")
    assert "striker.speed1.5 +- 0.01m/s" in shown and "53031.5" in shown and ATTACK in shown


def test_a_case_says_in_ten_lines_what_it_is_and_shows_nothing_of_pydantic():
    many = [{"count": 1, "radius": 1e-3 + 1e-6 * k} for k in range(30)]
    case = small(
        chain={"segment": many, "material": "steel-316"},
        initial={"velocity": [0.0] * 30},
        ends={"right": "wall"},
        sensors={"beads": "all"},
        snapshots={"interval": 1e-6},
        energy={"ledger": False},
        tolerance={"striker.speed": 0.02},
    )
    lines = repr(case).split("\n")
    assert len(lines) == 10 and all(len(line) <= 102 for line in lines)
    assert lines[0].startswith("<Case: ") and "contact: law ma-liu, psi 2.84, xi 13" in repr(case)
    for one in (case, case.chain, case.ends, Case):
        names = dir(one)
        assert not [name for name in names if name.startswith(("_", "model_"))]
        assert not {"copy", "json", "dict", "construct"} & set(names)
    assert {"striker", "replace", "sha256", "bodies"} <= set(dir(case))
    assert {"law", "psi", "xi"} <= set(dir(case.contact))
    told = pydoc.plaintext.document(Case)
    assert len(told.splitlines()) < 150 and "what is recorded; a table [sensors]" in told
    assert "the radius of a bead [m]" in pydoc.plaintext.document(type(case.chain))


# --- progress


class Clock:
    """time.monotonic() that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("granchain.progress.time.monotonic", made)
    return made


def test_a_line_of_progress_is_one_line_and_ends(clock):
    stream = io.StringIO()
    line = gc.ProgressLine("study", stream)
    for done, now in ((0, 0.0), (1, 0.1), (5, 2.0), (10, 4.0)):
        clock.now = now
        line(done, 10)
    written = stream.getvalue()
    # the second is too soon after the first; the last one ends the line
    assert [part.rstrip() for part in written.split("\r")] == [
        "", "study: 0 of 10, 0.0 s", "study: 5 of 10, 2 s to go", "study: 10 of 10, 4.0 s",
    ]  # fmt: skip
    assert written.count("\n") == 1 and written.endswith("\n")
    # what was longer is written over
    assert len(written.split("\r")[3].rstrip("\n")) >= len("study: 5 of 10, 2 s to go")


def test_a_notebook_gets_it_on_standard_output_and_a_terminal_on_standard_error(
    monkeypatch, capsys
):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    gc.ProgressLine()(2, 2)
    assert capsys.readouterr() == ("", "\r2 of 2, 0.0 s\n")
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    gc.ProgressLine()(2, 2)
    assert capsys.readouterr().out == "\r2 of 2, 0.0 s\n"


def test_runs_and_studies_call_it():
    case = gc.load_case(
        "steel-chain-hertz",
        ["chain.beads=5", "sensors.beads=[2]", "sensors.contacts=[1]", "time.end=5e-5"],
    )
    stream = io.StringIO()
    gc.run(case, watch=gc.ProgressLine("run", stream, every=0.0))
    assert "run: 100 %" in stream.getvalue()
    gc.run_many(
        [case, case.replace(**{"striker.speed": 2.0})],
        progress=gc.ProgressLine("two", stream, every=0.0),
    )
    assert "two: 2 of 2" in stream.getvalue()


def test_a_sweep_says_how_far_it_is_where_somebody_sees_it(monkeypatch, capsys):
    case = gc.load_case(
        "steel-chain-hertz",
        ["chain.beads=5", "sensors.beads=[2]", "sensors.contacts=[1]", "time.end=5e-5"],
    )
    vary = {"striker.speed": [1.0, 2.0]}
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    for seen, asked, written in (
        (True, None, True), (True, False, False), (False, None, False), (False, True, True),
    ):  # fmt: skip
        monkeypatch.setattr(sys.stderr, "isatty", lambda seen=seen: seen)
        gc.sweep(case, vary, progress=asked)
        assert ("sweep: 2 of 2" in capsys.readouterr().err) == written
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    gc.sweep(case, vary)
    assert "sweep: 2 of 2" in capsys.readouterr().out


def test_open_and_modules_are_reachable_and_cost_nothing():
    from granchain.contact.law import OPEN

    assert gc.OPEN == OPEN and "OPEN" in gc.__all__
    code = (
        "import sys, granchain; print([m for m in ('matplotlib', 'numpy', 'html', "
        "'granchain.markup') if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
