"""Compilation with Numba: options, fingerprints of functions, access to rows of tables, and the
disk cache of compiled loops."""
