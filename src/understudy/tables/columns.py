"""One column read: from text or typed cells to the kind it is stored as, with the look it had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import TableError
from understudy.tables.dates import find_dates, is_compact, read_as, share_of_dates
from understudy.tables.detect import is_moment, is_prose, kind_of, with_role
from understudy.tables.numbers import (
    MOST_DECIMALS,
    Numbers,
    find_numbers,
    marks_thousands,
    share_of_numbers,
)
from understudy.tables.schema import Column, Kind
from understudy.tables.table import is_text

_MISSING_WORDS = ("NA", "N/A", "n/a", "na", "NULL", "null", "None", "none", "nan", ".", "-", "?")
_FEW = 20


@dataclass(frozen=True, eq=False)
class Read:
    """One column as it will be stored, its schema entry, and what there is to say about it."""

    column: Column
    values: pa.ChunkedArray
    notes: tuple[str, ...] = ()
    point_zero: bool | None = None


def mark_of(data: pa.Table) -> str:
    """The decimal mark of a file that does not use commas as delimiters."""
    commas = points = 0
    for name in data.column_names:
        cells = pc.drop_null(data.column(name)).slice(0, 1000)
        commas += _most(cells, r"^\s*-?\d*,\d+\s*$")
        points += _most(cells, r"^\s*-?\d*\.\d+\s*$")
    return "," if commas > points else "."


def _most(cells: pa.ChunkedArray, pattern: str) -> int:
    # Whole numbers among fractions say nothing about the mark.
    hits = pc.sum(pc.match_substring_regex(cells, pattern)).as_py() or 0
    whole = pc.sum(pc.match_substring_regex(cells, r"^\s*-?\d+\s*$")).as_py() or 0
    return int(hits > 0 and hits + whole >= 0.9 * len(cells))


def read_column(name: str, values: pa.ChunkedArray, mark: str, change: Mapping[str, Any]) -> Read:
    """Read a text column as what it is, or as what the plan says it is."""
    values = without_words(values, change.get("missing", ()))
    if change.get("kind") is not None:
        return _declared(name, values, mark, change)
    if values.null_count == len(values):
        return Read(Column(name, Kind.CATEGORY), values, (f"column {name!r} has no values",))
    found = find_numbers(values, mark)
    if found is not None and marks_thousands(values, found):
        note = (
            f"column {name!r}: its marks seem to separate thousands, so it is read as text; "
            'remove them, or say kind = "number" if they are decimal marks'
        )
        return Read(_text_column(name, values), values, (note,))
    if found is not None and not is_compact(values):
        return _number(name, found)
    dates = find_dates(values)
    if dates is not None:
        return _dated(name, *dates)
    column = _text_column(name, values)
    return Read(column, values, tuple(_spoilt(name, values)))


def typed_column(field: pa.Field, values: pa.ChunkedArray, change: Mapping[str, Any]) -> Read:
    """Read a column that already has an Arrow type."""
    name = field.name
    label = (field.metadata or {}).get(b"label")
    levels = _declared_levels(values)
    values = without_words(_coarse(_plain(values)), change.get("missing", ()))
    values, note = _finite(name, values)
    kind = Kind(change["kind"]) if "kind" in change else kind_of(name, _typed_as(field, values))
    column = Column(name, kind, levels=levels, label=None if label is None else label.decode())
    if is_text(kind):
        values = _as_text(values)
    elif kind is Kind.NUMBER:
        if not _numeric(values.type):
            return _declared(name, _as_text(values), ".", change)
        column = replace(column, decimals=_decimals(values))
    elif not is_moment(values.type):
        return _declared(name, _as_text(values), ".", change)
    if "role" not in change:
        column = with_role(column, values)
    return Read(column, values, note)


def without_words(values: pa.ChunkedArray, words: Sequence[str]) -> pa.ChunkedArray:
    """Words that mean "missing" become missing.

    Example:
        >>> import pyarrow as pa
        >>> without_words(pa.chunked_array([["1", "NA"]]), ["NA"]).to_pylist()
        ['1', None]
    """
    if not words or not pa.types.is_string(values.type):
        return values
    gone = pc.is_in(values, value_set=pa.array(list(words), pa.string()))
    return pc.if_else(gone, pa.scalar(None, pa.string()), values)


def _number(name: str, found: Numbers) -> Read:
    notes = []
    if found.infinite:
        notes.append(
            f"column {name!r}: {found.infinite} cells that are not finite numbers became missing"
        )
    if found.trimmed:
        notes.append(f"column {name!r}: spaces around numbers removed")
    kind = kind_of(name, found.values)
    if kind is Kind.IDENTIFIER:
        values = pc.cast(found.values, pa.string())
        return Read(with_role(Column(name, kind), values), values, tuple(notes))
    column = Column(name, kind, decimals=found.decimals, fixed=found.fixed and found.decimals != 0)
    return Read(column, found.values, tuple(notes), found.point_zero)


def _dated(name: str, values: pa.ChunkedArray, formats: list[str]) -> Read:
    notes = []
    if len(formats) > 1:
        notes.append(
            f"column {name!r}: its dates fit {' and '.join(formats)}; read as {formats[0]} "
            "(declare the format if that is wrong)"
        )
    if getattr(values.type, "tz", None):
        notes.append(f"column {name!r}: its time zones differ; converted to UTC")
    return Read(Column(name, Kind.DATETIME, format=formats[0]), values, tuple(notes))


def _text_column(name: str, values: pa.ChunkedArray) -> Column:
    column = with_role(Column(name, kind_of(name, values)), values)
    if column.kind is Kind.CATEGORY and column.role.value == "other":
        distinct = pc.count_distinct(values, mode="only_valid").as_py()
        present = len(values) - values.null_count
        if distinct > max(_FEW, 0.5 * present) or is_prose(values):
            return replace(column, kind=Kind.TEXT)
    return column


def _spoilt(name: str, values: pa.ChunkedArray) -> list[str]:
    """Say when a column is text because of a few cells only."""
    for what, share in (("numbers", share_of_numbers), ("dates in one format", share_of_dates)):
        if share(values) >= 0.5 and not pc.any(pc.match_substring_regex(values, r"^0\d+$")).as_py():
            odd = [w for w in _MISSING_WORDS if pc.any(pc.equal(values, w)).as_py()]
            hint = f'; declare missing = ["{odd[0]}"] if that is meant' if odd else ""
            return [f"column {name!r}: not all cells are {what}, so it is read as text{hint}"]
    return []


def _declared(name: str, values: pa.ChunkedArray, mark: str, change: Mapping[str, Any]) -> Read:
    kind = Kind(change["kind"])
    if is_text(kind):
        return Read(Column(name, kind), values)
    if kind is Kind.NUMBER:
        found = find_numbers(values, mark)
        if found is None and values.null_count == len(values):
            return Read(Column(name, kind), pc.cast(values, pa.float64()))
        if found is not None:
            read = _number(name, found)
            column = Column(name, kind, decimals=found.decimals, fixed=found.fixed)
            return Read(column, found.values, read.notes, found.point_zero)
        raise _unfit(name, kind, len(values), share_of_numbers(values, len(values)))
    return _declared_dates(name, values, change)


def _declared_dates(name: str, values: pa.ChunkedArray, change: Mapping[str, Any]) -> Read:
    if change.get("format"):
        column = Column(name, Kind.DATETIME, format=change["format"])
        parsed = read_as(values, column)
        if parsed is not None:
            return Read(column, parsed)
    else:
        dates = find_dates(values)
        if dates is not None:
            return _dated(name, *dates)
    raise _unfit(name, Kind.DATETIME, len(values), share_of_dates(values, len(values)))


def _unfit(name: str, kind: Kind, rows: int, share: float) -> TableError:
    return TableError(
        f"column {name!r} cannot be read as {kind.value}: about {round(rows * (1 - share))} "
        f"of {rows} cells do not fit; correct them, declare them missing, or change the kind"
    )


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dictionaries and the several string types as plain strings."""
    stored = values.type
    if pa.types.is_dictionary(stored):
        target = stored.value_type if _numeric(stored.value_type) else pa.string()
        chunks = [pc.cast(c.dictionary, target).take(c.indices) for c in values.chunks]
        return pa.chunked_array(chunks, type=target)
    if pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return pc.cast(values, pa.string())
    return values


