"""How near rows are by triangles: sums of max(0, 1 − |x − y| / r) without looking at every pair.

A number is turned into a coordinate in which its radius is 1. Sums over one number come from sorted
rows and running sums; sums of the product over two numbers look at the pairs that are near on one
of them, block by block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROUNDING = 1e-9  # a proximity up to this is none: rows exactly a radius apart are not near
_BLOCK = 1 << 20  # pairs that are looked at together
_ROUGH = 1e-6  # sums below this share of the rows lose digits, and are taken pair by pair


def coordinates(parts: Sequence[Floats], radius: float) -> list[Floats]:
    """Numbers of several tables on one axis where the radius is 1 and long gaps are cut short.

    Differences below the radius are kept, all others stay at least 1: so nothing overflows and no
    digits are lost to a large mean. With radius 0 different values are 2 apart. Missing values are
    equal to one another and far from all others.

    Cost: O(n log n).

    Example:
        >>> [part.tolist() for part in coordinates([np.array([1.0, 900.0]), np.array([3.0])], 4.0)]
        [[0.0, 3.0], [0.5]]
    """
    every = np.concatenate(parts)
    values = np.unique(every[~np.isnan(every)])
    if not values.size:
        return [np.zeros(len(part)) for part in parts]
    with np.errstate(over="ignore"):
        begins = np.concatenate([[True], np.diff(values) > radius])
    segment = np.cumsum(begins) - 1
    inside = values - values[begins][segment]
    inside = inside / radius if radius > 0 else inside
    last = np.append(np.flatnonzero(begins)[1:], values.size) - 1
    ends = np.concatenate([[0.0], np.cumsum(np.ceil(inside[last]) + 2)])
    placed = np.append(inside + ends[segment], ends[-1])
    return [placed[np.where(np.isnan(part), values.size, np.searchsorted(values, part))]
            for part in parts]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Window:
    """Rows sorted by group and coordinate, and which of them are within 1 of each query.

    Attributes:
        order: the rows, by group and coordinate.
        low: where the window of each query begins in that order.
        high: where it ends.
    """

    order: Ints
    low: Ints
    high: Ints

    @property
    def hits(self) -> Ints:
        """How many rows are near each query."""
        return self.high - self.low

    def pairs(self, queries: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Pairs of a query and a row near it, block by block; those of a query together."""
        ends = np.cumsum(self.hits[queries])
        start = 0
        while start < len(queries):
            done = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, done + _BLOCK, side="right")), start + 1)
            some = queries[start:stop]
            count = self.hits[some]
            before = np.repeat(np.cumsum(count) - count, count)
            place = np.arange(int(count.sum())) - before + np.repeat(self.low[some], count)
            yield np.repeat(some, count), self.order[place]
            start = stop


@dataclass(frozen=True, eq=False)
class _Sorted:
    """Rows by group and coordinate, found by whole numbers alone: exact wherever groups lie."""

    distinct: Floats
    key: Ints
    order: Ints

    @classmethod
    def of(cls, group: Ints, at: Floats) -> _Sorted:
        distinct, rank = np.unique(at, return_inverse=True)
        key = group * (len(distinct) + 1) + rank
        order = np.argsort(key, kind="stable")
        return cls(distinct, key[order], order)

    def above(self, at: Floats) -> Ints:
        """Rank of the first coordinate above each."""
        return np.asarray(np.searchsorted(self.distinct, at, side="right"), dtype=np.int64)

    def from_(self, at: Floats) -> Ints:
        """Rank of the first coordinate that is not below each."""
        return np.asarray(np.searchsorted(self.distinct, at), dtype=np.int64)

    def place(self, group: Ints, rank: Ints) -> Ints:
        """Place of the first row of each group that has at least this rank."""
        wanted = group * (len(self.distinct) + 1) + rank
        return np.asarray(np.searchsorted(self.key, wanted), dtype=np.int64)


