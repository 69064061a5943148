"""People with several rows: what is the same in all of them, and rows that know the row before.

A table in which a person has many rows over time is taken apart into what belongs to the person
(columns that never change, the number of rows, the time of the first) and, row by row, what is new
given the row before: a Markov chain of order one (Diggle et al. 2002, ch. 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.tables.cells import find_cells
from understudy.tables.encode import Block, ColumnEncoding, Encoding, once_each
from understudy.tables.numeric import Numeric
from understudy.tables.schema import Column, Kind, Role

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Wide:
    """How a table of people with several rows is taken apart; found once, on train.

    Attributes:
        encoding: train's columns, and those that are made from them.
        own: train's columns, in order.
        constant: columns that are the same in all rows of every person of train.
        changing: the others, without the time.
        time: the column that orders a person's rows (None: the order of the file does).
        count: the made column that holds a person's number of rows.
        number: the made column that counts the rows of a person from 1.
        gap: the made column that holds the time since the row before.
        untimed: the made column that holds a person's number of rows without a time, which come
            last (None: train has no such rows).
        before: the made columns with the value of the row before, by column.
        rows_per_person: mean number of rows of a person of train.
    """

    encoding: Encoding
    own: tuple[str, ...]
    constant: tuple[str, ...]
    changing: tuple[str, ...]
    time: str | None
    count: str
    number: str
    gap: str
    untimed: str | None
    before: Mapping[str, str]
    rows_per_person: float

    @property
    def known(self) -> tuple[str, ...]:
        """What a row has before the columns that change are drawn: the constant ones, the time."""
        return self.constant if self.time is None else (*self.constant, self.time)

    def lay(self, block: Block) -> Laid:
        """Take a block apart. Cost: one sort of the rows."""
        spots = _spots(block)
        people = _rows_of(spots)
        every = np.repeat(np.arange(len(people)), people)
        whose = every[~spots.fresh]
        sizes = {self.count: people.astype(np.float64)}
        steady = all(_is_constant(block, name, spots) for name in self.constant)
        if self.time is not None:
            lost = np.isnan(block.values[self.time][spots.order]).astype(np.float64)
            steady &= self.untimed is not None or not lost.any()
            if self.untimed is not None:
                sizes[self.untimed] = _sums(every, lost)
        first = replace(block.take(spots.first), encoding=self.encoding, person=None)
        first = first.join(self.made(sizes))
        later = replace(block.take(spots.later), encoding=self.encoding, person=whose)
        made = {self.count: sizes[self.count][whose], self.number: spots.number}
        later = later.join(self.made(made)).join(self.lagged(block.take(spots.previous)))
        begun, timed = np.ones(first.rows, dtype=bool), np.ones(later.rows, dtype=bool)
        if self.time is not None:
            past = later.values[self.before[self.time]]
            later = later.join(self.made({self.gap: self._since(later.values[self.time], past)}))
            begun = ~np.isnan(first.values[self.time])
            timed = ~np.isnan(later.values[self.time]) & ~np.isnan(past)
        person = first.select([*self.constant, *sizes])
        return Laid(person, first, later, begun, timed, spots.first, spots.later, steady)

    def lagged(self, previous: Block) -> Block:
        """The rows before, under the names that say so."""
        codes = {new: previous.codes[name] for name, new in self.before.items()}
        values = {
            new: previous.values[name]
            for name, new in self.before.items()
            if name in previous.values
        }
        return Block(self.encoding, previous.rows, codes, values)

    def made(self, columns: Mapping[str, Floats]) -> Block:
        """A block of made columns from their values."""
        codes = {}
        for name, values in columns.items():
            cells = self.encoding[name].cells
            assert cells is not None
            codes[name] = cells.of(values)
        rows = len(next(iter(columns.values())))
        return self.encoding.block(codes, columns, rows)

    def at(self, values: Floats) -> Block:
        """Times, on the grid of the column."""
        assert self.time is not None
        cells = self.encoding[self.time].cells
        assert cells is not None
        values = cells.on_grid(values)
        codes = {self.time: cells.of(values)}
        return self.encoding.block(codes, {self.time: values}, len(values))

    def timed_rows(self, people: Block) -> Floats:
        """How many rows of each person have a time."""
        rows = people.values[self.count]
        return rows if self.untimed is None else rows - people.values[self.untimed]

    def _since(self, now: Floats, past: Floats) -> Floats:
        assert self.time is not None
        cells = self.encoding[self.time].cells
        assert cells is not None
        return cells.on_grid(now - past)


@dataclass(frozen=True, eq=False)
class Laid:
    """A block taken apart.

    Attributes:
        person: one row a person: what never changes, and the number of rows.
        first: first rows, with the number of rows.
        later: all other rows, each with what the row before had.
        begun: which first rows have a time.
        timed: which later rows have a time, and follow one that has.
        first_rows: where the first rows stood in the block.
        later_rows: where the later rows stood.
        steady: what is constant in train is constant here.
    """

    person: Block
    first: Block
    later: Block
    begun: NDArray[np.bool_]
    timed: NDArray[np.bool_]
    first_rows: Rows
    later_rows: Rows
    steady: bool


def find_wide(train: Block) -> Wide:
    """Find what is constant in every person of train, and encode what is made from its columns.

    Example:
        >>> from understudy.tables.outbreak import outbreak
        >>> from understudy.tables.read import read
        >>> from understudy.tables.encode import fit_encoding
        >>> table = read(outbreak()).select(["sex", "age"]).take(np.array([0, 1, 0, 2]))
        >>> block = replace(fit_encoding(table).encode(table), person=np.array([0, 1, 0, 2]))
        >>> wide = find_wide(block)
        >>> wide.constant, wide.changing, round(wide.rows_per_person, 2)
        (('sex', 'age'), (), 1.33)
    """
    block, spots = train, _spots(train)
    times = [n for n in block.encoding.schema.with_role(Role.TIME) if n in block.names]
    time = times[0] if times else None
    rest = [name for name in block.names if name != time]
    constant = tuple(name for name in rest if _is_constant(block, name, spots))
    changing = tuple(name for name in rest if name not in constant)
    lags = (*changing, *([time] if time else []))
    taken = set(block.names)
    count, number, gap = (_free(name, taken) for name in ("(rows)", "(row)", "(gap)"))
    before = {name: _free(f"(before) {name}", taken) for name in lags}
    columns = dict(block.encoding.columns)
    people = _rows_of(spots).astype(np.float64)
    columns[count] = _made(count, people, 1.0)
    columns[number] = _made(number, np.append(spots.number, 2.0), 1.0)
    if time is not None:
        columns[gap] = _gaps(gap, block, time, spots)
    untimed = None
    if time is not None and np.isnan(block.values[time]).any():
        untimed = _free("(rows without a time)", taken)
        whose = np.repeat(np.arange(len(people)), _rows_of(spots))
        lost = np.isnan(block.values[time][spots.order]).astype(np.float64)
        columns[untimed] = _made(untimed, _sums(whose, lost), 1.0)
    columns |= {new: block.encoding[name] for name, new in before.items()}
    encoding = Encoding(columns, block.encoding.layout)
    mean = block.rows / max(len(people), 1)
    made = (count, number, gap, untimed, before)
    return Wide(encoding, block.names, constant, changing, time, *made, mean)


@dataclass(frozen=True, eq=False)
class _Spots:
    """Where the rows of each person stand: ``order`` puts them together, first rows are fresh."""

    order: Rows
    fresh: NDArray[np.bool_]

    @property
    def first(self) -> Rows:
        return self.order[self.fresh]

    @property
    def later(self) -> Rows:
        return self.order[~self.fresh]

    @property
    def previous(self) -> Rows:
        """The row before each later row."""
        return self.order[np.flatnonzero(~self.fresh) - 1]

    @property
    def number(self) -> Floats:
        """The number of each later row in its person."""
        start = np.flatnonzero(self.fresh)
        place = np.arange(len(self.order)) - np.repeat(start, _rows_of(self))
        return (place[~self.fresh] + 1).astype(np.float64)


def _spots(block: Block) -> _Spots:
    assert block.person is not None
    order = np.argsort(block.person, kind="stable")
    fresh = np.diff(block.person[order], prepend=-1) != 0
    return _Spots(order, fresh)


def _rows_of(spots: _Spots) -> Rows:
    """Number of rows of each person."""
    return np.diff(np.flatnonzero(spots.fresh), append=len(spots.order))


def _is_constant(block: Block, name: str, spots: _Spots) -> bool:
    """Whether a column never changes within a person; missing is a value of its own."""
    column = block.values.get(name, block.codes[name])
    return bool(
        np.array_equal(column[spots.later], column[spots.previous], equal_nan=name in block.values)
    )


def _sums(whose: Rows, values: Floats) -> Floats:
    """The sum of each person's values."""
    return np.bincount(whose, weights=values).astype(np.float64)


def _gaps(name: str, block: Block, time: str, spots: _Spots) -> ColumnEncoding:
    cells = block.encoding[time].cells
    assert cells is not None
    assert block.person is not None
    values = block.values[time]
    gaps = cells.on_grid(values[spots.later] - values[spots.previous])
    shown = once_each(gaps, block.person[spots.later])
    return _made(name, shown, cells.step, gaps[~np.isnan(gaps)])


def _made(name: str, shown: Floats, step: float, all_: Floats | None = None) -> ColumnEncoding:
    """The encoding of a made number; ``shown`` has a value as often as people have it."""
    values = shown if all_ is None else all_
    mean, sd = (float(values.mean()), float(values.std())) if values.size else (0.0, 0.0)
    cells = find_cells(shown, step=step)
    numeric = Numeric(pa.float64(), 0, step)
    return ColumnEncoding(Column(name, Kind.NUMBER), numeric=numeric, cells=cells, mean=mean, sd=sd)


def _free(name: str, taken: set[str]) -> str:
    """The name, or one like it that no column has."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name


__all__ = ["Laid", "Wide", "find_wide"]
