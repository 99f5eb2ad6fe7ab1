"""Write docs/steps.md: errors of peaks and arrivals with the steps "auto" and "fast" for each law.

`python docs/steps.py NAME` measures only this law, and `python docs/steps.py` measures every law.

For each law, an impact of two beads and an impacted chain are computed, with weak and strong
damping. They are computed again with a tenth of the step "auto" for comparison.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import granchain as gc
from granchain.analysis import summary
from granchain.certificates import example_inputs
from granchain.contact.examples import example_pair
from granchain.contact.law import ContactLaw
from granchain.engine.timestep import FAST
from granchain.errors import GranchainError
from granchain.simulation import prepare

PAGE = Path(__file__).with_name("steps.md")
# Nominal restitutions: of metal, of a strongly damped contact, and almost zero.
RESTITUTIONS = (0.65, 0.2, 0.01)
# Steps relative to the automatic step, and the reference step. With order two, the reference has a
# hundredth of the error of the automatic step.
STEPS = {"auto": 1.0, "fast": FAST}
REFERENCE = 0.1
# Impact speed [m/s] of the steel chain: Wang, Liu & Liu 2022, sec. 5.2,
# doi:10.1016/j.ijmecsci.2022.107214.
SPEED = 1.77
# The chain: number of beads, sensor beads, and the fraction of the first bead's peak below which a
# pulse is ignored.
BEADS, SENSORS, LEAST = 12, (1, 2, 3, 4, 5), 0.01

HEAD = f"""# Errors of the time step for each law

This table lists the largest errors in per cent with the steps `"auto"` and `"fast"`, compared with a tenth of the automatic step.
`python docs/steps.py` writes this page.

Each number is the largest of these errors: the largest force of an impact, the peaks at beads {SENSORS[0]} to {SENSORS[-1]} of a chain
of {BEADS} beads, and the arrivals there, relative to the last one. The impact speed is {SPEED:g} m/s. Each law has its example inputs and
the restitution e in the heading of the column. A law without restitution has one number. A dash means that the law refuses the
restitution. To estimate the errors of your own case, use [`granchain verify`](how-to/step.md)."""


def peaks(law: type[ContactLaw], inputs: dict[str, object], step: str | float) -> dict[str, float]:
    """Return the peaks [N] and arrivals [s] of an impact and of the beads of a chain.

    The step is a name or a multiple of the automatic step.
    """
    parts = STEPS[step] if isinstance(step, str) else step
    hit = gc.impact(law=law.name, pair=example_pair(), speed=SPEED, refine=1.0 / parts, **inputs)
    case = row(law, inputs)
    value = step if isinstance(step, str) else step * prepare(case)[2].value
    sensors = [
        one for one in summary(gc.run(case.replace(**{"time.step": value}))).sensors if one.complete
    ]
    seen = [one for one in sensors if one.peak > LEAST * sensors[0].peak]
    forces = {"impact": hit.max_force, **{f"peak of bead {one.bead}": one.peak for one in seen}}
    return forces | {f"arrival at bead {one.bead}": one.arrival for one in seen}


def row(law: type[ContactLaw], inputs: dict[str, object]) -> gc.Case:
    """Return a short steel chain with a law."""
    changes = {
        "chain.beads": BEADS,
        "sensors.beads": SENSORS,
        "sensors.contacts": [],
        "sensors.interval": 2e-8,
        "time.end": 2e-4,
        "snapshots": None,
        # Hardness of hardened steel, for the laws that require one; it is the same at every step.
        "chain.material.hardness": 5e9,
    }
    return gc.load_case("steel-chain").replace(contact={"law": law.name, **inputs}, **changes)


def errors(law: type[ContactLaw], inputs: dict[str, object]) -> dict[str, float]:
    """Return the largest relative error for each step; nan if the law rejects the inputs."""
    try:
        limit = peaks(law, inputs, REFERENCE)
        found = {name: peaks(law, inputs, name) for name in STEPS}
    except GranchainError:
        return dict.fromkeys(STEPS, math.nan)
    last = max(value for what, value in limit.items() if what.startswith("arrival"))
    scale = {what: last if what.startswith("arrival") else value for what, value in limit.items()}
    # A pulse near the threshold may be missing at one of the steps.
    return {
        name: max(abs(one[what] - limit[what]) / scale[what] for what in limit if what in one)
        for name, one in found.items()
    }


def line(law: type[ContactLaw]) -> str:
    """Return the row of a law in the table."""
    values = {name: value for name, value in vars(example_inputs(law)).items() if value is not None}
    if "restitution" in values:
        columns = [errors(law, values | {"restitution": asked}) for asked in RESTITUTIONS]
    else:
        columns = [errors(law, values)] + [dict.fromkeys(STEPS, math.nan)] * (len(RESTITUTIONS) - 1)
    cells = [
        f"{100.0 * column[name]:.2g}" if math.isfinite(column[name]) else "-"
        for name in STEPS
        for column in columns
    ]
    return f"| [{law.name}](laws.md#{law.name}) | " + " | ".join(cells) + " |"


def page(names: Sequence[str] = ()) -> str:
    """Return the page in Markdown; with names, only these laws are measured."""
    heads = [f"{name}, e {asked:g}" for name in STEPS for asked in RESTITUTIONS]
    # Other laws may be registered in addition to those of the package.
    ours = [law for law in gc.laws().values() if law.__module__.startswith("granchain.contact.")]
    printed = PAGE.read_text(encoding="utf-8").splitlines() if names else []
    lines = {text[3 : text.index("]")]: text for text in printed if text.startswith("| [")}
    lines |= {law.name: line(law) for law in ours if not names or law.name in names}
    rows = [f"| law | {' | '.join(heads)} |", "| --- |" + " --- |" * len(heads)]
    return "\n\n".join([HEAD, "\n".join(rows + [lines[law.name] for law in ours])]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(sys.argv[1:]), encoding="utf-8")
