"""Run the notebooks and write them as .ipynb files with their output.

    python notebooks/run.py [NAME...]

The source of a notebook is its .py file. The tests check that the .ipynb file is up to date.
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
    """Return the names of the notebooks, in order."""
    return sorted(path.stem for path in HERE.glob("[0-9]*.py"))


def text_of(name: str) -> Any:
    """Return a notebook from its .py file, without output."""
    notebook = jupytext.read(HERE / f"{name}.py")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
    }
    for place, cell in enumerate(notebook.cells):
        # Fixed names, so that equal texts give equal files.
        cell.id = f"cell-{place}"
        cell.metadata = {}
    return notebook


def run(name: str, folder: Path) -> Any:
    """Run a notebook in a folder next to the examples that it reads; a cell that fails raises an
    exception."""
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
