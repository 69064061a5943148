"""People with all their rows: first the person, then row after row, each given the one before.

The number of a person's rows, what never changes in a person, and the time of the first row are
drawn once a person. Then the first row, and every later row given what the row before had, its
number, and the time that has passed. All draws are by the models of a plan; parameters that a model
draws are drawn once for a whole replicate. So the parts together are one density, the product of
theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ProtectionError
from understudy.synth.base import Floats
from understudy.synth.rules import Rule
from understudy.synth.sequence import (
    Drawn,
    FittedSequence,
    Map,
    Sequential,
    Visit,
    broken_rows,
)
from understudy.synth.wide import Laid, Wide
from understudy.tables.encode import Block, Encoding

Path = tuple[str | int, ...]
PARTS = ("person", "start", "first", "gap", "later")


@dataclass(frozen=True, eq=False)
class Panel:
    """Settings of a synthesizer of people with several rows.

    Attributes:
        wide: how their rows are taken apart.
        visits: the plan's steps, as it states them for a single row.
        person: draws the number of rows, and what never changes.
        start: draws the first time (no steps where there is no time, as for ``gap``).
        first: draws the rest of each first row.
        gap: draws the time between a row and the one before.
        later: draws the rest of each later row.
        rules: the rules of the table.
    """

    wide: Wide
    visits: tuple[Visit, ...]
    person: Sequential
    start: Sequential
    first: Sequential
    gap: Sequential
    later: Sequential
    rules: tuple[Rule, ...] = ()

    @property
    def combining(self) -> str:
        """How replicates are made, as `kernels.combine` calls it."""
        return Sequential(self.visits).combining

    def fit(self, train: Block, *, seed: int, map_: Map = map) -> FittedPanel:
        """Fit all parts on train, whose rows must say whose they are."""
        laid = self.wide.lay(train)
        blocks = _blocks(laid)
        parts = {
            name: getattr(self, name).fit(blocks[name], seed=seed, map_=map_) for name in PARTS
        }
        return FittedPanel(self, train.encoding, **parts)


@dataclass(frozen=True, eq=False)
class FittedPanel:
    """The fitted parts."""

    settings: Panel
    encoding: Encoding
    person: FittedSequence
    start: FittedSequence
    first: FittedSequence
    gap: FittedSequence
    later: FittedSequence

    @cached_property
    def _parts(self) -> dict[str, FittedSequence]:
        return {name: getattr(self, name) for name in PARTS}

    def sample(self, rows: int, *, seed: int, replicate: int) -> Drawn:
        """Draw one replicate of whole people, with about ``rows`` rows.

        So many people are drawn as have so many rows in train. Cost: the rows, and for every row of
        the person with most rows a pass over the donors.
        """
        wide, path = self.settings.wide, ("sample", replicate)
        people = max(round(rows / wide.rows_per_person), 1)
        drawn = {
            name: part.realised(seed=seed, path=(*path, name)) for name, part in self._parts.items()
        }
        base = drawn["person"].fill(wide.encoding.empty(people), seed=seed, path=(*path, "person"))
        started = self._started(base.block, drawn["start"], seed, (*path, "start"))
        counts = {"redrawn": base.counts["redrawn"] + started.counts["redrawn"]}
        growing = _Growing.of(wide, started.block)
        for number in range(1, growing.longest + 1):
            known = growing.known(number)
            if number == 1:
                done = drawn["first"].fill(known, seed=seed, path=(*path, "first"))
            else:
                known = self._timed(known, number, drawn["gap"], seed, (*path, "gap", number))
                done = drawn["later"].fill(known, seed=seed, path=(*path, "later", number))
            counts["redrawn"] += done.counts["redrawn"]
            growing.add(done.block, number)
        block = growing.block(self.encoding)
        counts["unresolved"] = len(broken_rows(self.settings.rules, block))
        return Drawn(block, counts)

    def _started(self, base: Block, start: FittedSequence, seed: int, path: Path) -> Drawn:
        """Add the first time; whoever has no row with a time has none."""
        wide = self.settings.wide
        if wide.time is None:
            return Drawn(base, {"redrawn": 0})
        done = start.fill(base, seed=seed, path=path)
        values = np.where(wide.timed_rows(base) >= 1, done.block.values[wide.time], np.nan)
        return Drawn(base.join(wide.at(values)), done.counts)

    def _timed(
        self, known: Block, number: int, gap: FittedSequence, seed: int, path: Path
    ) -> Block:
        """Add the gap and the time; the last rows of a person may have none."""
        wide = self.settings.wide
        if wide.time is None:
            return known
        past = known.values[wide.before[wide.time]]
        drawn = gap.fill(known, seed=seed, path=path).block.values[wide.gap]
        since = np.where(wide.timed_rows(known) >= number, drawn, np.nan)
        return known.join(wide.made({wide.gap: since})).join(wide.at(past + since))

    def near(self, record: Block, rows: int, columns: Sequence[str], *, seed: int) -> Block:
        """Refused: a single row of a person cannot be drawn anew by itself."""
        raise ProtectionError(_WHOLE)

    def complete(
        self, rows: Block, fixed: Sequence[str], *, seed: int
    ) -> tuple[Block, NDArray[np.bool_]]:
        """Refused: a single row of a person cannot be drawn anew by itself."""
        raise ProtectionError(_WHOLE)

    def log_density(self, rows: Block) -> Floats:
        """Log density of each row given the person's rows before it; the first has the person's."""
        laid = self.settings.wide.lay(rows)
        blocks, result = _blocks(laid), np.zeros(rows.rows)
        for name in ("person", "first"):
            result[laid.first_rows] += self._parts[name].log_density(blocks[name])
        result[laid.first_rows[laid.begun]] += self.start.log_density(blocks["start"])
        result[laid.later_rows] += self.later.log_density(laid.later)
        result[laid.later_rows[laid.timed]] += self.gap.log_density(blocks["gap"])
        return result

    def log_prob(self, replicate: Block) -> float:
        """Sum over the parts; −∞ where a column changes in a person that never does in train."""
        laid = self.settings.wide.lay(replicate)
        if not laid.steady:
            return -np.inf
        blocks = _blocks(laid)
        return float(sum(part.log_prob(blocks[name]) for name, part in self._parts.items()))

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """NaN: one row changes what the next row is given, and never comes without its person.

        What moves is the person with all rows, which candidates of one row cannot say.
        """
        return np.full((len(replicates), candidates.rows), np.nan)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays of all parts, by part, step and name."""
        return {
            f"{name}/{key}": value
            for name, part in self._parts.items()
            for key, value in part.arrays().items()
        }


