"""Selections of laws for tests.

Laws with the same functions share one compiled loop, and one of these laws tests it. Also changes
of the inputs that select other branches of a law."""

import os
from dataclasses import replace

import pytest

from granchain.certificates import example_inputs
from granchain.contact import laws
from granchain.engine.contact_step import features_of
from granchain.engine.recording import Recording

# The run that counts lines, in which Numba compiles nothing.
PLAIN_HERE = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
# Laws whose compiled loop shows nothing new, because test_pinned.py compares each loop with plain
# Python.
PLAIN_ALONE = pytest.mark.skipif(
    not PLAIN_HERE, reason="run as plain Python, by make test-plain: compiled it shows nothing more"
)
# One law for each shape of the loop: other tests need these loops too, and their force needs no
# integral.
FIRST = ("ma-liu", "hertz", "tsuji", "flores")
# Laws with a separate shape that takes as long to compile as three others. They run as plain Python
# and in the long run.
LATER = (
    "jackson-green", "kelvin-voigt", "kogut-etsion", "lee-wang-transition", "wang-liu-hysteretic",
)  # fmt: skip


def functions(name, changes):
    """Return the identity of everything that the loop of a law is compiled from, at these
    inputs."""
    law = laws()[name]
    return tuple(id(function) for function in law.model(example_inputs(law, **changes)).functions)


def distinct_laws():
    """Return one law for each set of functions, by name."""
    seen = {}
    for name in laws():
        seen.setdefault(functions(name, {}), name)
    return sorted(seen.values())


def one_per_shape():
    """Return one law for each shape of the loop.

    The short run has no time for the other laws, which run as plain Python and in the long run. The
    numbers of coefficients and history quantities do not matter for the shape.
    """
    seen = {}
    for name in (*FIRST, *distinct_laws()):
        features = features_of(laws()[name].model(example_inputs(laws()[name])), Recording())
        seen.setdefault(
            replace(features, n_coefficients=0, n_history=0, lowest=min(features.lowest, 0)), name
        )
    return sorted(set(seen.values()) - set(LATER))


def every_law(near=None):
    """Return laws as parameters; by default one of each kind, and the others only in the long
    run."""
    near = distinct_laws() if near is None else near
    return [pytest.param(name, marks=() if name in near else pytest.mark.long) for name in laws()]


def each_loop(near):
    """Return one law for each loop as parameters; the others only in the long run."""
    names = sorted({*near, *distinct_laws()})
    return [pytest.param(name, marks=() if name in near else pytest.mark.long) for name in names]


def alternatives(law):
    """Return changes of the example inputs that select other branches of a law.

    Each change sets one word or switch. The first change is empty.
    """
    found = [{}]
    names = {quantity.name for quantity in law.inputs}
    for quantity in law.inputs:
        if quantity.kind == "switch":
            found.append({quantity.name: not quantity.default})
        elif quantity.kind == "word":
            found.extend(
                {quantity.name: word} for word in quantity.choices if word != quantity.default
            )
        elif "onset" in quantity.choices and "impact_speed_floor" in names:
            # a tenth of the striker speed: some contacts close faster and some slower, and the
            # damping of the slower ones permits a usual time step
            found.append({quantity.name: "onset", "impact_speed_floor": 0.18})
    return found
