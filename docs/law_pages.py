"""Pages of the contact laws by family: equation, symbols, source, effective restitution, and a
figure of the loop.

`conf.py` writes the pages into docs/reference/laws/ when the documentation is built. The texts come
from the classes, the equations from docs/equations, the restitutions from docs/laws.md, and the
figures from docs/loops.py.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import loops
from equations import Symbol, equations, latex, symbols_of
from equations.notation import CONDITIONS, Equation, quantity_of
from gallery import save, to_draw
from markdown_text import escaped_markdown
from markdown_text import markdown_table as grid

from granchain.contact import Family, families
from granchain.contact.law import ContactLaw, in_unit
from granchain.show.blocks import paragraphs

LAWS = Path(__file__).with_name("laws.md")
SYMBOL_COLUMNS = ("symbol", "meaning", "key of a case")

HEAD = """# Equations of the contact laws

These pages give the equation of each contact law as published, or as corrected in the description of the law. A test compares every
equation with the functions of the law. In a case, you select a law with one line under `[contact]`, for example `law = "ma-liu"`. The tables
list the key of each symbol that a case can set. [Contact laws](../../laws.md) lists the verification report of each law, its inputs with
their limits, and a summary table of all laws.

The figures show the force versus the overlap in one impact of two steel beads of 2.38 mm at 1.77 m/s (Wang, Liu & Liu 2022, table 8). The
grey curve is Hertz's law, and the blue curve is the law, with the approach above and the recovery below. The symbol e is the effective
restitution. A dashed curve shows a contact that may pull, or the law without the energy correction, if it differs."""


@cache
def printed() -> dict[str, dict[str, list[str]]]:
    """Return the tables of docs/laws.md by heading, and the cells of each row by the first cell; the
    column names have the empty name."""
    found: dict[str, dict[str, list[str]]] = {}
    heading = ""
    for line in LAWS.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| "):
            first, *rest = re.split(r"(?<!\\) \| ", line.strip("| "))
            found.setdefault(heading, {"": rest}).setdefault(
                re.sub(r"^\[(.*)\]\(.*\)$", r"\1", first), rest
            )
    return found


def delivered(law: type[ContactLaw]) -> str:
    """Return the effective restitutions, for nominal restitutions or impact speeds."""
    table = printed()["Effective restitution"]
    if law.name in table:
        columns = ("nominal restitution", *table[""])
        return grid(columns, [("effective restitution", *table[law.name])])
    returned = printed().get(law.name, {}).get("restitution", ["not measured"])[0]
    return f"Measured restitution: {returned}."


def symbol_rows(law: type[ContactLaw], equation: Equation) -> dict[Symbol, tuple[str, ...]]:
    """Return the table rows of the symbols in an equation."""
    rows = {}
    for symbol in symbols_of(equation):
        text, unit, given = quantity_of(law, equation.meaning(symbol))
        rows[symbol] = (f"${symbol.name}$", escaped_markdown(text) + in_unit(unit), given)
    if any(CONDITIONS.keys() & expression.free_symbols for _, expression in equation.lines):
        (choice,) = (quantity for quantity in law.inputs if quantity.name == "contact")
        rows[Symbol(choice.name)] = (
            " or ".join(choice.choices),
            choice.meaning,
            f"`contact.{choice.name}`",
        )
    # Symbols that a case gives come first.
    return dict(
        sorted(
            rows.items(), key=lambda item: (not item[1][2].startswith("`contact"), not item[1][2])
        )
    )


def law_section(
    law: type[ContactLaw], equation: Equation, shared: set[tuple[str, ...]]
) -> list[str]:
    """Return the section of a law, without the symbols that are listed at the top of the page."""
    summary, *rest = paragraphs(law.__doc__)
    own = [row for row in symbol_rows(law, equation).values() if row not in shared]
    blocks = [f"## {law.name}", escaped_markdown(summary), f"$$\n{latex(equation)}\n$$"]
    # The last column is needed only for symbols that a case gives.
    width = 3 if any(row[2] for row in own) else 2
    blocks += [grid(SYMBOL_COLUMNS[:width], [row[:width] for row in own])] if own else []
    blocks += [
        f"```{{image}} {law.name}.png\n:alt: Force versus overlap in one impact with "
        f"{law.name} contacts\n:width: 420px\n```"
    ]
    blocks += [escaped_markdown(text) for text in rest]
    blocks += [delivered(law)]
    blocks += [f"Valid for: {escaped_markdown(law.validity)}."] if law.validity else []
    blocks += [
        f"Source: {escaped_markdown(str(law.source))}. Status: {escaped_markdown(law.status)}. "
        f"[Verification report](../../laws.md#{law.name})."
    ]
    return blocks


def own_families() -> list[Family]:
    """Return the families of the package, without the laws of a loaded law file."""
    return [
        family
        for family in families()
        if family.laws[0].__module__.startswith("granchain.contact.")
    ]


def family_of(law: type[ContactLaw]) -> Family:
    """Return the family of a law."""
    return next(family for family in own_families() if law in family.laws)


def family_page(family: Family) -> str:
    """Return the page of a family."""
    told = [(law, equations()[law.name]) for law in family.laws]
    count = Counter(row for law, equation in told for row in symbol_rows(law, equation).values())
    # If a symbol has several meanings, take the most frequent one.
    common = {row[0]: row for row, times in reversed(count.most_common()) if times > 1}
    shared = set(common.values())
    blocks = [f"# {family.title}", *(escaped_markdown(text) for text in family.paragraphs)]
    if len(told) > 1:
        blocks += [
            "On this page: " + ", ".join(f"[{law.name}](#{law.name})" for law in family.laws) + "."
        ]
    if shared:
        blocks += [
            "## Symbols",
            "This table lists the symbols of two or more laws. The section of each law lists the others.",
        ]
        blocks += [
            grid(
                SYMBOL_COLUMNS,
                sorted(
                    shared, key=lambda row: (not row[2].startswith("`contact"), not row[2], row)
                ),
            )
        ]
    for law, equation in told:
        blocks += law_section(law, equation, shared)
    return "\n\n".join(blocks) + "\n"


def index() -> str:
    """Return the index page: spheres, then cylinders."""
    blocks = [HEAD]
    for title, cylinders in (("Spheres", False), ("Parallel cylinders", True)):
        blocks.append(f"## {title}")
        for family in own_families():
            if family.of_cylinders == cylinders:
                rows = [
                    (
                        f"[{law.name}]({family.module}.md#{law.name})",
                        escaped_markdown(law.summary()).replace("|", "\\|"),
                    )
                    for law in family.laws
                ]
                blocks += [f"### {family.title}", grid(("law", "description"), rows)]
    pages = "\n".join(family.module for family in own_families())
    return "\n\n".join([*blocks, f"```{{toctree}}\n:hidden:\n\n{pages}\n```"]) + "\n"


def pages() -> dict[str, str]:
    """Return every page by the name of its file."""
    return {"index": index(), **{family.module: family_page(family) for family in own_families()}}


def write(folder: Path) -> None:
    """Write the pages whose text has changed, and plot the figures that are missing or older than the
    package."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    draws = {
        folder / f"{law.name}.png": (law, family.of_cylinders)
        for family in own_families()
        for law in family.laws
    }
    for target in to_draw(draws, str(loops.__file__)):
        save(loops.picture(*draws[target]), target)
