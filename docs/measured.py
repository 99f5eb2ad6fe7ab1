"""Write docs/measured*.md: contact laws compared with published measurements of impacts.

    python docs/measured.py

Every number of these pages is read from data/ or computed here; no number is typed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from textwrap import fill

import numpy as np
from markdown_text import markdown_table as table

import granchain as gc
from granchain.contact.guard import Elastoplastic
from granchain.measured import read_impacts
from granchain.measured.impacts import RATIOS, RESTITUTIONS, LawAgainstImpacts

DATA, DOCS = Path(__file__).parents[1] / "data", Path(__file__).parent
STEEL, CROQUET, LINES = "leeb-steel", "gugan-croquet", "one-line-impacts"
RATIO, DAMPING = "yield_stress_ratio", "damping"
# A fitted parameter within this relative distance of a bound of its range counts as at the bound.
AT_BOUND = 1e-2


@cache
def against(law: str, folder: str, fit: str | None) -> LawAgainstImpacts:
    """Compare a law with a folder."""
    return gc.compare_impacts(law, DATA / folder, fit).laws[law]


def at_bound(one: LawAgainstImpacts) -> bool:
    """Return whether a fitted ratio or restitution is at a bound of its range."""
    bounds = {RATIO: RATIOS, "restitution": RESTITUTIONS}.get(one.parameter, ())
    return any(abs((one.fitted or math.inf) / bound - 1.0) < AT_BOUND for bound in bounds)


def yielding() -> list[str]:
    """Return the laws with residual indentation whose inputs the folder of steel gives."""
    return [
        name
        for name, law in gc.laws().items()
        if issubclass(law, Elastoplastic) and says_enough(name, STEEL)
    ]


def damped() -> list[str]:
    """Return the laws with one damping constant."""
    names = {"chi", "alpha", "restitution"}
    return [
        name
        for name, law in gc.laws().items()
        if names & {quantity.name for quantity in law.inputs}
    ]


def says_enough(law: str, folder: str) -> bool:
    """Return whether a folder gives every input that a law requires."""
    stated = read_impacts(DATA / folder).inputs
    return all(quantity.name in stated for quantity in gc.laws()[law].inputs if quantity.required)


# --------------------------------------------------------------------------------------------------
# Cells


def number(value: float | None, digits: int = 3) -> str:
    """Format a number with a given number of decimals; a dash if it is missing."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def values(
    one: LawAgainstImpacts, cases: Sequence[str], quantity: str = "restitution"
) -> list[float]:
    """Return computed numbers of some cases; nan if a number is missing."""
    found = {(row.measured.case, row.measured.quantity): row.computed for row in one.rows}
    return [math.nan if (value := found[case, quantity]) is None else value for case in cases]


def measured(folder: str, cases: Sequence[str], quantity: str = "restitution") -> list[float]:
    """Return measured numbers of some cases."""
    found = {(row.case, row.quantity): row.measured for row in read_impacts(DATA / folder).rows}
    return [found[case, quantity] for case in cases]


def unstated(empty: int, count: int) -> list[str]:
    """Return the row of uncertainties of a table whose source gives none."""
    return ["uncertainty", *[""] * empty, *["not given"] * count]


def link(law: str) -> str:
    """Return the name of a law with a link to its section."""
    return f"[{law}](laws.md#{law})"


# Characters that begin a list, a heading, or a table at the start of a line.
SIGNS = ("-", "+", "*", "#", "=", "|")


def words(text: str, bullet: str = "") -> str:
    """Wrap a paragraph or a list entry so that no line begins with a Markdown character."""
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
    raise ValueError(f"no width avoids a Markdown character at the start of a line: {text}")


def described(folder: str) -> str:
    """Return the sources of the data of a folder, and a section on their caveats."""
    about = read_impacts(DATA / folder).about
    sources = "; ".join(
        one.printed + (f", doi:{one.doi}" if one.doi else "") for one in about.source
    )
    doubts = "\n".join(words(doubt, "- ") for doubt in about.doubt)
    return f"{words(f'{about.what}. The folder is `data/{folder}`. Sources ({about.kind}): {sources}.')}\n\n## Caveats\n\n{doubts}"


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
    """Return the restitution of a law at each hardness."""
    one = against(law, STEEL, fit)
    ratio = (
        [
            "-"
            if one.fitted is None
            else f"{one.fitted:.2f}" + (" (at the bound)" if at_bound(one) else "")
        ]
        if fit
        else []
    )
    return [link(law), *ratio, number(one.rms), *map(number, values(one, HARDNESSES))]


