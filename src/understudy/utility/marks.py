"""Marks of points on a map: everybody, and the people with one level of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import Evidence
from understudy.tables.encode import Block, ColumnEncoding
from understudy.tables.schema import Role
from understudy.utility.places import LEAST, Places

FEW, SHOWN = 6, 12  # levels that make a column a mark by itself; levels of a mark looked at


@dataclass(frozen=True)
class Mark:
    """Whom a pattern is about: everybody, or those with one level of a column.

    Attributes:
        column: the column, or None for all points.
        code: the level's code.
        label: the level in words, for the private report; findings give its number only.
    """

    column: str | None = None
    code: int = -1
    label: str = ""

    @property
    def name(self) -> str | None:
        """The finding's target: no cell of the table is in it.

        Example:
            >>> Mark("outcome", 1, "deceased").name
            'outcome: level 2'
        """
        return None if self.column is None else f"{self.column}: level {self.code + 1}"

    def rows(self, block: Block) -> NDArray[np.bool_]:
        """Rows that it is about."""
        if self.column is None:
            return np.ones(block.rows, dtype=np.bool_)
        return np.asarray(block.codes[self.column] == self.code)


def marks_of(evidence: Evidence, places: Places, wanted: str | Sequence[str]) -> tuple[Mark, ...]:
    """Everybody, and the levels of some columns that at least ten people with a place have.

    At most the twelve most frequent levels of a column.

    Args:
        evidence: the tables.
        places: the map.
        wanted: names of columns; ``auto``: sensitive ones and those with at most six levels.
    """
    train = evidence.train
    _, there = places.points(train)
    found = [Mark()]
    for name in _columns(evidence, places, wanted):
        encoding = train.encoding[name]
        counts = np.bincount(train.codes[name][there], minlength=encoding.width)[: encoding.size]
        often = np.argsort(-counts, kind="stable")[:SHOWN]
        shown = sorted(int(code) for code in often if counts[code] >= LEAST)
        found += [Mark(name, code, _label(encoding, code)) for code in shown]
    return tuple(found)


def has_levels(encoding: ColumnEncoding) -> bool:
    """Whether people share a column's values: levels, or numbers that are all atoms."""
    cells = encoding.cells
    return cells is None or bool((cells.low == cells.high).all())


def _columns(evidence: Evidence, places: Places, wanted: str | Sequence[str]) -> list[str]:
    encoding = evidence.encoding
    if not isinstance(wanted, str):
        return [n for n in wanted if n in encoding.names and has_levels(encoding[n])]
    free = [name for name in evidence.drawn if name not in places.columns]
    return [name for name in free if has_levels(encoding[name]) and _is_mark(encoding[name])]


def _is_mark(encoding: ColumnEncoding) -> bool:
    return encoding.size > 1 and (encoding.size <= FEW or encoding.column.role is Role.SENSITIVE)


def _label(encoding: ColumnEncoding, code: int) -> str:
    if encoding.cells is None or encoding.numeric is None:
        return encoding.levels[code]
    value = encoding.cells.low[encoding.cells.first[code]]
    return str(encoding.numeric.from_float(np.array([value]))[0].as_py())
