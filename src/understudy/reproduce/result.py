"""What a reproduced item says: numbers beside the paper's, claims with a verdict, curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from understudy.results import Verdict, worst

SCHEMA = 1
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Cell:
    """Our number with its standard error, and the paper's.

    Attributes:
        ours: what was computed here.
        error: its standard error over repetitions; None where it has none (a count, a theory).
        theirs: what the paper printed; None where it printed nothing.
        count: of how many repetitions it is the mean; None: of very many.
    """

    ours: float
    error: float | None = None
    theirs: float | None = None
    count: int | None = None

    @classmethod
    def mean(cls, values: ArrayLike, theirs: float | None = None) -> Cell:
        """Mean of repetitions with its standard error.

        Example:
            >>> Cell.mean([1.0, 3.0])
            Cell(ours=2.0, error=1.0, theirs=None, count=2)
        """
        array = np.asarray(values, dtype=np.float64)
        error = array.std(ddof=1) / math.sqrt(len(array)) if len(array) > 1 else math.nan
        if error < _ROUNDING * np.abs(array).max(initial=0.0):
            error = 0.0  # all repetitions agree but for the last bits
        return cls(float(array.mean()), float(error), theirs, len(array))

    @property
    def interval(self) -> tuple[float, float]:
        """Where the mean lies with 95% confidence, by Student's t.

        Example:
            >>> low, high = Cell(2.0, 1.0, count=2).interval
            >>> round(low, 2), round(high, 2)
            (-10.71, 14.71)
        """
        freedom = math.inf if self.count is None else max(self.count - 1, 1)
        half = float(stdtrit(freedom, 0.975)) * (self.error or 0.0)
        return self.ours - half, self.ours + half

    def outside(self, low: float, high: float) -> float:
        """How many standard errors ours lies outside of a range; 0 inside it.

        Example:
            >>> Cell(1.5, 0.25).outside(0.0, 1.0), Cell(0.5, 0.25).outside(0.0, 1.0)
            (2.0, 0.0)
        """
        gap = max(low - self.ours, self.ours - high, 0.0)
        if gap == 0:
            return 0.0
        return gap / self.error if self.error else math.inf

    def to_json(self) -> dict[str, Any]:
        """The cell as JSON; a number that could not be computed is null."""
        return {"ours": finite(self.ours), "error": finite(self.error), "theirs": self.theirs}


@dataclass(frozen=True)
class Grid:
    """A table of the paper: a name and cells for each row."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]

    def to_json(self) -> dict[str, Any]:
        """The table as JSON."""
        rows = [{"name": name, "cells": [c.to_json() for c in cells]} for name, cells in self.rows]
        return {"caption": self.caption, "head": list(self.head), "rows": rows}


@dataclass(frozen=True)
class Claim:
    """What the paper says, put so that numbers can contradict it.

    Attributes:
        text: the claim.
        verdict: holds, fails, or undecided where the interval allows both.
        evidence: the numbers behind the verdict.
    """

    text: str
    verdict: Verdict
    evidence: str

    @classmethod
    def of(cls, text: str, good: bool, evidence: str) -> Claim:
        """A claim that holds or fails outright."""
        return cls(text, Verdict.HOLDS if good else Verdict.FAILS, evidence)

    @classmethod
    def between(
        cls,
        text: str,
        parts: Mapping[str, Cell],
        low: float = -math.inf,
        high: float = math.inf,
    ) -> Claim:
        """A claim that numbers lie in a range: by the interval of each; the worst one counts.

        Example:
            >>> Claim.between("near 1", {"a": Cell(1.02, 0.01)}, 0.9, 1.1).verdict.value
            'holds'
        """
        verdict = worst([_place(cell, low, high) for cell in parts.values()])
        return cls(text, verdict, "; ".join(_told(name, cell) for name, cell in parts.items()))

    def to_json(self) -> dict[str, Any]:
        """The claim as JSON."""
        return {"claim": self.text, "verdict": self.verdict.value, "evidence": self.evidence}


