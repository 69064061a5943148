"""Predicates found and counted by sorted indexes, against a scan of all rows."""

import itertools

import numpy as np
import pytest

from understudy.kernels.predicates import (
    Columns,
    Index,
    Predicates,
    Sample,
    one_column,
    several_columns,
)

SIZES = [3, 40, 2000, 7]


def table(rows, seed):
    rng = np.random.default_rng(seed)
    return Index.of(np.stack([rng.integers(n, size=rows) for n in SIZES]), SIZES)


def guesses(count, width, seed):
    rng = np.random.default_rng(seed)
    columns = np.argsort(rng.random((count, len(SIZES))), axis=1)[:, :width]
    ends = np.sort(rng.integers(np.array(SIZES)[columns, None], size=(count, width, 2)), axis=2)
    # Half of them single values, as levels are.
    single = rng.random((count, width)) < 0.5
    return Predicates(columns, ends[..., 0], np.where(single, ends[..., 0], ends[..., 1]))


def scan(index, predicates):
    """Row by row, condition by condition."""
    found = []
    for columns, low, high in zip(predicates.columns, predicates.low, predicates.high, strict=True):
        rows = range(index.rows)
        for c, a, b in zip(columns, low, high, strict=True):
            rows = [row for row in rows if a <= index.ranks[c, row] <= b]
        found.append(sorted(rows))
    return found


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("rows", [0, 1, 60, 700])
def test_matches_are_those_of_a_scan(rows, width):
    index, predicates = table(rows, rows), guesses(80, width, width)
    plain = scan(index, predicates)
    assert [sorted(found.tolist()) for found in index.matching(predicates)] == plain
    assert index.isolated(predicates).tolist() == [len(found) == 1 for found in plain]


def test_a_sample_settles_only_what_it_has_seen_twice():
    index, predicates = table(9000, 1), guesses(3000, 3, 2)
    few = Sample.of(index).few(predicates)
    counts = np.array([len(rows) for rows in index.matching(predicates)])
    assert few[counts <= 1].all() and (counts == 1).any()
    assert not few[counts > 200].any()  # with probability 1e-18 each: 2,048 of 9,000 are looked at
    assert index.isolated(predicates).tolist() == (counts == 1).tolist()
    seen = np.linspace(0, 8999, 2048).astype(np.int64)
    there = Index.of(index.ranks[:, seen], SIZES).matching(predicates)
    assert few.tolist() == [len(rows) <= 1 for rows in there]


def columns_of(ordered, missing=(-1,) * 4, barred=(-1,) * 4):
    return Columns(np.array(ordered), np.array(missing), np.array(barred))


def test_conditions_on_one_column_are_all_that_single_out():
    ranks = np.array([[1, 1, 2, 5, 5], [0, 3, 3, 4, 4], [2, 2, 2, 2, 1]])
    index = Index.of(ranks, [7, 5, 3])
    kinds = Columns(np.array([True, True, False]), np.array([-1, -1, 2]), np.array([-1, -1, -1]))
    found = one_column(index, kinds)
    told = {
        (c, low, high)
        for (c,), (low,), (high,) in zip(
            found.columns.tolist(), found.low.tolist(), found.high.tolist(), strict=True
        )
    }
    # The value 2; the smallest value 0, where "up to it" is the same; the level 1.
    assert told == {(0, 2, 2), (1, 0, 0), (2, 1, 1)}
    ends = Index.of(np.array([[2, 4, 4, 5, 7]]), [8])
    one = Columns(np.array([True]), np.array([7]), np.array([-1]))
    told = one_column(ends, one)
    pairs = sorted(zip(told.low[:, 0].tolist(), told.high[:, 0].tolist(), strict=True))
    # Up to 2, 2 itself, 5 itself, from 5 on (to 6, which another table has), the missing value 7.
    assert pairs == [(0, 2), (2, 2), (5, 5), (5, 6), (7, 7)]


def test_a_level_that_train_lacks_is_never_named():
    ranks = np.array([[0, 0, 1, 2]])
    kinds = Columns(np.array([False]), np.array([-1]), np.array([2]))
    assert one_column(Index.of(ranks, [3]), kinds).low.tolist() == [[1]]


@pytest.mark.parametrize("rows", [80, 6000])
def test_conjunctions_single_out_a_row_that_meets_them(rows):
    index = table(rows, 5)
    kinds = columns_of([False, True, True, False], missing=(-1, 39, -1, -1))
    found, tried = several_columns(index, kinds, 200, 3, np.random.default_rng(1))
    assert len(found) > 20 and tried >= len(found)
    assert [len(hit) for hit in scan(index, found)] == [1] * len(found)
    assert len(np.unique(found.keys())) == len(found) == len(found.distinct())
    present = [np.sort(r[r != m]) for r, m in zip(index.ranks, (-1, 39, -1, -1), strict=True)]
    middle = [r[len(r) // 2] for r in present]
    top = [2, 38, 1999, 6]
    assert ((found.columns == 1) & (found.low == 39)).any()  # a missing number is a guess, too
    for columns, low, high in zip(found.columns, found.low, found.high, strict=True):
        assert len(set(columns)) == 3
        for c, a, b in zip(columns, low, high, strict=True):
            if c in (0, 3) or (c, a) == (1, 39):
                assert a == b
            elif a > 0:
                assert b == top[c] and a > middle[c]
            else:
                assert b <= middle[c]


def test_small_tables_run_out_of_guesses_and_say_how_many_were_tried():
    ranks = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    kinds = Columns(np.array([False, False]), np.array([-1, -1]), np.array([-1, -1]))
    found, tried = several_columns(Index.of(ranks, [2, 2]), kinds, 500, 2, np.random.default_rng(1))
    told = sorted(zip(found.low[:, 0].tolist(), found.low[:, 1].tolist(), strict=True))
    assert told == list(itertools.product([0, 1], repeat=2)) and tried < 100_000
