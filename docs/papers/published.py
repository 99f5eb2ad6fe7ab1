"""Published chains: numbers that could be read, compared with the cases of the same names."""

from __future__ import annotations

import math

import numpy as np
from items import Paper, Row, Shown, Verdict, cached, fine_step, refined_impact, scan_step

import granchain as gc
from granchain.analysis import second_moment

PAPER = Paper(
    "published",
    "Published chains: Burgoyne & Daraio 2014, Lydon et al. 2014, and abstracts",
    "The built-in cases of the group *Published chains* (`granchain cases`) bear the names of their articles. This page compares their results "
    "with numbers that we could read: in data that the authors published, and in abstracts. The section [Not compared](#not-compared-articles-that-we-could-not-read) "
    "lists the articles whose numbers we could not read.",
)
item, claim = PAPER.item, PAPER.claim

DATA = "https://github.com/Daraio-lab/Burgoyne_PRE_2014"
# Contacts with a record in the data: 1, 3, 5, 7, and 9, counted from the striker.
CONTACTS = (1, 3, 5, 7, 9)
# Largest forces [N] in the files elastic5.txt to plasticJC50.txt of the folder ABAQUS_7_24.
ELASTIC = {
    5: ("696.424", "618.235", "601.026", "594.863", "582.577"),
    10: ("1605.93", "1431.44", "1403.39", "1388.43", "1369.38"),
    20: ("3736.26", "3326.7", "3228.11", "3218.84", "3166.61"),
    50: ("11184.1", "10220", "10036.2", "9964.86", "9852.52"),
}
PLASTIC = {
    5: ("597.836", "467.311", "374.952", "311.944", "279.007"),
    10: ("1331.28", "912.286", "708.832", "554.244", "469.793"),
    20: ("2898.94", "1804.76", "1287.46", "941.706", "741.761"),
    50: ("7561.59", "4193.65", "2680.62", "1831.66", "1295.76"),
}
RATED = {
    5: ("665.193", "548.219", "483.057", "435.02", "398.896"),
    10: ("1461.66", "1126.61", "952.913", "806.261", "720.669"),
    20: ("3224.47", "2270.19", "1774.89", "1467.33", "1198.82"),
    50: ("8658.37", "5417.64", "3848.6", "2871.49", "2218.26"),
}
# rate_sensitivity of steel 440 in initialize.m.
SENSITIVITY = 0.035
# Restitution of two spheres, variables v [m/s] and cor1 of CoR_data.mat, without a rate effect.
RESTITUTION = {
    1: "0.9581", 5: "0.7809", 10: "0.7082", 20: "0.6292", 50: "0.4858", 100: "0.3776"
}  # fmt: skip


def constants(speed: float) -> dict[str, float]:
    """Return the constants of `f_contact.m` for the yield stress at the rate of the first impact."""
    modulus, radius, rate = 200e9 / (2.0 * (1.0 - 0.3**2)), 3.175e-3, 1e-3
    factor = 1.0 + SENSITIVITY * math.log(speed / (2.0 * radius) / rate)
    ratio = modulus / (1896e6 * factor)
    return {
        "c1": 5.487 - 5.972 * ratio**-0.1637,
        "c2": 3.999e-9 - 4.104e-6 / ratio,
        "d_p": 6.7e-3 / ratio - 3.082e-6,
        "rate_sensitivity": SENSITIVITY,
    }


@cached
def peaks(law: str, speed: float, sensitivity: float = 0.0) -> np.ndarray:
    """Return the largest forces of the chain of Burgoyne and Daraio at the recorded contacts."""
    changes = [f"striker.speed={speed}", f"contact.law={law}"]
    if sensitivity:
        changes += [f"contact.{name}={value!r}" for name, value in constants(speed).items()]
    result = gc.run(fine_step(gc.load_case("burgoyne-2014", changes)))
    return result.contact_peak_force[np.array(CONTACTS) - 1]


