"""Figures show the contents of the results; their look was inspected."""

import math
import re
from functools import partial
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import xarray as xr
from cycler import cycler
from IPython.core.formatters import DisplayFormatter
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from support.answers import answer_of
from support.drawable import DRAWABLE, a_study, collision, impacts_of_laws, laws, turning
from support.layout import faults
from support.synthetic import CREST, RADIUS, synthetic, wave_speed

import granchain as gc
from granchain import analysis, figures
from granchain.cli.plot import in_law_colours
from granchain.errors import GranchainError
from granchain.figures import style
from granchain.figures.catalogue import figures_of
from granchain.figures.studies import coordinate_text, selection
from granchain.status import Status

pytestmark = pytest.mark.filterwarnings("error")

# A study with one number.
SMALL = xr.Dataset(
    {"peak": ("sensor_bead", [1.0, 2.0]), "words": ("sensor_bead", ["a", "b"])},
    {"sensor_bead": [1, 2]},
)


def of_case(case, **made):
    """Return an invented result of this case."""
    result = synthetic(**made)
    result._case = case
    return result


def lines(axes):
    """Return the lines of an axes by label."""
    return {line.get_label(): line for line in axes.get_lines()}


def texts(figure):
    """Return all texts in a figure."""
    return [found.get_text() for found in figure.findobj(Text)]


def drawn(result):
    """Return every figure of a result."""
    return {name: draw() for name, draw in figures_of(result).items()}


# --- every figure
FIGURES = [
    "force_traces", "peaks", "bead_velocities", "space_time", "hysteresis", "energy", "overlaps",
]  # fmt: skip


def test_every_figure_has_a_complete_heading_and_legible_text():
    title = "70 beads of steel-316 struck at 1.77 m/s"
    made = drawn(synthetic(title=title, law="ma-liu", contacts=(2, 5, 9, 12)))
    assert list(made) == FIGURES
    for name, figure in made.items():
        assert faults(figure) == [], name
        heading = figure.get_suptitle()
        assert heading.startswith(f"{title}\nsimulated") and "contact law ma-liu" in heading
        assert heading.partition("\n")[2] == figure.get_label()
        assert not any("RUN FAILED" in text for text in texts(figure))
        # markers are for measurements, and for numbers at a few sensors
        markers = {line.get_marker() for axes in figure.axes for line in axes.get_lines()}
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
    for figure in broken.values():
        (mark,) = (one for one in figure.findobj(Text) if "RUN FAILED" in one.get_text())
        assert mark.get_text() == "RUN FAILED: not finite" and mark.get_color() == "#bd1f01"
        # the text between the dollar signs of its title is not a formula: rendering it as one would
        # be an error
        assert figure.get_suptitle().startswith(title.replace("$", r"\$"))
    # the layout is irrelevant here, and takes most of the time
    figure.set_layout_engine("none")
    figure.draw_without_rendering()
    # also in given axes
    theirs = Figure()
    figures.overlaps(synthetic(status=Status.UNSTABLE), ax=theirs.subplots())
    assert "RUN FAILED: unstable" in texts(theirs)


# --- colours, type, layout
def in_lab(colour):
    """Return L*, a*, b* of sRGB (IEC 61966-2-1:1999, eq. 5 to 7; CIE 15:2018, 8.2.1, white D65)."""
    part = np.array(to_rgb(colour))
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    share = to_xyz @ linear / to_xyz.sum(axis=1)
    root = np.where(share > (6 / 29) ** 3, np.cbrt(share), share * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def apart(one, other):
    """Return the difference of two colours: delta E*ab, the distance in L*, a*, b*.

    CIE 15:2018, eq. 8.21.
    """
    return math.dist(in_lab(one), in_lab(other))


def test_the_difference_of_colours_is_that_of_printed_ones():
    # by hand: white is (100, 0, 0), and greys have no colour; for red, Y is 0.2126 of white, so L*
    # = 116 cbrt(0.2126) - 16
    assert in_lab("#ffffff") == pytest.approx([100.0, 0.0, 0.0], abs=1e-3)
    assert in_lab("#000000") == pytest.approx([0.0] * 3, abs=1e-9)
    assert in_lab("#808080")[1:] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert in_lab("#ff0000")[0] == pytest.approx(53.23, abs=0.01)
    assert apart("#ffffff", "#000000") == pytest.approx(100.0, abs=1e-3)


# Our choice. The two greys of petroff10, 19.3 apart, were confused. A difference of 2.3 is just
# visible where two areas touch (Mahy, Van Eycken & Oosterlinck 1994, doi:10.1002/col.5080190207),
# but not on thin lines.
LEAST_APART = 20.0


NAMES = [f"law-{i}" for i in range(20)]
# Figures with as many lines as in practice.
CROWDED = {
    "force_traces": lambda: (figures.force_traces, *laws(12)),
    "peaks": lambda: (figures.peaks, *laws(12)),
    "hysteresis": lambda: (partial(figures.hysteresis, contacts=[2]), *laws(12)),
    "impact_loops": lambda: (figures.impact_loops, *map(collision, NAMES)),
    "restitution_against_speed": lambda: (
        figures.restitution_against_speed, impacts_of_laws(NAMES[:12])
    ),
    "joint_force": lambda: (figures.joint_force, *map(turning, "abcdefghijkl")),
    "energy": lambda: (figures.energy, synthetic()),
    "overlaps": lambda: (figures.overlaps, synthetic()),
    "joint_orbit": lambda: (figures.joint_orbit, turning()),
}  # fmt: skip


def seen(panel):
    """Return colour and dashes of each line and area of a panel that has a name."""
    for line in panel.get_lines():
        yield line.get_label(), line.get_color(), str(line._unscaled_dash_pattern)
    for patch in panel.patches:
        if isinstance(patch, StepPatch):
            filled = patch.get_facecolor() if patch.get_fill() else patch.get_edgecolor()
            yield patch.get_label(), filled, str(patch.get_fill())


@pytest.mark.parametrize("name", CROWDED)
def test_no_two_lines_of_a_figure_look_alike(name):
    draw, *answers = CROWDED[name]()
    found = [
        [one for one in seen(panel) if str(one[0] or "_")[0] != "_"]
        for panel in draw(*answers).axes
    ]
    assert any(found)
    for lines_of_panel in found:
        for (one, *look), (other, *its_look) in combinations(lines_of_panel, 2):
            if look[1] == its_look[1]:
                assert apart(look[0], its_look[0]) >= LEAST_APART, (one, other)


# --- settings: twenty settings that differ from the defaults and from granchain's style sheet.
SETTINGS = {
    "font.size": 7.5,
    "font.family": ["DejaVu Serif"],
    "text.color": "#112233",
    "axes.labelsize": 12.5,
    "axes.labelcolor": "#223344",
    "axes.labelweight": "bold",
    "axes.titlesize": 7.25,
    "axes.facecolor": "#f0f0ff",
    "axes.edgecolor": "#334455",
    "axes.linewidth": 1.75,
    "axes.spines.right": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=["#0a6e0a", "#6e0a6e", "#0a0a6e", "#6e6e0a"]),
    "xtick.labelsize": 8.25,
    "xtick.direction": "in",
    "ytick.color": "#445566",
    "lines.linewidth": 2.25,
    "image.cmap": "cividis",
    "legend.fontsize": 7.75,
    "figure.figsize": (5.5, 3.5),
}
# Objects with the colour of a law; spans, and areas of parts of an energy, do not have it.
BLACK_AND_WHITE = {"#000000", "#ffffff"}


