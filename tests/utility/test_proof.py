"""Each measure of usefulness sees what it is for, and does not see what is not there."""

import numpy as np
import pytest
from scipy.special import ndtr

from understudy.results import Verdict
from understudy.tables.encode import Block

FAILS = Verdict.FAILS
ALL = ("marginals", "pairs", "pmse")


def permuted(world):
    """Train with every column shuffled on its own."""
    order = {name: world.rng.permutation(world.train.rows) for name in world.train.names}
    codes = {name: codes[order[name]] for name, codes in world.train.codes.items()}
    values = {name: values[order[name]] for name, values in world.train.values.items()}
    return Block(world.encoding, world.train.rows, codes, values)


def shifted(world):
    """A fresh draw of which every number is 0.7 standard deviations too large."""
    block = world.draw(world.train.rows)
    values = {n: v + 0.7 * world.encoding[n].sd for n, v in block.values.items()}
    codes = {n: world.encoding[n].cells.of(v) for n, v in values.items()}
    return Block(world.encoding, block.rows, {**block.codes, **codes}, values)


def failed(world, *release, **settings):
    found = world.findings(*release, measures=ALL, **settings)
    return {key for key, item in found.items() if item.verdict is FAILS}


@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse"])
@pytest.mark.parametrize("seed", range(2))
def test_a_fresh_draw_does_not_fail(people, process, seed):
    # Each interval errs at 1.7% (the gates' confidence); the margins make it far rarer.
    world = people(process, 800, 400, 40, seed)
    assert not failed(world, world.draw(800))


@pytest.mark.parametrize("process", ["continuous", "mixed", "coarse"])
def test_shuffled_columns_are_caught(people, process):
    world = people(process, 1500 if process == "continuous" else 4000, 2000, 41)
    caught = failed(world, permuted(world))
    names = {name for name, _ in caught}
    assert "pair.distance" in names and not names & {"marginal.distance", "pmse.logit.ratio"}
    if process == "continuous":
        assert ("pmse.cart.ratio", "train") in caught
    if process == "coarse":
        # Not against train: its shuffled columns have exactly its shares, so that no first split
        # gains anything, and a greedy tree stops.
        assert ("pmse.cart.ratio", "holdout") in caught


@pytest.mark.parametrize("process", ["continuous", "mixed"])
def test_a_shift_is_caught(people, process):
    world = people(process, 1500, 600, 42)
    caught = {name for name, _ in failed(world, shifted(world))}
    assert caught >= {"marginal.distance", "pair.distance", "pmse.logit.ratio", "pmse.logit"}
    assert caught >= {"pmse.cart.ratio", "pmse.cart", "specks"}


def test_a_copy_scores_zero_against_train_and_is_a_stranger_to_the_holdout(people):
    world = people("mixed", 800, 400, 43)
    found = world.findings(world.train, measures=ALL)
    for name in ("pmse.logit", "pmse.cart", "specks"):
        assert found[name, "train"].estimate.value == pytest.approx(0, abs=1e-12)
    assert 0.2 < found["pmse.cart.ratio", "holdout"].estimate.value < 3


def test_specks_by_chance(people):
    """Two draws of one process: SPECKS averages 2Φ(D/2) − 1 with D² = (k − 1)(1/n + 1/m), roughly.

    The distance of two empirical distributions exceeds that of their laws; the reference is
    what fitting alone makes of it, so it lies below the mean, and above half of it.
    """
    values = []
    for seed in range(20):
        world = people("mixed", 300, 40, 44, seed)
        estimate = world.values("pmse", world.draw(300))["specks", "train"]
        values.append(estimate.value)
        assert estimate.verdict() is not FAILS
    terms = 1 + 2 + 2 + 4  # the intercept, sex, two numbers, town
    reference = 2 * ndtr(np.sqrt((terms - 1) * 2 / 300) / 2) - 1
    assert estimate.reference == pytest.approx(reference)
    assert np.mean(values) / 2 < reference < np.mean(values)


def test_confidence_is_the_gates(people):
    world = people("mixed", 300, 100, 45)
    fresh = world.draw(300)
    wide, narrow = (
        world.findings(fresh, measures=("pmse",), level=level)["pmse.logit.ratio", "train"]
        for level in (0.99, 0.8)
    )
    assert wide.estimate.high > narrow.estimate.high


def test_the_worst_of_many_pairs_of_a_fresh_draw_does_not_fail(make):
    """66 pairs of independent columns, 150 rows: someone is always worst."""
    rng = np.random.default_rng(46)
    table = make.levels(**{f"c{i}": rng.choice(list("abcdefghij"), 300) for i in range(12)})
    both = make.encoded(table)
    from understudy.evidence import Evidence
    from understudy.utility.margins import Pairs

    release = both.take(slice(150, 300))
    evidence = Evidence(both.take(slice(150)), release, release, (release,), level=0.95)
    judge = Pairs().prepare(evidence, rng=rng)
    assert FAILS not in {e.verdict() for e in judge.estimates(release, rng=rng)}
