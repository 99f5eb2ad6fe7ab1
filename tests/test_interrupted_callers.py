"""An interruption inside a run that another function of the package asked for ends that function,
also if it arrives with the last step of the run."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray
from support.shaken import shaken_row

import granchain as gc
from granchain import simulation
from granchain.studies import many
from granchain.studies.many import run_all


def breathing(beads=2):
    """Steel beads between walls, displaced from rest."""
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


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("after_the_end", [False, True])
def test_an_interrupted_run_ends_the_function_that_asked_for_it(caller, after_the_end, monkeypatch):
    march, calls = simulation.march, []

    def interrupted(state, *arguments):
        calls.append(state)
        if after_the_end:
            march(state, *arguments)
            assert state.step > state.time_step.n_steps
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation, "march", interrupted)
    with pytest.raises(KeyboardInterrupt):
        caller()
    assert len(calls) == 1


def test_an_interruption_behind_the_last_member_of_a_fit_is_raised(monkeypatch):
    advance = many.advance

    def interrupted(*arguments):
        advance(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(many, "advance", interrupted)
    case = gc.load_case("steel-chain-hertz", ["chain.beads=12", "sensors.beads=[9]"])
    with pytest.raises(KeyboardInterrupt):
        run_all([case, case], threads=1)
    with pytest.warns(gc.errors.GranchainWarning, match="interrupted: 2 of 2 members"):
        assert len(gc.run_many([case, case], threads=1)) == 2


def test_no_function_of_the_package_imports_a_run_that_catches_interruptions():
    # the command line calls gc.run: it prints what an interrupted run has computed, and stops
    package, catching = (
        Path(gc.__file__).parent,
        re.compile(
            r"^from granchain\.(simulation|studies\.many) import .*\b(run|run_many)\b(?!_)",
            re.MULTILINE,
        ),
    )
    texts = {path.relative_to(package): path.read_text() for path in package.rglob("*.py")}
    assert [str(path) for path, text in texts.items() if catching.search(text)] == [
        "studies/__init__.py"
    ]


def test_a_breather_of_a_single_bead_has_no_further_multipliers():
    # a wall at either side: m u'' = -2 (3/2) K sqrt(d0) u for a small amplitude
    orbit = gc.orbit(breathing(1))
    case = breathing(1)
    (frequency,) = gc.modes(case).frequencies
    assert orbit.period * frequency == pytest.approx(1.0, abs=1e-3)
    assert orbit.multipliers.size == 0 and orbit.stable
    assert orbit.multiplier_error == orbit.modulus_error == 0.0
    assert np.isfinite(orbit.displacement).all()


def test_a_branch_of_breathers_of_a_single_bead_is_followed(tmp_path):
    orbit = gc.orbit(breathing(1))
    branch = gc.continuation(breathing(1), orbit, along="energy", stop=1.05 * orbit.energy)
    assert branch.points[-1].parameter == pytest.approx(1.05 * orbit.energy)
    assert "largest multiplier 1>" in repr(orbit)
    for shown in (orbit._repr_html_(), branch._repr_html_()):
        assert "<table" in shown
    gc.figures.orbit(orbit)
    # without multipliers, too
    for answer in (orbit, branch):
        answer.save(tmp_path / "answer.h5", overwrite=True)
        assert gc.open(tmp_path / "answer.h5").equals(answer)
        with xarray.open_dataset(tmp_path / "answer.h5", engine="h5netcdf") as data:
            assert data.sizes["multiplier"] == 0
