"""Branches of periodic orbits versus a parameter of the case, by pseudo-arclength continuation,
with the points at which they turn back or lose stability."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from granchain.analysis.convergence import SAFETY
from granchain.case import Case, check_case, check_fixed_ends
from granchain.case.document import NO_PHYSICS, about_key, entry_at
from granchain.case.start import FIXED, comparable_digests
from granchain.errors import CaseError, LawError, RunError
from granchain.keys import brief
from granchain.orbits.breather import CLOSED, TurningPoint, breathers_near, check_conservative
from granchain.orbits.driven import (
    MEETS,
    Driven,
    check_constant_history,
    driven_problem,
    frequency_of,
    history_of_guess,
    multiple_of,
)
from granchain.orbits.orbit import Orbit, Problem, guess_of, labels_of_bodies, orbit_of
from granchain.orbits.orbit import orbit as find_orbit
from granchain.orbits.shooting import CORRECTED, MOVED, Shooting, Shot, Stability, newton_correction
from granchain.plain_data import canonical, sha256_of
from granchain.progress import progress_of
from granchain.simulation import changed_law, law_provenance, law_records, warns_of_fast_drives
from granchain.store import Answer, Label
from granchain.store.dataset import open_hdf5
from granchain.store.files import claim
from granchain.store.journal import StudyPart
from granchain.store.schema import granchain_version, source_hash
from granchain.studies.images import Runners

# Step lengths along a branch, as fractions of the distance from start to stop: the first, the
# longest, and the shortest before the branch ends. Our choice.
FIRST, LONGEST, LEAST_LENGTH = 0.02, 0.05, 1e-5
# Longest step in which a contact may begin to open, because test functions have a kink there.
GRAZES = 1e-3
# Largest distance from a special point in the search for the same point with half the time step.
# Our choice.
FARTHEST = 4.0 * LONGEST
# Largest residual of a breather due to the energy drift of opening contacts. Our choice.
DRIFT_RESIDUAL = 1e-6
# Target and maximum number of corrections per step.
AIMED, MOST = 4, 8
# Smallest cosine between the tangents of neighbouring orbits: about 26 degrees.
STRAIGHT = 0.9
# Tolerance of the position of a special point, as a fraction of the step that contains it.
POSITION_TOLERANCE = 1e-3
# Growth factor of the states at which the coordinates of a branch are rescaled.
GROWN = 1.3
# Largest difference between a file's first orbit and that of the call that resumes it, relative to
# its state. Both orbits are accurate to 1e-8, and two different orbits of one case differ by more.
# Our choice.
SAME_ORBIT = 1e-3
# Maximum number of orbits of a branch.
MOST_ORBITS = 2000
# Numbers of a point that a file stores unchanged.
STORED_OF_POINT = (
    "parameter", "period", "displacement", "velocity", "excursion", "lowest",
    "multiplier_error", "modulus_error", "residual", "parameter_error",
)  # fmt: skip
# Quantities along which a breather is followed, in addition to keys of its case.
FAMILIES = {
    "energy": Label(("point",), "J", "energy of the breather above the static state"),
    "amplitude": Label(
        ("point",), "m", "displacement of the bead that moves most, at its turning point"
    ),
    "period": Label(("point",), "s", "period of the breather"),
}
# Distances from a point at which the other branch is searched, relative to the smallest static
# overlap.
SWITCH_LENGTHS = (0.1, 0.03, 0.3, 0.01)


@dataclass(frozen=True, eq=False)
class Point:
    """Orbit of a branch.

    Attributes
    ----------
    kind : str
        "orbit", or the kind of a special point: "fold", "period doubling", "Neimark-Sacker",
        "pitchfork", "branch point", "grazing", "growing dent"; for breathers also "energy extremum"
        and "Krein collision".
    parameter : float
        Value of the varied parameter, in SI units.
    period : float
        Period [s].
    displacement, velocity : (n_bodies,) array
        Displacements [m] and velocities [m/s] of beads, then attached masses, at zero drive
        phase.
    excursion : (n_bodies,) array
        Largest displacement of each body from equilibrium [m].
    lowest : (n_contacts,) array
        Smallest overlap of each contact in the period minus its residual indentation [m]; negative
        if the contact opens.
    multipliers : (2 n_bodies,) complex array
        Floquet multipliers [1]; for a breather without those that are always 1.
    multiplier_error, modulus_error : float
        Errors of the first multiplier and of its modulus [1].
    stable : bool
        Whether no modulus exceeds 1 by more than its error.
    residual : float
        Closing error, as a fraction of the largest excursion [1].
    contact : int or None
        For a grazing, the contact that starts or stops opening; for a growing dent, the contact
        whose residual indentation grows.
    parameter_error : float
        Discretization error of the parameter of a special point, from the point in steps of half
        the length; nan if it was not found there, and for ordinary orbits.
    """

    kind: str
    parameter: float
    period: float
    displacement: np.ndarray
    velocity: np.ndarray
    excursion: np.ndarray
    lowest: np.ndarray
    multipliers: np.ndarray
    multiplier_error: float
    modulus_error: float
    stable: bool
    residual: float
    contact: int | None
    parameter_error: float
    path_of: Callable[[], Path] = field(repr=False)

    @property
    def path(self) -> Path:
        """Path of the branch."""
        return self.path_of()

    @cached_property
    def orbit(self) -> Orbit:
        """Orbit with its trajectory, which is computed at the first access."""
        return self.path.orbit(self.path.coordinates(self), f"the branch along {self.path.along}")


_ALONG, _OF_BODIES = ("point",), ("point", "bead")


class Branch(Answer):
    """Branch of periodic orbits of a chain versus a parameter of its case.

    `case` is the case at the last point. The case at the start is in the provenance, as
    `start_case_json`. With attached masses, the axis of the bodies is `body` (beads, then attached
    masses) instead of `bead`. Each variable with the axis `point` has one row per orbit.

    Attributes
    ----------
    along : str
        Key of the parameter.
    start, stop : float
        Range of the parameter, in SI units.
    steps : int
        Number of time steps in a period.
    drive_periods : int
        Number of drive periods in a period.
    weight : float
        Scale of the state in the arclength, relative to the smallest static overlap [1].
    energy : float
        Energy of all breathers of the branch above the static state, if a parameter of the case
        varies [J]. nan for other branches.
    interrupted : bool
        Whether the computation was interrupted.
    kind : (n_points,) array of str
        "orbit", or the kind of a special point, as for `Point`.
    parameter, period, stable, ... : array
        Attributes of the points, as for `Point`. `opening` is the contact of a grazing or a growing
        dent, and -1 for other points.

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
    >>> key = "chain.on_site_damping"
    >>> branch = gc.continuation(case, orbit, along=key, stop=0.75, progress=False)
    >>> branch.points[-1].parameter
    0.75
    """

    labels: ClassVar = {
        "along": Label((), "", "parameter of the branch"),
        "start": Label((), "1", "first value of the parameter"),
        "stop": Label((), "1", "last requested value of the parameter"),
        "steps": Label((), "1", "number of time steps in a period"),
        "drive_periods": Label((), "1", "number of drive periods in a period"),
        "weight": Label((), "1", "scale of the state in the arclength"),
        "energy": Label((), "J", "energy of all breathers of the branch above the static state"),
        "interrupted": Label((), "1", "whether the computation was interrupted"),
        "point": Label(_ALONG, "1", "index in the branch"),
        "kind": Label(_ALONG, "", "kind of the point"),
        "parameter": Label(_ALONG, "1", "value of the parameter"),
        "parameter_error": Label(
            _ALONG, "1", "discretization error of the parameter of a special point"
        ),
        "period": Label(_ALONG, "s", "period of the orbit"),
        "stable": Label(_ALONG, "1", "whether no modulus exceeds 1 by more than its error"),
        "multiplier_error": Label(_ALONG, "1", "error of the first multiplier"),
        "modulus_error": Label(_ALONG, "1", "error of the modulus of the first multiplier"),
        "residual": Label(_ALONG, "1", "closing error, as a fraction of the largest excursion"),
        "opening": Label(_ALONG, "1", "contact of a grazing or a growing dent; otherwise -1"),
        "bead": Label(("bead",), "1", "label of the bead"),
        "body": Label(("body",), "1", "number of the body: beads, then attached masses"),
        "displacement": Label(_OF_BODIES, "m", "displacement from equilibrium at zero drive phase"),
        "velocity": Label(_OF_BODIES, "m/s", "velocity at zero drive phase"),
        "excursion": Label(_OF_BODIES, "m", "largest displacement from equilibrium"),
        "contact": Label(("contact",), "1", "label of the contact"),
        "lowest": Label(
            ("point", "contact"),
            "m",
            "smallest overlap in the period minus the residual indentation",
        ),
        "multiplier": Label(("multiplier",), "1", "index of the multiplier, largest modulus first"),
        "multipliers": Label(("point", "multiplier"), "1", "Floquet multiplier"),
    }

    def __repr__(self) -> str:
        special = [f"{point.kind} at {_parameter_text(point)}" for point in self.special]
        return (
            f"<Branch: {len(self.points)} orbits along {self.along}, "
            f"{self.parameter[0]:.6g} to {self.parameter[-1]:.6g}"
            f"{''.join(f'; {text}' for text in special)}>"
        )

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Orbits, in order along the branch."""
        columns = {name: variable.data for name, variable in self.variables.items()}
        return tuple(points_of_columns(columns, lambda: self.path))

    @property
    def special(self) -> tuple[Point, ...]:
        """Special points, such as folds and period doublings."""
        return tuple(point for point in self.points if point.kind != "orbit")

    @property
    def unit(self) -> str:
        """Unit of the parameter; empty for a plain number."""
        unit = self.variables["parameter"].unit
        return "" if unit == "1" else unit

    @cached_property
    def path(self) -> Path:
        """Path of the branch, which recomputes its orbits.

        For a branch from a file, the path is created when it is first used.

        Raises
        ------
        CaseError
            If this version cannot read the case, for example because a law is not installed.
        """
        path = path_along(
            self.case, self.along, self.start, self.stop, Runners(), self.drive_periods,
            self.points[0], self.energy, self.steps,
        )  # fmt: skip
        path.restore_scale(self)
        return path

    def switch(self, point: Point) -> Orbit:
        """Return an orbit of the branch that crosses this one at a special point.

        At a period doubling, the period of the orbit is twice as long. The orbit lies close to the
        point, and its case has the parameter value there, so `granchain.continuation` can follow
        it.

        Parameters
        ----------
        point : Point
            Period doubling, pitchfork, or branch point of this branch.

        Raises
        ------
        CaseError
            If no other branch crosses at such a point.
        RunError
            If no orbit is found.
        """
        factor = {"period doubling": 2, "pitchfork": 1, "branch point": 1}.get(
            point.kind if isinstance(point, Point) else ""
        )
        if factor is None:
            problem = f"kind {point.kind}" if isinstance(point, Point) else brief(point)
            raise CaseError(
                f"point: {problem} is not valid. It must be a period doubling, a pitchfork, or a "
                "branch point. Choose one of branch.points."
            )
        return point.path.branching_orbit(point, factor)


