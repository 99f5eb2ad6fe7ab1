"""What holds of every chain, whatever its bodies, ends, strike and law: momentum, ledger, mirror,
units, moving frame.

In the short run the examples are always the same, in the long run many new ones. Chains without
walls keep their momentum; what is compared between two runs is their velocities, in the largest one
of the start.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.rows import (
    MASS,
    RADIUS,
    STEEL,
    contacts_of,
    inputs_for,
    ledger_residual,
    steel_row,
    velocities,
)

from granchain.chain import RIGID, WALL, Chain, End
from granchain.contact import laws
from granchain.engine.recording import Recording
from granchain.engine.setup import Contacts
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.material import Material
from granchain.status import Status

# As of a copper alloy, which only has to be unlike steel; hardness 2.8 yield stresses.
SOFT = Material(
    youngs_modulus=1.1e11, poissons_ratio=0.34, density=8800.0, yield_stress=4e8, hardness=2.8 * 4e8
)
HARD = replace(STEEL, hardness=2.8 * STEEL.yield_stress)
# Laws whose loops other short tests compile: elastic, elastoplastic, with a dashpot.
FAST = ("hertz", "ma-liu", "tsuji")
# Some passages of the pulse: a bead takes 6.5 us at 734 m/s.
DURATION = 1.2e-4


@dataclass(frozen=True)
class Row:
    chain: Chain
    law: str
    restitution: float

    def contacts(self, speed: float = 1.0) -> Contacts:
        """`speed` is the impact speed of the dashpots that ask for one [m/s]."""
        law = laws()[self.law]
        given = {"restitution": self.restitution, "impact_speed": speed}
        names = {quantity.name for quantity in law.inputs}
        return contacts_of(
            law,
            self.chain,
            inputs_for(self.law, **{name: value for name, value in given.items() if name in names}),
        )

    def step(self) -> TimeStep:
        return time_step_of(self.contacts(), self.chain, "auto", DURATION)

    def run(self, step: TimeStep, speed: float = 1.0) -> State:
        state = State(self.contacts(speed), self.chain, step, Recording())
        status = state.advance(step.n_steps + 1)
        assert status is Status.COMPLETE, status
        return state


@st.composite
def rows(draw: st.DrawFn, names: tuple[str, ...] = FAST, free: bool = False) -> Row:
    """2 to 10 unlike bodies, struck somewhere, with gaps or load, between walls or not."""
    n = draw(st.integers(2, 10))
    each = st.lists(st.booleans(), min_size=n, max_size=n)
    small, light, soft, shut = (np.array(draw(each)) for _ in range(4))
    size, weight = draw(st.floats(0.5, 1.0)), draw(st.floats(0.1, 1.0))
    speed = st.one_of(
        st.just(0.0), st.just(0.0), st.floats(-2.0, 2.0).filter(lambda v: abs(v) > 1e-3)
    )
    velocity = np.array(draw(st.lists(speed, min_size=n, max_size=n)))
    # something strikes
    velocity[0] = draw(st.floats(0.5, 2.0))
    ends = (
        [End(), End()]
        if free
        else [draw(st.sampled_from([End(), End(WALL), End(WALL, RIGID)])) for _ in range(2)]
    )
    # the others under load: test_ends.py, test_reference_loop.py
    law = draw(st.sampled_from(names))
    load = draw(st.sampled_from([0.0, 20.0])) if law == "hertz" else 0.0
    chain = Chain(
        radius=RADIUS * np.where(small, size, 1.0),
        mass=MASS * np.where(light, weight, 1.0),
        velocity=velocity,
        material=(HARD, SOFT),
        material_index=soft.astype(int),
        gap=np.where(shut[:-1] | (load > 0.0), 0.0, draw(st.floats(1e-7, 5e-6))),
        left=ends[0],
        right=ends[1],
        precompression=load,
        gravity=draw(st.sampled_from([0.0, 9.81])) if ends[1].has_wall and load else 0.0,
    )
    return Row(chain, law, draw(st.floats(0.4, 0.95)))


def largest(check: Callable[..., float], many: bool, **strategies: Any) -> float:
    """The largest value of a check over random rows: a few fixed, or many new ones."""
    seen = [0.0]

    @settings(
        max_examples=MANY if many else FEW, derandomize=not many, database=None, deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(**strategies)
    def look(**drawn: Any) -> None:
        seen.append(check(**drawn))

    look()
    return max(seen)


FEW, MANY = 25, 2000
MUCH = pytest.mark.parametrize(
    "many", [False, pytest.param(True, marks=pytest.mark.long)], ids=["few", "many"]
)


def in_the_first(one: np.ndarray, other: np.ndarray, row: Row) -> float:
    return float(np.abs(one - other).max() / np.abs(row.chain.velocity).max())


def momentum(row: Row) -> float:
    moved = row.chain.mass @ (velocities(row.run(row.step())) - row.chain.velocity)
    return float(abs(moved) / (row.chain.mass @ np.abs(row.chain.velocity)))


def residual(row: Row) -> float:
    return ledger_residual(row.run(row.step()))


def mirrored(row: Row) -> float:
    step = row.step()
    flip = {
        name: np.ascontiguousarray(getattr(row.chain, name)[::-1])
        for name in ("radius", "mass", "material_index", "gap")
    }
    chain = replace(
        row.chain,
        velocity=-row.chain.velocity[::-1].copy(),
        left=row.chain.right,
        right=row.chain.left,
        gravity=0.0,
        **flip,
    )
    row = replace(row, chain=replace(row.chain, gravity=0.0))
    return in_the_first(
        -velocities(replace(row, chain=chain).run(step))[::-1], velocities(row.run(step)), row
    )


def in_other_units(row: Row, exponents: tuple[float, float, float]) -> float:
    """Metre, kilogram and second changed by these powers of ten."""
    metre, kilogram, second = (10.0**exponent for exponent in exponents)
    pascal, speed = kilogram / (metre * second**2), metre / second
    stuff = tuple(
        replace(
            one,
            youngs_modulus=one.youngs_modulus * pascal,
            yield_stress=one.yield_stress * pascal,
            hardness=one.hardness * pascal,
            density=one.density * kilogram / metre**3,
        )
        for one in row.chain.material
    )
    chain = replace(
        row.chain,
        radius=row.chain.radius * metre,
        mass=row.chain.mass * kilogram,
        velocity=row.chain.velocity * speed,
        material=stuff,
        gap=row.chain.gap * metre,
        precompression=row.chain.precompression * kilogram * metre / second**2,
        gravity=row.chain.gravity * metre / second**2,
    )
    step = row.step()
    other = TimeStep(step.value * second, step.n_steps, step.limit * second, "")
    return in_the_first(
        velocities(replace(row, chain=chain).run(other, speed)) / speed,
        velocities(row.run(step)),
        row,
    )


def in_a_moving_frame(row: Row, frame: float) -> float:
    step = row.step()
    chain = replace(row.chain, velocity=row.chain.velocity + frame)
    return in_the_first(
        velocities(replace(row, chain=chain).run(step)) - frame, velocities(row.run(step)), row
    )


# Random rows. Where two runs differ by rounding, what a chain makes of it is its own: bodies that
# meet again and again, each collision an amplifier, leave the bounds of the struck chain below by a
# factor of two in one of a thousand.

ANY, FREE = rows(), rows(free=True)
EXPONENTS = st.tuples(*[st.floats(-3.0, 3.0)] * 3)


@MUCH
@pytest.mark.promise("N2")
def test_a_free_row_keeps_its_momentum(many, figure):
    figure(
        "random free rows: momentum gained, of what moves at the start",
        largest(momentum, many, row=FREE),
        at_most=1e-12,
    )


@MUCH
@pytest.mark.promise("N3")
def test_the_ledger_of_any_row_closes(many, figure):
    # rows under load swing with the striker's energy on top of the static one, of which the
    # residual is no part: up to 6e-5 seen
    found = largest(residual, many, row=ANY)
    figure(
        "random rows: largest residual of the energy balance at the automatic step",
        found,
        at_least=1e-8,
        at_most=1e-4,
    )


@MUCH
@pytest.mark.promise("N8")
def test_any_mirrored_row_moves_mirrored(many, figure):
    figure(
        "random rows, mirrored: velocities in the largest of the start",
        largest(mirrored, many, row=ANY),
        at_most=1e-12,
    )


@MUCH
@pytest.mark.promise("N8")
def test_any_row_moves_alike_in_other_units(many, figure):
    found = largest(in_other_units, many, row=ANY, exponents=EXPONENTS)
    figure(
        "random rows in other units: velocities in the largest of the start",
        found,
        at_least=1e-17,
        at_most=1e-11,
    )


@MUCH
@pytest.mark.promise("N8")
def test_any_free_row_moves_alike_in_a_moving_frame(many, figure):
    found = largest(in_a_moving_frame, many, row=FREE, frame=st.floats(-3.0, 3.0))
    figure(
        "random rows in a moving frame: velocities in the largest of the start",
        found,
        at_least=1e-17,
        at_most=1e-9,
    )


def test_the_comparisons_see_a_row_that_is_not_the_same(plain_loop):
    row = Row(steel_row(5, material=(HARD,)), "flores", 0.65)
    # while the wave is under way
    step = replace(row.step(), n_steps=600)
    known, speed = velocities(row.run(step)), row.chain.velocity
    heavier = replace(row, chain=replace(row.chain, mass=row.chain.mass * (1.0 + 1e-9)))
    assert in_the_first(velocities(heavier.run(step)), known, row) > 1e-11
    # the dashpot's impact speed is one of the quantities that have a unit
    assert in_the_first(velocities(row.run(step, speed=1.0 + 1e-9)), known, row) > 1e-12
    # Hertz's force is not linear: ten times the speed is another motion
    faster = replace(row, chain=replace(row.chain, velocity=10.0 * speed))
    found = velocities(faster.run(step, speed=10.0)) / 10.0
    assert in_the_first(found, known, row) > 1e-3
