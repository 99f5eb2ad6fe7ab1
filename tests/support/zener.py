"""Impact of a sphere on a large plate: own integration of Zener's equation, without granchain.

Zener (1941), doi:10.1103/PhysRev.59.669: with the approach s in units of v T and the time in units
of T = (m/K)^(2/5) v^(-1/5), s'' + (1 + lambda d/dt) s^(3/2) = 0, lambda = m/(Z T), s(0) = 0,
s'(0) = 1. The sphere has the velocity s' + lambda s^(3/2), whose derivative is -s^(3/2).
"""

import numpy as np
from scipy.integrate import solve_ivp


def sphere_on_plate(inelasticity):
    """Return restitution, largest approach, and duration of an impact, in these units."""

    def rates(_, state):
        force = max(state[0], 0.0) ** 1.5
        return [state[1] - inelasticity * force, -force]

    def opens(_, state):
        return state[0]

    def turns(_, state):
        return rates(0.0, state)[0]

    opens.terminal, opens.direction, turns.direction = True, -1, -1
    options = {"rtol": 1e-12, "atol": 1e-15, "first_step": 1e-6, "events": (opens, turns)}
    found = solve_ivp(rates, (0.0, 1e3), [0.0, 1.0], method="DOP853", **options)
    assert found.status == 1
    return -found.y_events[0][0][1], found.y_events[1][0][0], found.t_events[0][0]


def scales(mass, stiffness, speed):
    """Return the unit of time T [s] and the impedance [kg/s] of a plate with lambda = 1."""
    time = (mass / stiffness) ** 0.4 * speed**-0.2
    return time, mass / time


def first_order_loss():
    """Return (1 - restitution)/lambda in the limit of a thick plate, from an elastic impact.

    The plate takes the integral of F^2/Z, which is 2 int s^3 ds/sqrt(1 - 4/5 s^(5/2)).
    """
    from scipy.special import beta

    return 0.8 * 1.25**1.6 * float(beta(1.6, 0.5))


LAMBDAS = np.array([0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0])
