"""Vega-Lite specifications of the page's charts.

Field names are fixed here and data are values only, so no name from a table is ever read as an
expression. Colours are CSS variables: light, dark and paper need no second drawing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.report.columns import Curve, Look, Pairs, Propensities
from understudy.report.judged import Gate
from understudy.report.regressions import Forest
from understudy.report.tuning import Search

Spec = dict[str, Any]

CONFIG: Mapping[str, Any] = {
    "background": None,
    "font": "system-ui, sans-serif",
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "domainColor": "var(--line)",
        "gridColor": "var(--line)",
        "gridOpacity": 0.6,
        "tickColor": "var(--line)",
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelLimit": 150,
    },
    "legend": {"labelColor": "var(--muted)", "titleColor": "var(--muted)"},
}
COLOUR = {
    "type": "nominal",
    "legend": None,
    "scale": {
        "domain": ["Original", "Held out", "Synthetic"],
        "range": ["var(--original)", "var(--held)", "var(--synthetic)"],
    },
}
DASH = {
    "type": "nominal",
    "legend": None,
    "scale": {"domain": ["Original", "Held out", "Synthetic"], "range": [[1, 0], [4, 3], [1, 0]]},
}
_PERCENT = {"format": "~%"}


def scale(gate: Gate) -> Spec:
    """A gate's calibration: each known case, the reference and the release on one axis."""
    axis = {"title": None, "tickCount": 5, **(_PERCENT if gate.worst.words.share else {})}
    order = list(dict.fromkeys(item["case"] for item in gate.scale))
    y = {
        "field": "case",
        "type": "nominal",
        **in_order(order),
        "title": None,
        "axis": {
            "labelLimit": 170,
            "labelPadding": 8,
            "grid": True,
            "ticks": False,
            "domain": False,
        },
    }
    # Padding keeps a case at 0 from lying on the labels.
    x = {"field": "value", "type": "quantitative", "axis": axis, "scale": {"padding": 12}}
    kinds = ["release", "reference", "known"]
    shape = {
        "field": "kind",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": kinds, "range": ["circle", "diamond", "square"]},
    }
    colour = {
        "field": "kind",
        "type": "nominal",
        "legend": None,
        "scale": {
            "domain": kinds,
            "range": ["var(--synthetic)", "var(--held)", "var(--original)"],
        },
    }
    return spec(
        gate.scale,
        height=24 * len(order),
        layer=[
            {
                "transform": [{"filter": "datum.kind === 'reference'"}],
                "mark": {"type": "rule", "color": "var(--held)", "strokeDash": [4, 3]},
                "encoding": {"x": x},
            },
            {
                "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
                "mark": {"type": "rule", "strokeWidth": 3, "color": "var(--synthetic)"},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "encoding": {"x": x, "y": y, "shape": shape, "color": colour},
            },
        ],
    )


def curve(found: Curve) -> Spec:
    """Cumulative shares against a distance, held out and synthetic."""
    return spec(
        found.points,
        height=220,
        mark={"type": "line", "strokeWidth": 2, "interpolate": "linear"},
        encoding={
            "x": {
                "field": "x",
                "type": "quantitative",
                "axis": {"title": found.axis, "tickCount": 6},
                "scale": {"zero": False, "nice": False},
            },
            "y": {
                "field": "y",
                "type": "quantitative",
                "axis": {"title": "share of rows", "tickCount": 5, **_PERCENT},
            },
            "color": {"field": "table", **COLOUR},
            "strokeDash": {"field": "table", **DASH},
            "detail": {"field": "line"},
        },
    )


def look(found: Look) -> Spec:
    """One column: bars for the original, points for the synthetic tables, ticks for held out."""
    if found.shape == "bins":
        return _outlines(found.points, 150, None)
    return _levels(found) if found.shape == "levels" else _ordered(found)


