"""Rules between numbers: one comes before another, and parts add up to a total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.synth.base import Restriction
from understudy.synth.grid import Floats, Link, Ruler
from understudy.synth.rules import Rule
from understudy.tables.encode import Block

_DUST = 1e-9  # of the largest number: what adding floats may be off


@dataclass(frozen=True, eq=False)
class Order(Rule):
    """``low ≤ high`` (strict: <) wherever both are present."""

    low: Ruler
    high: Ruler
    up: Link  # from low's floats to high's
    down: Link  # from high's floats to low's
    strict: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Both columns."""
        return (self.low.name, self.high.name)

    def restrict(self, column: str, known: Block) -> Restriction | None:
        """The cells that hold a value on the right side of the other column's."""
        if column == self.high.name and self.low.name in known.values:
            first = self.high.first_cell(self._least(known))
            return Restriction(low=first, missing=self.high.column.missing)
        if column == self.low.name and self.high.name in known.values:
            last = self.low.last_cell(self._most(known))
            return Restriction(high=last, missing=self.low.column.missing)
        return None

    def settle(self, drawn: Sequence[str], block: Block) -> Block:
        """Move the column just drawn to the right side, within its cell."""
        mine = [name for name in self.columns if name in drawn]
        if len(mine) != 1 or not all(name in block.values for name in self.columns):
            return block
        ruler = self.high if mine[0] == self.high.name else self.low
        free = np.full(block.rows, np.inf)
        least = self._least(block) if ruler is self.high else -free
        most = self._most(block) if ruler is self.low else free
        codes = block.codes[ruler.name]
        return ruler.put(block, ruler.squeeze(codes, block.values[ruler.name], least, most), codes)

    def _least(self, known: Block) -> Floats:
        return self.high.lowest(self.up(known.values[self.low.name]), self.strict)

    def _most(self, known: Block) -> Floats:
        return self.low.highest(self.down(known.values[self.high.name]), self.strict)

    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Rows in which the low one is above the high one (strict: or equal to it)."""
        low, high = self.up(block.values[self.low.name]), block.values[self.high.name]
        return np.asarray(low >= high if self.strict else low > high, dtype=bool)

    def describe(self) -> str:
        """The rule in words."""
        return f"{self.low.name} {'<' if self.strict else '≤'} {self.high.name}"


@dataclass(frozen=True, eq=False)
class Sum(Rule):
    """``total = Σ parts`` within a tolerance, wherever all are present.

    The column drawn last is computed from the others; those before it stay where the rest can
    still make the sum (interval arithmetic on the columns' ranges in train).
    """

    total: Ruler
    parts: tuple[Ruler, ...]
    tolerance: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The total and its parts."""
        return (self.total.name, *(part.name for part in self.parts))

    @property
    def _rulers(self) -> tuple[Ruler, ...]:
        return (self.total, *self.parts)

    @property
    def _shift(self) -> float:
        """What the floats' sum lacks: offsets are whole numbers of any size, so exact integers."""
        offsets = [0 if r.column.numeric is None else r.column.numeric.offset for r in self._rulers]
        return float(sum(offsets[1:]) - offsets[0])

    def restrict(self, column: str, known: Block) -> Restriction | None:
        """The cells from which the columns still to come can make the sum."""
        rest = [name for name in self.columns if name != column]
        if column not in self.columns or all(name in known.values for name in rest):
            return None  # the last one is computed: `settle`
        ruler = self._ruler(column)
        least, most = self._room(ruler, known)
        return Restriction(
            low=ruler.first_cell(least), high=ruler.last_cell(most), missing=ruler.column.missing
        )

    def settle(self, drawn: Sequence[str], block: Block) -> Block:
        """Compute the last column; move the ones before it into their room."""
        mine = [name for name in self.columns if name in drawn]
        if not mine:
            return block
        if all(name in block.values for name in self.columns):
            return self._complete(
                self._ruler(mine[0] if mine[0] == self.total.name else mine[-1]), block
            )
        if len(mine) > 1:
            return block
        ruler, codes = self._ruler(mine[0]), block.codes[mine[0]]
        least, most = self._room(ruler, block)
        return ruler.put(block, ruler.squeeze(codes, block.values[mine[0]], least, most), codes)

    def _ruler(self, column: str) -> Ruler:
        return next(ruler for ruler in self._rulers if ruler.name == column)

    def _complete(self, ruler: Ruler, block: Block) -> Block:
        if ruler.cells.count == 0:
            return block
        drawn = block.values[ruler.name]
        exact = self._solve(ruler, [block.values[r.name] for r in self._rulers if r is not ruler])
        exact = ruler.nearest(exact)
        # Outside train's range nothing is invented: the row breaks the rule and is drawn anew.
        usable = (exact >= ruler.smallest[0]) & (exact <= ruler.largest[-1]) & ~np.isnan(drawn)
        off = usable & (np.abs(drawn - exact) > self.tolerance)
        values = np.where(off, exact, drawn)
        codes = np.where(off, ruler.cells.of(values), block.codes[ruler.name]).astype(np.int32)
        return ruler.put(block, values, codes)

    def _solve(self, ruler: Ruler, others: Sequence[Floats]) -> Floats:
        """The column's value, given the others in order (the total first, if it is not it)."""
        if ruler is self.total:
            return np.asarray(np.sum(others, axis=0) + self._shift)
        return np.asarray(others[0] - self._shift - np.sum(others[1:], axis=0))

    def _room(self, ruler: Ruler, known: Block) -> tuple[Floats, Floats]:
        """Bounds of a column: others count with their value, or their range where not drawn yet."""
        others = [other for other in self._rulers if other is not ruler]
        low = [self._bound(other, known, 0) for other in others]
        high = [self._bound(other, known, -1) for other in others]
        if ruler is self.total:
            least, most = self._solve(ruler, low), self._solve(ruler, high)
        else:
            least = self._solve(ruler, [low[0], *high[1:]])
            most = self._solve(ruler, [high[0], *low[1:]])
        # A missing value (NaN) among the others lifts both bounds.
        return ruler.lowest(least - self.tolerance), ruler.highest(most + self.tolerance)

    def _bound(self, other: Ruler, known: Block, end: int) -> Floats:
        if other.name in known.values:
            return known.values[other.name]
        edges = other.smallest if end == 0 else other.largest
        return np.full(known.rows, edges[end] if len(edges) else np.nan)

    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Rows whose parts do not add up."""
        values = [block.values[name] for name in self.columns]
        gap = np.abs(values[0] - self._solve(self.total, values[1:]))
        dust = _DUST * np.max(np.abs(values), axis=0)
        return np.asarray(gap > self.tolerance + dust, dtype=bool)

    def describe(self) -> str:
        """The rule in words."""
        return f"{self.total.name} = {' + '.join(part.name for part in self.parts)}"
