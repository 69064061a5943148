"""Reading: shapes of CSV, what the plan declares, and errors that say what to do."""

import io
import sys
from types import SimpleNamespace

import pytest

from understudy.errors import PlanError, TableError
from understudy.tables.read import read
from understudy.tables.schema import Kind, Role
from understudy.tables.write import written_bytes


def from_text(tmp_path, text, encoding="utf-8", **settings):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return read(path, **settings)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_delimiters_line_ends_and_encodings(tmp_path, delimiter, newline, encoding):
    rows = [["âge", "ville"], ["31", "Nîmes"], ["49", "Évry"], ["", "Évry"]]
    text = newline.join(delimiter.join(row) for row in rows) + newline
    table = from_text(tmp_path, text, encoding)
    assert table.names == ("âge", "ville")
    assert table.column("âge").to_pylist() == [31, 49, None]
    assert table.column("ville").to_pylist() == ["Nîmes", "Évry", "Évry"]
    assert (table.layout.delimiter, table.layout.newline) == (delimiter, newline)


@pytest.mark.parametrize(
    ("cells", "kind", "first"),
    [
        ("1 2 3", Kind.NUMBER, 1),
        ("1.50 2.25 3.00", Kind.NUMBER, 1.5),
        ("1e-3 2 3", Kind.NUMBER, 0.001),
        ("-0 1 2", Kind.NUMBER, 0),
        ("0012 0013 0014", Kind.CATEGORY, "0012"),
        ("00.5 1.5 2.5", Kind.CATEGORY, "00.5"),
        ("+33612 +33613 1", Kind.CATEGORY, "+33612"),
        ("0x1A 2 3", Kind.CATEGORY, "0x1A"),
        ("1_000 2 3", Kind.CATEGORY, "1_000"),
        ("12% 13% 14%", Kind.CATEGORY, "12%"),
        ("<20 20-29 30+", Kind.CATEGORY, "<20"),
        ("None None NA", Kind.CATEGORY, "None"),
        ("NA 2 3", Kind.CATEGORY, "NA"),
        ("1" + "0" * 38 + " 2 3", Kind.CATEGORY, "1" + "0" * 38),
        ("18446744073709551616 1 -1", Kind.NUMBER, 2**64),
        ("inf nan inf", Kind.CATEGORY, "inf"),
        ("31/02/2020 01/02/2020 02/02/2020", Kind.CATEGORY, "31/02/2020"),
        ("12345678 87654321 11112222", Kind.NUMBER, 12345678),
        ("20200101 20200102 20200199", Kind.NUMBER, 20200101),
        ("19990101 15000101 15000102", Kind.NUMBER, 19990101),
        ("1984 1985 1986", Kind.NUMBER, 1984),
        ("true false true", Kind.CATEGORY, "true"),
    ],
)
def test_what_a_cell_is(tmp_path, cells, kind, first):
    table = from_text(tmp_path, "x,y\n" + "".join(f"{cell},a\n" for cell in cells.split()))
    assert table.schema["x"].kind is kind
    assert table.column("x")[0].as_py() == first


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        ("2020-01-31 2020-02-01", "%Y-%m-%d"),
        ("31/01/2020 01/02/2020", "%d/%m/%Y"),
        ("01/31/2020 02/01/2020", "%m/%d/%Y"),
        ("31.01.20 01.02.20", "%d.%m.%y"),
        ("1/31/2020 12/1/2020", "%-m/%-d/%Y"),
        ("31-Jan-2020 01-Feb-2020", "%d-%b-%Y"),
        ("20200131 20200201 20200202", "%Y%m%d"),
        ("2020-01 2020-02", "%Y-%m"),
        ("07:56 23:59", "%H:%M"),
        ("07:56:01 23:59:00", "%H:%M:%S"),
        ("2020-01-31T07:56 2020-02-01T00:00", "%Y-%m-%dT%H:%M"),
        ("2020-01-31T07:56:01.250 2020-02-01T00:00:00.000", "%Y-%m-%dT%H:%M:%S%3f"),
        ("2020-01-31T07:56:01Z 2020-02-01T00:00:00Z", "%Y-%m-%dT%H:%M:%SZ"),
    ],
)
def test_dates_in_their_own_format(tmp_path, cells, form):
    table = from_text(tmp_path, "x,y\n" + "".join(f"{cell},a\n" for cell in cells.split()))
    assert (table.schema["x"].kind, table.schema["x"].format) == (Kind.DATETIME, form)


