"""Intervals by the bootstrap, computed without resampling rows where order statistics suffice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.kernels.people import least_rows

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


def effective_rows(values: NDArray[np.float64], person: NDArray[Any] | None) -> int:
    """How many independent rows say as much about the mean as these rows, some of one person.

    n_eff = σ² / V with V = P/(P−1) · Σ_p (Σ_{i in p} (y_i − ȳ))² / n², the variance of the mean
    when people are drawn, each with all rows (Kish 1965, §8.2: n over the design effect). Never
    more than n. Where all rows are alike nothing can be estimated: then n² / Σ m_p², as if all
    of a person's rows said the same. Cost: a sort of the rows.

    Example:
        >>> effective_rows(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1]))
        1
        >>> effective_rows(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 1]))
        4
    """
    n = values.size
    if person is None or n == 0:
        return n
    _, place = np.unique(person, return_inverse=True)
    rows = np.bincount(place)
    spread = float(np.square(values - values.mean()).sum()) / max(n - 1, 1)
    if len(rows) < 2 or spread == 0:
        return max(int(least_rows(person, n)), 1)
    sums = np.bincount(place, weights=values - values.mean())
    variance = len(rows) / (len(rows) - 1) * float(np.square(sums).sum()) / n**2
    return n if variance * n <= spread else max(round(spread / variance), 1)


def quantile_draws(
    values: NDArray[np.float64],
    share: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
    person: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Where the quantile of non-negative values may lie, by order statistics: O(n log n + draws).

    B ~ Binomial(n, share) of n values lie below the true quantile, so it lies between the B-th
    and the (B + 1)-th smallest, the 0-th being 0. With many values this is the bootstrap of
    `quantile`. With few it is wider: the bootstrap never goes below the smallest value, and
    "the 5th percentile" of ten rows, which is their smallest, is their 9th percentile on average.

    With ``person``, rows of one person are not independent: B is a binomial of `effective_rows`
    for the share below the quantile, stretched to n (Woodruff 1952, JASA 47:635).

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
    if person is not None:
        below_or_at = (values <= quantile(values, share)).astype(np.float64)
        some = effective_rows(below_or_at, person)
        spot = rng.binomial(some, share, draws) + rng.random(draws)
        spot *= (values.size + 1) / (some + 1)
        place = np.minimum(spot.astype(np.int64), values.size)
        low, high = ordered[place], ordered[place + 1]
        return np.asarray(low + (spot - place) * (high - low), dtype=np.float64)
    below = rng.binomial(values.size, share, draws)
    low, high = ordered[below], ordered[below + 1]
    return np.asarray(low + rng.random(draws) * (high - low), dtype=np.float64)


def mean_draws(
    values: NDArray[np.float64],
    rng: np.random.Generator,
    draws: int = DRAWS,
    person: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Bootstrap distribution of a mean of values from 0 to 1.

    Values 0, ½ and 1 (shares with ties) are resampled by their counts: O(draws). Where more than
    512 different values occur, their mean is drawn from the normal distribution it is near. With
    ``person``, as many rows are resampled as say as much: `effective_rows`.
    """
    if values.size == 0:
        return np.full(draws, np.nan)
    some = effective_rows(values, person)
    unique, counts = np.unique(values, return_counts=True)
    if len(unique) == 1:
        # All alike: Jeffreys' posterior keeps the interval from being empty.
        spread = rng.beta(0.5, some + 0.5, draws)
        moved = unique[0] + np.where(unique[0] > 0.5, -spread, spread)
        return np.asarray(np.clip(moved, 0.0, 1.0), dtype=np.float64)
    if len(unique) > _FEW:
        return rng.normal(values.mean(), values.std() / np.sqrt(some), draws)
    table = rng.multinomial(some, counts / values.size, size=draws)
    return np.asarray(table @ unique / some, dtype=np.float64)


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
