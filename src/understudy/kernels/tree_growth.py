"""Where a tree splits: scikit-learn's exact splitter, on codes that sort fast.

Codes have few distinct values, and sorting few distinct values is cheap. Histograms per node, as
boosting libraries use them, were measured: in numpy they need less arithmetic, but counting holds
the interpreter's lock, so that two columns grown in two threads took 1.1 s where this takes 0.65 s.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray

Ints = NDArray[np.int32]
ONE_HOT_CELLS = 1 << 14
"""Below this size one-hot columns cost less than the checks of a classifier's classes."""
DUST = 1e-12
"""Share of the target's second moment below which its variance is rounding error."""
GRID = 2.0**20
"""Largest whole number that stands for a value of the target."""


class Stop(NamedTuple):
    """When to stop splitting, in rows of the data that the structure is grown on.

    ``min_share`` is the least share of all weight in a leaf, where rows have weights.
    """

    min_leaf: int
    min_split: int
    max_depth: int | None
    complexity: float
    min_share: float = 0.0


class Splits(NamedTuple):
    """Nodes in any order but for the root, which is the first; feature -1 is a leaf."""

    feature: Ints
    threshold: Ints
    left: Ints
    right: Ints


def leaf_only() -> Splits:
    """Return the splits of a tree that is one leaf."""
    zero = np.zeros(1, dtype=np.int32)
    return Splits(zero - 1, zero, zero, zero)


def structure(
    X: NDArray[np.float32],
    y: NDArray[Any],
    stop: Stop,
    rng: np.random.Generator,
    weight: NDArray[np.float64] | None = None,
) -> Splits:
    """Grow the splits on ranks (rows, predictors), every predictor ordered.

    Args:
        X: Ordered codes, C-contiguous.
        y: Classes (n,) or columns of numbers (n, q).
        stop: When to stop.
        rng: Decides between equally good splits.
        weight: Weight of every row; all alike when absent.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    goal = compact(gridded(y))
    if not varies(goal):
        return leaf_only()
    kind = DecisionTreeClassifier if goal.ndim == 1 else DecisionTreeRegressor
    model = kind(
        min_samples_leaf=stop.min_leaf,
        min_samples_split=max(2, stop.min_split),
        max_depth=stop.max_depth or None,
        min_impurity_decrease=stop.complexity * impurity(goal) if stop.complexity else 0.0,
        random_state=int(rng.integers(2**31)),
        min_weight_fraction_leaf=min(stop.min_share, 0.5),
    )
    if stop.max_depth == 0 or stop.min_share > 0.5:
        return leaf_only()
    # Inputs are valid by construction: the checks would cost more than a small tree.
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        grown = model.fit(X, goal, weight, check_input=False).tree_
    inner = grown.children_left >= 0
    return Splits(
        np.where(inner, grown.feature, -1).astype(np.int32),
        np.where(inner, np.floor(grown.threshold), 0).astype(np.int32),
        np.where(inner, grown.children_left, 0).astype(np.int32),
        np.where(inner, grown.children_right, 0).astype(np.int32),
    )


def gridded(y: NDArray[Any]) -> NDArray[Any]:
    """Turn two classes into one column; put columns of numbers on a grid of 2^20 whole numbers.

    Sums of whole numbers are exact, so that a constant node is seen to be constant however its
    rows are ordered; in floating point its variance is dust, and would be split.
    """
    if y.ndim == 1:
        if y.max() > 1:
            return y
        y = y[:, None]
    y = y.astype(np.float64)
    y -= np.rint(y.mean(axis=0))
    reach = float(np.abs(y).max(initial=0.0))
    if reach <= GRID and (y == np.rint(y)).all():
        return y
    y -= y.mean(axis=0)
    return np.rint(y * (GRID / max(float(np.abs(y).max()), np.finfo(float).tiny)))


def compact(y: NDArray[Any]) -> NDArray[Any]:
    """Return few classes of few rows as one-hot columns: the same criterion, with fewer checks.

    One of two complementary columns has the average of both.
    """
    if y.ndim > 1:
        return y
    present = np.flatnonzero(np.bincount(y))
    if len(present) * len(y) > ONE_HOT_CELLS and len(present) > 2:
        return y
    shown = present[: 1 if len(present) == 2 else None]
    return np.asarray(y[:, None] == shown, dtype=np.float64)


def varies(y: NDArray[Any]) -> bool:
    """Tell whether there is anything to explain."""
    if y.ndim == 1:
        return bool((y != y[0]).any())
    return bool((y.var(axis=0) > DUST * np.square(y).mean(axis=0)).any())


def impurity(y: NDArray[Any]) -> float:
    """Return the root's impurity as scikit-learn counts it: Gini index, or the mean variance."""
    if y.ndim == 1:
        return float(1.0 - ((np.bincount(y) / len(y)) ** 2).sum())
    return float(y.var(axis=0).mean())
