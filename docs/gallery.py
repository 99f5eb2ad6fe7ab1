"""The gallery: every figure that granchain draws, drawn when the documentation is built, with
the lines that draw it."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import granchain as gc
from granchain import figures

# Of a clone of the project.
DATA = Path(__file__).parents[1] / "data"


@cache
def steel_chain() -> gc.Result:
    """The built-in case, run once."""
    return gc.run(gc.load_case("steel-chain"))


@cache
def slider_crank() -> gc.Result:
    """The built-in mechanism, run once."""
    return gc.run_mechanism(gc.load_mechanism("slider-crank"))


@cache
def scotch_yokes() -> list[gc.Result]:
    """The other one, under the five laws of its source."""
    laws = ("johnson", "radzimovsky", "goldsmith", "esdu-78035", "lankarani-nikravesh-cylinder")
    return [
        gc.run_mechanism(gc.load_mechanism("scotch-yoke", [f"contact.law={law}"])) for law in laws
    ]


# Two beads of that chain: Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214; half
# the radius and mass, E/(2 (1 - nu^2)).
PAIR = gc.Pair(
    effective_radius=1.19e-3,
    effective_modulus=193e9 / (2 * (1 - 0.3**2)),
    effective_mass=0.225e-3,
    yield_stress=900e6,
)


def force_traces() -> Any:
    """Force at every sensor bead. `granchain plot` draws it."""
    return figures.force_traces(steel_chain())


def force_traces_of_laws() -> Any:
    """Several contact laws on one axis: elastic, elastoplastic, and a dashpot of restitution
    0.65."""
    case = gc.load_case("steel-chain").replace(title="70 steel beads struck at 1.77 m/s")
    changes = [{}, {"contact.law": "hertz"}, {"contact.law": "flores", "contact.restitution": 0.65}]
    return figures.force_traces(
        *(gc.run(case.replace(**change)) for change in changes), sensors=[9, 24, 40, 63]
    )


def peaks() -> Any:
    """What becomes of the pulse along the chain, and the power laws that it follows. `granchain
    plot` draws it."""
    return figures.peaks(steel_chain())


def peaks_of_laws() -> Any:
    """The same beside an elastic chain, whose pulse does not decay."""
    case = gc.load_case("steel-chain").replace(title="70 steel beads struck at 1.77 m/s")
    return figures.peaks(
        *(gc.run(case.replace(**change)) for change in ({}, {"contact.law": "hertz"}))
    )


def animation() -> Any:
    """The row in motion, displacements magnified. `granchain animate` draws it."""
    return figures.animation(steel_chain(), frames=60, beads=(0, 30))


def space_time() -> Any:
    """Bead velocity over time and place, with the line of the wave front. `granchain plot`
    draws it."""
    return figures.space_time(steel_chain())


def bead_velocities() -> Any:
    """Velocity of the striker and the sensor beads. `granchain plot` draws it."""
    return figures.bead_velocities(steel_chain())


def hysteresis() -> Any:
    """Force over overlap of the recorded contacts: the dents stay. `granchain plot` draws it."""
    return figures.hysteresis(steel_chain())


def energy() -> Any:
    """Where the energy is, and what the ledger does not account for. `granchain plot` draws it."""
    return figures.energy(steel_chain())


def losses() -> Any:
    """Which contact has lost how much. `granchain plot` draws it."""
    return figures.losses(steel_chain())


def overlaps() -> Any:
    """How far each contact was pressed together, and the dent that it keeps. `granchain plot` draws
    it."""
    return figures.overlaps(steel_chain())


def comparison() -> Any:
    """A run beside a trace, here a synthetic one: no measurement. `granchain compare ...
    --figure` draws it."""
    trace = gc.read_trace(DATA / "synthetic2026")
    return figures.comparison(gc.compare(steel_chain(), trace=trace))


def pulse_numbers() -> Any:
    """Peaks and arrivals of that comparison over the sensors. `granchain report` draws it."""
    trace = gc.read_trace(DATA / "synthetic2026")
    return figures.pulse_numbers(gc.compare(steel_chain(), trace=trace))


@cache
def bands_of_the_steel_chain() -> Any:
    """Bands of the chain, with what each number's part is."""
    keys = (
        "striker.speed",
        "chain.radius",
        "chain.material.youngs_modulus",
        "chain.material.yield_stress",
        "contact.psi",
        "contact.xi",
    )
    case = gc.load_case("steel-chain").replace(**{"time.step": "fast"})
    return gc.bands(case, {key: 0.01 for key in keys}, n=128, sensitivity=True)


