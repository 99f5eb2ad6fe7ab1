"""The report: one page without external files, for any contents of the files; the long tests open
it in a browser."""

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from support.synthetic import synthetic

import granchain as gc
from granchain import errors
from granchain.cli import obey
from granchain.figures.catalogue import figures_of
from granchain.measured.sensor import Sensor
from granchain.show.answer import answer_blocks, figure_blocks
from granchain.show.report import report
from granchain.status import Message, Status
from granchain.store import Result, open_answer

SMALL = gc.load_case("steel-chain-hertz").replace(
    **{"chain.beads": 12, "sensors.beads": [3, 6], "sensors.contacts": [], "time.end": 6e-5}
)


def compared(*results, trace_of=None, labels=None):
    """Return a comparison with a trace of nine tenths of the forces of a result."""
    result = trace_of or results[0]
    _, force = Sensor(interval=1e-6).read(result.time, 0.9 * result.sensor_force)
    force = np.vstack([np.zeros((30, force.shape[1])), force])
    sensor = {"cutoff": 2e5, "high_pass": 1e3, "filter_order": 2}
    stated = {"title": "A trace", "kind": "measured", "doi": "10.1234/made-up", "sensor": sensor}
    time = 1e-6 * np.arange(len(force))
    trace = gc.Trace(time=time, force=force, beads=result.sensor_bead, about=stated)
    trace.notes = ("bead 9 is clipped",)
    return gc.compare(*results, trace=trace, labels=labels, tolerances={"peak": 0.01}, members=0)


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """Return the files of a run and of its comparison with a trace."""
    folder = tmp_path_factory.mktemp("report")
    title = "Beads <b>struck</b> & heard"
    result = gc.run(SMALL.replace(title=title, snapshots=None))
    result.save(folder / "run.h5")
    compared(result).save(folder / "compared.h5")
    return folder


@pytest.mark.usefixtures("blank_pictures")
def test_a_page_holds_all_it_needs(computed):
    page = report([computed / "run.h5", computed / "compared.h5"]).decode()
    # our single script; the page loads no other files, and contains only links that a reader can
    # follow
    assert "<link" not in page and "@import" not in page
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert f"default-src 'none'; img-src data:; {policy}" in page
    ours = r'href="(data:image/png;base64,|https://doi\.org/|#figure-[0-9]+-|#part-[012]")'
    assert len(re.findall(r'(?:src|href)="', page)) == len(re.findall(ours, page))
    for words in (
        "Energy balance",
        "Contact law hertz",
        "How to cite",
        "case_sha256",
        "<td>file</td><td>run.h5</td>",
        "Complete case with all defaults",
        "Bead 9 is clipped.",
        "more than the tolerance 0.01",
        "<td>cutoff</td><td>200000</td><td>Hz</td>",
        "Elastic spheres: F = K d\u00b9\u00b7\u2075.",
        "peak computed hertz [N]",
        'href="https://doi.org/10.1234/made-up"',
    ):
        assert words in page, words
    assert "&lt;b&gt;struck&lt;/b&gt; &amp; heard" in page and "<b>struck" not in page
    # the law appears once, and the references at the end
    assert page.count(">Contact law hertz<") == page.count(">How to cite<") == 1
    assert page.index(">Provenance<") < page.index(">How to cite<")
    # peaks of the run itself
    assert page.count('<svg role="img"') >= 4
    compared = page.partition("Bead 9 is clipped.")[2]
    assert compared.count('<figure class="picture"') == 1 and "Figure not available" not in page


@pytest.mark.usefixtures("blank_pictures")
def test_mistakes_come_together_and_nothing_is_replaced_that_is_no_report(computed, here):
    wrong = {"notes.html": "<html>mine</html>", "list.json": "[1, 2]", "deep.json": "[" * 100_000}
    for name, content in wrong.items():
        Path(name).write_text(content)
    with pytest.raises(errors.FileError) as refused:
        report(["none.h5", *wrong])
    assert all(name in str(refused.value) for name in ("none.h5", *wrong))
    command = ["report", str(computed / "compared.h5"), "--author", "A. Author", "--out"]
    for name, more, code in (
        ("notes.html", [], 4),
        ("notes.html", ["--overwrite"], 4),
        ("page.pdf", [], 4),
        ("page.html", [], 0),
        ("page.html", [], 4),
        ("page.html", ["--overwrite"], 0),
    ):
        assert obey([*command, name, *more]) == code
    assert Path("notes.html").read_text() == wrong["notes.html"]
    assert "A. Author" in Path("page.html").read_text()


