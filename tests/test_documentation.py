"""Every command and Python line in README.md and the documentation runs and prints the result
shown.

The blocks of a page run in order in one temporary folder, as CONTRIBUTING.md describes."""

import contextlib
import importlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.printed import differences

import granchain as gc
import granchain.cli  # the commands
from granchain.case.schema import key_tables
from granchain.cli import obey
from granchain.cli.process import program
from granchain.contact import laws
from granchain.store.schema import VARIABLES, VARIABLES_OF_MECHANISM

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Generated pages come from the tables of the program, and contain no commands; laws.md is printed.
WRITTEN = [DOCS.glob(name) for name in ("*.md", "how-to/*.md", "explanation/*.md")]
PAGES = ["CONTRIBUTING.md", "README.md"]
PAGES += sorted(path.relative_to(ROOT).as_posix() for paths in WRITTEN for path in paths)
_BLOCK = re.compile(
    r"(?P<not_run><!-- not run by the tests -->\n)?"
    r"^```(?P<language>console|toml|python)\n(?P<body>.*?)^```$"
    r"(?:\n\n^```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"`(?P<name>[\w-]+\.(?:toml|py|csv))`[^`]*:\s*$")
_EXIT = re.compile(r"# exit code (\d+)\s*$")


def blocks(page):
    """Return language, body, file name, and expected output of the blocks of a page that do
    something.

    The body of a console block is its text.
    """
    text = (ROOT / page).read_text()
    for block in _BLOCK.finditer(text):
        named = _FILE.search(text[: block.start()].rstrip().rpartition("\n\n")[2])
        if not block["not_run"]:
            yield block["language"], block["body"], named and named["name"], block["printed"]


def commands(body):
    """Return the commands of a console block with their expected output.

    A backslash at the end of a line continues it.
    """
    first, *parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", body, flags=re.MULTILINE)
    assert not first
    return [(text, shown.splitlines()) for text, shown in zip(parts[::2], parts[1::2], strict=True)]


def missing(shown, printed):
    """Return the first expected line that is missing.

    Numbers may differ by a unit of their last digit, and "..." at the end of a line matches any
    text.
    """
    place, gap = 0, False
    for line in shown:
        if line.strip() == "...":
            gap = True
            continue
        rest = range(place, len(printed)) if gap else range(place, min(place + 1, len(printed)))
        found = next((i for i in rest if fits(line, printed[i])), None)
        if found is None:
            return line
        place, gap = found + 1, False
    if gap or place == len(printed) or not shown:
        return None
    return f"nothing more, but it prints {printed[place]!r}"


def fits(shown, printed):
    if shown.endswith("..."):
        return printed.startswith(shown.removesuffix("..."))
    return not differences(shown, printed)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """Return a folder with the files of a reader of the pages: the examples, and granchain on the
    path."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCS / "examples", tmp_path / "docs" / "examples")
    if (ROOT / "data").exists():
        (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


# Pages that take up to half a minute each: hundreds of runs, commands, or loops. Other tests show
# the same with small cases.
HOW_TO = (
    "band-gaps", "bands", "bands-and-measurements", "branches", "breathers", "chained-sweeps",
    "compare", "design", "energy-spreading", "equivalent", "fit", "fit-laws", "import-a-trace",
    "long-runs", "many", "materials-and-laws", "measured-impacts", "motion-and-forces", "orbits",
    "own-case", "plot", "read-the-file", "report", "several-laws", "sample", "sweep", "sweep-files",
    "testing-a-structure", "two-bodies", "waves",
)  # fmt: skip
EXPLANATION = (
    "boundaries", "breather", "breather-families", "local-resonances", "mechanisms", "rectifier",
    "rectifier-jump", "resonator-tails",
)  # fmt: skip
SLOW = {"docs/add-a-law.md", *(f"docs/how-to/{page}.md" for page in HOW_TO)}
SLOW |= {f"docs/explanation/{page}.md" for page in EXPLANATION}


def does_something(page):
    languages = {language for language, *_ in blocks(page)}
    return "console" in languages or ("python" in languages and "/" in page)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.long if page in SLOW else ())
        for page in PAGES
        if does_something(page)
    ],
)
def test_what_a_page_shows_is_what_happens(page, clone, blank_pictures):
    namespace = {}
    for language, body, name, shown in blocks(page):
        if name is not None:
            (clone / name).write_text(body)
        # the guide to a law contains a skeleton that is not runnable code
        elif language == "python" and "..." not in body:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(body, page, "exec"), namespace)
            if shown is not None:
                line = missing(shown.splitlines(), printed.getvalue().splitlines())
                assert line is None, f"{body}shows: {line}\nprints:\n{printed.getvalue()}"
        elif language == "console":
            for text, lines in commands(body):
                check(text, lines)


def ended(text):
    """Return the exit code and the output of a command.

    A command that needs no shell runs in this process, because a separate process costs a second or
    two.
    """
    if (
        text.startswith("granchain ")
        and "--law-module" not in text
        and not set("|<>&;$`*?~{(") & set(text)
    ):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = obey(shlex.split(text.replace("\\\n", ""), comments=True)[1:])
        return code, printed.getvalue()
    together = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(["bash", "-c", text], timeout=120, **together)
    return done.returncode, done.stdout


def check(text, shown):
    code, printed = ended(text)
    expected = _EXIT.search(text)
    assert code == int(expected[1] if expected else 0), f"$ {text}\n{printed}"
    line = missing(shown, printed.splitlines())
    assert line is None, f"$ {text}\nshows: {line}\nprints:\n{printed}"


@pytest.mark.guard
def test_every_command_of_the_program_stands_in_a_console_block():
    # a block without a language is not run, so nobody would notice an error in it
    for page in PAGES:
        text = _BLOCK.sub("", (ROOT / page).read_text())
        for block in re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL):
            assert not re.search(r"^granchain ", block, re.MULTILINE), f"{page}:\n{block}"


@pytest.mark.guard
def test_the_generated_reference_names_every_key_option_and_public_name(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import reference_pages

    pages = {name: make() for name, make in reference_pages.PAGES.items()}
    for heading, model in key_tables()[1 : 1 + len(gc.Case.model_fields)]:
        assert f"## `{heading}`" in pages["case-file"]
        assert all(f"| `{key}` |" in pages["case-file"] for key in model.model_fields)
    for name in ("run", "cases", "info", "plot", "laws", "impact"):
        assert f"## `granchain {name}`" in pages["command-line"]
    assert "| `--set KEY=VALUE` |" in pages["command-line"]
    for name in (*VARIABLES, *VARIABLES_OF_MECHANISM):
        assert f"| `{name}` |" in pages["output-file"]
    for name in gc.__all__:
        assert f":: granchain.{name}\n" in pages[f"python/{reference_pages.page_name(name)}"]
    # some disks ignore upper and lower case
    assert len({name.lower() for name in pages}) == len(pages)


@pytest.mark.guard
def test_the_changelog_names_every_contact_law():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    # another test may have loaded a law
    ours = [name for name, law in laws().items() if law.__module__.startswith("granchain.contact.")]
    unnamed = [name for name in ours if f"`{name}`" not in changelog]
    advice = "add each under Added of the version that brings it"
    assert len(ours) > 50
    assert not unnamed, f"CHANGELOG.md: no line names {', '.join(unnamed)}; {advice}"


@pytest.mark.long
@pytest.mark.guard
def test_the_gallery_shows_every_figure_of_a_run_and_of_an_impact(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import gallery

    assert set(gc.figures.__all__) <= set(re.findall(r"figures\.(\w+)\(", gallery.page()))


# Figures of the gallery whose code takes less than a second or two.
QUICK = ("losses", "damping_transition", "overlaps", "phase_curve", "impact_history")
_FIGURES = (DOCS / "gallery.py").read_text(encoding="utf-8")
GALLERY = re.findall(r"^\ndef (\w+)\(\) -> Any:$", _FIGURES, re.MULTILINE)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in GALLERY],
)
def test_code_of_the_gallery_runs_as_it_is_copied(name, clone, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import gallery

    namespace = {}
    exec(compile(gallery.lines_of(getattr(gallery, name)), name, "exec"), namespace)
    if name == "animation":
        namespace["moving"].save("a.gif", writer="pillow")
    else:
        assert namespace["figure"].axes[0].has_data()


@pytest.mark.long
def test_every_picture_of_the_documentation_is_drawn(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(DOCS))
    import explained
    import gallery
    import law_pages
    import picture

    picture.draw().savefig(tmp_path / "picture.png")
    gallery.write(tmp_path / "gallery")
    explained.write(tmp_path / "gallery")
    law_pages.write(tmp_path / "laws")
    drawn = [*tmp_path.glob("*/*.png"), *tmp_path.glob("*/*.gif")]
    laws = sum(len(family.laws) for family in law_pages.own_families())
    pages = sum(map(len, explained.drawn_by_pages().values()))
    assert len(drawn) == len(gallery.FIGURES) + len(explained.FIGURES) + pages + laws
    assert min(one.stat().st_size for one in drawn) > 2000


def test_shown_lines_are_compared_in_order_and_to_the_last_digit():
    for shown, printed, holds in (
        (["a 1.00", "b"], ["a 1.01", "b"], True),
        (["a 1.00", "b"], ["a 1.02", "b"], False),
        (["a", "...", "d"], ["a", "b", "c", "d"], True),
        (["a", "d"], ["a", "b", "d"], False),
        (["a"], ["a", "b"], False),
        (["...", "b"], ["a", "c"], False),
        (["hash ...", "..."], ["hash 4f", "b"], True),
        ([], ["anything"], True),
    ):
        assert (missing(shown, printed) is None) is holds


@pytest.mark.guard
def test_each_public_name_has_a_reference_page_and_each_command_its_python_call(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import reference_pages

    text = "\n".join((ROOT / page).read_text() for page in PAGES)
    listed = program().commands
    commands_in_use = [
        f"granchain {name}" for name, command in listed.items() if not command.hidden
    ]
    assert len(commands_in_use) > 10
    assert [name for name in commands_in_use if not re.search(rf"{re.escape(name)}\b", text)] == []
    documented = [name for names in reference_pages.TASKS.values() for name in names]
    assert sorted(documented) == sorted(set(documented))
    assert set(documented) == {*gc.__all__, "open"}
    leaves = reference_pages.commands(program(), "granchain")
    assert [n for n, leaf in leaves if not re.match("In Python: .", leaf.epilog or "")] == []
    table = reference_pages.call_table()
    calls = set(re.findall(r"\b(?:gc|granchain)((?:\.\w+)+)\(", table))
    for call in calls:
        module, _, name = f"granchain{call}".rpartition(".")
        there = getattr(gc, name, None) if module == "granchain" else None
        assert callable(there or getattr(importlib.import_module(module), name)), call
    assert len(calls) > 20
