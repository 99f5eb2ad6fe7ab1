"""A small answer of each class, and a small study of each kind."""

import doctest
import functools
from pathlib import Path

import numpy as np

import granchain as gc
from granchain.measured.about import about_of
from granchain.measured.sensor import Sensor
from granchain.store import Answer

SMALL = {"chain.beads": 8, "sensors.beads": [3, 5], "sensors.contacts": [], "snapshots": None}
SMALL |= {"time.end": 1e-4, "contact": {"law": "hertz"}}

PRESSED = {"chain.precompression": 20.0}
RESONATOR = {"chain.resonator": {"mass": 1e-4, "stiffness": 4e6}}
DATA = Path(__file__).parents[2] / "data"


def small(**changes):
    return gc.load_case("steel-chain").replace(SMALL | changes)


def recorded(case):
    """Return a trace of the forces of a run, with a baseline before them."""
    _, force = Sensor(interval=1e-6).read(*(gc.run(case)[n] for n in ("time", "sensor_force")))
    force = np.vstack([np.zeros((30, force.shape[1])), force])
    force += 0.05 * np.random.default_rng(1).standard_normal(force.shape)
    about = about_of({"title": "rig", "kind": "synthetic", "sensor": {"high_pass": 50.0}}, "here")
    time = 1e-6 * np.arange(len(force))
    return gc.Trace(time=time, force=force, beads=case.sensors.beads, about=about)


def comparison():
    """Return a comparison of two results, one with bands, with a tolerance that is exceeded."""
    results = [
        gc.run(small()),
        gc.run(small(**{"contact.law": "flores", "contact.restitution": 0.8})),
    ]
    trace = recorded(small(**{"striker.speed": 1.8}))
    bands = {"striker.speed": 0.02}
    return gc.compare(*results, trace=trace, tolerances={"peak": 1e-3}, bands=bands, members=4)


def fitted(**laws):
    """Return a fit, or a ranking of the fits of several laws."""
    start = small(**{"striker.speed": 1.7})
    return gc.fit(start, recorded(small()), ["striker.speed"], laws=laws or None)


def sum_of_radii(result):
    return float(result.radius.sum())


LIMITS = [("peak", 0.0, 1e3), (sum_of_radii, 0.0, 1.0)]


def of_docstring(kind):
    """Return the answer that the example in the docstring of its class computes."""
    namespace = {}
    exec(doctest.script_from_examples(kind.__doc__), namespace)
    return next(value for value in namespace.values() if type(value) is kind)


PUBLIC = [getattr(gc, name) for name in gc.__all__]
CLASSES = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, Answer)]
# Small answers, by default those of the docstrings. A study is a dataset of xarray.
ANSWERS = {kind.__name__: functools.partial(of_docstring, kind) for kind in CLASSES}
ANSWERS |= {
    "ImpactResult": lambda: gc.impact(
        law="flores", speed=1.0, restitution={"law": "ma-liu", "psi": 2.84, "xi": 13.0}
    ),
    "Result": lambda: gc.run(small()),
    "Result of a mechanism": lambda: gc.run_mechanism(
        gc.load_mechanism("slider-crank", ["time.revolutions=0.05"])
    ),
    "Ensemble": lambda: gc.run_many([small(), small(**{"striker.speed": 1.0})]),
    "Fit": fitted,
    "Ranking": lambda: fitted(**{"hertz": [], "ma-liu": {"psi": 2.84, "xi": 13.0}}),
    "Verification": lambda: gc.verify(small()),
    "Dispersion": lambda: gc.dispersion(small(**PRESSED, **RESONATOR)),
    "Comparison": comparison,
    "ImpactComparison": lambda: gc.compare_impacts("hertz", DATA / "gugan-croquet"),
    "Modes": lambda: gc.modes(small(**PRESSED), cell=small(**PRESSED)),
    "Gradient": lambda: gc.gradient(small(), "peak", ["striker.speed", "chain.radius_factor"]),
    "Certificate": lambda: gc.certificate("tsuji"),
    "Optimum": lambda: gc.optimize(
        small(), "peak", {"striker.speed": (1.0, 2.0)}, LIMITS, generations=0, progress=False
    ),
}
STUDIES = {
    "bands": lambda: gc.bands(small(), {"striker.speed": 0.02}, n=8, sensitivity=True),
    "impacts": lambda: gc.impacts(
        ["hertz", "flores"], None, {"speed": [1.0, 2.0]}, restitution=0.8
    ),
    "mode_study": lambda: gc.mode_study(
        small(**{"chain.precompression": 10.0, "striker": None}),
        {"chain.radius": gc.disorder(gc.normal(1.0, 0.02))},
        n=2,
    ),
    "sweep": lambda: gc.sweep(
        small(), {"striker.speed": [1.0, 2.0], "chain.radius": gc.normal(2e-3, 1e-5)}, n=2
    ),
}
answer_of = functools.cache(lambda name: ANSWERS[name]())
