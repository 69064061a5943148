"""Columns, pairs, curves and propensities: what summaries hold, picked and labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.judged import Row, worst
from understudy.report.numbers import number

Points = list[dict[str, Any]]
_SHOWN_PAIRS = 12
_HEAT_COLUMNS = 40
_MOST_BARS = 20
_USED = 12
_FULL = 0.1  # excess of a pair that has full colour, unless some pair has more


@dataclass(frozen=True)
class Curve:
    """Lines over one axis, and the same as a table."""

    key: str
    title: str
    axis: str
    points: Points
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Look:
    """One column: original, held-out and synthetic."""

    number: int
    name: str
    label: str
    about: str
    verdict: Row | None
    shape: str
    labels: tuple[str, ...]
    points: Points
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    missing: tuple[str, str]


@dataclass(frozen=True)
class Pairs:
    """All pairs for the map, the worst for the list."""

    points: Points
    names: tuple[str, ...]
    left_out: int
    worst: tuple[tuple[str, str, str, str, str], ...]
    count: int
    top: float
    full: str


@dataclass(frozen=True)
class Propensities:
    """Where a model puts real and synthetic rows, and what its trees split on."""

    share: float | None
    views: tuple[Curve, ...]
    used: Points
    used_table: tuple[tuple[str, str], ...]


def curves(closeness: Mapping[str, Any]) -> tuple[Curve, ...]:
    """Closeness curves that the summaries have."""
    kinds = (
        ("ims", "Rows that match within a distance δ", "distance δ that counts as a match"),
        ("dcr", "Distance to the closest record of train", "distance"),
        ("nndr", "Nearest over fifth-nearest distance", "ratio"),
    )
    return tuple(
        _curve(key, title, axis, closeness[key]) for key, title, axis in kinds if key in closeness
    )


def look(place: int, column: Mapping[str, Any], rows: Sequence[Row]) -> Look:
    """One column's shares, in the chart's and the table's form."""
    tables = _tables(column)
    labels = tuple(str(label) for label in column["labels"])
    ends = column.get("ends")
    shape = "bins" if ends and len(ends) == len(labels) + 1 else "levels"
    if shape == "levels" and len(labels) > _MOST_BARS + 1 and column["shape"] == "bins":
        shape = "ordered"
    labels = _used_labels(labels, tables) if shape == "levels" else labels
    points = _binned(tables, ends) if ends and shape == "bins" else _levelled(tables, labels)
    return Look(
        place,
        str(column["name"]),
        str(column.get("label") or ""),
        _about(column),
        worst(rows) if rows else None,
        shape,
        labels,
        points,
        ("Value", *(name for name, _, _ in tables)),
        tuple(
            (label, *(number(_at(shares, i), share=True) for _, _, shares in tables))
            for i, label in enumerate(labels)
        ),
        _missing(column),
    )


def pairs(found: Sequence[Mapping[str, Any]]) -> Pairs | None:
    """The pairs' map (at most 40 columns: those of the worst pairs first) and the worst pairs."""
    if not found:
        return None
    ordered = sorted(found, key=lambda pair: -_excess(pair))
    every = dict.fromkeys(str(name) for pair in found for name in pair["columns"])
    first = dict.fromkeys(str(name) for pair in ordered for name in pair["columns"])
    shown = set(list(first)[:_HEAT_COLUMNS])
    names = tuple(name for name in every if name in shown)
    points = [
        {"a": x, "b": y, "excess": _excess(pair)}
        for pair in found
        if set(map(str, pair["columns"])) <= shown
        for x, y in (map(str, pair["columns"]), map(str, reversed(pair["columns"])))
    ]
    listed = tuple(_listed(pair) for pair in ordered[:_SHOWN_PAIRS])
    # On a table where every relation was kept, no pair may look as if it had been lost.
    top = max(_FULL, _excess(ordered[0]))
    return Pairs(
        points, names, len(every) - len(names), listed, len(found), top, number(top, share=True)
    )


def propensities(found: Mapping[str, Any]) -> Propensities | None:
    """The propensities' histograms and the columns that the trees used most."""
    if not found:
        return None
    kinds = (("logit", "Logistic regression"), ("cart", "Classification trees"))
    views = tuple(_histogram(key, title, found[key]) for key, title in kinds if key in found)
    used = sorted(found.get("used", {}).items(), key=lambda one: -one[1])[:_USED]
    return Propensities(
        found.get("share"),
        views,
        [{"name": str(name), "share": share} for name, share in used],
        tuple((str(name), number(share, share=True)) for name, share in used),
    )


