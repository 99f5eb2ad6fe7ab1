"""Run the notebooks and write them as .ipynb with what they show, for reading.

    python notebooks/run.py [NAME...]

The text of a notebook is its .py file; the .ipynb is made from it, and the tests check that it was.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def names() -> list[str]:
    """The notebooks, in order."""
    return sorted(path.stem for path in HERE.glob("[0-9]*.py"))


def text_of(name: str) -> Any:
    """A notebook from its text, without results."""
    notebook = jupytext.read(HERE / f"{name}.py")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
    }
    for place, cell in enumerate(notebook.cells):
        # Equal texts, equal files: no random names.
        cell.id = f"cell-{place}"
        cell.metadata = {}
    return notebook


def run(name: str, folder: Path) -> Any:
    """Run a notebook in a folder, beside the examples that it reads; the first cell that fails
    raises."""
    shutil.copytree(
        HERE.parent / "docs" / "examples", folder / "docs" / "examples", dirs_exist_ok=True
    )
    place = folder / "notebooks"
    place.mkdir(exist_ok=True)
    notebook = text_of(name)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(place)}},
    )
    client.execute()
    notebook.metadata.pop("language_info", None)
    return notebook


if __name__ == "__main__":
    for name in sys.argv[1:] or names():
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(run(name, Path(folder)), HERE / f"{name}.ipynb")
        print(f"{name}.ipynb")
