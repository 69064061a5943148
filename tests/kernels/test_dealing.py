"""Tables of equal size: all of them where they can be listed, many of them elsewhere."""

import itertools

import numpy as np
import pytest

from understudy.kernels.dealing import exactly_one, spread


@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize("matches", range(7))
def test_the_chance_is_the_share_of_all_tables(matches, size):
    every = list(itertools.combinations(range(6), size))
    hits = sum(sum(row < matches for row in dealt) == 1 for dealt in every)
    (found,) = exactly_one(np.array([matches]), 6, size)
    assert found == pytest.approx(hits / len(every), abs=1e-12)


def test_large_tables_do_not_overflow():
    found = exactly_one(np.array([0, 1, 2, 5000]), 2_000_000, 1_000_000)
    assert found == pytest.approx([0, 0.5, 0.5, 0], abs=1e-6)


def test_the_spread_is_that_of_dealt_tables():
    """Rows shared among predicates succeed together; 3,000 tables dealt plainly agree to 5%."""
    rng = np.random.default_rng(2)
    rows, size = 120, 80
    matching = [rng.choice(20, rng.integers(0, 4), replace=False) for _ in range(60)]
    plain = []
    for _ in range(3000):
        dealt = set(rng.choice(rows, size, replace=False).tolist())
        plain.append(np.mean([sum(row in dealt for row in m.tolist()) == 1 for m in matching]))
    found = spread(matching, rows, size, rng, draws=3000)
    assert found == pytest.approx(np.std(plain), rel=0.05)
    mean = exactly_one(np.array([len(m) for m in matching]), rows, size).mean()
    assert np.mean(plain) == pytest.approx(mean, abs=4 * np.std(plain) / np.sqrt(3000))


def test_predicates_on_the_same_rows_are_one():
    """Ten times the same predicate is as uncertain as one, not √10 times surer."""
    found = spread([np.array([3, 4])] * 10, 40, 30, np.random.default_rng(4), draws=4000)
    (p,) = exactly_one(np.array([2]), 40, 30)
    assert found == pytest.approx(np.sqrt(p * (1 - p)), rel=0.05)


def test_nothing_that_matches_has_no_spread():
    rng = np.random.default_rng(3)
    assert spread([np.zeros(0, dtype=np.int64)] * 3, 10, 5, rng) == 0.0
    assert spread([], 10, 5, rng) == 0.0
