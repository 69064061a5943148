"""Shares and ratios of sums: published intervals, closed forms, and simulated errors."""

import numpy as np
import pytest

from understudy.kernels.totals import ratio_of_sums, share


@pytest.mark.parametrize(
    ("hits", "rows", "centre", "half"),
    [(850, 1000, 0.849, 0.022), (23, 100, 0.239988, 0.081556)],
)
def test_wilson_as_published(hits, rows, centre, half):
    found = share(hits, rows)
    digits = 6 if rows == 100 else 3
    assert round((found.low + found.high) / 2, digits) == pytest.approx(centre)
    assert round((found.high - found.low) / 2, digits) == pytest.approx(half)
    assert found.value == hits / rows


def test_nobody_and_everybody_are_not_certain():
    none, every = share(0, 50), share(50, 50)
    assert none.value == 0 and none.low == pytest.approx(0, abs=1e-12) and none.high > 0.05
    assert every.high == pytest.approx(1) and every.low < 0.95
    assert none.error == pytest.approx(every.error) and none.error > 0
    assert share(0, 0) is None


def test_a_mean_is_a_mean():
    values = np.random.default_rng(1).normal(3, 2, 57)
    found = ratio_of_sums(values, np.ones(57))
    assert found.value == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / np.sqrt(57))
    assert found.high - found.low == pytest.approx(2 * 1.959964 * found.error)


def test_weights_are_those_of_repeated_rows_for_the_estimate():
    rng = np.random.default_rng(2)
    y, x, w = rng.normal(5, 1, 40), rng.normal(2, 0.2, 40), rng.integers(1, 5, 40)
    weighted = ratio_of_sums(y, x, w.astype(float))
    assert weighted.value == pytest.approx(np.repeat(y, w).sum() / np.repeat(x, w).sum())
    scaled = ratio_of_sums(y, x, 10.0 * w)
    assert scaled.error == pytest.approx(weighted.error)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_is_the_spread_of_estimates(weighted):
    """4,000 samples of 200: the deviation is known to 1.1%; 5% is four errors and some bias."""
    rng, values, errors = np.random.default_rng([3, weighted]), [], []
    for _ in range(4000):
        x = rng.gamma(4, 1, 200)
        y = 0.5 * x + rng.normal(0, 1, 200)
        w = rng.uniform(0.5, 3, 200) if weighted else None
        found = ratio_of_sums(y, x, w)
        values.append(found.value)
        errors.append(found.error)
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.05)


def test_no_denominator_no_ratio():
    assert ratio_of_sums(np.ones(5), np.zeros(5)) is None
    assert ratio_of_sums(np.ones(1), np.ones(1)) is None
    assert ratio_of_sums(np.ones(0), np.ones(0)) is None
