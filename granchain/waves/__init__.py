"""Waves in a row of beads: measured in a run (`spectra`), and of its case (`dispersion`)."""
