"""Small runs as plain Python in rare branches of laws and loop: drives, dents, refusals."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from support.kinds import PLAIN_ALONE, alternatives, distinct_laws
from support.refused import assert_refused
from support.rows import (
    MASS,
    RADIUS,
    SPEED,
    STEEL,
    contacts_of,
    inputs_for,
    ledger_residual,
    run_row,
    standing_row,
    steel_row,
    velocities,
)

from granchain import theory
from granchain.certificates import example_inputs
from granchain.certificates.contact import Contact
from granchain.chain import End
from granchain.contact import law_named, laws
from granchain.contact.guard import GUARD_WINDOWS, Elastoplastic
from granchain.contact.law import SPEED_NODES, ContactLaw, Quantity, Source
from granchain.contact.pair import Pair
from granchain.engine import fields
from granchain.engine.fields import PACKED_COLUMNS, PAGE_BYTES, pitch_of
from granchain.engine.recording import RECORD, Recording
from granchain.engine.setup import (
    GUARD_POINTS,
    LawAtSpeeds,
    coefficients,
    restitutions_at,
    with_restitutions,
)
from granchain.engine.state import State
from granchain.engine.timestep import time_step_of
from granchain.errors import GranchainWarning, LawError
from granchain.jit import compile as jit_compile
from granchain.jit.compile import VECTOR, compiled
from granchain.status import Status

pytestmark = [pytest.mark.plain, PLAIN_ALONE, pytest.mark.usefixtures("plain_loop")]


def test_a_forgotten_dent_stays_in_the_ledger():
    # a ball hits two walls repeatedly; each impact makes a new dent, and the losses add up
    chain = replace(standing_row(1, End("wall"), End("wall")), velocity=np.array([SPEED]))
    kept, forgotten = (
        run_row(chain, "ma-liu", 6e-5, 4e-8, dents=dents, recording=Recording(energy_interval=2e-6))
        for dents in ("keep", "forget")
    )
    assert forgotten.energies.plastic[-1] > kept.energies.plastic[-1] > 0.0
    assert (np.diff(forgotten.energies.plastic) > -1e-15).all()
    assert ledger_residual(forgotten) < 1e-3


def test_a_restitution_is_looked_up_at_the_speeds_of_the_contacts():
    pair = Pair(
        effective_radius=1.19e-3, effective_modulus=1.0604e11, effective_mass=0.5 * MASS,
        yield_stress=900e6,
    )  # fmt: skip
    law, values = laws()["ma-liu"], inputs_for("ma-liu", psi=2.84, xi=13.0)
    # .8390 at 1.77 m/s: recomputed to the digits shown
    limits, speed = np.array([1e-3]), np.array([1.77])
    (found,) = restitutions_at([LawAtSpeeds(law, values, pair, limits, speed)])
    assert found[0, 0] == pytest.approx(0.8390, abs=5e-5)
    # one speed for all contacts, the largest at the start; or one speed for each contact
    asked = {"law": "ma-liu", "psi": 2.84, "xi": 13.0}
    given = inputs_for("tsuji", restitution=asked)
    at_onset = inputs_for("flores", restitution=asked, impact_speed="onset", impact_speed_floor=0.1)
    one, many = with_restitutions([(each, pair, limits, speed) for each in (given, at_onset)])
    assert one.restitution == pytest.approx([0.8390], abs=5e-5)
    assert many.restitution.shape == (SPEED_NODES, 1)
    state = run_row(
        replace(steel_row(2), gap=np.array([1e-7])), "flores", 2e-6, 1e-7,
        restitution=asked, impact_speed="onset", impact_speed_floor=0.1, damping="identified",
    )  # fmt: skip
    assert state.h[3, 1] > 0.0
    assert (state.h[0, 1], state.h[2, 1]) == (pytest.approx(SPEED, rel=1e-3), 0.0)
    # an onset below the minimum speed gets the minimum speed, and the law counts such onsets
    floored = run_row(
        replace(steel_row(2), gap=np.array([1e-7])), "flores", 3e-5, 2e-7,
        restitution=asked, impact_speed="onset", impact_speed_floor=3.0, damping="identified",
    )  # fmt: skip
    assert floored.h[:3, 1].tolist() == [3.0, 0.0, 1.0]
    # at a higher speed, a dent dissipates more: the restitution is smaller, and the factor is
    # larger
    assert floored.h[3, 1] > state.h[3, 1]
    with pytest.raises(LawError, match="nothing moves at the start"):
        with_restitutions([(given, pair, limits, np.zeros(1))])


def refused(law, words, **given):
    """Check that a law is refused for a row of two beads, with a matching message."""
    name = law if isinstance(law, str) else law.name
    with pytest.raises(LawError, match=words) as caught:
        contacts_of(laws().get(law, law), steel_row(2), inputs_for(name, **given))
    assert str(caught.value).count("contact.law") <= 1


def test_values_and_coefficients_that_a_law_cannot_take_are_refused():
    floor = "impact_speed_floor: missing. It must be a number above 0"
    refused("flores", floor, impact_speed="onset", impact_speed_floor=None)
    # the root at which the overlap would turn is too large for a double
    infinite = r"^contact\.law vu-quoc-zhang: the force is not finite for these values "
    refused("vu-quoc-zhang", infinite, C_a=1e-300)

    class Short(laws()["hertz"]):
        """A law with a missing coefficient."""

        coefficients = (Quantity("stiffness", "N/m"), Quantity("more", "N"))

    two = r"returned 1 values\. It must return 2, one for each coefficient \(stiffness, more\)"
    refused(Short, two)


def test_a_quantity_says_what_is_allowed():
    word = Quantity("word", "", choices=("a", "b"), kind="word")
    for quantity, value, words in (
        (Quantity("e", "1", above=0.0, high=1.0), 1.5, "above 0 and at most 1"),
        (Quantity("e", "1", low=0.0, below=1.0), math.nan, "at least 0 and below 1"),
        (Quantity("e", "1"), True, "a number"),
        (word, "c", '"a", "b"'),
        (word, 3, '"a", "b"'),
        (Quantity("switch", "", kind="switch"), 1, "true or false"),
    ):
        assert words in quantity.problem(value)


def test_a_law_that_is_not_well_formed_is_refused_with_every_problem():
    with pytest.raises(LawError) as caught:

        class Wrong(ContactLaw):
            name = "Not A Name"
            inputs = (Quantity("a", "1"), Quantity("a", "1"))
            coefficients = Quantity("b", "1")

            def force(self):
                return 0.0

    text, pieces = str(caught.value), ["lower-case words", "source: missing", "docstring: missing"]
    pieces += ["is repeated. Each name may occur once", "Check the commas", "staticmethod"]
    assert all(piece in text for piece in pieces), text
    with pytest.raises(LawError, match=r"already exists\. It is the name of"):

        class Hertz(laws()["hertz"]):
            """Another law with this name."""

            name = "hertz"


def test_sources_and_defaults_read_as_words():
    assert str(Source("Author 1900", "eq. (1)", "10.1/x")) == "Author 1900, eq. (1), doi:10.1/x"
    assert ContactLaw.coefficients_of(None, None) == ()
    assert ContactLaw.update((), (), (1.0,)) == (1.0,)
    assert laws()["hertz"].model(SimpleNamespace()).coefficient("nothing") == -1
    for law, given in (("ma-liu", {"as_printed": True}), ("ma-liu", {}), ("hertz", {})):
        assert laws()[law].model(inputs_for(law, **given)).as_printed == bool(given)
    assert laws()["hertz"].summary() == "Elastic spheres: F = K d^1.5."
    for name in ("force", "energy"):
        with pytest.raises(NotImplementedError):
            getattr(ContactLaw, name)(*([0.0] * (4 if name == "force" else 3)))


def test_a_pair_says_what_it_holds():
    pair = Pair(effective_radius=1e-3, hardness=None)
    assert pair.has("effective_radius") and not pair.has("hardness")
    assert pair.items() == {"effective_radius": 1e-3}
    with pytest.raises(AttributeError):
        pair.colour  # noqa: B018
    rows = [
        (lambda: pair.hardness, "hardness: missing"),
        (lambda: Pair(colour=1.0), "unknown quantity"),
        (lambda: Pair(effective_radius=-1.0), "must be a finite number above 0"),
    ]
    assert_refused(lambda call: call(), rows, LawError)


def test_a_blow_and_a_push_beyond_a_radius_are_followed_up_to_it():
    # at an overlap of one radius, the limit, a contact stores (2/5) K R^2.5 = 540 J and carries K
    # R^1.5 = 5.7e5 N; here the energy is 900 J and the force 2e6 N
    push = End("force", None, np.array([0.0, 1.0]), np.array([1e6, 1e6]))
    chain = steel_row(4, speed=2000.0, right=push)
    contacts = contacts_of(laws()["hertz"], chain, inputs_for("hertz"))
    stiffness = theory.hertz_stiffness(193e9 / (2.0 * (1.0 - 0.3**2)), 0.5 * RADIUS)
    assert 0.4 * stiffness * RADIUS**2.5 < 0.5 * MASS * 2000.0**2
    assert stiffness * RADIUS**1.5 < 2.0 * 1e6
    step = time_step_of(contacts, chain, "auto", 1e-6)
    # k = 1.5 K sqrt(d), with two contacts at a bead: omega^2 = 4 k/m
    assert step.limit == pytest.approx(
        2.0 / math.sqrt(6.0 * stiffness * math.sqrt(RADIUS) / MASS), rel=1e-6
    )
    assert f"overlap up to {RADIUS:.4g} m" in step.reason


def test_beads_too_hard_to_yield_move_as_hertz_has_it():
    # the yield overlap is proportional to s_y^2; here it is .6 % above the radius, the end of the
    # range in which the energy guard searches, in steps of 10^.001
    d_y = contacts_of(laws()["ma-liu"], steel_row(3), inputs_for("ma-liu")).c[0, 1]
    strength = STEEL.yield_stress * math.sqrt(10.0**0.0025 * RADIUS / d_y)
    hard = steel_row(3, material=(replace(STEEL, yield_stress=strength),))
    dented, elastic = run_row(hard, "ma-liu", 2e-5, 1e-7), run_row(hard, "hertz", 2e-5, 1e-7)
    # without a loss, there is no energy guard
    assert not dented.c[-3 * GUARD_WINDOWS :].any()
    assert velocities(dented) == pytest.approx(velocities(elastic), rel=1e-12)
    assert velocities(elastic)[2] > 0.1 * SPEED


def test_a_loss_that_falls_again_and_again_cannot_be_guarded():
    def loss(s, c):
        # the loss increases, and decreases 37 times in a decade of overlap: 100 ln 10/(2 pi)
        return 100.0 + 3.0 * math.log(s) + math.sin(100.0 * math.log(s))

    inputs = inputs_for("ma-liu")
    model = laws()["ma-liu"].model(inputs)
    wavy = replace(model, guarded=model.guarded._replace(loss=loss))
    words = f"the loss decreases in more than {GUARD_WINDOWS} ranges of the largest overlap"
    with pytest.raises(LawError, match=words):
        coefficients(wavy, steel_row(2).pair(), inputs, np.full(3, 1e-3))


def test_rows_begin_with_their_start_value_and_no_two_of_a_long_table_at_one_place_of_a_page():
    rows = fields.rows_of(fields.BodyRows, fields.BODY, 3)
    assert [row.tolist() for row in rows] == [[field.start] * 3 for field in fields.BODY]
    # number of doubles in a memory page
    page = PAGE_BYTES // 8
    for columns in range(VECTOR, 10 * page, VECTOR):
        pitch = pitch_of(columns)
        assert columns <= pitch < columns + page and pitch % VECTOR == 0
        if columns <= PACKED_COLUMNS:
            assert pitch == columns
        else:
            # a page has 64 lines of 8 doubles; rows whose distance is an even number of lines use
            # 32 of them
            assert len({row * pitch % page for row in range(32)}) == 32


def test_a_loss_that_dips_and_jumps_between_two_points_is_held_from_its_jump_on():
    # over a decade of overlap; x counts the points at which the energy guard computes the loss
    first, last = 1e-4, 1e-3
    step = math.log(last / first) / (int(GUARD_POINTS) + 2)

    def loss(s, c):
        x = math.log(s / first) / step
        # a search for the largest loss would end in the dip between points 4 and 5; behind the
        # jump, all losses up to point 9 are smaller
        return 0.4 if 4.2 < x < 4.8 else 1.0 if x <= 5.1 else 0.5 if x < 8.5 else 2.0

    inputs = inputs_for("ma-liu")
    model = laws()["ma-liu"].model(inputs)
    guarded = model.guarded._replace(
        loss=loss, elastic_limit=lambda c: first, loss_rises_from=lambda c: math.inf
    )
    c = coefficients(replace(model, guarded=guarded), steel_row(2).pair(), inputs, np.full(3, last))
    windows = c[len(model.own) :, 1]
    ends = first * np.exp(step * np.array([5.1, 8.5]))
    assert windows[:3] == pytest.approx([*ends, 1.0], rel=1e-12)
    assert not windows[3:].any()


def recorded_state(law):
    """Return a state of four beads at the start."""
    chain = steel_row(4)
    contacts = contacts_of(laws()[law], chain, inputs_for(law))
    step = time_step_of(contacts, chain, 1e-7, 1e-5)
    return State(contacts, chain, step, Recording((1,), (0, 1), 3e-7, 5e-7, energy_interval=7e-7))


def test_states_of_one_form_share_all_but_the_lengths_of_their_records():
    whole = recorded_state("hertz")
    bare = Recording((1,), interval=3e-7, ledger=False)
    state = State(whole.prepared, whole.chain, whole.time_step, bare)
    other = state.at(state.prepared, state.chain, state.time_step)
    longer = state.at(state.prepared, state.chain, replace(state.time_step, n_steps=200))
    assert other.sizes == state.sizes and other.shape == longer.shape == state.shape
    assert longer.sizes["samples"] > state.sizes["samples"]


def test_a_state_has_its_time_and_the_steps_of_its_samples():
    state = recorded_state("ma-liu")
    state.advance(43)
    assert state.step == 43 and state.time == pytest.approx(43e-7, rel=1e-14)
    # the distances of its samples are whole strides
    assert (np.diff(state.sample_step) == state.clock.stride).all() and state.sample_step[0] == 0


def test_a_state_that_is_restored_advances_to_the_same_bits():
    unbroken, stopped, resumed = (recorded_state("ma-liu") for _ in range(3))
    assert resumed.size == sum(getattr(resumed.records, f.name).nbytes for f in RECORD)
    stopped.advance(43)
    resumed.restore({name: array.copy() for name, array in stopped.arrays().items()})
    for state in (unbroken, resumed):
        state.advance(80 - state.step)
    for name, array in unbroken.arrays().items():
        assert array.tobytes() == resumed.arrays()[name].tobytes(), name


def test_a_number_that_is_none_is_found_also_where_no_force_shows_it():
    # the force compares the dent, which hides nan; the loss of a dashpot is summed, but never read
    for law, table, row in (
        ("hertz", "bodies", "v"),
        ("ma-liu", "h", 0),
        ("flores", "bodies", "a"),
        ("tsuji", "contacts", "viscous_work"),
    ):
        state = recorded_state(law)
        assert state.advance(20) is Status.RUNNING
        rows = getattr(state, table)
        (rows[row] if table == "h" else getattr(rows, row))[3] = math.nan
        assert state.advance(0) is Status.NOT_FINITE and state.clock.where == 3, law


def test_a_loop_that_cannot_be_kept_on_disk_is_compiled_all_the_same_and_it_is_said(
    tmp_path, jit, monkeypatch
):
    def no_folder(function):
        # the exception that Numba raises if it finds no cache folder for a function
        raise RuntimeError("cannot cache function 'loop': no locator available for file '<string>'")

    def with_compile(function):
        # only the requested attributes of a compiled function are available
        function.compile, function.py_func = lambda signature: None, function
        return function

    monkeypatch.setattr(numba, "njit", lambda **_: with_compile)
    three, found = 3.0, jit_compile.LoopCache
    monkeypatch.setattr(jit_compile, "LoopCache", no_folder)
    reason = "compiled loops are not saved to disk: .*no locator available.*Set NUMBA_CACHE_DIR to"
    with pytest.warns(GranchainWarning, match=reason):
        assert compiled(lambda x: three * x)(2.0) == 6.0
    # Numba itself makes the folder, and passes over one that it cannot write to
    monkeypatch.setattr(jit_compile, "LoopCache", found)
    (tmp_path / "file").write_text("")
    for folder, usable in (
        (tmp_path / "new" / "cache", True), (tmp_path / "file" / "cache", False), ("/proc", False),
    ):  # fmt: skip
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
        path = Path(compiled(lambda x: three * x)._cache.cache_path)
        assert path.is_dir() and path.is_relative_to(folder) == usable


# Laws whose energy guard takes ten seconds; with as_printed they have none.
SLOW = "jackson-green"


@pytest.mark.parametrize("name", distinct_laws())
def test_a_law_with_each_kind_of_inputs_is_open_before_and_after_a_contact(name):
    law = laws()[name]
    kinds = [{"as_printed": True}] if name == SLOW else alternatives(law)
    for changes in [*kinds, {"restitution": 1.0}] if name == "power" else kinds:
        contact = Contact(law, example_inputs(law, **changes))
        own, c = contact.law, contact.c
        h, forces = own.history_of(c), []
        deepest = min(1e-5, 0.9 * own.overlap_limit(c))
        for overlap, rate in (
            *((part * deepest, 1.0) for part in (0.0, 1e-3, 0.5, 1.0)),
            *((part * deepest, -1.0) for part in (0.999, 0.5, 0.0)),
        ):
            if own.needs_update(overlap, rate, c, h):
                h = own.update((overlap, rate, rate, 0.5), c, h)
            forces.append(own.force(overlap, rate, c, h))
            assert own.energy(overlap, c, h) >= 0.0 and math.isfinite(own.plastic(c, h))
        assert forces[0] == forces[-1] == 0.0 and 0.0 < forces[1] < forces[3] < math.inf, changes
        places = [place for place in (*own.jumps(c), 1e-3 * deepest) if place <= deepest]
        assert all(math.isfinite(own.jump(place, 1.0, c, h)) for place in places)
        assert law.plastic_overlap(c) > 0.0
        if issubclass(law, Elastoplastic):
            works = [law.loading_work(part * deepest, c) for part in (1e-3, 0.1, 0.5, 1.0)]
            assert works == sorted(works) and works[0] > 0.0


def test_a_law_is_named_or_given_and_a_wrong_name_leads_to_the_nearest():
    assert law_named("hertz") is law_named(laws()["hertz"])
    with pytest.raises(LawError, match=r'^contact law: unknown law ".*Did you mean "hertz"'):
        law_named("herz")