def branch_of(
    path: Path, points: Sequence[Point], messages: Sequence[str], interrupted: bool
) -> Branch:
    """Return the branch of some points."""
    chain, along, columns = path.problem.chain, path.along, columns_of_points(points)
    multipliers = np.array([point.multipliers for point in points])
    del columns["multipliers_real"], columns["multipliers_imag"]
    attached = chain.bodies > chain.bead.size
    data = {
        "along": along, "start": path.start, "stop": path.stop,
        "steps": path.problem.grid.steps, "drive_periods": path.problem.multiple,
        "weight": path.weight[0], "energy": path.problem.constant_energy,
        "interrupted": interrupted, "point": np.arange(len(points)), "bead": chain.bead,
        "body": np.arange(1, chain.bodies + 1) if attached else None,
        "contact": chain.contact, "multiplier": np.arange(multipliers.shape[1]),
    }  # fmt: skip
    data |= columns | {"multipliers": multipliers, "stable": columns["stable"].astype(bool)}
    data["kind"] = np.array(columns["kind"], dtype=object)
    labels = labels_of_bodies(Branch.labels, attached) | labels_of_parameter(path.case, along)
    history = path.problem.history
    if history is not None:
        for quantity, values in zip(chain.quantities, history, strict=True):
            name = f"history_{quantity.name}"
            data[name] = values[chain.contacts]
            meaning = quantity.meaning or quantity.name.replace("_", " ")
            labels[name] = Label(("contact",), quantity.unit or "1", meaning)
    case = case_at(path.case, along, points[-1].parameter)
    provenance = {
        "start_case_json": canonical(path.cases[0].as_given(), ordered=True),
        "request_sha256": path.request_sha256,
        # one law record per line
        "law_json_at_ends": "\n".join(_law_texts(path)),
        **law_provenance(case),
    }
    branch = Branch(data, case=case, messages=messages, labels=labels, provenance=provenance)
    branch.path = path
    return branch


