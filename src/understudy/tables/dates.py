"""Dates and times as text: finding the one format that explains every cell, and writing it back.

A format is accepted only if formatting the parsed values gives the very same text again, so that
the 31st of February, or a day without its leading zero, never passes as something it is not.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from understudy.tables.schema import Column

_DATES = (
    "%Y-%m-%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d.%m.%y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d%b%Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%Y-%m",
    "%m/%Y",
    "%-d/%-m/%Y",
    "%-m/%-d/%Y",
    "%-d.%-m.%Y",
    "%-m/%-d/%y",
    "%-d/%-m/%y",
    "%B %d, %Y",
    "%b %-d, %Y",
    "%B %-d, %Y",
    "%-d %b %Y",
    "%-d %B %Y",
    "%-d-%b-%Y",
)
_COMPACT = "%Y%m%d"
_YEARS = (1800, 2200)
_FEWEST_COMPACT = 3
_PATTERNS = {
    "%Y": r"\d{4}",
    "%y": r"\d\d",
    "%m": r"\d\d",
    "%d": r"\d\d",
    "%-m": r"\d\d?",
    "%-d": r"\d\d?",
    "%b": r"[A-Za-z]{3}",
    "%B": r"[A-Za-z]{3,9}",
}
_TOKEN = re.compile(r"%-?[a-zA-Z]")
_TIME = re.compile(
    r"^(?P<date>.*?)(?P<sep>[T ]?)(?P<hour>\d\d?):\d\d(?P<seconds>:\d\d(?P<fraction>\.\d{1,9})?)?"
    r"(?P<half> ?[AP]M)?(?P<zone> ?(?:Z|UTC|[+-]\d\d:?\d\d))?$"
)
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}


def find_dates(values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, list[str]] | None:
    """Parse a text column as dates or times, with every format that explains all its cells.

    Returns:
        The parsed column and the formats, the chosen one first; None if no format fits.

    Example:
        >>> import pyarrow as pa
        >>> found = find_dates(pa.chunked_array([["31/12/1999", "01/02/2000"]]))
        >>> found[1], found[0].type
        (['%d/%m/%Y'], DataType(date32[day]))
    """
    first = first_present(values)
    formats = [] if first is None else candidates(first)
    if not formats:
        return None
    coded = _coded(values)
    tried = {form: parse_dates(coded.dictionary, form) for form in formats}
    fitting = {form: parsed for form, parsed in tried.items() if parsed is not None}
    if not fitting:
        return _several_zones(values)
    chosen = next(iter(fitting.values()))
    # Without a zero in front, where no cell needs one, is no other reading.
    differ = [f for f in fitting if "%-" not in f or f.replace("%-", "%") not in fitting]
    return pa.chunked_array([chosen.take(coded.indices)]), differ


def is_compact(values: pa.ChunkedArray) -> bool:
    """Tell whether eight-digit numbers are dates: all on the calendar between 1800 and 2200.

    Of all eight-digit numbers 1 in 600 is such a date, so three different ones by chance happen
    once in 200 million columns.
    """
    first = first_present(values)
    if first is None or len(first) != 8 or not first.isdigit():
        return False
    low, high = _YEARS
    if not low <= int(first[:4]) <= high:
        return False
    distinct = pc.unique(pc.drop_null(values))
    parsed = parse_dates(distinct, _COMPACT) if len(distinct) >= _FEWEST_COMPACT else None
    if parsed is None:
        return False
    years = pc.min_max(pc.year(parsed))
    return bool(low <= years["min"].as_py() and years["max"].as_py() <= high)


def candidates(first: str) -> list[str]:
    """Formats that the look of one cell allows."""
    if not 4 <= len(first) <= 40 or not any(c.isdigit() for c in first):
        return []
    found = _TIME.match(first)
    if found is None:
        return [f for f in (*_DATES, _COMPACT) if _pattern(f).fullmatch(first)]
    clock = "%H:%M" + ("" if found["seconds"] is None else ":%S")
    if found["fraction"]:
        clock += "%" + str(len(found["fraction"]) - 1) + "f"
    if found["half"]:
        clock = clock.replace("%H", "%I") + found["half"][:-2] + "%p"
    # An hour of two digits may be written without its zero elsewhere: 9:05 and 10:05.
    clocks = [clock, clock.replace("%H", "%-H").replace("%I", "%-I")]
    tails = [found["sep"] + c + (found["zone"] or "") for c in clocks[len(found["hour"]) == 1 :]]
    if not found["date"]:
        return tails if not found["sep"] and not found["zone"] else []
    dates = [f for f in _DATES if _pattern(f).fullmatch(found["date"])]
    return [f + tail for tail in tails for f in dates]


def parse_dates(values: pa.Array, form: str) -> pa.Array | None:
    """Parse texts in one format, or None if a cell would not come back as it was."""
    plain, digits = _without_fraction(form)
    if digits:
        parsed = _parse_fraction(values, plain, digits)
    else:
        parsed = pc.strptime(values, format=plain.replace("%-", "%"), unit="s", error_is_null=True)
    if parsed is None or parsed.null_count > values.null_count:
        return None
    parsed = parsed.cast(_storage(form, digits))
    same = pc.all(pc.equal(format_dates(parsed, form), values), skip_nulls=True).as_py()
    return parsed if same is not False else None


def format_dates(values: pa.Array | pa.ChunkedArray, form: str) -> pa.Array | pa.ChunkedArray:
    """Dates or times as text.

    Example:
        >>> import datetime, pyarrow as pa
        >>> format_dates(pa.array([datetime.date(2020, 2, 1)]), "%-d/%-m/%Y").to_pylist()
        ['1/2/2020']
    """
    form, _ = _without_fraction(form)  # %S writes the fraction that the unit has
    if "%-" not in form:
        return pc.strftime(values, format=form)
    pieces = []
    for token in re.findall(r"%-[a-zA-Z]|(?:(?!%-).)+", form):
        text = pc.strftime(values, format=token.replace("%-", "%"))
        if token.startswith("%-"):
            text = pc.replace_substring_regex(text, pattern="^0(.)", replacement=r"\1")
        pieces.append(text)
    return pc.binary_join_element_wise(*pieces, "")


def default_format(stored: pa.DataType) -> str:
    """The ISO format of an Arrow type, for columns that never were text."""
    if pa.types.is_date(stored):
        return "%Y-%m-%d"
    if pa.types.is_time(stored):
        return "%H:%M:%S"
    zone = "%z" if getattr(stored, "tz", None) else ""
    return "%Y-%m-%dT%H:%M:%S" + zone


def share_of_dates(values: pa.ChunkedArray, rows: int = 1000, *, same: bool = True) -> float:
    """Share of the first cells that look like dates: all in the ``same`` format, or in any."""
    cells = Counter(pc.drop_null(values).slice(0, rows).to_pylist())
    found = [(candidates(cell), count) for cell, count in cells.items()]
    if not same:
        return sum(count for forms, count in found if forms) / max(cells.total(), 1)
    counts: Counter[str] = Counter()
    for forms, count in found:
        counts.update(dict.fromkeys(forms, count))
    return max(counts.values(), default=0) / max(cells.total(), 1)


def read_as(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray | None:
    """Parse a text column in the format that the plan declares."""
    coded = _coded(values)
    parsed = parse_dates(coded.dictionary, column.format or "%Y-%m-%d")
    return None if parsed is None else pa.chunked_array([parsed.take(coded.indices)])


def first_present(values: pa.ChunkedArray) -> str | None:
    """The first cell that is not missing."""
    for chunk in values.chunks:
        index = pc.index(pc.is_valid(chunk), True).as_py()
        if index >= 0:
            text = chunk[index].as_py()
            return str(text)
    return None


def _coded(values: pa.ChunkedArray) -> pa.DictionaryArray:
    coded = values.dictionary_encode().unify_dictionaries().combine_chunks()
    return coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded


@cache
def _pattern(form: str) -> re.Pattern[str]:
    parts = _TOKEN.split(form)
    tokens = [_PATTERNS[token] for token in _TOKEN.findall(form)] + [""]
    return re.compile("".join(re.escape(p) + t for p, t in zip(parts, tokens, strict=True)))


def _several_zones(values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, list[str]] | None:
    """Instants whose offsets differ, as under summer time: one format only in UTC."""
    pattern = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:?\d\d)$"
    if pc.all(pc.match_substring_regex(values, pattern)).as_py() is False:
        return None
    try:
        return pc.cast(values, pa.timestamp("s", "UTC")), ["%Y-%m-%dT%H:%M:%SZ"]
    except pa.ArrowInvalid:
        return None


def _without_fraction(form: str) -> tuple[str, int]:
    found = re.search(r"%(\d)f", form)
    return (form, 0) if found is None else (form.replace(found[0], ""), int(found[1]))


def _parse_fraction(values: pa.Array, plain: str, digits: int) -> pa.Array | None:
    """Seconds with a fraction: only after an ISO date, the one form that Arrow reads."""
    if digits not in _UNITS or not plain.startswith("%Y-%m-%d") or "%-" in plain:
        return None
    zone = plain[plain.index("%S") + 2 :]
    bare = pc.utf8_slice_codeunits(values, 0, -len(zone)) if zone else values
    try:
        return pc.cast(bare, pa.timestamp(_UNITS[digits]))
    except pa.ArrowInvalid:
        return None


def _storage(form: str, digits: int) -> pa.DataType:
    has_clock = any(hour in form for hour in ("%H", "%-H", "%I", "%-I"))
    if not has_clock:
        return pa.date32()
    if "%Y" not in form and "%y" not in form:
        return pa.time32("s")
    return pa.timestamp(_UNITS[digits])
