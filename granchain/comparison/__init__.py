"""Measured trace against computed: does the law describe the experiment?"""

from granchain.comparison.agreement import QUANTITIES, Agreement, Comparison, ResultAgreement, SensorAgreement
from granchain.comparison.pulses import compare
from granchain.comparison.shift import Shift, time_shift

__all__ = ["QUANTITIES", "Agreement", "Comparison", "ResultAgreement", "SensorAgreement", "Shift", "compare", "time_shift"]