def running(found: Search) -> Spec:
    """The smallest objective so far, a line for each search (Bale & Quick, Figure 3)."""
    return spec(
        list(found.running),
        height=220,
        mark={"type": "line", "interpolate": "step-after", "strokeWidth": 2, "opacity": 0.7},
        encoding={
            "x": {
                "field": "trial",
                "type": "quantitative",
                "axis": {"title": "trial", "format": "d", "tickMinStep": 1},
                "scale": {"zero": False},
            },
            "y": {"field": "best", **_objective(found)},
            "detail": {"field": "search"},
            "color": {"value": "var(--synthetic)"},
        },
    )


def trials(found: Search) -> Spec:
    """Every trial by disclosure and use, the chosen one marked."""
    kinds = ["trial", "chosen"]
    return spec(
        list(found.points),
        height=220,
        mark={"type": "point", "filled": True, "opacity": 0.8},
        encoding={
            "x": {
                "field": "share",
                "type": "quantitative",
                "axis": {"title": "share nearer to the half learnt from", **_PERCENT},
                "scale": {"zero": False, "padding": 12},
            },
            "y": {"field": "loss", **_objective(found)},
            "shape": {
                "field": "kind",
                "type": "nominal",
                "legend": None,
                "scale": {"domain": kinds, "range": ["circle", "diamond"]},
            },
            "size": {
                "field": "kind",
                "type": "nominal",
                "legend": None,
                "scale": {"domain": kinds, "range": [40, 220]},
            },
            "color": {
                "field": "kind",
                "type": "nominal",
                "legend": None,
                "scale": {"domain": kinds, "range": ["var(--original)", "var(--synthetic)"]},
            },
        },
    )


def _objective(found: Search) -> Spec:
    # Squares near 0 differ by orders of magnitude; an exact 0 stands at the bottom.
    scale = {"zero": False, **({"type": "symlog", "constant": 1e-5} if found.squared else {})}
    return {"type": "quantitative", "axis": {"title": found.axis}, "scale": scale}


def histogram(found: Curve) -> Spec:
    """Propensities of real and synthetic rows."""
    return _outlines(found.points, 180, found.axis, [0, 1])


def used(found: Propensities) -> Spec:
    """The columns that the trees split on most."""
    names = [point["name"] for point in found.used]
    return spec(
        found.used,
        height=20 * len(names),
        mark={"type": "bar", "color": "var(--original)", "height": {"band": 0.7}},
        encoding={
            "y": {"field": "name", "type": "nominal", **in_order(names), "axis": names_axis()},
            "x": {
                "field": "share",
                "type": "quantitative",
                "axis": {"title": "share of the trees’ gain", "tickCount": 4, **_PERCENT},
            },
        },
    )


