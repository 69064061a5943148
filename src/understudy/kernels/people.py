"""Rows that come in persons: what that does to numbers that take rows for independent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from understudy.kernels.binary_logit import independent

Float = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Whose = tuple[Ints | None, Ints | None]


def pooled(people: Whose, rows: tuple[int, int]) -> tuple[Ints, int]:
    """Number the people of two stacked tables from 0; the second result counts those of the first.

    Where a table does not say whose its rows are, every row is a person.

    Example:
        >>> whose, first = pooled((np.array([7, 7, 3]), None), (3, 2))
        >>> whose.tolist(), first
        ([1, 1, 0, 2, 3], 2)
    """
    one, two = (
        np.unique(np.arange(size) if person is None else person, return_inverse=True)[1]
        for person, size in zip(people, rows, strict=True)
    )
    first = int(one.max(initial=-1)) + 1
    return np.concatenate([one, two + first]), first


def least_rows(person: Ints | None, rows: int) -> float:
    """Fewest independent rows that these can stand for: n² / Σ m², all of a person's rows alike.

    Source: Kish (1965), Survey Sampling, §8.2, with the largest correlation within a person.

    Example:
        >>> least_rows(np.array([0, 0, 1, 1]), 4), least_rows(None, 4)
        (2.0, 4.0)
    """
    if person is None:
        return float(rows)
    size = np.unique(person, return_counts=True)[1]
    return rows**2 / float(np.square(size).sum())


def score_effects(columns: Float, person: Ints) -> tuple[float, float]:
    """How much more a table's means stray when people are drawn, each with all rows, not rows.

    With x the centred columns and s_p = Σ_{i in p} x_i, the eigenvalues δ of (Σ x xᵀ)⁻¹ Σ s sᵀ are
    the generalised design effects. A quadratic form in the means, such as the pMSE of a logit, is
    then expected to be δ̄ times that of independent rows, and is nearly a chi-square with
    (Σδ)² / Σδ² degrees of freedom. Returns δ̄ and these degrees.

    Source: Rao & Scott (1981), JASA 76:221, with Satterthwaite's second-order correction.
    Cost: O(rows × columns²).

    Example:
        >>> x = np.array([[0.0], [0.0], [1.0], [1.0]])
        >>> [round(v, 6) for v in score_effects(x, np.array([0, 0, 1, 1]))]
        [2.0, 1.0]
    """
    centred = columns - columns.mean(axis=0)
    gram = centred.T @ centred
    keep = independent(gram)
    if not len(keep):
        return 1.0, 0.0
    centred, gram = centred[:, keep], gram[np.ix_(keep, keep)]
    order = np.argsort(person, kind="stable")
    start = np.flatnonzero(np.diff(person[order], prepend=-1))
    sums = np.add.reduceat(centred[order], start, axis=0)
    root = np.linalg.cholesky(gram)
    half = np.linalg.solve(root, sums.T)
    effects = half @ half.T
    total = float(np.trace(effects))
    return total / len(keep), total**2 / float(np.square(effects).sum())
