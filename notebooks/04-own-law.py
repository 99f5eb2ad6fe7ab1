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
# # A contact law of your own, and its certificate
#
# `docs/examples/my_law.py` holds a law in a file of its own: Walton and Braun's two straight lines
# (1986, doi:10.1122/1.549893). How such a file is written stands in the documentation, *A contact
# law of your own*. Here it is loaded and measured, let into the steel chain, and then broken on
# purpose, to see that its certificate says so.

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

import granchain as gc
from granchain import figures
from granchain.contact.user import load_law_module

plt.rcParams.update(
    {
        "figure.figsize": (6.5, 3.6),
        "figure.dpi": 150,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

file = Path("../docs/examples/my_law.py")
load_law_module(str(file))
law = gc.laws()["walton-braun"]
print(law.summary())
print([f"{quantity.name} [{quantity.unit}]: {quantity.range}" for quantity in law.inputs])

# %% [markdown]
# ## The certificate
#
# Measured with the engine: what an impact returns for the restitution asked, what closed cycles
# create, whether the force jumps, the order in time, whether the units are consistent. No problem
# is named.

# %%
certificate = gc.certificate("walton-braun")
for asked, clamped, _ in certificate.delivered:
    print(f"asked {asked:.1f}, delivered {clamped:.6f}")
print("problems:", certificate.problems or "none")

# %% [markdown]
# ## Two beads
#
# The unloading line is steeper than the loading line by 1/e^2, so the work given back is e^2 of the
# work taken, at every speed. A dent is left.

# %%
pair = gc.Pair(
    effective_radius=1.19e-3,
    effective_modulus=193e9 / (2 * (1 - 0.3**2)),
    effective_mass=0.225e-3,
    yield_stress=900e6,
)
impacts = [
    gc.impact(law="walton-braun", pair=pair, speed=1.77, restitution=e, stiffness=1e7)
    for e in (0.9, 0.7, 0.5)
]
figure, axes = plt.subplots()
for one, asked in zip(impacts, (0.9, 0.7, 0.5), strict=True):
    axes.plot(1e6 * one.overlap, one.force, label=f"asked {asked}, returned {one.restitution:.4f}")
axes.set(
    xlabel="overlap (\N{MICRO SIGN}m)",
    ylabel="contact force [N]",
    title="two beads at 1.77 m/s, simulated",
)
axes.legend(frameon=False, fontsize=8)
plt.show()

# %% [markdown]
# ## In the chain
#
# The law's name is all that a case needs. It is a key like any other; so are its inputs.

# %%
case = gc.load_case("steel-chain").replace(title="70 steel beads struck at 1.77 m/s")
own = {"contact.law": "walton-braun", "contact.restitution": 0.84, "contact.stiffness": 1e7}
results = [gc.run(case), gc.run(case.replace(**own))]
figure, rows = figures.force_traces(*results, sensors=[9, 24, 63])
display(figure)

# %% [markdown]
# ## Broken on purpose
#
# The same file with one number wrong: the work under the loading line is written as 0.6 K d^2
# instead of 0.5 K d^2. A run under such a law ends without a word in most programs; the energy that
# it reports is wrong.

# %%
text = file.read_text().replace('name = "walton-braun"', 'name = "walton-braun-broken"')
text = text.replace("return 0.5 * c[0] * d * d", "return 0.6 * c[0] * d * d").replace(
    "class WaltonBraun", "class Broken"
)
# what it writes goes with the notebook
folder = TemporaryDirectory()
law_file = Path(folder.name, "broken_law.py")
law_file.write_text(text)
load_law_module(law_file)
broken = gc.certificate("walton-braun-broken")
print("\n\n".join(broken.problems))

# %% [markdown]
# ## What was claimed
#
# The law returns what it is asked for, to 1e-4, at every asked value and at any speed; its
# certificate is clean; and the certificate of the broken one is not.

# %%
assert certificate.problems == []
assert all(abs(clamped - asked) < 1e-4 for asked, clamped, _ in certificate.delivered)
fast = gc.impact(law="walton-braun", pair=pair, speed=10.0, restitution=0.7, stiffness=1e7)
assert (
    abs(fast.restitution - 0.7) < 1e-4
    and abs(fast.residual_overlap / fast.max_overlap - (1 - 0.7**2)) < 1e-3
)
assert any("work" in problem for problem in broken.problems)
assert (
    np.isfinite(results[1].sensor_force).all()
    and results[1].contact_peak_force[0] > results[1].contact_peak_force[60] > 0
)
