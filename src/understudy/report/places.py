"""Clusters and points on a map: what summaries and the map's own file hold, picked and labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.columns import Points
from understudy.report.judged import Row, sentence, worst
from understudy.report.numbers import count, number

_LINES = (("Original", "original"), ("Held out", "holdout"), ("Synthetic", "synthetic"))
_ROWS = 12


@dataclass(frozen=True)
class Pattern:
    """L − h of some people: lines, a band where there are replicates, and the same as a table."""

    number: int
    name: str
    about: str
    verdict: Row | None
    lines: Points
    band: Points
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Clusters:
    """All patterns, and what they have in common."""

    axis: str
    note: str
    replicates: int
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Side:
    """One table's points."""

    key: str
    title: str
    about: str
    points: Points


@dataclass(frozen=True)
class PointMap:
    """Points of the original and of a synthetic table in one frame."""

    x: str
    y: str
    aspect: float
    frame: tuple[tuple[float, float], tuple[float, float]]
    sides: tuple[Side, ...]


def clusters(found: Mapping[str, Any], rows: Sequence[Row]) -> Clusters | None:
    """The patterns that the summaries have."""
    if not found or not found["targets"]:
        return None
    unit = f" in {found['unit']}" if found["unit"] else ""
    patterns = [
        _pattern(place, target, found["grid"], f"h{unit}", rows)
        for place, target in enumerate(found["targets"])
    ]
    return Clusters(unit, sentence(found["note"]), found["replicates"], tuple(patterns))


def point_map(found: Mapping[str, Any]) -> PointMap | None:
    """Both tables' points; None where one has none."""
    titles = {"original": "Original (train)", "synthetic": "Synthetic (first replicate)"}
    if not all(found["points"].get(key) for key in titles):
        return None
    x, y = map(str, found["columns"])
    both = [point for points in found["points"].values() for point in points]
    frame = tuple((min(p[i] for p in both), max(p[i] for p in both)) for i in (0, 1))
    sides = [
        Side(key, title, _about(len(found["points"][key]), found["rows"][key]), _dots(found, key))
        for key, title in titles.items()
    ]
    return PointMap(x, y, round(found["aspect"], 3), (frame[0], frame[1]), tuple(sides))


def _about(shown: int, total: int) -> str:
    of = "" if shown == total else f" of {total:,}, at random"
    return f"{count(shown, 'point')}{of}; rounded to a thousandth of the map"


def _dots(found: Mapping[str, Any], key: str) -> Points:
    return [{"x": x, "y": y} for x, y in found["points"][key]]


def _pattern(
    place: int, target: Mapping[str, Any], grid: Sequence[float], axis: str, rows: Sequence[Row]
) -> Pattern:
    column, level = target.get("column"), target.get("level")
    about = [
        row
        for row in rows
        if row.measure == "l_function.gap" and row.target == (target.get("target") or "")
    ]
    lines = [(name, target[key]) for name, key in _LINES if target.get(key)]
    low, high = target.get("low"), target.get("high")
    band = [] if low is None or high is None else list(zip(grid, low, high, strict=True))
    columns = [*_columns(target, ""), *_columns(target.get("k") or {}, "K: ")]
    return Pattern(
        place,
        "All points" if column is None else f"{column} = {level}",
        _counts(target["points"]),
        worst(about) if about else None,
        [
            {"x": h, "y": value, "table": name, "line": line}
            for line, (name, values) in enumerate(lines)
            for h, value in zip(grid, values, strict=True)
            if value is not None
        ],
        [{"x": h, "low": a, "high": b} for h, a, b in band if a is not None and b is not None],
        (axis, *(name for name, _ in columns)),
        _table(grid, [texts for _, texts in columns]),
    )


def _counts(points: Mapping[str, Any]) -> str:
    synthetic = [n for n in points["synthetic"] if n is not None]
    parts = [f"{points['original']:,} points of train"]
    if synthetic:
        ends = sorted({min(synthetic), max(synthetic)})
        parts.append(f"{' to '.join(f'{n:,}' for n in ends)} synthetic")
    if points.get("holdout"):
        parts.append(f"{points['holdout']:,} held out")
    return ", ".join(parts)


def _columns(found: Mapping[str, Any], prefix: str) -> list[tuple[str, list[str]]]:
    """Heads and cells: a column for each table, and one for the band if there is one."""
    columns = [
        (f"{prefix}{name}", [number(value) for value in found[key]])
        for name, key in _LINES
        if found.get(key)
    ]
    if found.get("low") and found.get("high"):
        ends = zip(found["low"], found["high"], strict=True)
        cells = [number(a) if a is None else f"{number(a)} to {number(b)}" for a, b in ends]
        columns.append((f"{prefix}95% band", cells))
    return columns


def _table(grid: Sequence[float], columns: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    every = max(1, len(grid) // _ROWS)
    return tuple(
        (number(grid[i]), *(cells[i] for cells in columns)) for i in range(0, len(grid), every)
    )
