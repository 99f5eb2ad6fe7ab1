"""Which laws stand for which: laws made of the same functions share one compiled loop, and one of
them tests it; and what changes of their
inputs lead through their other branches."""

import os
from dataclasses import replace

import pytest

from granchain.certificates import example_inputs
from granchain.contact import laws
from granchain.engine.contact_step import features_of
from granchain.engine.recording import Recording

# Numba compiles nothing here: the pass that counts lines.
PLAIN_HERE = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
# Of what shows nothing more when compiled: each loop has the bits of plain Python, test_pinned.py.
PLAIN_ALONE = pytest.mark.skipif(
    not PLAIN_HERE, reason="run as plain Python, by make test-plain: compiled it shows nothing more"
)
# Of their shape, those whose loops other tests need too, and no integral for each force.
FIRST = ("ma-liu", "hertz", "tsuji", "flores")
# Of a shape of their own, and as long to compile as three others: the plain and the long run.
LATER = (
    "jackson-green", "kelvin-voigt", "kogut-etsion", "lee-wang-transition", "wang-liu-hysteretic",
)  # fmt: skip


def functions(name, changes):
    """Identity of all that the loop is compiled from, for a law at these example inputs."""
    law = laws()[name]
    return tuple(id(function) for function in law.model(example_inputs(law, **changes)).functions)


def distinct_laws():
    """One law for each set of functions, by name."""
    seen = {}
    for name in laws():
        seen.setdefault(functions(name, {}), name)
    return sorted(seen.values())


def one_per_shape():
    """One law for each shape of the loop: the short run has no time for the others, which run as
    plain Python and in the long run.

    How many coefficients and histories there are is no shape.
    """
    seen = {}
    for name in (*FIRST, *distinct_laws()):
        features = features_of(laws()[name].model(example_inputs(laws()[name])), Recording())
        seen.setdefault(
            replace(features, n_coefficients=0, n_history=0, lowest=min(features.lowest, 0)), name
        )
    return sorted(set(seen.values()) - set(LATER))


def every_law(near=None):
    """Laws as parameters: these, by default one of each kind, at once, others in the long run."""
    near = distinct_laws() if near is None else near
    return [pytest.param(name, marks=() if name in near else pytest.mark.long) for name in laws()]


def each_loop(near):
    """One law for each loop as parameters: these at once, the others in the long run."""
    names = sorted({*near, *distinct_laws()})
    return [pytest.param(name, marks=() if name in near else pytest.mark.long) for name in names]


def alternatives(law):
    """Changes of the example inputs, one word or switch at a time, that lead through a law's
    other branches; the first changes nothing."""
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
            # a tenth of the striker's speed: some contacts close faster and some slower, and the
            # damping of those allows a usual time step
            found.append({quantity.name: "onset", "impact_speed_floor": 0.18})
    return found