def forest(found: Forest) -> Spec:
    """Coefficients in standard errors from the original's, with their intervals."""
    tables = ["Original", "Synthetic", "Held out"]
    y = {
        "field": "name",
        "type": "nominal",
        **in_order(list(found.names)),
        # The level stands at the end of a name: a wider label shows more of them apart.
        "axis": {**names_axis(), "labelLimit": 175, "grid": True, "tickBand": "extent"},
    }
    offset = {"field": "table", "type": "nominal", "sort": None, "scale": {"domain": tables}}
    domain = [-found.reach, found.reach]
    x = {
        "type": "quantitative",
        "scale": {"domain": domain, "clamp": True, "zero": True, "padding": 6},
        "axis": {"title": "standard errors of the original", "tickCount": 7},
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


def heat(found: Pairs) -> Spec:
    """Excess of every pair over chance: the darker, the further apart."""
    axis: dict[str, Any] = {"grid": False, "ticks": False, "domain": False, "title": None}
    names = list(found.names)
    place = {"type": "nominal", **in_order(names)}
    return spec(
        found.points,
        height=(24 if len(names) <= 20 else 14) * len(names),
        mark={"type": "rect", "fill": "var(--synthetic)", "stroke": "var(--page)"},
        encoding={
            "x": {"field": "a", **place, "axis": {**axis, "labelAngle": -45, "labelLimit": 90}},
            "y": {"field": "b", **place, "axis": {**axis, "labelLimit": 120}},
            "fillOpacity": {
                "field": "excess",
                "type": "quantitative",
                "scale": {"domain": [0, found.top], "range": [0.06, 1], "clamp": True},
                "legend": None,
            },
            "tooltip": [
                {"field": "a", "title": "Column"},
                {"field": "b", "title": "Column"},
                {"field": "excess", "title": "Above chance", "format": ".2%"},
            ],
        },
    )


def _levels(found: Look) -> Spec:
    y = {
        "field": "level",
        "type": "nominal",
        **in_order(list(found.labels)),
        "axis": names_axis(),
        "title": None,
    }
    x = {"field": "share", "type": "quantitative", "axis": _share_axis()}
    return spec(
        _present(found),
        height=20 * len(found.labels),
        encoding={"y": y, "x": x},
        layer=[_bar({"height": {"band": 0.75}}), *_marks("y")],
    )


def _ordered(found: Look) -> Spec:
    labels = list(found.labels)
    x = {
        "field": "level",
        "type": "nominal",
        **in_order(labels),
        "axis": {"title": None, "labelOverlap": "greedy", "labelAngle": -45, "labelLimit": 90}
        | {"labelExpr": "split(datum.label, ' – ')[0]"},
    }
    y = {"field": "share", "type": "quantitative", "axis": _share_axis()}
    return spec(
        _present(found),
        height=150,
        encoding={"x": x, "y": y},
        layer=[_bar({"width": {"band": 0.85}}), *_marks("x")],
    )


def _bar(size: Mapping[str, Any]) -> Spec:
    return {
        "transform": [{"filter": "datum.table === 'Original'"}],
        "mark": {"type": "bar", "color": "var(--original)", **size},
    }


def _marks(band: str) -> list[Spec]:
    orient = "vertical" if band == "y" else "horizontal"
    tick = {
        "type": "tick",
        "color": "var(--held)",
        "thickness": 2,
        "orient": orient,
        "bandSize": 14,
    }
    return [
        {"transform": [{"filter": "datum.table === 'Held out'"}], "mark": tick},
        {
            "transform": [{"filter": "datum.table === 'Synthetic'"}],
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1}
            | {"color": "var(--synthetic)"},
        },
    ]


def _outlines(
    points: list[dict[str, Any]], height: int, title: str | None, domain: list[float] | None = None
) -> Spec:
    """Histograms whose areas are shares: filled for the original, outlined for the others."""
    x = {
        "field": "from",
        "type": "quantitative",
        "axis": {"title": title, "grid": False, "tickCount": 5},
        "scale": {"zero": False, "nice": False} | ({"domain": domain} if domain else {}),
    }
    y = {"field": "density", "type": "quantitative", "axis": None}
    line = {"type": "rule", "strokeWidth": 2}
    colour = {"field": "table", **COLOUR}
    others = {"filter": "datum.table !== 'Original'"}
    return spec(
        points,
        height=height,
        transform=[{"calculate": "datum.share / (datum.to - datum.from)", "as": "density"}],
        layer=[
            {
                "transform": [{"filter": "datum.table === 'Original'"}],
                "mark": {"type": "bar", "color": "var(--original)", "binSpacing": 0},
                "encoding": {"x": {**x, "bin": "binned"}, "x2": {"field": "to"}, "y": y},
            },
            {
                "transform": [others],
                "mark": line,
                "encoding": {
                    "x": x,
                    "x2": {"field": "to"},
                    "y": y,
                    "color": colour,
                    "strokeDash": {"field": "table", **DASH},
                },
            },
        ],
    )


def _present(found: Look) -> list[dict[str, Any]]:
    return [point for point in found.points if point["share"] is not None]


def in_order(names: list[str]) -> dict[str, Any]:
    """A nominal axis in this order."""
    # A list under "sort" would be compiled into an expression, names and all; a domain is data.
    return {"sort": None, "scale": {"domain": names}}


def _share_axis() -> dict[str, Any]:
    return {"title": None, "tickCount": 4, **_PERCENT}


def names_axis() -> dict[str, Any]:
    """An axis of names."""
    return {"title": None, "labelLimit": 130, "ticks": False, "domain": False}


def spec(values: list[dict[str, Any]], **parts: Any) -> Spec:
    """A chart of these values, as wide as its place on the page."""
    return {
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": values},
        **parts,
    }
