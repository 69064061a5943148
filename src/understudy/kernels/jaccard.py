"""The distance filter under the Jaccard distance of binary records.

    d(x, y) = 1 − both / (columns − neither),   0 where all columns are "neither"

(Jaccard 1912). A missing value is what makes the distance largest between two originals (it
differs), and smallest between a synthetic record and an original (it agrees; where both are
missing, both have it). Chosen column by column, that is the true extreme: d grows with every column
that differs and falls with every one that both have.

Counts of pairs are matrix products of a few rows with the records of one size. A record with s
ones shares at most min(s, t) of max(s, t) with one of t, so that sizes are visited from the most
promising one on, and the search ends where no size can be nearer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.filtering import Flags, distinct

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.int64]
_HELD = 1 << 18  # pairs counted at once: a few rows that stay in the cache
_SINGLE = 2000


class _Binary:
    """Records as two matrices, and the groups of those alike in how many ones they may have."""

    def __init__(self, sure: Flags, maybe: Flags) -> None:
        self.sure, self.maybe = sure.astype(np.float32), maybe.astype(np.float32)
        self.gaps = bool((sure != maybe).any())
        sizes = np.stack([sure.sum(axis=1), maybe.sum(axis=1)], axis=1)
        self.sizes, place = np.unique(sizes, axis=0, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        self.groups = np.split(order, np.cumsum(np.bincount(place.ravel()))[:-1])


class _Search:
    """Records to be found."""

    def __init__(self, train: _Binary, columns: int) -> None:
        self.train, self.columns = train, columns
        # Fractions of so small numbers differ by more than a single's rounding, which is correct:
        # equal ones are equal to the last bit, and others are not.
        self.real = np.float32 if columns <= _SINGLE else np.float64

    def nearest(self, query: _Binary, *, far: bool, but: Rows | None = None) -> tuple[Floats, Rows]:
        """Distance to the nearest record that is not `but`, and the lowest row at it.

        With `far`, missing values differ instead of agreeing.
        """
        size = len(query.sure)
        distance, row = np.full(size, np.inf), np.full(size, np.iinfo(np.int64).max)
        low, high = self.train.sizes.T
        for (sure, maybe), asked in zip(query.sizes, query.groups, strict=True):
            shared = np.minimum(sure, low) if far else np.minimum(maybe, high)
            union = np.maximum(maybe, high) if far else np.maximum(sure, low)
            least = self.share(np.maximum(union - shared, 0), union)
            for group in np.argsort(least, kind="stable"):
                open_ = asked[distance[asked] >= least[group]]
                if not len(open_):
                    break
                mine = self.train.groups[group]
                step = max(_HELD // len(mine), 1)
                for start in range(0, len(open_), step):
                    part = open_[start : start + step]
                    d = self._distances(query, part, mine, far=far)
                    if but is not None:
                        d[but[part][:, None] == mine] = np.inf
                    best = d.argmin(axis=1)
                    found, there = d[np.arange(len(part)), best], mine[best]
                    lower = np.where(found < distance[part], there, np.minimum(there, row[part]))
                    row[part] = np.where(found <= distance[part], lower, row[part])
                    distance[part] = np.minimum(found, distance[part])
        return distance, row

    def _distances(
        self, query: _Binary, asked: Rows, mine: Rows, *, far: bool
    ) -> NDArray[np.floating]:
        """Distances of a few rows to those of one group."""
        train = self.train
        sure, maybe, others = query.sure[asked], query.maybe[asked], train.sure[mine].T
        both = sure @ others
        if not (query.gaps or train.gaps):
            union = sure.sum(axis=1)[:, None] + others.sum(axis=0) - both
        else:
            perhaps = train.maybe[mine].T
            possible = maybe @ perhaps
            if far:
                union = maybe.sum(axis=1)[:, None] + perhaps.sum(axis=0) - possible
            else:
                lone = sure.sum(axis=1)[:, None] - sure @ perhaps
                union = possible + lone + others.sum(axis=0) - maybe @ others
                both = possible
        return self.share(union - both, union)

    def share(self, part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.floating]:
        """A quotient of whole numbers, 0/0 = 0: part of nothing."""
        numbers = (
            part.astype(self.real, copy=False),
            np.maximum(whole, 1).astype(self.real, copy=False),
        )
        return np.asarray(numbers[0] / numbers[1])


class Jaccard:
    """The filter for one table of binary originals: 0, 1 and NaN."""

    def __init__(self, originals: Floats) -> None:
        first, _, self._count = distinct(originals)
        self._rows = originals[first]
        self._search = _Search(_binary(self._rows), originals.shape[1])

    def too_near(self, query: Floats) -> Flags:
        """Tell for each record whether the filter takes it out.

        Cost: distinct queries × distinct originals × columns at worst; sizes rule most of them out.

        Example:
            >>> people = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
            >>> Jaccard(people).too_near(people).tolist()  # the last two are twins
            [True, False, False]
        """
        if not len(query):
            return np.zeros(0, dtype=bool)
        first, place, _ = distinct(query)
        distance, row = self._search.nearest(_binary(query[first]), far=False)
        near, back = np.unique(row, return_inverse=True)
        flags: Flags = (distance < self._others(near)[back])[place]
        return flags

    def _others(self, rows: Rows) -> Floats:
        """Largest possible distance to the nearest other original."""
        asked = _binary(self._rows[rows])
        own, _ = self._search.nearest(asked, far=True, but=rows)
        sure, maybe = (ones.sum(axis=1) for ones in (asked.sure, asked.maybe))
        twin = self._search.share(maybe - sure, maybe)
        return np.where(self._count[rows] > 1, np.minimum(own, twin), own)


def _binary(records: Floats) -> _Binary:
    return _Binary(records == 1, ~(records == 0))
