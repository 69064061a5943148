import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from understudy.kernels.tree import grow

LEVELS = [3, 40, 12, 150]


def rng(seed=1):
    return np.random.default_rng(seed)


def table(n, seed=1):
    return [rng(seed).integers(0, k, n).astype(np.int32) ** 2 // k for k in LEVELS]


def noisy(codes, q, seed=2):
    signal = np.sin(codes[3] / 15.0) + codes[0] * codes[1] / 30.0 - (codes[2] > 4)
    return signal[:, None] + rng(seed).normal(size=(len(signal), q))


def loss(leaf, y):
    """Squared error around the leaf means, the slow way."""
    return sum(((y[leaf == k] - y[leaf == k].mean(axis=0)) ** 2).sum() for k in np.unique(leaf))


def best_threshold(codes, y, min_leaf):
    """Try every cut of every predictor; return the least squared error."""
    best = np.inf
    for column in codes:
        for cut in np.unique(column)[:-1]:
            left = column <= cut
            if min(left.sum(), (~left).sum()) >= min_leaf:
                best = min(best, loss(left, y))
    return best


def plain(model, codes, y, **settings):
    X = np.stack(codes, axis=1)
    return model(random_state=0, **settings).fit(X, y).apply(X)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("min_leaf", [5, 900])
def test_the_first_split_is_the_best_of_all_cuts(seed, q, min_leaf):
    codes = table(2000, seed)
    y = noisy(codes, q, seed + 100)
    tree = grow(codes, LEVELS, [False] * 4, y, min_leaf=min_leaf, max_depth=1, rng=rng())
    assert loss(tree.apply(codes), y) == pytest.approx(best_threshold(codes, y, min_leaf))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"min_leaf": 5}, {"min_samples_leaf": 5}),
        ({"min_leaf": 33, "max_depth": 6}, {"min_samples_leaf": 33, "max_depth": 6}),
        ({"min_leaf": 1, "min_split": 50}, {"min_samples_leaf": 1, "min_samples_split": 50}),
    ],
)
@pytest.mark.parametrize("q", [1, 3])
def test_same_tree_as_scikit_learn(ours, theirs, q):
    codes = table(6000)
    y = noisy(codes, q)
    leaf = grow(codes, LEVELS, [False] * 4, y, rng=rng(), **ours).apply(codes)
    reference = plain(DecisionTreeRegressor, codes, y, **theirs)
    # Equal gains are decided differently; elsewhere the trees are one.
    assert loss(leaf, y) == pytest.approx(loss(reference, y), rel=0.01)
    assert np.bincount(leaf).min() >= ours["min_leaf"]
    assert leaf.max() + 1 == pytest.approx(len(np.unique(reference)), rel=0.01)


@pytest.mark.parametrize("classes", [2, 3, 9])
def test_as_pure_as_a_plain_classifier(classes):
    codes = table(6000)
    y = np.clip(np.rint(noisy(codes, 1)[:, 0] * classes / 3), 0, classes - 1).astype(np.int32)
    hot = np.eye(classes)[y]
    leaf = grow(codes, LEVELS, [False] * 4, y, min_leaf=20, rng=rng()).apply(codes)
    reference = plain(DecisionTreeClassifier, codes, y, min_samples_leaf=20)
    assert loss(leaf, hot) == pytest.approx(loss(reference, hot), rel=0.01)


def test_complexity_counts_the_same_for_classes_and_their_one_hot_columns():
    """A split must lower the total impurity by the share given, however classes are written."""
    codes = table(6000)
    y = np.clip(np.rint(noisy(codes, 1)[:, 0] + 1), 0, 3).astype(np.int32)
    hot = np.eye(4)[y]
    settings = {"complexity": 0.0015, "min_leaf": 5}
    by_class = grow(codes, LEVELS, [False] * 4, y, rng=rng(), **settings)
    by_column = grow(codes, LEVELS, [False] * 4, hot, rng=rng(), **settings)
    assert 5 < by_class.leaves == by_column.leaves < 200
    gone = loss(np.zeros(6000), hot) - loss(by_class.apply(codes), hot)
    assert gone >= 0.0015 * (by_class.leaves - 1) * loss(np.zeros(6000), hot)


@pytest.mark.parametrize("n", [60, 6000])
def test_constant_nodes_are_not_split_by_rounding(n):
    codes = [np.arange(n, dtype=np.int32) % 3, *table(n)[1:]]
    y = np.array([0.1, 0.7, 1e5 / 3])[codes[0]][:, None]
    assert grow(codes, LEVELS, [True, *[False] * 3], y, rng=rng()).leaves == 3


def test_a_level_between_two_seen_ones_goes_to_the_nearer_side():
    codes = [np.repeat(np.array([0, 10], dtype=np.int32), 500)] * 3
    y = codes[0][:, None].astype(float)
    tree = grow(codes, [11] * 3, [False] * 3, y, rng=rng())
    fresh = [np.arange(11, dtype=np.int32)] * 3
    leaf = tree.apply(fresh)
    assert (leaf[:5] == leaf[0]).all()
    assert (leaf[6:] == leaf[10]).all()
