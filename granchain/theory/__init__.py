"""Closed forms and exact results, independent of the contact laws and of the engine.

Nothing here imports a law or the loop, so that a test that compares a run with this page compares
two pieces of code. SI units; a wave speed is in beads per second unless stated otherwise.
"""

from granchain.theory.chains import (
    BALL_VELOCITIES,
    DIMER_RATIO,
    STRUCK_FIRST_FORCE,
    STRUCK_PEAK_VELOCITY,
    STRUCK_REBOUND,
    StruckChain,
    ball_velocities,
    equal_striker,
    pairwise_velocity,
    struck_chain,
)
from granchain.theory.dashpots import (
    HysteresisImpact,
    asked_for_clamped,
    clamped_restitution,
    damping_factor,
    damping_ratio,
    delivered_restitution,
    hysteresis_impact,
)
from granchain.theory.elastoplastic import (
    chang_ling_restitution,
    jackson_critical_speed,
    jackson_restitution,
    ma_liu_plastic_restitution,
    thornton_restitution,
    thornton_yield_speed,
)
from granchain.theory.impacts import (
    ElasticImpact,
    elastic_impact,
    hertz_stiffness,
    impact_duration_factor,
)
from granchain.theory.lattice import Dispersion, dispersion
from granchain.theory.waves import (
    LONG_WAVE_SPEED_FROM_FORCE,
    LONG_WAVE_SPEED_FROM_VELOCITY,
    DepthExponents,
    SolitaryWave,
    depth_exponents,
    evanescent_decay,
    precompressed_stiffness,
    small_wave_frequency,
    small_wave_speed,
    solitary_force,
    solitary_speed,
    solitary_wave,
)

__all__ = [
    "BALL_VELOCITIES",
    "DIMER_RATIO",
    "LONG_WAVE_SPEED_FROM_FORCE",
    "LONG_WAVE_SPEED_FROM_VELOCITY",
    "STRUCK_FIRST_FORCE",
    "STRUCK_PEAK_VELOCITY",
    "STRUCK_REBOUND",
    "DepthExponents",
    "Dispersion",
    "ElasticImpact",
    "HysteresisImpact",
    "SolitaryWave",
    "StruckChain",
    "asked_for_clamped",
    "ball_velocities",
    "chang_ling_restitution",
    "clamped_restitution",
    "damping_factor",
    "damping_ratio",
    "delivered_restitution",
    "depth_exponents",
    "dispersion",
    "elastic_impact",
    "equal_striker",
    "evanescent_decay",
    "hertz_stiffness",
    "hysteresis_impact",
    "impact_duration_factor",
    "jackson_critical_speed",
    "jackson_restitution",
    "ma_liu_plastic_restitution",
    "pairwise_velocity",
    "precompressed_stiffness",
    "small_wave_frequency",
    "small_wave_speed",
    "solitary_force",
    "solitary_speed",
    "solitary_wave",
    "struck_chain",
    "thornton_restitution",
    "thornton_yield_speed",
]
