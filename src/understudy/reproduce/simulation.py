"""Bale & Quick, Table 1: three samples of one distribution are equally close to one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import propensity
from understudy.kernels.match_share import expected_match_share
from understudy.reproduce.distances import Reach, reach
from understudy.reproduce.item import Bench, Item
from understudy.reproduce.result import Cell, Claim, Grid, Result, errors
from understudy.seeds import stream

Floats = NDArray[np.float64]

COVARIANCES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# Synthetic minus holdout of IMS, DCR and NNDR, and the pMSE ratio, as printed.
PRINTED = (
    (0.0000, 0.0003, 0.0002, 1.0057),
    (-0.0001, 0.0005, 0.0001, 1.0068),
    (0.0000, 0.0001, 0.0002, 1.0061),
    (0.0000, 0.0001, -0.0002, 1.0065),
    (-0.0004, 0.0004, 0.0002, 1.0095),
    (0.0001, 0.0000, 0.0002, 1.0072),
    (-0.0003, 0.0000, -0.0004, 1.0060),
    (0.0002, -0.0004, -0.0005, 1.0130),
    (0.0001, 0.0000, 0.0002, 1.0110),
    (0.0000, 0.0000, -0.0001, 0.9946),
)
BAND = (0.995, 1.013)  # of the printed ratios, rounded outwards
ERRORS = 4  # standard errors that a difference may lie from 0, and a ratio from the range
Row = tuple[str, tuple[Cell, ...]]
MEASURES = ("IMS", "DCR", "NNDR", "pMSE ratio")


@dataclass(frozen=True)
class Table1(Item):
    """T, Z and H are three samples of one normal distribution: what do the criteria say?

    Attributes:
        rows: of each sample.
        dimension: of the normal distribution.
        delta: rows within this distance count as identical.
        order: highest degree of the propensity model's terms.
    """

    paper: ClassVar[str] = "bale-quick"
    name: ClassVar[str] = "table1"
    title: ClassVar[str] = "Closeness and pMSE ratio of samples of one normal distribution"
    source: ClassVar[str] = "Table 1, section 4"
    unit: ClassVar[str] = "repetitions"
    published: ClassVar[int] = 1000
    repetitions: int = 1000
    rows: int = 5000
    dimension: int = 10
    delta: float = 1.0
    order: int = 3

    def run(self, bench: Bench) -> Result:
        """Repeat the ten settings, each time with a stream of its own."""
        jobs = [(r, k) for r in range(self.repetitions) for k in range(len(COVARIANCES))]
        found = np.array(bench.each("repetition", partial(self.once, bench.seed), jobs))
        numbers = found.reshape(self.repetitions, len(COVARIANCES), -1)
        table = tuple(self._row(numbers[:, k], k) for k in range(len(COVARIANCES)))
        theory = tuple(self._expected(numbers[:, k], k) for k in range(len(COVARIANCES)))
        limit = errors(ERRORS, self.repetitions)
        return self.result(
            bench,
            [
                _no_difference(table, limit),
                _ratio_near_one(table, limit),
                _mean_as_expected(theory, limit),
            ],
            [
                Grid("Synthetic minus holdout, and pMSE ratio", ("Covariance", *MEASURES), table),
                Grid("Expected identical match share", _THEORY, theory),
            ],
            notes=_NOTES,
            rows=self.rows,
            dimension=self.dimension,
            delta=self.delta,
            order=self.order,
        )

    def once(self, seed: int, job: tuple[int, int]) -> Floats:
        """One repetition of one setting: IMS, DCR, NNDR of Z and of H, and the pMSE ratio."""
        repetition, setting = job
        rng = stream(seed, "table1", repetition, setting)
        train, synthetic, held = self._samples(rng, COVARIANCES[setting])
        # Both samples ask the same train, so one search serves both.
        far = reach(train, np.concatenate([synthetic, held]))
        ours, theirs = far.part(0, self.rows), far.part(self.rows, 2 * self.rows)
        none = np.zeros((self.rows, 0), np.int32)
        found = propensity.logit(train, none, synthetic, none, [], order=self.order, chord=True)
        return np.array([*self._criteria(ours), *self._criteria(theirs), found.ratio])

    def _samples(self, rng: np.random.Generator, covariance: float) -> Floats:
        """T, Z and H: unit variances and equal covariances, by one factor that all share."""
        own = rng.standard_normal((3, self.rows, self.dimension))
        shared = rng.standard_normal((3, self.rows, 1))
        return np.asarray(np.sqrt(1 - covariance) * own + np.sqrt(covariance) * shared)

    def _criteria(self, far: Reach) -> tuple[float, float, float]:
        return far.matches(self.delta), far.dcr(), far.nndr()

    def _row(self, numbers: Floats, k: int) -> Row:
        columns = [*(numbers[:, :3] - numbers[:, 3:6]).T, numbers[:, 6]]
        pairs = zip(columns, PRINTED[k], strict=True)
        return f"{COVARIANCES[k]:.1f}", tuple(Cell.mean(ours, theirs) for ours, theirs in pairs)

    def _expected(self, numbers: Floats, k: int) -> Row:
        # Z and H share T: their mean is one observation.
        seen = Cell.mean((numbers[:, 0] + numbers[:, 3]) / 2)
        theory = expected_match_share(self.delta, self.rows, self.dimension, COVARIANCES[k])
        return f"{COVARIANCES[k]:.1f}", (seen, Cell(theory.exact), Cell(theory.one_probability))


def _no_difference(table: Sequence[Row], limit: float) -> Claim:
    """All differences of the criteria are differences of two samples of one distribution."""
    off = [cell.outside(0.0, 0.0) for _, row in table for cell in row[:3]]
    good = sum(gap <= limit for gap in off)
    return Claim.of(
        "Synthetic and held-out samples are equally close to train: every difference lies within "
        f"{ERRORS} standard errors of 0",
        good == len(off),
        f"{good} of {len(off)} differences; the largest lies {max(off):.1f} standard errors from "
        f"0, where {limit:.1f} are allowed",
    )


def _ratio_near_one(table: Sequence[Row], limit: float) -> Claim:
    cells = [row[3] for _, row in table]
    good = sum(cell.outside(*BAND) <= limit for cell in cells)
    ratios = [cell.ours for cell in cells]
    return Claim.of(
        f"The pMSE ratio lies in the printed range, {BAND[0]} to {BAND[1]}, give or take {ERRORS} "
        "standard errors",
        good == len(cells),
        f"{good} of {len(cells)} ratios; they lie from {min(ratios):.4f} to {max(ratios):.4f}, "
        f"standard error at most {max(cell.error or 0 for cell in cells):.4f}",
    )


def _mean_as_expected(theory: Sequence[Row], limit: float) -> Claim:
    good = sum(seen.outside(exact.ours, exact.ours) <= limit for _, (seen, exact, _) in theory)
    off = max(paper.ours - exact.ours for _, (_, exact, paper) in theory)
    return Claim.of(
        "The mean identical match share is its expectation (equations 9 to 12, taken over the row "
        f"last), within {ERRORS} standard errors",
        good == len(theory),
        f"{good} of {len(theory)} settings; equation (12) with one probability for all rows would "
        f"be up to {off:.2f} too high",
    )


_THEORY = ("Covariance", "Simulated", "Expected", "(12) with one probability")
_NOTES = (
    "With few repetitions more than four standard errors are allowed: as many as are equally rare "
    "by Student's t.",
    "Ours is a mean over repetitions with its standard error. Differences are paired: Z and H are "
    "compared with the same T.",
    "The propensity model is an unpenalised logistic regression with all terms up to degree three; "
    "its expectation for two draws is (k − 1)·c(1 − c)/N, where k is the rank of the design, the "
    "intercept included (286 for ten columns). Its fit stops where ratios are right to 1e-5.",
    "The chance that any of the 30 differences of ideal samples lies beyond 4 standard errors is "
    "at most 0.2%.",
    "The expected share takes the expectation over the row last: p depends on where a row lies. "
    "The binomial variance of (11) is not used: all rows of Z share T.",
)
