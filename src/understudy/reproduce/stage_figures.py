"""Chapelle & Falissard, Figures 5 and 14: the ECAP by noise, and GTCAP of statistical uniques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.kernels.ecap import ecap
from understudy.kernels.laws import Normal
from understudy.kernels.population import Population
from understudy.reproduce.item import Bench
from understudy.reproduce.prison import Ground
from understudy.reproduce.result import Cell, Claim, Grid, Picture, Result, Series
from understudy.reproduce.stage_item import Numbers, Staged, apart, gathered, ranged
from understudy.reproduce.stage_tables import scores
from understudy.reproduce.stages import PAPERS, S2, S3, Round

HEIGHT, MEAN, SD, FARMERS, SAMPLE = 178.0, 170.0, 12.0, 1500, 25
SIGMAS = np.linspace(0.0, 0.4, 41)
READ: tuple[tuple[float, float], ...] = ((0.0, 1.0), (0.075, 0.2), (0.1, 0.1), (0.4, 0.017))
CLOSE = 0.05  # the paper says "approximately", "around" and "close to"
TENTHS = np.linspace(0.0, 1.0, 11)
HIGH = 0.5  # a release that gives away half of what a person's own row does
SAME = 0.02  # share of the uniques


@dataclass(frozen=True)
class Figure5(Staged):
    """ECAP of one height among farmers, by the noise's deviation. Nothing of it is random."""

    name: ClassVar[str] = "figure5"
    title: ClassVar[str] = "ECAP by the noise's deviation"
    source: ClassVar[str] = "Figures 5 to 7, the section Noise addition"
    repetitions: int = 1

    def run(self, bench: Bench) -> Result:
        """The curve, and those of other populations."""
        sizes = {f"N = {size:,}": _curve(size, SD) for size in (500, FARMERS, 5000, 50_000)}
        spreads = {f"sd = {sd:g}": _curve(FARMERS, sd) for sd in (6.0, SD, 24.0)}
        rows = [(f"σ = {sigma:g}", (Cell(_at(sigma), None, printed),)) for sigma, printed in READ]
        claims = [
            Claim.of(
                f"At σ = {sigma:g} the ECAP is near {printed:g} (within {CLOSE:g})",
                abs(_at(sigma) - printed) <= CLOSE,
                f"{_at(sigma):.4f}",
            )
            for sigma, printed in READ
        ]
        gaps = np.abs(_curve(5000, SD) - _curve(50_000, SD))
        claims.append(
            Claim.of(
                "For populations large enough the ECAP is quite insensitive to N (5,000 against "
                f"50,000, within {CLOSE:g} at every σ)",
                bool(gaps.max() <= CLOSE),
                f"largest difference {gaps.max():.3f}, at σ = {SIGMAS[gaps.argmax()]:.2g}; from "
                f"σ = 0.1 on {gaps[SIGMAS >= 0.0999].max():.3f}",
            )
        )
        pictures = [_lines("By size of the population", sizes), _lines("By its spread", spreads)]
        head = ("Noise", "ECAP")
        settings = {"x": HEIGHT, "n": SAMPLE, "mean": MEAN, "sd": SD}
        return self.result(
            bench, claims, [Grid("ECAP of a height of 178 cm", head, tuple(rows))], pictures,
            [_FARMERS], **settings,
        )  # fmt: skip


@dataclass(frozen=True)
class Figure14(Staged):
    """Distribution of GTCAP over statistical uniques, by stage."""

    name: ClassVar[str] = "figure14"
    title: ClassVar[str] = "GTCAP of statistical uniques"
    source: ClassVar[str] = "Figure 14"

    def run(self, bench: Bench) -> Result:
        """Shares of uniques in each tenth, over the splits together."""
        numbers = self.over(bench, spread)
        claim = Claim.between(
            f"Noise changes the share of uniques of whom more than half is given away by less than "
            f"{SAME:g} (S3 minus S2)",
            {"difference": apart(numbers, f"high {S3}", f"high {S2}")},
            -SAME,
            SAME,
        )
        rows = [
            (
                name,
                (
                    *ranged(gathered(numbers, f"high {name}")),
                    *ranged(gathered(numbers, f"none {name}")),
                ),
            )
            for name in PAPERS
        ]
        head = ("Table", "Above ½", "lowest", "highest", "Exactly 0", "lowest", "highest")
        grid = Grid("Share of statistical uniques", head, tuple(rows))
        return self.found(bench, [claim], [grid], [_histogram(numbers)])


def spread(here: Ground, one: Round) -> Numbers:
    """How GTCAP is spread over the uniques of a split, by stage."""
    found: dict[str, Any] = {}
    for name in PAPERS:
        values = scores(here, one.evidence(name))
        found[name] = np.histogram(values, TENTHS)[0]
        found[f"high {name}"] = float(np.mean(values > HIGH))
        found[f"none {name}"] = float(np.mean(values == 0))
    return found


def _histogram(numbers: Sequence[Numbers]) -> Picture:
    lines = []
    for name, role, dash in zip(
        PAPERS, ("original", "mnl", "cart"), ("solid", "dashed", "dotted"), strict=True
    ):
        counts = np.sum([one[name] for one in numbers], axis=0)
        shares = (counts / counts.sum()).tolist()
        # A step runs to the next tenth; the last one needs an end.
        lines.append(Series(name, TENTHS.tolist(), [*shares, shares[-1]], role=role, dash=dash))
    title = "Share of statistical uniques by tenth of GTCAP, all splits together"
    return Picture(title, "GTCAP", "share", tuple(lines), "steps")


def _curve(size: int, sd: float) -> Any:
    people, height = Population(size, Normal(MEAN, sd)), np.array([HEIGHT])
    return np.array([ecap(people, height, float(sigma), SAMPLE)[0] for sigma in SIGMAS])


def _at(sigma: float) -> float:
    people = Population(FARMERS, Normal(MEAN, SD))
    return float(ecap(people, np.array([HEIGHT]), sigma, SAMPLE)[0])


def _lines(title: str, curves: dict[str, Any]) -> Picture:
    roles, dashes = ("original", "mnl", "cart", "holdout"), ("solid", "dashed", "dotted", "long")
    lines = [
        Series(name, SIGMAS.tolist(), curve.tolist(), role=role, dash=dash)
        for (name, curve), role, dash in zip(curves.items(), roles, dashes, strict=False)
    ]
    return Picture(title, "σ of the noise, cm", "ECAP", tuple(lines))


_FARMERS = (
    "A height of 178 cm in a sample of 25 of 1,500 farmers whose heights are N(170, 12²), by "
    "Equation 1 and numerical integration. The paper's numbers are those of its text."
)
