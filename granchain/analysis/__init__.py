"""The first pulse of a trace, and what a run gives in numbers. SI units.

definition     the first pulse of a force over time, its peak and width, and the pulses after it
arrays         the same of many runs at once
baseline       what an instrument adds to a force, as the trace itself shows
noise          where a measured trace has its pulses, beyond the doubt that noise leaves
uncertainty    peak, time of the peak and crossings from noisy samples, with their uncertainties
flat_top       tops that an instrument at its limit makes
reading        what one sensor measured: all numbers of its first pulse, and what is wrong with it
transport      wave speeds from arrivals
energy         the ledger: what is put in, and where it is at the end
results        all of it of a result
spreading      where the energy is: of beads and contacts over time, second moment, participation
record         spectrum of one bead
snapshots      velocities between snapshots
convergence    orders of errors, exponents of power laws
"""

from granchain.analysis.convergence import (
    Exponent,
    Extrapolation,
    observed_order,
    power_law,
    richardson,
)
from granchain.analysis.definition import (
    ForceJumps,
    Peak,
    Pulse,
    first_pulse,
    has_merged,
    peak,
    pulse,
    pulse_impulse,
    pulse_stop,
    pulse_width,
    pulses,
    static_force,
)
from granchain.analysis.energy import (
    ENERGIES,
    ENERGIES_OF_SITES,
    LEDGER_ENERGIES,
    OF_ROUNDING,
    EnergyBalance,
    MovingEnergy,
    energy_balance,
    in_motion_and_store,
    ledger_in,
    moving_energy,
    residual_share,
    supplied_energy,
)
from granchain.analysis.record import BeadSpectrum, bead_spectrum
from granchain.analysis.results import (
    SUMMARISED,
    SensorPulse,
    Summary,
    driven_without_pulse,
    front_of,
    pulses_at,
    sensor_peak,
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
    "ENERGIES_OF_SITES",
    "LEDGER_ENERGIES",
    "OF_ROUNDING",
    "SUMMARISED",
    "BeadSpectrum",
    "EnergyBalance",
    "Exponent",
    "Extrapolation",
    "ForceJumps",
    "MovingEnergy",
    "Peak",
    "Pulse",
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
    "has_merged",
    "in_motion_and_store",
    "ledger_in",
    "local_speeds",
    "moving_energy",
    "observed_order",
    "out_of_order",
    "participation",
    "participation_ratio",
    "peak",
    "power_law",
    "pulse",
    "pulse_impulse",
    "pulse_stop",
    "pulse_width",
    "pulses",
    "pulses_at",
    "residual_share",
    "richardson",
    "second_moment",
    "sensor_peak",
    "sensor_pulses",
    "speed_in_words",
    "speeds_between",
    "static_force",
    "summary",
    "supplied_energy",
    "wave_speed",
]
