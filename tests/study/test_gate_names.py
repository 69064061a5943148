"""A gate cannot pass by not being measured, nor by being misspelt."""

import numpy as np
import pyarrow as pa
import pytest

from understudy import api
from understudy.errors import PlanError
from understudy.plans.plan import Gates, Plan
from understudy.results import Verdict

TABLE = pa.table({"a": np.arange(120) % 7, "b": np.arange(120) % 3})
FIXED = {"min_leaf": 30}


@pytest.mark.parametrize(
    "plan",
    [
        Plan(settings=FIXED, measures=("closenes",)),
        Plan(settings=FIXED, gates=Gates(names=("imz",))),
        Plan(settings=FIXED, margins={"dcr.p5": 0.1}),
    ],
)
def test_unknown_names_are_refused(plan):
    with pytest.raises(PlanError, match="did you mean"):
        api.synthesize(TABLE, plan, seed=1)


def test_a_gate_that_is_not_measured_blocks():
    plan = Plan(settings=FIXED, measures=("closeness",), gates=Gates(names=("copies",)))
    (failed,) = api.synthesize(TABLE, plan, seed=1).findings.failed()
    assert failed.estimate.measure == "copies"
    assert failed.verdict is Verdict.NOT_MEASURED


def test_a_gate_without_its_columns_does_not_apply():
    plan = Plan(settings=FIXED, measures=("uniques",), gates=Gates(names=("uniques.replicated",)))
    findings = api.synthesize(TABLE, plan, seed=1).findings
    (gate,) = [item for item in findings.findings if item.gate]
    assert gate.verdict is Verdict.NOT_APPLICABLE and "quasi" in gate.estimate.note
    assert not findings.failed()
