"""Laws against measured impacts: what the folders hold, the figures that were computed of them,
and what is refused."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.printed import differences

import granchain as gc
from granchain import figures
from granchain.certificates import example_pair
from granchain.cli import obey
from granchain.comparison import impacts as comparing
from granchain.comparison import read_impacts
from granchain.comparison.impacts import compare_impacts
from granchain.contact import laws
from granchain.contact.law import ContactLaw, Source
from granchain.contact.viscous import Half
from granchain.errors import CaseError, FileError, LawError, TraceError
from granchain.two_body import impact

DATA = Path(__file__).parents[1] / "data"
STEEL, CROQUET, LINES = DATA / "leeb-steel", DATA / "gugan-croquet", DATA / "one-line-impacts"
PAGE = Path(__file__).parents[1] / "docs" / "measured.md"
HARDNESSES = [f"D {hardness} HV" for hardness in (200, 300, 400, 500, 600, 700, 800)]


def by_case(one, quantity="restitution"):
    """Computed numbers of a law, by case."""
    return {
        row.measured.case: row.computed for row in one.rows if row.measured.quantity == quantity
    }


# --- what the folders hold
# --------------------------------------------------------------------------------------------


def test_the_restitutions_of_device_d_are_those_of_the_converter():
    # HV = .00264169 HL^2 - 1.900271 HL + 519.8346 for HL = 1000 e; 9.807 MPa is 1 kgf/mm2
    rows = [row for row in read_impacts(STEEL).rows if row.use == "fit"]
    assert [row.case for row in rows] == HARDNESSES
    for row in rows:
        level = 1e3 * row.measured
        vickers = 0.00264169 * level**2 - 1.900271 * level + 519.8346
        assert row.stated["hardness"] == pytest.approx(9.807e6 * vickers, rel=1e-3)


def test_the_diameters_agree_with_the_printed_depths_but_where_a_misprint_is_named():
    about = read_impacts(STEEL).about
    depths, printed = (
        next(fact.value for fact in about.fact if fact.what.startswith(start))
        for start in ("depth of", "diameter of the ind")
    )
    rows = [row for row in read_impacts(STEEL).rows if row.quantity == "contact_diameter"]
    for row, depth, said in zip(rows, depths, printed, strict=True):
        # depth = d^2/(8 R): a cap of the ball; its digits are whole micrometres, those of the
        # diameter hundredths of a millimetre
        cap = [
            (row.measured + off) ** 2 / (8.0 * row.stated["effective_radius"])
            for off in (-5e-6, 5e-6)
        ]
        assert cap[0] - 0.5e-6 <= depth <= cap[1] + 0.5e-6
        assert (said != row.measured) is bool(row.doubt)
    assert [row.case for row in rows if row.doubt] == ["D 600 HV", "C 800 HV"]


def test_the_modulus_of_the_croquet_ball_is_that_of_the_printed_time_of_contact():
    row = next(
        row
        for row in read_impacts(CROQUET).rows
        if row.quantity == "duration" and row.stated["speed"] == 2.19
    )
    stiffness = gc.Pair(
        **{name: value for name, value in row.stated.items() if name != "speed"}
    ).hertz_stiffness
    # T = 2.9432752 d/v, (2/5) K d^2.5 = m v^2/2; three digits of the modulus, of which the time
    # takes two fifths
    d = (1.25 * row.stated["effective_mass"] * 2.19**2 / stiffness) ** 0.4
    assert 2.9432752 * d / 2.19 == pytest.approx(row.measured, rel=4e-4)


def test_values_of_printed_formulas_are_what_the_formulas_give():
    for row in read_impacts(CROQUET).rows:
        if "formula" in row.doubt:
            # Gugan 2000: 1 - e^2 = .213 + .077 U^.4
            assert row.measured == pytest.approx(
                math.sqrt(1.0 - 0.213 - 0.077 * row.stated["speed"] ** 0.4), abs=5e-5
            )
    for row in read_impacts(LINES).rows:
        if "formula" in row.doubt:
            # Bridges et al.: e = min(1, .34 v^-.234), v in cm/s
            assert row.measured == pytest.approx(
                min(1.0, 0.34 * (100.0 * row.stated["speed"]) ** -0.234), abs=5e-5
            )


# --- the figures
# --------------------------------------------------------------------------------------------------

# Computed once by an engine of November 2026, rms of e over the seven points with the best ratio of
# hardness to yield stress; digits as they were written down.
FITTED = {
    "du-wang": (0.012, 2.51),
    "burgoyne-daraio": (0.017, 2.49),
    "stronge": (0.020, 2.37),
    "ma-liu": (0.023, 3.72),
    "thornton": (0.043, 1.26),
    "brake": (0.19, None),
    # first computed with this comparison
    "jackson-green": (0.018, 1.99),
}
FAST = ("ma-liu",)


def of_laws(names):
    """Each law; but for a few, whose loops other tests compile too, among the long tests."""
    return [pytest.param(name, marks=() if name in FAST else pytest.mark.long) for name in names]


@pytest.mark.parametrize("law", of_laws(FITTED))
def test_the_fitted_ratio_of_a_law_comes_out_as_it_did(law, figure):
    rms, ratio = FITTED[law]
    one = compare_impacts(law, STEEL, fit="yield_stress_ratio").laws[law]
    figure(
        f"{law}: rms of e over steel of 200 to 800 HV, less the one written down",
        abs(one.rms - rms),
        at_most=1e-3,
    )
    if ratio is not None:
        assert one.fitted == pytest.approx(ratio, abs=0.006)
    computed, measured = (
        by_case(one),
        {row.measured.case: row.measured.measured for row in one.rows if row.measured.use == "fit"},
    )
    assert one.rms == pytest.approx(
        math.sqrt(np.mean([(computed[case] - measured[case]) ** 2 for case in HARDNESSES])),
        rel=1e-12,
    )
    # no rate: D and D+15 have one energy; the time step leaves 1e-6
    for block in ("hard", "soft"):
        assert computed[f"D {block} block"] / computed[f"D+15 {block} block"] == pytest.approx(
            1.0, abs=2e-6
        )
    # the status of the law says what came out
    found = re.search(
        r"rms ([\d.]+) of e with the best ratio of hardness to yield stress, ([\d.]+)",
        laws()[law].status,
    )
    assert found and abs(float(found[1]) - one.rms) <= 0.5 * 10.0 ** -len(
        found[1].partition(".")[2]
    )
    assert abs(float(found[2]) - one.fitted) <= 0.006


@pytest.mark.long
def test_a_law_outside_its_range_says_so_and_is_not_extrapolated():
    law = "kogut-etsion"
    found = compare_impacts([law], STEEL)
    one = found.laws[law]
    soft = next(row for row in one.rows if row.measured.case == "D 200 HV")
    assert soft.computed is None and soft.problem and law in soft.problem
    assert by_case(one)["D 300 HV"] is not None
    assert one.rms is None and found.ranking == []
    # what its status says of the others: e too low by
    low, high = map(
        float,
        re.search(r"e too low by ([\d.]+) to ([\d.]+) from 300 HV on", laws()[law].status).groups(),
    )
    off = [
        -row.residual
        for row in one.rows
        if row.measured.case in HARDNESSES[1:] and row.measured.quantity == "restitution"
    ]
    assert (round(min(off), 2), round(max(off), 2)) == (low, high)


def test_a_row_outside_a_laws_range_is_listed(plain_loop, monkeypatch):
    # Hertz with an end: what kogut-etsion does at 200 HV, without its loop
    def short(c):
        return 5e-5

    monkeypatch.setattr(laws()["hertz"], "overlap_limit", staticmethod(short))
    one = compare_impacts("hertz", STEEL).laws["hertz"]
    problems = {
        row.measured.case: row.problem for row in one.rows if row.measured.quantity == "restitution"
    }
    # largest overlaps of Hertz: 25 um under D, 14 um under C, 52 um under G
    assert problems["G hard block"].startswith(
        "outside the range of hertz: An overlap is beyond the largest one"
    )
    assert problems["D hard block"] == ""
    assert one.rms is not None


def test_one_damping_constant_says_the_croquet_balls_restitution_at_all_speeds(figure):
    found = compare_impacts(["kuwabara-kono", "hertz", "tsuji"], CROQUET, fit="damping")
    assert found.ranking == ["kuwabara-kono", "tsuji"]
    one, constant = found.laws["kuwabara-kono"], found.laws["tsuji"]
    assert one.parameter == "chi" and one.unit == "N s/m^1.5"
    ranked = [row for row in one.rows if row.measured.use != "show"]
    assert len(ranked) == 10
    figure(
        "kuwabara-kono: e at ten speeds, largest residual",
        max(abs(row.residual) for row in ranked),
        at_most=0.01,
    )
    times = [row for row in one.rows if row.measured.quantity == "duration"]
    figure(
        "kuwabara-kono: time of contact, relative",
        max(abs(row.residual / row.measured.measured) for row in times),
        at_most=0.06,
    )
    # as computed once: e at .50, 1.00 ... in the order of the table
    once = [0.865, 0.848, 0.834, 0.827, 0.828, 0.817, 0.810, 0.802, 0.795, 0.792]
    assert [row.computed for row in ranked] == pytest.approx(once, abs=6e-4)
    # the row that it was fitted to; the others of the dashpot are the same, while the measured fall
    # by six points
    fitted = next(row for row in one.rows if row.measured.use == "fit")
    assert abs(fitted.residual) < 1e-4
    same = [row.computed for row in constant.rows if row.measured.use != "show"]
    assert max(same) - min(same) < 1e-5
    assert (
        found.laws["hertz"].problem
        == "nothing to fit: hertz has no damping constant among its inputs"
    )


def test_the_rows_without_a_modulus_are_listed_and_one_may_be_given():
    one = compare_impacts("hertz", LINES)
    alumina = one.laws["hertz"].rows[0]
    assert (
        alumina.computed is None
        and "effective_modulus: got nothing" in alumina.problem
        and one.ranking == []
    )
    given = compare_impacts("hertz", LINES, pair={"effective_modulus": 5e10})
    assert given.ranking == ["hertz"] and given.laws["hertz"].rows[0].computed == pytest.approx(
        1.0, abs=1e-5
    )
    ice = given.laws["hertz"].rows[-1]
    assert ice.problem == "the effective_radius of the two bodies is not stated"
    with pytest.raises(
        CaseError, match=r"pair\.effective_mass: got a value, allowed none: the folder states it"
    ):
        compare_impacts("hertz", CROQUET, pair={"effective_mass": 1.0})


# --- contact radius
# --------------------------------------------------------------------------------------------------


def test_an_impact_and_a_run_say_the_contact_radius():
    pair = example_pair()
    found = impact(law="hertz", pair=pair, speed=1.0)
    assert found.contact_radius == pytest.approx(
        math.sqrt(float(pair.effective_radius) * found.max_overlap), rel=1e-12
    )
    assert "contact_radius" in found.numbers()
    assert impact(law="flores", pair=pair, speed=1.0, restitution=0.8).contact_radius is None
    case = gc.load_case("steel-chain-hertz").replace(
        **{"chain.beads": 40, "sensors.beads": [3], "sensors.contacts": [0], "snapshots": None}
    )
    # the wave is some 25 beads on
    result = gc.run(case.replace(**{"time.end": 3e-5}))
    largest = float(result.contact_overlap[:, 0].max())
    # samples every .2 us of a contact of 20 us: the largest lies within (.1/10)^2 of the top
    assert result.contact_radius[0] == pytest.approx(math.sqrt(0.5 * 2.38e-3 * largest), rel=1e-3)
    assert result.contact_radius.shape == result.contact.shape and result.contact_radius[-1] == 0.0
    assert (result.variables["contact_radius"].unit, result.variables["contact_radius"].dims) == (
        "m",
        ("contact",),
    )


def test_a_contact_radius_that_is_no_static_function_is_refused():
    with pytest.raises(LawError, match="contact_radius: got no @staticmethod"):

        class Wrong(Half):
            """Wrong."""

            name = "wrong-radius"
            source = Source("none")

            contact_radius = lambda overlap, radius, c, h: 0.0  # noqa: E731

    assert "wrong-radius" not in laws() and not ContactLaw.has_contact_radius()


# --- wrong input
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A copy of the croquet ball's folder."""
    return Path(shutil.copytree(CROQUET, tmp_path / "mine"))


