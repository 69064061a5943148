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

    Attributes:
        record: the record of each shell, ascending; shells of a record from the inside out.
        at: which rows each shell holds (shells × rows).
    """

    record: Ints
    at: csr_matrix

    def balls(self, weights: Floats) -> Floats:
        """Sums of weights over the ball that ends with each shell (shells × weights)."""
        total = np.cumsum(np.asarray(self.at @ weights), axis=0)
        first = np.searchsorted(self.record, self.record)
        before = np.concatenate([np.zeros((1, weights.shape[1])), total])
        return np.asarray(total - before[first], dtype=np.float64)

    def largest(self, same: Bools, weights: Floats, records: int) -> Floats:
        """Largest share of weight that some pairs have, over each record's balls.

        Args:
            same: for each pair, in the order of ``at``, whether it counts.
            weights: weights of the rows (rows × weights).
            records: number of records.

        Returns:
            records × weights; 0 where no ball has any weight.

        Cost: pairs × weights, in blocks of records.
        """
        match = csr_matrix(
            (same.astype(np.float64), self.at.indices, self.at.indptr), self.at.shape
        )
        result = np.zeros((records, weights.shape[1]))
        for cut in self._cuts(weights.shape[1]):
            part = Shells(self.record[cut], self.at[cut])
            rows, hits = part.balls(weights), Shells(part.record, match[cut]).balls(weights)
            share = np.divide(hits, rows, out=np.zeros_like(hits), where=rows > 0)
            who, first = np.unique(part.record, return_index=True)
            result[who] = np.maximum.reduceat(share, first, axis=0)
        return result

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


def shells(around: Around, deltas: Floats | None, *, nearest: bool = False) -> Shells:
    """For each record and each δ, the rows that this δ is the first to reach.

    Args:
        around: records and rows.
        deltas: radii, ascending; None: every distance that occurs is a radius.
        nearest: where the nearest rows are beyond the smallest δ, they are a shell of their own,
            however far they are.

    Cost: the pairs within cells, at most records × rows; memory: the pairs within the largest δ.

    Example:
        >>> around = Around(np.array([[0.0]]), np.zeros(1, int),
        ...                 np.array([[0.1], [2.0], [9.0]]), np.zeros(3, int))
        >>> shells(around, np.array([0.5, 3.0])).at.toarray().tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    nothing = np.zeros(0, dtype=np.int64)
    groups = around.groups()
    found = [(nothing, nothing, nothing)]
    found += [_reached(around, deltas, nearest, *group) for group in groups]
    record, row, shell = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((shell, record))
    record, row, shell = record[order], row[order], shell[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(record) > 0) | (np.diff(shell) > 0)
    start = np.append(np.flatnonzero(fresh), len(order))
    at = csr_matrix((np.ones(len(row)), row, start), (len(start) - 1, len(around.rows)))
    return Shells(record[fresh], at)


def _reached(
    around: Around, deltas: Floats | None, nearest: bool, records: Ints, rows: Ints
) -> tuple[Ints, Ints, Ints]:
    distance = around.distances(records, rows)
    if deltas is None:
        _, shell = np.unique(distance, return_inverse=True)
        shell = shell.reshape(distance.shape)
        a, b = np.divmod(np.arange(distance.size), len(rows))
    else:
        shell = np.searchsorted(deltas, distance, side="left") + 1
        if nearest:
            near = distance.min(axis=1, keepdims=True)
            shell[(distance == near) & (near > deltas[0])] = 0
        a, b = np.nonzero(shell <= len(deltas))
    return records[a], rows[b], shell[a, b]
