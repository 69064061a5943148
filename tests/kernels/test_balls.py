"""Balls against a double loop over records and rows."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kernels import balls as module
from understudy.kernels.ball_counts import needed, tally
from understudy.kernels.balls import Around, shells

DELTAS = np.array([0.0, 0.1, 0.5, 1.0, 2.0])


def numbers(rng, rows, columns):
    values = np.round(rng.normal(size=(rows, columns)), 1)
    values[rng.random(values.shape) < 0.2] = np.nan
    return values


def made(seed, n, m, columns, levels=3):
    """Records and rows in three cells, and a level for each."""
    rng = np.random.default_rng(seed)
    around = Around(numbers(rng, n, columns), rng.integers(3, size=n),
                    numbers(rng, m, columns), rng.integers(3, size=m))  # fmt: skip
    return around, rng.integers(levels, size=n), rng.integers(levels, size=m), rng


def slow_distance(around, i, j):
    """Infinite in another cell."""
    if around.record_cell[i] != around.row_cell[j]:
        return np.inf
    total = 0.0
    for a, b in zip(around.records[i], around.rows[j], strict=True):
        one, both = np.isnan(a) or np.isnan(b), np.isnan(a) and np.isnan(b)
        total += 0.0 if both else 1.0 if one else (a - b) ** 2
    return np.sqrt(total)


def slow_ball(around, i, delta):
    return [j for j in range(len(around.rows)) if slow_distance(around, i, j) <= delta]


def slow_radii(around, i):
    found = {slow_distance(around, i, j) for j in range(len(around.rows))} - {np.inf}
    return sorted(found)


tables = given(st.integers(0, 10**6), st.integers(0, 12), st.integers(0, 12), st.integers(0, 3))


@tables
def test_counts_are_those_of_a_double_loop(seed, n, m, columns):
    around, mine, theirs, _ = made(seed, n, m, columns)
    found = tally(around, mine, theirs, DELTAS, every=True)
    for i in range(n):
        for place, delta in enumerate(DELTAS):
            ball = [int(theirs[j]) for j in slow_ball(around, i, delta)]
            assert found.rows[i, place] == len(ball)
            assert found.own[i, place] == ball.count(mine[i])
            top = [k for k in range(3) if ball.count(k) == max(map(ball.count, range(3)))]
            expected = 1 / len(top) if ball and mine[i] in top else 0
            assert found.guess[i, place] == pytest.approx(expected)
        radii = slow_radii(around, i)
        shares = [np.mean([theirs[j] == mine[i] for j in slow_ball(around, i, r)]) for r in radii]
        assert found.most[i] == pytest.approx(max(shares, default=0))
        assert found.near[i] == (radii[0] if radii else np.inf)
        assert found.near_share[i] == pytest.approx(shares[0] if radii else 0)


@tables
def test_an_attacker_who_widens_stops_at_the_first_ball_that_holds_a_row(seed, n, m, columns):
    around, mine, theirs, _ = made(seed, n, m, columns)
    found = tally(around, mine, theirs, DELTAS).widened(DELTAS)
    for i in range(n):
        for place, delta in enumerate(DELTAS):
            radii = slow_radii(around, i)
            ball = slow_ball(around, i, max(delta, radii[0] if radii else delta))
            expected = np.mean([theirs[j] == mine[i] for j in ball]) if ball else 0
            assert found[i, place] == pytest.approx(expected)


@tables
def test_weighted_shares_are_those_of_a_double_loop(seed, n, m, columns):
    around, mine, theirs, rng = made(seed, n, m, columns)
    weight = rng.integers(3, size=(m, 2)).astype(float)
    for deltas in (DELTAS, None):
        at = shells(around, deltas)
        same = theirs[at.at.tocoo().col] == mine[at.record[at.at.tocoo().row]]
        found, _ = at.largest(same, weight, n)
        for i in range(n):
            for draw in range(2):
                best = 0.0
                for radius in slow_radii(around, i) if deltas is None else deltas:
                    ball = slow_ball(around, i, radius)
                    total = weight[ball, draw].sum()
                    own = sum(weight[j, draw] for j in ball if theirs[j] == mine[i])
                    best = max(best, own / total if total else 0.0)
                assert found[i, draw] == pytest.approx(best)


@tables
def test_widening_takes_the_nearest_rows_where_a_ball_is_empty(seed, n, m, columns):
    around, mine, theirs, _ = made(seed, n, m, columns)
    at = shells(around, DELTAS)
    same = theirs[at.at.indices] == np.repeat(mine[at.record], np.diff(at.at.indptr))
    plain, wide = at.largest(same, np.ones((m, 1)), n)
    exact = tally(around, mine, theirs, DELTAS)
    assert np.allclose(plain[:, 0], exact.share.max(axis=1))
    assert np.allclose(wide[:, 0], exact.widened(DELTAS).max(axis=1))


@pytest.mark.parametrize("block", [1, 7, 50])
def test_blocks_and_workers_do_not_matter(monkeypatch, block):
    around, mine, theirs, rng = made(1, 30, 40, 2)
    weight = rng.integers(3, size=(40, 5)).astype(float)

    def results(map_):
        at = shells(around, DELTAS)
        same = theirs[at.at.indices] == np.repeat(mine[at.record], np.diff(at.at.indptr))
        counted = tally(around, mine, theirs, DELTAS, every=True, map_=map_)
        return [*at.largest(same, weight, 30), *vars(counted).values()]

    whole = results(map)
    monkeypatch.setattr(module, "_BLOCK", block)
    with ThreadPoolExecutor(3) as pool:
        parts = results(pool.map)
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))


def test_two_levels_and_one_ball_in_closed_form():
    """m of n rows with the record's level: share m/n; below c·p with ⌈m / (c·p)⌉ − n others."""
    for n, m, share in ((10, 4, 0.16), (1, 1, 0.16), (7, 7, 0.5), (8, 2, 0.25), (5, 0, 0.1)):
        around = Around(np.zeros((1, 1)), np.zeros(1, int), np.zeros((n, 1)), np.zeros(n, int))
        level = np.arange(n) < m
        found = tally(around, np.array([1]), level.astype(int), np.array([0.5]))
        assert found.share[0, 0] == m / n
        count, radius = needed(np.zeros(n), level, share, np.array([0.5]))
        expected = max(int(np.ceil(m / share)) - n, 0) if m / n > share else 0
        assert (count, radius) == (expected, 0.5 if expected else 0.0)


@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
def test_what_is_needed_is_enough_and_not_more_than_needed(seed, rows, every):
    """Brute force: the smallest number of rows, all inside the smallest ball that exceeds."""
    rng = np.random.default_rng(seed)
    distance, same = np.round(rng.random(rows), 1), rng.random(rows) < 0.6
    share = rng.uniform(0.1, 0.9)
    deltas = None if every else np.array([0.15, 0.45, 1.0])
    radii = np.unique(distance) if every else deltas

    def exceeding(others, radius):
        d = np.append(distance, np.full(others, radius))
        s = np.append(same, np.zeros(others, bool))
        inside = [d <= r for r in radii]
        return [r for r, ball in zip(radii, inside, strict=True)
                if ball.any() and s[ball].mean() > share * (1 + 1e-9)]  # fmt: skip

    count, radius = needed(distance, same, share, deltas)
    over = exceeding(0, 0.0)
    if not over:
        assert count == 0
        return
    assert radius == over[0]
    assert not exceeding(count, radius)
    assert exceeding(count - 1, radius)