def band_traces() -> Any:
    """What tolerances of 1 % make of the pulses: the middle half of the members, and 95 % of
    them."""
    return figures.band_traces(bands_of_the_steel_chain())


def sensitivities() -> Any:
    """Which of six numbers matters where: their parts of the variance of the peak."""
    return figures.sensitivities(bands_of_the_steel_chain())


def impact_comparison() -> Any:
    """Laws beside measured impacts, here printed restitutions of steel. `granchain impact ...
    --data ... --out` draws it."""
    folder = DATA / "leeb-steel"
    return figures.impact_comparison(
        gc.compare_impacts(["du-wang", "ma-liu", "thornton"], folder, fit="yield_stress_ratio")
    )


def equivalence() -> Any:
    """Which dashpot comes nearest to Ma and Liu's law, and what it leaves unexplained.
    `granchain equivalent` draws it."""
    laws = ["flores", "hunt-crossley", "tsuji", "lankarani-nikravesh"]
    return figures.equivalence(gc.equivalent(gc.load_case("steel-chain"), laws=laws, moves=False))


def fit() -> Any:
    """Two numbers of a case found from a trace, here a synthetic one: no measurement.
    `granchain fit ... --figure` draws it."""
    case = gc.load_case("steel-chain")
    return figures.fit(
        gc.fit(
            case,
            DATA / "synthetic2026",
            ["contact.psi", "striker.speed"],
        )
    )


def fits() -> Any:
    """Two laws fitted to that trace, and whether it tells them apart. `granchain fit --law ...
    --law ... --figure` draws it."""
    laws = {"flores": ["contact.restitution"], "ma-liu": ["contact.psi"]}
    return figures.fits(gc.fit(gc.load_case("steel-chain"), DATA / "synthetic2026", laws=laws))


@cache
def spectrum_of_a_diatomic_chain() -> gc.Spectrum:
    """Heavy and light beads pressed together with 20 N; noise at the left end."""
    noise = {
        "drive": "displacement",
        "signal": "noise",
        "band": [500.0, 1.3e5],
        "rms": 1e-9,
        "seed": 1,
        "ramp": 1e-3,
    }
    beads = [{"count": 1}, {"count": 1, "radius": 1.19e-3, "repeat": 20}]
    case = gc.Case(
        title="40 steel beads, heavy and light, under 20 N and noise",
        chain={
            "segment": beads,
            "radius": 2.38e-3,
            "material": "steel-316",
            "precompression": 20.0,
        },
        ends={"left": noise, "right": "wall"},
        contact={"law": "hertz"},
        sensors={"beads": "all", "interval": 3e-6},
        time={"end": 0.04},
    )
    return gc.spectrum(gc.run(case), source=3, sensor=36)


def spectrum() -> Any:
    """What a chain lets through, and frequency over wavenumber, with the dispersion. `granchain
    spectrum ... --figure` draws it."""
    return figures.spectrum(spectrum_of_a_diatomic_chain())


def transmission() -> Any:
    """The transmission alone, with the edges of the bands."""
    return figures.transmission(spectrum_of_a_diatomic_chain())


def wave_map() -> Any:
    """The map alone."""
    return figures.wave_map(spectrum_of_a_diatomic_chain())


