"""What every step of disclosure control by hand needs: its columns found, one of them replaced."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.tables.schema import Column, Kind, Schema
from understudy.tables.table import Table


class Step(ABC):
    """One declared step. Settings only: what it learns from a table is in `like`."""

    do: ClassVar[str]

    @abstractmethod
    def apply(self, table: Table, key: str, rng: np.random.Generator) -> tuple[Table, str]:
        """The table afterwards and a sentence about what changed; ``key`` is the plan's key."""

    def like(self, table: Table, key: str) -> Step:
        """The step as this table has it: thresholds and rare levels found here, not elsewhere.

        People who are compared with the table (a holdout that was brought) go through that step:
        their own quantiles would make them other people.
        """
        return self


def known(table: Table, name: object, key: str) -> Column:
    """The column called ``name``, or a `PlanError` that lists those there are."""
    if not isinstance(name, str) or name not in table.schema:
        raise PlanError(key, name, f"one of the table's columns: {', '.join(table.names)}")
    return table.schema[name]


def number(table: Table, name: object, key: str) -> Column:
    """The column of numbers called ``name``."""
    column = known(table, name, f"{key}.column")
    if column.kind is not Kind.NUMBER:
        raise PlanError(f"{key}.column", name, f"a column of numbers, not of {column.kind.value}")
    return column


def is_number(value: object) -> TypeGuard[float]:
    """A finite number that a plan gives (true and false are none)."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value)


def floats(array: pa.ChunkedArray) -> NDArray[np.float64]:
    """Numbers as floats, NaN where missing."""
    return np.array(pc.cast(array, pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def quantile(array: pa.ChunkedArray, share: float, *, above: bool) -> pa.Scalar:
    """A value of the column, so that every type keeps its own; ties go outwards."""
    present = pc.drop_null(array)
    if len(present) == 0:
        return pa.scalar(0).cast(array.type)
    ordered = present.take(pc.array_sort_indices(present))
    place = (len(present) - 1) * share
    return ordered[int(np.floor(place) if above else np.ceil(place))]


def put(table: Table, column: Column, array: pa.Array | pa.ChunkedArray) -> Table:
    """The table with one column replaced."""
    place = table.names.index(column.name)
    data = table.data.set_column(place, column.name, array)
    columns = tuple(column if old.name == column.name else old for old in table.schema)
    return Table(data, Schema(columns), table.layout, table.notes)
