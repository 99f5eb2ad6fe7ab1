"""The report: one page that holds all it needs, whatever stands in its files; read in a browser
in the long run."""

from __future__ import annotations

import contextlib
import copy
import json
import re
import shutil
import subprocess
from itertools import product

import pytest

import granchain as gc
from granchain import errors
from granchain.cli import obey
from granchain.pages.blocks import Heading, Paragraph
from granchain.pages.conclusions import messages_of
from granchain.pages.report import headed, report
from granchain.status import Message, Status
from granchain.store import Result, open_result
from granchain.store.conclusion import read_conclusion, save_conclusion

TRACE = {
    "title": "A trace",
    "kind": "synthetic",
    "doi": "",
    "who": "",
    "figure": "",
    "words": "SYNTHETIC, no experiment",
}


def side(measured, uncertainty, computed):
    return {"measured": measured, "uncertainty": uncertainty, "computed": computed}


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """Files of a run and of its comparison with a trace."""
    folder = tmp_path_factory.mktemp("report")
    changes = [
        "chain.beads=12",
        "sensors.beads=[3, 6, 9]",
        "sensors.contacts=[0, 4]",
        "time.end=6e-5",
        'title="Beads <b>struck</b> & heard"',
    ]
    arguments = [part for change in changes for part in ("--set", change)]
    assert (
        obey(["run", "steel-chain-hertz", *arguments, "--out", str(folder / "run.h5"), "--quiet"])
        == 0
    )
    facts = {
        "files": ["run.h5"],
        "trace": TRACE | {"kind": "measured", "doi": "10.1234/made-up"},
        "sensor": {"cutoff": 2e5, "high_pass": 1e3, "low_pass": None, "filter_order": 2},
        "results": [
            {
                "label": "hertz",
                "law": "hertz",
                "time_shift": 1e-6,
                "time_shift_uncertainty": 1e-8,
                "wave_speed": side(500.0, 5.0, 510.0),
                "bands": None,
                "missed": ["hertz: peak off by 9 %"],
                "sensors": [
                    {
                        "bead": bead,
                        "peak": side(9.0, 0.5, 10.0),
                        "arrival": side(1e-5, 1e-7, 1.1e-5),
                        **{name: side(1.0, 0.1, 1.1) for name in ("width", "impulse", "speed")},
                        "residual": 0.1,
                        "residual_of_noise": 0.01,
                        "merged": [],
                    }
                    for bead in (3, 6)
                ],
            },
        ],
        "nearest": [],
        "messages": ["bead 9 is clipped"],
    }
    save_conclusion(folder / "compared.json", "comparison", None, facts)
    return folder


@pytest.mark.usefixtures("blank_pictures")
def test_a_page_holds_all_it_needs(computed):
    page = report([computed / "run.h5", computed / "compared.json"]).decode()
    assert "<script" not in page and "<link" not in page and "@import" not in page
    # nothing is fetched: what is not in the page are links that a reader may follow
    assert set(
        re.findall(r'(?:src|href)="([^"]{1,40})', page.replace("https://doi.org/", "DOI "))
    ) <= {
        *re.findall(r'(?:src|href)="(data:image/svg\+xml;base64,[^"]{1,14})', page),
        *re.findall(r'href="(DOI [^"]{1,36})', page.replace("https://doi.org/", "DOI ")),
        "#part-0",
        "#part-1",
    }
    for words in (
        "Energy ledger",
        "Contact law hertz",
        "How to cite",
        "case_sha256",
        "Case as run",
        "Bead 9 is clipped.",
        "hertz: peak off by 9 %",
        "a zero-phase filter that halves 2 \u00d7 10\u2075 Hz.",
        "Elastic spheres: F = K d\u00b9\u00b7\u2075.",
        "through the instrument&#x27;s own filter: above 1 kHz, order 2",
        'href="https://doi.org/10.1234/made-up"',
    ):
        assert words in page, words
    assert "&lt;b&gt;struck&lt;/b&gt; &amp; heard" in page and "<b>struck" not in page
    # the law once, and what to cite at the end
    assert page.count(">Contact law hertz<") == page.count(">How to cite<") == 1
    assert page.index("Where it comes from") < page.index(">How to cite<")
    # peaks of the run itself
    assert page.count("<img ") >= 4
    # the comparison's, in its own unit and share
    assert "(+11.1 %)<" in page and "(+1)<" in page


