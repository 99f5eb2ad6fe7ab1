"""Print tables of results/*.json in Markdown, for the pages on speed and the README.

`make bench` and `make bench-peers` measure, store the results, and write the tables. `python
benchmarks/table.py peers` prints one table. `--check` fails if a page differs from the results.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from racing import RESULTS, taken_on

ROOT = Path(__file__).parents[1]
PAGE, MANY_PAGE = ROOT / "docs" / "speed.md", ROOT / "docs" / "speed-many.md"
README = ROOT / "README.md"


def rows(heading: Iterable[str], lines: Iterable[Iterable[str]]) -> list[str]:
    """Return a Markdown table."""
    heads = list(heading)
    return [f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *lines)]


def number(entry: dict[str, float] | None, digits: str = ".3g") -> str:
    """Return a median in full, or "-" if nothing was measured."""
    return "-" if entry is None else f"{float(format(entry['median'], digits)):g}"


def ratio(entry: dict[str, float] | None) -> str:
    """Return a median with its quartiles."""
    if entry is None:
        return "-"
    wide = ".3g" if entry["median"] < 100 else ".0f"
    return f"{entry['median']:{wide}} ({entry['low']:{wide}} to {entry['high']:{wide}})"


def throughput(result: dict[str, Any]) -> list[str]:
    """Contact laws compared with straightforward code."""
    times = {law: found["times"] for law, found in result["laws"].items()}
    ratios = {law: found["ratios"]["granchain"] for law, found in result["laws"].items()}
    costs = [
        (
            law,
            number(times[law]["granchain"]),
            number(times[law]["granchain, all beads"]),
            number(ratios[law]["granchain, 8 sensors"]),
            number(ratios[law]["granchain, ledger"]),
        )
        for law in times
    ]
    others = [
        (
            law,
            number(times[law].get("naive Numba")),
            number(ratios[law].get("naive Numba"), ".2g"),
            number(ratios[law].get("plain NumPy"), ".2g"),
            number(ratios[law].get("plain Python"), ".2g"),
        )
        for law in times
    ]
    floor = min(taken["square roots"]["median"] for taken in times.values())
    return [
        f"The tables list times per bead and step of {result['bodies']} bodies until the peak is at "
        f"bead 63. Every round runs all programs, and the times are medians of "
        f"{result['rounds']} rounds. The sensors record each step, and the energy balance is "
        "recorded 200 times per run. One square root per contact and step takes "
        f"{floor:.2g} ns.",
        "",
        *rows(
            (
                "law",
                "active beads [ns]",
                "all beads [ns]",
                "8 sensors / none",
                "energy balance / none",
            ),
            costs,
        ),
        "",
        *rows(
            (
                "law",
                "naive Numba [ns]",
                "naive Numba / granchain",
                "NumPy / granchain",
                "Python / granchain",
            ),
            others,
        ),
        "",
        f"{over_dashpots(result['over'])} {taken_on(result['over']['machine'])}",
    ]


def over_dashpots(over: dict[str, Any]) -> str:
    """Return the cost of a Ma-Liu step relative to that of each dashpot, as text."""
    costs = {
        where: ", ".join(f"{ratio(found[where])} {law}" for law, found in over["laws"].items())
        for where in ("all beads", "behind the front")
    }
    return (
        "The time of Ma-Liu divided by the time of each dashpot is, for all beads, "
        f"{costs['all beads']}; for active beads only, {costs['behind the front']}. The values are "
        f"medians and quartiles of {over['rounds']} rounds."
    )


def against_c(result: dict[str, Any]) -> list[str]:
    """Comparison with hand-written C."""
    heading = (
        "case",
        "granchain [ns]",
        "granchain / C",
        "granchain / bare C",
        "instruction set",
        "square root [ns]",
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
                active(case),
                number(times["granchain"]),
                ratio(found["ratios"]["keep"]),
                ratio(found["ratios"]["bare"]),
                best["bare"].rsplit(",", 1)[0],
                number(floor),
            )
        )
    return [
        f"The table lists times per bead and step of {result['bodies']} bodies until the peak is at "
        f"bead 63: medians of {result['rounds']} rounds, with quartiles of the ratios within a "
        'round. All results are bit-identical. "C" is the fastest form that stores the same '
        'quantities (force, largest force, and largest overlap of each contact), and "bare C" '
        "stores none of them. The last column is the time of one square root per contact and step, "
        "which is a lower limit.",
        "",
        *rows(heading, lines),
    ]


def active(case: str) -> str:
    """Return the name of a benchmark case as the page prints it."""
    return case.replace("behind the front", "active beads")


def many(result: dict[str, Any]) -> list[str]:
    """Many chains at once."""
    heading = ("case", "granchain [ns]", "C [ns]", "granchain / C")
    lines = []
    for case, found in result["cases"].items():
        times, over = found["times"], found["ratios"]
        lines.append(
            (active(case), number(times["stack"]), number(times.get("C")), ratio(over.get("C")))
        )
    gain = result["threads"]
    return [
        f"The table lists times per bead and step of {result['members']} chains of "
        f"{result['bodies']} bodies and {result['steps']} steps: medians of {result['rounds']} "
        "rounds, with quartiles of the ratios within a round. All results are bit-identical, and "
        "all programs store force, largest force, and largest overlap of each contact. granchain "
        "advances one chain after another, and C advances eight chains in one vector. With a second "
        f"thread, granchain is {ratio(gain['chains'])} times as fast. A loop that uses no memory "
        f"shows the largest possible gain on this machine, {ratio(gain['spin'])} times.",
        "",
        *rows(heading, lines),
    ]


def accuracy(result: dict[str, Any]) -> list[str]:
    """Time to an accurate peak."""
    ratios = result["ratios"]["granchain"]
    lines = [
        (name, number(taken), ratio(ratios[name]) if name in ratios else "1")
        for name, taken in result["times"].items()
    ]
    return [
        "The table lists the time to compute the peak force at bead 31 within 0.1 %, with Hertz "
        "contacts, until the wave is at bead 63. The times are medians of "
        f"{result['rounds']} rounds, with {result['steps']} steps of {result['time_step']:.2g} s. "
        f"DOP853 has a tolerance of {result['tolerance']:.1g}.",
        "",
        *rows(("code", "time [ms]", "time / time of granchain"), lines),
    ]


def peers(result: dict[str, Any]) -> list[str]:
    """Comparison with other programs."""
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
        "All programs simulate the same chain with Hertz contacts. The first two columns use the "
        "same number of equal steps, and the last two the step with which the peak at bead 31 is "
        f"accurate to 0.1 % ({result['time_step']:.2g} s). The times are medians of "
        f"{result['rounds']} rounds. LAMMPS and LIGGGHTS also handle three dimensions, rotation, "
        "and neighbour lists, which a chain does not need.",
        "",
        *rows(
            (
                "program",
                "time per bead and step [ns]",
                "time / time of granchain",
                "time to the peak [ms]",
                "time / time of granchain",
            ),
            lines,
        ),
    ]


def startup(result: dict[str, Any]) -> list[str]:
    """Start-up and complete processes."""
    lines = [
        (what, number(taken), number({"median": taken["best"]}))
        for what, taken in result["processes"].items()
    ]
    return [
        f"The table lists wall times of complete processes: medians and minima of "
        f"{result['rounds']} runs.",
        "",
        *rows(("process", "median [s]", "minimum [s]"), lines),
    ]


def setup(result: dict[str, Any]) -> list[str]:
    """Set-up and collection of an ensemble."""
    lines = [
        (law, recorded, *(number(parts[name]) for name in ("set-up", "collection", "march", "run")))
        for law, found in result["laws"].items()
        for recorded, parts in found.items()
    ]
    return [
        f"The table lists processor times per member of an ensemble of {result['members']:,} chains "
        f"of 70 steel beads with different contacts and {result['steps']:,} steps, as medians of "
        f"{result['rounds']} rounds. The last column is the wall time of a single run, as the median "
        f"of {result['runs']} runs.",
        "",
        *rows(
            (
                "law",
                "recorded",
                "set-up [ms]",
                "collection [ms]",
                "compiled loop [ms]",
                "single run [ms]",
            ),
            lines,
        ),
    ]


def long_chains(result: dict[str, Any]) -> list[str]:
    """Long chains with one and two threads."""
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
        "The table lists times per bead and step of a precompressed chain in which every bead "
        "moves, as medians of "
        f"{result['rounds']} rounds. The times include checks of the state, but no energy balance. "
        f"The chains of {result['base']:,} beads take the same steps, because an elastoplastic law "
        "costs less with each step: its contacts dissipate the motion, and then yield no more. "
        "The last two columns divide the wall time with one thread by that with two threads, for "
        "the chain and for a loop that uses no memory, in the same rounds.",
        "",
        *rows(
            (
                "law",
                "beads",
                "time per bead and step [ns]",
                f"time / time for {result['base']:,} beads",
                "chain: one thread / two threads",
                "loop without memory: one thread / two threads",
            ),
            lines,
        ),
    ]


def all_laws(result: dict[str, Any]) -> list[str]:
    """All compiled loops."""
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
        "The table lists one law for each compiled loop, with its example inputs, as medians of "
        f"{result['rounds']} rounds. The ratios are relative to Hertz with all beads.",
        "",
        *rows(("law", "active beads [ns]", "active beads / Hertz", "all beads / Hertz"), lines),
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


# Order on the page, with the longest table at the end.
ORDER = ("throughput", "against_c", "accuracy", "peers", "startup")
ORDER_OF_MANY = ("setup", "many", "long_chains", "all_laws")
INTRODUCTION = """# Speed

