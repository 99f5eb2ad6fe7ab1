"""Source texts of laws without docstrings at run time, and the contents of law files that are
loaded."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from granchain.contact import law
from granchain.contact.user import load_law_module, loaded_content

pytestmark = [pytest.mark.plain, pytest.mark.usefixtures("own_laws")]

LAW = Path(__file__).parents[1] / "docs" / "examples" / "my_law.py"


class Documented:
    """Text from the source file."""


def test_a_docstring_that_python_removed_is_read_from_the_source(monkeypatch):
    assert law.docstring_of(Documented) == "Text from the source file."
    monkeypatch.setattr(Documented, "__doc__", None)
    assert law.docstring_of(Documented) == ""
    removed = SimpleNamespace(flags=SimpleNamespace(optimize=2))
    monkeypatch.setattr(law, "sys", removed)
    assert law.docstring_of(Documented) == "Text from the source file."
    here = sys.modules[__name__]
    monkeypatch.setattr(here, "__doc__", None)
    assert law.docstring_of(here).startswith("Source texts of laws without docstrings")
    # without a source file, the law has no text
    assert law.docstring_of(ModuleType("made")) == ""


def test_the_content_of_a_law_file_is_that_of_its_loading(tmp_path):
    file = tmp_path / "a_law.py"
    text = LAW.read_text().replace("latching-spring", "latching-spring-copy")
    file.write_text(text.replace("class LatchingSpring", "class LatchingSpringCopy"))
    assert loaded_content(file) is None
    load_law_module(file)
    content = loaded_content(file)
    assert content is not None
    file.write_text(file.read_text() + "\n# edited\n")
    assert loaded_content(file) == content
