"""Cells: a partition of the column; no draw returns a value because one person had it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from understudy.tables.cells import find_cells

WHOLE = st.lists(st.integers(-40, 40), min_size=1, max_size=120)
HEAVY = st.lists(  # few values, each held by one person or by many
    st.tuples(st.integers(-30, 30), st.sampled_from([1, 1, 2, 3, 9, 10, 40])),
    min_size=1,
    max_size=12,
).map(lambda pairs: [value for value, count in pairs for _ in range(count)])
REAL = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=60)
COLUMNS = st.one_of(
    WHOLE.map(lambda v: (v, 1.0)),
    HEAVY.map(lambda v: (v, 1.0)),
    HEAVY.map(lambda v: ([7.0 * x for x in v], 7.0)),
    HEAVY.map(lambda v: (np.round(0.01 * np.array(v), 2).tolist(), 0.01)),
    HEAVY.map(lambda v: (v, 0.0)),
    REAL.map(lambda v: (v, 0.0)),
)
MOST = st.sampled_from([1, 3, 256])


def cells_of(column, most=256):
    values, step = column
    values = np.array(values, dtype=float)
    return values, find_cells(values, most=most, step=step)


def draws(cells, each=50, seed=1):
    codes = np.repeat(np.arange(cells.count, dtype=np.int32), each)
    return codes, cells.draw(codes, np.random.default_rng(seed))


def grid(cells, values):
    """All grid points from the column's smallest to its largest value."""
    points = round((values.max() - values.min()) / cells.step) + 1
    return cells.on_grid(values.min() + np.arange(points) * cells.step)


@given(COLUMNS, MOST)
@settings(max_examples=300, deadline=None)
def test_every_value_has_a_cell_whose_draws_may_return_it(column, most):
    values, cells = cells_of(column, most)
    codes = cells.of(values)
    assert codes.min() >= 0 and codes.max() < cells.count
    assert (cells.low[cells.first[codes]] <= values).all()
    assert np.isfinite(cells.log_density(values)).all()


@given(COLUMNS, MOST)
@settings(max_examples=300, deadline=None)
def test_a_draw_lies_in_its_cell_on_the_grid_and_inside_the_data(column, most):
    values, cells = cells_of(column, most)
    codes, drawn = draws(cells)
    assert np.array_equal(cells.of(drawn), codes)
    assert drawn.min() >= values.min() and drawn.max() <= values.max()
    if cells.step:
        points = np.rint((drawn - values.min()) / cells.step)
        np.testing.assert_allclose(drawn, values.min() + points * cells.step, atol=1e-9)
        assert np.isin(drawn, grid(cells, values)).all()
    assert np.isfinite(cells.log_density(drawn)).all()


@given(COLUMNS, MOST)
@settings(max_examples=200, deadline=None)
def test_cells_count_the_rows_of_train(column, most):
    values, cells = cells_of(column, most)
    weight = np.add.reduceat(cells.weight, cells.first[:-1])
    assert np.array_equal(weight, np.bincount(cells.of(values), minlength=cells.count))
    assert cells.count <= 2 * most + 1
    assert (np.diff(cells.upper) > 0).all()


@given(COLUMNS.filter(lambda column: column[1] > 0), MOST)
@settings(max_examples=300, deadline=None)
def test_mass_over_the_grid_is_one_in_every_cell(column, most):
    values, cells = cells_of(column, most)
    points = grid(cells, values)
    mass = np.exp(cells.log_density(points))
    total = np.bincount(cells.of(points), weights=mass, minlength=cells.count)
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


@given(HEAVY.filter(lambda values: len(set(values)) > 1), MOST)
@settings(max_examples=300, deadline=None)
def test_a_lone_value_is_no_likelier_than_some_neighbour_of_it(values, most):
    """One or two people with a value of their own: it has no peak of probability."""
    values = np.array(values, dtype=float)
    cells = find_cells(values, most=most, step=1.0)
    unique, counts = np.unique(values, return_counts=True)
    points = grid(cells, values)
    share = np.bincount(cells.of(values), minlength=cells.count)[cells.of(points)] / values.size
    mass = dict(zip(points, share * np.exp(cells.log_density(points)), strict=True))
    for value in unique[counts < 3]:
        beside = [mass.get(value - 1, 0.0), mass.get(value + 1, 0.0)]
        assert mass[value] <= max(beside) + 1e-12


