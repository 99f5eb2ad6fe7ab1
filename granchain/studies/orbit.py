"""Periodic orbits of a driven chain under a static load, by Newton's method on one period; their
Floquet multipliers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from granchain.case import Case, check_case
from granchain.case.initial import MOTION_COLUMNS
from granchain.errors import CaseError, RunError
from granchain.keys import Problems
from granchain.markup import card, table
from granchain.plain_data import plain_data
from granchain.simulation import prepare
from granchain.status import Status
from granchain.store import Result
from granchain.store.result import case_of
from granchain.studies.many import run_many
from granchain.waves.dispersion import at_rest
from granchain.waves.modes import modes

# Part of the smallest static overlap by which a state is moved for a column of the Jacobian: with
# smaller ones rounding takes digits, with larger ones the curvature of the law.
_MOVED = 1e-4
# Ours: the first step from the static state is the linear answer, and an orbit takes 2 to 6.
_MOST_SHOTS = 24
# A step of Newton's is halved so many times before it is given up.
_MOST_HALVINGS = 6
# Ours: a period of fewer steps is no oscillation that is followed.
_FEWEST_STEPS = 20
# The driven period is known to this part of itself.
_SAME_PERIOD = 1e-9
# A guess that ends this part of a period from the drive's phase 0 is of another phase.
_SAME_PHASE = 0.01
# Instants at which the trajectory is kept.
_INSTANTS = 200


@dataclass(frozen=True, eq=False)
class Orbit:
    """A periodic orbit of a driven chain.

    Attributes
    ----------
    title, law : str
        Of the case.
    period : float
        [s].
    bead : (n,) array
        Labels of the beads.
    displacement, velocity : (n,) array
        Of the beads at the drive's phase 0 [m], from rest, and [m/s].
    multipliers : (2 n,) complex array
        Floquet multipliers, the largest modulus first [1].
    vectors : (2 n, 2 n) complex array
        Of each multiplier a row: displacements of the beads [m], then velocities [m/s]; the
        largest displacement is 1.
    multiplier_error : float
        Of the first multiplier, as a number in the plane [1].
    modulus_error : float
        Of its modulus [1].
    stable : bool
        Whether no modulus is above 1 by more than this.
    energy_in, energy_lost : float
        What the drives put in, and what contacts, drag and on-site dashpots take, in a period
        [J].
    residual : float
        How far the orbit is from closing, as a part of its largest excursion [1].
    shots : int
        Times that a period was computed with its Jacobian.
    opens : tuple of int
        Contacts that open in the orbit: the multipliers are then those of a map with kinks.
    begun : str
        What Newton's method began from.
    result : Result
        The trajectory over the period, from the drive's phase 0.
    """

    title: str
    law: str
    period: float
    bead: np.ndarray
    displacement: np.ndarray
    velocity: np.ndarray
    multipliers: np.ndarray
    vectors: np.ndarray
    multiplier_error: float
    modulus_error: float
    stable: bool
    energy_in: float
    energy_lost: float
    residual: float
    shots: int
    opens: tuple[int, ...]
    begun: str
    result: Result

    def __repr__(self) -> str:
        return (
            f"<Orbit: {self.title or self.law}, period {self.period:.6g} s, "
            f"{'stable' if self.stable else 'unstable'}, largest multiplier "
            f"{abs(self.multipliers[0]):.5g}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        first = self.multipliers[0]
        rows = [
            ("period [s]", f"{self.period:.6g}"),
            ("largest multiplier [1]", f"{first:.5g}"),
            ("its modulus [1]", f"{abs(first):.6g} within {self.modulus_error:.2g}"),
            ("stable", "yes" if self.stable else "no"),
            ("energy put in [J]", f"{self.energy_in:.6g}"),
            ("energy lost [J]", f"{self.energy_lost:.6g}"),
            ("residual [1]", f"{self.residual:.2g}"),
        ]
        return card(f"Orbit of {self.title}, {self.law}", table(("", "a period"), rows))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, words and lists, without the trajectory; a complex number is a pair."""
        pairs = ("multipliers", "vectors")
        own = {name: value for name, value in self.__dict__.items() if name != "result"}
        split = {name: np.stack([own[name].real, own[name].imag], axis=-1) for name in pairs}
        found: dict[str, Any] = plain_data(own | split)
        return found


