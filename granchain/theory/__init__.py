"""Closed forms and exact results, independent of the contact laws and the engine.

No module here imports a law or the time loop, so a test that compares a run with these results
compares two independent implementations. All quantities are in SI units. Wave speeds are in beads
per second unless stated otherwise.

Examples
--------
>>> import granchain as gc
>>> round(gc.theory.delivered_restitution(0.0), 6)
1.0
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
    clamped_restitution,
    damping_factor,
    damping_ratio,
    delivered_restitution,
    herbert_mcwhannell_restitution,
    hysteresis_impact,
    lee_wang_transition,
    nominal_for_clamped,
)
from granchain.theory.elastoplastic import (
    WU_FIRST,
    WU_SECOND,
    chang_ling_restitution,
    jackson_critical_speed,
    jackson_restitution,
    lankarani_nikravesh_yield_speed,
    ma_liu_plastic_restitution,
    thornton_restitution,
    thornton_yield_speed,
    weir_tallon_restitution,
    wu_restitution,
)
from granchain.theory.impacts import (
    ElasticImpact,
    PlateImpact,
    elastic_impact,
    hertz_stiffness,
    impact_duration_factor,
    plate_impact,
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
    "WU_FIRST",
    "WU_SECOND",
    "DepthExponents",
    "Dispersion",
    "ElasticImpact",
    "HysteresisImpact",
    "PlateImpact",
    "SolitaryWave",
    "StruckChain",
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
    "herbert_mcwhannell_restitution",
    "hertz_stiffness",
    "hysteresis_impact",
    "impact_duration_factor",
    "jackson_critical_speed",
    "jackson_restitution",
    "lankarani_nikravesh_yield_speed",
    "lee_wang_transition",
    "ma_liu_plastic_restitution",
    "nominal_for_clamped",
    "pairwise_velocity",
    "plate_impact",
    "precompressed_stiffness",
    "small_wave_frequency",
    "small_wave_speed",
    "solitary_force",
    "solitary_speed",
    "solitary_wave",
    "struck_chain",
    "thornton_restitution",
    "thornton_yield_speed",
    "weir_tallon_restitution",
    "wu_restitution",
]
