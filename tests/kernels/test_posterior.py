"""Posterior probabilities and best guesses, against sums in plain Python."""

from math import exp, inf

import numpy as np
import pytest

from understudy.kernels.posterior import Shared, answer, answer_shared, posterior


def plainly(change, prior):
    """Bayes' rule for one record, as it is written."""
    weight = [p * exp(c) for p, c in zip(prior, change, strict=True)]
    return [w / sum(weight) for w in weight]


@pytest.mark.parametrize("seed", range(5))
def test_posterior_is_bayes_rule(seed):
    rng = np.random.default_rng(seed)
    change, prior = rng.normal(0, 3, (7, 5)), rng.dirichlet(np.ones(5), 7)
    found = posterior(change, np.log(prior))
    for row in range(7):
        assert found[row] == pytest.approx(plainly(change[row], prior[row]), abs=1e-12)


def test_the_impossible():
    """Nothing possible leaves the prior; +∞ takes all, except where its prior is 0; NaN is no."""
    with np.errstate(divide="ignore"):
        prior = np.log([[0.5, 0.3, 0.2], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.0, 0.5, 0.5]])
    change = np.array([[-inf, -inf, np.nan], [0.0, 0.0, inf], [0.0, inf, inf], [0.0, -inf, -inf]])
    found = posterior(change, prior)
    truth = [[0.5, 0.3, 0.2], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [0.0, 0.5, 0.5]]
    np.testing.assert_allclose(found, truth, atol=1e-12)


def shared(rng, records, candidates, spread):
    """Few different values, so that many candidates tie."""
    own = rng.integers(0, candidates, records)
    common = rng.integers(0, spread, candidates).astype(float)
    mine, shift = (rng.integers(-spread, spread, records).astype(float) for _ in "ab")
    return Shared(common, mine, shift, own)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("candidates", [1, 2, 3, 9])
def test_shared_values_give_the_answers_of_the_whole_array(seed, candidates):
    rng = np.random.default_rng([seed, candidates])
    change, prior = shared(rng, 12, candidates, 3), shared(rng, 12, candidates, 2)
    change = Shared(change.common, 0 * change.mine, change.shift, change.own)
    prior = Shared(prior.common, prior.mine, prior.shift, change.own)
    found = answer_shared(change, prior)
    truth = answer(posterior(change.dense(), prior.dense()), change.own)
    np.testing.assert_allclose(found.truth, truth.truth, atol=1e-12)
    np.testing.assert_allclose(found.correct, truth.correct, atol=1e-12)


def test_one_candidate_that_has_nearly_all():
    """The others are summed without it: 1 − (1 − 1e-20) would be 0."""
    change = Shared(np.array([46.0, 0.0, 0.0]), np.zeros(2), np.zeros(2), np.array([0, 1]))
    flat = Shared(np.zeros(3), np.zeros(2), np.zeros(2), change.own)
    found = answer_shared(change, flat)
    assert found.truth == pytest.approx([1 / 3, 1 / (2 + exp(46.0))], rel=1e-9)


def test_a_prior_of_nothing_on_the_truth():
    """Whoever rules the truth out never finds it."""
    change = Shared(np.zeros(3), np.zeros(1), np.zeros(1), np.array([1]))
    prior = Shared(np.zeros(3), np.array([-inf]), np.zeros(1), np.array([1]))
    found = answer_shared(change, prior)
    assert found.truth[0] == 0.0 and found.correct[0] == 0.0
