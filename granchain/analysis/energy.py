"""Energy balance of a run: energy supplied, and energy at the end. SI units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granchain.chain import DRIVEN_DISPLACEMENT, End
from granchain.store import Result
from granchain.store.answer import case_of

# Terms of the energy balance. The residual is the change of their sum minus the external work.
LEDGER_ENERGIES = ("kinetic", "recoverable", "plastic", "viscous", "clamp")
# Terms of linear elements: energy of their springs, and losses in their dashpots.
ENERGIES_OF_ELEMENTS = ("elements", "elements_viscous")
ENERGIES = (*LEDGER_ENERGIES, "external", "residual")
# Fraction of the contact energy below which a change is a rounding error (our choice). In chains of
# 20 to 2,000 beads at rest under a load or their weight, the fraction is at most 1e-15, and the
# residual of the energy balance is three times the spacing of doubles, 2e-16.
OF_ROUNDING = 1e-12


class Numbers:
    """Base of a frozen dataclass, declared with eq=False, in which nan equals nan.

    With the comparison of Python 3.13 and later, nan differs from itself.
    """

    def _compared(self) -> tuple[Any, ...]:
        values = [getattr(self, name) for name in self.__dataclass_fields__]  # type: ignore[attr-defined]
        return tuple("nan" if value != value else value for value in values)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())


@dataclass(frozen=True, eq=False)
class EnergyBalance(Numbers):
    """Energy balance of a run at its end [J], with the largest residual.

    Attributes
    ----------
    supplied : float
        Energy supplied (see `supplied_energy`).
    recoverable_at_start : float
        Energy stored in the contacts by the static forces at the start.
    kinetic, recoverable, plastic, viscous, clamp, external, residual : float
        Energies at the end.
    largest_residual : float
        Largest absolute residual during the run divided by the energy supplied [1]. It is nan if no
        energy was supplied.
    elements, elements_viscous : float
        Energy stored in the springs of elements at the end, and energy lost in their dashpots.
        They are 0 in a chain without elements.
    radiated : float
        Energy that compliant ends have taken, included in elements_viscous.
    static_work, moving_recoverable, moving_supplied : float
        Values at the end, and the energy supplied, as defined by `moving_energy`.
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
    elements: float = 0.0
    elements_viscous: float = 0.0
    radiated: float = 0.0
    static_work: float = 0.0
    moving_recoverable: float = 0.0
    moving_supplied: float = 0.0

    @property
    def terms(self) -> dict[str, float]:
        """Terms of the energy balance at the end, without static energy [J].

        See `moving_energy`. Elements are listed only if their energy is not 0.
        """
        some = [name for name in ENERGIES_OF_ELEMENTS if getattr(self, name)]
        return {
            name: getattr(self, name) for name in (*LEDGER_ENERGIES, *some, "external", "residual")
        } | {
            "recoverable": self.moving_recoverable, "external": self.external - self.static_work
        }  # fmt: skip


def supplied_energy(kinetic: ArrayLike, external: ArrayLike, recoverable: ArrayLike = 0.0) -> float:
    """Return the energy supplied to a run [J].

    It is the kinetic energy at the start plus the largest external work.

    If the contacts release more energy than this work, for example with initial displacements, the
    largest released energy is used instead, including the work. A loaded chain at rest releases
    nothing, because its energy is at a minimum; less than `OF_ROUNDING` of it counts as zero.

    Parameters
    ----------
    kinetic, external, recoverable : array (n,)
        Energy of the balance versus time [J].
    """
    work = np.asarray(external, dtype=float)
    stored = np.atleast_1d(np.asarray(recoverable, dtype=float))
    freed = max(np.abs(work).max(), (stored[0] - stored + work).max())
    supplied = float(np.asarray(kinetic, dtype=float)[0] + freed)
    return 0.0 if supplied < OF_ROUNDING * stored.max() else supplied


