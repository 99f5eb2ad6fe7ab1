"""The energy ledger: the losses of the contacts add up to the loss of the chain, and each loss is
recorded at the contact where it occurred."""

import math

import numpy as np
import pytest
from support.kinds import FIRST, every_law
from support.rows import contacts_of, example_chain, ledger_residual, run_row

from granchain import theory
from granchain.analysis import energy_balance, observed_order, residual_share, supplied_energy
from granchain.case import Case, load_case
from granchain.certificates import example_inputs, example_pair
from granchain.contact import laws
from granchain.contact.maliu import MaLiu
from granchain.engine.energy import added
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.timestep import TimeStep, time_step_of
from granchain.set_up import chain_of
from granchain.simulation import relative_residual, run
from granchain.status import Status
from granchain.two_body import contact_of_two, law_inputs, two_bodies

SMALL = {"chain.beads": 15, "sensors.beads": [], "sensors.contacts": [], "snapshots": None}
SMALL["time.end"] = 1.2e-4
# Contacts close and open again within 60 us.
SMALLER = {"chain.beads": 5, "time.end": 6e-5, "time.step": "fast"}
# 60 N far exceed the yield force of two beads, 1.98 N: the contacts are dented at the start
YIELDED = {"chain.precompression": 60.0, "ends.right": "wall"}
PARTS = ("plastic", "viscous", "clamp")


def small(**changes):
    return load_case("steel-chain").replace(**{**SMALL, **changes})


@pytest.mark.promise("N3")
def test_the_losses_of_the_contacts_add_up_to_the_ledgers(plain_loop, figure):
    lost = dict.fromkeys(PARTS, 0.0)
    for changes in (
        {},
        {"contact.dents": "forget", "chain.gap": 1e-6},
        {"contact.law": "flores", "contact.restitution": 0.65},
        YIELDED,
        {"contact.law": "tsuji", "contact.restitution": 0.65, **YIELDED},
    ):
        result = run(small(**SMALLER, **changes))
        balance = energy_balance(result)
        assert len(result.contact_plastic) == len(result.contact)
        for name in PARTS:
            total = result.variables[f"energy_{name}"].data[-1]
            off = abs(result.variables[f"contact_{name}"].data.sum() - total)
            what = (
                f"{name}: losses of the contacts less those of the balance, of the energy supplied"
            )
            figure(what, off / balance.supplied, at_most=1e-14)
            lost[name] += abs(total) / balance.supplied
        # the sums are not zero
        assert sum(getattr(balance, name) for name in PARTS) > 1e-3 * balance.supplied
    assert min(lost.values()) > 1e-4


@pytest.mark.promise("N3")
@pytest.mark.parametrize("law", every_law(FIRST[:2]))
def test_the_ledger_closes_under_every_law(law, figure):
    # test_reference_loop.py compiles the loops for twelve bodies; contacts open
    chain = example_chain(12)
    inputs = vars(example_inputs(laws()[law]))
    coarse, fine = (
        ledger_residual(run_row(chain, law, 8e-5, refine=refine, **inputs))
        for refine in (1.0, 10.0)
    )
    what = "12 beads, every law: largest residual of the energy balance at"
    figure(f"{what} the automatic step", coarse, at_least=1e-6, at_most=5e-5)
    figure(f"{what} a tenth of it", fine, at_least=1e-8, at_most=1e-6)


def test_a_contacts_plastic_loss_is_that_of_its_dent():
    case = small()
    result = run(case)
    c = tuple(contacts_of(MaLiu, chain_of(case), case.law_inputs()).c[:, 1])
    for limit, lost in zip(result.elastic_limit[:5], result.contact_plastic[:5], strict=True):
        # loading work up to the present elastic limit, minus the energy that is returned
        h = MaLiu.update((limit, 0.0, 0.0, 1.0), c, MaLiu.history_of(c))
        left = MaLiu.loading_work(limit, c) - MaLiu.energy(limit, c, h)
        assert lost == pytest.approx(left, rel=1e-12) and lost > 0.0
    # an elastic chain loses no energy at any contact, and without a ledger no losses are recorded
    elastic = run(small(**{"contact.law": "hertz"}))
    assert not any(elastic.variables[f"contact_{name}"].data.any() for name in PARTS)
    with pytest.raises(AttributeError, match="record the energy balance"):
        _ = run(small(**{"energy.ledger": False})).contact_viscous
    # a residual of more than a tenth of the bound causes a warning
    residual = relative_residual({name: one.data for name, one in result.variables.items()})
    for tenths, warned in ((5.0, True), (20.0, False)):
        messages = run(small(**{"energy.bound": tenths * residual})).messages
        said = f"the energy balance error is {residual:.3g}"
        assert any(said in message.text for message in messages) is warned


@pytest.mark.promise("N3")
def test_the_work_from_outside_is_that_of_gravity_and_precompression(plain_loop, figure):
    # the striker hits a loaded row that stands on a wall
    case = small(**SMALLER, **YIELDED, **{"chain.gravity": 9.81})
    result = run(case)
    chain = chain_of(case)
    # the forces are constant, so that work is force times displacement
    weight = float((chain.mass * 9.81 * result.final_displacement).sum())
    pressed = float(((chain.loads - chain.mass * 9.81) * result.final_displacement).sum())
    assert min(abs(weight), abs(pressed)) > 0.0
    off = abs(result.energy_gravity[-1] / weight - 1.0)
    figure("work of gravity, relative error", off, at_most=1e-12)
    off = abs(result.energy_precompression[-1] / pressed - 1.0)
    figure("work of the precompression, relative error", off, at_most=1e-12)
    assert "energy_drives" not in result.variables
    both = result.energy_gravity + result.energy_precompression
    assert np.array_equal(result.energy_external, both)


