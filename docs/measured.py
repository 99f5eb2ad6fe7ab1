"""Print docs/measured.md: contact laws against measured impacts that are printed.

    python docs/measured.py > docs/measured.md

Every number of the page is read from data/ or computed here; none is typed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from textwrap import fill

import numpy as np

import granchain as gc
from granchain.comparison import read_impacts
from granchain.comparison.impacts import LawAgainstImpacts, at_bound
from granchain.contact.guard import Elastoplastic
from granchain.pages.blocks import markdown_table as table

DATA = Path(__file__).parents[1] / "data"
STEEL, CROQUET, LINES = "leeb-steel", "gugan-croquet", "one-line-impacts"
RATIO, DAMPING = "yield_stress_ratio", "damping"


@cache
def against(law: str, folder: str, fit: str | None) -> LawAgainstImpacts:
    """One law against one folder."""
    return gc.compare_impacts(law, DATA / folder, fit).laws[law]


def yielding() -> list[str]:
    """Laws with a dent that a folder with a hardness says enough for."""
    return [
        name
        for name, law in gc.laws().items()
        if issubclass(law, Elastoplastic) and says_enough(name, STEEL)
    ]


def damped() -> list[str]:
    """Laws with one damping constant."""
    names = {"chi", "alpha", "restitution"}
    return [
        name
        for name, law in gc.laws().items()
        if names & {quantity.name for quantity in law.inputs}
    ]


def says_enough(law: str, folder: str) -> bool:
    """Whether a folder states every input that a law requires."""
    stated = read_impacts(DATA / folder).inputs
    return all(quantity.name in stated for quantity in gc.laws()[law].inputs if quantity.required)


# --------------------------------------------------------------------------------------------------
# Cells


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many decimals; a dash where there is none."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def values(
    one: LawAgainstImpacts, cases: Sequence[str], quantity: str = "restitution"
) -> list[float]:
    """Computed numbers of some cases; nan where there is none."""
    found = {(row.measured.case, row.measured.quantity): row.computed for row in one.rows}
    return [math.nan if (value := found[case, quantity]) is None else value for case in cases]


def measured(folder: str, cases: Sequence[str], quantity: str = "restitution") -> list[float]:
    """Measured numbers of some cases."""
    found = {(row.case, row.quantity): row.measured for row in read_impacts(DATA / folder).rows}
    return [found[case, quantity] for case in cases]


def unstated(empty: int, count: int) -> list[str]:
    """The row of uncertainties of a table whose source states none, below the measured one."""
    return ["uncertainty", *[""] * empty, *["not stated"] * count]


def link(law: str) -> str:
    """The name of a law, leading to its page."""
    return f"[{law}](laws.md#{law})"


# What would begin a list, a heading or a table where a line begins with it.
SIGNS = ("-", "+", "*", "#", "=", "|")


def words(text: str, bullet: str = "") -> str:
    """A paragraph, or an entry of a list, in lines of which none begins with a sign that
    Markdown reads."""
    for width in range(140, 80, -1):
        lines = fill(
            text,
            width,
            break_on_hyphens=False,
            break_long_words=False,
            initial_indent=bullet,
            subsequent_indent=" " * len(bullet),
        )
        if not any(line.lstrip().startswith(SIGNS) for line in lines.splitlines()[1:]):
            return lines
    raise ValueError(f"no width at which no line begins with a sign: {text}")


def described(folder: str) -> str:
    """What was measured, by whom, and how sure it is."""
    about = read_impacts(DATA / folder).about
    sources = "; ".join(
        one.printed + (f", doi:{one.doi}" if one.doi else "") for one in about.source
    )
    doubts = "\n".join(words(doubt, "- ") for doubt in about.doubt)
    return f"{words(f'{about.what}. Folder `data/{folder}`, {about.kind}: {sources}.')}\n\n{doubts}"


# --------------------------------------------------------------------------------------------------
# Steel

HARDNESSES = [f"D {hardness} HV" for hardness in (200, 300, 400, 500, 600, 700, 800)]
STRUCK = [
    f"{device} {block} block" for device in ("D", "D+15", "C", "G") for block in ("hard", "soft")
]
INDENTATIONS = [
    f"{device} {hardness} HV"
    for device in "DCG"
    for hardness in (300, 600, 800)
    if (device, hardness) != ("G", 800)
]


def steel_line(law: str, fit: str | None) -> list[str]:
    """A law's restitution at each hardness."""
    one = against(law, STEEL, fit)
    ratio = (
        [
            "-"
            if one.fitted is None
            else f"{one.fitted:.2f}" + (", at the limit" if at_bound(one) else "")
        ]
        if fit
        else []
    )
    return [link(law), *ratio, number(one.rms), *map(number, values(one, HARDNESSES))]


