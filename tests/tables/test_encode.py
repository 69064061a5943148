"""The frozen encoding: everything that goes in comes out, and what train lacks has its own code."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import TableError
from understudy.tables.encode import fit_encoding, stack
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table

WORDS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=6)
TEXTS = st.lists(st.none() | WORDS, max_size=40)
DATES = st.lists(st.none() | st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), max_size=40)


def one(values, kind, type_=None, **look):
    schema = Schema((Column("x", kind, **look),))
    return Table(pa.table({"x": pa.array(values, type_)}), schema)


def round_trip(table):
    encoding = fit_encoding(table)
    return encoding.decode(encoding.encode(table))


@given(TEXTS, st.sampled_from([Kind.CATEGORY, Kind.ORDINAL, Kind.TEXT, Kind.IDENTIFIER]))
@settings(deadline=None)
def test_levels_come_back(values, kind):
    assert round_trip(one(values, kind, pa.string())).column("x").to_pylist() == values


@given(DATES)
@settings(deadline=None)
def test_dates_come_back(values):
    back = round_trip(one(values, Kind.DATETIME, pa.date32()))
    assert back.column("x").to_pylist() == values
    assert back.column("x").type == pa.date32()


@given(st.lists(st.none() | st.integers(-(2**62), 2**62), max_size=40))
@settings(deadline=None)
def test_missing_values_stay_missing_and_numbers_stay_whole(values):
    back = round_trip(one(values, Kind.NUMBER, pa.int64())).column("x").to_pylist()
    assert [cell is None for cell in back] == [cell is None for cell in values]
    if all(cell is None or abs(cell) < 2**53 for cell in values):
        assert back == values


@given(TEXTS)
@settings(deadline=None)
def test_codes_are_the_place_among_the_levels(values):
    table = one(values, Kind.CATEGORY, pa.string())
    encoding = fit_encoding(table)["x"]
    codes = fit_encoding(table).encode(table).codes["x"]
    for value, code in zip(values, codes, strict=True):
        assert code == (encoding.missing if value is None else encoding.levels.index(value))
    counts = [values.count(level) for level in encoding.levels]
    assert counts == sorted(counts, reverse=True)
    assert encoding.width == len(set(values) - {None}) + 2


def test_declared_order_comes_first_and_undeclared_levels_after():
    table = one(["c", "b", "z", "b"], Kind.ORDINAL, levels=("a", "b", "c"))
    encoding = fit_encoding(table)["x"]
    assert encoding.levels == ("a", "b", "c", "z")
    assert not encoding.is_nominal


def test_an_ordinal_column_without_declared_order_has_one_all_the_same():
    """No order is known: levels are taken in the order of their names, numbers as numbers."""
    table = one(["b", "a", "b", "b", "c", "c"], Kind.ORDINAL)
    assert fit_encoding(table)["x"].levels == ("a", "b", "c")
    table = one(["10", "9", "9", "1"], Kind.ORDINAL)
    assert fit_encoding(table)["x"].levels == ("1", "9", "10")


def test_what_train_does_not_have_is_unseen():
    encoding = fit_encoding(one(["a", "b", None], Kind.CATEGORY))
    column = encoding["x"]
    other = encoding.encode(one(["b", "new", None, ""], Kind.CATEGORY))
    assert other.codes["x"].tolist() == [1, column.unseen, column.missing, column.unseen]
    assert encoding.decode(other).column("x").to_pylist() == ["b", None, None, None]


def test_numbers_that_train_does_not_have_fall_into_the_nearest_cell():
    encoding = fit_encoding(one([1, 2, 2, 30], Kind.NUMBER))
    codes = encoding.encode(one([-100, 31, 10**6, None], Kind.NUMBER)).codes["x"]
    last = encoding["x"].size - 1
    assert codes.tolist() == [0, last, last, encoding["x"].missing]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("rows", [["a", "b", None, "a"], [None, None], []])
def test_every_way_to_store_text(type_, rows):
    table = one(rows, Kind.CATEGORY, type_)
    assert round_trip(table).column("x").to_pylist() == rows
    chunks = pa.chunked_array([pa.array(rows, type_)] * 2, type_)
    twice = Table(pa.table({"x": chunks}), table.schema)
    assert round_trip(twice).column("x").to_pylist() == rows * 2


def test_no_rows_and_no_chunks():
    empty = Table(
        pa.table({"x": pa.chunked_array([], pa.string()), "y": pa.chunked_array([], pa.int64())}),
        Schema((Column("x", Kind.CATEGORY), Column("y", Kind.NUMBER))),
    )
    back = round_trip(empty)
    assert back.rows == 0 and back.names == ("x", "y")


def test_mean_and_sd_are_trains_own(make):
    column = fit_encoding(make.numbers([1.0, 2.0, None, 6.0]))["x"]
    assert column.mean == 3.0
    assert column.sd == pytest.approx(np.sqrt(14 / 3))


def test_another_table_does_not_change_the_encoding(make):
    encoding = fit_encoding(make.mixed(rows=50, seed=1))
    before = encoding.columns
    encoding.encode(make.mixed(rows=50, seed=2))
    assert encoding.columns is before


def test_whole_table_comes_back(make):
    table = make.mixed(rows=300)
    assert round_trip(table).data.equals(table.data)


def test_extra_columns_are_left_out_and_absent_ones_named(make):
    encoding = fit_encoding(make.mixed(names=["sex", "age"]))
    assert encoding.encode(make.mixed()).names == ("sex", "age")
    with pytest.raises(TableError, match="'age'"):
        encoding.encode(make.mixed(names=["sex"]))


def test_blocks_are_cut_joined_and_stacked(make):
    block = make.encoded(make.mixed(rows=30))
    assert make.same(stack([block.take(slice(0, 10)), block.take(slice(10, 30))]), block)
    mask = np.arange(30) % 2 == 0
    assert make.same(block.take(mask), block.take(np.flatnonzero(mask)))
    assert block.take(mask).rows == 15
    names = list(block.names)
    halves = block.select(names[:3]).join(block.select(names[3:]))
    assert make.same(halves, block)
    assert block.encoding.empty(7).take(np.array([1, 1])).rows == 2
