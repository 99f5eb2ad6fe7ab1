"""The uncertainties of a comparison cover the true values, for random sensors, laws, noise, and
faults."""

import math
from collections import Counter

import numpy as np
import pytest
from support.noise_kinds import EVERY, VISIBLE_RING
from support.synthetic_sensors import FAULTS, NAMES, NEAR, noisy_rig, rig

from granchain.errors import TraceError
from granchain.measured import compare_pulses

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.promise("N12")]

# Words of the messages about each fault.
WORDS = {
    "few samples": "samples in its width",
    "clipping": "as if the instrument clipped it",
    "drift": "the baseline drifts",
    "offset": (
        "baseline is estimated from only", "there is no baseline", "too little of the pulse"),
    "crosstalk": ("was ignored", "may be crosstalk"),
    "later pulse": "times as large follows",
    "cut": ("the trace ends before", "no complete pulse", "too little of the pulse"),
}  # fmt: skip


# Limits in per cent. Three kinds of pulse are not detected: kogut-etsion makes two tops at a
# distance of 0.04 of the width, with a dip of 0.003 of the height between them; jankowski makes a
# kink before the top, which noise hides; gharib-hurmuzlu-plastic and thornton make dips between two
# of few samples.
NOISE_BEYOND = {"peak": 0.02, "arrival": 0.5}
BEYOND = {"peak": 0.05, "arrival": 0.3, "width": 0.1, "impulse": 0.2}
# Few samples and much noise hide a flat top; the uncertainty then extends to the intersection of
# the flanks.
CLIPPED_UNSEEN, CLIPPED_BEYOND = 5.5, 1.0
# The smallest fraction of the sensors with a message, for laws with near sensors. Crosstalk below
# the noise or with the other sign needs no message, and neither does a pulse with 8 samples per
# width.
LEAST_SAID = {"few samples": 0.8, "offset": 0.7, "crosstalk": 0.3, "later pulse": 0.9, "cut": 0.7}
# The smallest fraction of the sensors for which a message is required (see `Rig`), for all laws,
# whose pulses become wider.
LEAST_DUE = LEAST_SAID | {"few samples": 0.95, "crosstalk": 0.5}


class Coverage:
    """Errors and uncertainties of many sensors, by name."""

    def __init__(self, count, faults, among, made=rig):
        self.errors = {name: [] for name in NAMES}
        self.sure = {name: [] for name in NAMES}
        self.sensors, self.said, self.of_fault = 0, Counter(), Counter()
        self.due, self.said_of_due = Counter(), Counter()
        # sensors that recorded the basis of a value
        self.recorded, self.missing = (dict.fromkeys(NAMES, 0) for _ in range(2))
        for fault in faults:
            seed, until = 0, self.sensors + count / len(faults)
            while self.sensors < until:
                self._read(made(seed, fault, among), fault)
                seed += 1

    def _read(self, one, fault):
        self.sensors += len(one.truth)
        self.of_fault[fault] += len(one.truth)
        self.due[fault] += int(one.due.sum())
        words = (WORDS[fault],) if isinstance(WORDS.get(fault), str) else WORDS.get(fault, ())
        # with the same limit at all sensors: a top above it was not recorded
        limit = one.trace.sensor_force.max() if fault == "clipping" else math.inf
        held = {name: one.truth[:, 0] <= limit if name != "arrival" else True for name in NAMES}
        for k, name in enumerate(NAMES):
            held[name] = held[name] & np.isfinite(one.truth[:, k])
            self.recorded[name] += int(held[name].sum())
        try:
            found = compare_pulses(one.result, trace=one.trace)
        except TraceError as error:
            for name in NAMES:
                self.missing[name] += int(held[name].sum())
            # One message for the complete trace contains the problems of each sensor.
            said = any(word in str(error) for word in words)
            self.said[fault] += len(one.truth) * said
            self.said_of_due[fault] += int(one.due.sum()) * said
            return
        (agreement,) = found.results
        for k, (sensor, truth) in enumerate(zip(agreement.sensors, one.truth, strict=True)):
            told = [
                message for message in found.messages if message.startswith(f"bead {sensor.bead}:")
            ]
            said = any(word in message for message in told for word in words)
            self.said[fault] += said
            self.said_of_due[fault] += bool(said and one.due[k])
            for name, true in zip(NAMES, truth, strict=True):
                number = getattr(sensor, name)
                self.missing[name] += held[name][k] and not math.isfinite(number.measured)
                if math.isfinite(number.measured) and math.isfinite(true):
                    scale = truth[2] if name == "arrival" else true
                    # The shift is not part of the measured values.
                    shift = agreement.time_shift_error if name == "arrival" else 0.0
                    sure = number.error
                    if math.isfinite(sure):
                        sure = math.sqrt(max(sure**2 - shift**2, 0.0))
                    self.errors[name].append(abs(number.measured - true) / scale)
                    self.sure[name].append(sure / scale)

    def within(self, name, deviations):
        """Return the fraction of sensors whose value is within this many standard deviations of the
        truth."""
        return float(np.mean(np.array(self.errors[name]) <= deviations * np.array(self.sure[name])))

    def beyond(self, name, deviations=5.0):
        return int(np.sum(np.array(self.errors[name]) > deviations * np.array(self.sure[name])))

    def withheld(self, name):
        """Return the fraction of sensors that recorded a value but for which none is reported."""
        return self.missing[name] / self.recorded[name]

    def too_large(self, name):
        """Return the stated uncertainty divided by the one with which two standard deviations cover
        95 %."""
        return 1.96 / np.quantile(np.array(self.errors[name]) / np.array(self.sure[name]), 0.95)

    def ratio(self, name):
        """Return the ratio of the median uncertainty to the median error."""
        return float(np.median(self.sure[name]) / np.median(self.errors[name]))


