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
# # A user-defined contact law and its verification report
#
# The file `docs/examples/my_law.py` contains a law: Walton and Braun's two straight lines (1986,
# doi:10.1122/1.549893). The page *Add a contact law* of the documentation explains how to write
# such a file. This notebook loads the law, measures its properties, uses it in the steel chain,
# and then introduces an error on purpose to show that the verification report detects it.

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
law = gc.laws()["latching-spring"]
print(law.summary())
print([f"{quantity.name} [{quantity.unit}]: {quantity.range}" for quantity in law.inputs])

# %% [markdown]
# ## The verification report
#
# The report is measured with the engine: the effective restitution for each nominal restitution,
# the energy that closed cycles create, jumps of the force, the order in time, and the consistency
# of the units. It lists no problem.

# %%
certificate = gc.certificate("latching-spring")
for asked, clamped in zip(certificate.nominal, certificate.clamped, strict=True):
    print(f"nominal {asked:.1f}, effective {clamped:.6f}")
print("problems:", certificate.problems or "none")

# %% [markdown]
# ## Two beads
#
# The unloading line is steeper than the loading line by 1/e^2, so the work recovered is e^2 of the
# work supplied, at every speed. The contact has a residual indentation.

# %%
pair = gc.Pair(
    effective_radius=1.19e-3,
    effective_modulus=193e9 / (2 * (1 - 0.3**2)),
    effective_mass=0.225e-3,
    yield_stress=900e6,
)
impacts = [
    gc.impact(law="latching-spring", pair=pair, speed=1.77, restitution=e, stiffness=1e7)
    for e in (0.9, 0.7, 0.5)
]
figure, axes = plt.subplots()
for one, asked in zip(impacts, (0.9, 0.7, 0.5), strict=True):
    axes.plot(
        1e6 * one.overlap, one.force, label=f"nominal {asked}, effective {one.restitution:.4f}"
    )
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
# A case needs only the name of the law. The name is a key like all others, and so are the inputs
# of the law.

# %%
case = gc.load_case("steel-chain").replace(title="70 steel beads struck at 1.77 m/s")
own = {"contact.law": "latching-spring", "contact.restitution": 0.84, "contact.stiffness": 1e7}
results = [gc.run(case), gc.run(case.replace(**own))]
figure = figures.force_traces(*results, sensors=[9, 24, 63])
display(figure)

# %% [markdown]
# ## An error on purpose
#
# This version of the file has a wrong number: the work of the loading line is 0.6 K d^2 instead of
# 0.5 K d^2. In most programs, a run with such a law ends without a message, and the reported
# energy is wrong.

# %%
text = file.read_text().replace('name = "latching-spring"', 'name = "latching-spring-broken"')
text = text.replace("return 0.5 * c[0] * d * d", "return 0.6 * c[0] * d * d").replace(
    "class LatchingSpring", "class Broken"
)
# The folder with the file is deleted at the end of the notebook.
folder = TemporaryDirectory()
law_file = Path(folder.name, "broken_law.py")
law_file.write_text(text)
load_law_module(law_file)
broken = gc.certificate("latching-spring-broken")
print("\n\n".join(broken.problems))

# %% [markdown]
# ## Results
#
# The effective restitution equals the nominal one within 1e-4, for every nominal value and speed.
# The verification report of the law lists no problem, and the report of the wrong version does.

# %%
assert certificate.problems == []
assert (abs(certificate.clamped - certificate.nominal) < 1e-4).all()
fast = gc.impact(law="latching-spring", pair=pair, speed=10.0, restitution=0.7, stiffness=1e7)
assert (
    abs(fast.restitution - 0.7) < 1e-4
    and abs(fast.residual_overlap / fast.max_overlap - (1 - 0.7**2)) < 1e-3
)
assert any("work" in problem for problem in broken.problems)
assert (
    np.isfinite(results[1].sensor_force).all()
    and results[1].contact_peak_force[0] > results[1].contact_peak_force[60] > 0
)
