"""Regressions on the page: picked from summaries, safe with any name, complete as a table."""

from __future__ import annotations

import json
from typing import Any

from report_sample import HOSTILE, finding, findings, summaries

from understudy.report import charts, page
from understudy.report.regressions import forests
from understudy.report.render import render
from understudy.report.summarize import summarize
from understudy.results import Finding, Findings, Verdict


def one(estimate: float, error: float = 1.0) -> dict[str, float]:
    ends = {"low": estimate - 2 * error, "high": estimate + 2 * error}
    scaled = {"at": estimate, "at_low": ends["low"], "at_high": ends["high"]}
    return {
        "estimate": estimate,
        "error": error,
        "difference": 0.5,
        "overlap": 0.9,
        **ends,
        **scaled,
    }


def model(names: tuple[str, ...] = HOSTILE, **changes: Any) -> dict[str, Any]:
    return {
        "name": HOSTILE[1],
        "formula": "y ~ x",
        "family": "linear",
        "subset": "",
        "weights": "",
        "rows": {"train": 300, "holdout": 100, "synthetic": [400]},
        "rule": "proper",
        "level": 0.95,
        "coefficients": [
            {
                "name": name,
                "original": one(0.0),
                "holdout": one(0.3, 2.0),
                "synthetic": [one(place)],
                "combined": one(place, 1.5),
                "difference": float(place),
                "overlap": 0.4,
            }
            for place, name in enumerate(names)
        ],
        "hidden": 2,
        "undetermined": 1,
        "medians": {
            "holdout": {"difference": 0.7, "overlap": 0.8},
            "synthetic": {"difference": 0.9, "overlap": 0.7},
        },
    } | changes


def run_of(*more: Finding) -> Findings:
    sample = findings()
    return Findings("00ff", sample.tables, (*sample.findings, *more), (), {"job": "release"})


def test_hostile_names_stay_text() -> None:
    found = summaries() | {"regressions": [model()]}
    told = finding("regression.difference", Verdict.FAILS, target=HOSTILE[1])
    text = page(run_of(told), found)
    assert "<script>alert(1)</script>" not in text
    assert "Regressions, original against synthetic" in text and "y ~ x" in text
    (forest,) = forests(found["regressions"], ())
    spec = charts.forest(forest)
    without = json.dumps({**spec, "data": None}).replace(json.dumps(list(HOSTILE))[1:-1], "")
    assert "alert" not in without  # names are values and domains, never expressions


def test_every_coefficient_is_in_the_table_and_the_furthest_in_the_picture() -> None:
    names = tuple(f"c{i}" for i in range(50))
    (forest,) = forests([model(names)], ())
    assert [row[0] for row in forest.table] == list(names)
    assert forest.names == names[20:] and len(forest.points) == 3 * 30
    assert forest.reach == 12  # what is further lies on the edge
    said = " ".join(forest.says)
    assert "2 more coefficients" in said and "1 more coefficient." in said and "30" in said
    assert "v̄(k/n + (1 + k/n)/m)" in said and "100 rows" in said
    assert forest.table[1][3] == "0 (−2 to 2)" and forest.table[1][4] == "1 (−2 to 4)"


def test_a_lost_coefficient_and_no_holdout_leave_gaps() -> None:
    lost = model(("a", "b"))
    lost["coefficients"][0] |= {"combined": None, "synthetic": [None], "holdout": None}
    lost["coefficients"][1] |= {"holdout": None}
    lost["medians"]["holdout"] = None
    (forest,) = forests([lost], ())
    assert "Held out (95%)" not in forest.header
    assert forest.table[0][4] == "–" and [p["table"] for p in forest.points] == [
        "Original",
        "Original",
        "Synthetic",
    ]


def test_pooled_findings_stand_for_several_replicates() -> None:
    told = [
        finding(name, verdict, target="m", replicate=number)
        for name in ("regression.difference", "regression.overlap")
        for number, verdict in ((1, Verdict.FAILS), (2, Verdict.HOLDS), (0, Verdict.UNDECIDED))
    ]
    sample = run_of(*told).to_json()
    sample["tables"]["synthetic"] = sample["tables"]["synthetic"] * 2
    view = summarize(sample, summaries() | {"regressions": [model(name="m")]})
    assert [row.state for row in view.forests[0].verdicts] == ["undecided", "undecided"]
    (use,) = [use for use in view.uses if use.title == "Regression: m"]
    assert use.state == "undecided" and "standard errors in the median" in use.sentence
    assert "intervals overlap by 20%" in use.sentence
    assert render(view)


def test_no_models_no_section() -> None:
    assert "Regressions, original" not in page(findings(), summaries())
