"""Writing a table in the dress of the file it stands in for."""

from __future__ import annotations

import base64
import codecs
import io
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather, parquet

from understudy.errors import TableError
from understudy.tables.dates import default_format, format_dates
from understudy.tables.numbers import format_numbers
from understudy.tables.schema import Column, Kind, Layout
from understudy.tables.table import Table

ARROW_SCHEMA = "ARROW:schema"
MARK = {"understudy": "synthetic"}
_PANDAS = ("index_columns", "column_indexes", "columns", "creator", "pandas_version")
_CHUNK = 200_000
_BOMS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}


def write(table: Table, path: str | Path, *, synthetic: bool = False) -> None:
    """Write a table in the format of its layout, in one step: whole, or not at all.

    Args:
        table: what to write.
        path: where; an existing file is replaced.
        synthetic: say so in the file's metadata, where the format has any.
    """
    target = Path(path)
    content = written_bytes(table, synthetic=synthetic)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise TableError(f"cannot write {str(target)!r}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def written_bytes(table: Table, *, synthetic: bool = False) -> bytes:
    r"""The bytes that `write` would write.

    Example:
        >>> from understudy.tables.schema import Schema
        >>> data = pa.table({"price": [1.5, None, 2.25]})
        >>> schema = Schema((Column("price", Kind.NUMBER, decimals=2, fixed=True),))
        >>> written_bytes(Table(data, schema))
        b'price\n1.50\n\n2.25\n'
    """
    if table.layout.format == "csv":
        return _csv(table)
    data = _typed(table, synthetic)
    sink = io.BytesIO()
    if table.layout.format == "parquet":
        parquet.write_table(data, sink)
    else:
        feather.write_feather(data, sink)
    return sink.getvalue()


def _csv(table: Table) -> bytes:
    layout = table.layout
    header = (
        layout.delimiter.join(_quoted_name(name, layout) for name in table.names) + layout.newline
    )
    pieces = [header.encode("utf-8")]
    for start in range(0, table.rows, _CHUNK):
        pieces.append(_lines(table, start))
    content = b"".join(pieces)
    if not layout.final_newline:
        content = content.removesuffix(layout.newline.encode())
    return _encoded(content, layout)


def _lines(table: Table, start: int) -> bytes:
    layout = table.layout
    cells = [_cells(table, column, start) for column in table.schema]
    cells[-1] = pc.binary_join_element_wise(
        cells[-1], layout.newline, "", null_handling="replace", null_replacement=""
    )
    lines = pc.binary_join_element_wise(
        *cells, layout.delimiter, null_handling="replace", null_replacement=""
    )
    # The text buffer of the joined lines is the file.
    return b"".join(_text_of(chunk) for chunk in _chunks(lines))


def _chunks(lines: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines]


def _text_of(lines: pa.Array) -> bytes:
    _, offsets, text = lines.buffers()
    if text is None or len(lines) == 0:
        return b""
    ends = memoryview(offsets).cast("i")
    first, last = ends[lines.offset], ends[lines.offset + len(lines)]
    return bytes(memoryview(text)[first:last])


def _cells(table: Table, column: Column, start: int) -> pa.ChunkedArray:
    layout = table.layout
    values = table.column(column.name).slice(start, _CHUNK)
    text = pc.cast(_as_text(values, column, layout), pa.string())
    return _quote(text, column.name, layout)


def _as_text(values: pa.ChunkedArray, column: Column, layout: Layout) -> pa.ChunkedArray:
    if column.kind is Kind.NUMBER:
        return format_numbers(
            values,
            column.decimals,
            column.fixed,
            mark=layout.decimal,
            point_zero=layout.point_zero,
        )
    if column.kind is Kind.DATETIME:
        return format_dates(values, column.format or default_format(values.type))
    return values


def _quote(text: pa.ChunkedArray, name: str, layout: Layout) -> pa.ChunkedArray:
    if layout.quote_all:
        text = pc.fill_null(text, "")
    special = (layout.delimiter, '"', "\n", "\r")
    unsafe = pc.equal(text, "")
    for mark in special:
        unsafe = pc.or_(unsafe, pc.match_substring(text, mark))
    if not (layout.quote_all or name in layout.quoted) and not pc.any(unsafe).as_py():
        return text
    doubled = pc.replace_substring(text, pattern='"', replacement='""')
    quoted = pc.binary_join_element_wise('"', doubled, '"', "")
    return quoted if layout.quote_all or name in layout.quoted else pc.if_else(unsafe, quoted, text)


def _quoted_name(name: str, layout: Layout) -> str:
    special = any(mark in name for mark in (layout.delimiter, '"', "\n", "\r"))
    if layout.quote_all or layout.quote_header or special:
        return '"' + name.replace('"', '""') + '"'
    return name


def _encoded(content: bytes, layout: Layout) -> bytes:
    bom = _BOMS.get(layout.encoding, b"") if layout.bom else b""
    if layout.encoding == "utf-8":
        return bom + content
    try:
        return bom + content.decode("utf-8").encode(layout.encoding)
    except UnicodeEncodeError:
        raise TableError(
            f"a text has characters that {layout.encoding} cannot write: use UTF-8"
        ) from None


def _typed(table: Table, synthetic: bool) -> pa.Table:
    """The columns in the types of the file they stand in for, its metadata, and the mark."""
    metadata = dict(table.layout.metadata)
    stored = metadata.pop(ARROW_SCHEMA, None)
    known = {} if stored is None else _fields(stored)
    fields, arrays = [], []
    for name in table.names:
        field = known.get(name, table.data.schema.field(name))
        array = _as_type(table.column(name), field.type)
        fields.append(field.with_type(array.type))
        arrays.append(array)
    if synthetic:
        fields = [_public_field(field) for field in fields]
    metadata = {**_public(metadata), **MARK} if synthetic else metadata
    return pa.table(arrays, schema=pa.schema(fields, metadata=metadata or None))


def _public_field(field: pa.Field) -> pa.Field:
    """A field with its label alone: what else a writer noted may be about the original's cells."""
    label = (field.metadata or {}).get(b"label")
    return field.with_metadata(None if label is None else {b"label": label})


def _public(metadata: Mapping[str, str]) -> dict[str, str]:
    """Of a file's metadata, only what pandas needs to restore types and the index.

    Other notes, such as a frame's ``attrs`` or the extent of a map, are about the original.
    """
    try:
        found = json.loads(metadata.get("pandas", "{}"))
        kept = {key: found[key] for key in _PANDAS if key in found}
    except (ValueError, TypeError):
        return {}
    return {"pandas": json.dumps(kept)} if kept else {}


def _fields(stored: str) -> dict[str, pa.Field]:
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored)))
    return {field.name: field for field in schema}


def _as_type(values: pa.ChunkedArray, stored: pa.DataType) -> pa.ChunkedArray:
    try:
        if pa.types.is_dictionary(stored):
            return _dictionary(values, stored)
        return pc.cast(values, stored)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return values  # a prepared column, such as ages in bands, keeps its own type


def _dictionary(values: pa.ChunkedArray, stored: pa.DataType) -> pa.ChunkedArray:
    inside = stored.value_type
    if pa.types.is_string_view(inside):  # what polars hands over and Parquet cannot hold
        inside = pa.string()
    coded = pc.dictionary_encode(pc.cast(values, inside)).unify_dictionaries()
    return coded.cast(pa.dictionary(stored.index_type, inside, stored.ordered))
