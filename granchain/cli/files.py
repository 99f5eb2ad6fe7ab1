"""Commands that read a file: `cases`, `info`."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import textwrap
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from granchain import __version__
from granchain.cli.mechanism import as_table, in_json
from granchain.cli.options import JsonOption, UnsealedOption, app, built_in_words, the_one
from granchain.cli.run import run_numbers
from granchain.cli.text import print_json, print_text, text_table
from granchain.errors import CaseError

if TYPE_CHECKING:
    from granchain.store import Result
    from granchain.store.variables import Unread

# Bytes of a file that `info` sums up at most.
LARGEST_SUMMARY = 2.56e8

AGREES = "every value agrees with the hash in the file, {}"
# What the provenance of an ensemble has of each run.
OF_EACH_RUN = ("changes", "messages", "run_sha256", "kinds")
# Messages of members that are printed.
MOST_MEMBER_MESSAGES = 10


@app.command()
def cases(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Print this case's file.", autocompletion=built_in_words
        ),
    ] = None,
    keys: Annotated[
        bool,
        typer.Option(
            "--keys", help="Print every key of a case file, with its unit, limits and default."
        ),
    ] = False,
) -> None:
    """List the built-in cases, or print one, or the keys of a case file."""
    if keys:
        if name is not None:
            raise CaseError(
                "cases: got NAME beside --keys, allowed one of them; leave the other out"
            )
        from granchain.case.listing import key_rows, key_tables

        print_text(
            "\n\n".join(
                "\n".join([called, *map(key_lines, key_rows(model))])
                for called, model in key_tables()
            )
        )
        print_text(
            "\nAll other keys of [contact] and [[contact.pair]] are the inputs of the contact "
            "law: granchain laws NAME."
        )
        return
    from granchain.case import case_names, load_case, load_mechanism, mechanism_names

    chains, mechanisms = case_names(), mechanism_names()
    if name is None:
        rows = [(known, load_case(known).title) for known in chains]
        print_text(
            text_table(
                [*rows, *((known, load_mechanism(known).title) for known in mechanisms)], "<<"
            )
        )
        return
    known = the_one(name, [*chains, *mechanisms], "built-in case", CaseError)
    print_text((load_case if known in chains else load_mechanism)(known).toml.rstrip("\n"))


def key_lines(row: tuple[str, str, str, str]) -> str:
    """A key, and under it what it means and takes."""
    name, meaning, allowed, default = row
    without = "required" if default == "required" else f"default: {default}"
    indent = " " * 6
    said = f"{meaning}; {allowed}; {without}"
    return f"  {name}\n" + textwrap.fill(
        said, 100, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


@app.command()
def info(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Output file of a run.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Read every value and compare it with the hash in the file."),
    ] = False,
    system: Annotated[
        bool,
        typer.Option(
            "--system", help="Say what a report of a defect needs: versions, processor, cache."
        ),
    ] = False,
    unsealed: UnsealedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what an output file holds, or on what granchain runs."""
    if (file is None) != system or (system and verify):
        got = "FILE or --verify beside --system" if system else "neither FILE nor --system"
        raise CaseError(
            f"info: got {got}, allowed FILE, or --system alone; name an output file, or ask for "
            "the system"
        )
    if file is None:
        about = about_system()
        if as_json:
            print_json({"command": "info", "system": about})
        else:
            print_text(text_table(about.items(), "<<"))
        return
    from granchain.analysis import SUMMARISED, summary
    from granchain.store import open_result
    from granchain.store.reader import HoldsEnsembleError

    try:
        data_sha256 = open_result(file).data_sha256 if verify else None
        result = open_result(file, variables=in_memory, unsealed=unsealed)
    except HoldsEnsembleError:
        info_of_ensemble(file, verify, unsealed, as_json)
        return
    machine = "crank_angle" in result.variables
    numbers = summary(result)
    if as_json:
        found = {
            "command": "info",
            "file": file,
            "sealed": result.sealed,
            "data_verified": data_sha256,
            **(in_json(result) if machine else numbers.as_dict()),
            "messages": [message._asdict() for message in result.messages],
        }
        print_json({**found, "variables": variable_facts(result), "provenance": result.provenance})
        return
    facts = [
        ("title", result.title),
        ("law", result.law),
        ("status", result.status.label),
        ("time step", f"{result.time_step:.6g} s"),
    ]
    print_text(text_table([*facts, *stated_provenance(result.provenance)], "<<"))
    rows = [
        (v["name"], f"({', '.join(v['dims'])})", v["shape"], v["unit"], v["long_name"])
        for v in variable_facts(result)
    ]
    print_text(text_table(rows, "<<><<"))
    print_text(as_table(result) if machine else run_numbers(numbers))
    unread = [name for name in SUMMARISED if name in result.unread]
    if unread:
        print_text(
            f"not looked into, being more than {LARGEST_SUMMARY:g} bytes: {', '.join(unread)}; "
            "granchain.open_result reads them"
        )
    print_text("\n".join(map(str, result.messages)))
    if data_sha256:
        print_text(AGREES.format(data_sha256))