def disrespected(key, panels, legends, changed):
    """Return whether a setting has no effect on the panels, their legends, and their colour
    bars."""
    value = changed[key]
    lines = [line for axes in panels for line in axes.get_lines()]
    words = [text for legend in legends for text in legend.get_texts()]
    words += [text for axes in panels for text in axes.texts if "FAILED" not in text.get_text()]
    labels = [axis.label for axes in panels for axis in (axes.xaxis, axes.yaxis)]
    labels += [bar.yaxis.label for axes in panels for bar in axes.child_axes]
    ticks = [axes.xaxis.get_major_ticks(1)[0] for axes in panels]
    across = [axes.yaxis.get_major_ticks(1)[0] for axes in panels]
    everything = [*words, *labels, *(axes.title for axes in panels)]
    cycle = changed.get("axes.prop_cycle", matplotlib.rcParams["axes.prop_cycle"])
    frames = {to_hex(axes.spines["bottom"].get_edgecolor()) for axes in panels}
    others = BLACK_AND_WHITE | frames | {to_hex(axes.title.get_color()) for axes in panels}
    maps = [mesh for axes in panels for mesh in axes.collections if isinstance(mesh, QuadMesh)]
    sequential = [mesh for mesh in maps if mesh.get_cmap().name != "RdBu_r"]
    shaded = any(axes.child_axes for axes in panels) and not maps
    size = changed.get("font.size", 10.0)
    return {
        "font.size": lambda: (
            "axes.labelsize" not in changed and {label.get_fontsize() for label in labels} != {size}
        ),
        "font.family": lambda: (
            {tuple(text.get_fontfamily()) for text in everything} != {tuple(value)}
        ),
        "text.color": lambda: {to_hex(text.get_color()) for text in words} - {value},
        "axes.labelsize": lambda: {label.get_fontsize() for label in labels} != {value},
        "axes.labelcolor": lambda: {label.get_color() for label in labels} != {value},
        "axes.labelweight": lambda: {label.get_fontweight() for label in labels} != {value},
        "axes.titlesize": lambda: {axes.title.get_fontsize() for axes in panels} != {value},
        "axes.facecolor": lambda: {to_hex(axes.get_facecolor()) for axes in panels} != {value},
        "axes.edgecolor": lambda: frames != {value},
        "axes.linewidth": lambda: (
            {axes.spines["left"].get_linewidth() for axes in panels} != {value}
        ),
        "axes.spines.right": lambda: not all(axes.spines["right"].get_visible() for axes in panels),
        "axes.grid": lambda: not all(tick.gridline.get_visible() for tick in ticks),
        # colours of the cycle, of the text, and of a sequential map
        "axes.prop_cycle": lambda: (
            not shaded
            and {to_hex(line.get_color()) for line in lines} - others - set(cycle.by_key()["color"])
        ),
        "xtick.labelsize": lambda: {tick.label1.get_fontsize() for tick in ticks} != {value},
        "xtick.direction": lambda: {tick.get_tickdir() for tick in ticks} != {value},
        "ytick.color": lambda: {tick.label1.get_color() for tick in across} != {value},
        "lines.linewidth": lambda: (
            lines and not any(math.isclose(line.get_linewidth(), value) for line in lines)
        ),
        "image.cmap": lambda: {mesh.get_cmap().name for mesh in sequential} - {value},
        "legend.fontsize": lambda: (
            {text.get_fontsize() for legend in legends for text in legend.get_texts()} - {value}
        ),
        "figure.figsize": lambda: False,
    }[key]()