CLAMPED = [
    pytest.param(law, marks=pytest.mark.long) for law in ("wang-liu-viscous", "kelvin-voigt")
]
CLAMPED.append("tsuji")


def losses_of_an_impact(law, refine, **inputs):
    """Return the energies that dashpot and clamp dissipate in a collision of two beads."""
    speed = 1.77
    chain = two_bodies(example_pair(), speed)
    values = law_inputs(laws()[law], vars(example_inputs(laws()[law])) | inputs, speed)
    contacts = contact_of_two(laws()[law], chain, example_pair(), values)
    auto = time_step_of(contacts, chain, "auto", 1.0)
    # the duration is five times that of an elastic contact, about 240 automatic steps
    n_steps = int(1200 * refine)
    step = TimeStep(auto.value / refine, n_steps, auto.limit, auto.reason)
    state = State(contacts, chain, step, Recording(energy_interval=n_steps * step.value))
    state.advance(n_steps + 1)
    return np.array([state.energies.viscous[-1], state.energies.clamp[-1]]) / (
        0.5 * float(example_pair().effective_mass) * speed**2
    )


@pytest.mark.promise("N3")
@pytest.mark.parametrize("asked", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("law", CLAMPED)
def test_what_dashpot_and_clamp_take_is_right_for_each_and_of_order_two(law, asked, figure):
    zeta = -math.log(asked) / math.hypot(math.pi, math.log(asked))
    e = theory.clamped_restitution(asked)
    # the force vanishes at an overlap x where K x^n = c x^a u, with the last speed u, and the clamp
    # then removes c x^a u - K x^n until zero overlap. For n = 1, a = 0 and c = 2 zeta sqrt(K m)
    # this is c u x - K x^2/2 = 2 zeta^2 m u^2; for n = 3/2, a = 1/4 and c = sqrt(5) zeta sqrt(K m)
    # it is the same
    right = np.array([1.0 - e * e + 4.0 * zeta**2 * e * e, -4.0 * zeta**2 * e * e])
    refines = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
    inputs = {"restitution": asked, "separation": "clamped"}
    errors = np.array([losses_of_an_impact(law, refine, **inputs) - right for refine in refines])
    what = "viscous and clamp losses of an impact at the automatic step, of its energy"
    figure(what, np.abs(errors[0]).max(), at_most=1e-4)
    # the larger of two errors, because the position of a step near the end of the contact is random
    order = observed_order([1.0 / refine for refine in refines], np.abs(errors).max(axis=1))
    figure("order of the viscous and clamp losses of an impact", order, at_least=1.85, at_most=2.15)


@pytest.mark.plain
def test_many_small_losses_beside_a_large_one_are_not_rounded_away():
    # 1 and ten thousand times 1e-16; each 1e-16 alone leaves 1 unchanged
    total, rest = 1.0, 0.0
    for _ in range(10_000):
        total, rest = added(total, rest, 1e-16)
    assert total == 1.0
    assert total + rest == pytest.approx(1.0 + 1e-12, rel=1e-16, abs=0.0)


RESTING = {
    "a load between free ends": {"chain.precompression": 5.0},
    "a load between walls": {
        "chain.precompression": 5.0, "ends.left": "wall", "ends.right": "wall"},
    "a large load": {"chain.precompression": 500.0},
    "its weight": {"chain.gravity": 9.81, "ends.right": "wall"},
    "a wall driven to where it stands": {
        "chain.precompression": 5.0, "ends.right": "wall",
        "ends.left": {"drive": "displacement", "time": [0.0, 1.0], "value": [0.0, 0.0]}},
    "a load that dents": {
        "chain.precompression": 5.0, "contact": {"law": "ma-liu", "psi": 2.84, "xi": 13.0}},
    "a striker that is hardly felt": {"chain.precompression": 5.0, "striker": {"speed": 1e-9}},
}  # fmt: skip


def test_a_loaded_chain_at_rest_has_a_closed_ledger(plain_loop):
    case = Case(
        chain={"beads": 6, "radius": 2.38e-3, "material": "steel-316"}, contact={"law": "hertz"},
        sensors={"beads": [5]}, time={"end": 3e-5, "step": "fast"},
    )  # fmt: skip
    for what, changes in RESTING.items():
        result = run(case.replace(**changes))
        residual = np.abs(result.energy_residual).max()
        assert result.status is Status.COMPLETE, what
        assert not [message for message in result.messages if "ledger" in message.text], what
        # several spacings of doubles, 2e-16 of the number, in sums of about twelve numbers
        assert residual < 1e-14 * result.energy_recoverable.max(), what


def test_where_rounding_alone_moves_the_residual_is_measured_against_what_the_contacts_hold():
    # the chain contains ten joules; supplied energy below 1e-12 of this is not reported
    held = np.array([10.0, 10.0])
    assert supplied_energy([0.0, 0.0], [0.0, 0.9e-11], held) == 0.0
    assert supplied_energy([0.0, 0.0], [0.0, 1.1e-11], held) == 1.1e-11
    assert residual_share([0.0, 2e-13], 0.0, held) == pytest.approx([0.0, 0.02], rel=1e-12)
    assert residual_share([0.0, 2e-13], 2e-11, held) == pytest.approx([0.0, 0.01], rel=1e-12)
    # energy that is created in a chain at rest is detected
    assert supplied_energy([0.0, 1e-3], [0.0, 0.0], held) == 0.0
    assert residual_share([0.0, 1e-3], 0.0, held).max() > 1e7
    # no energy is stored or supplied: the numbers are in joules
    assert residual_share([0.0, 3e-7], 0.0, [0.0, 0.0]).max() == 3e-7
