"""Exact nearest neighbours of mixed records under one typed metric.

    d² = Σ numbers  (x − y)²   both present;  1  exactly one missing;  0  both missing
       + Σ codes    [x ≠ y]

This is Gower's coefficient with squared instead of range-scaled absolute differences (Gower 1971,
Biometrics 27:857) and missing as a value of its own. No n × n matrix is ever held: `screening`
says which pairs may matter, and only those are measured, in float64 and from the columns.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from understudy.kernels.screening import Screen, leaves

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

ROUNDS = (0.1, 0.3, 1.0)  # shares of the k-th squared distance that the rounds of a search reach
PAIRS = 1 << 14  # candidate pairs measured at once
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio (Knuth 1973, §6.4)
LAST = np.iinfo(np.int64).max
BLOCK = 2048  # fewest queries worth a task
BOUNDS = 1 << 23  # leaf bounds held by one task


@dataclass(frozen=True)
class Points:
    """Records as two matrices of equal length.

    Attributes:
        numbers: (n, a) standardised values, finite or NaN for missing.
        codes: (n, b) category codes; −1 is missing: equal to itself, different from all else.
    """

    numbers: Floats
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Rows) -> "Points":
        """The given rows, in that order."""
        return Points(self.numbers[rows], self.codes[rows])


def distances(a: Points, b: Points) -> Floats:
    """Distance of each row of `a` to the same row of `b`.

    Numbers are added first, in column order; then the count of differing codes.

    >>> a = Points(np.array([[0.0], [np.nan]]), np.array([[1, 2], [1, 2]], dtype=np.int32))
    >>> b = Points(np.array([[3.0], [0.5]]), np.array([[1, 2], [0, -1]], dtype=np.int32))
    >>> distances(a, b).tolist()
    [3.0, 1.7320508075688772]
    """
    total = np.zeros(len(a))
    with np.errstate(over="ignore"):  # 1e300-scale values may be infinitely far apart
        for x, y in zip(a.numbers.T, b.numbers.T, strict=True):
            squares = np.square(x - y)
            unknown = np.isnan(squares)
            if unknown.any():
                squares[unknown] = np.isnan(x[unknown]) != np.isnan(y[unknown])
            total += squares
    differing = np.zeros(len(a), dtype=np.int32)
    for p, q in zip(a.codes.T, b.codes.T, strict=True):
        differing += p != q
    total += differing
    return np.sqrt(total, out=total)


def nearest(
    train: Points,
    query: Points,
    k: int,
    *,
    exclude_self: bool = False,
    leaf: Rows | None = None,
    map_: Callable[..., Any] = map,
) -> tuple[Floats, Rows]:
    """The k nearest rows of `train` for each row of `query`, exactly.

    Args:
        train: the records searched.
        query: the records searched for.
        k: how many neighbours.
        exclude_self: `query` is `train`, and no row is its own neighbour (its twin may be).
        leaf: from `arranged`, where train is searched several times on much the same columns: it
            saves the sorting and changes no answer.
        map_: maps the search over blocks of queries, e.g. `ThreadPoolExecutor.map`.

    Returns:
        (m, k) distances, ascending, equal to `distances` of the pairs, and (m, k) rows of `train`;
        ties go to the lowest row. Where `train` has too few rows: infinity and −1.

    >>> none = np.empty((3, 0), dtype=np.int32)
    >>> line = Points(np.array([[0.0], [1.0], [3.0]]), none)
    >>> nearest(line, line, 1, exclude_self=True)[1].ravel().tolist()
    [1, 0, 1]
    """
    depth = k + exclude_self
    rows = _distinct(train, depth)[0]
    asked, place = _distinct(query, 1)
    leaf = None if leaf is None else leaf[rows]
    d, i = _search_all(train.take(rows), query.take(asked), depth, leaf, map_)
    i = np.append(rows, -1)[i]
    d, i = d[place], i[place]
    return _without_self(d, i) if exclude_self else (d, i)


def arranged(train: Points) -> Rows:
    """Put near rows into one leaf, for several calls of `nearest`.

    >>> line = Points(np.array([[0.0], [1.0], [3.0]]), np.empty((3, 0), dtype=np.int32))
    >>> nearest(line, line, 1, leaf=arranged(line))[1].ravel().tolist()
    [0, 1, 2]
    """
    return leaves(train.numbers, train.codes)


def _without_self(d: Floats, i: Rows) -> tuple[Floats, Rows]:
    """Drop each row's own index, or the last neighbour where it is not listed."""
    m, depth = i.shape
    own = i == np.arange(m)[:, None]
    own[:, -1] |= ~own.any(axis=1)
    return d[~own].reshape(m, depth - 1), i[~own].reshape(m, depth - 1)


