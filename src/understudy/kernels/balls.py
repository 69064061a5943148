"""Who is near whom: rows of one table inside balls around the records of another.

A ball around a record holds the rows of its own cell (equal levels, where columns have levels) at
a distance of at most δ. Nothing of size records × rows is allocated: pairs are looked at cell by
cell, block by block. Distances are Euclidean over the columns; two missing values are at distance
0, one missing and one present at distance 1, as in the package's one distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_BLOCK = 1 << 20  # pairs, or counts, that are looked at together


@dataclass(frozen=True, eq=False)
class Around:
    """Records and the rows of the same table of cells and numbers that may lie around them.

    Attributes:
        records: columns of numbers of the records.
        record_cell: cell of each record.
        rows: the same columns of the rows.
        row_cell: cell of each row.
    """

    records: Floats
    record_cell: Ints
    rows: Floats
    row_cell: Ints

    def groups(self, shells: int = 1, levels: int = 1) -> list[tuple[Ints, Ints]]:
        """Records and the rows of their cell, at most a block of them together.

        ``shells`` × ``levels`` are the counts that are kept for each record.
        """
        by_row = np.argsort(self.row_cell, kind="stable")
        ordered = self.row_cell[by_row]
        by_record = np.argsort(self.record_cell, kind="stable")
        cells, first = np.unique(self.record_cell[by_record], return_index=True)
        start, stop = (np.searchsorted(ordered, cells, side=side) for side in ("left", "right"))
        found = []
        parts = np.split(by_record, first[1:])
        for group, low, high in zip(parts, start, stop, strict=bool(cells.size)):
            counts = shells * min(levels, int(high - low))
            step = max(_BLOCK // max(int(high - low), counts, 1), 1)
            some = range(0, len(group) if high > low else 0, step)
            found += [(group[at : at + step], by_row[low:high]) for at in some]
        return found

    def distances(self, records: Ints, rows: Ints) -> Floats:
        """Distances between some records and some rows (records × rows)."""
        total = np.zeros((len(records), len(rows)))
        for mine, theirs in zip(self.records[records].T, self.rows[rows].T, strict=True):
            gap = mine[:, None] - theirs[None, :]
            one, other = np.isnan(mine), np.isnan(theirs)
            if one.any() or other.any():
                both = one[:, None] & other[None, :]
                gap = np.where(both, 0.0, np.where(np.isnan(gap), 1.0, gap))
            total += gap * gap
        return np.sqrt(total, out=total)


@dataclass(frozen=True, eq=False)
class Shells:
    """For each record, the rows that a radius is the first to reach; only shells that hold some.

    The nearest rows of a record are a shell of their own, so that an attacker who widens a ball
    until it holds somebody can be followed.

    Attributes:
        record: the record of each shell, ascending; shells of a record from the inside out.
        radius: which radius is the first to reach it (their number, if none does).
        extra: the ball that ends with this shell is none of those of the radii: it is reached by
            widening alone.
        at: which rows each shell holds (shells × rows).
    """

    record: Ints
    radius: Ints
    extra: Bools
    at: csr_matrix

    def balls(self, weights: Floats) -> Floats:
        """Sums of weights over the ball that ends with each shell (shells × weights)."""
        return self._balls(self.at, weights, self.record)

    @staticmethod
    def _balls(at: csr_matrix, weights: Floats, record: Ints) -> Floats:
        total = np.cumsum(np.asarray(at @ weights), axis=0)
        before = np.concatenate([np.zeros((1, weights.shape[1])), total])
        return np.asarray(total - before[np.searchsorted(record, record)], dtype=np.float64)

    def largest(self, same: Bools, weights: Floats, records: int) -> tuple[Floats, Floats]:
        """Largest share of weight that some pairs have, over each record's balls.

        Args:
            same: for each pair, in the order of ``at``, whether it counts.
            weights: weights of the rows (rows × weights).
            records: number of records.

        Returns:
            Shares (records × weights) by the radii, and with widening; 0 where no ball has any
            weight.

        Cost: pairs × weights, in blocks of records.
        """
        data = same.astype(np.float64)
        match = csr_matrix((data, self.at.indices, self.at.indptr), self.at.shape)
        plain, wide = np.zeros((2, records, weights.shape[1]))
        for cut in self._cuts(weights.shape[1]):
            record = self.record[cut]
            rows = self._balls(self.at[cut], weights, record)
            hits = self._balls(match[cut], weights, record)
            share = np.divide(hits, rows, out=np.zeros_like(hits), where=rows > 0)
            who, first = np.unique(record, return_index=True)
            wide[who] = np.maximum.reduceat(share, first, axis=0)
            share[self.extra[cut]] = 0.0
            plain[who] = np.maximum.reduceat(share, first, axis=0)
        return plain, wide

    def _cuts(self, weights: int) -> Iterator[slice]:
        """Slices of shells that keep the records whole, each at most a few blocks of sums."""
        total = len(self.record)
        ends = np.append(np.flatnonzero(np.diff(self.record)) + 1, total)
        step = max(4 * _BLOCK // max(weights, 1), 1)
        start = 0
        while start < total:
            one = np.searchsorted(ends, start, side="right")
            last = max(np.searchsorted(ends, start + step, side="right") - 1, one)
            yield slice(start, int(ends[last]))
            start = int(ends[last])


def shells(around: Around, deltas: Floats | None) -> Shells:
    """For each record and each δ, the rows that this δ is the first to reach.

    Args:
        around: records and rows.
        deltas: radii, ascending; None: every distance that occurs is a radius.

    Cost: the pairs within cells, at most records × rows; memory: the pairs within the largest δ.

    Example:
        >>> around = Around(np.array([[0.0]]), np.zeros(1, int),
        ...                 np.array([[0.1], [0.2], [2.0], [9.0]]), np.zeros(4, int))
        >>> found = shells(around, np.array([0.5, 3.0]))
        >>> found.at.toarray().tolist()
        [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
        >>> found.radius.tolist(), found.extra.tolist()
        ([0, 0, 1], [True, False, False])
    """
    nothing = np.zeros(0, dtype=np.int64)
    found = [(nothing, nothing, nothing), *(_reached(around, deltas, *g) for g in around.groups())]
    record, row, shell = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((shell, record))
    record, row, shell = record[order], row[order], shell[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(record) > 0) | (np.diff(shell) > 0)
    start = np.append(np.flatnonzero(fresh), len(order))
    at = csr_matrix((np.ones(len(row)), row, start), (len(start) - 1, len(around.rows)))
    record, shell = record[fresh], shell[fresh]
    if deltas is None:
        return Shells(record, shell, np.zeros(len(shell), dtype=bool), at)
    # Of the nearest rows alone: where more rows come with the same radius, or none reaches them.
    joined = np.append((np.diff(record) == 0) & (np.diff(shell // 2) == 0), False)
    beyond = shell // 2 == len(deltas)
    return Shells(record, shell // 2, (shell % 2 == 0) & (joined | beyond), at)


def _reached(
    around: Around, deltas: Floats | None, records: Ints, rows: Ints
) -> tuple[Ints, Ints, Ints]:
    """Records, rows and shells: twice the radius that reaches them, odd but for the nearest."""
    distance = around.distances(records, rows)
    if deltas is None:
        _, shell = np.unique(distance, return_inverse=True)
        shell = shell.reshape(distance.shape)
        a, b = np.divmod(np.arange(distance.size), len(rows))
    else:
        shell = 2 * np.searchsorted(deltas, distance, side="left") + 1
        shell[distance == distance.min(axis=1, keepdims=True)] -= 1
        a, b = np.nonzero(shell <= 2 * len(deltas))
    return records[a], rows[b], shell[a, b]
