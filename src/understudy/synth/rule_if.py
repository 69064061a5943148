"""Implications: if one column is so, another must be so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.synth.base import Restriction
from understudy.synth.grid import Floats, Ruler
from understudy.synth.rules import Rule
from understudy.tables.encode import Block, ColumnEncoding

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Condition:
    """A statement about one column. About a missing value it says nothing, unless it asks.

    Attributes:
        column: the column's encoding.
        words: the statement in words.
        least: smallest grid value that meets it (numbers).
        most: largest grid value that meets it (numbers).
        listed: the values that meet it (numbers), or None.
        levels: the codes that meet it (levels), or None.
        missing: True: it must be missing; False: it must be present; None: not asked.
    """

    column: ColumnEncoding
    words: str
    least: float = -np.inf
    most: float = np.inf
    listed: Floats | None = None
    levels: Mask | None = None
    missing: bool | None = None

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.column.name

    def _gone(self, block: Block) -> Mask:
        return np.asarray(block.codes[self.name] >= self.column.missing)

    def _met(self, block: Block) -> Mask:
        """Present values that meet the bounds or the list."""
        if self.levels is not None:
            return self.levels[block.codes[self.name]]
        if not self.column.is_numeric:
            return np.ones(block.rows, dtype=bool)
        return self._values_met(block.values[self.name])

    def _values_met(self, values: Floats) -> Mask:
        met = (values >= self.least) & (values <= self.most)
        return np.asarray(met if self.listed is None else met & np.isin(values, self.listed))

    def true(self, block: Block) -> Mask:
        """Rows of which it is true."""
        gone = self._gone(block)
        return gone if self.missing else ~gone & self._met(block)

    def false(self, block: Block) -> Mask:
        """Rows of which it is false."""
        gone = self._gone(block)
        if self.missing:
            return ~gone
        no = ~gone & ~self._met(block)
        return no | gone if self.missing is False else no

    def can(self, hold: bool) -> Mask:
        """Codes of which it need not be false (``hold``), or need not be true (not ``hold``)."""
        codes = np.zeros(self.column.width, dtype=bool)
        if self.missing:
            codes[: self.column.size] = not hold
            codes[self.column.missing] = hold
            return codes
        codes[: self.column.size] = self._cells_can(hold)
        codes[self.column.missing] = not (hold and self.missing is False)
        return codes

    def _cells_can(self, hold: bool) -> Mask:
        if self.levels is not None:
            return np.asarray(self.levels[: self.column.size] == hold)
        if not self.column.is_numeric:
            return np.full(self.column.size, hold)
        ruler = Ruler(self.column)
        small, large = ruler.smallest, ruler.largest
        if self.listed is not None:
            inside = np.searchsorted(self.listed, large, side="right") > np.searchsorted(
                self.listed, small, side="left"
            )
            return np.asarray(inside if hold else ~inside | (small < large))
        if hold:
            return np.asarray((large >= self.least) & (small <= self.most))
        return np.asarray((small < self.least) | (large > self.most))

    def settle(self, block: Block, rows: Mask, hold: bool) -> Block:
        """Move numbers of these rows, within their cells, to where it holds (or does not)."""
        if not self.column.is_numeric or self.missing or not rows.any():
            return block
        ruler, codes, values = Ruler(self.column), block.codes[self.name], block.values[self.name]
        if self.listed is not None:
            new = _to_listed(ruler, codes, values, self.listed) if hold else values
        elif hold:
            new = ruler.squeeze(codes, values, *_wide(block.rows, self.least, self.most))
        else:
            new = self._outside(ruler, codes, values)
        return ruler.put(block, np.where(rows, new, values), codes)

    def _outside(self, ruler: Ruler, codes: NDArray[np.int32], values: Floats) -> Floats:
        under = ruler.highest(np.array([self.least]), strict=True)[0]
        over = ruler.lowest(np.array([self.most]), strict=True)[0]
        inside = self._values_met(values)
        below = ruler.squeeze(codes, values, *_wide(len(values), -np.inf, under))
        above = ruler.squeeze(codes, values, *_wide(len(values), over, np.inf))
        moved = np.where(self._values_met(below), above, below)
        return np.where(inside, moved, values)


def _wide(rows: int, least: float, most: float) -> tuple[Floats, Floats]:
    return np.full(rows, least), np.full(rows, most)


def _to_listed(ruler: Ruler, codes: NDArray[np.int32], values: Floats, listed: Floats) -> Floats:
    """The nearest listed value that lies in the value's cell."""
    spot = np.clip(np.searchsorted(listed, values), 1, max(len(listed) - 1, 1))
    before, after = listed[spot - 1], listed[np.minimum(spot, len(listed) - 1)]
    best = np.where(values - before <= after - values, before, after)
    cell = np.minimum(codes, max(ruler.cells.count - 1, 0))
    low, high = ruler.smallest[cell], ruler.largest[cell]
    other = np.where(best == before, after, before)
    for choice in (other, best):  # the nearest wins where both lie in the cell
        values = np.where((choice >= low) & (choice <= high), choice, values)
    return values


@dataclass(frozen=True, eq=False)
class If(Rule):
    """If ``when`` is true, ``then`` is not false."""

    when: Condition
    then: Condition

    @property
    def columns(self) -> tuple[str, ...]:
        """Both columns."""
        return (self.when.name, self.then.name)

    def restrict(self, column: str, known: Block) -> Restriction | None:
        """``then`` where ``when`` is true; backward: not ``when`` where ``then`` is false."""
        if column == self.then.name and self.when.name in known.codes:
            return _choice(self.then, True, self.when.true(known))
        if column == self.when.name and self.then.name in known.codes:
            return _choice(self.when, False, self.then.false(known))
        return None

    def settle(self, drawn: Sequence[str], block: Block) -> Block:
        """Move a number just drawn to the right side of a bound, within its cell."""
        mine = [name for name in self.columns if name in drawn]
        if len(mine) != 1 or not all(name in block.codes for name in self.columns):
            return block
        if mine[0] == self.then.name:
            return self.then.settle(block, self.when.true(block), True)
        return self.when.settle(block, self.then.false(block), False)

    def broken(self, block: Block) -> Mask:
        """Rows in which ``when`` is true and ``then`` is false."""
        return self.when.true(block) & self.then.false(block)

    def describe(self) -> str:
        """The rule in words."""
        return f"if {self.when.words} then {self.then.words}"


def _choice(condition: Condition, hold: bool, rows: Mask) -> Restriction:
    allowed = np.stack([np.ones(condition.column.width, dtype=bool), condition.can(hold)])
    return Restriction(
        allowed=allowed, group=rows.astype(np.int64), missing=condition.column.missing
    )
