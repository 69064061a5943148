"""Combining rules: a published number, slow arithmetic, and coverage by simulation."""

import numpy as np
import pytest
from scipy import stats

from understudy.kernels.combine import RULES, combine


def test_partial_is_the_published_example():
    """ORACLES: T ≈ 5.678e-4 and df ≈ 463.7."""
    q, se = np.array([0.12182, 0.13209]), np.array([0.02121, 0.02516])
    found = combine(q, se**2, "partial")
    assert float(found.variance) == pytest.approx(5.678e-4, abs=5e-8)
    assert float(found.degrees) == pytest.approx(463.7, abs=0.05)
    low, high = found.interval(0.95)
    half = stats.t.ppf(0.975, found.degrees) * np.sqrt(found.variance)
    assert (float(low), float(high)) == pytest.approx((0.126955 - half, 0.126955 + half))


def test_the_rules_in_words():
    """m = 4 tables of 200 rows, learnt from 100 people."""
    q, v = np.array([1.0, 2.0, 3.0, 6.0]), np.array([1.0, 2.0, 3.0, 2.0])
    between = ((1 - 3) ** 2 + (2 - 3) ** 2 + 0 + (6 - 3) ** 2) / 3
    expected = {
        "simple": 2 * (200 / 100 + 1 / 4),
        "proper": 2 * (200 / 100 + (1 + 200 / 100) / 4),
        "partial": 2 + between / 4,
        "full": (1 + 1 / 4) * between - 2,
    }
    for rule in RULES:
        found = combine(q, v, rule, share=2.0)
        assert float(found.estimate) == 3 and not found.repaired
        assert float(found.variance) == pytest.approx(expected[rule]), rule
    outer = (1 + 1 / 4) * between
    full = combine(q, v, "full", share=2.0)
    assert float(full.degrees) == pytest.approx(3 * (1 - 2 / outer) ** 2)


def test_full_is_never_negative():
    q, v = np.array([[1.0, 1.0], [1.1, 9.0], [1.0, -9.0]]), np.full((3, 2), 2.0)
    found = combine(q, v, "full", share=0.5)
    assert found.repaired.tolist() == [True, False]
    assert found.variance[0] == pytest.approx(2 * 0.5) and found.degrees[0] == 2
    assert np.all(found.variance > 0)


def test_equal_estimates_and_single_tables():
    alike = combine(np.ones(3), np.ones(3), "partial")
    assert float(alike.variance) == 1 and np.isinf(alike.degrees)
    assert float(combine(np.ones(1), np.ones(1), "simple").variance) == 2
    for rule in ("partial", "full"):
        with pytest.raises(ValueError, match="two tables"):
            combine(np.ones(1), np.ones(1), rule)


def coverage(rule, m, share, *, proper, kept=False, runs=2000, seed=7):
    """How often the interval for a mean covers the truth: n = 400 normal people."""
    rng = np.random.default_rng([seed, m, round(10 * share)])
    n, covered = 400, 0
    rows = round(n * share)
    for _ in range(runs):
        x = rng.normal(size=n)
        y = 0.8 * x + 0.6 * rng.normal(size=n)  # the mean of y is 0
        q, v = [], []
        for _ in range(m):
            if kept:  # x is kept, y drawn given x from drawn parameters
                design = np.column_stack([np.ones(n), x])
                inverse = np.linalg.inv(design.T @ design)
                beta = inverse @ design.T @ y
                left = y - design @ beta
                noise = left @ left / rng.chisquare(n - 2)
                beta = rng.multivariate_normal(beta, noise * inverse)
                drawn = design @ beta + np.sqrt(noise) * rng.normal(size=n)
            else:
                noise, centre = y.var(ddof=1), y.mean()
                if proper:
                    noise *= (n - 1) / rng.chisquare(n - 1)
                    centre += np.sqrt(noise / n) * rng.normal()
                drawn = rng.normal(centre, np.sqrt(noise), rows)
            q.append(drawn.mean())
            v.append(drawn.var(ddof=1) / len(drawn))
        low, high = combine(np.array(q), np.array(v), rule, share).interval(0.95)
        covered += low <= 0 <= high
    return covered / runs


@pytest.mark.parametrize(
    "rule, m, share, how",
    [
        ("simple", 1, 1.0, {"proper": False}),
        ("simple", 5, 4 / 3, {"proper": False}),
        ("proper", 1, 1.0, {"proper": True}),
        ("proper", 5, 4 / 3, {"proper": True}),
        ("partial", 5, 1.0, {"proper": True, "kept": True}),
    ],
)
def test_intervals_cover_quickly(rule, m, share, how):
    # 400 runs: standard error 1.1%; the band is ± 4 of them, a false alarm in 16,000.
    assert coverage(rule, m, share, runs=400, **how) == pytest.approx(0.95, abs=0.044)


@pytest.mark.sweep
@pytest.mark.parametrize("m", [1, 2, 5, 20])
@pytest.mark.parametrize("share", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("rule", ["simple", "proper"])
def test_intervals_cover(rule, m, share):
    # 4,000 runs: standard error 0.34%, the band ± 4 of them.
    assert coverage(rule, m, share, proper=rule == "proper", runs=4000) == pytest.approx(
        0.95, abs=0.014
    )


@pytest.mark.sweep
@pytest.mark.parametrize("m", [2, 5, 20])
def test_partial_intervals_cover(m):
    # Reiter's rule is not exact with two tables: a little more than 95% is right.
    assert 0.935 < coverage("partial", m, 1.0, proper=True, kept=True, runs=4000) < 0.975


@pytest.mark.sweep
def test_full_is_conservative_for_proper_tables_and_useless_for_simple_ones():
    """METHODS: about 99% at m = 5 for proper tables; negative half of the time without draws."""
    assert coverage("full", 5, 1.0, proper=True, runs=4000) > 0.97
    rng, negative = np.random.default_rng(8), 0
    for _ in range(2000):
        y = rng.normal(size=400)
        drawn = rng.normal(y.mean(), y.std(ddof=1), (5, 400))
        v = drawn.var(axis=1, ddof=1) / 400
        negative += bool(combine(drawn.mean(axis=1), v, "full").repaired)
    assert 0.4 < negative / 2000 < 0.75
