"""Contacts of a run, set up from law, pair, inputs, limits, and static forces.

The contacts of many chains are set up together. The steps are: restitutions from another law, the
model (mixture.py), coefficients with the windows of the energy correction, static overlaps, and
initial histories. Each step runs a scan once for all distinct kinds of contact.

A scan is a plain function of one column of coefficients. A usual chain has few kinds of contact,
and its scans run as plain Python. For many kinds (a taper, gravity), scans are compiled, with
bit-identical results.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from granchain.chain import Masses
from granchain.contact import laws
from granchain.contact.guard import GUARD_WINDOWS
from granchain.contact.law import OPEN, SPEED_NODES, ContactLaw
from granchain.contact.law_record import CARRIED, LawRecord
from granchain.contact.model import Model
from granchain.contact.pair import Pair
from granchain.engine.mixture import mixed_model, models_of, shared_models, with_copies
from granchain.errors import CaseError, LawError, finite_force
from granchain.jit.accessors import gatherer, store_rows
from granchain.jit.compile import compiled, frozen, reach_of, rows


@dataclass(frozen=True)
class Contacts:
    """Contacts of a chain with one law: properties that do not change during a run.

    Parameters
    ----------
    model : Model
        Contact law.
    c : (n_coefficients, n_contacts) array
        Coefficients.
    overlaps : (n_contacts,) array
        Static overlaps [m].
    limits : (n_contacts,) array
        Overlap at which the run stops [m].
    history : (n_history, n_contacts + 1) array
        History at the start: fresh, or after loading to the static overlap and then to the initial
        overlap of the displaced bodies. The last column is a fresh contact like the last one.
    """

    model: Model
    c: np.ndarray
    overlaps: np.ndarray
    limits: np.ndarray
    history: np.ndarray


class RowInputs(NamedTuple):
    """Chain of masses, and the laws and inputs of its contacts.

    Parameters
    ----------
    law : type of ContactLaw
        Law of all contacts without an individual law.
    masses : Masses
        Bodies between the ends, and their loads.
    pair : Pair
        The two bodies of each contact: numbers, or (n_contacts,) arrays.
    limits : (n_contacts,) array
        Overlap at which the run stops [m].
    inputs : namespace
        Value of each input of the law.
    of_pairs : tuple of ((n_contacts,) boolean array, namespace)
        Contacts with other inputs, and these inputs; no contact is in two groups.
    individual : tuple of ((n_contacts,) boolean array, type of ContactLaw, namespace)
        Contacts with an individual law, the law, and its inputs.
    """

    law: type[ContactLaw]
    masses: Masses
    pair: Pair
    limits: np.ndarray
    inputs: SimpleNamespace
    of_pairs: tuple[tuple[np.ndarray, SimpleNamespace], ...] = ()
    individual: tuple[tuple[np.ndarray, type[ContactLaw], SimpleNamespace], ...] = ()


class ContactGroup(NamedTuple):
    """Contacts of a chain with one law and one set of inputs.

    Parameters
    ----------
    chain : int
        Index of the chain.
    selected : (n_contacts,) boolean array
        Contacts of the chain that belong to the group.
    pair, limits : Pair, array
        Their pair and their maximum overlaps [m].
    law : type of ContactLaw
    inputs : namespace
        Value of each input of the law.
    model : Model, optional
        Model of the law for these inputs.
    """

    chain: int
    selected: np.ndarray
    pair: Pair
    limits: np.ndarray
    law: type[ContactLaw]
    inputs: SimpleNamespace
    model: Any = None


def contacts_together(rows: Sequence[RowInputs]) -> list[Contacts]:
    """Set up the contacts of many chains together, as if each were set up alone.

    Raises
    ------
    LawError, CaseError
        For the first chain whose law lacks a quantity, or has no force for the static load.
    """
    groups = [group for index, row in enumerate(rows) for group in groups_of(index, row)]
    inputs = with_restitutions(
        [
            (group.inputs, group.pair, group.limits, rows[group.chain].masses.velocity)
            for group in groups
        ]
    )
    models = shared_models(
        [group.law.model(values) for group, values in zip(groups, inputs, strict=True)]
    )
    of_chains: list[list[ContactGroup]] = [[] for _ in rows]
    for group, values, model in zip(groups, inputs, models, strict=True):
        of_chains[group.chain].append(group._replace(inputs=values, model=model))
    models = []
    for row, of_chain in zip(rows, of_chains, strict=True):
        distinct = tuple({id(group.model): group.model for group in of_chain}.values())
        if len(distinct) > 1 and not row.individual:
            raise LawError(
                f"contact law {row.law.name}: the inputs of a pair of materials change the form of "
                "the law. All contacts must have the same form of the law. Set these inputs for "
                "all contacts."
            )
        models.append(mixed_model(distinct) if len(distinct) > 1 else distinct[0])
    contacts_of_chain: dict[int, Contacts] = {}
    for members in alike(map(id, models)):
        contacts = _contacts_of_model(
            models[members[0]], [rows[m] for m in members], [of_chains[m] for m in members]
        )
        contacts_of_chain |= zip(members, contacts, strict=True)
    return [contacts_of_chain[index] for index in range(len(rows))]


def groups_of(index: int, row: RowInputs) -> list[ContactGroup]:
    """Return the groups of contacts of a chain: each existing contact is in one group."""
    exists = row.masses.contact_exists
    # Columns of a body without contacts are set up as well.
    default = exists.copy() if exists.any() else ~exists
    for selected, _, _ in row.individual:
        default &= ~selected
    of_pairs = [(selected & default, row.law, inputs) for selected, inputs in row.of_pairs]
    for selected, _, _ in of_pairs:
        default &= ~selected
    groups = []
    for selected, law, inputs in [(default, row.law, row.inputs), *of_pairs, *row.individual]:
        pair, limits = row.pair, row.limits[selected]
        if limits.size < selected.size:
            values = pair.items().items()
            pair = Pair(
                **{name: np.asarray(x)[selected] if np.ndim(x) else x for name, x in values}
            )
        if limits.size:
            groups.append(ContactGroup(index, selected, pair, limits, law, inputs))
    return groups


def _contacts_of_model(
    model: Model, rows: Sequence[RowInputs], groups: Sequence[Sequence[ContactGroup]]
) -> list[Contacts]:
    """Return the contacts of chains with one model.

    During set-up, each chain has one additional column: a fresh contact like its last.
    """
    sizes = np.array([row.limits.size + 1 for row in rows])
    ends = np.cumsum(sizes)
    columns = [slice(end - size, end - 1) for end, size in zip(ends.tolist(), sizes, strict=True)]
    limits = np.concatenate([most for row in rows for most in (row.limits, row.limits[-1:])])
    c = np.zeros((len(model.coefficients), limits.size))
    positions = [
        (those.start + np.flatnonzero(group.selected), group)
        for those, of_chain in zip(columns, groups, strict=True)
        for group in of_chain
    ]
    for same in alike(id(group.model) for _, group in positions):
        of_law = [positions[k] for k in same]
        law_model, where = of_law[0][1].model, np.concatenate([where for where, _ in of_law])
        shares = [(group.pair, group.inputs, group.limits.size) for _, group in of_law]
        without_windows = np.hstack(coefficients_together(law_model, shares))
        quantities = np.arange(len(model.coefficients))
        if law_model is not model:
            # A mixture: the first coefficient of a contact is the index of its law.
            c[0, where] = models_of(model).index(law_model)
            quantities = np.array([model.coefficient(q.name) for q in law_model.coefficients])
        c[np.ix_(quantities, where)] = with_windows(law_model, without_windows, limits[where])
    # An end without a wall has no contact. Its column copies that of its neighbour, so that it is
    # not a separate kind.
    walls = np.array([[row.masses.left.has_wall, row.masses.right.has_wall] for row in rows])
    left, right = (ends - sizes)[~walls[:, 0]], ends[~walls[:, 1]] - 2
    for copies, neighbours in ((left, left + 1), (right, right - 1), (ends - 1, ends - 2)):
        c[:, copies], limits[copies] = c[:, neighbours], limits[neighbours]
    static = static_overlaps(model, c, limits, [row.masses for row in rows])
    begin = static.copy()
    for row, those in zip(rows, columns, strict=True):
        if row.masses.is_displaced:
            begin[those] = row.masses.first_overlaps(static[those])
    begin[ends - 1] = 0.0
    history = start_histories(model, c, static, begin)
    return [
        Contacts(
            model, c[:, those], static[those], limits[those],
            history[:, those.start : those.stop + 1],
        )
        for those in columns
    ]  # fmt: skip


# --------------------------------------------------------------------------------------------------
# Coefficients of each contact, including the windows of the energy correction if the law has one.

# Points per decade of overlap in the search for a decreasing loss. The narrowest window of a
# published law (Jackson-Green, 1.9 to 1.922 critical overlaps) spans log10(1.922/1.9) = 0.005
# decades, which is five points.
GUARD_POINTS = 1000
# Smallest overlap of the search, relative to the largest. A law may yield at the first contact, but
# if the yield pressure is at least 1e-6 of the modulus, its yield overlap is larger: d_y/R = pi^2
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
    table = coefficients_without_windows(model, pair, inputs, limits.size)
    # Results of scans are stored, which requires a model with `frozen` functions.
    return with_windows(with_copies(model), table, limits)


def coefficients_without_windows(
    model: Model, pair: Pair, inputs: SimpleNamespace, n_contacts: int
) -> np.ndarray:
    """Return the coefficients of each contact, without the windows of the energy correction.

    The result has a row for each of `model.own`. The pair has numbers or (n_contacts,) arrays.
    """
    try:
        with np.errstate(all="ignore"), finite_force(model.law):
            values = tuple(model.law.coefficients_of(pair, inputs))
    except LawError as error:
        # `finite_force` has already named the law.
        if str(error).startswith("contact.law "):
            raise
        raise LawError(f"contact.law {model.name}: {error}") from None
    quantities = model.own
    if len(values) != len(quantities):
        raise LawError(
            f"contact law {model.name}: coefficients_of: the function returned {len(values)} "
            f"values. It must return {len(quantities)}, one for each coefficient "
            f"({', '.join(q.name for q in quantities)})."
        )
    table = np.empty((len(values), n_contacts))
    for row, value in zip(table, values, strict=True):
        row[:] = value
    bad = np.isnan(table).any(axis=1)
    if bad.any():
        name = quantities[int(bad.argmax())].name
        raise LawError(
            f"contact law {model.name}: coefficient {name}: a value is not a number. Coefficients "
            "must be numbers. Check the inputs and the material."
        )
    return table


def coefficients_together(
    model: Model, shares: Sequence[tuple[Pair, SimpleNamespace, int]]
) -> list[np.ndarray]:
    """Return the `coefficients_without_windows` of many (pair, inputs, n_contacts).

    Shares of a built-in law whose inputs differ only in numbers are computed in one call, once for
    each kind of contact. The results are bit-identical to those of separate calls.
    """
    tables: dict[int, np.ndarray] = {}
    modules = [each.__module__ for each in (model.law, model.law.model, model.law.coefficients_of)]
    # a law of granchain accepts arrays
    together = all(module.startswith("granchain.contact.") for module in modules)
    forms = (form_of(*share[:2]) if together else k for k, share in enumerate(shares))
    for places in alike(forms):
        if len(places) > 1:
            # Separate calls find the first share with an error.
            with suppress(LawError, TypeError, ValueError):
                made = _in_one_call(model, [shares[k] for k in places])
                tables |= zip(places, made, strict=True)
        tables |= {
            k: coefficients_without_windows(model, *shares[k]) for k in places if k not in tables
        }
    return [tables[k] for k in range(len(shares))]


def form_of(pair: Pair, inputs: SimpleNamespace) -> Hashable:
    """Return a key that is equal for pairs and inputs that differ only in numbers.

    Inputs with an array, such as a restitution for each contact, have an individual key.
    """
    values = vars(inputs).values()
    kinds = [float if type(value) is float else repr(value) for value in values]
    return id(inputs) if np.ndarray in map(type, values) else (*vars(pair), *vars(inputs), *kinds)


def _in_one_call(
    model: Model, shares: Sequence[tuple[Pair, SimpleNamespace, int]]
) -> list[np.ndarray]:
    """Return the `coefficients_without_windows` of shares of one form.

    The contacts of all shares are the columns of one call, one share after the other. An input is
    an array over these columns if it differs between the shares.
    """
    (first_pair, first_inputs, _), sizes = shares[0], [size for *_, size in shares]
    pair = Pair(
        **{
            name: np.concatenate(
                [np.broadcast_to(vars(pair)[name], size) for pair, _, size in shares]
            )
            for name in first_pair.items()
        }
    )
    columns = {name: [vars(inputs)[name] for _, inputs, _ in shares] for name in vars(first_inputs)}
    # An input that is equal for all shares remains a number, as in a separate call.
    inputs = SimpleNamespace(
        **{
            name: np.repeat(values, sizes) if len(set(map(repr, values))) > 1 else values[0]
            for name, values in columns.items()
        }
    )
    table = coefficients_without_windows(model, pair, inputs, sum(sizes))
    return np.split(table, np.cumsum(sizes)[:-1], axis=1)


def with_windows(model: Model, table: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Append the windows of the energy correction to a table of coefficients.

    The table is unchanged if the law has no energy correction; see `coefficients`.
    """
    if not model.windows:
        return table
    if model.guarded is None:
        # The law runs as published: windows of zeros correct nothing.
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


