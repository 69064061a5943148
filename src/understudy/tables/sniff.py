"""How a CSV file is written: encoding, line ends, delimiter, preamble and quoting."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

from understudy.errors import TableError

SAMPLE = 256 * 1024
_DELIMITERS = ",;\t|^~"
_RARE = " :"
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CP1252_HOLES = b"\x81\x8d\x8f\x90\x9d"


@dataclass(frozen=True)
class Text:
    """A file's content as UTF-8 without a byte-order mark, and how it was encoded."""

    data: bytes
    encoding: str
    bom: bool


@dataclass(frozen=True)
class Quotes:
    """Whether everything, the column names, and each column's cells were quoted."""

    everything: bool
    header: bool
    columns: tuple[bool, ...]


@dataclass(frozen=True)
class Dialect:
    """How the lines of a CSV file are to be read.

    Attributes:
        delimiter: the field separator.
        newline: the line end.
        header: the column names as written.
        skipped: records before the header.
        start: where the first row begins, in bytes.
        quotes: what was quoted without need.
        notes: what was odd.
    """

    delimiter: str
    newline: str
    header: tuple[str, ...]
    skipped: int
    start: int
    quotes: Quotes
    notes: tuple[str, ...]


def decode(raw: bytes) -> Text:
    """Find the encoding of a text file.

    Example:
        >>> decode("âge".encode("cp1252")).encoding
        'latin-1'
    """
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            return Text(_recode(raw[len(bom) :], encoding), encoding, True)
    _no_nul(raw)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        encoding = _eight_bit(raw)
        return Text(_recode(raw, encoding), encoding, False)
    return Text(raw, "utf-8", False)


def sniff(data: bytes) -> Dialect:
    r"""Find delimiter, header and quoting from the first part of a file.

    Example:
        >>> sniff(b"a;b\n1;2,5\n").delimiter
        ';'
    """
    if not data[:SAMPLE].strip() and not data.strip():
        raise TableError("the file is empty: it needs a line of column names and rows below it")
    newline, notes = _newline(data)
    sample = _sample(data)
    delimiter = _delimiter(sample)
    records = _records(sample, delimiter)
    if not records:
        raise TableError("the file has no line of column names")
    skipped = _preamble([row for row, _, _ in records])
    header, begin, start = records[skipped]
    if skipped:
        notes.append(f"{skipped} preamble line{'s' * (skipped > 1)} before the header skipped")
    if len(header) > 1 and all(_NUMBER.fullmatch(name) for name in header):
        notes.append("the first line holds only numbers: if the file has no header, add one")
    quotes = _quotes(sample[begin:start], sample[start:], delimiter, len(header))
    return Dialect(
        delimiter,
        newline,
        tuple(header),
        skipped,
        len(sample[:start].encode()),
        quotes,
        tuple(notes),
    )


def _no_nul(raw: bytes) -> None:
    place = raw.find(b"\0")
    if place >= 0:
        line = len(re.findall(rb"\r\n|\r|\n", raw[:place])) + 1
        raise TableError(
            f"line {line}: a NUL byte, which no text file has; "
            "save the file as UTF-8 CSV without NUL bytes"
        )


def _recode(raw: bytes, encoding: str) -> bytes:
    try:
        data = raw.decode(encoding).encode("utf-8")
    except UnicodeError:
        raise TableError(f"the file begins like {encoding} but is not: save it as UTF-8") from None
    _no_nul(data)
    return data


def _eight_bit(raw: bytes) -> str:
    high = set(raw) & set(range(0x80, 0xA0))
    # Only cp1252 has printable characters at 0x80 to 0x9f; elsewhere the two agree.
    return "cp1252" if high and not high & set(_CP1252_HOLES) else "latin-1"


def _newline(data: bytes) -> tuple[str, list[str]]:
    counts = _line_ends(data)
    if sum(map(bool, counts.values())) > 1 and b'"' in data:
        counts = _line_ends(re.sub(rb'"[^"]*"', b"", data))  # line ends inside cells are data
    newline = max(counts, key=lambda end: counts[end])
    if sum(map(bool, counts.values())) > 1:
        return newline, ["the file mixes different line ends; the most frequent one is written"]
    return newline if counts[newline] else "\n", []