def edited(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "impacts.csv",
            "speed [m/s]",
            "speed",
            r"impacts\.csv\.speed: got a column without a unit, allowed speed \[m/s\]; write the",
        ),
        (
            "impacts.csv",
            ",source,",
            ",sauce,",
            r"sauce: got an unknown column, allowed .*; did you mean \"source\"",
        ),
        (
            "impacts.csv",
            "0.857,1,",
            "0.857,,",
            r"row 1, measured: got \"0\.857 \", allowed a finite number and its unit, such as 1",
        ),
        (
            "impacts.csv",
            "gugan-2002,",
            ",",
            r"row 1, source: got nothing, allowed the name of a \[\[source\]\] of about\.toml:",
        ),
        (
            "impacts.csv",
            "not stated,fit",
            ",fit",
            r'row 6, uncertainty: got nothing, allowed a number in the same unit, or "not stated"',
        ),
        (
            "impacts.csv",
            "0.857,",
            "much,",
            r"row 1, measured: got \"much 1\", allowed a finite number and its unit",
        ),
        (
            "impacts.csv",
            "duration,0.97e-3,s,not stated,show",
            "duration,0.97e-3,s,not stated,rank",
            r"use: got ranks by duration and rest",
        ),
        (
            "impacts.csv",
            "0.50,0.679e9",
            "-0.50,0.679e9",
            r"row 1, speed: got \"-0\.50\", allowed a number above 0",
        ),
        (
            "impacts.csv",
            "0.679e9,gugan-2002,",
            "0.679e9,gugan-2002",
            r"row 1: got 9 cells, allowed 10",
        ),
        (
            "about.toml",
            'name = "effective_radius"',
            'name = "radius"',
            r"constant\.radius: got an unknown name, allowed speed",
        ),
    ],
)
def test_a_folder_that_misses_a_unit_or_a_source_is_refused_with_what_is_missing(
    folder, file, old, new, said
):
    edited(folder / file, old, new)
    with pytest.raises(TraceError, match=said) as raised:
        read_impacts(folder)
    assert str(folder) in str(raised.value)