@pytest.mark.usefixtures("blank_pictures")
def test_a_failed_run_and_a_law_that_is_not_here_have_their_page(computed, tmp_path):
    run = open_answer(computed / "run.h5")
    data = {name: variable.data for name, variable in run.variables.items()}
    told = {"law": "of-my-own", "status": Status.UNSTABLE, "time_step": run.time_step}
    Result(data, case=run.case, **told).save(tmp_path / "a.h5")
    page = report([tmp_path / "a.h5"]).decode()
    for words in ("of-my-own", "This law is not installed here", f": {Status.UNSTABLE.label}."):
        assert words in page


SMALL_WAVES = (
    ("modes", gc.modes, gc.figures.mode_shapes),
    ("dispersion", gc.dispersion, gc.figures.dispersion_curves),
)


@pytest.mark.parametrize(("command", "call", "draw"), SMALL_WAVES)
def test_small_waves_are_saved_plotted_cited_and_reported(
    command, call, draw, tmp_path, monkeypatch, obeyed
):
    monkeypatch.chdir(tmp_path)
    few = ["--set", "chain.beads=4", "--set", "sensors.beads=[2]"]
    case = gc.load_case("driven-chain", few[1::2])
    asked, file = [command, "driven-chain", *few, "--out"], f"{command}.h5"
    assert obeyed(*asked, file).out.endswith(f"\n{file}\n")
    opened = gc.open(file)
    assert opened.equals(call(case)) and opened.case.sha256 == case.sha256
    assert json.loads(opened.provenance["law_json"])["law"] == "hertz"
    # an existing file is not replaced, and every kind of result has the same kind of report
    assert obey([*asked, file]) == obey([*asked, f"{command}.json"]) == 4
    assert "@book{johnson-1985," in obeyed("cite", file).out
    name = f"{command}-{draw.__name__.replace('_', '-')}.png"
    assert obeyed("plot", file).out == f"{name}\n"
    drawn = [
        np.concatenate([line.get_xydata() for axes in draw(one).axes for line in axes.lines])
        for one in (opened, call(case))
    ]
    assert np.array_equal(*drawn)
    page = report([file]).decode()
    assert "Figure not available" not in page and page.count('<figure class="picture"') == 1
    highest = call(case).variables["band_edges" if command == "dispersion" else "frequencies"]
    assert f">{highest.data.max():.6g}<" in page
    # the complete case, with the time table of the drive in lines that the browser can wrap
    assert "time = [0.0, 4e-06, 8e-06, " in page and "white-space: pre-wrap" in page


def test_only_answers_and_datasets_are_saved():
    with pytest.raises(errors.CaseError, match="save: float is not supported"):
        gc.save(3.0, "x.h5")


def test_the_axes_of_mode_shapes_have_whole_numbers():
    modes = gc.modes(SMALL.replace(**{"chain.precompression": 20.0}))
    shapes = gc.figures.mode_shapes(modes).axes[1]
    assert all(float(tick).is_integer() for tick in shapes.get_xticks())


def test_a_caption_is_the_listed_one_the_first_line_of_the_function_or_the_name():
    _, *blocks = figure_blocks(dict.fromkeys(("hysteresis", "bead_velocities", "peak-map"), None))
    assert [block.caption for block in blocks] == [
        "Contact force versus overlap at the recorded contacts.",
        "The velocity of beads versus time.",
        "Peak map.",
    ]


def test_a_comparison_names_every_law_of_a_result_and_is_drawn_where_numbers_are_missing(tmp_path):
    complete = synthetic(sensors=(3, 13), end=200e-6)
    early = synthetic(sensors=(3, 13), end=90e-6, law="hertz, flores")
    compared(early, trace_of=complete).save(tmp_path / "c.h5")
    found = gc.open(tmp_path / "c.h5")
    assert found.law == "hertz, flores" and list(found.nearest) == [3]
    assert ">Contact law flores<" in report([tmp_path / "c.h5"]).decode()
    cited = gc.cite(found)
    assert all(f"% contact law {law}:" in cited for law in ("hertz", "flores"))
    assert "doi = {10.1234/made-up}" in cited
    texts = {text.get_text() for text in gc.figures.comparison(found).findobj(Text)}
    assert "bead 13\nno simulated pulse" in texts
    # one result without a number, next to one with all numbers
    both = compared(complete, early)
    texts = {text.get_text() for text in gc.figures.comparison(both).findobj(Text)}
    assert any(text.startswith("bead 3\nhertz: residual") for text in texts)
    assert both.nearest[3] == ("hertz",)


