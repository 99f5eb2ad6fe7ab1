"""A small answer for every figure. Most are invented, because figures read labels only."""

from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import xarray as xr

import granchain as gc
from granchain import figures
from granchain.figures.catalogue import ANSWER_FIGURES
from granchain.figures.style import RUN_FIGURES
from granchain.measured.sensor import Sensor
from granchain.status import Status
from granchain.two_body import ImpactResult

from .answers import answer_of
from .synthetic import synthetic

BEADS = np.array([3, 8, 13])


def turning(law="johnson"):
    """Return two revolutions of the result of a mechanism."""
    angle = np.linspace(0.0, 4.0 * np.pi, 801)
    wave, load = np.sin(angle), np.maximum(-np.cos(angle), 0.0)
    names = {"crank_angle": angle, "time": angle, "contact_force": load}
    names |= {f"slider_{name}": wave for name in ("position", "velocity", "acceleration")}
    names |= {"ideal_acceleration": 0.1 * wave, "joint_x": wave, "joint_y": np.cos(angle)}
    run = {"title": "crank", "status": Status.COMPLETE, "time_step": 1e-6, "case": None}
    return SimpleNamespace(variables=names, law=law, **run, **names)


def a_study(count=14):
    """Return a study like `granchain.sweep`: speeds over two decades, radii, draws, three
    sensors."""
    dims = ("striker.speed", "chain.radius", "draw", "sensor_bead")
    values = np.random.default_rng(0).uniform(1.0, 2.0, (count, 12, 20, 3))
    radii = ("chain.radius", np.linspace(1e-3, 2e-3, 12), {"units": "m"})
    speeds = ("striker.speed", np.geomspace(0.1, 10.0, count), {"units": "m/s"})
    return xr.Dataset(
        {"peak": (dims, values, {"units": "N"}), "wave_speed": (dims[:3], values[..., 0])},
        coords={dims[0]: speeds, dims[1]: radii, "sensor_bead": BEADS},
        attrs={"law": "hertz", "title": "a study"},
    )


def impacts_of_laws(laws=("ma-liu", "flores")):
    """Return a study like `granchain.impacts`: a restitution for each law and speed."""
    speeds = np.geomspace(0.1, 10.0, 5)
    values = np.linspace(0.9, 0.5, 5 * len(laws)).reshape(len(laws), 5)
    speed = ("speed", speeds, {"units": "m/s"})
    attrs = {"law": ", ".join(laws), "title": "impacts", "granchain_study": "impacts"}
    restitution = {"delivered_restitution": (("law", "speed"), values)}
    return xr.Dataset(restitution, {"law": list(laws), "speed": speed}, attrs)


def some_bands():
    """Return bands like `granchain.bands`, with sensitivities to two keys."""
    time, quantiles = np.arange(100) * 1e-6, np.array([0.025, 0.25, 0.5, 0.75, 0.975])
    arrival = np.array([30e-6, 50e-6, 70e-6])
    pulse = np.exp(-(((time[:, None] - arrival) / 5e-6) ** 2)) * [40.0, 30.0, 20.0]
    spread = 1.0 + 0.1 * (quantiles - 0.5)
    indices = {
        f"{kind}_order{side}": (("key", "sensor_bead"), np.full((2, 3), value) * [[1.0], [0.5]])
        for kind in ("first", "total")
        for side, value in (("", 0.6), ("_low", 0.5), ("_high", 0.7))
    }
    return xr.Dataset(
        {
            "force": (("quantile", "time", "sensor_bead"), spread[:, None, None] * pulse),
            "nominal_force": (("time", "sensor_bead"), pulse),
            "nominal_peak": ("sensor_bead", pulse.max(axis=0)),
            "nominal_arrival": ("sensor_bead", arrival),
            "peak": (("quantile", "sensor_bead"), spread[:, None] * pulse.max(axis=0)),
            "arrival": (("quantile", "sensor_bead"), np.tile(arrival, (5, 1))),
            "relative_deviation": ("key", [0.01, 0.02]),
            **indices,
        },
        {"time": time, "quantile": quantiles, "key": ["contact.psi", "striker.speed"],
         "sensor_bead": BEADS},
        {"law": "ma-liu", "title": "bands", "status": "8 complete", "granchain_study": "bands"},
    )  # fmt: skip


