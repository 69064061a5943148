"""Estimates of several tables as one: the rule comes from how they were made."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import understudy
from understudy import InputError, Plan, combine
from understudy.combining import _rule_of
from understudy.kernels.combine import RULES


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], 300)
    grade = rng.choice(["a", "b", "c"], 300)
    return pa.table({"sex": sex, "grade": grade, "age": rng.integers(20, 60, 300)})


LEAF = "[synthesis]\nmin_leaf = 20\n"
PLANS = {
    "proper": LEAF,
    "simple": '[synthesis]\nmodel = "multinomial"\n[columns.age]\nkind = "category"',
    "partial": LEAF + '[columns.sex]\nrole = "keep"',
}


@pytest.mark.parametrize("rule, text", PLANS.items())
def test_the_study_and_its_plan_know_the_rule(table, rule, text):
    plan = Plan.from_toml('measures = ["copies"]\ncalibrate = false\n' + text)
    plan = replace(plan, replicates=2)
    study = understudy.synthesize(table, plan, seed=1)
    found = combine([1.0, 2.0], [0.5, 0.5], study)
    assert found.rule == rule == _rule_of(plan)
    share = study.tables[0].rows / study.findings.tables["train"]["rows"]
    if rule != "partial":  # 300 rows learnt from 225
        assert share == pytest.approx(4 / 3)
        again = combine([1.0, 2.0], [0.5, 0.5], plan)
        assert float(again.error) == pytest.approx(float(found.error))
    assert float(combine([1, 2], [0.5, 0.5], rule, share=share).error) == float(found.error)


def test_rows_of_estimates_are_combined_each_on_its_own():
    q, u = np.array([[1.0, 5.0], [3.0, 5.5]]), np.array([[1.0, 0.1], [2.0, 0.2]])
    for rule in RULES:
        both = combine(q, u, rule)
        for k in range(2):
            one = combine(q[:, k], u[:, k], rule)
            for name in ("estimate", "error", "low", "high", "degrees"):
                assert getattr(both, name)[k] == pytest.approx(float(getattr(one, name)))
        assert np.all(both.low < both.estimate) and rule in both.rule


def test_a_negative_variance_is_said():
    assert "negative for 1" in combine([1.0, 1.0], [1.0, 1.0], "full").note


@pytest.mark.parametrize(
    "arguments, settings, said",
    [
        (([1.0], [0.1], "partial"), {}, "at least two"),
        (([1.0, 2.0], [0.1]), {}, "one error for each"),
        (([], []), {}, "one entry"),
        ((["a"], [1.0]), {}, "must be numbers"),
        (([1.0], [-1.0]), {}, "not negative"),
        (([np.nan], [1.0]), {}, "finite"),
        (([1.0], [1.0]), {"level": 95}, "between 0 and 1"),
        (([1.0], [1.0]), {"share": 0.0}, "positive"),
        (([1.0], [1.0], "no-such-rule"), {}, "plan"),
    ],
)
def test_wrong_input_is_one_sentence(arguments, settings, said):
    with pytest.raises(InputError, match=said):
        combine(*arguments, **settings)


def test_tables_made_elsewhere_need_a_rule(table):
    study = understudy.assess(table, [table], plan=Plan(measures=("copies",)), seed=1)
    with pytest.raises(InputError, match="made elsewhere"):
        combine([1.0], [1.0], study)
