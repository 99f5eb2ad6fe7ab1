"""Measure every contact law and print the results.

The output is docs/laws.md for readers, granchain/contact/certified.json for runs, and the equations
of docs/equations as MathML, granchain/pages/equations.json, for reports.

`python docs/laws.py` writes all three, and `--equations` only the last one. `--check` fails if the
source of a law has changed since it was measured, or if an equation has changed since it was
printed; this is fast. `--compare` measures again, and fails if the page or the table would change;
this takes a minute or two, in a long test.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from equations import equations, latex, symbols_of
from equations.notation import quantity_of
from mathml import compact

from granchain.certificates import Certificate
from granchain.certificates.faults import CREATION
from granchain.cli.laws import certificates_of
from granchain.contact import laws
from granchain.contact.certified import CERTIFIED, certified, source_of
from granchain.pages.answer import EQUATIONS
from granchain.pages.blocks import markdown
from granchain.pages.law import reference_page

PAGE = Path(__file__).with_name("laws.md")


def entry(one: Certificate) -> dict[str, object]:
    """Return the facts about a verification report that a run requires.

    The energy created in a cycle has two digits, as on the page.
    """
    created = one.created_as_printed
    return {
        "source": source_of(one.law_class),
        "problems": one.problems,
        "module": one.law_class.__module__.rpartition(".")[2],
        # nan for a law without an energy correction
        "created_as_printed": float(f"{created:.2g}") if created > CREATION else 0.0,
    }


def stale() -> list[str]:
    """Return the laws whose source has changed since the measurement, or without a section."""
    sections = {
        line.removeprefix("### ")
        for line in PAGE.read_text().splitlines()
        if line.startswith("### ")
    }
    return [
        name
        for name, law in laws().items()
        if name not in sections or certified().get(name, {}).get("source") != source_of(law)
    ]


def printed_equations() -> str:
    """Return the equation of each law as MathML, and its symbols.

    A symbol has its MathML, meaning, unit, and the input that it represents.
    """
    found = {}
    for name, law in laws().items():
        equation = equations()[name]
        rows = [(one, *quantity_of(law, equation.meaning(one))) for one in symbols_of(equation)]
        symbols = [
            [compact(one.name), text, unit, key.strip("`").removeprefix("contact.")]
            for one, text, unit, key in rows
        ]
        found[name] = {"equation": compact(latex(equation), True), "symbols": symbols}
    return json.dumps(found, indent=0, sort_keys=True) + "\n"


def main() -> None:
    """Measure, and write or compare."""
    if "--check" in sys.argv[1:]:
        if stale():
            sys.exit(
                f"{PAGE}: measured before these laws changed: {', '.join(stale())}; write it anew "
                "with make laws"
            )
        if EQUATIONS.read_text() != printed_equations():
            sys.exit(
                f"{EQUATIONS}: printed before an equation changed; write it anew with "
                "python docs/laws.py --equations"
            )
        return
    if "--equations" in sys.argv[1:]:
        EQUATIONS.write_text(printed_equations())
        return
    certificates = certificates_of(laws().values())
    texts = {
        PAGE: markdown(reference_page(certificates)).rstrip("\n") + "\n",
        CERTIFIED: json.dumps(
            {one.law: entry(one) for one in certificates}, indent=1, sort_keys=True
        )
        + "\n",
        EQUATIONS: printed_equations(),
    }
    for path, text in texts.items():
        if "--compare" not in sys.argv[1:]:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path} is not what the contact laws say now: write it anew with make laws")


if __name__ == "__main__":
    main()
