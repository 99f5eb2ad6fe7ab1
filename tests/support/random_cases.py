"""Random cases of every law: chains, strikers, inputs, and sampling intervals, from a seed."""

import math
from dataclasses import asdict, replace

import numpy as np

from granchain import theory
from granchain.case import Case
from granchain.certificates import example_inputs
from granchain.contact import laws
from granchain.errors import CaseError, LawError
from granchain.material import MATERIALS
from granchain.simulation import prepare

# Hardness 2.8 yield stresses: Kogut & Etsion 2002, doi:10.1115/1.1490373.
STEEL = replace(MATERIALS["steel-316"], hardness=2.8 * 900e6)
# Inputs are drawn from a third of the example value to three times the value; pure numbers stay
# unchanged.
SPREAD = 3.0
# Maximum number of draws of a case that its law refuses, for example because of its restitution.
TRIES = 50


def kind_of(law):
    """Return the file of a law, which contains laws of one kind."""
    return laws()[law].__module__.rpartition(".")[2]


def jumps(case):
    """Return whether the force of a law jumps, inside a contact or at the onset with a nonzero
    rate."""
    contacts = prepare(case)[1]
    model, c = contacts.model, tuple(contacts.c[:, 1].tolist())
    law = model.functions
    if model.jumps_inside:
        return True
    if not model.uses_rate:
        return False
    # a contact that has just closed at 1 m/s: the force at nearly zero overlap, and at 1 um
    h = law.update((1e-12, 1.0, 1.0, 1.0), c, law.history_of(c)) if model.history else ()
    return bool(law.force(1e-30, 1.0, c, h) > 1e-3 * law.force(1e-6, 1.0, c, h))


def random_cases(count, seed, names=(), beads=(8, 25), bare=False):
    """Return a number of cases, with the laws in turn, by default all laws.

    `bare` chains carry no load. Inputs that are words have their defaults. The striker has 0.05 to
    10 m/s, and a third to three times the mass of a bead of 1.5 to 6 mm. A quarter of the chains
    have gaps, and a fifth of the others a load. One sensor is in the first three beads, and three
    are in other beads; they are sampled every 0.2 to 4 us. A quarter uses the fast step.
    """
    draw, order = np.random.default_rng(seed), []
    for _ in range(count):
        order = order or draw.permutation(sorted(names or laws())).tolist()
        name = order.pop()
        for _ in range(TRIES):
            try:
                case = drawn_case(name, draw, beads, bare)
                prepare(case)
                break
            except (CaseError, LawError):
                continue
        else:
            raise AssertionError(f"{name}: no case in {TRIES} draws")
        yield case


def drawn_case(law, draw, beads, bare):
    """Return a case of one law, which the law may still refuse."""
    count, radius, speed = (
        int(draw.integers(beads[0], beads[1] + 1)),
        between(draw, 1.5e-3, 6e-3),
        between(draw, 0.05, 10.0),
    )
    mass = STEEL.density * 4.0 / 3.0 * math.pi * radius**3
    gap = between(draw, 1e-7, 2e-6) if draw.random() < 0.25 else 0.0
    load = between(draw, 1.0, 50.0) if draw.random() < 0.2 and not gap and not bare else 0.0
    # 1 to 2.5 times the time through the chain: of the Hertz wave, or of flying beads with gaps
    pace = theory.equal_striker(
        theory.hertz_stiffness(0.5 / STEEL.compliance, 0.5 * radius), mass, speed
    ).wave_speed
    near = int(draw.integers(1, 4))
    others = [bead for bead in range(1, count + 1) if bead != near]
    far = draw.choice(others, 3, replace=False).tolist()
    contact = {"law": law, **drawn_inputs(law, draw, bare)}
    if contact.get("impact_speed") == "onset":
        contact["impact_speed_floor"] = speed * draw.uniform(0.02, 0.2)
    same = {"beads": count, "radius": radius, "mass": mass}
    return Case(
        chain=same | {"material": asdict(STEEL), "gap": gap, "precompression": load},
        striker={"speed": speed, "mass": mass * between(draw, 1.0 / SPREAD, SPREAD)},
        ends={"right": "wall" if load or draw.random() < 0.5 else "free"},
        contact=contact,
        sensors={"beads": sorted([near, *far]), "interval": draw.uniform(0.2e-6, 4e-6)},
        time={
            "end": draw.uniform(1.2, 2.5) * count * (1.0 / pace + gap / speed),
            "step": "fast" if draw.random() < 0.25 else "auto",
        },
    )


def drawn_inputs(name, draw, bare):
    """Return a value for each input of a law that does not stay at its default."""
    law = laws()[name]
    examples = vars(example_inputs(law))
    found = {
        quantity.name: drawn_input(quantity, examples[quantity.name], draw, bare)
        for quantity in law.inputs
    }
    return {name: value for name, value in found.items() if value is not None}


def drawn_input(quantity, example, draw, bare):
    """Return a value of one input, or None; no law runs as published, because it may create
    energy."""
    if quantity.kind == "switch":
        return None
    if quantity.name == "restitution":
        return draw.uniform(0.05, 0.98)
    if quantity.kind == "word" or quantity.name == "impact_speed":
        return None if bare else str(draw.choice(quantity.choices))
    if example is None or quantity.unit == "1":
        return example
    value = example * between(draw, 1.0 / SPREAD, SPREAD)
    return value if quantity.problem(value) is None else example


def between(draw, low, high):
    """Return a number between two numbers, with a uniformly distributed logarithm."""
    return float(np.exp(draw.uniform(math.log(low), math.log(high))))
