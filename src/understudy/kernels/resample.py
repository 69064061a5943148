"""Intervals by the bootstrap, computed without resampling rows where order statistics suffice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

DRAWS = 2000
_FEW = 512  # so many different values are resampled by their counts; the mean of more is normal


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
    """Where the quantile of non-negative values may lie, by order statistics: O(n log n + draws).

    B ~ Binomial(n, share) of n values lie below the true quantile, so it lies between the B-th
    and the (B + 1)-th smallest, the 0-th being 0. With many values this is the bootstrap of
    `quantile`. With few it is wider: the bootstrap never goes below the smallest value, and
    "the 5th percentile" of ten rows, which is their smallest, is their 9th percentile on average.

    Source: Thompson (1936), Annals of Mathematical Statistics 7:122; David & Nagaraja (2003), §7.1.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> float(quantile_draws(np.array([2.0, 3.0]), 0.05, rng).mean().round(1))
        1.1
    """
    if values.size == 0:
        return np.full(draws, np.nan)
    ordered = np.concatenate(([0.0], np.sort(values)))
    ordered = np.append(ordered, ordered[-1])
    below = rng.binomial(values.size, share, draws)
    low, high = ordered[below], ordered[below + 1]
    return np.asarray(low + rng.random(draws) * (high - low), dtype=np.float64)


def mean_draws(
    values: NDArray[np.float64], rng: np.random.Generator, draws: int = DRAWS
) -> NDArray[np.float64]:
    """Bootstrap distribution of a mean of values from 0 to 1.

    Values 0, ½ and 1 (shares with ties) are resampled by their counts: O(draws). Where more than
    512 different values occur, their mean is drawn from the normal distribution it is near.
    """
    if values.size == 0:
        return np.full(draws, np.nan)
    unique, counts = np.unique(values, return_counts=True)
    if len(unique) == 1:
        # All alike: Jeffreys' posterior keeps the interval from being empty.
        spread = rng.beta(0.5, values.size + 0.5, draws)
        moved = unique[0] + np.where(unique[0] > 0.5, -spread, spread)
        return np.asarray(np.clip(moved, 0.0, 1.0), dtype=np.float64)
    if len(unique) > _FEW:
        return rng.normal(values.mean(), values.std() / np.sqrt(values.size), draws)
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
