"""The code in docs/how-to/trace-formats.md reads files that other libraries write."""

import re
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
import scipy.io
import xarray

import granchain as gc
from granchain.errors import TraceError

pytest.importorskip("openpyxl", reason="openpyxl is an optional package")
nptdms = pytest.importorskip("nptdms", reason="npTDMS is an optional package")
pytestmark = pytest.mark.usefixtures("here")
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "trace-formats.md"
LINES = dict(re.findall(r"^\| ([^|]+) \| [^|]+ \| `(gc\..*)` \|$", PAGE.read_text(), re.MULTILINE))
N = 40
TIME = 0.5e-6 * np.arange(N) - 2e-6
FORCE = np.column_stack(
    [20.0 * np.exp(-(((np.arange(N) - 15) / 4.0) ** 2)), np.linspace(0.0, 3.9, N)]
)
VOLTAGE = 0.02 * FORCE


def write_tdms():
    wave = {"wf_increment": 0.5e-6, "wf_start_offset": -2e-6}
    channels = [
        nptdms.ChannelObject("rig", f"CH{k}", values, properties=wave)
        for k, values in enumerate(VOLTAGE.T, start=1)
    ]
    with nptdms.TdmsWriter("rig.tdms") as writer:
        writer.write_segment(channels)


def write_excel():
    table = pandas.DataFrame({"Time (us)": 1e6 * TIME})
    table[["CH1 (V)", "CH2 (V)"]] = VOLTAGE
    table.to_excel("rig.xlsx", index=False)


def write_hdf5(path, **arrays):
    with h5py.File(path, "w") as file:
        file.update(arrays)


def write_netcdf():
    xarray.Dataset(
        {"voltage": (("time", "bead"), 1e3 * VOLTAGE, {"units": "mV"})},
        {"time": ("time", 1e6 * TIME, {"units": "us"}), "bead": [3, 8]},
    ).to_netcdf("rig.nc")


WRITERS = {
    "TDMS (LabVIEW)": write_tdms,
    "MATLAB up to version 7": lambda: scipy.io.savemat("rig.mat", {"t": TIME, "v": VOLTAGE}),
    "MATLAB 7.3": lambda: write_hdf5("rig73.mat", t=TIME[np.newaxis], v=VOLTAGE.T),
    "Excel": write_excel,
    "HDF5": lambda: write_hdf5("rig.h5", time=TIME, voltage=VOLTAGE),
    "netCDF": write_netcdf,
    "NumPy": lambda: np.save("rig.npy", np.column_stack([TIME, VOLTAGE])),
}
# The library of Tektronix is not installed with granchain.
OTHERS = {"Tektronix .wfm, one channel", "result file of granchain"}
NAMES = {"gc": gc, "numpy": np}
NAMES |= {module.__name__: module for module in (h5py, nptdms, pandas, scipy, xarray)}


def test_the_line_of_each_format_reads_its_file():
    assert set(LINES) == set(WRITERS) | OTHERS
    for name, write in WRITERS.items():
        write()
        trace = eval(LINES[name], dict(NAMES))
        assert trace.sensor_bead.tolist() == [3, 8], name
        assert trace.time[0] == 0.0 and trace.start == pytest.approx(-2e-6, rel=1e-9), name
        assert trace.time == pytest.approx(TIME - TIME[0], rel=1e-9, abs=1e-15), name
        assert trace.sensor_force == pytest.approx(FORCE, rel=1e-9, abs=1e-12), name


def test_a_result_file_is_a_trace():
    result = gc.run(gc.load_case("steel-chain", ["chain.beads=6", "sensors.beads=[3]"]))
    result.save("run.h5")
    trace = eval(LINES["result file of granchain"], dict(NAMES))
    assert np.array_equal(trace.sensor_force, result.sensor_force) and trace.synthetic


def test_times_that_xarray_has_converted_are_refused():
    time = xarray.DataArray(np.arange(N).astype("timedelta64[us]"), dims="time")
    with pytest.raises(TraceError, match=r"trace: the types are timedelta64.* decode_times=False"):
        gc.Trace(time=time, force=VOLTAGE, beads=[3, 8], gain="20 mV/N")


def test_a_file_that_is_not_text_is_refused_with_the_way_in(here, obeyed):
    for name in ("TDMS (LabVIEW)", "MATLAB up to version 7", "Excel", "HDF5", "NumPy"):
        WRITERS[name]()
        (file,) = here.glob("rig.*")
        error = obeyed("traces", "import", file.name, "--kind", "measured", code=2).err
        words = rf"{file.name}: this is a .*{name.split()[0]}.* file\. .* granchain\.Trace"
        assert re.search(words, error)
        file.unlink()
