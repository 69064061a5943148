"""Steps that `inspect` proposes: who gets one, what it does, and that no cell is named."""

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from understudy import api
from understudy.plans.plan import Plan
from understudy.study.ready import make_ready
from understudy.tables.prepare import prepare

ROWS = 400


def people():
    rng = np.random.default_rng(6)
    days = [dt.date(1931, 5, 7) + dt.timedelta(days=int(d)) for d in rng.integers(0, 25_000, ROWS)]
    seen = [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 400, ROWS)]
    children = rng.poisson(1.5, ROWS)
    children[:3] = 29
    cold = np.round(rng.normal(37, 0.4, ROWS), 1)
    cold[:4] = 19.7
    town = rng.choice(["Aville", "Bville", "Cville"], ROWS).tolist()
    town[:3] = ["Qxtown"] * 3
    return pa.table(
        {
            "full_name": [f"Name Qx{i} Surqx" for i in range(ROWS)],
            "age": rng.integers(18, 95, ROWS),
            "birth_date": days,
            "seen": seen,
            "children": children,
            "temperature": cold,
            "income": np.round(rng.lognormal(7.7, 0.2, ROWS), 2),
            "lat": 48.1 + np.round(rng.random(ROWS), 5),
            "lon": 2.1 + np.round(rng.random(ROWS), 5),
            "town": town,
            "street": [f"Lane Qx{i // 3}" for i in range(ROWS)],
            "sex": rng.choice(["f", "m"], ROWS),
            "scale": rng.integers(1, 6, ROWS),
            "yes": rng.choice([0, 1], ROWS, p=[0.98, 0.02]),
            "survey_weight": rng.lognormal(0, 2, ROWS),
            "constant": [3] * ROWS,
        }
    )


@pytest.fixture(scope="module")
def found():
    return api.inspect(people())


def entries(found, column):
    return [
        {k: v for k, v in one.entry.items() if k not in ("column", "columns")}
        for one in found.suggestions
        if column in one.entry.get("columns", [one.entry.get("column")])
    ]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("full_name", [{"do": "drop"}]),
        ("age", [{"do": "band", "width": 5}]),
        ("birth_date", [{"do": "band", "by": "year"}]),
        ("seen", [{"do": "band", "by": "month"}]),
        ("children", [{"do": "top_code", "quantile": 0.975}]),
        ("temperature", [{"do": "bottom_code", "quantile": 0.025}]),
        ("lat", [{"do": "round", "to": 0.01}]),
        ("town", [{"do": "merge_rare", "fewer_than": 10}]),
        ("sex", []),
        ("scale", []),
        ("yes", []),
        ("survey_weight", []),
        ("constant", []),
    ],
)
def test_each_column_gets_what_it_calls_for(found, column, expected):
    assert entries(found, column) == expected


def test_amounts_are_rounded_to_a_tenth_of_their_spread(found):
    """Quartiles of 2,208 · exp(0.2 z) lie some 600 apart: the order of 100, a tenth of it."""
    assert {"do": "round", "to": 10} in entries(found, "income")


def test_every_step_says_against_whom(found):
    against = {one.words: one.against for one in found.suggestions}
    assert "names the person" in against["drop full_name, street"]
    assert "register" in against["band birth_date (by year)"]
    assert "another file" in against["band seen (by month)"]
    assert "journalist" in against["top_code children (quantile 0.975)"]
    assert "acquaintance" in against["merge_rare town (fewer_than 10)"]
    assert all(one.why and one.against for one in found.suggestions)


def test_the_steps_work_and_leave_ten_at_the_ends(found):
    table = api.read(people())
    done, receipts = prepare(table, [one.entry for one in found.suggestions], seed=1)
    assert len(receipts) == len(found.suggestions)
    children = np.array(done.column("children").to_pylist())
    assert (children == children.max()).sum() >= 10
    temperature = np.array(done.column("temperature").to_pylist())
    assert (temperature == temperature.min()).sum() >= 10
    assert "full_name" not in done.names


def test_confirmed_steps_are_a_plan_that_fits(found):
    text = found.to_toml()
    block = text[text.index("# Steps to consider") :]
    lines = [line.removeprefix("# ") for line in block.splitlines()]
    toml = "\n".join(line for line in lines if line == "[[prepare]]" or " = " in line)
    plan = Plan.from_toml(text + "\n" + toml)
    assert [dict(one.entry) for one in found.suggestions] == [dict(e) for e in plan.prepare]
    assert make_ready(api.read(people()), plan, 1).table.rows == ROWS
    assert Plan.from_toml(text).prepare == ()  # nobody has decided


def test_no_cell_is_named(found):
    shown = found.to_text() + found.to_toml() + json.dumps(found.to_json())
    income = {str(value) for value in people().column("income").to_pylist()}
    for word in ("Qx", "ville", "29", "19.7", "1931"):
        assert word not in shown.replace("0.029", ""), word
    assert not any(value in shown for value in income)


def test_small_odd_and_empty_tables():
    few = pa.table({"a": ["x", "y"], "n": [1.5, 2.5]})
    assert api.inspect(few).suggestions == ()
    odd = pa.table(
        {
            "gone": pa.nulls(60, pa.float64()),
            "huge": pa.array([2**60 + i for i in range(60)], pa.int64()),
            "lone": [f"l{i % 30}" for i in range(60)],
            "when": pa.array([dt.time(i % 24, i) for i in range(60)]),
        }
    )
    (only,) = api.inspect(odd).suggestions
    assert dict(only.entry) == {"do": "drop", "columns": ["lone"]}
    named = api.inspect(pa.table({"email": [f"a{i}@b.org" for i in range(60)]}))
    assert named.suggestions == ()  # dropping it would leave nothing


def test_what_was_published_counts(tmp_path, command):
    table = people()
    path = tmp_path / "earlier.csv"
    pyarrow.csv.write_csv(table.select(["children", "income"]).slice(0, 100), path)
    pyarrow.csv.write_csv(table, tmp_path / "all.csv")
    ran = command("inspect", tmp_path / "all.csv", "--published", path,
                  "--plan", tmp_path / "plan.toml")  # fmt: skip
    assert ran.status == 0
    assert "published before: earlier.csv" in ran.out
    assert (
        "earlier.csv shows children, income: 400 of 400 rows are unique on them, 100 of" in ran.out
    )
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.published == ({"name": "earlier.csv", "file": str(path)},)
    assert plan.columns["income"]["role"] == "quasi"
    wrong = command("inspect", tmp_path / "all.csv", "--published", tmp_path / "no.csv")
    assert wrong.status == 2 and "published[0].file" in wrong.err
    asked = api.inspect(table, plan=Plan(published=({"name": "paper", "columns": ["scale"]},)))
    assert asked.published == ("paper shows scale: 0 of 400 rows are unique on it",)
