"""CSV into Arrow columns of text: nothing is guessed here, every cell stays as it was written."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.csv as pc_csv

from understudy.errors import TableError
from understudy.tables.schema import Layout
from understudy.tables.sniff import SAMPLE, Dialect, decode, sniff

_BLOCK = 16 * 1024 * 1024


def read_csv(raw: bytes) -> tuple[pa.Table, Layout, list[str]]:
    r"""Read a CSV file as text columns.

    Returns:
        The columns (null where a cell is empty), the look of the file, and notes.

    Example:
        >>> table, layout, _ = read_csv(b"a;b\n1;x\n2;\n")
        >>> layout.delimiter, table.to_pydict()
        (';', {'a': ['1', '2'], 'b': ['x', None]})
    """
    text = decode(raw)
    dialect = sniff(text.data)
    names, notes = _names(dialect.header)
    body = text.data[dialect.start :]
    if not body[:SAMPLE].strip(b"\r\n") and not body.strip(b"\r\n"):
        raise TableError("the file has a line of column names and no rows below it")
    table = _parse(body, names, dialect, text.data)
    notes = [*dialect.notes, *notes]
    if text.encoding in ("cp1252", "latin-1"):
        notes.append(f"read as {text.encoding} (the file is not UTF-8)")
    if len(names) > 1 and _has_blank_lines(text.data, dialect.newline):
        notes.append("blank lines skipped")
    quotes = dialect.quotes
    layout = Layout(
        delimiter=dialect.delimiter,
        encoding=text.encoding,
        bom=text.bom,
        newline=dialect.newline,
        final_newline=text.data.endswith((b"\n", b"\r")),
        quote_all=quotes.everything,
        quote_header=quotes.header,
        quoted=tuple(name for name, flag in zip(names, quotes.columns, strict=True) if flag),
    )
    return table, layout, notes


def _parse(body: bytes, names: list[str], dialect: Dialect, whole: bytes) -> pa.Table:
    if body.count(b'"') % 2:
        _find_open_quote(whole, dialect.delimiter)
    if len(names) == 1:  # there, an empty line is a missing cell
        body = body.rstrip(b"\r\n") + b"\n"
    for block in (_BLOCK, len(body) + 1):
        table = _try(body, names, dialect.delimiter, block)
        if table is not None:
            return table
        _find_ragged(whole, dialect, len(names))
    raise TableError(
        "the file cannot be read as CSV: a quotation mark may be missing; "
        "save it again with every text quoted"
    )


def _try(body: bytes, names: list[str], delimiter: str, block: int) -> pa.Table | None:
    try:
        return pc_csv.read_csv(
            pa.BufferReader(body),
            read_options=pc_csv.ReadOptions(column_names=names, block_size=block),
            parse_options=pc_csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=b'"' in body,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=pc_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:  # its message quotes the line: it must not travel on
        return None


def _find_open_quote(data: bytes, delimiter: str) -> None:
    """Raise if a quoted cell never ends: it would swallow all the lines below."""
    text = io.StringIO(data.decode("utf-8"), newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    line = 0
    try:
        for _ in reader:
            line = reader.line_num
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise TableError(
                f"line {line + 1}: a quotation mark opens a cell and none closes it; add it"
            ) from None


def _find_ragged(data: bytes, dialect: Dialect, width: int) -> None:
    """Raise for the first line whose number of cells differs from the header's."""
    text = io.StringIO(data.decode("utf-8"), newline="")
    reader = csv.reader(text, delimiter=dialect.delimiter)
    try:
        for number, row in enumerate(filter(None, reader)):
            if number > dialect.skipped and len(row) != width:
                raise TableError(
                    f"line {reader.line_num}: {len(row)} cells where the header has {width}; "
                    "correct the line, or quote cells that contain the delimiter"
                )
    except csv.Error:
        return


def _names(header: Sequence[str]) -> tuple[list[str], list[str]]:
    """Column names: blank ones numbered, repeated ones suffixed, with notes."""
    names: list[str] = []
    notes: list[str] = []
    taken = {cell.strip() for cell in header}
    for position, cell in enumerate(header, start=1):
        name = cell.strip()
        if not name:
            name = _free(f"column_{position}", taken | set(names))
            notes.append(f"column {position} has no name: called {name!r}")
        elif name in names:
            name = _free(f"{name}_{position}", taken | set(names))
            notes.append(f"column {position} repeats a name: called {name!r}")
        elif name != cell:
            notes.append(f"spaces around the name of column {position} removed")
        names.append(name)
    return names, notes


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _has_blank_lines(data: bytes, newline: str) -> bool:
    end = newline.encode()
    return b'"' not in data and end + end in data
