"""Setup of a mechanism's run: dimensions, the contacts of the joint, and the time step."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.chain import Masses
from granchain.contact import law_named
from granchain.contact.pair import Pair
from granchain.engine.mixture import with_copies
from granchain.engine.setup import Contacts, coefficients, start_histories, with_restitutions
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.errors import CaseError, LawError
from granchain.material import Material
from granchain.mechanisms.case import (
    MechanismCase,
    PowerTable,
    ScotchYokeCase,
    SliderCrankCase,
)
from granchain.mechanisms.elastic import damped
from granchain.mechanisms.linkages import Dimensions

# Crank length, as a fraction of the length at which the pin, pressed into the inner track, leaves
# the arc. Above this fraction, the ends of the slot are included.
NEAR_THE_END = 0.99


class Surface(NamedTuple):
    """One surface of a joint.

    Parameters
    ----------
    pair : Pair
        The two bodies in contact.
    contact : str
        "internal" if the second body is inside the first one, else "external".
    power : PowerTable, optional
        Fit to the law.
    """

    pair: Pair
    contact: str
    power: PowerTable | None


def dimensions_of(case: MechanismCase) -> Dimensions:
    """Return the dimensions of a mechanism."""
    crank = {"crank": case.crank.length, "speed": case.crank.speed, "start": case.crank.start}
    if isinstance(case, SliderCrankCase):
        rod, friction = case.rod, case.friction
        centre = 0.5 * rod.length if rod.centre is None else rod.centre
        friction_values = (
            {}
            if friction is None
            else {
                "friction": friction.coefficient,
                "slip_begin": friction.slip_begin,
                "slip_full": friction.slip_full,
            }
        )
        return Dimensions(
            **crank,
            slider_mass=case.slider.mass,
            rod=rod.length,
            centre=centre,
            rod_mass=rod.mass,
            rod_inertia=rod.inertia + rod.mass * centre * centre,
            clearance=case.clearance,
            journal=case.joint.journal_radius,
            **friction_values,
        )
    assert isinstance(case, ScotchYokeCase)
    slot = case.slot
    return Dimensions(
        **crank,
        slider_mass=case.slider.mass,
        rod=case.rod_length,
        clearance=case.clearance,
        outer=slot.outer_radius,
        inner=slot.inner_radius,
        end=0.5 * (slot.outer_radius - slot.inner_radius),
        pin=case.pin.radius,
        arc_cos=math.cos(0.5 * slot.arc),
        arc_sin=math.sin(0.5 * slot.arc),
    )


def pair_of_surfaces(
    radius_1: float,
    radius_2: float,
    internal: bool,
    materials: tuple[Material, Material],
    mass: float,
    length: float | None,
) -> Pair:
    """Return two bodies of a joint; body 2 is inside body 1 if the contact is internal.

    `mass` is the effective mass [kg].
    """
    # Spheres supply the effective properties of different materials.
    spheres = Pair.of_spheres(radius_1, materials[0], radius_2, materials[1])
    difference = radius_1 - radius_2 if internal else radius_1 + radius_2
    effective = {"effective_radius": radius_1 * radius_2 / difference, "effective_mass": mass}
    return Pair(**spheres.items() | effective, length=length)


def surfaces_of(case: MechanismCase) -> tuple[Surface, ...]:
    """Return the surfaces of a mechanism's joint, in the order of its geometry."""
    touched: list[tuple[float, bool, PowerTable | None]]
    if isinstance(case, SliderCrankCase):
        joint = case.joint
        radius, length = joint.journal_radius, joint.length
        materials = (joint.bearing_material, joint.journal_material)
        touched = [(joint.bearing_radius, True, None)]
    else:
        assert isinstance(case, ScotchYokeCase)
        slot = case.slot
        fit: Any = case.fit()
        radius, length = case.pin.radius, slot.length
        materials = (slot.material, case.pin.material)
        touched = [
            (slot.outer_radius, True, fit and fit.outer),
            (slot.inner_radius, False, fit and fit.inner),
            (0.5 * (slot.outer_radius - slot.inner_radius), True, fit and fit.end),
        ]
    mass = case.slider.mass
    return tuple(
        Surface(
            pair_of_surfaces(outer, radius, internal, materials, mass, length),
            "internal" if internal else "external",
            power,
        )
        for outer, internal, power in touched
    )


