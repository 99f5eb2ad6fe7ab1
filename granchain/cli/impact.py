"""Command `granchain impact`: impacts of two bodies with one or several contact laws.

They are computed for one speed, or for several speeds or nominal restitutions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import granchain as gc
from granchain.cli.options import (
    AnswerOption,
    FigureOption,
    JsonOption,
    LawModuleOption,
    OverwriteOption,
    app,
    chosen_laws,
    load_laws,
    naming_the_law,
    save_figure,
    wanted_files,
)
from granchain.cli.text import paragraph, print_result
from granchain.errors import LawError, RunError
from granchain.markup import text_table
from granchain.show.blocks import number_text

if TYPE_CHECKING:
    from granchain.keys import Problems, Table

# Names of the tables of the two bodies.
SPHERES = ("sphere_1", "sphere_2")


@app.command(
    epilog=(
        'In Python: `gc.impact(law=LAW, material="steel-316", speed=1.0)`; for several laws, '
        "speeds, or inputs `gc.impacts`."
    )
)
def impact(
    law: Annotated[list[str], typer.Argument(metavar="LAW...", help="Contact laws.")],
    speed: Annotated[
        str | None, typer.Option("--speed", metavar="V", help="Approach speed [m/s].")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=V,V,...",
            help="Several speeds (speed=0.5,1,2), thicknesses of a plate "
            "(plate.thickness=2e-3,4e-3), or values of an input (restitution=0.1,0.5,0.9) for a "
            "table of restitutions. Repeat it for all combinations.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An input of the law (restitution=0.7), a value of the pair "
            "(pair.effective_radius=1e-3), material=steel-316, or the two bodies: "
            "sphere_1.radius, sphere_1.material, sphere_2.radius (inf for a flat wall), "
            "sphere_2.material, sphere_2.internal=true (hollow, around the first), or "
            "plate.thickness, plate.material (a large thin plate instead of sphere_2).",
        ),
    ] = None,
    law_module: LawModuleOption = None,
    figure: FigureOption = None,
    out: AnswerOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Simulate the impact of two bodies with one or several contact laws.

    The output lists restitution, largest overlap and force, times, and losses.
    """
    load_laws(law_module)
    from granchain.case.document import set_values
    from granchain.contact.pair import PAIR_QUANTITIES
    from granchain.keys import Problems
    from granchain.store.answer import plain_answer

    with wanted_files(out, overwrite, figure):
        problems = Problems()
        laws = chosen_laws(name.strip() for argument in law for name in argument.split(","))
        document: dict[str, Any] = {}
        set_values(document, changes or (), "restitution=0.7", problems)
        numbers = read_numbers(speed, vary or (), problems)
        source, pair, changed, plate = read_pair(document, numbers, problems)
        inputs = read_inputs(laws, document, numbers, problems)
        problems.close()
        outcomes = collisions(laws, inputs, pair, plate, numbers)
        wanted = as_json or out is not None or figure is not None
        answer = answer_of(outcomes, inputs, numbers, pair, plate is not None) if wanted else None
        if out is not None:
            gc.save(answer, out, overwrite=overwrite)
        save_figure(partial(draw_impacts, outcomes, answer), figure, overwrite)
    files = {"figure": figure, "out": out}
    facts = {**plain_answer(answer), **files} if as_json else files

    def text() -> str:
        """Return the bodies, the inputs of each law, and the table."""
        exceptions = f" (except {', '.join(changed)})" if changed else ""
        units = {key: "" if unit == "1" else f" {unit}" for key, unit in PAIR_QUANTITIES.items()}
        values = [f"{key} = {value:.6g}{units[key]}" for key, value in pair.items().items()]
        lines = [f"Two bodies: {source}{exceptions}: {', '.join(values)}."]
        for name, of_law in inputs.items():
            listed = ", ".join(
                f"{key} = {input_text(value)}"
                for key, value in of_law.items()
                if value is not None and key not in numbers
            )
            lines.append(f"{name}: {listed or 'no inputs'}.")
        return "\n".join([*map(paragraph, lines), impact_table(outcomes, [*inputs], numbers)])

    problems_of_impacts = [str(each) for each in outcomes if isinstance(each, RunError)]
    print_result("impact", facts, as_json, text, problems_of_impacts)


