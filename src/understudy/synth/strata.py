"""One model per level of a column: each stratum is fitted and drawn by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.synth.base import NOWHERE, Fitted, Floats, Recall, Within
from understudy.tables.encode import Block, Encoding

if TYPE_CHECKING:
    from understudy.synth.sequence import Visit

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FittedStrata(Fitted):
    """Fitted models by code of the stratum column.

    Rows whose stratum train does not have are drawn from the largest stratum's model.
    """

    columns: tuple[str, ...]
    given: tuple[str, ...]
    by: str
    models: dict[int, Fitted]
    stratum: NDArray[np.int32]
    largest: int
    recall: Recall[dict[int, Block]] = field(default_factory=Recall, repr=False)

    @classmethod
    def fit(cls, visit: Visit, train: Block, *, rng: np.random.Generator) -> FittedStrata:
        """Fit one model per level of the visit's stratum column."""
        assert visit.strata is not None
        codes = train.codes[visit.strata]
        present, counts = np.unique(codes, return_counts=True)
        given = tuple(name for name in visit.given if name != visit.strata)
        models = {
            int(code): visit.model.fit(
                train.take(np.flatnonzero(codes == code)), visit.columns, given, rng=stream
            )
            for code, stream in zip(present, rng.spawn(len(present)), strict=True)
        }
        largest = int(present[np.argmax(counts)]) if len(present) else 0
        if not models:
            models[largest] = visit.model.fit(train, visit.columns, given, rng=rng)
        return cls(visit.columns, given, visit.strata, models, codes, largest)

    def _parts(self, rows: Block) -> dict[int, NDArray[np.int64]]:
        codes = rows.codes[self.by]
        known = np.isin(codes, list(self.models))
        effective = np.where(known, codes, self.largest)
        return {code: np.flatnonzero(effective == code) for code in self.models}

    def _cut(self, rows: Block) -> dict[int, Block]:
        return {code: rows.take(part) for code, part in self._parts(rows).items()}

    def sample(self, given: Block, *, rng: np.random.Generator, within: Within = NOWHERE) -> Block:
        """Draw each stratum from its own model."""
        encoding: Encoding = given.encoding
        codes = {n: np.zeros(given.rows, dtype=np.int32) for n in self.columns}
        values = {n: np.zeros(given.rows) for n in self.columns if encoding[n].is_numeric}
        parts = self._parts(given)
        for (code, rows), part_rng in zip(parts.items(), rng.spawn(len(parts)), strict=True):
            limits = {name: limit.take(rows) for name, limit in within.items()}
            drawn = self.models[code].sample(given.take(rows), rng=part_rng, within=limits)
            for name in self.columns:
                codes[name][rows] = drawn.codes[name]
                if name in values:
                    values[name][rows] = drawn.values[name]
        return encoding.block(codes, values, given.rows)

    def realised(self, rng: np.random.Generator) -> FittedStrata:
        """Every stratum's model with its parameters of one replicate."""
        streams = rng.spawn(len(self.models))
        drawn = zip(self.models.items(), streams, strict=True)
        return replace(self, models={code: m.realised(each) for (code, m), each in drawn})

    def near(self, record: Block, *, rng: np.random.Generator) -> Block:
        """Draw near a record from its own stratum's model."""
        code = int(record.codes[self.by][0]) if record.rows else self.largest
        return self.models.get(code, self.models[self.largest]).near(record, rng=rng)

    def log_density(self, rows: Block) -> Floats:
        """Each row under its own stratum's model."""
        result = np.zeros(rows.rows)
        for code, part in self._parts(rows).items():
            result[part] = self.models[code].log_density(rows.take(part))
        return result

    def log_prob(self, replicate: Block) -> float:
        """Sum over strata."""
        parts = self._parts(replicate).items()
        return float(sum(self.models[c].log_prob(replicate.take(part)) for c, part in parts))

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Changes inside the record's stratum; a candidate of another stratum is refused.

        Moving a person to another stratum changes two models at once, which no model here can
        say cheaply: those candidates get NaN, never a number that looks right.
        """
        mine = int(self.stratum[record])
        inside = np.flatnonzero(self.stratum == mine)
        position = int(np.searchsorted(inside, record))
        own = [self.recall(rep, self._cut)[mine] for rep in replicates]
        result = self.models[mine].swap(position, candidates, own)
        return np.where(candidates.codes[self.by] == mine, result, np.nan)

    @property
    def fast(self) -> bool:
        """Every stratum's model is."""
        return all(model.fast for model in self.models.values())

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the models, and the one that parts them."""
        return (*self.columns, *self.given, self.by)

    def swaps(
        self, rows: Block, records: Ints, candidates: Block, replicates: Sequence[Block]
    ) -> Floats:
        """Each record inside its own stratum."""
        if self.by in candidates.codes:
            return super().swaps(rows, records, candidates, replicates)
        result = np.empty((len(replicates), len(records), candidates.rows))
        for code, part, inside in self._within(records):
            own = [self.recall(replicate, self._cut)[code] for replicate in replicates]
            result[:, part] = self.models[code].swaps(rows.take(part), inside, candidates, own)
        return result

    def left_out(self, rows: Block, records: Ints, candidates: Block) -> Floats | None:
        """Each record inside its own stratum."""
        result = np.empty((len(records), candidates.rows))
        for code, part, inside in self._within(records):
            found = self.models[code].left_out(rows.take(part), inside, candidates)
            if found is None or self.by in candidates.codes:
                return None
            result[part] = found
        return result

    def _within(self, records: Ints) -> Iterator[tuple[int, Ints, Ints]]:
        """Strata that records are in: the code, which records, and their rows inside it."""
        codes = self.stratum[records]
        for code in np.unique(codes):
            part = np.flatnonzero(codes == code)
            members = np.flatnonzero(self.stratum == code)
            yield int(code), part, np.searchsorted(members, records[part])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays of all strata."""
        return {
            f"stratum {code}/{key}": value
            for code, model in self.models.items()
            for key, value in model.arrays().items()
        }
