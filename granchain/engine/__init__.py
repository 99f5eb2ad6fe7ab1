"""The engine: compiled time loops, each for one contact law."""