def info_of_ensemble(file: str, verify: bool, unsealed: bool, as_json: bool) -> None:
    """What the file of an ensemble holds."""
    from granchain.store.stored import StoredEnsemble
    from granchain.store.variables import ENSEMBLE

    stored = StoredEnsemble(file, unsealed=unsealed and not verify)
    labels = [status.label for status in stored.status]
    ended = {label: labels.count(label) for label in dict.fromkeys(labels)}
    variables = facts_of_variables(stored.headers)
    provenance = {
        name: value for name, value in stored.provenance.items() if name not in OF_EACH_RUN
    }
    data_sha256 = stored.verify() if verify else None
    if as_json:
        facts = {
            "command": "info",
            "file": file,
            "content": ENSEMBLE,
            "runs": len(stored),
            "status": ended,
            "law": stored.law,
        }
        print_json(
            {
                **facts,
                "sealed": stored.sealed,
                "data_verified": data_sha256,
                "variables": variables,
                "provenance": provenance,
            }
        )
        return
    status = ", ".join(f"{count} {label}" for label, count in ended.items())
    print_text(
        text_table(
            [
                ("content", ENSEMBLE),
                ("runs", str(len(stored))),
                ("law", stored.law),
                ("status", status),
                *stated_provenance(provenance),
            ],
            "<<",
        )
    )
    print_text(
        text_table(
            [
                (v["name"], f"({', '.join(v['dims'])})", v["shape"], v["unit"], v["long_name"])
                for v in variables
            ],
            "<<><<",
        )
    )
    messages = [message for message in stored.messages if message]
    print_text("\n".join(messages[:MOST_MEMBER_MESSAGES]))
    if len(messages) > MOST_MEMBER_MESSAGES:
        print_text(f"and {len(messages) - MOST_MEMBER_MESSAGES} more such messages")
    print_text("to read it: granchain.open_ensemble, or xarray.open_dataset with engine h5netcdf")
    if data_sha256:
        print_text(AGREES.format(data_sha256))


def about_system() -> dict[str, str]:
    """What a report of a defect needs to know of the system; nothing that names its user or
    machine but the cache folder."""
    from granchain.jit.cache import cache_folder
    from granchain.store.provenance import source_hash, versions

    found = {"granchain": __version__, **json.loads(versions()), "source_hash": source_hash()}
    for package in ("llvmlite", "scipy", "matplotlib", "pydantic", "typer"):
        found[package] = metadata.version(package)
    found["platform"] = platform.platform()
    found["processor"] = processor()
    found["processors"] = str(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    )
    found["python"] = (
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"{platform.architecture()[0]}"
    )
    found["cache"] = cache_folder()
    found["environment"] = (
        ", ".join(sorted(name for name in os.environ if name.startswith(("NUMBA_", "GRANCHAIN_"))))
        or "-"
    )
    return found


def processor() -> str:
    """The processor's own name where the system gives it, else its kind."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def stated_provenance(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where a file comes from."""
    facts = []
    for name in (
        "started",
        "granchain_version",
        "versions",
        "platform",
        "case_sha256",
        "data_sha256",
    ):
        if provenance.get(name):
            facts.append((name, str(provenance[name])))
    if "wall_time" in provenance:
        facts.append(("wall_time", f"{provenance['wall_time']:.3g} s"))
    return facts


def variable_facts(result: Result) -> list[dict[str, Any]]:
    """The variables of a file, read or not."""
    from granchain.store.variables import Unread, variable_table

    headers = result.unread | {
        name: Unread(v.dims, v.shape, v.unit, v.long_name) for name, v in result.variables.items()
    }
    return facts_of_variables(
        dict(
            sorted(
                headers.items(), key=lambda item: [*variable_table(headers), item[0]].index(item[0])
            )
        )
    )


def facts_of_variables(headers: Mapping[str, Unread]) -> list[dict[str, Any]]:
    """What a file states about its variables."""
    return [
        {
            "name": name,
            "dims": list(v.dims),
            "shape": list(v.shape),
            "unit": v.unit,
            "long_name": v.long_name,
        }
        for name, v in headers.items()
    ]


def in_memory(headers: Mapping[str, Unread]) -> tuple[str, ...]:
    """What is summed up of a file, where that is no more than `LARGEST_SUMMARY`."""
    from granchain.analysis import SUMMARISED

    wanted = tuple(headers) if "crank_angle" in headers else SUMMARISED
    size = sum(8 * math.prod(headers[name].shape) for name in wanted if name in headers)
    return wanted if size <= LARGEST_SUMMARY else ()