def _curve(key: str, title: str, axis: str, found: Mapping[str, Any]) -> Curve:
    grid, lines = found["grid"], _lines(found["holdout"], found["synthetic"])
    points = [
        {"x": x, "y": y, "table": name, "line": line}
        for line, (name, values) in enumerate(lines)
        for x, y in zip(grid, values, strict=True)
    ]
    every = max(1, (len(grid) - 1) // 10)
    table = tuple(
        (number(grid[i]), *(number(values[i], share=True) for _, values in lines))
        for i in range(0, len(grid), every)
    )
    return Curve(key, title, axis, points, (axis.capitalize(), *_numbered(lines)), table)


def _lines(holdout: Sequence[float] | None, synthetic: Sequence[Any]) -> list[tuple[str, Any]]:
    held = [] if holdout is None else [("Held out", holdout)]
    return [*held, *(("Synthetic", values) for values in synthetic)]


def _numbered(lines: Sequence[tuple[str, Any]]) -> tuple[str, ...]:
    many = sum(name == "Synthetic" for name, _ in lines) > 1
    first = sum(name != "Synthetic" for name, _ in lines)
    return tuple(
        f"{name} {place - first + 1}" if many and name == "Synthetic" else name
        for place, (name, _) in enumerate(lines)
    )


def _tables(column: Mapping[str, Any]) -> list[tuple[str, str, Sequence[float]]]:
    """Name for the header, name of the group, and shares of each table."""
    original = [("Original", "Original", column["original"])]
    lines = _lines(column.get("holdout"), column["synthetic"])
    rest = zip(_numbered(lines), lines, strict=True)
    return [*original, *((name, group, values) for name, (group, values) in rest)]


def _levelled(tables: Sequence[tuple[str, str, Sequence[float]]], labels: Sequence[str]) -> Points:
    return [
        {"i": i, "level": label, "table": group, "share": _at(shares, i)}
        for _, group, shares in tables
        for i, label in enumerate(labels)
    ]


def _binned(tables: Sequence[tuple[str, str, Sequence[float]]], ends: Sequence[float]) -> Points:
    return [
        {"line": line, "from": ends[i], "to": ends[i + 1], "table": group, "share": shares[i]}
        for line, (_, group, shares) in enumerate(tables)
        for i in range(len(shares))
    ]


def _used_labels(
    labels: tuple[str, ...], tables: Sequence[tuple[str, str, Sequence[float]]]
) -> tuple[str, ...]:
    """Without the last one, the pool of other levels, where no table has any."""
    last = len(labels) - 1
    return (
        labels if not labels or any(_at(shares, last) for _, _, shares in tables) else labels[:last]
    )


def _at(shares: Sequence[float], place: int) -> float | None:
    return shares[place] if place < len(shares) else None


def _about(column: Mapping[str, Any]) -> str:
    role = column.get("role", "other")
    kind = str(column.get("kind", ""))
    return kind if role in ("other", None) else f"{kind}, {role}"


def _missing(column: Mapping[str, Any]) -> tuple[str, str]:
    missing = column.get("missing") or {}
    synthetic = [number(share, share=True) for share in missing.get("synthetic", ())]
    return number(missing.get("original"), share=True), ", ".join(synthetic)


def _excess(pair: Mapping[str, Any]) -> float:
    return float(pair.get("excess", pair["distance"]))


def _listed(pair: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    first, second = map(str, pair["columns"])
    keys = ("distance", "null", "excess")
    distance, null, excess = (number(pair.get(key), share=True) for key in keys)
    return first, second, distance, null, excess


def _histogram(key: str, title: str, found: Mapping[str, Any]) -> Curve:
    ends = found["ends"]
    tables = (("Original", found["real"]), ("Synthetic", found["synthetic"]))
    points = [
        {"line": line, "from": ends[i], "to": ends[i + 1], "table": name, "share": shares[i]}
        for line, (name, shares) in enumerate(tables)
        for i in range(len(shares))
    ]
    table = tuple(
        (
            f"{number(ends[i])} to {number(ends[i + 1])}",
            *(number(shares[i], share=True) for _, shares in tables),
        )
        for i in range(len(ends) - 1)
    )
    header = ("Propensity", "Original", "Synthetic")
    return Curve(key, title, "predicted probability of being synthetic", points, header, table)