def local_resonances() -> Any:
    """A row whose beads carry resonators, driven by noise: the gap begins below their own
    frequency, and the waves above it begin where beads and resonators move against each other."""
    noise = {
        "drive": "displacement",
        "signal": "noise",
        "band": [500.0, 5.8e4],
        "rms": 1e-9,
        "seed": 3,
        "ramp": 1e-3,
    }
    case = gc.Case(
        title="30 steel beads under 20 N, each with a resonator of its own mass",
        chain={
            "beads": 30,
            "radius": 2.38e-3,
            "material": "steel-316",
            "precompression": 20.0,
            "resonator": {"mass": 4.5e-4, "stiffness": 1.6e6, "damping": 1.0},
        },
        ends={"left": noise, "right": "wall"},
        contact={"law": "hertz"},
        sensors={"beads": "all", "interval": 8e-6},
        time={"end": 0.04},
    )
    return figures.spectrum(gc.spectrum(gc.run(case), source=3, sensor=15))


def mode_shapes() -> Any:
    """Modes of a row with a light bead: one of them sits at it, above the bands of the row.
    `granchain modes ... --figure` draws it."""
    chain = {"radius": 2.38e-3, "material": "steel-316", "precompression": 20.0}
    row = gc.Case(
        title="41 steel beads under 20 N, the middle one of half the size",
        chain=chain | {"segment": [{"count": 20}, {"count": 1, "radius": 1.19e-3}, {"count": 20}]},
        contact={"law": "hertz"},
        sensors={"beads": [21]},
        time={"end": 1e-3},
    )
    alike = row.replace(**{"chain.segment": None, "chain.beads": 41})
    return figures.mode_shapes(gc.modes(row, cell=alike))


def orbit() -> Any:
    """A driven orbit of a precompressed row in the plane of displacement and velocity, what becomes
    of a small change at the drive's phase 0, and its Floquet multipliers: all within the circle, it
    is stable."""
    drive = {"drive": "displacement", "signal": "harmonic", "amplitude": 3e-7, "frequency": 8e3}
    case = gc.Case(
        title="Eight steel beads under 20 N, the left wall shaken at 8 kHz",
        chain={
            "beads": 8, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0,
            "drag": 3e3,
        },
        contact={"law": "hertz"},
        ends={"left": drive, "right": "wall"},
        time={"end": 1e-3},
    )  # fmt: skip
    return figures.orbit(gc.orbit(case))


def bifurcation() -> Any:
    """Orbits of two precompressed beads over the frequency of the drive: the softening resonance
    leans over, and between its folds no run would settle on the branch."""
    drive = {"drive": "displacement", "signal": "harmonic", "amplitude": 5e-8, "frequency": 27.2e3}
    case = gc.Case(
        title="Two steel beads under 20 N, the left wall shaken by 50 nm",
        chain={
            "beads": 2, "radius": 2.38e-3, "material": "steel-316", "precompression": 20.0,
            "drag": 1.5e3,
        },
        contact={"law": "hertz"},
        ends={"left": drive, "right": "wall"},
        time={"end": 1e-3},
    )  # fmt: skip
    along = "ends.left.frequency"
    return figures.bifurcation(gc.continuation(case, gc.orbit(case), along=along, stop=29.2e3))


def dimer() -> Any:
    """The solitary wave of a dimer: heavy and light beads in turn at the mass ratio that sends
    nothing back."""
    return figures.space_time(gc.run(gc.load_case("dimer-chain")))


def vertical_chain() -> Any:
    """A weak wave in a column under its own weight: it spreads, and gets faster with depth."""
    case = gc.load_case("vertical-chain").replace(**{"snapshots.interval": 1e-5})
    return figures.bead_velocities(gc.run(case), beads=[100, 200, 400, 600, 900])


@cache
def impacts() -> list[gc.ImpactResult]:
    """Two steel beads under three laws."""
    laws = {
        "ma-liu": {"psi": 2.84, "xi": 13.0},
        "flores": {"restitution": 0.84},
        "tsuji": {"restitution": 0.84},
    }
    return [gc.impact(law=law, pair=PAIR, speed=1.77, **inputs) for law, inputs in laws.items()]


