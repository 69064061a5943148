"""The expected share of identical matches: against closed forms and plain simulation."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

from understudy.kernels.match_share import expected_match_share


def simulated(delta, rows, dimension, covariance, rng, times=20_000):
    """Draw a row and its `rows` companions, look whether any is near; no formula."""
    spread = np.full((dimension, dimension), covariance) + (1 - covariance) * np.eye(dimension)
    hits = []
    for _ in range(times // 2_000):
        x = rng.multivariate_normal(np.zeros(dimension), spread, 2_000)
        y = rng.multivariate_normal(np.zeros(dimension), spread, (2_000, rows))
        hits.append((((y - x[:, None]) ** 2).sum(axis=2) <= delta**2).any(axis=1))
    return np.concatenate(hits)


@pytest.mark.parametrize(
    "case", [(0.7, 50, 3, 0.4), (1.0, 30, 5, 0.0), (0.3, 20, 2, 0.9), (0.5, 40, 2, -0.5)]
)
def test_expected_share_is_that_of_simulations(case):
    """Four comparisons at 4.5 standard errors: by chance 1 of 37,000 seeds fails."""
    hits = simulated(*case, np.random.default_rng(8))
    expected = expected_match_share(*case).exact
    assert abs(hits.mean() - expected) < 4.5 * np.sqrt(expected * (1 - expected) / len(hits))


def test_a_pair_meets_as_the_chi_square_of_the_difference_says():
    """x − y ~ N(0, 2I), so |x − y|²/2 is a chi-square of d degrees of freedom."""
    for delta, dimension in ((1.0, 10), (0.3, 4), (2.5, 7)):
        share = expected_match_share(delta, 1, dimension, 0.0)
        assert share.probability == pytest.approx(chi2.cdf(delta**2 / 2, dimension), rel=1e-4)
        assert share.exact == pytest.approx(share.probability, rel=1e-9)  # one row: no power


def test_a_pair_meets_along_the_one_axis_that_is_left():
    """At a covariance of almost 1 all columns are one: |x − y|² is d·(x₁ − y₁)²."""
    share = expected_match_share(0.5, 1, 4, 1 - 1e-7)
    assert share.probability == pytest.approx(2 * norm.cdf(0.5 / np.sqrt(8)) - 1, rel=1e-4)


def test_one_probability_for_all_rows_expects_too_much():
    for covariance in (0.0, 0.5, 0.9):
        share = expected_match_share(1.0, 5000, 10, covariance)
        assert share.exact < share.one_probability