# Steps of a golden-section search: they shrink the range to 0.618^80 = 2e-17, below rounding.
GOLDEN_STEPS = 80


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
        for _ in range(GOLDEN_STEPS):
            lower, upper = high - golden * (high - low), low + golden * (high - low)
            if loss(lower, c) >= loss(upper, c):
                high = upper
            else:
                low = lower
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
            best, n_windows, inside = 0.0, 0, False
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
                        if n_windows <= GUARD_WINDOWS:
                            out[3 * n_windows - 2, k] = high
                        best = max(best, lost)
                # a difference of two energies near U that exceeds its rounding error
                elif lost < best and lost < best - 1e-14 * loading_work(s, ck):
                    # The largest loss is between the second-last point and this one.
                    low = largest_between(before, s, ck)
                    if loss(low, ck) < best:
                        # The loss jumps. Find the largest overlap between the last point and this
                        # one up to which it has not decreased.
                        low, _ = halved(here, s, best, ck, False)
                    best = max(best, loss(low, ck))
                    inside = True
                    n_windows += 1
                    if n_windows <= GUARD_WINDOWS:
                        out[3 * n_windows - 3, k] = low
                        out[3 * n_windows - 2, k] = math.inf
                        out[3 * n_windows - 1, k] = best
                else:
                    best = max(best, lost)
                before, here = here, s
            out[3 * GUARD_WINDOWS, k] = n_windows

    return scan


