"""The pages of the contact laws, family by family: equation, symbols, source, what a law delivers,
and a picture of its loop.

`conf.py` writes them into docs/reference/laws/ when the documentation is built. The text is that of
the classes, the equations are those of docs/equations, the restitutions those of docs/laws.md, the
pictures those of docs/loops.py: nothing is written here.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import loops
from equations import Symbol, equations, latex, symbols_of
from equations.notation import CONDITIONS, Equation, quantity_of
from gallery import to_draw

from granchain import figures
from granchain.contact import Family, families
from granchain.contact.law import ContactLaw, in_unit
from granchain.pages.blocks import escaped_markdown, paragraphs
from granchain.pages.blocks import markdown_table as grid

LAWS = Path(__file__).with_name("laws.md")
SYMBOL_COLUMNS = ("symbol", "meaning", "in a case")

HEAD = """# Equations of the contact laws

Each law with its equation as its source prints it, or as its text says that it is put right; a test evaluates every equation here against
the law's functions. In a case a law is one line, `law = "ma-liu"` under `[contact]`, and its symbols are the keys named beside them. What
was measured of each law, its inputs with their limits, and all laws in one table are on [their own page](../../laws.md).

The pictures are the force over the overlap in one impact of two steel beads of 2.38 mm at 1.77 m/s (Wang, Liu & Liu 2022, table 8): Hertz's
contact in grey, the law in blue, its approach above and its recovery below; e is the restitution that it returned. Where a contact that may
pull, or the law without its energy guard, takes another way, that is dashed."""


@cache
def printed() -> dict[str, dict[str, list[str]]]:
    """Tables of docs/laws.md by their heading: cells of each row by the first one, the columns
    under the empty name."""
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
    """What an impact returns: for restitutions that are asked for, or over the speed."""
    table = printed()["Delivered restitution"]
    if law.name in table:
        columns = ("asked restitution", *table[""])
        return grid(columns, [("delivered", *table[law.name])])
    returned = printed().get(law.name, {}).get("restitution", ["not measured"])[0]
    return f"Restitution, measured: {returned}."


def symbol_rows(law: type[ContactLaw], equation: Equation) -> dict[Symbol, tuple[str, ...]]:
    """The rows of an equation's symbols."""
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
    # what a case gives first
    return dict(
        sorted(
            rows.items(), key=lambda item: (not item[1][2].startswith("`contact"), not item[1][2])
        )
    )


def law_section(
    law: type[ContactLaw], equation: Equation, shared: set[tuple[str, ...]]
) -> list[str]:
    """One law; rows of symbols that are shared stand at the top of the page."""
    summary, *rest = paragraphs(law.__doc__)
    own = [row for row in symbol_rows(law, equation).values() if row not in shared]
    blocks = [f"## {law.name}", escaped_markdown(summary), f"$$\n{latex(equation)}\n$$"]
    # the last column says something for symbols that a case gives
    width = 3 if any(row[2] for row in own) else 2
    blocks += [grid(SYMBOL_COLUMNS[:width], [row[:width] for row in own])] if own else []
    blocks += [
        f"```{{image}} {law.name}.png\n:alt: Force over overlap of one impact under "
        f"{law.name}\n:width: 420px\n```"
    ]
    blocks += [escaped_markdown(text) for text in rest]
    blocks += [delivered(law)]
    blocks += [f"Valid for: {escaped_markdown(law.validity)}."] if law.validity else []
    blocks += [
        f"Source: {escaped_markdown(str(law.source))}. Status: {escaped_markdown(law.status)}. "
        f"[What was measured of it](../../laws.md#{law.name})."
    ]
    return blocks


def own_families() -> list[Family]:
    """Those of the package: a law file that was loaded has its laws among the others."""
    return [
        family
        for family in families()
        if family.laws[0].__module__.startswith("granchain.contact.")
    ]


def family_of(law: type[ContactLaw]) -> Family:
    """Return the family of a law."""
    return next(family for family in own_families() if law in family.laws)


def family_page(family: Family) -> str:
    """The page of a family."""
    told = [(law, equations()[law.name]) for law in family.laws]
    count = Counter(row for law, equation in told for row in symbol_rows(law, equation).values())
    # of a symbol that means one thing here and another there, the meaning that more laws have
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
            "Those of two laws or more; each law has its own beside its equation.",
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
    """The page that leads to the others: spheres, then cylinders."""
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
                blocks += [f"### {family.title}", grid(("law", "what it is"), rows)]
    pages = "\n".join(family.module for family in own_families())
    return "\n\n".join([*blocks, f"```{{toctree}}\n:hidden:\n\n{pages}\n```"]) + "\n"


def pages() -> dict[str, str]:
    """Every page, by the name of its file."""
    return {"index": index(), **{family.module: family_page(family) for family in own_families()}}


def write(folder: Path) -> None:
    """Write the pages whose text has changed, and draw what is not there yet or older than the
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
        figures.save(loops.picture(*draws[target]), target)