@pytest.mark.usefixtures("blank_pictures")
def test_mistakes_come_together_and_nothing_is_replaced_that_is_no_report(
    computed, tmp_path, capsys
):
    (tmp_path / "notes.html").write_text("<html>mine</html>")
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(errors.FileError) as refused:
        report(
            [
                tmp_path / "none.h5",
                tmp_path / "list.json",
                tmp_path / "deep.json",
                tmp_path / "notes.html",
            ]
        )
    for name in ("none.h5", "list.json", "deep.json", "notes.html"):
        assert name in str(refused.value)
    command = ["report", str(computed / "compared.json"), "--out"]
    for name, more, code in (
        ("notes.html", [], 4),
        ("notes.html", ["--overwrite"], 4),
        ("page.pdf", [], 4),
        ("page.html", [], 0),
        ("page.html", [], 4),
        ("page.html", ["--overwrite"], 0),
    ):
        assert obey([*command, str(tmp_path / name), *more]) == code
    assert (tmp_path / "notes.html").read_text() == "<html>mine</html>"
    capsys.readouterr()


@pytest.mark.usefixtures("blank_pictures")
def test_a_failed_run_and_a_law_that_is_not_here_have_their_page(computed, tmp_path):
    run = open_result(computed / "run.h5")
    data = {name: variable.data for name, variable in run.variables.items()}
    Result(
        data, case=run.case, law="of-my-own", status=Status.UNSTABLE, time_step=run.time_step
    ).save(tmp_path / "a.h5")
    page = report([tmp_path / "a.h5"]).decode()
    assert (
        "of-my-own" in page
        and "It is not installed here" in page
        and f": {Status.UNSTABLE.label}." in page
    )


@pytest.fixture
def concluded(computed, tmp_path):
    """Files of an equivalence, a fit, something of another granchain, and a comparison."""
    case = gc.load_case("steel-chain-hertz").replace(
        **{"chain.beads": 12, "sensors.beads": [3, 6], "sensors.contacts": [], "time.end": 6e-5}
    )
    law = {
        "law": "flores",
        "rank": 1,
        "free": {"restitution": [0.05, 0.99]},
        "inputs": {"restitution": 0.7},
        "residual": 0.0557,
        "per_bead": [0.01, None],
        "at_bound": ["restitution"],
        "minima": [],
        "moves": [],
        "grid": [[0.5], [0.7]],
        "grid_residual": [0.1, 0.0557],
        "messages": ["an answer at a bound"],
    }
    equivalence = {
        "to": "ma-liu",
        "measure": "peaks",
        "sensor_bead": [3, 6],
        "laws": [law],
    }
    save_conclusion(tmp_path / "e.json", "equivalence", case, equivalence)
    near, far = {"contact.psi": [2.7, 2.9]}, {"striker.speed": [None, None]}
    peak = side(9.0, 0.5, 10.0)
    fit = {
        "trace": TRACE,
        "measure": "peaks",
        "values": {"contact.psi": 2.8, "striker.speed": 1.7},
        "start": {"contact.psi": 2.7, "striker.speed": 1.7},
        "errors": {"contact.psi": 0.02, "striker.speed": None},
        "intervals": dict.fromkeys(("0.68", "0.9", "0.95"), near | far),
        "interval_degrees": {"contact.psi": 3.0, "striker.speed": None},
        "correlation": [[1.0, 0.9], [0.9, 1.0]],
        "common_gain": 1.03,
        "gain": [1.04, 1.02],
        "shift": [0.0, 1e-7],
        "time_shift": 1e-5,
        "samples": [
            {
                "bead": bead,
                "time": [1e-6 * i for i in range(9)],
                "measured": [0.0, 1.0, 4.0, 8.0, 9.0, 8.0, 4.0, 1.0, 0.0],
                "computed": [0.0, 1.0, 4.0, 8.0, 10.0, 8.0, 4.0, 1.0, None],
            }
            for bead in (3, 6)
        ],
        "scatter": 1.1,
        "degrees_of_freedom": 3.0,
        "messages": ["not told apart: contact.psi, striker.speed"],
        "sensors": [
            {"bead": bead, "residual": 0.3, "peak": peak, "arrival": peak} for bead in (3, 6)
        ],
    }
    save_conclusion(tmp_path / "f.json", "fit", case, fit)
    save_conclusion(
        tmp_path / "other.json",
        "of another granchain",
        case,
        {"found": [{"law": "flores", "per_bead": [{"bead": 9, "off": 0.1}]}]},
    )
    shutil.copy(computed / "compared.json", tmp_path / "c.json")
    return [tmp_path / f"{name}.json" for name in ("c", "e", "f", "other")]


