"""Numbers and dates as floats, and back to what they were stored as.

Whole numbers beyond 2^53 do not fit a float. They are measured from the column's smallest value,
so that the *differences* fit: a column of 10^30 + small numbers survives exactly. Where even these
are too large (hashes of 64 bits), the floats of train's values are remembered with what they stand
for: a value that is drawn again comes back exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext

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
        known: floats that stand for whole numbers which they cannot hold, ascending.
        meant: those whole numbers.
    """

    stored: pa.DataType
    offset: int
    step: float
    known: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), compare=False)
    meant: pa.Array | None = field(default=None, compare=False)

    def to_float(self, array: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
        """Values as floats, NaN where missing."""
        whole = _as_whole(array)
        if self.offset != 0:
            return _shifted(array if whole is None else whole, self.offset)
        values = pc.cast(array if whole is None else whole, pa.float64(), safe=False)
        return np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)

    def from_float(self, values: NDArray[np.float64]) -> pa.Array:
        """Values as the original column stored them, null where NaN.

        A drawn value beyond what the column can store becomes the nearest that it can.
        """
        missing = np.isnan(values)
        if pa.types.is_floating(self.stored):
            return pa.array(values, mask=missing).cast(self.stored)
        if pa.types.is_decimal(self.stored):
            return self._remembered(values, self._decimals(values))
        return self._remembered(values, self._whole(values, missing))

    def _whole(self, values: NDArray[np.float64], missing: NDArray[np.bool_]) -> pa.Array:
        low, high = _limits(self.stored)
        whole = np.rint(np.where(missing, 0.0, values))
        if self.offset != 0:
            return self._big(whole, missing, low, high)
        whole = np.clip(whole, max(low, -EXACT), min(high, EXACT)).astype(np.int64)
        return _from_integers(pa.array(whole, mask=missing), self.stored)

    def _remembered(self, values: NDArray[np.float64], found: pa.Array) -> pa.Array:
        """The whole numbers that floats stand for, where these cannot hold them."""
        if self.meant is None:
            return found
        place = np.minimum(np.searchsorted(self.known, values), len(self.known) - 1)
        same = self.known[place] == values
        return pc.if_else(pa.array(same), self.meant.take(pa.array(place)), found)

    def _decimals(self, values: NDArray[np.float64]) -> pa.Array:
        scale = Decimal(1).scaleb(-self.stored.scale)
        most = (Decimal(10) ** self.stored.precision - 1) * scale
        with localcontext() as context:
            context.prec = 100
            cells = [
                None
                if np.isnan(value)
                else min(max(Decimal(repr(float(value))) + self.offset, -most), most).quantize(
                    scale
                )
                for value in values
            ]
        return pa.array(cells, type=self.stored)

    def _big(
        self, whole: NDArray[np.float64], missing: NDArray[np.bool_], low: int, high: int
    ) -> pa.Array:
        cells = [
            None if gone else min(max(int(value) + self.offset, low), high)
            for value, gone in zip(whole, missing, strict=True)
        ]
        if pa.types.is_temporal(self.stored):
            return _from_integers(pa.array(cells, type=pa.int64()), self.stored)
        return pa.array(cells, type=self.stored)


def find_numeric(array: pa.ChunkedArray, column: Column) -> Numeric:
    """Find how a column becomes a float: its offset and its grid."""
    whole = _as_whole(array)
    if whole is None:
        return Numeric(array.type, _decimal_offset(array), _float_step(array, column))
    low, high = _bounds(whole)
    offset = low if max(abs(low), abs(high)) >= EXACT else 0
    numeric = Numeric(array.type, offset, _whole_step(whole))
    return numeric if high - offset < EXACT else _with_memory(numeric, array)


def _with_memory(numeric: Numeric, array: pa.ChunkedArray) -> Numeric:
    """Remember which whole numbers the floats of a column stand for (the first, if several)."""
    meant = pc.unique(pc.drop_null(array))
    known, first = np.unique(numeric.to_float(meant), return_index=True)
    return replace(numeric, known=known, meant=meant.take(pa.array(first)))


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


def _limits(stored: pa.DataType) -> tuple[int, int]:
    """Smallest and largest whole number that a type stores."""
    if pa.types.is_time(stored):
        per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[stored.unit]
        return 0, 86_400 * per_second - 1
    if pa.types.is_unsigned_integer(stored):
        return 0, 2**stored.bit_width - 1
    return -(2 ** (stored.bit_width - 1)), 2 ** (stored.bit_width - 1) - 1


def _shifted(array: pa.ChunkedArray | pa.Array, offset: int) -> NDArray[np.float64]:
    """Exact differences from the offset, as floats."""
    if not pa.types.is_integer(array.type):  # Python's numbers: slow and exact
        with localcontext() as context:
            context.prec = 100
            cells = [None if c is None else float(c - offset) for c in array.to_pylist()]
        return np.array([np.nan if c is None else c for c in cells], dtype=np.float64)
    present = pc.fill_null(array, offset).to_numpy()
    wraps = present.astype(np.uint64)  # differences modulo 2^64 are exact
    start = np.uint64(offset % 2**64)
    values: NDArray[np.float64] = np.where(
        present >= offset, (wraps - start).astype(np.float64), -(start - wraps).astype(np.float64)
    )
    values[pc.is_null(array).to_numpy(zero_copy_only=False)] = np.nan
    return values


def _decimal_offset(array: pa.ChunkedArray) -> int:
    """Where decimals with a fraction have more digits than a float: their smallest whole part."""
    if not pa.types.is_decimal(array.type):
        return 0
    both = pc.min_max(array)
    low, high = both["min"].as_py(), both["max"].as_py()
    if low is None or max(abs(low), abs(high)).scaleb(array.type.scale) < EXACT:
        return 0
    return int(low)


def _bounds(whole: pa.ChunkedArray | pa.Array) -> tuple[int, int]:
    both = pc.min_max(whole)
    low, high = both["min"].as_py(), both["max"].as_py()
    return (0, 0) if low is None else (int(low), int(high))


def _whole_step(whole: pa.ChunkedArray | pa.Array) -> float:
    """Largest step that all whole numbers are multiples of (dates at midnight: one day)."""
    present = pc.drop_null(whole)
    if len(present) == 0:
        return 1.0
    if not pa.types.is_integer(present.type):
        cells = [int(cell) for cell in present.to_pylist()]
        return float(max(math.gcd(*(cell - cells[0] for cell in cells)), 1))
    # Differences from the smallest, modulo 2^64, are exact and never negative.
    numbers = present.to_numpy()
    differences = numbers.astype(np.uint64) - numbers.min().astype(np.uint64)
    return float(max(int(np.gcd.reduce(differences)), 1))


def _float_step(array: pa.ChunkedArray, column: Column) -> float:
    if column.decimals is not None:
        return float(10.0**-column.decimals)
    values = np.asarray(pc.cast(pc.drop_null(array), pa.float64()).to_numpy())
    values = values[np.isfinite(values)]
    for digits in range(_MOST_DECIMALS + 1):
        with np.errstate(over="ignore"):  # 1e308 in cents is no float: then there is no grid
            on_grid = np.array_equal(np.round(values, digits), values)
        if on_grid:
            return float(10.0**-digits)
    return 0.0
