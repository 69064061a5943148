"""Which pairs of columns give a release away? A standardised pMSE ratio for every pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import Better, Estimate, Evidence, Judge, Map, Measure, alone
from understudy.kernels.pair_tables import Crossed, crossed
from understudy.kernels.resample import z_of
from understudy.settings import LEAST_ROWS, require_range
from understudy.tables.encode import Block
from understudy.utility.grouping import GROUPS, grouping

NAME = "pmse.pairs.max"
LARGEST, FURTHEST = "largest ratio", "furthest above chance"
_ROWS = 50_000
_MOST_PAIRS = 5_000
_MARGIN = 0.005  # in pMSE: a correlation of ½ that is wholly lost moves a pair by some 0.015
_MOST_GROUPS = 100

Pair = tuple[str, str]


@dataclass(frozen=True)
class PmsePairs(Measure):
    """``pmse.pairs.max``: the standardised pMSE ratio of the worst pair of columns.

    Two columns are crossed, numbers in at most 12 groups, and every row's propensity is its cell's
    synthetic share (a saturated model). The ratio divides the pMSE by what two draws of one process
    give, (k − 1)·c·(1 − c)/(N − 1) for k cells, exact for cells of any size (Raab, Nowok & Dibben
    2021; Chapelle & Falissard, Figures 23 to 25). One number for the largest ratio, one for the
    ratio of the pair whose pMSE is furthest above chance, since a margin in pMSE is about that one.

    Attributes:
        rows: at most this many rows of each table are compared; the note says so.
        groups: most groups of a column.
    """

    names: ClassVar[tuple[str, ...]] = (NAME,)
    about: ClassVar[str] = "utility"
    must_catch: ClassVar[str] = "permuted"
    needs_holdout: ClassVar[bool] = False
    rows: int = _ROWS
    groups: int = GROUPS

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.rows", self.rows, LEAST_ROWS, whole=True)
        require_range(f"{where}.groups", self.groups, 2, _MOST_GROUPS, whole=True)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> PmsePairsJudge:
        """Choose the pairs: all of them, or 5,000 at random where there are more."""
        pairs = list(combinations(evidence.drawn, 2))
        every = len(pairs)
        if every > _MOST_PAIRS:
            chosen = np.sort(rng.choice(every, _MOST_PAIRS, replace=False))
            pairs = [pairs[i] for i in chosen]
        return PmsePairsJudge(self, evidence, evidence.train.thin(self.rows, rng), pairs, every)


@dataclass(frozen=True, eq=False)
class PmsePairsJudge(Judge):
    """Train, and the pairs to look at."""

    settings: PmsePairs
    evidence: Evidence
    train: Block
    pairs: list[Pair]
    every: int

    def scores(self, release: Block) -> list[Crossed]:
        """Each pair's pMSE with its null: O(pairs × rows)."""
        codes = {name: self._grouped(name, release) for name in self.evidence.drawn}
        return [crossed(codes[a], codes[b], self.train.rows) for a, b in self.pairs]

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """The largest ratio, and that of the pair furthest above chance."""
        if not self.pairs:
            return [Estimate.absent(NAME, "one column makes no pair")]
        thinned = release.thin(self.settings.rows, rng)
        found = self.scores(thinned)
        varied = [place for place, one in enumerate(found) if one.expected > 0]
        if not varied:
            return [Estimate.absent(NAME, "no pair of columns varies")]
        largest = max(varied, key=lambda place: found[place].ratio)
        furthest = max(varied, key=lambda place: found[place].pmse - found[place].expected)
        rows = f"{self.train.rows} real and {thinned.rows} synthetic rows"
        return [
            self._estimate(LARGEST, self.pairs[largest], found[largest], rows),
            self._estimate(FURTHEST, self.pairs[furthest], found[furthest], rows),
        ]

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """The ratio of every pair, for the first replicate."""
        found = self.scores(self.evidence.release[0].thin(self.settings.rows, rng))
        shown = [
            {
                "columns": list(pair),
                "ratio": round(one.ratio, 4),
                "excess": round(one.pmse - one.expected, 6),
                "cells": one.cells,
            }
            for pair, one in zip(self.pairs, found, strict=True)
            if one.expected > 0
        ]
        if not shown:
            return {}
        return {"pmse_pairs": {"groups": self.settings.groups, "of": self.every, "pairs": shown}}

    def _grouped(self, name: str, release: Block) -> NDArray[np.int64]:
        """Groups of the pooled rows. They share out pooled counts, so that the null stays exact."""
        encoding = self.evidence.encoding[name]
        codes = np.concatenate([self.train.codes[name], release.codes[name]])
        counts = np.bincount(codes, minlength=encoding.width)[: encoding.size]
        group: NDArray[np.int64] = grouping(encoding, counts, self.settings.groups)[codes]
        return group

    def _estimate(self, target: str, pair: Pair, found: Crossed, rows: str) -> Estimate:
        evidence = self.evidence
        # The worst was chosen among all pairs: its interval holds for all of them together.
        level = 1 - (1 - evidence.level) / len(self.pairs)
        spread = found.sd / found.expected
        half = z_of(level) * spread * np.sqrt(1 + 2 * max(found.ratio - 1, 0.0))
        return Estimate(
            NAME,
            found.ratio,
            float(max(found.ratio - half, 0.0)),
            float(found.ratio + half),
            1.0,
            Better.LOWER,
            evidence.margin(NAME, _MARGIN) / found.expected,
            target=target,
            note=f"{_named(pair)}; {self._of()}; {found.cells} cells; {rows}"
            + _beside(self.evidence.train),
        )

    def _of(self) -> str:
        some = f" chosen at random of {self.every}" if self.every > len(self.pairs) else ""
        return f"{len(self.pairs)} pairs{some} in at most {self.settings.groups} groups per column"


def _beside(train: Block) -> str:
    return alone(train) and f"{alone(train)}, and chance alone gives more than 1"


def _named(pair: Sequence[str]) -> str:
    # A semicolon would end the part of the note, and a name may hold one.
    return " × ".join(name.replace(";", ",") for name in pair)