def ratios(restitution: Sequence[float]) -> list[str]:
    """e(D)/e(D+15), e(C)/e(D) and e(G)/e(D), each of the hard block and of the soft one, from
    the restitutions of `STRUCK`."""
    d, slow, small, large = np.array(restitution).reshape(4, 2)
    return [
        *(number(float(x), 4) for x in d / slow),
        *(number(float(x)) for x in [*(small / d), *(large / d)]),
    ]


def rate_line(law: str, fit: str | None = RATIO) -> list[str]:
    """How a law's restitution changes from device to device, with its fit where it has one."""
    return [link(law), *ratios(values(against(law, STEEL, fit), STRUCK))]


def rate_measured() -> list[str]:
    """The same ratios as they were measured, with one standard deviation."""
    cells = zip(ratios(measured(STEEL, STRUCK)), ratio_errors(), strict=True)
    return ["measured", *(f"{cell} +- {error:.3f}" for cell, error in cells)]


def ratio_errors() -> np.ndarray:
    """Standard deviations of these ratios, in the order of the table."""
    stated = {
        row.case: (row.uncertainty or math.nan) / row.measured
        for row in read_impacts(DATA / STEEL).rows
        if row.quantity == "restitution"
    }
    d, slow, small, large = np.array([stated[case] for case in STRUCK]).reshape(4, 2)
    relative = np.concatenate([np.hypot(d, other) for other in (slow, small, large)])
    return np.asarray(relative * np.array(ratios(measured(STEEL, STRUCK)), dtype=float))


def off_by(column: int, laws: Sequence[str]) -> str:
    """How far the laws are above what was measured, in its standard deviations: from the least to
    the most."""
    real = float(ratios(measured(STEEL, STRUCK))[column])
    cells = [rate_line(law)[1 + column] for law in laws]
    off = sorted((float(cell) - real) / ratio_errors()[column] for cell in cells if cell != "-")
    return f"{off[0]:+.1f} to {off[-1]:+.1f}"


# Tolerance of the hardness of a standard block (about.toml): the larger of the two, as a restitution.
BLOCK_TOLERANCE = 0.04


def tilted(laws: Sequence[str]) -> str:
    """Which fitted laws are too flat over the hardness, and which too steep, by the residuals at
    200 and 800 HV; which of them by more than the tolerance of a block."""
    found: dict[str, list[str]] = {"flatter": [], "steeper": [], "beyond": []}
    for law in laws:
        residual = np.array(values(against(law, STEEL, RATIO), HARDNESSES)) - measured(
            STEEL, HARDNESSES
        )
        found["flatter" if residual[-1] < residual[0] else "steeper"].append(
            f"{link(law)} ({residual[0]:+.3f} at 200 HV, {residual[-1]:+.3f} at 800 HV)"
        )
        if max(abs(residual[0]), abs(residual[-1])) > BLOCK_TOLERANCE:
            found["beyond"].append(link(law))
    flatter, steeper, beyond = (", ".join(names) or "none" for names in found.values())
    return (
        f"Flatter over the hardness than the converter: {flatter}; steeper: {steeper}. The "
        "converter states no uncertainty. Beside the tolerance of a block, up to "
        f"{BLOCK_TOLERANCE}, an end is off by more under {beyond} alone: the others are not told "
        "apart."
    )


def oversize(law: str, fit: str | None) -> float:
    """Median of the computed diameter over the measured one, less 1, in per cent."""
    found = values(against(law, STEEL, fit), INDENTATIONS, "contact_diameter")
    return 100.0 * float(
        np.median(np.array(found) / measured(STEEL, INDENTATIONS, "contact_diameter")) - 1.0
    )


def diameter_line(law: str, fit: str | None) -> list[str]:
    """A law's diameters of the indentation [mm]."""
    found = values(against(law, STEEL, fit), INDENTATIONS, "contact_diameter")
    ratio = "fitted" if fit else "2.84" if law in yielding() else "-"
    return [link(law), ratio, *(number(1e3 * value) for value in found)]


