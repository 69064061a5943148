"""The functions: formats come back as they went in, and the same seed gives the same bytes."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import understudy
from understudy import InputError, Plan
from understudy.plans.plan import Gates

FAST = Plan(settings={"min_leaf": 30}, measures=("closeness", "copies"), calibrate=False,
            gates=Gates(("copies",)))  # fmt: skip


def people(rows=200, seed=3):
    rng = np.random.default_rng(seed)
    return {
        "code": [f"{c:05}" for c in rng.choice([12, 345, 77777], rows)],
        "sex": [str(c) for c in rng.choice(["f", "m", "ø"], rows)],
        "income": [round(float(x), 2) for x in rng.lognormal(7, 1, rows)],
        "day": [
            f"{1 + i % 28:02}/{1 + i % 12:02}/19{50 + i % 40}" for i in rng.integers(0, 999, rows)
        ],
        "gap": [None if rng.random() < 0.3 else int(rng.integers(0, 9)) for _ in range(rows)],
    }  # fmt: skip


def as_csv(data, delimiter=",", decimal=".", quote=""):
    def cell(value):
        text = "" if value is None else str(value)
        return quote + (text.replace(".", decimal) if isinstance(value, float) else text) + quote

    rows = [list(data), *zip(*data.values(), strict=True)]
    return "\n".join(delimiter.join(cell(value) for value in row) for row in rows) + "\n"


DIALECTS = {
    "semicolon, decimal comma, cp1252": ({"delimiter": ";", "decimal": ","}, "cp1252"),
    "byte-order mark": ({}, "utf-8-sig"),
    "everything quoted": ({"quote": '"'}, "utf-8"),
    "tabs and UTF-16": ({"delimiter": "\t"}, "utf-16"),
}


@pytest.mark.parametrize("what", DIALECTS)
def test_a_csv_dialect_comes_back(what, tmp_path):
    dialect, encoding = DIALECTS[what]
    (tmp_path / "t.csv").write_bytes(as_csv(people(), **dialect).encode(encoding))
    understudy.release(tmp_path / "t.csv", tmp_path / "out", FAST, jobs=1)
    raw = (tmp_path / "out" / "release" / "synthetic-1.csv").read_bytes()
    original = (tmp_path / "t.csv").read_bytes()
    assert raw[:2] == original[:2]
    lines, before = raw.decode(encoding).splitlines(), original.decode(encoding).splitlines()
    assert lines[0] == before[0] and len(lines) == len(before)
    quote, delimiter = dialect.get("quote", ""), dialect.get("delimiter", ",")
    cells = [line.split(delimiter) for line in lines[1:]]
    assert all(cell[:1] == cell[-1:] == quote for row in cells for cell in row if quote)
    code, sex, income, day, gap = ({c.strip('"') for c in col} for col in zip(*cells, strict=True))
    assert code <= {"00012", "00345", "77777"} and sex <= {"f", "m", "ø"}
    assert all(dialect.get("decimal", ".") in x for x in income if not x.isdigit())
    assert all(len(d) == 10 and d[2] == d[5] == "/" for d in day)
    assert "" in gap and gap - {""} <= set("0123456789")


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_typed_files_come_back_marked_as_synthetic(form, tmp_path):
    path = tmp_path / f"t.{form}"
    table = pa.table(people())
    (parquet.write_table if form == "parquet" else feather.write_feather)(table, path)
    understudy.release(path, tmp_path / "out", FAST, jobs=1)
    made = tmp_path / "out" / "release" / f"synthetic-1.{form}"
    back = parquet.read_table(made) if form == "parquet" else feather.read_table(made)
    assert back.schema.metadata[b"understudy"] == b"synthetic"
    assert back.column_names == table.column_names and back.num_rows == table.num_rows
    assert back.schema.types == table.schema.types


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame, dict])
def test_objects_go_in_and_come_out(make):
    if make is dict:
        with pytest.raises(InputError, match="cannot read a dict"):
            understudy.read(make(people()))
        return
    study = understudy.synthesize(make(people()), FAST, seed=1, jobs=1)
    (table,) = study.tables
    assert pl.from_arrow(pa.table(table)).columns == list(people())
    assert len(pa.table(table).to_pandas()) == 200


def test_identifiers_are_dropped_or_replaced_and_the_note_says_so(tmp_path):
    data = {"person_id": [f"P{i:06}" for i in range(200)], **people(),
            "ssn": [f"{i * 7919 % 10**9:09}" for i in range(200)]}  # fmt: skip
    (tmp_path / "t.csv").write_text(as_csv(data))
    looks = {
        "person_id": {"kind": "identifier", "identifier": "surrogate"},
        "ssn": {"kind": "identifier"},
    }
    understudy.release(tmp_path / "t.csv", tmp_path / "out", replace(FAST, columns=looks), jobs=1)
    raw = (tmp_path / "out" / "release" / "synthetic-1.csv").read_text()
    lines = [line.split(",") for line in raw.splitlines()]
    assert lines[0] == ["person_id", *people()]
    fresh = [line[0] for line in lines[1:]]
    assert len(set(fresh)) == 200 and not set(fresh) & set(data["person_id"])
    note = (tmp_path / "out" / "release" / "NOTE.md").read_text()
    assert "`ssn` was left out" in note and "`person_id` holds fresh" in note


RUN = """
import sys
from understudy import release
release(sys.argv[1], sys.argv[2], seed=2**100 + 5, jobs=int(sys.argv[3]), replicates=2)
"""


def timeless(path):
    """Findings without what a clock says."""
    found = json.loads(path.read_text())
    for item in found["findings"]:
        item.pop("seconds")
    return found


def test_same_seed_same_bytes_whatever_the_threads_and_the_process(tmp_path):
    """All gates and measures of the default plan, 1 to 3 threads, in four processes."""
    (tmp_path / "t.csv").write_text(as_csv(people(300)))
    outs = []
    for place, (jobs, hashing) in enumerate([(1, "0"), (2, "1"), (3, "2"), (2, "random")]):
        out = tmp_path / str(place)
        subprocess.run([sys.executable, "-c", RUN, str(tmp_path / "t.csv"), str(out), str(jobs)],
                       check=True, env={**os.environ, "PYTHONHASHSEED": hashing})  # fmt: skip
        outs.append(out)
    public = "release" if (outs[0] / "release").exists() else "private/withheld"
    first = {path.name: path.read_bytes() for path in (outs[0] / public).iterdir()}
    assert len(first) >= 2
    for out in outs[1:]:
        assert {path.name: path.read_bytes() for path in (out / public).iterdir()} == first
        for name in ("findings.json",):
            assert timeless(out / "private" / name) == timeless(outs[0] / "private" / name)
        for name in ("summaries.json", "trials.csv", "plan.toml", "records.parquet"):
            ours, theirs = out / "private" / name, outs[0] / "private" / name
            assert ours.read_bytes() == theirs.read_bytes(), name


def test_a_holdout_goes_through_the_same_preparation(tmp_path):
    """Bands of the plan are applied to a holdout that was brought, too."""
    plan = Plan.from_toml(
        "measures = ['closeness', 'copies']\ngates.names = ['copies']\nsynthesis.min_leaf = 30\n"
        "[[prepare]]\ncolumn = 'income'\ndo = 'band'\nwidth = 1000\n"
    )
    study = understudy.synthesize(
        pa.table(people()), plan, seed=1, jobs=1, holdout=pa.table(people(100, 9))
    )
    sizes = study.findings.tables
    assert (sizes["train"]["rows"], sizes["holdout"]["rows"]) == (200, 100)
    income = next(c for c in study.summaries["columns"] if c["name"] == "income")
    assert sum(income["holdout"][:-1]) > 0.8  # its rows are in train's bands


def test_a_tiny_holdout_is_refused():
    with pytest.raises(InputError, match=r"holdout has 5 rows: at least 8"):
        understudy.synthesize(pa.table(people()), FAST, holdout=pa.table(people(5)), jobs=1)


def test_assess_compares_what_is_common_in_any_order():
    """Other order, an extra column, levels nobody saw: compared, and said."""
    data, other = people(), people(seed=8)
    other = {"more": [1] * 200, **dict(reversed(other.items()))}
    other["sex"] = ["never seen"] * 200
    del other["gap"]
    study = understudy.assess(pa.table(data), [pa.table(other)], plan=FAST, seed=1, jobs=1,
                              holdout=pa.table(people(seed=9)))  # fmt: skip
    notes = " ".join(study.findings.provenance["notes"])
    assert "gap" in notes and "more" in notes
    assert study.findings.findings


def test_assess_gates_at_the_level_of_the_tables_it_judges():
    tables = [pa.table(people(seed=seed)) for seed in (8, 9, 10)]
    study = understudy.assess(pa.table(people()), tables, plan=FAST, seed=1, jobs=1,
                              holdout=pa.table(people(seed=11)))  # fmt: skip
    # One gate on three tables and all pooled: four tests, each two-sided.
    assert study.findings.provenance["level"] == pytest.approx(1 - 2 * 0.05 / 4)


def test_inspect_proposes_a_plan_that_runs():
    found = understudy.inspect(pa.table(people()))
    plan = Plan.from_toml(found.to_toml())
    assert understudy.synthesize(pa.table(people()), plan, seed=1, jobs=2).tables[0].rows == 200


ARGUMENTS = {
    "seed below 0": ({"seed": -1}, "seed: got -1"),
    "seed of letters": ({"seed": "x"}, "seed: got 'x'"),
    "half a seed": ({"seed": 1.5}, "seed: got 1.5"),
    "no jobs": ({"jobs": 0}, "jobs: got 0"),
    "jobs in letters": ({"jobs": "2"}, "jobs: got '2'"),
    "a dictionary for a plan": ({"plan": {"name": "x"}}, "a plan from a dict"),
    "no name": ({"out": ""}, "an empty name"),
}


@pytest.mark.parametrize("what", ARGUMENTS)
def test_wrong_arguments_are_input_errors(what, tmp_path):
    given, message = ARGUMENTS[what]
    frame = pa.table(people())
    with pytest.raises(InputError, match=message):
        understudy.release(frame, **{"out": tmp_path / "out", **given})
    with pytest.raises(InputError, match=message):
        understudy.assess(frame, [frame], **{"out": tmp_path / "out", **given})
    assert not (tmp_path / "out").exists()


def test_a_single_table_may_be_assessed_without_a_list():
    frame = pa.table(people())
    study = understudy.assess(frame, frame, plan=FAST, jobs=1)
    assert len(study.tables) == 1 and study.findings.failed()
