"""Which records lie nearer to an original than that original lies to any other original.

A synthetic record z is too near when

    d(z, x_j) < min over k ≠ j of d(x_j, x_k),   x_j the original nearest to z

(Chapelle & Falissard 2023, Algorithm 1). Originals are told apart by their row, not by their
values: one that has a twin lies at distance 0 from it, and nothing is nearer than that. Of equally
near originals the lowest row counts. Distances that differ by rounding alone are equal: without
that, a grid of rounded numbers would be decided by the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from understudy.kernels.neighbours import Points, nearest

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]

EQUAL = 1e-7  # distances that differ by less, relatively, are equal
ZERO = 1e-9  # and so are those that differ by less than this
FEW = 1 << 22  # so few pairs are measured one by one
HELD = 1 << 21  # distances held at once
_MORE = 8  # times as many neighbours where all of those found are equally near


def at_most(distance: Floats) -> Floats:
    """The largest distance that counts as equal to this one."""
    return distance * (1 + EQUAL) + ZERO


def nearer(distance: Floats, other: Floats) -> Flags:
    """Tell whether a distance is smaller than the other by more than rounding.

    Example:
        >>> one = np.array([1.0, 1.0, 0.0, 1.0])
        >>> nearer(one, np.array([1.0 + 1e-12, 1.1, 0.0, np.inf])).tolist()
        [False, True, False, True]
    """
    flags: Flags = at_most(distance) < other
    return flags


def distinct(records: Floats) -> tuple[Rows, Rows, Rows]:
    """First row of each distinct record in their order, place of each row among them, and counts.

    Missing values (NaN) equal one another here. Cost: rows x log rows.

    Example:
        >>> first, place, count = distinct(np.array([[1.0], [np.nan], [1.0], [np.nan]]))
        >>> first.tolist(), place.tolist(), count.tolist()
        ([0, 1], [0, 1, 0, 1], [2, 2])
    """
    plain = np.ascontiguousarray(np.where(np.isnan(records), np.nan, records + 0.0))  # −0 is 0
    whole = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).ravel()
    _, first, place, count = np.unique(
        whole, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[place.ravel()], count[order]


def by_pattern(missing: Flags) -> list[tuple[Flags, Rows]]:
    """Rows with the same columns missing, together; patterns with fewest missing values first.

    Example:
        >>> [(m.tolist(), r.tolist()) for m, r in by_pattern(np.array([[True], [False], [True]]))]
        [([False], [1]), ([True], [0, 2])]
    """
    if not len(missing):
        return []
    first, place, _ = distinct(missing.astype(np.float64))
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place))[:-1]
    groups = [(missing[row], rows) for row, rows in zip(first, np.split(order, ends), strict=True)]
    return sorted(groups, key=lambda group: (int(group[0].sum()), int(group[1][0])))


def lowest_nearest(train: Points, query: Points) -> tuple[Floats, Rows]:
    """Distance of each query to the nearest of distinct records, and the lowest row at it.

    Cost: as `neighbours.nearest`; where all neighbours found are equally near, more are asked for.

    Example:
        >>> none = np.empty((3, 0), dtype=np.int32)
        >>> line = Points(np.array([[0.3], [0.1], [0.5]]), none)
        >>> lowest_nearest(line, Points(np.array([[0.2]]), none[:1]))[1].tolist()  # 0.3 or 0.1
        [0]
    """
    n, size = len(train), min(2, len(train))
    if not train.numbers.shape[1]:  # whole numbers: ties are exact, and `nearest` breaks them
        size = n = 1
    asked = np.arange(len(query))
    distance, row = np.full(len(query), np.inf), np.zeros(len(query), dtype=np.int64)
    while len(asked):
        more = []
        for part in np.array_split(asked, -(-len(asked) * size // HELD)):
            d, i = nearest(train, query.take(part), size)
            tied = d <= at_most(d[:, :1])
            distance[part] = d[:, 0]
            row[part] = np.where(tied, i, n).min(axis=1)
            more.append(part[tied.all(axis=1)])
        asked = np.concatenate(more) if size < n else asked[:0]
        size = min(size * _MORE, n)
    return distance, row


def lowest_of_all(train: Floats, query: Floats) -> tuple[Floats, Rows]:
    """As `lowest_nearest` for numbers alone, by whichever way is faster."""
    if not train.shape[1]:  # nothing is known: all are equally near
        return np.zeros(len(query)), np.zeros(len(query), dtype=np.int64)
    if len(train) * len(query) > FEW:
        return lowest_nearest(_points(train), _points(query))
    distance, row = np.empty(len(query)), np.empty(len(query), dtype=np.int64)
    for part, d in measured(train, query):
        distance[part] = d.min(axis=1)
        row[part] = (d <= at_most(distance[part])[:, None]).argmax(axis=1)
    return distance, row


def measured(train: Floats, query: Floats) -> Iterator[tuple[slice, Floats]]:
    """All distances, some queries at a time."""
    size = max(HELD // max(len(train), 1), 1)
    for start in range(0, len(query), size):
        part = slice(start, start + size)
        yield part, cdist(query[part], train)


def nearest_few(train: Floats, query: Floats, count: int) -> tuple[Floats, Rows]:
    """The `count` nearest rows of train, nearest first; all of them where train is small."""
    if len(train) * len(query) > FEW:
        return nearest(_points(train), _points(query), min(count, len(train)))
    whole = np.concatenate([d for _, d in measured(train, query)])
    order = np.argsort(whole, axis=1, kind="stable")
    return np.take_along_axis(whole, order, axis=1), order


def _points(numbers: Floats) -> Points:
    return Points(numbers, np.empty((len(numbers), 0), dtype=np.int32))


class Typed:
    """The filter under the package's typed metric, for which missing is a value like any other."""

    def __init__(self, train: Points) -> None:
        first, _, self.count = distinct(_matrix(train))
        self.train = train.take(first)

    def too_near(self, query: Points) -> Flags:
        """Tell for each record whether the filter takes it out. Cost: as `neighbours.nearest`."""
        if not len(query):
            return np.zeros(0, dtype=bool)
        distance, row = lowest_nearest(self.train, query)
        return nearer(distance, self._own(row))

    def _own(self, rows: Rows) -> Floats:
        """Distance of some originals to the nearest other one."""
        asked, place = np.unique(rows, return_inverse=True)
        d, i = nearest(self.train, self.train.take(asked), min(2, len(self.train)))
        own = np.where(i == asked[:, None], np.inf, d).min(axis=1)
        return np.where(self.count[asked] > 1, 0.0, own)[place]


def _matrix(points: Points) -> Floats:
    return np.concatenate([points.numbers, points.codes.astype(np.float64)], axis=1)
