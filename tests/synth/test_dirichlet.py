"""Columns drawn jointly from one table of cells, and what that table says about one person."""

from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import PlanError
from understudy.kernels.posterior import answer, answer_shared, posterior
from understudy.seeds import stream
from understudy.synth.base import Fitted, Restriction, crossed
from understudy.synth.dirichlet import DirichletMultinomial
from understudy.synth.refit import swap_by_refit
from understudy.tables.encode import Block

AB = ("a", "b")
PRODUCT, OBSERVED = DirichletMultinomial(), DirichletMultinomial(prior=0.3, cells="observed")
everyone = pytest.mark.parametrize("model", [PRODUCT, DirichletMultinomial(prior=1e-4), OBSERVED])
RUNS = 400


def pair(make, rows, seed):
    """Two columns, some combinations with one person or none, and a few missing values."""
    rng = stream(seed, "pair")
    a = rng.choice(["x", "y", "z"], rows, p=[0.6, 0.3, 0.1])
    b = [None if rng.random() < 0.1 else level for level in rng.choice(list("pqr"), rows)]
    return make.encoded(make.levels(a=a, b=b))


def fitted(model, block, columns=AB):
    return model.fit(block, columns, (), rng=stream(0))


def drawn(fit, rows, seed, m=3):
    empty = fit.train.encoding.empty(rows)
    return [fit.sample(empty, rng=stream(seed, r)) for r in range(m)]


def every_pair(block):
    """All combinations of two columns, missing included where the column has it."""
    sizes = [block.encoding[n].size + bool((block.codes[n] == block.encoding[n].missing).any())
             for n in AB]  # fmt: skip
    a, b = (part.ravel().astype(np.int32) for part in np.indices(sizes))
    return Block(block.encoding, len(a), {"a": a, "b": b}, {})


def by_urn(block, replicate, prior):
    """Draw by draw: each row's cell has probability (people + drawn so far + a) / total."""
    cells = every_pair(block)
    names = list(zip(cells.codes["a"].tolist(), cells.codes["b"].tolist(), strict=True))
    urn = dict.fromkeys(names, Fraction(prior))
    for cell in zip(block.codes["a"].tolist(), block.codes["b"].tolist(), strict=True):
        urn[cell] += 1
    chance = Fraction(1)
    for cell in zip(replicate.codes["a"].tolist(), replicate.codes["b"].tolist(), strict=True):
        chance *= urn[cell] / sum(urn.values())
        urn[cell] += 1
    return chance


@pytest.mark.parametrize("prior", [Fraction(1), Fraction(1, 8)])
def test_probability_of_a_replicate_is_an_urns(make, seed, prior):
    block = pair(make, 12, seed)
    fit = fitted(DirichletMultinomial(prior=float(prior)), block)
    for replicate in drawn(fit, 9, seed):
        truth = by_urn(block, replicate, prior)
        assert fit.log_prob(replicate) == pytest.approx(float(np.log(float(truth))), rel=1e-10)


