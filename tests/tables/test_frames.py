"""Frames of other libraries come in and go out through the Arrow C stream."""

import datetime as dt

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from understudy.errors import TableError
from understudy.tables.read import read
from understudy.tables.schema import Kind

COLUMNS = {
    "age": [31, 49, None],
    "share": [0.5, 0.25, 1.0],
    "sex": ["m", "f", None],
    "born": [dt.date(1990, 1, 2), dt.date(1971, 5, 6), dt.date(1950, 12, 31)],
    "ill": [True, False, True],
}
KINDS = [Kind.NUMBER, Kind.NUMBER, Kind.CATEGORY, Kind.DATETIME, Kind.CATEGORY]


def duck():
    return duckdb.from_arrow(pa.table(COLUMNS)).filter("share < 2")


SOURCES = {
    "pyarrow": lambda: pa.table(COLUMNS),
    "reader": lambda: pa.table(COLUMNS).to_reader(),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with arrow types": lambda: pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "duckdb": duck,
}


@pytest.mark.parametrize("source", SOURCES)
def test_frames_come_in(source):
    table = read(SOURCES[source]())
    assert [column.kind for column in table.schema] == KINDS
    assert table.schema["age"].decimals == 0
    assert table.column("age").to_pylist() == COLUMNS["age"]
    assert table.column("sex").to_pylist() == COLUMNS["sex"]
    assert table.column("ill").to_pylist() == ["true", "false", "true"]


def test_tables_go_out():
    table = read(pl.DataFrame(COLUMNS))
    assert pa.table(table).column_names == list(COLUMNS)
    assert pl.DataFrame(table)["share"].to_list() == COLUMNS["share"]
    assert pd.DataFrame.from_arrow(table)["sex"].tolist()[:2] == ["m", "f"]
    assert duckdb.from_arrow(pa.table(table)).aggregate("sum(share)").fetchall() == [(1.75,)]


def test_a_table_is_taken_as_it_is(tmp_path):
    (tmp_path / "x.csv").write_text("x,y\n1.50,01/02/2020\n2.25,31/12/2020\n")
    table = read(tmp_path / "x.csv")
    assert read(table) is table
    changed = read(table, schema_changes={"x": {"role": "quasi"}})
    assert changed.schema["y"] == table.schema["y"]
    assert changed.schema["x"].fixed
    frame = read(pa.table({"x": ["1", "NA", "3"], "y": [1, 2, 1]}))
    changed = read(frame, schema_changes={"x": {"kind": "number"}}, missing=["NA"])
    assert changed.column("x").to_pylist() == [1, None, 3]


def test_categories_and_their_order():
    levels = ["low", "mid", "high"]
    values = pd.Categorical(["low", "high", "low"], categories=levels, ordered=True)
    table = read(pd.DataFrame({"grade": values, "plain": pd.Categorical(["b", "a", "b"])}))
    assert table.schema["grade"].kind is Kind.ORDINAL
    assert table.schema["grade"].levels == tuple(levels)
    assert table.schema["plain"].kind is Kind.CATEGORY
    enum = pl.Series(["low", "high"], dtype=pl.Enum(levels))
    assert read(pl.DataFrame({"grade": enum})).schema["grade"].levels == tuple(levels)


def test_nanoseconds_become_microseconds_where_nothing_is_lost():
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01 07:56:01", None])})
    table = read(frame.astype({"when": "datetime64[ns]"}))
    assert table.data.schema.field("when").type == pa.timestamp("us")


@pytest.mark.parametrize(
    "cells", [[[1, 2], [3]], [{"a": 1}, {"a": 2}], [b"x", b"y"], [dt.timedelta(1), None]]
)
def test_nested_and_odd_types_are_named(cells):
    with pytest.raises(TableError, match="column 'odd'"):
        read(pa.table({"odd": cells}))


def test_mixed_cells_of_pandas_are_an_error_without_the_cell():
    with pytest.raises(TableError, match="mixed") as caught:
        read(pd.DataFrame({"x": [1, "secret"], "y": [1, 2]}))
    assert "secret" not in str(caught.value)


def test_infinite_floats_become_missing_with_a_count():
    table = read(pl.DataFrame({"x": [1.0, float("inf"), float("nan")], "y": [1, 2, 3]}))
    assert table.column("x").null_count == 2
    assert "1 infinite" in table.notes[0]


def test_declared_kinds_of_typed_columns():
    frame = pd.DataFrame({"code": [1.0, 2.0, None], "when": ["2020-01-02"] * 3})
    table = read(frame, schema_changes={"code": {"kind": "category"}, "when": {"kind": "datetime"}})
    assert table.column("code").to_pylist() == ["1", "2", None]
    assert table.column("when")[0].as_py() == dt.date(2020, 1, 2)


def test_repeated_names_are_an_error():
    with pytest.raises(TableError, match="twice: x"):
        read(pa.table([[1, 2], [3, 4]], names=["x", "x"]))


def test_too_small_frames():
    with pytest.raises(TableError, match="no columns"):
        read(pa.table({}))
    with pytest.raises(TableError, match="at least 2"):
        read(pa.table({"x": [1]}))


ODD = {
    "names twice": (lambda: pd.DataFrame([[1, 2], [3, 4]], columns=["x", "x"]), "twice: x"),
    "a single column": (lambda: pd.Series([1, 2]), "put it into a frame"),
    "an array": (lambda: pa.chunked_array([[1, 2]]), "put it into a frame"),
    "sparse": (lambda: pd.DataFrame({"x": pd.arrays.SparseArray([0, 1])}), "as a table"),
    "intervals": (lambda: pd.DataFrame({"x": pd.cut([1, 2, 3], 2)}), "column 'x' has cells"),
    "periods": (
        lambda: pa.table({"x": pa.array([(1, 0, 0)] * 2, pa.month_day_nano_interval())}),
        "column 'x' has cells",
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_no_table_is_one_clear_error(what):
    make, words = ODD[what]
    with pytest.raises(TableError, match=words):
        read(make())
    with pytest.raises(TableError):
        read(make(), schema_changes={"x": {"kind": "category"}})
