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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from understudy.kernels.tree_growth import Splits, Stop, leaf_only, structure
from understudy.kernels.tree_order import category_rank, class_target

__all__ = ["Tree", "class_target", "grow"]

Codes = Sequence[NDArray[np.int32]]
CHUNK = 1 << 13
"""Rows that walk down a tree together: their codes stay in the processor's cache."""
STEPS = 3
"""Levels that rows walk before those in a leaf are left out."""
PEOPLE = 10
"""So many people are enough in a leaf of any size."""
HALF = np.int64(32)
KEEP_LEFT = np.int64(2**31 - 1)
"""Where the threshold stands in a split; as a split, first predictor and never to the right."""


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

    def leaf_order(self) -> NDArray[np.int32]:
        """Place of each leaf from left to right: the leaves of a branch are neighbours.

        Example:
            >>> left, right = [1, 3, 0, 0, 0], [2, 4, 0, 0, 0]
            >>> splits = Splits(*np.array([[0, 1, -1, -1, -1], [0] * 5, left, right]))
            >>> tree = numbered(splits, np.empty(0, np.int32), np.zeros(1, np.int64))
            >>> tree.leaf.tolist(), tree.leaf_order().tolist()
            ([-1, -1, 0, 1, 2], [2, 0, 1])
        """
        left, leaf = self.left.tolist(), self.leaf.tolist()
        place, stack, count = np.empty(self.leaves, dtype=np.int32), [0], 0
        while stack:
            node = stack.pop()
            if leaf[node] < 0:
                stack += [left[node] + 1, left[node]]
            else:
                place[leaf[node]] = count
                count += 1
        return place

    def apply(self, codes: Codes) -> NDArray[np.int32]:
        """Return the leaf, 0 to ``leaves - 1``, that each row falls into."""
        n = len(codes[0]) if len(codes) else 0
        leaf: NDArray[np.int32] = np.zeros(n, dtype=np.int32)
        if self.leaves > 1:
            code = (self.feature << HALF) + self.threshold
            split = np.where(self.feature < 0, KEEP_LEFT, code)
            left = self.left.astype(np.intp)
            for begin in range(0, n, CHUNK):
                part = slice(begin, begin + CHUNK)
                leaf[part] = self._walk([column[part] for column in codes], split, left)
        return leaf

    def _walk(
        self, codes: Codes, split: NDArray[np.int64], left: NDArray[np.intp]
    ) -> NDArray[np.int32]:
        """Take rows down one level at a time; those in a leaf stay, and are now and then left out.

        A split is one number, feature above threshold: one look-up in place of two.
        """
        ranks = np.empty((len(codes[0]), len(codes)), dtype=np.int32)
        for j in range(len(codes)):
            ranks[:, j] = ranked(codes[j], self.rank[self.start[j] : self.start[j + 1]])
        leaf: NDArray[np.int32] = np.empty(len(ranks), dtype=np.int32)
        flat = ranks.ravel()
        row, at = np.arange(len(ranks)), np.zeros(len(ranks), dtype=np.intp)
        while len(row):
            base = row * len(codes)
            for _ in range(STEPS):
                now = split.take(at)
                right = flat.take(base + (now >> HALF)) > (now & KEEP_LEFT)
                at = left.take(at) + right
            here = self.leaf.take(at)
            leaf[row] = here
            inner = np.flatnonzero(here < 0)
            row, at = row.take(inner), at.take(inner)
        return leaf


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
    person: NDArray[np.int64] | None = None,
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
        structure_rows: Grow on a random sample of at most this many rows; few leaves then have
            fewer than ``min_leaf`` rows of the full data, but some may.
        person: Whose row each is, where people have several. All rows of a person then weigh 1
            together, and a leaf weighs at least ``min_leaf`` or 10: so many people have rows in it.
        rng: Draws the sample and decides between equally good splits.
    """
    nominal_rank = [
        category_rank(codes[j], levels[j], target) if nominal[j] else np.empty(0, dtype=np.int32)
        for j in range(len(codes))
    ]
    rank = np.concatenate([np.empty(0, dtype=np.int32), *nominal_rank])
    start = np.cumsum([0, *map(len, nominal_rank)])
    rows = sample(len(target), structure_rows, rng)
    y = target if rows is None else target[rows]
    scaled = min_leaf if rows is None else sampled_leaf(min_leaf, len(y) / len(target))
    weight, share = None, 0.0
    if person is not None:
        _, whose, size = np.unique(person, return_inverse=True, return_counts=True)
        weight, share = 1.0 / size[whose], min(min_leaf, PEOPLE) / max(len(size), 1)
        weight = weight if rows is None else weight[rows]
    stop = Stop(scaled, max(min_split or 0, 2 * scaled), max_depth, complexity, share)
    if len(y) < stop.min_split or not len(codes):
        return numbered(leaf_only(), rank, start)
    X = np.empty((len(y), len(codes)), dtype=np.float32)
    for j, column in enumerate(codes):
        X[:, j] = ranked(column if rows is None else column[rows], nominal_rank[j])
    return numbered(structure(X, y, stop, rng, weight), rank, start)


def sample(
    n: int, structure_rows: int | None, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return sorted rows of a sample, or None when all rows are used."""
    if structure_rows is None or n <= structure_rows:
        return None
    return np.sort(rng.choice(n, structure_rows, replace=False, shuffle=False))


def sampled_leaf(min_leaf: int, share: float) -> int:
    """Return the fewest sampled rows that stand for ``min_leaf`` rows of the full data.

    The least s with P(Binomial(min_leaf - 1, share) >= s) <= 1%: a region of fewer rows than
    ``min_leaf`` rarely has s of them in the sample. A tenth of 5 would be half a row, and a
    leaf with one sampled row has too often no other.

    Example:
        >>> sampled_leaf(5, 0.1), sampled_leaf(5, 0.999), sampled_leaf(1, 0.1)
        (3, 5, 1)
    """
    least = np.arange(1, min_leaf + 1)
    return int(least[np.argmax(bdtrc(least - 1, min_leaf - 1, share) <= 0.01)])


def numbered(splits: Splits, rank: NDArray[np.int32], start: NDArray[np.int64]) -> Tree:
    """Number nodes so that the children of one split are neighbours, and number the leaves."""
    is_leaf = splits.feature < 0
    inner = np.flatnonzero(~is_leaf)
    number = np.zeros(len(is_leaf), dtype=np.int32)
    number[splits.left[inner]] = 2 * np.arange(len(inner)) + 1
    number[splits.right[inner]] = 2 * np.arange(len(inner)) + 2
    feature, threshold, left, leaf = (np.empty_like(number) for _ in range(4))
    feature[number] = splits.feature
    threshold[number] = splits.threshold
    left[number] = np.where(is_leaf, number, number[splits.left])
    leaf[number] = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
    return Tree(feature, threshold, left, leaf, rank, start)
