"""Donors in leaves, against counters, closed forms and brute force."""

from collections import Counter
from math import lgamma, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.kernels.leaves import Tally, _pick, draw, draw_within, log_marginal, swap, tally

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=40)
LEAVES, CELLS = 4, 6


def rng(seed=1):
    return np.random.default_rng(seed)


def i32(values):
    return np.array(values, dtype=np.int32)


def counted(rows, count=LEAVES, cells=CELLS):
    leaf, cell = i32([row[0] for row in rows]), i32([row[1] for row in rows])
    return tally(leaf, cell, count, cells)


def slow_log_marginal(donors, drawn, bootstrap=True):
    """Draw after draw: Pólya's urn (the drawn cell is put back twice), or plain shares."""
    urn, total, result = Counter(donors), Counter(row[0] for row in donors), 0.0
    for leaf, cell in drawn:
        if urn[leaf, cell] == 0:
            return -np.inf
        result += log(urn[leaf, cell] / total[leaf])
        if bootstrap:
            urn[leaf, cell] += 1
            total[leaf] += 1
    return result


@given(ROWS, st.sampled_from([(4, 6), (4, 1000), (1000, 1000)]))
@settings(deadline=None)
def test_tally_is_a_counter(rows, size):
    """Dense counting and sorting give the same."""
    found = counted(rows, *size)
    truth = Counter(leaf * size[1] + cell for leaf, cell in rows)
    assert dict(zip(found.key.tolist(), found.count.tolist(), strict=True)) == truth
    assert (np.diff(found.key) > 0).all()
    assert found.at(np.array(sorted(truth))).tolist() == [truth[key] for key in sorted(truth)]
    assert found.at(np.array([size[0] * size[1] + 5])).tolist() == [0]
    totals = Counter(leaf for leaf, _ in rows)
    assert found.leaf_totals().tolist() == [totals[leaf] for leaf in range(size[0])]


def test_empty_tally():
    empty = counted([])
    assert empty.at(np.array([3])).tolist() == [0]
    assert empty.leaf_totals().tolist() == [0] * LEAVES
    assert draw(empty, i32([0, 1]), rng()).tolist() == [-1, -1]
    assert draw_within(empty, i32([0, 1]), rng(), nothing=9).tolist() == [9, 9]


@pytest.mark.parametrize("bootstrap", [True, False])
def test_moments_of_a_replicate(bootstrap):
    """z_k of Z draws: mean Z·n_k/N; variance Z·p(1−p), times (N+Z)/(N+1) under the bootstrap."""
    donors = tally(i32([0] * 10), i32([0] * 2 + [1] * 3 + [3] * 5), 1, 4)
    leaf, repeats, p = np.zeros(20, np.int32), 20_000, np.array([0.2, 0.3, 0.0, 0.5])
    stream = rng(5)
    z = np.array(
        [
            np.bincount(draw(donors, leaf, stream, bootstrap=bootstrap), minlength=4)
            for _ in range(repeats)
        ]
    )
    variance = 20 * p * (1 - p) * ((10 + 20) / (10 + 1) if bootstrap else 1.0)
    # Means and variances over 20,000 replicates, 5 SDs each: false alarm below 1e-5 in all. The
    # relative SD of a variance is at most sqrt(kurtosis / repeats) < 0.014.
    assert (np.abs(z.mean(axis=0) - 20 * p) <= 5 * np.sqrt(variance / repeats)).all()
    np.testing.assert_allclose(z.var(axis=0), variance, rtol=0.07)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_frequency_of_an_outcome_is_its_log_marginal(bootstrap):
    """Every ordered outcome of three draws from a leaf of four donors, in 200,000 equal leaves."""
    repeats = 200_000
    each = np.arange(repeats, dtype=np.int32)
    donors = tally(np.repeat(each, 4), np.tile(i32([0, 0, 1, 2]), repeats), repeats, 3)
    found = draw(donors, np.repeat(each, 3), rng(6), bootstrap=bootstrap).reshape(-1, 3)
    seen = Counter(map(tuple, found.tolist()))
    one, total = tally(i32([0] * 4), i32([0, 0, 1, 2]), 1, 3), 0.0
    for outcome in np.ndindex(3, 3, 3):
        drawn = tally(np.zeros(3, np.int32), i32(outcome), 1, 3)
        p = np.exp(log_marginal(one, drawn, bootstrap=bootstrap))
        total += p
        # 27 outcomes, 4.5 SDs each: false alarm below 2e-4 in all.
        assert abs(seen[outcome] / repeats - p) < 4.5 * np.sqrt(p * (1 - p) / repeats)
    assert total == pytest.approx(1.0, rel=1e-12)


