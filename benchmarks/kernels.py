"""Interface to kernels.c, compiled for this machine and called through ctypes on the engine's
arrays.

Arithmetic is strict (-ffp-contract=off: no fused multiply-add except in the corrected square root),
so that each form is bit-identical to the engine. The compiler options remove what could slow the
plain forms down: errno and traps are off, and both vector widths that an x86 processor may prefer
are compiled.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from racing import Answer, Contender
from steel_chain import BARE, Run

from granchain.engine.state import State
from granchain.jit.compile import VECTOR

SOURCE = Path(__file__).with_name("kernels.c")
OPTIONS = (
    "-O3",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-std=gnu11",
    "-shared",
    "-fPIC",
)
WIDTHS = (256, 512) if platform.machine() == "x86_64" else (0,)

# Names in kernels.c of the laws and their forms. Forms in vectors exist if the processor has
# AVX-512.
LAWS = {"hertz": "hertz", "ma-liu": "ma_liu", "flores": "dashpot"}
FORMS = {
    "two passes": "two_passes",
    "carried": "carried",
    "AVX-512": "vectors_sqrt",
    "AVX-512 rsqrt": "vectors_rsqrt",
}

DOUBLES = ctypes.POINTER(ctypes.c_double)
INTEGERS = ("n_steps", "front", "last_contact", "width")
NUMBERS = ("dt", "kick", "inverse_mass", "stiffness", "damping", "lowest_force")
ROWS = (
    "u",
    "v",
    "a",
    "start",
    "kicks",
    "inverse_masses",
    "stiffnesses",
    "dampings",
    "row",
    "peak",
    "largest_overlap",
    "limit",
    "residual",
    "unloading",
    "ma_liu",
)


class Arguments(ctypes.Structure):
    """`struct chain` of kernels.c."""

    _fields_ = [
        *((name, ctypes.c_long) for name in INTEGERS),
        *((name, ctypes.c_double) for name in NUMBERS),
        *((name, DOUBLES) for name in ROWS),
    ]


def compiler() -> str | None:
    """Return the C compiler: $CC, or gcc."""
    return shutil.which(os.environ.get("CC", "gcc"))


def compiled(folder: Path, widths: tuple[int, ...] = WIDTHS) -> dict[int, ctypes.CDLL]:
    """Compile a library for each preferred vector width [bit]; none without a compiler."""
    if compiler() is None:
        return {}
    found = {}
    for width in widths:
        library = folder / f"kernels{width}.so"
        wide = [f"-mprefer-vector-width={width}"] if width else []
        subprocess.run(
            [str(compiler()), *OPTIONS, *wide, str(SOURCE), "-o", str(library), "-lm"], check=True
        )
        found[width] = ctypes.CDLL(str(library))
    return found


def version() -> str:
    """Return the version of the compiler."""
    done = subprocess.run(
        [str(compiler()), "-dumpfullversion"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def row_of(values: np.ndarray, width: int, rest: float) -> np.ndarray:
    """Return an array of `width` plus one vector that begins with the values.

    It starts at the boundary of a cache line.
    """
    memory = np.full(width + 3 * VECTOR, rest)
    first = -memory.ctypes.data % 64 // 8
    row = memory[first : first + width + VECTOR]
    row[: values.size] = values
    return row


class Kernel:
    """One form on one run, with the initial arrays of the engine's state.

    Parameters
    ----------
    function : callable
        Function of the library.
    run : Run
        Run with Hertz, Ma-Liu, or a hysteresis dashpot, and equal beads.
    all_beads : bool
        If true, also compute the beads ahead of the front.
    """

    def __init__(self, function: Callable[..., None], run: Run, all_beads: bool):
        state = State(run.contacts, run.chain, run.step, BARE)
        n, width, bodies = run.chain.n_bodies, state.contacts.force.size, state.bodies
        names = [quantity.name for quantity in run.contacts.model.coefficients]
        stiffness = run.contacts.c[
            names.index("hertz_stiffness" if run.law == "ma-liu" else "stiffness")
        ]
        damping = run.contacts.c[names.index("damping")] if "damping" in names else np.zeros(n + 1)
        lowest = (
            run.contacts.c[names.index("lowest_force")]
            if "lowest_force" in names
            else np.zeros(n + 1)
        )
        at_rest = np.zeros(0)
        history = state.h if run.law == "ma-liu" else [at_rest] * 3
        rows = {
            "u": row_of(np.r_[-1.0, np.zeros(n)], width, 1.0),
            "v": row_of(bodies.v, width, 0.0),
            "a": row_of(at_rest, width, 0.0),
            "start": row_of(state.contacts.start, width, -np.inf),
            "kicks": row_of(bodies.dt_over_m, width, 0.0),
            "inverse_masses": row_of(bodies.inverse_mass, width, 0.0),
            "stiffnesses": row_of(stiffness, width, stiffness[-1]),
            "dampings": row_of(damping, width, damping[-1]),
            "row": row_of(at_rest, width, 0.0),
            "peak": row_of(at_rest, width, 0.0),
            "largest_overlap": row_of(at_rest, width, -np.inf),
            "limit": row_of(history[0], width, np.inf),
            "residual": row_of(history[1], width, 0.0),
            "unloading": row_of(history[2], width, 0.0),
            "ma_liu": np.ascontiguousarray(run.contacts.c[:, 1]),
        }
        dt, inverse_mass = run.step.value, bodies.inverse_mass[1]
        self.function, self.n, self.rows = function, n, rows
        self.arguments = Arguments(
            run.step.n_steps, n if all_beads else int(state.clock.front), n, width,
            dt, dt * inverse_mass, inverse_mass, stiffness[1], damping[1], lowest[1],
            *(rows[name].ctypes.data_as(DOUBLES) for name in ROWS),
        )  # fmt: skip

    def __call__(self) -> Answer:
        self.function(ctypes.byref(self.arguments))
        return self.rows["u"][1 : self.n + 1], self.rows["v"][1 : self.n + 1]

    def kept(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return last force, largest force [N], and largest overlap [m] of each contact."""
        return (
            self.rows["row"][1 : self.n + 2],
            self.rows["peak"][: self.n + 1],
            self.rows["largest_overlap"][: self.n + 1],
        )


