"""How far the columns, one by one and two by two, are from train's."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import Better, Estimate, Evidence, Judge, Map, Measure, several
from understudy.kernels.people import Whose
from understudy.kernels.resample import z_of
from understudy.kernels.rows import overlap, overlap_null
from understudy.tables.encode import Block
from understudy.utility.grouping import GROUPS, grouping

_NULLS = 20
_MOST_PAIRS = 2000


@dataclass(frozen=True)
class Marginals(Measure):
    """Total variation distance of each column from train's, over its codes.

    TV = 1 − Σ_k min(p_k, q_k). The reference is what two draws of one process of these sizes
    would show: the mean over pooled rows dealt out at random.
    """

    names: ClassVar[tuple[str, ...]] = ("marginal.distance",)
    about: ClassVar[str] = "utility"
    must_catch: ClassVar[str] = "other"
    needs_holdout: ClassVar[bool] = False

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> MarginalsJudge:
        """Nothing to prepare."""
        return MarginalsJudge(evidence)


@dataclass(frozen=True, eq=False)
class MarginalsJudge(Judge):
    """Train's columns."""

    evidence: Evidence

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One distance per column."""
        train = self.evidence.train
        return [
            _distance(
                "marginal.distance",
                name,
                train.codes[name].astype(np.int64),
                release.codes[name].astype(np.int64),
                self.evidence,
                (train.person, release.person),
                rng,
            )
            for name in self.evidence.drawn
        ]


@dataclass(frozen=True)
class Pairs(Measure):
    """Total variation distance of each pair of columns, in at most 12 groups per column.

    One finding for the mean over pairs and one for the worst; all pairs are in the summaries.
    """

    names: ClassVar[tuple[str, ...]] = ("pair.distance",)
    about: ClassVar[str] = "utility"
    must_catch: ClassVar[str] = "permuted"
    needs_holdout: ClassVar[bool] = False

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> PairsJudge:
        """Group train's columns."""
        groups = {name: _grouped(evidence.train, name) for name in evidence.drawn}
        pairs = list(combinations(evidence.drawn, 2))
        if len(pairs) > _MOST_PAIRS:
            chosen = np.sort(rng.choice(len(pairs), _MOST_PAIRS, replace=False))
            pairs = [pairs[i] for i in chosen]
        return PairsJudge(evidence, groups, pairs)


@dataclass(frozen=True, eq=False)
class PairsJudge(Judge):
    """Groupings of the columns, and the pairs to look at."""

    evidence: Evidence
    groups: dict[str, NDArray[np.int64]]
    pairs: list[tuple[str, str]]

    def distances(
        self, release: Block, rng: np.random.Generator
    ) -> list[tuple[float, float, float]]:
        """Distance, null mean and null deviation of each pair."""
        train = {n: self.groups[n][self.evidence.train.codes[n]] for n in self.groups}
        other = {n: self.groups[n][release.codes[n]] for n in self.groups}
        found = []
        for first, second in self.pairs:
            width = int(self.groups[second].max()) + 1
            a = train[first] * width + train[second]
            b = other[first] * width + other[second]
            people = (self.evidence.train.person, release.person)
            null, sd = overlap_null(a, b, rng, draws=_NULLS, people=people)
            found.append((1 - overlap(a, b), 1 - null, sd))
        return found

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """The distance of every pair above its null, for the first replicate."""
        found = self.distances(self.evidence.release[0], rng)
        return {
            "pairs": [
                {
                    "columns": list(pair),
                    "distance": round(value, 5),
                    "null": round(null, 5),
                    "excess": round(value - null, 5),
                }
                for pair, (value, null, _) in zip(self.pairs, found, strict=True)
            ]
        }

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """The mean over pairs, and the worst pair."""
        found = np.array(self.distances(release, rng)).reshape(-1, 3)
        if not len(found):
            return [Estimate.absent("pair.distance", "one column makes no pair")]
        value, null = float(found[:, 0].mean()), float(found[:, 1].mean())
        spread = float(found[:, 2].mean())
        worst = int(np.argmax(found[:, 0] - found[:, 1]))
        note = f"{len(self.pairs)} pairs in at most {GROUPS} groups per column"
        note += several(self.evidence.train)
        target = " × ".join(self.pairs[worst])
        level = self.evidence.level
        # The worst was chosen among all pairs: its interval holds for all of them together.
        wide = 1 - (1 - level) / len(self.pairs)
        return [
            self._estimate(None, value, null, z_of(level) * spread, note),
            self._estimate(
                target,
                float(found[worst, 0]),
                float(found[worst, 1]),
                z_of(wide) * float(found[worst, 2]),
                f"worst of {note}",
            ),
        ]

    def _estimate(
        self, target: str | None, value: float, null: float, half: float, note: str
    ) -> Estimate:
        margin = self.evidence.margin("pair.distance", 0.02 if target is None else 0.05)
        return Estimate(
            "pair.distance",
            value,
            max(value - half, 0.0),
            value + half,
            null,
            Better.LOWER,
            margin,
            target=target,
            note=note,
        )


def _distance(
    measure: str,
    target: str,
    train: NDArray[np.int64],
    other: NDArray[np.int64],
    evidence: Evidence,
    people: Whose,
    rng: np.random.Generator,
) -> Estimate:
    null, sd = overlap_null(train, other, rng, draws=_NULLS, people=people)
    value, half = 1 - overlap(train, other), z_of(evidence.level) * sd
    return Estimate(
        measure,
        value,
        max(value - half, 0.0),
        value + half,
        1 - null,
        Better.LOWER,
        evidence.margin(measure, 0.02),
        target=target,
        note=f"total variation; null: pooled {_dealt(evidence.train)} at random, {_NULLS} times"
        + several(evidence.train),
    )


def _grouped(train: Block, name: str) -> NDArray[np.int64]:
    encoding = train.encoding[name]
    counts = np.bincount(train.codes[name], minlength=encoding.width)[: encoding.size]
    return grouping(encoding, counts)


def _dealt(train: Block) -> str:
    return "rows dealt" if train.person is None else "people dealt"
