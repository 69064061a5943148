"""The distance filter under the Jaccard distance of binary records.

    d(x, y) = 1 − both / (columns − neither),   0 where all columns are "neither"

(Jaccard 1912). A missing value is what makes the distance largest between two originals (it
differs), and smallest between a synthetic record and an original (it agrees; where both are missing,
both have it). Chosen column by column, that is the true extreme: d grows with every column that
differs and falls with every one that both have.

Counts of pairs are matrix products of a few rows with the records of one size. A record with s
ones shares at most min(s, t) of max(s, t) with one of t, so that sizes are visited from the most
promising one on, and the search ends where no size can be nearer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.filtering import Flags, distinct

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.int64]
_HELD = 1 << 22  # pairs counted at once


class _Binary:
    """Records as two matrices, and the groups of those alike in how many ones they may have."""

    def __init__(self, sure: Flags, maybe: Flags) -> None:
        self.sure, self.maybe = sure.astype(np.float32), maybe.astype(np.float32)
        sizes = np.stack([sure.sum(axis=1), maybe.sum(axis=1)], axis=1)
        self.sizes, place = np.unique(sizes, axis=0, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        self.groups = np.split(order, np.cumsum(np.bincount(place.ravel()))[:-1])


def _nearest(
    query: _Binary, train: _Binary, columns: int, *, far: bool, but: Rows | None = None
) -> tuple[Floats, Rows]:
    """Nearest record of train, the lowest row of equally near ones; `but` are rows left out.

    With `far`, missing values differ instead of agreeing.
    """
    size = len(query.sure)
    distance, row = np.full(size, np.inf), np.full(size, np.iinfo(np.int64).max)
    low, high = train.sizes.T
    for (sure, maybe), asked in zip(query.sizes, query.groups, strict=True):
        shared = np.minimum(sure, low) if far else np.minimum(maybe, high)
        union = np.maximum(maybe, high) if far else np.maximum(sure, low)
        # The same quotient as a distance, or rounding would hide a tie.
        least = np.maximum(union - shared, 0) / np.maximum(union, 1)
        for group in np.argsort(least, kind="stable"):
            open_ = asked[distance[asked] >= least[group]]
            if not len(open_):
                break
            mine = train.groups[group]
            step = max(_HELD // len(mine), 1)
            for start in range(0, len(open_), step):
                part = open_[start : start + step]
                d = _distances(query, train, part, mine, columns, far=far)
                if but is not None:
                    d[but[part][:, None] == mine] = np.inf
                best = d.argmin(axis=1)
                found, there = d[np.arange(len(part)), best], mine[best]
                lower = np.where(found < distance[part], there, np.minimum(there, row[part]))
                row[part] = np.where(found <= distance[part], lower, row[part])
                distance[part] = np.minimum(found, distance[part])
    return distance, row


def _distances(
    query: _Binary, train: _Binary, asked: Rows, mine: Rows, columns: int, *, far: bool
) -> Floats:
    """Distances of a few rows to those of one group; equal fractions are equal to the last bit."""
    sure, maybe = query.sure[asked], query.maybe[asked]
    others, perhaps = train.sure[mine], train.maybe[mine]
    if far:
        both = sure @ others.T
        union = columns - (1 - maybe) @ (1 - perhaps).T
    else:
        both = maybe @ perhaps.T
        union = both + sure @ (1 - perhaps).T + (1 - maybe) @ others.T
    apart: Floats = (union - both).astype(np.float64)
    return np.divide(apart, union, out=np.zeros_like(apart), where=union > 0, dtype=np.float64)


class Jaccard:
    """The filter for one table of binary originals: 0, 1 and NaN."""

    def __init__(self, originals: Floats) -> None:
        first, _, self._count = distinct(originals)
        self._rows = originals[first]
        self._columns = originals.shape[1]
        self._binary = _binary(self._rows)

    def too_near(self, query: Floats) -> Flags:
        """Tell for each record whether the filter takes it out.

        Cost: distinct queries × distinct originals × columns at worst; sizes rule most of them out.
        """
        if not len(query):
            return np.zeros(0, dtype=bool)
        first, place, _ = distinct(query)
        asked = _binary(query[first])
        distance, row = _nearest(asked, self._binary, self._columns, far=False)
        near, back = np.unique(row, return_inverse=True)
        flags: Flags = (distance < self._others(near)[back])[place]
        return flags

    def _others(self, rows: Rows) -> Floats:
        """Largest possible distance to the nearest other original."""
        asked = _binary(self._rows[rows])
        own, _ = _nearest(asked, self._binary, self._columns, far=True, but=rows)
        sure, maybe = (ones.sum(axis=1, dtype=np.float64) for ones in (asked.sure, asked.maybe))
        twin = (maybe - sure) / np.maximum(maybe, 1)
        return np.where(self._count[rows] > 1, np.minimum(own, twin), own)


def _binary(records: Floats) -> _Binary:
    return _Binary(records == 1, ~(records == 0))
