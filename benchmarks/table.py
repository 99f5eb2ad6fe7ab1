"""The tables of speed, as Markdown, from results/*.json: docs/speed.md, and the small one of the
README.

`make bench` and `make bench-peers` measure, keep the results and write both anew; `python
benchmarks/table.py peers` prints one table, and `--check` fails where a page is not what the
results say.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from racing import RESULTS, taken_on

from granchain.pages.blocks import markdown_table

ROOT = Path(__file__).parents[1]
PAGE, README = ROOT / "docs" / "speed.md", ROOT / "README.md"


def rows(heading: Iterable[str], lines: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table."""
    return markdown_table(heading, lines).splitlines()


def number(entry: dict[str, float] | None, digits: str = ".3g") -> str:
    """A median, in full; "-" where nothing was measured."""
    return "-" if entry is None else f"{float(format(entry['median'], digits)):g}"


def ratio(entry: dict[str, float] | None) -> str:
    """A median with its quartiles."""
    if entry is None:
        return "-"
    wide = ".3g" if entry["median"] < 100 else ".0f"
    return f"{entry['median']:{wide}} ({entry['low']:{wide}} to {entry['high']:{wide}})"


def throughput(result: dict[str, Any]) -> list[str]:
    """Ma-Liu against dashpots, and against what one would write in their place."""
    heading = (
        "law",
        "granchain, ns",
        "all beads, ns",
        "naive Numba, ns",
        "naive Numba / granchain",
        "NumPy / granchain",
        "Python / granchain",
        "with 8 sensors",
        "with ledger",
    )
    times = {law: found["times"] for law, found in result["laws"].items()}
    ratios = {law: found["ratios"]["granchain"] for law, found in result["laws"].items()}
    lines = [
        (
            law,
            number(times[law]["granchain"]),
            number(times[law]["granchain, all beads"]),
            number(times[law].get("naive Numba")),
            number(ratios[law].get("naive Numba"), ".2g"),
            number(ratios[law].get("plain NumPy"), ".2g"),
            number(ratios[law].get("plain Python"), ".2g"),
            number(ratios[law]["granchain, 8 sensors"]),
            number(ratios[law]["granchain, ledger"]),
        )
        for law in times
    ]
    floor = min(taken["square roots"]["median"] for taken in times.values())
    return [
        *rows(heading, lines),
        "",
        f"{over_dashpots(result['over'])} {taken_on(result['over']['machine'])}",
        "",
        f"Per bead and step, {result['bodies']} bodies up to the peak at bead 63; medians of "
        f"{result['rounds']} rounds, all in turn; 8 sensors at each step, the ledger every 200th "
        f"part of the run. One square root a contact and step alone: {floor:.2g} ns.",
    ]


def over_dashpots(over: dict[str, Any]) -> str:
    """In words: what a step of Ma-Liu costs beside one of each dashpot."""
    costs = {
        where: ", ".join(f"{ratio(found[where])} {law}" for law, found in over["laws"].items())
        for where in ("all beads", "behind the front")
    }
    return (
        f"Ma-Liu over each dashpot, per bead and step: over all beads {costs['all beads']}; behind "
        f"the front {costs['behind the front']}. Medians and quartiles of {over['rounds']} rounds "
        "of one race."
    )


def against_c(result: dict[str, Any]) -> list[str]:
    """The engine against the fastest form in C, and the floor."""
    heading = (
        "case",
        "granchain, ns",
        "C, keeping the same, ns",
        "granchain / C",
        "C, bare, ns",
        "granchain / C, bare",
        "its form",
        "floor, ns",
    )
    lines = []
    for case, found in result["cases"].items():
        times, best = found["times"], found["best"]
        floor = min(
            (times[name] for name in ("square roots", "square roots by rsqrt") if name in times),
            key=lambda taken: taken["median"],
        )
        lines.append(
            (
                case,
                number(times["granchain"]),
                number(times[best["keep"]]),
                ratio(found["ratios"]["keep"]),
                number(times[best["bare"]]),
                ratio(found["ratios"]["bare"]),
                best["bare"].rsplit(",", 1)[0],
                number(floor),
            )
        )
    return [
        *rows(heading, lines),
        "",
        f"Per bead and step, {result['bodies']} bodies up to the peak at bead 63; medians of "
        f"{result['rounds']} rounds, quartiles of ratios within a round. Same bits in all. Keeping "
        "the same: of every contact the force, the largest force and the largest overlap. Floor: "
        "one square root a contact and step over all beads, the faster of the instruction and its "
        "reciprocal, corrected.",
    ]


