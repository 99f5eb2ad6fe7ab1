"""Periodic orbits of a driven chain under a static load, by Newton's method on one period, and
their Floquet multipliers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import numpy as np

from granchain.case import Case, check_case, check_fixed_ends
from granchain.case.start import drive_clock
from granchain.errors import CaseError, RunError
from granchain.keys import brief
from granchain.orbits.breather import Breathers, breather_search
from granchain.orbits.driven import SAME_PHASE, Driven, driven_search
from granchain.orbits.shooting import Guess, Shot, step_error
from granchain.progress import progress_of
from granchain.simulation import law_provenance, warns_of_fast_drives
from granchain.store import Answer, Label, Result
from granchain.store.answer import case_of
from granchain.store.schema import ATTACHED
from granchain.studies.images import Runners

# Relative distance from the indentation limit within which an orbit is at the limit; an orbit is
# accurate to 1e-8.
TOUCHES = 1e-6

Problem = Driven | Breathers

_OF_MULTIPLIER, _OF_BODY, _OF_CONTACT = ("multiplier",), ("bead",), ("contact",)


class Orbit(Answer):
    """Periodic orbit of a chain.

    With attached masses, the axis of the bodies is `body` (beads, then attached masses).

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
        Energy supplied by the drives, and energy lost in contacts and dashpots, in
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
        Numbers of beads and attached masses. Only for a chain with attached masses.
    displacement, velocity : (n_bodies,) array
        Displacements from equilibrium [m] and velocities [m/s] of the beads, then attached masses,
        at zero drive phase.
    displacement_error : (n_bodies,) array
        Discretization error of the displacement of each body at any phase of the orbit [m], from
        the orbit in steps of half the length. nan if there is no such orbit nearby.
    multipliers : (m,) complex array
        Floquet multipliers [1], the largest modulus first: all 2 n_bodies, or for a driven chain of
        more than 60 bodies the six largest, unless they lie too close to a circle.
    vector_displacement, vector_velocity : (m, n_bodies) complex array
        Eigenvector of each multiplier: displacements [1] and velocities [1/s], scaled to a largest
        displacement of 1. For a breather, they are defined up to a shift along the orbit and its
        family.
    contact : (n_contacts,) array
        Labels of the contacts.
    opens : (n_contacts,) bool array
        Whether each contact opens during the orbit. The multipliers then belong to a map whose
        derivative is not smooth.
    touches : (n_contacts,) bool array
        Whether the largest overlap of each contact in the orbit is the largest of its history. The
        multipliers then apply to perturbations that do not increase this overlap; other
        perturbations increase the residual indentation.

    Examples
    --------
    >>> import granchain as gc
    >>> shaker = {"drive": "displacement", "signal": "harmonic"}
    >>> shaker |= {"amplitude": 1e-8, "frequency": 1e4}
    >>> case = gc.Case(
    ...     chain={"beads": 1, "radius": 2.38e-3, "material": "steel-316"}
    ...     | {"precompression": 20.0, "on_site_damping": 0.7},
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
        "body": Label(("body",), "1", "number of the body: beads, then attached masses"),
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


def labels_of_bodies(labels: Mapping[str, Label], attached: bool) -> dict[str, Label]:
    """Return labels with the axis `body` instead of `bead` if there are attached masses."""
    if not attached:
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
    third of the change, half of the change of a modulus, and the complete change if contacts open.

    For a driven chain of more than 60 beads, no columns are computed. GMRES (Saad & Schultz 1986,
    doi:10.1137/0907058) gives the step, and Arnoldi's method (Lehoucq, Sorensen & Yang 1998,
    doi:10.1137/1.9780898719628) the six largest multipliers, from differences along the directions
    that they request. If these methods do not converge, the columns of the Jacobian are computed.

    Contacts with a history, such as residual indentation, are run period after period until the
    history is steady. Newton's method then uses the constant history. If an orbit would change the
    history by more than 1e-7, it is run further. A guess that is an orbit is used with its contact
    histories.

    A breather starts at the turning point of the bead with the largest displacement. Its period is
    unknown, and either its energy or this displacement is fixed. Multipliers that are always 1,
    from a shift in time, along the family, and from the translation of a free chain, are left out.
    A breather is stable if every other modulus is 1 within its error.

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
        If the chain has no harmonic drive, has no static load, has a striker, or has neither walls
        nor on-site springs; if the period is not a multiple of that of the drive, or has fewer than
        20 steps; or if the guess is of another chain or phase.
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
    ...     | {"precompression": 20.0, "on_site_damping": 0.7},
    ...     contact={"law": "hertz"},
    ...     ends={"left": shaker, "right": "wall"},
    ...     time={"end": 1e-3},
    ... )
    >>> gc.orbit(case, progress=False).stable
    True
    """
    check_case(case)
    check_fixed_ends(case, "an orbit")
    runners = Runners(threads, progress_of(progress, "orbit"))
    if not (isinstance(tolerance, (int, float)) and 0.0 < tolerance < 1.0):
        raise CaseError(
            f"tolerance: {tolerance!r} is out of range. It must be a number between 0 and 1."
        )
    if case.drives and hold is not None:
        raise CaseError(
            f"hold: {brief(hold)} is not valid for a driven chain, because the drive sets the "
            "period. Leave it out."
        )
    start = guess_of(case, guess)
    problem: Problem
    if case.drives:
        problem, nearest, origin, settled = driven_search(case, period, start, tolerance, runners)
    else:
        problem, nearest = breather_search(case, period, start, tolerance, hold, runners)
        origin, settled = start.origin, 0
    shot = nearest.shot
    if nearest.why is not None:
        raise RunError(
            f"orbit: no orbit of period {shot.shooting.period:.6g} s was found from {origin}: "
            f"{nearest.sentence}. It must be at most {tolerance:g}. Give as guess= "
            f"{problem.advice}, or increase the tolerance.",
            shot.shooting.run_until_failure(shot.state),
        )
    answer = orbit_of(case, problem, shot, nearest.shots, origin, settled)
    runners.close()
    return answer


def orbit_of(
    case: Case, problem: Problem, shot: Shot, shots: int, origin: str, settled: int = 0
) -> Orbit:
    """Return the orbit of a shot; `case` is the case of the orbit."""
    stability, (displacement_error, energy_error) = (
        problem.stability(shot),
        step_error(problem, shot),
    )
    shooting = shot.shooting
    chain, n, period = shooting.chain, shooting.chain.bodies, shooting.period
    state, vectors = shot.state * shooting.grid.scale, stability.vectors.astype(complex)
    try:
        result = shooting.run(shot.state)
    except (CaseError, RunError) as problem_of_run:
        raise RunError(
            f"orbit: the trajectory of the orbit of period {period:.6g} s cannot be run: "
            f"{problem_of_run} Reduce time.step.",
            getattr(problem_of_run, "result", None),
        ) from None
    lost = ("viscous", "plastic", "clamp", "elements_viscous")
    attached = n > chain.bead.size
    data = {
        "period": period,
        "stable": stability.stable,
        "multiplier_error": stability.off,
        "modulus_error": stability.modulus,
        "energy_in": _gain(result, "drives"),
        "energy_lost": sum(_gain(result, name) for name in lost),
        "energy": stability.energy,
        "energy_error": energy_error,
        "period_error": stability.period_error,
        "residual": shot.residual,
        "shots": shots,
        "settled": settled,
        "begun": origin,
        "bead": chain.bead,
        "body": np.arange(1, n + 1) if attached else None,
        "displacement": state[:n],
        "velocity": state[n:],
        "displacement_error": displacement_error,
        "multiplier": np.arange(len(stability.values)),
        "multipliers": stability.values,
        "vector_displacement": vectors[:, :n],
        "vector_velocity": vectors[:, n:],
        "contact": result.sensor_contact,
        "opens": result.contact_overlap.min(axis=0) <= result.residual_overlap,
        "touches": shot.course.highest >= (1.0 - TOUCHES) * shooting.limits,
    }
    return Orbit(
        data,
        case=case,
        labels=labels_of_bodies(Orbit.labels, attached),
        provenance=law_provenance(case),
        groups={"trajectory": result},
    )


def _gain(result: Result, name: str) -> float:
    """Return the increase of an energy of the balance over a result [J]; 0 if it is absent."""
    energy = result.variables.get(f"energy_{name}")
    return 0.0 if energy is None else float(energy.data[-1] - energy.data[0])


def guess_of(case: Case, guess: Any) -> Guess:
    """Return the initial state of a search: an orbit, the end of a run, or by default rest."""
    bodies = case.beads + len(case.chain.attached_masses()[0])
    default = "the static state" if case.drives else "the initial state of the beads"
    if guess is None:
        return Guess(np.zeros(2 * bodies), default)
    if isinstance(guess, Orbit):
        rows, name = [guess.displacement, guess.velocity], "an orbit"
    elif isinstance(guess, Result) and {"final_displacement", "bead"} <= guess.variables.keys():
        kinds = ["", f"{ATTACHED}_"][: 1 + (ATTACHED in guess.variables)]
        rows, name = (
            [
                np.concatenate([getattr(guess, f"final_{kind}{quantity}") for kind in kinds])
                for quantity in ("displacement", "velocity")
            ],
            "a run",
        )
    else:
        raise CaseError(
            f"guess: {type(guess).__name__} is not valid. It must be an Orbit, or a Result of a "
            f"chain. Without a guess, the search starts from {default}."
        )
    if rows[0].size != bodies:
        raise CaseError(
            f"guess: it has {rows[0].size} beads and attached masses, but the case has {bodies}. "
            "Give a guess of the same chain."
        )
    origin = f"{name} of {guess.title or guess.law}"
    if isinstance(guess, Orbit):
        return Guess(np.concatenate(rows), origin, guess.result, float(guess.period))
    if case.drives:
        _check_phase(guess)
    return Guess(np.concatenate(rows), origin, guess)


def _check_phase(guess: Result) -> None:
    """Raise an error if a run does not end at zero drive phase."""
    before = case_of(guess)
    drives = {} if before is None else before.drives
    for where, end in list(drives.items())[:1]:
        if end.signal != "harmonic" or not end.frequency:
            continue
        time = drive_clock(before, where)[1] + before.time.end
        cycles = time * end.frequency + (end.phase or 0.0) / (2.0 * math.pi)
        if abs(cycles - round(cycles)) > SAME_PHASE:
            whole = before.time.end + (math.ceil(cycles) - cycles) / end.frequency
            raise CaseError(
                f"guess: the run ends at {cycles % 1.0:.4g} of a period of its drive. It must "
                f"end at zero drive phase. Set time.end = {whole:.9g}."
            )
