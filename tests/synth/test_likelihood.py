"""Multinomial logit by maximum likelihood: what one record changes, against cold refits."""

import numpy as np
import pytest

from understudy.errors import PlanError
from understudy.seeds import stream
from understudy.synth.base import crossed
from understudy.synth.likelihood import MultinomialML
from understudy.synth.refit import swap_by_refit
from understudy.tables.encode import Block

NAMES = ("grade", "sex", "age")


def people(make, seed, rows=50):
    return make.encoded(make.mixed(rows=rows, seed=seed, names=NAMES), shared=4)


def fitted(block, given=("sex", "age"), **settings):
    model = MultinomialML(**settings)
    return model.fit(block, ("grade",), given, rng=stream(1))


def drawn(fit, block, seed, m=3):
    known = block.select(fit.given)
    return [known.join(fit.sample(known, rng=stream(seed, r))) for r in range(m)]


def every(block, names):
    """All combinations of the codes that train has."""
    codes = [np.unique(block.codes[name]) for name in names]
    grid = [part.ravel().astype(np.int32) for part in np.meshgrid(*codes, indexing="ij")]
    return Block(block.encoding, len(grid[0]), dict(zip(names, grid, strict=True)), {})


@pytest.mark.parametrize("names", [("grade",), ("sex",), ("grade", "sex")])
@pytest.mark.parametrize("ridge", [0.001, 0.01, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_swaps_are_cold_refits(make, seed, ridge, names):
    """Where the column is drawn, where it predicts, and both: missing values are levels, too."""
    block = people(make, seed)
    fit = fitted(block, ridge=ridge)
    replicates = drawn(fit, block, seed)
    records, candidates = np.array([0, 7, 31, 49]), every(block, names)
    rows = block.take(records)
    found = fit.swaps(rows, records, candidates, replicates)
    for place, record in enumerate(records):
        moved = crossed(rows.take(slice(place, place + 1)), candidates)
        truth = swap_by_refit(fit.settings.refit, fit.train, record, moved, replicates)
        np.testing.assert_allclose(found[:, place], truth, atol=5e-3)
        own = (moved.codes["grade"] == block.codes["grade"][record]) & (
            moved.codes["sex"] == block.codes["sex"][record]
        )
        assert (found[:, place, own] == 0.0).all()


def test_the_last_member_of_a_class_and_of_a_level(make):
    """Without them, what was drawn of the class is impossible; a dummy is left without a row."""
    rng = stream(3)
    grade = ["only", *rng.choice(["a", "b"], 59)]
    sex = ["x", "only", *rng.choice(["f", "m"], 58)]
    block = make.encoded(make.levels(grade=grade, sex=sex))
    fit = fitted(block, ("sex",))
    replicates = drawn(fit, block, 30, m=5)
    lone = block.encoding["grade"].levels.index("only")
    showing = [(block_.codes["grade"] == lone).any() for block_ in replicates]
    records, candidates = np.array([0, 1, 5]), every(block, ("grade", "sex"))
    found = fit.swaps(block.take(records), records, candidates, replicates)
    for place, record in enumerate(records):
        moved = crossed(block.take(records[place : place + 1]), candidates)
        with np.errstate(invalid="ignore"):
            truth = swap_by_refit(fit.settings.refit, fit.train, record, moved, replicates)
        # Without a row, the lone class is still a class here, as unlikely as the ridge lets it be.
        np.testing.assert_allclose(found[:, place], truth, atol=0.2)
        assert np.array_equal(np.isneginf(found[:, place]), np.isneginf(truth))
    others = candidates.codes["grade"] != lone
    assert np.isneginf(found[:, 0][np.ix_(showing, others)]).all()


def test_levels_and_classes_that_train_does_not_have(make):
    """Candidates that bring one are fitted anew."""
    block = make.encoded(make.mixed(rows=40, seed=5, names=("sex", "grade")), shared=4)
    fit = MultinomialML().fit(block, ("sex",), ("grade",), rng=stream(1))
    known = block.select(("grade",))
    replicates = [known.join(fit.sample(known, rng=stream(2)))]
    new = block.encoding["grade"].levels.index("never seen")
    candidates = Block(block.encoding, 1, {"grade": np.array([new], np.int32)}, {})
    found = fit.swaps(block.take(slice(3, 4)), np.array([3]), candidates, replicates)
    moved = crossed(block.take(slice(3, 4)), candidates)
    truth = swap_by_refit(fit.settings.refit, fit.train, 3, moved, replicates)
    np.testing.assert_array_equal(found[:, 0], truth)


@pytest.mark.parametrize("names", [("grade",), ("grade", "sex")])
def test_left_out_is_a_fit_without_the_record(make, names):
    block = people(make, 4)
    fit, records, candidates = fitted(block), np.arange(0, 50, 9), every(block, names)
    found = fit.left_out(block.take(records), records, candidates)
    for place, record in enumerate(records):
        rest = fitted(block.take(np.delete(np.arange(50), record)))
        truth = rest.log_density(crossed(block.take(records[place : place + 1]), candidates))
        np.testing.assert_allclose(np.exp(found[place]), np.exp(truth), atol=1e-3)


def test_separated_classes_and_collinear_predictors_have_a_fit(make):
    rng = stream(6)
    a = rng.choice(["x", "y", "z"], 80)
    block = make.encoded(make.levels(grade=a, same=a, again=a))
    fit = MultinomialML().fit(block, ("grade",), ("same", "again"), rng=stream(1))
    share = np.exp(fit.log_density(block))
    assert (share > 0.95).all() and np.isfinite(fit.found.beta).all()
    replicates = [block]
    candidates = every(block, ("grade",))
    found = fit.swaps(block.take(slice(0, 2)), np.arange(2), candidates, replicates)
    truth = fit.swap(0, crossed(block.take(slice(0, 1)), candidates), replicates)
    np.testing.assert_allclose(found[:, 0], truth, atol=5e-3)


def test_too_many_coefficients_are_refused_with_their_number(make):
    block = people(make, 7)
    with pytest.raises(PlanError, match=r"max_size: got 3, expected at least \d+"):
        fitted(block, max_size=3)
    with pytest.raises(PlanError, match=r"visits\[0\].ridge"):
        MultinomialML.from_settings("visits[0]", {"ridge": 0})