def test_dates_that_fit_both_orders_say_so(tmp_path):
    table = from_text(tmp_path, "x,y\n01/02/2020,1\n03/04/2020,1\n")
    assert table.schema["x"].format == "%d/%m/%Y"
    assert "%m/%d/%Y" in table.notes[0]


def test_summer_time_is_converted_and_said(tmp_path):
    text = "x,y\n2020-01-01T00:00:00+01:00,1\n2020-07-01T00:00:00+02:00,1\n"
    table = from_text(tmp_path, text)
    assert table.column("x")[1].as_py().isoformat() == "2020-06-30T22:00:00+00:00"
    assert "time zones differ" in table.notes[0]


def test_a_word_at_row_five_thousand_makes_the_column_text(tmp_path):
    text = "x,y\n" + "".join(f"{i % 50},a\n" for i in range(5000)) + "unknown,a\n"
    table = from_text(tmp_path, text)
    assert table.schema["x"].kind is Kind.CATEGORY
    assert "not all cells are numbers" in table.notes[0]


def test_a_known_word_for_missing_is_suggested_and_can_be_declared(tmp_path):
    text = "x,y\n1,NA\nNA,a\n3,b\n"
    assert 'missing = ["NA"]' in from_text(tmp_path, text).notes[0]
    declared = from_text(tmp_path, text, schema_changes={"x": {"missing": ["NA"]}})
    assert declared.column("x").to_pylist() == [1, None, 3]
    assert declared.column("y").to_pylist() == ["NA", "a", "b"]
    everywhere = from_text(tmp_path, text, missing=["NA"])
    assert everywhere.column("y").to_pylist() == [None, "a", "b"]


def test_quoted_and_bare_empty_cells_are_missing(tmp_path):
    table = from_text(tmp_path, 'x,y\n"",a\n,b\nc,"d\ne"\n')
    assert table.column("x").to_pylist() == [None, None, "c"]
    assert table.column("y").to_pylist() == ["a", "b", "d\ne"]


def test_declared_kinds_are_obeyed(tmp_path):
    text = "zip,when,flag\n2.50,01/02/2020,1\n3.00,03/04/2020,0\n"
    table = from_text(
        tmp_path,
        text,
        schema_changes={
            "zip": {"kind": "category"},
            "when": {"kind": "datetime", "format": "%m/%d/%Y", "role": "time"},
            "flag": {"kind": "ordinal", "levels": ["0", "1"]},
        },
    )
    assert table.column("zip").to_pylist() == ["2.50", "3.00"]
    assert table.column("when")[0].as_py().isoformat() == "2020-01-02"
    assert table.schema["when"].role is Role.TIME
    assert table.schema["flag"].levels == ("0", "1")


def test_a_declared_kind_that_does_not_fit_is_an_error_without_cells(tmp_path):
    with pytest.raises(TableError, match=r"'x' cannot be read as number: about 1 of 3") as caught:
        from_text(tmp_path, "x,y\n1,a\n2,b\nsecret,c\n", schema_changes={"x": {"kind": "number"}})
    assert "secret" not in str(caught.value)


def test_a_plan_about_an_unknown_column_is_refused(tmp_path):
    with pytest.raises(PlanError, match=r"columns\.z"):
        from_text(tmp_path, "x,y\n1,a\n2,b\n", schema_changes={"z": {"kind": "number"}})


def test_ragged_rows_are_named_by_line_and_never_shown(tmp_path):
    rows = "".join(f"{i},b\n" for i in range(70_000))
    with pytest.raises(TableError, match=r"line 70002: 3 cells where the header has 2") as caught:
        from_text(tmp_path, "x,y\n" + rows + "secret,b,c\n")
    assert "secret" not in str(caught.value)


def test_a_missing_quotation_mark_is_one_clear_error(tmp_path):
    with pytest.raises(TableError, match="line 2: a quotation mark"):
        from_text(tmp_path, 'x,y\n1,"a\n2,b\n3,c\n')


def test_a_quotation_mark_inside_a_cell_is_data(tmp_path):
    assert from_text(tmp_path, 'x,y\n5" pipe,1\nb,2\n').column("x")[0].as_py() == '5" pipe'


