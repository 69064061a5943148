"""Intervals without resampling, against resampling and against the truth."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from understudy.kernels.resample import interval, mean_draws, quantile, quantile_draws, z_of


def bootstrapped(values, statistic, rng, draws=2000):
    return np.array(
        [statistic(rng.choice(values, values.size, replace=True)) for _ in range(draws)]
    )


def test_quantile_is_an_order_statistic():
    values = np.random.default_rng(1).normal(size=37)
    for share in (0.001, 0.05, 0.5, 0.999):
        count = next(k for k in range(1, 38) if k / 37 >= share)
        assert quantile(values, share) == np.sort(values)[count - 1]
    assert np.isnan(quantile(np.zeros(0), 0.05))


def test_quantile_draws_are_the_bootstrap_of_many_values():
    rng = np.random.default_rng(2)
    values = rng.exponential(size=4000)
    slow = bootstrapped(values, lambda x: quantile(x, 0.05), rng)
    quick = quantile_draws(values, 0.05, rng, 2000)
    # The two laws differ by half a rank of 14 (the bootstrap's SD): KS 0.015 and noise of 0.03.
    assert ks_2samp(slow, quick).statistic < 0.06
    assert np.quantile(quick, [0.01, 0.99]) == pytest.approx(
        np.quantile(slow, [0.01, 0.99]), rel=0.03
    )


@pytest.mark.parametrize("rows", [10, 30, 100])
def test_quantile_draws_cover_the_true_quantile_where_rows_are_few(rows):
    """Where the bootstrap does not: on 10 rows it covers in about 40% of samples."""
    rng, truth = np.random.default_rng(3), -np.log(0.95)
    hits = 0
    for _ in range(600):
        low, high = interval(quantile_draws(rng.exponential(size=rows), 0.05, rng, 500), 0.9)
        hits += low <= truth <= high
    # 90% declared; 600 runs: SE 0.012, so 0.85 alarms with probability 3e-5.
    assert 0.85 <= hits / 600 <= 0.99


@pytest.mark.parametrize("values", [[0, 1], [0, 0.5, 1]])
def test_mean_draws_are_the_bootstrap(values):
    rng = np.random.default_rng(4)
    sample = rng.choice(np.array(values, dtype=float), 200)
    slow, quick = bootstrapped(sample, np.mean, rng), mean_draws(sample, rng, 2000)
    # One pair of samples of 2,000 at p > 0.001.
    assert ks_2samp(slow, quick).pvalue > 0.001


def test_mean_draws_of_many_values_are_the_bootstrap():
    rng = np.random.default_rng(6)
    sample = rng.beta(0.4, 2.0, 900)
    slow, quick = bootstrapped(sample, np.mean, rng), mean_draws(sample, rng, 2000)
    # One pair of samples of 2,000 at p > 0.001.
    assert ks_2samp(slow, quick).pvalue > 0.001


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_share_seen_without_variation_still_has_an_interval(value):
    low, high = interval(mean_draws(np.full(20, value), np.random.default_rng(5)), 0.95)
    assert 0 <= low <= high <= 1 and 0.05 < high - low < 0.3


def test_nothing_gives_nan():
    rng = np.random.default_rng(6)
    assert np.isnan(mean_draws(np.zeros(0), rng)).all()
    assert np.isnan(quantile_draws(np.zeros(0), 0.05, rng)).all()


def test_normal_quantiles():
    assert z_of(0.95) == pytest.approx(1.959964, abs=1e-6)
    assert z_of(0.0) == 0.0
