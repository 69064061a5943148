"""Order for categories without one, and few classes for columns with many.

Both keep a tree's cost at rows x log rows, however many levels a column has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def category_rank(codes: NDArray[np.int32], levels: int, target: NDArray[Any]) -> NDArray[np.int32]:
    """Order categories by the first principal component of their mean target profile.

    Each level's profile (share of every class, or mean of every column) is weighted by its rows.
    For one column, or two classes, that is the order of the means. A level without rows lies at
    the overall mean.

    Example:
        >>> codes = np.array([0, 0, 1, 1, 3], dtype=np.int32)
        >>> category_rank(codes, 4, np.array([[9.0], [9.0], [1.0], [1.0], [2.0]]))
        array([3, 0, 2, 1], dtype=int32)
    """
    count = np.bincount(codes, minlength=levels).astype(np.float64)
    total = level_totals(codes, levels, target)
    centre = total.sum(axis=0) / max(len(codes), 1)
    profile = total / np.maximum(count, 1.0)[:, None] - centre
    profile[count == 0] = 0.0
    score = profile @ leading_direction(profile, count)
    order = np.argsort(score, kind="stable")
    rank = np.empty(levels, dtype=np.int32)
    rank[order] = np.arange(levels)
    return rank


def level_totals(
    codes: NDArray[np.int32], levels: int, target: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the sum of every target column within every level."""
    if target.ndim == 1:
        classes = int(target.max()) + 1 if len(target) else 1
        cell = codes.astype(np.intp) * classes + target
        table = np.bincount(cell, minlength=levels * classes)
        return np.asarray(table, dtype=np.float64).reshape(levels, classes)
    sums = [np.bincount(codes, weights=column, minlength=levels) for column in target.T]
    return np.stack(sums, axis=1)


def leading_direction(
    profile: NDArray[np.float64], count: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the first principal direction, signed so that its largest entry is positive."""
    if profile.shape[1] == 1:
        return np.ones(1)
    direction: NDArray[np.float64] = np.linalg.eigh((profile.T * count) @ profile)[1][:, -1]
    return np.asarray(direction * np.sign(direction[np.argmax(np.abs(direction))]))


def class_target(codes: NDArray[np.int32], levels: int, *, most: int = 32) -> NDArray[np.int32]:
    """Return classes for the split criterion: at most ``most``, however many levels there are.

    The most frequent levels keep a class of their own; the others share the remaining classes,
    dealt in order of their frequency so that classes fill evenly. A random merging of levels
    into m classes estimates the Gini gain without bias but for the factor 1 - 1/m (feature
    hashing: Weinberger et al., 2009), so that the criterion sees the rare levels, too.

    Example:
        >>> class_target(np.array([0, 1, 2, 3, 3], dtype=np.int32), 4, most=2).tolist()
        [1, 1, 1, 0, 0]
    """
    if levels <= most:
        return codes
    count = np.bincount(codes, minlength=levels)
    order = np.argsort(-count, kind="stable")
    own = most // 2
    merged = np.empty(levels, dtype=np.int32)
    merged[order] = np.where(
        np.arange(levels) < own, np.arange(levels), own + np.arange(levels) % (most - own)
    )
    return merged[codes]
