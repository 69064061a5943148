"""Where a tree splits: histograms while nodes are large, scikit-learn once they are small.

Sorting a node's rows per predictor, as an exact splitter must, is most of a large node's cost;
counting rows and summing the target per (node, code) finds the same split at a quarter of it.
A small node has fewer rows than codes, and there sorting wins. Both search every cut of every
predictor, so the tree is the one that a single exact splitter would grow, but for ties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Table = NDArray[np.float64]
SMALLEST = 300
"""Rows below which a node is always handed over."""
CELLS_PER_ROW = 4
"""A node is small when its histograms have this many cells for each of its rows."""
FEW_PREDICTORS = 3
"""Below this number histograms do not pay: few distinct rows are sorted quickly."""
ONE_HOT_CELLS = 1 << 14
"""Below this size one-hot columns cost less than the checks of a classifier's classes."""
DUST = 1e-12
"""Share of the target's second moment below which a node's variance is rounding error."""


GRID = 2.0**20
"""Largest whole number that stands for a value of the target."""


class Stop(NamedTuple):
    """When to stop splitting, in rows of the data that the structure is grown on."""

    min_leaf: int
    min_split: int
    max_depth: int | None
    complexity: float


class Splits(NamedTuple):
    """Nodes in any order but for the root, which is the first; feature -1 is a leaf."""

    feature: Ints
    threshold: Ints
    left: Ints
    right: Ints


class Task(NamedTuple):
    """What stays the same at every node; ``outputs`` counts target columns, or classes."""

    ranks: Ints
    y: NDArray[Any]
    levels: Sequence[int]
    outputs: int
    stop: Stop
    least: float


class Small(NamedTuple):
    """A node that is left to the exact splitter, and the rows in it."""

    node: int
    depth: int
    rows: NDArray[np.intp]


class Cuts(NamedTuple):
    """The best split of each large node of one depth; feature -1 where there is none."""

    feature: Ints
    threshold: Ints


class Front(NamedTuple):
    """The rows in the nodes of one depth, and the slot of their node among these."""

    rows: NDArray[np.intp]
    slot: NDArray[np.intp]

    def only(self, chosen: NDArray[np.bool_]) -> Front:
        """Keep the rows in the chosen slots, which are numbered anew."""
        if chosen.all():
            return self
        keep = np.flatnonzero(chosen[self.slot])
        return Front(self.rows[keep], (np.cumsum(chosen) - 1)[self.slot[keep]])

    def descend(self, cuts: Cuts, ranks: Ints) -> Front:
        """Send the rows of split nodes to the children, which are numbered in pairs."""
        divided = cuts.feature >= 0
        rows, slot = self.only(divided)
        code = ranks[cuts.feature[divided][slot], rows]
        return Front(rows, 2 * slot + (code > cuts.threshold[divided][slot]))


def leaf_only() -> Splits:
    """Return the splits of a tree that is one leaf."""
    zero = np.zeros(1, dtype=np.int32)
    return Splits(zero - 1, zero, zero, zero)


def structure(
    ranks: Ints, levels: Sequence[int], y: NDArray[Any], stop: Stop, rng: np.random.Generator
) -> Splits:
    """Grow the splits; ``ranks`` has one row per predictor, every predictor ordered.

    Args:
        ranks: Ordered codes (predictors, rows).
        levels: Number of codes of each predictor.
        y: Classes (n,) or columns of numbers (n, q).
        stop: When to stop.
        rng: Decides between equally good splits in small nodes.
    """
    y = gridded(y)
    outputs = int(y.max()) + 1 if y.ndim == 1 else y.shape[1]
    front = Front(np.arange(len(y)), np.zeros(len(y), dtype=np.intp))
    least = stop.complexity * float(moments(y, front.slot, 1, outputs).error[0])
    task = Task(ranks, y, levels, outputs, stop, least)
    top, small = grow_large(front, task)
    return with_subtrees(top, small, grow_small(small, task, rng))


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


class Moments(NamedTuple):
    """Rows, target sums (columns, nodes) and squared error around the mean, by node."""

    rows: NDArray[np.float64]
    total: NDArray[np.float64]
    error: NDArray[np.float64]


def moments(y: NDArray[Any], slot: NDArray[np.intp], nodes: int, outputs: int) -> Moments:
    """Return what decides whether a node may be split; rounding error of a constant is 0."""
    count = np.bincount(slot, minlength=nodes).astype(np.float64)
    total = sums(y, slot, nodes, outputs)
    norms = np.einsum("ij,ij->i", y, y) if y.ndim > 1 else np.ones(len(y))
    square = np.bincount(slot, weights=norms, minlength=nodes)
    error = square - (total**2).sum(axis=0) / np.maximum(count, 1.0)
    return Moments(count, total, np.where(error > DUST * square, error, 0.0))


