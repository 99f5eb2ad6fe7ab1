"""Measure the first pulse of a trace, and summarize the results of a run.

All quantities are in SI units. The modules are:

pulse          first pulses of records of force versus time
transport      wave speeds from arrivals
energy         energy balance: energy supplied, and energy at the end of the run
results        all results of a run
spreading      energy of beads and contacts versus time, second moment, participation
record         spectrum of one bead
snapshots      velocities between snapshots
convergence    orders of errors, exponents of power laws

Examples
--------
>>> import granchain as gc
>>> round(float(gc.analysis.observed_order([1.0, 0.5], [0.04, 0.01])), 3)
2.0
"""

from granchain.analysis.convergence import (
    Exponent,
    Extrapolation,
    observed_order,
    power_law,
    richardson,
)
from granchain.analysis.energy import (
    ENERGIES,
    ENERGIES_OF_ELEMENTS,
    LEDGER_ENERGIES,
    OF_ROUNDING,
    EnergyBalance,
    MovingEnergy,
    energy_balance,
    kinetic_and_stored,
    ledger_in,
    moving_energy,
    residual_share,
    supplied_energy,
)
from granchain.analysis.pulse import FirstPulse, ForceJumps, first_pulse, static_force
from granchain.analysis.record import BeadSpectrum, bead_spectrum
from granchain.analysis.results import (
    SUMMARISED,
    SensorPulse,
    Summary,
    driven_without_pulse,
    front_of,
    sensor_pulses,
    summary,
)
from granchain.analysis.snapshots import between_snapshots
from granchain.analysis.spreading import (
    bead_energy,
    contact_energy,
    participation,
    participation_ratio,
    second_moment,
)
from granchain.analysis.transport import (
    local_speeds,
    out_of_order,
    speed_in_words,
    speeds_between,
    wave_speed,
)

__all__ = [
    "ENERGIES",
    "ENERGIES_OF_ELEMENTS",
    "LEDGER_ENERGIES",
    "OF_ROUNDING",
    "SUMMARISED",
    "BeadSpectrum",
    "EnergyBalance",
    "Exponent",
    "Extrapolation",
    "FirstPulse",
    "ForceJumps",
    "MovingEnergy",
    "SensorPulse",
    "Summary",
    "bead_energy",
    "bead_spectrum",
    "between_snapshots",
    "contact_energy",
    "driven_without_pulse",
    "energy_balance",
    "first_pulse",
    "front_of",
    "kinetic_and_stored",
    "ledger_in",
    "local_speeds",
    "moving_energy",
    "observed_order",
    "out_of_order",
    "participation",
    "participation_ratio",
    "power_law",
    "residual_share",
    "richardson",
    "second_moment",
    "sensor_pulses",
    "speed_in_words",
    "speeds_between",
    "static_force",
    "summary",
    "supplied_energy",
    "wave_speed",
]
