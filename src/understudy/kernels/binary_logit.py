"""Unpenalised logistic regression of a 0/1 label, by Newton's method.

Maximum likelihood has no finite coefficients when the columns separate the labels, but the
fitted probabilities still have a limit, and that limit is what a propensity score needs. So the
iteration stops on the deviance, not on the coefficients, and separation is said, never raised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpstrf
from scipy.special import expit

Float = npt.NDArray[np.float64]

BLOCK = 8192  # rows per block: the weighted copy of the design stays in cache
STEPS = 60
HALVINGS = 30
TOLERANCE = 1e-11  # relative change of the deviance
SHRINKS = 0.1  # a chord step that gains more than this share of the last one needs new information
DEPENDENT = 1e-9  # squared relative residual below which a column adds nothing
EDGE = 1e-5  # a probability this close to 0 or 1 counts as fitted there
RIDGE = 1e-2  # fallback: added to the information of standardised columns


@dataclass(frozen=True)
class BinaryLogit:
    """Fitted probabilities, the rank of the design with its intercept, and what went wrong."""

    probability: Float
    rank: int
    deviance: float
    note: str


def fit_binary_logit(columns: Float, label: Float, *, chord: bool = False) -> BinaryLogit:
    """Fit P(label = 1) = 1 / (1 + exp(−β₀ − xβ)) by maximum likelihood, without penalty.

    Columns that others explain are dropped, so the rank is that of the design. If Newton's
    method does not converge, a ridge of 0.01 on the standardised coefficients is used instead,
    and the note says so; the note also says how many rows are fitted at 0 or 1 (separation).

    With ``chord`` a step uses the information of an earlier one as long as each gains at most a
    tenth of the last. Between like tables weights hardly change: it takes half the time, and
    probabilities are right to 1e-5 instead of 1e-9.

    Example:
        >>> fit = fit_binary_logit(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0., 1, 1, 1]))
        >>> fit.rank, np.round(fit.probability, 4).tolist(), fit.note
        (2, [0.5, 0.5, 1.0, 1.0], '2 rows fitted at 0 or 1 (separation)')
    """
    design = _standardise(columns)
    gram = _gram(design, np.ones(len(design)))
    keep = independent(gram)
    if len(keep) < design.shape[1]:
        design, gram = design[:, keep], gram[np.ix_(keep, keep)]
    linear, deviance, converged = _newton(design, label, gram, ridge=0.0, chord=chord)
    notes = []
    if not converged:
        linear, deviance, settled = _newton(design, label, gram, ridge=RIDGE)
        notes.append(f"maximum likelihood did not converge, ridge of {RIDGE:g} used")
        notes += [] if settled else [f"which was stopped after {STEPS} steps"]
    probability = expit(linear)
    edge = int(np.count_nonzero(np.minimum(probability, 1 - probability) < EDGE))
    if edge:
        notes.append(f"{edge} rows fitted at 0 or 1 (separation)")
    return BinaryLogit(probability, len(keep), deviance, "; ".join(notes))


def independent(gram: Float) -> npt.NDArray[np.intp]:
    """Return the positions of a largest set of independent columns, by pivoted Cholesky.

    Example:
        >>> x = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
        >>> len(independent(x.T @ x))
        2
    """
    size = np.sqrt(np.diag(gram))
    present = np.flatnonzero(size > 0)
    if not len(present):
        return present
    scaled = gram[np.ix_(present, present)] / np.outer(size[present], size[present])
    _, pivots, rank, _ = dpstrf(scaled, tol=DEPENDENT, lower=1)
    return np.asarray(np.sort(present[pivots[:rank] - 1]))


def _standardise(columns: Float) -> Float:
    """Put an intercept before the columns, centred and scaled; a constant column becomes 0."""
    design = np.ones((len(columns), columns.shape[1] + 1))
    body = design[:, 1:]
    np.subtract(columns, columns.mean(axis=0), out=body)
    spread = np.sqrt(np.einsum("ij,ij->j", body, body) / len(body))
    # Rounding leaves a constant column with a spread near 1e-16 of its size, not exactly 0.
    live = spread > 1e-12 * np.max(np.abs(columns), axis=0, initial=0)
    body *= np.where(live, 1 / np.where(live, spread, 1), 0)
    return design


def _gram(design: Float, weight: Float) -> Float:
    """Return Σ wᵢ xᵢxᵢᵀ, block by block."""
    total = np.zeros((design.shape[1], design.shape[1]))
    root = np.sqrt(weight)[:, None]
    for start in range(0, len(design), BLOCK):
        part = design[start : start + BLOCK] * root[start : start + BLOCK]
        total += part.T @ part
    return total


def _deviance(linear: Float, label: Float) -> float:
    return 2 * float(np.logaddexp(0, np.where(label == 1, -linear, linear)).sum())


def _newton(
    design: Float, label: Float, gram: Float, *, ridge: float, chord: bool = False
) -> tuple[Float, float, bool]:
    """Newton steps, halved until the objective falls; the linear predictor of every row."""
    share = float(label.mean())
    beta = np.zeros(design.shape[1])
    beta[0] = np.log(share / (1 - share))
    penalty = np.full(len(beta), ridge)
    penalty[0] = 0.0
    linear = design @ beta
    objective = _deviance(linear, label)
    information = gram * (share * (1 - share))  # the first weights are all equal
    factor, last = None, np.inf
    for _ in range(STEPS):
        gradient = design.T @ (label - expit(linear)) - penalty * beta
        try:
            factor = factor or cho_factor(information + np.diag(penalty))
        except LinAlgError:
            return linear, objective, False
        step = cho_solve(factor, gradient)
        along = design @ step
        for halving in range(HALVINGS):
            size = 0.5**halving
            moved = beta + size * step
            value = _deviance(linear + size * along, label) + float(penalty @ moved**2)
            if value <= objective * (1 + 1e-14):
                break
        else:
            return linear, objective, False
        beta, linear, gain = moved, linear + size * along, objective - value
        objective = value
        if gain <= TOLERANCE * (objective + 0.1):
            return linear, objective, True
        if not (chord and gain <= SHRINKS * last):
            probability = expit(linear)
            information, factor = _gram(design, probability * (1 - probability)), None
        last = gain
    return linear, objective, False
