"""New rows near people whose ratio is too large: how many, where, and with which values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.attack import Attacker, Known, Target, tallies
from understudy.evidence import Source
from understudy.kernels.ball_counts import needed
from understudy.kernels.balls import Around
from understudy.tables.encode import Block, stack

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_TRIES = 3  # how often more candidates are drawn, eight times as many, where they miss the ball
_MORE = 8
_MOST = 200_000  # candidates drawn at once


@dataclass(eq=False)
class Relief:
    """Draws the rows that one pass of Algorithm 1 adds.

    Attributes:
        settings: c, radii and priors.
        known: what the attacker knows.
        train: the people to protect.
        source: the synthesizer.
        rng: the stream.
        candidates: draws for each row that is needed.
        why: what kept the last pass from adding rows.
    """

    settings: Attacker
    known: Known
    train: Block
    source: Source
    rng: np.random.Generator
    candidates: int
    why: str = field(default="", init=False)

    def rows_for(self, target: Target, rows: Block) -> Block:
        """One pass over the records of train whose ratio exceeds c for one column."""
        radii = self.settings.radii(self.known)
        found = tallies(self.known, target, self.train, rows, radii, every=self.settings.every)
        over = self.settings.exceeds(self.settings.worst(found) / target.own(self.train))
        nobody = rows.take(slice(0, 0))
        drafts = _Drafts(self, target, rows)
        drawn = (drafts.near(int(record)) for record in np.flatnonzero(over))
        parts = [part for part in drawn if part is not None]
        if not parts:
            return nobody
        fixed = (*self.known.names, target.name)
        whole, good = self.source.complete(stack(parts), fixed, seed=self.seed())
        if not good.any():
            self.why = "the rules of the plan, which no new row obeyed"
        return whole.select(rows.names).take(good)

    def seed(self) -> int:
        """A seed of its own for a draw of the source."""
        return int(self.rng.integers(2**63))


class _Drafts:
    """Rows drafted for one column: near whom, and with which level."""

    def __init__(self, relief: Relief, target: Target, rows: Block) -> None:
        self.relief, self.target, self.rows = relief, target, rows
        known, train = relief.known, relief.train
        self.around = known.around(train, rows)
        order = np.argsort(self.around.row_cell, kind="stable")
        self.order, self.cells = order, self.around.row_cell[order]
        self.own = target.groups.of(train)
        self.level = target.groups.of(rows)
        self.new: dict[int, list[tuple[Floats, int]]] = {}  # by cell: place and level

    def near(self, record: int) -> Block | None:
        """Rows that bring one record's ratio down to c, or as many as can be drawn."""
        settings, target = self.relief.settings, self.target
        distance, same = self._ball(record)
        share = settings.c * float(target.prior[self.own[record]])
        radii = None if settings.every else settings.radii(self.relief.known)
        count, radius = needed(distance, same, share, radii)
        if not count:
            return None
        levels = self._levels(int(self.own[record]), count)
        if not len(levels):
            self.relief.why = "the lack of another value to give"
            return None
        draft = self._placed(record, len(levels), radius)
        if draft is None:
            self.relief.why = (
                f"{self.relief.candidates * _MORE ** (_TRIES - 1):,} draws for a row, none of "
                "which fell into the ball"
            )
            return None
        levels = levels[: draft.rows]
        cell = int(self.around.record_cell[record])
        for place, level in zip(self.relief.known.place(draft), levels, strict=True):
            self.new.setdefault(cell, []).append((place, int(level)))
        return draft.join(self._valued(levels))

    def _ball(self, record: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Distances of all rows of the record's cell, drafts included, and which match."""
        around = self.around
        cell = int(around.record_cell[record])
        inside = self.order[slice(*np.searchsorted(self.cells, [cell, cell + 1]))]
        distance = around.distances(np.array([record]), inside)[0]
        same = self.level[inside] == self.own[record]
        fresh = self.new.get(cell)
        if fresh:
            places = np.array([place for place, _ in fresh])
            nowhere = np.zeros(len(fresh), dtype=np.int64)
            drafts = Around(around.records, around.record_cell, places, nowhere)
            more = drafts.distances(np.array([record]), np.arange(len(fresh)))[0]
            match = np.array([level for _, level in fresh]) == self.own[record]
            distance, same = np.concatenate([distance, more]), np.concatenate([same, match])
        return distance, same

    def _levels(self, own: int, count: int) -> Ints:
        """Other levels in proportion to their priors: as even as whole numbers allow."""
        weight = np.where(self.target.observed, self.target.prior, 0.0)
        weight[own] = 0.0
        if self.target.name in self.rows.values:  # a number is taken from a row that has it
            weight[~np.isin(np.arange(len(weight)), self.level)] = 0.0
        if not weight.sum() > 0:
            return np.zeros(0, dtype=np.int64)
        spots = (self.relief.rng.random() + np.arange(count)) / count
        found = np.searchsorted(np.cumsum(weight) / weight.sum(), spots, side="right")
        levels = np.minimum(found, np.flatnonzero(weight)[-1])
        return self.relief.rng.permutation(levels)

    def _placed(self, record: int, count: int, radius: float) -> Block | None:
        """The nearest of many draws that lie within the radius, with the record's own levels."""
        relief = self.relief
        person = relief.train.take(np.array([record]))
        if not relief.known.numbers:
            return person.select(relief.known.levels).take(np.zeros(count, dtype=np.int64))
        best: Block | None = None
        size = min(relief.candidates * count, _MOST)
        for _ in range(_TRIES):
            drawn = relief.source.near(person, size, relief.known.numbers, seed=relief.seed())
            pool = drawn if best is None else stack([best, drawn])
            best = self._nearest(record, pool, count, radius)
            if best.rows == count:
                break
            size = min(size * _MORE, _MOST)
        assert best is not None
        if not best.rows:
            return None
        levels = person.select(relief.known.levels).take(np.zeros(best.rows, dtype=np.int64))
        return best.join(levels)

    def _nearest(self, record: int, drawn: Block, count: int, radius: float) -> Block:
        around = self.around
        places = self.relief.known.place(drawn)
        nowhere = np.zeros(drawn.rows, dtype=np.int64)
        there = Around(around.records, around.record_cell, places, nowhere)
        distance = there.distances(np.array([record]), np.arange(drawn.rows))[0]
        inside = np.flatnonzero(distance <= radius)
        return drawn.take(inside[np.argsort(distance[inside], kind="stable")[:count]])

    def _valued(self, levels: Ints) -> Block:
        """The sensitive column: a level as it is, a number as some synthetic row has it."""
        name, encoding = self.target.name, self.rows.encoding
        if name not in self.rows.values:
            codes = levels.astype(np.int32)
            return encoding.block({name: codes}, {}, len(levels))
        donors = self.relief.rng.random(len(levels))
        picked = np.zeros(len(levels), dtype=np.int64)
        for place, level in enumerate(levels):
            there = np.flatnonzero(self.level == level)
            picked[place] = there[int(donors[place] * len(there))]
        return self.rows.select([name]).take(picked)
