"""Commands that describe a name or a file: `cases`, `info`, `cite`."""

from __future__ import annotations

import json
import math
import os
import platform
import textwrap
from collections.abc import Iterable, Mapping
from importlib.metadata import distributions
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import granchain as gc
from granchain import __version__
from granchain.cli.options import (
    JsonOption,
    LawModuleOption,
    NoVerifyOption,
    app,
    known_name,
    load_laws,
)
from granchain.cli.run import columns_of_numbers, summary_for_json
from granchain.cli.text import print_result, print_text
from granchain.errors import CaseError, FileError, suggestion
from granchain.markup import text_table
from granchain.plain_data import plain_data
from granchain.portable import processor_name, usable_processors

if TYPE_CHECKING:
    from granchain.store.schema import Unread

# Largest size of variables that `info` summarizes [bytes].
LARGEST_SUMMARY = 2.56e8

# Provenance entries of an ensemble with one value per run.
OF_EACH_RUN = ("cases", "messages", "run_sha256", "kinds")
# Largest number of messages of members that are printed.
MOST_MEMBER_MESSAGES = 10


@app.command(
    epilog=(
        "In Python: `granchain.case.case_names()`, `gc.load_case(NAME).toml`; with `--keys`: "
        "`help(gc.Case)` and `help(case.chain)`; with `--schema`: the file "
        "`granchain/case.schema.json`."
    )
)
def cases(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Print the file of this case."),
    ] = None,
    keys: Annotated[
        bool,
        typer.Option(
            "--keys", help="Print every key of a case file with its unit, limits, and default."
        ),
    ] = False,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema", help="Print the JSON schema of a case file, for completion in an editor."
        ),
    ] = False,
    law_module: LawModuleOption = None,
) -> None:
    """List the built-in cases, or print one of them, or the keys of a case file."""
    load_laws(law_module)
    from granchain.case import case_names, mechanism_names
    from granchain.case.document import PUBLISHED, case_files
    from granchain.case.schema import key_rows, key_tables, schema_text

    if (name is not None) + keys + schema > 1:
        raise CaseError("cases: NAME, --keys, and --schema cannot be combined. Use one of them.")
    if schema:
        print_text(schema_text().rstrip("\n"))
        return
    if keys:
        for called, model in key_tables():
            print_text("\n".join([called, *map(key_lines, key_rows(model)), ""]))
        print_text(
            "The other keys of [contact] and [[contact.pair]] are the inputs of the contact "
            "law. See granchain laws NAME."
        )
        return
    loaders: dict[str, Any] = dict.fromkeys(case_names(), gc.load_case)
    loaders |= dict.fromkeys(mechanism_names(), gc.load_mechanism)
    if name is None:
        cases = {case_name: load(case_name) for case_name, load in loaders.items()}
        rows = [(case_name, case.contact.law, case.title) for case_name, case in cases.items()]
        lines = text_table(rows, "<<<").splitlines()
        published = case_files(PUBLISHED)
        groups = [
            "\n".join(line for line in lines if (line.split()[0] in published) is listed)
            for listed in (False, True)
        ]
        print_text("\n\nPublished chains\n".join(groups))
        return
    case_name = known_name(name, loaders, "built-in case", CaseError)
    print_text(loaders[case_name](case_name).toml.rstrip("\n"))


