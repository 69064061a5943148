"""What each bound costs: a sweep over c."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy import api
from understudy.plans.plan import Plan
from understudy.protect import InferencePrevention
from understudy.protect.inference_prevention import likeness
from understudy.seeds import child, stream
from understudy.study.maker import Maker
from understudy.study.sweep import sweep
from understudy.synth.cart import Cart
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import fit_encoding
from understudy.tables.read import read


def people(seed, rows=250):
    rng = np.random.default_rng(seed)
    place = rng.normal(size=rows)
    ill = np.where(rng.random(rows) < 0.1, "yes", "no")
    return pa.table({"place": place, "sex": rng.choice(["f", "m"], rows), "ill": ill})


ROLES = {"place": {"role": "location"}, "sex": {"role": "quasi"}, "ill": {"role": "sensitive"}}


def test_smaller_bounds_cost_more_rows_and_every_bound_is_met():
    table = read(people(1), schema_changes=ROLES)
    train = fit_encoding(table).encode(table)
    names = ("sex", "ill", "place")
    visits = [Visit(Cart(min_leaf=5), (n,), names[:i]) for i, n in enumerate(names)]
    fitted = Sequential(tuple(visits)).fit(train, seed=1)
    drawn = fitted.sample(250, seed=1, replicate=1).block
    step = InferencePrevention(c=5.0, rounds=10)
    found = sweep(step, [2.0, 5.0, 3.0, 1.0], drawn, train, Maker(fitted), seed=1)
    assert [point["c"] for point in found] == [None, 5.0, 3.0, 2.0, 1.0]
    assert found[0]["added"] == 0 and found[0]["ratio"]["ill"] > 5
    assert found[-1] == {"c": 1.0, "refused": True}
    met = found[1:-1]
    assert all(point["ratio"]["ill"] <= point["c"] for point in met)
    added = [point["added"] for point in met]
    assert added == sorted(added) and 0 < added[0] < added[-1]
    assert all(point["pmse"] > 0 for point in met)
    for point in met:
        alone = replace(step, c=point["c"]).relieve(
            drawn, train, Maker(fitted), rng=stream(1, "sweep")
        )
        assert point["added"] == alone.rows.rows - 250 and point["rounds"] == alone.rounds
        assert point["pmse"] == likeness(train, alone.rows, child(1, "sweep", "pmse"))
    again = sweep(step, [2.0, 5.0, 3.0, 1.0], drawn, train, Maker(fitted), seed=1)
    assert again == found


@pytest.mark.parametrize("asked", [True, False])
def test_the_plan_asks_for_it(asked):
    entry = {"do": "inference-prevention", "c": 4.0} | ({"sweep": [8.0]} if asked else {})
    plan = Plan(
        columns=ROLES, protections=(entry,), settings={"min_leaf": 20}, measures=("attribute",)
    )
    study = api.synthesize(people(2), plan, seed=1, jobs=1)
    assert ("prevention" in study.summaries) is asked
    (receipt,) = [item for item in study.findings.receipts if item["step"] == "protect"]
    assert study.tables[0].rows == 250 + receipt["added"]
    if asked:
        (found,) = study.summaries["prevention"]
        points = {point["c"]: point for point in found["points"]}
        assert set(points) == {None, 8.0, 4.0} and found["c"] == 4.0
        assert points[None]["ratio"]["ill"] == receipt["largest ratio of ill before"]


def test_a_sweep_starts_from_the_table_as_its_step_finds_it():
    first, second = ({"do": "inference-prevention", "c": c} for c in (4.0, 2.5))
    plan = Plan(
        columns=ROLES,
        protections=(first, second | {"sweep": [3.0]}),
        settings={"min_leaf": 20},
        measures=("attribute",),
    )
    study = api.synthesize(people(2), plan, seed=1, jobs=1)
    before = [r["largest ratio of ill before"] for r in study.findings.receipts
              if r["step"] == "protect"]  # fmt: skip
    assert before[0] > 4 >= before[1] > 2.5
    (found,) = study.summaries["prevention"]
    assert found["c"] == 2.5 and found["points"][0]["ratio"]["ill"] == before[1]