def test_one_person_between_two_crowds_is_blurred():
    values = np.repeat([0.0, 5.0, 10.0], [50, 1, 50])
    cells = find_cells(values, step=1.0)
    _, drawn = draws(cells, each=20_000)
    assert (drawn == 5).mean() == pytest.approx((drawn == 4).mean(), abs=0.01)
    assert set(np.unique(drawn)) == {*range(10), 10.0}


def test_shared_values_stand_alone():
    values = np.repeat([0.0, 1.0, 7.0], [20, 10, 30])
    cells = find_cells(values, step=1.0)
    codes, drawn = draws(cells)
    assert cells.count == 3
    assert np.array_equal(drawn, np.array([0.0, 1.0, 7.0])[codes])


@pytest.mark.parametrize("values", [[4.0] * 5, [4.0], [1.0, 2.0], [1.0] * 9 + [2.0] * 9])
def test_one_or_two_values(values):
    cells = find_cells(np.array(values), step=1.0)
    _, drawn = draws(cells)
    assert set(drawn) <= set(values)


def test_no_values_no_cells():
    cells = find_cells(np.zeros(0), step=1.0)
    assert cells.count == 0
    codes = cells.of(np.array([np.nan, np.nan]))
    assert codes.tolist() == [0, 0]
    assert np.isnan(cells.draw(codes, np.random.default_rng(1))).all()
    assert cells.log_density(np.array([np.nan])).tolist() == [0.0]


def test_missing_is_the_code_after_the_last_cell():
    cells = find_cells(np.repeat([1.0, 2.0], 20), step=1.0)
    assert cells.of(np.array([2.0, np.nan, 1.0])).tolist() == [1, 2, 0]


def test_neighbouring_floats_do_not_share_a_cell_by_rounding():
    """Half way between two adjacent floats there is none: it rounds to one of them."""
    for low in (0.1, 0.3, 1.0, 5e-324, -0.7, 1e308):
        values = np.repeat([low, np.nextafter(low, np.inf)], 20)
        cells = find_cells(values)
        assert cells.of(values).tolist() == [0] * 20 + [1] * 20


def test_thousands_of_values_give_few_cells():
    values = np.random.default_rng(1).permutation(np.arange(5_000.0))
    assert find_cells(values, step=1.0).count <= 512
    heavy = np.concatenate([values, np.repeat(np.arange(0.0, 5_000, 5), 30)])
    assert find_cells(heavy, step=1.0).count <= 513


def samples():
    rng = np.random.default_rng(11)
    yield "normal", rng.normal(size=4_000), 0.0
    yield "cents", np.round(rng.lognormal(3, 1, 4_000), 2), 0.01
    yield "whole", np.rint(rng.normal(40, 15, 4_000)), 1.0
    yield "zeros", np.where(rng.random(4_000) < 0.7, 0.0, np.rint(rng.lognormal(6, 2, 4_000))), 1.0
    yield "outlier", np.append(rng.normal(size=3_999), 1e6), 0.0


@pytest.mark.parametrize("name, values, step", list(samples()))
def test_draws_keep_the_distribution(name, values, step):
    cells = find_cells(values, step=step)
    codes = cells.of(np.repeat(values, 5))
    drawn = cells.draw(codes, np.random.default_rng(2))
    # Codes are train's own, five times over: only the place inside a piece (some ten people of
    # 4,000, that is 0.0025 of the distribution) is drawn, so the distance is bounded by that.
    assert stats.ks_2samp(values, drawn).statistic < 0.005


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_frequencies_inside_a_cell_follow_the_density(step):
    values = np.repeat([0.0, 3.0, 4.0, 5.0, 9.0, 30.0], [40, 4, 4, 5, 1, 25])
    cells = find_cells(values, most=1, step=step)
    assert cells.count <= 3
    rng = np.random.default_rng(3)
    for code in range(cells.count):
        drawn = cells.draw(np.full(200_000, code, dtype=np.int32), rng)
        if step:
            points, seen = np.unique(drawn, return_counts=True)
            expected = np.exp(cells.log_density(points))
            # Largest of at most 31 binomial shares: 5 SDs, false alarm below 2e-5.
            assert np.abs(seen / drawn.size - expected).max() < 5 * np.sqrt(0.25 / drawn.size)
        else:
            assert np.isfinite(cells.log_density(drawn)).all()
