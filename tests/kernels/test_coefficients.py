"""Equations 28 and 29, and what chance makes of them."""

import numpy as np
import pytest

from understudy.kernels.coefficients import FAR, by_chance, compare, difference, overlap

Z = 1.959963984540054


def slow_overlap(low, high, other_low, other_high):
    """Length of the common stretch over each length, point by point on a fine grid."""
    grid = np.linspace(min(low, other_low), max(high, other_high), 200_001)
    step = grid[1] - grid[0]
    both = np.sum((grid >= low) & (grid <= high) & (grid >= other_low) & (grid <= other_high))
    return 0.5 * (both * step / (high - low) + both * step / (other_high - other_low))


@pytest.mark.parametrize("ends", [(0, 4, 1, 5), (0, 4, 1, 2), (-1, 1, 0.9, 7), (0, 1, 0, 1)])
def test_overlap_is_the_share_of_common_length(ends):
    found = overlap(*(np.array([float(end)]) for end in ends))
    assert found[0] == pytest.approx(slow_overlap(*ends), abs=1e-4)


def test_overlap_is_one_minus_the_difference_over_3_92():
    """ORACLES: exactly, with the original's standard error for both intervals, at any distance."""
    rng = np.random.default_rng(1)
    original, error = rng.normal(size=200), rng.exponential(size=200)
    synthetic = original + error * rng.normal(0, 4, 200)
    found = compare(original, error, synthetic, error, (1.96, 1.96))
    assert found.overlap == pytest.approx(1 - found.difference / 3.92, abs=1e-12)
    assert found.difference == pytest.approx(np.abs(original - synthetic) / error)


def test_a_copy_has_difference_0_and_overlap_1():
    one = np.array([1.0, -2.0]), np.array([0.1, 3.0])
    found = compare(*one, *one, (Z, Z))
    assert found.difference.tolist() == [0, 0] and found.overlap == pytest.approx([1, 1])


def test_a_lost_coefficient_is_far_and_nothing_is_further():
    nan = np.nan
    original, error = np.zeros(4), np.ones(4)
    found = compare(original, error, np.array([0, nan, 0, 1e9]), np.array([1, 1, nan, 1]), (Z, Z))
    assert found.lost.tolist() == [False, True, True, False]
    assert found.difference.tolist() == [0, FAR, FAR, FAR]
    assert found.overlap[1:] == pytest.approx(1 - FAR / (2 * Z))


@pytest.mark.parametrize("ratio", [0.25, 1.0, 4.0])
def test_chance_for_one_coefficient_is_a_folded_normal(ratio):
    """SD = |N(0, 1 + r)|: its median is 0.6745·√(1 + r). 20,000 draws err by 1.2%."""
    rng = np.random.default_rng(2)
    off, share = by_chance(np.eye(1), ratio, (Z, Z), rng, draws=20_000)
    assert np.median(off) == pytest.approx(0.67449 * np.sqrt(1 + ratio), rel=0.03)
    # The slow way: intervals around draws.
    apart, wide = rng.normal(0, np.sqrt(1 + ratio), 20_000), Z * np.sqrt(ratio)
    slow = overlap(np.full(20_000, -Z), np.full(20_000, Z), apart - wide, apart + wide)
    assert np.median(share) == pytest.approx(np.median(slow), abs=0.02)


def test_chance_is_what_regressions_of_fresh_samples_show():
    """Medians over coefficients of least squares on pairs of fresh samples, 400 times.

    Errors spread with x, so that the model's own standard errors are wrong by a factor that the
    sandwich must bring in. The mean of 400 medians errs by 2%.
    """
    rng = np.random.default_rng(3)

    def fit(rows):
        x = np.column_stack([np.ones(rows), rng.normal(size=(rows, 2))])
        y = x @ [1, 2, 3] + rng.normal(size=rows) * (0.2 + np.abs(x[:, 1]) ** 2)
        inverse = np.linalg.inv(x.T @ x)
        beta = inverse @ x.T @ y
        left = y - x @ beta
        model = inverse * (left @ left) / (rows - 3)
        return beta, np.sqrt(np.diag(model)), inverse @ (x.T * left**2) @ x @ inverse

    seen, expected = [], []
    for _ in range(400):
        beta, error, robust = fit(800)
        other, _, _ = fit(400)
        seen.append(np.median(difference(beta, other, error)))
        spread = robust / np.outer(error, error)
        expected.append(np.median(by_chance(spread, 2.0, (Z, Z), rng, draws=200)[0]))
    assert np.median(seen) == pytest.approx(np.mean(expected), rel=0.08)
    plain = np.median(by_chance(np.eye(3), 2.0, (Z, Z), rng)[0])
    assert plain < 0.9 * np.median(seen)  # without the sandwich chance would look smaller


def test_replicates_share_the_original():
    """However many replicates, the original's own error stays: the median does not go to a limit
    of its own, as it would if each pair were independent."""
    rng = np.random.default_rng(4)
    many, _ = by_chance(np.eye(1), 1e-6, (Z, Z), rng, replicates=50, draws=20_000)
    assert np.std(many) == pytest.approx(np.sqrt(1 - 2 / np.pi), rel=0.05)  # of |N(0, 1)|
