"""What balls around records hold: rows, rows of the record's own level, the most frequent level."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.kernels.balls import Around

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Map = Callable[..., Iterable[Any]]
_BATCHES = 16  # parts that workers share


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
        near: distance of the nearest row; infinite where the cell is empty.
        most: largest share of own rows over all radii whatever; NaN if not asked for.
    """

    rows: Floats
    own: Floats
    guess: Floats
    near_rows: Floats
    near_own: Floats
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
    rows, own, guess = np.zeros((3, *size))
    near_rows, near_own = np.zeros((2, size[0]))
    near, most = np.full(size[0], np.inf), np.full(size[0], 0.0 if every else np.nan)
    result = Tally(rows, own, guess, near_rows, near_own, near, most)
    groups = around.groups(len(deltas), 1 + int(row_level.max(initial=0)))
    batches = [groups[place::_BATCHES] for place in range(min(_BATCHES, len(groups)))]
    one = partial(_fill, result, around, record_level, row_level, deltas, every)
    for _ in map_(one, batches):
        pass
    return result


def _fill(
    result: Tally,
    around: Around,
    record_level: Ints,
    row_level: Ints,
    deltas: Floats,
    every: bool,
    batch: list[tuple[Ints, Ints]],
) -> None:
    """Count for the records of some groups; each writes the rows of its own records."""
    for records, rows in batch:
        distance = around.distances(records, rows)
        levels, level = np.unique(row_level[rows], return_inverse=True)
        own = _place(levels, record_level[records])
        same = level == own[:, None]
        shell = np.searchsorted(deltas, distance, side="left")
        counts = _counted(shell, level, len(deltas), len(levels))
        result.rows[records], result.own[records], result.guess[records] = _judged(counts, own)
        result.near[records] = near = distance.min(axis=1)
        nearest = distance == near[:, None]
        result.near_rows[records] = nearest.sum(axis=1)
        result.near_own[records] = (nearest & same).sum(axis=1)
        if every:
            result.most[records] = _supremum(distance, same)


def _place(levels: Ints, mine: Ints) -> Ints:
    """Place of each record's level among those of its cell; −1 where the cell has none of it."""
    place = np.minimum(np.searchsorted(levels, mine), len(levels) - 1)
    return np.where(levels[place] == mine, place, -1)


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


def needed(distance: Floats, same: Bools, share: float, deltas: Floats | None) -> tuple[int, float]:
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
        >>> same = np.array([True, True, False])
        >>> needed(np.array([0.1, 0.2, 0.9]), same, 0.5, np.array([0.3, 1.0]))
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
