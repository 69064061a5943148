from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.kernels import neighbours, screening
from understudy.kernels.neighbours import Points, arranged, distances, nearest


def slow_distance(a, b, p, q):
    """One pair, cell by cell."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        if np.isnan(x) or np.isnan(y):
            total += float(np.isnan(x) != np.isnan(y))
        else:
            total += float(x - y) ** 2
    return np.sqrt(total + sum(bool(x != y) for x, y in zip(p, q, strict=True)))


def slow_nearest(train, query, k, exclude_self=False):
    """Double loop, then sort by (distance, row)."""
    m = len(query.codes)
    d, i = np.full((m, k), np.inf), np.full((m, k), -1)
    for r in range(m):
        pairs = sorted(
            (slow_distance(query.numbers[r], x, query.codes[r], p), t)
            for t, (x, p) in enumerate(zip(train.numbers, train.codes, strict=True))
            if not (exclude_self and t == r)
        )
        for c, (far, t) in enumerate(pairs[:k]):
            d[r, c], i[r, c] = far, t
    return d, i


def agree(train, query, k, exclude_self=False):
    expected = slow_nearest(train, query, k, exclude_self)
    found = nearest(train, query, k, exclude_self=exclude_self)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0], expected[0])


def mixed(rng, n, grid=None, missing=0.1, levels=(2, 3, 9)):
    """Mixed records; on a grid of quarters, squares and sums are exact and ties are many."""
    numbers = rng.normal(size=(n, 3))
    if grid:
        numbers = np.round(numbers * grid) / grid
    numbers[rng.random(numbers.shape) < missing] = np.nan
    codes = np.stack([rng.integers(0, size, n) for size in levels], axis=1).astype(np.int32)
    codes[rng.random(codes.shape) < missing] = -1
    return Points(numbers, codes)


@pytest.fixture
def small_parts(monkeypatch):
    """Small leaves and batches and few kept levels, so that small tables reach every branch."""
    monkeypatch.setattr(screening, "LEAF", 8)
    monkeypatch.setattr(screening, "STRIP", 3)
    monkeypatch.setattr(screening, "LEVELS", 5)
    monkeypatch.setattr(neighbours, "PAIRS", 64)
    monkeypatch.setattr(neighbours, "BLOCK", 16)


def test_distance_of_every_kind_of_cell():
    a = Points(np.array([[1.0, np.nan, 0.0]] * 3), np.array([[0, -1]] * 3, dtype=np.int32))
    b = Points(
        np.array([[1.0, np.nan, -0.0], [3.0, 2.0, 0.0], [np.nan, np.nan, np.nan]]),
        np.array([[0, -1], [1, -1], [-1, 5]], dtype=np.int32),
    )
    np.testing.assert_array_equal(distances(a, b), [0, np.sqrt(4 + 1 + 1), np.sqrt(4)])


@pytest.mark.parametrize("grid", [None, 4, 1])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_agrees_with_double_loop(small_parts, grid, missing):
    rng = np.random.default_rng(5)
    train, query = mixed(rng, 150, grid, missing), mixed(rng, 60, grid, 0.1)
    query.codes[:5, 1] = 77  # a level unseen in train
    agree(train, query, 4)


def test_agrees_with_double_loop_as_shipped():
    rng = np.random.default_rng(6)
    agree(mixed(rng, 700), mixed(rng, 12), 5)


@pytest.mark.parametrize("grid", [None, 1])
def test_excludes_self_but_not_its_twin(small_parts, grid):
    rng = np.random.default_rng(7)
    half = mixed(rng, 40, grid)
    twins = half.take(np.tile(np.arange(40), 2))
    agree(twins, twins, 3, exclude_self=True)
    d, i = nearest(twins, twins, 1, exclude_self=True)
    assert (d == 0).all()
    assert (i[:, 0] != np.arange(80)).all()


def test_identical_rows_give_lowest_rows():
    same = Points(np.ones((1000, 2)), np.ones((1000, 2), dtype=np.int32))
    d, i = nearest(same, same, 3)
    assert (d == 0).all()
    assert (i == [0, 1, 2]).all()
    _, i = nearest(same, same, 2, exclude_self=True)
    assert i[:4].tolist() == [[1, 2], [0, 2], [0, 1], [0, 1]]


@pytest.mark.parametrize("a,b", [(0, 3), (3, 0), (0, 0)])
def test_columns_of_one_kind_only(small_parts, a, b):
    rng = np.random.default_rng(8)
    train, query = (mixed(rng, n, 1) for n in (90, 40))
    train, query = (Points(p.numbers[:, :a], p.codes[:, :b]) for p in (train, query))
    agree(train, query, 5)


@pytest.mark.parametrize("a,b", [(0, 0), (2, 2)])
def test_more_twins_than_a_leaf_holds(small_parts, a, b):
    same = Points(np.zeros((60, a)), np.zeros((60, b), dtype=np.int32))
    agree(same, same, 30, exclude_self=True)


@pytest.mark.parametrize("grid", [None, 1])
def test_colliding_hashes_merge_nothing_unequal(small_parts, monkeypatch, grid):
    monkeypatch.setattr(neighbours, "MIX", np.uint64(0))
    rng = np.random.default_rng(17)
    agree(mixed(rng, 90, grid), mixed(rng, 30, grid), 2)


def test_many_levels(small_parts):
    rng = np.random.default_rng(9)
    train, query = (mixed(rng, n, 2, 0.05, levels=(5000, 40, 2)) for n in (200, 40))
    query.codes[:20, 0] = train.codes[:20, 0]
    agree(train, query, 4)


def test_column_missing_throughout_train_or_query(small_parts):
    rng = np.random.default_rng(10)
    train, query = mixed(rng, 80, None, 0), mixed(rng, 30, None, 0)
    train.numbers[:, 0] = query.numbers[:, 1] = np.nan
    train.codes[:, 2] = -1
    agree(train, query, 3)
    query.numbers[:] = train.numbers[:] = np.nan
    agree(train, query, 3)


def test_fewer_rows_than_asked():
    rng = np.random.default_rng(11)
    train, query = mixed(rng, 3), mixed(rng, 4)
    d, i = nearest(train, query, 5)
    assert np.isinf(d[:, 3:]).all() and (i[:, 3:] == -1).all() and (i[:, :3] >= 0).all()
    agree(train, query, 5)
    agree(train, train, 5, exclude_self=True)


@pytest.mark.parametrize("n,m", [(0, 3), (3, 0), (0, 0)])
def test_empty(n, m):
    rng = np.random.default_rng(12)
    d, i = nearest(mixed(rng, n), mixed(rng, m), 2)
    assert d.shape == i.shape == (m, 2)
    assert (i == -1).all()


def test_negative_zero_is_zero():
    none = np.empty((2, 0), dtype=np.int32)
    train, query = Points(np.array([[-0.0], [0.0]]), none), Points(np.array([[0.0], [-0.0]]), none)
    d, i = nearest(train, query, 1)
    assert (d == 0).all() and (i == 0).all() and not np.signbit(d).any()


@pytest.mark.parametrize(
    "scale", [1e300, 1e160, 1e20, 1e6, 1e-6, 1e-20, 1e-23, 1e-40, 1e-160, 1e-300]
)
def test_any_scale(small_parts, scale):
    rng = np.random.default_rng(13)
    train, query = mixed(rng, 90), mixed(rng, 20)
    train, query = (Points(p.numbers * scale, p.codes) for p in (train, query))
    d, i = nearest(train, query, 3)
    assert not np.isnan(d).any()
    with np.errstate(over="ignore"):
        everything = np.stack([distances(query.take(np.full(90, r)), train) for r in range(20)])
    order = np.argsort(everything, axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(i, order)


def test_far_outliers_among_a_tight_bulk(small_parts):
    rng = np.random.default_rng(14)
    train, query = mixed(rng, 120, None, 0), mixed(rng, 40, None, 0)
    train.numbers[::5] *= 1e5
    query.numbers[::4] *= 1e5
    query.numbers[:3] = train.numbers[:3]  # nearly equal far away: products cancel
    query.numbers[:3, 0] += 1e-9
    agree(train, query, 3)


def test_same_in_parallel_and_in_any_block():
    rng = np.random.default_rng(15)
    train, query = mixed(rng, 3000, 4), mixed(rng, 2000, 4)
    serial = nearest(train, query, 5)
    with ThreadPoolExecutor(2) as pool:
        parallel = nearest(train, query, 5, map_=pool.map)
    part = nearest(train, query.take(np.arange(700, 900)), 5)
    for a, b, c in zip(serial, parallel, part, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a[700:900], c)


def test_distances_are_those_of_the_columns():
    rng = np.random.default_rng(16)
    train, query = mixed(rng, 2000), mixed(rng, 300)
    d, i = nearest(train, query, 5)
    again = distances(query.take(np.repeat(np.arange(300), 5)), train.take(i.ravel()))
    np.testing.assert_array_equal(d.ravel(), again)


@st.composite
def tables(draw):
    """Two tables of the same columns with few distinct values."""
    a, b = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    value = st.one_of(st.just(np.nan), st.integers(-8, 8).map(lambda v: v / 4), st.just(-0.0))

    def points(n):
        numbers = draw(hnp.arrays(np.float64, (n, a), elements=value))
        return Points(numbers, draw(hnp.arrays(np.int32, (n, b), elements=st.integers(-1, 6))))

    return points(draw(st.integers(0, 40))), points(draw(st.integers(0, 10)))


@settings(max_examples=80, deadline=None)
@given(tables(), st.integers(1, 6))
def test_agrees_on_any_table(both, k):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screening, "LEAF", 4)
        patch.setattr(screening, "LEVELS", 4)
        patch.setattr(neighbours, "PAIRS", 16)
        agree(*both, k)
        agree(both[0], both[0], k, exclude_self=True)


@pytest.mark.parametrize("grid", [None, 1])
def test_leaves_of_other_columns_change_no_answer(small_parts, grid):
    """Sorted once on all columns, searched with each left out; twins are dropped in between."""
    rng = np.random.default_rng(11)
    train, query = mixed(rng, 150, grid), mixed(rng, 40, grid)
    leaf = arranged(train)
    assert len(leaf) == 150 and len(np.unique(leaf)) > 5
    for gone in range(3):
        keep = [c for c in range(3) if c != gone]
        for numbers, codes in ((keep, range(3)), (range(3), keep)):
            parts = [Points(p.numbers[:, numbers], p.codes[:, codes]) for p in (train, query)]
            found = nearest(*parts, 3, leaf=leaf)
            np.testing.assert_array_equal(found[1], slow_nearest(*parts, 3)[1])
    assert arranged(train.take(np.zeros(0, dtype=np.int64))).tolist() == []
