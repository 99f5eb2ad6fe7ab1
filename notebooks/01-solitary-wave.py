# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The solitary wave and its theory
#
# A chain of elastic beads that touch without precompression carries a single kind of pulse: a
# solitary wave. It is a few beads long, whatever strikes the chain. Its speed increases with its
# height F as F^(1/6), and its width does not depend on the height. Both properties follow from the
# contact force of two spheres, F = k d^(3/2), which has no linear part: sound cannot propagate in
# such a chain.
#
# This notebook simulates a chain of 70 steel beads and compares the pulse with the exact one: the
# travelling wave of the discrete chain, which `granchain.theory` computes without time steps,
# contact laws, or the engine. It also compares the speed with the long-wave theory of Nesterenko
# (1983, doi:10.1007/BF00905892).

# %%
import matplotlib.pyplot as plt
import numpy as np

import granchain as gc
from granchain import theory
from granchain.analysis import first_pulse

plt.rcParams.update(
    {
        "figure.figsize": (6.5, 3.6),
        "figure.dpi": 150,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

# %% [markdown]
# ## One pulse
#
# The built-in case runs with a high sampling rate. The speed is measured at two contacts that are
# far from each other, and the shape from the velocity of a bead.

# %%
case = gc.load_case("steel-chain-hertz").replace(
    **{
        "sensors.contacts": [20, 60],
        "sensors.interval": 5e-8,
        "snapshots.interval": 1e-7,
        "time.end": 0.45e-3,
    }
)
result = gc.run(case)

pulses = first_pulse(result.time, result.contact_force)
speed = (60 - 20) / (pulses.arrival[1] - pulses.arrival[0])  # beads per second

material = case.chain.material
modulus = material.youngs_modulus / (2 * (1 - material.poissons_ratio**2))
stiffness = theory.hertz_stiffness(modulus, case.chain.radius / 2)
exact_speed = theory.solitary_speed(stiffness, case.chain.mass, peak_force=pulses.peak[0])
long_wave_speed = theory.solitary_speed(
    stiffness, case.chain.mass, peak_force=pulses.peak[0], long_wave=True
)

diameter = 2 * case.chain.radius
for name, value in {
    "computed": speed,
    "exact": exact_speed,
    "long-wave theory": long_wave_speed,
}.items():
    print(f"{name:18s} {value * diameter:8.3f} m/s   {value / exact_speed - 1:+.1e}")

# %% [markdown]
# ## Its shape
#
# The figure shows the velocity of bead 40 versus the distance from the crest, in bead diameters,
# and the exact wave.

# %%
wave = theory.solitary_wave()
velocity = result.velocity[:, 40]
crest = first_pulse(result.snapshot_time, velocity)
distance = speed * (result.snapshot_time - crest.arrival)
near = np.abs(distance) < 4

figure, axes = plt.subplots()
axes.plot(
    distance[near],
    velocity[near] / crest.peak,
    lw=4,
    alpha=0.4,
    label="computed (simulated chain)",
)
axes.plot(
    distance[near], wave.bead_velocity(distance[near]), "k--", lw=1, label="exact travelling wave"
)
axes.set(xlabel="distance from the crest (bead diameters)", ylabel="bead velocity / peak velocity")
axes.legend(frameon=False, loc="upper right", fontsize=8)
plt.show()
misfit = np.abs(velocity[near] / crest.peak - wave.bead_velocity(distance[near])).max()
print(f"largest difference {misfit:.1e} of the peak")

# %% [markdown]
# ## Speed and width versus height
#
# The same chain is struck at seven speeds from 1 cm/s to 10 m/s.

# %%
strikers = np.geomspace(0.01, 10.0, 7)
forces, speeds, widths = [], [], []
for striker in strikers:
    scale = (1.77 / striker) ** 0.2  # times scale as the striker's speed to the power -1/5
    changes = {
        "striker.speed": float(striker),
        "sensors.interval": 5e-8 * scale,
        "snapshots.interval": 1e-7 * scale,
    }
    one = gc.run(case.replace(**changes, **{"time.end": 0.45e-3 * scale}))
    pulses = first_pulse(one.time, one.contact_force)
    forces.append(pulses.peak[0])
    speeds.append(40 / (pulses.arrival[1] - pulses.arrival[0]))
    widths.append(speeds[-1] * first_pulse(one.snapshot_time, one.velocity[:, 40]).width[0])
exponent = np.polyfit(np.log(forces), np.log(speeds), 1)[0]

figure, (left, right) = plt.subplots(1, 2, layout="constrained")
left.loglog(forces, np.array(speeds) * diameter, "o", mfc="none", label="computed")
line = np.geomspace(min(forces), max(forces), 2)
exact = [
    theory.solitary_speed(stiffness, case.chain.mass, peak_force=force) * diameter for force in line
]
left.loglog(line, exact, "k-", lw=1, label="exact, F^(1/6)")
left.set(xlabel="peak contact force [N]", ylabel="wave speed [m/s]", title=f"slope {exponent:.6f}")
left.set_yticks([300, 500, 700, 1000], ["300", "500", "700", "1000"])
left.minorticks_off()
left.legend(frameon=False, fontsize=8)
right.semilogx(forces, widths, "o", mfc="none")
right.axhline(wave.width(0.5), color="k", lw=1)
right.set(
    xlabel="peak contact force [N]",
    ylabel="width at half height (diameters)",
    ylim=(0, 2),
    title="constant width",
)
plt.show()

# %% [markdown]
# ## Results
#
# The speed agrees with that of the exact discrete wave within 1e-4, whereas the long-wave theory
# differs by more than 1 %. The shape agrees with the exact one within 1e-4 of its peak. The
# exponent is 1/6, and the width is the same for all heights.

# %%
assert abs(speed / exact_speed - 1) < 1e-4
assert 0.01 < abs(long_wave_speed / exact_speed - 1) < 0.013
assert misfit < 1e-4
assert abs(exponent - 1 / 6) < 1e-5
assert np.allclose(widths, wave.width(0.5), rtol=1e-3)
