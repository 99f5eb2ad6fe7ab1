"""The command line: text, tables and exit codes; no physics.

Standard output carries the result and nothing else, standard error the messages on the way. What is
slow to load is imported by the command that uses it: `granchain --help` takes a tenth of a second.
"""

from granchain.cli import run, files, plot, sweep, laws, impact, compare  # noqa: I001
from granchain.cli.process import main, obey

__all__ = [
    "compare",
    "files",
    "impact",
    "laws",
    "main",
    "obey",
    "plot",
    "run",
    "sweep",
]
