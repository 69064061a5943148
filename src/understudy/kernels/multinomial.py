"""Multinomial logit with an L1 penalty, by proximal Newton steps.

Each step replaces the log likelihood by its second-order expansion with the *full* Hessian over all
classes and solves the lasso that is left by coordinate descent. Adding one number to a
term's coefficients in all classes changes no probability, so after each step every term is moved to
where its penalty is least. Problems too large for a dense Hessian go to L-BFGS-B.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

Floats = NDArray[np.float64]

_DENSE = 2_500  # most coefficients for which a dense Hessian is built
_FIRST_ROWS = (
    4_000  # the first Hessian is estimated from so many rows, each next from twice as many
)
_BLOCK = 4_096  # rows per block of the Hessian
_DAMPING = 1e-5  # relative to the Hessian's diagonal
_SWEEPS = (20, 1_000)  # fewest and most sweeps of the coordinate descent
_SHRINK = 30  # halvings of a step
_ARMIJO = 1e-4


@dataclass(frozen=True, eq=False)
class MultinomialLogit:
    """Fitted coefficients of every class.

    Attributes:
        intercept: one per class, not penalised.
        coefficients: classes × terms.
        objective: −C·log likelihood + Σ|β|.
        violation: largest violation of the optimality conditions, in units of max(1, C).
        iterations: steps made.
        converged: the violation is below the tolerance.
    """

    intercept: Floats
    coefficients: Floats
    objective: float = np.inf
    violation: float = np.inf
    iterations: int = 0
    converged: bool = False


@dataclass(frozen=True, eq=False)
class _Problem:
    """Terms with a leading 1 (terms × rows), what the labels add up to, and C."""

    terms: Floats
    label_sums: Floats
    strength: float

    @classmethod
    def of(cls, terms: Floats, label: NDArray[np.int64], classes: int, strength: float) -> _Problem:
        rows = np.empty((terms.shape[1] + 1, len(terms)))
        rows[0], rows[1:] = 1.0, terms.T
        sums = np.zeros((classes, len(rows)))
        for k in range(classes):
            sums[k] = rows[:, label == k].sum(axis=1)
        return cls(rows, sums, strength)

    def value(self, beta: Floats) -> tuple[float, Floats]:
        """The objective and every row's probabilities (classes × rows)."""
        probability, log_total = _softmax(beta @ self.terms)
        loss = log_total.sum() - (beta * self.label_sums).sum()
        return float(self.strength * loss + np.abs(beta[:, 1:]).sum()), probability

    def gradient(self, probability: Floats) -> Floats:
        """Gradient of −C·log likelihood."""
        return self.strength * (probability @ self.terms.T - self.label_sums)

    def null(self) -> Floats:
        """No coefficients, and the intercepts of the classes' own frequencies."""
        beta = np.zeros_like(self.label_sums)
        beta[:, 0] = np.log(self.label_sums[:, 0] / self.terms.shape[1])
        return beta


def fit(
    terms: Floats,
    label: NDArray[np.int64],
    classes: int,
    *,
    strength: float = 1.0,
    tolerance: float = 1e-2,
    max_iter: int = 100,
    begin: MultinomialLogit | None = None,
) -> MultinomialLogit:
    """Minimise −C Σ_j log p(y_j | x_j) + Σ_k ‖β_k‖₁ (Bale & Quick eq. 22–23).

    The intercepts are not penalised, so that C → 0 draws from the marginal distribution.

    Args:
        terms: rows × terms.
        label: class of each row, 0 to ``classes`` − 1; each class occurs.
        classes: number of classes.
        strength: C, the inverse of the penalty's strength.
        tolerance: largest violation of the optimality conditions, in units of max(1, C).
        max_iter: most Newton steps (times 20 for L-BFGS-B).
        begin: a fit of a similar problem to begin from.

    Example:
        >>> x = np.array([[0.0], [0.0], [1.0], [1.0]] * 50)
        >>> weak = fit(x, np.array([0, 1, 1, 1] * 50), 2, strength=1e-6)
        >>> weak.coefficients.tolist(), np.exp(log_probabilities(weak, x[:1])).round(2).tolist()
        ([[0.0], [0.0]], [[0.25, 0.75]])
    """
    problem = _Problem.of(terms, label, classes, strength)
    beta = problem.null()
    if begin is not None:
        beta = np.concatenate([begin.intercept[:, None], begin.coefficients], axis=1)
    if beta.size <= _DENSE:
        # Far from the solution a rough step is as good as a fine one; a warm start is near.
        rough = begin is None
        beta, iterations = _newton(problem, beta, tolerance, max_iter, rough=rough)
    else:
        beta, iterations = _quasi_newton(problem, beta, tolerance, 20 * max_iter)
    objective, probability = problem.value(beta)
    violation = _violation(problem, beta, probability)
    return MultinomialLogit(
        beta[:, 0], beta[:, 1:], objective, violation, iterations, violation <= tolerance
    )


