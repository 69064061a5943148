"""Is the release nearer to train than to people whom the synthesis never saw?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.evidence import (
    Better,
    Estimate,
    Evidence,
    Judge,
    Map,
    Measure,
    points,
    row_numbers,
    several,
)
from understudy.kernels.nearer import share_of_first, spread_hits
from understudy.kernels.neighbours import Points, nearest
from understudy.kernels.resample import z_of
from understudy.tables.encode import Block, stack


@dataclass(frozen=True)
class Nearer(Measure):
    """``dcr.share``: share of rows whose nearest real row is one of train.

    Train and holdout are pooled, and every row of the release finds its nearest. If the release
    knows nothing of who is in train, a share n_T/(n_T + n_H) of them finds a row of train, for any
    release whatsoever: the reference needs no estimate. Equal rows share a hit; other ties are
    broken at random. For equal sizes this is the usual rule, ties counting one half (Platzer &
    Reutterer 2021). For unequal sizes that rule is biased: a release with few ties to either side
    finds the larger side nearer.
    """

    names: ClassVar[tuple[str, ...]] = ("dcr.share",)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> NearerJudge:
        """Pool train with the holdout, in random order."""
        train, control = evidence.train, evidence.control
        held = stack([control, evidence.fresh])
        # As much of train as keeps the proportion, so that known cases share one scale.
        part = train.thin(round(train.rows * control.rows / max(held.rows, 1)), rng)
        return NearerJudge(
            evidence, _Pool.of(evidence, train, held, rng), _Pool.of(evidence, part, control, rng)
        )


@dataclass(frozen=True, eq=False)
class _Pool:
    """Real rows in random order: ties go to the lowest row, so each tied row wins as often."""

    rows: Points
    twin: NDArray[np.int64]
    is_train: NDArray[np.bool_]
    person: NDArray[np.int64] | None

    @classmethod
    def of(cls, evidence: Evidence, train: Block, held: Block, rng: np.random.Generator) -> _Pool:
        pooled = stack([train, held])
        order = rng.permutation(pooled.rows)
        mixed = pooled.take(order)
        (twin,) = row_numbers([mixed], evidence.drawn)
        rows = points(mixed, evidence.drawn, evidence.metric)
        return cls(rows, twin, order < train.rows, mixed.person)


@dataclass(frozen=True, eq=False)
class NearerJudge(Judge):
    """Train pooled with all of the holdout; for the fresh half, part of train with the control."""

    evidence: Evidence
    whole: _Pool
    control: _Pool

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One share."""
        return self._against(self.whole, release, rng, map_)

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        pool = self.control if case == "fresh" else self.whole
        return self._against(pool, release, rng, map_)

    def _against(
        self, pool: _Pool, release: Block, rng: np.random.Generator, map_: Map
    ) -> list[Estimate]:
        evidence = self.evidence
        asked = release.thin(evidence.queries, rng)
        query = points(asked, evidence.drawn, evidence.metric)
        _, row = nearest(pool.rows, query, 1, map_=map_)
        hits, is_train = spread_hits(row[:, 0], pool.twin), pool.is_train
        if pool.person is not None:  # people were dealt to train or the holdout, not rows
            _, first, whose = np.unique(pool.person, return_index=True, return_inverse=True)
            hits = np.bincount(whose, weights=hits).astype(np.float64)
            is_train = is_train[first]
        share, mean, sd = share_of_first(hits, is_train)
        half = z_of(evidence.level) * sd
        sampled = "" if asked.rows == release.rows else f"; {asked.rows} of {release.rows} rows"
        return [
            Estimate(
                "dcr.share",
                share,
                max(share - half, 0.0),
                min(share + half, 1.0),
                mean,
                Better.LOWER,
                evidence.margin("dcr.share", 0.01),
                share - half - mean,
                share + half - mean,
                note=f"metric {evidence.metric}; {int(pool.is_train.sum())} of {len(pool.twin)} "
                f"pooled real rows are train{sampled}{several(release)}",
            )
        ]
