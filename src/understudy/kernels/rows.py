"""Multisets of rows, given as one number per row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def overlap(first: Ints, second: Ints) -> float:
    """Shared mass of two multisets: Σ_r min(a_r / N_a, b_r / N_b), 1 − total variation.

    Example:
        >>> overlap(np.array([0, 0, 1]), np.array([0, 1, 2]))
        0.6666666666666666
    """
    if first.size == 0 or second.size == 0:
        return 0.0
    size = int(max(first.max(), second.max())) + 1
    a = np.bincount(first, minlength=size) / first.size
    b = np.bincount(second, minlength=size) / second.size
    return float(np.minimum(a, b).sum())


def overlap_null(
    first: Ints, second: Ints, rng: np.random.Generator, *, draws: int
) -> tuple[float, float]:
    """Mean and standard deviation of `overlap` when the pooled rows are dealt out at random.

    Cost: O(draws × rows).
    """
    if first.size == 0 or second.size == 0:
        return 0.0, 0.0
    counts = np.bincount(np.concatenate([first, second]))
    found = []
    for _ in range(draws):
        a = rng.multivariate_hypergeometric(counts, first.size, method="marginals")
        b = counts - a
        found.append(float(np.minimum(a / first.size, b / second.size).sum()))
    return float(np.mean(found)), float(np.std(found, ddof=1))


def same_shares(first: Ints, second: Ints) -> bool:
    """Tell whether every row has the same share of both multisets: one is a copy of the other.

    Whole-number arithmetic: shares a/N and b/M are equal where a·M = b·N.

    Example:
        >>> same_shares(np.array([0, 1]), np.array([1, 0, 0, 1]))
        True
    """
    size = int(max(first.max(initial=0), second.max(initial=0))) + 1
    a, b = np.bincount(first, minlength=size), np.bincount(second, minlength=size)
    return first.size > 0 and bool(np.array_equal(a * second.size, b * first.size))


def hits_unique(train: Ints, other: Ints) -> NDArray[np.float64]:
    """For each row of ``other``: 1 if it equals a row that is unique in train, else 0.

    Example:
        >>> hits_unique(np.array([0, 0, 1]), np.array([0, 1, 2])).tolist()
        [0.0, 1.0, 0.0]
    """
    size = int(max(train.max(initial=0), other.max(initial=0))) + 1
    return np.asarray(np.bincount(train, minlength=size)[other] == 1, dtype=np.float64)