# --------------------------------------------------------------------------------------------------
# Coefficient of restitution of an elastoplastic law at an impact speed, for dashpots that use it.
#
# Quasi-static: the energy m v^2/2 equals the loading work, U(d_max) = m v^2/2, and the contact
# returns W(d_max), so e = sqrt(W/U).

# Upper limit of tabulated speeds, relative to the largest speed at the start: beads in a chain do
# not collide faster than twice the striker speed.
FASTEST = 4.0


class LawAtSpeeds(NamedTuple):
    """Rate-independent law and its inputs, which determine the restitution of contacts at impact
    speeds [m/s]."""

    law: type[ContactLaw]
    values: SimpleNamespace
    pair: Pair
    limits: np.ndarray
    speeds: np.ndarray


def with_restitutions(
    rows: Sequence[tuple[SimpleNamespace, Pair, np.ndarray, np.ndarray]],
) -> list[SimpleNamespace]:
    """Replace restitutions from other laws by numbers in the inputs of many chains.

    Restitutions that are already numbers do not change. Contacts that use the same law are scanned
    together.

    Parameters
    ----------
    rows : sequence of (inputs, pair, limits, velocity)
        `inputs` are the inputs of the law; their `restitution` is a number, or a mapping with the
        name of a law and its inputs. `pair` describes the contacts. `limits` are the (n_contacts,)
        maximum overlaps [m]. `velocity` contains the (n_bodies,) velocities at the start [m/s]: if
        the law has no impact speed, it is the largest relative speed of two neighbours.

    Returns
    -------
    list of namespace
        Inputs with restitution (n_contacts,), or (SPEED_NODES, n_contacts) at speeds from the
        minimum up if each contact takes its impact speed at onset.

    Raises
    ------
    LawError
        If nothing moves, so that there is no speed, or if an impact at one of the speeds exceeds
        the overlap limit of the other law.
    """
    results, sources = [inputs for inputs, *_ in rows], dict[int, LawAtSpeeds]()
    for index, (inputs, pair, limits, velocity) in enumerate(rows):
        restitution = getattr(inputs, "restitution", None)
        if isinstance(restitution, Mapping):
            law = laws()[restitution["law"]]
            values = {
                q.name: restitution.get(q.name, None if q.required else q.default)
                for q in law.inputs
            }
            sources[index] = LawAtSpeeds(
                law, SimpleNamespace(**values), pair, limits, _speeds(inputs, velocity)
            )
    scanned = restitutions_at(list(sources.values()))
    for (index, source), restitutions in zip(sources.items(), scanned, strict=True):
        # A law with the impact speed at onset interpolates up to the speed `fastest`.
        more = (
            {"restitution": restitutions[0]}
            if source.speeds.size == 1
            else {"restitution": restitutions, "fastest": source.speeds[-1]}
        )
        results[index] = SimpleNamespace(**{**vars(results[index]), **more})
    return results


