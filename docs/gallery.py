"""Gallery: every figure that granchain plots, computed when the documentation is built, with its
code."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import find_peaks

import granchain as gc
from granchain import figures
from granchain.figures.style import SHEET, context_of, image_of

# Folder of a clone of the project.
DATA = Path(__file__).parents[1] / "data"


@cache
def steel_chain() -> gc.Result:
    """Run the built-in case once."""
    return gc.run(gc.load_case("steel-chain"))


@cache
def slider_crank() -> gc.Result:
    """Run the built-in mechanism once."""
    return gc.run_mechanism(gc.load_mechanism("slider-crank"))


@cache
def scotch_yokes() -> list[gc.Result]:
    """Run the built-in scotch yoke with the five laws of its source."""
    laws = ("johnson", "radzimovsky", "goldsmith", "esdu-78035", "lankarani-nikravesh-cylinder")
    return [
        gc.run_mechanism(gc.load_mechanism("scotch-yoke", [f"contact.law={law}"])) for law in laws
    ]


# Two beads of that chain: Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214; half
# the radius and mass, E/(2 (1 - nu^2)).
PAIR = gc.Pair(
    effective_radius=1.19e-3,
    effective_modulus=193e9 / (2 * (1 - 0.3**2)),
    effective_mass=0.225e-3,
    yield_stress=900e6,
)


def force_traces() -> Any:
    """Force at every sensor bead of the steel chain. `granchain plot` plots this figure."""
    return figures.force_traces(steel_chain())


def force_traces_of_laws() -> Any:
    """Force traces with several contact laws: elastic, elastoplastic, and a dashpot with
    restitution 0.65."""
    case = gc.load_case("steel-chain").replace(title="70 steel beads struck at 1.77 m/s")
    changes = [{}, {"contact.law": "hertz"}, {"contact.law": "flores", "contact.restitution": 0.65}]
    return figures.force_traces(
        *(gc.run(case.replace(**change)) for change in changes), sensors=[9, 24, 40, 63]
    )


def peaks() -> Any:
    """Change of the pulse along the chain, with fitted power laws. `granchain plot` plots this
    figure."""
    return figures.peaks(steel_chain())


def peaks_of_laws() -> Any:
    """The same quantities compared with an elastic chain, whose pulse does not decay."""
    case = gc.load_case("steel-chain").replace(title="70 steel beads struck at 1.77 m/s")
    return figures.peaks(
        *(gc.run(case.replace(**change)) for change in ({}, {"contact.law": "hertz"}))
    )


def animation() -> Any:
    """Animation of the chain with magnified displacements. `granchain animate` creates this figure."""
    return figures.animation(steel_chain(), frames=60, beads=(0, 30))


def space_time() -> Any:
    """Bead velocity versus time and position, with the line of the wave front. `granchain plot`
    plots this figure."""
    return figures.space_time(steel_chain())


def bead_velocities() -> Any:
    """Velocity of the striker and the sensor beads. `granchain plot` plots this figure."""
    return figures.bead_velocities(steel_chain())


def hysteresis() -> Any:
    """Force versus overlap of the recorded contacts, with the residual indentation. `granchain
    plot` plots this figure."""
    return figures.hysteresis(steel_chain())


def energy() -> Any:
    """Energy balance: forms of energy and the balance error. `granchain plot` plots this figure."""
    return figures.energy(steel_chain())


def losses() -> Any:
    """Energy dissipated in each contact, by plastic deformation and by damping."""
    result = steel_chain()
    figure, axes = plt.subplots(layout="constrained")
    losses = {"plastic": result.contact_plastic, "viscous": result.contact_viscous}
    scaled = [1e6 * loss for loss in losses.values()]
    axes.stackplot(result.contact, *scaled, labels=list(losses), step="mid")
    axes.set(xlabel="contact (k joins bodies k and k + 1)", ylabel="energy lost [µJ]")
    axes.legend()
    return figure


def overlaps() -> Any:
    """Largest overlap and residual indentation of each contact. `granchain plot` plots this figure."""
    return figures.overlaps(steel_chain())


def comparison() -> Any:
    """A run compared with a trace of synthetic data, not a measurement. `granchain compare ...
    --figure` plots this figure."""
    trace = gc.read_trace(DATA / "synthetic2026")
    return figures.comparison(gc.compare(steel_chain(), trace=trace))


def pulse_numbers() -> Any:
    """Peaks and arrivals of this comparison versus the sensor. Bars are one standard deviation."""
    trace = gc.read_trace(DATA / "synthetic2026")
    sensors = gc.compare(steel_chain(), trace=trace).results[0].sensors
    beads = [sensor.bead for sensor in sensors]
    figure, axes = plt.subplots(2, sharex=True, layout="constrained")
    for panel, name in zip(axes, ("peak", "arrival"), strict=True):
        pulses = [getattr(sensor, name) for sensor in sensors]
        measured = np.array([pulse.measured for pulse in pulses])
        computed = np.array([pulse.computed for pulse in pulses])
        error = [pulse.error for pulse in pulses]
        zero = measured if name == "arrival" else 0.0
        panel.errorbar(beads, measured - zero, error, fmt="ko", mfc="none", label="measured")
        panel.plot(beads, computed - zero, label="computed")
    axes[0].set(ylabel="peak force [N]")
    axes[1].set(xlabel="bead", ylabel="delay relative to measurement [s]")
    axes[0].legend()
    return figure


@cache
def bands_of_the_steel_chain() -> Any:
    """Compute the uncertainty bands of the chain, with sensitivities."""
    keys = (
        "striker.speed",
        "chain.radius",
        "chain.material.youngs_modulus",
        "chain.material.yield_stress",
        "contact.psi",
        "contact.xi",
    )
    case = gc.load_case("steel-chain").replace(**{"time.step": "fast"})
    return gc.bands(case, {key: 0.01 for key in keys}, n=128, sensitivity=True)


def band_traces() -> Any:
    """Uncertainty bands of the pulses for tolerances of 1 %: the middle half of the ensemble
    members, and 95 % of them."""
    return figures.band_traces(bands_of_the_steel_chain())


def sensitivities() -> Any:
    """Contribution of six parameters to the variance of the peak at each sensor."""
    return figures.sensitivities(bands_of_the_steel_chain())


def impact_comparison() -> Any:
    """Laws compared with published restitutions of steel. Compare the slope of each curve with the
    data, because a fitted ratio of hardness to yield stress mainly shifts a curve."""
    folder = DATA / "leeb-steel"
    return figures.impact_comparison(
        gc.compare_impacts(["du-wang", "ma-liu", "thornton"], folder, fit="yield_stress_ratio")
    )


def equivalence() -> Any:
    """Dashpots that approximate Ma and Liu's law, and the difference that remains. `granchain
    equivalent ... --figure` plots this figure."""
    laws = ["flores", "hunt-crossley", "tsuji", "lankarani-nikravesh"]
    return figures.fit(gc.equivalent(gc.load_case("steel-chain"), laws=laws))


def fit() -> Any:
    """Two parameters of a case fitted to a trace of synthetic data, not a measurement. `granchain
    fit ... --figure` plots this figure."""
    case = gc.load_case("steel-chain")
    return figures.fit(
        gc.fit(
            case,
            DATA / "synthetic2026",
            ["contact.psi", "striker.speed"],
        )
    )


def fits() -> Any:
    """Two laws fitted to the same trace, and whether the trace distinguishes them. `granchain fit
    --law ... --law ... --figure` plots this figure."""
    laws = {"flores": ["contact.restitution"], "ma-liu": ["contact.psi"]}
    return figures.fit(gc.fit(gc.load_case("steel-chain"), DATA / "synthetic2026", laws=laws))


@cache
def spectrum_of_a_diatomic_chain() -> gc.Spectrum:
    """Measure the spectrum of heavy and light beads under 20 N, with noise at the left end."""
    noise = {
        "drive": "displacement",
        "signal": "noise",
        "band": [500.0, 1.3e5],
        "rms": 1e-9,
        "seed": 1,
        "ramp": 1e-3,
    }
    beads = [{"count": 1}, {"count": 1, "radius": 1.19e-3, "repeat": 20}]
    case = gc.Case(
        title="40 steel beads, heavy and light, under 20 N and noise",
        chain={
            "segment": beads,
            "radius": 2.38e-3,
            "material": "steel-316",
            "precompression": 20.0,
        },
        ends={"left": noise, "right": "wall"},
        contact={"law": "hertz"},
        sensors={"beads": "all", "interval": 3e-6},
        time={"end": 0.04},
    )
    return gc.spectrum(gc.run(case), source=3, sensor=36)


def spectrum() -> Any:
    """Transmission of a chain, and frequency versus wavenumber with the dispersion relation.
    `granchain spectrum ... --figure` plots this figure."""
    return figures.spectrum(spectrum_of_a_diatomic_chain())


def local_resonances() -> Any:
    """Chain with resonators under noise. The band gap begins below the frequency of the resonators,
    and the upper passband begins where beads and resonators move in opposite directions."""
    noise = {
        "drive": "displacement",
        "signal": "noise",
        "band": [500.0, 5.8e4],
        "rms": 1e-9,
        "seed": 3,
        "ramp": 1e-3,
    }
    case = gc.Case(
        title="30 steel beads under 20 N, each with a resonator of the same mass",
        chain={
            "beads": 30,
            "radius": 2.38e-3,
            "material": "steel-316",
            "precompression": 20.0,
            "resonator": {"mass": 4.5e-4, "stiffness": 1.6e6, "damping": 1.0},
        },
        ends={"left": noise, "right": "wall"},
        contact={"law": "hertz"},
        sensors={"beads": "all", "interval": 8e-6},
        time={"end": 0.04},
    )
    return figures.spectrum(gc.spectrum(gc.run(case), source=3, sensor=15))


def dispersion_curves() -> Any:
    """Small waves in a chain of heavy and light beads under 20 N: two passbands and the band gap
    between them. `granchain dispersion ... --figure` plots this figure."""
    cell = [{"count": 1, "radius": 2.38e-3}, {"count": 1, "radius": 1.19e-3, "repeat": 20}]
    row = gc.Case(
        chain={"material": "steel-316", "precompression": 20.0, "segment": cell},
        contact={"law": "hertz"},
        sensors={"beads": [21]},
        time={"end": 1e-3},
    )
    return figures.dispersion_curves(gc.dispersion(row))


def mode_shapes() -> Any:
    """Modes of a chain with a light bead. One mode is localized at the light bead, above the
    passband. `granchain modes ... --figure` plots this figure."""
    chain = {"radius": 2.38e-3, "material": "steel-316", "precompression": 20.0}
    row = gc.Case(
        title="41 steel beads under 20 N, the middle one of half the size",
        chain=chain | {"segment": [{"count": 20}, {"count": 1, "radius": 1.19e-3}, {"count": 20}]},
        contact={"law": "hertz"},
        sensors={"beads": [21]},
        time={"end": 1e-3},
    )
    alike = row.replace(**{"chain.segment": None, "chain.beads": 41})
    return figures.mode_shapes(gc.modes(row, cell=alike))


def orbit() -> Any:
    """Driven orbit of a precompressed chain in the plane of displacement and velocity, the
    evolution of a small perturbation at zero drive phase, and the Floquet multipliers. All
    multipliers are within the unit circle, so the orbit is stable."""
    drive = {"drive": "displacement", "signal": "harmonic", "amplitude": 3e-7, "frequency": 8e3}
    case = gc.Case(
        title="Eight steel beads under 20 N, the left wall shaken at 8 kHz",
        chain={
            "beads": 8, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0,
            "drag": 3e3,
        },
        contact={"law": "hertz"},
        ends={"left": drive, "right": "wall"},
        time={"end": 1e-3},
    )  # fmt: skip
    return figures.orbit(gc.orbit(case))


def bifurcation() -> Any:
    """Orbits of two precompressed beads versus the frequency of the drive. The softening resonance
    bends, and runs do not approach the branch between its folds because it is unstable."""
    drive = {"drive": "displacement", "signal": "harmonic", "amplitude": 5e-8, "frequency": 27.2e3}
    case = gc.Case(
        title="Two steel beads under 20 N, the left wall shaken by 50 nm",
        chain={
            "beads": 2, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0,
            "drag": 1.5e3,
        },
        contact={"law": "hertz"},
        ends={"left": drive, "right": "wall"},
        time={"end": 1e-3},
    )  # fmt: skip
    along = "ends.left.frequency"
    return figures.bifurcation(gc.continuation(case, gc.orbit(case), along=along, stop=29.2e3))


def dimer() -> Any:
    """Solitary wave of a dimer chain of alternating heavy and light beads at a mass ratio without
    reflections. Compare with the theory of Jayaprakash, Starosvetsky & Vakakis 2011
    (doi:10.1103/PhysRevE.83.036606): the pulse keeps its height along the chain."""
    return figures.space_time(gc.run(gc.load_case("dimer-chain")))


def vertical_chain() -> Any:
    """Weak wave in a chain under gravity. It spreads, and its speed increases with the depth."""
    case = gc.load_case("vertical-chain").replace(**{"snapshots.interval": 1e-5})
    return figures.bead_velocities(gc.run(case), beads=[100, 200, 400, 600, 900])


def reflected_pulses() -> Any:
    """Pulses at the middle of a short chain on aluminium plates of several thicknesses. The thinner
    the plate, the later and the weaker is the reflected pulse."""
    case, key = gc.load_case("chain-on-plate"), "ends.right.plate.thickness"
    thickness = [3e-3, 5e-3, 10e-3]
    runs = [gc.run(case.replace({key: h, "time.end": 0.8e-3})) for h in thickness]
    return figures.force_traces(*runs, labels=[f"{1e3 * h:g} mm" for h in thickness])


def reflections_of_structures() -> Any:
    """Delay and amplitude of the reflected pulses of a short chain, relative to the incident pulse:
    versus the thickness of an aluminium plate, and versus the stiffness below a part of 10 g, which
    reflects two pulses."""

    def reflections(result: gc.Result) -> dict[str, float]:
        force = result.sensor_force[:, 0]
        pulses, _ = find_peaks(force, height=0.02 * force.max(), prominence=0.02 * force.max())
        found = {"delay_1": np.nan, "amplitude_1": np.nan, "delay_2": np.nan, "amplitude_2": np.nan}
        for i, pulse in enumerate(pulses[1:3], start=1):
            found[f"delay_{i}"] = result.time[pulse] - result.time[pulses[0]]
            found[f"amplitude_{i}"] = force[pulse] / force[pulses[0]]
        return {name: float(value) for name, value in found.items()}

    case = gc.load_case("chain-on-plate")
    part = case.replace({"ends.right": {"mass": 10e-3}, "time.end": 1.6e-3})
    thickness, stiffness = np.geomspace(2.5e-3, 2e-2, 13), np.geomspace(1e5, 1e8, 13)
    plates = gc.sweep(case, {"ends.right.plate.thickness": thickness.tolist()}, summary=reflections)
    parts = gc.sweep(part, {"ends.right.stiffness": stiffness.tolist()}, summary=reflections)
    figure, axes = plt.subplots(2, 2, sharex="col", sharey="row", layout="constrained")
    for i in (1, 2):
        axes[0, 0].plot(1e3 * thickness, 1e6 * plates[f"delay_{i}"], "o-")
        axes[1, 0].plot(1e3 * thickness, plates[f"amplitude_{i}"], "o-")
        axes[0, 1].semilogx(stiffness, 1e6 * parts[f"delay_{i}"], "o-", label=f"pulse {i}")
        axes[1, 1].semilogx(stiffness, parts[f"amplitude_{i}"], "o-")
    axes[0, 1].legend()
    axes[0, 0].set(title="plate", ylabel="delay [µs]")
    axes[1, 0].set(xlabel="thickness [mm]", ylabel="amplitude [1]")
    axes[0, 1].set(title="part of 10 g on a spring")
    axes[1, 1].set(xlabel="stiffness [N/m]")
    return figure


@cache
def impacts() -> list[gc.ImpactResult]:
    """Compute impacts of two steel beads with three laws."""
    laws = {
        "ma-liu": {"psi": 2.84, "xi": 13.0},
        "flores": {"restitution": 0.84},
        "tsuji": {"restitution": 0.84},
    }
    return [gc.impact(law=law, pair=PAIR, speed=1.77, **inputs) for law, inputs in laws.items()]


def impact_loops() -> Any:
    """Impact of two steel beads at 1.77 m/s with an elastoplastic law and two dashpots. `granchain
    impact ... --figure` plots this figure."""
    return figures.impact_loops(*impacts())


def impact_history() -> Any:
    """The same impact versus time: the force of a dashpot with its elastic and damping parts."""
    figure, axes = plt.subplots(2, 3, sharex=True, figsize=(9.6, 5.6), layout="constrained")
    units = {"overlap": "m", "rate": "m/s", "acceleration": "m/s²"}
    units |= {"force": "N", "elastic_force": "N", "damping_force": "N"}
    for panel, (name, unit) in zip(axes.flat, units.items(), strict=True):
        for impact in impacts():
            panel.plot(1e6 * impact.time, getattr(impact, name), label=impact.law)
        panel.set(xlabel="time [µs]", ylabel=f"{name.replace('_', ' ')} [{unit}]")
    axes[0, 0].legend()
    return figure


def phase_curve() -> Any:
    """Rate versus overlap of the same impact."""
    figure, axes = plt.subplots(layout="constrained")
    for impact in impacts():
        axes.plot(1e6 * impact.overlap, impact.rate, label=impact.law)
    axes.axhline(0.0, color="grey", linewidth=0.5)
    axes.set(xlabel="overlap [µm]", ylabel="rate [m/s]")
    axes.legend()
    return figure


def restitution_against_speed() -> Any:
    """Restitution versus speed. It decreases if the beads yield, and is constant with a dashpot.
    `granchain impact ... --vary speed=...` plots this figure."""
    speeds = np.geomspace(0.05, 20.0, 25)
    inputs = {"psi": 2.84, "xi": 13.0, "restitution": 0.84}
    study = gc.impacts(["ma-liu", "flores"], PAIR, {"speed": speeds}, **inputs)
    return figures.restitution_against_speed(study)


def restitution_delivered() -> Any:
    """Effective versus nominal restitution of dashpots. `granchain impact ... --vary
    restitution=...` plots this figure."""
    laws = ["hunt-crossley", "lankarani-nikravesh", "flores"]
    study = gc.impacts(laws, PAIR, {"restitution": np.linspace(0.1, 1.0, 19)}, speed=1.0)
    return figures.study_curves(study, "delivered_restitution", "restitution", lines="law")


def damping_transition() -> Any:
    """Damping of `lee-wang-transition` versus overlap, from the closed form
    `gc.theory.lee_wang_transition`. Compare with fig. 3 of Autiero et al. 2022
    (doi:10.3390/machines10110966): with a larger q, the damping rises later and more steeply."""
    overlap = np.linspace(0.0, 2.0, 601)[1:]
    figure, axes = plt.subplots(layout="constrained")
    for q in (2.0, 3.0, 4.0):
        axes.plot(overlap, gc.theory.lee_wang_transition(overlap, q, 1.0), label=f"q = {q:g}")
    axes.set(xlabel="overlap / ε", ylabel="active fraction of the dashpot")
    axes.legend()
    return figure


def study_curves() -> Any:
    """Peak force versus bead for three laws."""
    case = gc.load_case("steel-chain").replace(**{"time.step": "fast", "time.end": 1e-3})
    study = gc.sweep(case, {"contact.law": ["ma-liu", "thornton", "hertz"]})
    return figures.study_curves(study, "peak", "sensor_bead", lines="contact.law")


def study_power_law() -> Any:
    """Wave speed of an elastic chain for two decades of striker speed. The exponent is 1/5 for the
    speed, which corresponds to 1/6 for the force."""
    case = gc.load_case("steel-chain-hertz").replace(**{"time.step": "fast", "time.end": 1e-3})
    study = gc.sweep(case, {"striker.speed": {"log": [0.1, 10, 9]}})
    speed = study["striker.speed"].values
    fit = gc.analysis.power_law(speed, study["wave_speed"].values)
    figure = figures.study_curves(study, "wave_speed", "striker.speed")
    label = f"exponent {fit.value:.4f} ± {fit.error:.0e}"
    figure.axes[0].loglog(speed, fit.factor * speed**fit.value, "--", label=label)
    figure.axes[0].legend()
    return figure


def study_map() -> Any:
    """Peak force far along the chain versus two parameters: the speed of the striker and psi of the
    Ma-Liu law."""
    case = gc.load_case("steel-chain").replace(**{"time.step": "fast", "time.end": 1e-3})
    keys = {"striker.speed": {"linear": [0.5, 3.0, 11]}, "contact.psi": {"linear": [2.4, 3.2, 9]}}
    return figures.study_map(gc.sweep(case, keys), "peak", "striker.speed", "contact.psi")


def study_distribution() -> Any:
    """Distribution of the peak force in chains with a scatter of 5 % in the radii."""
    case = gc.load_case("steel-chain-hertz").replace(**{"time.step": "fast"})
    return figures.study_distribution(
        gc.sweep(case, {"chain.radius": gc.disorder(gc.normal(1.0, 0.05))}, n=256), "peak"
    )


def study_hysteresis() -> Any:
    """Bead between two walls, driven near its resonance. The frequency increases and decreases, and
    each run starts from the final state of the previous run. Hertz contacts soften, so the response
    jumps at two different frequencies."""
    case = gc.Case(
        title="A bead between walls, driven by 16 nm",
        chain={"beads": 1, "radius": 2.38e-3, "material": "steel-316"}
        | {"precompression": 20.0, "drag": 1280.0},
        ends={
            "left": {"drive": "displacement", "signal": "harmonic", "ramp": 5e-4}
            | {"amplitude": 1.6e-8, "frequency": 40e3},
            "right": "wall",
        },
        contact={"law": "hertz"},
        sensors={"beads": [1], "interval": 1e-6},
        time={"end": 1e-2},
    )
    up = [40e3 + 40.0 * i for i in range(25)]
    study = gc.sweep(case, {"ends.left.frequency": up + up[-2::-1]}, chained=True)
    figure, axes = plt.subplots(layout="constrained")
    for way, label in ((slice(0, len(up)), "up"), (slice(len(up) - 1, None), "down")):
        runs = study.isel(run=way, sensor_bead=-1)
        x, y = runs["ends.left.frequency"], runs["force_amplitude"]
        axes.errorbar(x, y, runs["force_amplitude_error"], label=label)
    axes.set(xlabel="frequency [Hz]", ylabel="force amplitude [N]")
    axes.legend()
    return figure


def slider_acceleration() -> Any:
    """Acceleration of the slider of a slider-crank with clearance, compared with the mechanism
    without clearance. The lower panel has the scale of the latter."""
    result = slider_crank()
    angle, ideal = np.degrees(result.crank_angle), result.ideal_acceleration
    figure, axes = plt.subplots(2, sharex=True, layout="constrained")
    for panel in axes:
        panel.plot(angle, result.slider_acceleration, label="with clearance")
        panel.plot(angle, ideal, "k--", label="without clearance")
        panel.set(ylabel="acceleration [m/s²]")
    axes[1].set(ylim=(2.2 * ideal.min(), 2.2 * ideal.max()), xlabel="crank angle [deg]")
    axes[0].legend()
    return figure


def joint_orbit() -> Any:
    """Path of the journal in its bearing. `granchain plot` plots this figure."""
    return figures.joint_orbit(slider_crank())


def crank_energy() -> Any:
    """Energy supplied by the crank, and its losses."""
    result = slider_crank()
    figure, axes = plt.subplots(2, sharex=True, layout="constrained")
    moving = result.energy_kinetic - result.energy_kinetic[0]
    axes[0].plot(result.energy_time, moving, label="kinetic energy, relative to start")
    axes[0].plot(result.energy_time, result.energy_external, "k--", label="work of the crank")
    axes[1].plot(result.energy_time, result.energy_viscous, label="damping")
    axes[1].plot(result.energy_time, result.energy_friction, label="friction")
    axes[0].set(ylabel="energy [J]")
    axes[1].set(xlabel="time [s]", ylabel="energy lost [J]")
    for panel in axes:
        panel.legend()
    return figure


def joint_force() -> Any:
    """Contact force of a scotch yoke with clearance with several laws, during the second
    revolution. `granchain plot` plots this figure for a single law. Compare with fig. 11 of Autiero
    et al. 2022 (doi:10.3390/machines10110966): the duration without contact near 100 degrees."""
    return figures.joint_force(*scotch_yokes())


def joint_force_at_the_impact() -> Any:
    """The same force after the pin has changed sides. Compare with fig. 14 of Autiero et al. 2022:
    the number and the height of the force peaks for each law."""
    return figures.joint_force(*scotch_yokes(), between=(450, 490))


def joint_penetration() -> Any:
    """Penetration of the pin in the second revolution. Compare with fig. 12 of Autiero et al. 2022:
    the order of the laws by their penetration."""
    figure, axes = plt.subplots(layout="constrained")
    for result in scotch_yokes():
        axes.plot(np.degrees(result.crank_angle), 1e6 * result.penetration, label=result.law)
    axes.set(xlim=(360.0, 720.0), xlabel="crank angle [deg]", ylabel="penetration [µm]")
    axes.legend()
    return figure


def joint_impact() -> Any:
    """Force versus penetration between 450 and 490 degrees. Compare with fig. 15 of Autiero et al.
    2022: the slope of each loading curve."""
    figure, axes = plt.subplots(layout="constrained")
    for result in scotch_yokes():
        angle = np.degrees(result.crank_angle)
        shown = (angle > 450.0) & (angle < 490.0)
        axes.plot(1e6 * result.penetration[shown], result.contact_force[shown], label=result.law)
    axes.set(xlabel="penetration [µm]", ylabel="contact force [N]")
    axes.legend()
    return figure


def slider_kinematics() -> Any:
    """Position, velocity, and acceleration of the slider of the scotch yoke. `granchain plot` plots
    this figure for a single law. Compare with fig. 16 of Autiero et al. 2022: the differences
    between the laws, which are most visible in the acceleration."""
    return figures.slider_kinematics(*scotch_yokes())


# The functions above that are not cached, in the order of the page.
FIGURES: list[Callable[[], Any]] = [
    value
    for value in [*globals().values()]
    if inspect.isfunction(value) and value.__annotations__ == {"return": "Any"}
]
HEAD = """# Gallery

The code below each figure plots it, and you can run it unchanged. Code with `DATA` requires a clone of the project, which contains the measured and
published data in its folder `data`. All figures show simulated data, except for the published measurements that some of them are compared with."""
IMPORTS = {
    "Path": "from pathlib import Path",
    "plt": "import matplotlib.pyplot as plt",
    "np": "import numpy as np",
    "find_peaks": "from scipy.signal import find_peaks",
    "gc": "import granchain as gc",
    "figures": "from granchain import figures",
}


def lines_of(draw: Callable[[], Any]) -> str:
    """Return the code of a figure for the reader: imports, definitions of this file, and its lines."""
    source = Path(__file__).read_text()
    tree = ast.parse(source)
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            defined[node.targets[0].id] = node

    seen, reached = set[str](), list[ast.stmt]()

    def reach(node: ast.AST) -> None:
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
        own = {one.id for one in names if isinstance(one.ctx, ast.Store)}
        for name in (one.id for one in names if one.id in defined and one.id not in own | seen):
            seen.add(name)
            reach(defined[name])
            reached.append(defined[name])

    drawing = defined[draw.__name__]
    assert isinstance(drawing, ast.FunctionDef)
    body = drawing.body[1:]  # Without its docstring.
    last = body[-1]
    assert isinstance(last, ast.Return)
    reach(ast.Module(body, []))
    blocks = [shown(source, node) for node in reached]
    # Include the comments in between.
    own = source.splitlines()[body[0].lineno - 1 : last.end_lineno]
    text = textwrap.dedent("\n".join(own))
    given = "moving" if draw is animation else "figure"
    start, _, end = text.rpartition("return ")
    blocks.append(start.rstrip() if end == given else f"{start}{given} = {end}")
    code = "\n".join(blocks)
    used = {one.id for one in ast.walk(ast.parse(code)) if isinstance(one, ast.Name)}
    return "\n".join([line for name, line in IMPORTS.items() if name in used] + ["", code])


def shown(source: str, node: ast.stmt) -> str:
    """Return a definition of this file without decorators, docstring, and return type."""
    if isinstance(node, ast.FunctionDef):
        body = source.splitlines()[node.body[1].lineno - 1 : node.end_lineno]
        return "\n".join([f"def {node.name}():", *body, ""])
    assert isinstance(node, ast.Assign)
    if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "DATA":
        return 'DATA = Path("data")\n'
    return f"{ast.get_source_segment(source, node)}\n"


def page() -> str:
    """Return the page in Markdown."""
    blocks = [HEAD]
    for draw in FIGURES:
        title, text = draw.__name__.replace("_", " ").capitalize(), inspect.getdoc(draw) or ""
        image = f"```{{image}} {file_of(draw)}\n:alt: {title}\n```"
        blocks += [f"## {title}", text, image, f"```python\n{lines_of(draw)}\n```"]
    return "\n\n".join(blocks) + "\n"


def file_of(draw: Callable[[], Any]) -> str:
    """Return the file name of a figure."""
    return draw.__name__.replace("_", "-") + (".gif" if draw is animation else ".png")


# PNG image of one white dot (ISO/IEC 15948).
BLANK = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082"
)


def to_draw(targets: Iterable[Path], drawing: str) -> list[Path]:
    """Return the figures that are missing, or older than the package and the file that plots them.

    If DOCS_PICTURES is "blank", return none: missing figures are then single white dots with an old
    date, so that the next build plots them.
    """
    newest = max(
        file.stat().st_mtime for file in [Path(drawing), *Path(gc.__file__).parent.rglob("*.py")]
    )
    old = [one for one in targets if not one.exists() or one.stat().st_mtime < newest]
    if os.environ.get("DOCS_PICTURES") != "blank":
        return old
    for target in old:
        target.write_bytes(BLANK)
        os.utime(target, (0, 0))
    return []


def write(folder: Path) -> None:
    """Plot the figures that are missing or older than the package, and write the page."""
    folder.mkdir(exist_ok=True)
    draws = {folder / file_of(draw): draw for draw in FIGURES}
    stale = [(draws[target], target) for target in to_draw(draws, __file__)]
    if stale:
        with ProcessPoolExecutor(min(len(stale), len(os.sched_getaffinity(0)))) as pool:
            # Successive figures share their runs.
            list(pool.map(put, *zip(*stale, strict=True), chunksize=4))
    (folder / "index.md").write_text(page())


def put(draw: Callable[[], Any], target: Path) -> None:
    """Plot and save one figure."""
    if draw is animation:
        draw().save(target, writer="pillow", fps=20, dpi=100)
    else:
        save(draw(), target)


def save(figure: Any, target: Path) -> None:
    """Save a figure in granchain's style."""
    with context_of(SHEET):
        target.write_bytes(image_of(figure, ".png", 150))


def palette() -> list[str]:
    """Return the colours of lines."""
    return list(plt.rcParams["axes.prop_cycle"].by_key()["color"])