def steel() -> list[str]:
    """The section on steel."""
    laws = yielding()
    ranked = sorted(laws, key=lambda law: against(law, STEEL, RATIO).rms or math.inf)
    fitted = [law for law in ranked if against(law, STEEL, RATIO).fitted is not None]
    heads = ["rms", *HARDNESSES]
    shown = [number(value) for value in measured(STEEL, HARDNESSES)]
    circles = [law for law in laws if gc.laws()[law].has_contact_radius()]
    sizes = [number(1e3 * value) for value in measured(STEEL, INDENTATIONS, "contact_diameter")]
    none = ", ".join(link(law) for law in laws if law not in circles)
    notes = []
    for law in laws:
        reasons: dict[str, list[str]] = {}
        for row in against(law, STEEL, None).rows:
            if row.problem and row.measured.quantity == "restitution":
                reasons.setdefault(row.problem, []).append(row.measured.case)
        notes += [
            f"{link(law)}, 2.84, {', '.join(cases)}: {reason}" for reason, cases in reasons.items()
        ]
        notes += [
            f"{link(law)}: {problem}" for problem in [against(law, STEEL, RATIO).problem] if problem
        ]
    pressure = {
        law: factor / (against(law, STEEL, RATIO).fitted or math.nan)
        for law, factor in PRESSURES.items()
    }
    elastic = 1e3 * values(against("hertz", STEEL, None), ["D 800 HV"], "contact_diameter")[0]
    return [
        "## Steel under a ball of carbide",
        described(STEEL),
        "### Nothing fitted: hardness 2.84 times the yield stress",
        table(
            ["law", *heads],
            [
                ["measured", "", *shown],
                unstated(1, len(shown)),
                *(steel_line(law, None) for law in sorted(laws, key=unfitted_rms)),
            ],
        ),
        "### One ratio of hardness to yield stress fitted to each law",
        table(
            ["law", "ratio", *heads],
            [
                ["measured", "", "", *shown],
                unstated(2, len(shown)),
                *(steel_line(law, RATIO) for law in fitted),
            ],
        ),
        words(
            "One ratio moves a law's curve and hardly turns it. "
            + tilted(fitted)
            + " The contact pressure beyond first yield comes out as "
            f"{pressure['du-wang']:.2f} times the hardness for Du and Wang, who have (1 + pi/2) "
            f"times the yield stress and nothing in between, and as {pressure['thornton']:.2f} "
            "times for Thornton, whose 1.6 times the yield stress is far too soft with 2.84, and "
            "whose law goes from Hertz's slope to that of a constant pressure at once. Brake's "
            "cubic is so steep that hard steel returns nearly all, whatever the ratio. Not "
            "computed, or not fitted:"
        ),
        "\n".join(words(note, "- ") for note in notes) or "- none",
        "### Rate independence",
        words(
            "Devices D and D+15 have one energy and two speeds: a law that does not know the rate "
            "returns the same under both. C strikes with a quarter of "
            "the energy of D, G with eight times as much and a larger ball: what a law makes of "
            "the energy. With the fitted ratio where there is one."
        ),
        table(
            [
                "law",
                "e(D)/e(D+15), hard",
                "soft",
                "e(C)/e(D), hard",
                "soft",
                "e(G)/e(D), hard",
                "soft",
            ],
            [rate_measured(), *(rate_line(law) for law in ranked)],
        ),
        words(
            "None of these laws knows a rate. Under D and D+15 they are "
            f"{off_by(0, ['du-wang'])[:4]} standard deviations above what was measured on the hard "
            f"block and {off_by(1, ['du-wang'])[:4]} on the soft one: no rate is seen, and one of less "
            f"than {200.0 * ratio_errors()[0]:.0f} and {200.0 * ratio_errors()[1]:.0f} % would not "
            "be, two standard deviations. Between C and D the "
            f"laws are {off_by(2, ranked)} standard deviations above what was measured on the hard "
            f"block and {off_by(3, ranked)} on the soft one; under G {off_by(5, ranked)} on the "
            f"soft one. Under G on the hard block they are {off_by(4, ranked)} above it, and all "
            "on one side: that this is one block for all devices is a reading of the table (see "
            "above), so that it speaks against no law. These deviations are of the repeatability alone; "
            "the tolerance of a block, 30 or 40 HL, is not in them."
        ),
        "### Size of the indentation",
        words(
            "Diameters in millimetres, against twice the largest contact radius; the second and "
            "the sixth are not as printed (see above). The median of computed over measured is "
            f"{oversize('ma-liu', None):+.0f} % for Ma and Liu and "
            f"{oversize('thornton', None):+.0f} % for Thornton with 2.84, "
            f"{oversize('ma-liu', RATIO):+.0f} % and {oversize('thornton', RATIO):+.0f} % with the "
            "ratio that fits the restitution: further off under both; no uncertainty of the diameters "
            "is stated. Beyond d_p Ma and Liu's "
            "pressure is psi times the yield stress, so that a lower yield stress widens the "
            "circle, while Thornton's circle is R d. At D 800 HV even the elastic contact is "
            f"{elastic:.3f} mm wide, more than what was measured: what is left of a circle that is "
            "hardly plastic may be less than the circle, or the diameter is not that of the "
            "contact; the table does not tell."
        ),
        table(
            ["law", "ratio", *INDENTATIONS],
            [
                ["measured", "", *sizes],
                unstated(1, len(sizes)),
                diameter_line("hertz", None),
                *(diameter_line(law, fit) for law in circles for fit in (None, RATIO)),
            ],
        ),
        words(
            "The sources at hand state no contact radius over the whole of the loading of "
            f"{none}; these laws give none."
        ),
    ]


