"""Real and fictional tables: the default plan passes its own gates, and a copy never does."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.api import assess, read, synthesize
from understudy.plans.plan import Plan
from understudy.results import Verdict
from understudy.study.leaf import searched
from understudy.study.ledger import unlisted
from understudy.tables.outbreak import outbreak

RISKS = Plan(measures=("closeness", "nearer", "uniques", "copies", "likeness", "attribute"))


def fails(findings):
    return {f.estimate.measure for f in findings.failed() if f.verdict is Verdict.FAILS}


def statsmodels_table(name):
    datasets = pytest.importorskip("statsmodels.api", reason="statsmodels is not here").datasets
    return pa.Table.from_pandas(getattr(datasets, name).load_pandas().data, preserve_index=False)


@pytest.mark.parametrize("name", ["fair", "randhie"])
def test_the_default_plan_passes_its_own_gates(name, seed):
    table = statsmodels_table(name)
    rows = np.random.default_rng(1).choice(table.num_rows, min(table.num_rows, 1200), replace=False)
    study = synthesize(table.take(np.sort(rows)), RISKS, seed=seed)
    assert study.findings.failed() == ()


def test_the_outbreak_passes_its_own_gates(seed):
    from dataclasses import replace

    plan = replace(Plan.read("outbreak"), measures=RISKS.measures)
    rows = np.sort(np.random.default_rng(1).choice(6712, 1500, replace=False))
    assert synthesize(read(outbreak()).take(rows), plan, seed=seed).findings.failed() == ()


@pytest.mark.sweep
def test_the_whole_outbreak_passes_its_own_gates(seed):
    assert synthesize(outbreak(), "outbreak", seed=seed).findings.failed() == ()


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["adult", "smp2", "syc"])
def test_large_tables_pass_their_own_gates(data, name, seed):
    file = data / f"{name}.csv"
    if not file.is_file():
        pytest.skip(f"{file.name} is not here")
    assert synthesize(read(file), seed=seed).findings.failed() == ()


def arrays(name):
    rng = np.random.default_rng(90)
    if name == "one continuous column":
        return pa.table({"x": rng.normal(size=400)})
    if name == "one binary column":
        return pa.table({"b": rng.choice(["no", "yes"], 400)})
    if name == "five coarse columns":
        return pa.table({f"c{i}": rng.choice(["low", "mid", "high"], 400) for i in range(5)})
    return outbreak()


@pytest.mark.parametrize(
    "name", ["outbreak", "five coarse columns", "one continuous column", "one binary column"]
)
def test_a_copy_fails_by_name_with_a_holdout_or_without(name):
    table = read(arrays(name))
    half = table.rows // 2
    train, rest = table.take(np.arange(half)), table.take(np.arange(half, table.rows))
    found = assess(train, [train], plan=RISKS, seed=1, holdout=rest).findings
    assert fails(found) >= {"copies"}
    if name == "one continuous column":
        assert fails(found) >= {"ims", "dcr.share"}
    alone = assess(table, [table], plan=RISKS, seed=1).findings
    assert fails(alone) >= {"copies"} and fails(alone) <= {"copies", "likeness"}


@pytest.mark.parametrize("name", ["outbreak", "five coarse columns", "one continuous column"])
def test_a_fresh_draw_with_a_holdout_does_not_fail(name):
    # Three runs at no more than 5% each; the seeds are fixed.
    table = read(arrays(name))
    order = np.random.default_rng(91).permutation(table.rows)
    train, held, fresh = (table.take(np.sort(part)) for part in np.array_split(order, 3))
    study = assess(train, [fresh], plan=RISKS, seed=1, holdout=held)
    assert study.findings.failed() == ()


def test_assess_reports_the_confidence_it_used():
    table = read(arrays("one continuous column"))
    one, two = (
        assess(table, [table] * n, plan=RISKS, seed=1).findings.provenance["level"] for n in (1, 2)
    )
    assert one == pytest.approx(1 - 0.1 / 8) and two == pytest.approx(1 - 0.1 / 24)


def said_of_samples(study):
    return [item["did"] for item in study.findings.receipts if item["step"] == "sampled"]


def test_what_was_done_on_a_sample_is_said():
    rng = np.random.default_rng(4)
    table = pa.table({"a": rng.choice(["u", "v"], 1600), "b": rng.normal(size=1600)})
    settings = {"min_leaf": 20, "structure_rows": 1000}
    fast = Plan(settings=settings, measures=("copies",), calibrate=False)
    said = said_of_samples(synthesize(table, fast, seed=1))
    # Once, though two trees were.
    assert said == [
        "trees were grown on 1,000 of 1,200 rows of train, chosen at random; all rows are donors"
    ]
    whole = Plan(settings={"min_leaf": 20}, measures=("copies",), calibrate=False)
    assert said_of_samples(synthesize(table, whole, seed=1)) == []


def test_large_tables_say_what_the_search_and_the_ledger_leave_out():
    assert searched(40_000) == "" and "40,000 of 40,001 rows" in searched(40_001)
    assert unlisted(200_000) == "" and "200,000 rows" in unlisted(200_001)
