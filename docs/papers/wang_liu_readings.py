"""Three other interpretations of the chain's dashpot of Wang, Liu & Liu 2022, section 5.2.

They are contact laws in a user's file: `granchain run steel-chain-dashpot --law-module
docs/papers/wang_liu_readings.py --set contact.law=wang-liu-offset`.

The paper switches from Flores et al. to its eq. (18) when a contact yields, and does not specify
whether the force is continuous there. As published, it jumps. In all three laws, c is (d_y, K, a/v0
below, K_p, a/v0 above, lowest force).
"""

import math

from granchain import OPEN, Source
from granchain.contact.hysteresis import WangLiuHysteretic

SOURCE = Source("Wang, Liu & Liu 2022", "a reading of sec. 5.2", "10.1016/j.ijmecsci.2022.107214")


def below(d, rate, c):
    """Return the force of Flores et al. [N]."""
    return c[1] * (d * math.sqrt(d)) * (1.0 + c[2] * rate)


def clamped(force, c):
    """Return the force, at least the lowest force, so that tension is excluded if required [N]."""
    return force if force > c[5] else c[5]


class Shifted(WangLiuHysteretic):
    """Above d_y the spring is F_y + K_p (d - d_y), so that it does not jump at d_y, and the damping
    is proportional to this force."""

    name = "wang-liu-shifted"
    source = SOURCE

    @staticmethod
    def force(overlap, rate, c, h):
        d, d_y = overlap if overlap > OPEN else 0.0, c[0]
        spring = c[1] * (d_y * math.sqrt(d_y)) + c[3] * (d - d_y)
        return clamped(spring * (1.0 + c[4] * rate) if d > d_y else below(d, rate, c), c)

    @staticmethod
    def jump(overlap, rate, c, h):
        spring = c[1] * (overlap * math.sqrt(overlap))
        return clamped(spring * (1.0 + c[4] * rate), c) - clamped(below(overlap, rate, c), c)

    @staticmethod
    def energy(overlap, c, h):
        d, d_y = overlap if overlap > OPEN else 0.0, c[0]
        s, f_y = min(d, d_y), c[1] * (d_y * math.sqrt(d_y))
        more = d - s
        return 0.4 * c[1] * (s * s * math.sqrt(s)) + more * (f_y + 0.5 * c[3] * more)


class Offset(Shifted):
    """Above d_y the spring is F_y + K_p (d - d_y), and the damping is that of eq. (18),
    proportional to K_p d."""

    name = "wang-liu-offset"
    source = SOURCE

    @staticmethod
    def force(overlap, rate, c, h):
        d, d_y = overlap if overlap > OPEN else 0.0, c[0]
        spring = c[1] * (d_y * math.sqrt(d_y)) + c[3] * (d - d_y)
        return clamped(spring + c[3] * d * c[4] * rate if d > d_y else below(d, rate, c), c)

    @staticmethod
    def jump(overlap, rate, c, h):
        above = c[1] * (overlap * math.sqrt(overlap)) + c[3] * overlap * c[4] * rate
        return clamped(above, c) - clamped(below(overlap, rate, c), c)


class Softer(WangLiuHysteretic):
    """K_p d is used only if it is softer than Hertz's K d^1.5: the switch is at d = (K_p/K)^2, so
    that the spring does not jump."""

    name = "wang-liu-softer"
    source = SOURCE

    @staticmethod
    def force(overlap, rate, c, h):
        d = overlap if overlap > OPEN else 0.0
        above = c[3] * d * (1.0 + c[4] * rate)
        return clamped(above if c[1] * math.sqrt(d) > c[3] else below(d, rate, c), c)

    @staticmethod
    def jumps(c):
        return ((c[3] / c[1]) * (c[3] / c[1]),)

    @staticmethod
    def jump(overlap, rate, c, h):
        above = c[3] * overlap * (1.0 + c[4] * rate)
        return clamped(above, c) - clamped(below(overlap, rate, c), c)

    @staticmethod
    def energy(overlap, c, h):
        d, switch = overlap if overlap > OPEN else 0.0, (c[3] / c[1]) * (c[3] / c[1])
        s = min(d, switch)
        return 0.4 * c[1] * (s * s * math.sqrt(s)) + 0.5 * c[3] * (d * d - s * s)
