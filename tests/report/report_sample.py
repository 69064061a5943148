"""Findings and summaries made by hand, with names that try to break out of the page."""

from __future__ import annotations

import math
from typing import Any

from understudy.results import Better, Estimate, Finding, Findings, Verdict

HOSTILE = (
    "<b>region</b>",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "=HYPERLINK(\"http://evil.example\",'x')",
    "</script><!--",
    "a\"onmouseover='x'\u2028b",
)
GATES = ("ims", "dcr.p05", "nndr.p05", "dcr.share", "uniques.replicated", "copies")
NAN = math.nan


def finding(
    measure: str,
    verdict: Verdict = Verdict.HOLDS,
    *,
    target: str | None = None,
    value: float = 0.2,
    gate: bool = False,
    replicate: int | None = 1,
    note: str = "",
) -> Finding:
    lost = math.isnan(value)
    low, high = (NAN, NAN) if lost else (value - 0.01, value + 0.01)
    reference, margin = (NAN, NAN) if lost else (0.19, 0.02)
    estimate = Estimate(
        measure,
        value,
        low,
        high,
        reference,
        Better.LOWER,
        margin,
        target=target,
        replicate=replicate,
        note=note,
    )
    cases = {} if lost else {"copy": 1.0, "fresh": 0.19, "permuted": 0.0}
    return Finding(estimate, verdict, gate, cases, 0.1234567)


def findings(
    names: tuple[str, ...] = HOSTILE,
    *,
    provenance: dict[str, Any] | None = None,
    **verdicts: Verdict,
) -> Findings:
    """Six gates that hold (but for those named) and a finding for each column."""
    by_name = {name.replace("_", "."): verdict for name, verdict in verdicts.items()}
    gates = [finding(name, by_name.get(name, Verdict.HOLDS), gate=True) for name in GATES]
    columns = [finding("marginal.distance", target=name) for name in names]
    models = [
        finding("l_function.gap"),
        finding("l_function.gap", Verdict.FAILS, target=f"{names[0]}: level 1"),
        finding(
            "singling_out.multivariate", Verdict.NOT_APPLICABLE, value=NAN, note="no guess is left"
        ),
        finding(
            "inference",
            Verdict.NOT_APPLICABLE,
            target=f"{names[1]} (residual)",
            value=NAN,
            note="x",
        ),
        finding("pair.distance"),
        finding("pair.distance", Verdict.FAILS, target=" × ".join(names[:2])),
        finding("pmse.logit.ratio", Verdict.UNDECIDED, target="train", note="about 3 times decide"),
        finding("pmse.cart.ratio", Verdict.FAILS, target="holdout"),
        finding(
            "pmse.pairs.max",
            Verdict.FAILS,
            target="furthest above chance",
            note=" × ".join(names[:2]).replace(";", ",") + "; 9 cells",
        ),
        finding("estimate.ratio", Verdict.FAILS, target=names[0]),
        finding("estimate.ratio", Verdict.UNDECIDED, target=f"the mean of {names[1]}"),
    ]
    tables = {
        "train": {"rows": 300, "columns": len(names)},
        "holdout": {"rows": 100, "columns": len(names)},
        "synthetic": [{"rows": 400, "columns": len(names)}],
    }
    receipts = ({"step": "prepare", "did": f"banded {names[0]}"},)
    given = {"job": "release", "dropped": {names[-1]: "a direct identifier"}}
    return Findings(
        "00ff", tables, (*gates, *columns, *models), receipts, given | (provenance or {})
    )