def _speeds(inputs: SimpleNamespace, velocity: np.ndarray) -> np.ndarray:
    """Return the impact speeds [m/s] at which a chain needs restitutions.

    There are several if each contact takes its impact speed at onset.
    """
    speed = float(np.abs(np.diff(velocity, prepend=0.0, append=0.0)).max())
    impact_speed = getattr(inputs, "impact_speed", None)
    if impact_speed == "onset" and inputs.impact_speed_floor is not None:
        top = max(FASTEST * speed, 2.0 * inputs.impact_speed_floor)
        return np.geomspace(inputs.impact_speed_floor, top, SPEED_NODES)
    single_speed = float(impact_speed) if isinstance(impact_speed, (int, float)) else speed
    if not single_speed > 0.0:
        raise LawError(
            f"restitution = {{ law = {inputs.restitution['law']} }}: the impact speed is unknown, "
            "because nothing moves at the start. It must be a number above 0 [m/s]. Give "
            "impact_speed, or restitution as a number."
        )
    return np.array([single_speed])


def restitutions_at(sources: Sequence[LawAtSpeeds]) -> list[np.ndarray]:
    """Return the (n_speeds, n_contacts) restitutions of many chains."""
    models = shared_models([source.law.model(source.values) for source in sources])
    by_source: dict[int, np.ndarray] = {}
    keys = [(id(model), source.speeds.size) for model, source in zip(models, sources, strict=True)]
    for places in alike(keys):
        model, of = models[places[0]], [sources[index] for index in places]
        sizes = [source.limits.size for source in of]
        limits = np.concatenate([source.limits for source in of])
        shares = [(source.pair, source.values, source.limits.size) for source in of]
        c = with_windows(model, np.hstack(coefficients_together(model, shares)), limits)
        mass = [
            np.broadcast_to(source.pair.effective_mass, size)
            for source, size in zip(of, sizes, strict=True)
        ]
        speeds = np.repeat(np.array([source.speeds for source in of]).T, sizes, axis=1)
        energies = 0.5 * np.concatenate(mass) * speeds**2
        scanned = over_kinds(_restitution_scan, model, (c, limits[None, :], energies), len(speeds))
        if (outside := np.isnan(scanned)).any():
            raise LawError(_message_beyond_limit(model, c, np.concatenate(mass), speeds, outside))
        by_source |= zip(places, np.split(scanned, np.cumsum(sizes)[:-1], axis=1), strict=True)
    return [by_source[index] for index in range(len(sources))]


