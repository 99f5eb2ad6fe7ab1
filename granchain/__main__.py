"""`python -m granchain`: the same as `granchain`."""

from granchain.cli import main

main()