@dataclass(frozen=True, eq=False)
class _Growing:
    """The rows drawn so far: those of one person stand together, in order."""

    wide: Wide
    base: Block
    rows_of: NDArray[np.int64]
    start: NDArray[np.int64]
    codes: dict[str, NDArray[np.int32]]
    values: dict[str, Floats]

    @classmethod
    def of(cls, wide: Wide, base: Block) -> _Growing:
        rows_of = base.values[wide.count].astype(np.int64)
        total = int(rows_of.sum())
        codes = {name: np.zeros(total, dtype=np.int32) for name in wide.own}
        values = {n: np.full(total, np.nan) for n in wide.own if wide.encoding[n].is_numeric}
        return cls(wide, base, rows_of, np.cumsum(rows_of) - rows_of, codes, values)

    @property
    def longest(self) -> int:
        return int(self.rows_of.max())

    def known(self, number: int) -> Block:
        """What rows of this number are drawn given: the person, and the row before."""
        wide, alive = self.wide, np.flatnonzero(self.rows_of >= number)
        known = self.base.take(alive)
        if number == 1:
            return known
        rows = self.start[alive] + number - 2
        codes = {name: self.codes[name][rows] for name in wide.before}
        values = {n: self.values[n][rows] for n in wide.before if n in self.values}
        previous = Block(wide.encoding, len(rows), codes, values)
        keep = [name for name in known.names if name != wide.time]
        which = wide.made({wide.number: np.full(len(rows), float(number))})
        return known.select(keep).join(which).join(wide.lagged(previous))

    def add(self, new: Block, number: int) -> None:
        """Write the rows of this number."""
        rows = self.start[self.rows_of >= number] + number - 1
        for name, codes in self.codes.items():
            codes[rows] = new.codes[name]
        for name, values in self.values.items():
            values[rows] = new.values[name]

    def block(self, encoding: Encoding) -> Block:
        person = np.repeat(np.arange(len(self.rows_of)), self.rows_of)
        return Block(encoding, len(person), self.codes, self.values, person)


def _blocks(laid: Laid) -> dict[str, Block]:
    """What each part is about."""
    return {
        "person": laid.person,
        "start": laid.first.take(laid.begun),
        "first": laid.first,
        "gap": laid.later.take(laid.timed),
        "later": laid.later,
    }


_WHOLE = (
    "people have several rows here (a column has the role group), and no protection can draw one "
    "of them anew yet: leave the protection out, or the role group"
)
