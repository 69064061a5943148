"""What NOTE.md tells analysts: the factor by which variances computed from synthetic rows grow."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from understudy import api
from understudy.note import _PREPARED, inflation
from understudy.plans.plan import Plan
from understudy.synth import MODELS
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.prepare import STEPS


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize(("rows", "m"), [(80, 1), (300, 1), (120, 3)])
def test_the_factor_is_the_variance_that_estimates_have(make, bootstrap, rows, m):
    """A share estimated from m tables of k rows, over 600 tables; 17% is three errors."""
    rng = np.random.default_rng([1, bootstrap, rows, m])
    learnt, share = 120, 0.4
    visit = Visit(MODELS["marginal"](bootstrap=bootstrap), ("a",))
    found, shown = [], []
    for number in range(600):
        people = rng.random(learnt) < share
        block = make.encoded(make.levels(a=np.where(people, "yes", "no").tolist()))
        fitted = Sequential((visit,)).fit(block, seed=number)
        code = block.encoding["a"].levels.index("yes")
        shares = [
            float((fitted.sample(rows, seed=number, replicate=j).block.codes["a"] == code).mean())
            for j in range(1, m + 1)
        ]
        found.append(np.mean(shares))
        shown.append(np.mean([s * (1 - s) / rows for s in shares]))
    factor = np.var(found) / np.mean(shown)
    assert factor == pytest.approx(inflation(rows, learnt, m, drawn=bootstrap), rel=0.17)


PLAN = """
measures = ["copies"]
calibrate = false
gates.names = ["copies"]
synthesis.replicates = 2
synthesis.min_leaf = 30
columns.kind.role = "quasi"
prepare = [
  {do = "top_code", column = "age", at = 77},
  {do = "merge_rare", column = "kind", fewer_than = 10, into = "other"},
  {do = "drop", columns = ["spare"]},
]
protections = [{do = "replicated-uniques"}]
rules = [{kind = "order", low = "late", high = "early", strict = true}]
"""


def people(rows=300):
    rng = np.random.default_rng(8)
    early = rng.integers(0, 50, rows)
    kind = ["zebra" if place < 3 else "abcd"[place % 4] for place in range(rows)]
    data = {"age": rng.integers(0, 90, rows), "kind": kind, "spare": rng.normal(size=rows)}
    return pa.table({**data, "early": early, "late": early + 60 + rng.integers(0, 9, rows)})


def test_the_note_tells_every_step_and_no_value(tmp_path, command):
    (tmp_path / "p.toml").write_text(PLAN)
    outcome = api.release(people(), tmp_path / "out", tmp_path / "p.toml", jobs=1)
    text = (tmp_path / "out" / "release" / "NOTE.md").read_text()
    assert "`age`: numbers above a threshold were set to it" in text
    assert "`kind`: rare levels were merged" in text and "`spare`: left out" in text
    assert "1 rule of logic restricted" in text and "`replicated-uniques` took out" in text
    assert "zebra" not in text and "77" not in text
    # No late number is below an early one: no draw can meet the rule, and everybody is told.
    assert "rows of synthetic table 2 break a rule" in text
    assert len(outcome.notes) == 2 and "table 1 break a rule" in outcome.notes[0]
    pa.csv.write_csv(people(), tmp_path / "t.csv")
    ran = command("release", tmp_path / "t.csv", "--plan", tmp_path / "p.toml", "--out",
                  tmp_path / "two", "--jobs", 1)  # fmt: skip
    assert ran.status == 0 and ran.err.count("note: ") == 2


def test_a_plain_note_tells_of_no_steps(tmp_path):
    plan = Plan.from_toml(PLAN.split("prepare", maxsplit=1)[0])
    outcome = api.release(people(), tmp_path / "out", plan, jobs=1)
    text = (tmp_path / "out" / "release" / "NOTE.md").read_text()
    assert outcome.notes == () and "rule" not in text and "before anything" not in text


def test_every_step_has_words_in_the_note():
    assert set(_PREPARED) == set(STEPS)


@pytest.mark.parametrize(("how", "words"), [("drop", "were left out"), ("swap", "were exchanged")])
def test_the_note_says_what_became_of_outliers(how, words, tmp_path):
    text = PLAN.split("prepare", maxsplit=1)[0] + "[[prepare]]\n"
    text += f'do = "outliers"\ncolumns = ["age"]\nquantile = 0.95\nhow = "{how}"\n'
    api.release(people(), tmp_path / "out", Plan.from_toml(text), jobs=1)
    note = (tmp_path / "out" / "release" / "NOTE.md").read_text()
    assert "`age`: " in note and words in note


VISITS = """
[columns]
id.role = "group"
day.role = "time"
[synthesis]
min_leaf = 40
replicates = 2
"""


def test_the_note_tells_that_rows_of_a_person_stay_together(tmp_path, panel, command):
    table = panel(200, longest=20)
    pa.csv.write_csv(table.data, tmp_path / "panel.csv")
    (tmp_path / "p.toml").write_text(VISITS)
    ran = command("release", tmp_path / "panel.csv", "--plan", tmp_path / "p.toml", "--out",
                  tmp_path / "out", "--jobs", 1)  # fmt: skip
    assert ran.status == 0, ran.err
    text = (tmp_path / "out" / "release" / "NOTE.md").read_text()
    assert "Rows with the same `id` belong to one person, who is made up" in text
    assert "in the order of `day`" in text and "`sex`, `birth`, which never change" in text
    assert "errors clustered by `id`" in text and "`id` holds fresh" in text
    assert "for k = 200 people in a file, n = 150 people learnt from" in text
    # No identifier of the confidential table is in anything that is released.
    real = set(table.column("id").to_pylist())
    for number in (1, 2):
        made = pa.csv.read_csv(tmp_path / "out" / "release" / f"synthetic-{number}.csv")
        assert len(set(made["id"].to_pylist())) == 200
        assert not real & set(made["id"].to_pylist())
    assert not any(name in text for name in real)
    report = (tmp_path / "out" / "private" / "report.html").read_text()
    assert "people of train: 150" in report and "rows of 150 people" in report
    ran = command("verify", tmp_path / "out")
    assert ran.status == 0, ran.err
    wrong = '[columns]\nid.role = "group"\nsex.role = "keep"'
    (tmp_path / "q.toml").write_text(wrong)
    ran = command("release", tmp_path / "panel.csv", "--plan", tmp_path / "q.toml", "--out",
                  tmp_path / "bad", "--jobs", 1)  # fmt: skip
    assert ran.status == 2 and "columns.sex.role" in ran.err and not (tmp_path / "bad").exists()
