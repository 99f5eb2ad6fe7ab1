"""Periodic orbits of a driven chain under a static load, by Newton's method on one period, and
their Floquet multipliers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from granchain.analysis.convergence import SAFETY
from granchain.case import Case, check_case
from granchain.case.initial import MOTION_COLUMNS
from granchain.case.start import FIXED, same_of, state_in, state_of_run, text_of_state
from granchain.case.start import begun as begun_before
from granchain.errors import CaseError, RunError
from granchain.keys import Problems, shown
from granchain.orbits.newton import (
    MOST_DENSE,
    Nearest,
    Shot,
    krylov_step,
    largest_multipliers,
    newton,
    newton_step,
)
from granchain.orbits.shooting import (
    COMES,
    INSTANTS,
    MEETS,
    MOST_TRIES,
    MOVED,
    NEARER,
    SETTLED_GROWTH,
    Period,
    Runners,
    Settled,
    growth,
    settle,
)
from granchain.progress import progress_of
from granchain.simulation import law_provenance, prepare, run_to_end, warns_of_fast_drives
from granchain.store import Answer, Label, Result
from granchain.store.answer import case_of
from granchain.studies.members import check_members
from granchain.waves.dispersion import at_rest
from granchain.waves.modes import modes

# Minimum number of steps per period. Our choice: with fewer, an oscillation is not resolved.
FEWEST_STEPS = 20
# Typical number of iterations from the static state (2 to 6), for the progress report.
USUAL_SHOTS = 4
# Relative distance from the indentation limit within which an orbit is at the limit; an orbit is
# accurate to 1e-8.
TOUCHES = 1e-6
# Maximum number of corrections of an orbit with half the step, and the fraction of the change at
# which they end.
MOST_CORRECTIONS, CORRECTED = 20, 1e-2
# Relative tolerance of the drive period.
_SAME_PERIOD = 1e-9
# Largest distance of a guess's end from zero drive phase, as a fraction of the period.
_SAME_PHASE = 0.01


_OF_MULTIPLIER, _OF_BODY, _OF_CONTACT = ("multiplier",), ("bead",), ("contact",)


class Orbit(Answer):
    """Periodic orbit of a chain.

    With resonators, the axis of the bodies is `body` (beads, then resonators) instead of `bead`.

    Attributes
    ----------
    period : float
        Period [s].
    stable : bool
        Whether no modulus exceeds 1 by more than `modulus_error`.
    multiplier_error : float
        Error of the first multiplier, as a distance in the complex plane [1].
    modulus_error : float
        Error of the modulus of the first multiplier [1].
    energy_in, energy_lost : float
        Energy supplied by the drives, and energy lost in contacts, drag, and on-site dashpots, in
        one period [J].
    energy, energy_error : float
        Energy of a breather above the static state, and its discretization error [J]. nan for a
        driven orbit.
    period_error : float
        Error of the period of a breather from the time step [s]. 0 if the period is given.
    residual : float
        Closing error of the orbit, as a fraction of its largest excursion [1].
    shots : int
        Number of Newton iterations, each of which computes a period with its Jacobian.
    settled : int
        Number of periods from the initial state until the contact histories were steady. With
        residual indentation there are many orbits, and this is the orbit that belongs to its
        initial state.
    begun : str
        Description of the initial state of Newton's method.
    bead : (n,) array
        Labels of the beads.
    body : (n_bodies,) array
        Numbers of beads and resonators. Only for a chain with resonators.
    displacement, velocity : (n_bodies,) array
        Displacements from equilibrium [m] and velocities [m/s] of the beads, then the resonators,
        at zero drive phase.
    displacement_error : (n_bodies,) array
        Discretization error of the displacement of each body at any phase of the orbit [m], from
        the orbit in steps of half the length. nan if there is no such orbit nearby.
    multipliers : (m,) complex array
        Floquet multipliers [1], the largest modulus first: all 2 n_bodies, or for a driven chain of
        more than 60 beads and resonators the six largest, unless they lie too close to a circle.
    vector_displacement, vector_velocity : (m, n_bodies) complex array
        Eigenvector of each multiplier: displacements [1] and velocities [1/s], scaled to a largest
        displacement of 1. For a breather, they are defined up to a shift along the orbit and its
        family.
    contact : (n_contacts,) array
        Labels of the contacts.
    opens : (n_contacts,) bool array
        Whether each contact opens during the orbit. The multipliers are then those of a map with
        kinks.
    touches : (n_contacts,) bool array
        Whether the largest overlap of each contact in the orbit is the largest of its history. The
        multipliers are then those of perturbations that do not increase it; a larger perturbation
        increases the residual indentation.

    Examples
    --------
    >>> import granchain as gc
    >>> shaker = {"drive": "displacement", "signal": "harmonic"}
    >>> shaker |= {"amplitude": 1e-8, "frequency": 1e4}
    >>> case = gc.Case(
    ...     chain={"beads": 1, "radius": 2.38e-3, "material": "steel-316"}
    ...     | {"precompression": 20.0, "drag": 1500.0},
    ...     contact={"law": "hertz"},
    ...     ends={"left": shaker, "right": "wall"},
    ...     time={"end": 1e-3},
    ... )
    >>> orbit = gc.orbit(case, progress=False)
    >>> orbit.multipliers.size
    2
    """

    labels: ClassVar = {
        "period": Label((), "s", "period of the orbit"),
        "stable": Label((), "1", "whether no modulus exceeds 1 by more than its error"),
        "multiplier_error": Label((), "1", "error of the first multiplier"),
        "modulus_error": Label((), "1", "error of the modulus of the first multiplier"),
        "energy_in": Label((), "J", "energy supplied by the drives in a period"),
        "energy_lost": Label((), "J", "energy lost in a period"),
        "energy": Label((), "J", "energy of a breather above the static state"),
        "energy_error": Label((), "J", "discretization error of the energy"),
        "period_error": Label((), "s", "error of the period from the time step"),
        "residual": Label((), "1", "closing error, as a fraction of the largest excursion"),
        "shots": Label((), "1", "number of Newton iterations"),
        "settled": Label((), "1", "number of periods until the contact histories were steady"),
        "begun": Label((), "", "initial state of the search"),
        "bead": Label(_OF_BODY, "1", "label of the bead"),
        "body": Label(("body",), "1", "number of the body: beads, then resonators"),
        "displacement": Label(_OF_BODY, "m", "displacement from equilibrium at zero drive phase"),
        "velocity": Label(_OF_BODY, "m/s", "velocity at zero drive phase"),
        "displacement_error": Label(_OF_BODY, "m", "discretization error of the displacement"),
        "multiplier": Label(_OF_MULTIPLIER, "1", "index of the multiplier, largest modulus first"),
        "multipliers": Label(_OF_MULTIPLIER, "1", "Floquet multiplier"),
        "vector_displacement": Label(
            (*_OF_MULTIPLIER, *_OF_BODY), "1", "displacements of the eigenvector of the multiplier"
        ),
        "vector_velocity": Label(
            (*_OF_MULTIPLIER, *_OF_BODY), "1/s", "velocities of the eigenvector of the multiplier"
        ),
        "contact": Label(_OF_CONTACT, "1", "label of the contact"),
        "opens": Label(_OF_CONTACT, "1", "whether the contact opens during the orbit"),
        "touches": Label(
            _OF_CONTACT, "1", "whether the contact reaches the largest overlap of its history"
        ),
    }

    def __repr__(self) -> str:
        return (
            f"<Orbit: {self.title or self.law}, period {self.period:.6g} s, "
            f"{'stable' if self.stable else 'unstable'}, largest multiplier "
            f"{abs(self.largest_multiplier):.5g}>"
        )

    @property
    def result(self) -> Result:
        """Trajectory over one period, from zero drive phase, or from the turning point of the bead
        with the largest displacement."""
        return cast(Result, self.groups["trajectory"])

    @property
    def largest_multiplier(self) -> complex:
        """Multiplier of the largest modulus; 1 for a breather of a single bead, which has only
        the two multipliers of energy and phase."""
        return complex(self.multipliers[0]) if self.multipliers.size else 1.0 + 0.0j

    @property
    def vectors(self) -> np.ndarray:
        """Eigenvector of each multiplier, (m, 2 n_bodies): displacements, then velocities."""
        return np.hstack([self.vector_displacement, self.vector_velocity])


def labels_of_bodies(labels: Mapping[str, Label], resonators: bool) -> dict[str, Label]:
    """Return labels with the axis `body` instead of `bead` if there are resonators."""
    if not resonators:
        return {}
    return {
        name: Label(tuple("body" if axis == "bead" else axis for axis in label.dims), *label[1:])
        for name, label in labels.items()
        if name != "bead"
    }


@warns_of_fast_drives
def orbit(
    case: Case,
    *,
    period: float | None = None,
    guess: Orbit | Result | None = None,
    tolerance: float = 1e-8,
    hold: str | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | bool | None = None,
) -> Orbit:
    """Find a periodic orbit of a chain under a static load.

    The chain has a harmonic drive at an end, or it has neither a drive nor damping and the orbit is
    a breather. Newton's method solves P(x) = x for the state x at zero drive phase, where P is the
    run over one period in equal steps, at most as long as those of the case. Ramp and end of the
    drive are ignored. The columns of the Jacobian DP are central differences; its eigenvalues are
    the Floquet multipliers (Seydel 2010, doi:10.1007/978-1-4419-1740-9, secs. 7.2 and 7.4). Their
    error is estimated from the orbit in steps of twice the length, with twice the differences: a
    third of the change, half of the change of a modulus, and all of it if contacts open.

    For a driven chain of more than 60 beads, no columns are computed. GMRES (Saad & Schultz 1986,
    doi:10.1137/0907058) gives the step, and Arnoldi's method (Lehoucq, Sorensen & Yang 1998,
    doi:10.1137/1.9780898719628) the six largest multipliers, from differences along the directions
    that they request. If these methods do not converge, the columns are computed.

    Contacts with a history, such as residual indentation, are run period after period until the
    history is steady. Newton's method then uses the constant history. If an orbit would change the
    history by more than 1e-7, it is run further. A guess that is an orbit is used with its contact
    histories.

    A breather starts at the turning point of the bead with the largest displacement. Its period is
    free, and its energy or that displacement is fixed. Multipliers that are always 1, from a shift
    in time, along the family, and from the translation of a free chain, are left out. A breather is
    stable if every other modulus is 1 within its error.

    Parameters
    ----------
    case : Case
        Chain with precompression or under gravity. Initial conditions are ignored, except for a
        chain without a drive and without a guess, for which they are the initial state, for example
        the shape of a mode times an amplitude.
    period : float, optional
        Period, a whole multiple of the period of the drive [s]. Default: the period of the drive.
        For a chain without a drive, a given period is fixed; by default it is free.
    guess : Orbit or Result, optional
        Initial state: an orbit, for example at a weaker drive, or a run that ends at zero drive
        phase. Default: the static state.
    tolerance : float
        Maximum closing error, as a fraction of the largest excursion [1].
    hold : {"energy", "amplitude"}, optional
        Quantity of the guess that is fixed if the period is free. Default: the energy.
    threads : int, optional
        Number of threads, as for `granchain.run_many`.
    progress : callable or bool, optional
        Function that is called with the number of finished runs over a period and the expected
        number for four iterations. Default: a line of text in a terminal or a notebook.

    Returns
    -------
    Orbit

    Raises
    ------
    CaseError
        If the chain has no harmonic drive, has no static load, has a striker, or is not held in
        place; if the period is not a multiple of that of the drive, or has fewer than 20 steps; or
        if the guess is of another chain or phase.
    RunError
        If no orbit is found, or if contact histories do not become steady or change during the
        orbit. The message gives the residual, and `.result` the best orbit.

    Examples
    --------
    >>> import granchain as gc
    >>> shaker = {"drive": "displacement", "signal": "harmonic"}
    >>> shaker |= {"amplitude": 1e-8, "frequency": 1e4}
    >>> case = gc.Case(
    ...     chain={"beads": 1, "radius": 2.38e-3, "material": "steel-316"}
    ...     | {"precompression": 20.0, "drag": 1500.0},
    ...     contact={"law": "hertz"},
    ...     ends={"left": shaker, "right": "wall"},
    ...     time={"end": 1e-3},
    ... )
    >>> gc.orbit(case, progress=False).stable
    True
    """
    check_case(case)
    check_members([case], threads)
    if not (isinstance(tolerance, (int, float)) and 0.0 < tolerance < 1.0):
        raise CaseError(
            f"tolerance: {tolerance!r} is out of range. It must be a number between 0 and 1."
        )
    runners = Runners(threads, progress_of(progress, "orbit"))
    if not case.drives:
        # imported here because breather imports this module
        from granchain.orbits.breather import breather

        return breather(case, period, guess, tolerance, hold, runners)
    if hold is not None:
        raise CaseError(
            f"hold: {shown(hold)} is not valid for a driven chain, because the drive sets the "
            "period. Leave it out."
        )
    one_period = one_period_of(case, period_of(case, period))
    grid = period_grid(case, one_period)
    steps = {"time.step": one_period.time.end / grid.steps}
    shooting = Shooting(one_period.replace(**steps), grid, runners)
    state, begun = np.zeros_like(grid.scale), "the static state"
    if guess is not None:
        state, begun = state_of_guess(guess, shooting.bodies, begun)
        state = state / grid.scale
    if isinstance(guess, Result):
        _check_phase(guess)
    runners.expect(expected_runs(shooting))
    settled = 0
    if shooting.remembers:
        shooting, found, settled, begun = _remembering(shooting, guess, state, begun, tolerance)
    else:
        found = _nearest_orbit(shooting, state, begun, tolerance)
    advice = "the orbit at a weaker drive or another frequency, or a run that has become steady"
    return orbit_found(
        case, shooting, found, begun, tolerance, advice, lambda shot: stability(shooting, shot),
        lambda shot: step_error(shooting, shot), settled,
    )  # fmt: skip


def orbit_found(
    case: Case,
    shooting: Shooting,
    found: Nearest,
    begun: str,
    tolerance: float,
    advice: str,
    multipliers: Callable[[Shot], Stability],
    step_errors: Callable[[Shot], StepError],
    settled: int = 0,
) -> Orbit:
    """Return the orbit that Newton's method has found.

    Raises
    ------
    RunError
        If it has found none.
    """
    if found.why is not None:
        raise RunError(
            f"orbit: no orbit of period {shooting.period:.6g} s was found from {begun}: "
            f"{found.sentence}. It must be at most {tolerance:g}. Give as guess= {advice}, or "
            "increase the tolerance.",
            shooting.seen(found.shot.state),
        )
    shot = found.shot
    orbit = orbit_of(
        case, shooting, shot, found.shots, begun, multipliers(shot), step_errors(shot), settled
    )
    shooting.runners.close()
    return orbit


def _nearest_orbit(shooting: Shooting, state: np.ndarray, begun: str, tolerance: float) -> Nearest:
    """Run Newton's method on one period."""

    def step(_: np.ndarray, shot: Shot) -> np.ndarray | None:
        if shooting.long:
            moved = krylov_step(shot.period, shot.state, shot.image)
            if moved is not None:
                return moved
            shooting.long = False
        return newton_step(shot.state, shot.image, shot.jacobian)

    return newton(state, begun, shooting.shoot, step, tolerance)


