"""Shares, means and ratios of sums with their standard errors, weighted or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.resample import z_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Total:
    """An estimate, its standard error, and its interval.

    Attributes:
        value: the estimate.
        error: its standard error; for a share never 0, however few rows have it.
        low: lower end of the interval.
        high: upper end.
    """

    value: float
    error: float
    low: float
    high: float


def ratio_of_sums(
    top: Floats, bottom: Floats, weights: Floats | None = None, *, level: float = 0.95
) -> Total | None:
    """R = Σ w·y / Σ w·x with its linearised standard error; None where Σ w·x is 0. O(n).

    With z = w·(y − R·x) / Σ w·x, Var R = n/(n − 1) · Σ z² (Σ z = 0): the usual error of a mean
    where x = 1, the delta method else, and with weights that of a sample with replacement (strata
    and clusters are not known).

    Source: Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, §5.6.

    Example:
        >>> found = ratio_of_sums(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
        >>> found.value, found.error
        (2.0, 1.0)
    """
    weight = np.ones(len(top)) if weights is None else weights
    base = float(weight @ bottom)
    if base == 0 or len(top) < 2:
        return None
    value = float(weight @ top) / base
    parts = weight * (top - value * bottom) / base
    error = float(np.sqrt(len(top) / (len(top) - 1) * (parts @ parts)))
    half = z_of(level) * error
    return Total(value, error, value - half, value + half)


def share(hits: int, rows: int, *, level: float = 0.95) -> Total | None:
    """A share with Wilson's interval, and its error at the share that the interval is centred on.

    centre = (h + z²/2) / (n + z²), interval centre ± z/(n + z²) · √(h(n − h)/n + z²/4), and
    error = √(centre · (1 − centre) / (n + z²)) (Agresti & Coull 1998). None without rows.

    Source: Wilson (1927), Journal of the American Statistical Association 22.

    Example:
        >>> found = share(23, 100)
        >>> round((found.low + found.high) / 2, 6), round((found.high - found.low) / 2, 6)
        (0.239988, 0.081556)
    """
    if rows == 0:
        return None
    z = z_of(level)
    centre = (hits + z**2 / 2) / (rows + z**2)
    half = z / (rows + z**2) * np.sqrt(hits * (rows - hits) / rows + z**2 / 4)
    error = float(np.sqrt(centre * (1 - centre) / (rows + z**2)))
    return Total(hits / rows, error, float(centre - half), float(centre + half))