def contacts_of_joint(case: MechanismCase) -> Contacts:
    """Return the contacts of a mechanism's joint, one column of coefficients per surface.

    Raises
    ------
    CaseError
        If the law does not fit the joint.
    """
    surfaces, dimensions = surfaces_of(case), dimensions_of(case)
    # No law is valid beyond the radius of the smaller body.
    limit = dimensions.journal or dimensions.pin
    limits = np.full(1, limit)
    try:
        made = [_contact(case, surface, limits) for surface in surfaces]
    except LawError as error:
        raise CaseError(str(error)) from None
    model = made[0][0]
    c = np.hstack([column for _, column in made])
    if case.force.alpha > 0.0:
        if model.uses_rate:
            raise CaseError(
                f'force.alpha: {case.force.alpha:g} s/m is out of range. With "{model.name}", '
                "which already has damping, it must be 0. Remove it, or choose a law without "
                "damping."
            )
        model, c = damped(model, c, case.force.alpha)
        model = with_copies(model)
    history = start_histories(model, c, *np.zeros((2, c.shape[1])))
    return Contacts(model, c, np.zeros(c.shape[1]), np.full(c.shape[1], limit), history)


def _contact(case: MechanismCase, surface: Surface, limits: np.ndarray) -> tuple:
    """Return the model and the coefficients of one surface."""
    law, inputs = law_named(case.contact.law), case.law_inputs()
    if case.force.form == "fitted" and surface.power is not None:
        # From N/mm^n, as published in Autiero et al. 2022, sec. 4, doi:10.3390/machines10110966.
        exponent = surface.power.exponent
        stiffness = surface.power.stiffness * 1000.0**exponent
        law = law_named("power")
        inputs = SimpleNamespace(stiffness=stiffness, exponent=exponent, restitution=1.0)
    if any(quantity.name == "contact" for quantity in law.inputs):
        inputs.contact = surface.contact
    if any(quantity.name == "clearance" for quantity in law.inputs):
        inputs.clearance = None
    # The impact speed is about the speed of the pin.
    fastest = np.array([case.crank.length * case.crank.speed or abs(case.start.slider_velocity)])
    (inputs,) = with_restitutions([(inputs, surface.pair, limits, fastest)])
    model = with_copies(law.model(inputs))
    return model, coefficients(model, surface.pair, inputs, limits)


def step_of_mechanism(case: MechanismCase, contacts: Contacts) -> TimeStep:
    """Return the time step: the smallest that any surface requires.

    The step is for the lightest body that the surface can push, at the speed of the pin.

    Raises
    ------
    CaseError
        If the step is above the stability limit.
    """
    m = dimensions_of(case)
    inverse = 1.0 / m.slider_mass + (m.rod * m.rod / m.rod_inertia if m.rod_inertia else 0.0)
    # The speed of the lightest body if it had all energy of the slider.
    speed = (m.crank * m.speed + abs(case.start.slider_velocity)) * math.sqrt(
        m.slider_mass * inverse
    )
    # Two equal bodies with twice the effective mass represent each surface in turn.
    bodies = Masses(
        mass=np.full(2, 2.0 / inverse),
        velocity=np.array([0.5 * speed, -0.5 * speed]),
        gap=np.zeros(1),
    )
    steps, touchable = [], [0]
    if isinstance(case, ScotchYokeCase):
        # The pin can touch the ends of a slot only if the crank brings it near them.
        nearest = (case.slot.inner_radius + case.pin.radius) * math.sin(0.5 * case.slot.arc)
        touchable = [0, 1, 2] if case.crank.length > NEAR_THE_END * nearest else [0, 1]
    for k in touchable:
        column = np.repeat(contacts.c[:, k : k + 1], 3, axis=1)
        alone = replace(
            contacts, c=column, overlaps=np.zeros(3), limits=np.full(3, contacts.limits[k])
        )
        steps.append(time_step_of(alone, bodies, case.time.step, case.end, case.time.force_step))
    chosen = min(steps, key=lambda step: step.value)
    return replace(chosen, limit=min(step.limit for step in steps))
