"""How much surer of sensitive values attackers get, and what preventing that costs: picked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.numbers import count, number

Points = list[dict[str, Any]]
Rows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Lines:
    """Lines over one axis with a ceiling, and the same as a table.

    Attributes:
        key: its place on the page.
        title: a heading.
        x: title of the horizontal axis.
        y: title of the vertical one.
        points: ``x``, ``y``, ``table`` (whose line it is) and ``line``.
        ceiling: points of a line that should not be crossed.
        logarithmic: whether the horizontal axis is.
        said: a sentence below.
        header: heading of the table.
        rows: cells of the table.
    """

    key: str
    title: str
    x: str
    y: str
    points: Points
    ceiling: Points
    logarithmic: bool
    said: str
    header: tuple[str, ...]
    rows: Rows


def inference(found: Sequence[Mapping[str, Any]]) -> tuple[Lines, ...]:
    """The largest ratio by δ for every sensitive column (Bale & Quick, Figure 5)."""
    return tuple(_by_delta(place, column) for place, column in enumerate(found))


def sweeps(found: Sequence[Mapping[str, Any]]) -> tuple[Lines, ...]:
    """What each bound c costs: rows added, the tree's pMSE ratio, and the ratio reached."""
    return tuple(lines for place, one in enumerate(found) for lines in _by_bound(place, one))


def _by_delta(place: int, column: Mapping[str, Any]) -> Lines:
    deltas = column["deltas"]
    tables = _tables(column)
    points = [
        {"x": x, "y": y, "table": group, "line": line}
        for line, (_, group, curve) in enumerate(tables)
        for x, y in zip(deltas, curve["ratio"], strict=True)
    ]
    ends = dict.fromkeys((deltas[0], deltas[-1]))
    return Lines(
        f"inference-{place}",
        str(column["column"]),
        "radius δ, in standard deviations",
        "largest ratio",
        points,
        [{"x": x, "y": column["c"]} for x in ends],
        len(deltas) > 1 and deltas[0] > 0,
        _said(column),
        ("δ", *(f"Largest ratio, {name}" for name, _, _ in tables), *_ABOUT),
        _cells(column, tables),
    )


_ABOUT = (
    "Same, widening empty balls",
    "People above c",
    "Empty balls",
    "Guessed correctly",
    "Guessed correctly, held out",
)


def _tables(column: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Name, group and curve of every table."""
    synthetic = column["synthetic"]
    many = len(synthetic) > 1
    named = [
        (f"synthetic {n}" if many else "synthetic", "Synthetic", curve)
        for n, curve in enumerate(synthetic, 1)
    ]
    pooled = [("all pooled", "Synthetic", curve) for curve in column.get("pooled") or ()]
    rows = column["rows"]["holdout"][0]
    thinned = [(f"{rows:,} synthetic rows", "Thinned", curve) for curve in column["thinned"]]
    held = [(f"{rows:,} held-out rows", "Held out", curve) for curve in column["holdout"]]
    return [*named, *pooled, *thinned, *held]


def _cells(column: Mapping[str, Any], tables: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Rows:
    first, held = column["synthetic"][0], column["holdout"][0]
    widened = first.get("widened")
    return tuple(
        (
            number(delta),
            *(number(curve["ratio"][i]) for _, _, curve in tables),
            number(widened[i] if widened else None),
            number(first["exceeding"][i]),
            number(first["empty"][i], share=True),
            number(first["correct"][i], share=True),
            number(held["correct"][i], share=True),
        )
        for i, delta in enumerate(column["deltas"])
    )


def _said(column: Mapping[str, Any]) -> str:
    first = column["synthetic"][0]
    parts = [
        f"{count(column['records'], 'person', 'people')} of train attacked; the dotted line is the "
        f"bound c = {number(column['c'])}; guessing by the prior alone is right for "
        f"{number(column['prior_correct'], share=True)}."
    ]
    if first.get("supremum") is not None:
        parts.append(f"Over every δ the largest ratio is {number(first['supremum'])}.")
    return " ".join(parts)


_COSTS = (
    ("added", "Rows added", "rows added"),
    ("pmse", "Likeness to train (pMSE ratio of a tree)", "pMSE ratio"),
    ("ratio", "Largest ratio that is left", "largest ratio"),
)


def _by_bound(place: int, one: Mapping[str, Any]) -> list[Lines]:
    points = [point for point in one["points"] if not point["refused"]]
    bounded = [point for point in points if point["c"] is not None]
    columns = list(points[0]["ratio"]) if points else []
    refused = [number(p["c"]) for p in one["points"] if p["refused"]]
    rows = count(one["rows"], "row")
    said = f"The plan’s bound is c = {number(one['c'])}; the table was drawn with {rows}."
    if refused:
        said += f" Refused, since it could not be met: c = {', '.join(refused)}."
    table = tuple(_bound(point, columns) for point in one["points"])
    header = ("Bound c", "Rows added", "pMSE ratio", *(f"Largest ratio, {n}" for n in columns))
    found = []
    for key, title, axis in _COSTS:
        values: Points = [
            {"x": point["c"], "y": y, "table": "Synthetic", "line": line}
            for point in bounded
            for line, y in enumerate(_values(point, key, columns))
        ]
        ceiling = [{"x": p["c"], "y": p["c"]} for p in bounded] if key == "ratio" else []
        lines = Lines(
            f"sweep-{place}-{key}",
            title,
            "bound c",
            axis,
            values,
            ceiling,
            True,
            said,
            header,
            table,
        )
        found.append(lines)
    return found if bounded else []


def _values(point: Mapping[str, Any], key: str, columns: Sequence[str]) -> list[Any]:
    return [point["ratio"][name] for name in columns] if key == "ratio" else [point[key]]


def _bound(point: Mapping[str, Any], columns: Sequence[str]) -> tuple[str, ...]:
    bound = "none" if point["c"] is None else number(point["c"])
    if point["refused"]:
        return (bound, "refused", *("–" for _ in range(1 + len(columns))))
    ratios = (number(point["ratio"][name]) for name in columns)
    return (bound, f"{point['added']:,}", number(point["pmse"]), *ratios)
