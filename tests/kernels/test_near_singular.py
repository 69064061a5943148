"""Which columns make a correlation matrix singular."""

import numpy as np
import pytest

from understudy.kernels.near_singular import condition, correlations, independent


def test_correlations_without_gaps_are_the_usual_ones(seed):
    rows = np.random.default_rng(seed).normal(size=(200, 4)).cumsum(axis=1)
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    assert correlations(standard) == pytest.approx(np.corrcoef(rows.T))


def test_correlations_with_gaps_use_the_rows_that_have_both(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(50, 3))
    rows[rng.random(rows.shape) < 0.3] = np.nan
    found = correlations(rows)
    product = rows[:, 0] * rows[:, 1]
    assert found[0, 1] == pytest.approx(np.nanmean(product))
    assert found[0, 1] == found[1, 0] and found[0, 0] == 1


def test_what_is_left_is_one_minus_r_squared(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(500, 5))
    rows[:, 3] = rows[:, 0] - rows[:, 1] + 0.01 * rows[:, 3]
    rows -= rows.mean(axis=0)
    fit = np.linalg.lstsq(rows[:, :3], rows[:, 3], rcond=None)
    left = float(fit[1][0] / (rows[:, 3] ** 2).sum())
    matrix = np.corrcoef(rows.T)
    assert independent(matrix, left / 1.01) == ([0, 1, 2, 3, 4], [])
    kept, out = independent(matrix, left * 1.01)
    assert kept == [0, 1, 2, 4]
    assert out[0].left == pytest.approx(left) and out[0].on == (0, 1)


def test_what_is_kept_is_a_correlation_matrix_even_if_the_whole_is_none():
    matrix = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    assert np.linalg.eigvalsh(matrix)[0] < 0
    kept, out = independent(matrix, 1e-6)
    assert kept == [0, 1] and out[0].left == 0.0
    assert condition(matrix) == np.inf
    assert condition(matrix[:2, :2]) == pytest.approx(19)