def test_a_row_without_names_for_its_columns(tmp_path):
    # write.table in R leaves the row names' column unnamed
    with pytest.raises(TableError, match="line"):
        from_text(tmp_path, "x,y\n1,2,3\n2,3,4\n3,4,5\n")


def test_repeated_names_get_a_suffix_and_a_note(tmp_path):
    table = from_text(tmp_path, "x,x,\n1,2,3\n4,5,6\n")
    assert table.names == ("x", "x_2", "column_3")
    assert len(table.notes) == 2


def test_one_column_keeps_its_empty_lines(tmp_path):
    assert from_text(tmp_path, "x\na\n\nb\n").column("x").to_pylist() == ["a", None, "b"]


def test_spaces_around_numbers(tmp_path):
    table = from_text(tmp_path, "x, y\n1, 2\n3, 4\n")
    assert table.names == ("x", "y")
    assert table.column("y").to_pylist() == [2, 4]


def test_semicolons_with_commas_in_every_row(tmp_path):
    table = from_text(tmp_path, "a;b;c\n" + "1,5;2,5;3,5\n" * 9)
    assert table.column("c").to_pylist() == [3.5] * 9


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"x,y\n1,a\n2,b\n")))
    assert read("-").rows == 2


@pytest.mark.parametrize("source", ["no-such-file.csv", 42, "."])
def test_what_cannot_be_read(source):
    with pytest.raises(TableError):
        read(source)


def test_utf16_without_a_mark_is_explained(tmp_path):
    with pytest.raises(TableError, match="NUL"):
        from_text(tmp_path, "x,y\n1,a\n", "utf-16-le")


def test_ragged_rows_below_a_preamble(tmp_path):
    text = "Exported\n\na,b,c\n1,2,3\n4,5,6\n7,8\n"
    with pytest.raises(TableError, match="line 6: 2 cells"):
        from_text(tmp_path, text)


def test_a_cell_longer_than_a_block(tmp_path):
    table = from_text(tmp_path, "x,y\n1," + "a" * 17_000_000 + "\n2,b\n")
    assert len(table.column("y")[0].as_py()) == 17_000_000


def test_whole_numbers_among_decimal_commas(tmp_path):
    table = from_text(tmp_path, "x;y\n1,5;1\n2;2\n3;1\n4;2\n")
    assert table.column("x").to_pylist() == [1.5, 2, 3, 4]
    assert table.layout.decimal == ","
    assert from_text(tmp_path, "x;y\n1;1\n2;2\n").layout.decimal == "."


@pytest.mark.parametrize("delimiter", [" ", ":"])
def test_rare_delimiters_where_every_line_has_as_many(delimiter, tmp_path):
    raw = f"age{delimiter}sex\n" + "".join(f"{i}{delimiter}{'fm'[i % 2]}\n" for i in range(30, 60))
    (tmp_path / "t.csv").write_text(raw)
    table = read(tmp_path / "t.csv")
    assert table.names == ("age", "sex") and written_bytes(table) == raw.encode()
    (tmp_path / "times.csv").write_text("at\n" + "10:05\n09:30\n" * 9)
    (tmp_path / "words.csv").write_text("what\n" + "a b\na c\n" * 9)
    assert [len(read(tmp_path / f).names) for f in ("times.csv", "words.csv")] == [1, 1]


@pytest.mark.parametrize("mark", [",", "."])
def test_thousands_are_not_taken_for_decimals(mark, tmp_path):
    cells = ["999", "1,234", "6,170", "0", "24,500"] * 9
    text = "n;sex\n" + "".join(f"{cell};m\n" for cell in cells).replace(",", mark)
    (tmp_path / "t.csv").write_text(text)
    table = read(tmp_path / "t.csv")
    assert not table.schema["n"].kind.is_numeric and "thousands" in table.notes[0]
    assert written_bytes(table) == text.encode()
    assert (
        read(tmp_path / "t.csv", schema_changes={"n": {"kind": "number"}}).column("n")[1].as_py()
        == 1.234
    )
    for plain in (["1.250", "2.000", "3.500"], ["0.250", "2", "3.500"], ["1.255", "2", "3.5"]):
        (tmp_path / "t.csv").write_text("n;sex\n" + "".join(f"{c};m\n" for c in plain * 9))
        assert read(tmp_path / "t.csv").schema["n"].kind.is_numeric
