"""Print docs/verification.md: results of the engine compared with exact solutions.

    python docs/verification.py > docs/verification.md

Every run uses a case, as a user's run does. The exact values come from granchain/theory/, which is
independent of the laws and of the time loop.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill

import numpy as np

import granchain as gc
from granchain import theory
from granchain.analysis import FirstPulse, first_pulse
from granchain.analysis.pulse import crossings
from granchain.simulation import prepare

# The steel chain: radius, mass, modulus, and striker of Wang, Liu & Liu 2022, table 8 and sec. 5.2,
# doi:10.1016/j.ijmecsci.2022.107214.
STEEL = gc.load_case("steel-chain-hertz")
RADIUS, MASS, SPEED = STEEL.chain.radius, STEEL.chain.mass, STEEL.striker.speed
MODULUS = STEEL.chain.material.youngs_modulus / (
    2.0 * (1.0 - STEEL.chain.material.poissons_ratio**2)
)
STIFFNESS = theory.hertz_stiffness(MODULUS, 0.5 * RADIUS)
# Recordings of a case: none, except those that a check adds.
BARE = {"sensors.beads": [], "sensors.contacts": [], "snapshots": None}


@dataclass(frozen=True)
class Check:
    """A comparison of a computed and an exact value.

    `allowed` is the largest difference, relative to the exact value unless `absolute`.
    """

    what: str
    computed: float
    exact: float
    allowed: float
    unit: str = ""
    absolute: bool = False

    @property
    def difference(self) -> float:
        """Difference between the computed and the exact value."""
        difference = self.computed - self.exact
        return difference if self.absolute else difference / self.exact

    @property
    def holds(self) -> bool:
        """Return whether the difference is within its limit."""
        return abs(self.difference) <= self.allowed


@dataclass(frozen=True)
class Section:
    """Checks of one kind, with a description."""

    title: str
    text: str
    checks: tuple[Check, ...]


def run(case: gc.Case, refine: float = 1.0) -> gc.Result:
    """Run a case at its automatic step, or at a fraction of it."""
    if refine != 1.0:
        case = case.replace(**{"time.step": prepare(case)[2].value / refine})
    return gc.run(case)


def two_spheres() -> Section:
    """Check the impact of two elastic spheres."""
    pair = gc.Pair(
        effective_radius=0.5 * RADIUS, effective_modulus=MODULUS, effective_mass=0.5 * MASS
    )
    found, exact = (
        gc.impact(law="hertz", pair=pair, speed=SPEED),
        theory.elastic_impact(STIFFNESS, 0.5 * MASS, SPEED),
    )
    text = (
        "Two steel beads at the automatic step, compared with the closed form (Hertz 1882, "
        "doi:10.1515/crll.1882.92.156; Johnson "
        "1985, Contact Mechanics, sec. 11.4, doi:10.1017/CBO9781139171731)."
    )
    checks = (
        Check("largest overlap", found.max_overlap, exact.max_overlap, 1e-4, "m"),
        Check("largest force", found.max_force, exact.max_force, 1e-4, "N"),
        Check("duration", found.duration, exact.duration, 1e-4, "s"),
        Check("restitution", found.restitution, 1.0, 1e-4),
    )
    return Section("Impact of two spheres", text, checks)


def sphere_on_plate() -> Section:
    """Check the restitution of a sphere on plates of several thicknesses."""
    pair = gc.Pair.of_spheres(RADIUS, "steel-316", math.inf, "steel-316")
    checks = []
    for thickness in (10e-3, 4e-3, 2e-3):
        plate = {"thickness": thickness, "material": "steel-316"}
        found = gc.impact(law="hertz", pair=pair, speed=SPEED, plate=plate)
        stiffness = theory.hertz_stiffness(float(pair.effective_modulus), RADIUS)
        exact = theory.plate_impact(stiffness, float(pair.effective_mass), SPEED, found.impedance)
        what = f"restitution, plate of {1e3 * thickness:g} mm"
        checks.append(Check(what, found.restitution, exact.restitution, 2e-5, "", True))
    text = (
        "A steel bead on a large steel plate at the automatic step, compared with Zener's equation "
        "(Zener 1941, doi:10.1103/PhysRev.59.669), which is integrated with an error of 1e-11."
    )
    return Section("Impact of a sphere on a plate", text, tuple(checks))


def width_at(time: np.ndarray, values: np.ndarray, pulse: FirstPulse, level: float) -> float:
    """Return the width of a pulse at a fraction of its peak."""
    before, after = (
        crossings(time, values[np.newaxis], pulse.sample, level * pulse.peak, side)[0]
        for side in (0, 1)
    )
    return float(after - before)


def solitary_wave() -> Section:
    """Check amplitude, speed, shape, and rebound of the wave in an impacted chain."""
    interval = 2e-8  # s; about 500 samples over the half-width of the pulse
    recorded = {
        "sensors.beads": [30],
        "sensors.contacts": [20, 60],
        "sensors.interval": interval,
        "snapshots.interval": interval,
    }
    # s; the wave has passed contact 60, and beads 1 to 3 move freely
    result = run(STEEL.replace(**recorded, **{"time.end": 0.45e-3}), 4.0)
    wave, chain = theory.solitary_wave(), theory.equal_striker(STIFFNESS, MASS, SPEED)
    first, last = first_pulse(result.time, result.contact_force).top
    speed = (60 - 20) / (last - first)
    bead = first_pulse(result.snapshot_time, result.velocity[:, 30])
    checks = [
        Check(
            "peak force of the first contact",
            result.contact_peak_force[0],
            chain.first_force,
            1e-5,
            "N",
        ),
        Check(
            "peak force of contact 40", result.contact_peak_force[40], chain.peak_force, 1e-5, "N"
        ),
        Check(
            "peak velocity of bead 30",
            bead.peak[0],
            chain.peak_velocity,
            1e-5,
            "m/s",
        ),
        Check(
            "peak of the sensor in bead 30",
            first_pulse(result.time, result.sensor_force[:, 0]).peak[0],
            chain.sensor_force,
            1e-5,
            "N",
        ),
        Check("wave speed, contact 20 to 60", speed, chain.wave_speed, 1e-4, "beads/s"),
    ]
    for level in (0.5, 0.1, 0.01):
        width = speed * width_at(result.snapshot_time, result.velocity[:, 30], bead, level)
        checks.append(
            Check(
                f"width of the velocity pulse at {level:.0%} of its peak",
                width,
                wave.width(level),
                1e-5,
                "diameters",
            )
        )
    for i, name in enumerate(("the striker", "bead 1", "bead 2", "bead 3")):
        label = f"final velocity of {name} / striker speed"
        checks.append(
            Check(label, result.final_velocity[i] / SPEED, theory.STRUCK_REBOUND[i], 1e-6, "", True)
        )
    text = (
        "70 touching steel beads with Hertz contacts, struck by an equal bead at 1.77 m/s, with a "
        "quarter of the automatic step. The exact values are those of the discrete chain: the "
        "travelling-wave equation solved in Fourier space, and an independent integration of the "
        "chain (scipy, DOP853, tolerance 1e-13) for the energy that the striker transfers. The "
        "speed from Nesterenko's long-wave coefficients (1983, doi:10.1007/BF00905892) differs by "
        f"{theory.LONG_WAVE_SPEED_FROM_FORCE / wave.speed_from_force - 1.0:+.2%}."
    )
    return Section("Solitary wave", text, tuple(checks))


def sixth_root() -> Section:
    """Check wave speed versus peak force over three decades of striker speed."""
    speeds, forces, striker = [], [], np.array([0.01, 0.1, 1.0, 10.0])
    for v in striker:
        # Times scale with v^(-1/5).
        scale = (SPEED / v) ** 0.2
        recorded = {
            "sensors.beads": [],
            "sensors.contacts": [20, 60],
            "sensors.interval": 5e-8 * scale,
            "snapshots": None,
        }
        result = run(
            STEEL.replace(**recorded, **{"striker.speed": float(v), "time.end": 0.45e-3 * scale}),
            2.0,
        )
        first, last = first_pulse(result.time, result.contact_force).top
        speeds.append((60 - 20) / (last - first))
        forces.append(result.contact_peak_force[40])
    checks = (
        Check(
            "exponent of wave speed versus peak force",
            float(np.polyfit(np.log(forces), np.log(speeds), 1)[0]),
            1.0 / 6.0,
            1e-6,
        ),
        Check(
            "exponent of peak force versus striker speed",
            float(np.polyfit(np.log(striker), np.log(forces), 1)[0]),
            1.2,
            1e-6,
        ),
    )
    text = (
        "The same chain is struck at 0.01, 0.1, 1, and 10 m/s, with half the automatic step. The "
        "exponents are slopes of least-squares lines of the logarithms. The chain has no intrinsic "
        "force scale, so wave speed ~ F^(1/6) and F ~ v^(6/5) hold exactly."
    )
    return Section("Speed and amplitude: F^(1/6)", text, checks)


def equal_balls() -> Section:
    """Check the final velocities of N equal balls."""
    checks = []
    for count in (2, 3, 5):
        # s; with 5 balls, the last contact opens before 0.1e-3
        result = run(STEEL.replace(**BARE, **{"chain.beads": count - 1, "time.end": 0.3e-3}), 10.0)
        exact = theory.BALL_VELOCITIES[2] if count == 2 else theory.ball_velocities(count)
        for i in range(count):
            what = f"{count} balls, ball {i + 1}"
            checks.append(
                Check(what, result.final_velocity[i] / SPEED, float(exact[i]), 1e-6, "", True)
            )
    text = (
        "The first of N equal balls strikes the others, which touch each other. The table lists the "
        "final velocities divided by the impact speed, with a tenth of the automatic step, compared "
        "with an independent integration (scipy, DOP853, tolerance 1e-13). Two balls exchange their "
        "velocities; more balls do not."
    )
    return Section("Velocities of N balls", text, tuple(checks))


def tapered() -> Section:
    """Check a tapered chain with gaps."""
    ratio, count = 0.95, 20
    # 0.2 mm, about 200 overlaps: every pair has separated before the next one touches.
    beads = [{"count": 1, "radius": 5.0e-3 * ratio**i, "gap": 2e-4} for i in range(count)]
    case = gc.load_case("tapered-chain").replace(
        **BARE, **{"chain.segment": beads, "time.end": 6e-3}
    )
    result = run(case)
    text = (
        "The built-in case `tapered-chain` with wider gaps and the automatic step: 20 beads, each 5 % "
        "smaller than the previous one, which collide one pair at a time. The exact value is the "
        "product of 2 m_i/(m_i + m_(i+1)), from momentum and energy (Doney & Sen 2006, "
        "doi:10.1103/PhysRevLett.97.155502)."
    )
    what = "velocity of the last bead / striker speed"
    checks = (
        Check(
            what,
            result.final_velocity[-1] / case.striker.speed,
            theory.pairwise_velocity(result.mass),
            1e-6,
        ),
    )
    return Section("Tapered chain", text, checks)


def kept_in_dimer(ratio: float) -> float:
    """Return the peak force of contact 101 of a dimer chain relative to that of contact 31."""
    cell = [
        {"count": 1, "radius": RADIUS, "mass": ratio * MASS},
        {"repeat": 60, "count": 1, "radius": RADIUS, "mass": MASS},
    ]
    # s; the pulse has passed contact 101
    peaks = run(
        gc.load_case("dimer-chain").replace(**BARE, **{"chain.segment": cell, "time.end": 1e-3})
    ).contact_peak_force
    return float(peaks[101] / peaks[31])


def dimer() -> Section:
    """Check a dimer chain at and near the mass ratio of a solitary wave."""
    ratios = theory.DIMER_RATIO + np.array([-0.004, 0.0, 0.004])
    kept = [kept_in_dimer(float(ratio)) for ratio in ratios]
    best = first_pulse(ratios, kept).top[0]
    checks = (
        Check("mass ratio with the smallest loss", best, theory.DIMER_RATIO, 5e-4, "", True),
        Check(
            f"peak force after / before 70 contacts at {theory.DIMER_RATIO}",
            kept[1],
            1.0,
            1e-4,
            "",
            True,
        ),
    )
    text = (
        "The built-in case `dimer-chain` with 60 pairs of light and heavy beads and equal contacts. "
        "A solitary wave exists at a mass ratio of 0.3428 (Jayaprakash, Starosvetsky & Vakakis "
        "2011, doi:10.1103/PhysRevE.83.036606, published with four digits). At other ratios, the "
        "pulse loses energy to reflections: at 0.32 and 0.36, the peak force decreases by factors of "
        f"{kept_in_dimer(0.32):.4f} and {kept_in_dimer(0.36):.4f}. The best ratio is the maximum of "
        "the parabola through three ratios with a spacing of 0.004."
    )
    return Section("Dimer", text, checks)


def gravity() -> Section:
    """Check a weak wave in a vertical chain."""
    result = run(gc.load_case("vertical-chain").replace(**BARE, **{"snapshots.interval": 3e-6}))
    beads = np.arange(400, 901, 100)
    pulse = first_pulse(result.snapshot_time, result.velocity[:, beads])
    middle, speed = (
        0.5 * (beads[1:] + beads[:-1]),
        np.diff(beads) / np.diff(pulse.top),
    )
    exact = theory.depth_exponents()
    velocity_slope = float(np.polyfit(np.log(beads), np.log(pulse.peak), 1)[0])
    checks = (
        Check(
            "exponent of bead velocity versus depth",
            velocity_slope,
            exact.velocity,
            0.01,
            "",
            True,
        ),
        Check(
            "exponent of wave speed versus depth",
            float(np.polyfit(np.log(middle), np.log(speed), 1)[0]),
            exact.speed,
            0.002,
            "",
            True,
        ),
    )
    text = (
        "The built-in case `vertical-chain`: 1000 beads compressed by their weight, with a weak "
        "impact at the top. The exponents are slopes for beads 400 to 900. The exact values apply in "
        "the limit of large depth (Hong, Ji & Kim 1999, doi:10.1103/PhysRevLett.82.3058), which the "
        "chain approaches, so the differences are not errors of the time step."
    )
    return Section("Gravity", text, checks)


def oscillation(
    frequency: float, beads: int, observed: tuple[int, int], end: float
) -> tuple[complex, complex]:
    """Return the amplitudes of two beads in a driven precompressed chain [m].

    The left end moves as a sine, and phases are relative to it.
    """
    period = 2.0 * math.pi / frequency
    time = np.linspace(0.0, end, math.ceil(64 * end / period) + 1)
    # 1e-9 m, 4e-4 of the static overlap, is small. It is ramped over 20 periods without a kink.
    ramp = np.clip(time / (20.0 * period), 0.0, 1.0)
    height = 1e-9 * (ramp - np.sin(2.0 * math.pi * ramp) / (2.0 * math.pi))
    drive = {
        "drive": "displacement",
        "time": time.tolist(),
        "value": (height * np.sin(frequency * time)).tolist(),
    }
    # Without an energy balance: if no wave propagates, the end takes back the energy that it
    # supplied, so the residual has no reference.
    changes = {
        "chain.beads": beads,
        "ends.left": drive,
        "snapshots.interval": period / 32.0,
        "time.end": end,
        "energy.ledger": False,
    }
    result = run(gc.load_case("driven-chain").replace(**(BARE | changes)))
    late = result.snapshot_time > end - 6.0 * period
    t = frequency * result.snapshot_time[late]
    columns = np.column_stack([np.sin(t), np.cos(t), np.ones_like(t)])
    fitted = np.linalg.lstsq(
        columns, result.displacement[late][:, np.array(observed) - 1], rcond=None
    )[0]
    return complex(fitted[0, 0], fitted[1, 0]), complex(fitted[0, 1], fitted[1, 1])


def precompressed() -> Section:
    """Check small waves in a precompressed chain."""
    force, near, far = gc.load_case("driven-chain").chain.precompression, 10, 40
    slow = theory.small_wave_speed(STIFFNESS, MASS, force)
    checks = []
    result = run(gc.load_case("driven-chain"))
    centre = []
    for column in result.sensor_force.T - force:
        hump = np.where(column > 0.1 * column.max(), column, 0.0)
        centre.append((result.time * hump).sum() / hump.sum())
    beads = result.sensor_bead
    speed = float((beads[-1] - beads[0]) / (centre[-1] - centre[0]))
    checks.append(Check("speed of a pulse 64 beads long", speed, slow, 1e-3, "beads/s"))
    for q in (0.5, 1.0, 2.0, 2.8):
        frequency = float(theory.small_wave_frequency(q, STIFFNESS, MASS, force))
        group = slow * math.cos(0.5 * q)
        # s; the onset of the wave has passed the far bead, and reflections from the far end have
        # not reached it
        end = 50.0 * 2.0 * math.pi / frequency + 2.0 * far / group
        one, other = oscillation(frequency, math.ceil(slow * end), (near, far), end)
        phase = math.atan2((one * other.conjugate()).imag, (one * other.conjugate()).real)
        turns = round((q * (far - near) - phase) / (2.0 * math.pi))
        checks.append(
            Check(
                f"wave number at the frequency of {q} rad/bead",
                (phase + 2.0 * math.pi * turns) / (far - near),
                q,
                2e-4,
                "rad/bead",
            )
        )
    highest = float(theory.small_wave_frequency(math.pi, STIFFNESS, MASS, force))
    one, other = oscillation(1.2 * highest, 500, (1, 5), 100.0 * 2.0 * math.pi / highest)
    decay = theory.evanescent_decay(1.2 * highest, STIFFNESS, MASS, force)
    checks.append(
        Check(
            "decay at 1.2 times the highest frequency",
            math.log(abs(one) / abs(other)) / 4.0,
            decay,
            2e-4,
            "1/bead",
        )
    )
    text = (
        "Steel beads under 20 N, driven at the left end (built-in case `driven-chain`, and the same "
        "with a sine of 1 nm), with the automatic step. The exact dispersion relation is omega = 2 "
        "sqrt(s/m) |sin(q/2)|, s = (3/2) k^(2/3) F^(1/3) (Brillouin 1946, Wave Propagation in "
        "Periodic Structures, ch. 2). Its long-wave limit is the speed of sound (Nesterenko 1983, "
        "doi:10.1007/BF00905892), which a pulse of finite length doesn't quite reach. Above the "
        "highest frequency no wave propagates, and the oscillation decays from bead to bead."
    )
    return Section("Precompressed chain: speed of sound and dispersion", text, tuple(checks))


def sections() -> Iterator[Section]:
    """Compute all sections."""
    for section in (
        two_spheres,
        sphere_on_plate,
        solitary_wave,
        sixth_root,
        equal_balls,
        tapered,
        dimer,
        gravity,
        precompressed,
    ):
        yield section()


HEAD = """# Verification: elastic chains against exact results