def labels_of_parameter(case: Case, along: str) -> dict[str, Label]:
    """Return the labels of the variables that have the unit of the parameter."""
    if along in FAMILIES:
        _, unit, meaning = FAMILIES[along]
    else:
        unit, meaning = about_key(case, along)[0], f"case parameter {along}"
    names = ("start", "stop", "parameter_error")
    labels = {name: Branch.labels[name]._replace(unit=unit or "1") for name in names}
    return labels | {"parameter": Label(_ALONG, unit or "1", meaning)}


def _parameter_text(point: Point) -> str:
    """Return the parameter of a point as text, with its error if the point is special."""
    error = "" if math.isnan(point.parameter_error) else f" within {point.parameter_error:.2g}"
    return f"{point.parameter:.6g}{error}"


def columns_of_points(points: Sequence[Point]) -> dict[str, Any]:
    """Return points as the columns of a file, with one row per point."""
    columns = {
        name: np.array([getattr(point, name) for point in points]) for name in STORED_OF_POINT
    }
    multipliers = np.array([point.multipliers for point in points])
    return columns | {
        "multipliers_real": multipliers.real.copy(),
        "multipliers_imag": multipliers.imag.copy(),
        "stable": np.array([point.stable for point in points], dtype=np.int8),
        "opening": np.array([-1 if point.contact is None else point.contact for point in points]),
        "kind": [point.kind for point in points],
    }


def points_of_columns(columns: Mapping[str, Any], path_of: Callable[[], Path]) -> list[Point]:
    """Return the points that columns contain."""
    multipliers = np.asarray(columns["multipliers_real"]) + 1j * columns["multipliers_imag"]
    points = []
    for k, kind in enumerate(columns["kind"]):
        rows = {name: columns[name][k] for name in STORED_OF_POINT}
        numbers: dict[str, Any] = {name: x if x.ndim else float(x) for name, x in rows.items()}
        opening = int(columns["opening"][k])
        points.append(
            Point(
                kind=str(kind), multipliers=multipliers[k], stable=bool(columns["stable"][k]),
                contact=None if opening < 0 else opening, path_of=path_of, **numbers,
            )
        )  # fmt: skip
    return points


@dataclass
class Node:
    """Orbit during the continuation, in the coordinates of its path.

    Parameters
    ----------
    z : (2 n + 1,) array
        State and parameter.
    shot : Shot
    by_parameter : (2 n,) array
        Derivative of the image by the parameter.
    tangent : (2 n + 1,) array
        Tangent of length 1.
    stability : Stability
    rising : float
        Change of the energy of a breather along the tangent.
    side : float
        Sign of the determinant of the equations, which changes where branches cross.
    """

    z: np.ndarray
    shot: Shot
    by_parameter: np.ndarray
    tangent: np.ndarray
    stability: Stability
    rising: float = 0.0
    side: float = 1.0

    @property
    def lowest(self) -> np.ndarray:
        """Smallest overlap of each contact [m]."""
        return self.shot.course.lowest

    @property
    def opens(self) -> np.ndarray:
        """True for each contact that opens."""
        return self.lowest <= 0.0

    def multiplier_test(self, value: float) -> float:
        """Return a number that changes sign when a real multiplier crosses `value`."""
        jacobian, values = self.stability.matrix, self.stability.values
        if not values.size:
            return 1.0
        if jacobian is None:
            jacobian = self.shot.jacobian
        sign = np.linalg.slogdet(jacobian - value * np.eye(len(values)))[0]
        return float(sign * np.abs(values - value).min())


Test = Callable[[Node], float]
# Functions that change sign where a branch turns back, and where a real multiplier passes -1.
SIGN_TESTS: dict[str, Test] = {
    "fold": lambda node: float(node.tangent[-1]),
    "period doubling": lambda node: node.multiplier_test(-1.0),
}


def _lowest_of(contact: int) -> Test:
    """Return the function that is zero where a contact starts or stops opening."""
    return lambda node: float(node.lowest[contact])