LONG = (pytest.mark.long, pytest.mark.timeout(3600))
# Number of sensors, at 0.05 s of processor time each: of 5,000 sensors, the strictest limit allows
# two, which is too few to count.
MANY = 10_000


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_noise_on_a_flank_is_not_taken_for_the_pulse(figure):
    found = Coverage(MANY, [None], None)
    for name, most in NOISE_BEYOND.items():
        what = f"{name}s off by more than 5 standard errors [%]"
        figure(what, 100.0 * found.beyond(name) / found.sensors, at_most=most)
        assert found.within(name, 2.0) > 0.95


@pytest.mark.parametrize(
    ("count", "among"),
    [
        pytest.param(24, NEAR, id="fast"),
        *(pytest.param(n, laws, marks=LONG) for n, laws in ((1000, NEAR), (MANY, None))),
    ],
)
def test_uncertainties_cover_with_every_fault_but_clipping(count, among, figure):
    found = Coverage(count, [fault for fault in FAULTS if fault != "clipping"], among)
    for name in NAMES:
        figure(f"{name}: within two standard errors", found.within(name, 2.0), at_least=0.95)
        what = f"{name}: off by more than 5 standard errors [%]"
        figure(what, 100.0 * found.beyond(name) / found.sensors, at_most=BEYOND[name])
        what = f"{name}: median uncertainty over median error"
        # a median of few sensors is not meaningful
        most = 4.0 if count > 24 else None
        figure(what, found.ratio(name), at_least=1.0, at_most=most)
    for fault, least in LEAST_SAID.items():
        assert among is None or found.said[fault] >= least * found.of_fault[fault], fault
        assert found.said_of_due[fault] >= LEAST_DUE[fault] * found.due[fault], fault


@pytest.mark.parametrize(
    ("count", "among"), [(15, NEAR), pytest.param(2000, None, marks=LONG)], ids=["fast", "all laws"]
)
def test_a_clipped_peak_is_recognised(count, among, figure):
    found = Coverage(count, ["clipping"], among)
    given = len(found.errors["peak"])
    figure(
        "clipped peaks off by more than 5 standard errors [%]",
        100.0 * found.beyond("peak") / found.sensors,
        at_most=CLIPPED_BEYOND,
    )
    figure("clipped sensors with a peak [%]", 100.0 * given / found.sensors, at_most=CLIPPED_UNSEEN)
    assert found.said["clipping"] >= found.sensors - given - 0.02 * found.sensors


def test_a_peak_that_is_averaged_over_a_ring_has_the_error_of_its_shape():
    # record in which curves up to the half heights give peaks of flores that are 0.012 too low, and
    # shorter curves contain the ring
    one = noisy_rig(51, VISIBLE_RING, ("flores",))
    (agreement,) = compare_pulses(one.result, trace=one.trace).results
    for sensor, truth in zip(agreement.sensors, one.truth, strict=True):
        assert abs(sensor.peak.measured - truth[0]) < 5.0 * sensor.peak.error


# Percentage of the recorded values: for a pulse with a clipped top, the arrival.
WITHHELD = {"white": 2.0}
# If 95 % are covered, at least 21 of 24 sensors are covered except in 3 of 100 sets.
FEW_HELD, HELD = 0.87, 0.91
# The stated error divided by a calibrated error.
MOST_STATED = 1.5


@pytest.mark.parametrize(
    ("kind", "count"),
    [(VISIBLE_RING, 24), *(pytest.param(kind, 280, marks=pytest.mark.long) for kind in EVERY)],
)
def test_uncertainties_cover_under_noise_and_instruments_of_any_kind(kind, count, figure):
    found = Coverage(count, [kind], NEAR, noisy_rig)
    # the stated uncertainty includes the effect of crosstalk on a pulse that begins at its end
    assert kind != "crosstalk" or not found.beyond("impulse")
    for name in NAMES:
        what, least = f"{kind}, {name}", HELD if count > 24 else FEW_HELD
        figure(f"{what}: within two standard errors", found.within(name, 2.0), at_least=least)
        if count > 24:
            figure(
                f"{what}: uncertainty over one that is calibrated",
                found.too_large(name),
                at_most=MOST_STATED,
            )
            most = WITHHELD.get(kind, 10.0)
            figure(f"{what}: not reported [%]", 100.0 * found.withheld(name), at_most=most)