def impact_loops() -> Any:
    """Two steel beads at 1.77 m/s: an elastoplastic law beside two dashpots. `granchain impact
    ... --out` draws it."""
    return figures.impact_loops(impacts())


def impact_history() -> Any:
    """The same over time: the force of a dashpot, its elastic and its damping part. `granchain
    impact ... --figures` draws it."""
    return figures.impact_history(impacts())


def phase_curve() -> Any:
    """The same as rate over overlap. `granchain impact ... --figures` draws it."""
    return figures.phase_curve(impacts())


def restitution_against_speed() -> Any:
    """Restitution falls with the speed where beads yield; a dashpot's stays. `granchain impact
    ... --vary speed=...` draws it."""
    speeds = np.geomspace(0.05, 20.0, 25)

    def curve(law: str, **inputs: float) -> list[tuple[float, float]]:
        return [
            (float(v), gc.impact(law=law, pair=PAIR, speed=float(v), **inputs).restitution)
            for v in speeds
        ]

    return figures.restitution_against_speed(
        {"ma-liu": curve("ma-liu", psi=2.84, xi=13.0), "flores": curve("flores", restitution=0.84)}
    )


def restitution_delivered() -> Any:
    """What dashpots return for the restitution that they are asked for. `granchain impact ...
    --vary restitution=...` draws it."""
    asked = np.linspace(0.1, 1.0, 19)

    def curve(law: str) -> list[tuple[float, float]]:
        return [
            (float(e), gc.impact(law=law, pair=PAIR, speed=1.0, restitution=float(e)).restitution)
            for e in asked
        ]

    return figures.restitution_delivered(
        {law: curve(law) for law in ("hunt-crossley", "lankarani-nikravesh", "flores")}, speed=1.0
    )


def damping_transition() -> Any:
    """Where the dashpot of `lee-wang-transition` sets in: a closed form, `gc.theory.lee_wang_transition`."""
    return figures.damping_transition()


def study_curves() -> Any:
    """Peak against bead for three laws."""
    case = gc.load_case("steel-chain").replace(**{"time.step": "fast", "time.end": 1e-3})
    study = gc.sweep(case, {"contact.law": ["ma-liu", "thornton", "hertz"]})
    return figures.study_curves(study, "peak", "sensor_bead", lines="contact.law")


def study_power_law() -> Any:
    """Wave speed of an elastic chain over two decades of striker speed: the exponent is 1/5,
    and 1/6 against the force."""
    case = gc.load_case("steel-chain-hertz").replace(**{"time.step": "fast", "time.end": 1e-3})
    study = gc.sweep(case, {"striker.speed": {"log": [0.1, 10, 9]}})
    return figures.study_power_law(study, "wave_speed", "striker.speed")


def study_map() -> Any:
    """A variable over two keys: the peak far down a chain over the speed of the striker and psi
    of Ma-Liu."""
    case = gc.load_case("steel-chain").replace(**{"time.step": "fast", "time.end": 1e-3})
    keys = {"striker.speed": {"linear": [0.5, 3.0, 11]}, "contact.psi": {"linear": [2.4, 3.2, 9]}}
    return figures.study_map(gc.sweep(case, keys), "peak", "striker.speed", "contact.psi")


def study_distribution() -> Any:
    """How the peak scatters in chains whose radii scatter by 5 %."""
    case = gc.load_case("steel-chain-hertz").replace(**{"time.step": "fast"})
    return figures.study_distribution(
        gc.sweep(case, {"chain.radius": gc.disorder(gc.normal(1.0, 0.05))}, n=256), "peak"
    )


def study_hysteresis() -> Any:
    """A bead between two walls, driven near its resonance: the frequency goes up and down, each
    value from the state of the last. Hertz's contacts soften, and the response jumps at two
    frequencies."""
    case = gc.Case(
        title="A bead between walls, driven by {ends.left.amplitude} m",
        chain={"beads": 1, "radius": 2.38e-3, "material": "steel-316"}
        | {"precompression": 20.0, "drag": 1280.0},
        ends={
            "left": {"drive": "displacement", "signal": "harmonic", "ramp": 5e-4}
            | {"amplitude": 1.6e-8, "frequency": 40e3},
            "right": "wall",
        },
        contact={"law": "hertz"},
        sensors={"beads": [1], "interval": 1e-6},
        time={"end": 1e-2},
    )
    up = [40e3 + 40.0 * i for i in range(25)]
    study = gc.sweep(case, {"ends.left.frequency": up + up[-2::-1]}, chained=True)
    return figures.study_hysteresis(study)


