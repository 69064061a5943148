import json
import tomllib

import numpy as np
import pyarrow as pa
import pytest

from understudy.inspection import inspect
from understudy.plans.plan import Plan
from understudy.synth.rule_kinds import parse_rules
from understudy.tables.encode import fit_encoding
from understudy.tables.outbreak import outbreak
from understudy.tables.quasi import likely_quasi
from understudy.tables.read import read

ROWS = 2000


def people():
    rng = np.random.default_rng(1)
    age = rng.integers(0, 90, ROWS)
    start = np.datetime64("2020-01-01") + rng.integers(0, 300, ROWS)
    city = rng.integers(0, 24, ROWS)
    a, b = rng.integers(0, 40, ROWS), rng.integers(0, 40, ROWS)
    male = rng.random(ROWS) < 0.5
    pay = [
        None if x < 16 else float(p) for x, p in zip(age, rng.lognormal(8, 1, ROWS), strict=True)
    ]
    return {
        "id": [f"P-{i:05d}" for i in rng.permutation(ROWS)],
        "age": age,
        "Sex": np.where(male, "Mister", "Madam"),
        "births": [
            None if m else int(n) for m, n in zip(male, rng.integers(0, 4, ROWS), strict=True)
        ],
        "pay": pay,
        "start": start,
        "end": start + rng.integers(0, 60, ROWS),
        "later": start + rng.integers(60, 200, ROWS),
        "city": [f"Cityville {c}" for c in city],
        "region": [f"Regionia {c // 6}" for c in city],
        "indoor": a,
        "outdoor": b,
        "visits": a + b,
        "constant": ["same"] * ROWS,
        "empty": pa.nulls(ROWS, pa.string()),
        "weight": np.round(rng.lognormal(0, 1, ROWS), 3),
        "word": [f"Name{i // 2}" if i < 20 else "many" for i in range(ROWS)],
        "alone": [f"Only{i}" if i < 9 else "many" for i in range(ROWS)],
        "twin": np.where(male, "x", "y"),
        "story": [f"Peter saw {i} ducks on the way to the {i * 7} houses" for i in range(ROWS)],
    }


@pytest.fixture(scope="module")
def found():
    return inspect(read(pa.table(people())))


def facts(found):
    return {item.name: item for item in found.columns}


def test_kinds_and_roles(found):
    roles = {name: item.role.value for name, item in facts(found).items()}
    assert roles["id"] == "identifier"
    assert {name for name, role in roles.items() if role == "quasi"} == {
        "age", "Sex", "city", "region"
    }  # fmt: skip
    assert facts(found)["story"].kind.value == "text"
    assert "survey weight" in facts(found)["weight"].note
    assert facts(found)["pay"].missing == pytest.approx(16 / 90, abs=0.05)
    assert facts(found)["city"].distinct == 24


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("constant", "constant"),
        ("empty", "always missing"),
        ("story", "dropped"),
        ("alone", "9 levels of one person each"),
        ("id", "direct identifier"),
        ("Sex, twin", "nearly the same"),
    ],
)
def test_warnings(found, column, words):
    assert any(column in line and words in line for line in found.warnings)


def test_ordinary_columns_are_not_warned_about(found):
    for name in ("age", "region", "visits", "start", "end"):
        assert not any(name in line.split() for line in found.warnings), name


def test_candidate_rules(found):
    words = {item.words: item for item in found.rules}
    assert set(words) == {
        "start ≤ end",
        "end ≤ later",
        "visits = indoor + outdoor",
        "city within region",
        "pay is missing for certain values of age",
        "pay is missing only for certain values of age",
        "births is missing for certain levels of Sex",
        "births is missing only for certain levels of Sex",
        "births is missing for certain levels of twin",
        "births is missing only for certain levels of twin",
    }  # start ≤ later and indoor ≤ visits follow from these
    assert all(item.broken == 0 for item in words.values())
    assert words["visits = indoor + outdoor"].support == ROWS


def test_confirmed_candidates_are_rules_that_hold(found):
    table = read(pa.table(people()))
    lines = found.to_toml().split("# holds in", 1)[1].splitlines()
    text = "\n".join(line[2:] for line in lines if line.startswith("# ") and "holds" not in line)
    rules = tomllib.loads(text)["rules"]
    assert len(rules) == len(found.rules)
    encoding = fit_encoding(table)
    train = encoding.encode(table)
    assert not any(rule.broken(train).any() for rule in parse_rules(rules, encoding, train))


