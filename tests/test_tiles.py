"""A long chain that is swept in tiles over steps and threads has the same bits as a chain that is
swept as a whole."""

import _thread
import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.kinds import PLAIN_HERE, each_loop
from support.pinned_states import contents
from support.rows import contacts_of, example_chain

import granchain as gc
from granchain.certificates import example_inputs
from granchain.chain import WALL, End
from granchain.contact import laws
from granchain.engine import chain_sweep, contact_step, state, tiles
from granchain.engine.recording import Recording
from granchain.engine.state import State
from granchain.engine.tiles import TileStepper, in_wavefront, threads_joined
from granchain.engine.timestep import time_step_of
from granchain.errors import CaseError
from granchain.jit.compile import VECTOR
from granchain.status import Status

# Compiled, each law needs two more loops, so that the short set uses the law of test_front.py. As
# plain Python, the short set has one law with rate and onsets, and one law with jumps, whose chains
# are not tiled. The long run has the other laws.
NEAR = ["tsuji", "kelvin-voigt"] if PLAIN_HERE else ["hertz"]
# 48 bodies are two tiles of 24 bodies, more than 7 * VECTOR for a band, so that some tiles begin
# outside the chain.
N_BODIES, N_STEPS, TILE, BAND = 48, 90, 24, 7
# All beads collide from the start at up to 1 m/s, similar to the striker's 1.77 m/s.
SPEEDS = np.random.default_rng(1).uniform(-1.0, 1.0, N_BODIES)
GAPS = np.resize([0.0, 0.0, 2e-7, 0.0], N_BODIES - 1)

CHAINS = {
    "gaps": example_chain(N_BODIES, gap=GAPS, velocity=SPEEDS),
    "loaded": example_chain(N_BODIES, precompression=60.0, right=End(WALL), velocity=SPEEDS),
    "at rest": example_chain(N_BODIES),
    "displaced": example_chain(N_BODIES, velocity=SPEEDS, displacement=1e-6 * SPEEDS[::-1]),
}
Maker = Callable[[], State]


@pytest.fixture
def long(monkeypatch):
    """Uses tiles for chains of any length, with small tiles."""
    monkeypatch.setattr(contact_step, "TILED_ABOVE", 0)
    monkeypatch.setattr(state, "TILE_CONTACTS", TILE)
    monkeypatch.setattr(state, "TILE_STEPS", BAND)


def maker(law, chain):
    """Return a function that makes states of the same run, where everything is recorded at odd
    strides."""
    contacts = contacts_of(laws()[law], chain, example_inputs(laws()[law]))
    step = replace(time_step_of(contacts, chain, "fast", 1e-3), n_steps=N_STEPS)
    dt = step.value
    beads, between = tuple(chain.body_labels.tolist()), tuple(range(1, N_BODIES - 1))
    recording = Recording(beads, between, 4 * dt, 29 * dt, ledger=True, energy_interval=37 * dt)
    return lambda: State(contacts, chain, step, recording)