class Path:
    """Orbits of a case versus one of its parameters.

    A point has the coordinates z = (y/w, s), with the scaled state y, the fraction s of the way
    from start to stop, and a weight w that makes changes of both similar. The coordinates of a
    breather are z = (y/w, ln T/T0, s), with the period T, and the period T0 of the first breather.

    Parameters
    ----------
    case : Case
    along : str
    start, stop : float
    problem : Driven or Breathers
        Equations of an orbit at the start.
    """

    # equations at a fraction of the path; the last few are cached
    problem_at: Callable[[float], Problem]

    def __init__(self, case: Case, along: str, start: float, stop: float, problem: Problem):
        self.case, self.along, self.start, self.stop = case, along, start, stop
        # number of coordinates after the state: the logarithm of a free period, and the fraction
        self.n_unknowns = problem.unknowns + 1
        self.weight = np.ones(problem.grid.scale.size + self.n_unknowns)
        self.follow(problem)

    def follow(self, problem: Problem) -> None:
        """Set the equations."""
        self.problem, self.problem_at = problem, lru_cache(maxsize=5)(self._problem_at)

    def _problem_at(self, fraction: float) -> Problem:
        """Return the equations of an orbit at a fraction of the path."""
        value = self.value_of(fraction)
        case = case_at(self.case, self.along, value)
        return self.problem.at(case, value if self.along in FAMILIES else None)

    @property
    def request_sha256(self) -> str:
        """Hash of everything that decides which branch is computed."""
        history, multiple = self.problem.history, self.problem.multiple
        stored = [] if history is None else [history.tobytes().hex()]
        facts = [self.case.resolved(), self.along, self.start, self.stop, multiple]
        return sha256_of([*facts, source_hash(), *stored])

    @property
    def cases(self) -> list[Case]:
        """Cases at the start and the stop."""
        values = [self.start] if self.along in FAMILIES else [self.start, self.stop]
        return [case_at(self.case, self.along, value) for value in values]

    def value_of(self, fraction: float) -> float:
        """Return the parameter at a fraction of the path."""
        return self.start + fraction * (self.stop - self.start)

    def parameter(self, node: Node) -> float:
        """Return the parameter of an orbit."""
        return self.value_of(float(node.z[-1]))

    def coordinates(self, point: Point) -> np.ndarray:
        """Return the coordinates z of a point."""
        y = np.concatenate([point.displacement, point.velocity]) / self.problem.grid.scale
        fraction = (point.parameter - self.start) / (self.stop - self.start)
        unknowns = self.problem.coordinates(point.period)
        return np.concatenate([y / self.weight[: -self.n_unknowns], unknowns, [fraction]])

    def orbit(self, z: np.ndarray, origin: str) -> Orbit:
        """Return the orbit of a point, with its trajectory."""
        shot, fraction = self.at(z).shoot(self.state(z)), float(z[-1])
        case = case_at(self.case, self.along, self.value_of(fraction))
        return orbit_of(case, self.problem_at(fraction), shot, 1, origin)

    def state(self, z: np.ndarray) -> np.ndarray:
        """Return the scaled state of a point."""
        return z[: -self.n_unknowns] * self.weight[: -self.n_unknowns]

    def stretch(self, z: np.ndarray) -> float:
        """Return the logarithm of a point's period over that of the first orbit, if it is free."""
        return float(z[len(z) - self.n_unknowns : -1].sum())

    def at(self, z: np.ndarray) -> Shooting:
        """Return the run over the period of a point."""
        problem = self.problem_at(float(z[-1]))
        return problem.shooting(problem.period * math.exp(self.stretch(z)))

    def equations(self, z: np.ndarray, image: np.ndarray | None = None) -> np.ndarray:
        """Return the residuals, which are 0 for an orbit; compute the image if not given."""
        y = self.state(z)
        if image is None:
            image = self.at(z).images(y[None])[0]
        return self.problem_at(float(z[-1])).equations(y, image, self.stretch(z))

    def remember(self, orbit: Orbit) -> None:
        """Set the contact histories to those of an orbit, if the force depends on them.

        Raises
        ------
        CaseError
            If the contacts differ, or if they change along the path and have residual indentation.
        """
        problem = self.problem
        if not (isinstance(problem, Driven) and problem.depends_on_history):
            return
        history, others = history_of_guess(guess_of(self.case, orbit), problem.shooting())
        if others:
            raise CaseError(
                "orbit: its contacts differ from the contacts of this case. An orbit of this "
                "chain, law, and inputs is required, because contacts remember their history in "
                "it. Find one with granchain.orbit."
            )
        facts = [
            [
                case.chain.precompression,
                case.chain.gravity,
                *map(comparable_digests(case).get, FIXED),
            ]
            for case in self.cases
        ]
        if problem.chain.lasting and facts[0] != facts[1]:
            raise CaseError(
                f"along: {self.along} changes contacts that have residual indentation. It must "
                "be a parameter of drives, on-site springs, or dashpots. Find an orbit at "
                "each value with granchain.orbit, which lets the indentation grow."
            )
        self.follow(replace(problem, history=history))

    def restore_scale(self, branch: Branch) -> None:
        """Set the weight of the state to that of a branch, and the contact histories, if any."""
        self.weight[: -self.n_unknowns] = branch.weight
        problem, chain = self.problem, self.problem.chain
        names = [f"history_{quantity.name}" for quantity in chain.quantities]
        if isinstance(problem, Driven) and names and names[0] in branch.variables:
            history = chain.history_at_rest.copy()
            history[:, chain.contacts] = [branch[name] for name in names]
            self.follow(replace(problem, history=history))

    def margin_to_yield(self, node: Node) -> np.ndarray:
        """Return the margin of each contact before its residual indentation grows, (contacts,).

        The margin is a fraction of the overlap at which it grows.
        """
        return 1.0 + MEETS - node.shot.course.highest / node.shot.shooting.limits

    def by_parameter(self, z: np.ndarray, image: np.ndarray) -> np.ndarray:
        """Return the derivative of the equations by the fraction of the path, from one side."""
        step = np.zeros_like(z)
        step[-1] = MOVED if z[-1] < 0.5 else -MOVED
        return (self.equations(z + step) - self.equations(z, image)) / step[-1]

    def bordered_jacobian(
        self, z: np.ndarray, shot: Shot, by_parameter: np.ndarray, normal: np.ndarray
    ) -> np.ndarray:
        """Return the derivative of the equations and of normal z."""
        derivative = self.problem_at(float(z[-1])).derivative(
            shot.state, shot.image, shot.jacobian, shot.shooting.period
        )
        inner = np.hstack([derivative, by_parameter[:, None]])
        return np.vstack([inner * self.weight, normal])

    def node(self, z: np.ndarray, before: np.ndarray) -> Node:
        """Return the orbit at z; its tangent continues in the given direction."""
        shot, problem = self.at(z).shoot(self.state(z)), self.problem_at(float(z[-1]))
        check_constant_history(shot)
        by_parameter = self.by_parameter(z, shot.image)
        matrix = self.bordered_jacobian(z, shot, by_parameter, before)
        step = newton_correction(matrix, np.append(np.zeros(len(matrix) - 1), -1.0))
        tangent = np.asarray(step / np.linalg.norm(step))
        matrix[-1] = tangent
        rising = problem.rising(shot.state, self.state(tangent))
        side = np.linalg.slogdet(matrix)[0] if len(matrix) == len(z) else 1.0
        return Node(z, shot, by_parameter, tangent, problem.stability(shot), rising, float(side))

    def first_node(self, orbit: Orbit) -> Node:
        """Return the orbit at the start, and set the scale of the coordinates."""
        y = np.concatenate([orbit.displacement, orbit.velocity]) / self.problem.grid.scale
        z = np.append(y, np.zeros(self.n_unknowns))
        upward = np.append(np.zeros(len(z) - 1), 1.0)
        try:
            z = self.correct(z, z, upward)[0]
        except RunError:
            # near a fold or a branch point the parameter moves slightly
            z = self.correct(z, z, z / max(float(np.linalg.norm(z)), 1e-300))[0]
        node, inner = self.node(z, upward), slice(-self.n_unknowns)
        return self.rescale(node, root_mean_square(node.tangent[inner]) / abs(node.tangent[-1]))

    def rescale(self, node: Node, size: float = 0.0) -> Node:
        """Rescale the arclength so that state and parameter have comparable weights."""
        y, inner = self.state(node.z), slice(-self.n_unknowns)
        grown = max(size, root_mean_square(y), 1e-6) * math.sqrt(y.size) / self.weight[0]
        if self.weight[0] == 1.0 or grown > GROWN:
            for vector in (node.z, node.tangent):
                vector[inner] /= grown
            node.tangent /= np.linalg.norm(node.tangent)
            self.weight = self.weight * np.append(np.full(y.size, grown), np.ones(self.n_unknowns))
        return node

    def correct(
        self,
        z: np.ndarray,
        through: np.ndarray,
        normal: np.ndarray,
        near: Node | None = None,
    ) -> tuple[np.ndarray, int]:
        """Find the orbit in the plane through a point, and return it with the number of steps.

        The method is Broyden's from z (Broyden 1965, doi:10.1090/S0025-5718-1965-0198670-6), with
        the Jacobian of an orbit nearby.

        Raises
        ------
        RunError
            If it does not converge.
        """
        from scipy.optimize import root

        if near is None:
            shot = self.at(z).shoot(self.state(z))
            by_parameter = self.by_parameter(z, shot.image)
        else:
            shot, by_parameter = near.shot, near.by_parameter
        matrix = self.bordered_jacobian(z if near is None else near.z, shot, by_parameter, normal)
        excursion = max(float(shot.course.excursion.max()) / self.problem.grid.overlap, 1e-6)
        missed: list[np.ndarray] = []

        def steps(trial: np.ndarray) -> np.ndarray:
            # minus Newton's step with that Jacobian, which is a map with derivative 1
            missed.append(np.append(self.equations(trial), normal @ (trial - through)))
            return -newton_correction(matrix, missed[-1])

        def size(step: np.ndarray) -> float:
            # the part of an overdetermined residual that a step can change; SciPy also evaluates it
            # for an infinite step
            with np.errstate(invalid="ignore"):
                return float(np.abs(matrix @ step).max())

        solution = root(
            steps, z, method="broyden1",
            # half of the tolerance, because the excursion is that of an orbit nearby
            options={"fatol": 0.5 * CLOSED * excursion, "maxiter": MOST, "tol_norm": size,
                     "line_search": None, "jac_options": {"alpha": -1.0}},
        )  # fmt: skip
        if solution.success and np.abs(missed[-1]).max() <= DRIFT_RESIDUAL * excursion:
            return solution.x, len(missed) - 1
        raise RunError(f"a step did not converge to an orbit in {MOST} corrections.")

    def step(self, node: Node, length: float) -> tuple[np.ndarray, int]:
        """Return the orbit one step along the tangent, and the number of corrections.

        If the step passes an end of the path and the case is invalid there, return the uncorrected
        step.
        """
        z = node.z + length * node.tangent
        try:
            return self.correct(z, z, node.tangent, node)
        except CaseError:
            if 0.0 < z[-1] < 1.0:
                raise
            return z, 0

    def at_fraction(self, node: Node, fraction: float) -> np.ndarray:
        """Return the orbit at a fraction of the path, from an orbit nearby."""
        upward = np.append(np.zeros(len(node.z) - 1), 1.0)
        z = node.z + (fraction - node.z[-1]) / node.tangent[-1] * node.tangent
        z[-1] = fraction
        return self.correct(z, z, upward, node)[0]

    def point(
        self,
        node: Node,
        kind: str = "orbit",
        contact: int | None = None,
        error: float = math.nan,
    ) -> Point:
        """Return a node as a point of a branch; `contact` is the index of a contact."""
        shooting = node.shot.shooting
        label = None if contact is None else int(shooting.chain.contact[contact])
        n, state = shooting.chain.bodies, node.shot.state * shooting.grid.scale
        return Point(
            kind, self.parameter(node), shooting.period, state[:n], state[n:],
            node.shot.course.excursion, node.lowest, node.stability.values, node.stability.off,
            node.stability.modulus, node.stability.stable, node.shot.residual, label, error,
            lambda: self,
        )  # fmt: skip

    # ---------------------------------------------------------------------------------------------

    def tests(self, node: Node, after: Node) -> list[tuple[Test, str]]:
        """Return functions that are zero within a step, with the kind of point of each."""
        problem = self.problem_at(float(node.z[-1]))
        functions = SIGN_TESTS | problem.special_point_tests(node, after)
        tests = [(test, kind) for kind, test in functions.items() if test(node) * test(after) < 0.0]
        return tests + problem.multiplier_pair_tests(node, after, len(tests))

    def special_points(self, node: Node, after: Node, length: float) -> list[Point]:
        """Return the special points within a step, in order.

        In a step in which contacts start or stop opening, these are grazings only.
        """
        grazing = np.flatnonzero(node.opens != after.opens).tolist()
        tests: list[tuple[Test, str, int | None]]
        tests = [(_lowest_of(contact), "grazing", contact) for contact in grazing]
        points = []
        for test, kind, contact in tests or [(*test, None) for test in self.tests(node, after)]:
            at = self.locate(node, after, length, test)
            error = self.parameter_error(node, after, length, at, test)
            kind = self._kind_of_branch_point(at) if kind == "branch point" else kind
            points.append(((at.z - node.z) @ node.tangent, self.point(at, kind, contact, error)))
        return [point for _, point in sorted(points, key=lambda entry: entry[0])]

    def indentation_growth(self, node: Node, after: Node, length: float) -> Point:
        """Return the point within a step at which a residual indentation starts to grow."""

        def least(node: Node) -> float:
            return float(self.margin_to_yield(node).min())

        at = self.locate(node, after, length, least) if least(node) > 0.0 else node
        contact = int(self.margin_to_yield(after if at is node else at).argmin())
        error = self.parameter_error(node, after, length, at, least)
        return self.point(at, "growing dent", contact, error)

    def locate(self, node: Node, after: Node, length: float, test: Callable[[Node], float]) -> Node:
        """Return the orbit within a step at which a test function is zero, or the orbit at its end
        if none is found."""
        from scipy.optimize import brentq

        nodes = {0.0: node, length: after}

        def value(length: float) -> float:
            if length not in nodes:
                nodes[length] = self.node(self.step(node, length)[0], node.tangent)
            return test(nodes[length])

        try:
            at = brentq(value, 0.0, length, xtol=POSITION_TOLERANCE * length)
            value(at)
        except RunError:
            return after
        return nodes[at]

    def parameter_error(
        self, node: Node, after: Node, length: float, at: Node, test: Test
    ) -> float:
        """Return the discretization error of the parameter at which a test function is zero.

        It follows from the same zero on the branch in steps of half the length, and is nan if this
        zero is not found. The change is three quarters of the error, by the order 2. The error also
        includes the tolerance of the point, which is a fraction of the step that contains it.
        """
        finer, at_length = copy.copy(self), float((at.z - node.z) @ node.tangent)
        finer.follow(self.problem.finer())
        nodes: dict[float, Node] = {}

        def value(length: float) -> float:
            if length not in nodes:
                through = node.z + length * node.tangent
                z, _ = finer.correct(at.z + through - node.z - at_length * node.tangent,
                                       through, node.tangent, at)  # fmt: skip
                nodes[length] = finer.node(z, node.tangent)
            return test(nodes[length])

        try:
            zero = _zero_near(value, at_length, length, (test(after) - test(node)) / length)
            value(zero)
        except (CaseError, RunError):
            return math.nan
        change = abs(finer.parameter(nodes[zero]) - self.parameter(at))
        not_located = abs(self.parameter(after) - self.parameter(node)) if at is after else 0.0
        tolerance = (
            POSITION_TOLERANCE * length * abs(float(at.tangent[-1]) * (self.stop - self.start))
        )
        return SAFETY * 4.0 / 3.0 * change + tolerance + not_located

    def _kind_of_branch_point(self, node: Node) -> str:
        """Return the kind of a branch point: a pitchfork, or another branch point.

        At a pitchfork, the chain and the orbit equal their mirror images, at once or half a period
        later, and the vector of the multiplier does not.
        """
        shooting, y = node.shot.shooting, node.shot.state
        chain, scale, period = shooting.chain, shooting.grid.scale, 0.5 * shooting.period
        critical = np.abs(node.stability.values - 1.0).argmin()
        order = np.append(chain.mirrored, chain.bodies + chain.mirrored)

        def mirrored(states: np.ndarray) -> np.ndarray:
            return -states[:, order]

        def mirrored_later(states: np.ndarray) -> np.ndarray:
            return mirrored(shooting.changed(period, shooting.grid.steps // 2).images(states))

        moved = (y + MOVED * np.cos(np.arange(y.size)))[None]
        image = shooting.images(moved)
        size, vector = np.abs(image).max(), node.stability.vectors[critical].real / scale
        vector *= MOVED / np.abs(vector).max()
        for turned in (mirrored, mirrored_later):
            here, above, below = turned(np.array([y, y + vector, y - vector]))
            if (
                np.abs(turned(image) - shooting.images(turned(moved))).max() <= 1e-9 * size
                # close to a branch point, the error of the state can be the square root of the
                # closing error
                and np.abs(here - y).max() <= 10.0 * math.sqrt(CLOSED) * size
                # the map multiplies the vector by -1, not by 1
                and (above - below) @ vector < 0.0
            ):
                return "pitchfork"
        return "branch point"

    def branching_orbit(self, point: Point, factor: int) -> Orbit:
        """Return an orbit of the crossing branch, close to the point."""
        z, longer = self.coordinates(point), copy.copy(self)
        longer.follow(self.problem.longer(factor))
        shot = self.at(z).shoot(self.state(z))
        values, vectors = self.problem_at(float(z[-1])).multipliers(shot)
        critical = vectors[np.abs(values - (-1.0 if factor == 2 else 1.0)).argmin()].real
        direction = np.append(critical / np.linalg.norm(critical), np.zeros(self.n_unknowns))
        for length in SWITCH_LENGTHS:
            for side in (1.0, -1.0):
                through = z + side * length / self.weight[0] * direction
                try:
                    neighbour = longer.correct(through, through, direction)[0]
                except RunError:
                    continue
                if abs(neighbour[-1] - z[-1]) <= 0.5:
                    origin = f"a {point.kind} at {self.along} = {point.parameter:.6g}"
                    return longer.orbit(neighbour, origin)
        raise RunError(
            f"point: no orbit of the other branch was found near {self.along} = "
            f"{point.parameter:.6g}. Another branch must start at the point. Reduce time.step."
        )


def _zero_near(value: Callable[[float], float], begin: float, length: float, slope: float) -> float:
    """Return the zero of a function of the length, near a given length.

    The slope is approximate. The tolerance is a fraction of the step `length`.

    Raises
    ------
    RunError
        If it is not found within four of the longest steps.
    """
    from scipy.optimize import brentq

    at, here, tolerance = begin, value(begin), POSITION_TOLERANCE * length
    for _ in range(MOST):
        if here == 0.0:
            return at
        move = -here / slope if slope else math.inf
        if abs(at + move - begin) > FARTHEST:
            break
        after = value(at + move)
        at, slope, here = at + move, (after - here) / move, after
        if abs(move) <= max(tolerance, CORRECTED * abs(at - begin)):
            return at
    # the function jumps: search an interval with a sign change
    first, reach = value(begin), tolerance
    while reach <= FARTHEST:
        for end in (begin - reach, begin + reach):
            if value(end) * first <= 0.0:
                return float(brentq(value, begin, end, xtol=tolerance))
        reach *= 2.0
    raise RunError(
        "continuation: the point was not found with half the time step, so its error is unknown. "
        "Use a smaller time.step."
    )


def root_mean_square(values: np.ndarray) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(values**2)))


