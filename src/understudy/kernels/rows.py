"""Multisets of rows, given as one number per row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from understudy.kernels.people import Whose, pooled

Ints = NDArray[np.int64]


def number_rows(tables: Sequence[Ints]) -> list[Ints]:
    """Number the distinct rows of several tables of codes together: equal rows, equal numbers.

    Cost: a sort of the rows for each column.

    Example:
        >>> one, other = number_rows([np.array([[0, 7], [1, 7]]), np.array([[1, 7]])])
        >>> one.tolist(), other.tolist()
        ([0, 1], [1])
    """
    rows = np.concatenate(tables)
    number = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        _, code = np.unique(column, return_inverse=True)
        _, number = np.unique(number * (code.max(initial=0) + 1) + code, return_inverse=True)
    return np.split(number, np.cumsum([len(table) for table in tables])[:-1])


def overlap(first: Ints, second: Ints) -> float:
    """Shared mass of two multisets: Σ_r min(a_r / N_a, b_r / N_b), 1 − total variation.

    Example:
        >>> overlap(np.array([0, 0, 1]), np.array([0, 1, 2]))
        0.6666666666666666
    """
    if first.size == 0 or second.size == 0:
        return 0.0
    size = int(max(first.max(), second.max())) + 1
    a = np.bincount(first, minlength=size) / first.size
    b = np.bincount(second, minlength=size) / second.size
    return float(np.minimum(a, b).sum())


def overlap_null(
    first: Ints,
    second: Ints,
    rng: np.random.Generator,
    *,
    draws: int,
    people: Whose = (None, None),
) -> tuple[float, float]:
    """Mean and standard deviation of `overlap` when the pooled rows are dealt out at random.

    ``people`` says whose row each is, in both tables: then people are dealt, each with all rows.

    Cost: O(draws × rows).
    """
    if first.size == 0 or second.size == 0:
        return 0.0, 0.0
    if any(whose is not None for whose in people):
        return _dealt_people(first, second, rng, draws, people)
    counts = np.bincount(np.concatenate([first, second]))
    found = []
    for _ in range(draws):
        a = rng.multivariate_hypergeometric(counts, first.size, method="marginals")
        b = counts - a
        found.append(float(np.minimum(a / first.size, b / second.size).sum()))
    return float(np.mean(found)), float(np.std(found, ddof=1))


def _dealt_people(
    first: Ints, second: Ints, rng: np.random.Generator, draws: int, people: Whose
) -> tuple[float, float]:
    rows = np.concatenate([first, second])
    size = int(rows.max()) + 1
    person, count = pooled(people, (first.size, second.size))
    side = np.arange(int(person.max()) + 1) < count
    found = []
    for _ in range(draws):
        dealt = rng.permutation(side)[person]
        a = np.bincount(rows[dealt], minlength=size) / dealt.sum()
        b = np.bincount(rows[~dealt], minlength=size) / (~dealt).sum()
        found.append(float(np.minimum(a, b).sum()))
    return float(np.mean(found)), float(np.std(found, ddof=1))


def variance_left(share: float) -> tuple[float, float]:
    """What is left of two draws' sampling variance between a table and rows taken from it.

    With c the share of the taken rows among both tables, 1 − c if they were drawn with replacement,
    as a model that reproduces the table's counts does; 1 − 2c without, as in a copy of some rows
    (0 where that makes all of them).

    Source: Var z = 1/N_Z, or (1/N_Z)·(1 − N_Z/N_T) without replacement, over 1/N_Z + 1/N_T.

    Example:
        >>> variance_left(0.25), variance_left(0.5)
        ((0.75, 0.5), (0.5, 0.0))
    """
    return 1 - share, max(1 - 2 * share, 0.0)


def overlap_interval(value: float, null: float, sd: float, level: float) -> tuple[float, float]:
    """Interval of the overlap that was expected, given the one found and what chance gives.

    The distance 1 − overlap is the null's times √(χ²(ν)/ν), where ν = ½·((1 − null)/sd)² gives it
    the deviation that the null has: exact for one binary column, and normal for many rows. So
    chance shrinks with the distance itself, and an overlap near 1 is near 1 beyond doubt.

    Example:
        >>> low, high = overlap_interval(0.99, 0.9, 0.01, 0.95)
        >>> round(low, 3), round(high, 3)
        (0.988, 0.992)
    """
    if not sd > 0:
        return value, value
    spread = sd / (1 - null)
    freedom = 1 / (2 * spread**2)
    upper, lower = chdtri(freedom, [(1 - level) / 2, (1 + level) / 2]) / freedom
    mean = (1 - value) / np.sqrt(1 + spread**2)  # of the root of a mean square
    low = 1 - mean / np.sqrt(lower) if lower > 0 else 0.0
    return max(float(low), 0.0), float(1 - mean / np.sqrt(upper))


def same_shares(first: Ints, second: Ints) -> bool:
    """Tell whether every row has the same share of both multisets: one is a copy of the other.

    Whole-number arithmetic: shares a/N and b/M are equal where a·M = b·N.

    Example:
        >>> same_shares(np.array([0, 1]), np.array([1, 0, 0, 1]))
        True
    """
    size = int(max(first.max(initial=0), second.max(initial=0))) + 1
    a, b = np.bincount(first, minlength=size), np.bincount(second, minlength=size)
    return first.size > 0 and bool(np.array_equal(a * second.size, b * first.size))


def hits_unique(train: Ints, other: Ints, person: Ints | None = None) -> NDArray[np.float64]:
    """For each row of ``other``: 1 if it equals rows that belong to one person of train, else 0.

    ``person`` says whose row each row of train is; without it every row is a person.

    Example:
        >>> hits_unique(np.array([0, 0, 1]), np.array([0, 1, 2])).tolist()
        [0.0, 1.0, 0.0]
        >>> hits_unique(np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([5, 5, 6])).tolist()
        [1.0, 1.0, 0.0]
    """
    size = int(max(train.max(initial=0), other.max(initial=0))) + 1
    if person is not None:
        people = int(person.max(initial=0)) + 1
        train = np.unique(train * people + person) // people
    return np.asarray(np.bincount(train, minlength=size)[other] == 1, dtype=np.float64)
