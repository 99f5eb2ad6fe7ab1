"""What each contact of a chain starts with: coefficients, windows of the energy guard, static overlap, history.

The scans here are plain functions of one column of coefficients. For the few kinds of contact of a usual chain they run as they are; for
many kinds (a taper, gravity) they are compiled. The bits are the same.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from types import SimpleNamespace

import numpy as np

from granchain.chain import Masses
from granchain.contact.guard import GUARD_WINDOWS
from granchain.contact.law import OPEN, ContactLaw, columns
from granchain.contact.model import Functions, Guarded, Model
from granchain.contact.pair import Pair
from granchain.engine.bounded import Bounded
from granchain.errors import CaseError, LawError
from granchain.jit.accessors import gatherer, put_rows
from granchain.jit.cache import compiled
from granchain.jit.options import frozen, is_frozen, rows

# Makes the scan of a model.
Maker = Callable[[Model], Callable]

# Above this many kinds of contact a scan is compiled: below it, compiling takes longer than the scan.
PLAIN_KINDS = 64
# Time that a scan may have taken as plain Python, in all, before it is compiled [s]: about what compiling takes.
PLAIN_SECONDS = 0.5
# What each has taken [s].
_SPENT: Bounded[float] = Bounded(1024)

# Answers of scans that a process remembers, and the bytes of them with what was asked: a study of a thousand cases, or some chains of
# 10^5 kinds of contact.
ANSWERS: Bounded[np.ndarray] = Bounded(4096, 64 * 2**20)
# Scans, of which a law has six at most.
_SCANS: Bounded[Callable] = Bounded(1024)

# Points per decade of overlap at which the guard looks for a falling loss: the narrowest window of a published law (Jackson-Green, 1.9
# to 1.922 critical overlaps) spans log10(1.922/1.9) = 0.005 decades, five points.
GUARD_POINTS = 1000
# Smallest overlap, in parts of the largest, at which it looks: a law may yield from the first touch. A pressure at yield of 1e-6 of the
# modulus and more gives an overlap above it: d_y/R = pi^2 (p_y/(2 E))^2.
GUARD_REACH = 1e-12
# Points whose losses are found in one go, in vectors.
GUARD_BLOCK = 256


def over_kinds(make: Maker, model: Model, inputs: tuple[np.ndarray, ...], n_out: int, scratch: tuple[int, ...] = ()) -> np.ndarray:
    """Apply a scan of one contact to each distinct column of its inputs, unless the process remembers what it gives.

    Parameters
    ----------
    make : callable
        Model -> plain function (table_1, ..., scratch_1, ..., out) that fills out[:, k] for every column k.
    inputs : tuple of (rows, n_contacts) array
        Tables whose columns together make the kind.
    n_out : int
        Rows of the result.
    scratch : tuple of int
        Lengths of the rows that the scan writes to on its way.

    Returns
    -------
    (n_out, n_contacts) array
    """
    first, which = kinds_of_columns(inputs)
    tables = tuple(np.ascontiguousarray(table[:, first]) for table in inputs)
    scan = _scan_of(make, model)
    # a scan is a copy that is never edited, and the only one for functions that do the same
    asked = (scan, n_out, *((table.shape, table.tobytes()) for table in tables))
    out = ANSWERS.get(asked)
    if out is None:
        out = np.zeros((n_out, first.size))
        spent = _SPENT.get(scan) or 0.0
        plain = first.size <= PLAIN_KINDS and spent <= PLAIN_SECONDS
        run, clock = scan if plain else compiled_scan(scan), time.perf_counter()
        with np.errstate(all="ignore"), finite(model.law):
            run(*tables, *map(np.zeros, scratch), out)
        if plain:
            _SPENT.put(scan, spent + time.perf_counter() - clock)
        ANSWERS.put(asked, out, out.nbytes + sum(table.nbytes for table in tables))
    return np.ascontiguousarray(out[:, which])


def kinds_of_columns(tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns of some tables that stand on each other: where each is met first, and the kind of each column.

    Neighbours are compared where they stand; what is left is looked through.
    """
    new = np.zeros(tables[0].shape[1], dtype=bool)
    new[:1] = True
    for table in tables:
        new[1:] |= (table[:, 1:] != table[:, :-1]).any(axis=0)
    runs = np.flatnonzero(new)
    first, which = kinds_of(np.ascontiguousarray(np.vstack([table[:, runs] for table in tables]).T))
    return runs[first], which[np.cumsum(new) - 1]