@warns_of_fast_drives
def continuation(
    case: Case,
    orbit: Orbit,
    *,
    along: str,
    start: float | None = None,
    stop: float,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | bool | None = None,
) -> Branch:
    """Follow a periodic orbit along a parameter of the case, through folds.

    Breathers of a conservative chain can also be followed through their family. The method is
    pseudo-arclength continuation: each orbit is computed in the plane normal to the tangent, ahead
    of the previous orbit (Seydel 2010, doi:10.1007/978-1-4419-1740-9, sec. 4.5). The Jacobian of
    the previous orbit is reused with Broyden updates. Test functions detect special points between
    two orbits, which are then located:

    * a fold, where the tangent turns back;
    * a period doubling, where a multiplier passes -1;
    * a Neimark-Sacker point, where a pair of multipliers leaves the unit circle;
    * a pitchfork or a branch point, where another branch crosses;
    * a grazing, where a contact starts to open. The derivative of the map is not smooth at this
      point, so no test function is used across it.

    The residual indentation of contacts stays constant along a branch. The branch ends where it
    would grow.

    Breathers are followed along energy, amplitude, or period, or along a parameter of the case at
    constant energy. An instability is located where a pair of multipliers leaves the circle at -1
    (a period doubling), or at 1 (an extremum of the energy, see Kevrekidis, Cuevas-Maraver &
    Pelinovsky 2016, doi:10.1103/PhysRevLett.117.094101, or a branch point), or where two pairs meet
    on the circle (a Krein collision, see Flach & Gorbach 2008, doi:10.1016/j.physrep.2008.05.002).

    Parameters
    ----------
    case : Case
        Chain, as for `granchain.orbit`.
    orbit : Orbit
        Orbit of this chain at the start, or near it.
    along : str
        Key with dots of a number, such as "ends.left.amplitude". For a breather, also "energy" [J],
        "amplitude" (of the bead with the largest displacement, at its turning point) [m], or
        "period" [s].
    start : float, optional
        First value, in SI units. Default: the value of the orbit.
    stop : float
        Last value, in SI units. The branch may turn back to the start before it reaches this value.
    out : str or path, optional
        File for the branch, which `granchain.open` and xarray open. Until it is complete, its
        orbits are in `out`.part.
    resume : bool
        Whether to resume from `out`.part. A complete file is read.
    overwrite : bool
        Whether to overwrite an existing file of that name.
    threads : int, optional
        Number of threads, as for `granchain.run_many`.
    progress : callable or bool, optional
        Function that is called with the finished percentage and 100.

    Returns
    -------
    Branch

    Raises
    ------
    CaseError
        If the key has no number, if a value is not allowed, if the orbit is of another chain, or if
        the file contains another branch.
    FileError
        If `out` cannot be written.
    LawError
        If the law was edited after the file was written.
    RunError
        If there is no orbit at the start.

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
    >>> key = "chain.on_site_damping"
    >>> branch = gc.continuation(case, orbit, along=key, stop=0.75, progress=False)
    >>> all(point.stable for point in branch.points)
    True
    """
    if resume and out is None:
        raise CaseError(
            "resume: no file to resume from. Resuming requires a branch that was written with "
            "out=. Give its file as out=."
        )
    path, first = _first_node(case, orbit, along, start, stop, threads)
    report = progress_of(progress, "continuation")
    if out is None:
        return _follow_branch(path, first, report)
    request = path.request_sha256
    with claim(out, overwrite or resume):
        if resume and os.path.exists(out):
            return _complete_branch(out, path, first, request)
        partial_file = StudyPart(out, resume, overwrite)
        with partial_file.valid():
            points = _points_of_file(partial_file.path, partial_file.columns, request, path, first)
        branch = _follow_branch(path, first, report, partial_file, request, points)
        if not branch.interrupted:
            branch.save(out, overwrite or resume)
            partial_file.remove()
    return branch