def slider_acceleration() -> Any:
    """A slider-crank with play: the slider's acceleration beside that without play. `granchain
    plot` draws it."""
    return figures.slider_acceleration(slider_crank())


def joint_orbit() -> Any:
    """The way of the journal in its bearing. `granchain plot` draws it."""
    return figures.joint_orbit(slider_crank())


def crank_energy() -> Any:
    """What the crank puts in, and where it is lost. `granchain plot` draws it."""
    return figures.crank_energy(slider_crank())


def joint_force() -> Any:
    """A scotch yoke with play: contact force under several laws, over the second revolution.
    `granchain plot` draws it for one."""
    return figures.joint_force(*scotch_yokes())


def joint_force_at_the_impact() -> Any:
    """The same where the pin has changed sides."""
    return figures.joint_force(*scotch_yokes(), between=(450, 490))


def joint_penetration() -> Any:
    """Penetration of the pin. `granchain plot` draws it for one law."""
    return figures.joint_penetration(*scotch_yokes())


def joint_impact() -> Any:
    """Force over penetration in one impact. `granchain plot` draws it for one law."""
    return figures.joint_impact(*scotch_yokes())


def slider_kinematics() -> Any:
    """Position, velocity and acceleration of the yoke's slider. `granchain plot` draws it for
    one law."""
    return figures.slider_kinematics(*scotch_yokes())


def dispersion_curves() -> Any:
    """Small waves in a row of heavy and light beads under 20 N: two bands, and the gap between them.
    `granchain dispersion ... --figure` draws it."""
    cell = [{"count": 1, "radius": 2.38e-3}, {"count": 1, "radius": 1.19e-3, "repeat": 20}]
    row = gc.Case(
        chain={"material": "steel-316", "precompression": 20.0, "segment": cell},
        contact={"law": "hertz"},
        sensors={"beads": [21]},
        time={"end": 1e-3},
    )
    return figures.dispersion_curves(gc.dispersion(row))


FIGURES: tuple[Callable[[], Any], ...] = (
    force_traces,
    force_traces_of_laws,
    peaks,
    peaks_of_laws,
    animation,
    space_time,
    bead_velocities,
    hysteresis,
    energy,
    losses,
    overlaps,
    comparison,
    pulse_numbers,
    band_traces,
    sensitivities,
    impact_comparison,
    equivalence,
    fit,
    fits,
    spectrum,
    transmission,
    wave_map,
    local_resonances,
    dispersion_curves,
    mode_shapes,
    orbit,
    bifurcation,
    dimer,
    vertical_chain,
    impact_loops,
    impact_history,
    phase_curve,
    restitution_against_speed,
    restitution_delivered,
    damping_transition,
    study_curves,
    study_power_law,
    study_map,
    study_distribution,
    study_hysteresis,
    slider_acceleration,
    joint_orbit,
    crank_energy,
    joint_force,
    joint_force_at_the_impact,
    joint_penetration,
    joint_impact,
    slider_kinematics,
)
HEAD = """# Gallery

Drawn when this page was built, each by the lines under it, which run as they stand; those with `DATA` from a clone of the project, which has
the measured and printed numbers in its folder `data`. Everything shown is simulated, but for the printed numbers that simulated ones are laid beside."""
IMPORTS = {
    "Path": "from pathlib import Path",
    "np": "import numpy as np",
    "gc": "import granchain as gc",
    "figures": "from granchain import figures",
}


