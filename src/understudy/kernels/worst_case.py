"""What missing values can make of a Mahalanobis distance: at least, and at most.

With S the correlation matrix, P its inverse, O the terms present in both records and Δ their
difference:

    paper    a missing value is replaced column by column. Smallest: by the other record's value, so
             that the difference is 0: d² = Δ_Oᵀ P_OO Δ_O. Largest: by the end of the column's
             range that is farther from the other's value; by both ends where both are missing.
    exact    the smallest distance over all values: d² = Δ_Oᵀ (S_OO)⁻¹ Δ_O (the terms that are free
             take their regression on the others); the largest over all values that the columns
             have, which a convex function takes at a corner.

Source: Chapelle & Falissard 2023, "Distance-based filtering", whose substitution is `paper`. Under
correlation a difference of 0 is not the smallest distance, nor the farther end the largest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
CORNERS = 4096  # corners tried for a pair of records
_HELD = 1 << 20  # numbers held at once


class WorstCase(ABC):
    """One way to treat missing values.

    Args:
        correlation: of all terms.
        columns: the terms of each column: a nominal one has several, missing together.
        values: for each column, the values that it can have: (values, terms of the column). Of a
            column with one term, the ends of its range.
    """

    def __init__(
        self,
        correlation: Floats,
        columns: Sequence[Sequence[int]],
        values: Sequence[Floats],
    ) -> None:
        self.correlation = correlation
        self.precision = np.linalg.inv(correlation)
        self.columns = [np.array(terms, dtype=np.int64) for terms in columns]
        self.values = list(values)
        self._of_term = np.zeros(len(correlation), dtype=np.int64)
        for column, terms in enumerate(self.columns):
            self._of_term[terms] = column

    def missing(self, records: Floats) -> Flags:
        """Which columns are missing, by record."""
        flags: Flags = np.isnan(records[:, [terms[0] for terms in self.columns]])
        return flags

    def terms(self, columns: Flags) -> NDArray[np.int64]:
        """The terms of some columns."""
        return np.flatnonzero(columns[self._of_term])

    @abstractmethod
    def near_root(self, union: Flags) -> Floats:
        """A matrix R for which ‖Δ_O R‖ is the smallest distance, where these are missing."""

    @abstractmethod
    def apart(self, one: Flags, others: Flags) -> Floats:
        """What the largest distance is at least, given what is missing in one and in each other."""

    @abstractmethod
    def stand_ins(
        self, one: Flags, other: Flags, first: Floats, second: Floats
    ) -> tuple[Floats, Floats, float]:
        """Records without gaps, and c, such that the largest d² is at least their d² plus c."""

    @abstractmethod
    def farthest(
        self, one: Flags, other: Flags, first: Floats, second: Floats, bound: Floats
    ) -> tuple[Floats, int]:
        """Largest distance of pairs whose stand-ins give `bound`, and how many were not tried."""


class Paper(WorstCase):
    """Substitution column by column, as the paper describes; each term is a column here."""

    def __init__(
        self,
        correlation: Floats,
        columns: Sequence[Sequence[int]],
        values: Sequence[Floats],
    ) -> None:
        ends = np.zeros((2, len(correlation)))
        for terms, known in zip(columns, values, strict=True):
            ends[:, list(terms)] = known.min(axis=0), known.max(axis=0)
        single = [[term] for term in range(len(correlation))]
        super().__init__(correlation, single, list(ends.T[:, :, None]))
        self.low, self.high = ends

    def near_root(self, union: Flags) -> Floats:
        """As the difference of missing terms is 0."""
        seen = self.terms(~union)
        return np.linalg.cholesky(self.precision[np.ix_(seen, seen)])

    def apart(self, one: Flags, others: Flags) -> Floats:
        """The largest difference that a missing term makes alone: d² ≥ Δ_c² / S_cc, S_cc = 1."""
        span = self.high - self.low
        return np.asarray(
            np.where(one & others, span, np.where(one | others, span / 2, 0.0)).max(axis=1)
        )

    def stand_ins(
        self, one: Flags, other: Flags, first: Floats, second: Floats
    ) -> tuple[Floats, Floats, float]:
        """Records whose difference is that of the substituted ones."""
        first, second = first.copy(), second.copy()
        only = one & ~other
        gap = self._farther(second[:, only], only) - second[:, only]
        first[:, only], second[:, only] = 0.0, -gap
        only = other & ~one
        gap = first[:, only] - self._farther(first[:, only], only)
        first[:, only], second[:, only] = gap, 0.0
        both = one & other
        first[:, both], second[:, both] = self.high[both], self.low[both]
        return first, second, 0.0

    def _farther(self, values: Floats, terms: Flags) -> Floats:
        low, high = self.low[terms], self.high[terms]
        return np.where(high - values >= values - low, high, low)

    def farthest(
        self, one: Flags, other: Flags, first: Floats, second: Floats, bound: Floats
    ) -> tuple[Floats, int]:
        """The stand-ins are the substituted records."""
        return bound, 0


class Exact(WorstCase):
    """The true extremes."""

    def __init__(
        self,
        correlation: Floats,
        columns: Sequence[Sequence[int]],
        values: Sequence[Floats],
    ) -> None:
        super().__init__(correlation, columns, values)
        self.middle = np.zeros(len(correlation))
        spread = np.zeros((2, len(self.columns)))  # of one value, and of two that differ
        for place, (terms, known) in enumerate(zip(self.columns, self.values, strict=True)):
            self.middle[terms] = known.mean(axis=0)
            off = known - known.mean(axis=0)
            weight = self.precision[np.ix_(terms, terms)]
            one = float(np.einsum("ia,ab,ib->i", off, weight, off).mean())
            spread[:, place] = one, 2 * one * len(known) / max(len(known) - 1, 1)
        self.spread = spread

    def near_root(self, union: Flags) -> Floats:
        """By the covariance of the terms that are present."""
        seen = self.terms(~union)
        return np.linalg.cholesky(np.linalg.inv(self.correlation[np.ix_(seen, seen)]))

    def apart(self, one: Flags, others: Flags) -> Floats:
        """The root of what is added to the mean d² when values are dealt out at random."""
        alone, double = self.spread
        return np.asarray(
            np.sqrt(np.where(one & others, double, np.where(one | others, alone, 0.0)).sum(axis=1))
        )

    def stand_ins(
        self, one: Flags, other: Flags, first: Floats, second: Floats
    ) -> tuple[Floats, Floats, float]:
        """Means for missing values: the largest d² is at least its mean over independent draws."""
        first, second = first.copy(), second.copy()
        gone, away, both = map(self.terms, (one & ~other, other & ~one, one & other))
        first[:, gone], second[:, away] = self.middle[gone], self.middle[away]
        first[:, both] = second[:, both] = 0.0
        return first, second, float(self.apart(one, other[None])[0] ** 2)

    def farthest(
        self, one: Flags, other: Flags, first: Floats, second: Floats, bound: Floats
    ) -> tuple[Floats, int]:
        """All corners. A pair with too many counts as infinitely far apart."""
        asked = np.flatnonzero(one | other)
        if not len(asked):
            return bound, 0
        if self._corners(one, other) > CORNERS:
            return np.full(len(first), np.inf), len(first)
        size = max(_HELD // (self._corners(one, other) * len(self.correlation)), 1)
        parts = [np.zeros(0)]
        for start in range(0, len(first), size):
            part = slice(start, start + size)
            parts.append(self._at_corners(asked, one, other, first[part], second[part]))
        return np.concatenate(parts), 0

    def _corners(self, one: Flags, other: Flags) -> int:
        """How many there are (as a whole number of any size)."""
        found = 1
        for column in np.flatnonzero(one | other):
            count = len(self.values[column])
            found *= count * (count - 1) if one[column] and other[column] else count
        return found

    def _at_corners(
        self, asked: NDArray[np.int64], one: Flags, other: Flags, first: Floats, second: Floats
    ) -> Floats:
        gap = (first - second)[:, None, :]
        for column in asked:
            terms, known = self.columns[column], self.values[column]
            if one[column] and other[column]:
                apart = ~np.eye(len(known), dtype=bool)
                choice = (known[:, None] - known[None, :])[apart][None]
            elif one[column]:
                choice = known[None] - second[:, None, terms]
            else:
                choice = first[:, None, terms] - known[None]
            many = choice.shape[1]
            spread = np.tile(gap, (1, many, 1))
            spread[:, :, terms] = np.repeat(choice, gap.shape[1], axis=1)
            gap = spread
        square = np.einsum("pva,ab,pvb->pv", gap, self.precision, gap, optimize=True)
        return np.asarray(np.sqrt(square.max(axis=1)), dtype=np.float64)
