"""Class probabilities by gradient boosting: many small trees, stopped before they learn by heart.

F_k(x) = b_k + rate · Σ_m f_mk(x) and p_k ∝ exp F_k, each f_mk a small tree fitted to the gradient
of the multinomial log likelihood (Friedman 2001, algorithm 6). How many rounds are worth it is
found on rows that a first fit does not see. One big tree must choose between large leaves, which
blur, and small ones, which repeat their donors; a sum of small trees borrows strength across them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from understudy.kernels.tree_order import category_rank

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

MOST_LEVELS = 254
"""Most levels that the boosting library orders anew at every split; more are ordered once."""
PATIENCE = 5
NODE = (
    "value", "feature_idx", "num_threshold", "left", "right", "is_leaf", "is_categorical",
    "bitset_idx",
)  # fmt: skip
HELD = 0.2
"""Share of the rows that tell when to stop."""
LEAST = 10
"""Rows that a class must have: fewer cannot be held out, and few people are no pattern."""


@dataclass(frozen=True)
class Growth:
    """How the sum of trees is grown."""

    rounds: int
    leaves: int
    min_leaf: int
    rate: float
    penalty: float
    caution: float
    members: int = 1


@dataclass(frozen=True, eq=False)
class Boosted:
    """Fitted class probabilities: the mean over members.

    Attributes:
        share: share of each class in train: what a member that can learn nothing says.
        members: scikit-learn's boosters; None for one that can learn nothing.
        ranks: order of the codes of each predictor that has too many levels, by its place.
    """

    share: Floats
    members: tuple[Any, ...]
    ranks: dict[int, Ints]

    def probabilities(self, codes: Sequence[Ints], rows: int) -> Floats:
        """Probability of every class for every row. Cost: rows x trees x depth."""
        found = np.zeros((rows, len(self.share)))
        learnt = [member for member in self.members if member is not None]
        matrix = _matrix(codes, self.ranks) if learnt else None
        with _threads().limit(limits=1, user_api="openmp"):
            for member in learnt:
                found += member.predict_proba(matrix)
        return (found + (len(self.members) - len(learnt)) * self.share) / len(self.members)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All nodes of all trees, by member, round and class, and where each tree begins."""
        found = {"share": self.share} | {f"rank.{j}": rank for j, rank in self.ranks.items()}
        for place, member in enumerate(self.members):
            if member is not None:
                found |= {f"{place}/{key}": value for key, value in _nodes(member).items()}
        return found


def _nodes(member: Any) -> dict[str, NDArray[Any]]:
    trees = [tree for round_ in member._predictors for tree in round_]
    nodes = np.concatenate([tree.nodes for tree in trees])
    sets = [tree.raw_left_cat_bitsets.reshape(-1, 8) for tree in trees]
    return {
        "baseline": np.ravel(member._baseline_prediction),
        **{f"node.{name}": nodes[name] for name in NODE},
        "tree.start": np.cumsum([0, *(len(tree.nodes) for tree in trees)]),
        "set": np.concatenate(sets),
        "set.start": np.cumsum([0, *map(len, sets)]),
    }


def grow(
    codes: Sequence[Ints],
    levels: Sequence[int],
    nominal: Sequence[bool],
    label: Ints,
    growth: Growth,
    seed: int,
) -> Boosted:
    """Fit the probabilities of the classes 0 to K − 1, each with at least `LEAST` rows.

    Cost: rows x predictors x classes x rounds. The result depends on the arguments alone.

    Example:
        >>> x = np.repeat([0, 1], 200).astype(np.int32)
        >>> y = np.where(np.arange(400) % 10 == 0, 1 - x, x).astype(np.int32)
        >>> model = grow([x], [2], [True], y, Growth(100, 2, 20, 0.1, 1.0, 0.5), 1)
        >>> np.abs(model.probabilities([x], 400)[[0, -1], [0, 1]] - 0.9).max() < 0.05
        np.True_
    """
    share = np.bincount(label) / max(len(label), 1)
    if len(share) < 2 or not len(codes):
        return Boosted(share, (None,), {})
    many = [j for j in range(len(codes)) if nominal[j] and levels[j] > MOST_LEVELS]
    ranks = {j: category_rank(codes[j], levels[j], label) for j in many}
    matrix = _matrix(codes, ranks)
    unordered = [n and j not in ranks for j, n in enumerate(nominal)]
    # The limit holds for the calling thread: workers have the cores, and threads of threads would
    # wait for one another (measured on a busy machine: 80 times as long).
    with _threads().limit(limits=1, user_api="openmp"):
        members = [
            _member(matrix, unordered, label, growth, seed + number)
            for number in range(growth.members)
        ]
    return Boosted(share, tuple(members), ranks)