def lines_of(draw: Callable[[], Any]) -> str:
    """What a reader copies: the imports, all that the function takes from this file, and its own
    lines."""
    source = Path(__file__).read_text()
    tree = ast.parse(source)
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            defined[node.targets[0].id] = node

    seen, reached = set[str](), list[ast.stmt]()

    def reach(node: ast.AST) -> None:
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
        own = {one.id for one in names if isinstance(one.ctx, ast.Store)}
        for name in (one.id for one in names if one.id in defined and one.id not in own | seen):
            seen.add(name)
            reach(defined[name])
            reached.append(defined[name])

    drawing = defined[draw.__name__]
    assert isinstance(drawing, ast.FunctionDef)
    body = drawing.body[1:]  # without its docstring
    last = body[-1]
    assert isinstance(last, ast.Return)
    reach(ast.Module(body, []))
    blocks = [shown(source, node) for node in reached]
    # with the comments between
    own = source.splitlines()[body[0].lineno - 1 : last.end_lineno]
    text = textwrap.dedent("\n".join(own))
    given = "moving" if draw is animation else "figure, axes"
    start, _, end = text.rpartition("return ")
    blocks.append(f"{start}{given} = {end}")
    code = "\n".join(blocks)
    used = {one.id for one in ast.walk(ast.parse(code)) if isinstance(one, ast.Name)}
    return "\n".join([line for name, line in IMPORTS.items() if name in used] + ["", code])


def shown(source: str, node: ast.stmt) -> str:
    """A definition of this file without decorators, docstring and types of what it gives."""
    if isinstance(node, ast.FunctionDef):
        body = source.splitlines()[node.body[1].lineno - 1 : node.end_lineno]
        return "\n".join([f"def {node.name}():", *body, ""])
    assert isinstance(node, ast.Assign)
    if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "DATA":
        return 'DATA = Path("data")\n'
    return f"{ast.get_source_segment(source, node)}\n"


def page() -> str:
    """The page in Markdown."""
    blocks = [HEAD]
    for draw in FIGURES:
        title, text = draw.__name__.replace("_", " ").capitalize(), inspect.getdoc(draw) or ""
        image = f"```{{image}} {file_of(draw)}\n:alt: {title}\n```"
        blocks += [f"## {title}", text, image, f"```python\n{lines_of(draw)}\n```"]
    return "\n\n".join(blocks) + "\n"


def file_of(draw: Callable[[], Any]) -> str:
    """Name of the picture."""
    return draw.__name__.replace("_", "-") + (".gif" if draw is animation else ".png")


# A picture of one white dot (PNG, ISO/IEC 15948).
BLANK = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082"
)


def to_draw(targets: Iterable[Path], drawing: str) -> list[Path]:
    """The pictures that are not there yet, or older than the package and the file that draws them.

    Where DOCS_PICTURES is "blank", as where only the pages are checked, none: what is not there is
    one dot, and so old that it is drawn next time.
    """
    newest = max(
        file.stat().st_mtime for file in [Path(drawing), *Path(gc.__file__).parent.rglob("*.py")]
    )
    old = [one for one in targets if not one.exists() or one.stat().st_mtime < newest]
    if os.environ.get("DOCS_PICTURES") != "blank":
        return old
    for target in old:
        target.write_bytes(BLANK)
        os.utime(target, (0, 0))
    return []


def write(folder: Path) -> None:
    """Draw what is not there yet or older than the package, and write the page."""
    folder.mkdir(exist_ok=True)
    draws = {folder / file_of(draw): draw for draw in FIGURES}
    stale = [(draws[target], target) for target in to_draw(draws, __file__)]
    if stale:
        with ProcessPoolExecutor(min(len(stale), len(os.sched_getaffinity(0)))) as pool:
            # neighbours share their runs
            list(pool.map(put, *zip(*stale, strict=True), chunksize=4))
    (folder / "index.md").write_text(page())


def put(draw: Callable[[], Any], target: Path) -> None:
    """Draw one figure."""
    if draw is animation:
        draw().save(target, writer="pillow", fps=20, dpi=100)
    else:
        figures.save(draw()[0], target)
