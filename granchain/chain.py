"""Chain of bodies as arrays: radii, masses, materials, gaps, ends, and the static loads.

The bodies are the striker, if there is one, and the beads, in order; walls and drives are not
bodies. Contacts include both ends: n + 1 for n bodies, contact 0 at the left end and contact n at
the right end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple, Self

import numpy as np

from granchain.contact.pair import OF_THE_SOFTER, Pair
from granchain.errors import CaseError
from granchain.material import Material

# Material of a rigid wall, without compliance: E* = E/(1 - nu^2) of the bead alone.
RIGID = Material(youngs_modulus=math.inf, poissons_ratio=0.0, source="definition", name="rigid")

FREE, WALL, COMPLIANT = "free", "wall", "compliant"
DRIVEN_DISPLACEMENT, DRIVEN_FORCE = "displacement", "force"

# Upper limit on bead-steps per run (our choice): at 0.3 ns each, the minimum with vector units,
# 1e16 take a month.
BEAD_STEPS = 1e16


@dataclass(frozen=True)
class End:
    """End of a chain, or the drive of a body.

    Parameters
    ----------
    kind : {"free", "wall", "displacement", "force", "compliant"}
        Free end, fixed wall, wall that follows a table, force on the last body that follows a
        table, or wall that the last body moves.
    material : Material, optional
        Material of the wall. Default: the material of the last body.
    time, value : (n,) array, optional
        Table of a drive: times [s] and values [m] or [N]. Positive is into the chain; for a driven
        body, to the right.
    slope : (n,) array, optional
        Slopes of the values [m/s] or [N/s], for cubics through values and slopes. Default: a
        shape-preserving cubic for a displacement, and linear interpolation for a force.
    modes : (n_modes, 3) array, optional
        Mass [kg], stiffness [N/m], and damping [kg/s] of each mode of a compliant end. Its
        displacement is the sum of those of the modes.
    impedance : float
        Contact force divided by the velocity of a compliant end without modes [kg/s].

    Attributes
    ----------
    has_wall : bool
        Whether there is a contact at this end.
    is_compliant : bool
        Whether the wall at this end moves with the contact force.
    """

    kind: str = FREE
    material: Material | None = None
    time: np.ndarray | None = None
    value: np.ndarray | None = None
    slope: np.ndarray | None = None
    modes: np.ndarray | None = None
    impedance: float = 0.0

    has_wall: bool = field(init=False, repr=False, compare=False)
    is_compliant: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        walls = (WALL, DRIVEN_DISPLACEMENT, COMPLIANT)
        vars(self).update(has_wall=self.kind in walls, is_compliant=self.kind == COMPLIANT)


class Start(NamedTuple):
    """State from which a run continues: that of another run before its last step.

    Parameters
    ----------
    bodies : (4, n_bodies) array
        Displacement [m], velocity at the last half step [m/s], acceleration at the previous step
        [m/s2], and velocity after the last half kick [m/s].
    zero : (n_bodies + 1,) array
        Overlap of each contact at zero displacement [m]; -inf if there is no contact.
    contacts : (6, n_bodies + 1) array
        Force at the previous step, its elastic part, the force added by the clamp, the forces of
        kick and record when they last differed [N], and the largest overlap [m].
    history : (n_history, n_bodies + 1) array
        History of the contacts.
    active : integer array
        Indices of the contacts that had an event at the previous step.
    corrections : (4, n_bodies + 2) array
        Corrections for a law whose force jumps; else without columns.
    driven : (n_drives + 1,) array
        Displacement of each drive at the previous step [m], and 1 if the kicks of that step were
        not the recorded forces.
    steps : int
        Number of steps of all previous runs if this run uses their step, drives, and loads. The
        result is then bit-identical to one uninterrupted run. Else 0.
    attached : (4, n_attached) array
        The quantities of `bodies` for the attached masses.
    ends : (4, n_end_elements) array
        The quantities of `bodies` for the elements of compliant ends, the left end before the
        right. For an element without mass: displacement at the last half step, 0, velocity at the
        previous step, and final displacement.
    """

    bodies: np.ndarray
    zero: np.ndarray
    contacts: np.ndarray
    history: np.ndarray
    active: np.ndarray
    corrections: np.ndarray
    driven: np.ndarray
    steps: int = 0
    attached: np.ndarray = np.zeros((4, 0))
    ends: np.ndarray = np.zeros((4, 0))


class Elements(NamedTuple):
    """Springs and dashpots between bodies and the ground or attached masses, as (n,) arrays.

    Empty arrays mean that there are no elements.

    Parameters
    ----------
    body : integer array
        Index of the body of each element, in ascending order.
    mass : array
        Attached mass at the other end of the element [kg]; 0 if the other end is the ground.
    stiffness, damping : array
        Stiffness of the spring [N/m] and damping of the dashpot [kg/s].
    u, v : array
        Displacement [m] and velocity [m/s] of the attached mass at the start.
    """

    body: np.ndarray = np.zeros(0, dtype=np.int64)
    mass: np.ndarray = np.zeros(0)
    stiffness: np.ndarray = np.zeros(0)
    damping: np.ndarray = np.zeros(0)
    u: np.ndarray = np.zeros(0)
    v: np.ndarray = np.zeros(0)


# Default for a quantity that no body has; `Masses` replaces it by zeros.
NOTHING = partial(np.zeros, 0)


@dataclass(frozen=True, kw_only=True)
class Masses:
    """Chain of masses between two ends: the properties of the bodies that a run uses.

    Sizes and materials affect only the contacts.

    Parameters
    ----------
    mass, velocity : (n_bodies,) array
        Mass [kg] and velocity at the start [m/s].
    gap : (n_bodies - 1,) array
        Free distance between neighbours [m], 0 or more.
    left, right : End
        The two ends.
    has_striker : bool
        Whether body 0 is a striker: labels start at 0, else at 1.
    precompression : float
        Constant compressive force on the last bead of each free end, not on the striker; walls
        carry it [N].
    gravity : float
        Acceleration along the chain towards the right end [m/s2].
    displacement : (n_bodies,) array, optional
        Displacement at the start, from the position where the bodies touch or are at rest [m].
    drag : (n_bodies,) array, optional
        Drag force of each body divided by its momentum [1/s].
    start : Start, optional
        State from which the run continues. Velocity and displacement are then those of the first
        run.
    on_site_stiffness, on_site_damping : (n_bodies,) array, optional
        Stiffness [N/m] and damping [kg/s] of a spring and a dashpot between each body and the
        ground, without force at rest.
    resonators : Elements, optional
        Elements with attached masses. The masses of bodies do not include them.
    driven : tuple of (int, End)
        Driven bodies: index, and table of the displacement or of the additional force.

    Attributes
    ----------
    n_bodies : int
        Number of bodies.
    first_label : int
        Label of body 0: 0 is the striker, beads are 1..N.
    body_labels : (n_bodies,) array
        Labels of the bodies.
    contact_exists : (n_bodies + 1,) boolean array
        Whether there is a contact: always between bodies, and at an end with a wall.
    contacts : slice
        Existing contacts.
    contact_labels : (n_bodies + 1,) array
        Labels of the contacts: contact k joins the bodies k and k + 1. With a striker, the label of
        the contact with the left wall is -1.
    n_attached, n_end_masses : int
        Number of attached masses, and of masses of compliant ends.
    is_displaced : bool
        Whether a body starts away from where the bodies touch or are at rest.
    """

    mass: np.ndarray
    velocity: np.ndarray
    gap: np.ndarray
    left: End = field(default_factory=End)
    right: End = field(default_factory=End)
    has_striker: bool = False
    precompression: float = 0.0
    gravity: float = 0.0
    displacement: np.ndarray = field(default_factory=NOTHING)
    drag: np.ndarray = field(default_factory=NOTHING)
    start: Start | None = None
    on_site_stiffness: np.ndarray = field(default_factory=NOTHING)
    on_site_damping: np.ndarray = field(default_factory=NOTHING)
    resonators: Elements = field(default_factory=Elements)
    driven: tuple[tuple[int, End], ...] = ()

    n_bodies: int = field(init=False, repr=False, compare=False)
    first_label: int = field(init=False, repr=False, compare=False)
    body_labels: np.ndarray = field(init=False, repr=False, compare=False)
    contact_exists: np.ndarray = field(init=False, repr=False, compare=False)
    contacts: slice = field(init=False, repr=False, compare=False)
    contact_labels: np.ndarray = field(init=False, repr=False, compare=False)
    n_attached: int = field(init=False, repr=False, compare=False)
    n_end_masses: int = field(init=False, repr=False, compare=False)
    is_displaced: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n, first = int(self.mass.size), 0 if self.has_striker else 1
        for name in ("displacement", "drag", "on_site_stiffness", "on_site_damping"):
            if not getattr(self, name).size:
                vars(self)[name] = np.zeros(n)
        exists = np.ones(n + 1, dtype=bool)
        exists[0], exists[-1] = self.left.has_wall, self.right.has_wall
        vars(self).update(
            n_bodies=n,
            first_label=first,
            body_labels=np.arange(n) + first,
            contact_exists=exists,
            contacts=slice(int(not exists[0]), n + int(exists[-1])),
            contact_labels=np.arange(n + 1) + first - 1,
            n_attached=int(np.count_nonzero(self.resonators.mass)),
            n_end_masses=sum(
                int(np.count_nonzero(end.modes[:, 0]))
                for end in (self.left, self.right)
                if end.modes is not None
            ),
            is_displaced=bool(self.displacement.any()),
        )

    def with_velocity(self, velocity: np.ndarray) -> Self:
        """Return the same masses with other velocities, and share cached properties."""
        for name in KNOWN_OF_MASSES - vars(self).keys():
            getattr(self, name)
        other: Self = object.__new__(type(self))
        other.__dict__.update(vars(self), velocity=velocity)
        return other

    @cached_property
    def form(self) -> tuple:
        """Key that is equal for masses whose runs have the same loop and tables of one shape.

        Driven chains have one form if they differ only in the velocities.
        """
        return (
            id(self) if self.drives else 0,
            self.n_bodies, self.has_striker, self.elements.body.size, self.n_attached,
            self.end_elements.body.tobytes(), self.n_end_masses,
            bool(self.loads.any()),
        )  # fmt: skip

    @cached_property
    def elements(self) -> Elements:
        """Elements of the chain.

        The drag, the on-site spring, and the on-site dashpot of a body are one element. A body with
        a prescribed displacement has no on-site spring or dashpot.
        """
        free = np.ones(self.n_bodies)
        free[[body for body, end in self.driven if end.kind == DRIVEN_DISPLACEMENT]] = 0.0
        stiffness = free * self.on_site_stiffness
        damping = free * self.on_site_damping + self.drag * self.mass
        body = np.flatnonzero((stiffness > 0.0) | (damping > 0.0))
        none, resonators = np.zeros(body.size), self.resonators
        grounded = body, none, stiffness[body], damping[body], none, none
        table = [np.concatenate(both) for both in zip(grounded, resonators, strict=True)]
        order = np.argsort(table[0], kind="stable")
        return Elements(*(values[order] for values in table))

    @cached_property
    def end_elements(self) -> Elements:
        """Elements of the compliant ends, the left end before the right.

        The body is -1 or n_bodies: the wall. An end without modes is a dashpot without mass.
        """
        tables = []
        for body, end in ((-1, self.left), (self.n_bodies, self.right)):
            if end.is_compliant:
                modes = np.array([[0.0, 0.0, end.impedance]]) if end.modes is None else end.modes
                none = np.zeros(len(modes))
                tables.append((none.astype(int) + body, *modes.T, none, none))
        return Elements(*map(np.concatenate, zip(*tables, strict=True))) if tables else Elements()

    @cached_property
    def attached(self) -> np.ndarray:
        """(n_attached,) Indices of the elements with an attached mass."""
        return np.flatnonzero(self.elements.mass)

    @cached_property
    def carried_mass(self) -> np.ndarray:
        """(n_bodies,) Mass of each body with its attached masses [kg].

        A body carries the weight of its attached masses at rest.
        """
        elements = self.elements
        return self.mass + np.bincount(elements.body, elements.mass, self.n_bodies)

    @cached_property
    def rates_of_elements(self) -> np.ndarray:
        """(2, n_bodies) Rates of the springs and dashpots of elements.

        They are added to the bounds on omega^2 [1/s2] and on the rates [1/s] of each body. The
        contribution of an element is k/m, or k (1/m + 1/m_j) with an attached mass m_j. If the
        displacement of the attached mass is measured in units of m/m_j of that of the body,
        Gershgorin's row of the body includes all of it, and the row of the attached mass is not
        larger.
        """
        elements = self.elements
        light = np.divide(
            1.0, elements.mass, out=np.zeros(elements.mass.size), where=elements.mass > 0.0
        )
        light += 1.0 / self.mass[elements.body]
        return np.array(
            [np.bincount(elements.body, row * light, self.n_bodies) for row in elements[2:4]]
        )

    def stretches(self) -> np.ndarray:
        """Return how much each element is stretched by each displacement.

        The array is (n_elements, n_bodies + n_attached), with the bodies before the attached
        masses. With this matrix B, the stiffness matrix is B^T k B.
        """
        elements, n, rows = self.elements, self.n_bodies, np.arange(self.elements.body.size)
        stretches = np.zeros((rows.size, n + self.n_attached))
        stretches[rows, elements.body] = 1.0
        stretches[self.attached, n + np.arange(self.n_attached)] = -1.0
        return stretches

    @cached_property
    def drives(self) -> list[tuple[int, float, End]]:
        """Drives of the chain, as tuples of body index, sign, and table.

        The index is 0 or n_bodies + 1 for the walls. The sign is 1 if a positive value is to the
        right, else -1.
        """
        n = self.n_bodies
        ends = ((self.left, 0, 1, 1.0), (self.right, n + 1, n, -1.0))
        return [
            (wall if end.has_wall else body, sign, end)
            for end, wall, body, sign in ends
            if end.kind in (DRIVEN_DISPLACEMENT, DRIVEN_FORCE) and end.time is not None
        ] + [(body + 1, 1.0, end) for body, end in self.driven]

    @property
    def first_loaded(self) -> int:
        """Index of the first body that carries the static loads: the first bead."""
        return 1 if self.has_striker else 0

    @property
    def at_rest_ahead(self) -> int:
        """Index of the last body that may move at the start; -1 if there is none.

        A body may move if it has a velocity or displacement, or if it is loaded or driven.
        """
        if self.precompression or self.gravity:
            return self.n_bodies - 1
        moving = self.velocity != 0.0
        if self.is_displaced:
            moving |= self.displacement != 0.0
        last = moving.nonzero()[0][-1:].tolist()
        ahead = [-1, *(body - 1 for body, _, _ in self.drives), *last]
        elements = self.elements
        ahead += elements.body[(elements.u != 0.0) | (elements.v != 0.0)].tolist()
        return max(ahead)

    def overlaps_at_start(self, static: np.ndarray) -> np.ndarray:
        """Return the (n_bodies + 1,) overlaps at the start [m].

        They are negative for open contacts. `static` are the overlaps at rest [m]. An end without a
        wall is treated as if it had one.
        """
        gap = np.concatenate([[0.0], self.gap, [0.0]])
        stretch = np.diff(self.displacement, prepend=0.0, append=0.0)
        return np.asarray(-stretch + (static - gap))

    def first_overlaps(self, static: np.ndarray) -> np.ndarray:
        """Return the (n_bodies + 1,) initial overlap of each contact [m].

        It is the overlap at rest, unless the bodies are displaced. It is then 0 if there is no
        contact.
        """
        if not self.is_displaced:
            return static
        return np.where(self.contact_exists, self.overlaps_at_start(static), 0.0)

    @cached_property
    def loads(self) -> np.ndarray:
        """(n_bodies,) Constant force on each body [N].

        It is the weight, and the precompression at free ends.
        """
        load = self.carried_mass * self.gravity
        if self.precompression:
            first = self.first_loaded
            if not self.left.has_wall or first:
                load[first] += self.precompression
            if not self.right.has_wall:
                load[-1] -= self.precompression
        return load

    def static_forces(self) -> np.ndarray:
        """Return the (n_bodies + 1,) static forces of the contacts [N].

        Each is the sum of the loads on the chain to the left of the contact.
        """
        force = np.zeros(self.n_bodies + 1)
        if not self.precompression and not self.gravity:
            return force
        first = self.first_loaded
        if self.precompression and self.left.has_wall and not first:
            force[0] = self.precompression
        np.cumsum(np.concatenate([[force[first]], self.loads[first:]]), out=force[first:])
        if not self.right.has_wall:
            force[-1] = 0.0
        return force


# Cached properties of masses, which do not depend on the velocities.
KNOWN_OF_MASSES = {
    name for name, attribute in vars(Masses).items() if isinstance(attribute, cached_property)
}


@dataclass(frozen=True, kw_only=True)
class Chain(Masses):
    """Chain of bodies whose sizes and materials determine their contacts.

    Parameters
    ----------
    radius : (n_bodies,) array
        Radius [m].
    material : tuple of Material
        Distinct materials.
    material_index : (n_bodies,) integer array
        Index of the material of each body.
    mass, velocity, gap, left, right, has_striker, precompression, gravity, displacement, drag,
    start, on_site_stiffness, on_site_damping, resonators, driven
        See `Masses`.
    """

    radius: np.ndarray
    material: tuple[Material, ...]
    material_index: np.ndarray

    def effective_radii(self) -> np.ndarray:
        """Return the (n_bodies + 1,) effective radii R1 R2/(R1 + R2) of the contacts [m].

        At a wall, it is the radius of the body.
        """
        radius_1, radius_2 = (
            np.concatenate([[np.inf], self.radius]),
            np.concatenate([self.radius, [np.inf]]),
        )
        return np.asarray(1.0 / (1.0 / radius_1 + 1.0 / radius_2))

    def materials_of_contacts(self) -> tuple[tuple[Material, ...], np.ndarray, np.ndarray]:
        """Return all materials, and the indices of those on both sides of each contact.

        The materials include those of the walls. The indices are two (n_bodies + 1,) arrays, for
        the left and the right side. An end without a wall is treated as if it had one.
        """
        left_wall = self.left.material or self.material[self.material_index[0]]
        right_wall = self.right.material or self.material[self.material_index[-1]]
        m = len(self.material)
        side_1 = np.concatenate([[m], self.material_index])
        side_2 = np.concatenate([self.material_index, [m + 1]])
        return (*self.material, left_wall, right_wall), side_1, side_2

    def between(self, material_1: str, material_2: str) -> np.ndarray:
        """Return the (n_bodies + 1,) contacts between two materials, as a boolean array.

        The materials are given by name, in any order.
        """
        kinds, left, right = self.materials_of_contacts()
        is_1, is_2 = (
            np.array([kind.name == name for kind in kinds]) for name in (material_1, material_2)
        )
        return np.asarray((is_1[left] & is_2[right]) | (is_2[left] & is_1[right]))

    def pair(self) -> Pair:
        """Return the pairs of the contacts, with (n_bodies + 1,) arrays.

        An end without a wall is treated as if it had one.
        """
        kinds, left, right = self.materials_of_contacts()
        mass_1, mass_2 = (
            np.concatenate([[np.inf], self.mass]),
            np.concatenate([self.mass, [np.inf]]),
        )
        compliance = np.array([kind.compliance for kind in kinds])
        quantities = {
            "effective_radius": self.effective_radii(),
            "effective_modulus": 1.0 / (compliance[left] + compliance[right]),
            "effective_mass": 1.0 / (1.0 / mass_1 + 1.0 / mass_2),
        }
        # Between different materials, the contact has the yield stress, the hardness, and the other
        # constants of the body with the smaller yield stress.
        yields = np.array(
            [np.inf if kind.yield_stress is None else kind.yield_stress for kind in kinds]
        )
        softer = np.where(yields[right] < yields[left], right, left)
        rigid = np.array([kind is RIGID for kind in kinds])
        if rigid.any():
            softer = np.where(rigid[softer], np.where(rigid[left], right, left), softer)
        used = set(softer.tolist())
        for name in OF_THE_SOFTER:
            values = [getattr(kind, name) for kind in kinds]
            if all(values[i] is not None for i in used):
                quantities[name] = np.array(
                    [np.nan if value is None else value for value in values], dtype=float
                )[softer]
        quantities["radius_1"] = np.concatenate([[self.radius[0]], self.radius])
        quantities["radius_2"] = np.concatenate([self.radius, [self.radius[-1]]])
        return Pair(**quantities)

    def overlap_limits(self) -> np.ndarray:
        """Return the (n_bodies + 1,) overlaps at which a run stops [m].

        Each is the smaller radius of the two bodies.
        """
        padded = np.concatenate([[np.inf], self.radius, [np.inf]])
        return np.minimum(padded[:-1], padded[1:])

    def positions(self) -> np.ndarray:
        """Return the (n_bodies,) positions of the centres [m].

        The bodies have no overlap or displacement, and the first is at 0.
        """
        steps = self.radius[:-1] + self.radius[1:] + self.gap
        return np.concatenate([[0.0], np.cumsum(steps)])


def check_start(chain: Chain) -> None:
    """Reject an initial state in which bodies overlap too much.

    Raises
    ------
    CaseError
        If two bodies overlap by more than the smaller radius.
    """
    overlaps, limits = chain.overlaps_at_start(np.zeros(chain.n_bodies + 1)), chain.overlap_limits()
    beyond = np.flatnonzero((overlaps > limits) & chain.contact_exists)
    if beyond.size:
        k = int(beyond[0])
        raise CaseError(
            f"initial.displacement: the initial overlap of contact {int(chain.contact_labels[k])}, "
            f"{overlaps[k]:.6g} m, is out of range. It must be at most the smaller radius, "
            f"{limits[k]:.6g} m. Increase the distance of the two bodies."
        )
