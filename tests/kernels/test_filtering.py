"""Who is too near: known constants, ties, twins, and searches that must agree with all pairs."""

import numpy as np
import pytest

from understudy.kernels import filtering
from understudy.kernels.filtering import (
    Typed,
    by_pattern,
    distinct,
    lowest_nearest,
    lowest_of_all,
    nearest_few,
)
from understudy.kernels.jaccard import Jaccard
from understudy.kernels.mahalanobis import Mahalanobis
from understudy.kernels.near_singular import correlations
from understudy.kernels.neighbours import Points
from understudy.kernels.worst_case import Exact, Paper


def points(numbers):
    return Points(np.asarray(numbers, float), np.empty((len(numbers), 0), np.int32))


def fitted(originals, case=Exact):
    """The Mahalanobis filter of standardised numbers, with the scale to bring others to."""
    mean, sd = np.nanmean(originals, axis=0), np.nanstd(originals, axis=0)
    standard = (originals - mean) / sd
    ends = [np.array([[np.nanmin(x)], [np.nanmax(x)]]) for x in standard.T]
    columns = [[c] for c in range(standard.shape[1])]
    return Mahalanobis(standard, case(correlations(standard), columns, ends)), mean, sd


def too_near(originals, query, case=Exact):
    originals, query = np.asarray(originals, float), np.asarray(query, float)
    found, mean, sd = fitted(originals, case)
    return found.too_near((query - mean) / sd).tolist()


@pytest.mark.parametrize(
    "dimension, share",
    [(1, 2 / 3), (2, 6 * np.pi / (8 * np.pi + 3 * np.sqrt(3))), (3, 16 / 27)],
)
def test_of_a_fresh_draw_the_filter_takes_the_reflexive_neighbours(dimension, share, seed):
    """A fresh point z is dropped where it and x_j would be each other's nearest.

    The share of such points in a Poisson process is known (Clark & Evans 1955; Cox 1981). Points
    of a torus: the unit cube with a margin copied around it, affinely distorted. Standard error
    0.008 for 4,000 points (whose fates are weakly dependent): 4 of them are false once in 16,000.
    """
    rng = np.random.default_rng(seed)
    cube = rng.random((8000, dimension))
    margin = 0.25
    shifts = np.array(np.meshgrid(*[[-1, 0, 1]] * dimension)).reshape(dimension, -1).T
    wrapped = (cube[:4000, None, :] + shifts).reshape(-1, dimension)
    wrapped = wrapped[((wrapped > -margin) & (wrapped < 1 + margin)).all(axis=1)]
    mixing = rng.normal(size=(dimension, dimension)) + 3 * np.eye(dimension)
    white = np.linalg.inv(np.linalg.cholesky(np.cov((wrapped @ mixing).T).reshape(dimension, -1)))
    # The copies must not change the metric: whitened, a cube with its margin is a cube again.
    assert np.allclose(white @ mixing.T @ mixing @ white.T, 12 * np.eye(dimension) / 2.25, atol=0.2)
    dropped = too_near(wrapped @ mixing, cube[4000:] @ mixing)
    assert np.mean(dropped) == pytest.approx(share, abs=4 * 0.008)


def test_units_and_mixtures_of_columns_do_not_matter(seed):
    """Mahalanobis distances are the same after any linear change of the columns."""
    rng = np.random.default_rng(seed)
    rows, query = rng.normal(size=(300, 3)), rng.normal(size=(200, 3))
    mixing = rng.normal(size=(3, 3)) * [1e-3, 1, 1e4]
    plain = too_near(rows, query)
    assert plain == too_near(rows @ mixing + 7, query @ mixing + 7)
    assert 0 < sum(plain) < 200


def test_of_equally_near_originals_the_lowest_row_counts():
    """Between 0 and 2: the one at 0 has company at -0.4, the one at 2 has not."""
    assert too_near([[0], [2], [-0.4], [9]], [[1]]) == [False]
    assert too_near([[2], [0], [-0.4], [9]], [[1]]) == [True]


def test_a_tie_is_a_tie_whatever_the_last_bit_says():
    """Steps of 0.1 are no binary fractions; 0.3 lies halfway between 0.1 and 0.5."""
    for shift in np.arange(0, 3, 0.1):
        first = np.array([[0.1], [0.5], [-0.05], [2.0]]) + shift
        assert too_near(first, [[0.3 + shift]]) == [False]
        assert too_near(first[[1, 0, 2, 3]], [[0.3 + shift]]) == [True]


def test_as_near_as_another_original_is_not_nearer():
    assert too_near([[0], [1], [5], [9]], [[-1], [-0.99], [-1.01]]) == [False, True, False]