def ratios(restitution: Sequence[float]) -> list[str]:
    """Return e(D)/e(D+15), e(C)/e(D), and e(G)/e(D), each for the hard and the soft block, from the
    restitutions of `STRUCK`."""
    d, slow, small, large = np.array(restitution).reshape(4, 2)
    return [
        *(number(float(x), 4) for x in d / slow),
        *(number(float(x)) for x in [*(small / d), *(large / d)]),
    ]


def rate_line(law: str, fit: str | None = RATIO) -> list[str]:
    """Return the ratios of the restitutions of a law between devices, fitted if possible."""
    return [link(law), *ratios(values(against(law, STEEL, fit), STRUCK))]


def rate_measured() -> list[str]:
    """Return the measured ratios with one standard deviation."""
    cells = zip(ratios(measured(STEEL, STRUCK)), ratio_errors(), strict=True)
    return ["measured", *(f"{cell} +- {error:.3f}" for cell, error in cells)]


def ratio_errors() -> np.ndarray:
    """Return the standard deviations of these ratios, in the order of the table."""
    stated = {
        row.case: (row.uncertainty or math.nan) / row.measured
        for row in read_impacts(DATA / STEEL).rows
        if row.quantity == "restitution"
    }
    d, slow, small, large = np.array([stated[case] for case in STRUCK]).reshape(4, 2)
    relative = np.concatenate([np.hypot(d, other) for other in (slow, small, large)])
    return np.asarray(relative * np.array(ratios(measured(STEEL, STRUCK)), dtype=float))


def off_by(column: int, laws: Sequence[str]) -> str:
    """Return the range of the deviations of the laws from the measured ratio, in its standard
    deviations."""
    real = float(ratios(measured(STEEL, STRUCK))[column])
    cells = [rate_line(law)[1 + column] for law in laws]
    off = sorted((float(cell) - real) / ratio_errors()[column] for cell in cells if cell != "-")
    return f"{off[0]:+.1f} to {off[-1]:+.1f}"


# Tolerance of the hardness of a standard block (about.toml): the larger of the two, as a restitution.
BLOCK_TOLERANCE = 0.04


def tilted(laws: Sequence[str]) -> str:
    """List the fitted laws whose restitution rises too slowly or too fast with the hardness, by the
    residuals at 200 and 800 HV, and those that exceed the tolerance of a block."""
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
        "Compared with the converter, the restitution rises more slowly with the hardness for "
        f"{flatter}. It rises faster for {steeper}. The converter gives no uncertainty. The "
        f"tolerance of a block is up to {BLOCK_TOLERANCE}. The error at 200 or 800 HV exceeds this "
        f"tolerance only for {beyond}. The other laws are not distinguishable."
    )


def oversize(law: str, fit: str | None) -> float:
    """Return the median relative error of the computed diameter, in per cent."""
    found = values(against(law, STEEL, fit), INDENTATIONS, "contact_diameter")
    return 100.0 * float(
        np.median(np.array(found) / measured(STEEL, INDENTATIONS, "contact_diameter")) - 1.0
    )


def diameter_line(law: str, fit: str | None) -> list[str]:
    """Return the diameters of the indentation of a law [mm]."""
    found = values(against(law, STEEL, fit), INDENTATIONS, "contact_diameter")
    ratio = "fitted" if fit else "2.84" if law in yielding() else "-"
    return [link(law), ratio, *(number(1e3 * value) for value in found)]