def _complete_branch(out: str | os.PathLike[str], path: Path, first: Node, request: str) -> Branch:
    """Return the branch in a file; raise an error if it is another one."""
    with open_hdf5(out, Branch.__name__) as opened:
        branch: Branch = Branch.from_file(out, opened)
        interrupted, about = branch.interrupted, branch.provenance
        columns: dict[str, Any] = {
            **columns_of_points(branch.points),
            "asked": [about["request_sha256"]],
            "law": about["law_json_at_ends"].split("\n"),
        }
    if interrupted:
        raise CaseError(
            f"{os.fspath(out)}: the file contains an interrupted branch and was not changed. It "
            "cannot be resumed. Choose another file, or start again with overwrite=True."
        )
    version, source = about["granchain_version"], about["source_hash"]
    if source != source_hash():
        raise CaseError(
            f"{os.fspath(out)}: the branch was computed by another source of granchain, version "
            f"{version}, hash {source[:12]}. A complete branch must come from the present source, "
            f"version {granchain_version()}, hash {source_hash()[:12]}. Choose another file, or "
            "start again with overwrite=True."
        )
    _points_of_file(out, [columns], request, path, first)
    path.restore_scale(branch)
    branch.path = path
    return branch


def case_at(case: Case, along: str, value: float) -> Case:
    """Return the case at a value of the parameter."""
    return case if along in FAMILIES else case.replace(**{along: value})