def test_nothing_is_nearer_than_a_twin():
    assert too_near([[0], [0], [5], [9]], [[0], [0.1], [5], [5.1]]) == [False, False, True, True]


@pytest.mark.parametrize("case", [Paper, Exact])
def test_twins_with_gaps_may_be_apart(case):
    """Two people of whom the same is known are not known to be the same."""
    nan = np.nan
    rows = [[0, nan], [0, nan], [5, 1], [9, 3], [7, 8]]
    assert too_near(rows, [[0, 2]], case) == [True]
    assert too_near([[0, 1], [0, 1], *rows[2:]], [[0, 1]], case) == [False]


@pytest.mark.parametrize("few", [0, 1 << 22])
def test_a_twin_with_a_gap_is_as_far_as_the_gap_is_wide(few, monkeypatch):
    """Two people at (0, ?), the second number from -1 to 1: at most 2 apart."""
    monkeypatch.setattr(filtering, "FEW", few)
    nan, ends = np.nan, np.array([[-1.0], [1.0]])
    rows = np.array([[0, nan], [0, nan], [9, 1], [8, -1]])
    found = Mahalanobis(rows, Exact(np.eye(2), [[0], [1]], [10 * ends, ends]))
    query = np.array([[-1.9, 0], [-2.1, 0]])
    assert found.too_near(query).tolist() == [True, False]
    single = Mahalanobis(rows[1:], Exact(np.eye(2), [[0], [1]], [10 * ends, ends]))
    assert single.too_near(query).tolist() == [True, True]


@pytest.mark.parametrize("few", [0, 1 << 22])
def test_whom_the_search_finds_first_need_not_be_nearest_at_worst(few, monkeypatch):
    """The second number of the first person is anything from -2 to 2.

    With 0 for it, those at (0, 1) and (0.01, -1) are its nearest; at worst they are 3 away, and the
    one at (1.2, 0) is 2.3.
    """
    monkeypatch.setattr(filtering, "FEW", few)
    nan, ends = np.nan, np.array([[-2.0], [2.0]])
    rows = np.array([[0, nan], [0, 1], [0.01, -1], [1.2, 0], [9, 9]])
    found = Mahalanobis(rows, Exact(np.eye(2), [[0], [1]], [10 * ends, ends]))
    query = np.array([[-2.3, 0], [-2.6, 0]])
    assert found.too_near(query).tolist() == [True, False]
    assert found.too_near(query[:1]).tolist() == [True]
    alone = Mahalanobis(rows[:3], Exact(np.eye(2), [[0], [1]], [10 * ends, ends]))
    assert alone.too_near(query).tolist() == [True, True]


def test_too_many_gaps_to_try_make_it_harder_to_stay():
    """Twins of whom one number is known: 2^14 corners are not tried, and they count as apart."""
    ends = np.array([[-1.0], [1.0]])
    columns, values = [[c] for c in range(15)], [20 * ends] + [ends] * 14
    gaps = np.full((2, 15), np.nan)
    gaps[:, 0] = 0.0
    others = np.eye(15)[:3] + 15 * np.eye(15)[0]
    query = np.zeros((1, 15))
    query[0, 0] = -14.0
    found = Mahalanobis(np.concatenate([gaps, others]), Exact(np.eye(15), columns, values))
    assert found.too_near(query).tolist() == [True] and found.skipped > 0
    gaps[:, 5:] = 0.0  # four numbers unknown: at most 2 apart in each
    found = Mahalanobis(np.concatenate([gaps, others]), Exact(np.eye(15), columns, values))
    assert found.too_near(query).tolist() == [False] and found.skipped == 0


def test_a_record_of_which_nothing_is_known_is_near_to_everybody():
    rows = [[0.0], [1.0], [5.0]]
    assert too_near(rows, [[np.nan]]) == [True]
    assert too_near([[0.0], [0.0], [5.0]], [[np.nan]]) == [False]


def test_what_was_asked_before_does_not_matter(seed):
    """Distances between originals are remembered, as far as they were looked at."""
    rng = np.random.default_rng(seed)
    rows, query = rng.integers(0, 3, size=(200, 5)) * 1.0, rng.normal(1, 2, size=(200, 5))
    rows[rng.random(rows.shape) < 0.05] = np.nan
    found, mean, sd = fitted(rows)
    query = (query - mean) / sd
    whole = found.too_near(query)
    fresh, *_ = fitted(rows)
    order = np.argsort(fresh.nearest(query)[0])  # near ones first: each asks for a little more
    single = np.concatenate([fresh.too_near(query[[row]]) for row in order])
    assert (single == whole[order]).all() and 0 < whole.sum() < len(query)