def force_rows(
    law: str,
    published: dict[int, tuple[str, ...]],
    within: dict[int, float],
    sensitivity: float = 0.0,
) -> list[Row]:
    """Return the largest forces at the recorded contacts for each speed."""
    return [
        Row(f"{speed} m/s, contact {contact} [N]", printed, float(peak), within[speed])
        for speed, values in published.items()
        for contact, printed, peak in zip(
            CONTACTS, values, peaks(law, speed, sensitivity), strict=True
        )
    ]


@item(
    "Burgoyne & Daraio 2014, elastic spheres",
    "largest forces in a chain of ten spheres, finite elements",
    Verdict.REPRODUCED,
    "Hertz's law, within 4.5 % at 5 m/s and 11 % at 50 m/s",
)
def elastic() -> Shown:
    """Compare Hertz's law with finite elements."""
    within = {5: 0.045, 10: 0.065, 20: 0.075, 50: 0.11}
    return Shown(
        force_rows("hertz", ELASTIC, within),
        text=f"Source: Burgoyne & Daraio 2014, doi:10.1103/PhysRevE.89.032203, folder ABAQUS_7_24 of [its data]({DATA}) (CC BY 4.0); case "
        "`burgoyne-2014` with Hertz's law. The finite elements resolve the spheres, so that their contacts stiffen as the contact circle "
        "grows: at 50 m/s the overlap is 0.14 mm, and the contact radius 15 % of the radius of a sphere. Hertz's law neglects this, and its "
        "forces are lower, and the difference increases with the speed. The samples of the data are 0.75 us apart.",
    )


@item(
    "Burgoyne & Daraio 2014, elastoplastic spheres",
    "largest forces in a chain of ten spheres, finite elements without rate effect",
    Verdict.REPRODUCED,
    "burgoyne-daraio with the authors' constants, within 8 %",
    long=True,
)
def plastic() -> Shown:
    """Compare the law of Burgoyne and Daraio with finite elements."""
    return Shown(
        force_rows("burgoyne-daraio", PLASTIC, dict.fromkeys(PLASTIC, 0.08)),
        text=f"Source: as above; case `burgoyne-2014`. Its constants `c1`, `c2`, and `d_p` are those of the function `f_contact.m` in [the data]({DATA}) for "
        "a yield stress of 1896 MPa. The forces at 50 m/s decrease by a factor of 6 over ten spheres, and the difference stays below 4 %. With the "
        "default constants of the law, `c1 = 2.8` and `d_p = 60 d_y`, the forces are 10 to 45 % too high.",
    )


@item(
    "Burgoyne & Daraio 2014, rate effect",
    "largest forces in a chain of ten spheres, finite elements with a Johnson-Cook yield stress",
    Verdict.REPRODUCED,
    "burgoyne-daraio with rate_sensitivity = 0.035, within 17 % at 5 m/s and 9 % above",
)
def rated() -> Shown:
    """Compare a yield stress that increases with the strain rate with finite elements."""
    within = {5: 0.17, 10: 0.09, 20: 0.09, 50: 0.09}
    return Shown(
        force_rows("burgoyne-daraio", RATED, within, SENSITIVITY),
        text="Source: files plasticJC5.txt to plasticJC50.txt of the same folder, and `initialize.m` for the sensitivity 0.035 of steel 440 at a reference rate of "
        "0.001/s. The constants `c1`, `c2`, and `d_p` follow from the increased yield stress as in `f_contact.m`. granchain takes the strain rate of "
        "every contact from the speed of the striker. In the finite elements it decreases along the chain, so the computed forces are "
        "increasingly too high with the distance; without the rate effect they are 10 to 40 % too low.",
    )