def summaries(names: tuple[str, ...] = HOSTILE, bins: int = 24) -> dict[str, Any]:
    grid = [i / 20 for i in range(21)]
    curve = {"grid": grid, "holdout": grid, "synthetic": [grid]}
    bars = {"ends": [0, 0.5, 1], "real": [0.4, 0.6], "synthetic": [0.5, 0.5]}
    return {
        "closeness": {"ims": curve, "dcr": curve, "nndr": curve},
        "attribute": [inference(names[1])],
        "prevention": [prevention(names[1])],
        "gtcap": [given(names)],
        **attacks(names),
        "columns": [column(name, i, bins) for i, name in enumerate(names)],
        "pairs": [
            {"columns": [a, b], "distance": 0.1, "null": 0.05, "excess": 0.05}
            for i, a in enumerate(names)
            for b in names[i + 1 :]
        ][:2000],
        "pmse_pairs": {
            "groups": 12,
            "of": len(names) * (len(names) - 1) // 2,
            "pairs": [
                {"columns": [a, b], "ratio": 1.5 + i, "excess": 0.01, "cells": 9}
                for i, a in enumerate(names)
                for b in names[i + 1 :]
            ][:2000],
        },
        "crossed": [crossed(names[0], names[1])],
        "estimates": estimates(names),
        "l_function": l_function(names),
        "propensity": {
            "share": 0.5,
            "logit": bars,
            "cart": bars,
            "used": dict.fromkeys(names, 1 / len(names)),
        },
    }


def attack(
    measure: str, name: str | None, residual: bool = True, made: int = 500
) -> dict[str, Any]:
    """One simulated attack; without a residual risk its control nearly always succeeds."""
    control = [0.1, 0.08, 0.13] if residual else [0.95, 0.93, 0.97]
    return {
        "measure": measure,
        "column": name,
        "attack": [0.25, 0.21, 0.29],
        "control": control,
        "residual": [0.167, 0.11, 0.22] if residual else None,
        "made": made,
        "asked": 500,
        "replicate": 1,
    }


def attacks(names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "singling_out": [attack("singling_out.univariate", None, made=1)],
        "linkability": [attack("linkability", None)],
        "inference": [attack("inference", name, name != names[1]) for name in names],
    }


def inference(name: str) -> dict[str, Any]:
    curve = {
        "ratio": [1.0, 12.0, 4.0],
        "exceeding": [0, 2, 0],
        "empty": [0.9, 0.5, 0.0],
        "correct": [0.5, 0.6, 0.55],
        "widened": [6.0, 12.0, 4.0],
    }
    return {
        "column": name,
        "c": 10.0,
        "every": True,
        "records": 300,
        "rows": {"synthetic": [400], "pooled": [], "thinned": [100], "holdout": [100]},
        "deltas": [0.05, 0.2, 1.0],
        "prior_correct": 0.5,
        "synthetic": [curve | {"supremum": 12.5}],
        "pooled": [],
        "thinned": [curve],
        "holdout": [curve],
    }


def given(names: tuple[str, ...]) -> dict[str, Any]:
    """GTCAP of one target: two tables, and strangers."""
    first = {"people": 90, "bars": [[0.0, 0.1, 60], [0.1, 0.4, 12], [0.4, 1.0, 18]], "mean": 0.21}
    other = {"people": 30, "bars": [[0.0, 0.1, 20], [0.1, 1.0, 10]], "mean": 0.19}
    return {
        "column": names[1],
        "keys": [names[0], names[2]],
        "radii": {names[2]: 2.5},
        "records": 300,
        "uniques": 90,
        "synthetic": [first, {"people": 4, "bars": []}],
        "pooled": [first],
        "holdout": other,
        "strangers": 100,
    }


def prevention(name: str) -> dict[str, Any]:
    def point(c: float | None, added: int) -> dict[str, Any]:
        ratio = {name: 12.5 if c is None else c}
        return {"c": c, "added": added, "rounds": 1, "ratio": ratio, "pmse": 1.2, "refused": False}

    points = [point(None, 0), point(10.0, 3), point(5.0, 1400), {"c": 1.0, "refused": True}]
    return {"c": 10.0, "rows": 400, "points": points}


