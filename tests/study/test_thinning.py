"""The filter's share: what it does to the law of kept rows, and what the search finds."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.api import read
from understudy.errors import PlanError
from understudy.evidence import points
from understudy.kernels.neighbours import nearest
from understudy.plans.plan import Plan
from understudy.plans.tuning import Tuning
from understudy.protect import DistanceFilter
from understudy.seeds import stream
from understudy.study import thinning as search
from understudy.study.maker import Maker, protect
from understudy.study.trial import Bench
from understudy.synth.cart import Cart
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import fit_encoding

STEP = DistanceFilter(columns="all", metric="typed", share="auto")


def sequence(leaf):
    model = Cart(min_leaf=leaf, bootstrap=False)
    return Sequential(
        (Visit(model, ("a",)), Visit(model, ("b",), ("a",)), Visit(model, ("c",), ("a", "b")))
    )


@pytest.fixture
def train():
    rng = stream(1, "thinning")
    a = rng.normal(size=1200).round(1)
    b = (a + rng.normal(size=1200)).round(1)
    c = rng.choice(["u", "v", "w"], 1200)
    table = read(pa.table({"a": a, "b": b, "c": c}))
    return fit_encoding(table).encode(table)


def nearer(inner, other, made):
    names = inner.names
    to, _ = nearest(points(inner, names), points(made, names), 1)
    fro, _ = nearest(points(other, names), points(made, names), 1)
    return np.where(to < fro, 1.0, (to == fro) / 2)[:, 0]


def test_the_share_found_balances_by_brute_force(train):
    """Filtered draws of halves, with √2 times the share for all rows: half are nearer."""
    found = search.thinning(STEP, sequence(15), train, seed=3)
    assert 0.0 < found.share < 1.0 and found.enough and found.nearer > 0.52
    closer = []
    for number in range(8):
        order = stream(3, "thinning", number % 3).permutation(train.rows)
        inner, other = train.take(order[:600]), train.take(order[600:])
        inner, other = (inner, other) if number % 2 else (other, inner)
        fitted = sequence(15).fit(inner, seed=3)
        made = fitted.sample(2400, seed=50 + number, replicate=1).block
        step = DistanceFilter(columns="all", metric="typed", share=found.share * 2**0.5)
        (kept,), _ = protect((step,), (made,), inner, Maker(fitted), seed=number)
        closer.append(nearer(inner, other, kept).mean())
    # 19,200 draws: a standard deviation of 0.0036, and the fits' own: false alarm below 1e-3.
    assert np.mean(closer) == pytest.approx(0.5, abs=0.015)


def test_where_all_are_equally_near_nothing_is_taken():
    """Two coarse columns: every pattern is in both halves, so no row is nearer to either."""
    rng = stream(2, "coarse")
    columns = {name: rng.choice(["u", "v"], 400) for name in "abc"}
    table = read(pa.table(columns))
    found = search.thinning(STEP, sequence(5), fit_encoding(table).encode(table), seed=4)
    assert found == search.Thinning(0.0, 0.5, enough=True)


def test_rows_learnt_by_heart_are_all_taken(train):
    """Leaves of one: what is near is taken, and the words say where that is not enough."""
    found = search.thinning(STEP, sequence(1), train, seed=5)
    assert found.share > 0.3
    assert search.Thinning(1.0, 0.7, enough=False).say(100_000).endswith("would not make up for it")


def test_more_leak_takes_more(train):
    shares = [search.thinning(STEP, sequence(leaf), train, seed=6).share for leaf in (5, 20, 600)]
    assert shares[0] > shares[1] > shares[2]


def test_settle_touches_auto_alone(train):
    fixed = DistanceFilter(columns="all", metric="typed", share=0.25)
    steps, said = search.settle((fixed, STEP), sequence(15), train, seed=3)
    assert steps[0] is fixed and isinstance(steps[1].share, float)
    assert len(said) == 1 and "1,200 of 1,200" in said[0]


def test_a_plan_that_is_tuned_needs_a_number(train):
    entry = {"do": "distance-filter", "columns": "all", "metric": "typed", "share": "auto"}
    plan = Plan(protections=(entry,))
    with pytest.raises(PlanError, match="a number, where a plan is tuned"):
        Bench.of(plan, Tuning(), train, seed=1)