@item(
    "Burgoyne & Daraio 2014, restitution",
    "impact of two spheres, finite elements without rate effect",
    Verdict.REPRODUCED,
    "burgoyne-daraio with the authors' constants, within 8 % up to 50 m/s, and 18 % at 100 m/s",
)
def restitution() -> Shown:
    """Compare the restitution of two spheres with finite elements."""
    case = gc.load_case("burgoyne-2014")
    material = gc.Material(
        youngs_modulus=200e9, poissons_ratio=0.3, density=7650.0, yield_stress=1896e6
    )
    pair = gc.Pair.of_spheres(3.175e-3, material)
    constants = {name: getattr(case.contact, name) for name in ("c1", "c2", "d_p")}
    impacts = {
        speed: refined_impact(law="burgoyne-daraio", speed=float(speed), pair=pair, **constants)
        for speed in RESTITUTION
    }
    rows = [
        Row(
            f"{speed} m/s [1]",
            printed,
            impacts[speed].restitution,
            0.18 if speed > 50 else 0.08,
        )
        for speed, printed in RESTITUTION.items()
    ]
    return Shown(
        rows,
        text="Source: variables `v` and `cor1` of CoR_data.mat in the same folder. The constants are those of the case `burgoyne-2014`. The slow compressions "
        "with finite elements in the data (folder ABAQUS_8_2) end at an overlap of 0.25 mm. "
        f"The largest overlap is {1e3 * impacts[50].overlap.max():.2f} mm at 50 m/s and {1e3 * impacts[100].overlap.max():.2f} mm at 100 m/s, an "
        "extrapolation of the law.",
    )


@item(
    "Lydon, Serra-Garcia & Daraio 2014, figure 2",
    "upper band edge of a precompressed chain",
    Verdict.REPRODUCED,
    "within 0.4 %; the beads are those of the authors' other chains",
)
def band_edge() -> Shown:
    """Compare the upper band edge with the curve 4.96 F^(1/6) kHz."""
    rows = []
    for load, printed in ((0.32, "4102"), (0.86, "4837"), (4.8, "6442")):
        row = gc.Case(
            chain={
                "beads": 31,
                "radius": 9.525e-3,
                "mass": 0.028,
                "material": "steel-316",
                "precompression": load,
            },
            ends={"left": "wall", "right": "wall"},
            contact={"law": "hertz"},
            time={"end": 1e-3},
        )
        rows.append(
            Row(f"{load} N [Hz]", printed, float(gc.dispersion(row).band_edges[0, 1]), 0.004)
        )
    return Shown(
        rows,
        text="Source: `plotbanddata.m` in [Daraio-lab/Lydon_PRL_2014](https://github.com/Daraio-lab/Lydon_PRL_2014), which draws 4.96 F^(1/6) kHz "
        "with the measurements; the published numbers are this curve at the three marked loads. "
        "See [Tails of waves](../explanation/resonator-tails.md#comparison-with-a-published-number).",
    )


@item(
    "Not compared",
    "articles that we could not read",
    Verdict.NOT_STATED,
    "their numbers are not in the available texts",
)
def not_compared() -> Shown:
    """List the articles."""
    return Shown(
        text="We could not read the numbers of these articles in any public text, so no table compares them. Each has a case, and the "
        "section [Statements in the text](#statements-in-the-text) compares what could be read: an abstract, a quotation in another article, "
        "or only the subject.\n\n"
        "* Daraio, Nesterenko, Herbold & Jin 2005, a chain of PTFE beads, doi:10.1103/PhysRevE.72.016603: a part of the abstract.\n"
        "* Job, Melo, Sokolow & Sen 2005, the force of a pulse at a wall, doi:10.1103/PhysRevLett.94.178002: the subject.\n"
        "* Doney & Sen 2006, tapered and decorated chains, doi:10.1103/PhysRevLett.97.155502: a quotation. The case `tapered-chain` has the "
        "exact speeds of beads that collide one pair at a time, see [Verification](../verification.md).\n"
        "* Carretero-Gonzalez et al. 2009, dissipation, doi:10.1103/PhysRevLett.102.024102: the abstract, and the exponent in the words of an "
        "author. The fitted factors are not in the available texts.\n"
        "* Jayaprakash, Starosvetsky & Vakakis 2011, dimers, doi:10.1103/PhysRevE.83.036606: the subject. We could not read the number 0.3428 "
        "of the case `dimer-chain` again; the evidence computes the same ratio without it."
    )


