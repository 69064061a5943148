"""The extremes that missing values allow, against numerical optimisation and grids."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from understudy.kernels import worst_case
from understudy.kernels.worst_case import Exact, Paper

ENDS = np.array([[-2.0], [3.0]])


def case(kind, rng, size=4):
    """A random correlation matrix, numbers in [-2, 3]."""
    root = rng.normal(size=(size, size + 2))
    spread = root @ root.T
    scale = np.sqrt(np.diag(spread))
    return kind(spread / np.outer(scale, scale), [[t] for t in range(size)], [ENDS] * size)


def pair(rng, size=4):
    """Two records with gaps, and what is missing in each."""
    rows = rng.uniform(-2, 3, size=(2, size))
    gaps = rng.random((2, size)) < 0.4
    rows[gaps] = np.nan
    return rows, gaps


def smallest(found, rows):
    seen = ~np.isnan(rows).any(axis=0)
    gap = (rows[0] - rows[1])[seen]
    return float(np.linalg.norm(gap @ found.near_root(~seen)))


def largest(found, rows, gaps):
    one, other = gaps
    first, second, more = found.stand_ins(one, other, rows[:1], rows[1:])
    root = np.linalg.cholesky(found.precision)
    bound = np.sqrt(np.square(np.linalg.norm((first - second) @ root)) + more)
    far, skipped = found.farthest(one, other, rows[:1], rows[1:], np.array([bound]))
    assert not skipped and found.apart(one, other[None])[0] <= bound * (1 + 1e-12)
    return bound, float(far[0])


def filled(found, rows, gaps, values):
    full = rows.copy()
    full[gaps] = values
    gap = full[0] - full[1]
    return float(np.sqrt(gap @ found.precision @ gap))


def test_the_smallest_distance_is_what_an_optimiser_finds(seed):
    for trial in range(20):
        rng = np.random.default_rng([seed, trial])
        found, (rows, gaps) = case(Exact, rng), pair(rng)

        def square(values, found=found, rows=rows, gaps=gaps):
            return filled(found, rows, gaps, values) ** 2

        best = minimize(square, np.zeros(gaps.sum()), method="BFGS") if gaps.any() else None
        least = np.sqrt(best.fun) if best is not None else filled(found, rows, gaps, [])
        assert smallest(found, rows) == pytest.approx(least, abs=1e-4)
        paper = Paper(found.correlation, found.columns, found.values)
        assert smallest(found, rows) <= smallest(paper, rows) * (1 + 1e-9)


def test_the_largest_distance_is_at_a_corner_and_above_all_of_a_grid(seed):
    for trial in range(20):
        rng = np.random.default_rng([seed, trial])
        found, (rows, gaps) = case(Exact, rng), pair(rng)
        grid = itertools.product(np.linspace(-2, 3, 3 if gaps.sum() > 5 else 5), repeat=gaps.sum())
        want = max(filled(found, rows, gaps, list(values)) for values in grid)
        bound, far = largest(found, rows, gaps)
        assert far == pytest.approx(want)
        assert bound <= far * (1 + 1e-12)
        paper = Paper(found.correlation, found.columns, found.values)
        by_paper, same = largest(paper, rows, gaps)
        assert by_paper == same <= far * (1 + 1e-9)


def test_substitution_is_the_papers(seed):
    """One value missing: the end farther from the other's. Both: the maximum, then the minimum."""
    found = case(Paper, np.random.default_rng(seed), 2)
    nan = np.nan
    for one, other, gap in [
        ([1, 0], [nan, 0], [3, 0]),
        ([0, 0], [nan, 0], [-3, 0]),
        ([nan, 0], [0, 0], [3, 0]),
        ([nan, nan], [nan, nan], [5, 5]),
        ([nan, 1], [1, nan], [-3, 3]),
    ]:
        rows = np.array([one, other], float)
        want = np.sqrt(np.array(gap) @ found.precision @ np.array(gap))
        assert largest(found, rows, np.isnan(rows))[0] == pytest.approx(want)
    assert smallest(found, np.array([[1.0, 0.0], [nan, 0.0]])) == 0
    want = np.sqrt(found.precision[1, 1]) * 2
    assert smallest(found, np.array([[1.0, 2.0], [nan, 0.0]])) == pytest.approx(want)


def test_a_nominal_column_takes_its_own_levels_only():
    """Of three levels, two marks: (1, 1) is nobody's, so that it is no corner."""
    levels = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = Exact(np.array([[1.0, 0.9], [0.9, 1.0]]), [[0, 1]], [levels])
    rows = np.array([[np.nan, np.nan], [0.0, 0.0]])
    gaps = np.array([[True], [False]])
    root = np.linalg.cholesky(found.precision)
    first, second, more = found.stand_ins(gaps[0], gaps[1], rows[:1], rows[1:])
    bound = np.sqrt(np.linalg.norm((first - second) @ root) ** 2 + more)
    far, _ = found.farthest(gaps[0], gaps[1], rows[:1], rows[1:], np.array([bound]))
    assert far[0] == pytest.approx(max(np.linalg.norm(level @ root) for level in levels))
    both = np.array([[True], [True]])
    far, _ = found.farthest(both[0], both[1], rows[:1] * np.nan, rows[1:] * np.nan, far)
    apart = [np.linalg.norm((a - b) @ root) for a in levels for b in levels]
    assert far[0] == pytest.approx(max(apart))


def test_too_many_corners_count_as_far_apart(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    found = case(Exact, rng)
    rows, gaps = np.full((2, 4), np.nan), np.ones((2, 4), bool)
    assert np.isfinite(found.farthest(*gaps, rows[:1], rows[1:], np.ones(1))[0]).all()
    monkeypatch.setattr(worst_case, "CORNERS", 15)
    far, skipped = found.farthest(*gaps, rows[:1], rows[1:], np.ones(1))
    assert far.tolist() == [np.inf] and skipped == 1
