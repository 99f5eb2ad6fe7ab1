"""Generate pages of the reference: case file, command line, output file, and Python names.

Every page is made from the tables that the program reads, checks, or prints, so that it cannot
differ from the program. `conf.py` writes the pages into docs/reference/ when the documentation is
built.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import law_pages
import typer
from markdown_text import markdown_table

import granchain as gc
from granchain import material
from granchain.case import (
    Case,
    case_names,
    load_case,
    mechanism_names,
    schema,
    tables,
)
from granchain.cli import options
from granchain.contact.law import Quantity
from granchain.keys import Table, without_keys
from granchain.mechanisms import case as mechanism_case
from granchain.mechanisms.case import load_mechanism
from granchain.status import Status
from granchain.store import Answer
from granchain.store.schema import PROVENANCE_NUMBERS, TEXTS, VARIABLES, VARIABLES_OF_MECHANISM


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    escaped = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    return markdown_table(columns, escaped)


def paragraphs(docstring: str | None) -> str:
    """Return a docstring as Markdown paragraphs."""
    return inspect.cleandoc(docstring or "")


# --------------------------------------------------------------------------------------------------
# Case file


def key_rows(model: type[Table]) -> list[tuple[str, ...]]:
    """Return the rows of a table of keys in Markdown."""
    rows = []
    for name, meaning, allowed, default in schema.key_rows(model):
        said = {"required": "**required**", "none": "none"}.get(default, f"`{default}`")
        rows.append((f"`{name}`", meaning, allowed, said))
    return rows


KEY_COLUMNS = ("key", "meaning", "allowed", "default")


def case_file() -> str:
    """Return the page about the keys of a case file."""
    blocks = [
        "# Case file",
        "A case is one TOML file. Numbers are in SI units. If pint is installed, you can write a "
        'string with a unit, such as `"2.38 mm"`. '
        "granchain reports unknown, missing, and out-of-range values together, before it computes "
        "anything. On the command line, `--set` changes a key: `--set "
        "chain.beads=20`, `--set chain.segment.0.mass=1e-4`.",
        "This page is generated from the checks that read a case.",
        "## Above the tables",
        grid(KEY_COLUMNS, key_rows(tables.HeadingTable)),
    ]
    for heading, model in schema.key_tables()[1 : 1 + len(Case.model_fields)]:
        name = heading.strip("[]")
        need = "Required." if Case.model_fields[name].is_required() else "May be left out."
        blocks += [f"## `{heading}`", f"{without_keys(model)} {need}"]
        if model.model_fields:
            blocks.append(grid(KEY_COLUMNS, key_rows(model)))
        if name == "contact":
            blocks.append(
                "All other keys of this table are the law's own inputs, with units and limits: see "
                "[the reference of the laws](../laws.md), or `granchain laws NAME`. A restitution "
                "may be a number or a table `{ law = "
                '"ma-liu", psi = ..., xi = ... }`: what that law gives at the speed of the impact '
                "itself."
            )
    for heading, model in schema.INNER:
        words, sign, code = heading.rpartition(": ")
        blocks += [
            f"## {words}{sign}`{code}`",
            without_keys(model),
            grid(KEY_COLUMNS, key_rows(model)),
        ]
    blocks += [
        "## Mechanisms",
        "The case of a mechanism has `mechanism`, its name, above the tables, and tables of its "
        "own beside `[contact]`, whose keys are the law's: `granchain cases slider-crank` and "
        "`granchain cases scotch-yoke` print the built-in ones.",
    ]
    seen: set[type[Table]] = set()
    for name, kind in mechanism_case.MECHANISM_KINDS.items():
        for table, field in kind.model_fields.items():
            model = (
                mechanism_case.FittedTable
                if table == "fitted"
                else mechanism_case.FrictionTable
                if table == "friction"
                else field.annotation
            )
            if (
                not (isinstance(model, type) and issubclass(model, Table))
                or model is tables.ContactTable
                or model in seen
            ):
                continue
            seen.add(model)
            where = f"`[[{table}]]`" if table == "fitted" else f"`[{table}]`"
            of = (
                f" of a {name}"
                if table not in mechanism_case.MechanismCase.model_fields
                else " of a mechanism"
            )
            blocks += [
                f"### {where}{of}",
                without_keys(model),
                grid(KEY_COLUMNS, key_rows(model)),
            ]
    blocks += [
        "## Materials",
        "Named materials, each with its source. A name is expanded when a case is read.",
    ]
    rows = []
    for name, substance in material.MATERIALS.items():
        values = (
            substance.youngs_modulus,
            substance.poissons_ratio,
            substance.density,
            substance.yield_stress,
            substance.hardness,
        )
        rows.append(
            (
                f"`{name}`",
                *("-" if value is None else f"{value:g}" for value in values),
                substance.source,
            )
        )
    columns = (
        "name",
        "Young's modulus [Pa]",
        "Poisson's ratio",
        "density [kg/m^3]",
        "yield stress [Pa]",
        "hardness [Pa]",
        "source",
    )
    blocks.append(grid(columns, rows))
    cases: dict[str, Any] = {name: load_case(name) for name in case_names()}
    cases |= {name: load_mechanism(name) for name in mechanism_names()}
    rows = [(f"`{name}`", f"`{case.contact.law}`", case.title) for name, case in cases.items()]
    blocks += ["## Built-in cases", grid(("name", "contact law", "title"), rows)]
    return "\n\n".join(blocks) + "\n"


# --------------------------------------------------------------------------------------------------
# Command line


def commands(command: Any, name: str) -> Iterable[tuple[str, Any]]:
    """Yield a command, or the commands of a group, with their full names."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for part, one in inner.items():
        yield from commands(one, f"{name} {part}")