def many(result: dict[str, Any]) -> list[str]:
    """Many chains at once."""
    heading = ("case", "stack, ns", "C across chains, ns", "stack / C")
    lines = []
    for case, found in result["cases"].items():
        times, over = found["times"], found["ratios"]
        lines.append((case, number(times["stack"]), number(times.get("C")), ratio(over.get("C"))))
    gain = result["threads"]
    return [
        *rows(heading, lines),
        "",
        f"{result['members']} chains of {result['bodies']} bodies, {result['steps']} steps, per "
        f"bead and step; medians of {result['rounds']} rounds, quartiles of ratios within a round. "
        "Same bits in all; all keep of every contact the force, the largest force and the largest "
        "overlap. Stack: one chain after the other; C: eight of them in a vector. A second "
        f"thread: {ratio(gain['chains'])} times as fast, a loop that only counts "
        f"{ratio(gain['spin'])}.",
    ]


def accuracy(result: dict[str, Any]) -> list[str]:
    """Time to a peak that is right."""
    ratios = result["ratios"]["granchain"]
    lines = [
        (name, number(taken), ratio(ratios[name]) if name in ratios else "1")
        for name, taken in result["times"].items()
    ]
    return [
        *rows(("code", "ms", "/ granchain"), lines),
        "",
        "Peak force at bead 31 within 0.1 %, Hertz, until the wave is at bead 63; medians of "
        f"{result['rounds']} rounds. {result['steps']} steps of {result['time_step']:.2g} s; "
        f"DOP853 at a tolerance of {result['tolerance']:.1g}.",
    ]


def peers(result: dict[str, Any]) -> list[str]:
    """Other programs."""
    same, loose = result["same steps"], result["to the peak"]
    lines = [
        (
            name,
            number(same["times"][name]),
            ratio(same["ratios"]["granchain"].get(name)) if name != "granchain" else "1",
            number(loose["times"][name]),
            ratio(loose["ratios"]["granchain"].get(name)) if name != "granchain" else "1",
        )
        for name in same["times"]
    ]
    return [
        *rows(
            ("program", "ns per bead and step", "/ granchain", "ms to the peak", "/ granchain"),
            lines,
        ),
        "",
        "Hertz, same chain, step and number of steps, and the peak at bead 31 within 0.1 % "
        f"({result['time_step']:.2g} s); medians of {result['rounds']} rounds. LAMMPS and LIGGGHTS "
        "carry three dimensions, rotation and neighbours, which a row of beads does not need.",
    ]


def startup(result: dict[str, Any]) -> list[str]:
    """Whole processes."""
    lines = [
        (what, number(taken), number({"median": taken["best"]}))
        for what, taken in result["processes"].items()
    ]
    return [
        *rows(("process", "s", "best"), lines),
        "",
        f"From the shell to the end; medians of {result['rounds']}.",
    ]


def setup(result: dict[str, Any]) -> list[str]:
    """Beside the compiled loops."""
    lines = [
        (law, recorded, *(number(parts[name]) for name in ("set-up", "collection", "march", "run")))
        for law, found in result["laws"].items()
        for recorded, parts in found.items()
    ]
    return [
        *rows(
            (
                "law",
                "recorded",
                "set-up, ms",
                "collection, ms",
                "its compiled loop, ms",
                "one run again, ms",
            ),
            lines,
        ),
        "",
        f"Per member of an ensemble of {result['members']:,} chains of 70 steel beads, all of "
        f"other contacts, {result['steps']:,} steps: processor time from the call on, medians of "
        f"{result['rounds']} rounds. One run of such a case again: wall time, median of "
        f"{result['runs']}.",
    ]


def long_chains(result: dict[str, Any]) -> list[str]:
    """Long chains, on one thread and on two."""
    lines = [
        (
            law,
            f"{int(n):,}",
            number(one["ns"]),
            ratio(one["over base"]),
            ratio(one["two threads"]) if one["threads"] > 1 else "-",
            ratio(one["spin"]),
        )
        for law, found in result["laws"].items()
        for n, one in found.items()
    ]
    return [
        *rows(
            (
                "law",
                "beads",
                "ns",
                f"/ {result['base']} beads",
                "one thread / two",
                "a spin: one / two",
            ),
            lines,
        ),
        "",
        "Per bead and step of a precompressed row in which every bead moves, looks at the state "
        f"included, no ledger; medians of {result['rounds']} rounds. One thread: its own time; "
        "two: wall time, beside a pure spin in the same rounds.",
    ]