def test_a_few_typing_errors_are_counted_and_many_refute():
    start, end = np.array(people()["start"]), np.array(people()["end"])

    def rules(wrong):
        broken = end.copy()
        broken[:wrong] = start[:wrong] - 5
        return inspect(read(pa.table({"start": start, "end": broken}))).rules

    assert [(rule.support, rule.broken) for rule in rules(1)] == [(ROWS - 1, 1)]
    assert rules(10) == ()


def test_unrelated_columns_give_no_rules():
    rng = np.random.default_rng(2)
    table = {f"x{i}": rng.normal(size=ROWS) for i in range(8)}
    table |= {f"c{i}": rng.choice(list("abcdefgh")[: i + 2], ROWS) for i in range(6)}
    table["high"] = rng.normal(size=ROWS) + 100  # above the others, and no rule is needed for that
    holes = rng.random(ROWS) < 0.2
    table["gaps"] = [None if hole else 1.0 + i for i, hole in enumerate(holes)]
    assert inspect(read(pa.table(table))).rules == ()


def test_the_proposed_plan_reads_back_and_fits_the_table(found):
    plan = Plan.from_toml(found.to_toml())
    assert plan == found.plan
    assert plan.rules == ()  # nobody has confirmed them
    plan.check(read(pa.table(people())).schema)
    assert plan.columns["id"] == {
        "kind": "identifier", "role": "identifier", "identifier": "surrogate"
    }  # fmt: skip
    assert plan.columns["story"]["text"] == "drop"


def test_no_value_of_a_cell_is_shown(found):
    shown = found.to_text() + json.dumps(found.to_json()) + "".join(found.warnings)
    for word in (
        "Cityville",
        "Regionia",
        "Name",
        "Only",
        "Peter",
        "P-0",
        "same\n",
        "many",
        "Mister",
    ):
        assert word not in shown.replace("nearly the same", ""), word


def test_estimates_add_up_and_grow_with_rows(found):
    assert found.total_seconds == pytest.approx(sum(found.seconds.values()))
    assert found.to_json()["estimate"]["megabytes"] == pytest.approx(
        found.total_megabytes, abs=0.01
    )
    once = pa.table(people())
    many = inspect(read(pa.concat_tables([once] * 20)))
    assert many.total_seconds > 2 * found.total_seconds
    assert many.megabytes["age"] == pytest.approx(20 * found.megabytes["age"])


@pytest.mark.parametrize("name", ["Alter", "Geschlecht", "codigo_postal", "zipCode", "NAISSANCE"])
def test_quasi_identifiers_in_several_languages(name):
    assert likely_quasi(name)


@pytest.mark.parametrize("name", ["page", "usage", "income", "statement", ""])
def test_other_words_are_not(name):
    assert not likely_quasi(name)


def test_the_built_in_table():
    found = inspect(read(outbreak()))
    assert facts(found)["longitude"].role.value == "location"
    assert not any("nearly the same" in line for line in found.warnings)


def test_small_tables_are_told_so():
    found = inspect(read(pa.table({f"c{i}": ["a", "b", "a"] for i in range(5)})))
    assert any("fewer than 50" in line for line in found.warnings)
    assert any("more columns (5) than rows (3)" in line for line in found.warnings)


def test_whose_row_it_is_and_when_are_proposed(panel):
    table = panel(100, longest=20)
    plain = read(table.data)
    found = inspect(plain)
    roles = {one.name: one.role.value for one in found.columns}
    assert roles["id"] == "group" and roles["day"] == "time"
    assert any("whose row each is" in warning for warning in found.warnings)
    assert found.plan.columns["id"] == {"kind": "category", "role": "group"}
    assert Plan.from_toml(found.to_toml()).columns["day"]["role"] == "time"
    # Without the name, or without repeats, nobody guesses.
    data = table.data.rename_columns(["town", *table.names[1:]])
    assert "group" not in {one.role.value for one in inspect(read(data)).columns}
    alone = read(panel(100, longest=1).data)
    assert "group" not in {one.role.value for one in inspect(alone).columns}


def test_a_key_of_few_values_tells_no_person(panel):
    table = panel(100, longest=20)
    site = pa.array([f"S{row % 5}" for row in range(table.rows)])
    data = table.data.drop_columns(["id"]).append_column("site_id", site)
    assert "group" not in {one.role.value for one in inspect(read(data)).columns}


def test_two_candidates_are_nobodys_guess(panel):
    data = panel(100, longest=20).data
    both = data.append_column("person", data["id"])
    assert "group" not in {one.role.value for one in inspect(read(both)).columns}
