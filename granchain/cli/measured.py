"""`granchain impact ... --data DIR`: contact laws against measured impacts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from granchain.cli.options import the_one
from granchain.cli.text import number_text, paragraph, print_json, print_text, text_table
from granchain.errors import CaseError, LawError

if TYPE_CHECKING:
    from granchain.comparison.impacts import ImpactComparison

# Laws beside each other in a table: more do not fit a line.
MOST_COLUMNS = 6


def against_data(
    names: Sequence[str],
    data: str,
    fit: str | None,
    changes: Sequence[str],
    out: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Compare laws with a folder of measured impacts, and print what was found."""
    from granchain.comparison.impacts import compare_impacts

    inputs, pair = read_changes(names, changes)
    found = compare_impacts(inputs, data, fit, pair)
    if out is not None:
        from granchain import figures

        drawn, _ = figures.impact_comparison(found)
        figures.save(drawn, out, overwrite)
    if as_json:
        print_json({"command": "impact", **found.as_dict(), "figure": out})
        return
    about = found.data.about
    heading = [
        f"{about.title}: {about.kind} ({about.who})",
        *(f"Doubt: {doubt}" for doubt in about.doubt),
    ]
    parts = [*map(paragraph, heading), ranking(found), *impact_tables(found), *problems(found)]
    print_text("\n\n".join(parts))
    if out is not None:
        print_text(out)


def read_changes(
    names: Sequence[str], changes: Sequence[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
    """Inputs of each law, all laws where none is named, and quantities of the two bodies that the
    folder leaves open.

    Raises
    ------
    CaseError, LawError
    """
    from granchain.case.document import set_values
    from granchain.cli.impact import read_pair
    from granchain.contact import laws
    from granchain.keys import Problems

    known = laws()
    chosen = [
        known[the_one(name, known, "contact law", LawError)] for name in dict.fromkeys(names)
    ] or list(known.values())
    found = Problems()
    document: dict[str, Any] = {}
    set_values(document, changes, "psi=2.84", found)
    if "material" in document:
        found.add(
            "material",
            "a material",
            "none: the folder states the two bodies",
            "give what it leaves open: pair.effective_modulus=1e9",
        )
        del document["material"]
    _, pair = read_pair(document, found)
    document.pop("pair", None)
    own = {law.name: {quantity.name for quantity in law.inputs} for law in chosen}
    for name, value in document.items():
        if name in own and isinstance(value, Mapping):
            continue
        if not any(name in inputs for inputs in own.values()):
            found.add_unknown(
                name, sorted({one for inputs in own.values() for one in inputs}), "take it out"
            )
    inputs = {}
    for law, names_of_law in own.items():
        private = document.get(law)
        common = {name: value for name, value in document.items() if name in names_of_law}
        inputs[law] = common | (dict(private) if isinstance(private, Mapping) else {})
    if found.sentences:
        raise CaseError(found.sentences)
    return inputs, pair


def ranking(found: ImpactComparison) -> str:
    """The laws, the nearest first: what was fitted, rms and largest residual over the rows that
    laws are ranked by."""
    from granchain.comparison.impacts import at_bound

    ranked = {row.quantity for row in found.data.rows if row.use != "show"}
    if not ranked or not found.ranking:
        return "No law has a value in each row that laws are ranked by."
    fit = [found.fit] if found.fit else []
    rows = [("law", *fit, f"rms of {ranked.pop().replace('_', ' ')}", "largest", "at")]
    for name in found.ranking:
        one = found.laws[name]
        worst = max(
            (row for row in one.rows if row.measured.use != "show"),
            key=lambda row: abs(row.residual),
        )
        fitted = "-"
        if one.fitted is not None:
            name_of_it = "" if one.parameter == "yield_stress_ratio" else f"{one.parameter} "
            fitted = f"{name_of_it}{one.fitted:.4g}" + (f" {one.unit}" if one.unit != "1" else "")
        value = [fitted + (" (at the limit)" if at_bound(one) else "")] if found.fit else []
        rows.append((name, *value, f"{one.rms:.4g}", f"{worst.residual:+.3g}", worst.measured.case))
    return text_table(rows, "<" + "<" * len(fit) + ">><")


def impact_tables(found: ImpactComparison) -> list[str]:
    """A table for each quantity: measured with its uncertainty, and the nearest laws beside it."""
    from granchain.comparison.impacts import shown_quantity

    some = [
        one for one in found.laws.values() if any(row.computed is not None for row in one.rows)
    ][:MOST_COLUMNS]
    parts = []
    for quantity in dict.fromkeys(row.quantity for row in found.data.rows):
        places = [k for k, row in enumerate(found.data.rows) if row.quantity == quantity]
        rows = [("case", "measured", "+-", *(one.law for one in some))]
        for k in places:
            row = found.data.rows[k]
            computed = [one.rows[k].computed for one in some]
            uncertain = "-" if row.uncertainty is None else f"{row.uncertainty:.2g}"
            cells = [number_text(math.nan if value is None else value) for value in computed]
            rows.append((row.case, number_text(row.measured), uncertain, *cells))
        parts.append(
            f"{shown_quantity(quantity)}\n" + text_table(rows, "<" + ">" * (len(rows[0]) - 1))
        )
    hidden = sum(
        any(row.computed is not None for row in one.rows) for one in found.laws.values()
    ) - len(some)
    return parts + ([f"{hidden} more laws are in the output of --json."] if hidden > 0 else [])


def problems(found: ImpactComparison) -> list[str]:
    """Why some numbers are missing: for each law each reason once, with its rows."""
    sentences = []
    for one in found.laws.values():
        reasons: dict[str, list[str]] = {}
        for row in one.rows:
            if row.problem:
                reasons.setdefault(row.problem, []).append(
                    f"{row.measured.case} ({row.measured.quantity.replace('_', ' ')})"
                )
        for reason, cases in reasons.items():
            where = "no row" if len(cases) == len(one.rows) else "not " + ", ".join(cases)
            sentences.append(paragraph(f"{one.law}: {where}: {reason}"))
        if one.problem and one.problem not in reasons:
            sentences.append(paragraph(f"{one.law}: {one.problem}"))
    return ["\n".join(sentences)] if sentences else []
