"""Cells of a number: values that many share stand alone, the others form intervals.

A *piece* is an atom (one value) or an interval of the column's own grid; a *cell* is one piece or a
few neighbouring ones. A draw goes to a cell, then to a piece of it by train's frequencies, then
uniformly to a grid point of the piece: no draw returns a value because one person had it.

Cells are a partition: a value drawn from a cell belongs to that cell, so whoever reads the value
knows the code that was drawn, and densities add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_FEW = 3  # a lone value shared by fewer people than this is blurred into its neighbours
_PIECES = 2048


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one numeric column, ordered.

    Attributes:
        upper: where each cell but the last ends (halfway to the next cell's smallest value).
        first: index of each cell's first piece, with the number of pieces at the end.
        low: smallest value of each piece.
        high: largest value of each piece (equal to ``low`` for an atom).
        weight: rows of train in each piece.
        step: grid of the values (0 for none).
    """

    upper: NDArray[np.float64]
    first: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: NDArray[np.float64]
    step: float

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.first) - 1

    def of(self, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """Cell of each value; missing values get the code ``count``."""
        codes = np.searchsorted(self.upper, values, side="left").astype(np.int32)
        codes[np.isnan(values)] = self.count
        return codes

    def draw(self, codes: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw a value inside each cell; NaN for the code of missing."""
        values = np.full(len(codes), np.nan)
        present = codes < self.count
        if present.any():
            values[present] = self._draw_present(codes[present], rng)
        return values

    def _draw_present(
        self, codes: NDArray[np.int32], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        total = np.concatenate(([0.0], np.cumsum(self.weight)))
        begin, end = total[self.first[codes]], total[self.first[codes + 1]]
        spot = begin + rng.random(len(codes)) * (end - begin)
        piece = np.searchsorted(total, spot, side="right") - 1
        piece = np.clip(piece, self.first[codes], self.first[codes + 1] - 1)
        low, high = self.low[piece], self.high[piece]
        share = rng.random(len(codes))
        if self.step == 0.0:
            return np.asarray(low + share * (high - low), dtype=np.float64)
        points = np.rint((high - low) / self.step) + 1.0
        return self.on_grid(low + np.floor(share * points) * self.step)

    def on_grid(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Remove float dust: the nearest value with the column's number of decimals."""
        if self.step >= 1.0 or self.step == 0.0:
            return values
        return np.round(values, round(-np.log10(self.step)))

    def log_density(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log density of each value given its cell (a mass where there is a grid); 0 if missing."""
        codes = self.of(values)
        present = codes < self.count
        result = np.zeros(len(values))
        result[present] = self._log_present(values[present], codes[present])
        return result

    def _log_present(
        self, values: NDArray[np.float64], codes: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        points = np.rint((self.high - self.low) / self.step) + 1 if self.step else None
        width = self.high - self.low if points is None else points
        mass, total = np.zeros(len(values)), np.zeros(len(values))
        slack = self.step / 2
        for offset in range(int(np.diff(self.first).max(initial=0))):
            piece = self.first[codes] + offset
            inside = piece < self.first[codes + 1]
            piece = np.where(inside, piece, 0)
            hit = (values >= self.low[piece] - slack) & (values <= self.high[piece] + slack)
            # On a continuous column an atom is a point mass: count it as mass 1.
            spread = np.where(width[piece] > 0, width[piece], 1.0)
            mass += np.where(inside & hit, self.weight[piece] / spread, 0.0)
            total += np.where(inside, self.weight[piece], 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(mass) - np.log(total), dtype=np.float64)


def find_cells(
    values: NDArray[np.float64], *, most: int = 256, shared: int = 10, step: float = 0.0
) -> Cells:
    """Find the cells of a column's present values.

    Args:
        values: present values of train.
        most: about how many cells at most (large atoms come on top).
        shared: rows that must share a value for it to stand alone, or an interval to be cut.
        step: grid of the values.

    Example:
        >>> cells = find_cells(np.repeat([0.0, 1.0, 7.0, 8.0, 9.0], [20, 20, 4, 4, 4]), step=1.0)
        >>> cells.low.tolist(), cells.high.tolist()
        ([0.0, 1.0, 7.0], [0.0, 1.0, 9.0])
    """
    if values.size == 0:
        empty = np.zeros(0)
        return Cells(empty, np.zeros(1, dtype=np.int64), empty, empty, empty, step)
    unique, counts = np.unique(values, return_counts=True)
    piece = _pieces(counts, shared=shared, chunk=max(shared, -(-values.size // _PIECES)))
    first = np.flatnonzero(np.diff(piece, prepend=-1))
    last = np.append(first[1:], len(unique)) - 1
    weight = np.add.reduceat(counts, first).astype(np.float64)
    low, high = unique[first].copy(), unique[last].copy()
    lone = np.flatnonzero((low == high) & (weight < _FEW))
    _blur(lone, low, high, step)
    cell_first = _group(weight, most, lone)
    ends = np.append(cell_first[1:], len(first)) - 1
    upper = _between(high[ends[:-1]], low[cell_first[1:]])
    return Cells(upper, np.append(cell_first, len(first)), low, high, weight, step)


def _pieces(counts: NDArray[np.int64], *, shared: int, chunk: int) -> NDArray[np.int64]:
    """Piece index of each distinct value: atoms alone, runs of the others cut in chunks."""
    atom = counts >= shared
    run = np.cumsum(atom | np.concatenate(([True], atom[:-1])))  # breaks before and after atoms
    begin = np.flatnonzero(np.diff(run, prepend=0))
    total = np.add.reduceat(counts, begin)
    before = np.cumsum(counts) - counts
    inside = before - before[begin][run - 1]
    # A run of m people is cut in floor(m / chunk) parts of equal size, so that none is small.
    parts = np.maximum(total // chunk, 1)[run - 1]
    part = np.minimum(inside * parts // total[run - 1], parts - 1)
    part[atom] = 0
    change = (np.diff(run, prepend=0) != 0) | (np.diff(part, prepend=0) != 0)
    return np.cumsum(change) - 1


def _between(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Halfway, without overflow, and below ``high`` even where both are neighbouring floats."""
    half = np.maximum(low / 2 + high / 2, low)
    return np.where(half < high, half, low)


def _blur(
    lone: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64], step: float
) -> None:
    """Widen lone pieces (one value of one or two people) towards their neighbours, in place.

    A lone piece begins where the piece before ends, and ends just before the piece after begins.
    """
    begins, ends = low.copy(), high.copy()
    for index in lone:
        if index > 0:
            low[index] = ends[index - 1]
        if index + 1 == len(low):
            continue
        if index == 0:
            high[index] = begins[1]
        elif step:
            high[index] = max(begins[index + 1] - step, ends[index])
        else:
            high[index] = _between(ends[index], begins[index + 1])


def _group(weight: NDArray[np.float64], most: int, lone: NDArray[np.int64]) -> NDArray[np.int64]:
    """First piece of each cell: neighbouring pieces together until there are about ``most``.

    A lone piece overlaps the piece before it (the first one: after it) and stays in its cell.
    """
    if len(weight) <= most:
        breaks = np.ones(len(weight), dtype=bool)
    else:
        target = weight.sum() / most
        slot = np.floor((np.cumsum(weight) - weight) / target)
        large = weight >= target
        breaks = (np.diff(slot, prepend=-1) != 0) | large | np.concatenate(([False], large[:-1]))
    joined = np.unique(np.maximum(lone, 1))
    for index in joined[joined < len(breaks)]:
        breaks[index + 1 : index + 2] |= breaks[index]
        breaks[index] = False
    return np.flatnonzero(breaks)
