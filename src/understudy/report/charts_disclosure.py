"""Vega-Lite specifications of the charts on sensitive values."""

from __future__ import annotations

from typing import Any

from understudy.report.disclosure import Lines
from understudy.report.given import Given

_TABLES = ["Held out", "Synthetic", "Thinned"]


def lines(found: Lines) -> dict[str, Any]:
    """Lines with points, and a dotted ceiling."""
    scale = {"type": "log"} if found.logarithmic else {"zero": False}
    x = {
        "field": "x",
        "type": "quantitative",
        "axis": {"title": found.x, "tickCount": 5, "format": "~g"},
        "scale": {**scale, "padding": 8, "nice": False},
    }
    y = {
        "field": "y",
        "type": "quantitative",
        "axis": {"title": found.y, "tickCount": 5},
        "scale": {"domainMin": 0},
    }
    table = {"field": "table", "type": "nominal", "legend": None}
    held, synthetic = "var(--held)", "var(--synthetic)"
    colour = {**table, "scale": {"domain": _TABLES, "range": [held, synthetic, synthetic]}}
    dash = {**table, "scale": {"domain": _TABLES, "range": [[4, 3], [1, 0], [4, 3]]}}
    drawn = {
        "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 36}},
        "encoding": {"x": x, "y": y, "color": colour, "strokeDash": dash}
        | {"detail": {"field": "line"}},
    }
    ceiling = {
        "data": {"values": found.ceiling},
        "mark": {"type": "line", "color": "var(--muted)", "strokeDash": [1, 3], "strokeWidth": 2}
        | {"point": len(found.ceiling) == 1},
        "encoding": {"x": x, "y": y},
    }
    return {
        "width": "container",
        "height": 220,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": found.points},
        "layer": [drawn, ceiling] if found.ceiling else [drawn],
    }


def bars(found: Given) -> dict[str, Any]:
    """Histograms of GTCAP: filled for people of train, dashed lines for strangers."""
    x = {
        "field": "from",
        "type": "quantitative",
        "axis": {"title": "GTCAP", "grid": False, "tickCount": 5},
        "scale": {"domain": [0, 1], "nice": False},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "axis": {"title": "people in a tenth", "tickCount": 4, "format": "~%"},
    }
    train = {
        "transform": [{"filter": "datum.table === 'Train'"}],
        "mark": {"type": "bar", "color": "var(--synthetic)", "opacity": 0.6, "binSpacing": 1},
        "encoding": {"x": {**x, "bin": "binned"}, "x2": {"field": "to"}, "y": y},
    }
    strangers = {
        "transform": [{"filter": "datum.table === 'Strangers'"}],
        "mark": {"type": "rule", "color": "var(--held)", "strokeWidth": 2, "strokeDash": [4, 3]},
        "encoding": {"x": x, "x2": {"field": "to"}, "y": y},
    }
    return {
        "width": "container",
        "height": 180,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": list(found.bars)},
        "layer": [train, strangers],
    }
