"""Coefficients of each contact of a chain, including the windows of the energy correction if the
law has one."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from types import SimpleNamespace

import numpy as np

from granchain.contact.guard import GUARD_WINDOWS
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.kinds import alike, kinds_of_columns
from granchain.engine.row_model import is_built_in, with_copies
from granchain.engine.scans import over_kinds
from granchain.errors import LawError, finite_force
from granchain.jit.accessors import gatherer
from granchain.jit.options import rows

# Points per decade of overlap in the search for a decreasing loss. The narrowest window of a
# published law (Jackson-Green, 1.9 to 1.922 critical overlaps) spans log10(1.922/1.9) = 0.005
# decades, which is five points.
GUARD_POINTS = 1000
# Minimum overlap of the search, relative to the maximum: a law may yield from the first touch. If
# the yield pressure is at least 1e-6 of the modulus, the yield overlap is above it: d_y/R = pi^2
# (p_y/(2 E))^2.
GUARD_REACH = 1e-12
# Number of points whose losses are computed together, in vectors.
GUARD_BLOCK = 256


def coefficients(
    model: Model, pair: Pair, inputs: SimpleNamespace, limits: np.ndarray
) -> np.ndarray:
    """Return the coefficients of each contact.

    Parameters
    ----------
    model : Model
        Contact law.
    pair : Pair
        Pair quantities, as (n_contacts,) arrays or scalars.
    inputs : namespace
        Value of each input of the law.
    limits : (n_contacts,) array
        Maximum overlap [m] that the windows must cover.

    Returns
    -------
    (n_coefficients, n_contacts) array
        Coefficients. If the law has an energy correction, its windows are included.

    Raises
    ------
    LawError
        If the pair lacks a quantity, or if a coefficient is not a number.
    """
    return with_windows(
        with_copies(model), own_coefficients(model, pair, inputs, limits.size), limits
    )


def own_coefficients(
    model: Model, pair: Pair, inputs: SimpleNamespace, n_contacts: int
) -> np.ndarray:
    """Return the (n_own, n_contacts) coefficients without windows."""
    try:
        with np.errstate(all="ignore"), finite_force(model.law):
            values = tuple(model.law.coefficients_of(pair, inputs))
    except LawError as error:
        if str(error).startswith("contact.law "):
            raise
        raise LawError(f"contact.law {model.name}: {error}") from None
    own = model.own
    if len(values) != len(own):
        raise LawError(
            f"contact law {model.name}: coefficients_of: the function returned {len(values)} "
            f"values. It must return {len(own)}, one for each coefficient "
            f"({', '.join(q.name for q in own)})."
        )
    table = np.empty((len(values), n_contacts))
    for row, value in zip(table, values, strict=True):
        row[:] = value
    bad = np.isnan(table).any(axis=1)
    if bad.any():
        raise LawError(
            f"contact law {model.name}: coefficient {own[int(bad.argmax())].name}: a value is not "
            "a number. Coefficients must be numbers. Check the inputs and the material."
        )
    return table


def coefficients_together(
    model: Model, shares: Sequence[tuple[Pair, SimpleNamespace, int]]
) -> list[np.ndarray]:
    """Return the `own_coefficients` of many (pair, inputs, n_contacts).

    Shares of a built-in law whose inputs differ only in numbers are computed in one call, once for
    each kind of contact. The results are bit-identical to those of separate calls.
    """
    tables: dict[int, np.ndarray] = {}
    together = is_built_in(model.law)
    forms = (form_of(*share[:2]) if together else k for k, share in enumerate(shares))
    for places in alike(forms):
        if len(places) > 1:
            # Separate calls find the first share with an error.
            with suppress(LawError, TypeError, ValueError):
                made = _in_one_call(model, [shares[k] for k in places])
                tables |= zip(places, made, strict=True)
        tables |= {k: own_coefficients(model, *shares[k]) for k in places if k not in tables}
    return [tables[k] for k in range(len(shares))]


def form_of(pair: Pair, inputs: SimpleNamespace) -> Hashable:
    """Return a key that is equal for pairs and inputs that differ only in numbers."""
    values = vars(inputs).values()
    kinds = [float if type(value) is float else repr(value) for value in values]
    return id(inputs) if np.ndarray in map(type, values) else (*vars(pair), *vars(inputs), *kinds)


def _in_one_call(
    model: Model, shares: Sequence[tuple[Pair, SimpleNamespace, int]]
) -> list[np.ndarray]:
    """Return the `own_coefficients` of shares of one form."""
    kinds: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
    for pair, _, size in shares:
        if (id(pair), size) not in kinds:
            quantities = np.array([np.broadcast_to(one, size) for one in pair.items().values()])
            first, which = kinds_of_columns([quantities])
            kinds[id(pair), size] = quantities[:, first], which
    of = [kinds[id(pair), size] for pair, _, size in shares]
    counts = [quantities.shape[1] for quantities, _ in of]
    pair = Pair(**dict(zip(shares[0][0].items(), np.hstack([one for one, _ in of]), strict=True)))
    columns = {name: [vars(inputs)[name] for _, inputs, _ in shares] for name in vars(shares[0][1])}
    # A law may be given a number for all contacts.
    inputs = SimpleNamespace(
        **{
            name: np.repeat(values, counts) if len(set(map(repr, values))) > 1 else values[0]
            for name, values in columns.items()
        }
    )
    table = own_coefficients(model, pair, inputs, sum(counts))
    parts = np.split(table, np.cumsum(counts)[:-1], axis=1)
    return [part[:, which] for part, (_, which) in zip(parts, of, strict=True)]


def with_windows(model: Model, table: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Append the windows of the energy correction to a table of coefficients.

    The table is unchanged if the law has no energy correction; see `coefficients`.
    """
    if not model.windows:
        return table
    if model.guarded is None:
        return np.vstack([table, np.zeros((model.windows, limits.size))])
    windows = over_kinds(
        _guard_scan,
        model,
        (table, limits[None, :]),
        3 * GUARD_WINDOWS + 1,
        (GUARD_BLOCK, GUARD_BLOCK),
    )
    if windows[-1].max() > GUARD_WINDOWS:
        raise LawError(
            f"contact law {model.name}: the loss decreases in more than {GUARD_WINDOWS} ranges of "
            f"the largest overlap. The energy correction can store at most {GUARD_WINDOWS} ranges. "
            "Make the loading curve or the residual overlap smoother."
        )
    return np.vstack([table, windows[:-1]])


