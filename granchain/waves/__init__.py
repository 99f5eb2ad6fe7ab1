"""Waves in a row of beads: measured in a run (`spectra`, `bands`), and of its case
(`dispersion`)."""
