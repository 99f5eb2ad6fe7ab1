"""Periodic orbits of driven chains, breathers, and branches of orbits."""