def legends_of(figure):
    """Return the legends of a figure and of its panels."""
    inside = [axes.get_legend() for axes in figure.axes if axes.get_legend() is not None]
    return [*figure.legends, *inside]


def check_settings(name, changed):
    """Check that a figure without the style sheet, and in given axes, has these settings."""
    draw = DRAWABLE[name]()
    with matplotlib.rc_context(changed):
        made = draw(style=None)
        figure = made if isinstance(made, Figure) else made._fig
        count = len(figure.axes)
        theirs = Figure(layout="constrained")
        given = np.atleast_1d(theirs.subplots(count)).tolist()
        again = draw(ax=given)
        kept = again if isinstance(again, Figure) else again._fig
    for one in (made, again):
        if not isinstance(one, Figure):
            one._draw_was_started = True
    assert kept is theirs and theirs.axes == given
    for one in (figure, theirs):
        wrong = [key for key in changed if disrespected(key, one.axes, legends_of(one), changed)]
        assert wrong == [], (name, one is theirs)
    if "figure.figsize" in changed:
        width, height = changed["figure.figsize"]
        expected = height if count == 1 else figure.get_figheight()
        assert tuple(figure.get_size_inches()) == (width, expected) and expected <= width


# Figures in the short run, one or two of each module; the long run draws all.
DRAWN_IN_SHORT = {
    "force_traces", "space_time", "study_curves", "study_map", "spectrum", "comparison", "orbit",
    "impact_loops", "joint_force",
}  # fmt: skip


def of_every_kind(names):
    """Return names as parameters; those that the short run does not draw are long."""
    marks = {True: (), False: (pytest.mark.long,)}
    return [pytest.param(name, marks=marks[name in DRAWN_IN_SHORT]) for name in names]


@pytest.mark.parametrize("name", of_every_kind(DRAWABLE))
def test_twenty_settings_of_the_user_are_respected(name):
    assert len(SETTINGS) == 20
    check_settings(name, SETTINGS)


# in this figure, labels have the font size, unless they have another size
@pytest.mark.long
def test_the_font_size_alone_is_respected_in_every_figure():
    for name in DRAWABLE:
        check_settings(name, {"font.size": SETTINGS["font.size"]})


def test_a_setting_that_differs_from_the_default_overrides_the_style_sheet():
    result = synthetic()
    default, (axes,) = dict(matplotlib.rcParams), figures.overlaps(result).axes
    assert axes.yaxis.label.get_fontsize() == 9.0 and not axes.spines["right"].get_visible()
    assert axes.patches[0].get_edgecolor() == pytest.approx((*to_rgb("#3f90da"), 1.0))
    # if one setting changes, the other settings of the sheet stay
    with matplotlib.rc_context({"axes.labelsize": 14.0}):
        (axes,) = figures.overlaps(result).axes
        assert axes.yaxis.label.get_fontsize() == 14.0 and not axes.spines["right"].get_visible()
    with matplotlib.rc_context({"font.size": 20.0}):
        assert figures.overlaps(result).axes[0].yaxis.label.get_fontsize() == 20.0
    # without the sheet, and with another style
    (axes,) = figures.overlaps(result, style=None).axes
    assert axes.yaxis.label.get_fontsize() == 10.0 and axes.spines["right"].get_visible()
    (axes,) = figures.overlaps(result, style="dark_background").axes
    assert to_hex(axes.get_facecolor()) == "#000000"
    assert dict(matplotlib.rcParams) == default


def test_nothing_outside_the_given_axes_changes_and_they_keep_their_own_look():
    settings = dict(matplotlib.rcParams)
    for draw in (
        partial(figures.force_traces, synthetic(), synthetic(law="flores")),
        partial(figures.overlaps, synthetic()),
        partial(figures.space_time, synthetic()),
        partial(figures.bead_velocities, synthetic()),
    ):
        look = {"font.size": 14.0, "text.color": "red", "axes.facecolor": "black"}
        with matplotlib.rc_context(look):
            theirs = Figure(layout="constrained")
            mine, other = theirs.subplots(1, 2)
        other.plot([0.0, 1.0], label="theirs")
        mine.set_prop_cycle(color=["#00ff00"])
        before = [len(other.get_children()), other.get_position().bounds, other.get_xlim()]
        assert draw(ax=mine) is theirs
        assert theirs.axes == [mine, other] and not theirs.texts and not theirs.legends
        after = [len(other.get_children()), other.get_position().bounds, other.get_xlim()]
        assert after == before and dict(matplotlib.rcParams) == settings
        words = [*mine.texts, *(mine.get_legend().get_texts() if mine.get_legend() else [])]
        words += [bar.yaxis.label for bar in mine.child_axes]
        assert {text.get_fontsize() for text in words} <= {14.0}
        if mine.get_legend() is not None:
            words = mine.get_legend().get_texts()
            assert {to_hex(text.get_color()) for text in words} == {"#ff0000"}
            colours = [line.get_color() for line in mine.get_lines()]
            colours += [patch.get_edgecolor() for patch in mine.patches]
            assert "#00ff00" in map(to_hex, colours)


