"""Boosted class probabilities: against laws that are known, and a slow walk of the trees."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from understudy.kernels import boosting
from understudy.kernels.boosting import Growth, grow
from understudy.seeds import stream

SMALL = Growth(rounds=40, leaves=3, min_leaf=20, rate=0.2, penalty=1.0, caution=0.0)


def world(rows, seed=1, levels=4):
    """Two predictors and a class of three from a known law."""
    rng = stream(seed, "world")
    a = rng.integers(0, levels, rows).astype(np.int32)
    b = rng.integers(0, 6, rows).astype(np.int32)
    score = np.stack([0.5 * b, 1.5 * (a % 2), np.ones(rows)], axis=1)
    law = softmax(score, axis=1)
    label = (rng.random(rows)[:, None] > np.cumsum(law, axis=1)).sum(axis=1).astype(np.int32)
    return [a, b], [levels, 6], [True, False], label, law


def test_a_known_law_is_learnt():
    codes, levels, nominal, label, law = world(20_000)
    found = grow(codes, levels, nominal, label, SMALL, 1).probabilities(codes, 20_000)
    assert found.sum(axis=1) == pytest.approx(np.ones(20_000))
    # 24 cells of some 830 rows: a share has an error of 0.017; the model pools, and does better.
    assert np.abs(found - law).max() < 0.05
    assert np.sqrt(np.square(found - law).mean()) < 0.012


def walk(arrays, codes, classes):
    """Scores by following every tree by hand; one tree for two classes, else one for each."""
    trees = 1 if classes == 2 else classes
    matrix = np.stack(codes, axis=1)
    score = np.tile(arrays["baseline"], (len(matrix), 1)).astype(float)
    for t, begin in enumerate(arrays["tree.start"][:-1]):
        for row, x in enumerate(matrix):
            at = begin
            while not arrays["node.is_leaf"][at]:
                value = int(x[arrays["node.feature_idx"][at]])
                if arrays["node.is_categorical"][at]:
                    which = arrays["set.start"][t] + arrays["node.bitset_idx"][at]
                    left = arrays["set"][which][value // 32] >> (value % 32) & 1
                else:
                    left = value <= arrays["node.num_threshold"][at]
                at = begin + arrays["node.left" if left else "node.right"][at]
            score[row, t % trees] += arrays["node.value"][at]
    if trees == 1:
        score = np.concatenate((np.zeros_like(score), score), axis=1)
    return softmax(score, axis=1)


@pytest.mark.parametrize("classes", [2, 3])
def test_arrays_hold_all_that_was_learnt(classes):
    codes, levels, nominal, label, _ = world(600)
    label = np.minimum(label, classes - 1)
    model = grow(codes, levels, nominal, label, replace(SMALL, members=2), 1)
    some, arrays = [column[:50] for column in codes], model.arrays()
    walked = [
        walk({key[2:]: value for key, value in arrays.items() if key[0] == member}, some, classes)
        for member in "01"
    ]
    np.testing.assert_allclose(np.mean(walked, axis=0), model.probabilities(some, 50), atol=1e-9)


def test_stops_where_held_rows_say():
    """As many rounds as a fifth of the rows found best, then fitted to all of them."""
    codes, levels, nominal, label, _ = world(1500, seed=2)
    model = grow(codes, levels, nominal, label, SMALL, 7)
    matrix, same = np.stack(codes, axis=1), {
        "max_leaf_nodes": 3, "min_samples_leaf": 20, "learning_rate": 0.2, "l2_regularization": 1.0,
        "categorical_features": [True, False], "random_state": 7,
    }  # fmt: skip
    with threadpool_limits(1):
        held = HistGradientBoostingClassifier(
            max_iter=40, early_stopping=True, validation_fraction=0.2, n_iter_no_change=5, **same
        ).fit(matrix, label)
        best = int(np.argmax(held.validation_score_))
        assert 0 < best < held.n_iter_
        whole = HistGradientBoostingClassifier(max_iter=40, early_stopping=False, **same)
        staged = list(whole.fit(matrix, label).staged_predict_proba(matrix))
    np.testing.assert_allclose(model.probabilities(codes, 1500), staged[best - 1], atol=1e-12)


def test_caution_keeps_what_was_seen_and_what_was_not_alike():
    codes, levels, nominal, label, _ = world(1500, seed=2)
    gaps = []
    fresh, _, _, other, _ = world(20_000, seed=3)
    for caution in (0.0, 4.0):
        model = grow(codes, levels, nominal, label, replace(SMALL, caution=caution), 7)
        seen = np.log(model.probabilities(codes, 1500)[np.arange(1500), label]).mean()
        new = np.log(model.probabilities(fresh, 20_000)[np.arange(20_000), other]).mean()
        gaps.append(seen - new)
    assert gaps[1] < gaps[0]


def test_members_are_fits_with_other_rows_held_and_their_mean_is_nearer_to_the_law():
    codes, levels, nominal, label, law = world(1500, seed=2)
    alone = [grow(codes, levels, nominal, label, SMALL, 7 + k) for k in range(4)]
    found = grow(codes, levels, nominal, label, replace(SMALL, members=4), 7)
    each = [model.probabilities(codes, 1500) for model in alone]
    np.testing.assert_allclose(found.probabilities(codes, 1500), np.mean(each, axis=0), atol=1e-12)
    # By Jensen's inequality, whatever the law: no false alarm.
    error = [np.square(p - law).mean() for p in each]
    assert np.square(np.mean(each, axis=0) - law).mean() < np.mean(error)


def test_a_member_that_learns_nothing_says_the_share():
    share = np.array([0.25, 0.75])
    model = boosting.Boosted(share, (None, None), {})
    assert model.probabilities([], 3) == pytest.approx(np.tile(share, (3, 1)))


def test_nothing_to_learn_is_the_share():
    label = np.repeat([0, 1, 2], [30, 20, 10]).astype(np.int32)
    noise = [np.zeros(60, dtype=np.int32)]
    for codes in ([], noise):
        model = grow(codes, [1] * len(codes), [False] * len(codes), label, SMALL, 1)
        assert model.probabilities(codes, 2) == pytest.approx(
            np.tile([1 / 2, 1 / 3, 1 / 6], (2, 1))
        )
    assert grow(noise, [1], [False], np.zeros(60, np.int32), SMALL, 1).members == (None,)


def test_more_levels_than_the_library_orders():
    """Three hundred levels, even and odd alike: ordered once by their class, then split."""
    rng = stream(5)
    level = rng.integers(0, 300, 12_000).astype(np.int32)
    label = (rng.random(12_000) < np.where(level % 2 == 0, 0.9, 0.1)).astype(np.int32)
    model = grow([level], [300], [True], label, SMALL, 1)
    found = model.probabilities([np.arange(300, dtype=np.int32)], 300)[:, 1]
    assert found[::2].mean() > 0.85 and found[1::2].mean() < 0.15


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_classes_are_shared_by_enough_rows(seed, ordered):
    rng = stream(6, seed)
    count = rng.geometric(0.02, 60) * (rng.random(60) < 0.8)
    if seed % 3 == 0:
        count[7] = 4000  # an atom
    if seed % 4 == 1:
        count = np.minimum(count, 3)
    joined = boosting.classes(count, most=12, ordered=ordered)
    assert np.array_equal(joined < 0, count == 0)
    rows = np.bincount(joined[joined >= 0], weights=count[joined >= 0])
    assert len(rows) <= 2 * 12 + 1
    assert rows.min() >= boosting.LEAST
    if ordered:
        assert (np.diff(joined[joined >= 0]) >= 0).all()
    if count[7] == 4000:
        assert (joined == joined[7]).sum() == 1


def test_few_rows_are_one_class():
    assert boosting.classes(np.array([3, 2, 0]), most=5, ordered=True).tolist() == [0, 0, -1]
    assert boosting.classes(np.zeros(2, dtype=np.int64), most=5, ordered=True).tolist() == [-1, -1]