def test_a_folder_without_sources_is_refused(folder):
    text = (folder / "about.toml").read_text()
    (folder / "about.toml").write_text(re.sub(r"\[\[source\]\]\n(?:.+\n)+", "", text))
    with pytest.raises(
        TraceError,
        match=r"source: got nothing, allowed tables \[\[source\]\]; give where the numbers are",
    ):
        read_impacts(folder)


def test_missing_files_are_named(folder, tmp_path):
    with pytest.raises(
        FileError,
        match=r"nowhere: got no folder, allowed one that holds about\.toml and impacts\.csv; name",
    ):
        read_impacts(tmp_path / "nowhere")
    (folder / "impacts.csv").unlink()
    with pytest.raises(FileError, match=r"impacts\.csv: got no file of this name"):
        read_impacts(folder)
    for content, said in (
        (b"case\n", "got 1 rows"),
        (b"\xff\xfe", "not UTF-8"),
        (b'a,b\n"x,y\n', "no such column"),
    ):
        (folder / "impacts.csv").write_bytes(content)
        with pytest.raises(TraceError, match=said):
            read_impacts(folder)


def test_the_folder_that_the_how_to_page_shows_is_read(tmp_path):
    text = (PAGE.parent / "how-to" / "measured-impacts.md").read_text()
    about, rows = (
        body
        for language, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if not language
    )
    (tmp_path / "about.toml").write_text(about)
    (tmp_path / "impacts.csv").write_text(rows)
    found = read_impacts(tmp_path)
    assert [(row.quantity, row.measured, row.uncertainty) for row in found.rows] == [
        ("restitution", 0.93, 0.01),
        ("duration", 1.1e-4, None),
    ]
    assert found.rows[0].stated == {"effective_radius": 8e-3, "speed": 1.2} and found.inputs == {
        "psi": 2.84
    }