def _coarse(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Nanoseconds as microseconds where nothing is lost: a float holds 285 years of those."""
    if not (pa.types.is_timestamp(values.type) and values.type.unit == "ns"):
        return values
    try:
        return pc.cast(values, pa.timestamp("us", values.type.tz))
    except pa.ArrowInvalid:
        return values


def _typed_as(field: pa.Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column as its type meant it: a dictionary of text stays one for kind detection."""
    if pa.types.is_dictionary(field.type):
        empty = pa.array([], pa.string())
        kind = pa.dictionary(pa.int32(), pa.string(), ordered=field.type.ordered)
        return pa.chunked_array([empty.cast(kind)])
    return values


def _declared_levels(values: pa.ChunkedArray) -> tuple[str, ...] | None:
    stored = values.type
    if not (pa.types.is_dictionary(stored) and stored.ordered) or values.num_chunks == 0:
        return None
    dictionary = values.unify_dictionaries().chunk(0).dictionary
    return tuple(_as_text(pa.chunked_array([dictionary])).to_pylist())


def _finite(name: str, values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
    if not pa.types.is_floating(values.type):
        return values, ()
    finite = pc.is_finite(values)
    odd = pc.sum(pc.invert(finite)).as_py() or 0
    if not odd:
        return values, ()
    infinite = pc.sum(pc.is_inf(values)).as_py() or 0
    values = pc.if_else(finite, values, pa.scalar(None, values.type))
    if not infinite:  # NaN is how pandas writes missing
        return values, ()
    return values, (f"column {name!r}: {infinite} infinite values became missing",)


def _as_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cells as text; whole floats without a decimal mark, as codes are meant."""
    if pa.types.is_floating(values.type) and _decimals(values) == 0:
        values = pc.cast(values, pa.int64())
    if pa.types.is_null(values.type):
        return pc.cast(values, pa.string())
    return pc.cast(values, pa.string())


def _decimals(values: pa.ChunkedArray) -> int | None:
    """Fewest digits that give all values again."""
    if pa.types.is_integer(values.type):
        return 0
    if pa.types.is_decimal(values.type):
        return max(int(values.type.scale), 0)
    present = pc.drop_null(values).to_numpy().astype(float)
    for digits in range(MOST_DECIMALS + 1):
        if (abs(present) < 2.0**53 / 10.0**digits).all() and (
            present.round(digits) == present
        ).all():
            return digits
    return None


def _numeric(stored: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(stored) or types.is_floating(stored) or types.is_decimal(stored))