@pytest.mark.usefixtures("blank_pictures")
def test_conclusions_are_shown_with_what_they_were_made_from(concluded, tmp_path):
    page = report(concluded[1:]).decode()
    for words in (
        "What stands in for ma-liu",
        "5.57",
        "An answer at a bound",
        "Fit to A trace",
        "ot told apart: contact.psi, striker.speed",
        "68 % interval",
        "are taken to be +3 % off",
        "with 3 degrees of freedom",
        "its own clock is off by",
        "per_bead",
    ):
        assert words in page, words
    assert page.count('<figure class="picture">') == 2 and "Not drawn" not in page
    # a stranger's file of the same kind is shown as it is, without a traceback
    case = gc.load_case("steel-chain-hertz")
    save_conclusion(
        tmp_path / "s.json",
        "equivalence",
        case,
        {"to": "ma-liu", "laws": [{"law": "flores", "inputs": 3}, 5], "free": []},
    )
    save_conclusion(
        tmp_path / "g.json",
        "fit",
        case,
        {"values": [], "sensors": [1, {"bead": None, "peak": 3}], "trace": 4},
    )
    assert report([tmp_path / "s.json", tmp_path / "g.json"]).count(b"What the file holds") == 2


@pytest.mark.usefixtures("blank_pictures")
def test_what_was_found_of_small_waves_is_kept_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = ["--set", "chain.beads=4", "--set", "sensors.beads=[2]"]
    case = gc.load_case("driven-chain", few[1::2])
    for command, call in (("dispersion", gc.dispersion), ("modes", gc.modes)):
        assert obey([command, "driven-chain", *few, "--out", f"{command}.json"]) == 0
        assert capsys.readouterr().out.endswith(f"\n{command}.json\n")
        gc.save(call(case), "same.json", case, overwrite=True)
        kept, same = read_conclusion(f"{command}.json"), read_conclusion("same.json")
        assert kept.pop("written") and same.pop("written") and kept == same
        # nothing that is there goes
        assert obey([command, "driven-chain", *few, "--out", f"{command}.json"]) == 4
        assert obey(["cite", f"{command}.json"]) == 0
        assert "@book{johnson-1985," in capsys.readouterr().out
    page = report(["dispersion.json", "modes.json"]).decode()
    edge = f"{float(gc.dispersion(case).band_edges[0, 1]):.6g}"
    assert f">{edge}<" in page and "Modes of" in page and "Not drawn" not in page
    # what drives the end, number by number, in lines of a page
    drive = page[page.index("&quot;time&quot;: [") :].split("]")[0].splitlines()
    assert 5 < len(drive) < 80
    for wrong, sentence in (
        ((3.0, "x.json"), "save: got a float, allowed what compare"),
        ((gc.modes(case), "x.json"), "save: got no case"),
        ((gc.modes(case), "x.json", "driven-chain"), "got .driven-chain., allowed a Case"),
        ((gc.modes(case), "x.txt", case), "got the ending '.txt', allowed .json"),
    ):
        with pytest.raises(errors.GranchainError, match=sentence):
            gc.save(*wrong)


