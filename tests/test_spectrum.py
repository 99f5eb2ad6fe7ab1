"""Waves measured in runs: band edges compared with the dispersion relation, transmission, maps, and
refused runs."""

import json
import math
import re
from functools import partial

import numpy as np
import pytest
from support.refused import assert_refused, refused
from support.shaken import shaken_row

import granchain as gc
from granchain.case import Case
from granchain.cli import obey
from granchain.cli.text import answer_as_text
from granchain.errors import GranchainError
from granchain.store import Result
from granchain.waves.bands import FAR_IN_GAP, RecordedRow, bands_of, power_map
from granchain.waves.dispersion import cell_of
from granchain.waves.spectra import recorded_row, source_signal

NOISE = {"drive": "displacement", "signal": "noise", "ramp": 1e-3}


def dimer(seed=1, pressed=20.0, end=0.025, rms=1e-9, **contact):
    """Return a case with 40 alternating heavy and light beads between a wall that moves with noise
    and a wall at rest."""
    segments = [{"count": 1}, {"count": 1, "radius": 1.19e-3, "repeat": 20}]
    return Case(
        title="heavy and light beads under noise",
        chain={
            "segment": segments,
            "radius": 2.38e-3,
            "material": "steel-316",
            "precompression": pressed,
        },
        ends={"left": NOISE | {"band": [500.0, 1.3e5], "rms": rms, "seed": seed}, "right": "wall"},
        contact=contact or {"law": "hertz"},
        sensors={"beads": "all", "interval": 3e-6},
        time={"end": end},
    )


@pytest.fixture(scope="module")
def run():
    return gc.run(dimer())


@pytest.fixture(scope="module")
def found(run):
    return gc.spectrum(run, 3, 36)


def test_waves_that_open_contacts_are_named_by_the_run_and_by_its_spectrum():
    large = gc.run(dimer(rms=1e-6, end=2e-3))
    (said,) = [message for message in large.messages if "with a static load opened" in message.text]
    first = int(np.argmax((large.sensor_force <= 0.0).any(axis=1)))
    bead = int(large.sensor_bead[np.argmax(large.sensor_force[first] <= 0.0)])
    assert f"first at bead {bead} at {large.time[first]:.4g} s" in said.text
    found = gc.spectrum(large, segments=2)
    assert len(found.messages) == 1
    assert "measures 0 to " in found.messages[0]
    assert "of the static force, 20 N" in found.messages[0]
    assert not len(found.band_edges)


@pytest.mark.long
def test_the_edges_of_a_diatomic_chain_are_those_of_the_dispersion(found):
    known = gc.dispersion(dimer()).band_edges
    assert found.band_edges.shape == known.shape == (2, 2)
    off = np.abs(found.band_edges - known)
    assert (off[known > 0.0] < 0.01 * known[known > 0.0]).all()
    assert (off <= found.band_edge_errors).all()
    # the errors are not too large
    assert (found.band_edge_errors[known > 0.0] < 0.01 * known[known > 0.0]).all()
    assert found.dispersion.band_edges == pytest.approx(known, rel=1e-12)
    assert found.messages == ()
    assert (found.source, found.sensor) == ("bead 3", "bead 36")
    assert repr(found).endswith("; band 2, edge 2, frequency 1000, cell_frequency 1000>")


def changed(spectrum, **data):
    """Return a spectrum with other values of several variables."""
    every = {**{name: spectrum[name] for name in spectrum.variables}, **data}
    halves = every.pop("cosine_real"), every.pop("cosine_imag")
    every["cosine"] = halves[0] + 1j * halves[1]
    return gc.Spectrum(every, case=spectrum.case, groups=spectrum.groups)


def noisy_bands(size, curve, scatter, last):
    """Return the band edges found for a curve of cos q against the squared frequency, with
    noise."""
    frequency = np.linspace(0.0, last, 161)
    draw = np.random.default_rng(2).normal(0.0, scatter, (2, 161)) * [[1.0], [0.1]]
    cosine = curve(frequency**2) + draw[0] + 1j * draw[1]
    return bands_of(frequency, cosine, np.full(161, scatter), size)


def test_a_deep_gap_is_there_though_its_middle_is_not_known():
    # -20 at z = 4.58, where no line is visible; -1 at z = 0.2236
    found = noisy_bands(2, lambda z: 1.0 - 2.0 * math.sqrt(21.0) * z + z**2, 0.2, 0.58)
    assert abs(found.edges[0, 1] - math.sqrt(0.2236)) < found.errors[0, 1] < 0.02
    assert found.reasons[0, 1] == "" != found.reasons[1, 0]


