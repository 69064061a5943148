"""The engine: visits in order, each drawing its columns given those before.

A sequence of fitted visits is itself a density: its log density, log probability and swaps are the
sums over its visits, a swap counting both where a column is drawn and where it predicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.seeds import stream
from understudy.synth.base import Fitted, Floats, Model, Restriction
from understudy.synth.rules import Rule, combine
from understudy.synth.strata import FittedStrata
from understudy.tables.encode import Block, Encoding, stack

Map = Callable[..., Iterable[Any]]
Ints = NDArray[np.int64]
_ROUNDS = 100


@dataclass(frozen=True)
class Visit:
    """One step of a plan: a model that draws columns given some of those before.

    Attributes:
        model: settings of the model.
        columns: the columns it draws.
        given: the columns it predicts from.
        strata: a column whose levels each get a model of their own.
    """

    model: Model
    columns: tuple[str, ...]
    given: tuple[str, ...] = ()
    strata: str | None = None

    @property
    def key(self) -> str:
        """The name of the visit's random streams."""
        return "+".join(self.columns)


@dataclass(frozen=True)
class Sequential:
    """Settings of the whole synthesizer: visits in order, and the rules of the table."""

    visits: tuple[Visit, ...]
    rules: tuple[Rule, ...] = ()

    @property
    def combining(self) -> str:
        """How replicates are made, as `kernels.combine` calls it.

        ``partial`` where columns are kept, ``proper`` where some model draws parameters anew for
        each replicate, else ``simple``.
        """
        if any(visit.model.fixed for visit in self.visits):
            return "partial"
        return "proper" if any(visit.model.proper for visit in self.visits) else "simple"

    def fit(self, train: Block, *, seed: int, map_: Map = map) -> FittedSequence:
        """Fit every visit on train; they do not depend on one another, so ``map_`` may be a pool.

        Each visit has a stream of its own, named after its columns.
        """
        # Dear visits first, so that two workers end together; results come back in plan order.
        order = sorted(range(len(self.visits)), key=lambda i: -len(self.visits[i].given))
        one = partial(fit_visit, train, seed)
        fitted = dict(zip(order, map_(one, [self.visits[i] for i in order]), strict=True))
        return FittedSequence(self, tuple(fitted[i] for i in range(len(order))), train.encoding)