def _remembering(
    shooting: Shooting,
    guess: Orbit | Result | None,
    state: np.ndarray,
    begun: str,
    tolerance: float,
) -> tuple[Shooting, Nearest, int, str]:
    """Run Newton's method with constant contact histories, once these are steady.

    For a guess that is an orbit, its histories are used, unless a residual indentation would grow.
    """
    period, (history, whose) = shooting.fine, remembered(guess, shooting)
    settled, comes, begun = Settled(state, history), COMES, begun + whose
    if not isinstance(guess, Orbit) or whose:
        settled, comes = _settled(shooting, settled, comes, begun), comes * NEARER
    for _ in range(MOST_TRIES):
        words = begun
        if settled.periods:
            count = f"{settled.periods} period{'s' * (settled.periods > 1)}"
            words += f", run for {count} until its contact histories were steady"
        shooting = shooting.remembering(settled.history)
        found = _nearest_orbit(shooting, settled.state, words, tolerance)
        if found.why is not None:
            break
        check_still(shooting, found.shot)
        _, after = period.passed(found.shot.state, settled.history)
        lasting = period.lasting
        grows = growth(settled.history[lasting], after[lasting])
        if grows > MEETS:
            settled, comes = _settled(shooting, settled, comes, begun), comes * NEARER
        elif (after == settled.history).all() or grows:
            break
        else:
            # contacts that were open at zero phase are closed, or the reverse
            settled = settled._replace(state=found.shot.state, history=after)
    else:
        raise RunError(
            f"orbit: the chain does not reach the orbit of period {shooting.period:.6g} s from "
            f"{words}, because the residual indentation would grow by a fraction of {grows:.2g} "
            f"in it. It may grow by at most {MEETS:g}. Give as guess= a run at a stronger drive, "
            "which leaves deeper indentation, that ends at zero drive phase, or as period= a "
            "multiple of the period.",
            shooting.seen(found.shot.state),
        )
    return shooting, found, settled.periods, words


