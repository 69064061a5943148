"""Bounds on numeric columns: as cells that may be drawn and as values of the column's own grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.tables.cells import Cells
from understudy.tables.encode import Block, ColumnEncoding

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

_DUST = 1e-6  # of a step: float noise in "how many steps"
_UNITS = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}


@dataclass(frozen=True, eq=False)
class Ruler:
    """The grid and cells of one numeric column. Bounds are in the column's floats; ±inf is none."""

    column: ColumnEncoding

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.column.name

    @property
    def cells(self) -> Cells:
        """The column's cells."""
        assert self.column.cells is not None
        return self.column.cells

    @property
    def smallest(self) -> Floats:
        """Smallest value of each cell."""
        return self.cells.low[self.cells.first[:-1]]

    @property
    def largest(self) -> Floats:
        """Largest value of each cell."""
        return self.cells.high[self.cells.first[1:] - 1]

    def lowest(self, bound: Floats, strict: bool = False) -> Floats:
        """Smallest grid value that is at least (strictly: above) each bound; NaN is no bound.

        Example:
            >>> from understudy.tables.cells import find_cells
            >>> from understudy.tables.numeric import Numeric
            >>> from understudy.tables.schema import Column, Kind
            >>> cells = find_cells(np.repeat([1.0, 3.0, 5.0], 20), step=2.0)
            >>> number = Numeric(pa.int64(), 0, 2.0)
            >>> column = ColumnEncoding(Column("x", Kind.NUMBER), numeric=number, cells=cells)
            >>> Ruler(column).lowest(np.array([3.0, 3.5])).tolist()
            [3.0, 5.0]
        """
        bound = np.where(np.isnan(bound), -np.inf, bound)
        if self._free:
            return np.nextafter(bound, np.inf) if strict else bound
        steps = self._steps(bound)
        return self._value(np.floor(steps) + 1.0 if strict else np.ceil(steps))

    def highest(self, bound: Floats, strict: bool = False) -> Floats:
        """Largest grid value that is at most (strictly: below) each bound; NaN is no bound."""
        bound = np.where(np.isnan(bound), np.inf, bound)
        if self._free:
            return np.nextafter(bound, -np.inf) if strict else bound
        steps = self._steps(bound)
        return self._value(np.ceil(steps) - 1.0 if strict else np.floor(steps))

    def nearest(self, values: Floats) -> Floats:
        """The nearest grid value."""
        return values if self._free else self._value(np.rint(self._steps(values)))

    @property
    def _free(self) -> bool:
        return self.cells.step == 0.0 or self.cells.count == 0

    def _steps(self, values: Floats) -> Floats:
        steps = (values - self.cells.low[0]) / self.cells.step
        whole = np.rint(steps)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(np.abs(steps - whole) < _DUST, whole, steps))

    def _value(self, steps: Floats) -> Floats:
        return self.cells.on_grid(self.cells.low[0] + steps * self.cells.step)

    def first_cell(self, least: Floats) -> Codes:
        """First cell that holds a value of at least ``least``."""
        return np.searchsorted(self.largest, least, side="left").astype(np.int32)

    def last_cell(self, most: Floats) -> Codes:
        """Last cell that holds a value of at most ``most``."""
        return (np.searchsorted(self.smallest, most, side="right") - 1).astype(np.int32)

    def squeeze(self, codes: Codes, values: Floats, least: Floats, most: Floats) -> Floats:
        """Move values outside [least, most] into it without leaving their cell, where it has room.

        A part of a cell below ``least`` is stretched evenly over the allowed part, so values that
        were uniform in the cell are uniform in what is left of it. The bounds are grid values.
        """
        result = values.copy()
        wrong = np.flatnonzero((codes < self.cells.count) & ((values < least) | (values > most)))
        if wrong.size == 0:
            return result
        small, large = self.smallest[codes[wrong]], self.largest[codes[wrong]]
        room = np.maximum(small, least[wrong]) <= np.minimum(large, most[wrong])
        wrong, small, large = wrong[room], small[room], large[room]
        least, most, old = least[wrong], most[wrong], values[wrong]
        start, stop = np.maximum(small, least), np.minimum(large, most)
        spot = np.where(
            old < least,
            _share(old - small, least - small, self.cells.step),
            _share(old - most - self.cells.step, large - most, self.cells.step),
        )
        new = start + spot * (stop - start)
        if self.cells.step:
            points = np.rint((stop - start) / self.cells.step) + 1.0
            new = self.cells.on_grid(start + np.floor(spot * points) * self.cells.step)
        result[wrong] = new
        return result

    def put(self, block: Block, values: Floats, codes: Codes) -> Block:
        """The block with this column's values and codes replaced."""
        return block.join(block.encoding.block({self.name: codes}, {self.name: values}, block.rows))


def _share(done: Floats, whole: Floats, step: float) -> Floats:
    """Where a value stands in a part of its cell, from 0 to just below 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (done + step / 2) / whole
    return np.clip(np.nan_to_num(share, nan=0.0), 0.0, 1.0 - 1e-9)


@dataclass(frozen=True)
class Link:
    """How one column's floats become another's: offsets and units of time are exact fractions."""

    ratio: float
    shift: float

    def __call__(self, values: Floats) -> Floats:
        """The same amounts in the other column's floats."""
        return values * self.ratio + self.shift


def link(source: ColumnEncoding, target: ColumnEncoding) -> Link | None:
    """The link between two numeric columns, or None where they cannot be compared."""
    assert source.numeric is not None
    assert target.numeric is not None
    family, unit = _unit(source.numeric.stored)
    other, whole = _unit(target.numeric.stored)
    if family != other:
        return None
    shift = (source.numeric.offset * unit - target.numeric.offset * whole) / whole
    return Link(float(unit / whole), float(shift))


def _unit(stored: pa.DataType) -> tuple[str, Fraction]:
    if pa.types.is_date32(stored):
        return "date", Fraction(86_400)
    if pa.types.is_date64(stored):
        return "date", _UNITS["ms"]
    if pa.types.is_timestamp(stored):
        return "date", _UNITS[stored.unit]
    if pa.types.is_temporal(stored):
        return "time", _UNITS[stored.unit]
    return "number", Fraction(1)