def fit_visit(train: Block, seed: int, visit: Visit) -> Fitted:
    """Fit one visit: what it gives depends on nothing but train, the seed and the visit."""
    # At module level, so that a pool of processes can be handed it.
    rng = stream(seed, "fit", visit.key)
    if visit.strata is not None:
        return FittedStrata.fit(visit, train, rng=rng)
    return visit.model.fit(train, visit.columns, visit.given, rng=rng)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A replicate and what the rules did to it: counts by name."""

    block: Block
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FittedSequence:
    """Fitted visits, in order."""

    settings: Sequential
    fitted: tuple[Fitted, ...]
    encoding: Encoding

    def sample(self, rows: int, *, seed: int, replicate: int) -> Drawn:
        """Draw one replicate of ``rows`` rows.

        Rules restrict each draw. Rows that still break one are drawn anew, whole, from streams of
        their own; how many were is reported.
        """
        return self.fill(self.encoding.empty(rows), seed=seed, path=("sample", replicate))

    def fill(self, known: Block, *, seed: int, path: tuple[str | int, ...]) -> Drawn:
        """Draw the columns that ``known`` lacks, row by row given those that it has.

        Rules are looked at as by `sample`; what is known stays.
        """
        block = self._pass(known, seed, path, 0)
        counts = {"redrawn": 0, "unresolved": 0}
        if not self.settings.rules:
            return Drawn(block, counts)
        bad = self._broken(block)
        for round_ in range(1, _ROUNDS + 1):
            if not bad.size or self._keeps():
                break
            counts["redrawn"] += bad.size
            fresh = self._pass(known.take(bad), seed, path, round_)
            block = replaced(block, bad, fresh)
            bad = bad[self._broken(block.take(bad))]
        counts["unresolved"] = int(bad.size)
        return Drawn(block, counts)

    def realised(self, *, seed: int, path: tuple[str | int, ...]) -> FittedSequence:
        """The same with one replicate's parameters drawn, for who fills it in several calls."""
        visits = zip(self.settings.visits, self.fitted, strict=True)
        drawn = tuple(fit.realised(stream(seed, *path, "weights", v.key)) for v, fit in visits)
        return replace(self, fitted=drawn)

    def _keeps(self) -> bool:
        # Kept rows have a fixed order: drawing some of them anew would pair them wrongly.
        return any(visit.model.fixed for visit in self.settings.visits)

    def near(self, record: Block, rows: int, columns: Sequence[str], *, seed: int) -> Block:
        """Draw some columns for ``rows`` rows like one record, given what it is beside them.

        Columns that a visit draws together come together. Rules are not looked at.
        """
        like = record.take(np.zeros(rows, dtype=np.int64))
        block = self.encoding.empty(rows)
        for visit, fitted in zip(self.settings.visits, self.fitted, strict=True):
            if not set(visit.columns).isdisjoint(columns):
                block = block.join(fitted.near(like, rng=stream(seed, "near", visit.key)))
        return block

    def complete(
        self, rows: Block, fixed: Sequence[str], *, seed: int
    ) -> tuple[Block, NDArray[np.bool_]]:
        """Draw what is not fixed, each visit given the columns before it and the fixed ones.

        Where ``rows`` has all columns of a visit that draws a fixed one, they are kept together.
        Rows that break a rule are drawn anew; the second result tells which obey all in the end.
        """
        touched = [v.columns for v in self.settings.visits if set(v.columns) & set(fixed)]
        whole = [name for columns in touched if set(columns) <= set(rows.names) for name in columns]
        kept = list(dict.fromkeys([*whole, *fixed]))
        block = self._pass(rows.select(kept), seed, ("complete",), 0)
        bad = self._broken(block)
        for round_ in range(1, _ROUNDS + 1):
            if not bad.size:
                break
            known = rows.take(bad).select(kept)
            block = replaced(block, bad, self._pass(known, seed, ("complete",), round_))
            bad = bad[self._broken(block.take(bad))]
        good = np.ones(rows.rows, dtype=bool)
        good[bad] = False
        return block, good

    def _pass(self, block: Block, seed: int, path: tuple[str | int, ...], round_: int) -> Block:
        """Draw, visit by visit, the columns that the block does not have."""
        kept = set(block.names)
        for visit, fitted in zip(self.settings.visits, self.fitted, strict=True):
            if set(visit.columns) <= kept:
                continue
            rng = stream(seed, *path, visit.key, *((round_,) if round_ else ()))
            within = {
                name: limit
                for name in visit.columns
                if (limit := self._limit(name, block)) is not None
            }
            drawn = fitted.sample(block, rng=rng, within=within)
            block = block.join(drawn.select([n for n in drawn.names if n not in kept]))
            if visit.model.name == "keep":
                continue  # what is released as it is must not be adjusted
            for rule in self.settings.rules:
                block = rule.settle(visit.columns, block)
        return block

    def _limit(self, column: str, known: Block) -> Restriction | None:
        limits = [rule.restrict(column, known) for rule in self.settings.rules]
        return combine([limit for limit in limits if limit is not None])

    def _broken(self, block: Block) -> NDArray[np.int64]:
        return broken_rows(self.settings.rules, block)

    def log_density(self, rows: Block) -> Floats:
        """Sum of the visits' log densities, per row."""
        return sum((fit.log_density(rows) for fit in self.fitted), np.zeros(rows.rows))

    def log_prob(self, replicate: Block) -> float:
        """Sum of the visits' log probabilities."""
        return float(sum(fitted.log_prob(replicate) for fitted in self.fitted))

    def swap(self, record: int, candidates: Block, replicates: Sequence[Block]) -> Floats:
        """Sum of the visits' changes (replicates × candidates)."""
        nothing = np.zeros((len(replicates), candidates.rows))
        return sum((f.swap(record, candidates, replicates) for f in self.fitted), nothing)

    def touched(self, columns: Iterable[str]) -> list[tuple[Visit, Fitted]]:
        """Visits that draw one of these columns, or predict from it."""
        wanted, pairs = set(columns), zip(self.settings.visits, self.fitted, strict=True)
        return [(visit, fitted) for visit, fitted in pairs if wanted & set(fitted.reads)]

    def swaps(
        self, rows: Block, records: Ints, candidates: Block, replicates: Sequence[Block]
    ) -> Floats:
        """`swap` for many records, each with the candidates' columns in place of its own.

        Visits that neither draw these columns nor predict from them change nothing. Returns an
        array (replicates × records × candidates).
        """
        result = np.zeros((len(replicates), len(records), candidates.rows))
        with np.errstate(invalid="ignore"):  # −∞ + ∞: impossible before and after
            for _, fitted in self.touched(candidates.names):
                result += fitted.swaps(rows, records, candidates, replicates)
        return result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays of all visits, by visit and name."""
        result: dict[str, NDArray[Any]] = {}
        for visit, fitted in zip(self.settings.visits, self.fitted, strict=True):
            for key, value in fitted.arrays().items():
                result[f"{visit.key}/{key}"] = value
        return result


def broken_rows(rules: Sequence[Rule], block: Block) -> NDArray[np.int64]:
    """Rows that break a rule."""
    bad = np.zeros(block.rows, dtype=bool)
    for rule in rules:
        bad |= rule.broken(block)
        for name in rule.columns:  # nothing was allowed there
            bad |= block.codes[name] == block.encoding[name].unseen
    return np.flatnonzero(bad)


def replaced(block: Block, rows: NDArray[np.int64], new: Block) -> Block:
    """The block with these rows taken from another."""
    codes = {name: _with(array, rows, new.codes[name]) for name, array in block.codes.items()}
    values = {name: _with(array, rows, new.values[name]) for name, array in block.values.items()}
    return Block(block.encoding, block.rows, codes, values, block.person)


def _with(array: NDArray[Any], rows: NDArray[np.int64], new: NDArray[Any]) -> NDArray[Any]:
    result = array.copy()
    result[rows] = new
    return result


__all__ = ["Drawn", "FittedSequence", "Sequential", "Visit", "broken_rows", "stack"]