@pytest.mark.parametrize("name", of_every_kind(sorted(DRAWABLE.keys() - {"animation"})))
def test_a_figure_one_column_wide_is_at_most_as_tall_as_wide_and_legible(name):
    with matplotlib.rc_context({"figure.figsize": (3.4, 2.6)}):
        figure = DRAWABLE[name]()()
    wide, tall = figure.get_size_inches()
    assert wide == 3.4 and tall <= wide
    assert faults(figure) == []


@pytest.mark.guard
def test_every_public_figure_has_an_answer_here():
    assert {name.split()[0] for name in DRAWABLE} == set(figures.__all__)


def test_a_notebook_shows_one_picture_of_a_figure():
    figure = figures.study_curves(SMALL)
    # the attributes that IPython requests from an object, if pyplot is not loaded
    data, _ = DisplayFormatter().format(figure)
    assert set(data) == {"text/plain", "image/png"}
    width = int.from_bytes(data["image/png"][16:20], "big")
    assert width == pytest.approx(100.0 * figure.get_figwidth(), abs=1.0)


@pytest.mark.long
@pytest.mark.parametrize("pyplot", ["", "import matplotlib.pyplot as plt\n"])
def test_the_last_line_of_a_cell_shows_one_picture_with_and_without_pyplot(pyplot, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    from nbclient import NotebookClient

    synthetic().save(tmp_path / "a.h5")
    lines = f'import granchain as gc\ngc.figures.overlaps(gc.open("{tmp_path / "a.h5"}"))'
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(pyplot + lines)])
    NotebookClient(notebook, timeout=120).execute()
    outputs = [one for one in notebook.cells[0].outputs if "image/png" in one.get("data", {})]
    assert len(outputs) == 1


def test_latex_that_is_missing_is_named_with_its_setting(here, obeyed, monkeypatch):
    gc.run(gc.load_case("steel-chain-hertz").replace(**{
        "chain.beads": 3, "sensors.beads": [2], "sensors.contacts": [], "time.end": 2e-5,
    })).save("a.h5")  # fmt: skip
    monkeypatch.setenv("PATH", "")
    with matplotlib.rc_context({"text.usetex": True}):
        err = obeyed("plot", "a.h5", "--only", "overlaps", code=2).err
    assert "text.usetex" in err and "Install LaTeX" in err and "Traceback" not in err
    assert not list(Path().glob("*.png"))


# --- what colours, shades, and scales mean
def test_an_ordered_key_has_a_sequential_map_and_a_colour_bar_that_is_logarithmic_like_the_key():
    study = a_study()
    (axes,) = figures.study_curves(study, "peak", "sensor_bead", "striker.speed").axes
    (bar,) = axes.child_axes
    assert bar.get_yscale() == "log" and bar.get_ylabel() == "striker speed [m/s]"
    assert bar.get_ylim() == pytest.approx((0.1, 10.0)) and axes.get_legend() is None
    colours = [line.get_color() for line in axes.get_lines()]
    # from pale to dark, and none as pale as the background
    lightness = [in_lab(colour[:3])[0] for colour in colours]
    assert len(colours) == 14 and lightness == sorted(lightness, reverse=True)
    assert lightness[0] < 90.0
    linear = figures.study_curves(study, "peak", "sensor_bead", "chain.radius").axes[0]
    assert linear.child_axes[0].get_yscale() == "linear"
    assert linear.child_axes[0].get_ylabel() == "radius [mm]"
    # laws have no order, but beads do
    (named,) = figures.study_curves(impacts_of_laws(), "delivered_restitution", "speed", "law").axes
    assert not named.child_axes and named.get_xscale() == "log"
    assert [text.get_text() for text in named.get_legend().get_texts()] == ["ma-liu", "flores"]
    assert figures.bead_velocities(synthetic()).axes[0].child_axes[0].get_ylabel() == "bead"
    (mesh,) = figures.study_map(
        study.assign(peak=study.peak * study["striker.speed"] ** 2), "peak", "chain.radius",
        "striker.speed",
    ).axes[0].collections  # fmt: skip
    assert isinstance(mesh.norm, LogNorm)


def test_one_colour_means_one_law_in_one_call_and_in_one_plot_command():
    runs = [synthetic(law=law, title=title) for law, title in
            (("hertz", "slow"), ("hertz", "fast"), ("flores", "slow"))]  # fmt: skip
    drawn_lines = lines(figures.force_traces(*runs, labels=["a", "b", "c"]).axes[0])
    assert drawn_lines["a"].get_color() == drawn_lines["b"].get_color()
    assert drawn_lines["a"].get_color() != drawn_lines["c"].get_color()
    assert drawn_lines["a"].get_linestyle() != drawn_lines["b"].get_linestyle()
    # contacts of a law are paler, but have the same colour
    (axes,) = figures.hysteresis(*runs[1:], contacts=[2, 5]).axes
    loops = [line for line in axes.get_lines() if line.get_label() in ("hertz", "flores")]
    assert [line.get_alpha() for line in loops] == [1.0, 0.7, 1.0, 0.7]
    assert len({line.get_color() for line in loops}) == 2
    # in the figures of a single run, the law has its colour of the other figures of the command
    laws_of_all = ["hertz", "flores"]
    for run, colour in ((runs[0], "#3f90da"), (runs[2], "#ffa90e")):
        with style.context_of(style.SHEET):
            figure = in_law_colours(partial(figures.overlaps, run), laws_of_all)()
        assert to_hex(figure.axes[0].patches[0].get_edgecolor()) == colour
    # parts of an energy have shades of the sequential map
    ledger = figures.energy(runs[0]).axes[0]
    shades = {to_hex(area.get_facecolor()[0]) for area in ledger.collections}
    assert len(shades) == 4 and not shades & {"#3f90da", "#ffa90e", "#bd1f01"}