def searches(loss: Callable) -> tuple[Callable, Callable]:
    """Return functions that find a value and the maximum of a law's loss."""

    def halved(low, high, value, c, rises):
        """Return two neighbouring overlaps between which the loss crosses a value.

        If `rises`, the loss rises to the value there; else it falls below it.
        """
        while high - low > 1e-15 * high:
            middle = 0.5 * (low + high)
            if (loss(middle, c) < value) == rises:
                low = middle
            else:
                high = middle
        return low, high

    def largest_between(low, high, c):
        """Return the overlap of the maximum loss, by golden-section search."""
        golden = 0.5 * (math.sqrt(5.0) - 1.0)
        for _ in range(80):
            one, two = high - golden * (high - low), low + golden * (high - low)
            if loss(one, c) >= loss(two, c):
                high = two
            else:
                low = one
        return low

    return halved, largest_between


def _guard_scan(model: Model) -> Callable:
    """Return a scan for the windows of the energy correction.

    In a window of the largest overlap, the loss D would decrease. A window consists of its start,
    its end, and the loss that applies in between.
    """
    assert model.guarded is not None
    loss, loading_work, elastic_limit, loss_rises_from = model.guarded
    overlap_limit = model.functions.overlap_limit
    halved, largest_between = searches(loss)
    gather = gatherer(len(model.own))

    @rows
    def losses_at(overlaps, losses, c, count):
        for i in range(count):
            losses[i] = loss(overlaps[i], c)

    def look_ahead(overlaps, losses, here, ratio, c, count):
        """Compute the next overlaps, and the losses where the law is defined."""
        largest, defined = overlap_limit(c), 0
        for i in range(count):
            here *= ratio
            overlaps[i] = here
            if here <= largest:
                defined = i + 1
        losses_at(overlaps, losses, c, defined)

    def scan(c, limits, overlaps, losses, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            limit = limits[0, k]
            s0 = max(elastic_limit(ck), GUARD_REACH * limit)
            if not s0 < limit:
                continue
            points = int(GUARD_POINTS * math.log10(limit / s0)) + 2
            ratio = math.pow(limit / s0, 1.0 / points)
            best, found, inside = 0.0, 0, False
            before, here, largest = s0, s0, overlap_limit(ck)
            rises_from = loss_rises_from(ck)
            for i in range(points):
                if i % GUARD_BLOCK == 0:
                    look_ahead(overlaps, losses, here, ratio, ck, min(GUARD_BLOCK, points - i))
                s, lost = overlaps[i % GUARD_BLOCK], losses[i % GUARD_BLOCK]
                if s > largest or (before > rises_from and not inside):
                    break
                if inside:
                    if lost >= best:
                        _, high = halved(here, s, best, ck, True)
                        inside = False
                        if found <= GUARD_WINDOWS:
                            out[3 * found - 2, k] = high
                        best = max(best, lost)
                # larger than the rounding error of a difference of two energies near U
                elif lost < best and lost < best - 1e-14 * loading_work(s, ck):
                    # The maximum loss lies between the point before the last and this one.
                    low = largest_between(before, s, ck)
                    if loss(low, ck) < best:
                        # The loss jumps. Find the last overlap between the last point and this one
                        # at which it has not decreased yet.
                        low, _ = halved(here, s, best, ck, False)
                    best = max(best, loss(low, ck))
                    inside = True
                    found += 1
                    if found <= GUARD_WINDOWS:
                        out[3 * found - 3, k] = low
                        out[3 * found - 2, k] = math.inf
                        out[3 * found - 1, k] = best
                else:
                    best = max(best, lost)
                before, here = here, s
            out[3 * GUARD_WINDOWS, k] = found

    return scan
