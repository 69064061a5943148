"""Manual disclosure control: declared steps that coarsen a table before it is split.

The steps are those that data custodians do by hand before a release (drop, band, top and bottom
code, merge rare levels, round), as in Chapelle & Falissard's Open-CESP procedure. Each leaves a
receipt with counts, and never a cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, ClassVar, Protocol, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.tables.numeric import EXACT
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table, is_text


class Step(Protocol):
    """One declared step."""

    do: ClassVar[str]

    def apply(self, table: Table, key: str) -> tuple[Table, str]:
        """The table afterwards and a sentence about what changed; ``key`` is the plan's key."""


@dataclass(frozen=True)
class Drop:
    """Leave out columns."""

    columns: Sequence[str]
    do: ClassVar[str] = "drop"

    def apply(self, table: Table, key: str) -> tuple[Table, str]:
        """Leave them out; a column that is not there is an error."""
        if isinstance(self.columns, str) or not self.columns:
            raise PlanError(f"{key}.columns", self.columns, "a list of column names")
        for name in self.columns:
            _known(table, name, f"{key}.columns")
        if len(set(self.columns)) == len(table.names):
            raise PlanError(f"{key}.columns", list(self.columns), "to keep at least one column")
        count = len(set(self.columns))
        return table.drop(self.columns), f"{count} column(s) dropped: {', '.join(self.columns)}"


@dataclass(frozen=True)
class Band:
    """Group numbers into intervals of one ``width``, or between ``edges``.

    An interval holds its lower edge and not its upper one.
    """

    column: str
    width: float | None = None
    edges: Sequence[float] | None = None
    do: ClassVar[str] = "band"

    def apply(self, table: Table, key: str) -> tuple[Table, str]:
        """Replace numbers by the names of their intervals, an ordinal column."""
        column = _number(table, self.column, key)
        edges = self._checked_edges(key)
        values = _floats(table.column(self.column))
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
        return _put(table, banded, text), sentence

    def _checked_edges(self, key: str) -> NDArray[np.float64] | None:
        if (self.width is None) == (self.edges is None):
            raise PlanError(key, "both or neither", "either width or edges")
        if self.edges is None:
            if not _is_number(self.width) or not self.width > 0:
                raise PlanError(f"{key}.width", self.width, "a number above 0")
            return None
        listed = isinstance(self.edges, list | tuple) and all(map(_is_number, self.edges))
        if not listed or len(self.edges) == 0 or any(np.diff(self.edges) <= 0):
            raise PlanError(f"{key}.edges", self.edges, "a list of rising numbers")
        return np.asarray(self.edges, dtype=np.float64)


@dataclass(frozen=True)
class TopCode:
    """Replace numbers above a threshold by the threshold."""

    column: str
    at: float | None = None
    quantile: float | None = None
    do: ClassVar[str] = "top_code"
    above: ClassVar[bool] = True

    def apply(self, table: Table, key: str) -> tuple[Table, str]:
        """Replace them; a ``quantile`` is the value below which that share of rows lies."""
        column = _number(table, self.column, key)
        array = table.column(self.column)
        limit = self._limit(array, column, key)
        beyond = pc.greater(array, limit) if self.above else pc.less(array, limit)
        count = pc.sum(beyond).as_py() or 0
        coded = pc.if_else(beyond, limit, array)
        side = "above" if self.above else "below"
        sentence = f"column {self.column!r}: {count} values {side} the threshold were set to it"
        return _put(table, column, coded), sentence

    def _limit(self, array: pa.ChunkedArray, column: Column, key: str) -> pa.Scalar:
        if (self.at is None) == (self.quantile is None):
            raise PlanError(key, "both or neither", "either at or quantile")
        if self.quantile is not None:
            if not _is_number(self.quantile) or not 0 < self.quantile < 1:
                raise PlanError(f"{key}.quantile", self.quantile, "a share between 0 and 1")
            return _quantile(array, self.quantile, above=self.above)
        if not _is_number(self.at):
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
class MergeRare:
    """Merge the levels that fewer than so many rows have."""

    column: str
    fewer_than: int
    into: str = "other"
    do: ClassVar[str] = "merge_rare"

    def apply(self, table: Table, key: str) -> tuple[Table, str]:
        """Replace rare levels by one; the receipt says if that one is still rare."""
        column = _known(table, self.column, f"{key}.column")
        if not is_text(column.kind):
            raise PlanError(f"{key}.column", self.column, "a column of levels, not of numbers")
        if not isinstance(self.fewer_than, int) or self.fewer_than < 2:
            raise PlanError(f"{key}.fewer_than", self.fewer_than, "a whole number above 1")
        if not isinstance(self.into, str) or not self.into:
            raise PlanError(f"{key}.into", self.into, "the name of a level")
        array = table.column(self.column)
        counts = pc.value_counts(pc.drop_null(array))
        rare = pc.filter(counts.field("values"), pc.less(counts.field("counts"), self.fewer_than))
        gone = pc.is_in(array, value_set=rare.cast(array.type))
        merged = pc.if_else(gone, pa.scalar(self.into, array.type), array)
        changed, total = (pc.sum(mask).as_py() or 0 for mask in (gone, pc.equal(merged, self.into)))
        sentence = (
            f"column {self.column!r}: {len(rare)} levels with fewer than {self.fewer_than} rows "
            f"({changed} rows in all) became {self.into!r}"
        )
        if 0 < total < self.fewer_than:
            sentence += f", which still has only {total} rows"
        return _put(table, self._with_level(column, rare), merged), sentence

    def _with_level(self, column: Column, rare: pa.Array) -> Column:
        if column.levels is None or len(rare) == 0:
            return column
        gone = set(rare.to_pylist())
        kept = [level for level in column.levels if level not in gone and level != self.into]
        return replace(column, levels=(*kept, self.into))


