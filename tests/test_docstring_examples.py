"""Examples in the docstrings of public names run and print the results shown."""

import doctest
import inspect
import warnings
from pathlib import Path

import pytest

import granchain as gc
from granchain.errors import GranchainWarning

ROOT = Path(__file__).parents[1]
# Public names without an example. Remove a name when its docstring gets one.
WITHOUT_EXAMPLE = {
    "Certificate", "ContactLaw", "Elastoplastic", "ImpactResult", "OPEN", "Quantity", "Source",
    "Verification", "errors", "figures", "load_mechanism", "run_mechanism",
}  # fmt: skip


def examples_of(name):
    """Return the examples of a public name."""
    text = inspect.getdoc(getattr(gc, name)) or ""
    return doctest.DocTestParser().get_examples(text, name)


@pytest.mark.usefixtures("plain_members")
@pytest.mark.parametrize("name", sorted(set(gc.__all__) - WITHOUT_EXAMPLE))
def test_examples_of_public_names_print_what_they_show(name, monkeypatch):
    examples = examples_of(name)
    assert examples, f"granchain.{name}: no example. Add an Examples section to its docstring."
    # Examples read the data of the repository by relative paths.
    monkeypatch.chdir(ROOT)
    test = doctest.DocTest(examples, {}, name, None, None, None)
    report = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GranchainWarning)
        failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.guard
def test_names_that_have_examples_are_not_exempt():
    assert not [name for name in WITHOUT_EXAMPLE if examples_of(name)]
