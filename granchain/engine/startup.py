"""Numba, loaded quickly by a process that runs chains and nothing else."""

from __future__ import annotations

import sys
from importlib import import_module

BLAS = "scipy.linalg.cython_blas"


def load_without_blas() -> None:
    """Load Numba's array functions without SciPy's BLAS, as if SciPy were not installed: a tenth of a second less.

    Numba looks for it at this import, once, which would be when the first loop comes from the cache. No loop of ours calls BLAS; but in a
    process that has called this, compiled code can have no np.dot and no np.linalg: for the command line only.
    """
    if BLAS in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[BLAS] = None  # type: ignore[assignment]
    try:
        import_module("numba.np.arraymath")
    finally:
        del sys.modules[BLAS]