def parameter_row(parameter: Any) -> tuple[str, str, str]:
    """Return the cells of an argument or option."""
    if parameter.param_type_name == "argument":
        label = parameter.metavar or parameter.name.upper()
    else:
        value = "" if parameter.is_flag else f" {parameter.metavar or 'VALUE'}"
        label = "/".join(parameter.opts) + value
    default = parameter.default
    shown = (
        "**required**"
        if parameter.required
        else ""
        if default in (None, False, ())
        else f"`{default}`"
    )
    return f"`{label}`", parameter.help or "", shown


def usage(name: str, command: Any) -> str:
    """Return the usage line of a command."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = []
    for p in arguments:
        label = (p.metavar or p.name.upper()) + ("..." if p.nargs == -1 else "")
        words.append(label if p.required else f"[{label}]")
    return " ".join([name, *words, "[OPTIONS]"])


def command_line() -> str:
    """Return the page of all commands with their arguments and options."""
    program = typer.main.get_command(options.app)
    blocks = [
        "# Command line",
        "`granchain COMMAND`, or `python -m granchain COMMAND`. The result is "
        "printed to standard output, and messages to standard error. This page is generated from "
        "the commands; `granchain COMMAND --help` prints the same text.",
        paragraphs(program.epilog),
    ]
    for name, command in commands(program, "granchain"):
        blocks += [
            f"## `{name}`",
            f"```text\n{usage(name, command)}\n```",
            paragraphs(command.help),
            paragraphs(command.epilog),
        ]
        rows = [parameter_row(parameter) for parameter in command.params]
        if rows:
            blocks.append(grid(("argument or option", "meaning", "default"), rows))
    return "\n\n".join(blocks) + "\n"


def call_table() -> str:
    """Return the table of the commands and their Python calls, which end the help of a command."""
    rows = [
        (f"`{name}`", command.epilog.removeprefix("In Python: "))
        for name, command in commands(typer.main.get_command(options.app), "granchain")
    ]
    return grid(("command", "call"), rows) + "\n"


# --------------------------------------------------------------------------------------------------
# Output file


def variable_table(variables: Mapping[str, Any]) -> str:
    """Return the table of the variables of a file."""
    return grid(
        ("variable", "dimensions", "unit", "meaning"),
        [(f"`{n}`", ", ".join(v.dims), v.unit, v.long_name) for n, v in variables.items()],
    )


def output_file() -> str:
    """Return the page of the variables of an output file."""
    history: dict[str, Quantity] = {}
    kept: dict[str, list[str]] = {}
    for name, law in gc.laws().items():
        for quantity in law.history:
            if quantity.output:
                history.setdefault(quantity.name, quantity)
                kept.setdefault(quantity.name, []).append(name)
    blocks = [
        "# Output file",
        "HDF5 that opens as netCDF-4: every axis has its labels, every variable `units` and "
        "`long_name`. This page is generated from the table that the file is written by.",
        "## Variables",
        "Labels: body 0 is the striker, where there is one; beads count from 1. Contact k joins "
        "body k and k + 1; the left wall's contact is -1 (0 without a striker). A variable is "
        "there when the case asks for it: `granchain info FILE` lists those of a file.",
        variable_table(VARIABLES),
        "## Variables of a mechanism",
        "Beside `time` and the ledger. Its contacts have no variables of their own.",
        variable_table(VARIABLES_OF_MECHANISM),
        "## History of the contacts",
        "Laws with a history store these variables, one value per contact, at the end of the run. "
        "UDUNITS cannot read a unit with a fractional power (n is the exponent of the unloading "
        'curve): then `units` is "1", the number is in SI units, and `unit_in_words` is the unit.',
        grid(
            ("variable", "unit", "meaning", "laws"),
            [(f"`{n}`", q.unit or "1", q.meaning, ", ".join(kept[n])) for n, q in history.items()],
        ),
        "## Attributes",
        "In the root: `Conventions`, `title`, `granchain_format`, `granchain_version`, `law`, "
        "`status`, `time_step` [s], and the variables that a NeXus viewer plots. The "
        "group `provenance` contains the origin of the file, without user or machine:",
        "\n".join(f"* `{name}`" for name in TEXTS)
        + "\n"
        + "\n".join(
            f"* `{n}` [{unit}]: {meaning}" for n, (unit, meaning) in PROVENANCE_NUMBERS.items()
        ),
        "## How a run can end",
        grid(("status", "meaning"), [(one.label, one.sentence) for one in Status]),
    ]
    return "\n\n".join(blocks) + "\n"


# --------------------------------------------------------------------------------------------------
# Python

# Public names by task: the groups of lines of `granchain/__init__.pyi`, each below its heading.
GROUPS = Path(gc.__file__).with_suffix(".pyi").read_text().split("\n\n")[1:-1]
TASKS = {
    heading.removeprefix("# "): [line.split()[-1] for line in lines]
    for heading, *lines in map(str.splitlines, GROUPS)
}


def entry(name: str) -> str:
    """Return the directive that documents a public name."""
    value = getattr(gc, name, None)
    if inspect.ismodule(value):
        directive, options = "automodule", ["   :members:", "   :show-inheritance:"]
    elif inspect.isclass(value):
        directive = "autoclass"
        options = [
            "   :members:",
            "   :exclude-members: model_config, model_fields, model_post_init, labels",
        ]
        if issubclass(value, Answer):
            options.append("   :inherited-members:")
    else:
        directive, options = ("autofunction" if callable(value) else "autodata"), []
    lines = [f".. {directive}:: granchain.{name}", *options]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


def object_page(name: str) -> str:
    """Return the page of a public name."""
    blocks = [f"# {name}", entry(name)]
    labels = getattr(getattr(gc, name, None), "labels", None)
    if labels:
        blocks += [
            "## Variables",
            "Each variable is an attribute and a variable of the file. Some exist only in certain "
            "cases. Variables of case keys have the name of the key.",
            variable_table(labels),
        ]
    if name == "Result":
        blocks += [
            "## Variables",
            "Each variable is an attribute of the result and a variable of its file. The case "
            "decides which variables exist.",
            variable_table(VARIABLES),
        ]
    return "\n\n".join(blocks) + "\n"


def summary(name: str) -> str:
    """Return the first line of a name's documentation, as a cell of a table."""
    value = getattr(gc, name)
    if not (inspect.ismodule(value) or callable(value)):
        return "Smallest overlap of a closed contact [m]." if name == "OPEN" else ""
    return inspect.cleandoc(value.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def page_name(name: str) -> str:
    """Return the name of the page of a public name.

    `fit` and `Fit`, `open` and `OPEN` need different names on disks that ignore upper and lower case.
    """
    if name.isupper():
        return f"{name}-number"
    return f"{name}-class" if inspect.isclass(getattr(gc, name)) else name


def python_index() -> str:
    """Return the page that lists the public names by task."""
    blocks = [
        "# Python reference",
        "Write `import granchain as gc`; every public name is an attribute of `gc`. Each name has "
        "its own page. The names are grouped by task.",
    ]
    for task, names in TASKS.items():
        rows = [(f"[{name}]({page_name(name)}.md)", summary(name)) for name in names]
        blocks += [f"## {task}", grid(("name", "purpose"), rows)]
        pages = "\n".join(map(page_name, names))
        blocks.append(f"```{{toctree}}\n:hidden:\n:caption: {task}\n\n{pages}\n```")
    return "\n\n".join(blocks) + "\n"


# --------------------------------------------------------------------------------------------------
# All laws in one table


def law_table() -> str:
    """Return the alphabetical table of the contact laws, with the measured properties."""
    table = law_pages.printed()["Overview"]
    energy, order = table[""].index("energy created"), table[""].index("order")
    rows = []
    for name, law in sorted(gc.laws().items()):
        if name not in table:
            continue  # This law was loaded by another test.
        family = law_pages.family_of(law)
        required = ", ".join(f"`{q.name}`" for q in law.inputs if q.required) or "none"
        link = f"[{name}](reference/laws/{family.module}.md#{name})"
        rows.append((link, family.title, required, table[name][energy], table[name][order]))
    columns = ("law", "family", "required inputs", "energy created", "order")
    return grid(columns, rows) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "case-file": case_file,
    "command-line": command_line,
    "call-table": call_table,
    "output-file": output_file,
    "law-table": law_table,
    "python/index": python_index,
    **{
        f"python/{page_name(name)}": partial(object_page, name)
        for names in TASKS.values()
        for name in names
    },
}


def write(folder: Path) -> None:
    """Write the pages whose text has changed."""
    (folder / "python").mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        file, text = folder / f"{name}.md", make()
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