def sums(y: NDArray[Any], cell: NDArray[np.intp], cells: int, outputs: int) -> NDArray[np.float64]:
    """Return every target column's sum, or the rows of every class, in every cell."""
    if y.ndim > 1:
        return np.stack([np.bincount(cell, weights=column, minlength=cells) for column in y.T])
    table = np.bincount(y * np.intp(cells) + cell, minlength=outputs * cells)
    return np.asarray(table, dtype=np.float64).reshape(outputs, cells)


def grow_large(front: Front, task: Task) -> tuple[Splits, list[Small]]:
    """Split large nodes, all nodes of one depth at once; return the nodes left to split, too."""
    stop = task.stop
    cells = task.outputs * sum(task.levels) // len(task.levels)
    enough = max(SMALLEST, CELLS_PER_ROW * cells, stop.min_split)
    if len(task.levels) < FEW_PREDICTORS:
        enough = len(front.rows) + 1
    grown: list[Splits] = []
    small: list[Small] = []
    tables: list[Table] = []
    born, depth, nodes = 0, 0, 1
    while nodes:
        now = moments(task.y[front.rows], front.slot, nodes, task.outputs)
        ready = (now.rows >= stop.min_split) & (now.error > 0.0)
        ready &= stop.max_depth is None or depth < stop.max_depth
        large = ready & (now.rows >= enough)
        small += members(front, ready & ~large, born, depth)
        tables = inherited(tables, front, now.rows, large, task)
        front = front.only(large)
        cuts = best_cuts(tables, now.rows[large], now.total[:, large], task)
        grown.append(children(cuts, large, born))
        tables = [table[:, cuts.feature >= 0] for table in tables]
        front = front.descend(cuts, task.ranks)
        born, depth, nodes = born + nodes, depth + 1, 2 * int((cuts.feature >= 0).sum())
    return joined(grown), small


def histograms(front: Front, nodes: int, task: Task) -> list[Table]:
    """Return, for every predictor, rows and target sums (1 + outputs, nodes, levels)."""
    y, tables = task.y[front.rows], []
    for ranks, levels in zip(task.ranks, task.levels, strict=True):
        cell = front.slot * levels + ranks[front.rows]
        table = np.empty((1 + task.outputs, nodes * levels))
        table[0] = np.bincount(cell, minlength=nodes * levels)
        table[1:] = sums(y, cell, nodes * levels, task.outputs)
        tables.append(table.reshape(-1, nodes, levels))
    return tables


def inherited(
    parents: list[Table],
    front: Front,
    count: NDArray[np.float64],
    large: NDArray[np.bool_],
    task: Task,
) -> list[Table]:
    """Return the large nodes' histograms; of two siblings, only the one with fewer rows is read.

    The other is their parent's less this one.
    """
    if not parents or not large.any():
        return histograms(front, 1, task) if large.any() else []
    pair = large.reshape(-1, 2).any(axis=1)
    light = 2 * np.flatnonzero(pair) + (count[1::2] < count[::2])[pair]
    chosen = np.zeros(len(large), dtype=np.bool_)
    chosen[light] = True
    swap = (light % 2 == 1)[:, None]
    wanted = large.reshape(-1, 2)[pair].ravel()
    tables = []
    for parent, own in zip(parents, histograms(front.only(chosen), len(light), task), strict=True):
        rest = parent[:, pair] - own
        both = np.stack([np.where(swap, rest, own), np.where(swap, own, rest)], axis=2)
        tables.append(both.reshape(len(own), len(wanted), -1)[:, wanted])
    return tables


