"""Copies: do the release and train share more rows than two independent draws would?

Row multisets are compared. On a few coarse columns every honest row is a row of train, distances
are blind, and only this comparison can refuse a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.evidence import (
    Better,
    Estimate,
    Evidence,
    Judge,
    Map,
    Measure,
    row_numbers,
    several,
)
from understudy.kernels.rows import (
    overlap,
    overlap_interval,
    overlap_null,
    same_shares,
    variance_left,
)
from understudy.tables.encode import Block

_NULLS = 40


@dataclass(frozen=True)
class Copies(Measure):
    """Overlap of row multisets, against the overlap of the same rows dealt out at random.

    overlap = Σ_r min(z_r / N_Z, t_r / N_T) over distinct rows r. The null deals the pooled rows
    into two tables of the same sizes at random: what two draws of one process would share. The
    control half, measured in the same way, is shown beside it.

    The margin is 0.05, or less where there is less room. Sampling keeps two draws 1 − null apart,
    in proportion to √(1/N_T + 1/N_Z). With c the synthetic share of the rows, a model that
    reproduces train's shares and draws from them has √(1 − c) of that left; a copy, of all rows or
    of N_Z of them, has √max(1 − 2c, 0). Halfway between the two the margin ends.

    A release with exactly train's shares is always refused. Where rows are so few or so coarse that
    chance does that too (one binary column of 1,000 rows: 2% of fresh draws), nobody could tell the
    two apart.
    """

    names: ClassVar[tuple[str, ...]] = ("copies",)
    needs_holdout: ClassVar[bool] = False

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> CopiesJudge:
        """Measure the control half."""
        judge = CopiesJudge(evidence, evidence.drawn, float("nan"))
        if evidence.control.rows == 0:
            return judge
        value, null, _ = judge.compare(evidence.control, rng)
        return replace(judge, control_excess=value - null)


@dataclass(frozen=True, eq=False)
class CopiesJudge(Judge):
    """Train, and the excess of the control half (NaN where there is none)."""

    evidence: Evidence
    columns: tuple[str, ...]
    control_excess: float

    def compare(self, release: Block, rng: np.random.Generator) -> tuple[float, float, float]:
        """Overlap, its null mean and its null standard deviation."""
        train, other = row_numbers([self.evidence.train, release], self.columns)
        people = (self.evidence.train.person, release.person)
        mean, sd = overlap_null(train, other, rng, draws=_NULLS, people=people)
        return overlap(train, other), mean, sd

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One number: the overlap, to be compared with the null's."""
        train, other = row_numbers([self.evidence.train, release], self.columns)
        if len(np.unique(train)) < 2:
            return [Estimate.absent("copies", "train's rows are all alike: nothing to copy")]
        found = self._compared(release, rng)
        # Without any distance there is no doubt either: the interval is the point 1.
        exact = "the release has exactly train's rows, in the same shares"
        return [replace(found, note=exact) if same_shares(train, other) else found]

    def _compared(self, release: Block, rng: np.random.Generator) -> Estimate:
        value, null, sd = self.compare(release, rng)
        low, high = overlap_interval(value, null, sd, self.evidence.level)
        share = release.people / (release.people + self.evidence.train.people)
        between = float(np.sqrt(variance_left(share)).mean())
        margin = min(self.evidence.margin("copies", 0.05), (1 - null) * (1 - between))
        return Estimate("copies", value, low, high, null, Better.LOWER, margin, note=self._note())

    def _note(self) -> str:
        what = "rows" if self.evidence.train.person is None else "people, each with all rows,"
        null = f"null: pooled {what} dealt at random, {_NULLS} times{several(self.evidence.train)}"
        if np.isnan(self.control_excess):
            return null
        return f"{null}; the control half's excess over its own null is {self.control_excess:+.4f}"
