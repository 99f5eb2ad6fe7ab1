"""Items of the review of contact force models by Wang and co-workers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from items import (
    Erratum,
    Paper,
    Row,
    Shown,
    Verdict,
    cached,
    coarse,
    fine_step,
    points,
    refined_impact,
    scan_step,
)
from matplotlib.figure import Figure

import granchain as gc
from granchain import theory
from granchain.contact.pair import linearised_plastic_stiffness, yield_overlap
from granchain.material import MATERIALS
from granchain.pages.blocks import markdown_table as table

PAPER = Paper(
    "wang-2022",
    "Wang et al. 2022: the review of contact force models",
    "Wang and others, *Research progress of contact force models in the collision mechanics of multibody system*, 2022, in Chinese (entry wang-2022 of "
    "granchain/references.bib; the text at hand names no DOI). Fifteen dashpots with an impact speed (table 1), seven without (table 2), nine "
    "elastoplastic laws (table 3), six formulas of the restitution (table 4); two dashpots on the linearised stiffness of Ma and Liu, eqs. (53) and (55), "
    "and eq. (55) against the law of EDEM on a chain of 70 steel beads (table 6). Figures 1, 2, 4, 7 and 11 are sketches. Two pairs are used: that of "
    "table 5, and two beads of the chain, whose values Wang, Liu & Liu 2022 print (doi:10.1016/j.ijmecsci.2022.107214, table 8).",
)
item = PAPER.item
NO_NUMBERS = "nothing is printed but the formula"

# Two beads of the chain: Wang, Liu & Liu 2022, table 8 and sec. 5.2.
BEADS = gc.Pair(
    effective_radius=2.38e-3 / 2.0,
    effective_modulus=193e9 / (2.0 * (1.0 - 0.3**2)),
    effective_mass=0.45e-3 / 2.0,
    yield_stress=900e6,
    poissons_ratio=0.3,
    youngs_modulus=193e9,
    density=7968.8,
)
SPEED = 1.77
BEAD = {"psi": 2.84, "xi": 13.0}

# Table 5: a ball of 2.00 cm in a socket of 2.05 cm that stays; the softer body's yield stress.
# psi and xi: Wang, Liu & Liu 2022, sec. 4.
MODULUS = 1.0 / ((1.0 - 0.29**2) / 200e9 + (1.0 - 0.33**2) / 65e9)
BALL = 4.0 / 3.0 * math.pi * 0.02**3 * 7800.0
SOCKET = {"psi": 3.0, "xi": 13.0}


def table_5(radius: float = 0.0205 * 0.0200 / 0.0005, mass: float = BALL) -> gc.Pair:
    """The pair of table 5 in a reading of its radius and mass."""
    return gc.Pair(
        effective_radius=radius, effective_modulus=MODULUS, effective_mass=mass, yield_stress=30e6
    )


@cached
def socket(speed: float, law: str = "ma-liu") -> gc.ImpactResult:
    """Table 5: Ma-Liu, or a dashpot with the restitution that it gives."""
    inputs: dict[str, float] = SOCKET if law in ("ma-liu", "wang-liu-hysteretic") else {}
    if law != "ma-liu":
        inputs = inputs | {"restitution": socket(speed).restitution}
    return refined_impact(law=law, pair=table_5(), speed=speed, **inputs)


def first_yield(pair: gc.Pair) -> float:
    """Overlap of first yield d_y of Ma and Liu [m]."""
    return float(yield_overlap(pair, 1.61 * pair.yield_stress))


def beads(law: str, speed: float = SPEED, **inputs: Any) -> gc.ImpactResult:
    """An impact of two beads of the chain."""
    return refined_impact(law=law, pair=BEADS, speed=speed, **inputs)


def axes_of(x: str, y: str, columns: int = 1) -> tuple[Figure, Any]:
    """A figure with one or two axes."""
    figure = Figure(figsize=(6.0 if columns == 1 else 8.0, 4.0), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)[0]
    for one in axes:
        one.set(xlabel=x, ylabel=y)
    return figure, axes[0] if columns == 1 else axes


@item(
    "Eqs. (1), (2)",
    "Hertz's stiffness",
    Verdict.MISPRINT,
    "eq. (2) takes the root of R twice; with one root the overlap that section 4.1 prints comes out",
)
def equation_2() -> Shown:
    """The largest overlap of section 4.1 with both radii."""
    radius = 0.0205 * 0.0200 / 0.0005
    once, twice = (
        refined_impact(law="ma-liu", pair=table_5(R), speed=4.0, **SOCKET)
        for R in (radius, math.sqrt(radius))
    )
    return Shown(
        [
            Row("largest overlap, R = Ri Rj/(Ri - Rj) [um]", "111.52", 1e6 * once.max_overlap),
            Row("largest overlap, R as eq. (2) prints it [um]", "", 1e6 * twice.max_overlap),
        ],
        text="K = (4/3) E sqrt(R) is in N/m^1.5 only where R is a length.",
    )


@item(
    "Eqs. (5) to (21), (40)",
    "the derivation of Hunt and Crossley's damping factor",
    Verdict.REPRODUCED,
    "3/2 for every exponent, where the speed of the undamped approach is taken",
)
def equation_21() -> Shown:
    """chi = factor (1 - c_r) K/v0, from eqs. (10), (16), (19), (20); d_max = K = M = 1."""
    nodes, weights = np.polynomial.legendre.leggauss(points(50))
    d = 0.5 * (nodes + 1.0)
    rows = []
    for n in (1.0, 1.5, 2.0):
        speed = math.sqrt(2.0 / (n + 1.0))  # eq. (16)
        rate = speed * np.sqrt(1.0 - d ** (n + 1.0))  # eqs. (18), (19), (40)
        per_chi = 2.0 * float(np.sum(0.5 * weights * d**n * rate))  # eqs. (11), (20)
        per_alpha = speed**3  # eq. (10)
        rows.append(Row(f"factor of eq. (21), n = {n:g} [1]", "1.5", per_alpha / per_chi, 1e-5))
    return Shown(
        rows,
        text="Two steps make the law deliver more than it is asked for (table 1): eq. (10) drops the square of alpha v, and eqs. (19), (20) take the "
        "rate of an undamped approach. Within 1e-5: the quadrature.",
    )


# Table 1, in its order.
HYSTERESIS = (
    "hunt-crossley",
    "herbert-mcwhannell",
    "lee-wang",
    "lankarani-nikravesh",
    "gonthier",
    "zhiying-qishao",
    "flores",
    "gharib-hurmuzlu",
    "hu-guo",
    "hu",
    "shen",
    "carvalho-martins",
    "safaeifar-farshidianfar",
    "zhang",
    "zhao",
)
ASKED = (0.1, 0.3, 0.5, 0.7, 0.85, 0.9, 0.95)


@cached
def table_1() -> dict[str, dict[float, gc.ImpactResult]]:
    """Two beads under each law of table 1 for each restitution."""
    return {law: {e: beads(law, restitution=e) for e in ASKED} for law in HYSTERESIS}


@item(
    "Table 1",
    "fifteen dashpots with the impact speed: the restitution that comes out",
    Verdict.NO_NUMBERS,
    "the table has formulas; the English caption says that the denominators do not include the impact speed: they do, as the Chinese one says",
)
def delivered_of_table_1() -> Shown:
    """Delivered over asked."""
    found = table_1()
    figure, axes = axes_of("restitution asked for [1]", "delivered [1]")
    for i, (law, ones) in enumerate(found.items()):
        style = ("-", "--", ":")[i // 6]
        axes.plot(ASKED, [one.restitution for one in ones.values()], style, label=law)
    axes.plot([0.0, 1.0], [0.0, 1.0], "k", linewidth=0.5)
    figure.legend(loc="outside right upper", fontsize=8)
    lines = [(law, *(f"{ones[e].restitution:.3f}" for e in ASKED)) for law, ones in found.items()]
    return Shown(
        [Row(f"{law}, .5 asked [1]", "", ones[0.5].restitution) for law, ones in found.items()],
        figure,
        "Delivered for the restitution at the head of the column; it depends on neither stiffness, mass nor speed:\n\n"
        + table(("law", *(f"{e:g}" for e in ASKED)), lines),
    )


@item(
    "Fig. 3",
    "loops of the laws of table 1",
    Verdict.NO_NUMBERS,
    "the figure has none, and which laws, which pair and which restitution it draws is not stated",
)
def figure_3() -> Shown:
    """Force over overlap of two beads, .7 asked for."""
    figure, axes = axes_of("overlap [um]", "force [N]")
    for i, (law, ones) in enumerate(table_1().items()):
        style = ("-", "--", ":")[i // 6]
        axes.plot(1e6 * ones[0.7].overlap, ones[0.7].force, style, label=law)
    figure.legend(loc="outside right upper", fontsize=8)
    return Shown(figure=figure, text="Two beads of the chain at 1.77 m/s, .7 asked for.")


@item(
    "Eqs. (3), (23) to (32)",
    "linear spring and dashpot (Kelvin and Voigt, Maxwell)",
    Verdict.MISPRINT,
    "eqs. (29) and (30) have each lost a minus sign; together they are right",
)
def equation_31() -> Shown:
    """Against the closed form, K that of eq. (45)."""
    K, M, e = linearised_plastic_stiffness(BEADS, **BEAD), BEADS.effective_mass, 0.65
    D = 2.0 * abs(math.log(e)) * math.sqrt(K * M / (math.pi**2 + math.log(e) ** 2))  # (31)
    duration = math.pi / math.sqrt(K / M - (D / (2.0 * M)) ** 2)  # (27)
    one = beads("kelvin-voigt", restitution=e, stiffness=K, separation="tensile")
    final = math.exp(-D * duration / (2.0 * M)) * math.cos(math.pi)  # (28) at (27)
    return Shown(
        [
            Row("rate(t1) over v0 exp(..), eqs. (28), (29) [1]", "1", final / e, misprint=True),
            Row("restitution, .65 asked for [1]", "", one.restitution),
            Row("duration, eq. (27) [us]", "", 1e6 * duration),
            Row("duration, computed [us]", "", 1e6 * one.duration),
            Row("force at the touch [N]", "", D * SPEED),
            Row("force at the end [N]", "", -D * SPEED * e),
        ],
        text="Two beads of the chain at 1.77 m/s, .65 asked for, the contact ending at d = 0: the force starts above and ends below zero, as the text "
        "says of eq. (3). The restitution is that asked for; the rate at the end is its negative.",
    )


@item(
    "Eqs. (33) to (39)",
    "dashpot over Hertz's spring with d^(1/4), the law of EDEM",
    Verdict.NO_NUMBERS,
    NO_NUMBERS + "; it delivers exactly what it is asked for where the contact may pull",
)
def equation_39() -> Shown:
    """Tsuji's law, pulling until d = 0, and with its force clamped at zero."""
    rows = []
    for e in (0.3, 0.5, 0.7, 0.9):
        for separation in ("tensile", "clamped"):
            one = beads("tsuji", restitution=e, separation=separation)
            rows.append(Row(f"delivered for {e:g}, {separation} [1]", "", one.restitution))
    return Shown(
        rows,
        text="With z = (4/5) d^(5/4) eq. (35) is the linear oscillator's equation with the damping ratio alpha/sqrt(5), so eq. (38) is exact, "
        "not an approximation; eqs. (36), (37) are consistent with it. Clamped at F = 0, as dry beads are, it delivers more.",
    )


