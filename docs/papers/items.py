"""What a paper prints, beside what granchain computes of it: how a page of docs/papers is made.

A module a paper, beside this one, holds an item for each table, figure and equation. What an item
shows on the page, the lines of Python too, is what is run: by `make papers` and by the tests.
"""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from granchain.pages.blocks import markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Verdict(Enum):
    """What becomes of an item when it is computed."""

    REPRODUCED = "reproduced"
    MISPRINT = "reproduced but for a misprint"
    CONTRADICTED = "contradicted"
    NO_NUMBERS = "no numbers printed"
    NOT_STATED = "not stated enough to compute"


@dataclass(frozen=True)
class Row:
    """One printed number beside the computed one.

    Parameters
    ----------
    what : str
        Its name and unit, e.g. "restitution at 4 m/s [1]".
    printed : str
        As it stands in the paper, e.g. "1.1152e-4"; "" where nothing is printed.
    computed : float
    within : float, optional
        Largest part of the printed number by which the computed one may differ; without it, half a
        unit of the last printed digit. A wider one has its reason in the item's text.
    misprint : bool
        Whether the printed number is taken for a mistake of printing.
    """

    what: str
    printed: str
    computed: float
    within: float | None = None
    misprint: bool = False

    @property
    def off(self) -> float:
        """Computed less printed, as part of the printed number; nan without one."""
        if not self.printed:
            return math.nan
        value = float(self.printed)
        return self.computed / value - 1.0 if value else self.computed

    @property
    def agrees(self) -> bool:
        """Whether the computed number rounds to the printed one, or lies within what is stated."""
        if not self.printed:
            return True
        value = float(self.printed)
        if self.within is not None:
            return abs(self.computed - value) <= self.within * abs(value)
        return abs(self.computed - value) <= half_a_digit(self.printed) * (1.0 + 1e-9)


def half_a_digit(printed: str) -> float:
    """Half a unit of the last digit of a printed number: "1.115e-4" is good to 5e-8."""
    mantissa, _, exponent = printed.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)


@dataclass(frozen=True)
class Shown:
    """What an item computes.

    Parameters
    ----------
    rows : sequence of Row
    figure : Figure or None
    text : str
        What the numbers mean, in Markdown.
    """

    rows: Sequence[Row] = ()
    figure: Figure | None = None
    text: str = ""


@dataclass(frozen=True)
class Item:
    """A table, a figure, or an equation of a paper.

    Parameters
    ----------
    place : str
        Where it stands, e.g. "Table 2".
    title : str
    verdict : Verdict
    why : str
        The verdict's reason: which misprint, by how much and under which readings, what is missing.
    compute : callable
        Gives a Shown; its lines stand on the page.
    long : bool
        Whether it takes more than some seconds: computed by `make papers` and by the long tests.
    """

    place: str
    title: str
    verdict: Verdict
    why: str
    compute: Callable[[], Shown]
    long: bool = False

    @property
    def name(self) -> str:
        """Of its figure's file."""
        return re.sub(r"[^a-z0-9]+", "-", self.place.lower()).strip("-")

    @property
    def lines(self) -> str:
        """The body of its function, without its docstring."""
        body = inspect.getsource(self.compute).partition("-> Shown:\n")[2]
        return textwrap.dedent(body.partition('"""')[2].partition('"""\n')[2]).strip()

    def problems(self, shown: Shown) -> list[str]:
        """Rows that do not bear the verdict out."""
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
    """A mistake in print: where, as printed, what is right, and how that is known."""

    place: str
    printed: str
    right: str
    known: str


@dataclass(frozen=True)
class Claim:
    """What a paper says in words, in ours: where, what, its verdict, and a function that gives the
    evidence, with its numbers computed."""

    place: str
    says: str
    verdict: str
    evidence: Callable[[], str]


