"""Verification reports: properties of a contact law, measured on two steel beads."""

from granchain.certificates.measure import Certificate, certificate
from granchain.contact.examples import EXAMPLE_PAIR, example_inputs, example_pair
from granchain.two_body import pair_with

__all__ = [
    "EXAMPLE_PAIR",
    "Certificate",
    "certificate",
    "example_inputs",
    "example_pair",
    "pair_with",
]