# Table 2: what is asked for, and coefficients of a size that damps two beads visibly; the table
# has none.
HERTZ = BEADS.hertz_stiffness
VISCOUS: dict[str, tuple[str, dict[str, Any]]] = {
    "Kuwabara-Kono": ("kuwabara-kono", {"chi": 1e-6 * HERTZ}),
    "Tsuji et al.": ("tsuji", {"restitution": 0.7, "separation": "tensile"}),
    "Jankowski, approach": ("jankowski", {"restitution": 0.7}),
    "Jankowski, as printed": (
        "jankowski-both-phases",
        {"restitution": 0.7, "separation": "tensile"},
    ),
    "Lee-Wang, n = 1": (
        "lee-wang-transition",
        {
            "restitution": 0.7,
            "stiffness": 1.6e7,
            "q": 3.0,
            "epsilon": 1e-6,
            "separation": "tensile",
        },
    ),
    "Schwager-Poschel": ("schwager-poschel", {"chi": 5e-6 * HERTZ}),
    "Lee-Herrmann": ("lee-herrmann", {"chi": 2e-3 * HERTZ}),
    "Ristow": ("ristow", {"chi": 2e-3 * HERTZ}),
}


@item(
    "Table 2",
    "seven dashpots without the impact speed",
    Verdict.MISPRINT,
    "Jankowski's dashpot acts in approach only, and Lee and Wang's spring is linear (n = 1): as printed the first loses far too much, and the second "
    "has no force's dimension",
    long=True,
)
def laws_of_table_2() -> Shown:
    """Restitution over speed."""
    speeds = (0.1, 0.3, 1.0, 3.0, 10.0)
    figure, axes = axes_of("impact speed [m/s]", "restitution [1]")
    rows = []
    for i, (name, (law, inputs)) in enumerate(VISCOUS.items()):
        found = [beads(law, v, **inputs).restitution for v in speeds]
        axes.semilogx(speeds, found, ("o-", "s--")[i % 2], label=name, markersize=8 - i)
        rows.append(Row(f"{name}, at 1 m/s [1]", "", found[2]))
    figure.legend(loc="outside right upper", fontsize=7)
    return Shown(
        rows,
        figure,
        "Where a restitution enters it is .7, else the coefficient is free (Kuwabara-Kono 1e-6 s times K, Schwager-Poschel 5e-6 s/m^.15 times K, the two with d^1 .002 s/m^.5 times K). Lee-Wang: q = 3, epsilon "
        "1 um. A law whose damping has not the power 1/4 over Hertz's spring (or 0 over a linear one) gives another restitution at another speed. Lee-Herrmann "
        "and Ristow are one law here: the table has the same power for both and calls both coefficients empirical.",
    )