def windows(group: Ints, at: Floats, row_group: Ints, row_at: Floats) -> Window:
    """For each query, the rows of its group within 1: O((queries + rows) log rows)."""
    rows = _Sorted.of(row_group, row_at)
    low, high = rows.above(at - 1 + ROUNDING), rows.from_(at + 1 - ROUNDING)
    return Window(rows.order, rows.place(group, low), rows.place(group, high))


def near_sums(group: Ints, at: Floats, row_group: Ints, row_at: Floats) -> tuple[Floats, Window]:
    """For each query, the sum of max(0, 1 − |x − y|) over the rows of its group.

    Rows within a window are counted by whether they lie left or right of the query and of the whole
    number below it, so that running sums of fractions suffice.

    Cost: O((queries + rows) log rows) whatever the windows hold, and the pairs of the few queries
    whose sum would lose digits.

    Example:
        >>> sums, window = near_sums(np.zeros(1, int), np.array([0.5]),
        ...                          np.zeros(3, int), np.array([0.5, 1.25, 9.0]))
        >>> sums.tolist(), window.hits.tolist()
        ([1.25], [2])
    """
    rows = _Sorted.of(row_group, row_at)
    whole = np.floor(at)
    cuts = (
        rows.above(at - 1 + ROUNDING),
        rows.from_(whole),
        rows.from_(at),
        rows.from_(whole + 1),
        rows.from_(at + 1 - ROUNDING),
    )
    spot = [rows.place(group, cut) for cut in cuts]
    spot[1] = np.maximum(spot[1], spot[0])
    spot[3] = np.minimum(spot[3], spot[4])
    window = Window(rows.order, spot[0], spot[4])
    running = np.concatenate([[0.0], np.cumsum((row_at - np.floor(row_at))[rows.order])])
    count = [b - a for a, b in pairwise(spot)]
    part = [running[b] - running[a] for a, b in pairwise(spot)]
    over = at - whole
    total = (
        part[0] - over * count[0]
        + (1 - over) * count[1] + part[1]
        + (1 + over) * count[2] - part[2]
        + over * count[3] - part[3]
    )  # fmt: skip
    total = np.where(window.hits > 0, total, 0.0)
    rough = np.flatnonzero((window.hits > 0) & (total < _ROUGH * len(row_at)))
    if rough.size:
        total[rough] = 0.0
        _add(total, window, rough, [(at, row_at)])
    return total, window


def near_products(
    group: Ints, at: tuple[Floats, Floats], row_group: Ints, row_at: tuple[Floats, Floats]
) -> tuple[Floats, Ints]:
    """For each query, the sum of the product of two proximities, and how many are above 0.

    Cost: the pairs that are near on one of the two numbers, whichever has fewer; memory: a block.
    """
    found = [windows(group, a, row_group, b) for a, b in zip(at, row_at, strict=True)]
    best = min(found, key=lambda window: int(window.hits.sum()))
    total, hits = np.zeros(len(group)), np.zeros(len(group), dtype=np.int64)
    both = list(zip(at, row_at, strict=True))
    _add(total, best, np.flatnonzero(best.hits), both, hits)
    return total, hits


def _add(
    total: Floats,
    window: Window,
    queries: Ints,
    axes: Sequence[tuple[Floats, Floats]],
    hits: Ints | None = None,
) -> None:
    """Add the products of proximities of each query's pairs to its total."""
    for query, row in window.pairs(queries):
        near = np.ones(len(query))
        for mine, theirs in axes:
            one = 1 - np.abs(mine[query] - theirs[row])
            near *= np.where(one > ROUNDING, one, 0.0)
        first, last = int(query[0]), int(query[-1]) + 1
        total[first:last] += np.bincount(query - first, near, last - first)
        if hits is not None:
            hits[first:last] += np.bincount(query[near > 0] - first, minlength=last - first)


__all__ = ["ROUNDING", "Window", "coordinates", "near_products", "near_sums", "windows"]