def log_probabilities(model: MultinomialLogit, terms: Floats) -> Floats:
    """Log p(class | terms) for every row and class."""
    scores = model.coefficients @ terms.T + model.intercept[:, None]
    scores -= scores.max(axis=0)
    return np.ascontiguousarray((scores - np.log(np.exp(scores).sum(axis=0))).T)


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Probabilities, in place of the scores, and log Σ exp of every column."""
    peak = scores.max(axis=0)
    scores -= peak
    np.exp(scores, out=scores)
    total = scores.sum(axis=0)
    scores /= total
    return scores, peak + np.log(total)


def _violation(problem: _Problem, beta: Floats, probability: Floats) -> float:
    """Largest subgradient of the objective that is nearest to zero, over all coefficients."""
    gradient = problem.gradient(probability)
    weight, slope = beta[:, 1:], gradient[:, 1:]
    active = np.abs(slope + np.sign(weight))
    still = np.maximum(np.abs(slope) - 1.0, 0.0)
    worst = np.where(weight != 0, active, still).max(initial=0.0)
    largest = max(worst, np.abs(gradient[:, 0]).max(initial=0.0))
    return float(largest / max(1.0, problem.strength))


def _newton(
    problem: _Problem, beta: Floats, tolerance: float, max_iter: int, *, rough: bool
) -> tuple[Floats, int]:
    """Proximal Newton steps, halved until the objective falls enough."""
    value, probability = problem.value(beta)
    stiff = 1.0
    sweeps, rows = (_SWEEPS[0], _FIRST_ROWS) if rough else (_SWEEPS[1], problem.terms.shape[1])
    for iteration in range(max_iter):
        violation = _violation(problem, beta, probability)
        if violation <= tolerance:
            return beta, iteration
        gradient = problem.gradient(probability)
        hessian = stiff * _hessian(problem, probability, rows)
        step = _lasso(hessian, gradient, beta, sweeps) - beta
        after = np.abs(beta + step)[:, 1:].sum()
        slope = float((gradient * step).sum() + after - np.abs(beta)[:, 1:].sum())
        for halving in range(_SHRINK):
            moved = _cheapest(beta + 0.5**halving * step)
            trial, moved_probability = problem.value(moved)
            if trial <= value + _ARMIJO * 0.5**halving * min(slope, 0.0):
                break
        else:
            return beta, iteration
        # A step that had to be halved tells that the Hessian was estimated too small. Near the
        # solution it pays to know the Hessian and to solve the lasso well.
        stiff = 1.0 if halving == 0 else 1.5 * stiff
        sweeps, rows = min(2 * sweeps, _SWEEPS[1]), 2 * rows
        beta, value, probability = moved, trial, moved_probability
    return beta, max_iter


def _hessian(problem: _Problem, probability: Floats, most: int) -> Floats:
    """C Σ_j (diag(p_j) − p_j p_jᵀ) ⊗ x_j x_jᵀ, from about ``most`` evenly spaced rows.

    Single precision: it shapes the steps, not the solution.
    """
    rows = problem.terms.shape[1]
    every = max(rows // most, 1)
    terms = problem.terms[:, ::every].astype(np.float32)
    share = probability[:, ::every].astype(np.float32)
    (classes, used), size = share.shape, len(terms)
    total = np.zeros((classes * size, classes * size), dtype=np.float32)
    for start in range(0, used, _BLOCK):
        part = slice(start, start + _BLOCK)
        weighted = (share[:, None, part] * terms[None, :, part]).reshape(classes * size, -1)
        total -= weighted @ weighted.T
        own = (weighted @ terms[:, part].T).reshape(classes, size, size)
        for k in range(classes):
            total[k * size : (k + 1) * size, k * size : (k + 1) * size] += own[k]
    total *= problem.strength * rows / used
    return np.asarray(total, dtype=np.float64)


def _lasso(hessian: Floats, gradient: Floats, beta: Floats, sweeps: int) -> Floats:
    """Minimise gᵀ(b − β) + ½ (b − β)ᵀ H (b − β) + Σ|b|, the intercepts eliminated first."""
    free = np.arange(beta.size) % beta.shape[1] == 0
    held = ~free
    target = hessian @ beta.ravel() - gradient.ravel()
    diagonal = np.diag(hessian)
    damping = _DAMPING
    while True:
        # Damping towards β, so that it does not move the solution.
        extra = damping * (diagonal + diagonal.mean())
        inner = hessian + np.diag(extra)
        right = target + extra * beta.ravel()
        cross = inner[np.ix_(held, free)]
        solved = np.linalg.solve(inner[np.ix_(free, free)], np.column_stack([cross.T, right[free]]))
        reduced = inner[np.ix_(held, held)] - cross @ solved[:, :-1]
        try:
            root = np.asarray(np.linalg.cholesky(reduced), dtype=np.float64)
            break
        except np.linalg.LinAlgError:
            damping *= 100.0
    moved = beta.ravel().copy()
    if held.any():
        moved[held] = _descend(root, right[held] - cross @ solved[:, -1], moved[held], sweeps)
    moved[free] = solved[:, -1] - solved[:, :-1] @ moved[held]
    return moved.reshape(beta.shape)


def _descend(root: Floats, right: Floats, begin: Floats, sweeps: int) -> Floats:
    """Minimise ½ bᵀ(R Rᵀ)b − qᵀb + Σ|b| by scikit-learn's coordinate descent on Rᵀb ≈ R⁻¹q."""
    from sklearn.linear_model import enet_path

    response = solve_triangular(root, right, lower=True)
    with _UNFINISHED:
        _, path, _ = enet_path(
            np.asfortranarray(root.T),
            response,
            l1_ratio=1.0,
            alphas=[1.0 / len(right)],
            precompute=False,
            coef_init=begin,
            tol=1e-12,
            max_iter=sweeps,
        )
    return np.asarray(path[:, 0], dtype=np.float64)