def steel() -> list[str]:
    """Return the page on steel."""
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
            f"{link(law)} with the ratio 2.84, cases {', '.join(cases)}: {reason}"
            for reason, cases in reasons.items()
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
        "# Steel hit by a carbide ball",
        PART_OF,
        described(STEEL),
        "## Without a fit: hardness 2.84 times the yield stress",
        table(
            ["law", *heads],
            [
                ["measured", "", *shown],
                unstated(1, len(shown)),
                *(steel_line(law, None) for law in sorted(laws, key=unfitted_rms)),
            ],
        ),
        "## With a ratio of hardness to yield stress fitted to each law",
        table(
            ["law", "ratio", *heads],
            [
                ["measured", "", "", *shown],
                unstated(2, len(shown)),
                *(steel_line(law, RATIO) for law in fitted),
            ],
        ),
        "## Differences between the laws",
        words(
            "The ratio shifts the curve of a law but hardly changes its slope. "
            + tilted(fitted)
            + " With the fitted ratio, the contact pressure beyond first yield is "
            f"{pressure['du-wang']:.2f} times the hardness for Du and Wang, and "
            f"{pressure['thornton']:.2f} times the hardness for Thornton. The law of Du and Wang uses "
            "(1 + pi/2) times the yield stress from first yield on. Thornton's law uses 1.6 times the "
            "yield stress, which is far too soft with the ratio 2.84, and its slope changes at first "
            "yield from Hertz's to that of a constant pressure. Brake's cubic is so steep that hard "
            "steel returns nearly all energy for every ratio."
        ),
        "## Cases that were not computed",
        words("The following laws and cases were not computed or not fitted:"),
        "\n".join(words(note, "- ") for note in notes) or "- none",
        "## Rate independence",
        words(
            "The devices D and D+15 have the same energy and different speeds, so a rate-independent "
            "law gives the same restitution for both. Device C strikes with a quarter of the energy "
            "of D, and device G with eight times the energy and a larger ball. They test how the "
            "restitution depends on the energy. The table uses the fitted ratio if there is one. The "
            "columns give ratios of the restitution between two devices."
        ),
        table(
            [
                "law",
                "e(D)/e(D+15), hard",
                "e(D)/e(D+15), soft",
                "e(C)/e(D), hard",
                "e(C)/e(D), soft",
                "e(G)/e(D), hard",
                "e(G)/e(D), soft",
            ],
            [rate_measured(), *(rate_line(law) for law in ranked)],
        ),
        words(
            "None of these laws depends on the rate. For D and D+15, they exceed the measured ratio by "
            f"{off_by(0, ['du-wang'])[:4]} standard deviations on the hard block and "
            f"{off_by(1, ['du-wang'])[:4]} on the soft block. The data therefore show no rate "
            f"dependence; a rate effect below {200.0 * ratio_errors()[0]:.0f} % (hard) and "
            f"{200.0 * ratio_errors()[1]:.0f} % (soft), which are two standard deviations, would not "
            "be visible. For C and D, the deviations of the laws are "
            f"{off_by(2, ranked)} standard deviations on the hard block and {off_by(3, ranked)} on "
            f"the soft block. For G and D, they are {off_by(5, ranked)} on the soft block and "
            f"{off_by(4, ranked)} on the hard block. The deviations on the hard block all have the "
            "same sign. However, the table does not state that all devices were used on the same "
            "block; this is our interpretation (see above). The deviations are therefore no "
            "evidence against a law. They include the repeatability only, not the tolerance of "
            "a block, 30 or 40 HL."
        ),
        "## Size of the indentation",
        words(
            "The table compares measured diameters in millimetres with twice the largest contact "
            "radius. The second and the sixth diameter are corrected misprints (see above). With the "
            f"ratio 2.84, the median error is {oversize('ma-liu', None):+.0f} % for Ma and Liu and "
            f"{oversize('thornton', None):+.0f} % for Thornton. With the ratio fitted to the "
            f"restitution, it is {oversize('ma-liu', RATIO):+.0f} % and "
            f"{oversize('thornton', RATIO):+.0f} %, so the errors of both laws are larger. The source "
            "gives no uncertainty of the diameters. Beyond d_p the pressure of Ma and Liu is psi times "
            "the yield stress, so a lower yield stress enlarges the contact area, whereas Thornton's "
            "contact radius follows from R d. For D at 800 HV, even the diameter of the elastic contact "
            f"is {elastic:.3f} mm, which is larger than the measured one. Either the residual "
            "indentation of a contact that is hardly plastic is smaller than the contact, or the "
            "published diameter is not that of the contact; the source does not specify it."
        ),
        "## Diameters",
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
            "The available sources give no contact radius for the complete loading curve of these "
            f"laws, so granchain computes none: {none}."
        ),
    ]


