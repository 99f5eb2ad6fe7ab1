"""`granchain impact`: two bodies under one law or several, at one speed, over speeds or asked
restitutions, or as they were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granchain.cli.options import (
    JsonOption,
    LawModuleOption,
    OverwriteOption,
    app,
    blamed,
    law_words,
    load_laws,
    the_one,
)
from granchain.cli.text import notify, number_text, paragraph, print_json, print_text, text_table
from granchain.errors import CaseError, LawError

if TYPE_CHECKING:
    from granchain.contact.law import ContactLaw
    from granchain.contact.pair import Pair
    from granchain.keys import Problems
    from granchain.material import Material
    from granchain.two_body import ImpactResult


@app.command()
def impact(
    law: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LAW...",
            help="Contact laws; with --data all of them if none is named.",
            autocompletion=law_words,
        ),
    ] = None,
    speed: Annotated[
        str | None, typer.Option("--speed", metavar="V", help="Approach speed [m/s].")
    ] = None,
    speeds: Annotated[
        str | None,
        typer.Option("--speeds", metavar="V,V,...", help="Several, for a table of restitutions."),
    ] = None,
    restitutions: Annotated[
        str | None,
        typer.Option(
            "--restitutions",
            metavar="E,E,...",
            help="Several asked restitutions, for a table of delivered ones.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An input of the law, restitution=0.7; a quantity of the two bodies, "
            "pair.effective_radius=1e-3; or material=steel-316.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Compare with measured impacts: a folder with about.toml and impacts.csv.",
        ),
    ] = None,
    fit: Annotated[
        str | None,
        typer.Option(
            "--fit",
            metavar="NAME",
            help="Fit one parameter of each law to them: yield_stress_ratio (hardness over it), or "
            "damping.",
        ),
    ] = None,
    law_module: LawModuleOption = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Figure, ending in .png, .pdf or .svg.")
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let two bodies collide: restitution, largest overlap and force, times, losses; or compare
    laws with measured impacts."""
    load_laws(law_module)
    names = [name.strip() for part in law or [] for name in part.split(",")]
    numbers = {"--speed": speed, "--speeds": speeds, "--restitutions": restitutions}
    if data is not None:
        from granchain.cli.measured import against_data

        given = [name for name, text in numbers.items() if text is not None]
        if given:
            raise CaseError(
                f"impact: got {' and '.join(given)} beside --data, allowed neither; each measured "
                "impact has its own: leave it out"
            )
        return against_data(names, data, fit, changes or [], out, overwrite, as_json)
    if fit is not None or not names:
        got, what = (
            ("--fit without --data", "--data DIR beside it")
            if fit is not None
            else ("no law", "one at least, or --data DIR")
        )
        raise CaseError(
            f"impact: got {got}, allowed {what}; name a "
            + ("folder of measured impacts" if fit is not None else "contact law")
        )
    asked = study(names, numbers, changes or [])
    rows = collisions(asked)
    if out is not None:
        draw(asked, rows, out, overwrite)
    if as_json:
        print_json({"command": "impact", **facts(asked, rows), "figure": out})
        return
    print_text(paragraph(asked.pair_sentence()))
    for one in asked.laws:
        print_text(paragraph(asked.inputs_sentence(one)))
    print_text("")
    print_text(impact_table(asked, rows))
    for row in rows:
        if row.problem:
            notify(row.problem)
    if out is not None:
        print_text(out)


# --------------------------------------------------------------------------------------------------
# What is asked


