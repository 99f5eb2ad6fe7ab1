"""The geometry of the mechanisms: plain functions of the free coordinates and of the crank pin's
given motion.

Coordinate 0 is the slider's position, coordinate 1, where there is one, the angle of the rod. A
surface of the joint is a tuple

    overlap [m], its derivatives by the two coordinates, its change by the pin's motion alone [m/s],
    the derivatives of the slip by the two velocities, the slip by the pin's motion alone [m/s],

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
    """The functions of a mechanism; `m` is its `Dimensions`, `pin` what `pin_at` returns.

    Parameters
    ----------
    surfaces : callable
        (q0, q1, pin, m) -> a tuple of surfaces.
    applied : callable
        (q0, q1, pin, m) -> forces on the coordinates beside those of the contacts.
    energy : callable
        (q0, q1, v0, v1, pin, m) -> kinetic energy of all that the crank moves [J].
    power : callable
        (q0, q1, v0, v1, a0, a1, pin, m) -> power of the crank into it beside that through the
        contacts [W].
    joint : callable
        (q0, q1, pin, m) -> place of one of the joint's centres, seen from the other [m].
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
    """Of a mechanism; the loop takes them as they are. What a mechanism has not is 0.

    Parameters
    ----------
    crank, speed, start : float
        Length [m], angular speed [rad/s] and angle at the start [rad] of the crank.
    rod, centre, rod_mass, rod_inertia : float
        Length [m], distance of the mass centre from the crank pin [m], mass [kg] and moment of
        inertia about the crank pin [kg m2].
    slider_mass : float
        [kg].
    clearance, journal : float
        Of a revolute joint [m].
    outer, inner, end, pin : float
        Radii of a slot's tracks and of its ends, and of the pin [m].
    arc_cos, arc_sin : float
        Of half the slot's arc.
    friction, slip_begin, slip_full : float
        See `rubbing`.
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
    """Place, velocity and acceleration of the crank pin, as x, y, x, y, x, y."""
    angle = m.start + m.speed * t
    x, y = m.crank * math.cos(angle), m.crank * math.sin(angle)
    return x, y, -m.speed * y, m.speed * x, -m.speed * m.speed * x, -m.speed * m.speed * y


def rubbing(slip, m):
    """Modified Coulomb friction as a part of the normal force, with the sign of the slip: it rises
    from 0 to the whole between two slips.

    Wang, Liu & Liu 2022, sec. 5.1, doi:10.1016/j.ijmecsci.2022.107214, name the model and print no
    formula; here it rises linearly.
    """
    part = (abs(slip) - m.slip_begin) / (m.slip_full - m.slip_begin)
    part = part if part > 0.0 else 0.0
    part = part if part < 1.0 else 1.0
    return m.friction * (part if slip > 0.0 else -part)


# --------------------------------------------------------------------------------------------------
# Slider-crank: the journal at the rod's end in the slider's bearing


def _slider_crank_surfaces(q0, q1, pin, m):
    cosine, sine = math.cos(q1), math.sin(q1)
    x, y = pin[0] + m.rod * cosine - q0, pin[1] + m.rod * sine
    distance = math.sqrt(x * x + y * y)
    # concentric: no direction, and no contact
    nx, ny = (x / distance, y / distance) if distance > 0.0 else (1.0, 0.0)
    tx, ty = -ny, nx
    return (
        (
            distance - m.clearance,
            -nx,
            m.rod * (cosine * ny - sine * nx),
            pin[2] * nx + pin[3] * ny,
            -tx,
            # the journal turns with the rod
            m.rod * (cosine * ty - sine * tx) + m.journal,
            pin[2] * tx + pin[3] * ty,
        ),
    )


def _slider_crank_applied(q0, q1, pin, m):
    """The rod is carried along by the crank pin."""
    return 0.0, -m.rod_mass * m.centre * (math.cos(q1) * pin[5] - math.sin(q1) * pin[4])


def _slider_crank_energy(q0, q1, v0, v1, pin, m):
    across = math.cos(q1) * pin[3] - math.sin(q1) * pin[2]
    rod = (
        0.5 * m.rod_mass * (pin[2] * pin[2] + pin[3] * pin[3])
        + m.rod_mass * m.centre * v1 * across
        + 0.5 * m.rod_inertia * v1 * v1
    )
    return 0.5 * m.slider_mass * v0 * v0 + rod


def _slider_crank_power(q0, q1, v0, v1, a0, a1, pin, m):
    """The pin's velocity times the rod's mass times the acceleration of its centre."""
    cosine, sine = math.cos(q1), math.sin(q1)
    x = pin[4] - m.centre * (a1 * sine + v1 * v1 * cosine)
    y = pin[5] + m.centre * (a1 * cosine - v1 * v1 * sine)
    return m.rod_mass * (pin[2] * x + pin[3] * y)


def _slider_crank_joint(q0, q1, pin, m):
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
# Scotch yoke: the crank pin in the slider's slot; coordinate 0 is the centre of its arc, which lies
# outward of the pin


def _scotch_yoke_surfaces(q0, q1, pin, m):
    """Outer track, inner track, and the ends, where the pin has left the arc."""
    x, y = pin[0] - q0, pin[1]
    distance = math.sqrt(x * x + y * y)
    nx, ny = x / distance, y / distance
    away = nx * pin[2] + ny * pin[3]
    # far from a surface that is not met there
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
        (outer, -nx, 0.0, away, 0.0, 0.0, 0.0),
        (inner, nx, 0.0, -away, 0.0, 0.0, 0.0),
        (end, -ex, 0.0, along, 0.0, 0.0, 0.0),
    )


def _scotch_yoke_applied(q0, q1, pin, m):
    return 0.0, 0.0


def _scotch_yoke_energy(q0, q1, v0, v1, pin, m):
    return 0.5 * m.slider_mass * v0 * v0


def _scotch_yoke_power(q0, q1, v0, v1, a0, a1, pin, m):
    return 0.0


def _scotch_yoke_joint(q0, q1, pin, m):
    """The pin's centre, seen from the nearest place on the slot's centre line."""
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
# Without play


class Ideal(NamedTuple):
    """Motion without play at a crank angle: of the slider, and the angle and angular speed of the
    rod, or of the line from the pin to the
    centre of the slot's arc."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    rod_angle: np.ndarray
    rod_speed: np.ndarray


def ideal(angle: np.ndarray | float, m: Dimensions) -> Ideal:
    """The motion without play: x = r cos(t) + s, s = sqrt(l^2 - r^2 sin^2(t)), a rod of length l; a
    curved slot is one of its radius.

    Parameters
    ----------
    angle : float or array
        Of the crank [rad].
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
