"""Energy of each bead and contact versus time, and how far it spreads. SI units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granchain.analysis.energy import OF_ROUNDING, displacements_of_end
from granchain.case.start import new_walls
from granchain.chain import DRIVEN_DISPLACEMENT, Chain
from granchain.contact.model import Model
from granchain.errors import GranchainError
from granchain.store import Result
from granchain.store.answer import check_result
from granchain.store.schema import ATTACHED

if TYPE_CHECKING:
    from granchain.engine.setup import Contacts

# Relative tolerance of the agreement with the run (our choice): of the sum of the contact energies
# with the energy balance, relative to the largest energy of the contacts, and of the history with
# the recorded history, relative to the residual overlap. Rounding errors are about 1e-14. Another
# law or history differs far more.
AGREES = 1e-9


def bead_energy(result: Result) -> np.ndarray:
    """Return the energy of every body versus time, relative to the static state.

    It is the sum of m v^2/2, half of the energy of each contact with another body (or all of it for
    a contact with a wall), and the energy of its elements and their masses. The sum over all
    bodies is the complete moving energy, without the energy inside compliant ends. Martinez,
    Kevrekidis & Porter 2016, doi:10.1103/PhysRevE.93.022902, use such an energy density.

    Parameters
    ----------
    result : Result
        Result with snapshots (see `contact_energy`).

    Returns
    -------
    array (n_snapshots, n_bodies)
        Energies at the times `snapshot_time`, in the order of `bead` [J].

    Raises
    ------
    GranchainError
        Under the conditions of `contact_energy`.
    """
    return _energies_of(result, "bead_energy").bead


def contact_energy(result: Result) -> np.ndarray:
    """Return the recoverable energy of every contact versus time.

    It is relative to the static state.

    The energy is V(d) - V(d0) - F0 (d - d0), where d0 and F0 are the static overlap and force, and
    V is the recoverable energy of the law with the history of the contact. It is negative only if a
    precompressed contact yields further, for which the static work supplies the energy. The sum
    with the kinetic energy is the energy of the balance without static work (see `moving_energy`).

    Parameters
    ----------
    result : Result
        Result with snapshots (`interval` under [snapshots]). A law with residual indentation also
        needs `history = true`.

    Returns
    -------
    array (n_snapshots, n_contacts)
        Energies at the times `snapshot_time`, in the order of `contact` [J].

    Raises
    ------
    GranchainError
        If the result has no snapshots, if its case or law cannot be read, if it does not contain
        the history of the contacts, or if an end has an impedance.
    """
    return _energies_of(result, "contact_energy").contact


def second_moment(result: Result) -> np.ndarray:
    """Return the second moment of the energy, which shows how far it has spread.

    It is sum((n - nc)^2 e)/sum(e), where e is the `bead_energy`, n the label of the body, and nc =
    sum(n e)/sum(e) the centre of the energy.

    Parameters
    ----------
    result : Result
        See `bead_energy`.

    Returns
    -------
    array (n_snapshots,)
        Second moment in beads squared [1]. It is nan if nothing moves.

    Raises
    ------
    GranchainError
        Under the conditions of `contact_energy`, and if an energy is below 0.
    """
    e, labels = _shares(result, "second_moment"), np.asarray(result.bead, dtype=float)
    distances = labels - (e @ labels)[:, None]
    return np.asarray((e * distances * distances).sum(axis=1))


def participation(result: Result) -> np.ndarray:
    """Return the number of bodies that share the energy versus time.

    It is the `participation_ratio` of the `bead_energy`.

    Parameters
    ----------
    result : Result
        See `bead_energy`.

    Returns
    -------
    array (n_snapshots,)
        Number of bodies [1], from 1 to all bodies. It is nan if nothing moves.

    Raises
    ------
    GranchainError
        Under the conditions of `second_moment`.
    """
    return participation_ratio(_shares(result, "participation"))


def participation_ratio(energy: np.ndarray) -> np.ndarray:
    """Return the participation ratio (sum e)^2/sum e^2 over the last axis [1]."""
    e = np.asarray(energy)
    return np.asarray(e.sum(axis=-1) ** 2 / (e * e).sum(axis=-1))


class _EnergyShares(NamedTuple):
    """Energies of bodies and contacts [J], and the limit of rounding errors [J]."""

    bead: np.ndarray
    contact: np.ndarray
    rounding: float


def _shares(result: Result, where: str) -> np.ndarray:
    """Return the fractions of the energy, an array (n_snapshots, n_bodies).

    They are nan if the energy is a rounding error.
    """
    e, _, rounding = _energies_of(result, where)
    if e.min(initial=0.0) < -rounding:
        snapshot, body = np.unravel_index(int(e.argmin()), e.shape)
        raise GranchainError(
            f"{where}: the energy at body {int(result.bead[body])} at "
            f"{float(result.snapshot_time[snapshot]):.4g} s is {e[snapshot, body]:.4g} J. It must "
            "not be negative. Contacts that are pressed at rest have yielded further, and the "
            "static work that went into their residual indentation is not energy that moves. "
            "Reduce the load, or use bead_energy as it is."
        )
    total = e.sum(axis=1, keepdims=True)
    return np.divide(e, total, out=np.full_like(e, np.nan), where=total > e.shape[1] * rounding)


def _energies_of(result: Result, where: str) -> _EnergyShares:
    """Return the energies of bodies and contacts from the snapshots of a result."""
    from granchain.engine.setup import over_contacts, start_histories
    from granchain.set_up import contacts_of_cases

    check_result(result, where)
    missing = [
        name for name in ("snapshot_time", "displacement", "velocity")
        if name not in result.variables
    ]  # fmt: skip
    if missing:
        raise GranchainError(
            f"{where}: the result has no {', '.join(missing)}. A complete result of a chain with "
            "snapshots is required. Set `interval` under [snapshots] in the case, and run it "
            "again."
        )
    case: Any = result.case
    if case is None:
        raise GranchainError(
            f"{where}: the result has no case. The case is required because it describes the "
            "contacts. Run the case again."
        )
    ((chain, contacts),) = contacts_of_cases([case])
    present, model = chain.contacts, contacts.model
    d = _overlaps_of_snapshots(result, chain, contacts, where)[:, present]
    c, static, force = (
        contacts.c[:, present],
        contacts.overlaps[present],
        chain.static_forces()[present],
    )

    def stored_at(overlap: np.ndarray, deepest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the energies and the histories of contacts at these overlaps."""
        tiled = np.tile(c, (1, len(overlap)))
        h = start_histories(model, tiled, *[deepest.ravel()] * 2)
        energy = over_contacts(model.functions.energy, model, (overlap.ravel(),), tiled, h)
        return energy.reshape(overlap.shape), h.reshape(-1, *overlap.shape)

    deepest = np.broadcast_to(static, d.shape)
    # an energy that depends on the history is nan for a history of nan
    blank = np.full((len(model.history), c.shape[1]), np.nan)
    without_history = over_contacts(model.functions.energy, model, (static + 1e-9,), c, blank)
    if model.loses or model.forgets or not np.isfinite(without_history).all():
        # contacts that continue from another run may not have been at rest under this load
        continued = np.full(d.shape[1], case.stored_state is not None)
        for k, new in zip((0, -1), new_walls(case), strict=True):
            continued[k] &= not (new and chain.contact_exists[k])
        deepest = np.maximum(
            np.where(continued, -np.inf, deepest), _largest_overlaps(result, model, where)
        )
    stored, histories = stored_at(d, deepest)
    at_rest, _ = stored_at(static[None], static[None])
    _check_energies(result, model, stored, histories, where)
    energy = stored - at_rest - force * (d - static)
    bead = 0.5 * result.mass * np.asarray(result.velocity, dtype=float) ** 2
    bead += _element_energy(result, chain)
    # contact k lies between bodies k - 1 and k; a wall receives no half
    left, right = np.zeros((2, len(d), chain.n_bodies + 1))
    left[:, present] = right[:, present] = 0.5 * energy
    left[:, -1] *= 2.0
    right[:, 0] *= 2.0
    sizes = stored.max(initial=0.0), (static * force).max(initial=0.0), bead.max(initial=0.0)
    return _EnergyShares(
        bead + left[:, 1:] + right[:, :-1], energy, OF_ROUNDING * float(max(sizes))
    )