@dataclass(frozen=True)
class Study:
    """Laws with their inputs, two bodies, and what is swept."""

    laws: list[type[ContactLaw]]
    inputs: dict[str, dict[str, Any]]
    pair: Pair
    changes: list[str]
    speeds: list[float]
    restitutions: list[float] | None
    swept: str

    def pair_sentence(self) -> str:
        """The two bodies in a sentence."""
        from granchain.certificates import EXAMPLE_PAIR
        from granchain.contact.pair import PAIR_QUANTITIES

        units = {name: "" if unit == "1" else f" {unit}" for name, unit in PAIR_QUANTITIES.items()}
        values = ", ".join(
            f"{name} = {value:.6g}{units[name]}" for name, value in self.pair.items().items()
        )
        but = f", but for {', '.join(self.changes)}" if self.changes else ""
        return f"Two bodies: {EXAMPLE_PAIR}{but}: {values}."

    def inputs_sentence(self, law: type[ContactLaw]) -> str:
        """A law with what it was given."""
        given = {
            q.name: self.inputs[law.name].get(q.name)
            for q in law.inputs
            if self.swept != "restitution" or q.name != "restitution"
        }
        listed = ", ".join(
            f"{name} = {shown_value(value)}" for name, value in given.items() if value is not None
        )
        return f"{law.name}: {listed or 'no inputs'}."


def shown_value(value: Any) -> str:
    """A value in a sentence."""
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{name} = {shown_value(part)}" for name, part in value.items()) + " }"
        )
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def study(names: Sequence[str], numbers: Mapping[str, str | None], changes: Sequence[str]) -> Study:
    """Read and check what is asked; all mistakes are reported together.

    Raises
    ------
    CaseError, LawError
    """
    from granchain.case.document import set_values
    from granchain.certificates import pair_with
    from granchain.contact import laws
    from granchain.keys import Problems, shown

    known = laws()
    chosen = [known[the_one(name, known, "contact law", LawError)] for name in dict.fromkeys(names)]
    problems = Problems()
    document: dict[str, Any] = {}
    set_values(document, changes, "restitution=0.7", problems)
    values = {
        name: read_numbers(name, text, problems)
        for name, text in numbers.items()
        if text is not None
    }
    if len(values.keys() & {"--speed", "--speeds"}) != 1:
        got = "both" if values.keys() & {"--speed", "--speeds"} else "neither"
        problems.add(
            "--speed",
            f"{got} of --speed and --speeds",
            "one of the two",
            "give the approach speed [m/s]",
        )
    if {"--speeds", "--restitutions"} <= values.keys():
        problems.add(
            "--speeds", "--restitutions beside it", "one of the two", "sweep the one or the other"
        )
    if len(values.get("--speed", ())) > 1:
        problems.add(
            "--speed", shown(numbers["--speed"]), "one number above 0", "several go with --speeds"
        )
    material, given = read_pair(document, problems)
    sweep = values.get("--restitutions")
    inputs = read_inputs(chosen, document, sweep, problems)
    if problems.sentences:
        raise CaseError(problems.sentences)
    changed = [f"material = {document['material']}"] if material else []
    changed += [f"{name} = {value:g}" for name, value in given.items()]
    return Study(
        laws=chosen,
        inputs=inputs,
        pair=pair_with(given, material),
        changes=changed,
        speeds=values.get("--speed") or values["--speeds"],
        restitutions=sweep,
        swept="restitution" if sweep else "speed" if "--speeds" in values else "",
    )


def read_numbers(name: str, text: str, problems: Problems) -> list[float]:
    """Numbers joined by commas; speeds are above 0, restitutions are the law's to judge."""
    from granchain.keys import shown

    found = []
    for part in text.split(","):
        try:
            value = float(part)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and (value > 0.0 or name == "--restitutions"):
            found.append(value)
        else:
            unit = "" if name == "--restitutions" else " above 0 [m/s]"
            problems.add(
                name,
                shown(part.strip()),
                f"a number{unit}",
                "write for example " + ("1.77" if unit else "0.1,0.5,0.9"),
            )
    return found