def test_legends_contain_neither_json_nor_many_digits():
    values = [1.0, 0.1 + 0.2, "short", "x" * 40, {"plate": 1.0}, None]
    assert [style.short_value(value) for value in values] == [
        "1", "0.3", "short", "set", "plate", "not set",
    ]  # fmt: skip
    tables = ['{"law": "hertz"}', "[0.0023800000000000002, 0.0047600000000000004]"]
    speeds = ("speed", [0.1 + 0.2, 2.0], {"units": "m/s"})
    study = xr.Dataset(coords={"contact": tables, "chain.radius": tables, "speed": speeds})
    study.coords["ends.right"] = ["plate.thickness = 0.004 m", 7 * "mass = 1 kg, "]
    assert [coordinate_text(study, "contact", k) for k in (0, 1)] == ["contact 1", "contact 2"]
    assert coordinate_text(study, "chain.radius", 1) == "radius 2"
    assert coordinate_text(study, "ends.right", 0) == "ends right plate.thickness = 0.004 m"
    assert coordinate_text(study, "ends.right", 1) == "ends right 2"
    assert coordinate_text(study, "speed", 0) == "speed 300 mm/s"


def test_shading_means_gaps_in_every_figure_of_waves():
    relation = answer_of("Dispersion")
    top = 1.25 * relation.band_edges[-1, 1]
    edges = [0.0, *relation.band_edges.ravel(), top]
    gaps = [pair for pair in zip(edges[::2], edges[1::2], strict=True) if pair[1] > pair[0]]
    spectrum = DRAWABLE["spectrum"]()()
    for axes in spectrum.axes[:2]:
        spans = [
            patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches
        ]
        assert np.ravel([one.intervalx for one in spans]) == pytest.approx(np.ravel(gaps))
    curves = figures.dispersion_curves(relation).axes[0]
    spans = [one.get_extents().transformed(curves.transData.inverted()) for one in curves.patches]
    limits = np.ravel([one.intervaly for one in spans])
    assert limits[:-1] == pytest.approx(np.ravel(gaps)[:-1])
    assert limits[-1] == pytest.approx(1.05 * relation.band_edges[-1, 1])
    assert len(gaps) == len(relation.gaps) + 1


@pytest.mark.parametrize("name", of_every_kind(sorted(DRAWABLE.keys() - {"animation"})))
def test_panels_of_one_quantity_share_their_scale_and_no_axis_has_an_exponent(name):
    figure = DRAWABLE[name]()()
    figure.draw_without_rendering()
    limits = {}
    for axes in figure.axes:
        for which, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            assert axis.get_offset_text().get_text() == "", axis.get_label_text()
            key = " ".join(axis.get_label_text().split())
            limits.setdefault((which, key), []).append(getattr(axes, f"get_{which}lim")())
    # an orbit and its section have separate scales
    shared = {key: ends for key, ends in limits.items() if key[1] and name != "orbit"}
    for key, ends in shared.items():
        assert np.array(ends) == pytest.approx(np.array([ends[0]] * len(ends))), key


def test_a_map_of_what_hardly_changes_has_one_colour_and_keys_have_units_of_ordinary_size():
    radius = ("chain.radius", [1e-3, 2e-3, 3e-3], {"units": "m"})
    modulus = ("chain.material.youngs_modulus", [1.9e11, 2.1e11], {"units": "Pa"})
    part = 0.97 * (1.0 + 3e-4 * np.arange(6.0) / 5.0).reshape(3, 2)
    study = xr.Dataset(
        {"transmitted_energy": ((radius[0], modulus[0]), part, {"units": "1"})},
        {one[0]: one for one in (radius, modulus)},
        {"title": "rig B"},
    )
    figure = figures.study_map(study, "transmitted_energy", radius[0], modulus[0])
    (axes,) = figure.axes
    low, high = axes.collections[0].get_clim()
    assert high - low == pytest.approx(0.2 * part.max(), rel=1e-3)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("radius [mm]", "Young's modulus [GPa]")
    assert figure.get_suptitle().startswith("Transmitted energy: rig B\nsimulated")
    assert "uniform within 0.03 %" in figure.get_suptitle()
    (axes,) = figures.study_curves(study, "transmitted_energy", radius[0], modulus[0]).axes
    assert np.ptp(axes.get_ylim()) == pytest.approx(0.2 * part.max(), rel=1e-3)
    assert axes.child_axes[0].get_ylabel() == "Young's modulus [GPa]"
    # the kilogram already has a prefix
    assert style.quantity(4.5e-4, "kg") == "450 mg" and style.prefix_of(4.5e-2, "kg") == (-3, "g")
    assert style.named_laws(["hertz, flores"]) == "contact laws hertz, flores"
    # no prefix is a unit: a plain number of 0.05 is not 50 m
    assert [style.prefix_of(0.05, one) for one in ("", "1")] == [(0, ""), (0, "1")]
    assert style.quantity(4e-8, "s") == "40 ns" and style.quantity(0.05, "1") == "0.05"