def orbit(
    case: Case,
    *,
    period: float | None = None,
    guess: Orbit | Result | None = None,
    tolerance: float = 1e-8,
    threads: int | None = None,
) -> Orbit:
    """Find a periodic orbit of a chain under a static load with a harmonic drive.

    Newton's method on the state x at the drive's phase 0, its ramp and end left out: P(x) = x, P
    the run over one period in equal steps, at most as long as the case's. The columns of the
    Jacobian DP are central differences, all in one `granchain.run_many`; its eigenvalues are the
    Floquet multipliers (Seydel 2010, doi:10.1007/978-1-4419-1740-9, secs. 7.2 and 7.4). Their error
    is from the orbit in twice as long steps, with twice the differences: a third of what changes.

    Parameters
    ----------
    case : Case
        A precompressed chain, or one under gravity; how its beads start is left out.
    period : float, optional
        A whole multiple of the drive's period [s]; without, that period.
    guess : Orbit or Result, optional
        Where to begin: an orbit, at a weaker drive say, or a run that ends at the drive's phase 0;
        without, the static state.
    tolerance : float
        How nearly the orbit closes, as a part of its largest excursion.
    threads : int, optional
        As of `granchain.run_many`.

    Returns
    -------
    Orbit

    Raises
    ------
    CaseError
        For a chain without a harmonic drive, without a static load, with a striker, that nothing
        holds in place, whose contacts remember what was; for a period that is none of the drive's,
        or of fewer than 20 steps; for a guess of another chain or phase.
    RunError
        Where no orbit is found: what was tried, and the residual; `.result` is the nearest.
    """
    check_case(case)
    shooting = Shooting(case, _period_of(case, period), threads)
    if not (isinstance(tolerance, (int, float)) and 0.0 < tolerance < 1.0):
        raise CaseError(
            f"tolerance: got {tolerance!r}, allowed a number between 0 and 1; leave it out"
        )
    state, begun = _begin(case, guess, shooting)
    best, shots, halved, why = None, 0, 0, "each step of Newton's was halved six times"
    move = np.zeros_like(state)
    while shots < _MOST_SHOTS:
        shot, shots = shooting.shoot(state, shooting.base), shots + 1
        if isinstance(shot, Shot) and (best is None or shot.residual < best.residual):
            best, halved = shot, 0
            if best.residual <= tolerance:
                return _found(case, shooting, best, shots, begun)
            moved = best.newton()
            if moved is None:
                why = "its Jacobian is singular, as where the drive meets an undamped resonance"
                break
            move = moved
        elif best is None:
            raise RunError(
                f"guess: got {begun}, from which a period cannot be computed: {shot}; allowed a "
                "state near an orbit; begin with a weaker drive"
            )
        else:
            halved += 1
            if halved > _MOST_HALVINGS:
                break
        state = best.state + move * 0.5**halved
    else:
        why = "it had not come to an end"
    assert best is not None
    raise RunError(
        f"orbit: got none of period {shooting.period:.6g} s from {begun}: after {shots} shots of "
        f"Newton's method {why}, and the nearest state is {best.residual:.3g} of its largest "
        f"excursion from closing, allowed {tolerance:g}; give as guess= the orbit at a weaker "
        "drive or another frequency, or a run that has settled, or ask for a larger tolerance",
        best.result,
    )


@dataclass
class Shot:
    """A period from a state, and what becomes of small changes; numbers are scaled.

    Parameters
    ----------
    state, image : (2 n,) array
        At its start and its end.
    jacobian : (2 n, 2 n) array
    result : Result
        The trajectory.
    residual : float
        Largest difference of the two, as a part of the largest excursion.
    """

    state: np.ndarray
    image: np.ndarray
    jacobian: np.ndarray
    result: Result
    residual: float

    def newton(self) -> np.ndarray | None:
        """Newton's step; None where there is none."""
        matrix = np.eye(self.state.size) - self.jacobian
        try:
            step: np.ndarray = np.linalg.solve(matrix, self.image - self.state)
        except np.linalg.LinAlgError:
            return None
        return step if np.isfinite(step).all() else None