def l_function(names: tuple[str, ...] = HOSTILE, replicates: int = 3) -> dict[str, Any]:
    """All points, and one level of a mark whose name and level are hostile."""
    grid = [0.5, 1.0, 1.5]
    several = replicates > 1
    patterns = [(None, None, None), (f"{names[0]}: level 1", names[0], names[1])]
    return {
        "unit": "km",
        "columns": list(names[:2]),
        "note": "correction none",
        "grid": grid,
        "replicates": replicates,
        "targets": [
            {
                "target": target,
                "column": column,
                "level": level,
                "points": {"original": 300, "holdout": 100, "synthetic": [400] * replicates},
                "original": [None, 1.0, 1.1],
                "holdout": [None, 0.9, 1.2],
                "synthetic": [None, 1.05, 1.15],
                "low": [None, 1.0, 1.1] if several else None,
                "high": [None, 1.1, 1.2] if several else None,
                "k": {
                    "original": [None, 12.5, 21.2],
                    "holdout": None,
                    "synthetic": [None, 13.2, 22.0],
                    "low": [None, 12.5, 21.2] if several else None,
                    "high": [None, 13.9, 22.9] if several else None,
                },
            }
            for target, column, level in patterns
        ],
    }


def points(names: tuple[str, ...] = HOSTILE) -> dict[str, Any]:
    """What the map draws."""
    return {
        "columns": list(names[:2]),
        "aspect": 0.8,
        "points": {"original": [[1.0, 2.0], [3.0, 4.0]], "synthetic": [[1.5, 2.5], [9.0, 8.0]]},
        "rows": {"original": 5000, "synthetic": 2},
    }


def column(name: str, place: int, bins: int) -> dict[str, Any]:
    numeric = place % 2 == 0
    size = bins if numeric else 8
    labels = [f"{i} – {i + 1}" if numeric else f"{name} level {i}" for i in range(size)]
    return {
        "name": name,
        "kind": "number" if numeric else "category",
        "role": "sensitive" if place == 1 else "other",
        "label": f"label of {name}",
        "shape": "bins" if numeric else "levels",
        "labels": labels,
        "ends": [float(i) for i in range(size + 1)] if numeric else None,
        "original": [1 / size] * size,
        "holdout": [1 / size] * size,
        "synthetic": [[1 / size] * size],
        "missing": {"original": 0.1, "synthetic": [0.1]},
        "distinct": size,
    }


def crossed(first: str, second: str) -> dict[str, Any]:
    """Two by two cells, one of them left out, with hostile labels."""
    return {
        "columns": [first, second],
        "x": [f"{first} low", f"{first} high"],
        "y": [f"{second} low", f"{second} high"],
        "cells": [[0, 0, 0.4, 0.35], [0, 1, 0.3, 0.4], [1, 0, 0.2, 0.2]],
        "hidden": 0.1,
    }


def estimates(names: tuple[str, ...] = HOSTILE) -> dict[str, Any]:
    """A share, a mean that is drawn as a multiple, and a coefficient that is in the table alone."""

    def shown(value: float, unit: float | None) -> dict[str, Any]:
        ends = {"value": value, "low": 0.9 * value, "high": 1.1 * value, "rows": 300}
        at = {} if unit is None else {"at": value / unit, "at_low": 0.9, "at_high": 1.1}
        return ends | at

    def one(kind: str, name: str, value: float, unit: float | None) -> dict[str, Any]:
        return {
            "name": name,
            "kind": kind,
            "says": f"{kind} of {name}",
            "subset": f"`{names[2]}` == 'x'",
            "weights": "",
            "original": shown(value, unit),
            "holdout": shown(value, unit),
            "synthetic": [shown(value, unit)],
            "combined": shown(1.02 * value, unit),
        }

    listed = [
        one("share", names[0], 0.2, 1.0),
        one("mean", f"the mean of {names[1]}", 40.0, 40.0),
        one("coefficient", f"a slope of {names[2]}", 0.01, None),
    ]
    return {"findings": listed, "hidden": 2}