# Section 1.3: two steel balls of 2 cm at 8 m/s; the density is not stated, 7800 kg/m3 that of
# table 5.
BALLS = gc.Pair(
    effective_radius=0.01,
    effective_modulus=2.07e11 / (2.0 * (1.0 - 0.3**2)),
    effective_mass=BALL / 2.0,
)


@cached
def damped(law: str, e: float) -> tuple[gc.ImpactResult, np.ndarray]:
    """An impact of section 1.3, and the part of its force that Hertz's spring does not make."""
    ends = {"separation": "tensile"} if law == "tsuji" else {}
    one = refined_impact(law=law, pair=BALLS, speed=8.0, restitution=e, **ends)
    return one, one.force - BALLS.hertz_stiffness * np.clip(one.overlap, 0.0, None) ** 1.5


@item(
    "Figs. 5, 6",
    "the damping's part of the force: Hunt and Crossley, EDEM",
    Verdict.NOT_STATED,
    "restitution and density are missing. With 7800 kg/m3 the 8000 N that section 1.3 names need a restitution of .717",
)
def figures_5_and_6() -> Shown:
    """Damping force and whole force over overlap, .7 asked for."""
    figure, panels = axes_of("overlap [um]", "damping force [kN]", 2)
    panels[1].set_ylabel("force [kN]")
    rows = []
    for law in ("hunt-crossley", "tsuji"):
        one, damping = damped(law, 0.7)
        panels[0].plot(1e6 * one.overlap, 1e-3 * damping, label=law)
        panels[1].plot(1e6 * one.overlap, 1e-3 * one.force, label=law)
        rows += [
            Row(f"{law}: largest damping force [N]", "", float(damping.max())),
            Row(f"{law}: largest force [N]", "", one.max_force),
            Row(f"{law}: smallest force [N]", "", float(one.force.min())),
        ]
    panels[0].legend()
    rows += [
        Row(
            f"hunt-crossley, e = {e:g}: largest damping force [N]",
            "",
            damped("hunt-crossley", e)[1].max(),
        )
        for e in (0.6, 0.717, 0.8)
    ]
    return Shown(rows, figure, "7800 kg/m3, .7 asked for where no other is named.")


@item(
    "Section 1.5, 2",
    "speed of first yield, 1e-5 sqrt(E/rho)",
    Verdict.CONTRADICTED,
    "good for a steel of 900 MPa; the yield stress, whose power 5/2 decides, does not enter: a 28th of it for steel 304, 8.5 times for steel 52100",
)
def yield_speed() -> Shown:
    """Speed at which two equal spheres yield at 1.61 s_y, over sqrt(E/rho); any radius."""
    rows = []
    for name in ("steel-316", "steel-304", "steel-52100", "aluminium-6061-t6", "polycarbonate"):
        one = MATERIALS[name]
        modulus = one.youngs_modulus / (2.0 * (1.0 - one.poissons_ratio**2))
        mass = 4.0 / 3.0 * math.pi * one.density / 2.0
        speed = theory.thornton_yield_speed(modulus, 0.5, mass, 1.61 * one.yield_stress)
        sound = math.sqrt(one.youngs_modulus / one.density)
        what = f"{name}, {1e-6 * one.yield_stress:.0f} MPa: yields at {1e3 * speed:.3g} mm/s, over sqrt(E/rho) [1]"
        rows.append(Row(what, "1e-5", speed / sound))
    return Shown(
        rows,
        text="Spheres of one material and radius; the largest Hertz pressure is 1.61 s_y there. Other readings: with 1.6 s_y (Thornton) the speeds are 1.5 % "
        "lower; against a wall of the same material they are twice as high. The rule also stands in Autiero et al. 2022.",
    )


# Table 3, in its order; what the table leaves to be fitted: the examples of the laws' own pages.
ELASTOPLASTIC: dict[str, dict[str, float]] = {
    "thornton": {},
    "stronge": {},
    "vu-quoc-zhang": {"yield_force": 1.943, "C_a": 2e-7, "K_c": 6.3e-4},
    "kogut-etsion": {},
    "jackson-green": {},
    "du-wang": {},
    "brake": {},
    "burgoyne-daraio": {},
    "ma-liu": BEAD,
}


@cached
def table_3() -> dict[str, dict[float, gc.ImpactResult]]:
    """Two beads under each law of table 3, at three speeds."""
    return {
        law: {v: beads(law, v, **inputs) for v in (0.2, SPEED, 10.0)}
        for law, inputs in ELASTOPLASTIC.items()
    }


@item(
    "Table 3",
    "nine elastoplastic laws",
    Verdict.MISPRINT,
    "seven of the nine, see the errata; Kogut-Etsion and Jackson-Green lack their residual overlap. Mended, each law is continuous, but for jumps of up to 3 % in these two",
    long=True,
)
def laws_of_table_3() -> Shown:
    """Restitution at three speeds."""
    found = table_3()
    lines = [
        (
            law,
            *(f"{one.restitution:.4f}" for one in ones.values()),
            f"{ones[SPEED].max_force:.1f}",
            f"{1e6 * ones[SPEED].max_overlap:.2f}",
            f"{1e6 * ones[SPEED].residual_overlap:.2f}",
        )
        for law, ones in found.items()
    ]
    head = ("law", "e at .2", "1.77", "10 m/s", "force at 1.77 [N]", "overlap [um]", "dent [um]")
    return Shown(
        [
            Row(f"{law}: restitution at 1.77 m/s [1]", "", ones[SPEED].restitution)
            for law, ones in found.items()
        ],
        text="Two beads of the chain, with granchain's guard: no contact returns more than it took.\n\n"
        + table(head, lines),
    )


@cached
def as_printed() -> dict[str, float]:
    """Restitution at .2 or 1.77 m/s of the laws of table 3 whose guard acts there, without it."""
    slow = {"stronge": 0.2, "brake": SPEED, "burgoyne-daraio": 0.2}
    return {
        law: beads(law, v, as_printed=True, **ELASTOPLASTIC[law]).restitution
        for law, v in slow.items()
    }


@item(
    "Table 3, energy",
    "the laws as printed: what comes back",
    Verdict.CONTRADICTED,
    "section 2 takes the area between loading and unloading for the loss in all nine; in three of them it is negative at some speed",
    long=True,
)
def energy_of_table_3() -> Shown:
    """Restitutions above 1."""
    return Shown(
        [Row(f"{law}: restitution as printed [1]", "", e) for law, e in as_printed().items()],
        text="Misprints mended, the energy guard off: Stronge and Burgoyne-Daraio at .2 m/s, Brake at 1.77 m/s. Loading is stiffer than Hertz's there, unloading "
        "is not. The guard of granchain, on by default, holds what is lost at or above zero, and never lets it fall.",
    )


