"""List the items that only people can provide and that are missing before a release.

They are names, addresses, tracker, authorship, and funding. docs/release.md has the complete list.

    python docs/release_check.py [TAG]

Each missing item is printed on one line; the exit code is 1 if there are any.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Placeholder for text that a person must write.
OPEN = "TO FILL IN"
# Pages with text that only the authors can write.
PAGES = ("README.md", "paper.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CITATION.cff")
URLS = ("Homepage", "Repository", "Issues", "Documentation")


def text(name: str) -> str:
    """Return the text of a project file."""
    return (ROOT / name).read_text(encoding="utf-8")


def missing(tag: str) -> Iterator[str]:
    """Yield a message for each missing item."""
    project = tomllib.loads(text("pyproject.toml"))["project"]
    version = re.search(r'^__version__ = "(.+)"$', text("granchain/__init__.py"), re.MULTILINE)
    assert version is not None
    if any("developers" in author.get("name", "") for author in project["authors"]):
        yield "pyproject.toml: authors: names of people, with an address to write to"
    for name in URLS:
        if not project.get("urls", {}).get(name, "").startswith("https://"):
            yield f"pyproject.toml: [project.urls] {name}: the address"
    if "developers" in text(".zenodo.json"):
        yield ".zenodo.json: creators: names and ORCID of people"
    if "family-names" not in text("CITATION.cff"):
        yield "CITATION.cff: authors: family-names, given-names and ORCID of people"
    if "repository-code" not in text("CITATION.cff"):
        yield "CITATION.cff: repository-code: the address"
    for page in PAGES:
        for number, line in enumerate(text(page).splitlines(), 1):
            if OPEN in line:
                yield f"{page}, line {number}: {line.strip()}"
    if f"## {version[1]} (unreleased)" in text("CHANGELOG.md"):
        yield f"CHANGELOG.md: the date of {version[1]}"
    if f"version: {version[1]}\n" not in text("CITATION.cff"):
        yield f"CITATION.cff: version: {version[1]}"
    if tag and tag != f"v{version[1]}":
        yield f"tag: {tag} does not match the version. It must be v{version[1]}."


if __name__ == "__main__":
    found = list(missing("".join(sys.argv[1:])))
    print(*found, sep="\n")
    print(f"release-check: {len(found)} missing")
    sys.exit(bool(found))
