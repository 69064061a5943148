"""Can a model tell synthetic rows from real ones? The propensity score's mean squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

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
from understudy.kernels.people import least_rows
from understudy.kernels.propensity_view import Scores, logit_scores, tree_scores
from understudy.settings import LEAST_ROWS, require_range
from understudy.tables.encode import Block

_ROWS = 50_000
_CALIBRATION = 4
_BARS = 25
_LEAST = 10
_MARGIN = 0.01  # in pMSE, whose largest value is c(1 − c)


@dataclass(frozen=True)
class Pmse(Measure):
    """pMSE and its ratio by logistic regression and by a tree, and SPECKS.

    pMSE = Σ (p̂ − c)² / N (Snoke et al. 2018); the ratio divides by the null expectation of two
    draws of one process: (k − 1)·c·(1 − c)/N for the logit, the mean over permuted labels for the
    tree. A copy scores 0 against train, so each is also computed against the holdout.

    Attributes:
        rows: at most this many rows of each table are compared; the note says so.
        permutations: permutations of the tree's null.
    """

    names: ClassVar[tuple[str, ...]] = (
        "pmse.logit",
        "pmse.logit.ratio",
        "pmse.cart",
        "pmse.cart.ratio",
        "specks",
    )
    about: ClassVar[str] = "utility"
    must_catch: ClassVar[str] = "permuted"
    needs_holdout: ClassVar[bool] = False
    rows: int = _ROWS
    permutations: int = 10

    def check(self, where: str) -> None:
        """Check the ranges of all settings."""
        require_range(f"{where}.rows", self.rows, LEAST_ROWS, whole=True)
        require_range(f"{where}.permutations", self.permutations, 2, whole=True)

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> PmseJudge:
        """Sample the tables that releases are compared with."""
        against = {"train": evidence.train.thin(self.rows, rng)}
        if evidence.control.rows >= 50:
            against["holdout"] = evidence.control.thin(self.rows, rng)
        return PmseJudge(self, evidence, against)


@dataclass(frozen=True, eq=False)
class PmseJudge(Judge):
    """Tables to compare with, by name."""

    settings: Pmse
    evidence: Evidence
    against: dict[str, Block]

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Five numbers against train and, where there is one, against the holdout."""
        return self._all(release, self.settings.permutations, rng, map_)

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """The same with a null of four permutations: enough for a mark on a scale."""
        return self._all(release, min(_CALIBRATION, self.settings.permutations), rng, map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Distributions of the propensities against train, and what the tree split on."""
        evidence, real = self.evidence, self.against["train"]
        columns = evidence.drawn
        synthetic = evidence.release[0].thin(self.settings.rows, rng)
        if not (real.rows and synthetic.rows and columns):
            return {}
        both = (*features(real, columns), *features(synthetic, columns))
        nominal = [n for n in columns if n not in real.values]
        levels = widths(evidence.encoding, columns)
        order = [n for n in columns if n in real.values] + nominal
        tree = tree_scores(*both, levels, rng=rng)
        return {
            "propensity": {
                "share": round(synthetic.rows / (real.rows + synthetic.rows), 5),
                "logit": _bars(logit_scores(*both, levels)),
                "cart": _bars(tree),
                "used": {n: round(u, 4) for n, u in zip(order, tree.used.tolist(), strict=True)},
            }
        }

    def _all(
        self, release: Block, permutations: int, rng: np.random.Generator, map_: Map
    ) -> list[Estimate]:
        sampled = release.thin(self.settings.rows, rng)
        found = []
        for target, block in self.against.items():
            found += self._compare(target, block, sampled, permutations, rng, map_)
        return found

    def _compare(
        self,
        target: str,
        block: Block,
        release: Block,
        permutations: int,
        rng: np.random.Generator,
        map_: Map,
    ) -> list[Estimate]:
        columns = self.evidence.drawn
        both = (*features(block, columns), *features(release, columns))
        levels = widths(block.encoding, columns)
        level = self.evidence.level
        people = (block.person, release.person)
        logit = propensity.logit(*both, levels, level=level, people=people)
        cart = propensity.cart(
            *both, levels, permutations=permutations, level=level, rng=rng, map_=map_, people=people
        )
        rows = f"{block.rows} real and {release.rows} synthetic rows{several(release)}"
        return [
            *self._pair("pmse.logit", target, logit, rows),
            *self._pair("pmse.cart", target, cart, rows),
            self._specks(target, logit, block, release),
        ]

    def _pair(
        self, name: str, target: str, found: propensity.Propensity, rows: str
    ) -> list[Estimate]:
        margin = self.evidence.margin(name, _MARGIN)
        note = "; ".join(part for part in (f"null {found.null}", rows, found.note) if part)
        if not (found.expected > 0 and found.sd > 0):
            why = f"nothing varies that the model could use; {note}"
            return [Estimate.absent(n, why, target=target) for n in (name, f"{name}.ratio")]
        scale = found.expected
        return [
            Estimate(
                name,
                found.pmse,
                found.low * scale,
                found.high * scale,
                found.expected,
                Better.LOWER,
                margin,
                target=target,
                note=note,
            ),
            Estimate(
                f"{name}.ratio",
                found.ratio,
                found.low,
                found.high,
                1.0,
                Better.LOWER,
                margin / scale,
                target=target,
                note=note,
            ),
        ]

    def _specks(
        self, target: str, found: propensity.Propensity, block: Block, release: Block
    ) -> Estimate:
        real, synthetic = block.rows, release.rows
        if not found.expected > 0:
            why = "nothing varies that the model could use"
            return Estimate.absent("specks", why, target=target)
        # DKW: each empirical distribution is within ε of its own with probability 1 − 2e^(−2nε²).
        # Where people have several rows, for as many independent ones as there are at the least.
        half = float(np.sqrt(np.log(4 / (1 - self.evidence.level)) / 2)) * (
            least_rows(block.person, real) ** -0.5 + least_rows(release.person, synthetic) ** -0.5
        )
        # A fitted score separates what it was fitted to: by chance its means come D standard
        # deviations apart, D² = (k − 1)(1/n + 1/m), and two such normals differ by 2Φ(D/2) − 1.
        apart = np.sqrt(found.effect * (found.terms - 1) * (1 / real + 1 / synthetic))
        return Estimate(
            "specks",
            found.specks,
            max(found.specks - half, 0.0),
            min(found.specks + half, 1.0),
            float(2 * ndtr(apart / 2) - 1),
            Better.LOWER,
            self.evidence.margin("specks", 0.05),
            target=target,
            note=f"Kolmogorov–Smirnov distance of the logit's propensities; {found.note}".strip(
                "; "
            ),
        )


def _bars(scores: Scores) -> dict[str, Any]:
    """Shares of real and synthetic rows by propensity, bins joined until ten rows share them."""
    ends = np.linspace(0, 1, _BARS + 1)
    real, _ = np.histogram(scores.real, ends)
    synthetic, _ = np.histogram(scores.synthetic, ends)
    keep = [0]
    for place in range(1, _BARS + 1):
        if (real + synthetic)[keep[-1] : place].sum() >= _LEAST:
            keep.append(place)
    keep[-1 if len(keep) > 1 else 0 :] = [_BARS] if len(keep) > 1 else [0, _BARS]
    return {
        "ends": [round(float(ends[place]), 4) for place in keep],
        "real": _joined(real, keep),
        "synthetic": _joined(synthetic, keep),
    }


def _joined(counts: NDArray[np.int64], keep: list[int]) -> list[float]:
    sums = np.add.reduceat(counts, keep[:-1]) / max(counts.sum(), 1)
    return [round(float(share), 5) for share in sums]