def ended(made, advance):
    """Return the results of a run in three blocks, except for the last front position and the swept
    contacts ahead of the front."""
    for _ in range(3):
        advance(N_STEPS // 2)
    assert made.step == N_STEPS + 1
    found = contents(made)
    found["counts"][1] = 0
    found["reach"] = np.maximum(found["reach"], found["start"])
    return {name: values.tobytes() for name, values in found.items()}


def differing(one, other):
    return [name for name in one if one[name] != other[name]]


@pytest.mark.plain
@pytest.mark.parametrize("law", each_loop(NEAR))
def test_tiles_give_the_bits_of_whole_sweeps(law, request):
    # compiled, rows with a steady load need another loop
    names = [name for name in CHAINS if PLAIN_HERE or law not in NEAR or name != "loaded"]
    makers = {name: maker(law, CHAINS[name]) for name in names}
    made = {name: make() for name, make in makers.items()}
    whole = {name: ended(one, one.advance) for name, one in made.items()}
    request.getfixturevalue("long")
    for name, make in makers.items():
        tiled = make()
        assert tiled.features.tiled == (not tiled.features.leaps)
        assert differing(whole[name], ended(tiled, tiled.advance)) == [], name


# Two threads can interfere, so that the test has several runs.
@pytest.mark.plain
@pytest.mark.parametrize("law", each_loop(["ma-liu"] if PLAIN_HERE else ["hertz"]))
def test_threads_give_the_bits_of_one(law, request, monkeypatch):
    make = maker(law, CHAINS["gaps"])
    alone = make()
    whole = ended(alone, alone.advance)
    request.getfixturevalue("long")
    # a chain of two tiles, with the requested number of threads
    monkeypatch.setattr(tiles, "TILES_APART", 0.1)
    for threads in (2, 3) if PLAIN_HERE else (2, 3, 2, 3, 2, 3):
        made = make()
        several = TileStepper(made, threads)
        assert several.threads == (threads if made.features.tiled else 1)
        assert differing(whole, ended(made, several.advance)) == []


@pytest.mark.plain
def test_a_short_chain_takes_one_thread():
    made = maker("hertz", CHAINS["gaps"])()
    assert not made.features.tiled
    several = TileStepper(made, 8)
    assert several.threads == 1
    assert several.advance(3) is Status.RUNNING
    assert made.step == 3


@pytest.mark.plain
def test_an_interruption_is_raised_at_the_end_of_a_block_and_so_is_its_error(long, monkeypatch):
    monkeypatch.setattr(tiles, "TILES_APART", 0.1)
    made = maker("hertz", CHAINS["gaps"])()
    with monkeypatch.context() as patch:
        interrupted = lambda threads: threads_joined(threads) or KeyboardInterrupt()  # noqa: E731
        patch.setattr(tiles, "threads_joined", interrupted)
        with pytest.raises(KeyboardInterrupt):
            TileStepper(made, 2).advance(20)
    assert made.step == 20

    def fail(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(tiles, "in_wavefront", fail)
    with pytest.raises(MemoryError, match="no room"):
        TileStepper(made, 2).advance(N_STEPS)


@pytest.mark.plain
def test_all_contacts_may_have_an_event_at_once(plain_loop):
    # under 60 N, contacts of a plastic law load where the left body is faster; each of them is
    # listed once
    speeds = {"right": End(WALL), "velocity": np.linspace(1.0, -1.0, N_BODIES)}
    made = maker("ma-liu", example_chain(N_BODIES, precompression=60.0, **speeds))()
    made.advance(3)
    listed = np.sort(made.events.active[: made.clock.n_active])
    assert listed.size > N_BODIES // 2
    assert np.array_equal(np.flatnonzero(made.events.listed), listed)


@pytest.mark.plain
def test_a_piece_waits_until_the_band_before_is_two_pieces_ahead():
    done, problems, lock = np.zeros(7, dtype=int), [], threading.Lock()

    def do(b, j):
        with lock:
            if b and done[b - 1] < min(j + 2, 5):
                problems.append((b, j, done.tolist()))
            assert done[b] == j
            done[b] += 1

    in_wavefront(7, 5, 3, do)
    assert problems == []
    assert (done == 5).all()

    # a piece that fails ends the other pieces
    def failing(b, j):
        if (b, j) == (1, 1):
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        in_wavefront(4, 5, 2, failing)


@pytest.mark.plain
def test_an_interruption_waits_until_all_threads_have_ended():
    ended = []

    def one():
        _thread.interrupt_main()
        ended.append(threading.current_thread().name)

    assert isinstance(threads_joined([threading.Thread(target=one)]), KeyboardInterrupt)
    assert len(ended) == 1

    # an interruption at any time; here it comes while the main thread waits for another thread
    class Waited(threading.Thread):
        waits = 0

        def join(self, timeout=None):
            Waited.waits += 1
            if Waited.waits == 1:
                raise KeyboardInterrupt
            super().join(timeout)

    assert isinstance(threads_joined([Waited(target=int)]), KeyboardInterrupt)
    assert Waited.waits == 2


def test_a_number_of_threads_that_is_none_is_refused(obeyed):
    for threads in (0, -1, True, 1.5, "2", 4097, None):
        with pytest.raises(CaseError, match=r"threads: .* It must be a whole number, 1 to 4096"):
            gc.run(gc.load_case("steel-chain-hertz"), threads=threads)
    for text in ("0", "1.5", "9" * 5000):
        said = obeyed("run", "--threads", text, code=2).err
        assert "run: Invalid value for '--threads'" in said
        assert "Usage: N (Number of threads for a chain" in said and "1 to 4096" in said


def test_tiles_two_apart_share_no_contact():
    assert chain_sweep.TILE_CONTACTS >= chain_sweep.TILE_STEPS * VECTOR + VECTOR
    assert chain_sweep.TILE_CONTACTS % VECTOR == 0