def test_units_other_than_si_are_read(folder):
    edited(folder / "impacts.csv", "0.97e-3,s,", "0.97,ms,")
    edited(folder / "about.toml", 'value = 0.4536\nunit = "kg"', 'value = 453.6\nunit = "g"')
    assert read_impacts(folder).rows == read_impacts(CROQUET).rows


def test_wrong_arguments_are_refused():
    for arguments, said in (
        (("hertzz", STEEL), 'law: got "hertzz", allowed a known name; did you mean "hertz"'),
        (({"ma-liu": {"psy": 1.0}}, STEEL), r"ma-liu\.psy: got an unknown input of ma-liu"),
        (({"ma-liu": {"psi": -1.0}}, STEEL), r"ma-liu\.psi: got -1\.0, allowed: a number above 0"),
        (([], STEEL), "laws: got none"),
        (("hertz", STEEL, "yield"), r'fit: got "yield", allowed: "yield_stress_ratio"'),
        (("hertz", STEEL, None, {"mass": 1.0}), r"pair\.mass: got an unknown quantity"),
    ):
        with pytest.raises(CaseError, match=said):
            compare_impacts(*arguments)


def test_laws_without_what_they_need_are_listed_not_run(monkeypatch):
    monkeypatch.setattr(comparing, "impact", None)
    found = compare_impacts(["flores", "vu-quoc-zhang"], STEEL)
    assert {row.problem for row in found.laws["flores"].rows} == {
        "the law needs restitution, which the folder does not state"
    }
    assert "yield_force and C_a and K_c" in found.laws["vu-quoc-zhang"].rows[0].problem
    fitted = compare_impacts("flores", STEEL, fit="yield_stress_ratio").laws["flores"]
    assert fitted.fitted is None and fitted.rms is None


