"""Writing: the same bytes again, in one step, whatever the format."""

import base64
import datetime as dt
import os
import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import TableError
from understudy.tables.dates import format_dates
from understudy.tables.encode import fit_encoding
from understudy.tables.numbers import format_numbers
from understudy.tables.read import read
from understudy.tables.schema import Column, Kind, Layout, Schema
from understudy.tables.table import Table
from understudy.tables.write import write, written_bytes

DATA = os.environ.get("UNDERSTUDY_DATA")


def again(raw, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(raw)
    return written_bytes(read(path))


WORDS = st.sampled_from(
    [
        "a",
        "b c",
        "0012",
        "true",
        "NA",
        "None",
        "x,y",
        'say "so"',
        "two\nlines",
        "é",
        "=1+1",
        "-",
        "",
    ]
)
DAYS = st.dates(dt.date(1000, 1, 1), dt.date(2999, 12, 31)).map(str)
CELLS = (
    WORDS,
    st.one_of(st.just(""), st.integers(-(2**63), 2**64 - 1).map(str)),
    st.integers(-999, 999).map(lambda v: f"{v / 100:.2f}"),
    st.one_of(st.just(""), DAYS),
    st.floats(1e-4, 1e15).map(repr),
)


@st.composite
def files(draw):
    """A CSV file in one dress: columns of words, whole numbers, cents, days and floats."""
    delimiter = draw(st.sampled_from([",", ";", "\t"]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    kinds = draw(st.lists(st.sampled_from(CELLS), min_size=2, max_size=5))
    rows = draw(st.lists(st.tuples(*kinds), min_size=2, max_size=12))
    names = [f"v{place}" for place in range(len(kinds))]
    quoted = [[_quoted(cell, delimiter) for cell in row] for row in [names, *rows]]
    return newline.join(delimiter.join(row) for row in quoted) + newline


def _quoted(cell, delimiter):
    special = any(mark in cell for mark in (delimiter, '"', "\n", "\r"))
    return '"' + cell.replace('"', '""') + '"' if special else cell


@settings(max_examples=150, deadline=None)
@given(files())
def test_any_normal_file_comes_back_byte_for_byte(tmp_path_factory, text):
    raw = text.encode()
    folder = tmp_path_factory.mktemp("csv")
    assert again(raw, folder) == raw


@pytest.mark.parametrize(
    "text",
    [
        '"x","y"\n"1","a"\n"2",""\n',
        '"x","y"\n1,"a"\n2,"b,c"\n',
        "x;y\n1,50;a\n2,25;b\n",
        "x,y\n1.0,a\n2.25,b\n",
        "x,y\n1,a\n2.25,b\n",
        "x,y\n1e-05,a\n0.5,b\n",
        "x,y\n1/31/2020,9:05\n12/1/2020,23:15\n",
        "x,y\r\n31.01.2020 07:56,a\r\n01.02.2020 00:00,b",
        "x,y\n2020-01-31T07:56:01.250,a\n2020-02-01T00:00:00.000,b\n",
        "x\na\n\nb\n",
        "x,y\n1.0,a\n35184372088832.37,a\n",
        "x\ty\n\t\n\t\n",
        'x,y\n"two\r\nlines",1\nb,2\n',
        "when,y\n07:56:10,1\n,2\n",
    ],
)
def test_looks_are_kept(tmp_path, text):
    assert again(text.encode(), tmp_path) == text.encode()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_encodings_are_kept(tmp_path, encoding):
    raw = "âge,ville\n31,Nîmes\n49,Évry\n".encode(encoding)
    assert again(raw, tmp_path) == raw


@pytest.mark.skipif(DATA is None, reason="UNDERSTUDY_DATA is not set")
@pytest.mark.parametrize("name", ["adult", "smp2", "syc", "chorley"])
def test_real_files_come_back_byte_for_byte(name):
    path = Path(str(DATA)) / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{name}.csv is not in UNDERSTUDY_DATA")
    assert written_bytes(read(path)) == path.read_bytes()


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1), st.integers(1, 8))
def test_fixed_decimals_agree_with_python(units, digits):
    values = [unit / 10**digits for unit in units]
    text = format_numbers(pa.chunked_array([values]), digits, True).to_pylist()
    assert [t.replace("-0.", "0.") if float(t) == 0 else t for t in text] == [
        f"{abs(v) if v == 0 else v:.{digits}f}" for v in values
    ]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_full_precision_comes_back_as_the_same_float(values):
    text = format_numbers(pa.chunked_array([values], pa.float64()), None, False).to_pylist()
    assert [float(cell) for cell in text] == values


def test_drawn_values_are_written_with_the_declared_digits():
    drawn = pa.chunked_array([[0.1 + 0.2, 2057.6000000000004, None]])
    assert format_numbers(drawn, 2, False).to_pylist() == ["0.3", "2057.6", None]
    assert format_numbers(drawn, 2, True, mark=",").to_pylist() == ["0,30", "2057,60", None]


@given(st.dates(), st.sampled_from(["%-d/%-m/%Y", "%-m/%-d/%y"]))
def test_days_without_leading_zeros(day, form):
    year = f"{day.year:04d}" if "%Y" in form else f"{day.year % 100:02d}"
    first, second = (day.day, day.month) if form.startswith("%-d") else (day.month, day.day)
    assert format_dates(pa.array([day]), form).to_pylist() == [f"{first}/{second}/{year}"]


def test_many_rows_are_written_in_pieces(tmp_path):
    # More rows than one piece, and cells so that pieces differ in what needs quoting.
    noise = random.Random(7)
    rows = [f"{noise.randrange(1000)},w{noise.randrange(9)}" for _ in range(250_000)]
    raw = "\n".join(["x,y", *rows, '5,"a,b"']).encode() + b"\n"
    assert again(raw, tmp_path) == raw


def test_a_letter_that_the_encoding_lacks_is_an_error():
    table = Table(
        pa.table({"x": ["ł", "b"]}),
        Schema((Column("x", Kind.CATEGORY),)),
        Layout(encoding="latin-1"),
    )
    with pytest.raises(TableError, match="latin-1"):
        written_bytes(table)


def test_an_empty_text_is_not_missing():
    table = Table(pa.table({"x": ["", None], "y": [1, 2]}), _schema())
    assert written_bytes(table) == b'x,y\n"",1\n,2\n'


def _schema():
    return Schema((Column("x", Kind.CATEGORY), Column("y", Kind.NUMBER, decimals=0)))


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    table = read(pa.table({"x": [1, 2], "y": ["a", "b"]}))
    path = tmp_path / "out.parquet"
    path.write_bytes(b"before")

    def fails(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        write(table, path)
    assert [p.name for p in tmp_path.iterdir()] == ["out.parquet"]
    assert path.read_bytes() == b"before"
    with pytest.raises(TableError, match="cannot write"):
        write(table, tmp_path / "no-such-folder" / "out.parquet")


def typed_table():
    fields = [
        pa.field("flag", pa.bool_(), metadata={"label": "Ever ill"}),
        pa.field("count", pa.int16()),
        pa.field("share", pa.float32()),
        pa.field("price", pa.decimal128(9, 2)),
        pa.field("grade", pa.dictionary(pa.int8(), pa.string(), ordered=True)),
        pa.field("when", pa.timestamp("ns", "Europe/Paris")),
        pa.field("id", pa.int64()),
        pa.field("note", pa.large_string()),
    ]
    count = 30
    columns = [
        pa.array([True, False, None] * 10),
        pa.array([1, None, 3] * 10, pa.int16()),
        pa.array([0.5, None, 0.1] * 10, pa.float32()),
        pa.array([None, Decimal(1), Decimal("2.5")] * 10, pa.decimal128(9, 2)),
        pa.DictionaryArray.from_arrays(
            pa.array([0, 1, None] * 10, pa.int8()), ["low", "high"], ordered=True
        ),
        pa.array([dt.datetime(2020, 1, day + 1) for day in range(count)]).cast(fields[5].type),
        pa.array(range(1, count + 1)),
        pa.array(["a", "", None] * 10, pa.large_string()),
    ]
    return pa.table(columns, schema=pa.schema(fields, metadata={"study": "x"}))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_typed_files_keep_types_labels_and_metadata(tmp_path, form):
    source, target = tmp_path / f"in.{form}", tmp_path / f"out.{form}"
    data = typed_table()
    if form == "parquet":
        pa.parquet.write_table(data, source)
    else:
        pa.feather.write_feather(data, source)
    table = read(source)
    kinds = [column.kind.value for column in table.schema]
    assert kinds == [
        "category", "number", "number", "number", "ordinal", "datetime", "identifier", "category"
    ]  # fmt: skip
    assert table.schema["flag"].label == "Ever ill"
    assert table.schema["grade"].levels == ("low", "high")
    write(table, target, synthetic=True)
    back = pa.parquet.read_table(target) if form == "parquet" else pa.feather.read_table(target)
    assert back.schema.equals(data.schema)
    assert back.to_pydict() == data.to_pydict()
    assert back.schema.field("flag").metadata[b"label"] == b"Ever ill"
    assert back.schema.metadata[b"understudy"] == b"synthetic"
    assert b"study" not in back.schema.metadata  # it may be about the original
    write(table, target)
    back = pa.parquet.read_table(target) if form == "parquet" else pa.feather.read_table(target)
    assert b"understudy" not in back.schema.metadata
    assert back.schema.metadata[b"study"] == b"x"


@pytest.mark.parametrize("cells", [
    [str(code) for code in (-(2**63) + 5, 2**62 + 1, 2**63 - 3, 12)],
    [f"{2**53 + i}.25" for i in range(4)],
    [f"{2**53 + i}" + (".5" if i % 2 else "") for i in range(4)],
    [f"{2**53 + i}" + (".5" if i % 2 else ".0") for i in range(4)],
    ["100.12345678901234", "0.123456789012345", "5.5", "7.25"],
])  # fmt: skip
@pytest.mark.parametrize("mark", [".", ","])
def test_long_numbers_survive_the_encoding(cells, mark, tmp_path):
    lines = ["code;sex", *(f"{cell.replace('.', mark)};{'fm'[i % 2]}"
                           for i, cell in enumerate(cells * 5))]  # fmt: skip
    raw = ("\n".join(lines) + "\n").encode()
    (tmp_path / "t.csv").write_bytes(raw)
    table = read(tmp_path / "t.csv")
    assert table.schema["code"].kind is Kind.NUMBER and written_bytes(table) == raw
    encoding = fit_encoding(table)
    assert written_bytes(encoding.decode(encoding.encode(table))) == raw


FORMS = [
    "%B %d, %Y", "%b %-d, %Y", "%-d %B %Y", "%-d-%b-%Y", "%-m/%-d/%Y %-I:%M %p", "%I:%M %p",
    "%m/%d/%Y %I:%M:%S %p", "%d.%m.%Y %-H:%M", "%-I:%M%p",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", [1, 13])
def test_dates_of_other_countries_and_half_days_come_back(form, first, tmp_path):
    start = dt.datetime(2020, 1, first, 10 + first, 5, 9)
    days = [start + dt.timedelta(days=9 * i, hours=7 * i, minutes=i) for i in range(40)]
    raw = ("when;sex\n" + "".join(f"{d.strftime(form)};{'fm'[d.day % 2]}\n" for d in days)).encode()
    (tmp_path / "t.csv").write_bytes(raw)
    table = read(tmp_path / "t.csv")
    assert table.schema["when"].format == form and table.notes == ()
    encoding = fit_encoding(table)
    assert written_bytes(encoding.decode(encoding.encode(table))) == raw


def test_hours_that_need_no_zero_are_no_second_reading(tmp_path):
    (tmp_path / "t.csv").write_text("at,sex\n" + "10:05,m\n11:30,f\n" * 9)
    assert read(tmp_path / "t.csv").schema["at"].format == "%H:%M"
    assert read(tmp_path / "t.csv").notes == ()


def test_a_synthetic_file_has_no_notes_about_the_original(tmp_path):
    frame = pd.DataFrame({"age": pd.array([31, None, 49], dtype="Int64"), "sex": ["m", "f", "m"]})
    frame.attrs = {"source": "canary"}
    table = read(frame)
    told = {**table.layout.metadata, "geo": '{"bbox": ["canary"]}'}
    noted = pa.table(table).schema.field(0).with_metadata({"label": "Age", "max": "canary"})
    fields = pa.schema([noted, pa.field("sex", pa.string())])
    told["ARROW:schema"] = base64.b64encode(fields.serialize().to_pybytes()).decode()
    table = replace(table, layout=replace(table.layout, metadata=told))
    assert b"canary" in written_bytes(table)
    content = written_bytes(table, synthetic=True)
    assert b"canary" not in content
    back = pa.parquet.read_table(pa.BufferReader(content))
    assert back.schema.field("age").metadata == {b"label": b"Age"}
    assert back.to_pandas()["age"].dtype == "Int64"
    for broken in ("[]", "{", "3"):
        layout = replace(table.layout, metadata={"pandas": broken})
        written_bytes(replace(table, layout=layout), synthetic=True)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_categories_of_polars_are_written(form):
    frame = pl.DataFrame({"sex": pl.Series(["m", None, "f"] * 9, dtype=pl.Categorical)})
    table = read(frame)
    content = written_bytes(replace(table, layout=replace(table.layout, format=form)))
    load = pa.parquet.read_table if form == "parquet" else pa.feather.read_table
    back = load(pa.BufferReader(content))
    assert pa.types.is_dictionary(back.schema.field("sex").type)
    assert back.column("sex").to_pylist() == ["m", None, "f"] * 9


def test_a_damaged_parquet_file_is_a_clear_error(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(TableError, match="damaged"):
        read(tmp_path / "x.parquet")


def test_an_arrow_stream_file_is_read(tmp_path):
    data = pa.table({"x": [1, 2], "y": ["a", "b"]})
    with pa.ipc.new_stream(tmp_path / "x.arrows", data.schema) as stream:
        stream.write_table(data)
    assert read(tmp_path / "x.arrows").rows == 2
