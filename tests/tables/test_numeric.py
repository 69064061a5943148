"""Round trips: what a column stores is what it becomes and comes back as."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.tables.numeric import find_numeric
from understudy.tables.schema import Column, Kind

TEN30 = Decimal(10) ** 30
DAY = dt.date(2020, 2, 29)
NOON = dt.datetime(2020, 2, 29, 12, 0, 1)

CASES = {
    "int64": pa.array([1, None, -5]),
    "int8": pa.array([127, None, -128], pa.int8()),
    "top of uint64": pa.array([2**64 - 1, None, 2**64 - 300], pa.uint64()),
    "bottom of int64": pa.array([-(2**63), None, -(2**63) + 299]),
    "odd beyond 2^53": pa.array([2**53 + 1, 2**53 + 3, None]),
    "38 digits": pa.array([TEN30, TEN30 + 299, None], pa.decimal128(38, 0)),
    "50 digits": pa.array([TEN30 * 10**20, TEN30 * 10**20 + 3], pa.decimal256(60, 0)),
    "cents": pa.array([Decimal("1.25"), None, Decimal("-3.10")], pa.decimal128(10, 2)),
    "cents beyond 2^53": pa.array(
        [Decimal("12345678901234567.25"), None, Decimal("12345678901234568.10")],
        pa.decimal128(38, 2),
    ),
    "hundreds": pa.array([Decimal("1.2E+3"), None], pa.decimal128(5, -2)),
    "float64": pa.array([1.5, None, 0.1]),
    "float32": pa.array([1.5, None, 0.1], pa.float32()),
    "hashes of 64 bits": pa.array([-(2**63) + 5, None, 2**63 - 3, 2**62 + 1, 7] * 3),
    "hashes of 100 bits": pa.array([-(2**100) + 5, None, 2**100 - 3, 7], pa.decimal128(38, 0)),
    "no values": pa.array([None, None], pa.int64()),
    "date32": pa.array([DAY, None, dt.date(1900, 5, 5)]),
    "date64": pa.array([DAY, None, dt.date(1900, 5, 5)], pa.date64()),
    "time32": pa.array([dt.time(7, 56), None], pa.time32("s")),
    "time64": pa.array([dt.time(7, 56, 1, 5), None], pa.time64("us")),
    "seconds": pa.array([NOON, None, dt.datetime(1800, 1, 1)], pa.timestamp("s")),
    "microseconds": pa.array([NOON, None, dt.datetime(1800, 1, 1)], pa.timestamp("us")),
    "nanoseconds": pa.array([10**18 + 1, None, 10**18 + 8], pa.timestamp("ns")),
    "time zone": pa.array([NOON, None], pa.timestamp("s", "UTC")),
}


def there_and_back(array):
    chunked = pa.chunked_array([array])
    numeric = find_numeric(chunked, Column("x", Kind.NUMBER))
    return numeric.from_float(numeric.to_float(chunked))


@pytest.mark.parametrize("case", CASES)
def test_every_type_comes_back_exactly(case):
    array = CASES[case]
    back = there_and_back(array)
    assert back.type == array.type
    # timestamps in nanoseconds are no Python objects: compare what is stored
    assert back.equals(array)


@given(
    st.integers(-(2**63), 2**63 - 2**53).flatmap(
        lambda low: st.lists(st.integers(low, low + 2**53 - 1), min_size=1, max_size=20)
    )
)
def test_whole_numbers_within_2_to_53_of_each_other_are_exact(values):
    array = pa.array(values, pa.int64())
    assert there_and_back(array).equals(array)


def test_a_range_wider_than_floats_hold_stays_within_the_type():
    back = there_and_back(pa.array([-(2**63), 0, 2**63 - 1]))
    assert back.to_pylist() == [-(2**63), 0, 2**63 - 1]


@pytest.mark.parametrize(
    ("array", "drawn", "stored"),
    [
        (pa.array([1, 250], pa.uint8()), [300.0, -1.0], [255, 0]),
        (pa.array([2**64 - 1, 2**64 - 9], pa.uint64()), [1e4, -1.0], [2**64 - 1, 2**64 - 10]),
        (pa.array([dt.time(23, 0)], pa.time32("s")), [9e4, -1.0], [dt.time(23, 59, 59), dt.time()]),
        (
            pa.array([Decimal("9.5")], pa.decimal128(2, 1)),
            [10.0, -10.0],
            [Decimal("9.9"), Decimal("-9.9")],
        ),
    ],
)
def test_draws_beyond_the_type_become_its_nearest_value(array, drawn, stored):
    numeric = find_numeric(pa.chunked_array([array]), Column("x", Kind.NUMBER))
    assert numeric.from_float(np.array(drawn)).to_pylist() == stored


def test_values_below_the_offset_keep_their_distance():
    # The holdout may have a smaller value than train.
    train = pa.chunked_array([pa.array([2**60 + 8, 2**60 + 16])])
    numeric = find_numeric(train, Column("x", Kind.NUMBER))
    assert numeric.to_float(pa.chunked_array([[2**60, 2**60 + 9]])).tolist() == [-8.0, 1.0]


@pytest.mark.parametrize(
    ("array", "step"),
    [
        (pa.array([3, 9, 15]), 6.0),
        (pa.array([2**60, 2**60 + 10, 2**60 + 25]), 5.0),
        (pa.array([-(2**63), 2**63 - 1]), float(2**64 - 1)),
        (pa.array([1.5, 2.25]), 0.01),
        (pa.array([0.1, 1 / 3]), 0.0),
        (pa.array([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)], pa.timestamp("us")), 8.64e10),
    ],
)
def test_the_step_is_the_grid_of_the_values(array, step):
    assert find_numeric(pa.chunked_array([array]), Column("x", Kind.NUMBER)).step == step
