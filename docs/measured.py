"""Print docs/measured.md: contact laws against measured impacts that are printed.

    python docs/measured.py > docs/measured.md

Every number of the page is read from data/ or computed here; none is typed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from textwrap import fill

import numpy as np

import granchain as gc
from granchain.comparison import LawAgainstImpacts, at_bound, read_impacts
from granchain.contact.guard import Elastoplastic

DATA = Path(__file__).parents[1] / "data"
STEEL, CROQUET, LINES = "leeb-steel", "gugan-croquet", "one-line-impacts"
RATIO, DAMPING = "yield_stress_ratio", "damping"


@cache
def against(law: str, folder: str, fit: str | None) -> LawAgainstImpacts:
    """One law against one folder."""
    return gc.compare_impacts(law, DATA / folder, fit).laws[law]


def yielding() -> list[str]:
    """Laws with a dent that a folder with a hardness says enough for."""
    return [name for name, law in gc.laws().items() if issubclass(law, Elastoplastic) and says_enough(name, STEEL)]


def damped() -> list[str]:
    """Laws with one damping constant."""
    names = {"chi", "alpha", "restitution"}
    return [name for name, law in gc.laws().items() if names & {quantity.name for quantity in law.inputs}]


def says_enough(law: str, folder: str) -> bool:
    """Whether a folder states every input that a law requires."""
    stated = read_impacts(DATA / folder).inputs
    return all(quantity.name in stated for quantity in gc.laws()[law].inputs if quantity.required)


# ---------------------------------------------------------------------------------------------------------------------
# Cells


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many decimals; a dash where there is none."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def values(one: LawAgainstImpacts, cases: Sequence[str], quantity: str = "restitution") -> list[float]:
    """Computed numbers of some cases; nan where there is none."""
    found = {(row.measured.case, row.measured.quantity): row.computed for row in one.rows}
    return [math.nan if (value := found[case, quantity]) is None else value for case in cases]


def measured(folder: str, cases: Sequence[str], quantity: str = "restitution") -> list[float]:
    """Measured numbers of some cases."""
    found = {(row.case, row.quantity): row.measured for row in read_impacts(DATA / folder).rows}
    return [found[case, quantity] for case in cases]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows])


def link(law: str) -> str:
    """The name of a law, leading to its page."""
    return f"[{law}](laws.md#{law})"


def words(text: str) -> str:
    """A paragraph."""
    return fill(text, 140, break_on_hyphens=False, break_long_words=False)


def described(folder: str) -> str:
    """What was measured, by whom, and how sure it is."""
    about = read_impacts(DATA / folder).about
    sources = "; ".join(one.printed + (f", doi:{one.doi}" if one.doi else "") for one in about.source)
    doubts = "\n".join(words(f"- {doubt}") for doubt in about.doubt)
    return f"{words(f'{about.what}. Folder `data/{folder}`, {about.kind}: {sources}.')}\n\n{doubts}"


# ---------------------------------------------------------------------------------------------------------------------
# Steel

HARDNESSES = [f"D {hardness} HV" for hardness in (200, 300, 400, 500, 600, 700, 800)]
BLOCKS = ("hard", "soft")
INDENTATIONS = [f"{device} {hardness} HV" for device in "DCG" for hardness in (300, 600, 800) if (device, hardness) != ("G", 800)]


def steel_line(law: str, fit: str | None) -> list[str]:
    """A law's restitution at each hardness."""
    one = against(law, STEEL, fit)
    ratio = ["-" if one.fitted is None else f"{one.fitted:.2f}" + (", at the limit" if at_bound(one) else "")] if fit else []
    return [link(law), *ratio, number(one.rms), *map(number, values(one, HARDNESSES))]


def rate_line(law: str, fit: str | None = RATIO) -> list[str]:
    """How a law's restitution changes from device to device, with its fit where it has one."""
    one = against(law, STEEL, fit)
    d, slow, small = (np.array(values(one, [f"{device} {block} block" for block in BLOCKS])) for device in ("D", "D+15", "C"))
    return [link(law), *(f"{number(float(x), 4)}" for x in d / slow), *(number(float(x)) for x in small / d)]


def rate_measured() -> list[str]:
    """The same ratios as they were measured."""
    d, slow, small = (np.array(measured(STEEL, [f"{device} {block} block" for block in BLOCKS])) for device in ("D", "D+15", "C"))
    return ["measured", *(number(float(x), 4) for x in d / slow), *(number(float(x)) for x in small / d)]