class _Unfinished:
    """Ignores that coordinate descent has not converged, since the outer steps go on.

    `warnings.catch_warnings` puts back what it found: of two threads that overlap, the second finds
    the first one's filters. So the first thread in sets them, and the last one out puts them back.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.before = warnings.catch_warnings()

    def __enter__(self) -> None:
        from sklearn.exceptions import ConvergenceWarning

        with self.lock:
            if self.inside == 0:
                self.before = warnings.catch_warnings()
                self.before.__enter__()
                warnings.simplefilter("ignore", ConvergenceWarning)
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.before.__exit__(None, None, None)


_UNFINISHED = _Unfinished()


def _cheapest(beta: Floats) -> Floats:
    """Move each term's coefficients by their median: the same probabilities, the least penalty."""
    result = beta - np.sort(beta, axis=0)[(len(beta) - 1) // 2]
    result[:, 0] = beta[:, 0] - beta[:, 0].mean()
    return np.asarray(result, dtype=np.float64)


def _quasi_newton(
    problem: _Problem, beta: Floats, tolerance: float, max_iter: int
) -> tuple[Floats, int]:
    """L-BFGS-B on β = u − v with u, v ≥ 0, which makes the penalty linear."""
    shape, size = beta.shape, beta[:, 1:].size

    def join(point: Floats) -> Floats:
        weight = (point[:size] - point[size : 2 * size]).reshape(shape[0], -1)
        return np.concatenate([point[2 * size :, None], weight], axis=1)

    def value(point: Floats) -> tuple[float, Floats]:
        joined = join(point)
        total, probability = problem.value(joined)
        # Where u and v are both positive the penalty is u + v, not |u − v|.
        total += float(point[: 2 * size].sum() - np.abs(joined[:, 1:]).sum())
        gradient = problem.gradient(probability)
        slope = gradient[:, 1:].ravel()
        return total, np.concatenate([1.0 + slope, 1.0 - slope, gradient[:, 0]])

    weight = beta[:, 1:].ravel()
    found = minimize(
        value,
        np.concatenate([np.maximum(weight, 0), np.maximum(-weight, 0), beta[:, 0]]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * size) + [(None, None)] * shape[0],
        options={
            "maxiter": max_iter,
            "maxfun": 2 * max_iter,
            "ftol": 0.0,
            "gtol": tolerance * max(1.0, problem.strength) / 2,
            "maxcor": 20,
        },
    )
    return _cheapest(join(found.x)), int(found.nit)
