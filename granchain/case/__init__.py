"""Cases: complete and checked inputs of runs, read from TOML."""

from granchain.case.case import Case, case_as_given, check_case, load_case
from granchain.case.document import case_names
from granchain.case.mechanism import (
    MechanismCase,
    load_mechanism,
    mechanism_as_given,
    mechanism_case,
    mechanism_names,
)

__all__ = [
    "Case",
    "MechanismCase",
    "case_as_given",
    "case_names",
    "check_case",
    "load_case",
    "load_mechanism",
    "mechanism_as_given",
    "mechanism_case",
    "mechanism_names",
]
