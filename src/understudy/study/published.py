"""What was published about the same people before: which columns it shares, and whom it exposes.

Whoever holds an earlier table can look for its rows in this release. So the columns it shows are
known to outsiders, whatever their names say, and are treated as quasi-identifiers. "Already
published data ... are always taken into account" (Chapelle & Falissard, "Manual SDC").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.errors import InputError, PlanError
from understudy.study.alike import alike
from understudy.tables.read import read
from understudy.tables.schema import Role, Schema
from understudy.tables.table import Table


@dataclass(frozen=True, eq=False)
class Earlier:
    """One earlier publication.

    Attributes:
        name: what the plan calls it.
        columns: the columns of this table that it shows.
        table: the table that was published, with those columns; None where none is at hand.
    """

    name: str
    columns: tuple[str, ...]
    table: Table | None = None


def earlier(entries: Sequence[Mapping[str, Any]], table: Table) -> tuple[Earlier, ...]:
    """The plan's entries, their files read; columns that are not named are those in common."""
    return tuple(_one(f"published[{i}]", entry, table) for i, entry in enumerate(entries))


def linkable(schema: Schema, found: Sequence[Earlier]) -> Schema:
    """The schema with the role quasi for every published column that has no role yet."""
    shown = {name for one in found for name in one.columns}
    return Schema(
        tuple(
            replace(column, role=Role.QUASI)
            if column.name in shown and column.role is Role.OTHER
            else column
            for column in schema
        )
    )


def shared(found: Sequence[Earlier], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The columns among ``names`` that each publication shows, where it shows any."""
    left = {one.name: tuple(n for n in one.columns if n in names) for one in found}
    return {name: columns for name, columns in left.items() if columns}


def exposure(found: Sequence[Earlier], raw: Table, prepared: Table) -> Iterator[str]:
    """For each publication how many rows are unique on what it shows, before and after."""
    for one in found:
        left = [name for name in one.columns if name in prepared.names]
        yield f"{exposed(one, raw)}; {_after(prepared, left)}"


def exposed(one: Earlier, raw: Table) -> str:
    """How many rows are unique on what a publication shows, and how many it can be joined with."""
    which = "it" if len(one.columns) == 1 else "them"
    return (
        f"{one.name} shows {', '.join(one.columns)}: {unique_rows(raw, one.columns):,} of "
        f"{raw.rows:,} rows are unique on {which}{_joined(one, raw)}"
    )


def unique_rows(table: Table, names: Sequence[str]) -> int:
    """How many rows no other row equals in these columns; two missing values are equal.

    Example:
        >>> import pyarrow as pa
        >>> unique_rows(read(pa.table({"a": [1, 1, 2], "b": ["x", "x", "x"]})), ["a", "b"])
        1
    """
    return int(np.sum(_alone(_numbered([table], names)[0])))


def _one(where: str, entry: Mapping[str, Any], table: Table) -> Earlier:
    columns = tuple(entry.get("columns", ()))
    file = entry.get("file")
    name = str(entry.get("name") or file)
    if not file:
        return Earlier(name, columns)
    if not Path(file).is_file():
        raise PlanError(f"{where}.file", file, "the path of a table that can be read")
    other = read(file)
    columns = columns or tuple(n for n in table.names if n in other.names)
    if not columns:
        raise PlanError(f"{where}.file", file, "a table that has a column in common with this one")
    if absent := [n for n in columns if n not in other.names]:
        raise PlanError(f"{where}.columns", absent, f"columns that {file} has as well")
    try:
        picked = alike(other, table.select(list(columns)), name)
    except InputError as error:
        expected = f"columns of the same kinds ({error}); coarser ones: give columns, and no file"
        raise PlanError(f"{where}.file", file, expected) from None
    return Earlier(name, columns, picked)


def _after(prepared: Table, left: Sequence[str]) -> str:
    if not left:
        return "none of it is left after preparation"
    return f"{unique_rows(prepared, left):,} of {prepared.rows:,} after preparation"


def _joined(one: Earlier, raw: Table) -> str:
    """How many rows could be joined with the published table: alone in both, and equal."""
    if one.table is None:
        return ""
    ours, theirs = _numbered([raw, one.table], one.columns)
    alone = np.intersect1d(ours[_alone(ours)], theirs[_alone(theirs)])
    return f", {len(alone):,} of which equal exactly one row of the published table"


def _alone(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray(np.bincount(numbers)[numbers] == 1) if len(numbers) else numbers == 0


def _numbered(tables: Sequence[Table], names: Sequence[str]) -> list[NDArray[np.int64]]:
    """A number for each row of several tables: the same for equal rows."""
    number = np.zeros(sum(table.rows for table in tables), dtype=np.int64)
    for name in names:
        code = _codes([table.column(name) for table in tables])
        _, number = np.unique(number * (code.max(initial=0) + 1) + code, return_inverse=True)
    return np.split(number, np.cumsum([table.rows for table in tables])[:-1])


def _codes(arrays: Sequence[pa.ChunkedArray]) -> NDArray[np.int64]:
    same = arrays if len({a.type for a in arrays}) == 1 else [_plain(a) for a in arrays]
    chunks = [chunk for array in same for chunk in array.chunks]
    both = pa.chunked_array(chunks, same[0].type).combine_chunks().dictionary_encode()
    return np.asarray(pc.fill_null(both.indices, -1).to_numpy(zero_copy_only=False) + 1, np.int64)


def _plain(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as floats, all else as text: storage is no difference between people."""
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pc.cast(array, pa.float64(), safe=False)
    return pc.cast(array, pa.string())
