"""Multisets of rows, against counting with the standard library."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from understudy.kernels.rows import (
    hits_unique,
    overlap,
    overlap_interval,
    overlap_null,
    same_shares,
    variance_left,
)

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


@pytest.mark.parametrize("cells", [2, 8, 200])
def test_overlap_interval_covers_what_two_draws_share_on_average(cells):
    """95% intervals of 600 pairs of draws from uniform cells: 92.5% to 98% hold the true mean.

    Below or above by chance with probability under 0.006 if the coverage is 95%; it is a little
    more with two cells (the interval is made to be no less).
    """
    rng = np.random.default_rng(5)
    draw = lambda: rng.integers(cells, size=(2, 2000))  # noqa: E731
    found = np.array([overlap(*draw()) for _ in range(600)])
    mean, sd = found.mean(), found.std()
    ends = np.array([overlap_interval(value, mean, sd, 0.95) for value in found])
    assert 0.925 < np.mean((ends[:, 0] <= mean) & (mean <= ends[:, 1])) < 0.98
    # Errors on both sides, and where rows are many and cells too it is the normal interval.
    if cells == 200:
        assert np.allclose(ends[:, 1] - ends[:, 0], 2 * 1.96 * sd, rtol=0.2)


def test_an_overlap_near_one_is_near_one_beyond_doubt():
    low, high = overlap_interval(0.9999, 0.9, 0.02, 0.999)
    assert 0.9995 < low < 0.9999 < high < 1
    assert overlap_interval(0.3, 0.0, 0.0, 0.95) == (0.3, 0.3)
    assert overlap_interval(0.5, 0.9, 0.1, 0.99999)[0] == 0.0


@pytest.mark.parametrize("taken", [100, 200, 400, 900])
def test_variance_left_by_simulation(taken):
    """Counts of one cell among rows taken from 400, against two draws: 5% with 20,000 runs."""
    rng, n, p = np.random.default_rng(6), 400, 0.3
    train = rng.binomial(n, p, 20_000)
    apart = np.var(rng.binomial(taken, p, 20_000) / taken - train / n)
    again = np.var(rng.binomial(taken, train / n) / taken - train / n)
    drawn, copied = variance_left(taken / (taken + n))
    assert again / apart == pytest.approx(drawn, rel=0.05)
    if taken < n:
        subset = np.var(rng.hypergeometric(train, n - train, taken) / taken - train / n)
        assert subset / apart == pytest.approx(copied, rel=0.05)
    else:
        assert copied == 0


def test_nothing_overlaps_with_nothing():
    none, one = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    assert overlap(none, one) == 0.0
    assert overlap_null(none, one, np.random.default_rng(0), draws=2) == (0.0, 0.0)
    assert not same_shares(none, none) and not same_shares(none, one)
    assert hits_unique(none, one).tolist() == [0.0]
