"""Kept columns, strata and settings of measures, through the whole walk on a small table."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.api import read, synthesize
from understudy.errors import PlanError, TableError
from understudy.plans.plan import Plan

SMALL = 'calibrate = false\nmeasures = ["copies"]\ngates.names = ["copies"]\n'


def people(rows=200):
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], rows)
    return pa.table(
        {
            "sex": sex,
            "age": rng.integers(0, 90, rows),
            "ill": rng.choice(["no", "yes"], rows, p=[0.9, 0.1]),
            "pay": np.round(rng.lognormal(3, 1, rows) + 5 * (sex == "f"), 2),
        }
    )


def study(text):
    return synthesize(people(), Plan.from_toml(SMALL + text), seed=3, jobs=1)


KEPT = '[[visits]]\nmodel = "keep"\ncolumns = ["sex"]\n'
ROLE = '[columns.sex]\nrole = "keep"\n'
BY_SEX = '[[visits]]\nmodel = "cart"\ncolumns = ["pay"]\nstrata = "sex"\n'


@pytest.mark.parametrize("how", [KEPT, ROLE, ROLE + BY_SEX, KEPT + BY_SEX])
def test_kept_columns_and_the_search_for_the_leaf(how):
    made = study(how)
    assert made.findings.provenance["leaf"]["trials"]  # the search ran, without the kept column
    given = read(people())
    kept = made.tables[0].column("sex").to_pylist()
    assert len(kept) == 150 and set(kept) == {"f", "m"}
    whole = {tuple(row.values()) for row in pa.table(given).to_pylist()}
    assert not whole & {tuple(row.values()) for row in pa.table(made.tables[0]).to_pylist()}


def test_a_table_of_which_all_is_kept_is_refused():
    roles = "".join(f'[columns.{name}]\nrole = "keep"\n' for name in people().column_names)
    with pytest.raises(TableError, match="every column is kept"):
        study(roles)


@pytest.mark.parametrize(
    "gone",
    ['[columns.sex]\nrole = "identifier"\n', '[[prepare]]\ndo = "drop"\ncolumns = ["sex"]\n'],
)
@pytest.mark.parametrize("key", ["split", "visits"])
def test_strata_that_are_left_out_are_named(gone, key):
    strata = '[split]\nstrata = "sex"\n' if key == "split" else BY_SEX
    with pytest.raises(PlanError, match=rf"{key}.*strata: got 'sex'.*left out"):
        study(gone + strata)


@pytest.mark.parametrize(
    "setting",
    [
        "pmse.rows = -1",
        "pmse.rows = 10",
        "pmse.permutations = 0",
        "likeness.rows = 2",
        "likeness.terms = 0",
        'attribute.c = "x"',
        "attribute.c = 0.5",
        "attribute.c = inf",
        "attribute.deltas = []",
        "attribute.deltas = 0.1",
        "attribute.deltas = [-1]",
        "attribute.deltas = [0.5, 0.1]",
    ],
)
def test_settings_of_measures_are_checked_before_any_work(setting):
    plan = Plan.from_toml(f"measure.{setting}")
    key = setting.split(" ")[0].replace(".", r"\.")
    with pytest.raises(PlanError, match=rf"measure\.{key}: got "):
        synthesize(people(), plan, seed=1, progress=pytest.fail)


@pytest.mark.parametrize("role", ["sensitive", "quasi", "location"])
def test_a_column_that_the_plan_asks_after_is_not_dropped_in_silence(role):
    """300 words for 300 people read as free text, which is dropped."""
    data = people(300).append_column("word", [[f"canary{i}" for i in range(300)]])
    with pytest.raises(PlanError, match=r"columns\.word\.role.*kind = \"category\"") as caught:
        synthesize(data, Plan(columns={"word": {"role": role}}), seed=1, jobs=1)
    assert "canary" not in str(caught.value)
    said = f'[columns.word]\nrole = "{role}"\nkind = "text"\n'
    made = synthesize(data, Plan.from_toml(SMALL + said), seed=1, jobs=1)
    assert "word" not in made.tables[0].names
