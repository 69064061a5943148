"""Direct identifiers never pass: planted in every format, and through every step of `prepare`."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from understudy import api
from understudy.errors import PlanError
from understudy.plans.plan import Plan
from understudy.tables.prepare import STEPS

ROWS = 240
FAST = {
    "synthesis": {"min_leaf": 30},
    "measures": ["copies"],
    "gates": {"names": ["copies"]},
    "calibrate": False,
}
MARK = "Zqx"  # in every planted name; numbers begin with 7654


def planted():
    rng = np.random.default_rng(4)
    number = 765_400_000 + rng.permutation(ROWS) * 7
    return pa.table(
        {
            "patient_name": [f"{MARK}ia {MARK}son {i}" for i in range(ROWS)],
            "email": [f"{MARK.lower()}{i}@example.org" for i in range(ROWS)],
            "phone": number,
            "record": [f"{MARK}-{i:04d}" for i in rng.permutation(ROWS)],
            "story": [f"{MARK} fell on the {i} steps in front of the house" for i in range(ROWS)],
            "age": rng.integers(20, 80, ROWS),
            "income": rng.lognormal(7, 1, ROWS).round(2),
            "sex": rng.choice(["f", "m"], ROWS),
        }
    )


def told(folder):
    """Every byte that was written, and the cells of every table, in lower case."""
    texts = []
    for path in folder.rglob("*"):
        if path.is_file():
            texts.append(path.read_bytes().decode("utf-8", "replace"))
            if path.suffix in (".parquet", ".arrow", ".feather"):
                read = pq.read_table if path.suffix == ".parquet" else pyarrow.feather.read_table
                table = read(path)
                texts.append(str(table.schema) + json.dumps(table.to_pydict(), default=str))
    return "\n".join(texts).lower()


def clean(folder):
    text = told(folder)
    return MARK.lower() not in text and "7654" not in text.replace(".", "")


def written(table, path):
    writers = {
        "csv": lambda: pyarrow.csv.write_csv(table, path),
        "parquet": lambda: pq.write_table(table, path),
        "feather": lambda: pyarrow.feather.write_feather(table, path),
        "arrow": lambda: pyarrow.feather.write_feather(table, path, compression="uncompressed"),
    }
    writers[path.suffix[1:]]()
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "arrow"])
def test_nothing_of_them_is_written_in_any_format(kind, tmp_path):
    """Names, addresses, numbers and prose: recognised without any plan's help."""
    path = written(planted(), tmp_path / f"people.{kind}")
    outcome = api.release(path, tmp_path / "out", Plan.from_dict(FAST), jobs=1, seed=2**100)
    assert clean(outcome.folder)
    names = {"age", "income", "sex"}
    (made,) = outcome.folder.rglob("synthetic-1.*")
    assert set(api.read(made).names) == names


def test_dictionaries_and_metadata_do_not_hold_them(tmp_path):
    """A dictionary has all its levels, also those that no row of the release has."""
    table = planted()
    place = table.column_names.index("record")
    table = table.set_column(place, "record", table.column("record").dictionary_encode())
    path = written(table, tmp_path / "people.parquet")
    outcome = api.release(path, tmp_path / "out", Plan.from_dict(FAST), jobs=1, seed=2**100)
    assert clean(outcome.folder)


def test_surrogates_are_nobodys(tmp_path):
    plan = {**FAST, "columns": {"record": {"identifier": "surrogate"}}}
    table = planted()
    outcome = api.release(table, tmp_path / "out", Plan.from_dict(plan), jobs=1, seed=2**100)
    (made,) = outcome.folder.rglob("synthetic-1.*")
    theirs = set(table.column("record").to_pylist())
    assert not theirs & set(api.read(made).column("record").to_pylist())


STEPS_ON = {
    "drop": {"columns": ["phone"]},
    "outliers": {"columns": ["phone"], "quantile": 0.9, "how": "swap"},
    "band": {"column": "phone", "width": 10},
    "top_code": {"column": "phone", "quantile": 0.9},
    "bottom_code": {"column": "phone", "quantile": 0.1},
    "round": {"column": "phone", "to": 10},
    "merge_rare": {"column": "record", "fewer_than": 2},
}


@pytest.mark.parametrize("step", sorted(STEPS))
def test_no_step_makes_them_innocent(step, tmp_path):
    """A coarsened identifier is an identifier: it keeps its role, and leaves with it."""
    looks = {"phone": {"kind": "number", "role": "identifier"}, "record": {"kind": "identifier"}}
    plan = {**FAST, "columns": looks, "prepare": [{"do": step, **STEPS_ON[step]}]}
    outcome = api.release(planted(), tmp_path / "out", Plan.from_dict(plan), jobs=1, seed=2**100)
    assert clean(outcome.folder)
    (made,) = outcome.folder.rglob("synthetic-1.*")
    assert set(api.read(made).names) == {"age", "income", "sex"}


@pytest.mark.parametrize("how", ["role", "visit"])
@pytest.mark.parametrize("column", ["patient_name", "record", "phone", "story"])
def test_they_cannot_be_kept(column, how, tmp_path):
    """Partial synthesis hands kept columns on as they are."""
    plan = dict(FAST)
    if how == "role":
        plan["columns"] = {column: {"role": "keep"}}
    else:
        plan["visits"] = [{"model": "keep", "columns": [column]}]
    with pytest.raises(PlanError, match="names people") as caught:
        api.release(planted(), tmp_path / "out", Plan.from_dict(plan), jobs=1, seed=2**100)
    assert MARK not in str(caught.value) and not (tmp_path / "out").exists()


def test_an_earlier_publication_does_not_make_them_linkable(tmp_path):
    """They stay identifiers; they are counted in the receipt and never drawn."""
    entry = {"name": "list", "columns": ["record", "age"]}
    plan = Plan.from_dict({**FAST, "published": [entry]})
    outcome = api.release(planted(), tmp_path / "out", plan, jobs=1, seed=2**100)
    assert clean(outcome.folder)
    assert "240 of 240 rows are unique" in told(outcome.folder)


def test_what_breaks_does_not_quote_them(tmp_path):
    for entry in (
        {"do": "band", "column": "record", "width": 3},
        {"do": "outliers", "columns": ["patient_name"], "z": 3},
        {"do": "round", "column": "email", "to": 1},
    ):
        with pytest.raises(PlanError) as caught:
            api.release(
                planted(), tmp_path / "out", Plan.from_dict({**FAST, "prepare": [entry]}), seed=1
            )
        assert MARK.lower() not in str(caught.value).lower()
