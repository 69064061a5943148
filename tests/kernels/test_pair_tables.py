"""Crossed columns: the saturated table, and its null against shuffling and enumeration."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kernels import propensity
from understudy.kernels.pair_tables import crossed


def pooled(rng, rows=400, levels=(3, 5), original=None):
    first, second = (rng.integers(0, k, rows) for k in levels)
    return first, second, original or rows // 2


@pytest.mark.parametrize("original", [50, 200, 333])
def test_pmse_is_that_of_the_saturated_table(original):
    """VW = Σ (s − o·c/(1−c))² / ((s+o)·c), pMSE = VW·c(1−c)²/N, written out as in ORACLES."""
    first, second, _ = pooled(np.random.default_rng(original))
    found = crossed(first, second, original)
    o, s = (np.zeros((3, 5)) for _ in "ab")
    for row, (a, b) in enumerate(zip(first, second, strict=True)):
        (o if row < original else s)[a, b] += 1
    c = (400 - original) / 400
    vw = np.sum((s - o * c / (1 - c)) ** 2 / ((s + o) * c))
    assert found.pmse == pytest.approx(vw * c * (1 - c) ** 2 / 400)
    kernel = propensity.saturated(o, s)
    assert found.pmse == pytest.approx(kernel.pmse) and found.cells == kernel.terms
    assert found.expected == pytest.approx(kernel.expected * 400 / 399)


def test_it_is_the_mean_square_of_fitted_propensities():
    """Row by row: each row's propensity is its cell's synthetic share."""
    first, second, original = pooled(np.random.default_rng(3), 60, (2, 3))
    synthetic = np.arange(60) >= original
    squares = [
        (synthetic[(first == a) & (second == b)].mean() - 0.5) ** 2
        for a, b in zip(first, second, strict=True)
    ]
    assert crossed(first, second, original).pmse == pytest.approx(np.mean(squares))


@given(
    st.lists(st.integers(0, 3), min_size=4, max_size=9),
    st.integers(1, 8),
)
def test_mean_and_deviation_over_every_way_to_deal_the_rows(cells, drawn):
    """All choices of the synthetic rows, one by one: exact, also where cells have one row."""
    if drawn >= len(cells):
        return
    cell, values = np.array(cells), []
    for chosen in combinations(range(len(cells)), drawn):
        rest = [i for i in range(len(cells)) if i not in chosen]
        order = np.array([*rest, *chosen])
        values.append(crossed(cell[order], np.zeros(len(cells), int), len(rest)).pmse)
    found = crossed(cell, np.zeros(len(cells), int), len(cells) - drawn)
    assert found.expected == pytest.approx(np.mean(values), abs=1e-12)
    assert found.sd == pytest.approx(np.std(values), abs=1e-7)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_two_fresh_draws_have_ratio_one(share):
    """Means of 600 ratios with deviation √(2/14): standard error 0.016; 0.07 is four errors."""
    rng, ratios = np.random.default_rng([1, int(10 * share)]), []
    for _ in range(600):
        first, second, _ = pooled(rng, 500)
        ratios.append(crossed(first, second, round(500 * (1 - share))).ratio)
    assert np.mean(ratios) == pytest.approx(1, abs=0.07)
    found = crossed(first, second, round(500 * (1 - share)))
    assert np.std(ratios) == pytest.approx(found.sd / found.expected, rel=0.15)


def test_a_copy_has_none_and_apart_has_all():
    a = np.array([0, 1, 2] * 10)
    assert crossed(np.tile(a, 2), np.tile(a, 2), 30).pmse == 0
    apart = crossed(np.repeat([0, 1], 30), np.zeros(60, int), 30)
    assert apart.pmse == 0.25 and apart.cells == 2


@pytest.mark.parametrize("original", [0, 5])
def test_one_table_alone_says_nothing(original):
    found = crossed(np.zeros(5, int), np.arange(5), original)
    assert np.isnan(found.ratio) and found.sd == 0


def test_constants_have_no_ratio():
    found = crossed(np.zeros(8, int), np.zeros(8, int), 4)
    assert found.cells == 1 and found.pmse == 0 and np.isnan(found.ratio)


def test_large_tables_keep_their_digits():
    """Squares of half a million less one another: the deviation is still χ²'s."""
    rng = np.random.default_rng(2)
    first, second, original = pooled(rng, 1_000_000, (12, 12))
    found = crossed(first, second, original)
    assert found.sd / found.expected == pytest.approx(np.sqrt(2 / 143), rel=1e-3)
