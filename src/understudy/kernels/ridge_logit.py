"""Multinomial logit by maximum likelihood with a weak ridge, and many fits that differ in one row.

log p(y = k | x) = xβ_k − log Σ_l exp(xβ_l) with β_0 = 0; minimised is −log likelihood + λ/2 Σ β²
over the other classes. The ridge keeps coefficients finite where classes are separated, and
collinear terms apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_SHRINK = 40  # halvings of a step
_ARMIJO = 1e-4
_MEMORY = 12  # pairs that a quasi-Newton step remembers
_SMALL = 1e-14


@dataclass(frozen=True, eq=False)
class RidgeLogit:
    """A fit.

    Attributes:
        beta: coefficients of all classes but the first (classes − 1 × terms).
        violation: norm of the gradient in the metric of the Hessian.
        iterations: Newton steps made.
        root: Cholesky factor (lower) of the Hessian at the optimum, classes by terms.
    """

    beta: Floats
    violation: float
    iterations: int
    root: Floats


def log_totals(scores: Floats) -> Floats:
    """Log Σ_k exp(score_k), the first class's 0 included; classes on the last axis but one."""
    peak = np.maximum(scores.max(axis=-2, initial=0.0), 0.0)
    total = np.exp(scores - peak[..., None, :]).sum(axis=-2) + np.exp(-peak)
    return np.asarray(peak + np.log(total), dtype=np.float64)


def hessian(design: Floats, probability: Floats, ridge: float) -> Floats:
    """Σ_j (diag(p_j) − p_j p_jᵀ) ⊗ x_j x_jᵀ + λ I. Cost: rows × (classes × terms)² / 2."""
    classes, terms = len(probability), design.shape[1]
    result = np.empty((classes, terms, classes, terms))
    for k in range(classes):
        for other in range(k + 1):
            weight = -probability[k] * probability[other]
            if k == other:
                weight = weight + probability[k]
            block = (design * weight[:, None]).T @ design
            result[k, :, other], result[other, :, k] = block, block.T
    flat = result.reshape(classes * terms, classes * terms)
    flat[np.diag_indices_from(flat)] += ridge
    return flat


def fit(
    design: Floats,
    label: Ints,
    classes: int,
    *,
    ridge: float = 1e-3,
    tolerance: float = 1e-6,
    max_iter: int = 100,
    begin: Floats | None = None,
) -> RidgeLogit:
    """Newton's method with halved steps.

    Args:
        design: rows × terms, a constant among them.
        label: class of each row, from 0.
        classes: number of classes.
        ridge: λ, on all coefficients.
        tolerance: largest violation.
        max_iter: most steps.
        begin: coefficients to begin from.

    Example:
        >>> x = np.array([[1.0, 0.0]] * 4 + [[1.0, 1.0]] * 4)
        >>> found = fit(x, np.array([0, 0, 0, 1, 0, 1, 1, 1]), 2, ridge=1e-9)
        >>> np.round(1 / (1 + np.exp(-found.beta @ x[[0, 7]].T)), 3).tolist()
        [[0.25, 0.75]]
    """
    beta = np.zeros((classes - 1, design.shape[1])) if begin is None else begin.copy()
    sums = label_sums(design, label, classes)
    value, probability, gradient = _value(design, sums, ridge, beta)
    for iteration in range(max_iter + 1):
        factor = cho_factor(hessian(design, probability, ridge), lower=True)
        step = -cho_solve(factor, gradient.ravel()).reshape(beta.shape)
        slope = float((gradient * step).sum())
        if -slope <= tolerance**2 or iteration == max_iter:
            break
        for halving in range(_SHRINK):
            trial = _value(design, sums, ridge, beta + 0.5**halving * step)
            if trial[0] <= value + _ARMIJO * 0.5**halving * slope:
                break
        else:
            break  # rounding: no step of any length lowers it further
        beta = beta + 0.5**halving * step
        value, probability, gradient = trial
    root = np.tril(factor[0])
    return RidgeLogit(beta, float(np.sqrt(max(-slope, 0.0))), iteration, root)


def label_sums(design: Floats, label: Ints, classes: int) -> Floats:
    """Σ of the rows of each class but the first (classes − 1 × terms)."""
    sums = np.zeros((classes, design.shape[1]))
    np.add.at(sums, label, design)
    return sums[1:]


