"""Multisets of rows, against counting with the standard library."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from understudy.kernels.rows import hits_unique, overlap, overlap_null, same_shares

SAMPLES = [
    ([0, 0, 1], [0, 1, 2]),
    ([5], [5]),
    ([1, 2, 3], [4, 5]),
    ([0, 1] * 7, [1, 0]),
    (np.random.default_rng(1).integers(9, size=50), np.random.default_rng(2).integers(12, size=31)),
]


def counted(first, second):
    a, b = Counter(map(int, first)), Counter(map(int, second))
    n, m = len(first), len(second)
    return sum(min(Fraction(a[r], n), Fraction(b[r], m)) for r in a | b)


@pytest.mark.parametrize("first, second", SAMPLES)
def test_overlap_by_counting(first, second):
    found = overlap(np.array(first), np.array(second))
    assert found == pytest.approx(float(counted(first, second)), abs=1e-12)
    assert same_shares(np.array(first), np.array(second)) == (counted(first, second) == 1)


@pytest.mark.parametrize("first, second", SAMPLES)
def test_hits_unique_by_counting(first, second):
    counts = Counter(map(int, first))
    slow = [float(counts[int(row)] == 1) for row in second]
    assert hits_unique(np.array(first), np.array(second)).tolist() == slow


def test_null_by_shuffling():
    rng = np.random.default_rng(3)
    first, second = rng.integers(6, size=80), rng.integers(6, size=50) // 2
    pooled = np.concatenate([first, second])
    slow = []
    for _ in range(4000):
        order = rng.permutation(pooled)
        slow.append(overlap(order[:80], order[80:]))
    mean, sd = overlap_null(first, second, rng, draws=4000)
    # Means of 4,000 draws each: 4 SE of the difference, false alarm 6e-5.
    assert abs(mean - np.mean(slow)) < 4 * np.std(slow) * (2 / 4000) ** 0.5
    assert sd == pytest.approx(np.std(slow), rel=0.08)


def test_nothing_overlaps_with_nothing():
    none, one = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    assert overlap(none, one) == 0.0
    assert overlap_null(none, one, np.random.default_rng(0), draws=2) == (0.0, 0.0)
    assert not same_shares(none, none) and not same_shares(none, one)
    assert hits_unique(none, one).tolist() == [0.0]