def _line_ends(data: bytes) -> dict[str, int]:
    both = data.count(b"\r\n")
    return {"\n": data.count(b"\n") - both, "\r\n": both, "\r": data.count(b"\r") - both}


def _sample(data: bytes) -> str:
    """The first part of the file, cut at a line end where it has one."""
    part = data[:SAMPLE]
    if len(data) > SAMPLE:
        cut = max(part.rfind(b"\n"), part.rfind(b"\r")) + 1
        ends = part.count(b"\n") + part.count(b"\r")
        part = part[:cut] if ends > 1 else data  # else one very long line
    return part.decode("utf-8", errors="replace")


def _rows(sample: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        return [row for row in reader if any(cell.strip() for cell in row) or len(row) > 1]
    except csv.Error:
        return []


def _delimiter(sample: str) -> str:
    """The delimiter by which most lines have the same number of cells."""
    lines = sample[: SAMPLE // 4]
    best, best_score = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        if delimiter not in lines:
            continue
        widths = Counter(len(row) for row in _rows(lines, delimiter))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        score = (count / max(sum(widths.values()), 1), width)
        if width > 1 and score[0] >= 0.5 and score > best_score:
            best, best_score = delimiter, score
    return best if best_score[1] else _rare_delimiter(lines) or best


def _rare_delimiter(lines: str) -> str | None:
    """A space or a colon, which cells often hold: only if every line has as many of them."""
    for delimiter in _RARE:
        widths = {len(row) for row in _rows(lines, delimiter)}
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    return None


def _records(sample: str, delimiter: str) -> list[tuple[list[str], int, int]]:
    """The first records: cells, where the record begins, where the next one does."""
    records: list[tuple[list[str], int, int]] = []
    place = 0
    cell = re.compile(
        rf'(?:"((?:[^"]|"")*)"|([^{re.escape(delimiter)}\r\n]*))({re.escape(delimiter)}|\r\n|\r|\n|$)'
    )
    row: list[str] = []
    start = 0
    while place < len(sample) and len(records) < 100:
        found = cell.match(sample, place)
        if found is None:  # text after a closing quote: read to the next mark
            found = re.compile(rf"()([^{re.escape(delimiter)}\r\n]*)([^a]|$)").match(sample, place)
            assert found is not None
        quoted, plain, end = found.groups()
        row.append(plain if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if end != delimiter:
            if len(row) > 1 or row[0].strip():
                records.append((row, start, place))
            row, start = [], place
    if row:
        records.append((row, start, place))
    return records


def _preamble(rows: list[list[str]]) -> int:
    """Number of records before the header: those with at most half of the usual cells."""
    width, _ = Counter(len(row) for row in rows).most_common(1)[0]
    for number, row in enumerate(rows):
        if sum(bool(cell.strip()) for cell in row) > max(1, width // 2) or len(row) == width:
            return number
    return 0


def _quotes(header: str, sample: str, delimiter: str, width: int) -> Quotes:
    """Which cells of the first rows were quoted without need."""
    if '"' not in header + sample:
        return Quotes(False, False, (False,) * width)
    names = [text for text, _ in _cells(header, delimiter)]
    seen: list[list[str]] = [[] for _ in range(width)]
    column = 0
    for text, end in _cells(sample[:65536], delimiter):
        if column < width:
            seen[column].append(text)
        column = column + 1 if end == delimiter else 0
    columns = tuple(_is_quoted([text for text in texts if text], delimiter) for texts in seen)
    in_header = _is_quoted(names, delimiter)
    no_bare = all(all(texts) for texts in seen)
    return Quotes(in_header and all(columns) and no_bare, in_header, columns)


def _cells(text: str, delimiter: str) -> list[tuple[str, str]]:
    """Cells as written, quotation marks included, each with the mark that ends it."""
    mark = re.escape(delimiter)
    return re.findall(rf'("(?:[^"]|"")*"|(?!")[^{mark}\r\n]*)({mark}|\r\n|\r|\n)', text)


def _is_quoted(texts: list[str], delimiter: str) -> bool:
    """All are quoted, and at least one of them had no need to be."""
    quoted = [len(text) > 1 and text.startswith('"') for text in texts]
    marks = (delimiter, '"', "\r", "\n")
    return all(quoted) and any(not any(mark in text[1:-1] for mark in marks) for text in texts)
