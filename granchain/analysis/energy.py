"""The energy ledger of a run: what is put in, and where it is at the end. SI units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from granchain.store import Result

# The ledger: kinetic + recoverable + plastic + viscous + clamp (+ drag) - external
# - (kinetic + recoverable at the start) = residual.
ENERGIES_HELD = ("kinetic", "recoverable", "plastic", "viscous", "clamp")
ENERGIES = (*ENERGIES_HELD, "external", "residual")
# Part of the energy that contacts hold below which it is rounding that moves, ours: in chains of 20
# to 2,000 beads at rest under a load or their weight it is at most 1e-15, and the residual of their
# ledger 3 times the spacing of doubles, 2e-16.
OF_ROUNDING = 1e-12


@dataclass(frozen=True)
class EnergyBalance:
    """Ledger of a run at its end [J], and its largest residual.

    Attributes
    ----------
    put_in : float
        See `energy_put_in`.
    recoverable_at_start : float
        What a static start had stored in the contacts.
    kinetic, recoverable, plastic, viscous, clamp, external, residual : float
        At the end.
    largest_residual : float
        Largest size of the residual over the run, relative to what was put in [1]; nan where
        nothing was.
    drag : float
        Lost to drag at the end; 0 in a chain without.
    """

    put_in: float
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

    @property
    def parts(self) -> dict[str, float]:
        """The ledger at the end by name, drag only where there is some [J]."""
        drag = ("drag",) if self.drag else ()
        return {
            name: getattr(self, name) for name in (*ENERGIES_HELD, *drag, "external", "residual")
        }


def energy_put_in(kinetic: ArrayLike, external: ArrayLike, recoverable: ArrayLike = 0.0) -> float:
    """Energy that a run is given [J]: kinetic at the start, and the largest work from outside.

    Where more than that work is set free, as by beads that are displaced at the start, it is what
    the contacts set free at most, with the work. A chain at rest under load sets nothing free: its
    energy is as low as can be, and what is below `OF_ROUNDING` of it is none.

    Parameters
    ----------
    kinetic, external, recoverable : array (n,)
        Of the ledger, over time [J].
    """
    work = np.asarray(external, dtype=float)
    stored = np.atleast_1d(np.asarray(recoverable, dtype=float))
    freed = max(np.abs(work).max(), (stored[0] - stored + work).max())
    put_in = float(np.asarray(kinetic, dtype=float)[0] + freed)
    return 0.0 if put_in < OF_ROUNDING * stored.max() else put_in


def residual_share(residual: ArrayLike, put_in: float, recoverable: ArrayLike = 0.0) -> np.ndarray:
    """(n,) Size of the ledger's residual over the energy put in.

    Where nothing is put in, as in a loaded chain at rest, it is over `OF_ROUNDING` of what the
    contacts hold, which is rounding; and the size itself, in J, where they hold nothing either.

    Parameters
    ----------
    residual : array (n,)
        Of the ledger, over time [J].
    put_in : float
        See `energy_put_in` [J].
    recoverable : array (n,)
        Of the ledger, over time [J].
    """
    size = np.abs(np.asarray(residual, dtype=float))
    scale = max(put_in, OF_ROUNDING * float(np.max(recoverable)))
    with np.errstate(over="ignore"):
        return size / scale if scale > 0.0 else size


def energy_balance(result: Result) -> EnergyBalance | None:
    """Energy ledger of a result at its end; None where the case asks for none."""
    if "energy_time" not in result.variables or not len(result.energy_time):
        return None
    ledger = {name: np.asarray(getattr(result, f"energy_{name}"), dtype=float) for name in ENERGIES}
    put_in = energy_put_in(ledger["kinetic"], ledger["external"], ledger["recoverable"])
    share = residual_share(ledger["residual"], put_in, ledger["recoverable"])
    return EnergyBalance(
        put_in=put_in,
        recoverable_at_start=float(ledger["recoverable"][0]),
        largest_residual=float(share.max()) if put_in > 0.0 else math.nan,
        **{name: float(values[-1]) for name, values in ledger.items()},
        drag=float(result.energy_drag[-1]) if "energy_drag" in result.variables else 0.0,
    )
