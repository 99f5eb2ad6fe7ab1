"""Cases: complete and checked inputs of runs, read from TOML."""

from granchain.case.case import Case, case_as_given, check_case, check_fixed_ends, load_case
from granchain.case.document import case_names, mechanism_names

__all__ = [
    "Case",
    "case_as_given",
    "case_names",
    "check_case",
    "check_fixed_ends",
    "load_case",
    "mechanism_names",
]
