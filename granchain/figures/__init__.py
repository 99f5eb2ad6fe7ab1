"""Figures of answers and studies.

Each function takes an answer and returns a Matplotlib figure, which a notebook displays. Its panels
are `figure.axes`. No function opens a window or writes a file: use `figure.savefig`.

Plotted values are in SI units, so you can plot your own data on top; the numbers at the ticks have
the prefix that the label names. Computed values are lines. Open rings are measured values. The
heading contains the title of the case and the contact laws; remove it with `figure.suptitle("")`.

* `ax` plots into your own axes, with their fonts, sizes, and colours, without a heading.
* `style="granchain"` is granchain's style sheet. Every setting of yours that differs from
  Matplotlib's default overrides it. `style=None` leaves the sheet out, and another value is a style
  of Matplotlib, for example "dark_background".
"""

from granchain.figures.laws import impact_loops, restitution_against_speed
from granchain.figures.measured import comparison, fit, impact_comparison
from granchain.figures.mechanisms import joint_force, joint_orbit, slider_kinematics
from granchain.figures.motion import animation
from granchain.figures.orbits import bifurcation, orbit
from granchain.figures.run import (
    bead_velocities,
    energy,
    force_traces,
    hysteresis,
    overlaps,
    peaks,
    space_time,
)
from granchain.figures.studies import (
    band_traces,
    sensitivities,
    study_curves,
    study_distribution,
    study_map,
)
from granchain.figures.waves import dispersion_curves, mode_shapes, spectrum

__all__ = [
    "animation",
    "band_traces",
    "bead_velocities",
    "bifurcation",
    "comparison",
    "dispersion_curves",
    "energy",
    "fit",
    "force_traces",
    "hysteresis",
    "impact_comparison",
    "impact_loops",
    "joint_force",
    "joint_orbit",
    "mode_shapes",
    "orbit",
    "overlaps",
    "peaks",
    "restitution_against_speed",
    "sensitivities",
    "slider_kinematics",
    "space_time",
    "spectrum",
    "study_curves",
    "study_distribution",
    "study_map",
]
