"""Propensities to look at: how far two tables come apart row by row, and by which columns.

The scores of `propensity` judge; these show. A tree that has seen a row separates it even where
nothing differs, so every row is scored by a tree that was grown on the other half of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.tree import DecisionTreeClassifier

from understudy.kernels.binary_logit import fit_binary_logit
from understudy.kernels.propensity_design import build_design, merge_rare, pool

Float = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Scores:
    """Propensity of every real and synthetic row, and each column's share of the splits' gain.

    ``used`` follows the numbers, then the codes; it sums to 1, or is all 0 without a split.
    """

    real: Float
    synthetic: Float
    used: Float


def logit_scores(
    numbers_t: Float, codes_t: Codes, numbers_z: Float, codes_z: Codes, levels: Sequence[int]
) -> Scores:
    """Score rows by an unpenalised logistic regression on main effects.

    Cost: rows x terms² x steps.

    Example:
        >>> no = np.zeros((50, 0), np.int32)
        >>> x = np.arange(50.0)[:, None]
        >>> np.unique(logit_scores(x, no, x, no, []).real.round(6)).tolist()
        [0.5]
    """
    numbers, codes, label = pool(numbers_t, codes_t, numbers_z, codes_z)
    score = fit_binary_logit(build_design(numbers, codes, levels).columns, label).probability
    return Scores(score[label == 0], score[label == 1], np.zeros(0))


def tree_scores(
    numbers_t: Float,
    codes_t: Codes,
    numbers_z: Float,
    codes_z: Codes,
    levels: Sequence[int],
    *,
    min_leaf: int = 20,
    rng: np.random.Generator,
) -> Scores:
    """Score rows by classification trees, each row by the tree that has not seen it.

    Two trees, each on a random half; the nominal levels are ordered by their synthetic share in
    that half. ``used`` is the mean over both trees of the impurity decrease by column.
    Cost: rows x log rows x columns.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> no = np.zeros((400, 0), np.int32)
        >>> x, z = rng.normal(size=(400, 2)), rng.normal([0, 3], 1, (400, 2))
        >>> bool(tree_scores(x, no, z, no, [], rng=rng).used[1] > 0.8)
        True
    """
    numbers, codes, label = pool(numbers_t, codes_t, numbers_z, codes_z)
    ranks = rankdata(np.where(np.isnan(numbers), -np.inf, numbers), "dense", axis=0)
    merged = [merge_rare(codes[:, j], levels[j], rare=min_leaf) for j in range(codes.shape[1])]
    half = rng.permutation(len(label)) % 2 == 0
    score, used = np.zeros(len(label)), np.zeros(ranks.shape[1] + len(merged))
    for seen in (half, ~half):
        columns = [_by_share(column, label, seen) for column in merged]
        x = np.column_stack([ranks, *columns]).astype(np.float32)
        tree = DecisionTreeClassifier(
            min_samples_leaf=min_leaf, random_state=int(rng.integers(2**31))
        ).fit(x[seen], label[seen])
        score[~seen] = tree.tree_.value[tree.apply(x[~seen]), 0, -1]
        used += tree.feature_importances_ / 2
    return Scores(score[label == 0], score[label == 1], used)


def _by_share(codes: Codes, label: Float, seen: npt.NDArray[np.bool_]) -> Float:
    """Each level's synthetic share among the rows seen; levels never seen get the overall one."""
    width = int(codes.max(initial=0)) + 1
    size = np.bincount(codes[seen], minlength=width)
    total = np.bincount(codes[seen], weights=label[seen], minlength=width)
    share = np.where(size > 0, total / np.maximum(size, 1), label[seen].mean())
    return np.asarray(share[codes], dtype=np.float64)