@dataclass(frozen=True)
class Round:
    """Round numbers to multiples of a step."""

    column: str
    to: float
    do: ClassVar[str] = "round"

    def apply(self, table: Table, key: str) -> tuple[Table, str]:
        """Round half to even, as IEEE 754 does; the column is then written with fewer digits."""
        column = _number(table, self.column, key)
        if not _is_number(self.to) or not self.to > 0:
            raise PlanError(f"{key}.to", self.to, "a number above 0")
        array = table.column(self.column)
        if not pa.types.is_floating(array.type) and not float(self.to).is_integer():
            raise PlanError(f"{key}.to", self.to, f"a whole number, as {self.column!r} has")
        values = _floats(array)
        if np.nanmax(np.abs(values), initial=0.0) >= EXACT:
            raise PlanError(f"{key}.column", self.column, "a column of numbers below 2^53")
        step = Decimal(str(self.to))
        digits = max(-int(step.normalize().as_tuple().exponent), 0)
        rounded = np.round(np.round(values / self.to) * self.to, digits)
        changed = int(np.sum(rounded[~np.isnan(values)] != values[~np.isnan(values)]))
        result = pa.array(rounded, mask=np.isnan(values)).cast(array.type)
        sentence = f"column {self.column!r}: {changed} values rounded to multiples of {step}"
        return _put(
            table, replace(column, decimals=digits, fixed=column.fixed and digits > 0), result
        ), sentence


STEPS: Mapping[str, type[Any]] = {
    step.do: step for step in (Drop, Band, TopCode, BottomCode, MergeRare, Round)
}


def prepare(table: Table, entries: Sequence[Mapping[str, Any]]) -> tuple[Table, list[str]]:
    """Apply the declared steps in order.

    Args:
        table: the table as read.
        entries: the plan's ``prepare`` list, such as
            ``{"do": "band", "column": "age", "width": 10}``.

    Returns:
        The prepared table, and one receipt per step.

    Example:
        >>> from understudy.tables.schema import Schema
        >>> data = pa.table({"age": [23, 27, 31]})
        >>> table = Table(data, Schema((Column("age", Kind.NUMBER, decimals=0),)))
        >>> banded, receipts = prepare(table, [{"do": "band", "column": "age", "width": 10}])
        >>> banded.column("age").to_pylist(), receipts
        (['20-29', '20-29', '30-39'], ["band: column 'age': 3 values became 2 intervals"])
    """
    steps = [parse_step(entry, f"prepare[{place}]") for place, entry in enumerate(entries)]
    receipts = []
    for place, step in enumerate(steps):
        table, sentence = step.apply(table, f"prepare[{place}]")
        receipts.append(f"{step.do}: {sentence}")
    return table, receipts


def parse_step(entry: Mapping[str, Any], key: str) -> Step:
    """One entry of the plan as a step, with its keys checked.

    Example:
        >>> parse_step({"do": "round", "column": "lat", "to": 0.01}, "prepare[0]")
        Round(column='lat', to=0.01)
    """
    if not isinstance(entry, Mapping):
        raise PlanError(key, type(entry).__name__, 'a table such as {do = "drop", columns = [...]}')
    name = entry.get("do")
    kind = STEPS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise PlanError(f"{key}.do", entry.get("do"), f"one of {', '.join(STEPS)}")
    settings = {name: value for name, value in entry.items() if name != "do"}
    known = {field.name: field.default is MISSING for field in fields(kind)}
    for name in settings:
        if name not in known:
            raise PlanError(f"{key}.{name}", name, f"one of {', '.join(known)}")
    for name, needed in known.items():
        if needed and name not in settings:
            raise PlanError(f"{key}.{name}", None, "a value: it is needed")
    step: Step = kind(**settings)
    return step


def _known(table: Table, name: object, key: str) -> Column:
    if not isinstance(name, str) or name not in table.schema:
        raise PlanError(key, name, f"one of the table's columns: {', '.join(table.names)}")
    return table.schema[name]


def _number(table: Table, name: object, key: str) -> Column:
    column = _known(table, name, f"{key}.column")
    if column.kind is not Kind.NUMBER:
        raise PlanError(f"{key}.column", name, f"a column of numbers, not of {column.kind.value}")
    return column


def _is_number(value: object) -> TypeGuard[float]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value)


def _scalar(value: float, stored: pa.DataType) -> pa.Scalar:
    if pa.types.is_decimal(stored):
        return pa.scalar(Decimal(int(value)), stored)
    return pa.scalar(float(value) if pa.types.is_floating(stored) else int(value), stored)


def _floats(array: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.array(pc.cast(array, pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _quantile(array: pa.ChunkedArray, share: float, *, above: bool) -> pa.Scalar:
    """A value of the column, so that every type keeps its own; ties go outwards."""
    present = pc.drop_null(array)
    if len(present) == 0:
        return pa.scalar(0).cast(array.type)
    ordered = present.take(pc.array_sort_indices(present))
    place = (len(present) - 1) * share
    return ordered[int(np.floor(place) if above else np.ceil(place))]


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


def _put(table: Table, column: Column, array: pa.Array | pa.ChunkedArray) -> Table:
    """The table with one column replaced."""
    place = table.names.index(column.name)
    data = table.data.set_column(place, column.name, array)
    columns = tuple(column if old.name == column.name else old for old in table.schema)
    return Table(data, Schema(columns), table.layout, table.notes)
