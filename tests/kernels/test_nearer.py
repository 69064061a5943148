"""Hits on the nearest row, against counting by hand and every way to deal the labels out."""

from itertools import combinations

import numpy as np
import pytest

from understudy.kernels.nearer import share_of_first, spread_hits


def test_equal_rows_share_what_they_attract():
    twin = np.array([0, 1, 0, 2, 0, 1])
    found = spread_hits(np.array([0, 0, 4, 2, 1, 3, 3]), twin)
    assert found.tolist() == pytest.approx([4 / 3, 1 / 2, 4 / 3, 2, 4 / 3, 1 / 2])
    # Which of the equal rows the search hit makes no difference.
    assert spread_hits(np.array([4, 4, 4, 4, 5, 3, 3]), twin).tolist() == found.tolist()


@pytest.mark.parametrize("first", [1, 3, 5])
def test_mean_and_deviation_over_all_labellings(first):
    hits = np.array([0.0, 2.0, 1.0, 1.0, 4.5, 0.5, 0.0])
    every = np.array([hits[list(chosen)].sum() for chosen in combinations(range(7), first)])
    share, mean, sd = share_of_first(hits, np.arange(7) < first)
    assert share == pytest.approx(hits[:first].sum() / hits.sum())
    assert mean == pytest.approx(every.mean() / hits.sum())
    assert sd == pytest.approx(every.std() / hits.sum())


def test_without_hits_or_rows_there_is_no_share():
    assert np.isnan(share_of_first(np.zeros(3), np.arange(3) < 1)).all()
    assert np.isnan(share_of_first(np.ones(1), np.ones(1, dtype=bool))).all()
