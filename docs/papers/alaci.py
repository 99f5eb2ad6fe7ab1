"""Items of Alaci et al., Dynamic aspects of damped elastic impact, part 1."""

from __future__ import annotations

import math

from items import Erratum, Paper, Row, Shown, Verdict, cached, refined_impact
from matplotlib.figure import Figure

import granchain as gc

PAPER = Paper(
    "alaci",
    "Alaci et al.: the law of Lankarani and Nikravesh versus restitution",
    "S. Alaci, F. C. Ciornei, D. Amarandei, C. Filote, D.-A. Cerlinca, S. Spinu, *Dynamic aspects of damped elastic impact, part 1: "
    "influence of coefficient of restitution*, Stefan cel Mare University, Suceava. The available text gives no year and no journal, "
    "so they are not given here. The paper studies two equal steel balls that collide with the law of Lankarani and Nikravesh (1990, "
    "doi:10.1115/1.2912617), for thirteen restitutions.",
)
item = PAPER.item

# The example of section 3: two balls of 1 kg, E 210 GPa, nu 0.3, 5 m/s. The paper does not give the
# density; 7800 kg/m3 gives the published overlap of Hertz.
MASS, MODULUS, POISSON, SPEED, DENSITY = 1.0, 210e9, 0.3, 5.0, 7800.0
RADIUS = (3.0 * MASS / (4.0 * math.pi * DENSITY)) ** (1.0 / 3.0)
BALL = gc.Material(youngs_modulus=MODULUS, poissons_ratio=POISSON, density=DENSITY)
PAIR = gc.Pair.of_spheres(RADIUS, BALL)
# Nominal restitutions of section 3.
ASKED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
NO_NUMBERS = "the figure has no numbers"


@cached
def hertz() -> gc.ImpactResult:
    """Return the impact without damping."""
    return refined_impact(law="hertz", pair=PAIR, speed=SPEED)


@cached
def collisions() -> dict[float, gc.ImpactResult]:
    """Return an impact for each nominal restitution."""
    law = "lankarani-nikravesh"
    return {e: refined_impact(law=law, pair=PAIR, speed=SPEED, restitution=e) for e in ASKED}


def histories(x: str, y: str, labels: tuple[str, str], scales: tuple[float, float]) -> Figure:
    """Plot one quantity of the impacts versus another."""
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot(xlabel=labels[0], ylabel=labels[1])
    for e, one in collisions().items():
        if e in (0.0, 0.3, 0.5, 0.7, 0.9, 0.999):
            quantities = {"acceleration": -one.force / PAIR.effective_mass}
            at = [quantities.get(name, getattr(one, name, None)) for name in (x, y)]
            axes.plot(at[0] * scales[0], at[1] * scales[1], label=f"e {e:g}")
    axes.legend(fontsize=8)
    return figure


@item(
    "Eqs. (1) to (3)",
    "Hertz's overlap, force and duration",
    Verdict.MISPRINT,
    "eq. (3) prints 2.4932 instead of 2.9432, and the exponent of F_H is missing",
)
def equation_3() -> Shown:
    """Compute the elastic impact."""
    one = hertz()
    factor = 2.0 * 0.4 * math.sqrt(math.pi) * math.gamma(0.4) / math.gamma(0.9)
    return Shown(
        [
            Row("factor of eq. (3) [1]", "2.4932", factor, misprint=True),
            # The published digits hold to 5e-5, because the density is not given.
            Row("time of approach t_H [s]", "6.80233e-5", one.approach_time, within=5e-5),
            Row("largest overlap x_H [m]", "2.31124e-4", one.max_overlap, within=5e-5),
            Row("largest force F_H [N]", "6.7604e1", one.max_force, misprint=True),
        ],
        text="The Gamma functions of eq. (3) give 2.9432752. F_H is printed as 6.7604 10 N, without its exponent 4. Times and overlaps agree "
        "with the published values within 5e-5 for a density of 7800 kg/m3, which the text does not give.",
    )


@item(
    "Eq. (8), fig. 4",
    "effective versus nominal restitution",
    Verdict.NO_NUMBERS,
    "the figure has no numbers; the paper states that the two differ, and this is confirmed",
)
def figure_4() -> Shown:
    """Compute the effective versus the nominal restitution."""
    found = collisions()
    figure = Figure(figsize=(5.0, 4.0), layout="constrained")
    axes = figure.add_subplot(xlabel="nominal restitution [1]", ylabel="effective restitution [1]")
    axes.plot(list(found), [one.restitution for one in found.values()], "o-", label="eq. (8)")
    axes.plot([0.0, 1.0], [0.0, 1.0], "k:", label="nominal")
    axes.legend()
    rows = [Row(f"effective for nominal {e:g} [1]", "", found[e].restitution) for e in ASKED]
    return Shown(rows, figure)


