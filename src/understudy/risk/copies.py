"""Copies: do the release and train share more rows than two independent draws would?

Row multisets are compared. On a few coarse columns every honest row is a row of train, distances
are blind, and only this comparison can refuse a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.evidence import Better, Estimate, Evidence, Judge, Map, Measure, row_numbers
from understudy.kernels.resample import z_of
from understudy.kernels.rows import overlap, overlap_null, same_rows
from understudy.tables.encode import Block

_NULLS = 40


@dataclass(frozen=True)
class Copies(Measure):
    """Overlap of row multisets, against the overlap of the same rows dealt out at random.

    overlap = Σ_r min(z_r / N_Z, t_r / N_T) over distinct rows r. The null deals the pooled rows
    into two tables of the same sizes at random: what two draws of one process would share. The
    control half, measured in the same way, is shown beside it.
    """

    names: ClassVar[tuple[str, ...]] = ("copies",)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> CopiesJudge:
        """Measure the control half."""
        judge = CopiesJudge(evidence, evidence.drawn, 0.0)
        if evidence.control.rows == 0:
            return judge
        value, null, _ = judge.compare(evidence.control, rng)
        return CopiesJudge(evidence, evidence.drawn, value - null)


@dataclass(frozen=True, eq=False)
class CopiesJudge(Judge):
    """Train, and the excess of the control half."""

    evidence: Evidence
    columns: tuple[str, ...]
    control_excess: float

    def compare(self, release: Block, rng: np.random.Generator) -> tuple[float, float, float]:
        """Overlap, its null mean and its null standard deviation."""
        train, other = row_numbers([self.evidence.train, release], self.columns)
        mean, sd = overlap_null(train, other, rng, draws=_NULLS)
        return overlap(train, other), mean, sd

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One number: the overlap, to be compared with the null's."""
        train, other = row_numbers([self.evidence.train, release], self.columns)
        value, null, sd = self.compare(release, rng)
        half = z_of(self.evidence.level) * sd
        note = (
            f"null: pooled rows dealt at random, {_NULLS} times; the control half's excess over "
            f"its own null is {self.control_excess:+.4f}"
        )
        margin = self.evidence.margin("copies", 0.05)
        if same_rows(train, other) and len(np.unique(train)) > 1:
            # The very multiset of train: no chance worth naming, so no interval either.
            note, half, margin = "the release has exactly train's rows", 0.0, 0.0
            null = min(null, value - 1e-9)
        return [
            Estimate(
                "copies",
                value,
                max(value - half, 0.0),
                min(value + half, 1.0),
                null,
                Better.LOWER,
                margin,
                value - half - null,
                value + half - null,
                note=note,
            )
        ]