@dataclass(frozen=True)
class Series:
    """One line (or cloud of points) of a picture.

    Attributes:
        name: what the legend says.
        x: positions.
        y: heights.
        low: lower end of a band, if any.
        high: upper end of it.
        role: which colour: ``original``, ``holdout``, ``mnl``, ``cart``, ``null``.
        dash: ``solid``, ``dashed``, ``dotted``, ``long`` or ``mixed``.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    role: str = "original"
    dash: str = "solid"

    def to_json(self) -> dict[str, Any]:
        """The line as JSON."""
        numbers = {
            key: [finite(v) for v in getattr(self, key)] for key in ("x", "y", "low", "high")
        }
        return {"name": self.name, "role": self.role, "dash": self.dash, **numbers}


@dataclass(frozen=True)
class Picture:
    """A figure: lines over a common axis, or points on a map.

    Attributes:
        title: what it shows.
        across: title of the horizontal axis.
        up: title of the vertical axis.
        series: its lines.
        kind: ``lines``, ``steps``, ``points`` or ``spread`` (one value per replicate, by name).
    """

    title: str
    across: str
    up: str
    series: tuple[Series, ...]
    kind: str = "lines"

    def to_json(self) -> dict[str, Any]:
        """The figure as JSON."""
        series = [one.to_json() for one in self.series]
        words = {"title": self.title, "across": self.across, "up": self.up, "kind": self.kind}
        return {**words, "series": series}


@dataclass(frozen=True)
class Result:
    """One item, recomputed.

    Attributes:
        paper: name of the paper.
        item: name of the item.
        title: what it is about.
        source: where the paper has it.
        settings: with what it was computed, the seed included.
        quick: in which way it is smaller than the paper's; empty if it is not.
        fictional: nobody in its tables is real.
    """

    paper: str
    item: str
    title: str
    source: str
    settings: Mapping[str, Any]
    quick: str
    claims: tuple[Claim, ...]
    grids: tuple[Grid, ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = field(default=())
    fictional: bool = True

    def to_json(self) -> dict[str, Any]:
        """The item as one JSON object."""
        from understudy import __version__

        return {
            "schema": SCHEMA,
            "understudy": __version__,
            "paper": self.paper,
            "item": self.item,
            "title": self.title,
            "source": self.source,
            "settings": dict(self.settings),
            "quick": self.quick,
            "fictional": self.fictional,
            "claims": [claim.to_json() for claim in self.claims],
            "tables": [grid.to_json() for grid in self.grids],
            "pictures": [picture.to_json() for picture in self.pictures],
            "notes": list(self.notes),
        }


def _place(cell: Cell, low: float, high: float) -> Verdict:
    """Whether an interval lies within a range, outside of it, or across its end."""
    bottom, top = cell.interval
    if not (math.isfinite(bottom) and math.isfinite(top)):
        return Verdict.NOT_MEASURED
    if bottom > low and top < high:
        return Verdict.HOLDS
    return Verdict.FAILS if top < low or bottom > high else Verdict.UNDECIDED


def _told(name: str, cell: Cell) -> str:
    low, high = cell.interval
    return f"{name}: {cell.ours:.4g} ({low:.4g} to {high:.4g})".replace("-", "−")


def errors(count: int, repetitions: int) -> float:
    """As many standard errors as are rare for a mean of few repetitions as ``count`` for many.

    Student's t has heavy tails: 4 standard errors of 6 repetitions are nothing rare.

    Example:
        >>> round(errors(4, 1000), 2), round(errors(4, 6), 1)
        (4.02, 12.3)
    """
    return float(-stdtrit(repetitions - 1, ndtr(-count)))


def finite(value: float | None) -> float | None:
    """A number for JSON: null where there is none."""
    return None if value is None or not math.isfinite(value) else float(value)