# --------------------------------------------------------------------------------------------------
# Input


def read_numbers(
    speed: str | None, vary: Iterable[str], problems: Problems
) -> dict[str, list[float]]:
    """Return the values of each varied key, including the speed.

    Speeds and thicknesses must be above 0. The law checks the other values.
    """
    from granchain.keys import brief
    from granchain.studies.collisions import VARIED

    numbers: dict[str, list[float]] = {}
    once = (
        "Set the approach speed [m/s] with --speed V, or several speeds with --vary speed=V,V,..."
    )
    for item in [*([] if speed is None else [f"speed={speed}"]), *vary]:
        key, equals, text = map(str.strip, item.partition("="))
        advice = "For example, use --vary restitution=0.1,0.5,0.9"
        if not problems.check(
            bool(key and equals),
            "--vary",
            f"{brief(item)} is not valid",
            "It must have the form KEY=V,V,...",
            advice,
        ):
            continue
        problems.check(
            key not in numbers, key, "the key is set twice", "It must have one list of values", once
        )
        above, least = "", -math.inf
        if key in VARIED:
            above, least = f" greater than 0 [{VARIED[key][0]}]", 0.0
        numbers[key] = []
        for number in map(str.strip, text.split(",")):
            try:
                value = float(number)
            except ValueError:
                value = math.nan
            good = least < value < math.inf
            if problems.check(
                good,
                key,
                f"{brief(number)} is not valid",
                f"It must be a number{above}",
                f"For example, use {key}=0.1,0.5",
            ):
                numbers[key].append(value)
    problems.check(
        "speed" in numbers, "speed", "missing", "It must be a number greater than 0 [m/s]", once
    )
    return numbers


@cache
def bodies_table() -> type[Table]:
    """Return the table model for the two bodies."""
    from pydantic import ConfigDict, create_model

    from granchain.case.tables import MaterialKey, PlateTable, material_of
    from granchain.contact.pair import PAIR_QUANTITIES
    from granchain.keys import Table, key, number_key

    class SphereTable(Table):
        """A sphere of an impact."""

        radius: float = number_key("m", "the radius of the sphere", above=0.0)
        material: MaterialKey = material_of("the sphere", ...)

    class OtherSphereTable(Table):
        """The other body of an impact: a sphere, a flat wall, or a hollow sphere."""

        model_config = ConfigDict(allow_inf_nan=True)

        radius: float | None = key(
            "the radius of the other sphere [m]",
            "a number above 0 [m], or inf for a flat wall",
            None,
            unit="m",
            gt=0.0,
        )
        material: MaterialKey | None = material_of("the other sphere")
        internal: bool = key(
            "true if the sphere is inside the other one, which is hollow", "true or false", False
        )

    quantities: dict[str, Any] = {
        name: (float | None, number_key(unit, "the value", None, above=0.0))
        for name, unit in PAIR_QUANTITIES.items()
    }
    pair = create_model("PairTable", __base__=Table, **quantities)
    first, second = SPHERES
    keys: dict[str, Any] = {
        "pair": (
            pair,
            key(
                "a quantity of the pair, such as pair.effective_radius=1e-3",
                "a table of quantities",
                pair(),
            ),
        ),
        "material": (MaterialKey | None, material_of("both bodies")),
        first: (
            SphereTable | None,
            key("the radius and the material of a sphere", "a table", None),
        ),
        second: (
            OtherSphereTable,
            key("the radius and the material of the other sphere", "a table", OtherSphereTable()),
        ),
        "plate": (
            PlateTable | None,
            key("the thickness and the material of a plate", "a table", None),
        ),
    }
    return create_model("BodiesTable", __base__=Table, **keys)


