"""Numbers as text: whether every cell of a column is one, how exactly, and how they look."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.tables.dates import first_present

MOST_DECIMALS = 15
_LIKE_NUMBER = re.compile(r"\s*[+-]?[.,]?\d.*|\s*[+-]?(inf|infinity|nan)\s*", re.I | re.S)
_NUMBER = r"^\s*-?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True, eq=False)
class Numbers:
    """A text column read as numbers.

    Attributes:
        values: whole numbers (64 bits, or a 38-digit decimal) or floats.
        decimals: most digits after the mark (None: exponents, or more than 15).
        fixed: all cells have exactly that many.
        point_zero: whole values among fractions look like ``3.0``.
        infinite: number of cells that are no finite number, now missing.
        trimmed: cells had spaces around them.
        mark: the decimal mark.
    """

    values: pa.ChunkedArray
    decimals: int | None = 0
    fixed: bool = False
    point_zero: bool | None = None
    infinite: int = 0
    trimmed: bool = False
    mark: str = "."


def find_numbers(values: pa.ChunkedArray, mark: str = ".") -> Numbers | None:
    """Read a text column as numbers, or None if one cell is not a number or would change.

    Codes keep their leading zeros and telephone numbers their plus sign: such columns are text.

    Example:
        >>> import pyarrow as pa
        >>> found = find_numbers(pa.chunked_array([["1.50", None, "2.25"]]))
        >>> found.decimals, found.fixed, found.values.to_pylist()
        (2, True, [1.5, None, 2.25])
        >>> find_numbers(pa.chunked_array([["007"]])) is None
        True
    """
    # A cast that fails costs ten times one that succeeds: look at one cell first.
    first = first_present(values)
    if first is None or not _LIKE_NUMBER.fullmatch(first):
        return None
    found = _find(values, mark)
    if found is None and _has_spaces(values):
        trimmed = pc.utf8_trim_whitespace(values)
        found = _find(trimmed, mark)
        return None if found is None else Numbers(**{**vars(found), "trimmed": True})
    return found


def share_of_numbers(values: pa.ChunkedArray, rows: int = 1000) -> float:
    """Share of the first cells that look like a number."""
    cells = pc.drop_null(values).slice(0, rows)
    if len(cells) == 0:
        return 0.0
    return float(pc.mean(pc.match_substring_regex(cells, _NUMBER)).as_py())


def marks_thousands(values: pa.ChunkedArray, found: Numbers) -> bool:
    """Tell whether the mark separates thousands: 999, 1,234 and 6,170 in one column.

    Whoever writes 6,170 for 6.17 writes 2 with three digits after the mark as well.
    """
    if found.decimals != 3 or found.fixed:
        return False
    marked = pc.match_substring(values, found.mark)
    groups = pc.match_substring_regex(values, r"^-?[1-9]\d{0,2}[.,]\d{3}$")
    small = pc.match_substring_regex(values, r"^-?\d{1,3}$")
    zero = _any(pc.and_(marked, pc.ends_with(values, "0")))
    return zero and _any(small) and _all(pc.if_else(marked, groups, small))


def _find(values: pa.ChunkedArray, mark: str) -> Numbers | None:
    whole = None if _any(pc.match_substring(values, mark)) else _whole(values)
    if whole is not None:
        changed = pc.filter(values, pc.not_equal(values, pc.cast(whole, pa.string())))
        # A cell that comes back otherwise is a code (0012, 0x1A), except minus zero.
        return Numbers(whole) if _all(pc.equal(changed, "-0")) else None
    return _fractions(values, mark)


def _whole(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    whole = _cast(values, pa.int64())
    if whole is not None or not _all(pc.match_substring_regex(values, r"^-?\d{1,38}$")):
        return whole
    whole = _cast(values, pa.uint64())
    return whole if whole is not None else _cast(values, pa.decimal128(38, 0))


def _fractions(values: pa.ChunkedArray, mark: str) -> Numbers | None:
    pointed = values
    if mark == ",":
        if _any(pc.match_substring(values, ".")):
            return None
        pointed = pc.replace_substring(values, pattern=",", replacement=".")
    floats = _cast(pointed, pa.float64())
    if floats is None or _is_code(pointed):
        return None
    finite = pc.is_finite(floats)
    infinite = len(values) - values.null_count - int(pc.sum(finite).as_py() or 0)
    if infinite:
        floats = pc.if_else(finite, floats, None)
        pointed = pc.if_else(finite, pointed, None)
        if floats.null_count == len(floats):
            return None
        narrower = find_numbers(pointed)
        if narrower is not None and narrower.decimals == 0:
            return Numbers(narrower.values, infinite=infinite)
    decimals, fixed, point_zero = _look(pointed, floats)
    exact = None if decimals is None else _exact(pointed, floats, decimals)
    values = floats if exact is None else exact
    return Numbers(values, decimals, fixed, point_zero, infinite, mark=mark)


def _exact(texts: pa.ChunkedArray, floats: pa.ChunkedArray, decimals: int) -> Any:
    """The numbers as decimals, if some have more digits than a float gives back; else None."""
    most = pc.max(pc.abs(floats)).as_py()
    if most is None or most * 10.0**decimals < 2.0**53:
        return None
    kind = pa.decimal128(38, decimals)
    exact, given = _cast(texts, kind), _cast(format_numbers(floats, decimals, False), kind)
    return None if exact is None or given is None or exact.equals(given) else exact


def _is_code(values: pa.ChunkedArray) -> bool:
    """Leading zeros, a plus sign, or only whole numbers (which were too long to be exact)."""
    zeros = pc.filter(values, pc.or_(pc.starts_with(values, "0"), pc.starts_with(values, "-0")))
    if _any(pc.match_substring_regex(zeros, r"^-?0\d")) or _any(pc.starts_with(values, "+")):
        return True
    return _all(pc.match_substring_regex(values, r"^-?\d+$"))


def _look(values: pa.ChunkedArray, floats: pa.ChunkedArray) -> tuple[int | None, bool, bool | None]:
    """Digits after the mark, whether all have as many, and how whole values look."""
    mark = pc.find_substring(values, pattern=".")
    length = pc.cast(pc.binary_length(values), pa.int32())
    digits = pc.if_else(pc.equal(mark, -1), 0, pc.subtract(pc.subtract(length, mark), 1))
    both = pc.min_max(digits)
    low, high = both["min"].as_py(), both["max"].as_py()
    if low == high and not _any(_has_exponent(values)):
        return (high, True, None) if high <= MOST_DECIMALS else (None, False, None)
    exponent = _has_exponent(values)
    is_whole = pc.and_(pc.equal(floats, pc.floor(floats)), pc.invert(exponent))
    zero = _any(pc.and_(is_whole, pc.greater(digits, 0)))
    bare = _any(pc.and_(is_whole, pc.equal(digits, 0)))
    point_zero = None if zero == bare else zero
    if high > MOST_DECIMALS or _any(exponent):
        return None, False, point_zero
    return high, False, point_zero


def _has_exponent(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.or_(pc.match_substring(values, "e"), pc.match_substring(values, "E"))


def _has_spaces(values: pa.ChunkedArray) -> bool:
    return _any(pc.or_(pc.starts_with(values, " "), pc.ends_with(values, " ")))


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    try:
        return pc.cast(values, kind)
    except pa.ArrowInvalid:
        return None


def _any(mask: pa.ChunkedArray) -> bool:
    return bool(pc.any(mask).as_py())


def _all(mask: pa.ChunkedArray) -> bool:
    return pc.all(mask).as_py() is not False


def format_numbers(
    values: pa.ChunkedArray,
    decimals: int | None,
    fixed: bool,
    *,
    mark: str = ".",
    point_zero: bool = False,
) -> pa.ChunkedArray:
    """Numbers as text, in the look they were read with.

    Example:
        >>> import pyarrow as pa
        >>> format_numbers(pa.chunked_array([[1.5, 2.25]]), 2, True).to_pylist()
        ['1.50', '2.25']
    """
    if pa.types.is_decimal(values.type) and values.type.scale > 0:
        text = _decimal_text(pc.cast(values, pa.string()), fixed, point_zero)
        return text if mark == "." else pc.replace_substring(text, pattern=".", replacement=mark)
    if not pa.types.is_floating(values.type):
        return pc.cast(values, pa.string())
    if fixed and decimals is not None:
        text = _fixed(values, decimals)
    else:
        text = _shortest(values, decimals, point_zero)
    return text if mark == "." else pc.replace_substring(text, pattern=".", replacement=mark)


def _decimal_text(text: pa.ChunkedArray, fixed: bool, point_zero: bool) -> pa.ChunkedArray:
    """Exact decimals, which Arrow writes with all zeros at the end."""
    if fixed:
        return text
    bare = pc.replace_substring_regex(text, pattern=r"0+$", replacement="")
    return pc.replace_substring_regex(bare, pattern=r"\.$", replacement=".0" if point_zero else "")


def _fixed(values: pa.ChunkedArray, decimals: int) -> pa.ChunkedArray:
    # Arrow writes decimals of up to 6 digits without exponent; 1e12 leaves it 18 digits in all.
    most = pc.max(pc.abs(values)).as_py()
    if decimals <= 6 and (most is None or most < 1e12):
        return pc.cast(pc.cast(values, pa.decimal128(38, decimals), safe=False), pa.string())
    cells = [None if v is None else f"{v:.{decimals}f}" for v in values.to_pylist()]
    return pa.chunked_array([cells], type=pa.string())


def _shortest(values: pa.ChunkedArray, decimals: int | None, point_zero: bool) -> pa.ChunkedArray:
    values = pc.cast(values, pa.float64())
    numbers = values.to_numpy()
    if decimals is not None:
        with np.errstate(invalid="ignore", over="ignore"):
            exact = np.abs(numbers) * 10.0**decimals < 2.0**50  # the product rounds by 1/16
            numbers = np.where(exact, np.round(numbers, decimals), numbers)
    absent = pc.is_null(values).combine_chunks().to_numpy(zero_copy_only=False)
    text = pc.cast(pa.array(numbers, mask=absent), pa.string())
    size = np.abs(numbers)
    odd = ((size < 1e-4) & (size > 0)) | (size >= 1e10)  # where Arrow's exponents begin
    if odd.any():
        cells = [repr(float(v)) for v in numbers[odd]]
        text = pc.replace_with_mask(text, pa.array(odd & ~absent), pa.array(cells, pa.string()))
    if point_zero:
        whole = pa.array((numbers == np.floor(numbers)) & ~odd & ~absent)
        text = pc.if_else(whole, pc.binary_join_element_wise(text, "", ".0"), text)
    return pa.chunked_array([text])
