"""The penalised multinomial logit against scikit-learn, optimality conditions, closed forms."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from understudy.kernels import multinomial


def problem(rows=400, terms=6, classes=4, seed=1):
    rng = np.random.default_rng(seed)
    x = np.concatenate(
        [rng.random((rows, terms // 2)) < 0.3, rng.normal(size=(rows, terms - terms // 2))], axis=1
    ).astype(float)
    scores = x @ rng.normal(0, 1.2, (terms, classes)) + np.log([0.5, 0.3, 0.15, 0.05][:classes])
    label = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return x, label


def objective(x, label, intercept, coefficients, strength):
    """The slow, obvious version of eq. 22."""
    total = 0.0
    for row, k in zip(x, label, strict=True):
        scores = np.array([a + row @ b for a, b in zip(intercept, coefficients, strict=True)])
        total -= strength * (scores[k] - np.log(np.exp(scores).sum()))
    return total + np.abs(coefficients).sum()


@pytest.mark.parametrize("strength", [0.02, 1.0, 50.0])
def test_objective_is_no_worse_than_sagas(strength):
    x, label = problem()
    ours = multinomial.fit(x, label, 4, strength=strength, tolerance=1e-6)
    peer = LogisticRegression(
        C=strength, l1_ratio=1.0, solver="saga", tol=1e-9, max_iter=100_000, random_state=0
    ).fit(x, label)
    theirs = objective(x, label, peer.intercept_, peer.coef_, strength)
    mine = objective(x, label, ours.intercept, ours.coefficients, strength)
    assert mine == pytest.approx(ours.objective, rel=1e-12)
    assert mine == pytest.approx(theirs, rel=1e-6)
    assert np.allclose(
        np.exp(multinomial.log_probabilities(ours, x)), peer.predict_proba(x), atol=1e-3
    )


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("strength", [0.02, 1.0, 50.0])
def test_optimality_conditions(monkeypatch, dense, strength):
    monkeypatch.setattr(multinomial, "_DENSE", 10_000 if dense else 0)
    x, label = problem()
    fitted = multinomial.fit(x, label, 4, strength=strength, tolerance=1e-5, max_iter=500)
    assert fitted.converged
    error = np.exp(multinomial.log_probabilities(fitted, x)) - np.eye(4)[label]
    slope = strength * error.T @ x
    slack = 1e-5 * max(1.0, strength) * 1.01
    zero = fitted.coefficients == 0
    assert (np.abs(slope[zero]) <= 1 + slack).all()
    assert np.allclose(slope[~zero], -np.sign(fitted.coefficients[~zero]), atol=slack)
    assert np.allclose(strength * error.sum(axis=0), 0.0, atol=slack)
    assert zero.any()


def test_two_classes_and_one_dummy_in_closed_form():
    # Almost without penalty the fitted probabilities are the groups' own shares.
    x = np.repeat([[0.0], [1.0]], [40, 60], axis=0)
    label = np.concatenate([np.repeat([0, 1], [30, 10]), np.repeat([0, 1], [15, 45])])
    fitted = multinomial.fit(x, label, 2, strength=1e6, tolerance=1e-9)
    shares = np.exp(multinomial.log_probabilities(fitted, np.array([[0.0], [1.0]])))
    assert np.allclose(shares, [[0.75, 0.25], [0.25, 0.75]], atol=1e-5)


def test_strong_penalty_gives_the_marginal():
    x, label = problem()
    fitted = multinomial.fit(x, label, 4, strength=1e-6)
    assert (fitted.coefficients == 0).all()
    shares = np.exp(multinomial.log_probabilities(fitted, x[:1]))[0]
    assert np.allclose(shares, np.bincount(label) / len(label))


def test_one_class_and_no_terms():
    one = multinomial.fit(np.ones((5, 2)), np.zeros(5, dtype=int), 1)
    assert multinomial.log_probabilities(one, np.ones((2, 2))).tolist() == [[0.0], [0.0]]
    bare = multinomial.fit(np.ones((4, 0)), np.array([0, 1, 1, 1]), 2)
    assert np.allclose(np.exp(multinomial.log_probabilities(bare, np.ones((1, 0)))), [[0.25, 0.75]])


def test_separated_classes_stay_finite():
    x = np.repeat([[0.0], [1.0]], 50, axis=0)
    fitted = multinomial.fit(x, np.repeat([0, 1], 50), 2, strength=100.0)
    assert fitted.converged
    assert np.isfinite(fitted.coefficients).all()


def test_constant_and_repeated_terms_do_no_harm():
    x, label = problem()
    plain = multinomial.fit(x, label, 4, tolerance=1e-6)
    padded = np.concatenate([x, x[:, :2], np.zeros((len(x), 1)), np.ones((len(x), 1))], axis=1)
    wide = multinomial.fit(padded, label, 4, tolerance=1e-6)
    assert wide.objective == pytest.approx(plain.objective, rel=1e-8)


def test_hessian_of_some_rows_leads_to_the_same_fit(monkeypatch):
    x, label = problem(rows=3000)
    plain = multinomial.fit(x, label, 4, tolerance=1e-6)
    monkeypatch.setattr(multinomial, "_FIRST_ROWS", 300)
    few = multinomial.fit(x, label, 4, tolerance=1e-6)
    assert few.objective == pytest.approx(plain.objective, rel=1e-10)


def test_a_warm_start_ends_where_a_cold_one_does():
    x, label = problem()
    before = multinomial.fit(x, label, 4)
    label = label.copy()
    label[0] = (label[0] + 1) % 4
    # Below about 1e-6 of violation rounding decides how many steps are made.
    cold = multinomial.fit(x, label, 4, tolerance=1e-5)
    warm = multinomial.fit(x, label, 4, tolerance=1e-5, begin=before)
    assert warm.converged
    assert warm.objective == pytest.approx(cold.objective, rel=1e-10)
    assert warm.iterations < cold.iterations


def test_hessian_is_the_derivative_of_the_gradient():
    x, label = problem(rows=60)
    held = multinomial._Problem.of(x, label, 4, 0.7)
    beta = np.random.default_rng(0).normal(0, 0.5, (4, 7))
    exact = multinomial._hessian(held, held.value(beta)[1], 1_000)
    slow = np.empty_like(exact)
    for index in range(beta.size):
        step = np.zeros(beta.size)
        step[index] = 1e-5
        up, down = (
            held.gradient(held.value(beta + sign * step.reshape(4, 7))[1]) for sign in (1, -1)
        )
        slow[:, index] = ((up - down) / 2e-5).ravel()
    assert np.allclose(exact, slow, atol=1e-4)


def test_violation_is_the_subgradient_nearest_to_zero():
    x, label = problem(rows=60)
    held = multinomial._Problem.of(x, label, 4, 3.0)
    beta = np.random.default_rng(0).normal(0, 0.5, (4, 7))
    beta[:, 1:4] = 0.0
    slope = held.gradient(held.value(beta)[1])
    for index in np.ndindex(4, 7):  # each coefficient alone, by trying the whole subdifferential
        if index[1] == 0:
            signs = np.zeros(1)
        elif beta[index]:
            signs = np.array([np.sign(beta[index])])
        else:
            signs = np.linspace(-1, 1, 2001)
        slope[index] = np.abs(slope[index] + signs).min()
    found = multinomial._violation(held, beta, held.value(beta)[1])
    assert found == pytest.approx(slope.max() / 3.0, abs=1e-3)


def test_a_coefficient_that_the_data_do_not_ask_for_violates_by_its_sign():
    x, label = problem(rows=60)
    held = multinomial._Problem.of(x, label, 4, 1e-9)
    beta = held.null()
    assert multinomial._violation(held, beta, held.value(beta)[1]) < 1e-6
    beta[1, 2] = -0.5
    assert multinomial._violation(held, beta, held.value(beta)[1]) == pytest.approx(1.0, abs=1e-6)


def test_threads_that_overlap_leave_the_warnings_as_they_were():
    # Filters are the process's: whoever puts back what a neighbour had set never ends.
    x, label = problem(rows=400)
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: multinomial.fit(x, label, 4, tolerance=1e-6), range(12)))
    assert list(warnings.filters) == before