This page compares computed results with exact ones. The exact values come from `granchain/theory/`, which imports neither the
contact laws nor the time loop. Differences are relative to the exact value, or absolute if marked (abs.). The tests check that
they stay within the limit.

`python docs/verification.py` writes this page. For the measured properties of each contact law, see [Contact
laws](laws.md)."""


def difference(one: Check) -> str:
    """Return the difference as text."""
    kind = " (abs.)" if one.absolute else ""
    # Smaller differences are rounding, which depends on the machine.
    return f"below 1e-12{kind}" if abs(one.difference) < 1e-12 else f"{one.difference:.1e}{kind}"


def page(parts: list[Section]) -> str:
    """Return the page in Markdown."""
    blocks = [HEAD]
    for part in parts:
        rows = [
            "| quantity | unit | computed | exact | difference | limit |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for one in part.checks:
            values = " | ".join(
                f"{value:z.8f}" if one.absolute else f"{value:.8g}"
                for value in (one.computed, one.exact)
            )
            rows.append(
                f"| {one.what} | {one.unit or '-'} | {values} | {difference(one)} | "
                f"{one.allowed:.0e} |"
            )
        blocks += [
            f"## {part.title}",
            fill(part.text, 140, break_on_hyphens=False, break_long_words=False),
            "\n".join(rows),
        ]
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    computed = list(sections())
    print(page(computed), end="")
    if not all(check.holds for part in computed for check in part.checks):
        sys.exit("a difference is larger than allowed")
