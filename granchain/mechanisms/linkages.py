"""Geometry of the mechanisms: plain functions of the free coordinates and the motion of the crank
pin.

Coordinate 0 is the position of the slider; coordinate 1, if present, is the angle of the rod. A
surface of the joint is a tuple

        overlap [m], its derivatives by the two coordinates, its rate from the pin motion alone
        [m/s], the derivatives of the slip by the two velocities, the slip from the pin motion alone
        [m/s],

so that rate = g0 v0 + g1 v1 + gt and slip = s0 v0 + s1 v1 + st, and a contact force F with a
friction f does the work -(F g0 + f s0) v0 - (F g1 + f s1) v1 on the coordinates. Both mechanisms
have constant masses in these coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Linkage(NamedTuple):
    """Functions of a mechanism; `m` is its `Dimensions`, and `pin` is the result of `pin_at`.

    Parameters
    ----------
    surfaces : callable
        (q0, q1, pin, m) -> a tuple of surfaces.
    applied : callable
        (q0, q1, pin, m) -> forces on the coordinates other than those of the contacts.
    energy : callable
        (q0, q1, v0, v1, pin, m) -> kinetic energy of all bodies that the crank moves [J].
    power : callable
        (q0, q1, v0, v1, a0, a1, pin, m) -> power of the crank, except through the contacts [W].
    joint : callable
        (q0, q1, pin, m) -> position of one centre of the joint relative to the other [m].
    n_surfaces : int
        Length of the tuple of surfaces.
    """

    surfaces: Callable
    applied: Callable
    energy: Callable
    power: Callable
    joint: Callable
    n_surfaces: int


class Dimensions(NamedTuple):
    """Dimensions of a mechanism, as the loop uses them; 0 if the mechanism lacks a part.

    Parameters
    ----------
    crank, speed, start : float
        Length [m], angular speed [rad/s] and angle at the start [rad] of the crank.
    rod, centre, rod_mass, rod_inertia : float
        Length [m], distance of the mass centre from the crank pin [m], mass [kg] and moment of
        inertia about the crank pin [kg m2].
    slider_mass : float
        Mass of the slider [kg].
    clearance, journal : float
        Clearance and journal radius of a revolute joint [m].
    outer, inner, end, pin : float
        Radii of the tracks and the ends of a slot, and of the pin [m].
    arc_cos, arc_sin : float
        Cosine and sine of half the arc of the slot.
    friction, slip_begin, slip_full : float
        Coefficient of friction and slip speeds [m/s], see `friction_fraction`.
    """

    crank: float
    speed: float
    start: float
    slider_mass: float
    rod: float
    centre: float = 0.0
    rod_mass: float = 0.0
    rod_inertia: float = 0.0
    clearance: float = 0.0
    journal: float = 0.0
    outer: float = 0.0
    inner: float = 0.0
    end: float = 0.0
    pin: float = 0.0
    arc_cos: float = 0.0
    arc_sin: float = 0.0
    friction: float = 0.0
    slip_begin: float = 0.0
    slip_full: float = 1.0


def pin_at(t, m):
    """Return position, velocity, and acceleration of the crank pin, as x, y, x, y, x, y."""
    angle = m.start + m.speed * t
    x, y = m.crank * math.cos(angle), m.crank * math.sin(angle)
    return x, y, -m.speed * y, m.speed * x, -m.speed * m.speed * x, -m.speed * m.speed * y


def friction_fraction(slip, m):
    """Return modified Coulomb friction as a fraction of the normal force.

    It has the sign of the slip, and rises from 0 to its full value between two slip speeds. Wang,
    Liu & Liu 2022, sec. 5.1, doi:10.1016/j.ijmecsci.2022.107214, name the model but give no
    formula. This function rises linearly.
    """
    fraction = (abs(slip) - m.slip_begin) / (m.slip_full - m.slip_begin)
    fraction = fraction if fraction > 0.0 else 0.0
    fraction = fraction if fraction < 1.0 else 1.0
    return m.friction * (fraction if slip > 0.0 else -fraction)


# --------------------------------------------------------------------------------------------------
# Slider-crank: the journal at the end of the rod in the bearing of the slider


def _slider_crank_surfaces(q0, q1, pin, m):
    """Return the contact of the journal with the bearing."""
    cosine, sine = math.cos(q1), math.sin(q1)
    x, y = pin[0] + m.rod * cosine - q0, pin[1] + m.rod * sine
    distance = math.sqrt(x * x + y * y)
    # If journal and bearing are concentric, there is no direction and no contact.
    nx, ny = (x / distance, y / distance) if distance > 0.0 else (1.0, 0.0)
    tx, ty = -ny, nx
    return (
        (
            distance - m.clearance,
            -nx,
            m.rod * (cosine * ny - sine * nx),
            pin[2] * nx + pin[3] * ny,
            -tx,
            # The journal turns with the rod.
            m.rod * (cosine * ty - sine * tx) + m.journal,
            pin[2] * tx + pin[3] * ty,
        ),
    )


def _slider_crank_applied(q0, q1, pin, m):
    """Return the inertia force of the rod, which the crank pin carries along."""
    return 0.0, -m.rod_mass * m.centre * (math.cos(q1) * pin[5] - math.sin(q1) * pin[4])


def _slider_crank_energy(q0, q1, v0, v1, pin, m):
    """Return the kinetic energy of slider and rod."""
    across = math.cos(q1) * pin[3] - math.sin(q1) * pin[2]
    rod = (
        0.5 * m.rod_mass * (pin[2] * pin[2] + pin[3] * pin[3])
        + m.rod_mass * m.centre * v1 * across
        + 0.5 * m.rod_inertia * v1 * v1
    )
    return 0.5 * m.slider_mass * v0 * v0 + rod


def _slider_crank_power(q0, q1, v0, v1, a0, a1, pin, m):
    """Return the velocity of the pin times rod mass times acceleration of the rod's centre."""
    cosine, sine = math.cos(q1), math.sin(q1)
    x = pin[4] - m.centre * (a1 * sine + v1 * v1 * cosine)
    y = pin[5] + m.centre * (a1 * cosine - v1 * v1 * sine)
    return m.rod_mass * (pin[2] * x + pin[3] * y)


