"""The energy ledger of a run: what is put in, and where it is at the end. SI units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granchain.chain import DRIVEN_DISPLACEMENT, FREE, WALL, End, Masses
from granchain.plain_data import Numbers
from granchain.store import Result
from granchain.store.result import case_of

# The ledger: sum of the terms - external - that sum at the start = residual.
LEDGER_ENERGIES = ("kinetic", "recoverable", "plastic", "viscous", "clamp")
# Terms of chains that have drag, on-site springs or resonators.
ENERGIES_OF_SITES = (
    "drag",
    "on_site",
    "on_site_damping",
    "resonator_kinetic",
    "resonator_elastic",
    "resonator_damping",
)
ENERGIES = (*LEDGER_ENERGIES, "external", "residual")
# Stored in springs without a force at rest.
_SPRINGS = ("on_site", "resonator_elastic")
# Part of the energy that contacts hold below which it is rounding that moves, ours: in chains of 20
# to 2,000 beads at rest under a load or their weight it is at most 1e-15, and the residual of their
# ledger 3 times the spacing of doubles, 2e-16.
OF_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class EnergyBalance(Numbers):
    """Ledger of a run at its end [J], and its largest residual.

    Attributes
    ----------
    supplied : float
        See `supplied_energy`.
    recoverable_at_start : float
        What a static start had stored in the contacts.
    kinetic, recoverable, plastic, viscous, clamp, external, residual : float
        At the end.
    largest_residual : float
        Largest size of the residual over the run, relative to what was put in [1]; nan where
        nothing was.
    drag : float
        Lost to drag at the end; 0 in a chain without.
    on_site, on_site_damping, resonator_kinetic, resonator_elastic, resonator_damping : float
        Stored in on-site springs at the end, and lost in their dashpots; of the resonators the
        kinetic energy, stored and lost; 0 in a chain without.
    static_work, moving_recoverable, moving_supplied : float
        At the end, and what is put in, see `moving_energy`.
    """

    supplied: float
    recoverable_at_start: float
    kinetic: float
    recoverable: float
    plastic: float
    viscous: float
    clamp: float
    external: float
    residual: float
    largest_residual: float
    drag: float = 0.0
    on_site: float = 0.0
    on_site_damping: float = 0.0
    resonator_kinetic: float = 0.0
    resonator_elastic: float = 0.0
    resonator_damping: float = 0.0
    static_work: float = 0.0
    moving_recoverable: float = 0.0
    moving_supplied: float = 0.0

    @property
    def terms(self) -> dict[str, float]:
        """The ledger at the end by name beyond what rests, see `moving_energy`; drag and the like
        only where there is some [J]."""
        some = [name for name in ENERGIES_OF_SITES if getattr(self, name)]
        return {
            name: getattr(self, name) for name in (*LEDGER_ENERGIES, *some, "external", "residual")
        } | {
            "recoverable": self.moving_recoverable, "external": self.external - self.static_work
        }  # fmt: skip


def supplied_energy(kinetic: ArrayLike, external: ArrayLike, recoverable: ArrayLike = 0.0) -> float:
    """Energy that a run is given [J]: kinetic at the start, and the largest work from outside.

    Where more than that work is set free, as by beads that are displaced at the start, it is what
    the contacts set free at most, with the work. A chain at rest under load sets nothing free: its
    energy is at a minimum, and a share below `OF_ROUNDING` of it counts as zero.

    Parameters
    ----------
    kinetic, external, recoverable : array (n,)
        Of the ledger, over time [J].
    """
    work = np.asarray(external, dtype=float)
    stored = np.atleast_1d(np.asarray(recoverable, dtype=float))
    freed = max(np.abs(work).max(), (stored[0] - stored + work).max())
    supplied = float(np.asarray(kinetic, dtype=float)[0] + freed)
    return 0.0 if supplied < OF_ROUNDING * stored.max() else supplied


def in_motion_and_store(ledger: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """(2, n) Kinetic energy, of resonators too, and what contacts, on-site springs and those of
    resonators store [J], of a ledger by the names of the output file."""
    kinetic, stored = (
        sum(np.asarray(ledger[f"energy_{name}"], dtype=float) for name in names
            if f"energy_{name}" in ledger)
        for names in (("kinetic", "resonator_kinetic"), ("recoverable", *_SPRINGS))
    )  # fmt: skip
    return np.asarray(kinetic), np.asarray(stored)


def residual_share(
    residual: ArrayLike, supplied: float, recoverable: ArrayLike = 0.0
) -> np.ndarray:
    """(n,) Size of the ledger's residual over the energy put in.

    Where nothing is put in, as in a loaded chain at rest, it is over `OF_ROUNDING` of what the
    contacts hold, which is rounding; and the size itself, in J, where they hold nothing either.

    Parameters
    ----------
    residual : array (n,)
        Of the ledger, over time [J].
    supplied : float
        See `supplied_energy` [J].
    recoverable : array (n,)
        Of the ledger, over time [J].
    """
    size = np.abs(np.asarray(residual, dtype=float))
    scale = max(supplied, OF_ROUNDING * float(np.max(recoverable)))
    with np.errstate(over="ignore"):
        return size / scale if scale > 0.0 else size


class MovingEnergy(NamedTuple):
    """The ledger of a run beyond its state at rest.

    Parameters
    ----------
    static_work : array (n,)
        Work of what loads the row at rest: gravity, precompression, and driven ends against the
        force that they hold at rest [J].
    resting : float
        What the contacts hold at least, apart from that work [J]: at the start of a row at rest.
    recoverable : array (n,)
        What they hold beyond that [J].
    total : array (n,)
        What there is: kinetic and recoverable at the start, and the work that is not static [J].
    supplied : float
        See `supplied_energy` [J].
    """

    static_work: np.ndarray
    resting: float
    recoverable: np.ndarray
    total: np.ndarray
    supplied: float


def moving_energy(result: Result) -> MovingEnergy:
    """The ledger beyond the state at rest, with static work apart.

    A contact that is pressed by F0 and moves by d takes up F0 d, and gives it back: of a weak wave
    that is far more than what the wave carries, which goes with d^2.
    """
    ledger = ledger_in(result)
    recoverable, external = ledger["energy_recoverable"], ledger["energy_external"]
    kinetic, stored = in_motion_and_store(ledger)
    springs = stored - recoverable
    static, work = _static_work(result), external
    if np.any(static):
        work, recoverable = external - static, recoverable - static
    resting = float(recoverable.min())
    recoverable = recoverable - resting
    supplied = supplied_energy(kinetic, work, recoverable + springs)
    if supplied_energy(kinetic, external, stored) == 0.0:
        supplied = 0.0
    total = kinetic[0] + (recoverable + springs)[0] + work
    return MovingEnergy(static, resting, recoverable, total, supplied)


def ledger_in(result: Result) -> dict[str, np.ndarray]:
    """The energies of a result by the names of the output file [J]."""
    return {
        f"energy_{name}": np.asarray(getattr(result, f"energy_{name}"), dtype=float)
        for name in (*ENERGIES, *ENERGIES_OF_SITES)
        if f"energy_{name}" in result.variables
    }


def _static_work(result: Result) -> np.ndarray:
    """(n,) See `MovingEnergy` [J]; of driven ends nothing where the case cannot be read."""
    work = np.zeros(len(result.energy_time))
    for name in ("energy_gravity", "energy_precompression"):
        if name in result.variables:
            work += getattr(result, name)
    case = case_of(result) if "energy_drives" in result.variables else None
    if case is None:
        return work
    from granchain.engine.drives import drive_at
    from granchain.engine.state import drive_of

    ends = []
    for side in ("left", "right"):
        end = getattr(case.ends, side)
        if isinstance(end, str):
            ends.append(End(FREE if end == FREE else WALL))
        else:
            ends.append(End(end.drive, None, *case.driven(f"ends.{side}", own_clock=True)))
    bodies, mass = len(result.mass), result.mass
    if "resonator_mass" in result.variables:
        # their weight rests on the beads
        riding = result.resonator_bead - result.bead[0]
        mass = mass + np.bincount(riding, result.resonator_mass, bodies)
    row = Masses(
        mass=mass, velocity=np.zeros(bodies), gap=np.zeros(bodies - 1), left=ends[0],
        right=ends[1], has_striker=bool(result.bead[0] == 0),
        precompression=case.chain.precompression, gravity=case.chain.gravity,
    )  # fmt: skip
    for end, force in zip(ends, row.static_forces()[[0, -1]], strict=True):
        if end.kind == DRIVEN_DISPLACEMENT and force:
            table = drive_of(end)[1]
            moved = np.array([drive_at(*table, t)[0] for t in result.energy_time])
            work += force * (moved - drive_at(*table, 0.0)[0])
    return work


def energy_balance(result: Result) -> EnergyBalance | None:
    """Energy ledger of a result at its end; None where the case asks for none."""
    if "energy_time" not in result.variables or not len(result.energy_time):
        return None
    ledger = ledger_in(result)
    kinetic, stored = in_motion_and_store(ledger)
    supplied = supplied_energy(kinetic, ledger["energy_external"], stored)
    share = residual_share(ledger["energy_residual"], supplied, stored)
    moving = moving_energy(result)
    return EnergyBalance(
        supplied=supplied,
        recoverable_at_start=float(ledger["energy_recoverable"][0]),
        largest_residual=float(share.max()) if supplied > 0.0 else math.nan,
        **{name.removeprefix("energy_"): float(values[-1]) for name, values in ledger.items()},
        static_work=float(moving.static_work[-1]),
        moving_recoverable=float(moving.recoverable[-1]),
        moving_supplied=moving.supplied,
    )