class Shooting:
    """The run over one period of a case, from any state.

    States are scaled: displacements by the smallest static overlap, velocities by that times the
    highest frequency of the chain.

    Parameters
    ----------
    case : Case
    period : float
        [s].
    threads : int, optional

    Attributes
    ----------
    base, coarse : Case
        A period from rest in equal steps, and in half as many.
    scale : (2 n,) array
        [m], [m/s].
    """

    def __init__(self, case: Case, period: float, threads: int | None):
        self.period, self.threads = period, threads
        _check_covered(case)
        # contacts without a force at rest, and chains that are too long, are refused here
        omega = 2.0 * math.pi * float(modes(case).frequencies[-1])
        one_period = case.replace(**_one_period(case, period))
        chain, contacts, planned = prepare(one_period)
        n, exists = chain.n_bodies, chain.contacts
        if contacts.model.history:
            _check_memory(case, contacts, range(n + 1)[exists], float(chain.mass.min()))
        if planned.n_steps < _FEWEST_STEPS:
            raise CaseError(
                f"period: got {period:.6g} s, which is {planned.n_steps} time steps of "
                f"{planned.value:.3g} s, allowed at least {_FEWEST_STEPS}; give a smaller time.step"
                f", {period / 100.0:.3g} s say, or a lower frequency of the drive"
            )
        # an even number, of which the half is stable as well
        steps = max(planned.n_steps, math.ceil(2.0 * period / planned.limit))
        steps += steps % 2
        every = period * max(1, steps // _INSTANTS) / steps
        self.base = one_period.replace(
            **{
                "time.step": period / steps,
                "snapshots": {"interval": every},
                "sensors": {"beads": "all", "contacts": "all", "interval": every},
                "energy": dict(case.energy) | {"ledger": True, "interval": every},
            }
        )
        self.member = self._sparse(self.base)
        self.coarse = self.base.replace(**{"time.step": 2.0 * period / steps})
        self.beads, self.labels = n, chain.body_labels
        overlap = float(contacts.overlaps[exists].min())
        self.overlap = overlap
        self.scale = np.repeat([overlap, omega * overlap], n)

    def _sparse(self, case: Case) -> Case:
        """The same run, of which the end alone is kept."""
        changes: dict[str, Any] = {
            "snapshots": None,
            "sensors": {"beads": [1], "interval": self.period},
            "energy.interval": self.period,
        }
        return case.replace(**changes)

    def at(self, case: Case, state: np.ndarray) -> Case:
        """The case from a state."""
        own = (state * self.scale).tolist()
        initial = {"displacement": own[: self.beads], "velocity": own[self.beads :]}
        return case.replace(initial=initial)

    def shoot(self, state: np.ndarray, case: Case, moved: float = _MOVED) -> Shot | str:
        """A period from a state with its Jacobian; why there is none, where a run fails."""
        member = self.member if case is self.base else self._sparse(case)
        sides = [
            self.at(member, state + sign * moved * column)
            for column in np.eye(state.size)
            for sign in (1.0, -1.0)
        ]
        runs = run_many([self.at(case, state), *sides], threads=self.threads)
        for status, message in zip(runs.status, runs.messages, strict=True):
            if status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if status is not Status.COMPLETE:
                return message
        ends = np.array([np.concatenate([r.final_displacement, r.final_velocity]) for r in runs])
        ends /= self.scale
        jacobian = (ends[1::2] - ends[2::2]).T / (2.0 * moved)
        result = runs[0]
        # of a chain at rest, a millionth of its static overlap
        excursion = max(float(np.abs(result.displacement).max()) / self.overlap, 1e-6)
        residual = float(np.abs(ends[0] - state).max()) / excursion
        return Shot(state, ends[0], jacobian, result, residual)


def _found(case: Case, shooting: Shooting, best: Shot, shots: int, begun: str) -> Orbit:
    """The orbit, with its multipliers and their error."""
    values, vectors = np.linalg.eig(best.jacobian)
    order = np.argsort(-np.abs(values), kind="stable")
    values, vectors = values[order].astype(complex), vectors[:, order].T * shooting.scale
    n, first = shooting.beads, values[0]
    largest = np.abs(vectors[:, :n]).argmax(axis=1)[:, None]
    vectors = vectors / np.take_along_axis(vectors, largest, axis=1)
    coarse = _coarse_multipliers(shooting, best)
    # order two in the step and in the differences: a third of what doubling both changes; and the
    # rounding of a difference, which adds up as a random walk
    rounding = (
        np.finfo(float).eps / _MOVED * math.sqrt(2.0 * shooting.period / best.result.time_step)
    )
    off = float(np.abs(coarse - first).min()) / 3.0 + rounding
    modulus = abs(float(np.abs(coarse).max()) - abs(first)) / 3.0 + rounding
    result, own = best.result, best.state * shooting.scale
    lost = ("viscous", "plastic", "clamp", "drag", "on_site_damping")
    opens = result.contact_overlap.min(axis=0) <= 0.0
    return Orbit(
        title=case.title,
        law=case.contact.law,
        period=shooting.period,
        bead=shooting.labels,
        displacement=own[:n],
        velocity=own[n:],
        multipliers=values,
        vectors=vectors,
        multiplier_error=off,
        modulus_error=modulus,
        stable=bool(abs(first) <= 1.0 + modulus),
        energy_in=_gain(result, "drives"),
        energy_lost=sum(_gain(result, name) for name in lost),
        residual=best.residual,
        shots=shots,
        opens=tuple(result.sensor_contact[opens].tolist()),
        begun=begun,
        result=result,
    )


def _coarse_multipliers(shooting: Shooting, best: Shot) -> np.ndarray:
    """Multipliers of the orbit in twice as long steps, with twice the differences."""
    shot = shooting.shoot(best.state, shooting.coarse, 2.0 * _MOVED)
    move = shot.newton() if isinstance(shot, Shot) else None
    if isinstance(shot, Shot) and move is not None:
        shot = shooting.shoot(best.state + move, shooting.coarse, 2.0 * _MOVED)
    if not isinstance(shot, Shot):
        raise RunError(
            f"orbit: got an orbit whose error cannot be told, for in twice as long steps {shot}; "
            "allowed one that is followed in them; give a smaller time.step",
            best.result,
        )
    return np.asarray(np.linalg.eigvals(shot.jacobian))


def _gain(result: Result, name: str) -> float:
    """How much an energy of the ledger has grown over a result [J]; 0 where it has none."""
    if f"energy_{name}" not in result.variables:
        return 0.0
    values = getattr(result, f"energy_{name}")
    return float(values[-1] - values[0])


def _check_covered(case: Case) -> None:
    """Refuse chains whose orbits this does not find."""
    problems, drives = Problems(), case.drives
    if case.chain.resonators()[0].size:
        advice = "take them out; a run of many periods (granchain.run) finds a stable orbit"
        problems.add("chain.resonator", "resonators", "none: their state is not shot", advice)
    if case.striker is not None:
        advice = "take the table out"
        problems.add("striker", "a striker", "none: it does not come back", advice)
    first = next(iter(drives.values()))
    for where, end in drives.items():
        behind = math.remainder((end.phase or 0.0) - (first.phase or 0.0), 2.0 * math.pi)
        placed = end.drive == "displacement"
        problems.check(
            not (placed and where.startswith("drive.")),
            where,
            "a bead whose displacement is given",
            'driven ends, and beads with drive = "force"',
            "push the bead with a force, or end the chain there",
        )
        problems.check(
            not (placed and end.dc),
            f"{where}.dc",
            f"{end.dc}",
            "none where a displacement is driven",
            "press the row with chain.precompression",
        )
        if placed and abs(behind) > _SAME_PHASE * _SAME_PERIOD:
            problems.add(
                f"{where}.phase",
                f"{behind:.6g} rad between two drives",
                "0 where a displacement is driven",
                "give all one phase; in antiphase, a negative amplitude",
            )
    if not any(case.ends.has_wall(side) for side in ("left", "right")):
        problems.add(
            "ends",
            "a chain that nothing holds in place, which drifts",
            "a wall, or a driven displacement, at one end at least",
            "set the end that is not driven to a wall",
        )
    problems.close()


def _check_memory(case: Case, contacts: Any, present: range, mass: float) -> None:
    """Refuse contacts whose force at a phase of the drive depends on what was: a state is here
    displacements and velocities. The weight that a dashpot gives the onset of a contact weighs
    nothing where there is no damping."""
    names = {quantity.name for quantity in contacts.model.history}
    if names <= {"onset_weight", "closed"} and not at_rest(contacts, present, mass)[1].any():
        return
    raise CaseError(
        f'contact.law: got "{case.contact.law}", whose contacts remember {", ".join(sorted(names))}'
        ", allowed a law without a memory: hertz, hunt-crossley and its kind, or kelvin-voigt with "
        "restitution = 1; take one of them, with chain.drag for the damping; a run of many periods "
        "(granchain.run) finds a stable orbit under any law"
    )


def _period_of(case: Case, period: float | None) -> float:
    """The period of the orbit [s], a whole multiple of that of each drive."""
    drives = case.drives
    wrong = {
        where: "a table" if end.signal is None else f'signal = "{end.signal}"'
        for where, end in drives.items()
        if end.signal != "harmonic"
    }
    for where, got in wrong.items():
        raise CaseError(
            f'{where}: got {got}, allowed signal = "harmonic"; an orbit needs a drive that '
            "comes again"
        )
    if not drives:
        raise CaseError(
            "ends: got a chain without a drive, allowed one with a harmonic drive at an end; give "
            'ends.left = { drive = "displacement", signal = "harmonic", amplitude = ..., '
            "frequency = ... }; of free oscillations gc.modes gives those of small amplitude"
        )
    frequencies = [float(end.frequency or 0.0) for end in drives.values()]
    given = 1.0 / min(frequencies) if period is None else period
    good = isinstance(given, (int, float)) and 0.0 < given < math.inf
    counts = [given * one for one in frequencies] if good else []
    if not good or any(
        round(one) < 1 or abs(one - round(one)) > _SAME_PERIOD * one for one in counts
    ):
        each = " and ".join(f"{1.0 / one:.9g} s" for one in dict.fromkeys(frequencies))
        got = f"{given:.9g} s" if good else repr(given)
        raise CaseError(
            f"period: got {got}, allowed a whole multiple of the period of each drive, {each}; "
            + ("leave it out" if len(set(frequencies)) == 1 else "give one that both divide")
        )
    return round(counts[0]) / frequencies[0]


def _one_period(case: Case, period: float) -> dict[str, Any]:
    """What turns a case into a period of its drive from phase 0, at rest."""
    changes: dict[str, Any] = {"title": case.title, "time.end": period, "initial": None}
    for place, segment in case.chain.places():
        changes |= {
            f"{place}.{name}": None for name in MOTION_COLUMNS if getattr(segment, name) is not None
        }
    if case.initial is None:
        del changes["initial"]
    first = next(iter(case.drives.values())).phase or 0.0
    for where, end in case.drives.items():
        given = [name for name in ("ramp", "duration") if getattr(end, name) is not None]
        changes |= {f"{where}.{name}": None for name in given}
        if end.phase is not None:
            behind = math.remainder(end.phase - first, 2.0 * math.pi)
            changes[f"{where}.phase"] = behind or None
    if case.tolerance is not None:
        changes["tolerance"] = None
    return changes


def _begin(case: Case, guess: Orbit | Result | None, shooting: Shooting) -> tuple[np.ndarray, str]:
    """The scaled state that Newton's method begins from, and what it is."""
    if guess is None:
        return np.zeros_like(shooting.scale), "the static state"
    if isinstance(guess, Orbit):
        rows, name = (guess.displacement, guess.velocity), "an orbit"
    elif isinstance(guess, Result) and {"final_displacement", "bead"} <= guess.variables.keys():
        rows, name = (
            (guess.final_displacement, guess.final_velocity),
            f"a run of {guess.title or guess.law}",
        )
        _check_phase(guess)
    else:
        raise CaseError(
            f"guess: got {type(guess).__name__}, allowed an Orbit, or a Result of a chain; leave "
            "it out for the static state"
        )
    if rows[0].size != shooting.beads:
        raise CaseError(
            f"guess: got {rows[0].size} beads, allowed {shooting.beads}, as the case has; give "
            "one of the same chain"
        )
    named = guess.title or guess.law
    return np.concatenate(rows) / shooting.scale, f"{name} of {named}"


def _check_phase(guess: Result) -> None:
    """Refuse a run that does not end at its drive's phase 0."""
    own = case_of(guess)
    drives = {} if own is None else own.drives
    for end in list(drives.values())[:1]:
        if end.signal != "harmonic" or not end.frequency:
            continue
        cycles = own.time.end * end.frequency + (end.phase or 0.0) / (2.0 * math.pi)
        if abs(cycles - round(cycles)) > _SAME_PHASE:
            whole = own.time.end + (math.ceil(cycles) - cycles) / end.frequency
            raise CaseError(
                f"guess: got a run that ends at {cycles % 1.0:.4g} of a period of its drive, "
                f"allowed one that ends at its phase 0; set time.end = {whole:.9g}"
            )
