"""Who is near whom: rows of one table inside balls around the records of another.

A ball around a record holds the rows of its own cell (equal levels, where columns have levels) at
a distance of at most δ. Nothing of size records × rows is allocated: pairs are found cell by cell,
block by block, and only those within the largest δ are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BLOCK = 1 << 20  # pairs that are looked at together


def shells(
    records: Floats, record_cell: Ints, rows: Floats, row_cell: Ints, deltas: Floats
) -> csr_matrix:
    """For each record and each δ, the rows that this δ is the first to reach.

    Squared Euclidean distances over the columns; two missing values are at distance 0, one missing
    and one present at distance 1, as in the package's one distance.

    Args:
        records: columns of numbers of the records.
        record_cell: cell of each record.
        rows: the same columns of the rows.
        row_cell: cell of each row.
        deltas: radii, ascending.

    Returns:
        A sparse matrix ((records × deltas) × rows) of ones. Multiplied by a weight per row it gives
        sums over shells; their running sums over δ are sums over balls.

    Cost: the pairs within cells, at most records × rows; memory: the pairs within the largest δ.

    Example:
        >>> at = shells(np.array([[0.0]]), np.zeros(1, int), np.array([[0.1], [2.0], [9.0]]),
        ...             np.zeros(3, int), np.array([0.5, 3.0]))
        >>> at.toarray().tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    found = list(_pairs(records, record_cell, rows, row_cell, deltas))
    record, row, shell = (np.concatenate(part) for part in zip(*found, strict=True))
    place = record * len(deltas) + shell
    shape = (len(records) * len(deltas), len(rows))
    return csr_matrix((np.ones(len(place)), (place, row)), shape=shape)


def balls(at: csr_matrix, weights: Floats, deltas: int) -> Floats:
    """Sums of weights over the rows in each record's balls (records × deltas × weights).

    Example:
        >>> at = shells(np.zeros((1, 1)), np.zeros(1, int), np.array([[0.1], [2.0]]),
        ...             np.zeros(2, int), np.array([0.5, 3.0]))
        >>> balls(at, np.ones((2, 1)), 2).tolist()
        [[[1.0], [2.0]]]
    """
    sums = np.asarray(at @ weights).reshape(-1, deltas, weights.shape[1])
    return np.asarray(np.cumsum(sums, axis=1), dtype=np.float64)


def _pairs(
    records: Floats, record_cell: Ints, rows: Floats, row_cell: Ints, deltas: Floats
) -> Iterator[tuple[Ints, Ints, Ints]]:
    nothing = np.zeros(0, dtype=np.int64)
    yield nothing, nothing, nothing
    if not len(record_cell):
        return
    by_row = np.argsort(row_cell, kind="stable")
    ordered = row_cell[by_row]
    by_record = np.argsort(record_cell, kind="stable")
    cells, first = np.unique(record_cell[by_record], return_index=True)
    for cell, group in zip(cells, np.split(by_record, first[1:]), strict=True):
        inside = by_row[slice(*np.searchsorted(ordered, [cell, cell + 1]))]
        if not inside.size:
            continue
        step = max(_BLOCK // inside.size, 1)
        for start in range(0, len(group), step):
            some = group[start : start + step]
            distance = np.sqrt(_squared(records[some], rows[inside]))
            shell = np.searchsorted(deltas, distance, side="left")
            a, b = np.nonzero(shell < len(deltas))
            yield some[a], inside[b], shell[a, b]


def _squared(records: Floats, rows: Floats) -> Floats:
    total = np.zeros((len(records), len(rows)))
    for mine, theirs in zip(records.T, rows.T, strict=True):
        gap = mine[:, None] - theirs[None, :]
        both = np.isnan(mine)[:, None] & np.isnan(theirs)[None, :]
        total += np.where(both, 0.0, np.where(np.isnan(gap), 1.0, gap * gap))
    return total