@pytest.mark.parametrize("few", [0, 1 << 22])
def test_the_lowest_of_many_ties_is_found(few, monkeypatch):
    """The centre of a hypercube is equally far from all 64 corners, but for the last digits."""
    monkeypatch.setattr(filtering, "FEW", few)
    corners = np.array(np.meshgrid(*[[-0.1, 0.1]] * 6)).reshape(6, -1).T
    corners *= 1 + np.arange(64, 0, -1)[:, None] * 1e-11
    distance, row = lowest_of_all(corners, np.zeros((3, 6)))
    assert row.tolist() == [0, 0, 0]
    assert distance == pytest.approx(np.sqrt(0.06))
    assert lowest_nearest(points(corners), points(np.zeros((1, 6))))[1].tolist() == [0]
    assert lowest_of_all(corners[::-1] * [1, 1, 1, 1, 1, 1.1], np.zeros((1, 6)))[1].tolist() == [0]


def test_few_neighbours_agree_with_a_search(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    train, query = rng.normal(size=(200, 4)), rng.normal(size=(50, 4))
    d, i = nearest_few(train, query, 3)
    monkeypatch.setattr(filtering, "FEW", 0)
    e, j = nearest_few(train, query, 3)
    assert (i[:, :3] == j).all() and np.allclose(d[:, :3], e)


def test_distinct_rows_and_patterns_cover_all(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, size=(200, 3)).astype(float)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[0, 0], rows[1] = -0.0, rows[0] + 0.0
    first, place, count = distinct(rows)
    texts = [str(row + 0.0) for row in rows]
    assert [texts[k] for k in first] == list(dict.fromkeys(texts))
    assert [texts[first[k]] for k in place] == texts and count.sum() == 200
    groups = by_pattern(np.isnan(rows))
    assert sorted(np.concatenate([mine for _, mine in groups])) == list(range(200))
    for mask, mine in groups:
        assert (np.isnan(rows[mine]) == mask).all() and (np.diff(mine) > 0).all()


def test_empty_queries_have_no_answers():
    none = np.empty((0, 2))
    rows = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert fitted(rows[:, :1])[0].too_near(none[:, :1]).size == 0
    assert Jaccard(rows).too_near(none).size == 0
    assert Typed(points(rows)).too_near(points(none)).size == 0


def test_jaccard_by_hand():
    """0/0 is distance 0; thirds are thirds, whatever they are made of."""
    rows = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1]], float)
    # To itself 0, while its nearest other is at 1: too near. As is "none of it" to itself.
    assert Jaccard(rows).too_near(rows).tolist() == [True, True, True]
    twice = np.concatenate([rows, rows])
    assert Jaccard(twice).too_near(rows).tolist() == [False, False, False]
    # x = 110: its other is at 2/3 from it (011), the query 111 at 1/3.
    rows = np.array([[1, 1, 0], [0, 1, 1]], float)
    assert Jaccard(rows).too_near(np.array([[1.0, 1.0, 1.0]])).tolist() == [True]
    # The nearest other at exactly the query's distance, of 3 and of 6 columns.
    rows = np.array([[1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0]], float)
    assert Jaccard(rows).too_near(np.array([[1, 0, 1, 0, 0, 0, 0]], float)).tolist() == [False]


def test_jaccard_with_gaps_knows_that_a_third_is_a_third():
    """A query as far from two people as their gaps alone keep them apart: 1/3, and 7/10."""
    nan = np.nan
    rows = np.array([[1, 1, nan], [1, 1, nan], [0, 0, 1]])
    assert Jaccard(rows).too_near(np.array([[1, 0, nan]])).tolist() == [False]
    twin, other = [1] * 3 + [0] * 7 + [nan] * 7, [0] * 16 + [1]
    rows = np.array([twin, twin, other])
    query = np.array([[1] * 3 + [1] * 7 + [0] * 7])
    assert Jaccard(rows).too_near(query).tolist() == [False]


def test_wide_jaccard_agrees_with_counting(seed):
    rng = np.random.default_rng(seed)
    rows = (rng.random((150, 60)) < rng.random(60) / 2).astype(float)
    query = (rng.random((80, 60)) < rng.random(60) / 2).astype(float)

    def far(a, b):
        either = ((a + b[:, None]) > 0).sum(axis=2)
        return (either - (a * b[:, None]).sum(axis=2)) / either

    between, own = far(rows, query), far(rows, rows)
    np.fill_diagonal(own, np.inf)
    row = between.argmin(axis=1)
    want = between.min(axis=1) < own.min(axis=1)[row]
    assert Jaccard(rows).too_near(query).tolist() == want.tolist()
    assert 0 < want.sum() < 80