def test_a_curve_that_turns_between_bands_is_that_of_no_row():
    # the curve turns at z = 1 and 2, where its values are -0.5 and -0.2, and reaches -1 at z = 2.86
    found = noisy_bands(
        3, lambda z: 1.0 - 1.8 * (z**3 / 3.0 - 1.5 * z**2 + 2.0 * z), 0.01, math.sqrt(3.0)
    )
    assert np.isnan(found.edges).all() and (found.reasons == "too much damping").all()
    assert len(found.messages) == 1 and found.messages[0].startswith(
        "no band edges: cos q deviates"
    )


LAWS = (
    {"law": "hertz"},
    {"law": "tsuji", "restitution": (0.8, 0.97)},
    {"law": "hunt-crossley", "restitution": (0.8, 0.97), "impact_speed": 1.0},
    {"law": "kuwabara-kono", "chi": 1e3},
    {"law": "ma-liu", "psi": 2.8, "xi": 3.0},
)


def random_cell(seed):
    """Return 48 beads with unit cells of 1 to 4 beads under noise, and the number of segments of
    the record."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    radii = 2e-3 * np.exp(rng.normal(0.0, rng.choice([0.02, 0.1, 0.3]), size))
    contact = {
        name: rng.uniform(*value) if isinstance(value, tuple) else value
        for name, value in LAWS[seed % 5].items()
    }
    segments = [{"count": 1, "radius": float(radius)} for radius in radii]
    segments[-1]["repeat"] = 48 // size
    pressed, pieces = float(rng.uniform(5.0, 60.0)), int(rng.integers(4, 17))

    def under_noise(top, end):
        noise = NOISE | {"band": [500.0, 1.3 * top], "rms": 1e-9, "seed": seed}
        return Case(
            title="cell under noise",
            chain={"segment": segments, "material": "steel-316", "precompression": pressed},
            contact=contact,
            ends={"left": noise, "right": "wall"},
            sensors={"beads": "all", "interval": 0.35 / top},
            time={"end": end, "step": "fast"},
        )

    top = float(gc.dispersion(under_noise(1e5, 1e-3)).band_edges[-1, 1])
    # 180 lines below the highest edge
    return under_noise(top, 180 * (pieces + 1) / top), pieces


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_edges_of_random_cells_lie_within_their_errors_or_are_withheld_with_a_reason():
    covered, bars, off, withheld = 0, [], [], 0
    cells = [random_cell(seed) for seed in range(100, 300)]
    runs = gc.run_many([case for case, _ in cells], threads=2)
    for run, (_, pieces) in zip(runs, cells, strict=True):
        found = gc.spectrum(run, segments=pieces)
        known, line = found.dispersion.band_edges, found.cell_frequency[1]
        stated = np.isfinite(found.band_edges) & (known > 0.0)
        assert ((found.band_edge_reasons == "") == stated)[known > 0.0].all()
        low, high = found.band_edges.T
        assert not (low >= high).any()
        away = np.abs(found.band_edges - known)[stated]
        covered += int((away <= found.band_edge_errors[stated]).sum())
        off.extend(away / line)
        bars.extend(found.band_edge_errors[stated] / line)
        # in a coherent record: the fit uses one line on each side of the edge
        with np.errstate(invalid="ignore"):
            lines = found.cell_frequency[np.abs(found.cosine) < FAR_IN_GAP]
        apart = lines - known[..., None]
        below, above = ((abs(apart + side * line) < line).any(axis=-1) for side in (1.0, -1.0))
        near = below & above
        clear = found.band_edge_reasons != "gap not resolved"
        withheld += int((near & clear & ~stated & (known > 0.0)).sum())
    print(f"{len(off)} edges, {covered} within their errors, {withheld} withheld; median error")
    print(f"{np.median(off):.3f} lines, median stated {np.median(bars):.3f}")
    assert len(off) > 500
    assert covered >= 0.93 * len(off)
    assert np.median(bars) <= 4.0 * np.median(off)
    assert withheld <= 0.1 * (len(off) + withheld)


def test_transmission_is_large_in_a_band_and_small_in_the_gap(found):
    (_, first), (second, _) = found.dispersion.band_edges
    inside = (found.frequency > 0.1 * first) & (found.frequency < 0.95 * first)
    gap = (found.frequency > 1.2 * first) & (found.frequency < 0.9 * second)
    assert np.median(found.transmission[inside]) > 0.5
    assert np.median(found.transmission[gap]) < 0.03
    # of two runs, such as both directions of a row, one line each, in one unit
    both = gc.figures.spectrum(found, changed(found, transmission=2.0 * found.transmission))
    drawn = [line for line in both.axes[0].get_lines() if not line.get_label().startswith("_")]
    one, two = (np.nanmax(line.get_ydata()) for line in drawn)
    assert two == 2.0 * one and drawn[0].get_color() != drawn[1].get_color()
    with pytest.raises(gc.errors.GranchainError, match="must have the same unit"):
        gc.figures.spectrum(found, changed(found, unit="N/m"))
    assert np.median(found.coherence[inside]) > 0.95 > 0.5 > np.median(found.coherence[gap])
    assert (found.source, found.sensor, found.unit) == ("bead 3", "bead 36", "1")


def test_the_map_lies_on_the_dispersion(found):
    assert found.measured == "sensor_force"
    assert found.power.shape == (found.cell_frequency.size, found.wavenumber.size)
    # below half of the first edge, where the curve is steep: the strongest frequency at wavenumbers
    # to the right
    rows = found.cell_frequency < 1.1 * found.dispersion.band_edges[0, 1]
    columns = (found.wavenumber > 0.3 * math.pi) & (found.wavenumber < 0.9 * math.pi)
    power = found.power[rows][:, columns]
    centre = found.cell_frequency[rows] @ power / power.sum(axis=0)
    known = found.dispersion.frequency(found.wavenumber[columns])[:, 0]
    # the modes of 20 unit cells are pi/20 apart
    assert centre == pytest.approx(known, rel=0.12)


def test_a_wave_to_the_right_has_a_positive_wavenumber():
    time, beads, q = np.arange(4096) * 1e-5, np.arange(1, 33), 0.6
    values = np.cos(2.0 * math.pi * 5e3 * time[:, None] - q * beads)
    wavenumber, power = power_map(RecordedRow(values, beads, 1e-5, "velocity", 1, 512))
    row, column = np.unravel_index(np.argmax(power), power.shape)
    assert (wavenumber[column], row / (512 * 1e-5)) == (
        pytest.approx(q, abs=0.06),
        pytest.approx(5e3, abs=100.0),
    )


def test_the_source_of_a_run_that_goes_on_is_its_drive_by_the_runs_own_clock(plain_loop):
    begun = shaken_row(
        2, 2e4, 1e-9, 0.0, **{"time": {"end": 1.3e-5, "step": 1e-7}, "sensors.beads": [2]}
    )
    going = gc.run(begun.replace(initial=gc.run(begun)))
    signal, name, unit = source_signal(going, "left", ["left"], going.time, 2)
    known = 1e-9 * np.sin(2.0 * math.pi * 2e4 * (going.time + 1.3e-5))
    assert signal == pytest.approx(known, abs=1e-14)
    assert (name, unit) == ("left drive", "N/m")


def test_a_wave_from_the_right_end_is_listened_to_at_the_first_bead():
    run = gc.run(dimer(end=2e-3))
    ends, data = run.case.ends, {name: one.data for name, one in run.variables.items()}
    case = run.case.replace(ends={"left": ends.right, "right": ends.left})
    told = {"law": run.law, "status": run.status, "time_step": run.time_step}
    found = gc.spectrum(Result(data, case=case, **told), segments=2)
    assert (found.source, found.sensor) == ("right drive", "bead 1")


def test_samples_too_far_apart_for_the_bands_are_named_with_the_interval_that_is_short_enough():
    run = gc.run(dimer(end=2e-3))
    data = {name: one.data for name, one in run.variables.items()}
    data |= {name: data[name][::4] for name in ("time", "sensor_force")}
    told = {"law": run.law, "status": run.status, "time_step": run.time_step}
    rare, top = Result(data, case=run.case, **told), gc.dispersion(run.case).band_edges[-1, 1]
    (said,) = (one for one in gc.spectrum(rare, segments=2).messages if "aliased" in one)
    # the Nyquist frequency, half of the sampling frequency
    assert f"up to {0.5 / (4.0 * run.time[1]):.4g} Hz, but the bands extend to {top:.4g}" in said
    assert said.endswith(f"Set the interval under [sensors] to {0.4 / top:.1e} or less")


def test_the_row_of_a_map_is_the_repeated_part_and_without_its_ends_where_forces_are_measured():
    case = dimer(end=5e-4)
    run, cell = gc.run(case.replace(snapshots={"interval": 3e-6})), cell_of(case)
    both = recorded_row(run, cell, 1)
    forces = recorded_row(gc.run(case.replace(snapshots=None)), cell, 1)
    assert (both.measured, forces.measured) == ("velocity", "sensor_force")
    assert both.beads.tolist() == list(range(cell.first, cell.last + 1))
    assert forces.beads.tolist() == list(range(cell.first + 1, cell.last))
    known = run.velocity[: len(both.values), cell.first - 1 : cell.last]
    assert len(known) == 167 and both.values == pytest.approx(known, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("beads", "pressed", "shape"),
    [([2, 30], 20.0, (0, 0)), ([*range(1, 8), 9], 0.0, (112, 0)), ("all", 0.0, (112, 256))],
)
def test_a_spectrum_without_a_cell_or_a_map_is_saved_and_plotted(beads, pressed, shape, tmp_path):
    case = dimer(end=1e-3, pressed=pressed, rms=1e-7).replace(**{"sensors.beads": beads})
    found = gc.spectrum(gc.run(case), segments=2)
    assert found.power.shape == shape and np.isnan(found.cosine).all()
    assert (found.dispersion is None) == (pressed == 0.0) and not len(found.band_edges)
    found.save(tmp_path / "a.h5")
    opened = gc.open(tmp_path / "a.h5")
    assert opened.equals(found) and repr(opened) == repr(found)
    assert len(gc.figures.spectrum(opened).axes) == (3 if found.power.size else 2)


def test_what_is_no_place_is_refused(run):
    rows = [(asked, f"^{re.escape(words)}") for asked, words in refused("spectrum")]
    assert_refused(lambda asked: gc.spectrum(run, **asked), rows, GranchainError)


@pytest.mark.long
@pytest.mark.usefixtures("blank_pictures")
def test_the_command_draws_and_prints(run, found, tmp_path, obeyed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run.save("dimer.h5")
    asked = ["spectrum", "dimer.h5", "--from", "3", "--to", "36", "--out", "waves.h5"]
    facts = json.loads(obeyed(*asked, "--figure", "dimer.png", "--json").out)
    assert facts["band_edges"] == found.band_edges.tolist()
    assert facts["frequency"]["shape"] == [len(found.frequency)]
    assert facts["dispersion"]["band_edges"] == facts["predicted_band_edges"]
    assert (tmp_path / "dimer.png").read_bytes().startswith(b"\x89PNG")
    assert facts["file"] == "dimer.h5" and facts["source"] == "bead 3"
    assert facts["figure"] == "dimer.png" and facts["out"] == "waves.h5"
    for wrong in (["--from", "a"], ["--to", "-1"]):
        assert obey(["spectrum", "dimer.h5", *wrong]) == 2
    assert obey(asked) == obey([*asked[:-1], "waves.json"]) == 4
    again = gc.open("waves.h5")
    assert again.equals(found) and again.dispersion.equals(gc.dispersion(run.case))
    assert again.provenance["law_sha256"] == run.provenance["law_sha256"]
    assert answer_as_text(again) == answer_as_text(found)
    drawn = [[line.get_xydata() for axes in gc.figures.spectrum(one).axes for line in axes.lines]
             for one in (again, found)]  # fmt: skip
    assert len(drawn[0]) > 5 and all(map(partial(np.array_equal, equal_nan=True), *drawn))
    assert obeyed("plot", "waves.h5").out == "waves-spectrum.png\n"
    assert "@book{johnson-1985," in obeyed("cite", "waves.h5").out
    page = gc.report("waves.h5").decode()
    assert "Spectrum: heavy and light beads" in page and "Figure not available" not in page
    assert page.count(f">{found.band_edges[0, 1]:.6g}<") == 1
    rows = [line.split() for line in answer_as_text(found).splitlines()]
    assert ["source", "bead", "3"] in rows and ["sensor", "bead", "36"] in rows
    for band, edges in enumerate(found.band_edges.tolist(), 1):
        assert any(row[:3] == [str(band), *(f"{edge:.6g}" for edge in edges)] for row in rows)
