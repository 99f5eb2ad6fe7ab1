"""The output file and what is in it.

`Result` is what a run gives back, `Result.save` writes it whole, `open_result` reads a file from
anywhere, `claim` holds the right to write a file during a long run, `Checkpoint` is what another
process needs to go on with it. The only part of granchain that uses h5py.
"""

from granchain.store.checkpoint import Checkpoint
from granchain.store.files import claim, write_atomically
from granchain.store.reader import open_result
from granchain.store.result import Result
from granchain.store.variables import Variable

__all__ = ["Checkpoint", "Result", "Variable", "claim", "open_result", "write_atomically"]