def collision(law="ma-liu", speed=1.77, residual=4e-6):
    """Return an impact up to 10 um and 50 N that unloads along another line.

    The contact is open at the last sample.
    """
    overlap = 1e-6 * np.append(np.arange(11.0), np.arange(9.0, 1e6 * residual - 1.5, -1.0))
    back = np.maximum(50.0 * (overlap[11:] - residual) / (10e-6 - residual), 0.0)
    values = {name: 0.83906 for name in ImpactResult.labels if name.startswith("restitution")}
    values |= {"speed": speed, "residual_overlap": residual, "effective_mass": 1e-3}
    values |= {
        "time": np.arange(len(overlap)) * 1e-7,
        "overlap": overlap,
        "rate": np.linspace(speed, -0.83906 * speed, len(overlap)),
        "force": np.append(5.0 * np.arange(11.0), back),
    }
    return ImpactResult(values, law=law)


@cache
def a_comparison():
    """Return a comparison of two results with nine tenths of the forces of the first one."""
    results = synthetic(end=200e-6, law="ma-liu"), synthetic(end=200e-6, law="flores")
    _, force = Sensor(interval=1e-6).read(results[0].time, 0.9 * results[0].sensor_force)
    force = np.vstack([np.zeros((30, force.shape[1])), force])
    stated = {"title": "A trace", "kind": "measured", "sensor": {"cutoff": 2e5}}
    time = 1e-6 * np.arange(len(force))
    trace = gc.Trace(time=time, force=force, beads=results[0].sensor_bead, about=stated)
    return gc.compare(*results, trace=trace, members=0)


class Fitted(SimpleNamespace):
    """Fit of one key, with its variables as items and attributes."""

    def __getitem__(self, name):
        return getattr(self, name)


def a_fit(law="ma-liu", factor=1.0):
    """Return a fit of psi to three pulses."""
    time = np.arange(50) * 1e-6
    pulse = 20.0 * np.exp(-(((time - 25e-6) / 5e-6) ** 2))
    samples = [
        {"bead": bead, "time": time, "measured": pulse, "computed": factor * pulse}
        for bead in BEADS.tolist()
    ]
    peaks = {"measured": np.full(3, 20.0), "computed": np.full(3, 20.0 * factor)}
    about = SimpleNamespace(title="A trace", kind="measured", kind_text="measured")
    return Fitted(
        variables={"key": None}, law=law, measure="peaks", samples=samples, sensor_bead=BEADS,
        residuals=np.array([0.1, -0.2, 0.3]), values={"contact.psi": 2.84}, about=about,
        errors={"contact.psi": 0.01}, peak_error=np.full(3, 0.1),
        **{f"peak_{name}": values for name, values in peaks.items()},
    )  # fmt: skip


def impacts_compared():
    """Return measured and computed restitutions and diameters of two laws."""
    cases = [("restitution", "slow", 0.9), ("restitution", "fast", 0.7), ("diameter", "fast", 5e-4)]

    def row(computed, quantity, case, measured):
        more = {"uncertainty": 0.02 * measured, "use": "rank", "computed": computed * measured}
        return SimpleNamespace(quantity=quantity, case=case, measured=measured, **more)

    laws = {
        name: SimpleNamespace(law=name, rms=0.1, rows=[row(factor, *each) for each in cases])
        for name, factor in (("ma-liu", 1.05), ("thornton", 0.9))
    }
    units = {"restitution": "1", "diameter": "m"}
    variables = {f"{name}_measured": SimpleNamespace(unit=unit) for name, unit in units.items()}
    rows = [row(1.0, *each) for each in cases]
    named = {"title": "impacts", "who": "A. Author", "kind": "measured", "fit": None}
    return SimpleNamespace(laws=laws, rows=rows, variables=variables, **named)


@cache
def a_spectrum():
    """Return a spectrum of noise, with a map and the dispersion of a chain."""
    relation, draws = answer_of("Dispersion"), np.random.default_rng(1)
    frequency = np.linspace(0.0, 2e5, 200)
    inside = np.any([(frequency >= a) & (frequency <= b) for a, b in relation.band_edges], axis=0)
    edges, cells, q = relation.band_edges, frequency[::4], np.linspace(-np.pi, np.pi, 21)
    data = {
        "source": "left drive", "sensor": "bead 8", "unit": "1", "resolution": 1e3, "segments": 8,
        "measured": "velocity", "band": np.arange(len(edges)), "edge": ["low", "high"],
        "band_edges": edges, "band_edge_errors": 0.01 * edges, "predicted_band_edges": edges,
        "band_edge_reasons": np.full(edges.shape, "", dtype=object), "frequency": frequency,
        "transmission": np.where(inside, 1.0, 1e-3) * draws.uniform(0.5, 1.0, 200),
        "coherence": np.where(inside, 0.99, 0.1), "cell_frequency": cells,
        "cosine": np.zeros(len(cells), complex), "wavenumber": q,
        "power": draws.uniform(1e-4, 1.0, (len(cells), 21)),
    }  # fmt: skip
    case = {"law": "hertz", "title": "noise"}
    return gc.Spectrum(data, groups={"dispersion": relation}, **case)


