"""All that is Numba's: how functions are compiled, what they reach, how rows are read, where
compiled loops are saved."""
