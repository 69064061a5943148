"""Maximum likelihood with a weak ridge, against a general optimiser; many refits against one."""

from math import exp, log

import numpy as np
import pytest
from scipy.optimize import minimize

from understudy.kernels import ridge_logit
from understudy.kernels.ridge_logit import Change, Refits


def problem(seed, rows=60, terms=4, classes=3, strength=1.0):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(rows), rng.normal(size=(rows, terms - 1))])
    beta = strength * rng.normal(size=(classes, terms))
    share = np.exp(design @ beta.T)
    share /= share.sum(axis=1, keepdims=True)
    label = np.array([rng.choice(classes, p=p) for p in share])
    label[:classes] = np.arange(classes)
    return design, label


def plainly(beta, design, label, ridge):
    """The objective as it is written, row by row."""
    total = ridge / 2 * sum(b * b for row in beta for b in row)
    for x, y in zip(design, label, strict=True):
        scores = [0.0] + [sum(b * t for b, t in zip(row, x, strict=True)) for row in beta]
        top = max(scores)
        total += top + log(sum(exp(s - top) for s in scores)) - scores[y]
    return total


@pytest.mark.parametrize("ridge", [1e-3, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_optimum_is_a_general_optimisers(seed, ridge):
    design, label = problem(seed)
    found = ridge_logit.fit(design, label, 3, ridge=ridge)
    truth = minimize(
        lambda b: plainly(b.reshape(2, 4), design, label, ridge), np.zeros(8), tol=1e-12
    )
    assert plainly(found.beta, design, label, ridge) <= truth.fun + 1e-7
    np.testing.assert_allclose(found.beta.ravel(), truth.x, atol=1e-3)
    assert found.violation < 1e-6


def test_saturated_models_have_the_frequencies():
    """With a dummy for every group and hardly a ridge, shares are those of the groups."""
    rng = np.random.default_rng(1)
    group, label = rng.integers(0, 3, 200), rng.integers(0, 4, 200)
    design = np.eye(3)[group]
    found = ridge_logit.fit(design, label, 4, ridge=1e-8)
    scores = found.beta @ np.eye(3)
    for g in range(3):
        share = np.exp(np.append(0.0, scores[:, g]))
        truth = [(label[group == g] == k).mean() for k in range(4)]
        np.testing.assert_allclose(share / share.sum(), truth, atol=1e-6)


def test_hessian_is_the_change_of_the_gradient():
    design, label = problem(5)
    sums, beta = ridge_logit.label_sums(design, label, 3), np.full((2, 4), 0.3)
    _, share, gradient = ridge_logit._value(design, sums, 0.2, beta)
    found = ridge_logit.hessian(design, share, 0.2)
    for place in range(8):
        step = np.zeros(8)
        step[place] = 1e-6
        _, _, moved = ridge_logit._value(design, sums, 0.2, beta + step.reshape(2, 4))
        np.testing.assert_allclose(found[place], (moved - gradient).ravel() / 1e-6, atol=1e-4)


def test_the_factor_is_the_hessians():
    design, label = problem(6)
    found = ridge_logit.fit(design, label, 3, ridge=0.1)
    sums = ridge_logit.label_sums(design, label, 3)
    _, share, _ = ridge_logit._value(design, sums, 0.1, found.beta)
    whole = ridge_logit.hessian(design, share, 0.1)
    np.testing.assert_allclose(found.root @ found.root.T, whole, rtol=1e-9, atol=1e-12)


def changed(design, label, record, row, new, comes):
    """The table itself with the row replaced, or left out."""
    keep = np.arange(len(label)) != record
    design, label = design[keep], label[keep]
    if comes:
        design, label = np.vstack([design, row]), np.append(label, new)
    return design, label


@pytest.mark.parametrize(
    "seed, strength, ridge",
    [(0, 0.5, 0.01), (1, 1.0, 0.01), (2, 5.0, 0.01), (3, 5.0, 0.001), (4, 20.0, 0.01)],
)
def test_many_refits_are_each_a_refit(seed, strength, ridge):
    """Weak and strong relations up to full separation; rows that come, change, and only leave."""
    design, label = problem(seed, strength=strength)
    design[:, 3] = design[:, 2] * (1 if seed % 2 else 0.999)  # collinear, or nearly
    rng = np.random.default_rng(seed)
    base = ridge_logit.fit(design, label, 3, ridge=ridge)
    refits = Refits(design, ridge_logit.label_sums(design, label, 3), base, ridge)
    records = rng.integers(0, 60, 20)
    new, comes = rng.integers(0, 3, 20), (np.arange(20) % 4 > 0).astype(float)
    rows = np.where(rng.random(20)[:, None] < 0.5, design[records], design[(records + 7) % 60])
    change = Change(design[records], label[records], rows, new, comes)
    beta, left = refits.solve(change)
    assert (left <= 1e-3).all()
    for place, record in enumerate(records):
        table = changed(design, label, record, rows[place], new[place], comes[place])
        truth = ridge_logit.fit(*table, 3, ridge=ridge)
        scores = [b @ design.T for b in (beta[place], truth.beta)]
        shares = [np.exp(s - ridge_logit.log_totals(s)) for s in scores]
        np.testing.assert_allclose(*shares, atol=2e-4)


def test_problems_of_a_batch_do_not_touch_one_another():
    design, label = problem(7)
    base = ridge_logit.fit(design, label, 3)
    refits = Refits(design, ridge_logit.label_sums(design, label, 3), base, 1e-3)
    change = Change(design[:9], label[:9], design[:9], (label[:9] + 1) % 3, np.ones(9))
    whole, _ = refits.solve(change)
    for place in range(9):
        alone, _ = refits.solve(change.take(slice(place, place + 1)))
        np.testing.assert_allclose(whole[place], alone[0], atol=1e-8)


def test_what_steps_leave_open_is_finished(monkeypatch):
    """Two quasi-Newton steps are too few; Newton's method goes on from there."""
    design, label = problem(4, strength=20.0)
    base = ridge_logit.fit(design, label, 3, ridge=0.001)
    refits = Refits(design, ridge_logit.label_sums(design, label, 3), base, 0.001)
    change = Change(design[:8], label[:8], design[8:16], (label[:8] + 1) % 3, np.ones(8))
    beta, left = refits.solve(change, max_iter=2)
    assert (left <= 0.01).all() and (left < 1e-6).sum() >= 6
    for place in np.flatnonzero(left < 1e-6):
        table = changed(design, label, place, design[8 + place], (label[place] + 1) % 3, True)
        truth = ridge_logit.fit(*table, 3, ridge=0.001)
        np.testing.assert_allclose(beta[place], truth.beta, atol=1e-3)
    monkeypatch.setattr(Refits, "finish", lambda self, change, beta: (beta, 1.0))
    _, left = refits.solve(change, max_iter=2)
    assert left.max() == 1.0


def test_a_step_that_rises_is_not_taken_but_shortened():
    """From value 1 and slope −1, a point of value 5 is refused; the next is nearer."""
    state = ridge_logit._Steps.begin(2, 1)
    state.value, state.gradient = np.array([1.0, 1.0]), np.array([[1.0], [1.0]])
    state.direction = np.array([[-1.0], [-1.0]])
    taken = state.judge(np.array([[-1.0], [-1.0]]), np.array([5.0, 0.2]), np.zeros((2, 1)))
    assert taken.tolist() == [False, True]
    # The parabola through 1 and 5 with slope −1 has its lowest point at 1/10.
    assert state.length.tolist() == pytest.approx([0.1, 1.0])
    assert state.point[:, 0].tolist() == [0.0, -1.0]
    assert state.kept.tolist() == [0, 1]
    asked = state.next(taken)
    assert asked[0, 0] == pytest.approx(-0.1)