def _member(
    matrix: Floats, unordered: Sequence[bool], label: Ints, growth: Growth, seed: int
) -> Any:
    """One fit, with as many rounds as rows held by the seed's draw are worth; None for none."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    plain = partial(
        HistGradientBoostingClassifier,
        max_leaf_nodes=growth.leaves,
        min_samples_leaf=growth.min_leaf,
        learning_rate=growth.rate,
        l2_regularization=growth.penalty,
        categorical_features=unordered,
        random_state=seed,
    )
    stopped = plain(
        max_iter=growth.rounds,
        early_stopping=True,
        validation_fraction=HELD,
        n_iter_no_change=PATIENCE,
    )
    stopped.fit(matrix, label)
    best = _rounds(stopped.train_score_, stopped.validation_score_, growth.caution)
    # Once more on all rows: each then counts for less, and all that they tell is used.
    return plain(max_iter=best, early_stopping=False).fit(matrix, label) if best else None


def _rounds(fitted: Floats, held: Floats, caution: float) -> int:
    """Rounds to keep: the most likely on held rows, less what fitted rows have over them.

    L_held(r) − caution · (L_fitted(r) − L_held(r)), with L the mean log likelihood after r rounds:
    the second term is how much better the model knows the people it has seen.

    Example:
        >>> fitted, held = np.array([-2.0, -1.5, -1.2]), np.array([-2.0, -1.6, -1.55])
        >>> _rounds(fitted, held, 0.0), _rounds(fitted, held, 1.0)
        (2, 1)
    """
    gain = held - held[0]
    return int(np.argmax(gain - caution * (fitted - fitted[0] - gain)))


@cache
def _threads() -> ThreadpoolController:
    """Looking for the libraries takes longer than a small fit."""
    return ThreadpoolController()


def _matrix(codes: Sequence[Ints], ranks: dict[int, Ints]) -> Floats:
    ordered = [ranks[j][column] if j in ranks else column for j, column in enumerate(codes)]
    return np.stack(ordered, axis=1).astype(np.float64)


def classes(count: NDArray[np.int64], *, most: int, ordered: bool) -> Ints:
    """Join codes into at most about ``most`` classes, none of which has fewer than `LEAST` rows.

    Codes that fill a class by themselves stay alone. Of the others, neighbours are joined where
    codes have an order, and the rarest where they have none. −1: the code does not occur.

    Example:
        >>> classes(np.array([100, 4, 4, 4, 0, 50]), most=3, ordered=True).tolist()
        [0, 1, 1, 1, -1, 2]
        >>> classes(np.array([100, 4, 30, 6]), most=9, ordered=False).tolist()
        [0, 2, 1, 2]
    """
    seen = np.flatnonzero(count)
    if not ordered:
        seen = seen[np.argsort(-count[seen], kind="stable")]
    size = _joined(count[seen], most)
    result = np.full(len(count), -1, dtype=np.int32)
    result[seen] = np.repeat(np.arange(len(size)), size)
    return result


def _joined(count: NDArray[np.int64], most: int) -> list[int]:
    """Lengths of runs of neighbours with enough rows each."""
    if len(count) <= most and count.min(initial=LEAST) >= LEAST:
        return [1] * len(count)
    enough = max(float(LEAST), _threshold(count, most))
    runs: list[int] = []
    total, length = 0, 0
    for rows in count.tolist():
        if rows >= enough and length and total >= LEAST:
            runs.append(length)
            total, length = 0, 0
        total, length = total + rows, length + 1
        if total >= enough:
            runs.append(length)
            total, length = 0, 0
    if length and (total >= LEAST or not runs):
        runs.append(length)
    elif length:
        runs[-1] += length
    return runs


def _threshold(count: NDArray[np.int64], most: int) -> float:
    """Rows of a class, so that codes larger than that and classes of the others are ``most``."""
    falling = np.sort(count)[::-1]
    left = np.cumsum(falling[::-1])[::-1]
    for large in range(min(most, len(falling))):
        target = float(left[large]) / (most - large)
        if falling[large] <= target:
            return target
    return float(falling[-1])