def delay(result: gc.Result) -> tuple[float, float]:
    """Return speed [m/s] and largest force [N] of the pulse between the two recorded contacts."""
    force, dt = result.contact_force, result.time[1] - result.time[0]
    times = []
    for trace in force.T:
        k = int(trace.argmax())
        before, top, after = trace[k - 1 : k + 2]
        times.append(result.time[k] + 0.5 * dt * (before - after) / (before - 2.0 * top + after))
    apart = np.diff(result.sensor_contact)[0] * 2.0 * result.radius[1]
    return float(apart / (times[1] - times[0])), float(force.max(axis=0).mean())


@cached
def pulse(name: str, load: float, speed: float) -> tuple[float, float]:
    """Return speed and largest force of the pulse in a case with this load and striker."""
    case = gc.load_case(name, [f"chain.precompression={load}", f"striker.speed={speed}"])
    return delay(gc.run(fine_step(case)))


@cached
def striker_for(dynamic: float, load: float) -> float:
    """Return the striker speed at which the pulse of daraio-2006 has a dynamic force, by secants."""
    speed = 0.01
    for _ in range(6):
        force = pulse("daraio-2006", load, speed)[1] - load
        # Between small waves, force ~ speed, and strongly nonlinear ones, force ~ speed^(6/5).
        speed *= (dynamic / force) ** 0.9
    return speed


@claim(
    "Daraio, Nesterenko, Herbold & Jin 2006, doi:10.1103/PhysRevE.73.026610, from the abstract",
    "At the same dynamic force, the static load increases the speed of a pulse by up to a factor of 2.",
    "agrees; a factor of 2 needs a load of about ten times the dynamic force",
)
def doubled() -> str:
    """Return the speed ratio for several ratios of load and dynamic force."""
    dynamic = 0.2
    free = pulse("daraio-2006", 0.0, striker_for(dynamic, 0.0))[0]
    ratios = [
        pulse("daraio-2006", load, striker_for(dynamic, load))[0] / free
        for load in (dynamic, 10.0 * dynamic, 50.0 * dynamic)
    ]
    texts = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    return (
        f"Case `daraio-2006`: the speed is {texts} times that without load, for loads of 1, 10, and 50 times the dynamic force. "
        "The abstract does not give the loads."
    )


@claim(
    "Coste, Falcon & Fauve 1997, doi:10.1103/PhysRevE.56.6104, from the abstract",
    "The speeds at three static loads lie on one curve in rescaled variables.",
    "reproduced",
)
def one_curve() -> str:
    """Return the scaled speed at three loads and two scaled forces."""
    texts = []
    for scale in (0.1, 1.0):
        speeds = []
        for load in (10.0, 30.0, 90.0):
            striker = scale * (load / 30.0) ** (5.0 / 6.0)
            speed, force = pulse("coste-1997", load, striker)
            sound = math.sqrt(load ** (1.0 / 3.0))
            speeds.append((force / load, speed / sound))
        forces, scaled = np.array(speeds).T
        spread = np.ptp(scaled) / scaled.mean()
        texts.append(
            f"at {forces.mean():.3f} times the load the speeds differ by less than "
            f"{1e-4 if spread < 1e-4 else spread:.0e} of their value"
        )
    return "Case `coste-1997`: " + ", and ".join(texts) + ", for loads of 10, 30, and 90 N."


@claim(
    "Coste, Falcon & Fauve 1997, from the abstract",
    "A pulse is typically a tenth of the length of the chain.",
    "agrees for a chain of 36 beads",
)
def tenth() -> str:
    """Return the length of a pulse without load."""
    case = gc.load_case("coste-1997", ["chain.precompression=0"])
    result = gc.run(fine_step(case))
    speed, force = delay(result)
    trace, dt = result.contact_force[:, 0], result.time[1] - result.time[0]
    length = np.count_nonzero(trace > 0.01 * trace.max()) * dt * speed / (2.0 * result.radius[1])
    return f"The part of the pulse above 1 % of its largest force, {force:.3g} N, is {length:.2f} diameters long."