@item("Fig. 5", "loops of force versus overlap", Verdict.NO_NUMBERS, NO_NUMBERS)
def figure_5() -> Shown:
    """Plot force versus overlap."""
    return Shown(figure=histories("overlap", "force", ("overlap [um]", "force [kN]"), (1e6, 1e-3)))


@item("Fig. 6", "force versus time", Verdict.NO_NUMBERS, NO_NUMBERS)
def figure_6() -> Shown:
    """Plot force versus time."""
    return Shown(figure=histories("time", "force", ("time [us]", "force [kN]"), (1e6, 1e-3)))


@item("Fig. 7", "overlap versus time", Verdict.NO_NUMBERS, NO_NUMBERS)
def figure_7() -> Shown:
    """Plot overlap versus time."""
    return Shown(figure=histories("time", "overlap", ("time [us]", "overlap [um]"), (1e6, 1e6)))


@item("Fig. 8", "relative velocity versus time", Verdict.NO_NUMBERS, NO_NUMBERS)
def figure_8() -> Shown:
    """Plot rate versus time."""
    return Shown(figure=histories("time", "rate", ("time [us]", "rate [m/s]"), (1e6, 1.0)))


@item("Fig. 9", "acceleration versus time", Verdict.NO_NUMBERS, NO_NUMBERS)
def figure_9() -> Shown:
    """Plot acceleration versus time."""
    labels = ("time [us]", "acceleration [km/s2]")
    return Shown(figure=histories("time", "acceleration", labels, (1e6, 1e-3)))


@item("Fig. 10", "phase curve: rate versus overlap", Verdict.NO_NUMBERS, NO_NUMBERS)
def figure_10() -> Shown:
    """Plot rate versus overlap."""
    labels = ("overlap [um]", "rate [m/s]")
    return Shown(figure=histories("overlap", "rate", labels, (1e6, 1.0)))


def over_restitution(label: str, **curves: list[float]) -> Figure:
    """Plot curves versus the nominal restitution."""
    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    axes = figure.add_subplot(xlabel="nominal restitution [1]", ylabel=label)
    for name, values in curves.items():
        axes.plot(ASKED, values, "o-", label=name.replace("_", " "))
    axes.legend()
    return figure


@item(
    "Fig. 11, section 4",
    "times of approach and of separation",
    Verdict.REPRODUCED,
    "both limits at e = 0; the claims below show that both trends are reversed in the text",
)
def figure_11() -> Shown:
    """Compute approach and separation times relative to Hertz."""
    found, whole = list(collisions().values()), hertz().approach_time
    approach = [one.approach_time / whole for one in found]
    recovery = [one.recovery_time / whole for one in found]
    return Shown(
        [
            # The text has "about 92 %"; 0.911 rounds to 91 %.
            Row("approach over Hertz's at e = 0 [1]", "0.92", approach[0], within=0.01),
            # The text has "20 % greater".
            Row("separation over Hertz's at e = 0 [1]", "1.20", recovery[0], within=0.005),
        ],
        over_restitution("time over Hertz's [1]", approach=approach, separation=recovery),
        'The paper gives "about 92 %" and "20 % greater"; the values agree within one per cent.',
    )


@item("Fig. 12", "ratio of the times of separation and approach", Verdict.REPRODUCED, "at e = 0")
def figure_12() -> Shown:
    """Compute the ratio of the two times."""
    ratios = [one.recovery_time / one.approach_time for one in collisions().values()]
    return Shown(
        [Row("separation over approach at e = 0 [1]", "1.32", ratios[0])],
        over_restitution("separation over approach [1]", eq_8=ratios),
    )


@item("Fig. 13", "largest force relative to Hertz's", Verdict.REPRODUCED, "at e = 0")
def figure_13() -> Shown:
    """Compute the largest force relative to Hertz."""
    parts = [one.max_force / hertz().max_force for one in collisions().values()]
    return Shown(
        [Row("largest force over Hertz's at e = 0 [1]", "0.9", parts[0])],
        over_restitution("largest force over Hertz's [1]", eq_8=parts),
    )