def _message_beyond_limit(
    model: Model, c: np.ndarray, mass: np.ndarray, speeds: np.ndarray, outside: np.ndarray
) -> str:
    """Return the message for impacts that exceed the overlap limit of the law."""
    k = int(np.argmax(outside.any(axis=0)))
    ck = tuple(c[:, k].tolist())
    limit = model.functions.overlap_limit(ck)
    largest = math.sqrt(2.0 * at_rest(model)[1](limit, ck) / float(mass[k]))
    return (
        f"restitution = {{ law = {model.name} }}: an impact at {float(speeds[:, k].max()):.4g} m/s "
        f"exceeds the overlap limit of {model.name}, {limit:.6g} m. The speed must be at most "
        f"{largest:.4g} m/s. Lower the speed, specify the restitution as a number, or use a law "
        "with a wider range."
    )


def _restitution_scan(model: Model) -> Callable:
    """Return a scan for the restitution of each contact at each energy.

    The result is nan if the energy exceeds the loading work up to the overlap limit of the law.
    """
    (_, work), energy, settle = at_rest(model), model.functions.energy, settled(model)
    bracket_of_work = bracketing(work)
    overlap_limit, gather = model.functions.overlap_limit, gatherer(len(model.coefficients))

    def scan(c, limits, energies, out):
        for k in range(c.shape[1]):
            ck = gather(c, k)
            last = min(limits[0, k], overlap_limit(ck))
            largest = work(last, ck)
            for i in range(energies.shape[0]):
                if last < limits[0, k] and largest < energies[i, k]:
                    out[i, k] = math.nan
                    continue
                _, reached = bracket_of_work(energies[i, k], 1e-30, last, ck)
                returned, supplied = energy(reached, ck, settle(reached, ck)), work(reached, ck)
                out[i, k] = math.sqrt(returned / supplied) if returned < supplied else 1.0

    return scan


# --------------------------------------------------------------------------------------------------
# Quasi-static force and work of a fresh contact, and the overlaps and histories at the start.


def settled(model: Model) -> Callable:
    """Return a plain function (overlap, c) -> history after slow loading.

    The contact is fresh before the loading. A history that relaxes in time has relaxed completely.
    """
    history_of, _, needs_update, update, *_, evolve = model.functions
    EVOLVES = model.evolves

    def settle(overlap, c):
        h = history_of(c)
        if overlap > OPEN and needs_update(overlap, 0.0, c, h):
            h = update((overlap, 0.0, 0.0, 1.0), c, h)
        if EVOLVES:
            h = evolve(math.inf, overlap, overlap, c, h)[0]
        return h

    return settle