def _law_texts(path: Path) -> list[str]:
    """Return the record of the contact law at the start and the stop of a path."""
    return ["" if record is None else record.text for record in law_records(path.cases)]


def _points_of_file(
    file: Any, batches: Sequence[Mapping[str, Any]], request: str, path: Path, first: Node
) -> list[Point]:
    """Return the points of a file; raise an error if they belong to another request."""
    points = [point for columns in batches for point in points_of_columns(columns, lambda: path)]
    same = all(columns["asked"] == [request] for columns in batches)
    for columns in batches if same else ():
        changed = changed_law(path.cases, columns["law"])
        if changed:
            raise LawError(
                f"{os.fspath(file)}: the branch was computed with another law: {changed}. The "
                "same law is required. Restore that law, choose another file, or start again "
                "with overwrite=True."
            )
    if points and same:
        stored_start, start = path.coordinates(points[0]), path.coordinates(path.point(first))
        same = bool(np.linalg.norm(stored_start - start) <= SAME_ORBIT * np.linalg.norm(start))
    if not same:
        raise CaseError(
            f"{os.fspath(file)}: the file contains a branch of another case, key, or range, or "
            "from another orbit, and was not changed. Choose another file, or start again with "
            "overwrite=True."
        )
    return points


def _follow_branch(
    path: Path,
    first: Node,
    report: Callable[[int, int], Any],
    partial_file: StudyPart | None = None,
    request: str = "",
    points: Sequence[Point] = (),
) -> Branch:
    """Follow a branch from its first orbit, or from the last orbit of a partial file.

    Each step is written to that file.
    """
    along, stop = path.along, path.stop
    points, messages = list(points), list[str]()
    node, length, interrupted = first, FIRST, False

    def store(new: Sequence[Point]) -> None:
        if partial_file is not None:
            state = {"z": node.z, "tangent": node.tangent, "weight": path.weight}
            rows = {name: values[None] for name, values in state.items()}
            facts = {"asked": [request], "length": [length], "law": _law_texts(path)}
            partial_file.add(columns_of_points(new) | rows | facts)

    if partial_file is not None and partial_file.columns:
        last = partial_file.columns[-1]
        with partial_file.valid():
            path.weight, length = last["weight"][0].copy(), float(last["length"][0])
            node = path.node(last["z"][0].copy(), last["tangent"][0])
            node.tangent = last["tangent"][0].copy()
    else:
        points.append(path.point(first))
        store(points)
    try:
        while length and len(points) < MOST_ORBITS:
            after = None
            try:
                z, count = path.step(node, length)
                ends = z[-1] >= 1.0 or z[-1] <= 0.0
                if ends:
                    z = path.at_fraction(node, 1.0 if z[-1] >= 1.0 else 0.0)
                    length = float((z - node.z) @ node.tangent)
                after = path.node(z, node.tangent)
                good = after.tangent @ node.tangent >= STRAIGHT
                good = good and (length <= GRAZES or bool((after.opens == node.opens).all()))
            except (RunError, CaseError) as error:
                why, good = str(error), False
            if not good and 0.5 * length >= LEAST_LENGTH:
                length *= 0.5
                continue
            if after is None:
                messages.append(
                    f"no orbit was found beyond {along} = {path.parameter(node):.6g}, so the "
                    f"branch ends before {stop:.6g}: {why}"
                )
                break
            if (path.margin_to_yield(after) < 0.0).any():
                points.append(point := path.indentation_growth(node, after, length))
                messages.append(
                    f"the residual indentation of contact {point.contact} grows beyond {along} = "
                    f"{point.parameter:.6g}. Other orbits, with other indentation, follow. Find "
                    "them with granchain.orbit"
                )
                break
            new = [*path.special_points(node, after, length), path.point(after)]
            points += new
            report(min(99, round(100 * max(0.0, float(after.z[-1])))), 100)
            node, length = path.rescale(after), min(LONGEST, length * (AIMED / max(count, 2)))
            # the step 0 marks a complete partial file
            length = 0.0 if ends else length
            store(new)
        if length == 0.0 and node.z[-1] < 0.5:
            messages.append(
                f"the branch turned and returned to its start, {along} = "
                f"{path.value_of(0.0):.6g}. Continue from its last orbit"
            )
        elif length and len(points) >= MOST_ORBITS:
            messages.append(
                f"the branch reached the limit of {MOST_ORBITS} orbits before {along} = "
                f"{stop:.6g}. Continue from the last orbit"
            )
    except KeyboardInterrupt:
        messages.append(f"interrupted at {along} = {path.parameter(node):.6g}")
        interrupted = True
    report(100, 100)
    return branch_of(path, points, messages, interrupted)