def test_each_mechanism_run_has_its_motion_without_clearance():
    first, second = turning("johnson"), turning("goldsmith")
    second.ideal_acceleration = second.variables["ideal_acceleration"] = (
        0.5 * first.ideal_acceleration
    )
    drawn = lines(figures.slider_kinematics(first, second, between=(0.0, 720.0)).axes[-1])
    for result in (first, second):
        curve = drawn[f"{result.law}, without clearance"]
        assert np.array_equal(curve.get_ydata(), result.ideal_acceleration)
        assert curve.get_color() == drawn[result.law].get_color()
    # runs with the same motion share one curve
    figure = figures.slider_kinematics(first, turning("goldsmith"))
    assert "without clearance" in lines(figure.axes[-1])


def test_the_title_of_several_runs_has_each_title_once():
    runs = [synthetic(title=title) for title in ("row", "", "pair", "row")]
    assert style.title_of(runs) == "row; pair"
    assert style.title_of(runs[1:2]) == ""


def test_labels_of_runs_name_the_law_the_keys_that_differ_or_the_title():
    def labels(*cases):
        return style.labels_of(
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
    found = selection(study, "peak", None, "striker.speed", "draw")
    assert "at bead 8" in found.notes and np.isfinite(found.values).all()


def test_what_is_hard_to_read_is_found():
    figure = figures.overlaps(synthetic())
    (axes,) = figure.axes
    axes.text(0.5, 0.5, "tiny", transform=axes.transAxes, fontsize=5)
    axes.text(0.5, 0.5, "over it", transform=axes.transAxes, fontsize=7)
    axes.text(1.5, 0.1, "far", transform=axes.transAxes, fontsize=7).set_in_layout(False)
    found = " ".join(faults(figure))
    for words in ("'tiny' is 5 points high", "'tiny' and 'over it' lie over", "'far' is cut off"):
        assert words in found


# --- force traces
def test_the_force_traces_are_the_rows_of_the_sensors():
    result = synthetic(sensors=(3, 8, 13))
    figure = figures.force_traces(result)
    rows = figure.axes
    assert len(rows) == 3
    for axes, force, bead in zip(rows, result.sensor_force.T, (3, 8, 13), strict=True):
        line = lines(axes)["hertz"]
        assert np.array_equal(line.get_xdata(), result.time)
        assert np.array_equal(line.get_ydata(), force)
        (peak,) = analysis.first_pulse(result.time, force).peak
        assert f"bead {bead}\n{peak:.3g} N" in [text.get_text() for text in axes.texts]
    assert rows[-1].get_xlabel() == "time [\N{MICRO SIGN}s]"
    assert len({axes.get_ylim() for axes in rows}) == 1
    assert rows[0].get_ylim()[1] > result.sensor_force.max()
    assert rows[1].get_ylabel().split() == ["sensor", "force", "[N]"]
    # the number of axes determines the number of sensors
    assert figures.force_traces(result, ax=Figure().subplots(2)).axes[1].has_data()


def test_the_traces_of_two_results_share_rows_and_have_a_legend_by_law():
    first = synthetic(sensors=(3, 8), law="ma-liu")
    second = synthetic(sensors=(8, 3, 13), law="flores")
    figure = figures.force_traces(first, second)
    rows = figure.axes
    assert len(rows) == 2
    assert np.array_equal(lines(rows[0])["flores"].get_ydata(), second.sensor_force[:, 1])
    assert np.array_equal(lines(rows[1])["flores"].get_ydata(), second.sensor_force[:, 0])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ma-liu", "flores"]
    assert any("contact laws ma-liu, flores" in text for text in texts(figure))
    # runs with one law are distinguished by title, or by number
    twins = [synthetic(title="slow"), synthetic(title="fast")]
    assert {"slow", "fast"} < set(lines(figures.force_traces(*twins).axes[0]))
    numbered = figures.force_traces(synthetic(), synthetic()).axes[0]
    assert {"run 1: hertz", "run 2: hertz"} < set(lines(numbered))


# --- space and time
def test_the_space_time_diagram_holds_the_velocities_and_the_front():
    result = synthetic()
    figure = figures.space_time(result)
    (axes,) = figure.axes
    (mesh,) = axes.collections
    assert np.array_equal(np.asarray(mesh.get_array()).reshape(20, -1), result.velocity.T)
    front = lines(axes)["front"]
    # the crest is finally at bead 18.27, and half its velocity is 0.79 beads behind it
    speed = f"speed {wave_speed() * 2.0 * RADIUS:.4g} m/s"
    assert f"dashed: front of velocity peaks, {speed}" in figure.get_suptitle()
    passed = np.isfinite(front.get_xdata())
    assert passed.sum() > 10
    arrivals = (result.bead - CREST) / wave_speed()
    # snapshots every 2 us of a pulse of 11 us
    assert front.get_xdata()[passed] == pytest.approx(arrivals[passed], abs=1e-7)
    assert np.array_equal(front.get_ydata(), result.bead)
    assert axes.child_axes[0].get_ylabel() == "velocity [m/s]"
    assert "square-root colours" in figure.get_label()


# --- hysteresis
def test_runs_are_told_apart_by_what_differs_in_a_segment():
    segments = [{"count": 3, "radius": 2e-3, "mass": mass} for mass in (1e-4, 2e-4)]
    whole = dict.fromkeys(("chain.beads", "chain.radius", "chain.mass"))
    case = gc.load_case("steel-chain-hertz").replace(
        **{**whole, "chain.segment": segments, "sensors.beads": [1], "sensors.contacts": []}
    )
    cases = [case.replace(**{"chain.segment.1.mass": one}) for one in (3e-4, 4e-4)]
    words = ["chain.segment.1.mass 0.0003", "chain.segment.1.mass 0.0004"]
    assert style.labels_of(list(map(of_case, cases))) == words


def test_entries_on_one_phase_of_a_drive_are_no_mean():
    drive = {"drive": "force", "signal": "harmonic", "amplitude": 1e-3, "frequency": 1e4}
    case = gc.load_case("driven-chain").replace(**{"ends.left": drive})
    # the square of the sine has a period of 50 us: all entries have one phase, or not
    for every, words in ((5e-5, "the samples are in phase with the drive"), (5.7e-5, "means over")):
        change = {"energy_drives": np.zeros(51), "energy_time": every * np.arange(51)}
        assert words in figures.energy(of_case(case, change=change)).get_label()


def test_the_energy_of_a_fast_drive_is_plotted_if_it_has_fewer_entries_than_a_mean():
    drive = {"drive": "displacement", "signal": "harmonic", "amplitude": 1e-9, "frequency": 2e4}
    case = gc.load_case("steel-chain-hertz").replace({
        "chain.beads": 4, "chain.precompression": 20.0, "striker": None, "sensors.beads": "all",
        "sensors.contacts": None, "snapshots": None, "ends.left": drive, "ends.right": "wall",
        "energy.interval": 1.1e-4, "time.end": 5e-4,
    })  # fmt: skip
    result = gc.run(case)
    figure = figures.energy(result)
    assert len(result.energy_time) == 6 and "means over" in figure.get_label()


def test_the_loop_of_a_contact_is_its_record_with_its_residual_overlap():
    left = np.where(np.arange(1, 20) == 2, 4.01e-6, 0.0)
    result = synthetic(contacts=(2, 5), change={"residual_overlap": left})
    (axes,) = figures.hysteresis(result).axes
    colour = lines(axes)["contact 2"].get_color()
    loading, unloading, mark = (line for line in axes.get_lines() if line.get_color() == colour)
    for line in (loading, unloading):
        assert np.array_equal(line.get_xdata(), result.contact_overlap[:, 0])
        there = np.isfinite(line.get_ydata())
        assert np.array_equal(line.get_ydata()[there], result.contact_force[there, 0])
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (4.01e-6, 0.0)


# --- two bodies
def test_the_loops_of_impacts_are_approach_and_recovery_with_the_residual_overlap():
    one, other = collision(), collision("hertz", residual=0.0)
    figure = figures.impact_loops(one, other)
    (axes,) = figure.axes
    approach, recovery, mark = (line for line in axes.get_lines() if line.get_color() == "#3f90da")
    assert approach.get_ydata()[:11] == pytest.approx(one.force[:11])
    assert np.isnan(approach.get_ydata()[11:]).all()
    assert recovery.get_ydata()[10:17] == pytest.approx(one.force[10:17])
    assert np.isnan(recovery.get_ydata()[:10]).all()
    assert recovery.get_linestyle() == "--"
    assert np.array_equal(approach.get_xdata(), one.overlap)
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (4e-6, 0.0)
    assert len([line for line in axes.get_lines() if line.get_color() == "#ffa90e"]) == 2
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == [
        "ma-liu: e = 0.839",
        "hertz: e = 0.839",
        "approach",
        "recovery",
        "residual overlap",
    ]
    heading = (
        "Impact of two bodies at 1.77 m/s\nsimulated  \N{MIDDLE DOT}  contact laws ma-liu, hertz"
    )
    assert figure.get_suptitle() == heading
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "overlap [\N{MICRO SIGN}m]",
        "contact force [N]",
    )