def _element_energy(result: Result, chain: Chain) -> np.ndarray:
    """Return the energy of each body's springs of elements, and of its attached masses [J].

    The array is (n_snapshots, n_bodies).
    """
    u, elements = np.asarray(result.displacement, dtype=float), chain.elements
    w, velocity = np.zeros((2, len(u), elements.body.size))
    if chain.n_attached:
        # the masses of compliant ends follow
        for column, name in ((w, "displacement"), (velocity, "velocity")):
            column[:, chain.attached] = result[f"{ATTACHED}_{name}"][:, : chain.n_attached]
    energy = 0.5 * (
        elements.mass * velocity**2 + elements.stiffness * (u[:, elements.body] - w) ** 2
    )
    total = np.zeros_like(u)
    np.add.at(total.T, elements.body, energy.T)
    return total


def _overlaps_of_snapshots(
    result: Result, chain: Chain, contacts: Contacts, where: str
) -> np.ndarray:
    """Return the overlap of every contact, an array (n_snapshots, n_bodies + 1) [m].

    Driven ends move as in the time loop. Raise GranchainError if an end has an impedance.
    """
    u = np.pad(np.asarray(result.displacement, dtype=float), ((0, 0), (1, 1)))
    for end_index, inwards, side in ((0, 1.0, "left"), (-1, -1.0, "right")):
        end, n = getattr(chain, side), chain.n_bodies
        if end.is_compliant and end.modes is None:
            structure = getattr(result.case.ends, side)._kind
            raise GranchainError(
                f"{where}: ends.{side} is {structure}, whose displacement snapshots do not store. "
                "An end with a mass or modes, or a fixed end, is required. Change it."
            )
        if end.is_compliant:
            of_end = result[f"{ATTACHED}_bead"] == chain.first_label + (n if end_index else -1)
            u[:, end_index] = result[f"{ATTACHED}_displacement"][:, of_end].sum(axis=1)
        elif end.kind == DRIVEN_DISPLACEMENT:
            moved = displacements_of_end(result.case, side, result.snapshot_time)
            u[:, end_index] = inwards * np.array(moved)
    zero = contacts.overlaps.copy()
    zero[1:-1] -= chain.gap
    return np.asarray(u[:, :-1] - u[:, 1:] + zero)


