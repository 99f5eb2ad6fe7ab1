"""Sphinx configuration of the documentation.

The reference is generated from the program's tables, the gallery by plotting its figures, and the
notebooks from notebooks/.
"""

import os
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import explained  # noqa: E402
import gallery  # noqa: E402
import inventories  # noqa: E402
import law_pages  # noqa: E402
import reference_pages  # noqa: E402

import granchain  # noqa: E402

project = "granchain"
author = "The granchain developers"
project_copyright = "2026, The granchain developers"
version = release = granchain.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "mathml",
]
# True if only the pages are checked: without the pages of the source code and the theme's tree of
# all pages on each page, which take half of the time.
CHECKED = os.environ.get("DOCS_PICTURES") == "blank"
if not CHECKED:
    extensions.append("sphinx.ext.viewcode")
# Copy only the commands of a console block, without the prompt and the output.
copybutton_prompt_text = "$ "
exclude_patterns = ["_build", "examples", "jupyter_execute", "reference/*-table.md"]

# Create anchors for headings, so that links such as #ma-liu work.
myst_heading_anchors = 3
# Allow $...$ and $$...$$, which the browser displays as MathML.
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
# Show the notebooks with their committed output; the tests run them again.
nb_execution_mode = "off"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # The docstrings contain types, shapes, and units.
napoleon_google_docstring = False
# Types in docstrings link to the documentation of the libraries that define them.
napoleon_preprocess_types = True
napoleon_type_aliases = inventories.ALIASES
intersphinx_mapping = inventories.write(DOCS / "_build" / "inventories")
# Read "a, b : kind" as two names.
napoleon_custom_sections = [("Attributes", "params_style")]
default_role = "code"

html_theme = "basic" if CHECKED else "furo"
html_title = f"granchain {release}"
html_copy_source = False
html_theme_options = {} if CHECKED else {"navigation_with_keys": True}

reference_pages.write(DOCS / "reference")
law_pages.write(DOCS / "reference" / "laws")
gallery.write(DOCS / "gallery")
explained.write(DOCS / "gallery")
shutil.copytree(
    DOCS.parent / "notebooks",
    DOCS / "notebooks",
    dirs_exist_ok=True,
    ignore=shutil.ignore_patterns("*.py", ".*", "*.h5"),
)