def read_pair(
    document: Mapping[str, Any], problems: Problems
) -> tuple[Material | None, dict[str, float]]:
    """Material and quantities of the two bodies."""
    from granchain.contact.pair import PAIR_QUANTITIES
    from granchain.keys import in_si, shown, suggestion
    from granchain.material import MATERIALS

    name, material = document.get("material"), None
    if isinstance(name, str) and name in MATERIALS:
        material = MATERIALS[name]
    elif name is not None:
        advice = suggestion(
            name,
            MATERIALS,
            "give a material by its name, or its values one by one: pair.yield_stress=9e8",
        )
        problems.add("material", shown(name), "a name: " + ", ".join(MATERIALS), advice)
    table = document.get("pair", {})
    given: dict[str, float] = {}
    if not isinstance(table, Mapping):
        problems.add(
            "pair",
            shown(table),
            "quantities such as pair.effective_radius",
            "write pair.effective_radius=1e-3",
        )
        return material, given
    for key, value in table.items():
        if key not in PAIR_QUANTITIES:
            problems.add_unknown(f"pair.{key}", PAIR_QUANTITIES, "take it out")
            continue
        unit = PAIR_QUANTITIES[key]
        advice = f"give a number [{unit}]"
        try:
            amount = in_si(value, unit) if isinstance(value, str) else value
        except ValueError as error:
            amount, advice = None, str(error)
        if (
            isinstance(amount, (int, float))
            and not isinstance(amount, bool)
            and 0.0 < amount < math.inf
        ):
            given[key] = float(amount)
        else:
            problems.add(f"pair.{key}", shown(value), "a finite number above 0", advice)
    return material, given


def read_inputs(
    chosen: Sequence[type[ContactLaw]],
    document: Mapping[str, Any],
    restitutions: Sequence[float] | None,
    problems: Problems,
) -> dict[str, dict[str, Any]]:
    """Each law's inputs, defaults filled; an input goes to all laws that know it, one with a
    law's name in front to that law."""
    from granchain.case.base import law_values
    from granchain.contact.pair import PAIR_QUANTITIES
    from granchain.keys import shown

    names = [law.name for law in chosen]
    units: dict[str, dict[str, str]] = {}
    for law in chosen:
        for quantity in law.inputs:
            units.setdefault(quantity.name, {})[quantity.unit] = law.name
    common = {
        name: value for name, value in document.items() if name not in ("material", "pair", *names)
    }
    for name in common:
        if name not in units:
            allowed = [
                *sorted(units),
                "material",
                *(f"pair.{quantity}" for quantity in PAIR_QUANTITIES),
            ]
            problems.add_unknown(name, allowed, f"take it out, no input of {', '.join(names)}")
        elif len(units[name]) > 1:
            meant = " and ".join(f"{law} [{unit}]" for unit, law in units[name].items())
            problems.add(
                name,
                f"one value for {meant}",
                "one for each",
                f"write for example {names[0]}.{name}=...",
            )
    inputs = {}
    for law in chosen:
        own, private = {q.name for q in law.inputs}, document.get(law.name, {})
        if not isinstance(private, Mapping):
            problems.add(
                law.name,
                shown(private),
                f"inputs of the law, {law.name}.KEY=VALUE",
                "give the input's name",
            )
            private = {}
        if restitutions is not None and "restitution" not in own:
            problems.add(
                "--restitutions",
                f"the law {law.name}",
                "laws that take a restitution",
                f"leave {law.name} out",
            )
            continue
        given = {
            "law": law.name,
            **{name: value for name, value in common.items() if name in own},
            **private,
        }
        for asked in (
            [{}] if restitutions is None else [{"restitution": value} for value in restitutions]
        ):
            inputs[law.name] = law_values(law.name, given | asked, problems)
        inputs[law.name].pop("law")
    return inputs


# --------------------------------------------------------------------------------------------------
# What comes out


@dataclass(frozen=True)
class ImpactRow:
    """One collision; or why there is none: the bodies stick, or `ended` is False where that is
    not known."""

    law: str
    speed: float
    asked: float | None
    result: ImpactResult | None
    problem: str = ""
    ended: bool = True

    @property
    def restitution(self) -> float:
        """Delivered; 0 where the bodies stick, nan where the contact was not run to its end."""
        if self.result is None:
            return 0.0 if self.ended else math.nan
        return self.result.restitution

    @property
    def shown(self) -> str:
        """The restitution for a table."""
        if self.result is None:
            return "never opens" if self.ended else "not ended"
        return f"{self.result.restitution:.6f}"


