"""Measured records: import of instrument files, reading of noisy pulses, comparison with computed
ones, and fits."""

from granchain.measured.about import AboutTable
from granchain.measured.agreement import (
    IN_BAND,
    UNITS_COMPARED,
    Agreement,
    Band,
    Comparison,
    ForceBand,
    ResultAgreement,
    SensorAgreement,
)
from granchain.measured.folder import ABOUT, CURVES, import_trace, read_about, read_trace
from granchain.measured.impacts_folder import IMPACTS, MeasuredImpact, MeasuredImpacts, read_impacts
from granchain.measured.pulses import compare_pulses, time_shift
from granchain.measured.trace import Trace

__all__ = [
    "ABOUT",
    "CURVES",
    "IMPACTS",
    "IN_BAND",
    "UNITS_COMPARED",
    "AboutTable",
    "Agreement",
    "Band",
    "Comparison",
    "ForceBand",
    "MeasuredImpact",
    "MeasuredImpacts",
    "ResultAgreement",
    "SensorAgreement",
    "Trace",
    "compare_pulses",
    "import_trace",
    "read_about",
    "read_impacts",
    "read_trace",
    "time_shift",
]
