"""Chains of touching elastic balls: equal balls struck by one of them, and different balls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from granchain.theory.ranges import require
from granchain.theory.waves import solitary_force, solitary_speed, solitary_wave

# Peak velocity in units of the striker's speed v0, and peak force of the first contact in units of
# k^(2/5) (m v0^2)^(3/5). They were computed with `struck_chain` (scipy DOP853, rtol 1e-13) to the
# digits shown, with 48 balls for the peaks, each from a parabola through samples 5e-4 apart. The
# peak velocities of the beads decrease by ever smaller steps, with the ratio 0.56 from one bead to
# the next. Their limit is the peak velocity of the wave.
STRUCK_PEAK_VELOCITY = 0.6816315
STRUCK_FIRST_FORCE = 0.7584203
# Final velocities of the striker and beads 1 to 3, long after the wave has passed. Chains of 60 and
# 90 balls agree.
STRUCK_REBOUND = (-0.07108502, -0.03027379, -0.01583340, -0.00888570)

# Final velocities of N equal touching Hertz balls in units of the striker's speed. The first ball
# is the striker. They were computed with `ball_velocities` (scipy DOP853, rtol 1e-13) to the digits
# shown. Two balls exchange their velocities exactly.
BALL_VELOCITIES: dict[int, tuple[float, ...]] = {
    2: (0.0, 1.0),
    3: (-0.07095235, 0.07640304, 0.99454931),
    5: (-0.07108502, -0.03027376, -0.01446363, 0.12704499, 0.98877742),
}


@dataclass(frozen=True)
class StruckChain:
    """Long Hertz chain struck by an equal bead, once the wave has formed.

    Attributes
    ----------
    peak_velocity : float
        Peak velocity of a bead in the wave [m/s].
    first_force : float
        Peak force between striker and first bead [N].
    peak_force : float
        Peak force of a contact in the wave [N].
    sensor_force : float
        Peak of the mean of a bead's two contact forces in the wave [N].
    wave_speed : float
        Wave speed [beads/s].
    wave_energy : float
        Fraction of the striker's energy that the wave carries [1].
    rebound : tuple of float
        Final velocities of the striker and beads 1 to 3 [m/s].
    """

    peak_velocity: float
    first_force: float
    peak_force: float
    sensor_force: float
    wave_speed: float
    wave_energy: float
    rebound: tuple[float, ...]


def equal_striker(stiffness: float, mass: float, speed: float) -> StruckChain:
    """Compute the wave of one equal striker in a long chain of touching Hertz beads.

    Velocities scale with v0, and forces with k^(2/5) (m v0^2)^(3/5). The dimensionless numbers are
    `STRUCK_PEAK_VELOCITY`, `STRUCK_FIRST_FORCE`, and `STRUCK_REBOUND`, computed by integrating the
    chain, and those of `solitary_wave`. Review: Sen et al. 2008, doi:10.1016/j.physrep.2007.10.007.

    Parameters
    ----------
    stiffness : float
        Stiffness k of a contact [N/m^1.5].
    mass : float
        Mass m of a bead and of the striker [kg].
    speed : float
        Speed v0 of the striker [m/s].
    """
    wave = solitary_wave()
    peak_velocity = STRUCK_PEAK_VELOCITY * speed
    peak_force = solitary_force(stiffness, mass, peak_velocity)
    return StruckChain(
        peak_velocity=peak_velocity,
        first_force=STRUCK_FIRST_FORCE * stiffness**0.4 * (mass * speed * speed) ** 0.6,
        peak_force=peak_force,
        sensor_force=wave.bead_force * peak_force,
        wave_speed=solitary_speed(stiffness, mass, peak_velocity=peak_velocity),
        # energy of the wave in units of m v_m^2, divided by that of the striker, m v0^2/2
        wave_energy=2.0 * wave.energy * STRUCK_PEAK_VELOCITY * STRUCK_PEAK_VELOCITY,
        rebound=tuple(share * speed for share in STRUCK_REBOUND),
    )


def struck_chain(count: int, times: Any) -> tuple[np.ndarray, np.ndarray]:
    """Compute the motion of equal touching Hertz balls after the first has struck.

    The first ball has the speed 1, and k = m = 1.

    The integration is independent of the engine: scipy's DOP853 (Hairer, Norsett & Wanner 1993,
    doi:10.1007/978-3-540-78862-1), rtol 1e-13. The unit of length is (m v0^2/k)^(2/5), and the unit
    of time is this length divided by v0.

    Parameters
    ----------
    count : int
        Number of balls including the striker, at least 2.
    times : array
        Increasing times [1], the first at least 0.

    Returns
    -------
    displacement, velocity : array (n_times, count)
        Displacements and velocities [1].
    """
    from scipy.integrate import solve_ivp

    require("count", count, count >= 2, "at least 2 balls, including the striker")
    times = np.asarray(times, dtype=float)

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        """Return the velocities and the accelerations of the balls."""
        overlap = np.maximum(state[: count - 1] - state[1:count], 0.0)
        force = overlap * np.sqrt(overlap)
        acceleration = np.zeros(count)
        acceleration[:-1] -= force
        acceleration[1:] += force
        return np.concatenate([state[count:], acceleration])

    start = np.zeros(2 * count)
    start[count] = 1.0
    # Lengths and speeds are of order one. The absolute tolerance is a hundredth of the relative
    # one, so the relative one decides.
    solution = solve_ivp(
        rates, (0.0, float(times[-1])), start, method="DOP853", t_eval=times, rtol=1e-13, atol=1e-15
    )
    return solution.y[:count].T, solution.y[count:].T


def ball_velocities(count: int) -> np.ndarray:
    """Compute the final velocities of N equal touching Hertz balls.

    The first ball is the striker. The velocities are divided by its speed.

    The motion is integrated (`struck_chain`) until every contact is open and no ball catches up
    with the next. Momentum 1 and energy 1/2 are conserved. Review: Sen et al. 2008,
    doi:10.1016/j.physrep.2007.10.007.

    Parameters
    ----------
    count : int
        Number of balls including the striker, at least 2.

    Returns
    -------
    array (count,)
        Final velocities [1].
    """
    # A wave passes a ball in about one unit of time. The end is doubled until the balls have
    # separated.
    end = 4.0 * count
    while True:
        displacement, velocity = (history[-1] for history in struck_chain(count, [0.0, end]))
        if np.all(np.diff(displacement) > 0.0) and np.all(np.diff(velocity) > 0.0):
            return np.asarray(velocity)
        end *= 2.0


# --------------------------------------------------------------------------------------------------
# Different elastic balls


def pairwise_velocity(mass: Any) -> float:
    """Return the velocity of the last of several elastic balls divided by the first.

    Only two balls collide at a time.

    The ratio is the product of 2 m_i/(m_i + m_(i+1)), which follows from the momentum and the
    energy of each pair and is valid for every elastic force law. For beads tapered by q, m_(i+1) =
    (1 - q)^3 m_i: Doney & Sen 2006, doi:10.1103/PhysRevLett.97.155502.

    Parameters
    ----------
    mass : array (n_bodies,)
        Masses in the order of the collisions [kg].

    Returns
    -------
    float
        Velocity ratio [1].
    """
    m = np.asarray(mass, dtype=float)
    return float(np.prod(2.0 * m[:-1] / (m[:-1] + m[1:])))


# Ratio of the light to the heavy mass of a touching dimer with equal contacts at which a solitary
# wave exists, the largest ratio below 1: Jayaprakash, Starosvetsky & Vakakis 2011,
# doi:10.1103/PhysRevE.83.036606, to the four digits published.
DIMER_RATIO = 0.3428