def _slider_crank_joint(q0, q1, pin, m):
    """Return the centre of the journal relative to the centre of the bearing."""
    return pin[0] + m.rod * math.cos(q1) - q0, pin[1] + m.rod * math.sin(q1)


SLIDER_CRANK = Linkage(
    _slider_crank_surfaces,
    _slider_crank_applied,
    _slider_crank_energy,
    _slider_crank_power,
    _slider_crank_joint,
    1,
)


# --------------------------------------------------------------------------------------------------
# Scotch yoke: the crank pin in the slot of the slider; coordinate 0 is the centre of the arc, which
# is further outward than the pin


def _scotch_yoke_surfaces(q0, q1, pin, m):
    """Return outer track, inner track, and the end of the slot if the pin has left the arc."""
    x, y = pin[0] - q0, pin[1]
    distance = math.sqrt(x * x + y * y)
    nx, ny = x / distance, y / distance
    outward_speed = nx * pin[2] + ny * pin[3]
    # Surfaces that the pin cannot touch at this position get a positive distance.
    outer = inner = end = -m.pin
    ex = along = 0.0
    if -nx >= m.arc_cos:
        outer, inner = distance + m.pin - m.outer, m.inner + m.pin - distance
    else:
        x, y = x + m.rod * m.arc_cos, y - (m.rod * m.arc_sin if y > 0.0 else -m.rod * m.arc_sin)
        distance = math.sqrt(x * x + y * y)
        if distance > 0.0:
            ex, along = x / distance, (x * pin[2] + y * pin[3]) / distance
        end = distance + m.pin - m.end
    return (
        (outer, -nx, 0.0, outward_speed, 0.0, 0.0, 0.0),
        (inner, nx, 0.0, -outward_speed, 0.0, 0.0, 0.0),
        (end, -ex, 0.0, along, 0.0, 0.0, 0.0),
    )


def _scotch_yoke_applied(q0, q1, pin, m):
    """Return no applied force."""
    return 0.0, 0.0


def _scotch_yoke_energy(q0, q1, v0, v1, pin, m):
    """Return the kinetic energy of the slider."""
    return 0.5 * m.slider_mass * v0 * v0


def _scotch_yoke_power(q0, q1, v0, v1, a0, a1, pin, m):
    """Return no power at the pin, which has no mass."""
    return 0.0


def _scotch_yoke_joint(q0, q1, pin, m):
    """Return the centre of the pin relative to the nearest point of the slot's centre line."""
    x, y = pin[0] - q0, pin[1]
    beyond = 1.0 - m.rod / math.sqrt(x * x + y * y)
    return beyond * x, beyond * y


SCOTCH_YOKE = Linkage(
    _scotch_yoke_surfaces,
    _scotch_yoke_applied,
    _scotch_yoke_energy,
    _scotch_yoke_power,
    _scotch_yoke_joint,
    3,
)


# --------------------------------------------------------------------------------------------------
# Motion without clearance


class Ideal(NamedTuple):
    """Motion without clearance at a crank angle.

    Position, velocity, and acceleration are those of the slider. The angle and angular speed are
    those of the rod, or of the line from the pin to the centre of the slot's arc.
    """

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    rod_angle: np.ndarray
    rod_speed: np.ndarray


def ideal(angle: np.ndarray | float, m: Dimensions) -> Ideal:
    """Return the motion without clearance: x = r cos(t) + s, s = sqrt(l^2 - r^2 sin^2(t)).

    The rod has the length l, which is the radius of a curved slot.

    Parameters
    ----------
    angle : float or array
        Crank angle [rad].
    m : Dimensions
    """
    t = np.asarray(angle, dtype=float)
    r, l, w = m.crank, m.rod, m.speed
    sine, cosine = np.sin(t), np.cos(t)
    s = np.sqrt(l * l - r * r * sine * sine)
    first = -r * r * sine * cosine / s
    second = -(r * r * (cosine * cosine - sine * sine) + first * first) / s
    return Ideal(
        r * cosine + s,
        w * (first - r * sine),
        w * w * (second - r * cosine),
        np.arctan2(-r * sine, s),
        -w * r * cosine / s,
    )
