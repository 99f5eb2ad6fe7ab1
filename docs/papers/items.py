"""Pages of docs/papers: published results compared with computed ones.

Each paper has a module with an item for each table, figure, and equation. `make papers` and the
tests run the code that an item shows on its page.
"""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import granchain as gc

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Significant digits of a computed number, if its error allows them.
DIGITS = 5
# Smallest relative error that is printed: rounding in a closed form.
ROUNDING = 1e-12
# Impacts take this fraction of the automatic step: papers print up to five digits.
REFINE = 10.0
# Whether steps, samples, and tolerances are coarser, for the second computation that gives the
# error.
_COARSE = [False]


@contextmanager
def coarse(on: bool = True) -> Iterator[None]:
    """Compute with twice the time step, half the samples, and 100 times the tolerance."""
    before, _COARSE[0] = _COARSE[0], on
    try:
        yield
    finally:
        _COARSE[0] = before


def cached(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a store of its results, separate for the coarse computation."""
    results: dict[Any, Any] = {}

    def stored(*arguments: Any, **named: Any) -> Any:
        key = (_COARSE[0], arguments, tuple(sorted(named.items())))
        if key not in results:
            results[key] = function(*arguments, **named)
        return results[key]

    return stored


def points(count: int) -> int:
    """Return the number of samples or nodes; half of it if coarse."""
    return (count + 1) // 2 if _COARSE[0] else count


def tolerance(value: float) -> float:
    """Return the tolerance of an iteration or an adaptive integration; larger if coarse."""
    return 100.0 * value if _COARSE[0] else value


def refined_impact(refine: float = REFINE, **inputs: Any) -> gc.ImpactResult:
    """Return an impact at a fine step."""
    return gc.impact(refine=0.5 * refine if _COARSE[0] else refine, **inputs)


def fine_step(case: gc.Case) -> gc.Case:
    """Return a case with half the automatic step, or with that step if coarse."""
    if _COARSE[0]:
        return case
    short = gc.run(case.replace(**{"time.end": 5e-6, "snapshots": None}))
    return case.replace(**{"time.step": 0.5 * short.time_step})


def scan_step(case: gc.Case) -> gc.Case:
    """Return a case at its automatic step, or at the fast one if coarse, for many runs."""
    return case.replace(**{"time.step": "fast"}) if _COARSE[0] else case


def refined_mechanism(name: str, *changes: str) -> gc.Result:
    """Run a mechanism at half the automatic step, or at that step if coarse."""
    run = gc.run_mechanism(gc.load_mechanism(name, changes))
    if _COARSE[0]:
        return run
    step = f"time.step={0.5 * run.time_step!r}"
    return gc.run_mechanism(gc.load_mechanism(name, (*changes, step)))


def scanned_mechanism(name: str, *changes: str) -> gc.Result:
    """Run a mechanism at its automatic step, or at the fast one if coarse, for long runs."""
    step = ("time.step=fast",) if _COARSE[0] else ()
    return gc.run_mechanism(gc.load_mechanism(name, (*changes, *step)))


@dataclass(frozen=True)
class Number:
    """A computed number with its error; the last digit of its text is not below the error."""

    value: float
    error: float

    @property
    def exponent(self) -> int:
        """Exponent of ten of the last digit."""
        first = math.floor(math.log10(abs(self.value))) if self.value else 0
        last = first - DIGITS + 1
        # 1e-9: rounding may make an error that is a power of ten slightly larger.
        return max(last, math.ceil(math.log10(self.error) - 1e-9)) if self.error else last

    def __str__(self) -> str:
        if not math.isfinite(self.value):
            return f"{self.value}"
        if self.value == round(self.value) and abs(self.value) < 1e5 and self.error < 1e-9:
            return f"{self.value:.0f}"
        number = round(Decimal(self.value), -self.exponent)
        # Only a power of ten can have its last digit above 1.
        plain = self.exponent <= 0 and (not number or 1e-4 <= abs(number) < 1e5)
        if plain:
            return f"{number:.{-self.exponent}f}"
        if not number:
            return f"0e{self.exponent}"
        digits = number.adjusted() - self.exponent
        return re.sub(r"e([+-])0*(\d)", _short_exponent, f"{float(number):.{digits}e}")

    @property
    def error_text(self) -> str:
        """Error, rounded up to one digit."""
        if not self.error:
            return "0"
        unit = 10.0 ** math.floor(math.log10(self.error))
        return f"{math.ceil(self.error / unit - 1e-9) * unit:.0e}"


def _short_exponent(match: re.Match[str]) -> str:
    """Return an exponent without its plus sign and leading zeros."""
    return f"e{match[1].replace('+', '')}{match[2]}"


def number_of(fine: float, rough: float) -> Number:
    """Return the finer of two computed numbers with its error.

    Halving a step divides the error by 4 if the order is 2, and by 2 if it is 1, so the difference
    is at least the remaining error.
    """
    if math.isnan(fine) and math.isnan(rough):
        return Number(fine, 0.0)
    return Number(float(fine), max(abs(float(fine) - float(rough)), ROUNDING * abs(float(fine))))


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?")


def settled_text(fine: str, rough: str) -> str:
    """Return the finer of two computed texts.

    A number that differs between them has fewer digits, so that its last digit is not below the
    difference.
    """
    if fine == rough:
        return fine
    numbers, roughs = _NUMBER.findall(fine), _NUMBER.findall(rough)
    if _NUMBER.sub("", fine) != _NUMBER.sub("", rough):
        raise ValueError(f"words depend on the time step: {fine!r}, {rough!r}")
    texts = iter([_settled(*both) for both in zip(numbers, roughs, strict=True)])
    return _NUMBER.sub(lambda match: next(texts), fine)


def _settled(fine: str, rough: str) -> str:
    """Return one number of a text with fewer digits."""
    if fine == rough:
        return fine
    sign = "+" if fine.startswith("+") else ""
    last = 2.0 * half_a_digit(fine)
    number = number_of(float(fine), float(rough))
    return sign + str(Number(number.value, max(number.error, last)))


class Verdict(Enum):
    """Outcome of an item."""

    REPRODUCED = "reproduced"
    MISPRINT = "reproduced except for a misprint"
    CONTRADICTED = "contradicted"
    NO_NUMBERS = "no published numbers"
    NOT_STATED = "not enough data to compute"


@dataclass(frozen=True)
class Row:
    """A published value and the computed one.

    Parameters
    ----------
    what : str
        Name and unit, e.g. "restitution at 4 m/s [1]".
    printed : str
        Text of the value in the paper, e.g. "1.1152e-4"; "" if there is no published value.
    computed : float
    within : float, optional
        Largest relative difference of the computed value from the published one. Default: half a
        unit of the last published digit. The item's text gives the reason for a larger value.
        Whether the published value is a misprint.
    error : float, optional
        Error of the computed number, from a second, coarser computation; None before that.
    """

    what: str
    printed: str
    computed: float
    within: float | None = None
    misprint: bool = False
    error: float | None = None

    @property
    def number(self) -> Number:
        """Computed number with its error.

        Raises
        ------
        ValueError
            If it has no error.
        """
        if self.error is None:
            raise ValueError(
                f"{self.what}: no error is stored. Compute the item with item.shown()."
            )
        return Number(float(self.computed), self.error)

    @property
    def off(self) -> float:
        """Relative difference of computed and published value; nan without a published one."""
        if not self.printed:
            return math.nan
        value = float(self.printed)
        return self.computed / value - 1.0 if value else self.computed

    @property
    def agrees(self) -> bool:
        """Return whether the computed value agrees with the published one."""
        if not self.printed:
            return True
        value = float(self.printed)
        if self.within is not None:
            return abs(self.computed - value) <= self.within * abs(value)
        return abs(self.computed - value) <= half_a_digit(self.printed) * (1.0 + 1e-9)


def half_a_digit(printed: str) -> float:
    """Return half a unit of the last digit of a number: "1.115e-4" gives 5e-8."""
    mantissa, _, exponent = printed.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)


@dataclass(frozen=True)
class Shown:
    """Result of an item.

    Parameters
    ----------
    rows : sequence of Row
    figure : Figure or None
    text : str
        Explanation of the numbers, in Markdown.
    """

    rows: Sequence[Row] = ()
    figure: Figure | None = None
    text: str = ""


@dataclass(frozen=True)
class Item:
    """Table, figure, or equation of a paper.

    Parameters
    ----------
    place : str
        Location in the paper, for example "Table 2".
    title : str
    verdict : Verdict
    why : str
        Reason of the outcome: the misprint, the difference and the interpretations, or missing data.
    compute : callable
        Function that returns a Shown. The page contains its code.
    long : bool
        Whether it takes more than a few seconds, so that only `make papers` and long tests compute it.
    """

    place: str
    title: str
    verdict: Verdict
    why: str
    compute: Callable[[], Shown]
    long: bool = False

    def shown(self) -> Shown:
        """Compute the item twice, and return the finer numbers with their errors."""
        with coarse():
            rough = self.compute()
        fine = self.compute()
        rows = [
            replace(
                row,
                what=settled_text(row.what, other.what),
                error=number_of(row.computed, other.computed).error,
            )
            for row, other in zip(fine.rows, rough.rows, strict=True)
        ]
        return Shown(rows, fine.figure, settled_text(fine.text, rough.text))

    @property
    def name(self) -> str:
        """Name of the file of the item's figure."""
        return re.sub(r"[^a-z0-9]+", "-", self.place.lower()).strip("-")

    @property
    def lines(self) -> str:
        """Code of its function, without the docstring."""
        body = inspect.getsource(self.compute).partition("-> Shown:\n")[2]
        return textwrap.dedent(body.partition('"""')[2].partition('"""\n')[2]).strip()

    def problems(self, shown: Shown) -> list[str]:
        """Return the rows that contradict the outcome."""
        off = [row for row in shown.rows if not row.agrees]
        numbers = any(row.printed for row in shown.rows)
        found = []
        if self.verdict is Verdict.REPRODUCED:
            found += [f"{row.what}: printed {row.printed}, got {row.computed:.6g}" for row in off]
            found += [] if numbers else ["no row has a printed number"]
        elif self.verdict is Verdict.MISPRINT:
            found += [
                f"{row.what}: printed {row.printed}, got {row.computed:.6g}, not called a misprint"
                for row in off
                if not row.misprint
            ]
        elif self.verdict is Verdict.CONTRADICTED:
            found += [] if off or not numbers else ["no row contradicts"]
        elif numbers:
            found.append(f"numbers are printed, and the verdict is {self.verdict.value!r}")
        found += [
            f"{row.what}: called a misprint, and agrees"
            for row in shown.rows
            if row.misprint and row.agrees
        ]
        return [f"{self.place}: {problem}" for problem in found]


@dataclass(frozen=True)
class Erratum:
    """Misprint: location, published and correct form, and evidence."""

    place: str
    printed: str
    right: str
    known: str


@dataclass(frozen=True)
class Claim:
    """Statement of a paper: location, statement, outcome, and a function that computes the evidence."""

    place: str
    says: str
    verdict: str
    evidence: Callable[[], str]

    def shown(self) -> str:
        """Compute the evidence twice, and keep only the digits that agree."""
        with coarse():
            rough = self.evidence()
        return settled_text(self.evidence(), rough)


@dataclass
class Paper:
    """Page of a paper.

    Parameters
    ----------
    name : str
        Name of the file of the page and of the entry in granchain/references.bib.
    title : str
        Heading of the page.
    head : str
        Description of the paper in Markdown, with its DOI.
    """

    name: str
    title: str
    head: str
    items: list[Item] = field(default_factory=list)
    errata: list[Erratum] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def item(
        self, place: str, title: str, verdict: Verdict, why: str = "", long: bool = False
    ) -> Callable[[Callable[[], Shown]], Callable[[], Shown]]:
        """Register the decorated function, which computes this item."""

        def kept(compute: Callable[[], Shown]) -> Callable[[], Shown]:
            self.items.append(Item(place, title, verdict, why, compute, long))
            return compute

        return kept

    def claim(
        self, place: str, says: str, verdict: str
    ) -> Callable[[Callable[[], str]], Callable[[], str]]:
        """Register the decorated function, which returns the evidence on this claim."""

        def kept(evidence: Callable[[], str]) -> Callable[[], str]:
            self.claims.append(Claim(place, says, verdict, evidence))
            return evidence

        return kept

    def page(self, figures: Path) -> str:
        """Return the page in Markdown, and write the figures into a folder."""
        claims = table(
            ("location", "statement of the paper", "outcome", "evidence"),
            [(one.place, one.says, one.verdict, one.shown()) for one in self.claims],
        )
        blocks = [*self.beginning(), "## Statements in the text", claims]
        for item in self.items:
            shown = item.shown()
            blocks.append(section(item, shown))
            if shown.figure is not None:
                save(shown.figure, figures / f"{self.name}-{item.name}.png")
                blocks.append(f"![{item.place}](figures/{self.name}-{item.name}.png)")
            blocks.append(collapsed(item.lines))
        return "\n\n".join(block for block in blocks if block) + "\n"

    def counts(self) -> str:
        """Return the number of items with each outcome, as a sentence."""
        numbers = [
            f"{count} {verdict.value}"
            for verdict in Verdict
            if (count := sum(item.verdict is verdict for item in self.items))
        ]
        return f"This page contains {len(self.items)} items: {', '.join(numbers)}."

    def beginning(self) -> list[str]:
        """Return heading, summary, and errata."""
        verdicts = table(
            ("item", "content", "outcome"),
            [(link(item), item.title, verdict_text(item)) for item in self.items],
        )
        errata = table(
            ("location", "published", "correct", "evidence"),
            [(one.place, one.printed, one.right, one.known) for one in self.errata],
        )
        return [
            f"# {self.title}",
            self.head,
            "## Summary",
            self.counts(),
            verdicts,
            "## Errata",
            errata,
        ]


def collapsed(lines: str) -> str:
    """Return code that the reader can open."""
    code = f"```python\n{lines}\n```"
    return f"<details>\n<summary>Python code</summary>\n\n{code}\n\n</details>"


def link(item: Item) -> str:
    """Return a link to the section of an item."""
    return f"[{item.place}](#{anchor(heading(item))})"


def heading(item: Item) -> str:
    """Return the heading of an item's section."""
    return f"{item.place}: {item.title}"


def anchor(text: str) -> str:
    """Return the anchor of a heading, as MyST and GitHub create it."""
    kept = re.sub(r"[^\w\- ]", "", text.lower())
    return kept.replace(" ", "-")


def verdict_text(item: Item) -> str:
    """Return outcome and reason in one line."""
    return f"**{item.verdict.value}**" + (f": {item.why}" if item.why else "")


def section(item: Item, shown: Shown) -> str:
    """Return heading, outcome, numbers, and text of an item."""
    rows = [
        (
            row.what,
            row.printed or "-",
            str(row.number),
            row.number.error_text,
            difference(row),
            "misprint" if row.misprint else "" if row.agrees else "differs",
        )
        for row in shown.rows
    ]
    numbers = (
        table(
            ("quantity", "published", "computed", "numerical error", "difference", "remark"), rows
        )
        if rows
        else ""
    )
    blocks = [f"## {heading(item)}", f"{verdict_text(item)}.", numbers, shown.text]
    return "\n\n".join(block for block in blocks if block)


def difference(row: Row) -> str:
    """Return the difference in per cent, or as a factor if it is large."""
    if not row.printed:
        return "-"
    error = row.number.error / (abs(float(row.printed)) or 1.0)
    if abs(row.off) >= 10.0:
        return f"factor {Number(1.0 + row.off, max(error, 1e-3 * abs(row.off)))}"
    text = str(Number(100.0 * row.off, max(100.0 * error, 0.01)))
    return f"{'' if text.startswith('-') else '+'}{text} %"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; "None." if there are no rows."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if rows else "None."


def save(figure: Figure, path: Path) -> None:
    """Save a figure as PNG, byte-identical for the same figure."""
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    figure.clear()


def index(papers: Sequence[Paper]) -> str:
    """Return the index page with the number of items of each paper by outcome."""
    names = [verdict.value for verdict in Verdict]
    counts = {
        paper.name: [sum(item.verdict is verdict for item in paper.items) for verdict in Verdict]
        for paper in papers
    }
    rows = [
        (
            f"[{paper.title}]({paper.name}.md)",
            *map(str, counts[paper.name]),
            str(len(paper.items)),
            str(len(paper.errata)),
        )
        for paper in papers
    ]
    sums = [sum(column) for column in zip(*counts.values(), strict=True)]
    rows.append(("total", *map(str, sums), str(sum(sums)), str(sum(len(p.errata) for p in papers))))
    return (
        "\n\n".join(
            [
                HEAD,
                table(("paper", *names, "items", "errata"), rows),
                TREE.format(pages="\n".join(paper.name for paper in papers)),
            ]
        )
        + "\n"
    )


HEAD = """\
# The papers, figure by figure

These pages compare each table, figure, and equation of four papers, and the readable numbers of published chains, with results of granchain. Each item has
an outcome. The table below gives the number of items with each outcome; each page starts with a summary of its items.

A number agrees if it rounds to the published one, or is within the tolerance that its section gives. If a result contradicts a paper, the section lists all
interpretations that we tried.

Every number is computed twice: with half the time step (twice the samples, a hundredth of the tolerance), and with the full time step. The difference is the
numerical error of the number, and the last printed digit is not smaller than that error.

`make papers` writes the pages. Each item contains the Python code that computes it, and the tests run this code again."""

TREE = """```{{toctree}}
:hidden:

{pages}
```"""
