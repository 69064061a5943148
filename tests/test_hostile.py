"""Files that break programs, through `release` and `inspect`: good, withheld, or one message."""

import html
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from understudy import read
from understudy.errors import TableError
from understudy.report.bundle import bundle
from understudy.tables.table import is_text
from understudy.tables.write import written_bytes

HOSTILE = Path(__file__).parent / "hostile"
SEED = 0x5EED_0123_4567_89AB_CDEF_0123_4567_89AB

# What becomes of each file under SEED: released, withheld by these gates, or refused with this.
RELEASED = "released"
FEW = "fewer than 50 people cannot be protected"
OUTCOMES = {
    "95pct_missing": RELEASED,
    "all_missing_column": RELEASED,
    "blank_column_names": RELEASED,
    "booleans": RELEASED,
    "categorical_500_levels": ("dcr.share",),
    "constant_columns": RELEASED,
    "cp1252": RELEASED,
    "csv_injection": RELEASED,
    "dates": RELEASED,
    "duplicate_rows": RELEASED,
    "empty_file": "empty_file.csv: the file is empty",
    "extreme_skew": RELEASED,
    "free_text": RELEASED,
    "geo_edge": RELEASED,
    "geo_single_case": RELEASED,
    "header_only": "header_only.csv: the file has a line of column names and no rows",
    "huge_integers": RELEASED,
    "inf_and_overflow": RELEASED,
    "late_type_change": RELEASED,
    "latin1": ("uniques.replicated",),  # an unlucky split: 1 in 40 seeds
    "logical_constraints": RELEASED,
    "mac_cr_line_ends": RELEASED,
    "markup_injection": RELEASED,
    "mixed_line_ends": FEW,
    "monotone_sequence": "no column is left to synthesise",
    "more_columns_than_rows": FEW,
    "no_final_newline": FEW,
    "nul_bytes": "nul_bytes.csv: line 2: a NUL byte",
    "one_categorical_column": RELEASED,
    "one_row": "one_row.csv: the table has 1 row",
    "only_newlines": "only_newlines.csv: the file is empty",
    "ordinal_and_bounded": RELEASED,
    "preamble_lines": RELEASED,
    "ragged_rows": "ragged_rows.csv: line 3: 2 cells where the header has 3",
    "reserved_names": RELEASED,
    "singleton_levels": RELEASED,
    "total_row": RELEASED,
    "two_rows": FEW,
    "unicode": RELEASED,
    "utf8_bom": RELEASED,
    "very_long_cell": FEW,
    "whitespace_only": "whitespace_only.csv: the file is empty",
}
# Numbers of this form fill a page of shares and distances by chance.
SHARE = re.compile(r"-?\d{1,3}\.\d{1,4}")
# Cells that coincide with what the page says anyway: a word of it, and whole numbers without a
# gap, where any bin must end at a number that occurs.
SAID_ANYWAY = {"late_type_change": {"unknown"}}
WITHOUT_GAPS = ("huge_integers",)


def written(folder):
    """All text that a run left, charts' library apart; HTML also as a browser shows it."""
    files = [path for path in folder.rglob("*") if path.suffix in (".json", ".html", ".log", ".md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    text = text.replace(bundle(), "")
    return text + html.unescape(text)


def rare_cells(name):
    """Cells of a file that fewer than ten rows share, as they are written in it."""
    try:
        table = read(HOSTILE / name)
    except TableError:
        raw = (HOSTILE / name).read_bytes().decode("latin-1")
        return set(re.split(r"[,;\r\n]+", raw.split("\n", 1)[-1])) - {""}
    found = set()
    table = replace(table, layout=replace(table.layout, quote_all=False, quoted=()))
    for column in table.schema:
        lines = written_bytes(table.select([column.name])).decode(table.layout.encoding)
        cells = table.column(column.name).to_pylist() if is_text(column.kind) else lines.split("\n")
        counts = Counter(str(cell).strip() for cell in cells if cell is not None)
        found |= {cell for cell, count in counts.items() if count < 10}
    quoted = {f'"{column}"' for column in table.names}
    return found - set(table.names) - quoted


def shown(name, text):
    """Rare cells that stand in a text; short ones could be any number and are left out."""
    cells = rare_cells(f"{name}.csv") - SAID_ANYWAY.get(name, set())
    if name in WITHOUT_GAPS:
        cells = {cell for cell in cells if not re.fullmatch(r"-?\d+", cell)}
    words = set(re.findall(r"[\w.:+/-]+", text))
    long = {cell for cell in cells if len(cell) > 4 and not SHARE.fullmatch(cell)}
    plain = {cell for cell in long if re.fullmatch(r"[\w.:+/-]+", cell)}
    return (plain & words) | {cell for cell in long - plain if cell in text}


def test_every_file_has_an_expectation():
    assert {path.stem for path in HOSTILE.glob("*.csv")} == set(OUTCOMES)


@pytest.mark.parametrize("name", OUTCOMES)
def test_release(name, command, tmp_path):
    out = tmp_path / "out"
    ran = command("release", HOSTILE / f"{name}.csv", "--out", out, "--seed", SEED, "--jobs", 1)
    text = ran.out + ran.err + (written(out) if out.exists() else "")
    assert not shown(name, text)
    expected = OUTCOMES[name]
    if expected is RELEASED:
        assert (ran.status, ran.err) == (0, "")
        assert {path.name for path in out.iterdir()} == {"private", "release"}
    elif isinstance(expected, tuple):
        gates = re.findall(r"gate (\S+)", ran.err)
        assert (ran.status, ran.out, tuple(gates)) == (3, "", expected)
        assert {path.name for path in out.iterdir()} == {"private"}
        assert (out / "private" / "withheld" / "synthetic-1.csv").is_file()
    else:
        assert (ran.status, ran.out) == (2, "")
        assert re.fullmatch(f"understudy: .*{expected}.*\n", ran.err)
        assert not out.exists()


@pytest.mark.parametrize("name", OUTCOMES)
def test_inspect(name, command):
    path = HOSTILE / f"{name}.csv"
    for flags in ([], ["--json"]):
        ran = command("inspect", path, *flags)
        assert ran.status in (0, 2)
        assert ran.err == "" if ran.status == 0 or flags else ran.err.startswith("understudy: ")
        assert not shown(name, ran.out + ran.err)