def read_pair(
    document: dict[str, Any], numbers: Mapping[str, Sequence[float]], problems: Problems
) -> tuple[str, gc.Pair, list[str], dict[str, Any] | None]:
    """Take the two bodies out of the document.

    Return their description, their pair, the changes of the pair, and the plate, if there is one.
    A thickness that is varied has its first value.
    """
    from granchain.case.checks import check_density
    from granchain.contact.examples import EXAMPLE_PAIR, EXAMPLE_RADIUS, example_pair
    from granchain.keys import read_table
    from granchain.two_body import pair_with

    first, second = SPHERES
    names = ("pair", "material", "plate", *SPHERES)
    tables = {name: document.pop(name) for name in names if name in document}
    if second in tables:
        tables.setdefault(first, {})
    thicknesses, plate_table = numbers.get("plate.thickness"), tables.get("plate", {})
    if thicknesses and isinstance(plate_table, Mapping):
        problems.check(
            "thickness" not in plate_table,
            "--vary plate.thickness",
            "the key is also in --set",
            "It must be in only one of the two options",
            "Remove it from one option",
        )
        tables["plate"] = {**plate_table, "thickness": thicknesses[0]}
    bodies = read_table(bodies_table(), "", tables, problems)
    if problems.clear("plate") and bodies.plate is not None:
        check_density("plate", bodies.plate, problems)
        problems.check(
            second not in tables,
            second,
            "another sphere was set for an impact on a plate",
            "The plate is the second body",
            f"Remove plate or {second}",
        )
    if not problems.clear(*names):
        return EXAMPLE_PAIR, example_pair(), [], None
    quantities = bodies.pair.model_dump(exclude_none=True)
    changed = [f"{name} = {value:g}" for name, value in quantities.items()]
    sphere, other, material = getattr(bodies, first), getattr(bodies, second), bodies.material
    plate = None if bodies.plate is None else dict(bodies.plate)
    if plate is not None:
        other = type(other)(radius=math.inf, material=plate["material"])
        if sphere is None:
            steel = gc.materials()["steel-316"]
            sphere = SimpleNamespace(radius=EXAMPLE_RADIUS, material=material or steel)
            material = None
    try:
        if sphere is None:
            named = [] if material is None else [f"material = {name_of(material)}"]
            return EXAMPLE_PAIR, pair_with(quantities, material), [*named, *changed], None
        problem, advice = (
            "a material was set for bodies that are defined as spheres",
            "Set the material of each sphere, for example sphere_1.material=steel-316",
        )
        problems.check(
            material is None, "material", problem, "Each sphere must have its own material", advice
        )
        description, pair = pair_of_spheres(sphere, other)
        if plate is not None:
            of_thickness = "" if thicknesses else f" of {plate['thickness']:g} m"
            description = description.replace("a flat wall", f"a plate{of_thickness}")
        return description, gc.Pair(**pair.items() | quantities), changed, plate
    except LawError as error:
        problems.repeat(str(error).replace("pair: other_radius", f"{second}.radius").split("\n"))
        return EXAMPLE_PAIR, example_pair(), changed, None


def pair_of_spheres(sphere_1: Any, sphere_2: Any) -> tuple[str, gc.Pair]:
    """Return two spheres, or a sphere and a wall, as text and as a pair."""
    radius = sphere_1.radius if sphere_2.radius is None else sphere_2.radius
    pair = gc.Pair.of_spheres(
        sphere_1.radius, sphere_1.material, radius, sphere_2.material, sphere_2.internal
    )
    kind = "a hollow sphere" if sphere_2.internal else "a sphere"
    kind = "a flat wall" if math.isinf(radius) else f"{kind} of {radius:g} m"
    sphere = f"a sphere of {sphere_1.radius:g} m, {name_of(sphere_1.material)}"
    return f"{sphere}, and {kind}, {name_of(sphere_2.material or sphere_1.material)}", pair


