"""What an attacker makes of the nearest synthetic rows: links and guesses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def linked(first: Ints, second: Ints) -> Bools:
    """Whether two lists of nearest rows share a row, for each target; −1 is no row.

    Source: Giomi et al. (2023), §4.2. Cost: O(targets × k²).

    Example:
        >>> linked(np.array([[0, 1], [2, 3]]), np.array([[1, 4], [0, 1]])).tolist()
        [True, False]
    """
    same = first[:, :, None] == second[:, None, :]
    return np.asarray((same & (first >= 0)[:, :, None]).any(axis=(1, 2)), dtype=np.bool_)


def near_enough(guess: Floats, truth: Floats, tolerance: float, floor: float) -> Bools:
    """Whether guessed numbers are right: |guess − truth| ≤ max(tolerance · |truth|, floor).

    The size of the truth says what is near, never that of the guess, and never a signed number. A
    missing value is guessed by missing, and by nothing else. Cost: O(n).

    Example:
        >>> guess, truth = np.array([-9.6, 9.6, 0.1, np.nan]), np.array([-10.0, -10.0, 0.0, np.nan])
        >>> near_enough(guess, truth, 0.05, 0.2).tolist()
        [True, False, True, True]
    """
    with np.errstate(over="ignore"):
        off = np.abs(guess - truth)
    allowed = np.maximum(tolerance * np.abs(truth), floor)
    return np.asarray((off <= allowed) | (np.isnan(guess) & np.isnan(truth)), dtype=np.bool_)