@dataclass
class Paper:
    """One paper's page.

    Parameters
    ----------
    name : str
        Of the page's file and of the entry in granchain/references.bib.
    title : str
        Heading of the page.
    head : str
        What the paper is, in Markdown, with its DOI.
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
        """Decorator: the function computes this item."""

        def kept(compute: Callable[[], Shown]) -> Callable[[], Shown]:
            self.items.append(Item(place, title, verdict, why, compute, long))
            return compute

        return kept

    def claim(
        self, place: str, says: str, verdict: str
    ) -> Callable[[Callable[[], str]], Callable[[], str]]:
        """Decorator: the function gives the evidence for or against this claim."""

        def kept(evidence: Callable[[], str]) -> Callable[[], str]:
            self.claims.append(Claim(place, says, verdict, evidence))
            return evidence

        return kept

    def page(self, figures: Path) -> str:
        """The page in Markdown; figures are written into a folder."""
        claims = table(
            ("where", "the paper says", "verdict", "evidence"),
            [(one.place, one.says, one.verdict, one.evidence()) for one in self.claims],
        )
        blocks = [*self.beginning(), "## Claims in words", claims]
        for item in self.items:
            shown = item.compute()
            blocks.append(section(item, shown))
            if shown.figure is not None:
                save(shown.figure, figures / f"{self.name}-{item.name}.png")
                blocks.append(f"![{item.place}](figures/{self.name}-{item.name}.png)")
            blocks.append(f"```python\n{item.lines}\n```")
        return "\n\n".join(block for block in blocks if block) + "\n"

    def beginning(self) -> list[str]:
        """Heading, verdicts, errata."""
        verdicts = table(
            ("item", "what", "verdict"),
            [(link(item), item.title, verdict_text(item)) for item in self.items],
        )
        errata = table(
            ("where", "printed", "right", "how it is known"),
            [(one.place, one.printed, one.right, one.known) for one in self.errata],
        )
        return [f"# {self.title}", self.head, "## Verdicts", verdicts, "## Errata", errata]


def link(item: Item) -> str:
    """To the item's section."""
    return f"[{item.place}](#{anchor(heading(item))})"


def heading(item: Item) -> str:
    """Of the item's section."""
    return f"{item.place}: {item.title}"


def anchor(text: str) -> str:
    """A heading's anchor, as MyST makes it: as GitHub does."""
    kept = re.sub(r"[^\w\- ]", "", text.lower())
    return kept.replace(" ", "-")


def verdict_text(item: Item) -> str:
    """Verdict and reason in one line."""
    return f"**{item.verdict.value}**" + (f": {item.why}" if item.why else "")


def section(item: Item, shown: Shown) -> str:
    """Heading, verdict, numbers and words of an item."""
    rows = [
        (
            row.what,
            row.printed or "-",
            f"{row.computed:.5g}",
            difference(row),
            "misprint" if row.misprint else "" if row.agrees else "differs",
        )
        for row in shown.rows
    ]
    numbers = table(("quantity", "printed", "computed", "difference", ""), rows) if rows else ""
    blocks = [f"## {heading(item)}", f"{verdict_text(item)}.", numbers, shown.text]
    return "\n\n".join(block for block in blocks if block)


def difference(row: Row) -> str:
    """Of computed and printed, in percent; as a factor where it is large."""
    if not row.printed:
        return "-"
    return f"{100.0 * row.off:+.2f} %" if abs(row.off) < 10.0 else f"factor {1.0 + row.off:.4g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; a dash where there is no row."""
    return markdown_table(head, rows) if rows else "None."


def save(figure: Figure, path: Path) -> None:
    """As PNG: the same bytes for the same figure."""
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    figure.clear()


def index(papers: Sequence[Paper]) -> str:
    """The index page: how many items of each paper have which verdict."""
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
    rows.append(("all", *map(str, sums), str(sum(sums)), str(sum(len(p.errata) for p in papers))))
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

Four papers, each of their tables, figures and equations beside what granchain computes, with a verdict. Printed by `make papers`;
the lines of Python under each item are those that were run, and the tests run them again. A number agrees where it rounds to the one printed,
or lies within what its section states. What contradicts a paper names every reading that was tried."""

TREE = """```{{toctree}}
:hidden:

{pages}
```"""