def kinds_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a table.

    Parameters
    ----------
    rows : (n, quantities) array

    Returns
    -------
    first : (kinds,) array
        Where each kind is met first.
    which : (n,) array
        The kind of each row.
    """
    new = np.ones(len(rows), dtype=bool)
    np.any(rows[1:] != rows[:-1], axis=1, out=new[1:])
    runs = np.flatnonzero(new)
    if runs.size == 1:
        return runs, np.zeros(len(rows), dtype=np.intp)
    # bit by bit, but that -0.0 is 0.0
    text, width = (rows[runs] + 0.0).tobytes(), rows.itemsize * rows.shape[1]
    known: dict[bytes, int] = {}
    kinds = np.array([known.setdefault(text[at : at + width], len(known)) for at in range(0, len(text), width)])
    _, first = np.unique(kinds, return_index=True)
    return runs[first], kinds[np.cumsum(new) - 1]


def with_copies(model: Model) -> Model:
    """The same model of functions that are `frozen`: what is remembered of it holds for as long as the process runs."""
    guarded = model.guarded and Guarded(*frozen(*model.guarded))
    return replace(model, functions=Functions(*frozen(*model.functions)), guarded=guarded)


class Copies:
    """Models of which alike ones share one that is made `with_copies`."""

    def __init__(self) -> None:
        self._met: list[tuple[Model, Model]] = []

    def of(self, asked: Model) -> Model:
        """The model that is shared."""
        for met, copy in self._met:
            if met == asked:
                return copy
        self._met.append((asked, with_copies(asked)))
        return self._met[-1][1]


def in_parts(table: np.ndarray, like: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A table cut along its last axis into as many columns as each of some rows has."""
    if len(like) == 1:
        return [table]
    ends = list(accumulate(row.size for row in like))
    return [table[..., end - row.size : end] for end, row in zip(ends, like, strict=True)]


def _scan_of(make: Maker, model: Model) -> Callable:
    """The scan of a model, `frozen`; of one `with_copies` it is remembered."""
    if not is_frozen(model.functions) or not (model.guarded is None or is_frozen(model.guarded)):
        return frozen(make(model))[0]
    sizes = (len(model.own), len(model.coefficients), len(model.history))
    key = (make, model.functions, model.guarded, model.uses_rate, *sizes)
    scan = _SCANS.get(key)
    if scan is None:
        scan = frozen(make(model))[0]
        _SCANS.put(key, scan)
    return scan


@contextlib.contextmanager
def finite(law: type[ContactLaw]) -> Iterator[None]:
    """Where a law of ours finds no number for its values, the message names the law; in a user's law, Python names the line."""
    try:
        yield
    except (ArithmeticError, ValueError) as error:
        if not law.__module__.startswith("granchain."):
            raise
        raise LawError(
            f"contact.law {law.name}: got values for which it has no finite force ({error}), allowed: of the order of real bodies; check "
            "radius, mass, modulus, yield stress and the law's inputs, and their units"
        ) from None


@cache
def compiled_scan(scan: Callable) -> Callable:
    """A scan, which is `frozen`, compiled."""

    def scan_all(*tables):  # type: ignore[no-untyped-def]
        scan(*tables)

    return compiled(scan_all)


def coefficients(model: Model, pair: Pair, inputs: SimpleNamespace, limits: np.ndarray) -> np.ndarray:
    """Coefficients of each contact, with the windows of the energy guard where the law has one.

    Parameters
    ----------
    model : Model
        The law, as it runs.
    pair : Pair
        Quantities of (n_contacts,) or scalars.
    inputs : namespace
        A value for each of the law's inputs.
    limits : (n_contacts,) array
        Largest overlap [m] that the guard has to cover.

    Returns
    -------
    (n_coefficients, n_contacts) array

    Raises
    ------
    LawError
        Where the pair misses something, or a coefficient is not a number.
    """
    return with_windows(model, own_coefficients(model, pair, inputs, limits.size), limits)


def own_coefficients(model: Model, pair: Pair, inputs: SimpleNamespace, n_contacts: int) -> np.ndarray:
    """(n_own, n_contacts) The coefficients that the law gives by itself; see `coefficients`."""
    try:
        with np.errstate(all="ignore"), finite(model.law):
            values = tuple(model.law.coefficients_of(pair, inputs))
    except LawError as error:
        if str(error).startswith("contact.law "):
            raise
        raise LawError(f"contact.law {model.name}: {error}") from None
    own = model.own
    if len(values) != len(own):
        raise LawError(
            f"contact law {model.name}: coefficients_of: got {len(values)} values, allowed: {len(own)}, one for each of its coefficients "
            f"({', '.join(q.name for q in own)}); return these"
        )
    table = columns(values, n_contacts)
    bad = np.isnan(table).any(axis=1)
    if bad.any():
        raise LawError(
            f"contact law {model.name}: coefficient {own[int(bad.argmax())].name}: got a value that is not a number, allowed: numbers; "
            "check the inputs and the material"
        )
    return table


