"""What a contact law delivers, measured on two steel beads."""

from granchain.certificates.examples import EXAMPLE_PAIR, example_inputs, example_pair, pair_with
from granchain.certificates.measure import Certificate, certificate

__all__ = [
    "EXAMPLE_PAIR",
    "Certificate",
    "certificate",
    "example_inputs",
    "example_pair",
    "pair_with",
]
