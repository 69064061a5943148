"""Many records at once: what `swaps` and `left_out` answer, against one at a time and refits."""

import numpy as np
import pytest

from understudy.seeds import stream
from understudy.synth.base import Fitted, crossed
from understudy.synth.cart import Cart
from understudy.synth.marginal import Marginal
from understudy.synth.multinomial import Multinomial
from understudy.synth.refit import left_out_by_folds, swap_by_refit
from understudy.synth.sequence import Sequential, Visit, fit_visit
from understudy.tables.encode import Block

NAMES = ("sex", "grade", "age", "income")
MODELS = [
    Marginal(),
    Marginal(bootstrap=False),
    Cart(min_leaf=3),
    Cart(min_leaf=1),
    Cart(min_leaf=2, bootstrap=False),
    Cart(min_leaf=1, smooth=False),
    Cart(min_leaf=3, spread=True),
]
each = pytest.mark.parametrize("model", MODELS, ids=repr)


def people(make, seed, rows=40):
    return make.encoded(make.mixed(rows=rows, seed=seed, names=NAMES), shared=4)


def candidates_of(block, names):
    """Twelve people's values of some columns, and values that hardly anybody has."""
    some = block.take(np.arange(0, block.rows, max(block.rows // 12, 1)))
    return some.select(names)


def chain(model, strata=None):
    visits = [
        Visit(model if not strata or i else Marginal(), (name,), NAMES[:i], strata if i else None)
        for i, name in enumerate(NAMES)
    ]
    return Sequential(tuple(visits))


@each
@pytest.mark.parametrize("names", [("grade",), ("income",), ("sex", "income")])
@pytest.mark.parametrize("strata", [None, "sex"])
def test_swaps_are_each_a_swap(make, seed, model, names, strata):
    """In sequences of every model, where the columns are drawn and where they predict."""
    if strata in names:
        return  # another stratum is refused by both
    block = people(make, 2)
    fit = chain(model, strata).fit(block, seed=seed)
    replicates = [fit.sample(40, seed=seed, replicate=r).block for r in (1, 2)]
    records = np.array([7, 0, 39])
    rows, candidates = block.take(records), candidates_of(block, names)
    found = fit.swaps(rows, records, candidates, replicates)
    for place, record in enumerate(records):
        moved = crossed(rows.take(slice(place, place + 1)), candidates)
        with np.errstate(invalid="ignore"):
            truth = fit.swap(int(record), moved, replicates)
        np.testing.assert_allclose(found[:, place], truth, atol=1e-9)


def test_what_is_impossible_before_and_after(make, seed):
    """Lone donors of a foreign replicate: −∞, ∞ and neither, as one swap at a time says."""
    block, other = people(make, 2), people(make, 3)
    fit = Cart(min_leaf=1).fit(block, ("grade",), ("sex", "age"), rng=stream(seed))
    replicates = [Block(block.encoding, 40, other.codes, other.values)]
    records, candidates = np.arange(40), candidates_of(block, ("grade", "age"))
    found = fit.swaps(block, records, candidates, replicates)
    with np.errstate(invalid="ignore"):
        truth = Fitted.swaps(fit, block, records, candidates, replicates)
    np.testing.assert_allclose(found, truth, atol=1e-9)
    assert np.isneginf(found).any() and np.isposinf(found).any()


@pytest.mark.parametrize("model", [Marginal(), Cart(min_leaf=31), Cart(max_depth=0)], ids=repr)
@pytest.mark.parametrize("target", ["grade", "income"])
def test_left_out_is_a_fit_without_the_record(make, seed, model, target):
    """Where trees cannot change, by fitting to the others."""
    block = people(make, 4)
    given = tuple(name for name in NAMES if name != target)
    visit = Visit(model, (target,), given)
    fit = fit_visit(block, seed, visit)
    records, candidates = np.arange(0, 40, 3), candidates_of(block, (target,))
    found = fit.left_out(block.take(records), records, candidates)
    for place, record in enumerate(records):
        rest = fit_visit(block.take(np.delete(np.arange(40), record)), seed, visit)
        moved = crossed(block.take(records[place : place + 1]), candidates)
        truth = rest.log_density(moved)
        if block.encoding[target].cells is not None:  # the density inside a cell is left out
            truth = truth - block.encoding[target].cells.log_density(moved.values[target])
        np.testing.assert_allclose(found[place] - np.log(39), truth, atol=1e-9)


def test_a_tree_that_was_grown_with_the_record_has_no_prior_without_it(make, seed):
    """A street for every two people, and an illness that goes with nothing.

    The splits sort streets by illness, so held leaves would know everybody's. Folds know nobody's:
    their best guesses are right in 1/5 of 300, with a standard deviation of 2.3%.
    """
    rng = stream(seed, "streets")
    street, ill = rng.permutation(300) // 2, rng.choice(list("abcde"), 300)
    block = make.encoded(make.levels(street=street.astype(str), ill=ill))
    visit = Visit(Cart(min_leaf=10), ("ill",), ("street",))
    fit = fit_visit(block, seed, visit)
    codes = {"ill": np.arange(5, dtype=np.int32)}
    candidates = Block(block.encoding, 5, codes, {})
    records = np.arange(300)
    assert fit.left_out(block, records, candidates) is None
    fold = stream(seed, "folds").permutation(300) % 10
    found = left_out_by_folds(
        lambda train: fit_visit(train, seed, visit), block, block, records, candidates, fold
    )
    assert abs((found.argmax(axis=1) == block.codes["ill"]).mean() - 0.2) < 0.1


def test_folds_score_nobody_by_a_fit_that_saw_them(make, seed):
    """A model of lone leaves knows everybody it saw: among the held, it must not."""
    block = people(make, 5, rows=60)
    visit = Visit(Multinomial(C=1e-6), ("grade",), ("sex",))  # frequencies, in effect
    fold = stream(seed, "folds").permutation(60) % 10
    records, candidates = np.arange(60), candidates_of(block, ("grade",))
    found = left_out_by_folds(
        lambda train: fit_visit(train, seed, visit), block, block, records, candidates, fold
    )
    for record in (0, 31, 59):
        rest = block.codes["grade"][fold != fold[record]]
        share = [(rest == code).mean() for code in candidates.codes["grade"]]
        np.testing.assert_allclose(np.exp(found[record]), share, rtol=0.02)


def test_a_fit_at_hand_is_not_made_again(make, seed):
    block = people(make, 6)
    visit = Visit(Cart(min_leaf=4), ("grade",), ("age", "sex"), None)
    fits = []

    def fit(train):
        fits.append(train)
        return fit_visit(train, seed, visit)

    base = fit_visit(block, seed, visit)
    replicates = [block]
    found = swap_by_refit(fit, block, 3, block.take(slice(0, 6)), replicates, base=base)
    again = swap_by_refit(fit, block, 3, block.take(slice(0, 6)), replicates)
    np.testing.assert_array_equal(found, again)
    assert sum(make.same(train, block.select(train.names)) for train in fits) == 1