@item(
    "Fig. 8",
    "loading and unloading of the laws of table 3",
    Verdict.NO_NUMBERS,
    "the figure has none, and its pair is not stated",
    long=True,
)
def figure_8() -> Shown:
    """Force over overlap of two beads."""
    figure, axes = axes_of("overlap [um]", "force [N]")
    for i, (law, ones) in enumerate(table_3().items()):
        one = ones[SPEED]
        axes.plot(1e6 * one.overlap, one.force, ("-", "--")[i // 5], label=law)
    axes.legend(fontsize=7)
    return Shown(figure=figure, text="Two beads of the chain at 1.77 m/s.")


@item("Fig. 9", "the three phases of an elastoplastic contact", Verdict.NO_NUMBERS, "a sketch")
def figure_9() -> Shown:
    """Ma-Liu with its overlaps of first yield and of full plasticity, table 5 at 8 m/s."""
    one, d_y = socket(8.0), first_yield(table_5())
    d_p = 0.5 * SOCKET["xi"] ** 2 * d_y
    figure, axes = axes_of("overlap [um]", "force [kN]")
    axes.plot(1e6 * one.overlap, 1e-3 * one.force)
    for name, d in (("d_y", d_y), ("d_p", d_p), ("d_r", one.residual_overlap)):
        axes.axvline(1e6 * d, color="k", linestyle=":", linewidth=0.8)
        axes.annotate(f" {name}", (1e6 * d, 0.9e-3 * one.max_force))
    return Shown(
        [
            Row("first yield d_y [um]", "", 1e6 * d_y),
            Row("full plasticity d_p [um]", "", 1e6 * d_p),
            Row("largest overlap at 8 m/s [um]", "", 1e6 * one.max_overlap),
            Row("dent d_r [um]", "", 1e6 * one.residual_overlap),
        ],
        figure,
        "Table 5 at 8 m/s: elastic up to d_y, elastoplastic up to d_p, plastic beyond; unloading down to the dent d_r.",
    )


def impulse_and_work(one: gc.ImpactResult) -> tuple[float, float]:
    """Eqs. (42) and (43): recovery over approach, of the impulse and of the work."""
    top = int(one.overlap.argmax())
    parts = [slice(top, None), slice(0, top + 1)]
    impulse = [np.trapezoid(one.force[part], one.time[part]) for part in parts]
    work = [np.trapezoid(one.force[part], one.overlap[part]) for part in parts]
    return impulse[0] / impulse[1], work[0] / work[1]


@item(
    "Eqs. (41) to (44)",
    "restitution by Newton, Poisson, Stronge and Hedrih",
    Verdict.MISPRINT,
    "eq. (43) is -e^2: Stronge's restitution is the root of its negative. All agree in a central impact",
)
def four_restitutions() -> Shown:
    """Newton's, Poisson's and eq. (43) of impacts of two beads."""
    rows = []
    for law, inputs in (
        ("ma-liu", BEAD),
        ("flores", {"restitution": 0.65}),
        ("tsuji", {"restitution": 0.65}),
    ):
        one = beads(law, refine=20.0, **inputs)
        impulse, work = impulse_and_work(one)
        rows += [
            Row(f"{law}: Newton, eq. (41) [1]", "", one.restitution),
            Row(f"{law}: Poisson, eq. (42) [1]", "", impulse),
            Row(f"{law}: eq. (43) as printed [1]", "", work),
            Row(f"{law}: root of its negative [1]", "", math.sqrt(-work)),
        ]
    return Shown(
        rows,
        text="Integrals by the trapezium rule over the steps. Hedrih's, eq. (44), is of angular velocities: for balls that roll on one circle they are the "
        "speeds over one radius, and their ratio is Newton's.",
    )


@item(
    "Table 4",
    "six formulas of the restitution",
    Verdict.MISPRINT,
    "Chang and Ling's has no right dimension, Wu's first exponent makes the restitution grow with the speed, Weir and Tallon's R1 is not defined; the "
    "others as printed",
    long=True,
)
def formulas_of_table_4() -> Shown:
    """Two beads, over speed; out of its range a formula is refused."""
    E, R, m = BEADS.effective_modulus, BEADS.effective_radius, BEADS.effective_mass
    s_y, nu = BEADS.yield_stress, BEADS.poissons_ratio
    v_y = theory.thornton_yield_speed(E, R, m, 1.6 * s_y)
    v_c = theory.jackson_critical_speed(E, R, m, s_y, nu)
    formulas = {
        "Chang-Ling": lambda v: theory.chang_ling_restitution(v, E, R, m, s_y, nu),
        "Thornton": lambda v: theory.thornton_restitution(v, v_y),
        "Wu et al.": lambda v: theory.wu_restitution(v, v_y, s_y, E),
        "Weir-Tallon": lambda v: theory.weir_tallon_restitution(v, s_y, E, 193e9, 7968.8),
        "Jackson et al.": lambda v: theory.jackson_restitution(v, v_c, s_y / E),
        "Ma-Liu, plastic": lambda v: theory.ma_liu_plastic_restitution(v, E, R, m, s_y, **BEAD),
    }
    speeds = np.geomspace(0.1, 20.0, 60)
    figure, axes = axes_of("impact speed [m/s]", "restitution [1]")
    rows = []
    for name, formula in formulas.items():
        found = [within_range(formula, v) for v in speeds]
        axes.semilogx(speeds, found, label=name)
        rows.append(Row(f"{name} at 1.77 m/s [1]", "", within_range(formula, SPEED)))
    axes.legend(fontsize=7)
    rows += [
        Row("Thornton's law, computed, at 1.77 m/s [1]", "", beads("thornton").restitution),
        Row("Jackson and Green's law, computed [1]", "", beads("jackson-green").restitution),
        Row("Ma and Liu's law, computed, at 1.77 m/s [1]", "", beads("ma-liu", **BEAD).restitution),
        Row("Wu's first factor as printed, at 10 yield speeds [1]", "", 2.08 * 10.0**0.156),
    ]
    return Shown(
        rows,
        figure,
        "Two beads of the chain. nan: refused, out of the formula's range. Chang and Ling is derived anew; Wu's exponent is -1/4, the plastic limit of "
        "Thornton's; Weir and Tallon for a sphere on a plane, unverified; Ma and Liu's is the asymptote of full plasticity, which two beads at 1.77 m/s "
        "are below.",
    )


def within_range(formula: Any, speed: float) -> float:
    """A formula's restitution, nan where it is refused."""
    try:
        return float(formula(speed))
    except gc.errors.CaseError:
        return math.nan


@item(
    "Eqs. (45) to (53), table 5",
    "the hysteretic dashpot on the linearised stiffness",
    Verdict.MISPRINT,
    "table 5 has its two densities swapped; with them right, radii and masses agree, and so do the three numbers of section 4.1",
)
def equation_53() -> Shown:
    """Numbers of section 4.1, and the masses of two spheres."""
    sphere = 4.0 / 3.0 * math.pi
    one, dashpot = socket(4.0), socket(4.0, "wang-liu-hysteretic")
    other = [
        refined_impact(law="ma-liu", pair=table_5(mass=m), speed=4.0, **SOCKET).restitution
        for m in (0.097, 0.097 * 0.261 / 0.358)
    ]
    return Shown(
        [
            Row(
                "mass of 2.05 cm with the other's density [kg]",
                "0.097",
                sphere * 0.0205**3 * 2700.0,
            ),
            Row("mass of 2.00 cm with the other's density [kg]", "0.261", BALL),
            Row(
                "density of .097 kg and 2.05 cm [kg/m3]",
                "7800",
                0.097 / (sphere * 0.0205**3),
                misprint=True,
            ),
            Row(
                "density of .261 kg and 2.00 cm [kg/m3]",
                "2700",
                0.261 / (sphere * 0.0200**3),
                misprint=True,
            ),
            Row("overlap of first yield [um]", "1.5788", 1e6 * first_yield(table_5())),
            Row("largest overlap at 4 m/s [um]", "111.52", 1e6 * one.max_overlap),
            Row("restitution of Ma-Liu at 4 m/s [1]", "0.6909", one.restitution),
            Row("K_p, eq. (45) [N/m]", "", linearised_plastic_stiffness(table_5(), **SOCKET)),
            Row("delivered by eq. (53) for that restitution [1]", "", dashpot.restitution),
        ],
        text=f"A ball of .2614 kg in a socket that stays: R = Ri Rj/(Ri - Rj) = .82 m, the softer body's 30 MPa. Tried besides: .097 kg gives a restitution of "
        f"{other[0]:.4f}, the effective mass of .097 and .261 kg {other[1]:.4f}. Eqs. (49) to (52) are consistent; eq. (53) delivers {dashpot.restitution:.4f} "
        "for .6909.",
    )


@item(
    "Fig. 10, section 4.1",
    "loops of Ma-Liu and of eq. (53): the loss",
    Verdict.CONTRADICTED,
    "the losses differ by .79 %, not by .25 % at most; at 8 m/s by 1.06 %",
)
def figure_10() -> Shown:
    """Force over overlap, and what is lost."""
    figure, axes = axes_of("overlap [um]", "force [kN]")
    rows = []
    for speed in (4.0, 8.0):
        elastoplastic, dashpot = socket(speed), socket(speed, "wang-liu-hysteretic")
        if speed == 4.0:
            for one in (elastoplastic, dashpot):
                axes.plot(1e6 * one.overlap, 1e-3 * one.force, label=one.law)
        off = 100.0 * (dashpot.dissipated / elastoplastic.dissipated - 1.0)
        rows += [
            Row(f"loss of Ma-Liu at {speed:g} m/s [J]", "", elastoplastic.dissipated),
            Row(f"loss of eq. (53) at {speed:g} m/s [J]", "", dashpot.dissipated),
            Row(f"they differ at {speed:g} m/s by [%]", "0.25" if speed == 4.0 else "", off),
        ]
    axes.legend()
    e = socket(4.0).restitution
    delivered = theory.delivered_restitution(1.5 * (1.0 - e) / e)
    rows.append(
        Row(
            "closed form at 4 m/s [%]",
            "0.25",
            100.0 * ((1.0 - delivered**2) / (1.0 - e**2) - 1.0),
        )
    )
    return Shown(
        rows,
        figure,
        "What a law of this form delivers follows from e alone, by a closed form (Gonthier et al. 2004): .6879 for .6909. Readings tried: the velocities that "
        "Wang, Liu & Liu 2022 print (2.7518 m/s of 4) give .78 %; their loss of 1.0956 J against 1.0929 J gives the .25 %, but lies .5 % below the balance of "
        "their own velocities, 1.1014 J.",
    )


@item(
    "Eqs. (54), (55)",
    "the viscous dashpot on the linearised stiffness",
    Verdict.NO_NUMBERS,
    NO_NUMBERS + "; exact where the contact ends at d = 0",
)
def equation_55() -> Shown:
    """Two beads of the chain, .65 asked for."""
    K, M, e = linearised_plastic_stiffness(BEADS, **BEAD), BEADS.effective_mass, 0.65
    inputs = BEAD | {"restitution": e}
    tensile = beads("wang-liu-viscous", separation="tensile", **inputs)
    clamped = beads("wang-liu-viscous", **inputs)
    return Shown(
        [
            Row("K_p [N/m]", "", K),
            Row("D, eq. (54) [N s/m]", "", 2.0 * theory.damping_ratio(e) * math.sqrt(K * M)),
            Row("delivered for .65, may pull [1]", "", tensile.restitution),
            Row("duration [us]", "", 1e6 * tensile.duration),
            Row("smallest force [N]", "", float(tensile.force.min())),
            Row("delivered for .65, clamped [1]", "", clamped.restitution),
        ],
        text="The text keeps quiet on tension here; at the touch the force jumps to D times the rate.",
    )


# The chain: 70 beads of table 8 of Wang, Liu & Liu 2022.
CASES = {
    "ma-liu": gc.load_case("steel-chain"),
    "wang-liu-viscous": gc.load_case("steel-chain-viscous"),
    "tsuji": gc.load_case("steel-chain-edem"),
}
NAMES = {"wang-liu-viscous": "eq. (55)", "tsuji": "EDEM", "ma-liu": "Ma-Liu"}
CHAIN_E = 0.65


@cached
def chain(law: str, **inputs: Any) -> gc.Result:
    """A run of the chain."""
    named = {f"contact.{name}": value for name, value in inputs.items()}
    case = CASES[law].replace(
        **{"sensors.contacts": [], "snapshots": None, "time.end": 0.7e-3, **named}
    )
    return gc.run(scan_step(case) if inputs else fine_step(case))


@cached
def peaks(law: str, **inputs: Any) -> np.ndarray:
    """Peak force at each sensor [N]."""
    return np.array([one.peak for one in gc.analysis.summary(chain(law, **inputs)).sensors])


SENSORS = (9, 16, 24, 31, 40, 50, 56, 63)


def waves(laws: Sequence[str]) -> Shown:
    """Forces at the sensors, peaks and arrivals."""
    figure, panels = axes_of("time [us]", "force at a bead [N]", 2)
    colours = {"wang-liu-viscous": "C3", "tsuji": "C0", "ma-liu": "k"}
    rows = []
    for law in laws:
        data = chain(law).to_xarray()
        forces = data["sensor_force"].to_numpy()
        time = 1e6 * data["sensor_force"]["time"].to_numpy()
        for i in range(len(SENSORS)):
            label = NAMES[law] if i in (0, 4) else None
            panels[i // 4].plot(time, forces[:, i], color=colours[law], label=label)
        for one in gc.analysis.summary(chain(law)).sensors[:: 7 if len(laws) > 1 else 1]:
            rows += [
                Row(f"{NAMES[law]}, bead {one.bead}: peak [N]", "", one.peak),
                Row(f"{NAMES[law]}, bead {one.bead}: arrival [us]", "", 1e6 * one.arrival),
            ]
    for panel, beads_of in zip(panels, ("9, 16, 24, 31", "40, 50, 56, 63"), strict=True):
        panel.set_title(f"beads {beads_of}")
        panel.legend()
    return Shown(rows, figure)


MISSING = "the restitution of the chain is not stated, nor any measured force; .65 is that of Wang, Liu & Liu 2022, sec. 5.2"


@item("Fig. 12", "the chain under eq. (55)", Verdict.NOT_STATED, MISSING)
def figure_12() -> Shown:
    """Forces of eq. (55) at the eight sensors."""
    return waves(["wang-liu-viscous"])


@item("Fig. 13", "eq. (55) and the law of EDEM", Verdict.NOT_STATED, MISSING)
def figure_13() -> Shown:
    """Forces of both, and of Ma-Liu in place of the experiment."""
    shown = waves(["wang-liu-viscous", "tsuji", "ma-liu"])
    return Shown(
        shown.rows,
        shown.figure,
        "Ma-Liu is drawn in place of the experiment, whose curves are printed nowhere as numbers.",
    )


# Table 6, in percent of the measured peak force.
ERRORS = {
    "wang-liu-viscous": (4.23, 6.68, 19.44, 1.44, 9.12, 0.50, 12.33, 25.39),
    "tsuji": (5.36, 7.39, 22.44, 10.03, 10.19, 16.38, 26.54, 36.79),
}
# As many restitutions as are tried.
SCANNED = tuple(round(0.30 + 0.01 * i, 2) for i in range(70))


def ratios(of_model: bool) -> np.ndarray:
    """(4, 8): peak of eq. (55) over EDEM's that table 6 allows, for each pair of signs."""
    new, edem = (0.01 * np.array(ERRORS[law]) for law in ("wang-liu-viscous", "tsuji"))
    signs = [(a, b) for a in (1.0, -1.0) for b in (1.0, -1.0)]
    if of_model:
        # an error over the computed peak: measured = computed (1 +- error)
        return np.array([(1.0 + b * edem) / (1.0 + a * new) for a, b in signs])
    return np.array([(1.0 + a * new) / (1.0 + b * edem) for a, b in signs])


@cached
def best_pair(of_model: bool) -> tuple[float, float, float, str, str]:
    """Smallest worst mismatch of the eight ratios over all pairs of restitutions, and where."""
    allowed = ratios(of_model)
    found = []
    for first in ("clamped", "tensile"):
        for second in ("clamped", "tensile"):
            for e1 in SCANNED:
                new = peaks("wang-liu-viscous", restitution=e1, separation=first)
                for e2 in SCANNED:
                    edem = peaks("tsuji", restitution=e2, separation=second)
                    off = np.abs(new / edem / allowed - 1.0).min(axis=0).max()
                    found.append((float(off), e1, e2, first, second))
    return min(found)


def deviation(law: str, e: float) -> float:
    """Mean part by which the eight peaks of a dashpot miss Ma-Liu's."""
    return float(np.mean(np.abs(peaks(law, restitution=e) / peaks("ma-liu") - 1.0)))


@item(
    "Table 6",
    "errors of the peak force against the experiment",
    Verdict.CONTRADICTED,
    "no pair of restitutions makes eq. (55) and EDEM's law differ as the two rows say; the measured forces, which would decide, are not printed",
    long=True,
)
def table_6() -> Shown:
    """Ratios of the two laws' peaks, beside those that the two rows allow."""
    allowed = ratios(of_model=False)
    lines = []
    for e in (0.5, CHAIN_E, 0.8, 0.9, 0.95):
        ratio = peaks("wang-liu-viscous", restitution=e) / peaks("tsuji", restitution=e)
        inside = (ratio >= allowed.min(axis=0)) & (ratio <= allowed.max(axis=0))
        lines.append((f"e {e:g}", *(f"{r:.2f}" for r in ratio), f"{inside.sum()} of 8"))
    for name, bound in (("least", allowed.min(axis=0)), ("most", allowed.max(axis=0))):
        lines.append((f"{name} allowed", *(f"{r:.2f}" for r in bound), ""))
    ratio = peaks("wang-liu-viscous", restitution=CHAIN_E) / peaks("tsuji", restitution=CHAIN_E)
    figure, axes = axes_of("bead", "peak of eq. (55) over EDEM's [1]")
    axes.fill_between(SENSORS, allowed.min(axis=0), allowed.max(axis=0), alpha=0.3, label="allowed")
    for e in (0.5, CHAIN_E, 0.8, 0.9):
        both = [peaks(law, restitution=e) for law in ("wang-liu-viscous", "tsuji")]
        axes.plot(SENSORS, both[0] / both[1], "o-", label=f"both asked for {e:g}")
    axes.legend()
    off, off_model = best_pair(of_model=False)[0], best_pair(of_model=True)[0]
    # which pair is the best one, of several that are alike, is a matter of the finer runs
    with coarse(False):
        _, e1, e2, first, second = best_pair(of_model=False)
        _, f1, f2, first_model, second_model = best_pair(of_model=True)
    return Shown(
        [
            Row("mean of eq. (55)'s row [%]", "", float(np.mean(ERRORS["wang-liu-viscous"]))),
            Row("mean of EDEM's row [%]", "", float(np.mean(ERRORS["tsuji"]))),
            Row("ratio of the peaks at bead 63, e = .65 [1]", "", ratio[-1]),
            Row("the same, largest that table 6 allows [1]", "", allowed.max(axis=0)[-1]),
            Row("best pair of restitutions: worst bead misses by [%]", "", 100.0 * off),
            Row("the same, errors over the computed peak [%]", "", 100.0 * off_model),
        ],
        figure,
        "Two errors, of either sign, allow four ratios of the two laws' peaks at each bead, whatever was measured "
        "there.\n\n"
        + table(("", *map(str, SENSORS), "between"), lines)
        + f"\n\nReadings tried: every pair of restitutions from .30 to .99 in steps of .01, each law with its own; both ways in which a contact ends, for each law; all "
        f"signs; errors over the measured and over the computed peak. (Another effective mass in the damping is another restitution.) The best pair, {e1:g} "
        f"{first} with {e2:g} {second}, misses a bead by {100.0 * off:.1f} %; over the computed peak {f1:g} {first_model} with {f2:g} {second_model}, "
        f"{100.0 * off_model:.1f} %: table 6 is printed to .01 %. At restitutions near 1 both laws are nearly elastic, and eq. (55)'s peaks are then around 50 "
        "to 60 N. The curves of figures 12 and 13 are not at hand to compare. Not tried: other psi and xi, another law up to first yield.",
    )


PAPER.errata += [
    Erratum("eq. (2)", "R = sqrt(Ri Rj/(Ri +- Rj))", "without the root", "dimension; the 111.52 um of section 4.1"),
    Erratum("table 1, English caption", "do not include", "include", "the formulas, and the Chinese caption"),
    Erratum("eqs. (29), (30)", "rate(t1) = v0 exp(..), c_r = rate/v0", "a minus in each", "cos(pi) = -1 in eq. (28); eq. (7)"),
    Erratum("table 2, Jankowski", "F = K d^n + chi d^m rate all along", "the dashpot acts in approach only", "Jankowski 2005; .4946 delivered for .5 against .0892"),
    Erratum("table 2, Lee and Wang", "n = 3/2", "n = 1, T = exp{q/epsilon [..]} on a linear spring", "dimension; Autiero et al. 2022, eqs. (41) to (45)"),
    Erratum("table 3, Thornton", "sigma_y in the loading's slope and R_p", "p_y = 1.6 sigma_y", "slope of Hertz's curve at d_y"),
    Erratum("table 3, Stronge", "d_f = d_c - d_r", "the residual overlap, by the point (d_c, F_max)", "continuity where unloading begins"),
    Erratum("table 3, Vu-Quoc and Zhang", "unloading a_e = 2 C_R R (d - d_r)", "its root", "dimension"),
    Erratum("table 3, Du and Wang", "d <= d_e in both branches", "d > d_e in the second", "the branches"),
    Erratum(
        "table 3, Brake",
        "exponent 3/2 in the residual overlap; F_p = p_0 pi a_p; F' without index; 4 (d/d_y) + c/(R d_y)",
        "2/3; a_p^2; F'_y; 2 (d/d_y) + ..",
        "unloading through (d_m, F_m); dimension; continuity at d_y and at d_p",
    ),
    Erratum("table 3, Burgoyne and Daraio", "R_p without exponent", "(..)^(3/2)", "dimension; Thornton's line"),
    Erratum("table 3, Ma and Liu", "ln(d/d_c); F^e with d_y", "ln(d/d_y); d_max", "continuity; with d_y four times the energy comes back"),
    Erratum("eq. (43)", "ratio of the works", "the root of its negative", "table of eqs. (41) to (44)"),
    Erratum("table 4, Chang and Ling", "[w_c w_m (2 - w_c/w_m)]^1.5", "w_c [w_m (2 - w_c/w_m)]^1.5", "dimension; Hertz's limit w_m = w_c gives 1"),
    Erratum("table 4, Wu et al.", "(V/V_c)^.156", "(V/V_c)^(-1/4)", "the restitution falls with the speed; the plastic limit of Thornton's formula; not compared with the original"),
    Erratum("table 5", "densities 7800, 2700", "2700, 7800", "the masses of spheres of 2.05 and 2.00 cm"),
]  # fmt: skip


@PAPER.claim(
    "section 1.1",
    "a dashpot with the impact speed in its denominator is infinite where beads touch at rest",
    "holds",
)
def at_rest() -> str:
    """What granchain does instead."""
    found = gc.analysis.summary(
        gc.run(
            fine_step(
                gc.load_case("steel-chain-dashpot").replace(
                    **{"sensors.contacts": [], "snapshots": None}
                )
            )
        )
    )
    return (
        f"a rate of 0 at the touch leaves chi undefined; with one speed for all contacts, the striker's, the chain runs ({found.sensors[0].peak:.1f} N "
        "at bead 9 with eq. (53))"
    )


@PAPER.claim(
    "section 1.3",
    "dampings of table 1 keep the balance of energy before and after, those from an oscillator do not",
    "contradicted for the loss that is asked for; what is lost leaves the kinetic energy in both",
)
def balance() -> str:
    """Loss over the loss that is asked for."""
    parts = []
    for law, ends in (("hunt-crossley", {}), ("flores", {}), ("tsuji", {"separation": "tensile"})):
        one = beads(law, restitution=0.5, **ends)
        parts.append(f"{law} {(1.0 - one.restitution**2) / 0.75:.3f}")
    return "loss over the asked (1 - e^2) m v^2/2 at e = .5: " + ", ".join(parts)


@PAPER.claim(
    "section 1.3, figs. 5, 6",
    "no tension at the end under Hunt and Crossley; tension under EDEM's law",
    "holds",
)
def tension() -> str:
    """Smallest forces."""
    return ", ".join(
        f"{law} {damped(law, 0.7)[0].force.min():.0f} N" for law in ("hunt-crossley", "tsuji")
    )


@PAPER.claim(
    "section 1.3",
    "the force is smaller under EDEM's law because its largest damping force is smaller",
    "the force is; the reason fails below e of about .6",
)
def smaller() -> str:
    """Both forces for several restitutions."""
    parts = []
    for e in (0.7, 0.5):
        (one, first), (other, second) = damped("hunt-crossley", e), damped("tsuji", e)
        parts.append(
            f"e = {e:g}: damping {1e-3 * first.max():.1f} and {1e-3 * second.max():.1f} kN, force "
            f"{1e-3 * one.max_force:.1f} and {1e-3 * other.max_force:.1f} kN"
        )
    return "; ".join(parts)


@PAPER.claim(
    "section 1.3", "the tension changes next to nothing in the wave of a chain of beads", "holds"
)
def no_matter() -> str:
    """Largest difference of the peaks."""
    parts = []
    for law in ("tsuji", "wang-liu-viscous"):
        both = [peaks(law, restitution=CHAIN_E, separation=one) for one in ("tensile", "clamped")]
        parts.append(f"{NAMES[law]} {100.0 * np.abs(both[0] / both[1] - 1.0).max():.2f} %")
    return "peaks of the chain with and without it: " + ", ".join(parts)


@PAPER.claim(
    "section 1.4",
    "the damping forces of Kuwabara and Kono and of Lee and Wang have wrong dimensions, N/s and N/m^.25",
    "wrong for the first, holds for the second as printed",
)
def dimensions() -> str:
    """In words."""
    return (
        "K (N/m^1.5) times viscosity over modulus (s) times d^.5 times a rate is N; sqrt(K M) times a rate is N/m^.25 for K in N/m^1.5, and N for the linear "
        "spring that Lee and Wang have"
    )


@PAPER.claim(
    "section 1.5, fig. 3", "the more a law of table 1 loses, the smaller its overlap", "holds"
)
def smaller_overlap() -> str:
    """Ends of the row."""
    ones = sorted((found[0.7] for found in table_1().values()), key=lambda one: one.dissipated)
    overlaps = [one.max_overlap for one in ones]
    falls = all(a >= b * (1.0 - 1e-6) for a, b in pairwise(overlaps))
    return (
        f"of the fifteen, .7 asked for, {'each' if falls else 'not each'} that loses more reaches less: {1e6 * overlaps[0]:.2f} um ({ones[0].law}) to "
        f"{1e6 * overlaps[-1]:.2f} um ({ones[-1].law})"
    )


@PAPER.claim(
    "section 1.5, 2",
    "Hertz's stiffness makes the force of an elastoplastic impact too large",
    "holds",
)
def too_large() -> str:
    """Largest forces over Ma-Liu's at 4 m/s."""
    parts = [
        f"{law} {100.0 * (socket(4.0, law).max_force / socket(4.0).max_force - 1.0):+.1f} %"
        for law in ("hunt-crossley", "lankarani-nikravesh", "flores")
    ]
    return "table 5 at 4 m/s, against Ma-Liu: " + ", ".join(parts)


@PAPER.claim(
    "section 2",
    "elastic: a vanishing part of the contact; elastoplastic: nearly a straight line; plastic: a straight line",
    "holds",
)
def phases() -> str:
    """Ma-Liu's, table 5 at 8 m/s: how far the middle branch is from a line."""
    one, d_y = socket(8.0), first_yield(table_5())
    d_p = 0.5 * SOCKET["xi"] ** 2 * d_y
    loading = one.time < one.approach_time
    d, f = one.overlap[loading], one.force[loading]
    f_y, f_p = np.interp((d_y, d_p), d, f)
    middle = (d > d_y) & (d < d_p)
    line = f_y + (f_p - f_y) * (d[middle] - d_y) / (d_p - d_y)
    of_beads = first_yield(BEADS) / beads("ma-liu", **BEAD).max_overlap
    return (
        f"Ma-Liu, table 5: d_y is {100.0 * d_y / socket(4.0).max_overlap:.1f} % of the largest overlap at 4 m/s (two beads of the chain at 1.77 m/s: {100.0 * of_beads:.1f} %); the "
        f"middle branch leaves the line of eq. (45) by at most {100.0 * np.abs(f[middle] - line).max() / f_p:.1f} % of F_p; beyond d_p it is a line"
    )


@PAPER.claim(
    "section 2",
    "in all laws of table 3 the area between loading and unloading is the loss",
    "contradicted for three as printed",
)
def areas() -> str:
    """Restitutions above 1."""
    return "restitution " + ", ".join(f"{law} {e:.3f}" for law, e in as_printed().items())


@PAPER.claim(
    "section 2",
    "an elastoplastic law must keep its largest and permanent overlap: unfit for repeated contact",
    "it must; it runs",
)
def repeated() -> str:
    """Energy of the chain under Ma-Liu."""
    balance = gc.analysis.energy_balance(chain("ma-liu"))
    return f"chain of 70 beads under Ma-Liu, reflections included: the energy of the run closes to {balance.largest_residual:.0e} of what was put in"


@PAPER.claim(
    "section 3", "the four restitutions are the same in a central impact", "holds, eq. (43) mended"
)
def the_same() -> str:
    """Ma-Liu."""
    one = beads("ma-liu", refine=20.0, **BEAD)
    impulse, work = impulse_and_work(one)
    return f"Ma-Liu: {one.restitution:.4f}, {impulse:.4f}, {math.sqrt(-work):.4f}"


@PAPER.claim(
    "section 3",
    "dashpots over Hertz's spring are good above e = .85; below .8 none gives the loss",
    "contradicted as far as the loss goes",
)
def range_of_use() -> str:
    """Laws whose delivered restitution is within 2 % of the asked one."""
    good = {
        e: [law for law in HYSTERESIS if abs(table_1()[law][e].restitution / e - 1.0) < 0.02]
        for e in (0.3, 0.5, 0.7, 0.9)
    }
    return (
        "within 2 % of the asked restitution: "
        + ", ".join(f"{len(laws)} of 15 at {e:g}" for e, laws in good.items())
        + f"; at .5 {', '.join(good[0.5])}; EDEM's law, may pull, everywhere. The factor decides, not Hertz's spring"
    )


@PAPER.claim(
    "abstract, section 4.1",
    "at the same restitution the dashpot's loss is that of the elastoplastic law, to .25 %",
    "contradicted: .79 %",
)
def equal_loss() -> str:
    """Both losses."""
    one, other = socket(4.0), socket(4.0, "wang-liu-hysteretic")
    return (
        f"{other.dissipated:.4f} J against {one.dissipated:.4f} J at 4 m/s, {100.0 * (other.dissipated / one.dissipated - 1.0):.2f} %; any law that "
        "delivers what it is asked for would have the same loss"
    )


@PAPER.claim(
    "section 4.1",
    "largest force and overlap of eq. (53) are not Ma-Liu's, but go with them; the speeds after are basically equal",
    "no measure is stated",
)
def go_with() -> str:
    """At 4 m/s."""
    one, other = socket(4.0), socket(4.0, "wang-liu-hysteretic")
    return (
        f"at 4 m/s force {100.0 * (other.max_force / one.max_force - 1.0):+.1f} %, overlap {100.0 * (other.max_overlap / one.max_overlap - 1.0):+.1f} %, "
        f"duration {100.0 * (other.duration / one.duration - 1.0):+.1f} %, speed after {100.0 * (other.restitution / one.restitution - 1.0):+.2f} %"
    )


@PAPER.claim(
    "section 4.2, table 6",
    "eq. (55) is nearer to the experiment than the law of EDEM",
    "cannot be checked; against Ma-Liu it depends on the restitution",
)
def nearer() -> str:
    """Mean deviation of the peaks from Ma-Liu's, at .65 and at the best."""
    parts = []
    for law in ("wang-liu-viscous", "tsuji"):
        best = min(SCANNED, key=lambda e: deviation(law, e))
        parts.append(
            f"{NAMES[law]} {100.0 * deviation(law, CHAIN_E):.0f} % at .65, {100.0 * deviation(law, best):.1f} % at its best, {best:g}"
        )
    return "mean deviation of the eight peaks from Ma-Liu's: " + "; ".join(parts)


@PAPER.claim(
    "section 5.2",
    "elastoplastic laws are easily disturbed by errors of integration, dashpots are not",
    "not found in an impact",
)
def coarse_steps() -> str:
    """A step of a tenth of the contact's duration, or so: twenty times the automatic one."""
    parts = []
    for law, inputs in (
        ("ma-liu", BEAD),
        ("wang-liu-hysteretic", BEAD | {"restitution": 0.65}),
        ("flores", {"restitution": 0.65}),
    ):
        coarse = gc.impact(law=law, pair=BEADS, speed=SPEED, refine=0.05, **inputs)
        fine = beads(law, refine=20.0, **inputs)
        parts.append(f"{law} {100.0 * (coarse.restitution / fine.restitution - 1.0):+.2f} %")
    return "error of e at 20 times the automatic step, a tenth of a contact: " + ", ".join(parts)
