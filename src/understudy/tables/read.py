"""Reading a table: a file of any common shape, or any object that speaks the Arrow C stream."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather, parquet

from understudy.errors import TableError
from understudy.tables.columns import Read, mark_of, read_column, typed_column, without_words
from understudy.tables.csvfile import read_csv
from understudy.tables.detect import locations, suggested_weights, unusable
from understudy.tables.quasi import likely_quasi
from understudy.tables.schema import Column, Kind, Layout, Role, Schema
from understudy.tables.table import Table

Changes = Mapping[str, Mapping[str, Any]]
ARROW_SCHEMA = "ARROW:schema"
_TOTALS = ("total", "totals", "sum", "somme", "summe", "gesamt", "ensemble", "totale", "suma")


def read(
    source: Any, *, schema_changes: Changes | None = None, missing: Sequence[str] | None = None
) -> Table:
    """Read a table, finding out how it is written and what its columns are.

    Args:
        source: a path (``-`` for standard input), or an object with ``__arrow_c_stream__``.
        schema_changes: what the plan says about columns, as in ``Schema.update``.
        missing: words that mean "missing" in every column, beside the empty cell.

    Example:
        >>> import pyarrow as pa
        >>> read(pa.table({"age": [31, 49], "sex": ["m", "f"]})).schema["age"].kind.value
        'number'
    """
    if isinstance(source, Table):  # read before: nothing to find out
        changes = _with_missing(source.names, schema_changes or {}, missing or ())
        return _reread(source, changes) if changes else source
    data, layout, notes = _load(source)
    if data.num_columns == 0:
        raise TableError("the table has no columns")
    if data.num_rows < 2:
        raise TableError(f"the table has {data.num_rows} row(s): at least 2 are needed")
    changes = _with_missing(data.column_names, schema_changes or {}, missing or ())
    return _build(data, layout, notes, changes)


def _reread(table: Table, changes: Changes) -> Table:
    """A table read before, under another plan."""
    schema = table.schema.update(changes)
    arrays = [without_words(table.column(c.name), c.missing) for c in schema]
    data = pa.table(arrays, names=list(table.names))
    return replace(table, data=data).with_schema(schema)


def _load(source: Any) -> tuple[pa.Table, Layout, list[str]]:
    if hasattr(source, "__arrow_c_stream__"):
        return _from_stream(source)
    if not isinstance(source, str | Path):
        raise TableError(
            f"cannot read a {type(source).__name__}: give a path, or a table that speaks "
            "the Arrow C stream (pandas, polars, duckdb, pyarrow)"
        )
    raw = _bytes(source)
    if raw[:4] == b"PAR1":
        return _arrow("parquet", lambda: parquet.read_table(io.BytesIO(raw)))
    if raw[:6] == b"ARROW1" or raw[:4] == b"\xff\xff\xff\xff":
        return _arrow("arrow", lambda: _ipc(raw))
    return read_csv(raw)


def _bytes(source: str | Path) -> bytes:
    if str(source) == "-":
        if sys.stdin is None:
            raise TableError("standard input is closed: give a file, or send the table through it")
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except FileNotFoundError:
        raise TableError(f"no file {str(source)!r}") from None
    except OSError as error:
        raise TableError(f"cannot read {str(source)!r}: {error.strerror}") from None


def _ipc(raw: bytes) -> pa.Table:
    if raw[:6] == b"ARROW1":
        return feather.read_table(io.BytesIO(raw))
    return pa.ipc.open_stream(raw).read_all()


def _from_stream(source: Any) -> tuple[pa.Table, Layout, list[str]]:
    columns = getattr(source, "columns", ())  # names in pandas and polars, arrays in pyarrow
    _no_doubled([str(name) for name in columns if isinstance(name, str | int | tuple)])
    try:
        data = pa.table(source)
    except (pa.ArrowException, ValueError, TypeError, NotImplementedError):
        # Arrow's message quotes the cell that did not fit.
        raise TableError(
            "the frame cannot be handed over as a table: a column may have mixed types (give each "
            "one), or it may be a single column (put it into a frame)"
        ) from None
    return _typed(data, "parquet")


def _arrow(form: str, load: Any) -> tuple[pa.Table, Layout, list[str]]:
    try:
        data = load()
    except (pa.ArrowException, OSError):
        raise TableError(f"the file begins like {form} but cannot be read: it is damaged") from None
    return _typed(data, form)


def _typed(data: pa.Table, form: str) -> tuple[pa.Table, Layout, list[str]]:
    _no_doubled(data.column_names)
    stored = base64.b64encode(data.schema.serialize().to_pybytes()).decode()
    metadata = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (data.schema.metadata or {}).items()
    }
    return data, Layout(format=form, metadata={**metadata, ARROW_SCHEMA: stored}), []


def _no_doubled(names: Sequence[str]) -> None:
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise TableError(f"column names must differ; given twice: {', '.join(doubled)}")


def _with_missing(names: Iterable[str], changes: Changes, words: Sequence[str]) -> Changes:
    if not words:
        return changes
    spread = {name: {"missing": tuple(words)} for name in names}
    return {**changes, **{n: {**w, **changes.get(n, {})} for n, w in spread.items()}}


def _build(data: pa.Table, layout: Layout, notes: list[str], changes: Changes) -> Table:
    _check_names(data.column_names, changes)
    if layout.format == "csv" and layout.delimiter != ",":
        layout = replace(layout, decimal=mark_of(data))
    results = [_column(data, name, layout, changes.get(name, {})) for name in data.column_names]
    votes = [result.point_zero for result in results if result.point_zero is not None]
    layout = replace(layout, point_zero=sum(votes) * 2 > len(votes))
    columns = _with_roles(results)
    schema = Schema(tuple(columns)).update(changes)
    arrays = [result.values for result in results]
    notes = notes + [note for result in results for note in result.notes] + _total_note(data)
    table = Table(pa.table(arrays, names=list(schema.names)), schema, layout, tuple(notes))
    weights = [
        f"column {name!r} is named like a survey weight: give it the role weight if it is one"
        for name in suggested_weights(table)
        if table.schema[name].role is not Role.WEIGHT
    ]
    return replace(table, notes=(*table.notes, *weights))


def _check_names(names: list[str], changes: Changes) -> None:
    """Refuse a plan that names no column, or an impossible kind, before any cell is converted."""
    Schema(tuple(Column(name, Kind.CATEGORY) for name in names)).update(changes)


def _column(data: pa.Table, name: str, layout: Layout, change: Mapping[str, Any]) -> Read:
    values = data.column(name)
    if layout.format == "csv" and pa.types.is_string(values.type):
        return read_column(name, values, layout.decimal, change)
    try:
        return typed_column(data.schema.field(name), values, change)
    except pa.ArrowNotImplementedError:  # no kind holds lists or intervals
        raise unusable(name, values.type) from None


def _with_roles(results: list[Read]) -> list[Column]:
    """Roles that the names of columns tell: points on a map, and what outsiders may know."""
    arrays = {result.column.name: result.values for result in results}
    places = locations(list(arrays), arrays)
    return [_with_role(result.column, places) for result in results]


def _with_role(column: Column, places: list[str]) -> Column:
    if column.name in places:
        return replace(column, role=Role.LOCATION)
    free = column.role is Role.OTHER and column.kind not in (Kind.TEXT, Kind.IDENTIFIER)
    return replace(column, role=Role.QUASI) if free and likely_quasi(column.name) else column


def _total_note(data: pa.Table) -> list[str]:
    """Suspect a line of totals at the end: a word such as "total" that no other row has."""
    last = data.slice(data.num_rows - 1)
    for name in data.column_names:
        if not pa.types.is_string(data.schema.field(name).type):
            continue
        cell = last.column(name)[0].as_py()
        if cell is None or cell.strip().lower() not in _TOTALS:
            continue
        if pc.sum(pc.equal(data.column(name), cell)).as_py() == 1:
            return [f"the last row looks like a line of totals (column {name!r}): remove it if so"]
    return []