def _distinct(points: Points, copies: int) -> tuple[Rows, Rows]:
    """Rows among the first `copies` of their kind, and for each row the place of its first twin.

    Later copies can never be among that many nearest. Rows are sorted by a hash; twins
    separated by a collision are merely kept.
    """
    n = len(points)
    key = np.zeros(n, dtype=np.uint64)
    canonical = np.where(np.isnan(points.numbers), np.nan, points.numbers + 0.0)  # −0 is 0
    columns = [*canonical.T.copy().view(np.uint64), *points.codes.T.astype(np.uint64)]
    for column in columns:
        key = (key ^ column) * MIX
        key ^= key >> np.uint64(29)
    order = np.argsort(key, kind="stable")
    fresh = np.ones(n, dtype=bool)
    fresh[1:] = key[order[1:]] != key[order[:-1]]
    tied = np.flatnonzero(~fresh)
    unequal = np.zeros(len(tied), dtype=bool)
    for column in columns:
        unequal |= column[order[tied]] != column[order[tied - 1]]
    fresh[tied[unequal]] = True
    start = np.flatnonzero(fresh)
    group = np.cumsum(fresh) - 1
    kept = np.zeros(n, dtype=bool)
    kept[order[np.arange(n) - start[group] < copies]] = True
    place = np.empty(n, dtype=np.int64)
    place[order] = (np.cumsum(kept) - 1)[order[start]][group]
    return np.flatnonzero(kept), place


