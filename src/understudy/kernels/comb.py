"""Even draws: neighbours share one random start, and each draws at its place on a comb.

Independent draws add the noise of a second sample to that of train. Here rows are put in an order
in which like rows are neighbours, and cut into combs of so many rows. Row r of a comb draws at

    u_r = (U + r·φ) mod 1,   φ = (√5 − 1)/2,   U uniform on [0, 1), one for each comb.

Every u_r is uniform, so each row is drawn from its own distribution, as ever. But multiples of the
golden ratio fill [0, 1) evenly along every stretch of rows (discrepancy of order log n / n: Kuipers
& Niederreiter 1974, §2.3), so the counts of every group of neighbours stray less. The rows of a
comb share U and nothing else: a replicate's probability is the product over combs of the measure of
the starts that draw it, which is exact and cheap.

What it costs: the noise that hides one record shrinks with that of the counts. Short combs keep
some of it, one comb for all rows keeps none.
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


def spots(along: Ints, rng: np.random.Generator, size: int) -> Floats:
    """Where each row draws, 0 to 1: a random start for every ``size`` rows, then golden steps.

    Example:
        >>> spots(np.array([1, 0]), np.random.default_rng(1), 2).round(3).tolist()
        [0.13, 0.512]
    """
    result = np.empty(len(along))
    start = rng.random(-(-len(along) // size))
    result[along] = (np.repeat(start, size)[: len(along)] + _steps(len(along), size)) % 1.0
    return result


def log_measure(along: Ints, low: Floats, high: Floats, size: int) -> float:
    """Log probability that every row's spot falls in its part [low, high) of [0, 1).

    Each row allows its comb an arc of starts; what is left is what no row forbids. Cost: a sort of
    each comb.

    Example:
        >>> both = np.array([0.2, 0.0]), np.array([0.7, 0.5])
        >>> [round(float(np.exp(log_measure(np.arange(2), *both, size))), 4) for size in (1, 2)]
        [0.25, 0.318]
    """
    size = max(min(size, len(along)), 1)
    shift = _steps(len(along), size)
    # What a row forbids: from the end of its part to its beginning, round the circle.
    begin = (high[along] - shift) % 1.0
    end = begin + 1.0 - (high - low)[along]
    # The last comb may be short: rows that forbid nothing fill it.
    begin, end = _combs(begin, size), _combs(end, size)
    starts = np.concatenate((begin, np.zeros_like(begin)), axis=1)
    ends = np.concatenate((np.minimum(end, 1.0), np.maximum(end - 1.0, 0.0)), axis=1)
    by = np.argsort(starts, axis=1, kind="stable")
    reach = np.maximum.accumulate(np.take_along_axis(ends, by, axis=1), axis=1)
    first = np.zeros((len(begin), 1))
    gaps = np.concatenate((np.take_along_axis(starts, by, axis=1), first + 1.0), axis=1)
    gaps -= np.concatenate((first, reach), axis=1)
    with np.errstate(divide="ignore"):
        return float(np.log(np.where(gaps > DUST, gaps, 0.0).sum(axis=1)).sum())


def _combs(values: Floats, size: int) -> Floats:
    filled = np.zeros(-(-len(values) // size) * size)
    filled[: len(values)] = values
    return filled.reshape(-1, size)


def _steps(rows: int, size: int) -> Floats:
    return np.asarray((np.arange(rows) % size * GOLDEN) % 1.0, dtype=np.float64)
