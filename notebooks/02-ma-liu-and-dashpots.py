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
# # Ma-Liu compared with dashpots
#
# Wang, Liu & Liu (2022, doi:10.1016/j.ijmecsci.2022.107214) study whether a dashpot can
# approximate the elastoplastic law of Ma and Liu. This notebook redraws their figures 4 to 7 (two
# bodies at 4 and at 8 m/s) and 11 and 12 (the chain of 70 steel beads), each from the HDF5 files
# of runs of their cases. All lines are simulated. The measured traces of their figure 11 are not
# published as numbers and are not shown.

# %%
import warnings
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

import granchain as gc
from granchain.errors import GranchainWarning

plt.rcParams.update(
    {
        "figure.figsize": (7, 3.4),
        "figure.dpi": 150,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)
# The folder with the files is deleted at the end of the notebook.
folder = TemporaryDirectory()
COLOURS = {
    "ma-liu": "k",
    "hunt-crossley": "C0",
    "lankarani-nikravesh": "C2",
    "flores": "C1",
    "wang-liu-hysteretic": "C3",
}

# %% [markdown]
# ## Two bodies
#
# A ball of 20 mm is in a socket of 20.5 mm: R = R1 R2/(R1 - R2) = 0.82 m, E = 54.68 GPa from (200
# GPa, 0.29) and (65 GPa, 0.33), the yield stress of the softer body is 30 MPa, and a mass of
# 0.261381 kg hits a fixed body. (Their table 1 interchanges densities and masses; with these
# values, all published numbers are reproduced.)
#
# A contact depends on R, E, m, and the yield stress only. Two equal spheres with the same four
# values are therefore equivalent, and they form a chain of a bead and a striker, with an output
# file. Their radius of 1.64 m replaces the narrow gap of the socket, so the warning about large
# radii is switched off.

# %%
warnings.filterwarnings("ignore", "radius: ", GranchainWarning)
radius = 0.0205 * 0.0200 / 0.0005
modulus = 1 / ((1 - 0.29**2) / 200e9 + (1 - 0.33**2) / 65e9)
mass = 4 / 3 * np.pi * 0.02**3 * 7800
# table 1's psi and xi, sec. 4
constants = {"psi": 3.0, "xi": 13.0}


def two_bodies(law, speed, **inputs):
    """Run an impact, save it, and open its file."""
    case = gc.Case(
        title=f"Wang, Liu & Liu 2022, table 1, {law} at {speed:g} m/s",
        chain={
            "beads": 1,
            "radius": 2 * radius,
            "mass": 2 * mass,
            "material": {
                "youngs_modulus": 2 * (1 - 0.3**2) * modulus,
                "poissons_ratio": 0.3,
                "yield_stress": 30e6,
            },
        },
        striker={"speed": speed},
        contact={"law": law, **inputs},
        sensors={"contacts": [0], "interval": 2e-7},
        snapshots={"interval": 2e-7},
        time={"end": 1.2e-4 * (4 / speed) ** 0.2 * 2},
    )
    name = f"{folder.name}/{law}-{speed:g}.h5"
    gc.run(case).save(name, overwrite=True)
    return gc.open(name)


def rate(result):
    """Return the relative velocity of the two bodies [m/s], positive in approach."""
    return result.velocity[:, 0] - result.velocity[:, 1]


def impacts(speed):
    """Run Ma-Liu, and four dashpots with its restitution."""
    runs = {"ma-liu": two_bodies("ma-liu", speed, **constants)}
    restitution = -rate(runs["ma-liu"])[-1] / speed
    for law in ("hunt-crossley", "lankarani-nikravesh", "flores"):
        runs[law] = two_bodies(law, speed, restitution=restitution)
    runs["wang-liu-hysteretic"] = two_bodies(
        "wang-liu-hysteretic", speed, restitution=restitution, **constants
    )
    return runs


runs = {speed: impacts(speed) for speed in (4.0, 8.0)}

# %% [markdown]
# **Figures 4 and 6** show the loops of Ma-Liu and of the new dashpot. The enclosed areas are the
# energies lost. Compare the shape of the loops: the largest force of the dashpot is lower, and its
# loop has no residual indentation.

# %%
figure, panels = plt.subplots(1, 2, layout="constrained")
for axes, (speed, files), number in zip(panels, runs.items(), (4, 6), strict=True):
    for law in ("ma-liu", "wang-liu-hysteretic"):
        axes.plot(
            1e6 * files[law].contact_overlap[:, 0],
            files[law].contact_force[:, 0] / 1e3,
            color=COLOURS[law],
            lw=1.2,
            label=law,
        )
    axes.set(
        xlabel="overlap (\N{MICRO SIGN}m)",
        ylabel="contact force (kN)",
        title=f"figure {number}: {speed:g} m/s",
    )
    axes.set_xlim(left=-5)  # free flight follows
    axes.legend(frameon=False, fontsize=8)
plt.show()

# %% [markdown]
# **Figures 5 and 7** show all five laws: force versus overlap, and velocity versus time. Compare
# the final velocities and the largest forces, which the table below lists.

# %%
for (speed, files), number in zip(runs.items(), (5, 7), strict=True):
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    for law, result in files.items():
        left.plot(
            1e6 * result.contact_overlap[:, 0],
            result.contact_force[:, 0] / 1e3,
            color=COLOURS[law],
            lw=1.2,
        )
        right.plot(1e6 * result.snapshot_time, rate(result), color=COLOURS[law], lw=1.2, label=law)
    left.set(
        xlabel="overlap (\N{MICRO SIGN}m)",
        ylabel="contact force (kN)",
        title=f"figure {number}a: {speed:g} m/s",
    )
    left.set_xlim(left=-5)
    right.set(
        xlabel="time (\N{MICRO SIGN}s)",
        ylabel="relative velocity [m/s]",
        title=f"figure {number}b",
    )
    right.legend(frameon=False, fontsize=8)
    plt.show()

# %% [markdown]
# Their tables 3, 4, 6, and 7 give the post-impact velocities and the largest forces. (The largest
# force of the new dashpot at 8 m/s is not legible in the available text.)

# %%
# post-impact velocity [m/s], largest force [N]: Wang, Liu & Liu 2022, tables 3 and 4 (4 m/s), 6 and
# 7 (8 m/s)
printed = {
    4.0: {
        "ma-liu": (0.6909 * 4, 4.1710e4),
        "hunt-crossley": (3.0503, 5.2235e4),
        "lankarani-nikravesh": (3.1677, 5.2544e4),
        "flores": (2.6944, 5.1838e4),
        "wang-liu-hysteretic": (2.7518, 3.8538e4),
    },
    8.0: {
        "ma-liu": (0.6309 * 8, 8.6858e4),
        "hunt-crossley": (5.8276, 1.1944e5),
        "lankarani-nikravesh": (6.1393, 1.2011e5),
        "flores": (4.8808, 1.1955e5),
        "wang-liu-hysteretic": (5.0071, None),
    },
}
found = {
    speed: {
        law: (-rate(result)[-1], float(result.contact_peak_force[0]))
        for law, result in files.items()
    }
    for speed, files in runs.items()
}
print("m/s  law                   velocity published    force published")
for speed, laws in found.items():
    for law, (velocity, force) in laws.items():
        known = printed[speed][law]
        print(
            f"{speed:3.0f}  {law:20s}  {velocity:8.4f} {known[0]:8.4f}  {force:8.0f}  "
            f"{'-' if known[1] is None else f'{known[1]:8.0f}'}"
        )

# %% [markdown]
# ## The chain
#
# **Figure 11** shows the forces at the eight sensor beads with Ma-Liu and with the dashpot that
# uses a single impact speed for all contacts. Compare the height, the width, and the arrival of
# the pulses. The pulse of the dashpot is higher and wider, and it arrives earlier, because the
# pulse of Ma-Liu slows down as it decays.

# %%
chains = {}
for name in ("steel-chain", "steel-chain-dashpot"):
    gc.run(gc.load_case(name)).save(f"{folder.name}/{name}.h5", overwrite=True)
    chains[name] = gc.open(f"{folder.name}/{name}.h5")
labels = {"steel-chain": "ma-liu", "steel-chain-dashpot": "wang-liu-hysteretic"}

figure, panels = plt.subplots(4, 2, figsize=(7, 6), sharex=True, sharey=True, layout="constrained")
for place, axes in enumerate(panels.T.ravel()):
    for name, result in chains.items():
        axes.plot(
            1e6 * result.time,
            result.sensor_force[:, place],
            color=COLOURS[labels[name]],
            lw=1,
            label=labels[name],
        )
    axes.text(
        0.97,
        0.8,
        f"bead {chains['steel-chain'].sensor_bead[place]}",
        transform=axes.transAxes,
        ha="right",
    )
panels[0, 0].legend(frameon=False, fontsize=8, loc="upper center")
figure.supxlabel("time (\N{MICRO SIGN}s)")
figure.supylabel("sensor force [N]")
figure.suptitle("figure 11, simulated")
plt.show()

# %% [markdown]
# **Figure 12** shows the velocities of the beads with sensors. Compare the peak velocities along
# the chain: the wider pulse of the dashpot moves the first beads more slowly, and later beads
# faster than the pulse of Ma-Liu, which decays more.

# %%
figure, axes = plt.subplots(figsize=(7, 3))
for name, result in chains.items():
    for bead in chains["steel-chain"].sensor_bead:
        column = int(np.flatnonzero(result.bead == bead)[0])
        label = labels[name] if bead == 9 else None
        axes.plot(
            1e6 * result.snapshot_time,
            result.velocity[:, column],
            color=COLOURS[labels[name]],
            lw=1,
            label=label,
        )
axes.set(
    xlabel="time (\N{MICRO SIGN}s)",
    ylabel="bead velocity [m/s]",
    title="figure 12, simulated; beads 9, 16, ... 63",
)
axes.legend(frameon=False, fontsize=8)
plt.show()

# %% [markdown]
# ## Results
#
# All published velocities and forces are reproduced within 0.01 %. The force of the new dashpot
# agrees within 0.02 %, because their two-body computations omit its elastic part below d_y
# (section 5.2 includes it). In the chain, the peaks of the dashpot are higher than those of Ma-Liu
# at every sensor, and the ratio increases along the chain: at bead 63 it is nearly three. A
# dashpot that is fitted to two bodies does not fit a chain of them.

# %%
for speed, laws in found.items():
    for law, (velocity, force) in laws.items():
        known_velocity, known_force = printed[speed][law]
        assert abs(velocity / known_velocity - 1) < 1e-4, (speed, law, velocity)
        allowed = 2e-4 if law == "wang-liu-hysteretic" else 1e-4
        assert known_force is None or abs(force / known_force - 1) < allowed, (speed, law, force)
peaks = {name: result.sensor_force.max(axis=0) for name, result in chains.items()}
ratio = peaks["steel-chain-dashpot"] / peaks["steel-chain"]
assert (np.diff(ratio) > 0).all() and 1.1 < ratio[0] < 1.3 and 2.6 < ratio[-1] < 2.9
fastest = {name: result.velocity[:, [9, 63]].max(axis=0) for name, result in chains.items()}
slower, faster = fastest["steel-chain-dashpot"] / fastest["steel-chain"]
assert 0.6 < slower < 0.8 and 1.2 < faster < 1.5
