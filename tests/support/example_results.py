"""A result with every variable, filled with random numbers, and all of its contents."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np

from granchain.case.document import digest_of_case
from granchain.contact.law import Quantity
from granchain.status import Message, Status
from granchain.store import Result, files

HISTORY = (
    Quantity("residual_overlap", "m", "overlap at which the contact opens", output=True),
    Quantity("my_dent", "", output=True),
)

# Axes and unit of every variable, according to the design of the output file.
LAYOUT = {
    "time": ("time", "s"),
    "sensor_bead": ("sensor_bead", "1"),
    "sensor_force": ("time sensor_bead", "N"),
    "bead": ("bead", "1"),
    "radius": ("bead", "m"),
    "mass": ("bead", "kg"),
    "position": ("bead", "m"),
    "final_displacement": ("bead", "m"),
    "final_velocity": ("bead", "m/s"),
    "sensor_contact": ("sensor_contact", "1"),
    "contact_force": ("time sensor_contact", "N"),
    "contact_overlap": ("time sensor_contact", "m"),
    "contact": ("contact", "1"),
    "contact_peak_force": ("contact", "N"),
    **dict.fromkeys(("contact_plastic", "contact_viscous", "contact_clamp"), ("contact", "J")),
    "energy_time": ("energy_time", "s"),
    **{
        f"energy_{name}": ("energy_time", "J")
        for name in (
            *("kinetic", "recoverable", "plastic", "viscous", "clamp", "external", "gravity"),
            *("precompression", "drives", "residual"),
        )
    },
    "snapshot_time": ("snapshot_time", "s"),
    "displacement": ("snapshot_time bead", "m"),
    "velocity": ("snapshot_time bead", "m/s"),
    "residual_overlap": ("contact", "m"),
    "my_dent": ("contact", "1"),
}
LABELS = ("sensor_bead", "bead", "sensor_contact", "contact")


class StandIn:
    """The parts of a case that a result needs."""

    title = "70 beads, drawn by Jiří"
    toml = 'title = "70 beads"  # as given\n'

    def __init__(self, **keys):
        self.keys = {"title": self.title, "contact": {"law": "ma-liu", "psi": 2.84}} | keys

    def resolved(self):
        return self.keys

    plain = resolved

    def as_given(self):
        return {"tables": self.keys, "files": []}

    @property
    def sha256(self):
        return digest_of_case(self.keys)


def values(samples=300, seed=0):
    """Return random values for every variable."""
    draw = np.random.default_rng(seed)
    lengths = {"time": samples, "sensor_bead": 3, "bead": 13, "sensor_contact": 2, "contact": 12}
    lengths |= {"energy_time": 20, "snapshot_time": 5}
    found = {}
    for name, (dims, _) in LAYOUT.items():
        shape = [lengths[axis] for axis in dims.split()]
        found[name] = np.arange(shape[0]) if name in LABELS else draw.standard_normal(shape)
    return found


def a_result(samples=300, seed=0, **more):
    asked = {
        "case": StandIn(),
        "law": "ma-liu",
        "status": Status.COMPLETE,
        "time_step": 1.25e-8,
        "history": HISTORY,
        "messages": [
            Message("the cutoff was active 3 times"),
            Message("µ and \n too", warning=True),
        ],
        "provenance": {"started": "2026-11-21T22:44:00+00:00", "wall_time": 0.125},
    }
    return Result(values(samples, seed), **(asked | more))


def everything(result):
    """Return all contents of a result, for a bitwise comparison."""
    variables = {
        name: (v.dims, v.unit, v.long_name, v.data.dtype.str, v.data.shape, v.data.tobytes())
        for name, v in result.variables.items()
    }
    names = ("law", "title", "status", "time_step", "messages", "provenance")
    return variables, *(getattr(result, name) for name in names)


def file_of(result):
    """Return the bytes of the output file of a result."""
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "a.h5")
        return (Path(folder) / "a.h5").read_bytes()


def seal(path):
    """Correct the hash in the last line, as an attacker could."""
    content = path.read_bytes()
    if content[-files.CHECKSUM_LENGTH :].startswith(b"\ngranchain sha256"):
        content = content[: -files.CHECKSUM_LENGTH]
    path.write_bytes(content + files.CHECKSUM % hashlib.sha256(content).hexdigest().encode())