@claim(
    "Boechler et al. 2010, doi:10.1103/PhysRevLett.104.244302, from the abstract",
    "A compressed diatomic chain has a gap in its linear spectrum, with breathers throughout it.",
    "agrees for a chain of our choice",
)
def gap() -> str:
    """Return the band edges of the dimer, and those of the closed form."""
    (_, acoustic), (optical, upper) = gc.dispersion(gc.load_case("boechler-2010")).band_edges
    light, heavy = (gc.materials()[name] for name in ("aluminium-6061-t6", "steel-316"))
    pair = gc.Pair.of_spheres(9.53e-3, light, 9.53e-3, heavy)
    spring = 1.5 * pair.hertz_stiffness ** (2.0 / 3.0) * 20.0 ** (1.0 / 3.0)
    masses = [4.0 / 3.0 * math.pi * 9.53e-3**3 * one.density for one in (heavy, light)]
    exact = [math.sqrt(2.0 * spring / mass) / (2.0 * math.pi) for mass in masses]
    return (
        f"Case `boechler-2010`: the gap is from {acoustic:.1f} to {optical:.1f} Hz, and the upper edge {upper:.1f} Hz; the closed form gives "
        f"{exact[0]:.1f} and {exact[1]:.1f} Hz for the gap. [How a breather forms](../explanation/breather.md) computes breathers in it."
    )


@claim(
    "Kim et al. 2018, arXiv:1705.08043, from the abstract",
    "The energy of a disordered chain spreads faster than by diffusion (superdiffusive transport).",
    "agrees for chain 1, with radius and speed of our choice",
)
def spreading() -> str:
    """Return the exponent of the second moment of the energy."""
    result = gc.run(fine_step(gc.load_case("kim-2018")))
    time, moment = result.snapshot_time, second_moment(result)
    early = (time > 5e-5) & (time < 2.5e-4)
    exponent = float(np.polyfit(np.log(time[early]), np.log(moment[early]), 1)[0])
    return (
        f"Case `kim-2018`: from 50 to 250 us the second moment of the energy grows as the time to the power {exponent:.2f}; "
        "diffusion has 1."
    )


@claim(
    "Daraio, Nesterenko, Herbold & Jin 2005, doi:10.1103/PhysRevE.72.016603, from the abstract "
    "([arXiv listing](http://arxiver.lazybrains.com/author/94719/page/3))",
    "A chain of Teflon spheres, whose elastic modulus is exceptionally low, supports strongly nonlinear solitary waves.",
    "reproduced with a modulus of our choice",
)
def soft_chain() -> str:
    """Return speed and loss of the pulse in PTFE beads, and the exponent of its force."""
    speed, force = pulse("daraio-2005", 0.0, 1.0)
    faster, larger = pulse("daraio-2005", 0.0, 10.0)
    exponent = math.log(faster / speed) / math.log(larger / force)
    case = gc.load_case("daraio-2005")
    result = gc.run(fine_step(case))
    peaks, mass = result.contact_peak_force, float(result.mass[1])
    stiffness = gc.Pair.of_spheres(2.38e-3, gc.materials()["ptfe"]).hertz_stiffness
    theory = gc.theory.solitary_speed(stiffness, mass, peak_force=float(peaks[30]))
    return (
        f"Case `daraio-2005`: the force changes by a factor of {peaks[40] / peaks[20]:.5f} over 20 beads, and the speed {speed:.2f} m/s grows as "
        f"the force to the power {exponent:.4f}. A solitary wave in a chain without a static load keeps its force, and has the power 1/6 and a speed "
        f"of {theory * 4.76e-3:.2f} m/s. The abstract gives no number."
    )


