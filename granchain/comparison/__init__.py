"""Comparison of measured and computed traces and impacts.

Impacts are in `granchain.comparison.impacts`, which needs the engine. The comparison of traces does
not need it.
"""

from granchain.comparison.agreement import (
    IN_BAND,
    UNITS_COMPARED,
    Agreement,
    Band,
    Comparison,
    ForceBand,
    ResultAgreement,
    SensorAgreement,
)
from granchain.comparison.printed import IMPACTS, MeasuredImpact, MeasuredImpacts, read_impacts
from granchain.comparison.pulses import compare_pulses, time_shift

__all__ = [
    "IMPACTS",
    "IN_BAND",
    "UNITS_COMPARED",
    "Agreement",
    "Band",
    "Comparison",
    "ForceBand",
    "MeasuredImpact",
    "MeasuredImpacts",
    "ResultAgreement",
    "SensorAgreement",
    "compare_pulses",
    "read_impacts",
    "time_shift",
]
