"""What a report says of the file that `--out FILE.json` of a command wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from granchain.pages.blocks import (
    STRANGE,
    Block,
    Boxed,
    Heading,
    Paragraph,
)
from granchain.pages.run import case_blocks, citation, law_blocks, origin


def conclusion_blocks(facts: Mapping[str, Any], name: str) -> list[Block]:
    """All that a report says of such a file.

    Parameters
    ----------
    facts : mapping
        What it holds; of an edited file that may be anything.
    name : str
        Of the file.
    """
    try:
        heading, blocks, met = COMPOSERS[str(facts["kind"])](facts)
        # those of a result of several are in one word
        laws = [law for several in met for law in several.split(", ")]
        blocks = [Heading(heading, 1), *messages_of(facts), *blocks]
        named = [block for law in dict.fromkeys(laws) for block in law_blocks(law, {})]
    except STRANGE:
        text = json.dumps(facts, indent=1)[:LARGEST_TEXT]
        blocks, named, laws = [Boxed("Contents of the file", text)], [], []
        blocks = [Heading(f"{facts['kind']}: {name}", 1), *blocks]
    about = {
        **{key: value for key, value in facts.items() if isinstance(value, str)},
        "case_resolved_json": json.dumps(facts.get("case_resolved") or {}),
        "versions": json.dumps(facts.get("versions")),
    }
    case = case_blocks(about) if facts.get("case") else []
    return [*blocks, *named, *citation(laws), *case, *origin(about, name)]


# Characters of a strange file that a page shows.
LARGEST_TEXT = 100_000


def messages_of(facts: Mapping[str, Any]) -> list[Block]:
    """Messages of a conclusion and of its parts, each once, and the tolerances that were missed."""
    parts = (facts, *facts.get("results", ()), *facts.get("laws", ()))
    told = [one for part in parts for one in (*part.get("messages", ()), *part.get("missed", ()))]
    return [Paragraph(one, warning=True) for one in dict.fromkeys(map(str, told))]


COMPOSERS: dict[str, Any] = {}
