"""Findings that the plan lists, and pairs of columns as cells: summaries, picked and labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.columns import Points
from understudy.report.judged import Row
from understudy.report.numbers import NONE, count, interval, number

_TABLES = (("Original", "original"), ("Synthetic", "combined"), ("Held out", "holdout"))
_WIDEST = 3.0  # times the original's; what is further lies on the edge
_RATIOS = 40  # columns in the map
_FULL = 10.0  # a ratio that has full colour, unless some pair has more
_SHOWN = 12


@dataclass(frozen=True)
class Picture:
    """Findings that share an axis."""

    key: str
    title: str
    axis: str
    share: bool
    names: tuple[str, ...]
    domain: tuple[float, float] | None
    points: Points


@dataclass(frozen=True)
class Listed:
    """The plan's findings: pictures, and a table; its rows begin with the name and what it says."""

    pictures: tuple[Picture, ...]
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    says: tuple[str, ...]


@dataclass(frozen=True)
class Ratios:
    """The standardised ratio of every pair: a map, and the largest as a table."""

    points: Points
    names: tuple[str, ...]
    left_out: int
    top: float
    full: str
    count: int
    about: str
    worst: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Cells:
    """One pair of columns as cells, original beside synthetic."""

    number: int
    name: str
    x: tuple[str, ...]
    y: tuple[str, ...]
    top: float
    points: Points
    hidden: str
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]


def listed(found: Mapping[str, Any], rows: Sequence[Row]) -> Listed | None:
    """The findings that the plan lists and train has."""
    every = found.get("findings") or ()
    if not every:
        return None
    shares = [one for one in every if one["kind"] == "share"]
    others = [one for one in every if one["kind"] != "share" and "at" in one["original"]]
    held = any(one["holdout"] for one in every)
    many = len(every[0]["synthetic"]) > 1
    return Listed(
        tuple(_pictures(shares, others)),
        (
            "Finding",
            "Original (95%)",
            "Synthetic, combined (95%)" if many else "Synthetic (95%)",
            *(("Held out (95%)",) if held else ()),
            "Ratio (interval)",
            "Verdict",
        ),
        tuple(_cells(one, _row(one, rows), held) for one in every),
        tuple(_says(found, every)),
    )


def ratios(found: Mapping[str, Any]) -> Ratios | None:
    """The map of ratios (at most 40 columns: those of the largest first) and the largest."""
    every = found.get("pairs") or ()
    if not every:
        return None
    ordered = sorted(every, key=lambda one: -float(one["ratio"]))
    names = dict.fromkeys(str(name) for one in every for name in one["columns"])
    first = dict.fromkeys(str(name) for one in ordered for name in one["columns"])
    shown = set(list(first)[:_RATIOS])
    points = [
        {"a": x, "b": y, "ratio": one["ratio"]}
        for one in every
        if set(map(str, one["columns"])) <= shown
        for x, y in (map(str, one["columns"]), map(str, reversed(one["columns"])))
    ]
    top = max(_FULL, float(ordered[0]["ratio"]))
    of = f" of {found['of']:,}" if found["of"] > len(every) else ""
    return Ratios(
        points,
        tuple(name for name in names if name in shown),
        len(names) - len(shown),
        top,
        number(top),
        len(every),
        f"{count(len(every), 'pair')}{of} in at most {found['groups']} groups a column",
        tuple(
            (str(one["columns"][0]), str(one["columns"][1]), number(one["ratio"]))
            for one in ordered[:_SHOWN]
        ),
    )


def cells(found: Sequence[Mapping[str, Any]]) -> tuple[Cells, ...]:
    """Pairs of which some cell is shared by enough people."""
    shown = [one for one in found if one["cells"]]
    return tuple(_pair(place, one) for place, one in enumerate(shown, 1))


def _pictures(shares: Sequence[Any], others: Sequence[Any]) -> list[Picture]:
    made = []
    if shares:
        axis = "share of rows"
        made.append(Picture("shares", "Shares", axis, True, _names(shares), None, _points(shares)))
    if others:
        points = _points(others)
        ends = [abs(point[key] - 1) for point in points for key in ("low", "high")]
        reach = min(max(ends, default=1.0), _WIDEST)
        axis, title = "times the original’s", "Means, ratios and coefficients"
        ends_of = (1 - reach, 1 + reach)
        made.append(Picture("others", title, axis, False, _names(others), ends_of, points))
    return made


def _names(found: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(str(one["name"]) for one in found)


def _points(found: Sequence[Mapping[str, Any]]) -> Points:
    return [
        {
            "name": str(one["name"]),
            "table": table,
            "at": one[key]["at"],
            "low": one[key]["at_low"],
            "high": one[key]["at_high"],
        }
        for one in found
        for table, key in _TABLES
        if one.get(key)
    ]


def _row(one: Mapping[str, Any], rows: Sequence[Row]) -> Row | None:
    """Its verdict, of all replicates together where there are several."""
    own = [r for r in rows if r.measure == "estimate.ratio" and r.target == str(one["name"])]
    pooled = [row for row in own if row.item.get("replicate") == 0]
    return next(iter(pooled or own), None)


def _cells(one: Mapping[str, Any], row: Row | None, held: bool) -> tuple[str, ...]:
    share = one["kind"] == "share"
    about = [str(one["says"])] if one["says"] != one["name"] else []
    about += [f"where {one['subset']}"] if one["subset"] else []
    about += [f"weights {one['weights']}"] if one["weights"] else []
    return (
        str(one["name"]),
        " ".join(about),
        _written(one["original"], share),
        _written(one["combined"], share),
        *((_written(one["holdout"], share),) if held else ()),
        NONE if row is None or row.value == NONE else f"{row.value} ({row.interval})",
        NONE if row is None else f"{row.icon} {row.verdict}",
    )


def _written(found: Mapping[str, Any] | None, share: bool) -> str:
    if not found:
        return NONE
    ends = interval(found["low"], found["high"], share=share)
    return f"{number(found['value'], share=share)} ({ends})"


def _says(found: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> list[str]:
    said = []
    if found["hidden"]:
        said.append(
            f"Not shown, since train has no estimate or fewer than ten people are behind it: "
            f"{count(found['hidden'], 'finding')}."
        )
    if any("at" not in one["original"] for one in every):
        said.append("Findings whose original interval holds 0 are in the table alone.")
    return said


def _pair(place: int, found: Mapping[str, Any]) -> Cells:
    x, y = (tuple(str(label) for label in found[key]) for key in ("x", "y"))
    points = [
        {"x": x[i], "y": y[j], "table": table, "share": share}
        for i, j, ours, theirs in found["cells"]
        for table, share in (("Original", ours), ("Synthetic", theirs))
    ]
    first, second = map(str, found["columns"])
    return Cells(
        place,
        f"{first} × {second}",
        x,
        y,
        max(point["share"] for point in points),
        points,
        number(found["hidden"], share=True) if found["hidden"] else "",
        (first, second, "Original", "Synthetic"),
        tuple(
            (x[i], y[j], number(ours, share=True), number(theirs, share=True))
            for i, j, ours, theirs in found["cells"]
        ),
    )
