import numpy as np
import pytest

from understudy.kernels.tree_order import category_rank, class_target


def rng(seed=1):
    return np.random.default_rng(seed)


def test_levels_not_seen_lie_at_the_overall_mean():
    codes = np.repeat(np.array([0, 1, 3, 4], dtype=np.int32), 5)
    y = np.array([4.0, 0.0, 0.0, 3.0, 1.0])[codes]  # mean 2: above 0 and 1, below 3 and 4
    assert category_rank(codes, 5, y[:, None]).tolist() == [4, 0, 2, 3, 1]


def test_classes_are_ordered_by_their_main_contrast():
    shares = np.array([[9, 1, 0], [1, 9, 0], [5, 5, 0], [7, 3, 0]])
    codes = np.repeat(np.arange(4, dtype=np.int32), 10)
    y = np.concatenate([np.repeat(np.arange(3), row) for row in shares])
    rank = category_rank(codes, 4, y)
    assert rank.tolist() in ([3, 0, 1, 2], [0, 3, 2, 1])


@pytest.mark.parametrize("levels", [3, 32, 33, 5000])
def test_class_target_has_few_classes_and_keeps_the_frequent_apart(levels):
    codes = rng().zipf(1.3, 20_000).clip(max=levels).astype(np.int32) - 1
    merged = class_target(codes, levels)
    assert merged.max() < 32
    frequent = np.argsort(-np.bincount(codes))[: min(levels, 16)]
    for level in frequent:
        own = merged[codes == level]
        assert (own == own[0]).all()
    assert len({int(merged[codes == level][0]) for level in frequent}) == len(frequent)


def test_rare_levels_share_their_classes_evenly():
    rows = np.bincount(class_target(np.arange(1000, dtype=np.int32), 1000, most=32))
    assert len(rows) == 32
    assert rows[:16].tolist() == [1] * 16
    assert rows[16:].max() - rows[16:].min() <= 1