def name_of(material: gc.Material) -> str:
    """Return the name of a material."""
    return material.name or "custom material"


def inputs_of_each_law(
    laws: Iterable[type[gc.ContactLaw]], document: Mapping[str, Any], problems: Problems
) -> dict[str, dict[str, Any]]:
    """Distribute inputs to the laws.

    An input goes to all laws that have it, or to one law if it is in a table with that law's name.
    """
    inputs_by_law: dict[str, dict[str, Any]] = {law.name: {} for law in laws}
    units: dict[str, dict[str, str]] = {}
    for law in laws:
        for quantity in law.inputs:
            units.setdefault(quantity.name, {})[law.name] = quantity.unit
    for name, value in document.items():
        if name in inputs_by_law and isinstance(value, Mapping):
            inputs_by_law[name] |= value
            continue
        meant = units.get(name, {})
        if not meant:
            choices = [
                *sorted(units),
                "material",
                "pair.effective_mass",
                "plate.thickness",
                *SPHERES,
            ]
            problems.add_unknown(
                name,
                choices,
                f"Remove it, because no law of {', '.join(inputs_by_law)} has this input",
            )
        if len(set(meant.values())) > 1:
            listed = " and ".join(f"{law} [{unit}]" for law, unit in meant.items())
            advice = f"For example, use {next(iter(meant))}.{name}=..."
            problems.add(
                name,
                f"one value was set for inputs with different units, {listed}",
                "One value per law is required",
                advice,
            )
        for law_name in meant:
            inputs_by_law[law_name].setdefault(name, value)
    return inputs_by_law


def read_inputs(
    laws: Sequence[type[gc.ContactLaw]],
    document: Mapping[str, Any],
    numbers: Mapping[str, Sequence[float]],
    problems: Problems,
) -> dict[str, dict[str, Any]]:
    """Return each law's inputs with defaults, checked with every value of the varied keys."""
    from granchain.case.checks import law_values
    from granchain.studies.collisions import VARIED

    inputs_by_law = inputs_of_each_law(laws, document, problems)
    varied = {key: values for key, values in numbers.items() if key not in VARIED}
    for law in laws:
        lacking = varied.keys() - {quantity.name for quantity in law.inputs}
        for key in sorted(lacking):
            problem, advice = f"the law {law.name} has no input {key}", f"Omit {law.name}"
            problems.add(f"--vary {key}", problem, "All laws must have the varied input", advice)
        for key in varied.keys() & inputs_by_law[law.name].keys():
            problems.add(
                f"--vary {key}",
                "the key is also in --set",
                "It must be in only one of the two options",
                "Remove it from one option",
            )
        for values in () if lacking else itertools.product(*varied.values()):
            stated = {
                "law": law.name,
                **inputs_by_law[law.name],
                **dict(zip(varied, values, strict=True)),
            }
            inputs_by_law[law.name] = law_values(law.name, stated, problems)
            inputs_by_law[law.name].pop("law")
        for key in varied:
            inputs_by_law[law.name].pop(key, None)
    return inputs_by_law


# --------------------------------------------------------------------------------------------------
# Results


def several_values(numbers: Mapping[str, Sequence[float]]) -> list[str]:
    """Return the keys with several values."""
    return [key for key, values in numbers.items() if len(values) > 1]