def test_frequencies_of_whole_replicates(make):
    """All 16 replicates of two rows over four cells, 30,000 times drawn, against exp(log_prob)."""
    block = make.encoded(make.levels(a=["x", "x", "y"], b=["p", "q", "p"]))
    fit = fitted(DirichletMultinomial(prior=0.5), block)
    rng, repeats, seen = stream(2), 30_000, np.zeros((4, 4))
    for _ in range(repeats):
        out = fit.sample(block.encoding.empty(2), rng=rng)
        seen[tuple(2 * out.codes["a"] + out.codes["b"])] += 1
    total = 0.0
    for one, two in np.ndindex(4, 4):
        key = np.array([one, two], dtype=np.int32)
        p = np.exp(fit.log_prob(Block(block.encoding, 2, {"a": key // 2, "b": key % 2}, {})))
        total += p
        # 16 outcomes, 4.5 SDs each: false alarm below 2e-4 in all.
        assert abs(seen[one, two] / repeats - p) < 4.5 * np.sqrt(p * (1 - p) / repeats)
    assert total == pytest.approx(1.0)


@everyone
@pytest.mark.parametrize("rows", [7, 40])
def test_swap_is_a_refit(make, seed, model, rows):
    """Cells that nobody is in, that one person is in, that come and go: impossible included."""
    block = pair(make, rows, seed)
    fit, candidates = fitted(model, block), every_pair(block)
    replicates = drawn(fit, 30, seed)
    for record in range(0, rows, 3):
        found = fit.swap(record, candidates, replicates)
        truth = swap_by_refit(fit.refit, block, record, candidates, replicates)
        np.testing.assert_allclose(found, truth, atol=1e-9)


def test_a_replicate_that_only_one_candidate_could_have_made(make, seed):
    """All its rows are in a cell that nobody of train is in: infinitely likelier with somebody."""
    block = pair(make, 9, seed)
    fit, candidates = fitted(OBSERVED, block), every_pair(block)
    empty = np.flatnonzero(fit.cell_of(candidates) < 0)[0]
    replicate = candidates.take(np.full(5, empty))
    assert fit.log_prob(replicate) == -np.inf
    for record in range(9):
        (found,) = fit.swap(record, candidates, [replicate])
        truth = swap_by_refit(fit.refit, block, record, candidates, [replicate])[0]
        assert np.array_equal(np.isposinf(truth), np.arange(candidates.rows) == empty)
        assert np.array_equal(np.isposinf(found), np.isposinf(truth))


@everyone
@pytest.mark.parametrize("names", [AB, ("b",)])
def test_many_swaps_are_each_a_swap(make, seed, model, names):
    block = pair(make, 40, seed)
    fit = fitted(model, block)
    replicates = drawn(fit, 30, seed)
    records = np.array([3, 0, 39, 17])
    rows, candidates = block.take(records), every_pair(block).select(names)
    found = fit.swaps(rows, records, candidates, replicates)
    np.testing.assert_allclose(
        found, Fitted.swaps(fit, rows, records, candidates, replicates), atol=1e-9
    )
    shared = fit.moves(rows, records, candidates, replicates)
    assert (shared is None) == (model.cells == "observed" or names != AB)
    if shared is not None:
        one_by_one = fit._changes(records, crossed(rows, candidates), 4, replicates)
        np.testing.assert_allclose(shared.dense(), one_by_one, atol=1e-9)


@everyone
def test_the_prior_of_those_who_know_all_others(make, seed, model):
    """Density under a fit without the record, by fitting without the record."""
    block = pair(make, 30, seed)
    fit, candidates = fitted(model, block), every_pair(block)
    records = np.arange(30)
    found = fit.left_out(block, records, candidates)
    found = found - np.logaddexp.reduce(found, axis=1, keepdims=True)
    for record in records:
        rest = fit.refit(block.take(np.delete(records, record)))
        truth = rest.log_density(candidates)
        truth = truth - np.logaddexp.reduce(truth)
        np.testing.assert_allclose(found[record], truth, atol=1e-9)
    shared = fit.left_shared(block, records, candidates)
    if shared is not None:
        dense = shared.dense()
        dense = dense - np.logaddexp.reduce(dense, axis=1, keepdims=True)
        np.testing.assert_allclose(dense, found, atol=1e-9)


@pytest.mark.parametrize("rows", [5, 60])
@pytest.mark.parametrize("flat", [True, False])
def test_answers_from_shared_values_are_those_of_the_whole_array(make, seed, rows, flat):
    block = pair(make, rows, seed)
    fit, candidates = fitted(DirichletMultinomial(prior=0.01), block), every_pair(block)
    records = np.arange(rows)
    change = fit.moves(block, records, candidates, drawn(fit, rows, seed))
    prior = fit.left_shared(block, records, candidates)
    if flat:
        prior = type(prior)(0 * prior.common, 0 * prior.mine, prior.shift, prior.own)
    total = type(change)(
        change.common.sum(axis=0), change.mine.sum(axis=0), change.shift.sum(axis=0), change.own
    )
    found = answer_shared(total, prior)
    truth = answer(posterior(total.dense(), prior.dense()), change.own)
    np.testing.assert_allclose(found.truth, truth.truth, atol=1e-12)
    np.testing.assert_allclose(found.correct, truth.correct, atol=1e-12)


def sixteen(make, run):
    """999 people over 15 cells and one alone in the 16th: the setting of the published table."""
    cell = np.append(stream(run, "people").integers(0, 15, 999), 15)
    return make.encoded(make.levels(cell=[f"{k:02}" for k in cell]))


def last_person(make, prior, runs=RUNS):
    """Posterior of the last person's own cell, and whether it is the most probable one; m = 5."""
    found, best = [], []
    for run in range(runs):
        block = sixteen(make, run)
        fit = fitted(DirichletMultinomial(prior=prior), block, ("cell",))
        candidates = Block(block.encoding, 16, {"cell": np.arange(16, dtype=np.int32)}, {})
        replicates = drawn(fit, 1_000, run, m=5)
        change = fit.swap(999, candidates, replicates).sum(axis=0)
        share = posterior(change[None], np.zeros((1, 16)))
        # The closed form of the exchangeable counts, written out.
        own = block.codes["cell"][999]
        rest = np.bincount(block.codes["cell"][:999], minlength=16)
        z = np.array([np.bincount(rep.codes["cell"], minlength=16) for rep in replicates])
        truth = np.prod((rest + prior + z) / (rest + prior), axis=0)
        np.testing.assert_allclose(share[0], truth / truth.sum(), atol=1e-9)
        found.append(share[0, own])
        best.append(share[0].argmax() == own)
    return np.array(found), np.mean(best)


def test_a_lone_person_under_a_prior_of_nothing(make):
    """a = 0.0001: the posterior of the truth is 1.000, its 5% quantile 0.95.

    The cell is not drawn in any of five replicates in 3.1% of runs, when the truth is not the best
    guess: 12.5 of 400 expected, and 4 standard deviations are 14.
    """
    found, best = last_person(make, 1e-4)
    assert np.median(found) == pytest.approx(1.0, abs=5e-4)
    assert np.quantile(found, 0.05) == pytest.approx(0.95, abs=0.05)
    assert abs(best - (1 - (999 / 1999) ** 5)) < 0.035


def test_a_lone_person_under_a_flat_prior(make):
    """a = 1: median 0.13 to 0.19, 5% to 95% from 0.02 to 0.66, the best guess in 69%.

    Of 400 runs: the share has a standard deviation of 2.3%, so ± 8% errs once in 1,700 runs.
    """
    found, best = last_person(make, 1.0)
    assert 0.13 <= np.median(found) <= 0.19
    assert np.quantile(found, 0.05) == pytest.approx(0.02, abs=0.02)
    assert np.quantile(found, 0.95) == pytest.approx(0.66, abs=0.12)
    assert abs(best - 0.69) < 0.08


def test_a_rule_leaves_the_joint_distribution_of_what_it_allows(make):
    """Given that a is not x, cells are drawn in the proportions that they have: 20,000 rows."""
    block = pair(make, 200, 3)
    fit = fitted(DirichletMultinomial(prior=50.0), block)  # cells of much weight: θ hardly varies
    rows = 20_000
    allowed = np.ones((1, block.encoding["a"].width), dtype=bool)
    allowed[0, 0] = False
    limit = Restriction(allowed=allowed, group=np.zeros(rows, dtype=np.int64))
    out = fit.sample(block.encoding.empty(rows), rng=stream(3, "out"), within={"a": limit})
    cells = every_pair(block)
    fit_to = fit.log_density(cells)[cells.codes["a"] > 0]
    share = np.exp(fit_to - np.logaddexp.reduce(fit_to))
    key = out.codes["a"] * 10 + out.codes["b"]
    wanted = (cells.codes["a"] * 10 + cells.codes["b"])[cells.codes["a"] > 0]
    seen = np.array([(key == k).mean() for k in wanted])
    assert seen.sum() == pytest.approx(1.0)
    # θ of a cell has an SD of 1.2% at most, the draw of 0.3%; 8 cells, 4 SDs.
    assert np.abs(seen - share).max() < 0.05


def test_column_by_column_is_the_joint_draw(make):
    """A rule that allows everything changes nothing: three columns, all cells, 20,000 rows."""
    rng = stream(4, "three")
    a, b = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    c = np.where(rng.random(300) < 0.9, a ^ b, 1 - (a ^ b))  # only the pair tells anything of c
    block = make.encoded(make.levels(a=a.astype(str), b=b.astype(str), c=c.astype(str)))
    fit = fitted(DirichletMultinomial(prior=50.0), block, ("a", "b", "c"))
    rows = 20_000
    limit = Restriction(low=np.zeros(rows, dtype=np.int32))
    out = fit.sample(block.encoding.empty(rows), rng=stream(4, "out"), within={"a": limit})
    share = np.bincount(fit.cell_of(out), minlength=8) / rows
    # θ of a cell has an SD of at most 1.4%, the draw of 0.3%; 8 cells, 4 SDs.
    assert np.abs(share - (fit.count + 50) / 700).max() < 0.058
    assert share.max() - share.min() > 0.1


def test_too_many_cells_are_refused_with_their_number_and_the_way_out(make):
    block = pair(make, 30, 1)
    with pytest.raises(PlanError, match=r"at most 10 combinations.* 2 columns have 12"):
        fitted(DirichletMultinomial(max_cells=10), block)
    assert len(fitted(DirichletMultinomial(max_cells=10, cells="observed"), block).keys) <= 12
    with pytest.raises(PlanError, match="one of product, observed"):
        DirichletMultinomial.from_settings("visits[0]", {"cells": "some"})
    with pytest.raises(PlanError, match=r"visits\[0\].prior"):
        DirichletMultinomial.from_settings("visits[0]", {"prior": 0})


def test_nobody_to_learn_from(make):
    block = pair(make, 30, 1)
    for model in (PRODUCT, OBSERVED):
        fit = fitted(model, block.take(slice(0, 0)))
        out = fit.sample(block.encoding.empty(5), rng=stream(1))
        assert out.rows == 5