# Contact pressure beyond first yield divided by the yield stress, from the sections of the laws.
PRESSURES = {"du-wang": 1.0 + 0.5 * math.pi, "thornton": 1.6}


def unfitted_rms(law: str) -> float:
    """Return the key for sorting."""
    rms = against(law, STEEL, None).rms
    return math.inf if rms is None else rms


# --------------------------------------------------------------------------------------------------
# A croquet ball


def speeds() -> dict[str, float]:
    """Return the speeds of the cases by which laws are ranked, in order."""
    return {
        row.case: row.stated["speed"]
        for row in read_impacts(DATA / CROQUET).rows
        if row.use != "show"
    }


TIMES = ("wood 2.19 m/s", "wood 5.50 m/s")


def slope(speed: Sequence[float], value: Sequence[float]) -> float:
    """Return the exponent of a power of the speed from a linear fit to the logarithms."""
    value = np.asarray(value)
    return (
        float(np.polyfit(np.log(speed), np.log(value), 1)[0]) if (value > 0.0).all() else math.nan
    )


def exponents(restitution: Sequence[float], times: Sequence[float]) -> list[str]:
    """Return the exponents of 1 - e and of the contact time versus the speed."""
    loss = slope(list(speeds().values()), [1.0 - e for e in restitution])
    moments = [
        row.stated["speed"]
        for row in read_impacts(DATA / CROQUET).rows
        if row.quantity == "duration"
    ]
    return [f"{loss:z.3f}" if math.isfinite(loss) else "-", f"{slope(moments, times):z.3f}"]


def two(law: str) -> tuple[list[float], list[float]]:
    """Return the restitution of a law at each speed and its contact times."""
    one = against(law, CROQUET, DAMPING)
    return values(one, list(speeds())), values(one, TIMES, "duration")


def between_sets() -> float:
    """Return the largest difference between the measured restitution and the published formula at
    the common speeds."""
    formula = ["wood 0.5 m/s (2000)", "wood 2 m/s (2000)"]
    both = measured(CROQUET, formula), measured(CROQUET, ["wood 0.50 m/s", "wood 2.00 m/s"])
    return float(np.abs(np.subtract(*both)).max())


def furthest(law: str) -> float:
    """Return the largest residual of the restitution of a law."""
    cases = list(speeds())
    return float(np.abs(np.subtract(two(law)[0], measured(CROQUET, cases))).max())


def by_digits(times: Sequence[float]) -> float:
    """Return the standard deviation of the exponent of the two contact times from their last digit,
    0.01 ms, with a uniform distribution each."""
    moments = [float(case.split()[1]) for case in TIMES]
    by_each = 1e-5 / math.sqrt(12.0) / np.asarray(times)
    return float(np.linalg.norm(by_each) / math.log(moments[1] / moments[0]))


