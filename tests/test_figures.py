"""What the figures show is what the result holds; what they look like was looked at."""

import math
from functools import partial
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from support.layout import faults
from support.synthetic import CREST, RADIUS, synthetic, wave_speed

import granchain as gc
from granchain import analysis, figures
from granchain.errors import FileError, GranchainError
from granchain.figures.frame import mark_values, set_panel
from granchain.measured.equivalent import Equivalent
from granchain.measured.ranking import ranking_of
from granchain.status import Status
from granchain.store import Label
from granchain.two_body import ImpactResult

pytestmark = pytest.mark.filterwarnings("error")

# A study with one number.
SMALL = xr.Dataset(
    {"peak": ("sensor_bead", [1.0, 2.0]), "words": ("sensor_bead", ["a", "b"])},
    {"sensor_bead": [1, 2]},
)


def of_case(case, **made):
    """A made-up result, as of that case."""
    result = synthetic(**made)
    result._case = case
    return result


def lines(axes):
    """Lines of an axes by label."""
    return {line.get_label(): line for line in axes.get_lines()}


def texts(figure):
    """Everything written in a figure."""
    return [found.get_text() for found in figure.findobj(Text)]


def drawn(result):
    """Every figure of a result, with its axes in a flat list."""
    return {
        name: (made[0], np.atleast_1d(made[1]).tolist())
        for name, draw in figures.all_figures(result).items()
        for made in [draw()]
    }


# --- every figure
FIGURES = [
    "force_traces", "peaks", "bead_velocities", "space_time", "hysteresis", "energy", "losses",
    "overlaps",
]  # fmt: skip


def test_every_figure_has_a_complete_heading_and_legible_text():
    title = "70 beads of steel-316 struck at 1.77 m/s"
    made = drawn(synthetic(title=title, law="ma-liu", contacts=(2, 5, 9, 12)))
    assert list(made) == FIGURES
    for name, (figure, axes) in made.items():
        assert faults(figure) == [], name
        said = [" ".join(text.split()) for text in texts(figure)]
        heading = next(text for text in said if text.startswith("simulated"))
        assert title in said
        assert "contact law ma-liu" in heading and "time step 40 ns" in heading
        assert "RUN FAILED" not in heading
        # markers are a measurement's, and those of numbers at a few sensors
        markers = {line.get_marker() for one in axes for line in one.get_lines()}
        assert markers == {"None"} or not markers or name == "peaks"


