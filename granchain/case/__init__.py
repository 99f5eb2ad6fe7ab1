"""Cases: what is to be computed, read from TOML, complete and checked."""

from granchain.case.case import Case, case_from_resolved, check_case, load_case
from granchain.case.document import case_names
from granchain.case.mechanism import MechanismCase, load_mechanism, mechanism_case, mechanism_names

__all__ = [
    "Case",
    "MechanismCase",
    "case_from_resolved",
    "case_names",
    "check_case",
    "load_case",
    "load_mechanism",
    "mechanism_case",
    "mechanism_names",
]
