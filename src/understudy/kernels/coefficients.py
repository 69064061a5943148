"""Coefficients of two tables compared: standardised difference, interval overlap, and chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
DRAWS = 2000
FAR = 100.0  # standard errors: further than this, or not estimable at all, counts as this far


def difference(original: Float, synthetic: Float, error: Float) -> Float:
    """Standardised difference |β̂_c − β̂_s| / se(β̂_c): Bale & Quick, equation 29. O(p).

    Example:
        >>> difference(np.array([1.0]), np.array([0.5]), np.array([0.25])).tolist()
        [2.0]
    """
    return np.asarray(np.abs(original - synthetic) / error, dtype=np.float64)


def overlap(low: Float, high: Float, other_low: Float, other_high: Float) -> Float:
    """Mean share of two intervals that both cover: Bale & Quick, equation 28. O(p).

    IO = ½ {(min u − max l) / (u_c − l_c) + (min u − max l) / (u_s − l_s)}, where the paper's
    "min(u_c − u_s)" is a misprint of min(u_c, u_s). Intervals that do not meet give less than 0
    (Karr et al. 2006 define it so): equal widths w at distance d have 1 − d/w.

    Example:
        >>> ends = [np.array([x]) for x in (0.0, 4.0, 1.0, 5.0)]
        >>> overlap(*ends).tolist()
        [0.75]
    """
    both = np.minimum(high, other_high) - np.maximum(low, other_low)
    return np.asarray(0.5 * (both / (high - low) + both / (other_high - other_low)), np.float64)


@dataclass(frozen=True, eq=False)
class Compared:
    """Coefficients of a model on the original and on a synthetic table, one entry each.

    Attributes:
        difference: standardised differences; `FAR` where the synthetic one does not exist.
        overlap: interval overlaps; those of `FAR` where the synthetic one does not exist.
        lost: where the synthetic table has no estimate.
    """

    difference: Float
    overlap: Float
    lost: NDArray[np.bool_]


def compare(
    estimate: Float, error: Float, other: Float, other_error: Float, quantiles: tuple[float, float]
) -> Compared:
    """Equations 28 and 29 with ``estimate ± quantile · error`` for the intervals. O(p).

    A coefficient that the synthetic table cannot give is lost: it counts as `FAR` standard errors
    off, so that losing levels never looks better than keeping them badly. Finite differences are
    cut there, too.
    """
    lost = ~(np.isfinite(other) & np.isfinite(other_error))
    filled = np.where(lost, estimate, other)
    spread = np.where(lost, error, other_error)
    off = np.minimum(difference(estimate, filled, error), FAR)
    inner, outer = quantiles[0] * error, quantiles[1] * spread
    share = overlap(estimate - inner, estimate + inner, filled - outer, filled + outer)
    worst = 1 - FAR / (2 * quantiles[0])
    return Compared(np.where(lost, FAR, off), np.where(lost, worst, np.maximum(share, worst)), lost)


def by_chance(
    spread: Float,
    ratio: float,
    quantiles: tuple[float, float],
    rng: np.random.Generator,
    *,
    replicates: int = 1,
    draws: int = DRAWS,
) -> tuple[Float, Float]:
    """Medians of difference and overlap that fresh samples would show: O(draws · m · p²).

    Both tables are samples of one population: in standard errors of the original,
    β̂_c − β̂_s = e_0 − √r·e_l with e ~ N(0, S), S the covariance of the original's coefficients and
    r = n_c / n_s. The original is the same for all replicates. Medians are over coefficients and
    replicates.

    Args:
        spread: S, the (robust) covariance over the products of the standard errors.
        ratio: r, rows of the original per row of the synthetic table.
        quantiles: half-widths of the two intervals, in standard errors.
        rng: where the draws come from.
        replicates: how many synthetic tables.
        draws: how often.

    Example:
        >>> off, _ = by_chance(np.eye(1), 1.0, (1.96, 1.96), np.random.default_rng(1))
        >>> bool(abs(np.median(off) - 0.6745 * 2**0.5) < 0.05)
        True
    """
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    size, inner, outer = len(spread), quantiles[0], quantiles[1] * np.sqrt(ratio)
    off, share = np.empty(draws), np.empty(draws)
    block = max(1, 2_000_000 // (size * replicates))
    for start in range(0, draws, block):
        count = min(block, draws - start)
        own = rng.standard_normal((count, 1, size))
        others = rng.standard_normal((count, replicates, size))
        apart = ((own - np.sqrt(ratio) * others) @ root.T).reshape(count, -1)
        met = np.minimum(inner, apart + outer) - np.maximum(-inner, apart - outer)
        off[start : start + count] = np.median(np.abs(apart), axis=1)
        # With w the half-widths: met / 2w averaged over the two intervals.
        share[start : start + count] = np.median(met * (1 / inner + 1 / outer) / 4, axis=1)
    return off, share
