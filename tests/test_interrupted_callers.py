"""An interruption inside a run that another function of the package requested ends this function,
also if the interruption arrives in the last step of the run."""

import ast
from pathlib import Path

import numpy as np
import pytest
import xarray
from support.shaken import shaken_row

import granchain as gc
from granchain import simulation
from granchain.studies import measures
from granchain.studies.evaluate import evaluated


def breathing(beads=2):
    """Return steel beads between walls, displaced from rest."""
    return gc.Case(
        chain={"beads": beads, "radius": 9.53e-3, "material": "steel-316", "precompression": 20.0},
        contact={"law": "hertz"},
        ends={"left": "wall", "right": "wall"},
        initial={"displacement": [1e-7] + [0.0] * (beads - 1)},
        time={"end": 1e-3},
    )


def found_orbit():
    return gc.orbit(shaken_row(2, 4000.0, 1e-8, 500.0))


def found_breather():
    return gc.orbit(breathing())


def verified():
    return gc.verify(gc.load_case("steel-chain-hertz", ["chain.beads=12", "sensors.beads=[9]"]))


CALLERS = (found_orbit, found_breather, verified)


# interruptions within a run: test_interrupted_inside.py
@pytest.mark.parametrize("caller", CALLERS)
def test_an_interruption_with_the_last_step_of_a_run_ends_the_function_that_asked_for_it(
    caller, monkeypatch
):
    run_blocks, calls = simulation.run_blocks, []

    def interrupted(state, *arguments):
        calls.append(state)
        run_blocks(state, *arguments)
        assert state.step > state.time_step.n_steps
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation, "run_blocks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        caller()
    assert len(calls) == 1


def test_an_interruption_behind_the_last_member_of_a_fit_is_raised(monkeypatch):
    advance = measures.advance

    def interrupted(*arguments):
        advance(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(measures, "advance", interrupted)
    case = gc.load_case("steel-chain-hertz", ["chain.beads=12", "sensors.beads=[9]"])
    with pytest.raises(KeyboardInterrupt):
        evaluated([case, case], "result", threads=1, interruptible=False)
    with pytest.warns(gc.errors.GranchainWarning, match="interrupted: all 2 members are computed"):
        assert [result.status.label for result in gc.run_many([case, case], threads=1)] == [
            "complete"
        ] * 2


def those_that_catch(text):
    """Return the functions that run simulations and that a module imports or calls in a way that
    suppresses interruptions."""
    modules = "granchain.simulation", "granchain.studies", "granchain.studies.evaluate"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            yield from {each.name for each in node.names} & {"run", "run_many", "evaluate"}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "evaluated":
            given = {each.arg: ast.unparse(each.value) for each in node.keywords}
            if given.get("interruptible") != "False":
                yield "evaluated"


def test_no_function_of_the_package_catches_an_interruption_but_those_of_the_user():
    # the command line calls gc.run, prints what an interrupted run has computed, and stops; the
    # explorer runs cases in threads, which receive no interruptions
    package = Path(gc.__file__).parent
    found = {
        path.relative_to(package).as_posix(): set(those_that_catch(path.read_text()))
        for path in package.rglob("*.py")
    }
    assert {path: names for path, names in found.items() if names} == {
        "studies/evaluate.py": {"evaluated"},
        "studies/sweep.py": {"evaluated"},
        "cli/sweep.py": {"evaluated"},
        "show/page.py": {"run"},
    }


def test_a_breather_of_a_single_bead_has_no_further_multipliers():
    # a wall on each side: m u'' = -2 (3/2) K sqrt(d0) u for small amplitudes
    orbit = gc.orbit(breathing(1))
    case = breathing(1)
    (frequency,) = gc.modes(case).frequencies
    assert orbit.period * frequency == pytest.approx(1.0, abs=1e-3)
    assert orbit.multipliers.size == 0 and orbit.stable
    assert orbit.multiplier_error == orbit.modulus_error == 0.0
    assert np.isfinite(orbit.displacement).all()


@pytest.mark.long
def test_a_branch_of_breathers_of_a_single_bead_is_followed(tmp_path):
    orbit = gc.orbit(breathing(1))
    branch = gc.continuation(breathing(1), orbit, along="energy", stop=1.05 * orbit.energy)
    assert branch.points[-1].parameter == pytest.approx(1.05 * orbit.energy)
    assert "largest multiplier 1>" in repr(orbit)
    for shown in (orbit._repr_html_(), branch._repr_html_()):
        assert "<table" in shown
    gc.figures.orbit(orbit)
    # the same without multipliers
    for answer in (orbit, branch):
        answer.save(tmp_path / "answer.h5", overwrite=True)
        assert gc.open(tmp_path / "answer.h5").equals(answer)
        with xarray.open_dataset(tmp_path / "answer.h5", engine="h5netcdf") as data:
            assert data.sizes["multiplier"] == 0