@item("Fig. 14", "work of damping in approach and separation", Verdict.NO_NUMBERS, NO_NUMBERS)
def figure_14() -> Shown:
    """Compute the losses as fractions of the initial energy."""
    energy = 0.5 * PAIR.effective_mass * SPEED**2
    found = collisions()
    approach = [one.dissipated_approach / energy for one in found.values()]
    recovery = [one.dissipated_recovery / energy for one in found.values()]
    return Shown(
        [
            Row("lost in approach at e = 0 [1]", "", approach[0]),
            Row("lost in separation at e = 0 [1]", "", recovery[0]),
        ],
        over_restitution("lost fraction of the energy [1]", approach=approach, separation=recovery),
    )


PAPER.errata += [
    Erratum("eq. (3)", "2.4932", "2.9432", "the Gamma functions in the same line give 2.94328"),
    Erratum("section 3", "F_H = 6.7604 10 N", "F_H = 6.7604 10^4 N", "K x_H^1.5"),
]


def of(asked: float) -> gc.ImpactResult:
    """Return the impact for a nominal restitution."""
    return collisions()[asked]


def lost(asked: float) -> float:
    """Return the fraction of the energy that is lost."""
    return 1.0 - of(asked).restitution ** 2


@PAPER.claim(
    "section 3", "the effective restitution of the law differs from the nominal one", "holds"
)
def another() -> str:
    """Report three effective restitutions."""
    return ", ".join(f"{e:g} gives {of(e).restitution:.3f}" for e in (0.0, 0.5, 0.8))


@PAPER.claim("section 4", "the area of the loop increases with the restitution", "contradicted")
def area() -> str:
    """Report the losses at three restitutions."""
    return f"{lost(0.0):.3f} of the energy is lost at e = 0, {lost(0.5):.3f} at 0.5, {lost(0.8):.3f} at 0.8"


@PAPER.claim("section 4", "the largest force decreases with increasing restitution", "contradicted")
def force() -> str:
    """Report the largest forces."""
    parts = [of(e).max_force / hertz().max_force for e in (0.0, 0.8, 0.999)]
    return "{:.3f} of Hertz's at e = 0, {:.3f} at 0.8, {:.3f} at 0.999".format(*parts)


@PAPER.claim(
    "section 4",
    "with increasing restitution the approach is shorter, the separation longer, and the total duration longer",
    "contradicted",
)
def times() -> str:
    """Report the times of approach and separation."""
    low, high = of(0.0), of(0.999)
    return (
        f"approach {1e6 * low.approach_time:.2f} us at e = 0, {1e6 * high.approach_time:.2f} at 0.999; separation "
        f"{1e6 * low.recovery_time:.2f} and {1e6 * high.recovery_time:.2f}; together {1e6 * low.duration:.2f} and {1e6 * high.duration:.2f}"
    )


@PAPER.claim(
    "section 4",
    "with increasing restitution, the largest overlap and the final speed decrease",
    "contradicted",
)
def overlaps() -> str:
    """Report the largest overlaps and the final speeds."""
    low, high = of(0.0), of(0.999)
    return (
        f"overlap {1e6 * low.max_overlap:.1f} um at e = 0, {1e6 * high.max_overlap:.1f} at 0.999; speed {SPEED * low.restitution:.3f} and "
        f"{SPEED * high.restitution:.3f} m/s"
    )


@PAPER.claim(
    "section 4",
    "with more damping, the ratio of the forces decreases to about 0.9 and is nearly constant below e = 0.5",
    "holds",
)
def constant() -> str:
    """Report the ratio of the forces at e = 0 and e = 0.5."""
    parts = [of(e).max_force / hertz().max_force for e in (0.0, 0.5)]
    return "{:.3f} at 0, {:.3f} at 0.5".format(*parts)


@PAPER.claim("section 4", "more work is lost during approach than during separation", "holds")
def work() -> str:
    """Report the losses in approach and separation at e = 0."""
    energy = 0.5 * PAIR.effective_mass * SPEED**2
    one = of(0.0)
    return f"{one.dissipated_approach / energy:.3f} against {one.dissipated_recovery / energy:.3f} of the energy at e = 0"


@PAPER.claim("section 3", "the law can be used from e = 0.8 to 1", "no criterion is given")
def useful() -> str:
    """Report the effective restitution for a nominal value of 0.8."""
    return f"for a nominal value of 0.8, the effective restitution is {of(0.8).restitution:.3f}, {100.0 * (of(0.8).restitution / 0.8 - 1.0):.1f} % higher"