def _value(
    design: Floats, sums: Floats, ridge: float, beta: Floats
) -> tuple[float, Floats, Floats]:
    scores = beta @ design.T
    total = log_totals(scores)
    value = total.sum() - (beta * sums).sum() + ridge / 2 * (beta**2).sum()
    probability = np.exp(scores - total)
    return float(value), probability, probability @ design - sums + ridge * beta


def log_evidence(
    design: Floats, times: Floats, sums: Floats, base: RidgeLogit, *, max_iter: int = 50
) -> float:
    """Log ∫ p(labels | β) N(β; β̂, H⁻¹) dβ, by Laplace's method: coefficients were drawn.

    With u = Lᵀ(β − β̂) the integrand is exp(ℓ(u) − |u|²/2); at its peak u* it is
    ℓ(u*) − |u*|²/2 − ½ ln |I + L⁻¹ H_Z L⁻ᵀ|, H_Z the Hessian of −ℓ. Its error falls with the rows.

    Args:
        design: distinct rows.
        times: how often each occurs.
        sums: what the labels add up to.
        base: the fit that coefficients were drawn around.
        max_iter: most Newton steps.

    Example:
        >>> base = RidgeLogit(np.zeros((1, 1)), 0.0, 0, np.full((1, 1), 10.0))  # β is about 0
        >>> one = np.ones((1, 1))
        >>> round(log_evidence(one, np.array([3.0]), 2 * one, base), 2)  # 3 draws, 2 of them 1
        -2.08
    """
    shape, point = base.beta.shape, np.zeros(base.beta.size)

    def beta(at: Floats) -> Floats:
        moved = solve_triangular(base.root, at, lower=True, trans="T")
        return np.asarray(base.beta + moved.reshape(shape), dtype=np.float64)

    def value(at: Floats) -> float:
        here = beta(at)
        loss = float(times @ log_totals(here @ design.T) - (here * sums).sum())
        return loss + float(at @ at) / 2

    now = value(point)
    for _ in range(max_iter):
        scores = beta(point) @ design.T
        share = np.exp(scores - log_totals(scores))
        slope = ((share * times) @ design - sums).ravel()
        slope = solve_triangular(base.root, slope, lower=True) + point
        bent = _weighted(design, share, times)
        half = solve_triangular(base.root, bent, lower=True)
        whole: Floats = np.asarray(solve_triangular(base.root, half.T, lower=True))
        whole[np.diag_indices_from(whole)] += 1.0
        factor = cho_factor(whole, lower=True)
        step = -cho_solve(factor, slope)
        if float(-slope @ step) <= 1e-12:
            break
        for halving in range(_SHRINK):
            trial = value(point + 0.5**halving * step)
            if trial < now:
                break
        else:
            break  # rounding: no step of any length lowers it further
        point, now = point + 0.5**halving * step, trial
    return float(-now - np.log(np.diag(factor[0])).sum())


def _weighted(design: Floats, probability: Floats, times: Floats) -> Floats:
    """`hessian` of rows that count several times, without a ridge."""
    root = np.sqrt(times)
    return hessian(design * root[:, None], probability, 0.0)


