"""What somebody's unknown values could be: the candidates among which a posterior is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.tables.encode import Block

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
KINDS = ("auto", "product", "observed", "neighbours")


@dataclass(frozen=True, eq=False)
class Group:
    """Records that have the same candidates.

    Attributes:
        records: their rows of train.
        sets: the candidates: one set of whole combinations; or, for neighbours, one for each
            column, in which a record changes that column alone.
        own: for each set, which candidate is each record's own.
        count: for each set, how many rows of the group have each candidate's values (for a
            single column: beside whatever they have in the others).
    """

    records: Ints
    sets: tuple[Block, ...]
    own: tuple[Ints, ...]
    count: tuple[Ints, ...]

    def take(self, part: Ints) -> Group:
        """Some of the records."""
        return Group(
            self.records[part], self.sets, tuple(own[part] for own in self.own), self.count
        )


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of all records.

    Attributes:
        kind: ``product``, ``observed`` or ``neighbours``.
        groups: records by what they could be.
    """

    kind: str
    groups: tuple[Group, ...]

    @property
    def most(self) -> int:
        """The largest number of candidates of a record."""
        return max(sum(part.rows for part in group.sets) for group in self.groups)


def find(
    train: Block,
    columns: Sequence[str],
    *,
    kind: str = "auto",
    most: int = 1000,
    within: str | None = None,
    where: str = "measure.posterior",
) -> Candidates:
    """Candidates for some columns jointly.

    The whole product of the columns' codes where that has at most ``most`` combinations; else
    those that occur in train; else all that differ from the record in one column. A number's codes
    are its cells; each stands for the smaller median of train's values in it. With ``within``, only
    codes (and combinations) of rows with the record's own level of that column.

    Raises:
        PlanError: a chosen kind leads to more than ``most`` candidates.
    """
    parts = _parts(train, within)
    sizes = {name: _largest(train, parts, columns, name) for name in KINDS[1:]}
    if kind == "auto":
        kind = next((name for name in KINDS[1:3] if sizes[name] <= most), "neighbours")
    if sizes[kind] > most:
        others = [f'"{name}" ({sizes[name]:,})' for name in KINDS[1:] if sizes[name] <= most]
        way = f"candidates = {' or '.join(others)}, " if others else ""
        raise PlanError(
            f"{where}.candidates",
            kind,
            f"at most {most:,} candidates (max_candidates), and the sensitive columns have "
            f"{sizes[kind]:,}: {way}declare fewer columns sensitive, merge levels, or raise "
            "max_candidates",
        )
    return Candidates(kind, tuple(_group(train, part, columns, kind, within) for part in parts))


def _parts(train: Block, within: str | None) -> list[Ints]:
    if within is None:
        return [np.arange(train.rows)]
    codes = train.codes[within]
    return [np.flatnonzero(codes == code) for code in np.unique(codes)]


def _support(train: Block, rows: Ints, name: str, *, whole: bool) -> NDArray[np.int32]:
    """Codes that a column could have: all of the encoding's, or those of some rows."""
    encoding = train.encoding[name]
    present = np.unique(train.codes[name][rows])
    if not whole:
        return present
    missing = bool((present == encoding.missing).any())
    return np.arange(encoding.size + missing, dtype=np.int32)


def _largest(train: Block, parts: list[Ints], columns: Sequence[str], kind: str) -> int:
    whole = len(parts) == 1
    if kind == "observed":
        keys = [np.stack([train.codes[name][part] for name in columns]) for part in parts]
        return max(len(np.unique(key, axis=1).T) for key in keys)
    counts = [[len(_support(train, part, name, whole=whole)) for name in columns] for part in parts]
    return max(prod(count) if kind == "product" else sum(count) for count in counts)


def _group(
    train: Block, rows: Ints, columns: Sequence[str], kind: str, within: str | None
) -> Group:
    sets, own, count = [], [], []
    for names in [[name] for name in columns] if kind == "neighbours" else [list(columns)]:
        codes = np.stack([train.codes[name][rows] for name in names])
        if kind == "observed":
            table = np.unique(codes, axis=1)
        else:
            support = [_support(train, rows, name, whole=within is None) for name in names]
            table = np.stack([part.ravel() for part in np.meshgrid(*support, indexing="ij")])
        widths = [train.encoding[name].width for name in names]
        theirs, mine = _key(table, widths), _key(codes, widths)
        order = np.argsort(theirs)
        place = order[np.searchsorted(theirs[order], mine)]
        sets.append(_block(train, names, table))
        own.append(place)
        count.append(np.bincount(place, minlength=table.shape[1]))
    return Group(rows, tuple(sets), tuple(own), tuple(count))


def _key(codes: NDArray[np.int32], widths: Sequence[int]) -> Ints:
    key = np.zeros(codes.shape[1], dtype=np.int64)
    for row, width in zip(codes, widths, strict=True):
        key = key * width + row
    return key


def _block(train: Block, names: Sequence[str], table: NDArray[np.int32]) -> Block:
    codes = {name: row.astype(np.int32) for name, row in zip(names, table, strict=True)}
    values = {
        name: typical(train, name)[codes[name]] for name in names if train.encoding[name].is_numeric
    }
    return Block(train.encoding, table.shape[1], codes, values)


def typical(train: Block, name: str) -> Floats:
    """The smaller median of train's values in each cell of a number; NaN where missing."""
    encoding = train.encoding[name]
    order = np.lexsort((train.values[name], train.codes[name]))
    codes = train.codes[name][order]
    begin = np.searchsorted(codes, np.arange(encoding.width))
    end = np.searchsorted(codes, np.arange(encoding.width), side="right")
    result = np.full(encoding.width, np.nan)
    some = end > begin
    result[some] = train.values[name][order][(begin[some] + end[some] - 1) // 2]
    return result
