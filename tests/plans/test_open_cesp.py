"""The plan open-cesp: any table, with or without statements about its columns."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from understudy.plans.plan import Plan, shipped_plans
from understudy.study.walk import run
from understudy.tables.outbreak import outbreak
from understudy.tables.read import read

PAGE = (Path(__file__).parents[2] / "docs" / "plans.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r'```text\n(name = "prison".+?)```', PAGE, re.S)[1]


def quick(plan):
    return replace(plan, measures=("copies",), calibrate=False)


def receipts(study):
    return {r["protection"]: r for r in study.findings.receipts if r["step"] == "protect"}


def test_it_ships_with_the_steps_of_the_paper():
    assert "open-cesp" in shipped_plans()
    plan = Plan.read("open-cesp")
    assert (plan.model, plan.order) == ("cart", "table")
    assert (plan.settings["min_leaf"], plan.settings["min_split"]) == (33, 100)
    assert [step["do"] for step in plan.protections] == ["distance-filter", "noise"]


def test_the_filter_takes_the_roles_of_the_outbreak():
    rows = np.linspace(0, 6711, 600).astype(np.int64)
    study = run(read(outbreak().take(rows)), quick(Plan.read("open-cesp")), seed=2**90 + 1)
    did = receipts(study)
    assert "longitude" in did["distance-filter"]["note"] and did["distance-filter"]["dropped"] > 0
    assert did["noise"]["note"] == "no column has a stated population"
    assert study.tables[0].rows == 600


def test_a_table_without_roles_passes_unfiltered():
    table = pa.table({"level": ["a", "b", "c"] * 100, "size": np.arange(300) % 7})
    did = receipts(run(read(table), quick(Plan.read("open-cesp")), seed=2**90 + 2))
    assert did["distance-filter"]["note"] == "no column has the role quasi or location"


def test_the_example_of_the_page_is_a_plan():
    plan = Plan.from_toml(EXAMPLE)
    assert set(plan.measure) == {"ecap", "gtcap", "linkability", "estimate"}
    assert [step["do"] for step in plan.protections] == ["distance-filter", "noise"]


def test_the_example_of_the_page_runs_on_the_table_of_the_paper(data):
    table = read(data / "smp2.csv")
    did = receipts(run(table, quick(Plan.from_toml(EXAMPLE)), seed=2**90 + 3))
    assert did["distance-filter"]["dropped"] > 0 and len(did["noise"]["public"]) == 3
