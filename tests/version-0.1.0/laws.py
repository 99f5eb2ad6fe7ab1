"""Contact laws of one's own, as granchain 0.1.0 asked for them: a spring with a dashpot, and Walton and Braun's bilinear law."""

import math

from granchain import ContactLaw, Elastoplastic, Quantity, Source

HALF = 0.5


def spring(d, stiffness):
    return stiffness * d


class LinearDashpot(ContactLaw):
    """F = k d + c rate, while the beads touch."""

    name = "linear-dashpot"
    source = Source("the damped oscillator")
    inputs = (Quantity("stiffness", "N/m", "k", above=0.0), Quantity("restitution", "1", "asked", above=0.0, high=1.0))
    coefficients = (Quantity("stiffness", "N/m", "k"), Quantity("damping", "N s/m", "c"))
    uses_rate = True

    @staticmethod
    def coefficients_of(pair, inputs):
        logarithm = -math.log(inputs.restitution)
        ratio = logarithm / math.sqrt(math.pi * math.pi + logarithm * logarithm)
        return inputs.stiffness, 2.0 * ratio * (inputs.stiffness * pair.effective_mass) ** HALF

    @staticmethod
    def force(overlap, rate, c, h):
        stiffness, damping = c
        d, touching = (overlap, 1.0) if overlap > 1e-30 else (0.0, 0.0)
        return spring(d, stiffness) + touching * damping * rate

    @staticmethod
    def energy(overlap, c, h):
        d = overlap if overlap > 0.0 else 0.0
        return HALF * spring(d, c[0]) * d


class WaltonBraun(Elastoplastic):
    """K d while loading, K/e^2 (d - d_r) while unloading and reloading; the dent is d_r = (1 - e^2) d_max."""

    name = "walton-braun-010"
    source = Source("Walton & Braun 1986", "", "10.1122/1.549893")
    inputs = (Quantity("stiffness", "N/m", "K, loading", above=0.0), Quantity("restitution", "1", "asked", above=0.0, high=1.0))
    coefficients = (Quantity("stiffness", "N/m", "K, loading"), Quantity("dent_share", "1", "1 - e^2, dent over largest overlap"))
    varying_exponent = True

    @staticmethod
    def coefficients_of(pair, inputs):
        return inputs.stiffness, (1.0 - inputs.restitution) * (1.0 + inputs.restitution)

    @staticmethod
    def elastic_limit(c):
        return 0.0

    @staticmethod
    def elastic_stiffness(c):
        return c[0]

    @staticmethod
    def loading(d, c):
        return c[0] * d

    @staticmethod
    def loading_work(d, c):
        return 0.5 * c[0] * d * d

    @staticmethod
    def residual(d_max, force_max, c):
        return c[1] * d_max

    @staticmethod
    def exponent(d_max, c):
        return 1.0
