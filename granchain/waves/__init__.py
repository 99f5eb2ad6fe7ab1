"""Waves in a chain of beads.

They are measured in a run (`spectra`, `bands`) or computed from its case (`dispersion`, `modes`).
"""