@pytest.mark.usefixtures("blank_pictures")
def test_pages_of_many_runs_tell_what_has_not_come_and_give_it_no_number(tmp_path):
    case = SMALL.replace(**{"time.end": 4e-5, "time.step": "fast"})
    speeds = [0.05, 5.0]
    with pytest.warns(errors.GranchainWarning, match="Increase time.end"):
        study = gc.sweep(case, {"striker.speed": speeds}, out=tmp_path / "study.h5")
    drawn = [str(draw().get_label()) for draw in figures_of(study).values()]
    assert ["had not arrived, or not ended" in label for label in drawn] == [True]
    # the striker is as large as the beads if its size is not given
    page = answer_blocks(study, "study.h5")
    varied = ("striker.speed", "varied", "m/s", "speed towards the chain")
    assert any(varied in getattr(block, "rows", ()) for block in page)
    gc.run_many([case.replace(**{"striker.speed": one}) for one in speeds]).save(tmp_path / "e.h5")
    told = "first pulses had not arrived, or not ended, by time.end, at beads"
    for name in ("study.h5", "e.h5"):
        page = report([tmp_path / name]).decode()
        assert told in page and "2 members: 2 complete." in page and "<svg " in page
    blocks = answer_blocks(gc.open(tmp_path / "e.h5"), "e.h5")
    (rows,) = (b.rows for b in blocks if "peak 6 [N]" in getattr(b, "columns", ()))
    assert rows[0][-1] == "-" and float(rows[1][-2]) > 0.0


@pytest.mark.usefixtures("blank_pictures")
def test_a_report_warns_of_files_of_other_versions_sources_and_laws(computed, tmp_path):
    run = open_answer(computed / "run.h5")
    run.save(tmp_path / "a.h5")
    assert "different values" not in report([computed / "run.h5", tmp_path / "a.h5"]).decode()
    law = json.loads(run.provenance["law_json"]) | {"functions": "e" * 64}
    run.provenance |= {"granchain_version": "0.0.9", "law_json": json.dumps(law)}
    run.provenance["source_hash"] = "f" * 64
    run.save(tmp_path / "b.h5")
    page = report([computed / "run.h5", tmp_path / "b.h5"]).decode()
    for what in (
        "granchain version: 0.1.0",
        f"source hash: {open_answer(tmp_path / 'a.h5').provenance['source_hash'][:12]}",
        "definition of the contact law hertz: ",
    ):
        assert f"The files were computed with different values of {what}" in page
    assert f"eeeeeeeeeeee in {tmp_path / 'b.h5'}" in page


@pytest.mark.usefixtures("blank_pictures")
def test_a_report_begins_with_the_answer_and_ends_with_the_provenance(computed, tmp_path):
    page = report(computed / "run.h5").decode()
    numbers = gc.analysis.summary(gc.open(computed / "run.h5"))
    answer = f"The first pulse travels at {numbers.wave_speed:.4g} m/s"
    order = [answer, ">Figures<", ">Numbers<", ">Setup<", ">Case<", ">Provenance<"]
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    dented = SMALL.replace({"contact": {"law": "ma-liu", "psi": 2.84, "xi": 13.0}})
    study = gc.sweep(dented, {"contact.law": ["ma-liu", "hertz"]}, progress=False)
    gc.save(study, tmp_path / "laws.h5")
    page = report(tmp_path / "laws.h5").decode()
    assert "Wave speed " in page.partition(">Figures<")[0]
    assert "Contact law hertz: no inputs" in page or "Inputs of hertz<" in page
    assert "Inputs of ma-liu<" in page and "<td>psi</td>" in page


