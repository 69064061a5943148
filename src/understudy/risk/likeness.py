"""Likeness: is the release more like train than two draws of one process would be?

A propensity model that does worse than chance allows tells that rows were taken from train, even
where no row is repeated exactly and distances are blind: on a few coarse columns, rows changed in
one cell are no copies, and no nearer to train than any honest row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import chdtri

from understudy.evidence import (
    Better,
    Estimate,
    Evidence,
    Judge,
    Map,
    Measure,
    features,
    several,
    widths,
)
from understudy.kernels import propensity
from understudy.kernels.rows import variance_left
from understudy.settings import LEAST_ROWS, require_range
from understudy.tables.encode import Block


@dataclass(frozen=True)
class Likeness(Measure):
    """Ratio of the logistic pMSE to its null for two draws of one process, read from below.

    Two draws have the ratio χ²(ν)/ν, with ν = k − 1 the terms of the model: main effects, and
    pairs where they are few (Snoke et al. 2018). A model that reproduces train's counts and draws
    from them without drawing its parameters comes down to 1 − c times that, with c the synthetic
    share of the stacked rows. A copy has 0; of N_Z of train's rows, 1 − 2c. Halfway between those
    two the margin ends.

    Attributes:
        rows: at most this many rows of each table are compared; the note says so.
        terms: pairs are looked at where they make no more terms than this.
    """

    names: ClassVar[tuple[str, ...]] = ("likeness",)
    needs_holdout: ClassVar[bool] = False
    rows: int = 100_000
    terms: int = 150

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.rows", self.rows, LEAST_ROWS, whole=True)
        require_range(f"{where}.terms", self.terms, 1, whole=True)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> LikenessJudge:
        """Choose the rows of train that releases are compared with."""
        return LikenessJudge(self, evidence, evidence.train.thin(self.rows, rng))


@dataclass(frozen=True, eq=False)
class LikenessJudge(Judge):
    """Rows of train to compare with."""

    settings: Likeness
    evidence: Evidence
    train: Block

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One ratio."""
        columns, evidence = self.evidence.drawn, self.evidence
        release = release.thin(self.settings.rows, rng)
        found = propensity.logit(
            *features(self.train, columns),
            *features(release, columns),
            widths(evidence.encoding, columns),
            order=2,
            most=self.settings.terms,
            people=(self.train.person, release.person),
        )
        if not found.expected > 0:
            return [Estimate.absent("likeness", "nothing varies that the model could use")]
        freedom = found.terms - 1 if found.effect == 1 else 2 * (found.expected / found.sd) ** 2
        low, high = _interval(found.ratio, freedom, evidence.level)
        share = release.people / (release.people + self.train.people)
        note = (
            f"null {found.null}, {found.terms - 1} terms; {self.train.rows} rows of train and "
            f"{release.rows} synthetic ones; {found.note}"
        )
        return [
            Estimate(
                "likeness",
                found.ratio,
                low,
                high,
                1.0,
                Better.HIGHER,
                evidence.margin("likeness", 1 - sum(variance_left(share)) / 2),
                note=note.strip("; ") + several(self.train),
            )
        ]


def _interval(ratio: float, terms: float, level: float) -> tuple[float, float]:
    """Interval of the ratio that was expected, where the one found is χ²(ν)/ν times it.

    Example:
        >>> low, high = _interval(1.0, 100, 0.95)
        >>> round(low, 2), round(high, 2)
        (0.77, 1.35)
    """
    upper, lower = chdtri(terms, [(1 - level) / 2, (1 + level) / 2])
    return float(ratio * terms / upper), float(ratio * terms / lower)
