"""Numbers and dates as floats, and back to what they were stored as.

Whole numbers beyond 2^53 do not fit a float. They are measured from the column's smallest value,
so that the *differences* fit: a column of 10^30 + small numbers survives exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.tables.schema import Column

EXACT = 2**53
_MOST_DECIMALS = 6


@dataclass(frozen=True)
class Numeric:
    """How one numeric column becomes a float and back.

    Attributes:
        stored: the Arrow type of the original column.
        offset: what is subtracted before a value becomes a float.
        step: the grid that values lie on (0 for none): 1 for whole numbers, 0.01 for cents.
    """

    stored: pa.DataType
    offset: int
    step: float

    def to_float(self, array: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
        """Values as floats, NaN where missing."""
        whole = _as_whole(array)
        if whole is None:
            values = pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False)
            return np.array(values, dtype=np.float64)
        if self.offset == 0:
            values = pc.cast(whole, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            return np.array(values, dtype=np.float64)
        return _shifted(whole, self.offset)

    def from_float(self, values: NDArray[np.float64]) -> pa.Array:
        """Values as the original column stored them, null where NaN."""
        missing = np.isnan(values)
        if pa.types.is_floating(self.stored):
            return pa.array(values, mask=missing).cast(self.stored)
        if pa.types.is_decimal(self.stored) and self.stored.scale > 0:
            return self._decimals(values)
        whole = np.rint(np.where(missing, 0.0, values))
        if self.offset == 0 and not pa.types.is_decimal(self.stored):
            return _from_integers(pa.array(whole.astype(np.int64), mask=missing), self.stored)
        return self._big(whole, missing)

    def _decimals(self, values: NDArray[np.float64]) -> pa.Array:
        quantum = Decimal(1).scaleb(-self.stored.scale)
        cells = [None if np.isnan(v) else Decimal(repr(float(v))).quantize(quantum) for v in values]
        return pa.array(cells, type=self.stored)

    def _big(self, whole: NDArray[np.float64], missing: NDArray[np.bool_]) -> pa.Array:
        cells = [
            None if gone else int(value) + self.offset
            for value, gone in zip(whole, missing, strict=True)
        ]
        if pa.types.is_decimal(self.stored):
            return pa.array([None if c is None else Decimal(c) for c in cells], type=self.stored)
        return (
            _from_integers(pa.array(cells, type=pa.int64()), self.stored)
            if (pa.types.is_temporal(self.stored))
            else pa.array(cells, type=self.stored)
        )


def find_numeric(array: pa.ChunkedArray, column: Column) -> Numeric:
    """Find how a column becomes a float: its offset and its grid."""
    whole = _as_whole(array)
    if whole is None:
        return Numeric(array.type, 0, _float_step(array, column))
    low, high = _bounds(whole)
    offset = low if max(abs(low), abs(high)) >= EXACT else 0
    return Numeric(array.type, offset, _whole_step(whole, offset))


def _as_whole(array: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    """The array as integers (dates as counts of their unit), or None if it has fractions."""
    kind = array.type
    if pa.types.is_integer(kind):
        return array
    if pa.types.is_decimal(kind) and kind.scale == 0:
        return array
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pc.cast(pc.cast(array, pa.int32()), pa.int64())
    if pa.types.is_temporal(kind):
        return pc.cast(array, pa.int64())
    return None


def _from_integers(array: pa.Array, stored: pa.DataType) -> pa.Array:
    if pa.types.is_date32(stored) or pa.types.is_time32(stored):
        return array.cast(pa.int32()).cast(stored)
    return array.cast(stored)


def _shifted(whole: pa.ChunkedArray | pa.Array, offset: int) -> NDArray[np.float64]:
    # Python integers: slow and exact. Only columns beyond 2^53 come this way.
    cells = whole.to_pylist()
    return np.array([np.nan if c is None else float(int(c) - offset) for c in cells])


def _bounds(whole: pa.ChunkedArray | pa.Array) -> tuple[int, int]:
    both = pc.min_max(whole)
    low, high = both["min"].as_py(), both["max"].as_py()
    return (0, 0) if low is None else (int(low), int(high))


def _whole_step(whole: pa.ChunkedArray | pa.Array, offset: int) -> float:
    """Largest step that all whole numbers are multiples of (dates at midnight: one day)."""
    values = Numeric(whole.type, offset, 1.0).to_float(whole)
    present = values[~np.isnan(values)]
    if present.size == 0:
        return 1.0
    differences = np.abs(present - present[0]).astype(np.int64)
    return float(max(np.gcd.reduce(differences), 1))


def _float_step(array: pa.ChunkedArray, column: Column) -> float:
    if column.decimals is not None:
        return float(10.0**-column.decimals)
    values = np.asarray(pc.cast(pc.drop_null(array), pa.float64()).to_numpy())
    values = values[np.isfinite(values)]
    for digits in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(values, digits), values):
            return float(10.0**-digits)
    return 0.0
