"""`python -m granchain`: the same as `granchain`."""

from granchain.cli import main

if __name__ == "__main__":
    main()
