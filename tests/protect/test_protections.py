"""One contract for every protection, and what redrawing replicated uniques does."""

import numpy as np
import pyarrow as pa
import pytest

from understudy import api
from understudy.errors import PlanError
from understudy.evidence import row_numbers
from understudy.kernels.rows import hits_unique
from understudy.plans.plan import Plan
from understudy.protect import PROTECTIONS
from understudy.study.maker import Maker
from understudy.synth.cart import Cart
from understudy.synth.sequence import Sequential, Visit
from understudy.tables.encode import fit_encoding
from understudy.tables.read import read


@pytest.fixture
def made(seed):
    """Train with unique people, a synthesizer with tiny leaves, and one replicate."""
    rng = np.random.default_rng(seed)
    table = read(
        pa.table(
            {
                "a": rng.integers(0, 9, 300),
                "b": rng.choice(list("uvwxyz"), 300),
                "c": rng.integers(0, 5, 300),
            }
        ),
        schema_changes={
            "a": {"role": "quasi"},
            "b": {"role": "quasi"},
            "c": {"role": "sensitive"},
        },
    )
    train = fit_encoding(table).encode(table)
    visits = [Visit(Cart(min_leaf=1), (n,), tuple("abc"[:i])) for i, n in enumerate("abc")]
    fitted = Sequential(tuple(visits)).fit(train, seed=seed)
    return train, Maker(fitted), fitted.sample(400, seed=seed, replicate=1).block


def same(one, two):
    return all(np.array_equal(one.codes[n], two.codes[n]) for n in one.names)


@pytest.mark.parametrize("name", PROTECTIONS)
def test_contract(name, made):
    train, maker, replicate = made
    step = PROTECTIONS[name].from_settings("protections[0]", {})
    before = {n: codes.copy() for n, codes in replicate.codes.items()}
    first, receipt = step.apply(replicate, train, maker, rng=np.random.default_rng(1))
    again, _ = step.apply(replicate, train, maker, rng=np.random.default_rng(1))
    assert same(first, again)
    assert first.rows == replicate.rows + receipt.added and first.names == replicate.names
    assert all(np.array_equal(before[n], replicate.codes[n]) for n in before)
    assert receipt.protection == name and receipt.to_json()["dropped"] == receipt.dropped
    nobody = replicate.take(slice(0, 0))
    assert step.apply(nobody, train, maker, rng=np.random.default_rng(1))[0].rows == 0
    with pytest.raises(PlanError, match=r"protections\[0\]\.colour"):
        PROTECTIONS[name].from_settings("protections[0]", {"colour": 1})


@pytest.mark.parametrize("columns", ["quasi", "all", ["b", "a", "c"]])
def test_no_unique_person_is_shown(columns, made):
    train, maker, replicate = made
    step = PROTECTIONS["replicated-uniques"].from_settings("p", {"columns": columns})
    keys = step.keys(train)

    def shown(block):
        mine, theirs = row_numbers([train, block], keys)
        return hits_unique(mine, theirs)

    good, receipt = step.apply(replicate, train, maker, rng=np.random.default_rng(1))
    bad = shown(replicate).astype(bool)
    assert receipt.dropped == bad.sum() > 0
    assert receipt.left == shown(good).sum() == 0
    untouched = np.flatnonzero(~bad)
    assert same(replicate.take(untouched), good.take(untouched))


def test_what_is_left_is_counted(made):
    train, maker, replicate = made
    step = PROTECTIONS["replicated-uniques"].from_settings("p", {"columns": "all", "rounds": 1})
    good, receipt = step.apply(replicate, train, maker, rng=np.random.default_rng(1))
    mine, theirs = row_numbers([train, good], train.names)
    assert receipt.left == hits_unique(mine, theirs).sum() > 0


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"do": "magic"}, r"protections\[0\]\.do: got 'magic'"),
        ({"do": "replicated-uniques", "columns": "some"}, r"columns: got 'some'"),
        ({"do": "replicated-uniques", "columns": ["nowhere"]}, "nowhere"),
        ({"do": "replicated-uniques", "rounds": 0}, "rounds: got 0"),
    ],
)
def test_mistakes_are_named(entry, message):
    table = pa.table({"a": np.arange(80) % 7, "b": np.arange(80) % 3})
    plan = Plan(protections=(entry,), settings={"min_leaf": 20})
    with pytest.raises(PlanError, match=message):
        api.synthesize(table, plan, seed=1)


def test_kept_columns_cannot_be_redrawn():
    table = pa.table({"a": np.arange(80) % 7, "b": np.arange(80) % 3})
    plan = Plan(
        columns={"a": {"role": "keep"}},
        protections=({"do": "replicated-uniques"},),
        settings={"min_leaf": 20},
    )
    with pytest.raises(PlanError, match="since columns are kept"):
        api.synthesize(table, plan, seed=1)


def test_the_walk_leaves_a_receipt():
    table = pa.table({"a": np.arange(200) % 37, "b": np.arange(200) % 11})
    plan = Plan(
        protections=({"do": "replicated-uniques", "columns": "all"},),
        settings={"min_leaf": 20},
        replicates=2,
        measures=("copies",),
        gates=Plan().gates.__class__(names=("copies",)),
    )
    receipts = api.synthesize(table, plan, seed=1).findings.receipts
    assert [item["replicate"] for item in receipts if item["step"] == "protect"] == [1, 2]