def test_dirichlet_multinomial_by_hand():
    """One leaf, N = 5 = (3, 2), Z = 3 = (2, 1): Γ(5)/Γ(8) · Γ(5)/Γ(3) · Γ(3)/Γ(2)."""
    donors = tally(i32([0] * 5), i32([0, 0, 0, 1, 1]), 1, 2)
    drawn = tally(i32([0] * 3), i32([0, 1, 0]), 1, 2)
    assert np.exp(log_marginal(donors, drawn)) == pytest.approx(24 / 5040 * 24 / 2 * 2, rel=1e-12)


@given(ROWS, ROWS, st.booleans())
@settings(deadline=None, max_examples=200)
def test_log_marginal_is_an_urn(train, extra, bootstrap):
    drawn = [row for row in extra if row in train] + train[:3]
    found = log_marginal(counted(train), counted(drawn), bootstrap=bootstrap)
    assert found == pytest.approx(slow_log_marginal(train, drawn, bootstrap), abs=1e-9)
    stranger = next((row for row in np.ndindex(LEAVES, CELLS) if row not in train), None)
    if stranger:
        impossible = counted([*drawn, stranger])
        assert log_marginal(counted(train), impossible, bootstrap=bootstrap) == -np.inf


@given(ROWS, st.data(), st.booleans())
@settings(deadline=None, max_examples=200)
def test_swap_is_a_recount(train, data, bootstrap):
    """All 24 places the record could move to; leaves with one donor included."""
    drawn = data.draw(st.lists(st.sampled_from(train), max_size=30))
    record = data.draw(st.integers(0, len(train) - 1))
    donors, replicate = counted(train), counted(drawn)
    places = list(np.ndindex(LEAVES, CELLS))
    leaf, cell = i32([p[0] for p in places]), i32([p[1] for p in places])
    found = swap(donors, replicate, train[record], leaf, cell, bootstrap=bootstrap)
    before = slow_log_marginal(train, drawn, bootstrap)
    for place, change in zip(places, found, strict=True):
        moved = [*train[:record], place, *train[record + 1 :]]
        after = slow_log_marginal(moved, drawn, bootstrap)
        assert change == pytest.approx(after - before, abs=1e-9)
    assert found[places.index(train[record])] == 0.0


def test_many_draws_from_one_leaf_stay_accurate():
    """A leaf of a million: terms of size 1e7 cancel to the size of log(n)."""
    donors = Tally(1, 2, np.array([0, 1]), np.array([999_999, 1]))
    drawn = Tally(1, 2, np.array([0]), np.array([1_000_000]))
    change = swap(donors, drawn, (0, 0), i32([0]), i32([1]))[0]
    # lnΓ(n−1+z) − lnΓ(n−1) − lnΓ(n+z) + lnΓ(n) = ln((n−1)/(n−1+z)), n = 999,999, z = 10^6
    assert change == pytest.approx(log(999_998 / 1_999_998), abs=1e-7)


def bounds(n, seed):
    stream = rng(seed)
    low = stream.integers(0, CELLS, n).astype(np.int32)
    return low, np.minimum(low + stream.integers(0, 3, n), CELLS - 1).astype(np.int32)


@given(ROWS, st.integers(0, 10_000), st.booleans())
@settings(deadline=None, max_examples=150)
def test_draws_within_limits(train, seed, bootstrap):
    """Allowed cells only: of the row's leaf if it has any, else of any leaf, else nothing."""
    donors, stream, n = counted(train), rng(seed), 60
    leaf = stream.integers(0, LEAVES, n).astype(np.int32)
    low, high = bounds(n, seed)
    allowed, group = stream.random((3, CELLS)) < 0.5, stream.integers(0, 3, n)
    found = draw_within(
        donors, leaf, stream, bootstrap=bootstrap, low=low, high=high, allowed=allowed, group=group,
        nothing=CELLS,
    )  # fmt: skip
    for row in range(n):
        fine = [c for c in range(low[row], high[row] + 1) if allowed[group[row], c]]
        own = {c for at, c in train if at == leaf[row] and c in fine}
        anywhere = {c for _, c in train if c in fine}
        assert found[row] in (own or anywhere or {CELLS})


def test_limits_keep_the_shares_of_what_is_allowed():
    """Within a leaf, the draw is the leaf's own, given the limit."""
    donors = tally(i32([0] * 10 + [1]), i32([0] * 4 + [1] * 3 + [2] * 2 + [3] + [0]), 2, 4)
    n = 90_000
    low = np.full(n, 1, dtype=np.int32)
    leaf = np.zeros(n, np.int32)
    found = draw_within(donors, leaf, rng(8), bootstrap=False, low=low)
    share = np.bincount(found, minlength=4) / n
    # Shares (3, 2, 1) / 6, five SDs of at most 0.0017: false alarm below 2e-6.
    np.testing.assert_allclose(share, [0, 3 / 6, 2 / 6, 1 / 6], atol=5 * 0.5 / np.sqrt(n))