def key_lines(row: tuple[str, str, str, str]) -> str:
    """Format a key with its meaning, allowed values, and default below."""
    name, meaning, allowed, default = row
    without = "required" if default == "required" else f"default: {default}"
    indent = " " * 6
    description = f"{meaning}; {allowed}; {without}"
    return f"  {name}\n" + textwrap.fill(
        description, 100, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


@app.command(
    epilog=(
        "In Python: `gc.open(FILE)`, and `gc.analysis.summary(result)`; with `--system`: "
        "`granchain.cli.files.about_system()`."
    )
)
def info(
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="Result file.")] = None,
    system: Annotated[
        bool,
        typer.Option("--system", help="Print the versions, processor, and cache for a bug report."),
    ] = False,
    no_verify: NoVerifyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Describe a result file, or the system."""
    if (file is None) != system:
        problem = "--system cannot be combined with FILE" if system else "FILE is missing"
        raise CaseError(f"info: {problem}. Specify a result file, or use --system alone.")
    if file is None:
        about = about_system()
        print_result("info", {"system": about}, as_json, lambda: text_table(about.items(), "<<"))
        return
    from granchain.show.numbers import provenance_rows
    from granchain.store.dataset import open_hdf5
    from granchain.store.schema import ENSEMBLE

    describe = {ENSEMBLE: info_of_ensemble, "Result": info_of_result}
    with open_hdf5(file, verify=not no_verify) as opened:
        kind = opened.kind
    rows, facts, lines = describe.get(kind, info_of_answer)(file)
    variables = [
        (v["name"], f"({', '.join(v['dims'])})", v["shape"], v["unit"], v["long_name"])
        for v in facts["variables"]
    ]
    tables = [
        text_table([*rows, *provenance_rows(facts["provenance"])], "<<"),
        text_table(variables, "<<><<"),
    ]
    text = "\n".join([*tables, *filter(None, lines)])
    print_result("info", {"file": file, **facts}, as_json, lambda: text)


FileFacts = tuple[list[tuple[str, str]], dict[str, Any], list[str]]


def info_of_result(file: str) -> FileFacts:
    """Describe a verified file of a run: rows of a table, facts for JSON, and lines of text."""
    from granchain.analysis import SUMMARISED
    from granchain.store.schema import Unread, variable_table

    result = gc.open(file, variables=summarized_variables, verify=False)
    headers = result.unread | {
        name: Unread(v.dims, v.shape, v.unit, v.long_name) for name, v in result.variables.items()
    }
    order = [*variable_table(headers), *sorted(headers)]
    rows = [("title", result.title), ("law", result.law), ("status", result.status.label)]
    facts = {
        **dict(rows),
        "time_step": result.time_step,
        **summary_for_json(result),
        "messages": list(map(str, result.messages)),
        "variables": facts_of_variables({name: headers[name] for name in order if name in headers}),
        "provenance": result.provenance,
    }
    rows.append(("time step", f"{result.time_step:.6g} s"))
    unread = ", ".join(name for name in SUMMARISED if name in result.unread)
    beyond = (
        f"not read, because they have more than {LARGEST_SUMMARY:g} bytes: {unread}. To read "
        "them, use "
    )
    lines = [
        columns_of_numbers(result),
        *([f"{beyond}granchain.open"] if unread else []),
        *map(str, result.messages),
    ]
    return rows, facts, lines


def info_of_answer(file: str) -> FileFacts:
    """Describe a verified file of any other answer, or of a study."""
    from granchain.store.dataset import headers_of, messages_of, open_hdf5, provenance_of

    with open_hdf5(file, verify=False) as opened:
        provenance, attributes = provenance_of(opened.file), opened.file.attrs
        messages = messages_of(provenance) if "messages" in provenance else []
        texts = [text for text, _ in messages]
        rows = [("content", opened.kind)]
        rows += [(name, str(attributes.get(name, ""))) for name in ("title", "law")]
        facts = {
            **dict(rows),
            "messages": texts,
            "variables": facts_of_variables(headers_of(opened.datasets)),
            "provenance": provenance,
        }
    return rows, facts, texts


def info_of_ensemble(file: str) -> FileFacts:
    """Describe a verified file of an ensemble: rows of a table, facts for JSON, and lines."""
    from granchain.store.answer import StoredEnsemble
    from granchain.store.schema import ENSEMBLE

    stored = StoredEnsemble(file, verify=False)
    labels = [status.label for status in stored.status]
    ended = {label: labels.count(label) for label in dict.fromkeys(labels)}
    facts = {
        "content": ENSEMBLE,
        "runs": len(stored),
        "status": ended,
        "law": stored.law,
        "variables": facts_of_variables(stored.headers),
        "provenance": {
            name: value for name, value in stored.provenance.items() if name not in OF_EACH_RUN
        },
    }
    rows = [
        ("content", ENSEMBLE),
        ("runs", str(len(stored))),
        ("law", stored.law),
        ("status", ", ".join(f"{count} {label}" for label, count in ended.items())),
    ]
    messages = [message for message in stored.messages if message]
    more = len(messages) - MOST_MEMBER_MESSAGES
    lines = messages[:MOST_MEMBER_MESSAGES] + ([f"and {more} more messages"] * (more > 0))
    how = 'To read this file, use granchain.open, or xarray.open_dataset with engine="h5netcdf".'
    return rows, facts, [*lines, how]


def about_system() -> dict[str, str]:
    """Return the facts about the system that a bug report requires.

    Only the cache folder may identify the user or the machine.
    """
    from granchain.jit.compile import cache_folder
    from granchain.store.schema import source_hash, versions

    packages = ("llvmlite", "scipy", "matplotlib", "pydantic", "typer")
    return {
        "granchain": __version__,
        **json.loads(versions()),
        "source_hash": source_hash(),
        **{
            name: next((distribution.version for distribution in distributions(name=name)), "-")
            for name in packages
        },
        "platform": platform.platform(),
        "processor": processor_name(),
        "processors": str(usable_processors()),
        "python": f"{platform.python_implementation()} {platform.python_version()}, "
        f"{platform.architecture()[0]}",
        "cache": cache_folder(),
        "environment": ", ".join(
            sorted(name for name in os.environ if name.startswith(("NUMBA_", "GRANCHAIN_")))
        )
        or "-",
    }


def facts_of_variables(headers: Mapping[str, Unread]) -> list[dict[str, Any]]:
    """Return the metadata of the variables of a file."""
    return [{"name": name, **plain_data(header)} for name, header in headers.items()]


def summarized_variables(headers: Mapping[str, Unread]) -> tuple[str, ...]:
    """Return the variables to summarize, or none if they exceed `LARGEST_SUMMARY`."""
    from granchain.analysis import SUMMARISED

    wanted = tuple(headers) if "crank_angle" in headers else SUMMARISED
    size = sum(8 * math.prod(headers[name].shape) for name in wanted if name in headers)
    return wanted if size <= LARGEST_SUMMARY else ()


# --------------------------------------------------------------------------------------------------
# Sources


@app.command(epilog="In Python: `gc.cite(case)`.")
def cite(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASE|FILE|LAW|DIR]...",
            help="Case, granchain file, contact law, or folder of a trace. Default: granchain "
            "itself.",
        ),
    ] = None,
    law_module: LawModuleOption = None,
) -> None:
    """Print BibTeX entries for granchain, contact laws, and data."""
    load_laws(law_module)
    from granchain.citation import cite as cited

    print_text(cited(*(source for name in what or () for source in objects_of(name))).rstrip("\n"))


def objects_of(name: str) -> Iterable[Any]:
    """Return the objects with sources that a command-line argument refers to."""
    from granchain.case import case_names, mechanism_names
    from granchain.contact import laws
    from granchain.keys import brief

    path = Path(name)
    if name in laws() and not os.path.lexists(name):
        return [name]
    if name in mechanism_names():
        return [gc.load_mechanism(name)]
    if path.is_dir() and name not in case_names():
        return [data_of(path)]
    if path.is_file() and path.suffix.lower() != ".toml":
        content = gc.open(name, variables=lambda headers: {"impedance"} & headers.keys())
        if hasattr(content, "data_vars"):
            law, variables = str(content.attrs["law"]), content.variables
            return [SimpleNamespace(law=law, variables=variables, provenance={})]
        return [content]
    if not path.suffix and name not in case_names() and not os.path.lexists(name):
        names = [*laws(), *case_names(), *mechanism_names()]
        advice = suggestion(name, names, "See granchain laws and granchain cases for lists")
        raise CaseError(
            f"cite: {brief(name)} is unknown. It must be a case, an output file, a contact "
            f"law, or the folder of a trace. {advice}{'.' * advice[-1].isalpha()}"
        )
    return [gc.load_case(name)]


def data_of(folder: Path) -> Any:
    """Return the sources in the `about.toml` of a folder with a trace or measured impacts."""
    from granchain.measured.folder import ABOUT, document_of
    from granchain.measured.trace import CITED

    document = document_of(folder / ABOUT)
    stated = {name: value for name in CITED if isinstance(value := document.get(name), str)}
    if not (stated.get("title") or stated.get("who") or stated.get("doi")):
        raise FileError(
            f"{folder / ABOUT}: title, who, and doi are missing. At least one of them is "
            "required. Add the source of the data."
        )
    sources = document.get("source")
    listed = (
        [table for table in sources if isinstance(table, dict)] if isinstance(sources, list) else []
    )
    works = [
        (str(text), str(table.get("doi") or ""))
        for table in listed
        if (text := table.get("printed") or table.get("name"))
    ]
    return SimpleNamespace(about=SimpleNamespace(**stated), works=works)