@dataclass(frozen=True, eq=False)
class Change:
    """Rows that leave and rows that come, one of each for every problem.

    Attributes:
        old: design row that leaves (problems × terms).
        old_label: its class.
        new: design row that comes.
        new_label: its class.
        comes: 0 where nobody comes in its place.
    """

    old: Floats
    old_label: Ints
    new: Floats
    new_label: Ints
    comes: Floats

    def take(self, part: slice | Ints) -> Change:
        """Some of the problems."""
        return Change(*(value[part] for value in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits to a table with one row changed, many at once, from the fit to the table itself.

    In the coordinates u = Lᵀ(β − β̂) of the one factorised Hessian LLᵀ every problem is nearly a
    sphere. Quasi-Newton steps (L-BFGS) with safeguarded lengths go on until the gradient is small
    there; every problem has its own step, all share the matrix products.

    Attributes:
        design: rows × terms.
        sums: what labels add up to.
        base: the fit to the table.
        ridge: λ.
    """

    design: Floats
    sums: Floats
    base: RidgeLogit
    ridge: float

    def solve(
        self, change: Change, *, tolerance: float = 1e-3, max_iter: int = 200
    ) -> tuple[Floats, Floats]:
        """Coefficients of every problem (problems × classes − 1 × terms), and their violations.

        Cost: about 10 to 30 times problems × (rows × classes × terms + (classes × terms)²).
        """
        shape = (len(change.old), *self.base.beta.shape)
        flat = shape[1] * shape[2]
        best, left = np.zeros((shape[0], flat)), np.full(shape[0], np.inf)
        state = _Steps.begin(shape[0], flat)
        active, asked = np.arange(shape[0]), np.zeros((shape[0], flat))
        for _ in range(max_iter):
            value, gradient = self._at(asked, change.take(active))
            taken = state.judge(asked, value, gradient)
            norm = np.sqrt((state.gradient**2).sum(axis=1))
            best[active[taken]], left[active[taken]] = state.point[taken], norm[taken]
            going = np.flatnonzero((norm > tolerance) & (state.length > _SMALL))
            if not going.size:
                break
            active, state = active[going], state.take(going)
            asked = state.next(taken[going])
        # What is left of the gradient is one Newton step, since the metric is the Hessian's.
        _, gradient = self._at(best, change)
        near = np.sqrt((gradient**2).sum(axis=1)) <= 10 * tolerance
        best = np.where(near[:, None], best - gradient, best)
        beta = self._beta(best)
        for hard in np.flatnonzero(left > 10 * tolerance):
            beta[hard], left[hard] = self.finish(change.take(slice(hard, hard + 1)), beta[hard])
        return beta, left

    def finish(self, change: Change, beta: Floats) -> tuple[Floats, float]:
        """Newton's method for one problem, from some coefficients: what quasi-Newton left open."""
        value, gradient, bent = self._second(beta, change)
        slope = 0.0
        for _ in range(_SHRINK):
            step = -cho_solve(cho_factor(bent, lower=True), gradient.ravel()).reshape(beta.shape)
            slope = float((gradient * step).sum())
            trial = value
            for halving in range(_SHRINK):
                trial, *_ = self._second(beta + 0.5**halving * step, change)
                if trial < value + _ARMIJO * 0.5**halving * slope:
                    break
            if -slope <= 1e-12 or trial >= value:
                break
            beta = beta + 0.5**halving * step
            value, gradient, bent = self._second(beta, change)
        return beta, float(np.sqrt(max(-slope, 0.0)))

    def _second(self, beta: Floats, change: Change) -> tuple[float, Floats, Floats]:
        """Objective, gradient and Hessian of one problem."""
        value, share, gradient = _value(self.design, self.sums, self.ridge, beta)
        bent = hessian(self.design, share, self.ridge)
        for row, label, sign in (
            (change.old[0], int(change.old_label[0]), -1.0),
            (change.new[0], int(change.new_label[0]), float(change.comes[0])),
        ):
            own, target = beta @ row, np.zeros(len(beta))
            total = float(log_totals(own[:, None])[0])
            p = np.exp(own - total)
            if label:
                target[label - 1] = 1.0
            value += sign * (total - float(own @ target))
            gradient = gradient + sign * np.outer(p - target, row)
            bent = bent + sign * np.kron(np.diag(p) - np.outer(p, p), np.outer(row, row))
        return value, gradient, bent

    def _beta(self, point: Floats) -> Floats:
        moved = solve_triangular(self.base.root, point.T, lower=True, trans="T").T
        return np.asarray(self.base.beta + moved.reshape(-1, *self.base.beta.shape))

    def _at(self, point: Floats, change: Change) -> tuple[Floats, Floats]:
        """Objective and gradient of every problem at its own point."""
        beta = self._beta(point)
        count, classes, terms = beta.shape
        rows = np.arange(count)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = (beta.reshape(-1, terms) @ self.design.T).reshape(count, classes, -1)
            np.exp(scores, out=scores)
            total = scores.sum(axis=1) + 1.0
            scores /= total[:, None]
            value = np.log(total).sum(axis=1) - np.tensordot(beta, self.sums, 2)
            gradient = (scores.reshape(count * classes, -1) @ self.design).reshape(beta.shape)
            gradient -= self.sums
            for row, label, sign in (
                (change.old, change.old_label, np.full(count, -1.0)),
                (change.new, change.new_label, change.comes),
            ):
                own = np.einsum("bkt,bt->bk", beta, row)
                all_ = log_totals(own[:, :, None])[:, 0]
                share = np.exp(own - all_[:, None])
                here = label > 0
                value += sign * all_
                value[here] -= (sign * own[rows, np.maximum(label, 1) - 1])[here]
                share[rows[here], label[here] - 1] -= 1.0
                gradient += (sign[:, None] * share)[:, :, None] * row[:, None, :]
        value += self.ridge / 2 * (beta**2).sum(axis=(1, 2))
        gradient += self.ridge * beta
        flat = gradient.reshape(count, -1)
        bad = ~np.isfinite(value) | ~np.isfinite(flat).all(axis=1)
        value[bad], flat[bad] = np.inf, 0.0
        return value, solve_triangular(self.base.root, flat.T, lower=True).T


@dataclass(eq=False)
class _Steps:
    """Where each problem stands, and the pairs of steps and gradient changes it remembers."""

    point: Floats
    value: Floats
    gradient: Floats
    direction: Floats
    length: Floats
    moves: Floats
    turns: Floats
    kept: Ints

    @classmethod
    def begin(cls, count: int, size: int) -> _Steps:
        empty = np.zeros((count, size))
        return cls(
            empty,
            np.full(count, np.inf),
            empty.copy(),
            empty.copy(),
            np.ones(count),
            np.zeros((_MEMORY, count, size)),
            np.zeros((_MEMORY, count, size)),
            np.zeros(count, dtype=np.int64),
        )

    def take(self, part: Ints) -> _Steps:
        return _Steps(
            self.point[part],
            self.value[part],
            self.gradient[part],
            self.direction[part],
            self.length[part],
            self.moves[:, part],
            self.turns[:, part],
            self.kept[part],
        )

    def judge(self, asked: Floats, value: Floats, gradient: Floats) -> NDArray[np.bool_]:
        """Accept points that are low enough, and remember the step; shorten the others' steps."""
        slope = (self.gradient * self.direction).sum(axis=1)
        first = np.isinf(self.value) & np.isfinite(value)
        low = value <= self.value + _ARMIJO * self.length * slope + 1e-11 * np.abs(value)
        taken: NDArray[np.bool_] = np.asarray(first | (np.isfinite(value) & low))
        step, turn = asked - self.point, gradient - self.gradient
        good = taken & ~first & ((step * turn).sum(axis=1) > _SMALL)
        slot = self.kept[good] % _MEMORY
        self.moves[slot, np.flatnonzero(good)] = step[good]
        self.turns[slot, np.flatnonzero(good)] = turn[good]
        self.kept[good] += 1
        # The parabola through both values and the slope, not to less than a tenth.
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            bent = value - self.value - self.length * slope
            shorter = -slope * self.length**2 / (2 * bent)
        shorter = np.where(np.isfinite(shorter), shorter, 0.0)
        shorter = np.clip(shorter, 0.1 * self.length, 0.5 * self.length)
        self.length = np.where(taken, 1.0, shorter)
        self.point = np.where(taken[:, None], asked, self.point)
        self.value = np.where(taken, value, self.value)
        self.gradient = np.where(taken[:, None], gradient, self.gradient)
        return taken

    def next(self, taken: NDArray[np.bool_]) -> Floats:
        """The next points: a new direction where a step was taken, else a shorter step."""
        if taken.any():
            fresh = self._direction(np.flatnonzero(taken))
            self.direction[taken] = fresh
        return self.point + self.length[:, None] * self.direction

    def _direction(self, part: Ints) -> Floats:
        """The two loops of L-BFGS (Nocedal 1980); the first metric is the Hessian's: 1."""
        result = -self.gradient[part]
        kept = self.kept[part]
        deep = min(int(kept.max(initial=0)), _MEMORY)
        weights = []
        for back in range(1, deep + 1):
            has = kept >= back
            slot = (kept - back) % _MEMORY
            move, turn = self.moves[slot, part], self.turns[slot, part]
            curve = np.where(has, (move * turn).sum(axis=1), 1.0)
            weight = np.where(has, (move * result).sum(axis=1) / curve, 0.0)
            result = result - weight[:, None] * turn
            weights.append((weight, move, turn, curve, has))
        for weight, move, turn, curve, has in reversed(weights):
            other = np.where(has, (turn * result).sum(axis=1) / curve, 0.0)
            result = result + (weight - other)[:, None] * move
        return np.asarray(result, dtype=np.float64)