def croquet_line(law: str) -> list[str]:
    """Return the row of a law: restitution at each speed and contact times."""
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
    """Return the page on the croquet ball."""
    laws = damped()
    # Laws with the same effective restitution differ by rounding only.
    rms = {law: against(law, CROQUET, DAMPING).rms for law in laws}
    fitted = sorted(
        (law for law in laws if rms[law] is not None), key=lambda law: (number(rms[law]), law)
    )
    left: dict[str, list[str]] = {}
    for law in laws:
        if law not in fitted:
            left.setdefault(against(law, CROQUET, DAMPING).problem, []).append(law)
    heads = ["law", "constant", "rms", *(f"{speed:g} m/s" for speed in speeds().values())]
    heads += [
        "contact time at 2.19 m/s [ms]",
        "contact time at 5.5 m/s [ms]",
        "exponent of 1 - e",
        "exponent of the contact time",
    ]
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
    # The last digit of the times is 0.01 ms, with a uniform distribution.
    by_digit = number(0.01 / math.sqrt(12.0))
    sure = unstated(2, len(restitution)) + [by_digit] * 2
    sure += ["not given", number(by_digits(times))]
    return [
        "# A croquet ball on wood",
        PART_OF,
        described(CROQUET),
        "## With a damping constant fitted to each law at 2.83 m/s",
        words(
            "A comparison without a fit is not possible, because no damping constant of the wood is "
            "published and without damping the restitution is 1. The contact time ends when the force "
            "is zero. The time until the overlap is zero is a few per cent longer."
        ),
        table(heads, [shown, sure, *(croquet_line(law) for law in fitted)]),
        "## Dependence on the speed",
        words(
            "The measured restitution decreases by "
            f"{restitution[0] - restitution[-1]:.2f} from 0.5 to 6 m/s. The source gives no "
            "uncertainty, but the formula for the other set of impacts differs by up to "
            f"{between_sets():.4f}. The law of Kuwabara and Kono, whose damping grows as the square "
            "root of the overlap, agrees best. With one constant, its error is at most "
            f"{furthest('kuwabara-kono'):.4f}. Weak damping makes 1 - e proportional to the fifth root "
            "of the speed. Here its exponent is "
            f"{exponents(*two('kuwabara-kono'))[0]}, compared with the measured exponent "
            f"{exponents(restitution, times)[0]}. With a higher power of the overlap, the restitution "
            "decreases too fast. For a dashpot with a nominal restitution, it does not depend on the "
            "speed. The first law of Gharib and Hurmuzlu gives less than the measured restitution for "
            "every nominal value."
        ),
        words(
            f"With these laws, the contact time is proportional to v^{slowest} to v^{fastest}; "
            "according to Hertz it is proportional to v^-0.2. The contact time was measured at two "
            "speeds only, with a last digit of 0.01 ms, which gives "
            f"v^{exponents(restitution, times)[1]} +- {by_digits(times):.3f}. Gugan 2000 reports "
            "v^-0.23."
        ),
        "## Laws without a fit",
        words(
            "The following laws were not fitted: "
            + "; ".join(
                f"{', '.join(link(law) for law in names)} ({problem})"
                for problem, names in left.items()
            )
            + "."
        )
        if left
        else "All laws were fitted.",
    ]


def lines() -> list[str]:
    """Return the section on results that are published in one line."""
    rows = read_impacts(DATA / LINES).rows
    cells = [
        (
            row.case,
            f"{row.stated['speed']:g}",
            number(row.measured),
            "not given" if row.uncertainty is None else f"{row.uncertainty:g}",
        )
        for row in rows
    ]
    return [
        "## Results published in one line",
        described(LINES).replace("## Caveats", "### Caveats"),
        "### Values",
        table(["case", "speed [m/s]", "restitution", "uncertainty"], cells),
        words(
            "The sources give no effective modulus, so no law was computed. If you have a modulus, "
            'compare a law with `gc.compare_impacts(LAW, "data/one-line-impacts", '
            'pair={"effective_modulus": MODULUS})`.'
        ),
    ]


HEAD = """# Contact laws compared with measurements

This page compares contact laws with measured impacts of two bodies that are published as numbers. The folder `data/` contains each measured
number with its source, and each computed number is an impact in the engine. To compare your own laws or your own data, see
[Compare laws with measured impacts](how-to/measured-impacts.md). `python docs/measured.py` writes these pages.

| data | comparison |
| --- | --- |
| restitution and indentation of steel of known hardness, hit by a carbide ball | [Steel hit by a carbide ball](measured-steel.md) |
| restitution and contact time of a croquet ball on wood, 0.5 to 6.5 m/s | [A croquet ball on wood](measured-croquet.md) |
| single restitutions of other materials | [below](#results-published-in-one-line) |"""

PART_OF = "This page belongs to [Contact laws compared with measurements](measured.md)."

CHAINS = (
    "No available source publishes measured forces or speeds of a chain of four or more beads as "
    "numbers; a search in about 250 sources gave no result. The folder "
    "`data/carretero-gonzalez2009` is prepared for the curve of a chain of 70 steel beads. No law is "
    "validated on a chain."
)


def pages() -> dict[str, str]:
    """Return the pages in Markdown by name of the file."""
    contents = {
        "measured.md": [HEAD, *lines(), "## Chains", words(CHAINS)],
        "measured-steel.md": steel(),
        "measured-croquet.md": croquet(),
    }
    return {name: "\n\n".join(blocks) + "\n" for name, blocks in contents.items()}


if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).write_text(text)
