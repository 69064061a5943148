"""Predicates that single rows out: conjunctions of conditions, counted by sorted indexes.

Columns are ranks: whole numbers in the order of the values, the same for every table compared. A
condition is a range of ranks of one column: a value, everything up to it, or from it on. A
predicate singles out a row of a table if exactly one row meets all its conditions (Cohen & Nissim
2020, PNAS 117:8344).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Small = NDArray[np.int32]  # ranks and rows: half the memory
Bools = NDArray[np.bool_]

_SAMPLE = 2048  # rows looked at first, at most: two that match settle that more than one does
_LOOKS = 1 << 20  # words held at once
_ROUND = 20_000  # tries at once, at most
_FIRST = 2_000  # tries of the first round; every round has twice as many
_WORTH = 0.0005  # a round that finds less than this share of new predicates is the last one
_MOST = 1000  # tries for each attack
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio (Knuth 1973, §6.4)


@dataclass(frozen=True)
class Predicates:
    """p predicates of w conditions each.

    Attributes:
        columns: (p, w) columns.
        low: (p, w) smallest rank that meets the condition.
        high: (p, w) largest one.
    """

    columns: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, which: Ints | Bools | slice) -> Predicates:
        """Some of them, in that order."""
        return Predicates(self.columns[which], self.low[which], self.high[which])

    def keys(self) -> NDArray[np.uint64]:
        """A number for each predicate; conditions stand in the order of their columns."""
        key = np.zeros(len(self), dtype=np.uint64)
        for side in (*self.columns.T, *self.low.T, *self.high.T):
            key = (key ^ side.astype(np.uint64)) * _MIX
            key ^= key >> np.uint64(29)
        return key

    def distinct(self) -> Predicates:
        """Each predicate once, where it first stands."""
        _, first = np.unique(self.keys(), return_index=True)
        return self.take(np.sort(first))


def joined(parts: list[Predicates]) -> Predicates:
    """Predicates of equal width, one list after the other."""
    return Predicates(
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
    )


@dataclass(frozen=True, eq=False)
class Index:
    """A table of ranks with every column sorted.

    Attributes:
        ranks: (d, n) ranks, column by column.
        order: (d, n) rows of each column in the order of its ranks.
        starts: for each column, where each rank begins in ``order`` (and the last one ends).
    """

    ranks: Small
    order: Small
    starts: tuple[Ints, ...]

    @classmethod
    def of(cls, ranks: NDArray[np.integer], sizes: list[int]) -> Index:
        """Sort every column; ``sizes`` says how many ranks each has. Cost: d · n log n.

        Example:
            >>> index = Index.of(np.array([[1, 0, 1]]), [2])
            >>> index.order.tolist(), index.starts[0].tolist()
            ([[1, 0, 2]], [0, 1, 3])
        """
        counts = [np.bincount(r, minlength=n) for r, n in zip(ranks, sizes, strict=True)]
        starts = tuple(np.concatenate(([0], np.cumsum(count))) for count in counts)
        order = [np.argsort(column, kind="stable").astype(np.int32) for column in ranks]
        return cls(ranks.astype(np.int32), np.stack(order), starts)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.ranks.shape[1])

    @cached_property
    def sample(self) -> Sample:
        """Some of the rows as bits."""
        return Sample.of(self)

    def matching(self, predicate: Predicates) -> list[Small]:
        """Rows that each predicate matches.

        Cost: rows that meet the rarest condition of each predicate.

        Example:
            >>> index = Index.of(np.array([[0, 1, 1], [2, 2, 0]]), [2, 3])
            >>> both = Predicates(*(np.array([side]) for side in ([0, 1], [1, 1], [1, 2])))
            >>> [rows.tolist() for rows in index.matching(both)]
            [[1]]
        """
        return [
            self._rows(columns, low, high)
            for columns, low, high in zip(
                predicate.columns.tolist(),
                predicate.low.tolist(),
                predicate.high.tolist(),
                strict=True,
            )
        ]

    def _rows(self, columns: list[int], low: list[int], high: list[int]) -> Small:
        spans = [
            (int(self.starts[c][a]), int(self.starts[c][b + 1]))
            for c, a, b in zip(columns, low, high, strict=True)
        ]
        best = min(range(len(spans)), key=lambda j: spans[j][1] - spans[j][0])
        rows = self.order[columns[best], slice(*spans[best])]
        for j, (c, a, b) in enumerate(zip(columns, low, high, strict=True)):
            if j != best and rows.size:
                ranks = self.ranks[c].take(rows)
                rows = rows[(ranks >= a) & (ranks <= b)]
        return rows

    def isolated(self, predicates: Predicates) -> Bools:
        """Which predicates match exactly one row.

        Those that match two rows of a sample are settled by `Sample`; the others are counted.

        Example:
            >>> index = Index.of(np.array([[0, 1, 1]]), [2])
            >>> two = Predicates(*(np.array(side) for side in ([[0], [0]], [[0], [1]], [[0], [1]])))
            >>> index.isolated(two).tolist()
            [True, False]
        """
        alive = np.flatnonzero(self.sample.few(predicates)) if self.rows else np.zeros(0, np.int64)
        found = np.zeros(len(predicates), dtype=np.bool_)
        found[alive] = [len(rows) == 1 for rows in self.matching(predicates.take(alive))]
        return found


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of a table as sets of bits: those of each column's first i sampled rows by rank.

    A condition's rows are the difference of two such sets, and a predicate's their intersection.

    Attributes:
        place: for each column, how many sampled rows have a lower rank, by rank.
        first: (d, s + 1, s / 64) the sets.
    """

    place: tuple[Ints, ...]
    first: NDArray[np.uint64]

    @classmethod
    def of(cls, index: Index) -> Sample:
        """Take evenly spaced rows, or all. Cost: d · s² / 64 words."""
        size = min(_SAMPLE, index.rows)
        rows = np.linspace(0, index.rows - 1, size).astype(np.int64)
        sets, places = [], []
        for ranks, starts in zip(index.ranks, index.starts, strict=True):
            seen = ranks[rows]
            order = np.argsort(seen, kind="stable")
            before = np.concatenate(([0], np.cumsum(np.bincount(seen, minlength=len(starts) - 1))))
            words = np.zeros((size + 1, -(-size // 64)), dtype=np.uint64)
            bit = np.uint64(1) << (order % 64).astype(np.uint64)
            words[np.arange(1, size + 1), order // 64] = bit
            sets.append(np.bitwise_or.accumulate(words, axis=0))
            places.append(before)
        return cls(tuple(places), np.stack(sets))

    def few(self, predicates: Predicates) -> Bools:
        """Which predicates match at most one of the rows. Cost: w · s / 32 words for each."""
        step = max(1, _LOOKS // self.first.shape[2])
        parts = [predicates.take(slice(s, s + step)) for s in range(0, len(predicates), step)]
        few = [self._counted(part) <= 1 for part in parts]
        return np.concatenate([np.zeros(0, dtype=np.bool_), *few])

    def _counted(self, predicates: Predicates) -> Ints:
        inside = np.full((len(predicates), self.first.shape[2]), ~np.uint64(0))
        sides = (predicates.columns.T, predicates.low.T, predicates.high.T)
        for columns, low, high in zip(*sides, strict=True):
            for c in np.unique(columns):
                mine = np.flatnonzero(columns == c)
                upto = self.first[c].take(self.place[c].take(high[mine] + 1), axis=0)
                inside[mine] &= upto ^ self.first[c].take(self.place[c].take(low[mine]), axis=0)
        return np.asarray(np.bitwise_count(inside).sum(axis=1), dtype=np.int64)


@dataclass(frozen=True)
class Columns:
    """What conditions a column allows.

    Attributes:
        ordered: (d,) numbers and dates, which are compared by size; others are equal or not.
        missing: (d,) the rank of a missing value, above all others (−1 where there is none).
        barred: (d,) a rank that no condition names (−1 where there is none).
    """

    ordered: Bools
    missing: Ints
    barred: Ints


def one_column(table: Index, columns: Columns) -> Predicates:
    """Conditions on one column that single out a row of the table, each once.

    Nothing but a missing value; a value that only one row has; of numbers, everything up to the
    smallest value or from the largest one on.

    Source: Giomi et al. (2023), §4.1: extreme and unique values. Cost: d · n.
    """
    found = []
    for c, starts in enumerate(table.starts):
        once = np.flatnonzero(np.diff(starts) == 1)
        once = once[once != columns.barred[c]]
        found.append(np.stack([np.full(len(once), c), once, once], axis=1))
        if columns.ordered[c]:
            present = np.flatnonzero(np.diff(starts))
            present = present[present != columns.missing[c]]
            top = len(starts) - 2 - int(columns.missing[c] >= 0)
            # Where only one row has the smallest value, "up to it" is a predicate of its own.
            if present.size and np.diff(starts)[present[0]] == 1 and present[0] > 0:
                found.append(np.array([[c, 0, present[0]]]))
            if present.size and np.diff(starts)[present[-1]] == 1 and present[-1] < top:
                found.append(np.array([[c, present[-1], top]]))
    sides = np.concatenate([np.zeros((0, 3), dtype=np.int64), *found])
    return Predicates(*(sides[:, [place]] for place in range(3)))


def several_columns(
    table: Index, columns: Columns, attacks: int, width: int, rng: np.random.Generator
) -> tuple[Predicates, int]:
    """Conjunctions that single out a row of the table, and how many were tried for them.

    A random row and random columns; of each, the value itself, or, of numbers, everything from it
    on if it lies above the median, else everything up to it. It ends early where hardly anything
    new is left to try, or hardly anything is found.

    Source: Giomi et al. (2023), §4.1. Cost: that of `Index.isolated` for at most 1,000 tries for
    each attack.
    """
    d, tried = len(table.ranks), 0
    found = Predicates(*(np.zeros((0, width), dtype=np.int64) for _ in range(3)))
    count = _FIRST
    while len(found) < attacks and tried < _MOST * attacks and table.rows:
        row = rng.integers(table.rows, size=count)
        chosen = np.sort(np.argsort(rng.random((count, d)), axis=1)[:, :width], axis=1)
        guess = _around(table, columns, row, chosen)
        barred = (guess.low == columns.barred[guess.columns]).any(axis=1)
        guess = guess.take(~barred).distinct()
        before = len(found)
        found = joined([found, guess.take(table.isolated(guess))]).distinct()
        tried += count
        if len(found) - before < count * _WORTH:
            break
        count = min(2 * count, _ROUND)
    return found.take(slice(attacks)), tried


def _around(table: Index, columns: Columns, row: Ints, chosen: Ints) -> Predicates:
    """Conditions that the rows meet on the chosen columns."""
    value = table.ranks[chosen, row[:, None]].astype(np.int64)
    middle = np.array([_median(table, columns, c) for c in range(len(table.ranks))])
    top = np.array([len(s) - 2 for s in table.starts]) - (columns.missing >= 0)
    sized = columns.ordered[chosen] & (value != columns.missing[chosen])
    above = value > middle[chosen]
    low = np.where(sized & ~above, 0, value)
    high = np.where(sized & above, top[chosen], value)
    return Predicates(chosen, low, high)


def _median(table: Index, columns: Columns, c: int) -> int:
    """The rank in the middle of those present."""
    starts = table.starts[c]
    present = int(starts[-1])
    if columns.missing[c] >= 0:
        present = int(starts[columns.missing[c]])
    return int(table.ranks[c, table.order[c, present // 2]]) if present else -1
