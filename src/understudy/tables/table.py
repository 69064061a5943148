"""A table: Arrow columns with a schema, checked when it is built, never changed afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.errors import TableError
from understudy.tables.schema import Column, Kind, Layout, Schema

# Ways in which a column of each kind may be stored. Text, categories and identifiers are strings:
# a code such as "0012" must come back as it was.
_STORED_AS_TEXT = (Kind.CATEGORY, Kind.ORDINAL, Kind.TEXT, Kind.IDENTIFIER)


@dataclass(frozen=True, eq=False)
class Table:
    """Arrow columns + schema + the look of the file they came from.

    ``notes`` are sentences about how the file was read ("2 preamble lines skipped"), without cells.

    Anything that speaks the Arrow C stream comes in through `understudy.read` and goes out again:
    ``pandas.DataFrame.from_arrow(table)``, ``polars.from_arrow(table)``, ``pyarrow.table(table)``.

    Example:
        >>> import pyarrow as pa
        >>> from understudy.tables.schema import Column, Kind, Schema
        >>> data = pa.table({"age": [31, 49, None]})
        >>> Table(data, Schema((Column("age", Kind.NUMBER),))).rows
        3
    """

    data: pa.Table
    schema: Schema
    layout: Layout = field(default_factory=Layout)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if tuple(self.data.column_names) != self.schema.names:
            raise TableError("the schema names other columns than the table has")
        for column in self.schema:
            _check_storage(column, self.data.schema.field(column.name).type)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.data.num_rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return self.schema.names

    def column(self, name: str) -> pa.ChunkedArray:
        """The Arrow column called ``name``."""
        self.schema[name]
        return self.data.column(self.schema.names.index(name))

    def take(self, rows: NDArray[np.int64] | Sequence[int]) -> Table:
        """The rows at these positions, in this order."""
        return Table(
            self.data.take(pa.array(rows, type=pa.int64())), self.schema, self.layout, self.notes
        )

    def select(self, names: Sequence[str]) -> Table:
        """The columns called ``names``, in that order."""
        return Table(
            self.data.select(list(names)), self.schema.select(list(names)), self.layout, self.notes
        )

    def drop(self, names: Sequence[str]) -> Table:
        """All columns but these."""
        return self.select([name for name in self.names if name not in names])

    def with_schema(self, schema: Schema) -> Table:
        """The same data under another schema (converted where kinds changed)."""
        arrays = [
            _stored(self.column(column.name), column)
            if column.kind != old.kind
            else self.column(column.name)
            for column, old in zip(schema, self.schema, strict=True)
        ]
        return Table(pa.table(arrays, names=list(schema.names)), schema, self.layout, self.notes)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand the columns out through the Arrow C stream."""
        return self.data.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        # A table may be confidential: show its size, never its cells.
        return f"<Table {self.rows} rows × {len(self.schema)} columns>"


def is_text(kind: Kind) -> bool:
    """Tell whether columns of this kind are stored as strings."""
    return kind in _STORED_AS_TEXT


def _check_storage(column: Column, stored: pa.DataType) -> None:
    if is_text(column.kind):
        right = pa.types.is_string(stored) or pa.types.is_large_string(stored)
    elif column.kind is Kind.DATETIME:
        right = pa.types.is_temporal(stored)
    else:
        right = (
            pa.types.is_integer(stored)
            or pa.types.is_floating(stored)
            or pa.types.is_decimal(stored)
        )
    if not right:
        raise TableError(f"column {column.name!r} is {column.kind.value} but stored as {stored}")


def _stored(array: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Convert an array to what ``column.kind`` is stored as, or say why it cannot be."""
    try:
        if is_text(column.kind):
            return pc.cast(array, pa.string())
        if column.kind is Kind.DATETIME:
            if pa.types.is_string(array.type) and column.format:
                return pc.strptime(array, format=column.format, unit="us")
            return pc.cast(array, pa.timestamp("us"))
        if pa.types.is_string(array.type):
            return pc.cast(pc.utf8_trim_whitespace(array), pa.float64())
        return pc.cast(array, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # The cause is dropped on purpose: Arrow's message quotes the offending cell.
        raise TableError(
            f"column {column.name!r} cannot be read as {column.kind.value}: "
            "some cells do not fit; change its kind in the plan"
        ) from None
