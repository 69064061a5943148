"""Intervals by the bootstrap, computed without resampling rows where order statistics suffice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

DRAWS = 2000


def quantile(values: NDArray[np.float64], share: float) -> float:
    """The ⌈share · n⌉-th smallest value (the inverse of the empirical distribution).

    Example:
        >>> quantile(np.arange(1.0, 101.0), 0.05)
        5.0
    """
    if values.size == 0:
        return float("nan")
    spot = max(int(np.ceil(share * values.size)) - 1, 0)
    return float(np.partition(values, spot)[spot])


def quantile_draws(
    values: NDArray[np.float64], share: float, rng: np.random.Generator, draws: int = DRAWS
) -> NDArray[np.float64]:
    """Bootstrap distribution of `quantile`, exactly and in O(n log n + draws).

    The k-th smallest of n draws with replacement from n sorted values is the value at position
    ⌈n·B⌉ with B ~ Beta(k, n − k + 1).
    """
    n = values.size
    if n == 0:
        return np.full(draws, np.nan)
    k = max(int(np.ceil(share * n)), 1)
    spot = np.ceil(rng.beta(k, n - k + 1, draws) * n).astype(np.int64) - 1
    return np.asarray(np.sort(values)[np.clip(spot, 0, n - 1)], dtype=np.float64)


def mean_draws(
    values: NDArray[np.float64], rng: np.random.Generator, draws: int = DRAWS
) -> NDArray[np.float64]:
    """Bootstrap distribution of a mean of values that take few different values.

    Values 0, ½ and 1 (shares with ties) are resampled by their counts: O(draws).
    """
    if values.size == 0:
        return np.full(draws, np.nan)
    unique, counts = np.unique(values, return_counts=True)
    if len(unique) == 1:
        # All alike: Jeffreys' posterior keeps the interval from being empty.
        spread = rng.beta(0.5, values.size + 0.5, draws)
        return np.clip(unique[0] + np.where(unique[0] > 0.5, -spread, spread), 0.0, 1.0)
    table = rng.multinomial(values.size, counts / values.size, size=draws)
    return np.asarray(table @ unique / values.size, dtype=np.float64)


def interval(draws: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Percentile interval of bootstrap draws."""
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)


def z_of(level: float) -> float:
    """Normal quantile of a two-sided interval.

    Example:
        >>> round(z_of(0.95), 3)
        1.96
    """
    return float(ndtri(0.5 + level / 2))