@pytest.mark.promise("R9")
def test_every_digit_of_a_conclusion_is_under_its_seal(tmp_path, figure):
    facts = {
        "values": {"contact.psi": 2.8437219, "striker.speed": 1.7652},
        "sensors": [{"bead": 9, "residual": -0.25}],
        "scatter": 1.5e-3,
    }
    save_conclusion(tmp_path / "f.json", "fit", None, facts)
    whole = (tmp_path / "f.json").read_text()
    begin, changed, opened = whole.index('"values"'), 0, 0
    for at in range(begin, whole.index('"sha256"')):
        if whole[at].isdigit():
            other = whole[:at] + str((int(whole[at]) + 1) % 10) + whole[at + 1 :]
            (tmp_path / "f.json").write_text(other)
            changed += 1
            with contextlib.suppress(errors.FileError):
                read_conclusion(tmp_path / "f.json")
                opened += 1
    assert changed > 20 and read_conclusion(tmp_path / "f.json", unsealed=True)["kind"] == "fit"
    figure("digits of a conclusion that another one replaced unseen", opened, at_most=0)


def test_a_conclusion_is_read_as_it_was_written_and_replaces_nothing_else(tmp_path):
    save_conclusion(tmp_path / "e.json", "comparison", None, {"results": []})
    assert read_conclusion(tmp_path / "e.json")["results"] == []
    whole = (tmp_path / "e.json").read_text()
    for edit in (
        ("comparison", "comparisom"),
        ('"results": []', '"results": [1]'),
        ('"sha256": "', '"sha256": "0'),
    ):
        assert edit[0] in whole
        (tmp_path / "e.json").write_text(whole.replace(*edit))
        with pytest.raises(errors.FileError, match="damaged or changed"):
            read_conclusion(tmp_path / "e.json")
    (tmp_path / "mine.json").write_text(json.dumps({"mine": 1}))
    with pytest.raises(errors.FileError):
        save_conclusion(tmp_path / "mine.json", "comparison", None, {}, overwrite=True)
    with pytest.raises(errors.FileError, match="that granchain did not write"):
        read_conclusion(tmp_path / "mine.json")


def test_a_heading_has_no_changes_of_its_case_and_a_message_of_several_laws_comes_once():
    title = Heading("rig B; striker.speed = 7; time.end = 0.1", 1)
    assert headed(title) == [
        Heading("rig B", 1),
        Paragraph("With striker.speed = 7; time.end = 0.1."),
    ]
    assert headed(Heading("Case; as given", 2)) == [Heading("Case; as given", 2)]
    laws = [{"messages": ["bead 3: late", f"{law}: no"]} for law in ("hertz", "flores")]
    told = [one.text for one in messages_of({"laws": laws})]
    assert told == ["bead 3: late", "hertz: no", "flores: no"]


@pytest.mark.usefixtures("blank_pictures")
def test_a_study_has_its_page(tmp_path):
    changes = {
        "chain.beads": 12,
        "sensors.beads": [3, 6],
        "sensors.contacts": [],
        "time.end": 9e-5,
        "time.step": "fast",
    }
    case = gc.load_case("steel-chain-hertz").replace(**changes)
    gc.sweep(case, {"striker.speed": [0.5, 1.0, 2.0]}, out=tmp_path / "study.h5")
    page = report([tmp_path / "study.h5"]).decode()
    assert (
        "A study of 3 members: 3 complete." in page
        and "striker.speed" in page
        and "0.5, 1, 2" in page
        and page.count("<img ") >= 1
    )


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390], ids=["wide", "narrow"])
def test_a_browser_shows_the_page_without_scrolling_sideways(computed, tmp_path, width):
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no browser that runs without a screen is installed (Debian: chromium)")
    page = tmp_path / "page.html"
    # a frame as wide as the screen, and a script of the test's own that says how wide the page in
    # it is
    page.write_bytes(report([computed / "run.h5", computed / "compared.json"]))
    probe = tmp_path / "probe.html"
    probe.write_text(
        '<body style="margin:0"><iframe src="page.html" '
        f'style="width:{width}px;height:2000px;border:0" onload="'
        "let d=this.contentDocument;let broken=[...d.images].filter(i=>!i.naturalWidth).length;"
        "document.body.dataset.found=d.documentElement.scrollWidth+' '+broken+' "
        "'+d.images.length\"></iframe>"
    )
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ]
    done = subprocess.run(
        [browser, *options, probe.as_uri()], capture_output=True, text=True, timeout=120
    )
    found = re.search(r'data-found="(\d+) (\d+) (\d+)"', done.stdout)
    assert found, done.stderr[-500:]
    wide, broken, pictures = map(int, found.groups())
    assert wide <= width and broken == 0 and pictures >= 5


