"""Every notebook runs and passes its assertions, and its .ipynb file has the same text."""

import sys
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
sys.path.insert(0, str(FOLDER))
import run as notebooks  # noqa: E402

sys.path.remove(str(FOLDER))


# each takes several seconds; one takes half a minute because it compiles a law twice, with its
# certificate
@pytest.mark.long
@pytest.mark.parametrize("name", notebooks.names())
def test_a_notebook_runs_and_its_claims_hold(name, tmp_path):
    notebook = notebooks.run(name, tmp_path)
    assert any(cell.cell_type == "code" and cell.outputs for cell in notebook.cells)


@pytest.mark.parametrize("name", notebooks.names())
def test_the_notebook_for_reading_has_the_text_and_was_run_and_ends_with_what_it_claims(name):
    shown, text = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4), notebooks.text_of(name)
    advice = f"write it anew: python notebooks/run.py {name}"
    read, written = ([(cell.cell_type, cell.source) for cell in one.cells] for one in (shown, text))
    assert read == written, advice
    assert written[-1][0] == "code" and "assert " in written[-1][1]
    code = [cell for cell in shown.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code), advice
    outputs = [output for cell in code for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not any(output.output_type == "error" for output in outputs)
    # a warning would show a path of the computer that ran the notebook
    assert not any(output.get("name") == "stderr" for output in outputs), advice
    # figures have at most 150 dots per inch, as in the gallery
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 800_000
