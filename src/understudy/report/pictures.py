"""Vega-Lite specifications of a reproduced item's figures: lines with bands, spreads, maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Spec = dict[str, Any]

_COLOURS: Mapping[str, str] = {
    "original": "var(--original)",
    "holdout": "var(--held)",
    "disjoint": "var(--good)",
    "mnl": "var(--synthetic)",
    "cart": "var(--link)",
    "peer": "var(--doubt)",
}
_LINE = {
    "symbolType": "stroke",
    "symbolSize": 400,
    "symbolStrokeWidth": 2,
    "symbolOpacity": 1,  # not that of the bands
    "labelLimit": 140,
}
_DASHES: Mapping[str, list[int]] = {
    "solid": [1, 0],
    "dashed": [6, 4],
    "dotted": [2, 3],
    "long": [14, 4],
    "mixed": [8, 3, 2, 3],
}


def picture(found: Mapping[str, Any]) -> Spec:
    """The figure as its kind asks: ``lines``, ``steps``, ``spread`` or ``points``."""
    kinds: dict[str, Callable[[Mapping[str, Any]], Spec]] = {
        "lines": _lines,
        "steps": _lines,
        "spread": _spread,
        "points": _points,
    }
    spec: Spec = {
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": [point for one in found["series"] for point in _values(one)]},
    }
    return spec | kinds[found["kind"]](found)


def _values(series: Mapping[str, Any]) -> list[dict[str, Any]]:
    places = zip(series["x"], series["y"], strict=True)
    points = [{"x": x, "y": y, "name": series["name"]} for x, y in places]
    ends = zip(points, series["low"], series["high"], strict=False)
    for point, low, high in ends:
        point |= {"low": low, "high": high}
    return points


def _lines(found: Mapping[str, Any]) -> Spec:
    x = {"field": "x", "type": "quantitative", "axis": {"title": found["across"], "tickCount": 6}}
    y = {"field": "y", "type": "quantitative", "axis": {"title": found["up"], "tickCount": 5}}
    x["scale"] = {"zero": False, "nice": False}
    band = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "area", "opacity": 0.15},
        "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    mark: Spec = {"type": "line", "strokeWidth": 2}
    if found["kind"] == "steps":
        mark["interpolate"] = "step-after"
    line = {
        "mark": mark,
        "encoding": {"y": y, "strokeDash": _dashes(found["series"])},
    }
    colour = _colours(found["series"])
    return {"height": 260, "encoding": {"x": x, "color": colour}, "layer": [band, line]}


def _spread(found: Mapping[str, Any]) -> Spec:
    names = [one["name"] for one in found["series"]]
    # A list under "sort" would be compiled into an expression; a domain is data.
    place = {"sort": None, "scale": {"domain": names}, "title": None, "axis": {"labelLimit": 170}}
    y = {"field": "name", "type": "nominal", **place}
    x = {"field": "y", "type": "quantitative", "axis": {"title": found["up"], "tickCount": 5}}
    x["scale"] = {"zero": False, "padding": 10}
    colour = _colours(found["series"]) | {"legend": None}
    middle = {"type": "tick", "thickness": 3, "bandSize": 18}
    return {
        "height": 30 * len(names),
        "encoding": {"x": x, "y": y, "color": colour},
        "layer": [
            {"mark": {"type": "point", "size": 30, "filled": True, "opacity": 0.5}},
            {"mark": middle, "encoding": {"x": {**x, "aggregate": "mean"}}},
        ],
    }


def _points(found: Mapping[str, Any]) -> Spec:
    x = {"field": "x", "type": "quantitative", "axis": {"title": found["across"], "tickCount": 4}}
    y = {"field": "y", "type": "quantitative", "axis": {"title": found["up"], "tickCount": 4}}
    for axis in (x, y):
        axis["scale"] = {"zero": False, "nice": False, "padding": 6}
    mark = {"type": "circle", "size": 5, "opacity": 0.5}
    colour = _colours(found["series"]) | {"legend": None}
    return {"height": 300, "mark": mark, "encoding": {"x": x, "y": y, "color": colour}}


def _colours(series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [one["name"] for one in series]
    colours = [_COLOURS[one["role"]] for one in series]
    legend = {"orient": "bottom", "columns": 2, "title": None, **_LINE}
    scale = {"domain": names, "range": colours}
    return {"field": "name", "type": "nominal", "scale": scale, "legend": legend}


def _dashes(series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [one["name"] for one in series]
    dashes = [_DASHES[one["dash"]] for one in series]
    legend = {"orient": "bottom", "columns": 2, "title": None, **_LINE}
    scale = {"domain": names, "range": dashes}
    return {"field": "name", "type": "nominal", "scale": scale, "legend": legend}