# Contacts of the dimer at the same place in the cell, 35 cells apart.
DIMER_CONTACTS = (31, 101)


@cached
def kept(ratio: float) -> float:
    """Return how much of its force a pulse keeps over 35 cells of a dimer with this mass ratio."""
    case = gc.load_case("jayaprakash-2011")
    light, heavy = case.chain.segment
    segments = [light.model_copy(update={"mass": ratio * heavy.mass}), heavy]
    peaks = gc.run(fine_step(case.replace({"chain.segment": segments}))).contact_peak_force
    first, last = DIMER_CONTACTS
    return float(peaks[last] / peaks[first])


def extreme_ratio(near: float, spacing: float) -> tuple[float, float]:
    """Return the mass ratio at the vertex of a parabola through three ratios, and the kept force."""
    ratios = near + spacing * np.array([-1.0, 0.0, 1.0])
    a, b, c = np.polyfit(ratios - near, [kept(float(ratio)) for ratio in ratios], 2)
    return near - 0.5 * b / a, c - 0.25 * b * b / a


@claim(
    "Jayaprakash, Starosvetsky & Vakakis 2011, doi:10.1103/PhysRevE.83.036606, subject; the text could not be read",
    "Dimers without a static load carry pulses with and without attenuation.",
    "computed; no published number could be read",
)
def dimer_ratios() -> str:
    """Return mass ratios at which a pulse loses nothing, and those at which it loses the most."""
    passing = [extreme_ratio(near, 0.004) for near in (0.343, 0.155)]
    losing = [extreme_ratio(near, 0.01) for near in (0.59, 0.24, 0.123)]
    without = " and ".join(f"{ratio:.4f}" for ratio, _ in passing)
    ratios = ", ".join(f"{ratio:.3f}" for ratio, _ in losing)
    forces = ", ".join(f"{100.0 * force:.1f}" for _, force in losing)
    return (
        f"Case `jayaprakash-2011` with other mass ratios: over 35 cells, a pulse loses nothing at ratios of {without} of the light to the heavy mass, and "
        f"the most at {ratios}, where {forces} % of its force remain."
    )


@claim(
    "Job, Melo, Sokolow & Sen 2005, doi:10.1103/PhysRevLett.94.178002, subject; the text could not be read",
    "A solitary wave exerts a force on a wall.",
    "computed; no published number could be read",
)
def wall_force() -> str:
    """Return the force at walls of several materials divided by that of the incident pulse."""
    walls = {
        "a rigid wall": {"ends.right": "rigid"},
        "a wall of steel": {},
        "a wall of PTFE": {"ends.right_material": "ptfe"},
    }
    texts = []
    for name, changes in walls.items():
        peaks = gc.run(fine_step(gc.load_case("job-2005").replace(changes))).contact_peak_force
        texts.append(f"{peaks[40] / peaks[20]:.4f} at {name}")
    return (
        f"Case `job-2005`: the largest force at the wall, divided by that of the incident pulse, is {', '.join(texts)}. By Hertz's law, it depends only "
        "on the ratio of the stiffnesses of the contacts."
    )


def last_kinetic_energy(taper: float) -> float:
    """Return the kinetic energy of the last of 100 tapered beads when it separates."""
    case = gc.load_case("steel-chain-hertz").replace(
        {
            "chain": {
                "beads": 100,
                "radius": 5e-3,
                "radius_factor": ((1.0 - taper) ** np.arange(100)).tolist(),
                "material": "steel-316",
            },
            "striker.speed": 0.1,
            "sensors.beads": [],
            "snapshots.interval": 1e-5,
            # s; the last bead has separated
            "time.end": 1e-3 if taper else 3e-3,
        }
    )
    result = gc.run(scan_step(case))
    return float(0.5 * result.mass[-1] * result.velocity[-1, -1] ** 2)