def diameter_line(law: str, fit: str | None) -> list[str]:
    """A law's diameters of the indentation [mm]."""
    found = values(against(law, STEEL, fit), INDENTATIONS, "contact_diameter")
    return [link(law), "fitted" if fit else "2.84", *(number(1e3 * value) for value in found)]


def steel() -> list[str]:
    """The section on steel."""
    laws = yielding()
    ranked = sorted(laws, key=lambda law: (against(law, STEEL, RATIO).rms or math.inf))
    fitted = [law for law in ranked if against(law, STEEL, RATIO).fitted is not None]
    heads = ["rms", *HARDNESSES]
    shown = [number(value) for value in measured(STEEL, HARDNESSES)]
    circles = [law for law in laws if gc.laws()[law].has_contact_radius()]
    sizes = [number(1e3 * value) for value in measured(STEEL, INDENTATIONS, "contact_diameter")]
    none = ", ".join(link(law) for law in laws if law not in circles)
    notes = [
        f"- {link(law)}: {reason}"
        for law in laws
        for reason in dict.fromkeys(
            [row.problem for row in against(law, STEEL, None).rows if row.problem and row.measured.quantity == "restitution"]
            + ([against(law, STEEL, RATIO).problem] if against(law, STEEL, RATIO).problem else [])
        )
    ]
    return [
        "## Steel under a ball of carbide",
        described(STEEL),
        "### Nothing fitted: hardness 2.84 times the yield stress",
        table(["law", *heads], [["measured", "", *shown], *(steel_line(law, None) for law in sorted(laws, key=unfitted_rms))]),
        "### One ratio of hardness to yield stress fitted to each law",
        table(["law", "ratio", *heads], [["measured", "", "", *shown], *(steel_line(law, RATIO) for law in fitted)]),
        words(
            "A constant ratio shifts a law's curve and does not bend it: at 200 HV every fitted law but Thornton's returns too much and near 400 "
            "HV the error changes sign, for the measured restitution falls faster with falling hardness. Thornton's has no stage between first "
            "yield and constant pressure, and needs a pressure far above what metals have; Brake's cubic is so stiff that hard steel hardly "
            "dissipates, whatever the ratio. Not computed, or not fitted:"
        ),
        "\n".join(words(note) for note in notes) or "- none",
        "### Rate independence",
        words(
            "Devices D and D+15 have one energy and two speeds: a law that does not know the rate returns the same under both, measured within 1 "
            "and 3 %. C strikes with a quarter of the energy of D, the mass being less: what a law makes of the energy. With the fit where "
            "there is one; hard block, soft block."
        ),
        table(
            ["law", "e(D)/e(D+15), hard", "soft", "e(C)/e(D), hard", "soft"],
            [rate_measured(), *(rate_line(law) for law in ranked)],
        ),
        words(
            "So little of it is rate that none is needed for D and D+15. The laws' restitution falls with the energy about as the measured one "
            "on the soft block, and as much on the hard one, where the measured one falls less. Under device G, with a larger ball and eight "
            "times the energy, the hard block returns far less than any law says: the table of the manual has one reading there, and no law "
            "is to be fitted to it."
        ),
        "### Size of the indentation",
        words(
            "Diameters in millimetres, against twice the largest contact radius; the second and the sixth are not as printed (see above). Ma "
            "and Liu's circle is too large by a fifth and more, since its pressure goes up to psi = 2.84 times the fitted yield stress only; Thornton's "
            "grows as R d, without the material that piles up at the rim of a plastic contact."
        ),
        table(
            ["law", "ratio", *INDENTATIONS],
            [["measured", "", *sizes], *(diameter_line(law, fit) for law in circles for fit in (None, RATIO))],
        ),
        words(f"The sources at hand state no contact radius over the whole of the loading of {none}; these laws give none."),
    ]


def unfitted_rms(law: str) -> float:
    """For sorting."""
    rms = against(law, STEEL, None).rms
    return math.inf if rms is None else rms


# ---------------------------------------------------------------------------------------------------------------------
# A croquet ball


def speeds() -> dict[str, float]:
    """Speed by case, of the table that laws are ranked by, in its order."""
    return {row.case: row.stated["speed"] for row in read_impacts(DATA / CROQUET).rows if row.use != "show"}


TIMES = ("wood 2.19 m/s", "wood 5.50 m/s")


def slope(speed: Sequence[float], value: Sequence[float]) -> float:
    """Exponent of a power of the speed, by a straight line through the logarithms."""
    value = np.asarray(value)
    return float(np.polyfit(np.log(speed), np.log(value), 1)[0]) if (value > 0.0).all() else math.nan


