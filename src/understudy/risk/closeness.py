"""Closeness: identical matches, distance to the closest record, and their ratio.

Distances run *to train*: from the release, and from the holdout, which says how close honest rows
come (Bale & Quick §3.1–3.3; Platzer & Reutterer 2021). Train is never subsampled. These are
similarity checks, not proof of anonymity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

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
from understudy.kernels.neighbours import Points, nearest
from understudy.kernels.resample import interval, mean_draws, quantile, quantile_draws
from understudy.tables.encode import Block

Floats = NDArray[np.float64]
_TAIL = 0.05
_NEIGHBOURS = 5
_FLOOR = 0.01  # margin of distances where 5% of the reference would be nothing


@dataclass(frozen=True)
class Closeness(Measure):
    """IMS, DCR and NNDR, each against the holdout.

    - ``ims``: share of rows that equal some row of train, typed, numbers at the decimals that the
      column has in train (for ``hamming``, cell by cell).
    - ``dcr.p05``: 5th percentile of the distance to the nearest train row.
    - ``nndr.p05``: 5th percentile of d(1)/d(5), where d(5) > 0.
    """

    names: ClassVar[tuple[str, ...]] = ("ims", "dcr.p05", "nndr.p05")

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> ClosenessJudge:
        """Measure the holdout: all of it for a release, the control half for the fresh one."""
        columns = evidence.drawn
        judge = ClosenessJudge(evidence, columns, points(evidence.train, columns, evidence.metric))
        control = judge.reach(evidence.control, rng, map_)
        fresh = judge.reach(evidence.fresh, rng, map_)
        whole = {key: np.concatenate([control[key], fresh[key]]) for key in control}
        return replace(judge, reference=whole, control=control)


@dataclass(frozen=True, eq=False)
class ClosenessJudge(Judge):
    """Train as points, with the holdout's own distances to it."""

    evidence: Evidence
    columns: tuple[str, ...]
    train: Points
    reference: dict[str, Floats] = field(default_factory=dict)
    control: dict[str, Floats] = field(default_factory=dict)
    seen: dict[int, dict[str, Floats]] = field(default_factory=dict)

    def reach(self, block: Block, rng: np.random.Generator, map_: Map) -> dict[str, Floats]:
        """Distances of a block's rows to train."""
        block = block.thin(self.evidence.queries, rng)
        query = points(block, self.columns, self.evidence.metric)
        distance, _ = nearest(self.train, query, _NEIGHBOURS, map_=map_)
        same = distance[:, 0] == 0
        if self.evidence.metric != "hamming":  # there, rows in the same cells are the same
            mine, theirs = row_numbers([self.evidence.train, block], self.columns)
            same = np.isin(theirs, mine)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = distance[:, 0] / distance[:, -1]
        # 0/0 is neither 0 nor 1, and five neighbours may not exist: both are left out.
        defined = (distance[:, -1] > 0) & np.isfinite(distance[:, -1])
        found = {"ims": same.astype(np.float64), "dcr": distance[:, 0], "nndr": ratio[defined]}
        if block.person is not None:
            whose = block.person.astype(np.float64)
            found |= {"ims.person": whose, "dcr.person": whose, "nndr.person": whose[defined]}
        return found

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """The three numbers with their intervals."""
        found = self.reach(release, rng, map_)
        self.seen[id(release)] = found
        note = self._note(release, found)
        equal = "the same cells" if self.evidence.metric == "hamming" else "train's decimals"
        return [
            self._share("ims", found, rng, f"equal at {equal}; {note}"),
            self._tail("dcr.p05", "dcr", found, rng, note),
            self._tail("nndr.p05", "nndr", found, rng, note),
        ]

    def calibration(
        self, case: str, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """Fresh people are compared with the other half of the holdout alone."""
        judge = replace(self, reference=self.control) if case == "fresh" else self
        return judge.estimates(release, rng=rng, map_=map_)

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """Distributions of distances, and the share of matches over a grid of thresholds."""
        found = [
            self.seen.get(id(block)) or self.reach(block, rng, map_)
            for block in self.evidence.release
        ]
        return {"closeness": _curves(self.reference, found)}

    def _note(self, release: Block, found: dict[str, Floats]) -> str:
        asked = min(release.rows, self.evidence.queries)
        left, honest = _undefined(found), _undefined(self.reference)
        sampled = "" if asked == release.rows else f"; {asked} of {release.rows} rows asked"
        zero = ""
        if left > 0 or honest > 0:
            zero = f"; d1/d5 undefined for {left:.1%} of rows, {honest:.1%} of the holdout's"
        columns = f"metric {self.evidence.metric} over {len(self.columns)} columns"
        return f"{columns}{sampled}{zero}{several(release)}"

    def _share(
        self, name: str, found: dict[str, Floats], rng: np.random.Generator, note: str
    ) -> Estimate:
        ours, theirs = found[name], self.reference[name]
        draws = mean_draws(ours, rng, person=found.get(f"{name}.person"))
        base = mean_draws(theirs, rng, person=self.reference.get(f"{name}.person"))
        margin = self.evidence.margin(name, 0.01)
        return _estimate(
            name,
            float(ours.mean()),
            float(theirs.mean()),
            draws,
            base,
            Better.LOWER,
            margin,
            self.evidence.level,
            note,
        )

    def _tail(
        self, name: str, key: str, found: dict[str, Floats], rng: np.random.Generator, note: str
    ) -> Estimate:
        ours, theirs = found[key], self.reference[key]
        if not (ours.size and theirs.size):
            # Whoever equals five rows of train is in a crowd; `ims` and `copies` judge those.
            who = "the release" if theirs.size else "the holdout"
            return Estimate.absent(name, f"d1/d5 is 0/0 for every row of {who}; {note}")
        value, reference = quantile(ours, _TAIL), quantile(theirs, _TAIL)
        draws = quantile_draws(ours, _TAIL, rng, person=found.get(f"{key}.person"))
        base = quantile_draws(theirs, _TAIL, rng, person=self.reference.get(f"{key}.person"))
        share = self.evidence.margin(name, 0.05)
        margin = max(share * reference, _FLOOR)
        return _estimate(
            name, value, reference, draws, base, Better.HIGHER, margin, self.evidence.level, note
        )


def _undefined(found: dict[str, Floats]) -> float:
    """Share of rows that equal five rows of train: 0/0 is neither 0 nor 1."""
    return 1 - found["nndr"].size / max(found["dcr"].size, 1)


def _estimate(
    name: str,
    value: float,
    reference: float,
    draws: Floats,
    base: Floats,
    better: Better,
    margin: float,
    level: float,
    note: str,
) -> Estimate:
    low, high = interval(draws, level)
    gap_low, gap_high = interval(draws - base, level)
    return Estimate(name, value, low, high, reference, better, margin, gap_low, gap_high, note=note)


def _curves(reference: dict[str, Floats], found: list[dict[str, Floats]]) -> dict[str, Any]:
    """Empirical distributions on a common grid; grid points are quantiles of pooled distances."""
    shares = np.linspace(0, 1, 101)
    result: dict[str, Any] = {}
    for key in ("dcr", "nndr"):
        pooled = np.concatenate([reference[key], *(item[key] for item in found)])
        if pooled.size == 0:
            continue
        # Points between the 0.5% and 99.5% quantiles: no single row's distance is a grid end.
        low, high = np.quantile(pooled, [0.005, 0.995])
        grid = low + (high - low) * shares
        result[key] = {
            "grid": _marks(grid),
            "holdout": _rounded(_below(reference[key], grid)),
            "synthetic": [_rounded(_below(item[key], grid)) for item in found],
        }
    if reference["dcr"].size:
        result["ims"] = _matches(reference, found)
    return result


def _matches(reference: dict[str, Floats], found: list[dict[str, Floats]]) -> dict[str, Any]:
    """Share of rows with a train row within δ, for δ from 0 to where one honest row in five has."""
    top = quantile(reference["dcr"], 0.2)
    grid = np.linspace(0, top if top > 0 else 1.0, 21)
    return {
        "grid": _marks(grid),
        "holdout": _rounded(_below(reference["dcr"], grid)),
        "synthetic": [_rounded(_below(item["dcr"], grid)) for item in found],
    }


def _below(values: Floats, grid: Floats) -> Floats:
    ordered = np.sort(values)
    count = max(ordered.size, 1)
    return np.asarray(np.searchsorted(ordered, grid, side="right") / count, dtype=np.float64)


def _rounded(values: Floats) -> list[float]:
    return [round(float(value), 4) for value in values]


def _marks(grid: Floats) -> list[float]:
    """Even steps, to a tenth of a step: fine enough to draw, too coarse to be anybody's value."""
    step = float(grid[1] - grid[0])
    digits = 1 - math.floor(math.log10(step)) if step > 0 else 4
    return [round(float(mark), digits) for mark in grid]