def at_rest(model: Model) -> tuple[Callable, Callable]:
    """Return plain functions for the quasi-static force and the loading work.

    Their arguments are (overlap, c). The contact is fresh before the loading.
    """
    force, energy, plastic = model.functions.force, model.functions.energy, model.functions.plastic
    settle = settled(model)

    def force_at_rest(overlap, c):
        return force(overlap, 0.0, c, settle(overlap, c))

    def loading_work(overlap, c):
        h = settle(overlap, c)
        return energy(overlap, c, h) + plastic(c, h)

    return force_at_rest, loading_work


def halfway(low, high):
    """Return the midpoint of two overlaps.

    If they differ much, the result is their geometric mean.
    """
    return (
        0.5 * (low + high) if low > 0.0 and high < 4.0 * low else math.sqrt(max(low, 1e-30) * high)
    )


# Upper limit on the bisections of a range of overlaps. About 70 halve the range of the logarithm
# until the ends differ by a factor below 4, and about 55 then halve the range of the number.
MOST_BISECTIONS = 200


def bracketing(function: Callable) -> Callable:
    """Return a plain function that finds the overlap at which a function reaches a value.

    Its arguments are (value, low, high, c), and it returns two neighbouring numbers: at the first,
    `function(overlap, c)` is still below the value.
    """

    def bracket(value, low, high, c):
        for _ in range(MOST_BISECTIONS):
            middle = halfway(low, high)
            if middle <= low or middle >= high:
                break
            if function(middle, c) < value:
                low = middle
            else:
                high = middle
        return low, high

    return bracket


def static_overlaps(
    model: Model, c: np.ndarray, limits: np.ndarray, rows: Sequence[Masses]
) -> np.ndarray:
    """Return the overlaps [m] at which contacts at rest carry their static forces.

    The result covers each contact of the given rows, and one additional fresh contact after each
    row. `limits` are the maximum overlaps [m].

    Raises
    ------
    CaseError
        If the law has no such force within its range.
    """
    force = np.zeros(limits.size)
    if any(masses.precompression or masses.gravity for masses in rows):
        force = np.concatenate([np.append(masses.static_forces(), 0.0) for masses in rows])
    if not force.any():
        return force
    overlaps = over_kinds(_static_scan, model, (c, force[None, :], limits[None, :]), 1)[0]
    if np.isnan(overlaps).any():
        k = int(np.argmax(np.isnan(overlaps)))
        largest = min(float(limits[k]), model.functions.overlap_limit(tuple(c[:, k])))
        labels = np.concatenate([np.append(masses.contact_labels, 0) for masses in rows])
        raise CaseError(
            f"chain.precompression: the static force of contact {int(labels[k])}, {force[k]:.6g} "
            f"N, is out of range. It must be at most the force of the law {model.name} at its "
            f"maximum overlap, {largest:.6g} m{largest_force(model, c[:, k], largest)}. Reduce the "
            "precompression or gravity, or choose another law."
        )
    return overlaps


def _static_scan(model: Model) -> Callable:
    """Return a scan for the overlap at which each contact carries its static force.

    The result is 0 without a force, and nan if the law has no such force.
    """
    (force, _), overlap_limit = at_rest(model), model.functions.overlap_limit
    gather, bracket_of_force = gatherer(len(model.coefficients)), bracketing(force)

    def scan(c, forces, limits, out):
        for k in range(c.shape[1]):
            ck, wanted = gather(c, k), forces[0, k]
            last = min(limits[0, k], overlap_limit(ck))
            if wanted <= 0.0:
                continue
            if not force(last, ck) >= wanted:
                out[0, k] = math.nan
                continue
            low, high = bracket_of_force(wanted, 0.0, last, ck)
            # Choose the neighbour whose force is nearer. Neither is near if the force of the law
            # jumps past the required force.
            short, over = wanted - force(low, ck), force(high, ck) - wanted
            out[0, k] = high if over <= short else low
            if min(short, over) > 1e-9 * wanted:
                out[0, k] = math.nan

    return scan


def largest_force(model: Model, c: np.ndarray, limit: float) -> str:
    """Return the quasi-static force at the maximum overlap as text for a message.

    The text is empty if the force is not a finite number.
    """
    try:
        force = at_rest(model)[0](float(limit), tuple(c.tolist()))
    except (ArithmeticError, ValueError):
        force = math.nan
    return f", here {force:.6g} N" if math.isfinite(force) else ""


def start_histories(
    model: Model, c: np.ndarray, static: np.ndarray, begin: np.ndarray
) -> np.ndarray:
    """Return the (n_history, n_contacts) histories at the start.

    A contact is fresh, or loaded to its static overlap (where it may already have yielded), and
    then moved to its initial overlap [m].
    """
    if not model.history:
        return np.zeros((0, static.size))
    return over_kinds(_history_scan, model, (c, np.vstack([static, begin])), len(model.history))


