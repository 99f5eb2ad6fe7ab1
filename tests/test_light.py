"""A chain can run, and be saved and opened, without large packages; functions that need one report
it."""

import json

from support.processes import answer

CODE = """
import contextlib, io, json, sys
from importlib.machinery import PathFinder

found = PathFinder.find_spec
OUT = ("scipy", "matplotlib", "xarray", "pandas", "h5netcdf", "netCDF4")


def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in OUT else found(name, path, target)


PathFinder.find_spec = find_spec
import granchain as gc
from granchain.cli import obey
from granchain.errors import GranchainError

SMALL = "--set chain.beads=5 --set sensors.beads=[2,4] --set sensors.contacts=[1]".split()
SMALL += ["--set", "time.end=2.2e-5"]
told = io.StringIO()
with contextlib.redirect_stderr(told):
    codes = [
        obey(["run", "steel-chain", *SMALL, "--out", "a.h5", "--json"]),
        obey(["info", "a.h5"]),
        obey(["info", "--system", "--json"]),
        obey(["plot", "a.h5", "--out", "figures"]),
    ]
result = gc.open("a.h5")
gc.run_many([result.case], "many.h5")
said = []
for ask in (
    result.to_xarray,
    gc.open("many.h5").to_xarray,
    lambda: gc.figures.force_traces(result),
    lambda: gc.spectrum(result, segments=2),
    lambda: gc.sweep(result.case, {"striker.speed": [1.0, 2.0]}, progress=False),
):
    try:
        ask()
    except GranchainError as error:
        said.append([str(error), isinstance(error, ImportError)])
try:
    import scipy
except ModuleNotFoundError as error:
    said.append([str(error), type(error) is ModuleNotFoundError])
times = told.getvalue().count("pip install matplotlib")
print(json.dumps([codes, times, said, sorted(name for name in sys.modules if name in OUT)]))
"""


def test_a_core_without_them_runs_saves_and_opens_and_the_rest_says_what_to_install(here):
    codes, times, said, loaded = json.loads(answer(CODE, NUMBA_DISABLE_JIT="1").splitlines()[-1])
    assert codes == [0, 0, 0, 2] and times == 1 and loaded == []
    *ours, others = said
    assert others == ["No module named 'scipy'", True]
    wanted = ["xarray", "xarray", "matplotlib", "scipy", "xarray"]
    for (sentence, is_import_error), package in zip(ours, wanted, strict=True):
        assert sentence.startswith(f"{package}: package not found. This function needs it.")
        assert sentence.endswith(f"Install it with pip install {package}.") and is_import_error