def forms(
    libraries: dict[int, ctypes.CDLL], run: Run, keep: bool, all_beads: bool
) -> dict[str, Contender]:
    """Return all forms of the law of a run."""
    found = {}
    for label, form in FORMS.items():
        for width, library in libraries.items():
            name = f"{LAWS[run.law]}_{form}_{'keep' if keep else 'bare'}"
            # In hand-written vectors, the width does not depend on the compiler's preference.
            if not hasattr(library, name) or (
                form.startswith("vectors") and width != max(libraries)
            ):
                continue
            plain = f"{label}, {width} bit" if width and not form.startswith("vectors") else label
            found[plain] = Contender(
                partial(Kernel, getattr(library, name), run, all_beads), same=0.0
            )
    return found


def floors(libraries: dict[int, ctypes.CDLL], run: Run) -> dict[str, Contender]:
    """Compute only square roots: one per contact, padded to complete vectors, and step."""
    if not libraries:
        return {}
    library = libraries[max(libraries)]
    n = -(-(run.chain.n_bodies + 1) // VECTOR) * VECTOR

    def contender(function: Callable[..., None]) -> Contender:
        def prepare() -> Callable[[], Answer]:
            x = row_of(np.linspace(0.5, 2.0, n), n, 1.0)

            def timed() -> Answer:
                function(
                    x.ctypes.data_as(DOUBLES), ctypes.c_long(n), ctypes.c_long(run.step.n_steps + 1)
                )
                return x, x

            return timed

        return Contender(prepare, computes=False)

    names = {"square roots": "roots_sqrt", "square roots by rsqrt": "roots_rsqrt"}
    return {
        label: contender(getattr(library, name))
        for label, name in names.items()
        if hasattr(library, name)
    }