def kinetic_and_stored(ledger: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinetic and the stored energy versus time, two arrays (n,) [J].

    Attached masses and the springs of elements are included.
    """
    stored = np.asarray(ledger["energy_recoverable"]) + ledger.get("energy_elements", 0.0)
    return np.asarray(ledger["energy_kinetic"], dtype=float), np.asarray(stored, dtype=float)


def residual_share(
    residual: ArrayLike, supplied: float, recoverable: ArrayLike = 0.0
) -> np.ndarray:
    """Return the absolute residual divided by the energy supplied, an array (n,).

    If no energy is supplied, as in a loaded chain at rest, the residual is divided by `OF_ROUNDING`
    of the energy of the contacts, which is their rounding error. If the contacts have no energy
    either, it is the absolute residual in J.

    Parameters
    ----------
    residual : array (n,)
        Energy of the balance versus time [J].
    supplied : float
        Energy supplied (see `supplied_energy`) [J].
    recoverable : array (n,)
        Energy of the balance versus time [J].
    """
    size = np.abs(np.asarray(residual, dtype=float))
    scale = max(supplied, OF_ROUNDING * float(np.asarray(recoverable).max()))
    with np.errstate(over="ignore"):
        return size / scale if scale > 0.0 else size


class MovingEnergy(NamedTuple):
    """Energy balance of a run relative to its static state.

    Parameters
    ----------
    static_work : array (n,)
        Work of the static loads: gravity, precompression, and driven ends against their static
        force [J].
    resting : float
        Minimum energy of the contacts without this work [J]. In a chain at rest it is the energy at
        the start.
    recoverable : array (n,)
        Energy of the contacts above this minimum [J].
    total : array (n,)
        Total energy: kinetic and recoverable energy at the start, and the work that is not static
        [J].
    supplied : float
        Energy supplied (see `supplied_energy`) [J].
    """

    static_work: np.ndarray
    resting: float
    recoverable: np.ndarray
    total: np.ndarray
    supplied: float


def moving_energy(result: Result) -> MovingEnergy:
    """Return the energy balance relative to the static state.

    The work of the static loads is a separate part of the result.

    A contact with the static force F0 that moves by d stores F0 d and returns it. For a weak wave
    this is much more than the energy of the wave, which is proportional to d^2.
    """
    ledger = ledger_in(result)
    recoverable, external = ledger["energy_recoverable"], ledger["energy_external"]
    kinetic, stored = kinetic_and_stored(ledger)
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
    """Return the energies of a result, with the names of the output file [J]."""
    return {
        f"energy_{name}": np.asarray(getattr(result, f"energy_{name}"), dtype=float)
        for name in (*ENERGIES, *ENERGIES_OF_ELEMENTS, "radiated")
        if f"energy_{name}" in result.variables
    }


def _static_work(result: Result) -> np.ndarray:
    """Return the static work, an array (n,) [J]. See `MovingEnergy`.

    The work of driven ends is left out if the case cannot be read.
    """
    work = np.zeros(len(result.energy_time))
    for name in ("energy_gravity", "energy_precompression"):
        if name in result.variables:
            work += getattr(result, name)
    case = case_of(result) if "energy_drives" in result.variables else None
    if case is None:
        return work
    from granchain.set_up import chain_of

    chain = chain_of(case)
    ends = ("left", chain.left), ("right", chain.right)
    for (side, end), force in zip(ends, chain.static_forces()[[0, -1]], strict=True):
        if end.kind == DRIVEN_DISPLACEMENT and force:
            start, *moved = displacements_of_end(case, side, [0.0, *result.energy_time])
            work += force * (np.array(moved) - start)
    return work


def displacements_of_end(case: Any, side: str, times: Iterable[float]) -> list[float]:
    """Return the displacements of a driven end, as in the time loop [m]."""
    from granchain.engine.drives import drive_at
    from granchain.engine.state import drive_of

    drive = case.driven(f"ends.{side}", own_clock=True)
    table = drive_of(End(DRIVEN_DISPLACEMENT, None, *drive))[1]
    return [drive_at(*table, time)[0] for time in times]


def energy_balance(result: Result) -> EnergyBalance | None:
    """Return the energy balance of a result at its end.

    Return None if the case does not record it.
    """
    if "energy_time" not in result.variables or not len(result.energy_time):
        return None
    ledger = ledger_in(result)
    kinetic, stored = kinetic_and_stored(ledger)
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
