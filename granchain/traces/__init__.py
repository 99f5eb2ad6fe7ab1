"""Measured traces: import of instrument files, with source and uncertainty."""

from granchain.traces.about import AboutTable
from granchain.traces.columns import Asked
from granchain.traces.folder import ABOUT, CURVES, import_trace, read_about, read_trace
from granchain.traces.trace import Trace

__all__ = [
    "ABOUT",
    "CURVES",
    "AboutTable",
    "Asked",
    "Trace",
    "import_trace",
    "read_about",
    "read_trace",
]