def _settled(shooting: Shooting, begun: Settled, comes: float, words: str) -> Settled:
    """Run a chain until its contact histories are steady."""
    try:
        found = settle(shooting.fine, begun, comes)
    except RunError as error:
        raise RunError(
            f"guess: {words} cannot be run until its contacts are steady: {error} A drive that "
            "the contacts can bear is required. Start from a smaller amplitude."
        ) from None
    if found.grows:
        raise RunError(
            f"orbit: after {found.passed} periods from {words}, the contacts still change, by a "
            f"fraction of {found.grows:.2g} of their histories in the last period. It must be at "
            f"most {SETTLED_GROWTH:g}. Give as guess= a run at a stronger drive, which leaves "
            "deeper indentation, that ends at zero drive phase.",
            shooting.remembering(found.history).seen(found.state),
        )
    return found


def remembered(guess: Orbit | Result | None, shooting: Shooting) -> tuple[np.ndarray, str]:
    """Return the contact histories of a guess, and a note if they are those of the static state."""
    at_rest_history = shooting.fine.contacts.history[:, :-1]
    if guess is None:
        return at_rest_history, ""
    result = guess.result if isinstance(guess, Orbit) else guess
    if result.state is not None:
        held, mine = state_in(text_of_state(result.state)), same_of(shooting.bare)
        if all(held.same[name] == mine[name] for name in FIXED):
            return held.start.history.copy(), ""
    return at_rest_history, ", with the contacts of the static state"