def _search_all(
    train: Points, query: Points, k: int, leaf: Rows | None, map_: Callable[..., Any]
) -> tuple[Floats, Rows]:
    """Search block by block; blocks do not depend on `map_`."""
    m, n = len(query), len(train)
    d, i = np.full((m, k), np.inf), np.full((m, k), -1, dtype=np.int64)
    if min(m, n, k) == 0:
        return d, i
    screen = Screen.fit(train.numbers, train.codes, _gaps(train) | _gaps(query), leaf)
    search = partial(_search, screen, train.take(screen.order), k)
    size = max(BLOCK, min(BOUNDS // len(screen.low), -(-m // 4)))
    blocks = [np.arange(s, min(s + size, m)) for s in range(0, m, size)]
    with _blas().limit(limits=1, user_api="blas"):  # small products: more threads only wait
        for block, found in zip(blocks, map_(search, map(query.take, blocks)), strict=True):
            d[block], i[block] = found
    return d, i


def _gaps(points: Points) -> NDArray[np.bool_]:
    """Number columns with missing values."""
    gaps: NDArray[np.bool_] = np.logical_or.reduce(np.isnan(points.numbers), axis=0)
    return gaps


@cache
def _blas() -> ThreadpoolController:
    """Looking for the libraries takes longer than a small search."""
    return ThreadpoolController()


def _search(screen: Screen, train: Points, k: int, query: Points) -> tuple[Floats, Rows]:
    """Neighbours of a block of queries: a limit from one leaf, then all leaves, nearest first."""
    factors, bounds = screen.query(query.numbers, query.codes)
    pool = _Pool(train, query, screen.order, k)
    home = _home(screen, factors)
    for leaf in np.unique(home):
        pool.limit(*_seeds(screen, factors, np.flatnonzero(home == leaf), leaf, k))
    constant = factors[:, 1].copy()
    for share in ROUNDS:
        limit = screen.within(pool.limits)
        factors[:, 1] = constant - limit
        near = bounds <= share * limit
        bounds[near] = np.inf
        for pairs in _gathered(_hits(screen, factors, near)):
            pool.add(*pairs)
            factors[:, 1] = constant - screen.within(pool.limits)
    return pool.d, np.where(pool.i == LAST, -1, pool.i)


def _home(screen: Screen, factors: NDArray[np.float32]) -> Rows:
    """The leaf of smallest mean squared distance."""
    count = np.diff(screen.starts)[:, None]
    mean = np.add.reduceat(screen.factors, screen.starts[:-1], axis=0) / count
    leaf: Rows = np.argmin(factors @ mean.astype(np.float32).T, axis=1)
    return leaf


def _seeds(
    screen: Screen, factors: NDArray[np.float32], rows: Rows, leaf: int, k: int
) -> tuple[Rows, Rows]:
    """The queries `rows`, and for each the k rows of the leaf that seem nearest."""
    start, stop = screen.starts[leaf : leaf + 2]
    if stop - start < k:
        return rows[:0], np.empty((0, k), dtype=np.int64)
    product = factors.take(rows, axis=0) @ screen.factors[start:stop].T
    return rows, np.argpartition(product, k - 1, axis=1)[:, :k] + start


def _hits(
    screen: Screen, factors: NDArray[np.float32], near: NDArray[np.bool_]
) -> Iterator[tuple[Rows, Rows]]:
    """Pairs that may be within the limits, leaf by leaf."""
    for leaf in np.flatnonzero(near.any(axis=1)):
        start, stop = screen.starts[leaf : leaf + 2]
        rows = np.flatnonzero(near[leaf])
        product = factors.take(rows, axis=0) @ screen.factors[start:stop].T
        at, column = np.divmod(np.flatnonzero(product <= 0), stop - start)
        yield rows[at], column + start


def _gathered(parts: Iterator[tuple[Rows, Rows]]) -> Iterator[tuple[Rows, Rows]]:
    """Join small batches of pairs."""
    held: list[tuple[Rows, Rows]] = []
    count = 0
    for part in parts:
        held.append(part)
        count += len(part[0])
        if count >= PAIRS:
            yield _joined(held)
            held, count = [], 0
    if held:
        yield _joined(held)


def _joined(parts: list[tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    return np.concatenate([q for q, _ in parts]), np.concatenate([t for _, t in parts])


class _Pool:
    """The k nearest rows found so far for each query, ordered by (distance, row)."""

    def __init__(self, train: Points, query: Points, names: Rows, k: int) -> None:
        self.train, self.query, self.names, self.k = train, query, names, k
        self.d = np.full((len(query), k), np.inf)
        self.i = np.full((len(query), k), LAST)
        self.limits = np.full(len(query), np.inf)  # never below the k-th distance of all train

    def limit(self, asked: Rows, found: Rows) -> None:
        """Lower the limits of some queries to their largest distance to k found rows each."""
        far = self._measured(np.repeat(asked, self.k), found.ravel())
        self.limits[asked] = far.reshape(-1, self.k).max(axis=1, initial=0)

    def add(self, asked: Rows, found: Rows) -> None:
        """Measure pairs exactly and merge those within the limits."""
        far = self._measured(asked, found)
        better = np.flatnonzero(far <= self.limits[asked])
        if len(better) == 0:
            return
        asked, far, row = asked[better], far[better], self.names[found[better]]
        order = np.lexsort((row, far, asked))
        who, start, count = np.unique(asked[order], return_index=True, return_counts=True)
        rank = np.arange(len(order)) - np.repeat(start, count)
        top = np.flatnonzero(rank < self.k)
        at = np.repeat(np.arange(len(who)), count)[top], self.k + rank[top]
        d, i = (
            np.concatenate([old[who], np.empty_like(old[who])], axis=1) for old in (self.d, self.i)
        )
        d[:, self.k :], i[:, self.k :] = np.inf, LAST
        d[at], i[at] = far[order[top]], row[order[top]]
        best = np.lexsort((i, d), axis=1)[:, : self.k]
        self.d[who] = np.take_along_axis(d, best, axis=1)
        self.i[who] = np.take_along_axis(i, best, axis=1)
        self.limits[who] = np.minimum(self.limits[who], self.d[who, -1])

    def _measured(self, asked: Rows, found: Rows) -> Floats:
        return distances(self.query.take(asked), self.train.take(found))
