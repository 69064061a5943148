"""Files that break programs: each gives a good table, or one error that says what to do."""

from pathlib import Path

import pytest

from understudy.errors import TableError
from understudy.tables.read import read
from understudy.tables.schema import Kind, Role
from understudy.tables.write import written_bytes

HOSTILE = Path(__file__).parent.parent / "hostile"
FILES = sorted(path.name for path in HOSTILE.glob("*.csv"))

N, C, O, D, T, I = (  # noqa: E741
    Kind.NUMBER,
    Kind.CATEGORY,
    Kind.ORDINAL,
    Kind.DATETIME,
    Kind.TEXT,
    Kind.IDENTIFIER,
)

BASE = {"age": N, "sex": C, "income": N, "region": C}
ERRORS = {
    "empty_file.csv": "empty",
    "only_newlines.csv": "empty",
    "whitespace_only.csv": "empty",
    "header_only.csv": "no rows",
    "one_row.csv": "at least 2",
    "nul_bytes.csv": "line 2: a NUL byte",
    "ragged_rows.csv": "line 3: 2 cells where the header has 3",
}
KINDS = {
    "95pct_missing.csv": BASE,
    "all_missing_column.csv": BASE | {"empty": C},
    "blank_column_names.csv": {"age": N, "column_2": N, "sex": C, "column_4": C, "column_5": C},
    "booleans.csv": {
        **dict.fromkeys(("yesno", "ouinon", "tf", "tf2", "t", "mixed", "rare"), C),
        "zo": N,
        "onetwo": N,
    },
    "categorical_500_levels.csv": {"age": N, "job": C, "diag": C, "y": N},
    "constant_columns.csv": BASE | {"country": C, "wave": N},
    "cp1252.csv": {"comment": C},
    "csv_injection.csv": {"age": N, "sex": C, "@income": N, "=region": C, "cell": C},
    "dates.csv": {
        **dict.fromkeys(
            ("iso", "fr", "us", "compact", "iso_time", "iso_tz", "year_month", "time"), D
        ),
        "excel_serial": N,
        "mixed": T,
        "with_bad": T,
    },
    "duplicate_rows.csv": BASE,
    "extreme_skew.csv": BASE | {"lognormal": N, "mostly_zero": N, "one_outlier": N, "pareto": N},
    "free_text.csv": BASE | {"free_text": T},
    "geo_edge.csv": dict.fromkeys(("lat", "lon", "case", "age"), N),
    "geo_single_case.csv": dict.fromkeys(("x", "y", "mark"), N),
    "huge_integers.csv": BASE | dict.fromkeys(("big", "huge", "u64", "neg"), N),
    "inf_and_overflow.csv": BASE | {"v": N, "w": N},
    "late_type_change.csv": BASE | {"late": T},
    "latin1.csv": {"âge": N, "sexe": C, "ville": C, "revenu": N},
    "mac_cr_line_ends.csv": BASE,
    "markup_injection.csv": {"age": N, "sex": C, "income": N, "<b>region</b>": C, "cell": C},
    "mixed_line_ends.csv": {"a": N, "b": N},
    "monotone_sequence.csv": {"t": I, "i": I},
    "no_final_newline.csv": {"a": N, "b": N},
    "one_categorical_column.csv": {"sex": C},
    "ordinal_and_bounded.csv": BASE | {"likert": N, "grade": C, "band": C, "prop": N, "pct": C},
    "preamble_lines.csv": BASE,
    "singleton_levels.csv": BASE | {"class": C, "tiny": C},
    "total_row.csv": {"age": C, "sex": C, "income": N, "region": C},
    "two_rows.csv": BASE,
    "utf8_bom.csv": BASE,
    "very_long_cell.csv": {"text": T},
}


@pytest.mark.parametrize("name", FILES)
def test_a_good_table_or_one_clear_error(name):
    if name in ERRORS:
        with pytest.raises(TableError, match=ERRORS[name]) as caught:
            read(HOSTILE / name)
        # Arrow's own message, which quotes the line, must not be shown beneath ours.
        assert caught.value.__context__ is None or caught.value.__suppress_context__
        return
    table = read(HOSTILE / name)
    kinds = {column.name: column.kind for column in table.schema}
    assert {column: kinds[column] for column in KINDS.get(name, {})} == KINDS.get(name, {})


CHANGED = {
    "blank_column_names.csv": "has no name",
    "inf_and_overflow.csv": "7 cells that are not finite numbers became missing",
    "mixed_line_ends.csv": "line ends",
    "preamble_lines.csv": "2 preamble lines",
}


@pytest.mark.parametrize("name", [name for name in FILES if name not in ERRORS])
def test_written_back_byte_for_byte_unless_a_note_says_otherwise(name):
    table = read(HOSTILE / name)
    same = written_bytes(table) == (HOSTILE / name).read_bytes()
    if name in CHANGED:
        assert not same
        assert any(CHANGED[name] in note for note in table.notes)
    else:
        assert same


def table(name):
    return read(HOSTILE / f"{name}.csv")


def test_huge_integers_are_exact():
    found = table("huge_integers")
    assert found.column("u64")[0].as_py() == 2**64 - 1
    assert found.column("neg")[0].as_py() == -(2**63)
    assert int(found.column("huge")[1].as_py()) == 10**30 + 1


def test_dates_keep_their_own_format():
    schema = table("dates").schema
    formats = {column.name: column.format for column in schema if column.kind is Kind.DATETIME}
    assert formats == {
        "iso": "%Y-%m-%d",
        "fr": "%d/%m/%Y",
        "us": "%m/%d/%Y",
        "compact": "%Y%m%d",
        "iso_time": "%Y-%m-%dT%H:%M:%SZ",
        "iso_tz": "%Y-%m-%dT%H:%M:%S+02:00",
        "year_month": "%Y-%m",
        "time": "%H:%M",
    }
    days = [table("dates").column(name)[1].as_py() for name in ("iso", "fr", "us", "compact")]
    assert len(set(days)) == 1


def test_bytes_of_other_encodings_are_letters():
    assert table("latin1").layout.encoding == "latin-1"
    assert table("latin1").layout.decimal == ","
    assert table("latin1").column("revenu")[0].as_py() == 2057.6
    assert table("cp1252").column("comment")[0].as_py() == "“smart quotes” – dash…"
    assert table("utf8_bom").layout.bom
    assert table("utf8_bom").names[0] == "age"


def test_suspicions_are_notes():
    assert any("line of totals" in note for note in table("total_row").notes)
    assert any("not all cells are numbers" in note for note in table("late_type_change").notes)
    assert not table("logical_constraints").notes  # weight_kg is a body's weight


def test_impossible_coordinates_do_not_hide_a_location():
    schema = table("geo_edge").schema
    assert schema.with_role(Role.LOCATION) == ("lat", "lon")


def test_words_for_yes_and_no_are_spelled_as_they_were():
    found = table("booleans")
    assert set(found.column("tf").to_pylist()) == {"TRUE", "FALSE", None}
    assert set(found.column("t").to_pylist()) == {"T", "F", None}


def test_no_note_shows_a_cell():
    for name in set(FILES) - set(ERRORS):
        found = read(HOSTILE / name)
        cells = {
            cell
            for column in found.schema
            if column.kind is not Kind.NUMBER
            for cell in map(str, found.column(column.name).to_pylist())
            if len(cell) > 4
        }
        for note in found.notes:
            assert not [c for c in cells if c in note], name