def test_a_run_that_broke_up_is_drawn_up_to_there_and_marked_in_red_on_every_figure():
    good = synthetic()
    series = ("sensor_force", "contact_force", "contact_overlap", "velocity")
    change = {name: good.variables[name].data.copy() for name in series}
    for values in change.values():
        values[len(values) // 2 :] = math.nan
    change["energy_residual"] = np.full(51, math.nan)
    change["energy_kinetic"] = np.append(np.full(50, 1e-3), math.nan)
    title = "at $\\frac{$ 5"
    broken = drawn(synthetic(change=change, status=Status.NOT_FINITE, title=title))
    assert list(broken) == FIGURES
    for figure, _ in broken.values():
        written = figure.findobj(Text)
        (heading,) = (one for one in written if one.get_text().startswith("simulated"))
        assert heading.get_text().endswith("RUN FAILED: not finite")
        assert heading.get_color() == "#bd1f01"
        # between the dollar signs of its title is no formula: to draw it as one is an error
        (said,) = (one for one in written if one.get_text() == title)
        assert not said.get_parse_math()
    # where all of it goes is no question here, and takes most of the time
    figure.set_layout_engine("none")
    figure.draw_without_rendering()
    # in axes that are given too
    theirs = Figure()
    figures.losses(synthetic(status=Status.UNSTABLE), ax=theirs.subplots())
    assert "RUN FAILED: unstable" in texts(theirs)


# --- colours, type, layout
def in_lab(colour):
    """L*, a*, b* of sRGB (IEC 61966-2-1:1999, eq. 5 to 7; CIE 15:2018, 8.2.1, white D65)."""
    part = np.array(to_rgb(colour))
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    share = to_xyz @ linear / to_xyz.sum(axis=1)
    root = np.where(share > (6 / 29) ** 3, np.cbrt(share), share * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def apart(one, other):
    """Difference of two colours: delta E*ab, the distance in L*, a*, b* (CIE 15:2018, eq. 8.21)."""
    return math.dist(in_lab(one), in_lab(other))


def test_the_difference_of_colours_is_that_of_printed_ones():
    # by hand: white is (100, 0, 0) and greys have no colour; of red Y is .2126 of white, L* 116
    # cbrt(.2126) - 16
    assert in_lab("#ffffff") == pytest.approx([100.0, 0.0, 0.0], abs=1e-3)
    assert in_lab("#000000") == pytest.approx([0.0] * 3, abs=1e-9)
    assert in_lab("#808080")[1:] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert in_lab("#ff0000")[0] == pytest.approx(53.23, abs=0.01)
    assert apart("#ffffff", "#000000") == pytest.approx(100.0, abs=1e-3)


# Ours. The two greys of petroff10, 19.3 apart, were taken for one; a difference of 2.3 is just seen
# where two areas touch (Mahy, Van Eycken & Oosterlinck 1994, doi:10.1002/col.5080190207), far more
# than on thin lines.
LEAST_APART = 20.0


def many(count, **same):
    """Results of as many laws, all the same."""
    return [synthetic(law=f"law-{i}", **same) for i in range(count)]


def turning(law="johnson"):
    """Two turns of a mechanism's result, made up."""
    angle = np.linspace(0.0, 4.0 * np.pi, 801)
    wave, load = np.sin(angle), np.maximum(-np.cos(angle), 0.0)
    names = dict.fromkeys(("crank_angle", "time", "energy_time"), angle)
    names |= dict.fromkeys(("contact_force", "penetration"), load)
    names |= {f"slider_{name}": wave for name in ("position", "velocity", "acceleration")}
    names |= {"ideal_acceleration": 0.1 * wave, "joint_x": wave, "joint_y": np.cos(angle)}
    held = ("kinetic", "external", "viscous", "friction", "plastic", "residual")
    names |= {f"energy_{name}": 1.0 + wave for name in held}
    run = {"title": "crank", "status": Status.COMPLETE, "time_step": 1e-6, "case": None}
    return SimpleNamespace(variables=names, law=law, **run, **names)


def a_study():
    """As `granchain.sweep` gives it: fourteen speeds, twelve radii, twenty draws, three sensors."""
    dims = ("striker.speed", "chain.radius", "draw", "sensor_bead")
    values = np.random.default_rng(0).uniform(1.0, 2.0, (14, 12, 20, 3))
    named = dict(
        zip(dims, (np.geomspace(0.1, 10.0, 14), np.linspace(1e-3, 2e-3, 12)), strict=False)
    )
    return xr.Dataset(
        {"peak": (dims, values), "wave_speed": (dims[:3], values[..., 0])},
        coords={**named, "sensor_bead": [3, 8, 13]},
        attrs={"law": "hertz"},
    )


def the_laws(count):
    """A ranking of `granchain.equivalent`, made up."""
    key, grid = "contact.restitution", np.linspace(0.1, 0.9, 9)
    labels = {key: Label((), "1", "input"), f"{key}_grid": Label(("point",), "1", "input")}
    answers = []
    for i in range(count):
        data = {"to": "ma-liu", "measure": "peaks", "key": [key], "at_bound": [False], key: 0.5}
        data |= {"sensor_bead": [3, 8], "per_bead": np.array([0.1, -0.1]) * i}
        data |= {"point": np.arange(9), "grid_residual": 0.01 + grid * (i + 1), f"{key}_grid": grid}
        data["residual"] = 0.01 * (i + 1)
        answers.append(Equivalent(data, law=f"law-{i}", labels=labels))
    places = [(i, i + 1) for i in range(count)]
    return ranking_of(answers, places, ["residual"], ["to", "measure", "sensor_bead"], {})


def compared(count, beads=(3, 8)):
    """What a comparison with as many results found, made up."""

    def sensor(bead, i):
        peak = SimpleNamespace(measured=1.0, error=math.nan, computed=1.0 + i)
        arrival = SimpleNamespace(measured=1e-5 * bead, error=1e-7, computed=1e-5 * bead)
        return SimpleNamespace(bead=bead, peak=peak, arrival=arrival)

    results = [
        SimpleNamespace(label=f"law-{i}", sensors=[sensor(bead, i) for bead in beads])
        for i in range(count)
    ]
    about = SimpleNamespace(title="numbers", kind="measured", kind_text="measured")
    trace = SimpleNamespace(about=about)
    return SimpleNamespace(results=results, trace=trace)


ALL = tuple(range(20))
IMPACTS = [f"law-{i}" for i in range(40)]
RESTITUTIONS = {f"law-{i}": [(0.1, 0.9), (1.0, 0.8)] for i in ALL}
STUDY = ("peak", "striker.speed", "chain.radius")
# What every figure with lines is drawn of, with as many as it is used with.
CROWDED = {
    "force_traces": lambda draw: draw(*many(12), sensors=[3]),
    "peaks": lambda draw: draw(*many(12)),
    "bead_velocities": lambda draw: draw(synthetic(), beads=ALL[1:]),
    "space_time": lambda draw: draw(synthetic()),
    "hysteresis": lambda draw: draw(synthetic(contacts=ALL[1:])),
    "hysteresis of laws": lambda draw: draw(*many(4)),
    **dict.fromkeys(("energy", "losses", "overlaps"), lambda draw: draw(synthetic())),
    **dict.fromkeys(
        ("impact_loops", "impact_history", "phase_curve"),
        lambda draw: draw(list(map(collision, IMPACTS))),
    ),
    "restitution_against_speed": lambda draw: draw(RESTITUTIONS),
    "restitution_delivered": lambda draw: draw(RESTITUTIONS, 1.0),
    "damping_transition": lambda draw: draw(ALL[1:]),
    **dict.fromkeys(("study_curves", "study_power_law"), lambda draw: draw(a_study(), *STUDY)),
    "study_distribution": lambda draw: draw(a_study(), "peak", "chain.radius"),
    "equivalence": lambda draw: draw(the_laws(12)),
    "pulse_numbers": lambda draw: draw(compared(12)),
    **dict.fromkeys(
        ("slider_acceleration", "slider_kinematics", "joint_force", "joint_penetration"),
        lambda draw: draw(*map(turning, "abcdefghijkl")),
    ),
    "joint_impact": lambda draw: draw(*map(turning, "abcdefghi")),
    **dict.fromkeys(("joint_orbit", "crank_energy"), lambda draw: draw(turning())),
}


def seen(panel):
    """Colour and dashes of each line and area of a panel that has a name."""
    for line in panel.get_lines():
        yield line.get_label(), line.get_color(), str(line._unscaled_dash_pattern)
    for patch in panel.patches:
        if isinstance(patch, StepPatch):
            filled = patch.get_facecolor() if patch.get_fill() else patch.get_edgecolor()
            yield patch.get_label(), filled, ""


@pytest.mark.parametrize("name", CROWDED)
def test_no_two_lines_of_a_figure_look_alike_and_axes_that_are_given_keep_their_heading(name):
    draw, function = CROWDED[name], getattr(figures, name.split()[0])
    _, axes = draw(function)
    found = [
        [one for one in seen(panel) if str(one[0] or "_")[0] != "_"] for panel in np.ravel(axes)
    ]
    assert any(found)
    for lines_of_panel in found:
        for (one, *look), (other, *its_look) in combinations(lines_of_panel, 2):
            if look[1] == its_look[1]:
                assert apart(look[0], its_look[0]) >= LEAST_APART, (one, other)
    # of a part of a figure, as of a whole one
    theirs = Figure().subfigures()
    given = theirs.subplots(np.size(axes))
    figure, panels = draw(partial(function, ax=given))
    assert figure is theirs and np.ravel(panels).tolist() == np.ravel(given).tolist()
    assert all(panel.has_data() for panel in np.ravel(given))
    said = texts(theirs)
    assert not any(text.startswith("simulated") for text in said)
    assert not {"synthetic wave", "crank"} & set(said)


def test_a_figure_shows_itself_where_nothing_has_loaded_pyplot():
    # what IPython asks an object for
    figure, _ = figures.study_curves(SMALL)
    image = figure._repr_png_()
    assert image.startswith(b"\x89PNG")
    width = int.from_bytes(image[16:20], "big")
    assert width == pytest.approx(100.0 * figure.get_figwidth(), abs=1.0)


def test_a_map_of_what_hardly_changes_has_one_colour_and_keys_have_units_of_ordinary_size():
    radius = ("chain.radius", [1e-3, 2e-3, 3e-3], {"units": "m"})
    modulus = ("chain.material.youngs_modulus", [1.9e11, 2.1e11], {"units": "Pa"})
    part = 0.97 * (1.0 + 3e-4 * np.arange(6.0) / 5.0).reshape(3, 2)
    study = xr.Dataset(
        {"transmitted_energy": ((radius[0], modulus[0]), part, {"units": "1"})},
        {one[0]: one for one in (radius, modulus)},
        {"title": "rig B"},
    )
    figure, axes = figures.study_map(study, "transmitted_energy", radius[0], modulus[0])
    low, high = axes.collections[0].get_clim()
    assert high - low == pytest.approx(0.2 * part.max(), rel=1e-3)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("radius [mm]", "Young's modulus [GPa]")
    assert axes.get_title(loc="left") == "Transmitted energy: rig B"
    (heading,) = (text for text in texts(figure) if text.startswith("simulated"))
    assert "uniform within 0.03 %" in heading
    _, axes = figures.study_curves(study, "transmitted_energy", radius[0], modulus[0])
    assert np.ptp(axes.get_ylim()) == pytest.approx(0.2 * part.max(), rel=1e-3)
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == ["Young's modulus 190 GPa", "Young's modulus 210 GPa"]
    # the kilogram has a prefix already
    assert figures.frame.scaled(4.5e-4, "kg") == (1e3, "g")
    assert figures.frame.named_laws(["hertz, flores"]) == "contact laws hertz, flores"
    # no prefix is a unit: a plain number of .05 is not 50 m
    assert [figures.frame.reading_unit(0.05, one) for one in ("", "1")] == [(1.0, "")] * 2


@pytest.mark.parametrize("name", ["slider_acceleration", "slider_kinematics"])
def test_each_mechanism_run_has_its_motion_without_clearance(name):
    first, second = turning("johnson"), turning("goldsmith")
    second.ideal_acceleration = second.variables["ideal_acceleration"] = (
        0.5 * first.ideal_acceleration
    )
    _, axes = getattr(figures, name)(first, second, between=(0.0, 720.0))
    drawn = lines(axes[-1])
    for result in (first, second):
        curve = drawn[f"{result.law}, without clearance"]
        assert np.array_equal(curve.get_ydata(), result.ideal_acceleration)
        assert curve.get_color() == drawn[result.law].get_color()
    # runs that share it have one curve
    _, axes = getattr(figures, name)(first, turning("goldsmith"))
    assert "without clearance" in lines(axes[-1])


def test_the_title_of_several_runs_has_each_title_once():
    runs = [synthetic(title=title) for title in ("row", "", "pair", "row")]
    assert figures.frame.figure_title(runs) == "row; pair"
    assert figures.frame.figure_title(runs[1:2]) == ""


def test_labels_of_runs_name_the_law_the_keys_that_differ_or_the_title():
    def labels(*cases):
        return figures.frame.labels_of(
            [of_case(one, law=one.contact.law, title=one.title) for one in cases]
        )

    case = gc.load_case("steel-chain-hertz")
    flores = case.replace({"contact.law": "flores", "contact.restitution": 0.7})
    fast = flores.replace({"striker.speed": 2})
    assert labels(case, flores) == ["hertz", "flores"]
    assert labels(case, fast) == ["hertz, striker.speed 1.77", "flores, striker.speed 2"]
    assert labels(case, flores, fast) == ["run 1: hertz", "run 2: flores", "run 3: flores"]
    assert labels(flores, fast) == ["striker.speed 1.77", "striker.speed 2"]
    state = case.replace({"initial": gc.run(case.replace({"time.end": 1e-6}))})
    assert labels(case, state) == ["initial.state not set", "initial.state set"]
    named = fast.replace({"title": "rig B", "time.end": 1e-3, "striker.mass": 1e-3})
    assert labels(flores, named) == [flores.title, "rig B"]


def test_a_number_of_sensors_is_shown_at_the_last_bead_that_has_one():
    study = a_study().isel({"striker.speed": [0, 1], "chain.radius": [0, 1]})
    study["peak"][{"sensor_bead": 2}] = math.nan
    found = figures.studies.shown_values(study, "peak", None, "striker.speed", "draw")
    assert "at bead 8" in found.notes and np.isfinite(found.values).all()


def test_every_public_figure_with_lines_is_looked_at():
    # areas, numbers in squares, marks beside measured ones; comparisons, whose lines are `look`'s
    others = {"study_map", "fit", "band_traces", "impact_comparison"}
    # of fits, of keys and of ways up and down they are, too
    others |= {"comparison", "fits", "sensitivities", "study_hysteresis"}
    # one line each, pale where it is not coherent
    others |= {"spectrum", "transmission", "wave_map"}
    # a dot a mode, and colours; a closed line for each of three beads; one line, solid and dashed
    others |= {"mode_shapes", "dispersion_curves", "orbit", "bifurcation"}
    public = {name: getattr(figures, name) for name in figures.__all__}
    returns = {
        name: str(getattr(one, "__annotations__", {}).get("return")) for name, one in public.items()
    }
    drawing = {name for name, what in returns.items() if what.startswith("tuple[Figure")}
    assert drawing == others | {name.split()[0] for name in CROWDED}


def test_what_is_hard_to_read_is_found():
    figure, axes = figures.losses(synthetic())
    axes.text(0.5, 0.5, "tiny", transform=axes.transAxes, fontsize=5)
    axes.text(0.5, 0.5, "over it", transform=axes.transAxes, fontsize=7)
    axes.text(1.5, 0.1, "far", transform=axes.transAxes, fontsize=7).set_in_layout(False)
    found = " ".join(faults(figure))
    for words in ("'tiny' is 5 points high", "'tiny' and 'over it' lie over", "'far' is cut off"):
        assert words in found


# --- force traces
def test_the_force_traces_are_the_sensors_rows_in_microseconds():
    result = synthetic(sensors=(3, 8, 13))
    figure, rows = figures.force_traces(result)
    assert len(rows) == 3
    for axes, force, bead in zip(rows, result.sensor_force.T, (3, 8, 13), strict=True):
        line = axes.get_lines()[0]
        assert line.get_xdata() == pytest.approx(1e6 * result.time, rel=1e-14)
        assert np.array_equal(line.get_ydata(), force)
        (peak,) = analysis.first_pulse(result.time, force).peak
        assert f"bead {bead}\n{peak:.3g} N" in [text.get_text() for text in axes.texts]
    assert rows[-1].get_xlabel() == "time [\N{MICRO SIGN}s]"
    assert len({axes.get_ylim() for axes in rows}) == 1
    assert rows[0].get_ylim()[1] > result.sensor_force.max()
    assert "sensor force [N]" in texts(figure)


def test_the_traces_of_two_results_share_rows_and_have_a_legend_by_law():
    first = synthetic(sensors=(3, 8), law="ma-liu")
    second = synthetic(sensors=(8, 3, 13), law="flores")
    figure, rows = figures.force_traces(first, second)
    assert len(rows) == 2
    assert np.array_equal(lines(rows[0])["flores"].get_ydata(), second.sensor_force[:, 1])
    assert np.array_equal(lines(rows[1])["flores"].get_ydata(), second.sensor_force[:, 0])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ma-liu", "flores"]
    assert any("contact laws ma-liu, flores" in text for text in texts(figure))
    # of one law they are told apart by title, or by number
    twins = [synthetic(title="slow"), synthetic(title="fast")]
    assert {"slow", "fast"} < set(lines(figures.force_traces(*twins)[1][0]))
    numbered = figures.force_traces(synthetic(), synthetic())[1][0]
    assert {"run 1: hertz", "run 2: hertz"} < set(lines(numbered))


# --- space and time
def test_the_space_time_diagram_holds_the_velocities_and_the_front():
    result = synthetic()
    figure, axes = figures.space_time(result)
    (mesh,) = axes.collections
    assert np.array_equal(np.asarray(mesh.get_array()).reshape(20, -1), result.velocity.T)
    assert axes.get_legend() is None and figure.legends
    front = next(line for label, line in lines(axes).items() if label.startswith("wave front"))
    # the crest is at bead 18.27 at last, and half its velocity 0.79 beads behind it
    assert (
        front.get_label() == "wave front from peaks of velocity, beads 1 to 17: "
        f"speed {wave_speed() * 2.0 * RADIUS:.4g} m/s"
    )
    passed = np.isfinite(front.get_xdata())
    assert passed.sum() > 10
    arrivals = 1e6 * (result.bead - CREST) / wave_speed()
    # snapshots every 2 us of a pulse of 11 us
    assert front.get_xdata()[passed] == pytest.approx(arrivals[passed], abs=0.1)
    assert np.array_equal(front.get_ydata(), result.bead)
    figure.draw_without_rendering()
    assert "bead velocity [m/s], square-root scale" in texts(figure)


# --- hysteresis
def test_runs_are_told_apart_by_what_differs_in_a_segment():
    segments = [{"count": 3, "radius": 2e-3, "mass": mass} for mass in (1e-4, 2e-4)]
    whole = dict.fromkeys(("chain.beads", "chain.radius", "chain.mass"))
    case = gc.load_case("steel-chain-hertz").replace(
        **{**whole, "chain.segment": segments, "sensors.beads": [1], "sensors.contacts": []}
    )
    cases = [case.replace(**{"chain.segment.1.mass": one}) for one in (3e-4, 4e-4)]
    words = ["chain.segment.1.mass 0.0003", "chain.segment.1.mass 0.0004"]
    assert figures.frame.labels_of(list(map(of_case, cases))) == words


def test_entries_on_one_phase_of_a_drive_are_no_mean():
    drive = {"drive": "force", "signal": "harmonic", "amplitude": 1e-3, "frequency": 1e4}
    case = gc.load_case("driven-chain").replace(**{"ends.left": drive})
    # the square of the sine turns once in 50 us: every entry has one phase, or not
    for every, words in ((5e-5, "the samples are in phase with the drive"), (5.7e-5, "means over")):
        change = {"energy_drives": np.zeros(51), "energy_time": every * np.arange(51)}
        figure, _ = figures.energy(of_case(case, change=change))
        assert words in " ".join(texts(figure)).replace("\n", " ")


def test_the_loop_of_a_contact_is_its_record_with_its_residual_overlap():
    left = np.where(np.arange(1, 20) == 2, 4.01e-6, 0.0)
    result = synthetic(contacts=(2, 5), change={"residual_overlap": left})
    _, axes = figures.hysteresis(result)
    loading, unloading, mark = (line for line in axes.get_lines() if line.get_color() == "#3f90da")
    for line in (loading, unloading):
        assert line.get_xdata() == pytest.approx(1e6 * result.contact_overlap[:, 0], rel=1e-14)
        there = np.isfinite(line.get_ydata())
        assert np.array_equal(line.get_ydata()[there], result.contact_force[there, 0])
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == pytest.approx((4.01, 0.0))


# --- two bodies
def collision(law="ma-liu", speed=1.77, residual=4e-6):
    """An impact along one line up to 10 um and 50 N, back along another; at last an open sample."""
    overlap = 1e-6 * np.append(np.arange(11.0), np.arange(9.0, 1e6 * residual - 1.5, -1.0))
    back = np.maximum(50.0 * (overlap[11:] - residual) / (10e-6 - residual), 0.0)
    values = {name: 0.83906 for name in ImpactResult.labels if name.startswith("restitution")}
    values |= {"speed": speed, "residual_overlap": residual, "effective_mass": 1e-3}
    values |= {
        "time": np.arange(len(overlap)) * 1e-7,
        "overlap": overlap,
        "rate": np.linspace(speed, -0.83906 * speed, len(overlap)),
        "force": np.append(5.0 * np.arange(11.0), back),
    }
    result = ImpactResult(values, law=law)
    # of a law whose force does not depend on the rate
    result.elastic_force = result.force
    return result


def test_the_loops_of_impacts_are_approach_and_recovery_with_the_residual_overlap():
    one, other = collision(), collision("hertz", residual=0.0)
    figure, axes = figures.impact_loops([one, other])
    approach, recovery, mark = (line for line in axes.get_lines() if line.get_color() == "#3f90da")
    assert approach.get_ydata()[:11] == pytest.approx(one.force[:11])
    assert np.isnan(approach.get_ydata()[11:]).all()
    assert recovery.get_ydata()[10:17] == pytest.approx(one.force[10:17])
    assert np.isnan(recovery.get_ydata()[:10]).all()
    assert recovery.get_linestyle() == "--"
    assert approach.get_xdata() == pytest.approx(1e6 * one.overlap, rel=1e-12)
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == pytest.approx((4.0, 0.0))
    assert len([line for line in axes.get_lines() if line.get_color() == "#ffa90e"]) == 2
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == [
        "ma-liu: e = 0.839",
        "hertz: e = 0.839",
        "approach",
        "recovery",
        "residual overlap",
    ]
    assert axes.get_title(loc="left") == "Impact of two bodies at 1.77 m/s"
    assert any(
        text == "simulated  \N{MIDDLE DOT}  contact laws ma-liu, hertz" for text in texts(figure)
    )
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "overlap [\N{MICRO SIGN}m]",
        "contact force [N]",
    )


def test_the_history_of_impacts_is_their_arrays_and_the_phase_curve_their_rates():
    one, other = collision(), collision("hertz")
    figure, panels = figures.impact_history([one, other])
    shown = (
        1e6 * one.overlap,
        one.rate,
        1e-3 * one.acceleration,
        one.force,
        one.force,
        0.0 * one.force,
    )
    for axes, values in zip(panels, shown, strict=True):
        line = axes.get_lines()[0]
        assert line.get_xdata() == pytest.approx(1e6 * one.time, rel=1e-12)
        assert line.get_ydata() == pytest.approx(values, rel=1e-12, abs=1e-12)
        assert axes.get_xlabel() == "time [\N{MICRO SIGN}s]"
    assert [axes.get_ylabel() for axes in panels] == [
        "overlap [\N{MICRO SIGN}m]",
        "rate [m/s]",
        "acceleration [km/s\N{SUPERSCRIPT TWO}]",
        "contact force [N]",
        "elastic part [N]",
        "damping part [N]",
    ]
    assert panels[3].get_ylim() == panels[4].get_ylim() == panels[5].get_ylim()
    assert "Impact of two bodies versus time at 1.77 m/s" in texts(figure)
    _, axes = figures.phase_curve([one, other])
    assert axes.get_lines()[0].get_xdata() == pytest.approx(1e6 * one.overlap, rel=1e-12)
    assert axes.get_lines()[0].get_ydata() == pytest.approx(one.rate, rel=1e-12)
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == ["ma-liu: e = 0.839", "hertz: e = 0.839"]


# --- losses
def test_the_losses_of_every_contact_and_the_ledger_over_time_stand_on_top_of_each_other():
    result = synthetic()
    _, axes = figures.losses(result)
    plastic, viscous = axes.patches
    # in microjoule; the edges lie between the contacts
    both = 1e6 * (result.contact_plastic + result.contact_viscous)
    assert plastic.get_data().values == pytest.approx(1e6 * result.contact_plastic, rel=1e-12)
    assert viscous.get_data().baseline == pytest.approx(1e6 * result.contact_plastic, rel=1e-12)
    assert viscous.get_data().values == pytest.approx(both, rel=1e-12)
    assert plastic.get_data().edges == pytest.approx(np.arange(20) + 0.5)
    # the stack of the ledger ends at what was put in; no clamp acted: it is left out
    _, (ledger, _) = figures.energy(result)
    top = ledger.collections[-1].get_paths()[0].vertices[:, 1].max()
    held = sum(result.variables[f"energy_{name}"].data for name in analysis.LEDGER_ENERGIES)
    assert top == pytest.approx(1e3 * held.max(), rel=1e-12)
    assert lines(ledger)["energy supplied"].get_ydata() == pytest.approx(
        np.full(51, 1.0), rel=1e-12
    )
    assert ledger.get_ylabel() == "energy [mJ]"
    named = [text.get_text() for text in ledger.get_legend().get_texts()]
    assert named == [
        "energy supplied",
        "viscous (damping)",
        "plastic (residual indentation)",
        "recoverable",
        "kinetic",
    ]
    # in the same colours
    colours = {area.get_label(): tuple(area.get_facecolor()[0]) for area in ledger.collections}
    drawn = {patch.get_label(): tuple(patch.get_facecolor()) for patch in axes.patches}
    assert drawn == {
        name: colours[name] for name in ("plastic (residual indentation)", "viscous (damping)")
    }


# --- all and files
@pytest.mark.parametrize(
    ("ending", "begins"),
    [
        (".png", b"\x89PNG"),
        pytest.param(".pdf", b"%PDF", marks=pytest.mark.long),
        pytest.param(".svg", b"<?xml", marks=pytest.mark.long),
    ],
)
def test_a_figure_is_saved_the_same_every_time(tmp_path, ending, begins):
    for name in ("one", "two"):
        figures.save(figures.losses(synthetic())[0], tmp_path / (name + ending))
    one, two = ((tmp_path / (name + ending)).read_bytes() for name in ("one", "two"))
    assert one.startswith(begins) and one == two
    # two of one second agree with a date in them, too
    assert b"CreationDate" not in one and b"<dc:date>" not in one
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one" + ending, "two" + ending]
    with pytest.raises(FileError, match="already exists"):
        figures.save(Figure(), tmp_path / ("one" + ending), overwrite=False)
    assert (tmp_path / ("one" + ending)).read_bytes() == one
    if ending == ".png":
        # 7 by 4 inches at 150 dots
        assert (int.from_bytes(one[16:20]), int.from_bytes(one[20:24])) == (7 * 150, 4 * 150)


def test_what_rests_in_a_pressed_row_is_left_out_of_its_traces_and_ledger():
    free = synthetic(sensors=(3, 8))
    weak = 0.1 * free.sensor_force
    change = {"sensor_force": weak + 1e3}
    change["energy_recoverable"] = free.energy_recoverable + 1.0
    pressed = synthetic(sensors=(3, 8), change=change)
    figure, rows = figures.force_traces(pressed)
    drawn_force = rows[0].get_lines()[0].get_ydata()
    assert drawn_force == pytest.approx(weak[:, 0] - weak[0, 0], abs=1e-9)
    assert "sensor force minus static force [N]" in texts(figure) and any(
        "above\n1e+03 N" in text for text in texts(figure)
    )
    assert "sensor force [N]" in texts(figures.force_traces(free)[0])
    figure, (ledger, _) = figures.energy(pressed)
    assert any("relative to the state at rest, with 1 J" in text for text in texts(figure))
    assert ledger.get_ylim() == pytest.approx(figures.energy(free)[1][0].get_ylim(), rel=0.2)


def test_ticks_of_beads_and_contacts_are_whole_and_each_of_few_values_has_a_dot():
    result = synthetic(beads=4, sensors=(1, 2, 3), contacts=(1, 2))
    of_pulses = figures.peaks(result)[1]
    drawn = [of_pulses, figures.losses(result)[1], figures.overlaps(result)[1]]
    drawn += [figures.pulse_numbers(compared(1, (1, 2)))[1]]
    for axes in np.concatenate(list(map(np.ravel, drawn))):
        assert all(float(tick).is_integer() for tick in axes.get_xticks()), axes.get_xlabel()
    arrival = of_pulses[1].get_lines()[0]
    assert arrival.get_marker() == "o" and arrival.get_markevery() == [0, 1]
    # of many those alone that no line joins to another
    many = np.arange(100.0)
    many[[4, 6]] = np.nan
    mark_values(of_pulses[0], many, many)
    assert of_pulses[0].get_lines()[-1].get_markevery() == [5]


def test_runs_of_lists_side_by_side_are_told_apart_by_their_keys():
    keys = {
        "striker.speed": ("run", [0.5, 2.0], {"units": "m/s"}),
        "contact.restitution": ("run", [0.9, np.nan]),
    }
    numbers = {
        name: ("run", [1.0, 2.0])
        for name in ("wave_speed", "transmitted_momentum", "transmitted_energy")
    }
    peaks = {"peak": (("run", "sensor_bead"), [[1.0, 2.0], [3.0, 4.0]], {"units": "N"})}
    study = xr.Dataset(
        peaks | numbers, {**keys, "run": [0, 1], "sensor_bead": [3, 9]}, {"how": "zip"}
    )
    _, axes = figures.study_figures(study)["peaks"]()
    assert {
        line.get_label(): line.get_ydata().tolist()
        for line in axes.get_lines()
        if len(line.get_ydata()) == 2
    } == {
        "striker speed 0.5 m/s, restitution 0.9": [1.0, 2.0],
        "striker speed 2 m/s, no restitution": [3.0, 4.0],
    }
    assert figures.study_figures(study.assign_attrs(how="sobol")) == {}


# --- what is drawn
SNAPSHOTS = ("snapshot_time", "displacement", "velocity")
ONE_SHOT = {"snapshot_time": np.zeros(1)} | dict.fromkeys(SNAPSHOTS[1:], np.zeros((1, 20)))
NOTHING_LOST = {f"contact_{name}": np.zeros(19) for name in ("plastic", "viscous", "clamp")}


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (
            partial(gc.run, "t.toml"),
            'case: "t.toml" is not a Case. Make one with granchain.load_case.',
        ),
        (partial(gc.dispersion, {}), "case: dict is not a Case"),
        (
            partial(gc.spectrum, "gap.h5"),
            'spectrum: "gap.h5" is not a Result. It must be '
            "a Result. Open a file with granchain.open",
        ),
        (
            partial(figures.force_traces, "pairs.h5"),
            'figure: "pairs.h5" is not a Result. It must be '
            "a Result. Open a file with granchain.open",
        ),
        (partial(figures.all_figures, SMALL), "figures: Dataset is not a Result"),
        (
            partial(figures.transmission, SMALL),
            "figure: Dataset is not supported. It must be a Spectrum",
        ),
        (
            partial(figures.dispersion_curves, SMALL),
            "figure: Dataset is not supported. It must be a Dispersion",
        ),
        (
            partial(figures.study_curves, "study.h5"),
            'study: "study.h5" is not a study. It must be the '
            "Dataset of a study. Create one with granchain.sweep",
        ),
        (
            partial(figures.study_curves, SMALL, "peack"),
            'study: "peack" is not valid. It must be a '
            'variable of the study: peak. Did you mean "peak"',
        ),
        (
            partial(figures.study_distribution, SMALL, "words"),
            'study: "words" is not valid. It must be a variable of the study: peak.',
        ),
        (
            partial(figures.study_curves, SMALL, "peak", "bead"),
            'study: "bead" is not valid. It must be a dimension of peak: sensor_bead.',
        ),
        (
            partial(figures.study_map, SMALL, "peak", "sensor_bead", "x"),
            'study: "x" is not valid. It must be a dimension of peak: sensor_bead',
        ),
        (
            lambda: figures.force_traces(synthetic(), sensors=[4]),
            "sensors: [4] is not valid. Each must be one of [3, 8, 13]",
        ),
        (
            lambda: figures.force_traces(synthetic(), ax=Figure().subplots(2)),
            "ax: 2 objects of type Axes do not fit. It "
            "must be 3 Axes, one per panel. Create them with",
        ),
        (
            lambda: figures.losses(synthetic(), ax=Figure()),
            "ax: 1 objects of type Figure do not fit. It must be 1 Axes",
        ),
        (
            lambda: figures.space_time(synthetic(change=ONE_SHOT)),
            "too few snapshots or beads",
        ),
        (lambda: figures.space_time(synthetic(without=SNAPSHOTS)), "[snapshots]"),
        (
            lambda: figures.losses(synthetic(change=NOTHING_LOST)),
            "no contact lost energy. A law with losses is required",
        ),
        (
            lambda: figures.losses(synthetic(without=("contact_plastic",))),
            "no contact_plastic. To record it, record the "
            "energy balance: `ledger = true` under [energy]",
        ),
        (
            partial(figures.save, Figure(), "energy.bmp"),
            "'.bmp' is not a supported extension. It must be one of .png, .pdf, .svg",
        ),
        (partial(figures.save, Figure(), "nowhere/energy.png"), "does not exist"),
        (figures.hysteresis, "no result"),
        (lambda: figures.impact_loops([]), "no loop to plot. At least one is required"),
        (lambda: figures.impact_history([]), "figure: no impact to plot"),
        (lambda: figures.phase_curve([]), "figure: no impact to plot"),
        (
            lambda: figures.restitution_delivered({"flores": [(0.5, 0.47)]}, 1.77),
            "At least two values are required",
        ),
    ],
)
def test_what_cannot_be_drawn_or_run_is_refused_with_how_to_get_it(draw, said):
    with pytest.raises(GranchainError) as raised:
        draw()
    assert said in str(raised.value)


def test_an_axis_of_words_keeps_its_ticks():
    axes = Figure().subplots()
    axes.bar(["hertz", "flores", "tsuji"], [1.0, 2.0, 3.0])
    set_panel(axes, integer="xy", ticks="xy", most=2)
    words = [label.get_text() for label in axes.get_xticklabels()]
    assert words == ["hertz", "flores", "tsuji"] and len(axes.get_yticks()) <= 3