def with_windows(model: Model, table: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """A table of a law's own coefficients, with the windows of the energy guard where the law has one; see `coefficients`."""
    if not model.windows:
        return table
    if model.guarded is None:
        return np.vstack([table, np.zeros((model.windows, limits.size))])
    windows = over_kinds(_guard_scan, model, (table, limits[None, :]), 3 * GUARD_WINDOWS + 1, (GUARD_BLOCK, GUARD_BLOCK))
    if windows[-1].max() > GUARD_WINDOWS:
        raise LawError(
            f"contact law {model.name}: got a loss that falls on more than {GUARD_WINDOWS} windows of the largest overlap, allowed: at "
            f"most {GUARD_WINDOWS}, which the energy guard holds; make the loading curve or the residual overlap smoother"
        )
    return np.vstack([table, windows[:-1]])


def _guard_scan(model: Model) -> Callable:
    """Windows of the largest overlap where the loss D would fall: start, end and the loss held in between."""
    assert model.guarded is not None
    loss, loading_work, elastic_limit = model.guarded
    gather = gatherer(len(model.own))

    @rows
    def losses_at(overlaps, losses, c, count):  # type: ignore[no-untyped-def]
        for i in range(count):
            losses[i] = loss(overlaps[i], c)

    def look_ahead(overlaps, losses, here, ratio, c, count):  # type: ignore[no-untyped-def]
        for i in range(count):
            here *= ratio
            overlaps[i] = here
        losses_at(overlaps, losses, c, count)

    def scan(c, limits, overlaps, losses, out):  # type: ignore[no-untyped-def]
        for k in range(c.shape[1]):
            ck = gather(c, k)
            limit = limits[0, k]
            s0 = max(elastic_limit(ck), GUARD_REACH * limit)
            if not s0 < limit:
                continue
            points = int(GUARD_POINTS * math.log10(limit / s0)) + 2
            ratio = math.pow(limit / s0, 1.0 / points)
            best, found, inside = 0.0, 0, False
            before, here = s0, s0
            for i in range(points):
                if i % GUARD_BLOCK == 0:
                    look_ahead(overlaps, losses, here, ratio, ck, min(GUARD_BLOCK, points - i))
                s, lost = overlaps[i % GUARD_BLOCK], losses[i % GUARD_BLOCK]
                if inside:
                    if lost >= best:
                        low, high = here, s
                        while high - low > 1e-15 * high:
                            middle = 0.5 * (low + high)
                            if loss(middle, ck) < best:
                                low = middle
                            else:
                                high = middle
                        inside = False
                        if found <= GUARD_WINDOWS:
                            out[3 * found - 2, k] = high
                        best = max(best, lost)
                # beyond the rounding of a difference of two energies near U
                elif lost < best and lost < best - 1e-14 * loading_work(s, ck):
                    # the largest loss lies between the point before the last and this one: golden section
                    low, high = before, s
                    golden = 0.5 * (math.sqrt(5.0) - 1.0)
                    for _ in range(80):
                        one, two = high - golden * (high - low), low + golden * (high - low)
                        if loss(one, ck) >= loss(two, ck):
                            high = two
                        else:
                            low = one
                    if loss(low, ck) < best:
                        # the loss jumps: the last place between the last point and this one where it has not fallen yet
                        low, high = here, s
                        while high - low > 1e-15 * high:
                            middle = 0.5 * (low + high)
                            if loss(middle, ck) < best:
                                high = middle
                            else:
                                low = middle
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


def settled(model: Model) -> Callable:
    """Plain function (overlap, c) -> history of a fresh contact loaded to an overlap at rest."""
    history_of, needs_update, update = model.functions.history_of, model.functions.needs_update, model.functions.update

    def settle(overlap, c):  # type: ignore[no-untyped-def]
        h = history_of(c)
        if overlap > OPEN and needs_update(overlap, 0.0, c, h):
            h = update((overlap, 0.0, 0.0, 1.0), c, h)
        return h

    return settle


def largest_force(model: Model, c: np.ndarray, limit: float) -> str:
    """The force at rest at the largest overlap, as a sentence has it; nothing where the law has none that is a number."""
    ck = tuple(c.tolist())
    try:
        force = model.functions.force(float(limit), 0.0, ck, settled(model)(float(limit), ck))
    except (ArithmeticError, ValueError):
        force = math.nan
    return f", here {force:.6g} N" if math.isfinite(force) else ""


def static_overlaps(model: Model, c: Sequence[np.ndarray], limits: Sequence[np.ndarray], rows: Sequence[Masses]) -> list[np.ndarray]:
    """Overlap [m] at which each contact of some rows at rest carries its static force; `limits` are the largest allowed ones [m].

    Raises
    ------
    CaseError
        Where the law has no such force within its range.
    """
    forces = [masses.static_forces() for masses in rows]
    overlaps = [np.zeros(force.size) for force in forces]
    loaded = [m for m, force in enumerate(forces) if force.any()]
    if not loaded:
        return overlaps
    table, force = np.hstack([c[m] for m in loaded]), np.concatenate([forces[m] for m in loaded])
    within = contact_limits(model, table, np.concatenate([limits[m] for m in loaded]))
    found = over_kinds(_static_scan, model, (table, force[None, :], within[None, :]), 1)[0]
    first = 0
    for m in loaded:
        mine = slice(first, first + forces[m].size)
        first, overlaps[m] = mine.stop, np.ascontiguousarray(found[mine])
        bad = np.flatnonzero(np.isnan(overlaps[m]))
        if bad.size:
            k = int(bad[0])
            most = within[mine][k]
            raise CaseError(
                f"chain.precompression: got {forces[m][k]:.6g} N that contact {int(rows[m].contact_labels[k])} has to carry at rest, "
                f"allowed: at most the force of the law {model.name} at its largest overlap, {most:.6g} m"
                f"{largest_force(model, c[m][:, k], most)}; lower the precompression or gravity, or take another law"
            )
    return overlaps


def _static_scan(model: Model) -> Callable:
    force, settle = model.functions.force, settled(model)
    gather = gatherer(len(model.coefficients))

    def scan(c, forces, limits, out):  # type: ignore[no-untyped-def]
        for k in range(c.shape[1]):
            ck = gather(c, k)
            wanted = forces[0, k]
            low, high = 0.0, limits[0, k]
            if wanted <= 0.0:
                continue
            if not force(high, 0.0, ck, settle(high, ck)) >= wanted:
                out[0, k] = math.nan
                continue
            middle = high
            for _ in range(1100):
                middle = 0.5 * (low + high) if low > 0.0 and high < 4.0 * low else math.sqrt(max(low, 1e-30) * high)
                if middle <= low or middle >= high:
                    break
                if force(middle, 0.0, ck, settle(middle, ck)) < wanted:
                    low = middle
                else:
                    high = middle
            # of the two neighbours, the one whose force is nearer; none is near where the law's force jumps past the wanted one
            short = wanted - force(low, 0.0, ck, settle(low, ck))
            over = force(high, 0.0, ck, settle(high, ck)) - wanted
            out[0, k] = high if over <= short else low
            if min(short, over) > 1e-9 * wanted:
                out[0, k] = math.nan

    return scan


def start_histories(model: Model, c: np.ndarray, static: np.ndarray, overlaps: np.ndarray | None = None) -> np.ndarray:
    """(n_history, n_contacts) History at the start: fresh, or loaded to the static overlap (which may have yielded).

    Where the contacts begin at other `overlaps` [m], to these from there.
    """
    if not model.history:
        return np.zeros((0, static.size))
    return over_kinds(_history_scan, model, (c, np.vstack([static, static if overlaps is None else overlaps])), len(model.history))


def _history_scan(model: Model) -> Callable:
    settle, needs_update, update = settled(model), model.functions.needs_update, model.functions.update
    gather, store = gatherer(len(model.coefficients)), put_rows

    def scan(c, overlaps, out):  # type: ignore[no-untyped-def]
        for k in range(c.shape[1]):
            ck, static, begin = gather(c, k), overlaps[0, k], overlaps[1, k]
            h = settle(static, ck)
            if begin != static and (begin > OPEN or static > OPEN) and needs_update(begin, 0.0, ck, h):
                h = update((begin, 0.0, 0.0, 1.0), ck, h)
            store(out, k, h)

    return scan


def contact_limits(model: Model, c: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """(n_contacts,) The smaller of the radius limit and the law's own largest overlap [m]."""
    return np.minimum(limits, over_kinds(_largest_scan, model, (c,), 1)[0])


def _largest_scan(model: Model) -> Callable:
    largest_overlap = model.functions.largest_overlap
    gather = gatherer(len(model.coefficients))

    def scan(c, out):  # type: ignore[no-untyped-def]
        for k in range(c.shape[1]):
            out[0, k] = largest_overlap(gather(c, k))

    return scan
