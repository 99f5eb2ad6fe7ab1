"""Sphinx: how the documentation is built."""

import granchain

project = "granchain"
author = "The granchain developers"
project_copyright = "2026, The granchain developers"
version = release = granchain.__version__
extensions = ["myst_parser"]
# Links such as #ma-liu lead to headings.
myst_heading_anchors = 3
html_theme = "furo"
exclude_patterns = ["_build"]