def collisions(asked: Study) -> list[ImpactRow]:
    """All impacts, law by law; one that does not end is a row of its own where there are others."""
    from granchain.certificates.measure import REFINED
    from granchain.two_body import NeverOpens, NotEnded, impact

    rows = []
    sweep: Sequence[float | None] = [None] if asked.restitutions is None else asked.restitutions
    alone = len(asked.laws) * len(asked.speeds) * len(sweep) == 1
    for law in asked.laws:
        for speed in asked.speeds:
            for restitution in sweep:
                values = asked.inputs[law.name] | (
                    {} if restitution is None else {"restitution": restitution}
                )
                try:
                    with blamed(law):
                        rows.append(
                            ImpactRow(
                                law.name,
                                speed,
                                restitution,
                                impact(
                                    law=law, pair=asked.pair, speed=speed, refine=REFINED, **values
                                ),
                            )
                        )
                except (NeverOpens, NotEnded) as error:
                    if alone:
                        raise
                    rows.append(
                        ImpactRow(
                            law.name,
                            speed,
                            restitution,
                            None,
                            str(error),
                            ended=isinstance(error, NeverOpens),
                        )
                    )
    return rows


UNITS = {
    "restitution": "",
    "max_overlap": "m",
    "max_force": "N",
    "duration": "s",
    "approach_time": "s",
    "recovery_time": "s",
    "overlap_duration": "s",
    "residual_overlap": "m",
    "contact_radius": "m",
    "dissipated": "J",
    "dissipated_approach": "J",
    "dissipated_recovery": "J",
    "time_step": "s",
}


def impact_table(asked: Study, rows: Sequence[ImpactRow]) -> str:
    """One column a law: all numbers of one impact each, or the restitutions of a sweep."""
    sides = "<" + ">" * len(asked.laws)
    names = [law.name for law in asked.laws]
    if not asked.swept:
        lines = [("", *names)]
        for name, unit in UNITS.items():
            values = [getattr(row.result, name, None) for row in rows]
            cells = ["-" if value is None else number_text(value) for value in values]
            lines.append((f"{name} [{unit}]" if unit else name, *cells))
        return text_table(lines, sides)
    first = "speed [m/s]" if asked.swept == "speed" else "asked restitution"
    by_law = [[row for row in rows if row.law == name] for name in names]
    lines = [(first, *names)]
    for at in zip(*by_law, strict=True):
        lines.append(
            (
                f"{(at[0].speed if asked.swept == 'speed' else at[0].asked):g}",
                *(row.shown for row in at),
            )
        )
    return text_table(lines, sides)


def facts(asked: Study, rows: Sequence[ImpactRow]) -> dict[str, Any]:
    """All impacts for JSON."""
    from granchain.certificates import EXAMPLE_PAIR

    return {
        "pair": asked.pair.items(),
        "pair_source": EXAMPLE_PAIR,
        "pair_changes": asked.changes,
        "impacts": [
            {
                "law": row.law,
                "inputs": asked.inputs[row.law]
                | ({} if row.asked is None else {"restitution": row.asked}),
                "speed": row.speed,
                **({"restitution": None} if row.result is None else row.result.numbers()),
                "problem": row.problem or None,
            }
            for row in rows
        ],
    }


def draw(asked: Study, rows: Sequence[ImpactRow], out: str, overwrite: bool) -> None:
    """The figure: loops of single impacts, or the restitution over what is swept."""
    from granchain import figures

    if not asked.swept:
        figure, _ = figures.impact_loops([row.result for row in rows if row.result is not None])
    else:
        of_speed = asked.swept == "speed"
        curves: dict[str, list[tuple[float, float]]] = {law.name: [] for law in asked.laws}
        for row in rows:
            curves[row.law].append(
                (row.speed if of_speed or row.asked is None else row.asked, row.restitution)
            )
        if of_speed:
            figure, _ = figures.restitution_against_speed(curves)
        else:
            figure, _ = figures.restitution_delivered(curves, asked.speeds[0])
    figures.save(figure, out, overwrite)