def number_at(case: Case, along: Any) -> float:
    """Return the number at a key of a case."""
    value = entry_at(dict(case), along)[0] if isinstance(along, str) else None
    changes_nothing = str(along).partition(".")[0] in NO_PHYSICS
    if changes_nothing or isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CaseError(
            f"along: {brief(along)} is not valid, because the case has {brief(value)} there. It "
            "must be a key of chain, ends, drive, or contact with a number. Write for example "
            'along="ends.left.amplitude".'
        )
    return float(value)


def _first_node(
    case: Case, orbit: Orbit, along: str, start: float | None, stop: float, threads: int | None
) -> tuple[Path, Node]:
    """Return the path and its first orbit."""
    check_case(case)
    check_fixed_ends(case, "a branch of orbits")
    runners = Runners(threads)
    if not isinstance(orbit, Orbit):
        raise CaseError(
            f"orbit: {type(orbit).__name__} is not valid. An Orbit is required. Find one with "
            "granchain.orbit."
        )
    breathing = not (case.drives or math.isnan(orbit.energy))
    if breathing and along in FAMILIES:
        coordinates = (orbit.energy, float(np.abs(orbit.displacement).max()), orbit.period)
        present = dict(zip(FAMILIES, coordinates, strict=True))[along]
    else:
        number_at(case, along)
        # the phases of an orbit are relative to its first drive
        present = number_at(case if along.endswith(".phase") else orbit.result.case, along)
    begin = present if start is None else start
    for name, value in (("start", begin), ("stop", stop)):
        good = isinstance(value, (int, float)) and math.isfinite(value)
        if not good or (name == "stop" and value == begin):
            raise CaseError(
                f"{name}: {brief(value)} is not valid. Start and stop must be two different "
                "numbers in SI units."
            )
    ends = along, begin, stop
    if breathing and orbit.bead.size == case.beads:
        path = path_along(case, *ends, runners, 1, orbit, orbit.energy)
    else:
        path, orbit = _driven_path(case, orbit, *ends, runners, begin != present)
    try:
        return path, path.first_node(orbit)
    except RunError as error:
        if error.result is not None:
            raise
        raise RunError(
            f"orbit: no branch starts at the orbit at {path.along} = {path.start:.6g}: {error} "
            "The orbit must be closed, and no other branch may cross there. Start slightly away "
            "from it, with start=."
        ) from None


def path_along(
    case: Case,
    along: str,
    start: float,
    stop: float,
    runners: Runners,
    multiple: int,
    first: Orbit | Point,
    energy: float,
    steps: int = 0,
) -> Path:
    """Return the path of a driven chain, or of a conservative one.

    Parameters
    ----------
    case : Case
    along : str
    start, stop : float
    runners : Runners
    multiple : int
        Number of drive periods in a period of the orbit.
    first : Orbit or Point
        First breather.
    energy : float
        Energy of all breathers, if a parameter of the case varies [J].
    steps : int
        Number of time steps in a period of a breather. Default: the number that it has.
    """
    cases = [case_at(case, along, value) for value in (start, stop)]
    if cases[0].drives:
        driven = [driven_problem(end_case, multiple, runners) for end_case in cases]
        most = max(problem.grid.steps for problem in driven)
        grid = driven[0].grid._replace(steps=most)
        return Path(case, along, start, stop, replace(driven[0], grid=grid))
    for end_case in cases:
        check_conservative(end_case, runners)
    state = np.concatenate([first.displacement, first.velocity])
    turn = TurningPoint(state, first.period, int(np.abs(first.displacement).argmax()))
    varied = along in FAMILIES
    family = breathers_near(cases[0], turn, along if varied else "energy", runners)
    grid = family.grid._replace(steps=steps or family.grid.steps)
    value = family.fixed_value if varied else energy
    problem = replace(family, grid=grid, varied=varied, fixed_value=value)
    return Path(case, along, start, stop, problem)


def _driven_path(
    case: Case,
    orbit: Orbit,
    along: str,
    begin: float,
    stop: float,
    runners: Runners,
    moved_start: bool,
) -> tuple[Path, Orbit]:
    """Return the path of a driven chain, and its first orbit.

    If the start differs from the orbit (`moved_start`), the first orbit is computed.
    """
    at_start = case_at(case, along, begin)
    if not at_start.drives or orbit.bead.size != case.beads:
        raise CaseError(
            f"orbit: the orbit has {orbit.bead.size} beads, but the chain has {case.beads} beads "
            f"and {len(at_start.drives)} drives. An orbit of this chain with a drive, or a "
            "breather of it without a drive, is required. Find one with granchain.orbit."
        )
    if len(at_start.drives) > 1 and along.endswith(".frequency"):
        raise CaseError(
            f"along: with {along}, the {len(at_start.drives)} drives of the chain have no common "
            "period. Another key is required. Use for example an amplitude."
        )
    before = orbit.result.case.drives
    multiple = max(1, round(orbit.period * frequency_of(orbit.result.case))) if before else 1
    multiple = multiple_of(at_start, multiple / (frequency_of(at_start) or math.inf))
    if moved_start:
        period, threads = multiple / frequency_of(at_start), runners.threads
        orbit = find_orbit(at_start, period=period, guess=orbit, threads=threads, progress=False)
    path = path_along(case, along, begin, stop, runners, multiple, orbit, math.nan)
    path.remember(orbit)
    return path, orbit