# --- a minimum of one number
# ------------------------------------------------------------------------------------------


def test_a_minimum_is_found_beside_where_a_law_ends():
    # infinite below 2: as a law without a force there
    found = comparing.minimum_of(
        lambda x: (math.log(x) - 1.0) ** 2 if x > 2.0 else math.inf, 0.7, 11.2
    )
    assert found == pytest.approx(math.e, rel=1e-3)
    assert comparing.minimum_of(lambda x: math.inf, 1.0, 2.0) is None
    # at the end of the range, and with a value that is worse a little further
    assert comparing.minimum_of(lambda x: -x, 1.0, 2.0) == pytest.approx(2.0, rel=1e-3)


# --- command line, figure, page
# ---------------------------------------------------------------------------------------


FITTING = ("impact", "ma-liu", "--data", str(STEEL), "--fit", "yield_stress_ratio")


def told(capsys, *arguments):
    assert obey(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_the_command_prints_ranking_tables_and_reasons(capsys):
    text = told(capsys, *FITTING, "hertz")
    assert re.search(
        r"^ma-liu +3\.718 +0\.02344 +\+0\.0503  D 200 HV$\n\nrestitution\n", text, re.MULTILINE
    )
    assert re.search(r"^D hard block +0\.760000 +0\.006 +0\.7496", text, re.MULTILINE)
    assert "contact diameter [m]" in text
    assert "Doubt: Two printed diameters are misprints" in text.replace("\n", " ")
    assert "hertz: nothing to fit: hertz does not read the yield stress" in text


def test_the_json_has_one_row_for_each_measured_number(capsys):
    found = json.loads(told(capsys, *FITTING, "--json"))
    told_of = found["kind"], found["fit"], found["ranking"]
    assert told_of == ("printed", "yield_stress_ratio", ["ma-liu"])
    law = found["laws"]["ma-liu"]
    fitted = {"name": "yield_stress_ratio", "value": pytest.approx(3.72, abs=6e-3), "unit": "1"}
    assert law["rms"] == pytest.approx(0.023, abs=1e-3) and law["fitted"] == fitted
    with (STEEL / "impacts.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["case"], row["quantity"], row["measured"]) for row in law["rows"]] == [
        (row["case"], row["quantity"], float(row["measured"])) for row in rows
    ]
    keys = {"case", "quantity", "measured", "uncertainty", "computed"}
    assert all(keys <= row.keys() for row in law["rows"])
    assert law["rows"][7]["uncertainty"] == 0.006 and law["rows"][0]["uncertainty"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("hertz", "--data", "nowhere"), 4, "nowhere: got no folder"),
        (
            ("hertz", "--data", str(STEEL), "--speed", "1"),
            2,
            "got --speed beside --data, allowed neither",
        ),
        (("hertz", "--data", str(STEEL), "--set", "psy=1"), 2, "psy: got an unknown key"),
        (
            ("hertz", "--data", str(STEEL), "--set", "material=steel-316"),
            2,
            "material: got a material, allowed none",
        ),
        (
            ("hertz", "--data", str(STEEL), "--fit", "psi"),
            2,
            'fit: got "psi", allowed: "yield_stress_ratio"',
        ),
        (("hertz", "--speed", "1", "--fit", "damping"), 2, "got --fit without --data"),
        (("--speed", "1"), 2, "got no law, allowed one at least, or --data DIR"),
    ],
)
def test_wrong_options_end_in_a_sentence(capsys, arguments, code, said):
    assert obey(("impact", *arguments)) == code
    assert said in capsys.readouterr().err