# Contact pressure beyond first yield over the yield stress, by the laws' own pages.
PRESSURES = {"du-wang": 1.0 + 0.5 * math.pi, "thornton": 1.6}


def unfitted_rms(law: str) -> float:
    """For sorting."""
    rms = against(law, STEEL, None).rms
    return math.inf if rms is None else rms


# --------------------------------------------------------------------------------------------------
# A croquet ball


def speeds() -> dict[str, float]:
    """Speed by case, of the table that laws are ranked by, in its order."""
    return {
        row.case: row.stated["speed"]
        for row in read_impacts(DATA / CROQUET).rows
        if row.use != "show"
    }


TIMES = ("wood 2.19 m/s", "wood 5.50 m/s")


def slope(speed: Sequence[float], value: Sequence[float]) -> float:
    """Exponent of a power of the speed, by a straight line through the logarithms."""
    value = np.asarray(value)
    return (
        float(np.polyfit(np.log(speed), np.log(value), 1)[0]) if (value > 0.0).all() else math.nan
    )


def exponents(restitution: Sequence[float], times: Sequence[float]) -> list[str]:
    """How 1 - e and the time of contact go with the speed."""
    loss = slope(list(speeds().values()), [1.0 - e for e in restitution])
    moments = [
        row.stated["speed"]
        for row in read_impacts(DATA / CROQUET).rows
        if row.quantity == "duration"
    ]
    return [f"{loss:z.3f}" if math.isfinite(loss) else "-", f"{slope(moments, times):z.3f}"]


def two(law: str) -> tuple[list[float], list[float]]:
    """A law's restitution at each speed, and its times of contact."""
    one = against(law, CROQUET, DAMPING)
    return values(one, list(speeds())), values(one, TIMES, "duration")


def between_sets() -> float:
    """The largest difference of the measured restitution from the printed formula, at the speeds
    that both have."""
    formula = ["wood 0.5 m/s (2000)", "wood 2 m/s (2000)"]
    both = measured(CROQUET, formula), measured(CROQUET, ["wood 0.50 m/s", "wood 2.00 m/s"])
    return float(np.abs(np.subtract(*both)).max())


def furthest(law: str) -> float:
    """The largest residual of a law's restitution."""
    cases = list(speeds())
    return float(np.abs(np.subtract(two(law)[0], measured(CROQUET, cases))).max())


def by_digits(times: Sequence[float]) -> float:
    """Standard deviation of the exponent of the two times of contact by their last digit, 0.01 ms:
    a uniform distribution each."""
    moments = [float(case.split()[1]) for case in TIMES]
    by_each = 1e-5 / math.sqrt(12.0) / np.asarray(times)
    return float(np.linalg.norm(by_each) / math.log(moments[1] / moments[0]))


def croquet_line(law: str) -> list[str]:
    """A law's restitution at each speed, and its times of contact."""
    one = against(law, CROQUET, DAMPING)
    restitution, times = two(law)
    return [
        link(law),
        f"{one.parameter} {one.fitted:.4g}" + (f" {one.unit}" if one.unit != "1" else ""),
        number(one.rms, 4),
        *map(number, restitution),
        *(number(1e3 * value) for value in times),
        *exponents(restitution, times),
    ]


