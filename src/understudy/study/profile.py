"""What each column looks like, original against synthetic, for the report: shares, never rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.tables.encode import Block, ColumnEncoding
from understudy.tables.schema import Kind
from understudy.utility.grouping import grouping

LEAST = 10  # a level or bin is shown when at least this many rows share it
_BINS = 24
_FEW_CELLS = 40  # so few distinct values need no bins of equal width
_LEVELS = 20


def profile(train: Block, holdout: Block | None, release: Sequence[Block]) -> list[dict[str, Any]]:
    """Shares of levels or bins of every column, in train, holdout and each replicate."""
    return [_one(name, train, holdout, release) for name in train.names]


def _one(
    name: str, train: Block, holdout: Block | None, release: Sequence[Block]
) -> dict[str, Any]:
    encoding = train.encoding[name]
    group, labels = (_bins if encoding.is_numeric else _levels)(train, name)
    width = len(labels)
    return {
        "name": name,
        "kind": encoding.column.kind.value,
        "role": encoding.column.role.value,
        "label": encoding.column.label,
        "shape": "bins" if encoding.is_numeric else "levels",
        "labels": labels,
        "ends": _ends(encoding, group),
        "original": _shares(group[train.codes[name]], width),
        "holdout": None if holdout is None else _shares(group[holdout.codes[name]], width),
        "synthetic": [_shares(group[block.codes[name]], width) for block in release],
        "missing": {
            "original": _missing(train, name),
            "synthetic": [_missing(block, name) for block in release],
        },
        "distinct": int(np.unique(train.codes[name]).size),
    }


def groups_of(train: Block, name: str, most: int) -> tuple[NDArray[np.int64], list[str]]:
    """Group of each code, and the groups' names: at most so many, each of ten people or more.

    Missing values are in no group (−1).
    """
    encoding = train.encoding[name]
    if not encoding.is_numeric:
        return _levels(train, name, most - 1)
    counts = np.bincount(train.codes[name], minlength=encoding.width)[: encoding.size]
    return _bins(train, name, grouping(encoding, counts, most)[: encoding.size])


def _levels(train: Block, name: str, most: int = _LEVELS) -> tuple[NDArray[np.int64], list[str]]:
    """The most frequent levels that enough rows share; all others pooled; missing left out."""
    encoding = train.encoding[name]
    counts = np.bincount(train.codes[name], minlength=encoding.width)[: encoding.size]
    shown = [code for code in np.argsort(-counts, kind="stable") if counts[code] >= LEAST]
    if not encoding.is_nominal:
        shown = sorted(shown)
    shown = _most_frequent(shown, counts, most)
    shown = _with_company(shown, counts)
    group = np.full(encoding.width, len(shown), dtype=np.int64)
    group[shown] = np.arange(len(shown))
    group[encoding.missing] = -1
    labels = [encoding.levels[code] for code in shown]
    pooled = encoding.size - len(shown)
    return group, [*labels, f"{pooled} rarer levels" if pooled else "levels not in the original"]


def _most_frequent(shown: list[np.intp], counts: NDArray[np.int64], most: int) -> list[np.intp]:
    """So many of them, in their order."""
    kept = set(sorted(shown, key=lambda code: -counts[code])[:most])
    return [code for code in shown if code in kept]


def _with_company(shown: list[np.intp], counts: NDArray[np.int64]) -> list[np.intp]:
    """Give up the rarest levels until those pooled are shared by enough rows, too."""
    shown = list(shown)
    while shown and 0 < counts.sum() - counts[shown].sum() < LEAST:
        shown.remove(min(shown, key=lambda code: counts[code]))
    return shown


def _bins(
    train: Block, name: str, want: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], list[str]]:
    """Neighbouring cells together: about equally wide, and at least ten rows of train in each."""
    encoding = train.encoding[name]
    counts = np.bincount(train.codes[name], minlength=encoding.width)[: encoding.size]
    want = _wanted(encoding, counts) if want is None else want
    group = np.zeros(encoding.width, dtype=np.int64)
    bin_, held = 0, 0
    for code, count in enumerate(counts):
        group[code] = bin_
        held += count
        last = code + 1 == len(counts) or want[code + 1] != want[code]
        if last and held >= LEAST and counts[code + 1 :].sum() >= LEAST:
            bin_, held = bin_ + 1, 0
    group[encoding.missing] = -1
    group[encoding.unseen] = bin_
    return group, _bin_labels(encoding, group[: encoding.size], counts)


def _wanted(encoding: ColumnEncoding, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bin of each cell if rows were plenty: its own, or one of equal widths between the tails."""
    if encoding.size <= _FEW_CELLS or encoding.cells is None:
        return np.arange(encoding.size)
    tops = np.asarray(encoding.cells.high[encoding.cells.first[1:] - 1], dtype=np.float64)
    share = np.cumsum(counts) / max(counts.sum(), 1)
    low, high = tops[np.searchsorted(share, 0.01)], tops[np.searchsorted(share, 0.99)]
    inner = np.linspace(low, high, _BINS - 1)
    return np.asarray(np.searchsorted(inner, tops, side="left"), dtype=np.int64)


