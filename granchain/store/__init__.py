"""Answers, and the files that contain them.

`Answer` is the base class of results, `open_answer` reads the file of any answer, `claim` reserves
a file name during a long run, and `Checkpoint` contains what another process needs to resume a run.
This is the only package that uses h5py.
"""

from granchain.store.answer import Answer, Result
from granchain.store.answer import open as open_answer
from granchain.store.files import claim, write_atomically
from granchain.store.journal import Checkpoint
from granchain.store.schema import Label, Variable

__all__ = [
    "Answer",
    "Checkpoint",
    "Label",
    "Result",
    "Variable",
    "claim",
    "open_answer",
    "write_atomically",
]
