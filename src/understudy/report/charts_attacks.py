"""Vega-Lite specification of the chart of simulated attacks."""

from __future__ import annotations

from typing import Any

from understudy.report.attacks import Attacks

_WHO = ["Train", "Strangers"]


def attacks(found: Attacks) -> dict[str, Any]:
    """Success on train and on strangers, attack by attack, with intervals."""
    y = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 175, "labelPadding": 8, "grid": True, "tickBand": "extent"}
        | {"ticks": False, "domain": False},
    }
    offset = {"field": "who", "type": "nominal", "sort": None, "scale": {"domain": _WHO}}
    x = {
        "type": "quantitative",
        "scale": {"domain": [0, 1], "padding": 8, "nice": False},
        "axis": {"title": "attacks that succeed", "tickCount": 5, "format": "~%"},
    }
    who = {"field": "who", "type": "nominal", "legend": None}
    colour = {**who, "scale": {"domain": _WHO, "range": ["var(--synthetic)", "var(--held)"]}}
    shape = {**who, "scale": {"domain": _WHO, "range": ["circle", "diamond"]}}
    place = {"y": y, "yOffset": offset, "color": colour}
    return {
        "width": "container",
        "height": 30 * len(found.names),
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": found.points},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, **place},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
                "encoding": {"x": {**x, "field": "value"}, "shape": shape, **place},
            },
        ],
    }
