"""The command line: text, tables and exit codes; no physics.

Standard output carries the result and nothing else, standard error the messages on the way. What is
slow to load is imported by the command that uses it: `granchain --help` takes a tenth of a second.
"""

from granchain.cli import run  # noqa: I001  the order of the commands in the help
from granchain.cli import (
    mechanism,
    files,
    plot,
    animate,
    sweep,
    laws,
    impact,
    verify,
    traces,
    compare,
    equivalent,
    fit,
    spectrum,
    report,
)
from granchain.cli import materials, cite
from granchain.cli.process import main, obey

__all__ = [
    "animate",
    "cite",
    "compare",
    "equivalent",
    "files",
    "fit",
    "impact",
    "laws",
    "main",
    "materials",
    "mechanism",
    "obey",
    "plot",
    "report",
    "run",
    "spectrum",
    "sweep",
    "traces",
    "verify",
]