def check_still(shooting: Shooting, shot: Shot) -> None:
    """Raise an error if contact histories change during an orbit.

    The state of an orbit consists of displacements and velocities only.

    Raises
    ------
    RunError
        With the trajectory of the orbit.
    """
    if not (changed := shot.course.changed).any():
        return
    names = shooting.fine.contacts.model.history
    which = ", ".join(map(str, shooting.fine.contact_labels[changed].tolist()))
    what = ", ".join(names[place].name for place in shooting.fine.lasting)
    raise RunError(
        f'contact.law: with "{shooting.bare.contact.law}", contacts {which} change their {what} '
        "during the orbit. It must be constant during an orbit. Use a weaker drive or a larger "
        "chain.precompression, so that the contacts stay closed. A run of many periods "
        "(granchain.run) finds a stable orbit with any law.",
        shooting.seen(shot.state),
    )


def expected_runs(shooting: Shooting) -> int:
    """Return the expected number of runs over a period, for the progress report."""
    return (USUAL_SHOTS + 2) * (4 * shooting.bodies + 1)


class PeriodGrid(NamedTuple):
    """Number of steps of a period (even), smallest static overlap [m], and scale of displacements
    [m] and velocities [m/s], (2 n_bodies,)."""

    steps: int
    overlap: float
    scale: np.ndarray