def _history_scan(model: Model) -> Callable:
    """Return a scan for the history of each contact at the start; see `start_histories`."""
    settle, gather = settled(model), gatherer(len(model.coefficients))
    needs_update, update = model.functions.needs_update, model.functions.update

    def scan(c, overlaps, out):
        for k in range(c.shape[1]):
            ck, static, begin = gather(c, k), overlaps[0, k], overlaps[1, k]
            h = settle(static, ck)
            if (
                begin != static
                and (begin > OPEN or static > OPEN)
                and needs_update(begin, 0.0, ck, h)
            ):
                h = update((begin, 0.0, 0.0, 1.0), ck, h)
            store_rows(out, k, h)

    return scan


# --------------------------------------------------------------------------------------------------
# Scans: functions that are applied once to each kind of contact of one chain or many chains.

# Maximum number of kinds of contact for plain Python: below it, compiling takes longer than the
# scan.
PLAIN_KINDS = 64
# Total time that a scan may take as plain Python before it is compiled [s]: about the time that
# compiling takes.
PLAIN_SECONDS = 0.5
# Time that each scan has taken [s].
_seconds: dict[Callable, float] = {}

# Maximum size of the stored scan results and their inputs in a process [bytes]: enough for a study
# of a thousand cases, or for some chains of 10^5 kinds of contact. Above it, all are dropped.
MOST_BYTES = 64 * 2**20
_answers: dict[tuple, np.ndarray] = {}
_answer_bytes = [0]


def over_kinds(
    make: Callable[[Model], Callable],
    model: Model,
    inputs: tuple[np.ndarray, ...],
    n_out: int,
    scratch: tuple[int, ...] = (),
) -> np.ndarray:
    """Apply a scan to each distinct column of its inputs.

    A stored result is returned if there is one.

    Parameters
    ----------
    make : callable
        Model -> plain function (table_1, ..., scratch_1, ..., out) that fills out[:, k] for every
        column k.
    model : Model
        Model with `frozen` functions, so that stored results are valid as long as the process runs.
    inputs : tuple of (rows, n_contacts) array
        Tables whose columns together determine the kind.
    n_out : int
        Number of rows of the result.
    scratch : tuple of int
        Lengths of the temporary rows of the scan.

    Returns
    -------
    (n_out, n_contacts) array
    """
    first, which = kinds_of_columns(inputs)
    tables = tuple(np.ascontiguousarray(table[:, first]) for table in inputs)
    scan = scan_of(make, model)
    # A scan is a copy that is never edited, and equivalent functions share one scan.
    key = (scan, n_out, *((table.shape, table.tobytes()) for table in tables))
    out = _answers.get(key)
    if out is None:
        out = np.zeros((n_out, first.size))
        seconds = _seconds.get(scan, 0.0)
        plain = first.size <= PLAIN_KINDS and seconds <= PLAIN_SECONDS
        run, begun = scan if plain else compiled_scan(scan), time.perf_counter()
        with np.errstate(all="ignore"), finite_force(model.law):
            run(*tables, *map(np.zeros, scratch), out)
        if plain:
            _seconds[scan] = seconds + time.perf_counter() - begun
        remember(key, out, out.nbytes + sum(table.nbytes for table in tables))
    return np.ascontiguousarray(out[:, which])


def remember(key: tuple, out: np.ndarray, size: int) -> None:
    """Store the result of a scan; drop the others if the limit is exceeded."""
    if _answer_bytes[0] + size > MOST_BYTES:
        _answers.clear()
        _answer_bytes[0] = 0
    if size <= MOST_BYTES:
        _answers[key] = out
        _answer_bytes[0] += size


@lru_cache(1024)
def scan_of(make: Callable[[Model], Callable], model: Model) -> Callable:
    """Return the `frozen` scan of a model with `frozen` functions."""
    return frozen(make(model))[0]


@cache
def compiled_scan(scan: Callable) -> Callable:
    """Compile a `frozen` scan.

    The compiled function is a wrapper, because `compiled` renames it, and no copy may change.
    """

    def scan_all(*tables):
        scan(*tables)

    return compiled(scan_all)


# Minimum number of contacts per call above which the function is compiled: at 2 us per contact,
# plain Python then takes as long as loading the compiled function. Without compilation, 128 chains
# of 70 beads together took 1.48 times as long.
PLAIN_CONTACTS = 5000


