"""The uncertainties of a comparison cover what is true, over random sensors of every law, with noise and with the faults of instruments."""

import math
from collections import Counter

import numpy as np
import pytest
from synthetic_sensors import FAULTS, NAMES, NEAR, rig

from granchain.comparison import compare
from granchain.errors import TraceError

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.promise("N12")]

# What the messages say of each fault.
WORDS = {
    "few samples": "samples in the width",
    "clipping": "as an instrument at its limit",
    "drift": "the baseline drifts",
    "offset": ("tell the baseline", "leaves no baseline", "too little of the pulse"),
    "crosstalk": ("is not taken for", "may be crosstalk"),
    "later pulse": "times as large follows",
    "cut": ("the trace ends before", "no whole pulse", "too little of the pulse"),
}
BATCH = (*((name, i) for i, name in enumerate(NAMES)),)


class Coverage:
    """Errors and uncertainties of many sensors, by name."""

    def __init__(self, count, fault, among, first_seed=0):
        self.errors = {name: [] for name in NAMES}
        self.sure = {name: [] for name in NAMES}
        self.size = {name: [] for name in NAMES}
        self.shifts, self.sensors, self.given, self.said = [], 0, Counter(), 0
        seed = first_seed
        while self.sensors < count:
            self._read(rig(seed, fault, among), fault)
            seed += 1

    def _read(self, one, fault):
        self.sensors += len(one.truth)
        words = (WORDS[fault],) if isinstance(WORDS.get(fault), str) else WORDS.get(fault, ())
        try:
            found = compare(one.result, trace=one.trace)
        except TraceError as error:
            # One sentence for the whole trace: what is wrong with each sensor stands in it.
            self.said += len(one.truth) * any(word in str(error) for word in words)
            return
        (agreement,) = found.results
        self.shifts.append((abs(agreement.shift - one.shift), agreement.shift_uncertainty))
        for sensor, truth in zip(agreement.sensors, one.truth, strict=True):
            told = [message for message in found.messages if message.startswith(f"bead {sensor.bead}:")]
            self.said += any(word in message for message in told for word in words)
            for name, true in zip(NAMES, truth, strict=True):
                number = getattr(sensor, name)
                if math.isfinite(number.measured) and math.isfinite(true):
                    scale = truth[2] if name == "arrival" else true
                    # The shift is no part of what was measured.
                    sure = math.sqrt(max(number.uncertainty**2 - (name == "arrival") * agreement.shift_uncertainty**2, 0.0))
                    self.errors[name].append(abs(number.measured - true) / scale)
                    self.sure[name].append(sure / scale)

    def within(self, name, deviations):
        """Part of the sensors that have a number within so many standard deviations of what is true."""
        return float(np.mean(np.array(self.errors[name]) <= deviations * np.array(self.sure[name])))

    def beyond(self, name, deviations=5.0):
        return int(np.sum(np.array(self.errors[name]) > deviations * np.array(self.sure[name])))

    def ratio(self, name):
        """Of the median uncertainty to the median error."""
        return float(np.median(self.sure[name]) / np.median(self.errors[name]))
