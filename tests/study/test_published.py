"""Earlier publications about the same people: roles, counts, and the measure that follows."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from understudy import api
from understudy.errors import PlanError
from understudy.plans.plan import Plan
from understudy.study.published import earlier, exposure, linkable, shared, unique_rows
from understudy.study.ready import make_ready
from understudy.tables.read import read


def people(rows=300, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "height": rng.integers(150, 200, rows),
            "shoe": rng.integers(35, 47, rows),
            "team": rng.choice(["red", "blue", "green"], rows),
            "score": rng.normal(size=rows).round(3),
            "ill": rng.choice(["no", "yes"], rows, p=[0.9, 0.1]),
        }
    )


def plain_unique(table, names):
    rows = list(zip(*(table.column(n).to_pylist() for n in names), strict=True))
    return sum(rows.count(row) == 1 for row in rows)


@pytest.mark.parametrize("names", [["height"], ["height", "shoe"], ["height", "team", "shoe"]])
def test_unique_rows_against_a_loop(names):
    assert unique_rows(read(people()), names) == plain_unique(people(), names)


def test_missing_values_are_equal_to_one_another():
    table = read(pa.table({"a": [1, None, None, 2], "b": ["x", "x", "x", None]}))
    assert unique_rows(table, ["a", "b"]) == 2


def test_published_columns_become_quasi_identifiers_and_other_roles_stay():
    plan = Plan.from_dict(
        {
            "columns": {"ill": {"role": "sensitive"}},
            "published": [{"name": "Table 1", "columns": ["height", "shoe", "ill"]}],
        }
    )
    ready = make_ready(read(people()), plan, 1)
    roles = {column.name: column.role.value for column in ready.table.schema}
    assert roles == {
        "height": "quasi", "shoe": "quasi", "team": "other", "score": "other", "ill": "sensitive"
    }  # fmt: skip
    assert ready.published == {"Table 1": ("height", "shoe", "ill")}
    (receipt,) = ready.receipts
    alone = plain_unique(people(), ["height", "shoe", "ill"])
    assert receipt == {
        "step": "published",
        "did": f"Table 1 shows height, shoe, ill: {alone} of 300 rows are unique on them; "
        f"{alone} of 300 after preparation",
    }


def test_what_preparation_does_to_the_exposure_is_said():
    entry = {"name": "paper", "columns": ["height", "score"]}
    banded = [
        {"do": "drop", "columns": ["score"]},
        {"do": "band", "column": "height", "width": 50},
    ]
    plan = Plan.from_dict({"published": [entry], "prepare": banded})
    ready = make_ready(read(people()), plan, 1)
    assert ready.published == {"paper": ("height",)}
    assert ready.receipts[-1]["did"].endswith("0 of 300 after preparation")
    gone = Plan.from_dict({"published": [entry], "prepare": [
        {"do": "drop", "columns": ["score", "height"]}]})  # fmt: skip
    ready = make_ready(read(people()), gone, 1)
    assert ready.published == {}
    assert ready.receipts[-1]["did"].endswith("; none of it is left after preparation")


def test_a_file_is_joined_as_an_outsider_would(tmp_path):
    """Alone in both tables and equal: counted by a double loop."""
    ours = people()
    theirs = ours.select(["shoe", "height"]).take(list(range(0, 300, 2)))
    more = pa.table({"shoe": [99, 99], "height": [1, 2]})
    pyarrow.csv.write_csv(pa.concat_tables([theirs, more]), tmp_path / "old.csv")
    entry = {"name": "old", "file": str(tmp_path / "old.csv")}
    table = read(ours)
    found = earlier([entry], table)
    assert found[0].columns == ("height", "shoe")
    (said,) = exposure(found, table, table)
    a = list(zip(*(ours.column(n).to_pylist() for n in ("height", "shoe")), strict=True))
    b = list(zip(*(theirs.column(n).to_pylist() for n in ("height", "shoe")), strict=True))
    joined = sum(a.count(row) == 1 and b.count(row) == 1 for row in a)
    assert 0 < joined < 150
    assert f", {joined} of which equal exactly one row of the published table;" in said
    floats = theirs.set_column(1, "height", theirs.column("height").cast(pa.float64()))
    pa.parquet.write_table(floats, tmp_path / "old.parquet")
    again = earlier([{"file": str(tmp_path / "old.parquet")}], table)
    assert next(iter(exposure(again, table, table))).endswith(said.split(":")[1])


def test_roles_and_shared_columns_of_several():
    table = read(people())
    found = earlier([{"name": "a", "columns": ["shoe"]}, {"name": "b", "columns": ["team"]}], table)
    schema = linkable(table.schema, found)
    assert schema.with_role(schema["shoe"].role) == ("shoe", "team")
    assert shared(found, ["team", "height"]) == {"b": ("team",)}


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({}, "published[0]"),
        ({"name": "x"}, "published[0]"),
        ({"columns": ["height"]}, "published[0].name"),
        ({"name": "quasi-identifiers", "columns": ["height"]}, "published[0].name"),
        ({"name": "x", "columns": "height"}, "published[0].columns"),
        ({"name": "x", "columns": ["nobody"]}, "published[0].columns"),
        ({"name": "x", "file": "nowhere.csv"}, "published[0].file"),
        ({"name": "x", "file": 3}, "published[0].file"),
        ({"name": "x", "columns": ["height"], "year": 2006}, "published[0].year"),
    ],
)
def test_impossible_entries_name_their_key(entry, key):
    with pytest.raises(PlanError) as caught:
        make_ready(read(people()), Plan.from_dict({"published": [entry]}), 1)
    assert caught.value.key == key


def test_files_that_do_not_fit_are_refused_without_their_cells(tmp_path):
    path = tmp_path / "bands.csv"
    path.write_text("height,team\n150-159,red\n160-169,blue\n")
    for entry, word in (
        ({"file": str(path), "columns": ["height"]}, "same kinds"),
        ({"file": str(path), "columns": ["shoe"]}, "has as well"),
    ):
        with pytest.raises(PlanError, match=word) as caught:
            earlier([entry], read(people()))
        assert "150" not in str(caught.value)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(PlanError, match="in common"):
        earlier([{"file": str(other)}], read(people()))


def test_two_of_one_name_are_refused():
    entry = {"name": "x", "columns": ["height"]}
    with pytest.raises(PlanError, match=r"published\[1\]\.name"):
        Plan.from_dict({"published": [entry, entry]})


def test_the_measure_looks_at_what_was_published():
    """A release that repeats people on the published columns alone fails there, not elsewhere."""
    plan = Plan.from_dict(
        {
            "columns": {"ill": {"role": "sensitive"}, "team": {"role": "quasi"}},
            "published": [{"name": "paper", "columns": ["height", "score"]}],
            "measures": ["uniques"],
            "gates": {"names": ["uniques.replicated"]},
        }
    )
    table = people(400)
    rng = np.random.default_rng(5)
    # The published columns are copied together, all others shuffled.
    moved = {n: table.column(n).take(rng.permutation(400)) for n in ("shoe", "team", "ill")}
    leak = pa.table({n: moved.get(n, table.column(n)) for n in table.column_names})
    other = people(200, seed=8)
    study = api.assess(table, leak, plan=plan, seed=3, holdout=other)
    found = {f.estimate.target: f for f in study.findings.findings}
    assert found["published: paper"].gate and found["published: paper"].verdict.value == "fails"
    fresh = api.assess(table, people(400, seed=6), plan=plan, seed=3, holdout=other)
    kept = {f.estimate.target: f.verdict.value for f in fresh.findings.findings}
    assert kept["published: paper"] == "holds" and kept["quasi-identifiers"] != "fails"
    assert "published" in json.dumps(fresh.findings.to_json()["receipts"])


def test_a_publication_of_all_quasi_identifiers_is_no_second_gate():
    plan = Plan.from_dict(
        {"published": [{"name": "paper", "columns": ["height", "shoe"]}], "measures": ["uniques"]}
    )
    study = api.assess(people(), people(seed=2), plan=plan, seed=3, holdout=people(100, seed=4))
    targets = {f.estimate.target for f in study.findings.findings if f.estimate.target}
    assert targets == {"quasi-identifiers", "all columns"}


def test_more_gates_share_the_confidence():
    """Two sets that gate: each interval is as wide as one of two tests asks for."""
    shown = [{"name": "paper", "columns": ["height", "score"]}]
    base = {"columns": {"team": {"role": "quasi"}}, "measures": ["uniques"]}
    gates = {"names": ["uniques.replicated"]}
    release, held = people(seed=2), people(100, seed=4)
    widths = []
    for error, entries in ((0.05, {**base, "published": shown}), (0.025, base)):
        plan = Plan.from_dict({**entries, "gates": {**gates, "error": error}})
        study = api.assess(people(), release, plan=plan, seed=3, holdout=held)
        found = {f.estimate.target: f.estimate for f in study.findings.findings}
        widths.append(found["all columns"].high - found["all columns"].low)
    # Quantiles of 2,000 draws at the same level; streams differ by the draws taken before.
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_what_prepare_draws_depends_on_the_seed_alone():
    """Same seed, same release, whatever the number of threads; another seed, another one."""
    plan = Plan.from_dict(
        {
            "synthesis": {"min_leaf": 30},
            "measures": ["marginals"],
            "calibrate": False,
            "gates": {"names": ["marginal.distance"]},
            "prepare": [{"do": "outliers", "columns": ["score"], "z": 2.0, "how": "swap"}],
        }
    )
    runs = [api.synthesize(people(), plan, seed=s, jobs=j) for s, j in ((7, 1), (7, 3), (8, 1))]
    one, again, other = (run.tables[0].data for run in runs)
    assert one.equals(again) and not one.equals(other)
    did = [run.findings.receipts[0]["did"] for run in runs]
    assert did[0] == did[2] and "went round among them" in did[0]