# --- energy
def test_the_energies_over_time_stand_on_top_of_each_other():
    result = synthetic()
    # the stack of the energy balance ends at the supplied energy; no clamp acted, so it is left out
    figure = figures.energy(result)
    ledger = figure.axes[0]
    top = ledger.collections[-1].get_paths()[0].vertices[:, 1].max()
    held = sum(result.variables[f"energy_{name}"].data for name in analysis.LEDGER_ENERGIES)
    assert top == pytest.approx(held.max(), rel=1e-12)
    assert lines(ledger)["energy supplied"].get_ydata() == pytest.approx(
        np.full(51, 1e-3), rel=1e-12
    )
    assert ledger.get_ylabel() == "energy [mJ]"
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    parts = ["kinetic", "recoverable", "plastic", "viscous"]
    assert named[:5] == [*parts, "energy supplied"]


# --- all and files
@pytest.mark.parametrize(
    ("ending", "begins"),
    [
        (".png", b"\x89PNG"),
        pytest.param(".pdf", b"%PDF", marks=pytest.mark.long),
        pytest.param(".svg", b"<?xml", marks=pytest.mark.long),
    ],
)
def test_equal_figures_give_equal_bytes(ending, begins):
    one, two = (style.image_of(figures.overlaps(synthetic()), ending) for _ in range(2))
    assert one.startswith(begins) and one == two
    # two files of one second are equal even with a date in them
    assert b"CreationDate" not in one and b"<dc:date>" not in one