@claim(
    "Kim, Kim & Yang 2018, arXiv:1812.00095, introduction, about Sen et al. 2001",
    "A tapered chain of 100 beads reduces the kinetic energy of the leading pulse by up to 90 % compared with equal beads.",
    "agrees; 90 % needs a taper between 5 and 7 %",
)
def tapered() -> str:
    """Return the reduction for several tapers."""
    equal = last_kinetic_energy(0.0)
    tapers = (0.03, 0.05, 0.07)
    texts = [f"{100.0 * (1.0 - last_kinetic_energy(one) / equal):.1f} %" for one in tapers]
    return (
        f"The kinetic energy of the last of 100 beads is lower than with equal beads by {', '.join(texts)}, if each bead is 3, 5, and 7 % smaller "
        "than the previous one. The text does not give the taper."
    )


@claim(
    "Doney & Sen 2006, doi:10.1103/PhysRevLett.97.155502, described by Kim, Kim & Yang 2018, arXiv:1812.00095, introduction",
    'A decorated, tapered chain is "superb" at absorbing shocks.',
    "agrees for a chain of our choice",
)
def decorated() -> str:
    """Return the force at the wall with and without taper and small beads."""
    case = gc.load_case("doney-2006")
    segments = case.chain.segment
    equal = [segments[0].model_copy(update={"count": 20})]
    chains = {"equal": equal, "tapered": segments[::2], "decorated": segments}
    force = {
        name: gc.run(fine_step(case.replace({"chain.segment": rows, "sensors": None}))).contact_peak_force[-1]
        for name, rows in chains.items()
    }  # fmt: skip
    return (
        f"Case `doney-2006`: the largest force at the wall is {force['decorated']:.1f} N; without the small beads {force['tapered']:.1f} N, and with "
        f"20 equal beads {force['equal']:.1f} N."
    )


@cached
def force_loss(law: str, speed: float, **inputs: float) -> tuple[float, float]:
    """Return the relative loss of force per bead from bead 16 to bead 56, and the force between."""
    changes = {"contact": {"law": law, **inputs}, "striker.speed": speed, "sensors.beads": [36]}
    case = gc.load_case("carretero-gonzalez-2009").replace(changes)
    peaks = gc.run(fine_step(case)).contact_peak_force
    return math.log(peaks[16] / peaks[56]) / 40.0, float(peaks[36])


def dissipation_exponent(law: str, **inputs: float) -> float:
    """Return the exponent m of a damping force ~ rate^m with the same speed dependence of the loss.

    The energy of a pulse is ~ v^2, and its duration ~ v^(-1/5), so the relative loss of energy per
    bead is ~ v^(m + 1) v^(-1/5)/v^2, with the speed v ~ force^(5/6) of the beads.
    """
    (slow, small), (fast, large) = (force_loss(law, speed, **inputs) for speed in (1.5, 2.1))
    return 1.2 + math.log(fast / slow) / (5.0 / 6.0 * math.log(large / small))


@claim(
    "Carretero-Gonzalez et al. 2009, doi:10.1103/PhysRevLett.102.024102, from the abstract, and the exponent from "
    "[a page of an author](http://masonporter.blogspot.com/2009/01/dissipative-solitarywaves-in-granular.html)",
    "Steel, brass, and PTFE have the same exponent of dissipation, about 1.75 for the overlap rate.",
    "not one of the three computed laws has this exponent",
)
def exponent() -> str:
    """Return the exponents of three laws of granchain."""
    damped = dissipation_exponent("kuwabara-kono", chi=1.0)
    crossley = dissipation_exponent("hunt-crossley-alpha", alpha=0.005)
    plastic = dissipation_exponent("ma-liu", psi=2.84, xi=13.0)
    return (
        f"Case `carretero-gonzalez-2009`: between striker speeds of 1.5 and 2.1 m/s, the loss of force changes with the speed as with an exponent of "
        f"{plastic:.2f} for `ma-liu`, {damped:.2f} for `kuwabara-kono`, and {crossley:.2f} for `hunt-crossley-alpha`. From the overlap in their damping "
        "forces, weakly damped pulses have 1.4 and 2.2 with the last two."
    )