def joined(parts: Sequence[Splits]) -> Splits:
    """Put nodes one after another."""
    return Splits(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def members(front: Front, chosen: NDArray[np.bool_], born: int, depth: int) -> list[Small]:
    """Return the chosen nodes with their rows in their order."""
    part = front.only(chosen)
    if not chosen.any():
        return []
    rows = part.rows[np.argsort(part.slot, kind="stable")]
    ends = np.cumsum(np.bincount(part.slot))[:-1]
    return [
        Small(born + node, depth, mine)
        for node, mine in zip(np.flatnonzero(chosen).tolist(), np.split(rows, ends), strict=True)
    ]


def children(cuts: Cuts, large: NDArray[np.bool_], born: int) -> Splits:
    """Return the nodes of one depth, those of the next being numbered from their end."""
    feature, threshold, left, right = (np.zeros(len(large), dtype=np.int32) for _ in range(4))
    feature[:] = -1
    feature[large], threshold[large] = cuts
    divided = np.flatnonzero(feature >= 0)
    left[divided] = born + len(large) + 2 * np.arange(len(divided))
    right[divided] = left[divided] + 1
    return Splits(feature, threshold, left, right)


def best_cuts(
    tables: list[Table], count: NDArray[np.float64], total: NDArray[np.float64], task: Task
) -> Cuts:
    """Find the split with the largest gain in every node; the first of equals wins."""
    nodes = np.arange(len(count))
    feature, threshold = np.full(len(nodes), -1, np.int32), np.zeros(len(nodes), np.int32)
    best = (total**2).sum(axis=0) / count * (1.0 - DUST) + task.least
    for j, table in enumerate(tables):
        if table.shape[2] > 1:
            score, below = scores(table, count, total, task.stop.min_leaf)
            cut = score.argmax(axis=1)
            top = score[nodes, cut]
            better = np.flatnonzero(top > best)
            at = cut[better]
            # Codes that are absent from the node are shared between the two sides.
            absent = (below[better] == below[better, at][:, None]).sum(axis=1) - 1
            feature[better], threshold[better] = j, at + absent // 2
            best[better] = top[better]
    return Cuts(feature, threshold)


def scores(
    table: Table, count: NDArray[np.float64], total: NDArray[np.float64], min_leaf: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the score and the rows on the left of every cut (nodes, levels - 1)."""
    left = table[:, :, :-1].cumsum(axis=2)
    below, part = left[0], left[1:]
    above, rest = count[:, None] - below, total[:, :, None] - part
    score = np.square(part, out=part).sum(axis=0) / np.maximum(below, 1.0)
    score += np.square(rest, out=rest).sum(axis=0) / np.maximum(above, 1.0)
    score[np.minimum(below, above) < min_leaf] = -np.inf
    return score, below


def grow_small(small: Sequence[Small], task: Task, rng: np.random.Generator) -> Iterator[Any]:
    """Grow a subtree in every small node with scikit-learn's exact splitter.

    Inputs are valid by construction and the estimators are used again: its checks cost more
    than the growth of a small tree.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    stop = task.stop
    settings = {"min_samples_leaf": stop.min_leaf, "min_samples_split": max(2, stop.min_split)}
    state = np.random.RandomState(int(rng.integers(2**31)))
    regressor = DecisionTreeRegressor(**settings, random_state=state)
    classifier = DecisionTreeClassifier(**settings, random_state=state)
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for node in small:
            X = np.ascontiguousarray(task.ranks[:, node.rows].T, dtype=np.float32)
            goal, outputs = compact(task.y[node.rows])
            model = classifier if goal.ndim == 1 else regressor
            model.max_depth = stop.max_depth and stop.max_depth - node.depth
            model.min_impurity_decrease = task.least / (len(X) * outputs)
            yield model.fit(X, goal, check_input=False).tree_


def compact(y: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return classes as one-hot columns where these are small; and by what the impurity is divided.

    scikit-learn averages over columns. One of two complementary columns has their average.
    """
    if y.ndim > 1:
        return y, y.shape[1]
    present = np.flatnonzero(np.bincount(y))
    if len(present) * len(y) > ONE_HOT_CELLS and len(present) > 2:
        return y, 1
    shown = present[: 1 if len(present) == 2 else None]
    return (y[:, None] == shown).astype(np.float64), len(present)


def with_subtrees(top: Splits, small: Sequence[Small], subtrees: Iterator[Any]) -> Splits:
    """Put each subtree's root in place of its node and append the other nodes."""
    trees = list(subtrees)
    if not trees:
        return top
    sizes = np.array([tree.node_count for tree in trees])
    root = np.cumsum(sizes) - sizes
    left = np.concatenate([tree.children_left for tree in trees])
    right = np.concatenate([tree.children_right for tree in trees])
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = np.floor(np.concatenate([tree.threshold for tree in trees]))
    # Nodes move behind the top's and lose the roots of their own and all earlier subtrees.
    shift = np.repeat(len(top.feature) + root - np.arange(len(trees)) - 1, sizes)
    inner, other = left > 0, np.ones(len(left), dtype=np.bool_)
    other[root] = False
    nodes = [node.node for node in small]
    columns = []
    for column, values, none in (
        (top.feature, feature, -1),
        (top.threshold, threshold, 0),
        (top.left, left + shift, 0),
        (top.right, right + shift, 0),
    ):
        whole = np.where(inner, values, none).astype(np.int32)
        column[nodes] = whole[root]
        columns.append(np.concatenate([column, whole[other]]))
    return Splits(*columns)