This page compares the speed of granchain with hand-written C, straightforward code, and other programs. `python benchmarks/table.py`
writes it from the results of `make bench` and `make bench-peers`. Each section names its machine and date.

Runs use one core unless threads are mentioned. "Active beads" means that the beads ahead of the wave front are skipped. Before a program
is timed, its results are compared with those of granchain: C must agree to the last bit, Python loops within 1e-9, and other programs within 1e-7. The first run with
a law also compiles its loop, which takes 4 to 10 s.

For ensembles, long chains, and all laws, see [Speed of many chains, long chains, and all laws](speed-many.md).
"""
INTRODUCTION_OF_MANY = """# Speed of many chains, long chains, and all laws

This page continues [Speed](speed.md) with ensembles of chains, chains of up to a million beads, and the compiled loops of all contact laws.
"""
# The table of the README is between these lines.
BEGIN, END = "<!-- speed -->\n", "<!-- end of speed -->\n"


def result_of(name: str) -> dict[str, Any]:
    """Return a stored result."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def measured(names: Iterable[str]) -> list[str]:
    """Return the names that have a stored result."""
    return [name for name in names if (RESULTS / f"{name}.json").exists()]


def page(introduction: str, names: Iterable[str]) -> str:
    """Return a page with the tables of some benchmarks."""
    parts = [introduction]
    for name in measured(names):
        result = result_of(name)
        title = (TABLES[name].__doc__ or "").strip().rstrip(".")
        parts.append(
            "\n".join(
                [f"## {title}", "", *TABLES[name](result), "", taken_on(result["machine"]), ""]
            )
        )
    return "\n".join(parts)


def small_table() -> str:
    """Return the table of the README."""
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
    return "\n".join([*table, "", under, "", taken_on(result["machine"]), ""])


def pages() -> dict[Path, str]:
    """Return the text of each page with tables."""
    readme = README.read_text()
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return {
        PAGE: page(INTRODUCTION, ORDER),
        MANY_PAGE: page(INTRODUCTION_OF_MANY, ORDER_OF_MANY),
        README: f"{before}{BEGIN}{small_table()}{END}{after}",
    }


def main() -> None:
    """Write, compare, or print."""
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
