"""Command line: arguments, text, tables, and exit codes; no physics.

Standard output contains only the result, and standard error the messages. Modules that are slow to
load are imported by the command that requires them: `granchain --help` takes a tenth of a second.
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
