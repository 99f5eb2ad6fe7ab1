"""Figures of a run or a study: functions that take it and return (figure, axes); nothing is shown,
nothing is written but by `save`.

Everything drawn is computed, and every figure states it, with the case's title, the contact law and
the time step: lines, with small dots at single values, never the open rings of a measurement. With
`ax` a function draws into axes of yours, whose heading is left to you. Within
`with page("single"):` figures are as wide as one column of a journal, 86 mm, and with "double" as
wide as two, 178 mm, with type of 7 points and more; `page(title=False)` leaves the heading to a
caption, and `page(traces=20)` draws so many sensors or beads of many.
"""

from granchain.analysis import power_law
from granchain.figures.bands import band_traces, sensitivities
from granchain.figures.fit import fit, fits
from granchain.figures.frame import (
    FORMATS,
    JOURNAL_WIDTHS,
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
    "JOURNAL_WIDTHS",
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
