"""Declared steps: each against a plain loop, its receipt, and its refusals."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import PlanError
from understudy.tables.prepare import prepare
from understudy.tables.read import read
from understudy.tables.schema import Column, Kind, Role, Schema
from understudy.tables.table import Table
from understudy.tables.write import written_bytes


def table(**columns):
    kinds = {
        name: Kind.CATEGORY if any(isinstance(cell, str) for cell in cells) else Kind.NUMBER
        for name, cells in columns.items()
    }
    schema = Schema(tuple(_column(name, kinds[name], columns[name]) for name in columns))
    return Table(pa.table(columns), schema)


def _column(name, kind, cells):
    whole = kind is Kind.NUMBER and all(cell is None or isinstance(cell, int) for cell in cells)
    return Column(name, kind, decimals=0 if whole else None)


def one(data, **entry):
    done, receipts = prepare(data, [entry])
    return done, receipts[0]


def test_steps_in_order_with_receipts():
    data = table(age=[23, 27, 31, None], job=["a", "a", "b", "c"], id=["x", "y", "z", "w"])
    done, receipts = prepare(
        data,
        [
            {"do": "drop", "columns": ["id"]},
            {"do": "top_code", "column": "age", "at": 29},
            {"do": "band", "column": "age", "width": 10},
            {"do": "merge_rare", "column": "job", "fewer_than": 2},
        ],
    )
    assert done.names == ("age", "job")
    assert done.column("age").to_pylist() == ["20-29", "20-29", "20-29", None]
    assert done.column("job").to_pylist() == ["a", "a", "other", "other"]
    assert receipts == [
        "drop: 1 column(s) dropped: id",
        "top_code: column 'age': 1 values above the threshold were set to it",
        "band: column 'age': 3 values became 1 intervals",
        "merge_rare: column 'job': 2 levels with fewer than 2 rows (2 rows in all) became 'other'",
    ]
    assert data.names == ("age", "job", "id")


@given(st.lists(st.integers(-500, 500), min_size=1), st.integers(1, 60))
def test_bands_of_whole_numbers(values, width):
    done, _ = one(table(x=values), do="band", column="x", width=width)
    for value, name in zip(values, done.column("x").to_pylist(), strict=True):
        low = value // width * width
        high = low + width - 1
        expected = str(low) if width == 1 else f"{low}{'-' if low >= 0 else ' to '}{high}"
        assert name == expected
    order = [values[done.column("x").to_pylist().index(level)] for level in done.schema["x"].levels]
    assert order == sorted(order)
    assert done.schema["x"].kind is Kind.ORDINAL


@given(st.lists(st.integers(-50, 50), min_size=1))
def test_bands_of_tenths_put_an_edge_into_the_upper_interval(tenths):
    done, _ = one(table(x=[t / 10 for t in tenths]), do="band", column="x", width=0.5)
    for tenth, name in zip(tenths, done.column("x").to_pylist(), strict=True):
        low = tenth // 5 * 5
        assert name == f"{low / 10:.12g} to <{(low + 5) / 10:.12g}"


def test_a_value_on_an_inexact_edge():
    done, _ = one(table(x=[0.3, 0.7]), do="band", column="x", width=0.1)  # 0.3 / 0.1 < 3
    assert done.column("x").to_pylist() == ["0.3 to <0.4", "0.7 to <0.8"]


def test_bands_between_edges_are_open_at_both_ends():
    data = table(age=[5, 17, 18, 64, 65, 90, None])
    done, _ = one(data, do="band", column="age", edges=[18, 65])
    names = ["<18", "<18", "18-64", "18-64", "65+", "65+", None]
    assert done.column("age").to_pylist() == names
    assert done.schema["age"].levels == ("<18", "18-64", "65+")


def test_a_threshold_beyond_64_bits():
    huge = pa.array([Decimal(10**30), Decimal(10**30 + 7), None], pa.decimal128(38, 0))
    data = Table(pa.table({"x": huge}), Schema((Column("x", Kind.NUMBER, decimals=0),)))
    done, _ = one(data, do="top_code", column="x", at=10**30 + 1)
    assert done.column("x").to_pylist() == [10**30, 10**30 + 1, None]


@pytest.mark.parametrize(("do", "share"), [("top_code", 0.9), ("bottom_code", 0.1)])
def test_codes_at_a_quantile(do, share):
    values = np.random.default_rng(3).permutation(np.arange(5000, 5101)).tolist()
    done, receipt = one(table(x=values), do=do, column="x", quantile=share)
    edge = 5090 if do == "top_code" else 5010
    expected = np.minimum(values, edge) if do == "top_code" else np.maximum(values, edge)
    assert done.column("x").to_pylist() == expected.tolist()
    assert "10 values" in receipt
    assert str(edge) not in receipt  # the threshold is somebody's value


def test_codes_keep_the_type():
    huge = pa.array([Decimal(10**30), Decimal(10**30 + 7), None], pa.decimal128(38, 0))
    data = Table(pa.table({"x": huge}), Schema((Column("x", Kind.NUMBER, decimals=0),)))
    done, _ = one(data, do="top_code", column="x", quantile=0.5)
    assert done.data.schema.field("x").type == huge.type
    assert done.column("x").to_pylist() == [10**30, 10**30, None]


def test_merging_says_when_the_merged_level_is_rare_itself():
    cells = ["a"] * 9 + ["b", "c", None]
    done, receipt = one(table(x=cells), do="merge_rare", column="x", fewer_than=5, into="rest")
    assert done.column("x").to_pylist() == ["a"] * 9 + ["rest", "rest", None]
    assert receipt.endswith("which still has only 2 rows")


def test_merging_an_ordinal_column_keeps_the_order_of_the_others():
    schema = Schema((Column("x", Kind.ORDINAL, levels=("low", "mid", "high")),))
    data = Table(pa.table({"x": ["low"] * 5 + ["mid"] + ["high"] * 5}), schema)
    done, _ = one(data, do="merge_rare", column="x", fewer_than=3)
    assert done.schema["x"].levels == ("low", "high", "other")


@pytest.mark.parametrize(
    ("values", "to", "expected"),
    [
        ([48.8566, 2.3522, None], 0.01, [48.86, 2.35, None]),
        ([48.8566, 2.3522, None], 0.25, [48.75, 2.25, None]),
        ([12, 17, None], 5, [10, 15, None]),
        ([1234, 5678, None], 100, [1200, 5700, None]),
    ],
)
def test_rounding(values, to, expected):
    done, receipt = one(table(x=values), do="round", column="x", to=to)
    assert done.column("x").to_pylist() == expected
    assert "2 values rounded" in receipt


def test_rounded_numbers_are_written_short(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("lat,y\n48.8566,1\n2.3522,2\n")
    done, _ = one(read(path), do="round", column="lat", to=0.01)
    assert written_bytes(done) == b"lat,y\n48.86,1\n2.35,2\n"


def test_a_banded_parquet_column_is_written_as_text():
    done, _ = one(read(pa.table({"age": [23, 31], "y": [1, 2]})), do="band", column="age", width=10)
    back = pa.parquet.read_table(pa.BufferReader(written_bytes(done)))
    assert back.column("age").to_pylist() == ["20-29", "30-39"]


def test_roles_survive():
    schema = Schema((Column("x", Kind.NUMBER, role=Role.QUASI, decimals=0),))
    data = Table(pa.table({"x": [1, 2]}), schema)
    for entry in (
        {"do": "band", "column": "x", "width": 5},
        {"do": "round", "column": "x", "to": 2},
    ):
        assert prepare(data, [entry])[0].schema["x"].role is Role.QUASI


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({}, "do"),
        ({"do": "burn"}, "do"),
        ({"do": ["drop"]}, "do"),
        ({"do": "drop"}, "columns"),
        ({"do": "drop", "columns": ["z"]}, "columns"),
        ({"do": "drop", "columns": "x"}, "columns"),
        ({"do": "drop", "columns": ["x", "y", "w"]}, "columns"),
        ({"do": "band", "column": "z", "width": 5}, "column"),
        ({"do": "band", "column": "y", "width": 5}, "column"),
        ({"do": "band", "column": "x"}, None),
        ({"do": "band", "column": "x", "width": 5, "edges": [1]}, None),
        ({"do": "band", "column": "x", "width": 0}, "width"),
        ({"do": "band", "column": "x", "width": "5"}, "width"),
        ({"do": "band", "column": "x", "edges": [2, 1]}, "edges"),
        ({"do": "band", "column": "x", "edges": []}, "edges"),
        ({"do": "band", "column": "x", "wide": 5}, "wide"),
        ({"do": "top_code", "column": "x"}, None),
        ({"do": "top_code", "column": "x", "at": 1.5}, "at"),
        ({"do": "top_code", "column": "x", "at": True}, "at"),
        ({"do": "top_code", "column": "x", "at": 10**30}, "at"),
        ({"do": "bottom_code", "column": "x", "quantile": 2}, "quantile"),
        ({"do": "merge_rare", "column": "x", "fewer_than": 3}, "column"),
        ({"do": "merge_rare", "column": "y", "fewer_than": 1}, "fewer_than"),
        ({"do": "merge_rare", "column": "y", "fewer_than": 3, "into": ""}, "into"),
        ({"do": "round", "column": "x", "to": 0}, "to"),
        ({"do": "round", "column": "x", "to": 0.5}, "to"),
        ({"do": "round", "column": "w", "to": 5}, "column"),
    ],
)
def test_impossible_steps_name_their_key(entry, key):
    data = table(x=[1, 2], y=["a", "b"], w=[2**60, 2**60 + 1])
    fine = {"do": "round", "column": "x", "to": 1}
    with pytest.raises(PlanError) as caught:
        prepare(data, [fine, entry])
    assert caught.value.key == "prepare[1]" + (f".{key}" if key else "")


def test_an_entry_that_is_no_table():
    with pytest.raises(PlanError, match=r"prepare\[0\]"):
        prepare(table(x=[1, 2]), ["drop"])


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("month", ["1999-12", "2000-01", "2000-11", None]),
        ("quarter", ["1999 Q4", "2000 Q1", "2000 Q4", None]),
        ("year", ["1999", "2000", "2000", None]),
        ("decade", ["1990s", "2000s", "2000s", None]),
    ],
)
def test_bands_of_dates(by, names):
    days = [dt.date(1999, 12, 31), dt.date(2000, 1, 1), dt.date(2000, 11, 30), None]
    for stored in (pa.date32(), pa.timestamp("s"), pa.timestamp("us")):
        data = Table(
            pa.table({"d": pa.array(days).cast(stored)}),
            Schema((Column("d", Kind.DATETIME, role=Role.QUASI),)),
        )
        done, receipt = one(data, do="band", column="d", by=by)
        assert done.column("d").to_pylist() == names
        assert done.schema["d"].levels == tuple(sorted({n for n in names if n}))
        assert done.schema["d"].kind is Kind.ORDINAL and done.schema["d"].role is Role.QUASI
        assert receipt == f"band: column 'd': 3 values became {len(set(names)) - 1} intervals"


def test_bands_before_the_common_era_and_bad_periods():
    data = Table(
        pa.table({"d": pa.array([dt.date(987, 5, 4)]), "x": [1]}),
        Schema((Column("d", Kind.DATETIME), Column("x", Kind.NUMBER))),
    )
    assert one(data, do="band", column="d", by="decade")[0].column("d").to_pylist() == ["0980s"]
    for entry, key in (
        ({"column": "d", "by": "week"}, "by"),
        ({"column": "d", "by": "year", "width": 3}, "by"),
        ({"column": "x", "by": "year"}, "column"),
        ({"column": "nobody", "by": "year"}, "column"),
    ):
        with pytest.raises(PlanError) as caught:
            one(data, do="band", **entry)
        assert caught.value.key == f"prepare[0].{key}"
