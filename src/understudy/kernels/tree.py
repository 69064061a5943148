"""One CART: binary splits on integer codes, grown for speed and kept as plain arrays.

A split at a node minimises the squared error of the target summed over its columns,

    gain = sum_k  S_left,k^2 / n_left  +  S_right,k^2 / n_right  -  S_k^2 / n,

which for a one-hot target is the Gini criterion (Breiman, Friedman, Olshen & Stone, 1984,
sections 4.3 and 8.4). The categories of a nominal predictor are put in order once, at the
root, by the mean of the target; that order is optimal for one column and for two classes
(Breiman et al., theorem 4.5). With more columns they are ordered by the first principal component
of their mean target profile (Coppersmith, Hong & Hosking, 1999). The cost therefore grows with
rows x log rows, never with 2^levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray

Codes = Sequence[NDArray[np.int32]]
CHUNK = 1 << 14
"""Rows that walk down a tree together: their codes stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary tree as arrays: a row goes left when the rank of its code is <= the threshold.

    Attributes:
        feature: Predictor that a node splits on; -1 at a leaf.
        threshold: Largest rank that goes left.
        left: Left child; the right child is always the next node. A leaf points to itself.
        leaf: Number of a leaf from 0, in the order of nodes; -1 at a split.
        rank: Ranks of all nominal predictors' codes, one after another.
        start: Where the ranks of a predictor begin in ``rank``; predictor j is ordered, and its
            codes are their own ranks, when ``start[j] == start[j + 1]``.

    Example:
        >>> codes = [np.repeat(np.arange(3, dtype=np.int32), 10)]
        >>> target = np.repeat([0.0, 1.0, 0.0], 10)[:, None]
        >>> tree = grow(codes, [3], [True], target, rng=np.random.default_rng(1))
        >>> tree.leaves, tree.apply(codes)[::10].tolist()
        (2, [0, 1, 0])
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.int32]
    left: NDArray[np.int32]
    leaf: NDArray[np.int32]
    rank: NDArray[np.int32]
    start: NDArray[np.int64]

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return int(self.leaf.max()) + 1

    def apply(self, codes: Codes) -> NDArray[np.int32]:
        """Return the leaf, 0 to ``leaves - 1``, that each row falls into."""
        n = len(codes[0]) if len(codes) else 0
        leaf = np.zeros(n, dtype=np.int32)
        if self.leaves > 1:
            for begin in range(0, n, CHUNK):
                part = slice(begin, begin + CHUNK)
                leaf[part] = self._walk([column[part] for column in codes])
        return leaf

    def _walk(self, codes: Codes) -> NDArray[np.int32]:
        """Take rows down one level at a time, leaving out those that have reached a leaf."""
        ranks = np.empty((len(codes[0]), len(codes)), dtype=np.int32)
        for j in range(len(codes)):
            ranks[:, j] = ranked(codes[j], self.rank[self.start[j] : self.start[j + 1]])
        flat, node = ranks.ravel(), np.zeros(len(ranks), dtype=np.intp)
        row = np.arange(len(ranks))
        at = node[row]
        while len(row):
            right = flat[row * len(codes) + self.feature[at]] > self.threshold[at]
            at = self.left[at] + right
            node[row] = at
            inner = np.flatnonzero(self.feature[at] >= 0)
            row, at = row[inner], at[inner]
        return self.leaf[node]


