"""The section ``[tune]``: read, written, refused; columns by kind."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy.api import read, synthesize
from understudy.errors import PlanError
from understudy.plans.plan import Plan, VisitPlan, shipped_plans
from understudy.plans.tuning import Tuning
from understudy.tables.encode import fit_encoding

FREE = {"column": "age", "setting": "min_leaf", "low": 2, "high": 90, "log": True}


def test_a_plan_without_the_section_has_none():
    assert Plan().tune is None and "[tune]" not in Plan().to_toml()


def test_the_section_survives_toml():
    ceiling = {"measure": "dcr.share", "most": 0.51}
    tuning = Tuning(free=[FREE], objective="pmse.logit", target="holdout", ceiling=ceiling)
    plan = Plan(tune=tuning)
    assert Plan.from_toml(plan.to_toml()) == plan
    assert Plan.from_toml("[tune]").tune == Tuning()
    assert plan.sha256 != Plan().sha256


@pytest.mark.parametrize(
    "text, key",
    [
        ("tune = 3", "tune"),
        ("tune.trails = 3", "tune.trails"),
        ("tune.trials = 0", "tune.trials"),
        ("tune.batch = 1.5", "tune.batch"),
        ("tune.minutes = 0", "tune.minutes"),
        ("tune.minutes = nan", "tune.minutes"),
        ("tune.free = 'all'", "tune.free"),
        ("tune.free = []", "tune.free"),
        ("tune.free = [{setting = 'min_leaf', low = 2}]", "tune.free[0].high"),
        ("tune.free = [{setting = 'min_leaf', low = 9, high = 3}]", "tune.free[0].high"),
        ("tune.free = [{setting = 'C', low = 0, high = 3, log = true}]", "tune.free[0].low"),
        ("tune.free = [{setting = 'C', low = inf, high = 3}]", "tune.free[0].low"),
        ("tune.free = [{setting = 'C', low = 1, high = 3, lgo = true}]", "tune.free[0].lgo"),
        ("tune.goal = 'least'", "tune.goal"),
        ("tune.discriminator = 'forest'", "tune.discriminator"),
        ("tune.against = 'holdout'", "tune.against"),
        ("tune.swap = 1", "tune.swap"),
        ("tune.replicates = 3", "tune.replicates"),
        ("tune.ceiling = 0.5", "tune.ceiling"),
        ("tune.ceiling = {measure = 'ims'}", "tune.ceiling.most"),
        ("tune.ceiling = {measure = 'ims', most = nan}", "tune.ceiling.most"),
    ],
)
def test_what_is_wrong_is_named(text, key):
    with pytest.raises(PlanError) as caught:
        Plan.from_toml(text)
    assert caught.value.key == key


@pytest.fixture
def encoding():
    many = [x / 7 for x in range(400)]
    data = {
        "weight": many,
        "height": many[::-1],
        "children": [x % 4 for x in range(400)],
        "sex": ["f", "m"] * 200,
        "kept": many,
    }
    plan = Plan(columns={"kept": {"role": "keep"}})
    return fit_encoding(read(pa.table(data), plan=plan))


def test_numbers_are_the_continuous_columns_that_nobody_names(encoding):
    mixture = VisitPlan("mixture", ("@numbers",))
    first = Plan(visits=(mixture,)).visits_for(encoding)
    assert [v.columns for v in first if v.model.name == "mixture"] == [("weight", "height")]
    named = Plan(visits=(mixture, VisitPlan("cart", ("height",)))).visits_for(encoding)
    assert [v.columns for v in named if v.model.name == "mixture"] == [("weight",)]


def test_a_table_without_continuous_columns_has_no_such_visit(encoding):
    names = ["children", "sex"]
    table = read(pa.table({"children": [1, 2] * 50, "sex": ["f", "m"] * 50}))
    visits = Plan.read("bale-quick").visits_for(fit_encoding(table))
    assert sorted(name for visit in visits for name in visit.columns) == names
    assert {visit.model.name for visit in visits} == {"cart"}


def test_selectors_are_checked():
    schema = read(pa.table({"sex": ["f", "m"] * 50})).schema
    Plan(visits=(VisitPlan("mixture", ("@numbers",)),)).check(schema)
    with pytest.raises(PlanError, match="@number"):
        Plan(visits=(VisitPlan("mixture", ("@number",)),)).check(schema)
    with pytest.raises(PlanError, match="one visit"):
        Plan(visits=(VisitPlan("mixture", ("@numbers",)),) * 2).check(schema)


def test_both_plans_of_bale_and_quick_ship():
    assert {"bale-quick", "bale-quick-mnl"} <= set(shipped_plans())
    for name in ("bale-quick", "bale-quick-mnl"):
        assert Plan.read(name).tune is not None and Plan.read(name).name == name
        assert [step["do"] for step in Plan.read(name).protections] == ["inference-prevention"]


@pytest.mark.parametrize("role", ["sensitive", "other"])
def test_prevention_ships_and_asks_for_sensitive_columns(role):
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "sex": rng.choice(["f", "m"], 300),
            "age": rng.normal(50, 9, 300).round(1),
            "ill": rng.choice(["no", "yes"], 300, p=[0.96, 0.04]),
        }
    )
    roles = {"sex": {"role": "quasi"}, "age": {"role": "quasi"}, "ill": {"role": role}}
    plan = replace(Plan.read("bale-quick"), columns=roles, measures=("copies",), calibrate=False)
    plan = replace(plan, settings={"min_leaf": 20})
    study = synthesize(table, plan, seed=1)
    (receipt,) = [one for one in study.findings.receipts if one["step"] == "protect"]
    if role == "other":
        assert "no column of role sensitive" in receipt["note"]
    else:
        assert receipt["largest ratio of ill after"] <= 10
