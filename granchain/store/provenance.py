"""Origin of an answer: versions, source, platform, and hash of its data."""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np

from granchain.store.schema import Variable

# Entries of /provenance: texts and numbers. `messages` is a JSON list, `versions` a JSON table.
TEXTS = (
    "case_toml",
    "case_json",
    "case_resolved_json",
    "case_sha256",
    "law_sha256",
    "law_json",
    "data_sha256",
    "versions",
    "source_hash",
    "platform",
    "started",
)
NUMBERS = {"wall_time": ("s", "duration of the run, without compilation")}


def data_sha256(variables: Mapping[str, Variable]) -> str:
    """Return the hash of all variables, sorted by name: name, dims, dtype, shape, and bytes."""
    total = hashlib.sha256()
    for name in sorted(variables):
        variable = variables[name]
        total.update(
            f"{name} {','.join(variable.dims)} {variable.data.dtype.str} "
            f"{','.join(map(str, variable.shape))}\n".encode()
        )
        if variable.is_text:
            total.update("\0".join(variable.data.ravel()).encode())
        else:
            total.update(np.ascontiguousarray(variable.data).data)
    return total.hexdigest()


def granchain_version() -> str:
    """Return the version of the loaded package."""
    loaded = getattr(sys.modules.get("granchain"), "__version__", None)
    return str(loaded) if loaded else metadata.version("granchain")


@cache
def versions() -> str:
    """Return the versions of the packages that compute and write, as JSON."""
    import h5py

    found = {
        "numpy": np.__version__,
        "h5py": h5py.__version__,
        "hdf5": h5py.version.hdf5_version,
        "python": platform.python_version(),
    }
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["numba"] = metadata.version("numba")
    return json.dumps(found, sort_keys=True)


@cache
def source_hash() -> str:
    """Return the hash of the source files of the package: names and contents."""
    root = Path(__file__).parents[1]
    total = hashlib.sha256()
    for name, file in sorted(
        (file.relative_to(root).as_posix(), file) for file in root.rglob("*.py")
    ):
        total.update(f"{name}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()