def croquet() -> list[str]:
    """The section on the croquet ball."""
    laws = damped()
    # laws that deliver the same differ in what is rounding
    rms = {law: against(law, CROQUET, DAMPING).rms for law in laws}
    fitted = sorted(
        (law for law in laws if rms[law] is not None), key=lambda law: (number(rms[law]), law)
    )
    left: dict[str, list[str]] = {}
    for law in laws:
        if law not in fitted:
            left.setdefault(against(law, CROQUET, DAMPING).problem, []).append(law)
    heads = ["law", "constant", "rms", *(f"{speed:g} m/s" for speed in speeds().values())]
    heads += ["time at 2.19 m/s [ms]", "at 5.5 m/s", "exponent of 1 - e", "of the time"]
    restitution, times = measured(CROQUET, list(speeds())), measured(CROQUET, TIMES, "duration")
    fastest, *_, slowest = sorted((exponents(*two(law))[1] for law in fitted), key=float)
    shown = [
        "measured",
        "",
        "",
        *map(number, restitution),
        *(number(1e3 * value) for value in times),
        *exponents(restitution, times),
    ]
    # the digits of the times, 0.01 ms: a uniform distribution
    by_digit = number(0.01 / math.sqrt(12.0))
    sure = unstated(2, len(restitution)) + [by_digit] * 2
    sure += ["not stated", number(by_digits(times))]
    return [
        "## A croquet ball on wood",
        described(CROQUET),
        "### One damping constant fitted to each law, at 2.83 m/s",
        words(
            "With nothing fitted there is nothing to compare: no damping constant of the wood is "
            "printed, and without one the restitution is 1. The time of contact ends with the "
            "force; until the overlap is zero takes a few per cent more."
        ),
        table(heads, [shown, sure, *(croquet_line(law) for law in fitted)]),
        words(
            f"The measured restitution falls by {100.0 * (restitution[0] - restitution[-1]):.0f} "
            "points from 0.5 to 6 m/s. No uncertainty of it is stated; the formula for the other "
            f"set of impacts is up to {between_sets():.4f} away. A damping that grows "
            "as the root of the overlap (Kuwabara and Kono) falls most nearly so of these, with "
            f"one constant, and is off by up to {furthest('kuwabara-kono'):.4f}: "
            "weak damping gives 1 - e as the fifth root of the speed, and here its exponent is "
            f"{exponents(*two('kuwabara-kono'))[0]} where {exponents(restitution, times)[0]} was "
            "measured. With a higher power of the overlap the "
            "restitution falls too fast, and a dashpot that is asked for a restitution cannot "
            "fall at all; Gharib and Hurmuzlu's first law returns less than what was measured "
            f"whatever it is asked for. The time of contact goes as v^{slowest} to v^{fastest} under "
            "these laws, Hertz's as v^-0.2. That which was measured has two speeds alone and "
            f"digits of 0.01 ms: v^{exponents(restitution, times)[1]} +- {by_digits(times):.3f} by "
            "these alone. Gugan 2000 has v^-0.23."
        ),
        words(
            "Not fitted: "
            + "; ".join(
                f"{', '.join(link(law) for law in names)}: {problem}"
                for problem, names in left.items()
            )
            + "."
        )
        if left
        else "All of them were fitted.",
    ]


def lines() -> list[str]:
    """The section on what is printed in one line."""
    rows = read_impacts(DATA / LINES).rows
    cells = [
        (
            row.case,
            f"{row.stated['speed']:g}",
            number(row.measured),
            "not stated" if row.uncertainty is None else f"{row.uncertainty:g}",
        )
        for row in rows
    ]
    return [
        "## Printed in one line",
        described(LINES),
        table(["case", "speed [m/s]", "restitution", "uncertainty"], cells),
        words(
            "No effective modulus is stated, so that no law is run; with one, `granchain impact "
            "LAW --data data/one-line-impacts --set pair.effective_modulus=...` compares."
        ),
    ]


HEAD = """# Against what was measured

Contact laws beside measured impacts of two bodies that are printed as numbers. Printed by `python docs/measured.py`; each measured number
stands in `data/` with its source, each computed one is an impact of the engine. How to compare laws of your own, or a folder of your own,
stands in [Compare laws with measured impacts](how-to/measured-impacts.md)."""

CHAINS = (
    "No measured force or speed of a chain of four beads or more is printed as numbers in any "
    "source at hand: none was found in some 250 look-ups. The folder "
    "`data/carretero-gonzalez2009`, for the row of 70 steel beads, stays ready for the curve, and "
    "no law is called validated on a chain."
)


def page() -> str:
    """The page in Markdown."""
    return "\n\n".join([HEAD, *steel(), *croquet(), *lines(), "## Chains", words(CHAINS)]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
