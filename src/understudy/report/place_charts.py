"""Vega-Lite specifications of the charts about places."""

from __future__ import annotations

from understudy.report.charts import COLOUR, DASH, Spec, spec
from understudy.report.places import Pattern, PointMap, Side

_COLOURS = {"original": "text", "synthetic": "synthetic"}


def pattern(found: Pattern, unit: str) -> Spec:
    """L − h of the original, the held-out and the synthetic rows, with a band."""
    x = {
        "field": "x",
        "type": "quantitative",
        "axis": {"title": f"distance h{unit}", "tickCount": 6},
        "scale": {"nice": False},
    }
    title = {"title": f"L − h{unit}", "tickCount": 5}
    band = {
        "data": {"values": found.band},
        "mark": {"type": "area", "color": "var(--synthetic)", "opacity": 0.25},
        "encoding": {
            "x": x,
            "y": {"field": "low", "type": "quantitative", "axis": title},
            "y2": {"field": "high"},
        },
    }
    line = {
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": x,
            "y": {"field": "y", "type": "quantitative", "axis": title},
            "color": {"field": "table", **COLOUR},
            "strokeDash": {"field": "table", **DASH},
            "detail": {"field": "line"},
        },
    }
    return spec(found.lines, height=200, layer=[*([band] if found.band else []), line])


def points(side: Side, found: PointMap) -> Spec:
    """One table's points in the frame that both share; the page sets the height by the width."""
    made = spec(
        side.points,
        height=320,
        mark={
            "type": "circle",
            "size": 7,
            "opacity": 0.55,
            "color": f"var(--{_COLOURS[side.key]})",
        },
        encoding={
            axis: {
                "field": axis,
                "type": "quantitative",
                "axis": {"title": None, "tickCount": 4, "grid": False},
                "scale": {"domain": list(frame), "zero": False, "nice": False, "padding": 4},
            }
            for axis, frame in zip(("x", "y"), found.frame, strict=True)
        },
    )
    return made | {"autosize": {"type": "fit", "contains": "padding"}}
