"""Lower bounds of the squared typed distance, cheap enough to rule out nearly all pairs.

With x, y centred and clipped (which never lengthens a distance) and p = 1 where present, the
squared distance is a bilinear form a(x) · b(y), so a block of pairs costs one float32 product:

    numbers  x² − 2xy + y²,  and with missing values
             p_x (1 + y² − 2 p_y) + x² p_y − 2xy + p_y
    codes    [x ≠ y] = [x ≠ rest] + Σ_l ([x = rest] − [x = l]) [y = l]   over the kept levels l

Rare levels share `rest`, where differing counts as equal: still a lower bound. So does each whole
leaf of a k-d tree (Bentley 1975, CACM 18:509), from the box of its numbers and its set of levels.

Rounding: a float32 product of D rounded terms errs by at most (D + 4) u Σ|a||b|, u = 2⁻²⁴ (Higham
2002, Accuracy and Stability, §3.1); here Σ|a||b| ≤ 3 (|x|² + |y|² + a + b), and the squares and
the shift err by (D + 6) u (|x|² + |y|²) at most. 4 (D + 8) u (|x|² + |y|² + a + b) is subtracted.
Codes alone give small whole numbers, which are exact.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Codes = NDArray[np.integer]
Rows = NDArray[np.int64]

LEAF = 256
SAMPLE = 256  # rows looked at to choose a split
LEVELS = 40  # kept levels over all code columns
STRIP = 16  # leaves treated at once, in the cache
ROUNDOFF = 2.0**-24
TINY = 1e-30  # more than underflow can take from a bound
FAR = 1e15  # its square, and sums of squares, fit into float32


@dataclass(frozen=True)
class Levels:
    """Groups of the levels of one code column: 0 is `rest`, 1.. are the kept levels."""

    known: NDArray[np.int32]  # sorted levels of train
    group: NDArray[np.int32]  # their groups
    rank: NDArray[np.int32]  # their ranks by frequency
    width: int  # kept levels

    def groups(self, codes: Codes) -> NDArray[np.int32]:
        """Group of each code; −1 for a level not in train."""
        at = np.minimum(np.searchsorted(self.known, codes), len(self.known) - 1)
        return np.where(self.known[at] == codes, self.group[at], -1).astype(np.int32)


def levels_of(codes: Codes) -> list[Levels]:
    """Keep the most frequent levels over all columns, all but one at most of each."""
    counted = [np.unique(column, return_counts=True) for column in codes.T]
    ranks = [np.argsort(np.argsort(-count, kind="stable")) for _, count in counted]
    optional = [c[r < len(c) - 1] for (_, c), r in zip(counted, ranks, strict=True)]
    pooled = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *optional]))[::-1]
    least = pooled[LEVELS] + 1 if len(pooled) > LEVELS else 0
    result = []
    for (known, count), rank in zip(counted, ranks, strict=True):
        kept = (count >= least) & (rank < len(known) - 1)
        group = np.where(kept, rank + 1, 0)
        result.append(Levels(known, group.astype(np.int32), rank.astype(np.int32), int(kept.sum())))
    return result


def halves(numbers: Singles, ranks: NDArray[np.int32]) -> tuple[Rows, Rows]:
    """Split rows in two where that most reduces the mean squared distance within the parts."""
    step = max(1, len(ranks) // SAMPLE)
    values = np.concatenate([numbers[::step], ranks[::step]], axis=1, dtype=np.float32)
    middle = np.sort(values, axis=0)[(len(values) - 1) // 2]
    below, upto = values < middle, values <= middle
    strict = abs(below.mean(axis=0) - 0.5) < abs(upto.mean(axis=0) - 0.5)
    left = np.where(strict, below, upto)
    a = numbers.shape[1]
    gain = np.concatenate(
        [_variance_gain(values[:, :a], left[:, :a]), _gini_gain(ranks[::step], left[:, a:])]
    )
    best = int(np.argmax(gain)) if len(gain) else -1
    if best < 0 or gain[best] <= 0:
        return np.arange(len(ranks) // 2), np.arange(len(ranks) // 2, len(ranks))
    column = numbers[:, best] if best < a else ranks[:, best - a]
    side = column < middle[best] if strict[best] else column <= middle[best]
    return np.flatnonzero(side), np.flatnonzero(~side)


def _variance_gain(values: Singles, left: NDArray[np.bool_]) -> Floats:
    """Twice the variance between the parts: what the split takes off the mean squared distance."""
    share = left.mean(axis=0)
    total = values.mean(axis=0, dtype=np.float64)
    part = (values * left).mean(axis=0, dtype=np.float64)
    spread = share * (1 - share)
    gap = part - share * total
    gain: Floats = 2 * np.divide(gap**2, spread, out=np.zeros_like(gap), where=spread > 0)
    return gain


def _gini_gain(ranks: NDArray[np.int32], left: NDArray[np.bool_]) -> Floats:
    """Fall of the probability that two rows differ; no level is on both sides of a split."""
    n, b = ranks.shape
    share = left.mean(axis=0)
    gain = np.zeros(b)
    for j in range(b):
        if 0 < share[j] < 1:
            squares = np.square(np.bincount(ranks[:, j]) / n)
            inside = squares[: ranks[left[:, j], j].max() + 1].sum()
            gain[j] = inside * (1 / share[j] - 1) + (squares.sum() - inside) * (
                1 / (1 - share[j]) - 1
            )
    return gain


def partition(numbers: Singles, ranks: NDArray[np.int32]) -> tuple[Rows, Rows]:
    """Order of the rows, leaf by leaf, and where each leaf starts (and the last one ends)."""
    stack, leaves = [np.arange(len(ranks))], []
    size = max(LEAF, math.isqrt(len(ranks)))
    while stack:
        rows = stack.pop()
        if len(rows) <= size:
            leaves.append(rows)
        else:
            stack.extend(rows[part] for part in halves(numbers[rows], ranks[rows])[::-1])
    return np.concatenate(leaves), np.cumsum([0, *map(len, leaves)])


def leaves(numbers: Floats, codes: Codes) -> Rows:
    """The leaf that each row falls into. Cost: n log n.

    Example:
        >>> leaves(np.zeros((3, 0)), np.zeros((3, 1), dtype=np.int32)).tolist()
        [0, 0, 0]
    """
    if len(codes) == 0:
        return np.zeros(0, dtype=np.int64)
    order, starts = _tree(_shifted(numbers, *_centre(numbers)), codes, levels_of(codes))
    leaf = np.empty(len(order), dtype=np.int64)
    leaf[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return leaf


def _tree(x: Singles, codes: Codes, levels: list[Levels]) -> tuple[Rows, Rows]:
    ranks = np.empty(codes.shape, dtype=np.int32)
    for j, level in enumerate(levels):
        ranks[:, j] = level.rank[np.searchsorted(level.known, codes[:, j])]
    return partition(np.where(np.isnan(x), np.float32(-2), x), ranks)


def _gathered(leaf: Rows) -> tuple[Rows, Rows]:
    """Order and starts of leaves that are known; those that have lost all rows are gone."""
    order = np.argsort(leaf, kind="stable")
    edges = np.flatnonzero(np.diff(leaf[order])) + 1
    return order, np.concatenate(([0], edges, [len(leaf)]))


@dataclass(frozen=True)
class Screen:
    """Train in leaf order, as the right-hand factors of the bilinear form, with leaf bounds."""

    centre: Floats
    reach: float  # numbers are clipped to ± this
    gaps: NDArray[np.bool_]  # number columns with missing values
    levels: list[Levels]
    order: Rows
    starts: Rows
    factors: Singles  # (n, D): b(y)
    low: Singles  # (L, a) boxes of the numbers present
    high: Singles
    holed: NDArray[np.bool_]  # (L, a) some value is missing
    present: Singles  # (L, all groups) 0/1: some row is in the group

    @classmethod
    def fit(
        cls, numbers: Floats, codes: Codes, gaps: NDArray[np.bool_], leaf: Rows | None = None
    ) -> "Screen":
        """Arrange train, by the leaves given or by its own.

        `gaps` are the number columns with missing values here or in a query.
        """
        centre, reach = _centre(numbers)
        levels = levels_of(codes)
        x = _shifted(numbers, centre, reach)
        order, starts = _tree(x, codes, levels) if leaf is None else _gathered(leaf)
        x, codes = x[order], codes[order]
        factors, present = _arranged(x, codes, levels, gaps, starts)
        holed = np.logical_or.reduceat(np.isnan(x), starts[:-1], axis=0)
        boxes = _boxes(x, starts)
        return cls(centre, reach, gaps, levels, order, starts, factors, *boxes, holed, present)

    @property
    def _slack(self) -> float:
        return _slack(self.factors.shape[1]) if len(self.centre) else 0.0

    def query(self, numbers: Floats, codes: Codes) -> tuple[Singles, Singles]:
        """Left-hand factors a(x), and lower bounds (L, m) of the leaves."""
        x = _shifted(numbers, self.centre, self.reach)
        hot = one_hot(self.levels, codes)
        left = _left(x, hot, self.levels, self.gaps)
        left[:, 1] -= self._slack * (_norms(x) + x.shape[1] + codes.shape[1])
        return left, self._bounds(x, hot)

    def within(self, limits: Floats) -> Singles:
        """What to subtract from the second factor for a product ≤ 0 where d may be ≤ the limit."""
        squares = np.square(np.minimum(limits, 1000 * FAR))
        if len(self.centre) == 0:  # whole numbers: halves between them leave nothing to round
            squares = np.minimum(np.rint(squares), len(self.levels)) + 0.5
        else:
            squares = squares * (1 + self._slack) + TINY
        return squares.astype(np.float32)

    def _bounds(self, x: Singles, hot: Singles) -> Singles:
        total = len(self.levels) - self.present @ hot.T
        columns, missing = x.T.copy(), np.isnan(x.T)
        for start in range(0, len(total), STRIP):  # strips stay in the cache
            for j, column in enumerate(columns):
                strip = slice(start, start + STRIP)
                away = self.low[strip, j, None] - column
                np.maximum(away, column - self.high[strip, j, None], out=away)
                np.square(np.maximum(away, 0, out=away), out=away)
                holed = self.holed[strip, j]
                if holed.any():
                    away[holed] = np.minimum(away[holed], 1)
                if self.gaps[j]:
                    away[:, missing[j]] = ~holed[:, None]
                total[strip] += away
        return total * np.float32(1 - 32 * ROUNDOFF)


def _arranged(
    x: Singles, codes: Codes, levels: list[Levels], gaps: NDArray[np.bool_], starts: Rows
) -> tuple[Singles, Singles]:
    """Right-hand factors and groups present, some leaves at a time to keep temporaries small."""
    factors, present = [], []
    for first in range(0, len(starts) - 1, STRIP):
        ends = starts[first : first + STRIP + 1]
        rows = slice(ends[0], ends[-1])
        hot = one_hot(levels, codes[rows])
        part = _right(x[rows], hot, levels, gaps)
        if len(gaps):
            part[:, 0] -= _slack(part.shape[1]) * _norms(x[rows])
        factors.append(part)
        present.append(np.maximum.reduceat(hot, ends[:-1] - ends[0], axis=0))
    return np.concatenate(factors), np.concatenate(present)


def one_hot(levels: list[Levels], codes: Codes) -> Singles:
    """0/1 columns: for each code column `rest`, then its kept levels."""
    at = np.cumsum([0, *(level.width + 1 for level in levels)])
    hot = np.zeros((len(codes), at[-1]), dtype=np.float32)
    for j, level in enumerate(levels):
        group = level.groups(codes[:, j])
        seen = np.flatnonzero(group >= 0)
        hot[seen, at[j] + group[seen]] = 1
    return hot


def _centre(numbers: Floats) -> tuple[Floats, float]:
    """Column medians, and a bound far outside the bulk of the values."""
    sample = numbers[:: max(1, len(numbers) // 4096)]
    centre = np.array([np.median(x[~np.isnan(x)]) if (~np.isnan(x)).any() else 0 for x in sample.T])
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(sample - centre)
    off = off[np.isfinite(off)]
    bulk = float(np.quantile(off, 0.99)) if len(off) else 1.0
    return np.clip(centre, -FAR, FAR), min(max(1000 * bulk, 1000.0), FAR)


def _slack(terms: int) -> float:
    """Rounding error of a product, relative to |x|² + |y|² + a + b."""
    return 4 * (terms + 8) * ROUNDOFF


def _norms(x: Singles) -> Singles:
    norms: Singles = np.square(np.nan_to_num(x)).sum(axis=1)
    return norms


def _shifted(numbers: Floats, centre: Floats, reach: float) -> Singles:
    return np.clip(numbers - centre, -reach, reach).astype(np.float32)


def _boxes(x: Singles, starts: Rows) -> tuple[Singles, Singles]:
    """Smallest and largest value present in each leaf, moved outwards by the rounding."""
    first = starts[:-1]
    beyond = np.float32(1000 * FAR)  # an empty box is out of reach
    low = np.minimum.reduceat(np.where(np.isnan(x), beyond, x), first, axis=0)
    high = np.maximum.reduceat(np.where(np.isnan(x), -beyond, x), first, axis=0)
    margin = np.float32(8 * ROUNDOFF)
    return low - margin * abs(low), high + margin * abs(high)


def _right(x: Singles, hot: Singles, levels: list[Levels], gaps: NDArray[np.bool_]) -> Singles:
    """b(y): constant, 1, then a term for each number, two more where it has gaps, kept levels."""
    p = (~np.isnan(x)).astype(np.float32)
    x = np.nan_to_num(x)
    lead = np.ones((len(x), 2), dtype=np.float32)
    squares = np.square(x)
    lead[:, 0] = squares[:, ~gaps].sum(axis=1) + p[:, gaps].sum(axis=1)
    holes = 1 + squares[:, gaps] - 2 * p[:, gaps]
    return np.concatenate([lead, -2 * x, holes, p[:, gaps], hot[:, _kept(levels)]], axis=1)


def _left(x: Singles, hot: Singles, levels: list[Levels], gaps: NDArray[np.bool_]) -> Singles:
    """a(x), to match; its second column takes the thresholds."""
    p = (~np.isnan(x)).astype(np.float32)
    x = np.nan_to_num(x)
    kept = _kept(levels)
    rest = hot[:, ~kept]
    squares = np.square(x)
    lead = np.ones((len(x), 2), dtype=np.float32)
    lead[:, 1] = squares[:, ~gaps].sum(axis=1) + (1 - rest).sum(axis=1)
    spread = np.repeat(rest, [level.width for level in levels], axis=1)
    return np.concatenate([lead, x, p[:, gaps], squares[:, gaps], spread - hot[:, kept]], axis=1)


def _kept(levels: list[Levels]) -> NDArray[np.bool_]:
    """Which columns of `one_hot` are kept levels."""
    parts = [np.arange(level.width + 1) > 0 for level in levels]
    return np.concatenate([np.empty(0, dtype=bool), *parts])
