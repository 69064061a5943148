"""Even draws: one random start, and every row's draw at its place on a comb.

Independent draws add the noise of a second sample to that of train. Here row r, in an order in
which like rows are neighbours, draws at

    u_r = (U + r·φ) mod 1,   φ = (√5 − 1)/2,   U uniform on [0, 1).

Every u_r is uniform, so each row is drawn from its own distribution, as ever. But multiples of the
golden ratio fill [0, 1) evenly along every stretch of rows (discrepancy of order log n / n: Kuipers
& Niederreiter 1974, §2.3), so the counts of every group of neighbours stay within a few of what is
expected. The rows share U and nothing else: a replicate's probability is the measure of the starts
U that draw it, which is exact and cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
DUST = 1e-14
"""Width below which what is left of the starts is rounding error."""


def order(keys: Sequence[NDArray[Any]], rows: int) -> Ints:
    """Rows sorted by the first key, then the second, …; equal rows stay in their order.

    Cost: one sort of the rows per key.

    Example:
        >>> order([np.array([1, 0, 1]), np.array([5, 9, 3])], 3).tolist()
        [1, 2, 0]
    """
    return np.lexsort(tuple(keys)[::-1]) if keys else np.arange(rows)


def spots(along: Ints, rng: np.random.Generator) -> Floats:
    """Where each row draws, 0 to 1: one random start, golden steps along the order.

    Example:
        >>> spots(np.array([1, 0]), np.random.default_rng(1)).round(3).tolist()
        [0.13, 0.512]
    """
    result = np.empty(len(along))
    result[along] = (rng.random() + _steps(len(along))) % 1.0
    return result


def log_measure(along: Ints, low: Floats, high: Floats) -> float:
    """Log probability that every row's spot falls in its part [low, high) of [0, 1).

    Each row allows an arc of starts; what is left is what no row forbids. Cost: one sort.

    Example:
        >>> round(float(np.exp(log_measure(np.arange(1), np.array([0.2]), np.array([0.7])))), 6)
        0.5
    """
    shift = _steps(len(along))
    # What a row forbids: from the end of its part to its beginning, round the circle.
    begin = (high[along] - shift) % 1.0
    length = 1.0 - (high - low)[along]
    end = begin + length
    over = end > 1.0
    starts = np.concatenate((begin, np.zeros(int(over.sum()))))
    ends = np.concatenate((np.minimum(end, 1.0), end[over] - 1.0))
    by = np.argsort(starts, kind="stable")
    reach = np.concatenate(([0.0], np.maximum.accumulate(ends[by])))
    gaps = np.append(starts[by], 1.0) - reach
    with np.errstate(divide="ignore"):
        return float(np.log(gaps[gaps > DUST].sum()))


def _steps(rows: int) -> Floats:
    return np.asarray((np.arange(rows) * GOLDEN) % 1.0, dtype=np.float64)
