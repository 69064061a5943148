"""Everything the page shows, picked from findings.json and summaries.json and written out.

No statistic is computed here: numbers are selected, ordered, counted and formatted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.report.answer import Attacker, Banner, Use, attackers, banner, uses
from understudy.report.attacks import Attacks, attacks
from understudy.report.columns import (
    Curve,
    Look,
    Pairs,
    Propensities,
    curves,
    look,
    pairs,
    propensities,
)
from understudy.report.disclosure import Lines, inference, sweeps
from understudy.report.given import Given, given
from understudy.report.judged import Gate, Row, gates, row
from understudy.report.listed import Cells, Listed, Ratios, cells, listed, ratios
from understudy.report.noise import membership
from understudy.report.numbers import number
from understudy.report.places import Clusters, PointMap, clusters, point_map
from understudy.report.receipts import Receipts, receipts, sizes
from understudy.report.regressions import Forest, forests
from understudy.report.tuning import Search, search
from understudy.report.words import is_utility


@dataclass(frozen=True)
class View:
    """The page, before it is drawn."""

    title: str
    sizes: tuple[str, ...]
    banner: Banner
    gates: tuple[Gate, ...]
    uses: tuple[Use, ...]
    tested: tuple[Attacker, ...]
    untested: tuple[Attacker, ...]
    sensitive: tuple[str, ...]
    kept: tuple[str, ...]
    replicates: int
    holdout: bool
    job: str
    sureness: tuple[str, str] | None
    curves: tuple[Curve, ...]
    inference: tuple[Lines, ...]
    given: tuple[Given, ...]
    sweeps: tuple[Lines, ...]
    attacks: Attacks | None
    membership: tuple[Lines, ...]
    looks: tuple[Look, ...]
    pairs: Pairs | None
    ratios: Ratios | None
    cells: tuple[Cells, ...]
    listed: Listed | None
    propensities: Propensities | None
    forests: tuple[Forest, ...]
    tuning: Search | None
    clusters: Clusters | None
    map: PointMap | None
    risk: tuple[Row, ...]
    utility: tuple[Row, ...]
    receipts: Receipts


def summarize(
    run: Mapping[str, Any], summaries: Mapping[str, Any], points: Mapping[str, Any] | None = None
) -> View:
    """Turn findings.json and summaries.json, as read, and the map into what the page shows."""
    run, summaries = finite(run), finite(summaries)
    provenance = run.get("provenance") or {}
    replicates = len((run.get("tables") or {}).get("synthetic") or ())
    rows = tuple(row(item, replicates) for item in run["findings"])
    gated = gates(run["findings"], replicates)
    held = int(((run.get("tables") or {}).get("holdout") or {}).get("rows") or 0)
    tested, untested = attackers(rows)
    columns: Sequence[Mapping[str, Any]] = summaries.get("columns") or ()
    return View(
        str(provenance.get("plan") or ""),
        sizes(run.get("tables") or {}),
        banner(gated, provenance, held),
        gated,
        uses(rows),
        tested,
        untested,
        _with_role(columns, "sensitive"),
        _with_role(columns, "keep"),
        replicates,
        held > 0,
        str(provenance.get("job") or ""),
        _sureness(provenance),
        curves(summaries.get("closeness") or {}),
        inference(summaries.get("attribute") or ()),
        given(summaries.get("gtcap") or ()),
        sweeps(summaries.get("prevention") or ()),
        attacks(summaries, rows, replicates),
        membership(summaries.get("ecap") or ()),
        tuple(look(i, column, _about(column, rows)) for i, column in enumerate(columns)),
        pairs(summaries.get("pairs") or ()),
        ratios(summaries.get("pmse_pairs") or {}),
        cells(summaries.get("crossed") or ()),
        listed(summaries.get("estimates") or {}, rows),
        propensities(summaries.get("propensity") or {}),
        forests(summaries.get("regressions") or (), rows),
        search(summaries.get("tuning") or {}),
        clusters(summaries.get("l_function") or {}, rows),
        point_map(finite(points)) if points else None,
        tuple(one for one in rows if not is_utility(one.measure)),
        tuple(one for one in rows if is_utility(one.measure)),
        receipts(run),
    )


def finite(value: Any) -> Any:
    """The same JSON with None for numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def _about(column: Mapping[str, Any], rows: Sequence[Row]) -> list[Row]:
    return [r for r in rows if r.measure == "marginal.distance" and r.target == column["name"]]


def _with_role(columns: Sequence[Mapping[str, Any]], role: str) -> tuple[str, ...]:
    return tuple(str(column["name"]) for column in columns if column.get("role") == role)


def _sureness(provenance: Mapping[str, Any]) -> tuple[str, str] | None:
    level, error = provenance.get("level"), provenance.get("error")
    if level is None or error is None:
        return None
    return number(level, share=True), number(error, share=True)
