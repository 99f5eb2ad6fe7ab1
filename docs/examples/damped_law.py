"""A law with damping in a file of the user: Hertz's spring and a parallel dashpot, whose damping is
proportional to the square root of the overlap."""

import math

from granchain import OPEN, ContactLaw, Quantity, Source
from granchain.contact.law import ONSET_HISTORY
from granchain.contact.onset import onset_weight

# In the step in which a contact closes, a damping ~ d^a acts during a fraction of the step only. The
# force is multiplied by a weight in this step, so that the scheme is of order two. The weight is a
# polynomial of the fraction, divided by the fraction to the power a. Here a = 1/2.
WEIGHT = onset_weight(0.5)


class DampedHertz(ContactLaw):
    """F = K d^1.5 + c sqrt(d) rate, or 0 if this is negative. The contact stays closed until its
    overlap is zero."""

    name = "damped-hertz"
    source = Source("an example of this documentation")
    inputs = (Quantity("damping", "N s/m^1.5", "c", above=0.0),)
    coefficients = (Quantity("stiffness", "N/m^1.5", "K"), Quantity("damping", "N s/m^1.5", "c"))
    history = ONSET_HISTORY
    examples = {"damping": 2e3}  # noqa: RUF012

    @staticmethod
    def coefficients_of(pair, inputs):
        return pair.hertz_stiffness, inputs.damping

    @staticmethod
    def force(overlap, rate, c, h):
        stiffness, damping = c
        d = overlap if overlap > OPEN else 0.0
        f = stiffness * (d * math.sqrt(d)) + h[0] * damping * math.sqrt(d) * rate
        return f if f > 0.0 else 0.0

    @staticmethod
    def energy(overlap, c, h):
        d = overlap if overlap > OPEN else 0.0
        return 0.4 * c[0] * (d * d * math.sqrt(d))

    @staticmethod
    def history_of(c):
        return 1.0, 0.0

    @staticmethod
    def needs_update(overlap, rate, c, h):
        weight, closed = h
        return ((overlap > OPEN) != (closed > 0.0)) | (weight != 1.0)

    @staticmethod
    def update(event, c, h):
        overlap, _, _, part = event
        if overlap <= OPEN:
            return 1.0, 0.0
        if h[1] > 0.0:
            return 1.0, 1.0
        weight = 0.0
        for coefficient in WEIGHT:
            weight = weight * part + coefficient
        return weight / math.sqrt(part), 1.0
