"""The one frozen encoding: every column becomes whole-number codes, fitted once on train.

A category's code is its level. A number's code is its *cell*: a value that many people share is a
cell of its own (an atom); the others are grouped into intervals that several people share, so that
drawing a cell, and then a value inside it, never hands out one person's number. Missing is a code
like any other, the last but one; a level that train never had is the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.tables.cells import Cells, find_cells
from understudy.tables.numeric import Numeric, find_numeric
from understudy.tables.schema import Column, Kind, Layout, Schema
from understudy.tables.table import Table

_LARGE = 1e150
Codes = NDArray[np.int32]
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ColumnEncoding:
    """The frozen code of one column.

    Attributes:
        column: the schema's entry.
        levels: level names of a category, most frequent first (declared order if ordinal).
        numeric: how a number or date becomes a float and back.
        cells: the cells of a number or date.
        mean: mean of train's numeric values (0 for categories).
        sd: standard deviation of train's numeric values (0 where constant).
    """

    column: Column
    levels: tuple[str, ...] = ()
    numeric: Numeric | None = None
    cells: Cells | None = None
    mean: float = 0.0
    sd: float = 0.0

    @property
    def size(self) -> int:
        """Number of proper codes: levels or cells."""
        return len(self.levels) if self.cells is None else self.cells.count

    @property
    def missing(self) -> int:
        """The code of a missing value."""
        return self.size

    @property
    def unseen(self) -> int:
        """The code of a level that train does not have."""
        return self.size + 1

    @property
    def width(self) -> int:
        """Number of codes in all, missing and unseen included."""
        return self.size + 2

    @property
    def is_nominal(self) -> bool:
        """Codes have no order of their own."""
        return self.cells is None and self.column.kind is not Kind.ORDINAL

    @property
    def is_numeric(self) -> bool:
        """Values have distances."""
        return self.cells is not None


@dataclass(frozen=True, eq=False)
class Block:
    """Encoded rows: codes for every column, and values for numbers and dates.

    Attributes:
        encoding: the frozen encoding that made it.
        rows: number of rows (needed when there are no columns).
        codes: code of every column present.
        values: float values of the numeric columns present, NaN where missing.
        person: whose row each is, where people have several rows (None: a row is a person).
    """

    encoding: Encoding
    rows: int
    codes: Mapping[str, Codes]
    values: Mapping[str, Values]
    person: NDArray[np.int64] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns present."""
        return tuple(self.codes)

    @property
    def people(self) -> int:
        """Number of people."""
        return self.rows if self.person is None else len(np.unique(self.person))

    def select(self, names: Sequence[str]) -> Block:
        """Only the columns called ``names``."""
        return Block(
            self.encoding,
            self.rows,
            {name: self.codes[name] for name in names},
            {name: self.values[name] for name in names if name in self.values},
            self.person,
        )

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Block:
        """Only these rows."""
        count = len(np.arange(self.rows)[rows])
        return Block(
            self.encoding,
            count,
            {name: codes[rows] for name, codes in self.codes.items()},
            {name: values[rows] for name, values in self.values.items()},
            None if self.person is None else self.person[rows],
        )

    def thin(self, most: int, rng: np.random.Generator) -> Block:
        """At most ``most`` rows, chosen at random, in their order."""
        if self.rows <= most:
            return self
        return self.take(np.sort(rng.choice(self.rows, most, replace=False, shuffle=False)))

    def join(self, other: Block) -> Block:
        """The columns of both, side by side; ``other`` wins where both have one."""
        codes, values = {**self.codes, **other.codes}, {**self.values, **other.values}
        return Block(self.encoding, self.rows, codes, values, self.person)


def stack(blocks: Sequence[Block]) -> Block:
    """Rows of several blocks with the same columns, one after the other.

    Nobody has rows in two of them: the same number of a person in two blocks means two people.
    """
    first = blocks[0]
    return Block(
        first.encoding,
        sum(block.rows for block in blocks),
        {name: np.concatenate([block.codes[name] for block in blocks]) for name in first.codes},
        {name: np.concatenate([block.values[name] for block in blocks]) for name in first.values},
        _people_of(blocks),
    )