def an_orbit():
    """Return a circle in the plane of displacement and velocity, for three beads."""
    phase = np.linspace(0.0, 2.0 * np.pi, 50)[:, None]
    amplitude = np.array([1.0, 2.0, 0.5])
    result = SimpleNamespace(
        displacement=1e-6 * np.cos(phase) * amplitude, velocity=1e-2 * np.sin(phase) * amplitude
    )
    multipliers = 0.8 * np.exp(1j * np.array([0.5, -0.5, 1.0, -1.0, 2.0, -2.0]))
    vectors = np.exp(1j * np.arange(36.0)).reshape(6, 6)
    return SimpleNamespace(
        bead=np.arange(1, 4), result=result, multipliers=multipliers, vectors=vectors,
        modulus_error=1e-6, displacement=result.displacement[0], velocity=result.velocity[0],
        stable=True, period=1e-4, largest_multiplier=multipliers[0], title="orbit", law="hertz",
    )  # fmt: skip


def a_branch():
    """Return orbits of two beads versus a frequency, with a fold."""
    points = [
        SimpleNamespace(
            excursion=np.array([1.0, 0.5]) * (1.0 + i) * 1e-6, parameter=2e4 + 1e3 * min(i, 8 - i),
            stable=i < 4, kind="fold" if i == 4 else "orbit", parameter_error=10.0, period=1e-4,
        )
        for i in range(9)
    ]  # fmt: skip
    case = SimpleNamespace(drives={"left": None})
    return SimpleNamespace(
        points=points, bead=np.array([1, 2]), along="ends.left.frequency", unit="Hz", case=case,
        title="branch", law="hertz", special=points[4:5],
    )  # fmt: skip


def moving():
    """Return a run between free ends, without a case."""
    result = synthetic()
    result._case = None
    return result


def laws(count, **same):
    """Return several equal results with different laws."""
    return [synthetic(law=f"law-{i}", **same) for i in range(count)]


# Small answers for every figure, by the name of the figure and its content. Default: the answer of
# a class, or a run.
DRAWABLE = {
    **{
        draw.__name__: lambda draw=draw, kind=kind: partial(draw, answer_of(kind))
        for kind, draw in ANSWER_FIGURES.items()
    },
    **{
        name: lambda draw=figure.draw: partial(draw, synthetic())
        for name, figure in RUN_FIGURES.items()
    },
    "force_traces": lambda: partial(figures.force_traces, *laws(3)),
    "peaks": lambda: partial(figures.peaks, *laws(2, sensors=(3, 5, 8, 13))),
    "hysteresis": lambda: partial(figures.hysteresis, synthetic(contacts=(2, 5, 9))),
    "hysteresis of laws": lambda: partial(figures.hysteresis, *laws(3)),
    "animation": lambda: partial(figures.animation, moving(), frames=2),
    "study_curves": lambda: partial(
        figures.study_curves, a_study(3), "peak", "sensor_bead", "striker.speed"
    ),
    "study_curves of laws": lambda: partial(
        figures.study_curves, impacts_of_laws(), "delivered_restitution", "speed", "law"
    ),
    "study_map": lambda: partial(
        figures.study_map, a_study(), "peak", "striker.speed", "chain.radius"
    ),
    "study_distribution": lambda: partial(figures.study_distribution, a_study(), "peak"),
    "band_traces": lambda: partial(figures.band_traces, some_bands()),
    "sensitivities": lambda: partial(figures.sensitivities, some_bands()),
    "comparison": lambda: partial(figures.comparison, a_comparison()),
    "fit": lambda: partial(figures.fit, a_fit()),
    "impact_comparison": lambda: partial(figures.impact_comparison, impacts_compared()),
    "spectrum": lambda: partial(figures.spectrum, a_spectrum()),
    "orbit": lambda: partial(figures.orbit, an_orbit()),
    "bifurcation": lambda: partial(figures.bifurcation, a_branch()),
    "impact_loops": lambda: partial(
        figures.impact_loops, *(collision(law) for law in ("ma-liu", "flores"))
    ),
    "restitution_against_speed": lambda: partial(
        figures.restitution_against_speed, impacts_of_laws()
    ),
    "slider_kinematics": lambda: partial(figures.slider_kinematics, turning(), turning("esdu")),
    "joint_orbit": lambda: partial(figures.joint_orbit, turning()),
    "joint_force": lambda: partial(figures.joint_force, turning(), turning("esdu")),
}