def _largest_overlaps(result: Result, model: Model, where: str) -> np.ndarray:
    """Return the largest overlaps so far, an array (n_snapshots, n_contacts) [m].

    Raise GranchainError if they do not determine the history of a contact.
    """
    if model.forgets or model.remembered("residual_overlap") < 0:
        raise GranchainError(
            f"{where}: the energy of the law {model.name} depends on a history that snapshots do "
            "not store. A law without such a history is required, or contacts that keep their "
            'residual indentation. Use dents = "keep", or another law.'  # words: ok: key of a case
        )
    if "snapshot_largest_overlap" not in result.variables:
        raise GranchainError(
            f"{where}: the snapshots do not store the contact histories, which the law "
            f"{model.name} requires. Set `history = true` under [snapshots] in the case, and run "
            "it again."
        )
    return np.asarray(result.snapshot_largest_overlap, dtype=float)


def _check_energies(
    result: Result, model: Model, stored: np.ndarray, histories: np.ndarray, where: str
) -> None:
    """Raise GranchainError if the energies do not agree with the recorded ones.

    The residual overlaps must equal those of the snapshots, and the sum of the energies must equal
    that of the energy balance.
    """
    row, agree = model.remembered("residual_overlap"), True
    if row >= 0 and "snapshot_residual_overlap" in result.variables:
        residual = np.asarray(result.snapshot_residual_overlap, dtype=float)
        agree = np.abs(histories[row] - residual).max(initial=0.0) <= AGREES * residual.max(
            initial=0.0
        )
    if "energy_recoverable" in result.variables:
        _, entry, snapshot = np.intersect1d(
            result.energy_time, result.snapshot_time, return_indices=True
        )
        ledger = np.asarray(result.energy_recoverable, dtype=float)
        difference = np.abs(stored.sum(axis=1)[snapshot] - ledger[entry]).max(initial=0.0)
        agree = agree and bool(difference <= AGREES * ledger.max(initial=0.0))
    if not agree:
        raise GranchainError(
            f"{where}: contact histories of the law {model.name} do not agree with their largest "
            "overlaps. The residual indentation and the energy balance of the run must agree "
            "with them. Run the case again, or use another law."
        )