@pytest.fixture(scope="module")
def opened_report(browser, computed, tmp_path_factory):
    """Open a report in the browser, and return the page and the errors of its console."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_bytes(report([computed / "run.h5", computed / "compared.h5"]))
    page, heard = browser.new_page(), []
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda message: heard.append(message.text))
    page.on("request", lambda request: heard.extend([request.url] * (request.url != path.as_uri())))
    page.goto(path.as_uri())
    yield page
    assert heard == []
    page.close()


@pytest.mark.long
@pytest.mark.parametrize("width", [1440, 768, 390])
def test_a_browser_shows_the_page_without_scrolling_sideways(opened_report, width):
    opened_report.set_viewport_size({"width": width, "height": 900})
    assert opened_report.evaluate("document.documentElement.scrollWidth") <= width
    assert opened_report.locator("figure.picture svg").count() >= 5


@pytest.mark.long
def test_figures_of_a_report_are_magnified_and_show_values(opened_report):
    figure = opened_report.locator("figure.picture").first
    image = figure.locator("svg")
    image.scroll_into_view_if_needed()
    home = image.get_attribute("viewBox")
    figure.get_by_role("button", name="Zoom in").click()
    assert float(image.get_attribute("viewBox").split()[2]) == float(home.split()[2]) / 2
    image.dblclick()
    assert image.get_attribute("viewBox") == home
    panel = json.loads(figure.get_attribute("data-panels"))[0]
    # the middle of the first panel, at its upper edge, where there is no curve
    left, top, right, _ = panel["box"]
    frame, width = image.bounding_box(), float(home.split()[2])
    scale = frame["width"] / width
    opened_report.mouse.move(
        frame["x"] + scale * (left + right) / 2, frame["y"] + scale * (top + 1)
    )
    shown = figure.locator("output").inner_text()
    number = float(re.search(r"time (\S+) ", shown)[1])
    middle = sum(panel["x"]["limits"]) / 2 / 10.0 ** panel["x"]["power"]
    assert abs(number - middle) <= 0.01 * middle
    box = figure.locator("output").bounding_box()
    opened_report.emulate_media(media="print")
    assert box and not figure.locator("output").is_visible()
    assert not figure.get_by_role("button").first.is_visible()
    opened_report.emulate_media(media="screen")


@pytest.mark.long
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_printed_pages_are_full(opened_report, paper):
    """All pages except the last are filled to 55 %, without gaps above 40 %, which are the limits
    of the issue."""
    pdf = pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed")
    printed = pdf.PdfDocument(opened_report.pdf(format=paper))
    for k in range(len(printed) - 1):
        image = np.asarray(printed[k].render(scale=0.5, grayscale=True).to_pil())
        margin = round(18 / 25.4 * 72 * 0.5)  # 18 mm at 36 dots per inch
        rows = np.flatnonzero((image[margin:-margin] < 250).any(axis=1))
        height = image.shape[0] - 2 * margin
        assert rows[-1] + 1 >= 0.55 * height, f"page {k + 1}"
        assert np.diff([-1, *rows]).max() <= 0.4 * height, f"page {k + 1}"


# Characters that turn or hide the text next to them, or control a terminal: ESC, backspace, C1,
# right-to-left override, isolate, zero width, line separator, byte order mark
UNSEEN = "\x1b[31m\x08\x9b\u202e\u2067\u200b\u2028\ufeff"


@pytest.mark.usefixtures("blank_pictures")
def test_names_and_titles_turn_and_hide_nothing_of_a_page(computed, tmp_path, obeyed, monkeypatch):
    run, name = open_answer(computed / "run.h5"), f"a{UNSEEN}\udcffz"
    # in the name of a file also a byte that is not UTF-8
    run.title, run.messages = f"title {UNSEEN} end", [Message(f"message {UNSEEN} end")]
    files = [str(tmp_path / f"{name}{end}") for end in (".h5", "2.h5")]
    run.save(files[0])
    measured = f"measured {UNSEEN} end"
    found = compared(run, labels=[measured])
    found.title, found.messages = measured, [measured]
    found.save(files[1])
    page = tmp_path / "page.html"
    assert obey(["report", *files, "--out", str(page)]) == 0
    # images from here on: tables of a notebook, and text in figures, which stays text
    monkeypatch.undo()
    only = ["--only", "force-traces", "--format", "svg"]
    said = obeyed("plot", files[0], *only, "--out", str(tmp_path))
    (drawn,) = tmp_path.glob("*.svg")
    assert "measured" in page.read_text() and "Message" in page.read_text()
    for text in (page.read_text(), run._repr_html_(), drawn.read_text(), said.out, said.err):
        assert not {sign for sign in text if not sign.isprintable() and sign != "\n"}
