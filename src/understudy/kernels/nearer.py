"""How often the nearest of two groups' rows belongs to the first, and what chance would give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spread_hits(nearest: NDArray[np.int64], twin: NDArray[np.int64]) -> NDArray[np.float64]:
    """Queries that each row attracts, shared equally among rows that are equal. Cost: rows.

    Args:
        nearest: row nearest to each query.
        twin: number of the distinct row that each row is: equal rows have equal numbers.

    Example:
        >>> spread_hits(np.array([0, 0, 2]), np.array([5, 5, 7])).tolist()
        [1.0, 1.0, 1.0]
    """
    size = int(twin.max(initial=-1)) + 1
    attracted = np.bincount(twin[nearest], minlength=size)
    alike = np.bincount(twin, minlength=size)
    return np.asarray(attracted[twin] / alike[twin], dtype=np.float64)


def share_of_first(
    hits: NDArray[np.float64], first: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Share of hits on the first group, with its mean and deviation if labels were dealt out.

    If a release knows nothing of which rows are train, every labelling of the pooled rows is
    equally likely: the mean is n₁/n whatever the release looks like, ties or not, and

        Var = n₁·n₂ / (n·(n − 1)) · Σ (h_i − h̄)² / (Σ h_i)².

    The deviation covers the chance of both: which rows ask, and which rows were held out.
    Cost: rows.

    Example:
        >>> share, mean, sd = share_of_first(np.array([1.0, 1.0, 2.0, 0.0]), np.arange(4) < 2)
        >>> share, mean
        (0.5, 0.5)
    """
    n, total = len(hits), float(hits.sum())
    one = int(first.sum())
    if n < 2 or total == 0:
        return float("nan"), float("nan"), float("nan")
    spread = float(np.square(hits - hits.mean()).sum())
    variance = one * (n - one) / (n * (n - 1)) * spread / total**2
    return float(hits[first].sum() / total), one / n, float(np.sqrt(variance))