def period_grid(case: Case, one_period: Case) -> PeriodGrid:
    """Check that orbits of the case are supported, and return steps and scale."""
    if case.drives:
        _check_covered(case)
    period = one_period.time.end
    # this raises errors for contacts without a static force, and for chains that are too long
    omega = 2.0 * math.pi * float(modes(case).frequencies[-1])
    chain, contacts, planned = prepare(one_period)
    n = chain.n_bodies + chain.n_resonators
    if planned.n_steps < FEWEST_STEPS:
        raise CaseError(
            f"period: {period:.6g} s is only {planned.n_steps} time steps of {planned.value:.3g} "
            f"s. At least {FEWEST_STEPS} are required. Reduce time.step, for example to "
            f"{period / 100.0:.3g} s{', or use a lower drive frequency' * bool(case.drives)}."
        )
    # an even number, such that steps of twice the length are stable
    steps = max(planned.n_steps, math.ceil(2.0 * period / planned.limit))
    overlap = float(contacts.overlaps[chain.contacts].min())
    return PeriodGrid(steps + steps % 2, overlap, np.repeat([overlap, omega * overlap], n))


class Shooting:
    """Run over one period of a driven case, from any state.

    States are scaled: displacements by the smallest static overlap, velocities by that times the
    highest frequency of the chain.

    Parameters
    ----------
    bare : Case
        One period from rest in equal steps.
    grid : PeriodGrid
    runners : Runners
    history : (n_history, n_contacts) array, optional
        Contact histories with constant residual indentation. Default: histories at rest.
    """

    def __init__(
        self,
        bare: Case,
        grid: PeriodGrid,
        runners: Runners,
        history: np.ndarray | None = None,
    ):
        self.bare, self.grid, self.runners, self.history = bare, grid, runners, history
        self.period, (self.steps, self.overlap, self.scale) = bare.time.end, grid
        self.fine = Period(bare, self.scale, runners, history)
        self.bodies = self.fine.bodies
        # whether to use directions of the Jacobian instead of its columns
        self.long = self.bodies > MOST_DENSE

    @cached_property
    def coarse(self) -> Period:
        """Period with steps of twice the length."""
        doubled = {"time.step": 2.0 * self.period / self.steps}
        return Period(self.bare.replace(**doubled), self.scale, self.runners, self.history)

    @cached_property
    def halved(self) -> Period:
        """Period with steps of half the length."""
        half = {"time.step": 0.5 * self.period / self.steps}
        return Period(self.bare.replace(**half), self.scale, self.runners, self.history)

    def remembering(self, history: np.ndarray) -> Shooting:
        """Return the same run with these contact histories, and constant indentation."""
        return Shooting(self.bare, self.grid, self.runners, history)

    @cached_property
    def remembers(self) -> bool:
        """True if the force at a drive phase depends on the history.

        The weight of a dashpot at contact onset has no effect without damping.
        """
        contacts = self.fine.contacts
        return bool(contacts.model.history) and (bool(self.fine.lasting) or self.damped)

    @cached_property
    def damped(self) -> bool:
        """True if contacts lose energy in small oscillations."""
        chain, contacts = self.fine.chain, self.fine.contacts
        there = range(chain.n_bodies + 1)[chain.contacts]
        return bool(at_rest(contacts, there, float(chain.mass.min()))[1].any())

    @property
    def limits(self) -> np.ndarray:
        """Overlaps at which residual indentations start to grow, (contacts,) [m]; infinite if there
        are none."""
        fine = self.fine
        if self.history is None or fine.limit is None:
            return np.full(fine.contact_labels.size, math.inf)
        return np.asarray(self.history[fine.limit][fine.chain.contacts])

    def run(self, state: np.ndarray) -> Result:
        """Run the period from a state, with records.

        With resonators or contact histories, one period is run first, and the run with records
        starts from its complete final state.
        """
        own, fine = (state * self.scale).tolist(), self.fine
        every = self.period * max(1, self.steps // INSTANTS) / self.steps
        initial: dict[str, Any] = {
            "displacement": own[: self.bodies], "velocity": own[self.bodies :]
        }  # fmt: skip
        if self.history is not None or fine.chain.n_resonators:
            history = fine.contacts.history[:, :-1] if self.history is None else self.history
            left = fine.left_by(state, history)
            initial = {"state": text_of_state(state_of_run(self.bare, left, fine.step.value))}
        recorded = {
            "initial": initial,
            "snapshots": {"interval": every},
            "sensors": {"beads": "all", "contacts": "all", "interval": every},
            "energy": dict(self.bare.energy) | {"ledger": True, "interval": every},
        }
        return run_to_end(self.bare.replace(**recorded))

    def seen(self, state: np.ndarray) -> Result | None:
        """Run the period from a state that is not an orbit, as far as possible."""
        try:
            return self.run(state)
        except (CaseError, RunError) as error:
            return getattr(error, "result", None)

    def shoot(self, state: np.ndarray) -> Shot:
        """Run a period from a state with its Jacobian, which long chains compute on request.

        Raises
        ------
        RunError
            If a run fails.
        """
        image, jacobian = (
            (self.fine.images(state[None])[0], None)
            if self.long
            else self.fine.with_jacobian(state)
        )
        course = self.fine.course(state)
        # for a chain at rest, a millionth of its static overlap
        excursion = max(float(course.excursion.max()) / self.overlap, 1e-6)
        residual = float(np.abs(image - state).max()) / excursion
        shot = Shot(self.fine, state, image, course, residual)
        if jacobian is not None:
            shot.jacobian = jacobian
        return shot


@dataclass
class Stability:
    """Multipliers of an orbit, the largest modulus first; for a breather the nontrivial ones.

    Parameters
    ----------
    values : (m,) complex array
    vectors : (m, 2 n) complex array
        Eigenvectors as rows.
    off, modulus : float
        Errors of the first value and of its modulus.
    stable : bool
    moduli : (m,) array, optional
        Error of each modulus, for a breather.
    matrix : (m, m) array, optional
        Jacobian on the space across conserved quantities, for a breather.
    energy : float
        Energy of a breather [J].
    period_error : float
        Error of the period of a breather [s].
    """

    values: np.ndarray
    vectors: np.ndarray
    off: float
    modulus: float
    stable: bool
    moduli: np.ndarray | None = None
    matrix: np.ndarray | None = None
    energy: float = math.nan
    period_error: float = 0.0


def stability(shooting: Shooting, shot: Shot) -> Stability:
    """Return the multipliers; for a long chain without a Jacobian, the largest ones."""
    # if only drag dissipates energy, multipliers form pairs with equal products, and those of a
    # stable orbit have equal moduli, which Arnoldi's method does not separate
    parted = shooting.damped or shooting.fine.chain.own_sum("damping").any()
    few = "jacobian" not in vars(shot) and bool(parted)
    values, vectors = (
        largest_multipliers(shot.period, shot.state) if few else np.linalg.eig(shot.jacobian)
    )
    order = np.argsort(-np.abs(values), kind="stable")
    values, vectors = (
        values[order].astype(complex),
        scaled_to_largest(vectors[:, order].T * shooting.scale),
    )
    coarse = _coarse_multipliers(shooting, shot.state, few and len(values) < shot.state.size)
    # order 2 in the step and in the differences: a third of the change from doubling both, and half
    # of the change of a modulus, which may differ from 1 by its error; the complete change if
    # contacts open between two steps. Add the rounding of a difference, which accumulates as a
    # random walk, and the curvature of d^1.5 over it.
    rounding, part, half = rounding_of(shooting.steps), 3.0, 2.0
    if "jacobian" in vars(shot) and shot.course.lowest.min() <= MOVED * shooting.overlap:
        rounding += MOVED**1.5 * float(np.abs(shot.jacobian).max())
        part = half = 1.0
    off = float(np.abs(coarse - values[0]).min()) / part + rounding
    modulus = abs(float(np.abs(coarse).max()) - abs(values[0])) / half + rounding
    return Stability(values, vectors, off, modulus, bool(abs(values[0]) <= 1.0 + modulus))


class StepError(NamedTuple):
    """Discretization errors of an orbit: displacement of each body at any phase, (n_bodies,) [m],
    and energy of a breather [J]."""

    displacement: np.ndarray
    energy: float = math.nan


def step_error(shooting: Shooting, shot: Shot) -> StepError:
    """Return the discretization error of a driven orbit, from the orbit with half the step.

    Newton's method uses the Jacobian of the orbit itself, so each correction costs one run.
    """
    halved, state = shooting.halved, shot.state
    try:
        for _ in range(MOST_CORRECTIONS):
            image = halved.images(state[None])[0]
            if "jacobian" in vars(shot):
                move = newton_step(state, image, shot.jacobian)
            else:
                move = krylov_step(halved, state, image)
            if move is None:
                break
            state = state + move
            if np.abs(move).max() <= CORRECTED * np.abs(state - shot.state).max():
                return StepError(swing_error(state - shot.state, shooting))
    except RunError:
        pass
    return StepError(np.full(shooting.bodies, math.nan))


def swing_error(change: np.ndarray, shooting: Shooting) -> np.ndarray:
    """Return the error of each displacement from the change with half the step, (n,) [m].

    Order 2: half steps leave a quarter of the error, so the change is three quarters of it. The
    error is the amplitude of an oscillation with the period of the orbit that has this change of
    state, so it applies at any phase.
    """
    u, v = (change * shooting.scale).reshape(2, -1)
    omega = 2.0 * math.pi / shooting.period
    return np.asarray(SAFETY * 4.0 / 3.0 * np.hypot(u, v / omega))


def scaled_to_largest(vectors: np.ndarray) -> np.ndarray:
    """Scale rows of displacements and velocities to a largest displacement of 1."""
    largest = np.abs(vectors[:, : vectors.shape[1] // 2]).argmax(axis=1)[:, None]
    return np.asarray(vectors / np.take_along_axis(vectors, largest, axis=1))


def error_not_known(shooting: Shooting, state: np.ndarray, error: RunError) -> RunError:
    """Return the error for an orbit that cannot be followed with longer steps."""
    return RunError(
        "orbit: the error of the orbit cannot be estimated, because with time steps of twice "
        f"the length {error} Reduce time.step.",
        shooting.seen(state),
    )


def orbit_of(
    case: Case,
    shooting: Shooting,
    shot: Shot,
    shots: int,
    begun: str,
    found: Stability,
    error: StepError,
    settled: int = 0,
) -> Orbit:
    """Return the orbit of a shot; `case` is the case of the orbit."""
    own, n = shot.state * shooting.scale, shooting.bodies
    try:
        result = shooting.run(shot.state)
    except (CaseError, RunError) as problem:
        raise RunError(
            f"orbit: the trajectory of the orbit of period {shooting.period:.6g} s cannot be "
            f"run: {problem} Reduce time.step.",
            getattr(problem, "result", None),
        ) from None
    lost = ("viscous", "plastic", "clamp", "drag", "on_site_damping", "resonator_damping")
    bead, vectors = shooting.fine.chain.body_labels, found.vectors.astype(complex)
    resonators = n > bead.size
    data = {
        "period": shooting.period,
        "stable": found.stable,
        "multiplier_error": found.off,
        "modulus_error": found.modulus,
        "energy_in": _gain(result, "drives"),
        "energy_lost": sum(_gain(result, name) for name in lost),
        "energy": found.energy,
        "energy_error": error.energy,
        "period_error": found.period_error,
        "residual": shot.residual,
        "shots": shots,
        "settled": settled,
        "begun": begun,
        "bead": bead,
        "body": np.arange(1, n + 1) if resonators else None,
        "displacement": own[:n],
        "velocity": own[n:],
        "displacement_error": error.displacement,
        "multiplier": np.arange(len(found.values)),
        "multipliers": found.values,
        "vector_displacement": vectors[:, :n],
        "vector_velocity": vectors[:, n:],
        "contact": result.sensor_contact,
        "opens": result.contact_overlap.min(axis=0) <= result.residual_overlap,
        "touches": shot.course.highest >= (1.0 - TOUCHES) * shooting.limits,
    }
    return Orbit(
        data,
        case=case,
        labels=labels_of_bodies(Orbit.labels, resonators),
        provenance=law_provenance(case),
        groups={"trajectory": result},
    )


def rounding_of(steps: int) -> float:
    """Return the rounding error of a central difference over a period, as a random walk."""
    return float(np.finfo(float).eps / MOVED * math.sqrt(2.0 * steps))


def _coarse_multipliers(shooting: Shooting, state: np.ndarray, few: bool) -> np.ndarray:
    """Return the multipliers of the orbit with twice the step and twice the differences."""
    coarse, twice = shooting.coarse, 2.0 * MOVED
    try:
        if shooting.long:
            move = krylov_step(coarse, state, coarse.images(state[None])[0], twice)
        else:
            image, jacobian = coarse.with_jacobian(state, twice)
            move = newton_step(state, image, jacobian)
        near = state if move is None else state + move
        if few:
            return largest_multipliers(coarse, near, twice)[0]
        if shooting.long or move is not None:
            _, jacobian = coarse.with_jacobian(near, twice)
    except RunError as error:
        raise error_not_known(shooting, state, error) from None
    return np.asarray(np.linalg.eigvals(jacobian))


def _gain(result: Result, name: str) -> float:
    """Return the increase of an energy of the balance over a result [J]; 0 if it is absent."""
    if f"energy_{name}" not in result.variables:
        return 0.0
    values = getattr(result, f"energy_{name}")
    return float(values[-1] - values[0])


def _check_covered(case: Case) -> None:
    """Raise an error for chains whose orbits are not supported."""
    problems, drives = Problems(), case.drives
    if case.striker is not None:
        problems.add(
            "striker",
            "an orbit cannot have a striker",
            "A striker does not return",
            "Remove the table",
        )
    first = next(iter(drives.values()))
    for where, end in drives.items():
        behind = math.remainder((end.phase or 0.0) - (first.phase or 0.0), 2.0 * math.pi)
        placed = end.drive == "displacement"
        problems.check(
            not (placed and where.startswith("drive.")),
            where,
            "the displacement of a bead is prescribed",
            'Orbits require driven ends, or beads with drive = "force"',
            "Drive the bead with a force, or end the chain there",
        )
        problems.check(
            not (placed and end.dc),
            f"{where}.dc",
            f"{end.dc} is not valid",
            "It must be absent if a displacement is driven",
            "Compress the chain with chain.precompression",
        )
        if placed and abs(behind) > _SAME_PHASE * _SAME_PERIOD:
            problems.add(
                f"{where}.phase",
                f"the phases of two drives differ by {behind:.6g} rad",
                "They must be equal if a displacement is driven",
                "For drives in antiphase, use a negative amplitude",
            )
    held = [case.ends.has_wall(side) for side in ("left", "right")]
    if not (any(held) or case.chain.of_each("on_site_stiffness").any()):
        problems.add(
            "ends",
            "the chain is not held in place and drifts",
            "A wall, a driven displacement, or beads on on-site springs are required",
            "Set the end that is not driven to a wall",
        )
    problems.close()


def period_of(case: Case, period: float | None) -> float:
    """Return the period of the orbit [s], a whole multiple of the period of each drive."""
    drives = case.drives
    wrong = {
        where: "a table" if end.signal is None else f'signal = "{end.signal}"'
        for where, end in drives.items()
        if end.signal != "harmonic"
    }
    for where, got in wrong.items():
        raise CaseError(
            f'{where}: {got} is not valid. It must have signal = "harmonic", because an orbit '
            "needs a "
            "periodic drive."
        )
    frequencies = [float(end.frequency or 0.0) for end in drives.values()]
    stated = 1.0 / min(frequencies) if period is None else period
    good = type(stated) is not bool and isinstance(stated, (int, float)) and 0.0 < stated < math.inf
    counts = [stated * one for one in frequencies] if good else []
    if not good or any(
        round(one) < 1 or abs(one - round(one)) > _SAME_PERIOD * one for one in counts
    ):
        each = " and ".join(f"{1.0 / one:.9g} s" for one in dict.fromkeys(frequencies))
        got = f"{stated:.9g} s" if good else repr(stated)
        raise CaseError(
            f"period: {got} is not valid. It must be a whole multiple of the period of each "
            f"drive, {each}. "
            + ("Leave it out." if len(set(frequencies)) == 1 else "Give a multiple of both.")
        )
    return round(counts[0]) / frequencies[0]


def one_period_of(case: Case, period: float) -> Case:
    """Return the case for one drive period from phase 0, at rest."""
    changes: dict[str, Any] = {"time.end": period, "initial": None}
    for place, segment in case.chain.places():
        changes |= {
            f"{place}.{name}": None for name in MOTION_COLUMNS if getattr(segment, name) is not None
        }
    if case.initial is None:
        del changes["initial"]
    first = next((end.phase for end in case.drives.values()), None) or 0.0
    for where, end in case.drives.items():
        given = [name for name in ("ramp", "duration") if getattr(end, name) is not None]
        changes |= {f"{where}.{name}": None for name in given}
        if end.phase is not None:
            behind = math.remainder(end.phase - first, 2.0 * math.pi)
            changes[f"{where}.phase"] = behind or None
    if case.tolerance is not None:
        changes["tolerance"] = None
    return case.replace(**changes)


def state_of_guess(guess: Any, bodies: int, otherwise: str) -> tuple[np.ndarray, str]:
    """Return the state of an orbit, or at the end of a run, and its description.

    The state has displacements [m] and velocities [m/s] of beads and resonators, (2 n,).
    """
    if isinstance(guess, Orbit):
        rows, name = [guess.displacement, guess.velocity], "an orbit"
    elif isinstance(guess, Result) and {"final_displacement", "bead"} <= guess.variables.keys():
        kinds = ["", "resonator_"][: 1 + ("final_resonator_displacement" in guess.variables)]
        rows, name = (
            [
                np.concatenate([getattr(guess, f"final_{kind}{what}") for kind in kinds])
                for what in ("displacement", "velocity")
            ],
            "a run",
        )
    else:
        raise CaseError(
            f"guess: {type(guess).__name__} is not valid. It must be an Orbit, or a Result of a "
            f"chain. Without a guess, the search starts from {otherwise}."
        )
    if rows[0].size != bodies:
        raise CaseError(
            f"guess: it has {rows[0].size} beads and resonators, but the case has {bodies}. Give "
            "a guess of the same chain."
        )
    return np.concatenate(rows), f"{name} of {guess.title or guess.law}"


def _check_phase(guess: Result) -> None:
    """Raise an error if a run does not end at zero drive phase."""
    own = case_of(guess)
    drives = {} if own is None else own.drives
    for where, end in list(drives.items())[:1]:
        if end.signal != "harmonic" or not end.frequency:
            continue
        time = begun_before(own, where)[1] + own.time.end
        cycles = time * end.frequency + (end.phase or 0.0) / (2.0 * math.pi)
        if abs(cycles - round(cycles)) > _SAME_PHASE:
            whole = own.time.end + (math.ceil(cycles) - cycles) / end.frequency
            raise CaseError(
                f"guess: the run ends at {cycles % 1.0:.4g} of a period of its drive. It must "
                f"end at zero drive phase. Set time.end = {whole:.9g}."
            )