def exponents(restitution: Sequence[float], times: Sequence[float]) -> list[str]:
    """How 1 - e and the time of contact go with the speed."""
    loss = slope(list(speeds().values()), [1.0 - e for e in restitution])
    moments = [row.stated["speed"] for row in read_impacts(DATA / CROQUET).rows if row.quantity == "duration"]
    return [f"{loss:z.3f}" if math.isfinite(loss) else "-", f"{slope(moments, times):z.3f}"]


def croquet_line(law: str) -> list[str]:
    """A law's restitution at each speed, and its times of contact."""
    one = against(law, CROQUET, DAMPING)
    restitution, times = values(one, list(speeds())), values(one, TIMES, "duration")
    return [
        link(law), f"{one.parameter} {one.fitted:.4g}" + (f" {one.unit}" if one.unit != "1" else ""), number(one.rms, 4),
        *map(number, restitution), *(number(1e3 * value) for value in times), *exponents(restitution, times),
    ]  # fmt: skip


def croquet() -> list[str]:
    """The section on the croquet ball."""
    laws = damped()
    fitted = sorted((law for law in laws if against(law, CROQUET, DAMPING).rms is not None), key=lambda law: against(law, CROQUET, DAMPING).rms or 0.0)
    left: dict[str, list[str]] = {}
    for law in laws:
        if law not in fitted:
            left.setdefault(against(law, CROQUET, DAMPING).problem, []).append(law)
    heads = ["law", "constant", "rms", *(f"{speed:g} m/s" for speed in speeds().values())]
    heads += ["time at 2.19 m/s [ms]", "at 5.5 m/s", "exponent of 1 - e", "of the time"]
    restitution, times = measured(CROQUET, list(speeds())), measured(CROQUET, TIMES, "duration")
    shown = ["measured", "", "", *map(number, restitution), *(number(1e3 * value) for value in times), *exponents(restitution, times)]
    return [
        "## A croquet ball on wood",
        described(CROQUET),
        "### One damping constant fitted to each law, at 2.83 m/s",
        words(
            "With nothing fitted there is nothing to compare: no damping constant of the wood is printed, and without one the restitution is 1. "
            "The time of contact ends with the force; until the overlap is zero takes a few per cent more."
        ),
        table(heads, [shown, *(croquet_line(law) for law in fitted)]),
        words(
            "The measured restitution falls by six points from 0.5 to 6 m/s. A damping that grows as the root of the overlap (Kuwabara and Kono) "
            "says so, with one constant: 1 - e goes as the fifth root of the speed; measured is a little less. With a higher power of the "
            "overlap the restitution falls too fast, and a dashpot of constant restitution cannot fall at all. The time of contact goes as Hertz's under "
            "all of them, v^-0.2, but for a linear spring's; measured is v^-0.23 (Gugan 2000)."
        ),
        words("Not fitted: " + "; ".join(f"{', '.join(link(law) for law in names)}: {problem}" for problem, names in left.items()) + ".")
        if left
        else "All of them were fitted.",
    ]


def lines() -> list[str]:
    """The section on what is printed in one line."""
    rows = read_impacts(DATA / LINES).rows
    cells = [
        (row.case, f"{row.stated['speed']:g}", number(row.measured), "not stated" if row.uncertainty is None else f"{row.uncertainty:g}")
        for row in rows
    ]
    return [
        "## Printed in one line",
        described(LINES),
        table(["case", "speed [m/s]", "restitution", "uncertainty"], cells),
        words(
            "No effective modulus is stated, so that no law is run; with one, `granchain impact LAW --data data/one-line-impacts --set "
            "pair.effective_modulus=...` compares."
        ),
    ]


HEAD = """# Against what was measured

Contact laws beside measured impacts of two bodies that are printed as numbers. Printed by `python docs/measured.py`; each measured number stands in
`data/` with its source, each computed one is an impact of the engine. How to compare laws of your own, or a folder of your own, stands in
[Compare laws with measured impacts](how-to/measured-impacts.md)."""

CHAINS = (
    "No measured force or speed of a chain of four beads or more is printed as numbers in any source at hand: none was found in some 250 "
    "look-ups. The folder `data/carretero-gonzalez2009`, for the row of 70 steel beads, stays ready for the curve, and no law is called validated "
    "on a chain."
)


def page() -> str:
    """The page in Markdown."""
    return "\n\n".join([HEAD, *steel(), *croquet(), *lines(), "## Chains", words(CHAINS)]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