def test_the_figure_shows_measured_and_computed_with_error_bars(tmp_path):
    found = compare_impacts(["ma-liu", "hertz", "flores"], STEEL)
    figure, panels = figures.impact_comparison(found)
    assert len(panels) == 2
    first = panels[0]
    assert [label.get_text() for label in first.get_yticklabels()][:2] == ["D 200 HV", "D 300 HV"]
    lines = {line.get_label() for line in first.get_lines()}
    # flores computes nothing, and is not drawn
    assert {"ma-liu", "hertz"} <= lines and "flores" not in lines
    (bars,) = first.containers
    drawn = [len(segment) == 2 for segment in bars.lines[2][0].get_segments()]
    assert sum(drawn) == 8
    assert bars.lines[0].get_xdata()[drawn.index(True)] == 0.760
    assert panels[1].get_xlabel() == "contact diameter [mm]"
    figures.save(figure, tmp_path / "steel.png")
    assert (tmp_path / "steel.png").read_bytes().startswith(b"\x89PNG")


def test_the_lines_of_some_laws_are_what_the_script_prints(script):
    text = PAGE.read_text()
    made = [
        script.steel_line("ma-liu", None),
        script.steel_line("ma-liu", "yield_stress_ratio"),
        script.rate_line("ma-liu"),
    ]
    made += [
        script.rate_measured(),
        script.diameter_line("ma-liu", None),
        script.croquet_line("kuwabara-kono"),
    ]
    for cells in made:
        line = "| " + " | ".join(cells) + " |"
        assert any(not differences(shown, line) for shown in text.splitlines()), (
            f"{line}\nwrite it anew: python docs/measured.py > docs/measured.md"
        )
    # e(C)/e(D) of the blocks: 822/760 and 590/530
    assert [cell.split()[0] for cell in script.rate_measured()[3:5]] == ["1.082", "1.113"]


@pytest.mark.long
def test_the_page_is_what_the_script_prints(script):
    assert not differences(PAGE.read_text(), script.page()), (
        "write it anew: python docs/measured.py > docs/measured.md"
    )


@pytest.mark.long
def test_all_laws_are_compared_or_say_why_not():
    for folder, fit in ((STEEL, "yield_stress_ratio"), (CROQUET, "damping"), (STEEL, None)):
        found = compare_impacts(None, folder, fit=fit)
        assert found.laws.keys() == laws().keys()
        for one in found.laws.values():
            assert all(row.computed is not None or row.problem for row in one.rows)
            assert one.rms is not None or one.problem or any(row.problem for row in one.rows)
            # a law of no rate does not tell D from D+15
            computed = by_case(one)
            if not laws()[one.law].uses_rate and computed.get("D hard block"):
                assert computed["D hard block"] / computed["D+15 hard block"] == pytest.approx(
                    1.0, abs=2e-6
                )
