"""Fresh identifiers in the look of the original ones, none of which anybody has."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import TableError

_UUID = r"^[0-9A-Fa-f]{8}-?([0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12}$"
_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
_SHARED = 10  # a prefix is shown if all rows have it, and they are at least this many
_DIGITS = 18  # what fits 64 bits


def surrogates(values: pa.ChunkedArray | pa.Array, rows: int, rng: np.random.Generator) -> pa.Array:
    """Draw ``rows`` different identifiers, none equal to one of ``values``.

    UUIDs stay UUIDs; a prefix that all rows share and the number of digits stay; whole numbers stay
    whole numbers with as many digits, or more where there is no room. Cost: O(rows).

    Example:
        >>> ids = pa.array([f"P-{i:04d}" for i in range(20)])
        >>> fresh = surrogates(ids, 3, np.random.default_rng(1)).to_pylist()
        >>> all(name.startswith("P-") and len(name) == 6 for name in fresh)
        True
        >>> set(fresh) & set(ids.to_pylist())
        set()
    """
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _fresh(values, rows, _texts(values, rows, rng)).cast(kind)
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        whole = pc.cast(pc.cast(values, pa.string()), pa.string())
        return _numbers(
            _fresh(whole, rows, _Digits("", _width(values), rows, rng, zeros=False)), kind
        )
    raise TableError(f"identifiers stored as {kind} have no surrogates: drop the column instead")


def _fresh(values: pa.ChunkedArray | pa.Array, rows: int, draw: Callable[[], pa.Array]) -> pa.Array:
    """Draw until there are enough that differ from one another and from the original."""
    taken = pc.unique(values).cast(pa.string())
    found = pa.array([], type=pa.string())
    while len(found) < rows:
        new = draw()
        new = new.filter(pc.invert(pc.is_in(new, value_set=taken)))
        found = pa.concat_arrays([found, new]).unique()
    return found.slice(0, rows)


def _texts(
    values: pa.ChunkedArray | pa.Array, rows: int, rng: np.random.Generator
) -> Callable[[], pa.Array]:
    present = pc.drop_null(values)
    if len(present) and pc.all(pc.match_substring_regex(present, _UUID)).as_py():
        return _uuids(present[0].as_py(), rows, rng)
    found = _NUMBERED.fullmatch(present[0].as_py()) if len(present) >= _SHARED else None
    prefix = found.group(1) if found else ""
    pattern = f"^{re.escape(prefix)}[0-9]+$"
    if found is None or not pc.all(pc.match_substring_regex(present, pattern)).as_py():
        return _Digits("S", 1, rows, rng)
    width = pc.max(pc.utf8_length(present)).as_py() - len(prefix)
    # Numbers without leading zeros ("P7", "P12") are written without them again.
    zeros = width == pc.min(pc.utf8_length(present)).as_py() - len(prefix)
    return _Digits(prefix, width, rows, rng, zeros=zeros)


class _Digits:
    """Draw prefixed numbers; more digits each time nothing much was left."""

    def __init__(
        self, prefix: str, width: int, rows: int, rng: np.random.Generator, *, zeros: bool = True
    ) -> None:
        self.prefix, self.rows, self.rng, self.zeros = prefix, rows, rng, zeros
        room = len(str(4 * max(rows, 1)))  # at least a quarter of the numbers stays unused
        self.width = min(max(width, room), _DIGITS)

    def __call__(self) -> pa.Array:
        first = 0 if self.zeros else 10 ** (self.width - 1)
        numbers = self.rng.integers(first, 10**self.width, size=2 * self.rows)
        texts = pc.cast(pa.array(numbers), pa.string())
        if self.zeros:
            texts = pc.utf8_lpad(texts, self.width, "0")
        self.width = min(self.width + 1, _DIGITS)
        return pc.binary_join_element_wise(pa.scalar(self.prefix), texts, "")


def _uuids(sample: str, rows: int, rng: np.random.Generator) -> Callable[[], pa.Array]:
    """Random UUIDs (version 4), hyphenated and in capitals as the sample is."""
    hyphens, capitals = "-" in sample, sample != sample.lower()

    def one(raw: bytes) -> str:
        digits = raw.hex()
        digits = f"{digits[:12]}4{digits[13:16]}{'89ab'[raw[8] % 4]}{digits[17:]}"
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        text = ("-" if hyphens else "").join(parts)
        return text.upper() if capitals else text

    return lambda: pa.array([one(rng.bytes(16)) for _ in range(max(rows, 1))], type=pa.string())


def _width(values: pa.ChunkedArray | pa.Array) -> int:
    top = pc.max(values).as_py()
    return len(str(abs(int(top)))) if top is not None else 1


def _numbers(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    whole = pc.cast(texts, pa.int64())
    try:
        return whole.cast(kind)
    except pa.ArrowInvalid:  # the column's type has no room for more digits
        return whole
