"""What a contact law delivers, measured on two steel beads, and the pages about it."""

from granchain.certificates.examples import EXAMPLE_PAIR, example_inputs, example_pair, pair_with
from granchain.certificates.measure import Certificate, certificate
from granchain.certificates.page import law_page, markdown, reference_page

__all__ = [
    "EXAMPLE_PAIR",
    "Certificate",
    "certificate",
    "example_inputs",
    "example_pair",
    "law_page",
    "markdown",
    "pair_with",
    "reference_page",
]
