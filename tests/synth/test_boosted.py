"""Boosted draws: probabilities that add up, draws that follow them, and replicates that add up."""

from itertools import product

import numpy as np
import pytest

from understudy.seeds import stream
from understudy.synth.boosted import Boost
from understudy.tables.encode import Block

GIVEN = ("sex", "age")


def fit(block, column="grade", given=GIVEN, **settings):
    return Boost(**{"min_leaf": 10, **settings}).fit(block, (column,), given, rng=stream(1, "fit"))


@pytest.mark.parametrize("column", ["grade", "income"])
def test_probabilities_of_all_codes_add_up(make, column):
    block = make.encoded(make.mixed(rows=400))
    model, width = fit(block, column), block.encoding[column].width
    known = block.select(GIVEN).take(np.arange(5))
    total = np.zeros(5)
    for code in range(width):
        codes = np.full(5, code, dtype=np.int32)
        low, high = model._parts(known.join(Block(block.encoding, 5, {column: codes}, {})))
        total += high - low
    assert total == pytest.approx(np.ones(5))


def test_draws_have_the_model_s_shares(make):
    block = make.encoded(make.mixed(rows=400))
    model = fit(block)
    one = block.select(GIVEN).take(np.zeros(20_000, dtype=np.int64))
    drawn = np.bincount(model.sample(one, rng=stream(2)).codes["grade"], minlength=9) / 20_000
    for code in np.flatnonzero(drawn):
        codes = np.full(1, code, dtype=np.int32)
        row = one.take(np.array([0])).join(Block(block.encoding, 1, {"grade": codes}, {}))
        p = float(np.exp(model.log_density(row))[0])
        # 4.5 standard deviations: false alarm below 1e-4 in all.
        assert abs(drawn[code] - p) < 4.5 * np.sqrt(p * (1 - p) / 20_000) + 1e-9


def test_spread_replicates_have_the_probability_they_say(make):
    """Three rows, all outcomes, 1,000 replicates: shares against exp(log_prob), which sums to 1."""
    block = make.encoded(make.levels(x=["a", "b", "b"] * 40, y=["u", "v", "w"] * 40))
    model = Boost(spread=3, min_leaf=10, rounds=5).fit(block, ("y",), ("x",), rng=stream(1))
    known, rng, repeats = block.select(("x",)).take(np.arange(3)), stream(2), 1_000
    size = block.encoding["y"].size
    seen = np.zeros((size,) * 3)
    for _ in range(repeats):
        seen[tuple(model.sample(known, rng=rng).codes["y"])] += 1
    total = 0.0
    for outcome in product(range(size), repeat=3):
        codes = {"y": np.array(outcome, dtype=np.int32)}
        p = float(np.exp(model.log_prob(known.join(Block(block.encoding, 3, codes, {})))))
        total += p
        # 27 outcomes, 4.5 SDs each: false alarm below 2e-4 in all.
        assert abs(seen[outcome] / repeats - p) <= 4.5 * np.sqrt(p * (1 - p) / repeats) + 1e-9
    assert total == pytest.approx(1.0)


def test_relations_are_learnt(make):
    """A level that follows another nine times in ten still does."""
    rng = stream(3)
    x = rng.integers(0, 3, 3000)
    y = np.where(rng.random(3000) < 0.9, x, rng.integers(0, 3, 3000))
    names = np.array(["a", "b", "c"])
    block = make.encoded(make.levels(x=names[x].tolist(), y=names[y].tolist()))
    for spread in (1, 600):
        model = fit(block, "y", ("x",), rounds=60, spread=spread)
        drawn = block.encoding.decode(
            block.select(("x",)).join(model.sample(block.select(("x",)), rng=stream(4)))
        )
        first, second = (np.array(drawn.column(name).to_pylist()) for name in ("x", "y"))
        same = (first == second).mean()
        # 0.933 in train; a draw's standard deviation is 0.005, and the model shrinks a little.
        assert 0.90 < same < 0.96


def test_spread_counts_are_nearer_to_what_is_expected(make):
    block = make.encoded(make.mixed(rows=600))
    given = block.select(GIVEN)
    errors = {}
    for spread in (1, 600):
        model = fit(block, spread=spread)
        counts = [
            np.bincount(model.sample(given, rng=stream(5, r)).codes["grade"], minlength=9)
            for r in range(40)
        ]
        errors[spread] = np.std(counts, axis=0).max()
    assert errors[600] < errors[1] / 4
