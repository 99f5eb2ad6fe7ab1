"""Figures of runs and studies.

Each function takes a result and returns (figure, axes). Only `save` writes a file, and no function
opens a window.

Plotted values are computed, and the heading of a figure reports this with the title of the case,
the contact law, and the time step. Computed values are lines, with small dots at single values.
Open rings are measured values. With `ax`, a function draws into your own axes and leaves the
heading to you. In the context `page(title=False)`, figures have no heading, and `page(traces=20)`
sets the largest number of sensors or beads in a figure.
"""

from granchain.analysis import power_law
from granchain.figures.bands import band_traces, sensitivities
from granchain.figures.fit import fit, fits
from granchain.figures.frame import (
    FORMATS,
    MOST_LEGEND_ROWS,
    image_of,
    page,
    save,
    style,
)
from granchain.figures.laws import (
    damping_transition,
    equivalence,
    impact_history,
    impact_loops,
    phase_curve,
    restitution_against_speed,
    restitution_delivered,
)
from granchain.figures.measured import comparison, impact_comparison, pulse_numbers
from granchain.figures.mechanism import (
    crank_energy,
    joint_force,
    joint_impact,
    joint_orbit,
    joint_penetration,
    slider_acceleration,
    slider_kinematics,
)
from granchain.figures.motion import animation
from granchain.figures.orbit import bifurcation, orbit
from granchain.figures.pulses import force_traces, peaks
from granchain.figures.registry import (
    all_figures,
    drawn,
    known_figures,
    lacking,
    several_figures,
    single_figures,
)
from granchain.figures.run import bead_velocities, energy, hysteresis, losses, overlaps, space_time
from granchain.figures.studies import (
    study_curves,
    study_distribution,
    study_figures,
    study_hysteresis,
    study_map,
    study_power_law,
)
from granchain.figures.waves import (
    dispersion_curves,
    mode_shapes,
    spectrum,
    transmission,
    wave_map,
)

__all__ = [
    "FORMATS",
    "MOST_LEGEND_ROWS",
    "all_figures",
    "animation",
    "band_traces",
    "bead_velocities",
    "bifurcation",
    "comparison",
    "crank_energy",
    "damping_transition",
    "dispersion_curves",
    "drawn",
    "energy",
    "equivalence",
    "fit",
    "fits",
    "force_traces",
    "hysteresis",
    "image_of",
    "impact_comparison",
    "impact_history",
    "impact_loops",
    "joint_force",
    "joint_impact",
    "joint_orbit",
    "joint_penetration",
    "known_figures",
    "lacking",
    "losses",
    "mode_shapes",
    "orbit",
    "overlaps",
    "page",
    "peaks",
    "phase_curve",
    "power_law",
    "pulse_numbers",
    "restitution_against_speed",
    "restitution_delivered",
    "save",
    "sensitivities",
    "several_figures",
    "single_figures",
    "slider_acceleration",
    "slider_kinematics",
    "space_time",
    "spectrum",
    "study_curves",
    "study_distribution",
    "study_figures",
    "study_hysteresis",
    "study_map",
    "study_power_law",
    "style",
    "transmission",
    "wave_map",
]
