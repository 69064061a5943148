"""Singling out: does a guess made from the release fit exactly one person of train?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import Estimate, Evidence, Judge, Map, Measure, row_numbers
from understudy.kernels.dealing import DRAWS, exactly_one, spread
from understudy.kernels.predicates import (
    Columns,
    Index,
    Predicates,
    joined,
    one_column,
    several_columns,
)
from understudy.risk.success import Success, absent, mixed
from understudy.settings import require_range
from understudy.tables.encode import Block, stack

Ints = NDArray[np.int64]
UNIVARIATE, MULTIVARIATE = "singling_out.univariate", "singling_out.multivariate"


@dataclass(frozen=True)
class SinglingOut(Measure):
    """Guesses that fit exactly one synthetic row, tried on train.

    - ``singling_out.univariate``: one condition: a missing value or a value that a single row has,
      or, of a number, everything up to the smallest value or from the largest one on.
    - ``singling_out.multivariate``: conditions on several random columns that a random synthetic
      row meets: its level, its missing value, or everything from its number on (up to it, below the
      median).

    How often a guess fits exactly one row depends on how many rows there are. The control are
    therefore tables of train's size, dealt from the holdout where it has as many rows, else from
    train and the holdout together: all tables that can be dealt are counted, by the
    hypergeometric distribution. If the release knows nothing of who is in train, train is such a
    table itself.

    Attributes:
        attacks: guesses of each kind.
        columns: columns of a guess on several.
    """

    names: ClassVar[tuple[str, ...]] = (UNIVARIATE, MULTIVARIATE)
    attacks: int = 500
    columns: int = 3

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.attacks", self.attacks, 1, whole=True)
        require_range(f"{where}.columns", self.columns, 2, whole=True)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> SinglingOutJudge:
        """Put the holdout together; guesses come from a release."""
        held = stack([evidence.control, evidence.fresh])
        return SinglingOutJudge(self, evidence, held)


@dataclass(frozen=True, eq=False)
class SinglingOutJudge(Judge):
    """Train, and people whom the synthesis never saw."""

    settings: SinglingOut
    evidence: Evidence
    held: Block
    seen: WeakKeyDictionary[Block, list[Success]] = field(default_factory=WeakKeyDictionary)

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Both kinds of guesses from one release."""
        return self.pooled([release], rng=rng, map_=map_)

    def pooled(
        self, release: Sequence[Block], *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Guesses from every replicate: what is unique in one may be repeated in another."""
        game = _Game.of(self, [mixed(block, self.evidence.drawn, rng) for block in release])
        found: list[Estimate] = []
        told = [game.univariate(rng), game.multivariate(rng)]
        for name, one in zip(SinglingOut.names, told, strict=True):
            found += absent(name, one) if isinstance(one, str) else one.estimates(self.evidence)
        if len(release) == 1:
            self.seen[release[0]] = [one for one in told if isinstance(one, Success)]
        return found

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        judge = replace(self, held=self.evidence.control) if case == "fresh" else self
        return judge.estimates(release, rng=rng, map_=map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Shares with their intervals, for each replicate."""
        level, release = self.evidence.level, self.evidence.release
        return {
            "singling_out": [
                {**one.summary(level), "replicate": number}
                for number, block in enumerate(release, start=1)
                for one in self.seen.get(block, [])
            ]
        }


@dataclass(frozen=True, eq=False)
class _Game:
    """Train, strangers and replicates as ranks, column by column."""

    settings: SinglingOut
    train: Index
    held: Index
    release: list[Index]
    columns: Columns
    whose: tuple[Ints | None, Ints | None]

    @classmethod
    def of(cls, judge: SinglingOutJudge, release: Sequence[Block]) -> _Game:
        names, encoding = judge.evidence.drawn, judge.evidence.encoding
        blocks = [judge.evidence.train, judge.held, *release]
        ranked = [row_numbers(blocks, [name]) for name in names]
        sizes = [int(max(part.max(initial=-1) for part in parts)) + 1 for parts in ranked]
        tables = [
            Index.of(np.stack([parts[place] for parts in ranked]), sizes)
            for place in range(len(blocks))
        ]
        missing, barred = (
            np.array([_rank(blocks, p, name, what) for name, p in zip(names, ranked, strict=True)])
            for what in ("missing", "unseen")
        )
        ordered = np.array([encoding[name].is_numeric for name in names], dtype=np.bool_)
        train, held, *others = tables
        whose = _numbered(blocks[0].person), _numbered(blocks[1].person)
        return cls(judge.settings, train, held, others, Columns(ordered, missing, barred), whose)

    def univariate(self, rng: np.random.Generator) -> Success | str:
        """Guesses on one column; where none can be made, why."""
        every = [one_column(table, self.columns) for table in self.release]
        found = joined([part.take(rng.permutation(len(part))) for part in every])
        found = _dealt_evenly(found, [len(part) for part in every]).distinct()
        return self._tried(UNIVARIATE, found.take(slice(self.settings.attacks)), "", rng)

    def multivariate(self, rng: np.random.Generator) -> Success | str:
        """Guesses on several columns; where none can be made, why."""
        width, attacks = self.settings.columns, self.settings.attacks
        if len(self.columns.ordered) < 2:
            return "one column alone was synthesised: guesses on several cannot be made"
        width = min(width, len(self.columns.ordered))
        every, tried = [], 0
        for table in self.release:
            part, tries = several_columns(table, self.columns, attacks, width, rng)
            every.append(part)
            tried += tries
        found = _dealt_evenly(joined(every), [len(part) for part in every]).distinct()
        how = f"guesses on {width} columns, {tried} tried"
        return self._tried(MULTIVARIATE, found.take(slice(attacks)), f"{how}; ", rng)

    def _tried(
        self, name: str, guesses: Predicates, how: str, rng: np.random.Generator
    ) -> Success | str:
        """Try guesses on train, and on tables of its size."""
        if not len(guesses):
            return "no guess of this kind fits exactly one synthetic row"
        sides = zip((self.train, self.held), self.whose, strict=True)
        (train, size), (held, strangers) = (_people(table, who, guesses) for table, who in sides)
        rows_of = "rows" if self.whose[0] is None else "people"
        mine, theirs = (np.array([len(rows) for rows in part]) for part in (train, held))
        hits = int(np.count_nonzero(mine == 1))
        if strangers >= size:
            expected, sd = float(exactly_one(theirs, strangers, size).sum()), None
            how += f"control: all tables of {size} {rows_of} dealt from {strangers} held-out ones"
        else:
            both, rows = mine + theirs, size + strangers
            expected = float(exactly_one(both, rows, size).sum())
            # Strangers stand behind train in one numbering.
            pooled = [np.concatenate([a, b + size]) for a, b in zip(train, held, strict=True)]
            sd = spread(pooled, rows, size, rng)
            how += (
                f"control: all tables of {size} {rows_of} dealt from train and {strangers} "
                f"held-out {rows_of}, interval from {DRAWS} of them; "
                f"in {strangers} {rows_of} of train "
                f"{exactly_one(mine, size, strangers).mean():.4f} succeed, in the held-out ones "
                f"{np.mean(theirs == 1):.4f}"
            )
        made = len(guesses)
        return Success(name, None, hits, made, self.settings.attacks, expected, made, sd, how)


def _numbered(person: Ints | None) -> Ints | None:
    """People numbered from 0."""
    return None if person is None else np.unique(person, return_inverse=True)[1]


def _people(
    table: Index, whose: Ints | None, guesses: Predicates
) -> tuple[Sequence[NDArray[np.integer]], int]:
    """Whom each guess fits, and how many people there are; a row is a person unless told."""
    found = table.matching(guesses)
    if whose is None:
        return found, table.rows
    return [np.unique(whose[rows]) for rows in found], int(whose.max(initial=-1)) + 1


def _dealt_evenly(guesses: Predicates, sizes: list[int]) -> Predicates:
    """Take turns: the first of every replicate, then the second, and so on."""
    place = np.concatenate([np.arange(size) for size in sizes])
    return guesses.take(np.argsort(place, kind="stable"))


def _rank(blocks: Sequence[Block], parts: Sequence[Ints], name: str, what: str) -> int:
    """The rank that missing values (or levels that train lacks) have; −1 where there are none."""
    for block, ranks in zip(blocks, parts, strict=True):
        code = getattr(block.encoding[name], what)
        numeric = name in block.values
        is_it = np.isnan(block.values[name]) if numeric else block.codes[name] == code
        if numeric and what == "unseen":
            return -1
        if is_it.any():
            return int(ranks[np.argmax(is_it)])
    return -1