def test_what_rests_in_a_pressed_row_is_left_out_of_its_traces_and_ledger():
    free = synthetic(sensors=(3, 8))
    weak = 0.1 * free.sensor_force
    change = {"sensor_force": weak + 1e3}
    change["energy_recoverable"] = free.energy_recoverable + 1.0
    pressed = synthetic(sensors=(3, 8), change=change)
    rows = figures.force_traces(pressed).axes
    drawn_force = lines(rows[0])["hertz"].get_ydata()
    assert drawn_force == pytest.approx(weak[:, 0] - weak[0, 0], abs=1e-9)
    assert " ".join(rows[1].get_ylabel().split()) == "sensor force minus static force [N]"
    figure = figures.energy(pressed)
    assert "relative to the state at rest, with 1 J" in figure.get_label()
    limits = figures.energy(free).axes[0].get_ylim()
    assert figure.axes[0].get_ylim() == pytest.approx(limits, rel=0.2)


def test_ticks_of_beads_and_contacts_are_whole_and_each_of_few_values_has_a_dot():
    result = synthetic(beads=4, sensors=(1, 2, 3), contacts=(1, 2))
    of_pulses = figures.peaks(result).axes
    for axes in [*of_pulses, *figures.overlaps(result).axes]:
        assert all(float(tick).is_integer() for tick in axes.get_xticks()), axes.get_xlabel()
    arrival = lines(of_pulses[1])["hertz"]
    assert arrival.get_marker() == "o" and arrival.get_markevery() == [0, 1]
    # of many points, only those that no line joins to another
    many = np.arange(100.0)
    many[[4, 6]] = np.nan
    (line,) = of_pulses[0].plot(many, many)
    style.mark_values(line)
    assert line.get_markevery() == [5]


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
    (axes,) = figures_of(study)["peaks"]().axes
    assert {
        line.get_label(): line.get_ydata().tolist()
        for line in axes.get_lines()
        if len(line.get_ydata()) == 2
    } == {
        "striker speed 500 mm/s, restitution 0.9": [1.0, 2.0],
        "striker speed 2 m/s, no restitution": [3.0, 4.0],
    }
    assert figures_of(study.assign_attrs(how="sobol")) == {}


# --- drawn objects
SNAPSHOTS = ("snapshot_time", "displacement", "velocity")
ONE_SHOT = {"snapshot_time": np.zeros(1)} | dict.fromkeys(SNAPSHOTS[1:], np.zeros((1, 20)))
ENERGY = tuple(name for name in synthetic().variables if name.startswith("energy_"))
NEVER_CLOSED = {"largest_overlap": np.zeros(19)}


WRONG = (
    (partial(gc.run, "t.toml"), 'case: "t.toml" is not a Case. Make one with granchain.load_case.'),
    (partial(gc.dispersion, {}), "case: dict is not a Case"),
    (partial(gc.run_mechanism, 3),
     "case: int is not a MechanismCase. Make one with granchain.load_mechanism."),
    (partial(gc.spectrum, "gap.h5"),
     'spectrum: "gap.h5" is not a Result. It must be a Result. Open a file with granchain.open'),
    (partial(figures.force_traces, "pairs.h5"),
     'figure: "pairs.h5" is not a Result. It must be a Result. Open a file with granchain.open'),
    (partial(figures.spectrum, SMALL), "figure: Dataset is not supported. It must be a Spectrum"),
    (partial(figures.dispersion_curves, SMALL),
     "figure: Dataset is not supported. It must be a Dispersion"),
    (partial(figures.study_curves, "study.h5"),
     'study: "study.h5" is not a study. It must be the Dataset of a study. Create one with '
     "granchain.sweep"),
    (partial(figures.study_curves, SMALL, "peack"),
     'study: "peack" is not valid. It must be a variable of the study: peak. Did you mean '
     '"peak"'),
    (partial(figures.study_distribution, SMALL, "words"),
     'study: "words" is not valid. It must be a variable of the study: peak.'),
    (partial(figures.study_curves, SMALL, "peak", "bead"),
     'study: "bead" is not valid. It must be a dimension of peak: sensor_bead.'),
    (partial(figures.study_map, SMALL, "peak", "sensor_bead", "x"),
     'study: "x" is not valid. It must be a dimension of peak: sensor_bead'),
    (lambda: figures.force_traces(synthetic(), sensors=[4]),
     "figure: [4] is not valid. Each must be one of [3, 8, 13]"),
    (lambda: figures.energy(synthetic(), ax=Figure().subplots(3)),
     "ax: 3 objects of type Axes do not fit. It must be 2 Axes, one per panel. Create them with"),
    (lambda: figures.overlaps(synthetic(), ax=Figure()),
     "ax: 1 objects of type Figure do not fit. It must be 1 Axes"),
    (lambda: figures.space_time(synthetic(change=ONE_SHOT)), "too few snapshots or beads"),
    (lambda: figures.space_time(synthetic(without=SNAPSHOTS)), "[snapshots]"),
    (lambda: figures.overlaps(synthetic(change=NEVER_CLOSED)),
     "no contact closed. At least one closed contact is required"),
    (lambda: figures.energy(synthetic(without=ENERGY)),
     "no energy_time. To record it, record the energy balance: `ledger = true` under [energy]"),
    (figures.hysteresis, "no result"),
    (figures.impact_loops, "impact_loops: no impact. At least one impact is required"),
    (partial(figures.sensitivities, SMALL), "figure: Dataset has no variable first_order"),
)  # fmt: skip


def test_what_cannot_be_drawn_or_run_is_refused_with_how_to_get_it():
    for draw, said in WRONG:
        with pytest.raises(GranchainError, match=re.escape(said)):
            draw()