def over_contacts(
    function: Callable, model: Model, numbers: Sequence[np.ndarray], c: np.ndarray, h: np.ndarray
) -> np.ndarray:
    """Return the (n_contacts,) values of a function (*numbers, c, h) of each contact.

    `numbers` are (n_contacts,) arrays; `c` and `h` are tables of coefficients and histories.
    """
    n = c.shape[1]
    # Functions that no loop calls may contain more than Numba can compile.
    with suppress(LawError):
        if n > PLAIN_CONTACTS:
            out, tables = np.zeros((1, n)), (np.array(numbers).reshape(-1, n), c, h)
            counts = len(numbers), len(model.coefficients), len(model.history)
            (scan,) = frozen(_contact_scan(*frozen(function), *counts))
            compiled_scan(scan)(*map(np.ascontiguousarray, tables), out)
            return out[0]
    columns = (map(tuple, table.T.tolist()) for table in (c, h))
    return np.array(
        [
            function(*each)
            for each in zip(*(row.tolist() for row in numbers), *columns, strict=True)
        ],
        dtype=float,
    )


@cache
def _contact_scan(
    function: Callable, n_numbers: int, n_coefficients: int, n_history: int
) -> Callable:
    """Return a scan that applies a function (*numbers, c, h) to each contact."""
    coefficients_at, history_at = gatherer(n_coefficients), gatherer(n_history)
    numbers_at = gatherer(n_numbers)

    def scan(numbers, c, h, out):
        for k in range(c.shape[1]):
            out[0, k] = function(*numbers_at(numbers, k), coefficients_at(c, k), history_at(h, k))

    return scan


# --------------------------------------------------------------------------------------------------
# Grouping of equal items: contacts with equal columns, and members with equal keys.


def alike(keys: Iterable[Hashable]) -> list[list[int]]:
    """Return the positions of each distinct key."""
    places = defaultdict(list)
    for position, key in enumerate(keys):
        places[key].append(position)
    return list(places.values())


def kinds_of_columns(tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Find the distinct columns of some tables that are stacked on top of each other.

    Adjacent columns are compared first; only the remaining ones are searched.

    Parameters
    ----------
    tables : sequence of (quantities, n) array

    Returns
    -------
    first : (kinds,) array
        Position of the first column of each kind.
    which : (n,) array
        Kind of each column.
    """
    new = np.zeros(tables[0].shape[1], dtype=bool)
    new[:1] = True
    for table in tables:
        new[1:] |= (table[:, 1:] != table[:, :-1]).any(axis=0)
    runs = np.flatnonzero(new)
    if runs.size == 1:
        return runs, np.zeros(new.size, dtype=np.intp)
    # compared bitwise, except that -0.0 equals 0.0
    columns = np.ascontiguousarray(np.vstack([table[:, runs] for table in tables]).T + 0.0)
    rows_as_bytes = columns.view(f"V{columns.itemsize * columns.shape[1]}").ravel()
    _, first, kinds = np.unique(rows_as_bytes, return_index=True, return_inverse=True)
    return runs[first], kinds[np.cumsum(new) - 1]


# --------------------------------------------------------------------------------------------------
# Record of a law: hashes of its functions and of its resolved coefficients.

# Equal records are one object, so that their text is made once; the last records are stored.
shared_record = lru_cache(4096)(LawRecord)


def record_of(model: Model, c: np.ndarray, functions: str = "") -> LawRecord:
    """Return the record of a law.

    Parameters
    ----------
    model : Model
    c : (n_coefficients, n_contacts) array
        Coefficients of the existing contacts.
    functions : str, optional
        `functions_sha256` of the law, if it is known.
    """
    functions = functions or functions_sha256(model)
    first, _ = kinds_of_columns((c,))
    kinds = np.ascontiguousarray(c[:, np.sort(first)].T, dtype="<f8")
    names = tuple(quantity.name for quantity in model.coefficients)
    carried = tuple(map(tuple, kinds[:CARRIED].tolist()))
    digest = hashlib.sha256(kinds.tobytes()).hexdigest()
    return shared_record(model.name, functions, digest, names, carried)


def functions_sha256(model: Model) -> str:
    """Return a hash of the behaviour of a law.

    It covers the functions of the law, everything that they call, and the properties that the loop
    uses.
    """
    law = model.law
    groups: list[tuple[Callable, ...]] = [model.functions]
    if law.has_contact_radius():
        groups.append((law.contact_radius,))
    if law.has_full_plasticity():
        groups.append((law.plastic_overlap,))
    facts: list[Any] = [
        model.uses_rate,
        model.forgets,
        model.onset_jump,
        model.jumps_inside,
        model.kinks,
        model.loses,
        model.evolves,
        model.windows,
        *(
            [(q.name, q.unit, q.output) for q in group]
            for group in (model.coefficients, model.history)
        ),
    ]
    hashes = [reach_of(*functions).fingerprint for functions in groups]
    return hashlib.sha256(json.dumps([*hashes, *facts]).encode()).hexdigest()