def _people_of(blocks: Sequence[Block]) -> NDArray[np.int64] | None:
    """Whose row each is, over all blocks; where a block has none, its rows are people."""
    if all(block.person is None for block in blocks):
        return None
    found, before = [], 0
    for block in blocks:
        whose = np.arange(block.rows) if block.person is None else block.person
        people, place = np.unique(whose, return_inverse=True)
        found.append(place + before)
        before += len(people)
    return np.concatenate(found).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Encoding:
    """The frozen codes of all columns; fitted on train and used for everything after."""

    columns: Mapping[str, ColumnEncoding]
    layout: Layout

    def __getitem__(self, name: str) -> ColumnEncoding:
        return self.columns[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return tuple(self.columns)

    @property
    def schema(self) -> Schema:
        """The schema of the encoded columns."""
        return Schema(tuple(column.column for column in self.columns.values()))

    def empty(self, rows: int) -> Block:
        """A block of ``rows`` rows and no columns."""
        return Block(self, rows, {}, {})

    def block(self, codes: Mapping[str, Codes], values: Mapping[str, Values], rows: int) -> Block:
        """A block from drawn codes (categories) and values (numbers)."""
        return Block(self, rows, dict(codes), dict(values))

    def unrounded(self, names: Sequence[str]) -> Encoding:
        """The same codes; these columns are written back with all their digits."""
        if not names:
            return self
        columns = dict(self.columns)
        for name in names:
            own, numeric = columns[name], columns[name].numeric
            assert numeric is not None
            plain = replace(own.column, decimals=None, fixed=False)
            floating = replace(numeric, stored=pa.float64(), step=0.0, meant=None)
            columns[name] = replace(own, column=plain, numeric=floating)
        return Encoding(columns, self.layout)

    def encode(self, table: Table) -> Block:
        """Encode a table that has (at least) these columns.

        Example:
            >>> import pyarrow as pa
            >>> from understudy.tables.table import Table
            >>> from understudy.tables.schema import Column, Kind, Schema
            >>> schema = Schema((Column("sex", Kind.CATEGORY),))
            >>> table = Table(pa.table({"sex": ["m", "f", "m", None]}), schema)
            >>> fit_encoding(table).encode(table).codes["sex"].tolist()
            [0, 1, 0, 2]
        """
        codes: dict[str, Codes] = {}
        values: dict[str, Values] = {}
        for name, encoding in self.columns.items():
            if encoding.numeric is not None and encoding.cells is not None:
                values[name] = encoding.numeric.to_float(table.column(name))
                codes[name] = encoding.cells.of(values[name])
            else:
                codes[name] = _level_codes(table.column(name), encoding)
        return Block(self, table.rows, codes, values)

    def decode(self, block: Block) -> Table:
        """Turn encoded rows back into a table with the look of the original."""
        arrays = [self._decoded(block, name) for name in block.names]
        schema = self.schema.select(list(block.names))
        return Table(pa.table(arrays, names=list(block.names)), schema, self.layout)

    def _decoded(self, block: Block, name: str) -> pa.Array:
        encoding = self.columns[name]
        if encoding.numeric is not None:
            return encoding.numeric.from_float(block.values[name])
        codes = block.codes[name]
        levels = pa.array(encoding.levels, type=pa.string())
        return levels.take(pa.array(codes, mask=codes >= encoding.size))


def fit_encoding(
    table: Table,
    *,
    cells: int = 256,
    shared: int = 10,
    person: NDArray[np.int64] | None = None,
) -> Encoding:
    """Fit the encoding on train.

    Args:
        table: train.
        cells: most cells of a number or date.
        shared: a value that at least this many people share is kept as it is; the others are
            grouped into intervals that at least this many people share.
        person: whose row each is, where people have several: then a value that one person has
            many times is shared by one.
    """
    columns = {c.name: _fit_column(table, c, cells, shared, person) for c in table.schema}
    return Encoding(columns, table.layout)


def _fit_column(
    table: Table, column: Column, cells: int, shared: int, person: NDArray[np.int64] | None
) -> ColumnEncoding:
    array = table.column(column.name)
    if not column.kind.is_numeric:
        return ColumnEncoding(column, levels=_levels(array, column))
    numeric = find_numeric(array, column)
    values = numeric.to_float(array)
    present = values[~np.isnan(values)]
    mean, sd = _scale(present)
    shown = present if person is None else once_each(values, person)
    found = find_cells(shown, most=cells, shared=shared, step=numeric.step)
    return ColumnEncoding(column, numeric=numeric, cells=found, mean=mean, sd=sd)


def once_each(values: Values, person: NDArray[np.int64]) -> Values:
    """The present values, each as many times as there are people who have it.

    Example:
        >>> once_each(np.array([7.0, 7.0, 8.0, np.nan]), np.array([0, 0, 0, 1])).tolist()
        [7.0, 8.0]
    """
    there = ~np.isnan(values)
    distinct, value = np.unique(values[there], return_inverse=True)
    pairs = np.unique(value * (person.max(initial=0) + 1) + person[there])
    return np.asarray(distinct[pairs // (person.max(initial=0) + 1)], dtype=np.float64)


def _scale(present: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard deviation, also where squares are beyond the largest float."""
    if not present.size:
        return 0.0, 0.0
    most = float(np.abs(present).max())
    unit = most if most > _LARGE else 1.0
    return float((present / unit).mean()) * unit, float((present / unit).std()) * unit


def _levels(array: pa.ChunkedArray, column: Column) -> tuple[str, ...]:
    counts = pc.value_counts(pc.drop_null(array))
    pairs = [(item["values"].as_py(), item["counts"].as_py()) for item in counts]
    if column.kind is Kind.ORDINAL:
        declared = list(column.levels or ())
        return tuple(declared + _in_order([value for value, _ in pairs if value not in declared]))
    return tuple(value for value, _ in sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


def _in_order(levels: list[str]) -> list[str]:
    """Numbers by size, else by alphabet."""
    try:
        return sorted(levels, key=lambda level: (float(level), level))
    except ValueError:
        return sorted(levels)


def _level_codes(array: pa.ChunkedArray, encoding: ColumnEncoding) -> Codes:
    levels = pa.array(encoding.levels, type=pa.string())
    found = pc.index_in(array, value_set=levels).combine_chunks()
    codes: Codes = np.array(found.fill_null(encoding.unseen), dtype=np.int32)
    codes[pc.is_null(array).combine_chunks().to_numpy(zero_copy_only=False)] = encoding.missing
    return codes