def ranked(codes: NDArray[np.int32], rank: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rank of every code; an ordered predictor has no ranks of its own."""
    return rank[codes] if len(rank) else codes


def grow(
    codes: Codes,
    levels: Sequence[int],
    nominal: Sequence[bool],
    target: NDArray[Any],
    *,
    min_leaf: int = 5,
    min_split: int | None = None,
    max_depth: int | None = None,
    complexity: float = 0.0,
    structure_rows: int | None = None,
    rng: np.random.Generator,
) -> Tree:
    """Grow a tree that predicts the target from integer codes.

    Args:
        codes: One array per predictor, values 0 to ``levels[j] - 1``.
        levels: Number of codes of each predictor.
        nominal: Whether a predictor's codes have no order.
        target: Columns of numbers (n, q), or the class of every row as integers (n,): the same
            tree as for its one-hot matrix, without the matrix.
        min_leaf: Fewest rows in a leaf.
        min_split: Fewest rows that may be split; ``2 * min_leaf`` when absent.
        max_depth: Longest path from the root.
        complexity: Least reduction of the total impurity by one split, as a share of the root's.
        structure_rows: Grow on a random sample of at most this many rows.
        rng: Draws the sample and decides between equally good splits.
    """
    n = len(target)
    nominal_rank = [
        category_rank(codes[j], levels[j], target) if nominal[j] else np.empty(0, dtype=np.int32)
        for j in range(len(codes))
    ]
    rank = np.concatenate([np.empty(0, dtype=np.int32), *nominal_rank])
    start = np.cumsum([0, *map(len, nominal_rank)])
    rows = sample(n, structure_rows, rng)
    smallest = max(1, -(-min_leaf * (n if rows is None else len(rows)) // max(n, 1)))
    X = np.empty((n if rows is None else len(rows), len(codes)), dtype=np.float32)
    for j, column in enumerate(codes):
        X[:, j] = ranked(column if rows is None else column[rows], nominal_rank[j])
    y = target if rows is None else target[rows]
    if len(y) < 2 * smallest or not len(codes):
        return stump(rank, start)
    settings = Settings(smallest, max(2, min_split or 2), max_depth, complexity)
    return renumbered(structure(X, y, settings, rng), rank, start)


def sample(
    n: int, structure_rows: int | None, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return sorted rows of a sample, or None when all rows are used."""
    if structure_rows is None or n <= structure_rows:
        return None
    return np.sort(rng.choice(n, structure_rows, replace=False, shuffle=False))


def stump(rank: NDArray[np.int32], start: NDArray[np.int64]) -> Tree:
    """Return the tree that is one leaf."""
    zero = np.zeros(1, dtype=np.int32)
    return Tree(zero - 1, zero, zero, zero, rank, start)


class Settings(NamedTuple):
    """When to stop splitting, in rows of the data that the structure is grown on."""

    min_leaf: int
    min_split: int
    max_depth: int | None
    complexity: float


def structure(
    X: NDArray[np.float32], y: NDArray[Any], stop: Settings, rng: np.random.Generator
) -> Any:
    """Grow the splits with scikit-learn; inputs are made valid here, so its checks are skipped."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    classes = y.ndim == 1
    model = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(
        min_samples_leaf=stop.min_leaf,
        min_samples_split=stop.min_split,
        max_depth=stop.max_depth,
        min_impurity_decrease=stop.complexity * impurity(y) if stop.complexity else 0.0,
        random_state=int(rng.integers(2**31)),
    )
    y = y if classes else np.ascontiguousarray(y, dtype=np.float64)
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        return model.fit(X, y, check_input=False).tree_


def impurity(y: NDArray[Any]) -> float:
    """Return the root's impurity: Gini index, or the mean of the columns' variances."""
    if y.ndim == 1:
        return float(1.0 - ((np.bincount(y) / len(y)) ** 2).sum())
    return float(y.var(axis=0, dtype=np.float64).mean())


def renumbered(grown: Any, rank: NDArray[np.int32], start: NDArray[np.int64]) -> Tree:
    """Number nodes so that the children of one split are neighbours; leaves from left to right."""
    is_leaf = grown.children_left < 0
    inner = np.flatnonzero(~is_leaf)
    number = np.zeros(len(is_leaf), dtype=np.int32)
    number[grown.children_left[inner]] = 2 * np.arange(len(inner)) + 1
    number[grown.children_right[inner]] = 2 * np.arange(len(inner)) + 2
    feature, threshold, left, leaf = (np.empty_like(number) for _ in range(4))
    feature[number] = np.where(is_leaf, -1, grown.feature)
    threshold[number] = np.where(is_leaf, 0, np.floor(grown.threshold))
    left[number] = np.where(is_leaf, number, number[grown.children_left])
    leaf[number] = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
    return Tree(feature, threshold, left, leaf, rank, start)


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
    return direction * np.sign(direction[np.argmax(np.abs(direction))])


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
