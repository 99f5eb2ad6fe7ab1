"""Measured against computed, traces and impacts: does the law describe the experiment?"""

from granchain.comparison.agreement import QUANTITIES, Agreement, Comparison, ResultAgreement, SensorAgreement
from granchain.comparison.impacts import (
    FITS,
    ComparedImpact,
    ImpactComparison,
    LawAgainstImpacts,
    at_bound,
    compare_impacts,
    shown_quantity,
)
from granchain.comparison.printed import IMPACTS, MeasuredImpact, MeasuredImpacts, read_impacts
from granchain.comparison.pulses import compare
from granchain.comparison.shift import Shift, time_shift

__all__ = [
    "FITS",
    "IMPACTS",
    "QUANTITIES",
    "Agreement",
    "ComparedImpact",
    "Comparison",
    "ImpactComparison",
    "LawAgainstImpacts",
    "MeasuredImpact",
    "MeasuredImpacts",
    "ResultAgreement",
    "SensorAgreement",
    "Shift",
    "at_bound",
    "compare",
    "compare_impacts",
    "read_impacts",
    "shown_quantity",
    "time_shift",
]
