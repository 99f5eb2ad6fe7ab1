"""Number of doubles in a vector of this processor, as LLVM chooses it."""

import math
import re
from functools import cache

import numba
import numpy as np


@cache
def vector_width() -> int:
    """Return the number of square roots that LLVM computes at once in a plain loop of Numba.

    It is 8 with AVX-512, but 4 on some processors with AVX-512, for which LLVM prefers shorter
    vectors.
    """

    @numba.njit
    def roots(values, results):
        for k in range(values.size):
            results[k] = math.sqrt(values[k])

    roots(np.ones(8), np.ones(8))
    (code,) = roots.inspect_llvm().values()
    return max(int(width) for width in re.findall(r"call <(\d+) x double> @llvm\.sqrt", code))
