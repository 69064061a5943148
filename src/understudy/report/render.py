"""Draw the page: what is picked goes into a template; nothing is computed."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from understudy.report import charts, charts_attacks, charts_disclosure, charts_listed
from understudy.report import place_charts as places
from understudy.report.bundle import bundle
from understudy.report.summarize import View

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(view: View) -> str:
    """The page as one HTML file, with the chart library in it once."""
    library, drawing = bundle(), text("charts.js")
    return (
        environment()
        .get_template("report.html.jinja")
        .render(
            view=view,
            specs=_specs(view),
            config=embedded(charts.CONFIG),
            style=Markup(text("style.css")),
            scripts=[Markup(library), Markup(drawing)],
            policy=policy(library, drawing),
        )
    )


def embedded(value: Any) -> Markup:
    r"""JSON that cannot end the script element it stands in.

    Example:
        >>> embedded({"name": "</script><b>"})
        Markup('{"name":"\\u003c/script\\u003e\\u003cb\\u003e"}')
    """
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign, escaped in _UNSAFE.items():
        written = written.replace(sign, escaped)
    return Markup(written)


def policy(*scripts: str) -> str:
    """A content security policy: these scripts and no others, and nothing from a network."""
    hashes = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _specs(view: View) -> dict[str, Markup]:
    """Every chart's specification by the name of its place on the page."""
    found: dict[str, Any] = {f"gate-{gate.number}": charts.scale(gate) for gate in view.gates}
    found |= {f"closeness-{curve.key}": charts.curve(curve) for curve in view.curves}
    lines = (*view.inference, *view.sweeps, *view.membership)
    found |= {one.key: charts_disclosure.lines(one) for one in lines}
    found |= {one.key: charts_disclosure.bars(one) for one in view.given}
    if view.attacks is not None:
        found["attacks"] = charts_attacks.attacks(view.attacks)
    found |= {f"column-{look.number}": charts.look(look) for look in view.looks}
    if view.pairs is not None:
        found["pairs"] = charts.heat(view.pairs)
    if view.ratios is not None:
        found["ratios"] = charts_listed.ratio_map(view.ratios)
    for one in view.cells:
        for table in ("Original", "Synthetic"):
            found[f"cells-{one.number}-{table}"] = charts_listed.cells(one, table)
    if view.listed is not None:
        found |= {f"listed-{one.key}": charts_listed.picture(one) for one in view.listed.pictures}
    if view.propensities is not None:
        shown = view.propensities
        found |= {f"propensity-{one.key}": charts.histogram(one) for one in shown.views}
        found["propensity-used"] = charts.used(shown)
    found |= {f"forest-{one.number}": charts.forest(one) for one in view.forests}
    if view.tuning is not None:
        found["tuning-running"] = charts.running(view.tuning)
        found["tuning-map"] = charts.trials(view.tuning)
    if view.clusters is not None:
        axis = view.clusters.axis
        found |= {f"l-{one.number}": places.pattern(one, axis) for one in view.clusters.patterns}
    if view.map is not None:
        found |= {f"map-{one.key}": places.points(one, view.map) for one in view.map.sides}
    return {name: embedded(spec) for name, spec in found.items()}


@cache
def environment() -> Environment:
    """The templates, all of them with names and values escaped."""
    return Environment(
        loader=PackageLoader("understudy.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def text(name: str) -> str:
    """A file that goes into the page as it is: the style, or a script."""
    return (resources.files("understudy.report") / "templates" / name).read_text("utf-8").strip()
