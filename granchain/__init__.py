"""Discrete-element simulation of one-dimensional chains of beads, with every contact law
written once."""

import lazy_loader

__version__ = "0.1.0"

__getattr__, _public_names, __all__ = lazy_loader.attach_stub(__name__, __file__)
# `from granchain import *` must not replace Python's function `open`.
__all__.remove("open")


def __dir__() -> list[str]:
    return [*_public_names(), "__version__"]
