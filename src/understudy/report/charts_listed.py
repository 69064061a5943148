"""Charts of listed findings, of pairs' ratios, and of pairs as cells."""

from __future__ import annotations

from typing import Any

from understudy.report.charts import COLOUR, DASH, Spec, in_order, names_axis, spec
from understudy.report.listed import Cells, Picture, Ratios


def picture(found: Picture) -> Spec:
    """Each finding with its intervals, original, synthetic and held out (Figure 22)."""
    tables = ["Original", "Synthetic", "Held out"]
    y = {
        "field": "name",
        "type": "nominal",
        **in_order(list(found.names)),
        "axis": {**names_axis(), "labelLimit": 175, "grid": True, "tickBand": "extent"},
    }
    offset = {"field": "table", "type": "nominal", "sort": None, "scale": {"domain": tables}}
    limits = {} if found.domain is None else {"domain": list(found.domain), "clamp": True}
    axis = {"title": found.axis, "tickCount": 5, **({"format": "~%"} if found.share else {})}
    x: dict[str, Any] = {
        "type": "quantitative",
        "scale": {"zero": False, "padding": 8, **limits},
        "axis": axis,
    }
    place = {"y": y, "yOffset": offset, "color": {"field": "table", **COLOUR}}
    return spec(
        found.points,
        height=36 * len(found.names),
        layer=[
            {
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {
                    "x": {**x, "field": "low"},
                    "x2": {"field": "high"},
                    "strokeDash": {"field": "table", **DASH},
                    **place,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
                "encoding": {"x": {**x, "field": "at"}, **place},
            },
        ],
    )


def ratio_map(found: Ratios) -> Spec:
    """Standardised ratios of all pairs, by their logarithm: the darker, the larger (Figure 23)."""
    axis: dict[str, Any] = {"grid": False, "ticks": False, "domain": False, "title": None}
    names = list(found.names)
    place = {"type": "nominal", **in_order(names)}
    return spec(
        found.points,
        height=(24 if len(names) <= 20 else 14) * len(names),
        mark={"type": "rect", "fill": "var(--synthetic)", "stroke": "var(--page)"},
        encoding={
            "x": {
                "field": "a",
                **place,
                "axis": {**axis, "labelAngle": -45, "labelLimit": 90, "labelOverlap": "greedy"},
            },
            "y": {"field": "b", **place, "axis": {**axis, "labelLimit": 120}},
            "fillOpacity": {
                "field": "ratio",
                "type": "quantitative",
                "scale": {
                    "type": "log",
                    "domain": [1, found.top],
                    "range": [0.06, 1],
                    "clamp": True,
                },
                "legend": None,
            },
            "tooltip": [
                {"field": "a", "title": "Column"},
                {"field": "b", "title": "Column"},
                {"field": "ratio", "title": "Ratio", "format": ".2f"},
            ],
        },
    )


def cells(found: Cells, table: str) -> Spec:
    """One table's shares of the cells, on the scale that both tables share."""
    colour = "var(--original)" if table == "Original" else "var(--synthetic)"
    axis: dict[str, Any] = {"grid": False, "ticks": False, "domain": False, "title": None}
    x, y = list(found.x), list(reversed(found.y))
    return spec(
        [point for point in found.points if point["table"] == table],
        height=20 * len(y),
        mark={"type": "rect", "fill": colour, "stroke": "var(--page)"},
        encoding={
            "x": {
                "field": "x",
                "type": "nominal",
                **in_order(x),
                "axis": {**axis, "labelAngle": -45, "labelLimit": 80, "labelOverlap": "greedy"},
            },
            "y": {
                "field": "y",
                "type": "nominal",
                **in_order(y),
                "axis": {**axis, "labelLimit": 80},
            },
            "fillOpacity": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, found.top], "range": [0.08, 1]},
                "legend": None,
            },
            "tooltip": [
                {"field": "x", "title": "Across"},
                {"field": "y", "title": "Upwards"},
                {"field": "share", "title": table, "format": ".2%"},
            ],
        },
    )
