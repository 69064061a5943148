"""Are people as clustered on the map as they were? Ripley's L, of all and of each mark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import PlanError
from understudy.evidence import Better, Estimate, Evidence, Judge, Map, Measure, alone
from understudy.kernels.pairs import CORRECTIONS, DIVISORS, Ripley, ripley
from understudy.seeds import stream
from understudy.tables.encode import Block, stack
from understudy.tables.schema import Schema
from understudy.utility.marks import Mark, has_levels, marks_of
from understudy.utility.places import LEAST, Places, find_places

Floats = NDArray[np.float64]
_NAME = "l_function.gap"
_MARGIN = 0.05  # share of train's largest L
_DRAWS = 1000
_BAND = (2.5, 97.5)
_DIGITS = 5
_ODD = "a number whose values are many is no mark: band it under [[prepare]]"


@dataclass(frozen=True)
class LFunction(Measure):
    """Largest gap between the release's L and train's over distances h.

    gap = max_h |L_Z(h) − L_T(h)|, L = √(K/π)        (Bale & Quick eq. 26, 27, Figure 7)

    for all points and for each level of the marks. The reference is what two samples of train's
    people of these sizes show on average; its law, and the interval, come from how much each
    point adds to K.

    Attributes:
        hs: number of distances, evenly spaced.
        most: the largest, in km for degrees, else in the columns' unit (None: a quarter of the
            shorter side of the middle of train).
        correction: ``none`` (the paper), ``border``, ``translate`` or ``isotropic``.
        divisor: ``pairs``, n(n − 1), or ``squares``, n² (the paper).
        marks: columns whose levels are looked at one by one; ``auto``: sensitive ones and those
            with at most six levels.
        window: corners of the study area in the table's coordinates (empty: train's bounding box).
        rows: at most this many points of each table are compared; the note says so.
    """

    names: ClassVar[tuple[str, ...]] = (_NAME,)
    about: ClassVar[str] = "utility"
    must_catch: ClassVar[str] = "permuted"
    needs_holdout: ClassVar[bool] = False
    hs: int = 24
    most: float | None = None
    correction: str = "none"
    divisor: str = "pairs"
    marks: str | tuple[str, ...] = "auto"
    window: tuple[tuple[float, float], ...] = ()
    rows: int = 5_000

    def check(self, where: str) -> None:
        """Check words and ranges."""
        for name, known in (("correction", CORRECTIONS), ("divisor", DIVISORS)):
            if getattr(self, name) not in known:
                raise PlanError(
                    f"{where}.{name}", getattr(self, name), f"one of {', '.join(known)}"
                )
        for name, low, high in (("hs", 2, 200), ("rows", 100, 1_000_000)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise PlanError(f"{where}.{name}", value, f"a whole number from {low} to {high:,}")
        if self.most is not None and not (_is_number(self.most) and self.most > 0):
            raise PlanError(f"{where}.most", self.most, "a distance above 0")
        if self.marks != "auto" and not _are_texts(self.marks):
            raise PlanError(f"{where}.marks", self.marks, "'auto' or a list of columns")
        if self.window != () and not _is_polygon(self.window):
            expected = "a list of at least three corners, such as [[0, 0], [2, 0], [2, 1]]"
            raise PlanError(f"{where}.window", self.window, expected)

    def fits(self, where: str, schema: Schema) -> None:
        """Refuse marks that the table lacks."""
        for name in () if isinstance(self.marks, str) else self.marks:
            if name not in schema:
                known = ", ".join(schema.names)
                raise PlanError(f"{where}.marks", name, f"columns of the table: {known}")

    def prepare(
        self, evidence: Evidence, *, rng: np.random.Generator, map_: Map = map
    ) -> LFunctionJudge:
        """L of train, of all points and by mark."""
        pick = int(rng.integers(2**62))
        places = find_places(evidence.train, self.window)
        if isinstance(places, str):
            return LFunctionJudge(self, evidence, None, places, pick)
        targets = marks_of(evidence, places, self.marks)
        judge = LFunctionJudge(self, evidence, places, "", pick, targets)
        judge.train.extend(judge.curves(evidence.train, map_))
        return judge


@dataclass(frozen=True, eq=False)
class LFunctionJudge(Judge):
    """The map, whom to look at, and train's curves."""

    settings: LFunction
    evidence: Evidence
    places: Places | None
    why: str
    pick: int
    targets: tuple[Mark, ...] = ()
    train: list[Ripley | None] = field(default_factory=list)
    seen: dict[int, list[Ripley | None]] = field(default_factory=dict)

    def estimates(
        self, release: Block, *, rng: np.random.Generator, map_: Map = map
    ) -> list[Estimate]:
        """One gap for all points and for each level."""
        if self.places is None:
            return [Estimate.absent(_NAME, self.why)]
        self.seen[id(release)] = found = self.curves(release, map_)
        note = self._note(release) + alone(self.evidence.train)
        every = zip(self.targets, self.train, found, strict=True)
        compared = [self._compared(one, mine, other, note, rng) for one, mine, other in every]
        return compared + [Estimate.absent(_NAME, _ODD, target=name) for name in self._odd()]

    def curves(self, block: Block, map_: Map = map) -> list[Ripley | None]:
        """K of each target; None where there are fewer than ten points."""
        points, there = self._points(block)

        def one(target: Mark) -> Ripley | None:
            return self._ripley(points[target.rows(block)[there]])

        return list(map_(one, self.targets))

    def summaries(self, *, rng: np.random.Generator, map_: Map = map) -> dict[str, Any]:
        """L − h of train, holdout and release (mean and 95% band over replicates)."""
        if self.places is None:
            return {}
        held: list[Ripley | None] = [None] * len(self.targets)
        if self.evidence.has_holdout:
            held = self.curves(stack([self.evidence.control, self.evidence.fresh]), map_)
        found = [
            self.seen[id(block)] if id(block) in self.seen else self.curves(block, map_)
            for block in self.evidence.release
        ]
        rows = zip(self.targets, self.train, held, *found, strict=True)
        return {
            "l_function": {
                "unit": self.places.unit,
                "columns": list(self.places.columns),
                "note": f"edge correction {self.settings.correction}; {self.places.note}",
                "grid": _rounded(self._radii()),
                "replicates": len(found),
                "targets": [
                    _summary(one, mine, other, release)
                    for one, mine, other, *release in rows
                    if mine is not None
                ],
            }
        }

    def _odd(self) -> list[str]:
        """Marks that were named and are none."""
        named = () if isinstance(self.settings.marks, str) else self.settings.marks
        encoding = self.evidence.encoding
        return [n for n in named if n in encoding.names and not has_levels(encoding[n])]

    def _points(self, block: Block) -> tuple[Floats, NDArray[np.bool_]]:
        """Points to compare, and which rows they are of."""
        assert self.places is not None
        points, there = self.places.points(block)
        if self.places.given or self.settings.correction != "none":
            inside = self.places.window.holds(points)
            there[there] = inside
            points = points[inside]
        return points, there

    def _ripley(self, points: Floats) -> Ripley | None:
        assert self.places is not None
        if len(points) < LEAST:
            return None
        if len(points) > self.settings.rows:
            # By the number of points alone: a copy is thinned like train, and has no gap.
            rng = stream(self.pick, "points", len(points))
            points = points[np.sort(rng.permutation(len(points))[: self.settings.rows])]
        correction, divisor = self.settings.correction, self.settings.divisor
        window = self.places.window
        return ripley(points, self._radii(), window, correction=correction, divisor=divisor)

    def _radii(self) -> Floats:
        assert self.places is not None
        most = self.settings.most or self.places.reach
        return np.linspace(0, most, self.settings.hs + 1)[1:]

    def _compared(
        self,
        target: Mark,
        mine: Ripley | None,
        other: Ripley | None,
        note: str,
        rng: np.random.Generator,
    ) -> Estimate:
        if mine is None:
            return Estimate.absent(_NAME, f"fewer than {LEAST} points of train", target=target.name)
        if other is None:
            why = f"fewer than {LEAST} points of the release: no pattern to compare"
            return Estimate.absent(_NAME, why, target=target.name, applies=True)
        known = _known(mine, other)
        if not known.any():
            why = f"fewer than {LEAST} pairs of points within the largest h"
            return Estimate.absent(_NAME, why, target=target.name)
        return self._estimate(target, mine, other, known, note, rng)

    def _estimate(
        self,
        target: Mark,
        mine: Ripley,
        other: Ripley,
        known: NDArray[np.bool_],
        note: str,
        rng: np.random.Generator,
    ) -> Estimate:
        """The gap, and how far chance alone moves it.

        |max|f̂| − max|f|| ≤ max|f̂ − f|: a quantile of the right side is half an interval that holds
        over all h together. The reference is the mean of max|f̂| where both are train's.
        """
        gap = np.abs(other.l - mine.l)[known]
        ours = mine.deviations(mine.points, _DRAWS, rng)
        theirs = other.deviations(other.points, _DRAWS, rng)
        twin = mine.deviations(other.points, _DRAWS, rng)
        half = float(np.quantile(_largest(theirs - ours, known), self.evidence.level))
        reference = float(_largest(twin - ours, known).mean())
        value, at = float(gap.max()), float(mine.radii[known][int(gap.argmax())])
        unit = f" {self.places.unit}" if self.places and self.places.unit else ""
        counts = f"{other.points} points against train's {mine.points}"
        return Estimate(
            _NAME,
            value,
            max(value - half, 0.0),
            value + half,
            reference,
            Better.LOWER,
            self.evidence.margin(_NAME, _MARGIN) * float(mine.l[known].max()),
            value - half - reference,
            value + half - reference,
            target=target.name,
            note=f"{counts}, apart most at h = {at:.3g}{unit}; {note}",
        )

    def _note(self, release: Block) -> str:
        assert self.places is not None
        settings, reach = self.settings, float(self._radii()[-1])
        unit = f" {self.places.unit}" if self.places.unit else ""
        parts = [
            f"{settings.hs} distances up to {reach:.3g}{unit}",
            f"edge correction {settings.correction}",
            f"divisor {'n(n − 1)' if settings.divisor == 'pairs' else 'n²'}",
            self.places.note,
        ]
        if settings.correction == "translate" and not self.places.window.is_box:
            parts.append("areas of the moved polygon read off a raster")
        for name, block in (("train", self.evidence.train), ("the release", release)):
            size = len(self._points(block)[0])
            if size < block.rows:
                parts.append(
                    f"{block.rows - size} of {block.rows} rows of {name} are not on the map"
                )
            if size > settings.rows:
                parts.append(f"at most {settings.rows} points of {name} at a time, at random")
        return "; ".join(parts)


