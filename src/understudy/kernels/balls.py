"""Who is near whom: rows of one table inside balls around the records of another.

A ball around a record holds the rows of its own cell (equal levels, where columns have levels) at
a distance of at most δ. Nothing of size records × rows is allocated: pairs are looked at cell by
cell, block by block. Distances are Euclidean over the columns; two missing values are at distance
0, one missing and one present at distance 1, as in the package's one distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Map = Callable[..., Iterable[Any]]
_BLOCK = 1 << 20  # pairs, or counts, that are looked at together
_BATCHES = 16  # parts that workers share


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
        match = csr_matrix((same.astype(np.float64), self.at.indices, self.at.indptr), self.at.shape)
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


@dataclass(frozen=True, eq=False)
class Tally:
    """What the balls around records hold, in rows.

    ``own`` are rows with the record's own level; ``guess`` is the chance that the most frequent
    level of the ball is the record's own (ties are broken at random, an empty ball gives 0).

    Attributes:
        rows: rows in the ball (records × deltas).
        own: rows of it with the record's own level.
        guess: whether the mode is the record's level.
        near_rows: rows at the distance of the nearest one (0: the cell is empty).
        near_own: of those, rows with the record's own level.
        near_guess: whether the mode of those is the record's level.
        near: distance of the nearest row; infinite where the cell is empty.
        most: largest share of own rows over all radii whatever; NaN if not asked for.
    """

    rows: Floats
    own: Floats
    guess: Floats
    near_rows: Floats
    near_own: Floats
    near_guess: Floats
    near: Floats
    most: Floats

    @property
    def share(self) -> Floats:
        """Share of own rows in each ball; 0 where a ball is empty: no attack."""
        return _share(self.own, self.rows)

    @property
    def near_share(self) -> Floats:
        """Share of own rows among the nearest; 0 where the cell is empty."""
        return _share(self.near_own, self.near_rows)

    def widened(self, deltas: Floats) -> Floats:
        """Shares of an attacker who widens an empty ball until it holds its nearest rows."""
        far = self.near[:, None] > deltas[None, :]
        return np.where(far, self.near_share[:, None], self.share)


def tally(
    around: Around,
    record_level: Ints,
    row_level: Ints,
    deltas: Floats,
    *,
    every: bool = False,
    map_: Map = map,
) -> Tally:
    """Count rows, rows of the record's own level, and whose level is the most frequent.

    Args:
        around: records and rows.
        record_level: level of each record, from 0.
        row_level: level of each row, from 0.
        deltas: radii, ascending.
        every: also the largest share over every radius, by prefixes of the sorted neighbours.
        map_: parts may be counted by several workers; the result is the same.

    Cost: the pairs within cells, plus records × deltas × levels of the cell; with ``every``, pairs
    × log pairs of a record. Memory: records × deltas, and a block.

    Example:
        >>> around = Around(np.array([[0.0]]), np.zeros(1, int),
        ...                 np.array([[0.1], [2.0], [9.0]]), np.zeros(3, int))
        >>> found = tally(around, np.array([1]), np.array([0, 1, 1]), np.array([0.5, 3.0]))
        >>> found.share.tolist(), found.guess.tolist()
        ([[0.0, 0.5]], [[0.0, 0.5]])
    """
    size = (len(around.records), len(deltas))
    columns = [np.zeros(size) for _ in range(3)] + [np.zeros(size[0]) for _ in range(3)]
    result = Tally(*columns, np.full(size[0], np.inf), np.full(size[0], 0.0 if every else np.nan))
    groups = around.groups(len(deltas), 1 + int(row_level.max(initial=0)))
    batches = [groups[place::_BATCHES] for place in range(min(_BATCHES, len(groups)))]
    one = partial(_tally_batch, around, record_level, row_level, deltas, every, result)
    for _ in map_(one, batches):  # each batch writes the rows of its own records
        pass
    return result


def _tally_batch(
    around: Around,
    record_level: Ints,
    row_level: Ints,
    deltas: Floats,
    every: bool,
    result: Tally,
    batch: list[tuple[Ints, Ints]],
) -> None:
    for records, rows in batch:
        distance = around.distances(records, rows)
        levels, level = np.unique(row_level[rows], return_inverse=True)
        mine = record_level[records]
        place = np.searchsorted(levels, mine)
        known = place < len(levels)
        known[known] = levels[place[known]] == mine[known]
        place = np.where(known, place, -1)
        near = distance.min(axis=1)
        result.near[records] = near
        shell = np.where(distance == near[:, None], 0, 1)
        inner = _counted(shell, level, 1, len(levels))[:, 0]
        found = _judged(inner[:, None], place)
        for column, one in zip(("near_rows", "near_own", "near_guess"), found, strict=True):
            getattr(result, column)[records] = one[:, 0]
        shell = np.searchsorted(deltas, distance, side="left")
        found = _judged(_counted(shell, level, len(deltas), len(levels)), place)
        for column, one in zip(("rows", "own", "guess"), found, strict=True):
            getattr(result, column)[records] = one
        if every:
            result.most[records] = _supremum(distance, level == place[:, None])


def _counted(shell: Ints, level: Ints, shells: int, levels: int) -> Ints:
    """Rows by record, ball and level (records × shells × levels)."""
    a, b = np.nonzero(shell < shells)
    key = (a * shells + shell[a, b]) * levels + level[b]
    counts = np.bincount(key, minlength=len(shell) * shells * levels)
    return np.asarray(np.cumsum(counts.reshape(-1, shells, levels), axis=1), dtype=np.int64)


def _judged(counts: Ints, place: Ints) -> tuple[Floats, Floats, Floats]:
    """Rows, own rows and the chance that the mode is the own level; −1: no row has the level."""
    rows = counts.sum(axis=2)
    own = np.take_along_axis(counts, np.maximum(place, 0)[:, None, None], axis=2)[:, :, 0]
    own = np.where(place[:, None] >= 0, own, 0)
    top = counts.max(axis=2)
    ties = (counts == top[:, :, None]).sum(axis=2)
    guess = np.where((own == top) & (own > 0), 1.0 / ties, 0.0)
    return rows.astype(np.float64), own.astype(np.float64), guess


def _supremum(distance: Floats, same: Bools) -> Floats:
    """Largest share of ``same`` over balls of every radius."""
    order = np.argsort(distance, axis=1, kind="stable")
    ordered = np.take_along_axis(distance, order, axis=1)
    share = np.cumsum(np.take_along_axis(same, order, axis=1), axis=1) / np.arange(
        1, distance.shape[1] + 1
    )
    # A ball holds all rows at its radius: only the last of equal distances ends one.
    share[:, :-1][ordered[:, 1:] == ordered[:, :-1]] = 0.0
    return np.asarray(share.max(axis=1), dtype=np.float64)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def needed(
    distance: Floats, same: Bools, share: float, deltas: Floats | None
) -> tuple[int, float]:
    """How many other rows bring the share of ``same`` down to ``share`` in every ball, and where.

    A ball with m matching rows among n needs ⌈m / share⌉ − n others (Bale & Quick, Algorithm 1).
    Rows inside the smallest ball that exceeds lie in all larger ones, so the most that any ball
    needs is enough for all of them.

    Args:
        distance: distances of the rows around one record.
        same: which of them have the record's own level.
        share: largest share allowed.
        deltas: radii, ascending; None: every radius.

    Returns:
        The number of rows, and the radius that they must not exceed (0, 0 where none is needed).

    Cost: rows × log rows.

    Example:
        >>> needed(np.array([0.1, 0.2, 0.9]), np.array([True, True, False]), 0.5, np.array([0.3, 1]))
        (2, 0.3)
    """
    order = np.argsort(distance, kind="stable")
    ordered = distance[order]
    radii = np.unique(ordered) if deltas is None else deltas
    rows = np.searchsorted(ordered, radii, side="right")
    own = np.concatenate([[0], np.cumsum(same[order])])[rows]
    over = own > share * rows * (1 + 1e-9)
    if not over.any():
        return 0, 0.0
    lacking = np.ceil(own / share - 1e-9) - rows
    return int(lacking.max()), float(radii[over][0])
