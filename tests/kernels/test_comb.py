"""Even draws: uniform one by one, even together, and with a probability that adds up."""

from itertools import product

import numpy as np
import pytest

from understudy.kernels import comb
from understudy.seeds import stream


def test_every_spot_is_uniform_and_stretches_are_even():
    """Counts of every stretch stay near what is expected; independent spots stray as √n."""
    n = 2000
    u = comb.spots(np.arange(n), stream(1), n)
    for low, high in ((0.0, 0.5), (0.2, 0.3), (0.37, 0.93)):
        inside = np.cumsum(np.append(0, (u >= low) & (u < high)))
        expected = (high - low) * np.arange(n + 1)
        stray = (inside - expected)[:, None] - (inside - expected)[None, :]
        # Ostrowski: at most a few times log n; a fair coin over 2,000 rows strays 22 (one SD).
        assert np.abs(stray).max() < 6
    first = [comb.spots(np.arange(5), stream(2, i), 5)[3] for i in range(4000)]
    # Kolmogorov's statistic above 2.2/√n: false alarm 1e-4.
    gap = np.abs(np.sort(first) - (np.arange(4000) + 0.5) / 4000).max()
    assert gap < 2.2 / np.sqrt(4000)


def test_spots_follow_the_order_that_is_given():
    along = np.array([2, 0, 1])
    u = comb.spots(along, stream(3), 3)
    steps = np.diff(u[along]) % 1.0
    assert steps == pytest.approx([comb.GOLDEN, comb.GOLDEN])


def test_order_sorts_by_the_first_key_and_keeps_ties():
    keys = [np.array([1, 0, 1, 0]), np.array([2, 5, 1, 5])]
    assert comb.order(keys, 4).tolist() == [1, 3, 2, 0]
    assert comb.order([], 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(("size", "left"), [(1, 1.0), (2, 0.7), (8, 0.3), (40, 0.1)])
def test_the_longer_the_comb_the_less_counts_stray(size, left):
    """Variance of counts against that of independent rows, over 4,000 starts and all levels."""
    n, draws = 80, 4000
    u = np.stack([comb.spots(np.arange(n), stream(9, size, i), size) for i in range(draws)])
    edges = np.linspace(0, 1, 21)[1:-1]
    found = np.mean([(u < p).sum(axis=1).var() / (n * p * (1 - p)) for p in edges])
    # A variance over 4,000 draws is off by 2%; the mean over levels by less.
    assert found == pytest.approx(1.0, abs=0.05) if size == 1 else found < left


def test_combs_start_anew_and_the_last_may_be_short():
    u = comb.spots(np.arange(5), stream(3), 2)
    assert np.diff(u)[[0, 2]] % 1.0 == pytest.approx([comb.GOLDEN] * 2)
    assert len(np.unique(np.round(u - np.array([0, comb.GOLDEN, 0, comb.GOLDEN, 0]), 9) % 1)) == 3


def brute(along, low, high, size, starts=200_000):
    """Share of many evenly placed starts for which every row's spot falls in its part."""
    u = (np.arange(starts) + 0.5) / starts
    whole = 1.0
    for begin in range(0, len(along), size):
        good = np.ones(starts, dtype=bool)
        for rank, row in enumerate(along[begin : begin + size]):
            spot = (u + rank * (np.sqrt(5) - 1) / 2) % 1.0
            good &= (spot >= low[row]) & (spot < high[row])
        whole *= good.mean()
    return whole


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("seed", range(8))
def test_measure_against_counted_starts(seed, size):
    rng = stream(4, seed)
    n = 1 + seed
    cuts = np.sort(rng.random((n, 2)), axis=1)
    low, high = np.maximum(cuts[:, 0] - 0.3, 0.0), np.minimum(cuts[:, 1] + 0.3, 1.0)
    along = rng.permutation(n)
    found = np.exp(comb.log_measure(along, low, high, size))
    assert found == pytest.approx(brute(along, low, high, size), abs=2e-5 * (n + 1))


def test_all_outcomes_together_are_certain():
    """Three rows, three cells each: the 27 probabilities add up to one, and most are nought."""
    edges = np.array([[0.0, 0.2, 0.7, 1.0], [0.0, 0.5, 0.5, 1.0], [0.0, 0.1, 0.4, 1.0]])
    rows = np.arange(3)
    found = [
        np.exp(comb.log_measure(rows, edges[rows, list(cell)], edges[rows, np.add(cell, 1)], 3))
        for cell in product(range(3), repeat=3)
    ]
    assert sum(found) == pytest.approx(1.0)
    assert 0.0 in found


def test_what_cannot_be_drawn_has_no_measure():
    for size in (1, 4):
        assert comb.log_measure(np.arange(1), np.array([0.4]), np.array([0.4]), size) == -np.inf
        assert comb.log_measure(np.arange(2), np.zeros(2), np.ones(2), size) == pytest.approx(0.0)
        assert comb.log_measure(np.arange(0), np.zeros(0), np.zeros(0), size) == 0.0
