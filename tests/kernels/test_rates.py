"""Shares with their intervals, against published numbers and the equations behind them."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from understudy.kernels.rates import difference, residual, wilson, wilson_ends


@pytest.mark.parametrize(
    ("successes", "attacks", "centre", "half", "digits"),
    [(850, 1000, 0.849, 0.022, 3), (23, 100, 0.239988, 0.081556, 6)],
)
def test_published_intervals(successes, attacks, centre, half, digits):
    found = wilson(successes, attacks)
    assert [round(number, digits) for number in found] == [centre, half]


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "attacks"), [(0, 7), (3, 7), (7, 7), (40, 1000)])
def test_ends_are_the_shares_that_a_score_test_just_accepts(successes, attacks, level):
    z, share = norm.ppf(0.5 + level / 2), successes / attacks
    for end in wilson_ends(successes, attacks, level):
        off = abs(share - end)
        assert off == pytest.approx(z * math.sqrt(end * (1 - end) / attacks), abs=1e-12)
    assert 0 <= wilson_ends(successes, attacks, level)[0] <= share
    assert math.isnan(wilson(0, 0)[0])


def test_the_interval_covers_as_often_as_it_says():
    """Exact coverage over all outcomes, averaged over shares: Wilson's is close to nominal."""
    ends = np.array([wilson_ends(s, 50) for s in range(51)])
    shares = np.linspace(0.02, 0.98, 97)
    inside = (ends[:, :1] <= shares) & (shares <= ends[:, 1:])
    covered = (binom.pmf(np.arange(51)[:, None], 50, shares) * inside).sum(axis=0)
    assert covered.mean() == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [  # Newcombe (1998), Table II, method 10
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
    ],
)
def test_differences_as_published(first, second, low, high):
    assert difference(first, second) == pytest.approx((low, high), abs=6e-5)


def test_residual_risk_as_published():
    value, error = residual((0.90, 0.02), (0.85, 0.02))
    assert (round(value, 3), round(error, 2)) == (0.333, 0.16)
    assert all(map(math.isnan, residual((1.0, 0.0), (1.0, 0.0))))
    assert residual((0.2, 0.01), (0.3, 0.01))[0] < 0  # less than strangers give away


def test_the_error_of_the_residual_is_that_of_many_draws():
    """Errors are 95% half widths of normal shares; the draws agree to their own error."""
    rng = np.random.default_rng(1)
    a, c = rng.normal(0.5, 0.01, 200_000), rng.normal(0.2, 0.02, 200_000)
    value, error = residual((0.5, 0.01), (0.2, 0.02))
    drawn = (a - c) / (1 - c)
    assert (drawn.mean(), drawn.std()) == pytest.approx((value, error), rel=0.02)