# What turns the text beside it, hides it, or is obeyed by a terminal: ESC, backspace, C1,
# right-to-left override, isolate, zero width, line separator, byte order mark
UNSEEN = "\x1b[31m\x08\x9b\u202e\u2067\u200b\u2028\ufeff"


@pytest.mark.usefixtures("blank_pictures")
def test_names_and_titles_turn_and_hide_nothing_of_a_page(computed, tmp_path, capsys, monkeypatch):
    run, name = open_result(computed / "run.h5"), f"a{UNSEEN}\udcffz"
    # in a name of a file a byte that is not UTF-8 too
    run.title, run.messages = f"title {UNSEEN} end", [Message(f"message {UNSEEN} end")]
    run.save(tmp_path / f"{name}.h5")
    facts = read_conclusion(computed / "compared.json")
    facts["trace"]["title"] = facts["results"][0]["label"] = facts["messages"][0] = (
        f"measured {UNSEEN} end"
    )
    save_conclusion(
        tmp_path / f"{name}.json", "comparison", run.case, {**facts, "more": {UNSEEN: [UNSEEN]}}
    )
    save_conclusion(
        tmp_path / f"{name}2.json",
        f"of another {UNSEEN} granchain",
        run.case,
        {UNSEEN: UNSEEN, "x": {UNSEEN: [UNSEEN]}},
    )
    files = [str(tmp_path / f"{name}{end}") for end in (".h5", ".json", "2.json")]
    assert obey(["report", *files, "--out", str(tmp_path / "page.html")]) == 0
    # pictures from here on: tables of a notebook, and letters of a figure that are kept as letters
    monkeypatch.undo()
    card = run._repr_html_()
    only = "force-traces,energy"
    assert obey(["plot", files[0], "--only", only, "--format", "svg", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    drawn = [path.read_text() for path in tmp_path.glob("*.svg")]
    page = (tmp_path / "page.html").read_text()
    assert len(drawn) >= 2 and "measured" in page and "Message" in page
    for text in (page, card, *drawn, said.out, said.err):
        assert not {sign for sign in text if not sign.isprintable() and sign != "\n"}


# Numbers that no measurement has: differences, factors and ticks of them are no numbers.
EXTREME = (1.7e308, -1.7e308, 1e99, 5e-324, 10**400, -1, None, "word")


def every_number(facts, path=()):
    """Where a conclusion holds numbers."""
    if isinstance(facts, (dict, list)):
        for key, value in facts.items() if isinstance(facts, dict) else enumerate(facts):
            yield from every_number(value, (*path, key))
    elif isinstance(facts, (int, float)) and not isinstance(facts, bool):
        yield path


def put(facts, path, value):
    for key in path[:-1]:
        facts = facts[key]
    facts[path[-1]] = value


@pytest.mark.promise("I1")
# matplotlib says where it has no room for its ticks
@pytest.mark.filterwarnings("ignore:constrained_layout not applied")
@pytest.mark.parametrize(
    "values", [EXTREME[:1], pytest.param(EXTREME, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_no_number_of_a_conclusion_ends_the_report(values, concluded, figure, request):
    if len(values) == 1:
        request.getfixturevalue("blank_pictures")
    ended = []
    for path in concluded if len(values) > 1 else concluded[:1]:
        document = json.loads(path.read_text())
        places = [
            place
            for place in every_number(document)
            if place[0] not in ("case", "versions", "granchain_format")
        ]
        # all under one name: all peaks, all sensors; and the first of each name by itself
        names = dict.fromkeys(
            next((key for key in reversed(place) if isinstance(key, str)), "") for place in places
        )
        together = [[place for place in places if name in place] for name in names]
        alone = [[group[0]] for group in together] if len(values) > 1 else []
        for chosen, value in [*product(together, values), *product(alone, values[:5:4])]:
            changed = copy.deepcopy(document)
            for place in chosen:
                put(changed, place, value)
            path.write_text(json.dumps(changed))
            try:
                report([path], unsealed=True)
            except Exception as error:
                ended.append((path.name, chosen[0], value, repr(error)))
        path.write_text(json.dumps(document))
    print(*ended, sep="\n")
    figure("numbers of a conclusion that end its report", len(ended), at_most=0)