def all_laws(result: dict[str, Any]) -> list[str]:
    """Every loop of the library."""
    ordered = sorted(
        result["laws"].items(), key=lambda item: -item[1]["behind the front"]["median"]
    )
    lines = [
        (
            law,
            number(found["nanoseconds"]),
            ratio(found["behind the front"]),
            ratio(found["all beads"]),
        )
        for law, found in ordered
    ]
    return [
        *rows(("law", "ns", "/ Hertz over all beads", "all beads / Hertz over all beads"), lines),
        "",
        f"One law for each compiled loop, example inputs; medians of {result['rounds']} rounds.",
    ]


TABLES: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "throughput": throughput,
    "against_c": against_c,
    "many": many,
    "accuracy": accuracy,
    "peers": peers,
    "startup": startup,
    "all_laws": all_laws,
    "setup": setup,
    "long_chains": long_chains,
}


# In this order on the page; the long one comes last.
ORDER = (
    "throughput",
    "against_c",
    "accuracy",
    "peers",
    "startup",
    "setup",
    "many",
    "long_chains",
    "all_laws",
)
INTRODUCTION = """# Speed

Printed by `python benchmarks/table.py` from what `make bench` and `make bench-peers` measured; not written by hand. Each table names its
machine and day. One core, where no threads are named. "granchain" leaves out the beads ahead of the wave's front, "all beads" does not.
Every contender gives the same answer before it is timed: C to the last bit, Python loops within 1e-9, other programs within 1e-7. The first
run of a law compiles its loop, 4 to 10 s by machine and law; later runs load it.
"""
# Between these lines of the README stands its table.
BEGIN, END = "<!-- speed -->\n", "<!-- end of speed -->\n"


def result_of(name: str) -> dict[str, Any]:
    """What was measured."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def measured(names: Iterable[str]) -> list[str]:
    """Those that have a result."""
    return [name for name in names if (RESULTS / f"{name}.json").exists()]


def page() -> str:
    """docs/speed.md."""
    parts = [INTRODUCTION]
    for name in measured(ORDER):
        result = result_of(name)
        title = (TABLES[name].__doc__ or "").strip().rstrip(".")
        parts.append(
            "\n".join([f"## {title}", "", *TABLES[name](result), taken_on(result["machine"]), ""])
        )
    return "\n".join(parts)


def small_table() -> str:
    """The README's: one race, on one machine."""
    result = result_of("peers")
    same = result["same steps"]
    lines = [
        (
            name,
            number(same["times"][name]),
            ratio(same["ratios"]["granchain"].get(name)) if name != "granchain" else "1",
        )
        for name in same["times"]
    ]
    table = rows(("program", "time per bead and step [ns]", "time / time of granchain"), lines)
    under = (
        "All programs simulate the same 70 steel beads, struck at 1.77 m/s with Hertz contacts, "
        "with the same number of equal steps. Each time is the median of "
        f"{result['rounds']} rounds on one core. LAMMPS and LIGGGHTS also handle three dimensions, "
        "rotation, and neighbour lists, which a chain does not need."
    )
    return "\n".join([*table, "", under, taken_on(result["machine"]), ""])


def pages() -> dict[Path, str]:
    """The two pages with their tables."""
    readme = README.read_text()
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return {PAGE: page(), README: f"{before}{BEGIN}{small_table()}{END}{after}"}


def main() -> None:
    """Write, compare or print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="TABLE", help=f"{', '.join(TABLES)}; default: write the pages"
    )
    parser.add_argument("--check", action="store_true", help="compare the pages with the results")
    asked = parser.parse_args()
    for name in asked.names:
        if name not in TABLES or not measured([name]):
            raise SystemExit(
                f"table.py: got {name}, allowed: {', '.join(TABLES)}, measured before by "
                f"benchmarks/{name}.py --save"
            )
        result = result_of(name)
        print(
            "\n".join(
                [
                    f"{(TABLES[name].__doc__ or '').strip()}\n",
                    *TABLES[name](result),
                    taken_on(result["machine"]),
                    "",
                ]
            )
        )
    if not asked.names:
        for path, text in pages().items():
            if not asked.check:
                path.write_text(text)
            elif path.read_text() != text:
                raise SystemExit(
                    f"{path} is not what benchmarks/results say: write it anew with python "
                    "benchmarks/table.py"
                )


if __name__ == "__main__":
    main()
