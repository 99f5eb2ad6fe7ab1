"""An interruption in any block of steps, including the last one, ends the computation that
requested the run."""

import signal
import threading

import numpy as np
import pytest
from support.shaken import shaken_row

import granchain as gc
from granchain import simulation
from granchain.engine import batch
from granchain.engine.state import State
from granchain.measured.about import about_of
from granchain.mechanisms.runs import Machine
from granchain.studies import members

# Number of bodies times steps in the first block of a run.
FIRST_BLOCK = 500
# A time that no block and no call of these runs exceeds [s].
NO_LIMIT = 1e9


def in_blocks(monkeypatch, call, at=-1):
    """Call a function, send SIGINT in block number `at` of its steps, and return the number of
    blocks."""
    count = 0
    main = threading.main_thread().ident
    assert main is not None

    def counted(advance):
        def counting(*arguments, **more):
            nonlocal count
            if count == at:
                signal.pthread_kill(main, signal.SIGINT)
            count += 1
            return advance(*arguments, **more)

        return counting

    with monkeypatch.context() as patch:
        for kind in (State, Machine):
            patch.setattr(kind, "advance", counted(kind.advance))
        compiled = batch.stack_of
        patch.setattr(batch, "stack_of", lambda loop: counted(compiled(loop)))
        # several blocks in each run, with sizes that do not depend on the load of the machine
        patch.setattr(simulation, "FIRST_BLOCK", FIRST_BLOCK)
        for module, name in (
            (simulation, "BLOCK_SECONDS"),
            (members, "BLOCK_SECONDS"),
            (members, "CALL_SECONDS"),
        ):
            patch.setattr(module, name, NO_LIMIT)
        call()
    return count


DRIVEN = shaken_row(3, 8e3, 3e-7, 5e3, **{"ends.left.ramp": 1e-4})
BREATHING = gc.Case(
    chain={"beads": 3, "radius": 9.53e-3, "material": "steel-316", "precompression": 20.0},
    contact={"law": "hertz"},
    ends={"left": "wall", "right": "wall"},
    time={"end": 1e-3},
    initial={"displacement": [2e-7, 0.0, -2e-7]},
)
STRUCK = gc.load_case(
    "steel-chain-hertz",
    ["chain.beads=6", "sensors.beads=[3]", "time.end=1.2e-4", "sensors.contacts=[0]"],
)


def traced():
    """Return a trace that the sensor of the case would have measured."""
    result = gc.run(STRUCK)
    _, force = gc.Sensor(interval=3e-7).read(result.time, result.sensor_force)
    force = np.vstack([np.zeros((30, force.shape[1])), force])
    about = about_of({"title": "made up", "kind": "synthetic"}, "test")
    time = 3e-7 * np.arange(len(force))
    return gc.Trace(time=time, force=force, beads=result.sensor_bead, about=about)


CALLS = {
    "orbit": lambda trace: gc.orbit(DRIVEN, threads=1),
    "breather": lambda trace: gc.orbit(BREATHING, threads=1),
    "verify": lambda trace: gc.verify(STRUCK),
    "gradient": lambda trace: gc.gradient(STRUCK, "peak", ["striker.speed"], threads=1),
    "fit": lambda trace: gc.fit(STRUCK, trace, ["striker.speed"], threads=1),
    "impacts": lambda trace: gc.impacts(["hertz"], None, {"speed": [1.0]}, material="steel-316"),
}


@pytest.mark.promise("R6")
@pytest.mark.parametrize(
    "name",
    # the other functions compile another loop, or need many runs
    [pytest.param(n, marks=[] if n in ("orbit", "verify") else pytest.mark.long) for n in CALLS],
)
def test_an_interruption_in_any_block_of_steps_is_raised(name, monkeypatch):
    trace = traced() if name == "fit" else None
    call = lambda: CALLS[name](trace)  # noqa: E731
    in_blocks(monkeypatch, call)  # computes values that are cached in the process
    count = in_blocks(monkeypatch, call)
    assert count
    for at in sorted({*range(0, count, max(1, count // 8)), *range(max(0, count - 4), count)}):
        with pytest.raises(KeyboardInterrupt):
            in_blocks(monkeypatch, call, at)