def collisions(
    laws: Sequence[type[gc.ContactLaw]],
    inputs: Mapping[str, Mapping[str, Any]],
    pair: gc.Pair,
    plate: Mapping[str, Any] | None,
    numbers: Mapping[str, Sequence[float]],
) -> list[Any]:
    """Compute all impacts, law by law, the last key fastest.

    If there are several, one that does not end is its error.
    """
    from granchain.certificates.measure import REFINED
    from granchain.studies.collisions import plate_of
    from granchain.two_body import NeverOpens, NotEnded

    combinations = list(itertools.product(laws, itertools.product(*numbers.values())))
    outcomes: list[Any] = []
    for law, values in combinations:
        stated = {**inputs[law.name], **dict(zip(numbers, values, strict=True))}
        struck = plate_of(plate, stated.pop("plate.thickness", None))
        try:
            with naming_the_law(law):
                outcomes.append(
                    gc.impact(law=law, pair=pair, refine=REFINED, plate=struck, **stated)
                )
        except (NeverOpens, NotEnded) as error:
            if len(combinations) == 1:
                raise
            outcomes.append(error)
    return outcomes


def answer_of(
    outcomes: Sequence[Any],
    inputs: Mapping[str, Mapping[str, Any]],
    numbers: Mapping[str, Sequence[float]],
    pair: gc.Pair,
    on_plate: bool,
) -> Any:
    """Return the single impact, or the dataset of several impacts."""
    import numpy as np

    from granchain.studies.collisions import dataset_of_impacts

    if len(outcomes) == 1:
        return outcomes[0]
    values = {key: np.array(numbers[key]) for key in several_values(numbers)}
    single = {key: column[0] for key, column in numbers.items() if key not in values}
    single.pop("plate.thickness", None)
    stated = {law: {**of_law, **single} for law, of_law in inputs.items()}
    impacts = [str(each) if isinstance(each, RunError) else each for each in outcomes]
    return dataset_of_impacts([*inputs], values, impacts, pair, on_plate, stated)


def draw_impacts(outcomes: Sequence[Any], answer: Any) -> Any:
    """Plot the restitutions of varied speeds or inputs, otherwise the loops of the impacts."""
    from granchain.figures.catalogue import figures_of

    curves = {} if set(getattr(answer, "dims", ("law",))) == {"law"} else figures_of(answer)
    results = [each for each in outcomes if not isinstance(each, RunError)]
    return next(iter(curves.values()), partial(gc.figures.impact_loops, *results))()


def impact_table(
    outcomes: Sequence[Any], names: Sequence[str], numbers: Mapping[str, Sequence[float]]
) -> str:
    """Return a table with a column per law: all results, or the restitutions of a sweep."""
    from granchain.studies.collisions import VARIED
    from granchain.two_body import IMPACT_SCALARS, OF_PLATE

    keys = several_values(numbers)
    if not keys:
        numbers_of_each = (
            (
                name if label.unit == "1" else f"{name} [{label.unit}]",
                *(number_text(getattr(outcome, name, None)) for outcome in outcomes),
            )
            for name, label in (IMPACT_SCALARS | OF_PLATE).items()
            if name in getattr(outcomes[0], "variables", ())
        )
        return text_table([("", *names), *numbers_of_each], "<" + ">" * len(names))
    units = {q.name: q.unit for name in names for q in gc.laws()[name].inputs}
    units |= {key: unit for key, (unit, _) in VARIED.items()}
    first = [
        "nominal restitution"
        if key == "restitution"
        else key + f" [{units[key]}]" * (units[key] != "1")
        for key in keys
    ]
    varied = list(itertools.product(*(numbers[key] for key in keys)))
    lines = (
        (
            *(f"{value:g}" for value in values),
            *map(restitution_text, outcomes[k :: len(varied)]),
        )
        for k, values in enumerate(varied)
    )
    return text_table([(*first, *names), *lines], "<" * len(keys) + ">" * len(names))


def restitution_text(outcome: Any) -> str:
    """Return the effective restitution of an impact, or why there is none."""
    from granchain.two_body import NotEnded

    if isinstance(outcome, RunError):
        return "not ended" if isinstance(outcome, NotEnded) else "never opens"
    return f"{outcome.restitution:.6f}"


def input_text(value: Any) -> str:
    """Return an input as text."""
    if isinstance(value, Mapping):
        parts = ", ".join(f"{name} = {input_text(entry)}" for name, entry in value.items())
        return f"{{ {parts} }}"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
