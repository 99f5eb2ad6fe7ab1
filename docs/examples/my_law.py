"""A contact law in a file of the user. Show it with `granchain laws latching-spring --law-module
docs/examples/my_law.py`."""

from granchain import Elastoplastic, Quantity, Source


class LatchingSpring(Elastoplastic):
    """Walton and Braun with a restitution: K d while loading, K/e^2 (d - d_r) while unloading and
    reloading. The built-in law `walton-braun` has both stiffnesses as inputs.

    Both lines meet at the largest overlap, so that the residual indentation is d_r = (1 - e^2)
    d_max. Unloading returns e^2 of the loading work. Therefore the effective restitution is e at
    every speed. The law does not depend on the rate. The contact ends at d = d_r.
    """

    name = "latching-spring"
    source = Source("Walton & Braun 1986", "", "10.1122/1.549893")
    inputs = (
        Quantity("stiffness", "N/m", "loading stiffness K", above=0.0),
        Quantity("restitution", "1", "nominal coefficient of restitution", above=0.0, high=1.0),
    )
    coefficients = (
        Quantity("stiffness", "N/m", "loading stiffness K"),
        Quantity("dent_share", "1", "1 - e^2, residual indentation divided by largest overlap"),
    )
    # The base class unloads with the exponent 3/2 of Hertz. With True, `exponent` replaces it.
    varying_exponent = True
    validity = "impacts whose restitution does not depend on the speed; permanent indentation"
    status = "verified against its closed forms"

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