def _known(*curves: Ripley) -> NDArray[np.bool_]:
    """Distances at which K exists and some table has ten pairs: fewer are nobody's pattern."""
    exists = np.all([np.isfinite(curve.k) for curve in curves], axis=0)
    enough = np.any([curve.pairs >= LEAST for curve in curves], axis=0)
    return np.asarray(exists & enough)


def _largest(deviations: Floats, known: NDArray[np.bool_]) -> Floats:
    return np.asarray(np.abs(deviations[:, known]).max(axis=1), dtype=np.float64)


def _summary(
    target: Mark, mine: Ripley, held: Ripley | None, release: Sequence[Ripley | None]
) -> dict[str, Any]:
    return {
        "target": target.name,
        "column": target.column,
        "level": target.label or None,
        "points": {
            "original": mine.points,
            "holdout": None if held is None else held.points,
            "synthetic": [None if one is None else one.points for one in release],
        },
        **_lines(mine, held, release, lambda one: one.l - one.radii),
        "k": _lines(mine, held, release, lambda one: one.k),
    }


def _lines(
    mine: Ripley,
    held: Ripley | None,
    release: Sequence[Ripley | None],
    of: Callable[[Ripley], Floats],
) -> dict[str, Any]:
    """A function of every table: train, holdout, the replicates' mean and 95% band."""
    size = len(mine.radii)
    curves = np.array([_curve(one, of, size) for one in release])
    several = len(curves) > 1
    low, high = (_over(curves, np.percentile, end) for end in _BAND)
    return {
        "original": _rounded(_curve(mine, of, size)),
        "holdout": None if held is None else _rounded(_curve(held, of, size)),
        "synthetic": _rounded(_over(curves, np.mean)),
        "low": _rounded(low) if several else None,
        "high": _rounded(high) if several else None,
    }


def _curve(found: Ripley | None, of: Callable[[Ripley], Floats], size: int) -> Floats:
    """A function of h, where at least ten pairs say what it is."""
    if found is None:
        return np.full(size, np.nan)
    return np.where(found.pairs >= LEAST, of(found), np.nan)


def _over(curves: Floats, statistic: Any, *settings: float) -> Floats:
    """A statistic over replicates at each distance; NaN unless all of them have a value."""
    found = np.full(curves.shape[1], np.nan)
    whole = np.isfinite(curves).all(axis=0)
    if whole.any():
        found[whole] = statistic(curves[:, whole], *settings, axis=0)
    return found


def _rounded(values: Floats) -> list[float | None]:
    return [float(f"{v:.{_DIGITS}g}") if math.isfinite(v) else None for v in values.tolist()]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(item, str) for item in value)


def _is_polygon(value: Any) -> bool:
    if not isinstance(value, tuple | list) or len(value) < 3:
        return False
    pairs = [isinstance(corner, tuple | list) and len(corner) == 2 for corner in value]
    return all(pairs) and all(_is_number(end) for corner in value for end in corner)
