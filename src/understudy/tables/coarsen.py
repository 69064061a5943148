"""Steps that coarsen a table: drop, band, top- and bottom-code, merge rare levels, round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.tables.numeric import EXACT
from understudy.tables.schema import Column, Kind
from understudy.tables.step import Step, floats, is_number, known, number, put, quantile
from understudy.tables.table import Table, is_text

_PERIODS = ("month", "quarter", "year", "decade")


@dataclass(frozen=True)
class Drop(Step):
    """Leave out columns."""

    columns: Sequence[str]
    do: ClassVar[str] = "drop"

    def apply(self, table: Table, key: str, rng: np.random.Generator) -> tuple[Table, str]:
        """Leave them out; a column that is not there is an error."""
        if isinstance(self.columns, str) or not self.columns:
            raise PlanError(f"{key}.columns", self.columns, "a list of column names")
        for name in self.columns:
            known(table, name, f"{key}.columns")
        if len(set(self.columns)) == len(table.names):
            raise PlanError(f"{key}.columns", list(self.columns), "to keep at least one column")
        count = len(set(self.columns))
        return table.drop(self.columns), f"{count} column(s) dropped: {', '.join(self.columns)}"


@dataclass(frozen=True)
class Band(Step):
    """Group numbers into intervals of one ``width`` or between ``edges``, dates ``by`` a period.

    An interval holds its lower edge and not its upper one. Periods are ``month``, ``quarter``,
    ``year`` and ``decade``.
    """

    column: str
    width: float | None = None
    edges: Sequence[float] | None = None
    by: str | None = None
    do: ClassVar[str] = "band"

    def apply(self, table: Table, key: str, rng: np.random.Generator) -> tuple[Table, str]:
        """Replace numbers by the names of their intervals, an ordinal column."""
        if self.by is not None:
            return self._by_period(table, key)
        column = number(table, self.column, key)
        edges = self._checked_edges(key)
        values = floats(table.column(self.column))
        present = values[~np.isnan(values)]
        if edges is None:
            edges = _grid(present, float(self.width or 1))
        whole = column.decimals == 0 and all(float(edge).is_integer() for edge in edges)
        labels = np.array(_labels(edges, whole), dtype=object)
        bins = np.searchsorted(edges, np.where(np.isnan(values), 0.0, values), side="right")
        text = pa.array(labels[bins], type=pa.string(), mask=np.isnan(values))
        used = np.unique(bins[~np.isnan(values)])
        banded = Column(
            self.column,
            Kind.ORDINAL,
            role=column.role,
            levels=tuple(labels[used].tolist()),
            label=column.label,
        )
        before = len(np.unique(present))
        sentence = f"column {self.column!r}: {before} values became {len(used)} intervals"
        return put(table, banded, text), sentence

    def _by_period(self, table: Table, key: str) -> tuple[Table, str]:
        column = known(table, self.column, f"{key}.column")
        stored = table.column(self.column).type
        if not (pa.types.is_date(stored) or pa.types.is_timestamp(stored)):
            raise PlanError(
                f"{key}.column", self.column, "a column of dates, for bands by a period"
            )
        if self.by not in _PERIODS or not (self.width is None and self.edges is None):
            raise PlanError(f"{key}.by", self.by, f"one of {', '.join(_PERIODS)}, and no width")
        array = table.column(self.column)
        text = _period(array, self.by)
        levels = tuple(sorted(pc.unique(pc.drop_null(text)).to_pylist()))
        banded = Column(
            self.column, Kind.ORDINAL, role=column.role, levels=levels, label=column.label
        )
        before = pc.count_distinct(array, mode="only_valid").as_py()
        sentence = f"column {self.column!r}: {before} values became {len(levels)} intervals"
        return put(table, banded, text), sentence

    def _checked_edges(self, key: str) -> NDArray[np.float64] | None:
        if (self.width is None) == (self.edges is None):
            raise PlanError(key, "both or neither", "either width or edges (or by, for dates)")
        if self.edges is None:
            if not is_number(self.width) or not self.width > 0:
                raise PlanError(f"{key}.width", self.width, "a number above 0")
            return None
        listed = isinstance(self.edges, list | tuple) and all(map(is_number, self.edges))
        if not listed or len(self.edges) == 0 or any(np.diff(self.edges) <= 0):
            raise PlanError(f"{key}.edges", self.edges, "a list of rising numbers")
        return np.asarray(self.edges, dtype=np.float64)


@dataclass(frozen=True)
class TopCode(Step):
    """Replace numbers above a threshold by the threshold."""

    column: str
    at: float | None = None
    quantile: float | None = None
    do: ClassVar[str] = "top_code"
    above: ClassVar[bool] = True

    def apply(self, table: Table, key: str, rng: np.random.Generator) -> tuple[Table, str]:
        """Replace them; a ``quantile`` is the value below which that share of rows lies."""
        column = number(table, self.column, key)
        limit = self._limit(table.column(self.column), column, key)
        return _coded(table, column, limit, above=self.above)

    def like(self, table: Table, key: str) -> Step:
        """The threshold of this table."""
        column = number(table, self.column, key)
        limit = self._limit(table.column(self.column), column, key)
        return _Limited(self.column, limit, self.above)

    def _limit(self, array: pa.ChunkedArray, column: Column, key: str) -> pa.Scalar:
        if (self.at is None) == (self.quantile is None):
            raise PlanError(key, "both or neither", "either at or quantile")
        if self.quantile is not None:
            if not is_number(self.quantile) or not 0 < self.quantile < 1:
                raise PlanError(f"{key}.quantile", self.quantile, "a share between 0 and 1")
            return quantile(array, self.quantile, above=self.above)
        if not is_number(self.at):
            raise PlanError(f"{key}.at", self.at, "a number")
        if not pa.types.is_floating(array.type) and not float(self.at).is_integer():
            raise PlanError(f"{key}.at", self.at, f"a whole number, as {column.name!r} has")
        try:
            return _scalar(self.at, array.type)
        except (pa.ArrowInvalid, OverflowError):
            raise PlanError(f"{key}.at", self.at, "a number that the column can hold") from None


@dataclass(frozen=True)
class BottomCode(TopCode):
    """Replace numbers below a threshold by the threshold."""

    do: ClassVar[str] = "bottom_code"
    above: ClassVar[bool] = False


@dataclass(frozen=True)
class _Limited(Step):
    """A threshold that another table gave."""

    column: str
    limit: pa.Scalar
    above: bool
    do: ClassVar[str] = "code"

    def apply(self, table: Table, key: str, rng: np.random.Generator) -> tuple[Table, str]:
        """Replace what lies beyond it."""
        column = number(table, self.column, key)
        limit = self.limit.cast(table.column(self.column).type)
        return _coded(table, column, limit, above=self.above)


def _coded(table: Table, column: Column, limit: pa.Scalar, *, above: bool) -> tuple[Table, str]:
    array = table.column(column.name)
    beyond = pc.greater(array, limit) if above else pc.less(array, limit)
    count = pc.sum(beyond).as_py() or 0
    side = "above" if above else "below"
    sentence = f"column {column.name!r}: {count} values {side} the threshold were set to it"
    return put(table, column, pc.if_else(beyond, limit, array)), sentence


@dataclass(frozen=True)
class MergeRare(Step):
    """Merge the levels that fewer than so many rows have."""

    column: str
    fewer_than: int
    into: str = "other"
    do: ClassVar[str] = "merge_rare"

    def apply(self, table: Table, key: str, rng: np.random.Generator) -> tuple[Table, str]:
        """Replace rare levels by one; the receipt says if that one is still rare."""
        column = known(table, self.column, f"{key}.column")
        if not is_text(column.kind):
            raise PlanError(f"{key}.column", self.column, "a column of levels, not of numbers")
        if not isinstance(self.fewer_than, int) or self.fewer_than < 2:
            raise PlanError(f"{key}.fewer_than", self.fewer_than, "a whole number above 1")
        if not isinstance(self.into, str) or not self.into:
            raise PlanError(f"{key}.into", self.into, "the name of a level")
        return self._merged(table, column, self._rare(table))

    def like(self, table: Table, key: str) -> Step:
        """The levels that are rare in this table."""
        return _Merged(self.column, self.fewer_than, self.into, self._rare(table))

    def _rare(self, table: Table) -> pa.Array:
        counts = pc.value_counts(pc.drop_null(table.column(self.column)))
        few = pc.less(counts.field("counts"), self.fewer_than)
        return pc.filter(counts.field("values"), few)

    def _merged(self, table: Table, column: Column, rare: pa.Array) -> tuple[Table, str]:
        array = table.column(self.column)
        gone = pc.is_in(array, value_set=rare.cast(array.type))
        merged = pc.if_else(gone, pa.scalar(self.into, array.type), array)
        changed, total = (pc.sum(mask).as_py() or 0 for mask in (gone, pc.equal(merged, self.into)))
        sentence = (
            f"column {self.column!r}: {len(rare)} levels with fewer than {self.fewer_than} rows "
            f"({changed} rows in all) became {self.into!r}"
        )
        if 0 < total < self.fewer_than:
            sentence += f", which still has only {total} rows"
        return put(table, self._with_level(column, rare), merged), sentence

    def _with_level(self, column: Column, rare: pa.Array) -> Column:
        if column.levels is None or len(rare) == 0:
            return column
        gone = set(rare.to_pylist())
        kept = [level for level in column.levels if level not in gone and level != self.into]
        return replace(column, levels=(*kept, self.into))


@dataclass(frozen=True)
class _Merged(MergeRare):
    """Levels that are rare in another table."""

    rare: pa.Array | None = None

    def _rare(self, table: Table) -> pa.Array:
        assert self.rare is not None
        return self.rare.cast(table.column(self.column).type)


@dataclass(frozen=True)
class Round(Step):
    """Round numbers to multiples of a step."""

    column: str
    to: float
    do: ClassVar[str] = "round"

    def apply(self, table: Table, key: str, rng: np.random.Generator) -> tuple[Table, str]:
        """Round half to even, as IEEE 754 does; the column is then written with fewer digits."""
        column = number(table, self.column, key)
        if not is_number(self.to) or not self.to > 0:
            raise PlanError(f"{key}.to", self.to, "a number above 0")
        array = table.column(self.column)
        if not pa.types.is_floating(array.type) and not float(self.to).is_integer():
            raise PlanError(f"{key}.to", self.to, f"a whole number, as {self.column!r} has")
        values = floats(array)
        if np.nanmax(np.abs(values), initial=0.0) >= EXACT:
            raise PlanError(f"{key}.column", self.column, "a column of numbers below 2^53")
        step = Decimal(str(self.to))
        digits = max(-int(step.normalize().as_tuple().exponent), 0)
        rounded = np.round(np.round(values / self.to) * self.to, digits)
        changed = int(np.sum(rounded[~np.isnan(values)] != values[~np.isnan(values)]))
        result = pa.array(rounded, mask=np.isnan(values)).cast(array.type)
        sentence = f"column {self.column!r}: {changed} values rounded to multiples of {step}"
        return put(
            table, replace(column, decimals=digits, fixed=column.fixed and digits > 0), result
        ), sentence


def _period(array: pa.ChunkedArray, by: str) -> pa.ChunkedArray:
    """Names of the periods, so written that they sort by time."""
    year = pc.year(array)
    if by == "decade":
        decade = pc.multiply(
            pc.cast(pc.floor(pc.divide(pc.cast(year, pa.float64()), 10.0)), "int64"), 10
        )
        return pc.binary_join_element_wise(_digits(decade, 4), "s", "")
    if by == "year":
        return _digits(year, 4)
    part, mark = (pc.month(array), "-") if by == "month" else (pc.quarter(array), " Q")
    return pc.binary_join_element_wise(
        _digits(year, 4), _digits(part, 2 if by == "month" else 1), mark
    )


def _digits(numbers: pa.ChunkedArray, width: int) -> pa.ChunkedArray:
    return pc.utf8_lpad(pc.cast(numbers, pa.string()), width, "0")


def _scalar(value: float, stored: pa.DataType) -> pa.Scalar:
    if pa.types.is_decimal(stored):
        return pa.scalar(Decimal(int(value)), stored)
    return pa.scalar(float(value) if pa.types.is_floating(stored) else int(value), stored)


def _grid(present: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Edges at multiples of the width, only around values that occur."""
    # 0.3 / 0.1 is 2.9999999999999996: rounding first keeps a value that is an edge above it.
    lower = np.unique(np.floor(np.round(present / width, 9)))
    return np.round(np.unique(np.concatenate([lower, lower + 1.0])) * width, 12)


def _labels(edges: NDArray[np.float64], whole: bool) -> list[str]:
    """Names of the intervals below, between and above the edges."""
    names = [f"<{_short(edges[0])}"] if len(edges) else ["all"]
    for low, high in pairwise(edges.tolist()):
        names.append(_whole_label(low, high) if whole else f"{_short(low)} to <{_short(high)}")
    if len(edges):
        names.append(f"{_short(edges[-1])}+")
    return names


def _whole_label(low: float, high: float) -> str:
    if high - low == 1:
        return _short(low)
    mark = "-" if low >= 0 else " to "
    return f"{_short(low)}{mark}{_short(high - 1)}"


def _short(edge: float) -> str:
    return f"{edge:.12g}"
