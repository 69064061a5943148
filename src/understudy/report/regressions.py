"""Coefficients of the plan's models: what summaries hold, picked and labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.judged import Row
from understudy.report.numbers import NONE, count, interval, number

_MOST = 30  # coefficients in a picture: the furthest off
_WIDEST = 12.0  # standard errors; what is further lies on the edge
_RULES: Mapping[str, str] = {
    "own": "Synthetic intervals are those that the table itself gives.",
    "simple": "Synthetic intervals are what an analyst should give for the population: rows were "
    "drawn from fitted parameters, so the variance is v̄(k/n + 1/m).",
    "proper": "Synthetic intervals are what an analyst should give for the population: parameters "
    "were (or may have been) drawn anew for each table, so the variance is v̄(k/n + (1 + k/n)/m).",
    "partial": "Synthetic intervals are what an analyst should give for the population: some "
    "columns are kept, so the variance is v̄ + b/m.",
}


@dataclass(frozen=True)
class Forest:
    """One model: its coefficients as a picture and as a table."""

    number: int
    name: str
    about: str
    verdicts: tuple[Row, ...]
    says: tuple[str, ...]
    names: tuple[str, ...]
    reach: float
    points: list[dict[str, Any]]
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]


def forests(found: Sequence[Mapping[str, Any]], rows: Sequence[Row]) -> tuple[Forest, ...]:
    """The models of the plan that train could fit."""
    return tuple(_forest(place, one, rows) for place, one in enumerate(found, 1))


def _forest(place: int, found: Mapping[str, Any], rows: Sequence[Row]) -> Forest:
    every = found["coefficients"]
    held = any(one.get("holdout") for one in every)
    shown = set(map(id, sorted(every, key=lambda one: -float(one["difference"]))[:_MOST]))
    drawn = [one for one in every if id(one) in shown]
    points = [point for one in drawn for point in _points(one)]
    ends = [abs(point[key]) for point in points for key in ("low", "high")]
    many = len(found["rows"]["synthetic"]) > 1
    return Forest(
        place,
        str(found["name"]),
        _about(found),
        _verdicts(str(found["name"]), rows),
        tuple(_says(found, len(every) - len(drawn))),
        tuple(str(one["name"]) for one in drawn),
        min(max(ends, default=1.0), _WIDEST),
        points,
        (
            "Coefficient",
            "Difference",
            "Overlap",
            "Original (95%)",
            "Synthetic, combined (95%)" if many else "Synthetic (95%)",
            *(("Held out (95%)",) if held else ()),
        ),
        tuple(_cells(one, held) for one in every),
    )


def _points(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    tables = (("Original", "original"), ("Synthetic", "combined"), ("Held out", "holdout"))
    return [
        {
            "name": str(one["name"]),
            "table": table,
            "at": one[key]["at"],
            "low": one[key]["at_low"],
            "high": one[key]["at_high"],
        }
        for table, key in tables
        if one.get(key)
    ]


def _cells(one: Mapping[str, Any], held: bool) -> tuple[str, ...]:
    return (
        str(one["name"]),
        number(one["difference"]),
        number(one["overlap"], share=True),
        _written(one["original"]),
        _written(one["combined"]),
        *((_written(one["holdout"]),) if held else ()),
    )


def _written(found: Mapping[str, Any] | None) -> str:
    if not found:
        return NONE
    return f"{number(found['estimate'])} ({interval(found['low'], found['high'])})"


def _about(found: Mapping[str, Any]) -> str:
    parts = [str(found["family"])]
    parts += [f"where {found['subset']}"] if found["subset"] else []
    parts += [f"weights {found['weights']}"] if found["weights"] else []
    parts.append(str(found["formula"]) if found["formula"] != found["name"] else "")
    return " · ".join(part for part in parts if part)


def _verdicts(name: str, rows: Sequence[Row]) -> tuple[Row, ...]:
    """Both numbers, of all replicates together where there are several."""
    own = [r for r in rows if r.measure.startswith("regression.") and r.target == name]
    pooled = [one for one in own if one.item.get("replicate") == 0]
    return tuple(pooled or own)


def _says(found: Mapping[str, Any], left_out: int) -> list[str]:
    said = [_RULES.get(str(found["rule"]), "")]
    held = found["medians"].get("holdout")
    if held:
        said.append(
            f"Held-out people ({found['rows']['holdout']:,} rows, fewer and therefore less sure) "
            f"differ by {number(held['difference'])} standard errors and overlap by "
            f"{number(held['overlap'], share=True)}, in the median."
        )
    if left_out:
        said.append(f"The picture shows the {_MOST} that are furthest off, the table all.")
    if found["hidden"]:
        more = count(found["hidden"], "more coefficient")
        said.append(
            f"Counted and not shown, since fewer than ten people each are behind it: {more}."
        )
    if found["undetermined"]:
        more = count(found["undetermined"], "more coefficient")
        said.append(f"Without a finite estimate on train (separation): {more}.")
    return [one for one in said if one]