def _ends(encoding: ColumnEncoding, group: NDArray[np.int64]) -> list[float] | None:
    """Where bins of a number lie on its axis; the two open ones get the width of a usual bin."""
    if (
        encoding.column.kind is not Kind.NUMBER
        or encoding.cells is None
        or encoding.numeric is None
    ):
        return None
    last = np.flatnonzero(np.diff(group[: encoding.size]))
    if len(last) < 2:
        return None
    inner = np.asarray(encoding.cells.upper[last], dtype=np.float64) + encoding.numeric.offset
    usual = float(np.median(np.diff(inner)))
    ends = [inner[0] - usual, *inner, inner[-1] + usual]
    return [float(f"{end:.9g}") for end in ends]


def _bin_labels(
    encoding: ColumnEncoding, group: NDArray[np.int64], counts: NDArray[np.int64]
) -> list[str]:
    cells, numeric = encoding.cells, encoding.numeric
    if cells is None or numeric is None or not len(group):
        return [] if not len(group) else ["all"]
    edges = numeric.from_float(_edges(encoding, group)).to_pylist()
    texts = [_text(edge, encoding) for edge in edges]
    bins = int(group.max()) + 1
    if bins == 1:
        return ["all"]
    first = [f"up to {texts[0]}"]
    middle = [_between(texts[i], texts[i + 1]) for i in range(bins - 2)]
    ranges = [*first, *middle, f"above {texts[-1]}"]
    return [
        ranges[i] if value is None else _text(value, encoding)
        for i, value in enumerate(_lone_values(encoding, group, counts))
    ]


def _lone_values(
    encoding: ColumnEncoding, group: NDArray[np.int64], counts: NDArray[np.int64]
) -> list[Any]:
    """The value of each bin that is one value which many rows share; None for the other bins."""
    cells, numeric = encoding.cells, encoding.numeric
    assert cells is not None and numeric is not None
    found: list[Any] = []
    for which in range(int(group.max()) + 1):
        inside = np.flatnonzero(group == which)
        piece = cells.first[inside[0]]
        alone = len(inside) == 1 and cells.first[inside[0] + 1] == piece + 1
        shared = alone and cells.low[piece] == cells.high[piece] and counts[inside[0]] >= LEAST
        found += numeric.from_float(cells.low[[piece]]).to_pylist() if shared else [None]
    return found


def _edges(encoding: ColumnEncoding, group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Where bins but the last end; the ends of a column are nobody's business.

    The largest value of a bin is somebody's value, so a plainer number just above it is shown.
    """
    cells, numeric = encoding.cells, encoding.numeric
    assert cells is not None and numeric is not None
    last = np.flatnonzero(np.diff(group))
    high = cells.high[cells.first[last + 1] - 1]
    above = cells.low[cells.first[last + 1]]
    if pa.types.is_floating(numeric.stored) or pa.types.is_decimal(numeric.stored):
        digits = getattr(numeric.stored, "scale", 15)
        pairs = zip(high, above, strict=True)
        return np.array([_plain_between(a, b, digits) for a, b in pairs], dtype=np.float64)
    step = _unit(numeric.stored, cells.step)
    # Not halfway: where values are evenly spaced, a value that train lacks lies there.
    between = high + step * np.floor(0.4 * (above - high) / step)
    return np.asarray(between, dtype=np.float64)


def _unit(stored: pa.DataType, step: float) -> float:
    """Smallest step between values that a reader would write: a day where all are midnights."""
    per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
    day = 86_400.0 * per_second[stored.unit] if pa.types.is_timestamp(stored) else 1.0
    return day if step % day == 0 else 1.0


def _plain_between(low: float, high: float, digits: int) -> float:
    """The number of fewest digits strictly between two; ``low`` where there is none.

    Example:
        >>> _plain_between(1082.23, 1097.4, 15), _plain_between(0.1, 0.2, 1)
        (1090.0, 0.1)
    """
    for place in range(-12, digits + 1):
        found = round((low + high) / 2, place)
        if low < found < high:
            return found
    return low


def _between(low: str, high: str) -> str:
    return f"{low} – {high}"


def _text(value: Any, encoding: ColumnEncoding) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return str(value)


def _shares(group: NDArray[np.int64], width: int) -> list[float]:
    present = group[group >= 0]
    counts = np.bincount(present, minlength=width)[:width]
    return [round(float(count) / max(present.size, 1), 6) for count in counts]


def _missing(block: Block, name: str) -> float:
    codes = block.codes[name]
    return round(float((codes == block.encoding[name].missing).mean()) if codes.size else 0.0, 6)