def test_bounds_leave_missing_alone():
    """Missing (cell 3) is drawn as often as without bounds; the rest by the leaf's own shares."""
    donors = tally(i32([0] * 10), i32([0] * 4 + [1] * 2 + [2] * 2 + [3] * 2), 1, 5)
    n = 90_000
    leaf, high = np.zeros(n, np.int32), np.ones(n, dtype=np.int32)
    found = draw_within(donors, leaf, rng(9), bootstrap=False, high=high, missing=3)
    share = np.bincount(found, minlength=5) / n
    # Five SDs of at most 0.0017: false alarm below 3e-6.
    want = [0.8 * 4 / 6, 0.8 * 2 / 6, 0, 0.2, 0]
    np.testing.assert_allclose(share, want, atol=5 * 0.5 / np.sqrt(n))


def test_missing_is_drawn_where_only_that_or_not_that_is_allowed():
    donors = tally(i32([0] * 10), i32([0] * 4 + [1] * 2 + [2] * 2 + [3] * 2), 1, 5)
    allowed = np.array([[False, False, False, True, False], [True, True, True, False, False]])
    group = np.arange(400) % 2
    leaf = np.zeros(400, np.int32)
    found = draw_within(donors, leaf, rng(9), allowed=allowed, group=group, missing=3)
    assert (found[group == 0] == 3).all()
    assert (found[group == 1] < 3).all()


def test_no_limit_is_the_plain_draw():
    donors = counted([(0, 1), (0, 2), (1, 4)])
    leaf = i32([0, 1] * 20)
    plain, within = (f(donors, leaf, rng(3)) for f in (draw, draw_within))
    assert np.array_equal(plain, within)


def test_rounding_never_picks_what_is_forbidden():
    """Where the leaf's weight is tiny beside the sum before it, the spot rounds to its end."""
    donors = Tally(2, 3, np.array([0, 3, 4]), np.array([10**12, 1, 1]))
    leaf = np.ones(200_000, np.int32)
    group = np.zeros(len(leaf), np.int64)
    allowed = np.array([[True, False, False]])
    found = draw_within(donors, leaf, rng(4), bootstrap=False, allowed=allowed, group=group)
    assert set(found.tolist()) == {0}


def test_seeds_decide_alone():
    donors = counted([(0, 1), (0, 2), (0, 4), (1, 1)])
    leaf = i32([0] * 50)
    assert np.array_equal(draw(donors, leaf, rng(1)), draw(donors, leaf, rng(1)))
    assert not np.array_equal(draw(donors, leaf, rng(1)), draw(donors, leaf, rng(2)))


def test_closed_form_of_the_urn():
    """The urn above is itself the Dirichlet-multinomial: Reiter, Wang & Zhang's counts."""
    train, drawn = [(0, 0)] * 3 + [(0, 1)] * 4, [(0, 0)] * 5 + [(0, 1)]
    closed = lgamma(7) - lgamma(13) + lgamma(8) - lgamma(3) + lgamma(5) - lgamma(4)
    assert slow_log_marginal(train, drawn) == pytest.approx(closed, rel=1e-12)


def test_draws_are_those_of_a_search_in_each_leaf() -> None:
    # Oracle: the inverse cumulation written as a loop over the pairs of the row's leaf. Restricted
    # draws give some pairs, and all pairs of some leaves, no weight.
    rng = np.random.default_rng(5)
    donors = tally(rng.integers(9, size=80), rng.integers(40, size=80), 10, 40)
    weight = rng.gamma(1.0, size=len(donors.key)) * (rng.random(len(donors.key)) < 0.7)
    weight[donors.key // 40 == 4] = 0.0
    leaf = rng.integers(10, size=500).astype(np.int32)
    spot = rng.random(500)
    spot[:50] = 0.0
    spot[50:100] = np.nextafter(1.0, 0.0)
    found = _pick(donors, weight, leaf, spot, None, None)
    for row in range(500):
        mine = np.flatnonzero((donors.key // 40 == leaf[row]) & (weight > 0))
        if not mine.size:
            assert found[row] == -1
            continue
        reached = np.cumsum(weight[mine]) > spot[row] * weight[mine].sum() * (1 - 1e-12)
        assert found[row] == donors.key[mine[np.argmax(reached)]] % 40
