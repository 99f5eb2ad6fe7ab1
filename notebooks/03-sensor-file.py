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
# # Read an output file with xarray and with h5py
#
# The output file of a run is HDF5 with the conventions of netCDF-4. xarray opens it with names,
# units, and labelled axes, and h5py reads it without other packages. This notebook computes the
# same values from a file in both ways: the decay of the pulse along the chain, its speed, and the
# spectrum of a sensor.

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import granchain as gc
from granchain.analysis import first_pulse

plt.rcParams.update(
    {
        "figure.figsize": (6.5, 3.6),
        "figure.dpi": 150,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

# The folder with the file is deleted at the end of the notebook.
folder = TemporaryDirectory()
chain = Path(folder.name, "chain.h5")
gc.run(gc.load_case("steel-chain")).save(chain)
print(f"{chain.stat().st_size / 1e6:.1f} MB")

# %% [markdown]
# ## With xarray
#
# You select values by label, not by index: `sel(sensor_bead=24)` is bead 24, in any column.

# %%
data = xr.open_dataset(chain, engine="h5netcdf")
print(data.attrs["title"], "|", data.attrs["law"], "|", data.attrs["status"])
print(data.sensor_force)

# %%
figure, axes = plt.subplots()
for bead in (9, 24, 40, 63):
    trace = data.sensor_force.sel(sensor_bead=bead)
    axes.plot(1e6 * trace.time, trace, label=f"bead {bead}")
axes.set(
    xlabel="time (\N{MICRO SIGN}s)",
    ylabel=f"sensor force ({data.sensor_force.units})",
    title="simulated",
    xlim=(0, 600),
)
axes.legend(frameon=False, fontsize=8)
plt.show()

# %% [markdown]
# The table lists the peak and the arrival of the first pulse at each sensor. The largest sample is
# slightly lower than the peak. `granchain.analysis.first_pulse` fits a parabola through three
# samples, as `granchain run` does for its output.

# %%
largest = data.sensor_force.max("time")
pulses = first_pulse(data.time.values, data.sensor_force.values)
peaks = xr.DataArray(pulses.peak, coords={"sensor_bead": data.sensor_bead})
arrivals = xr.DataArray(pulses.arrival, coords={"sensor_bead": data.sensor_bead})
table = xr.Dataset(
    {"largest_sample": largest, "peak": peaks, "arrival": 1e6 * arrivals}
).to_dataframe()
print(table.round(3))

# %% [markdown]
# The wave slows down as it decays. Its speed between two sensors is their distance divided by the
# time between the arrivals:

# %%
diameter = 2 * float(data.radius[1])
speed = diameter * np.diff(data.sensor_bead) / np.diff(arrivals)
middle = (data.sensor_bead.values[1:] + data.sensor_bead.values[:-1]) / 2

figure, (left, right) = plt.subplots(1, 2, layout="constrained")
left.loglog(data.sensor_bead, peaks, "o-", lw=1, mfc="none")
left.set(xlabel="bead", ylabel="peak force [N]")
left.set_xticks([10, 20, 40, 60], ["10", "20", "40", "60"])
left.set_yticks([10, 20, 30], ["10", "20", "30"])
left.minorticks_off()
right.plot(middle, speed, "o-", lw=1, mfc="none")
right.set(xlabel="bead", ylabel="speed between two sensors [m/s]", ylim=(0, 700))
figure.suptitle("simulated, Ma-Liu")
plt.show()

# %% [markdown]
# The spectrum of a sensor trace shows which frequencies a measurement must resolve. The pulse at
# bead 9 has hardly any power above about 70 kHz. Choose the sampling rate of an oscilloscope and
# its filter accordingly.

# %%
trace = data.sensor_force.sel(sensor_bead=9)
step = float(trace.time[1] - trace.time[0])
spectrum = np.abs(np.fft.rfft(trace)) * step
frequency = np.fft.rfftfreq(trace.size, step)
half = frequency[np.flatnonzero(spectrum > 0.5 * spectrum[0])[-1]]

figure, axes = plt.subplots()
axes.plot(frequency / 1e3, 1e6 * spectrum)
axes.set(
    xlabel="frequency (kHz)",
    ylabel="spectrum (\N{MICRO SIGN}N s)",
    xlim=(0, 200),
    title="bead 9, simulated",
)
plt.show()
print(f"half of the value at zero frequency up to {half / 1e3:.0f} kHz")

# %% [markdown]
# ## With h5py
#
# The file and the names are the same. You do not need granchain to read it.

# %%
with h5py.File(chain) as file:
    time, force = file["time"][:], file["sensor_force"][:]
    beads = file["sensor_bead"][:].tolist()
    units = {
        name: file[name].attrs["units"] for name in ("time", "sensor_force", "contact_peak_force")
    }
    meaning = file["sensor_force"].attrs["long_name"]
    axes_of_force = [scale[0].name for scale in file["sensor_force"].dims]
    case_text = file["provenance"]["case_toml"][()].decode()
print(meaning, units, axes_of_force, sep="\n")
print(case_text.splitlines()[0])

# %%
column = force[:, beads.index(24)]
i = int(column.argmax())
print(f"bead 24: largest sample {column[i]:.4f} {units['sensor_force']} at {1e6 * time[i]:.2f} us")

# %% [markdown]
# ## Results
#
# Both ways give the same numbers, every variable has a unit and axes, and the peaks are those that
# `granchain run` prints for this case.

# %%
assert np.array_equal(force, data.sensor_force.values) and beads == data.sensor_bead.values.tolist()
assert all(
    variable.attrs.get("units") and variable.attrs.get("long_name")
    for variable in data.variables.values()
)
assert axes_of_force == ["/time", "/sensor_bead"]
assert column[i] == float(largest.sel(sensor_bead=24))
# README: 35.7269 N at bead 9, 9.69966 N at bead 63, printed to six digits
assert np.allclose(peaks.sel(sensor_bead=[9, 63]), [35.7269, 9.69966], rtol=1e-5)
assert (np.diff(peaks) < 0).all() and (np.diff(speed) < 0).all()
data.close()
