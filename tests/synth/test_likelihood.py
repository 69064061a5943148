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


# --- coefficients that are drawn ------------------------------------------------------------------


def test_frequencies_of_whole_replicates_with_drawn_coefficients(make):
    """All replicates of four rows, 40,000 times drawn, against exp(log_prob).

    Laplace's method is not exact: with 40 rows of train and 4 drawn it is off by less than 2%.
    """
    rng = stream(1, "drawn")
    x = rng.choice(["p", "q"], 40)
    y = np.where(rng.random(40) < 0.3 + 0.4 * (x == "p"), "yes", "no")
    block = make.encoded(make.levels(y=y, x=x))
    fit = MultinomialML(draw=True).fit(block, ("y",), ("x",), rng=stream(1))
    known = block.select(("x",)).take(np.array([0, 1, 2, 3]))
    seen, repeats, draws = np.zeros((2, 2, 2, 2)), 40_000, stream(2)
    for _ in range(repeats):
        seen[tuple(fit.sample(known, rng=draws).codes["y"])] += 1
    total = 0.0
    for outcome in np.ndindex(2, 2, 2, 2):
        codes = {"y": np.array(outcome, dtype=np.int32)}
        p = np.exp(fit.log_prob(known.join(Block(block.encoding, 4, codes, {}))))
        total += p
        # 16 outcomes, 4.5 SDs each (false alarm below 2e-4 in all), and 2% for the method.
        assert abs(seen[outcome] / repeats - p) < 4.5 * np.sqrt(p * (1 - p) / repeats) + 0.02 * p
    assert total == pytest.approx(1.0, abs=0.02)


def test_the_integral_by_simulation(make):
    """Mean of p(Z | β) over a million drawn β, two terms and 60 rows; standard error 0.3%."""
    rng = stream(3, "drawn")
    x = rng.choice(["p", "q"], 60)
    y = rng.choice(["yes", "no"], 60)
    block = make.encoded(make.levels(y=y, x=x))
    fit = MultinomialML(draw=True).fit(block, ("y",), ("x",), rng=stream(1))
    known = block.select(("x",))
    replicate = known.join(fit.sample(known, rng=stream(4)))
    whole = fit.found.root @ fit.found.root.T
    beta = rng.multivariate_normal(fit.found.beta[0], np.linalg.inv(whole), 1_000_000)
    one, other = beta[:, 0], beta.sum(axis=1)
    design, label = x == x[0], replicate.codes["y"] == fit.classes[1]
    dummy = fit._design[0, 1] == 1
    here, there = (other, one) if dummy else (one, other)
    log_p = np.zeros(len(beta))
    for scores, rows in ((here, design), (there, ~design)):
        log_p += label[rows].sum() * scores - rows.sum() * np.logaddexp(0.0, scores)
    truth = np.log(np.mean(np.exp(log_p - log_p.max()))) + log_p.max()
    assert fit.log_prob(replicate) == pytest.approx(truth, abs=0.03)


def test_swaps_with_drawn_coefficients_are_refits(make):
    block = people(make, 2, rows=30)
    fit = fitted(block, ("sex",), draw=True)
    replicates = drawn(fit, block, 2)
    records, candidates = np.array([0, 7]), every(block, ("grade",))
    found = fit.swaps(block.take(records), records, candidates, replicates)
    assert not fit.fast
    for place, record in enumerate(records):
        moved = crossed(block.take(records[place : place + 1]), candidates)
        for row in range(moved.rows):
            other = make.replaced(block, record, moved, row)
            truth = fitted(other, ("sex",), draw=True)
            change = [truth.log_prob(z) - fit.log_prob(z) for z in replicates]
            np.testing.assert_allclose(found[:, place, row], change, atol=1e-6)
