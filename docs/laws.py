"""Measure the contact laws and print the results.

The output is docs/laws.json with the measured numbers, docs/laws.md for readers,
granchain/contact/certified.json for runs, and the equations of docs/equations as MathML,
granchain/show/equations.json, for reports.

`python docs/laws.py` prints the equations, measures the laws whose own source has changed since
they were measured, and writes all four. `--all` measures every law, for a change of the engine or
of the measurements; it takes minutes. `--check` fails if a law must be measured or a file printed
again; this is fast. `--compare` measures every law and fails if a file would change; it is a long
test.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from equations import equations, latex, symbols_of
from equations.notation import quantity_of
from law_reference import reference
from mathml import compact, equation_parts

from granchain.certificates import Certificate, certificate
from granchain.certificates.contact import Creation
from granchain.certificates.faults import CREATION
from granchain.certificates.measure import report_of
from granchain.contact import laws
from granchain.contact.certified import CERTIFIED
from granchain.contact.law import ContactLaw, states_that_occur
from granchain.show.answer import EQUATIONS

PAGE = Path(__file__).with_name("laws.md")
MEASURED = Path(__file__).with_name("laws.json")
CONTACT = CERTIFIED.parent
# Classes of the contract, which the engine measures with every law: their text is not a law's own.
CONTRACT = {("law", "ContactLaw"), ("model", "Model")}


@cache
def definitions(module: str) -> dict[str, tuple[str, ast.stmt]]:
    """Return the text and the syntax of each name at the top level of a module of the laws."""
    text = (CONTACT / f"{module}.py").read_text(encoding="utf-8")
    lines, sources = text.splitlines(), {}
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names = [node.name]
        else:
            every = (name for name in ast.walk(node) if isinstance(name, ast.Name))
            names = [name.id for name in every if isinstance(name.ctx, ast.Store)]
        source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        sources |= dict.fromkeys(names, (source, node))
    return sources


def source_of(law: type[ContactLaw]) -> str:
    """Return the hash of a law's own source.

    It contains the law's class and everything that it names in granchain/contact, and that these
    name in turn, except the contract.
    """
    first = law.__module__.rpartition(".")[2], law.__qualname__
    texts, reached = {}, [first]
    for module, name in reached:  # The list grows as names are found.
        if (module, name) in texts or (module, name) in CONTRACT:
            continue
        text, node = definitions(module)[name]
        texts[module, name] = text
        if isinstance(node, ast.ImportFrom):
            package, _, source = str(node.module).rpartition(".")
            if package == "granchain.contact":
                reached.append((source, name))
            elif node.module == "granchain.contact":
                reached += [(name, each) for each in definitions(name)]
            continue
        read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        reached += [(module, each) for each in sorted(read & definitions(module).keys())]
    return hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()


def measured() -> dict[str, dict[str, Any]]:
    """Return the stored measurement of each law."""
    table: dict[str, dict[str, Any]] = json.loads(MEASURED.read_text(encoding="ascii"))
    return table


def stale(table: dict[str, dict[str, Any]]) -> list[str]:
    """Return the laws without a measurement of their present source."""
    return [
        name for name, law in laws().items() if table.get(name, {}).get("source") != source_of(law)
    ]


def stored(certificate: Certificate) -> dict[str, Any]:
    """Return the numbers of a verification report, with the source that was measured."""
    values = {name: np.asarray(certificate[name]).tolist() for name in Certificate.labels}
    return {
        "source": source_of(certificate.law_class),
        "problems": certificate.problems,
        "inputs": certificate.inputs,
        "values": values,
    }


def restored(name: str, entry: dict[str, Any]) -> Certificate:
    """Return the verification report of stored numbers."""
    values = {
        key: np.array(value) if isinstance(value, list) else value
        for key, value in entry["values"].items()
    }
    creation = Creation(values.pop("created"), values.pop("created_error"))
    return report_of(laws()[name], entry["inputs"], entry["problems"], created=creation, **values)


def entry_of(certificate: Certificate) -> dict[str, object]:
    """Return the facts about a verification report that a run requires.

    The energy created in a cycle has two digits, as on the page.
    """
    created = certificate.created_as_printed
    return {
        "problems": certificate.problems,
        "module": certificate.law_class.__module__.rpartition(".")[2],
        "phases": states_that_occur(certificate.law_class),
        # nan for a law without an energy correction
        "created_as_printed": float(f"{created:.2g}") if created > CREATION else 0.0,
    }


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
        parts = equation_parts(compact(latex(equation), True))
        found[name] = {"equation": parts, "symbols": symbols}
    return json.dumps(found, indent=0, sort_keys=True) + "\n"


def printed(table: dict[str, dict[str, Any]]) -> dict[Path, str]:
    """Return the content of the files that follow from the measurements."""
    certificates = [restored(name, table[name]) for name in laws()]
    entries = {one.law: entry_of(one) for one in certificates}
    return {
        PAGE: reference(certificates),
        CERTIFIED: json.dumps(entries, indent=1, sort_keys=True) + "\n",
        MEASURED: json.dumps({name: table[name] for name in laws()}, indent=0) + "\n",
    }


def main(options: list[str]) -> None:
    """Measure, and write or compare."""
    # First, because a clash of symbols would make minutes of measurements useless.
    texts = {EQUATIONS: printed_equations()}
    compares = "--check" in options or "--compare" in options
    if not compares:
        EQUATIONS.write_text(texts[EQUATIONS])
    every = "--all" in options or "--compare" in options
    table = measured() if MEASURED.exists() else {}
    names = list(laws()) if every else stale(table)
    if names and "--check" in options:
        sys.exit(f"{MEASURED}: no measurement of {', '.join(names)} as it is now. Run make laws.")
    for name in names:
        table[name] = stored(certificate(laws()[name]))
    texts |= printed(table)
    for path, text in texts.items():
        if not compares:
            path.write_text(text)
        # The last digits of a measurement depend on the machine.
        elif path != MEASURED and path.read_text() != text:
            sys.exit(f"{path}: not what the contact laws give now. Run make laws.")


if __name__ == "__main__":
    main(sys.argv[1:])
